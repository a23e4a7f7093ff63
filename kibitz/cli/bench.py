"""kibitz bench: speeds measured on this machine. The measuring is in kibitz.bench.bench."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import Json, check_file, console, print_json
from kibitz.cli.options import flag, number, option
from kibitz.cli.watch import say


def bench(
    seconds: Annotated[float, number("--seconds", "S", "Time to spend on each figure.")] = 2.0,
    quick: Annotated[bool, flag("--quick", "Measure a few figures only.")] = False,
    out: Annotated[Path | None, option("--out", "FILE", "Write the figures to a .json file.")] = None,
    markdown: Annotated[Path | None, option("--markdown", "FILE", "Write the figures as a Markdown page.")] = None,
    only: Annotated[str | None, option("--only", "NAME", "Measure only this; an unknown name lists all.")] = None,
    peers_python: Annotated[
        str | None, option("--peers-python", "PATH", "The Python with the other programs. Default: this one.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure speed on this machine, and print a table.

    Other programs that are installed are measured next to kibitz. All of it takes about an hour. Not part of
    it are toepen-full, a quarter of an hour, nolimit, a few minutes, and flops, half an hour.

    \b
    Examples:
      kibitz bench --quick
      kibitz bench --only cfr+ --out bench.json
      kibitz bench --only toepen-full --markdown toepen.md
    """
    check_file(out, "--out", (".json",))
    check_file(markdown, "--markdown", (".md",))
    from kibitz.bench.bench import bench as measure
    from kibitz.report.tables import print_markdown

    figures = measure(
        seconds=seconds, quick=quick, out=out, markdown=markdown, only=only, peers_python=peers_python,
        say=say if json else typer.echo, show=(lambda text: None) if json else partial(print_markdown, console()),
    )  # fmt: skip
    if json:
        print_json(figures)
