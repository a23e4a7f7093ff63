"""What a profile is worth: exact values and best responses in the real game."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.form.sequence import SequenceForm, form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.profile import Profile
from kibitz.tree import Tree, tree_of

__all__ = ["BestResponse", "best_response", "exploitability", "measure", "nash_conv", "value"]

Floats = NDArray[np.float64]


class BestResponse(NamedTuple):
    """What a seat could get against the others, and how: `profile` is the given one with that seat's answer."""

    value: float
    profile: Profile


def _form(game: Game | Tree | str) -> SequenceForm:
    return form_of(game if isinstance(game, Tree) else tree_of(make_game(game)))


def probabilities_of(form: SequenceForm, profile: Profile) -> Floats:
    """The profile's probabilities, after a check that it belongs to the game."""
    same = profile.infosets is form.infosets or (
        profile.meta.get("tree") == form.tree_digest and np.array_equal(profile.infosets.first, form.infosets.first)
    )
    if not same:
        raise GameError(
            f"the profile was made for another game ({profile.game or 'without a name'}) than {form.spec or 'this one'}"
        )
    return profile.probabilities


class Measure(NamedTuple):
    """What a profile is worth, all seats at once."""

    value: Floats  # [seats]  expected utility
    best: Floats  # [seats]  expected utility of a best response to the others
    choice: NDArray[np.int32]  # [points]  the best response's action
    nash_conv: float


@cache
def _kernels() -> Any:
    from kibitz.kernels import evaluate

    return evaluate


def measure(form: SequenceForm, probabilities: Floats) -> Measure:
    """Values and best responses of all seats, in one compiled call and in time linear in the size of the form.

    `probabilities` are by infoset column, as a profile holds them. Where a seat lacks perfect recall its best
    response is one that remembers: an upper bound.
    """
    probabilities = probabilities.view()
    probabilities.flags.writeable = False  # as a profile's are: one type, so compiled once
    result = np.empty((2, form.seats))
    choice = np.empty(form.points, np.int32)
    gap = _kernels().measure(form.packed, form.reads, probabilities, choice, result)
    return Measure(result[0], result[1], choice, gap)


def value(game: Game | Tree | str, profile: Profile) -> Floats:
    """Expected utility of each seat when all play the profile."""
    form = _form(game)
    result = np.empty(form.seats)
    _kernels().expected(form.packed, form.reads, probabilities_of(form, profile), result)
    return result


def best_response(game: Game | Tree | str, profile: Profile, seat: int) -> BestResponse:
    """The most that `seat` can get while the others play the profile, and a strategy that gets it.

    Where nothing distinguishes actions (the others never let play come there) the first one is taken.
    """
    form = _form(game)
    if not 0 <= seat < form.seats:
        raise GameError(f"there is no seat {seat}: seats are 0 to {form.seats - 1}")
    found = measure(form, probabilities_of(form, profile))
    lo, hi = form.seat_point[seat], form.seat_point[seat + 1]
    start = form.infosets.seat_start
    probabilities = profile.probabilities.copy()
    probabilities[form.infosets.first[start[seat]] : form.infosets.first[start[seat + 1]]] = 0.0
    # With imperfect recall an infoset has several points; the first one in order speaks for it.
    infosets, index = np.unique(form.infoset[lo:hi], return_index=True)
    probabilities[form.infosets.first[infosets] + found.choice[lo:hi][index]] = 1.0
    return BestResponse(float(found.best[seat]), profile.replaced(probabilities, solver=f"br(seat={seat})"))


def nash_conv(game: Game | Tree | str, profile: Profile) -> float:
    """Sum over seats of what a best response gains: 0 exactly at an equilibrium."""
    form = _form(game)
    return measure(form, probabilities_of(form, profile)).nash_conv


def exploitability(game: Game | Tree | str, profile: Profile) -> float:
    """nash_conv divided by the number of seats."""
    return nash_conv(game, profile) / profile.seats


def report(game: Game | Tree | str, profile: Profile) -> dict[str, Any]:
    """All figures of a profile at once, as plain numbers."""
    form = _form(game)
    found = measure(form, probabilities_of(form, profile))
    return {
        "value": found.value.tolist(),
        "best_response": found.best.tolist(),
        "nash_conv": found.nash_conv,
        "exploitability": found.nash_conv / form.seats,
        "perfect_recall": form.perfect_recall,
    }
