"""Targets of stitching: a target holds the rows of a base, in any kind of store.

Stitching has four steps: a game is cut into parts, decisions outside of a part are frozen at the base, the expert of
the part is solved, and its part is joined to the base. A `Target` does them for one kind of strategy. Those of a game's
tree, and of a form without a tree whose decisions can be frozen, are in `kibitz.stitch.columns`. The plug-in of a game
brings others (`Plugin.stitching`).
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.solvers.run import whole


class MaxInfosets(NamedTuple):
    """Instead of an abstraction: the finest one within a limit of infosets. For bases that are blueprints."""

    infosets: int  # of a whole computation, at most
    inside: int | None = None  # ... of its part alone


@dataclass(frozen=True)
class Stitching:
    """What is stitched: the parts, the seats S that an expert freezes, and the abstractions."""

    kind: str  # static, dynamic, or rebuilt base
    partition: Any
    seats: Any = "all"
    inside: Any = "null"  # abstraction of S in the part; dynamic: an abstraction for each part
    outside: Any = None  # ... of seats not in S outside the part; rebuilt base: of everybody
    opponents: Any = None  # ... of seats not in S inside the part


@dataclass(frozen=True)
class Solving:
    """How each computation is solved: the keyword arguments of `static`, `dynamic` and the others.

    solver      see `kibitz solvers`
    iterations  stop after so many; until: once NashConv is at most this in the game that is solved; seconds: after so
                long. By default 20,000 iterations or a NashConv of 1e-5, whatever comes first
    seed        of `start` and of solvers that sample; each expert has its own random numbers
    start       "random": each expert starts from a random profile
    jobs        experts that are solved in parallel; default: one for each core
    threads     of a training of blueprints; default: all cores
    device      "gpu" for experts that are solved on sampled boards (solver "pcs") or trained on sampled hands
    keep        a folder where experts are kept, if they are solved on samples: the same call can be resumed
    on_start    called with an expert, its number and how many there are, before it is solved
    on_expert   called with an expert and its solution, after it was solved
    on_progress called with a `Progress`, a few times a second, while a blueprint is trained
    """

    solver: str = "cfr+"
    iterations: int | None = None
    until: float | None = None
    seconds: float | None = None
    seed: int = 0
    start: str | None = None
    jobs: int | None = None
    threads: int | None = None
    keep: str | os.PathLike[str] | None = None
    device: str = "cpu"
    on_start: Callable[[Expert, int, int], None] | None = None
    on_expert: Callable[[Expert, Any], None] | None = None
    on_progress: Callable[[Any], None] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", whole(self.seed))

    @property
    def stops(self) -> dict[str, Any]:
        """iterations, until and seconds, as far as they were given; else the default."""
        stops: dict[str, Any] = {"iterations": self.iterations, "until": self.until, "seconds": self.seconds}
        return {name: x for name, x in stops.items() if x is not None} or {"iterations": 20_000, "until": 1e-5}


@dataclass(frozen=True, eq=False, repr=False)
class Expert:
    """One computation: part j solved for seats S."""

    part: int
    name: str  # of the part
    seats: tuple[int, ...]  # S
    keeps: tuple[int, ...]  # the seats whose part j the stitched strategy takes from here
    game: Any  # what is solved: on a tree an AbstractGame, on a form FrozenRows
    size: int  # its trainable infosets; 0 where they are not counted before it is solved
    file: str = ""  # its name in a folder
    buckets: str = ""  # that hands are seen through in the part, where experts have buckets of hands

    def __repr__(self) -> str:
        return f"<Expert {self.part} ({self.name}) for seats {self.seats}: {self.size:,} infosets>"

    @property
    def facts(self) -> dict[str, Any]:
        """The computation as plain data."""
        much = {"size": self.size} if self.size or not self.buckets else {"buckets": self.buckets}
        return {"part": self.name, "seats": list(self.seats), "keeps": list(self.keeps), **much}


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """What holds the rows of a base, with what is stitched onto it and how that is solved."""

    plan: Stitching
    how: Solving
    onto: Any  # the base, or the name of an abstraction to solve it in; None: a dynamic strategy has none
    spec: str  # of the game
    players: int
    names: Sequence[str]  # of the parts; names[0] is "base"
    subject: Any = field(kw_only=True, default=None)  # what strategies are measured on; None: in matches or in --whole

    jobs: ClassVar[int | None] = 1  # experts that are solved side by side; None: one for each core

    @cached_property
    def base(self) -> Any:
        """The strategy that is refined."""
        return self.solve_base(self.onto) if isinstance(self.onto, str) else self.onto

    def experts(self) -> list[Expert]:
        """All computations, with what is frozen in them: nothing is solved yet.

        Of the seats that are to be kept some may decide nothing in a part; if none does, that is an error.
        """
        everybody, seats = tuple(range(self.players)), self.plan.seats
        if self.plan.kind == "dynamic":
            game, size = self.together()
            return [Expert(0, "all parts", everybody, everybody, game, size, "dynamic")]
        if self.plan.kind == "rebuilt base":
            return [self.expert(0, everybody, everybody)]
        sets = seat_sets(seats, self.players)
        experts: list[Expert] = []
        for part in range(1, len(self.names)):
            deciding = self.deciding(part)
            kept = [(group, tuple(s for s in keep if s in deciding)) for group, keep in sets]
            if not isinstance(seats, str) and not any(keep for _, keep in kept):
                raise nothing_there(sets[0][1][0], self.names[part])
            experts += [self.expert(part, group, keep) for group, keep in kept if keep]
        return experts

    def solve_base(self, abstraction: str) -> Any:
        """A base that is solved in an abstraction."""
        raise SolverError(f"give a saved strategy as the base, not the abstraction {abstraction}")

    @abstractmethod
    def deciding(self, part: int) -> Sequence[int]:
        """The seats that decide something in a part."""

    @abstractmethod
    def expert(self, part: int, seats: tuple[int, ...], keeps: tuple[int, ...]) -> Expert:
        """The computation of a part for S = seats."""

    def together(self) -> tuple[Any, int]:
        """(the game of a dynamic expert strategy, its infosets) [Gibson & Szafron 2011, Def. 3.3]."""
        raise SolverError("dynamic experts need a game tree or sampled boards")

    @abstractmethod
    def solve(self, expert: Expert, number: int) -> Any:
        """The answer of an expert; None while another process solves it."""

    @abstractmethod
    def join(self, experts: Sequence[Expert], answers: Sequence[Any]) -> Any:
        """The base with the experts' parts in place of its own."""


def nothing_there(seat: int, part: str) -> GameError:
    return GameError(f"seat {seat} has no decisions in part {part!r}, so it cannot have an expert there")


def seat_sets(seats: str | Sequence[Any], players: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(S, seats to keep) of each family of experts."""
    if isinstance(seats, str) and seats == "each":
        return [((i,), (i,)) for i in range(players)]
    if isinstance(seats, str) and seats == "all":
        return [(tuple(range(players)), tuple(range(players)))]
    groups = [] if isinstance(seats, str) or not isinstance(seats, Iterable) else list(seats)
    lists = [isinstance(s, list | tuple) for s in groups]
    if not groups or any(listed and not s for s, listed in zip(groups, lists, strict=True)):
        raise SolverError(f"seats={seats!r}: use 'each' (S={{i}}), 'all' (S=N), a list such as [0, 2], or several")
    if any(lists) and not all(lists):
        raise SolverError(f"seats={seats!r} mixes seats and lists of seats")
    # Of several lists, one S for each seat, the first is the seat whose part is kept.
    sets: list[tuple[tuple[int, ...], tuple[int, ...]]]
    sets = [(tuple(s), tuple(s[:1])) for s in groups] if lists[0] else [(tuple(groups), tuple(groups))]
    for group, _ in sets:
        numbers = all(isinstance(s, int | np.integer) and not isinstance(s, bool) and 0 <= s < players for s in group)
        if not numbers or len(set(group)) < len(group):
            raise SolverError(f"seats={seats!r}: seats are different numbers from 0 to {players - 1}")
    keepers = [k for _, keep in sets for k in keep]
    if len(set(keepers)) < len(keepers):
        raise SolverError(f"seats={seats!r} builds the same seat's part twice; name each seat first in one list only")
    return sets


def by_part(names: Sequence[str], abstractions: Any) -> list[Any]:
    """The abstraction of each part 0..p of a dynamic expert strategy."""
    if isinstance(abstractions, Mapping):
        unknown = set(abstractions) - set(names)
        if unknown:
            raise SolverError(f"there is no part {sorted(unknown)[0]!r}: parts are {', '.join(names)}")
        return [abstractions.get(name, "null") for name in names]
    if isinstance(abstractions, str) or not isinstance(abstractions, Iterable):
        raise SolverError(f"abstractions={abstractions!r}: give a list with one for each of {', '.join(names)}")
    sources = list(abstractions)
    if len(sources) == 2 and len(names) > 2:
        sources = [sources[0]] + [sources[1]] * (len(names) - 1)
    if len(sources) != len(names):
        raise SolverError(
            f"{len(names)} parts need as many abstractions, or two (base and all experts), not {len(sources)}"
        )
    return sources


def from_base(base: Profile) -> dict[str, Any]:
    """What a stitched profile says of its base."""
    about = {"sha256": base.sha256, "abstraction": base.meta.get("abstraction", "")}
    if "stitch" in base.meta:
        about["stitch"] = base.meta["stitch"]
    return {"base": about, **({"abstraction": base.meta["abstraction"]} if "abstraction" in base.meta else {})}
