"""Strategy: the one question that agents, evaluation, search and the web interface ask of whatever plays.

Profiles, blueprints and agents that play from rows are strategies. Infosets have the names that the rules give them.
Where strategies are asked by numbers instead (keys of a machine's rows, or nodes of poker's betting with all buckets of
hands), see `kibitz.solvers.table_strategy.looked_up` and `kibitz.poker.whole.strategy.NodeStrategy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.protocol import ProfileInfosets


@runtime_checkable
class Strategy(Protocol):
    """Whatever can say what it plays."""

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[str]) -> NDArray[np.float64]:
        """[infosets, actions]  the probabilities of some infosets of a player, all of which offer the same actions."""


def probabilities_of(strategy: Strategy, infosets: ProfileInfosets) -> NDArray[np.float64]:
    """[columns]  what a strategy plays in all infosets of a game, asked once for each player and list of actions."""
    labels, first, of = infosets.labels, infosets.first, np.asarray(infosets.actions_of)
    probabilities = np.zeros(infosets.columns)
    for player in range(infosets.seats):
        begin, end = infosets.seat_start[player : player + 2]
        for number in np.unique(of[begin:end]).tolist():
            names = tuple(map(str, infosets.actions[number]))
            here = begin + np.flatnonzero(of[begin:end] == number)
            rows = strategy.rows(player, [labels[k] for k in here.tolist()], names)
            probabilities[first[here][:, None] + np.arange(len(names))] = rows
    return probabilities
