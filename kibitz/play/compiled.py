"""Agents whose strategy is a table of rows, or a rule: the compiled match plays them at full speed.

Where there is no row all actions are as likely (`kibitz.play.fallback`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent
from kibitz.games.machine import Machine
from kibitz.games.views import View
from kibitz.solvers.table_strategy import TableStrategy


class Compiled(Agent):
    """An agent that is a strategy (`kibitz.forms.strategy`). table: its rows, if it plays from some."""

    def __init__(self, machine: Machine, player: Any, name: str, table: TableStrategy | None = None) -> None:
        self.machine, self.player, self.name, self.table = machine, player, name, table
        self.game = machine.rules
        hashed = table is not None and hasattr(table.table, "key")
        self.asked = 0 if hashed else None  # decisions that `act` was asked for, where some rows may be missing
        self.unanswered = 0  # of these, those without a row

    def act(self, view: View) -> list[float]:
        answer = self.answer(view.seat, view.infoset, view.actions)
        if self.asked is not None:
            self.asked += 1
            self.unanswered += answer is None
        return [1.0 / len(view.actions)] * len(view.actions) if answer is None else answer

    def answer(self, seat: int, infoset: str, actions: Sequence[str]) -> list[float] | None:
        """What it does in an infoset; None where its table has no row."""
        table = self._played_table()
        if table is not None:
            return table.answer(seat, infoset, actions)
        row: list[float] = self.rows(seat, [infoset], actions)[0].tolist()
        return row

    def rows(self, player: int, infosets: Sequence[str], actions: Sequence[str]) -> NDArray[np.float64]:
        """[infosets, actions]  what it does in some infosets of a player that offer the same actions."""
        from kibitz.solvers.kernels.players import RULE

        table = self._played_table()
        if table is not None:
            return table.rows(player, infosets, actions)
        if int(self.player.kind) != RULE:
            return np.full((len(infosets), len(actions)), 1.0 / len(actions))
        best = [self.machine.advice(player, infoset, actions) for infoset in infosets]
        return np.asarray(np.arange(len(actions)) == np.reshape(best, (-1, 1)), np.float64)

    def _played_table(self) -> TableStrategy | None:
        """The table that it plays from; None for those who play uniformly, or by a rule."""
        from kibitz.solvers.kernels.players import AVERAGE, RULE, UNIFORM

        if int(self.player.kind) in (UNIFORM, RULE):
            return None
        if int(self.player.kind) != AVERAGE or self.table is None:
            raise GameError(f"{self.name} plays in compiled matches alone")
        return self.table
