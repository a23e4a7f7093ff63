"""What solves a spot: the seam between questions and answers above, and fast arithmetic below.

A `SpotEngine` runs CFR on a spot and measures its average strategy. What it leaves behind is a `SolvedRows`:
strategies and values by betting node, board and the number of a hand (`kibitz.cards.ranges`), whatever their layout in
memory. What ends of betting pay is in `SpotTree.pays`, in chips.

*Counterfactual* values here are sums over the other player's hands of its range, its reach and chips, without any
chance: divided by the weight of the hands that a hand meets there, it is chips. A hand that the board rules out has 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.poker.spots.engine_boards import Renaming
from kibitz.poker.spots.engine_cpu import MergedEngine, MergedRows
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.engine_rows import RowSource
from kibitz.poker.spots.spot import Spot, SpotTree

Floats = NDArray[np.float64]


class SolvedRows(Protocol):
    """Strategies and values by betting node (of the spot's tree) and board (all its cards so far, in any order after
    the spot's own)."""

    kind: str  # of its arrays, in files: another layout has another name
    renamings: tuple[Renaming, ...]  # of suits, that change nothing of it

    def packed(self) -> dict[str, NDArray[np.uint16]]:
        """The strategy as arrays of 16 bits; `rows_of` makes the same of them and of the spot."""
        ...

    def rows(self, node: int, board: Sequence[int]) -> Floats:
        """[actions, 1326]  what the player to act does; columns add up to 1 for all hands that the board leaves."""
        ...

    def root_values(self, seat: int, node: int, board: Sequence[int], best: bool) -> Floats:
        """[1326]  counterfactual values of a player's hands where a street begins: the node is the first of the street,
        whatever its turn. best: at most; else by the player's own strategy."""
        ...


class SpotEngine(Protocol):
    """CFR on one spot."""

    def iterate(self, done: int, count: int) -> None:
        """So many iterations after those that are done."""
        ...

    def gains(self) -> Gains:
        """Of the average strategy."""
        ...

    def answer(self) -> SolvedRows:
        """The average strategy. The engine is not used after that."""
        ...


def rows_of(kind: str, spot: Spot, tree: SpotTree, arrays: dict[str, NDArray[Any]]) -> SolvedRows:
    """Rows from the arrays that `packed` gave, which are checked."""
    if kind == MergedRows.kind:
        return MergedRows.unpacked(spot, tree, arrays)
    raise ArtefactError(f"it has rows of a kind {kind!r:.40} that is not known here")


def engine_of(
    spot: Spot, tree: SpotTree, threads: int | None = None, locks: Sequence[RowSource] = (), device: str = "cpu"
) -> SpotEngine:
    """The fastest engine that can solve a spot on a device. locks: rows that stay as they are; a best response follows
    them."""
    if device == "gpu":
        from kibitz.poker.spots.engine_gpu import GpuEngine

        return GpuEngine(spot, tree)
    return MergedEngine(spot, tree, threads, locks)
