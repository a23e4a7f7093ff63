"""An executor that takes pieces as nodes do, and does them here: what goes to other machines is tested without Ray."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kibitz.core.executor import executing
from kibitz.core.pools import LocalPool


class Elsewhere(LocalPool):
    """One piece after the other, in this process; `calls` are the functions and pieces that it was asked for."""

    elsewhere = True

    def __init__(self) -> None:
        super().__init__(1)
        self.calls: list[tuple[str, int]] = []

    def map(self, function: Any, pieces: Any, apart: Any = "processes", on_progress: Any = None,
            shared: tuple[Any, ...] = ()) -> Iterator[tuple[int, Any]]:  # fmt: skip
        assert "<" not in function.__qualname__  # nodes know functions by name
        self.calls.append((function.__name__, len(pieces)))

        def alone(*arguments: Any) -> Any:
            with executing(LocalPool(1)):  # a piece does its own work
                return function(*arguments)

        return super().map(alone, pieces, "threads", on_progress, shared)
