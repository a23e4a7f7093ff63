"""A range of a user's beside a chart: which hands differ, and what each difference costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.cards.holdem import classes
from kibitz.cards.ranges import parse_range
from kibitz.cards.recipes import class_of
from kibitz.core.errors import GameError
from kibitz.poker.tournaments.single import PushFold

DIFFERENT = 0.005  # of how often a hand jams


@dataclass(frozen=True)
class Compared:
    name: str  # of the decision
    hands: tuple[tuple[str, float, float, float], ...]  # name, how often the chart and the user jam, the cost
    cost: float  # of all differences, by how likely the hands are

    def data(self) -> dict[str, Any]:
        keys = ("hand", "jams", "yours", "cost")
        return {"decision": self.name, "cost": self.cost,
                "hands": [dict(zip(keys, each, strict=True)) for each in self.hands]}  # fmt: skip


def compared(solved: PushFold, text: str, decision: str | None = None) -> Compared:
    """A range as people write it beside the chart of a decision, the dearest difference first. A cost below zero is
    possible where the chart itself mixes: by less than epsilon, each time it comes to this."""
    charts = {solved.hand.decision(chart.seat, chart.jammed): chart for chart in solved.charts if not chart.forced}
    if not charts:
        raise GameError("there is no decision in this hand: every seat is all in by its blind")
    name = decision or next(iter(charts))
    if name not in charts:
        raise GameError(f"there is no decision {name!r}: choose of {', '.join(charts)}")
    chart, number = charts[name], class_of().astype(np.int64)
    weight = np.bincount(number, parse_range(text).weights, 169) / np.bincount(number, minlength=169)
    cost = (chart.jams - weight) * chart.gain
    differ = np.flatnonzero(np.abs(chart.jams - weight) > DIFFERENT)
    order = differ[np.argsort(-cost[differ], kind="stable")]
    names = classes().names
    hands = tuple((names[k], float(chart.jams[k]), float(weight[k]), float(cost[k])) for k in order)
    return Compared(name, hands, float(chart.chance[differ] @ cost[differ]))
