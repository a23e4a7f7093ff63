"""Several sweeps in one pass over the boards of a game.

On a GPU boards are ready once for all of them (`packed.py`), and a shard is worked out for one sweep after the other.
What a sweep finds is the same to the bit as alone, and it is stored and continued under its own name: a pass that was
stopped goes on with any choice of the same strategies, or with one of them alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from kibitz.cards.tables import QUICK, Arrays, Recipe, Tell, build_together, whole
from kibitz.core.errors import SolverError
from kibitz.core.executor import current
from kibitz.poker.whole.gpu import Shards, fitting, packer_of, together
from kibitz.poker.whole.walk import Floats, Sweep

MOST = 24  # tasks of a pass: boards cost little beside so many, and tables of strategies much memory


@dataclass(frozen=True, eq=False)
class SweepTask:
    """A sweep, and which seats' values are asked for: of best responses or of strategies (BEST, PLAYED)."""

    sweep: Sweep
    seats: tuple[int, ...]
    mode: int

    @property
    def recipe(self) -> Recipe:
        return self.sweep.recipe(self.seats, self.mode)


def swept(tasks: Sequence[SweepTask], tell: Tell | None = None) -> list[Floats]:
    """By task, what the seats get: as `Sweep.best` and `Sweep.value`. All are of one game and one device."""
    if len({(id(task.sweep.boards), task.sweep.device.name, task.sweep.dtype) for task in tasks}) > 1:
        raise SolverError("sweeps that go over the boards together are of one game, on one device")
    left = [task for task in tasks if task.sweep.shards and task.recipe.work >= QUICK and whole(task.recipe) is None]
    if current().elsewhere and not tasks[0].sweep.device.on_gpu:  # nodes of a cluster take one sweep after the other
        left = []
    while left:
        done = _pass(left[:MOST], tell)
        for task in left[:done]:
            task.sweep.release()
        left = left[done:]
    return [task.sweep.swept(task.seats, task.mode, tell) for task in tasks]


def _pass(tasks: list[SweepTask], tell: Tell | None) -> int:
    """One pass over the boards, for the first of some tasks: as many as there is room for. Returns how many."""
    shards: dict[int, Shards] = {}
    if tasks[0].sweep.device.on_gpu:
        shards = _shards(tasks)
        tasks = list(takewhile(lambda task: id(task.sweep) in shards, tasks))
    recipes = [task.recipe for task in tasks]
    by_name = dict(zip((recipe.name for recipe in recipes), tasks, strict=True))

    def make(
        names: list[str], arrays: list[Arrays], lock: threading.Lock
    ) -> Callable[[int, list[int]], list[Callable[[], None]]]:
        chosen = [by_name[name] for name in names]
        roots = [[task.sweep.roots(seat)[-1] for seat in task.seats] for task in chosen]

        def fill(piece: int, wanted: list[int]) -> list[Callable[[], None]]:
            if shards:
                asked = [(shards[id(chosen[k].sweep)], chosen[k].seats, chosen[k].mode, roots[k]) for k in wanted]
                values = together(asked[0][0].packer, piece, asked)
            else:
                values = [chosen[k].sweep.shard(piece, chosen[k].seats, chosen[k].mode, roots[k]) for k in wanted]
            return [_addition(arrays[k], chosen[k].sweep, sums) for k, sums in zip(wanted, values, strict=True)]

        return fill

    build_together(recipes, make, tell=tell)
    return len(tasks)


def _addition(arrays: Arrays, sweep: Sweep, values: list[Floats]) -> Callable[[], None]:
    whole_numbers = sweep.in_units(values)

    def add() -> None:
        arrays["total"] += whole_numbers

    return add


def _shards(tasks: list[SweepTask]) -> dict[int, Shards]:
    """Shards by sweep, of the first sweeps: so many as the GPU has memory for."""
    sweeps = list({id(task.sweep): task.sweep for task in tasks}.values())
    packer = packer_of(sweeps, sweeps[0].device)
    shards = [Shards(sweep, sweep.device, packer) for sweep in sweeps]
    return {id(each.sweep): each for each in shards[: fitting(shards)]}
