"""What renamings of suits make of hands on boards (`kibitz/poker/sampled/hands.py`), against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.cards.boards import boards_of, pairs, renamings
from kibitz.poker.sampled.hands import renamed, renamings_of


def by_cards(boards, hole, level, board):
    """Rename the cards of each hand, and look for the hand that holds them."""
    of = boards.rounds[level]
    left = np.setdiff1d(boards.deck, of.cards[board])
    hands = [frozenset(hand) for hand in left[pairs(len(left), hole)].tolist()]
    number = {hand: h for h, hand in enumerate(hands)}
    alone = [names for p, names in enumerate(renamings(boards.suits)) if int(of.group[board]) >> p & 1]
    return [[number[frozenset(int(names[card]) for card in hand)] for hand in hands] for names in alone]


@pytest.mark.parametrize(("cards", "hole"), [((4, 3, (0, 3, 1, 1)), 2), ((3, 2, (0, 1)), 1), ((5, 4, (0, 3, 1)), 2)])
def test_renamed_hands(cards, hole):
    boards, random = boards_of(*cards), np.random.default_rng(1)
    for level, of in enumerate(boards.rounds):
        begin = int(random.integers(0, max(1, len(of.cards) - 12)))
        here = slice(begin, min(begin + 12, len(of.cards)))
        names, at = renamings_of(boards, hole, level, here)
        assert len(at) == here.stop - here.start + 1 and at[0] == 0 and at[-1] == len(names)
        for k, board in enumerate(range(here.start, here.stop)):
            wanted = by_cards(boards, hole, level, board)
            assert renamed(boards, hole, level, board).tolist() == wanted
            assert names[at[k] : at[k + 1]].tolist() == (wanted if len(wanted) > 1 else [])
