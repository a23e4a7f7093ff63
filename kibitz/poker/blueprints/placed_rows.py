"""PlacedRows: the rows of a blueprint of limit poker, whose places follow from betting and bucket
(`kibitz.poker.rules.rows`).

    machine = machine_of("holdem.limit.3p")
    base = placed_blueprint(machine, RowPlan(("percentile([169, 4, 2, 2], forget=1)",)))
    base.train(seconds=600, threads=2)

Their number is known before training begins, and nothing is hashed. A *static expert* has rows in one part of the game,
where all seats learn; outside of it the base plays the seats of S, and the others learn as well, in the base's abstract
game [Gibson & Szafron 2011, Def. 3.2]. *Dynamic experts* are rows that are finer in some parts: one training.
`stitched` puts a base and its experts into one strategy, which is played from bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import aside
from kibitz.core.errors import GameError, SolverError
from kibitz.core.resources import cores, free_memory
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.trusted import same_game
from kibitz.poker.rules.rows import NONE, RowLayout, RowPlan, data_of, rows_from, within
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.saved_blueprints import training_numbers
from kibitz.solvers.stores import Store

BYTES = 4  # of a regret, and of a weight in the average
PIECE = 1 << 24  # columns that are checked at a time
DIGEST_BYTES = 32
SAMPLINGS = ("external", "outcome", "chance")


class PlacedRows(Store):
    """Columns by betting and bucket: of regrets and averages, or of a strategy in bytes that is only played."""

    parallel, with_base = True, False

    def __init__(self, layout: RowLayout, table: Any, machine: Machine, sampling: str = "external", prune: float = 0.0):
        self.layout, self.table, self.machine, self.sampling, self.prune = layout, table, machine, sampling, prune
        self.trainable, self.capacity = hasattr(table, "regret"), layout.size

    @property
    def used(self) -> int:
        return self.layout.size

    def game(self, game: Any) -> Any:
        """The game, cut into the parts of the rows."""
        return game._replace(part=self.layout.part)

    def nothing(self) -> Any:
        return _bytes(np.zeros(1, np.uint8))

    def warm_up(self, begun: bool) -> None:
        from kibitz.solvers.kernels.columns import scale

        if self.trainable:
            scale(self.table.regret, 0, 0, np.float32(0.5))
        if self.trainable and not begun:  # memory is given to a process when it is first written to
            with aside():
                for array in (self.table.regret, self.table.average):
                    _side_by_side(partial(_clear, array), _cuts(len(array)))

    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None:
        from kibitz.solvers.kernels.columns import scale

        for array in (self.table.regret, self.table.average):
            cuts = np.linspace(0, len(array), threads + 1).astype(np.int64)
            list(pool.map(lambda cut, of=array: scale(of, *cut, np.float32(0.5)), list(pairwise(cuts))))

    def shares(self, greedy: bool = False) -> NDArray[np.uint8]:
        """[columns]  the average strategy in bytes: each action's share of 255. greedy: all on the largest regret."""
        if not self.trainable:
            return np.asarray(self.table.share)
        from kibitz.solvers.kernels.columns import to_bytes

        out = np.zeros(self.layout.columns, np.uint8)
        own = np.where(self.layout.first[:, None], self.layout.column, NONE)  # rows that places share are written once
        span, buckets = blocks_of(self.layout)

        def write(low: int, high: int) -> None:
            here = slice(low, high)
            to_bytes(self.machine.game.node, span[here], buckets[here], own[here], self.table, greedy,
                     np.zeros(self.machine.actions), out)  # fmt: skip

        _side_by_side(write, _cuts(self.layout.columns, np.diff(span, axis=1)[:, 0] * buckets))
        return out

    def played(self, greedy: bool = False) -> PlacedRows:
        if not self.trainable:
            return self
        return PlacedRows(self.layout, _bytes(self.shares(greedy)), self.machine, self.sampling, self.prune)

    def arrays(self) -> dict[str, NDArray[Any]]:
        table = self.table
        return {"regret": table.regret, "average": table.average} if self.trainable else {"share": table.share}

    def renewed(self, arrays: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> PlacedRows:
        low = int(self.table.low) if self.trainable else 0
        table = _columns(np.array(arrays["regret"]), np.array(arrays["average"]), low)
        return PlacedRows(self.layout, table, self.machine, self.sampling, self.prune)

    def write(self, arrays: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        self.table.regret[...], self.table.average[...] = arrays["regret"], arrays["average"]

    @property
    def meta(self) -> dict[str, Any]:
        return {"rows": data_of(self.layout.rows), "columns": self.layout.columns, "sampling": self.sampling,
                "prune": self.prune}  # fmt: skip


def _cuts(columns: int, work: NDArray[np.int64] | None = None) -> list[tuple[int, int]]:
    """What threads take, from..to: columns, or items with so much work each."""
    pieces = min(cores(), max(1, columns // PIECE))
    if work is None:
        cuts = np.linspace(0, columns, pieces + 1).astype(np.int64)
    else:
        done = np.concatenate([[0], np.cumsum(work)])
        cuts = np.searchsorted(done, np.linspace(0, done[-1], pieces + 1))
    return [(int(low), int(high)) for low, high in pairwise(cuts)]


def _clear(array: NDArray[Any], low: int, high: int) -> None:
    array[low:high] = 0.0


def _side_by_side(work: Callable[[int, int], Any], cuts: list[tuple[int, int]]) -> None:
    """On all cores: a table of hold'em has gigabytes."""
    if len(cuts) == 1:
        work(*cuts[0])
        return
    with ThreadPoolExecutor(len(cuts)) as pool:
        list(pool.map(lambda cut: work(*cut), cuts))


def layout_of(blueprint: Blueprint) -> RowLayout:
    """Where the rows of a blueprint lie; refuses one in a hash table."""
    if not isinstance(blueprint.store, PlacedRows):
        raise SolverError("the blueprint has hashed rows: train one of limit poker in an abstract game of buckets")
    return blueprint.store.layout


def is_placed(blueprint: Blueprint | None) -> bool:
    """Whether the rows of a blueprint lie by betting and bucket."""
    return blueprint is not None and isinstance(blueprint.store, PlacedRows)


def placed_blueprint(
    machine: Machine,
    rows: RowPlan,
    seed: int = 0,
    base: Blueprint | None = None,
    seats: Sequence[int] | None = None,
    sampling: str = "external",
    prune: float = 0.0,
) -> Blueprint:
    """A blueprint that has learned nothing. base, seats: a static expert, S = seats; default: all.

    prune: a regret below 0, in chips.
    """
    if sampling not in SAMPLINGS:
        raise SolverError(f"sampling={sampling}: choose {', '.join(SAMPLINGS)}")
    if not prune <= 0 or (prune and sampling != "external"):
        raise SolverError(f"prune={prune:g}: give a regret below 0, with external sampling")
    layout, view = _viewed(machine, rows)
    mask = sum(1 << seat for seat in set(range(machine.players) if seats is None else seats))
    low, high = (0, layout.columns) if base is None else _averaged(layout, mask)
    check_memory(layout, high - low)
    table = _columns(np.zeros(layout.columns, np.float32), np.zeros(high - low, np.float32), low)
    blueprint = Blueprint(machine, view, PlacedRows(layout, table, machine, sampling, float(prune)), seed)
    if base is not None:
        if not same_game(base.machine.spec, machine.spec):
            raise SolverError(f"the base is a blueprint of {base.machine.spec}, not of {machine.spec}")
        if len(rows.parts) != 1:
            raise SolverError("a static expert belongs to one part: give that part")
        blueprint.base, blueprint.part, blueprint.seats = base.played(), 1, mask
    return blueprint


def read_blueprint(artefact: Any, machine: Machine, compact: bool) -> Blueprint:
    """The blueprint of a file, checked, for nobody vouches for it. compact: in bytes, to play from."""
    meta, arrays = artefact.meta, artefact.arrays
    plan = rows_from(meta["rows"])
    layout, view = _viewed(machine, plan, _digests(plan, arrays["buckets_digest"]))
    sampling, prune = str(meta["sampling"]), float(meta["prune"])
    if sampling not in SAMPLINGS or not -1e30 < prune <= 0:
        raise ValueError("its numbers are impossible")
    numbers = training_numbers(meta, arrays)
    if "share" in arrays:
        share = arrays["share"]
        if share.shape != (layout.columns,) or share.dtype != np.uint8:
            raise ValueError("its numbers do not fit")
        rows = PlacedRows(layout, _bytes(np.array(share)), machine, sampling, prune)
        return Blueprint(machine, view, rows, **numbers)
    seats = int(meta["seats"]) if "base" in meta else -1
    low, high = _averaged(layout, seats) if "base" in meta else (0, layout.columns)
    for name, length in (("regret", layout.columns), ("average", high - low)):
        _check(arrays[name], length, name == "average")
    check_memory(layout, high - low)
    table = _columns(np.array(arrays["regret"]), np.array(arrays["average"]), low)
    blueprint = Blueprint(machine, view, PlacedRows(layout, table, machine, sampling, prune), **numbers)
    if "base" in meta:
        blueprint.part, blueprint.seats, blueprint.base_digest = 1, seats, str(meta["base"]["sha256"])
    return blueprint.played() if compact else blueprint


def _viewed(machine: Machine, rows: RowPlan, digests: Sequence[str] | None = None) -> tuple[RowLayout, RowKeys]:
    if not hasattr(machine, "row_view"):
        raise GameError(f"{machine.spec} is not limit poker: its rows are hashed")
    view: tuple[RowLayout, RowKeys] = machine.row_view(rows, digests)
    return view


def _averaged(layout: RowLayout, seats: int) -> tuple[int, int]:
    """The columns whose average a static expert keeps: those of the seats of S, from the first to the last."""
    chosen = [seat for seat in range(len(layout.columns_by_seat)) if seats >> seat & 1]
    if not chosen:
        raise SolverError("a static expert needs at least one player who uses the base outside the part")
    return int(layout.seat_start[chosen[0]]), int(layout.seat_start[chosen[-1] + 1])


def _columns(regret: NDArray[np.float32], average: NDArray[np.float32], low: int) -> Any:
    from kibitz.solvers.kernels.columns import ColumnStore

    return ColumnStore(regret, average, np.uint64(low))


def _bytes(shares: NDArray[np.uint8]) -> Any:
    from kibitz.solvers.kernels.columns import ByteStore

    return ByteStore(shares)


def _digests(rows: RowPlan, array: Any) -> list[str]:
    """Fingerprints of buckets, by name; those of no buckets are empty."""
    text = np.asarray(array, np.uint8).tobytes().hex()
    digests, size = [], 2 * DIGEST_BYTES
    for name in rows.buckets:
        digests.append(text[:size] if name else "")
        text = text[size:] if name else text
    return digests


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
            "are free: choose fewer buckets, or a smaller --max-infosets"
        )


def blocks_of(layout: RowLayout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """([places, 2] nodes from..to of each place, [places] its buckets)."""
    rounds = layout.rounds
    early = np.arange(rounds.early)
    later = rounds.begin[rounds.template[1:, None] + np.arange(2)]
    return np.concatenate([np.stack([early, early + 1], axis=1), later]), layout.buckets


def stitched(base: Blueprint, experts: Mapping[str, Mapping[int, Blueprint]]) -> Blueprint:
    """A base and its static experts as one strategy. experts: part -> seat -> the expert that plays it there.

    A base may have parts itself, if it is stitched already: they stay, but for those within a new part.
    """
    machine, parts, outside = base.machine, tuple(experts), layout_of(base)
    names = []
    for part, by_seat in experts.items():
        if set(by_seat) != set(range(machine.players)):
            raise SolverError(f"part {part}: name an expert for each of the {machine.players} seats")
        plans = [layout_of(expert).rows for expert in by_seat.values()]
        buckets = {plan.buckets[1 + plan.parts.index(part)] for plan in plans}
        if len(buckets) != 1:
            raise SolverError(f"part {part}: the experts of all players must use the same buckets")
        names.append(buckets.pop())
    kept = [part for part in outside.rows.parts if not any(within(outside.rounds, part, new) for new in parts)]
    old = [outside.rows.buckets[1 + outside.rows.parts.index(part)] for part in kept]
    layout, view = _viewed(machine, RowPlan((outside.rows.buckets[0], *old, *names), (*kept, *parts)))
    shares = np.zeros(layout.columns, np.uint8)
    _copy(base, range(machine.players), layout, shares, layout.part <= len(kept))
    for number, (part, by_seat) in enumerate(experts.items(), len(kept)):
        for expert in {id(each): each for each in by_seat.values()}.values():
            own = layout_of(expert)
            inside = (layout.part == number + 1) & (own.part == own.rows.parts.index(part) + 1)
            _copy(expert, [seat for seat, each in by_seat.items() if each is expert], layout, shares, inside)
    return Blueprint(machine, view, PlacedRows(layout, _bytes(shares), machine), base.seed, base.iteration,
                     base.seconds, base.counts.copy())  # fmt: skip


def played_rows(machine: Machine, rows: RowPlan, shares: NDArray[np.uint8], like: Blueprint) -> Blueprint:
    """A strategy of bytes, as `stitched` makes one; like: whose training it was. ValueError: the bytes do not fit."""
    layout, view = _viewed(machine, rows)
    if shares.shape != (layout.columns,) or shares.dtype != np.uint8:
        raise ValueError("its numbers do not fit")
    return Blueprint(machine, view, PlacedRows(layout, _bytes(shares), machine), like.seed, like.iteration,
                     like.seconds, like.counts.copy())  # fmt: skip


def _copy(
    source: Blueprint, seats: Sequence[int], layout: RowLayout, shares: NDArray[np.uint8], places: NDArray[np.bool_]
) -> None:
    """Copy what a blueprint plays in some seats and places into the columns of another layout."""
    from kibitz.solvers.kernels.columns import copy_blocks

    assert isinstance(source.store, PlacedRows)
    played, own = source.store.shares(), source.store.layout
    for seat in seats:
        copy_blocks(played, own.column[:, seat], shares, layout.column[:, seat], layout.sizes[:, seat], places)
