"""Commands run by tests: in this process, or as a child."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import kibitz
from kibitz.cli import app

PATIENCE = 600  # seconds for what takes one on an idle machine

Call = Callable[..., tuple[int, str, str]]

FOX = """
from kibitz.games import TERMINAL

class Fox:
    players = 2
    def root(self): return ()
    def turn(self, state): return (0, 1, TERMINAL)[len(state)]
    def actions(self, state): return ["left", "right"]
    def chance(self, state): return []
    def after(self, state, action): return (*state, action)
    def infoset(self, state): return "hide" if not state else "seek"
    def payoff(self, state): return [1, -1] if state[0] != state[1] else [-1, 1]
"""


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command in this process, in an empty directory: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app([str(a) for a in arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return run


@pytest.fixture(scope="module")
def kuhn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved profile of Kuhn poker."""
    path = tmp_path_factory.mktemp("profiles") / "kuhn.profile"
    kibitz.solve("kuhn", "lp").save(path)
    return path


def good(call: Call, *arguments: str | Path) -> str:
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    return out


def data(call: Call, *arguments: str | Path) -> dict:
    """What a command prints with --json: one object and nothing else."""
    return json.loads(good(call, *arguments, "--json"))


def bad(call: Call, *arguments: str | Path) -> str:
    """The sentence that a command fails with."""
    before = sorted(Path().rglob("*"))
    code, out, err = call(*arguments)
    assert code == 2 and out == ""
    assert err.startswith("error: ") and err.count("\n") == 1, err
    assert sorted(Path().rglob("*")) == before, "nothing is written"
    return err.removeprefix("error: ").strip()


def child(*arguments: str | Path, cwd: Path | None = None) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "kibitz.cli", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd)
