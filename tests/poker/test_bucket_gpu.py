"""Bucket forms on a GPU give what they give in memory; without one there is a sentence."""

from __future__ import annotations

import numpy as np
import pytest
from bucketed import random_buckets, rules
from cuda_on_cores import THERE

from kibitz.core.errors import SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.weights import joint_weights
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve, solve_through


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_without_a_gpu_there_is_a_sentence() -> None:
    with pytest.raises(SolverError, match="leave out --device"):
        Device("gpu")
    with pytest.raises(SolverError, match="leave out --device"):
        solve("rhode_island", abstraction="percentile(2)", run=RunOptions(device="gpu"))


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
def test_a_gpu_gives_the_same(name: str) -> None:
    poker = rules(name)
    buckets, _ = random_buckets(poker, 3, 0)
    parents, weights = [of.parent for of in buckets.rounds], joint_weights(buckets)
    here, there = (BucketForm(poker, "random", buckets.digest, parents, weights, d) for d in ("cpu", "gpu"))
    played = here.to_probabilities(np.random.default_rng(0).random(here.sequences))
    plan = here.plan(here.to_strategy(played))
    np.testing.assert_allclose(there.plan(there.to_strategy(played)), plan, atol=1e-12)
    for seat in (0, 1):
        np.testing.assert_allclose(there.gradient(seat, plan), here.gradient(seat, plan), atol=1e-12)
    np.testing.assert_allclose(there.measure(played).best, here.measure(played).best, atol=1e-12)
    np.testing.assert_allclose(there.best_response(0, played)[0], here.best_response(0, played)[0], atol=1e-12)
    rule = Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True)
    spaces = [BucketCfrState(form, None, np.float64) for form in (here, there)]
    for space in spaces:
        space.iterate(rule, 0, 20, 1)
    assert spaces[0].measure(True).nash_conv == pytest.approx(spaces[1].measure(True).nash_conv, rel=1e-6)
    state = {key: array.copy() for key, array in spaces[1].state.items()}
    other = BucketCfrState(there, None, np.float64)
    for key, array in other.state.items():
        array[...] = state[key]
    other.restore()
    np.testing.assert_allclose(other.probabilities(True), spaces[1].probabilities(True))
    frozen = there.freeze(np.arange(there.points) % 2 == 0, played)
    fixed = solve_through(there, "dcfr+", iterations=30, rows=frozen)
    held = np.repeat(~frozen.moves, there.infosets.width)
    np.testing.assert_array_equal(fixed.probabilities[held], played[held])


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("name", ["leduc", "rhode island of 4 ranks", "turn hold'em of 10 cards"])
@pytest.mark.parametrize("most", [1 << 31, 5000])
def test_a_gpu_counts_the_same_weights(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from kibitz.poker.bucketed import count_gpu

    monkeypatch.setattr(count_gpu, "MOST", most)
    buckets, _ = random_buckets(rules(name), 3, 4)
    here, there = joint_weights(buckets), joint_weights(buckets, device="gpu")
    gpu = Device("gpu")
    for of in ("meets", "wins"):
        for mine, theirs in zip(getattr(here, of), getattr(there, of), strict=True):
            np.testing.assert_allclose(gpu.to_host(theirs), mine, atol=1e-16, rtol=1e-12)
