"""What the parts of Sandholm's slides give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kibitz.papers.common import Claim, Sheet
from kibitz.papers.curves import Curves

SLIDES = "slides"  # where a claim comes from


@dataclass(frozen=True)
class Part:
    """One part, recomputed: what an Outcome is made of."""

    about: str
    departs: tuple[str, ...]
    sheets: tuple[Sheet, ...]
    claims: tuple[Claim, ...]
    pictures: tuple[Curves, ...]
    figures: dict[str, Any]
    summary: str
    notes: tuple[str, ...] = field(default=())
