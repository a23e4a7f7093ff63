"""kibitz crosstable: an exact round robin of saved profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_file, console, game_and_tree, print_json, quoted, rules_of
from kibitz.cli.watch import Watch
from kibitz.errors import ArtefactError, GameError, SpecError

if TYPE_CHECKING:
    from kibitz.evaluate.crosstable import Crosstable

NARROW = 12  # characters of a strategy's name that fit above a column


def crosstable(
    profiles: Annotated[
        list[Path], typer.Argument(metavar="PROFILE...", help="Saved profiles of one game.")
    ],
    game: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="The game. Default: the built-in one that the profiles name."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="chips, milli-antes or millibets. Default: milli-antes if there is an ante."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Plot the table as a heat map: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Compute what profiles of one game win from one another: exactly, over all seats.

    An entry is what the row wins from the column per hand, averaged over the seats; with more than two players the
    column sits in all other seats. Below: the average over the field in all seat orders, wins and losses,
    exploitability, and the ranking by bankroll and by run-off (the last by bankroll leaves, and so on).

    \b
    Examples:
      kibitz crosstable base.profile dynamic.profile static.profile
      kibitz crosstable runs/*.profile --unit millibets --plot field.png
      kibitz crosstable fox.profile hen.profile --game fox.py:FoxAndHen --json
    """
    from kibitz.profile import Profile
    from kibitz.recall import recalled
    from kibitz.report.plot import ENDINGS

    check_file(plot, "--plot", ENDINGS)
    held = {name: Profile.load(path) for name, path in zip(named(profiles), profiles, strict=True)}
    first = next(iter(held.values()))
    text = game or recalled(first.game, profiles[0], f"--game {quoted(first.game)}")
    with Watch(not json) as watch:
        from kibitz.evaluate import probabilities_of
        from kibitz.evaluate.crosstable import crosstable as play
        from kibitz.evaluate.crosstable import form_of_all, units
        from kibitz.form.kinds import is_poker_infosets

        if any(is_poker_infosets(profile.infosets) for profile in held.values()):
            watch.phase(f"laying out {text}")
            rules = rules_of(text)
            form, each = form_of_all(rules, held.values())
        else:
            rules, tree = game_and_tree(text, watch, None if game else first.infosets.columns)
            form, each = form_of_all(tree, held.values())
        watch.phase("playing (the first use compiles)")
        scales = units(rules)
        chosen = _unit(unit, scales, form.spec)
        for path, profile in zip(profiles, each, strict=True):
            try:
                probabilities_of(form, profile)
            except GameError as error:
                raise GameError(f"{path}: {error}") from None
        table = play(form, dict(zip(held, each, strict=True)))
    if plot is not None:
        _draw(table, plot, chosen, scales[chosen])
    if json:
        print_json({**table.data(), "unit": "chips", "chip": scales, "plot": None if plot is None else str(plot)})
    else:
        _print(table, chosen, scales)


def named(paths: list[Path]) -> list[str]:
    """A short name for each path; the whole path where short ones would be the same."""
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise ArtefactError(f"{twice} is given twice; name each profile once")
    short = [path.name.removesuffix(".profile") or str(path) for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _unit(unit: str | None, scales: dict[str, float], game: str) -> str:
    if unit is None:
        return "milli-antes" if "milli-antes" in scales else "chips"
    if unit not in scales:
        raise SpecError(f"{game} has no {unit}: choose {' or '.join(scales)}")
    return unit


def _draw(table: Crosstable, path: Path, unit: str, scale: float) -> None:
    from kibitz.papers.common import Heat
    from kibitz.report.heat import draw

    side = (("average", (scale * table.field).tolist()), ("exploitability", (scale * table.exploitability).tolist()))
    title = f"{table.game}: winnings of the row against the column, {unit}"
    draw(Heat("crosstable", title, table.names, (scale * table.matrix).tolist(), unit, side), path)


def _print(table: Crosstable, unit: str, scales: dict[str, float]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from kibitz.report.text import plain

    out, scale = console(), scales[unit]
    names = [plain(name) for name in table.names]
    out.print(f"{plain(table.game)}: winnings of the row against the column, {unit} a hand", style="bold", markup=False)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("", overflow="fold")
    for k, name in enumerate(names):
        grid.add_column(
            Text(name if len(names) <= 6 and len(name) <= NARROW else str(k + 1)), justify="right", no_wrap=True
        )
    for row, name in enumerate(names):
        cells = ["" if row == column else number(scale * x, scale) for column, x in enumerate(table.matrix[row])]
        grid.add_row(Text(f"{row + 1} {name}"), *cells)
    out.print(grid)
    out.print()
    shown = [each for each in scales if each != "chips"] or ["chips"]
    summary = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    summary.add_column("", overflow="fold")
    for title in ("wins", "losses", *(f"average\n{u}" for u in shown), *(f"exploit.\n{u}" for u in shown)):
        summary.add_column(title, justify="right", no_wrap=True)
    wins, losses = table.wins, table.losses
    for row, name in enumerate(names):
        summary.add_row(
            Text(f"{row + 1} {name}"), str(wins[row]), str(losses[row]),
            *(number(scales[u] * table.field[row], scales[u]) for u in shown),
            *(number(scales[u] * table.exploitability[row], scales[u]) for u in shown),
        )  # fmt: skip
    out.print(summary)
    for title, order in (("bankroll", table.bankroll), ("run-off", table.runoff)):
        out.print(f"{title}: {', '.join(names[k] for k in order)}", markup=False)


def number(x: Any, scale: float) -> str:
    """A figure with two digits in thousandths, five in chips."""
    digits = 2 if scale >= 10 else 5
    return f"{round(float(x), digits) + 0.0:.{digits}f}"
