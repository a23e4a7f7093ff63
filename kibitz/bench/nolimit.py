"""No-limit hold'em with 200 big blinds, trained, matched and measured: `kibitz bench --only nolimit`.

Blueprints of two action abstractions are trained by MCCFR, as Tartanian's were computed for a short list of bets. They
meet in compiled matches at the table with all bets, where each reads the other's bets by the randomised
pseudo-harmonic mapping [Ganzfried & Sandholm 2013]. A local best response gives a lower bound on what each loses
[Lisy & Bowling 2017], and says which size the first one lacks most.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kibitz.bench.paper import kept
from kibitz.evaluate.match import MatchResult, match
from kibitz.evaluate.score import Score
from kibitz.papers.claims import OURS, RUN, Claim, Comparison
from kibitz.papers.experiment import PaperPlan, PaperReport
from kibitz.papers.runs import OnProgress
from kibitz.poker.nolimit.response import Responded, local_response
from kibitz.poker.nolimit.sizes import NextSize, next_size
from kibitz.poker.rules.acpc import size_text
from kibitz.report.figures import Sheet

TITLE = "No-limit hold'em: two action abstractions at one table"
GAME, HANDS = "holdem.nolimit.2p", "percentile(8)"
SETS = {"near": "[0.5, 1, allin]", "wide": "[0.75, 2, allin]"}  # the action abstractions
RAISES, MEMORY = 3, "500MB"
GOAL, WALL_GOAL = 100_000.0, 200_000.0  # deals of a match in a second of one core; in a second, on all cores
PLAN = PaperPlan(starts=1, iterations=60_000)
QUICK = PaperPlan(starts=1, iterations=500, quick=True)


@dataclass(frozen=True)
class NoLimitFigures:
    """What was measured."""

    trained: dict[str, Any]  # blueprints by name
    met: MatchResult  # near against wide
    cpu: float  # seconds of processor time of that match
    uniform: dict[str, MatchResult]
    responses: dict[str, Responded]
    sizes: NextSize
    slow: float  # deals a second of the readable agents


def bench_nolimit(
    quick: bool, out: str | Path | None, markdown: str | Path | None, on_progress: OnProgress
) -> dict[str, Any]:
    """Measure, and write a page of its own; returns what the JSON file holds."""
    return kept(report(QUICK if quick else PLAN, on_progress), out, markdown)


def measured(plan: PaperPlan, on_progress: OnProgress) -> NoLimitFigures:
    from kibitz.play.agents import agent
    from kibitz.solvers.machines import playable
    from kibitz.solvers.new_blueprints import BlueprintOptions
    from kibitz.solvers.training import train

    deals, looked, tried = (2_000, 10, 10) if plan.quick else (400_000, 1_000, 400)
    steps, done = len(SETS) + 4, 0

    def step(what: str) -> None:
        nonlocal done
        done += 1
        on_progress(what, done, steps)

    table = playable(GAME)
    trained = {}
    for name, bets in SETS.items():
        step(f"training {name}")
        spec = f"poker(file={GAME}, bets={bets}, raises={RAISES})"
        trained[name] = train(spec, iterations=plan.iterations, abstraction=HANDS, seed=plan.seeds[0], threads=1,
                              options=BlueprintOptions(memory=MEMORY))  # fmt: skip
    agents = {name: agent(blueprint, table) for name, blueprint in trained.items()}
    step("matches")
    match(table, agents["near"], agents["wide"], deals=2)  # compiled off the clock
    began = time.process_time()
    met = match(table, agents["near"], agents["wide"], deals=deals)
    cpu = time.process_time() - began
    uniform = {name: match(table, each, agent("uniform", table), deals=deals) for name, each in agents.items()}
    step("the readable agents")
    slow = _slow_rate(table, list(agents.values()), 2 if plan.quick else 20)
    step("local best responses")
    responses = {name: local_response(each, table, deals=looked) for name, each in agents.items()}
    step("sizes")
    sizes = next_size(agents["near"], table, candidates=(0.25, 0.75, 1.5, 3), deals=tried)
    return NoLimitFigures(trained, met, cpu, uniform, responses, sizes, slow)


def _slow_rate(table: Any, agents: list[Any], deals: int) -> float:
    """Deals a second of processor time in Python, which keeps all readings with their probabilities."""
    from kibitz.evaluate.match import play

    began = time.process_time()
    for number in range(deals):
        for seating in (agents, agents[::-1]):
            play(table.rules, seating, table.hand(1, number))
    return deals / (time.process_time() - began)


def report(plan: PaperPlan, on_progress: OnProgress) -> PaperReport:
    began = time.perf_counter()
    r = measured(plan, on_progress)
    listed = "; ".join(f"{name}: {bets}" for name, bets in SETS.items())
    return PaperReport(
        name="nolimit", title=TITLE,
        about=f"{GAME}: 200 big blinds of 100 chips, every chip amount may be bet. Bets of the strategies' own games, "
        f"in pots: {listed}; at most {RAISES} bets and raises a round, hands in {HANDS}. Each blueprint has "
        f"{plan.iterations:,} iterations on one thread. Matches are duplicate, and chips are per hand; intervals are "
        "95% confidence intervals, those of sizes all together.",
        limits="Limits",
        departs=(
            "Tartanian's strategies were computed by other algorithms, for far longer. Training here takes minutes, so "
            "losses are large.",
            "A local best response is a lower bound: a best response at this table cannot be computed.",
        ),
        plan=plan, sheets=(_match_sheet(r), _response_sheet(r), _sizes_sheet(r)), claims=tuple(_claims(r)), pictures=(),
        figures=_figures(r), seconds=time.perf_counter() - began, unit="run",
        summary=f"Compiled matches play {r.met.deals / r.cpu:,.0f} deals in a second of one core, the readable agents "
        f"{r.slow:,.1f}.",
    )  # fmt: skip


def _chips(score: Score) -> str:
    return f"{score.mean:+.0f} [{score.interval[0]:+.0f}, {score.interval[1]:+.0f}]"


def _match_sheet(r: NoLimitFigures) -> Sheet:
    rows = [("near against wide", f"{r.met.deals:,}", _chips(r.met.scores[0]))]
    rows += [(f"{name} against uniform", f"{each.deals:,}", _chips(each.scores[0])) for name, each in r.uniform.items()]
    return Sheet("Matches, chips per hand of the first player", ("players", "deals", "chips"), rows)


def _response_sheet(r: NoLimitFigures) -> Sheet:
    rows = [
        (name, f"{each.deals:,}", _chips(each.score), _chips(each.milli_blinds),
         f"{each.deals / max(each.seconds, 1e-9):.0f}")
        for name, each in r.responses.items()
    ]  # fmt: skip
    sizes = ", ".join(map(size_text, next(iter(r.responses.values())).sizes))
    return Sheet(
        "What a local best response wins: each strategy loses at least so much",
        ("strategy", "deals", "chips per hand", "thousandths of a big blind", "deals a second"), rows,
        f"The response weighs fold, call and raises of {sizes} pots.",
    )


def _sizes_sheet(r: NoLimitFigures) -> Sheet:
    rows = [(size_text(each.size), _chips(each.loss)) for each in r.sizes.candidates]
    best = "no size" if r.sizes.best is None else size_text(r.sizes.best)
    return Sheet(
        "What near loses more if the response may bet another size", ("size in pots", "chips per hand"), rows,
        f"{r.sizes.deals:,} deals with each size and without. Beyond doubt, the one to add next is: {best}.",
    )


def _claims(r: NoLimitFigures) -> Iterator[Claim]:
    def wins(text: str, score: Score) -> Claim:
        error = score.interval[1] - score.mean
        return Claim(text, OURS, [Comparison(score.mean, ">", 0.0, error)], unit=RUN, detail=_chips(score))

    rate = r.met.deals / r.cpu
    yield Claim(f"a compiled match between action abstractions plays {GOAL:,.0f} deals in a second of one core", OURS,
                [Comparison(rate, ">=", GOAL)], unit=RUN, detail=f"{rate:,.0f}")  # fmt: skip
    wall = r.met.deals / r.met.seconds
    yield Claim(f"matches between action abstractions play {WALL_GOAL:,.0f} deals in a second on all cores", OURS,
                [Comparison(wall, ">=", WALL_GOAL)], unit=RUN, detail=f"{wall:,.0f}")  # fmt: skip
    yield Claim("it is a thousand times as fast as the readable agents", OURS, [Comparison(rate, ">=", 1000 * r.slow)],
                unit=RUN, detail=f"{rate / r.slow:,.0f} times")  # fmt: skip
    for name, each in r.uniform.items():
        yield wins(f"{name} beats a player of random bets", each.scores[0])
    for name, response in r.responses.items():
        yield wins(f"a local best response beats {name}", response.score)


def _figures(r: NoLimitFigures) -> dict[str, Any]:
    return {
        "unit": "chips a hand",
        "trained": {
            name: {"iterations": each.iteration, "rows": each.store.used, "seconds": each.seconds}
            for name, each in r.trained.items()
        },
        "match": r.met.data(), "match_cpu_seconds": r.cpu, "deals_per_cpu_second": r.met.deals / r.cpu,
        "deals_per_second": r.met.deals / r.met.seconds, "readable_deals_per_cpu_second": r.slow,
        "uniform": {name: each.data() for name, each in r.uniform.items()},
        "responses": {name: each.data() for name, each in r.responses.items()}, "sizes": r.sizes.data(),
    }  # fmt: skip
