"""A plan as data for a picture: parts of the game as boxes, with loss, reach, infosets and the plan's experts.

A box is a part by its first actions; those inside of it lie below. Boxes are as wide as they have infosets. The command
line draws them (`kibitz.report.plans`), and the web interface does, from what a saved strategy says of its plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.moves import PAIRS, SearchSetting, Strategy
from kibitz.stitch.auto.plan import Plan

MOST = 40  # parts in the picture
Box = tuple[float, float, int]  # left, width, level


def plan_picture(setting: SearchSetting, strategy: Strategy, plan: Plan) -> dict[str, Any]:
    """parts: boxes of the betting tree; others: parts of other kinds that the plan looked at. Plain values."""
    lost = setting.losses(strategy)
    tree = setting.tree_cuts(lost, MOST)
    experts = {cut.name: _expert(pilot.move, k, pilot.size.infosets)
               for pilot in plan.moves for k, cut in enumerate(pilot.move.cuts)}  # fmt: skip
    boxes = nested(tree, len(lost))
    parts = [
        {**signal.data(), "left": left, "width": width, "level": level, "expert": experts.get(cut.name, "")}
        for cut, signal, (left, width, level) in zip(tree, setting.signals(strategy, tree), boxes, strict=True)
    ]  # fmt: skip
    drawn = {cut.name for cut in tree}
    others = [{**s.data(), "expert": experts.get(s.name, "")} for s in plan.signals if s.name not in drawn]
    return {"game": setting.spec, "unit": plan.unit, "predicted": plan.predicted, "parts": parts, "others": others}


def _expert(move: Any, part: int, infosets: int) -> str:
    who = {"each": "S={i}", "all": "S=N", PAIRS: "|S|=2"}[move.seats]
    return f"{move.kind} in {move.inside[part]}, {who}, {infosets:,} infosets"


def nested(tree: Sequence[Cut], infosets: int) -> list[Box]:
    """Where each part of a betting tree is drawn: inside the part before it, as wide as its share of infosets."""
    boxes: dict[tuple[str, ...], Box] = {}
    used: dict[tuple[str, ...], float] = {}
    for cut in sorted(tree, key=lambda cut: (len(cut.actions), cut.actions)):
        above = cut.actions[:-1]
        left, _, level = boxes.get(above, (0.0, 1.0, -1))
        left += used.get(above, 0.0)
        width = cut.size / infosets
        used[above] = used.get(above, 0.0) + width
        boxes[cut.actions] = (left, width, level + 1)
    return [boxes[cut.actions] for cut in tree]
