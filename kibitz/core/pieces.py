"""Pieces of work, and what an executor is that does them (`executor.py`)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from kibitz.core.artefacts import SharedArtefact
from kibitz.core.progress import Shown

Apart: TypeAlias = Literal["threads", "processes", "cores"]
OnPieces: TypeAlias = Callable[[int, int, float | None], None]  # pieces done, of how many, seconds left if known


@dataclass(frozen=True)
class Piece:
    """One call. What it needs is what a node must have free before the piece is started there."""

    arguments: tuple[Any, ...]
    cost: float = 1.0  # estimated, in any unit: pieces that cost more are begun first
    cores: int = 1
    memory: int = 0  # bytes; 0: not counted
    gpus: float = 0.0


class Executor(Protocol):
    """Does pieces of work, somewhere."""

    name: str  # as --on names it
    elsewhere: bool  # pieces are done by other machines: what lies in this process does not reach them

    def map(
        self,
        function: Callable[..., Any],
        pieces: Sequence[Piece],
        apart: Apart = "processes",
        on_progress: OnPieces | None = None,
        shared: tuple[Any, ...] = (),
    ) -> Iterator[tuple[int, Any]]:
        """(number, answer) of pieces as they are done: function(*shared, *arguments).

        apart   how they go side by side on this machine: in threads if the work is mostly compiled, in processes if it
                is mostly Python's, and "cores" if it has threads of its own: processes with an equal share of the cores
        shared  what all pieces get, such as a large array: it is sent once to a node and not once to a piece
        """

    def artefact(self, path: str | os.PathLike[str]) -> SharedArtefact:
        """The name of a saved artefact in the arguments of pieces: `located` opens it where the piece is done."""

    def close(self) -> None:
        """Give back what was taken for the work."""


class Remaining:
    """The time that is left, by what the pieces that are done have cost."""

    def __init__(self, costs: Sequence[float], what: str = "", on: str = "") -> None:
        """what, on: the work and where it is done, for `progress.py`."""
        self.shown = Shown(what, on)
        self.costs, self.left, self.done = costs, float(sum(costs)), 0
        self.began, self.spent = time.monotonic(), 0.0

    def add(self, number: int) -> tuple[int, int, float | None]:
        """A piece is done; returns the arguments of an `OnPieces` callback."""
        self.done += 1
        self.spent += self.costs[number]
        rest = max(0.0, self.left - self.spent)
        used = time.monotonic() - self.began
        told = self.done, len(self.costs), used * rest / self.spent if self.spent > 0.0 else None
        self.shown.tell(*told)
        return told

    def end(self) -> None:
        """No more pieces are done."""
        self.shown.end()


def by_cost(pieces: Sequence[Piece]) -> list[int]:
    """Numbers of pieces, those that cost most first: what is begun last should be short."""
    return sorted(range(len(pieces)), key=lambda k: -pieces[k].cost)


def size_of(value: Any) -> int:
    """Bytes of plain data, about: numbers are eight."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(size_of(key) + size_of(each) for key, each in value.items())
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else 8
