"""The full game of Toepen, 4 suits, 8 ranks, 4 cards, with betting: what [Le 2021] leaves open, trained and measured.

A blueprint is trained under the abstraction `outlook`, then one under each of the thesis' abstractions and of ours, for
a tenth of the iterations; they meet in duplicate matches, with a player by rule of thumb and one who plays anything. A
responder trained against each shows how much it can lose at least. Search and exploitation stand on the blueprint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.evaluate.match import Result, Score, match
from kibitz.papers.common import OURS, Claim, Heat, OnStart, Outcome, Plan, Sheet
from kibitz.play.agents import Compiled, agent
from kibitz.play.exploit import Exploit
from kibitz.play.gains import Leaned, exploit_gains
from kibitz.play.lower_bound import LowerBound, endgame_bound, lower_bound
from kibitz.play.search import Gain, Search, gain
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.strength import strength_buckets

GAME = "toepen"
TITLE = "Toepen, the full game: blueprint, search and exploitation, measured"
PLAN = Plan(starts=1, iterations=1_000_000)
QUICK = Plan(starts=1, iterations=20_000)
OTHERS = (
    "naive", "simple-history", "simple-hand", "advanced-hand", "advanced-history", "advanced-combined", "strength",
    "strength-history",
)  # fmt: skip
SHARE = 10  # a blueprint of another abstraction has a tenth of the iterations
MEMORY = 2 << 30  # bytes of a table of rows
THREADS = 2
STEPS = 64  # iterations of search for an endgame in matches: a fixed number, so that they can be repeated
# What the exploiting player may lose beyond search, in points a hand, and over what: see kibitz.play.exploit.
BOUNDS = (("hands", 0.1), ("range", 0.1), ("hands", 1.0), ("range", 1.0))


@dataclass(frozen=True)
class Sizes:
    """How much is played, for a plan."""

    deals: int  # of compiled players
    responder: int  # iterations
    endgames: int  # deals whose endgames are compared exactly
    searched: int  # deals that search plays
    learned: int  # hands that the exploiting player learns from
    exploited: int  # deals whose endgames it then plays

    @classmethod
    def of(cls, plan: Plan) -> Sizes:
        if plan.iterations < 200_000:
            return cls(10_000, 2_000, 10, 10, 100, 3)
        return cls(100_000, 40_000, 150, 400, 2_000, 20)


@dataclass(frozen=True)
class Trained:
    """A blueprint, how its training went, and what it does in matches."""

    name: str
    player: Compiled
    blueprint: Blueprint
    rate: float  # decisions visited a second
    against: dict[str, Result]
    bound: LowerBound | None = None


def recompute(plan: Plan, on_start: OnStart | None = None) -> Outcome:
    """Train, play and measure."""
    began = time.perf_counter()
    told = on_start or (lambda what, done, of: None)
    sizes = Sizes.of(plan)
    rule, uniform = _compiled("rule"), _compiled("uniform")
    told("training the blueprint", 0, 1)
    main = _trained("outlook", plan.iterations, plan.seed, None)
    base = Compiled(main.game, main.player(), "blueprint")
    trained = [_measured("outlook", base, main, [rule, uniform], sizes, plan)]
    for k, name in enumerate(OTHERS):
        told("training under other abstractions", k, len(OTHERS))
        bucket = strength_buckets(main, seed=plan.seed) if name.startswith("strength") else None
        made = _trained(name, max(1, plan.iterations // SHARE), plan.seed, bucket)
        player = Compiled(made.game, made.player(), name)
        trained.append(_measured(name, player, made, [base, rule, uniform], sizes, plan))
    told("the rule of thumb", 0, 1)
    rules = {"uniform": match(GAME, rule, uniform, sizes.deals, plan.seed)}
    rule_bound = lower_bound(rule, seconds=None, iterations=sizes.responder, deals=sizes.deals, seed=plan.seed + 1)
    found = _searched(base, rule, sizes, plan, told)
    sheets = (
        blueprint_sheet(trained, rules, rule_bound),
        training_sheet(trained),
        search_sheet(found),
    )
    return Outcome(
        name="toepen",
        title=TITLE,
        about=(
            f"The deck has 32 cards, a deal 8 of them: 736,281,000 deals, about 5.5e12 infosets. A blueprint of "
            f"{plan.iterations:,} iterations under `outlook`, others of a tenth of that, on {THREADS} threads, in "
            f"tables of {MEMORY / 2**30:g} GB. Matches are of {sizes.deals:,} deals, each played twice with seats "
            "changed; points are per hand, intervals hold the truth with probability 95%."
        ),
        departs=(
            "No exact best response exists for a game of this size: the lower bounds are what a responder trained for "
            f"{sizes.responder:,} iterations wins in a match. They show what a strategy loses at least.",
            f"Search thinks for {STEPS} iterations in matches, so that they can be repeated; the default is a second.",
        ),
        plan=plan,
        sheets=sheets,
        claims=tuple(_claims(trained, rules, found)),
        pictures=(_heat([base, rule, uniform], sizes, plan),),
        figures=_figures(trained, rules, rule_bound, found),
        seconds=time.perf_counter() - began,
        unit="run",
        summary=_summary(trained, found),
    )


def _compiled(name: str) -> Compiled:
    found = agent(name, GAME)
    assert isinstance(found, Compiled)
    return found


def _trained(name: str, iterations: int, seed: int, bucket: Any) -> Blueprint:
    made = Blueprint.empty(GAME, name, MEMORY, seed, bucket=bucket)
    made.train(iterations=min(200, iterations))  # compiles
    made.seconds = 0.0
    made.train(iterations=iterations, threads=THREADS)
    return made


def _measured(
    name: str, player: Compiled, made: Blueprint, others: list[Compiled], sizes: Sizes, plan: Plan
) -> Trained:
    against = {other.name: match(GAME, player, other, sizes.deals, plan.seed) for other in others}
    bound = lower_bound(player, seconds=None, iterations=sizes.responder, deals=sizes.deals, seed=plan.seed + 1)
    return Trained(name, player, made, int(made.counts[0]) / max(made.seconds, 1e-9), against, bound)


@dataclass(frozen=True)
class Searched:
    gain: Gain
    endgames: Score  # what best responses in endgames win from the blueprint
    base: Result  # search against its blueprint
    leaned: list[Leaned]  # the exploiting player against the rule of thumb


def _searched(base: Compiled, rule: Compiled, sizes: Sizes, plan: Plan, told: Any) -> Searched:
    def search() -> Search:
        return Search(base, iterations=STEPS, threads=THREADS, name="search")

    what = "search, endgame by endgame"
    told(what, 0, sizes.endgames)
    found = gain(search(), sizes.endgames, plan.seed, lambda done, _: told(what, done, sizes.endgames))

    def play(one: Any, two: Any, deals: int, what: str) -> Result:
        return match(GAME, one, two, deals, plan.seed, on_progress=lambda tally: told(what, tally.deals, deals))

    what = "best responses in endgames"
    bound = endgame_bound(base, sizes.endgames, plan.seed, THREADS, lambda done: told(what, done, sizes.endgames))
    against_base = play(search(), base, sizes.searched, "search against the blueprint")
    learner, what = Exploit(base, iterations=STEPS, threads=THREADS), "exploiting the rule of thumb"
    told(what, 0, sizes.exploited)
    leaned = exploit_gains(learner, rule, BOUNDS, sizes.learned, sizes.exploited, plan.seed,
                           lambda done: told(what, done, sizes.exploited))  # fmt: skip
    return Searched(found, bound, against_base, leaned)


def points(result: Result | Gain | Score) -> str:
    """A mean with its interval."""
    return f"{result.mean:+.3f} [{result.interval[0]:+.3f}, {result.interval[1]:+.3f}]"


def blueprint_sheet(trained: list[Trained], rules: dict[str, Result], rule_bound: LowerBound) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in trained:
        met = each.against
        cells = [points(met[name]) if name in met else "" for name in ("blueprint", "rule", "uniform")]
        bound = "" if each.bound is None else points(each.bound.result)
        label = "outlook: the blueprint" if each.name == "outlook" else each.name
        rows.append((label, *cells, bound))
    rows.append(("rule of thumb", "", "", points(rules["uniform"]), points(rule_bound.result)))
    return Sheet(
        "Points a hand of each strategy, and what it loses at least",
        ("strategy", "against the blueprint", "against the rule of thumb", "against uniform", "loses at least"),
        rows,
        "Mean and 95% interval over duplicate deals. Loses at least: what a trained responder wins from it.",
    )


def training_sheet(trained: list[Trained]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for each in trained:
        made = each.blueprint
        _, kept, evicted, _ = (int(n) for n in made.counts)
        rows.append((each.name, f"{made.iteration:,}", f"{kept:,}", f"{evicted:,}", f"{made.seconds:.0f}",
                     f"{each.rate / 1e6:.2f}"))  # fmt: skip
    return Sheet(
        "Training",
        ("abstraction", "iterations", "rows", "evicted", "seconds", "million decisions a second"),
        rows,
        f"On {THREADS} threads, in tables of {MEMORY // 40:,} rows.",
    )


def search_sheet(found: Searched) -> Sheet:
    rows: list[tuple[str, ...]] = [
        ("best responses in endgames against the blueprint: exact in each endgame", f"{found.gain.deals:,}",
         points(found.endgames)),
        ("search, gain over its blueprint: exact in each endgame", f"{found.gain.deals:,}", points(found.gain)),
        ("search against its blueprint: match", f"{found.base.deals:,}", points(found.base)),
    ]  # fmt: skip
    rows += [
        (f"exploit(bound={each.bound:g}, over={each.over}) against the rule of thumb, gain over search: exact in each "
         "endgame", f"{each.deals:,}", points(each.gain))
        for each in found.leaned
    ]  # fmt: skip
    return Sheet(
        "Search and exploitation, points a hand",
        ("players", "deals", "points"),
        rows,
        f"In the endgames met the blueprint is {found.gain.base_nash_conv:.3f} from an equilibrium (nash_conv), the "
        f"solutions {found.gain.nash_conv:.4f}. The first row is a lower bound on the blueprint's exploitability: a "
        "player like it until the endgame, who then plays a best response to it.",
    )


def _claims(trained: list[Trained], rules: dict[str, Result], found: Searched) -> Iterator[Claim]:
    main = trained[0]

    def wins(text: str, result: Result | Gain | Score) -> Claim:
        return Claim(f"{text}: {points(result)}", OURS, (result.interval[0] > 0,))

    yield wins("the rule of thumb beats uniform", rules["uniform"])
    yield wins("the blueprint beats the rule of thumb", main.against["rule"])
    yield wins("search gains over its blueprint, exactly in each endgame", found.gain)
    yield wins("search beats its blueprint in a match", found.base)
    for each in found.leaned:
        yield wins(f"exploit(bound={each.bound:g}, over={each.over}) gains over search from the rule", each.gain)
    for other in trained[1:]:
        result = other.against["blueprint"]
        text = f"the blueprint beats {other.name}: {points(result)} for {other.name}"
        yield Claim(text, OURS, (result.interval[1] < 0,))


def _summary(trained: list[Trained], found: Searched) -> str:
    return (
        f"The blueprint wins {points(trained[0].against['rule'])} points a hand from the rule of thumb; search wins "
        f"{points(found.gain)} more than the blueprint against it."
    )


def _heat(players: list[Compiled], sizes: Sizes, plan: Plan) -> Heat:
    names = tuple(player.name for player in players)
    matrix = np.zeros((len(players), len(players)))
    for i, one in enumerate(players):
        for j, two in enumerate(players):
            if i < j:
                matrix[i, j] = match(GAME, one, two, sizes.deals, plan.seed).mean
                matrix[j, i] = -matrix[i, j]
    return Heat("crosstable", "Points a hand of the row against the column", names, matrix.tolist(), "points")


def _figures(
    trained: list[Trained], rules: dict[str, Result], rule_bound: LowerBound, found: Searched
) -> dict[str, Any]:
    return {
        "unit": "points a hand",
        "strategies": {
            each.name: {
                "iterations": each.blueprint.iteration, "rows": each.blueprint.rows, "decisions_per_second": each.rate,
                "seconds": each.blueprint.seconds, "against": {name: r.data() for name, r in each.against.items()},
                "loses_at_least": None if each.bound is None else each.bound.result.data(),
            }
            for each in trained
        },
        "rule": {"uniform": rules["uniform"].data(), "loses_at_least": rule_bound.result.data()},
        "search": {
            "gain": {"mean": found.gain.mean, "interval": list(found.gain.interval), "deals": found.gain.deals,
                     "nash_conv": found.gain.nash_conv, "base_nash_conv": found.gain.base_nash_conv},
            "blueprint": found.base.data(),
        },
        "endgame_bound": {"mean": found.endgames.mean, "interval": list(found.endgames.interval)},
        "exploit": [
            {"over": each.over, "bound": each.bound, "gain": each.gain.mean, "interval": list(each.gain.interval),
             "weight": each.weight}
            for each in found.leaned
        ],
    }  # fmt: skip
