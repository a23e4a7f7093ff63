"""HandBuckets: which bucket a hand on a board is in, round by round. Who makes them is in `kibitz.forms.abstraction`.

A bucket of a round is a number from 0 on. With *perfect recall* a bucket says the bucket before it (`parent`), and
buckets of a parent follow one another; so a bucket of the last round names its whole path. Otherwise the seat forgets.

In most rounds a table says the bucket of each hand on each board of `Boards`. On the river of Texas hold'em it would
have 2.8 billion entries; hands are cut by strength: `ahead` is twice the hands that a hand beats on the board plus
those that it ties, and a bucket holds those of its parent's hands that are at least so much ahead.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, boards_of
from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, SolverError

Ints = NDArray[np.int64]

KIND = "hand-buckets"


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
            numbers = of.table if of.table is not None else of.least
            assert numbers is not None
            step = 1 << 12
            for at in range(0, len(numbers), step):
                content.update(numbers[at : at + step].astype("<u4").tobytes())
        return content.hexdigest()

    # What is in which bucket

    def of(self, level: int, cards: NDArray[np.integer]) -> Ints:
        """[n]  the buckets of hands by whatever names of suits: cards [n, private cards and board so far]."""
        board, hand = self.boards.find(level, cards, self.hole)
        return self._at(level, board, hand, cards)

    def _at(self, level: int, board: Ints, hand: Ints, cards: NDArray[np.integer]) -> Ints:
        of = self.rounds[level]
        if of.table is not None:
            return of.table[board, hand].astype(np.int64)
        before = cards[:, : cards.shape[1] - self.boards.board[level]]
        parent = self.of(level - 1, before) if level and of.parent[0] >= 0 else np.zeros(len(cards), np.int64)
        kinds, number = np.unique(board, return_inverse=True)
        ahead = np.concatenate([self._ahead(kinds[at : at + 1024]) for at in range(0, len(kinds), 1024)])
        return _cut(of, parent, ahead[number, hand].astype(np.int64))

    def _ahead(self, boards: Ints) -> NDArray[np.uint16]:
        """How far ahead hands are on some boards of the last round."""
        from kibitz.cards.strengths import HandStrengths

        return HandStrengths(self.boards, self.hole, _no_values).ahead(boards)

    def classes(self, deal: Any) -> list[Ints]:
        """For each round, class of hands -> bucket, for the classes of a poker form."""
        return form_buckets(deal, self.of)

    def weights(self, level: int) -> NDArray[np.float64]:
        """[C]  how likely a hand is to be in each bucket of a round."""
        of, here = self.rounds[level], self.boards.rounds[level]
        weight = np.zeros(of.count)
        step = max(1, (1 << 22) // self.boards.hands(level, self.hole))
        for at in range(0, len(here.cards), step):
            part = slice(at, min(at + step, len(here.cards)))
            total = np.repeat(here.total[part].astype(np.float64), self.boards.hands(level, self.hole))
            weight += np.bincount(self._rows(level, part).ravel(), total, of.count)
        return np.asarray(weight / weight.sum())

    def _rows(self, level: int, part: slice) -> Ints:
        """[boards, H]  the buckets of all hands on some boards."""
        of = self.rounds[level]
        if of.table is not None:
            return of.table[part].astype(np.int64)
        ahead = self._ahead(np.arange(part.start, part.stop)).astype(np.int64)
        parent = np.zeros(ahead.shape, np.int64)
        if level and of.parent[0] >= 0:
            from kibitz.cards.strengths import HandStrengths

            table = self.rounds[level - 1].table
            assert table is not None
            parent = HandStrengths(self.boards, self.hole, _no_values).lifted(level, table, part).astype(np.int64)
        return _cut(of, parent, ahead)

    # On disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as an artefact."""
        arrays: dict[str, NDArray[Any]] = {}
        for level, of in enumerate(self.rounds):
            arrays[f"parent{level}"] = of.parent
            if of.table is not None:
                arrays[f"table{level}"] = of.table
            elif of.least is not None:
                arrays[f"least{level}"] = of.least
        game = {"ranks": self.boards.ranks, "suits": self.boards.suits, "board": list(self.boards.board)}
        store.save(path, KIND, arrays, {"name": self.name, **game, "hole": self.hole, "made": self.meta})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HandBuckets:
        """Read them; tables are mapped, not copied. Whatever is wrong is an ArtefactError."""
        artefact = store.load(path, KIND, mmap=True)
        try:
            return _read(artefact.arrays, artefact.meta)
        except (KeyError, TypeError, ValueError, GameError) as error:
            raise ArtefactError(f"the buckets at {path} are damaged: {error}; make them again") from None


def _cut(of: RoundBuckets, parent: Ints, ahead: Ints) -> Ints:
    """The buckets of hands that are cut by strength. They ascend with (parent, least), so one search does it."""
    assert of.least is not None
    key = np.repeat(np.arange(len(of.first) - 1), np.diff(of.first)) * (1 << 32) + of.least
    return np.searchsorted(key, parent * (1 << 32) + ahead, "right") - 1


def form_buckets(deal: Any, of: Callable[[int, NDArray[np.integer]], Ints]) -> list[Ints]:
    """For each round, class of hands -> bucket, for the classes of a poker form (`poker/exact/deal.py`). of: (round,
    hands with their boards) -> buckets."""
    rounds = []
    for level, cards in enumerate(deal.rounds):
        board = np.repeat(np.arange(len(cards.boards)), np.diff(cards.board_hand))
        every = of(level, np.concatenate((cards.hands, cards.boards[board]), axis=1))
        bucket = np.empty(cards.classes, np.int64)
        bucket[cards.hand_class] = every
        if (bucket[cards.hand_class] != every).any():
            raise SolverError(f"in round {level} hands that the form holds as one are in different buckets")
        rounds.append(np.unique(bucket, return_inverse=True)[1].astype(np.int64))
    return rounds


def _no_values(cards: Any) -> Ints:
    raise GameError("cuts by strength are for hands of two private cards and five to seven in all")


def _read(arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> HandBuckets:
    """Buckets from an artefact, every number checked."""
    ranks, suits, hole = (_whole(meta[key], most) for key, most in (("ranks", 13), ("suits", 4), ("hole", 2)))
    board = tuple(_whole(cards, 7, 0) for cards in meta["board"])
    if not 1 <= len(board) <= 8 or not isinstance(meta["made"], dict) or not isinstance(meta["name"], str):
        raise ValueError("a name, rounds or facts are missing")
    ways = 1
    for level, new in enumerate(board):  # sizes first, before boards are gone through
        left = ranks * suits - sum(board[:level])
        ways *= math.comb(left, new)
        table = arrays.get(f"table{level}")
        if table is None and (f"least{level}" not in arrays or hole != 2 or not 3 <= sum(board) <= 5):
            raise ValueError(f"round {level} has no buckets")
        if table is not None and not (table.ndim == 2 and ways // math.factorial(suits) <= len(table) <= ways):
            raise ValueError(f"round {level} has a table of the wrong size")
    boards = boards_of(ranks, suits, board)
    rounds: list[RoundBuckets] = []
    for level in range(len(board)):
        parent, table, least = (arrays.get(f"{kind}{level}") for kind in ("parent", "table", "least"))
        if parent is None or parent.dtype != np.int64 or parent.ndim != 1 or not len(parent):
            raise ValueError(f"round {level} has no parents")
        before = rounds[-1].count if level else 1
        forgets = level > 0 and bool((parent == -1).all())
        if not forgets and not (parent[0] == 0 and parent[-1] == before - 1 and np.isin(np.diff(parent), (0, 1)).all()):
            raise ValueError(f"round {level} has parents that are not those of the round before")
        of = RoundBuckets(len(parent), parent, table, least)
        if table is not None and (table.dtype.kind != "u" or int(table.max(initial=0)) >= len(parent)):
            raise ValueError(f"round {level} names buckets that it does not have")
        if table is None and least is not None:
            cut = np.diff(least) > 0
            cut[of.first[1:-1] - 1] = True
            if least.dtype != np.int64 or least.shape != parent.shape or not cut.all() or least[of.first[:-1]].any():
                raise ValueError(f"round {level} has cuts that do not ascend")
        rounds.append(of)
    return HandBuckets(meta["name"], boards, hole, tuple(rounds), meta["made"])


def _whole(value: Any, most: int, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r:.80} is not a number from {least} to {most}")
    return value
