"""Functions of a module, as pieces of work are: nodes of a cluster import them by name."""

from __future__ import annotations

import os
import platform
import signal
import time
from pathlib import Path

import numpy as np

from kibitz.core import store
from kibitz.core.artefacts import located
from kibitz.core.errors import GameError


def square(x):
    return x * x


def slow_square(x, seconds):
    time.sleep(seconds)
    return x * x


def who(x):
    """The process that does a piece, and its cores."""
    time.sleep(0.2)
    return os.getpid(), os.environ.get("KIBITZ_CORES"), os.environ.get("KIBITZ_ON"), platform.node()


def which_node(x):
    """The node of Ray that does a piece, and the GPUs that it may use there."""
    import ray

    return ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES")


def refuse(x):
    raise GameError(f"{x} is refused")


def refuse_below(x):
    return x if x >= -2 else refuse(x)


def fail(x):
    raise RuntimeError(f"{x} failed")


def dies_once(folder, x):
    """Its process is killed the first time."""
    mark = Path(folder) / str(x)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def total(array, x):
    """Of a shared array, and whether it is a copy of one's own."""
    return float(array.sum()) + x, bool(array.flags.owndata)


def read(artefact):
    where = located(artefact)
    return str(where), float(store.load(where, mmap=True).arrays["x"].sum())


def large(n):
    return np.zeros(n, np.uint8)


def slow_piece(seconds, gate, piece):
    """What a piece adds to a table, after a while; late ones wait for a gate, if there is one to come."""
    time.sleep(seconds)
    while gate and piece >= 20 and not Path(gate).exists():
        time.sleep(0.05)
    return np.arange(100, dtype=np.int64) * (piece + 1)


def slow_table(seconds, pieces, gate=""):
    """The recipe of a table whose pieces take long. gate: a file that has to be there for those from 20 on."""
    from kibitz.cards.tables import NodePieces, Recipe

    def make(arrays, lock):
        def fill(piece):
            return lambda: add(arrays, slow_piece(0.0, gate, piece))

        return fill

    def add(arrays, answer):
        arrays["total"] += answer

    far = NodePieces(slow_piece, lambda executor: (seconds, gate), add)
    return Recipe("slow", "a test", 1, {"total": ("<i8", (100,))}, pieces, make, 10.0, sums=True, far=far)


def mapped(artefact, seconds):
    """Bytes of a mapped artefact that are resident here, and this process's share of them while others map it too."""
    where = located(artefact)
    array = store.load(where, mmap=True).arrays["x"]
    total = float(array.sum())
    time.sleep(seconds)
    sizes, here = {"Rss": 0, "Pss": 0}, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ")[0] and not line.split(" ")[0].endswith(":"):
            here = str(where) in line
        elif here and line.startswith(("Rss:", "Pss:")):
            sizes[line[:3]] += int(line.split()[1]) * 1024
    return total, os.getpid(), sizes["Rss"], sizes["Pss"]


def row_of(limit, piece):
    """The row of a table, refused from a limit on."""
    return np.full(10, piece + 1, np.int32) if piece < limit else refuse(piece)


def write_row(arrays, limit, piece):
    arrays["row"][piece] = row_of(limit, piece)
    arrays["writer"][piece] = os.getpid()


def rows_table(pieces, limit=1000):
    """The recipe of a table whose rows nodes may write themselves. It is of a second of a core in all."""
    from kibitz.cards.tables import NodePieces, Recipe

    def add(arrays, answer):
        arrays["row"][answer[0] - 1] = answer

    def make(arrays, lock):
        return lambda piece: write_row(arrays, limit, piece)

    arrays = {"odd": ("|u1", (3,)), "row": ("<i4", (pieces, 10)), "writer": ("<i8", (pieces,))}
    far = NodePieces(row_of, lambda executor: (limit,), add, write=write_row)
    return Recipe("rows", "a test", 1, arrays, pieces, make, 1.0, far=far)
