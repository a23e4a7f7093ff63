"""`kibitz reproduce auto-stitching`: automatic stitching against the partitions of the papers, in Leduc.

The plan is docs/plans/auto_stitching.md, which was committed before the runs; they are in `auto_stitching_runs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kibitz.papers import auto_stitching_holdem_page, auto_stitching_rhode_page, auto_stitching_three_page
from kibitz.papers import auto_stitching_runs as leduc
from kibitz.papers import auto_stitching_sheets as sheets
from kibitz.papers.auto_stitching_runs import HAND, OF_BASE
from kibitz.papers.claims import OURS, START, Claim, Comparison, sign_test
from kibitz.papers.experiment import Experiment, Page, PaperPlan, of_parts
from kibitz.papers.gibson2011_runs import BASE
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import FigurePoints, Scatter, Sheet, Spread, dot

TITLE = "Automatic stitching against hand-made partitions"
SOURCE = OURS
AUTO = "automatic"
ENOUGH = 0.8  # of a predicted gain
WORDS = {2: "two players", 3: "three players"}
ADJECTIVES = {2: "two-player", 3: "three-player"}
PARTS = {2: "two-players", 3: "three-players"}
DEPARTS = {
    2: (
        "The search takes more computation than a hand-made strategy of the same memory.",
        "Memory is counted in the game without suits; the papers count it with suits.",
    ),
    3: (
        "The search takes more computation than a hand-made strategy of the same memory.",
        "Three players have fewer parts, rounds and iterations than two.",
    ),
}
LIMITS = "Limits of the comparison"
PLAN = PaperPlan(starts=10)
QUICK = PaperPlan(starts=2, until=1e-2, iterations=20, quick=True)


@dataclass(frozen=True)
class AutoResults:
    """Figures of one number of players over all seeds, in milli-antes."""

    players: int
    size: dict[str, int]  # of the base and of hand-made strategies
    exploit: dict[str, Spread]
    earns: dict[str, Spread]
    searches: list[dict[str, Any]]  # of each seed: limit -> facts

    def auto(self, name: str) -> str:
        """The search with the memory of a hand-made strategy."""
        return f"auto {self.size[name]}"


def runs(plan: PaperPlan, players: int) -> list[Run]:
    seeds = [(players, plan.until, plan.iterations, plan.quick, leduc.FIRST_SEED + seed) for seed in plan.seeds]
    return [
        Run(f"sizes, {WORDS[players]}", leduc.sizes, [(players,)]),
        Run(WORDS[players], leduc.one_seed, seeds, "processes"),
    ]


def gather(players: int, answers: Answers) -> AutoResults:
    (size,) = answers[f"sizes, {WORDS[players]}"]
    return results(players, size, answers[WORDS[players]])


def results(players: int, size: dict[str, int], seeds: Sequence[Mapping[str, Any]]) -> AutoResults:
    def spreads(what: str) -> dict[str, Spread]:
        return {name: Spread(tuple(1000.0 * seed[what][name] for seed in seeds)) for name in seeds[0][what]}

    return AutoResults(players, size, spreads("exploitability"), spreads("earnings"), [s["searches"] for s in seeds])


def claims(r: AutoResults) -> Iterator[Claim]:
    for name in HAND[r.players]:
        yield _better(r, name, r.exploit, "is less exploitable", -1.0)
    for name in HAND[r.players]:
        yield _better(r, name, r.earns, "earns more", 1.0)
    text = f"{WORDS[r.players]}: the first plan achieves at least {ENOUGH:.0%} of its predicted gain"
    cases = []
    for searches in r.searches:
        first = [search["rounds"][0] for search in searches.values() if search["rounds"]]
        cases.append(tuple(Comparison(x["achieved"], ">=", ENOUGH * x["predicted"]) for x in first))
    yield Claim(text, SOURCE, cases)


def _better(r: AutoResults, name: str, what: Mapping[str, Spread], verb: str, sign: float) -> Claim:
    mine, theirs = what[r.auto(name)], what[name]
    cases = [Comparison(a, ">" if sign > 0.0 else "<", b) for a, b in zip(mine.values, theirs.values, strict=True)]
    p = sign_test([a - b for a, b in zip(mine.values, theirs.values, strict=True)])
    claim = Claim(f"{WORDS[r.players]}: {AUTO} with the memory of {name} {verb}", SOURCE, cases)
    return replace(claim, detail=f"{mine.mean:.1f} against {theirs.mean:.1f}, sign test p = {p:.2g}")


def sheet(r: AutoResults) -> Sheet:
    rows = [(BASE, f"{r.size[BASE]}", r.exploit[BASE].text(), "", r.earns[BASE].text(), "", "")]
    for name in HAND[r.players]:
        auto = r.auto(name)
        p = [sign_test([a - b for a, b in zip(what[auto].values, what[name].values, strict=True)])
             for what in (r.exploit, r.earns)]  # fmt: skip
        rows.append((name, f"{r.size[name]}", r.exploit[name].text(), r.exploit[auto].text(), r.earns[name].text(),
                     r.earns[auto].text(), f"{p[0]:.2g}; {p[1]:.2g}"))  # fmt: skip
    return Sheet(
        f"{WORDS[r.players].capitalize()}, base {OF_BASE[r.players]}, milli-antes per hand",
        ("strategy", "memory", "exploitability", f"{AUTO}", "earnings", f"{AUTO} earns", "sign tests"), rows,
        "Memory: infosets of the largest computation. Automatic: the search with that memory, from the same base. "
        "Means ± standard deviations over seeds; p-values of exploitability, then of earnings.",
    )  # fmt: skip


def losing_sheet(r: AutoResults) -> Sheet:
    """Seeds in which automatic stitching was worse, and whether it was then better by the other measure."""
    rows, n = [], len(r.searches)
    for name in HAND[r.players]:
        auto = r.auto(name)
        gains = [a - b for a, b in zip(r.exploit[name].values, r.exploit[auto].values, strict=True)]
        more = [a - b for a, b in zip(r.earns[auto].values, r.earns[name].values, strict=True)]
        exploited, poorer = sum(g <= 0.0 for g in gains), sum(m <= 0.0 for m in more)
        both = sum(m <= 0.0 and g > 0.0 for m, g in zip(more, gains, strict=True))
        rows.append((name, f"{exploited} of {n}", f"{poorer} of {n}", f"{both}"))
    return Sheet(
        f"Where automatic stitching loses, {WORDS[r.players]}",
        ("against", "more exploitable", "earns less", "of these less exploitable"), rows,
        "The search judges by exploitability and never sees an opponent. Where it earns less though it is less "
        "exploitable, it likely gave up winnings from opponents that are easy to exploit.",
    )  # fmt: skip


def search_sheet(r: AutoResults) -> Sheet:
    searches = {f"{limit} infosets": [of[limit] for of in r.searches] for limit in r.searches[0]}
    return sheets.search_sheet(f"What the searches did, {WORDS[r.players]}", "memory", searches,
                               "The seconds are those of searches side by side.")  # fmt: skip


def points(r: AutoResults) -> FigurePoints:
    searches = [search for of in r.searches for search in of.values()]
    title = f"Predicted and achieved gains, {WORDS[r.players]}"
    return sheets.gains(f"gains-{r.players}", title, "milli-antes", searches, 1000.0)


def accuracy(r: AutoResults) -> str:
    """How far predictions are off, in a sentence."""
    plans = [x for searches in r.searches for f in searches.values() for x in f["rounds"]]
    off = sorted(1000.0 * abs(x["achieved"] - x["predicted"]) for x in plans)
    if not off:
        return ""
    gain = sum(1000.0 * x["achieved"] for x in plans) / len(plans)
    alone = sorted(1000.0 * abs(a - p) for x in plans for _, p, a in x["moves"])
    return (f"For {WORDS[r.players]} predictions are off by {off[len(off) // 2]:.2f} milli-antes in the median of "
            f"{len(off)} plans, which gained {gain:.1f} on average. A search keeps the short run of an expert where it "
            "is better than the long one, so a plan can hardly achieve less than it predicted. The gains of trained "
            f"experts one by one, where nothing is chosen, are off by {alone[len(alone) // 2]:.2f} in the median and "
            f"by {alone[-1]:.1f} at most.")  # fmt: skip


def page(plan: PaperPlan, r: AutoResults, claims: Sequence[Claim]) -> Page:
    return Page(
        about=f"A search chooses where experts go in {ADJECTIVES[r.players]} Leduc hold'em. It is compared with the "
        "partitions that Gibson & Szafron (2011) and Waugh, Bard & Bowling (2009) chose by hand: from the same base, "
        f"with the same memory, on the same seed. All figures are exact, over {plan.starts} random initialisations, as "
        f"fixed in docs/plans/auto_stitching.md; seed s here is seed {leduc.FIRST_SEED} + s there.",
        departs=(*DEPARTS[r.players], *_fewer(plan)), limits=LIMITS, notes=(accuracy(r),),
        sheets=(sheet(r), losing_sheet(r), search_sheet(r)),
        pictures=(
            Scatter(f"exploitability-{r.players}", f"Leduc, {WORDS[r.players]}: exploitability by memory",
                    "exploitability, milli-antes per hand", _dots(r), beyond="automatic stitching"),
            points(r),
        ),
        figures={
            "unit": "milli-antes", "size": r.size,
            "exploitability": {name: s.data() for name, s in r.exploit.items()},
            "earnings": {name: s.data() for name, s in r.earns.items()}, "searches": r.searches,
        },
    )  # fmt: skip


def _fewer(plan: PaperPlan) -> tuple[str, ...]:
    if plan.starts >= PLAN.starts:
        return ()
    return (f"Only {plan.starts} of the {PLAN.starts} planned seeds were run; a sign test of so few says little.",)


def _dots(r: AutoResults) -> tuple[Any, ...]:
    base = OF_BASE[r.players]
    hand = [dot(name, base, r.size[name], r.exploit[name]) for name in (BASE, *HAND[r.players])]
    limits = sorted({r.size[name] for name in HAND[r.players]})
    return (*hand, *(dot(AUTO, base, k, r.exploit[f"auto {k}"], None, True) for k in limits))


def _part(players: int) -> Experiment[AutoResults]:
    return Experiment(
        PARTS[players], WORDS[players], PLAN, QUICK, partial(runs, players=players),
        lambda plan, answers: gather(players, answers), claims, page,
    )  # fmt: skip


_PARTS: dict[str, Experiment[Any]] = {PARTS[n]: _part(n) for n in WORDS}
_PARTS["rhode-island"] = auto_stitching_rhode_page.PART
_PARTS["holdem-two"] = auto_stitching_holdem_page.PART
_PARTS["holdem-three"] = auto_stitching_three_page.PART
_BOTH = of_parts("auto-stitching", TITLE, PLAN, QUICK, _PARTS, START, named=("holdem-two", "holdem-three"))


def _page(plan: PaperPlan, results: dict[str, Any], claims: Sequence[Claim]) -> Page:
    return replace(_BOTH.page(plan, results, claims), limits=LIMITS)


EXPERIMENT = replace(_BOTH, page=_page)
