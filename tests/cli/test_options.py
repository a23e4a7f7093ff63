"""Every option of every command with absurd values: nothing but a sentence of ours leaves the command line.

Command lines are made from the commands themselves, so that a new option is tried too. Nothing long runs: games are
tiny, and loops that run for a given time are cut to a few steps.
"""

from __future__ import annotations

import inspect
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import pytest
import typer.main

import kibitz
from kibitz.cli import app
from kibitz.cli.options import RANGES
from kibitz.core.errors import KibitzError, SolverError
from kibitz.games import GAMES
from kibitz.solvers import SOLVERS, run
from kibitz.solvers.blueprint import Blueprint

TOP: Any = typer.main.get_command(app)  # made once: that takes longer than most command lines
LONG = 300  # seconds in which a command line must end; most take a hundredth of one
HUGE = "9" * 100
NUMBERS = [
    "0", "-0", "1", "-1", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
    "18446744073709551616",
    HUGE, "-" + HUGE, "9" * 5000, "1e3", "1e308", "1e309", "-1e309", "1e-320", "nan", "-nan", "inf",
    "-inf", "Infinity",
    "0x10", "1_000", "１２", "½", "1.5", "1,2", "1;2", "0,-1", "true", "None",
]  # fmt: skip
TEXTS = [
    "", " ", "x" * 5000, "é", "\u202e\u0000"[:1], "🂡", "\x1b[31m", "%s", "{}", "[", "[[]]", "(", ")",
    "kuhn(", "a=b", "'", '"',
    "\\", "kuhn(players=[])", "kuhn(players=true)", "kuhn(players=nan)", f"kuhn(players={HUGE[:39]})",
    "kuhn(players=2,)",
    "leduc(bets=[])", "leduc(bets=[[]])", "leduc(bets=[a, b])", "leduc(bets=[1e99, 1])",
    "leduc(ante=2.5)", "leduc(cap=-1)",
    "matrix(payoffs=[])", "matrix(payoffs=[[]])", "matrix(payoffs=[[[]]])", "matrix(payoffs=[[a]])",
    "matrix(payoffs=1)",
    "matrix(payoffs=[[1e99]])", "matrix(payoffs=[[1]], names=[[]])", "matrix(payoffs=[[1]], names=3)", "matrix",
    "matrix(payoffs=" + "[" * 16 + "1" + "]" * 16 + ")", "matrix(payoffs=" + "[" * 99 + "]" * 99 + ")",
    "poker", "poker(file=[])",
    "poker(file=nope)", "openspiel:", "openspiel:nope", "openspiel:kuhn_poker(players=x)", "nope.py:X",
    "nope.efg", "nope.game",
    "suits(without=[[]])", "suits(without=[[[a]]])", "null(without=3)", "null(without=true)",
    "null(without=[1.5])", "null(x=1)",
    "JQ.K(recall=[])", "J.J.Q.K", "gameshrink", "gameshrink(threshold=[[]])", "gameshrink(reading=[])",
    "gameshrink(threshold=2147483648)",
    "gameshrink(reading=win-count, threshold=[1.5])", "gameshrink(reading=win-count, threshold=true)",
    "gameshrink(reading=win-count, threshold=x)", "gameshrink(reading=win-count, threshold=1e99)",
    "own:table", "dcfr(alpha=[])",
    f"dcfr(alpha={HUGE[:39]})", "dcfr(gamma=1e39)", "cfr(delay=999999999999)",
    f"cfr(delay={HUGE[:39]})", "cfr(delay=-1)",
    "mccfr(explore=nan)", "mccfr(explore=0)", "mccfr(sampling=[])", "lp(x=1)", "auto(x=1)",
    "cfr(updates=true)", "prefix()",
    "prefix(r, cr", "private([])", "search(nope)", "search(", "exploit(nope, bound=nan)", "search(x, seconds=inf)",
]  # fmt: skip
# What a command needs beside the option that is tried; "@" names are files that the test makes.
BASE: dict[str, list[str]] = {
    "info": ["kuhn"], "check": ["kuhn"],
    "abstract": ["poker(file=kuhn)", "percentile(2)"], "solve": ["kuhn", "--iterations", "2"],
    "poker phases": ["poker(file=leduc)", "--rounds", "1", "--iterations", "2", "--abstraction", "percentile(2)"],
    "evaluate": ["@profile"], "sweep": ["solve kuhn --iterations 2", "--seed", "0..1"],
    "stitch": ["leduc(ranks=2, suits=1, cap=1)", "--base", "J.Q", "--partition", "prefix(r)", "--iterations", "2"],
    "stitch auto": ["kuhn", "--base", "JQ.K", "--iterations", "2", "--pilot", "1", "--rounds", "1", "--cuts", "1"],
    "train": ["toepen(suits=2, ranks=2, hand=2)", "--memory", "1MB", "--iterations", "1", "--threads",
    "1", "--out", "@new"],
    "crosstable": ["@profile", "@other"], "diff": ["@profile", "@other"],
    "match": ["rule", "uniform", "--game", "toepen(suits=2, ranks=2, hand=2)"],
    "play": ["toepen(suits=2, ranks=2, hand=2)"], "show": ["@profile"], "export": ["kuhn", "@new.efg"],
    "import": ["@strategy.csv", "@new", "--game", "kuhn"],
    "reproduce": ["gibson2011", "--quick"], "bench": ["--quick"], "demo": [], "games": [], "solvers": [],
    "poker cards show": ["Ah Kd"], "poker cards equity": ["AhKd", "QsQc", "--board", "Qd 7c 2d 3h"],
    "poker cards build": [], "poker cards info": [], "poker icm": ["--stacks", "3,2", "--prizes", "2,1"],
    "acpc serve": ["kuhn", "--hands", "2", "--names", "a,b", "--agent", "a=uniform", "--agent", "b=uniform"],
    "acpc join": ["uniform", "127.0.0.1", "1", "--game", "kuhn"],  # where nobody listens
    "ui": ["@folder", "--no-open", "--port", "0"],
    "poker preflop": ["--stacks", "5", "--postflop", "none", "--opens", "allin", "--iterations", "1", "--deals",
    "1", "--target", "900%"],
    "poker spot": ["--board", "2c 3c 4c 5c 7d", "--ranges", "AhAd", "KhKd", "--pot", "10", "--stacks", "10",
    "--iterations", "2"],
    "poker flops": ["--ranges", "AA, KQs", "KK, AJs", "--pot", "10", "--stacks", "10", "--deck", "4,3", "--subset", "2",
                    "--iterations", "2"],
    "poker respond": ["@profile", "--deals", "2"], "poker sizes": ["@profile", "--deals", "2"],
    "poker pushfold": ["--stacks", "10,10"], "poker tournament": ["tournament(players=2, chips=1800)"],
}  # fmt: skip


def commands() -> dict[str, Any]:
    """All commands by name, those of groups too."""
    found: dict[str, Any] = {}

    def read(group: Any, words: str) -> None:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                read(command, f"{words}{name} ")
            else:
                found[f"{words}{name}"] = command

    read(TOP, "")
    return found


def lines() -> Iterator[tuple[str, list[str]]]:
    """(what is tried, the command line)."""
    paths = [
        "@folder", "@fifo", "@file", "@profile", "@deep", "@endless", "@link", "/dev/null", "/dev/zero", "/dev/full",
        "/proc/nowhere/at/all", ".", "..", "/", "a" * 300, "@file/x", "~", "@fifo.jsonl", "@fifo.png", "@fifo.csv",
    ]  # fmt: skip
    for name, command in commands().items():
        base = BASE[name]
        for param in command.params:
            if param.name in ("help", "json", "quiet") or getattr(param, "is_flag", False):
                continue
            values = [*NUMBERS, *TEXTS, *paths][:: 7 if name == "demo" else 1]  # which solves a game each time
            if param.param_type_name == "argument":
                places = [k for k in range(len(base)) if not base[k].startswith("-")] or [0]
                for value in values:
                    at = places[0]
                    yield f"{name} {param.name}", [*name.split(), *base[:at], value, *base[at + 1 :]]
            else:
                for value in values:
                    yield f"{name} {param.opts[0]}", [*name.split(), *base, param.opts[0], value]

    for value in TEXTS:  # the same where there is no tree
        for option in ("--abstraction", "--solver"):
            yield f"solve poker {option}", ["solve", "poker(file=kuhn)", "--iterations", "2", option, value]


class Late(BaseException):
    """A command line that did not end in time."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten loops that run for a given time."""

    def iterate(solver: Any, form: Any, state: Any, stops: run.Stops, *rest: Any) -> None:
        real(solver, form, state, run.Stops(min(2, stops.iterations or 2)), *rest)

    real = run.iterate
    monkeypatch.setattr(run, "iterate", iterate)
    taught = Blueprint.train
    monkeypatch.setattr(Blueprint, "train", lambda self, iterations=None, *rest: taught(self, min(2, iterations or 2)))

    def cut(*given: Any, **named: Any) -> Any:
        raise SolverError("this takes long")

    from kibitz import cards
    from kibitz.cards import tables
    from kibitz.evaluate import match
    from kibitz.play.table import Session

    dealt = cards.equities
    monkeypatch.setattr(cards, "equities", lambda h, b, n, *rest: dealt(h, b, None if n is None else min(n, 99), *rest))
    played = match.match
    monkeypatch.setattr(match, "match", lambda g, a, b, deals, *r, **n: played(g, a, b, min(deals, 3), *r, **n))
    monkeypatch.setattr(tables, "build", cut)
    monkeypatch.setattr(Session, "play", cut)
    import kibitz.bench.bench
    import kibitz.papers
    import kibitz.web.serve

    monkeypatch.setattr(kibitz.web.serve, "ui", cut)
    monkeypatch.setattr(kibitz.papers, "reproduce", cut)
    monkeypatch.setattr(kibitz.bench.bench, "bench", cut)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], list[str]]:
    """Names with "@" as paths of files, which are made again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    kept = tmp_path / "kept"
    for name in ("profile", "other"):
        kibitz.solve("kuhn", "cfr", iterations=3 + len(name)).save(kept / name)
    (kept / "strategy.csv").write_text("seat,infoset,action,probability\n0,J:,bet,1\n")
    (kept / "folder").mkdir()
    (kept / "file").write_text("nothing")
    for name in ("fifo", "fifo.jsonl", "fifo.png", "fifo.csv"):
        os.mkfifo(kept / name)
    for name, text in (("deep", "[" * 100_000), ("endless", "")):
        (kept / name).mkdir()
        (kept / name / "manifest.json").write_text(text)
    os.truncate(kept / "endless" / "manifest.json", 1 << 40)
    (kept / "link").symlink_to(kept / "link")
    made = 0

    def named(words: list[str]) -> list[str]:
        nonlocal made
        made += 1
        return [str(kept / f"{word[1:]}{made}" if word[1:4] == "new" else kept / word[1:]) if word[:1] == "@" else word
                for word in words]  # fmt: skip

    return named


def fault(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is wrong with how a command line ended; empty if nothing is."""

    def late(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONG)
    try:
        TOP(words, prog_name="kibitz")
    except SystemExit as end:
        code = end.code
    except Late:
        return "it does not end"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    out, err = capsys.readouterr()
    if "Traceback" in out + err:
        return "a traceback is printed"
    if code not in (0, 2, None):
        return f"exit code {code}"
    if code == 2 and not err.strip():
        return "no word of why"
    if len(err) > 3000:
        return f"an error of {len(err):,} characters"
    return ""


def check(some: Iterator[tuple[str, list[str]]], named: Any, capsys: pytest.CaptureFixture[str]) -> int:
    wrong, tried = [], 0
    for what, words in some:
        tried += 1
        found = fault(named(words), capsys)
        if found:
            wrong.append(f"{what}: {' '.join(words)[:160]!r}: {found}")
    assert not wrong, "\n".join([f"{len(wrong)} of {tried}", *wrong[:40]])
    return tried


@pytest.mark.usefixtures("quick")
def test_some_absurd_command_lines(files: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert check((line for k, line in enumerate(lines()) if k % 41 == 0), files, capsys) > 300


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", list(BASE))
def test_all_absurd_command_lines(name: str, files: Any, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    check(((what, words) for what, words in lines() if words[: len(name.split())] == name.split()), files, capsys)


def test_every_command_is_tried_and_every_number_has_a_range() -> None:
    assert commands().keys() == BASE.keys()
    seen = set()
    groups = [app]
    for group in groups:  # which gets longer
        groups += [inner.typer_instance for inner in group.registered_groups]
    for command in (each for group in groups for each in group.registered_commands):
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            kinds = {int, float} & {*get_args(get_args(hint)[0] if get_args(hint) else hint), *get_args(hint)[:1]}
            if get_origin(hint) is Annotated and kinds:
                info = hint.__metadata__[0]
                option = next(word for word in (info.default, *info.param_decls) if str(word).startswith("--"))
                seen.add(option)
                assert option in RANGES, f"give {option} ({name}) a range in kibitz/cli/options.py"
                for bad in (RANGES[option].low - 1, float("nan"), 10**400):
                    with pytest.raises(KibitzError, match=option):
                        info.callback(bad)
    assert seen | {"--memory"} == RANGES.keys(), "which is read from a text"


ABSURD: list[Any] = [
    True, False, 2.5, -1.5, 1e101, -(10**39), 10**39, -1, 0, "", "word", "x" * 1000, [], [[]], [1],
    ["a"], [[1, 2], [3]],
]  # fmt: skip


@pytest.mark.parametrize("table", ["games", "solvers"])
def test_absurd_parameters_of_games_and_solvers(table: str) -> None:
    """Each parameter of each game and solver with each absurd value: it is taken, or refused by a sentence."""
    import importlib

    from kibitz.core import spec as specs

    tried = 0
    for name, (place, _) in (GAMES if table == "games" else SOLVERS).items():
        module, _, inner = place.partition(":")
        build = getattr(importlib.import_module(module), inner)
        parameters = inspect.signature(build).parameters
        must = [key for key in parameters if parameters[key].default is inspect.Parameter.empty]
        needed = {key: [[1, 2], [3, 4]] if key == "payoffs" else "kuhn" for key in must}
        for key in parameters:
            for value in ABSURD:
                tried += 1
                try:
                    specs.call(build, specs.Spec(name, {**needed, key: value}))
                except KibitzError:
                    continue
    assert tried > 100


def test_a_bool_is_no_number_and_a_number_has_an_end() -> None:
    for text in (
        "kuhn(players=true)", "kuhn(players=2.0)", "leduc(bets=2)", "goofspiel(points_order=[random])",
        "kuhn(players=9999999999999)", "poker(file=3)", "poker(file=[kuhn])", "matrix(payoffs=[[1e101, 1], [1, 1]])",
    ):  # fmt: skip
        with pytest.raises(KibitzError, match=r"should be|too large"):
            kibitz.game(text)


def test_the_last_resort_is_a_sentence_with_a_way_to_see_more(monkeypatch: Any, capsys: Any) -> None:
    import kibitz.cli

    def broken(**given: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(kibitz.cli, "app", broken)
    monkeypatch.delenv("KIBITZ_DEBUG", raising=False)
    with pytest.raises(SystemExit) as end:
        kibitz.cli.main()
    err = capsys.readouterr().err
    assert end.value.code == 70 and err.startswith("error: ") and err.count("\n") == 1
    assert "ZeroDivisionError: division by zero" in err and "KIBITZ_DEBUG=1" in err
    monkeypatch.setenv("KIBITZ_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        kibitz.cli.main()
