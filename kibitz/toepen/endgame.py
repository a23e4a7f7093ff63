"""The last tricks of Toepen, solved while one waits.

    endgame = Endgame(unplayed, cards_each=2, leader=0, ante=1, last_bettor=-1)
    solution = endgame.solve(range0, range1, seconds=1.0)
    solution.strategy(0, ["check", "9h"], hand)         probability by action
    solution.value(0), solution.nash_conv               by hand; what both best responses gain together

From the start of a trick on, the rest of the game is solved for all hands that either seat may hold, by CFR+ on
ranges (`toepen/kernels/endgame.py`), exactly: nothing is sampled and nothing is abstracted. A *hand* is a set of
cards as bits (bit suit * 8 + rank) and a *range* has a weight for each of `Endgame.hands`; the likelihood of a deal
is the product of its weights.

*Strategies* are arrays with one probability per column. `Endgame.rows()` describes every row (seat, phase, cards held,
public history) and says which columns it has, so a model of a player or a blueprint can be written into such an array,
measured (`evaluate`), answered (`respond`) and mixed (`blend`).

*Safe re-solving.* A solution for given ranges may be exploited by an opponent who arrives with others. With
`alternative=(seat, values)` that seat first chooses, for each hand, to enter or to take the value that it has without
the endgame [CFR-D: Burch, Johanson & Bowling 2014]; the other seat's strategy then gives no hand much more than that.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import SolverError
from kibitz.toepen.endgame_passes import EndgamePasses
from kibitz.toepen.endgame_solution import Solution, begin, ratio

Floats = NDArray[np.float64]

FLOOR = 0.02
GAMMA = 2.0  # iteration t counts t ** GAMMA in the average
CONFIDENCE = 3.0  # how many iterations' worth of regret a strategy to start from counts for
BLOCK_SECONDS = 0.05  # a call into compiled code takes about this long


class Values(NamedTuple):
    """What a pair of strategies is worth."""

    value: float  # to seat 0
    by_hand: tuple[Floats, Floats]  # expected payoff of each hand, for each seat


class Response(NamedTuple):
    """A best response: what each hand gets, and the strategy with the seat's columns replaced by the answer."""

    by_hand: Floats
    strategy: Floats


class Endgame(EndgamePasses):
    """All deals of the unplayed cards, `cards_each` to a seat, from the start of a trick on."""

    def solve(
        self,
        range0: ArrayLike,
        range1: ArrayLike,
        *,
        seconds: float | None = 1.0,
        iterations: int | None = None,
        threads: int = 1,
        floor: float = FLOOR,
        possible: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
        alternative: tuple[int, ArrayLike] | None = None,
        start: Solution | ArrayLike | None = None,
        confidence: float = CONFIDENCE,
        gamma: float = GAMMA,
    ) -> Solution:
        """Solve for the given ranges until `seconds` have passed or `iterations` are done, whichever is first.

        floor, possible  see `ranges`
        alternative      (seat, values): that seat may decline with each hand and get the hand's value instead. Its
                         range is then even over its possible hands
        start            a solution of this endgame to go on from (to continue it, where ranges are the same), or a
                         strategy to start from, which counts for `confidence` iterations
        threads          results are the same bytes for any number
        gamma            exponent of the averaging weight
        """
        began = time.perf_counter()
        if seconds is None and iterations is None:
            raise SolverError("say when to stop: seconds= or iterations=")
        if threads < 1:
            raise SolverError(f"threads={threads}: 1 or more")
        ranges = self.ranges(range0, range1, floor, possible)
        declines, gadget = -1, None
        if alternative is not None:
            declines = int(alternative[0])
            if declines not in (0, 1):
                raise SolverError(f"alternative=(seat, values): seats are 0 and 1, not {alternative[0]!r}")
            values = self._vector(alternative[1], "alternative")
            given = possible[declines]
            can = ranges[declines] > 0 if given is None else np.asarray(given, bool)
            ranges[declines] = can / can.sum()
            if ranges[0] @ self.compatible(ranges[1]) <= 1e-12:
                raise SolverError("alternative: no hand of the seat that may decline goes with the other's range")
            gadget = np.zeros((2, len(self.hands)))
            gadget[declines] = values * self.compatible(ranges[1 - declines])
        from kibitz.toepen.kernels.endgame_plan import AVERAGE, UPDATE

        solution = begin(self, ranges, declines, gadget, start, confidence, gamma, threads)
        first = solution.iterations
        last = None if iterations is None else first + int(iterations)
        block, each = 1, 0.0
        while last is None or solution.iterations < last:
            now = time.perf_counter()
            if seconds is not None:
                # What is left after turning averages into strategies, which takes about four iterations.
                left = seconds - (now - began) - 4.0 * each
                if solution.iterations > first and left < each:
                    break
                if each > 0.0:
                    block = max(1, min(int(0.5 * left / each), int(BLOCK_SECONDS / each)))
            elif each > 0.0:
                block = max(1, int(BLOCK_SECONDS / each))
            if last is not None:
                block = min(block, last - solution.iterations)
            weights = (solution.iterations + np.arange(1, block + 1, dtype=np.float64)) ** gamma
            self._passes(solution._upper, solution._lower, weights, UPDATE, AVERAGE, declines=declines, threads=threads)
            took = (time.perf_counter() - now) / block
            each = 0.5 * (each + took)  # the first iteration, which finds no memory in place, counts for half
            solution._weight += float(weights.sum())
            solution.iterations += block
        solution._finish()
        solution.seconds = time.perf_counter() - began
        return solution

    def evaluate(self, strategy: ArrayLike, range0: ArrayLike, range1: ArrayLike) -> Values:
        """What both seats get when both play `strategy`, for these ranges as they are."""
        from kibitz.toepen.kernels.endgame_plan import EVALUATE

        ranges = self.ranges(range0, range1)
        first, second = self._values(self._strategy(strategy), ranges, EVALUATE, 3)
        mass = [self.compatible(ranges[1]), self.compatible(ranges[0])]
        by_hand = (ratio(first, mass[0]), ratio(second, mass[1]))
        return Values(float(ranges[0] @ first / (ranges[0] @ mass[0])), by_hand)

    def respond(self, strategy: ArrayLike, seat: int, other_range: ArrayLike) -> Response:
        """The best response of `seat` to the other seat's strategy and range: the most that each hand can get.

        Where nothing distinguishes actions the first one is taken.
        """
        from kibitz.toepen.kernels.endgame_plan import RESPOND

        ranges = np.stack([self._vector(other_range, "the other seat's range")] * 2)
        answer = self._strategy(strategy).copy()
        (worth,) = self._values(answer, ranges, RESPOND, 1 << seat)
        return Response(ratio(worth, self.compatible(ranges[0])), answer)

    def blend(self, first: ArrayLike, second: ArrayLike, weight: float, seat: int, own_range: ArrayLike) -> Floats:
        """The strategy that plays `second` with probability `weight` and else `first`, decided once for the endgame.

        Only the columns of `seat` are mixed; the rest are those of `first`. Its range matters only to rows that cards
        share.
        """
        from kibitz.toepen.kernels.endgame_plan import AVERAGE, EVALUATE, NORMALISE

        ranges = np.stack([self._vector(own_range, "the seat's range")] * 2)
        average = np.zeros(self.columns)
        result = self._strategy(first).copy()
        for strategy, share in ((result, 1.0 - weight), (self._strategy(second).copy(), weight)):
            self._measure(ranges, strategy, 1 - seat, EVALUATE, AVERAGE, share, average)
        self._measure(ranges, result, 1 - seat, EVALUATE, NORMALISE, 1.0, average)
        return result
