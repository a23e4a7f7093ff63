"""Sandholm's slides, Sequential imperfect-information games: what they say of GameShrink and of Rhode Island hold'em.

`--part gameshrink` shrinks the game and lets exact best responses in the whole game decide which shrinking is lossless;
`--part rhode-island` solves the whole game, and measures time and memory.
"""

from __future__ import annotations

import time

from kibitz.papers import sandholm_gameshrink, sandholm_rhode_island
from kibitz.papers.common import OnStart, Outcome, Plan
from kibitz.papers.sandholm_common import Part

TITLE = "Sandholm, Sequential imperfect-information games: GameShrink and Rhode Island hold'em"
PLAN = Plan(starts=1, iterations=400, until=1e-3)
QUICK = Plan(starts=1, iterations=40, until=1.0)
PARTS = {"gameshrink": sandholm_gameshrink.recompute, "rhode-island": sandholm_rhode_island.recompute}


def recompute(plan: Plan, on_start: OnStart | None = None) -> Outcome:
    """All parts, or the one that the plan names."""
    began = time.perf_counter()
    told = on_start or (lambda what, done, of: None)
    found: dict[str, Part] = {name: work(plan, told) for name, work in PARTS.items() if plan.part in ("", name)}
    parts = list(found.values())
    return Outcome(
        name="sandholm",
        title=TITLE,
        about=" ".join(part.about for part in parts),
        departs=tuple(line for part in parts for line in part.departs),
        plan=plan,
        sheets=tuple(sheet for part in parts for sheet in part.sheets),
        claims=tuple(claim for part in parts for claim in part.claims),
        pictures=tuple(picture for part in parts for picture in part.pictures),
        figures={name: part.figures for name, part in found.items()},
        seconds=time.perf_counter() - began,
        notes=tuple(line for part in parts for line in part.notes),
        unit="run",
        summary=" ".join(part.summary for part in parts),
    )
