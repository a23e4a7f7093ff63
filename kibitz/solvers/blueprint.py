"""Blueprint: a strategy trained by MCCFR into a hash table of rows, for games of any size.

An iteration walks a random deal once for each seat [external sampling, Lanctot et al. 2009]. Iterations weigh more the
later they are, in steps: whenever their number doubles, regrets and averages so far are halved, which is the linear
weighting of [Brown & Sandholm 2019] with one pass over the table per doubling.

The table begins small and grows with its rows, up to `memory`. When the places for a row are then all taken the row
that was visited least goes (`full="evict"`), or the new one is not kept and plays uniformly (`full="refuse"`). With one
thread a seed gives the same bytes, interrupted or not; more threads share the table without locks and differ in the
order of sums.

A *grafted* blueprint has a base: only the rows of one part of the game move, and elsewhere the base plays, as chance
does [Gibson & Szafron 2011, Def. 3.2]. It is saved with its base and plays from both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import aside
from kibitz.core.errors import SolverError
from kibitz.core.loop import check_stops, in_blocks
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.trusted import same_game
from kibitz.solvers import tables
from kibitz.solvers.machines import machine_of

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.games.protocol import Game
    from kibitz.games.tree import Tree

BLOCK_SECONDS = 0.2  # between looks at the clock: so Ctrl-C and progress are prompt
FIRST_BLOCK = 20  # iterations of one thread
FIRST_HALVING = 1000  # iterations before regrets are halved for the first time
FULL = ("evict", "refuse")
MOST_THREADS = 64
REFUSED = 3  # as in kibitz.solvers.kernels.hash


@dataclass
class Progress:
    """How training stands."""

    iteration: int
    seconds: float  # of walks: compiling and laying out of tables are no part of it
    visited: int  # decisions
    rows: int
    evicted: int
    refused: int


@dataclass(repr=False)
class Blueprint:
    """Rows of a game under an abstraction, and where training stands."""

    machine: Machine
    view: RowKeys
    table: Any  # kibitz.solvers.kernels.hash.HashStore
    seed: int = 0
    full: str = "evict"
    iteration: int = 0
    seconds: float = 0.0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    base: Blueprint | None = None  # plays outside `part`
    part: int = -1  # the part whose rows move; -1: all
    seats: int = -1  # mask of the seats that the base plays outside the part; -1: all
    most: int = 0  # places that the table may have; 0: those that it has

    @classmethod
    def empty(
        cls,
        game: Any,
        abstraction: Any = None,
        memory: int = 1 << 30,
        seed: int = 0,
        full: str = "evict",
        arrays: dict[str, NDArray[Any]] | None = None,
        base: Blueprint | None = None,
        part: str | int | None = None,
        seats: tuple[int, ...] | None = None,
    ) -> Blueprint:
        """A blueprint that has learned nothing, with room for as many rows as `memory` bytes hold, once it has them.

        game         a spec, a game, or a Machine
        abstraction  a name of the game's (`machine.abstractions`; of poker also buckets of hands), or whatever
                     kibitz.abstraction takes where the game has a tree; default: what the game is best trained with
        arrays       what an abstraction needs beside its name (buckets of hands)
        base, part   train only the rows of one part (`machine.parts`); elsewhere `base` plays
        seats        the seats that the base plays there; default: all
        """
        machine = machine_of(game)
        if full not in FULL:
            raise SolverError(f"full={full}: choose evict (the row visited least goes) or refuse (no new one is kept)")
        if not 0 <= seed < 1 << 63:
            raise SolverError(f"seed={seed} must be a whole number from 0")
        view = machine.view(machine.default if abstraction is None else abstraction, arrays)
        most = tables.rows_in(memory, machine.actions)
        size = tables.size_for(0, most)
        made = cls(machine, view, tables.table_of(size, machine.actions, size < most), seed, full, most=most)
        if (base is None) != (part is None):
            raise SolverError("a graft needs both: the base that plays elsewhere, and the part whose rows move")
        if base is not None and part is not None:
            if not same_game(base.machine.spec, machine.spec) or base.base is not None:
                raise SolverError(f"the base should be a blueprint of {machine.spec} that is no graft itself")
            made.base, made.part = base, machine.part(part)
            made.seats = -1 if seats is None else sum(1 << seat for seat in set(seats))
        return made

    def __repr__(self) -> str:
        return (
            f"Blueprint of {self.machine.spec} by {self.abstraction}: {self.iteration:,} iterations, "
            f"{self.rows:,} of {self.capacity:,} rows"
        )

    @property
    def game(self) -> Game:
        """The readable rules."""
        return self.machine.rules

    @property
    def abstraction(self) -> str:
        return self.view.name

    @property
    def keys(self) -> Any:
        """The abstraction as kernels take it."""
        return self.view.keys

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return sum(array.nbytes for array in self.table if isinstance(array, np.ndarray))

    @property
    def walked_game(self) -> Any:
        """The game as kernels walk it."""
        return self.machine.game

    @property
    def rows(self) -> int:
        """Rows in use."""
        return int(self.counts[1])

    @property
    def capacity(self) -> int:
        """Rows that there is room for, once there are so many."""
        return self.most or len(self.table.key)

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
        check_stops(iterations, None, seconds)
        if not 1 <= threads <= MOST_THREADS:
            raise SolverError(f"threads={threads} must be from 1 to {MOST_THREADS}")
        threads = threads if self.machine.compiled else 1
        if iterations is not None and self.iteration >= iterations:
            return
        with ThreadPoolExecutor(threads) as pool:
            for spent in in_blocks(
                self, lambda count: self.step(count, threads, pool), iterations, seconds, lambda: self.next_halving,
                first=FIRST_BLOCK * threads, length=BLOCK_SECONDS,
            ):  # fmt: skip
                self.seconds += spent
                if on_block is not None and on_block(self.progress()):
                    return

    @property
    def next_halving(self) -> int:
        """The next number of iterations at which the past is halved."""
        at = FIRST_HALVING
        while at <= self.iteration:
            at *= 2
        return at

    def step(self, count: int, threads: int, pool: ThreadPoolExecutor) -> None:
        """So many iterations, up to the next halving at most."""
        last = self.iteration + count
        self.counts += walked(self, self.mask(), self.base_player(), self.iteration, last, threads, pool)
        halve = last == self.next_halving
        self.iteration = last
        if halve:
            self.halve(threads, pool)

    def warm_up(self) -> None:
        """Compile what training runs, so that its clock measures the training."""
        from kibitz.solvers.kernels.hash import scale

        table = tables.table_of(tables.LEAST_ROWS, self.machine.actions)
        tiny = Blueprint(self.machine, self.view, table, base=self.base, part=self.part, seats=self.seats)
        tiny.train(iterations=1)
        scale(tiny.table, np.int64(0), np.int64(1), np.float32(0.5))
        tables.laid(*tables.contents(tiny.table), len(table.key), len(table.key), True, tiny.counts)

    def grow(self, rows: int) -> None:
        """Lay the rows out in a table with room for so many, in the order of their keys; clocks do not count it."""
        with aside():
            key, value = tables.contents(self.table)
            self.table = None  # its memory goes before the next one is set up
            size = tables.size_for(rows, self.capacity)
            self.table = tables.laid(key, value, size, self.capacity, self.full == "evict", self.counts)

    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None:
        """Halve regrets and averages."""
        from kibitz.solvers.kernels.hash import scale

        places = np.linspace(0, len(self.table.key), threads + 1).astype(np.int64)
        list(pool.map(lambda k: scale(self.table, places[k], places[k + 1], np.float32(0.5)), range(threads)))

    def order(self) -> Any:
        """How to walk: external sampling, all seats."""
        from kibitz.solvers.kernels.walk import EXTERNAL, Order

        players = self.machine.players
        return Order(
            np.int64(EXTERNAL), 0.0, False, self.full == "evict", np.int64(self.seed), np.uint64(players),
            np.uint64((1 << players) - 1),
        )  # fmt: skip

    def mask(self) -> Any:
        """Which rows may move."""
        from kibitz.solvers.kernels.players import FREE, GRAFT, Mask

        if self.base is None:
            return Mask(np.int64(FREE), np.uint64(0), np.int64(0))
        return Mask(np.int64(GRAFT), np.uint64(self.seats & ((1 << 63) - 1)), np.int64(self.part))

    def base_player(self) -> Any:
        from kibitz.solvers.kernels.players import UNIFORM

        return player(self.machine, UNIFORM, self.view) if self.base is None else self.base.player()

    def progress(self) -> Progress:
        visited, rows, evicted, refused = (int(n) for n in self.counts)
        return Progress(self.iteration, self.seconds, visited, rows, evicted, refused)

    # What a plug-in's kind of blueprint does otherwise

    parallel = False  # whether a responder is trained on all cores: only where rows are not hashed
    wants_base = False  # whether it was loaded without the base that training needs

    def played(self, greedy: bool = False) -> Blueprint:
        """The same strategy, as it is quickest to play; greedy: always the action that is regretted most."""
        return self

    def rebased(self, base: Blueprint) -> Blueprint:
        """The same with the base that it was trained onto."""
        raise SolverError("what goes on has its base already: leave it out")

    def check_whole(self) -> None:
        """Refuse what plays only a part of its game."""

    def player(self, greedy: bool = False) -> Any:
        """One who plays the average strategy, or always the action that is regretted most, in kibitz.evaluate.match."""
        from kibitz.solvers.kernels.players import AVERAGE, GREEDY

        return player(self.machine, GREEDY if greedy else AVERAGE, self.view, self.table, self.base, self.part)

    # Files

    @property
    def sha256(self) -> str:
        """Digest of all that training has made, but for the time it took."""
        return tables.digest(self)

    @property
    def meta(self) -> dict[str, Any]:
        """What is saved beside the rows; no two trainings have all of it in common."""
        meta: dict[str, Any] = {
            "game": self.machine.spec, "abstraction": self.abstraction, "capacity": self.capacity, "seed": self.seed,
            "full": self.full, "iteration": self.iteration, "seconds": self.seconds,
        }  # fmt: skip
        if self.base is not None:
            meta |= {"base": self.base.meta, "part": self.part, "seats": self.seats}
        return meta

    def save(self, path: str | os.PathLike[str], over: Callable[[dict[str, Any]], bool] | None = None) -> None:
        """Write the rows with their places: training goes on from there as if it had never stopped.

        over: whether a blueprint with some meta may be replaced; else it is store.Occupied.
        """
        tables.save(self, path, over)

    @classmethod
    def load(cls, path: str | os.PathLike[str], compact: bool = False, game: Any = None) -> Blueprint:
        """Read a blueprint; `compact`: into a table no larger than its rows need, to play but not to train.

        game: for one of a game in a file of yours, which a saved file may not call again by itself.
        """
        found: Blueprint = tables.load(cls, path, compact, game)
        return found


def walked(
    blueprint: Blueprint, mask: Any, base: Any, first: int, last: int, threads: int, pool: ThreadPoolExecutor | None
) -> NDArray[np.int64]:
    """Walk iterations first..last - 1 into a blueprint's table, which grows where it must; returns what happened
    (kernels.walk.hash)."""
    # More pieces than threads: one whose core has a busy neighbour does fewer.
    pieces = 1 if threads == 1 else 8 * threads
    bounds = np.linspace(first, last, pieces + 1).astype(np.int64).tolist()
    left, total = list(pairwise(bounds)), np.zeros(4, np.int64)
    while True:
        before = _copied(blueprint.table)
        reached, count = _walked(blueprint, mask, base, left, threads, pool)
        if before is not None and count[REFUSED]:  # an iteration had more new rows than there was room for
            blueprint.table = before
            start, end = left[0]
            if threads == 1 and end - start > 1:  # where the table grows may not depend on how training is cut
                each = (walked(blueprint, mask, base, t, t + 1, 1, pool) for t in range(start, end))
                return total + sum(each, np.zeros(4, np.int64))
            blueprint.grow(len(before.key) // 2)
            continue
        total += count
        left = [(stop, end) for stop, (_, end) in zip(reached, left, strict=True) if stop < end]
        if not left:
            return total
        blueprint.grow(int(blueprint.table.used[0]))


def _copied(table: Any) -> Any:
    """A table as it is now, to come back to; None for one that an iteration cannot fill, by all that is known."""
    if not tables.grows(table) or len(table.key) >= 4 * tables.AMPLE:
        return None
    return table._replace(key=table.key.copy(), value=table.value.copy(), used=table.used.copy())


def _walked(
    blueprint: Blueprint, mask: Any, base: Any, spans: list[tuple[int, int]], threads: int,
    pool: ThreadPoolExecutor | None,
) -> tuple[list[int], NDArray[np.int64]]:  # fmt: skip
    """(iteration before which each span of iterations stopped, what happened)."""
    from kibitz.solvers.kernels.walk import workspace

    machine, order = blueprint.machine, blueprint.order()

    def work(span: tuple[int, int]) -> tuple[int, NDArray[np.int64]]:
        work = workspace(machine.depth, machine.words, machine.actions)
        machine.train(
            blueprint.walked_game, blueprint.keys, blueprint.table, mask, base, order, np.int64(span[0]),
            np.int64(span[1]), work,
        )  # fmt: skip
        return int(work.reached[0]), work.count

    done = list(map(work, spans)) if threads == 1 or pool is None else list(pool.map(work, spans))
    return [reached for reached, _ in done], np.sum([count for _, count in done], axis=0)


def player(
    machine: Machine,
    kind: int,
    view: RowKeys | None = None,
    table: Any = None,
    base: Blueprint | None = None,
    part: int = -1,
) -> Any:
    """A player as kernels take one; view and table for kinds that read rows."""
    from kibitz.solvers.kernels.players import Player

    keys = (machine.view() if view is None else view).keys
    store = tables.table_of(tables.LEAST_ROWS, machine.actions) if table is None else table
    if base is None:
        return Player(np.int64(kind), keys, store, np.int64(-1), keys, store)
    return Player(np.int64(kind), keys, store, np.int64(part), base.keys, base.table)


def blueprint_profile(blueprint: Blueprint, tree: Tree) -> Profile:
    """What a blueprint plays at each infoset of its game, laid out: for games small enough to be measured exactly.

    Infosets whose row was never made, or gave way to another, are played uniformly.
    """
    if tree.spec and not same_game(tree.spec, blueprint.machine.spec):
        raise SolverError(f"the tree is of {tree.spec}, the blueprint of {blueprint.machine.spec}")
    from kibitz.forms.profile import Profile

    width, actions, machine = tree.infosets.width.astype(np.int64), blueprint.machine.actions, blueprint.machine
    rows = tables.looked_up(blueprint.table, machine.keys_at(blueprint.view, tree.infosets), width, actions)
    if blueprint.base is not None:
        inside = machine.parts_at(tree.infosets) == blueprint.part
        keys = machine.keys_at(blueprint.base.view, tree.infosets)
        other = tables.looked_up(blueprint.base.table, keys, width, actions)
        rows = np.where(inside[:, None], rows, other)
    meta = {
        "game": tree.spec, "tree": tree.digest, "solver": "blueprint", "abstraction": blueprint.abstraction,
        "iterations": blueprint.iteration, "seed": blueprint.seed,
    }  # fmt: skip
    return Profile(tree.infosets, rows[np.arange(actions) < width[:, None]], meta)
