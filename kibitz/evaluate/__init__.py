"""What a strategy is worth: exact values and best responses in the real game.

A strategy is a profile or a blueprint; of a blueprint what it plays is laid out first, infoset by infoset.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate.blueprints import laid_out
from kibitz.forms.choice import form_for
from kibitz.forms.problem import form_of_profile, probabilities_of
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form, GradientForm, Measure
from kibitz.games import Game
from kibitz.games.tree import Tree
from kibitz.solvers.blueprint import Blueprint

__all__ = ["BestResponse", "Measure", "best_response", "exploitability", "measure", "nash_conv", "value"]

Strategy = Profile | Blueprint

Floats = NDArray[np.float64]


class BestResponse(NamedTuple):
    """What a seat could get against the others, and how: `profile` is the given one with that seat's answer."""

    value: float
    profile: Profile


def on_form(game: Game | Tree | Form | str, strategy: Strategy) -> tuple[GradientForm, Profile]:
    """(the form of a game that a strategy is measured on, the strategy as a profile): a game may have several forms."""
    if isinstance(strategy, Blueprint):
        return laid_out(strategy, game)
    if not isinstance(strategy, Profile):
        raise GameError(f"give a profile or a blueprint (kibitz.load reads saved ones), not {type(strategy).__name__}")
    within = form_of_profile(strategy, game)
    form = form_for(game, of_tree=strategy.infosets.compact is None) if within is None else within
    return form, strategy


def measure(form: GradientForm, probabilities: Floats) -> Measure:
    """Values and best responses of all seats. `probabilities` are by infoset column, as a profile holds them."""
    return form.measure(probabilities)


def value(game: Game | Tree | Form | str, profile: Strategy) -> Floats:
    """Expected utility of each seat when all play the profile, or the blueprint."""
    form, profile = on_form(game, profile)
    return form.value(probabilities_of(form, profile))


def best_response(game: Game | Tree | Form | str, profile: Strategy, seat: int) -> BestResponse:
    """The most that `seat` can get while the others play the profile, and a strategy that gets it.

    Where nothing distinguishes actions (the others never let play come there) the first one is taken.
    """
    form, profile = on_form(game, profile)
    if not 0 <= seat < form.seats:
        raise GameError(f"there is no seat {seat}: seats are 0 to {form.seats - 1}")
    best, probabilities = form.best_response(seat, probabilities_of(form, profile))
    return BestResponse(best, profile.replaced(probabilities, solver=f"br(seat={seat})"))


def nash_conv(game: Game | Tree | Form | str, profile: Strategy) -> float:
    """The sum over seats of what a best response gains: 0 exactly at an equilibrium. Also of a blueprint."""
    form, profile = on_form(game, profile)
    return measure(form, probabilities_of(form, profile)).nash_conv


def exploitability(game: Game | Tree | Form | str, profile: Strategy) -> float:
    """NashConv / players: what a best response gains, on average over the seats. Also of a blueprint."""
    form, profile = on_form(game, profile)
    return nash_conv(form, profile) / profile.seats


def report(game: Game | Tree | Form | str, profile: Strategy) -> dict[str, Any]:
    """All figures of a profile at once, as plain numbers."""
    form, profile = on_form(game, profile)
    figures = measure(form, probabilities_of(form, profile))
    return {
        "value": figures.value.tolist(),
        "best_response": figures.best.tolist(),
        "nash_conv": figures.nash_conv,
        "exploitability": figures.nash_conv / form.seats,
        "perfect_recall": form.perfect_recall,
    }
