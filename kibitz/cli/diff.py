"""kibitz diff: where two strategies differ most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, console, print_json, quoted
from kibitz.cli.options import number
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError

if TYPE_CHECKING:
    from kibitz.evaluate.difference import Difference


def diff(
    one: Annotated[Path, typer.Argument(metavar="A", help="A saved profile or blueprint.", show_default=False)],
    other: Annotated[Path, typer.Argument(metavar="B", help="Another one of the same game.", show_default=False)],
    game: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="The game. Default: the built-in one that A names."),
    ] = None,
    top: Annotated[int, number("--top", metavar="N", help="Infosets in the table; 0 for all that differ.")] = 20,
    player: Annotated[
        int | None, number("--player", metavar="N", help="Only infosets of this player; 0 is the first.")
    ] = None,
    json: Json = False,
) -> None:
    """Show where two strategies of one game differ most, with NashConv and exploitability of both.

    Infosets are sorted by weight: reach, the probability that play comes there (the mean of that under A and under B),
    times the total-variation distance of the two distributions, from 0 for the same to 1 for nothing in common. The
    weights of a player sum to how many of its decisions in a hand differ, on average.

    \b
    Examples:
      kibitz diff base.profile stitched.profile
      kibitz diff leduc.profile leduc.blueprint --player 0 --top 10
      kibitz diff fox.profile hen.profile --game fox.py:FoxAndHen --json
    """
    from kibitz.core.store import said_at
    from kibitz.games.trusted import recalled

    with Watch(not json) as watch:
        watch.phase("reading the strategies")
        for path in (one, other):
            if said_at(path) is None:
                raise ArtefactError(f"no saved strategy at {path}: `kibitz solve` and `kibitz train` write them")
        said = said_at(one)
        spec = "" if said is None else str(said[1].get("game", ""))
        text = game or recalled(spec, one, f"--game {quoted(spec)}")
        from kibitz.evaluate.difference import diff as compared

        watch.phase("measuring (the first use compiles)")
        found = compared(one, other, text, top=top, seat=player)
    if json:
        print_json(as_data(found, one, other))
    else:
        _print(found, one, other, player)


def as_data(found: Difference, one: Path, other: Path) -> dict[str, Any]:
    """The comparison as plain data."""
    strategies = [
        {"path": str(path), "value": value, "nash_conv": gap, "exploitability": each}
        for path, value, gap, each in zip((one, other), found.value, found.nash_conv, found.exploitability, strict=True)
    ]
    return {
        "game": found.game, "strategies": strategies, "total": found.total, "differ": found.infosets,
        "infosets": found.table.records(),
    }  # fmt: skip


def _print(found: Difference, one: Path, other: Path, player: int | None) -> None:
    from rich import box
    from rich.table import Table

    from kibitz.report.text import gap, plain, signed

    page = console()
    page.print(plain(found.game), style="bold", markup=False)
    figures = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    figures.add_column("")
    figures.add_column("strategy", overflow="fold")
    for name in ("NashConv", "exploitability", "value of player 0"):
        figures.add_column(name, justify="right")
    for letter, path, value, each, share in zip(
        "AB", (one, other), found.value, found.nash_conv, found.exploitability, strict=True
    ):
        figures.add_row(letter, plain(str(path)), gap(each), gap(share), signed(value[0]))
    page.print(figures)
    of = "" if player is None else f" of player {player}"
    total = ", ".join(f"{x:.4g} of player {seat}" for seat, x in enumerate(found.total))
    page.print(f"\nDecisions in a hand that differ, on average: {total}.")
    if not len(found.table):
        page.print(f"No infoset{of} that is reached differs.")
        return
    page.print(f"The {len(found.table):,} of {found.infosets:,} infosets{of} that differ most:\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("player")
    table.add_column("infoset", overflow="fold")
    for name in ("reach", "distance", "weight"):
        table.add_column(name, justify="right")
    table.add_column("A", overflow="fold")
    table.add_column("B", overflow="fold")
    for row in found.table:
        table.add_row(
            str(row["seat"]), plain(row["infoset"]), f"{row['reach']:.3g}", f"{row['distance']:.3f}",
            f"{row['weight']:.3g}", plain(row["one"]), plain(row["other"]),
        )  # fmt: skip
    page.print(table)
