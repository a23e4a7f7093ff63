"""The treeplex of a seat of a poker form, with and without buckets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.treeplex import Treeplex, treeplex_of
from kibitz.poker.exact.layout import PokerLayout

Ints = NDArray[np.int64]


def treeplex(form: PokerLayout, seat: int) -> Treeplex:
    """Node by node of the betting, all rows of a node at once: an action's sequences are those of the one before, moved
    on by one distance."""
    table, base = form.table, int(form.seat_sequence[seat])
    root: list[Ints] = [np.zeros(0, np.int64)] * len(form.segments.node)  # the seat's last sequence before a segment
    root[0] = np.full(int(table.rows[seat, 0]), base)
    first, stride, width, parent = [], [], [], []
    for segment, nodes in enumerate(form.segments.node):
        at, sequences = form.first_node(segment), form.sequences_of(seat, segment)
        for k, node in enumerate(nodes.tolist()):
            slot = int(table.slot[seat, at + k])
            before = sequences[int(table.action[at + slot])] if slot else root[segment]
            if node in form.segments.exit:
                root[form.segments.exit[node]] = before[_up(form, seat, int(form.levels[segment]) + 1)]
            if table.turn[at + k] == seat:
                count = int(table.count[at + k])
                action = int(table.action[at + table.children[at + k, 0]])
                here = sequences[action]
                first.append((here - base).astype(np.uint32))
                apart = sequences[action + 1] - here if count > 1 else np.ones(len(here))
                stride.append(apart.astype(np.uint32))
                width.append(np.full(len(here), count, np.uint32))
                parent.append((before - base).astype(np.uint32))
    size = int(form.seat_sequence[seat + 1]) - base
    none = [np.zeros(0, np.uint32)]
    arrays = [np.concatenate(each or none) for each in (first, stride, width, parent)]
    return treeplex_of(arrays[0], arrays[1], arrays[2], arrays[3], size)


def _up(form: PokerLayout, seat: int, level: int) -> Ints:
    """[rows] the row before each row of a round."""
    if form.buckets is None:
        return form.cards.rounds[level].up
    above = form._row_up
    assert above is not None
    rows: Ints = above[seat, level, : int(form.table.rows[seat, level])]
    return rows
