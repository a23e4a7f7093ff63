"""Public chance sampling on a GPU against that on cores. Where there is no GPU the same source runs as plain C++."""

from __future__ import annotations

import numpy as np
import pytest
from bucketed import FOUR_ROUNDS, SMALL, random_buckets, random_probabilities, rules, two_views
from cuda_on_cores import COMPILER, THERE, OnCores
from typer.testing import CliRunner

import kibitz
from kibitz.bench import bench_gpu_boards
from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.bucketed.device import Device
from kibitz.poker.sampled import gpu
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.gpu import GpuPcs
from kibitz.poker.sampled.pcs import Pcs
from kibitz.poker.whole import plan
from kibitz.solvers import RunOptions, Task
from kibitz.solvers.checkpoints import SolverRun
from kibitz.solvers.progress import RunState
from kibitz.stitch import static

SLOW = ("rhode island of 4 ranks", "turn hold'em of 10 cards", "river hold'em of 10 cards")
GAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in (*SMALL, *FOUR_ROUNDS)]
compiles = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


class PcsOnCores(OnCores, GpuPcs):
    """The source for a GPU, compiled for a core."""

    def __init__(self, task, folder, dtype=np.float64, linear=True, batch=512):
        self.folder = folder
        super().__init__(task, "pcs", linear, dtype, Device("cpu"), batch)


def on_gpu(task, folder, dtype=np.float64, linear=True, batch=512):
    return GpuPcs(task, "pcs", linear, dtype, Device("gpu"), batch)


def game_of(name, fixed):
    """Two views, and nodes that are frozen: fixed(form) says which, or none are."""
    form = two_views(name)[0]
    if fixed is None:
        return form, random_probabilities(form, 5)
    probabilities = random_probabilities(form, 5)
    frozen = Frozen(fixed(form), lambda node: form.at(probabilities, node), "some")
    return ViewForm(form.game, form.buckets, form.of_node, frozen), probabilities


def some_nodes(form):
    return np.random.default_rng(9).random(len(form.betting)) < 0.4


def outside_of_a_part(form):
    """An expert for the betting after a first raise: segments that lead nowhere are left out."""
    return np.array([text[:1] != "r" for text in form.betting.text])


def in_use(solver):
    """By seat: which numbers are of lanes that are used."""
    used = [np.zeros(len(each), np.bool_) for each in solver.regret]
    for seat, at, node, lane in solver._blocks():
        size = int(solver.form.rows[node] * solver.form.count[node])
        used[seat].reshape(-1, solver._wide)[at : at + size, lane] = True
    return used


def same(one, two, rtol):
    used = in_use(two)
    for name, every in two.state.items():
        wanted, found = every[used[int(name[-1])]], one.state[name][used[int(name[-1])]]
        assert found.dtype == wanted.dtype and len(found)
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * max(1e-12, np.abs(wanted).max()))


def step_alike(made, folder, name, fixed, dtype=np.float64, rtol=1e-12, linear=True):
    form, first = game_of(name, fixed)
    task = Task(None, form, None, first, 3, 1)
    cores, other = Pcs(task, "pcs", linear, dtype), made(task, folder, dtype, linear)
    for solver in (cores, other):
        solver.iteration = 6  # so that weights are not 1
        solver.step(1)
    same(other, cores, rtol)
    learnt = cores.average[0].max() + cores.average[1].max()
    assert learnt > 0
    np.testing.assert_allclose(other.probabilities(), cores.probabilities(), rtol=1e-4, atol=1e-5)


@compiles
@pytest.mark.parametrize("fixed", [None, some_nodes])
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(3)
def test_a_step_learns_what_the_kernels_learn(name, fixed, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "MOST_TERMS", 2)
    step_alike(PcsOnCores, tmp_path, name, fixed)


@compiles
def test_an_expert_learns_what_it_learns_on_cores(tmp_path):
    step_alike(PcsOnCores, tmp_path, "leduc", outside_of_a_part, np.float32, 1e-6, linear=False)


def batch_sums(made, folder, name, seat, dtype=np.float64, rtol=1e-10):
    """A batch learns what its boards would, each from the same strategies: the other seat is frozen."""
    form, first = game_of(name, lambda form: form.betting.turn == 1 - seat)
    task = Task(None, form, None, first, 3, 2)
    batch, count, begins = made(task, folder, dtype), 100, 6990  # so late that all are one batch
    batch.iteration = begins
    batch.step(count)
    cores = Pcs(task, "pcs", True)
    before = cores.regret[seat].copy()
    regret, average = before.astype(np.float64), np.zeros(len(before))
    for at in range(begins, begins + count):
        cores.regret[seat][:], cores.average[seat][:], cores.iteration = before, 0.0, at
        cores.step(1)
        regret += cores.regret[seat].astype(np.float64) - before
        average += cores.average[seat]
    rtol = max(rtol, 1e-5)  # of what the processor learns in single precision
    used = in_use(cores)[seat]
    for name, wanted in (("regret", regret), ("average", average)):
        np.testing.assert_allclose(
            batch.state[f"{name}{seat}"][used], wanted[used], rtol=rtol, atol=rtol * np.abs(wanted).max()
        )


@compiles
@pytest.mark.parametrize("seat", [0, 1])
def test_a_batch_learns_what_its_boards_do(seat, tmp_path):
    batch_sums(PcsOnCores, tmp_path, "leduc", seat)


@compiles
def test_batches_grow_and_end_where_they_should(tmp_path, monkeypatch):
    form = two_views("kuhn")[0]
    solver = PcsOnCores(Task(None, form, None, None, 1, 1), tmp_path, np.float32, batch=20)
    sizes = []
    batch = solver._batch
    monkeypatch.setattr(solver, "_batch", lambda count: (sizes.append((solver.iteration, count)), batch(count)))
    for count in (1, 2, 97, 900):
        solver.step(count)
    assert solver.iteration == 1000 and sum(size for _, size in sizes) == 1000
    assert all(size <= min(20, 1 + done // gpu.GROWTH) for done, size in sizes) and max(sizes)[1] > 10
    leduc = GpuPcs(Task(None, two_views("leduc")[0], None, None, 1, 1), "pcs", True, np.float32, Device("cpu"))
    assert leduc.most == 6  # boards of the game


@compiles
def test_each_device_goes_on_where_the_other_was(tmp_path):
    form = two_views("leduc")[0]
    task = Task(None, form, None, None, 2, 1)
    cores, saved = Pcs(task, "pcs", True), tmp_path / "a.checkpoint"
    cores.step(40)
    SolverRun(cores, form, RunState()).save(saved)
    (tmp_path / "code").mkdir()
    other = PcsOnCores(task, tmp_path / "code", np.float32)
    other.step(3)  # of another run
    SolverRun(other, form, RunState()).restore(saved, 2)
    assert other.iteration == 40
    same(other, cores, 0.0)
    for solver in (cores, other):
        solver.step(1)
    same(other, cores, 1e-5)
    other.step(60)
    SolverRun(other, form, RunState()).save(tmp_path / "b.checkpoint")
    back = Pcs(task, "pcs", True)
    SolverRun(back, form, RunState()).restore(tmp_path / "b.checkpoint", 2)
    same(back, other, 0.0)
    assert (back.probabilities() == other.probabilities()).all() and back.iteration == 101


@compiles
@pytest.mark.slow
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
def test_batches_go_where_full_cfr_goes(name, tmp_path):
    poker = rules(name)
    buckets, _ = random_buckets(poker, 3, 1)
    full, task = bucket_form(poker, buckets), Task(None, ViewForm(poker, [buckets]), None, None, 0, 2)
    cores, other = Pcs(task, "pcs", True), PcsOnCores(task, tmp_path, np.float32)
    gaps = []
    for solver in (cores, other):
        solver.step(4000)
        gaps.append(full.measure(solver.probabilities()).nash_conv)
    assert gaps[1] < 2.0 * gaps[0] and gaps[1] < 0.01 * full.scale


# Measured


@compiles
def test_the_benchmark_checks_first(tmp_path, monkeypatch):
    def on_cores(task, spec, linear):
        return PcsOnCores(task, tmp_path, np.float32, linear)

    found = bench_gpu_boards.check("leduc", on_cores)
    assert found["right"] and found["apart"] < 1e-5
    monkeypatch.setattr(Pcs, "_times", lambda self, level: 1.0 + (self.__class__ is Pcs))  # the CPU is wrong
    assert not bench_gpu_boards.check("leduc", on_cores)["right"]
    monkeypatch.setattr(bench_gpu_boards, "check", lambda name: {"right": name != "leduc"})
    with pytest.raises(SolverError, match=r"\(leduc\): nothing was timed"):
        bench_gpu_boards.bench_boards(1.0, lambda line: None)


def test_the_page_has_a_table_of_boards():
    rate = {"game": "hold'em", "buckets": [8, 4096], "infosets": 23545754, "batch": 128, "boards": 4000.0}
    told = "\n".join(bench_gpu_boards.boards_markdown({"checks": {"leduc": {}}, "rates": {"a": {**rate, "cpu": 25.0}}}))
    assert "| 23,545,754 | 8, 4,096 | 4,000 | 25.0 | 160x |" in told


def test_made_up_buckets_are_buckets():
    poker = rules("river hold'em of 10 cards")
    buckets = bench_gpu_boards.made_up_buckets(poker.definition, (2, 2, 2, 4))
    assert buckets.counts == [2, 4, 8, 32] and buckets.perfect_recall
    solver = Pcs(Task(None, ViewForm(poker, [buckets]), None, None, 0, 1), "pcs", True)
    solver.step(20)
    assert np.isfinite(solver.probabilities()).all() and solver.average[0].max() > 0


# In words


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_without_a_gpu_there_is_a_sentence():
    with pytest.raises(SolverError, match="leave out --device"):
        kibitz.solve("poker(file=leduc)", "pcs", abstraction="percentile(2)", run=RunOptions(device="gpu"))
    order = ["solve", "poker(file=leduc)", "--abstraction", "percentile(2)", "--solver", "pcs", "--device", "gpu"]
    part = ["--base", "percentile(2)", "--partition", "prefix(r)", "--inside", "percentile(2)"]
    stitched = ["stitch", "poker(file=leduc)", *part, "--solver", "pcs", "--device", "gpu", "--iterations", "2"]
    for words in (order, stitched):
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 2 and "leave out --device" in " ".join(told.output.split())
    with pytest.raises(SolverError, match=r"--device .* is for experts that are solved on samples"):
        static("leduc", kibitz.solve("leduc", iterations=1), "prefix(r)", device="gpu", iterations=1)


@compiles
def test_experts_may_be_solved_there(tmp_path, monkeypatch):
    """Stitching on sampled boards hands the device on."""
    made = []

    def pcs_on_cores(task, spec, linear):
        made.append(task.form)
        return PcsOnCores(task, tmp_path, np.float32, linear)

    monkeypatch.setattr(gpu, "GpuPcs", pcs_on_cores)
    monkeypatch.setattr("kibitz.poker.stitching.experts.Device", lambda name: None)
    how = {"solver": "pcs", "iterations": 8, "device": "gpu"}
    found = static("poker(file=leduc)", "percentile(2)", "prefix(r)", "each", "percentile(3)", **how)
    assert len(made) == 3 and sum(form.frozen is not None for form in made) == 2
    again = static("poker(file=leduc)", "percentile(2)", "prefix(r)", "each", "percentile(3)",
                          **{**how, "device": "cpu"})  # fmt: skip
    assert len(made) == 3 and found.probabilities.shape == again.probabilities.shape
    np.testing.assert_allclose(found.probabilities, again.probabilities, atol=1e-3)


def test_too_little_memory_is_said_before_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(Device, "free", lambda self: 1000)
    with pytest.raises(SolverError, match=r"GB of the GPU's memory, and 0.0 GB may be used: take fewer buckets"):
        PcsOnCores(Task(None, two_views("leduc")[0], None, None, 0, 1), tmp_path)


# With a GPU


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("fixed", [None, some_nodes, outside_of_a_part])
@pytest.mark.parametrize("name", [*SMALL, *FOUR_ROUNDS])
def test_a_gpu_learns_the_same(name, fixed):
    for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-6)):
        step_alike(on_gpu, None, name, fixed, dtype, rtol)


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("seat", [0, 1])
def test_a_gpu_sums_over_a_batch(seat):
    batch_sums(on_gpu, None, "turn hold'em of 10 cards", seat)
