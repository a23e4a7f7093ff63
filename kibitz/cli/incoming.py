"""kibitz import: strategies from the files of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import check_artefact, subject_of
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

MOST_ACTIONS = 100  # of an infoset, on average


def import_(
    source: Annotated[
        Path, typer.Argument(metavar="FILE", help="FILE.csv or FILE.json, as export writes them.", show_default=False)
    ],
    target: Annotated[
        Path, typer.Argument(metavar="PROFILE", help="Where to save it, such as leduc.profile.", show_default=False)
    ],
    game: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="The game. Default: the built-in one that FILE.json names."),
    ] = None,
    missing: Annotated[
        str, typer.Option("--missing", metavar="error|uniform", help="What to do about infosets that FILE lacks.")
    ] = "error",
) -> None:
    """Read a strategy from CSV or JSON and save it as a profile, which all other commands take.

    \b
    CSV has the columns seat, infoset, action, probability. JSON is what `kibitz export` writes, or
    {"infoset": {"action": probability}}. An action that is left out has probability 0.

    Every infoset must be one of the game's, and its probabilities must sum to 1; what is wrong is named.

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
    given, said = read(source)
    if game is None and missing == "uniform":
        raise GameError("--missing uniform needs --game: FILE does not have to hold all of it")
    text = game or recalled(said.get("game"), source, "--game GAME")
    with Watch() as watch:
        # A small file that names a huge game does not hold all its infosets.
        subject = subject_of(text, watch, columns=None if game else MOST_ACTIONS * len(given))
        watch.phase(f"reading {source}")
        profile = filled(subject, given, missing, said)
    profile.save(target)
    typer.echo(f"wrote {target}: {len(profile.infosets.labels):,} infosets of {profile.game}")
