"""What a strategy of an action abstraction loses to a local best response, at a table with all bets.

    result = local_response("nl.blueprint", deals=2000)
    result.score.mean, result.score.interval          chips per hand, with 95% confidence

The response knows the strategy and looks one action ahead (`kernels/response.py`) [Lisy & Bowling 2017, "Equilibrium
Approximation Quality of Current No-Limit Poker Bots"]. Whatever it wins, a best response wins as much or more: the
mean is a lower bound on exploitability at the table, up to its interval. Bets that the strategy's own game does not
have are read as it reads them in play (`kibitz.poker.nolimit.translation`).

Departs from the paper: the opponent's cards are not dealt, and a result is the mean over all that it may hold; the
board goes on in a sample of ways before the river, not in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import clock
from kibitz.core.errors import GameError
from kibitz.evaluate.match import in_order
from kibitz.evaluate.score import Score, score_of
from kibitz.poker.nolimit.table import reader_of, table_of
from kibitz.poker.rules import acpc

if TYPE_CHECKING:
    from kibitz.poker.nolimit.kernels.response import Response, Room

Floats = NDArray[np.float64]
SIZES: tuple[float | str, ...] = (0.5, 1, 2, "allin")  # raises of a response, by default
BOARDS = 24  # ways the board may go on that an equity is taken over
READINGS = 64  # of what the opponent may have taken the hand for; no game here came near it
CHUNK = 10  # deals of one call into compiled code
ONE_WORD = 10  # cards of a deal, at most


@dataclass(frozen=True)
class Responded:
    """What a response won from a strategy, in chips per hand."""

    game: str
    name: str
    score: Score
    seats: tuple[Score, Score]  # by the seat of the response
    sizes: tuple[float, ...]  # raises that it weighed, in pots
    big_blind: int
    deals: int
    seconds: float
    stopped: str = "done"  # or "interrupted"

    @property
    def milli_blinds(self) -> Score:
        """The score in thousandths of a big blind."""
        return scaled(self.score, 1000.0 / self.big_blind)

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "game": self.game, "strategy": self.name, **self.score.data(), "by_seat": [s.data() for s in self.seats],
            "milli_blinds": self.milli_blinds.data(), "sizes": [shown(size) for size in self.sizes],
            "deals": self.deals, "seconds": self.seconds, "stopped": self.stopped,
        }  # fmt: skip


def scaled(score: Score, by: float) -> Score:
    return Score(score.mean * by, score.error * by, (score.interval[0] * by, score.interval[1] * by))


def shown(size: float) -> float | str:
    """A size as users write it."""
    return acpc.ALL_IN if np.isinf(size) else size


class SeatedStrategy:
    """A strategy at its table, as responses meet it."""

    def __init__(self, strategy: Any, game: Any = None) -> None:
        from kibitz.play.agents import agent
        from kibitz.solvers.machines import playable

        machine = playable(whole_of(strategy) if game is None else game)
        self.rules: Any = machine.rules
        known = getattr(self.rules, "definition", None)
        if known is None or known.limit:
            raise GameError(f"{machine.spec} is not poker without limit: kibitz evaluate and match measure its "
                            "strategies")  # fmt: skip
        if known.players != 2 or known.hole * 2 + sum(known.board) > ONE_WORD:
            raise GameError("a local best response is for two players, with at most 10 cards in all")
        self.agent, self.definition = agent(strategy, machine), known
        self.name, self.spec, self.table = self.agent.name, machine.spec, table_of(known)
        reader = reader_of(self.agent)
        if reader is None or int(reader.player.kind) == 0:
            raise GameError(f"{self.name} has no rows to respond to: name a saved strategy")
        self.reader = reader
        few = getattr(self.agent, "few", known)
        self.bets: tuple[float, ...] = few.bets  # those of the strategy's own game; none: every one

    def response(self, sizes: Sequence[float], boards: int = BOARDS) -> Response:
        from kibitz.poker.nolimit.kernels.response import Response

        hands = np.array(list(combinations(self.definition.deck, self.definition.hole)), np.uint64)
        places = np.uint64(6) * np.arange(hands.shape[1], dtype=np.uint64)
        masks = np.bitwise_or.reduce(np.uint64(1) << hands, axis=1)
        return Response(np.array(sizes, np.float64), np.int64(boards), (hands << places).sum(axis=1), masks)

    def room(self, hands: int) -> Room:
        """What one thread writes to."""
        from kibitz.core.random import SCRATCH
        from kibitz.poker.nolimit.kernels.betting import BETS
        from kibitz.poker.nolimit.kernels.response import Room

        node = self.reader.game.node
        actions = int(node[node[:, 0] >= 0, 2].max(initial=2))
        return Room(
            np.zeros(BETS, np.int64), np.zeros((2, READINGS), np.int64), np.zeros((2, READINGS, hands)),
            np.zeros((READINGS, hands, actions)), np.zeros((2, hands)), np.zeros(SCRATCH, np.uint64),
            np.zeros(1, np.int64),
        )  # fmt: skip

    def won(self, response: Response, seed: int, first: int, count: int) -> Floats:
        """[count, 2]  what a response wins on some deals, by its seat; each deal has its own random numbers."""
        from kibitz.poker.nolimit.kernels.response import respond

        won, room = np.zeros((count, 2)), self.room(len(response.hands))
        respond(self.table, self.reader, response, seed, first, won, room)
        if room.lost[0]:
            raise GameError(f"{self.name} reads a hand in more than {READINGS} ways: name fewer --sizes")
        return won


def local_response(
    strategy: Any,
    game: Any = None,
    *,
    deals: int = 1000,
    sizes: Sequence[float | str] = SIZES,
    boards: int = BOARDS,
    seed: int = 0,
    threads: int | None = None,
    on_progress: Callable[[int, Score], None] | None = None,
) -> Responded:
    """What a local best response wins from a strategy for no-limit poker.

    strategy     a saved strategy, a Profile or a Blueprint, usually of an action abstraction
    game         the table; default: the strategy's game with all bets
    deals        each is played from both seats
    sizes        raises that the response weighs, in pots or "allin", beside fold and call
    boards       ways the board may go on that an equity is taken over; on the river it is exact
    on_progress  is called with the number of deals and the score so far
    """
    target, pots = SeatedStrategy(strategy, game), sizes_of(sizes)
    check(deals, boards, seed)
    response, began, stopped = target.response(pots, boards), clock(), "done"
    won, done = np.zeros((deals, 2)), 0
    try:
        for first, some in in_order(lambda at, count: target.won(response, seed, at, count), deals, CHUNK, threads):
            won[first : first + len(some)] = some
            done = first + len(some)
            if on_progress is not None:
                on_progress(done, score_of(won[:done].mean(axis=1)))
    except KeyboardInterrupt:
        stopped = "interrupted"
    won = won[:done]
    return Responded(
        target.spec, target.name, score_of(won.mean(axis=1)), (score_of(won[:, 0]), score_of(won[:, 1])), pots,
        max(1, *target.definition.blinds), done, clock() - began, stopped,
    )  # fmt: skip


def whole_of(strategy: Any) -> Any:
    """The game of a strategy with all bets."""
    from kibitz.games import game as make_game
    from kibitz.play.agents import game_of

    named = isinstance(strategy, str | Path)
    known = game_of([str(strategy)]) if named else getattr(strategy, "meta", {}).get("game")
    rules: Any = make_game(known) if known else None
    if rules is None or not hasattr(rules, "whole"):
        raise GameError(f"{strategy} names no game of poker: give one, as --game holdem.nolimit.2p")
    return rules.whole


def sizes_of(sizes: Sequence[float | str]) -> tuple[float, ...]:
    """Sizes in pots, ascending."""
    try:
        return acpc.sizes_of(sizes)
    except ValueError as error:
        raise GameError(f"sizes {', '.join(map(str, sizes)):.200}: {error}") from None


def check(deals: int, boards: int, seed: int) -> None:
    if deals < 2:
        raise GameError(f"deals={deals} should be 2 or more")
    if not 1 <= boards <= 10_000:
        raise GameError(f"boards={boards} should be 1 to 10,000")
    if not 0 <= seed < 1 << 63:
        raise GameError(f"seed={seed} must be a whole number from 0")
