"""Solved spots as rows of plain data: by hand, by class of hands, by line; as CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import RANKS, name, names
from kibitz.cards.ranges import hand_cards
from kibitz.poker.spots.solution import SpotNode, SpotSolution
from kibitz.poker.spots.spot import PLAYERS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@lru_cache(1)
def grid_of_hands() -> tuple[Ints, tuple[str, ...]]:
    """([1326] the cell of each hand in a grid of 13 x 13, row by row, [169] names of cells): aces first, suited hands
    above the pairs, offsuit below."""
    low, high = (hand_cards() // 4).T
    suited = (hand_cards() % 4)[:, 0] == (hand_cards() % 4)[:, 1]
    row, column = np.where(suited, 12 - high, 12 - low), np.where(suited, 12 - low, 12 - high)
    cells = [(12 - r, 12 - c) for r in range(13) for c in range(13)]
    texts = [RANKS[max(cell)] + RANKS[min(cell)] + ("" if a == b else "s" if a > b else "o")
             for cell in cells for a, b in [cell]]  # fmt: skip
    return np.asarray(13 * row + column), tuple(texts)


def hand_names() -> list[str]:
    """[1326]  hands as cards, the higher first: "AhKd"."""
    return [name(high) + name(low) for low, high in hand_cards().tolist()]


def hand_rows(node: SpotNode, seat: int | None = None) -> list[dict[str, Any]]:
    """A row for each hand that a player holds here: weight, equity, value; and where it acts, what it does."""
    seat = _seat(node, seat)
    texts, rows = hand_names(), []
    weights = node.weights[seat] / max(float(node.weights[seat].sum()), 1e-300)
    for hand in np.flatnonzero(node.ranges[seat] > 0).tolist()[::-1]:
        row: dict[str, Any] = {"hand": texts[hand], "weight": float(node.ranges[seat, hand]),
                               "share": float(weights[hand]), "equity": _plain(node.equities[seat, hand]),
                               "value": _plain(node.values[seat, hand]),
                               "most": _plain(node.best_values[seat, hand])}  # fmt: skip
        if node.turn == seat:
            row["strategy"] = {a: float(p) for a, p in zip(node.actions, node.strategy[:, hand], strict=True)}
            row["values"] = {a: _plain(v) for a, v in zip(node.actions, node.action_values[:, hand], strict=True)}
        rows.append(row)
    return rows


def class_rows(node: SpotNode, seat: int | None = None) -> list[dict[str, Any]]:
    """The same by class of hands (AKs, AKo, AA), as means over hands as likely as they are here, in the order of the
    grid."""
    seat = _seat(node, seat)
    cell, texts = grid_of_hands()
    weights = node.weights[seat]
    total = np.bincount(cell, weights, 169)

    def mean(numbers: Floats) -> Floats:
        real = np.isfinite(numbers)
        share = np.bincount(cell, np.where(real, weights, 0.0), 169)
        sums = np.bincount(cell, np.where(real, numbers, 0.0) * weights, 169)
        return np.asarray(np.divide(sums, share, out=np.full(169, np.nan), where=share > 0))

    equity, value = mean(node.equities[seat]), mean(node.values[seat])
    acts = node.turn == seat
    strategy = [mean(row) for row in node.strategy] if acts else []
    values = [mean(row) for row in node.action_values] if acts else []
    rows = []
    for k in np.flatnonzero(total > 0).tolist():
        row: dict[str, Any] = {"hand": texts[k], "share": float(total[k] / total.sum()), "equity": _plain(equity[k]),
                               "value": _plain(value[k])}  # fmt: skip
        if acts:
            row["strategy"] = {a: float(p[k]) for a, p in zip(node.actions, strategy, strict=True)}
            row["values"] = {a: _plain(v[k]) for a, v in zip(node.actions, values, strict=True)}
        rows.append(row)
    return rows


def node_data(node: SpotNode, hands: bool = True) -> dict[str, Any]:
    """A node as plain data. hands: with a row for each hand of both players."""
    data: dict[str, Any] = {
        "line": node.line, "board": names(node.board), "pot": node.pot, "paid": node.paid.tolist(),
        "reach": node.reach, "player": node.player, "over": node.is_over,
        "cards": [name(card) for card in node.cards], "values": _plains(node.mean_values),
        "equities": _plains(node.mean_equities), "gains": _plains(node.gains),
        "actions": [{"action": action, "frequency": _plain(share), "value": _plain(worth)}
                    for action, share, worth in zip(node.actions, node.frequencies, action_means(node), strict=True)],
    }  # fmt: skip
    if hands:
        data["hands"] = {player: hand_rows(node, seat) for seat, player in enumerate(PLAYERS)}
    return data


def action_means(node: SpotNode) -> Floats:
    """[actions]  what an action wins on average, over the hands that take it."""
    if node.turn < 0:
        return np.zeros(0)
    weights = node.weights[node.turn] * node.strategy
    values = node.action_values
    weights = np.where(np.isfinite(values), weights, 0.0)
    total = weights.sum(axis=1)
    sums = (weights * np.nan_to_num(values)).sum(axis=1)
    return np.asarray(np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0))


def solution_data(solution: SpotSolution) -> dict[str, Any]:
    """A solution as plain data: what was asked, and how good the answer is."""
    from kibitz.poker.spots.reading import written

    gains = solution.gains
    return {
        "spot": written(solution.spot), "values": solution.values.tolist(),
        "gains": (gains.best - gains.value).tolist(), "exploitability": solution.exploitability,
        "iterations": solution.iterations, "seconds": solution.seconds,
    }  # fmt: skip


def csv_lines(solution: SpotSolution, line: str | None = None) -> Iterator[str]:
    """Strategies as CSV: a row for each hand and action at one line, or at all decisions of the first street."""
    nodes = [solution.at(line)] if line is not None else first_street(solution)
    yield _csv(["line", "player", "hand", "weight", "equity", "value", "action", "probability", "action_value"])
    for node in nodes:
        if node.player is None:
            continue
        for row in hand_rows(node):
            for action, share in row["strategy"].items():
                cells = [node.line, node.player, row["hand"], row["weight"], row["equity"], row["value"], action, share,
                         row["values"][action]]  # fmt: skip
                yield _csv(["" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else cell
                            for cell in cells])  # fmt: skip


def first_street(solution: SpotSolution) -> Iterator[SpotNode]:
    """All decisions before the next card comes."""
    stack = [solution.at()]
    while stack:
        node = stack.pop()
        if node.player is not None:
            yield node
            stack += reversed(node.below)


def grid(node: SpotNode, numbers: Floats, seat: int) -> Floats:
    """[13, 13]  means of numbers by hand over each cell, by how likely hands are here; NaN where there is none."""
    cell, _ = grid_of_hands()
    weights = np.where(np.isfinite(numbers), node.weights[seat], 0.0)
    total, sums = np.bincount(cell, weights, 169), np.bincount(cell, weights * np.nan_to_num(numbers), 169)
    return np.asarray(np.divide(sums, total, out=np.full(169, np.nan), where=total > 0)).reshape(13, 13)


def _seat(node: SpotNode, seat: int | None) -> int:
    return max(node.turn, 0) if seat is None else seat


def _csv(cells: list[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _plains(numbers: Floats) -> list[float | None]:
    return [_plain(number) for number in numbers]
