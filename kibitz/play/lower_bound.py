"""How much a blueprint can lose, from below: a responder learns to beat it, and what it wins in matches is proof.

In games without a tree no exact best response can be had. A responder trained by MCCFR against the blueprint's fixed
strategy, under an abstraction of its own, wins at most what a best response would: its mean winnings, over both seats
with the same cards, are a lower bound on the blueprint's exploitability (nash_conv divided by two), up to the interval.
A small bound may mean a good blueprint or a poor responder; a large one can only mean a poor blueprint.

Endgames can be answered exactly. One who plays like the blueprint until there, and then a best response to it, wins
what `endgame_bound` measures, deal by deal and without the luck of the last tricks: another lower bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kibitz.errors import SolverError
from kibitz.evaluate.match import Result, Score, match, scored
from kibitz.games.toepen.arrays import rules_of
from kibitz.play.agents import Compiled
from kibitz.play.search import Search, spot_of, text_of, written
from kibitz.solvers.blueprint import DEPTH, Blueprint

BLOCK = 500  # iterations between looks at the clock


@dataclass(frozen=True)
class LowerBound:
    """What the best of some responders wins from a strategy."""

    result: Result  # of the responder against the strategy: mean and interval are the bound
    abstraction: str  # of the responder
    iterations: int  # it was trained for
    rows: int


def respond(
    target: Compiled,
    abstraction: str = "outlook",
    *,
    seconds: float | None = None,
    iterations: int | None = None,
    memory: int = 1 << 28,
    seed: int = 1,
    on_block: Callable[[int], None] | None = None,
) -> Blueprint:
    """A blueprint trained against a fixed strategy; its greedy player is the responder.

    Walks try all actions of the responder and sample the target's, so the regrets of an action add up to what it gains
    over the responder's own play: the largest one is played.
    """
    from kibitz.kernels.toepen.walk import UNIFORM, train

    if seconds is None and iterations is None:
        raise SolverError("say how long the responder learns: iterations, or seconds")
    made = Blueprint.empty(target.game, abstraction, memory, seed)
    rules, began = rules_of(target.game), time.perf_counter()
    if target.player.kind == UNIFORM:
        raise SolverError("the uniform player needs no responder: measure it by a match")
    space, cards, counts = np.zeros((DEPTH, 4)), np.zeros(64, np.uint64), np.zeros(4, np.int64)
    while iterations is None or made.iteration < iterations:
        last = made.iteration + BLOCK if iterations is None else min(made.iteration + BLOCK, iterations)
        train(rules, made.keys, made.table, target.player, True, seed, made.iteration, last, np.uint64(3), space,
              cards, counts)  # fmt: skip
        made.iteration = last
        if on_block is not None:
            on_block(last)
        if seconds is not None and time.perf_counter() - began >= seconds:
            break
    made.counts += counts
    made.seconds = time.perf_counter() - began
    return made


def lower_bound(
    target: Compiled,
    abstraction: str = "outlook",
    *,
    seconds: float | None = 60.0,
    iterations: int | None = None,
    deals: int = 200_000,
    seed: int = 1,
    on_block: Callable[[int], None] | None = None,
) -> LowerBound:
    """Train a responder, then let it play deals that it has not learned from."""
    made = respond(target, abstraction, seconds=seconds, iterations=iterations, seed=seed, on_block=on_block)
    responder = Compiled(target.game, made.player(greedy=True), f"responder({abstraction})")
    result = match(target.game, responder, target, deals, seed=seed + 1)
    return LowerBound(result, abstraction, made.iteration, made.rows)


def endgame_bound(
    target: Compiled, deals: int = 100, seed: int = 0, threads: int = 1, on_deal: Callable[[int], None] | None = None
) -> Score:
    """What best responses in endgames alone win from a strategy, per hand over both seats; nothing in other hands."""
    from kibitz.kernels.toepen.play import MOST_WORDS, until_trick

    search = Search(target, iterations=1, threads=threads)
    words, space = np.zeros(MOST_WORDS, np.uint64), np.zeros(64, np.uint64)
    won = np.zeros(deals)
    for number in range(deals):
        count, _, _ = until_trick(target.rules, target.player, target.player, seed, number, search.trick, words, space)
        if count >= 0:
            spot, _ = spot_of(target.game, [text_of(int(word)) for word in words[:count]], search.trick)
            endgame = search.endgame(spot)
            ranges = np.stack([search.ranges(spot, endgame, seat) for seat in range(2)])
            plain = written(target, spot, endgame, endgame.rows(), ranges, threads=threads)
            for seat in range(2):
                mass = ranges[seat] * endgame.compatible(ranges[1 - seat])
                best = endgame.respond(plain, seat, ranges[1 - seat]).by_hand
                won[number] += 0.5 * float(mass @ best / mass.sum())  # values of both seats cancel
        if on_deal is not None:
            on_deal(number + 1)
    return scored(deals, float(won.sum()), float((won * won).sum()))
