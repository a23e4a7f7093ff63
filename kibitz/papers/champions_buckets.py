"""Why GS3 loses to coarser percentile buckets: the kind of buckets or their shape, with a deck of 20 cards. Stages
champions-small-0 and -1 of docs/plans/large_tables.md, on CPUs; every figure is exact.

    python -m kibitz.papers.stages --stage champions-small-0 --out results --work /tmp/work
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from kibitz.papers.claims import OURS, START, Claim, Comparison
from kibitz.papers.course_results import CourseResults, figures_text, results_among
from kibitz.papers.gibson2011_large import SMALL, TINY
from kibitz.papers.gibson2011_strategies import BASE
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import (
    PAIR,
    POINT,
    CourseRecipe,
    CourseSetting,
    pair,
    point,
    strategies_of,
    trainings_of,
)
from kibitz.papers.ledger import Stage
from kibitz.papers.runs import Run
from kibitz.report.figures import Sheet, Spread

PAPER, BEGINS = "champions-small", "20 cards: "  # names of runs begin so
LIKE, SHAPE, KIND = "like GS3", "GS3's shape, percentiles", "Base's shape, potential-aware"
BUCKETS = {BASE: "percentile(4)", LIKE: "potential([8, 96, 288, 864])", SHAPE: "percentile([8, 12, 3, 3])",
           KIND: "potential([4, 16, 64, 256])"}  # fmt: skip
TINY_BUCKETS = {BASE: "percentile(2)", LIKE: "potential([2, 6, 8, 10])", SHAPE: "percentile([2, 3, 2, 1])",
                KIND: "potential([2, 4, 6, 8])"}  # fmt: skip
NAMES = tuple(BUCKETS)
GAP, LOOKS, TINY_LOOKS, SEEDS = 3.0, (100, 400), (5, 10), (0, 1)


def setting_of(quick: bool, work: str, device: str = "cpu") -> CourseSetting:
    return CourseSetting(PAPER, TINY if quick else SMALL, (), GAP, 1, 0, str(Path(work) / PAPER), device)


def recipe_of(name: str, setting: CourseSetting) -> CourseRecipe:
    return CourseRecipe("dcfr+", (BUCKETS if setting.game == SMALL else TINY_BUCKETS)[name])


strategies_of(PAPER, recipe_of)


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    setting, looks = setting_of(quick, work, device), TINY_LOOKS if quick else LOOKS
    of, last = arguments(setting), looks[-1]
    for seed in SEEDS:
        every = (
            Run(POINT, point, [(name, seed, n, *of) for name in NAMES for n in looks]),
            trainings_of({name: [last] for name in NAMES}, seed, setting),
            Run(PAIR, pair, [(one, other, seed, (last, last), *of) for one, other in combinations(NAMES, 2)]),
        )
        yield Stage(f"champions-small-{seed}", "a deck of 20 cards: is it GS3's kind of buckets, or their shape?",
                    tuple(replace(run, name=BEGINS + run.name) for run in every))  # fmt: skip


# On the page of champions


def results(r: CourseResults) -> CourseResults:
    """What these stages measured."""
    return results_among(r.others, BEGINS)


def claims(r: CourseResults) -> Iterator[Claim]:
    small = results(r)
    if not small.pairs:
        return
    tested = {
        f"with 20 cards, the strategy {LIKE} loses to {BASE}": ((BASE, LIKE),),
        "with 20 cards, percentiles beat potential-aware buckets of the same shape": ((SHAPE, LIKE), (BASE, KIND)),
        "with 20 cards, GS3's shape loses to Base's with the same kind of buckets": ((BASE, SHAPE), (KIND, LIKE)),
    }
    for text, pairs in tested.items():
        won = [{each.seed: each.mean for each in small.won(one, other)} for one, other in pairs]
        seeds = sorted(set.intersection(*(set(each) for each in won)))
        if not seeds:
            continue
        cases = [tuple(Comparison(each[seed], ">", 0.0) for each in won) for seed in seeds]
        detail = "; ".join(_said(one, other, [each[seed] for seed in seeds])
                           for (one, other), each in zip(pairs, won, strict=True))  # fmt: skip
        yield Claim(text, OURS, cases, unit=START, detail=detail)


def _said(one: str, other: str, won: Sequence[float]) -> str:
    """Who won how much from whom, by the seeds."""
    if max(won) < 0.0:
        one, other, won = other, one, [-each for each in won]
    return f"{one} wins {figures_text(won)} from {other}"


def sheets(r: CourseResults) -> Iterator[Sheet]:
    small = results(r)
    if not small.pairs:
        return
    rows: list[tuple[str, ...]] = []
    for name in NAMES:
        cells = []
        for other in NAMES:
            won = small.won(name, other)
            cells.append(", ".join(f"{each.mean:+.2f}" for each in won) if won else "")
        last = [points[-1] for (of, _), points in small.points.items() if of == name]
        gaps = [each["gap"] for each in last if each["gap"] is not None]
        rows.append((name, BUCKETS[name], *cells,
                     f"{Spread(tuple(each['exploitability'] for each in last)).mean:.1f}" if last else "",
                     f"{max(gaps):.2f}" if gaps else "",
                     f"{last[0]['infosets']:,}" if last else ""))  # fmt: skip
    yield Sheet(
        "Buckets like GS3's with a deck of 20 cards: winnings of the row against the column",
        ("strategy", "buckets", *NAMES, "exploitability", "largest gap", "infosets"), rows,
        f"{SMALL}. Thousandths of a big blind per hand, exactly, the mean over both seats, by seed. Strategies are "
        "that of the abstract game up to the gap, which is NashConv there. *Shape*: how many "
        "buckets each round has. Potential-aware buckets are clusters by how the strength of a hand may develop.",
    )  # fmt: skip
