"""Where a blueprint keeps its rows: a hash table that grows (`kibitz.solvers.tables`), or columns whose places follow
from betting and buckets (`kibitz.poker.blueprints.placed_rows`)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Store(Protocol):
    """The rows of a blueprint."""

    table: Any  # the named tuple of arrays that kernels read and write
    capacity: int  # rows that there is room for, once there are so many
    trainable: bool = True  # False: only a strategy is kept, not the regrets
    parallel: bool = False  # whether a responder is trained on all cores
    with_base: bool = True  # whether a graft is saved with its base, and plays from both
    sampling: str = "external"  # "outcome": one history a walk; "chance": one deal, all betting
    prune: float = 0.0  # regret below which actions are passed over in most walks; 0: never
    full: str = "refuse"  # what happens to a new row when there is no place for it; or "evict"

    @property
    def used(self) -> int: ...  # rows in use
    @property
    def meta(self) -> dict[str, Any]: ...  # what is saved beside the rows
    def arrays(self) -> dict[str, NDArray[Any]]: ...  # the rows, as they are saved
    def nothing(self) -> Any: ...  # a table without rows, of the type that a base has
    def warm_up(self, begun: bool) -> None: ...  # compiles what training runs beside its walks
    def halve(self, threads: int, pool: ThreadPoolExecutor) -> None: ...  # regrets and averages

    def renewed(self, arrays: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> Store:
        """A store like this one with other rows, which are copied: what a shard is trained in. counts: as in grow."""

    def write(self, arrays: dict[str, NDArray[Any]], counts: NDArray[np.int64]) -> None:
        """Replace rows, as `kibitz.solvers.merging.merged` gives them. counts: as in grow."""

    def game(self, game: Any) -> Any:
        """The game as walks into these rows take it."""
        return game

    def played(self, greedy: bool = False) -> Store:
        """The same strategy, stored for fast play; greedy: always the action with the largest regret."""
        return self

    def copied(self) -> Any:
        """The table as it is now, to come back to; None if no iteration can fill it."""
        return None

    def grow(self, rows: int, counts: NDArray[np.int64]) -> None:
        """Make room for so many rows. counts: of a blueprint, where rows that are lost are counted."""
        raise AssertionError("rows with fixed places cannot grow")
