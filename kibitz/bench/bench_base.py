"""kibitz bench --only cluster: the memory of a node while eight experts share one base.

A real Ray node with a worker for each expert. Workers keep what they have mapped when their expert is solved, so memory
is looked at when all of them have one, whatever the speed of the machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kibitz.core.artefacts import saved_for_nodes
from kibitz.core.executor import executing
from kibitz.core.pieces import Piece

GAME, PARTS = "rhode_island(ranks={ranks})", "prefix(rr, rcr, rccr, cr, ccr, cccr, ccccr, cccccr)"
EXPERTS, RANKS = 8, 10
STORE = 200 << 20  # bytes of the node's object store
TRIES = 10  # until every worker has had an expert


def shared_base(ranks: int = RANKS) -> dict[str, Any]:
    """Bytes of the base, and of its pages in each worker: all that it sees, and its share of them."""
    from kibitz import solve
    from kibitz.stitch import static

    game = GAME.format(ranks=ranks)
    base = solve(game, "cfr+", iterations=2)
    path = saved_for_nodes(base)
    with (
        tempfile.TemporaryDirectory() as folder,
        one_node(EXPERTS) as address,
        executing(address) as pool,
    ):
        met = pool.map(meet, [Piece((folder, number, EXPERTS)) for number in range(EXPERTS)])
        workers = sorted(pid for _, pid in met)
        for _ in range(TRIES):
            static(game, base, PARTS, seats="all", solver="cfr+", iterations=2)
            pages = [mapped_pages(path, pid) for pid in workers]
            if all(seen for seen, _ in pages):
                break
        whole = [_memory(pid) for pid in workers]
    size = sum(file.stat().st_size for file in path.glob("*.bin"))
    return {"game": game, "workers": len(set(workers)), "base": size, "seen": [seen for seen, _ in pages],
            "share": [share for _, share in pages], "worker": whole}  # fmt: skip


@contextmanager
def one_node(workers: int) -> Iterator[str]:
    """The address of a Ray with one node, on this machine, that does so many pieces at once."""
    from ray.cluster_utils import Cluster

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    node = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        yield cluster.address
    finally:
        cluster.shutdown()


def meet(folder: str, number: int, count: int) -> int:
    """A piece that ends when all pieces are under way, each in a process of its own: the number of the process."""
    (Path(folder) / str(number)).touch()
    while len(list(Path(folder).iterdir())) < count:
        time.sleep(0.05)
    return os.getpid()


def mapped_pages(path: Path, pid: int) -> tuple[int, int]:
    """Bytes of an artefact that a process has in memory, and its share of them: a page that eight have counts an
    eighth."""
    seen = share = 0
    here = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first, *rest = line.split(maxsplit=5)
        if not first.endswith(":"):
            here = f"{path}{os.sep}" in line
        elif here and first == "Rss:":
            seen += int(rest[0]) << 10
        elif here and first == "Pss:":
            share += int(rest[0]) << 10
    return seen, share


def _memory(pid: int) -> int:
    """The share of a process in all memory, its own and what it has in common with others, in bytes."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
