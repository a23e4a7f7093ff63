"""Stages side by side: each list of stages in a process of its own, which share a machine and its GPU.

A GPU waits while cores build forms and boards, so several processes keep it busy. Strategies that one of them trains
are waited for by those that play them, and products of matrices take turns (`holdem_course`). A process that ends with
an error, such as too little memory while others have it, is started again and goes on where it was, unless a package
is missing.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType

from kibitz.core.errors import SpecError

CONTINUED = 3  # exit code of a command whose stages are not done, because its time was over
MISSING = 4  # ... that lacks a package: starting it again would not help
TRIES, PAUSE = 20, 5.0  # starts of a process, seconds between them
STOP = 60.0  # seconds for checkpoints after Ctrl-C


@dataclass
class Chain:
    """Stages that one process goes through."""

    stages: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    again: float = 0.0  # when it may be started
    code: int | None = None  # how it ended at last

    def start(self, options: Sequence[str], seconds: float | None) -> None:
        chosen = [part for name in self.stages for part in ("--stage", name)]
        ends = [] if seconds is None else ["--seconds", f"{seconds:.0f}"]
        # Not in the group of the terminal: Ctrl-C would come twice, and the second stops the writing of checkpoints.
        self.process = subprocess.Popen([sys.executable, "-m", "kibitz.papers.stages", *chosen, *options, *ends],
                                        start_new_session=True)  # fmt: skip
        self.starts += 1

    @property
    def over(self) -> bool:
        return self.code in (0, CONTINUED, MISSING) or (self.process is None and self.starts >= TRIES)


def side_by_side(
    lists: Sequence[str], options: Sequence[str], seconds: float | None, tell: Callable[[str], None] = print
) -> bool:
    """Go through lists of stages, such as "two-trained-0,two-pairs-0"; returns whether all are done. options: of each
    command; seconds: end before so many are over."""
    chains = [Chain(tuple(each.split(","))) for each in lists]
    twice = [name for name, count in Counter(name for chain in chains for name in chain.stages).items() if count > 1]
    if twice:
        raise SpecError(f"{', '.join(twice)} is in two lists: two processes would write one file of results")
    before = signal.signal(signal.SIGTERM, _interrupt)
    began = time.monotonic()

    def left() -> float | None:
        return None if seconds is None else seconds - (time.monotonic() - began)

    try:
        while not all(chain.over for chain in chains):
            for chain in chains:
                _look_after(chain, options, left(), tell)
            if seconds is not None and time.monotonic() - began >= seconds and not any(c.process for c in chains):
                break
            time.sleep(0.2)
    except KeyboardInterrupt:
        tell("stopping; each process writes checkpoints first")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
        _stop(chains)
    return all(chain.code == 0 for chain in chains)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _look_after(chain: Chain, options: Sequence[str], left: float | None, tell: Callable[[str], None]) -> None:
    if chain.process is None:
        if not chain.over and time.monotonic() >= chain.again and (left is None or left > 0):
            chain.start(options, left)
        return
    code = chain.process.poll()
    if code is None:
        return
    chain.code, chain.process, chain.again = code, None, time.monotonic() + PAUSE
    if not chain.over and (left is None or left > PAUSE):
        tell(f"{', '.join(chain.stages)}: ended with {code}; started again in {PAUSE:g} s")


def _stop(chains: Sequence[Chain]) -> None:
    """Once, as by Ctrl-C."""
    processes = [chain.process for chain in chains if chain.process is not None]
    for process in processes:
        process.send_signal(signal.SIGINT)
    ends = time.monotonic() + STOP
    for process in processes:
        try:
            process.wait(max(0.1, ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
