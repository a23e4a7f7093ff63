"""Pieces of work on this machine: in threads, or in processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures import Executor as Pool
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from typing import Any

from kibitz.core.artefacts import SharedArtefact, shared_artefact
from kibitz.core.errors import SolverError
from kibitz.core.pieces import Apart, OnPieces, Piece, Remaining, by_cost
from kibitz.core.progress import stay_silent
from kibitz.core.resources import CORES, ON, cores, free_memory

BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 2  # pieces that are begun or wait, for each that can be done at once: answers that nobody has read take memory


class LocalPool:
    """The cores of this machine. jobs: pieces side by side; default: a core each."""

    elsewhere = False

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None and jobs < 1:
            raise SolverError(f"jobs={jobs} must be 1 or more")
        self.name, self.jobs = "local" if jobs is None else f"local:{jobs}", jobs

    def map(
        self, function: Callable[..., Any], pieces: Sequence[Piece], apart: Apart = "processes",
        on_progress: OnPieces | None = None, shared: tuple[Any, ...] = (),
    ) -> Iterator[tuple[int, Any]]:  # fmt: skip
        """(number, answer) of pieces as they are done. One piece after the other is done in this thread, where Ctrl-C
        ends it at once."""
        jobs, order = self._side_by_side(pieces), by_cost(pieces)
        if apart == "cores" and pieces:
            answers = _sharing(function, pieces, order, jobs, shared)
        elif jobs <= 1:
            answers = ((k, function(*shared, *pieces[k].arguments)) for k in order)
        elif apart == "threads":
            answers = _in_threads(function, pieces, order, jobs, shared)
        else:
            answers = _in_processes(function, pieces, order, jobs, shared)
        left = Remaining([piece.cost for piece in pieces], function.__name__, self.name)
        try:
            for number, answer in answers:
                told = left.add(number)
                yield number, answer
                if on_progress is not None:
                    on_progress(*told)
        finally:
            left.end()
            answers.close()

    def _side_by_side(self, pieces: Sequence[Piece]) -> int:
        """Pieces that run at once: as many as there are cores, and no more than memory and GPUs allow."""
        jobs = min(self.jobs or cores(), len(pieces))
        most = max((piece.memory for piece in pieces), default=0)
        if most:
            free = free_memory()
            if most > free:
                raise SolverError(
                    f"a piece of this work takes {most / 1e9:.2f} GB of memory, and {free / 1e9:.2f} GB are free: "
                    "close other programs, or use a larger machine (--on)"
                )
            jobs = min(jobs, free // most)
        return min(jobs, 1) if any(piece.gpus for piece in pieces) else jobs

    def artefact(self, path: str | os.PathLike[str]) -> SharedArtefact:
        """The name of a saved artefact in the arguments of pieces."""
        return shared_artefact(path)

    def close(self) -> None:
        """Pools end with the map that they were made for."""


class Stopped(Exception):
    """The work was given up."""


_stop = threading.local()


def go_on() -> None:
    """Pieces in threads call this now and then: it ends them when the work was given up, or another piece failed."""
    event = getattr(_stop, "event", None)
    if event is not None and event.is_set():
        raise Stopped


def _as_done(
    pool: Pool, function: Callable[..., Any], pieces: Sequence[Piece], order: Sequence[int], most: int,
    shared: tuple[Any, ...],
) -> Iterator[tuple[int, Any]]:  # fmt: skip
    waiting: dict[Future[Any], int] = {}
    left = iter(order)
    while True:
        for k in islice(left, most - len(waiting)):
            waiting[pool.submit(function, *shared, *pieces[k].arguments)] = k
        if not waiting:
            return
        for future in wait(waiting, return_when=FIRST_COMPLETED).done:
            yield waiting.pop(future), future.result()


def _in_threads(
    function: Callable[..., Any], pieces: Sequence[Piece], order: Sequence[int], jobs: int, shared: tuple[Any, ...]
) -> Iterator[tuple[int, Any]]:
    event = threading.Event()

    def begin() -> None:
        _stop.event = event

    with ThreadPoolExecutor(jobs, initializer=begin) as pool:
        try:
            yield from _as_done(pool, function, pieces, order, AHEAD * jobs, shared)
        finally:
            event.set()
            pool.shutdown(cancel_futures=True)


def _in_processes(
    function: Callable[..., Any], pieces: Sequence[Piece], order: Sequence[int], jobs: int, shared: tuple[Any, ...]
) -> Iterator[tuple[int, Any]]:
    """Threads would wait for one another where work is mostly Python's, as laying out games is."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _follow_the_parent)
    try:
        yield from _as_done(pool, function, pieces, order, AHEAD * jobs, shared)
    except BaseException as error:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        if isinstance(error, BrokenProcessPool):
            raise SolverError(
                "a worker process ended early; in a script of your own, call this under "
                "if __name__ == '__main__', or with jobs=1"
            ) from None
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _sharing(
    function: Callable[..., Any], pieces: Sequence[Piece], order: Sequence[int], jobs: int, shared: tuple[Any, ...]
) -> Iterator[tuple[int, Any]]:
    """Processes that share the cores; also for one job, so that results do not depend on how many there are."""
    with _share(jobs):
        yield from _in_processes(function, pieces, order, jobs, shared)


@contextmanager
def _share(jobs: int) -> Iterator[None]:
    """Processes that are begun meanwhile have an equal share of the cores, and one thread for the machine's BLAS."""
    limits = {**dict.fromkeys(BLAS, "1"), CORES: str(max(1, cores() // jobs))}
    before = {name: os.environ.get(name) for name in limits}
    os.environ.update(limits)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _follow_the_parent() -> None:
    """A process for pieces leaves Ctrl-C to its parent, ends when the parent does, however that came, and does its work
    itself."""
    os.environ.pop(ON, None)
    stay_silent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
