"""Solvers against their definitions, against each other, and against known values."""

from __future__ import annotations

import math
import re

import naive
import numpy as np
import pytest
from random_games import Nested, RandomGame, choice, edge_cases, end

import kibitz
from kibitz import evaluate
from kibitz.core.errors import GameError, SolverError, SpecError
from kibitz.forms import bundles, sequence
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.games.matrix import Matrix
from kibitz.games.tree import lay_out
from kibitz.solvers import SOLVERS, Task, make
from kibitz.solvers.run import solve

AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0}
KIND = {  # solver -> the definition it should be
    "cfr": {"gamma": 0.0},
    "cfr+": {"gamma": 1.0, "floor": 0.0},
    "lcfr": {"gamma": 1.0, "alpha": 1.0, "beta": 1.0},
    "dcfr": {"gamma": 2.0, "alpha": 1.5, "beta": 0.0},
    "pcfr+": {"gamma": 2.0, "floor": 0.0, "prediction": 1.0},
    "dcfr+": {"gamma": 4.0, "alpha": 1.5, "beta": 1.5, "floor": 0.0},
    "pdcfr+": {"gamma": 5.0, "alpha": 2.3, "beta": 2.3, "floor": 0.0, "prediction": 1.0},
}
VARIANTS = [
    "cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "dcfr+", "pdcfr+", "dcfr+(alpha=2, gamma=3, updates=simultaneous)",
    "cfr(updates=simultaneous)", "cfr+(updates=simultaneous)", "pcfr+(updates=simultaneous)",
    "lcfr(updates=simultaneous)", "dcfr(updates=simultaneous)",
    "cfr(averaging=quadratic, delay=3)", "cfr+(averaging=uniform)", "cfr+(averaging=quadratic, delay=5)",
    "lcfr(averaging=uniform)", "pcfr+(averaging=linear, delay=1)", "cfr(delay=4)",
    "cfr+(updates=simultaneous, averaging=uniform, delay=2)",
    "dcfr(beta=-1.5)", "dcfr(alpha=2, beta=-0.5, gamma=3)", "dcfr(alpha=0, beta=0, gamma=0)",
    "dcfr(alpha=1, beta=0.5, gamma=0.5, delay=4)", "dcfr(alpha=0.5, beta=2, updates=simultaneous)",
]  # fmt: skip
GAMES = {
    "kuhn": lambda: kibitz.game("kuhn"),
    "three-player kuhn": lambda: kibitz.game("kuhn(players=3)"),
    "two, zero-sum": lambda: RandomGame(11, 2, depth=5, most=120),
    "two, general": lambda: RandomGame(12, 2, depth=5, payoffs="general", most=120),
    "three, general": lambda: RandomGame(13, 3, depth=5, payoffs="general", most=120),
    "four": lambda: RandomGame(14, 4, depth=5, payoffs="general", most=120),
    "one": lambda: RandomGame(15, 1, depth=4, payoffs="general", most=80),
    "two players, imperfect recall": lambda: RandomGame(16, 2, depth=5, recall="past", payoffs="general", most=120),
    "three players, imperfect recall": lambda: RandomGame(18, 3, depth=5, recall="past", payoffs="general", most=120),
    "absent-minded": lambda: RandomGame(17, 2, depth=6, recall="nothing", payoffs="general", most=120),
}


def definition(spec, game, **more):
    """The naive twin of a solver's spec."""
    name, arguments = re.fullmatch(r"([a-z+]+)(?:\((.*)\))?", spec).groups()
    given = dict(part.strip().split("=") for part in arguments.split(",")) if arguments else {}
    settings = dict(KIND[name])
    for key, text in given.items():
        if key == "updates":
            settings["alternating"] = text == "alternating"
        elif key == "averaging":
            settings["gamma"] = AVERAGING[text]
        else:
            settings[key] = float(text)
    return naive.Cfr(game, **settings, **more)


def rows_of(infosets, plain):
    """A naive profile as the array that a Profile holds."""
    out = []
    for seat in range(infosets.seats):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            row = plain[seat, infosets.labels[i]]
            out.extend(row[a] for a in infosets.actions[infosets.actions_of[i]])
    return np.array(out)


def compare(spec, game, form=None, tree=None, tolerance=1e-9, stops=(1, 2, 7, 30), **more):
    tree = tree or lay_out(game)
    form = form or form_of(tree)
    solver = make(spec, Task(tree, form))
    twin = definition(spec, game, **more)
    for stop in stops:
        solver.step(stop - solver.iteration)
        twin.step(stop - twin.t)
        expected = rows_of(tree.infosets, twin.profile())
        found = solver.probabilities()
        worst = np.abs(found - expected).max(initial=0.0)
        assert worst <= tolerance, f"{spec} after {stop} iterations on {game}: off by {worst}"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "three-player kuhn" else name for name in GAMES]
)
@pytest.mark.some(4)
def test_the_cfr_family_is_its_definition(name):
    for spec in VARIANTS:
        compare(spec, GAMES[name]())


@pytest.mark.parametrize("name", edge_cases())
def test_the_cfr_family_on_edge_cases(name):
    for spec in ("cfr", "cfr+", "dcfr", "pcfr+(updates=simultaneous)"):
        compare(spec, edge_cases()[name])


def test_the_cfr_family_on_many_random_games():
    for seed in range(60):
        recall = ("perfect", "perfect", "past", "nothing")[seed % 4]
        payoffs = ("zero-sum", "general")[seed // 4 % 2]
        game = RandomGame(1000 + seed, 2 + seed % 3, depth=4, widest=5, recall=recall, payoffs=payoffs, most=60)
        compare(VARIANTS[seed % len(VARIANTS)], game, stops=(1, 4, 15))


@pytest.mark.parametrize("work", [1, 8, 40])
def test_the_cfr_family_on_forms_of_small_chunks(monkeypatch, work):
    monkeypatch.setattr(sequence, "CHUNK_WORK", work)
    monkeypatch.setattr(bundles, "CHUNK_WORK", work)
    for name in ("three-player kuhn", "two, zero-sum", "four", "three players, imperfect recall", "absent-minded"):
        for spec in ("cfr+", "dcfr(updates=simultaneous)"):
            compare(spec, GAMES[name](), stops=(1, 7))


def test_the_strategy_before_the_first_iteration_is_the_start():
    game = RandomGame(11, 2, depth=4)
    tree = lay_out(game)
    form = form_of(tree)
    rng = np.random.default_rng(0)
    start = sequence.normalise(rng.random(int(tree.infosets.first[-1])), tree.infosets)
    for spec in ("cfr", "cfr+", "dcfr", "fp", "mccfr", "mccfr(sampling=outcome)"):
        solver = make(spec, Task(tree, form, start=start))
        np.testing.assert_allclose(solver.probabilities(), start, atol=1e-12, err_msg=spec)


def test_a_start_is_what_the_first_iteration_answers_to():
    for seed in range(8):
        game = RandomGame(seed, 2 + seed % 2, depth=4, payoffs="general", most=80)
        tree = lay_out(game)
        form = form_of(tree)
        rng = np.random.default_rng(seed)
        start = sequence.normalise(rng.random(int(tree.infosets.first[-1])), tree.infosets)
        plain = naive.as_dict(Profile(tree.infosets, start.copy()))
        for spec in ("cfr+", "cfr(updates=simultaneous)"):
            solver = make(spec, Task(tree, form, start=start))
            solver.step(6)
            twin = definition(spec, game, start=plain).step(6)
            np.testing.assert_allclose(solver.probabilities(), rows_of(tree.infosets, twin.profile()), atol=1e-9)


def test_delay_leaves_the_first_iterations_out_of_the_average():
    """Whatever the averaging: after delay + 1 iterations the average is the last strategy alone."""
    game = kibitz.game("kuhn")
    for spec in ("cfr", "cfr+", "lcfr", "pcfr+"):
        late = solve(game, f"{spec}(delay=6)", iterations=7).probabilities
        early = solve(game, f"{spec}(delay=0)", iterations=7).probabilities
        assert np.abs(late - early).max() > 0.01, spec
        twin = definition(f"{spec}(delay=6)", game).step(7)
        np.testing.assert_allclose(late, rows_of(lay_out(game).infosets, twin.profile()), atol=1e-9)


# Convergence


def test_exact_and_iterative_solvers_agree():
    for text, value in [("kuhn", -1 / 18), ("leduc", -0.085606424078)]:
        game = kibitz.game(text)
        exact = evaluate.value(game, solve(game, "lp"))[0]
        assert exact == pytest.approx(value, abs=1e-9)
        for method in ("simplex", "ipm"):
            other = solve(game, f"lp(method={method})")
            assert evaluate.value(game, other)[0] == pytest.approx(value, abs=1e-6)
            assert evaluate.nash_conv(game, other) < 1e-5
        for spec in ("cfr+(averaging=quadratic)", "pcfr+"):
            profile = solve(game, spec, until=1e-6, iterations=10_000)
            assert evaluate.value(game, profile)[0] == pytest.approx(value, abs=1e-6), spec
            assert evaluate.nash_conv(game, profile) < 1e-4, spec


@pytest.mark.parametrize(
    ("spec", "bound"),
    [("cfr", 0.02), ("cfr+", 1e-3), ("lcfr", 0.002), ("dcfr", 1e-3), ("pcfr+", 1e-4), ("fp", 0.05)],
)
def test_every_solver_converges_on_kuhn(spec, bound):
    looks = [evaluate.nash_conv(kibitz.game("kuhn"), solve("kuhn", spec, iterations=n)) for n in (10, 100, 1000)]
    assert looks[-1] < bound and looks[0] > looks[1] > looks[2]


def test_three_players_come_close_to_an_equilibrium_of_kuhn():
    profile = solve("kuhn(players=3)", "cfr+", iterations=3000)
    assert evaluate.nash_conv("kuhn(players=3)", profile) < 2e-3
    assert sum(evaluate.value("kuhn(players=3)", profile)) == pytest.approx(0, abs=1e-12)


def test_lp_on_random_zero_sum_games():
    for seed in range(80):
        payoffs = ("zero-sum", "whole")[seed % 2]
        game = RandomGame(seed, 2, depth=3 + seed % 4, widest=4, payoffs=payoffs, most=150)
        profile = solve(lay_out(game), "lp")
        assert evaluate.nash_conv(game, profile) < 1e-7, seed
        assert profile.meta["iterations"] == 1
        # The value is what both sides can hold: CFR+ comes there too.
        if seed < 10:
            other = solve(lay_out(game), "cfr+", iterations=3000)
            gap = evaluate.nash_conv(game, other)
            assert abs(evaluate.value(game, other)[0] - evaluate.value(game, profile)[0]) <= gap + 1e-7


def test_lp_on_edge_cases():
    for name, game in edge_cases().items():
        if game.players == 2 and name != "zero for one seat":
            gap = evaluate.nash_conv(game, solve(game, "lp"))
            assert gap <= 1e-7 * naive.largest_payoff(game), name


FORGETFUL = Nested(2, choice(0, "x", choice(0, "y", end(1, -1), end(0, 0)), choice(0, "y", end(0, 0), end(1, -1))))


def test_what_lp_refuses():
    for game, words in [
        (kibitz.game("kuhn(players=3)"), "two-player games; this one has 3 players"),
        (Nested(2, choice(0, "x", end(1, 1), end(0, 0))), "payoffs do not sum to zero"),
        (FORGETFUL, "needs perfect recall"),
    ]:
        with pytest.raises(SolverError, match=words):
            solve(game, "lp")
        assert solve(game, "auto", iterations=3).meta["solver"] == "cfr+"


def test_fictitious_play_and_best_responses_need_recall():
    for spec in ("fp", "br"):
        with pytest.raises(SolverError, match="needs perfect recall"):
            solve(FORGETFUL, spec)


def test_auto_is_exact_where_it_can_be():
    assert solve("kuhn").meta["solver"] == "lp"
    assert evaluate.nash_conv("kuhn", solve("kuhn")) < 1e-9


def test_fictitious_play_is_its_definition():
    games = [RandomGame(seed, 2 + seed % 3, depth=4, payoffs="general", most=80) for seed in range(12)]
    for game in games:  # payoffs are random numbers: no ties, where rounding would choose
        tree = lay_out(game)
        for count in (1, 2, 11):
            solver = make("fp", Task(tree, form_of(tree)))
            solver.step(count)
            expected = rows_of(tree.infosets, naive.fictitious_play(game, count))
            np.testing.assert_allclose(solver.probabilities(), expected, atol=1e-9, err_msg=f"{game} {count}")


def test_br_answers_the_start():
    for seed in range(20):
        game = RandomGame(seed, 2 + seed % 3, depth=4, payoffs="general", most=80)
        tree = lay_out(game)
        form = form_of(tree)
        rng = np.random.default_rng(seed)
        start = Profile(tree.infosets, sequence.normalise(rng.random(int(tree.infosets.first[-1])), tree.infosets))
        answers = solve(tree, "br", start=start.replaced(start.probabilities, tree=form.tree_digest))
        plain = naive.as_dict(answers)
        for seat in range(game.players):
            mine = {key: row for key, row in plain.items() if key[0] == seat}
            mixed = {**naive.as_dict(start), **mine}
            best = naive.best_response(game, naive.as_dict(start), seat)
            assert naive.value(game, mixed)[seat] == pytest.approx(best, abs=1e-10)
            assert evaluate.best_response(tree, start, seat).value == pytest.approx(best, abs=1e-10)


# Steps, names and parameters


@pytest.mark.parametrize("spec", ["cfr", "cfr+", "lcfr", "dcfr", "pcfr+", "fp", "mccfr", "mccfr(sampling=outcome)"])
def test_steps_may_be_cut_anywhere(spec):
    for game in (kibitz.game("kuhn"), GAMES["two, general"]()):
        tree = lay_out(game)
        whole, cut = (make(spec, Task(tree, form_of(tree), seed=3)) for _ in range(2))
        whole.step(30)
        for count in (1, 9, 20):
            cut.step(count)
        assert whole.iteration == cut.iteration == 30
        assert whole.probabilities().tobytes() == cut.probabilities().tobytes()
        assert all(whole.state[k].tobytes() == cut.state[k].tobytes() for k in whole.state)


def test_probabilities_are_distributions():
    for spec in SOLVERS.keys() - {"pcs"}:  # which is for poker
        for seed in range(6):
            game = RandomGame(seed, 2, depth=5, most=100)
            tree = lay_out(game)
            p = solve(tree, spec, iterations=5).probabilities
            assert (p >= 0).all()
            sums = np.add.reduceat(p, tree.infosets.first[:-1]) if len(p) else np.ones(1)
            np.testing.assert_allclose(sums, 1, atol=1e-12, err_msg=spec)


@pytest.mark.parametrize(
    "spec",
    [
        "dcfr(gamma=-1)", "dcfr(gamma=1000)", "dcfr(gamma=31)", "cfr(delay=-1)", "cfr(updates=both)",
        "cfr+(averaging=cubic)",
        "mccfr(sampling=public)", "mccfr(explore=0)", "mccfr(explore=1.5)", "mccfr(averaging=quadratic)",
        "lp(method=magic)", "cfr(speed=3)", "cfr(delay=1.5)", "fp(x=1)", "sfr+",
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense(spec):
    with pytest.raises(SpecError):
        solve("kuhn", spec, iterations=5)


def test_exponents_may_be_extreme():
    """Discounts at their limits are numbers, and the strategy stays one."""
    game = kibitz.game("kuhn")
    for spec in ("dcfr(alpha=500, beta=-500)", "dcfr(alpha=-500, beta=500)", "dcfr(alpha=0, beta=-1000, gamma=20)"):
        p = solve(game, spec, iterations=300).probabilities
        assert np.isfinite(p).all() and math.isclose(p.sum(), 12, abs_tol=1e-9)


# Payoffs that are far apart


def far_apart(span):
    """Games for two, zero-sum, whose payoffs are from 1 to a span, with their values."""
    pennies = Matrix([[1, -1, span], [-1, 1, span], [-span, -span, 0]])
    square = Matrix([[span, -1], [-1, 1]])
    return [(pennies, 0.0), (square, (span - 1) / (span + 3))]


@pytest.mark.parametrize("span", [1e3, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("solver", ["lp", "auto"])
def test_lp_is_exact_however_far_payoffs_are_apart(span, solver):
    for game, value in far_apart(span):
        profile = kibitz.solve(game, solver)
        assert kibitz.nash_conv(game, profile) <= 1e-9 and profile.meta["solver"] == "lp"
        assert kibitz.value(game, profile)[0] == pytest.approx(value, abs=1e-9)


def test_an_answer_of_lp_that_is_not_exact_is_not_given():
    _, (game, _) = far_apart(1e60)
    with pytest.raises(SolverError, match=r"has a NashConv of 2, for payoffs of about 1, .* from 1 to 1e\+60"):
        kibitz.solve(game, "lp")
    with pytest.warns(UserWarning, match=r"dcfr\+ is used instead of lp: the solution of the linear program"):
        profile = kibitz.solve(game, "auto", iterations=10)
    assert profile.meta["solver"] == "dcfr+"


class Scaled:
    """A game in another unit."""

    def __init__(self, game, unit):
        self.game, self.unit, self.players = game, unit, game.players
        for name in ("root", "turn", "actions", "chance", "after", "infoset"):
            setattr(self, name, getattr(game, name))

    def payoff(self, state):
        return [self.unit * value for value in self.game.payoff(state)]


@pytest.mark.parametrize("unit", [1e-99, 1e-10, 1e10, 4e99])
@pytest.mark.parametrize("solver", ["cfr", "cfr+", "dcfr", "mccfr", "fp", "lp"])
def test_every_solver_works_in_any_unit(solver, unit):
    game = kibitz.game("kuhn")
    other = Scaled(game, unit)
    plain, scaled = (kibitz.solve(g, solver, iterations=300, seed=3) for g in (game, other))
    assert np.isfinite(scaled.probabilities).all()
    assert kibitz.nash_conv(other, scaled) / unit == pytest.approx(kibitz.nash_conv(game, plain), abs=0.02)
    with pytest.raises(GameError, match="payoffs must be finite, and not above 1e"):
        kibitz.solve(Scaled(game, 1e300), solver)
