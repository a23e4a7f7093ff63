"""Plans of a search: how the plan of the integer programme is grown, and what is measured only once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import SolverError
from kibitz.stitch.auto import Effort, ExactJudge, Limits, losses, search_of
from kibitz.stitch.auto.plan import grown

LEDUC = "leduc(suit_isomorphism=true)"
SHORT = Effort(iterations=60, pilot=10, cuts=6, insides=("null",))


@dataclass
class Part:
    here: np.ndarray


@dataclass
class Candidate:
    """What growing a plan asks of a pilot."""

    move: Part
    gain: float
    seconds: float


def candidates(rng, count, places=12):
    """Pilots of random parts, and a random gain of each set of those that do not overlap."""
    pilots = []
    for _ in range(count):
        here = np.zeros(places, bool)
        here[rng.choice(places, int(rng.integers(1, 5)), replace=False)] = True
        pilots.append(Candidate(Part(here), 0.0, float(rng.integers(1, 4))))
    value = {frozenset(): 0.0}
    for size in range(1, count + 1):
        for some in combinations(range(count), size):
            value[frozenset(some)] = float(rng.normal(0.5 * size, 1.0))
    for k, pilot in enumerate(pilots):
        pilot.gain = value[frozenset([k])]
    return pilots, value


def apart(pilots, plan):
    return all(not (pilots[a].move.here & pilots[b].move.here).any() for a, b in combinations(plan, 2))


def steps(pilots, plan):
    """All plans one step away, from the definition: a pilot less, or a pilot more in place of those it overlaps."""
    for k in range(len(pilots)):
        if k in plan:
            yield set(plan) - {k}
        else:
            yield {j for j in plan if apart(pilots, [j, k])} | {k}


@pytest.mark.parametrize("seed", range(20))
def test_no_step_improves_a_plan_that_was_grown(seed):
    rng = np.random.default_rng(seed)
    pilots, value = candidates(rng, 7)
    most, seconds = int(rng.integers(1, 5)), float(rng.integers(3, 9))
    asked: list[frozenset[int]] = []

    def gain_of(plan):
        asked.append(frozenset(plan))
        return value[frozenset(plan)]

    start = [int(rng.integers(7))]
    plan = grown(start, pilots, gain_of, most, seconds)
    assert apart(pilots, plan) and len(set(plan)) == len(plan) <= most
    assert value[frozenset(plan)] >= value[frozenset(start)]
    for other in steps(pilots, plan):
        allowed = len(other) <= most and sum(pilots[k].seconds for k in other) <= seconds
        assert not allowed or value[frozenset(other)] <= value[frozenset(plan)]
    assert len(asked) == len(set(asked))  # nothing is measured twice


@pytest.fixture(scope="module")
def base():
    return kibitz.solve(LEDUC, "cfr+", abstraction="JQ.K", iterations=200)


def planned(base, **changes):
    effort = Effort(iterations=60, pilot=10, cuts=10, insides=("null",), **changes)
    search, start = search_of(LEDUC, base, Limits(infosets=154), effort)
    return search.plan(start.probabilities)


@pytest.mark.parametrize("paired", [2, 6])
def test_experts_outside_the_programme_come_into_a_plan(base, paired):
    """Few pilots in the programme, some of them for the same part, leave others out; grown, the plan is as good as the
    one of a programme with all of them."""
    short, long = planned(base, paired=paired, grow=False), planned(base, paired=paired)
    every = planned(base, paired=1000, grow=False)
    assert len(short.moves) < len(long.moves) and long.predicted > 1.2 * short.predicted
    assert long.predicted == pytest.approx(every.predicted)


def test_a_plan_that_is_grown_has_no_more_experts_than_it_may(base):
    assert len(planned(base, together=2).moves) <= 2
    with pytest.raises(SolverError, match="paired=-1 must be 0 or more"):
        Effort(paired=-1)


def test_the_strategy_before_is_measured_once(base):
    class Counted:
        seats = 2

        def __init__(self, form):
            self.form, self.count = form, 0

        def measure(self, probabilities):
            self.count += 1
            return self.form.measure(probabilities)

    search, start = search_of(LEDUC, base, Limits(infosets=154), SHORT)
    form = Counted(search.setting.form)
    judge, uniform = ExactJudge(form), search.setting.form.uniform()
    before = start.probabilities.copy()
    gain = judge.gain(uniform, before)
    assert gain == judge.loss(before) - judge.loss(uniform) and form.count == 4
    assert judge.gain(uniform, before.copy()) == gain and form.count == 5  # the strategy before was known
    before[:2] = before[1::-1]  # an array that was changed is another strategy
    assert judge.gain(uniform, before) == judge.loss(before) - judge.loss(uniform) != gain
    lost = search.setting.losses(start.probabilities)
    assert (lost == losses(search.setting.form, start.probabilities)).all()
    assert search.setting.losses(start.probabilities.copy()) is lost
    assert (search.setting.losses(before) == losses(search.setting.form, before)).all()
