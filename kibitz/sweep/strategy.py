"""Strategies for a sweep: by betting and rows, where hands on boards find their rows by buckets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.buckets import HandBuckets
from kibitz.errors import GameError
from kibitz.form.bucket.layout import BucketLayout
from kibitz.sweep.betting import Lanes

Ints = NDArray[np.int64]
Source = HandBuckets | None  # None: all hands have row 0


@dataclass(frozen=True, eq=False)
class SeatStrategy:
    """The strategy of one seat.

    probabilities(segment) are [actions of the seat in the segment, rows of its source there].
    """

    source: Source
    probabilities: Callable[[int], NDArray[Any]]
    digest: str  # of what it plays

    def rows(self, level: int) -> int:
        """Rows of a round."""
        return 1 if self.source is None else self.source.rounds[level].count

    def laid_out(self, lanes: Lanes, seat: int, dtype: Any) -> tuple[list[Ints], NDArray[Any]]:
        """(by group, for each action where its rows begin, in LANES; the strategy by action, row and lane)."""
        from kibitz.kernels.vectors import LANES

        wide, sequence, at = int(LANES), [], 0
        for level in range(lanes.betting.definition.rounds):
            for g in lanes.of_round(level):
                width, rows = int(lanes.width[seat, g]), self.rows(level)
                sequence.append(at + rows * np.arange(width, dtype=np.int64))
                at += rows * width
        table = np.zeros((at, wide), dtype)
        for level in range(lanes.betting.definition.rounds):
            for g in lanes.of_round(level):
                width, rows = int(lanes.width[seat, g]), self.rows(level)
                if width:
                    here = table[sequence[g][0] : sequence[g][0] + rows * width].reshape(width, rows, wide)
                    for lane, segment in enumerate(lanes.groups.lanes[g]):
                        here[:, :, lane] = self.probabilities(segment)
        return sequence, table.ravel()


def within_buckets(
    layout: BucketLayout, buckets: HandBuckets, seat: int, strategy: NDArray[Any], digest: str
) -> SeatStrategy:
    """A seat's strategy of a profile within buckets. strategy: by sequence of the layout."""
    if buckets.digest != layout.buckets_digest:
        raise GameError(
            f"the profile was solved within other buckets than {layout.abstraction} makes now: solve it again"
        )
    return SeatStrategy(buckets, lambda segment: strategy[layout.sequences_of(seat, segment)], digest)


class Always:
    """A strategy that takes the same action whatever it holds: the first of `actions` that a node offers."""

    def __init__(self, lanes: Lanes, actions: tuple[str, ...]) -> None:
        self.lanes, self.actions = lanes, actions

    @cached_property
    def by_segment(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """For each segment and seat: [actions, 1] probabilities."""
        betting, segments = self.lanes.betting, self.lanes.segments
        found = []
        for nodes in segments.node:
            by_seat: tuple[list[float], list[float]] = ([], [])
            for node in nodes.tolist():
                offer = int(betting.actions_of[node])
                if offer < 0:
                    continue
                names = betting.actions[offer]
                taken = next((name for name in self.actions if name in names), None)
                if taken is None:
                    raise GameError(f"none of {', '.join(self.actions)} is offered where {', '.join(names)} are")
                by_seat[int(betting.turn[node])].extend(float(name == taken) for name in names)
            found.append((np.array(by_seat[0])[:, None], np.array(by_seat[1])[:, None]))
        return found

    def seat(self, seat: int) -> SeatStrategy:
        digest = hashlib.sha256(f"always {self.actions}".encode()).hexdigest()
        return SeatStrategy(None, lambda segment: self.by_segment[segment][seat], digest)
