"""While Numba compiles: a message is shown, and the time is not counted.

Compiling takes seconds to a minute the first time and nothing later, when the code is loaded from disk. So it is
announced when something is really compiled, once for each kind of work, and rates are measured by `clock`, which does
not count it. KIBITZ_PROGRESS=0 in the environment hides the line.

    began = clock()
    play(deals)
    rate = deals / (clock() - began)
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OURS = "kibitz."
# Package -> what its kernels are for. The longest that fits counts.
WORK = {
    "cards": "hands of cards", "forms": "solving", "games": "training and matches", "poker": "poker",
    "poker.tournaments": "tournaments", "solvers": "training and matches", "toepen": "Toepen",
}  # fmt: skip

_lock = threading.Lock()


class _State:
    """Seconds that do not count, and what was announced."""

    inside = 0  # threads that compile or load compiled code, wait for it, or make tables
    since = 0.0  # when the first of them began
    aside = 0.0  # seconds in which there were some
    depth = 0  # functions that are being compiled: one begins within another
    said: set[str] = set()  # noqa: RUF012  kinds of work that were announced


def clock() -> float:
    """Seconds as of time.perf_counter, without those in which code was compiled or loaded, or work was `aside`."""
    with _lock:
        now = time.perf_counter()
        return now - _State.aside - (now - _State.since if _State.inside else 0.0)


def compiling() -> bool:
    """Whether something is being compiled at this moment."""
    return _State.depth > 0


@contextmanager
def aside() -> Iterator[None]:
    """The clock stands still: for setting up of tables, which is no part of the work that is measured."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    with _lock:
        if not _State.inside:
            _State.since = time.perf_counter()
        _State.inside += 1


def _leave() -> None:
    with _lock:
        _State.inside -= 1
        if not _State.inside:
            _State.aside += time.perf_counter() - _State.since


def to_stderr(line: str) -> None:
    """A line on stderr, if there is one and nobody has asked for quiet."""
    if os.environ.get("KIBITZ_PROGRESS", "").strip() in ("0", "0.0") or sys.stderr is None:
        return
    with suppress(OSError, ValueError):  # closed, or full
        print(line, file=sys.stderr, flush=True)


_tell: list[Callable[[str], None]] = [to_stderr]


@contextmanager
def announced_by(tell: Callable[[str], None]) -> Iterator[None]:
    """The callback for messages about compiling; commands show their own progress line."""
    before, _tell[0] = _tell[0], tell
    try:
        yield
    finally:
        _tell[0] = before


def work_of(module: str) -> str:
    """What the code of a module is for."""
    package = module.removeprefix(OURS)
    while package and package not in WORK:
        package = package.rpartition(".")[0]
    return WORK.get(package, "its kernels")


def _begins(module: str) -> None:
    _State.depth += 1
    work = work_of(module)
    if _State.depth > 1 or work in _State.said:
        return
    _State.said.add(work)
    _tell[0](
        f"kibitz compiles its code for {work}: seconds to a minute, at the first use only (KIBITZ_PROGRESS=0 hides "
        "this line)"
    )


def _ends() -> None:
    _State.depth -= 1


def listen() -> None:
    """Hear from Numba what it compiles; called once, by `core/jit.py`.

    The lock is held while code is loaded from disk as well; "numba:compile" is about what was not found there. Only
    one thread compiles at a time.
    """
    from numba.core import event

    class Lock(event.Listener):
        def on_start(self, event: Any) -> None:
            _enter()

        def on_end(self, event: Any) -> None:
            _leave()

    class Compile(event.Listener):
        def on_start(self, event: Any) -> None:
            module = _module(event)
            if module.startswith(OURS):
                _begins(module)

        def on_end(self, event: Any) -> None:
            if _module(event).startswith(OURS):
                _ends()

    event.register("numba:compiler_lock", Lock())
    event.register("numba:compile", Compile())


def _module(event: Any) -> str:
    """The module of the function that an event is about."""
    function = getattr(event.data["dispatcher"], "py_func", None)
    return str(getattr(function, "__module__", ""))
