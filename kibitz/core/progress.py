"""Work in pieces that runs now, for whoever looks from outside: a small file for each, in <cache>/running.

It says which command, how many pieces are done, and the time left. It is written once a second at most, first after a
second, and removed at the end; one whose process is gone is removed by the next reader.
"""

from __future__ import annotations

import itertools
import json
import os
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

EVERY = 1.0  # seconds
MOST_BYTES, MOST_WORDS = 4096, 300  # of a file, and characters of a command
_number = itertools.count()
_silent: list[bool] = []  # in processes that work on pieces of others


def stay_silent() -> None:
    """This process works on pieces that another one counts."""
    _silent[:] = [True]


def home() -> Path:
    from kibitz.core.jit import cache_home

    return cache_home() / "running"


class Shown:
    """The file of some work."""

    def __init__(self, what: str, on: str) -> None:
        self.what, self.on, self.began = what, on, time.time()
        self.due = time.monotonic() + EVERY
        self.path = home() / f"{os.getpid()}-{next(_number)}.json"
        self.there = False

    def tell(self, done: int, of: int, left: float | None) -> None:
        """So many pieces are done; left: seconds, if known. Where nothing can be written, nothing is shown."""
        if _silent or time.monotonic() < self.due:
            return
        self.due = time.monotonic() + EVERY
        words = shlex.join(["kibitz" if Path(sys.argv[0]).stem in ("kibitz", "__main__") else Path(sys.argv[0]).name,
                            *sys.argv[1:]])  # fmt: skip
        said = {"command": words[:MOST_WORDS], "what": self.what, "on": self.on, "done": done, "of": of, "left": left,
                "began": self.began}  # fmt: skip
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside = self.path.with_suffix(".new")
            beside.write_text(json.dumps(said), encoding="utf-8")
            beside.replace(self.path)
            self.there = True

    def end(self) -> None:
        if self.there:
            with suppress(OSError):
                self.path.unlink()


def running() -> list[dict[str, Any]]:
    """What runs now, each with "id" and "changed", the time of its last word. Files of processes that are gone are
    removed."""
    lines = []
    for path in sorted(home().glob("*-*.json")):
        with suppress(OSError, ValueError):
            if not _alive(int(path.stem.partition("-")[0])):
                path.unlink()
                continue
            at = path.stat()
            said = json.loads(path.read_bytes()[:MOST_BYTES])
            if isinstance(said, dict):
                lines.append({**said, "id": path.stem, "changed": at.st_mtime})
    return lines


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
