"""What a file with compiled rules imports: everything for a machine of one's own (docs/own_game.md has an example).

    from kibitz.games.compiled import CHANCE, END, U64, Machine, RowKeys, kernel, next_below, part, register

Numba is imported with it, so a game imports it where its machine is made.
"""

from __future__ import annotations

from kibitz.games.machine import Hand, Machine, RowKeys, row_key
from kibitz.kernels.jit import U64, kernel, part
from kibitz.kernels.walk.dispatch import register
from kibitz.kernels.walk.machine import CHANCE, END
from kibitz.kernels.walk.players import play_deals
from kibitz.kernels.walk.random import mix, next_below, next_unit, next_word
from kibitz.kernels.walk.walk import walk_all

__all__ = [
    "CHANCE", "END", "U64", "Hand", "Machine", "RowKeys", "kernel", "mix", "next_below", "next_unit", "next_word",
    "part", "play_deals", "register", "row_key", "walk_all",
]  # fmt: skip
