"""Where a blueprint keeps its rows: a hash table that grows (`kibitz.solvers.tables`), or columns whose places follow
from betting and buckets (`kibitz.poker.blueprints.placed_rows`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Store(ABC):
    """The rows of a blueprint. `table` is the named tuple of arrays that kernels read and write."""

    table: Any
    trainable = True  # False: only a strategy is kept, not the regrets
    parallel = False  # whether a responder is trained on all cores
    with_base = True  # whether a graft is saved with its base, and plays from both
    sampling = "external"  # or "chance": one deal, all betting
    prune = 0.0  # regret below which actions are passed over in most walks; 0: never
    full = "refuse"  # what happens to a new row when there is no place for it; or "evict"

    @property
    @abstractmethod
    def used(self) -> int:
        """Rows in use."""

    @property
    @abstractmethod
    def capacity(self) -> int:
        """Rows that there is room for, once there are so many."""

    @abstractmethod
    def nothing(self) -> Any:
        """A table without rows, of the type that a base has."""

    @abstractmethod
    def warm_up(self, begun: bool) -> None:
        """Compile what training runs beside its walks."""

    @abstractmethod
    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None:
        """Halve regrets and averages."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows, as they are saved."""

    @property
    @abstractmethod
    def meta(self) -> dict[str, Any]:
        """What is saved beside them."""

    def game(self, game: Any) -> Any:
        """The game as walks into these rows take it."""
        return game

    def played(self, greedy: bool = False) -> Store:
        """The same strategy, as it is quickest to play; greedy: always the action that is regretted most."""
        return self

    def copied(self) -> Any:
        """The table as it is now, to come back to; None if no iteration can fill it."""
        return None

    def grow(self, rows: int, counts: NDArray[np.int64]) -> None:
        """Make room for so many rows. counts: of a blueprint, where rows that are lost are counted."""
        raise AssertionError("rows with places of their own never grow")
