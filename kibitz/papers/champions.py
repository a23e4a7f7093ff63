"""The champions in one table: strategies after the recipes of several papers, each solved as far as it goes, with exact
exploitability and exact winnings from each other. Stages of docs/plans/large_tables.md, section 4, and their page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kibitz.core.errors import ArtefactError
from kibitz.papers import champions_phases as phases
from kibitz.papers import gibson2011_large as large
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.course_results import CourseResults, convergence, results_of, wins_exactly
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large import EXACTLY, ITERATION, LOOK, VALUE
from kibitz.papers.gibson2011_strategies import ALL, BASE, FINEST
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    PAIR,
    POINT,
    TRAIN,
    WHOLE,
    CourseRecipe,
    CourseSetting,
    pair,
    point,
    strategies_of,
    train,
    whole,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Answers, Run
from kibitz.papers.sandholm_gs3 import GS3 as GS3_BUCKETS
from kibitz.report.figures import Sheet

PAPER = "champions"
TITLE = "Champions of limit hold'em in one table"
GS3 = "GS3"
NAMES = (GS3, BASE, ALL, FINEST)
LOOKS, TINY_LOOKS, TINY_BUCKETS = (100, 340), (5, 10), "potential([2, 4, 6, 8])"
SLIDES = 31.0  # GS2 from GS1, thousandths of a small bet


def setting_of(quick: bool, folder: str, device: str) -> CourseSetting:
    own = large.setting_of(quick, folder, device)
    return CourseSetting(PAPER, *arguments(own)[1:])


def points(setting: CourseSetting, name: str) -> tuple[int, ...]:
    if name == GS3:
        return LOOKS if setting.game == large.GAME else TINY_LOOKS
    return large.points(setting, name)


def recipe_of(name: str, setting: CourseSetting) -> CourseRecipe:
    if name == GS3:
        return CourseRecipe("dcfr+", GS3_BUCKETS if setting.game == large.GAME else TINY_BUCKETS)
    return large.recipe_of(name, setting)


strategies_of(PAPER, recipe_of)


def stages(setting: CourseSetting) -> Iterator[Stage]:
    of, last = arguments(setting), {name: points(setting, name)[-1] for name in NAMES}

    def pairs(*others: str) -> Run:
        return Run(PAIR, pair, [(GS3, other, 0, (last[GS3], last[other]), *of) for other in others])

    def ends(*names: str) -> tuple[Run, ...]:
        return tuple(Run(POINT, point, [(name, 0, n, *of) for n in points(setting, name)[-2:]]) for name in names)

    yield Stage("champions-0", "GS3: exact exploitability; exact winnings from Base and S=N",
                (Run(POINT, point, [(GS3, 0, n, *of) for n in points(setting, GS3)]),
                 Run(WHOLE, whole, [(GS3, 0, last[GS3], *of)]), *ends(BASE, ALL), pairs(BASE, ALL)),
                seconds_of)  # fmt: skip
    yield Stage("champions-1", "GS3: exact winnings from Finest",
                (*ends(FINEST), Run(TRAIN, train, [(GS3, 0, last[GS3], *of)]), pairs(FINEST)), seconds_of)  # fmt: skip


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    if run.name == PAIR:
        return VALUE + 40.0  # both are large
    if run.name == WHOLE:
        return EXACTLY + 40.0
    if run.pieces[piece][0] != GS3:
        return large.seconds_of(run, piece)
    before = run.pieces[piece - 1][2] if piece else 0
    return float(LOOK + (run.pieces[piece][2] - before) * ITERATION * 14 + 180.0 * (piece == 0))  # buckets too


# The page


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    r = results_of(Path(plan.results))
    if not any(name == GS3 for name, _ in r.points):
        raise ArtefactError(f"{plan.results} has no results of GS3: run the stage champions-0 first")
    return r


def claims(r: CourseResults) -> Iterator[Claim]:
    tested = [wins_exactly(f"{GS3} beats {name}", OURS, r, GS3, name) for name in (BASE, ALL)]
    tested.append(wins_exactly(f"{FINEST} beats {GS3}", OURS, r, FINEST, GS3))
    yield from (claim for claim in tested if claim is not None)
    yield from phases.claims(r)


def table(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        exact, points = r.exact.get((name, 0)), r.points.get((name, 0), [])
        cells = []
        for other in NAMES:
            mine, theirs = r.pairs.get((name, other, 0)), r.pairs.get((other, name, 0))
            cells.append(f"{mine['mean']:.2f}" if mine else f"{-theirs['mean']:.2f}" if theirs else "")
        rows.append((name, f"{exact['exploitability']:.2f}" if exact else "not measured", *cells,
                     f"{points[-1]['seconds'] / 60:.1f}" if points else "",
                     f"{points[-1]['infosets']:,}" if points else ""))  # fmt: skip
    return Sheet("Champions: winnings of the row against the column", ("strategy", "exploitability", *NAMES,
                 "GPU minutes of training", "infosets"), rows,
                 f"Thousandths of a small bet, which is the big blind, per hand, exactly over all boards. The slides "
                 f"report that GS2 won {SLIDES:g} per hand from GS1.")  # fmt: skip


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    return Page(
        about=f"Strategies of {large.GAME} after the recipes of the papers: {GS3} with potential-aware buckets of the "
        "slides' sizes, Base, S=N and Finest as in Table 2 of Gibson & Szafron (2011).",
        departs=("GS1 and GS2 solve the last rounds at the table, so that they are no tables: they have a table of "
                 "their own, with a small deck (stage champions-phases).",),
        limits="Limits",
        sheets=(table(r), convergence(r, NAMES), *phases.sheets(r)), pictures=(),
        figures={"unit": "thousandths of a small bet per hand",
                 "exact": [each for key, each in r.exact.items() if key[1] == 0],
                 "pairs": [each for key, each in r.pairs.items() if GS3 in key]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(), PaperPlan(quick=True), lambda plan: [], gather, claims, page,
    tables=("champions",), ignores=("until", "iterations"), instead="--stage",
)  # fmt: skip
