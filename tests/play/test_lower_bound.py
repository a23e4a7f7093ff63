"""Responders that learn to beat a strategy: what they win is never more than an exact best response does."""

from __future__ import annotations

import pytest

import kibitz
from kibitz.core.errors import SolverError
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent, blueprint_agent
from kibitz.play.lower_bound import lower_bound, respond
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.toepen.exploit import Exploit
from kibitz.toepen.gains import endgame_bound, exploit_gains
from kibitz.toepen.rules import Toepen

RULES = Toepen(3, 3, 2)


@pytest.fixture(scope="module")
def blueprint():
    made = Blueprint.empty(RULES, "simple-history", 4 << 20)
    made.train(iterations=3000)
    return made


def test_a_lower_bound_is_below_the_exact_best_response(blueprint):
    target = blueprint_agent(blueprint, blueprint.machine, "target")
    exact = kibitz.nash_conv(RULES, blueprint_profile(blueprint, tree_of(RULES))) / 2
    found = lower_bound(target, "null", seconds=None, iterations=40_000, deals=40_000)
    low, high = found.result.interval
    assert low < exact
    assert high > 0.9 * exact  # with all infosets told apart and time enough it comes close
    coarse = lower_bound(target, "naive", seconds=None, iterations=3_000, deals=40_000)
    assert coarse.result.interval[0] < exact
    assert coarse.result.mean < found.result.mean
    assert found.abstraction == "null" and found.iterations == 40_000


@pytest.mark.parametrize(
    "abstraction",
    [*(pytest.param(name, marks=pytest.mark.slow) for name in ("null", "maximal")), "isomorphic", "outlook", "naive",
     "simple-history", "simple-hand", "advanced-hand", "advanced-history", "advanced-combined"],
)  # fmt: skip
@pytest.mark.some(3)
def test_best_responses_in_endgames_are_exact(abstraction):
    """With two cards each the endgame is the whole game, and the bound is what the tree says."""
    made = Blueprint.empty(RULES, abstraction, 8 << 20)
    made.train(iterations=200)
    found = endgame_bound(blueprint_agent(made, made.machine, "target"), deals=2)
    exact = kibitz.nash_conv(RULES, blueprint_profile(made, tree_of(RULES))) / 2
    assert found.mean == pytest.approx(exact, abs=1e-9)
    assert found.error < 1e-9


def test_what_a_responder_needs(blueprint):
    target = blueprint_agent(blueprint, blueprint.machine, "target")
    with pytest.raises(SolverError, match="say how long the responder learns"):
        respond(target)
    with pytest.raises(SolverError, match="uniform player needs no responder"):
        respond(agent("uniform", RULES), iterations=10)


def test_exploitation_gains_more_the_more_it_may_lose(blueprint):
    base = Blueprint.empty(RULES, "maximal", 4 << 20)
    base.train(iterations=10_000)
    learner = Exploit(blueprint_agent(base, base.machine, "base"), iterations=100, from_trick=1)
    foe = agent("rule", RULES)
    none, some, free = exploit_gains(learner, foe, [("hands", 0.0), ("range", 0.2), ("range", 100.0)], 400, 4)
    assert none.gain.mean == pytest.approx(0.0, abs=1e-9) and none.weight == 0.0
    assert 0.0 < some.weight < free.weight == 1.0
    assert some.gain.mean < free.gain.mean
