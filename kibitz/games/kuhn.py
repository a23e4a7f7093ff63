"""Kuhn poker, for two players or more.

The deck has one card more than there are players, all of different rank. Each antes one chip and is dealt one
card; then, from seat 0, each may pass or bet one chip. After the first bet each of the others, in turn, may
bet (call) or pass (fold), and the hand is over; if all pass there is a showdown for the antes. The highest
card among those who bet, or among all if nobody did, takes the pot. [Kuhn 1950; for more players Abou Risk &
Szafron 2010.] An infoset reads "K:pb": the seat's card, then what was done, p for pass and b for bet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kibitz.core.errors import SpecError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, BuiltIn

ACTIONS = ("pass", "bet")


def rank_names(count: int) -> str:
    """The letters of `count` ranks, lowest first: J, Q, K, A for up to four, else the top of 2 to A."""
    return "JQKA"[:count] if count <= 4 else "23456789TJQKA"[-count:]


class KuhnHand(NamedTuple):
    """Where a hand stands: the cards dealt so far, by seat, and the letters of what was done."""

    turn: int
    cards: tuple[int, ...]
    done: str


@dataclass(frozen=True)
class Kuhn(BuiltIn):
    """Kuhn poker: kuhn(players=2)."""

    called = "kuhn"
    players: int = 2

    def __post_init__(self) -> None:
        if not 2 <= self.players <= 10:
            raise SpecError(f"kuhn is for 2 to 10 players; players={self.players} was asked for")

    def openspiel(self) -> str:
        """The same game's name in OpenSpiel."""
        return f"kuhn_poker(players={self.players})"

    def root(self) -> KuhnHand:
        return KuhnHand(CHANCE, (), "")

    def actions(self, state: KuhnHand) -> tuple[str, ...]:
        return ACTIONS

    def chance(self, state: KuhnHand) -> list[tuple[Action, float]]:
        names = rank_names(self.players + 1)
        left = [name for card, name in enumerate(names) if card not in state.cards]
        return [(name, 1 / len(left)) for name in left]

    def after(self, state: KuhnHand, action: Action) -> KuhnHand:
        if state.turn == CHANCE:
            cards = (*state.cards, rank_names(self.players + 1).index(str(action)))
            return KuhnHand(CHANCE if len(cards) < self.players else 0, cards, "")
        done = state.done + str(action)[0]
        first_bet = done.find("b")
        # The seats after the first bettor, all the way round to the one before it, each answer once.
        over = len(done) == self.players if first_bet < 0 else len(done) == self.players + first_bet
        return KuhnHand(TERMINAL if over else len(done) % self.players, state.cards, done)

    def infoset(self, state: KuhnHand) -> str:
        return f"{rank_names(self.players + 1)[state.cards[state.turn]]}:{state.done}"

    @property
    def help(self) -> str:
        return (
            f"Each antes one chip and gets one card of {' '.join(rank_names(self.players + 1))}, low to high.\n"
            "In turn each passes or bets one chip. After a bet each of the others bets, which is to call, or passes, "
            "which is to fold.\nThe highest card among those who bet takes the pot, or among all if nobody did."
        )

    def view(self, state: KuhnHand, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(the seat's card, what was done by all); at a showdown the cards of those in it are shown."""
        names = rank_names(self.players + 1)
        own = (names[state.cards[seat]],) if seat < len(state.cards) else ()
        public = ["pass" if letter == "p" else "bet" for letter in state.done]
        if state.turn == TERMINAL:
            bettors = {i % self.players for i, letter in enumerate(state.done) if letter == "b"}
            shown = sorted(bettors or range(self.players))
            public += [f"seat {each} shows {names[state.cards[each]]}" for each in shown if len(shown) > 1]
        return own, tuple(public)

    def hand(self, infoset: str) -> tuple[str, str, str]:
        """(card, "", betting) of an infoset: what card abstractions read."""
        card, _, betting = infoset.partition(":")
        return card, "", betting

    def private(self, infoset: str) -> tuple[str, int]:
        """(card that the seat holds, betting round) of an infoset."""
        return infoset.partition(":")[0], 1

    def payoff(self, state: KuhnHand) -> list[float]:
        bettors = {i % self.players for i, letter in enumerate(state.done) if letter == "b"}
        paid = [2 if seat in bettors else 1 for seat in range(self.players)]
        winner = max(bettors or range(self.players), key=state.cards.__getitem__)
        return [float(sum(paid) * (seat == winner) - paid[seat]) for seat in range(self.players)]
