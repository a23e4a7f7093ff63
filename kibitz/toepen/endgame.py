"""The last tricks of Toepen, solved while one waits.

    endgame = ToepenEndgame(unplayed, cards_each=2, leader=0, ante=1, last_bettor=-1)
    solution = endgame.solve(range0, range1, seconds=1.0)
    solution.strategy(0, ["check", "9h"], hand)         probability by action
    solution.value(0), solution.nash_conv               by hand; what both best responses gain together

From the start of a trick on, the rest of the game is solved for all hands that either seat may hold, by CFR+ on
ranges (`toepen/kernels/endgame.py`), exactly: nothing is sampled and nothing is abstracted. A *hand* is a set of
cards as bits (bit suit * 8 + rank) and a *range* has a weight for each of `ToepenEndgame.hands`; the likelihood of a
deal is the product of its weights.

*Strategies* are arrays with one probability per column. `ToepenEndgame.rows()` describes every row (seat, phase, cards
in the hand, public history) and says which columns it has, so a model of a player or a blueprint can be written into
such an array, measured (`evaluate`), answered (`respond`) and mixed (`blend`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.barrier import gate_of
from kibitz.core.errors import GameError, SolverError
from kibitz.core.threads import together
from kibitz.toepen.endgame_layout import EndgameLayout
from kibitz.toepen.endgame_rows import EndgameRows, PublicState, rows_of
from kibitz.toepen.kernels import endgame_tree as fields
from kibitz.toepen.kernels.endgame import passes
from kibitz.toepen.kernels.endgame_tree import (
    AVERAGE,
    EVALUATE,
    FINISH,
    KEEP,
    NORMALISE,
    RESPOND,
    TEMPORARIES,
    UPDATE,
    Lower,
    Pass,
    PassTables,
    Upper,
    uniform,
)

Floats = NDArray[np.float64]
Halves = tuple[NDArray[Any], NDArray[Any]]  # columns of nodes, and of batches

FLOOR = 0.02
GAMMA = 2.0  # iteration t counts t ** GAMMA in the average
BLOCK_SECONDS = 0.05  # a call into compiled code takes about this long
TINY = 1e-30  # regrets below it do not tell actions apart


class EndgameValues(NamedTuple):
    """The values of a pair of strategies."""

    value: float  # to seat 0
    by_hand: tuple[Floats, Floats]  # expected payoff of each hand, for each seat


class EndgameResponse(NamedTuple):
    """A best response: what each hand gets, and the strategy with the seat's columns replaced by the answer."""

    by_hand: Floats
    strategy: Floats


class ToepenEndgame(EndgameLayout):
    """All deals of the unplayed cards, `cards_each` to a seat, from the start of a trick on."""

    def rows(self) -> EndgameRows:
        """A description of every row with a choice; see `EndgameRows`."""
        return rows_of(self)

    def locate(self, public: Sequence[str | int]) -> PublicState:
        """Where play stands after what was said and played since the endgame began.

        Words are check, bet, call, fold; cards are names ("9h") or numbers (suit * 8 + rank). A check that is forced
        may be left out.
        """
        state = PublicState(self)
        for action in public:
            state.take(action)
        return state

    def uniform(self) -> Floats:
        """The strategy that is even over legal actions, but bets with the card that wins the last trick."""
        strategy = np.empty(self.columns)
        uniform(self._deck, self._tree, strategy[: self._cut], strategy[self._cut :])
        return strategy

    def compatible(self, weights: ArrayLike) -> Floats:
        """For each hand the sum of the other seat's weights over the hands that share no card with it."""
        weights = np.asarray(weights, np.float64)
        result = np.full(len(self.hands), weights.sum())
        cards = [card for card in self._card if card >= 0]
        holds = np.stack([self.hands >> card & 1 for card in cards]).astype(np.float64)
        single = holds @ weights
        result -= single @ holds
        if self.cards_each > 1:
            pairs = (holds * weights) @ holds.T
            np.fill_diagonal(pairs, 0.0)
            result += np.einsum("ch,cd,dh->h", holds, pairs, holds, optimize=True) / 2
        if self.cards_each > 2:
            result -= weights
        clipped: Floats = np.maximum(result, 0.0)
        return clipped

    def ranges(
        self,
        range0: ArrayLike,
        range1: ArrayLike,
        floor: float = 0.0,
        possible: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    ) -> Floats:
        """Both ranges as they are used: [2, hands], each summing to 1.

        A hand of weight 0 is impossible, unless `possible` (true for each hand that a seat may hold) says otherwise.
        `floor` is the share of each range that is spread evenly over the possible hands. Where all weights of a seat
        are 0, or no two hands of both ranges go together, ranges are even over possible hands, or else over all.
        """
        if not 0.0 <= floor <= 1.0:
            raise SolverError(f"floor={floor}: a share from 0 to 1")
        weights = [self._vector(x, f"range{seat}") for seat, x in enumerate((range0, range1))]
        if any((x < 0).any() for x in weights):
            raise SolverError("weights of a range are 0 or more")
        can = []
        for x, allowed in zip(weights, possible, strict=True):
            mask = x > 0 if allowed is None else np.asarray(allowed, bool) | (x > 0)
            can.append(mask if mask.any() else np.ones(len(x), bool))
        even = np.stack([mask / mask.sum() for mask in can])
        result = np.stack([x / x.sum() if x.sum() > 0 else even[seat] for seat, x in enumerate(weights)])
        result = (1.0 - floor) * result + floor * even
        for candidate in (result, even):
            if candidate[0] @ self.compatible(candidate[1]) > 1e-12:
                return candidate
        return np.full_like(even, 1.0 / len(self.hands))

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
    ) -> EndgameSolution:
        """Solve for the given ranges until `seconds` have passed or `iterations` are done, whichever is first.

        floor, possible  see `ranges`
        threads          results are the same bytes for any number
        """
        began = time.perf_counter()
        if seconds is None and iterations is None:
            raise SolverError("say when to stop: seconds= or iterations=")
        if threads < 1:
            raise SolverError(f"threads={threads}: 1 or more")
        ranges = self.ranges(range0, range1, floor, possible)
        cut, strategy = self._cut, self.uniform()
        high, low = strategy[:cut].copy(), strategy[cut:].astype(np.float32)
        average = np.zeros_like(high), np.zeros_like(low)
        tables = self._tables(ranges, (high, low), average, (np.zeros_like(high), np.zeros_like(low)), threads)
        done, total, block, each = 0, 0.0, 1, 0.0
        while iterations is None or done < iterations:
            now = time.perf_counter()
            if seconds is not None:
                # What is left after turning averages into strategies, which takes about four iterations.
                left = seconds - (now - began) - 4.0 * each
                if done > 0 and left < each:
                    break
                if each > 0.0:
                    block = max(1, min(int(0.5 * left / each), int(BLOCK_SECONDS / each)))
            elif each > 0.0:
                block = max(1, int(BLOCK_SECONDS / each))
            if iterations is not None:
                block = min(block, iterations - done)
            weights = (done + np.arange(1, block + 1, dtype=np.float64)) ** GAMMA
            self._passes(tables, weights, Pass(UPDATE, AVERAGE, 3), threads)
            took = (time.perf_counter() - now) / block
            each = 0.5 * (each + took)  # the first iteration, which finds no memory in place, counts for half
            total += float(weights.sum())
            done += block
        # Averages become strategies, in double precision.
        exact = low.astype(np.float64)
        tables = self._tables(ranges, (high, exact), (average[0], average[1].astype(np.float64)))
        self._passes(tables, np.array([total]), Pass(EVALUATE, FINISH, 3))
        return EndgameSolution(self, ranges, np.concatenate([high, exact]), done, time.perf_counter() - began)

    def evaluate(self, strategy: ArrayLike, range0: ArrayLike, range1: ArrayLike) -> EndgameValues:
        """What both seats get when both play `strategy`, for these ranges as they are."""
        ranges = self.ranges(range0, range1)
        first, second = self._values(self._strategy(strategy), ranges)
        mass = [self.compatible(ranges[1]), self.compatible(ranges[0])]
        by_hand = (ratio(first, mass[0]), ratio(second, mass[1]))
        return EndgameValues(float(ranges[0] @ first / (ranges[0] @ mass[0])), by_hand)

    def respond(self, strategy: ArrayLike, seat: int, other_range: ArrayLike) -> EndgameResponse:
        """The best response of `seat` to the other seat's strategy and range: the most that each hand can get.

        Where nothing distinguishes actions the first one is taken.
        """
        ranges = np.stack([self._vector(other_range, "the other seat's range")] * 2)
        answer = self._strategy(strategy).copy()
        value = self._measure(ranges, answer, Pass(RESPOND, KEEP, 1 << seat))
        return EndgameResponse(ratio(value, self.compatible(ranges[0])), answer)

    def blend(self, first: ArrayLike, second: ArrayLike, weight: float, seat: int, own_range: ArrayLike) -> Floats:
        """The strategy that plays `second` with probability `weight` and else `first`, decided once for the endgame.

        Only the columns of `seat` are mixed; the rest are those of `first`. Its range matters only to rows that cards
        share.
        """
        ranges = np.stack([self._vector(own_range, "the seat's range")] * 2)
        average = np.zeros(self.columns)
        result = self._strategy(first).copy()
        other = 1 << 1 - seat
        for strategy, share in ((result, 1.0 - weight), (self._strategy(second).copy(), weight)):
            self._measure(ranges, strategy, Pass(EVALUATE, AVERAGE, other), share, average)
        self._measure(ranges, result, Pass(EVALUATE, NORMALISE, other), 1.0, average)
        return result

    # Compiled passes

    def _tables(
        self, ranges: Floats, strategy: Halves, average: Halves | None = None, regret: Halves | None = None,
        threads: int = 1,
    ) -> PassTables:  # fmt: skip
        """What passes read and write; the strategy of batches is float32 to solve and float64 to measure."""
        high, low = strategy
        average, regret = average or (high[:0], low[:0]), regret or (high[:0], low[:0])
        width = int(self._deck.size.sum()) + 16
        inside = np.zeros((2, int(self._deck.size[self.cards_each])))
        inside[:, self._order] = ranges
        vectors = np.zeros(2 * self._places + threads * TEMPORARIES * width)
        upper = Upper(regret[0], high, average[0], vectors, self._places, 2 * self._places, width, inside)
        width = int(self._tree.batch[:, fields.COUNT].max()) * self._deck.lanes + 16
        lower = []
        for dtype in (np.float32, np.float64):
            number = np.arange(64).astype(dtype)
            number[63] = TINY
            none, used = np.zeros(0, dtype), low.dtype == dtype
            x = np.zeros(threads * TEMPORARIES * width * used, dtype)
            columns = (regret[1], low, average[1]) if used else (none, none, none)
            lower.append(Lower(columns[0], columns[1], columns[2], x, width, number))
        return PassTables(upper, *lower)

    def _passes(self, tables: PassTables, weights: Floats, how: Pass, threads: int = 1) -> Floats:
        """Run the kernel; returns the counterfactual values of the last pass by hand."""
        gate = gate_of(threads)
        together(lambda thread: passes(weights, how, self._deck, self._tree, tables, thread, threads, gate), threads)
        values: Floats = tables.upper.x[self._places :][self._order]
        return values

    def _measure(
        self, ranges: Floats, strategy: Floats, how: Pass, weight: float = 0.0, average: Floats | None = None
    ) -> Floats:  # fmt: skip
        """One exact pass for a seat; the strategy and the average are changed in place."""
        cut = self._cut
        halves = None if average is None else (average[:cut], average[cut:])
        return self._passes(self._tables(ranges, (strategy[:cut], strategy[cut:]), halves), np.array([weight]), how)

    def _values(self, strategy: Floats, ranges: Floats) -> list[Floats]:
        """Counterfactual values by hand, for each seat."""
        return [self._measure(ranges, strategy, Pass(EVALUATE, KEEP, 1 << seat)) for seat in range(2)]

    def _vector(self, values: ArrayLike, what: str) -> Floats:
        result = np.asarray(values, np.float64)
        if result.shape != self.hands.shape:
            raise SolverError(f"{what} has {len(self.hands):,} entries, one for each hand; got {result.shape}")
        if not np.isfinite(result).all():
            raise SolverError(f"{what} has entries that are not finite numbers")
        return result

    def _strategy(self, strategy: ArrayLike) -> Floats:
        result = np.asarray(strategy, np.float64)
        if result.shape != (self.columns,):
            raise SolverError(f"a strategy of this endgame has {self.columns:,} columns; got {result.shape}")
        return result


@dataclass
class EndgameSolution:
    """A solved endgame. `probabilities` has all columns of both seats."""

    endgame: ToepenEndgame
    ranges: Floats  # [2, hands], as used
    probabilities: Floats = field(repr=False)
    iterations: int
    seconds: float

    def strategy(self, seat: int, public: Sequence[str | int], hand: int) -> dict[str, float]:
        """Probability by action of a seat's turn, given what was done since the endgame began (see `locate`)."""
        state = self.endgame.locate(public)
        if not state.over and state.seat != seat:
            raise GameError(f"after {state._text()} it is seat {state.seat}'s turn, not seat {seat}'s")
        columns = state.columns(hand)
        return {name: 1.0 if x < 0 else float(self.probabilities[x]) for name, x in columns.items()}

    @cached_property
    def _values(self) -> list[Floats]:
        return self.endgame._values(self.probabilities, self.ranges)

    @cached_property
    def _mass(self) -> list[Floats]:
        return [self.endgame.compatible(self.ranges[1 - seat]) for seat in range(2)]

    def value(self, seat: int) -> Floats:
        """What each hand of a seat gets when both play the solution (0 where no hand of the other goes with it)."""
        return ratio(self._values[seat], self._mass[seat])

    @property
    def expected(self) -> float:
        """Seat 0's expected payoff when both play the solution."""
        return float(self.ranges[0] @ self._values[0]) / float(self.ranges[0] @ self._mass[0])

    @cached_property
    def nash_conv(self) -> float:
        """What both best responses gain together, by an exact computation: 0 at an equilibrium."""
        deals, total = float(self.ranges[0] @ self._mass[0]), 0.0
        for seat in range(2):
            best = self.endgame._measure(self.ranges, self.probabilities.copy(), Pass(RESPOND, KEEP, 1 << seat))
            total += float(self.ranges[seat] @ best) / deals
        return total


def ratio(value: Floats, mass: Floats) -> Floats:
    """Values by hand from counterfactual ones; 0 where no hand of the other goes with a hand."""
    some = mass > 1e-14
    return np.where(some, value / np.where(some, mass, 1.0), 0.0)
