"""Buckets of hands by strength: cuts of a line are the best there are, up to suit isomorphism."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.core.errors import SolverError
from kibitz.games.tree import tree_of
from kibitz.solvers.blueprint import Blueprint
from kibitz.toepen.arrays import Labels, keys_of_states
from kibitz.toepen.kernels.keys import HANDS
from kibitz.toepen.rules import Toepen
from kibitz.toepen.strength import classes_of_hands, cut_line, strength_buckets


def squares(points, weights, labels):
    total = 0.0
    for label in set(labels.tolist()):
        here = labels == label
        middle = np.average(points[here], weights=weights[here])
        total += float((weights[here] * (points[here] - middle) ** 2).sum())
    return total


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(-40, 40), st.integers(1, 9)), min_size=1, max_size=8), st.integers(1, 4))
def test_no_other_cut_is_better(data, buckets):
    points, weights = (np.array(column, float) for column in zip(*data, strict=True))
    found = cut_line(points, weights, buckets)
    assert len(set(found.tolist())) <= buckets
    order = np.argsort(points, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    best = np.inf
    for cuts in combinations(range(1, len(points)), min(buckets, len(points)) - 1):
        labels = np.empty(len(points), int)
        labels[order] = np.searchsorted(cuts, np.arange(len(points)), side="right")
        best = min(best, squares(points, weights, labels))
    assert squares(points, weights, found) <= best + 1e-9


# The number of each hand, from the definition: smaller hands first, then in colexicographic order.
NUMBERS = {
    hand: number
    for number, hand in enumerate(
        hand for size in range(5) for hand in sorted(combinations(range(32), size), key=lambda cards: cards[::-1])
    )
}


def test_hands_that_differ_by_names_of_suits_are_one_class():
    like, size = classes_of_hands()
    assert len(like) == HANDS == 41_449
    assert [len(np.unique(like[size == cards])) for cards in range(5)] == [1, 8, 64, 400, 2262]
    drawn = np.random.default_rng(0)
    for _ in range(300):
        hand = drawn.choice(32, drawn.integers(0, 5), replace=False)
        suits = drawn.permutation(4)
        other = [int(8 * suits[card // 8] + card % 8) for card in hand]
        one = NUMBERS[tuple(sorted(hand.tolist()))]
        assert like[one] == like[NUMBERS[tuple(sorted(other))]]
        assert size[one] == len(hand)


def test_better_hands_are_in_higher_buckets():
    rules = Toepen(3, 3, 2)
    solved = Blueprint.empty(rules, "maximal", 4 << 20)
    solved.train(iterations=20_000)
    bucket = strength_buckets(solved, buckets=3, deals=30_000)
    ten_ten, eight_eight = NUMBERS[(7, 15)], NUMBERS[(5, 13)]
    assert bucket[0, 0, ten_ten] == 2 > bucket[0, 0, eight_eight] == 0
    assert bucket.shape == (2, 2, HANDS)
    # Rows by strength: fewer than lossless ones, more than without any look at the hand.
    labels = tree_of(rules).infosets.labels
    assert isinstance(labels, Labels)

    def rows(name, bucket=None):
        return len(np.unique(keys_of_states(rules, labels.examples, name, bucket)))

    assert rows("simple-hand") < rows("strength", bucket) < rows("isomorphic")
    assert rows("strength-history", bucket) < rows("strength", bucket)


def test_bad_numbers():
    solved = Blueprint.empty(Toepen(2, 2, 2), "maximal", 1 << 20)
    with pytest.raises(SolverError, match="buckets=0 must be from 1 to 64"):
        strength_buckets(solved, buckets=0)
    with pytest.raises(SolverError, match="deals=0 must be 1 or more"):
        strength_buckets(solved, deals=0)
