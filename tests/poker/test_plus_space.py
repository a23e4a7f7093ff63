"""Rows that play by their regrets alone do what rows with strategies do, and refuse what they cannot."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from poker_games import GAMES, coarse, definitions

from kibitz.core.errors import SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.exact.space import PlusSpace, PokerSpace
from kibitz.poker.rules.rules import Poker

RULES = {
    "dcfr+": Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True),
    "cfr+": Rule(math.inf, math.inf, 1.0, 0.0, 0.0, 0.0, True),
    "late": Rule(2.0, 2.0, 2.0, 3.0, 0.0, 0.0, True),
}


def both_spaces(form, rule, stops, dtype=np.float64, threads=1):
    lean, whole = PlusSpace(form, dtype), PokerSpace(form, None, dtype)
    done = 0
    for stop in stops:
        for space in (lean, whole):
            space.iterate(rule, done, stop - done, threads)
        done = stop
        yield lean, whole


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(20)
def test_regrets_and_averages_are_those_of_rows_with_strategies(name, rule):
    form = PokerForm(Poker(GAMES[name]))
    for lean, whole in both_spaces(form, RULES[rule], (1, 2, 7)):
        np.testing.assert_allclose(lean.regret, whole.regret, rtol=0, atol=1e-9 * form.scale)
        np.testing.assert_allclose(lean.average, whole.average, rtol=0, atol=1e-9)
    for lean, whole in both_spaces(form, RULES[rule], (7, 60)):  # where actions tie, rounding may decide otherwise
        gaps = [form.measure_weights(space.average).nash_conv for space in (lean, whole)]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-3, abs=1e-9 * form.scale)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(definitions(3000), st.sampled_from(sorted(RULES)))
def test_the_same_in_games_made_at_random(definition, rule):
    form = PokerForm(Poker(definition))
    for lean, whole in both_spaces(form, RULES[rule], (1, 2)):
        np.testing.assert_allclose(lean.regret, whole.regret, rtol=0, atol=1e-9 * form.scale)
        np.testing.assert_allclose(lean.average, whole.average, rtol=0, atol=1e-9)


def test_neither_threads_nor_cuts_nor_precision_matter():
    form = PokerForm(Poker(GAMES["leduc"]))
    rule, found = RULES["dcfr+"], []
    for threads, stops in ((1, (40,)), (2, (40,)), (1, (3, 4, 40))):
        space, done = PlusSpace(form), 0
        for stop in stops:
            space.iterate(rule, done, stop - done, threads)
            done = stop
        found.append(space)
    assert all(space.regret.tobytes() == found[0].regret.tobytes() for space in found)
    assert all(space.average.tobytes() == found[0].average.tobytes() for space in found)
    exact = PlusSpace(form, np.float64)
    exact.iterate(rule, 0, 40, 1)
    gaps = [form.measure_weights(space.average).nash_conv for space in (found[0], exact)]
    assert gaps[0] == pytest.approx(gaps[1], rel=0.1)


def test_what_it_refuses():
    form = PokerForm(Poker(GAMES["leduc"]))
    space = PlusSpace(form)
    for change in ({"floor": -math.inf}, {"prediction": 1.0}, {"alternating": False}):
        with pytest.raises(SolverError, match="floor of 0"):
            space.iterate(RULES["dcfr+"]._replace(**change), 0, 1, 1)
    with pytest.raises(SolverError, match="use PokerSpace"):
        PlusSpace(coarse("leduc").form)
