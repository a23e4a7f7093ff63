"""Two solutions beside each other, and what changes if a bet size is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.core.pointing import PointedError
from kibitz.poker.spots.sizes import BetSize, SizeList, sizes_of, text_of_sizes
from kibitz.poker.spots.solution import SpotNode, SpotSolution
from kibitz.poker.spots.spot import Spot
from kibitz.poker.spots.tables import class_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SpotComparison:
    """A line in two solutions of one board. Actions that only one has are never taken in the other."""

    first: SpotNode
    second: SpotNode
    actions: tuple[str, ...]  # of both
    frequencies: Floats  # [2, actions]
    values: Floats  # [2 solutions, 2 players]  what each player wins from there on, in chips
    distance: float  # how much of the first's play differs: half the sum of differences of probabilities, over hands as
    #   likely as they are in the first; 0 is the same, 1 has nothing in common
    classes: list[dict[str, Any]]  # of hands, the largest difference first: hand, share, distance, and strategies

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {"line": self.first.line, "actions": list(self.actions), "frequencies": self.frequencies.tolist(),
                "values": self.values.tolist(), "distance": self.distance, "classes": self.classes}  # fmt: skip


def compare_spots(first: SpotSolution, second: SpotSolution, line: str = "") -> SpotComparison:
    """Compare what two solutions do after a line that both have."""
    if sorted(first.spot.board) != sorted(second.spot.board):
        raise GameError("the two solutions are of other boards, and only spots of one board are compared")
    nodes = first.at(line), second.at(line)
    if nodes[0].turn != nodes[1].turn or nodes[0].turn < 0:
        raise GameError(f"after {line!r} the same player should act in both solutions")
    actions = tuple(dict.fromkeys((*nodes[0].actions, *nodes[1].actions)))
    tables = [np.stack([node.strategy[node.actions.index(action)] if action in node.actions else
                        np.zeros(node.strategy.shape[1]) for action in actions]) for node in nodes]  # fmt: skip
    weights = nodes[0].weights[nodes[0].turn]
    both = weights * (nodes[1].weights[nodes[1].turn] > 0)
    apart = abs(tables[0] - tables[1]).sum(axis=0) / 2
    frequencies = np.array([[dict(zip(node.actions, node.frequencies, strict=True)).get(action, 0.0)
                             for action in actions] for node in nodes])  # fmt: skip
    values = np.stack([node.mean_values for node in nodes])
    distance = float((apart * both).sum() / both.sum()) if both.any() else float("nan")
    return SpotComparison(*nodes, actions, frequencies, values, distance, _classes(nodes, actions))


def _classes(nodes: tuple[SpotNode, SpotNode], actions: tuple[str, ...]) -> list[dict[str, Any]]:
    tables = [{row["hand"]: row for row in class_rows(node)} for node in nodes]
    rows = []
    for hand in (hand for hand in tables[0] if hand in tables[1]):
        pair = [tables[k][hand]["strategy"] for k in (0, 1)]
        apart = sum(abs(pair[0].get(action, 0.0) - pair[1].get(action, 0.0)) for action in actions) / 2
        rows.append({"hand": hand, "share": tables[0][hand]["share"], "distance": apart, "first": pair[0],
                     "second": pair[1]})  # fmt: skip
    return sorted(rows, key=lambda row: -row["distance"])


def without(spot: Spot, text: str) -> Spot:
    """The spot in which nobody has a bet size any more, such as 33% or allin."""
    try:
        wanted = sizes_of(text, True)
    except PointedError as error:
        raise error.within("without") from None
    if len(wanted) != 1:
        raise GameError(f"without: give one size, not {len(wanted)}")
    size = wanted[0]

    def left(sizes: tuple[BetSize, ...]) -> tuple[BetSize, ...]:
        return tuple(each for each in sizes if each != size)

    sizes = tuple(
        (SizeList(left(a.bets), left(a.raises), None if a.donks is None else left(a.donks)),
         SizeList(left(b.bets), left(b.raises), None if b.donks is None else left(b.donks)))
        for a, b in spot.sizes
    )  # fmt: skip
    here = slice(spot.street, 3)
    if sizes[here] == spot.sizes[here]:
        every = dict.fromkeys(each for pair in spot.sizes[here] for of in pair for each in (*of.bets, *of.raises))
        raise GameError(f"without: the spot has no size {size}; its sizes are {text_of_sizes(tuple(every))}")
    return replace(spot, sizes=sizes)
