"""Completion at the Tab key: names where names are wanted, nothing where the shell knows better."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

OFFERS = [
    ("kibitz st", "stitch"),
    ("kibitz solve le", "leduc"),
    ("kibitz solve li", "liars_dice"),
    ("kibitz solve leduc --solver pcf", "pcfr+"),
    ("kibitz solve leduc --abstraction s", "suits"),
    ("kibitz solve toepen --abstraction maxi", "maximal"),
    ("kibitz solve evil.py:X --abstraction ", "null"),  # a file of the user's own is not run for a list
    ("kibitz stitch leduc --inside n", "null"),
    ("kibitz reproduce wau", "waugh2009"),
    ("kibitz solve some/path", ""),
    ("kibitz show ", ""),
]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What `kibitz` prints for some arguments, in a home of its own."""
    (tmp_path / "evil.py").write_text("open('mark', 'w')\n")

    def call(*arguments: str, **more: str) -> str:
        environment = {**os.environ, "HOME": str(tmp_path), "NUMBA_DISABLE_JIT": "1", **more}
        return subprocess.run(
            [sys.executable, "-c", "from kibitz.cli import main; main()", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    return call


@pytest.mark.slow
def test_names_are_offered(run, tmp_path):
    for line, wanted in OFFERS:
        words = line.split(" ")
        offers = run(_KIBITZ_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)).split("\n")
        assert offers[0] == wanted and len(offers) <= 2, (line, offers)
    assert not (tmp_path / "mark").exists()


def test_completion_is_installed(run, tmp_path):
    run("--install-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "kibitz" in (tmp_path / ".bashrc").read_text()
    (script,) = [path for path in tmp_path.rglob("*kibitz*") if path.is_file()]
    assert "complete -o default -F _kibitz_completion kibitz" in script.read_text()
