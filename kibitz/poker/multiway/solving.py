"""solve_multiway: from a spot with several players to strategies, and what is known about them.

External sampling [Lanctot et al. 2009] on exact hands. With three players CFR has no guarantee: what its average
strategies come to need not be near an equilibrium. So it is measured: what each player could gain against the averages
of the others. On a river with ranges that are not too large all hands are counted; elsewhere a responder is trained
against the averages, and plays fresh deals. What it gains is a lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.loop import interruptible
from kibitz.core.resources import cores
from kibitz.play.lower_bound import respond
from kibitz.poker.multiway.locks import Locks, with_locked
from kibitz.poker.multiway.machine import RangedMachine, packed_agent, packed_blueprint, packed_rows, size_of
from kibitz.poker.multiway.question import Multiway
from kibitz.poker.multiway.solution import MultiwaySolution
from kibitz.poker.multiway.streets import first_street
from kibitz.poker.preflop.measuring import CONFIDENCE
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.tables import contents

Floats = NDArray[np.float64]
SECONDS, DEALS = 30.0, 100_000
RESPONSE = 0.5  # of the seconds of training, for a responder
LEAST_RESPONSE = 2.0  # seconds; all that it has after Ctrl-C
BLOCK = 4096  # deals that a responder plays at a time
MEASURED = 1_000_003  # added to the seed of fresh deals


@dataclass(frozen=True)
class MultiwayProgress:
    """Where a run stands."""

    phase: str
    iterations: int


def solve_multiway(
    question: Multiway, *, iterations: int | None = None, seconds: float | None = None, deals: int = DEALS,
    seed: int = 0, threads: int | None = None, locks: Sequence[str] = (),
    on_progress: Callable[[MultiwayProgress], bool | None] | None = None,
) -> MultiwaySolution:  # fmt: skip
    """Train strategies for `seconds` (30 by default) or `iterations`, then measure them.

    deals   fresh ones on which values and responders are measured, where hands are not counted
    locks   decisions that are fixed: "check: bet 45 = AA". What a player could gain counts other play there too
    Ctrl-C ends the training, and so does on_progress if it returns True; what there is is then measured and returned.
    """
    say = on_progress or (lambda now: None)
    if deals < 1:
        raise SolverError(f"deals should be 1 or more, not {deals}")
    if iterations is None and seconds is None:
        seconds = SECONDS
    size, began = size_of(question), time.perf_counter()
    machine = RangedMachine(question)
    fixed = Locks(question, locks)
    blueprint = Blueprint.empty(machine, "null", max(1 << 22, size.bytes), seed)
    locked = fixed.rows(machine)
    if locks:
        machine.game = machine.game._replace(part=fixed.parts)
        blueprint.base, blueprint.part = packed_blueprint(machine, *locked), 0
    with interruptible() as stopped:
        say(MultiwayProgress("compiling", 0))
        blueprint.warm_up()

        def on_block(now: Any) -> bool:
            if say(MultiwayProgress("training", now.iteration)):
                stopped.set()
            return stopped.is_set()

        blueprint.train(iterations, seconds, threads or cores(), on_block)
        if not blueprint.iteration:
            raise SolverError("the training was stopped before its first iteration")
        key, share = with_locked(*packed_rows(*contents(blueprint.table)), locked)
        rows, done = blueprint.store.used, blueprint.iteration
        del blueprint  # what is measured is what is kept
        agent = packed_agent(machine, key, share)
        say(MultiwayProgress("measuring", done))
        street = first_street(question, agent, deals, seed + MEASURED)
        measure, players, exact = street.measure, question.players, street.measure.gains is not None
        gains, gain_errors = measure.gains, np.zeros(players)
        if gains is None:
            say(MultiwayProgress("responding", done))
            hurry = {"seconds": LEAST_RESPONSE} if stopped.is_set() else _response_limits(seconds, iterations)
            answer = respond(agent, "null", **hurry, seed=seed + 7, memory=max(1 << 24, size.bytes))
            gains, gain_errors = played_gains(machine, agent, answer, deals, seed + 2_000_003)
    unit, part = question.unit, question.pot / players
    return MultiwaySolution(
        question, street, measure.values * unit + part, measure.value_errors * unit, gains * unit, gain_errors * unit,
        exact, rows, done, measure.deals, time.perf_counter() - began,
    )  # fmt: skip


def _response_limits(seconds: float | None, iterations: int | None) -> dict[str, Any]:
    if seconds is not None:
        return {"seconds": max(LEAST_RESPONSE, RESPONSE * seconds)}
    return {"iterations": iterations}


def played_gains(
    machine: RangedMachine, target: Any, answer: Blueprint, deals: int, seed: int
) -> tuple[Floats, Floats]:
    """([players] what each wins more as the responder than as the target, against the target, in the same deals;
    halves of 95% intervals)."""
    from kibitz.poker.multiway.kernels.machine import compare
    from kibitz.poker.preflop.kernels.rolls import scratch

    greedy = answer.played(greedy=True).player(greedy=True)
    total, squares, done = np.zeros(machine.players), np.zeros(machine.players), 0
    space = scratch(machine.actions)
    while done < deals:
        count = min(BLOCK, deals - done)
        values, gains = np.empty((count, machine.players)), np.empty((count, machine.players))
        compare(machine.game, target.player, greedy, (np.int64(seed), np.int64(done)), values, gains, space)
        total += gains.sum(axis=0)
        squares += (gains**2).sum(axis=0)
        done += count
    mean = total / done
    return mean, CONFIDENCE * np.sqrt(np.maximum(squares / done - mean**2, 0.0) / done)
