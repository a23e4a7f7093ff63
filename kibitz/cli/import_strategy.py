"""kibitz import: read strategies from CSV and JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import check_artefact, subject_of
from kibitz.cli.options import argument, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

MOST_ACTIONS = 100  # of an infoset, on average


def import_(
    source: Annotated[Path, argument("FILE", "FILE.csv or FILE.json, as export writes them.")],
    target: Annotated[Path, argument("PROFILE", "Where to save it, such as leduc.profile.")],
    game: Annotated[str | None, option("--game", "GAME", "The game. Default: the one that FILE.json names.")] = None,
    missing: Annotated[str, option("--missing", "error|uniform", "What to do if FILE lacks infosets.")] = "error",
) -> None:
    """Read a strategy from CSV or JSON, and save it.

    What is saved is a profile, which all other commands read.

    \b
    CSV has the columns seat, infoset, action, probability. JSON is what `kibitz export` writes, or
    {"infoset": {"action": probability}}. An action that is left out has probability 0.

    Every infoset must be one of the game's, and its probabilities must sum to 1. The number of infosets is printed.

    \b
    Examples:
      kibitz import leduc.csv leduc.profile --game leduc
      kibitz import theirs.json theirs.profile --game kuhn --missing uniform
    """
    from kibitz.forms.imported import filled, read
    from kibitz.games.trusted import recalled

    if missing not in ("error", "uniform"):
        raise GameError(f"--missing {missing} must be error or uniform")
    check_artefact(target, "PROFILE", "profile")
    rows, meta = read(source)
    if game is None and missing == "uniform":
        raise GameError("--missing uniform needs --game: FILE may leave out a part of it")
    text = game or recalled(meta.get("game"), source, "--game GAME")
    with Watch() as watch:
        # A small file that names a huge game does not hold all its infosets.
        subject = subject_of(text, watch, columns=None if game else MOST_ACTIONS * len(rows))
        watch.phase(f"reading {source}")
        profile = filled(subject, rows, missing, meta)
    profile.save(target)
    typer.echo(f"wrote {target}: {len(profile.infosets.labels):,} infosets of {profile.game}")
