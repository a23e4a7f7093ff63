"""Strategies for limit poker of three and more players: which rows a base, an expert or dynamic experts have, and how
fine they can be within a limit on infosets [Gibson & Szafron 2011, Sec. 6].

    machine = machine_of("holdem.limit.3p")
    base = placed_blueprint(machine, RowPlan((base_buckets(machine, 162_000_000),)))
    expert_f = expert(base, "f", expert_buckets(base, "f", 162_000_000))

Before the flop hands are as they are, 169 of them up to suits, and forgotten later; from the flop on a bucket tells
those before it. A limit is for all rows of one computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of, placed_blueprint
from kibitz.poker.buckets.buckets import is_bucket_name
from kibitz.poker.buckets.percentile import finest_after, infosets_of, percentile_spec
from kibitz.poker.rules.rounds import Rounds
from kibitz.poker.rules.rows import RowLayout, RowPlan
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import Machine, by_rounds
from kibitz.solvers.new_blueprints import BlueprintRequest

PARTS = ("f", "rf", "rrf", "rcf")  # the most commonly reached pots of two players, after [Abou Risk & Szafron 2010]


def rounds_in(machine: Machine) -> Rounds:
    """The betting of a machine that has it by rounds."""
    rounds = getattr(machine, "betting", None)
    assert isinstance(rounds, Rounds)
    return rounds


def hands_before(machine: Any) -> int:
    """Hands of the first round up to names of suits: 169 of two cards of a whole deck."""
    ranks, suits, hole = machine.definition.ranks, machine.definition.suits, machine.definition.hole
    if hole == 2 and suits > 1:
        return int(ranks**2)  # pairs, suited, offsuit
    return comb(ranks, hole)


def decisions_in(machine: Machine, parts: Sequence[str]) -> list[list[int]]:
    """[outside and each part][round]  decisions."""
    rounds = rounds_in(machine)
    ones = [[1] * rounds.definition.rounds] * (1 + len(parts))
    layout = RowLayout(rounds, RowPlan(("any",) * (1 + len(parts)), tuple(parts)), ones)
    decisions: list[list[int]] = layout.infosets.tolist()
    return decisions


def base_buckets(machine: Machine, limit: int) -> str:
    """The finest percentile buckets for the whole game."""
    return percentile_spec(finest_after(decisions_in(machine, ())[0], limit, hands_before(machine)), forget=1)


def others_of(machine: Machine, seats: Sequence[int] | None) -> int:
    """The mask of the seats outside of S."""
    every = (1 << machine.players) - 1
    chosen = range(machine.players) if seats is None else seats
    for seat in chosen:
        if not 0 <= seat < machine.players:
            raise SolverError(f"there is no seat {seat}: seats are 0 to {machine.players - 1}")
    return every & ~sum(1 << seat for seat in set(chosen))


def expert_rows(base: Blueprint, part: str, buckets: str, seats: Sequence[int] | None = None) -> RowPlan:
    """What a static expert learns: its part, and outside of it what the seats that are not in S do."""
    others = others_of(base.machine, seats)
    return RowPlan((layout_of(base).rows.buckets[0] if others else "", buckets), (part,), outside=others)


def expert_buckets(
    base: Blueprint, part: str, limit: int, seats: Sequence[int] | None = None, room: int | None = None
) -> str:
    """The finest percentile buckets for a static expert. room: infosets of its part alone, at most."""
    machine = base.machine
    rows = expert_rows(base, part, "any", seats)
    outside = 0
    if rows.outside:
        outside = RowLayout(rounds_in(machine), rows, [layout_of(base).counts[0], None]).size
    inside = decisions_in(machine, (part,))[1]
    left = limit - outside if room is None else min(limit - outside, room)
    if left <= 0:
        raise SolverError(
            f"the seats outside of S have {outside:,} infosets elsewhere already, which is the limit of {limit:,} or "
            "more: a larger limit, or a coarser base"
        )
    return percentile_spec(finest_after(inside, left, hands_before(machine)), forget=1)


def dynamic_buckets(machine: Machine, parts: Sequence[str], limit: int) -> tuple[str, str]:
    """(buckets outside of all parts, buckets in each part): what is left by the half of the limit outside."""
    (outside, *each), first = decisions_in(machine, parts), hands_before(machine)
    coarse = finest_after(outside, limit // 2, first)
    left = limit - infosets_of(outside, coarse, forget=1)
    inside = [sum(column) for column in zip(*each, strict=True)]
    return percentile_spec(coarse, forget=1), percentile_spec(finest_after(inside, left, first), forget=1)


def dynamic_rows(coarse: str, fine: str, parts: Sequence[str]) -> RowPlan:
    return RowPlan((coarse, *[fine] * len(parts)), tuple(parts))


def expert(
    base: Blueprint, part: str, buckets: str, seats: Sequence[int] | None = None, seed: int = 0, **how: Any
) -> Blueprint:
    """A static expert that has learned nothing, S = seats; default: all. how: as of placed_blueprint."""
    return placed_blueprint(base.machine, expert_rows(base, part, buckets, seats), seed, base, seats, **how)


def row_blueprint(machine: Machine, wanted: BlueprintRequest, base: Blueprint | None = None) -> Blueprint | None:
    """A blueprint that has learned nothing and has rows by place, where betting is by rounds and hands are in buckets;
    else None."""
    name = wanted.abstraction or machine.default
    if wanted.limit is not None or wanted.dynamic or is_placed(base):
        machine = by_rounds(machine)
    elif not machine.by_rounds or not is_bucket_name(name):
        return None
    if is_placed(base) and wanted.limit is None and not is_bucket_name(name):
        raise SolverError("the base sees hands through buckets, so an expert does: --abstraction 'percentile(8)'")
    if wanted.limit is not None and wanted.abstraction is not None:
        raise SolverError("give buckets by --abstraction, or a limit on infosets that chooses them, not both")
    if base is not None and not is_placed(base):
        raise SolverError("the base has hashed rows; an expert here asks for a base with buckets")
    how: dict[str, Any] = {"sampling": wanted.sampling, "prune": wanted.prune}
    if wanted.dynamic:
        if base is not None or wanted.limit is None:
            raise SolverError("dynamic experts are trained in one go with their base: give --limit, and no --base")
        coarse, fine = dynamic_buckets(machine, wanted.dynamic, wanted.limit)
        return placed_blueprint(machine, dynamic_rows(coarse, fine, wanted.dynamic), wanted.seed, **how)
    if base is None:
        buckets = name if wanted.limit is None else base_buckets(machine, wanted.limit)
        return placed_blueprint(machine, RowPlan((buckets,)), wanted.seed, **how)
    part = str(wanted.part)
    buckets = name if wanted.limit is None else expert_buckets(base, part, wanted.limit, wanted.seats)
    return expert(base, part, buckets, wanted.seats, wanted.seed, **how)
