"""SequenceForm: the treeplexes of a game's tree, with what solvers are made of; and how it is built from the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.forms import programme
from kibitz.forms.bundles import CHUNK_WORK, bundle
from kibitz.forms.cfr_state import SequenceCfrState
from kibitz.forms.rows import RowMap
from kibitz.forms.treeplexes import Floats, Treeplexes, normalise
from kibitz.games.protocol import TERMINAL
from kibitz.games.tree import Tree

__all__ = ["SequenceForm", "build", "form_of", "normalise"]

# A seat has at most about this many chunks, so that huge games do not drown in bookkeeping.
MOST_CHUNKS = 256


@dataclass(frozen=True, eq=False, repr=False)
class SequenceForm(Treeplexes):
    """What solvers see of a game with a tree."""

    look_every: ClassVar[int] = 1  # an evaluation takes no longer than an iteration
    game: ClassVar[None] = None  # a tree does not keep its rules
    abstraction: ClassVar[str] = ""

    def __repr__(self) -> str:
        sizes = f"{self.sequences:,} sequences, {self.points:,} decision points, {self.entries:,} payoff entries"
        return f"<SequenceForm of {self.spec or 'a game without a name'}: {sizes}>"

    @property
    def best_cfr(self) -> str:
        """What "auto" uses: dcfr+, the fastest to most target gaps (`kibitz reproduce sandholm --experiment egt`)."""
        return "dcfr+" if self.seats == 2 and self.zero_sum and self.perfect_recall else "cfr+"

    def cfr_state(self, rows: RowMap | None, start: Floats | None) -> SequenceCfrState:
        """Where CFR keeps its numbers."""
        return SequenceCfrState(self, rows, start)

    def gpu_cfr_state(self, rows: RowMap | None, start: Floats | None) -> SequenceCfrState:
        """The same on a GPU."""
        from kibitz.forms.gpu.state import GpuCfrState

        return GpuCfrState(self, rows, start)

    def constraints(self, seat: int) -> tuple[Any, Floats]:
        """E and e of a seat in the linear program."""
        return programme.constraints(self, seat)

    def payoff_matrix(self) -> Any:
        """The payoffs to seat 0 of a two-player form: own sequences by the other's."""
        return programme.payoff_matrix(self)


def form_of(tree: Tree) -> SequenceForm:
    """The sequence form of a tree, built on first use and kept as long as the tree lives."""
    form: SequenceForm | None = tree.__dict__.get("_form")
    if form is None:
        form = build(tree)
        tree.__dict__["_form"] = form
    return form


def build(tree: Tree) -> SequenceForm:
    """Tree -> SequenceForm: number points and sequences, merge leaves, cut into chunks and runs."""
    from kibitz.forms.kernels import layout

    n, infosets = tree.players, tree.infosets
    sequence, reach, infoset, above_seq, first, numbered = layout.trace(
        tree.parent, tree.turn, tree.infoset, tree.action, tree.chance, infosets.width, n
    )
    leaves = np.flatnonzero(tree.turn == TERMINAL)
    where, worth = _merge(sequence[leaves], reach[leaves][:, None] * tree.payoff, numbered)
    del sequence, reach
    seat_of_point = np.searchsorted(infosets.seat_start, infoset, side="right") - 1
    orders = [
        _order_seat(seat, seat_of_point, infosets.width[infoset], above_seq, first, where, worth, numbered)
        for seat in range(n)
    ]
    return _assemble(tree, infoset, above_seq, first, orders, where, worth, numbered)


def _merge(where: NDArray[np.int32], worth: Floats, numbered: NDArray[np.int32]) -> tuple[NDArray[np.int32], Floats]:
    """Add up leaves that are reached by the same sequence of every seat; drop those worth nothing to anybody."""
    if np.prod([float(k) for k in numbered]) < 2**62:
        key = where[:, 0].astype(np.int64)
        for seat in range(1, where.shape[1]):
            key = key * int(numbered[seat]) + where[:, seat]
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(key[order]) != 0)))
    else:
        order = np.lexsort(where.T[::-1])
        starts = np.flatnonzero(np.concatenate(([True], (np.diff(where[order], axis=0) != 0).any(axis=1))))
    worth = np.add.reduceat(worth[order], starts, axis=0)
    where = where[order[starts]]
    kept = (worth != 0.0).any(axis=1)
    return np.ascontiguousarray(where[kept]), np.ascontiguousarray(worth[kept])


@dataclass
class _SeatOrder:
    """The final order of one seat's points, and of its chunks and runs."""

    points: NDArray[np.int64]  # traced point numbers in final order
    chunk: NDArray[np.int32]  # of each, in that order
    depth: NDArray[np.int32]
    width: NDArray[np.int32]
    chunks: int  # with the crown


def _order_seat(
    seat: int,
    seat_of_point: NDArray[np.int64],
    width: NDArray[np.int32],
    above_seq: NDArray[np.int32],
    first: NDArray[np.int32],
    where: NDArray[np.int32],
    worth: Floats,
    numbered: NDArray[np.int32],
) -> _SeatOrder:
    from kibitz.forms.kernels import layout

    mine = np.flatnonzero(seat_of_point == seat)
    owner = np.full(int(numbered[seat]), -1, np.int32)  # traced sequence -> index into `mine`
    owner[1:] = np.repeat(np.arange(len(mine), dtype=np.int32), width[mine])
    per_sequence = 1 + np.bincount(where[worth[:, seat] != 0.0, seat], minlength=len(owner))
    cumulated = np.concatenate(([0], np.cumsum(per_sequence)))
    work = cumulated[first[mine] + width[mine]] - cumulated[first[mine]]
    most = max(CHUNK_WORK, int(per_sequence.sum()) // MOST_CHUNKS)
    chunk, depth = layout.arrange(owner[above_seq[mine]], work.astype(np.int64), most)
    order = np.lexsort((width[mine], depth, chunk))
    return _SeatOrder(mine[order], chunk[order], depth[order], width[mine][order], 1 + int(chunk.max(initial=0)))


def _assemble(
    tree: Tree,
    infoset: NDArray[np.int32],
    above_seq: NDArray[np.int32],
    traced_first: NDArray[np.int32],
    orders: list[_SeatOrder],
    where: NDArray[np.int32],
    worth: Floats,
    numbered: NDArray[np.int32],
) -> SequenceForm:
    from kibitz.forms.kernels.passes import FormArrays

    n, infosets = tree.players, tree.infosets
    seat_sequence = np.concatenate(([0], np.cumsum(numbered))).astype(np.int64)
    if seat_sequence[-1] > np.iinfo(np.int32).max:
        raise GameError(f"the game has {seat_sequence[-1]:,} sequences; at most 2^31 fit the sequence form")
    seat_point = np.concatenate(([0], np.cumsum([len(o.points) for o in orders]))).astype(np.int32)
    traced = np.concatenate([o.points for o in orders])
    width = np.concatenate([o.width for o in orders])
    # Sequences: the empty one of the seat, then each point's in the points' final order.
    first = np.concatenate(([0], np.cumsum(width)))[:-1]
    for seat in range(n):
        lo, hi = seat_point[seat], seat_point[seat + 1]
        if hi > lo:
            first[lo:hi] += seat_sequence[seat] + 1 - first[lo]
    first = first.astype(np.int32)
    # Traced sequence of each seat -> final sequence.
    renumber = []
    parent = np.empty(len(traced), np.uint32)
    for seat in range(n):
        lo, hi = seat_point[seat], seat_point[seat + 1]
        new = np.empty(int(numbered[seat]), np.int32)
        new[0] = seat_sequence[seat]
        wide = width[lo:hi]
        offset = np.arange(int(wide.sum())) - np.repeat(np.cumsum(wide) - wide, wide)
        new[np.repeat(traced_first[traced[lo:hi]], wide) + offset] = np.repeat(first[lo:hi], wide) + offset
        renumber.append(new)
        parent[lo:hi] = new[above_seq[traced[lo:hi]]]
    column = np.full(int(seat_sequence[-1]), -1, np.int64)
    inner = np.ones(len(column), bool)
    inner[seat_sequence[:-1]] = False
    within = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width, width)
    column[inner] = np.repeat(infosets.first[infoset[traced]], width) + within

    runs = _runs(orders, seat_point, first, seat_sequence)
    final = np.stack([renumber[seat][where[:, seat]] for seat in range(n)], axis=1) if len(where) else where
    bundles = bundle(final.astype(np.int64), worth)
    is_bare = np.ones(int(seat_sequence[-1]), bool)
    is_bare[bundles["row_seq"]] = False
    bare = np.flatnonzero(is_bare).astype(np.uint32)
    chunk_bare = np.searchsorted(bare, runs["chunk_seq"]).astype(np.int64)
    return SequenceForm(
        infosets=infosets,
        seat_sequence=seat_sequence.astype(np.int32),
        seat_point=seat_point,
        first=first,
        infoset=infoset[traced],
        column=column,
        arrays=FormArrays(parent=parent, bare=bare, chunk_bare=chunk_bare, **runs, **bundles),
        scale=float(np.abs(tree.payoff).max(initial=0.0)) or 1.0,
        zero_sum=tree.zero_sum,
        spec=tree.spec,
        tree_digest=tree.digest,
    )


def _runs(
    orders: list[_SeatOrder], seat_point: NDArray[np.int32], first: NDArray[np.int32], seat_sequence: NDArray[np.int64]
) -> dict[str, NDArray[np.generic]]:
    """Cut points into runs of one chunk, depth and width; say where chunks and seats begin."""
    run_width: list[NDArray[np.int32]] = []
    run_point: list[NDArray[np.int64]] = []
    run_rooted: list[NDArray[np.bool_]] = []
    chunk_run: list[int] = []
    chunk_seq: list[int] = []
    seat_chunk, hang, seat_hang = [0], [], [0]
    runs = 0
    for seat, o in enumerate(orders):
        base = int(seat_point[seat])
        change = np.ones(len(o.points), bool)
        change[1:] = (np.diff(o.chunk) != 0) | (np.diff(o.depth) != 0) | (np.diff(o.width) != 0)
        starts = np.flatnonzero(change)
        run_width.append(o.width[starts])
        run_point.append(starts + base)
        run_rooted.append((o.chunk[starts] > 0) & (o.depth[starts] == 0))
        in_chunk = np.bincount(o.chunk[starts], minlength=o.chunks)
        chunk_run.extend((runs + np.cumsum(in_chunk) - in_chunk).tolist())
        sizes = np.bincount(o.chunk, o.width, minlength=o.chunks).astype(np.int64)
        sizes[0] += 1  # the empty sequence is the crown's
        chunk_seq.extend((int(seat_sequence[seat]) + np.cumsum(sizes) - sizes).tolist())
        runs += len(starts)
        hang.append(base + np.flatnonzero((o.chunk > 0) & (o.depth == 0)))
        seat_hang.append(seat_hang[-1] + len(hang[-1]))
        seat_chunk.append(seat_chunk[-1] + o.chunks)
    points = np.concatenate(run_point)
    return {
        "run_width": np.concatenate(run_width).astype(np.int64),
        "run_point": np.append(points, seat_point[-1]).astype(np.int64),
        "run_first": first[points].astype(np.int64),
        "run_rooted": np.concatenate(run_rooted),
        "chunk_run": np.array([*chunk_run, runs], np.int64),
        "chunk_seq": np.array([*chunk_seq, seat_sequence[-1]], np.int64),
        "seat_chunk": np.array(seat_chunk, np.int64),
        "seat_hang": np.array(seat_hang, np.int64),
        "hang": np.concatenate(hang).astype(np.uint32),
    }
