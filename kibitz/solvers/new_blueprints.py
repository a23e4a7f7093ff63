"""New, untrained blueprints, of the right kind for each game."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.games.plugins import plugin_of
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import Machine

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}


@dataclass(frozen=True)
class BlueprintOptions:
    """Options of a blueprint's table, and options for limit poker with buckets.

    memory    that a table of hashed rows may grow to, in bytes or as "500MB"
    full      what happens then: "evict" (drop the least visited row) or "refuse" (store no new rows)
    seats     of an expert: the players who use the base outside the part, while the others learn; default: all
    max_infosets  three-player limit poker: the finest buckets with so many infosets are chosen
    dynamic   ... and of these parts finer ones, as ("f", "rf"): dynamic experts
    sampling  limit poker in buckets: "external", "outcome" (one history a walk) or "chance" (all actions are visited)
    prune     limit poker in buckets: the regret, below 0 and in chips, of actions that are skipped; 0: none
    """

    memory: int | str = 1_000_000_000
    full: str = "evict"
    seats: tuple[int, ...] | None = None
    max_infosets: int | None = None
    dynamic: tuple[str, ...] = ()
    sampling: str = "external"
    prune: float = 0.0


@dataclass(frozen=True)
class BlueprintRequest(BlueprintOptions):
    """All that `kibitz.train` and commands say of a new blueprint."""

    abstraction: Any = None
    seed: int = 0
    part: str | int | None = None  # of a graft or a static expert


def new_blueprint(
    machine: Machine, request: BlueprintRequest, base: Blueprint | None = None,
    arrays: dict[str, NDArray[Any]] | None = None,
) -> Blueprint:  # fmt: skip
    """A blueprint of the kind that the game's plug-in has for it, else one with hashed rows. arrays: as in
    Blueprint.empty."""
    if request.abstraction is None or isinstance(request.abstraction, str):
        blueprint: Blueprint | None = plugin_of(machine.rules).blueprint(machine, request, base)
        if blueprint is not None:
            return blueprint
    if request.max_infosets is not None or request.dynamic:
        raise SolverError(f"{machine.spec} is not poker: --max-infosets and --dynamic are for limit poker with buckets")
    if request.sampling != "external" or request.prune:
        raise SolverError("--sampling and --prune are for limit poker with buckets, by --max-infosets or --abstraction")
    hashed = Blueprint.empty(machine, request.abstraction, bytes_of(request.memory), request.seed, request.full,
                             arrays, base, request.part)  # fmt: skip
    if request.seats is not None:
        hashed.seats = sum(1 << seat for seat in set(request.seats))
    return hashed


def bytes_of(size: int | str) -> int:
    """A size such as 500MB, 1.5 GB or 2GiB in bytes."""
    if isinstance(size, int):
        return size
    parts = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMG]I?|)B\s*", size.upper())
    if not parts:
        raise SolverError(f"memory={size!r} should be a number with its unit, KB, MB or GB: 500MB, 2GB")
    return int(float(parts[1]) * UNITS[parts[2]])
