"""Games that a file names: which of them may be loaded without the user naming them.

Profiles, checkpoints, blueprints and transcripts say which game they are for, and whoever made the file has written
that. What it says is parsed first and then judged by what it *is*, never by how its text looks: a built-in game or one
of OpenSpiel's, with parameters that are numbers, true or false, or words of a list below. Whatever else it may be (a
path, a class in a user's own file, a game within a game) is called only when the user names it.

Against a small file that names a huge game its size helps: it holds a strategy for so many infosets, and a game that
turns out to have more is not laid out to its end (`tree.lay_out`, `forms/choice.py`).
"""

from __future__ import annotations

import os
from typing import Any

from kibitz.core import spec as specs
from kibitz.core.errors import ArtefactError, KibitzError, SpecError
from kibitz.games import GAMES, matrix
from kibitz.games import game as make_game
from kibitz.games.goofspiel import ORDERS, RETURNS
from kibitz.games.own import is_own
from kibitz.games.plugins import plugin

OPENSPIEL = "openspiel:"
MOST_NUMBER = 1_000_000  # of a parameter of ours; the games themselves say what is too much
MOST_THERE = 1_000  # of a parameter of OpenSpiel's, which makes arrays of such sizes before it says anything
MOST_LISTED = 100_000  # numbers and words in lists of one parameter

# Words that parameters of built-in games take; poker's files are those that come with kibitz.
WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("goofspiel", "points_order"): ORDERS,
    ("goofspiel", "returns_type"): RETURNS,
    ("poker", "bets"): ("allin",),
}
# The same for OpenSpiel. Its parameters that name files (filename, instances_file, boards_file, ...), hold games
# (game, stage_game, ...) or are read by a grammar of their own (grid, fen, history, ...) are not here.
WORDS_THERE: dict[tuple[str, str], tuple[str, ...]] = {
    **{("goofspiel", key): words for (name, key), words in WORDS.items() if name == "goofspiel"},
    **{(name, "bidding_rule"): ("reset-face", "reset-quantity") for name in ("liars_dice", "liars_dice_ir")},
    **{(name, "gameversion"): ("cdh", "adh") for name in ("dark_hex", "dark_hex_ir")},
    **{(name, "gameversion"): ("classical", "abrupt") for name in ("phantom_ttt", "phantom_ttt_ir")},
    **{
        (name, "obstype"): ("reveal-nothing", "reveal-numturns")
        for name in ("dark_hex", "dark_hex_ir", "phantom_ttt", "phantom_ttt_ir")
    },
    ("backgammon", "scoring_type"): ("winloss_scoring", "enable_gammons", "full_scoring"),
    ("hanabi", "observation_type"): ("minimal", "card_knowledge", "seer"),
    ("universal_poker", "betting"): ("limit", "nolimit"),
    ("universal_poker", "bettingAbstraction"): ("fc", "fcpa", "fchpa", "fullgame"),
}


def recalled(said: Any, where: object, option: str) -> str:
    """The spec of the game that a file names, if it may be loaded; `option` is what the user can add to name it. The
    spec is written again from its parsed form, so that it has only one reading.
    """
    if not isinstance(said, str) or not said.strip():
        raise ArtefactError(f"{where} does not say which game it is for: add {option}")
    text = said.strip()
    if text.endswith((".efg", ".game")) or is_own(text):
        raise ArtefactError(
            f"{where} was made for {text:.200}; a game in a file is opened only if you name it: add {option}"
        )
    try:
        return _openspiel(text.removeprefix(OPENSPIEL)) if text.startswith(OPENSPIEL) else _built_in(text)
    except (KibitzError, _Unsafe) as error:
        shown = text if len(text) <= 200 else text[:200] + "..."
        raise ArtefactError(
            f"{where} was made for {shown}, which is opened only if you name it ({_short(error)}): add {option}"
        ) from None


def same_game(one: str, other: str) -> bool:
    """Whether two specs are spellings of one game. Nothing is opened that a file may not name: of games in files the
    paths and the parameters are compared."""
    if one == other:
        return True
    try:
        return _spec(recalled(one, "", "")) == _spec(recalled(other, "", ""))
    except KibitzError:
        return _in_file(one) == _in_file(other) is not None


def _spec(text: str) -> str:
    return str(getattr(make_game(text), "spec", text))


def _in_file(text: str) -> tuple[str, str] | None:
    """(the file, the rest) of a game in a file; None for others."""
    name, _, rest = text.strip().partition("(")
    try:
        if is_own(text):
            path, _, kind = name.partition(".py:")
            return os.path.abspath(f"{path}.py"), str(specs.parse(f"{kind}({rest}" if rest else kind))
        if text.strip().endswith((".game", ".efg")):
            return os.path.abspath(text.strip()), ""
        spec = specs.parse(text)
    except SpecError:
        return None
    file = spec.args.get("file")
    if spec.name != "poker" or not isinstance(file, str):
        return None
    others = sorted((key, specs.show(value)) for key, value in spec.args.items() if key != "file")
    return os.path.abspath(file), str(others) if others else ""


class _Unsafe(Exception):
    """Why a game is not called on a file's word."""


def _short(error: Exception) -> str:
    return str(error) if len(str(error)) <= 200 else "it cannot be read"


def _built_in(text: str) -> str:
    spec = specs.parse(text)
    if spec.name not in GAMES:
        raise _Unsafe(f"{spec.name:.80} is not the name of a built-in game")
    for key, value in spec.args.items():
        if (spec.name, key) == ("poker", "file"):
            if value not in plugin(spec.name).shipped():
                raise _Unsafe("its file is not one that comes with kibitz")
        elif spec.name == "matrix":  # numbers, and names of actions, which nobody opens
            _plain(key, value, None, 10**15)
        else:
            _plain(key, value, WORDS.get((spec.name, key), ()))
    return str(matrix.recalled(spec))


def _plain(key: str, value: Any, words: tuple[str, ...] | None, most: int = MOST_NUMBER) -> None:
    """Refuse a value that is not a number, true or false, one of the words (None: any), or a list of such."""
    todo, seen = [value], 0
    while todo:
        each = todo.pop()
        seen += 1
        if isinstance(each, list | tuple):
            todo.extend(each)
        elif isinstance(each, str):
            if words is not None and each not in words:
                raise _Unsafe(f"{key:.80} is a word that no such game takes")
        elif isinstance(each, int) and abs(each) > most:
            raise _Unsafe(f"{key:.80} is beyond {most:,}")
        if seen > MOST_LISTED:
            raise _Unsafe(f"{key:.80} is a list of more than {MOST_LISTED:,}")


def _openspiel(text: str) -> str:
    from kibitz.games.openspiel import _pyspiel

    spec = specs.parse(text)
    pyspiel = _pyspiel()
    kinds = {kind.short_name: kind.parameter_specification for kind in pyspiel.registered_games()}
    if spec.name not in kinds:
        raise SpecError(f"{spec.name:.80} is not a game of OpenSpiel")
    takes = kinds[spec.name]
    for key, value in spec.args.items():
        if key not in takes:
            raise _Unsafe(f"{key:.80} is not a parameter of it")
        if isinstance(value, list | tuple):
            raise _Unsafe(f"{key} is a list")
        wanted: tuple[type, ...] = (int, float) if isinstance(takes[key], float) else (type(takes[key]),)
        if type(value) not in wanted or type(value) not in (bool, int, float, str):
            raise _Unsafe(f"{key} is not a plain {wanted[-1].__name__}")
        if type(value) in (int, float) and not 0 <= value <= MOST_THERE:
            raise _Unsafe(f"{key} is not from 0 to {MOST_THERE:,}")
        _plain(key, value, WORDS_THERE.get((spec.name, key), ()))
    arguments = ",".join(f"{key}={specs.show(value)}" for key, value in spec.args.items())  # it minds spaces
    return f"{OPENSPIEL}{spec.name}({arguments})" if arguments else OPENSPIEL + spec.name
