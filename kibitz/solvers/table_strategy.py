"""TableStrategy: a strategy whose rows are looked up by keys, in whatever table keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.games.machine import Machine, RowKeys

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class TableStrategy:
    """The average strategy of a table under a view. A graft plays from it in its part; elsewhere its base plays.

    Where there is no row, all actions are as likely as the others.
    """

    machine: Machine
    view: RowKeys
    table: Any  # a named tuple of arrays, as kernels take it
    base: TableStrategy | None = None
    part: int = -1

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[str]) -> Floats:
        """[infosets, actions]  probabilities; see `kibitz.forms.strategy.Strategy`."""
        if self.base is None:
            keys = self.machine.keys_of(self.view, player, infosets, [len(actions)] * len(infosets))
            return looked_up(self.table, keys, len(actions), self.machine.actions)[:, : len(actions)]
        inside = np.array([self.machine.part_of(player, infoset) == self.part for infoset in infosets], np.bool_)
        rows = np.zeros((len(infosets), len(actions)))
        for here, strategy in ((inside, replace(self, base=None)), (~inside, self.base)):
            if here.any():
                rows[here] = strategy.rows(player, [infosets[k] for k in np.flatnonzero(here).tolist()], actions)
        return rows

    def answer(self, player: int, infoset: str, actions: Sequence[str]) -> list[float] | None:
        """What it plays in one infoset; None if a hash table has no row for it, or one that nothing was added to."""
        if self.base is not None:
            inside = self.machine.part_of(player, infoset) == self.part
            return (replace(self, base=None) if inside else self.base).answer(player, infoset, actions)
        width, wide = len(actions), self.machine.actions
        keys = self.machine.keys_of(self.view, player, [infoset], [width])
        if hasattr(self.table, "key") and is_blank(self.table, int(keys[0]), width, wide):
            return None
        row: list[float] = looked_up(self.table, keys, width, wide)[0, :width].tolist()
        return row

    def rows_at(self, infosets: Any) -> Floats:
        """[infosets, most actions]  the same in all infosets of a tree."""
        keys = self.machine.keys_at(self.view, infosets)
        rows = looked_up(self.table, keys, infosets.width.astype(np.int64), self.machine.actions)
        if self.base is None:
            return rows
        inside = self.machine.parts_at(infosets) == self.part
        return np.where(inside[:, None], rows, self.base.rows_at(infosets))


def looked_up(table: Any, keys: Words, widths: NDArray[np.int64] | int, actions: int) -> Floats:
    """[n, actions]  average strategies of rows by key. widths: actions of each row, or of all."""
    from kibitz.solvers.kernels import columns, hash

    rows = np.zeros((len(keys), actions))
    widths = np.full(len(keys), widths, np.int64) if isinstance(widths, int) else widths
    (hash.look_up if hasattr(table, "key") else columns.read)(table, keys, widths, rows)
    return rows


def is_blank(table: Any, key: int, width: int, actions: int) -> bool:
    """Whether a hash table has nothing to say for a key, so that all actions are alike."""
    home = (key >> 32) * int(table.span) >> 32
    places = np.flatnonzero(table.key[home : home + int(table.window)] == np.uint64(key))
    if not len(places):
        return True
    row = table.value[home + int(places[0])]
    return not (row[:width] > 0.0).any() and not (row[actions : actions + width] > 0.0).any()
