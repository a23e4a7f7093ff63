"""Bundles: the payoff operator's layout in memory.

For each seat the payoffs are a sparse matrix: a row per own sequence, a column per combination of the others'
sequences. In games with hidden cards or dice, rows that differ only in what the seat holds have nearly the same
columns. Four such rows that share one list of columns (with explicit zeros where a row lacks one) need a
quarter of the index reads and fetches of plans: the limit of a sparse product moves from fetches to arithmetic.
The structure is found, not declared: rows are grouped by connected components of the row-column graph, and a
bundle is kept only where it is cheaper than its rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Work (sequences and payoff entries) in one chunk: small enough for the cache and for sharing between cores,
# large enough that meeting between chunks costs nothing. The same on every machine: results depend on it.
CHUNK_WORK = 16_384
# A seat of a small game has about so many batches of at least so many entries, so that threads end together. Unlike
# chunks, batches change nothing in the results.
MOST_BATCHES, LEAST_WORK = 16, 1_024
# Cost of a column of a bundle of some height, in loads: two to fetch the plan, one for each two payoffs.
COST = {4: 4.0, 2: 3.0, 1: 3.0}

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def bundle(where: Ints, worth: Floats) -> dict[str, NDArray[Any]]:
    """Lay out leaves as batches of bundles.

    where: [L, n], the sequence of each seat at each (merged) leaf; worth: [L, n], chance times payoff.
    Returns the payoff fields of `kibitz.forms.kernels.passes.Form`.
    """
    n = where.shape[1]
    parts = [_bundle_seat(where, worth[:, seat], seat) for seat in range(n)]
    rows = np.cumsum([0, *(len(p["row_seq"]) for p in parts)])
    columns = np.cumsum([0, *(p["other"].shape[1] for p in parts)])
    entries = np.cumsum([0, *(len(p["payoff"]) for p in parts)])
    if columns[-1] >= 2**32:
        raise MemoryError("the payoff operator has more than 2^32 columns")
    for seat, part in enumerate(parts):
        part["batch_row"] += rows[seat]
        part["batch_column"] += columns[seat]
        part["batch_entry"] += entries[seat]
    joined = {key: np.concatenate([p[key] for p in parts], axis=1 if key == "other" else 0) for key in parts[0]}
    result: dict[str, NDArray[Any]] = {
        key: np.ascontiguousarray(
            value, {"payoff": np.float64, "row_seq": np.uint32, "other": np.uint32}.get(key, np.int64)
        )
        for key, value in joined.items()
    }
    result["seat_batch"] = np.cumsum([0, *(len(p["batch_row"]) for p in parts)]).astype(np.int64)
    return result


def _bundle_seat(where: Ints, payoff: Floats, seat: int) -> dict[str, NDArray[Any]]:
    n = where.shape[1]
    kept = np.flatnonzero(payoff)
    rest = [j for j in range(n) if j != seat]
    rows, row = np.unique(where[kept, seat], return_inverse=True)
    columns, column = _distinct(where[kept][:, rest])
    if n == 1:  # a lone seat plays against its own empty sequence, whose plan is 1
        columns = np.zeros((len(columns), 1), np.int64)
    order, group = _group(row, column, len(rows), len(columns))
    height, number = _heights(order, group, row, column, len(rows), len(columns))

    # One pair (bundle, column) for each column of a bundle; an entry for each of its rows there.
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows))
    code = number[place[row]] * max(1, len(columns)) + column
    pairs, pair = np.unique(code, return_inverse=True)
    of_bundle = pairs // max(1, len(columns))
    bundles = int(number[-1]) + 1 if len(rows) else 0
    length = np.bincount(of_bundle, minlength=bundles)
    bundle_height = np.zeros(bundles, np.int64)
    bundle_height[number] = height
    final = np.lexsort((length, -bundle_height))  # batches: same height, same length
    rank = np.empty(bundles, np.int64)
    rank[final] = np.arange(bundles)

    height, length = bundle_height[final], length[final]
    row_start = np.cumsum(height) - height
    column_start = np.cumsum(length) - length
    entry_start = np.cumsum(height * length) - height * length
    pair_order = np.argsort(rank[of_bundle], kind="stable")
    pair_rank = np.empty(len(pairs), np.int64)
    pair_rank[pair_order] = np.arange(len(pairs))
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    within = np.arange(len(rows)) - starts[number] if len(rows) else np.zeros(0, np.int64)

    row_seq = np.zeros(len(rows), np.int64)
    row_seq[row_start[rank[number]] + within] = rows[order]
    entries = np.zeros(int((height * length).sum()))
    at = rank[number[place[row]]]
    entries[entry_start[at] + (pair_rank[pair] - column_start[at]) * height[at] + within[place[row]]] = payoff[kept]
    batch = _batches(height, length)
    return {
        "batch_height": height[batch],
        "batch_length": length[batch],
        "batch_bundles": np.diff(np.append(batch, bundles)),
        "batch_row": row_start[batch],
        "batch_column": column_start[batch],
        "batch_entry": entry_start[batch],
        "row_seq": row_seq,
        "other": columns[pairs[pair_order] % max(1, len(columns))].T.reshape(max(1, n - 1), -1),
        "payoff": entries,
    }


def _distinct(tuples: Ints) -> tuple[Ints, Ints]:
    """Distinct rows of an array and the number of each row among them; np.unique(axis=0) is ten times slower."""
    span = [int(c.max(initial=0)) + 1 for c in tuples.T]
    if np.prod([float(s) for s in span]) >= 2**62:
        columns, column = np.unique(tuples, axis=0, return_inverse=True)
        return columns, column.reshape(-1)
    key = np.zeros(len(tuples), np.int64)
    for s, c in zip(span, tuples.T, strict=True):
        key = key * s + c
    _, first, column = np.unique(key, return_index=True, return_inverse=True)
    return tuples[first], column


def _group(row: Ints, column: Ints, rows: int, columns: int) -> tuple[Ints, Ints]:
    """An order of rows in which rows with similar columns stand together, and the component of each in that order."""
    from kibitz.forms.kernels.layout import components

    component = components(row, column, rows, columns)
    sorted_by = np.lexsort((column, row))
    first = column[sorted_by][np.searchsorted(row[sorted_by], np.arange(rows))]
    order = np.lexsort((np.bincount(row, minlength=rows), first, component))
    return order, component[order]


def _heights(order: Ints, group: Ints, row: Ints, column: Ints, rows: int, columns: int) -> tuple[Ints, Ints]:
    """The height of the bundle that each row (in order) goes to, and the bundle's number.

    Fours as far as they go in a group, then twos, then ones; a bundle that would cost more than its halves is split.
    """
    fresh = np.diff(group, prepend=-1) != 0
    start = np.flatnonzero(fresh)
    index = np.cumsum(fresh) - 1
    position = np.arange(rows) - start[index] if rows else np.zeros(0, np.int64)
    size = np.bincount(index)[index] if rows else position
    fours = size // 4 * 4
    height = np.where(position < fours, 4, np.where(position - fours < (size - fours) // 2 * 2, 2, 1))
    place = np.empty(rows, np.int64)
    place[order] = np.arange(rows)
    for tall in (4, 2):
        number = _number(height, position)
        of_entry = number[place[row]]
        code = np.sort(of_entry * max(1, columns) + column)
        code = code[np.diff(code, prepend=-1) > 0]  # np.unique hashes, which takes many times as long here
        union = np.bincount(code // max(1, columns), minlength=rows)
        single = np.bincount(of_entry, minlength=rows)
        dear = (union * COST[tall] > single * COST[1])[number]
        height = np.where(dear & (height == tall), tall // 2, height)
    return height, _number(height, position)


def _number(height: Ints, position: Ints) -> Ints:
    """Bundles numbered in row order: a bundle begins at each position that its height divides."""
    return np.cumsum(position % height == 0) - 1


def _batches(height: Ints, length: Ints) -> Ints:
    """First bundle of each batch: a new one where the shape changes, or where the work is enough for a batch."""
    if not len(height):
        return np.zeros(0, np.int64)
    shape = np.flatnonzero((np.diff(height, prepend=-1) != 0) | (np.diff(length, prepend=-1) != 0))
    size = np.diff(np.append(shape, len(height)))
    most = min(CHUNK_WORK, max(LEAST_WORK, int((height * length).sum()) // MOST_BATCHES))
    per_batch = np.maximum(1, most // (height[shape] * length[shape]))
    pieces = -(-size // per_batch)
    offset = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    batches: Ints = np.repeat(shape, pieces) + offset * np.repeat(per_batch, pieces)
    return batches
