"""HandBuckets: which bucket a hand on a board is in, round by round. Who makes them is in `kibitz.abstractions`.

A bucket of a round is a number from 0 on. With *perfect recall* a bucket says the bucket before it (`parent`), and
buckets of a parent follow one another; so a bucket of the last round names its whole path. Otherwise the seat forgets.

In most rounds a table says the bucket of each hand on each board of `Boards`. On the river of Texas hold'em it would
have 2.8 billion entries; hands are cut by strength: `ahead` is twice the hands that a hand beats on the board plus
those that it ties, and a bucket holds those of its parent's hands that are at least so much ahead.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards
from kibitz.errors import GameError

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RoundBuckets:
    """The buckets of one round: C buckets, B boards, H hands on a board, P buckets before (1 if forgotten)."""

    count: int
    parent: Ints  # [C]  bucket of the round before; in the first round 0; -1 where they are forgotten
    table: NDArray[Any] | None = None  # [B, H]  uint16 or uint32; None: cut by strength, in the last round alone
    least: Ints | None = None  # [C]  cut by strength: how far ahead a hand is at least; 0 in a parent's first bucket

    @cached_property
    def first(self) -> Ints:
        """[P + 1]  the first bucket of each parent; of one parent alone where they are forgotten."""
        if (self.parent < 0).any():
            return np.array([0, self.count], np.int64)
        return np.searchsorted(self.parent, np.arange(int(self.parent[-1]) + 2)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class HandBuckets:
    """Buckets of hands for all rounds of a poker game's cards."""

    name: str  # the spec that makes them again, such as "percentile(8)"
    boards: Boards
    hole: int
    rounds: tuple[RoundBuckets, ...]
    meta: dict[str, Any] = field(default_factory=dict)  # how they were made: expected error by round, seconds, seed

    def __post_init__(self) -> None:
        if len(self.rounds) != len(self.boards.rounds):
            raise GameError(f"buckets are given for each of the {len(self.boards.rounds)} rounds")
        for level, of in enumerate(self.rounds):
            shape = len(self.boards.rounds[level].cards), self.boards.hands(level, self.hole)
            if of.count < 1 or of.parent.shape != (of.count,):
                raise GameError(f"round {level} has {of.count} buckets, and parents of {of.parent.shape}")
            if of.table is not None and (of.table.shape != shape or of.table.dtype.kind != "u"):
                raise GameError(f"round {level} has a table of {of.table.shape}, not of {shape} unsigned numbers")
            if of.table is None and (of.least is None or of.least.shape != (of.count,) or level + 1 < len(self.rounds)):
                raise GameError(f"round {level} has neither a table nor cuts by strength")

    @property
    def counts(self) -> list[int]:
        """How many buckets each round has."""
        return [of.count for of in self.rounds]

    @property
    def perfect_recall(self) -> bool:
        """Whether a bucket tells the one before it."""
        return all((of.parent >= 0).all() for of in self.rounds[1:])

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is in which bucket."""
        content = hashlib.sha256(f"hand buckets 1 {self.boards.ranks} {self.boards.suits} {self.boards.board} "
                                 f"{self.hole}\0".encode())  # fmt: skip
        for of in self.rounds:
            content.update(f"{of.count}\0".encode() + of.parent.astype("<i8").tobytes())
            held = of.table if of.table is not None else of.least
            assert held is not None
            step = 1 << 12
            for at in range(0, len(held), step):
                content.update(held[at : at + step].astype("<u4").tobytes())
        return content.hexdigest()
