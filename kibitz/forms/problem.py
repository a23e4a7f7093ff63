"""From a game to what is solved: `resolve` is the one place where game, abstraction and form meet.

    problem = resolve("leduc", abstraction="JQ.K")
    problem.form                    # what the solver sees
    problem.lift(probabilities)     # its answer in the real game

Without an abstraction that is the game's own form. With one it is the abstract game: of a tree (`abstracted_tree`), or
as the plug-in of the game makes it (`kibitz.games.plugins`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.abstraction import abstract_game, abstraction
from kibitz.forms.choice import form_for, needs_tree
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import CompactForm, Form, GpuForm
from kibitz.forms.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.plugins import FormPlugin, plugin_of
from kibitz.games.tree import Tree, tree_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Abstracted:
    """A game in an abstraction: what is solved, and the way back."""

    name: str
    subject: Tree | CompactForm  # what is solved
    size: int  # its infosets
    lift: Callable[[Floats], Floats]  # its probabilities -> those of the real game


@dataclass(frozen=True, eq=False)
class Problem:
    """The input of a solver, and how its solution is mapped back to the game."""

    form: Form  # what is solved
    tree: Tree | None  # its tree, where it is the form of one
    real: Form  # the form of the game that was asked for: `form` itself where nothing is abstracted
    abstracted: Abstracted | None = None

    def lift(self, answer: Profile) -> Profile:
        """The answer as a profile of the real game; NashConv and size of the abstract game go into its meta."""
        if self.abstracted is None:
            return answer
        meta = {**answer.meta, "game": self.real.spec, "tree": self.real.tree_digest}
        meta |= {"abstraction": self.abstracted.name, "size": self.abstracted.size}
        for name in ("nash_conv", "value"):  # a form of an abstract game calls them so already
            meta[f"abstract_{name}"] = meta.pop(name, meta.get(f"abstract_{name}"))
        return Profile(self.real.infosets, self.abstracted.lift(answer.probabilities), meta)


def resolve(
    game: Game | Tree | Form | str,
    abstraction: Any = None,
    start: Any = None,
    device: str = "cpu",
    of_tree: bool = False,
    sampled: bool = False,
    rows: Any = None,
) -> Problem:
    """What is solved. of_tree: the solver walks a tree; sampled: the solver samples the boards of the abstract game;
    rows: trainable infosets of a form that was given."""
    plugin = plugin_of(_rules(game))
    begins = isinstance(start, Profile) and start.infosets.compact is None
    form: Form | None = plugin.within(game, abstraction, device, sampled=sampled)
    if form is None and not isinstance(game, str | Tree) and isinstance(game, Form):
        form = game
    is_form = form is not None
    if form is None:
        form = form_for(game, of_tree=of_tree or only_on_tree(game, abstraction) or begins or rows is not None)
    if abstraction is not None and not form.abstraction:
        if rows is not None or isinstance(start, Profile):
            raise SolverError("abstraction= cannot be combined with rows= or with a start profile of the real game")
        if form.game is None:
            small = abstracted_tree(game, _tree(game), abstraction)
        else:
            owner = plugin_of(form.game)
            assert isinstance(owner, FormPlugin)  # whose form it is
            small = owner.abstract(form, abstraction, device)
        subject = small.subject
        return Problem(
            form_of(subject) if isinstance(subject, Tree) else subject,
            subject if isinstance(subject, Tree) else None, form, small,
        )  # fmt: skip
    if device != "cpu" and not form.abstraction and not isinstance(form, GpuForm):
        raise SolverError(plugin.wrong_device(device))
    return Problem(form, None if is_form or form.game is not None else _tree(game), form)


def only_on_tree(game: Any, abstraction: Any) -> bool:
    """Whether no form but a tree reads an abstraction."""
    return abstraction is not None and not plugin_of(_rules(game)).on_form(abstraction)


def _rules(game: Any) -> Any:
    """The rules of what was given, where it has any."""
    if isinstance(game, Tree):
        return None
    if not isinstance(game, str) and isinstance(game, Form):
        return game.game
    return make_game(game)


def _tree(game: Game | Tree | Form | str) -> Tree:
    if isinstance(game, Tree):
        return game
    if not isinstance(game, str) and isinstance(game, Form):
        raise SolverError("a form does not contain its game tree: give the game itself")
    return tree_of(make_game(game))


def form_of_profile(profile: Profile, game: Any, device: str = "cpu", tell: Any = None) -> CompactForm | None:
    """The form that a profile of an abstract game was made on; None for profiles of real games."""
    compact = profile.infosets.compact
    if compact is None or not compact.form.abstraction:
        return None
    if not isinstance(game, str) and isinstance(game, Form):
        return game if isinstance(game, CompactForm) else None
    form: CompactForm | None = plugin_of(_rules(game)).form_of(profile, game, device, tell)
    return form


def abstracted_tree(game: Any, tree: Tree, source: Any) -> Abstracted:
    """The abstract game of a tree, written out. game: as the abstraction is asked of it."""
    chosen = abstraction(game, source)
    derived = abstract_game(tree, chosen.row, chosen.closed)

    def lift(probabilities: Floats) -> Floats:
        return chosen.even_out(derived.lift(probabilities))

    return Abstracted(chosen.name, derived.tree, len(derived.tree.infosets.labels), lift)


def on_tree(tree: Tree, profile: Profile, rules: Game | None = None) -> Profile:
    """A profile of a compact form as one of the same game's tree; any other profile as it is.

    Hands that the form merges play alike, so nothing is lost: values and NashConv are the same.
    rules: of the tree, needed only if it does not name its game.
    """
    compact = profile.infosets.compact
    if compact is None:
        return profile
    if rules is None and tree.spec:
        rules = make_game(tree.spec)
    if rules is None:
        raise GameError("the profile was made without a tree, and the tree does not contain its game: give the game "
                        "itself")
    if needs_tree(rules) or not compact.of_game(rules):
        raise GameError(
            f"the profile was made for another game ({profile.game or 'without a name'}) than {tree.spec or 'this one'}"
        )
    mine = compact.places(tree.infosets)[0]
    of, row = tree.infosets, tree.infosets.row_of_column
    column = compact.first[mine][row] + np.arange(of.columns) - of.first[row]
    meta = {**profile.meta, "game": tree.spec, "tree": tree.digest}
    return Profile(of, profile.probabilities[column], meta)


def probabilities_of(form: Form, profile: Profile) -> Floats:
    """The profile's probabilities, after a check that it belongs to the game."""
    same = profile.infosets is form.infosets or (
        profile.meta.get("tree") == form.tree_digest
        and profile.probabilities.shape == (form.columns,)
        and form.infosets.same_shape(profile.infosets)
    )
    if not same:
        raise GameError(
            f"the profile was made for another game ({profile.game or 'without a name'}) than {form.spec or 'this one'}"
        )
    return profile.probabilities
