"""From the quotient of a game by its symmetries back to the game.

A game with a method `kinds(seat, infoset)` says which infoset of its quotient one of its own belongs to, and which of
its actions each action there stands for: see `kibitz.toepen.rules`, whose quotient is the game with
symmetric=true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kibitz.core.errors import GameError
from kibitz.forms.profile import Profile
from kibitz.games import Game
from kibitz.games.tree import tree_of


def unfold(game: Game, profile: Profile) -> Profile:
    """A profile of the quotient, played in the game: actions that are one there are equally likely here.

    An equilibrium stays one. Where all actions are of one kind the quotient has no infoset: they are equally likely.
    """
    kinds: Any = getattr(game, "kinds", None)
    if kinds is None:
        raise GameError(f"{type(game).__name__} has no method kinds(seat, infoset): so a profile of its quotient "
                        "cannot be expanded")
    tree = tree_of(game)
    infosets, theirs = tree.infosets, profile.infosets
    if theirs.seats != infosets.seats:
        raise GameError(f"the profile has {theirs.seats} seats, the game {infosets.seats}")
    probabilities = np.zeros(int(infosets.first[-1]))
    for seat in range(infosets.seats):
        for i in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            label, stands_for = kinds(seat, infosets.labels[i])
            row = profile[seat, label] if len(stands_for) > 1 else dict.fromkeys(stands_for, 1.0)
            if set(row) != set(stands_for):
                raise GameError(f"the profile plays {', '.join(map(str, row))} at {label!r}: it belongs to another "
                                "game")
            share = {action: row[name] / len(actions) for name, actions in stands_for.items() for action in actions}
            names = infosets.actions[infosets.actions_of[i]]
            probabilities[infosets.first[i] : infosets.first[i + 1]] = [share[name] for name in names]
    kept = {key: x for key, x in profile.meta.items() if key not in ("nash_conv", "value")}
    return Profile(infosets, probabilities, {**kept, "game": tree.spec, "tree": tree.digest})
