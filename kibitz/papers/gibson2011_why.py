"""Why stitched strategies of limit hold'em are more or less exploitable than their base: the page of section 5 of
docs/plans/large_tables.md, from the ledgers of the stages two-all-0 to why-algorithms-1.

Figures are on the sampled flops, as all of them are compared with each other there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kibitz.core.errors import ArtefactError
from kibitz.papers import gibson2011_avoided as avoided
from kibitz.papers import gibson2011_large as large
from kibitz.papers.claims import OURS, START, Claim, Comparison
from kibitz.papers.course_results import CourseResults, curves, results_of
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large_page import openings
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH
from kibitz.papers.runs import Answers
from kibitz.report.figures import Sheet, Spread

TITLE = "Where the exploitability of stitched strategies comes from: two-player limit hold'em"
HALF = 0.5  # a cause explains at least this share of a difference


@dataclass(frozen=True)
class Cause:
    """A candidate: the figures with and without it, by seed; they explain a difference if they differ by half of it."""

    name: str
    what: str
    with_it: dict[int, float]
    without: dict[int, float]

    def shares(self, differences: dict[int, float]) -> list[float]:
        """By seed: the part of the difference that goes away without the cause."""
        seeds = [seed for seed in differences if seed in self.with_it and seed in self.without and differences[seed]]
        return [(self.with_it[seed] - self.without[seed]) / differences[seed] for seed in seeds]

    def verdict(self, differences: dict[int, float], needed: int = len(large.SEEDS)) -> str:
        """As the plan says: it must be so in every seed to be named, and in so many at least."""
        shares = self.shares(differences)
        if not shares:
            return "not measured"
        if all(share >= HALF for share in shares):
            all_of = max(needed, len(differences))
            return "a cause" if len(shares) >= all_of else f"undecided: measured in {len(shares)} of {all_of} seeds"
        return "not explained by it"


def last(r: CourseResults, name: str) -> dict[int, float]:
    """By seed, the exploitability of a strategy at its last point."""
    return {seed: float(points[-1]["exploitability"]) for (of, seed), points in sorted(r.points.items()) if of == name}


def differences(r: CourseResults, name: str = ALL) -> dict[int, float]:
    """By seed, by how much a strategy is more exploitable than Base."""
    mine, base = last(r, name), last(r, BASE)
    return {seed: mine[seed] - base[seed] for seed in mine if seed in base}


def causes(r: CourseResults) -> list[Cause]:
    """What may make S=N differ from Base."""
    whole = last(r, ALL)
    control = next(iter(large.FINER))
    alone = {name: last(r, name) for name in large.ALONE}
    plain = f"{ALL}, against experts that are no finer than the base"
    per_hand = f"{ALL}, against gaps per hand that comes to a part"
    candidates = [Cause("finer experts", plain, whole, last(r, control)),
                  Cause("a part that the base avoids", per_hand, whole, last(r, large.CONDITIONAL))]  # fmt: skip
    base = last(r, BASE)
    for name, figures in alone.items():
        candidates.append(Cause(name.split(": ")[1].removesuffix(" alone") + "-expert",
                           f"{name}, against no expert at all", figures, base))  # fmt: skip
    sampled = last(r, large.SAMPLED)
    candidates.append(Cause("training on sampled boards", f"{large.SAMPLED}, against {BASE} by dcfr+", sampled, base))
    return candidates


def gather(plan: PaperPlan, answers: Answers) -> CourseResults:
    r = results_of(Path(plan.results), large.PAPER)
    if BASE not in {name for name, _ in r.points}:
        raise ArtefactError(f"{plan.results} has no results of Base: run the stages two-all-0 and why-control first")
    return r


def claims(r: CourseResults) -> Iterator[Claim]:
    """Sentences that the explanation rests on."""
    base = Spread(tuple(last(r, BASE).values()))
    moved = [abs(each) for each in differences(r).values()]
    if len(base.values) > 1 and moved:
        yield Claim(f"equilibria of one abstraction differ by more than {ALL} and {BASE} do", OURS,
                    [Comparison(base.high - base.low, ">", each) for each in moved], unit=START,
                    detail=f"{len(base.values)} equilibria of {BASE} from {base.low:.2f} to {base.high:.2f}; "
                    f"differences {', '.join(f'{each:.2f}' for each in moved)}")  # fmt: skip
    solved, before = differences(r, large.CONDITIONAL), differences(r)
    both = [seed for seed in solved if before.get(seed, 0.0) > 0.0]  # else there is nothing to explain
    if both:
        yield Claim(f"experts that are solved per hand that enters their part halve what {ALL} has above {BASE}", OURS,
                    [Comparison(abs(solved[seed]), "<=", (1 - HALF) * before[seed]) for seed in both], unit=START,
                    detail="; ".join(f"{before[seed]:.2f} to {solved[seed]:.2f}" for seed in both))  # fmt: skip
    courses = [points for (of, _), points in sorted(r.points.items()) if of == BASE and len(points) > 1]
    if courses:
        cases = [Comparison(points[-1]["exploitability"], ">", points[0]["exploitability"]) for points in courses]
        said = [f"{points[0]['name']} {points[0]['exploitability']:.2f} to {points[-1]['exploitability']:.2f}"
                for points in courses]  # fmt: skip
        yield Claim(f"more training makes {BASE} more exploitable", OURS, cases, unit=START, detail="; ".join(said))
    yield from avoided.claims(r.others.get(avoided.AVOIDED, []))


def equilibria(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for (name, seed), points in sorted(r.points.items()):
        if name == BASE:
            end, exact = points[-1], r.exact.get((name, seed))
            rows.append((f"seed {seed}", f"{end['gap']:.2f}" if end["gap"] is not None else "",
                         f"{end['exploitability']:.2f}", f"{exact['exploitability']:.2f}" if exact else "",
                         f"{end['best'][0]:.2f}", f"{end['best'][1]:.2f}"))  # fmt: skip
    head = "random initialisation", "abstract gap", "exploitability", "exact", "seat 0 wins", "seat 1 wins"
    return Sheet("Base by random initialisation", head, rows,
                 f"Best responses of either seat in the unabstracted game, {r.where}.")  # fmt: skip


def algorithms(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in (*large.SOLVERS, *large.LASTS, large.SAMPLED):
        points = r.points.get((name, 0), [])
        for each in points:
            rows.append((f"{name}, {each['steps']:,}", "" if each["gap"] is None else f"{each['gap']:.2f}",
                         f"{each['exploitability']:.2f}", f"{each['value']:.2f}"))  # fmt: skip
    head = "algorithm, iterations", "abstract gap", "exploitability", "value"
    return Sheet("Base by algorithm and iterations", head,
                 rows, "last: the last strategy instead of the average.")  # fmt: skip


def of_experts(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    base, control = last(r, BASE), next(iter(large.FINER))
    for name in (DYNAMIC, EACH, ALL, large.CONDITIONAL, *large.ALONE, *large.FINER):
        for seed, figure in last(r, name).items():
            if seed in base:
                mine, theirs = (np.array(r.points[of, seed][-1]["best"]) for of in (name, BASE))
                done = ", ".join(map(str, r.points[name, seed][-1]["done"]))
                rows.append((f"{name}, seed {seed}", f"{figure:.2f}", f"{figure - base[seed]:+.2f}",
                             *(f"{each:+.2f}" for each in mine - theirs), done))  # fmt: skip
    return Sheet("Experts", ("strategy", "exploitability", "minus that of Base", "best response of seat 0 wins more by",
                             "of seat 1", "iterations of its computations"), rows,
                 "Seat 1 acts first before the flop. Experts of S=N are r, where it raises, and cr, where it calls and "
                 "seat 0 raises." + f" {control} has experts as fine as Base: what they change is not due to finer "
                 "buckets." * any(name == control for name, _ in r.points))  # fmt: skip


def reached(r: CourseResults) -> Sheet:
    """How often play comes to each way of betting before the flop."""
    rows: list[tuple[str, ...]] = []
    each = next((each for (of, _), each in sorted(r.openings.items()) if of == BASE), None)
    for opening, seat, often, _ in each["gains"] if each is not None else ():
        if seat == 0:
            rows.append((opening, f"{often:.2g}"))
    return Sheet("How often Base comes to a flop", ("betting before it", "share of hands"), rows,
                 "r: a raise, c: a call. The rest of the hands ends before the flop.")  # fmt: skip


def explained(r: CourseResults, needed: int = len(large.SEEDS)) -> Sheet:
    """needed: seeds in which a cause must be one."""
    different = differences(r)
    rows: list[tuple[str, ...]] = [
        (each.name, each.what, ", ".join(f"{share:.0%}" for share in each.shares(different)),
         each.verdict(different, needed))
        for each in causes(r) if each.shares(different)
    ]
    by_seed = ", ".join(f"{value:+.2f} (seed {seed})" for seed, value in different.items())
    return Sheet("Causes", ("candidate", "compared", "share of the difference", "verdict"), rows,
                 f"The difference: {ALL} minus {BASE}, {by_seed or 'not measured'}. By the rule of the plan a cause "
                 f"accounts for at least {HALF:.0%} of it in every seed, of {needed} at least.")  # fmt: skip


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    leduc = r.others.get(avoided.AVOIDED, [])
    sheets = (explained(r), of_experts(r), reached(r), *([avoided.sheet(leduc)] if leduc else []), equilibria(r),
              algorithms(r), openings(r, (BASE, DYNAMIC, EACH, ALL, *large.FINER)))  # fmt: skip
    picture = curves(r, "algorithms", "Limit hold'em: exploitability of Base against training",
                     (("averages", (BASE, *large.SOLVERS, large.SAMPLED)),
                      ("last strategies", tuple(large.LASTS))))  # fmt: skip
    return Page(
        about="Exploitability of the base and of stitched strategies, along their training, by algorithm, by expert "
        "and by part of the game, as planned in docs/plans/large_tables.md, section 5. An abstract game has many "
        "equilibria, which are equally good in it and not in the unabstracted game [Waugh et al. 2009, abstraction "
        "pathologies]. "
        "docs/stitching.md has the same questions for Leduc hold'em, where all figures are exact.",
        departs=("Figures are on every 16th flop, unless they are called exact.",),
        limits="Limits",
        sheets=tuple(sheet for sheet in sheets if sheet.rows),
        pictures=(picture,) if picture.panels else (),
        figures={"unit": "milli-big-blinds per hand", "differences": {str(k): v for k, v in differences(r).items()},
                 "causes": [{"name": each.name, "shares": each.shares(differences(r)),
                             "verdict": each.verdict(differences(r))} for each in causes(r)],
                 "points": [point for some in r.points.values() for point in some]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=3), PaperPlan(starts=3, quick=True), lambda plan: [], gather, claims, page,
    tables=("why",), ignores=("until", "iterations"), instead="--stage",
)  # fmt: skip
