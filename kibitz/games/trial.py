"""Foreign code tried in a process of its own first, where it may crash, run for ever or take all memory.

Rules that are compiled elsewhere do not always check what they are given: a negative number of cards ends the process,
a large one takes all memory or never comes back. What they do in a copy of this process (`fork`) harms nobody.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import time
from collections.abc import Callable

from kibitz.core.errors import GameError, KibitzError, MissingExtra, SpecError
from kibitz.core.resources import free_memory

SECONDS = 2  # of a processor
PATIENCE = 60.0  # seconds in all, of a busy machine
MEMORY = 1 << 30  # bytes more than are held now
MOST_WORDS = 4000  # bytes of a sentence, which a pipe takes at once
_FINE = b"fine"


def try_first(work: Callable[[], object], what: str) -> None:
    """Raise, if `work` cannot be done in a copy of this process: an error of ours as it is, any other in a sentence."""
    if not hasattr(os, "fork"):
        return
    memory = min(MEMORY, free_memory())
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            faulthandler.disable()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # last words of a crash
            _limit(memory)
            os.write(writing, _answer(work, what))
        finally:
            os._exit(0)
    os.close(writing)
    try:
        answer = _heard(reading, child)
    finally:
        os.close(reading)
        _, status = os.waitpid(child, 0)
    if answer == _FINE:
        return
    if answer:
        kind, _, words = answer.decode(errors="replace").partition(" ")
        raise {"GameError": GameError, "MissingExtra": MissingExtra}.get(kind, SpecError)(words)
    ended = os.waitstatus_to_exitcode(status)
    if ended in (-signal.SIGXCPU, -signal.SIGKILL):
        raise SpecError(f"{what} does not begin within {SECONDS} seconds; choose smaller parameters")
    how = signal.Signals(-ended).name if ended < 0 else f"exit code {ended}"
    raise SpecError(f"the code of {what} crashes with these parameters ({how})")


def _limit(memory: int) -> None:
    """Bounds on this process, which is the copy."""
    import resource

    most = _addresses() + memory
    for name, bound in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        soft, hard = resource.getrlimit(name)
        bounds = [b for b in (bound, soft, hard) if b != resource.RLIM_INFINITY]
        resource.setrlimit(name, (min(bounds), hard))


def _addresses() -> int:
    """Bytes of addresses that this process has, whether they are backed by memory or not."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 1 << 46


def _answer(work: Callable[[], object], what: str) -> bytes:
    """ "fine", or the name of an error's class and what it says."""
    try:
        work()
    except KibitzError as error:
        return f"{type(error).__name__} {error}".encode(errors="replace")[:MOST_WORDS]
    except MemoryError:
        return f"SpecError {what} does not fit into memory; choose smaller parameters".encode()
    except BaseException as error:
        return f"SpecError {what} fails: {type(error).__name__}: {error}".encode(errors="replace")[:MOST_WORDS]
    return _FINE


def _heard(reading: int, child: int) -> bytes:
    """What the copy says; nothing if it ends without a word, or is ended for taking too long."""
    until, answer = time.monotonic() + PATIENCE, b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            return b""
        part = os.read(reading, 4096)
        if not part:
            return answer
        answer += part
