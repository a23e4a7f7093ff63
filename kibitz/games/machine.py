"""A game as walks and matches take it: rules that can be run a million times a second, and the names of its rows.

A game may have a method `machine()` that gives one of these (`kibitz.games.toepen.machine`); any other game is walked
on its tree, or, where that does not fit, by its rules in plain Python (`kibitz.machine`). What kernels ask of a game is
told in `kibitz/kernels/walk/machine.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import SolverError
from kibitz.games.protocol import Game
from kibitz.spec import unknown

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class View:
    """An abstraction: which row a decision reads."""

    name: str
    keys: Any  # what kernels take
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)  # what has to be saved beside the name


class Machine:
    """What every machine has. Sizes are upper bounds."""

    rules: Game  # the readable rules
    game: Any  # what kernels take
    words: int  # of a state; 0: states are objects of Python
    actions: int  # of a decision
    depth: int  # decisions of a history
    train: Callable[..., None]  # kibitz.kernels.walk.walk.walk_all, compiled for this game
    duel: Callable[..., None]  # kibitz.kernels.walk.players.play_deals, likewise
    abstractions: Mapping[str, str] = {"null": "nothing is merged"}  # name -> what is merged, in a line
    default = "null"  # the abstraction to train with
    parts: Sequence[str] = ()  # names of the parts of a grafting partition, by number
    advises = False  # whether the game has a rule of thumb

    @property
    def compiled(self) -> bool:
        return self.words > 0

    @property
    def spec(self) -> str:
        return getattr(self.rules, "spec", "") or type(self.rules).__name__

    @property
    def players(self) -> int:
        return int(self.rules.players)

    def view(self, abstraction: Any = "null", arrays: Mapping[str, NDArray[Any]] | None = None) -> View:
        """The abstraction of a name, or of arrays that were saved with one."""
        raise NotImplementedError

    def keys_of(self, view: View, seat: int, infosets: Sequence[str]) -> Words:
        """The keys of the rows that a seat reads in some infosets of the rules."""
        raise NotImplementedError

    def keys_at(self, view: View, tree: Any) -> Words:
        """The keys of all infosets of the game's tree."""
        infosets = tree.infosets
        start = [int(at) for at in infosets.seat_start]
        labels = list(infosets.labels)
        return np.concatenate(
            [self.keys_of(view, seat, labels[start[seat] : start[seat + 1]]) for seat in range(self.players)]
        )

    def known(self, abstraction: str) -> str:
        """An abstraction's name, if there is one of that name."""
        if abstraction not in self.abstractions:
            raise unknown(f"abstraction of {self.spec}", abstraction, self.abstractions)
        return abstraction

    def part(self, name: str | int) -> int:
        """The number of a part."""
        if not self.parts:
            raise SolverError(f"{self.spec} is not divided into parts, so nothing can be grafted onto a part of it")
        if isinstance(name, int) and 0 <= name < len(self.parts):
            return name
        if str(name) not in self.parts:
            raise unknown(f"part of {self.spec}", str(name), self.parts)
        return list(self.parts).index(str(name))


def row_key(*what: Hashable) -> int:
    """A word that stands for a row: 64 bits of a hash of what names it, never 0."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1
