"""Agents whose strategy is a table of rows, or a rule: the compiled match plays them at full speed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError
from kibitz.games.machine import Machine, RowKeys
from kibitz.games.views import View
from kibitz.solvers.tables import looked_up


class Compiled:
    """One who plays from rows under a view; `base` is the view of a graft's base."""

    def __init__(
        self, machine: Machine, player: Any, name: str, view: RowKeys | None = None, base: RowKeys | None = None
    ):
        self.machine, self.player, self.name = machine, player, name
        self.game = machine.rules
        self.view, self.base = view, base

    def begin(self, seat: int) -> None:
        pass

    def act(self, view: View) -> list[float]:
        return self.strategy(view.seat, view.infoset, view.actions)

    def end(self, view: View, payoff: float) -> None:
        pass

    def strategy(self, seat: int, infoset: str, actions: tuple[str, ...]) -> list[float]:
        """What it does in an infoset."""
        from kibitz.kernels.walk.players import ALL_PARTS, AVERAGE, RULE, UNIFORM

        kind, width = int(self.player.kind), len(actions)
        if kind == UNIFORM:
            return [1.0 / width] * width
        if kind == RULE:
            best = self.machine.advice(seat, infoset, actions)
            return [float(a == best) for a in range(width)]
        if kind != AVERAGE or self.view is None:
            raise GameError(f"{self.name} plays in compiled matches alone")
        view, rows = self.view, self.player.store
        if int(self.player.part) != ALL_PARTS and self.machine.part_of(seat, infoset) != int(self.player.part):
            assert self.base is not None
            view, rows = self.base, self.player.base_store
        keys = self.machine.keys_of(view, seat, [infoset], [width])
        found = looked_up(rows, keys, np.array([width], np.int64), self.machine.actions)
        result: list[float] = found[0, :width].tolist()
        return result

    def probabilities(self, infosets: Any) -> NDArray[np.float64]:
        """What it does in all infosets of a tree, by column."""
        found: list[float] = []
        labels, actions_of = list(infosets.labels), infosets.actions_of.tolist()
        for seat, (begin, end) in enumerate(pairwise(infosets.seat_start.tolist())):
            for at in range(begin, end):
                found += self.strategy(seat, labels[at], tuple(map(str, infosets.actions[actions_of[at]])))
        return np.array(found)
