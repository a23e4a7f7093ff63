"""RowBlueprint: a blueprint of limit poker whose rows lie by betting and bucket (`kibitz.poker.rules.rows`).

    machine = machine_of("holdem.limit.3p")
    base = RowBlueprint.laid_out(machine, Rows(("percentile([169, 4, 2, 2], forget=1)",)))
    base.train(seconds=600, threads=2)

Its size is known before it is made, and it is trained as any blueprint. A *static expert* has rows in one part of the
game, where all seats learn; outside of it the base plays the seats of S, and the others learn as well, within the
base's buckets [Gibson & Szafron 2011, Def. 3.2]. *Dynamic experts* are rows that are finer in some parts: one
training. `stitched` puts a base and its experts into one strategy, which is played from bytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.compiling import aside
from kibitz.core.errors import GameError, SolverError
from kibitz.core.resources import free_memory
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.trusted import same_game
from kibitz.poker.rules.rows import RowLayout, Rows, data_of, rows_from
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint, Progress, walked

BYTES = 4  # of a regret, and of a weight in the average
PIECE = 1 << 24  # columns that are checked at a time
DIGEST_BYTES = 32
SAMPLINGS = ("external", "chance")


@dataclass(repr=False)
class RowBlueprint(Blueprint):
    """Rows by betting and bucket. `part` is 1 where a base plays outside of the rows' part, else -1."""

    layout: RowLayout = None  # type: ignore[assignment]
    sampling: str = "external"  # or "chance": one deal, all betting
    prune: float = 0.0  # regret below which actions are passed over in most walks, 0: never

    @classmethod
    def laid_out(
        cls,
        machine: Machine,
        rows: Rows,
        seed: int = 0,
        base: RowBlueprint | None = None,
        seats: Sequence[int] | None = None,
        sampling: str = "external",
        prune: float = 0.0,
    ) -> RowBlueprint:
        """One that has learned nothing. base, seats: a static expert, S = seats; default: all.

        prune: a regret below 0, in chips.
        """
        if sampling not in SAMPLINGS:
            raise SolverError(f"sampling={sampling}: choose {' or '.join(SAMPLINGS)}")
        if not prune <= 0 or (prune and sampling != "external"):
            raise SolverError(f"prune={prune:g}: give a regret below 0, with external sampling")
        layout, view = _viewed(machine, rows)
        chosen = range(machine.players) if seats is None else seats
        mask = sum(1 << seat for seat in set(chosen))
        low, high = 0, layout.columns
        if base is not None:
            low, high = _averaged(layout, mask)
        check_memory(layout, high - low)
        table = _store(np.zeros(layout.columns, np.float32), np.zeros(high - low, np.float32), low)
        made = cls(machine, view, table, seed, "refuse", layout=layout, sampling=sampling, prune=float(prune))
        if base is not None:
            if not same_game(base.machine.spec, machine.spec):
                raise SolverError(f"the base is a blueprint of {base.machine.spec}, not of {machine.spec}")
            if len(rows.parts) != 1:
                raise SolverError("a static expert is for one part; name it")
            made.base, made.part, made.seats = base.played(), 1, mask
        return made

    @property
    def rows(self) -> int:
        return self.layout.size

    @property
    def capacity(self) -> int:
        return self.layout.size

    def progress(self) -> Progress:
        return replace(super().progress(), rows=self.rows)

    @property
    def trainable(self) -> bool:
        """Whether it has regrets; a stitched strategy has none."""
        return hasattr(self.table, "regret")

    @cached_property
    def walked_game(self) -> Any:
        """The game, cut into the parts of the rows."""
        return self.machine.game._replace(part=self.layout.part)

    def order(self) -> Any:
        from kibitz.solvers.kernels.walk import CHANCE_ONLY, EXTERNAL

        mode = np.int64(CHANCE_ONLY if self.sampling == "chance" else EXTERNAL)
        return super().order()._replace(mode=mode, prune=self.prune)

    def step(self, count: int, threads: int, pool: ThreadPoolExecutor) -> None:
        if not self.trainable:
            raise SolverError("a stitched strategy is played, not trained: train its base or its experts")
        if self.wants_base:
            raise SolverError("an expert goes on with the base that it was trained onto: give that too (--base)")
        super().step(count, threads, pool)

    def warm_up(self) -> None:
        from kibitz.solvers.kernels.columns import scale

        if self.trainable and not self.wants_base:
            walked(self, self.mask(), self.base_player(), 0, 0, 1, None)  # nothing, but compiled
            scale(self.table.regret, 0, 0, np.float32(0.5))
        if self.trainable and not self.iteration:  # memory is given to a process when it is first written to
            with aside():
                for array in (self.table.regret, self.table.average):
                    array.fill(0.0)

    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None:
        from kibitz.solvers.kernels.columns import scale

        for array in (self.table.regret, self.table.average):
            cuts = np.linspace(0, len(array), threads + 1).astype(np.int64)
            list(pool.map(lambda cut, of=array: scale(of, *cut, np.float32(0.5)), list(pairwise(cuts))))

    # Playing

    def player(self, greedy: bool = False) -> Any:
        """One who plays, wherever it has rows: an expert alone plays its part, a stitched strategy everything. Matches
        are quickest between those in bytes (`played`)."""
        from kibitz.solvers.kernels.players import AVERAGE, GREEDY, Player

        kind = np.int64(GREEDY if greedy else AVERAGE)
        return Player(kind, self.keys, self.table, np.int64(-1), self.keys, self.table)

    def base_player(self) -> Any:
        if self.base is not None:
            return self.base.player()
        from kibitz.solvers.kernels.columns import ByteStore
        from kibitz.solvers.kernels.players import UNIFORM, Player

        nothing = ByteStore(np.zeros(1, np.uint8))  # of the type that a base has, so that walks are compiled once
        return Player(np.int64(UNIFORM), self.keys, nothing, np.int64(-1), self.keys, nothing)

    def shares(self, greedy: bool = False) -> NDArray[np.uint8]:
        """[columns]  the average strategy in bytes: each action's share of 255. greedy: all on the largest regret."""
        if not self.trainable:
            found: NDArray[np.uint8] = self.table.share
            return found
        from kibitz.solvers.kernels.columns import to_bytes

        out = np.zeros(self.layout.columns, np.uint8)
        to_bytes(self.machine.game.node, *blocks_of(self.layout), self.layout.column, self.table, greedy,
                 np.zeros(self.machine.actions), out)  # fmt: skip
        return out

    def played(self, greedy: bool = False) -> RowBlueprint:
        """The same strategy, in bytes; greedy: always the action that is regretted most."""
        return self if not self.trainable else self._in_bytes(self.shares(greedy))

    def _in_bytes(self, shares: NDArray[np.uint8]) -> RowBlueprint:
        from kibitz.solvers.kernels.columns import ByteStore

        return RowBlueprint(self.machine, self.view, ByteStore(shares), self.seed, self.full, self.iteration,
                            self.seconds, self.counts, layout=self.layout, sampling=self.sampling,
                            prune=self.prune)  # fmt: skip

    # Files

    @property
    def sha256(self) -> str:
        return store.digest(self._arrays(), {name: x for name, x in self.meta.items() if name != "seconds"})

    @property
    def meta(self) -> dict[str, Any]:
        meta = {
            "game": self.machine.spec, "abstraction": self.abstraction, "rows": data_of(self.layout.rows),
            "columns": self.layout.columns, "sampling": self.sampling, "prune": self.prune, "seed": self.seed,
            "iteration": self.iteration, "seconds": self.seconds,
        }  # fmt: skip
        if self.part == 1:
            meta |= {"seats": self.seats, "base": {"sha256": self._base_digest, "game": self.machine.spec}}
        return meta

    @cached_property
    def _base_digest(self) -> str:
        assert isinstance(self.base, RowBlueprint)
        return self.base.strategy_digest

    @cached_property
    def strategy_digest(self) -> str:
        """Of what it plays, in bytes."""
        return store.digest({"share": self.shares(), **self.view.arrays}, {"rows": data_of(self.layout.rows)})

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {**self.view.arrays, "counts": self.counts}
        if not self.trainable:
            return arrays | {"share": self.table.share}
        return arrays | {"regret": self.table.regret, "average": self.table.average}

    def save(self, path: str | os.PathLike[str], over: Any = None) -> None:
        store.save(path, tables.KIND, self._arrays(), self.meta, over)

    @classmethod
    def read(cls, held: Any, machine: Machine, compact: bool) -> RowBlueprint:
        """What a file holds: checked, for nobody vouches for it. compact: in bytes, to play from."""
        meta, arrays = held.meta, held.arrays
        rows = rows_from(meta["rows"])
        digests = _digests(rows, arrays["buckets_digest"])
        layout, view = _viewed(machine, rows, digests)
        counts, seed, iteration = np.array(arrays["counts"]), int(meta["seed"]), int(meta["iteration"])
        if counts.shape != (4,) or counts.dtype != np.int64 or counts.min() < 0:
            raise ValueError("its counts are damaged")
        if not (0 <= iteration < 1 << 60 and 0 <= seed < 1 << 63 and float(meta["seconds"]) >= 0):
            raise ValueError("no training has its numbers")
        seats = int(meta["seats"]) if "base" in meta else -1
        sampling, prune = str(meta["sampling"]), float(meta["prune"])
        if sampling not in SAMPLINGS or not -1e30 < prune <= 0:
            raise ValueError("no training has its numbers")
        made = cls(machine, view, None, seed, "refuse", iteration, float(meta["seconds"]), counts, layout=layout,
                   sampling=sampling, prune=prune)  # fmt: skip
        if "share" in arrays:
            share = arrays["share"]
            if share.shape != (layout.columns,) or share.dtype != np.uint8:
                raise ValueError("its numbers do not fit")
            return made._in_bytes(np.array(share))
        low, high = _averaged(layout, seats) if "base" in meta else (0, layout.columns)
        for name, length in (("regret", layout.columns), ("average", high - low)):
            _check(arrays[name], length, name == "average")
        check_memory(layout, high - low)
        made.table = _store(np.array(arrays["regret"]), np.array(arrays["average"]), low)
        if "base" in meta:
            made.part, made.seats = 1, seats
            made.__dict__["_base_digest"] = str(meta["base"]["sha256"])
        return made.played() if compact else made

    parallel = True

    def check_whole(self) -> None:
        if self.part == 1:
            raise SolverError("a static expert plays one part of the game: stitch it onto its base, and measure that")

    @property
    def wants_base(self) -> bool:  # type: ignore[override]
        """Whether it is an expert that was loaded without its base, which training needs."""
        return self.part == 1 and self.base is None

    def rebased(self, base: Blueprint) -> RowBlueprint:
        """A loaded expert with the base that it was trained onto, so that training can go on."""
        if not isinstance(base, RowBlueprint) or self._base_digest != base.strategy_digest:
            raise SolverError("that is not the base which this expert was trained onto, or it was trained further")
        self.base = base.played()
        return self


def _viewed(machine: Machine, rows: Rows, digests: Sequence[str] | None = None) -> tuple[RowLayout, RowKeys]:
    made = getattr(machine, "row_view", None)
    if made is None:
        raise GameError(f"{machine.spec} is no limit poker: its rows are hashed")
    found: tuple[RowLayout, RowKeys] = made(rows, digests)
    return found


def _averaged(layout: RowLayout, seats: int) -> tuple[int, int]:
    """The columns whose average a static expert keeps: those of the seats of S, from the first to the last."""
    chosen = [seat for seat in range(len(layout.columns_by_seat)) if seats >> seat & 1]
    if not chosen:
        raise SolverError("a static expert needs at least one seat that the base plays outside of its part")
    return int(layout.seat_start[chosen[0]]), int(layout.seat_start[chosen[-1] + 1])


def _store(regret: NDArray[np.float32], average: NDArray[np.float32], low: int) -> Any:
    from kibitz.solvers.kernels.columns import ColumnStore

    return ColumnStore(regret, average, np.uint64(low))


def _digests(rows: Rows, array: Any) -> list[str]:
    """Fingerprints of buckets, by name; those of no buckets are empty."""
    text = np.asarray(array, np.uint8).tobytes().hex()
    found, size = [], 2 * DIGEST_BYTES
    for name in rows.buckets:
        found.append(text[:size] if name else "")
        text = text[size:] if name else text
    return found


def _check(array: Any, length: int, positive: bool) -> None:
    if array.shape != (length,) or array.dtype != np.float32:
        raise ValueError("its numbers do not fit")
    for at in range(0, length, PIECE):
        some = array[at : at + PIECE]
        if not np.isfinite(some).all() or (positive and some.min(initial=0.0) < 0.0):
            raise ValueError("some of its numbers are damaged")


def check_memory(layout: RowLayout, averaged: int | None = None) -> None:
    """Refuse rows that do not fit into what is free."""
    needed = BYTES * (layout.columns + (layout.columns if averaged is None else averaged))
    free = free_memory()
    if needed > tables.MEMORY_SHARE * free:
        raise SolverError(
            f"{layout.size:,} infosets take {needed / 1e9:.1f} GB for regrets and averages, but {free / 1e9:.1f} GB "
            "are free: choose fewer buckets, or a smaller --limit"
        )


def blocks_of(layout: RowLayout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([places, 2] nodes from..to of each place, [places] its buckets)."""
    rounds = layout.rounds
    early = np.arange(rounds.early)
    later = rounds.begin[rounds.template[1:, None] + np.arange(2)]
    return np.concatenate([np.stack([early, early + 1], axis=1), later]), layout.buckets


def stitched(base: RowBlueprint, experts: Mapping[str, Mapping[int, RowBlueprint]]) -> RowBlueprint:
    """A base and its static experts as one strategy. experts: part -> seat -> the expert that plays it there."""
    from kibitz.solvers.kernels.columns import copy_blocks

    machine, parts = base.machine, tuple(experts)
    names = []
    for part, by_seat in experts.items():
        if set(by_seat) != set(range(machine.players)):
            raise SolverError(f"part {part}: name an expert for each of the {machine.players} seats")
        of = {expert.layout.rows.buckets[1 + expert.layout.rows.parts.index(part)] for expert in by_seat.values()}
        if len(of) != 1:
            raise SolverError(f"part {part}: the experts of all seats should see through the same buckets")
        names.append(of.pop())
    if base.layout.rows.parts:
        raise SolverError("a base with parts of its own cannot be stitched onto: begin with one that sees all alike")
    layout, view = _viewed(machine, Rows((base.layout.rows.buckets[0], *names), parts))
    shares = np.zeros(layout.columns, np.uint8)
    sizes = layout.sizes
    outside = layout.part == 0
    held = base.shares()
    for seat in range(machine.players):
        copy_blocks(held, base.layout.column[:, seat], shares, layout.column[:, seat], sizes[:, seat], outside)
    for number, (part, by_seat) in enumerate(experts.items()):
        for expert in {id(each): each for each in by_seat.values()}.values():
            held, inside = expert.shares(), layout.part == number + 1
            own = expert.layout.rows.parts.index(part) + 1
            inside &= expert.layout.part == own
            for seat in (seat for seat, each in by_seat.items() if each is expert):
                copy_blocks(held, expert.layout.column[:, seat], shares, layout.column[:, seat], sizes[:, seat], inside)
    from kibitz.solvers.kernels.columns import ByteStore

    return RowBlueprint(machine, view, ByteStore(shares), base.seed, "refuse", base.iteration, base.seconds,
                        base.counts.copy(), layout=layout)  # fmt: skip
