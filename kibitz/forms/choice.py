"""Which form a game is solved on, and which infosets a file holds.

Most games are solved on their trees. A plug-in may bring a form that needs none (`kibitz.games.plugins`).
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.protocol import CompactForm, Form, GradientForm, ProfileInfosets, SampledForm
from kibitz.forms.sequence import form_of
from kibitz.games import Game
from kibitz.games import game as make_game
from kibitz.games.plugins import FormPlugin, all_plugins, plugin_of
from kibitz.games.tree import Infosets, Tree, tree_of


def needs_tree(game: Game | None) -> bool:
    """Whether a game is solved on its tree; quick, as nothing is built."""
    return _form_plugin(game) is None


def compact_form(game: Game, columns: int | None = None) -> CompactForm:
    """The form without a tree that a game has, built on first use and kept as long as the game lives.

    columns: of the file that it is made for, if there is one; a game with more is refused before it is built.
    """
    plugin = _form_plugin(game)
    if plugin is None:
        raise GameError(f"{getattr(game, 'spec', '') or type(game).__name__} has only the form of its game tree")
    form: CompactForm = plugin.form(game, columns)
    return form


def has_compact_form(game: Game) -> bool:
    """Whether a game has a form without a tree, and is small enough for it. That is built, if so."""
    try:
        compact_form(game)
    except GameError:
        return False
    return True


def _form_plugin(game: Game | None) -> FormPlugin | None:
    """The plug-in whose form a game is solved on; None: its tree."""
    plugin = plugin_of(game)
    return plugin if isinstance(plugin, FormPlugin) and plugin.has_form(game) else None


def form_for(game: Game | Tree | Form | str, of_tree: bool = False) -> GradientForm:
    """The form to solve and to measure a game on: the one that its plug-in brings, or with `of_tree` the sequence form
    of its tree."""
    if isinstance(game, Tree):
        return form_of(game)
    if not isinstance(game, str) and isinstance(game, GradientForm):
        return game
    if not isinstance(game, str) and isinstance(game, Form):
        raise SolverError(without_gradients(game))
    rules = make_game(game)
    return form_of(tree_of(rules)) if of_tree or needs_tree(rules) else compact_form(rules)


def without_gradients(form: Form) -> str:
    """What to do with a form that has no payoff operator, as a sentence."""
    what = f"{form.spec or 'this game'}{f' in {form.abstraction}' if form.abstraction else ''}"
    if isinstance(form, SampledForm):
        return (
            f"{what} is solved by sampling {form.sampled}: take --solver {form.best_cfr} (solver={form.best_cfr!r}); "
            "`kibitz evaluate --whole` measures the profile in the whole game"
        )
    return f"{what} has a form without plans and gradients: take --solver {form.best_cfr}, or give the game's tree"


def stored_infosets(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], columns: int) -> ProfileInfosets:
    """The infosets that a file holds by `stored_arrays` and `stored_meta`; what is theirs is taken out of `meta`.

    What is wrong with them is a ValueError, KeyError or TypeError. columns: how many the file has probabilities for.
    """
    actions = meta.pop("actions")
    for plugin in all_plugins():
        if isinstance(plugin, FormPlugin) and plugin.name in meta:
            infosets: ProfileInfosets = plugin.infosets(arrays, meta, columns)
            return infosets
    return Infosets.from_stored(arrays, actions)
