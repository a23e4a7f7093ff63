"""Treeplexes: one decision tree per seat, and the payoff operator between them.

A *sequence* is a path of one seat's own actions; a *plan* gives each sequence the probability that the seat
plays it. Payoffs are linear in each seat's plan [von Stengel 1996], so the game is a list of leaves: one
sequence per seat, and chance times payoff. Leaves with the same sequences are merged, so chance is gone, and
solvers need only `gradient`, the value of each own sequence against the others' plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.protocol import Measure
from kibitz.forms.treeplex import Treeplex, treeplex_of
from kibitz.games.tree import Infosets

if TYPE_CHECKING:
    from kibitz.forms.kernels.passes import FormArrays, Packed

Floats = NDArray[np.float64]


@cache
def _evaluation() -> Any:
    from kibitz.forms.kernels import evaluate

    return evaluate


@dataclass(frozen=True)
class Treeplexes:
    """Treeplexes and payoffs of a tree. S sequences, P points, K infoset columns; seats lie one after another."""

    infosets: Infosets
    seat_sequence: NDArray[np.int32]  # [n + 1]  first sequence of a seat: its empty one
    seat_point: NDArray[np.int32]  # [n + 1]  first point of a seat
    first: NDArray[np.int32]  # [P]  first sequence of a point; its actions follow one another
    infoset: NDArray[np.int32]  # [P]  the infoset of a point
    column: NDArray[np.int64]  # [S]  the infoset column that a sequence's last action reads; -1 for empty ones
    arrays: FormArrays  # what the kernels read
    scale: float  # the largest payoff, for thresholds of rounding noise
    zero_sum: bool
    spec: str
    tree_digest: str

    @cached_property
    def seats(self) -> int:
        return len(self.seat_sequence) - 1

    @cached_property
    def sequences(self) -> int:
        return int(self.seat_sequence[-1])

    @cached_property
    def points(self) -> int:
        return int(self.seat_point[-1])

    @property
    def columns(self) -> int:
        """Infoset columns: one for each infoset and action."""
        return self.infosets.columns

    @property
    def entries(self) -> int:
        """Entries of the payoff operator, all seats together, with the zeros that bundling adds."""
        return len(self.arrays.payoff)

    @property
    def parent(self) -> NDArray[np.uint32]:
        return self.arrays.parent

    @cached_property
    def width(self) -> NDArray[np.int32]:
        return self.infosets.width[self.infoset]

    @property
    def perfect_recall(self) -> bool:
        return self.points == len(self.infosets.labels)

    @cached_property
    def point_of(self) -> NDArray[np.int32]:
        """[S] the point of a sequence's last action; -1 for empty sequences."""
        owner = np.full(self.sequences, -1, np.int32)
        owner[self.column >= 0] = np.repeat(np.arange(self.points, dtype=np.int32), self.width)
        return owner

    # Between infoset columns (what a Profile holds) and sequences (what kernels read).

    def to_strategy(self, probabilities: Floats) -> Floats:
        """Probabilities by infoset column -> by sequence; empty sequences get 1."""
        if not len(probabilities):  # nobody ever moves
            return np.ones(self.sequences)
        strategy = probabilities.take(self.reads)
        strategy[self.seat_sequence[:-1]] = 1.0
        return strategy

    @cached_property
    def reads(self) -> NDArray[np.uint32]:
        """[S] `column` for the kernels, with 0 for empty sequences."""
        return np.maximum(self.column, 0).astype(np.uint32)

    @cached_property
    def packed(self) -> Packed:
        """The arrays end to end, as kernels are given them."""
        from kibitz.forms.kernels.passes import pack

        return pack(self.arrays)

    def to_probabilities(self, weights: Floats, fallback: Floats | None = None) -> Floats:
        """Nonnegative weights by sequence -> probabilities by infoset column.

        Points of one infoset add up (imperfect recall). An infoset of weight zero gets `fallback`, by default
        the uniform distribution.
        """
        inner = self.column >= 0
        sums: Floats = np.bincount(self.column[inner], weights[inner], int(self.infosets.first[-1])).astype(np.float64)
        return normalise(sums, self.infosets, fallback)

    def uniform(self) -> Floats:
        """Uniform probabilities by infoset column."""
        return 1.0 / self.infosets.width[self.infosets.row_of_column]

    # The payoff operator.

    def plan(self, strategy: Floats) -> Floats:
        """The plans of all seats that a strategy by sequence makes."""
        from kibitz.forms.kernels.evaluate import all_plans

        plan = np.ones(self.sequences)
        all_plans(self.packed, strategy, plan)
        return plan

    def gradient(self, seat: int, plan: Floats) -> Floats:
        """What each sequence of a seat is worth at its own leaves when the others play their plans."""
        from kibitz.forms.kernels.evaluate import seat_gradient

        worth = np.zeros(self.sequences)
        seat_gradient(self.packed, seat, plan, worth)
        return worth[self.seat_sequence[seat] : self.seat_sequence[seat + 1]]

    def treeplex(self, seat: int) -> Treeplex:
        """The points of a seat, whose actions follow one another."""
        if not self.perfect_recall:
            raise SolverError("a game with imperfect recall has no treeplex")
        lo, hi = int(self.seat_point[seat]), int(self.seat_point[seat + 1])
        base, end = (int(each) for each in self.seat_sequence[seat : seat + 2])
        parent = self.parent[lo:hi].astype(np.int64) - base
        return treeplex_of(self.first[lo:hi] - base, np.ones(hi - lo), self.width[lo:hi], parent, end - base)

    def measure(self, probabilities: Floats) -> Measure:
        """Values and best responses of all seats, in one compiled call and in time linear in the size of the form.

        `probabilities` are by infoset column, as a profile holds them. Where a seat lacks perfect recall its best
        response is one that remembers: an upper bound.
        """
        return self._respond(probabilities)[0]

    def _respond(self, probabilities: Floats) -> tuple[Measure, NDArray[np.int32]]:
        """(measure, [points] the best responses' actions)."""
        probabilities = probabilities.view()
        probabilities.flags.writeable = False  # as a profile's are: one type, so compiled once
        result = np.empty((2, self.seats))
        choice = np.empty(self.points, np.int32)
        gap = _evaluation().measure(self.packed, self.reads, probabilities, choice, result)
        return Measure(result[0], result[1], gap), choice

    def value(self, probabilities: Floats) -> Floats:
        """Expected utility of each seat."""
        result = np.empty(self.seats)
        _evaluation().expected(self.packed, self.reads, probabilities, result)
        return result

    def best_response(self, seat: int, probabilities: Floats) -> tuple[float, Floats]:
        """(what a seat's best response gets, the probabilities with that response in its place)."""
        measured, choice = self._respond(probabilities)
        lo, hi = self.seat_point[seat], self.seat_point[seat + 1]
        start = self.infosets.seat_start
        answer = probabilities.copy()
        answer[self.infosets.first[start[seat]] : self.infosets.first[start[seat + 1]]] = 0.0
        # With imperfect recall an infoset has several points; the first one in order speaks for it.
        infosets, index = np.unique(self.infoset[lo:hi], return_index=True)
        answer[self.infosets.first[infosets] + choice[lo:hi][index]] = 1.0
        return float(measured.best[seat]), answer

    def best_plans(self, plan: Floats, done: int, count: int, step: float) -> None:
        """plan += step * (best responses - plan), `count` times; a step of 0 stands for 1/(t + 1)."""
        from kibitz.forms.kernels.response import best_plans

        best_plans(self.packed, plan, self.first, done, count, step)


def normalise(sums: Floats, infosets: Infosets, fallback: Floats | None = None) -> Floats:
    """Weights by infoset column -> probabilities that sum to one in each infoset."""
    from kibitz.forms.kernels.rows import normalise as kernel

    columns = int(infosets.first[-1])
    for each in (sums, fallback):
        if each is not None and len(each) != columns:
            raise ValueError(f"{len(each)} weights for {columns} columns")
    result: Floats = np.empty(columns)
    kernel(np.ascontiguousarray(sums, np.float64), np.ascontiguousarray(infosets.first, np.int64),
           np.zeros(0) if fallback is None else np.ascontiguousarray(fallback, np.float64), result)  # fmt: skip
    return result
