"""The full game of Toepen, 4 suits, 8 ranks, 4 cards, with betting: `kibitz bench --only toepen-full`.

[Le 2021] leaves it open. A blueprint is trained under the abstraction `outlook`, then one under each of the thesis'
abstractions and of ours, for a tenth of the iterations; they play duplicate matches, also against a rule-based player
and a uniform one. A responder trained against each gives a lower bound on its exploitability. Search and exploitation
use the blueprint. This takes a quarter of an hour, so a benchmark of everything leaves it out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kibitz.bench.paper import kept
from kibitz.bench.toepen_play import MEMORY, STEPS, THREADS, Searched, ToepenResults, TrainedBlueprint, measured
from kibitz.evaluate.match import MatchResult
from kibitz.evaluate.score import Score
from kibitz.papers.claims import OURS, RUN, Claim, Comparison
from kibitz.papers.experiment import PaperPlan, PaperReport
from kibitz.papers.runs import OnProgress
from kibitz.report.figures import Heat, Sheet
from kibitz.toepen.search import SearchGain

TITLE = "Toepen, the full game: blueprint, search and exploitation"
PLAN = PaperPlan(starts=1, iterations=1_000_000)
QUICK = PaperPlan(starts=1, iterations=20_000)


def bench_full(
    quick: bool, out: str | Path | None, markdown: str | Path | None, on_progress: OnProgress
) -> dict[str, Any]:
    """Measure, and write a page of its own; returns what the JSON file holds."""
    return kept(full_toepen(QUICK if quick else PLAN, on_progress), out, markdown)


def full_toepen(plan: PaperPlan, on_progress: OnProgress) -> PaperReport:
    began = time.perf_counter()
    r = measured(plan, on_progress)
    return PaperReport(
        name="toepen", title=TITLE,
        about="The deck has 32 cards, of which 8 are dealt: 736,281,000 deals, about 5.5e12 infosets. The blueprint "
              "has "
        f"{plan.iterations:,} iterations with the abstraction `outlook`, other strategies a tenth of that, on "
        f"{THREADS} threads, in tables "
        f"of {MEMORY / 2**30:g} GB. Matches have {r.sizes.deals:,} duplicate deals, each played twice with "
        "exchanged seats. Points are per hand; intervals are 95% confidence intervals.",
        limits="Limits",
        departs=(
            "An exact best response cannot be computed for a game of this size. The lower bounds are what a "
            "responder trained for "
            f"{r.sizes.responder:,} iterations wins in a match.",
            f"Search runs for {STEPS} iterations in matches, so that they are reproducible; the default is one second.",
        ),
        plan=plan, sheets=(blueprint_sheet(r), training_sheet(r.trained), search_sheet(r.searched)),
        claims=tuple(_claims(r)),
        pictures=(Heat("crosstable", "Toepen: points per hand of the row against the column", r.names, r.table,
                       "points"),),
        figures=_figures(r), seconds=time.perf_counter() - began, unit="run", summary=_summary(r.trained, r.searched),
    )


def points(result: MatchResult | SearchGain | Score) -> str:
    """A mean with its interval."""
    return f"{result.mean:+.3f} [{result.interval[0]:+.3f}, {result.interval[1]:+.3f}]"


def blueprint_sheet(r: ToepenResults) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in r.trained:
        met = each.against
        cells = [points(met[name]) if name in met else "" for name in ("blueprint", "rule", "uniform")]
        bound = "" if each.bound is None else points(each.bound.result)
        label = "outlook: the blueprint" if each.name == "outlook" else each.name
        rows.append((label, *cells, bound))
    rows.append(("rule of thumb", "", "", points(r.rule), points(r.rule_bound.result)))
    return Sheet(
        "Points per hand of each strategy, and lower bounds on its losses",
        ("strategy", "against the blueprint", "against the rule of thumb", "against uniform", "loses at least"), rows,
        "Mean and 95% interval over duplicate deals. Loses at least: what a trained responder wins against it.",
    )


def training_sheet(trained: list[TrainedBlueprint]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in trained:
        blueprint = each.blueprint
        _, kept, evicted, _ = (int(n) for n in blueprint.counts)
        rows.append((each.name, f"{blueprint.iteration:,}", f"{kept:,}", f"{evicted:,}", f"{blueprint.seconds:.0f}",
                     f"{each.rate / 1e6:.2f}"))  # fmt: skip
    return Sheet(
        "Training", ("abstraction", "iterations", "rows", "evicted", "seconds", "million decisions per second"), rows,
        f"On {THREADS} threads, in tables of {MEMORY // 40:,} rows.",
    )


def search_sheet(searched: Searched) -> Sheet:
    rows: list[tuple[str, ...]] = [
        ("best responses in endgames against the blueprint: exact in each endgame", f"{searched.gain.deals:,}",
         points(searched.endgames)),
        ("search, gain over its blueprint: exact in each endgame", f"{searched.gain.deals:,}", points(searched.gain)),
        ("search against its blueprint: match", f"{searched.base.deals:,}", points(searched.base)),
    ]  # fmt: skip
    rows += [(f"exploit(bound={each.bound:g}, over={each.over}) against the rule of thumb, gain over search: exact in "
              "each endgame", f"{each.deals:,}", points(each.gain)) for each in searched.leaned]  # fmt: skip
    return Sheet(
        "Search and exploitation, points per hand", ("players", "deals", "points"), rows,
        f"In the endgames reached, the blueprint has a NashConv of {searched.gain.base_nash_conv:.3f}, the "
        f"solutions {searched.gain.nash_conv:.4f}. The first row is a lower bound on the blueprint's exploitability: "
        "a player who plays like it until the "
        "endgame, and then a best response to it.",
    )


def _claims(r: ToepenResults) -> Iterator[Claim]:
    main, searched = r.trained[0], r.searched

    def wins(text: str, result: MatchResult | SearchGain | Score, relation: str = ">") -> Claim:
        error = result.interval[1] - result.mean
        return Claim(text, OURS, [Comparison(result.mean, relation, 0.0, error)], unit=RUN, detail=points(result))

    yield wins("the rule of thumb beats uniform", r.rule)
    yield wins("the blueprint beats the rule of thumb", main.against["rule"])
    yield wins("search gains over its blueprint, exactly in each endgame", searched.gain)
    yield wins("search beats its blueprint in a match", searched.base)
    for each in searched.leaned:
        yield wins(f"exploit(bound={each.bound:g}, over={each.over}) gains over search against the rule of "
                   "thumb", each.gain)
    for other in r.trained[1:]:
        result = other.against["blueprint"]
        yield wins(f"{other.name} loses to the blueprint", result, "<")


def _summary(trained: list[TrainedBlueprint], searched: Searched) -> str:
    return (
        f"The blueprint wins {points(trained[0].against['rule'])} points per hand against the rule of thumb; search "
        "wins "
        f"{points(searched.gain)} more than the blueprint does against itself."
    )


def _figures(r: ToepenResults) -> dict[str, Any]:
    searched = r.searched
    return {
        "unit": "points a hand",
        "strategies": {
            each.name: {
                "iterations": each.blueprint.iteration, "rows": each.blueprint.store.used,
                "decisions_per_second": each.rate,
                "seconds": each.blueprint.seconds, "against": {name: met.data() for name, met in each.against.items()},
                "loses_at_least": None if each.bound is None else each.bound.result.data(),
            }
            for each in r.trained
        },
        "rule": {"uniform": r.rule.data(), "loses_at_least": r.rule_bound.result.data()},
        "search": {
            "gain": {"mean": searched.gain.mean, "interval": list(searched.gain.interval), "deals": searched.gain.deals,
                     "nash_conv": searched.gain.nash_conv, "base_nash_conv": searched.gain.base_nash_conv},
            "blueprint": searched.base.data(),
        },
        "endgame_bound": {"mean": searched.endgames.mean, "interval": list(searched.endgames.interval)},
        "exploit": [
            {"over": each.over, "bound": each.bound, "gain": each.gain.mean, "interval": list(each.gain.interval),
             "weight": each.weight}
            for each in searched.leaned
        ],
    }  # fmt: skip
