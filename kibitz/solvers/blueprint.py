"""Blueprint: a strategy of a game too large for a tree, trained by MCCFR into a hash table of rows of a fixed size.

An iteration walks a random deal once for each seat [external sampling, Lanctot et al. 2009]. Iterations weigh more the
later they are, in steps: whenever their number doubles, regrets and averages so far are halved, which is the linear
weighting of [Brown & Sandholm 2019] with one pass over the table per doubling.

The table never grows: `memory` sets its size, and when the places for a row are all taken the row that was visited
least goes (`full="evict"`), or the new one is not kept and plays uniformly (`full="refuse"`). With one thread a seed
gives the same bytes, interrupted or not; more threads share the table without locks and differ in the order of sums.

On disk (`store`) a blueprint has the arrays key and value of the rows in use and `place`, where they lie in the table;
once over half of the table is in use it is written as it lies, without `place`, so that saving takes no memory.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz import spec as specs
from kibitz import store
from kibitz.errors import ArtefactError, KibitzError, SolverError
from kibitz.games import game as make_game
from kibitz.games.toepen.arrays import rules_of
from kibitz.games.toepen.rules import Toepen
from kibitz.machine import free_memory

if TYPE_CHECKING:
    from kibitz.profile import Profile
    from kibitz.tree import Tree

KIND = "blueprint"
BLOCK_SECONDS = 0.2  # between looks at the clock: so Ctrl-C and progress are prompt
FIRST_BLOCK = 20  # iterations of one thread
FIRST_HALVING = 1000  # iterations before regrets are halved for the first time
BYTES_PER_ROW = 40  # as kibitz.kernels.walk.hash
CHUNK = 1 << 18  # rows that are checked at a time
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 32  # a key's home is found by 32 of its bits
GROWTH, MOST_GROWTHS = 1.5, 8  # of a table that is made to hold some rows, before these are called damaged
MEMORY_SHARE = 0.9  # of what is free
FULL = ("evict", "refuse")
MOST_THREADS = 64
DEPTH = 80  # rows of working space: two for each decision of a seat on one history


@dataclass
class Progress:
    """How training stands."""

    iteration: int
    seconds: float
    visited: int  # decisions
    rows: int
    evicted: int
    refused: int


@dataclass
class Blueprint:
    """Rows of a game under an abstraction, and where training stands."""

    game: Toepen
    abstraction: str  # a name of kibitz.kernels.toepen.keys.NAMES
    keys: Any  # kibitz.kernels.toepen.keys.Keys
    table: Any  # kibitz.kernels.walk.hash.Table
    seed: int = 0
    full: str = "evict"
    iteration: int = 0
    seconds: float = 0.0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))

    @classmethod
    def empty(
        cls,
        game: str | Toepen,
        abstraction: str = "outlook",
        memory: int = 1 << 30,
        seed: int = 0,
        full: str = "evict",
        bucket: NDArray[np.uint8] | None = None,
    ) -> Blueprint:
        """A blueprint that has learned nothing, with room for as many rows as `memory` bytes hold.

        bucket: buckets of hands, for the abstractions that have them (kibitz.solvers.strength).
        """
        rules = toepen_of(game)
        if full not in FULL:
            raise SolverError(f"full={full}: choose evict (the row visited least goes) or refuse (no new one is kept)")
        if not 0 <= seed < 1 << 63:
            raise SolverError(f"seed={seed} must be a whole number from 0")
        return cls(rules, abstraction, keys_of(rules, abstraction, bucket), table_of(rows_in(memory)), seed, full)

    @property
    def rows(self) -> int:
        """Rows in use."""
        return int(self.counts[1])

    @property
    def capacity(self) -> int:
        return len(self.table.key)

    def train(
        self,
        iterations: int | None = None,
        seconds: float | None = None,
        threads: int = 1,
        on_block: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        """Go on until `iterations` in all are done or `seconds` more are over; `on_block` may return True to stop."""
        if iterations is None and seconds is None:
            raise SolverError("say when to stop: iterations, or seconds")
        if iterations is not None and iterations < 0:
            raise SolverError(f"iterations={iterations} must be 0 or more")
        if seconds is not None and not seconds > 0:
            raise SolverError(f"seconds={seconds} must be above 0")
        if not 1 <= threads <= MOST_THREADS:
            raise SolverError(f"threads={threads} must be from 1 to {MOST_THREADS}")
        began, block = time.perf_counter(), FIRST_BLOCK
        with ThreadPoolExecutor(threads) as pool:
            while iterations is None or self.iteration < iterations:
                last = self.iteration + block * threads
                last = min(last, self.next_halving, last if iterations is None else iterations)
                started, done = time.perf_counter(), last - self.iteration
                self._step(last, threads, pool)
                spent = time.perf_counter() - started
                self.seconds += spent
                block = max(1, min(2 * block, int(BLOCK_SECONDS * done / threads / max(spent, 1e-9))))
                if on_block is not None and on_block(self.progress()):
                    return
                if seconds is not None and time.perf_counter() - began >= seconds:
                    return

    @property
    def next_halving(self) -> int:
        """The next number of iterations at which the past is halved."""
        at = FIRST_HALVING
        while at <= self.iteration:
            at *= 2
        return at

    def _step(self, last: int, threads: int, pool: ThreadPoolExecutor) -> None:
        from kibitz.kernels.toepen.walk import UNIFORM, train
        from kibitz.kernels.walk.hash import scale

        rules, nobody = rules_of(self.game), player(UNIFORM)
        # More pieces than threads: one whose core has a busy neighbour does fewer.
        pieces = 1 if threads == 1 else 8 * threads
        bounds = np.linspace(self.iteration, last, pieces + 1).astype(np.int64)

        def work(k: int) -> NDArray[np.int64]:
            counts = np.zeros(4, np.int64)
            train(rules, self.keys, self.table, nobody, self.full == "evict", self.seed, bounds[k],
                  bounds[k + 1], np.uint64(3), np.zeros((DEPTH, 4)), np.zeros(64, np.uint64), counts)  # fmt: skip
            return counts

        for counts in pool.map(work, range(pieces)) if threads > 1 else [work(0)]:
            self.counts += counts
        halve = last == self.next_halving
        self.iteration = last
        if halve:
            places = np.linspace(0, self.capacity, threads + 1).astype(np.int64)
            list(pool.map(lambda k: scale(self.table, places[k], places[k + 1], np.float32(0.5)), range(threads)))

    def progress(self) -> Progress:
        visited, rows, evicted, refused = (int(n) for n in self.counts)
        return Progress(self.iteration, self.seconds, visited, rows, evicted, refused)

    def player(self, greedy: bool = False) -> Any:
        """One who plays the average strategy, or always the action that is regretted most, in kibitz.evaluate.match."""
        from kibitz.kernels.toepen.walk import AVERAGE, GREEDY

        return player(GREEDY if greedy else AVERAGE, self.keys, self.table)

    @property
    def sha256(self) -> str:
        """Digest of all that training has made, but for the time it took."""
        arrays, meta = self._artefact()
        return store.digest(arrays, {name: x for name, x in meta.items() if name != "seconds"})

    # Files

    def _artefact(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        key, value = self.table.key, self.table.value[:-1]
        arrays = {"bucket": self.keys.bucket, "counts": self.counts}
        if 2 * self.rows > self.capacity:
            arrays |= {"key": key, "value": value}
        else:
            at = np.flatnonzero(key)
            arrays |= {"place": at.astype(np.uint64), "key": key[at], "value": value[at]}
        return arrays, self.meta

    def save(self, path: str | os.PathLike[str], over: Callable[[dict[str, Any]], bool] | None = None) -> None:
        """Write the rows with their places: training goes on from there as if it had never stopped.

        over: whether a blueprint with some meta may be replaced; else it is store.Occupied.
        """
        arrays, meta = self._artefact()
        store.save(path, KIND, arrays, meta, over)

    @property
    def meta(self) -> dict[str, Any]:
        """What is saved beside the rows; no two trainings have all of it in common."""
        return {
            "game": self.game.spec, "abstraction": self.abstraction, "capacity": self.capacity, "seed": self.seed,
            "full": self.full, "iteration": self.iteration, "seconds": self.seconds,
        }  # fmt: skip

    @classmethod
    def load(cls, path: str | os.PathLike[str], compact: bool = False) -> Blueprint:
        """Read a blueprint; `compact`: into a table no larger than its rows need, to play but not to train."""
        held = store.load(path, KIND, mmap=True)
        try:
            made = cls(**_fields(held.meta, held.arrays))
            capacity = int(held.meta["capacity"])
            key, value, place = (held.arrays.get(name) for name in ("key", "value", "place"))
            if not _rows_fit(key, value, place, capacity, made.rows):
                raise ValueError("its numbers do not fit")
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, KibitzError) as error:
            raise ArtefactError(f"{Path(path)} is not a whole blueprint ({error}); train it anew") from None
        assert key is not None and value is not None
        if compact and place is not None:
            made.table = packed(key, value)
            return made
        check_memory(capacity * BYTES_PER_ROW)
        made.table = table_of(capacity)
        at = slice(0, capacity) if place is None else place
        made.table.key[at], made.table.value[at] = key, value
        return made


def _fields(meta: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The fields of a blueprint but for its table, as an artefact has them: checked, for nobody vouches for it."""
    if specs.parse(str(meta["game"])).name != "toepen":  # a path would be opened, and its code run
        raise ValueError("its game is not toepen")
    game, abstraction, full = toepen_of(str(meta["game"])), str(meta["abstraction"]), str(meta["full"])
    seed, iteration, seconds = int(meta["seed"]), int(meta["iteration"]), float(meta["seconds"])
    counts = np.array(arrays["counts"])
    if not (full in FULL and 0 <= iteration < 1 << 60 and seconds >= 0 and 0 <= seed < 1 << 63):
        raise ValueError("no training has its numbers")
    if counts.shape != (4,) or counts.dtype != np.int64 or counts.min() < 0:
        raise ValueError("its counts are damaged")
    return {
        "game": game, "abstraction": abstraction, "keys": keys_of(game, abstraction, np.array(arrays["bucket"])),
        "table": None, "seed": seed, "full": full, "iteration": iteration, "seconds": seconds, "counts": counts,
    }  # fmt: skip


def _rows_fit(key: Any, value: Any, place: Any, capacity: int, rows: int) -> bool:
    """Whether rows could have been written by `save`: each in the window of its key, with finite numbers."""
    from kibitz.kernels.walk.hash import WINDOW

    whole = place is None  # the table as it lies
    length = capacity if whole else rows
    shapes = (
        LEAST_ROWS <= capacity < MOST_ROWS and 0 <= rows <= capacity and whole == (2 * rows > capacity)
        and key.shape == (length,) and value.shape == (length, 8) and (whole or place.shape == (length,))
        and key.dtype == np.uint64 and value.dtype == np.float32 and (whole or place.dtype == np.uint64)
    )  # fmt: skip
    if not shapes:
        return False
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
        if not np.isfinite(values).all() or values[:, 4:].min() < 0.0 or values[~filled].any():
            return False
        used, before = used + int(filled.sum()), int(at[-1])
    return used == rows


def toepen_of(game: str | Toepen | Any) -> Toepen:
    """The rules, if they are of a game that has a compiled state machine."""
    from kibitz.kernels.toepen.rules import MOST_CARDS

    rules = make_game(game)
    if not isinstance(rules, Toepen):
        raise SolverError("blueprints are for games with a compiled state machine: toepen, with any parameters")
    if rules.hand > MOST_CARDS or rules.symmetric:
        raise SolverError(f"toepen's state machine takes hands of up to {MOST_CARDS} cards, and not symmetric=true")
    return rules


def keys_of(game: Toepen, abstraction: str, bucket: NDArray[np.uint8] | None = None) -> Any:
    """The abstraction as kernels take it."""
    from kibitz.kernels.toepen.keys import HANDS, NAMES, STRENGTH, STRENGTH_HISTORY, Keys, plain

    if abstraction not in NAMES:
        raise specs.unknown("abstraction of toepen", abstraction, NAMES)
    in_buckets = NAMES[abstraction] in (STRENGTH, STRENGTH_HISTORY)
    if bucket is None:
        if in_buckets:
            raise SolverError(f"the abstraction {abstraction} needs buckets of hands, made from a solved blueprint")
        return plain(NAMES[abstraction])
    if bucket.shape != (2, 2, HANDS if in_buckets else 1) or bucket.dtype != np.uint8:
        raise SolverError("buckets of hands are bytes by seat, role and hand, for abstractions by strength alone")
    return Keys(np.int64(NAMES[abstraction]), np.ascontiguousarray(bucket))


def player(kind: int, keys: Any = None, table: Any = None) -> Any:
    """A player as kernels take one; keys and table for kinds that read rows."""
    from kibitz.kernels.toepen.keys import plain
    from kibitz.kernels.toepen.walk import Player

    return Player(np.int64(kind), plain(0) if keys is None else keys, table_of(LEAST_ROWS) if table is None else table)


def rows_in(memory: int) -> int:
    """How many rows fit into so many bytes; refuses what the machine does not have."""
    if memory < LEAST_ROWS * BYTES_PER_ROW:
        raise SolverError(f"memory of {memory:,} bytes is too little: a row takes {BYTES_PER_ROW}, give 1MB or more")
    check_memory(memory)
    if memory // BYTES_PER_ROW >= MOST_ROWS:
        raise SolverError(f"a table has room for up to {MOST_ROWS:,} rows: give at most {MOST_ROWS * 40 // 10**9}GB")
    return memory // BYTES_PER_ROW


def check_memory(memory: int) -> None:
    """Refuse a table that does not fit into what is free: it would be swapped."""
    free = free_memory()
    if memory > MEMORY_SHARE * free:
        raise SolverError(
            f"{memory / 1e9:.1f} GB of memory are asked for, but {free / 1e9:.1f} GB are free: "
            f"give at most {math.floor(MEMORY_SHARE * free / 1e8) / 10:.1f}GB"
        )


def table_of(rows: int) -> Any:
    from kibitz.kernels.walk.hash import Table

    return Table(np.zeros(rows, np.uint64), np.zeros((rows + 1, 8), np.float32))


def packed(key: NDArray[np.uint64], value: NDArray[np.float32]) -> Any:
    """A table that holds some rows and little more."""
    from kibitz.kernels.walk.hash import fill

    rows = max(LEAST_ROWS, 2 * len(key))
    for _ in range(MOST_GROWTHS):
        table = table_of(rows)
        if fill(table, np.array(key), np.array(value)):
            return table
        rows = int(GROWTH * rows)
    raise ArtefactError("the blueprint's keys crowd in a few places, as no training leaves them; train it anew")


def warm_up() -> None:
    """Compile what training runs, so that its clock measures the training."""
    from kibitz.kernels.walk.hash import scale

    tiny = Blueprint.empty("toepen(suits=2, ranks=2, hand=2)", "null", LEAST_ROWS * BYTES_PER_ROW)
    tiny.train(iterations=1)
    scale(tiny.table, np.int64(0), np.int64(1), np.float32(0.5))


def blueprint_profile(blueprint: Blueprint, tree: Tree) -> Profile:
    """What a blueprint plays at each infoset of its game, laid out: for games small enough to be measured exactly.

    Infosets whose row was never made, or gave way to another, are played uniformly.
    """
    from kibitz.games.toepen.arrays import arrays_of
    from kibitz.kernels.toepen.lay import keys_at
    from kibitz.kernels.walk.hash import look_up
    from kibitz.profile import Profile

    arrays = arrays_of(blueprint.game) if tree.spec == blueprint.game.spec else None
    if arrays is None or not np.array_equal(arrays["seat_start"], tree.infosets.seat_start):
        raise SolverError(f"the tree is of {tree.spec or 'another game'}, the blueprint of {blueprint.game.spec}")
    states, width = arrays["labels"].examples, tree.infosets.width
    keys, rows = np.zeros(len(states), np.uint64), np.zeros((len(states), 4))
    keys_at(states, rules_of(blueprint.game), blueprint.keys, keys)
    look_up(blueprint.table, keys, width.astype(np.int64), rows)
    meta = {
        "game": tree.spec, "tree": tree.digest, "solver": "blueprint", "abstraction": blueprint.abstraction,
        "iterations": blueprint.iteration, "seed": blueprint.seed,
    }  # fmt: skip
    return Profile(tree.infosets, rows[np.arange(4) < width[:, None]], meta)
