"""What a compiled agent does with many hands at once, after some betting: for ranges and responses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.rules.machine import LOWER, PokerMachine
from kibitz.solvers.tables import looked_up

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]


class Seen:
    """A compiled agent of a poker game, with rows of its own."""

    def __init__(self, target: Any) -> None:
        if not isinstance(target.machine, PokerMachine) or target.view is None or int(target.player.part) >= 0:
            raise GameError("ranges are those of saved strategies of poker games that play all of the game")
        self.target, self.machine = target, target.machine

    def rows(self, seat: int, done: str, boards: Bytes, hands: Bytes) -> Floats:
        """[N, actions]  what it does in a seat with hands [N, cards] on boards [N, cards], after some betting."""
        from kibitz.poker.rules.kernels.machine import keys

        machine = self.machine
        word = machine.node_of(seat, done)
        states = machine.states(boards, hands, seat)
        states[:, 0] = word
        found = np.zeros(len(states), np.uint64)
        keys(machine.game, self.target.view.keys, states, found)
        width = int(machine.game.node[word & LOWER, 2])
        rows = looked_up(self.target.player.store, found, np.full(len(states), width, np.int64), machine.actions)
        return rows[:, :width]

    def on_board(self, seat: int, done: str, board: tuple[int, ...], hands: Bytes) -> Floats:
        """The same on one board. Hands that meet it are given what some other hand does: nobody holds them."""
        shown = np.array(board, np.uint8)
        clear = ~np.isin(hands, shown).any(axis=1)
        free = hands[clear]
        some = self.rows(seat, done, np.broadcast_to(shown, (len(free), len(shown))), free)
        found = np.repeat(some[:1], len(hands), axis=0)
        found[clear] = some
        return found
