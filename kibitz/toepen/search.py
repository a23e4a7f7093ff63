"""Search: a blueprint until little enough of the hand is left, and from there on a solution of what is left.

At the start of a trick the public history is known to both. For each seat and each set of cards that it may hold
there, the *range* is the probability that the blueprint makes that seat's moves so far, dealt these cards; all deals
are equally likely. The rest of the hand is then solved for these ranges (`kibitz.toepen.endgame`), and played
from the solution. Where the blueprint could not have come, the ranges are even over the hands that the rules allow.

`gain` measures what search is worth without the luck of cards: see there.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SpecError
from kibitz.evaluate.score import Score, scored
from kibitz.games.views import View
from kibitz.toepen.agents import NO_COUNTS, ToepenPlayer, anyone
from kibitz.toepen.endgame import FLOOR, Endgame
from kibitz.toepen.endgame_deck import MOST_CARDS
from kibitz.toepen.endgame_rows import Rows
from kibitz.toepen.endgame_solution import Solution
from kibitz.toepen.rules import NUMBERS, takes
from kibitz.toepen.words import mask_of, text_of, words_of

Floats = NDArray[np.float64]
TRICKS_LEFT = 2  # tricks that are solved while one waits, unless told otherwise
ROWS_AT_ONCE = 100_000  # that one thread writes in one go
KEPT = 4  # solutions that are remembered


@dataclass(frozen=True)
class Spot:
    """A public situation at the start of a trick."""

    history: tuple[str, ...]
    trick: int  # 0 is the first
    leader: int
    ante: int
    last_bettor: int  # -1: nobody
    unplayed: int  # cards that nobody has played, as bits
    shown: tuple[int, int]  # cards that each seat has played


def spot_of(game: Any, history: Sequence[str], trick: int) -> tuple[Spot, tuple[str, ...]]:
    """The situation at the start of a trick in a public history that goes so far, and the words after it."""
    leader, ante, bettor, turn = 0, 1, -1, 0
    shown = [0, 0]
    plays: list[int] = []
    for at, word in enumerate(history):
        if len(plays) == 2 * trick:
            rest = tuple(history[at:])
            break
        if word == "bet":
            bettor = turn
        elif word == "call":
            ante += 1
        elif word in NUMBERS:
            card = NUMBERS[word]
            shown[turn] |= 1 << card
            if len(plays) % 2 and takes(plays[-1], card):
                leader = turn
            plays.append(card)
            turn = leader if len(plays) % 2 == 0 else 1 - leader
    else:
        rest = ()
    unplayed = mask_of(game.deck) & ~shown[0] & ~shown[1]
    before = tuple(history[: len(history) - len(rest)])
    return Spot(before, trick, leader, ante, bettor, unplayed, (shown[0], shown[1])), rest


@dataclass
class Solved:
    """An endgame, the ranges at its start, and what was found."""

    spot: Spot
    endgame: Endgame
    ranges: Floats  # [2, hands]  likelihoods by the blueprint
    possible: tuple[NDArray[np.bool_], NDArray[np.bool_]]  # what the rules allow
    solution: Solution


class Search:
    """search(PATH, seconds=1, from=3, iterations=0, floor=0.02, threads=1, again=false).

    seconds      thinking time, at the start of the endgame; iterations, if given, instead: the same on any machine
    from         the trick from which on it searches; 0: the first from which two tricks are left
    floor        share of each range that is spread evenly over the hands that the rules allow
    again        solve once more at the next trick, for the ranges that the first solution leads to
    """

    def __init__(
        self,
        base: ToepenPlayer,
        seconds: float = 1.0,
        from_trick: int = 0,
        iterations: int = 0,
        floor: float = FLOOR,
        threads: int = 1,
        again: bool = False,
        name: str = "search",
    ) -> None:
        self.base, self.game, self.name = base, base.game, name
        hand = self.game.hand
        first = max(1, hand - TRICKS_LEFT + 1) if from_trick == 0 else from_trick
        least = max(1, hand - MOST_CARDS + 1)
        if not least <= first <= hand:
            raise SpecError(f"search: from={from_trick} should be a trick from {least} to {hand} of {self.game.spec}")
        if not seconds > 0 or iterations < 0 or threads < 1 or not 0 <= floor <= 1:
            raise SpecError("search: seconds are above 0, iterations 0 or more, threads 1 or more, floor from 0 to 1")
        self.seconds, self.iterations, self.floor, self.threads, self.again = seconds, iterations, floor, threads, again
        self.trick = first - 1
        self._kept: OrderedDict[tuple[str, ...], Solved] = OrderedDict()

    def begin(self, seat: int) -> None:
        pass

    def end(self, view: View, payoff: float) -> None:
        pass

    def act(self, view: View) -> list[float]:
        trick = sum(word in NUMBERS for word in view.public) // 2
        if trick < self.trick:
            return self.base.act(view)
        solved, rest = self.solved(view.public, trick)
        hand = mask_of(NUMBERS[name] for name in view.private) & ~solved.spot.shown[view.seat]
        found = solved.solution.strategy(view.seat, rest, hand)
        return [found[action] for action in view.actions]

    def weigh(self, seat: int, history: Sequence[str], hands: NDArray[np.uint64], shown: int) -> Floats:
        """How likely a seat that plays like this one holds each of some hands now, after it played `shown`."""
        plays = sum(word in NUMBERS for word in history)
        if plays // 2 < self.trick:
            return self.base.likelihoods(seat, history, hands | np.uint64(shown))
        solved, rest = self.solved(history, plays // 2)
        found = reaches(solved, solved.solution.probabilities, solved.solution.ranges[seat], seat, rest)
        weight = dict(zip(solved.endgame.hands.tolist(), found.tolist(), strict=True))
        since = shown & ~solved.spot.shown[seat]
        return np.array([weight.get(hand | since, 0.0) for hand in hands.tolist()])

    def solved(self, history: Sequence[str], trick: int) -> tuple[Solved, tuple[str, ...]]:
        """The solution that a public history in some trick is played from, and the words since its endgame began.

        It depends on the public history alone, never on cards that were not played.
        """
        spot, rest = spot_of(self.game, history, self.trick)
        found = self._kept.get(spot.history)
        if found is None:
            found = self.solve(spot)
            self._keep(found)
        if not self.again or trick == self.trick:
            return found, rest
        later, rest = spot_of(self.game, history, trick)
        again = self._kept.get(later.history)
        if again is None:
            again = self.solve(later, found)
            self._keep(again)
        return again, rest

    def _keep(self, found: Solved) -> None:
        self._kept[found.spot.history] = found
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def endgame(self, spot: Spot) -> Endgame:
        """What is left of the hand, before it is solved."""
        game = self.game
        return Endgame(
            spot.unplayed, game.hand - spot.trick, spot.leader, spot.ante, spot.last_bettor, suits=game.suits,
            ranks=game.ranks, betting=game.betting, follow_suit=game.follow_suit,
        )  # fmt: skip

    def ranges(self, spot: Spot, endgame: Endgame, seat: int, counts: Floats = NO_COUNTS, prior: float = 0.0) -> Floats:
        """The probability that the blueprint makes a seat's moves so far, by what the seat holds at a spot."""
        dealt = (endgame.hands | spot.shown[seat]).astype(np.uint64)
        return self.base.likelihoods(seat, spot.history, dealt, counts, prior)

    def allowed(self, spot: Spot, endgame: Endgame, seat: int) -> NDArray[np.bool_]:
        """Which hands the rules allow a seat to hold at a spot."""
        dealt = (endgame.hands | spot.shown[seat]).astype(np.uint64)
        return anyone(self.base.machine).likelihoods(seat, spot.history, dealt) > 0

    def solve(self, spot: Spot, before: Solved | None = None) -> Solved:
        endgame = self.endgame(spot)
        if before is None:
            ranges = np.stack([self.ranges(spot, endgame, seat) for seat in range(2)])
        else:
            ranges = np.stack([_carried(before, spot, endgame, seat) for seat in range(2)])
        possible = self.allowed(spot, endgame, 0), self.allowed(spot, endgame, 1)
        limit: dict[str, Any] = {"iterations": self.iterations, "seconds": None} if self.iterations else {
            "seconds": self.seconds
        }  # fmt: skip
        solution = endgame.solve(
            ranges[0], ranges[1], floor=self.floor, possible=possible, threads=self.threads, **limit
        )
        return Solved(spot, endgame, ranges, possible, solution)

    def gain(self, deals: int, seed: int, on_deal: Callable[[int, Score], None] | None = None) -> Gain:
        """What it wins more than its base; see `gain`."""
        return gain(self, deals, seed, on_deal)

    def written(
        self, solved: Solved, rows: Rows, counts: Floats = NO_COUNTS, prior: float = 0.0, ranges: Floats | None = None
    ) -> Floats:
        """The blueprint (bent by counts) as a strategy of the endgame, both seats."""
        own = solved.ranges if ranges is None else ranges
        return written(self.base, solved.spot, solved.endgame, rows, own, counts, prior, self.threads)


def written(
    base: ToepenPlayer,
    spot: Spot,
    endgame: Endgame,
    rows: Rows,
    ranges: Floats,
    counts: Floats = NO_COUNTS,
    prior: float = 0.0,
    threads: int = 1,
) -> Floats:
    """A player's strategy (bent by counts) in an endgame, both seats."""
    from kibitz.toepen.kernels.rows import write_rows

    strategy = endgame.uniform()
    order = np.argsort(endgame.hands)
    hands, weights = endgame.hands[order].astype(np.uint64), np.ascontiguousarray(ranges[:, order])
    prefix = words_of(spot.history)
    bounds = range(0, len(rows.seat) + ROWS_AT_ONCE, ROWS_AT_ONCE)

    def work(first: int) -> None:
        last = min(first + ROWS_AT_ONCE, len(rows.seat))
        write_rows(base.rules, base.player, counts, prior, prefix, hands, weights, rows, first, last, strategy)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1]))
    return strategy


def joined(rows: Rows, one: Floats, two: Floats) -> Floats:
    """Seat 0's columns of one strategy and seat 1's of another."""
    result = one.copy()
    mine = rows.seat == 1
    column, stride, actions = rows.column[mine], rows.stride[mine], rows.actions[mine]
    for a in range(int(actions.max(initial=0))):
        at = (column + a * stride)[actions > a]
        result[at] = two[at]
    return result


def reaches(solved: Solved, strategy: Floats, start: Floats, seat: int, since: Sequence[str]) -> Floats:
    """By hand at the start of an endgame: its weight there times the probability of the seat's moves since."""
    spots, walk = [], solved.endgame.locate(())
    for word in since:
        if walk.seat == seat and not (word == "check" and not walk.may_bet):
            spots.append((solved.endgame.locate(tuple(walk.history)), word))
        walk.take(word)
    played = sum(1 << NUMBERS[word] for spot, word in spots if word in NUMBERS)
    result = np.zeros(len(start))
    for i, hand in enumerate(solved.endgame.hands.tolist()):
        weight = float(start[i]) if hand & played == played else 0.0
        for spot, word in spots:
            if weight <= 0.0:
                break
            others = solved.endgame.unplayed & ~hand
            column = spot.columns(hand).get(word) if _free(spot, others) else None
            weight *= 0.0 if column is None else 1.0 if column < 0 else float(strategy[column])
        result[i] = weight
    return result


def _free(spot: Any, others: int) -> bool:
    """Whether the cards that the other seat has played were not in the hand."""
    card = spot.endgame._card
    return all(others >> card[lane] & 1 for lane in spot.played[1 - spot.seat])


def _carried(before: Solved, spot: Spot, endgame: Endgame, seat: int) -> Floats:
    """The range at a later spot, if a solution was played since an earlier one."""
    since = spot.history[len(before.spot.history) :]
    found = reaches(before, before.solution.probabilities, before.solution.ranges[seat], seat, since)
    weight = dict(zip(before.endgame.hands.tolist(), found.tolist(), strict=True))
    played = spot.shown[seat] & ~before.spot.shown[seat]
    return np.array([weight.get(hand | played, 0.0) for hand in endgame.hands.tolist()])


# What search is worth


@dataclass(frozen=True)
class Gain:
    """What search wins more than its blueprint, per hand, against that blueprint."""

    mean: float
    error: float
    interval: tuple[float, float]
    by_seat: tuple[Score, Score]
    deals: int
    endgames: int  # deals that came so far
    nash_conv: float  # mean over the endgames: how far the solutions are from equilibria, for their ranges
    base_nash_conv: float  # the same of the blueprint
    seconds: float


def gain(search: Search, deals: int = 100, seed: int = 0, on_deal: Callable[[int, Score], None] | None = None) -> Gain:
    """Measure what search wins more than its blueprint against that blueprint, with little noise.

    The blueprint plays deals against itself up to the endgame. Until there search plays the same; from there on the
    exact values of (search against blueprint) and (blueprint against blueprint), for all hands weighted by their
    ranges, differ by what search gains given the public history. Their mean over deals is unbiased: hands that end
    before count as 0. A duplicate match estimates the same number with the luck of the last tricks in it.
    """
    from kibitz.toepen.kernels.play import MOST_WORDS, until_trick

    base, began = search.base, time.perf_counter()
    sums, squares, endgames, gaps = np.zeros(3), np.zeros(3), 0, np.zeros(2)
    words, space = np.zeros(MOST_WORDS, np.uint64), np.zeros(64, np.uint64)
    done = 0

    def score(column: int) -> Score:
        return scored(done, float(sums[column]), float(squares[column]))

    try:
        for number in range(deals):
            count, _, _ = until_trick(base.rules, base.player, base.player, seed, number, search.trick, words, space)
            found = np.zeros(2)
            if count >= 0:
                history = [text_of(int(word)) for word in words[:count]]
                spot, _ = spot_of(search.game, history, search.trick)
                found, gap = _gained(search, search.solve(spot))
                endgames += 1
                gaps += gap
            each = np.array([found[0], found[1], found.mean()])
            sums += each
            squares += each * each
            done += 1
            if on_deal is not None:
                on_deal(done, score(2))
    except KeyboardInterrupt:
        if done == 0:
            raise
    whole = score(2)
    gaps /= max(endgames, 1)
    return Gain(
        whole.mean, whole.error, whole.interval, (score(0), score(1)), done, endgames, float(gaps[0]), float(gaps[1]),
        time.perf_counter() - began,
    )  # fmt: skip


def _gained(search: Search, solved: Solved) -> tuple[Floats, Floats]:
    """By seat: the value of search against the blueprint less that of the blueprint against itself; and both gaps."""
    endgame, ranges = solved.endgame, solved.ranges
    rows = endgame.rows()
    plain, found = search.written(solved, rows), solved.solution.probabilities
    value = endgame.evaluate(plain, ranges[0], ranges[1]).value
    first = endgame.evaluate(joined(rows, found, plain), ranges[0], ranges[1]).value - value
    second = value - endgame.evaluate(joined(rows, plain, found), ranges[0], ranges[1]).value
    used = solved.solution.ranges
    mass = [used[seat] * endgame.compatible(used[1 - seat]) for seat in range(2)]
    mass = [m / m.sum() for m in mass]
    gap = sum(float(mass[seat] @ endgame.respond(plain, seat, used[1 - seat]).by_hand) for seat in range(2))
    return np.array([first, second]), np.array([solved.solution.nash_conv, gap])
