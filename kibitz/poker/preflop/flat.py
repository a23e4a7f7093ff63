"""Numbers of all decisions of a street, by action and hand, as one array: how solutions are saved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.poker.preflop.nodes import FirstNodes

Floats = NDArray[np.float64]


def flat(lists: Mapping[str, list[Floats]]) -> dict[str, Floats]:
    """Arrays of each list, one after another; of each node [actions, C], or [C]."""
    return {name: np.concatenate([each.ravel() for each in arrays]) for name, arrays in lists.items()}


def by_action(nodes: FirstNodes, array: NDArray[Any], columns: int) -> list[Floats]:
    """Of each node [actions, columns] of an array that `flat` wrote; sizes are checked."""
    return _split(array, [(len(names), columns) for names in nodes.names])


def by_hand(nodes: FirstNodes, array: NDArray[Any], columns: int) -> list[Floats]:
    """Of each decision [columns], of each end nothing."""
    rows = _split(array, [(int(bool(names)), columns) for names in nodes.names])
    return [each[0] if len(each) else np.empty(0) for each in rows]


def _split(array: NDArray[Any], shapes: list[tuple[int, int]]) -> list[Floats]:
    sizes = [rows * columns for rows, columns in shapes]
    if array.dtype != np.float64 or array.shape != (sum(sizes),):
        raise ArtefactError("its arrays do not fit its betting")
    pieces = np.split(np.array(array), np.cumsum(sizes)[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
