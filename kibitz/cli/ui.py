"""kibitz ui: the web interface."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.options import argument, number, option
from kibitz.core.errors import ArtefactError, SpecError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def ui(
    folder: Annotated[
        Path, argument("FOLDER", "Where strategies, spots and runs are saved; or one saved spot. Default: here.")
    ] = Path("."),
    port: Annotated[int, number("--port", "PORT", "The port to listen on; 0 takes any that is free.")] = 8000,
    host: Annotated[str, option("--host", "HOST", "127.0.0.1, localhost or ::1: this machine only.")] = "127.0.0.1",
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the address in the browser.")] = True,
    game: Annotated[list[str] | None, option("--game", "GAME", "Also offer a game such as my_game.py:MyGame.")] = None,
) -> None:
    """Show strategies and runs in the browser, and play there.

    The command starts the web interface and prints its address, which only this machine can reach. The address ends in
    a token that gives access. If no strategy is saved yet, there are some to begin with: Leduc, solved in seconds, and
    others that play at random. Stop with Ctrl-C.

    \b
    Examples:
      kibitz ui
      kibitz ui runs --port 8080
      kibitz ui river.spot
      kibitz ui --no-open --port 0
      kibitz ui --game my_game.py:MyGame
    """
    if host not in LOOPBACK:
        raise SpecError(f"--host {host:.80}: the web interface is for this machine alone; choose {', '.join(LOOPBACK)}")
    if not folder.is_dir():
        raise ArtefactError(f"{folder} is not a directory: name the one where strategies are saved")
    from kibitz.web.serve import ui as run

    run(folder, host, port, open_, game or [], typer.echo)
