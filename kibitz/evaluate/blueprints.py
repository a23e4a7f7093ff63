"""What a blueprint plays at every infoset of its game, so that it is measured exactly as a profile is.

    form, profile = laid_out(blueprint, "leduc")
    form.measure(profile.probabilities).nash_conv

A game whose tree fits is laid out as a tree. A larger one is laid out on the form that its plug-in has for it; a game
that is too large for both is refused.
"""

from __future__ import annotations

from typing import Any

from kibitz.core.errors import GameError
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form, GradientForm
from kibitz.forms.sequence import form_of
from kibitz.games import game as make_game
from kibitz.games.plugins import plugin_of
from kibitz.games.size import MOST_LAID, fits
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers.blueprint import Blueprint, blueprint_profile


def laid_out(blueprint: Blueprint, game: Any = None) -> tuple[GradientForm, Profile]:
    """(a form of the game, what the blueprint plays there). game: as nash_conv takes it; default: the blueprint's."""
    blueprint.check_whole()
    if isinstance(game, Tree):
        return form_of(game), blueprint_profile(blueprint, game)
    plugin = plugin_of(blueprint.game)
    on_form: tuple[GradientForm, Profile] | None
    if game is not None and not isinstance(game, str) and isinstance(game, Form):
        on_form = plugin.on_form_of(blueprint, game)
        if on_form is None:
            raise GameError("a blueprint is measured on a game: give the game itself, or its tree, instead of a form")
        return on_form
    rules: Any = blueprint.game if game is None else make_game(game)
    spec = getattr(rules, "spec", "")
    if spec and spec != blueprint.machine.spec:
        raise GameError(f"the blueprint is of {blueprint.machine.spec}, not of {spec}")
    if fits(rules, MOST_LAID):
        tree = tree_of(rules)
        return form_of(tree), blueprint_profile(blueprint, tree)
    on_form = plugin.on_form_of(blueprint, rules)
    if on_form is None:
        raise GameError(too_large(blueprint))
    return on_form


def too_large(blueprint: Blueprint, instead: str = "samples it") -> str:
    """What to say of a game that no exact measure is for. instead: what `kibitz evaluate` does."""
    return (
        f"{blueprint.machine.spec} is too large to be laid out, so its blueprint is not measured infoset by infoset: "
        f"`kibitz evaluate` {instead}"
    )
