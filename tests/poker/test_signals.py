"""Signal trees: compiled layout against a walk through all deals, and what a seat can have seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from kibitz.core.errors import GameError
from kibitz.poker.buckets.gameshrink import shrink
from kibitz.poker.buckets.signals import PUBLIC, Walked, deals, signals_of
from kibitz.poker.buckets.signals import Cards as CompiledCards
from kibitz.poker.rules import acpc


def deck(ranks, suits):
    return [4 * rank + suit for rank in range(13 - ranks, 13) for suit in range(suits)]


class Cards(CompiledCards):
    """The same with the rules of an ordered game, so that it can be walked."""

    @property
    def players(self):
        return 2

    @property
    def order(self):
        return [(0, 0), (0, 1), *((k, PUBLIC) for k, cards in enumerate(self.board) if cards)]

    def signals(self, seen):
        sizes = [self.hole, self.hole, *(cards for cards in self.board if cards)]
        gone = {card for group in seen for card in group}
        left = [card for card in self.deck if card not in gone]
        return [(group, 1) for group in combinations(left, sizes[len(seen)])]

    def outcome(self, seen):
        board = [card for group in seen[2:] for card in group]
        return tuple(self.strength(np.array([[*seen[seat], *board] for seat in range(2)], np.int64)).tolist())


@dataclass(frozen=True)
class Draws:
    """Each seat draws a number, no two the same; then a colour shows, which may turn the order around."""

    colours: tuple = (("red", 1),)
    reverse: tuple = ()
    players: int = 2
    numbers: int = 3

    @property
    def order(self):
        return [*((0, seat) for seat in range(self.players)), (1, PUBLIC)]

    def signals(self, seen):
        if len(seen) == self.players:
            return list(self.colours)
        return [(number, 1) for number in range(self.numbers) if number not in seen]

    def outcome(self, seen):
        return [-number if seen[-1] in self.reverse else number for number in seen[:-1]]


GAMES = [
    (deck(3, 1), 1, (0,)),  # Kuhn
    (deck(3, 2), 1, (0, 1)),  # Leduc
    (deck(3, 2), 1, (0, 1, 1)),
    (deck(2, 3), 1, (0, 2)),
    (deck(4, 2), 1, (1, 1)),  # a card of the board before the first round
    (deck(5, 1), 1, (0, 0, 1)),  # a round without a card
    (deck(3, 2), 2, (0, 1)),
    (deck(7, 1), 2, (0, 1, 2)),
    (deck(4, 2)[::-1], 1, (0, 1, 1)),
]


@pytest.mark.parametrize(("cards", "hole", "board"), GAMES)
def test_the_compiled_tree_is_the_walked_tree(cards, hole, board):
    game = Cards(cards, hole, board)
    fast, slow = game.tree, Walked(game).tree
    walked = Walked(game)
    rounds = len(board)
    assert [2 * size for size in fast.sizes] == slow.sizes
    # The nodes of a deal, in both trees.
    every = [deal for deal, _ in deals(game)]
    for seat in range(2):
        to_fast = []
        for k in range(rounds):
            hands = [[card for group in walked.view(seat, k, deal) for card in group] for deal in every]
            quick = game.nodes(k, np.array(hands))
            plain = walked.nodes(k, [(seat, walked.view(seat, k, deal)) for deal in every])
            pairs = set(zip(plain.tolist(), quick.tolist(), strict=True))
            assert len(pairs) == fast.sizes[k]
            to_fast.append(dict(pairs))
            assert len(set(to_fast[k].values())) == fast.sizes[k]
            for node, place in pairs:
                if k:
                    assert to_fast[k - 1][int(slow.parent[k][node])] == fast.parent[k][place]
                else:
                    assert slow.parent[0][node] == seat and fast.parent[0][place] == 0
        other_seat = {
            int(plain): int(quick)
            for plain, quick in zip(
                walked.nodes(rounds - 1, [(1 - seat, walked.view(1 - seat, rounds - 1, deal)) for deal in every]),
                game.nodes(rounds - 1, np.array(
                    [[c for group in walked.view(1 - seat, rounds - 1, deal) for c in group] for deal in every]
                )),
                strict=True,
            )
        }  # fmt: skip
        for node, place in to_fast[-1].items():
            here, there = slice(*slow.first[node : node + 2]), slice(*fast.first[place : place + 2])
            mine = Counter(
                (other_seat[int(other)], int(result))
                for other, result in zip(slow.other[here, 0], slow.outcome[here], strict=True)
            )
            assert mine == Counter(
                (int(other), int(result))
                for other, result in zip(fast.other[there, 0], fast.outcome[there], strict=True)
            )


@pytest.mark.parametrize(("cards", "hole", "board"), GAMES)
def test_nodes_of_the_whole_signal_tree(cards, hole, board):
    game = Cards(cards, hole, board)
    count, level = 1, [()]  # all beginnings of deals, the root among them
    for _ in game.order:
        level = [(*seen, signal) for seen in level for signal, _ in game.signals(seen)]
        count += len(level)
    assert game.signal_nodes == count
    assert sum(1 for _ in deals(game)) == len(game.tree.outcome)


def test_rhode_island():
    game = Cards(tuple(range(52)), 1, (0, 1, 1))
    assert game.signal_nodes == 6_632_705
    assert game.tree.sizes == [52, 52 * 51, 52 * 51 * 50]
    assert len(game.tree.outcome) == 52 * 51 * 50 * 49
    assert game.tree.weights[0].tolist() == [51 * 50 * 49] * 52


def test_outcomes_of_leduc():
    game = Cards(deck(3, 2), 1, (0, 1))
    jack, queen, king = 40, 44, 48  # in name: a deck has the highest ranks
    for hand, board, counts in ((king, queen, [1, 1, 2]), (king, jack, [1, 1, 2]), (queen, jack, [3, 1, 0]),
                                (jack, jack + 1, [0, 0, 4])):  # fmt: skip
        node = int(game.nodes(1, [[hand, board]])[0])
        rows = slice(*game.tree.first[node : node + 2])
        assert np.bincount(game.tree.outcome[rows], minlength=3).tolist() == counts


def test_order_within_a_group_does_not_count():
    game = Cards(deck(4, 2), 2, (0, 3))
    hands = np.array(list(permutations(game.deck, 5))[::7])
    nodes = game.nodes(1, hands)
    assert np.array_equal(nodes, game.nodes(1, hands[:, [1, 0, 2, 3, 4]]))
    assert np.array_equal(nodes, game.nodes(1, hands[:, [0, 1, 4, 2, 3]]))
    assert not np.array_equal(nodes, game.nodes(1, hands[:, [0, 2, 1, 3, 4]]))
    assert np.array_equal(game.tree.parent[1][nodes], game.nodes(0, hands[:, :2]))


def test_weights_and_seats():
    tree = Walked(Draws((("red", 1), ("blue", 3)))).tree
    assert tree.roots == 2 and tree.parent[0].tolist() == [0, 0, 0, 1, 1, 1]
    assert tree.sizes == [6, 12]
    assert tree.weights[0].tolist() == [8] * 6  # two numbers of the other, red once and blue three times
    assert sorted(tree.weights[1].tolist()) == [2] * 6 + [6] * 6
    assert tree.children(-1).tolist() == [0, 3, 6]
    assert tree.children(0).tolist() == list(range(0, 13, 2))
    even = Walked(Draws((("red", 2), ("blue", 2)))).tree
    assert len(even.weight) == 0


def test_three_seats():
    walked = Walked(Draws(players=3, numbers=4))
    tree = walked.tree
    assert tree.roots == 3 and tree.other.shape[1] == 2
    node = int(walked.nodes(1, [(1, (2, "red"))])[0])
    rows = slice(*tree.first[node : node + 2])
    found = {}
    for (after, before), result in zip(tree.other[rows].tolist(), tree.outcome[rows].tolist(), strict=True):
        numbers = []
        for seat, at in ((2, after), (0, before)):
            (number,) = [n for n in range(4) if walked.nodes(1, [(seat, (n, "red"))])[0] == at]
            numbers.append(number)
        found[tuple(numbers)] = result
    assert set(found) == {(a, b) for a, b in permutations((0, 1, 3), 2)}
    # The outcome is the order of the three hands: it is the same exactly where the order is.
    for one, first in found.items():
        for two, second in found.items():
            ranks = [sorted((2, *x)).index(2) * 10 + (x[0] > x[1]) for x in (one, two)]
            assert (first == second) == (ranks[0] == ranks[1])


def test_a_source_is_taken_as_it_is_or_walked():
    game = Cards(deck(3, 1), 1, (0,))
    assert signals_of(game) is game
    assert isinstance(signals_of(Draws()), Walked)


def test_a_definition_of_a_poker_game():
    definition = acpc.read("leduc")
    assert Cards.of(definition) == Cards(deck(3, 2), 1, (0, 1))
    with pytest.raises(GameError, match="has 3 players"):
        Cards.of(acpc.read("holdem.limit.3p"))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Cards(deck(3, 1), 0, (0,)), "hole=0"),
        (lambda: Cards(deck(3, 1), 1, ()), "board=\\[\\]"),
        (lambda: Cards([0, 0, 1, 2], 1, (0,)), "different cards"),
        (lambda: Cards(deck(2, 2), 1, (0, 3)), "too small"),
        (lambda: Cards(range(52), 2, (0, 3, 1, 1)).tree, "too many to lay out"),
        (lambda: Cards(deck(3, 2), 1, (0, 1)).nodes(2, [[40, 41, 44]]), "rounds are 0 to 1"),
        (lambda: Cards(deck(3, 2), 1, (0, 1)).nodes(1, [[40]]), "\\[n, 2\\]"),
        (lambda: Cards(deck(3, 2), 1, (0, 1)).nodes(1, [[40, 40]]), "hand 0 holds a card twice"),
        (lambda: Cards(deck(3, 2), 1, (0, 1)).nodes(1, [[40, 42]]), "card 42 is not in this deck"),
        (lambda: Cards(deck(3, 2), 1, (0, 1)).nodes(0, [[-1]]), "card -1 is not in this deck"),
        (lambda: Walked(Draws()).nodes(0, [(0, (7,))]), "can not have seen"),
        (lambda: Walked(Draws((("red", 0),))).tree, "weight 0"),
        (lambda: Walked(Draws(())).tree, "no other can come"),
        (lambda: Walked(Draws(players=1)).tree, "2 seats or more"),
    ],
)
def test_errors_say_what_is_wrong(make, text):
    with pytest.raises(GameError, match=text):
        make()


class Unequal:
    """A signal's chance is its weight over the sum of its siblings', which need not be the same everywhere."""

    players = 2
    order = ((0, 0), (0, 1), (1, 0))  # seat 0's first signal, seat 1's, and one more of seat 0

    def signals(self, seen):
        if len(seen) == 0:
            return [("A", 1), ("B", 1)]
        if len(seen) == 1:
            return [("W", 1), ("L", 2 if seen == ("A",) else 1)]
        return [("x", 1), ("y", 1)] if seen == ("A", "W") else [("x", 1)]

    def outcome(self, seen):
        return (1, 0) if seen[1] == "W" else (0, 1)


def test_weights_are_chances_among_siblings():
    chances = dict(deals(Unequal()))
    assert sum(chances.values()) == 1
    assert chances["A", "W", "x"] == Fraction(1, 12) and chances["B", "W", "x"] == Fraction(1, 4)
    first = shrink(Unequal()).of(0, [(0, ("A",)), (0, ("B",))])
    assert first[0] != first[1]  # one wins a third of the time, the other half of it
