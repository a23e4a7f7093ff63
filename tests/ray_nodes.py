"""A Ray cluster of three nodes, which are processes of this machine, for tests."""

from __future__ import annotations

import logging
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STORE = 100 << 20  # bytes of a node's object store


@contextmanager
def cluster_of(nodes: int = 3, **options: Any) -> Iterator[Any]:
    """Nodes with a core each. Workers import kibitz and helpers of tests from where this process has them."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    logging.getLogger("ray").setLevel(logging.ERROR)
    before = dict(os.environ)
    paths = [str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
    os.environ |= {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "RAY_USAGE_STATS_ENABLED": "0"}
    node = {"num_cpus": 1, "object_store_memory": STORE, **options}
    cluster = started(lambda: Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False}))
    try:
        for _ in range(nodes - 1):
            started(lambda: cluster.add_node(**node))
        yield cluster
    finally:
        cluster.shutdown()
        os.environ.clear()
        os.environ.update(before)


def started(start: Any, times: int = 5) -> Any:
    """What is started, or started again: Ray gives a node up that is not there after half a minute, as happens on a
    machine with much else to do."""
    for left in reversed(range(times)):
        try:
            return start()
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise
    raise AssertionError("unreachable")


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Any]:
    """An executor on three nodes."""
    from kibitz.core.executor import executor_of

    with cluster_of() as cluster:
        pool = executor_of(cluster.address)
        yield pool
        pool.close()


def workers_of(address: str) -> list[int]:
    """Processes of a cluster that work on a piece now: children of its raylets."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError, IndexError):
            if path.read_bytes().startswith(b"ray::work_out"):
                parent = path.with_name("stat").read_text().rpartition(")")[2].split()[1]
                if address.encode() in Path(f"/proc/{parent}/cmdline").read_bytes():
                    found.append(int(path.parent.name))
    return found


@contextmanager
def kills(address: str, times: int = 10, apart: float = 0.1) -> Iterator[list[int]]:
    """Meanwhile workers that are at a piece are killed at random moments, up to `apart` seconds one after the other;
    gives the list of those that were."""
    draw, killed, stop = random.Random(1), list[int](), threading.Event()

    def work() -> None:
        while len(killed) < times and not stop.wait(draw.uniform(0.0, apart)):
            found = [pid for pid in workers_of(address) if pid not in killed]  # one takes a moment to end
            for pid in draw.sample(found, min(1, len(found))):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    killer = threading.Thread(target=work)
    killer.start()
    try:
        yield killed
    finally:
        stop.set()
        killer.join()


def until(true: Any, seconds: float = 30.0) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
