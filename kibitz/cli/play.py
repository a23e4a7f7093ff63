"""kibitz play: a person against a player, in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kibitz.cli.common import check_file
from kibitz.cli.options import number
from kibitz.errors import ArtefactError, GameError

MOST_TRANSCRIPT = 50_000_000  # characters


def play(
    game: Annotated[
        str, typer.Argument(metavar="GAME", help="toepen, or a smaller one such as 'toepen(ranks=5, hand=3)'.")
    ] = "toepen",
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="PLAYER",
            help="rule, uniform, the directory of a blueprint, 'search(DIR, seconds=1)', 'exploit(DIR, bound=0.1)'. "
            "Default: --blueprint, or rule.",
        ),
    ] = None,
    blueprint: Annotated[
        Path | None, typer.Option("--blueprint", metavar="DIR", help="The blueprint to play against.")
    ] = None,
    hands: Annotated[int | None, number("--hands", metavar="N", help="Stop after so many hands.")] = None,
    reveal: Annotated[
        bool,
        typer.Option(
            "--reveal", help="After each hand: what it held, what it thought you held, how it was going to play."
        ),
    ] = False,
    seed: Annotated[
        int | None, number("--seed", metavar="N", help="The same seed deals the same cards. Default: by chance.")
    ] = None,
    transcript: Annotated[
        Path | None, typer.Option("--transcript", metavar="FILE", help="Write the hands here, as text.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Replay a transcript by the rules, and print it.")
    ] = None,
    ascii: Annotated[bool, typer.Option("--ascii", help="Write suits as letters.")] = False,
) -> None:
    """Sit down and play: you against a player, seat by seat in turn.

    Actions are taken by number or by name; ? explains the rules. End with q, the end of input, or Ctrl-C.

    \b
    Examples:
      kibitz play toepen
      kibitz play toepen --against 'search(toepen.blueprint, seconds=2)' --reveal
      kibitz play toepen --seed 1 --transcript evening.txt
      kibitz play --replay evening.txt
    """
    if replay is not None:
        _replay(replay)
        return
    if against is not None and blueprint is not None:
        raise GameError("give --against or --blueprint, not both")
    check_file(transcript, "--transcript", ())
    from kibitz.play import agent
    from kibitz.play.table import Human, Session
    from kibitz.solvers.blueprint import toepen_of

    rules = toepen_of(game)
    opponent = agent(against or (str(blueprint) if blueprint is not None else "rule"), rules)
    if against is None and blueprint is None:
        typer.echo(
            "You play against a rule of thumb. For a stronger opponent train a blueprint first: "
            "kibitz train toepen --seconds 600 --out toepen.blueprint, then add --blueprint toepen.blueprint."
        )
    if seed is None:
        import secrets

        seed = secrets.randbelow(1 << 32)
    session = Session(rules, opponent, Human(_ask, typer.echo, not ascii and _has_signs()), seed, reveal)
    if transcript is None:
        session.play(hands)
        return
    transcript.parent.mkdir(parents=True, exist_ok=True)
    with transcript.open("w", encoding="utf-8", newline="\n") as file:

        def write(text: str) -> None:
            file.write(text)
            file.flush()

        session.write = write
        session.play(hands)


def _ask(prompt: str) -> str:
    """A line from the person; what comes from a file is shown as if it were typed."""
    typer.echo(prompt, nl=False)
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise EOFError
    if sys.stdin is not None and not sys.stdin.isatty():
        from kibitz.report.text import plain

        typer.echo(plain(line.rstrip("\r\n")))
    return line


def _has_signs() -> bool:
    """Whether the terminal's character set has signs of suits."""
    try:
        "\u2660\u2663\u2665\u2666".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _replay(path: Path) -> None:
    from kibitz.play.table import replayed
    from kibitz.store import read_bytes

    try:
        text = read_bytes(path, MOST_TRANSCRIPT).decode()
    except UnicodeDecodeError:
        raise ArtefactError(f"{path} is not a transcript of kibitz: it is not text") from None
    for piece in replayed(text):
        typer.echo(piece, nl=False)
