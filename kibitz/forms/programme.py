"""The matrices of the sequence-form linear programme, for forms of two players [von Stengel 1996]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.treeplex import Points
from kibitz.forms.treeplexes import Treeplexes

Floats = NDArray[np.float64]


def constraints(form: Treeplexes, seat: int) -> tuple[Any, Floats]:
    """E and e of a seat: the empty sequence has plan 1, and the actions of a point add up to its parent."""
    from scipy.sparse import csc_matrix

    lo, hi = int(form.seat_point[seat]), int(form.seat_point[seat + 1])
    base, size = int(form.seat_sequence[seat]), int(form.seat_sequence[seat + 1] - form.seat_sequence[seat])
    points = hi - lo
    owner = form.point_of[base + 1 : base + size].astype(np.int64) - lo
    rows = np.concatenate(([0], np.arange(points) + 1, owner + 1))
    columns = np.concatenate(([0], form.parent[lo:hi].astype(np.int64) - base, np.arange(1, size)))
    entries = np.concatenate(([1.0], -np.ones(points), np.ones(size - 1)))
    side = np.zeros(points + 1)
    side[0] = 1.0
    return csc_matrix((entries, (rows, columns)), shape=(points + 1, size)), side


def constraints_of(points: Points, first: int, last: int) -> tuple[Any, Floats]:
    """E and e of a seat: the empty sequence has plan 1, and the actions of a point add up to the sequence before it.

    The seat's sequences are first to last - 1.
    """
    from scipy.sparse import csc_matrix

    rows, columns, entries = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)], [np.ones(1)]
    count = 1
    for before, after in points:
        number = count + np.arange(len(before))
        count += len(before)
        for sequences, sign in ((before, -1.0), *((each, 1.0) for each in after)):
            rows.append(number)
            columns.append(sequences - first)
            entries.append(np.full(len(before), sign))
    side = np.zeros(count)
    side[0] = 1.0
    where = np.concatenate(rows), np.concatenate(columns)
    return csc_matrix((np.concatenate(entries), where), shape=(count, last - first)), side


def payoff_matrix(form: Treeplexes) -> Any:
    """The payoffs to seat 0 of a two-player form as a sparse matrix: own sequences by the other's sequences."""
    from scipy.sparse import csc_matrix

    a = form.arrays
    lo, hi = int(a.seat_batch[0]), int(a.seat_batch[1])
    rows, columns, entries = [], [], []
    for b in range(lo, hi):
        height, length, bundles = int(a.batch_height[b]), int(a.batch_length[b]), int(a.batch_bundles[b])
        row = a.row_seq[a.batch_row[b] : a.batch_row[b] + bundles * height].reshape(bundles, 1, height)
        column = a.other[0, a.batch_column[b] : a.batch_column[b] + bundles * length].reshape(bundles, length, 1)
        first = int(a.batch_entry[b])
        rows.append(np.broadcast_to(row, (bundles, length, height)).ravel())
        columns.append(np.broadcast_to(column, (bundles, length, height)).ravel())
        entries.append(a.payoff[first : first + bundles * length * height])
    none = [np.zeros(0, np.int64)]
    shape = (int(form.seat_sequence[1]), int(form.seat_sequence[2] - form.seat_sequence[1]))
    row = np.concatenate(rows or none).astype(np.int64)
    column = np.concatenate(columns or none).astype(np.int64) - int(form.seat_sequence[1])
    matrix = csc_matrix((np.concatenate(entries or [np.zeros(0)]), (row, column)), shape=shape)
    matrix.eliminate_zeros()
    return matrix
