"""Two threads against one, on an idle machine and beside a busy process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kibitz.bench.peers import TimedWork

# The second thread earns its keep from about here on; in smaller games an iteration takes some tens of microseconds.
GOAL, GOAL_BUSY = 1.6, 0.95
ROUNDS = 5
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))\n"


def two_cores() -> list[int]:
    """Two cores of this process, of different processor cores where the machine tells and has them."""
    mine = sorted(os.sched_getaffinity(0))
    chosen: list[int] = []
    taken: set[str] = set()
    for core in mine:
        file = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        siblings = file.read_text() if file.exists() else str(core)
        if siblings not in taken and len(chosen) < 2:
            chosen.append(core)
            taken.add(siblings)
    return chosen if len(chosen) == 2 else mine[:2]


@contextmanager
def on_two_cores() -> Iterator[None]:
    """Keep this process, and those it starts, to two cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, two_cores())
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def a_busy_process() -> Iterator[None]:
    """Another process that never rests; it ends with this one."""
    child = subprocess.Popen([sys.executable, "-c", _BUSY])
    try:
        yield
    finally:
        child.kill()
        child.wait()


def threads_figure(prepare: Callable[[int], TimedWork], game: str, seconds: float) -> dict[str, Any]:
    """Iterations a second of one thread and of two, taken in turns: alone, and beside a busy process.

    prepare: the work of so many threads.
    """
    with on_two_cores():
        works = [prepare(threads) for threads in (1, 2)]
        one, two = _in_turns(works, seconds / 2)
        with a_busy_process():
            time.sleep(0.2)
            busy_one, busy_two = _in_turns(works, seconds / 2)
    return {
        "game": game, "one": one, "two": two, "ratio": two / one,
        "busy_one": busy_one, "busy_two": busy_two, "busy_ratio": busy_two / busy_one,
    }  # fmt: skip


def _in_turns(works: list[TimedWork], seconds: float) -> list[float]:
    """Iterations a second of each: the best of rounds alone would hide what a neighbour does, so all are added up."""
    counts = []
    for work in works:
        work.step(n := 1)  # warm up
        while True:
            began = time.perf_counter()
            work.step(n)
            if (took := time.perf_counter() - began) > seconds / ROUNDS / 4:
                break
            n *= 2
        counts.append(max(1, int(n * seconds / ROUNDS / took)))
    spent = [0.0] * len(works)
    for _ in range(ROUNDS):
        for k, work in enumerate(works):
            began = time.perf_counter()
            work.step(counts[k])
            spent[k] += time.perf_counter() - began
    return [ROUNDS * n / took for n, took in zip(counts, spent, strict=True)]
