"""Strategies for a sweep: by node of the betting and rows, where hands on boards find their rows by buckets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.sampled.betting_batch import BettingBatch
from kibitz.poker.sampled.hands import Source
from kibitz.poker.sampled.layout import ViewLayout


@dataclass(frozen=True, eq=False)
class NodeStrategy:
    """The strategy of one seat, asked by node of the betting for all its rows at once.

    `kibitz.forms.strategy.Strategy` is asked by infosets; here one bucket stands for too many of them.
    """

    sources: tuple[Source, ...]  # of row numbers
    of_node: NDArray[Any]  # [betting nodes]  which of them a node goes by
    rows: Callable[[int], NDArray[Any]]  # node of the betting -> [rows, actions] probabilities
    digest: str  # of what it plays

    def counts(self, betting: BettingTree) -> NDArray[np.int64]:
        """[betting nodes]  rows of a node."""
        level = np.minimum(betting.round, betting.definition.rounds - 1)
        counts = [[1] * betting.definition.rounds if source is None else source.counts for source in self.sources]
        return np.asarray(np.array(counts, np.int64)[self.of_node, level])

    def laid_out(
        self, lanes: BettingBatch, seat: int, dtype: Any, rounds: int | None = None
    ) -> tuple[list[Any], list[Any], NDArray[Any]]:
        """(`places` of lanes, and the strategy by action, row and lane). rounds: zeros after so many."""
        from kibitz.core.vectors import LANES

        begins, views, size = lanes.places(seat, self.counts(lanes.betting))
        table = np.zeros((size, int(LANES)), dtype)
        count = len(lanes.groups.lanes) if rounds is None else int(lanes.groups.round_group[rounds])
        for group, of_group in enumerate(lanes.groups.lanes[:count]):
            for k, first, _ in lanes.deciding(seat, group):
                for lane, segment in enumerate(of_group):
                    rows = self.rows(int(lanes.segments.node[segment][k]))
                    at = int(begins[group][first])
                    table[at : at + rows.size, lane] = rows.T.ravel()
        return begins, views, table.ravel()


def within_views(
    layout: ViewLayout, sources: Sequence[Source], probabilities: NDArray[Any], digest: str
) -> NodeStrategy:
    """Either seat's strategy of a profile by its layout. probabilities: by infoset column."""
    for view, source in zip(layout.views, sources, strict=True):
        if source is None or source.digest != view.digest:
            raise GameError(
                f"the profile was solved with other buckets than {view.name} makes now: solve it again, or give the "
                "saved buckets that it was solved with"
            )
    return NodeStrategy(tuple(sources), layout.of_node, lambda node: layout.at(probabilities, node), digest)


def always(betting: BettingTree, actions: tuple[str, ...]) -> NodeStrategy:
    """A strategy that takes the same action whatever it holds: the first of `actions` that a node offers."""

    def rows(node: int) -> NDArray[Any]:
        names = betting.actions[int(betting.actions_of[node])]
        taken = next((name for name in actions if name in names), None)
        if taken is None:
            raise GameError(f"none of {', '.join(actions)} is legal where the actions are {', '.join(names)}")
        return np.array([[float(name == taken) for name in names]])

    digest = hashlib.sha256(f"always {actions}".encode()).hexdigest()
    return NodeStrategy((None,), np.zeros(len(betting), np.int64), rows, digest)
