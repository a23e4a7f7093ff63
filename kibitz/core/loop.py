"""The one loop of all training: steps in blocks of a fraction of a second, so that Ctrl-C and progress are prompt."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from kibitz.core.compiling import clock
from kibitz.core.errors import SolverError


class Counted(Protocol):
    """Something that is trained, with a count of its iterations."""

    iteration: int


def in_blocks(
    trained: Counted,
    step: Callable[[int], None],
    iterations: int | None,
    seconds: float | None,
    bound: Callable[[], int],
    *,
    first: int = 1,
    length: float = 0.15,
) -> Iterator[float]:
    """Step until `iterations` in all are done or `seconds` are over; yields the seconds that each block took.

    Seconds are of work: compiling and setting up of tables do not count (`kibitz.core.compiling.clock`).

    A block takes about `length` seconds, is at most twice as many iterations as the one before (`first` at first), and
    never goes beyond bound(), the next iteration at which something is due. What is arrived at does not depend on how
    long blocks are. Whoever reads may stop reading at any time.
    """
    began, block = clock(), first
    while iterations is None or trained.iteration < iterations:
        last = min(trained.iteration + block, bound())
        count = max(1, (last if iterations is None else min(last, iterations)) - trained.iteration)
        started = clock()
        step(count)
        spent = clock() - started
        block = max(1, min(2 * block, int(length * count / max(spent, 1e-9))))
        yield spent
        if seconds is not None and clock() - began >= seconds:
            return


def check_stops(iterations: Any, until: Any, seconds: Any) -> None:
    """Refuse what no run can stop by."""
    if iterations is not None and (not isinstance(iterations, int | np.integer) or iterations < 0):
        raise SolverError(f"iterations={iterations!r} must be a whole number, 0 or more")
    for name, value in (("until", until), ("seconds", seconds)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float | np.number)):
            raise SolverError(
                f"{name}={value!r} must be a number, such as {name}=0.001, and not a {type(value).__name__}"
            )
    if until is not None and not until >= 0:
        raise SolverError(f"until={until!r} must be a NashConv of 0 or more")
    if seconds is not None and not seconds > 0:
        raise SolverError(f"seconds={seconds!r} must be above 0")


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C sets the event instead of breaking into the middle of a step; a second one breaks as usual."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        stopped.set()

    signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def breakable(stopped: threading.Event) -> Iterator[None]:
    """Within `interruptible`: Ctrl-C breaks into what is done here, ends it and sets the event. For work that is done
    again if it was not finished."""
    if stopped.is_set() or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        stopped.set()
    finally:
        signal.signal(signal.SIGINT, before)
