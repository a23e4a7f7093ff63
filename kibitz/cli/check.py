"""kibitz check: test that a game's rules keep to what every game must."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kibitz.cli.common import WRONG, Json, console, print_json
from kibitz.cli.options import Seed, argument, option
from kibitz.cli.watch import Watch


def check(
    game: Annotated[str, argument("GAME", "Such as my_game.py:MyGame.")],
    how: Annotated[str, option("--how", "HOW", "Play by compiled rules, the tree, or plain rules.")] = "auto",
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Test the rules of a game by random play.

    It prints a line for each test. It looks for infosets with different actions, views that tell secrets, compiled
    rules that differ from the rules, and training that does not repeat. A fault is explained in a sentence, with exit
    code 2. A test that does not apply is marked with a dash.

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
            watch.phase(f"test {k} of {len(CHECKS)}")
            findings.append(run_check(each, subject))
    if json:
        print_json({"game": subject.machine.spec, "findings": [asdict(each) for each in findings]})
    else:
        for finding in findings:
            console().print(plain(str(finding)), markup=False, highlight=False)
        broken = sum(each.holds is False for each in findings)
        typer.echo(f"\n{broken} of {len(findings)} tests found a fault." if broken else "\nNo faults.")
    if any(each.holds is False for each in findings):
        raise typer.Exit(WRONG)
