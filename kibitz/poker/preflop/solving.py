"""solve_preflop: from a question to its solution, over all cards or by sampling."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.loop import interruptible
from kibitz.core.resources import cores
from kibitz.poker.preflop.exact import ClassGame, ExactPreflop, run, whole_deck
from kibitz.poker.preflop.nodes import FirstNodes, nodes_of, reaches
from kibitz.poker.preflop.question import CHIPS, Preflop
from kibitz.poker.preflop.solution import PreflopSolution, Trust

Floats = NDArray[np.float64]
UNTIL = 0.0002  # big blinds
SECONDS, DEALS = 60.0, 200_000
RESPONSE = 0.25  # of the seconds of training, for a responder
BLOCKS = 1024  # deals of gains at least
MOST_HURRY = 2.0  # seconds of a responder at least; all that it has after Ctrl-C
DEALS_OF_RESPONSE = 50_000
WALKS = 20_000  # iterations of a responder where training is bounded by iterations


@dataclass(frozen=True)
class PreflopProgress:
    """Where a run stands."""

    phase: str  # "training", "measuring", "responding"
    iterations: int
    exploitability: float | None  # big blinds, where all cards are counted
    share: float | None = None  # done of the phase


def solve_preflop(
    question: Preflop, *, until: float | None = None, iterations: int | None = None, seconds: float | None = None,
    deals: int = DEALS, seeds: Sequence[int] = (0, 1), threads: int | None = None, device: str = "cpu",
    on_progress: Callable[[PreflopProgress], bool | None] | None = None,
) -> PreflopSolution:  # fmt: skip
    """Solve a question about play before the flop.

    Two players without betting after the flop: all cards are counted, until the mean of both players' gains is at most
    `until` big blinds (0.0002 by default), or another limit is reached. Everything else is trained by sampling.

    seconds     of training: one minute by default; shared by the runs
    iterations  of each run of training
    seeds       of random numbers, one or two: each is a run of training. The first is the answer; the second tells how
                much chance is in it
    deals       on which the answer is measured, afterwards
    Ctrl-C ends a phase, and so does on_progress if it returns True; what there is is then measured and returned.
    """
    say = on_progress or (lambda now: None)
    if question.is_exact:
        if question.deck != (13, 4):
            raise SolverError("a smaller deck has no table of equities: solve_classes takes one")
        return solve_classes(question, whole_deck(), until, iterations, seconds, say)
    if until is not None:
        raise SolverError("until is for two players without betting after the flop: give seconds or iterations, as "
                          "the distance from equilibrium is not known while the game is sampled")  # fmt: skip
    if not 1 <= len(seeds) <= 2:
        raise SolverError(f"give one seed or two, not {len(seeds)}")
    if deals < 1:
        raise SolverError(f"deals should be 1 or more, not {deals}")
    work = _Work(threads or cores(), device, min(deals, DEALS_OF_RESPONSE), say)
    return _sampled(question, iterations, seconds, deals, seeds, work)


def solve_classes(
    question: Preflop, game: ClassGame, until: float | None = None, iterations: int | None = None,
    seconds: float | None = None, on_progress: Callable[[PreflopProgress], bool | None] = lambda now: None,
) -> PreflopSolution:  # fmt: skip
    """Two players without betting after the flop, by the chances of classes of hands against each other."""
    if until is None and iterations is None and seconds is None:
        until = UNTIL
    if until is not None and not (math.isfinite(until) and until > 0):
        raise SolverError(f"until is a number of big blinds above 0, such as 0.001, not {until:g}")
    if iterations is not None and iterations < 1:
        raise SolverError(f"iterations should be 1 or more, not {iterations}")
    nodes, began = nodes_of(question), time.perf_counter()
    engine = ExactPreflop(nodes, game)
    with interruptible() as stopped:

        def look(done: int, gain: float) -> bool:
            return bool(on_progress(PreflopProgress("solving", done, gain / CHIPS))) or stopped.is_set()

        measure = run(engine, None if until is None else until * CHIPS, iterations, seconds, look)
    won = [each / CHIPS for each in measure.actions]
    return PreflopSolution(
        question, nodes, engine.strategy(), won, [np.zeros_like(each) for each in won], measure.met,
        measure.reach, measure.values / CHIPS, np.zeros(2), measure.gains / CHIPS, None, engine.iterations,
        time.perf_counter() - began,
    )  # fmt: skip


@dataclass(frozen=True)
class _Work:
    threads: int
    device: str
    deals: int  # that a responder plays
    say: Callable[[PreflopProgress], bool | None]


def _sampled(
    question: Preflop, iterations: int | None, seconds: float | None, deals: int, seeds: Sequence[int], work: _Work
) -> PreflopSolution:
    from kibitz.poker.preflop.measuring import measured, sampled_gains
    from kibitz.poker.preflop.sampled import PreflopDeals, TrainingLimits, machine_for, size_of, strategy_of, train

    if seconds is None and iterations is None:
        seconds = SECONDS
    size_of(question)
    nodes, began = nodes_of(question), time.perf_counter()
    machine = machine_for(question)
    trained = []
    with interruptible() as stopped:
        for number, seed in enumerate(seeds):

            def on_block(done: int, number: int = number) -> bool:
                phase = f"training, run {number + 1} of {len(seeds)}" if len(seeds) > 1 else "training"
                if work.say(PreflopProgress(phase, done, None)) and done:
                    stopped.set()
                return stopped.is_set() and (done > 0 or number > 0)

            share = None if seconds is None else seconds / len(seeds)
            effort = TrainingLimits(iterations, share, seed, work.threads, work.device, on_block)
            if (each := train(question, machine, effort)) is not None:
                trained.append(each)
        if not trained:
            raise SolverError("the training was stopped before its first iteration")
        answer = trained[0]

        def on_deals(done: int) -> bool:
            work.say(PreflopProgress("measuring", answer.iterations, None, min(1.0, done / deals)))
            return False

        strategies = [strategy_of(each.agent, nodes) for each in trained]
        fresh = [PreflopDeals(each.agent, nodes, seeds[0] + 1_000_003) for each in trained]
        measure = measured(fresh[0], strategies[0], deals, on_deals)
        again = [measured(fresh[1], strategies[1], max(BLOCKS, deals // 4), on_deals) for _ in trained[1:]]
        gains = sampled_gains(fresh[0], strategies[0], max(BLOCKS, deals // 2), on_deals)
        bound = _bound(answer.agent, question, seconds, iterations, seeds[0], work, stopped.is_set())
    trust = Trust(
        measure.deals, answer.rows, len(trained),
        difference(nodes, strategies[0], strategies[1], measure.reach) if again else None,
        float(abs(again[0].values[0] - measure.values[0]) / CHIPS) if again else None,
        bound.result.mean / CHIPS, (bound.result.interval[0] / CHIPS, bound.result.interval[1] / CHIPS),
        tuple(each.error / CHIPS for each in gains),
    )  # fmt: skip
    return PreflopSolution(
        question, nodes, strategies[0], [each / CHIPS for each in measure.actions],
        [each / CHIPS for each in measure.errors], measure.met, measure.reach, measure.values / CHIPS,
        measure.value_errors / CHIPS,
        np.array([each.gain for each in gains]) / CHIPS, trust, answer.iterations, time.perf_counter() - began,
    )  # fmt: skip


def _bound(
    target: Any, question: Preflop, seconds: float | None, iterations: int | None, seed: int, work: _Work, hurry: bool
) -> Any:
    """What a trained responder wins in the abstract game."""
    from kibitz.play.lower_bound import lower_bound
    from kibitz.poker.preflop.sampled import view_of

    work.say(PreflopProgress("responding", 0, None))
    limits: dict[str, Any] = {"seconds": None if seconds is None else max(MOST_HURRY, RESPONSE * seconds),
                              "iterations": None if iterations is None else max(1, min(WALKS, iterations))}  # fmt: skip
    if hurry:
        limits = {"seconds": MOST_HURRY, "iterations": None}
    return lower_bound(target, view_of(question), **limits, deals=work.deals, seed=seed + 7)


def difference(nodes: FirstNodes, one: list[Floats], other: list[Floats], reach: Floats) -> float:
    """How much two strategies differ before the flop, 0 to 1: half of the sum over actions, as a mean over decisions
    and hands by how often the first comes there."""
    from kibitz.cards.holdem import class_sizes

    ours = reaches(nodes, one)
    total = weight = 0.0
    for node in nodes.decisions:
        hands = class_sizes() * ours[node, nodes.turn[node]]
        if hands.sum() > 0:
            total += reach[node] * float(np.abs(one[node] - other[node]).sum(axis=0) @ hands / hands.sum()) / 2
            weight += reach[node]
    return total / weight if weight > 0 else 0.0
