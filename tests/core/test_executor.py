"""Work in pieces on this machine: answers, order, priorities, failures, and texts of --on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pieces_of_tests as work
import pytest

from kibitz.core import ray_pool, store
from kibitz.core.artefacts import Absent, SharedArtefact, brought_by, files_of, located
from kibitz.core.errors import ArtefactError, GameError, MissingExtra, SolverError, SpecError
from kibitz.core.executor import current, executing, executor_of
from kibitz.core.pieces import Piece, Remaining
from kibitz.core.pools import LocalPool
from kibitz.core.resources import CORES, ON, cores


@pytest.mark.parametrize("apart", ["threads", "processes", "cores"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_piece_is_done_once_and_has_its_number(apart, jobs):
    heard = []
    pieces = [Piece((x,), cost=x) for x in range(7)]
    answers = list(LocalPool(jobs).map(work.square, pieces, apart, lambda *told: heard.append(told)))
    assert sorted(answers) == [(x, x * x) for x in range(7)]
    assert [told[:2] for told in heard] == [(k + 1, 7) for k in range(7)]
    assert heard[-1][2] == 0.0


def test_pieces_that_cost_most_come_first():
    pieces = [Piece((x,), cost=[3, 9, 1, 5][x]) for x in range(4)]
    assert [k for k, _ in LocalPool(1).map(work.square, pieces)] == [1, 3, 0, 2]


def test_shared_arguments_come_first():
    array = np.arange(5.0)
    assert dict(LocalPool(2).map(work.total, [Piece((1,)), Piece((2,))], "threads", shared=(array,))) == {
        0: (11.0, True), 1: (12.0, True),
    }  # fmt: skip


@pytest.mark.parametrize("apart", ["threads", "processes"])
def test_an_error_of_a_piece_reaches_the_caller(apart):
    with pytest.raises(GameError, match="3 is refused"):
        list(LocalPool(2).map(work.refuse, [Piece((3,)), Piece((3,))], apart))


def test_closing_the_iterator_leaves_what_has_not_begun():
    begun, lock = [], threading.Lock()

    def note(x):
        with lock:
            begun.append(x)
        return x

    answers = LocalPool(2).map(note, [Piece((x,)) for x in range(1000)], "threads")
    next(answers)
    answers.close()
    assert len(begun) < 20


def test_memory_that_is_not_there_is_refused_before_the_start():
    with pytest.raises(SolverError, match=r"takes 1000000\.00 GB of memory, and .* GB are free"):
        next(LocalPool().map(work.square, [Piece((1,), memory=10**15)]))


def test_pieces_for_a_gpu_follow_one_another():
    pids = {pid for _, (pid, *_) in LocalPool(2).map(work.who, [Piece((x,), gpus=1) for x in range(3)])}
    assert pids == {os.getpid()}


def test_time_left_goes_by_cost():
    left = Remaining([1.0, 3.0])
    left.began -= 2.0
    done, of, seconds = left.add(0)
    assert (done, of) == (1, 2) and seconds == pytest.approx(6.0, rel=0.05)


@pytest.fixture
def on_a_node(monkeypatch):
    """Pieces of a node in this process, which stays as it is."""
    monkeypatch.setenv(CORES, "2")
    for name in ("stay_silent", "brought_by"):
        monkeypatch.setattr(ray_pool, name, lambda *given: None)

    def replies(function, bundle, asked=None):
        return ray_pool.work_out(asked or ray_pool.version(), 1, {}, function, bundle)[1]

    return replies


@pytest.mark.parametrize(
    ("limit", "replies"), [({}, 5), ({"BUNDLE": -1.0}, 1), ({"ANSWERS": 100}, 2), ({"ANSWERS": 0}, 1)]
)
def test_a_node_answers_what_it_has_done_in_time(limit, replies, on_a_node, monkeypatch):
    """A call has many pieces; after a while, or with large answers, the rest of them is left to another call."""
    for name, value in limit.items():
        monkeypatch.setattr(ray_pool, name, value)
    assert [(kind, len(array)) for kind, array in on_a_node(work.large, [(80,)] * 5)] == [("done", 80)] * replies


def test_a_piece_that_fails_ends_its_call(on_a_node):
    assert on_a_node(work.refuse_below, [(3,), (-3,), (4,)]) == [("done", 3), ("refused", "-3 is refused")]
    assert [kind for kind, *_ in on_a_node(work.square, [(3,), (4,)], "kibitz 9.9.9")] == ["other version"]


@pytest.mark.parametrize("text", ["local:0", "local:", "local:x", "here", "", "spark://a:1", "local:99999"])
def test_other_texts_are_refused(text):
    with pytest.raises(SpecError, match="choose local, local:N, ray"):
        executor_of(text)


def test_the_innermost_executor_is_in_force(monkeypatch):
    monkeypatch.delenv(ON, raising=False)
    monkeypatch.delenv(CORES, raising=False)
    before = cores()
    assert current().name == "local"
    with executing("local:1") as outer:
        assert current() is outer and cores() == 1
        with executing() as same:
            assert same is outer
        with executing(LocalPool(2)) as inner:
            assert current() is inner
    assert cores() == before and CORES not in os.environ


def test_the_environment_is_the_default(monkeypatch):
    monkeypatch.setenv(ON, "local:2")
    assert current().name == "local:2"
    monkeypatch.setenv(ON, "nonsense")
    with pytest.raises(SpecError, match="--on nonsense"):
        current()
    monkeypatch.delenv(ON)
    assert current().name == "local"


def test_processes_do_their_own_work(monkeypatch):
    monkeypatch.setenv(ON, "local:2")
    assert {on for _, (_, _, on, _) in LocalPool(2).map(work.who, [Piece((1,)), Piece((2,))])} == {None}


def test_ray_is_not_imported_without_being_asked_for():
    code = "import sys, kibitz.core.executor as e; e.current(); assert not {'ray', 'numba'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env={k: v for k, v in os.environ.items() if k != ON})


def test_without_ray_the_sentence_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"kibitz\[ray\]"):
        executor_of("ray")


# Artefacts


def test_an_artefact_that_is_not_seen_is_brought_once(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    store.save(tmp_path / "a", "profile", {"x": np.arange(10.0), "none": np.zeros(0)}, {"n": 1})
    named = LocalPool().artefact(tmp_path / "a")
    assert located(named) == tmp_path / "a"
    hidden = SharedArtefact("/nowhere/a", named.sha256)
    brought_by(lambda sha256: None)
    with pytest.raises(Absent, match=named.sha256):
        located(hidden)
    asked = []

    def bring(sha256):
        asked.append(sha256)
        return files_of(tmp_path / "a")

    brought_by(bring)
    copy = located(hidden)
    assert copy == tmp_path / "cache" / "artefacts" / named.sha256 and located(hidden) == copy
    assert asked == [named.sha256]
    assert store.load(copy, "profile").arrays["x"].tolist() == list(range(10))
    (copy / "manifest.json").write_text("{}")  # damaged: brought again
    assert located(hidden) == copy and len(asked) == 2


def test_a_path_with_another_artefact_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    store.save(tmp_path / "a", "profile", {"x": np.arange(3.0)}, {})
    named = LocalPool().artefact(tmp_path / "a")
    kept = {name: np.array(of) for name, of in files_of(tmp_path / "a").items()}
    store.save(tmp_path / "a", "profile", {"x": np.arange(4.0)}, {})
    brought_by(lambda sha256: kept)
    assert located(named) != tmp_path / "a" and len(store.load(located(named)).arrays["x"]) == 3


def test_files_with_a_path_in_their_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))
    brought_by(lambda sha256: {"../evil": np.zeros(1, np.uint8)})
    with pytest.raises(ArtefactError, match="not a file of an artefact"):
        located(SharedArtefact("/nowhere", "0" * 64))
    with pytest.raises(ArtefactError, match="no saved artefact"):
        LocalPool().artefact(tmp_path / "missing")
