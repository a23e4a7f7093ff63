"""A lower bound on exploitability: a responder is trained against a strategy, and its winnings are measured in matches.

In games without a tree no exact best response can be had. A responder trained by MCCFR against a fixed strategy, under
an abstraction of its own, wins at most what a best response would: its mean winnings, over all seats with the same
cards, are a lower bound on the strategy's exploitability (NashConv divided by the number of seats), up to the
interval. A small bound may mean a good strategy or a poor responder; a large one can only mean a poor strategy.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.core.compiling import clock
from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.evaluate.match import MatchResult, match
from kibitz.play.agents import blueprint_agent
from kibitz.play.compiled import Compiled
from kibitz.solvers.blueprint import Blueprint, walked
from kibitz.solvers.new_blueprints import BlueprintRequest, new_blueprint

BLOCK = 500  # iterations between looks at the clock
LAUNCH = 0.5  # seconds that a GPU walks between looks at the clock, at most about


@dataclass(frozen=True)
class LowerBound:
    """What a responder wins against a strategy."""

    result: MatchResult  # of the responder against the strategy
    abstraction: str  # of the responder
    iterations: int  # it was trained for
    rows: int

    @property
    def least(self) -> float:
        """What the strategy's exploitability is at least, with 95% confidence: the lower end of the interval of what
        the responder wins, and never below 0, which holds of every strategy."""
        return max(0.0, float(self.result.interval[0]))


def respond(
    target: Compiled,
    abstraction: Any = None,
    *,
    seconds: float | None = None,
    iterations: int | None = None,
    memory: int = 1 << 28,
    seed: int = 1,
    on_block: Callable[[int], None] | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> Blueprint:
    """A blueprint trained against a fixed strategy; its greedy player is the responder.

    abstraction: its name, or a blueprint that has learned nothing.

    Walks try all actions of the responder and sample the target's, so the regrets of an action add up to what it gains
    over the responder's own play: the largest one is played. device: cpu or gpu, where a run is not reproducible to the
    byte; threads: default all cores, and only one gives the same bytes every time.
    """
    from kibitz.solvers.kernels.players import RESPOND, UNIFORM, Mask

    if seconds is None and iterations is None:
        raise SolverError("give the training time of the responder: iterations or seconds")
    if device not in ("cpu", "gpu"):
        raise SolverError(f"device {device!r}: choose cpu or gpu")
    if int(target.player.kind) == UNIFORM:
        raise SolverError("the uniform player cannot have a trained responder: use a match")
    if isinstance(abstraction, Blueprint):
        blueprint = abstraction
    else:
        name = target.machine.default if abstraction is None else abstraction
        blueprint = new_blueprint(target.machine, BlueprintRequest(memory, abstraction=name, seed=seed))
    began, mask = clock(), Mask(np.int64(RESPOND), np.uint64(0), np.int64(0))
    if device == "gpu":
        _respond_on_gpu(blueprint, mask, target, seconds, iterations, on_block)
        return blueprint
    threads = (threads or cores()) if blueprint.store.parallel else 1
    blueprint.warm_up()
    with ThreadPoolExecutor(threads) as pool:
        while iterations is None or blueprint.iteration < iterations:
            block = threads * BLOCK
            last = blueprint.iteration + block
            last = last if iterations is None else min(last, iterations)
            blueprint.counts += walked(blueprint, mask, target.player, blueprint.iteration, last, threads, pool)
            blueprint.iteration = last
            if on_block is not None:
                on_block(last)
            if seconds is not None and clock() - began >= seconds:
                break
    blueprint.seconds = clock() - began
    return blueprint


def _respond_on_gpu(
    blueprint: Blueprint, mask: Any, target: Compiled, seconds: float | None, iterations: int | None,
    on_block: Callable[[int], None] | None,
) -> None:  # fmt: skip
    """The same walks by all threads of a GPU, in launches of up to LAUNCH seconds."""
    from kibitz.solvers.gpu import GpuWalks

    with GpuWalks(blueprint, mask, target.player) as walks:
        began, count = clock(), walks.first_block
        while iterations is None or blueprint.iteration < iterations:
            begun, last = clock(), blueprint.iteration + count
            last = last if iterations is None else min(last, iterations)
            blueprint.counts += walks.walk(blueprint.iteration, last)
            blueprint.iteration = last
            if on_block is not None:
                on_block(last)
            if seconds is not None and clock() - began >= seconds:
                break
            if clock() - begun < LAUNCH / 2:
                count *= 2
    blueprint.seconds = clock() - began


def lower_bound(
    target: Compiled,
    abstraction: Any = None,
    *,
    seconds: float | None = 60.0,
    iterations: int | None = None,
    deals: int = 200_000,
    seed: int = 1,
    on_block: Callable[[int], None] | None = None,
    device: str = "cpu",
) -> LowerBound:
    """Train a responder, then let it play deals that it has not learned from, against the target in all other seats.

    device: that trains it.
    """
    blueprint = respond(
        target, abstraction, seconds=seconds, iterations=iterations, seed=seed, on_block=on_block, device=device
    )
    greedy = blueprint.played(greedy=True)
    responder = blueprint_agent(greedy, blueprint.machine, f"responder({blueprint.abstraction})")
    responder.player = greedy.player(greedy=True)
    others = [target] * (target.machine.players - 1)
    result = match(target.machine, responder, *others, deals=deals, seed=seed + 1)
    return LowerBound(result, blueprint.abstraction, blueprint.iteration, blueprint.store.used)
