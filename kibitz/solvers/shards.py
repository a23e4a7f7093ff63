"""Training one blueprint in shards, on the cores of this machine or the nodes of a cluster (`kibitz.core.executor`).

Training goes in rounds. In a round each shard walks iterations of its own, from the rows as they are at the beginning
of the round; then what they have learned is added up (`merging.py`). The random numbers of an iteration follow from its
number, so shards walk the same deals as plain training would; what differs is that a shard does not yet know what the
others learn in this round, and takes what it learns itself for what they do. The more a round has, the fewer bytes
travel, and the staler are the rows.

A shard is one piece of work on one core. Its answer does not depend on where it is done, and answers are added in the
order of the shards: the number of shards and the length of a round say what the result is, to the byte, and the number
of workers does not. Regrets and averages are halved between two rounds, never within one. Nothing else is done to them
that is not a sum: regrets may go below zero, as in plain training.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.artefacts import SharedArtefact, located, made_artefact
from kibitz.core.compiling import clock
from kibitz.core.errors import SolverError
from kibitz.core.executor import current
from kibitz.core.loop import breakable, check_stops, in_blocks, interruptible
from kibitz.core.pieces import Apart, Executor, Piece
from kibitz.core.pools import go_on
from kibitz.solvers.blueprint import BLOCK_SECONDS, Blueprint, Progress, walked
from kibitz.solvers.checkpoints import Keeper
from kibitz.solvers.merging import Arrays, changes, merged, size_of
from kibitz.solvers.merging import begun as begun_rows
from kibitz.solvers.saved_blueprints import load_blueprint

SHARE, LEAST = 0.02, 25  # of the iterations so far in a round, unless its length is said; iterations of each shard
MOST_SHARDS = 1 << 16
COPIES = 3  # of a table, while a shard is walked: its own, the same in the order of keys, and what it has changed
COUNTS = "counts"
FIRST = 200  # iterations of a shard, before it knows how long they take
Begun = Blueprint | tuple[SharedArtefact, str]  # in this process, or by name: the saved blueprint and its game


@dataclass(frozen=True)
class Sharding:
    """How training is divided.

    merge_every  iterations that each shard walks between two merges; None: more and more, so that a round has a share
                 of all iterations before it
    alone        shards do not count for one another within a round (`merging.py`); for comparisons
    """

    shards: int
    merge_every: int | None = None
    alone: bool = False

    def __post_init__(self) -> None:
        every = 1 if self.merge_every is None else self.merge_every
        for name, value, most in (("shards", self.shards, MOST_SHARDS), ("merge_every", every, 1 << 53)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
                raise SolverError(f"{name}={value!r} must be a whole number from 1 to {most:,}")

    @property
    def scale(self) -> float:
        """Of the regrets that a shard begins with."""
        return 1.0 if self.alone else 1.0 / self.shards

    def spans(self, first: int, bound: int) -> list[tuple[int, int]]:
        """The iterations of each shard in a round from `first` on, which ends at `bound` at the latest."""
        every = self.merge_every or max(LEAST, int(SHARE * first) // self.shards)
        last = min(first + self.shards * every, bound)
        cuts = [first + (last - first) * k // self.shards for k in range(self.shards + 1)]
        return [(cuts[k], cuts[k + 1]) for k in range(self.shards) if cuts[k] < cuts[k + 1]]


@dataclass(frozen=True)
class MergedRound:
    """A round that is over."""

    iterations: int
    walk_seconds: float  # of all shards together, on a core
    merge_seconds: float  # of one core
    sent: int  # bytes that every node gets
    received: int  # bytes that all shards answer


def walk_shard(
    snapshot: Arrays, begun: Begun, scale: float, first: int, last: int
) -> tuple[Arrays, NDArray[np.int64], float]:
    """(rows that iterations first..last - 1 change, what happened, seconds). scale: of regrets at the beginning."""
    started = begun if isinstance(begun, Blueprint) else _opened(*begun)
    before = begun_rows({name: array for name, array in snapshot.items() if name != COUNTS}, scale)
    counts = np.array(snapshot[COUNTS])
    shard = replace(started, store=started.store.renewed(before, counts), counts=counts, iteration=first)
    shard.store.prune *= scale
    mask, base, began = shard.mask(), shard.base_player(), clock()

    def step(count: int) -> None:
        shard.counts += walked(shard, mask, base, shard.iteration, shard.iteration + count, 1, None)
        shard.iteration += count

    for _ in in_blocks(shard, step, last, None, lambda: last, first=FIRST, length=BLOCK_SECONDS):
        go_on()
    seconds = clock() - began
    return changes(before, shard.store.arrays()), shard.counts - snapshot[COUNTS], seconds


@lru_cache(1)
def _opened(artefact: SharedArtefact, game: str) -> Blueprint:
    """The blueprint of this process; the next pieces are mostly of the same one."""
    return load_blueprint(located(artefact), game=game)


def rounds(
    blueprint: Blueprint, sharding: Sharding, iterations: int | None = None,
    stopped: threading.Event | None = None,
) -> Iterator[MergedRound]:  # fmt: skip
    """Train in rounds, until `iterations` in total; whoever reads may stop reading after any of them.

    stopped: Ctrl-C sets it and drops the round that it came in.
    """
    blueprint.check_trainable()
    executor, stopped = current(), stopped or threading.Event()
    begun = _begun(blueprint, executor)
    apart: Apart = "threads" if blueprint.machine.compiled else "processes"
    while iterations is None or blueprint.iteration < iterations:
        due = blueprint.next_halving
        spans = sharding.spans(blueprint.iteration, due if iterations is None else min(due, iterations))
        rows = blueprint.store.arrays()
        snapshot = {COUNTS: blueprint.counts, **rows}
        memory = COPIES * blueprint.nbytes
        pieces = [Piece((begun, sharding.scale, *span), cost=span[1] - span[0], memory=memory) for span in spans]
        answers: dict[int, Any] = {}
        with breakable(stopped):
            answers.update(executor.map(walk_shard, pieces, apart, shared=(snapshot,)))
        if stopped.is_set():
            return
        began = time.thread_time()
        shards, counts, seconds = zip(*(answers[k] for k in range(len(pieces))), strict=True)
        _merge(blueprint, merged(rows, shards, sharding.scale), counts)
        blueprint.iteration = spans[-1][1]
        if blueprint.iteration == due:
            with ThreadPoolExecutor(1) as pool:
                blueprint.store.halve(1, pool)
        yield MergedRound(spans[-1][1] - spans[0][0], sum(seconds), time.thread_time() - began, size_of(snapshot),
                          sum(map(size_of, shards)))  # fmt: skip


def _merge(blueprint: Blueprint, rows: Arrays, counts: Sequence[NDArray[np.int64]]) -> None:
    """Rows that several shards have added count once: the store counts them."""
    total = np.sum(counts, axis=0)
    total[1] = 0
    blueprint.counts += total
    blueprint.store.write(rows, blueprint.counts)


def _begun(blueprint: Blueprint, executor: Executor) -> Begun:
    """The blueprint as pieces know it: itself, where they are done in threads of this process."""
    machine = blueprint.machine
    if machine.compiled and not executor.elsewhere:
        return blueprint
    if not machine.spec:
        raise SolverError("shards on other machines or in other processes build the game from its name: this one has "
                          "none; give it as FILE.py:CLASS, or train it without shards")
    if blueprint.base is not None and not blueprint.store.with_base:
        raise SolverError("a static expert in buckets is trained in shards on this machine alone: leave --on out, or "
                          "train it without --shards")
    played = blueprint.played()
    return executor.artefact(made_artefact(f"blueprint-{played.sha256[:20]}", played.save)), machine.spec


def continued_in_shards(
    blueprint: Blueprint,
    keeper: Keeper,
    sharding: Sharding,
    iterations: int | None,
    seconds: float | None,
    on_progress: Callable[[Progress], None] | None = None,
    finish: Callable[[Path], None] | None = None,
) -> bool:
    """Train a blueprint further in shards and save it; returns whether Ctrl-C stopped it.

    It is saved after merges alone. A round that Ctrl-C or a kill broke off is walked again when training continues, so
    the result is the same. finish: saves at the end instead of `keeper.save`.
    """
    if iterations is None and seconds is None:
        raise SolverError("give a stopping condition: iterations or seconds")
    check_stops(iterations, None, seconds)
    began = now = clock()
    with interruptible() as stopped:
        for _ in rounds(blueprint, sharding, iterations, stopped):
            blueprint.seconds += clock() - now
            now = clock()
            if on_progress is not None:
                on_progress(blueprint.progress())
            if stopped.is_set() or (seconds is not None and now - began >= seconds):
                break
            keeper.save_if_due()
        if keeper.path is not None:
            (finish or keeper.save)(keeper.path)
    return stopped.is_set()
