"""What the Tab key offers: names of games, solvers, abstractions and papers. For a path, the shell offers files.

No file of the user is run or opened, and no game is laid out.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import Any

import typer


def games(incomplete: str) -> list[tuple[str, str]]:
    """Built-in games; an empty list, where a file's name begins, leaves it to the shell."""
    from kibitz.games import GAMES

    return _begin(incomplete, ((name, line) for name, (_, line) in GAMES.items()))


def solvers(incomplete: str) -> list[tuple[str, str]]:
    """Solvers."""
    from kibitz.solvers import SOLVERS

    return _begin(incomplete, ((name, line) for name, (_, line) in SOLVERS.items()))


def papers(incomplete: str) -> list[tuple[str, str]]:
    """Papers that `kibitz paper` recomputes."""
    from kibitz.papers import PAPERS

    return _begin(incomplete, ((name, "") for name in (*PAPERS, "all")))


def abstractions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Abstractions of the built-in game that was typed before; of any game, if there is none."""
    from kibitz.core.errors import KibitzError
    from kibitz.forms.abstraction import NAMES
    from kibitz.games import GAMES, game
    from kibitz.games.plugins import plugin_of

    text = str(ctx.params.get("game") or _typed()).strip()
    name = text.partition("(")[0].strip()
    null = [("null", NAMES["null"])]
    if name not in GAMES or name == "poker":  # a file, or one of the user's own
        return _begin(incomplete, NAMES.items() if not text or name == "poker" else null)
    try:
        rules: Any = game(text)
        own = [(each, rows.about) for each, rows in rules.buckets().items()] if hasattr(rules, "buckets") else []
    except KibitzError:
        return []
    if own:
        return _begin(incomplete, [*null, *own])
    if plugin_of(rules).on_form("gameshrink"):
        from kibitz.poker.buckets.buckets import NAMES as HANDS

        return _begin(incomplete, [*null, ("gameshrink", "hands on boards that may be merged"), *HANDS.items()])
    return _begin(incomplete, NAMES.items() if callable(getattr(rules, "hand", None)) else null)


def _typed() -> str:
    """The game of the line as it is typed so far: the word after the command, if it is not an option.

    The parser leaves out all that comes before an option without its value, which is what is being typed.
    """
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote that is still open
        return ""
    return words[2] if len(words) > 2 and not words[2].startswith("-") else ""


def _begin(incomplete: str, offers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, line) for name, line in offers if name.startswith(incomplete)]
