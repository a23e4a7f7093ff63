"""The excessive gap technique and iterated smoothing: the condition, the value of the programme, resumed runs."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest
from poker_games import pair
from random_games import RandomGame

import kibitz
from kibitz.core.errors import SolverError, SpecError
from kibitz.forms.choice import form_for
from kibitz.forms.sequence import form_of
from kibitz.games.tree import lay_out
from kibitz.solvers import RunOptions, Task, make
from kibitz.solvers.run import solve
from tests import naive

EGT = [
    "egt", "egt(prox=euclidean)", "egt(balance=false)", "egt(steps=conservative)", "egt(weights=share)",
    "egt(prox=euclidean, steps=conservative, balance=false)",
]  # fmt: skip
SMOOTHING = ["smoothing", "smoothing(prox=entropy)", "smoothing(weights=share)"]
LEDUC = -0.085606424078  # the value for seat 0


def games():
    yield "kuhn", form_for("kuhn")
    for seed in range(4):
        yield f"random {seed}", form_of(lay_out(RandomGame(seed, 2, depth=5, most=80)))
    yield "poker form", pair("kuhn").form


def excess(solver):
    """Both sides of the excessive gap condition, from the plans alone and by the slow twins."""
    form, prox = solver.task.form, solver.prox
    kind = "entropy" if prox.kind == prox.kernels.ENTROPY else "euclidean"
    total = 0.0
    for seat in (0, 1):
        tree = prox.trees[seat]
        after = naive.points_after(tree, naive.weights_of(tree, prox.own[seat]))
        centre = {0: 1.0}
        for points in after.values():
            for actions, _ in points:
                centre.update((s, 1.0 / len(actions)) for s in actions)
        worth = form.gradient(seat, solver.plan)
        total += naive.smoothed_response(after, worth, solver.mu[seat], kind, centre)[0]
    return total


@pytest.mark.parametrize("spec", EGT)
def test_the_excessive_gap_condition_holds_after_every_step(spec):
    for name, form in games():
        solver = make(spec, Task(None, form))
        mus = [solver.mu]
        for _ in range(12):
            assert excess(solver) <= 1e-12 * form.scale, name
            solver.step(1)
            mus.append(solver.mu)
        assert all(after[0] <= before[0] and after[1] <= before[1] for before, after in pairwise(mus))


@pytest.mark.parametrize("spec", EGT[:2])
def test_it_holds_on_leduc(spec):
    solver = make(spec, Task(None, form_for("leduc")))
    for count in (0, 1, 99, 170):  # past the first balancing, and past worths worked out anew
        solver.step(count)
        assert excess(solver) <= 1e-12 * solver.task.form.scale
        assert solver.excess() == pytest.approx(excess(solver), rel=0, abs=1e-10)


@pytest.mark.parametrize("spec", [*EGT, *SMOOTHING])
def test_gaps_shrink_to_the_value_of_the_programme(spec):
    for name, form in games():
        solver, exact = make(spec, Task(None, form)), make("lp", Task(None, form))
        exact.step(1)
        start = form.measure(form.uniform()).nash_conv
        solver.step(60 if form.game else 300)
        found = form.measure(solver.probabilities())
        assert found.nash_conv <= (0.9 if "conservative" in spec else 0.2) * start + 1e-9, name
        assert -found.best[1] - 1e-9 <= exact.value <= found.best[0] + 1e-9, name


def test_leduc():
    for spec, iterations, most in (("egt", 3_000, 2e-3), ("smoothing", 3_000, 2e-3)):
        profile = solve("leduc", spec, iterations=iterations)
        assert profile.meta["nash_conv"] < most
        assert profile.meta["value"][0] == pytest.approx(LEDUC, rel=0, abs=most)


@pytest.mark.slow
def test_leduc_to_small_gaps():
    for spec, until in (("egt", 1e-4), ("egt(prox=euclidean)", 1e-4), ("smoothing", 1e-8)):
        profile = solve("leduc", spec, until=until, seconds=300)
        assert profile.meta["nash_conv"] <= until, spec
        assert profile.meta["value"][0] == pytest.approx(LEDUC, rel=0, abs=until + 1e-11)


@pytest.mark.parametrize("spec", ["egt", "egt(prox=euclidean, steps=conservative)", "smoothing"])
@pytest.mark.parametrize("game", ["leduc", pytest.param("poker(file=leduc)", marks=pytest.mark.slow)])
def test_a_resumed_run_is_the_run(tmp_path, game, spec):
    whole = solve(game, spec, iterations=110)
    at = tmp_path / "run"
    solve(game, spec, iterations=61, run=RunOptions(at))
    again = solve(game, spec, iterations=110, run=RunOptions(at, resume=True))
    assert again.probabilities.tobytes() == whole.probabilities.tobytes()
    assert again.meta == whole.meta


@pytest.mark.parametrize("spec", ["egt", "egt(steps=conservative)", "smoothing"])
def test_steps_may_be_cut_anywhere(spec):
    form = form_for("kuhn")
    whole, cut = (make(spec, Task(None, form)) for _ in range(2))
    whole.step(300)
    for count in (1, 99, 200):
        cut.step(count)
        cut.restore()
    assert all(whole.state[k].tobytes() == cut.state[k].tobytes() for k in whole.state)


def test_a_start_is_the_centre():
    """From an equilibrium the gap is small at once."""
    exact = solve("leduc", "lp")
    for spec in ("egt", "egt(prox=euclidean)", "smoothing"):
        near, far = solve("leduc", spec, iterations=8, start=exact), solve("leduc", spec, iterations=8)
        assert near.meta["nash_conv"] < 0.5 * far.meta["nash_conv"], spec


@pytest.mark.parametrize("spec", ["egt", "smoothing"])
def test_what_is_refused(spec):
    forgetful = form_of(lay_out(RandomGame(3, 2, depth=6, recall="nothing")))
    for form, reason in (
        (form_for("kuhn(players=3)"), "3 players"),
        (form_of(lay_out(RandomGame(1, 2, payoffs="general"))), "zero-sum"),
        (forgetful, "perfect recall"),
    ):
        with pytest.raises(SolverError, match=reason):
            make(spec, Task(None, form))
    with pytest.raises(SpecError, match="prox=cubic"):
        make(f"{spec}(prox=cubic)", Task(None, form_for("kuhn")))
    with pytest.raises(SolverError, match="abstraction or frozen"):
        form = form_for("kuhn")
        rows = kibitz.forms.rows.row_map(form)
        make(spec, Task(None, form, rows))


def test_games_without_choices_and_without_stakes():
    """Nothing to shrink, and nothing to divide by."""
    for payoffs in ([[0, 0], [0, 0]], [[1]], [[1, -1]]):
        for spec in ("egt", "egt(prox=euclidean, balance=false)", "egt(steps=conservative)", "smoothing"):
            found = solve(kibitz.game(f"matrix(payoffs={payoffs})"), spec, iterations=300)
            assert found.meta["nash_conv"] <= 1e-2, (payoffs, spec)


# The linear programme


def test_all_methods_of_the_programme_agree():
    pytest.importorskip("highspy")
    for name in ("kuhn", "matrix(payoffs=[[2, -1], [-1, 1]])"):
        form = form_for(name)
        values = []
        for method in ("simplex", "ipm", "pdlp"):
            solver = make(f"lp(method={method})", Task(None, form))
            solver.step(1)
            values.append(solver.value)
            assert form.measure(solver.probabilities()).nash_conv < 1e-6
        np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-7)


def test_pdlp_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(SolverError, match=r"pip install 'kibitz\[pdlp\]'"):
        solve("kuhn", "lp(method=pdlp)")
