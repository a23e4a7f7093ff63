"""kibitz bench: speeds measured on this machine. The measuring is in kibitz.bench.bench."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from kibitz.cli.common import check_file, console
from kibitz.cli.options import flag, number, option


def bench(
    seconds: Annotated[float, number("--seconds", "SECONDS", "Time to spend on each figure.")] = 2.0,
    quick: Annotated[bool, flag("--quick", "Measure a few figures only.")] = False,
    json_path: Annotated[Path | None, option("--json", "PATH", "Write the figures to a JSON file.")] = None,
    markdown_path: Annotated[Path | None, option("--markdown", "PATH", "Write the figures as a Markdown file.")] = None,
    only: Annotated[str | None, option("--only", "TEXT", "Measure only this; an unknown name lists all.")] = None,
    peers_python: Annotated[
        str | None, option("--peers-python", "PATH", "The Python with the other programs. Default: this one.")
    ] = None,
) -> None:
    """Measure speed on this machine, and print a table.

    Other programs that are installed are measured next to kibitz.

    \b
    Examples:
      kibitz bench --quick
      kibitz bench --only cfr+ --json bench.json
      kibitz bench --only toepen-full --markdown toepen.md   (a quarter of an hour)
    """
    check_file(json_path, "--json", (".json",))
    check_file(markdown_path, "--markdown", (".md",))
    from kibitz.bench.bench import bench as measure
    from kibitz.report.tables import print_markdown

    measure(
        seconds=seconds, quick=quick, json_path=json_path, markdown_path=markdown_path, only=only,
        peers_python=peers_python, show=partial(print_markdown, console()),
    )  # fmt: skip
