"""HandRows: what a compiled agent of poker does with many hands at once, after some betting. Ranges and responses ask
it; infosets are named by cards and betting here, as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.rules.machine import LOWER, PokerMachine
from kibitz.solvers.table_strategy import looked_up

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class HandRows:
    """A compiled agent of a poker game, with a table of its own."""

    def __init__(self, target: Any) -> None:
        table = target.table
        if not isinstance(target.machine, PokerMachine) or table is None or table.base is not None:
            raise GameError("ranges are those of saved strategies of poker games that play all of the game")
        self.table, self.machine = table, target.machine

    def rows(self, seat: int, done: str, boards: Bytes, hands: Bytes) -> Floats:
        """[N, actions]  probabilities of a seat with hands [N, cards] on boards [N, cards], after some betting."""
        from kibitz.poker.rules.kernels.machine import keys

        machine = self.machine
        word = machine.node_of(seat, done)
        states = machine.states(boards, hands, seat)
        states[:, 0] = word
        of_row = np.zeros(len(states), np.uint64)
        keys(machine.game, self.table.view.keys, states, of_row)
        width = int(machine.game.node[word & LOWER, 2])
        return looked_up(self.table.table, of_row, width, machine.actions)[:, :width]

    def on_board(self, seat: int, done: str, board: tuple[int, ...], hands: Bytes) -> Floats:
        """The same on one board. Hands that meet it have the row of some other hand: nobody holds them."""
        shown = np.array(board, np.uint8)
        clear = ~np.isin(hands, shown).any(axis=1)
        free = hands[clear]
        some = self.rows(seat, done, np.broadcast_to(shown, (len(free), len(shown))), free)
        rows = np.repeat(some[:1], len(hands), axis=0)
        rows[clear] = some
        return rows
