"""[Waugh, Bard & Bowling 2009, Table 3] with a deck of 16 cards: every figure is exact, on CPUs.

    kibitz reproduce waugh2009 --table small
    kibitz reproduce waugh2009 --table small --results docs/large    # the page of what stages have measured

The strategies of `waugh2009_large`, as fixed in docs/plans/large_tables.md. An hour of a core for each seed, so it is
also divided into stages: graft-small-0 to -3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kibitz.core.errors import ArtefactError
from kibitz.papers import waugh2009_large as large
from kibitz.papers.claims import MOST, OURS, START, Claim, Comparison
from kibitz.papers.course_results import (
    CourseResults,
    convergence,
    curves,
    figures_text,
    keyed_points,
    less_exploitable,
    over_last_doubling,
    pairs_text,
    sizes_sheet,
    trained,
    winnings,
)
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import CourseSetting, course, pair, point
from kibitz.papers.ledger import Stage, results_in
from kibitz.papers.runs import Answers, Run
from kibitz.papers.waugh2009_holdem import SOURCE
from kibitz.papers.waugh2009_strategies import BASE, FOURTEEN, GRAFTED, LARGEST, SMALLER, TWELVE
from kibitz.report.figures import Heat, Sheet, Spread

TITLE = "Strategy grafting in limit hold'em with a deck of 16 cards"
STRATEGY = "small: "  # names of runs begin so
LOOKS = "winnings along the training"
ORDER = (BASE, SMALLER, LARGEST, FOURTEEN, TWELVE, GRAFTED)
GAP = 0.1  # NashConv in the abstract game, mb/h, at which 14 and 12 stop
SEEDS = range(4)


def setting_of(quick: bool, folder: str, device: str = "cpu") -> CourseSetting:
    game, limits = (large.TINY, large.TINY_LIMITS) if quick else (large.SMALL, large.SMALL_LIMITS)
    return CourseSetting(large.PAPER, game, limits, GAP, 1, 0, folder, device)


def strategy(name: str, seed: int, *fields: Any) -> dict[str, Any]:
    """A strategy along its training, and what it wins at each look from those before it, which are trained to the
    end."""
    setting = CourseSetting(*fields)
    of, before, steps = course(name, seed, setting), ORDER[: ORDER.index(name)], large.points(setting, name)

    def look(n: int) -> dict[str, Any]:
        won = [pair(name, other, seed, (n, large.points(setting, other)[-1]), *fields) for other in before]
        return {"point": point(name, seed, n, *fields), "pairs": won}

    looks = [of.looked(n, partial(look, n)) for n in steps]
    of.keep(steps[-1])
    return {"points": [each["point"] for each in looks], "pairs": [won for each in looks for won in each["pairs"]]}


def _runs(setting: CourseSetting, seeds: Sequence[int]) -> list[Run]:
    """One after another, because each plays those before it."""
    return [Run(f"{STRATEGY}{name}", strategy, [(name, seed, *arguments(setting)) for seed in seeds], "cores")
            for name in ORDER]  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    if plan.results:
        return []  # stages are run by `kibitz.papers.stages`
    return _runs(setting_of(plan.quick, str(plan.work)), plan.seeds)


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    """For cores."""
    setting = setting_of(quick, str(Path(work) / "graft-small"), device)
    for seed in SEEDS:
        yield Stage(f"graft-small-{seed}", "a deck of 16 cards: all strategies of Table 3, exactly",
                    tuple(_runs(setting, [seed])))  # fmt: skip


# The page


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    names = [f"{STRATEGY}{name}" for name in ORDER]
    if plan.results:
        answers = results_in(Path(plan.results), lambda entry: entry["run"] in names)
        if not answers.get(f"{STRATEGY}{GRAFTED}"):
            raise ArtefactError(f"{plan.results} has no results of this table: run its stages first (--stage "
                                "graft-small-0)")  # fmt: skip
    every = [each for name in names for each in answers.get(name, [])]
    seeds = [{point["seed"] for each in answers.get(name, []) for point in each["points"]} for name in names]
    whole = set.intersection(*seeds)
    points = keyed_points(point for each in every for point in each["points"] if point["seed"] in whole)
    last = {key: of[-1]["steps"] for key, of in points.items()}
    looks = [each for some in every for each in some["pairs"] if each["seed"] in whole]
    pairs = {(each["one"], each["other"], each["seed"]): each for each in looks
             if each["steps"][0] == last[each["one"], each["seed"]]}  # fmt: skip
    devices = tuple(sorted({each["by"].get("device", "").lstrip("0123456789 ") for each in every if "by" in each}))
    seconds = sum(float(of[-1]["seconds"]) for of in points.values())
    exact = {key: of[-1] for key, of in points.items()}
    return CourseResults(points, exact, {}, pairs, {}, seconds, devices, {LOOKS: looks})


def course_of(r: CourseResults, one: str, other: str, seed: int) -> dict[int, float]:
    """What a strategy wins at each look from another that is trained to the end: by boards or iterations made."""
    done = {point["steps"]: trained(point) for point in r.points[one, seed]}
    return {done[each["steps"][0]]: float(each["mean"]) for each in r.others[LOOKS]
            if (each["one"], each["other"], each["seed"]) == (one, other, seed)}  # fmt: skip


def beats(text: str, source: str, r: CourseResults, one: str, other: str) -> Claim:
    """In each seed, beyond what the winnings changed in the last doubling of the training of the later strategy."""
    sooner, later = sorted((one, other), key=ORDER.index)
    every = r.won(one, other)
    moved = [over_last_doubling(course_of(r, later, sooner, each.seed)) for each in every]
    cases = [Comparison(each.mean, ">", 0.0, math.inf if change is None else abs(change))
             for each, change in zip(every, moved, strict=True)]  # fmt: skip
    detail = f"by {figures_text([each.mean for each in every])}"
    if None not in moved:
        detail += f"; margins up to {max(abs(change) for change in moved if change is not None):.2f}"
    return Claim(text, source, cases, unit=START, detail=detail)


def earned(r: CourseResults, name: str, seed: int) -> float:
    """The mean over the five others."""
    others = [other for other in ORDER if other != name]
    return sum(next(each.mean for each in r.won(name, other) if each.seed == seed) for other in others) / len(others)


def claims(r: CourseResults) -> Iterator[Claim]:
    """What the paper says of Table 3, and what we ask."""
    seeds = r.seeds(GRAFTED)
    for text, one, other in large.matches():
        yield beats(text, SOURCE, r, one, other)
    yield beats(f"{LARGEST} beats {BASE}", OURS, r, LARGEST, BASE)
    first = [next(iter(course_of(r, GRAFTED, BASE, seed).items())) for seed in seeds]
    yield Claim(f"after {first[0][0]:,} boards of each graft the grafted strategy loses to {BASE}", OURS,
                [Comparison(won, "<", 0.0) for _, won in first], unit=START,
                detail=f"it wins {figures_text([won for _, won in first])}")  # fmt: skip
    most = [(earned(r, GRAFTED, seed), max(earned(r, name, seed) for name in ORDER[:-1])) for seed in seeds]
    yield Claim("the grafted strategy wins most on average", OURS,
                [Comparison(mine, ">", theirs) for mine, theirs in most], unit=START,
                detail=f"{pairs_text(most)}, the best of the others")  # fmt: skip
    less = less_exploitable(f"the grafted strategy is less exploitable than {BASE}", OURS, r, GRAFTED, [BASE])
    if less is not None:
        yield less


def table(r: CourseResults) -> Sheet:
    seeds = r.seeds(GRAFTED)
    rows: list[tuple[str, ...]] = []
    for one in ORDER:
        won = [Spread(tuple(each.mean for each in r.won(one, other))) if other != one else None for other in ORDER]
        exploit = Spread(tuple(r.exploitability(one, seed) for seed in seeds))
        rows.append((one, *("" if each is None else f"{each.mean:+.2f}" for each in won),
                     f"{Spread(tuple(earned(r, one, seed) for seed in seeds)).mean:+.2f}",
                     f"{exploit.mean:.1f}", f"{exploit.low:.1f} to {exploit.high:.1f}"))  # fmt: skip
    return Sheet("Table 3, 16 cards: winnings of the row against the column",
                 ("strategy", *ORDER, "average over opponents", "exploitability", "by seed, lowest to highest"), rows,
                 f"mb/h, exactly, over all boards, the mean over both seats and {len(seeds)} random initialisations. "
                 "Exploitability: the mean of what best responses of both players win in the unabstracted game.",
                 table=3)  # fmt: skip


def courses_of(r: CourseResults) -> large.Courses:
    """What grafts win along their training."""
    return {other: [course_of(r, GRAFTED, other, seed) for seed in r.seeds(GRAFTED)] for other in ORDER[:-1]}


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    setting, seeds = setting_of(plan.quick, ""), r.seeds(GRAFTED)
    matrix = [[None if one == other else Spread(tuple(each.mean for each in r.won(one, other))).mean
               for other in ORDER] for one in ORDER]  # fmt: skip
    heat = Heat("holdem", "Limit hold'em with 16 cards: winnings of the row against the column, mb/h", ORDER, matrix,
                "mb/h")  # fmt: skip
    exploited = curves(r, "grafts", "Limit hold'em with 16 cards: exploitability against training",
                       (("trained on sampled boards", (BASE, SMALLER, LARGEST, GRAFTED)),
                        ("trained over all boards", (TWELVE, FOURTEEN))), unit="mb/h", palette=ORDER)  # fmt: skip
    boards, along = large.points(setting, BASE)[-1], courses_of(r)
    title = "Limit hold'em with 16 cards: winnings of the grafted strategy along its training"
    note = "Exact." if len(seeds) == 1 else (
        f"Exact. Means of {len(seeds)} random initialisations, and one standard deviation to either side.")  # fmt: skip
    return Page(
        starts=len(seeds),
        about=f"{setting.game} with percentile E[HS²] buckets, as fixed in docs/plans/large_tables.md. There is a "
        "graft for each player and each of the parts r, cr, ccr and cccr. While a graft is solved, its player is "
        "frozen to the base outside of the part, and the opponent is free everywhere, with the base's buckets. A "
        f"computation has at most {max(setting.limits):,} infosets, fewer where hands of equal strength share a "
        f"bucket, and {boards:,} iterations of public chance sampling from the uniform strategy: one board per "
        "iteration, all hands of both players. 12 and 14 have perfect recall, and were solved by dcfr+ over all boards "
        f"from a random strategy, to a gap of {GAP:g} mb/h or {large.points(setting, TWELVE)[-1]:,} iterations. Seeds "
        "differ in the boards and in these random strategies. All figures are exact, over all boards. A "
        "millibet (mb) is a thousandth of the small bet, which equals the big blind. "
        f"{len(seeds)} random initialisations{', on ' if r.made_on else ''}{' and '.join(r.made_on)}.",
        departs=(
            "Our copy of the paper lacks the figures of its table; each sentence about them is a claim here. The paper "
            "says of 14 that \"it was ultimately superseded by the smaller 20x7\"; we test whether 20x7 beats 14.",
            "A deck of 16 cards: 4 ranks in 4 suits. Names are the paper's, for strategies with the same role; their "
            "buckets are one-dimensional percentiles, and fewer than the paper's.",
            "That one strategy beats another is judged with a margin: what the winnings changed in the last doubling "
            f"of the training of the one that comes later in the order {', '.join(ORDER)}. A smaller figure is "
            "undecided in that seed. Exploitabilities have the margin of [another page](stitching_small.md).",
            f"A claim holds if it is true in at least {MOST:.0%} of its seeds, and fails if it is false in as many.",
        ),
        sheets=(table(r), large.grown(along, f"exactly, the mean of {len(seeds)} random initialisations."),
                winnings(r, "mb/h"),
                sizes_sheet(r, ORDER, "Of the grafted strategy: the buckets of its base, of the grafts of r and cr, "
                            "and of those of ccr and cccr. The numbers are limits: hands of equal strength share a "
                            "bucket."),
                convergence(r, ORDER)),
        pictures=(heat, large.learning(along, title, note), *([exploited] if exploited.panels else [])),
        figures={"unit": "mb/h", "points": [each for of in r.points.values() for each in of],
                 "pairs": list(r.pairs.values()), "looks": r.others[LOOKS]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "waugh2009", TITLE, PaperPlan(starts=len(SEEDS)), PaperPlan(starts=1, quick=True), runs, gather, claims, page,
    tables=("small",), ignores=("until", "iterations"), instead="--quick",
    settings={"boards of strategies with a deck of 16 cards": 1 << large.SMALL_POINTS[-1]},
)  # fmt: skip
