"""How large a poker game is, counted by its betting and its cards: nothing is laid out, so any size has an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np

from kibitz.cards.isomorphism import MOST_CARDS, Indexer
from kibitz.core.errors import GameError
from kibitz.poker.rules import rounds
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import BettingTree

FULL_DECK = 52


@dataclass(frozen=True)
class PokerSize:
    """Counts by round, for all seats together; what is not known is None."""

    hands: list[int]  # private cards and board that one seat can see
    classes: list[int] | None  # the same, suit-isomorphic ones counted once; of the whole deck alone
    decisions: list[int] | None  # ways of betting after which somebody acts; None: too many to count

    @property
    def infosets(self) -> int | None:
        return None if self.decisions is None else _dot(self.decisions, self.hands)

    @property
    def infosets_up_to_suits(self) -> int | None:
        return None if self.decisions is None or self.classes is None else _dot(self.decisions, self.classes)


def counts_of(known: Definition, betting: Callable[[], BettingTree]) -> PokerSize:
    """The counts of a poker game. betting: lays its betting tree out, where that is not counted by rounds."""
    left, hands = known.ranks * known.suits - known.hole, [comb(known.ranks * known.suits, known.hole)]
    for number, cards in enumerate(known.board):
        so_far = hands[-1] * comb(left, cards)
        left -= cards
        hands = [so_far] if number == 0 else [*hands, so_far]
    return PokerSize(hands, _classes(known), _decisions(known, betting))


def _classes(known: Definition) -> list[int] | None:
    if known.ranks * known.suits != FULL_DECK or known.shown > MOST_CARDS:
        return None
    dealt = [[known.hole, *(cards for cards in known.board[: level + 1] if cards)] for level in range(known.rounds)]
    return [Indexer(cards).size for cards in dealt]


def _decisions(known: Definition, betting: Callable[[], BettingTree]) -> list[int] | None:
    if rounds.fits(known):
        return [int(count) for count in rounds.rounds_of(known).decisions]
    try:
        tree = betting()
    except GameError:
        return None
    return [int(count) for count in np.bincount(tree.round[tree.turn >= 0], minlength=known.rounds)]


def _dot(one: list[int], two: list[int]) -> int:
    return sum(a * b for a, b in zip(one, two, strict=True))
