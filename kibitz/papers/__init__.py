"""The papers, recomputed: one module a paper.

`recompute(name, plan)` builds the strategies of a paper's tables from several random starts and gives an Outcome:
tables to read, claims with the number of starts in which they hold, figures to draw, and all numbers as plain data.
Writing it as Markdown or HTML is `kibitz.report.paper`'s business.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from kibitz.errors import SpecError
from kibitz.papers.common import Outcome, Plan

__all__ = ["PAPERS", "PARTS", "Outcome", "Plan", "plan_of", "recompute"]

# name -> one line for the command line; the module is resolved on first use
PAPERS: dict[str, str] = {
    "gibson2011": "Gibson & Szafron 2011, On Strategy Stitching: table 1, Leduc for two and for three players",
    "waugh2009": "Waugh, Bard & Bowling 2009, Strategy Grafting: tables 1 and 2, the Leduc tournament",
    "toepen": "Toepen, the full game: a blueprint, search and exploitation, in duplicate matches",
    "sandholm": "Sandholm, Sequential imperfect-information games (slides): GameShrink, Rhode Island hold'em",
    "le2021": "Le 2021, A Game-theoretic Approach to the Card Game Toepen: tables 3.1 and 3.2, figures 4.1 to 4.5",
}
STITCHING = ("gibson2011", "waugh2009")  # what `kibitz paper all` recomputes: the papers of docs/stitching.md
TABLES: dict[str, tuple[str, ...]] = {
    "gibson2011": ("1",), "waugh2009": ("1", "2"), "le2021": ("3.1", "3.2"), "toepen": (), "sandholm": (),
}  # fmt: skip
# Papers of several parts, each of which can be asked for by itself.
PARTS: dict[str, tuple[str, ...]] = {"sandholm": ("gameshrink", "rhode-island")}


def plan_of(name: str, quick: bool = False) -> Plan:
    """How a paper is recomputed unless one says otherwise."""
    from kibitz.papers.common import QUICK

    if name == "le2021":
        from kibitz.papers import le2021

        return le2021.QUICK if quick else le2021.PLAN
    if name == "sandholm":
        from kibitz.papers import sandholm

        return sandholm.QUICK if quick else sandholm.PLAN
    if name == "toepen":
        from kibitz.papers import toepen

        return toepen.QUICK if quick else toepen.PLAN
    return QUICK if quick else Plan()


def recompute(name: str, plan: Plan | None = None, on_start: Callable[[str, int, int], None] | None = None) -> Outcome:
    """Recompute a paper's tables. on_start(what, done, of) is called as work gets done."""
    if name not in PAPERS:
        raise SpecError(f"there is no paper {name!r}: choose {', '.join(PAPERS)}")
    outcome: Outcome = importlib.import_module(f"kibitz.papers.{name}").recompute(plan or plan_of(name), on_start)
    return outcome
