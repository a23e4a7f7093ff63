"""The last tricks of Toepen, solved while one waits.

    endgame = Endgame(unplayed, cards_each=2, leader=0, ante=1, last_bettor=-1)
    solution = endgame.solve(range0, range1, seconds=1.0)
    solution.strategy(0, ["check", "9h"], hand)         probability by action
    solution.value(0), solution.nash_conv               by hand; what both best responses gain together

From the start of a trick on, the rest of the game is solved for all hands that either seat may hold, by CFR+ on
ranges (`kernels/toepen/endgame.py`), exactly: nothing is sampled and nothing is abstracted. A *hand* is a set of
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

import operator
import time
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.errors import GameError, SolverError
from kibitz.games.toepen.endgame_deck import MOST_CARDS, estimate, lanes_of, make_deck, make_plan
from kibitz.games.toepen.endgame_rows import Rows, rows_of
from kibitz.games.toepen.endgame_solution import Solution, begin, ratio
from kibitz.games.toepen.endgame_spot import Spot
from kibitz.threads import together

if TYPE_CHECKING:
    from kibitz.kernels.toepen.endgame_plan import Lower, Upper

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEMORY = 1 << 30  # bytes that an endgame may take unless told otherwise
FLOOR = 0.02
GAMMA = 2.0  # iteration t counts t ** GAMMA in the average
TINY = 1e-30  # regrets below it do not tell actions apart
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


class Endgame:
    """All deals of the unplayed cards, `cards_each` to a seat, from the start of a trick on.

    unplayed     the cards that nobody has played, as bits: in the hands and in the stock
    leader       the seat that leads the trick
    ante         what the hand is worth now; last_bettor: who bet last, -1 if nobody did
    memory       bytes that tables may take; more is refused
    """

    def __init__(
        self,
        unplayed: int,
        cards_each: int,
        leader: int,
        ante: int = 1,
        last_bettor: int = -1,
        *,
        suits: int = 4,
        ranks: int = 8,
        betting: bool = True,
        follow_suit: bool = True,
        memory: int = MEMORY,
    ) -> None:
        self.unplayed, self.cards_each, self.leader = operator.index(unplayed), int(cards_each), int(leader)
        self.ante, self.last_bettor = operator.index(ante), int(last_bettor)
        self.betting, self.follow_suit = bool(betting), bool(follow_suit)
        deck = sum(1 << (8 * suit + rank) for suit in range(suits) for rank in range(8 - ranks, 8))
        if self.unplayed < 0 or self.unplayed & ~deck:
            raise GameError(f"there are unplayed cards that a deck of {suits} suits and {ranks} ranks does not have")
        if not 1 <= self.cards_each <= MOST_CARDS:
            raise GameError(f"an endgame has 1 to {MOST_CARDS} cards a hand, not {cards_each}")
        if self.leader not in (0, 1) or self.last_bettor not in (-1, 0, 1):
            raise GameError(f"seats are 0 and 1 (last_bettor -1: nobody): leader={leader}, last_bettor={last_bettor}")
        if not 1 <= self.ante <= 32:
            raise GameError(f"ante={ante}: from 1 to 32")
        count = self.unplayed.bit_count()
        if count < 2 * self.cards_each:
            raise GameError(f"{count} unplayed cards do not make two hands of {self.cards_each}")
        self._card = lanes_of(self.unplayed)
        last = 0 if self.last_bettor < 0 else 1 if self.last_bettor == self.leader else 2
        self.bytes, self._bounds = estimate(self._card, self.cards_each, last, self.betting)
        if self.bytes > memory:
            raise SolverError(
                f"an endgame with {self.cards_each} cards a hand and {count} unplayed needs about "
                f"{self.bytes / 2**30:,.1f} GiB and {memory / 2**30:,.1f} GiB are allowed (memory=): "
                "begin it a trick later"
            )
        k = self.cards_each
        self._deck = make_deck(self._card, k, self.follow_suit)
        # The cut: columns from there on are those of batches.
        self._plan, self._cut, self.columns, self._places = make_plan(
            self._deck, self._card, k, self.leader, self.ante, self.last_bettor, self.betting, self._bounds
        )
        first = int(self._deck.start[k])
        lanes = self._deck.mask[first : first + int(self._deck.size[k])]
        masks = self._masks(lanes)
        self._order = np.flatnonzero(masks)
        #: The hands, as bits of cards; the same for both seats.
        self.hands: Ints = masks[self._order]

    # Working

    def _upper(
        self, ranges: Floats, strategy: Floats, average: Floats | None = None, gadget: Floats | None = None,
        solving: bool = False, threads: int = 1,
    ) -> Upper:  # fmt: skip
        """Tables of nodes; `ranges` and `gadget` are by hand."""
        from kibitz.kernels.toepen.endgame_plan import TEMPORARIES, Upper

        columns = len(strategy) if solving else 0
        width = int(self._deck.size.sum()) + 16
        return Upper(
            np.zeros(columns), strategy, np.zeros(columns) if average is None else average,
            np.zeros(2 * self._places + threads * TEMPORARIES * width), self._places, 2 * self._places, width,
            self._inside(ranges), np.zeros((0, 0)) if gadget is None else self._inside(gadget),
        )  # fmt: skip

    def _lower(
        self, strategy: NDArray[Any], average: NDArray[Any] | None = None, solving: bool = False, threads: int = 1
    ) -> Lower:  # fmt: skip
        """Tables of batches, of the strategy's type."""
        from kibitz.kernels.toepen.endgame_plan import TEMPORARIES, Lower

        dtype, columns = strategy.dtype, len(strategy) if solving else 0
        width = int(self._plan.batch[:, 4].max()) * self._deck.lanes + 16
        number = np.arange(64).astype(dtype)
        number[63] = TINY
        return Lower(
            np.zeros(columns, dtype), strategy, np.zeros(columns, dtype) if average is None else average,
            np.zeros(threads * TEMPORARIES * width, dtype), width, number,
        )  # fmt: skip

    def _passes(
        self, upper: Upper, lower: Lower, weights: Floats, own: int, other: int, seats: int = 3, scale: float = 0.0,
        declines: int = -1, threads: int = 1,
    ) -> Floats:  # fmt: skip
        """Run the kernel; returns the counterfactual values of the last pass by hand."""
        from kibitz.kernels.barrier import gate_of
        from kibitz.kernels.toepen.endgame import passes
        from kibitz.kernels.toepen.endgame_plan import UPDATE

        gate = gate_of(threads)
        none = self._lower(np.zeros(0, np.float64 if own == UPDATE else np.float32))
        fast, exact = (lower, none) if own == UPDATE else (none, lower)

        def work(thread: int) -> None:
            passes(
                weights, own, other, seats, scale, declines, self._deck, self._plan, upper, fast, exact,
                thread, threads, gate,
            )  # fmt: skip

        together(work, threads)
        found: Floats = upper.x[self._places :][self._order]
        return found

    def _measure(
        self, ranges: Floats, strategy: Floats, seat: int, own: int, other: int = 0, weight: float = 0.0,
        average: Floats | None = None,
    ) -> Floats:  # fmt: skip
        """One exact pass for a seat; the strategy and the average are changed in place."""
        cut = self._cut
        parts = (None, None) if average is None else (average[:cut], average[cut:])
        upper, lower = self._upper(ranges, strategy[:cut], parts[0]), self._lower(strategy[cut:], parts[1])
        return self._passes(upper, lower, np.array([weight]), own, other, 1 << seat)

    def _inside(self, values: ArrayLike) -> Floats:
        """Vectors over `hands` as vectors over the first space."""
        given = np.asarray(values, np.float64)
        result = np.zeros((*given.shape[:-1], int(self._deck.size[self.cards_each])))
        result[..., self._order] = given
        return result

    def _vector(self, values: ArrayLike, what: str) -> Floats:
        result = np.asarray(values, np.float64)
        if result.shape != self.hands.shape:
            raise SolverError(f"{what} has {len(self.hands):,} entries, one for each hand; got {result.shape}")
        if not np.isfinite(result).all():
            raise SolverError(f"{what} has entries that are not finite numbers")
        return result

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
        found = [self._vector(x, f"range{seat}") for seat, x in enumerate((range0, range1))]
        if any((x < 0).any() for x in found):
            raise SolverError("weights of a range are 0 or more")
        can = []
        for seat, x in enumerate(found):
            given = possible[seat]
            mask = x > 0 if given is None else np.asarray(given, bool) | (x > 0)
            can.append(mask if mask.any() else np.ones(len(x), bool))
        even = np.stack([mask / mask.sum() for mask in can])
        result = np.stack([x / x.sum() if x.sum() > 0 else even[seat] for seat, x in enumerate(found)])
        result = (1.0 - floor) * result + floor * even
        for candidate in (result, even, np.full_like(even, 1.0 / len(self.hands))):
            if candidate[0] @ self.compatible(candidate[1]) > 1e-12:
                return candidate
        raise GameError("no two hands go together")  # cannot be: there are cards for two hands

    def uniform(self) -> Floats:
        """The strategy that is even over legal actions, but bets with the card that wins the last trick."""
        from kibitz.kernels.toepen.endgame_plan import uniform

        strategy = np.empty(self.columns)
        uniform(self._deck, self._plan, strategy[: self._cut], strategy[self._cut :])
        return strategy

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
        from kibitz.kernels.toepen.endgame_plan import AVERAGE, UPDATE

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

    def _strategy(self, strategy: ArrayLike) -> Floats:
        result = np.asarray(strategy, np.float64)
        if result.shape != (self.columns,):
            raise SolverError(f"a strategy of this endgame has {self.columns:,} columns; got {result.shape}")
        return result

    # Measuring

    def _values(self, strategy: Floats, ranges: Floats, own: int, seats: int) -> list[Floats]:
        """Counterfactual values by hand, for each seat that `seats` has the bit of."""
        return [self._measure(ranges, strategy, seat, own) for seat in range(2) if seats >> seat & 1]

    def evaluate(self, strategy: ArrayLike, range0: ArrayLike, range1: ArrayLike) -> Values:
        """What both seats get when both play `strategy`, for these ranges as they are."""
        from kibitz.kernels.toepen.endgame_plan import EVALUATE

        ranges = self.ranges(range0, range1)
        first, second = self._values(self._strategy(strategy), ranges, EVALUATE, 3)
        mass = [self.compatible(ranges[1]), self.compatible(ranges[0])]
        by_hand = (ratio(first, mass[0]), ratio(second, mass[1]))
        return Values(float(ranges[0] @ first / (ranges[0] @ mass[0])), by_hand)

    def respond(self, strategy: ArrayLike, seat: int, other_range: ArrayLike) -> Response:
        """The best response of `seat` to the other seat's strategy and range: the most that each hand can get.

        Where nothing distinguishes actions the first one is taken.
        """
        from kibitz.kernels.toepen.endgame_plan import RESPOND

        ranges = np.stack([self._vector(other_range, "the other seat's range")] * 2)
        answer = self._strategy(strategy).copy()
        (worth,) = self._values(answer, ranges, RESPOND, 1 << seat)
        return Response(ratio(worth, self.compatible(ranges[0])), answer)

    def blend(self, first: ArrayLike, second: ArrayLike, weight: float, seat: int, own_range: ArrayLike) -> Floats:
        """The strategy that plays `second` with probability `weight` and else `first`, decided once for the endgame.

        Only the columns of `seat` are mixed; the rest are those of `first`. Its range matters only to rows that cards
        share.
        """
        from kibitz.kernels.toepen.endgame_plan import AVERAGE, EVALUATE, NORMALISE

        ranges = np.stack([self._vector(own_range, "the seat's range")] * 2)
        average = np.zeros(self.columns)
        result = self._strategy(first).copy()
        for strategy, share in ((result, 1.0 - weight), (self._strategy(second).copy(), weight)):
            self._measure(ranges, strategy, 1 - seat, EVALUATE, AVERAGE, share, average)
        self._measure(ranges, result, 1 - seat, EVALUATE, NORMALISE, 1.0, average)
        return result

    # Where things are

    def rows(self) -> Rows:
        """A description of every row with a choice; see `Rows`."""
        return rows_of(self)

    def locate(self, public: Sequence[str | int]) -> Spot:
        """Where play stands after what was said and played since the endgame began.

        Words are check, bet, call, fold; cards are names ("9h") or numbers (suit * 8 + rank). A check that is forced
        may be left out.
        """
        spot = Spot(self)
        for action in public:
            spot.take(action)
        return spot

    @cached_property
    def _live(self) -> int:
        return sum(1 << lane for lane, card in enumerate(self._card) if card >= 0)

    def _space(self, j: int) -> Ints:
        first = int(self._deck.start[j])
        return self._deck.mask[first : first + int(self._deck.size[j])]

    def _masks(self, lanes: Ints) -> Ints:
        """Sets of lanes as sets of cards."""
        result = np.zeros_like(lanes)
        for lane, card in enumerate(self._card):
            if card >= 0:
                result |= (lanes >> lane & 1) << card
        return result
