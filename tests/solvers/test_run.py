"""The training loop: threads, stops, checkpoints, interruptions and resuming, all to the last bit."""

from __future__ import annotations

import itertools
import json
import math
import os
import signal

import numpy as np
import pytest
from random_games import Nested, RandomGame, choice, end
from test_rows import random_task

import kibitz
from kibitz import evaluate
from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.forms import bundles, sequence
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers import RunOptions, Task, checkpoints, make, run
from kibitz.solvers.run import solve, solve_through

ITERATIVE = (
    "cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "cfr+(updates=simultaneous)", "fp", "mccfr", "mccfr(sampling=outcome)",
    "mccfr(sampling=chance, averaging=linear)",
)  # fmt: skip


def same_bytes(solvers):
    states = [{k: v.tobytes() for k, v in s.state.items()} | {"p": s.probabilities().tobytes()} for s in solvers]
    return all(state == states[0] for state in states)


# Threads


@pytest.mark.parametrize("text", ["liars_dice(dice_sides=5)", "leduc(players=3, suit_isomorphism=true)"])
@pytest.mark.some(1)
def test_the_number_of_threads_does_not_change_a_byte(text):
    tree = lay_out(kibitz.game(text))
    form = form_of(tree)
    assert len(form.arrays.chunk_seq) - 1 > 2 * tree.players and len(form.arrays.batch_row) > 5
    for spec in ("cfr+", "dcfr(updates=simultaneous)"):
        assert len({solve(tree, spec, iterations=6, threads=t).sha256 for t in (1, 2, 3, 4)}) == 1
    rng = np.random.default_rng(0)
    infosets = tree.infosets
    row = np.array([int(a) * 400 + int(rng.integers(400)) for a in infosets.actions_of])
    seat = np.searchsorted(infosets.seat_start, np.arange(len(row)), side="right") - 1
    row = np.unique(row * tree.players + seat, return_inverse=True)[1]
    mapped = row_map(form, row, rng.random(row.max() + 1) > 0.2, form.uniform())
    for spec in ("cfr+", "pcfr+(updates=simultaneous)"):
        assert len({solve_through(tree, spec, rows=mapped, iterations=4, threads=t).sha256 for t in (1, 2, 3, 4)}) == 1


@pytest.mark.parametrize("spec", ["cfr+", "dcfr", "cfr(updates=simultaneous)"])
@pytest.mark.parametrize("work", [pytest.param(16, marks=pytest.mark.slow), 64])
@pytest.mark.some(2)
def test_chunks_and_threads_on_small_games(monkeypatch, spec, work):
    """Small chunks force crowns and many chunks: the same strategy but for rounding, the same bytes for any threads."""
    named = [kibitz.game("kuhn(players=3)"), kibitz.game("leduc(suit_isomorphism=true)")]
    games = [*named, RandomGame(4, 3, depth=6, most=400)]
    crowns = 0
    for game in games:
        tree = lay_out(game)
        whole = sequence.build(tree)
        monkeypatch.setattr(sequence, "CHUNK_WORK", work)
        monkeypatch.setattr(bundles, "CHUNK_WORK", work)
        cut = sequence.build(tree)
        monkeypatch.undo()
        arrays = cut.arrays
        crowns += sum(arrays.chunk_run[c + 1] > arrays.chunk_run[c] for c in arrays.seat_chunk[:-1])
        assert "leduc" not in tree.spec or len(arrays.chunk_seq) > 3 * len(whole.arrays.chunk_seq)
        for rows in (False, True):
            solvers = []
            for form, threads in [(whole, 1), (cut, 1), (cut, 2), (cut, 3), (cut, 4)]:
                mapped = None
                if rows:
                    rng = np.random.default_rng(1)
                    moves = rng.random(len(tree.infosets.labels)) > 0.2
                    base = normalise(rng.random(int(tree.infosets.first[-1])), tree.infosets)
                    mapped = row_map(form, moves=moves, base=base)
                solver = make(spec, Task(tree, form, mapped, threads=threads))
                for count in (1, 2, 12):
                    solver.step(count)
                solvers.append(solver)
            np.testing.assert_allclose(solvers[1].probabilities(), solvers[0].probabilities(), rtol=0, atol=1e-12)
            assert same_bytes(solvers[1:]), (game, rows)
    assert crowns > 2


def test_more_threads_than_work():
    shas = {solve("kuhn", "cfr+", iterations=20, threads=t).sha256 for t in (1, 7, 16)}
    assert len(shas) == 1


@pytest.mark.parametrize("threads", [0, -1, 2000])
def test_threads_that_make_no_sense(threads):
    with pytest.raises(SolverError, match="must be from 1 to 1024"):
        solve("kuhn", threads=threads)


# Stops


def test_stops():
    assert solve("kuhn", "cfr+", iterations=17).meta["iterations"] == 17
    assert solve("kuhn", "cfr+").meta["iterations"] == run.DEFAULT_ITERATIONS
    assert solve("kuhn", "lp", iterations=50).meta["iterations"] == 1
    zero = solve("kuhn", "cfr+", iterations=0)
    assert zero.meta["iterations"] == 0 and zero.probabilities.tolist() == [0.5] * 24
    both = solve("kuhn", "cfr+", until=1e-2, iterations=100_000, seconds=60)
    assert evaluate.nash_conv("kuhn", both) <= 1e-2 and both.meta["iterations"] < 1000
    few = solve("kuhn", "cfr+", until=1e-9, iterations=5)
    assert few.meta["iterations"] == 5


def test_seconds_are_those_of_the_clock(monkeypatch):
    """A clock that goes on by a hundredth of a second whenever it is looked at."""
    ticks = itertools.count()
    monkeypatch.setattr(run, "clock", lambda: next(ticks) / 100)
    late = solve("kuhn", "cfr+", seconds=0.3)
    assert 0.3 <= late.seconds < 0.4 and late.meta["iterations"] >= 3
    more = solve("kuhn", "cfr+", seconds=0.6)
    assert 0.6 <= more.seconds < 0.7 and more.history[-1].iteration > late.meta["iterations"]


def test_until_stops_in_the_same_place_each_time():
    runs = [solve("kuhn", "cfr+", until=3e-3, threads=t) for t in (1, 1, 2)]
    assert len({(p.meta["iterations"], p.sha256) for p in runs}) == 1
    assert runs[0].meta["nash_conv"] <= 3e-3
    assert runs[0].meta["nash_conv"] == pytest.approx(evaluate.nash_conv("kuhn", runs[0]), abs=1e-15)
    assert runs[0].meta["value"] == pytest.approx(evaluate.value("kuhn", runs[0]).tolist(), abs=1e-15)


def test_until_does_not_depend_on_how_fast_the_machine_is(monkeypatch):
    shas = set()
    for block in (1e-9, 1e-4, 10.0):
        monkeypatch.setattr(run, "BLOCK_SECONDS", block)
        shas.add(solve("leduc(suit_isomorphism=true)", "cfr+", until=0.5).sha256)
    assert len(shas) == 1


@pytest.mark.parametrize(
    "stop",
    [
        {"iterations": -1}, {"iterations": 1.5}, {"until": -1}, {"until": math.nan}, {"seconds": 0}, {"seconds": -3},
        {"seconds": math.nan},
    ],
)  # fmt: skip
def test_stops_that_make_no_sense(stop):
    with pytest.raises(SolverError, match=next(iter(stop))):
        solve("kuhn", "cfr+", **stop)


def test_numbers_of_numpy_are_numbers(tmp_path):
    profile = solve("kuhn", "mccfr", iterations=np.int64(12), seed=np.int64(3), run=RunOptions(tmp_path / "c"))
    profile.save(tmp_path / "p")
    assert Profile.load(tmp_path / "p").sha256 == solve("kuhn", "mccfr", iterations=12, seed=3).sha256


# Evaluations


def test_evaluations():
    told = []
    profile = solve("kuhn", "cfr+", iterations=200, run=RunOptions(progress=told.append))
    assert told == profile.history and profile.seconds > 0 and not profile.interrupted
    assert told[0].iteration == 0 and told[-1].iteration == 200
    numbers = [look.iteration for look in told]
    assert numbers == sorted(set(numbers))
    assert [look.seconds for look in told] == sorted(look.seconds for look in told)
    assert told[-1].nash_conv == profile.meta["nash_conv"] and told[-1].value == profile.meta["value"]
    assert told[0].nash_conv == pytest.approx(11 / 12)
    for look in told[::10]:
        again = solve("kuhn", "cfr+", iterations=look.iteration)
        assert look.nash_conv == pytest.approx(evaluate.nash_conv("kuhn", again), abs=1e-14)


def test_where_evaluations_fall():
    seen, at = [0], 0
    while at < 10_000:
        at = run.next_evaluation(at)
        seen.append(at)
    assert seen[:7] == list(range(7)) and len(seen) < 250
    for number in range(0, 3000, 7):
        assert run.next_evaluation(number) == next(s for s in seen if s > number)


# Start


def test_start_profiles():
    first = solve("kuhn", "cfr+", iterations=500)
    assert solve("kuhn", "cfr+", iterations=0, start=first).probabilities == pytest.approx(first.probabilities)
    again = solve("kuhn", "cfr+", iterations=1, start=first)
    assert evaluate.nash_conv("kuhn", again) != evaluate.nash_conv("kuhn", solve("kuhn", "cfr+", iterations=1))
    with pytest.raises(GameError, match="made for another game"):
        solve("kuhn(players=3)", "cfr+", iterations=1, start=first)
    answers = solve("kuhn", "br", start=first)
    for seat in (0, 1):
        mixed = first.probabilities.copy()
        lo, hi = first.infosets.first[first.infosets.seat_start[[seat, seat + 1]]]
        mixed[lo:hi] = answers.probabilities[lo:hi]
        best = evaluate.best_response("kuhn", first, seat).value
        assert evaluate.value("kuhn", first.replaced(mixed))[seat] == pytest.approx(best)


def test_a_forged_start_is_refused():
    small = solve(Nested(2, choice(0, "x", end(1, -1), end(0, 0))), "cfr+", iterations=1)
    forged = Profile(small.infosets, small.probabilities, {"tree": tree_of(kibitz.game("kuhn")).digest})
    with pytest.raises(GameError, match="made for another game"):
        solve("kuhn", "cfr+", iterations=1, start=forged)


# Checkpoints


@pytest.mark.parametrize("spec", [*ITERATIVE, "lp", "br", "auto"])
def test_resumed_is_uninterrupted(spec, tmp_path):
    for number, game in enumerate([kibitz.game("kuhn"), RandomGame(3, 2, depth=5)]):
        whole = solve(game, spec, iterations=60, seed=5)
        path = tmp_path / f"{number}"
        for stop in (0, 1, 7, 31, 60):
            part = solve(game, spec, iterations=stop, seed=5, run=RunOptions(path, resume=stop > 0))
            assert part.meta["iterations"] == (1 if spec in ("br", "lp", "auto") else stop)
            assert checkpoints.checkpoint_meta(path)["iteration"] == part.meta["iterations"]
        assert part.sha256 == whole.sha256
        assert {**part.meta} == {**whole.meta}


@pytest.mark.parametrize("spec", ["cfr+", "dcfr(updates=simultaneous)", "mccfr", "mccfr(sampling=outcome)"])
def test_resumed_with_rows_is_uninterrupted(spec, tmp_path):
    for seed in range(8):
        game = RandomGame(seed, 2, depth=5, recall=("perfect", "past")[seed % 2], payoffs="general")
        share = 2 if seed < 4 else 0
        tree, _form, mapped, _ = random_task(game, np.random.default_rng(seed), share=share, freeze=0.4, close=0.2)
        whole = solve_through(tree, spec, rows=mapped, iterations=40)
        solve_through(tree, spec, rows=mapped, iterations=17, run=RunOptions(tmp_path / f"{seed}"))
        again = solve_through(tree, spec, rows=mapped, iterations=40, run=RunOptions(tmp_path / f"{seed}", resume=True))
        assert again.sha256 == whole.sha256


def test_until_stops_in_the_same_place_when_resumed(tmp_path):
    whole = solve("kuhn", "cfr+", until=1e-3)
    assert whole.meta["iterations"] > 100
    for stop in (1, 20, 50, 97, 101):
        solve("kuhn", "cfr+", iterations=stop, run=RunOptions(tmp_path / f"{stop}"))
        again = solve("kuhn", "cfr+", until=1e-3, run=RunOptions(tmp_path / f"{stop}", resume=True))
        assert (again.meta["iterations"], again.sha256) == (whole.meta["iterations"], whole.sha256)


def test_until_is_not_reached_where_a_run_happened_to_be_cut(tmp_path):
    """Between two evaluations NashConv is small enough already: a run resumed there goes on to the next one."""
    gaps = {n: solve("kuhn", "cfr+", iterations=n).meta["nash_conv"] for n in range(1, 160)}
    looks = {n for n in gaps if run.next_evaluation(n - 1, run.GROWTH_UNTIL) == n}
    cuts = [n for n in gaps if n not in looks and gaps[n] < min(gaps[m] for m in looks if m < n)]
    assert len(cuts) > 3
    for cut in cuts[-3:]:
        whole = solve("kuhn", "cfr+", until=gaps[cut])
        assert whole.meta["iterations"] > cut
        solve("kuhn", "cfr+", iterations=cut, run=RunOptions(tmp_path / f"{cut}"))
        again = solve("kuhn", "cfr+", until=gaps[cut], run=RunOptions(tmp_path / f"{cut}", resume=True))
        assert (again.meta["iterations"], again.sha256) == (whole.meta["iterations"], whole.sha256)


def test_ctrl_c_stops_between_steps_and_saves(tmp_path):
    whole = solve("kuhn", "cfr+", iterations=400)
    for at in (0, 3, 120):

        def interrupt(look, at=at):
            if look.iteration >= at:
                os.kill(os.getpid(), signal.SIGINT)

        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(kibitz.Interrupted) as stop:
            solve("kuhn", "cfr+", iterations=400, run=RunOptions(tmp_path / f"{at}", every=1e9, progress=interrupt))
        part = stop.value.profile
        assert part.interrupted and at <= part.meta["iterations"] < 400
        assert stop.value.saved == part.checkpoint == tmp_path / f"{at}"
        assert signal.getsignal(signal.SIGINT) is before
        again = solve("kuhn", "cfr+", iterations=400, run=RunOptions(tmp_path / f"{at}", resume=True))
        assert again.sha256 == whole.sha256


def test_a_second_ctrl_c_breaks():
    def twice(look):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        solve("kuhn", "cfr+", iterations=400, run=RunOptions(progress=twice))
    assert signal.getsignal(signal.SIGINT) is before


# Checkpoints that do not fit


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "run"
    solve("kuhn", "mccfr", iterations=9, seed=4, run=RunOptions(path))
    return path


def resume(path, game="kuhn", spec="mccfr", seed=4, **more):
    return solve(game, spec, iterations=20, seed=seed, run=RunOptions(path, resume=True), **more)


def test_checkpoints_of_other_runs(saved):
    assert resume(saved).meta["iterations"] == 20
    with pytest.raises(ArtefactError, match="belongs to another run: its seed is 4, here it is 5"):
        resume(saved, seed=5)
    with pytest.raises(ArtefactError, match="belongs to another run: its solver is mccfr, here it is cfr"):
        resume(saved, spec="cfr")
    with pytest.raises(ArtefactError, match="belongs to another run: its tree is"):
        resume(saved, game="kuhn(players=3)")
    with pytest.raises(ArtefactError, match="no saved checkpoint"):
        resume(saved.parent / "nothing")
    with pytest.raises(SolverError, match="resume=True needs checkpoint="):
        solve("kuhn", "cfr+", run=RunOptions(resume=True))
    profile = solve("kuhn", "cfr+", iterations=1)
    profile.save(saved.parent / "p")
    with pytest.raises(ArtefactError, match="holds a profile, not a checkpoint"):
        resume(saved.parent / "p")


def test_checkpoints_of_other_rows(tmp_path):
    """The same game, solver and seed with other rows is another run, also where the arrays are of the same shape."""
    tree = lay_out(kibitz.game("kuhn"))
    form = form_of(tree)
    moves = np.arange(12) % 2 == 0
    maps = [
        None,
        row_map(form),
        row_map(form, moves=moves, base=form.uniform()),
        row_map(form, moves=~moves, base=form.uniform()),
        row_map(form, moves=moves, base=np.tile([0.25, 0.75], 12)),
        row_map(form, np.arange(12)[::-1]),
    ]
    for spec in ("cfr+", "mccfr"):
        for i, mine in enumerate(maps):
            path = tmp_path / f"{spec}{i}"
            whole = solve_through(tree, spec, rows=mine, iterations=12)
            solve_through(tree, spec, rows=mine, iterations=5, run=RunOptions(path))
            for j, other in enumerate(maps):
                if i == j:
                    continue
                with pytest.raises(ArtefactError, match="rows"):
                    solve_through(tree, spec, rows=other, iterations=12, run=RunOptions(path, resume=True))
            again = solve_through(tree, spec, rows=mine, iterations=12, run=RunOptions(path, resume=True))
            assert again.sha256 == whole.sha256


DAMAGE = {
    "another shape": ({"regret": np.zeros(7)}, {}),
    "another type": ({"regret": np.zeros(24, np.float32)}, {}),
    "no numbers": ({"regret": np.full(24, np.nan)}, {}),
    "infinite": ({"average": np.full(24, np.inf)}, {}),
    "an array more": ({"more": np.zeros(3)}, {}),
    "an array less": ({"regret": None}, {}),
    "no iteration": ({}, {"iteration": None}),
    "a negative iteration": ({}, {"iteration": -3}),
    "a fractional iteration": ({}, {"iteration": 1.5}),
    "an iteration in words": ({}, {"iteration": "nine"}),
    "an iteration beyond numbers": ({}, {"iteration": 1 << 70}),
    "no seed": ({}, {"seed": None}),
    "no solver": ({}, {"solver": None}),
    "a solver that is a list": ({}, {"solver": []}),
    "no game": ({}, {"game": None}),
    "no tree": ({}, {"tree": None}),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_checkpoints(name, saved):
    arrays, meta = DAMAGE[name]
    held = store.load(saved, checkpoints.KIND)
    content = {k: v for k, v in {**held.arrays, **arrays}.items() if v is not None}
    store.save(saved, checkpoints.KIND, content, {k: v for k, v in {**held.meta, **meta}.items() if v is not None})
    with pytest.raises(ArtefactError) as caught:
        resume(saved)
    assert "\n" not in str(caught.value)


def test_any_odd_note_of_a_checkpoint_is_an_artefact_error(saved):
    held = store.load(saved, checkpoints.KIND)
    for name in held.meta:
        tables = ([], {}, [[]], [1], {"iterations": "x"}, {"a": 1.0}, [["a", "b", "c", "d"]])
        for odd in (None, -1, 0.5, "x", 1 << 70, *tables):
            if type(odd) is type(held.meta[name]) and name in ("game", "seconds", "stop", "looks"):
                continue
            store.save(saved, checkpoints.KIND, held.arrays, {**held.meta, name: odd})
            try:
                found = resume(saved)
            except ArtefactError:
                continue
            assert name in ("looks", "stop", "seconds", "seed", "rows", "game", "run"), (name, odd)
            assert found.meta["iterations"] == 20


def test_bytes_that_changed(saved):
    for file in sorted(saved.iterdir()):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(ArtefactError):
            resume(saved)
        file.write_bytes(whole[:-1])
        with pytest.raises(ArtefactError):
            resume(saved)
        file.write_bytes(whole)
    assert json.loads((saved / "manifest.json").read_text())["kind"] == checkpoints.KIND
    assert resume(saved).meta["iterations"] == 20


def test_a_checkpoint_is_not_written_over_something_else(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "precious.txt").write_text("mine")
    with pytest.raises(ArtefactError, match="nothing was written"):
        solve("kuhn", "cfr+", iterations=3, run=RunOptions(tmp_path / "notes"))
    assert (tmp_path / "notes" / "precious.txt").read_text() == "mine"
