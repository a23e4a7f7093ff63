"""Treeplex: the decision points of one seat as plain arrays, so that one kernel does prox functions on every form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PARENTS = 4096  # sequences side by side whose children are taken together
CHUNK = 2048  # points of a chunk, about


class Treeplex(NamedTuple):
    """P points of a seat and its sequences, numbered from the seat's empty sequence, which is 0.

    Points are ordered by levels: how many of its own decisions the seat has made before. The sequence that leads to a
    point belongs to a point of an earlier level, so one sweep down the levels makes plans, and one up the levels
    makes values. A level is cut into chunks which no two have a parent in common: threads may add to parents, a
    chunk each. Chunks depend on the game alone.
    """

    first: NDArray[np.uint32]  # [P]  the sequence of a point's first action
    stride: NDArray[np.uint32]  # [P]  from the sequence of an action to that of the next
    width: NDArray[np.uint32]  # [P]  number of actions
    parent: NDArray[np.uint32]  # [P]  the sequence that leads to the point
    chunk: NDArray[np.int64]  # [C + 1]  first point of a chunk
    level: NDArray[np.int64]  # [L + 1]  first chunk of a level
    sequences: int  # the empty one among them

    @property
    def points(self) -> int:
        return len(self.first)


def treeplex_of(
    first: NDArray[Any], stride: NDArray[Any], width: NDArray[Any], parent: NDArray[Any], sequences: int
) -> Treeplex:
    """A treeplex of points in any order. In a chunk they go by their first sequences, as these lie in memory."""
    first, stride, width, parent = (each.astype(np.uint32) for each in (first, stride, width, parent))
    points = len(first)
    depth = np.zeros(points, np.int32)
    known = np.zeros(sequences, bool)
    known[0] = True
    left, level = np.arange(points, dtype=np.uint32), 0
    while len(left):
        now = known[parent[left]]
        here, left = left[now], left[~now]
        assert len(here)
        depth[here] = level
        for action in range(int(width[here].max())):
            wide = here[width[here] > action]
            known[first[wide] + np.uint32(action) * stride[wide]] = True
        level += 1
    order = np.lexsort((first, parent // PARENTS, depth))
    first, stride, width, parent = (each[order] for each in (first, stride, width, parent))
    depth = depth[order]
    family = np.flatnonzero(np.concatenate(([True], (np.diff(depth) > 0) | (np.diff(parent // PARENTS) != 0)))[:points])
    begins = np.searchsorted(depth, np.arange(level + 1))  # [level + 1]  first point
    place = (family - begins[depth[family]]) // CHUNK
    kept = np.concatenate(([True], (np.diff(place) != 0) | (np.diff(depth[family]) > 0)))[: len(family)]
    chunk = np.append(family[kept], points).astype(np.int64)
    return Treeplex(first, stride, width, parent, chunk, np.searchsorted(chunk, begins).astype(np.int64), sequences)


# Decisions of a seat some at a time: (the sequences before them [D], the sequences of their actions [actions, D]).
Points = Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]


def treeplex_of_points(points: Points, first: int, last: int) -> Treeplex:
    """The treeplex of a seat whose sequences are first to last - 1."""
    arrays: list[list[NDArray[np.uint32]]] = [[np.zeros(0, np.uint32)] for _ in range(4)]
    for before, after in points:
        stride = after[1] - after[0] if len(after) > 1 else np.ones(len(before))
        width = np.full(len(before), len(after))
        for into, each in zip(arrays, (after[0] - first, stride, width, before - first), strict=True):
            into.append(each.astype(np.uint32))
    begins, stride, width, parent = (np.concatenate(each) for each in arrays)
    return treeplex_of(begins, stride, width, parent, last - first)
