"""Buckets of the poker form are the abstract game of the tree."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from poker_games import (
    GAMES,
    QUIET,
    VARIANTS,
    Pair,
    cfr_on,
    coarse,
    compare_cfr,
    compare_cfr_until_tied,
    compare_matrices,
    compare_values,
    definitions,
    labels_of,
    pair,
    random_probabilities,
    some_buckets,
)

from kibitz.core.errors import GameError, SolverError
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve

BUCKETED = ["kuhn", "leduc", "rhode island of 2 by 3", "hands of two", "reverse blinds", "no limit", "board first",
            "rounds without cards", "all in by the blinds"]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", BUCKETED)
@pytest.mark.some(7)
def test_buckets_are_the_abstract_game(name, seed):
    both = coarse(name, seed)
    assert both.form.perfect_recall and both.slow.perfect_recall
    assert both.form.points <= pair(name).form.points
    assert np.unique(both.of).tolist() == list(range(both.form.points))
    compare_values(both, both.form.uniform())
    compare_values(both, random_probabilities(both.form, 1))
    compare_matrices(both, 1)
    for spec in ("cfr", "pcfr+", "dcfr(updates=simultaneous)", "cfr+(delay=5)"):
        compare_cfr(both, spec, stops=(1, 2, 12))
    fast, slow = make("lp", Task(None, both.form)), make("lp", Task(both.tree, both.slow))
    fast.step(1)
    slow.step(1)
    assert fast.value == pytest.approx(slow.value, rel=0, abs=1e-8 * both.scale)


@settings(QUIET, max_examples=8)
@given(definitions(3_000), st.integers(0, 2**32), st.integers(1, 3))
def test_buckets_of_random_games(definition, seed, most):
    plain = Pair(definition)
    buckets = tuple(some_buckets(plain.form, seed + seat, most) for seat in (0, 1))
    both = Pair(definition, buckets, plain)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


@pytest.mark.parametrize("name", BUCKETED)
def test_a_bucket_for_each_class_changes_nothing(name):
    plain = pair(name).form
    form = PokerForm(Poker(plain.definition), buckets=[np.arange(r.classes) for r in plain.cards.rounds])
    assert form.perfect_recall and form.points == plain.points and form.sequences == plain.sequences
    assert form.tree_digest != plain.tree_digest
    # Plain infosets lie board by board, these do not.
    there = np.empty(plain.points, np.int64)
    for i, (seat, label) in enumerate(labels_of(plain.infosets)):
        cards, _, betting = label.partition(":")
        there[i] = form.infosets.find(seat, f"bucket {pair(name).class_of(label.count('/'), cards)}:{betting}")
    assert sorted(there) == list(range(plain.points))
    first = form.infosets.first[there]
    owner = plain.infosets.row_of_column
    column = first[owner] + np.arange(plain.columns) - plain.infosets.first[owner]
    mine = random_probabilities(plain, 2)
    same = np.empty_like(mine)
    same[column] = mine
    scale = 1e-13 * plain.scale
    one, two = plain.measure(mine), form.measure(same)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=scale)
    gradients = []
    for f, probabilities in ((plain, mine), (form, same)):
        plan = f.plan(f.to_strategy(probabilities))
        worth = np.concatenate([f.gradient(seat, plan) for seat in (0, 1)])
        gradients.append(f.by_column(worth))
    np.testing.assert_allclose(gradients[0], gradients[1][column], rtol=0, atol=scale)
    for spec in ("cfr+", "pcfr+(updates=simultaneous)"):
        solvers = [cfr_on(f, spec) for f in (plain, form)]
        for solver in solvers:
            solver.step(12)
        plans = [f.plan(f.to_strategy(s.probabilities())) for f, s in zip((plain, form), solvers, strict=True)]
        np.testing.assert_allclose(plain.by_column(plans[0]), form.by_column(plans[1])[column], rtol=0, atol=1e-9)


FORGETFUL = ["leduc", "hands of two", "no limit", "board first", "rounds without cards"]


@cache
def forgetful(name):
    """Buckets that do not tell the bucket before."""
    plain = pair(name)
    buckets = [np.arange(r.classes) % (2 + (number == 0)) for number, r in enumerate(plain.form.cards.rounds)]
    return Pair(plain.game.definition, buckets, plain)


@pytest.mark.parametrize("name", FORGETFUL)
def test_buckets_that_forget(name):
    both = forgetful(name)
    form, slow = both.form, both.slow
    assert not form.perfect_recall and not slow.perfect_recall
    for spec in ("cfr", "cfr+(updates=simultaneous)"):
        fast, twin = cfr_on(form, spec), make(spec, Task(both.tree, slow))
        for _ in range(3):
            fast.step(3)
            twin.step(3)
            # The strategies; averages differ, for here deals count by their number and there each past once.
            np.testing.assert_allclose(fast.state["strategy"][both.sequence], twin.state["strategy"], rtol=0, atol=1e-9)
        found = fast.probabilities()
        np.testing.assert_allclose(np.add.reduceat(found, form.infosets.first[:-1]), 1.0, rtol=0, atol=1e-12)
    uniform = form.uniform()
    for refused in (
        lambda: form.measure(uniform),
        lambda: form.best_response(0, uniform),
        lambda: fast.measure(),
        lambda: solve(form, "lp"),
        lambda: solve(form, "fp", iterations=2),
    ):
        with pytest.raises(SolverError, match=r"forget|perfect recall"):
            refused()


@pytest.mark.parametrize("name", FORGETFUL)
def test_the_value_of_buckets_that_forget_is_refused(name):
    both = forgetful(name)
    with pytest.raises(SolverError, match="buckets that forget the bucket before have no plans"):
        both.form.value(random_probabilities(both.form, 8))


def classes_of(k):
    return np.arange(pair("leduc").form.cards.rounds[k].classes)


@pytest.mark.parametrize(
    "buckets",
    [
        list, lambda: [classes_of(0)], lambda: [classes_of(0), classes_of(1), classes_of(1)],
        lambda: [classes_of(0) + 1, classes_of(1)], lambda: [classes_of(0) - 1, classes_of(1)],
        lambda: [classes_of(0), 2 * classes_of(1)], lambda: [classes_of(0), classes_of(1)[1:]],
        lambda: [classes_of(1), classes_of(0)], lambda: [classes_of(0)[:, None], classes_of(1)],
        lambda: [np.zeros(0, np.int64), classes_of(1)], lambda: [classes_of(0).astype(float), classes_of(1) + 0.0],
        lambda: [classes_of(0) > 0, classes_of(1) > 0],
    ],
)  # fmt: skip
def test_wrong_buckets_are_refused(buckets):
    with pytest.raises(SolverError, match="bucket"):
        PokerForm(Poker(GAMES["leduc"]), buckets=buckets()).measure_weights(np.ones(1))


def test_hands_of_a_bucket_are_not_looked_at_by_themselves():
    form = PokerForm(Poker(GAMES["leduc"]), buckets=[classes_of(0), classes_of(1)])
    with pytest.raises(SolverError, match="share rows"):
        form.look(0, np.ones(form.sequences))


def test_buckets_may_be_lists():
    form = pair("leduc").form
    lists = PokerForm(Poker(GAMES["leduc"]), buckets=[classes_of(0).tolist(), classes_of(1).tolist()])
    assert lists.measure(lists.uniform()).nash_conv == pytest.approx(form.measure(form.uniform()).nash_conv)


@pytest.mark.parametrize("name", ["leduc", "hands of two"])
def test_labels_of_buckets(name):
    infosets = coarse(name).form.infosets
    for i, (seat, label) in enumerate(labels_of(infosets)):
        assert infosets.find(seat, label) == i


@pytest.mark.parametrize(
    "wrong", ["bucket 99:", "bucket -1:", "bucket x:", "bucket 0.5:", "Ad:", "bucket 0:zz", "bucket :", "bucket 0:c"]
)
def test_wrong_labels_of_buckets_are_refused(wrong):
    infosets = coarse("leduc").form.infosets
    with pytest.raises(GameError):
        infosets.find(0, wrong)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "rounds without cards"])
def test_strategies_of_buckets_are_played_in_the_game(name, seed):
    plain, both = pair(name), coarse(name, seed)
    small = plain.form.bucketed(both.form.buckets)
    assert small.tree_digest == both.form.tree_digest and small.cards is plain.form.cards
    probabilities = random_probabilities(small, 3)
    lifted = plain.form.to_probabilities(plain.form.lift(small, small.to_strategy(probabilities)))
    # By way of the trees: abstract columns, their real ones, and these of the classes.
    wanted = both.derived.lift(both.lift(probabilities))
    np.testing.assert_allclose(plain.lift(lifted), wanted, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        plain.form.measure(lifted).value, small.measure(probabilities).value, rtol=0, atol=1e-12 * plain.scale
    )
