"""What is measured of a cluster, and the arithmetic to a thousand nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from elsewhere import Elsewhere

from kibitz.bench import cluster_page
from kibitz.bench.bench_cluster import ClusterWork, Metered, bench_cluster, processor_seconds, timed
from kibitz.bench.cluster_page import PieceCosts, cluster_markdown, costs_of, overhead, rate_of, share_of, time_on_nodes
from kibitz.core.errors import MissingExtra
from kibitz.core.executor import current
from kibitz.core.pieces import Piece, size_of

RESULT = {
    "machine": {"processor": "one", "ray": "2", "numba": "1", "date": "today"}, "cores": 4, "rounds": 3,
    "start": {"first": 2.0, "all": 3.0},
    "works": {"sweep": {
        "about": "a sweep", "pieces": 100, "bytes_in": 1000, "bytes_out": 200_000,
        "local": {"wall": [10.0, 11.0, 12.0], "processor": [40.0, 41.0, 80.0], "driver": [40.0, 41.0, 80.0]},
        "ray": {"wall": [11.0, 11.55, 12.0], "processor": [41.0, 42.0, 43.0], "driver": [1.0, 2.0, 3.0]},
    }},
    "dispatch": [{"under_way": 8, "pieces": 10, "wall": 0.002, "driver": 0.001},
                 {"under_way": 4000, "pieces": 10, "wall": 0.004, "driver": 0.03}],
    "broadcast": [{"nodes": 1, "bytes": 10**8, "seconds": 1.0}, {"nodes": 4, "bytes": 10**8, "seconds": 2.0}],
    "shared_base": {"game": "a game", "workers": 2, "base": 10**6, "seen": [10**6, 10**6], "share": [500_000, 500_000],
                    "worker": [3 * 10**6, 5 * 10**6]},
    "whole": {"game": "all", "pieces": 1755, "boards": 20_000, "boards_timed": 10, "seconds": 3.51, "base": 10**8},
}  # fmt: skip


def test_figures_of_a_run():
    assert overhead(RESULT["works"]["sweep"], "wall") == pytest.approx(0.05)
    assert rate_of(RESULT) == 2e8
    assert share_of(RESULT) == pytest.approx((40 + 41 + 80) / (4 * (10 + 11 + 12)))
    sweep, whole = costs_of(RESULT)
    assert sweep == PieceCosts("sweep", 100, pytest.approx(0.4), pytest.approx(0.02))
    assert whole.seconds == pytest.approx(3.51 * 2000 / 1755) and whole.driver == 0.03  # the dearest dispatch
    sent = {**RESULT, "works": {"table": {**RESULT["works"]["sweep"], "sent": 12_345, "put": 0.5}}}
    assert costs_of(sent)[0].driver == pytest.approx(0.52)  # an answer has to be put in, where it is sent
    assert "| 12,345 |" in "\n".join(cluster_markdown(sent))
    page = "\n".join(cluster_markdown(RESULT))
    assert "| sweep | 11.0 | 11.6 | +5.0% | 41.0 | 42.0 | +2.4% |" in page and "1,000" in page
    assert "| 2 | 1.0 | 2.0 | 1.0 | 4.0 |" in page


def test_what_is_waited_for():
    of = PieceCosts("x", 1000, 2.0, 0.001, 10**6)
    assert time_on_nodes(of, 1, 10, 1e8) == (pytest.approx(200.01), "work")
    assert time_on_nodes(of, 1000, 10, 1e8) == (pytest.approx(10.0), "the base")
    assert time_on_nodes(of._replace(base=0), 1000, 10, 1e8) == (2.0, "a piece")
    assert time_on_nodes(of._replace(base=0, driver=0.01), 1000, 10, 1e8) == (10.0, "the command")


def test_processor_time_counts_processes_below():
    work = "import time\nwhile time.process_time() < 0.3: pass"
    before, mine = processor_seconds(), time.process_time()
    subprocess.run([sys.executable, "-c", work], check=True)
    assert processor_seconds() - before > 0.25 > time.process_time() - mine
    child = subprocess.Popen([sys.executable, "-c", f"{work}\ntime.sleep(60)"])  # one that is still there
    try:
        end = time.monotonic() + 30
        while processor_seconds() - before < 0.5 and time.monotonic() < end:
            time.sleep(0.05)
        assert processor_seconds() - before >= 0.5
    finally:
        child.kill()
        child.wait()


def test_processes_that_wait_are_left_out():
    """Work that is done here does not count a Ray that is there."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        while processor_seconds() < processor_seconds({child.pid}) + 0.3:
            time.sleep(0.05)
        before = processor_seconds({child.pid})
        time.sleep(0.5)
        assert processor_seconds({child.pid}) < before + 0.3  # of this process alone
    finally:
        child.kill()
        child.wait()


def test_pieces_and_bytes_are_counted():
    assert size_of((np.zeros(5, np.int32), {"ab": [1, 2.0]}, b"xyz")) == 20 + 2 + 16 + 3

    def do() -> bytes:
        executor = current()
        assert isinstance(executor, Metered)
        return bytes(answer for _, answer in executor.map(abs, [Piece((-k,)) for k in range(3)]))

    took = timed(Elsewhere(), ClusterWork("abs", "", do))
    assert (took.pieces, took.bytes_in, took.bytes_out) == (3, 24, 24) and len(took.digest) == 64


def test_without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match="needs Ray"):
        bench_cluster(True)


def test_the_page_is_that_of_its_data():
    data = json.loads(cluster_page.DATA.read_text(encoding="utf-8"))
    assert cluster_page.PAGE.read_text(encoding="utf-8") == cluster_page.page()
    for name, work in data["works"].items():
        assert work["pieces"] > 0 and len(work["local"]["wall"]) == len(work["ray"]["wall"]), name


@pytest.mark.slow
def test_a_small_run(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    result = bench_cluster(True, tmp_path / "cluster.json")
    assert json.loads((tmp_path / "cluster.json").read_text())["works"].keys() == result["works"].keys()
    assert {"sweep", "table", "match"} == result["works"].keys() and cluster_markdown(result)
