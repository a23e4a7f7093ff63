"""The matrices of the linear program of a bucket form, for small ones: the Kronecker products written out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.poker.exact.programme import MOST_ENTRIES

if TYPE_CHECKING:
    from kibitz.poker.bucketed.operator import BucketOperator

Ints = NDArray[np.int64]


def payoff_entries(form: BucketOperator) -> int:
    """How many entries of the payoff matrix are not zero, without writing it."""
    entries = 0
    for group in form.groups:
        meets, wins = form.host_weights.meets[group.table], form.host_weights.wins[group.table]
        entries += group.lanes * len(group.folds) * int(np.count_nonzero(meets))
        entries += group.lanes * len(group.showdowns) * int(np.count_nonzero(wins))
    return entries


def payoff_matrix(form: BucketOperator) -> Any:
    """Payoffs to seat 0 by the sequences of both seats, as a sparse matrix."""
    from scipy.sparse import csc_matrix

    entries = payoff_entries(form)
    if entries > MOST_ENTRIES:
        raise SolverError(
            f"the payoff matrix of {form.spec} within {form.abstraction} has {entries:,} entries; the limit is "
            f"{MOST_ENTRIES:,}. Use dcfr+, which does not need the matrix"
        )
    lasts = last_sequences(form, 0), last_sequences(form, 1)
    shape = int(form.seat_sequence[1]), int(form.seat_sequence[2] - form.seat_sequence[1])
    rows, columns, values = [], [], []
    for g, group in enumerate(form.groups):
        for ends, matrix in ((group.folds, form.host_weights.meets), (group.showdowns, form.host_weights.wins)):
            i, j = np.nonzero(matrix[group.table])
            worth = matrix[group.table][i, j]
            for end in ends:
                for lane in range(group.lanes):
                    own, other = (lasts[seat][g](end.before[seat])[lane] for seat in (0, 1))
                    rows.append(own[i])
                    columns.append(other[j] - shape[0])
                    values.append(end.stake[0, lane] * worth)
    where = np.concatenate(rows), np.concatenate(columns)
    payoffs = csc_matrix((np.concatenate(values), where), shape=shape)
    payoffs.eliminate_zeros()
    return payoffs


def last_sequences(form: BucketOperator, seat: int) -> list[Any]:
    """By group: a function from the seat's last action there (-1: none yet) to its last sequences [lanes, buckets]."""
    numbers = np.arange(form.sequences)
    first = form.groups[0]
    roots: list[Ints] = [np.full((first.lanes, int(form.rows[0])), int(form.seat_sequence[seat]))]
    roots += [np.zeros((g.lanes, int(form.rows[g.table])), np.int64) for g in form.groups[1:]]

    def at(g: int) -> Any:
        return lambda action: roots[g] if action < 0 else form.view(numbers, seat, g)[action]

    for g, group in enumerate(form.groups):
        for link in group.links:
            after = form.groups[link.group]
            roots[link.group][link.onto] = at(g)(link.before[seat])[link.lanes][:, form.parents[after.table]]
    return [at(g) for g in range(len(form.groups))]


def points_of(form: BucketOperator, seat: int) -> Iterator[tuple[Ints, Ints]]:
    """(sequences before, sequences of the actions) of each node where a seat decides."""
    last = last_sequences(form, seat)
    for g, group in enumerate(form.groups):
        for node in group.nodes:
            if node.seat == seat:
                after = [last[g](node.first + a).ravel() for a in range(node.count)]
                yield last[g](node.before).ravel(), np.stack(after)
