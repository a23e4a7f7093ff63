"""Rules of games, one game a file, and adapters for games that live elsewhere.

`game(text)` is the way in. The table of built-in names is resolved lazily: asking for a list imports nothing.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.games.own import METHODS, is_own, own_game
from kibitz.games.plugins import all_plugins
from kibitz.games.protocol import CHANCE, TERMINAL, Buckets, Game

__all__ = ["CHANCE", "GAMES", "TERMINAL", "Buckets", "Game", "game"]

# name -> (module:class, one line for `kibitz games`)
GAMES: dict[str, tuple[str, str]] = {
    "kuhn": ("kibitz.games.kuhn:Kuhn", "Kuhn poker: one card each, one bet; players=2 or more"),
    "leduc": ("kibitz.games.leduc:Leduc", "Leduc hold'em: two rounds, one board card; players=2 or more"),
    "liars_dice": ("kibitz.games.liars_dice:LiarsDice", "Liar's Dice: bid on all dice, or call the liar"),
    "goofspiel": ("kibitz.games.goofspiel:Goofspiel", "Goofspiel: sealed bids for a row of prizes"),
    "toepen": ("kibitz.toepen.rules:Toepen", "Toepen: a trick-taking game with betting; only the last trick counts"),
    "rhode_island": (
        "kibitz.poker.rules.rules:rhode_island", "Rhode Island hold'em: three rounds, hands of three cards",
    ),
    "poker": ("kibitz.poker.rules.rules:poker", "Poker by an ACPC .game file: limit or no-limit, 2 to 10 players"),
    "matrix": (
        "kibitz.games.matrix:Matrix",
        "A normal-form game: "
        "payoffs=[[1, -1], [-1, 1]] for two, zero-sum; cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]] as in books",
    ),
}

_NEEDED = ("players", *METHODS)


def game(source: Any) -> Game:
    """A game from its name, a path, or an object that already is one.

    "leduc", "leduc(players=3)"        a built-in game
    "openspiel:liars_dice(numdice=1)"  any OpenSpiel game (needs the extra kibitz[openspiel])
    "shared/poker.efg"                 a Gambit file
    "my/holdem.game"                   a poker game, in the format of the computer poker competition
    "holdem.limit.2p"                  one that comes with kibitz, the same as poker(file=holdem.limit.2p)
    "my_game.py:MyGame(size=3)"        a class with the Game protocol in a file of yours
    """
    if not isinstance(source, str | Path):
        missing = [name for name in _NEEDED if not hasattr(source, name)]
        if missing:
            raise GameError(
                f"{type(source).__name__} is not a game: it lacks {', '.join(missing)}; "
                "see kibitz.games.protocol for what a game needs"
            )
        return source  # type: ignore[no-any-return]
    text = str(source).strip()
    if text.startswith("openspiel:"):
        from kibitz.games.openspiel import OpenSpielGame

        return OpenSpielGame(text.removeprefix("openspiel:"))
    if text.endswith(".efg"):
        from kibitz.games.efg import read_efg

        return read_efg(Path(text))
    if is_own(text):
        return game(own_game(text))
    if text not in GAMES:
        opened = (each.open(text) for each in all_plugins())
        if (shipped := next((one for one in opened if one is not None), None)) is not None:
            return shipped  # type: ignore[no-any-return]
    try:
        spec = specs.parse(text)
        if spec.name not in GAMES:
            raise specs.unknown("game", spec.name, GAMES)
    except SpecError:
        if os.path.exists(text):
            raise SpecError(_no_game(text)) from None
        raise
    module, name = GAMES[spec.name][0].split(":")
    built: Game = specs.call(getattr(importlib.import_module(module), name), spec)
    return built


def _no_game(path: str) -> str:
    """What to say of something that is there and is not a game."""
    if Path(path).is_dir():
        saved = (Path(path) / "manifest.json").is_file()
        then = "`kibitz show` and `kibitz evaluate` read saved profiles" if saved else "name a game; see `kibitz games`"
        return f"{path} is a directory, not a game: {then}"
    return f"{path} is not a game: a game is a FILE.efg, a FILE.game, or a class in a Python file, my_game.py:MyGame"
