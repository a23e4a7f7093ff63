"""[Gibson & Szafron 2011, Table 2], two players, with a deck of 20 cards: every figure is exact, on CPUs.

    kibitz reproduce gibson2011 --table small
    kibitz reproduce gibson2011 --table small --results docs/large    # the page of what stages have measured

The strategies and questions of `gibson2011_large` and `gibson2011_why`, as fixed in docs/plans/large_tables.md. The
whole takes a dozen hours of a core, so it is also divided into stages, one for each seed: small-0 to small-5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import ArtefactError
from kibitz.papers import gibson2011_large as large
from kibitz.papers import gibson2011_why as why
from kibitz.papers.claims import MOST, Claim
from kibitz.papers.course_results import CourseResults, by_gap, convergence, curves, keyed_points, margins_sheet
from kibitz.papers.earnings import ExactEarnings, exact_earnings
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large_page import compared, earning_claims
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST, NAMES, sizes_of
from kibitz.papers.holdem import arguments
from kibitz.papers.holdem_course import CourseSetting, course, forget_courses, pair, point, rules_of, train
from kibitz.papers.ledger import Stage, results_in
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import Sheet, Spread

TITLE = "Stitching in two-player limit hold'em with a deck of 20 cards"
STRATEGIES, WAYS = "small: strategies, to the end", "small: ways to Base"  # names of runs
OF_PAPER = "small: the paper's algorithm"
TRAINED, PAIRS = "small: training", "small: pairs"
GAP, FIRST_GAP = large.FURTHER_GAP, 1.0  # NashConv in the abstract game, mbb/h, at which a computation stops
FIRST_LIMIT = 400  # iterations, in the first plan
# Runs by earlier plans, by where training ended: results that are kept.
SECOND, FIRST = "small: strategies, further", "small: strategies"
EARLIER = {f"at a gap of {FIRST_GAP:g}, as planned second": SECOND,
           f"after {FIRST_LIMIT} iterations, as first planned": FIRST}  # fmt: skip
SEEDS, SAMPLED_SEEDS = range(6), range(3)
# In the order of the stages: the paper's own come first.
MAIN = (BASE, ALL, DYNAMIC, EACH, FINEST, large.CONDITIONAL, *large.ALONE, *large.FINER)
BY_PAPER = (large.BASE_SAMPLED, large.ALL_SAMPLED)
OTHERS = tuple(name for name in (*large.SOLVERS, *large.LASTS, large.SAMPLED) if name not in BY_PAPER)
QUICK = (BASE, ALL, large.CONDITIONAL)


def setting_of(quick: bool, folder: str, device: str = "cpu") -> CourseSetting:
    game, limits = (large.TINY, large.TINY_LIMITS) if quick else (large.SMALL, large.SMALL_LIMITS)
    return CourseSetting(large.PAPER, game, limits, GAP, 1, 0, folder, device)


def strategy(name: str, seed: int, *fields: Any) -> dict[str, Any]:
    """A strategy of a seed along its training, and what it wins from Base, or from Base by the same algorithm."""
    setting = CourseSetting(*fields)
    looks, pairs = large.points(setting, name), []
    points = [course(name, seed, setting).looked(steps, partial(point, name, seed, steps, *fields)) for steps in looks]
    base = large.BASE_SAMPLED if name in BY_PAPER else BASE
    if name != base and name not in OTHERS:
        pairs.append(pair(name, base, seed, (looks[-1], large.points(setting, base)[-1]), *fields))
    forget_courses(but=(base, seed))  # the next one stands on it
    return {"points": points, "pairs": pairs}


def _runs(
    setting: CourseSetting, seeds: Sequence[int], ways: Sequence[int], sampled: Sequence[int] = ()
) -> list[Run]:  # fmt: skip
    """ways: seeds of other ways to Base; sampled: of strategies by the paper's own algorithm."""
    of, first = arguments(setting), arguments(replace(setting, gap=FIRST_GAP))
    main, others = (QUICK, OTHERS[:1]) if setting.game == large.TINY else (MAIN, OTHERS)
    return [Run(STRATEGIES, strategy, [(name, seed, *of) for name in main for seed in seeds], "cores"),
            Run(WAYS, strategy, [(name, seed, *first) for name in others for seed in ways], "cores"),
            Run(OF_PAPER, strategy, [(name, seed, *of) for name in BY_PAPER for seed in sampled], "cores")]  # fmt: skip


def _pairs(setting: CourseSetting, seed: int) -> list[Run]:
    """What strategies win from each other; what they win from Base is known."""
    of, last = arguments(setting), {name: large.points(setting, name)[-1] for name in NAMES}
    every = combinations((name for name in NAMES if name != BASE), 2)
    return [Run(TRAINED, train, [(name, seed, last[name], *of) for name in NAMES], prepares=True),
            Run(PAIRS, pair, [(one, other, seed, (last[one], last[other]), *of) for one, other in every])]  # fmt: skip


def runs(plan: PaperPlan) -> list[Run]:
    if plan.results:
        return []  # stages are run by `kibitz.papers.stages`
    setting = setting_of(plan.quick, str(plan.work))
    every = _runs(setting, plan.seeds, [plan.seed], plan.seeds[: len(SAMPLED_SEEDS)])
    return every + [run for seed in plan.seeds if not plan.quick for run in _pairs(setting, seed)]


def stages(quick: bool, work: str, device: str) -> Iterator[Stage]:
    """For the cores beside a GPU, or for a GPU."""
    setting = setting_of(quick, str(Path(work) / "small"), device)
    for seed in SEEDS:
        yield Stage(f"small-{seed}", "a deck of 20 cards: all strategies of two players, exactly",
                    tuple(_runs(setting, [seed], [])))  # fmt: skip
    for seed in SEEDS:
        yield Stage(f"small-pairs-{seed}", "the same deck: all pairs of the paper's strategies, exactly",
                    tuple(_pairs(setting, seed)))  # fmt: skip
    yield Stage("small-ways", "the same deck: Base by other algorithms", tuple(_runs(setting, [], [0])))
    for seed in SAMPLED_SEEDS:
        yield Stage(f"small-sampled-{seed}", "the same deck: Base and S=N by the paper's algorithm",
                    tuple(_runs(setting, [], [], [seed])))  # fmt: skip


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    if plan.results:
        answers = results_in(Path(plan.results))
        if not answers.get(STRATEGIES):
            raise ArtefactError(f"{plan.results} has no results of this table: run its stages first (--stage small-0)")
    r = _results([each for run in (STRATEGIES, WAYS, OF_PAPER) for each in answers.get(run, [])],
                 answers.get(PAIRS, []))  # fmt: skip
    if BASE not in {name for name, _ in r.points}:
        raise ArtefactError(f"{plan.results} has no results of {BASE}: run the stage small-0 first")
    return replace(r, others={run: answers.get(run, []) for run in EARLIER.values()})


def _results(every: Sequence[dict[str, Any]], played: Sequence[dict[str, Any]] = ()) -> CourseResults:
    """played: pairs that were measured apart from the strategies."""
    points = keyed_points(point for each in every for point in each["points"])
    exact = {key: of[-1] for key, of in points.items()}
    both = (*played, *(each for some in every for each in some["pairs"]))
    pairs = {(each["one"], each["other"], each["seed"]): each for each in both}
    trained = sum(float(of[-1]["seconds"]) for of in points.values())
    devices = tuple(sorted({each["by"].get("device", "").lstrip("0123456789 ") for each in every if "by" in each}))
    return CourseResults(points, exact, {}, pairs, {}, trained, devices)


def before(r: CourseResults) -> dict[str, CourseResults]:
    """Results by earlier plans, of the seeds that were measured at the end: their exploitabilities alone."""
    kept = {}
    for rule, run in EARLIER.items():
        every = _results(r.others.get(run, []))
        exact = {key: each for key, each in every.exact.items() if key in r.exact}
        if exact:
            kept[rule] = replace(every, exact=exact, pairs={}, points={key: every.points[key] for key in exact})
    return kept


def claims(r: CourseResults) -> Iterator[Claim]:
    """At the end of the training; those about exploitability also as the plan was before."""
    yield from earning_claims(_earned(r))
    earlier = {rule: {claim.text: claim.cases for claim in compared(of)} for rule, of in before(r).items()}
    for claim in compared(r):
        others = {rule: of[claim.text] for rule, of in earlier.items() if claim.text in of}
        if others:
            claim = replace(claim, cases=(), leading=True, variants={"at the end": claim.cases, **others})
        yield claim
    yield from why.claims(r)


def _earned(r: CourseResults) -> list[ExactEarnings]:
    """Of each seed whose pairs are all known."""
    seeds = sorted({seed for *_, seed in r.pairs})
    return [each for each in (exact_earnings(r.pairs, NAMES, seed) for seed in seeds) if each is not None]


def earned_sheet(r: CourseResults) -> Sheet:
    """What strategies win from each other and earn, in the mean over the seeds whose pairs are all known."""
    earned, rows = _earned(r), list[tuple[str, ...]]()
    for one in NAMES if earned else ():
        cells = ["" if other == one else f"{np.mean([each.won(one, other) for each in earned]):+.2f}"
                 for other in NAMES]  # fmt: skip
        means = [each.of(one).mean for each in earned]
        rows.append((one, *cells, f"{np.mean(means):+.2f}", ", ".join(f"{each:+.2f}" for each in means)))
    seeds = ", ".join(str(each.seed) for each in earned)
    return Sheet("Winnings of the row against the column, and earnings", ("strategy", *NAMES, "earns", "by seed"), rows,
                 f"mbb/h, exactly, the mean over both seats and seeds {seeds}. Earnings: the mean of what a strategy "
                 "wins from each of the others.")  # fmt: skip


def table(r: CourseResults, cards: int) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in (*NAMES, large.CONDITIONAL):
        spread, seeds = r.spread(name), r.seeds(name)
        if spread is None:
            continue
        won = [each["mean"] for (one, other, _), each in sorted(r.pairs.items()) if (one, other) == (name, BASE)]
        last = r.points[name, seeds[0]][-1]
        rows.append((name, str(last["buckets"]), f"{last['largest']:,}", f"{spread.mean:.2f}",
                     ", ".join(f"{value:.2f}" for value in spread.values),
                     f"{Spread(tuple(won)).mean:+.2f}" if won else "",
                     ", ".join(f"{each:+.2f}" for each in won)))  # fmt: skip
    return Sheet(f"Table 2, two players, {cards} cards: milli-big-blinds per hand",
                 ("strategy", "buckets", "infosets of the largest computation", "exploitability", "by seed",
                  "wins from Base", "by seed"), rows,
                 "All figures are exact: over all boards. Exploitability: the mean of what best responses of both "
                 "players win. Winnings: the mean over both seats.", table=2)  # fmt: skip


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    setting = setting_of(plan.quick, "")
    fewer = large.FEWER.get(setting.game, large.FEWEST)
    finer = f"Strategies named \"{ALL} of n\" have experts of n - {fewer} buckets here."
    sizes, deck = sizes_of(setting.game, *setting.limits), rules_of(setting.game).definition
    cards, earlier = deck.ranks * deck.suits, before(r)
    devices = sorted({device for of in (r, *earlier.values()) for device in of.made_on})
    course = curves(r, "course", f"Limit hold'em with {cards} cards: exploitability against training",
                    (("", (*NAMES, large.CONDITIONAL)),), palette=large.COLOURED)  # fmt: skip
    picture = by_gap(r, "algorithms", f"Limit hold'em with {cards} cards: exploitability of Base against its abstract "
                     "gap", large.WAYS)  # fmt: skip
    sheets = (table(r, cards), earned_sheet(r), margins_sheet(claims), why.explained(r, len(SEEDS)),
              why.of_experts(r), why.equilibria(r), why.algorithms(r),
              convergence(r, (*NAMES, large.CONDITIONAL, *BY_PAPER)))  # fmt: skip
    return Page(
        starts=len(r.seeds(BASE)),
        about=f"{setting.game}, at most {setting.limits[0]:,} infosets for each computation "
        f"({setting.limits[1]:,} for the finest strategy), as fixed in "
        f"docs/plans/large_tables.md. Base has the buckets {sizes.base}. Every computation starts from a random "
        f"strategy that is drawn from its seed, and is solved by dcfr+ over all boards. {_sampled(r)}All figures are "
        "exact; [the large table](stitching_large.md) has the deck of 52 cards, where an exact figure takes minutes of "
        "a GPU. "
        f"{len(r.seeds(BASE))} random initialisations{', on ' if devices else ''}{' and '.join(devices)}.",
        departs=(f"A deck of {cards} cards: {deck.ranks} ranks in {deck.suits} suits.",
                 "An exploitability is compared with a margin: the sum of what both strategies changed in the last "
                 "doubling of their training. A smaller difference is undecided in that seed. Experts of S=N are "
                 "always trained on the Base that was trained to the end, so their change leaves out what further "
                 "training of Base would do to them.",
                 f"A claim holds if it is true in at least {MOST:.0%} of its seeds, and fails if it is false in as "
                 "many.",
                 f"Training over all boards ends at a gap of {GAP:g} mbb/h, which is NashConv in the abstract game, or "
                 f"after {large.SMALL_LOOKS[-1]:,} iterations, whatever comes first. The gap of {DYNAMIC} and "
                 f"{EACH} is unknown, so only iterations end their training.", *_plans(earlier),
                 *([finer] if any(name in large.FINER for name, _ in r.points) else [])),
        limits="Limits", sheets=tuple(sheet for sheet in sheets if sheet.rows),
        pictures=tuple(each for each in (course, picture) if each.panels),
        figures={"unit": "milli-big-blinds per hand", "points": [each for of in r.points.values() for each in of],
                 "pairs": list(r.pairs.values()),
                 "differences": {str(seed): each for seed, each in why.differences(r).items()}},
    )  # fmt: skip


def _sampled(r: CourseResults) -> str:
    """Which strategies are trained on sampled boards, and how."""
    names = [name for name in (large.SAMPLED, *BY_PAPER) if any(of == name for of, _ in r.points)]
    if not names:
        return ""
    return (f"{', '.join(names)}: trained on sampled boards, from the uniform strategy; seeds differ in the boards. "
            "\"By the paper's algorithm\" means with uniform weights. ")  # fmt: skip


def _plans(earlier: dict[str, CourseResults]) -> list[str]:
    """What earlier plans were, and how far S=N was below Base by each."""
    if not earlier:
        return []
    said = []
    for rule, of in reversed(earlier.items()):
        apart = why.differences(of)
        if apart:
            below = sum(each < 0 for each in apart.values())
            mean = -float(np.mean([*apart.values()]))
            said.append(f"{rule}: less exploitable in {below} of {len(apart)} seeds, by {mean:.1f} in the mean")
    return [f"The rule for the end of training is the third. By the first two, {ALL} was compared with Base: "
            f"{'; '.join(said)}. To make the margins smaller, the training was made longer twice, each time with the "
            "change of the plan written down before its runs. Claims about exploitability after training over all "
            "boards are judged by all three rules, in the seeds that each has."]  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=len(SEEDS)), PaperPlan(starts=1, quick=True), runs, gather, claims, page,
    tables=("small",), ignores=("until", "iterations"), instead="--quick",
    settings={"iterations of strategies with a deck of 20 cards": large.SMALL_LOOKS[-1]},
)  # fmt: skip
