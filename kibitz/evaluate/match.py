"""Duplicate matches: what one player wins from another, measured by playing.

    result = match("toepen", one, two, deals=100_000)
    result.mean, result.interval                    per hand, with 95% confidence

Every deal is played twice, the players changing seats and holding each other's cards, so luck of the deal cancels. A
player is an `Agent`: what it knows comes as a `View`, what it does is a probability for each action, and the match
draws from it. The numbers it draws with depend on the seed, the deal and the number of the decision alone: a match can
be repeated, its result does not depend on the number of threads, and whoever meets himself wins exactly nothing.

Agents with a `player` (compiled: uniform, rule, blueprint) play some hundred thousand deals a second on all threads;
those that think or learn play one hand after another.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.games import game as make_game
from kibitz.games.protocol import TERMINAL
from kibitz.games.toepen.rules import NUMBERS, Cards, Table, Toepen, deal_text

Chunks: TypeAlias = Generator[NDArray[np.float64], None, None]

CHUNK = 2000  # deals that one call into compiled code plays
FIRST_LOOK = 1000  # deals before the first look whether the match is decided; looks come at each doubling
LEVEL = 0.05  # intervals hold the truth with probability 1 - LEVEL
WORD = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
SAID = {"check": 32, "bet": 33, "call": 34, "fold": 35}  # as kibitz.kernels.toepen.play; cards are their numbers


@dataclass(frozen=True)
class View:
    """What a seat knows when it is to move: nothing of the other's cards but those played."""

    seat: int
    dealt: Cards  # its cards at the beginning, ascending
    history: tuple[str, ...]  # what was said and played by either, in order
    actions: tuple[str, ...]  # what it may do

    @property
    def plays(self) -> Cards:
        return tuple(NUMBERS[word] for word in self.history if word in NUMBERS)

    @property
    def held(self) -> Cards:
        played = self.plays
        return tuple(card for card in self.dealt if card not in played)


class Agent(Protocol):
    """One who plays."""

    name: str

    def begin(self, seat: int, cards: Cards) -> None:
        """A hand begins, in this seat with these cards."""

    def act(self, view: View) -> Sequence[float]:
        """A probability for each of `view.actions`."""

    def end(self, history: tuple[str, ...], payoff: float) -> None:
        """The hand is over. Cards of the other that were not played are not shown."""


@dataclass(frozen=True)
class Score:
    """A mean per hand, and how sure it is."""

    mean: float
    error: float  # standard error of the mean
    interval: tuple[float, float]  # holds the truth with probability 95%


@dataclass(frozen=True)
class Result:
    """What the first player won from the second, per hand."""

    one: str
    two: str
    mean: float
    error: float
    interval: tuple[float, float]
    deals: int  # each played twice
    by_seat: tuple[Score, Score]  # of the first player when in seat 0, and when in seat 1
    seconds: float
    stopped: str  # "done", "decided", "precise" or "interrupted"

    def data(self) -> dict[str, Any]:
        """As plain values; errors and intervals that one deal does not give are None."""
        seats = [{"mean": s.mean, "error": _finite(s.error), "interval": _bounds(s)} for s in self.by_seat]
        return {
            "one": self.one, "two": self.two, "mean": self.mean, "error": _finite(self.error),
            "interval": _bounds(self), "deals": self.deals, "hands": 2 * self.deals, "by_seat": seats,
            "seconds": self.seconds, "stopped": self.stopped,
        }  # fmt: skip


def _finite(x: float) -> float | None:
    return x if math.isfinite(x) else None


def _bounds(score: Score | Result) -> list[float | None]:
    return [_finite(x) for x in score.interval]


class Tally:
    """Sums of a match. Payoffs are whole numbers, so sums of them and their squares are exact in any order."""

    def __init__(self) -> None:
        self.deals = 0
        self._sum = np.zeros(3)
        self._square = np.zeros(3)

    def add(self, won: NDArray[np.float64]) -> None:
        """won: [n, 2]  what the first player won in seat 0 and in seat 1, by deal."""
        columns = np.column_stack([won, won.sum(axis=1)])
        self.deals += len(won)
        self._sum += columns.sum(axis=0)
        self._square += (columns * columns).sum(axis=0)

    def score(self, column: int = 2, level: float = LEVEL) -> Score:
        """Column 0 and 1: by seat; 2: the mean of both."""
        scale = 0.5 if column == 2 else 1.0
        return scored(self.deals, self._sum[column], self._square[column], scale, level)


def scored(count: int, total: float, squares: float, scale: float = 1.0, level: float = LEVEL) -> Score:
    """Mean, standard error and interval from a sum and a sum of squares, all times `scale`."""
    from scipy.special import stdtrit

    if count < 2:
        mean = float(scale * total) if count else 0.0
        return Score(mean, math.inf, (-math.inf, math.inf))
    mean = total / count
    variance = max(0.0, squares - total * mean) / (count - 1)
    error = float(scale * math.sqrt(variance / count))
    half = error * float(stdtrit(count - 1, 1.0 - level / 2))
    mean = float(scale * mean)
    return Score(mean, error, (mean - half, mean + half))


def match(
    game: str | Toepen,
    one: Agent,
    two: Agent,
    deals: int = 10_000,
    seed: int = 0,
    *,
    threads: int | None = None,
    until: str | float | None = None,
    on_progress: Callable[[Tally], None] | None = None,
) -> Result:
    """Play duplicate deals and say what `one` won from `two` per hand.

    until        "decided": stop as soon as it is clear who wins; a number: stop when the 95% interval is at most so far
                 from the mean. Looks are taken after 1000, 2000, 4000, ... deals; for "decided" the k-th look has
                 confidence 1 - 0.05 / (k (k + 1)), so that all of them together err in one match of twenty.
    on_progress  is called with the sums so far
    Ctrl-C ends the match with the deals played until then.
    """
    rules = _toepen(game)
    if deals < 1:
        raise GameError(f"deals={deals}: a match has 1 or more")
    if not 0 <= seed < 1 << 63:
        raise GameError(f"seed={seed} must be a whole number from 0")
    if isinstance(until, str) and until != "decided":
        raise GameError(f"until={until!r}: choose 'decided', or a number for the half of the interval's width")
    if not isinstance(until, str) and until is not None and not until > 0:
        raise GameError(f"until={until:g}: the half of an interval's width is above 0")
    threads = threads or os.cpu_count() or 1
    players = [getattr(agent, "player", None) for agent in (one, two)]
    tally, began, stopped, looks = Tally(), time.perf_counter(), "done", 0
    if players[0] is not None and players[1] is not None:
        chunks = _compiled(rules, players[0], players[1], deals, seed, threads)
    else:
        chunks = _thinking(rules, one, two, deals, seed)
    try:
        for won in chunks:
            while len(won) and stopped == "done":
                # Looks are taken after fixed numbers of deals, whatever the chunks are.
                cut = min(len(won), (FIRST_LOOK << looks) - tally.deals)
                tally.add(won[:cut])
                won = won[cut:]
                if tally.deals == FIRST_LOOK << looks:
                    looks += 1
                    stopped = _enough(tally, until, looks) or stopped
            if on_progress is not None:
                on_progress(tally)
            if stopped != "done":
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    finally:
        chunks.close()
    score = tally.score()
    return Result(
        one.name, two.name, score.mean, score.error, score.interval, tally.deals, (tally.score(0), tally.score(1)),
        time.perf_counter() - began, stopped,
    )  # fmt: skip


def _enough(tally: Tally, until: str | float | None, look: int) -> str:
    if until is None:
        return ""
    if until == "decided":
        low, high = tally.score(level=LEVEL / (look * (look + 1))).interval
        return "decided" if low > 0 or high < 0 else ""
    score = tally.score()
    return "precise" if score.interval[1] - score.mean <= float(until) else ""


def _toepen(game: str | Toepen) -> Toepen:
    rules = make_game(game)
    if not isinstance(rules, Toepen):
        raise GameError("matches are for games with a compiled state machine: toepen, with any parameters")
    if rules.hand > 4 or rules.symmetric:
        raise GameError("matches of toepen take hands of up to 4 cards, and not symmetric=true")
    return rules


def _compiled(rules: Toepen, one: Any, two: Any, deals: int, seed: int, threads: int) -> Chunks:
    """Results of chunks in order, from a few threads that work ahead."""
    from kibitz.games.toepen.arrays import rules_of
    from kibitz.kernels.toepen.play import duplicate_by_seat

    compact = rules_of(rules)

    def work(first: int) -> NDArray[np.float64]:
        won = np.zeros((min(CHUNK, deals - first), 2))
        duplicate_by_seat(compact, one, two, seed, first, won, np.zeros(64, np.uint64))
        return won

    starts = iter(range(0, deals, CHUNK))
    pool = ThreadPoolExecutor(threads)
    ahead: list[Future[NDArray[np.float64]]] = []
    try:
        for first in starts:
            ahead.append(pool.submit(work, first))
            if len(ahead) >= 2 * threads:
                yield ahead.pop(0).result()
        while ahead:
            yield ahead.pop(0).result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _thinking(rules: Toepen, one: Agent, two: Agent, deals: int, seed: int) -> Chunks:
    """Results deal by deal, in Python."""
    for number in range(deals):
        hands, after = dealt(rules, seed, number)
        here = play(rules, (one, two), hands, after)
        there = play(rules, (two, one), hands, after)
        yield np.array([[here, -there]])


# A hand in Python, with the numbers that kernels would draw


def mix(x: int) -> int:
    """The finaliser of splitmix64, as kibitz.kernels.walk.sampling has it."""
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & WORD
    return x ^ x >> 31


def dealt(rules: Toepen, seed: int, number: int) -> tuple[tuple[Cards, Cards], int]:
    """Both hands of a deal, and where the random numbers of its decisions begin."""
    state = mix(mix(seed + GOLDEN & WORD) ^ mix(number * GOLDEN + 1 & WORD))
    cards = list(rules.deck)
    for k in range(2 * rules.hand):
        state = state + GOLDEN & WORD
        at = k + ((mix(state) >> 32) * (len(cards) - k) >> 32)
        cards[k], cards[at] = cards[at], cards[k]
    hands = tuple(sorted(cards[: rules.hand])), tuple(sorted(cards[rules.hand : 2 * rules.hand]))
    return hands, state


def draws(state: int) -> Iterator[float]:
    """Numbers from 0 to 1, one for each decision."""
    while True:
        state = state + GOLDEN & WORD
        yield (mix(state) >> 11) / 2**53


def chosen(probabilities: Sequence[float], draw: float) -> int:
    """The action that a number in [0, 1) picks; rounding never picks one of probability 0."""
    last = 0
    for a, p in enumerate(probabilities):
        if p > 0.0:
            last = a
            draw -= p
            if draw < 0.0:
                break
    return last


def view_of(rules: Toepen, state: Table) -> View:
    """What the seat to move knows."""
    return View(state.turn, state.dealt[state.turn], tuple(state.done.split()), tuple(rules.actions(state)))


def play(rules: Toepen, agents: tuple[Agent, Agent], hands: tuple[Cards, Cards], after: int) -> float:
    """Play one hand; returns seat 0's payoff."""
    state = rules.after(rules.root(), deal_text(*hands))
    for seat, agent in enumerate(agents):
        agent.begin(seat, hands[seat])
    numbers = draws(after)
    while state.turn != TERMINAL:
        view = view_of(rules, state)
        probabilities = checked(agents[state.turn], view)
        state = rules.after(state, view.actions[chosen(probabilities, next(numbers))])
    payoff = rules.payoff(state)
    history = tuple(state.done.split())
    for seat, agent in enumerate(agents):
        agent.end(history, payoff[seat])
    return float(payoff[0])


def checked(agent: Agent, view: View) -> list[float]:
    """What an agent answers, if it is a distribution over the actions."""
    found = [float(p) for p in agent.act(view)]
    if len(found) != len(view.actions) or not all(p >= 0.0 for p in found) or not abs(sum(found) - 1.0) < 1e-6:
        wanted = f"{len(view.actions)} probabilities, for {', '.join(view.actions)}"
        raise GameError(f"{agent.name} should give {wanted}; it gave {found}")
    return found
