"""The betting of a spot as the kernels of a GPU read it: line by line, as lists of what is to be done.

For a pass of one seat a line is a list of the other's decisions (*downs*), and of *groups*, one for each slot: a
decision of the seat with an *item* for each action, or one item alone. An item is an end of betting, the next street,
or the sum over the slots after the other's actions. Kernels go through downs from first to last, and through groups
from last to first (`cuda.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.spots import cuda
from kibitz.poker.spots.engine_streets import EXIT, FOLD, SHOWDOWN, Streets

Ints = NDArray[np.int32]
LINE = 8  # numbers of a line


class GpuLines(NamedTuple):
    """The tables of `cuda.py` about betting; E lines."""

    lines: Ints  # [2, E, LINE]
    downs: Ints  # [D, 4]
    groups: Ints  # [G, 4]
    items: Ints  # [I, 4]
    pays: NDArray[np.float64]  # [I, 4]
    rows: list[int]  # [levels]  slots of a board, for either seat

    def slots(self, line: int) -> int:
        """Of a line, for either seat."""
        return int(self.lines[:, line, 3].max())


def lines_of(streets: Streets) -> GpuLines:
    """The lists of all lines."""
    writer = _LineWriter(streets)
    for seat in (0, 1):
        writer.write(seat)
    return writer.tables()


class _LineWriter:
    def __init__(self, streets: Streets) -> None:
        arrays = {name: np.asarray(array) for name, array in streets.arrays.items()}
        names = ("turn", "first", "width", "place")
        self.turn, self.first, self.width, self.place = (arrays[name].tolist() for name in names)
        self.slot, self.pay = arrays["slot"].tolist(), arrays["pay"]
        self.begin, self.entry_exit = arrays["entry_node"].tolist(), arrays["entry_exit"].tolist()
        self.level_entry = arrays["level_entry"].tolist()
        self.after = {node: line for line, node in enumerate(self.entry_exit) if node >= 0}  # exit -> the next line
        self.lines: list[list[int]] = []
        self.downs: list[tuple[int, ...]] = []
        self.groups: list[tuple[int, ...]] = []
        self.items: list[tuple[int, ...]] = []
        self.pays: list[tuple[float, ...]] = []
        self.rows = [0] * (len(self.level_entry) - 1)

    def write(self, seat: int) -> None:
        other = 1 - seat
        row: dict[int, int] = {}  # of a slot, by its first node, on its street
        for level in range(len(self.rows)):
            rows = 0
            for line in range(self.level_entry[level], self.level_entry[level + 1]):
                nodes = range(self.begin[line], self.begin[line + 1])
                tops = [node for node in nodes if self.slot[other][node] == node]
                local = {node: k for k, node in enumerate(tops)}
                down_first = len(self.downs)
                for node in nodes:
                    if self.turn[node] == other:
                        self.downs.append((local[self.slot[other][node]], local[self.first[node]], self.width[node],
                                           self.place[node]))  # fmt: skip
                group_first = len(self.groups)
                for node in tops:
                    self.groups.append(self.group(seat, node, local))
                enter = row[self.slot[other][self.entry_exit[line]]] if level else -1
                row.update({node: rows + k for node, k in local.items()})
                self.lines.append([down_first, len(self.downs) - down_first, group_first, len(tops), enter, rows,
                                   line - self.level_entry[level], 0])  # fmt: skip
                rows += len(tops)
            self.rows[level] = max(self.rows[level], rows)

    def group(self, seat: int, top: int, local: dict[int, int]) -> tuple[int, ...]:
        """(first row or -1, items, the first of them, what they need)."""
        first, needs = len(self.items), 0
        own = self.turn[top] == seat
        nodes = range(self.first[top], self.first[top] + self.width[top]) if own else (top,)
        for node in nodes:
            needs |= self.item(seat, node, local)
        return self.place[top] if own else -1, len(nodes), first, needs

    def item(self, seat: int, node: int, local: dict[int, int]) -> int:
        """Write an item; returns what it needs."""
        turn, (win, tie, lose) = self.turn[node], self.pay[seat, node].tolist()
        pays, needs = (0.0,) * 4, 0
        if turn == FOLD:
            item, pays, needs = (cuda.FOLD, 0, 0, 0), (0.0, 0.0, 0.0, win), cuda.SUMS | cuda.BOTH
        elif turn == SHOWDOWN:
            item, pays = (cuda.SHOWDOWN, 0, 0, 0), (win - tie, tie - lose, lose, tie)
            needs = cuda.SUMS | (cuda.BOTH if tie else 0)
        elif turn == EXIT:
            line = self.after[node]
            level = next(k for k, end in enumerate(self.level_entry[1:]) if line < end)
            item = (cuda.EXIT, line - self.level_entry[level], 0, 0)
        else:
            if turn == seat:
                raise ValueError("a player acts twice in a row")
            item = (cuda.SUM, local[self.first[node]], self.width[node], 0)
        self.items.append(item)
        self.pays.append(pays)
        return needs

    def tables(self) -> GpuLines:
        def table(rows: list[tuple[int, ...]]) -> Ints:
            return np.array(rows or [(0,) * 4], np.int32).reshape(-1, 4)

        return GpuLines(
            np.array(self.lines, np.int32).reshape(2, -1, LINE), table(self.downs), table(self.groups),
            table(self.items), np.array(self.pays, np.float64).reshape(-1, 4), self.rows,
        )  # fmt: skip
