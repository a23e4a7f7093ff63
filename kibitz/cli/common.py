"""What all commands share: errors as sentences, printing, reading games, checking where output goes."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from kibitz import __version__
from kibitz.cli import complete
from kibitz.cli.options import argument, flag
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import ArtefactError, GameError, KibitzError

if TYPE_CHECKING:
    from rich.console import Console

    from kibitz.cards.tables import Recipe, Tell
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import CompactForm
    from kibitz.games import Game
    from kibitz.games.tree import Tree

INTERRUPTED = 130  # the exit code of a command that Ctrl-C stopped
WIDE = 80  # characters of a terminal that has room for bars
LONGEST = 2_000  # characters of an error
SECTIONS = ("Solve", "Evaluate", "Play", "Poker", "Research")  # of `kibitz --help`
WRONG = 2  # the exit code for anything the user can mend

GAME_HELP = (
    "A built-in game such as 'leduc(players=3)', openspiel:NAME, a Gambit FILE.efg, a poker FILE.game, or "
    "my_game.py:Class."
)

GameText = Annotated[str, argument("GAME", GAME_HELP, complete.games)]
ProfilePath = Annotated[Path, argument("PROFILE", "A saved profile or blueprint: the path after --out.")]
Json = Annotated[bool, flag("--json", "Print one JSON object and nothing else.")]


class CommandGroup(TyperGroup):
    """Commands, listed by section; a group is replaced by its commands. Sentences are never cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            rows = sections.setdefault(command.rich_help_panel or "Commands", [])
            members = getattr(command, "commands", None) or {"": command}
            rows += [(f"{name} {short}".strip(), _first_sentence(each)) for short, each in members.items()]
        column = max(len(name) for rows in sections.values() for name, _ in rows)
        for section in sorted(sections, key=(*SECTIONS, "Commands").index):
            with formatter.section(section):
                formatter.write_dl([(f"{name:<{column}}", sentence) for name, sentence in sections[section]])


class Commands(CommandGroup):
    """All commands. What a user can mend ends as one sentence on stderr and exit code 2, not as a traceback."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command may have a name of two words, beside the command of the first: stitch, and stitch auto."""
        both = " ".join(args[:2])
        return super().resolve_command(ctx, [both, *args[2:]] if both in self.commands else args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KibitzError as error:
            fail(getattr(error, "sentence", str(error)), getattr(error, "lines", ()))
        except BrokenPipeError:  # the reader of our output has gone: nobody is left to tell
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            fail(f"{where}{error.strerror or error}")
        except MemoryError as error:
            wanted = f" ({error})" if str(error) else ""  # NumPy says for how much
            fail(f"out of memory{wanted}; choose a smaller game, or an abstraction of it")
        except KeyboardInterrupt:
            say("stopped")
            raise typer.Exit(INTERRUPTED) from None


def _first_sentence(command: Any) -> str:
    """What a command does: the first paragraph of its help."""
    return " ".join((command.help or "").partition("\n\n")[0].split())


def fail(sentence: str, lines: Sequence[str] = ()) -> NoReturn:
    """Say what is wrong, and exit. lines: the text that it is about, and carets below a part of it."""
    from kibitz.report.text import plain

    said = " ".join(sentence.split())
    if len(said) > LONGEST:  # it quotes what was given; the beginning says where, the end what to do
        said = f"{said[: LONGEST - 300]} ... {said[-250:]}"
    say("\n".join((f"error: {plain(said)}", *map(plain, lines))))
    raise typer.Exit(WRONG)


def note(sentence: str) -> None:
    """A remark on stderr, while the work goes on."""
    from kibitz.report.text import plain

    say(f"note: {plain(' '.join(sentence.split()))}")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kibitz {__version__}")
        raise typer.Exit


def version(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Compute, measure and play strategies of games with hidden information.

    \b
    Start here:
      kibitz demo                     solve Leduc hold'em, show the strategy
      kibitz solve leduc --until 1e-4 --out leduc.profile
      kibitz show leduc.profile       read the strategy
      kibitz evaluate leduc.profile   its value and its exploitability
      kibitz ui                       look at strategies, and play

    The help of each command has examples: kibitz solve --help.
    """


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on stdout; paths are texts in it."""
    typer.echo(json.dumps(data, indent=2, allow_nan=False, default=os.fspath))


def print_data(data: dict[str, Any], as_json: bool, as_text: Callable[[dict[str, Any]], None]) -> None:
    """What a command found: as JSON, or as text for a person."""
    (print_json if as_json else as_text)(data)


def print_pairs(rows: Sequence[tuple[str, str]]) -> None:
    """Names and what they are, a line each."""
    from kibitz.report.text import pairs

    console().print(pairs(rows))


def print_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[int] = (0,), least: int = 24
) -> None:
    """A table, in pieces where it is wider than the page.

    texts: the columns that hold words, which are wrapped down to `least` characters.
    """
    from kibitz.report.tables import tables

    page = console()
    for piece in tables(head, rows, page.width, texts, least):
        page.print(piece)


def console() -> Console:
    """Where tables and sentences for a person go.

    A file gets lines of 80 characters, whatever the terminal that the command was started from, unless COLUMNS is set;
    and no spaces at their ends.
    """
    from rich.console import Console

    if sys.stdout.isatty():
        return Console(highlight=False, soft_wrap=False)
    width = None if os.environ.get("COLUMNS", "").isdigit() else WIDE
    return Console(highlight=False, soft_wrap=False, width=width, file=cast("IO[str]", _Trimmed()))


class _Trimmed:
    """stdout, with the spaces at the ends of lines left out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(re.sub(r" +(?=\n)", "", text))

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)


def with_interval(mean: float, interval: tuple[float, float]) -> str:
    """A mean with its 95% interval."""
    return f"{mean:+.4f}  (95%: {interval[0]:+.4f} to {interval[1]:+.4f})"


def has_bars(page: Console) -> bool:
    """Whether there is room for bars, and a character set that has them."""
    return page.width >= WIDE and page.encoding.startswith("utf")


# Games


def game_and_tree(text: str, watch: Watch, columns: int | None = None) -> tuple[Game, Tree]:
    """The game that a user named, and its tree."""
    from kibitz.games.tree import tree_of

    watch.phase(f"building the game {text}")
    with told_by_line(text):
        rules = rules_of(text)
        tree = tree_of(rules, watch.histories, columns)
    return rules, _named(tree, text)


def subject_of(
    text: str, watch: Watch, of_tree: bool = False, columns: int | None = None, abstraction: str | None = None,
    device: str = "cpu", sampled: bool = False,
) -> Tree | CompactForm:  # fmt: skip
    """What a solver sees of the game that a user named: its tree, or a form that needs none.

    columns: of the file that names the game, if it is a file; a larger game is refused.
    abstraction: if the game itself is too large, this is the form of the abstract game.
    """
    from kibitz.forms.choice import compact_form, needs_tree
    from kibitz.games.plugins import plugin_of
    from kibitz.games.tree import tree_of

    watch.phase(f"building the game {text}")
    with told_by_line(text):
        rules = rules_of(text)
        if not (of_tree or needs_tree(rules)):
            form: CompactForm | None = None
            if abstraction is not None:
                form = plugin_of(rules).within(rules, abstraction, device, telling(watch), sampled)
            return compact_form(rules, columns) if form is None else form
        return _named(tree_of(rules, watch.histories, columns), text)


def open_triples(watch: Watch) -> None:
    """Open the table of three hands; it is computed first if there is none."""
    from kibitz.cards.recipes import triples_recipe
    from kibitz.cards.tables import home, opened, whole
    from kibitz.core.resources import cores
    from kibitz.report.text import duration

    recipe = triples_recipe()
    if whole(recipe) is None:
        say(f"Three players need a table of the results of any three hands over all boards. It is computed now, once, "
            f"in about {duration(recipe.work / cores())} on {cores()} free cores, and kept in {home()}.")  # fmt: skip
    watch.phase("the table of three hands")
    opened(recipe, telling(watch))


def telling(watch: Watch, text: str = "making the table {name}, once: {percent}%") -> Tell:
    """A callback that shows the progress of a table: `text`, the time used, and the time left."""
    from kibitz.core.compiling import clock

    began: dict[str, tuple[float, int]] = {}

    def show(recipe: Recipe, done: int, pieces: int) -> None:
        from kibitz.report.text import duration

        start, first = began.setdefault(recipe.name, (clock(), done))
        used = clock() - start
        left = f", about {duration(used * (pieces - done) / (done - first))} left" if done > first else ""
        said = text.format(name=recipe.name, percent=100 * done // pieces, done=done, pieces=pieces)
        watch.phase(f"{said}, {duration(used)} used{left}")

    return show


def profile_form(
    profile: Profile, path: Path, game: str | None, watch: Watch, device: str = "cpu"
) -> Tree | CompactForm:
    """The tree or form that a profile is measured on. game: as the user named it; None: as the file names it."""
    from kibitz.forms.problem import form_of_profile

    text = game or saved_game(profile.game, path)
    watch.phase(f"building the game {text}")
    form = form_of_profile(profile, text, device, telling(watch))
    columns = None if game else profile.infosets.columns
    return subject_of(text, watch, profile.infosets.compact is None, columns) if form is None else form


def saved_game(spec: str, path: Path) -> str:
    """The game that a saved strategy names, if it is safe to open; else an error asks for --game."""
    from kibitz.games.trusted import recalled

    return recalled(spec, path, f"--game {quoted(spec)}")


def rules_of(text: str) -> Game:
    """The game that a user named."""
    from kibitz.games import game

    with told_by_line(text):
        return game(text)


def quoted(spec: str) -> str:
    """A game's spec as it is typed at a shell, for a message; GAME for one that is empty or too long to be typed."""
    import shlex

    return shlex.quote(spec) if spec and len(spec) <= 200 else "GAME"


def named_again(spec: str, option: str = " --game") -> str:
    """The option that names a strategy's game again, with a space before it; nothing where the file is enough."""
    from kibitz.games.trusted import recalled

    try:
        recalled(spec, "", "")
    except KibitzError:
        return f"{option} {quoted(spec)}"
    return ""


def _named(tree: Tree, text: str) -> Tree:
    """A user's own game has no spec: it is called again by what was typed."""
    from dataclasses import replace

    return tree if tree.spec else replace(tree, spec=text.strip())


@contextmanager
def told_by_line(text: str) -> Iterator[None]:
    """A mistake in a user's own file becomes an error that names the file and the line."""
    try:
        yield
    except (Exception, SystemExit) as error:
        message = _message(text, error)
        if not message:
            raise
        raise GameError(message) from None


def _message(text: str, error: BaseException) -> str:
    """What went wrong in a user's own file, and where; empty for any other error."""
    from kibitz.games.own import is_own

    if not is_own(text):
        return ""
    import traceback

    ours = isinstance(error, KibitzError | OSError | MemoryError)  # a sentence already
    error = error.__cause__ if ours and error.__cause__ is not None else error
    file = text.strip().partition("(")[0].partition(".py:")[0].removesuffix(".py") + ".py"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError):
        return f"{error.filename or file}, line {error.lineno}: SyntaxError: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    mine = [f for f in frames if os.path.abspath(f.filename) == os.path.abspath(file)]
    if mine:
        return f"{file}, line {mine[-1].lineno}, in {mine[-1].name}: {what}"
    return "" if ours else f"{file}: {what}"


# Where output goes


def check_file(path: Path | None, option: str, endings: tuple[str, ...]) -> None:
    """Refuse a file that could not be written, before any work is done. Directories above it may be missing."""
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise ArtefactError(f"{option} {path} should end in {' or '.join(endings)}")
    if path.is_dir():
        raise ArtefactError(f"{option} {path} is a directory; give the name of a file")
    if path.exists() and not path.is_file():  # to open a pipe is to wait for its reader
        raise ArtefactError(f"{option} {path} is a pipe or a device; give the name of a plain file")
    _check_writable(path, option)


def check_artefact(path: Path | None, option: str, kind: str) -> None:
    """Refuse a place where the store would refuse to write, before any work is done for it."""
    if path is None:
        return
    _check_writable(path, option)
    if not os.path.lexists(path):
        return
    if not path.is_dir():
        raise ArtefactError(f"{option} {path} exists and is not a directory; choose another path")
    if not any(path.iterdir()):
        return
    from kibitz.core.store import kind_at

    there = kind_at(path)
    if there != kind:
        what = f"a {there:.64}" if there is not None else "a directory with something else"
        raise ArtefactError(f"{option} {path} is {what}, not a {kind}, and is not overwritten; choose another path")


def check_apart(paths: dict[str, Path | None]) -> None:
    """Refuse two outputs at one place, or one inside the other, where the later would write over the earlier."""
    places = [(option, Path(os.path.realpath(path))) for option, path in paths.items() if path is not None]
    for number, (option, path) in enumerate(places):
        for other, before in places[:number]:
            if path == before or path in before.parents or before in path.parents:
                raise ArtefactError(f"{other} and {option} name the same path, {path}: give each its own")


def save_or_rescue(save: Callable[[Path], None], path: Path) -> None:
    """Save work that is done; if that fails, save it in the directory for temporary files."""
    try:
        save(path)
    except ArtefactError as error:
        import secrets
        import tempfile

        other = Path(tempfile.gettempdir()) / "kibitz" / f"{path.stem}-{secrets.token_hex(4)}{path.suffix}"
        try:
            save(other)
        except ArtefactError:
            raise error from None
        raise ArtefactError(f"{error}; it was saved in {other} instead") from None


def _check_writable(path: Path, option: str) -> None:
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise ArtefactError(f"{option} {path} cannot be written: {parent} is not a directory")
    target = path if path.exists() else parent
    if not os.access(target, os.W_OK):
        raise ArtefactError(f"{option} {path} cannot be written: no permission to write {target}")
