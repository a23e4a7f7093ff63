"""Which form a game is solved on, and which infosets a file holds: the one place that knows all forms.

A game names its form by an attribute `form` (`kibitz.games.protocol`). Most have none: their trees are laid out.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.form.protocol import CompactForm, Form, ProfileInfosets
from kibitz.form.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.tree import Infosets, Tree, tree_of

FORMS = ("tree", "poker")


def needs_tree(game: Game | None) -> bool:
    """Whether a game is solved on its tree; quick, as nothing is built."""
    name = getattr(game, "form", "tree")
    if name not in FORMS:
        raise GameError(f"{type(game).__name__} names the form {name!r}; forms are {' and '.join(FORMS)}")
    return bool(name == "tree")


def compact_form(game: Game, columns: int | None = None) -> CompactForm:
    """The form that a game names, built on first use and kept as long as the game lives.

    columns: of the file that it is made for, if there is one; a game with more is refused before it is built.
    """
    from kibitz.form.poker.form import poker_form

    return poker_form(game, columns)


def form_for(game: Game | Tree | Form | str, of_tree: bool = False) -> Form:
    """The form to solve a game on: the one it names, or with `of_tree` the sequence form of its tree."""
    if isinstance(game, Tree):
        return form_of(game)
    if not isinstance(game, str) and isinstance(game, Form):
        return game
    rules = make_game(game)
    return form_of(tree_of(rules)) if of_tree or needs_tree(rules) else compact_form(rules)


def stored_infosets(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], columns: int) -> ProfileInfosets:
    """The infosets that a file holds by `stored_arrays` and `stored_meta`; what is theirs is taken out of `meta`.

    What is wrong with them is a ValueError, KeyError or TypeError. columns: how many the file has probabilities for.
    """
    actions = meta.pop("actions")
    if "poker" not in meta:
        return Infosets.from_stored(arrays, actions)
    if "buckets" in meta:
        from kibitz.form.bucket.build import infosets_of as within_buckets

        return within_buckets(arrays, meta, columns)
    if "views" in meta:
        from kibitz.form.views.infosets import infosets_of as with_views

        return with_views(arrays, meta, columns)
    from kibitz.form.poker.form import infosets_of

    return infosets_of(str(meta.pop("poker")), str(meta.get("game", "")), columns)
