"""Solved spots on disk: an artefact of kind "spot" with 16-bit numbers (`kibitz.core.store` checks and writes it).

    ranges      float64 [2, 1326]
    the arrays of the solution's rows (`SolvedRows.packed`), uint16: their layout follows from the spot
    meta        the spot as it is written, which rows they are, values, gains, iterations, seconds
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.poker.spots.engine import rows_of
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.estimates import check_size
from kibitz.poker.spots.reading import spot as spot_of
from kibitz.poker.spots.reading import written
from kibitz.poker.spots.solution import SpotSolution
from kibitz.poker.spots.spot import betting_of

KIND = "spot"
AnyPath = str | os.PathLike[str]


def save_spot(solution: SpotSolution, path: AnyPath) -> None:
    """Write a solution. Another solved spot that lies there is replaced; anything else is not."""
    meta = {
        "spot": written(solution.spot), "rows": solution.solved.kind, "value": solution.gains.value.tolist(),
        "best": solution.gains.best.tolist(), "iterations": solution.iterations, "seconds": solution.seconds,
    }  # fmt: skip
    store.save(path, KIND, {"ranges": solution.spot.ranges, **solution.solved.packed()}, meta, lambda old: True)


def load_spot(path: AnyPath) -> SpotSolution:
    """Read a solution. Sizes are checked before anything is made of them."""
    artefact = store.load(path, KIND)
    try:
        meta, arrays = artefact.meta, dict(artefact.arrays)
        ranges = arrays.pop("ranges")
        fields: dict[str, Any] = dict(meta["spot"])
        texts = [str(text) for text in fields.pop("ranges")]
        if ranges.dtype != np.float64 or ranges.shape != (2, 1326) or len(texts) != 2:
            raise ArtefactError("its ranges are not two")
        question = spot_of(ranges=[ranges[0], ranges[1]], **fields)
        object.__setattr__(question, "texts", (texts[0], texts[1]))
        gains = Gains(np.array(meta["value"], np.float64), np.array(meta["best"], np.float64))
        tree = betting_of(question)
        check_size(question, tree)
        rows = rows_of(str(meta["rows"]), question, tree, arrays)
        if gains.value.shape != (2,) or gains.best.shape != (2,) or not np.isfinite([gains.value, gains.best]).all():
            raise ArtefactError("its values are not numbers of two players")
        return SpotSolution(question, tree, rows, gains, int(meta["iterations"]), float(meta["seconds"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f": {error}" if isinstance(error, KibitzError) else ""
        raise ArtefactError(f"{path} is no solved spot that this version reads{why}") from None
