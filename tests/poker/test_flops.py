"""Sweeps over a sample of the flops, and gains by the betting before them."""

from __future__ import annotations

import numpy as np
import pytest
from bucketed import rules
from test_sweep import random_profile
from test_sweep_gpu import COMPILER, OnCores, checked

from kibitz.poker.whole.flops import SampledSweep, gains_by_opening
from kibitz.poker.whole.kernels.boards import BEST, PLAYED
from kibitz.poker.whole.strategy import always
from kibitz.poker.whole.walk import Sweep

FLOP, TURN = "flop hold'em of 12 cards", "turn hold'em of 10 cards"


@pytest.mark.parametrize("name", [FLOP, "leduc"])
def test_every_board_is_the_whole_game(name):
    seats, *_ = random_profile(name, 1)
    whole, sample = Sweep(rules(name), seats, np.float64), SampledSweep(rules(name), seats, 1, np.float64)
    np.testing.assert_array_equal(whole.best(), sample.best())
    assert whole.recipe((0,), PLAYED).name == sample.recipe((0,), PLAYED).name


@pytest.mark.parametrize("name", [FLOP, TURN])
def test_a_sample_is_near_the_whole(name):
    seats, *_ = random_profile(name, 2)
    whole, sample = Sweep(rules(name), seats, np.float64), SampledSweep(rules(name), seats, 2, np.float64)
    assert 0 < len(sample.shards) < len(whole.shards)
    assert whole.recipe((0,), PLAYED).name != sample.recipe((0,), PLAYED).name
    np.testing.assert_allclose(sample.best(), whole.best(), rtol=0.25)


def test_hands_count_as_often_as_they_are_dealt():
    """What is the same on all boards is not noisy: who folds at once loses the blind whatever comes, and a pot that all
    hands call into has the same size on each board."""
    poker = rules(FLOP)
    folds = always(poker.betting, ("fold", "call"))
    for every in (2, 3):
        np.testing.assert_allclose(SampledSweep(poker, (folds, folds), every, np.float64).best(),
                                   Sweep(poker, (folds, folds), np.float64).best())  # fmt: skip
    calls = always(poker.betting, ("call",))
    sample = SampledSweep(poker, (calls, calls), 2, np.float64)
    weights = 1.0 / sample._scale
    assert weights.max() <= 1.0 and weights.min() >= 0.0


@pytest.mark.parametrize("name", [FLOP, TURN])
def test_gains_add_up_to_what_is_won_after_the_flop(name):
    """A strategy that is best before the flop, and that the other cannot leave early: the gains are all there is."""
    seats, whole, lifted = random_profile(name, 3)
    sweep = Sweep(rules(name), seats, np.float64)
    gains = gains_by_opening(sweep)
    found = whole.measure(lifted)
    for seat in (0, 1):
        mine = [each for each in gains if each.seat == seat]
        assert all(each.gain >= -1e-9 for each in mine) and len({each.opening for each in mine}) == len(mine)
        total = sum(each.gain for each in mine)
        assert 0 < total <= found.best[seat] - found.value[seat] + 1e-9
        assert 0 < sum(each.reached for each in mine) <= 1 + 1e-9
    calls = always(rules(name).betting, ("call",))
    plain = {(each.opening, each.seat): each.reached for each in gains_by_opening(Sweep(rules(name), (calls, calls)))}
    assert plain["cc", 0] == pytest.approx(1) and plain["cc", 1] == pytest.approx(1)
    assert sum(plain.values()) == pytest.approx(2)


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("mode", [BEST, PLAYED])
def test_the_source_for_a_gpu_goes_through_the_sample(mode, tmp_path):
    seats, *_ = random_profile(FLOP, 1)
    sweep = SampledSweep(rules(FLOP), seats, 2)
    checked(sweep, OnCores(sweep, tmp_path).shard, mode, 1e-4)
