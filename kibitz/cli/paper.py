"""kibitz paper: recompute the tables of a paper."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import complete
from kibitz.cli.common import Json, check_file, console, print_json
from kibitz.cli.options import number
from kibitz.cli.watch import Watch
from kibitz.errors import ArtefactError, SpecError

if TYPE_CHECKING:
    from rich.console import Console

    from kibitz.papers import Outcome
    from kibitz.papers.common import Claim, Sheet

HEAD = """# Stitching, measured

What the library makes of the tables of two papers, with the spread over random starts, and what it finds beyond them.
Abstract equilibria are not unique: no figure of a stitched strategy is one number. Each claim is held against each
start by itself; for two players, at several weights of the start.
"""


def paper(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="gibson2011, waugh2009, le2021, toepen, sandholm, or all: the two about stitching.",
            show_default=False,
            autocompletion=complete.papers,
        ),
    ],
    table: Annotated[
        str | None, typer.Option("--table", metavar="N", help="Print only this table; the report has all.")
    ] = None,
    part: Annotated[
        str | None, typer.Option("--part", metavar="NAME", help="sandholm: gameshrink or rhode-island. Default: both.")
    ] = None,
    starts: Annotated[
        int | None, number("--starts", metavar="N", help="Number of random starts. Default: 16; le2021: 15.")
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="Seed of the first start; the next ones follow.")] = 0,
    until: Annotated[
        float | None,
        number(
            "--until",
            metavar="GAP",
            help="Two players: the gap, in chips, to solve every game to. Default: 1e-4; le2021: 1e-2.",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        number(
            "--iterations",
            metavar="N",
            help="Three players: iterations for every game. Default: 1000; le2021: of MCCFR, 100,000.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, number("--jobs", metavar="N", help="Starts to run in parallel. Default: one per core.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where reports go. Default: runs/papers/PAPER.")
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", metavar="FILE", help="Also write one Markdown page, with its pictures beside it."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three starts and rough solutions, in about a minute.")
    ] = False,
    json: Json = False,
) -> None:
    """Recompute a paper's tables over random starts, and check its claims.

    Reports are written as Markdown, HTML and JSON, with plots. Those about stitching take a few minutes; le2021, about
    Toepen, up to twenty; sandholm, ten or so.

    \b
    Examples:
      kibitz paper gibson2011 --table 1
      kibitz paper waugh2009 --table 2 --starts 24
      kibitz paper all --out runs/papers --markdown docs/stitching.md
      kibitz paper le2021 --markdown docs/toepen.md
      kibitz paper sandholm --part gameshrink
    """
    from kibitz.papers import PAPERS, PARTS, STITCHING, TABLES, plan_of, recompute

    names = list(STITCHING) if name == "all" else [name]
    if name not in (*PAPERS, "all"):
        raise SpecError(f"unknown paper {name!r}: choose {', '.join(PAPERS)} or all")
    if table is not None and (len(names) > 1 or table not in TABLES[names[0]]):
        tables = "; ".join(f"{each} has {' and '.join(TABLES[each])}" for each in names)
        raise SpecError(f"--table {table} does not fit: {tables}")
    if part is not None and part not in PARTS.get(name, ()):
        parts = "; ".join(f"{each} has {' and '.join(known)}" for each, known in PARTS.items())
        raise SpecError(f"--part {part} does not fit {name}: {parts}")
    given = {"part": part, "starts": starts, "until": until, "iterations": iterations, "jobs": jobs}
    own = {k: v for k, v in given.items() if v is not None}
    plan = replace(plan_of(names[0], quick), seed=seed, **own)  # type: ignore[arg-type]
    places = {each: (out or Path("runs/papers")) / each if out is None or len(names) > 1 else out for each in names}
    for place in places.values():
        _check_directory(place)
    check_file(markdown, "--markdown", (".md",))
    outcomes, written = [], []
    with Watch(not json) as watch:
        watch.phase("compiling: the first use takes a while, the next ones do not")
        from kibitz.report.paper import as_data, write

        for each in names:

            def told(what: str, done: int, of: int, each: str = each) -> None:
                units = "starts" if each in STITCHING else "runs"
                watch.phase(f"{each}, {what}" + f": {done} of {of} {units}" * (of > 1))

            outcome = recompute(each, plan, told)
            watch.phase(f"{each}: writing the report")
            written += write(outcome, places[each])
            outcomes.append(outcome)
        if markdown is not None:
            written += _page(outcomes, markdown)
    if json:
        print_json({**as_data(outcomes), "files": [str(path) for path in written]})
    else:
        _print(outcomes, table, written)


def _check_directory(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise ArtefactError(f"--out {path} exists and is not a directory; choose another path")
    check_file(path / "report.md", "--out", (".md",))


def _page(outcomes: list[Outcome], path: Path) -> list[Path]:
    """All papers as one page, with its pictures in a directory beside it that is called like it."""
    from kibitz import store
    from kibitz.papers import STITCHING
    from kibitz.report.bench import machine
    from kibitz.report.heat import draw
    from kibitz.report.paper import page

    pictures: dict[str, list[str]] = {}
    written = [path]
    for outcome in outcomes:
        pictures[outcome.name] = []
        for picture in outcome.pictures:
            place = path.parent / path.stem / f"{outcome.name}-{picture.name}.png"
            draw(picture, place)
            written.append(place)
            pictures[outcome.name].append(f"{path.stem}/{place.name}")
    command = shlex.join(["kibitz", *sys.argv[1:]])
    head = HEAD if outcomes[0].name in STITCHING else ""
    store.write_text(path, page(outcomes, machine(), pictures, head, command))
    return written


def _print(outcomes: list[Outcome], table: str | None, written: list[Path]) -> None:
    from kibitz.report.text import duration

    out = console()
    for outcome in outcomes:
        out.print(outcome.title, style="bold", markup=False)
        spread = "random starts" if outcome.unit == "start" else f"{outcome.unit}s"
        out.print(f"{outcome.plan.starts} {spread}, {duration(outcome.seconds)}\n", markup=False)
        for sheet in outcome.sheets:
            if table is None or str(sheet.table) == table:
                _print_sheet(out, sheet)
        papers = [claim for claim in outcome.claims if claim.of_the_paper]
        _print_claims(out, papers)
        rest = len(outcome.claims) - len(papers)
        more = f" {rest} claims of our own are in the report." if rest else ""
        out.print(f"{outcome.verdict}{more}\n", markup=False)
    typer.echo("Written:")
    for path in written:
        typer.echo(f"  {path}")


def _print_sheet(out: Console, sheet: Sheet) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for k, title in enumerate(sheet.head):
        grid.add_column(
            Text(title.partition(":")[0] if k else title), justify="right" if k else "left", overflow="fold"
        )
    for row in sheet.rows:
        grid.add_row(*(Text(text) for text in row))
    out.print(sheet.title, style="bold", markup=False)
    out.print(grid)
    out.print(sheet.note, style="dim", markup=False)
    out.print()


def _print_claims(out: Console, claims: list[Claim]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from kibitz.report.paper import tried

    heads, counts = tried(claims)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    grid.add_column("claim of the paper", overflow="fold")
    for head in heads:
        grid.add_column(head.replace(" ", "\n", 1), justify="right", no_wrap=True)  # leaves room for the claims
    grid.add_column("verdict")
    for claim, cells in zip(claims, counts, strict=True):
        grid.add_row(Text(claim.text), *cells, claim.verdict)
    out.print(grid)
