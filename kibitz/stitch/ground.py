"""What is stitched on: the game's tree, or its form without one; and whether base, partition and seats fit it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import needs_tree
from kibitz.forms.problem import on_tree
from kibitz.forms.profile import SUM_TOLERANCE, Profile
from kibitz.forms.protocol import Form, FreezableForm
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.stitch.compact import HINT, checked_base, form_for, form_given
from kibitz.stitch.partition import Partition
from kibitz.stitch.partition import partition as make_partition

AnyGame = Any  # a Game, its name, its Tree, or its form without a tree


def rules_of(game: AnyGame) -> Game | Tree | FreezableForm:
    """The game as an object: as long as it lives its tree is laid out once."""
    if isinstance(game, Tree):
        return game
    if not isinstance(game, Form):
        return make_game(game)
    if game.game is None:
        raise GameError("a sequence form does not know its tree: give the game itself, or its tree")
    if not isinstance(game, FreezableForm):
        raise GameError("experts cannot be stitched on this form: give the game itself, or its tree")
    return game


def tree_for(game: AnyGame) -> Tree:
    if isinstance(game, Tree):
        return game
    given = form_given(game)
    if given is not None:
        game = given.game
    rules = make_game(game)
    try:
        return tree_of(rules)
    except GameError as error:
        if needs_tree(rules):
            raise
        raise GameError(f"{error}{HINT}") from None


def ground_of(game: Game | Tree | FreezableForm, base: Profile, given: Any, *views: Any) -> Tree | FreezableForm:
    """What is stitched on: a form without a tree where base, partition and abstractions allow it, else the tree."""
    if isinstance(given, Partition) and given.infosets.compact is None:
        return tree_for(game)
    form = form_for(game, base, views)
    return tree_for(game) if form is None else form


def seen(base: Profile, inside: Any, outside: Any, opponents: Any, everybody: bool) -> tuple[Any, ...]:
    """The abstractions that experts will use. A base that was solved without one has seen the whole game."""
    if everybody:
        return (inside,)
    mine = base.meta.get("abstraction", "null") if isinstance(base, Profile) else None
    return inside, inside if opponents is None else opponents, mine if outside is None else outside


def parts_of(
    game: Game | Tree | FreezableForm, ground: Tree | FreezableForm, given: Partition | str | Callable[[int, str], int]
) -> Partition:
    if not isinstance(given, Partition):
        return make_partition(game if isinstance(ground, Tree) else ground, given)
    if not given.infosets.same(ground.infosets):
        raise GameError(f"the partition {given.name} was made for another game, or on another form of it")
    return given


def seat_sets(seats: str | Sequence[Any], players: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(S, seats to keep) of each family of experts."""
    if isinstance(seats, str) and seats == "each":
        return [((i,), (i,)) for i in range(players)]
    if isinstance(seats, str) and seats == "all":
        return [(tuple(range(players)), tuple(range(players)))]
    given = [] if isinstance(seats, str) or not isinstance(seats, Iterable) else list(seats)
    lists = [isinstance(s, list | tuple) for s in given]
    if not given or any(listed and not s for s, listed in zip(given, lists, strict=True)):
        raise SolverError(f"seats={seats!r}: use 'each' (S={{i}}), 'all' (S=N), a list such as [0, 2], or several")
    if any(lists) and not all(lists):
        raise SolverError(f"seats={seats!r} mixes seats and lists of seats")
    # Of several lists, one S for each seat, the first is the seat whose part is kept.
    sets: list[tuple[tuple[int, ...], tuple[int, ...]]]
    sets = [(tuple(s), tuple(s[:1])) for s in given] if lists[0] else [(tuple(given), tuple(given))]
    for group, _ in sets:
        whole = all(isinstance(s, int | np.integer) and not isinstance(s, bool) and 0 <= s < players for s in group)
        if not whole or len(set(group)) < len(group):
            raise SolverError(f"seats={seats!r}: seats are different numbers from 0 to {players - 1}")
    keepers = [k for _, keep in sets for k in keep]
    if len(set(keepers)) < len(keepers):
        raise SolverError(f"seats={seats!r} builds the same seat's part twice; name each seat first in one list only")
    return sets


def begin(
    game: Game | Tree | FreezableForm,
    base: Profile,
    partition: Any,
    seats: Any,
    inside: Any,
    outside: Any,
    opponents: Any,
) -> tuple[Tree | FreezableForm, list[tuple[tuple[int, ...], tuple[int, ...]]]]:
    """What is stitched on, and the families of experts."""
    players = game.players
    sets = seat_sets(seats, players)
    everybody = all(len(group) == players for group, _ in sets)
    return ground_of(game, base, partition, *seen(base, inside, outside, opponents, everybody)), sets


def checked(game: Game | Tree | FreezableForm, ground: Tree | FreezableForm, base: Profile) -> Profile:
    """The base, as a profile of what is stitched on, if it is one of the game."""
    if not isinstance(base, Profile):
        raise GameError(f"the base must be a profile of the game, not {base!r}: solve for one or load it")
    if isinstance(ground, Tree):
        base = _of_tree(game, ground, base)
    else:
        base = checked_base(ground, base)
    infosets, p = base.infosets, base.probabilities
    sums = np.add.reduceat(np.where(p >= 0.0, p, np.nan), infosets.first[:-1]) if len(p) else np.zeros(0)
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= SUM_TOLERANCE))
    if len(wrong):
        raise GameError(f"the base has no probability distribution at infoset {infosets.labels[wrong[0]]!r}")
    return base


def _of_tree(game: Game | Tree | FreezableForm, tree: Tree, base: Profile) -> Profile:
    given = form_given(game)
    rules: Any = None if isinstance(game, Tree) else game if given is None else given.game
    base = on_tree(tree, base, rules)
    infosets = base.infosets
    if infosets is not tree.infosets and (base.meta.get("tree") != tree.digest or not infosets.same(tree.infosets)):
        lacking = set(tree.infosets.labels) - set(base.infosets.labels)
        why = f"it lacks infoset {sorted(lacking)[0]!r}" if lacking else "it was made for another game"
        raise GameError(f"the base does not fit the game: {why}")
    return base
