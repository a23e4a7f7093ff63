"""`kibitz reproduce auto-stitching --experiment rhode-island`: automatic stitching in buckets, by memory.

The plan is docs/plans/auto_stitching.md, which was committed before the runs; they are in `auto_stitching_rhode`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kibitz.papers import auto_stitching_rhode as rhode
from kibitz.papers import auto_stitching_sheets as sheets
from kibitz.papers import auto_stitching_why as why
from kibitz.papers import auto_stitching_why_page as why_page
from kibitz.papers.auto_stitching_runs import FIRST_SEED
from kibitz.papers.claims import OURS, START, Claim, Comparison, sign_test
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.report.figures import (
    Curves,
    FigurePanel,
    FigurePoints,
    Line,
    Scatter,
    Sheet,
    Spread,
    dot,
)

SINGLES, SIZES = "rhode island: single abstractions", "rhode island"
WHY = "rhode island: why it loses"
AUTO, SINGLE = rhode.AUTO, "single"
ENOUGH = 0.8  # of a predicted gain
LIMITS = "Limits of the comparison"
DEPARTS = (
    "Experts are static, for both players at once (S=N), and their parts begin in the first round or where it ends.",
    "The search takes more computation than a partition by hand with the same memory.",
)
PLAN = PaperPlan(starts=10)
QUICK = PaperPlan(starts=2, quick=True)


@dataclass(frozen=True)
class RhodeResults:
    """Figures of all sizes over all seeds; exploitability in chips."""

    singles: list[dict[str, Any]]  # of the ladder, from one seed
    sources: tuple[str, ...]  # of the ladder
    bases: tuple[str, ...]
    seeds: dict[str, list[dict[str, Any]]]  # by base, of each seed
    why: list[dict[str, Any]]  # of each seed: change of a search -> what came of it

    def exploit(self, base: str, name: str) -> Spread:
        return Spread(tuple(each["exploitability"][name] for each in self.seeds[base]))

    def names(self, base: str) -> list[str]:
        """Strategies of a size: version 1 of the search only where it was run, too."""
        known = self.seeds[base][0]["exploitability"]
        return [name for name in (SINGLE, *rhode.BY_HAND, rhode.AUTO_BEFORE, AUTO) if name in known]

    def versions(self) -> dict[int, list[str]]:
        """Of the search: the sizes whose rows it made."""
        result: dict[int, list[str]] = {}
        for base in self.bases:
            result.setdefault(int(self.seeds[base][0]["version"]), []).append(f"{self.megabytes(base):.1f} MB")
        return result

    def infosets(self, base: str) -> int:
        return int(self.seeds[base][0]["infosets"])

    def megabytes(self, base: str) -> float:
        return float(self.seeds[base][0]["bytes"]) / 1e6

    def as_good(self, base: str) -> str:
        """The memory of the smallest single abstraction that is as little exploitable as automatic stitching is."""
        auto = self.exploit(base, AUTO).mean
        enough = [each["bytes"] for each in self.singles if each["exploitability"] <= auto]
        most = max(each["bytes"] for each in self.singles)
        return f"{min(enough) / 1e6:.1f}" if enough else f"more than {most / 1e6:.1f}"


def of_plan(plan: PaperPlan) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """(game, bases, ladder)"""
    if plan.quick:
        return rhode.SMALL_GAME, rhode.QUICK_BASES, rhode.QUICK_LADDER
    return rhode.GAME, rhode.BASES, rhode.LADDER


def runs(plan: PaperPlan) -> list[Run]:
    name, bases, ladder = of_plan(plan)
    iterations = 30 if plan.quick else rhode.ITERATIONS["base"]
    singles = [(name, source, iterations, FIRST_SEED) for source in reversed(ladder)]
    pieces = [(name, base, plan.quick, FIRST_SEED + seed) for base in reversed(bases) for seed in plan.seeds]
    losing = bases[0] if plan.quick else why.SIZE
    causes = [(name, losing, plan.quick, FIRST_SEED + seed, change) for change in why.CHANGES
              for seed in plan.seeds[: why.SEEDS]]  # fmt: skip
    return [Run(SIZES, rhode.one_size, pieces, "cores"), Run(SINGLES, rhode.single, singles, "cores"),
            Run(WHY, why.one_change, causes, "cores")]  # fmt: skip


def gather(plan: PaperPlan, answers: Answers) -> RhodeResults:
    _, bases, ladder = of_plan(plan)
    count, every = plan.starts, answers[SIZES]
    seeds = {base: every[k * count : (k + 1) * count] for k, base in enumerate(reversed(bases))}
    few, changed = min(count, why.SEEDS), answers[WHY]
    causes = [dict(zip(why.CHANGES, changed[seed::few], strict=True)) for seed in range(few)]
    return RhodeResults(answers[SINGLES], tuple(reversed(ladder)), bases, seeds, causes)


def claims(r: RhodeResults) -> Iterator[Claim]:
    for base in r.bases:
        for name in (SINGLE, *rhode.BY_HAND):
            mine, theirs = r.exploit(base, AUTO), r.exploit(base, name)
            both = list(zip(mine.values, theirs.values, strict=True))
            against = "a single abstraction" if name == SINGLE else f"parts by hand, {name}"
            text = f"{r.megabytes(base):.1f} MB: {AUTO} is less exploitable than {against}"
            claim = Claim(text, OURS, [Comparison(a, "<", b) for a, b in both])
            p = sign_test([a - b for a, b in both])
            yield replace(claim, detail=f"{mine.mean:.3f} against {theirs.mean:.3f} chips, sign test p = {p:.2g}")
    cases = []
    for searches in zip(*([each["search"] for each in r.seeds[base]] for base in r.bases), strict=True):
        first = [search["rounds"][0] for search in searches if search["rounds"]]
        cases.append(tuple(Comparison(x["achieved"], ">=", ENOUGH * x["predicted"]) for x in first))
    yield Claim(f"the first plan achieves at least {ENOUGH:.0%} of its predicted gain", OURS, cases)


def sheet(r: RhodeResults) -> Sheet:
    rows = []
    for base in r.bases:
        auto = r.exploit(base, AUTO)
        for name in r.names(base):
            theirs = r.exploit(base, name)
            p = sign_test([a - b for a, b in zip(auto.values, theirs.values, strict=True)])
            rows.append((f"{r.megabytes(base):.1f}", f"{r.infosets(base):,}", name, theirs.text(3),
                         "" if name == AUTO else f"{p:.2g}", r.as_good(base) if name == AUTO else ""))  # fmt: skip
    return Sheet(
        "Rhode Island hold'em, exploitability in chips per hand by memory",
        ("MB", "infosets", "strategy", "exploitability", "sign test", "MB of a single abstraction"), rows,
        "MB and infosets: of the largest computation. Means ± standard deviations over seeds. Last column: memory of "
        "the smallest single abstraction of the ladder that is no more exploitable than automatic stitching. "
        f"{versions_text(r)}",
    )  # fmt: skip


def versions_text(r: RhodeResults) -> str:
    rows = [f"for {', '.join(sizes)} by version {version}" for version, sizes in sorted(r.versions().items())]
    return f"Rows of automatic stitching were made {' and '.join(rows)} of the search; version 2 grows its plans."


def ladder_sheet(r: RhodeResults) -> Sheet:
    rows = [
        (source, f"{each['infosets']:,}", f"{each['bytes'] / 1e6:.1f}", f"{each['exploitability']:.3f}",
         f"{each['abstract_gap']:.2g}")
        for source, each in reversed(list(zip(r.sources, r.singles, strict=True)))
    ]  # fmt: skip
    return Sheet("Single abstractions", ("buckets", "infosets", "MB", "exploitability", "abstract NashConv"), rows,
                 "From one seed. Abstract NashConv: what is left to solve in the abstract game, in chips.")  # fmt: skip


def search_sheet(r: RhodeResults) -> Sheet:
    searches = {f"{r.megabytes(base):.1f} MB": [each["search"] for each in r.seeds[base]] for base in r.bases}
    return sheets.search_sheet("What the searches did", "memory", searches)


def losing_sheet(r: RhodeResults) -> Sheet:
    """Where a partition by hand is better, with what the search still gained when it was stopped."""
    rows = []
    for base in r.bases:
        facts, auto = [each["search"] for each in r.seeds[base]], r.exploit(base, AUTO)
        last = Spread(tuple(f["rounds"][-1]["achieved"] if f["rounds"] else 0.0 for f in facts))
        parts = Spread(tuple(float(sum(len(x["kept"]) for x in f["rounds"])) for f in facts))
        for name in rhode.BY_HAND:
            theirs = r.exploit(base, name)
            worse = sum(a >= b for a, b in zip(auto.values, theirs.values, strict=True))
            hand = Spread(tuple(float(len(each["experts"][name])) for each in r.seeds[base]))
            rows.append((f"{r.megabytes(base):.1f}", name, f"{worse} of {len(facts)}", hand.text(0), parts.text(0),
                         last.text(3)))  # fmt: skip
    return Sheet(
        "Where automatic stitching loses",
        ("MB", "against", "more exploitable", "experts by hand", "experts kept", "gain of its last round"), rows,
        "Experts kept: in all rounds of a search; its last round was the last that the plan allows. Gains in chips.",
    )  # fmt: skip


def memory_curves(r: RhodeResults) -> Curves:
    """Exploitability by memory: a line for each way to build a strategy."""
    ladder = sorted((each["bytes"] / 1e6, each["exploitability"]) for each in r.singles)
    lines = [Line("single abstraction", tuple(x for x, _ in ladder), tuple(y for _, y in ladder), (0.0,) * len(ladder),
                  True)]  # fmt: skip
    for name in (*rhode.BY_HAND, AUTO):
        spreads = [r.exploit(base, name) for base in r.bases]
        lines.append(Line(name, tuple(r.megabytes(base) for base in r.bases), tuple(s.mean for s in spreads),
                          tuple(s.sd for s in spreads)))  # fmt: skip
    return Curves("memory-rhode-island", "Rhode Island: exploitability by memory", "exploitability, chips per hand",
                  (FigurePanel("", tuple(lines)),), across="MB of the largest computation",
                  palette=(AUTO, *rhode.BY_HAND, "single abstraction"),
                  note="Dashed: single abstractions of the ladder, from one seed.")  # fmt: skip


def points(r: RhodeResults) -> FigurePoints:
    searches = [each["search"] for base in r.bases for each in r.seeds[base]]
    return sheets.gains("gains-rhode-island", "Predicted and achieved gains, Rhode Island", "chips", searches)


def page(plan: PaperPlan, r: RhodeResults, claims: Sequence[Claim]) -> Page:
    dots = [dot(name, f"{r.megabytes(base):.1f} MB", r.infosets(base), r.exploit(base, name), None, name == AUTO)
            for base in r.bases for name in r.names(base)]  # fmt: skip
    return Page(
        about="A search chooses where experts go in Rhode Island hold'em, and their buckets. It is compared with a "
        "single abstraction of the same memory, which it starts from, and with parts that were chosen by hand: each "
        "has the finest buckets that fit. Exploitability is exact, in the game with all hands, over "
        f"{plan.starts} random initialisations, as fixed in docs/plans/auto_stitching.md; seed s here is seed "
        f"{FIRST_SEED} + s there.",
        departs=DEPARTS, limits=LIMITS, notes=why_page.notes(r.why),
        sheets=(sheet(r), losing_sheet(r), *why_page.sheets_of(r.why), ladder_sheet(r), search_sheet(r)),
        pictures=(
            memory_curves(r),
            Scatter("exploitability-rhode-island", "Rhode Island: exploitability at three sizes",
                    "exploitability, chips per hand", tuple(dots), heading="", beyond="automatic stitching"),
            points(r),
        ),
        figures={
            "unit": "chips", "singles": dict(zip(r.sources, r.singles, strict=True)),
            "sizes": {base: {"infosets": r.infosets(base), "megabytes": r.megabytes(base),
                             "exploitability": {name: r.exploit(base, name).data()
                                                for name in r.names(base)},
                             "version": r.seeds[base][0]["version"], "experts": r.seeds[base][0]["experts"],
                             "searches": [each["search"] for each in r.seeds[base]]} for base in r.bases},
            "why": r.why,
        },
    )  # fmt: skip


PART = Experiment("rhode-island", "Rhode Island hold'em", PLAN, QUICK, runs, gather, claims, page, START)
