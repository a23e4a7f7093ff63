"""The arrays of a sequence form as a GPU reads them.

Sequences keep their numbers, so that a run can move between devices; only plans are in another order, in which those
that are read together lie together.

The points of a seat are cut into *chunks*, each of some whole subtrees: the work of a block of threads, which goes up
the levels of a chunk (how many own decisions were made before) without waiting for others. Where a seat's tree is too
large for that, its first levels are its *crown*, and all blocks share each of them.

A *piece* is the work of a warp at a time: some bundles of payoff rows, points or shared rows of one kind, with as many
lanes for each as its columns, actions or children keep busy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.rows import RowMap
from kibitz.forms.treeplexes import Treeplexes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WARP = 32
PER_LANE = 4  # columns of a bundle, about, before it gets more lanes
SPLIT = 512  # columns of a bundle at most: longer ones are cut
CHILDREN_PER_LANE = 4
BOTTOM = 1 << 10  # in a piece's shift: no decision follows
# What chunks cost, in times that a block needs for a level of points: a level of the crown, and having a crown at all.
BLOCK, BLOCKS, LEVEL_COST, CROWN_COST, MOST_CROWN = 1024, 128, 3.0, 3.0, 16
MOST_CODES = 256
# Payoffs of more bytes than this are kept as numbers of a table, where it has at most 256: a GPU's cache then holds
# them.
CODED_FROM = 16 << 20

# As `struct Form` of the source, in that order.
STATE = ("regret", "average", "strategy", "plan", "chosen", "own", "trial", "trial_plan")
ROOM = ("leaf", "value", "best", "worth", "delta", "matched", "result")
FIXED = ("frozen_reach", "share", "table")
INDICES = (
    "other", "target", "bundle", "spot", "place", "child", "path", "start", "member", "row_first", "piece",
    "seat_gradient", "seat_level", "seat_crown", "seat_chunk", "chunk_level", "level_piece", "seat_share",
    "seat_sequence",
)  # fmt: skip
FIELDS = (*STATE, *ROOM, *FIXED, "noise", "payoff", *INDICES)


@dataclass(frozen=True)
class GpuLayout:
    """What does not change in a run: arrays by the names of FIELDS. S sequences, P points, n seats, K columns."""

    arrays: dict[str, NDArray[Any]]
    seats: int
    sequences: int
    points: int
    columns: int  # of the payoff operator: how far the sequences of two other seats lie apart
    slots: int  # values of points, and sums of parts of long rows
    free_columns: int  # of shared rows; 0 where each point has a row of its own
    shared: bool

    @property
    def coded(self) -> bool:
        return len(self.arrays["table"]) > 0

    @property
    def others(self) -> int:
        return max(1, self.seats - 1)

    def room(self) -> dict[str, int]:
        """How many doubles each of the arrays has that a run writes to."""
        shared = self.sequences if self.shared else 0
        return {
            "regret": self.free_columns if self.shared else self.sequences, "average": self.sequences,
            "strategy": self.sequences, "plan": self.sequences, "chosen": shared, "own": shared,
            "trial": self.sequences, "trial_plan": self.sequences, "leaf": self.sequences + self.slots,
            "value": 0, "best": self.slots, "worth": self.sequences, "delta": self.free_columns,
            "matched": self.free_columns, "result": 2 * self.seats,
        }  # fmt: skip

    @property
    def bytes(self) -> int:
        """Memory that a run takes on the device."""
        return sum(a.nbytes for a in self.arrays.values()) + 8 * sum(self.room().values()) + 4 * self.points


def layout_of(form: Treeplexes, rows: RowMap | None, coded: bool | None = None) -> GpuLayout:
    """Lay out a form. coded: payoffs as numbers of a table; default: where they take more memory than a cache has."""
    gradient, gradient_piece, seat_gradient = _bundles(form)
    parts = gradient.pop("parts")
    points, point_piece, level_piece = _points(form, parts)
    gradient["target"] = np.concatenate([gradient["target"], form.sequences + points.pop("part_slot")])
    points["place"] = _places(form, gradient["other"])
    gradient["other"] = points["place"][gradient["other"]]
    shared, share_piece, seat_share = _shared(form, rows)
    payoff = gradient.pop("payoff")
    table, codes = np.zeros(0), None
    if payoff.nbytes > CODED_FROM if coded is None else coded:
        table, codes = _codes(payoff)
    pieces = np.cumsum([0, len(gradient_piece), len(point_piece)])
    arrays: dict[str, NDArray[Any]] = {
        **gradient, **points, **shared,
        "piece": np.concatenate([gradient_piece, point_piece, share_piece]), "seat_gradient": seat_gradient,
        "level_piece": level_piece + pieces[1], "seat_share": seat_share + pieces[2],
        "seat_sequence": form.seat_sequence,
    }  # fmt: skip
    for name, array in arrays.items():
        if array.max(initial=0) > np.iinfo(np.uint32).max:
            raise SolverError(f"the game is too large for a GPU: {name} goes up to {int(array.max()):,}, over 2^32")
    kept: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(a, np.uint32) for name, a in arrays.items()}
    kept |= {
        "payoff": payoff if codes is None else codes, "table": table,
        "frozen_reach": np.zeros(0) if rows is None else rows.kernel.frozen_reach,
        "share": np.zeros(0) if rows is None else np.asarray(rows.kernel.share, np.float64),
    }  # fmt: skip
    return GpuLayout(
        kept, form.seats, form.sequences, form.points, form.arrays.other.shape[1],
        form.points + len(parts), 0 if rows is None else rows.columns, rows is not None,
    )  # fmt: skip


def _pieces(size: Ints, shift: Ints, lanes: Ints, apart: Ints) -> tuple[Ints, Ints]:
    """Work in order -> (pieces [., 4]: first, count, size, shift; which of `apart` each belongs to).

    lanes: log2 of the lanes of each. A piece has work of one size and shift, of one seat or level (`apart`, ascending),
    and fills at most a warp.
    """
    if not len(size):
        return np.zeros((0, 4), np.int64), np.zeros(0, np.int64)
    change = (np.diff(size) != 0) | (np.diff(shift) != 0) | (np.diff(apart) != 0)
    starts = np.flatnonzero(np.concatenate(([True], change)))
    count = np.diff(np.append(starts, len(size)))
    most = WARP >> lanes[starts]
    pieces = -(-count // most)
    within = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    of = np.repeat(np.arange(len(starts)), pieces)
    first = starts[of] + within * most[of]
    left = starts[of] + count[of] - first
    result = np.stack([first, np.minimum(left, most[of]), size[starts][of], shift[starts][of]], axis=1)
    return result, apart[starts][of]


def _shift(work: Ints, each: int) -> Ints:
    """log2 of the lanes that share `work` steps, so that each has about `each` of them."""
    lanes = np.maximum(1, -(-work // each))
    return np.minimum(5, np.ceil(np.log2(lanes)).astype(np.int64))


def _begins(of: Ints, count: int) -> Ints:
    """[count + 1] where the pieces of each seat or level begin."""
    return np.searchsorted(of, np.arange(count + 1)).astype(np.int64)


def _bundles(form: Treeplexes) -> tuple[dict[str, NDArray[Any]], Ints, Ints]:
    """Bundles of payoff rows: the tallest and longest of a seat first, so that warps end together."""
    arrays, seats = form.arrays, form.seats
    count = arrays.batch_bundles
    batch = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(batch)) - np.repeat(np.cumsum(count) - count, count)
    height, length = arrays.batch_height[batch], arrays.batch_length[batch]
    row = arrays.batch_row[batch] + within * height
    column = arrays.batch_column[batch] + within * length
    entry = arrays.batch_entry[batch] + within * height * length
    seat = np.searchsorted(arrays.seat_batch, batch, side="right") - 1
    # Entries of a bundle are read together: those of a seat begin at a multiple of four.
    begin = np.append(arrays.batch_entry, len(arrays.payoff))[arrays.seat_batch]
    payoff = np.zeros(int(sum(-(-size // 4) * 4 for size in np.diff(begin))))
    padding, at = np.zeros(seats, np.int64), 0
    for each in range(seats):
        size = int(begin[each + 1] - begin[each])
        payoff[at : at + size] = arrays.payoff[begin[each] : begin[each + 1]]
        padding[each] = at - begin[each]
        at += -(-size // 4) * 4
    bundle, part = np.arange(len(length)), np.zeros(len(length), np.int64)
    if (length > SPLIT).any():
        count = -(-length // SPLIT)
        bundle = np.repeat(bundle, count)
        part = np.arange(len(bundle)) - np.repeat(np.cumsum(count) - count, count)
    length, height, seat = np.minimum(length[bundle] - part * SPLIT, SPLIT), height[bundle], seat[bundle]
    column, entry = column[bundle] + part * SPLIT, entry[bundle] + part * SPLIT * height
    # Rows of the later parts, each of which has a place of its own.
    later = np.flatnonzero(part)
    new = np.cumsum(height[later]) - height[later]
    of_row = np.repeat(row[bundle[later]] - new, height[later]) + np.arange(int(height[later].sum()))
    row = row[bundle]
    row[later] = len(arrays.row_seq) + new
    order = np.lexsort((-length, -height, seat))
    shift = _shift(length, PER_LANE)
    pieces, of = _pieces(height[order], shift[order], shift[order], seat[order])
    fields: dict[str, NDArray[Any]] = {
        "other": arrays.other.ravel(), "target": arrays.row_seq.astype(np.int64), "parts": arrays.row_seq[of_row],
        "payoff": payoff,
        "bundle": np.stack([row, column, length, (entry + padding[seat]) // np.maximum(height, 1)], axis=1)[order],
    }  # fmt: skip
    return fields, pieces, _begins(of, seats)


def _places(form: Treeplexes, other: NDArray[Any]) -> Ints:
    """[S] where the plan of a sequence lies: in the order in which bundles first read it."""
    read, first = np.unique(other, return_index=True)
    place = np.full(form.sequences, -1, np.int64)
    place[read[np.argsort(first)]] = np.arange(len(read))
    unread = place < 0
    place[unread] = len(read) + np.arange(int(unread.sum()))
    return place


def _points(form: Treeplexes, parts: NDArray[Any]) -> tuple[dict[str, NDArray[Any]], Ints, Ints]:
    """Points by seat, chunk and level, and where each finds the values of what follows and its path from the root.

    parts: the sequences of later parts of long rows, whose sums are added up as values of children are.
    """
    points, parent = form.points, form.parent.astype(np.int64)
    above = form.point_of[parent].astype(np.int64)  # the point before; -1: none
    depth, ancestor = np.zeros(points, np.int64), above.copy()
    while (ancestor >= 0).any():
        depth += ancestor >= 0
        ancestor = np.where(ancestor >= 0, above[ancestor], -1)
    seat = np.repeat(np.arange(form.seats), np.diff(form.seat_point))
    first, width = form.first.astype(np.int64), form.width.astype(np.int64)
    before = np.concatenate([parent, parts.astype(np.int64)])  # the sequence that a value is added to
    children = np.bincount(before, minlength=form.sequences)
    fan = np.maximum.reduceat(children[form.column >= 0], np.cumsum(width) - width) if points else width
    actions = _shift(width, 1)
    of_action = np.minimum(_shift(fan, CHILDREN_PER_LANE), 5 - actions)
    lanes = actions + of_action
    shift = of_action | actions << 5 | np.where(fan > 0, 0, BOTTOM)

    chunk, crown = np.full(points, -1, np.int64), np.zeros(form.seats, np.int64)  # -1: in the crown
    for each in range(form.seats):
        mine = np.flatnonzero(seat == each)
        within = np.where(above[mine] >= 0, above[mine] - form.seat_point[each], -1)
        crown[each], chunk[mine] = chunks_of(within, depth[mine], 1 << lanes[mine])
    order = np.lexsort((np.arange(points), shift, width, depth, chunk, seat))
    level = np.cumsum(_changes(seat[order], chunk[order], depth[order])) - 1
    levels = int(level[-1]) + 1 if points else 0
    at_level = np.searchsorted(level, np.arange(levels))  # its first point, in order
    level_seat, level_chunk = seat[order][at_level], chunk[order][at_level]
    seat_level = np.searchsorted(level_seat, np.arange(form.seats + 1))
    chunk_level: list[int] = []
    seat_chunk = [0]
    for each in range(form.seats):  # the chunks of a seat, and where the last one ends
        low, high = int(seat_level[each]), int(seat_level[each + 1])
        mine = level_chunk[low:high]
        chunk_level += (low + np.flatnonzero((np.diff(mine, prepend=-1) != 0) & (mine >= 0))).tolist()
        chunk_level.append(high)
        seat_chunk.append(len(chunk_level))
    pieces, of = _pieces(width[order], shift[order], lanes[order], level)

    # Values that are added to a sequence lie side by side.
    slot = np.empty(len(before), np.int64)
    slot[np.argsort(before, kind="stable")] = np.arange(len(before))
    path_first = np.concatenate(([0], np.cumsum(depth[order]))).astype(np.int64)
    path = np.zeros(int(path_first[-1]), np.int64)
    step, at = parent[order], above[order]  # from a point up; the path begins at the root
    for back in range(int(depth.max(initial=0))):
        there = depth[order] > back
        path[(path_first[1:] - 1 - back)[there]] = step[there]
        step, at = np.where(there, parent[np.maximum(at, 0)], 0), np.where(there, above[np.maximum(at, 0)], -1)
    fields: dict[str, NDArray[Any]] = {
        "spot": np.stack([np.append(first[order], 0), np.append(slot[:points][order], 0), np.append(order, 0),
                          path_first], axis=1),
        "part_slot": slot[points:], "child": np.concatenate(([0], np.cumsum(children))), "path": path,
        "seat_level": seat_level, "seat_crown": crown, "seat_chunk": np.array(seat_chunk),
        "chunk_level": np.array(chunk_level),
    }  # fmt: skip
    return fields, pieces, _begins(of, levels)


def _changes(*keys: Ints) -> NDArray[np.bool_]:
    """Where one of the keys is another than before."""
    change = np.ones(len(keys[0]), np.bool_)
    change[1:] = np.logical_or.reduce([np.diff(key) != 0 for key in keys])
    return change


def chunks_of(above: Ints, depth: Ints, lanes: Ints) -> tuple[int, Ints]:
    """(levels of the crown, [points] chunk of each point, -1 in the crown) of a seat.

    above: the point before, which comes earlier; -1: none. Chunks are whole subtrees below the crown, several of them
    if they are small. A crown has as many levels as make the whole the quickest, as far as that can be foreseen.
    """
    points = len(above)
    best, cost = 0, np.inf
    for levels in range(min(int(depth.max(initial=0)), MOST_CROWN) + 1):
        inside, _, each = _subtrees(above, depth, lanes, levels)
        rounds = -(-each // BLOCK)
        taken = float(rounds.sum(axis=1).max(initial=0)) + float(lanes[inside].sum()) / (BLOCK * BLOCKS)
        taken += CROWN_COST + LEVEL_COST * levels if levels else 0.0
        if taken < cost:
            best, cost = levels, taken
    inside, root, each = _subtrees(above, depth, lanes, best)
    chunk = np.full(points, -1, np.int64)
    widest = np.cumsum(each.max(axis=1, initial=0))
    number = np.cumsum(_changes((widest - 1) // BLOCK)) - 1 if len(widest) else widest
    chunk[inside] = number[root]
    return best, chunk


def _subtrees(above: Ints, depth: Ints, lanes: Ints, levels: int) -> tuple[Ints, Ints, Ints]:
    """(points below the first levels, the subtree of each, [subtrees, depths] lanes of each subtree's levels)."""
    root = np.where(depth == levels, np.cumsum(depth == levels) - 1, -1)
    for deeper in range(levels + 1, int(depth.max(initial=0)) + 1):
        here = depth == deeper
        root[here] = root[above[here]]
    inside = np.flatnonzero(depth >= levels)
    deepest = int(depth.max(initial=0)) + 1
    count = int((depth == levels).sum())
    key = root[inside] * deepest + depth[inside]
    each = np.bincount(key, lanes[inside], minlength=count * deepest).astype(np.int64).reshape(count, deepest)
    return inside, root[inside], each


def _shared(form: Treeplexes, rows: RowMap | None) -> tuple[dict[str, NDArray[Any]], Ints, Ints]:
    """Rows that several points read."""
    if rows is None:
        none = np.zeros(0, np.int64)
        return (
            {"start": none, "member": none, "row_first": none},
            np.zeros((0, 4), np.int64),
            np.zeros(form.seats + 1, np.int64),
        )
    kernel = rows.kernel
    width = np.repeat(kernel.band_width, kernel.band_rows).astype(np.int64)
    seat = np.repeat(kernel.band_seat, kernel.band_rows).astype(np.int64)
    first = np.cumsum(width) - width
    members = np.diff(kernel.start)
    most = np.maximum.reduceat(members, first) if len(first) else first
    # Rows stay in the order of their columns: a band at a time, with the lanes that its row of most members needs.
    band = np.repeat(np.arange(len(kernel.band_rows)), kernel.band_rows)
    widest = np.maximum.reduceat(most, np.flatnonzero(np.diff(band, prepend=-1))) if len(most) else most
    lanes = _shift(widest, CHILDREN_PER_LANE)[band] if len(band) else band
    pieces, of = _pieces(width, lanes, lanes, seat)
    return {"start": kernel.start, "member": kernel.member, "row_first": first}, pieces, _begins(of, form.seats)


def _codes(payoff: Floats) -> tuple[Floats, NDArray[np.uint8] | None]:
    """(table, payoffs as numbers of it); an empty table where there are too many different payoffs."""
    table = np.unique(payoff[:: max(1, len(payoff) // 65536)])
    for _ in range(2):
        if len(table) > MOST_CODES:
            break
        codes = np.minimum(np.searchsorted(table, payoff), max(0, len(table) - 1))
        other = payoff[table[codes] != payoff] if len(table) else payoff
        if not len(other):
            return table, codes.astype(np.uint8)
        table = np.union1d(table, other)
    return np.zeros(0), None
