"""Rows: which distribution a decision reads, and which infosets are trainable.

A row is one probability distribution over the actions of one (abstract) infoset. An abstraction maps infosets to
rows; stitching says which are trainable and freezes the others at a base strategy, where they act as chance.
Without either, each infoset has a row of its own, and solvers use the sequence form as it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.treeplexes import Floats, Treeplexes
from kibitz.games.tree import Infosets

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import RowArrays

Bools = NDArray[np.bool_]
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class RowMap:
    """A map from infosets to rows for one form. I infosets, K infoset columns, S sequences, C free columns."""

    form: Treeplexes
    row: NDArray[np.int64]  # [I]  infoset -> row
    moves: Bools  # [rows]  is the row trainable?
    base: Floats  # [K]  probabilities of frozen rows; 0 at closed actions; not read elsewhere
    free: NDArray[np.int64]  # [K]  infoset column -> free column, -1 if frozen or closed
    width: NDArray[np.int64]  # [C]  how many columns the row of a free column has
    kernel: RowArrays  # what the kernels read

    def __repr__(self) -> str:
        return f"<RowMap: {self.rows:,} rows for {len(self.row):,} infosets, {int(self.moves.sum()):,} may move>"

    @property
    def rows(self) -> int:
        return len(self.moves)

    @property
    def columns(self) -> int:
        return len(self.width)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the map, the mask and the base where it is read: checkpoints are compared with it."""
        content = hashlib.sha256()
        for part in (self.row, self.moves, np.where(self.free < 0, self.base, 0.0), self.free):
            content.update(str(part.shape).encode() + np.ascontiguousarray(part).tobytes())
        return content.hexdigest()

    def lift(self, weights: Floats) -> Floats:
        """Weights by sequence -> probabilities by infoset column of the real game.

        Sequences that read the same column add up. A row of weight zero (its seat never comes there) is uniform.
        """
        k = self.kernel
        sums = np.add.reduceat(weights[k.member], k.start[:-1]) if len(k.member) else np.zeros(0)
        row_of = np.repeat(np.arange(len(self._row_first)), self._row_width)
        totals = np.add.reduceat(sums, self._row_first) if len(sums) else np.zeros(0)
        safe = np.where(totals > 0.0, totals, 1.0)[row_of]
        shares = np.where(totals[row_of] > 0.0, sums / safe, 1.0 / self.width)
        return np.where(self.free >= 0, shares[np.maximum(self.free, 0)] if len(shares) else 0.0, self.base)

    @property
    def _row_first(self) -> NDArray[np.int64]:
        k = self.kernel
        parts = [f + w * np.arange(n) for f, w, n in zip(k.band_first, k.band_width, k.band_rows, strict=True)]
        return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)

    @property
    def _row_width(self) -> NDArray[np.int64]:
        return np.repeat(self.kernel.band_width, self.kernel.band_rows).astype(np.int64)


def row_map(
    form: Treeplexes,
    row: NDArray[np.int64] | None = None,
    moves: Bools | None = None,
    base: Floats | None = None,
    closed: Bools | None = None,
    by_position: bool = False,
) -> RowMap:
    """Build a RowMap.

    row     [I] infoset -> row number; default: each infoset its own. Infosets that share a row must belong to one
            seat and have the same actions, or with `by_position` as many.
    moves   [rows] which rows may move; default: all. Frozen rows need `base`.
    base    [K] probabilities by infoset column, read where rows are frozen.
    closed  [K] actions that the abstraction drops: they are never played. Infosets of a row must agree.
    """
    from kibitz.forms.kernels.cfr import RowArrays
    from kibitz.forms.kernels.evaluate import all_plans

    infosets = form.infosets
    count = len(infosets.labels)
    row = np.arange(count, dtype=np.int64) if row is None else np.asarray(row, np.int64)
    if row.shape != (count,) or (count and row.min() < 0):
        raise SolverError(f"an abstraction gives each of the {count:,} infosets one row number from 0 on")
    rows = int(row.max(initial=-1)) + 1
    moves = np.ones(rows, bool) if moves is None else np.asarray(moves, bool)
    if moves.shape != (rows,):
        raise SolverError(f"the mask of rows that may move has {moves.size:,} entries for {rows:,} rows")
    columns = int(infosets.first[-1])
    closed = np.zeros(columns, bool) if closed is None else np.asarray(closed, bool)
    if base is None and not moves.all():
        raise SolverError("frozen rows need a base strategy to be frozen at")
    base = form.uniform() if base is None else np.asarray(base, np.float64)
    if closed.shape != (columns,) or base.shape != (columns,):
        raise SolverError(f"closed actions and a base have {columns:,} entries, one for each infoset and action")
    base = np.where(closed, 0.0, base)
    check_rows(infosets, row, closed, by_position)
    _check_base(form, ~moves[row], base)

    # Free columns: rows that move, sorted into bands of one seat and one number of open actions.
    representative = np.zeros(rows, np.int64)
    representative[row[::-1]] = np.arange(count)[::-1]
    seat = np.searchsorted(infosets.seat_start, representative, side="right") - 1
    open_count = np.bincount(infosets.row_of_column, ~closed, minlength=count).astype(np.int64)
    used = np.zeros(rows, bool)
    used[row] = True
    free_rows = np.flatnonzero(moves & used)
    row_width = open_count[representative]
    free_rows = free_rows[np.lexsort((free_rows, row_width[free_rows], seat[free_rows]))]
    first = np.full(rows, -1, np.int64)
    first[free_rows] = np.cumsum(row_width[free_rows]) - row_width[free_rows]
    rank = np.cumsum(~closed) - 1  # open columns numbered on; within an infoset the difference is the position
    position = rank - (rank[infosets.first[:-1]] + closed[infosets.first[:-1]])[infosets.row_of_column]
    free = np.where(closed | ~moves[row[infosets.row_of_column]], -1, first[row[infosets.row_of_column]] + position)

    # Sequences -> columns, and back.
    column = np.full(form.sequences, -1, np.int64)
    inner = form.column >= 0
    column[inner] = free[form.column[inner]]
    reads = np.flatnonzero(column >= 0)
    order = reads[np.argsort(column[reads], kind="stable")]
    total = int(row_width[free_rows].sum())
    start = np.searchsorted(column[order], np.arange(total + 1))
    factor = np.ones(form.sequences)
    frozen = inner & ~moves[row[form.infoset[form.point_of]]] if count else inner
    factor[frozen] = base[form.column[frozen]]
    factor[inner] = np.where(closed[form.column[inner]], 0.0, factor[inner])  # nothing is regretted beyond them
    frozen_reach = np.ones(form.sequences)
    all_plans(form.packed, factor, frozen_reach)
    change = np.flatnonzero(
        np.diff(seat[free_rows], prepend=-1) | np.diff(row_width[free_rows], prepend=-1) if len(free_rows) else []
    )
    kernel = RowArrays(
        column=column.astype(np.int32),
        start=start.astype(np.int64),
        member=order.astype(np.uint32),
        share=frozen_reach[form.parent[form.point_of[order]]],
        frozen_reach=frozen_reach,
        band_seat=seat[free_rows][change].astype(np.int32),
        band_width=row_width[free_rows][change].astype(np.int32),
        band_first=first[free_rows][change].astype(np.int32),
        band_rows=np.diff(np.append(change, len(free_rows))).astype(np.int32),
    )
    return RowMap(form, row, moves, base, free, np.repeat(row_width[free_rows], row_width[free_rows]), kernel)


def check_rows(infosets: Infosets, row: NDArray[np.int64], closed: Bools, by_position: bool = False) -> None:
    """Infosets of one row belong to one seat and have the same open actions; the error names two that do not.

    With `by_position` names do not count: it is enough that they have as many actions, open at the same positions.
    """
    shut = np.bincount(infosets.row_of_column, closed, minlength=len(row)).astype(np.int64)
    if (shut == infosets.width).any():
        i = int(np.flatnonzero(shut == infosets.width)[0])
        raise SolverError(f"all actions of infoset {infosets.labels[i]!r} are closed; one must stay open")
    seat = np.searchsorted(infosets.seat_start, np.arange(len(row)), side="right") - 1
    pattern = (infosets.width if by_position else infosets.actions_of).astype(np.int64)
    if closed.any():
        open_sets = [
            (int(pattern[i]), closed[infosets.first[i] : infosets.first[i + 1]].tobytes()) for i in range(len(row))
        ]
        names = {key: k for k, key in enumerate(dict.fromkeys(open_sets))}
        pattern = np.array([names[key] for key in open_sets], np.int64)
    order = np.argsort(row, kind="stable")
    same = np.diff(row[order]) == 0
    for what, values in (("seats", seat), ("actions", pattern)):
        bad = np.flatnonzero(same & (np.diff(values[order]) != 0))
        if len(bad):
            i, j = int(order[bad[0]]), int(order[bad[0] + 1])
            raise SolverError(
                f"infosets {infosets.labels[i]!r} and {infosets.labels[j]!r} cannot share a row: "
                f"they have different {what}"
            )


def _check_base(form: Treeplexes, frozen: Bools, base: Floats) -> None:
    """Frozen infosets have a distribution over open actions; the error names one that has not."""
    infosets = form.infosets
    with np.errstate(invalid="ignore"):
        wrong = ~((base >= 0.0) & (base <= 1.0 + SUM_TOLERANCE))
        sums = np.bincount(infosets.row_of_column, base, minlength=len(frozen))
    bad = frozen & (np.bincount(infosets.row_of_column, wrong, minlength=len(frozen)) > 0)
    bad |= frozen & ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
    if bad.any():
        label = infosets.labels[int(np.flatnonzero(bad)[0])]
        raise SolverError(f"the base at the frozen infoset {label!r} is not a distribution over its open actions")
