"""Blueprints as files hold them, whatever keeps their rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.games.plugins import plugin_of
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint


def load_blueprint(path: str | os.PathLike[str], compact: bool = False, game: Any = None) -> Blueprint:
    """Read a blueprint; `compact`: no larger than playing needs, not to train. game: as in Blueprint.load."""
    artefact = store.load(path, tables.KIND, mmap=True)
    if "rows" not in artefact.meta:
        return Blueprint.load(path, compact, game)
    try:
        machine = tables.machine_named(artefact.meta, game, path)
        blueprint: Blueprint | None = plugin_of(machine.rules).saved_blueprint(artefact, machine, compact)
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, KibitzError) as error:
        raise ArtefactError(f"{Path(path)} is not a whole blueprint ({error}); train it anew") from None
    if blueprint is None:
        raise ArtefactError(f"{Path(path)} is not a whole blueprint ({machine.spec} has hashed rows); train it anew")
    return blueprint
