"""The common structure of an experiment: a plan, runs, claims, and the page made from them.

    plan    what is to be run: starts, seeds, sizes; one for a whole report and one for a quick look
    runs    pieces of work, resumable: plain functions over plain arguments (`kibitz.papers.runs`)
    gather  the answers of all runs, put together as the experiment's own results
    claims  what the paper says, judged by the rule in `kibitz.papers.claims`
    page    tables, pictures and paragraphs; nothing is computed there that takes time

Abstract equilibria are not unique, so a stitched strategy depends on where its solvers start, and a sampled one on its
seed. Every figure is therefore a spread over random initialisations, and a claim is tried in each by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from kibitz.core.errors import SpecError
from kibitz.papers.claims import START, WEIGHT, WEIGHTS, Claim, summary, verdicts_of
from kibitz.papers.runs import Answers, OnProgress, Run, Shelf, carry_out
from kibitz.report.figures import Picture, Sheet, picture_data

R = TypeVar("R")


@dataclass(frozen=True)
class PaperPlan:
    """How a paper is recomputed."""

    starts: int = 16
    seed: int = 0  # of the first random initialisation; initialisation s draws everything from seed + s
    until: float = 1e-4  # two players: NashConv, in chips, to which every game is solved
    iterations: int = 1000  # three players: iterations of CFR+ for every game that is solved
    sampled: int = 100_000_000  # two players: iterations of chance-sampled CFR for every game, where a paper has it
    sampled_seeds: int = 1  # how often that is done, from `seed` on
    jobs: int | None = None  # pieces of work side by side; default: a core each, 1: one after another
    weights: tuple[float, ...] = WEIGHTS  # of starts, for two players; three players have WEIGHT alone
    part: str = ""  # of a paper that has several; empty: all of them
    folder: str = "runs/papers"  # where large results are kept, beside reports
    exact: bool = False  # measure what takes hours on cores too
    results: str = ""  # a folder of results of stages (`kibitz.papers.stages`), from which a page is made
    hours: float | None = None  # three-player limit hold'em: of the whole
    limit: int | None = None  # ... infosets of a computation
    quick: bool = False  # a rough look: smaller games, fewer of them, or rougher solutions. Nothing else implies it

    @property
    def work(self) -> Path:
        """Where strategies, checkpoints and looks of long runs are kept."""
        return Path(self.folder) / "work"

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise SpecError(f"starts={self.starts} must be 1 or more")
        if not self.until > 0 or self.iterations < 1:
            raise SpecError(f"until={self.until:g} must be above 0 and iterations={self.iterations} 1 or more")
        if self.sampled < 1 or self.sampled_seeds < 1:
            raise SpecError(f"sampled={self.sampled} and sampled_seeds={self.sampled_seeds} must be 1 or more")
        if self.hours is not None and not self.hours > 0:
            raise SpecError(f"hours={self.hours:g} must be above 0")
        if self.seed < 0 or (self.jobs is not None and self.jobs < 1):
            raise SpecError(f"seed={self.seed} must be 0 or more and jobs={self.jobs} 1 or more")
        if WEIGHT not in self.weights or len(set(self.weights)) < len(self.weights) or not min(self.weights) >= 0:
            raise SpecError(f"weights={self.weights} must be different numbers of chips, 0 or more, with {WEIGHT:g}")

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + self.starts)


@dataclass(frozen=True, kw_only=True)
class Page:
    """The texts, tables and pictures of a page."""

    about: str  # what was done, in a paragraph
    departs: tuple[str, ...]  # where that is not what the paper did
    limits: str = "Differences from the paper"  # the heading of these
    sheets: tuple[Sheet, ...]
    pictures: tuple[Picture, ...]
    figures: dict[str, Any]  # all numbers as plain data
    notes: tuple[str, ...] = ()
    summary: str = ""  # sentences after the count of verdicts
    starts: int | None = None  # random initialisations, where results have fewer than the plan


@dataclass(frozen=True, kw_only=True)
class PaperReport(Page):
    """A paper, recomputed: its page, with its claims and where they come from."""

    name: str
    title: str
    plan: PaperPlan
    claims: tuple[Claim, ...]
    seconds: float = 0.0
    unit: str = START  # what figures are a spread over
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the code, that no option says

    @property
    def verdict(self) -> str:
        """Claims, counted by verdict, and the summary."""
        return summary(self.claims, self.summary)

    def data(self) -> dict[str, Any]:
        plan = self.plan
        weights = {"weights": list(plan.weights), "weight_of_tables": WEIGHT}
        return {
            "paper": self.name, "title": self.title, "starts": plan.starts, "seeds": list(plan.seeds),
            "until": plan.until, "iterations": plan.iterations, "quick": plan.quick,
            **(weights if any(claim.across for claim in self.claims) else {}),
            "settings": dict(self.settings), "seconds": self.seconds, "figures": self.figures,
            "claims": [claim.data() for claim in self.claims], "verdicts": verdicts_of(self.claims),
            "summary": self.summary, "unit": self.unit, "about": self.about, "limits": self.limits,
            "departs": list(self.departs), "notes": list(self.notes), **({"stored": True} if plan.results else {}),
            "sheets": [{"title": sheet.title, "head": list(sheet.head), "rows": [list(row) for row in sheet.rows],
                        "note": sheet.note} for sheet in self.sheets],
            "pictures": [picture_data(picture) for picture in self.pictures],
        }  # fmt: skip


@dataclass(frozen=True)
class Experiment(Generic[R]):
    """A paper that can be recomputed. R: its results."""

    name: str
    title: str
    plan: PaperPlan
    quick: PaperPlan
    runs: Callable[[PaperPlan], Sequence[Run]]
    gather: Callable[[PaperPlan, Answers], R]
    claims: Callable[[R], Iterable[Claim]]
    page: Callable[[PaperPlan, R, Sequence[Claim]], Page]
    unit: str = START
    tables: tuple[str, ...] = ()  # of the paper, by number
    parts: Mapping[str, Experiment[Any]] = field(default_factory=dict)  # that can be asked for by themselves
    alone: Mapping[str, str] = field(default_factory=dict)  # tables that are experiments of their own: table -> module
    # Fields of a plan that mean nothing here, and how long solving goes on instead: whoever gives one is refused.
    ignores: tuple[str, ...] = ()
    instead: str = ""
    taken: Callable[[PaperPlan], str] | None = None  # what a plan comes to, in a line
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the code, that figures depend on and no option says

    def says(self, plan: PaperPlan) -> str:
        """What is run under a plan, for whoever asked for it."""
        parts = [self.taken(plan)] if self.taken is not None else []
        parts += ["a quick run, with smaller games or less accurate solutions (--quick)"] if plan.quick else []
        return "; ".join(parts)

    def recompute(
        self, plan: PaperPlan | None = None, on_progress: OnProgress | None = None, shelf: Shelf | None = None
    ) -> PaperReport:
        """Do the runs that are not on the shelf, and make the page of all."""
        plan, shelf, began = plan or self.plan, shelf or Shelf(), time.perf_counter()
        before = shelf.seconds
        results = self.gather(plan, carry_out(self.runs(plan), plan.jobs, on_progress, shelf))
        report = self.outcome(plan, results, began - shelf.seconds + before)
        if not shelf.elsewhere:
            return report
        note = (f"{shelf.elsewhere} of {shelf.read + shelf.done} runs were made by another version of kibitz or of its "
                "libraries (--reuse).")  # fmt: skip
        return replace(report, notes=(*report.notes, note))

    def outcome(self, plan: PaperPlan, results: R, began: float) -> PaperReport:
        """The page of some results. began: the time of the clock when the work began."""
        claims = tuple(self.claims(results))
        page = self.page(plan, results, claims)
        seconds = time.perf_counter() - began
        title = f"{self.title}: {self.parts[plan.part].title}" if plan.part else self.title
        if page.starts is not None:
            plan = replace(plan, starts=page.starts)
        return PaperReport(name=self.name, title=title, plan=plan, claims=claims, seconds=seconds, unit=self.unit,
                       settings=self.settings,
                       **{each.name: getattr(page, each.name) for each in fields(Page)})  # fmt: skip


def of_parts(
    name: str, title: str, plan: PaperPlan, quick: PaperPlan, parts: Mapping[str, Experiment[Any]], unit: str,
    named: Sequence[str] = (),
) -> Experiment[dict[str, Any]]:  # fmt: skip
    """An experiment of several, of which a plan may name one; results are by the names of parts.

    named: parts that are left out unless the plan names them.
    """

    def asked(plan: PaperPlan) -> dict[str, Experiment[Any]]:
        return {each: part for each, part in parts.items() if plan.part == each or not (plan.part or each in named)}

    def runs(plan: PaperPlan) -> list[Run]:
        return [run for part in asked(plan).values() for run in part.runs(plan)]

    def gather(plan: PaperPlan, answers: Answers) -> dict[str, Any]:
        return {each: part.gather(plan, answers) for each, part in asked(plan).items()}

    def claims(results: dict[str, Any]) -> Iterable[Claim]:
        return [claim for each, result in results.items() for claim in parts[each].claims(result)]

    def page(plan: PaperPlan, results: dict[str, Any], claims: Sequence[Claim]) -> Page:
        pages = {each: parts[each].page(plan, result, claims) for each, result in results.items()}

        def every(what: str) -> tuple[Any, ...]:
            return tuple(one for each in pages.values() for one in getattr(each, what))

        return Page(
            about=" ".join(each.about for each in pages.values()),
            figures={name: each.figures for name, each in pages.items()},
            summary=" ".join(each.summary for each in pages.values() if each.summary),
            starts=next((each.starts for each in pages.values()), None) if len(pages) == 1 else None,
            departs=every("departs"), sheets=every("sheets"), pictures=every("pictures"), notes=every("notes"),
        )  # fmt: skip

    return Experiment(name, title, plan, quick, runs, gather, claims, page, unit, parts=parts)
