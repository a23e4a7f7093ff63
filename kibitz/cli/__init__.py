"""The command `kibitz`: a file for each command, or for two that belong together.

Nothing heavy is imported before a command runs, so that `kibitz --help` answers at once: NumPy, Numba, Rich
and matplotlib are imported inside the functions that need them.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, NoReturn

import typer

from kibitz.cli.abstract import abstract
from kibitz.cli.acpc import acpc
from kibitz.cli.bench import bench
from kibitz.cli.check import check
from kibitz.cli.common import SECTIONS, WRONG, Commands, version
from kibitz.cli.crosstable import crosstable
from kibitz.cli.demo import demo
from kibitz.cli.diff import diff
from kibitz.cli.export import export
from kibitz.cli.import_strategy import import_
from kibitz.cli.info import info
from kibitz.cli.match import match
from kibitz.cli.names import games, solvers
from kibitz.cli.play import play
from kibitz.cli.poker import poker
from kibitz.cli.profiles import evaluate, show
from kibitz.cli.reproduce import reproduce
from kibitz.cli.solve import solve
from kibitz.cli.stitch import stitch
from kibitz.cli.stitch_auto import stitch_auto
from kibitz.cli.sweep import sweep
from kibitz.cli.train import train
from kibitz.cli.ui import ui
from kibitz.cli.watch import say

__all__ = ["app", "main"]

UNEXPECTED = 70  # the exit code for a fault of ours: EX_SOFTWARE of sysexits.h

app = typer.Typer(
    cls=Commands,
    callback=version,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: Rich would double the time that --help takes
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
COMMANDS: dict[str, tuple[Any, ...]] = dict(
    zip(
        SECTIONS,
        (
            (demo, games, solvers, info, check, abstract, solve, train, stitch, stitch_auto),
            (show, evaluate, diff, crosstable, match, export, import_),
            (play, ui, acpc),
            (poker,),
            (sweep, reproduce, bench),
        ),
        strict=True,
    )
)
for section, commands in COMMANDS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=section)
        else:
            others = {"allow_extra_args": True, "ignore_unknown_options": True} if command is sweep else None
            name = {stitch_auto: "stitch auto"}.get(command, command.__name__.rstrip("_"))
            app.command(name, rich_help_panel=section, context_settings=others)(command)


def main() -> None:
    """The entry point of the command `kibitz`."""
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without block characters gets question marks
    try:
        app(prog_name="kibitz")
    except OSError as error:  # while options are read, before a command begins
        say(f"error: {error.strerror or error}")
        _leave(WRONG)
    except SystemExit as end:
        _leave(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
    except Exception as error:
        if os.environ.get("KIBITZ_DEBUG"):
            raise
        said = " ".join(f"{type(error).__name__}: {error}".split())[:500]
        say(f"error: internal error ({said}); please report it, with the traceback that KIBITZ_DEBUG=1 prints")
        _leave(UNEXPECTED)


def _open_closed() -> None:
    """Open the null device where stdin, stdout or stderr was closed (2>&-), before a file of ours takes its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _leave(code: int) -> NoReturn:
    """Exit. If stdout is full or closed, say so in one line instead of an exception."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"error: {error.strerror or error}")
            code = code or WRONG
    sys.exit(code)
