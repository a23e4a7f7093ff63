"""Every command that a command of kibitz tells its user to type next is typed here, and has to work.

A case is a list of commands; what the last one prints is searched for hints, and these are run, with stand-ins for
words such as GAME. `test_every_hint_has_a_case` reads the sources: a hint that is new needs a case here.
"""

from __future__ import annotations

import ast
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import FOX
from typer.main import get_command

import kibitz
from kibitz.cards import tables
from kibitz.cli import app

ROOT = Path(kibitz.__file__).parent
COMMANDS = "|".join(get_command(app).commands)  # type: ignore[attr-defined]
# In backticks, after a colon, or on a line of its own.
HINT = re.compile(r"`(kibitz [^`]+)`|(?:: |^  )(kibitz [^`\n]+)$", re.M)
# What a user puts in place of these words, and what makes a run short.
STAND_INS = [
    (r"\bOTHER\.profile\b", "other.profile"),
    (r"\bNAME\.profile\b", "name.profile"),
    (r"\bGAME\b", "kuhn"),
    (r"\bPROFILE\b", "st.profile"),
    (r"--seconds \d+", "--seconds 0.05"),
    (r"--deals \d+", "--deals 20"),
]
DECLARES = ("option", "flag", "argument", "number")  # of kibitz.cli.options: what they take is help
SMALL = ("leduc", "--base", "JQ.K", "--partition", "prefix(r)", "--inside", "suits", "--iterations", "3")
VIEWS = (
    "--base",
    "percentile(2)",
    "--partition",
    "prefix(r)",
    "--inside",
    "percentile(3)",
    "--solver",
    "pcs",
    "--iterations",
    "5",
)
TRAINED = ("--iterations", "5", "--memory", "10MB", "--threads", "1", "--out", "b.blueprint")
ROWS = "poker(file=holdem.limit.3p, ranks=3)"


class Case(NamedTuple):
    """Commands, of which the last prints a hint that the source has as `hint`."""

    hint: str
    commands: list[tuple[str, ...]]
    code: int = 0  # of the last one
    slow: bool = False


CASES = [
    Case("kibitz show \0\0", [("solve", "kuhn", "--out", "a b.profile")]),
    Case("kibitz show \0\0", [("solve", "fox.py:Fox", "--out", "fox.profile")]),
    Case("kibitz show \0\0", [("solve", "my.game", "--solver", "cfr", "--iterations", "3", "--out", "my.profile")]),
    Case("`kibitz show NAME.profile`", [("solve", "kuhn", "--out", "name.profile"), ("solve", "kuhn")]),
    Case("holds a run already", [("solve", "kuhn", "--checkpoint", "c"), ("solve", "kuhn", "--checkpoint", "c")], 2),
    Case(
        "holds a run already",
        [("solve", "fox.py:Fox", "--solver", "cfr", "--checkpoint", "c"), ("solve", "kuhn", "--checkpoint", "c")],
        2,
    ),
    Case(
        "the game, as `kibitz solve",
        [("solve", "fox.py:Fox", "--solver", "cfr", "--checkpoint", "c"), ("solve", "--resume", "c")],
        2,
    ),
    Case("see `kibitz games`", [("solve",)], 2),
    Case("Train it further", [("train", "kuhn", *TRAINED)]),
    Case("Train it further", [("train", "fox.py:Fox", *TRAINED)]),
    Case("holds a blueprint already", [("train", "kuhn", *TRAINED), ("train", "kuhn", *TRAINED)], 2),
    Case("holds a blueprint already", [("train", "fox.py:Fox", *TRAINED), ("train", "kuhn", *TRAINED)], 2),
    Case(
        "Compare it with others",
        [
            ("solve", "leduc", "--solver", "cfr", "--iterations", "3", "--out", "other.profile"),
            ("stitch", *SMALL, "--out", "st.profile"),
        ],
    ),
    Case("Measure it in the whole game", [("stitch", "my.game", *VIEWS, "--out", "st.profile")]),
    Case("Measure it in the whole game", [("stitch", "poker(file=leduc)", *VIEWS, "--out", "my st.profile")]),
    Case(
        "in the unabstracted game: kibitz evaluate PROFILE --whole",
        [("stitch", "poker(file=leduc)", *VIEWS, "--out", "st.profile"), ("evaluate", "st.profile")],
        2,
    ),
    Case(
        "Read it: kibitz show \0\0",
        [
            (
                "poker",
                "phases",
                "poker(file=leduc)",
                "--rounds",
                "1",
                "--abstraction",
                "percentile(2)",
                "--iterations",
                "3",
                "--out",
                "p.profile",
            )
        ],
    ),
    Case("no saved profile at", [("export", "missing.profile", "u.csv")], 2),
    Case("name a GAME to play", [("play",)], 2),
    Case("kibitz play \0 --against \0", [("play", "kuhn", "--hands", "1")]),
    Case("kibitz play \0 --against \0", [("play", "fox.py:Fox", "--hands", "1")]),
    Case("kibitz train \0 --seconds 600 --out \0", [("play", "toepen(suits=2, ranks=2, hand=2)", "--hands", "1")]),
    Case(
        "kibitz play GAME --replay FILE",
        [("play", "fox.py:Fox", "--hands", "1", "--transcript", "t.txt"), ("play", "--replay", "t.txt")],
        2,
    ),
    Case("`kibitz poker cards build`", [("poker", "cards", "info")]),
    Case("kibitz solve 'leduc(players=3, ranks=4)' --seconds 30", [("demo",)], slow=True),
    Case(
        "Let it play",
        [
            ("train", ROWS, "--max-infosets", "20M", "--iterations", "20", "--threads", "1", "--out", "b"),
            (
                "stitch",
                ROWS,
                "--base",
                "b",
                "--partition",
                "prefix(f)",
                "--seats",
                "all",
                "--max-infosets",
                "20M",
                "--iterations",
                "20",
                "--out",
                "st.blueprint",
            ),
        ],
        slow=True,
    ),
    Case("Its charts", [("poker", "tournament", "tournament(players=2, chips=1800)", "--out", "two")], slow=True),
]
# Hints that are not run here, and why.
ELSEWHERE = {
    "kibitz acpc join PROFILE": "waits for a dealer: tests/poker/test_acpc_dealer.py",
    "kibitz match 'search(DIR, ...)' DIR --gain": "run by tests/play/test_play.py",
    "kibitz bench --only toepen-full": "takes a quarter of an hour; an example of kibitz bench --help",
    "kibitz train\0 \0": "of an interrupted training: run by tests/cli/test_cli_train.py",
    "kibitz show \0 --player 0 --filter Ks": "of kibitz demo: run with its case",
    "kibitz evaluate \0": "of kibitz demo: run with its case",
    "kibitz solve \0 --out \0": "of kibitz play: run with its cases",
    "kibitz train \0 --dynamic f,rf": "takes 20 minutes; its options are those of an example of kibitz train --help",
    "`kibitz train toepen --seconds 120 --out solved`": "an example of kibitz train --help is as this",
    "`kibitz evaluate --whole` measures": "names a command in a sentence",
    "kibitz stitch auto --out saves one": "of the web interface; its option is that of an example of kibitz stitch",
}


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(tables, "build", lambda *given, **options: True)  # tables of gigabytes
    definitions = ROOT / "poker" / "rules" / "definitions"
    Path("my.game").write_text((definitions / "leduc.game").read_text())
    Path("fox.py").write_text(FOX)

    def run(words: tuple[str, ...]) -> tuple[int, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 40))
        with pytest.raises(SystemExit) as end:
            app([str(word) for word in words], prog_name="kibitz")
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out + err

    return run


def hints_in(text: str) -> list[str]:
    """The commands that a text tells to type, complete ones with all their words."""
    return [found[0] or found[1] for found in HINT.findall(text)]


def marked(case: Case) -> Any:
    marks = [pytest.mark.slow] if case.slow else []
    return pytest.param(case, marks=marks, id=shlex.join(case.commands[-1]))


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_hints_work(case: Case, call: Callable[..., Any]) -> None:
    for words in case.commands[:-1]:
        assert call(words)[0] == 0, words
    code, text = call(case.commands[-1])
    assert code == case.code, text
    hints = hints_in(text)
    assert hints, text
    for hint in hints:
        if hint == "kibitz ui":
            continue  # it serves until it is stopped
        for word, instead in STAND_INS:
            hint = re.sub(word, instead, hint)
        hint = hint.replace("kuhn --replay FILE", "fox.py:Fox --replay t.txt")
        code, said = call(tuple(shlex.split(hint)[1:]))
        assert code == 0, (hint, said)
        assert "not shown" not in said, (hint, said)  # such as reach, where the game was not named


def literals() -> Iterator[tuple[str, str]]:
    """(where, text) of each text in the sources that is no docstring and no help; parts that are put in are \\0."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] in ("papers", "report", "bench"):
            continue
        name, tree = path.relative_to(ROOT), list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        first = [node.body[0] for node in tree if isinstance(node, kinds) and node.body]
        left_out = {id(each.value) for each in first if isinstance(each, ast.Expr)}
        for node in tree:
            declares = isinstance(node, ast.Call) and getattr(node.func, "id", "") in DECLARES
            if declares or (isinstance(node, ast.keyword) and node.arg == "help"):
                left_out |= {id(each) for each in ast.walk(node)}
            if isinstance(node, ast.JoinedStr):
                left_out |= {id(each) for each in node.values}
        for node in tree:
            if id(node) in left_out:
                continue
            where = f"{name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.JoinedStr):
                yield where, "".join(str(v.value) if isinstance(v, ast.Constant) else "\0" for v in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield where, node.value


def test_every_hint_has_a_case() -> None:
    said = re.compile(rf"\bkibitz ({COMMANDS})(\0| (\0|--|'|[A-Z]{{2,}}|leduc|toepen|build))")
    known = [case.hint for case in CASES] + list(ELSEWHERE)
    every = [(where, text) for where, text in literals() if "kibitz " in text]
    found = [(where, text) for where, text in every if said.search(text)]
    assert len(found) > 20
    missing = [(where, text) for where, text in found if not any(hint in text for hint in known)]
    assert not missing, "give these hints a case in CASES"
    texts = [text for _, text in every]
    assert not [hint for hint in known if not any(hint in text for text in texts)], "these hints are no longer there"
