"""Three hands before the flop: counts of a board against all its triples, and the table against that of two hands."""

from __future__ import annotations

import threading
from itertools import combinations, permutations

import numba
import numpy as np
import pytest

from kibitz import cards
from kibitz.cards import tables
from kibitz.cards.holdem import class_names, classes
from kibitz.cards.kernels import three as kernels
from kibitz.cards.recipes import all_recipes, board_weights, class_of, recipe, triples_recipe
from kibitz.cards.triples import BOARDS, DEALS, orders, triples, triples_of_hands
from kibitz.core.errors import GameError
from kibitz.poker.tournaments import pushfold

MADE = tables.state(triples_recipe()) == "made"


@numba.njit
def every_triple(value, number, low, high, strict, top, bottom):
    """From the definition: all triples of hands of a board that share no card."""
    for i in range(len(value)):
        for j in range(len(value)):
            if value[i] < value[j] or low[i] == low[j] or low[i] == high[j] or high[i] == low[j] or high[i] == high[j]:
                continue
            if value[i] == value[j] and i >= j:
                continue
            for k in range(len(value)):
                if value[j] < value[k] or low[k] == low[j] or low[k] == high[j] or high[k] == low[j]:
                    continue
                if high[k] == high[j] or low[i] == low[k] or low[i] == high[k] or high[i] == low[k]:
                    continue
                if high[i] == high[k]:
                    continue
                if value[i] > value[j] and value[j] > value[k]:
                    strict[number[i], number[j], number[k]] += 1
                elif value[i] == value[j] and value[j] > value[k]:
                    a, b = min(number[i], number[j]), max(number[i], number[j])
                    top[b * (b + 1) // 2 + a, number[k]] += 1
                elif value[i] > value[j] and value[j] == value[k] and j < k:
                    a, b = min(number[j], number[k]), max(number[j], number[k])
                    bottom[b * (b + 1) // 2 + a, number[i]] += 1


def counted(board, weight=1):
    new = kernels.empty()
    kernels.add_boards(np.array([board], np.uint8), np.array([weight]), class_of(), new)
    found = {name: np.zeros(shape, dtype) for name, (dtype, shape) in triples_recipe().arrays.items()}
    kernels.add_up(new, *found.values())
    return found


@pytest.mark.parametrize(
    "board",
    [*(pytest.param(board, marks=pytest.mark.slow) for board in ("Ah Kd 7s 4c 2h", "Ts 9s 8s 4d 2s", "Ah Kh Qh Jh Th")),
     "Qs Qd 8c 8h 3s", "7c 7d 7h 7s 2c"],
)
def test_a_board_against_all_its_triples(board):
    shown = cards.parse(board)
    live = [card for card in range(52) if card not in shown]
    hands = np.array([(a, b) for b in live for a in live if a < b])
    value = cards.evaluate(np.hstack((hands, np.tile(shown, (len(hands), 1)))))
    number = class_of()[hands[:, 1] * (hands[:, 1] - 1) // 2 + hands[:, 0]].astype(np.int64)
    expected = {name: np.zeros_like(array) for name, array in counted(shown).items()}
    every_triple(value, number, hands[:, 0], hands[:, 1], *expected.values())
    for name, array in counted(shown, 3).items():
        np.testing.assert_array_equal(array, 3 * expected[name], name)


def test_in_how_many_ways_three_classes_are_dealt():
    """Against hands that are dealt one by one, for some classes."""
    ways, number = triples_of_hands(), class_of().astype(np.int64)
    hands = [(a, b) for b in range(52) for a in range(b)]
    of = [[set(hands[h]) for h in np.flatnonzero(number == k)] for k in range(169)]
    drawn = np.random.default_rng(0)
    for a, b, c in [*drawn.integers(0, 169, (20, 3)).tolist(), (0, 0, 0), (5, 5, 80)]:
        found = sum(not (x & y or x & z or y & z) for x in of[a] for y in of[b] for z in of[c])
        assert ways[a, b, c] == found
    assert ways.sum() == DEALS
    for order in permutations(range(3)):
        assert (ways.transpose(order) == ways).all()


def test_a_piece_of_the_table():
    """What pieces add up, and that a board counts as often as it is renamed."""
    made = recipe("triples")
    assert made.sums and made.name not in [each.name for each in all_recipes()], "made only where it is asked for"
    assert board_weights().sum() == 2_598_960
    arrays = {name: np.zeros(shape, dtype) for name, (dtype, shape) in made.arrays.items()}
    assert callable(made.make(arrays, threading.Lock()))


def test_names_of_hands_are_checked():
    with pytest.raises(GameError, match="AKs, AKo or QQ"):
        orders("AK", "QQ", "JJ")


@pytest.mark.skipif(not MADE, reason="the table of three hands takes some twenty minutes of a core")
def test_the_table_agrees_with_that_of_two_hands():
    """Over all third hands, who beats whom is what two hands have, times the hands that the third can be."""
    strict, top, bottom, tie = triples()
    two = classes()
    wins = strict.sum(axis=2) + strict.sum(axis=1) + strict.sum(axis=0) + top.sum(axis=1) + bottom.sum(axis=1).T
    np.testing.assert_array_equal(wins, 903 * two.wins)
    np.testing.assert_array_equal(top.sum(axis=2) + bottom.sum(axis=2) + tie.sum(axis=2), 903 * two.ties)
    assert tie.min() >= 0
    found = orders("AA", "AKs", "72o")
    number = [two.names.index(name) for name in ("AA", "AKs", "72o")]
    assert len(found) == 13 and sum(found.values()) == triples_of_hands()[tuple(number)] * BOARDS


@pytest.mark.slow
@pytest.mark.skipif(not MADE, reason="the table of three hands takes some twenty minutes of a core")
def test_the_table_against_plain_enumeration():
    """Random triples of classes: all their hands up to suits, all boards."""
    drawn, names = np.random.default_rng(1), classes().names
    number = class_of().astype(np.int64)
    hands = np.array([(a, b) for b in range(52) for a in range(b)])
    places = np.array(list(combinations(range(46), 5)))
    for a, b, c in drawn.integers(0, 169, (2, 3)).tolist():
        found = np.zeros(27, np.int64)
        first = hands[np.flatnonzero(number == a)[0]]  # the others are the same up to suits
        for second in hands[number == b]:
            for third in hands[number == c]:
                held = {*first.tolist(), *second.tolist(), *third.tolist()}
                if len(held) < 6:
                    continue
                boards = np.array([card for card in range(52) if card not in held], np.uint8)[places]
                one, two, three = (
                    cards.evaluate(np.hstack((np.broadcast_to(hand.astype(np.uint8), (len(boards), 2)), boards)))
                    for hand in (first, second, third)
                )
                ranks = [  # how many different hands are better
                    (mine < x).astype(np.int64) + ((mine < y) & (x != y))
                    for mine, x, y in ((one, two, three), (two, one, three), (three, one, two))
                ]
                found += np.bincount(9 * ranks[0] + 3 * ranks[1] + ranks[2], minlength=27)
        found *= int((number == a).sum())
        expected = orders(names[a], names[b], names[c])
        for (x, y, z), count in expected.items():
            assert found[9 * x + 3 * y + z] == count, (names[a], names[b], names[c], (x, y, z))
        assert found.sum() == sum(expected.values())


@pytest.mark.slow
@pytest.mark.skipif(not MADE, reason="the table of three hands is not made: kibitz poker cards build --only triples")
def test_charts_for_three_have_no_hands_the_wrong_way_round():
    """With all cards counted a better suited king is jammed at least as often, and a better suited ace called with."""
    found = pushfold([12, 8, 20], prizes=[50, 30, 20])
    assert found.deals == 0 and found.measured.gain == found.measured.above < 1e-3 * 50
    kings, aces = (np.array([class_names().index(f"{high}{low}s") for low in "23456789T"]) for high in "KA")
    first, facing_two = found.charts[0].jams, found.charts[-1].jams
    assert (np.diff(first[kings]) > -0.05).all()
    assert facing_two[class_names().index("74s")] == 0.0 < facing_two[aces[-1]]
