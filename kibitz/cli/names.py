"""kibitz games, kibitz solvers: lists of names, with parameters and defaults."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import typer

from kibitz.cli.common import WIDE, Json, console, print_json, print_pairs


def games(json: Json = False) -> None:
    """List the built-in games and their parameters.

    Other ways to name a game are printed below.

    \b
    Examples:
      kibitz games
      kibitz info 'leduc(players=3, suit_isomorphism=true)'
    """
    from rich.padding import Padding
    from rich.text import Text

    from kibitz.games import GAMES

    table = described(GAMES)
    if json:
        print_json({"games": table})
        return
    _print(table)
    page = console()
    page.print("\nParameters go in parentheses; in a shell, put quotes around it all:", markup=False)
    typer.echo("  'leduc(players=3, bets=[2, 4])'")
    page.print("\nOther games:")
    others = (
        ("'openspiel:liars_dice(numdice=1)'", "a game of OpenSpiel (needs the package open_spiel)"),
        ("path/to/game.efg", "a Gambit file"),
        ("path/to/holdem.game", "poker, in the format of the ACPC"),
        ("'my_game.py:MyGame(size=3)'", "your own class: see docs/own_game.md"),
    )
    if page.width >= WIDE:
        print_pairs(others)
    else:  # a line for each: what is typed stays in one piece
        for text, what in others:
            typer.echo(f"  {text}")
            page.print(Padding(Text(what), (0, 0, 0, 4)))


def solvers(json: Json = False) -> None:
    """List the solvers with their parameters.

    \b
    Examples:
      kibitz solvers
      kibitz solve leduc --solver 'dcfr(alpha=1.5, beta=0.5)' --until 1e-3
    """
    from kibitz.solvers import SOLVERS

    table = described(SOLVERS)
    if json:
        print_json({"solvers": table})
        return
    _print(table)
    console().print("\nParameters go in parentheses; in a shell, use quotes: 'dcfr(alpha=1.5)'.", markup=False)


def described(names: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """For each name: its line, and its parameters with their defaults from the signature."""
    rows = []
    for name, (home, line) in names.items():
        module, attribute = home.split(":")
        parameters = inspect.signature(getattr(importlib.import_module(module), attribute)).parameters
        defaults = {key: None if p.default is inspect.Parameter.empty else p.default for key, p in parameters.items()}
        needed = [key for key, p in parameters.items() if p.default is inspect.Parameter.empty]
        rows.append({"name": name, "about": line, "parameters": defaults, "needed": needed})
    return rows


def _print(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from kibitz.core.spec import show

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("description and parameters", overflow="fold")
    for row in rows:
        parameters = [
            f"{key}=..." if key in row["needed"] else f"{key}={show(default)}"
            for key, default in row["parameters"].items()
        ]
        about = Text(row["about"])
        if parameters:
            about.append("\n" + ", ".join(parameters), "dim")
        table.add_row(row["name"], about)
    console().print(table)
