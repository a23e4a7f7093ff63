"""What others see of work in pieces that runs now."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kibitz.core import progress
from kibitz.core.pieces import Piece
from kibitz.core.pools import LocalPool
from kibitz.web.library import Library
from kibitz.web.runs import listed


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(progress, "EVERY", 0.0)
    monkeypatch.setattr(progress, "_silent", [])


@pytest.mark.parametrize("jobs", [1, 2])
def test_pieces_are_shown_while_they_run(jobs, tmp_path):
    seen = []
    for _ in LocalPool(jobs).map(abs, [Piece((-k,), cost=2.0) for k in range(4)], "threads"):
        (line,) = progress.running()
        seen.append((line["done"], line["of"], line["what"], line["on"]))
        assert line["left"] >= 0.0 and line["id"].startswith(f"{os.getpid()}-")
    assert seen == [(k, 4, "abs", f"local:{jobs}") for k in (1, 2, 3, 4)] and progress.running() == []


def test_the_file_goes_when_work_is_given_up():
    answers = LocalPool(1).map(abs, [Piece((k,)) for k in range(3)])
    next(answers)
    assert len(progress.running()) == 1
    answers.close()
    assert progress.running() == []
    with pytest.raises(TypeError):
        list(LocalPool(1).map(abs, [Piece((1,)), Piece(("a", 2))]))
    assert progress.running() == []


def test_what_a_killed_process_left_is_removed():
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    progress.home().mkdir(parents=True)
    (progress.home() / f"{gone.pid}-0.json").write_text("{}")
    (progress.home() / f"{os.getpid()}-77.json").write_text("not json")
    assert progress.running() == [] and not (progress.home() / f"{gone.pid}-0.json").exists()


def test_short_work_writes_nothing(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 60.0)
    list(LocalPool(1).map(abs, [Piece((k,)) for k in range(3)]))
    assert not progress.home().exists()


def test_workers_of_others_are_silent():
    progress.stay_silent()
    for _ in LocalPool(1).map(abs, [Piece((1,))]):
        assert progress.running() == []


def test_runs_of_the_web_interface(tmp_path):
    library = Library(tmp_path)
    progress.home().mkdir(parents=True)
    said = {"command": "kibitz evaluate a.profile --whole", "on": "ray", "done": 12, "of": 1755, "left": 7500.0}
    (progress.home() / f"{os.getpid()}-5.json").write_text(json.dumps(said))
    (line,) = [each for each in listed(library) if each["kind"] == "pieces"]
    assert line["name"] == said["command"] and line["about"] == "12 of 1,755 pieces, on ray, about 2.1 h left"
    (progress.home() / f"{os.getpid()}-5.json").write_text(json.dumps({"done": "x", "of": [], "left": None}))
    (line,) = [each for each in listed(library) if each["kind"] == "pieces"]
    assert line["about"] == "0 of 0 pieces, on "
