"""The runs of an experiment: plain functions over plain arguments, in parallel, with saved results.

A run is a function of a module and the arguments of its calls; one call is a piece of work. What a piece answers is
plain data (numbers, texts, lists and dicts with texts as keys), so it can be written down. With a shelf, pieces that
were done before are read instead of done again: a report that was stopped goes on where it was, and one with more
starts adds only those.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

import kibitz
from kibitz.core import store
from kibitz.core.errors import ArtefactError
from kibitz.core.executor import current
from kibitz.core.pieces import Piece
from kibitz.core.pools import LocalPool, Stopped, go_on

__all__ = ["Answers", "OnProgress", "Run", "Shelf", "Stopped", "carry_out", "go_on", "shared"]

T = TypeVar("T")
OnProgress: TypeAlias = Callable[[str, int, int], None]  # a run, how many pieces are done, of how many
Answers: TypeAlias = Mapping[str, list[Any]]  # by the name of a run, in the order of its pieces
# Sources that only print, or read what runs have answered: folders, and the pages of papers whose runs are elsewhere.
PRINTING = (
    "bench/", "cli/", "web/",
    *(f"report/{name}.py" for name in ("charts", "curves", "hands", "heat", "plot", "strategy", "tables", "text")),
    *(f"papers/gibson2011{name}.py" for name in ("", "_sampled", "_holdem", "_three_page")),
    *(f"papers/auto_stitching{name}.py" for name in ("", "_sheets")),
    *(f"papers/auto_stitching_{name}_page.py" for name in ("holdem", "rhode", "three", "why")),
    "papers/holdem_page.py", "papers/waugh2009_holdem.py",
)  # fmt: skip
LARGEST = 1 << 26  # bytes of an answer on a shelf


@dataclass(frozen=True)
class Run:
    """Pieces of work of one kind.

    apart: how pieces go side by side. Threads are for work that is mostly compiled, processes for work that is mostly
    Python's, and cores for work with threads of its own: processes that have an equal share of the cores each, and one
    thread for the machine's BLAS, as its threads wait for each other where cores are busy. What takes all cores, or is
    timed, is done alone.

    prepares: its work leaves something on this machine, such as a strategy that later pieces play. What a ledger knows
    of it is not enough (`ledger.go_through`).
    """

    name: str
    work: Callable[..., Any]
    pieces: Sequence[tuple[Any, ...]] = ((),)
    apart: Literal["alone", "threads", "processes", "cores"] = "alone"
    prepares: bool = False
    reads: type | None = None  # the dataclass that pieces answer with, if it is one: answers are given as such

    def read(self, answer: Any) -> Any:
        """An answer as the experiment wants it, or a list of such. Lists in fields of a dataclass become tuples."""
        if self.reads is None or answer is None:
            return answer
        if isinstance(answer, list):
            return [self.read(each) for each in answer]
        return self.reads(**{name: tuple(x) if isinstance(x, list) else x for name, x in answer.items()})


class Shelf:
    """A folder with the answers of pieces. What another version of the program made, or is damaged, is not used.

    folder: None stores nothing; again: nothing is read, everything is computed again; others: a folder with answers of
    another machine or version, which are used where this one has none.
    """

    def __init__(self, folder: Path | None = None, again: bool = False, others: Path | None = None) -> None:
        self.folder, self.again, self.other_runs = folder, again, others
        self.read = self.done = 0  # pieces that were there, and pieces that were not
        self.elsewhere = 0  # of those that were there: made by another version
        self.seconds = 0.0  # that those which were there once took
        self.trouble = ""  # why nothing is kept any more

    def find(self, run: Run, piece: tuple[Any, ...]) -> list[Any]:
        """[the answer], or nothing."""
        if self.again:
            return []
        for folder in (self.folder, self.other_runs):
            if folder is None:
                continue
            head = _head(run, piece)
            try:
                saved = json.loads(store.read_bytes(_place(folder, head), LARGEST))
                answer, seconds = saved["answer"], float(saved["seconds"])
                by = saved["made_by"] if folder is self.other_runs else head["made_by"]
                if saved["seal"] != _seal({**head, "made_by": by}, answer, seconds) or not 0 <= seconds < math.inf:
                    continue
                run.read(answer)  # another version may have answered with other fields
            except (ArtefactError, OSError, ArithmeticError, ValueError, LookupError, TypeError, AttributeError,
                    RecursionError):  # fmt: skip
                continue
            self.read += 1
            self.elsewhere += by != head["made_by"]
            self.seconds += seconds
            return [answer]
        return []

    def keep(self, run: Run, piece: tuple[Any, ...], answer: Any, seconds: float) -> None:
        """Save a result. If the folder cannot be written, the run continues without saving."""
        self.done += 1
        if self.folder is None or self.trouble:
            return
        head = _head(run, piece)
        saved = {**head, "seconds": seconds, "answer": answer, "seal": _seal(head, answer, seconds)}
        try:
            store.write_text(_place(self.folder, head), json.dumps(saved) + "\n")
        except (ArtefactError, OSError) as error:
            self.trouble = f"results of runs cannot be saved: {error}"


def _place(folder: Path, head: Mapping[str, Any]) -> Path:
    named = json.dumps([head["work"], head["arguments"]])
    return folder / f"{hashlib.sha256(named.encode()).hexdigest()[:24]}.json"


def _head(run: Run, piece: tuple[Any, ...]) -> dict[str, Any]:
    return {"work": f"{run.work.__module__}.{run.work.__qualname__}", "arguments": plain(piece), "made_by": made_by()}


def _seal(*what: Any) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def version_of(package: str) -> str:
    """The version of a package; empty where there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


@cache
def made_by() -> str:
    """A digest of all that answers depend on: the sources but for those that only print, and the libraries."""
    home = Path(kibitz.__file__).parent
    content = hashlib.sha256(" ".join(version_of(name) for name in ("numpy", "numba", "scipy")).encode())
    for path in sorted(home.rglob("*.py")):
        where = path.relative_to(home).as_posix()
        if not where.startswith(PRINTING):
            content.update(f"{where}\0".encode() + path.read_bytes())
    return content.hexdigest()


def plain(answer: Any) -> Any:
    """An answer as it comes back from a shelf, so that it is the same whether it was read or worked out."""
    return json.loads(json.dumps(answer, default=_listed))


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is not plain data")


# Doing them


def carry_out(
    runs: Sequence[Run], jobs: int | None = None, on_progress: OnProgress | None = None, shelf: Shelf | None = None
) -> dict[str, list[Any]]:
    """The answers of all runs. jobs: pieces side by side on this machine; default: as `executing` says, a core each."""
    shelf, on_progress = shelf or Shelf(), on_progress or (lambda what, done, of: None)
    assert len({run.name for run in runs}) == len(runs)
    answers: dict[str, list[Any]] = {}
    for run in runs:
        pieces = [shelf.find(run, piece) for piece in run.pieces]
        missing = [k for k, answer in enumerate(pieces) if not answer]
        done, of, mark = len(pieces) - len(missing), len(pieces), time.perf_counter()
        on_progress(run.name, done, of)
        for k, answer in _worked(run, missing, jobs):
            pieces[k] = [plain(answer)]
            now = time.perf_counter()
            shelf.keep(run, run.pieces[k], pieces[k][0], now - mark)  # of what they took together, each has its share
            done, mark = done + 1, now
            on_progress(run.name, done, of)
        answers[run.name] = [run.read(answer) for (answer,) in pieces]
    return answers


def _worked(run: Run, missing: Sequence[int], jobs: int | None) -> Iterator[tuple[int, Any]]:
    """(number, answer) of pieces as they are done: on the executor in force, or on this machine if jobs are given."""
    if run.apart == "alone":
        for k in missing:
            yield k, run.work(*run.pieces[k])
        return
    executor = current() if jobs is None else LocalPool(jobs)
    for number, answer in executor.map(run.work, [Piece(run.pieces[k]) for k in missing], run.apart):
        yield missing[number], answer


def shared(make: Callable[..., T]) -> Callable[..., T]:
    """What the pieces of a run share, such as a game that is laid out: the last one made is kept, for its arguments.

    One thread makes it and the others wait. The one before is dropped first: two large games need not fit into memory.
    """
    lock, last = threading.Lock(), dict[tuple[Any, ...], T]()

    def shared_one(*arguments: Any) -> T:
        with lock:
            if arguments not in last:
                last.clear()
                last[arguments] = make(*arguments)
            return last[arguments]

    return shared_one
