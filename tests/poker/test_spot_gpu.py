"""The engine of spots on a GPU against that of cores. Where there is no GPU the same source runs as plain C++."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_on_cores import THERE
from poker_form_on_cores import COMPILER
from spot_on_cores import ALONE, TOGETHER, SpotsOnCores
from test_spot_engine import class_ranges, spot_of, uneven
from typer.testing import CliRunner

from kibitz.bench import bench_spots_gpu
from kibitz.cli import app
from kibitz.core.errors import GameError, SolverError
from kibitz.poker.spots import engine_gpu, estimates, solving
from kibitz.poker.spots.engine_cpu import MergedRows, SpotCfr, decoded
from kibitz.poker.spots.engine_gpu import GpuShape, GpuSpotCfr
from kibitz.poker.spots.engine_layout import SpotLayout
from kibitz.poker.spots.saved import load_spot, save_spot
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


@pytest.fixture
def on_cores(monkeypatch, queue):
    """The GPU of this machine is a core."""
    monkeypatch.setattr(engine_gpu, "on_gpu", lambda: queue)
    monkeypatch.setattr(engine_gpu, "GpuShape", lambda: ALONE)
    monkeypatch.setattr(solving, "require", lambda device: None)
    monkeypatch.setattr(estimates, "free_on_gpu", lambda: 1 << 40)


def test_a_solve_is_that_of_cores(on_cores, tmp_path):
    spot = SPOTS["turn"]
    here = solving.solve_spot(spot, until=0.004)
    there = solving.solve_spot(spot, until=0.004, device="gpu")
    gap = (here.exploitability + there.exploitability) * spot.pot * 2
    assert there.exploitability <= 0.004 and np.abs(here.values - there.values).max() <= gap
    # Values of hands at the root come from the GPU, those below it are computed here.
    answer = there.solved
    assert np.allclose(answer.root_values(0, 0, spot.board, True), MergedRows(
        answer.layout, answer.state).root_values(0, 0, spot.board, True), atol=1e-4 * spot.pot)  # fmt: skip
    save_spot(there, tmp_path / "there.spot")
    again = load_spot(tmp_path / "there.spot")
    one, other = there.at("check"), again.at("check")
    assert np.allclose(one.strategy, other.strategy, atol=1e-3)
    live = np.isfinite(one.action_values)
    assert live.any() and np.allclose(one.action_values[live], other.action_values[live], atol=1e-2 * spot.pot)


def test_after_many_iterations_numbers_have_thirty_two_bits(on_cores, monkeypatch):
    monkeypatch.setattr(engine_gpu, "COARSE", 30)
    spot = SPOTS["small flop"]
    engine = engine_gpu.GpuEngine(spot, betting_of(spot))
    engine.iterate(0, 29)
    assert engine.state.kind == np.uint16
    before = engine.gains()
    engine.iterate(29, 60)
    assert engine.state.kind == np.float32 and engine.state.nbytes == 8 * engine.layout.sequences
    assert engine.gains().exploitability < 0.5 * before.exploitability
    assert engine.answer().state.learned.average.dtype == np.float32


def test_what_does_not_fit_the_gpu_is_refused(on_cores, monkeypatch):
    monkeypatch.setattr(estimates, "free_on_gpu", lambda: 1 << 18)
    with pytest.raises(GameError, match="MB on the GPU, and 0 MB are free: give"):
        solving.solve_spot(SPOTS["turn"], device="gpu")


@pytest.mark.parametrize("name", ["river", "turn", "flop"])
def test_the_estimate_is_near_what_is_taken(name, queue):
    spot = SPOTS[name]
    tree = betting_of(spot)
    state = GpuSpotCfr(SpotLayout(spot, tree), np.uint16, queue, ALONE)
    arrays = [state.regret, state.average, *state.arrays.values(), *state.reach, *state.exits, *state.out]
    taken = sum(array.nbytes for array in arrays)
    assert 0.9 * taken < estimates.estimate_of(spot, tree, device="gpu").bytes < 1.5 * taken


def test_locks_and_machines_without_a_gpu_are_refused(monkeypatch):
    monkeypatch.setattr(solving, "require", lambda device: None)
    with pytest.raises(SolverError, match="locks are solved on the CPU"):
        solving.solve_spot(SPOTS["river"], device="gpu", locks=["check: check = 100%"])
    with pytest.raises(SolverError, match="device 'tpu'"):
        monkeypatch.undo()
        solving.solve_spot(SPOTS["river"], device="tpu")


def test_the_benchmark_runs_and_its_page_is_written(on_cores, monkeypatch, tmp_path):
    monkeypatch.setattr(bench_spots_gpu, "bandwidth", lambda: 1e9)
    monkeypatch.setattr(bench_spots_gpu, "gpu_name", lambda: "a core")
    monkeypatch.setattr(bench_spots_gpu, "TIMED", ((bench_spots_gpu.CHECKED[0], 60.0),))
    lines = []
    result = bench_spots_gpu.bench_spots_gpu(True, tmp_path / "out.json", lines.append)
    assert result["failed"] == [] and result["checked"][0]["right"]
    row, cpu = result["timed"][0], result["cpu"][0]
    assert abs(row["value"] - cpu["value"]) < row["gap"] + cpu["gap"] and row["share"] > 0
    assert any(name.startswith("last") for name in row["kernels"])
    monkeypatch.setattr(bench_spots_gpu, "DATA", tmp_path / "out.json")
    page = bench_spots_gpu.page()
    assert "a core" in page and "| river, narrow ranges | " in page


def test_the_command_says_what_a_gpu_needs():
    if THERE:
        pytest.skip("there is a GPU")
    words = ["poker", "spot", "--board", "Qs Jh 2h 5c 5d", "--pot", "100", "--stacks", "200", "--ranges", "AA", "KK"]
    ran = CliRunner().invoke(app, [*words, "--device", "gpu"])
    assert ran.exit_code == 2 and "leave out --device" in ran.output
