"""The papers, recomputed: one experiment for each paper, all of one shape (`kibitz.papers.experiment`).

`reproduce(name, plan)` does the runs of a paper and gives a PaperReport: tables, claims with the number of random
initialisations in which they hold, figures to draw, and all numbers as plain data. `kibitz.bench.paper` writes it as
Markdown or HTML.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from kibitz.core.errors import SpecError
from kibitz.papers.experiment import Experiment, PaperPlan, PaperReport

if TYPE_CHECKING:
    from kibitz.papers.runs import OnProgress, Shelf

__all__ = ["PAPERS", "STITCHING", "Experiment", "PaperPlan", "PaperReport", "experiment", "plan_of", "reproduce"]

# name -> one line for the command line; the module is resolved on first use
PAPERS: dict[str, str] = {
    "gibson2011": "Gibson & Szafron 2011, On Strategy Stitching: table 1, Leduc; table 2, limit hold'em",
    "waugh2009": "Waugh, Bard & Bowling 2009, Strategy Grafting: tables 1 and 2, the Leduc tournament; 3, hold'em",
    "sandholm": "Sandholm, Sequential imperfect-information games (slides): GameShrink, Rhode Island hold'em",
    "auto-stitching": "Automatic stitching against hand-made partitions of the stitching papers, in Leduc",
    "le2021": "Le 2021, A Game-theoretic Approach to the Card Game Toepen: tables 3.1 and 3.2, figures 4.1 to 4.5",
}
STITCHING = ("gibson2011", "waugh2009")  # what `kibitz reproduce all` recomputes: the papers of docs/stitching.md


def experiment(name: str) -> Experiment[Any]:
    """A paper by its name."""
    if name not in PAPERS:
        raise SpecError(f"there is no paper {name!r}: choose {', '.join(PAPERS)}")
    return _experiment_in(name.replace("-", "_"))


def _experiment_in(module: str) -> Experiment[Any]:
    return importlib.import_module(f"kibitz.papers.{module}").EXPERIMENT  # type: ignore[no-any-return]


def table_alone(name: str, table: str | None) -> Experiment[Any]:
    """The experiment that a table of a paper is, or the paper's own."""
    paper = experiment(name)
    return paper if table is None or table not in paper.alone else _experiment_in(paper.alone[table])


def settings() -> dict[str, Any]:
    """Settings of the present code on which figures of experiments depend, and which no option changes."""
    every = [table_alone(name, table) for name in PAPERS for table in (None, *experiment(name).alone)]
    every += [part for each in every for part in each.parts.values()]
    return {setting: value for each in every for setting, value in each.settings.items()}


def plan_of(name: str, quick: bool = False) -> PaperPlan:
    """The default plan of a paper, or its plan for a quick look."""
    return experiment(name).quick if quick else experiment(name).plan


def reproduce(
    name: str, plan: PaperPlan | None = None, on_progress: OnProgress | None = None, shelf: Shelf | None = None,
    table: str | None = None,
) -> PaperReport:  # fmt: skip
    """Recompute a paper's tables, or one that is an experiment of its own. on_progress(what, done, of) is called after
    each piece of work; a shelf keeps the results of runs."""
    return table_alone(name, table).recompute(plan, on_progress, shelf)
