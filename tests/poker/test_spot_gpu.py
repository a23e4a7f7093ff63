"""The engine of spots on a GPU against that of cores. Where there is no GPU the same source runs as plain C++."""

from __future__ import annotations

import numpy as np
import pytest
from poker_form_on_cores import COMPILER
from spot_on_cores import ALONE, TOGETHER, SpotsOnCores
from test_spot_engine import class_ranges, spot_of, uneven

from kibitz.poker.spots.engine_cpu import SpotCfr, SpotLayout, decoded
from kibitz.poker.spots.engine_gpu import GpuShape, GpuSpotCfr
from kibitz.poker.spots.spot import betting_of

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def queue(tmp_path_factory):
    return SpotsOnCores(tmp_path_factory.mktemp("cuda"))


def spots():
    random = np.random.default_rng(1)
    yield "river", spot_of("Tc Qd Kd As Ac", uneven(random, 0.3), (13, 4), rake=0.05)
    yield "turn", spot_of("Tc Qd Kd Ac", class_ranges(random), (6, 4), rake=0.05)
    yield "turn of all suits", spot_of("Jc Qd Kd Ah", uneven(random, 0.5), (5, 4))
    yield "flop", spot_of("Tc Qd Kd", class_ranges(random), (5, 4), bets="allin")
    yield "flop of one suit", spot_of("Tc Qc Kc", class_ranges(random), (5, 4), bets="allin")
    yield "small flop", spot_of("Jc Qd Kd", uneven(random, 0.5), (4, 3), bets="50%", stack=20.0, rake=0.05)


SPOTS = dict(spots())


def both(layout, queue, shape):
    """(state of cores, state of a GPU) in double precision, with the same regrets and averages of a run that goes on.
    They are far from 0: beside the least number that is kept, rounding would be large."""
    random = np.random.default_rng(3)
    here, there = SpotCfr(layout, np.float64, np.float64), GpuSpotCfr(layout, np.float64, queue, shape)
    for mine, theirs in ((here.learned.regret, there.regret), (here.learned.average, there.average)):
        mine[:] = theirs[:] = random.random(len(mine)) + 0.1
    return here, there


def compare(layout, here, there):
    assert np.allclose(there.average, here.learned.average, rtol=0.0, atol=1e-12)
    assert np.allclose(there.regret, here.learned.regret, rtol=0.0, atol=1e-10)
    for seat in (0, 1):
        for best in (False, True):
            expected = here.values(seat, best, 1)
            assert np.allclose(there.values(seat, best), expected, rtol=0.0, atol=1e-10 * layout.chips)


@pytest.mark.parametrize("name", SPOTS)
def test_iterations_are_those_of_cores(name, queue):
    layout = SpotLayout(SPOTS[name], betting_of(SPOTS[name]))
    here, there = both(layout, queue, ALONE)
    before = here.learned.average.copy(), here.learned.regret.copy()
    here.iterate(5, 2, 1)
    there.iterate(5, 1)
    there.iterate(6, 1)
    compare(layout, here, there)
    assert np.abs(here.learned.average - before[0]).max() > 0.1 and np.abs(here.learned.regret - before[1]).max() > 0.1


@pytest.mark.parametrize("name", ["river", "turn", "flop"])
def test_the_first_iteration_is_that_of_cores(name, queue):
    layout = SpotLayout(SPOTS[name], betting_of(SPOTS[name]))
    here, there = SpotCfr(layout, np.float64, np.float64), GpuSpotCfr(layout, np.float64, queue, ALONE)
    here.iterate(0, 1, 1)
    there.iterate(0, 1)
    assert np.allclose(there.average, here.learned.average, rtol=0.0, atol=1e-7)
    assert np.allclose(there.regret, here.learned.regret, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("far", [False, True])
def test_threads_that_meet_change_nothing(far, tmp_path):
    """Blocks of two warps, whose threads pass running sums on to one another; slots in shared memory, or elsewhere."""
    spot = spot_of("Tc Qd Kd As Ac", uneven(np.random.default_rng(2), 0.6), (13, 4), bets="50%", stack=30.0)
    layout = SpotLayout(spot, betting_of(spot))
    shape = GpuShape(block=64, most_shared=0) if far else TOGETHER
    here, there = both(layout, SpotsOnCores(tmp_path, 64), shape)
    assert [each.far for each in there.classes] == [far]
    here.iterate(5, 1, 1)
    there.iterate(5, 1)
    compare(layout, here, there)


@pytest.mark.parametrize("pair", [1, 2, 4])
def test_codes_are_those_of_cores(pair, queue):
    """In single precision a number may be rounded to the code beside it, and few are further off."""
    layout = SpotLayout(SPOTS["river"], betting_of(SPOTS["river"]))
    here, there = SpotCfr(layout), GpuSpotCfr(layout, np.uint16, queue, GpuShape(group=1, pair=pair))
    here.iterate(0, 4, 1)
    there.iterate(0, 4)
    one, other = decoded(here.learned.average), decoded(there.average)
    assert (np.abs(one - other) > 2e-3 * np.maximum(one, 0.01)).mean() < 1e-3
    there.widen()
    assert there.average.dtype == np.float32 and np.array_equal(there.average, other.astype(np.float32))
    there.iterate(4, 2)
    here.widen()
    here.iterate(4, 2, 1)
    for seat in (0, 1):
        expected = here.values(seat, True, 1)
        assert np.abs(there.values(seat, True) - expected).mean() < 1e-4 * np.abs(expected).mean()
