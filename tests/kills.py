"""Kill a process at a moment of its writing, see what is on disk, go on: one harness for everything that saves.

A moment is a call of the store to the system (a file made, synced, renamed, removed), before it or after it, so nothing
here depends on how fast the machine is. The process is a fork of this one: what it runs is compiled already.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from kibitz.core import store
from kibitz.core.errors import ArtefactError

CALLS = ("fsync", "replace", "rename", "listdir")  # of the store: what it writes lies between two of these


def _watched(moment: Callable[[], None]) -> Any:
    """The module os, for the store, with a moment before and after each call that changes what is on disk."""

    def wrapped(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            moment()
            found = real(*arguments, **options)
            moment()
            return found

        return call

    watched = SimpleNamespace(**{name: getattr(os, name) for name in dir(os)})
    for name in CALLS:
        setattr(watched, name, wrapped(name))
    return watched


def in_a_child(body: Callable[[], object], die_at: int | None) -> tuple[bool, int]:
    """Run `body` in a fork, which kills itself at a moment. Returns (was it killed, moments that it saw)."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # nothing of pytest's may run here
        code = 1
        try:
            os.close(reader)
            with open(os.devnull, "w") as nowhere:
                sys.stdout = sys.stderr = nowhere
                seen = 0

                def moment() -> None:
                    nonlocal seen
                    seen += 1
                    if seen == die_at:
                        os.kill(os.getpid(), signal.SIGKILL)

                store.os = _watched(moment)
                with contextlib.suppress(SystemExit):
                    body()
                os.write(writer, str(seen).encode())
                code = 0
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True, die_at or 0
    assert os.WEXITSTATUS(status) == 0, said
    return False, int(said)


def kill_again_and_again(
    body: Callable[[], object], finished: Callable[[], bool], kinds: dict[Path, str], kills: int, dice: random.Random
) -> int:
    """Run `body`, killed at random moments, until it has been killed `kills` times and is done; returns the kills.

    body      begins, or goes on from what is on disk
    finished  whether what is on disk is the whole result
    kinds     what may be on disk: each is whole, or not there, after every kill
    """
    hits = 0
    while hits < kills:
        killed, seen = in_a_child(body, dice.choice((1, 2, 3, dice.randint(4, 12), dice.randint(4, 60))))
        hits += killed
        for path, kind in kinds.items():
            whole_or_nothing(path, kind)
        if not killed:
            assert finished(), seen
            for path in kinds:  # done before the moment came: start again
                store._remove(path)
    killed, _ = in_a_child(body, None)
    assert not killed and finished()
    for path, kind in kinds.items():
        store.load(path, kind)
        assert [name for name in os.listdir(path.parent) if name.startswith(f".{path.name}.tmp-")] == []
    return hits


def whole_or_nothing(path: Path, kind: str) -> None:
    try:
        store.load(path, kind)
    except ArtefactError as error:
        assert "no saved " in str(error) and not (path / "manifest.json").exists()
