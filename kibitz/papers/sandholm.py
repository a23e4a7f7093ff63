"""Sandholm's slides, Sequential imperfect-information games: what they say of GameShrink and of Rhode Island hold'em.

`--part gameshrink` shrinks the game and lets exact best responses in the whole game decide which shrinking is lossless;
`--part rhode-island` solves the whole game, and measures time and memory; `--part gs2` solves endgames at the table;
`--part gs3` solves the four-round model of
limit hold'em, on a GPU where there is one; `--part egt` holds first-order methods against each other;
`--part abstraction` does so with buckets by expectation and by potential; `--part phases` solves the first rounds by
themselves, and then the rest; `--part tournaments` has tournaments of jam or fold.
"""

from __future__ import annotations

from typing import Any

from kibitz.papers import (
    sandholm_abstraction,
    sandholm_egt,
    sandholm_gameshrink,
    sandholm_gs2,
    sandholm_gs3,
    sandholm_phases,
    sandholm_rhode_island,
    sandholm_tournaments,
)
from kibitz.papers.experiment import Experiment, PaperPlan, of_parts

TITLE = "Sandholm, Sequential imperfect-information games: GameShrink and Rhode Island hold'em"
PLAN = PaperPlan(starts=1, iterations=400, until=1e-3)
QUICK = PaperPlan(starts=1, iterations=40, until=1.0, quick=True)
PARTS: dict[str, Experiment[Any]] = {
    "gameshrink": sandholm_gameshrink.PART,
    "rhode-island": sandholm_rhode_island.PART,
    "gs2": sandholm_gs2.PART,
    "gs3": sandholm_gs3.PART,
    "egt": sandholm_egt.PART,
    "abstraction": sandholm_abstraction.PART,
    "phases": sandholm_phases.PART,
    "tournaments": sandholm_tournaments.PART,
}
EXPERIMENT = of_parts("sandholm", TITLE, PLAN, QUICK, PARTS, "run")
