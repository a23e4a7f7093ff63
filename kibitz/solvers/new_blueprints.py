"""A blueprint that has learned nothing yet: what is wanted of it, and who lays it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.games.plugins import plugin_of
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import Machine


@dataclass(frozen=True)
class Wanted:
    """What a blueprint should be, as commands and kibitz.train say it."""

    abstraction: str | None = None
    memory: int = 1 << 30  # of a hash table
    seed: int = 0
    full: str = "evict"
    part: str | int | None = None  # of a graft or a static expert
    seats: tuple[int, ...] | None = None  # S of a static expert
    limit: int | None = None  # infosets of rows by place
    dynamic: tuple[str, ...] = ()  # parts with finer rows
    sampling: str = "external"  # of rows by place
    prune: float = 0.0  # ... the regret below 0, in chips, of actions that are passed over; 0: none are


def new_blueprint(
    machine: Machine, wanted: Wanted, base: Blueprint | None = None, arrays: dict[str, NDArray[Any]] | None = None
) -> Blueprint:
    """A blueprint of the kind that the game's plug-in has for it, else one with hashed rows. arrays: as in
    Blueprint.empty."""
    blueprint: Blueprint | None = plugin_of(machine.rules).blueprint(machine, wanted, base)
    if blueprint is not None:
        return blueprint
    if wanted.limit is not None or wanted.dynamic:
        raise SolverError(f"{machine.spec} is no poker: --limit and --dynamic are for limit poker with buckets")
    if wanted.sampling != "external" or wanted.prune:
        raise SolverError("--sampling and --prune are for limit poker with buckets, by --limit or --abstraction")
    name = wanted.abstraction or machine.default
    blueprint = Blueprint.empty(machine, name, wanted.memory, wanted.seed, wanted.full, arrays, base, wanted.part)
    if wanted.seats is not None:
        blueprint.seats = sum(1 << seat for seat in set(wanted.seats))
    return blueprint
