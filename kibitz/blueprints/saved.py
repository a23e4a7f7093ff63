"""Blueprints as files hold them, whatever keeps their rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kibitz import store
from kibitz.blueprints.row_blueprint import RowBlueprint
from kibitz.errors import ArtefactError, KibitzError
from kibitz.machine import by_rounds
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint


def load_blueprint(path: str | os.PathLike[str], compact: bool = False, game: Any = None) -> Blueprint:
    """Read a blueprint; `compact`: no larger than playing needs, not to train. game: as in Blueprint.load."""
    held = store.load(path, tables.KIND, mmap=True)
    if "rows" not in held.meta:
        return Blueprint.load(path, compact, game)
    try:
        return RowBlueprint.read(held, by_rounds(tables.machine_named(held.meta, game, path)), compact)
    except ArtefactError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, KibitzError) as error:
        raise ArtefactError(f"{Path(path)} is not a whole blueprint ({error}); train it anew") from None
