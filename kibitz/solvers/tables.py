"""HashedRows: the rows of a blueprint in a hash table, in memory and on disk.

A table begins small and grows with its rows, up to the size that was asked for (`size_for`): a game of a thousand rows
touches no gigabyte. Each time the rows are laid out in the order of their keys, so that what a table is follows from
its rows alone until it has its full size. No row is lost before: they are those of a table that had its full size from
the start, as long as that would lose none.

On disk (`store`) a blueprint has the arrays key and value of the rows in use: while the table may grow in the order of
their keys; later with `place`, where they lie in the table; and once over half of it is in use the table is written as
it stands, so that saving takes no memory.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import aside
from kibitz.core.errors import ArtefactError, SolverError
from kibitz.core.resources import free_memory
from kibitz.solvers.stores import Store

Arrays = dict[str, NDArray[Any]]
CHUNK = 1 << 18  # rows that are checked at a time
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 32  # a key's home is found by 32 of its bits
FIRST_ROWS, LARGER = 1 << 16, 4  # places of a table that grows, and how many times larger the next one is
AMPLE = 1 << 18  # new rows in one iteration that no game is expected to have
MANY = 1 << 20  # rows from which on they are sorted by where they belong
GROWTH, MOST_GROWTHS = 1.5, 8  # of a table that is made to hold some rows, before these are called damaged
MEMORY_SHARE = 0.9  # of what is free
MOST_AHEAD = 1 << 10  # places between a row and its home, in a file: to search for more would take for ever
FULL = ("evict", "refuse")
OWN = ("key", "value", "place", "counts")  # arrays of the table; the others are the abstraction's


def row_bytes(actions: int) -> int:
    """What a row takes in memory: a key, regrets and averages."""
    return 8 + 8 * actions


def rows_in(memory: int, actions: int) -> int:
    """How many rows fit into so many bytes; refuses what the machine does not have."""
    each = row_bytes(actions)
    if memory < LEAST_ROWS * each:
        raise SolverError(f"memory of {memory:,} bytes is too little: a row takes {each}, give 1MB or more")
    check_memory(memory)
    if memory // each >= MOST_ROWS:
        raise SolverError(f"a table can have at most {MOST_ROWS:,} rows: give at most {MOST_ROWS * each // 10**9}GB")
    return memory // each


def check_memory(memory: int) -> None:
    """Refuse a table that does not fit into what is free: it would be swapped."""
    free = free_memory()
    if memory > MEMORY_SHARE * free:
        raise SolverError(
            f"{memory / 1e9:.1f} GB of memory are requested, but {free / 1e9:.1f} GB are free: give at most "
            f"{math.floor(MEMORY_SHARE * free / 1e8) / 10:.1f}GB"
        )


def table_of(rows: int, actions: int, grows: bool = False) -> Any:
    from kibitz.solvers.kernels.hash import hash_store

    return hash_store(rows, actions, grows)


class HashedRows(Store):
    """Rows in a hash table that grows up to `most` places. full: what happens to a new row once it has them."""

    def __init__(self, table: Any, full: str = "evict", most: int = 0) -> None:
        self.table, self.full, self.capacity = table, full, most or len(table.key)

    @classmethod
    def empty(cls, memory: int, actions: int, full: str) -> Self:
        """A table without rows, which may grow to so many bytes."""
        most = rows_in(memory, actions)
        size = size_for(0, most)
        return cls(table_of(size, actions, size < most), full, most)

    @property
    def used(self) -> int:
        return int(self.table.used[0])

    def nothing(self) -> Any:
        return table_of(LEAST_ROWS, self.table.value.shape[1] // 2)

    def warm_up(self, begun: bool) -> None:
        from kibitz.solvers.kernels.hash import scale

        empty = self.nothing()
        scale(empty, np.int64(0), np.int64(1), np.float32(0.5))
        laid(*contents(empty), LEAST_ROWS, LEAST_ROWS, True, np.zeros(4, np.int64))

    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None:
        from kibitz.solvers.kernels.hash import scale

        places = np.linspace(0, len(self.table.key), threads + 1).astype(np.int64)
        list(pool.map(lambda k: scale(self.table, places[k], places[k + 1], np.float32(0.5)), range(threads)))

    def copied(self) -> Any:
        table = self.table
        if not grows(table) or len(table.key) >= 4 * AMPLE:
            return None
        return table._replace(key=table.key.copy(), value=table.value.copy(), used=table.used.copy())

    def grow(self, rows: int, counts: NDArray[np.int64]) -> None:
        """Lay the rows out in a table with room for so many, in the order of their keys; clocks do not count it."""
        with aside():
            key, value = contents(self.table)
            self.table = None  # its memory goes before the next one is set up
            self.table = laid(key, value, size_for(rows, self.capacity), self.capacity, self.full == "evict", counts)

    def arrays(self) -> Arrays:
        key, value = self.table.key, self.table.value[:-1]
        if grows(self.table) or size_for(self.used, self.capacity) < self.capacity:
            key, value = contents(self.table)
        elif 2 * self.used <= self.capacity:
            at = np.flatnonzero(key)
            return {"place": at.astype(np.uint64), "key": key[at], "value": value[at]}
        return {"key": key, "value": value}

    def renewed(self, arrays: Arrays, counts: NDArray[np.int64]) -> HashedRows:
        return self.read(self.meta, arrays, counts, self.table.value.shape[1] // 2, compact=False)

    def write(self, arrays: Arrays, counts: NDArray[np.int64]) -> None:
        """Replace rows that are there, and add the others in their order, once there is room for them."""
        from kibitz.solvers.kernels.hash import move_in

        key, value = arrays["key"], arrays["value"]
        happened = np.zeros(4, np.int64)
        if grows(self.table) and self.used + len(key) >= 2 * int(self.table.limit):  # there may be no room for all
            more = int(np.isin(key, self.table.key[self.table.key != 0], invert=True).sum())
            if self.used + more >= int(self.table.limit):
                self.grow(self.used + more, counts)
        move_in(self.table, key, value, self.full == "evict", happened)
        counts[1:] += happened[1:]
        if self.used >= int(self.table.limit):
            self.grow(self.used, counts)

    @property
    def meta(self) -> dict[str, Any]:
        return {"capacity": self.capacity, "full": self.full}

    @classmethod
    def read(cls, meta: dict[str, Any], arrays: Arrays, counts: NDArray[np.int64], actions: int, compact: bool) -> Self:
        """The rows of an artefact, checked, for nobody vouches for it. compact: in a table no larger than they need."""
        full, capacity, used = str(meta["full"]), int(meta["capacity"]), int(counts[1])
        if full not in FULL:
            raise ValueError("its numbers are impossible")
        key, value, place = (arrays.get(name) for name in ("key", "value", "place"))
        if key is None or value is None or not _rows_fit(key, value, place, capacity, used, actions):
            raise ValueError("its numbers do not fit")
        size, sparse = size_for(used, capacity), 2 * used <= capacity
        if compact and sparse:
            return cls(packed(key, value), full)
        check_memory(capacity * row_bytes(actions))
        if place is None and (size < capacity or sparse):
            return cls(laid(key, value, size, capacity, full == "evict", counts), full, capacity)
        table = table_of(capacity, actions)
        at = slice(0, capacity) if place is None else place
        table.key[at], table.value[at] = key, value
        table.used[0] = used
        return cls(table, full, capacity)


def size_for(rows: int, most: int) -> int:
    """Places of a table with some rows that may have up to `most` places.

    A table that grows is at most a quarter full, and the full size comes at a sixteenth of it, or at an eighth after an
    iteration with many new rows: then there is room in every window.
    """
    size = FIRST_ROWS
    while 4 * rows >= size:
        size *= LARGER
    return size if LARGER * size <= most else most


def grows(table: Any) -> bool:
    """Whether a table will be laid out in a larger one when it is crowded."""
    from kibitz.solvers.kernels.hash import NEVER

    return int(table.limit) < NEVER


def apart(table: Any) -> bool:
    """Make keys that stand twice in a table once; returns whether there were any.

    Threads that drive rows out at the same moment may put one key into two places. What the second has learned goes to
    the first, which is the one that is found; a row that nobody asks for takes its place, and is driven out next.
    """
    from kibitz.solvers.kernels.hash import WINDOW

    key, value, twice = table.key, table.value, False
    for ahead in range(1, int(WINDOW)):
        for at in np.flatnonzero((key[:-ahead] == key[ahead:]) & (key[:-ahead] != 0)).tolist():
            value[at] += value[at + ahead]
            value[at + ahead] = 0.0
            near = key[max(0, at - int(WINDOW)) : at + 2 * int(WINDOW)]
            name = key[at]
            while name in near:  # the upper half of a key says where it may lie
                name ^= np.uint64(np.random.default_rng(int(name)).integers(1, 1 << 32))
            key[at + ahead], twice = name, True
    return twice


def contents(table: Any) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """(keys, values) of the rows in use, in the order of keys."""
    at = np.flatnonzero(table.key)
    at = at[np.argsort(table.key[at])]
    return table.key[at], table.value[at]


def laid(
    key: NDArray[np.uint64], value: NDArray[np.float32], size: int, most: int, evict: bool, counts: NDArray[np.int64]
) -> Any:
    """A table of a size with some rows, given in the order of their keys. counts: of rows that were lost (evicted and
    refused), which only a table of its full size does, and hardly ever."""
    from kibitz.solvers.kernels.hash import move_in

    table = table_of(size, value.shape[1] // 2, size < most)
    happened = np.zeros(4, np.int64)
    key = np.require(key, None, ["C", "W"])  # copied only if it is mapped
    value = np.require(value, None, ["C", "W"])
    move_in(table, key, value, evict, happened)
    counts[2:] += happened[2:]
    counts[1] += happened[1] - len(key)
    return table


def packed(key: NDArray[np.uint64], value: NDArray[np.float32]) -> Any:
    """A table that holds some rows and little more."""
    from kibitz.solvers.kernels.hash import fill

    rows = max(LEAST_ROWS, 2 * len(key))
    key = np.require(key, None, ["C", "W"])  # copied only if it is mapped
    value = np.require(value, None, ["C", "W"])
    for _ in range(MOST_GROWTHS):
        if len(key) >= MANY:
            places = _places(key, rows)
            if places is not None:
                return _placed(key, value, rows, *places)
        else:
            table = table_of(rows, value.shape[1] // 2)
            if fill(table, key, value):
                return table
        rows = int(GROWTH * rows)
    raise ArtefactError("the blueprint's hash keys are clustered, which training never produces; train it again")


def _places(key: NDArray[np.uint64], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """(keys in the order of their homes, where each goes); None if one would be too far from home.

    In this order nobody is pushed further than he must, so that tables of a hundred million rows need be no emptier
    than small ones.
    """
    from kibitz.solvers.kernels.hash import HALF, WINDOW

    home = (((key >> HALF) * np.uint64(rows - int(WINDOW))) >> HALF).astype(np.int64)
    order = np.argsort(home, kind="stable")
    home = home[order]
    count = np.arange(len(key))
    place = np.maximum.accumulate(home - count)  # the next free place, or home
    place += count
    return (order, place) if len(key) and int((place - home).max()) < int(WINDOW) else None


def _placed(
    key: NDArray[np.uint64], value: NDArray[np.float32], rows: int, order: NDArray[np.int64], place: NDArray[np.int64]
) -> Any:
    table = table_of(rows, value.shape[1] // 2)
    for at in range(0, len(key), MANY or len(key)):  # piece by piece: what is taken out of order is copied
        some = slice(at, at + (MANY or len(key)))
        table.key[place[some]] = key[order[some]]
        table.value[place[some]] = value[order[some]]
    table.used[0] = len(key)
    return table


def _rows_fit(key: Any, value: Any, place: Any, capacity: int, rows: int, actions: int) -> bool:
    """Whether rows could have been written by `save`: each in the window of its key, with finite numbers."""
    from kibitz.solvers.kernels.hash import WINDOW

    by_key = place is None and 2 * rows <= capacity
    whole = place is None and not by_key  # the whole table, with its empty places
    length = capacity if whole else rows
    shapes = (
        LEAST_ROWS <= capacity < MOST_ROWS and 0 <= rows <= capacity and whole == (2 * rows > capacity)
        and key.shape == (length,) and value.shape == (length, 2 * actions)
        and key.dtype == np.uint64 and value.dtype == np.float32
        and (place is None or (place.shape == (length,) and place.dtype == np.uint64))
    )  # fmt: skip
    if not shapes:
        return False
    if by_key:
        return _by_key_fit(key, value, capacity, actions)
    used, before = 0, -1
    for a in range(0, length, CHUNK):
        keys, values = key[a : a + CHUNK], value[a : a + CHUNK]
        at = np.arange(a, a + len(keys), dtype=np.uint64) if whole else place[a : a + CHUNK]
        home = ((keys >> np.uint64(32)) * (np.uint64(capacity) - WINDOW)) >> np.uint64(32)
        in_window = (at >= home) & (at < home + WINDOW)
        filled = keys != 0
        if int(at[0]) <= before or (at[1:] <= at[:-1]).any() or int(at[-1]) >= capacity:
            return False
        if not ((in_window | ~filled).all() and (whole or filled.all())):
            return False
        if not np.isfinite(values).all() or values[:, actions:].min() < 0.0 or values[~filled].any():
            return False
        used, before = used + int(filled.sum()), int(at[-1])
    return used == rows


def _by_key_fit(key: Any, value: Any, capacity: int, actions: int) -> bool:
    """Whether keys increase, none is 0, they do not crowd in a few places, and numbers are finite."""
    from kibitz.solvers.kernels.hash import HALF, WINDOW

    before, ahead = 0, 0
    for a in range(0, len(key), CHUNK):
        keys, values = key[a : a + CHUNK], value[a : a + CHUNK]
        if int(keys[0]) <= before or (keys[1:] <= keys[:-1]).any():
            return False
        if not np.isfinite(values).all() or values[:, actions:].min() < 0.0:
            return False
        home = (((keys >> HALF) * (np.uint64(capacity) - WINDOW)) >> HALF).astype(np.int64)
        number = np.arange(a, a + len(keys))
        free = np.maximum.accumulate(np.append(ahead, home - number))[1:]  # as in _places
        if int((free + number - home).max()) > MOST_AHEAD:
            return False
        before, ahead = int(keys[-1]), int(free[-1])
    return True
