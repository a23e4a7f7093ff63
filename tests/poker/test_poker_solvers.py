"""Solvers on the poker form go the way that they go on the tree of the same rules."""

from __future__ import annotations

import numpy as np
import pytest
from poker_games import (
    GAMES,
    VARIANTS,
    cfr_on,
    coarse,
    compare_cfr,
    compare_matrices,
    compare_strategies,
    pair,
    random_probabilities,
)

from kibitz import evaluate
from kibitz.core.errors import ArtefactError, SolverError
from kibitz.forms.choice import form_for
from kibitz.forms.profile import Profile
from kibitz.games.tree import tree_of
from kibitz.poker.exact.form import PokerForm, poker_form
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import SOLVERS, RunOptions, Task, make
from kibitz.solvers.run import solve, walks


@pytest.mark.parametrize("spec", VARIANTS)
@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "reverse blinds"])
def test_cfr_goes_the_way_of_the_tree(name, spec):
    compare_cfr(pair(name), spec)


@pytest.mark.parametrize("name", GAMES)
def test_cfr_goes_the_way_of_every_tree(name):
    both = pair(name)
    for spec in ("cfr", "pcfr+", "dcfr(updates=simultaneous)"):
        fast, slow = compare_cfr(both, spec, stops=(1, 2, 12))
        one, two = fast.measure(), both.slow.measure(slow.probabilities())
        assert one.nash_conv == pytest.approx(two.nash_conv, rel=0, abs=1e-8 * both.scale)


@pytest.mark.parametrize("name", GAMES)
def test_matrices_are_the_operator(name):
    compare_matrices(pair(name), 7)


# Solvers, on


@pytest.mark.parametrize("spec", ["cfr", "cfr+", "pcfr+", "lcfr", "dcfr(updates=simultaneous)"])
def test_single_precision_is_close(spec):
    for name in ("leduc", "no limit", "hands of two", "rhode island of 2 by 3"):
        form = pair(name).form
        single, double = (cfr_on(form, spec, dtype=dtype) for dtype in (np.float32, np.float64))
        single.step(10)
        double.step(10)
        if name in ("leduc", "no limit"):  # in the others actions are tied, and rounding decides
            plans = [form.plan(form.to_strategy(s.probabilities())) for s in (single, double)]
            np.testing.assert_allclose(*plans, rtol=0, atol=1e-4)
        assert single.measure().nash_conv == pytest.approx(double.measure().nash_conv, rel=0.1, abs=1e-6)
        single.step(190)
        double.step(190)
        assert single.measure().nash_conv == pytest.approx(double.measure().nash_conv, rel=0.5, abs=1e-6)
        assert single.probabilities().dtype == np.float64
        assert make(spec, Task(None, form)).state["regret"].dtype == np.float32  # what solvers use


@pytest.mark.parametrize("buckets", [False, True])
@pytest.mark.parametrize("spec", ["cfr+", "pcfr+(delay=3)", "dcfr(updates=simultaneous)", "cfr(delay=9)"])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "hands of two", "no limit"])
@pytest.mark.some(10)
def test_bytes_depend_on_iterations_alone(name, spec, buckets):
    form = (coarse if buckets else pair)(name).form
    for dtype in (np.float32, np.float64) if name == "leduc" else (np.float32,):
        found = []
        for threads, parts in [(1, [30]), (2, [30]), (3, [1, 7, 22]), (1, [29, 1])]:
            solver = cfr_on(form, spec, dtype=dtype, threads=threads)
            for count in parts:
                solver.step(count)
            assert solver.iteration == 30 and solver.state["regret"].dtype == dtype
            found.append({key: array.tobytes() for key, array in solver.state.items()})
        assert all(state == found[0] for state in found)


@pytest.mark.parametrize("spec", ["cfr+", "pcfr+(delay=3)", "dcfr(updates=simultaneous)", "fp"])
def test_a_resumed_run_is_the_run(tmp_path, spec):
    game = Poker(GAMES["leduc"])
    whole = solve(game, spec, iterations=33)
    at = tmp_path / "run"
    solve(game, spec, iterations=14, run=RunOptions(at))
    again = solve(game, spec, iterations=33, run=RunOptions(at, resume=True))
    assert again.probabilities.tobytes() == whole.probabilities.tobytes()
    assert again.meta == whole.meta
    with pytest.raises(ArtefactError, match="another run"):
        solve(Poker(GAMES["reverse blinds"]), spec, iterations=33, run=RunOptions(at, resume=True))
    with pytest.raises(ArtefactError, match="another run"):  # the same game as a tree is another run
        solve(pair("leduc").tree, spec, iterations=33, run=RunOptions(at, resume=True))


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "pcs"])  # it has tests of its own
def test_every_solver_solves(solver):
    for name in ("leduc", "hands of two"):
        both = pair(name)
        profile = solve(both.game, solver, iterations=1_000 if solver == "mccfr" else 60)
        on_tree = solver == "mccfr"  # which walks one
        assert isinstance(profile.infosets, PokerInfosets) != on_tree
        lifted = profile.probabilities if on_tree else both.lift(profile.probabilities)
        gap = evaluate.nash_conv(both.game, profile)
        assert gap == pytest.approx(both.slow.measure(lifted).nash_conv, rel=0, abs=1e-11)
        assert profile.meta["nash_conv"] == pytest.approx(gap, rel=1e-9, abs=1e-9)
        uniform = both.slow.measure(both.slow.uniform()).nash_conv
        most = {"lp": 1e-8, "auto": 1e-8, "br": np.inf, "fp": 0.5 * uniform, "mccfr": uniform}
        assert gap < most.get(solver, 0.3 * uniform)
        assert profile.history[-1].iteration == profile.meta["iterations"]


@pytest.mark.parametrize("name", [name for name in GAMES if name not in ("short stacks", "one suit")])
@pytest.mark.some(7)
def test_the_programme_has_the_value_of_the_tree(name):
    both = pair(name)
    fast, slow = make("lp", Task(None, both.form)), make("lp", Task(both.tree, both.slow))
    fast.step(1)
    slow.step(1)
    assert fast.value == pytest.approx(slow.value, rel=0, abs=1e-8 * both.scale)
    found = both.slow.measure(both.lift(fast.probabilities()))
    assert found.nash_conv < 1e-7 * both.scale
    assert found.value[0] == pytest.approx(slow.value, rel=0, abs=1e-7 * both.scale)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "hands of two", "reverse blinds", "no limit", "board first"])
def test_best_responses_and_fictitious_play_are_those_of_the_tree(name):
    both = pair(name)
    start = random_probabilities(both.form, 5, zeros=0.0)  # so that nothing is tied
    for solver, counts in (("br", [1]), ("fp", [1, 1, 3, 5])):
        fast = make(solver, Task(None, both.form, start=start))
        slow = make(solver, Task(both.tree, both.slow, start=both.lift(start)))
        for count in counts:
            fast.step(count)
            slow.step(count)
            np.testing.assert_allclose(fast.plan[both.sequence], slow.plan, rtol=0, atol=1e-12)
            compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), 1e-9)


def test_runs_start_where_they_are_told():
    both = pair("leduc")
    start = random_probabilities(both.form, 3, zeros=0.0)
    for spec in ("cfr", "pcfr+(updates=simultaneous)"):
        fast = cfr_on(both.form, spec, start=start)
        slow = make(spec, Task(both.tree, both.slow, start=both.lift(start)))
        np.testing.assert_allclose(fast.probabilities(), start, rtol=0, atol=1e-15)
        for _ in range(3):
            fast.step(2)
            slow.step(2)
            compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), 1e-9)
    form = poker_form(both.game)
    profile = Profile(form.infosets, start, {"game": form.spec, "tree": form.tree_digest})
    assert solve(both.game, "cfr+", iterations=0, start=profile).probabilities == pytest.approx(start, abs=1e-7)
    drawn = [solve(both.game, "cfr+", iterations=0, start="random", seed=seed).probabilities for seed in (1, 1, 2)]
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()
    tree_start = Profile(both.tree.infosets, both.lift(start), {"game": both.tree.spec, "tree": both.tree.digest})
    assert not isinstance(solve(both.game, "cfr+", iterations=2, start=tree_start).infosets, PokerInfosets)


def test_weights_of_the_average_stay_numbers():
    """Weights grow as t^gamma, and gamma may be 30; single precision ends at 3e38."""
    found = solve(Poker(GAMES["kuhn"]), "dcfr(gamma=30)", iterations=40).probabilities
    assert np.isfinite(found).all()
    assert solve(Poker(GAMES["kuhn"]), "dcfr(gamma=10)", iterations=9_000).meta["nash_conv"] < 0.01


def test_forms_are_chosen():
    game = Poker(GAMES["leduc"])
    assert isinstance(form_for(game), PokerForm) and form_for(game) is form_for(game, None)
    assert isinstance(form_for("poker(file=kuhn)"), PokerForm)
    assert not isinstance(form_for(game, of_tree=walks("mccfr")), PokerForm)
    assert not isinstance(form_for(tree_of(game)), PokerForm)
    assert not isinstance(form_for("leduc"), PokerForm)
    form = PokerForm(game)
    assert form_for(form) is form
    with pytest.raises(SolverError, match="walks a tree"):
        solve(form, "mccfr", iterations=2)
    assert solve(form, "cfr+", iterations=5).meta["nash_conv"] < 4
