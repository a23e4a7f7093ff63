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
    from kibitz.abstractions import abstraction
    from kibitz.errors import Interrupted, KibitzError
    from kibitz.evaluate import best_response, exploitability, nash_conv, value
    from kibitz.evaluate.infosets import infoset_values
    from kibitz.games import CHANCE, TERMINAL, Game, game
    from kibitz.games.efg import write_efg
    from kibitz.incoming import profile_from
    from kibitz.profile import Profile
    from kibitz.run import solve
    from kibitz.stitch.partition import partition

__all__ = [
    "CHANCE", "TERMINAL", "Game", "Interrupted", "KibitzError", "Profile", "abstraction", "best_response", "cards",
    "exploitability", "game", "infoset_values", "load", "nash_conv", "partition", "profile_from", "solve", "stitch",
    "value", "write_efg",
]  # fmt: skip

_HOME = {
    "CHANCE": "kibitz.games",
    "TERMINAL": "kibitz.games",
    "Game": "kibitz.games",
    "Interrupted": "kibitz.errors",
    "KibitzError": "kibitz.errors",
    "Profile": "kibitz.profile",
    "abstraction": "kibitz.abstractions",
    "best_response": "kibitz.evaluate",
    "exploitability": "kibitz.evaluate",
    "infoset_values": "kibitz.evaluate.infosets",
    "game": "kibitz.games",
    "nash_conv": "kibitz.evaluate",
    "partition": "kibitz.stitch.partition",
    "profile_from": "kibitz.incoming",
    "solve": "kibitz.run",
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


def load(path: str | PathLike[str]) -> Profile:
    """Read a profile that `Profile.save` wrote."""
    from kibitz.profile import Profile

    return Profile.load(path)
