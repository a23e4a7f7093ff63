"""Pieces of work on the nodes of a Ray cluster (kibitz[ray]).

Ray places pieces, moves arguments and answers, and does a piece again if its worker or node is lost; a piece that Ray
does twice is counted once, as its answer is taken from one of them. Functions go by the name of their module, so every
node has the same kibitz installed: pieces carry the version of the caller and are refused where another one runs. What
is imported here is loaded when an executor is made, never with kibitz.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import platform
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import kibitz
from kibitz.core.artefacts import Absent, Files, SharedArtefact, brought_by, files_of, shared_artefact
from kibitz.core.errors import KibitzError, MissingExtra, SolverError
from kibitz.core.pieces import Apart, OnPieces, Piece, Remaining, by_cost, size_of
from kibitz.core.progress import stay_silent
from kibitz.core.resources import CORES, ON, cores

RETRIES = 20  # times that a piece is done again because its worker or node was lost
AHEAD = 2  # calls that are begun or wait, for each core of the cluster
BUNDLE = 1.0  # seconds of work in a call: one takes some milliseconds of Ray's processes, however short its pieces are
ANSWERS = 8 << 20  # bytes of answers in a call, about: more of them are not kept in memory to be sent together
PATIENCE = 10.0  # seconds for a cluster to answer
POLL = 2.0  # seconds between looks at how many cores the cluster has
MANY = 64  # pieces under way: with more, all that are ready are taken at one look, as a look goes through all of them
PAUSE = 0.05  # seconds at most between looks at many
# What Ray's processes would write down all the time for a dashboard, which a Ray of our own does not have.
UNREAD = ("RAY_task_events_report_interval_ms", "RAY_enable_metrics_collection", "RAY_event_stats")
LIBRARIES = ("numpy", "numba", "scipy")
DONE, REFUSED, FAILED, ABSENT, OTHER = "done", "refused", "failed", "absent", "other version"


@cache
def version() -> str:
    """What answers depend on: kibitz and its sources, and the libraries that compute."""
    home = Path(kibitz.__file__).parent
    content = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        content.update(f"{path.relative_to(home).as_posix()}\0".encode() + path.read_bytes())
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES)
    return f"kibitz {kibitz.__version__} (sources {content.hexdigest()[:12]}, {libraries})"


def work_out(
    asked: str, share: int, files: dict[str, list[Any]], function: Callable[..., Any], bundle: list[tuple[Any, ...]],
    *shared: Any,
) -> tuple[float, list[tuple[Any, ...]]]:  # fmt: skip
    """Pieces, on a node: the seconds that they took, and a reply each. What is not done within BUNDLE, or after
    one without an answer, has no reply."""
    if version() != asked:
        return 0.0, [(OTHER, platform.node(), version())]
    os.environ.pop(ON, None)  # a piece does its own work
    stay_silent()
    os.environ[CORES] = str(share)
    brought_by(lambda sha256: _fetched(files.get(sha256)))
    began, size, replies = time.monotonic(), 0, list[tuple[Any, ...]]()
    for arguments in bundle:
        replies.append(_worked_out(function, shared, arguments))
        size += size_of(replies[-1])
        if replies[-1][0] != DONE or size > ANSWERS or time.monotonic() > began + BUNDLE:
            break
    return time.monotonic() - began, replies


def _worked_out(function: Callable[..., Any], shared: tuple[Any, ...], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a piece answers is plain: (DONE, answer), or why there is none, with the node's name."""
    node = platform.node()
    try:
        return DONE, function(*shared, *map(_own, arguments))
    except Absent as absent:
        return ABSENT, absent.sha256
    except KibitzError as error:
        return REFUSED, str(error)
    except MemoryError:
        return REFUSED, f"a piece of this work needs more memory than the node {node} has left"
    except Exception as error:
        return FAILED, node, f"{type(error).__name__}: {error}", traceback.format_exc()


def _own(value: Any) -> Any:
    """An argument that a piece may write to: what Ray maps is read-only, and of another type to compiled code."""
    return np.array(value) if isinstance(value, np.ndarray) and not value.flags.writeable else value


def _fetched(refs: list[Any] | None) -> Files | None:
    if not refs:
        return None
    import ray

    files: Files = ray.get(refs[0])
    return files


class RayPool:
    """A Ray cluster; "ray": one of this machine, for as long as this object is open."""

    elsewhere = True
    under_way: int | None = None  # calls at once; None: by the cores of the cluster
    bundle = BUNDLE  # seconds of work that are sent in a call; 0: a piece in each

    def __init__(self, on: str) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtra(f"--on {on} needs Ray: pip install 'kibitz[ray]'") from None
        self.name, self._ray = on, ray
        self.beside = on == "ray"  # all pieces are done on this machine, by other processes
        self._paths: dict[str, str] = {}  # of artefacts, by sha256
        self._sent: dict[str, list[Any]] = {}  # what nodes have asked for: sha256 -> [reference to its files]
        self._mine = not ray.is_initialized()
        self._begun = False
        self._remote = ray.remote(work_out)
        self._remotes: dict[tuple[int, int, float], Any] = {}  # by what a piece needs
        if on != "ray":  # one of our own is started when the first piece comes: that takes seconds
            self._begin(on)

    def _begin(self, on: str) -> None:
        if self._begun or not self._mine:
            return
        # A Ray of our own tells nobody of itself; its lines are for those who look into Ray's logs.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        for setting in UNREAD if on == "ray" else ():
            os.environ.setdefault(setting, "0")
        logging.getLogger("ray").setLevel(logging.ERROR)
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        try:
            if on == "ray":
                self._ray.init("local", num_cpus=cores(), include_dashboard=False, **options)
            else:
                _answers(on)
                self._ray.init(on, **options)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # Ray has many: no such host, another version, no answer in time
            says = " ".join(str(error).split()) or type(error).__name__
            unset = on != "ray" and not os.environ.get("RAY_AUTH_MODE")
            token = " (if it has a token: RAY_AUTH_MODE=token)" * unset
            raise SolverError(f"--on {on}: there is no Ray cluster to work on{token}: {says:.300}") from None
        self._begun = True
        # Ray prints a paragraph, to the output, whenever it does a piece again; its logs have that too.
        inside: Any = getattr(getattr(self._ray, "_private", None), "worker", None)
        if hasattr(inside, "print_to_stdstream"):
            inside.print_to_stdstream = _unheard

    def close(self) -> None:
        """Leave the cluster; one that was started here is stopped."""
        self._sent.clear()
        if self._begun:
            self._ray.shutdown()
            self._begun = False

    def artefact(self, path: str | os.PathLike[str]) -> SharedArtefact:
        """The name of a saved artefact in the arguments of pieces. Nodes that do not see it get it once."""
        named = shared_artefact(path)
        self._paths[named.sha256] = named.path
        return named

    # Pieces

    def map(
        self, function: Callable[..., Any], pieces: Sequence[Piece], apart: Apart = "processes",
        on_progress: OnPieces | None = None, shared: tuple[Any, ...] = (),
    ) -> Iterator[tuple[int, Any]]:  # fmt: skip
        """(number, answer) of pieces as they are done."""
        if "<" in function.__qualname__ or function.__module__ == "__main__":
            raise SolverError(
                f"--on {self.name}: {function.__qualname__} is not a function of a module that nodes have"
            )
        self._begin(self.name)
        self._check_room(pieces)
        left = Remaining([piece.cost for piece in pieces], function.__name__, self.name)
        waiting = dict[Any, list[int]]()
        queue = by_cost(pieces)[::-1]  # the next one last
        each = math.inf  # seconds that a piece takes, of those that came last
        with self._said():
            sent = tuple(self._ray.put(value) for value in shared)
            most, looked = self._width(), time.monotonic()
            try:
                while queue or waiting:
                    while queue and len(waiting) < most:
                        numbers = self._bundled(queue, pieces, each, most)
                        waiting[self._submit(function, [pieces[k] for k in numbers], sent)] = numbers
                    ready = self._ready(list(waiting))
                    if time.monotonic() > looked + POLL:  # nodes come and go
                        most, looked = self._width(), time.monotonic()
                    for reference in ready:
                        (seconds, replies), numbers = self._ray.get(reference), waiting.pop(reference)
                        each = seconds / len(replies)
                        queue += numbers[len(replies) :][::-1]
                        for k, reply in zip(numbers, replies, strict=False):
                            if reply[0] == ABSENT:
                                self._send(reply[1])
                                queue.append(k)
                                continue
                            answer = self._answer(reply)
                            told = left.add(k)
                            yield k, answer
                            if on_progress is not None:
                                on_progress(*told)
            finally:
                left.end()
                for reference in waiting:
                    self._ray.cancel(reference, force=True)

    def _bundled(self, queue: list[int], pieces: Sequence[Piece], each: float, most: int) -> list[int]:
        """Numbers of pieces for one call, taken from the queue: as many as take `bundle` seconds, and not so many that
        others have nothing to do in the end."""
        size = max(1, min(len(queue) // (2 * most), int(self.bundle / max(each, 1e-6))))
        numbers = [queue.pop()]
        while queue and len(numbers) < size and _needs(pieces[queue[-1]]) == _needs(pieces[numbers[0]]):
            numbers.append(queue.pop())
        return numbers

    def _submit(self, function: Callable[..., Any], bundle: list[Piece], shared: tuple[Any, ...]) -> Any:
        piece = bundle[0]
        need = _needs(piece)
        if need not in self._remotes:  # making one takes longer than a call of it
            memory = {"memory": piece.memory} if piece.memory else {}
            options = {"num_cpus": piece.cores, "num_gpus": piece.gpus, "max_retries": RETRIES, **memory}
            self._remotes[need] = self._remote.options(**options)
        arguments = [each.arguments for each in bundle]
        return self._remotes[need].remote(version(), piece.cores, self._sent, function, arguments, *shared)

    def _ready(self, references: list[Any]) -> list[Any]:
        """Some of the pieces that are done; none if that takes long. Of many, those that come within a moment too: at
        most half of the time goes into looks, whatever the number of pieces under way."""
        ready, _ = self._ray.wait(references, num_returns=1, timeout=POLL)
        if not ready or len(references) <= MANY:
            return list(ready)
        began = time.monotonic()
        ready, _ = self._ray.wait(references, num_returns=len(references), timeout=0)
        time.sleep(min(PAUSE, time.monotonic() - began))
        return list(ready)

    def _width(self) -> int:
        """Pieces to have under way: some wait, so that no core does."""
        if self.under_way is not None:
            return self.under_way
        return AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1))) + 1

    def _send(self, sha256: str) -> None:
        """Put the files of an artefact where nodes can fetch them."""
        if sha256 not in self._sent:
            self._sent = {**self._sent, sha256: [self._ray.put(files_of(self._paths[sha256]))]}

    def _answer(self, reply: tuple[Any, ...]) -> Any:
        kind, *rest = reply
        if kind == DONE:
            return rest[0]
        if kind == OTHER:
            raise SolverError(f"--on {self.name}: node {rest[0]} has {rest[1]}, and this machine {version()}: results "
                              "would differ; install the same on all nodes")  # fmt: skip
        if kind == REFUSED:
            raise SolverError(rest[0])
        raise SolverError(f"a piece of the work failed on node {rest[0]}: {rest[1]:.300} (more in {_kept(rest[2])})")

    def _check_room(self, pieces: Sequence[Piece]) -> None:
        """Refuse pieces that no node has the cores, the memory or the GPUs for: Ray would wait for such a node."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        for need in set(map(_needs, pieces)):
            if any(all(node.get(name, 0) >= n for name, n in zip(("CPU", "memory", "GPU"), need, strict=True))
                   for node in nodes):  # fmt: skip
                continue
            largest = [max((node.get(name, 0) for node in nodes), default=0) for name in ("CPU", "memory", "GPU")]
            raise SolverError(
                f"--on {self.name}: a piece of this work needs {_need(*need)}, and no node has that at once; the most "
                f"of any node are {_need(*largest)}"
            )

    @contextmanager
    def _said(self) -> Iterator[None]:
        """What Ray says when something is lost or full, as a sentence."""
        of = self._ray.exceptions
        try:
            yield
        except (of.ObjectStoreFullError, of.OutOfDiskError):
            raise SolverError(f"--on {self.name}: Ray's object store is full, in memory and on disk: start its nodes "
                              "with a larger --object-store-memory, or make room on their disks") from None  # fmt: skip
        except of.OutOfMemoryError:
            raise SolverError(f"--on {self.name}: a node has too little memory for a piece of this work: use larger "
                              "nodes, or start them with fewer --num-cpus") from None  # fmt: skip
        except (of.WorkerCrashedError, of.NodeDiedError, of.ObjectLostError) as error:
            raise SolverError(f"--on {self.name}: a piece lost its worker {RETRIES} times and was given up; Ray says: "
                              f"{' '.join(str(error).split()):.200}") from None  # fmt: skip
        except (of.RayTaskError, ImportError) as error:  # before our code ran: it is not there
            last = str(error).strip().splitlines()[-1]
            raise SolverError(f"--on {self.name}: a node cannot run kibitz; install it there, as on this machine: "
                              f"{last:.200}") from None  # fmt: skip
        except (of.RaySystemError, ConnectionError) as error:
            raise SolverError(f"--on {self.name}: the connection to the cluster is lost; the same command continues "
                              f"from what is saved: {' '.join(str(error).split()):.200}") from None  # fmt: skip


def _answers(on: str) -> None:
    """Raise an OSError where nobody listens: Ray would try for minutes."""
    host, _, port = on.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()


def _unheard(*lines: Any, **options: Any) -> None:
    """Lines that nobody reads."""


def _needs(piece: Piece) -> tuple[int, int, float]:
    return piece.cores, piece.memory, piece.gpus


def _need(count: float, memory: float, gpus: float) -> str:
    parts = [f"{count:g} core{'s' * (count != 1)}"]
    parts += [f"{memory / 1e9:.2f} GB of memory"] * bool(memory) + [f"{gpus:g} GPU{'s' * (gpus != 1)}"] * bool(gpus)
    return ", ".join(parts)


def _kept(text: str) -> Path:
    """Where the whole message of a piece that failed is."""
    from kibitz.core.jit import cache_home

    folder = cache_home() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"piece-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    path.write_text(text)
    return path
