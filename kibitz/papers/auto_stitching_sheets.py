"""Tables and pictures that the pages of automatic stitching share: what searches did, and what they had predicted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kibitz.report.figures import FigurePoints, PointGroup, Sheet, Spread

Search = Mapping[str, Any]  # as of `auto_stitching_runs.search_data`


def search_sheet(title: str, head: str, searches: Mapping[str, Sequence[Search]], note: str = "") -> Sheet:
    """What searches did, in a row for each memory. searches: by memory, of each seed."""
    rows, often = [], []
    for memory, facts in searches.items():
        rounds = Spread(tuple(float(len(f["rounds"])) for f in facts))
        pilots = Spread(tuple(float(sum(x["pilots"] for x in f["rounds"])) for f in facts))
        kept = Counter(name for f in facts for x in f["rounds"] for name in x["kept"])
        most = ", ".join(f"{name} ({count})" for name, count in kept.most_common(3))
        seconds = Spread(tuple(f["seconds"] for f in facts))
        rows.append((memory, rounds.text(), pilots.text(0), seconds.text(0)))
        often.append(f"with {memory} {most}")
    text = f"Kept most often, with the number of times: {'; '.join(often)}."
    return Sheet(title, (head, "rounds", "experts tried", "seconds"), rows, f"{text} {note}".strip())


def gains(name: str, title: str, unit: str, searches: Iterable[Search], scale: float = 1.0) -> FigurePoints:
    """Predicted and achieved gains of plans, and of their experts one by one."""
    plans = [x for each in searches for x in each["rounds"]]
    both = tuple((scale * x["predicted"], scale * x["achieved"]) for x in plans)
    alone = tuple((scale * p, scale * a) for x in plans for _, p, a in x["moves"])
    groups = PointGroup("plans", both), PointGroup("experts of plans, one by one", alone)
    return FigurePoints(name, title, f"predicted gain in exploitability, {unit}", f"achieved gain, {unit}", groups)
