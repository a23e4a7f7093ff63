"""Blueprint: a strategy trained by MCCFR into a store of rows (`kibitz.solvers.stores`), for games of any size.

An iteration walks a random deal once for each seat [external sampling, Lanctot et al. 2009]. Iterations weigh more the
later they are, in steps: whenever their number doubles, regrets and averages so far are halved, which is the linear
weighting of [Brown & Sandholm 2019] with one pass over the table per doubling.

A hash table begins small and grows with its rows, up to `memory`. When the places for a row are then all taken the row
that was visited least goes (`full="evict"`), or the new one is not kept and plays uniformly (`full="refuse"`). With one
thread a seed gives the same bytes, interrupted or not; more threads share the table without locks and differ in the
order of sums.

A *grafted* blueprint has a base: only the rows of one part of the game are trained, and elsewhere the base plays, as
chance does [Gibson & Szafron 2011, Def. 3.2]. One in a hash table is saved with its base and plays from both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store as artefacts
from kibitz.core.errors import SolverError
from kibitz.core.loop import check_stops, in_blocks
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.trusted import same_game
from kibitz.solvers import tables
from kibitz.solvers.machines import machine_of
from kibitz.solvers.stores import Store
from kibitz.solvers.table_strategy import TableStrategy

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.games.protocol import Game
    from kibitz.games.tree import Tree

BLOCK_SECONDS = 0.2  # between looks at the clock: so Ctrl-C and progress are prompt
FIRST_BLOCK = 20  # iterations of one thread
EXPLORE = 0.6  # of outcome sampling: the share of uniform play
FIRST_HALVING = 1000  # iterations before regrets are halved for the first time
KIND = "blueprint"  # of artefacts
BASE = "base_"  # before the names of a base's arrays
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
    """The rows of a game under an abstraction, and the state of its training. It is a strategy
    (`kibitz.forms.strategy`)."""

    machine: Machine
    view: RowKeys
    store: Store
    seed: int = 0
    iteration: int = 0
    seconds: float = 0.0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(4, np.int64))
    base: Blueprint | None = None  # plays outside `part`
    part: int = -1  # the part whose rows are trained; -1: all
    seats: int = -1  # mask of the seats that the base plays outside the part; -1: all
    base_digest: str = ""  # of the base that an expert was loaded without
    walks: Any = field(default=None, init=False, compare=False)  # kibitz.solvers.gpu.GpuWalks, while a GPU trains it

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
    ) -> Blueprint:
        """An untrained blueprint, in a hash table that can grow to `memory` bytes.

        game         a spec, a game, or a Machine
        abstraction  a name of the game's (`machine.abstractions`; of poker also buckets of hands), or whatever
                     kibitz.abstraction takes where the game has a tree; default: the game's own choice
        arrays       what an abstraction needs beside its name (buckets of hands)
        base, part   train only the rows of one part (`machine.parts`); `base` plays the rest
        """
        machine = machine_of(game)
        if full not in tables.FULL:
            raise SolverError(f"full={full}: choose evict (drop the least visited row) or refuse (store no new rows)")
        if not 0 <= seed < 1 << 63:
            raise SolverError(f"seed={seed} must be a whole number from 0")
        view = machine.view(machine.default if abstraction is None else abstraction, arrays)
        blueprint = cls(machine, view, tables.HashedRows.empty(memory, machine.actions, full), seed)
        if (base is None) != (part is None):
            raise SolverError("an expert needs both a base for the rest of the game and the part to train")
        if base is not None and part is not None:
            if not same_game(base.machine.spec, machine.spec) or base.base is not None:
                raise SolverError(f"the base should be a blueprint of {machine.spec} that is not an expert itself")
            blueprint.base, blueprint.part = base, machine.part(part)
        return blueprint

    def __repr__(self) -> str:
        return (
            f"Blueprint of {self.machine.spec} by {self.abstraction}: {self.iteration:,} iterations, "
            f"{self.store.used:,} of {self.capacity:,} rows"
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
    def table(self) -> Any:
        """The rows as kernels take them."""
        return self.store.table

    @property
    def nbytes(self) -> int:
        """Memory of the rows."""
        return sum(array.nbytes for array in self.table if isinstance(array, np.ndarray))

    @property
    def capacity(self) -> int:
        """The largest number of rows."""
        return self.store.capacity

    @property
    def full(self) -> str:
        """What happens to a new row if the table is full: evict (drop the least visited row) or refuse."""
        return self.store.full

    # Training

    def train(
        self,
        iterations: int | None = None,
        seconds: float | None = None,
        threads: int = 1,
        on_block: Callable[[Progress], bool | None] | None = None,
        device: str = "cpu",
    ) -> None:
        """Train until `iterations` in total or for `seconds` more; `on_block` can return True to stop."""
        if iterations is None and seconds is None:
            raise SolverError("give a stopping condition: iterations or seconds")
        check_stops(iterations, None, seconds)
        if not 1 <= threads <= MOST_THREADS:
            raise SolverError(f"threads={threads} must be from 1 to {MOST_THREADS}")
        threads = threads if self.machine.compiled else 1
        if iterations is not None and self.iteration >= iterations:
            return
        with ExitStack() as stack:
            if device == "gpu":
                from kibitz.solvers.gpu import GpuWalks

                self.check_trainable()
                walks = stack.enter_context(GpuWalks(self))
                step, first = walks.step, walks.first_block
            else:
                pool = stack.enter_context(ThreadPoolExecutor(threads))
                step, first = lambda count: self.step(count, threads, pool), FIRST_BLOCK * threads
            for spent in in_blocks(
                self, step, iterations, seconds, lambda: self.next_halving, first=first, length=BLOCK_SECONDS
            ):
                self.seconds += spent
                if on_block is not None and on_block(self.progress()):
                    return

    @property
    def next_halving(self) -> int:
        """The iteration of the next halving of regrets and averages."""
        at = FIRST_HALVING
        while at <= self.iteration:
            at *= 2
        return at

    def step(self, count: int, threads: int, pool: ThreadPoolExecutor) -> None:
        """Run `count` iterations, at most up to the next halving."""
        self.check_trainable()
        last = self.iteration + count
        self.counts += walked(self, self.mask(), self.base_player(), self.iteration, last, threads, pool)
        halve = last == self.next_halving
        self.iteration = last
        if halve:
            self.store.halve(threads, pool)

    def check_trainable(self) -> None:
        """Refuse a stitched strategy, and an expert without its base."""
        if not self.store.trainable:
            raise SolverError("a stitched strategy cannot be trained: train its base or its experts")
        if self.wants_base:
            raise SolverError("to continue the training of an expert, give its base too (--base)")

    def warm_up(self, device: str = "cpu") -> None:
        """Compile what training runs, so that its clock measures the training. A GPU's walks are compiled as it
        begins."""
        if device == "cpu" and self.store.trainable and not self.wants_base:
            walked(self, self.mask(), self.base_player(), 0, 0, 1, None)  # nothing, but compiled
        self.store.warm_up(self.iteration > 0)

    def order(self) -> Any:
        """How to walk."""
        from kibitz.solvers.kernels.walk import CHANCE_ONLY, EXTERNAL, OUTCOME, WalkOrder

        players, store = self.machine.players, self.store
        mode = {"external": EXTERNAL, "outcome": OUTCOME, "chance": CHANCE_ONLY}[store.sampling]
        return WalkOrder(
            np.int64(mode), EXPLORE if mode == OUTCOME else 0.0, False, store.full == "evict", np.int64(self.seed),
            np.uint64(players), np.uint64((1 << players) - 1), store.prune,
        )  # fmt: skip

    def mask(self) -> Any:
        """Which decisions are trained."""
        from kibitz.solvers.kernels.players import FREE, GRAFT, Mask

        if self.base is None:
            return Mask(np.int64(FREE), np.uint64(0), np.int64(0))
        return Mask(np.int64(GRAFT), np.uint64(self.seats & ((1 << 63) - 1)), np.int64(self.part))

    @cached_property
    def walked_game(self) -> Any:
        """The game as kernels walk it."""
        return self.store.game(self.machine.game)

    def base_player(self) -> Any:
        from kibitz.solvers.kernels.players import UNIFORM

        if self.base is not None:
            return self.base.player()
        return player(self.machine, UNIFORM, self.view, self.store.nothing())

    def progress(self) -> Progress:
        visited, _, evicted, refused = (int(n) for n in self.counts)
        return Progress(self.iteration, self.seconds, visited, self.store.used, evicted, refused)

    @property
    def wants_base(self) -> bool:
        """Whether it is an expert that was loaded without its base, which training needs."""
        return self.part >= 0 and self.base is None

    def rebased(self, base: Blueprint) -> Blueprint:
        """A loaded expert with its base, so that training can continue."""
        if self.base_digest != base.strategy_digest:
            raise SolverError("this is not the base of the expert, or the base was trained further since")
        self.base = base.played()
        return self

    # Playing

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[str]) -> NDArray[np.float64]:
        """[infosets, actions]  the average strategy; see `kibitz.forms.strategy.Strategy`."""
        return self.strategy.rows(player, infosets, actions)

    @property
    def strategy(self) -> TableStrategy:
        """The average strategy, for lookups."""
        base = None if self.base is None or not self.store.with_base else self.base.strategy
        return TableStrategy(self.machine, self.view, self.table, base, self.part)

    def played(self, greedy: bool = False) -> Blueprint:
        """The same strategy, stored for fast play; greedy: always the action with the largest regret."""
        store = self.store.played(greedy)
        return self if store is self.store else replace(self, store=store, base=None, part=-1, seats=-1, base_digest="")

    def check_whole(self) -> None:
        """Raise an error if it plays only a part of the game."""
        if self.part >= 0 and not self.store.with_base:
            raise SolverError("a static expert plays only one part of the game: stitch it to its base and evaluate "
                              "the result")

    def player(self, greedy: bool = False) -> Any:
        """An agent for kibitz.evaluate.match that plays the average strategy, or always the action with the largest
        regret.

        An expert without its base plays only its part. Matches are fastest between blueprints stored in bytes
        (`played`)."""
        from kibitz.solvers.kernels.players import AVERAGE, GREEDY

        base = self.base if self.store.with_base else None
        return player(self.machine, GREEDY if greedy else AVERAGE, self.view, self.table, base, self.part)

    # Files

    @property
    def sha256(self) -> str:
        """Digest of the trained rows and counts, without the training time."""
        return artefacts.digest(self.arrays(), {name: x for name, x in self.meta.items() if name != "seconds"})

    @cached_property
    def strategy_digest(self) -> str:
        """Digest of the strategy."""
        played = self.played()
        return artefacts.digest({**played.store.arrays(), **self.view.arrays}, {"rows": self.store.meta.get("rows")})

    @property
    def meta(self) -> dict[str, Any]:
        """What is saved beside the rows; it identifies the training run."""
        meta: dict[str, Any] = {
            "game": self.machine.spec, "abstraction": self.abstraction, "seed": self.seed, "iteration": self.iteration,
            "seconds": self.seconds, **self.store.meta,
        }  # fmt: skip
        if self.part < 0:
            return meta
        if self.base is not None and self.store.with_base:
            return meta | {"base": self.base.meta, "part": self.part, "seats": self.seats}
        digest = self.base_digest if self.base is None else self.base.strategy_digest
        return meta | {"seats": self.seats, "base": {"sha256": digest, "game": self.machine.spec}}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays that are saved; the rows of a base have names that start with "base_"."""
        if self.walks is not None:
            self.walks.bring_back()
        arrays = {**self.view.arrays, "counts": self.counts, **self.store.arrays()}
        if self.base is not None and self.store.with_base:
            arrays |= {BASE + name: array for name, array in self.base.arrays().items()}
        return arrays

    def save(self, path: str | os.PathLike[str], over: Callable[[dict[str, Any]], bool] | None = None) -> None:
        """Save the rows, so that training can be resumed exactly. load_blueprint
        (kibitz.solvers.saved_blueprints) reads it.

        over: whether an existing blueprint with this meta may be replaced; otherwise kibitz.core.store.Occupied is
        raised.
        """
        artefacts.save(path, KIND, self.arrays(), self.meta, over)


def walked(
    blueprint: Blueprint, mask: Any, base: Any, first: int, last: int, threads: int, pool: ThreadPoolExecutor | None
) -> NDArray[np.int64]:
    """Walk iterations first..last - 1 into a blueprint's table, which grows where it must; returns what happened
    (kernels.walk.hash)."""
    # More pieces than threads: one whose core has a busy neighbour does fewer.
    pieces = 1 if threads == 1 else 8 * threads
    bounds = np.linspace(first, last, pieces + 1).astype(np.int64).tolist()
    left, total, store = list(pairwise(bounds)), np.zeros(4, np.int64), blueprint.store
    while True:
        before = store.copied()
        reached, count = _walked(blueprint, mask, base, left, threads, pool)
        if before is not None and count[REFUSED]:  # an iteration had more new rows than there was room for
            store.table = before
            start, end = left[0]
            if threads == 1 and end - start > 1:  # where the table grows may not depend on how training is cut
                each = (walked(blueprint, mask, base, t, t + 1, 1, pool) for t in range(start, end))
                return total + sum(each, np.zeros(4, np.int64))
            store.grow(len(before.key) // 2, blueprint.counts)
            continue
        total += count
        left = [(stop, end) for stop, (_, end) in zip(reached, left, strict=True) if stop < end]
        if not left:
            return total
        store.grow(store.used, blueprint.counts)


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
        raise SolverError(f"the tree is for {tree.spec}, the blueprint for {blueprint.machine.spec}")
    from kibitz.forms.profile import Profile

    width = np.asarray(tree.infosets.width)
    rows = blueprint.strategy.rows_at(tree.infosets)
    meta = {
        "game": tree.spec, "tree": tree.digest, "solver": "blueprint", "abstraction": blueprint.abstraction,
        "iterations": blueprint.iteration, "seed": blueprint.seed,
    }  # fmt: skip
    return Profile(tree.infosets, rows[np.arange(rows.shape[1]) < width[:, None]], meta)
