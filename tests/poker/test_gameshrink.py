"""GameShrink: published counts, twins with real matchings, and whether equilibria within classes are equilibria."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_signals import Cards, Draws, deck

import kibitz
from examples import examples
from kibitz.core.errors import GameError, SpecError
from kibitz.poker.buckets.gameshrink import READINGS, lp_size, shrink
from kibitz.poker.buckets.kernels import gameshrink as kernels
from kibitz.poker.buckets.signals import Walked, deals

# Rhode Island hold'em: by round, sequences and infosets of a seat for each hand, over all ways of coming to the round.
SEQUENCES, INFOSETS = [10, 70, 490], [4, 28, 196]


@lru_cache
def rhode_island(reading):
    return shrink(Cards(range(52), 1, (0, 1, 1)), reading)


def hands_of(cards, size):
    return np.array(list(permutations(cards, size)))


def partition(numbers):
    """Class numbers, renamed in order of first appearance: equal for equal partitions."""
    seen = {}
    return [seen.setdefault(number, len(seen)) for number in numbers]


# The published game.


def test_rhode_island_before():
    nodes = Cards(range(52), 1, (0, 1, 1)).tree.sizes
    assert lp_size(nodes, SEQUENCES, INFOSETS) == 91_224_226


def test_rhode_island_by_win_counts():
    small = rhode_island("win-count")
    assert small.classes == [13, 205, 1774]
    assert small.lp_size(SEQUENCES, INFOSETS) == 1_237_238
    assert small.passes == 1


def test_rhode_island_strict():
    small = rhode_island("strict")
    assert small.classes == [13, 325, 7969]
    assert small.lp_size(SEQUENCES, INFOSETS) == 5_498_768
    # What these are: ranks, whether the hand is of the flop's suit, and whether the turn is.
    hands = hands_of(range(52), 3)
    hole, flop, turn = hands.T
    told = [hole // 4, flop // 4, hole % 4 == flop % 4, turn // 4, flop % 4 == turn % 4]
    for round, facts in ((0, told[:1]), (1, told[:3]), (2, told)):
        key = np.zeros(len(hands), np.int64)
        for fact in facts:
            key = 13 * key + fact
        numbers = small.of(round, hands[:, : round + 1])
        assert len(np.unique(key)) == small.classes[round] == len(np.unique(numbers * 13**5 + key))


def test_rhode_island_between_win_counts_and_suits():
    hands = hands_of(range(52), 3)
    coarse, strict = rhode_island("win-count"), rhode_island("strict")
    for round, suits in ((1, 325), (2, 9997)):
        up_to_suits = kibitz.cards.Indexer([1] * (round + 1)).index(hands[:, : round + 1])
        fine, less = strict.of(round, hands[:, : round + 1]), coarse.of(round, hands[:, : round + 1])
        assert len(np.unique(up_to_suits)) == suits == len(np.unique(up_to_suits * 10**4 + fine))
        assert len(np.unique(fine)) == len(np.unique(fine * 10**4 + less))


@pytest.mark.parametrize("reading", READINGS)
def test_classes_refine_downwards(reading):
    small = rhode_island(reading)
    hands = hands_of(range(52), 3)
    for round in (1, 2):
        below, above = small.of(round, hands[:, : round + 1]), small.of(round - 1, hands[:, :round])
        assert np.array_equal(small.parent[round][below], above)
    assert small.parent[0].tolist() == [0] * 13


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("cards", "hole", "board"), [(deck(4, 3), 1, (0, 1, 1)), (deck(5, 2), 2, (0, 1))])
def test_suits_can_be_renamed(reading, cards, hole, board):
    small = shrink(Cards(cards, hole, board), reading)
    for round in range(len(board)):
        hands = hands_of(cards, hole + sum(board[: round + 1]))
        suits = 1 + max(card % 4 for card in cards)
        for names in permutations(range(suits)):
            renamed = hands // 4 * 4 + np.array(names)[hands % 4]
            assert np.array_equal(small.of(round, hands), small.of(round, renamed))


# Twins from the definition, with matchings.


def matched(edges):
    """Is there a perfect matching? edges: for each on the left, the places of its possible partners on the right."""
    partner = {}

    def augment(i, tried):
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if j not in partner or augment(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return all(augment(i, set()) for i in range(len(edges)))


def naive(game, strict):
    """By round {(seat, view): class}: bottom up by matchings, top down over siblings, again while classes change."""
    walked, rounds = Walked(game), 1 + max(when for when, _ in game.order)
    every = [deal for deal, _ in deals(game)]
    assert len({weight for _, weight in deals(game)}) == 1
    children, results = {}, {}
    for deal in every:
        values = game.outcome(deal)
        for seat in range(2):
            views = [walked.view(seat, k, deal) for k in range(rounds)]
            for k in range(1, rounds):
                children.setdefault((k - 1, seat, views[k - 1]), {})[k, seat, views[k]] = None
            sign = (values[seat] > values[1 - seat]) - (values[seat] < values[1 - seat])
            other = (1 - seat, walked.view(1 - seat, rounds - 1, deal))
            results.setdefault((rounds - 1, seat, views[-1]), []).append((other, sign))
    classes = None
    while True:
        known = {}
        ends = {
            node: [(0 if classes is None else classes[-1][other], sign) for other, sign in rows]
            for node, rows in results.items()
        }

        def same(x, y, known=known, ends=ends):
            if (x, y) not in known:
                if x in ends:
                    edges = [[j for j, right in enumerate(ends[y]) if left == right] for left in ends[x]]
                else:
                    edges = [[j for j, right in enumerate(children[y]) if same(left, right)] for left in children[x]]
                known[x, y] = known[y, x] = len(edges) == len(ends.get(y) or children[y]) and matched(edges)
            return known[x, y]

        found, level = [], {(0, seat, view): seat for seat, view in first_views(walked, every)}
        for k in range(rounds):
            examples, numbers = [], {}
            for node, family in level.items():
                for number, (other, home) in enumerate(examples):
                    if home == family and same(node, other):
                        numbers[node] = number
                        break
                else:
                    numbers[node] = len(examples)
                    examples.append((node, family))
            found.append({node[1:]: number for node, number in numbers.items()})
            if k < rounds - 1:
                level = {child: numbers[node] for node in level for child in children[node]}
        if not strict or (classes is not None and len(set(classes[-1].values())) == len(set(found[-1].values()))):
            return found
        classes = found


def first_views(walked, every):
    return dict.fromkeys((seat, walked.view(seat, 0, deal)) for deal in every for seat in range(2))


SMALL = [
    (deck(3, 1), 1, (0,)),
    (deck(2, 2), 1, (0, 1)),
    (deck(3, 2), 1, (0, 1)),
    (deck(4, 1), 1, (0, 1, 1)),
    (deck(3, 2), 1, (0, 1, 1)),
    (deck(3, 3), 1, (0, 1)),
    (deck(5, 1), 1, (1, 1)),
    (deck(3, 2), 2, (0, 1)),
    (deck(6, 1), 1, (0, 2)),
]
LARGER = [
    (deck(3, 3), 1, (0, 1, 1)),
    (deck(4, 2), 1, (0, 1, 1)),
    (deck(5, 2), 1, (0, 1, 1)),
    (deck(3, 4), 1, (0, 1, 1)),
    (deck(4, 3), 1, (0, 1, 1)),
    (deck(4, 2), 2, (0, 1)),
]


def against_twin(game, reading):
    small, twin = shrink(game, reading), naive(game, reading == "strict")
    for round, numbers in enumerate(twin):
        for seat in range(2):
            views = [view for who, view in numbers if who == seat]
            hands = np.array([[card for group in view for card in group] for view in views])
            mine = small.of(round, hands).tolist()
            assert partition(mine) == partition([numbers[seat, view] for view in views])
            assert small.classes[round] == len(set(mine))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("cards", "hole", "board"), SMALL)
@pytest.mark.some(8)
def test_against_matchings(cards, hole, board, reading):
    against_twin(Cards(cards, hole, board), reading)


@pytest.mark.slow
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(("cards", "hole", "board"), LARGER)
def test_against_matchings_in_larger_decks(cards, hole, board, reading):
    against_twin(Cards(cards, hole, board), reading)


@pytest.mark.parametrize(("ranks", "suits"), [(4, 2), (5, 2), (4, 3), (3, 4), (5, 3), (5, 4)])
def test_strict_classes_are_what_they_are_said_to_be(ranks, suits):
    """(1) and (2) of the proof, counted hand by hand; and the same for what has no such numbers: suits renamed."""
    cards = deck(ranks, suits)
    small = shrink(Cards(cards, 1, (0, 1, 1)))
    value = {hand: int(kibitz.cards.evaluate_three(hand)) for hand in permutations(cards, 3)}
    last = dict(zip(value, small.of(2, np.array(list(value))).tolist(), strict=True))
    first, flop = small.of(0, np.array(cards)[:, None]), hands_of(cards, 2)
    middle = dict(zip(map(tuple, flop.tolist()), small.of(1, flop).tolist(), strict=True))
    lone = dict(zip(cards, first.tolist(), strict=True))
    chances = [{}, {}, {}]
    for a, f, t in value:
        rows = Counter(
            (last[b, f, t], (value[a, f, t] > value[b, f, t]) - (value[a, f, t] < value[b, f, t]))
            for b in cards
            if b not in (a, f, t)
        )
        chances[2].setdefault(last[a, f, t], set()).add(frozenset(rows.items()))
    for a, f in middle:
        rows = Counter(last[a, f, t] for t in cards if t not in (a, f))
        chances[1].setdefault(middle[a, f], set()).add(frozenset(rows.items()))
    for a in cards:
        rows = Counter(middle[a, f] for f in cards if f != a)
        chances[0].setdefault(lone[a], set()).add(frozenset(rows.items()))
    for each in chances:
        assert {len(found) for found in each.values()} == {1}
    assert [len(each) for each in chances] == small.classes


# Games with known answers.


def test_leduc():
    game = Cards(deck(3, 2), 1, (0, 1))
    strict, counts = shrink(game), shrink(game, "win-count")
    assert strict.classes == [3, 9]
    assert counts.classes == [3, 7]
    jack, queen, king = 40, 44, 48
    assert np.unique(counts.of(1, [[king, queen], [king, jack]])).size == 1
    assert np.unique(counts.of(1, [[jack, queen], [jack, king]])).size == 1
    assert np.unique(strict.of(1, [[king, queen], [king, jack]])).size == 2


def test_kuhn():
    for reading in READINGS:
        assert shrink(Cards(deck(3, 1), 1, (0,)), reading).classes == [3]
        assert shrink(Cards(deck(3, 4), 1, (0,)), reading).classes == [3]


def colours(red, green, blue):
    """Numbers 0, 1, 2 and a colour; blue turns the order around."""
    return Draws((("red", red), ("green", green), ("blue", blue)), ("blue",))


def test_a_colour_that_says_nothing():
    """Red and green are the same. Who holds the middle number wins once and loses once in any colour."""
    for weights in ((1, 1, 1), (1, 2, 1), (2, 1, 1), (5, 2, 3)):
        game = colours(*weights)
        strict, counts = shrink(game), shrink(game, "win-count")
        assert strict.classes == [2 * 3, 2 * 6]
        assert counts.classes == [2 * 3, 2 * 5]
        for seat in range(2):
            for number in range(3):
                red, green, blue = strict.of(1, [(seat, (number, colour)) for colour in ("red", "green", "blue")])
                assert red == green != blue


def test_an_order_turned_around_half_the_time():
    """Then the lowest number with red is what the highest is with blue: there are two numbers left, and three ends."""
    small = shrink(colours(1, 1, 2))
    assert small.classes == [4, 6]
    low, middle, high = small.of(0, [(0, (number,)) for number in range(3)])
    assert low == high != middle
    ends = small.of(1, [(0, (0, "red")), (0, (2, "blue")), (0, (0, "blue")), (0, (2, "green"))])
    assert ends[0] == ends[1] != ends[2] == ends[3]


def test_a_shared_tree_is_as_good_as_one_for_each_seat():
    game = Cards(deck(3, 2), 1, (0, 1, 1))
    for reading in READINGS:
        shared, apart = shrink(game, reading), shrink(Walked(game), reading)
        assert [2 * count for count in shared.classes] == apart.classes


def test_three_seats():
    """Three of four numbers and a colour that says nothing; then one that turns the order around."""
    assert shrink(Draws((("red", 1), ("green", 2)), players=3, numbers=4)).classes == [12, 12]
    assert shrink(Draws((("red", 2), ("blue", 1)), ("blue",), 3, 4)).classes == [12, 24]
    assert shrink(Draws((("red", 1), ("blue", 1)), ("blue",), 3, 4)).classes == [6, 12]


@dataclass(frozen=True)
class WithDummy(Draws):
    """Two seats as before, 0 and 2, who both see the colour; in seat 1 somebody who sees nothing and comes last."""

    players: int = 3

    @property
    def order(self):
        return [(0, 0), (0, 2), (1, 0), (1, 2)]

    def signals(self, seen):
        if len(seen) == 3:
            return [(seen[2], 1)]
        return list(self.colours) if len(seen) == 2 else [(k, 1) for k in range(self.numbers) if k not in seen]

    def outcome(self, seen):
        sign = -1 if seen[-1] in self.reverse else 1
        return [sign * seen[0], -100, sign * seen[1]]


def test_all_opponents_count():
    """What the next seat holds says nothing here: the classes of the last seat do."""
    small = shrink(WithDummy((("red", 1), ("green", 1), ("blue", 1)), ("blue",)))
    assert small.classes == [3 + 1 + 3, 6 + 1 + 6]
    for seat in (0, 2):
        middle = small.of(1, [(seat, (1, colour)) for colour in ("red", "green", "blue")])
        assert middle[0] == middle[1] != middle[2]


# Lossy.


def lossy_twin(game, threshold, strict=False):
    """By round {view of seat 0: class}, with all one-to-one matchings tried, for a game of equally likely cards."""
    rounds = len(game.board)
    walked = Walked(game)
    every = [deal for deal, _ in deals(game)]
    views = [[walked.view(0, k, deal) for deal in every] for k in range(rounds)]
    lossless = shrink(game)
    results, children = {}, {}
    for d, deal in enumerate(every):
        mine, other = game.outcome(deal)
        result = (mine > other) - (mine < other)
        if strict:
            hand = [[card for group in walked.view(1, rounds - 1, deal) for card in group]]
            result = (result, int(lossless.of(rounds - 1, hand)[0]))
        results.setdefault(views[-1][d], []).append(result)
        for k in range(1, rounds):
            children.setdefault((k - 1, views[k - 1][d]), {})[views[k][d]] = None

    @lru_cache(None)
    def penalty(k, x, y):
        if k == rounds - 1:
            left, right = results[x], results[y]
            cost = [[int(a != b) for b in right] for a in left]
        else:
            cost = [[penalty(k + 1, a, b) for b in children[k, y]] for a in children[k, x]]
        return min(sum(row[j] for row, j in zip(cost, order, strict=True)) for order in permutations(range(len(cost))))

    found, family = [], dict.fromkeys(views[0], 0)
    for k in range(rounds):
        nodes = list(dict.fromkeys(views[k]))
        group = {node: {node} for node in nodes}
        for x, y in combinations(nodes, 2):
            if family[x] == family[y] and group[x] is not group[y] and penalty(k, x, y) <= threshold[k]:
                group[x] |= group[y]
                for node in group[y]:
                    group[node] = group[x]
        found.append({node: min(map(repr, group[node])) for node in nodes})
        family = {views[k + 1][d]: found[-1][views[k][d]] for d in range(len(every))} if k < rounds - 1 else {}
    return found


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("threshold", [(0, 0), (0, 1), (1, 0), (7, 0), (7, 1), (2, 1), (14, 2), (4, 2), (9, 9)])
@pytest.mark.parametrize("cards", [deck(3, 2), deck(6, 1)])
@pytest.mark.some(12)
def test_lossy_against_all_matchings(cards, threshold, reading):
    game = Cards(cards, 1, (0, 1))
    small, twin = shrink(game, reading, threshold), lossy_twin(game, threshold, reading == "strict")
    for round, numbers in enumerate(twin):
        hands = np.array([[card for group in view for card in group] for view in numbers])
        assert partition(small.of(round, hands).tolist()) == partition(numbers.values())
        assert small.classes[round] == len(set(numbers.values()))


@pytest.mark.parametrize("reading", READINGS)
def test_thresholds_merge_more_and_more(reading):
    game = Cards(deck(4, 3), 1, (0, 1, 1))
    lossless = shrink(game, reading)
    before = lossless
    for threshold in (0, 1, 2, 4, 8, 16, 64, 1000):
        small = shrink(game, reading, threshold)
        if threshold == 0:
            assert all(np.array_equal(a, b) for a, b in zip(small.number, lossless.number, strict=True))
        for mine, finer in zip(small.number, before.number, strict=True):
            assert len(set(zip(mine.tolist(), finer.tolist(), strict=True))) == finer.max() + 1
        before = small
    assert before.classes == [1, 1, 1]
    assert shrink(game, reading, [0, 0, 3]).classes[:2] == lossless.classes[:2]


def test_lossy_rhode_island():
    lossless = rhode_island("win-count")
    small = shrink(lossless.signals, "win-count", [0, 10, 1])
    assert all(a <= b for a, b in zip(small.classes, lossless.classes, strict=True))
    assert small.classes[0] == 13 and small.classes[1] < 205 and small.classes[2] < 1774
    nothing = shrink(lossless.signals, "win-count", [0, 0, 0])
    assert nothing.classes == lossless.classes


# Kernels.


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), min_size=1, max_size=6), min_size=1, max_size=30
    ),
    st.booleans(),
)
def test_numbers_of_distributions(rows, weighted):
    first = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    code = np.array([code for row in rows for code, _ in row], np.int64)
    weight = np.array([weight for row in rows for _, weight in row], np.int64)
    share, length, number = np.empty_like(code), np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    count = kernels.number_distributions(
        first, code.copy(), weight if weighted else np.empty(0, np.int64), share, length, number
    )
    keys = []
    for row in rows:
        chances = Counter()
        for each, times in row:
            chances[each] += times if weighted else 1
        keys.append(frozenset((each, Fraction(n, sum(chances.values()))) for each, n in chances.items()))
    assert number.tolist() == partition(keys)
    assert count == len(set(keys))


# Refusals.


@pytest.mark.parametrize(
    ("make", "text", "error"),
    [
        (lambda: shrink(Draws(), "wins"), "unknown reading 'wins'", SpecError),
        (lambda: shrink(Draws(), threshold=-1), "threshold=-1", SpecError),
        (lambda: shrink(Draws(), threshold=[1]), "2 of them", SpecError),
        (lambda: shrink(colours(1, 2, 1), threshold=1), "equally likely", GameError),
        (lambda: lp_size([13, 205], [10], [4]), "2 rounds of hands, 1 of sequences", GameError),
    ],
)
def test_errors_say_what_is_wrong(make, text, error):
    with pytest.raises(error, match=text):
        make()
