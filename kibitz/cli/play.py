"""kibitz play: a person against one player or more, in the terminal."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli.common import GAME_HELP, check_file, rules_of, told_by_line
from kibitz.cli.options import PLAYER_HELP, argument, flag, number, option
from kibitz.core.errors import ArtefactError, GameError

if TYPE_CHECKING:
    from kibitz.games import Game

MOST_TRANSCRIPT = 50_000_000  # characters
AGAINST_HELP = (
    f"{PLAYER_HELP}. With three players or more: once, for all opponents, or once for each. Default: shipped or rule "
    "where there is one, else uniform."
)
REVEAL_HELP = "After each hand: the opponents' cards and strategy; in toepen also what they believed of yours."
REPLAY_HELP = "Replay a transcript by the rules, and print it. If its game is in a file, name the GAME too."


def play(
    game: Annotated[str | None, argument("GAME", f"{GAME_HELP} Default: that of a strategy in --against.")] = None,
    against: Annotated[list[str] | None, option("--against", "PLAYER", AGAINST_HELP)] = None,
    hands: Annotated[int | None, number("--hands", "N", "Stop after so many hands.")] = None,
    reveal: Annotated[bool, flag("--reveal", REVEAL_HELP)] = False,
    seed: Annotated[int | None, number("--seed", "N", "Random seed of the deals. Default: a new one.")] = None,
    transcript: Annotated[Path | None, option("--transcript", "FILE", "Write the hands here, as text.")] = None,
    replay: Annotated[Path | None, option("--replay", "FILE", REPLAY_HELP)] = None,
    ascii: Annotated[bool, flag("--ascii", "Write suits as letters.")] = False,
) -> None:
    """Play any game in the terminal.

    The opponents are saved strategies, or simple players. Each turn shows what you see and your actions: choose one by
    its number or its name, or ? for the rules. You change seats from hand to hand. Leave with q, the end of input, or
    Ctrl-C.

    \b
    Examples:
      kibitz play leduc
      kibitz play --against leduc.profile --reveal
      kibitz play 'leduc(players=3)' --against uniform --against three.profile
      kibitz play toepen --against 'search(toepen.blueprint, seconds=2)' \\
          --reveal
      kibitz play my_game.py:MyGame --seed 1 --transcript evening.txt
      kibitz play my_game.py:MyGame --replay evening.txt
    """
    if replay is not None:
        _replay(replay, game)
        return
    check_file(transcript, "--transcript", ())
    named = list(against or [])
    text = _game(game, named)
    with told_by_line(text):
        from kibitz.play.table import Session, opponents_of

        rules = rules_of(text)
        opponents = opponents_of(rules, named or [_default(rules, text)])
        if seed is None:
            import secrets

            seed = secrets.randbelow(1 << 32)
        signs = not ascii and _has_signs()
        session = Session(rules, opponents, _ask, typer.echo, seed, reveal, signs, name=text)
        if transcript is None:
            session.play(hands)
            return
        transcript.parent.mkdir(parents=True, exist_ok=True)
        with transcript.open("w", encoding="utf-8", newline="\n") as file:

            def write(piece: str) -> None:
                file.write(piece)
                file.flush()

            session.write = write
            session.play(hands)


def _game(game: str | None, players: list[str]) -> str:
    """The game that is named, or else that of the first saved strategy among the players."""
    from kibitz.play.agents import check_saved, game_of

    check_saved(players)
    text = game if game is not None else game_of(players)
    if text is None:
        raise GameError(
            "name a GAME to play, as `kibitz play leduc` (see `kibitz games`), or a saved strategy with --against PATH"
        )
    return text.strip()


def _default(rules: Game, text: str) -> str:
    """The opponent where none is named; says how to get a stronger one."""
    from kibitz.games.size import MOST_LAID, fits
    from kibitz.play.agents import SHIPPED, shipped_for
    from kibitz.play.table import compiled

    machine = compiled(rules)
    if machine is not None and shipped_for(machine.spec) is not None:
        typer.echo("You play against the strategy that comes with kibitz (--against shipped).")
        return SHIPPED
    advises = machine is not None and machine.advises
    who = "a rule of thumb" if advises else "uniform random play"
    stem = re.sub(r"\W+", "_", text.partition("(")[0].rpartition("/")[2].partition(".py:")[0]).strip("_") or "game"
    game = shlex.quote(text)
    if machine is None and fits(rules, MOST_LAID):
        saved = f"{stem}.profile"
        how = f"kibitz solve {game} --out {saved}"
    else:
        saved = f"{stem}.blueprint"
        how = f"kibitz train {game} --seconds 600 --out {saved}"
    if machine is None and hasattr(rules, "machine") and saved.endswith(".blueprint"):  # too large for that
        typer.echo(f"You play against {who}.")
    else:
        typer.echo(f"You play against {who}. For a stronger opponent:")
        typer.echo(f"  {how}\n  kibitz play {game} --against {saved}")
    return "rule" if advises else "uniform"


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


def _replay(path: Path, game: str | None) -> None:
    from kibitz.core.store import read_bytes
    from kibitz.play.transcript import replayed

    try:
        text = read_bytes(path, MOST_TRANSCRIPT).decode()
    except UnicodeDecodeError:
        raise ArtefactError(f"{path} is not a transcript of kibitz: it is not text") from None
    with told_by_line(game or ""):
        for piece in replayed(text, game, path):
            typer.echo(piece, nl=False)
