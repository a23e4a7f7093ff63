"""Plug-ins: how a package adds more than rules for its games.

Rules are enough for a game: its tree is laid out, and everything here works on trees. A package of games may bring
more: compiled rules, a form without a tree, abstractions of its own, blueprints that keep their rows in another way,
agents. It says so in one `Plugin`, and nothing outside of the package asks which game it has.

A game names its plug-in by an attribute `plugin`: a name of the table below, or a Plugin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from kibitz.core.errors import GameError, SolverError

# name -> where it is: imported when a game or a file first asks for it
PLUGINS: dict[str, str] = {"poker": "kibitz.poker.plugin:PLUGIN", "toepen": "kibitz.toepen.plugin:PLUGIN"}

_known: dict[str, Plugin] = {}


class Plugin:
    """What a package adds to its games beside their rules. The defaults here add nothing."""

    name = ""  # also the key by which saved infosets say that they are this plug-in's

    # Games

    def shipped(self) -> list[str]:
        """Names of files with games that come with kibitz."""
        return []

    def open(self, text: str) -> Any:
        """The game of a file or of a name that only this plug-in knows; None for others."""
        return None

    def machine(self, game: Any, by_rounds: bool = False) -> Any:
        """The compiled rules of a game. by_rounds: poker's, with its betting by rounds."""
        return None

    def table(self, game: Any) -> Any:
        """Rules to play on, where a game has too many actions for compiled rules that can be trained; else None."""
        return None

    def meeting(self, machine: Any, agents: Any) -> Any:
        """(the machine that agents meet on, what its `duel` takes for each); None: `kibitz.evaluate.match` knows."""
        return None

    def size(self, game: Any) -> dict[str, Any]:
        """What is known of a game that is too large to be laid out: counts, and "commands" that work with it.

        Empty: nothing is known beside the rules.
        """
        return {}

    # Abstractions

    def reads(self, abstraction: Any) -> bool:
        """Whether an abstraction is one of this plug-in: by its name, or by its class."""
        return False

    def on_form(self, abstraction: Any) -> bool:
        """Whether the plug-in's form reads an abstraction (`FormPlugin.abstract`); a tree is needed for others."""
        return False

    def saved(self, path: str) -> Any:
        """The abstraction that a folder holds; None if it holds none."""
        return None

    def keys(self, game: Any, infosets: Any, abstraction: Any) -> Any:
        """For each infoset of the game's tree a number: those with the same one share a row. None: not known here."""
        return None

    def within(self, game: Any, abstraction: Any, device: str, tell: Any = None, sampled: bool = False) -> Any:
        """The form of an abstract game whose real game has no form, or whose boards are to be sampled; else None."""
        return None

    def wrong_device(self, device: str) -> str:
        """The sentence for a device that a game without an abstraction cannot be solved on."""
        return f"this game is solved on the processor's cores: leave device={device} (--device {device}) out"

    # Agents, and how a table is shown to a person

    def agents(self, game: Any) -> Mapping[str, Any]:
        """Players that need a strategy to play from: name -> (how they are made, a line of help)."""
        return {}

    def translated(self, agent: Any, few: Any, machine: Any) -> Any:
        """An agent of the same game with fewer actions, as one of the game of `machine`; None: there is none."""
        return None

    def at_once(self, artefact: Any, game: Any, name: str) -> Any:
        """An agent for a person's table that plays a saved strategy without what only matches need; None: as in
        matches."""
        return None

    def renderer(self, game: Any) -> Any:
        """How a table is shown; None: as for any game."""
        return None

    # Strategies

    def form_of(self, profile: Any, game: Any, device: str = "cpu", tell: Any = None) -> Any:
        """The form that a profile of an abstract game was made on; None for other profiles."""
        return None

    def on_form_of(self, blueprint: Any, game: Any) -> Any:
        """(form, what a blueprint plays there) of a game whose tree does not fit, or of a form; None: there is none."""
        return None

    def stitching(self, game: Any, base: Any, plan: Any, how: Any) -> Any:
        """What experts are stitched onto (`kibitz.stitch.targets.Target`); None: the game's form, or its tree."""
        return None

    def stitch_setting(self, game: Any, base: str, solver: str) -> Any:
        """What automatic stitching works on (`kibitz.stitch.auto.setting.Setting`) from a base in this abstraction.

        game: the rules, or the plug-in's form. None: the game's tree, or its form with experts without abstraction.
        """
        return None

    def stitch_large(self, game: Any, base: Any, effort: Any) -> Any:
        """(setting, base, effort) of automatic stitching where a game is too large for `stitch_setting`; None: it is
        not. base: a profile, or the name of an abstraction to solve one in; effort: of `kibitz.stitch.auto.plan`."""
        return None

    def stitch_blueprint(self, base: Any, limits: Any, effort: Any) -> Any:
        """(what automatic stitching of a blueprint works on, its effort with the game's own choices); None: the
        plug-in cannot stitch it. limits, effort: of `kibitz.stitch.auto.plan`."""
        return None

    def blueprint(self, machine: Any, wanted: Any, base: Any) -> Any:
        """A blueprint that has learned nothing, if the plug-in keeps its rows in its own way; else None."""
        return None

    def saved_blueprint(self, artefact: Any, machine: Any, compact: bool) -> Any:
        """The same from a file; None where rows are kept as they are for all games."""
        return None


class FormPlugin(Plugin, ABC):
    """A plug-in with a form that needs no tree: what solvers see of its games (`kibitz.forms.protocol`)."""

    @abstractmethod
    def has_form(self, game: Any) -> bool:
        """Whether a game is solved on that form; quick, as nothing is built."""

    @abstractmethod
    def form(self, game: Any, columns: int | None = None) -> Any:
        """The form, made on first use and kept as long as the game lives. columns: see `kibitz.forms.choice`."""

    @abstractmethod
    def infosets(self, arrays: dict[str, Any], meta: dict[str, Any], columns: int) -> Any:
        """The infosets that a file holds, by what they gave as `stored_arrays` and `stored_meta`."""

    def abstract(self, form: Any, abstraction: Any, device: str) -> Any:
        """The abstract game of a form (`kibitz.forms.problem.Abstracted`), for abstractions that `on_form` knows."""
        raise SolverError(f"the form of {form.spec or 'this game'} does not support abstractions: give the game's "
                          "tree")


GENERAL = Plugin()


def plugin_of(game: Any) -> Plugin:
    """The plug-in of a game; the general one for a game that names none."""
    named: Any = getattr(game, "plugin", "")
    if isinstance(named, Plugin):
        return _known.setdefault(named.name, named)
    return plugin(named) if named else GENERAL


def plugin(name: str) -> Plugin:
    """The plug-in of a name."""
    if name not in _known:
        if name not in PLUGINS:
            raise GameError(f"there is no plug-in {name!r}; plug-ins are {' and '.join(PLUGINS)}, or your own Plugin")
        module, _, attribute = PLUGINS[name].partition(":")
        _known[name] = getattr(import_module(module), attribute)
    return _known[name]


def all_plugins() -> Iterator[Plugin]:
    """All plug-ins: those of the table, and those of games that were made here."""
    for name in dict.fromkeys((*PLUGINS, *_known)):
        yield plugin(name)
