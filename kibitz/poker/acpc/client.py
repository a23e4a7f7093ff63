"""One who plays in a match elsewhere, by the ACPC protocol: an agent of kibitz at the end of a connection.

The agent is asked with the same View as in kibitz's own matches, and its random choice is drawn with the same numbers,
which depend on the seed, the deal and the number of the decision alone. With the seed of a dealer of ours a match over
the wire is the match in one process, hand for hand.

Nothing illegal is ever sent: an action is one that the rules offer. Where a strategy does not answer it calls.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from kibitz.evaluate.match import Agent, draws, seatings_of
from kibitz.games.machine import Machine
from kibitz.games.protocol import TERMINAL
from kibitz.games.views import view_of
from kibitz.poker.acpc.seats import Once, choose
from kibitz.poker.acpc.states import LETTERS, VERSION, MatchState, ProtocolError, parse, state_of
from kibitz.poker.acpc.wire import Closed, Connection, Late
from kibitz.poker.rules.rules import Poker

WAIT = 600.0  # seconds for the next message
MOST_COMMENTS = 100_000  # of a dealer, in a match


@dataclass
class ClientTally:
    """How a match went for one player."""

    hands: int = 0
    total: float = 0.0  # chips, of the hands whose end is known
    untold: int = 0  # hands whose showdown did not show all cards
    ended: bool = True  # the dealer left between two hands
    seconds: float = 0.0


class Client:
    """An agent in a match elsewhere.

    seed       of the numbers that choices are drawn with; None: one that no opponent can guess
    duplicate  the dealer plays each deal in all seatings, one after another (for the number of the deal)
    """

    def __init__(
        self, rules: Poker, machine: Machine, agent: Agent, seed: int | None = None, duplicate: bool = False,
        note: Callable[[str], None] = lambda sentence: None,
    ) -> None:  # fmt: skip
        self.rules, self.machine, self.agent = rules, machine, agent
        self.seed = secrets.randbits(63) if seed is None else seed
        self.seatings = len(seatings_of(machine.players)) if duplicate else 1
        self._silent, self._strange = Once(note), Once(note)
        self.tally = ClientTally()
        self._hand: tuple[int, int] | None = None  # number and seat of the hand that is played
        self._over = True
        self._numbers: list[float] = []

    def play(
        self, connection: Connection, wait: float = WAIT, on_hand: Callable[[ClientTally], None] | None = None
    ) -> ClientTally:
        """Play until the dealer leaves. wait: seconds for its next message."""
        began, comments = time.monotonic(), 0
        connection.send(VERSION)
        while True:
            try:
                line = connection.line(time.monotonic() + wait)
                if not line or line[0] in "#;":
                    comments += 1
                    if comments > MOST_COMMENTS:
                        raise ProtocolError(f"the dealer sent more than {MOST_COMMENTS:,} comments: it plays no match")
                else:
                    played = self.tally.hands
                    answer = self.answer(line)
                    if answer is not None:
                        connection.send(answer)
                    if on_hand is not None and self.tally.hands > played:
                        on_hand(self.tally)
            except Late:
                raise ProtocolError(
                    f"the dealer has said nothing for {wait:g} seconds, after {self.tally.hands:,} hands; --wait is "
                    "how long it may"
                ) from None
            except Closed:
                break
        self.tally.ended, self.tally.seconds = self._over, time.monotonic() - began
        return self.tally

    def answer(self, line: str) -> str | None:
        """What is sent back for a line of the dealer, if anything."""
        try:
            message = parse(self.rules, line)
        except ProtocolError as error:
            spec = getattr(self.rules, "spec", "") or "this game"
            raise ProtocolError(f"the dealer plays no {spec}: {error}; name its game by --game") from None
        rules, seat, state = self.rules, message.position, state_of(self.rules, message)
        if (message.hand, seat) != self._hand:
            self._hand, self._over, self._numbers = (message.hand, seat), False, []
            self.agent.begin(seat)
        turn = rules.turn(state)
        if turn == TERMINAL:
            self._end(message, state)
        if turn != seat:
            return None
        decision = sum(map(len, message.betting))
        action = choose(self.agent, view_of(rules, state, seat), self._number(message.hand, decision), self._silent)
        return f"{line}:{LETTERS.get(action, action)}"

    def _number(self, hand: int, decision: int) -> float:
        """The number that a match of ours draws for a decision of a hand."""
        if len(self._numbers) <= decision:
            begin = self.machine.hand(self.seed, hand // self.seatings).after
            self._numbers = list(islice(draws(begin), 2 * decision + 8))
        return self._numbers[decision]

    def _end(self, message: MatchState, state: Any) -> None:
        if self._over:
            return
        self._over = True
        self.tally.hands += 1
        payoff = self._payoff(message, state)
        if payoff is None:
            self.tally.untold += 1
            self._strange("the dealer does not show all cards of a showdown: such hands are not in the total")
            return
        self.tally.total += payoff
        self.agent.end(view_of(self.rules, state, message.position), payoff)

    def _payoff(self, message: MatchState, state: Any) -> float | None:
        """What the hand brought; None if that depends on cards that were not shown."""
        folded = state.bets.folded
        if sum(folded) < len(folded) - 1:
            if not all(cards or gone for cards, gone in zip(message.hole, folded, strict=True)):
                return None
            # Those who folded have no part in the pot, but the rules ask for their cards: any that are left will do.
            seen = {card for cards in (*message.hole, *message.board) for card in cards}
            left = [card for card in self.rules.definition.deck if card not in seen]
            size = self.rules.definition.hole
            filled = tuple(cards or tuple(left[k * size : (k + 1) * size]) for k, cards in enumerate(message.hole))
            state = state._replace(hole=filled)
        return float(self.rules.payoff(state)[message.position])
