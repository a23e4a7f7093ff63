"""Who plays which seat, and what each seat then gets: strategies of one game on one form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate import Strategy
from kibitz.evaluate.blueprints import laid_out
from kibitz.forms.choice import compact_form, form_for, needs_tree
from kibitz.forms.problem import on_tree, probabilities_of
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form, GradientForm
from kibitz.forms.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers.blueprint import Blueprint

Floats = NDArray[np.float64]


class Seatings:
    """What each seat gets, by who plays which seat: Seatings(form, strategies)[0, 2, 1] -> [seats], each worked out
    once."""

    def __init__(self, form: GradientForm, strategies: Sequence[Profile]) -> None:
        self.form, self.strategies = form, strategies
        self.probabilities = [probabilities_of(form, profile) for profile in strategies]
        self._first = form.infosets.first[form.infosets.seat_start]
        self._known: dict[tuple[int, ...], Floats] = {}

    def __getitem__(self, who: tuple[int, ...]) -> Floats:
        known = self._known.get(who)
        if known is None:
            first = self._first
            parts = [self.probabilities[w][first[seat] : first[seat + 1]] for seat, w in enumerate(who)]
            known = self.form.value(np.concatenate(parts))
            self._known[who] = known
        return known

    def learn(self, seatings: Iterable[tuple[tuple[int, ...], Any]]) -> None:
        """Take values of seatings that others have worked out."""
        self._known |= {who: np.array(values) for who, values in seatings}

    def earns(self, one: int, others: Sequence[int]) -> float:
        """The mean of what strategy `one` gets over all orders of it and the others around the table."""
        orders = sorted(set(permutations((one, *others))))
        return float(np.mean([self[who][seat] for who in orders for seat, w in enumerate(who) if w == one]))


def form_of_all(game: Game | Tree | Form | str, strategies: Iterable[Strategy]) -> tuple[GradientForm, list[Profile]]:
    """A form that all strategies can be measured on, and the strategies on it.

    Poker has two. Profiles of the poker form alone stay there; beside one of the tree they are laid out on the tree,
    which loses nothing: it is the other way that would. What blueprints play is laid out on the tree, or on a poker
    form where the tree is too large.
    """
    every = list(strategies)
    laid = {id(each): laid_out(each, game) for each in every if isinstance(each, Blueprint)}
    profiles = [each if isinstance(each, Profile) else laid[id(each)][1] for each in every]
    poker = next((form for form, profile in laid.values() if profile.infosets.compact is not None), None)
    if poker is not None:
        for profile in profiles:
            if not poker.infosets.same_shape(profile.infosets):
                raise GameError(
                    f"{poker.spec} is too large for an exact comparison of blueprints and profiles, which needs the "
                    "game tree: use `kibitz match`"
                )
        return poker, profiles
    if not isinstance(game, Tree | str) and isinstance(game, Form):
        return form_for(game), profiles
    rules = None if isinstance(game, Tree) else make_game(game)
    compact = [profile.infosets.compact is not None for profile in profiles]
    if rules is not None and not needs_tree(rules) and all(compact):
        return compact_form(rules), profiles
    try:
        tree = game if isinstance(game, Tree) else tree_of(make_game(game) if rules is None else rules)
    except GameError as error:
        if not any(compact):
            raise
        raise GameError(
            "some profiles were made on the game's tree and some on its poker form, and the tree is needed to "
            f"compare them: {error}; solve the game again on its poker form, which `kibitz solve` does"
        ) from None
    return form_of(tree), [on_tree(tree, profile, rules) for profile in profiles]
