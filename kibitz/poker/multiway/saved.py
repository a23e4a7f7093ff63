"""Solved spots of several players on disk: an artefact of kind "multiway" (`kibitz.core.store` checks and writes it).

    ranges      float64 [players, 1326]
    key, share  uint64 [rows], uint16 [rows, actions]  the strategy: what a row's key is follows from betting and cards
    won, errors, met, reach     measured on the first street; later streets are measured when they are asked for
    meta        the question as it is written, values and gains with their errors, iterations, deals, seconds
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.poker.multiway.machine import HANDS, MOST_SHARE, RangedMachine, packed_agent
from kibitz.poker.multiway.question import multiway, written
from kibitz.poker.multiway.solution import MultiwaySolution
from kibitz.poker.multiway.streets import StreetMeasure, first_street
from kibitz.poker.preflop.flat import by_action, by_hand, flat
from kibitz.solvers.tables import check_memory, contents, row_bytes

KIND = "multiway"
AnyPath = str | os.PathLike[str]
FIGURES = ("values", "value_errors", "gains", "gain_errors")
MOST_DEALS = 10_000_000  # of a file: measuring on more takes for ever
COUNTS = ("rows", "iterations", "deals")


def save_multiway(solution: MultiwaySolution, path: AnyPath) -> None:
    """Write a solution. Another one that lies there is replaced; anything else is not."""
    street, measure = solution.first, solution.first.measure
    key, value = contents(street.agent.table.table)
    share = value[:, value.shape[1] // 2 :].astype(np.uint16)
    arrays: dict[str, Any] = {"ranges": solution.question.ranges, "key": key, "share": share, "reach": measure.reach}
    arrays |= flat({"won": measure.won, "errors": measure.errors, "met": measure.met})
    meta: dict[str, Any] = {"spot": written(solution.question), "exact": solution.exact, "seconds": solution.seconds,
                            "sample": list(street.sample)}  # fmt: skip
    meta |= {name: getattr(solution, name).tolist() for name in FIGURES}
    meta |= {name: getattr(solution, name) for name in COUNTS}
    store.save(path, KIND, arrays, meta, lambda old: True)


def load_multiway(path: AnyPath) -> MultiwaySolution:
    """Read a solution. Sizes are checked before anything is made of them."""
    artefact = store.load(path, KIND)
    try:
        meta, arrays = artefact.meta, artefact.arrays
        fields: dict[str, Any] = dict(meta["spot"])
        texts = tuple(str(text) for text in fields.pop("ranges"))
        ranges = arrays["ranges"]
        if ranges.dtype != np.float64 or ranges.shape != (len(texts), HANDS):
            raise ArtefactError("its ranges do not fit its players")
        question = multiway(ranges=list(ranges), **fields)
        object.__setattr__(question, "texts", texts)
        machine, key, share = RangedMachine(question), arrays["key"], arrays["share"]
        _check_rows(key, share, machine.actions)
        (deals, seed), figures = meta["sample"], {name: np.array(meta[name], np.float64) for name in FIGURES}
        if any(each.shape != (question.players,) or not np.isfinite(each).all() for each in figures.values()):
            raise ArtefactError("its values are not those of its players")
        counts = {name: int(meta[name]) for name in COUNTS}
        if not 1 <= int(deals) <= MOST_DEALS or not 0 <= int(seed) < 1 << 62 or min(counts.values()) < 0:
            raise ArtefactError("its numbers are impossible")
        street = first_street(question, packed_agent(machine, key, share), int(deals), int(seed))
        if arrays["reach"].dtype != np.float64 or arrays["reach"].shape != (len(street.nodes),):
            raise ArtefactError("its arrays do not fit its betting")
        won, errors = (by_action(street.nodes, arrays[name], HANDS) for name in ("won", "errors"))
        gains = figures["gains"] / question.unit if meta["exact"] else None
        vars(street)["measure"] = StreetMeasure(
            won, errors, by_hand(street.nodes, arrays["met"], HANDS), np.array(arrays["reach"]),
            (figures["values"] - question.pot / question.players) / question.unit,
            figures["value_errors"] / question.unit, gains, counts["deals"],
        )  # fmt: skip
        return MultiwaySolution(
            question, street, figures["values"], figures["value_errors"], figures["gains"], figures["gain_errors"],
            bool(meta["exact"]), counts["rows"], counts["iterations"], counts["deals"], float(meta["seconds"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f": {error}" if isinstance(error, KibitzError) else ""
        raise ArtefactError(f"{path} is no solved spot that this version reads{why}") from None


def _check_rows(key: Any, share: Any, actions: int) -> None:
    """Refuse rows that `save_multiway` does not write: keys rise, and none is 0."""
    if key.dtype != np.uint64 or share.dtype != np.uint16 or key.ndim != 1 or share.shape != (len(key), actions):
        raise ArtefactError("its rows do not fit its betting")
    check_memory(2 * len(key) * row_bytes(actions))
    if len(key) and (int(key[0]) == 0 or (key[1:] <= key[:-1]).any()):
        raise ArtefactError("its rows are not in the order of their keys")
    total = share.sum(axis=1, dtype=np.int64)
    if (np.abs(total - MOST_SHARE) > actions).any():
        raise ArtefactError("its rows are no probabilities")
