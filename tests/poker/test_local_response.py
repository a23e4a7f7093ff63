"""Local best response: never above an exact best response, and well above what it answers to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_row_experts import TINY

from kibitz.core.errors import GameError
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent, blueprint_agent
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.rules import acpc
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.rules.rules import Poker
from kibitz.poker.whole.local_response import LocalResponse, local_bound
from kibitz.solvers.blueprint import blueprint_profile
from kibitz.solvers.machines import machine_of

RULES = Poker(replace(acpc.parse(TINY, "tiny"), ranks=3))


def trained(iterations):
    made = placed_blueprint(machine_of(RULES, how="rounds"), RowPlan(("percentile([4, 6], recall=false)",)))
    made.train(iterations=iterations)
    return made.played()


@pytest.mark.parametrize("iterations", [0, pytest.param(300, marks=pytest.mark.slow)])
def test_it_is_a_lower_bound(iterations):
    made = trained(iterations)
    tree = tree_of(RULES)
    exact = float(np.mean(form_of(tree).measure(blueprint_profile(made, tree).probabilities).best))
    found = local_bound(blueprint_agent(made, made.machine, "b"), deals=60)
    low = found.interval[0]
    assert low <= exact
    if not iterations:
        assert low > exact / 4 > 0  # against one who plays at random most is won by knowing one's hand


def test_ranges_are_what_hands_do():
    """By the definition: the product of what the target does with a hand at each of its decisions."""
    made = trained(300)
    machine = made.machine
    response = LocalResponse(blueprint_agent(made, machine, "b"))
    found, _ = response._ranges(1, "rcc/c", [(41,)], (44, 41))  # with Kc, on Qd
    assert set(found) == {0, 2}
    player = blueprint_agent(made, machine, "b")
    for k, (card,) in enumerate(response.hands.tolist()):
        name = text_of((card,))
        if card in (44, 41):
            assert found[0][k] == found[2][k] == 0
            continue
        opens = player.answer(2, f"{name}:", ("fold", "call", "raise"))[2]
        calls = player.answer(0, f"{name}:r", ("fold", "call", "raise"))[1]
        checks = player.answer(0, f"{name} Qd:rcc/", ("call", "raise"))[0]
        assert found[2][k] == pytest.approx(opens) and found[0][k] == pytest.approx(calls * checks)


def test_what_it_does_not_answer():
    with pytest.raises(GameError, match="saved strategies of poker"):
        LocalResponse(agent("uniform", machine_of("kuhn")))
