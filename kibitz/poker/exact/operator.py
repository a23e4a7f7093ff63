"""PokerOperator: plans, gradients, values and best responses of a two-player poker game.

A gradient costs a few operations per class of hands and end of betting, where a payoff matrix would have one entry per
pair of hands. Renaming suits changes nothing in the game, so a profile that does not look at their names loses nothing,
and its best responses need not look either: NashConv and values here are those of the whole game.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.core.threads import Crew
from kibitz.forms.protocol import Measure
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.exact.layout import PokerLayout

Floats = NDArray[np.float64]
PAST = 16  # numbers of a vector, which may be read past the end
LINE = 64  # bytes of a cache line
ONE_THREAD = 100_000  # sequences that one thread goes through in less than a millisecond


class PokerOperator(PokerLayout):
    """The payoff operator on a layout, and the way between sequences and infoset columns."""

    @cached_property
    def infosets(self) -> PokerInfosets:
        return PokerInfosets(self)

    @property
    def points(self) -> int:
        return int(self.infosets.seat_start[-1])

    def uniform(self) -> Floats:
        """Uniform probabilities by infoset column."""
        strategy = np.ones(self.sequences)
        self._normalise(strategy, strategy)
        return self.by_column(strategy)

    def to_strategy(self, probabilities: Floats) -> Floats:
        """Probabilities by infoset column -> by sequence; empty sequences get 1."""
        from kibitz.poker.exact.kernels.plan import turn_all

        strategy = np.ones(self.sequences)
        for seat in (0, 1):
            self._share(turn_all, seat, probabilities, strategy, False)
        return strategy

    def to_probabilities(self, weights: NDArray[Any]) -> Floats:
        """Nonnegative weights by sequence -> probabilities by infoset column; uniform where there is no weight."""
        strategy = np.empty(self.sequences)
        self._normalise(weights, strategy)
        return self.by_column(strategy)

    def by_column(self, strategy: Floats) -> Floats:
        """By sequence -> by infoset column."""
        from kibitz.poker.exact.kernels.plan import turn_all

        columns = np.empty(self.sequences - 2)
        for seat in (0, 1):
            self._share(turn_all, seat, strategy, columns, True)
        return columns

    def _normalise(self, weights: NDArray[Any], strategy: NDArray[Any]) -> None:
        from kibitz.poker.exact.kernels.plan import normalise

        for seat in (0, 1):
            self._share(normalise, seat, weights, strategy)

    def _share(self, kernel: Any, *arguments: Any) -> None:
        """Call a kernel on the cores, a workspace for each thread. A small form is done before threads meet."""
        self._crew.call(
            kernel, cores() if self.sequences > ONE_THREAD else 1,
            lambda thread, threads, gate: kernel(self.table, *arguments, self.workspace(thread, threads, gate)),
        )  # fmt: skip

    @cached_property
    def _crew(self) -> Crew:
        return Crew()

    # The payoff operator. Plans by row exist only if a row says what came before it.

    def _remember(self) -> None:
        if not self.perfect_recall:
            raise SolverError("buckets that forget the bucket before have no plans, values and best responses by row")

    def vectors(self, dtype: Any = np.float64) -> tuple[NDArray[Any], NDArray[Any]]:
        """[2, roots]  room at the roots of segments, for each seat: (reach, its range at the first segment; values)."""
        roots = np.zeros((2, self.roots), dtype)
        roots[:, : self.cards.rounds[0].classes] = self.ranges
        return roots, np.zeros((2, self.roots), dtype)

    def workspace(self, thread: int, threads: int, gate: NDArray[np.int64], dtype: Any = np.float64) -> Any:
        """What one thread works in."""
        from kibitz.poker.exact.kernels.passes import PokerWorkspace

        table = self.table
        shape, lanes = (int(np.diff(table.group_node).max()), self._longest[0]), int(np.diff(table.group_lane).max())
        buckets = (int(table.width.max()), self._longest[1]) if self.buckets is not None else (0, 0)
        wide = shape if dtype == np.float64 else (0, 0)
        space = max(shape[1] + lanes, (int(np.diff(table.board_hand).max(initial=0)) + 53) * PAST)
        padded = (shape[0], shape[1] + PAST)
        return PokerWorkspace(
            np.zeros(padded, dtype), np.zeros(padded, dtype), np.zeros(wide, dtype), aligned(space, dtype),
            np.zeros(buckets, dtype), np.zeros((1, table.children.shape[1]), np.int32),
            thread, threads, gate,
        )  # fmt: skip

    def plan(self, strategy: Floats) -> Floats:
        """The plans of both seats that a strategy by sequence makes."""
        return self._plan(strategy, np.ones(self.sequences))

    def _plan(self, strategy: Floats, plan: Floats) -> Floats:
        from kibitz.poker.exact.kernels.plan import plan_of

        self._remember()
        roots, _ = self.vectors()
        plan[self.seat_sequence[:-1]] = 1.0
        for seat in (0, 1):
            self._share(plan_of, seat, strategy, plan, roots[seat])
        return plan

    def gradient(self, seat: int, plan: Floats) -> Floats:
        """What each sequence of a seat is worth where play ends after it, when the other plays its plan."""
        worth = np.zeros(self.sequences)
        self._gradient(seat, plan, worth)
        return worth[self.seat_sequence[seat] : self.seat_sequence[seat + 1]]

    def _gradient(self, seat: int, plan: Floats, worth: Floats) -> None:
        from kibitz.poker.exact.kernels.plan import gradient

        self._remember()
        roots, values = self.vectors()
        self._share(gradient, seat, plan, worth, roots[1 - seat], values[seat])
        first = self.cards.rounds[0]
        worth[self.seat_sequence[seat]] = float((self.ranges[seat] * first.share) @ values[seat, : first.classes])

    def _respond(self, seat: int, worth: Floats, pure: Floats) -> float:
        """The value of a best response, from a gradient in `worth` (all sequences), which is written over.

        pure: by sequence, filled with the response's choices if it has room.
        """
        from kibitz.poker.exact.kernels.plan import best

        self._remember()
        above = self._row_up if self.buckets is not None else None
        row_up = np.zeros((1, 1), np.int64) if above is None else above[seat]
        values = np.zeros(self.roots)
        self._share(best, seat, row_up, worth, pure, values)
        rows = int(self.table.rows[seat, 0])
        comes = self.ranges[seat] if self.buckets is None else np.ones(rows)
        return float(worth[self.seat_sequence[seat]] + comes @ values[:rows])

    def look(self, seat: int, weights: NDArray[Any], mean: bool = False) -> Floats:
        """[roots]  what a hand of a seat wins from the beginning of each segment on, against the other's weights (by
        sequence): at most, or (mean) by the seat's own.

        It is the sum over the other's hands and boards to come of chance and reach, times chips: a hand's own reach is
        not in it. They lie as `root_places` says. Without buckets.
        """
        from kibitz.poker.exact.kernels.best_response import look

        if self.buckets is not None:
            raise SolverError("hands of a bucket share rows: what each wins by itself is asked of the game as it is")
        roots, values = self.vectors()
        self._share(look, seat, weights, mean, roots[1 - seat], values[seat])
        best: Floats = values[seat]
        return best

    def looked(self, seat: int, weights: NDArray[Any], mean: bool = False) -> float:
        """The same over all hands of a seat, each as likely as it is dealt and comes to the game."""
        first = self.cards.rounds[0]
        return float((self.ranges[seat] * first.share) @ self.look(seat, weights, mean)[: first.classes])

    def root_places(self, segment: int) -> NDArray[np.int64]:
        """[classes]  where the numbers of a segment's beginning lie, without buckets."""
        group, lane = int(self.groups.group[segment]), int(self.groups.lane[segment])
        lanes, classes = len(self.groups.lanes[group]), self.cards.rounds[int(self.levels[segment])].classes
        places: NDArray[np.int64] = int(self.table.group_root[group]) + np.arange(classes) * lanes + lane
        return places

    def measure(self, probabilities: Floats) -> Measure:
        """Values and best responses, from probabilities by infoset column."""
        return self.measure_weights(self.to_strategy(probabilities))

    def measure_weights(self, weights: NDArray[Any], pure: Floats | None = None) -> Measure:
        """The same from weights by sequence, of any scale in each row; `pure` is filled with the best responses."""
        if self.buckets is None and pure is None:
            most = np.array([self.looked(seat, weights) for seat in (0, 1)])
            first = self.looked(0, weights, True)
            return Measure(np.array([first, 0.0 - first]), most, max(0.0, float(most.sum())))
        plan = np.empty(self.sequences)
        strategy = plan if self.buckets is None else np.empty(self.sequences)
        self._normalise(weights, strategy)
        self._plan(strategy, plan)
        value, best = np.zeros(2), np.zeros(2)
        none = np.zeros(0)
        for seat in (0, 1):
            lo, hi = self.seat_sequence[seat : seat + 2]
            worth = np.zeros(int(hi))
            self._gradient(seat, plan, worth)
            value[seat] = plan[lo:hi] @ worth[lo:hi]
            best[seat] = self._respond(seat, worth, none if pure is None else pure)
        return Measure(value, best, max(0.0, float((best - value).sum())))

    def value(self, probabilities: Floats) -> Floats:
        """Expected utility of each seat."""
        plan = self.plan(self.to_strategy(probabilities))
        lo, hi = self.seat_sequence[:2]
        first = float(plan[lo:hi] @ self.gradient(0, plan))
        return np.array([first, -first])

    def best_response(self, seat: int, probabilities: Floats) -> tuple[float, Floats]:
        """(what a seat's best response gets, the probabilities with that response in its place)."""
        strategy = self.to_strategy(probabilities)
        pure = np.ones(self.sequences)
        measured = self.measure_weights(strategy, pure)
        lo, hi = self.seat_sequence[seat : seat + 2]
        strategy[lo:hi] = pure[lo:hi]
        return float(measured.best[seat]), self.by_column(strategy)

    def best_plans(self, plan: Floats, done: int, count: int, step: float) -> None:
        """plan += step * (best responses - plan), `count` times; a step of 0 stands for 1/(t + 1)."""
        for t in range(done + 1, done + count + 1):
            pure = np.ones(self.sequences)
            for seat in (0, 1):
                worth = np.zeros(self.sequences)
                self._gradient(seat, plan, worth)
                self._respond(seat, worth, pure)
            answer = self.plan(pure)
            answer -= plan
            answer *= step or 1.0 / (t + 1)
            plan += answer


def aligned(count: int, dtype: Any) -> NDArray[Any]:
    """Zeros that begin with a cache line: a vector over two of them takes twice as long to read and to write."""
    padded = np.zeros(count + LINE // np.dtype(dtype).itemsize, dtype)
    first = -padded.ctypes.data % LINE // padded.itemsize
    return padded[first : first + count]
