"""Forms without a tree: their profiles on the tree of the same game, and any form's abstract game to solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.abstractions import abstract_game, abstraction
from kibitz.abstractions.poker import poker_buckets
from kibitz.errors import GameError
from kibitz.form.choice import needs_tree
from kibitz.form.protocol import CompactForm
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.profile import Profile
from kibitz.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Abstracted:
    """A game within an abstraction: what is solved, and the way back."""

    name: str
    subject: Tree | CompactForm  # what is solved
    size: int  # its infosets
    lift: Callable[[Floats], Floats]  # its probabilities -> those of the real game


def abstracted_form(form: CompactForm, source: Any) -> Abstracted:
    """A form without a tree, within buckets."""
    name, buckets = poker_buckets(form, source)
    small = form.bucketed(buckets)

    def lift(probabilities: Floats) -> Floats:
        return form.to_probabilities(form.lift(small, small.to_strategy(probabilities)))

    return Abstracted(name, small, small.points, lift)


def abstracted_tree(game: Game | Tree | str, tree: Tree, source: Any) -> Abstracted:
    """The abstract game of a tree, written out. game: as the abstraction is asked of it."""
    chosen = abstraction(game, source)
    derived = abstract_game(tree, chosen.row, chosen.closed)

    def lift(probabilities: Floats) -> Floats:
        return chosen.even_out(derived.lift(probabilities))

    return Abstracted(chosen.name, derived.tree, len(derived.tree.infosets.labels), lift)


def on_tree(tree: Tree, profile: Profile, rules: Game | None = None) -> Profile:
    """A profile of a compact form as one of the same game's tree; any other profile as it is.

    Hands that the form holds as one play alike, so nothing is lost: values and gaps are the same.
    rules: of the tree, needed only if it does not name its game.
    """
    compact = profile.infosets.compact
    if compact is None:
        return profile
    if rules is None and tree.spec:
        rules = make_game(tree.spec)
    if rules is None:
        raise GameError("the profile was made without a tree, and the tree does not say its game: give the game itself")
    if needs_tree(rules) or not compact.of_game(rules):
        raise GameError(
            f"the profile was made for another game ({profile.game or 'without a name'}) than {tree.spec or 'this one'}"
        )
    mine = compact.places(tree.infosets)[0]
    of, row = tree.infosets, tree.infosets.row_of_column
    column = compact.first[mine][row] + np.arange(of.columns) - of.first[row]
    meta = {**profile.meta, "game": tree.spec, "tree": tree.digest}
    return Profile(of, profile.probabilities[column], meta)
