"""The command `kibitz`: one file a command, or two that belong together.

Nothing heavy is imported before a command runs, so that `kibitz --help` answers at once: NumPy, Numba, Rich
and matplotlib are imported inside the functions that need them.
"""

from __future__ import annotations

import io
import os
import sys

import typer

from kibitz.cli.bench import bench
from kibitz.cli.cards import cards
from kibitz.cli.common import Commands, version
from kibitz.cli.crosstable import crosstable
from kibitz.cli.demo import demo
from kibitz.cli.export import export
from kibitz.cli.info import info
from kibitz.cli.match import match
from kibitz.cli.names import games, solvers
from kibitz.cli.paper import paper
from kibitz.cli.play import play
from kibitz.cli.profiles import evaluate, show
from kibitz.cli.shrink import shrink
from kibitz.cli.solve import solve
from kibitz.cli.stitch import stitch
from kibitz.cli.train import train

__all__ = ["app", "main"]

UNEXPECTED = 70  # the exit code for a fault of ours: EX_SOFTWARE of sysexits.h

app = typer.Typer(
    cls=Commands,
    callback=version,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help: Rich would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for command in (
    demo, games, solvers, info, shrink, solve, stitch, train, evaluate,
    crosstable, match, play, show, export, paper, bench,
):  # fmt: skip
    app.command()(command)
app.add_typer(cards, name="cards")


def main() -> None:
    """The entry point of the command `kibitz`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without block characters gets question marks
    try:
        app(prog_name="kibitz")
    except Exception as error:
        if os.environ.get("KIBITZ_DEBUG"):
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        typer.echo(
            f"error: a fault of kibitz's own ({said}); please report it, with what KIBITZ_DEBUG=1 in front shows",
            err=True,
        )
        sys.exit(UNEXPECTED)
