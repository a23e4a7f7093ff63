"""Moves of a search: changes of a strategy, and what a search asks of the game that they are made in.

A `Move` is an ordinary computation of `kibitz.stitch` on the strategy of the moment:

    static    a part solved in an abstraction, with the strategy frozen outside it, for S: each, all, or pairs of seats
    rebuilt   the infosets that no expert has changed, solved again in the base's abstraction: the base, rebuilt
    dynamic   the base's abstraction with finer ones in some parts, all solved together: a new base
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.judges import Judge
from kibitz.stitch.auto.signals import PartSignal
from kibitz.stitch.nodes import BYTES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Strategy = Any  # as a setting keeps it: an array by infoset column, or a profile or blueprint of a large game
STATIC, REBUILT, DYNAMIC = "static", "rebuilt", "dynamic"
PAIRS = "pairs"  # S = {i, i + 1} for each seat i: the hybrid of Gibson & Szafron's Sec. 7


class Size(NamedTuple):
    """The largest computation of a move, and all of them together."""

    infosets: int
    columns: int
    computations: int

    @property
    def memory(self) -> int:
        """Bytes that its arrays take."""
        return BYTES * self.columns


class MoveRun(NamedTuple):
    """The answers of a move."""

    answers: Any  # a strategy after each of its lengths
    seconds: tuple[float, ...]  # until each of them


@dataclass(frozen=True)
class Move:
    """A change of the strategy, as plain data but for its parts."""

    kind: str
    cuts: tuple[Cut, ...]
    seats: str  # S: each, all or pairs; of a dynamic move all
    inside: tuple[str, ...]  # the abstraction in each part

    @property
    def name(self) -> str:
        where = " + ".join(f"{c.name} in {a}" for c, a in zip(self.cuts, self.inside, strict=True))
        s = {"each": "S={i}", "all": "S=N", PAIRS: "|S|=2"}[self.seats]
        return f"{self.kind} {where}" + (f", {s}" if self.kind == STATIC else "")

    @property
    def here(self) -> Bools:
        """[I] the infosets that it changes, if it is not dynamic."""
        return self.cuts[0].here

    def data(self) -> dict[str, Any]:
        return {"kind": self.kind, "cuts": [cut.name for cut in self.cuts], "seats": self.seats,
                "inside": list(self.inside)}  # fmt: skip


class SearchSetting(Protocol):
    """What a search asks of a game with its abstractions. Parts are sets of places: infosets, or nodes of the betting.
    """

    @property
    def base(self) -> str:
        """The abstraction of the base."""

    @property
    def solver(self) -> str: ...

    @property
    def spec(self) -> str:
        """The game, by name."""

    @property
    def digest(self) -> str:
        """Of the game, for answers that are kept."""

    @property
    def steps(self) -> str:
        """What lengths count: iterations."""

    @property
    def places(self) -> int: ...

    @property
    def players(self) -> int: ...

    @property
    def large(self) -> bool:
        """Whether measuring takes long, so that fewer pairs of moves are measured."""

    @property
    def divides(self) -> bool:
        """Whether moves are solved one after another, with all cores, and divide a length among them: the experts of a
        plan then have one budget of training together."""

    @property
    def base_rows(self) -> int:
        """The size of the base, as papers count it."""

    def insides(self) -> list[str]:
        """Abstractions of experts, where none are named."""

    def judge(self) -> Judge:
        """The judge, where none is named."""

    # Strategies

    def begin(self, base: Any) -> Strategy:
        """A base, a profile or a blueprint, as the setting keeps strategies."""

    def content(self, strategy: Strategy) -> bytes:
        """What answers that are kept depend on."""

    def join(self, strategy: Strategy, answers: Sequence[tuple[Move, Strategy]]) -> Strategy:
        """A strategy with the parts of moves in place of its own; a dynamic move replaces all of it."""

    def save(self, path: Path, run: MoveRun, meta: dict[str, Any]) -> None:
        """Keep the answers of a move."""

    def load(self, path: Path, lengths: int) -> tuple[MoveRun, dict[str, Any]]:
        """What was kept; ArtefactError, KeyError or ValueError if that is something else."""

    def profile(self, strategy: Strategy, /, **meta: Any) -> Any:
        """A strategy as it is saved and played."""

    # Measures

    def losses(self, strategy: Strategy) -> Floats:
        """[places] what best responses win there, or a stand-in for it: where to look first."""

    def signals(self, strategy: Strategy, /, among: Sequence[Cut]) -> list[PartSignal]: ...

    def tree_cuts(self, lost: Floats, most: int) -> list[Cut]:
        """Parts by their first actions, for a picture."""

    # Moves

    def cuts(self, lost: Floats, most: int, fits: Callable[[Cut], bool]) -> list[Cut]:
        """The parts that are looked at: where most is lost, and some expert fits."""

    def experts(self, cut: Cut, effort: Any) -> list[Move]: ...

    def rebuilt(self, changed: Bools) -> Move | None:
        """The base's part, solved again, if the setting can do that. changed: [places] experts have them."""

    def tried(self, moves: Sequence[tuple[Move, Size]]) -> list[tuple[Move, Size]]:
        """Of the moves that fit the limits, those that are worth a pilot."""

    def dynamic_moves(self) -> bool:
        """Whether parts can have finer abstractions in a base that is solved together."""

    def size(self, move: Move) -> Size:
        """Its computations, counted before anything is built."""

    def solve(self, move: Move, strategy: Strategy, /, lengths: Sequence[int], seed: int = 0) -> MoveRun:
        """The strategies after a move whose experts were solved for so many iterations: one run, read at each length.
        """

    def order(self, move: Move) -> Any:
        """A move as plain values, for `solve_order` on another machine."""
