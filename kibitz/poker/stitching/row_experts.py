"""Static experts of limit poker with three or more players: blueprints that are trained on sampled hands, one by one.

    finer = kibitz.stitch.static("holdem.limit.3p", base, "prefix(f, rf)", "all", MaxInfosets(20_000_000), seconds=300)

With `keep` each expert is saved in a folder: a stopped run is resumed, and a longer run continues a shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of, stitched
from kibitz.poker.blueprints.rows import expert, expert_buckets, expert_rows
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.experts import inside_of, prefixes
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.checkpoints import Keeper
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.training import continued, keeper_of, resumed_with
from kibitz.stitch.targets import Expert, MaxInfosets, Solving, Stitching, Target, seat_sets

EVERY = 60.0  # seconds between saves


def row_target(base: Any, plan: Stitching, how: Solving) -> RowTarget | None:
    """The target of a base whose rows lie by betting and bucket; None for other bases."""
    if not isinstance(base, Blueprint) or not is_placed(base):
        return None
    if plan.outside is not None or plan.opponents is not None:
        raise SolverError("free opponents use the buckets of the base: leave --outside and --opponents out")
    if how.until is not None or how.start is not None:
        raise SolverError("hands are sampled, so NashConv is unknown and the initial strategy is uniform: give only "
                          "--seconds")
    if plan.inside == "null":
        raise SolverError("give the buckets of the experts: inside='percentile([169, 9, 9, 9], forget=1)', or "
                          "--max-infosets 20M")
    parts = prefixes(plan.partition)
    machine = base.machine
    return RowTarget(plan, how, base, machine.spec, machine.players, ("base", *parts))


def _fineness(spec: str) -> int:
    product = 1
    for number in re.findall(r"\d+", spec.partition("]")[0])[1:]:
        product *= int(number)
    return product


@dataclass(frozen=True, eq=False)
class RowTarget(Target):
    """A blueprint with rows by betting and bucket. An expert's game is the rows that it learns (`RowPlan`)."""

    @cached_property
    def buckets(self) -> dict[str, str]:
        """By part, which all its experts share: with a limit those that fit for every S."""
        inside = self.plan.inside
        if not isinstance(inside, MaxInfosets):
            return {part: inside_of(inside, part) for part in self.names[1:]}
        sets = [seats for seats, _ in seat_sets(self.plan.seats, self.players)]
        every = {part: [expert_buckets(self.base, part, inside.infosets, seats, inside.inside) for seats in sets]
                 for part in self.names[1:]}  # fmt: skip
        return {part: min(buckets, key=_fineness) for part, buckets in every.items()}

    def deciding(self, part: int) -> Sequence[int]:
        return range(self.players)  # `stitched` asks for all, though some have folded

    def expert(self, part: int, seats: tuple[int, ...], keeps: tuple[int, ...]) -> Expert:
        name = self.names[part]
        rows = expert_rows(self.base, name, self.buckets[name], seats)
        file = f"{name.replace('/', '-')}-{''.join(map(str, seats))}"
        return Expert(part, name, seats, keeps, rows, 0, file, self.buckets[name])

    def solve(self, expert: Expert, number: int) -> Blueprint:
        if self.how.seconds is None and self.how.iterations is None:
            raise SolverError("give the training time of each expert: --seconds 300, or --iterations 1000000")
        return trained_expert(self.base, expert, self.how).played()

    def join(self, experts: Sequence[Expert], answers: Sequence[Blueprint]) -> Blueprint:
        by_seat: dict[str, dict[int, Blueprint]] = {part: {} for part in self.names[1:]}
        for each, answer in zip(experts, answers, strict=True):
            by_seat[each.name].update(dict.fromkeys(each.keeps, answer))
        return stitched(self.base.played(), by_seat)


def begun(path: Path | None, rows: RowPlan, seats: int, make: Callable[[], Blueprint],
          base: Blueprint | None = None, game: Any = None,
          device: str = "cpu") -> tuple[Blueprint, Keeper]:  # fmt: skip
    """A training as it was saved at a path, or a new one, and who saves it; another training there is refused."""
    saved = path is not None and (path / "manifest.json").exists()
    blueprint = make() if not saved else resumed_with(load_blueprint(str(path), game=game), base)
    if not is_placed(blueprint) or layout_of(blueprint).rows != rows or blueprint.seats != seats:
        raise SolverError(f"{path} was trained with another abstraction: choose another folder, or remove it")
    blueprint.warm_up(device)
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    return blueprint, keeper_of(blueprint, path, saved, EVERY, lambda text: None)


def trained_expert(base: Blueprint, of: Expert, how: Solving) -> Blueprint:
    """An expert that is trained for so long in total, resumed from its folder if possible."""
    path = None if how.keep is None else Path(how.keep) / f"{of.file}.blueprint"
    seats = sum(1 << seat for seat in of.seats)
    blueprint, saver = begun(path, of.game, seats, lambda: expert(base, of.name, of.buckets, of.seats, how.seed), base,
                             base.machine, how.device)  # fmt: skip
    left = None if how.seconds is None else how.seconds - blueprint.seconds
    if left is not None and left <= 0:
        return blueprint
    if continued(blueprint, saver, how.iterations, left, how.threads, how.on_progress, device=how.device):
        raise KeyboardInterrupt
    return blueprint
