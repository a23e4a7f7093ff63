"""Work in pieces on a real Ray with several nodes, which are processes of this machine."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pieces_of_tests as work
import pytest
from ray_nodes import HERE, cluster_of, started, three_nodes

ray = pytest.importorskip("ray")
__all__ = ["three_nodes"]

import kibitz  # noqa: E402
from kibitz.cards import recipes, tables  # noqa: E402
from kibitz.core import ray_pool, store  # noqa: E402
from kibitz.core.artefacts import SharedArtefact  # noqa: E402
from kibitz.core.errors import SolverError  # noqa: E402
from kibitz.core.executor import executing, executor_of  # noqa: E402
from kibitz.core.pieces import Piece  # noqa: E402

# A cluster of its own for each: they come before the one that other tests share


def test_a_cluster_that_is_not_there_is_a_sentence():
    with pytest.raises(SolverError, match="there is no Ray cluster to work on"):
        executor_of("127.0.0.1:1")


@pytest.mark.slow
def test_pieces_of_a_node_share_one_copy(tmp_path):
    """Eight at once, on a node that does not see the path: the artefact is in memory once."""
    store.save(tmp_path / "base", "profile", {"x": np.ones(4_000_000)}, {})
    with cluster_of(1, num_cpus=8) as cluster, executing(cluster.address) as pool:
        hidden = SharedArtefact("/nowhere", pool.artefact(tmp_path / "base").sha256)
        list(pool.map(work.mapped, [Piece((hidden, 0.0)) for _ in range(16)]))  # workers are started
        answers = [answer for _, answer in pool.map(work.mapped, [Piece((hidden, 10.0)) for _ in range(8)])]
    assert {total for total, *_ in answers} == {4e6} and len({pid for _, pid, *_ in answers}) == 8
    assert all(resident > 31e6 for *_, resident, _ in answers)
    assert sum(share for *_, share in answers) < 2 * 32e6  # eight copies are 256e6; they do not look at one moment


def test_a_table_is_not_begun_where_its_memory_is_not_free(tmp_path, monkeypatch):
    """A node with a core and little memory: refused with sizes, before anything is sent."""
    monkeypatch.setattr(tables, "home", lambda: tmp_path)
    with cluster_of(1, num_cpus=2, memory=60 << 20) as cluster, executing(cluster.address) as pool:
        with pytest.raises(SolverError, match=r"needs 1 core, 0\.\d+ GB of memory, and no node has that at once; the "
                                              r"most of any node are 2 cores, 0\.06 GB of memory"):  # fmt: skip
            tables.build(recipes.recipe("turn-histogram-50"), tell=lambda *told: None)
        # Two that fit one by one do not run side by side there.
        began, half = time.monotonic(), Piece((3, 1.0), memory=40 << 20)
        assert sorted(pool.map(work.slow_square, [half, half])) == [(0, 9), (1, 9)]
        assert time.monotonic() - began > 2.0


@pytest.mark.slow
def test_a_node_with_another_version_is_refused(tmp_path, monkeypatch):
    """Two copies of kibitz: the first node has one that says it is version 9.9.9, the second has ours."""
    source, other = Path(kibitz.__file__).parent, tmp_path / "other"
    shutil.copytree(source, other / "kibitz", ignore=shutil.ignore_patterns("__pycache__"))
    init = other / "kibitz" / "__init__.py"
    init.write_text(init.read_text().replace(f'"{kibitz.__version__}"', '"9.9.9"'))
    monkeypatch.chdir(tmp_path)  # Ray's workers import from the folder of whoever sends pieces
    with cluster_of(1, num_cpus=0) as cluster:
        for folder in (other, source.parent):
            monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(folder), str(HERE))))
            node = started(lambda: cluster.add_node(num_cpus=1, object_store_memory=100 << 20))
            cluster.wait_for_nodes()
            with executing(cluster.address) as pool:
                if folder == other:
                    with pytest.raises(SolverError) as refused:
                        list(pool.map(work.square, [Piece((3,))]))
                else:
                    assert list(pool.map(work.square, [Piece((3,))])) == [(0, 9)]
            cluster.remove_node(node)
    said = str(refused.value)
    assert "has kibitz 9.9.9 (sources " in said and f"and this machine kibitz {kibitz.__version__} (" in said
    assert said.endswith("install the same on all nodes")


@pytest.mark.slow
def test_pieces_for_a_gpu_go_where_one_is(monkeypatch):
    """Nodes that say they have GPUs: none on the first, two on the second. Nobody uses them here."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with cluster_of(1, num_cpus=2, num_gpus=0) as cluster, executing(cluster.address) as pool:
        with pytest.raises(SolverError, match=r"needs 1 core, 1 GPU, and no node has that at once; .* are 2 cores, \d"):
            list(pool.map(work.which_node, [Piece((0,), gpus=1)]))
        with_gpus = started(lambda: cluster.add_node(num_cpus=2, num_gpus=2, object_store_memory=100 << 20))
        cluster.wait_for_nodes()
        placed = [answer for _, answer in pool.map(work.which_node, [Piece((k,), gpus=1) for k in range(6)])]
        assert {node for node, _ in placed} == {with_gpus.node_id}
        assert {gpus for _, gpus in placed} <= {"0", "1"}  # one of them each
        ((_, (node, gpus)),) = pool.map(work.which_node, [Piece((0,), gpus=2)])
        assert node == with_gpus.node_id and sorted(gpus.split(",")) == ["0", "1"]
        halves = [answer for _, answer in pool.map(work.which_node, [Piece((k,), gpus=0.5) for k in range(4)])]
        assert {node for node, _ in halves} == {with_gpus.node_id} and {gpus for _, gpus in halves} <= {"0", "1"}
        with pytest.raises(SolverError, match=r"needs 1 core, 3 GPUs, and no node has that .* 2 GPUs"):
            list(pool.map(work.which_node, [Piece((0,), gpus=3)]))
        plain = [answer for _, answer in pool.map(work.which_node, [Piece((k,)) for k in range(6)])]
        assert {gpus for _, gpus in plain} <= {None, ""}


@pytest.mark.slow
def test_a_store_and_a_disk_that_are_full():
    """A real one: a disk that Ray takes for full, and more than memory holds."""
    full = {"_system_config": {"local_fs_capacity_threshold": 0.0}}
    with (
        cluster_of(1, **full) as cluster,
        executing(cluster.address) as pool,
        pytest.raises(SolverError, match="object store is full, in memory and on disk"),
    ):
        list(pool.map(work.total, [Piece((1,))], shared=(np.ones(40_000_000),)))


@pytest.mark.slow
def test_a_ray_of_our_own(tmp_path, monkeypatch):
    """Its workers write tables into the memory of this process."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE.parent, HERE))))
    monkeypatch.setattr(tables, "home", lambda: tmp_path)
    with executing("ray") as pool:
        assert not ray.is_initialized()  # it is started for the first piece
        assert sorted(pool.map(work.square, [Piece((x,)) for x in range(5)])) == [(x, x * x) for x in range(5)]
        assert tables.build(work.rows_table(12), tell=lambda *told: None)
    rows = tables.whole(work.rows_table(12))
    assert rows["row"].tolist() == [[k + 1] * 10 for k in range(12)]
    assert rows["writer"].all() and os.getpid() not in rows["writer"]
    assert not ray.is_initialized()


@pytest.fixture(scope="module")
def pool(three_nodes):
    with executing(three_nodes) as executor:
        yield executor


def test_every_piece_is_done_once_on_some_node(pool):
    heard = []
    pieces = [Piece((x,), cost=x) for x in range(30)]
    answers = list(pool.map(work.square, pieces, on_progress=lambda *told: heard.append(told)))
    assert sorted(answers) == [(x, x * x) for x in range(30)]
    assert heard[-1][:2] == (30, 30)


def test_short_pieces_go_together(pool, monkeypatch):
    """In fewer calls, with the same answers; a failure among them is that of its piece."""
    calls, submit = [], pool._submit
    monkeypatch.setattr(pool, "bundle", 1e9)
    monkeypatch.setattr(pool, "_submit", lambda f, bundle, sent: calls.append(len(bundle)) or submit(f, bundle, sent))
    assert sorted(pool.map(work.square, [Piece((x,)) for x in range(400)])) == [(x, x * x) for x in range(400)]
    assert sum(calls) >= 400 > 2 * len(calls) and calls[-1] == 1
    with pytest.raises(SolverError, match=r"^-3 is refused$"):
        list(pool.map(work.refuse_below, [Piece((400 - x - 4,)) for x in range(400)]))
    monkeypatch.setattr(pool, "bundle", 0.0)
    calls.clear()
    assert len(list(pool.map(work.square, [Piece((x,)) for x in range(50)]))) == 50 and calls == [1] * 50


def test_a_piece_has_the_cores_that_it_asked_for(pool):
    found = [who for _, who in pool.map(work.who, [Piece((x,)) for x in range(6)])]
    assert {(share, on) for _, share, on, _ in found} == {("1", None)}
    assert os.getpid() not in {pid for pid, *_ in found}  # one worker may be quick enough for all of them


def test_a_shared_array_is_not_copied(pool):
    array = np.ones(1_000_000)
    answers = dict(pool.map(work.total, [Piece((x,)) for x in range(4)], shared=(array,)))
    assert answers == {x: (1e6 + x, False) for x in range(4)}


def test_workers_that_are_killed_are_replaced(pool, tmp_path):
    pieces = [Piece((str(tmp_path), x)) for x in range(5)]
    assert sorted(pool.map(work.dies_once, pieces)) == [(x, x * x) for x in range(5)]


def test_refusals_and_failures_are_sentences(pool, tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    with pytest.raises(SolverError, match=r"^7 is refused$"):
        list(pool.map(work.refuse, [Piece((7,))]))
    with pytest.raises(SolverError, match=r"failed on node .*: RuntimeError: 7 failed \(more in ") as caught:
        list(pool.map(work.fail, [Piece((7,))]))
    assert "Traceback" in Path(str(caught.value).rsplit("more in ", 1)[1].rstrip(")")).read_text()
    with pytest.raises(SolverError, match="not a function of a module"):
        list(pool.map(lambda x: x, [Piece((7,))]))


def test_what_no_node_has_is_refused_before_the_start(pool):
    for piece, words in (
        (Piece((1,), memory=10**15), "1 core, 1000000.00 GB of memory"),
        (Piece((1,), gpus=8), "1 core, 8 GPUs"),
        (Piece((1,), cores=999), "999 cores"),
    ):
        with pytest.raises(SolverError, match=f"needs {words}, and no node has that at once"):
            list(pool.map(work.square, [piece]))


def test_another_version_on_a_node_is_refused(pool, monkeypatch):
    monkeypatch.setattr(ray_pool, "version", lambda: "kibitz 9.9.9")
    with pytest.raises(SolverError, match=r"has kibitz 0.*and this machine kibitz 9\.9\.9.*install the same"):
        list(pool.map(work.square, [Piece((1,))]))


def test_closing_the_iterator_cancels(pool):
    answers = pool.map(work.slow_square, [Piece((x, 0.0 if x == 0 else 900.0), cost=-x) for x in range(5)])
    began = time.monotonic()
    assert next(answers) == (0, 0)
    answers.close()
    assert list(pool.map(work.square, [Piece((5,))])) == [(0, 25)]  # cores are free again
    assert time.monotonic() - began < 600  # on any machine, however busy; without cancelling it takes 900


def test_artefacts_go_to_nodes_that_do_not_see_them(pool, tmp_path):
    store.save(tmp_path / "a", "profile", {"x": np.arange(1000.0)}, {})
    named = pool.artefact(tmp_path / "a")
    assert {where for _, (where, _) in pool.map(work.read, [Piece((named,))])} == {str(tmp_path / "a")}
    hidden = SharedArtefact("/nowhere", named.sha256)
    found = [answer for _, answer in pool.map(work.read, [Piece((hidden,)) for _ in range(6)])]
    assert {total for _, total in found} == {499500.0}
    (where,) = {where for where, _ in found}  # one copy, of all workers of a node
    assert where.endswith(f"artefacts/{named.sha256}")


def test_a_full_store_is_a_sentence(pool, monkeypatch):
    def full(value):
        raise ray.exceptions.ObjectStoreFullError("full")

    monkeypatch.setattr(pool._ray, "put", full)
    with pytest.raises(SolverError, match="object store is full"):
        list(pool.map(work.total, [Piece((1,))], shared=(np.zeros(3),)))
