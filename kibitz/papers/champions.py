"""The champions in one table: strategies after the recipes of several papers, each solved as far as it goes, with exact
exploitability and winnings from each other. Stages of docs/plans/large_tables.md, section 4, and their page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kibitz.core.errors import ArtefactError
from kibitz.papers import champions_buckets as by_buckets
from kibitz.papers import champions_phases as phases
from kibitz.papers import gibson2011_large as large
from kibitz.papers.claims import OURS, Claim
from kibitz.papers.course_results import CourseResults, convergence, crosstable_note, results_of, wins, without_draws
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large import CONDITIONAL, ESTIMATED, EXACTLY, ITERATION, LOOK
from kibitz.papers.gibson2011_large_page import CLAIMS as TOGETHER  # intervals are the same on both pages
from kibitz.papers.gibson2011_large_page import set_aside
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    DRAWN,
    POINT,
    TRAIN,
    WHOLE,
    CourseRecipe,
    CourseSetting,
    estimates_of,
    point,
    strategies_of,
    trainings_of,
    whole,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Answers, Run
from kibitz.papers.sandholm_gs3 import GS3 as GS3_BUCKETS
from kibitz.report.figures import Sheet

PAPER = "champions"
TITLE = "Champions of limit hold'em in one table"
GS3 = "GS3"
NAMES = (GS3, BASE, DYNAMIC, EACH, ALL, CONDITIONAL, FINEST)
TIMES = 3  # an iteration of GS3, by one of percentile(8)
LOOKS, TINY_LOOKS, TINY_BUCKETS = (100, 340), (5, 10), "potential([2, 4, 6, 8])"


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
    mine = GS3, 0, last[GS3], *of
    yield Stage("champions-0", "GS3: exact exploitability; kept for others",
                (Run(POINT, point, [(GS3, 0, n, *of) for n in points(setting, GS3)]),
                 trainings_of({GS3: [last[GS3]]}, 0, setting), Run(WHOLE, whole, [mine])), seconds_of)  # fmt: skip
    # Those that take longest to train come last.
    by_time = BASE, ALL, CONDITIONAL, FINEST, DYNAMIC, EACH
    runs = [trainings_of({GS3: [last[GS3]]}, 0, setting)]
    for name in by_time:
        runs += [trainings_of({name: [last[name]]}, 0, setting), estimates_of([(GS3, name)], 0, last, setting)]
    yield Stage("champions-pairs", "GS3 against all others on drawn boards", tuple(runs), seconds_of)


def seconds_of(run: Run, piece: int) -> float:
    """Of a step on one H200, about."""
    if run.name == DRAWN:
        return ESTIMATED
    if run.name == WHOLE:
        return EXACTLY
    if run.pieces[piece][0] != GS3:
        return large.seconds_of(run, piece)
    before = run.pieces[piece - 1][2] if piece else 0
    measuring = 0.0 if run.name == TRAIN else LOOK + 180.0 * (piece == 0)  # buckets too
    return float(measuring + (run.pieces[piece][2] - before) * ITERATION * TIMES)


# The page


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    r = results_of(Path(plan.results))
    if not any(name in NAMES for name, _ in r.points):
        raise ArtefactError(f"{plan.results} has no results of champions: run the stage champions-0 first")
    return r


def claims(r: CourseResults) -> Iterator[Claim]:
    """With the intervals of the table."""
    tested = [wins(f"{GS3} beats {name}", OURS, r, GS3, name, TOGETHER) for name in NAMES[1:-1]]
    tested.append(wins(f"{FINEST} beats {GS3}", OURS, r, FINEST, GS3, TOGETHER))
    yield from (claim for claim in tested if claim is not None)
    yield from by_buckets.claims(r)
    yield from phases.claims(r)


def table(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        exact, points = r.exact.get((name, 0)), r.points.get((name, 0), [])
        won = [r.won_in(r.first, name, other) for other in NAMES]
        if exact is None and not points and not any(won):
            continue  # nothing is known of it
        cells = ["" if each is None else each.text(TOGETHER) for each in won]
        rows.append((name, f"{exact['exploitability']:.2f}" if exact else "not measured", *cells,
                     f"{points[-1]['seconds'] / 60:.1f}" if points else "",
                     f"{points[-1]['infosets']:,}" if points else ""))  # fmt: skip
    return Sheet("Champions: winnings of the row against the column", ("strategy", "exploitability", *NAMES,
                 "GPU minutes of training", "infosets"), rows,
                 crosstable_note(r, "Thousandths of a small bet, which is the big blind, per hand", TOGETHER,
                                   r.first)
                 + " Exploitability is exact. It and the minutes are of an earlier training from the same seed, "
                 "winnings with an interval of a later one.")  # fmt: skip


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    on_cores = sorted({each["by"].get("device", "") for each in r.others.get(phases.PHASED, [])})
    first = {key: points for key, points in r.points.items() if key[1] == 0}
    solved = any(name == GS3 for name, _ in r.points)
    on = " and ".join(device for device in r.made_on if device not in on_cores)
    return Page(
        starts=1,
        about=f"Strategies of {large.GAME} after the recipes of the papers: "
        f"{'' if solved else 'when it is solved, '}{GS3} with potential-aware buckets of the "
        f"slides' sizes; the others as in Table 2 of Gibson & Szafron (2011), on {on}. *Conditional* is not in the "
        f"paper. GS1 and GS2 play with a small deck, on {' and '.join(on_cores) or 'no machine yet'}.",
        departs=("GS1 and GS2 solve the last rounds during play, so no complete strategy is stored: they are compared "
                 "apart, with a small deck (stage champions-phases). The exploitability of what they play with solved "
                 "endgames is not computed. GS2 of the slides began its endgames in the third round, here in the "
                 "fourth.",
                 *([] if solved else
                   [f"{GS3} is not solved yet: its row is missing (stage champions-0)."]),
                 *([f"What {GS3} wins from the others is not measured yet (stage champions-pairs)."]
                   if solved and not any(GS3 in key for of in (r.pairs, r.drawn) for key in of) else []),
                 *set_aside(r)),
        limits="Limits",
        sheets=(table(r), convergence(replace(r, points=first), NAMES), *by_buckets.sheets(r),
                *phases.sheets(r)), pictures=(),
        figures={"unit": "thousandths of a small bet per hand",
                 "exact": [each for key, each in r.exact.items() if key[1] == 0],
                 "pairs": [without_draws(each) for of in (r.pairs, r.drawn) for key, each in of.items()
                           if set(key[:2]) <= set(NAMES)]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(), PaperPlan(quick=True), lambda plan: [], gather, claims, page,
    tables=("champions",), ignores=("until", "iterations"), instead="--stage",
)  # fmt: skip
