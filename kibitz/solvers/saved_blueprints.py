"""Blueprints as files hold them, whatever keeps their rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.games.plugins import plugin_of
from kibitz.games.trusted import recalled, same_game
from kibitz.solvers.blueprint import BASE, KIND, Blueprint
from kibitz.solvers.machines import Machine, machine_of
from kibitz.solvers.tables import OWN, Arrays, HashedRows


def load_blueprint(path: str | os.PathLike[str], compact: bool = False, game: Any = None) -> Blueprint:
    """Read a blueprint. compact: no larger than playing needs, not to train.

    game: for one of a game in a file of yours, which a saved file may not call again by itself.
    """
    artefact = store.load(path, KIND, mmap=True)
    blueprint: Blueprint | None
    try:
        machine = _machine_named(artefact.meta, game, path)
        if "rows" in artefact.meta:
            blueprint = plugin_of(machine.rules).saved_blueprint(artefact, machine, compact)
        else:
            blueprint = _hashed(machine, artefact.meta, artefact.arrays, compact)
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, KibitzError) as error:
        raise ArtefactError(f"{Path(path)} is not a whole blueprint ({error}); train it anew") from None
    if blueprint is None:
        raise ArtefactError(f"{Path(path)} is not a whole blueprint ({machine.spec} has hashed rows); train it anew")
    return blueprint


def _machine_named(meta: dict[str, Any], game: Any, path: str | os.PathLike[str]) -> Machine:
    """The machine of the game that a file names, or of the one that the user names."""
    if game is None:
        return machine_of(recalled(meta.get("game"), Path(path), "game= (or --game GAME)"))
    machine = machine_of(game)
    if not same_game(str(meta["game"]), machine.spec):
        raise ArtefactError(f"{Path(path)} is a blueprint of {meta['game']}, not of {machine.spec}")
    return machine


def _hashed(machine: Machine, meta: dict[str, Any], arrays: Arrays, compact: bool) -> Blueprint:
    """A blueprint in a hash table, and its base."""
    own = {name: array for name, array in arrays.items() if not name.startswith(BASE)}
    numbers = training_numbers(meta, own)
    view = machine.view(str(meta["abstraction"]), {name: np.array(x) for name, x in own.items() if name not in OWN})
    rows = HashedRows.read(meta, own, numbers["counts"], machine.actions, compact)
    blueprint = Blueprint(machine, view, rows, **numbers)
    if "base" in meta:
        below = {name.removeprefix(BASE): array for name, array in arrays.items() if name.startswith(BASE)}
        of_base = {name: x for name, x in dict(meta["base"]).items() if name != "base"}
        blueprint.base = _hashed(machine, of_base, below, compact)
        blueprint.part, blueprint.seats = machine.part(int(meta["part"])), int(meta["seats"])
    return blueprint


def training_numbers(meta: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Where training stands, as a file says it: checked, for nobody vouches for it."""
    counts, seed, iteration, seconds = (
        np.array(arrays["counts"]), int(meta["seed"]), int(meta["iteration"]), float(meta["seconds"])
    )  # fmt: skip
    if not (0 <= iteration < 1 << 60 and seconds >= 0 and 0 <= seed < 1 << 63):
        raise ValueError("no training has its numbers")
    if counts.shape != (4,) or counts.dtype != np.int64 or counts.min() < 0:
        raise ValueError("its counts are damaged")
    return {"seed": seed, "iteration": iteration, "seconds": seconds, "counts": counts}
