"""Cards: exhaustive counts, twins written from the definitions, and hands up to the names of suits."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz import cards
from kibitz.cards.kernels.ranking import categories
from kibitz.core.errors import GameError

FIVE = [40, 624, 3744, 5108, 10200, 54912, 123552, 1098240, 1302540]  # straight flush first
SEVEN = [41584, 224848, 3473184, 4047644, 6180020, 6461620, 31433400, 58627800, 23294460]


def of_five(hand):
    """(category, ranks in the order in which they count) of five cards, from the rules of poker."""
    ranks = Counter(card // 4 for card in hand)
    groups = sorted(ranks.items(), key=lambda item: (-item[1], -item[0]))
    shape, order = [n for _, n in groups], [rank for rank, _ in groups]
    flush = len({card % 4 for card in hand}) == 1
    high = sorted(ranks, reverse=True)
    top = None
    if len(high) == 5:
        top = high[0] if high[0] - high[4] == 4 else 3 if high == [12, 3, 2, 1, 0] else None
    if top is not None:
        return (8 if flush else 4), [top]
    for kind, wanted in ((7, [4, 1]), (6, [3, 2]), (3, [3, 1, 1]), (2, [2, 2, 1]), (1, [2, 1, 1, 1])):
        if shape == wanted:
            return kind, order
    return (5 if flush else 0), high


def of_three(hand):
    ranks = sorted((card // 4 for card in hand), reverse=True)
    flush = len({card % 4 for card in hand}) == 1
    kinds = len(set(ranks))
    if kinds == 1:
        return 4, ranks[:1]
    if kinds == 2:
        pair = ranks[1]
        return 1, [pair, next(rank for rank in ranks if rank != pair)]
    top = ranks[0] if ranks[0] - ranks[2] == 2 else 1 if ranks == [12, 1, 0] else None
    if top is not None:
        return (5 if flush else 3), [top]
    return (2 if flush else 0), ranks


hands = st.integers(5, 7).flatmap(lambda n: st.lists(st.integers(0, 51), min_size=n, max_size=n, unique=True))


@settings(max_examples=examples(400), deadline=None)
@given(hands, hands)
def test_values_compare_as_hands_do(one, other):
    slow = [max(of_five(five) for five in combinations(hand, 5)) for hand in (one, other)]
    fast = [int(cards.evaluate(hand)) for hand in (one, other)]
    assert (slow[0] > slow[1]) == (fast[0] > fast[1]) and (slow[0] == slow[1]) == (fast[0] == fast[1])
    assert cards.category(fast[0]) == cards.CATEGORIES[slow[0][0]]


def test_all_hands_of_five():
    found = np.zeros(9, np.int64)
    categories(0, 48, np.arange(52, dtype=np.uint8), 5, found)
    assert found[::-1].tolist() == FIVE
    every = np.array(list(combinations(range(52), 5)), np.uint8)
    values = cards.evaluate(every)
    assert len(np.unique(values)) == 7462
    assert np.bincount(values >> 26)[::-1].tolist() == FIVE


def test_all_hands_of_seven():
    found = np.zeros(9, np.int64)
    categories(0, 46, np.arange(52, dtype=np.uint8), 7, found)
    assert found[::-1].tolist() == SEVEN


def test_all_hands_of_three():
    every = list(combinations(range(52), 3))
    values = cards.evaluate_three(every)
    slow = [of_three(hand) for hand in every]
    assert [cards.category_of_three(v) for v in values[:500]] == [cards.CATEGORIES_OF_THREE[k] for k, _ in slow[:500]]
    order = {key: place for place, key in enumerate(sorted({(k, tuple(r)) for k, r in slow}))}
    place = np.array([order[k, tuple(r)] for k, r in slow])
    _, rank = np.unique(values, return_inverse=True)
    assert np.array_equal(rank, place)
    assert np.bincount(values >> 26).tolist() == [16440, 3744, 1096, 720, 52, 48]


def test_shapes_and_names():
    assert cards.card("Ah") == 50 and cards.name(50) == "Ah" and cards.card(" 10D ") == cards.card("Td") == 33
    assert [cards.card(cards.name(n)) for n in range(52)] == list(range(52))
    assert cards.names(cards.parse("AhKd 2c,10s")) == "Ah Kd 2c Ts"
    flush = cards.parse("Ah Kh Qh Jh Th 2c 2d")
    assert cards.category(cards.evaluate(flush)) == "straight flush"
    assert cards.evaluate([[flush, flush]]).shape == (1, 2)
    assert cards.evaluate(np.zeros((0, 7), int)).shape == (0,)
    wheel, six = (int(cards.evaluate(cards.parse(text))) for text in ("Ac 2d 3h 4s 5c", "2d 3h 4s 5c 6c"))
    assert wheel < six


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([0, 1, 2, 3], "a hand here has 5 to 7 cards, not 4"),
        ([0, 1, 2, 3, 52], "52 is not a card"),
        ([0, 1, 2, 3, 3], "there is the card 2s twice: 2c 2d 2h 2s 2s"),
        ([0.0, 1, 2, 3, 4], "whole numbers"),
    ],
)
def test_bad_hands(given, words):
    with pytest.raises(GameError, match=words):
        cards.evaluate(given)


def test_bad_names():
    with pytest.raises(GameError, match="'Xh' is not a card"):
        cards.card("Xh")
    with pytest.raises(GameError, match="52 is not a card"):
        cards.name(52)


# Up to the names of suits


@pytest.mark.parametrize(
    ("rounds", "size"),
    [
        ([2], 169), ([2, 3], 1_286_792), ([2, 3, 1], 55_190_538), ([2, 3, 1, 1], 2_428_287_420), ([1], 13),
        ([1, 1], 325), ([1, 1, 1], 9_997), ([5], 134_459), ([3], 1_755), ([4], 16_432), ([2, 4], 13_960_050),
        ([2, 5], 123_156_254),
    ],
)  # fmt: skip
def test_sizes(rounds, size):
    assert cards.Indexer(rounds).size == size


def least(hand, rounds):
    """The hand up to names of suits, from the definition: the least of all its renamings, sorted within rounds."""
    ends = np.cumsum([0, *rounds])
    return min(
        tuple(tuple(sorted(card // 4 * 4 + suits[card % 4] for card in hand[a:b])) for a, b in pairwise(ends))
        for suits in permutations(range(4))
    )


@pytest.mark.parametrize("rounds", [[2], [1, 1], [1, 1, 1]])
def test_every_number_is_one_class(rounds):
    """All hands of a small number of cards: the same number exactly if a renaming of suits maps one to the other."""
    indexer = cards.Indexer(rounds)
    every = list(permutations(range(52), sum(rounds)))
    if sum(rounds) == 3:
        drawn = np.random.default_rng(0)
        every = [every[k] for k in drawn.choice(len(every), 4000, replace=False)]
    numbers = indexer.index(every)
    known = {}
    for hand, number in zip(every, numbers.tolist(), strict=True):
        assert known.setdefault(least(hand, rounds), number) == number
    assert len(set(known.values())) == len(known)
    if sum(rounds) < 3:
        assert sorted(known.values()) == list(range(indexer.size))


def test_there_and_back():
    for rounds in ([2], [2, 3], [1, 1, 1], [5]):
        indexer = cards.Indexer(rounds)
        assert (indexer.index(indexer.unindex(np.arange(indexer.size))) == np.arange(indexer.size)).all()


@pytest.mark.slow
def test_there_and_back_on_the_turn():
    indexer = cards.Indexer([2, 3, 1])
    for at in range(0, indexer.size, 1 << 21):
        numbers = np.arange(at, min(at + (1 << 21), indexer.size))
        assert (indexer.index(indexer.unindex(numbers)) == numbers).all()


@pytest.mark.parametrize(("rounds", "count"), [([2, 3, 1, 1], 100_000), ([2, 3, 1], 50_000)])
def test_names_of_suits_and_order_do_not_count(rounds, count):
    drawn = np.random.default_rng(1)
    hands = np.argsort(drawn.random((count, 52)), axis=1)[:, : sum(rounds)]
    suits = np.argsort(drawn.random((count, 4)), axis=1)
    other = hands // 4 * 4 + np.take_along_axis(suits, hands % 4, axis=1)
    other[:, :2] = other[:, 1::-1]
    other[:, 2:5] = other[:, [4, 2, 3]]
    indexer = cards.Indexer(rounds)
    numbers = indexer.index(hands)
    assert np.array_equal(numbers, indexer.index(other))
    assert np.array_equal(indexer.index(indexer.unindex(numbers)), numbers)
    assert numbers.min() >= 0 and numbers.max() < indexer.size


@pytest.mark.slow
def test_millions_of_renamings_on_the_river():
    for seed in range(30):
        drawn = np.random.default_rng(seed)
        hands = np.argsort(drawn.random((100_000, 52)), axis=1)[:, :7]
        suits = np.argsort(drawn.random((100_000, 4)), axis=1)
        other = hands // 4 * 4 + np.take_along_axis(suits, hands % 4, axis=1)
        indexer = cards.Indexer([2, 3, 1, 1])
        assert np.array_equal(indexer.index(hands), indexer.index(other))


def test_bad_rounds_and_numbers():
    with pytest.raises(GameError, match="should be numbers of cards"):
        cards.Indexer([2, 0])
    with pytest.raises(GameError, match="should be numbers of cards"):
        cards.Indexer([14])
    indexer = cards.Indexer([2])
    with pytest.raises(GameError, match="0 to 168 here"):
        indexer.unindex([169])
    with pytest.raises(GameError, match="a hand here has 2 cards, not 3"):
        indexer.index([1, 2, 3])
