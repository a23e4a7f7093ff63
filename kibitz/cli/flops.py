"""kibitz poker flops: one spot on all flops, or on a few that stand for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_file, print_json, print_table
from kibitz.cli.options import Iterations, On, argument, flag, option
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.spots.flop_report import FlopReport

FILE_HELP = "A .toml or .json file with the names of these options and of a spot; an option replaces what it says."
SUBSET_HELP = "How many flops stand for all; all; or flops by name, 'AsKd2h, 7c6c2d'."
ERRORS_HELP = "After all flops: how wrong means over subsets of so many would be."
TARGET_HELP = "Stop a flop once both can gain no more than this share of the pot. Default: 1%."


def flops(
    file: Annotated[Path | None, argument("[FILE]", FILE_HELP)] = None,
    ranges: Annotated[
        tuple[str, str] | None, option("--ranges", "OOP IP", "Two ranges: out of position, in position.")
    ] = None,
    pot: Annotated[str | None, option("--pot", "CHIPS", "Chips in the middle.")] = None,
    stacks: Annotated[str | None, option("--stacks", "A,B,C", "Chips behind: one number, or one for each.")] = None,
    bets: Annotated[str | None, option("--bets", "SIZES", "Bet sizes, as of `kibitz poker spot`.")] = None,
    raises: Annotated[str | None, option("--raises", "SIZES", "Raise sizes.")] = None,
    subset: Annotated[str, option("--subset", "N", SUBSET_HELP)] = "25",
    deck: Annotated[str | None, option("--deck", "R,S", "A smaller deck: ranks from the ace down, suits.")] = None,
    target: Annotated[str | None, option("--target", "SHARE", TARGET_HELP)] = None,
    iterations: Iterations = None,
    errors: Annotated[str | None, option("--errors", "N,N", ERRORS_HELP)] = None,
    choose: Annotated[bool, flag("--choose", "Choose the subset, print it and its error, and solve nothing.")] = False,
    on: On = None,
    out: Annotated[Path | None, option("--out", "DIR", "Keep a file of each flop: the same command continues.")] = None,
    csv: Annotated[Path | None, option("--csv", "FILE", "Write a row for each flop.")] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw it by class of flop: .png, .svg or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Solve a spot on many flops, and report by class of flop.

    The spot is one of `kibitz poker spot` without a board. There are 1,755 flops that differ by more than a renaming
    of suits. By default some stand for all: they are chosen by weighted k-medoids on the equities of both ranges, which
    takes some minutes of a core. The command prints how often each player takes each of its first actions, and what
    OOP wins, for all flops and by suits, pairs and high card. Flops are solved side by side; --on says where.

    \b
    Examples:
      kibitz poker flops --pot 100 --stacks 150 --deck 5,3 --subset 6 \\
          --ranges 'AA, KQs, JTs' 'KK, AJs, QTs' --bets 50% --raises allin
      kibitz poker flops --pot 100 --stacks 150 --subset 'AsKd2h, 7c6c2d' \\
          --ranges 'AA' 'KK, AQs' --bets 'flop: 50%; turn: none; river: none' \\
          --raises none --iterations 20
      kibitz poker flops --pot 100 --stacks 150 --deck 5,3 --subset 8 --choose \\
          --ranges 'AA, KQs, JTs' 'KK, AJs, QTs'
    """
    from kibitz.poker.spots.reading import share_of

    check_file(csv, "--csv", (".csv",))
    check_file(plot, "--plot", (".png", ".svg", ".pdf"))
    fields = _fields(file, {"ranges": ranges, "pot": pot, "stacks": stacks, "bets": bets, "raises": raises,
                            "deck": deck})  # fmt: skip
    wanted = _subset(subset)
    sizes = [] if errors is None else _sizes(errors)
    if sizes and wanted is not None:
        raise GameError("--errors compares with all flops: give --subset all")
    with Watch(not json) as watch:
        from kibitz.poker.spots import flop_report

        def tell(what: str, done: int, of: int) -> None:
            watch.phase(f"{what}: {done:,} of {of:,} flops")

        if choose:
            if not isinstance(wanted, int):
                raise GameError("--choose is about a subset: give a number with --subset")
            _chosen(flop_report.chosen_flops(fields, wanted, tell), json)
            return
        limit = None if target is None else share_of("--target", target)
        report = flop_report.flop_report(**fields, subset=wanted, out=out, until=limit, iterations=iterations,
                                         on_progress=tell)  # fmt: skip
        equities = flop_report.equities_in(report) if sizes else None
        tables = {size: flop_report.errors(report, size, equities) for size in sizes}
    if csv is not None:
        _write_csv(report, csv)
    if plot is not None:
        from kibitz.report.flops import flops_plot
        from kibitz.report.plot import save

        save(flops_plot(report), plot)
    if json:
        print_json({"question": report.question, "chosen": report.chosen, "means": report.means(),
                    "classes": {kind: report.by_class(kind) for kind in flop_report.CLASSES}, "flops": report.rows(),
                    "errors": {str(size): [_error(each) for each in table] for size, table in tables.items()}})
        return
    _print(report)
    for size, table in tables.items():
        typer.echo(f"\nMeans over {size:,} flops instead of all:")
        _print_errors(table)
    for path, word in ((csv, "written"), (plot, "drawn")):
        if path is not None:
            say(f"{word} to {path}")


def _fields(file: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a spot without a board."""
    from kibitz.poker.spots.reading import arguments_of

    fields = {} if file is None else arguments_of(file, ())
    fields.pop("board", None)
    fields |= {name: value for name, value in options.items() if value is not None}
    for name in ("ranges", "pot", "stacks"):
        if name not in fields:
            raise GameError(f"give --{name}, or a file that has it")
    fields["ranges"] = list(fields["ranges"])
    if isinstance(fields.get("deck"), str):
        numbers = fields["deck"].replace("x", ",").split(",")
        if len(numbers) != 2 or not all(number.strip().isdigit() for number in numbers):
            raise GameError(f"--deck {fields['deck']:.40} should be ranks and suits, such as 7,4")
        fields["deck"] = [int(number) for number in numbers]
    return fields


def _subset(text: str) -> int | list[str] | None:
    plain = text.strip()
    if plain.lower() == "all":
        return None
    if plain.isdigit():
        return int(plain[:9])
    return [word.strip() for word in plain.split(",") if word.strip()]


def _sizes(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word[:9]) > 0 for word in words):
        raise GameError(f"--errors {text:.40} should be numbers of flops, such as 25,49,95")
    return [int(word[:9]) for word in words]


def _print(report: FlopReport) -> None:
    typer.echo(f"{report.chosen}\n")
    worst = max(result.exploitability for result in report.results)
    columns = list(report.quantities())
    head = ("flops", "share", *columns)
    rows = [_row("all", 1.0, report.means(), columns)]
    for kind in ("suits", "ranks", "high"):
        for word, means in report.by_class(kind).items():
            rows.append(_row(f"{word} high" if len(word) == 1 else word, means["share"], means, columns))
    print_table(head, rows)
    typer.echo(f"\nExploitability is {100 * worst:.3g}% of the pot at most.")


def _row(name: str, share: float, means: dict[str, float], columns: list[str]) -> tuple[str, ...]:
    cells = [f"{means[c]:.2f}" if c == "EV OOP" else f"{100 * means[c]:.1f}%" for c in columns]
    return (name, f"{100 * share:.1f}%", *cells)


def _error(each: Any) -> dict[str, Any]:
    return {**each._asdict(), "error": each.error}


def _print_errors(table: list[Any]) -> None:
    rows = [(each.quantity, f"{each.mean:.4f}", f"{each.estimate:.4f}", f"{each.error:+.4f}", f"{each.random:.4f}",
             f"{each.spread:.4f}") for each in table]  # fmt: skip
    print_table(("mean of", "all", "subset", "error", "random subsets", "spread over flops"), rows)


def _chosen(choice: Any, json: bool) -> None:
    rows = [(flop.name, flop.ways, weight, equity)
            for flop, weight, equity in zip(choice.flops, choice.weights, choice.equities, strict=True)]  # fmt: skip
    if json:
        print_json({"flops": [{"flop": name, "ways": ways, "weight": float(weight), "equity": float(equity)}
                              for name, ways, weight, equity in rows],
                    "errors": [_error(each) for each in choice.errors]})  # fmt: skip
        return
    cells = [(name, f"{100 * weight:.2f}%", f"{100 * equity:.1f}%") for name, _, weight, equity in rows]
    print_table(("flop", "weight", "equity OOP"), cells)
    typer.echo("")
    _print_errors(choice.errors)


def _write_csv(report: FlopReport, path: Path) -> None:
    import csv

    rows = report.rows()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: f"{value:.6g}" if isinstance(value, float) else value for key, value in row.items()}
                         for row in rows)  # fmt: skip
