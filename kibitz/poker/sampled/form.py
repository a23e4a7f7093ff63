"""ViewForm: a poker game for public chance sampling, where boards are sampled and all hands on them are evaluated.

It has no payoff operator: a sum over all boards of hold'em takes hours. Solvers that sample are made for it
(`kibitz.poker.sampled.pcs`), and their strategies are evaluated in the whole game (`kibitz.poker.whole`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.bucketed.infosets import BucketInfosets
from kibitz.poker.bucketed.layout import BucketLayout
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.infosets import ViewInfosets
from kibitz.poker.sampled.layout import ViewLayout, view_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frozen:
    """Frozen betting nodes, and the strategy there."""

    node: NDArray[np.bool_]  # [betting nodes]
    played: Callable[[int], NDArray[Any]]  # node -> [buckets of its view, actions]
    digest: str  # of what is played


class ViewForm(ViewLayout):
    """A game whose decisions have views; at some nodes the strategy may be frozen."""

    entries = 1 << 40  # of a payoff matrix: so many that all cores are used
    look_every = 1
    best_cfr, sampled = "pcs", "boards"
    rehearsal = ""

    def __init__(
        self, game: Poker, buckets: Sequence[HandBuckets], of_node: NDArray[Any] | None = None,
        frozen: Frozen | None = None, device: str = "cpu",
    ) -> None:  # fmt: skip
        """device: where boards are computed, cpu or gpu."""
        of_node = np.zeros(len(game.betting), np.int64) if of_node is None else of_node
        super().__init__(game, [view_of(each) for each in buckets], of_node)
        digests = [view.digest for view in self.views]
        self.buckets = [next(each for each in buckets if each.digest == digest) for digest in digests]
        self.frozen, self.device = frozen, device

    @property
    def perfect_recall(self) -> bool:
        return len(self.buckets) == 1 and self.buckets[0].perfect_recall

    @cached_property
    def infosets(self) -> BucketInfosets:
        """A single view with perfect recall is a bucket layout: such a profile is also evaluated in the abstract
        game."""
        if not self.perfect_recall:
            return ViewInfosets(self)
        only = self.buckets[0]
        return BucketInfosets(BucketLayout(self.game, only.name, only.digest, [of.parent for of in only.rounds]))

    @cached_property
    def tree_digest(self) -> str:
        """A fingerprint of the layout, and of what is frozen."""
        plain = self.infosets.form.tree_digest if self.perfect_recall else super().tree_digest
        if self.frozen is None:
            return str(plain)
        return hashlib.sha256(f"{plain} {self.frozen.digest} ".encode() + self.frozen.node.tobytes()).hexdigest()

    @property
    def moving(self) -> NDArray[np.bool_]:
        """[betting nodes] where something is learnt."""
        return self.deciding if self.frozen is None else self.deciding & ~self.frozen.node

    @property
    def size(self) -> int:
        """Trainable infosets."""
        return int(self.rows[self.moving].sum())

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """[segments] those that matter to what is learnt: they lead to it, or it leads to them."""
        leads = self.moving.copy()  # [betting nodes] something is learnt there or below
        behind = self.moving.copy()  # there or above
        above = self.betting.parent
        for node in range(len(above) - 1, 0, -1):
            leads[above[node]] |= leads[node]
        for node in range(1, len(above)):
            behind[node] |= behind[above[node]]
        wanted = np.array([bool((leads | behind)[nodes].any()) for nodes in self.segments.node])
        wanted[0] = True
        return wanted

    @property
    def scale(self) -> float:
        return float(self.betting.paid.max())

    @property
    def sequences(self) -> int:
        return self.columns + 2

    @property
    def seat_sequence(self) -> NDArray[np.int64]:
        first = int((self.rows * self.count)[self.betting.turn == 0].sum())
        return np.array([0, first + 1, self.sequences], np.int64)

    def uniform(self) -> Floats:
        """The same probability for all actions."""
        probabilities = np.empty(self.columns)
        for node in self.order.tolist():
            self.at(probabilities, node)[:] = 1.0 / int(self.count[node])
        return probabilities
