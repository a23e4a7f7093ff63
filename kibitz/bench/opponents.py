"""The strategies that come with kibitz (`kibitz/shipped`), made again: python -m kibitz.bench.opponents.

    python -m kibitz.bench.opponents --runs runs/opponents            # trains both; the same command goes on
    python -m kibitz.bench.opponents --runs runs/opponents --only holdem.limit.3p --iterations 2000000

Each is a blueprint of limit hold'em by external sampling, within 169 hands before the flop and 100 percentile buckets
of E[HS²] in each later round, with imperfect recall. Training is saved in the folder of --runs from time to time; a
seed and one thread give the same bytes, interrupted or not. What is shipped has the average strategy in bytes, the
thresholds of the buckets, so that play needs no tables, and how it was made.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import kibitz
from kibitz.core import shipped, store
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.buckets.on_demand import thresholds
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers.blueprint import KIND, Blueprint
from kibitz.solvers.machines import by_rounds, machine_of
from kibitz.solvers.saved_blueprints import load_blueprint

MOST_BYTES = 4 << 20  # of one shipped strategy
SAVE_EVERY = 30.0  # seconds


class OpponentRecipe(NamedTuple):
    """How one of them is trained."""

    rows: RowPlan
    iterations: int
    seed: int = 0


BUCKETS = "percentile([169, 100, 100, 100], recall=false)"
RECIPES = {
    "holdem.limit.2p": OpponentRecipe(RowPlan((BUCKETS,)), 5_000_000),
    "holdem.limit.3p": OpponentRecipe(RowPlan((BUCKETS,), betting="pot"), 2_200_000),
}


def trained(name: str, runs: Path, iterations: int | None = None) -> Blueprint:
    """The blueprint of a recipe, trained on from where the folder has it."""
    recipe, path = RECIPES[name], runs / f"{name}.blueprint"
    machine = by_rounds(machine_of(name))
    saved = store.kind_at(path) == KIND
    blueprint = load_blueprint(path, game=machine) if saved else placed_blueprint(machine, recipe.rows, recipe.seed)
    blueprint.warm_up()
    after = blueprint.seconds + SAVE_EVERY

    def on_block(progress: Any) -> None:
        nonlocal after
        if progress.seconds >= after:
            after = progress.seconds + SAVE_EVERY
            done = f"{progress.iteration:,} iterations, {progress.visited:,} decisions, {progress.seconds:.0f} s"
            print(f"{name}: {done}", flush=True)
            blueprint.save(path, lambda meta: True)

    runs.mkdir(parents=True, exist_ok=True)
    blueprint.train(iterations=recipe.iterations if iterations is None else iterations, on_block=on_block)
    blueprint.save(path, lambda meta: True)
    return blueprint


def ship(blueprint: Blueprint, path: Path) -> int:
    """Write what is shipped of a blueprint; gives its size in bytes."""
    import numba

    played = blueprint.played()
    rules: Any = blueprint.machine.rules
    arrays: dict[str, NDArray[Any]] = {**played.arrays(), **thresholds(rules.definition, BUCKETS)}
    record = {
        "command": "python -m kibitz.bench.opponents", "decisions": int(blueprint.counts[0]),
        "kibitz": kibitz.__version__, "machine": platform.machine(), "numba": numba.__version__,
        "numpy": np.__version__, "python": platform.python_version(), "threads": 1,
    }  # fmt: skip
    size = sum(array.nbytes for array in arrays.values())
    if size > MOST_BYTES:
        raise SystemExit(f"{path} would have {size:,} bytes, over the limit of {MOST_BYTES:,}: choose fewer buckets")
    store.save(path, KIND, arrays, played.meta | {"made": record}, lambda meta: True)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of the training, to go on from")
    parser.add_argument("--only", choices=list(RECIPES), help="train one of them")
    parser.add_argument("--iterations", type=int, help="train so far instead of as far as the recipe says")
    parser.add_argument("--out", type=Path, default=shipped.HOME, help="where to write them")
    options = parser.parse_args()
    for name in [options.only] if options.only else list(RECIPES):
        blueprint = trained(name, options.runs, options.iterations)
        print(f"{name}: {ship(blueprint, options.out / name):,} bytes")


if __name__ == "__main__":
    main()
