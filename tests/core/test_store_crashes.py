"""Saving that dies or fails at any step, and readers beside writers: an artefact is old or new, and whole."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_store import leftovers, refused, same

from kibitz.core import store
from kibitz.core.errors import ArtefactError

OLD = {"a": np.arange(100.0), "same": np.arange(5)}
NEW = {"a": np.arange(100.0)[::-1].copy(), "same": np.arange(5), "b": np.ones(3)}


class Dead(BaseException):
    """The process ended here."""


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def crash(monkeypatch: pytest.MonkeyPatch, dead_pid: int) -> Iterator[Callable[..., bool]]:
    """crash(call, k, after): run `call` and end the "process" before or after its k-th step.

    With `error`, the step fails instead (a full disk), and the code after it does run.
    False: there were fewer than k steps.
    """

    def run(call: Callable[[], None], k: int, after: bool = False, error: int = 0) -> bool:
        count, dead = 0, False

        def step(real: Callable[..., Any]) -> Callable[..., Any]:
            def stepped(*args: Any, **named: Any) -> Any:
                nonlocal count, dead
                if dead:
                    return None  # what the except and finally clauses of a dead process would have done
                count += 1
                if count == k and error:
                    raise OSError(error, os.strerror(error))
                mine = count == k
                try:
                    return real(*args, **named) if after or not mine else None
                finally:
                    if mine:
                        dead = True
                        raise Dead

            return stepped

        with monkeypatch.context() as patch:
            for module, name in [
                (os, "replace"),
                (os, "rename"),
                (os, "fsync"),
                (store, "_remove"),
                (os, "mkdir"),
            ]:
                if not (error and name == "_remove"):
                    patch.setattr(module, name, step(getattr(module, name)))
            if not error:
                patch.setattr(os, "getpid", lambda: dead_pid)
            try:
                call()
            except Dead:
                pass
            except ArtefactError:
                assert error
        return count >= k

    yield run


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_death_at_every_step(tmp_path: Path, crash: Callable[..., bool], first: bool, after: bool) -> None:
    seen = []
    for k in range(1, 100):
        path = tmp_path / f"case{k}" / "a"
        path.parent.mkdir()
        if not first:
            store.save(path, "x", OLD, {"v": 1})
        if not crash(lambda path=path: store.save(path, "x", NEW, {"v": 2}), k, after):
            break
        if first and not path.exists():
            seen.append(0)
            refused(lambda path=path: store.load(path), "no saved profile")
        else:
            back = store.load(path, "x")
            assert same(back.arrays, OLD if back.meta["v"] == 1 else NEW)
            seen.append(back.meta["v"])
        store.save(path, "x", OLD, {"v": 3})
        assert same(store.load(path).arrays, OLD) and leftovers(path) == []
    assert len(seen) > 8 and seen == sorted(seen)  # never back from the new to the old
    assert seen[0] == (0 if first else 1) and seen[-1] == 2


@pytest.mark.parametrize("first", [False, True])
def test_failure_at_every_step(tmp_path: Path, crash: Callable[..., bool], first: bool) -> None:
    path = tmp_path / "a"
    for k in range(1, 100):
        if not first:
            store.save(path, "x", OLD, {"v": 1})
        if not crash(lambda: store.save(path, "x", NEW, {"v": 2}), k, error=errno.ENOSPC):
            break
        if first and not path.exists():
            assert os.listdir(tmp_path) == []
            continue
        back = store.load(path)
        assert same(back.arrays, OLD if back.meta["v"] == 1 else NEW)
        if back.meta["v"] == 1 or first:
            assert leftovers(path) == []
        if first:
            path.rename(tmp_path.parent / f"{tmp_path.name}-{k}")
    assert k > 8
    assert store.load(path).meta["v"] == 2 and leftovers(path) == []


def test_failure_is_a_sentence(tmp_path: Path, crash: Callable[..., bool], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    refused(lambda: store.save(tmp_path / "a", "x", OLD, {}), "cannot write", "No space left on device")
    refused(lambda: store.write_text(tmp_path / "t", "x"), "cannot write", "No space left on device")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("after", [False, True])
def test_text_is_old_or_new(tmp_path: Path, crash: Callable[..., bool], after: bool) -> None:
    path = tmp_path / "log.json"
    store.write_text(path, "old")
    k = 1
    while crash(lambda: store.write_text(path, "new"), k, after):
        assert path.read_text() in ("old", "new")
        store.write_text(path, "old")
        assert os.listdir(tmp_path) == ["log.json"]
        k += 1
    assert k > 3 and path.read_text() == "new"
    (tmp_path / "link").symlink_to("log.json")
    store.write_text(tmp_path / "link", "é\n")
    assert (tmp_path / "link").is_symlink() and path.read_bytes() == "é\n".encode()


def test_only_own_leftovers_of_the_dead_are_swept(tmp_path: Path, dead_pid: int) -> None:
    path = tmp_path / "a"
    ours = [f".a.tmp-{dead_pid}-01234567"]
    others = [
        f".a.tmp-{os.getpid()}-01234567",
        f".ab.tmp-{dead_pid}-01234567",
        f".a.tmp-{dead_pid}-xyz",
        ".a.tmp-1-0",
    ]
    others += [".a.tmp-1-01234567", ".a.tmp-99999999999-01234567", ".a.tmp--1-01234567", ".a.tmp-0-01234567"]
    for name in ours + others:
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    (tmp_path / f".a.tmp-{dead_pid}-0000000a").symlink_to(tmp_path / others[0])
    store.save(path, "x", {}, {})
    assert sorted(os.listdir(tmp_path)) == sorted(["a", *others])
    assert all((tmp_path / name / "x").exists() for name in others)


# Real processes


WORKER = """
import os, signal, sys
import numpy as np
from kibitz.core import store
def version(v):
    return {"a": np.full(60_000, float(v)), "b": np.full(100_000, v, np.int32), "n": np.array(v)}
for line in sys.stdin:  # each line: a child that saves until it is killed
    pid = os.fork()
    if not pid:
        signal.alarm(300)  # should nobody be left to kill it
        print(os.getpid(), flush=True)
        while True:
            for v in (1, 2):
                store.save(sys.argv[1], "x", version(v), {"v": v})
    os.waitpid(pid, 0)
    print("ended", flush=True)
"""


def version(v: int) -> dict[str, np.ndarray]:
    return {"a": np.full(60_000, float(v)), "b": np.full(100_000, v, np.int32), "n": np.array(v)}


class Worker:
    """A process whose children save versions 1 and 2 to a path for ever."""

    def __init__(self, path: Path) -> None:
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        root = str(Path(store.__file__).parents[2])
        command = [sys.executable, "-c", WORKER, str(path)]
        self.process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": root}, **pipes)
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.pid = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pid:
            self.kill()
        self.stdin.close()
        assert self.process.wait(30) == 0
        self.stdout.close()

    def start(self) -> None:
        self.stdin.write("go\n")
        self.pid = int(self.stdout.readline())

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.pid = 0
        assert self.stdout.readline() == "ended\n"  # and waited for: a zombie would count as alive


def whole(path: Path, mmap: bool = False) -> int:
    """The version of the artefact that WORKER writes, which must be whole."""
    back = store.load(path, "x", mmap=mmap)
    v = int(back.meta["v"])
    assert same(back.arrays, version(v))
    return v


def test_readers_beside_two_writers(tmp_path: Path) -> None:
    path, seen = tmp_path / "a", [0]
    with Worker(path) as one, Worker(path) as two:
        one.start()
        two.start()
        while len(seen) < 300 or (len(set(seen)) < 3 and len(seen) < 1_000_000):
            if path.exists():
                seen.append(whole(path, mmap=len(seen) % 2 == 0))
    assert set(seen) == {0, 1, 2}
    assert whole(path) in (1, 2)
    store.save(path, "x", {}, {})
    assert leftovers(path) == []


def test_reader_looks_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The artefact is overwritten after the reader has read the manifest."""
    path, real = tmp_path / "a", store._regular
    store.save(path, "x", OLD, {})

    def late(name: str, folder: int | None = None) -> Any:
        if name.startswith("a-"):
            monkeypatch.setattr(store, "_regular", real)
            store.save(path, "x", NEW, {})
        return real(name, folder)

    monkeypatch.setattr(store, "_regular", late)
    assert same(store.load(path).arrays, NEW)
