"""Rows of some decisions that are known before a spot is solved.

Where they come from is no matter of the engine (`locks.py` has texts and saved solutions). Hands and boards that
differ by names of suits alone are one to the engine; so renamings that change such rows merge nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.spots.engine_boards import Renaming, symmetries
from kibitz.poker.spots.spot import Spot, SpotTree, live

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class RowSource(Protocol):
    """Some rows: of which betting nodes, and on which boards."""

    def nodes(self, tree: SpotTree) -> Sequence[int]: ...

    def rows_on(self, node: int, board: Sequence[int], own: int) -> tuple[Floats, Bools] | None:
        """([actions, 1326] probabilities, [1326] for which hands), or None. own: cards of the spot's own board."""
        ...

    def keeps(self, renaming: Renaming) -> bool:
        """Whether a renaming of suits changes nothing."""
        ...


def kept_symmetries(spot: Spot, sources: Sequence[RowSource]) -> tuple[Renaming, ...]:
    """The renamings of suits that keep the board, both ranges and all rows."""
    every = symmetries(spot.board, live(spot), spot.deck[1])
    return tuple(each for each in every if all(source.keeps(each) for source in sources))


def nodes_of(tree: SpotTree, sources: Sequence[RowSource]) -> Ints:
    """The betting nodes that some source has rows of."""
    return np.unique(np.array([node for source in sources for node in source.nodes(tree)], np.int64))
