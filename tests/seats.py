"""Helpers for tests of players: agents as profiles of a laid-out game, blueprints trained in a moment."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

import kibitz
from kibitz.forms.profile import Profile
from kibitz.games.tree import Tree, tree_of
from kibitz.games.views import view_of
from kibitz.solvers.blueprint import Blueprint
from kibitz.toepen.rules import Toepen


@cache
def laid_out(spec: str) -> tuple[Toepen, Tree]:
    rules = kibitz.game(spec)
    return rules, tree_of(rules)


def profile_of(spec: str, agents) -> Profile:
    """What two agents do in every infoset of a game, as a profile."""
    rules, tree = laid_out(spec)
    infosets, found = tree.infosets, []
    for seat in range(2):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            state = rules.read(seat, infosets.labels[i])
            found += agents[seat].act(view_of(rules, state, seat))
    return Profile(infosets, np.array(found), {"tree": tree.digest})


def exact(spec: str, one, two) -> float:
    """What `one` wins from `two` per hand, on the mean of both seats."""
    _, tree = laid_out(spec)
    here = kibitz.value(tree, profile_of(spec, (one, two)))[0]
    there = kibitz.value(tree, profile_of(spec, (two, one)))[1]
    return (here + there) / 2


def trained(path: Path, spec: str, iterations: int = 300, seed: int = 0) -> str:
    """A blueprint that has learned a little, saved."""
    blueprint = Blueprint.empty(spec, memory=1 << 24, seed=seed)
    blueprint.train(iterations=iterations)
    blueprint.save(path)
    return str(path)
