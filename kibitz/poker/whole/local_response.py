"""Local best response in limit poker: a player that knows its opponents' strategy and looks one action ahead.

    bound = local_bound(agent, deals=20_000)
    bound.score.mean, bound.score.interval          chips per hand, with 95% confidence

At each decision it knows how likely each hand of an opponent is, by Bayes from the strategy and what was done, and
weighs fold, call and raise as if afterwards everybody checked and called to the end (`kernels/local.py`). Whatever it
does, what it wins against a strategy is a lower bound on what a best response wins [Lisy & Bowling 2017].
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import clock
from kibitz.core.errors import GameError
from kibitz.evaluate.match import in_order
from kibitz.evaluate.score import Score, score_of
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.machine import PokerMachine

if TYPE_CHECKING:
    from kibitz.poker.whole.kernels.local import LocalRoom, LocalRules

Floats = NDArray[np.float64]
MOST_HANDS, MOST_DEALS = 20_000, 100_000_000
BOARDS = 24  # ways the board may go on that an equity is taken over
CHUNK = 10  # deals of one call into compiled code


@dataclass(frozen=True)
class LocalBound:
    """What a local best response won from copies of a strategy, in chips per hand."""

    score: Score  # over all seats
    seats: tuple[Score, ...]  # by the seat of the response
    deals: int  # each was played from all seats
    seconds: float
    stopped: str = "done"  # or "interrupted"

    def data(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.score.data(), "by_seat": [each.data() for each in self.seats], "deals": self.deals,
                "seconds": self.seconds, "stopped": self.stopped}  # fmt: skip


class LocalResponse:
    """The response to a target: a compiled agent that plays all other seats."""

    def __init__(self, target: Any, boards: int = BOARDS) -> None:
        from kibitz.poker.whole.kernels.local import MAY_FOLD, MAY_RAISE, LocalRules

        machine, player = getattr(target, "machine", None), getattr(target, "player", None)
        if not isinstance(machine, PokerMachine) or player is None:
            raise GameError("a local best response needs a compiled player of poker: a saved strategy, or uniform")
        definition = machine.definition
        if not definition.limit:
            raise GameError("this local best response is for limit poker: kibitz poker respond is for no-limit")
        if definition.stacks is not None and min(definition.stacks) < most_chips(definition):
            raise GameError("a local best response needs stacks that last for every raise")
        if comb(len(definition.deck), definition.hole) > MOST_HANDS:
            raise GameError(f"a local best response is for games of at most {MOST_HANDS:,} private hands")
        if boards < 1:
            raise GameError(f"boards={boards} should be 1 or more")
        hands = np.array(list(combinations(definition.deck, definition.hole)), np.uint8)
        masks = np.bitwise_or.reduce(np.uint64(1) << hands.astype(np.uint64), axis=1)
        ranked = np.bitwise_or.reduce(np.uint64(1) << (hands // 4 + hands % 4 * 16).astype(np.uint64), axis=1)
        bits = {"fold": int(MAY_FOLD), "raise": int(MAY_RAISE)}
        every = [sum(bits.get(action, 0) for action in actions) for actions in machine.betting.actions]
        offered = np.array([*every, 0], np.uint8)[machine.betting.actions_of]  # nothing at ends
        self.target, self.machine = target, machine
        self.rules: LocalRules = LocalRules(
            offered, np.array(definition.blinds, np.float64),
            np.array(definition.raise_size, np.float64), np.int64(boards), hands, masks, ranked,
        )  # fmt: skip

    def room(self) -> LocalRoom:
        """What one thread writes to."""
        from kibitz.core.random import SCRATCH
        from kibitz.poker.whole.kernels.local import LocalRoom

        seats, hands, actions = self.machine.players, len(self.rules.hands), self.machine.actions
        return LocalRoom(
            np.zeros((2, seats, hands)), np.zeros((hands, actions)), np.zeros(seats),
            np.zeros((seats, self.machine.depth, 3)), np.zeros((2, seats, 2)), np.zeros(SCRATCH, np.uint64),
            np.zeros(actions),
        )  # fmt: skip

    def won(self, seed: int, first: int, count: int, room: LocalRoom | None = None) -> Floats:
        """[count, seats]  what the response wins on some deals; each deal has its own random numbers. room: to be
        written to."""
        from kibitz.poker.whole.kernels.local import respond

        won = np.zeros((count, self.machine.players))
        respond(self.machine.game, self.target.player, self.rules, seed, first, won, room or self.room())
        return won


def most_chips(definition: Definition) -> int:
    """What a seat puts in at most."""
    raised = sum(count * size for count, size in zip(definition.max_raises, definition.raise_size, strict=True))
    return max(definition.blinds) + raised


def check(deals: int, seed: int) -> None:
    if not 2 <= deals <= MOST_DEALS:
        raise GameError(f"deals={deals} should be 2 to {MOST_DEALS:,}")
    if not 0 <= seed < 1 << 63:
        raise GameError(f"seed={seed} must be a whole number from 0")


def local_bound(
    target: Any,
    deals: int = 1000,
    seed: int = 1,
    boards: int = BOARDS,
    threads: int | None = None,
    on_progress: Callable[[int, Score], None] | None = None,
) -> LocalBound:
    """What a local best response wins, with the target in all other seats: a lower bound on what a best response wins,
    up to its interval.

    deals        each is played from every seat
    boards       ways the board may go on that an equity is taken over; on the last round it is exact
    on_progress  is called with the number of deals and the score so far, each time that a twentieth came to them
    """
    check(deals, seed)
    response, began, stopped = LocalResponse(target, boards), clock(), "done"
    won, done, due = np.zeros((deals, response.machine.players)), 0, 0
    try:
        with closing(in_order(lambda at, count: response.won(seed, at, count), deals, CHUNK, threads)) as chunks:
            for first, some in chunks:
                won[first : first + len(some)] = some
                done = first + len(some)
                if on_progress is not None and done >= due:
                    due = done + done // 20
                    on_progress(done, score_of(won[:done].mean(axis=1)))
    except KeyboardInterrupt:
        stopped = "interrupted"
    won = won[:done]
    by_seat = tuple(score_of(of) for of in won.T)
    return LocalBound(score_of(won.mean(axis=1)), by_seat, done, clock() - began, stopped)
