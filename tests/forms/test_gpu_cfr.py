"""CFR on a GPU against CFR on cores. Where there is no GPU the same source runs as C++, warp by warp."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_on_cores import THERE
from gpu_on_cores import COMPILER, CoreLauncher
from random_games import Nested, RandomGame, choice, edge_cases, end
from test_rows import random_task
from typer.testing import CliRunner

import kibitz
from kibitz.bench import bench_gpu_trees as bench
from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.forms.gpu import launcher as launchers
from kibitz.forms.gpu import layout as layouts
from kibitz.forms.gpu.layout import layout_of
from kibitz.forms.gpu.state import GpuCfrState, pace_of, shapes
from kibitz.forms.kernels.cfr import Rule, discount
from kibitz.forms.sequence import form_of
from kibitz.games import game
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers import ON_GPU, SOLVERS, RunOptions, Task, auto, make

VARIANTS = (
    "cfr", "cfr+", "lcfr", "dcfr", "dcfr+", "pdcfr+", "pcfr+", "cfr(updates=simultaneous)", "dcfr(beta=-1)",
    "pcfr+(updates=simultaneous)", "lcfr(delay=2, updates=simultaneous)",
)  # fmt: skip
CLOSE = 1e-9  # in double precision, of sums that are added up in another order


pytestmark = pytest.mark.skipif(not (COMPILER or THERE), reason="neither a GPU nor g++")


def launcher():
    return launchers.CupyLauncher() if THERE else CoreLauncher()


def pair(form, spec, rows=None, start=None, coded=None):
    """A solver on cores, and the same on the GPU."""
    mine, there = (make(spec, Task(None, form, rows, start)) for _ in range(2))
    there.cfr_state = GpuCfrState(form, rows, start, launcher(), coded)
    return mine, there


def inner(form, state):
    """The arrays of a state; sums of empty sequences are not read."""
    return {name: array[form.column >= 0] if len(array) == form.sequences else array for name, array in state.items()}


def compare(form, spec, rows=None, start=None, coded=None, stops=(1, 2, 5, 20)):
    mine, there = pair(form, spec, rows, start, coded)
    for stop in (0, *stops):
        for each in (mine, there):
            each.step(stop - each.iteration)
        here, away = inner(form, mine.state), inner(form, there.state)
        assert here.keys() == away.keys()
        for name, array in here.items():
            scale = 1.0 + np.abs(array).max(initial=0.0)
            assert away[name].dtype == array.dtype
            np.testing.assert_allclose(away[name], array, rtol=CLOSE, atol=CLOSE * scale, err_msg=name)
        one, two = mine.measure(), there.measure()
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(b, a, rtol=CLOSE, atol=10 * CLOSE * form.scale)


# Iterations


@pytest.mark.parametrize("seed", range(48))
@pytest.mark.some(16)
def test_random_games(seed):
    recall = ("perfect", "perfect", "past", "nothing")[seed % 4]
    payoffs = ("zero-sum", "general", "whole")[seed % 3]
    play = RandomGame(seed, 1 + seed % 4, depth=5, widest=5, recall=recall, payoffs=payoffs, most=250)
    form = form_of(lay_out(play))
    for k in range(3):
        compare(form, VARIANTS[(seed + 4 * k) % len(VARIANTS)], coded=bool(seed % 2))


@pytest.mark.parametrize("name", edge_cases())
def test_edge_cases(name):
    form = form_of(lay_out(edge_cases()[name]))
    for spec in ("cfr+", "dcfr", "pcfr+(updates=simultaneous)"):
        compare(form, spec)


@pytest.mark.parametrize("seed", range(16))
@pytest.mark.some(6)
def test_shared_frozen_and_closed_rows(seed):
    rng = np.random.default_rng(seed)
    play = RandomGame(seed, 2 + seed % 2, depth=5, widest=4, recall=("perfect", "nothing")[seed % 2], most=250)
    task = random_task(play, rng, share=1 + seed % 4, close=0.2 * (seed % 3))
    form, rows = task[1], task[2]
    for spec in ("cfr+", "dcfr", "pcfr+(updates=simultaneous)"):
        compare(form, spec, rows)


def many_children(count=150):
    """A seat sees one of many signals after its first move, and the other none: long rows, and many children."""

    def signal(x):
        outcomes = [(f"{k}", 1.0 / count, second(x, k)) for k in range(count)]
        return ("chance", tuple(outcomes))

    def second(x, k):
        return choice(0, f"{x} {k}", *(other(x, k, y) for y in range(2 + k % 4)))

    def other(x, k, y):
        pay = [(3 * x + k * (y + 1) + 5 * z) % 7 - 3.3 for z in range(6)]
        return choice(1, "blind", *(end(p, -p) for p in pay))

    return Nested(2, choice(0, "first", *(signal(x) for x in range(3))))


@pytest.mark.parametrize("spec", ["cfr+", "dcfr(updates=simultaneous)"])
def test_long_rows_and_many_children(spec):
    form = form_of(lay_out(many_children()))
    shift = layout_of(form, None).arrays["piece"][:, 3]
    assert 3 | 2 << 5 in shift and len(set(shift % 32)) > 2  # eight lanes for each of four actions
    compare(form, spec)


@pytest.mark.parametrize("split", [1, 3, 64])
def test_long_rows_are_cut(monkeypatch, split):
    monkeypatch.setattr(layouts, "SPLIT", split)
    for play in (many_children(40), RandomGame(5, 3, depth=5, widest=4), RandomGame(6, 2, depth=5, recall="nothing")):
        form = form_of(lay_out(play))
        assert layout_of(form, None).slots > form.points or split == 64
        for spec in ("cfr+", "pcfr+(updates=simultaneous)"):
            compare(form, spec, coded=split > 1)


@pytest.mark.parametrize("spec", ["cfr+", "dcfr(updates=simultaneous)"])
def test_more_actions_than_a_warp_has_lanes(spec):
    def row(x):
        pay = [((x + 1) * (y + 2) * 7919 % 83) / 9 - 4 for y in range(45)]
        return choice(1, "wide", *(end(p, -p) for p in pay))

    compare(form_of(lay_out(Nested(2, choice(0, "wide", *(row(x) for x in range(40)))))), spec)


@pytest.mark.parametrize("spec", ["leduc", "kuhn(players=3)", "liars_dice(dice_sides=3)"])
def test_games(spec):
    compare(form_of(tree_of(game(spec))), "dcfr+", stops=(1, 30))


def test_a_start():
    form = form_of(tree_of(game("kuhn")))
    weights = np.random.default_rng(1).random(form.columns)
    compare(form, "cfr+", start=form.to_probabilities(form.to_strategy(weights)))


def test_a_table_of_payoffs_changes_nothing(monkeypatch):
    form = form_of(tree_of(game("leduc")))
    plain, coded = (pair(form, "cfr+", coded=each)[1] for each in (False, True))
    assert coded.cfr_state.layout.coded and not plain.cfr_state.layout.coded
    assert coded.cfr_state.layout.bytes < plain.cfr_state.layout.bytes
    for each in (plain, coded):
        each.step(40)
    for name, array in plain.state.items():
        assert np.array_equal(array, coded.state[name])
    rare = np.zeros(1_000_000)
    rare[123_457], rare[-1] = 2.0, -3.0  # that a sample misses
    table, codes = layouts._codes(rare)
    assert np.array_equal(table[codes], rare) and codes.dtype == np.uint8
    monkeypatch.setattr(layouts, "MOST_CODES", 5)
    assert not layout_of(form, None, True).coded  # too many for a table


def test_weights_are_those_of_the_processor():
    for alpha, beta, gamma, delay in ((np.inf, np.inf, 1.0, 0.0), (1.5, -np.inf, 2.0, 3.0), (2.3, 0.0, 0.0, 4.0)):
        rule = Rule(alpha, beta, gamma, delay, 0.0, 0.0, True)
        for t, (grow, keep, weight) in zip(range(4, 10), pace_of(rule, 3, 6), strict=True):
            assert grow == pytest.approx(discount.py_func(alpha, t - 1), rel=1e-15)
            assert keep == pytest.approx(discount.py_func(beta, t - 1), rel=1e-15)
            assert weight == pytest.approx((t - delay) ** gamma if t > delay else 0.0, rel=1e-15)


# Launches


def test_the_fastest_shape_of_launches_stays():
    form = form_of(tree_of(game("kuhn")))
    there = CoreLauncher(clock=lambda launch: abs(launch[1][0] - 4) + 1.0)
    state = GpuCfrState(form, None, None, there)
    tried = shapes(8)
    assert tried == [(8, 1024), (8, 512), (4, 1024), (2, 1024), (1, 1024)]
    rule = Rule(np.inf, np.inf, 1.0, 0.0, 0.0, 0.0, True)
    state.iterate(rule, 0, 500, 1)
    used = [shape for name, shape in there.launches if name == "iterate"]
    assert set(used) >= set(tried[:4]) and tried[4] not in used  # two blocks were much slower than four
    assert set(used[-3:]) == {(4, 1024)}
    there.launches.clear()
    state.iterate(rule, 511, 300, 1)
    assert [name for name, _ in there.launches] == ["listen", "iterate"]  # no launch for each iteration


@pytest.mark.parametrize("block", [1, 8, 64])
def test_chunks_and_crowns(monkeypatch, block):
    """Games cut into many chunks, with and without a crown, are solved alike."""
    for cost in (0.0, 100.0):
        monkeypatch.setattr(layouts, "BLOCK", block)
        monkeypatch.setattr(layouts, "LEVEL_COST", cost)
        monkeypatch.setattr(layouts, "CROWN_COST", cost)
        crowns = 0
        for spec in ("leduc", "liars_dice(dice_sides=3)", "kuhn(players=3)"):
            form = form_of(tree_of(game(spec)))
            crowns += layout_of(form, None).arrays["seat_crown"].sum()
            compare(form, "dcfr+", stops=(1, 5))
            compare(form, "cfr(updates=simultaneous)", stops=(5,))
        assert (crowns > 0) == (cost == 0.0)


def test_chunks_are_whole_subtrees():
    form = form_of(tree_of(game("liars_dice(dice_sides=4)")))
    rng = np.random.default_rng(1)
    for seat in range(2):
        low, high = form.seat_point[seat : seat + 2]
        above = form.point_of[form.parent[low:high]].astype(np.int64)
        above = np.where(above >= 0, above - low, -1)
        depth = np.zeros(high - low, np.int64)
        for point in range(high - low):
            depth[point] = depth[above[point]] + 1 if above[point] >= 0 else 0
        for scale in (1, 50, 3000):
            crown, chunk = layouts.chunks_of(above, depth, scale * rng.integers(1, 9, len(above)))
            assert ((depth < crown) == (chunk < 0)).all()
            below = (above >= 0) & (depth > crown)
            assert (chunk[below] == chunk[above[below]]).all()
            assert set(np.unique(chunk)) - {-1} == set(range(int(chunk.max()) + 1))


def test_steps_may_be_cut_anywhere():
    form = form_of(tree_of(game("leduc")))
    at_once, cut = pair(form, "dcfr+")[1], pair(form, "dcfr+")[1]
    at_once.step(50)
    for count in (1, 1, 1, 2, 7, 30, 8):
        cut.step(count)
    for name, array in at_once.state.items():
        assert np.array_equal(array, cut.state[name])


def test_too_little_memory_is_a_sentence():
    form = form_of(tree_of(game("leduc")))
    with pytest.raises(SolverError, match=r"leduc needs 0\.00 GB of the GPU's memory, where 0\.00 GB are free"):
        GpuCfrState(form, None, None, CoreLauncher(memory=1000))


def test_memory_is_counted():
    form = form_of(tree_of(game("leduc")))
    there = CoreLauncher()
    taken = []
    there.upload = lambda array: taken.append(array.nbytes) or np.array(array)
    state = GpuCfrState(form, None, None, there)
    assert state.layout.bytes <= sum(taken) <= state.layout.bytes + 1000


# Runs


@pytest.fixture
def a_gpu(monkeypatch):
    """A machine with a GPU, or one whose core stands in for it."""
    if not THERE:
        monkeypatch.setattr(launchers, "CupyLauncher", CoreLauncher)
        monkeypatch.setattr("kibitz.core.gpu.cupy_module", lambda: None)


def test_a_run_moves_between_devices(a_gpu, tmp_path):
    gpu, cpu = RunOptions(progress=False, device="gpu"), RunOptions(progress=False)
    whole = kibitz.solve("leduc", "dcfr+", iterations=40, run=cpu)
    path = tmp_path / "run.checkpoint"
    for k, device in enumerate(("gpu", "cpu", "gpu", "cpu")):
        last = kibitz.solve("leduc", "dcfr+", iterations=10 * (k + 1), run=RunOptions(
            path, resume=k > 0, device=device, progress=False))  # fmt: skip
    np.testing.assert_allclose(last.probabilities, whole.probabilities, atol=1e-7)
    assert last.nash_conv == pytest.approx(whole.nash_conv, abs=1e-9)
    alone = kibitz.solve("leduc", "dcfr+", iterations=40, run=gpu)
    assert [each.iteration for each in alone.history] == [each.iteration for each in whole.history]
    for mine, theirs in zip(alone.history, whole.history, strict=True):
        assert mine.nash_conv == pytest.approx(theirs.nash_conv, abs=1e-9)


def test_an_abstract_game_on_the_gpu(a_gpu):
    mine, there = (
        kibitz.solve("leduc", "cfr+", abstraction="JQ.K", iterations=30, run=RunOptions(progress=False, device=device))
        for device in ("cpu", "gpu")
    )
    assert there.meta["abstract_nash_conv"] == pytest.approx(mine.meta["abstract_nash_conv"], abs=1e-9)


def test_auto_takes_the_faster_device(a_gpu, monkeypatch):
    form = form_of(tree_of(game("kuhn(players=3)")))  # no linear program
    tried = []

    def told(faster):
        def rate(solver):
            tried.append(on_gpu(solver))
            return 2.0 if on_gpu(solver) == faster else 1.0

        return rate

    def on_gpu(solver):
        return isinstance(solver.cfr_state, GpuCfrState)

    task = Task(None, form, device="gpu")
    monkeypatch.setattr(auto, "rate", told(True))
    assert not on_gpu(make("auto", task)) and not tried  # so small a game is not tried
    monkeypatch.setattr(auto, "GPU_FROM", form.entries)
    chosen = make("auto", task)
    assert on_gpu(chosen) and chosen.iteration == 0 and tried == [True, False]
    assert not on_gpu(make("auto", Task(None, form)))  # nobody asked for a GPU
    monkeypatch.setattr(auto, "rate", told(False))
    assert not on_gpu(make("auto", task))
    assert make("auto", Task(None, form_of(tree_of(game("leduc"))), device="gpu")).spec == "lp"  # exact, and quick
    monkeypatch.setattr("kibitz.forms.gpu.state.MARGIN", 1 << 60)
    with pytest.warns(UserWarning, match=r"runs on cores: .* GB of the GPU's memory"):
        assert not on_gpu(make("auto", task))


def test_a_trial_measures_iterations():
    mine, there = pair(form_of(tree_of(game("kuhn"))), "cfr+")
    assert auto.rate(mine) > 100 and auto.rate(there) > 100


def test_the_command(a_gpu, tmp_path):
    out = tmp_path / "kuhn.profile"
    told = CliRunner().invoke(app, ["solve", "kuhn", "--solver", "cfr+", "--iterations", "50", "--device", "gpu",
                                    "--out", str(out), "--quiet"])  # fmt: skip
    assert told.exit_code == 0, told.output
    mine = kibitz.solve("kuhn", "cfr+", iterations=50)
    np.testing.assert_allclose(kibitz.load(out).probabilities, mine.probabilities, atol=1e-9)


def test_solvers_without_a_gpu_say_so(a_gpu):
    assert set(ON_GPU) == {"auto", *(name for name, (where, _) in SOLVERS.items() if ".cfr:" in where)}
    for spec in ("lp", "egt", "fp", "mccfr"):
        with pytest.raises(SolverError, match=r"processor's cores alone.*or take one of cfr, cfr"):
            kibitz.solve("kuhn", spec, iterations=1, run=RunOptions(device="gpu"))


@pytest.mark.skipif(THERE, reason="there is a GPU")
def test_no_gpu_is_a_sentence():
    with pytest.raises(SolverError, match="leave out --device"):
        kibitz.solve("kuhn", "cfr+", run=RunOptions(device="gpu"))
    told = CliRunner().invoke(app, ["solve", "leduc", "--device", "gpu"])
    assert told.exit_code == 2 and "leave out --device" in " ".join(told.output.split())
    with pytest.raises(SolverError, match="choose cpu or gpu"):
        kibitz.solve("kuhn", "cfr+", run=RunOptions(device="tpu"))


# The stage of the bench


def test_the_bench_checks_and_then_measures(a_gpu, monkeypatch):
    lines = []
    found = bench.bench_trees(0.02, lines.append, checked=["kuhn"], timed=["kuhn", "leduc"], solved=["kuhn"])
    assert found["checks"]["kuhn"]["right"] and found["rates"]["leduc"]["histories"] == 9457
    assert found["rates"]["kuhn"]["to"]["nash_conv"] <= bench.UNTIL and len(lines) == 3
    for of in found["rates"].values():
        assert of["ratio"] == pytest.approx(of["gpu"] / max(of["thread"], of["cores"]))
    text = "\n".join(bench.trees_markdown({"trees": found}))
    assert "| `leduc` | 9,457 | 12,978 |" in text and not bench.trees_markdown({})
    monkeypatch.setattr("kibitz.forms.gpu.state.pace_of", lambda rule, done, count: 1.001 * pace_of(rule, done, count))
    with pytest.raises(SolverError, match=r"not that of the processor \(kuhn\): nothing was timed"):
        bench.bench_trees(0.02, lines.append, checked=["kuhn"], timed=["kuhn"])


def test_games_as_openspiel_names_them():
    assert bench.spiel_name("liars_dice") == "liars_dice(numdice=1,dice_sides=6)"
    assert bench.spiel_name("leduc(players=3)") == "leduc_poker(players=3)"
    assert "numSuits=4,numRanks=13," in bench.spiel_name("leduc(ranks=13, suits=4)")
    assert bench.spiel_name("leduc(players=3, ranks=6)") is None and bench.spiel_name("toepen") is None
    pyspiel = pytest.importorskip("pyspiel")
    for spec in ("leduc", "leduc(ranks=4)", "kuhn"):
        rules = pyspiel.load_game(bench.spiel_name(spec))
        theirs = pyspiel.nash_conv(rules, pyspiel.UniformRandomPolicy(rules))
        form = form_of(tree_of(game(spec)))
        assert form.measure(form.uniform()).nash_conv == pytest.approx(theirs, abs=1e-9)
