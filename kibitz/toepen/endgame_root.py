"""The root of an endgame: the public state at the start of a trick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kibitz.toepen.endgame import ToepenEndgame
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NUMBERS, events, mask_of


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
    leader, ante, bettor, plays = 0, 1, -1, 0
    shown, before = [0, 0], []
    for event in events(history):
        if plays == 2 * trick:
            break
        before.append(event.word)
        if event.word == "bet":
            bettor = event.seat
        elif event.word == "call":
            ante += 1
        elif event.word in NUMBERS:
            shown[event.seat] |= 1 << NUMBERS[event.word]
            plays += 1
            leader = leader if event.taken < 0 else event.taken
    unplayed = mask_of(rules.deck) & ~shown[0] & ~shown[1]
    return EndgameRoot(tuple(before), trick, leader, ante, bettor, unplayed, (shown[0], shown[1]))
