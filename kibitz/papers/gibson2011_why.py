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
from kibitz.papers.course_results import (
    CourseResults,
    by_gap,
    figures_text,
    iterations_text,
    less_exploitable,
    pairs_text,
    results_of,
    trained,
    wins,
)
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.gibson2011_large_page import openings
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH
from kibitz.papers.runs import Answers
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet, Spread

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
                                f"{name}, against Base", figures, base))  # fmt: skip
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
                    detail=f"{len(base.values)} strategies of {BASE} lie from {base.low:.2f} to {base.high:.2f}; "
                    f"differences between {ALL} and {BASE}: {figures_text(moved)}")  # fmt: skip
    solved, before = differences(r, large.CONDITIONAL), differences(r)
    both = [seed for seed in solved if before.get(seed, 0.0) > 0.0]  # else there is nothing to explain
    if both:
        said = [f"from {before[seed]:.2f} to {solved[seed]:.2f}" for seed in both]
        said += [f"exactly in seed {seed} from {r.exploitability(ALL, seed) - r.exploitability(BASE, seed):.2f} to "
                 f"{r.exploitability(large.CONDITIONAL, seed) - r.exploitability(BASE, seed):.2f}"
                 for seed in r.seeds(ALL, large.CONDITIONAL, BASE) if r.where == "on sampled flops"]  # fmt: skip
        yield Claim(f"experts that are solved per hand that enters their part halve what {ALL} has above {BASE}", OURS,
                    [Comparison(abs(solved[seed]), "<=", (1 - HALF) * before[seed]) for seed in both], unit=START,
                    detail="; ".join(said))  # fmt: skip
    courses = [points for (of, _), points in sorted(r.points.items()) if of == BASE and len(points) > 1]
    if courses:
        ends_of = [(float(points[-1]["exploitability"]), float(points[0]["exploitability"])) for points in courses]
        cases = [Comparison(end, ">", begin) for end, begin in ends_of]
        ends = sorted({trained(points[-1]) for points in courses})
        upto = f"{ends[0]:,}" if len(ends) == 1 else f"{ends[0]:,} to {ends[-1]:,}"
        text = f"{pairs_text(ends_of)}; after {upto} iterations, against {trained(courses[0][0]):,}"
        yield Claim(f"more training makes {BASE} more exploitable", OURS, cases, unit=START, detail=text)
    one, other, by_paper = large.ALL_SAMPLED, large.BASE_SAMPLED, "by the paper's algorithm"
    tested = [less_exploitable(f"{by_paper} {ALL} is less exploitable than {BASE}", OURS, r, one, [other]),
              wins(f"{by_paper} {ALL} wins from {BASE}", OURS, r, one, other)]  # fmt: skip
    yield from (claim for claim in tested if claim is not None)
    yield from avoided.claims(r.others.get(avoided.AVOIDED, []))


def equilibria(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for (name, seed), points in sorted(r.points.items()):
        if name == BASE:
            end, exact = points[-1], r.exact.get((name, seed))
            rows.append((f"seed {seed}", f"{end['gap']:.2f}" if end["gap"] is not None else "",
                         f"{end['exploitability']:.2f}", f"{exact['exploitability']:.2f}" if exact else "",
                         f"{end['best'][0]:.2f}", f"{end['best'][1]:.2f}"))  # fmt: skip
    head = ("random initialisation", "abstract gap", "exploitability", "exact", "a best response wins in seat 0",
            "in seat 1")  # fmt: skip
    return Sheet("Base by random initialisation", head, rows, f"In the unabstracted game, {r.where}, mbb/h.")


def algorithms(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for name in (*large.SOLVERS, *large.LASTS, large.SAMPLED, large.ALL_SAMPLED):
        points = r.points.get((name, 0), [])
        for each in points:
            rows.append((f"{name}, {each['steps']:,}", "" if each["gap"] is None else f"{each['gap']:.2f}",
                         f"{each['exploitability']:.2f}", f"{each['value']:.2f}"))  # fmt: skip
    head = "algorithm, iterations", "abstract gap", "exploitability", "value"
    return Sheet("By algorithm and iterations", head,
                 rows, "Seed 0, mbb/h. cfr, cfr+, lcfr and dcfr+: solved over all boards, their average strategies; "
                 "last: the last strategy instead of the average. pcs: public chance sampling, where an iteration has "
                 "one board, with linear or uniform weights.")  # fmt: skip


def of_experts(r: CourseResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    base, control = last(r, BASE), next(iter(large.FINER))
    for name in (DYNAMIC, EACH, ALL, large.CONDITIONAL, *large.ALONE, *large.FINER):
        for seed, figure in last(r, name).items():
            if seed in base:
                mine, theirs = (np.array(r.points[of, seed][-1]["best"]) for of in (name, BASE))
                done = iterations_text(r.points[name, seed][-1]["done"])
                rows.append((f"{name}, seed {seed}", f"{figure:.2f}", f"{figure - base[seed]:+.2f}",
                             *(f"{each:+.2f}" for each in mine - theirs), done))  # fmt: skip
    head = ("strategy", "exploitability", "minus that of Base", "a best response in seat 0 wins more by", "in seat 1",
            "iterations")  # fmt: skip
    return Sheet("Experts", head, rows,
                 "Differences from Base of the same seed: the first is the mean of the two others. Iterations: of each "
                 "computation. Seat 1 acts first before the flop."
                 + f" {control} has experts as fine as Base: what they change is not due to finer buckets."
                 * any(name == control for name, _ in r.points))  # fmt: skip


def reached(r: CourseResults) -> Sheet:
    """How often play comes to each way of betting before the flop."""
    rows: list[tuple[str, ...]] = []
    each = next((each for (of, _), each in sorted(r.openings.items()) if of == BASE), None)
    for opening, seat, often, _ in each["gains"] if each is not None else ():
        if seat == 0:
            rows.append((opening, f"{often:.2g}"))
    return Sheet("How often Base comes to a flop", ("betting before it", "share of hands"), rows,
                 "r: a raise, c: a call; the first letter is the first action. The rest of the hands ends before the "
                 "flop.")  # fmt: skip


def by_seed(r: CourseResults) -> Curves:
    """By how much each strategy is more exploitable than Base."""
    named = {ALL: ALL, large.CONDITIONAL: f"{large.CONDITIONAL}: gap per hand that enters"}
    named |= {name: name for name in large.ALONE}
    named |= {name: f"{name}: experts no finer than Base" for name in [*large.FINER][:1]}
    lines = []
    for name, label in named.items():
        apart = differences(r, name)
        if apart:
            lines.append(Line(label, tuple(apart), tuple(apart.values()), (0.0,) * len(apart), joined=False))
    seeds = tuple(sorted({seed for line in lines for seed in map(int, line.at)}))
    return Curves("differences", "Limit hold'em: how much more exploitable than Base", "mbb/h",
                  (FigurePanel("", tuple(lines), (("Base", 0.0),)),) if lines else (), log_x=False, ticks=seeds,
                  across="seed", note="Measured on every 16th flop.")  # fmt: skip


def explained(r: CourseResults, needed: int = len(large.SEEDS)) -> Sheet:
    """needed: seeds in which a cause must be one."""
    different = differences(r)
    rows: list[tuple[str, ...]] = [
        (each.name, each.what, ", ".join(f"{share:.0%}" for share in each.shares(different)),
         each.verdict(different, needed))
        for each in causes(r) if each.shares(different)
    ]
    by_seed = ", ".join(f"{value:+.2f} (seed {seed})" for seed, value in different.items())
    return Sheet("Causes", ("possible cause", "what was compared", "share of the difference", "verdict"), rows,
                 f"The difference: {ALL} less {BASE}, {by_seed or 'not measured'}. Share: how much of it goes away "
                 "without the possible cause; of a single expert, how much of it that expert makes alone. A share "
                 "below 0 means that the difference becomes smaller by it. It is called "
                 f"a cause if the share is at least {HALF:.0%} in each of at least {needed} seeds; one seed with less "
                 "is enough to reject it.")  # fmt: skip


def page(plan: PaperPlan, r: CourseResults, claims: Sequence[Claim]) -> Page:
    leduc = r.others.get(avoided.AVOIDED, [])
    sheets = (explained(r), of_experts(r), reached(r), *([avoided.sheet(leduc)] if leduc else []), equilibria(r),
              algorithms(r), openings(r, (BASE, DYNAMIC, EACH, ALL, *large.FINER)))  # fmt: skip
    algorithms_picture = by_gap(r, "algorithms", "Limit hold'em: exploitability of Base against its abstract gap",
                                large.WAYS)  # fmt: skip
    pictures = (by_seed(r), *([avoided.picture(leduc)] if leduc else []), algorithms_picture)
    return Page(
        about="The strategies are those of [Table 2 with 52 cards](stitching_large.md), and others in which one thing "
        "was changed, as planned in docs/plans/large_tables.md, section 5. An abstract game has many "
        "equilibria, which are equally good in it and not in the unabstracted game [Waugh et al. 2009, abstraction "
        "pathologies]. Leduc hold'em is small enough for exact figures; [Table 1 of the paper](stitching.md) is about "
        "it.",
        departs=("Figures of limit hold'em are on every 16th flop, with all turns and rivers, unless they are called "
                 "exact.",
                 "Differences are judged here without the margins of [the large table](stitching_large.md), where the "
                 "excess of S=N is within the margin in one of three seeds.",
                 "That a best response calls as its first action follows from what it wins in seat 1, which acts "
                 "first, "
                 "and by betting otherwise before the flop: see the tables. Its strategy was not looked at.",
                 "Strategies of Base are called equilibria here; they are approximate, with a gap of about 1 mbb/h."),
        limits="Limits",
        sheets=tuple(sheet for sheet in sheets if sheet.rows),
        pictures=tuple(each for each in pictures if each.panels),
        figures={"unit": "milli-big-blinds per hand", "differences": {str(k): v for k, v in differences(r).items()},
                 "causes": [{"name": each.name, "shares": each.shares(differences(r)),
                             "verdict": each.verdict(differences(r))} for each in causes(r)],
                 "points": [point for some in r.points.values() for point in some]},
    )  # fmt: skip


EXPERIMENT = Experiment(
    "gibson2011", TITLE, PaperPlan(starts=3), PaperPlan(starts=3, quick=True), lambda plan: [], gather, claims, page,
    tables=("why",), ignores=("until", "iterations"), instead="--stage",
)  # fmt: skip
