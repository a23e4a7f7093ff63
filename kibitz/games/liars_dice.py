"""Liar's Dice for two.

Each rolls their dice in secret. From seat 0, in turns, a player bids "quantity-face", a claim about all dice
on the table ("2-5": at least two fives), or calls the last bid a lie. A bid must be higher than the last:
more dice, or as many of a higher face. The highest face is wild and counts as any. When a bid is called the
dice are shown: the bidder wins one if the claim holds, else the caller does. An infoset reads "1,5:1-2 2-2":
the seat's own dice in order of size, then the bids so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

from kibitz.core.errors import SpecError
from kibitz.games.protocol import CHANCE, TERMINAL, Action, BuiltIn

LIAR = "liar"
MOST = 100  # far beyond what can be laid out or sampled, and lists of bids stay short


class Bids(NamedTuple):
    """Where play stands: all dice rolled so far, seat 0's first, and the bids made."""

    turn: int
    dice: tuple[int, ...]
    last: int  # number of the highest bid, -1 before the first
    bids: tuple[str, ...]


@dataclass(frozen=True)
class LiarsDice(BuiltIn):
    """Liar's Dice: liars_dice(numdice=1, dice_sides=6)."""

    called = "liars_dice"
    players: int = 2
    numdice: int = 1
    dice_sides: int = 6

    def __post_init__(self) -> None:
        if self.players != 2:
            raise SpecError(f"liars_dice is for 2 players; players={self.players} was asked for")
        if not 1 <= self.numdice <= MOST or not 2 <= self.dice_sides <= MOST:
            raise SpecError(
                f"liars_dice needs numdice of 1 to {MOST} and dice_sides of 2 to {MOST}, "
                f"not numdice={self.numdice}, dice_sides={self.dice_sides}"
            )

    def openspiel(self) -> str:
        """The same game's name in OpenSpiel."""
        return f"liars_dice(players={self.players},numdice={self.numdice},dice_sides={self.dice_sides})"

    @cached_property
    def _bids(self) -> tuple[str, ...]:
        """All bids, lowest first."""
        quantities = range(1, self.players * self.numdice + 1)
        faces = range(1, self.dice_sides + 1)
        return tuple(f"{quantity}-{face}" for quantity, face in product(quantities, faces))

    @cached_property
    def _numbers(self) -> dict[Action, int]:
        return {bid: number for number, bid in enumerate(self._bids)}

    def root(self) -> Bids:
        return Bids(CHANCE, (), -1, ())

    def actions(self, state: Bids) -> tuple[str, ...]:
        higher = self._bids[state.last + 1 :]
        return (*higher, LIAR) if state.bids else higher

    def chance(self, state: Bids) -> list[tuple[Action, float]]:
        return [(face, 1 / self.dice_sides) for face in range(1, self.dice_sides + 1)]

    def after(self, state: Bids, action: Action) -> Bids:
        turn, dice, last, bids = state
        if turn == CHANCE:
            dice = (*dice, int(action))
            return Bids(CHANCE if len(dice) < self.players * self.numdice else 0, dice, last, bids)
        if action == LIAR:
            return Bids(TERMINAL, dice, last, bids)
        return Bids((turn + 1) % self.players, dice, self._numbers[action], (*bids, str(action)))

    def infoset(self, state: Bids) -> str:
        own = state.dice[state.turn * self.numdice : (state.turn + 1) * self.numdice]
        return f"{','.join(map(str, sorted(own)))}:{' '.join(state.bids)}"

    @property
    def help(self) -> str:
        dice = f"{self.numdice} dice" if self.numdice > 1 else "a die"
        return (
            f"Each rolls {dice} of {self.dice_sides} sides in secret. A bid such as 2-5 says that there are two fives "
            "or more among all dice.\n"
            f"The highest face, {self.dice_sides}, is wild: it counts as any.\n"
            "In turn each makes a higher bid (more dice, or as many of a higher face) or calls the other a liar.\n"
            "Then the dice are shown: the bidder wins 1 if the bid was true, else the caller does."
        )

    def view(self, state: Bids, seat: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(the seat's dice, all bids); once a bid is called the dice are shown."""

        def rolled(of: int) -> list[str]:
            return [str(die) for die in sorted(state.dice[of * self.numdice : (of + 1) * self.numdice])]

        public = list(state.bids)
        if state.turn == TERMINAL:
            public += [LIAR, *(f"seat {each} shows {' '.join(rolled(each))}" for each in range(self.players))]
        return tuple(rolled(seat)), tuple(public)

    def private(self, infoset: str) -> tuple[str, int]:
        """(dice that the seat holds, 1) of an infoset: there is one round."""
        return infoset.partition(":")[0], 1

    def payoff(self, state: Bids) -> list[float]:
        quantity, face = state.last // self.dice_sides + 1, state.last % self.dice_sides + 1
        count = sum(die in (face, self.dice_sides) for die in state.dice)
        bidder = (len(state.bids) - 1) % self.players
        won = 1.0 if count >= quantity else -1.0
        return [won if seat == bidder else -won for seat in range(self.players)]
