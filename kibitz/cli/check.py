"""kibitz check: hold a game against what every game keeps to."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kibitz.cli.common import WRONG, Json, console, print_json
from kibitz.cli.options import number
from kibitz.cli.watch import Watch


def check(
    game: Annotated[str, typer.Argument(metavar="GAME", help="Such as my_game.py:MyGame.", show_default=False)],
    how: Annotated[
        str,
        typer.Option(
            "--how", metavar="HOW", help="Walk it by its compiled rules, its tree, or its rules in Python (plain)."
        ),
    ] = "auto",
    seed: Annotated[int, number("--seed", metavar="N", help="For the random play.")] = 1,
    json: Json = False,
) -> None:
    """Check a game: its rules, its rows, training, matches, agents and search.

    Random play and a little training look for mistakes: infosets with different actions, views that tell secrets,
    compiled rules that are not the rules, training that does not repeat. What is found is told in a sentence, with
    exit code 2. A check that does not apply is marked with a dash.

    \b
    Examples:
      kibitz check leduc
      kibitz check my_game.py:MyGame
      kibitz check 'toepen(suits=2, ranks=3, hand=2)' --how plain
    """
    from kibitz.play.conformance import CHECKS, Subject, run_check
    from kibitz.report.text import plain
    from kibitz.solvers.machines import machine_of

    findings = []
    with Watch(not json) as watch:
        watch.phase(f"building the game {game}")
        subject = Subject(machine_of(game, how), seed=seed)
        for k, each in enumerate(CHECKS, 1):
            watch.phase(f"check {k} of {len(CHECKS)}")
            findings.append(run_check(each, subject))
    if json:
        print_json({"game": subject.machine.spec, "findings": [asdict(found) for found in findings]})
    else:
        for found in findings:
            console().print(plain(str(found)), markup=False, highlight=False)
        broken = sum(found.holds is False for found in findings)
        typer.echo(f"\n{broken} of {len(findings)} checks found a fault." if broken else "\nAll that applies holds.")
    if any(found.holds is False for found in findings):
        raise typer.Exit(WRONG)
