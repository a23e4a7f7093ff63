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

__version__ = "0.1.0"

if TYPE_CHECKING:
    from os import PathLike

    from kibitz import cards, stitch
    from kibitz.core.errors import Interrupted, KibitzError
    from kibitz.evaluate import best_response, exploitability, nash_conv, value
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
    from kibitz.solvers.blueprint import Blueprint
    from kibitz.solvers.run import solve
    from kibitz.solvers.training import train
    from kibitz.stitch.partition import partition

__all__ = [
    "CHANCE", "TERMINAL", "Blueprint", "Game", "Interrupted", "KibitzError", "Profile", "abstraction", "agent",
    "best_response", "cards", "check", "diff", "exploitability", "game", "infoset_values", "load", "match", "nash_conv",
    "partition", "profile_from", "solve", "stitch", "train", "value", "write_efg",
]  # fmt: skip

_HOME = {
    "CHANCE": "kibitz.games",
    "TERMINAL": "kibitz.games",
    "Game": "kibitz.games",
    "Interrupted": "kibitz.core.errors",
    "KibitzError": "kibitz.core.errors",
    "Blueprint": "kibitz.solvers.blueprint",
    "Profile": "kibitz.forms.profile",
    "agent": "kibitz.play.agents",
    "check": "kibitz.play.conformance",
    "match": "kibitz.play.matches",
    "train": "kibitz.solvers.training",
    "abstraction": "kibitz.forms.abstraction",
    "best_response": "kibitz.evaluate",
    "diff": "kibitz.evaluate.difference",
    "exploitability": "kibitz.evaluate",
    "infoset_values": "kibitz.evaluate.infosets",
    "game": "kibitz.games",
    "nash_conv": "kibitz.evaluate",
    "partition": "kibitz.stitch.partition",
    "profile_from": "kibitz.forms.imported",
    "solve": "kibitz.solvers.run",
    "value": "kibitz.evaluate",
    "write_efg": "kibitz.games.efg",
}


def __getattr__(name: str) -> Any:
    if name in ("cards", "stitch"):
        return importlib.import_module(f"kibitz.{name}")
    if name not in _HOME:
        raise AttributeError(f"kibitz has no {name!r}")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names, those not yet resolved with them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def load(path: str | PathLike[str], game: Any = None) -> Profile | Blueprint:
    """Read a saved strategy: a profile, or a blueprint. game: for a blueprint of a game in a file of yours."""
    from kibitz.core.store import kind_at

    if kind_at(path) == "blueprint":
        from kibitz.solvers.saved_blueprints import load_blueprint

        return load_blueprint(path, game=game)
    from kibitz.forms.profile import Profile

    return Profile.load(path)
