"""The full game of Toepen trained and played, for `kibitz bench --only toepen-full`.

All that the benchmark asks of blueprints, agents and matches is in this file; `toepen_full.py` makes its page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kibitz.evaluate.match import MatchResult, match
from kibitz.evaluate.score import Score
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import OnProgress
from kibitz.play.agents import agent, blueprint_agent
from kibitz.play.lower_bound import LowerBound, lower_bound
from kibitz.solvers.blueprint import Blueprint
from kibitz.toepen.agents import ToepenPlayer
from kibitz.toepen.exploit import Exploit
from kibitz.toepen.gains import Leaned, endgame_bound, exploit_gains
from kibitz.toepen.search import SearchGain, ToepenSearch, search_gain
from kibitz.toepen.strength import strength_buckets

GAME = "toepen"
OTHERS = (
    "naive", "simple-history", "simple-hand", "advanced-hand", "advanced-history", "advanced-combined", "strength",
    "strength-history",
)  # fmt: skip
SHARE = 10  # a blueprint of another abstraction has a tenth of the iterations
MEMORY = 2 << 30  # bytes of a table of rows
THREADS = 2
STEPS = 64  # iterations of search for an endgame in matches: a fixed number, so that they can be repeated
# What the exploiting player may lose beyond search, in points a hand, and over what: see kibitz.toepen.exploit.
BOUNDS = (("hands", 0.1), ("range", 0.1), ("hands", 1.0), ("range", 1.0))


@dataclass(frozen=True)
class MatchSizes:
    """How much is played, for a plan."""

    deals: int  # of compiled players
    responder: int  # iterations
    endgames: int  # deals whose endgames are compared exactly
    searched: int  # deals that search plays
    learned: int  # hands that the exploiting player learns from
    exploited: int  # deals whose endgames it then plays

    @classmethod
    def of(cls, plan: PaperPlan) -> MatchSizes:
        if plan.iterations < 200_000:
            return cls(10_000, 2_000, 10, 10, 100, 3)
        return cls(100_000, 40_000, 150, 400, 2_000, 20)


@dataclass(frozen=True)
class TrainedBlueprint:
    """A blueprint, how its training went, and what it does in matches."""

    name: str
    player: ToepenPlayer
    blueprint: Blueprint
    rate: float  # decisions visited a second
    against: dict[str, MatchResult]
    bound: LowerBound | None = None


@dataclass(frozen=True)
class Searched:
    gain: SearchGain
    endgames: Score  # what best responses in endgames win from the blueprint
    base: MatchResult  # search against its blueprint
    leaned: list[Leaned]  # the exploiting player against the rule of thumb


@dataclass(frozen=True)
class ToepenResults:
    """All that was trained and played."""

    sizes: MatchSizes
    trained: list[TrainedBlueprint]  # the blueprint first
    rule: MatchResult  # the rule of thumb against uniform
    rule_bound: LowerBound
    searched: Searched
    table: list[list[float]]  # of the blueprint, the rule of thumb and uniform, each against each
    names: tuple[str, ...]


def measured(plan: PaperPlan, on_progress: OnProgress) -> ToepenResults:
    """Train, play and measure."""
    sizes = MatchSizes.of(plan)
    rule, uniform = _compiled(agent("rule", GAME)), _compiled(agent("uniform", GAME))
    on_progress("training the blueprint", 0, 1)
    main = _trained("outlook", plan.iterations, plan.seed, None)
    base = _compiled(blueprint_agent(main, main.machine, "blueprint"))
    trained = [_measured("outlook", base, main, [rule, uniform], sizes, plan)]
    for k, name in enumerate(OTHERS):
        on_progress("training under other abstractions", k, len(OTHERS))
        bucket = strength_buckets(main, seed=plan.seed) if name.startswith("strength") else None
        other = _trained(name, max(1, plan.iterations // SHARE), plan.seed, bucket)
        player = _compiled(blueprint_agent(other, other.machine, name))
        trained.append(_measured(name, player, other, [base, rule, uniform], sizes, plan))
    on_progress("the rule of thumb", 0, 1)
    against_uniform = match(GAME, rule, uniform, deals=sizes.deals, seed=plan.seed)
    rule_bound = lower_bound(rule, seconds=None, iterations=sizes.responder, deals=sizes.deals, seed=plan.seed + 1)
    searched = _searched(base, rule, sizes, plan, on_progress)
    won = [trained[0].against["rule"].mean, trained[0].against["uniform"].mean, against_uniform.mean]
    table = [[0.0, won[0], won[1]], [-won[0], 0.0, won[2]], [-won[1], -won[2], 0.0]]
    names = tuple(player.name for player in (base, rule, uniform))
    return ToepenResults(sizes, trained, against_uniform, rule_bound, searched, table, names)


def _compiled(player: Any) -> ToepenPlayer:
    assert isinstance(player, ToepenPlayer)
    return player


def _trained(name: str, iterations: int, seed: int, bucket: Any) -> Blueprint:
    blueprint = Blueprint.empty(GAME, name, MEMORY, seed, arrays=None if bucket is None else {"bucket": bucket})
    blueprint.train(iterations=min(200, iterations))  # compiles
    blueprint.seconds = 0.0
    blueprint.train(iterations=iterations, threads=THREADS)
    return blueprint


def _measured(
    name: str, player: ToepenPlayer, blueprint: Blueprint, others: list[ToepenPlayer], sizes: MatchSizes,
    plan: PaperPlan,
) -> TrainedBlueprint:  # fmt: skip
    against = {other.name: match(GAME, player, other, deals=sizes.deals, seed=plan.seed) for other in others}
    bound = lower_bound(player, seconds=None, iterations=sizes.responder, deals=sizes.deals, seed=plan.seed + 1)
    rate = int(blueprint.counts[0]) / max(blueprint.seconds, 1e-9)
    return TrainedBlueprint(name, player, blueprint, rate, against, bound)


def _searched(
    base: ToepenPlayer, rule: ToepenPlayer, sizes: MatchSizes, plan: PaperPlan, on_progress: OnProgress
) -> Searched:
    def search() -> ToepenSearch:
        return ToepenSearch(base, iterations=STEPS, threads=THREADS, name="search")

    what = "search, endgame by endgame"
    on_progress(what, 0, sizes.endgames)
    gained = search_gain(search(), sizes.endgames, plan.seed, lambda done, _: on_progress(what, done, sizes.endgames))
    what = "best responses in endgames"
    bound = endgame_bound(base, sizes.endgames, plan.seed, THREADS,
                          lambda done: on_progress(what, done, sizes.endgames))  # fmt: skip
    what = "search against the blueprint"
    against_base = match(GAME, search(), base, deals=sizes.searched, seed=plan.seed,
                         on_progress=lambda tally: on_progress(what, tally.deals, sizes.searched))  # fmt: skip
    learner, what = Exploit(base, iterations=STEPS, threads=THREADS), "exploiting the rule of thumb"
    on_progress(what, 0, sizes.exploited)
    leaned = exploit_gains(learner, rule, BOUNDS, sizes.learned, sizes.exploited, plan.seed,
                           lambda done: on_progress(what, done, sizes.exploited))  # fmt: skip
    return Searched(gained, bound, against_base, leaned)
