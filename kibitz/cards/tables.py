"""Tables that are built once and stored in the user's cache: in pieces, on all cores, complete or not at all.

    <cache>/cards/NAME/         an artefact of `store`: manifest.json and flat arrays, mapped into memory when opened
    <cache>/cards/NAME.part/    the pieces of a table that is being made: an artefact too, written every so often
    <cache>/cards/NAME.lock     who makes a table holds it; others wait and then find the table made

The cache is $KIBITZ_CACHE or the user's cache directory (`core/jit.py`, `cache_home`). A process reads a table whole
when it first opens it and compares its sha256 (at more than a gigabyte a second); after that it is a map of the file. A
table that is damaged, or of other shapes than its recipe says, is made anew and never used. A run that is stopped or
killed goes on from its last part. Pieces do not depend on each other, so the bytes are the same for any number of
threads, and on the nodes of a cluster (`kibitz.core.executor`).
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.common_arrays import CommonArrays, NamedMemory, can_be_common, opened_memory
from kibitz.core.errors import ArtefactError
from kibitz.core.executor import current
from kibitz.core.pieces import Executor, Piece
from kibitz.core.resources import cores, free_memory

Array = NDArray[Any]
Arrays = dict[str, Array]
Fill = Callable[[int], Callable[[], None] | None]  # works out one piece; what it returns is done under the lock
Tell = Callable[["Recipe", int, int], None]  # pieces done, and how many there are
# names and arrays of tables, and the lock -> what works out a piece for some of them, and returns their additions
MakeTogether = Callable[
    [list[str], list[Arrays], threading.Lock], Callable[[int, list[int]], list[Callable[[], None]]]
]

KIND, PART = "card-table", "card-table-part"
EVERY = 20.0  # seconds between parts on disk: what a killed process loses
MEMORY_SHARE, DISK_SHARE = 0.8, 0.9  # of what is free
POLL = 0.05  # seconds between looks at the threads
QUICK = 2.0  # seconds of a core: what takes less need not be kept
SAID = 15.0  # seconds of a core: a table that takes less is made without a message


@dataclass(frozen=True)
class NodePieces:
    """How pieces of a table are worked out on other machines: by a function of a module, over plain arguments."""

    work: Callable[..., Any]  # work(*arguments, piece) -> an answer
    arguments: Callable[[Executor], tuple[Any, ...]]  # asked when they are needed: large ones are saved for nodes
    add: Callable[[Arrays, Any], None]  # put an answer into the table
    memory: Callable[[], int] = int  # bytes of a piece, at most, about: it is not begun where they are not free
    gpus: int = 0
    # write(arrays, *arguments, piece): puts a piece into the table, where a node sees the memory of the table. Done
    # again, it writes the same.
    write: Callable[..., None] | None = None


@dataclass(frozen=True)
class Recipe:
    """What a table holds and how it is made. `make(arrays, lock)` returns what fills piece k of `pieces`.

    A piece that other pieces do not touch is written as it is worked out, and nobody works while a part is saved. Where
    pieces are long and only added up (`sums`), what fills one returns the addition, which is done under the lock: then
    parts are saved while others work.
    """

    name: str
    about: str
    version: int  # of the definition: tables of another are made anew
    arrays: Mapping[str, tuple[str, tuple[int, ...]]]  # name -> dtype, shape
    pieces: int
    make: Callable[[Arrays, threading.Lock], Fill]
    work: float = 0.0  # seconds that one core takes, about
    sums: bool = False
    by: str = ""  # the device that makes it, if not the processor
    far: NodePieces | None = None  # None: it is made on this machine

    @property
    def bytes(self) -> int:
        return sum(np.dtype(dtype).itemsize * int(np.prod(shape)) for dtype, shape in self.arrays.values())

    @property
    def meta(self) -> dict[str, Any]:
        return {"table": self.name, "version": self.version}

    def fits(self, arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> bool:
        shapes = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
        return shapes == {name: (np.dtype(d).str, s) for name, (d, s) in self.arrays.items()} and all(
            meta.get(key) == value for key, value in self.meta.items()
        )


def home() -> Path:
    """Where tables lie."""
    from kibitz.core.jit import cache_home

    return cache_home() / "cards"


_open: dict[Path, Arrays] = {}  # tables that this process has read and found whole


def is_open(recipe: Recipe) -> bool:
    return home() / recipe.name in _open


def opened(recipe: Recipe, tell: Tell | None = None) -> Arrays:
    """The arrays of a table, read-only; it is made first if there is none. `tell`: a callback for its progress."""
    path = home() / recipe.name
    if path not in _open:
        arrays = whole(recipe)
        if arrays is None:
            build(recipe, tell=tell)
            arrays = whole(recipe)
            if arrays is None:
                raise ArtefactError(f"{path} is damaged although it was just written: check the disk")
        _open[path] = arrays
    return _open[path]


def looked_up(recipe: Recipe, tell: Tell | None = None) -> Arrays:
    """The arrays of a table; one that is quick to make is worked out now and not kept."""
    if recipe.work >= QUICK:
        return opened(recipe, tell)
    arrays = {name: np.zeros(shape, dtype) for name, (dtype, shape) in recipe.arrays.items()}
    fill = recipe.make(arrays, threading.Lock())
    for piece in range(recipe.pieces):
        add = fill(piece)
        if add is not None:
            add()
    return arrays


def whole(recipe: Recipe) -> Arrays | None:
    """The table on disk, mapped, if it is there and every byte is what was written."""
    try:
        table = store.load(home() / recipe.name, KIND, mmap=True)
    except ArtefactError:
        return None
    return table.arrays if recipe.fits(table.arrays, table.meta) else None


def maker(recipe: Recipe) -> str:
    """Who made a table that is there."""
    return str(store.load(home() / recipe.name, KIND, mmap=True).meta.get("by", ""))


def made_in(recipe: Recipe) -> float | None:
    """Seconds that a table which is there took when it was made; None of one that does not say."""
    seconds = store.load(home() / recipe.name, KIND, mmap=True).meta.get("seconds")
    number = float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else -1.0
    return number if number >= 0.0 else None


def state(recipe: Recipe) -> str:
    """made, damaged, part or missing."""
    path = home() / recipe.name
    if os.path.lexists(path):
        return "made" if whole(recipe) is not None else "damaged"
    return "part" if os.path.lexists(_part_of(path)) else "missing"


# Making


def build(
    recipe: Recipe, threads: int | None = None, tell: Tell | None = None, every: float = EVERY, anew: bool = False
) -> bool:
    """Build a table, or continue where an earlier run stopped. Returns False if it exists already. Ctrl-C stops after
    the current pieces, which are kept. `anew` builds it even if it exists; the old table stays until the new one is
    complete.
    """
    path = home() / recipe.name
    path.parent.mkdir(parents=True, exist_ok=True)
    tell = tell or _teller[0] or _to_stderr
    with store.locked(path.with_name(f"{recipe.name}.lock")):
        good = whole(recipe) is not None
        if good and not anew:
            _remove(_part_of(path))  # of a table that was to be made anew, and is there
            return False
        check_room(recipe)
        common = _common(recipe)
        try:
            arrays, done, spent = _begun(recipe, common)
            spent = _fill(recipe, arrays, done, threads or cores(), tell, every, spent, common)
        finally:
            if common is not None:
                common.close()
        if not good:
            _remove(path)  # damaged, of another version, or not there; a good one is replaced at one moment
        by = {"by": recipe.by} if recipe.by else {}
        store.save(path, KIND, arrays, {**recipe.meta, **by, "seconds": spent})
        _open.pop(path, None)
        _remove(_part_of(path))
    return True


def build_together(
    recipes: Sequence[Recipe], make: MakeTogether, threads: int | None = None, tell: Tell | None = None,
    every: float = EVERY,
) -> None:  # fmt: skip
    """Build several tables of sums that have the same pieces, in one pass over these; each is stored and continued as
    `build` stores and continues it alone. Tables that exist are left as they are. make: instead of that of recipes."""
    home().mkdir(parents=True, exist_ok=True)
    tell = tell or _teller[0] or _to_stderr
    by_name = {recipe.name: recipe for recipe in recipes}
    with contextlib.ExitStack() as locks:
        for name in sorted(by_name):  # in one order everywhere, so that two passes do not wait for each other
            locks.enter_context(store.locked(home() / f"{name}.lock"))
        missing = [recipe for recipe in by_name.values() if whole(recipe) is None]
        if not missing:
            return
        for recipe in missing:
            check_room(recipe)
        begun = [_begun(recipe) for recipe in missing]
        done = np.stack([each[1] for each in begun])  # [tables, pieces]
        lock, began = threading.Lock(), time.perf_counter()
        fill = make([recipe.name for recipe in missing], [each[0] for each in begun], lock)

        def piece(k: int) -> Callable[[], None]:
            wanted = np.flatnonzero(~done[:, k]).tolist()
            additions = fill(k, wanted)

            def add() -> None:
                for each in additions:
                    each()
                done[wanted, k] = True

            return add

        def seconds(number: int) -> float:
            return begun[number][2] + (time.perf_counter() - began) / len(missing)

        def save() -> None:
            for number, recipe in enumerate(missing):
                store.save(_part_of(home() / recipe.name), PART, {**begun[number][0], "done": done[number]},
                           {**recipe.meta, "seconds": seconds(number)})  # fmt: skip

        both = np.asarray(done.all(axis=0))
        if _wave(missing[0], piece, both, threads or cores(), tell, lock, math.inf, (every, save)):
            save()
            raise KeyboardInterrupt
        for number, recipe in enumerate(missing):
            path = home() / recipe.name
            _remove(path)
            by = {"by": recipe.by} if recipe.by else {}
            store.save(path, KIND, begun[number][0], {**recipe.meta, **by, "seconds": seconds(number)})
            _open.pop(path, None)
            _remove(_part_of(path))
        tell(missing[0], missing[0].pieces, missing[0].pieces)


def check_room(recipe: Recipe) -> None:
    """Refuse a table that memory or disk has no room for, before any work is done for it."""
    where = home()
    free = free_memory()
    if recipe.bytes > MEMORY_SHARE * free:
        raise ArtefactError(
            f"the table {recipe.name} takes {recipe.bytes / 1e9:.2f} GB of memory while it is made, and "
            f"{free / 1e9:.2f} GB are free; close other programs, or make it on a larger machine and copy {where}"
        )
    part = sum(file.stat().st_size for file in _part_of(where / recipe.name).glob("*.bin"))
    needed = 2 * recipe.bytes - part  # a new file lies beside the old one until it is whole
    room = shutil.disk_usage(where).free
    if needed > DISK_SHARE * room:
        raise ArtefactError(
            f"the table {recipe.name} needs {needed / 1e9:.2f} GB on disk while it is made, and {where} has "
            f"{room / 1e9:.2f} GB; make room, or set KIBITZ_CACHE to a directory that has it"
        )


def _common(recipe: Recipe) -> CommonArrays | None:
    """Memory for a table that other processes of this machine write to; None: they do not."""
    beside = getattr(current(), "beside", False) and recipe.far is not None and recipe.far.write is not None
    return CommonArrays(recipe.arrays) if beside and can_be_common() else None


def _begun(recipe: Recipe, common: CommonArrays | None = None) -> tuple[Arrays, NDArray[np.bool_], float]:
    """The arrays of a table that was begun, which pieces are done, and the seconds that they took; empty ones if there
    is nothing to continue. common: where the arrays are to lie."""
    with contextlib.suppress(ArtefactError):
        part = store.load(_part_of(home() / recipe.name), PART, mmap=common is not None)
        done = part.arrays.pop("done", np.zeros(0, np.bool_))
        if recipe.fits(part.arrays, part.meta) and done.dtype == np.bool_ and done.shape == (recipe.pieces,):
            spent = part.meta.get("seconds", 0.0)
            arrays = part.arrays
            if common is not None:
                for name, array in common.arrays.items():
                    array[...] = part.arrays[name]
                arrays = common.arrays
            return arrays, done.copy(), float(spent) if isinstance(spent, int | float) else 0.0
    _remove(_part_of(home() / recipe.name))
    zeros = {name: np.zeros(shape, dtype) for name, (dtype, shape) in recipe.arrays.items()} if common is None else {}
    return zeros if common is None else common.arrays, np.zeros(recipe.pieces, np.bool_), 0.0


def _fill(
    recipe: Recipe, arrays: Arrays, done: NDArray[np.bool_], threads: int, tell: Tell, every: float, spent: float,
    common: CommonArrays | None = None,
) -> float:  # fmt: skip
    """Work out all pieces that are not done; returns the seconds of all, those of earlier runs included."""
    lock, began, executor = threading.Lock(), time.perf_counter() - spent, current()
    elsewhere = executor.elsewhere and recipe.far is not None
    piece = _nothing if elsewhere else recipe.make(arrays, lock)

    def save() -> None:
        store.save(_part_of(home() / recipe.name), PART, {**arrays, "done": done},
                   {**recipe.meta, "seconds": time.perf_counter() - began})  # fmt: skip

    while not done.all():
        if elsewhere:
            answers = _from_nodes(recipe, arrays, done, executor, common, every)
            saves = (every, save) if common is None else None  # others write meanwhile
            stopped = _wave(recipe, piece, done, 1, tell, lock, math.inf, saves, answers)
        else:
            until = math.inf if recipe.sums else time.monotonic() + every
            stopped = _wave(recipe, piece, done, threads, tell, lock, until, (every, save) if recipe.sums else None)
        if stopped or not done.all():
            save()
        if stopped:
            raise KeyboardInterrupt
    tell(recipe, recipe.pieces, recipe.pieces)
    return time.perf_counter() - began


def _nothing(piece: int) -> None:
    """Pieces that other machines work out."""


def _from_nodes(
    recipe: Recipe, arrays: Arrays, done: NDArray[np.bool_], executor: Executor, common: CommonArrays | None,
    every: float,
) -> Generator[tuple[int, Callable[[], None]], None, None]:  # fmt: skip
    """(piece, what puts it into the table) as nodes answer. Those that write to common arrays do as much as they do in
    `every` seconds, about."""
    far, left = recipe.far, np.flatnonzero(~done).tolist()
    assert far is not None
    work, same = far.work, far.arguments(executor)
    if common is not None:
        work, same = written, (common.name, far.write, *same)
        left = left[: max(1, int(min(len(left), every * cores() * recipe.pieces / max(recipe.work, 1e-3))))]
    memory = far.memory()
    pieces = [Piece((*same, k), memory=memory, gpus=far.gpus) for k in left]
    for number, answer in executor.map(work, pieces):
        yield left[number], partial(far.add, arrays, answer) if common is None else _added


def written(name: NamedMemory, write: Callable[..., None], *arguments: Any) -> None:
    """A piece that another process of this machine puts into a table."""
    write(opened_memory(name), *arguments)


def _added() -> None:
    """Pieces that are in the table already."""


def _wave(
    recipe: Recipe, piece: Fill, done: NDArray[np.bool_], threads: int, tell: Tell, lock: threading.Lock, until: float,
    saves: tuple[float, Callable[[], None]] | None,
    answers: Generator[tuple[int, Callable[[], None]], None, None] | None = None,
) -> bool:  # fmt: skip
    """Work on pieces until a time; True if Ctrl-C ended it. saves: how often and how a part is written meanwhile;
    answers: of other machines, in place of `piece`."""
    left = iter(np.flatnonzero(~done).tolist())
    stop = threading.Event()
    ended: list[BaseException | None] = []

    def work() -> None:
        failed: BaseException | None = None
        try:
            for number, put in answers or ():
                with lock:
                    put()
                    done[number] = True
                if stop.is_set():
                    break
            while answers is None and not stop.is_set():
                with lock:
                    k = next(left, None)
                if k is None:
                    break
                add = piece(k)
                with lock:
                    if add is not None:
                        add()
                    done[k] = True
                if time.monotonic() >= until:  # after a piece, so that every wave gets on
                    break
        except BaseException as error:
            failed = error
            stop.set()
        if answers is not None:
            answers.close()
        ended.append(failed)

    tell(recipe, int(done.sum()), recipe.pieces)  # before the work, which may be over in a moment
    for _ in range(threads):
        threading.Thread(target=work, daemon=True).start()
    interrupted, saved = False, (time.monotonic(), int(done.sum()))
    # Not by joining them: a join that Ctrl-C interrupts takes a thread for ended that is still at work.
    while True:
        try:
            while len(ended) < threads:
                tell(recipe, int(done.sum()), recipe.pieces)
                if saves is not None and time.monotonic() >= saved[0] + saves[0] and int(done.sum()) > saved[1]:
                    with lock:
                        saves[1]()
                        saved = time.monotonic(), int(done.sum())
                time.sleep(POLL)
            break
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
    for failed in ended:
        if failed is not None:
            if saves is not None and int(done.sum()) > saved[1]:
                saves[1]()  # what is done stays done
            raise failed
    return interrupted


# Small things


def _to_stderr(recipe: Recipe, done: int, pieces: int) -> None:
    """For programs: a line when a table is begun, and one when it is made."""
    if recipe.work < SAID:
        return
    if done == pieces:
        print(f"kibitz: the table {recipe.name} is stored in {home()}", file=sys.stderr)
    elif recipe.name not in _told:
        _told.add(recipe.name)
        about = f"{recipe.about}; {recipe.bytes / 1e6:,.1f} MB, about {recipe.work:.0f} s of one core"
        print(f"kibitz: making the table {recipe.name} ({about}), once", file=sys.stderr)


_told: set[str] = set()
_teller: list[Tell | None] = [None]


@contextlib.contextmanager
def told_by(tell: Tell) -> Iterator[None]:
    """The progress callback for tables that are built without one of their own; commands show a progress line."""
    before, _teller[0] = _teller[0], tell
    try:
        yield
    finally:
        _teller[0] = before


def _part_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _remove(path: Path) -> None:
    """Whatever stands where only our tables stand."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
