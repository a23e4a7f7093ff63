"""Agents whose strategy is a table of rows, or a rule: the compiled match plays them at full speed.

Where there is no row all actions are as likely (`kibitz.play.fallback`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.views import View
from kibitz.solvers.tables import is_blank, looked_up


class Compiled:
    """One who plays from rows under a view; `base` is the view of a graft's base."""

    def __init__(
        self, machine: Machine, player: Any, name: str, view: RowKeys | None = None, base: RowKeys | None = None
    ):
        self.machine, self.player, self.name = machine, player, name
        self.game = machine.rules
        self.view, self.base = view, base
        self.asked: int | None = 0 if self._counts() else None  # decisions that `act` was asked for
        self.unanswered = 0  # of these, those without a row
        self._last: tuple[tuple[int, str, int], tuple[Any, NDArray[np.uint64]]] | None = None

    def begin(self, seat: int) -> None:
        pass

    def act(self, view: View) -> list[float]:
        if self.asked is not None:
            self.asked += 1
            self.unanswered += self.silent(view.seat, view.infoset, view.actions)
        return self.strategy(view.seat, view.infoset, view.actions)

    def end(self, view: View, payoff: float) -> None:
        pass

    def strategy(self, seat: int, infoset: str, actions: tuple[str, ...]) -> list[float]:
        """What it does in an infoset."""
        found: list[float] = self.strategies(seat, [infoset], actions)[0].tolist()
        return found

    def strategies(self, seat: int, infosets: Sequence[str], actions: tuple[str, ...]) -> NDArray[np.float64]:
        """[n, actions]  what it does in some infosets of a seat that offer the same actions."""
        from kibitz.solvers.kernels.players import ALL_PARTS, AVERAGE, RULE, UNIFORM

        kind, width, count = int(self.player.kind), len(actions), len(infosets)
        if kind == UNIFORM:
            return np.full((count, width), 1.0 / width)
        if kind == RULE:
            best = [self.machine.advice(seat, infoset, actions) for infoset in infosets]
            chosen: NDArray[np.float64] = (np.arange(width) == np.reshape(best, (-1, 1))).astype(np.float64)
            return chosen
        if kind != AVERAGE or self.view is None:
            raise GameError(f"{self.name} plays in compiled matches alone")
        if count == 1:
            rows, keys = self._row(seat, infosets[0], width)
            return looked_up(rows, keys, np.array([width], np.int64), self.machine.actions)[:, :width]
        part = int(self.player.part)
        if part == ALL_PARTS:
            return self._read(self.view, self.player.store, seat, infosets, width)
        own = np.array([self.machine.part_of(seat, infoset) == part for infoset in infosets], np.bool_)
        found = np.zeros((count, width))
        for where, view, rows in ((own, self.view, self.player.store), (~own, self.base, self.player.base_store)):
            some = [infosets[k] for k in np.flatnonzero(where).tolist()]
            if some:
                assert view is not None
                found[where] = self._read(view, rows, seat, some, width)
        return found

    def _read(self, view: RowKeys, rows: Any, seat: int, infosets: Sequence[str], width: int) -> NDArray[np.float64]:
        keys = self.machine.keys_of(view, seat, infosets, [width] * len(infosets))
        found = looked_up(rows, keys, np.full(len(infosets), width, np.int64), self.machine.actions)
        return found[:, :width]

    def silent(self, seat: int, infoset: str, actions: tuple[str, ...]) -> bool:
        """Whether the strategy has no row there; False where that cannot be told."""
        if not self._counts():
            return False
        rows, keys = self._row(seat, infoset, len(actions))
        return hasattr(rows, "key") and is_blank(rows, int(keys[0]), len(actions), self.machine.actions)

    def _counts(self) -> bool:
        """Whether it plays from hashed rows, of which some may not be there."""
        from kibitz.solvers.kernels.players import AVERAGE

        return self.view is not None and int(self.player.kind) == AVERAGE and hasattr(self.player.store, "key")

    def _row(self, seat: int, infoset: str, width: int) -> tuple[Any, NDArray[np.uint64]]:
        """(the store that an infoset's row is in, its key); the last one is kept, as it is asked for twice."""
        from kibitz.solvers.kernels.players import ALL_PARTS

        asked, last = (seat, infoset, width), self._last
        if last is not None and last[0] == asked:
            return last[1]
        view, rows = self.view, self.player.store
        if int(self.player.part) != ALL_PARTS and self.machine.part_of(seat, infoset) != int(self.player.part):
            view, rows = self.base, self.player.base_store
        assert view is not None
        found = rows, self.machine.keys_of(view, seat, [infoset], [width])
        self._last = asked, found
        return found

    def probabilities(self, infosets: Any) -> NDArray[np.float64]:
        """What it does in all infosets of a tree, by column."""
        found: list[float] = []
        labels, actions_of = list(infosets.labels), infosets.actions_of.tolist()
        for seat, (begin, end) in enumerate(pairwise(infosets.seat_start.tolist())):
            for at in range(begin, end):
                found += self.strategy(seat, labels[at], tuple(map(str, infosets.actions[actions_of[at]])))
        return np.array(found)
