"""The cards of the poker form, compared with an enumeration of all deals."""

from __future__ import annotations

import random
import time
from dataclasses import fields
from fractions import Fraction
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.cards.boards import renamings
from kibitz.core.errors import GameError
from kibitz.poker.endgames.subgame import rounds_left
from kibitz.poker.exact.deal import _round, deal, deal_on, deck_of, least_classes
from kibitz.poker.rules.acpc import RANKED, Definition
from kibitz.poker.rules.rules import strength, text_of


def definition(suits, ranks, hole, board):
    """A game with these cards; its betting does not matter here."""
    n = len(board)
    return Definition(True, 2, n, None, (1, 1), (1,) * n, (0,) * n, (1,) * n, suits, ranks, hole, board)


DECKS = {
    "kuhn": (1, 3, 1, (0,)),
    "leduc": (2, 3, 1, (0, 1)),
    "rhode island of 3 by 2": (2, 3, 1, (0, 1, 1)),
    "rhode island of 2 by 3": (3, 2, 1, (0, 1, 1)),
    "rhode island of 2 by 4": (4, 2, 1, (0, 1, 1)),
    "one suit": (1, 5, 1, (0, 1, 1)),
    "a board before the first round": (3, 2, 1, (1, 1)),
    "two board cards at once": (3, 2, 1, (0, 2)),
    "a round without cards between": (3, 2, 1, (0, 1, 0, 1)),
    "two rounds without cards": (2, 3, 1, (0, 0)),
    "hands of two": (2, 3, 2, (0, 1)),
    "hands of two, three suits": (3, 2, 2, (0, 1)),
    "hands of two, board first": (2, 3, 2, (1,)),
    "hands of two, no board": (3, 2, 2, (0,)),
    "hands of two, flop": (2, 4, 2, (0, 3)),
    "hands of two, four rounds": (4, 2, 2, (0, 3, 0, 0)),
    "hands of two, four suits": (4, 2, 2, (0, 1)),
    "every card dealt": (2, 2, 1, (1, 1)),
}  # fmt: skip


def deals(d, level):
    """Every hand and boards of the rounds 0 to `level`: groups of cards that came together, each in order."""
    deck = [4 * rank + suit for rank in range(13 - d.ranks, 13) for suit in range(d.suits)]
    found = [(hand,) for hand in combinations(deck, d.hole)]
    for cards in d.board[: level + 1]:
        if cards:
            found = [
                (*groups, new)
                for groups in found
                for new in combinations([c for c in deck if not any(c in g for g in groups)], cards)
            ]
    return found


def renamed(groups, names):
    return tuple(tuple(sorted(card - card % 4 + names[card % 4] for card in group)) for group in groups)


def first_renaming(d, groups):
    return min(renamed(groups, names) for names in permutations(range(d.suits)))


def kinds_of(d, level):
    """What tells classes apart -> all deals of the class.

    Deals that differ only by a renaming of suits are one class. In the last round, with hands of one card, boards that
    differ so, hands that were of one class before, and equal strength are enough.
    """
    found = {}
    for groups in deals(d, level):
        kind = first_renaming(d, groups)
        if level == d.rounds - 1 and d.hole == 1:
            before = groups[: len(groups) - (d.board[level] > 0)] if level else ()
            worth = int(strength([card for group in groups for card in group]))
            kind = first_renaming(d, groups[1:]), first_renaming(d, before), worth
        found.setdefault(kind, []).append(groups)
    return found


def text(groups):
    return " ".join(map(text_of, groups))


def check(d):
    """Everything that a Deal says of a small deck, from all deals written out."""
    made = deal(d)
    everyone = comb(d.suits * d.ranks, d.hole)
    assert made.hands == everyone
    assert len(made.rounds) == d.rounds
    assert deck_of(d).tolist() == sorted(d.deck)
    for level, here in enumerate(made.rounds):
        kinds = kinds_of(d, level)
        assert here.classes == len(kinds) == len(here.size) == len(here.share) == here.board_class[-1]
        # Each class is one kind: found by whatever names, and as large as its share says.
        of = {}
        for members in kinds.values():
            classes = {made.find(level, text(groups)) for groups in members}
            assert len(classes) == 1
            (c,) = classes
            assert c not in of
            of[c] = members
            assert here.share[c] * everyone == pytest.approx(len(members), rel=1e-13)
        assert sorted(of) == list(range(here.classes))
        assert here.share.sum() == pytest.approx(len(deals(d, level)) / everyone, rel=1e-13)
        # For one's own hand, the other's hand and the boards have probability 1 in all.
        left, ways = d.suits * d.ranks - d.hole, 1
        for cards in (d.hole, *d.board[: level + 1]):
            ways *= comb(left, cards)
            left -= cards
        assert made.chance[level] == pytest.approx(float(Fraction(1, ways)), rel=1e-14)
        # The other's hand among all that are left after the boards: the shares come to one.
        others = comb(d.suits * d.ranks - d.hole - sum(d.board[: level + 1]), d.hole)
        assert made.chance[level] * others * here.share.sum() == pytest.approx(1.0, rel=1e-13)
        check_round(d, made, level, of)
    return made


def check_round(d, made, level, of):
    """Boards, classes on them, and the way up."""
    here = made.rounds[level]
    sizes = [cards for cards in d.board[: level + 1] if cards]
    boards = {groups[1:] for groups in deals(d, level)}
    deck = set(d.deck)
    assert here.boards.shape == (len(here.boards), sum(sizes))
    assert here.board_class[0] == here.board_hand[0] == 0 and here.board_hand[-1] == len(here.hands)
    stands_for = 0
    for b, board in enumerate(here.boards.tolist()):
        lo, hi = int(here.board_class[b]), int(here.board_class[b + 1])
        first, last = int(here.board_hand[b]), int(here.board_hand[b + 1])
        assert (here.board_of_class[lo:hi] == b).all()
        groups = tuple(tuple(g.tolist()) for g in np.split(np.array(board, int), np.cumsum(sizes)[:-1]) if len(g))
        kinds = {renamed(groups, names) for names in permutations(range(d.suits))}
        assert kinds <= boards
        stands_for += len(kinds)
        # All hands without the board's cards, each once, in the class that `find` says.
        hands = [tuple(hand) for hand in here.hands[first:last].tolist()]
        assert sorted(hands) == sorted(combinations(sorted(deck - set(board)), d.hole))
        for hand, c in zip(hands, here.hand_class[first:last].tolist(), strict=True):
            assert lo <= c < hi
            assert (hand, *groups) in of[c]
        assert np.bincount(here.hand_class[first:last] - lo).tolist() == here.size[lo:hi].tolist()
        for c in range(lo, hi):
            hand = here.hand[c]
            assert (tuple(sorted(hand.tolist())), *groups) in of[c]
            assert here.share[c] / here.size[c] * made.hands == pytest.approx(len(kinds), rel=1e-13)
            written = made.text(level, b, hand)
            assert written == text((tuple(hand.tolist()), *groups))
            assert made.find(level, written) == c
            if level:
                before = written.rsplit(" ", 1)[0] if d.board[level] else written
                assert made.find(level - 1, before) == here.up[c]
        if level:
            above = made.rounds[level - 1].boards[here.above[b]].tolist()
            assert above == board[: len(above)]
            assert sorted({int(made.rounds[level - 1].board_of_class[here.up[c]]) for c in range(lo, hi)}) == [
                here.above[b]
            ]
        if level == d.rounds - 1:
            check_strength(here, b, board)
    assert stands_for == len(boards)
    # Boards of one board before follow one another, and their copies are all that can follow.
    assert (np.diff(here.above) >= 0).all()
    if level:
        left = d.suits * d.ranks - len(made.rounds[level - 1].boards[0])
        follow = np.bincount(here.above, here.copies)
        assert (follow == comb(left, d.board[level])).all()
    else:
        assert here.copies.sum() == comb(d.suits * d.ranks, d.board[0])


def check_strength(here, b, board):
    """low and high count the classes, and hand_low and hand_high the hands, that are beaten and not above."""
    lo, hi = int(here.board_class[b]), int(here.board_class[b + 1])
    first, last = int(here.board_hand[b]), int(here.board_hand[b + 1])
    worth = [int(strength([*hand, *board])) for hand in here.hand[lo:hi].tolist()]
    assert worth == sorted(worth)
    for c, value in enumerate(worth):
        assert here.low[lo + c] == sum(other < value for other in worth)
        assert here.high[lo + c] == sum(other <= value for other in worth)
    worth = [int(strength([*hand, *board])) for hand in here.hands[first:last].tolist()]
    assert worth == sorted(worth)
    for h, value in enumerate(worth):
        assert here.hand_low[first + h] == sum(other < value for other in worth)
        assert here.hand_high[first + h] == sum(other <= value for other in worth)


@pytest.mark.parametrize("name", DECKS)
@pytest.mark.some(7)
def test_every_deal_is_in_the_class_of_its_renamings(name):
    check(definition(*DECKS[name]))


@pytest.mark.parametrize("name", DECKS)
def test_games_have_at_least_the_classes_that_they_are_refused_for(name):
    d = definition(*DECKS[name])
    least = least_classes(d)
    assert len(least) == d.rounds and min(least) >= 1
    for here, most in zip(deal(d).rounds, least, strict=True):
        assert here.classes >= most


@st.composite
def small_decks(draw):
    suits, ranks, hole = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 2))
    board = tuple(draw(st.lists(st.integers(0, 3), min_size=1, max_size=4)))
    return suits, ranks, hole, board


def affordable(deck, most):
    suits, ranks, hole, board = deck
    left = suits * ranks
    if 2 * hole + sum(board) > left or hole + sum(board) not in RANKED:
        return False
    ways = comb(left, hole)
    left -= hole
    for cards in board:
        ways *= comb(left, cards)
        left -= cards
    return ways * factorial(suits) <= most


@settings(max_examples=25, deadline=None, database=None)
@given(small_decks().filter(lambda deck: affordable(deck, 4_000)))
def test_every_deal_of_random_decks(deck):
    check(definition(*deck))


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, database=None)
@given(small_decks().filter(lambda deck: affordable(deck, 20_000)))
def test_every_deal_of_more_random_decks(deck):
    check(definition(*deck))


def test_rhode_island_has_the_classes_of_the_paper():
    made = deal(definition(4, 13, 1, (0, 1, 1)))
    # 13, 325 and 9,997 up to suit isomorphism; of the last, 7,969 differ in what they are worth.
    assert [r.classes for r in made.rounds] == [13, 325, 7_969]
    assert [r.classes for r in deal(definition(4, 13, 1, (0, 1, 1, 0))).rounds[:3]] == [13, 325, 9_997]
    assert [round(r.share.sum() * 52) for r in made.rounds] == [52, 52 * 51, 52 * 51 * 50]


def test_holdem_has_169_hands_and_1286792_on_the_flop():
    d = definition(4, 13, 2, (0, 3))
    made = deal(d)
    assert [r.classes for r in made.rounds] == [169, 1_286_792]
    assert [len(r.boards) for r in made.rounds] == [1, 1_755]
    assert made.rounds[1].share.sum() == pytest.approx(comb(50, 3), rel=1e-12)
    assert sorted(np.unique(made.rounds[0].size).tolist()) == [4.0, 6.0, 12.0]
    assert least_classes(d) == [55, 1_082_900]  # 1326 / 24 and 1326 * 19600 / 24, rounded down
    # A flop of hearts is one of clubs, whatever cards one holds.
    rng = random.Random(5)
    for _ in range(20):
        cards = rng.sample(range(52), 5)
        names = rng.sample(range(4), 4)
        other = [card - card % 4 + names[card % 4] for card in cards]
        one, two = (f"{text_of(five[:2])} {text_of(five[2:])}" for five in (cards, other))
        c = made.find(1, one)
        assert made.find(1, two) == c
        assert made.find(0, one[:4]) == made.rounds[1].up[c]


@pytest.mark.parametrize("name", [name for name in DECKS if any(DECKS[name][3])])
def test_boards_that_lie_there_are_dealt_all_at_once(name):
    """As if board by board: with one renaming, which leaves all as it is."""
    whole = definition(*DECKS[name])
    d = rounds_left(whole, next(level for level, cards in enumerate(whole.board) if cards))
    deck, one = deck_of(d), np.zeros(1, np.int64)
    board = [int(card) for card in deck[::-1][: d.board[0]]]
    boards, before = [(tuple(board), one, 0, 1)], None
    for level, here in enumerate(deal_on(d, board).rounds):
        if level:
            boards = [
                (known + new, one, at, 1)
                for at, (known, *_) in enumerate(boards)
                for new in combinations([int(c) for c in deck if c not in known], d.board[level])
            ]
        ranks = strength if level == d.rounds - 1 else None
        before = _round(deck, boards, [1] * len(boards), renamings(d.suits)[:1], d, before, ranks, False, len(board))
        for field in fields(before):
            mine, slow = getattr(here, field.name), getattr(before, field.name)
            assert mine.dtype == slow.dtype, field.name
            np.testing.assert_array_equal(mine, slow, field.name)


def test_cards_of_a_group_come_in_any_order():
    made = deal(definition(3, 3, 2, (0, 3)))
    c = made.find(1, "AdKc QhQcKh")
    for hand, board in [("KcAd", "KhQhQc"), ("AcKd", "QhQdKh"), ("AhKc", "QdQcKd")]:
        assert made.find(1, f"{hand} {board}") == c
    assert made.find(1, "AdKd QhQcKh") != c


@pytest.mark.parametrize(
    ("level", "wrong"),
    [
        (0, ""), (0, "Ad Kd"), (0, "AdKd"), (0, "2c"), (0, "As"), (0, "Zz"), (0, "A"), (0, "ad"), (0, "Adx"),
        (1, "Ad"), (1, "Ad Ad"), (1, "Ad Kd Qd"), (1, "AdKd"), (1, "Ad 2d"), (1, "Ad Ks"), (1, "Ad K"), (1, "Ad ♥"),
    ],
)  # fmt: skip
def test_wrong_cards_are_refused(level, wrong):
    made = deal(definition(2, 3, 1, (0, 1)))  # cards from queens up, clubs and diamonds
    with pytest.raises(GameError, match="hand and board"):
        made.find(level, wrong)


def test_hands_of_three_are_refused():
    with pytest.raises(GameError, match="hands of 3 cards"):
        deal(definition(2, 5, 3, (0,)))


def test_boards_that_take_too_long_are_refused():
    """Few classes may come of many boards: what counts is how many have to be enumerated."""
    many = Definition(True, 2, 2, None, (1, 1), (1, 1), (0, 0), (0, 0), 4, 13, 1, (0, 6))
    began = time.process_time()
    with pytest.raises(GameError, match="boards would have to be enumerated"):
        deal(many)
    assert time.process_time() - began < 20.0
