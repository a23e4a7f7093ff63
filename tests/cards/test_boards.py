"""Boards up to suit isomorphism, and hands found on them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.cards.boards import boards_of, pairs, renamings
from kibitz.core.errors import GameError
from kibitz.games import game
from kibitz.poker.exact.deal import deal


def test_hold_em_has_the_known_numbers() -> None:
    made = boards_of(13, 4, (0, 3, 1, 1))
    assert [len(r.cards) for r in made.rounds] == [1, 1755, 63193, 2554656]
    deals = [1, math.comb(52, 3), math.comb(52, 3) * 49, math.comb(52, 3) * 49 * 48]
    assert [int(r.total.sum()) for r in made.rounds] == deals


@pytest.mark.parametrize("name", ["rhode_island", "poker(file=leduc)", "poker(file=kuhn)"])
def test_they_are_the_boards_of_the_poker_form(name: str) -> None:
    definition = game(name).definition  # type: ignore[attr-defined]
    made = boards_of(definition.ranks, definition.suits, definition.board)
    for mine, theirs in zip(made.rounds, deal(definition).rounds, strict=True):
        assert (mine.cards == theirs.boards).all()
        assert (mine.above == theirs.above).all()


@settings(max_examples=examples(60), deadline=None, database=None)
@given(st.data())
def test_a_hand_is_found_by_any_names_of_suits(data: st.DataObject) -> None:
    ranks, suits, hole = data.draw(st.integers(3, 5)), data.draw(st.integers(2, 4)), data.draw(st.integers(1, 2))
    board = data.draw(st.sampled_from([(0, 1), (0, 2, 1), (1, 1), (0, 0, 2)]))
    made = boards_of(ranks, suits, board)
    level = data.draw(st.integers(0, len(board) - 1))
    number = data.draw(st.integers(0, len(made.rounds[level].cards) - 1))
    if made.live(level) < hole:
        return
    hands = made.hands_on(level, number, hole)
    assert len(hands) == made.hands(level, hole)
    shown = np.repeat(made.rounds[level].cards[number][None], len(hands), axis=0)
    names = renamings(suits)
    renamed = names[data.draw(st.integers(0, len(names) - 1))]
    moved = renamed[np.concatenate((hands[:, ::-1], shown), axis=1)]
    at, hand = made.find(level, moved, hole)
    assert (at == number).all()
    # The hand that is found is the given one under a renaming that leaves the board alone.
    group = int(made.rounds[level].group[number])
    keeps = [p for p in range(len(names)) if group >> p & 1]
    images = [np.sort(names[p][hands], axis=1) for p in keeps]
    assert all(any((image[i] == hands[hand[i]]).all() for image in images) for i in range(len(hands)))


def test_hands_are_in_order() -> None:
    assert pairs(5, 2).tolist() == [list(pair) for pair in combinations(range(5), 2)]


def test_too_many_boards_are_refused() -> None:
    with pytest.raises(GameError, match="smaller deck"):
        boards_of(13, 4, (0, 3, 3, 3))
