"""Where work in pieces is done: on this machine, or on the nodes of a Ray cluster.

    with executing("local:4") as executor:
        for number, answer in executor.map(function, [Piece((1, 2)), Piece((3, 4))]):
            ...

A piece is a call of a function of a module with plain arguments: numbers, texts, tuples, arrays, and saved strategies
by name (`artefacts.py`). So the same piece can be done in a thread, in a process or on another machine, and its answer
does not depend on where. Answers come as they are ready, each with the number of its piece; whoever needs them in order
puts them in order. To stop, close the iterator: what has not begun is left, and what runs is ended where that is
possible.

    local           all cores of this machine, in threads or processes as the work asks for (`pools.py`)
    local:N         N of them
    ray             a Ray on this machine that is started now and stopped at the end (`ray_pool.py`)
    HOST:PORT       a Ray cluster that this machine belongs to; "auto": the one that runs here
    ray://HOST:PORT a Ray cluster elsewhere, through its client port

KIBITZ_ON in the environment is the default. Without it everything stays on this machine, and Ray is not imported.
"""

from __future__ import annotations

import atexit
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from kibitz.core.errors import SpecError
from kibitz.core.pieces import Executor
from kibitz.core.pools import LocalPool
from kibitz.core.resources import CORES, ON

CHOICES = "local, local:N, ray, ray://HOST:PORT, or the HOST:PORT of a Ray cluster"


def executor_of(on: str) -> Executor:
    """The executor of a text such as "local:4"."""
    text = on.strip()
    if text == "local":
        return LocalPool()
    if match := re.fullmatch(r"local:([1-9]\d{0,3})", text):
        return LocalPool(int(match[1]))
    if text in ("ray", "auto") or re.fullmatch(r"(ray://)?(?!local:)[\w.\-\[\]:]+:\d{1,5}", text):
        from kibitz.core.ray_pool import RayPool

        return RayPool(text)
    raise SpecError(f"--on {text:.80}: choose {CHOICES}")


_stack: list[Executor] = []
_by_default: list[Executor] = []


def current() -> Executor:
    """The executor in force: that of the innermost `executing`, else what KIBITZ_ON names, else this machine."""
    if _stack:
        return _stack[-1]
    on = os.environ.get(ON, "") or "local"
    if not _by_default or _by_default[0].name != on:
        _drop_default()
        _by_default.append(executor_of(on))
    return _by_default[0]


@atexit.register
def _drop_default() -> None:
    while _by_default:
        _by_default.pop().close()


@contextmanager
def executing(on: str | Executor | None = None) -> Iterator[Executor]:
    """Have all work in pieces done there. None: where it would be done anyway."""
    if on is None:
        yield current()
        return
    executor = executor_of(on) if isinstance(on, str) else on
    jobs, before = getattr(executor, "jobs", None), os.environ.get(CORES)
    if jobs is not None:
        os.environ[CORES] = str(jobs)  # for work that shares its cores itself, as compiled loops do
    _stack.append(executor)
    try:
        yield executor
    finally:
        _stack.pop()
        if jobs is not None:
            os.environ.pop(CORES) if before is None else os.environ.update({CORES: before})
        if isinstance(on, str):
            executor.close()
