"""What a file with compiled rules imports to define its own machine (docs/own_game.md has an example).

    from kibitz.solvers.compiled import CHANCE, END, U64, Machine, RowKeys, kernel, next_below, part, register

Numba is imported with it, so a game imports it where its machine is made.
"""

from __future__ import annotations

from kibitz.core.jit import U64, kernel, part
from kibitz.core.random import mix, next_below, next_unit, next_word
from kibitz.games.kernels.dispatch import register
from kibitz.games.kernels.machine import CHANCE, END
from kibitz.games.machine import Hand, Machine, RowKeys, row_key
from kibitz.solvers.kernels.players import play_deals
from kibitz.solvers.kernels.walk import walk_all

__all__ = [
    "CHANCE", "END", "U64", "Hand", "Machine", "RowKeys", "kernel", "mix", "next_below", "next_unit", "next_word",
    "part", "play_deals", "register", "row_key", "walk_all",
]  # fmt: skip
