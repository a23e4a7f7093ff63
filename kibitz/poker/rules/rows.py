"""RowLayout: the place of each row of a strategy of buckets, for limit poker of any number of players.

A strategy sees a place of the betting (`kibitz.poker.rules.rounds`) through buckets. Its rows are columns of one
array, seat by seat; the rows of a seat at a place lie bucket by bucket, and for a bucket all decisions of the seat lie
side by side. So nothing is hashed, nothing is kept beside the numbers, and what a walk reads lies together.

*Parts* cut the game by its betting: the part "rf" is all that follows a raise and a fold before the flop. Outside of
all parts hands are seen through the first buckets, in each part through buckets of its own. What is being learned may
have rows for some seats alone: a static expert with S=N has none outside of its part, and one with S={i} none for i
[Gibson & Szafron 2011, Def. 3.2].

With betting="pot" a strategy forgets how earlier rounds were bet: from the second round on, places with the same seats
still in that have put in as many chips share their rows. Three-player hold'em then has 5,688 betting decisions instead
of 9,711,806.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.rules.rounds import EXIT, HALF, Rounds

Ints = NDArray[np.int64]
NONE = -1  # a place and seat without rows
MOST_PARTS = 254
BETTING = ("all", "pot")  # what rows remember of the betting of earlier rounds


@dataclass(frozen=True)
class RowPlan:
    """Which rows there are, as files say it."""

    buckets: tuple[str, ...]  # names: outside of all parts, then of each part; "" where there are no rows
    parts: tuple[str, ...] = ()  # betting of the first round, in the competition's letters
    outside: int = -1  # mask of the seats that have rows outside of the parts
    inside: int = -1  # ... and in the parts
    betting: str = "all"  # or "pot": of earlier rounds only who is in, and the chips that each of them has put in

    def __post_init__(self) -> None:
        if self.betting not in BETTING:
            raise GameError(f"betting={self.betting}: choose {' or '.join(BETTING)}")
        if len(self.buckets) != 1 + len(self.parts) or not any(self.buckets):
            raise GameError("give buckets for the rest of the game, and for each part")
        if len(set(self.parts)) < len(self.parts):
            raise GameError(f"a part is given twice: {', '.join(self.parts)}")


class RowLayout:
    """Columns of all rows. counts: buckets by round, for each name of `rows` (None where it has no rows)."""

    def __init__(self, rounds: Rounds, rows: RowPlan, counts: Sequence[Sequence[int] | None]) -> None:
        self.rounds, self.rows = rounds, rows
        self.counts = [None if count is None else list(count) for count in counts]
        self.part: NDArray[np.uint8] = parts_of(rounds, rows.parts)
        players, level = rounds.definition.players, rounds.round_of_place
        table = np.array([count or [0] * rounds.definition.rounds for count in counts], np.int64)
        self.buckets: Ints = table[self.part, level]  # [places]
        buckets = self.buckets
        self.home: Ints = _homes(rounds, rows.betting, self.part)  # [places]  the first of those with the same rows
        self.first = self.home == np.arange(rounds.places)
        widths = row_widths(rounds)
        self.columns_by_seat: list[int] = []
        self.column = np.full((rounds.places, players), NONE, np.int64)
        self.sizes = np.zeros((rounds.places, players), np.int64)  # columns
        infosets, at = np.zeros((len(table), rounds.definition.rounds), np.int64), 0
        for seat in range(players):
            has = np.where(self.part > 0, rows.inside >> seat & 1, rows.outside >> seat & 1).astype(bool)
            size = np.where(has, widths[:, seat, 0] * buckets, 0)
            self.sizes[:, seat] = size
            size = np.where(self.first, size, 0)
            ends = at + np.cumsum(size)
            self.column[:, seat] = np.where(self.sizes[:, seat] > 0, (ends - size)[self.home], NONE)
            np.add.at(infosets, (self.part, level), np.where(has & self.first, widths[:, seat, 1] * buckets, 0))
            self.columns_by_seat.append(int(ends[-1]) - at)
            at = int(ends[-1])
        self.columns = at
        self.infosets = infosets  # [names, rounds]

    @property
    def size(self) -> int:
        """Infosets of all seats."""
        return int(self.infosets.sum())

    @cached_property
    def seat_start(self) -> Ints:
        """[seats + 1]  columns."""
        return np.concatenate([[0], np.cumsum(self.columns_by_seat)]).astype(np.int64)


def parts_of(rounds: Rounds, parts: Sequence[str]) -> NDArray[np.uint8]:
    """[places]  1 + the part that a place is in, 0 outside of all. A part within another takes its places from it."""
    if len(parts) > MOST_PARTS:
        raise GameError(f"there are at most {MOST_PARTS} parts")
    roots = {root_of(rounds, text): number + 1 for number, text in enumerate(parts)}
    early = rounds.early
    within = np.zeros(early, np.uint8)
    after = np.zeros(int(rounds.instances[2] - 1) if len(rounds.instances) > 2 else 0, np.uint8)  # by exit
    for node in range(early):  # in preorder
        within[node] = roots.get(node, within[node])
        for child in rounds.child[rounds.first[node] : rounds.first[node + 1]].tolist():
            if child >= EXIT:
                after[child - EXIT] = within[node]
            else:
                within[child] = within[node]
    by_round = [within, after]
    for level in range(1, rounds.definition.rounds):
        begin, end = (int(x) for x in rounds.instances[level : level + 2])
        for place, number in roots.items():
            if begin <= place - early + 1 < end and place >= early:
                by_round[-1][place - early + 1 - begin] = number
        if level + 1 < rounds.definition.rounds:
            exits = np.diff(np.append(rounds.next[begin:end].astype(np.int64), int(rounds.instances[level + 2])))
            by_round.append(np.repeat(by_round[-1], exits))
    return np.concatenate(by_round)


def within(rounds: Rounds, part: str, other: str) -> bool:
    """Whether a part lies in another, or is the same."""
    return bool(parts_of(rounds, (other,))[root_of(rounds, part)])


def root_of(rounds: Rounds, text: str) -> int:
    """The place at which a part begins."""
    try:
        word = rounds.word(text)
    except KeyError:
        word = -1
    instance, node = word >> HALF, word & ((1 << HALF) - 1)
    if word <= 0 or rounds.turn[node] < 0 or (instance and node != int(rounds.root[instance])):
        raise GameError(
            f"part {text!r}: give the betting of the first round, or of several whole rounds, such as f, rf or rcf "
            "(f fold, c call, r raise); the hand must continue after it"
        )
    return rounds.place(word)


def row_widths(rounds: Rounds) -> Ints:
    """[places, seats, 2]  columns and decisions of a seat at a place, for each bucket."""
    players, actions = rounds.definition.players, np.diff(rounds.first)
    early = np.zeros((rounds.early, players, 2), np.int64)
    for node in range(rounds.early):
        if rounds.turn[node] >= 0:
            early[node, rounds.turn[node]] = actions[node], 1
    later = np.zeros((len(rounds.begin) - 1, players, 2), np.int64)
    for number, (begin, end) in enumerate(pairwise(rounds.begin.tolist())):
        for seat in range(players):
            own = rounds.turn[begin:end] == seat
            later[number, seat] = actions[begin:end][own].sum(), own.sum()
    return np.concatenate([early, later[rounds.template[1:]]])


def _homes(rounds: Rounds, remembered: str, part: NDArray[np.uint8]) -> Ints:
    """[places]  the first place with the same rows: itself, if all betting is remembered."""
    every = np.arange(rounds.places)
    if remembered == "all":
        return every
    early = rounds.early
    chips = rounds.carried[1:].max(axis=1)  # of those who are in: they have put in the same
    key = np.stack([rounds.template[1:], chips, part[early:]], axis=1)
    _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
    return np.concatenate([every[:early], early + first[number.ravel()]])


def data_of(rows: RowPlan) -> dict[str, Any]:
    """As files have it."""
    data = {"buckets": list(rows.buckets), "parts": list(rows.parts), "outside": rows.outside, "inside": rows.inside}
    return data if rows.betting == "all" else data | {"betting": rows.betting}


def rows_from(data: Any) -> RowPlan:
    """What `data_of` wrote."""
    return RowPlan(tuple(map(str, data["buckets"])), tuple(map(str, data["parts"])), int(data["outside"]),
                   int(data["inside"]), str(data.get("betting", "all")))  # fmt: skip
