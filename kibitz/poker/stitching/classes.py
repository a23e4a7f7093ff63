"""Classes of hands of the first round that several lists of buckets have in common, and buckets by class.

Two lists of buckets divide the hands of the first round differently. Their *classes* are the finest division that both
need: two hands are in one class if every list puts them into one bucket. A list is *refined* by classes: what was one
bucket of a later round becomes one bucket for each class that comes there. So all lists have the same first round, and
a way of betting can begin in one list and go on in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import HandStrengths, run
from kibitz.core.errors import SolverError
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets

Ints = NDArray[np.int64]
BOARDS = 512  # that a thread takes at a time


@dataclass(frozen=True, eq=False)
class RefinedBuckets:
    """Buckets by class, and which buckets of the list that was refined they belong to."""

    buckets: HandBuckets
    row: tuple[Ints, ...]  # by round: [refined buckets] the bucket before it was refined
    of_class: tuple[Ints, ...]  # by round: [refined buckets] its class


def common_classes(every: Sequence[HandBuckets]) -> tuple[Ints, Ints]:
    """([hands of the first round] their classes, [lists, classes] the bucket that each list puts a class into)."""
    tables = []
    for each in every:
        table = each.rounds[0].table
        if table is None or len(table) != 1:
            raise SolverError(f"{each.name}: parts with their own buckets need a first round without a board")
        tables.append(table[0].astype(np.int64))
    bucket, number = np.unique(np.stack(tables), axis=1, return_inverse=True)
    return np.asarray(number, np.int64).ravel(), np.asarray(bucket, np.int64)


def refined(buckets: HandBuckets, classes: Ints, bucket_of: Ints) -> RefinedBuckets:
    """Buckets by class. classes: [hands of the first round]; bucket_of: [classes] which of `buckets` each is in."""
    rounds: list[RoundBuckets] = []
    rows, of_class = [], []
    above = np.arange(buckets.rounds[0].count)  # [buckets of a round] the bucket of the first round
    table: NDArray[Any] = classes[None, :].astype(np.uint16)  # [boards, hands] classes on the boards of a round
    before = np.zeros(0, np.int64)  # by class, how far its buckets of the round before are moved
    for level, of in enumerate(buckets.rounds):
        if level:
            above = above[of.parent]
        starts = np.searchsorted(above, np.arange(buckets.rounds[0].count + 1))
        low, count = starts[bucket_of], np.diff(starts)[bucket_of]
        first = np.cumsum(count) - count
        of_class.append(np.repeat(np.arange(len(bucket_of)), count))
        rows.append(np.arange(int(count.sum())) - np.repeat(first - low, count))
        parent = of.parent[rows[-1]]
        parent = parent + before[of_class[-1]] if level else parent
        before = first - low
        if of.table is None:
            assert of.least is not None
            rounds.append(RoundBuckets(len(parent), parent, least=of.least[rows[-1]]))
            continue
        if level:
            table = HandStrengths(buckets.boards, buckets.hole, _no_values).lifted(level, table)
        rounds.append(RoundBuckets(len(parent), parent, _renumbered(of.table, table, before, len(parent))))
    name = f"{buckets.name} by {len(bucket_of)} classes"
    whole = HandBuckets(name, buckets.boards, buckets.hole, tuple(rounds), buckets.meta)
    return RefinedBuckets(whole, tuple(rows), tuple(of_class))


def _renumbered(numbers: NDArray[Any], classes: NDArray[Any], moved: Ints, count: int) -> NDArray[Any]:
    """[boards, hands]  buckets by class, of which there are `count`."""
    from kibitz.poker.stitching.kernels.classes import renumber

    out = np.empty(numbers.shape, np.uint16 if count <= 1 << 16 else np.uint32)
    parts = [slice(low, low + BOARDS) for low in range(0, len(out), BOARDS)]
    run(lambda at: renumber(numbers[at], classes[at], moved, out[at]), parts)
    return out


def _no_values(cards: Any) -> Ints:
    raise SolverError("hands are lifted from round to round here, not evaluated")
