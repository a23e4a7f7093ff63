"""Blueprints are measured exactly wherever profiles are: on trees, on poker forms, and over all boards."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from commands import Call, bad, data, good
from poker_games import GAMES

import kibitz
from kibitz.cli.sampled import at_least
from kibitz.core.errors import GameError, KibitzError, SolverError
from kibitz.evaluate import blueprints
from kibitz.evaluate.blueprints import laid_out
from kibitz.evaluate.crosstable import crosstable
from kibitz.evaluate.match import MatchResult
from kibitz.evaluate.score import Score
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of
from kibitz.forms.strategy import probabilities_of
from kibitz.games.tree import tree_of
from kibitz.play.agents import blueprint_agent
from kibitz.play.lower_bound import LowerBound
from kibitz.poker.blueprints.exact import by_suits, in_buckets, on_form
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact.form import poker_form
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.rules.rules import Poker
from kibitz.poker.whole.profiles import measured
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.solvers.machines import machine_of

ONE, TWO = "rhode island of 2 by 3", "hands of two"  # private cards
POKER = ("leduc", ONE, TWO)


@cache
def rules(name: str) -> Poker:
    return Poker(GAMES[name])


@cache
def trained(game: str, abstraction: str | None = None, iterations: int = 400) -> Blueprint:
    made = Blueprint.empty(game, abstraction, 4_000_000, seed=1)
    made.train(iterations=iterations)
    return made


def asked(blueprint: Blueprint) -> Profile:
    """What an agent that plays the blueprint answers at each infoset: a way of its own."""
    tree = tree_of(blueprint.game)
    found = probabilities_of(blueprint_agent(blueprint, blueprint.machine, "it"), tree.infosets)
    return Profile(tree.infosets, found, {"game": tree.spec, "tree": tree.digest})


@pytest.mark.parametrize("game", ["leduc", "kuhn(players=3)", "toepen(suits=2, ranks=3, hand=2)", "poker(file=leduc)"])
def test_every_figure_of_a_blueprint_is_that_of_what_it_plays(game: str) -> None:
    blueprint = trained(game)
    profile = asked(blueprint)
    tree = tree_of(blueprint.game)
    assert kibitz.nash_conv(game, blueprint) == pytest.approx(kibitz.nash_conv(tree, profile), abs=1e-9)
    assert kibitz.nash_conv(tree, blueprint) == pytest.approx(kibitz.nash_conv(tree, profile), abs=1e-9)
    assert kibitz.exploitability(game, blueprint) == pytest.approx(kibitz.exploitability(tree, profile), abs=1e-9)
    np.testing.assert_allclose(kibitz.value(game, blueprint), kibitz.value(tree, profile), atol=1e-9)
    for seat in range(tree.players):
        best, other = (kibitz.best_response(tree, each, seat) for each in (blueprint, profile))
        assert best.value == pytest.approx(other.value, abs=1e-9)
    one, two = (kibitz.infoset_values(tree, each) for each in (blueprint, profile))
    np.testing.assert_allclose(one.reach, two.reach, atol=1e-9)
    table = crosstable(tree, {"blueprint": blueprint, "profile": profile})
    np.testing.assert_allclose(table.matrix[0, 1], table.matrix[0, 0], atol=1e-9)
    assert table.exploitability[0] == pytest.approx(table.exploitability[1], abs=1e-9)


def test_it_is_set_beside_solved_profiles() -> None:
    solved = kibitz.solve("leduc", "cfr+", iterations=200)
    table = crosstable("leduc", {"blueprint": trained("leduc"), "solved": solved})
    assert table.matrix[1, 0] > 0.05 and table.exploitability[0] > table.exploitability[1]


def test_what_is_no_strategy_is_said_in_a_sentence() -> None:
    wrong: Any = "leduc.profile"
    with pytest.raises(KibitzError, match=r"give a profile or a blueprint .* not str"):
        kibitz.nash_conv("leduc", wrong)
    with pytest.raises(KibitzError, match=r"the blueprint was trained for leduc, not for kuhn"):
        kibitz.nash_conv("kuhn", trained("leduc"))
    with pytest.raises(GameError, match="give the game itself"):
        kibitz.nash_conv(form_of(tree_of(trained("leduc").game)), trained("leduc"))
    with pytest.raises(GameError, match=r"too large to be laid out.*samples it"):
        kibitz.nash_conv("toepen", Blueprint.empty("toepen", memory=1_000_000))


def poker(name: str, abstraction: str, how: str = "auto", **graft: Any) -> Blueprint:
    made = Blueprint.empty(machine_of(rules(name), how), abstraction, 4_000_000, seed=1, **graft)
    made.train(iterations=300)
    return made


def on_tree(blueprint: Blueprint) -> Any:
    tree = tree_of(blueprint.game)
    return form_of(tree).measure(blueprint_profile(blueprint, tree).probabilities)


@pytest.mark.parametrize("how", ["auto", "rounds"])
@pytest.mark.parametrize("abstraction", ["isomorphic", "ranks", "percentile(3)", "percentile(2, recall=false)"])
@pytest.mark.parametrize("name", POKER)
def test_poker_forms_say_what_trees_say(name: str, abstraction: str, how: str) -> None:
    blueprint = poker(name, abstraction, how)
    form = by_suits(rules(name))
    found = form.measure(on_form(blueprint, form).probabilities)
    expected = on_tree(blueprint)
    assert found.nash_conv == pytest.approx(expected.nash_conv, rel=1e-5)
    np.testing.assert_allclose(found.value, expected.value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.best, expected.best, rtol=1e-5, atol=1e-6)


def test_a_form_is_taken_where_the_tree_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    blueprint = poker(ONE, "isomorphic")
    expected = on_tree(blueprint).nash_conv
    monkeypatch.setattr(blueprints, "fits", lambda game, most: False)
    assert laid_out(blueprint)[0].game is not None
    assert kibitz.nash_conv(blueprint.game, blueprint) == pytest.approx(expected, rel=1e-5)
    coarse = poker(ONE, "percentile(2)")
    table = crosstable(blueprint.game, {"fine": blueprint, "coarse": coarse})
    assert table.exploitability[0] == pytest.approx(expected / 2, rel=1e-5)
    form = poker_form(blueprint.game)  # in the last round it holds more hands as one
    other = Profile(form.infosets, form.uniform(), {"tree": form.tree_digest})
    with pytest.raises(GameError, match="`kibitz match`"):
        crosstable(blueprint.game, {"fine": blueprint, "other": other})
    apart = poker(ONE, "null")
    with pytest.raises(GameError, match="distinguishes hands"):
        kibitz.nash_conv(apart.game, apart)


def test_grafts_play_their_part_and_their_base_elsewhere() -> None:
    base = poker("leduc", "percentile(2)")
    graft = poker("leduc", "isomorphic", base=base, part="round 2")
    form = by_suits(rules("leduc"))
    found = form.measure(on_form(graft, form).probabilities)
    assert found.nash_conv == pytest.approx(on_tree(graft).nash_conv, rel=1e-5)
    assert found.nash_conv != pytest.approx(on_tree(base).nash_conv, rel=1e-3)


@pytest.mark.parametrize("name", ["leduc", TWO])
def test_all_boards_are_gone_through_for_blueprints_within_buckets(name: str) -> None:
    """Hashed rows, rows by place, and a graft whose base has other buckets."""
    base = poker(name, "percentile(2)")
    rows = placed_blueprint(machine_of(rules(name), "rounds"), RowPlan(("percentile(3)",)), seed=2)
    rows.train(iterations=300)
    for blueprint in (base, rows, poker(name, "percentile(3)", base=base, part="round 2")):
        found, expected = measured(rules(name), blueprint), on_tree(blueprint)
        np.testing.assert_allclose(found.best, expected.best, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("iterations", [0, 30, 3000])
def test_an_abstract_game_says_what_the_real_one_says(iterations: int) -> None:
    """Both players see buckets, so payoffs are those of the real game; a best response sees less, so it gains less."""
    rules: Any = kibitz.game("rhode_island(ranks=4)")
    form = bucket_form(rules, hand_buckets(rules.definition, "percentile(2)"))
    blueprint = Blueprint.empty(rules, "percentile(2)", 4_000_000, seed=1)
    blueprint.train(iterations=iterations)
    real, profile = laid_out(blueprint)
    exact, within = real.measure(profile.probabilities), form.measure(in_buckets(blueprint, form).probabilities)
    np.testing.assert_allclose(within.value, exact.value, atol=1e-9)
    assert 0 < within.nash_conv < exact.nash_conv
    other = bucket_form(rules, hand_buckets(rules.definition, "percentile(3)"))
    with pytest.raises(GameError, match="other buckets"):
        in_buckets(blueprint, other)


def test_an_expert_alone_is_no_strategy() -> None:
    machine = machine_of(rules("leduc"), "rounds")
    base = placed_blueprint(machine, RowPlan(("percentile(2)",)))
    expert = placed_blueprint(machine, RowPlan(("", "percentile(3)"), ("rc/",), outside=0, inside=3), base=base)
    with pytest.raises(SolverError, match="stitch it to its base"):
        kibitz.nash_conv(rules("leduc"), expert)


# The command line


def test_commands_measure_blueprints(call: Call) -> None:
    trained("leduc").save("leduc.blueprint")
    trained("poker(file=leduc)", "percentile(2)").save("buckets.blueprint")
    trained("poker(file=leduc)").save("hands.blueprint")
    kibitz.solve("leduc", "cfr+", iterations=50).save("leduc.profile")
    found = data(call, "evaluate", "leduc.blueprint")
    assert found["nash_conv"] == pytest.approx(kibitz.nash_conv("leduc", trained("leduc")), abs=1e-9)
    table = data(call, "crosstable", "leduc.blueprint", "leduc.profile")
    assert table["exploitability"][0] == pytest.approx(found["exploitability"], abs=1e-9)
    assert "leduc" in good(call, "crosstable", "leduc.blueprint", "leduc.profile")
    whole = data(call, "evaluate", "buckets.blueprint", "--whole", "--value")
    exactly = data(call, "evaluate", "buckets.blueprint")
    assert whole["nash_conv"] == pytest.approx(exactly["nash_conv"], rel=1e-5)
    assert whole["value"] == pytest.approx(exactly["value"], abs=1e-5)
    said = bad(call, "evaluate", "hands.blueprint", "--whole")
    assert "trained with isomorphic" in said and "leave --whole out" in said


def bound(mean: float, error: float) -> LowerBound:
    score = Score(mean, error, (mean - 1.96 * error, mean + 1.96 * error))
    return LowerBound(
        MatchResult(("it", "other"), (score,) * 2, ((score,) * 2,) * 2, score, 9, 2, 1.0, "done"), "null", 1, 1
    )


def said(mean: float, error: float) -> str:
    found = bound(mean, error)
    return at_least(found.least, found.result.mean, found.result.interval)


def test_a_responder_that_found_nothing_says_so() -> None:
    nothing = said(-0.0844, 0.01)
    assert nothing.startswith("at least 0: the responder found no gain (-0.0844 \u00b1 0.0196")
    assert bound(-0.0844, 0.01).least == bound(0.01, 0.01).least == 0.0
    assert said(0.01, 0.01).startswith("at least 0: the responder found no gain (+0.0100")
    assert bound(0.5, 0.01).least == pytest.approx(0.4804, abs=1e-4)
    assert said(0.5, 0.01).startswith("at least 0.4804: the responder wins +0.5000")


def test_sampled_evaluations_have_no_negative_bound(call: Call) -> None:
    made = Blueprint.empty("toepen", "outlook", 1_000_000)
    made.train(iterations=1)
    made.save("t.blueprint")
    found = data(call, "evaluate", "t.blueprint", "--seconds", "0.01")
    assert found["sampled"] and found["exploitability_at_least"] >= 0.0
    assert found["responder"]["interval"][0] <= found["responder"]["mean"] and "samples it" in found["why"]
