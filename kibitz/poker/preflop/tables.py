"""Solutions of play before the flop as rows of plain data; as CSV and JSON; and on disk."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.holdem import class_names
from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError
from kibitz.poker.preflop.flat import by_action, by_hand, flat
from kibitz.poker.preflop.nodes import nodes_of
from kibitz.poker.preflop.question import data_of, question_of
from kibitz.poker.preflop.solution import NEVER, PreflopNode, PreflopSolution, Trust
from kibitz.poker.tournaments.ranges import grid

Floats = NDArray[np.float64]
KIND = "preflop"
AnyPath = str | os.PathLike[str]


def class_rows(node: PreflopNode) -> list[dict[str, Any]]:
    """A row for each class of hands that comes to a decision, in the order of the grid: how often it comes, what it
    does, and what each action wins from here on, in big blinds, with half of a 95% interval."""
    own = node.solution.reaches[node.node, node.turn]
    names, rows = class_names(), []
    for k in (k for row in grid() for k in row):
        if own[k] <= NEVER:
            continue
        columns = zip(node.actions, node.strategy[:, k], node.values[:, k], node.errors[:, k], strict=True)
        cells = {action: {"share": float(share), "value": _plain(value), "error": _plain(error)}
                 for action, share, value, error in columns}  # fmt: skip
        rows.append({"hand": names[k], "reach": float(own[k]), "actions": cells})
    return rows


def node_data(node: PreflopNode) -> dict[str, Any]:
    """A node as plain data."""
    seats = {node.question.names[seat]: node.range(seat) for seat in node.seats_inside}
    data = {"line": node.line, "player": node.player, "reach": node.reach, "pot": node.pot, "ranges": seats,
            "behind": node.behind}  # fmt: skip
    if node.player is None:
        return data
    ranges = {action: node.action_range(action) for action in node.actions}
    frequencies = dict(zip(node.actions, map(float, node.frequencies), strict=True))
    return {**data, "frequencies": frequencies, "action_ranges": ranges, "hands": class_rows(node)}


def solution_data(solution: PreflopSolution) -> dict[str, Any]:
    return {
        "question": data_of(solution.question), "players": list(solution.question.names), "unit": "big blinds",
        "values": solution.values.tolist(), "value_errors": solution.value_errors.tolist(),
        "gains": solution.gains.tolist(), "exploitability": solution.exploitability,
        "sampled": None if solution.trust is None else asdict(solution.trust), "iterations": solution.iterations,
        "seconds": solution.seconds,
    }  # fmt: skip


def csv_lines(solution: PreflopSolution) -> Iterator[str]:
    """All decisions, a line for each class of hands and action."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(("line", "player", "hand", "reach", "action", "share", "value", "error"))
    for node in solution.decisions:
        for row in class_rows(node):
            for action, cell in row["actions"].items():
                writer.writerow((node.line, node.player, row["hand"], f"{row['reach']:.6g}", action,
                                 *(_text(cell[name]) for name in ("share", "value", "error"))))  # fmt: skip
        yield page.getvalue()
        page.seek(0)
        page.truncate()


def save_preflop(solution: PreflopSolution, path: AnyPath) -> None:
    """Write a solution. Another one that lies there is replaced; anything else is not."""
    arrays = flat({name: getattr(solution, name) for name in ("strategy", "won", "errors", "met")})
    arrays |= {name: getattr(solution, name) for name in ("reach", "values", "value_errors", "gains")}
    meta = {"question": data_of(solution.question), "iterations": solution.iterations, "seconds": solution.seconds,
            "trust": None if solution.trust is None else asdict(solution.trust)}  # fmt: skip
    store.save(path, KIND, arrays, meta, lambda old: True)


def load_preflop(path: AnyPath) -> PreflopSolution:
    """Read a solution. Sizes are checked before anything is made of them."""
    artefact = store.load(path, KIND)
    try:
        meta, arrays = artefact.meta, artefact.arrays
        question = question_of(dict(meta["question"]))
        nodes = nodes_of(question)
        count = len(class_names())
        strategy, won, errors = (by_action(nodes, arrays[name], count) for name in ("strategy", "won", "errors"))
        met = by_hand(nodes, arrays["met"], count)
        each = {name: np.array(arrays[name], np.float64) for name in ("reach", "values", "value_errors", "gains")}
        players = question.players
        if each["reach"].shape != (len(nodes),) or any(each[name].shape != (players,) for name in list(each)[1:]):
            raise ArtefactError("its values are not those of its players")
        trust = meta["trust"]
        if trust is not None:
            trust = Trust(**{**trust, "bound_interval": tuple(trust["bound_interval"]),
                             "gain_errors": tuple(trust["gain_errors"])})  # fmt: skip
        return PreflopSolution(question, nodes, strategy, won, errors, met, each["reach"],
                               each["values"], each["value_errors"], each["gains"], trust, int(meta["iterations"]),
                               float(meta["seconds"]))  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        why = f": {error}" if isinstance(error, KibitzError) else ""
        raise ArtefactError(f"{path} is no solution before the flop that this version reads{why}") from None


def _plain(number: float) -> float | None:
    return None if number != number else float(number)


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"
