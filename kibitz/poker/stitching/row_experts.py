"""Static experts of limit poker for three and more seats, trained one after another and kept in a folder.

    made = stitched_rows(base, ("f", "rf"), "all", limit=20_000_000, seconds=300, keep="experts")

An expert is a blueprint of its own (`kibitz.poker.blueprints.rows`): what was stopped goes on, and a longer run from a
shorter one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of, stitched
from kibitz.poker.blueprints.rows import expert, expert_buckets, expert_rows
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.checkpoints import Keeper
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.training import continued, keeper_of, resumed_with
from kibitz.stitch.ground import seat_sets

EVERY = 60.0  # seconds between saves


@dataclass(frozen=True)
class RowExpert:
    """A computation: the part, S, the seats that the expert plays, and its buckets."""

    part: str
    seats: tuple[int, ...]
    keeps: tuple[int, ...]
    buckets: str

    @property
    def name(self) -> str:
        """A name for its folder."""
        return f"{self.part.replace('/', '-')}-{''.join(map(str, self.seats))}"


def row_experts(
    base: Blueprint, parts: Sequence[str], seats: Any = "all", inside: str | None = None, limit: int | None = None,
    room: int | None = None,
) -> list[RowExpert]:  # fmt: skip
    """All computations: each part, for each S. inside: buckets in the parts; or a limit on infosets that chooses them,
    and one on those of a part alone (room).

    With a limit all experts of a part see through the same buckets, those that fit for every S.
    """
    if (inside is None) == (limit is None):
        raise SolverError("say how experts see hands: buckets (inside=), or a limit on infosets (limit=)")
    found = []
    for part in parts:
        for chosen, keeps in seat_sets(seats, base.machine.players):
            buckets = inside or expert_buckets(base, part, limit or 0, chosen, room)
            found.append(RowExpert(part, tuple(chosen), tuple(keeps), buckets))
    if inside is None:  # seats with fewer decisions outside would have room for more
        coarsest = {part: min((each.buckets for each in found if each.part == part), key=_fineness) for part in parts}
        found = [RowExpert(each.part, each.seats, each.keeps, coarsest[each.part]) for each in found]
    return found


def _fineness(spec: str) -> int:
    product = 1
    for number in re.findall(r"\d+", spec.partition("]")[0])[1:]:
        product *= int(number)
    return product


def begun(path: Path | None, rows: RowPlan, seats: int, make: Callable[[], Blueprint],
          base: Blueprint | None = None, game: Any = None) -> tuple[Blueprint, Keeper]:  # fmt: skip
    """A training as it lies at a path, or a new one, and who saves it; another training there is refused."""
    held = path is not None and (path / "manifest.json").exists()
    made = make() if not held else resumed_with(load_blueprint(str(path), game=game), base)
    if not is_placed(made) or layout_of(made).rows != rows or made.seats != seats:
        raise SolverError(f"{path} was trained with other rows: choose another folder, or remove it")
    made.warm_up()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    return made, keeper_of(made, path, held, EVERY, lambda text: None)


def trained_expert(
    base: Blueprint, of: RowExpert, keep: str | os.PathLike[str] | None = None, *, seconds: float | None = None,
    iterations: int | None = None, seed: int = 0, threads: int | None = None,
    on_progress: Callable[[Any], None] | None = None,
) -> Blueprint:  # fmt: skip
    """An expert that was trained for so long in all, in its folder or anew."""
    path = None if keep is None else Path(keep) / f"{of.name}.blueprint"
    rows, seats = expert_rows(base, of.part, of.buckets, of.seats), sum(1 << seat for seat in of.seats)
    made, saver = begun(path, rows, seats, lambda: expert(base, of.part, of.buckets, of.seats, seed), base,
                        base.machine)  # fmt: skip
    left = None if seconds is None else seconds - made.seconds
    if left is not None and left <= 0:
        return made
    stopped = continued(made, saver, iterations, left, threads, on_progress)
    if stopped:
        raise KeyboardInterrupt
    return made


def stitched_rows(
    base: Blueprint, parts: Sequence[str], seats: Any = "all", inside: str | None = None, limit: int | None = None,
    keep: str | os.PathLike[str] | None = None, on_expert: Callable[[RowExpert, int, int], None] | None = None,
    **how: Any,
) -> Blueprint:  # fmt: skip
    """A base with its experts. how: seconds or iterations of each expert, seed, threads, on_progress."""
    every = row_experts(base, parts, seats, inside, limit)
    taught: dict[str, dict[int, Blueprint]] = {part: {} for part in parts}
    for number, each in enumerate(every):
        if on_expert is not None:
            on_expert(each, number, len(every))
        made = trained_expert(base, each, keep, **how).played()
        taught[each.part].update(dict.fromkeys(each.keeps, made))
    return stitched(base.played(), taught)
