"""The root of an endgame: the public state at the start of a trick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kibitz.toepen.endgame import ToepenEndgame
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NUMBERS, takes
from kibitz.toepen.words import mask_of


@dataclass(frozen=True)
class EndgameRoot:
    """A public state at the start of a trick."""

    history: tuple[str, ...]
    trick: int  # 0 is the first
    leader: int
    ante: int
    last_bettor: int  # -1: nobody
    unplayed: int  # cards that nobody has played, as bits
    shown: tuple[int, int]  # cards that each seat has played

    def endgame(self, rules: Toepen) -> ToepenEndgame:
        """What is left of the hand, before it is solved."""
        cards = rules.hand - self.trick
        return ToepenEndgame(self.unplayed, cards, self.leader, self.ante, self.last_bettor, rules=rules)


def tricks_in(history: Sequence[str]) -> int:
    """How many tricks were played to their end."""
    return sum(word in NUMBERS for word in history) // 2


def root_of(rules: Toepen, history: Sequence[str], trick: int) -> EndgameRoot:
    """The start of a trick in a public history that goes so far, or further."""
    leader, ante, bettor, turn = 0, 1, -1, 0
    shown = [0, 0]
    plays: list[int] = []
    before: list[str] = []
    for word in history:
        if len(plays) == 2 * trick:
            break
        before.append(word)
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
    unplayed = mask_of(rules.deck) & ~shown[0] & ~shown[1]
    return EndgameRoot(tuple(before), trick, leader, ante, bettor, unplayed, (shown[0], shown[1]))
