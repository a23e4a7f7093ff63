"""What the forms of two-player poker share: sizes, values, and parts of infosets by betting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms.programme import constraints_of
from kibitz.forms.protocol import Measure
from kibitz.forms.treeplex import Treeplex, treeplex_of_points
from kibitz.poker.rules.betting import BettingTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FactoredForm:
    """A two-player poker game as betting times rows of hands, whatever the rows are."""

    zero_sum = True
    seats = players = 2
    look_every = 20  # an evaluation takes as long as several iterations
    best_cfr = "dcfr+"  # it needed the fewest iterations on Rhode Island hold'em (`kibitz reproduce sandholm`)

    betting: BettingTree
    sequences: int
    seat_sequence: Ints  # [3]  the first sequence of each seat, and the number of all
    infosets: Any
    points_of: Any  # seat -> (sequences before, sequences of the actions) of each node where it decides, from the root
    to_strategy: Any
    by_column: Any
    plan: Any
    gradient: Any
    measure_weights: Any

    @property
    def columns(self) -> int:
        """Infoset columns: one for each infoset and action."""
        return self.sequences - 2

    @property
    def points(self) -> int:
        return int(self.infosets.seat_start[-1])

    def measure(self, probabilities: Floats) -> Measure:
        """Values and best responses, from probabilities by infoset column."""
        measure: Measure = self.measure_weights(self.to_strategy(probabilities))
        return measure

    def value(self, probabilities: Floats) -> Floats:
        """Expected utility of each seat."""
        plan = self.plan(self.to_strategy(probabilities))
        lo, hi = self.seat_sequence[:2]
        first = float(plan[lo:hi] @ self.gradient(0, plan))
        return np.array([first, -first])

    def treeplex(self, seat: int) -> Treeplex:
        """The points of a seat, row by row."""
        return treeplex_of_points(self.points_of(seat), *self.seat_sequence[seat : seat + 2].tolist())

    def constraints(self, seat: int) -> tuple[Any, Floats]:
        """E and e of a seat in the linear program."""
        return constraints_of(self.points_of(seat), *self.seat_sequence[seat : seat + 2].tolist())

    def parts_by_actions(self, lists: list[list[set[str]]]) -> Ints:
        """[I] part j + 1 where the players' actions begin with list j, each step of which is a set of actions."""
        nodes, _ = self.infosets.order()
        parts: Ints = nodes_by_actions(self.betting, lists)[nodes]
        return parts

    def check_parts(self, name: str, names: tuple[str, ...], part: Ints) -> None:
        """Condition 3 of a grafting partition: no way from one part j >= 1 of a seat into another."""
        here = self.to_strategy(np.repeat(part, self.infosets.width).astype(np.float64)).astype(np.int64)
        here[self.seat_sequence[:-1]] = 0
        entered = np.zeros(self.sequences, np.int64)
        for seat in (0, 1):
            for before_all, after in self.points_of(seat):
                mine, before = here[after[0]], entered[before_all]
                wrong = np.flatnonzero((mine > 0) & (before > 0) & (mine != before))
                if len(wrong):
                    at = np.arange(self.sequences) == after[0, wrong[0]]
                    column = int(self.by_column(at.astype(np.float64)).argmax())
                    label = self.infosets.labels[int(np.searchsorted(self.infosets.first, column, side="right")) - 1]
                    raise GameError(
                        f"{name} is not a grafting partition: seat {seat} comes from part "
                        f"{names[before[wrong[0]]]!r} into part {names[mine[wrong[0]]]!r} at {label!r} (condition 3: "
                        "play must stay in a part or go to the base)"
                    )
                entered[after] = np.where(mine > 0, mine, before)


def nodes_by_actions(betting: BettingTree, lists: list[list[set[str]]]) -> Ints:
    """[betting nodes] part j + 1 where the players' actions begin with list j, each step of which is a set of actions;
    else 0."""
    part = np.zeros(len(betting), np.int64)
    done: list[list[int]] = [[0] * len(lists)]  # by node: steps of each list so far, -1: not on it
    for node in range(1, len(betting)):
        up = int(betting.parent[node])
        part[node], steps = part[up], list(done[up])
        if betting.turn[up] >= 0 and not part[up]:
            action = betting.actions[betting.actions_of[up]][betting.action[node]]
            for j, wanted in enumerate(lists):
                if steps[j] >= 0:
                    steps[j] = steps[j] + 1 if action in wanted[steps[j]] else -1
                    if steps[j] == len(wanted):
                        part[node] = j + 1
        done.append(steps)
    return part
