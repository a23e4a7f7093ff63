"""Search: a blueprint until little enough of the hand is left, and from there on a solution of what is left.

At the start of a trick the public history is known to both. For each seat and each set of cards that it may hold
there, the *range* is the probability that the blueprint makes that seat's moves so far, dealt these cards; all deals
are equally likely. The rest of the hand is then solved for these ranges (`kibitz.toepen.endgame`), and played
from the solution. Where the blueprint could not have come, the ranges are even over the hands that the rules allow.

`search_gain` measures what search gains without the luck of cards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SpecError
from kibitz.evaluate.score import Score, scored
from kibitz.games.views import View
from kibitz.play.search import Search
from kibitz.toepen.agents import NO_COUNTS, ToepenPlayer, anyone
from kibitz.toepen.endgame import FLOOR, EndgameSolution, ToepenEndgame
from kibitz.toepen.endgame_layout import MOST_CARDS
from kibitz.toepen.endgame_root import EndgameRoot, root_of, tricks_in
from kibitz.toepen.endgame_rows import EndgameRows, PublicState
from kibitz.toepen.kernels.play import MOST_WORDS, until_trick
from kibitz.toepen.kernels.rows import HandWeights, RowScratch, write_rows
from kibitz.toepen.states import NUMBERS, mask_of, text_of, words_of

Floats = NDArray[np.float64]
TRICKS_LEFT = 2  # tricks that are solved while one waits, unless an option says otherwise
ROWS_AT_ONCE = 100_000  # that one thread writes in one go


@dataclass
class SolvedEndgame:
    """An endgame, the ranges at its root, and its solution."""

    root: EndgameRoot
    endgame: ToepenEndgame
    ranges: Floats  # [2, hands]  likelihoods by the blueprint
    possible: tuple[NDArray[np.bool_], NDArray[np.bool_]]  # what the rules allow
    solution: EndgameSolution

    def since(self, public: Sequence[str]) -> tuple[str, ...]:
        """The words of a public history since the endgame began."""
        return tuple(public[len(self.root.history) :])

    def hand(self, view: View) -> int:
        """The cards that a seat had at the root, as bits."""
        return mask_of(NUMBERS[name] for name in view.private) & ~self.root.shown[view.seat]

    def strategy(self, view: View) -> list[float]:
        chances = self.solution.strategy(view.seat, self.since(view.public), self.hand(view))
        return [chances[action] for action in view.actions]

    def reaches(self, seat: int, public: Sequence[str]) -> dict[int, float]:
        """By hand of a seat at the root: its weight there times the probability of the seat's moves since."""
        turns: list[tuple[PublicState, str]] = []
        endgame, state = self.endgame, self.endgame.locate(())
        for word in self.since(public):
            if state.seat == seat and not (word == "check" and not state.may_bet):
                turns.append((endgame.locate(tuple(state.history)), word))
            state.take(word)
        played = sum(1 << NUMBERS[word] for _, word in turns if word in NUMBERS)
        result: dict[int, float] = {}
        for hand, start in zip(endgame.hands.tolist(), self.solution.ranges[seat].tolist(), strict=True):
            weight = start if hand & played == played else 0.0
            for turn, word in turns:
                if weight <= 0.0:
                    break
                # The cards that the other seat has played were not in the hand.
                free = all(not hand >> endgame._card[lane] & 1 for lane in turn.played[1 - seat])
                column = turn.columns(hand).get(word) if free else None
                chance = 0.0 if column is None else 1.0 if column < 0 else float(self.solution.probabilities[column])
                weight *= chance
            result[hand] = weight
        return result


class ToepenSearch(Search):
    """search(PATH, seconds=1, from=3, iterations=0, floor=0.02, threads=1, again=false).

    seconds      thinking time, at the start of the endgame; iterations, if given, instead: the same on any machine
    from         the trick from which on it searches; 0: the first from which two tricks are left
    floor        share of each range that is spread evenly over the hands that the rules allow
    again        solve once more at the next trick, for the ranges that the first solution leads to
    """

    kept = 4

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
        super().__init__(base, seconds, 0, iterations, name, self)
        self.blueprint, self.game = base, base.game
        hand = self.game.hand
        first = max(1, hand - TRICKS_LEFT + 1) if from_trick == 0 else from_trick
        least = max(1, hand - MOST_CARDS + 1)
        if not least <= first <= hand:
            raise SpecError(f"search: from={from_trick} should be a trick from {least} to {hand} of {self.game.spec}")
        if threads < 1 or not 0 <= floor <= 1:
            raise SpecError("search: threads are 1 or more, floor is from 0 to 1")
        self.limit: dict[str, Any] = {"iterations": iterations, "seconds": None} if iterations else {"seconds": seconds}
        self.floor, self.threads, self.again = floor, threads, again
        self.trick = first - 1

    def root(self, public: Sequence[str]) -> tuple[str, ...] | None:
        trick = tricks_in(public)
        if trick < self.trick:
            return None
        return root_of(self.game, public, trick if self.again else self.trick).history

    def solve(self, root: tuple[str, ...]) -> SolvedEndgame:
        """The solution at a root. It depends on the public history alone, never on cards that were not played."""
        trick = tricks_in(root)
        before = self.at(root_of(self.game, root, self.trick).history) if trick > self.trick else None
        return self.solved_at(root_of(self.game, root, trick), before)

    def at(self, public: Sequence[str]) -> SolvedEndgame:
        """The solution that a public history is played from."""
        root = self.root(public)
        assert root is not None, "the blueprint plays until the endgame"
        return cast(SolvedEndgame, self.solved(root))

    def weigh(self, seat: int, history: Sequence[str], hands: NDArray[np.uint64], shown: int) -> Floats:
        """How likely a seat that plays like this one holds each of some hands now, after it played `shown`."""
        if self.root(history) is None:
            return self.blueprint.likelihoods(seat, history, hands | np.uint64(shown))
        solved = self.at(history)
        weight, since = solved.reaches(seat, history), shown & ~solved.root.shown[seat]
        return np.array([weight.get(hand | since, 0.0) for hand in hands.tolist()])

    def ranges(
        self, root: EndgameRoot, endgame: ToepenEndgame, seat: int, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> Floats:
        """The probability that the blueprint makes a seat's moves so far, by what the seat holds at a root."""
        return self.blueprint.likelihoods(seat, root.history, dealt(root, endgame, seat), counts, prior)

    def solved_at(self, root: EndgameRoot, before: SolvedEndgame | None = None) -> SolvedEndgame:
        """Solve an endgame for the blueprint's ranges, or for those that an earlier solution leads to."""
        endgame = root.endgame(self.game)
        if before is None:
            ranges = np.stack([self.ranges(root, endgame, seat) for seat in range(2)])
        else:
            ranges = np.stack([_carried(before, root, endgame, seat) for seat in range(2)])
        possible = allowed(self.blueprint, root, endgame, 0), allowed(self.blueprint, root, endgame, 1)
        solution = endgame.solve(
            ranges[0], ranges[1], floor=self.floor, possible=possible, threads=self.threads, **self.limit
        )
        return SolvedEndgame(root, endgame, ranges, possible, solution)

    def gain(self, deals: int, seed: int, on_deal: Callable[[int, Score], None] | None = None) -> SearchGain:
        """What it wins more than its base; see `search_gain`."""
        return search_gain(self, deals, seed, on_deal)


def dealt(root: EndgameRoot, endgame: ToepenEndgame, seat: int) -> NDArray[np.uint64]:
    """By hand of a seat at a root: the cards that it was dealt, as bits."""
    return (endgame.hands | root.shown[seat]).astype(np.uint64)


def allowed(player: ToepenPlayer, root: EndgameRoot, endgame: ToepenEndgame, seat: int) -> NDArray[np.bool_]:
    """Which hands the rules allow a seat to hold at a root."""
    return anyone(player.machine).likelihoods(seat, root.history, dealt(root, endgame, seat)) > 0


def written(
    player: ToepenPlayer,
    root: EndgameRoot,
    endgame: ToepenEndgame,
    rows: EndgameRows,
    ranges: Floats,
    counts: Floats = NO_COUNTS,
    prior: float = 0.0,
    threads: int = 1,
) -> Floats:
    """A player's strategy (bent by counts) in an endgame, both seats."""
    strategy, model = endgame.uniform(), player.model(counts, prior)
    order = np.argsort(endgame.hands)
    weights = HandWeights(endgame.hands[order].astype(np.uint64), np.ascontiguousarray(ranges[:, order]))
    prefix, count = words_of(root.history), len(rows.seat)

    def work(first: int) -> None:
        scratch = RowScratch(np.zeros(4), np.zeros(4), np.zeros(32), np.zeros(MOST_WORDS, np.uint64))
        last = min(first + ROWS_AT_ONCE, count)
        write_rows(player.rules, model, prefix, weights, rows, first, last, strategy, scratch)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(0, count, ROWS_AT_ONCE)))
    return strategy


def joined(rows: EndgameRows, one: Floats, two: Floats) -> Floats:
    """Seat 0's columns of one strategy and seat 1's of another."""
    result = one.copy()
    mine = rows.seat == 1
    column, stride, actions = rows.column[mine], rows.stride[mine], rows.actions[mine]
    for a in range(int(actions.max(initial=0))):
        at = (column + a * stride)[actions > a]
        result[at] = two[at]
    return result


def _carried(before: SolvedEndgame, root: EndgameRoot, endgame: ToepenEndgame, seat: int) -> Floats:
    """The range at a later root, if a solution was played since an earlier one."""
    weight, played = before.reaches(seat, root.history), root.shown[seat] & ~before.root.shown[seat]
    return np.array([weight.get(hand | played, 0.0) for hand in endgame.hands.tolist()])


# What search gains


def root_met(
    search: ToepenSearch, players: tuple[ToepenPlayer, ToepenPlayer], seed: int, number: int
) -> EndgameRoot | None:
    """The endgame that a deal comes to when two players play it; None where the hand ends before."""
    words, scratch = np.zeros(MOST_WORDS, np.uint64), (np.zeros(64, np.uint64), np.zeros(4))
    one, two = players[0].player, players[1].player
    count = until_trick(search.blueprint.rules, one, two, seed, number, search.trick, words, *scratch)
    return None if count < 0 else root_of(search.game, [text_of(int(word)) for word in words[:count]], search.trick)


@dataclass(frozen=True)
class SearchGain:
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


def search_gain(
    search: ToepenSearch, deals: int = 100, seed: int = 0, on_deal: Callable[[int, Score], None] | None = None
) -> SearchGain:
    """Measure what search wins more than its blueprint against that blueprint, with little noise.

    The blueprint plays deals against itself up to the endgame. Until there search plays the same; from there on the
    exact values of (search against blueprint) and (blueprint against blueprint), for all hands weighted by their
    ranges, differ by what search gains given the public history. Their mean over deals is unbiased. A duplicate match
    estimates the same number with the luck of the last tricks in it.
    """
    base, began = search.blueprint, time.perf_counter()
    sums, squares, endgames, distances = np.zeros(3), np.zeros(3), 0, np.zeros(2)
    done = 0

    def score(column: int) -> Score:
        return scored(done, float(sums[column]), float(squares[column]))

    try:
        for number in range(deals):
            root = root_met(search, (base, base), seed, number)
            gains = np.zeros(2)
            if root is not None:
                gains, distance = _gained(search, search.solved_at(root))
                endgames += 1
                distances += distance
            each = np.array([gains[0], gains[1], gains.mean()])
            sums += each
            squares += each * each
            done += 1
            if on_deal is not None:
                on_deal(done, score(2))
    except KeyboardInterrupt:
        if done == 0:
            raise
    whole = score(2)
    distances /= max(endgames, 1)
    return SearchGain(
        whole.mean, whole.error, whole.interval, (score(0), score(1)), done, endgames, float(distances[0]),
        float(distances[1]), time.perf_counter() - began,
    )  # fmt: skip


def _gained(search: ToepenSearch, solved: SolvedEndgame) -> tuple[Floats, Floats]:
    """By seat: the value of search against the blueprint less that of the blueprint against itself; and the NashConv
    of both."""
    endgame, ranges = solved.endgame, solved.ranges
    rows = endgame.rows()
    plain = written(search.blueprint, solved.root, endgame, rows, ranges, threads=search.threads)
    searched = solved.solution.probabilities
    value = endgame.evaluate(plain, ranges[0], ranges[1]).value
    first = endgame.evaluate(joined(rows, searched, plain), ranges[0], ranges[1]).value - value
    second = value - endgame.evaluate(joined(rows, plain, searched), ranges[0], ranges[1]).value
    used, nash_conv = solved.solution.ranges, 0.0
    for seat in range(2):
        mass = used[seat] * endgame.compatible(used[1 - seat])
        nash_conv += float(mass / mass.sum() @ endgame.respond(plain, seat, used[1 - seat]).by_hand)
    return np.array([first, second]), np.array([solved.solution.nash_conv, nash_conv])
