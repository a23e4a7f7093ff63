"""What is said and counted while code is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kibitz.cli.watch import Watch
from kibitz.core import compiling
from kibitz.core.compiling import announced_by, aside, clock

# A kernel of a few lines, and one call of it for each of two types.
TINY = """
import numpy as np
from kibitz.solvers.kernels.columns import scale
scale(np.ones(2, np.float32), 0, 2, np.float32(0.5))
scale(np.ones(2), 0, 2, np.float32(0.5))
"""


def run(cache: Path, progress: str | None = None) -> str:
    """What a script that calls the kernel writes to stderr."""
    keys = {key: x for key, x in os.environ.items() if key != "KIBITZ_PROGRESS"}
    said = {} if progress is None else {"KIBITZ_PROGRESS": progress}
    env = {**keys, "KIBITZ_CACHE": str(cache), **said}
    done = subprocess.run([sys.executable, "-c", TINY], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == ""
    return done.stderr


def test_a_script_says_once_that_it_compiles_and_nothing_when_code_is_loaded(tmp_path: Path) -> None:
    (line,) = run(tmp_path).splitlines()
    assert line.startswith("kibitz compiles its code for training and matches: ") and "first use only" in line
    assert run(tmp_path) == "", "the second process loads what the first compiled"


def test_who_wants_no_progress_hears_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "0") == ""


class Time:
    """A clock that is moved by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(compiling.time, "perf_counter", lambda: self.now)


def test_the_clock_stands_still_while_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    began = clock()
    time.now += 3.0
    assert clock() - began == 3.0
    with aside():
        time.now += 10.0
        assert clock() - began == 3.0
        with aside():  # another thread waits for the same code
            time.now += 10.0
        time.now += 10.0
    time.now += 1.0
    assert clock() - began == 4.0


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is announced, from the beginning of a process on."""
    monkeypatch.setattr(compiling._State, "said", set())
    lines: list[str] = []
    monkeypatch.setattr(compiling, "_tell", [lines.append])
    return lines


def test_each_kind_of_work_is_announced_once_and_not_the_parts_of_it(said: list[str]) -> None:
    def compiled(*modules: str) -> None:
        """The first of them calls the second, and so on."""
        for module in modules:
            compiling._begins(module)
        for _ in modules:
            compiling._ends()

    compiled("kibitz.poker.rules.kernels.machine", "kibitz.solvers.kernels.walk", "kibitz.solvers.kernels.hash")
    compiled("kibitz.poker.exact.kernels.cfr")
    compiled("kibitz.solvers.kernels.tree")
    assert ["for poker:" in line or "for training and matches:" in line for line in said] == [True, True]
    assert not compiling.compiling()


def test_commands_have_a_line_of_their_own(said: list[str]) -> None:
    with Watch(False) as watch:
        watch.phase("playing")
        assert watch._state() == ("playing", None)
        compiling._begins("kibitz.solvers.kernels.tree")
        assert watch._state() == ("compiling, at the first use only: playing", None)
        compiling._ends()
    assert said == []
    heard: list[str] = []
    with announced_by(heard.append):
        compiling._begins("kibitz.cards.kernels.hands")
        compiling._ends()
    assert len(heard) == 1 and said == []


def test_a_match_does_not_count_compiling_as_playing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves only while the match is compiled, by half a minute."""
    import kibitz
    from kibitz.solvers.machines import machine_of

    time = Time(monkeypatch)
    machine = machine_of("kuhn")
    duel = machine.duel

    def compiled_first(*given: object) -> None:
        with aside():
            time.now += 30.0
        duel(*given)

    monkeypatch.setattr(machine, "duel", compiled_first)
    found = kibitz.match(machine, "uniform", "uniform", deals=100)
    assert found.deals == 100 and found.seconds == 0.0


def test_a_table_that_buckets_need_is_told_on_the_line_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is made, how far it is, how long it will take, and that it is once; not a line on stderr beside it."""
    from kibitz.cards import tables
    from kibitz.cards.recipes import recipe
    from kibitz.cli.common import telling

    time, heard, made = Time(monkeypatch), [], recipe("preflop")
    with Watch(False) as watch:
        tell = telling(watch)
        tell(made, 0, 10)
        time.now += 6.0
        tell(made, 3, 10)
        assert watch._phase == f"making the table {made.name}, once: 30%, 6.0 s used, about 14 s left"
    monkeypatch.setattr(tables, "_to_stderr", lambda *given: heard.append("stderr"))
    monkeypatch.setattr(tables, "home", lambda: tmp_path)
    monkeypatch.setattr(tables, "_fill", lambda recipe, arrays, done, threads, tell, *rest: tell(recipe, 1, 1) or 0.0)
    with tables.told_by(lambda *given: heard.append("line")):
        tables.build(made)
    assert heard == ["line"]
