"""GameShrink: equilibria of the abstract game are equilibria of the game, or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_gameshrink import hands_of, partition
from test_signals import Cards, deck

import kibitz
from examples import examples
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import tree_of
from kibitz.poker.buckets.gameshrink import READINGS, shrink
from kibitz.poker.buckets.signals import PUBLIC, Walked


@dataclass(frozen=True)
class Bets:
    """Any ordered game of two seats, with a bet in each round: the first may bet, the second may, each may fold."""

    game: object
    sizes: tuple = (1, 2)
    players: int = 2

    def root(self):
        return self.dealt((), "", (1, 1))

    def dealt(self, seen, done, paid):
        """The state before the next signal of a round, or before its betting."""
        order, round = self.game.order, done.count("/")
        more = len(seen) < len(order) and order[len(seen)][0] <= round
        return (CHANCE if more else 0), seen, done, paid

    def turn(self, state):
        return state[0]

    def chance(self, state):
        found = list(self.game.signals(state[1]))
        whole = sum(weight for _, weight in found)
        return [(str(signal), weight / whole) for signal, weight in found]

    def actions(self, state):
        return ("check", "bet") if state[2].rpartition("/")[2] in ("", "k") else ("fold", "call")

    def after(self, state, action):
        turn, seen, done, paid = state
        if turn == CHANCE:
            signal = next(signal for signal, _ in self.game.signals(seen) if str(signal) == action)
            return self.dealt((*seen, signal), done, paid)
        round = done.count("/")
        more = list(paid)
        if action in ("bet", "call"):
            more[turn] += self.sizes[round]
        done += {"check": "k", "bet": "b", "fold": "f", "call": "c"}[action]
        if action == "fold":
            return TERMINAL, seen, done, paid
        if action == "call" or done.endswith("kk"):
            if round == max(when for when, _ in self.game.order):
                return TERMINAL, seen, done, tuple(more)
            return self.dealt(seen, done + "/", tuple(more))
        return 1 - turn, seen, done, tuple(more)

    def view(self, state):
        """(round, what the seat to move has seen)."""
        round, seen = state[2].count("/"), (*state[1], *[None] * (len(self.game.order) - len(state[1])))
        return round, Walked(self.game).view(state[0], round, seen)

    def infoset(self, state):
        return f"{self.view(state)[1]}|{state[2]}"

    def payoff(self, state):
        _, seen, done, paid = state
        if done.endswith("f"):
            loser = int(paid[0] > paid[1])
        else:
            first, second = self.game.outcome(seen)
            if first == second:
                return [0.0, 0.0]
            loser = int(first > second)
        gain = float(paid[loser])
        return [gain, -gain] if loser else [-gain, gain]


def buckets(bets, small, seats=(0, 1)):
    """The classes of a shrunk game as an abstraction; of the seats named."""
    views, stack = {}, [bets.root()]
    while stack:
        state = stack.pop()
        if state[0] == CHANCE:
            stack += [bets.after(state, signal) for signal, _ in bets.chance(state)]
        elif state[0] != TERMINAL:
            views[state[0], bets.infoset(state)] = bets.view(state)
            stack += [bets.after(state, action) for action in bets.actions(state)]

    def bucket(seat, label):
        if seat not in seats:
            return label
        round, view = views[seat, label]
        return round, int(small.of(round, [(seat, view)])[0]), label.rpartition("|")[2]

    return bucket


@dataclass(frozen=True)
class Table:
    """A number for each seat, drawn apart, then a public one; what they are worth together is looked up."""

    worth: tuple  # [seat][own][public]
    weights: tuple  # [public]

    @property
    def players(self):
        return len(self.worth)

    @property
    def order(self):
        return [*((0, seat) for seat in range(self.players)), (1, PUBLIC)]

    def signals(self, seen):
        seat = len(seen)
        return [(k, 1) for k in range(len(self.worth[seat]))] if seat < self.players else list(enumerate(self.weights))

    def outcome(self, seen):
        return [self.worth[seat][seen[seat]][seen[-1]] for seat in range(self.players)]


def tables(seats):
    """Few values, so that much is alike by chance; all seats alike, or each with numbers of its own."""

    def of_width(width):
        row = st.lists(st.integers(0, 2), min_size=width, max_size=width).map(tuple)
        worth = st.lists(row, min_size=1, max_size=4).map(tuple)
        every = worth.map(lambda each: (each,) * seats) | st.tuples(*[worth] * seats)
        return st.builds(Table, every, st.lists(st.integers(1, 2), min_size=width, max_size=width).map(tuple))

    return st.integers(2, 3).flatmap(of_width)


@settings(max_examples=15, deadline=None)
@given(tables(2))
def test_strict_classes_are_lossless(table):
    """An equilibrium within the classes of a random ordered game is one of the game, and has its value."""
    bets, small = Bets(table), shrink(table)
    merged = kibitz.solve(bets, "lp", abstraction=buckets(bets, small))
    assert kibitz.nash_conv(bets, merged) < 1e-6


def chances_of(pairs):
    """What distribution pairs (value, weight) are."""
    rows = Counter()
    for value, weight in pairs:
        rows[value] += weight
    return frozenset((value, Fraction(weight, sum(rows.values()))) for value, weight in rows.items())


def in_fractions(tree, strict):
    """Classes by round, in fractions: for any number of seats, and weights."""
    weight = tree.weight.tolist() if len(tree.weight) else [1] * len(tree.outcome)
    rows = [range(tree.first[node], tree.first[node + 1]) for node in range(tree.sizes[-1])]
    heavy = [[sum(weight[row] for row in node) for node in rows]]
    for k in range(tree.rounds - 1, 0, -1):
        above = [np.flatnonzero(tree.parent[k] == node) for node in range(tree.sizes[k - 1])]
        heavy.insert(0, [sum(heavy[0][child] for child in each) for each in above])
    classes = [0] * tree.sizes[-1]
    while True:
        kinds = [[
            chances_of(((*(classes[o] for o in tree.other[row]), int(tree.outcome[row])), weight[row]) for row in node)
            for node in rows
        ]]  # fmt: skip
        for k in range(tree.rounds - 1, 0, -1):
            below = partition(kinds[0])
            kinds.insert(0, [
                chances_of((below[c], heavy[k][c]) for c in np.flatnonzero(tree.parent[k] == node))
                for node in range(tree.sizes[k - 1])
            ])  # fmt: skip
        found, above = [], list(range(tree.roots))
        for k in range(tree.rounds):
            above = partition((above[parent], kind) for parent, kind in zip(tree.parent[k], kinds[k], strict=True))
            found.append(above)
        if not strict or found[-1] == classes:
            return found
        classes = found[-1]


@settings(max_examples=examples(80), deadline=None)
@given(tables(2) | tables(3), st.sampled_from(READINGS))
def test_against_fractions(table, reading):
    small = shrink(table, reading)
    assert [number.tolist() for number in small.number] == in_fractions(small.signals.tree, reading == "strict")


def test_win_counts_are_not_lossless_in_leduc():
    """Value and gap; and a seat that sees win counts can not secure the value, whatever it does."""
    game = kibitz.game("leduc")
    names = {game.hand(label)[0] for label in tree_of(game).infosets.labels}
    cards = Cards(sorted(kibitz.cards.card(name) for name in names), 1, (0, 1))
    assert len(cards.deck) == 6

    def merging(reading, seats=(0, 1)):
        small = shrink(cards, reading)

        def bucket(seat, label):
            private, board, betting = game.hand(label)
            hand = kibitz.cards.parse(private + board)
            return (len(hand), int(small.of(len(hand) - 1, [hand])[0]), betting) if seat in seats else label

        return bucket

    value = kibitz.value(game, kibitz.solve(game, "lp"))
    lossless = kibitz.solve(game, "lp", abstraction=merging("strict"))
    assert kibitz.nash_conv(game, lossless) < 1e-6
    merged = kibitz.solve(game, "lp", abstraction=merging("win-count"))
    assert kibitz.nash_conv(game, merged) > 0.1
    assert value[0] == pytest.approx(-0.08560642, abs=1e-7)
    assert kibitz.value(game, merged)[0] == pytest.approx(-0.06870118, abs=1e-7)
    for seat, most in ((0, -0.12602961), (1, 0.04273734)):
        held = kibitz.solve(game, "lp", abstraction=merging("win-count", [seat]))
        assert kibitz.value(game, held)[seat] == pytest.approx(most, abs=1e-7)
        assert most < value[seat] - 0.03


class OfSeats:
    """The classes of a shared tree, asked for as those of a seat."""

    def __init__(self, small):
        self.small = small

    def of(self, round, seen):
        return self.small.of(round, [[card for group in view for card in group] for _, view in seen])


@pytest.mark.parametrize(
    ("ranks", "classes", "by_count", "up_to_suits"),
    [(2, [2, 4, 8], [2, 4, 8], 20), pytest.param(3, [3, 15, 69], [3, 11, 39], 87, marks=pytest.mark.slow)],
)
def test_suits_that_no_longer_matter(ranks, classes, by_count, up_to_suits):
    """Strict classes are fewer than hands up to the names of suits, and as good."""
    cards = Cards(deck(ranks, 3), 1, (0, 1, 1))
    strict, counts = shrink(cards), shrink(cards, "win-count")
    assert strict.classes == classes and counts.classes == by_count
    assert len(np.unique(kibitz.cards.Indexer([1, 1, 1]).index(hands_of(cards.deck, 3)))) == up_to_suits
    bets = Bets(cards, (2, 4, 4))
    found = kibitz.solve(bets, "lp", abstraction=buckets(bets, OfSeats(strict)))
    assert kibitz.nash_conv(bets, found) < 1e-6
    if by_count != classes:
        lost = kibitz.solve(bets, "lp", abstraction=buckets(bets, OfSeats(counts)))
        assert kibitz.nash_conv(bets, lost) > 1e-3
