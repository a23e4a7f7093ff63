"""kibitz: strong strategies for games with hidden information.

    import kibitz
    game = kibitz.game("leduc")
    profile = kibitz.solve(game, "cfr+", until=1e-3)
    kibitz.value(game, profile), kibitz.nash_conv(game, profile)

Names are resolved on first use: importing kibitz takes no time and does not import Numba.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from os import PathLike

    from kibitz import cards, stitch
    from kibitz.commands import abstract, export, info, phases, show, tournament
    from kibitz.core.errors import Interrupted, KibitzError
    from kibitz.core.executor import executing
    from kibitz.evaluate import best_response, exploitability, nash_conv, value
    from kibitz.evaluate.crosstable import crosstable
    from kibitz.evaluate.difference import diff
    from kibitz.evaluate.infosets import infoset_values
    from kibitz.forms.abstraction import abstraction
    from kibitz.forms.imported import profile_from
    from kibitz.forms.profile import Profile
    from kibitz.games import CHANCE, TERMINAL, Game, game
    from kibitz.games.efg import write_efg
    from kibitz.play.agents import agent
    from kibitz.play.conformance import check
    from kibitz.play.matches import match
    from kibitz.poker.multiway.question import multiway
    from kibitz.poker.multiway.saved import load_multiway, save_multiway
    from kibitz.poker.multiway.solving import solve_multiway
    from kibitz.poker.preflop.question import preflop
    from kibitz.poker.preflop.solving import solve_preflop
    from kibitz.poker.preflop.tables import load_preflop, save_preflop
    from kibitz.poker.spots.comparing import compare_spots
    from kibitz.poker.spots.flop_report import flop_report
    from kibitz.poker.spots.nearest import nearest_spot
    from kibitz.poker.spots.reading import read_spot, spot
    from kibitz.poker.spots.saved import load_spot, save_spot
    from kibitz.poker.spots.solving import solve_spot
    from kibitz.poker.tournaments import icm, pushfold
    from kibitz.solvers import RunOptions
    from kibitz.solvers.blueprint import Blueprint
    from kibitz.solvers.new_blueprints import BlueprintOptions
    from kibitz.solvers.result import Result
    from kibitz.solvers.run import solve
    from kibitz.solvers.training import train
    from kibitz.stitch.auto import stitch_auto
    from kibitz.stitch.partition import partition

    ui: Any  # kibitz.web.serve, which imports the version from here

__all__ = [
    "CHANCE",
    "TERMINAL",
    "Blueprint",
    "BlueprintOptions",
    "Game",
    "Interrupted",
    "KibitzError",
    "Profile",
    "Result",
    "RunOptions",
    "abstract",
    "abstraction",
    "agent",
    "best_response",
    "cards",
    "check",
    "compare_spots",
    "crosstable",
    "diff",
    "executing",
    "exploitability",
    "export",
    "flop_report",
    "game",
    "icm",
    "info",
    "infoset_values",
    "load",
    "load_multiway",
    "load_preflop",
    "load_spot",
    "match",
    "multiway",
    "nash_conv",
    "nearest_spot",
    "partition",
    "phases",
    "preflop",
    "profile_from",
    "pushfold",
    "read_spot",
    "save_multiway",
    "save_preflop",
    "save_spot",
    "show",
    "solve",
    "solve_multiway",
    "solve_preflop",
    "solve_spot",
    "spot",
    "stitch",
    "stitch_auto",
    "tournament",
    "train",
    "ui",
    "value",
    "write_efg",
]  # fmt: skip

_NAMES = {
    "kibitz.commands": ("abstract", "export", "info", "phases", "show", "tournament"),
    "kibitz.core.errors": ("Interrupted", "KibitzError"),
    "kibitz.core.executor": ("executing",),
    "kibitz.evaluate": ("best_response", "exploitability", "nash_conv", "value"),
    "kibitz.evaluate.crosstable": ("crosstable",),
    "kibitz.evaluate.difference": ("diff",),
    "kibitz.evaluate.infosets": ("infoset_values",),
    "kibitz.forms.abstraction": ("abstraction",),
    "kibitz.forms.imported": ("profile_from",),
    "kibitz.forms.profile": ("Profile",),
    "kibitz.games": ("CHANCE", "TERMINAL", "Game", "game"),
    "kibitz.games.efg": ("write_efg",),
    "kibitz.play.agents": ("agent",),
    "kibitz.play.conformance": ("check",),
    "kibitz.play.matches": ("match",),
    "kibitz.poker.spots.flop_report": ("flop_report",),
    "kibitz.poker.multiway.question": ("multiway",),
    "kibitz.poker.multiway.saved": ("load_multiway", "save_multiway"),
    "kibitz.poker.multiway.solving": ("solve_multiway",),
    "kibitz.poker.preflop.question": ("preflop",),
    "kibitz.poker.preflop.solving": ("solve_preflop",),
    "kibitz.poker.preflop.tables": ("load_preflop", "save_preflop"),
    "kibitz.poker.spots.comparing": ("compare_spots",),
    "kibitz.poker.spots.nearest": ("nearest_spot",),
    "kibitz.poker.spots.reading": ("read_spot", "spot"),
    "kibitz.poker.spots.saved": ("load_spot", "save_spot"),
    "kibitz.poker.spots.solving": ("solve_spot",),
    "kibitz.poker.tournaments": ("icm", "pushfold"),
    "kibitz.solvers": ("RunOptions",),
    "kibitz.solvers.blueprint": ("Blueprint",),
    "kibitz.solvers.new_blueprints": ("BlueprintOptions",),
    "kibitz.solvers.result": ("Result",),
    "kibitz.solvers.run": ("solve",),
    "kibitz.solvers.training": ("train",),
    "kibitz.stitch.auto": ("stitch_auto",),
    "kibitz.stitch.partition": ("partition",),
    "kibitz.web.serve": ("ui",),
}
_HOME = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("cards", "commands", "evaluate", "play", "stitch"):
        return importlib.import_module(f"kibitz.{name}")
    if name not in _HOME:
        raise AttributeError(f"kibitz has no {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    """The public names, those not yet resolved with them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def load(path: str | PathLike[str], game: Any = None) -> Profile | Blueprint:
    """Read a saved strategy: a profile or a blueprint. game: needed for a blueprint of a game in your own file."""
    from kibitz.core.store import kind_at

    if kind_at(path) == "blueprint":
        from kibitz.solvers.saved_blueprints import load_blueprint

        return load_blueprint(path, game=game)
    from kibitz.forms.profile import Profile

    return Profile.load(path)
