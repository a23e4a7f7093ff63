"""kibitz diff: where two strategies differ most."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import Json, console, print_json, print_table, saved_game
from kibitz.cli.options import SavedGame, argument, number
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError

if TYPE_CHECKING:
    from kibitz.evaluate.difference import Difference


def diff(
    one: Annotated[Path, argument("A", "A saved profile or blueprint.")],
    other: Annotated[Path, argument("B", "Another one of the same game.")],
    game: SavedGame = None,
    top: Annotated[int, number("--top", "N", "Infosets in the table; 0 for all that differ.")] = 20,
    player: Annotated[int | None, number("--player", "N", "Only infosets of this player; 0 is the first.")] = None,
    json: Json = False,
) -> None:
    """List the infosets where two strategies differ most.

    NashConv and exploitability of both are printed too. Infosets are sorted by weight. That is reach, the probability
    that play comes there (the mean of A and B), times the total-variation distance of the two distributions: 0 for the
    same, 1 for nothing in common. The weights of a player sum to the number of its decisions in a hand that differ, on
    average.

    \b
    Examples:
      kibitz diff base.profile stitched.profile
      kibitz diff leduc.profile leduc.blueprint --player 0 --top 10
      kibitz diff fox.profile hen.profile --game fox.py:FoxAndHen --json
    """
    with Watch(not json) as watch:
        watch.phase("reading the strategies")
        spec, _ = (_spec(path) for path in (one, other))
        text = game or saved_game(spec, one)
        from kibitz.evaluate.difference import diff as compared

        watch.phase("measuring (the first use compiles)")
        difference = compared(one, other, text, top=top, seat=player)
    if json:
        print_json(as_data(difference, one, other))
    else:
        _print(difference, one, other, player)


def _spec(path: Path) -> str:
    """The game that a saved strategy names; empty if it names none."""
    from kibitz.core.store import said_at

    saved = said_at(path)
    if saved is None:
        raise ArtefactError(f"no saved strategy at {path}: `kibitz solve` and `kibitz train` write them")
    return str(saved[1].get("game", ""))


def as_data(difference: Difference, one: Path, other: Path) -> dict[str, Any]:
    """The comparison as plain data."""
    figures = zip((one, other), difference.value, difference.nash_conv, difference.exploitability, strict=True)
    strategies = [
        {"path": str(path), "value": value, "nash_conv": nash_conv, "exploitability": exploitability}
        for path, value, nash_conv, exploitability in figures
    ]
    return {
        "game": difference.game, "strategies": strategies, "total": difference.total, "differ": difference.infosets,
        "infosets": difference.table.records(),
    }  # fmt: skip


def _print(difference: Difference, one: Path, other: Path, player: int | None) -> None:
    from kibitz.report.text import gap, plain, signed

    page = console()
    page.print(plain(difference.game), style="bold", markup=False)
    figures = zip("AB", (one, other), difference.value, difference.nash_conv, difference.exploitability, strict=True)
    cells = [
        (letter, plain(str(path)), gap(nash_conv), gap(each), signed(value[0]))
        for letter, path, value, nash_conv, each in figures
    ]
    print_table(("", "strategy", "NashConv", "exploitability", "value of player 0"), cells, (0, 1))
    of = "" if player is None else f" of player {player}"
    total = ", ".join(f"{x:.4g} of player {seat}" for seat, x in enumerate(difference.total))
    page.print(f"\nDecisions in a hand that differ, on average: {total}.")
    if not len(difference.table):
        page.print(f"No infoset{of} that is reached differs.")
        return
    page.print(f"The {len(difference.table):,} of {difference.infosets:,} infosets{of} that differ most:\n")
    infosets = [
        (str(row["seat"]), plain(row["infoset"]), f"{row['reach']:.3g}", f"{row['distance']:.3f}",
         f"{row['weight']:.3g}", plain(row["one"]), plain(row["other"]))
        for row in difference.table
    ]  # fmt: skip
    print_table(("player", "infoset", "reach", "distance", "weight", "A", "B"), infosets, (0, 1, 5, 6))
