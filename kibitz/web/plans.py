"""The plan of an automatically stitched strategy, as the page draws it: from what the saved strategy says of it.

A file is not trusted: parts with other fields than these, or with other values, are refused.
"""

from __future__ import annotations

import math
from typing import Any

from kibitz.web.errors import Missing
from kibitz.web.library import Entry, planned

MOST_PARTS, MOST_TEXT = 200, 120
NUMBERS = {"loss": (0.0, math.inf), "reach": (0.0, 1.0 + 1e-6), "infosets": (0.0, math.inf)}
PLACES = {"left": (0.0, 1.0 + 1e-6), "width": (0.0, 1.0 + 1e-6), "level": (0.0, 64.0)}


def plan_of(entry: Entry) -> dict[str, Any]:
    """Boxes of the betting tree, and parts of other kinds."""
    picture = planned(entry.meta)
    if picture is None:
        raise Missing("this strategy has no plan: kibitz stitch auto --out saves one with its strategy")
    parts = [_part(each, {**NUMBERS, **PLACES}) for each in _listed(picture.get("parts"))]
    others = [_part(each, NUMBERS) for each in _listed(picture.get("others"))]
    kept = [str(each)[:MOST_TEXT] for each in _listed(entry.meta["stitch"].get("kept"))]
    return {"name": entry.name, "game": entry.game, "unit": str(picture.get("unit", ""))[:MOST_TEXT],
            "predicted": _number(picture.get("predicted"), -math.inf, math.inf), "parts": parts, "others": others,
            "kept": kept}  # fmt: skip


def _listed(value: Any) -> list[Any]:
    return value[:MOST_PARTS] if isinstance(value, list) else []


def _part(value: Any, numbers: dict[str, tuple[float, float]]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Missing("the plan of this strategy cannot be read: stitch it again")
    texts = {key: str(value.get(key, ""))[:MOST_TEXT] for key in ("name", "expert")}
    return {**texts, **{key: _number(value.get(key), low, high) for key, (low, high) in numbers.items()}}


def _number(value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not (low <= value <= high):
        raise Missing("the plan of this strategy cannot be read: stitch it again")
    return float(value)
