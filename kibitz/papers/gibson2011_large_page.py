"""[Gibson & Szafron 2011, Table 2], two players: the page of the stages of `gibson2011_large`, from their ledgers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kibitz.core.errors import ArtefactError
from kibitz.papers import gibson2011_large as large
from kibitz.papers.claims import MOST, OURS, START, Claim, Comparison
from kibitz.papers.course_results import (
    FLAT,
    CourseResults,
    convergence,
    crosstable_sheet,
    curves,
    figures_text,
    iterations_text,
    last_looks,
    less_exploitable,
    margins_sheet,
    results_among,
    results_of,
    sizes_sheet,
    winnings,
    wins,
    without_draws,
)
from kibitz.papers.earnings import Earnings, ExactEarnings, Winnings, earnings, freedom_of
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_holdem import PAPER, SOURCE, TITLE
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH, FINEST, NAMES, sizes_of
from kibitz.papers.holdem_course import ASIDE, DRAWN, POINTS_ASIDE
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import Sheet

CLAIMS = 13  # about this table, which are judged together
LEAST_GAIN = 0.05  # mbb/h: a smaller row is no use to a reader
ROUNDED = "rounded"  # pairs in the place of which others count
NEAR = 10.0  # mbb/h: Base's exploitability is the paper's within this


def runs(plan: PaperPlan) -> list[Run]:
    return []  # stages are run by `kibitz.papers.stages`


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    r = results_of(Path(plan.results), large.PAPER)
    if not r.points and not r.exact:
        raise ArtefactError(f"{plan.results} has no results of this table: run its stages first (--stage two-all-0)")
    return _unrounded(r)


def _unrounded(r: CourseResults) -> CourseResults:
    """With the pairs of seed 0 that were trained without rounding, once all are known, in the place of those on as
    many boards."""
    first, precise = large.SEEDS[0], r.others.get(large.PRECISE + DRAWN, [])
    if earnings(precise, NAMES, CLAIMS, first) is None:
        return r
    rounded = [each for each in r.estimates if {each["one"], each["other"]} <= set(NAMES)
               and (each["seed"], each["boards"]) == (first, precise[0]["boards"])]  # fmt: skip
    every = [*(each for each in r.estimates if each not in rounded), *precise]
    return replace(r, estimates=every, drawn=last_looks(every), others={**r.others, ROUNDED: rounded})


def further(r: CourseResults) -> CourseResults:
    """What was measured of strategies that were trained further, to the end."""
    beyond = results_among(r.others, large.FURTHER)
    setting = large.further(large.setting_of(False, "", "gpu"))
    ends = {key: of for key, of in beyond.points.items() if of[-1]["steps"] == large.points(setting, key[0])[-1]}
    return replace(beyond, points=ends, before=r)


def claims(r: CourseResults) -> Iterator[Claim]:
    """What the paper says of Table 2, two players; claims that nothing was measured for are left out."""
    yield from earning_claims(_earned(r))
    yield from compared(r)
    for claim in compared(further(r)):
        yield replace(claim, text=f"trained to a gap of {large.FURTHER_GAP:g}, {claim.text}", source=OURS)
    seeds = r.seeds(BASE)
    if seeds:
        mine = [r.exploitability(BASE, seed) for seed in seeds]
        theirs = PAPER[BASE][2]
        yield Claim(f"the exploitability of {BASE} is the paper's within {NEAR:g} mbb/h", OURS,
                    [Comparison(abs(each - theirs), "<", NEAR, r.margin(BASE, seed=seed))
                     for seed, each in zip(seeds, mine, strict=True)], unit=START,
                    detail=f"{', '.join(f'{each:.2f}' for each in mine)} against {theirs:.2f}")  # fmt: skip


def _earned(r: CourseResults) -> list[Earnings]:
    """Of each seed whose pairs are all known."""
    every = [earnings(r.estimates, NAMES, CLAIMS, seed) for seed in large.SEEDS]
    return [each for each in every if each is not None]


def earning_claims(earned: Sequence[Earnings] | Sequence[ExactEarnings]) -> Iterator[Claim]:
    """What the paper says of earnings; earned: by seed."""
    if earned:
        for x, y in ((DYNAMIC, BASE), (ALL, BASE), (ALL, EACH)):
            yield _earns(f"{x} earns more than {y}", earned, x, ">", y)
        yield _earns(f"{EACH} earns no more than {BASE}", earned, EACH, "<=", BASE)


def _earns(
    text: str, earned: Sequence[Earnings] | Sequence[ExactEarnings], one: str, relation: str, other: str
) -> Claim:  # fmt: skip
    """That one strategy earns more than another, or no more, in the mean over all others, in each seed."""
    every = [(each.of(one), each.of(other), each.more(one, other)) for each in earned]
    if len(every) == 1:
        ((mine, theirs, _),) = every
        said = f"{one} {mine.text()}, {other} {theirs.text()}"
    else:
        means = (f"{name} {np.mean([each[k].mean for each in every]):.2f}" for k, name in enumerate((one, other)))
        more = [apart for *_, apart in every]
        exact = all(each.error is None for each in more)
        apart = figures_text([each.mean for each in more]) if exact else ", ".join(each.text() for each in more)
        said = f"{', '.join(means)} on average; differences: {apart}"
    return Claim(text, SOURCE, [Comparison(mine.mean, relation, theirs.mean, apart.error)
                                for mine, theirs, apart in every], unit=START, detail=said)  # fmt: skip


def compared(r: CourseResults) -> Iterator[Claim]:
    """Of exploitabilities, and of winnings from Base and of the finest strategy."""
    tested = [less_exploitable(f"{x} is less exploitable than {BASE}", SOURCE, r, x, [BASE])
             for x in (DYNAMIC, EACH, ALL)]  # fmt: skip
    tested.append(less_exploitable(f"{large.CONDITIONAL}, is less exploitable than {BASE}", OURS, r, large.CONDITIONAL,
                                   [BASE]))  # fmt: skip
    for name, source in ((ALL, SOURCE), (large.CONDITIONAL, OURS)):
        comma = "," * (name != ALL)
        tested.append(less_exploitable(f"{name}{comma} is the least exploitable of those of one size", source, r, name,
                                       [BASE, DYNAMIC, EACH]))  # fmt: skip
    tested.append(less_exploitable("the finest strategy is the least exploitable", SOURCE, r, FINEST, NAMES[:-1]))
    tested += [wins(f"{x} wins from {BASE}", OURS, r, x, BASE, CLAIMS) for x in (DYNAMIC, EACH, ALL)]
    tested += [wins(f"the finest strategy beats {name}", SOURCE, r, FINEST, name, CLAIMS) for name in NAMES[:-1]]
    yield from (claim for claim in tested if claim is not None)


def table(r: CourseResults) -> Sheet:
    earned, rows = _earned(r), list[tuple[str, ...]]()
    for name in (*NAMES[:-1], large.CONDITIONAL, FINEST):
        spread, of_paper = r.spread(name), PAPER.get(name)
        seeds = "" if spread is None else ", ".join(f"{value:.2f}" for value in spread.values)
        rows.append((
            name,
            "; ".join(each.of(name).text() for each in earned) if earned and of_paper else
            "not measured" if of_paper else "",
            "" if of_paper is None else f"{of_paper[0]:.2f} ± {of_paper[1]:.2f}",
            _sampled(r, name) if spread is None else f"{spread.mean:.2f}", seeds,
            "" if of_paper is None else f"{of_paper[2]:.2f}",
        ))  # fmt: skip
    return Sheet(
        "Table 2, two players: milli-big-blinds per hand",
        ("strategy", "earns, by seed", "paper", "exploitability", "by seed", "paper"), rows,
        "Exploitability: the mean of what best responses of both players win in the unabstracted game, exact unless it "
        "says otherwise; by seed where it is exact. Earnings: the mean of what it wins from each of the others, on "
        "drawn boards"
        + (", all pairs of a seed on the same boards, also those that are known exactly; intervals are 95% for "
           f"{CLAIMS} comparisons together" if earned else ", not measured yet")
        + ". The paper's finest strategy has 797 million infosets, and its S={i} has other parts.",
        table=2,
    )  # fmt: skip


def _sampled(r: CourseResults, name: str) -> str:
    """The exploitability on sampled flops of the first seed, where it is not known exactly."""
    seeds = sorted(seed for of, seed in r.points if of == name)
    return f"{r.sampled(name, seeds[0]):.1f} on sampled flops" if seeds else "not measured"


def sizes(r: CourseResults) -> Sheet:
    counted = sizes_of(large.GAME, *large.LIMITS).infosets
    planned = {name: f"{counted[name]:,}" for name in NAMES if name != EACH}
    return sizes_sheet(r, NAMES, "As planned: counted beforehand; hands of equal strength leave some buckets empty. "
                       "S={i} was planned with other parts.", planned)  # fmt: skip


def openings(r: CourseResults, names: Sequence[str] = NAMES) -> Sheet:
    """Where best responses win, of the first seed for which that is known."""
    known = {name: next(((seed, each) for (of, seed), each in sorted(r.openings.items()) if of == name), None)
             for name in names}  # fmt: skip
    every = {name: each for name, each in known.items() if each is not None}
    gains = {name: {(opening, seat): gain for opening, seat, _, gain in each["gains"]}
             for name, (_, each) in every.items()}  # fmt: skip
    keys = list(dict.fromkeys(key for of in gains.values() for key in of))
    rows: list[tuple[str, ...]] = [
        (f"{opening or 'at once'}, seat {seat}", *(f"{of.get((opening, seat), 0.0):.2f}" for of in gains.values()))
        for opening, seat in keys if any(abs(of.get((opening, seat), 0.0)) >= LEAST_GAIN for of in gains.values())
    ]
    if gains:
        inside = {name: sum(of.values()) for name, of in gains.items()}
        whole = {name: r.sampled(name, seed) for name, (seed, _) in every.items()}
        rows.append(("all of these", *(f"{each:.2f}" for each in inside.values())))
        rows.append(("by betting otherwise before the flop", *(
            "" if of is None else f"{2 * of - inside[name]:.2f}" for name, of in whole.items())))  # fmt: skip
        rows.append(("twice the exploitability", *("" if of is None else f"{2 * of:.2f}" for of in whole.values())))
    return Sheet("Gains of best responses by the betting before the flop", ("betting", *gains), rows,
                 f"mbb/h, on sampled flops, seed {', '.join(map(str, sorted({seed for seed, _ in every.values()})))}. "
                 "Each row: what a best response wins in hands with this betting before the flop (r: a raise, c: a "
                 "call), if it keeps to the betting of the strategy there. \"By betting otherwise\": what it wins in "
                 "addition if it does not. The seat is that of the best response. Rows below "
                 f"{LEAST_GAIN:g} are left out.")  # fmt: skip


def _seeds(r: CourseResults) -> str:
    """seeds 0, 1, 2 of Base and S=N; seed 0 of Finest"""
    by_seeds: dict[tuple[int, ...], list[str]] = {}
    for name in (*NAMES, large.CONDITIONAL):
        seeds = tuple(sorted(seed for of, seed in r.points if of == name))
        by_seeds.setdefault(seeds, []).append(name)
    return "; ".join(f"seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))} of {' and '.join(names)}"
                     for seeds, names in by_seeds.items() if seeds)  # fmt: skip


def set_aside(r: CourseResults) -> Iterator[str]:
    """Estimates of pairs that others contradict, and what is known of the reason."""
    for each in r.others.get(ASIDE, []):
        one, other, seed = each["one"], each["other"], each["seed"]
        second = r.drawn.get((one, other, seed))
        if second is None:
            continue
        later = _of_other(second)
        again = [_of_other(of) for of in r.others.get(large.PRECISE + DRAWN, [])
                 if (of["one"], of["other"], of["seed"]) == (one, other, seed)]  # fmt: skip
        then = _of_other(each)
        rounded = [_of_other(of) for of in r.others.get(ROUNDED, [])
                   if (of["one"], of["other"], of["seed"]) == (one, other, seed)]  # fmt: skip
        if rounded:
            yield (f"Estimates are set aside. Winnings of seed {seed} that have an interval are of strategies that "
                   "were trained without rounding of products of matrices to TF32, but for those of "
                   f"{large.CONDITIONAL}: {other} wins {later.text(CLAIMS)} from {one}. "
                   f"With rounding it won {rounded[-1].text(CLAIMS)}; in a first session, without it, "
                   f"{then.text(CLAIMS)} (docs/plans/large_tables.md, 2026-11-19).")  # fmt: skip
            continue
        if not again:
            yield (f"An estimate is set aside: in an earlier session {other} won {then.text(CLAIMS)} from {one} "
                   f"instead of {later.text(CLAIMS)}. We could not find out why. That strategy is gone, and it never "
                   f"played the others. All winnings of {other} here are of the later one "
                   "(docs/plans/large_tables.md, 2026-11-19).")  # fmt: skip
            continue
        error = again[0].error_of(CLAIMS) or 0.0
        unsure = " (by this it is undecided whether it wins)" if abs(again[0].mean) <= error else ""
        elsewhere = [f"{each.text(CLAIMS)} in seed {each.seed}" for each in r.won(other, one) if each.seed != seed]
        cause = (f"In the other seeds {one} was rounded and {other} was not, and it wins {' and '.join(elsewhere)}. So "
                 f"rounding of {other} alone is not the cause. It may be rounding of {one}, or the training in seed "
                 f"{seed}: we have not separated them."
                 if elsewhere else "So rounding is the likely cause.")  # fmt: skip
        yield (f"One pair is in doubt: what {other} wins from {one} in seed {seed}. Two trainings without rounding of "
               f"products to TF32 (ten binary digits) gave {then.text(CLAIMS)} and {again[0].text(CLAIMS)}"
               f"{unsure}; one in which both were rounded gave {later.text(CLAIMS)}. The last is in the tables, "
               f"because all pairs by which earnings in seed {seed} are judged are of these strategies. {cause} "
               "(docs/plans/large_tables.md, 2026-11-19.)")  # fmt: skip
    yield from _rounded(r)


def _rounded(r: CourseResults) -> Iterator[str]:
    """What was rounded against the plan, and what came of it where that is known."""
    rounded = [f"{of['name']} in seed {of['seed']} {of['exploitability']:.2f} instead of "
               f"{r.points[of['name'], of['seed']][-1]['exploitability']:.2f}"
               for of in r.others.get(POINTS_ASIDE, []) if (of["name"], of["seed"]) in r.points]  # fmt: skip
    if rounded:
        still = ("" if ROUNDED in r.others else "Still they were rounded in seed 0 where winnings have an interval; "
                 "its exact figures are of earlier trainings without rounding. ")  # fmt: skip
        yield (f"The plan allows rounding where NashConv in the abstract game shows what it does. For {DYNAMIC} and "
               f"{EACH} that is unknown: their players forget buckets from one part of the game to another. {still}In "
               "the other seeds they are not rounded now. In an earlier session they were, and had another "
               f"exploitability on sampled flops: {', '.join(rounded)}. These figures are set aside.")  # fmt: skip


def _trained_anew(r: CourseResults) -> Iterator[str]:
    """Strategies that played pairs after other iterations than those whose exploitability is known."""
    other: dict[tuple[str, int], str] = {}
    for pair in r.drawn.values():
        for name, done in zip((pair["one"], pair["other"]), pair.get("done") or (), strict=False):
            points = r.points.get((name, pair["seed"]))
            if points and points[-1]["done"] != done:
                other[name, pair["seed"]] = f"{iterations_text(done)} of {name} in seed {pair['seed']}"
    if other:
        yield ("Strategies were trained anew for pairs. Where that ended after other iterations than in the table of "
               f"convergence, they were: {', '.join(other[key] for key in sorted(other))}.")  # fmt: skip


def _of_other(pair: dict[str, Any]) -> Winnings:
    """What the second of two strategies won."""
    return Winnings(pair["seed"], -pair["mean"], pair["error"], freedom=freedom_of(pair.get("by_draw")))


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    unsure = [f"{name} (seed {seed})" for name in NAMES for of, seed in sorted(r.points) if of == name
              and r.converged(name, seed) is False]  # fmt: skip
    picture = curves(r, "course", "Limit hold'em: exploitability against training",
                     (("trained over all boards", (*NAMES, large.CONDITIONAL)),
                      ("trained on sampled boards", (large.SAMPLED,))),
                     levels=[(f"paper, exact: {name}", PAPER[name][2]) for name in (BASE, ALL)],
                     palette=large.COLOURED)  # fmt: skip
    beyond = further(r)
    later = curves(beyond, "further",
                   f"Limit hold'em: exploitability, trained to a gap of {large.FURTHER_GAP:g} at best",
                   (("trained over all boards", (*NAMES, large.CONDITIONAL)),), palette=large.COLOURED)  # fmt: skip
    ends = [replace(sheet, title=f"{sheet.title}, trained to a gap of {large.FURTHER_GAP:g}")
            for sheet in (convergence(beyond, (*NAMES, large.CONDITIONAL)), winnings(beyond, "mbb/h"))]  # fmt: skip
    earned = _earned(r)
    played = [crosstable_sheet(r, (*NAMES, large.CONDITIONAL)[:None if seed == r.first else -1], "mbb/h", CLAIMS, seed)
              for seed in sorted({seed for *_, seed in r.drawn})]  # fmt: skip
    spent = r.seconds + beyond.seconds + results_among(r.others, large.PRECISE).seconds
    not_all = f" Not converged by the plan's rule: {', '.join(unsure)}." if unsure else ""
    return Page(
        about=f"{large.GAME} with percentile E[HS²] buckets and perfect recall, at most {large.LIMITS[0]:,} infosets "
        f"for each computation ({large.LIMITS[1]:,} for the finest strategy), as fixed in docs/plans/large_tables.md. "
        "Every computation starts from a random strategy that is drawn from its seed, and is solved by dcfr+ over all "
        f"boards: {_seeds(r)}. Exact figures are over all boards too; figures on sampled flops are over every 16th "
        "flop, with all turns and rivers. [Another page](stitching_why.md) looks for the causes of what is found here. "
        f"On {' and '.join(sorted({*r.made_on, *beyond.made_on})) or 'no machine'}, "
        f"{spent / 60:.0f} minutes in all, measurements included, summed over stages that ran side by side.{not_all}",
        departs=(
            "The paper ran 720 million iterations of chance-sampled CFR for every computation, one deal per iteration.",
            "The paper does not say how the dynamic strategy divides its infosets between the base and the r-expert. "
            "Here the rest of the game has one bucket per round less than Base, and the expert has what is left.",
            "S={i} has the parts r, cr and cc instead of the paper's r, cr, ccr and cccr: the last two begin within "
            "the second round, where experts can only be solved on sampled boards. Its experts have at most "
            f"{large.EACH_LOOKS[-1]} iterations. Dynamic and the experts of S=N have at most {large.PART_LOOKS[-1]}.",
            *([f"Strategies \"trained to a gap of {large.FURTHER_GAP:g}\" have at most {large.FURTHER_LOOKS[-1]:,} "
               f"iterations, S={{i}} and Finest {large.FURTHER_FINE[-1]}. The gap of Dynamic and S={{i}} is unknown, "
               "so they run to the limit. Their experts stand on the Base that was trained further, so after equal "
               "iterations they differ from those of the other picture."] if beyond.points else []),
            "Experts stand on the Base that was trained to the end, also at the first points of their curves.",
            "An exploitability is compared with a margin: what both strategies changed in the last doubling of their "
            "training. Where a seed has one measurement only, the change in another seed is used. If no seed has two, "
            f"as with {large.CONDITIONAL}, we assume {FLAT:g} mbb/h, although other strategies changed by more.",
            "On sampled flops the sampling error is added. We know it in seed 0, where the difference of the same two "
            "strategies is also measured exactly. If that is unknown, the largest such error of any two strategies is "
            "used. Strategies trained to a gap of 0.1 take the error that they had at a gap of 1, until their exact "
            "figures are known.",
            f"A claim holds if it is true in at least {MOST:.0%} of its seeds, and fails if it is false in as many.",
            "Claims about earnings are judged by the mean over the other four strategies of the paper, in each seed "
            f"whose pairs are all measured: {', '.join(str(each.seed) for each in earned)}. What strategies win from "
            "Base is judged apart, as claims of our own." if earned else
            "Claims about earnings, the mean over all opponents, are left out: not all pairs are measured yet.",
            *r.again(), *_trained_anew(r), *set_aside(r),
        ),
        sheets=tuple(sheet for sheet in (
            table(r), margins_sheet(claims), convergence(r, (*NAMES, large.CONDITIONAL, large.SAMPLED)),
            winnings(r, "mbb/h"), *played, *ends, sizes(r), openings(r)) if sheet.rows),
        pictures=tuple(each for each in (picture, later) if each.panels),
        figures={"unit": "milli-big-blinds per hand", "points": [p for of in r.points.values() for p in of],
                 "exact": list(r.exact.values()), "pairs": list(r.pairs.values()),
                 "further": [*beyond.exact.values(), *beyond.pairs.values(),
                             *(p for of in beyond.points.values() for p in of)],
                 "drawn": [without_draws(each) for each in r.drawn.values()],
                 "without TF32": [without_draws(each) for each in r.others.get(large.PRECISE + DRAWN, [])],
                 "set aside": [without_draws(each) for run in (ASIDE, POINTS_ASIDE) for each in r.others.get(run, [])],
                 "openings": list(r.openings.values()),
                 "paper": {name: list(row) for name, row in PAPER.items()}},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=3), PaperPlan(starts=3, quick=True), runs, gather, claims, page,
    tables=("2",), ignores=("until", "iterations"), instead="--stage", settings={"flops of a curve: one of": 16},
)  # fmt: skip
