"""Hands in order of one number, cut into buckets parent by parent: what percentiles and one-dimensional k-means share.

A *point* is a value of the metric that hands of a parent have, with their weight; hands of the same value stay
together. Cuts say how much a bucket asks for at least; a hand is in the last bucket of its parent that it is enough
for. In a last round that is too large for a table, the metric is how far ahead hands are, and the cuts are all that is
kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import HandStrengths, Heard, each, run
from kibitz.poker.buckets.hand_buckets import RoundBuckets

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Table = NDArray[Any]

MOST_TABLE = 400_000_000  # entries of a table of buckets
CLASSES_ALWAYS = 4_000_000  # hands on boards of a round whose lossless classes are always worked out


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct values of hands, parent by parent. P parents, M values."""

    first: Ints  # [P + 1]
    value: NDArray[np.uint64]  # [M]  ascending within a parent
    weight: Ints  # [M]  deals

    def of(self, parent: int) -> tuple[NDArray[np.uint64], Ints]:
        part = slice(int(self.first[parent]), int(self.first[parent + 1]))
        return self.value[part], self.weight[part]

    @property
    def parents(self) -> int:
        return len(self.first) - 1


def tabled(hands: HandStrengths, level: int) -> bool:
    """Whether the buckets of a round are a table; else they are cuts by strength, in the last round."""
    return level < hands.last or math.prod(hands.shape(level)) <= MOST_TABLE


def points_in_table(hands: HandStrengths, level: int, metric: Table, parent: Table, parents: int) -> Points:
    """The points of a round whose hands are gone through one by one."""
    from kibitz.cards.kernels.hands import count_parents, merge_keys, pack_keys

    counts = np.zeros(parents, np.int64)
    count_parents(parent, counts)
    begin = np.concatenate(([0], np.cumsum(counts)))
    keys = np.empty(int(begin[-1]), np.uint64)
    pack_keys(parent, metric, hands.boards.rounds[level].total, begin[:-1].copy(), keys)
    value, weight = np.empty(len(keys), np.uint64), np.empty(len(keys), np.int64)

    def sort(p: int) -> int:
        here = slice(int(begin[p]), int(begin[p + 1]))
        keys[here].sort()
        return int(merge_keys(keys[here], value[here], weight[here]))

    size = each(sort, parents)
    kept = np.concatenate([np.arange(begin[p], begin[p] + size[p]) for p in range(parents)])
    return Points(np.concatenate(([0], np.cumsum(size))).astype(np.int64), value[kept], weight[kept])


def points_in_histogram(histogram: Ints) -> Points:
    """The points of a last round from [parents, how far ahead] deals."""
    at = np.nonzero(histogram)
    first = np.concatenate(([0], np.cumsum((histogram > 0).sum(axis=1)))).astype(np.int64)
    return Points(first, at[1].astype(np.uint64), histogram[at])


@dataclass(frozen=True, eq=False)
class Cuts:
    """Buckets by what they ask for at least: C buckets."""

    parent: Ints  # [C]  ascending
    least: NDArray[np.uint64]  # [C]  0 in the first of a parent

    @property
    def first(self) -> Ints:
        return np.searchsorted(self.parent, np.arange(int(self.parent[-1]) + 2)).astype(np.int64)


def cuts_of(points: Points, groups: list[Ints]) -> Cuts:
    """Cuts from the group of each point, ascending from 0 without gaps, parent by parent."""
    parent, least = [], []
    for p, group in enumerate(groups):
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        asked = points.of(p)[0][begins].copy()
        asked[0] = 0
        parent.append(np.full(len(begins), p, np.int64))
        least.append(asked)
    return Cuts(np.concatenate(parent), np.concatenate(least))


def table_of(hands: HandStrengths, level: int, metric: Table, parent: Table, cuts: Cuts) -> Table:
    """The bucket of each hand on each board."""
    from kibitz.cards.kernels.hands import apply_cuts

    out = np.empty(hands.shape(level), number_type(len(cuts.parent)))
    first = cuts.first

    def fill(part: slice) -> None:
        apply_cuts(parent[part], metric[part], first, cuts.least, out[part])

    run(fill, [slice(at, at + 1024) for at in range(0, len(out), 1024)])
    return out


def number_type(count: int) -> type[np.unsignedinteger[Any]]:
    return np.uint16 if count <= 1 << 16 else np.uint32


def one_parent(hands: HandStrengths, level: int) -> Table:
    """All hands have one parent."""
    return np.broadcast_to(np.zeros((), np.uint16), hands.shape(level))


Grouping = Callable[[Points], list[Ints]]  # the group of each point, parent by parent
Lossless = Callable[[Ints], NDArray[np.bool_]]  # lossless classes of each parent -> whether they are its buckets


def cut_round(
    hands: HandStrengths, level: int, name: str, above: RoundBuckets | None, recall: bool, group: Grouping,
    lossless: Lossless, heard: Heard | None = None,
) -> tuple[RoundBuckets, dict[str, Any]]:  # fmt: skip
    """The buckets of a round by one number, and its expected error.

    above: the buckets of the round before, None in the first; group: how points are cut; lossless: of which parents,
    by their numbers of lossless classes, hands are in buckets of these classes.
    """
    above = above if recall else None
    parents = above.count if above is not None else 1
    if not tabled(hands, level):
        context = above.table if above is not None else one_parent(hands, level - 1)
        points = points_in_histogram(hands.histogram(np.ascontiguousarray(context), parents, heard))
        cuts = cuts_of(points, group(points))
        parent = cuts.parent if above is not None else np.full(len(cuts.parent), -1, np.int64)
        buckets = RoundBuckets(len(cuts.parent), parent, None, cuts.least.astype(np.int64))
        return buckets, spread_of(hands, level, name, points, cuts)
    context = context_of(hands, level, above)
    whole, number = whole_parents(hands, level, context, parents, lossless)
    if whole.all():
        table, parent = with_classes(np.zeros(context.shape, np.uint16), context, whole, number)
        fact = {"error": 0.0}
    else:
        metric = hands.metric(level, name, heard)
        points = points_in_table(hands, level, metric, context, parents)
        cuts = cuts_of(points, group(points))
        fact = spread_of(hands, level, name, points, cuts, whole)
        table, parent = table_of(hands, level, metric, context, cuts), cuts.parent
        if whole.any():
            table, parent = with_classes(table, context, whole, number)
    if above is None and level:
        parent = np.full(len(parent), -1, np.int64)
    return RoundBuckets(len(parent), parent, table), fact


def context_of(hands: HandStrengths, level: int, above: RoundBuckets | None) -> Table:
    """[B, H]  the parent of each hand on each board."""
    if above is None or above.table is None:
        return np.ascontiguousarray(one_parent(hands, level))
    return hands.lifted(level, above.table)


def whole_parents(
    hands: HandStrengths, level: int, context: Table, parents: int, lossless: Lossless
) -> tuple[NDArray[np.bool_], Table]:
    """(which parents have lossless classes as buckets, [B, H] the class of each hand); not in large rounds."""
    if context.size > CLASSES_ALWAYS:
        return np.zeros(parents, bool), np.zeros((0, 0), np.uint32)
    count, number = hands.classes(level)
    of = np.zeros(count, np.int64)  # the parent of each class
    of[number.ravel()] = context.ravel()
    return lossless(np.bincount(of, minlength=parents)), number


def with_classes(table: Table, context: Table, whole: NDArray[np.bool_], number: Table) -> tuple[Table, Ints]:
    """Buckets in which some parents have lossless classes in place of their buckets: (table, parent)."""
    # By (parent, bucket or class), numbered again without gaps.
    key = context.astype(np.int64) * (1 << 34) + np.where(whole[context], number, table)
    kinds, merged = np.unique(key, return_inverse=True)
    return merged.reshape(table.shape).astype(number_type(len(kinds))), (kinds >> 34).astype(np.int64)


def spread_of(
    hands: HandStrengths, level: int, name: str, points: Points, cuts: Cuts, whole: NDArray[np.bool_] | None = None
) -> dict[str, Any]:
    """The expected error of a round that is cut: the mean squared distance of hands from the mean of their bucket.

    whole: parents that lose nothing.
    """
    name = name if tabled(hands, level) else "ehs"  # how far ahead: cut by strength itself
    parent = np.repeat(np.arange(points.parents), np.diff(points.first))
    bucket, first = np.empty(len(parent), np.int64), cuts.first
    for p in range(points.parents):
        here = slice(int(points.first[p]), int(points.first[p + 1]))
        low, high = int(first[p]), int(first[p + 1])
        bucket[here] = low + np.searchsorted(cuts.least[low:high], points.value[here], "right") - 1
    x, weight = points.value / hands.scale(level, name), points.weight.astype(np.float64)
    total = np.bincount(bucket, weight, len(cuts.parent))
    mean = np.bincount(bucket, weight * x, len(cuts.parent)) / total
    lost = weight if whole is None else np.where(whole[parent], 0.0, weight)
    return {"error": float((lost * (x - mean[bucket]) ** 2).sum() / weight.sum())}
