"""How wrong a subset of flops is about solved quantities: `kibitz bench --only flops`.

A sample of real flops is solved for one pair of small ranges and one bet size, which takes a second or two a flop. Then
subsets of 25, 49 and 95 of them are chosen as `kibitz poker flops` does, which knows equities alone and no solution,
and means over a subset are compared with means over the whole sample. Flops are files in runs/flops: a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.bench.paper import kept
from kibitz.papers.claims import OURS, RUN, Claim, Comparison
from kibitz.papers.experiment import PaperPlan, PaperReport
from kibitz.papers.runs import OnProgress
from kibitz.poker.spots.flop_report import FlopReport, equities_in, errors, flop_report
from kibitz.poker.spots.flop_subsets import SubsetError
from kibitz.poker.spots.flops import flops_of
from kibitz.report.figures import Sheet

TITLE = "Flops: how wrong a subset is"
RANGES = ("QQ-TT, AQs, KQs, JTs, 98s, AJo", "99-77, AJs, KJs, QTs, T9s, KQo")
QUESTION: Mapping[str, Any] = {"ranges": list(RANGES), "pot": 60, "stacks": 60, "bets": "75%", "raises": "none"}
SMALL: Mapping[str, Any] = {**QUESTION, "ranges": ["AA, KQs, AJs", "KK, AQs, QJs"], "deck": (4, 3)}
JUDGED = ("EV OOP", "OOP bet 45", "IP bet 45")
SAMPLE, SIZES = 600, (25, 49, 95)
QUICK_SAMPLE, QUICK_SIZES = 14, (3, 6)
UNTIL = 0.005


@dataclass(frozen=True)
class FlopFigures:
    """What was measured."""

    report: FlopReport  # of the whole sample
    errors: dict[int, list[SubsetError]]  # by the size of the subset


def bench_flops(
    quick: bool, out: str | Path | None, markdown: str | Path | None, on_progress: OnProgress
) -> dict[str, Any]:
    """Measure, and write a page of its own; returns what the JSON file holds."""
    plan = PaperPlan(starts=1, quick=quick, folder="" if quick else "runs/flops")
    return kept(page(plan, on_progress), out, markdown)


def measured(plan: PaperPlan, on_progress: OnProgress) -> FlopFigures:
    question = SMALL if plan.quick else QUESTION
    flops = flops_of(question.get("deck", (13, 4)))
    names = [flop.name for flop in random.Random(plan.seed).sample(flops, QUICK_SAMPLE if plan.quick else SAMPLE)]
    report = flop_report(**question, subset=names, until=UNTIL, out=plan.folder or None, on_progress=on_progress)
    equities = equities_in(report)
    sizes = QUICK_SIZES if plan.quick else SIZES
    return FlopFigures(report, {size: errors(report, size, equities) for size in sizes})


def page(plan: PaperPlan, on_progress: OnProgress) -> PaperReport:
    began = time.perf_counter()
    r = measured(plan, on_progress)
    count = len(r.report.flops)
    worst = max(result.exploitability for result in r.report.results)
    return PaperReport(
        name="flops", title=TITLE,
        about=f"{count:,} flops, drawn at random, stand for all here. OOP has {r.report.question['ranges'][0]}; IP has "
        f"{r.report.question['ranges'][1]}. The pot is {QUESTION['pot']}, {QUESTION['stacks']} are behind, and the one "
        f"bet is {QUESTION['bets']} of the pot. Each flop is solved to {100 * worst:.2g}% of the pot or less.",
        limits="Limits",
        departs=("One pair of ranges and one bet size: other spots have other errors.",
                 f"The mean over {count:,} random flops takes the place of that over all.",
                 "Subsets are chosen from the sample, so they are a larger share of it than of all flops."),
        plan=plan, sheets=tuple(_sheet(size, wrong) for size, wrong in r.errors.items()), claims=tuple(_claims(r)),
        pictures=(), figures=_figures(r), seconds=time.perf_counter() - began, unit="run",
        summary=f"Means over subsets beside means over {count:,} solved flops.",
    )  # fmt: skip


def _sheet(size: int, wrong: list[SubsetError]) -> Sheet:
    rows = [(each.quantity, f"{each.mean:.4f}", f"{each.estimate:.4f}", f"{each.error:+.4f}", f"{each.random:.4f}",
             f"{each.spread:.4f}") for each in wrong]  # fmt: skip
    head = ("mean of", "all of the sample", "subset", "error", "random subsets", "spread over flops")
    return Sheet(f"{size} flops", head, rows, "Random subsets: the root mean square of their errors.")


def _claims(r: FlopFigures) -> Iterator[Claim]:
    for size, wrong in r.errors.items():
        for each in (each for each in wrong if each.quantity in JUDGED):
            yield Claim(f"{size} flops: the mean of {each.quantity} is nearer than that of random subsets", OURS,
                        [Comparison(abs(each.error), "<", each.random)], unit=RUN,
                        detail=f"{each.error:+.4f}, random {each.random:.4f}")  # fmt: skip


def _figures(r: FlopFigures) -> dict[str, Any]:
    return {"flops": len(r.report.flops), "errors": {
        str(size): [{**each._asdict(), "error": each.error} for each in wrong] for size, wrong in r.errors.items()
    }}  # fmt: skip
