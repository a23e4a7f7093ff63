"""Duplicate matches: what players win against each other, in any game and for any number of players.

    result = match("toepen", one, two, deals=100_000)
    result.mean, result.interval                    of the first player per hand, with 95% confidence

Every deal is played in all seatings (two for two players, six for three), the players changing seats and holding each
other's cards, so luck of the deal cancels. A player is an `Agent`: what it knows comes as a `View`, what it does is a
probability for each action, and the match draws from it. The numbers it draws with depend on the seed, the deal and the
number of the decision alone: a match can be repeated, its result does not depend on the number of threads, and whoever
meets himself wins exactly nothing.

Agents with a `player` (compiled: uniform, rule, saved strategies) play some hundred thousand deals a second on all
threads, in games with a compiled machine; those that think or learn play one hand after another.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import clock
from kibitz.core.errors import GameError
from kibitz.core.resources import cores
from kibitz.evaluate.score import LEVEL, DealSums, Score, Tally, sums_of
from kibitz.games.machine import GOLDEN, WORD, Hand, Machine, mix
from kibitz.games.plugins import plugin_of
from kibitz.games.protocol import CHANCE, TERMINAL, Game
from kibitz.games.trusted import same_game
from kibitz.games.views import View, view_of
from kibitz.solvers.machines import machine_of

Result = TypeVar("Result")
Chunks: TypeAlias = Generator[NDArray[np.float64], None, None]
Blocks: TypeAlias = Callable[[int, int], Generator[list[DealSums], None, None]]  # deals and seed -> sums, in order

CHUNK = 2000  # deals that one call into compiled code plays
PLAIN_CHUNK = 20  # the same where rules are not compiled
FIRST_CHECK = 1000  # deals before the first check whether the match is decided; the next come at each doubling
MOST_ORDERS = 3  # players whose every order is played; of more each sits once in each seat


class Agent(Protocol):
    """One who plays."""

    name: str

    def begin(self, seat: int) -> None:
        """A hand begins, in this seat."""
        return None

    def act(self, view: View) -> Sequence[float]:
        """A probability for each of `view.actions`."""

    def end(self, view: View, payoff: float) -> None:
        """The hand is over; `view` is what the seat knows then: what others held only if the rules show it."""
        return None


@dataclass(frozen=True, repr=False)
class MatchResult:
    """What players won, per hand."""

    names: tuple[str, ...]
    scores: tuple[Score, ...]  # by player
    seats: tuple[tuple[Score, ...], ...]  # by player and seat
    edge: Score  # of the first player over the others: in a zero-sum game its score
    deals: int
    seatings: int  # that each deal was played in
    seconds: float
    stopped: str  # "done", "decided", "precise" or "interrupted"

    one = property(lambda self: self.names[0])
    two = property(lambda self: self.names[1])
    mean = property(lambda self: self.scores[0].mean)
    error = property(lambda self: self.scores[0].error)
    interval = property(lambda self: self.scores[0].interval)
    by_seat = property(lambda self: self.seats[0])

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"{self.one} wins {self.mean:+.4f} per hand from {' and '.join(self.names[1:])} "
            f"(95%: {low:+.4f} to {high:+.4f}, {self.deals:,} deals)"
        )

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{score.mean:+.4f}</td><td>{score.interval[0]:+.4f} to "
            f"{score.interval[1]:+.4f}</td></tr>"
            for name, score in zip(self.names, self.scores, strict=True)
        )
        return f"<table><tr><th>player</th><th>won per hand</th><th>95%</th></tr>{rows}</table>"

    def data(self) -> dict[str, Any]:
        """As plain values; errors and intervals that one deal does not give are None."""
        first = self.scores[0].data()
        players = [
            {"name": name, **score.data(), "by_seat": [each.data() for each in seats]}
            for name, score, seats in zip(self.names, self.scores, self.seats, strict=True)
        ]
        return {
            "one": self.one, "two": self.two, **first, "deals": self.deals, "hands": self.seatings * self.deals,
            "by_seat": [each.data() for each in self.by_seat], "players": players, "seconds": self.seconds,
            "stopped": self.stopped,
        }  # fmt: skip


def seatings_of(players: int) -> NDArray[np.int64]:
    """[k, n]  the player in each seat: all orders of up to three, and of more each once in each seat."""
    if players <= MOST_ORDERS:
        return np.array(sorted(permutations(range(players))), np.int64)
    return np.array([[(seat + k) % players for seat in range(players)] for k in range(players)], np.int64)


def match(
    game: Any,
    *players: Agent,
    deals: int = 10_000,
    seed: int = 0,
    threads: int | None = None,
    decided: bool = False,
    precision: float | None = None,
    on_progress: Callable[[Tally], None] | None = None,
    blocks: Blocks | None = None,
) -> MatchResult:
    """Play duplicate deals and say what each player won per hand.

    game         a spec, a game, or a Machine; players: one agent for each of its seats
    decided      stop as soon as it is clear whether the first player wins
    precision    stop when the first player's 95% interval is at most so far from the mean
    on_progress  is called with the sums so far
    blocks       plays compiled players on other machines (`kibitz.play.blocks`)

    The match is checked for these after 1000, 2000, 4000, ... deals. The k-th check of `decided` has confidence
    1 - 0.05 / (k (k + 1)), so that all of them together err in one match of twenty.
    Ctrl-C ends the match with the deals played until then.
    """
    machine = machine_of(game)
    if len(players) != machine.players:
        raise GameError(f"{machine.spec} has {machine.players} seats: name {machine.players} players")
    for agent in players:
        plays = getattr(getattr(agent, "machine", None), "spec", machine.spec)
        if not same_game(plays, machine.spec):
            raise GameError(f"{agent.name} plays {plays}, not {machine.spec}")
    if deals < 1:
        raise GameError(f"deals={deals}: a match has 1 or more")
    if not 0 <= seed < 1 << 63:
        raise GameError(f"seed={seed} must be a whole number from 0")
    if precision is not None and not precision > 0:
        raise GameError(f"precision={precision:g} should be above 0: half the width of an interval")
    threads = threads or cores()
    seatings = seatings_of(machine.players)
    tally, began, stopped, checks = Tally(seatings), clock(), "done", 0
    machine, alike = meeting(machine, players)
    if alike is not None and blocks is not None:
        chunks = blocks(deals, seed)
    elif alike is not None:
        chunks = _added_up(seatings, _compiled(machine, alike, seatings, deals, seed, threads))
    else:
        chunks = _added_up(seatings, _thinking(machine, players, seatings, deals, seed))
    try:
        for sums in chunks:
            for each in sums:
                tally.add(each)
                if tally.deals == FIRST_CHECK << checks:
                    checks += 1
                    stopped = _enough(tally, decided, precision, checks) or stopped
                    if stopped != "done":
                        break
            if on_progress is not None:
                on_progress(tally)
            if stopped != "done":
                break
    except KeyboardInterrupt:
        stopped = "interrupted"
    finally:
        chunks.close()
    everyone = range(machine.players)
    return MatchResult(
        tuple(agent.name for agent in players), tuple(tally.score(p) for p in everyone),
        tuple(tuple(tally.by_seat(p, seat) for seat in everyone) for p in everyone), tally.edge(), tally.deals,
        len(seatings), clock() - began, stopped,
    )  # fmt: skip


def cut_at_checks(seatings: NDArray[np.int64], first: int, won: NDArray[np.float64]) -> list[DealSums]:
    """Sums of deals from number `first` on. Checks come after fixed numbers of deals: sums end there."""
    sums, check = [], FIRST_CHECK
    while len(won):
        while check <= first:
            check *= 2
        cut = min(len(won), check - first)
        sums.append(sums_of(seatings, won[:cut]))
        won, first = won[cut:], first + cut
    return sums


def _added_up(seatings: NDArray[np.int64], chunks: Chunks) -> Generator[list[DealSums], None, None]:
    """Sums of chunks of deals."""
    first = 0
    try:
        for won in chunks:
            yield cut_at_checks(seatings, first, won)
            first += len(won)
    finally:
        chunks.close()


def _met_on(machine: Machine, players: Sequence[Agent]) -> Machine:
    """The machine on which players with rows meet: poker with betting by rounds, if one of them has it so."""
    own = [getattr(player, "machine", machine) for player in players if getattr(player, "table", None) is not None]
    return next((each for each in own if each.by_rounds), machine)


def _alike(players: Sequence[Any]) -> tuple[Any, ...] | None:
    """Compiled players of one type, which a compiled match asks for; None where there are others.

    Players without rows (uniform, rule) take the types of those who have some. Hashed rows and rows by place do not
    meet in compiled code.
    """
    from kibitz.solvers.kernels.players import RULE

    if any(player is None for player in players):
        return None
    like = next((player for player in players if int(player.kind) > RULE), players[0])
    alike = tuple(
        player if int(player.kind) > RULE
        else player._replace(keys=like.keys, store=like.store, base_keys=like.base_keys, base_store=like.base_store)
        for player in players
    )  # fmt: skip
    return alike if len({(type(player.store), type(player.base_store)) for player in alike}) == 1 else None


def _enough(tally: Tally, decided: bool, precision: float | None, check: int) -> str:
    if decided:
        low, high = tally.edge(0, LEVEL / (check * (check + 1))).interval
        if low > 0 or high < 0:
            return "decided"
    if precision is None:
        return ""
    score = tally.score()
    return "precise" if score.interval[1] - score.mean <= precision else ""


def _compiled(
    machine: Machine, players: tuple[Any, ...], seatings: NDArray[np.int64], deals: int, seed: int, threads: int
) -> Chunks:
    """Results of chunks in order, from a few threads that work ahead."""
    chunk, threads = (CHUNK, threads) if machine.compiled else (PLAIN_CHUNK, 1)

    def work(first: int, count: int) -> NDArray[np.float64]:
        return won_on(machine, players, seatings, seed, first, count)

    with closing(in_order(work, deals, chunk, threads)) as chunks:
        for _, won in chunks:
            yield won


def in_order(
    work: Callable[[int, int], Result], deals: int, chunk: int, threads: int | None = None
) -> Generator[tuple[int, Result], None, None]:
    """(first deal, result) of chunks of deals in order, from a few threads that work ahead. work: is called with the
    first deal and the number of deals."""
    threads = threads or cores()
    pool = ThreadPoolExecutor(threads)
    ahead: list[tuple[int, Future[Result]]] = []
    try:
        for at in range(0, deals, chunk):
            ahead.append((at, pool.submit(work, at, min(chunk, deals - at))))
            if len(ahead) >= 2 * threads:
                first, done = ahead.pop(0)
                yield first, done.result()
        for first, done in ahead:
            yield first, done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def won_on(
    machine: Machine, players: tuple[Any, ...], seatings: NDArray[np.int64], seed: int, first: int, count: int
) -> NDArray[np.float64]:
    """[count, seatings, players]  what compiled players win on some deals; they depend on the seed and their number."""
    from kibitz.core.random import SCRATCH

    won = np.zeros((count, *seatings.shape))
    random, luck = np.zeros(1, np.uint64), np.zeros(SCRATCH, np.uint64)
    machine.duel(machine.game, players, seatings, seed, first, won, random, luck, np.zeros(machine.actions))
    return won


def meeting(machine: Machine, players: Sequence[Agent]) -> tuple[Machine, tuple[Any, ...] | None]:
    """(the machine that players meet on, what compiled code plays them with; None if it cannot)."""
    own: tuple[Machine, tuple[Any, ...]] | None = plugin_of(machine.rules).meeting(machine, players)
    if own is not None:
        return own
    return _met_on(machine, players), _alike([getattr(agent, "player", None) for agent in players])


def _thinking(machine: Machine, agents: Sequence[Agent], seatings: NDArray[np.int64], deals: int, seed: int) -> Chunks:
    """Results deal by deal, in Python."""
    for number in range(deals):
        won = np.zeros((1, *seatings.shape))
        for k, seating in enumerate(seatings.tolist()):
            payoffs = play(machine.rules, [agents[player] for player in seating], machine.hand(seed, number))
            won[0, k, seating] = payoffs
        yield won


# A hand in Python, with the numbers that kernels would draw


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


def play(rules: Game, agents: Sequence[Agent], hand: Hand) -> list[float]:
    """Play one hand; returns the payoffs by seat."""
    state = hand.start()
    for seat, agent in enumerate(agents):
        agent.begin(seat)
    numbers = draws(hand.after)
    while (turn := rules.turn(state)) != TERMINAL:
        if turn == CHANCE:
            state = hand.draw(state)
            continue
        view = view_of(rules, state, turn)
        state = rules.after(state, view.choices[chosen(checked(agents[turn], view), next(numbers))])
    payoffs = [float(x) for x in rules.payoff(state)]
    for seat, agent in enumerate(agents):
        agent.end(view_of(rules, state, seat), payoffs[seat])
    return payoffs


def checked(agent: Agent, view: View) -> list[float]:
    """What an agent answers, if it is a distribution over the actions."""
    probabilities = [float(p) for p in agent.act(view)]
    fits = len(probabilities) == len(view.actions) and all(p >= 0.0 for p in probabilities)
    if not fits or not abs(sum(probabilities) - 1.0) < 1e-6:
        wanted = f"{len(view.actions)} probabilities, for {', '.join(view.actions)}"
        raise GameError(f"{agent.name} should give {wanted}; it gave {probabilities}")
    return probabilities
