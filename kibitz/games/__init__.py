"""Rules of games, one game a file, and adapters for games that live elsewhere.

`game(text)` is the way in. The table of built-in names is resolved lazily: asking for a list imports nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from kibitz import spec as specs
from kibitz.errors import GameError, SpecError
from kibitz.games.protocol import CHANCE, TERMINAL, Game

__all__ = ["CHANCE", "GAMES", "TERMINAL", "Game", "game"]

# name -> (module:class, one line for `kibitz games`)
GAMES: dict[str, tuple[str, str]] = {
    "kuhn": ("kibitz.games.kuhn:Kuhn", "Kuhn poker: one card each, one bet; players=2 or more"),
    "leduc": ("kibitz.games.leduc:Leduc", "Leduc hold'em: two rounds, one board card; players=2 or more"),
    "liars_dice": ("kibitz.games.liars_dice:LiarsDice", "Liar's Dice: bid on all dice, or call the liar"),
    "goofspiel": ("kibitz.games.goofspiel:Goofspiel", "Goofspiel: sealed bids for a row of prizes"),
    "toepen": ("kibitz.games.toepen.rules:Toepen", "Toepen: tricks of which only the last counts, and bets on it"),
    "rhode_island": (
        "kibitz.games.poker.rules:rhode_island",
        "Rhode Island hold'em: three rounds, hands of three cards",
    ),
    "poker": ("kibitz.games.poker.rules:poker", "Poker by an ACPC .game file: limit or no-limit, 2 to 10 players"),
    "matrix": (
        "kibitz.games.matrix:Matrix",
        "A payoff table, moves made at once: "
        "payoffs=[[1, -1], [-1, 1]] for two, zero-sum; cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]] as in books",
    ),
}

_NEEDED = ("players", "root", "turn", "actions", "chance", "after", "infoset", "payoff")


def game(source: Any) -> Game:
    """A game from its spec, a path, or an object that already is one.

    "leduc", "leduc(players=3)"        a built-in game
    "openspiel:liars_dice(numdice=1)"  any OpenSpiel game (needs the extra kibitz[openspiel])
    "shared/poker.efg"                 a Gambit file
    "my/holdem.game"                   a poker game, in the format of the computer poker competition
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
    if text.endswith(".game"):
        from kibitz.games.poker.rules import poker

        return poker(text)
    if ".py:" in text.partition("(")[0]:
        return _from_file(text)
    spec = specs.parse(text)
    if spec.name not in GAMES:
        raise specs.unknown("game", spec.name, GAMES)
    module, name = GAMES[spec.name][0].split(":")
    built: Game = specs.call(getattr(importlib.import_module(module), name), spec)
    return built


def _from_file(text: str) -> Game:
    """The game of a user's own file: "path/to/file.py:Class(key=value)"."""
    path, _, rest = text.partition(".py:")
    file = Path(path + ".py")
    if not file.is_file():
        raise SpecError(f"there is no file {str(file)!r} to take a game from")
    spec = specs.parse(rest)
    module_spec = importlib.util.spec_from_file_location(f"kibitz_user_{file.stem}", file)
    assert module_spec is not None and module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[module_spec.name] = module  # where dataclasses look for the types of their fields
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise SpecError(f"{file} cannot be read as Python: {type(error).__name__}: {error}") from error
    build = getattr(module, spec.name, None)
    if not callable(build):
        raise SpecError(f"{file} has no class or function {spec.name!r} to make a game with")
    return game(specs.call(build, spec))
