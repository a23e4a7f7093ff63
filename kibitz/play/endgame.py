"""The last tricks of Toepen, solved while one waits.

    endgame = Endgame(unplayed, cards_each=2, leader=0, ante=1, last_bettor=-1)
    solution = endgame.solve(range0, range1, seconds=1.0)
    solution.strategy(0, ["check", "9h"], hand)         probability by action
    solution.value(0), solution.nash_conv               by hand; what both best responses gain together

From the start of a trick on, the rest of the game is solved for all hands that either seat may hold, by CFR+ on ranges
(`kernels/endgame.py`), exactly: nothing is sampled and nothing is abstracted. A *hand* is a set of cards as bits (bit
suit * 8 + rank) and a *range* has a weight for each of `Endgame.hands`; the likelihood of a deal is the product of its
weights.

*Strategies* are arrays with one probability per column. `Endgame.rows()` describes every row (seat, phase, cards held,
public history) and says which columns it has, so a model of a player or a blueprint can be written into such an array,
measured (`evaluate`), answered (`respond`) and mixed (`blend`).

*Safe re-solving.* A solution for given ranges may be exploited by an opponent who arrives with others. With
`alternative=(seat, values)` that seat first chooses, for each hand, to enter or to take the value that it has without
the endgame [CFR-D: Burch, Johanson & Bowling 2014]; the other seat's strategy then gives no hand much more than that.
"""

from __future__ import annotations

import math
import operator
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.errors import GameError, SolverError
from kibitz.games.toepen import NAMES, NUMBERS

if TYPE_CHECKING:
    from kibitz.kernels.endgame import Deck, Lower, Plan, Upper

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MEMORY = 1 << 30  # bytes that an endgame may take unless told otherwise
MOST_CARDS = 3  # a hand; more would need larger tables for sums over disjoint hands
FLOOR = 0.02
GAMMA = 2.0  # iteration t counts t ** GAMMA in the average
TINY = 1e-30  # regrets below it do not tell actions apart
CONFIDENCE = 3.0  # how many iterations' worth of regret a strategy to start from counts for
BLOCK_SECONDS = 0.05  # a call into compiled code takes about this long
# Phases of a row: about to check or bet, facing a bet, about to play after a check, and after bet and call.
BEFORE, ANSWER, PLAY, PLAY_RAISED = 0, 1, 2, 3
PHASES = ("before", "answer", "play", "play raised")
ALONE, WINNING, LOSING = 0, 1, 2


class Rows(NamedTuple):
    """The rows of an endgame, all arrays of one length; rows with one legal action are left out.

    Action a of a row is column `column + a * stride`. The actions are (check, bet) in phase BEFORE, (fold, call) in
    phase ANSWER, and else the cards in `cards`, some of which may be illegal (`legal` has a bit for each).
    `history` has six bits for each card played since the endgame began, the first one lowest: card * 2, + 1 if a bet
    was called right before it. In the last trick, once the leader's card lies on the table, all cards of the other that
    win are one row, and so are all that lose; `hand` is then the lowest such card, and `members` has all of them.
    """

    seat: NDArray[np.int8]
    phase: NDArray[np.int8]
    plays: NDArray[np.int8]  # cards played since the endgame began
    history: Ints
    hand: Ints  # cards still held
    members: Ints  # the cards that share the row (as bits) if merged, else 0
    merged: NDArray[np.int8]  # ALONE, WINNING or LOSING
    column: Ints
    stride: Ints
    actions: NDArray[np.int8]
    cards: NDArray[np.int8]  # [rows, 3]; -1 where there is none
    legal: NDArray[np.int8]


class Values(NamedTuple):
    """What a pair of strategies is worth."""

    value: float  # to seat 0
    by_hand: tuple[Floats, Floats]  # expected payoff of each hand, for each seat


class Response(NamedTuple):
    """A best response: what each hand gets, and the strategy with the seat's columns replaced by the answer."""

    by_hand: Floats
    strategy: Floats


def lanes_of(unplayed: int) -> list[int]:
    """The card in each lane, -1 if none: lane 4 * i + suit has the suit's i-th unplayed card."""
    suits = [[card for card in range(8 * s, 8 * s + 8) if unplayed >> card & 1] for s in range(4)]
    height = max(len(cards) for cards in suits)
    return [cards[i] if i < len(cards) else -1 for i in range(height) for cards in suits]


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
        self.bytes, bounds = self._estimate()
        if self.bytes > memory:
            raise SolverError(
                f"an endgame with {self.cards_each} cards a hand and {count} unplayed needs about "
                f"{self.bytes / 2**30:,.1f} GiB and {memory / 2**30:,.1f} GiB are allowed (memory=): "
                "begin it a trick later"
            )
        self._deck = self._make_deck()
        self._plan, self._cut, self.columns, self._places = self._make_plan(bounds)  # the cut: columns of batches
        k = self.cards_each
        first = int(self._deck.start[k])
        lanes = self._deck.mask[first : first + int(self._deck.size[k])]
        masks = self._masks(lanes)
        self._order = np.flatnonzero(masks)
        #: The hands, as bits of cards; the same for both seats.
        self.hands: Ints = masks[self._order]

    # Building

    def _estimate(self) -> tuple[int, tuple[int, int, int, int]]:
        """Bytes, and bounds on nodes, batches, entries of `kids` and of `member`."""
        lanes, n = len(self._card), self.unplayed.bit_count()
        size = [1, lanes, *(math.comb(n, j) for j in range(2, MOST_CARDS + 1))]

        def trick(k: int, live: int, last: int) -> list[int]:
            """nodes, batches, kids, members, columns, places below a trick; last: 0 nobody, 1 leader, 2 other."""
            if k == 1:
                may = self.betting and last != 1
                return [0, 0, 0, 0, lanes * (6 * (self.betting and last != 2) + 10 * may), lanes]
            total = [0] * 6
            may = self.betting and last != 1
            add(total, [1, 0, lanes * (1 + may), 0, size[k] * (4 * may + k * (1 + may)), size[k]], 1)
            for raised in range(1 + may):
                add(total, reply(k, live - 1, 1 if raised else last), live)
            return total

        def reply(k: int, live: int, last: int) -> list[int]:
            may = self.betting and last != 2
            columns = (2 * size[k] + 2 * size[k - 1]) * may + size[k] * k * (1 + may)
            total = [1, 0, lanes * (1 + may), 0, columns, max(size[k], size[k - 1])]
            for raised in range(1 + may):
                now = 2 if raised else last
                either = [trick(k - 1, live - 1, x) for x in {now, (0, 2, 1)[now]}]
                add(total, [max(x) for x in zip(*either, strict=True)], live)
                if k == 2:
                    add(total, [0, 2, 0, live, 0, 0], 1)
            return total

        def add(total: list[int], more: list[int], times: int) -> None:
            for i, x in enumerate(more):
                total[i] += times * x

        last = 0 if self.last_bettor < 0 else 1 if self.last_bettor == self.leader else 2
        if self.cards_each == 1:
            nodes, batches, kids, members, columns, places = [0, 1, 0, 1, *trick(1, n, last)[4:]]
        else:
            nodes, batches, kids, members, columns, places = trick(self.cards_each, n, last)
        tables = 8 * (16 * nodes + 10 * batches) + 4 * (kids + members) + 100 * sum(size)
        # regret, strategy and average while it is solved (most columns in single precision), the average and the answer
        total = tables + columns * (3 * 4 + 3 * 8) + places * 2 * 8
        return total, (nodes, batches, kids, members)

    def _make_deck(self) -> Deck:
        from kibitz.kernels.endgame import Deck

        card, k = self._card, self.cards_each
        lanes = len(card)
        live = np.array([c >= 0 for c in card])
        real = np.flatnonzero(live)
        size, start, wide = (np.zeros(5, np.int64) for _ in range(3))
        holds_start, holds_count = np.zeros(5, np.int64), np.zeros(5, np.int64)
        cards: list[Ints] = []
        drops: list[Ints] = []
        masks: list[Ints] = []
        holds: list[NDArray[np.int32]] = []
        index: dict[int, NDArray[np.int32]] = {}
        for j in range(1, k + 1):
            if j == 1:
                hands = np.arange(lanes, dtype=np.int64)[:, None]
                drop = np.zeros((lanes, 1), np.int64)
            else:
                hands = np.array(list(combinations(real.tolist(), j)), np.int64)
                rest = [np.delete(hands, i, axis=1) for i in range(j)]
                drop = np.stack([index[j - 1][_key(x, lanes)] for x in rest], axis=1)
            numbers = np.full(lanes**j, -1, np.int32)
            numbers[_key(hands, lanes)] = np.arange(len(hands))
            index[j] = numbers
            size[j], start[j] = len(hands), sum(len(m) for m in masks)
            wide[j] = sum(c.size for c in cards)
            mask = np.bitwise_or.reduce(np.left_shift(1, hands), axis=1)
            holds_count[j] = 1 if j == 1 else math.comb(len(real) - 1, j - 1)
            holds_start[j] = sum(int(h.size) for h in holds)
            held = np.zeros((lanes, holds_count[j]), np.int32)
            for lane in real:
                held[lane] = np.flatnonzero(mask >> lane & 1)
            cards.append(hands)
            drops.append(drop)
            masks.append(mask)
            holds.append(held)
        legal = []
        for j, hands in enumerate(cards, start=1):
            table = np.full((len(hands), 5), (1 << j) - 1, np.uint8)
            if self.follow_suit:
                for suit in range(4):
                    bits = ((hands & 3 == suit) << np.arange(j)).sum(axis=1)
                    table[:, suit] = np.where(bits > 0, bits, (1 << j) - 1)
            legal.append(table)

        def flat(arrays: list[Any], dtype: Any) -> Any:
            return np.concatenate([a.reshape(-1) for a in arrays]).astype(dtype)

        return Deck(
            lanes, size, start, wide, flat(cards, np.int32), flat(drops, np.int32), flat(masks, np.int64),
            np.concatenate(legal), flat(holds, np.int32), holds_start, holds_count, live,
        )  # fmt: skip

    def _make_plan(self, bounds: tuple[int, int, int, int]) -> tuple[Plan, int, int, int]:
        from kibitz.kernels.endgame import BATCH_FIELDS, NODE_FIELDS, Plan, lay_out

        most_nodes, most_batches, most_kids, most_members = bounds
        node = np.full((max(most_nodes, 1), NODE_FIELDS), -1, np.int64)
        batch = np.zeros((most_batches, BATCH_FIELDS), np.int64)
        kids, member = np.empty(most_kids, np.int32), np.empty(most_members, np.int32)
        chunk = np.zeros((len(self._card) + 1, 2), np.int64)
        codes = np.array(self._card, np.int64)
        nodes, batches, kid, members, cut, lower, places, chunks = lay_out(
            self.cards_each, self.leader, self.ante, self.last_bettor, self.betting, self._deck, codes,
            node, batch, kids, member, chunk,
        )  # fmt: skip
        plan = Plan(node[:nodes], batch[:batches], kids[:kid], member[:members], chunk[: chunks + 1])
        return plan, int(cut), int(cut + lower), int(places)

    def _masks(self, lanes: Ints) -> Ints:
        """Sets of lanes as sets of cards."""
        result = np.zeros_like(lanes)
        for lane, card in enumerate(self._card):
            if card >= 0:
                result |= (lanes >> lane & 1) << card
        return result

    # Working

    def _upper(
        self, ranges: Floats, strategy: Floats, average: Floats | None = None, gadget: Floats | None = None,
        solving: bool = False, threads: int = 1,
    ) -> Upper:  # fmt: skip
        """Tables of nodes; `ranges` and `gadget` are by hand."""
        from kibitz.kernels.endgame import TEMPORARIES, Upper

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
        from kibitz.kernels.endgame import TEMPORARIES, Lower

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
        from kibitz.kernels.endgame import UPDATE, passes

        gate, ticket = np.zeros(16, np.int64), np.zeros(16, np.int64)
        none = self._lower(np.zeros(0, np.float64 if own == UPDATE else np.float32))
        fast, exact = (lower, none) if own == UPDATE else (none, lower)

        def work(thread: int) -> None:
            passes(
                weights, own, other, seats, scale, declines, self._deck, self._plan, upper, fast, exact,
                thread, threads, gate, ticket,
            )  # fmt: skip

        others = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, threads)]
        for each in others:
            each.start()
        work(0)
        for each in others:
            each.join()
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
        from kibitz.kernels.endgame import uniform

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
        from kibitz.kernels.endgame import AVERAGE, UPDATE

        solution = self._begin(ranges, declines, gadget, start, confidence, gamma, threads)
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
            self._passes(
                solution._upper, solution._lower, weights, UPDATE, AVERAGE, declines=declines, threads=threads
            )
            took = (time.perf_counter() - now) / block
            each = 0.5 * (each + took)  # the first iteration, which finds no memory in place, counts for half
            solution._weight += float(weights.sum())
            solution.iterations += block
        solution._finish()
        solution.seconds = time.perf_counter() - began
        return solution

    def _begin(
        self, ranges: Floats, declines: int, gadget: Floats | None, start: Solution | ArrayLike | None,
        confidence: float, gamma: float, threads: int,
    ) -> Solution:  # fmt: skip
        from kibitz.kernels.endgame import KEEP, WARM

        cut = self._cut
        high = np.full(cut + (2 * int(self._deck.size[self.cards_each]) if gadget is not None else 0), 0.5)
        if isinstance(start, Solution) and start.endgame is not self:
            raise SolverError("start: a solution of another endgame")
        if isinstance(start, Solution):
            strategy: Floats = np.concatenate([start._upper.strategy[:cut], start._lower.strategy])
        else:
            strategy = self.uniform() if start is None else self._strategy(start)
        high[:cut] = strategy[:cut]
        upper = self._upper(ranges, high, None, gadget, True, threads)
        lower = self._lower(strategy[cut:].astype(np.float32), None, True, threads)
        solution = Solution(self, ranges, declines, gadget, gamma, upper, lower)
        if isinstance(start, Solution):
            upper.regret[:cut], lower.regret[:] = start._upper.regret[:cut], start._lower.regret
            same = (
                declines == start.declines and gamma == start.gamma and np.array_equal(ranges, start.ranges)
                and (gadget is None or start.gadget is None or np.array_equal(gadget, start.gadget))
            )  # fmt: skip
            if same:
                for mine, old in zip(upper[:3], start._upper[:3], strict=True):
                    mine[:] = old
                lower.average[:] = start._lower.average
                solution.iterations, solution._weight = start.iterations, start._weight
        elif start is not None:
            self._bet_with_winners(lower.strategy)
            exact = self._lower(lower.strategy.astype(np.float64), None, True)
            self._passes(upper, exact, np.zeros(1), WARM, KEEP, scale=confidence, declines=declines)
            lower.regret[:] = exact.regret
        return solution

    def _bet_with_winners(self, lower: NDArray[Any]) -> None:
        """To bet with the card that wins the last trick is never worse than to check: solving takes it for granted."""
        lanes = self._deck.lanes
        for batch in self._plan.batch.tolist():
            may, other, count, column = batch[2], batch[3], batch[4], batch[6]
            n = count * lanes
            column += 4 * n * may
            for path in range(1 + may):
                if path or other:
                    lower[column : column + n] = 0.0
                    lower[column + n : column + 2 * n] = 1.0
                    column += 6 * n

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
        from kibitz.kernels.endgame import EVALUATE

        ranges = self.ranges(range0, range1)
        first, second = self._values(self._strategy(strategy), ranges, EVALUATE, 3)
        mass = [self.compatible(ranges[1]), self.compatible(ranges[0])]
        by_hand = (_ratio(first, mass[0]), _ratio(second, mass[1]))
        return Values(float(ranges[0] @ first / (ranges[0] @ mass[0])), by_hand)

    def respond(self, strategy: ArrayLike, seat: int, other_range: ArrayLike) -> Response:
        """The best response of `seat` to the other seat's strategy and range: the most that each hand can get.

        Where nothing distinguishes actions the first one is taken.
        """
        from kibitz.kernels.endgame import RESPOND

        ranges = np.stack([self._vector(other_range, "the other seat's range")] * 2)
        answer = self._strategy(strategy).copy()
        (worth,) = self._values(answer, ranges, RESPOND, 1 << seat)
        return Response(_ratio(worth, self.compatible(ranges[0])), answer)

    def blend(self, first: ArrayLike, second: ArrayLike, weight: float, seat: int, own_range: ArrayLike) -> Floats:
        """The strategy that plays `second` with probability `weight` and else `first`, decided once for the endgame.

        Only the columns of `seat` are mixed; the rest are those of `first`. Its range matters only to rows that cards
        share.
        """
        from kibitz.kernels.endgame import AVERAGE, EVALUATE, NORMALISE

        ranges = np.stack([self._vector(own_range, "the seat's range")] * 2)
        average = np.zeros(self.columns)
        result = self._strategy(first).copy()
        for strategy, share in ((result, 1.0 - weight), (self._strategy(second).copy(), weight)):
            self._measure(ranges, strategy, 1 - seat, EVALUATE, AVERAGE, share, average)
        self._measure(ranges, result, 1 - seat, EVALUATE, NORMALISE, 1.0, average)
        return result

    def exploit(
        self, model: ArrayLike, solution: Solution, seat: int, loss: float, steps: int = 12
    ) -> tuple[Floats, float]:  # fmt: skip
        """A strategy for `seat` against a model of the other that risks at most `loss`, and how much of it is response.

        It is the solution's strategy mixed, once for the endgame, with the best response to the model, as much of it as
        leaves the worst case within `loss` of the solution's own. Ranges are the solution's.
        """
        ranges = solution.ranges
        answer = self.respond(model, seat, ranges[1 - seat]).strategy
        base = solution.probabilities
        mass = ranges[1 - seat] * self.compatible(ranges[seat])

        def worst(strategy: Floats) -> float:
            return -float(mass @ self.respond(strategy, 1 - seat, ranges[seat]).by_hand / mass.sum())

        bound = worst(base) - loss
        low, high = 0.0, 1.0
        best = base
        for step in range(steps + 1):
            weight = 1.0 if step == 0 else 0.5 * (low + high)
            mixed = self.blend(base, answer, weight, seat, ranges[seat])
            if worst(mixed) >= bound:
                low, best = weight, mixed
                if step == 0:
                    break
            else:
                high = weight
        return best, low

    # Where things are

    def rows(self) -> Rows:
        """A description of every row with a choice; see `Rows`."""
        deck, k = self._deck, self.cards_each
        out = _RowList()
        for node in self._plan.node.tolist():
            actor, role, j, _, may, led, _, bet, call, play0, play1 = node[:11]
            played, history = node[13], node[14]
            plays = 2 * (k - j) + role
            mine, theirs = self._space(j), self._space(j - role)
            free, other_free = mine & played == 0, (theirs & played == 0) & (theirs & self._live == theirs)
            hands, other_hands = np.flatnonzero(free), np.flatnonzero(other_free)
            if may:
                out.add(actor, BEFORE, plays, history, self._masks(mine[hands]), bet + hands, len(mine), 2)
                masks = self._masks(theirs[other_hands])
                out.add(1 - actor, ANSWER, plays, history, masks, call + other_hands, len(theirs), 2)
            first = int(deck.start[j])
            legal = deck.legal[first : first + len(mine), led & 3 if led >= 0 else 4][hands].astype(np.int64)
            choice = (legal & (legal - 1)) > 0
            hands, legal = hands[choice], legal[choice]
            wide = int(deck.wide[j])
            lanes = deck.cards[wide : wide + j * len(mine)].reshape(-1, j)[hands]
            cards = np.array(self._card)[lanes]
            for path in range(1 + may):
                column = (play0, play1)[path] + hands
                masks = self._masks(mine[hands])
                out.add(actor, PLAY + path, plays, history, masks, column, len(mine), j, cards=cards, legal=legal)
        for batch in self._plan.batch.tolist():
            self._batch_rows(batch, out)
        return out.table()

    def _batch_rows(self, batch: list[int], out: _RowList) -> None:
        leader, _, may, may_other, count, _, column, parent, path, begin = batch
        column += self._cut
        lanes, node = self._deck.lanes, self._plan.node
        member = self._plan.member[begin : begin + count].astype(np.int64)
        codes = np.array(self._card, np.int64)
        n, plays = count * lanes, 2 * self.cards_each - 2
        if parent >= 0:
            played = node[parent, 13] | np.left_shift(1, member)
            history = node[parent, 14] + ((codes[member] * 2 + path) << (6 * (plays - 1)))
        else:
            played, history = np.zeros(1, np.int64), np.zeros(1, np.int64)
        free = (self._live & ~played)[:, None] >> np.arange(lanes) & 1  # [count, lanes]
        b, lane = np.nonzero(free)
        at = b * lanes + lane
        held = np.left_shift(1, codes[lane])
        if may:
            out.add(leader, BEFORE, plays, history[b], held, column + at, n, 2)
            out.add(1 - leader, ANSWER, plays, history[b], held, column + 2 * n + at, n, 2)
            column += 4 * n
        rest = self._live & ~played[b] & ~np.left_shift(1, lane)
        above = np.array([sum(1 << x for x in range(y + 4, lanes, 4)) for y in range(lanes)], np.int64)
        for raised in range(1 + may):
            if not (raised or may_other):
                continue
            after = history[b] + ((codes[lane] * 2 + raised) << (6 * plays))
            for merged, lower in ((WINNING, rest & above[lane]), (LOSING, rest & ~above[lane])):
                some = lower > 0
                members = self._masks(lower[some])
                where = column + (merged - WINNING) * 2 * n + at[some]
                out.add(
                    1 - leader, BEFORE, plays + 1, after[some], members & -members, where, n, 2,
                    members=members, merged=merged,
                )  # fmt: skip
            out.add(leader, ANSWER, plays + 1, after, np.zeros(len(at), np.int64), column + 4 * n + at, n, 2)
            column += 6 * n

    @cached_property
    def _live(self) -> int:
        return sum(1 << lane for lane, card in enumerate(self._card) if card >= 0)

    def _space(self, j: int) -> Ints:
        first = int(self._deck.start[j])
        return self._deck.mask[first : first + int(self._deck.size[j])]

    def locate(self, public: Sequence[str | int]) -> Spot:
        """Where play stands after what was said and played since the endgame began.

        Words are check, bet, call, fold; cards are names ("9h") or numbers (suit * 8 + rank). A check that is forced
        may be left out.
        """
        spot = Spot(self)
        for action in public:
            spot.take(action)
        return spot


class Spot:
    """A public situation in an endgame; `take` goes on to the next."""

    def __init__(self, endgame: Endgame) -> None:
        self.endgame = endgame
        self.history: list[str] = []
        self.seat = endgame.leader  # who is to move
        self.phase = BEFORE
        self.played: tuple[list[int], list[int]] = ([], [])  # lanes, by seat
        self.led = -1  # lane of the card to answer to
        self.over = False
        self._node, self._batch, self._member = 0, -1, 0
        self._last = -1  # the leader's last card
        self._raised = self._raised_last = 0
        if endgame.cards_each == 1:
            self._node, self._batch = -1, 0

    @property
    def may_bet(self) -> bool:
        """Whether the one about to play may bet."""
        if self._batch < 0:
            return bool(self.endgame._plan.node[self._node, 4])
        batch = self.endgame._plan.batch[self._batch]
        return bool(batch[2] if self._last < 0 else self._raised_last or batch[3])

    def take(self, action: str | int) -> None:
        """One public action."""
        name = action if isinstance(action, str) else NAMES[action] if 0 <= action < 32 else str(action)
        if self.over:
            raise GameError(f"{name!r} after {self._text()}: the hand is over")
        if name == "check" and self.phase == BEFORE:
            self.phase = PLAY
        elif name == "bet" and self.phase == BEFORE and self.may_bet:
            self.phase, self.seat = ANSWER, 1 - self.seat
        elif name == "call" and self.phase == ANSWER:
            self.phase, self.seat = PLAY_RAISED, 1 - self.seat
        elif name == "fold" and self.phase == ANSWER:
            self.over = True
        elif name in NUMBERS and (self.phase >= PLAY or (self.phase == BEFORE and not self.may_bet)):
            self._play(name)
        else:
            raise GameError(f"{name!r} is no action after {self._text()}")
        self.history.append(name)

    def _text(self) -> str:
        return " ".join(self.history) or "nothing"

    def _play(self, name: str) -> None:
        card = NUMBERS[name]
        endgame = self.endgame
        plan = endgame._plan
        if card not in endgame._card or endgame._card.index(card) in self.played[0] + self.played[1]:
            raise GameError(f"{name!r} cannot be played after {self._text()}: it is not among the unplayed cards")
        lane, raised = endgame._card.index(card), int(self.phase == PLAY_RAISED)
        self.played[self.seat].append(lane)
        if self._batch >= 0:
            if self._last >= 0:
                self.over = True
                return
            self._last, self._raised_last = lane, raised
            self.seat = 1 - self.seat
        else:
            node = plan.node[self._node]
            place = int(plan.kids[node[11 + raised] + lane])
            found = int(np.searchsorted(plan.node[:, 6], place))
            wins = self.led >= 0 and lane & 3 == self.led & 3 and lane > self.led
            if found < len(plan.node) and plan.node[found, 6] == place:
                self._node = found
            else:
                self._batch = int(np.searchsorted(plan.batch[:, 5], place, side="right")) - 1
                self._member = (place - int(plan.batch[self._batch, 5])) // endgame._deck.lanes
            if self.led < 0:
                self.led, self.seat = lane, 1 - self.seat
            else:
                self.led, self.seat = -1, self.seat if wins else 1 - self.seat
        self.phase = BEFORE

    def columns(self, hand: int) -> dict[str, int]:
        """Legal actions of the seat to move with the cards it holds (now, or as the endgame began): their columns.

        An action without a choice has column -1. Card names are in the order of the hand's lanes.
        """
        if self.over:
            raise GameError(f"the hand is over after {self._text()}")
        endgame = self.endgame
        mine = self.played[self.seat]
        left = hand & ~sum(1 << endgame._card[lane] for lane in mine)
        held = sum(1 << lane for lane, card in enumerate(endgame._card) if card >= 0 and left >> card & 1)
        everything = self.played[0] + self.played[1]
        size = endgame.cards_each - len(mine)
        if left & ~endgame.unplayed or held.bit_count() != size or any(held >> lane & 1 for lane in everything):
            raise GameError(f"seat {self.seat} cannot hold {cards_text(left)} after {self._text()}")
        if self._batch >= 0:
            return self._last_columns(held, left)
        node = endgame._plan.node[self._node]
        index = held.bit_length() - 1 if size == 1 else int(np.flatnonzero(endgame._space(size) == held)[0])
        n = int(endgame._deck.size[size])
        if self.phase == ANSWER:
            return {"fold": int(node[8]) + index, "call": int(node[8]) + n + index}
        if self.phase == BEFORE and self.may_bet:
            return {"check": int(node[7]) + index, "bet": int(node[7]) + n + index}
        deck = endgame._deck
        legal = int(deck.legal[int(deck.start[size]) + index, self.led & 3 if self.led >= 0 else 4])
        first = int(node[9 + (self.phase == PLAY_RAISED)]) + index
        wide = int(deck.wide[size]) + index * size
        names = [NAMES[endgame._card[lane]] for lane in deck.cards[wide : wide + size].tolist()]
        result = {name: first + a * n for a, name in enumerate(names) if legal >> a & 1}
        return result if len(result) > 1 else dict.fromkeys(result, -1)

    def _last_columns(self, held: int, left: int) -> dict[str, int]:
        batch = self.endgame._plan.batch[self._batch].tolist()
        may, may_other, count, column = batch[2], batch[3], batch[4], batch[6]
        column += self.endgame._cut
        lanes = self.endgame._deck.lanes
        n = count * lanes
        lane = held.bit_length() - 1
        at = self._member * lanes
        if self._last < 0:
            if self.phase == ANSWER:
                return {"fold": column + 2 * n + at + lane, "call": column + 3 * n + at + lane}
            if self.phase == BEFORE and may:
                return {"check": column + at + lane, "bet": column + n + at + lane}
        else:
            column += 4 * n * may + 6 * n * may_other * self._raised_last + at + self._last
            if self.phase == ANSWER:
                return {"fold": column + 4 * n, "call": column + 5 * n}
            if self.phase == BEFORE and self.may_bet:
                wins = lane & 3 == self._last & 3 and lane > self._last
                return {"check": column + 2 * n * (not wins), "bet": column + 2 * n * (not wins) + n}
        return {NAMES[left.bit_length() - 1]: -1}


@dataclass
class Solution:
    """What `Endgame.solve` found. `probabilities` has all columns of both seats."""

    endgame: Endgame
    ranges: Floats  # [2, hands], as used
    declines: int  # the seat that may decline to enter, -1 if none
    gadget: Floats | None
    gamma: float
    _upper: Upper = field(repr=False)
    _lower: Lower = field(repr=False)
    iterations: int = 0
    seconds: float = 0.0
    _weight: float = 0.0
    probabilities: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    enters: Floats | None = None  # probability of entering by hand, of the seat that may decline

    def _finish(self) -> None:
        """Turn averages into strategies, in double precision."""
        from kibitz.kernels.endgame import EVALUATE, FINISH

        endgame, cut = self.endgame, self.endgame._cut
        high, low = self._upper.strategy.copy(), self._lower.strategy.astype(np.float64)
        upper = endgame._upper(self.ranges, high, self._upper.average, self.gadget)
        lower = endgame._lower(low, self._lower.average.astype(np.float64))
        endgame._passes(upper, lower, np.array([self._weight]), EVALUATE, FINISH, declines=self.declines)
        self.probabilities = np.concatenate([high[:cut], low])
        if self.gadget is not None:
            self.enters = high[cut + (len(high) - cut) // 2 :][endgame._order]

    def strategy(self, seat: int, public: Sequence[str | int], hand: int) -> dict[str, float]:
        """Probability by action of a seat's turn, given what was done since the endgame began (see `locate`)."""
        spot = self.endgame.locate(public)
        if not spot.over and spot.seat != seat:
            raise GameError(f"after {spot._text()} it is seat {spot.seat}'s turn, not seat {seat}'s")
        found = spot.columns(hand)
        return {name: 1.0 if x < 0 else float(self.probabilities[x]) for name, x in found.items()}

    @cached_property
    def _reach(self) -> Floats:
        """Ranges, with the probability of entering."""
        ranges = self.ranges.copy()
        if self.enters is not None:
            ranges[self.declines] *= self.enters
        return ranges

    @cached_property
    def _worth(self) -> list[Floats]:
        from kibitz.kernels.endgame import EVALUATE

        return self.endgame._values(self.probabilities, self._reach, EVALUATE, 3)

    @cached_property
    def _best(self) -> list[Floats]:
        from kibitz.kernels.endgame import RESPOND

        return [
            self.endgame._values(self.probabilities.copy(), self._reach, RESPOND, 1 << seat)[0] for seat in range(2)
        ]

    @cached_property
    def _mass(self) -> list[Floats]:
        return [self.endgame.compatible(self._reach[1 - seat]) for seat in range(2)]

    def value(self, seat: int) -> Floats:
        """What each hand of a seat gets when both play the solution (0 where no hand of the other goes with it)."""
        return _ratio(self._worth[seat], self._mass[seat])

    def best(self, seat: int) -> Floats:
        """What each hand of a seat could get by a best response to the other's solution."""
        return _ratio(self._best[seat], self._mass[seat])

    def _total(self, seat: int, worth: list[Floats], respond: bool) -> float:
        """Expected payoff of a seat, the choice to enter included; worth[seat] are its values by hand."""
        ranges = self.ranges
        deals = float(ranges[0] @ self.endgame.compatible(ranges[1]))
        mine = worth[seat]
        if self.gadget is None or self.enters is None:
            return float(ranges[seat] @ mine) / deals
        instead = self.gadget[self.declines]
        if seat == self.declines:
            mine = np.maximum(instead, mine) if respond else instead + self.enters * (mine - instead)
            return float(ranges[seat] @ mine) / deals
        declined = ranges[self.declines] * (1.0 - self.enters)
        return float(ranges[seat] @ mine - declined @ instead) / deals

    @property
    def expected(self) -> float:
        """Seat 0's expected payoff when both play the solution."""
        return self._total(0, self._worth, False)

    @property
    def nash_conv(self) -> float:
        """What both best responses gain together, by an exact computation: 0 at an equilibrium."""
        return self._total(0, self._best, True) + self._total(1, self._best, True)

    @property
    def exploitability(self) -> float:
        """nash_conv divided by the number of seats."""
        return self.nash_conv / 2


class _RowList:
    """Rows gathered piece by piece."""

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[Any], ...]] = []

    def add(
        self, seat: int, phase: int, plays: int, history: int | Ints, hand: Ints, column: Ints, stride: int,
        actions: int, *, members: Ints | int = 0, merged: int = ALONE, cards: NDArray[Any] | None = None,
        legal: int | Ints = 3,
    ) -> None:  # fmt: skip
        n = len(hand)
        held = np.full((n, MOST_CARDS), -1, np.int8)
        if cards is not None:
            held[:, : cards.shape[1]] = cards
        given = (seat, phase, plays, history, hand, members, merged, column, stride, actions)
        self.parts.append((*(np.broadcast_to(np.asarray(x), n) for x in given), held, np.broadcast_to(legal, n)))

    def table(self) -> Rows:
        types = (np.int8, np.int8, np.int8, np.int64, np.int64, np.int64, np.int8, np.int64, np.int64, np.int8, np.int8)
        joined = [np.concatenate(x) for x in zip(*self.parts, strict=True)] if self.parts else []
        if not joined:
            joined = [np.zeros((0, MOST_CARDS) if i == 10 else 0, np.int64) for i in range(12)]
        return Rows(*(x.astype(t, copy=False) for x, t in zip(joined, (*types, np.int8), strict=True)))


def cards_text(hand: int) -> str:
    """A hand as names of cards."""
    return " ".join(name for card, name in enumerate(NAMES) if hand >> card & 1) or "no cards"


def _key(hands: Ints, lanes: int) -> Ints:
    """Hands as numbers: lanes are digits."""
    digits: Ints = hands @ lanes ** np.arange(hands.shape[1] - 1, -1, -1)
    return digits


def _ratio(worth: Floats, mass: Floats) -> Floats:
    some = mass > 1e-14
    return np.where(some, worth / np.where(some, mass, 1.0), 0.0)
