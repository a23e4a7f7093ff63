"""kibitz crosstable: an exact round robin of saved strategies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import Json, check_file, console, game_and_tree, print_json, rules_of, saved_game
from kibitz.cli.options import On, Plot, SavedGame, argument, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import ArtefactError, GameError, SpecError

if TYPE_CHECKING:
    from kibitz.evaluate.crosstable import Crosstable

NARROW = 12  # characters of a strategy's name that fit above a column


def crosstable(
    profiles: Annotated[list[Path], argument("PROFILE...", "Saved profiles and blueprints of one game.")],
    game: SavedGame = None,
    unit: Annotated[
        str | None, option("--unit", "UNIT", "chips, milli-antes (the default if there is an ante) or millibets.")
    ] = None,
    plot: Plot = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Compute what strategies win against one another.

    All figures are exact. An entry of the table is what the row wins against the column per hand, averaged over the
    seats. With more than two players the column strategy plays all other seats. Below the table are the average over
    all opponents, wins and losses, exploitability, and rankings by bankroll and by run-off (the strategy with the
    lowest bankroll is removed, repeatedly).

    \b
    Examples:
      kibitz crosstable base.profile dynamic.profile static.profile
      kibitz crosstable leduc.profile leduc.blueprint
      kibitz crosstable runs/*.profile --unit millibets --plot field.png
      kibitz crosstable fox.profile hen.profile --game fox.py:FoxAndHen --json
    """
    from kibitz.commands import strategy_of
    from kibitz.report.plot import ENDINGS

    check_file(plot, "--plot", ENDINGS)
    strategies: dict[str, Any] = {
        name: strategy_of(path, game) for name, path in zip(named(profiles), profiles, strict=True)
    }
    first = next(iter(strategies.values()))
    # The game of a blueprint was checked when it was read.
    text = game or (first.machine.spec if hasattr(first, "machine") else saved_game(first.game, profiles[0]))
    with Watch(not json) as watch:
        from kibitz.evaluate.crosstable import crosstable as play
        from kibitz.evaluate.crosstable import units
        from kibitz.evaluate.seatings import form_of_all
        from kibitz.forms.problem import probabilities_of

        infosets = [getattr(strategy, "infosets", None) for strategy in strategies.values()]  # a blueprint has none
        if any(of is None or of.compact is not None for of in infosets):
            watch.phase(f"building the game {text}")
            rules = rules_of(text)
            form, each = form_of_all(rules, strategies.values())
        else:
            rules, tree = game_and_tree(text, watch, None if game else first.infosets.columns)
            form, each = form_of_all(tree, strategies.values())
        watch.phase("computing the crosstable")
        scales = units(rules)
        chosen = _unit(unit, scales, form.spec)
        for path, profile in zip(profiles, each, strict=True):
            try:
                probabilities_of(form, profile)
            except GameError as error:
                raise GameError(f"{path}: {error}") from None
        table = play(form, dict(zip(strategies, each, strict=True)))
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
        raise ArtefactError(f"{twice} is given twice; name each strategy once")
    short = [path.name.removesuffix(".profile").removesuffix(".blueprint") or str(path) for path in paths]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]


def _unit(unit: str | None, scales: dict[str, float], game: str) -> str:
    if unit is None:
        return "milli-antes" if "milli-antes" in scales else "chips"
    if unit not in scales:
        raise SpecError(f"{game} has no {unit}: choose {' or '.join(scales)}")
    return unit


def _draw(table: Crosstable, path: Path, unit: str, scale: float) -> None:
    from kibitz.report.figures import Heat
    from kibitz.report.heat import draw

    side = (("average", (scale * table.field).tolist()), ("exploitability", (scale * table.exploitability).tolist()))
    title = f"{table.game}: winnings of the row against the column, {unit} a hand"
    draw(Heat("crosstable", title, table.names, (scale * table.matrix).tolist(), unit, side), path)


def _print(table: Crosstable, unit: str, scales: dict[str, float]) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import plain

    out, scale = console(), scales[unit]
    names = [plain(name) for name in table.names]
    numbers = [str(k + 1) for k in range(len(names))]
    out.print(f"{plain(table.game)}: winnings of the row against the column, {unit} a hand", style="bold", markup=False)
    field = [
        ["" if row == column else number(scale * x, scale) for column, x in enumerate(table.matrix[row])]
        for row in range(len(names))
    ]
    titles, summary = _summary(table, scales)
    above = names if len(names) <= 6 and max(map(len, names)) <= NARROW else numbers
    beside = [f"{k} {name}" for k, name in zip(numbers, names, strict=True)]
    if not _fits(["", *above], beside, field, out.width):  # numbers, and first the names that they stand for
        above = numbers
        for k, name in zip(numbers, names, strict=True):
            out.print(f"{k:>{len(numbers[-1])}}  {name}", markup=False, overflow="fold")
        out.print()
    for head, rows in ((["", *above], field), (["", *titles], summary)):
        labels = beside if _fits(head, beside, rows, out.width) else numbers
        for piece in tables(head, _beside(labels, rows), out.width):
            out.print(piece)
            out.print()
    for title, order in (("bankroll", table.bankroll), ("run-off", table.runoff)):
        out.print(f"{title}: {', '.join(names[k] for k in order)}", markup=False, overflow="fold")


def _fits(head: list[str], names: list[str], rows: list[list[str]], width: int) -> bool:
    """Whether a table with these names beside its rows fits a page as it is."""
    from kibitz.report.tables import tables

    return len(tables(head, _beside(names, rows), width, least=max(map(len, names)))) == 1


def _beside(names: list[str], rows: list[list[str]]) -> list[list[str]]:
    return [[name, *row] for name, row in zip(names, rows, strict=True)]


def _summary(table: Crosstable, scales: dict[str, float]) -> tuple[list[str], list[list[str]]]:
    """Titles and rows of the figures of each strategy by itself."""
    shown = [each for each in scales if each != "chips"] or ["chips"]
    titles = ["wins", "losses", *(f"average\n{u}" for u in shown), *(f"exploit.\n{u}" for u in shown)]
    wins, losses = table.wins, table.losses
    rows = [
        [
            str(wins[row]), str(losses[row]),
            *(number(scales[u] * table.field[row], scales[u]) for u in shown),
            *(number(scales[u] * table.exploitability[row], scales[u]) for u in shown),
        ]
        for row in range(len(table.names))
    ]  # fmt: skip
    return titles, rows


def number(x: Any, scale: float) -> str:
    """A figure with two digits in thousandths, five in chips."""
    digits = 2 if scale >= 10 else 5
    return f"{round(float(x), digits) + 0.0:.{digits}f}"
