"""Walks on a GPU against those on a processor: run by test_gpu_walk.py in a process whose Numba simulates a GPU.

In double precision and with one thread, a GPU adds the same numbers in the same order: all rows are the same to the
bit. That shows everything but rounding and what threads do to each other, which have tests of their own.
"""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from poker_games import COARSE, FINE
from poker_games import three_base as base
from poker_games import three_machine as machine

import kibitz
from kibitz.core import devices
from kibitz.core import random as random_numbers
from kibitz.core.errors import Interrupted, SolverError
from kibitz.evaluate import nash_conv
from kibitz.games.kernels.dispatch import interpreted
from kibitz.games.tree import tree_of
from kibitz.play.agents import blueprint_agent
from kibitz.play.lower_bound import respond
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers import RunOptions, gpu
from kibitz.solvers.blueprint import Blueprint, walked
from kibitz.solvers.kernels.players import RESPOND, Mask
from kibitz.solvers.kernels.walk import CHANCE_ONLY, OUTCOME
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import BlueprintOptions
from kibitz.solvers.saved_blueprints import load_blueprint

assert devices.SIMULATED, "run test_gpu_walk.py"
MEMORY = 1 << 18
SMALL = BlueprintOptions(memory=MEMORY)
TOEPEN, TRICKS = "toepen(suits=2, ranks=3, hand=2)", "examples/tricks.py:Tricks"


@pytest.fixture
def in_doubles(monkeypatch):
    """Threads of the GPU count in double precision, as a processor does."""

    def forget():
        interpreted.cache_clear()
        gpu._walks.cache_clear()
        gpu._deals.cache_clear()

    monkeypatch.setattr(gpu, "REAL", np.float64)
    monkeypatch.setattr("kibitz.solvers.blueprint.FIRST_HALVING", 50)  # iterations
    for function in (devices.real, random_numbers.to_unit):
        monkeypatch.setattr(function, "bodies", (function.bodies[0], function.bodies[0]))
    forget()
    yield
    forget()


def on_gpu(blueprint, iterations, mask=None, base=None, shape=(1, 1)):
    """Train a blueprint on the simulated GPU, from its first iteration on."""
    with gpu.GpuWalks(blueprint, mask, base, shape) as walks:
        while blueprint.iteration < iterations:
            walks.step(min(iterations, blueprint.next_halving) - blueprint.iteration)
    return blueprint


machine_named = cache(machine_of)  # a file is read once, so that its classes are the same ones


def hashed(game, seed=5, memory=MEMORY, **more):
    return Blueprint.empty(machine_named(game), None, memory, seed, **more)


def assert_same(one, two):
    """Two blueprints have the same rows, counts and iterations, to the bit."""
    arrays, others = one.arrays(), two.arrays()
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], name)
    assert one.iteration == two.iteration


# The same, to the bit


@pytest.mark.parametrize(
    ("game", "iterations"),
    [("kuhn", 110), ("leduc", 40), ("leduc(players=3, ranks=2, cap=1)", 25), (TOEPEN, 15), (TRICKS, 40),
     ("rhode_island", 2)],
)  # fmt: skip
def test_hashed_rows(game, iterations, in_doubles):
    one, two = hashed(game), hashed(game)
    on_gpu(one, iterations)
    two.train(iterations=iterations)
    assert_same(one, two)
    assert one.progress().rows == two.progress().rows > 10


def test_a_table_that_would_grow(in_doubles):
    """It has its full size on a GPU; what is saved is the same."""
    one, two = hashed("kuhn", memory=1 << 23), hashed("kuhn", memory=1 << 23)
    assert len(one.table.key) < one.capacity
    on_gpu(one, 20)
    two.train(iterations=20)
    assert_same(one, two)
    assert len(two.table.key) < len(one.table.key) == one.capacity


@pytest.mark.parametrize("full", ["evict", "refuse"])
def test_a_full_table(full, in_doubles):
    one, two = (hashed("leduc(ranks=4, suits=2)", memory=33_000, full=full) for _ in range(2))
    assert one.capacity == len(one.table.key) < 1100
    on_gpu(one, 110)
    two.train(iterations=110)
    assert_same(one, two)
    assert one.counts[2 if full == "evict" else 3] > 0


@pytest.mark.parametrize("mode", [OUTCOME, CHANCE_ONLY])
@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("game", ["kuhn", "leduc(players=3, ranks=2, cap=1)"])
def test_other_sampling(mode, linear, game, in_doubles):
    one, two = hashed(game), hashed(game)
    order = one.order()._replace(mode=np.int64(mode), explore=0.6, linear=linear)
    one.order = two.order = lambda: order
    count = 40 if mode == OUTCOME or game == "kuhn" else 2
    on_gpu(one, count)
    two.train(iterations=count)
    assert_same(one, two)


@pytest.mark.parametrize(("sampling", "prune", "iterations"), [("external", 0.0, 30), ("external", -3.0, 60),
                                                               ("outcome", 0.0, 60), ("chance", 0.0, 1)])  # fmt: skip
def test_placed_rows(sampling, prune, iterations, in_doubles):
    one, two = (placed_blueprint(machine(), RowPlan((FINE,)), 2, sampling=sampling, prune=prune) for _ in range(2))
    on_gpu(one, iterations)
    two.train(iterations=iterations)
    assert_same(one, two)
    assert one.table.regret.any() and one.table.average.any()
    if prune:
        plain = placed_blueprint(machine(), RowPlan((FINE,)), 2)
        plain.train(iterations=iterations)
        assert one.progress().visited < plain.progress().visited


def test_views_by_part(in_doubles):
    """Dynamic experts: each part of the betting sees through buckets of its own."""
    one, two = (placed_blueprint(machine(), RowPlan((COARSE, FINE), ("r",)), 4) for _ in range(2))
    on_gpu(one, 25)
    two.train(iterations=25)
    assert_same(one, two)


@pytest.mark.parametrize("seats", [(0,), (0, 1, 2)])
def test_a_static_expert(seats, in_doubles):
    others = 7 & ~sum(1 << seat for seat in seats)
    rows = RowPlan((COARSE if others else "", FINE), ("r",), outside=others, inside=7)
    one, two = (placed_blueprint(machine(), rows, seed=1, base=base(), seats=seats) for _ in range(2))
    on_gpu(one, 30)
    two.train(iterations=30)
    assert_same(one, two)
    assert one.table.average.any()


def test_a_graft(in_doubles):
    first = hashed(TRICKS)
    first.train(iterations=200)
    one, two = (hashed(TRICKS, base=first, part="trick 2") for _ in range(2))
    on_gpu(one, 60)
    two.train(iterations=60)
    assert_same(one, two)
    assert 0 < one.progress().rows < first.progress().rows


def test_a_responder(in_doubles):
    target = hashed("leduc")
    target.train(iterations=300)
    mask = Mask(np.int64(RESPOND), np.uint64(0), np.int64(0))
    one, two = hashed("leduc"), hashed("leduc")
    on_gpu(one, 45, mask, target.player())  # before a halving, which `walked` leaves to its caller
    two.counts += walked(two, mask, target.player(), 0, 45, 1, None)
    two.iteration = 45
    assert_same(one, two)


def test_a_responder_of_a_lower_bound(in_doubles, monkeypatch):
    """`respond` on a GPU of one thread gives the rows of a processor of one core."""
    monkeypatch.setattr(gpu, "GpuWalks", partial(gpu.GpuWalks, shape=(1, 1)))
    monkeypatch.setattr("kibitz.play.lower_bound.cores", lambda: 1)
    target = hashed("leduc")
    target.train(iterations=300)
    agent = blueprint_agent(target, target.machine, "target")
    told: list[int] = []
    one = respond(agent, iterations=45, memory=MEMORY, device="gpu", on_block=told.append)
    two = respond(agent, iterations=45, memory=MEMORY)
    assert one.iteration == told[-1] == 45 and len(told) > 1
    assert_same(one, two)
    with pytest.raises(SolverError, match="choose cpu or gpu"):
        respond(agent, iterations=1, device="tpu")


# Single precision, and threads side by side


@pytest.mark.parametrize(("game", "iterations"), [("kuhn", 200), (TRICKS, 60)])
def test_single_precision(game, iterations):
    """The same walks; sums differ by what single precision rounds off."""
    one, two = on_gpu(hashed(game), iterations), hashed(game)
    two.train(iterations=iterations)
    rows, others = one.arrays(), two.arrays()
    np.testing.assert_array_equal(rows["key"], others["key"])
    np.testing.assert_array_equal(rows["counts"], others["counts"])
    np.testing.assert_allclose(rows["value"], others["value"], rtol=1e-5, atol=1e-4)


def test_no_sum_is_lost():
    """Every iteration adds 1 to the average of a seat's first decisions, whichever of 12 threads does it."""
    trained = on_gpu(hashed("kuhn"), 900, shape=(3, 4))
    infosets = tree_of(kibitz.game("kuhn")).infosets
    keys = trained.machine.keys_at(trained.view, infosets)
    first = {int(key) for key, label in zip(keys, infosets.labels, strict=True) if len(label) <= 2}
    at = [k for k, key in enumerate(trained.table.key) if int(key) in first]
    assert len(at) == 3, infosets.labels
    assert trained.table.value[at, 2:].sum() == pytest.approx(900, rel=1e-5)
    assert trained.iteration == 900


def test_the_fastest_shape_is_kept(monkeypatch):
    """The first launches try each shape once; the one with the most decisions a second stays."""
    walks = gpu.GpuWalks(hashed("kuhn"))
    clock = iter([0.0, 1.0, 0.0, 0.5, *[0.0] * 99])
    monkeypatch.setattr(gpu.time, "perf_counter", lambda: next(clock))
    assert walks._trials == gpu._shapes() == [(2, 2), (3, 1)]
    launches = []
    launch = walks._launch
    monkeypatch.setattr(walks, "_launch", lambda *span: (launches.append((walks._shape, *span[:2])), launch(*span)))
    walks.walk(0, 40)
    assert launches == [((2, 2), 0, 8), ((3, 1), 8, 16), ((3, 1), 16, 40)]
    assert walks._rates[1] > walks._rates[0] > 0


def test_threads_learn_the_game():
    """NashConv of Kuhn poker after 1,500 iterations of 4 threads, each on rows that the others change.

    On a processor it is 0.049 over 40 seeds, with a standard deviation of 0.018 and at most 0.085: 0.13 is 4.5
    deviations above. Where one seat learns nothing it is 0.83 or more.
    """
    trained = on_gpu(hashed("kuhn", seed=1), 1500, shape=(2, 2))
    assert nash_conv("kuhn", trained) < 0.13


# Runs


def test_a_run_goes_on_on_either_device(tmp_path):
    path = tmp_path / "kuhn.blueprint"
    first = kibitz.train("kuhn", iterations=200, seed=3, options=SMALL, run=RunOptions(path, device="gpu"))
    assert first.iteration == 200 and first.walks is None and first.progress().rows == 12
    saved = load_blueprint(path)
    assert saved.sha256 == first.sha256
    further = kibitz.train(iterations=400, threads=1, run=RunOptions(path, resume=True))
    assert further.iteration == 400 and load_blueprint(path).iteration == 400
    last = kibitz.train(iterations=500, run=RunOptions(path, resume=True, device="gpu"))
    assert last.iteration == 500 and last.counts[0] > further.counts[0] > first.counts[0]
    assert load_blueprint(path).sha256 == last.sha256


def test_placed_rows_are_saved_by_a_gpu(tmp_path):
    made = placed_blueprint(machine(), RowPlan((FINE,)), seed=2)
    made.train(iterations=20, device="gpu")
    made.save(tmp_path / "b")
    again = load_blueprint(tmp_path / "b", game=machine())
    again.train(iterations=40, device="cpu")
    again.train(iterations=50, device="gpu")
    assert again.iteration == 50


def test_ctrl_c_saves(tmp_path):
    path, seen = tmp_path / "kuhn.blueprint", []

    def interrupt(now):
        seen.append(now)
        if len(seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted) as stopped:
        kibitz.train("kuhn", iterations=10**9, options=SMALL, run=RunOptions(path, device="gpu", progress=interrupt))
    assert load_blueprint(path).sha256 == stopped.value.profile.sha256
    assert load_blueprint(path).iteration == seen[-1].iteration > 0


def test_a_gpu_that_fails_leaves_the_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "kuhn.blueprint"
    kibitz.train("kuhn", iterations=100, options=SMALL, run=RunOptions(path, device="gpu"))
    before = load_blueprint(path).sha256
    lost = type("CudaAPIError", (Exception,), {"__module__": "numba.cuda.cudadrv.driver"})

    def fail(self, first, last):
        if last > first:
            raise lost("[719] launch failed")
        return np.zeros(4, np.int64)

    monkeypatch.setattr(gpu.GpuWalks, "walk", fail)
    with pytest.raises(gpu.GpuFailed, match=r"launch failed.*--resume"):
        kibitz.train(iterations=200, run=RunOptions(path, resume=True, device="gpu"))
    assert load_blueprint(path).sha256 == before


def test_too_little_memory_is_refused_with_sizes(monkeypatch):
    few = SimpleNamespace(get_memory_info=lambda: SimpleNamespace(free=10**8, total=10**9))
    monkeypatch.setattr(gpu.gpu(), "current_context", lambda: few)
    with pytest.raises(SolverError, match=r"take 1\.0 GB, but the GPU has 0\.1 GB free"):
        kibitz.train("kuhn", iterations=1, run=RunOptions(device="gpu"))


@pytest.mark.parametrize("name", ["leduc", "example"])
def test_the_benchmark_checks_first(name, monkeypatch):
    from kibitz.bench import bench_gpu_walks as bench_gpu

    monkeypatch.setitem(bench_gpu.CHECKS, name, replace(bench_gpu.CHECKS[name], few=4, many=0))
    answer = bench_gpu.check(name)
    assert answer["right"] and answer["agree"] == 1.0
    two = bench_gpu.CHECKS[name].blueprint(7)
    two.train(iterations=4)
    one = bench_gpu.CHECKS[name].blueprint(8)
    one.train(iterations=4)
    assert bench_gpu.agreement(one, two) < bench_gpu.AGREE


def test_rules_in_python_are_refused():
    made = Blueprint.empty(machine_of("kuhn", how="plain"), None, MEMORY)
    with pytest.raises(SolverError, match="plain Python"):
        made.train(iterations=1, device="gpu")
