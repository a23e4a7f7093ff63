"""Profiles, blueprints and agents answer the same question: the rows of some infosets."""

from __future__ import annotations

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError
from kibitz.forms.strategy import Strategy, probabilities_of
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent, blueprint_agent
from kibitz.solvers.blueprint import Blueprint, blueprint_profile


def test_profiles_blueprints_and_agents_are_strategies() -> None:
    tree = tree_of(kibitz.game("leduc"))
    blueprint = Blueprint.empty("leduc", memory=1_000_000, seed=1)
    blueprint.train(iterations=200)
    profile = blueprint_profile(blueprint, tree)
    player = blueprint_agent(blueprint, blueprint.machine, "blueprint")
    for strategy in (profile, blueprint, player):
        assert isinstance(strategy, Strategy)
        np.testing.assert_array_equal(probabilities_of(strategy, tree.infosets), profile.probabilities)
    uniform = agent("uniform", "leduc")
    assert isinstance(uniform, Strategy)
    widths = np.asarray(tree.infosets.width)
    np.testing.assert_array_equal(probabilities_of(uniform, tree.infosets), np.repeat(1.0 / widths, widths))


def test_a_profile_refuses_infosets_that_are_not_its_own() -> None:
    profile = kibitz.solve("kuhn", "cfr", iterations=5)
    rows = profile.rows(1, ["Q:p", "Q:b"], ("pass", "bet"))
    assert rows.tolist() == [list(profile[1, label].values()) for label in ("Q:p", "Q:b")]
    with pytest.raises(GameError, match="nothing"):
        profile.rows(0, ["nothing"], ("pass", "bet"))
