"""The decisions of a seat of a poker form, all boards of a round at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.exact.layout import PokerLayout

Ints = NDArray[np.int64]


class Decisions:
    """A seat's sequences before and after each decision, by class of hands; with buckets, those of its bucket."""

    def __init__(self, form: PokerLayout, seat: int) -> None:
        self.form, self.seat = form, seat
        self.root: list[Ints] = [np.zeros(0, np.int64)] * len(form.segments.node)  # last sequence before a segment
        self.root[0] = np.full(form.cards.rounds[0].classes, int(form.seat_sequence[seat]))
        self._known: dict[int, Ints] = {}
        for segment, nodes in enumerate(form.segments.node):
            for k, node in enumerate(nodes.tolist()):
                if node in form.segments.exit:
                    after = form.cards.rounds[int(form.levels[segment]) + 1]
                    self.root[form.segments.exit[node]] = self.before(segment, k)[after.up]

    def _sequences(self, segment: int) -> Ints:
        """[actions, C] the sequences of a segment, by class."""
        if segment not in self._known:
            sequences = self.form.sequences_of(self.seat, segment)
            buckets = self.form.buckets
            level = int(self.form.levels[segment])
            self._known[segment] = sequences if buckets is None else sequences[:, buckets[self.seat][level]]
        return self._known[segment]

    def before(self, segment: int, k: int) -> Ints:
        """[C] the seat's last sequence before node k of a segment, whoever acts there."""
        table, node = self.form.table, self.form.first_node(segment)
        slot = int(table.slot[self.seat, node + k])
        return np.asarray(self._sequences(segment)[int(table.action[node + slot])] if slot else self.root[segment])

    def after(self, segment: int, k: int) -> Ints:
        """[actions, C] the sequences of the actions at node k."""
        table, node = self.form.table, self.form.first_node(segment)
        children = node + table.children[node + k, : int(table.count[node + k])]
        return np.asarray(self._sequences(segment)[table.action[children]])

    def nodes(self, up: bool = False) -> Iterator[tuple[int, int]]:
        """(segment, k) of each node where the seat decides, from the root down or from the ends up."""
        table = self.form.table
        for segment in range(len(self.root))[:: -1 if up else 1]:
            node = self.form.first_node(segment)
            for k in range(len(self.form.segments.node[segment]))[:: -1 if up else 1]:
                if table.turn[node + k] == self.seat:
                    yield segment, k

    def points(self) -> Iterator[tuple[Ints, Ints]]:
        """(sequences before, sequences of the actions) of each node where the seat decides, each row once."""
        for segment, k in self.nodes():
            before, after = self.before(segment, k), self.after(segment, k)
            if self.form.buckets is not None:  # many classes are one row
                _, one = np.unique(after[0], return_index=True)
                before, after = before[one], after[:, one]
            yield before, after
