"""Leduc hold'em, for two players or more, with any small deck.

Each antes and is dealt one private card; there is a betting round, one board card is turned, and there is a
second betting round. A round starts with the lowest seat still in and goes clockwise until all have answered
the last raise; fold is legal only when facing a bet, and a round has at most `cap` bets and raises, of the
size `bets` names for it. At the showdown a card that pairs the board wins, else the highest; ties split the
pot. [Southey et al. 2005; for three players Gibson & Szafron 2011, who share the same six cards.]

An infoset reads "Js:cr" before the board and "JsKh:crc/r" after it: the private card, the board card, then
the letters of what was done: f for fold, c for check or call, r for bet or raise, "/" where the board came.
With `suit_isomorphism` cards have no suits: "J:cr", "JK:crc/r", and a deal's chance counts the suits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.games.kuhn import rank_names
from kibitz.games.protocol import CHANCE, TERMINAL, Action, BuiltIn

SUITS = "shdc"


class LeducHand(NamedTuple):
    """Where a hand stands. `waiting` counts the seats that must still act before the round is over."""

    turn: int
    cards: tuple[int, ...]  # private cards by seat, then the board; rank * suits + suit, or the rank alone
    done: str
    paid: tuple[int, ...]  # chips in the pot, by seat
    live: tuple[bool, ...]  # False for the seats that folded
    raises: int
    waiting: int


@dataclass(frozen=True)
class Leduc(BuiltIn):
    """Leduc hold'em: leduc(players=2, ranks=3, suits=2, ante=1, bets=[2, 4], cap=2, ...)."""

    called = "leduc"
    players: int = 2
    ranks: int = 3
    suits: int = 2
    ante: int = 1
    bets: tuple[int, ...] = (2, 4)
    cap: int = 2
    suit_isomorphism: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "bets", tuple(self.bets))
        if not 1 <= self.ranks <= 13 or not 1 <= self.suits <= 4:
            raise SpecError(
                f"leduc's deck has 1 to 13 ranks and 1 to 4 suits, not ranks={self.ranks}, suits={self.suits}"
            )
        if self.players < 2:
            raise SpecError(f"leduc is for 2 players or more; players={self.players} was asked for")
        if self.players + 1 > self.ranks * self.suits:
            raise SpecError(
                f"leduc(players={self.players}) needs {self.players + 1} cards, one for each player and one "
                f"for the board, but ranks={self.ranks} and suits={self.suits} make {self.ranks * self.suits}"
            )
        if len(self.bets) != 2 or not all(type(bet) is int and bet > 0 for bet in self.bets):
            shown = specs.show(self.bets)
            raise SpecError(f"leduc: bets={shown} should be two whole numbers above 0, such as [2, 4]")
        if self.ante < 1 or self.cap < 0:
            raise SpecError(f"leduc: ante={self.ante} should be 1 or more and cap={self.cap} 0 or more")

    def openspiel(self) -> str:
        """The same game's name in OpenSpiel, whose deck has two suits and one rank more than players."""
        same = Leduc(self.players, self.players + 1, suit_isomorphism=self.suit_isomorphism)
        if self != same:
            raise GameError(f"OpenSpiel has no {self.spec}; the nearest that it has is {same.spec}")
        isomorphism = str(self.suit_isomorphism).lower()
        return f"leduc_poker(players={self.players},suit_isomorphism={isomorphism})"

    @cached_property
    def _names(self) -> tuple[str, ...]:
        """The cards' names, by their numbers in a state."""
        suits = [""] if self.suit_isomorphism else SUITS[: self.suits]
        return tuple(rank + suit for rank in rank_names(self.ranks) for suit in suits)

    @cached_property
    def _numbers(self) -> dict[Action, int]:
        return {name: number for number, name in enumerate(self._names)}

    @property
    def help(self) -> str:
        first, second = self.bets
        return (
            f"Each antes {self.ante} and gets one card of a deck of {self.ranks} ranks, low to high "
            f"{' '.join(rank_names(self.ranks))}, in {self.suits} suit{'s' * (self.suits > 1)}.\n"
            "A round of betting, a card on the board, and a second round. A call without a bet is a check.\n"
            f"A raise adds {first} in the first round and {second} in the second; a round has up to {self.cap}.\n"
            "A card that pairs the board wins, else the highest; ties split the pot."
        )

    def view(self, state: LeducHand, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(the seat's card, what was done by all, and the board); at a showdown the cards of those in it are shown."""
        names, players = self._names, self.players
        public: list[str] = []
        for letter in state.done:
            public.append({"f": "fold", "c": "call", "r": "raise"}[letter] if letter != "/" else names[state.cards[-1]])
        if state.turn == TERMINAL and state.live.count(True) > 1:
            public += [f"seat {each} shows {names[state.cards[each]]}" for each in range(players) if state.live[each]]
        own = (names[state.cards[seat]],) if seat < min(len(state.cards), players) else ()
        return own, tuple(public)

    def root(self) -> LeducHand:
        return LeducHand(CHANCE, (), "", (self.ante,) * self.players, (True,) * self.players, 0, self.players)

    def actions(self, state: LeducHand) -> tuple[str, ...]:
        may_raise = state.raises < self.cap
        if state.raises:  # a seat to act has not answered the last raise: it faces a bet
            return ("fold", "call", "raise") if may_raise else ("fold", "call")
        return ("call", "raise") if may_raise else ("call",)

    def chance(self, state: LeducHand) -> list[tuple[Action, float]]:
        left = self.ranks * self.suits - len(state.cards)
        copies = self.suits if self.suit_isomorphism else 1
        return [
            (name, remaining / left)
            for card, name in enumerate(self._names)
            if (remaining := copies - state.cards.count(card))
        ]

    def after(self, state: LeducHand, action: Action) -> LeducHand:
        turn, cards, done, paid, live, raises, waiting = state
        if turn == CHANCE:
            cards = (*cards, self._numbers[action])
            if len(cards) < self.players:
                return LeducHand(CHANCE, cards, done, paid, live, 0, waiting)
            board = "/" if len(cards) > self.players else ""
            return LeducHand(live.index(True), cards, done + board, paid, live, 0, live.count(True))
        if action == "fold":
            live = (*live[:turn], False, *live[turn + 1 :])
            waiting -= 1
            done += "f"
            if live.count(True) == 1:
                return LeducHand(TERMINAL, cards, done, paid, live, raises, 0)
        elif action == "call":
            paid = (*paid[:turn], max(paid), *paid[turn + 1 :])
            waiting -= 1
            done += "c"
        else:
            bet = self.bets[len(cards) - self.players]
            paid = (*paid[:turn], max(paid) + bet, *paid[turn + 1 :])
            waiting = live.count(True) - 1
            raises += 1
            done += "r"
        if not waiting:
            return LeducHand(TERMINAL if len(cards) > self.players else CHANCE, cards, done, paid, live, raises, 0)
        turn = (turn + 1) % self.players
        while not live[turn]:
            turn = (turn + 1) % self.players
        return LeducHand(turn, cards, done, paid, live, raises, waiting)

    def infoset(self, state: LeducHand) -> str:
        own = self._names[state.cards[state.turn]]
        board = self._names[state.cards[-1]] if len(state.cards) > self.players else ""
        return f"{own}{board}:{state.done}"

    def hand(self, infoset: str) -> tuple[str, str, str]:
        """(private card, board card or "", betting) of an infoset: what card abstractions read."""
        cards, _, betting = infoset.partition(":")
        size = 1 if self.suit_isomorphism else 2
        return cards[:size], cards[size:], betting

    def private(self, infoset: str) -> tuple[str, int]:
        """(rank that the seat holds, betting round) of an infoset."""
        card, board, _ = self.hand(infoset)
        return card[0], 2 if board else 1

    def payoff(self, state: LeducHand) -> list[float]:
        cards, paid, live = state.cards, state.paid, state.live
        seats = [seat for seat in range(self.players) if live[seat]]
        if len(seats) > 1:
            suits = 1 if self.suit_isomorphism else self.suits
            board = cards[-1] // suits
            # A pair beats any rank; the board is shared, so without one the private card alone decides.
            ranks = [card // suits for card in cards[: self.players]]
            strength = [self.ranks if rank == board else rank for rank in ranks]
            best = max(strength[seat] for seat in seats)
            seats = [seat for seat in seats if strength[seat] == best]
        share = sum(paid) / len(seats)
        return [share * (seat in seats) - paid[seat] for seat in range(self.players)]
