"""Where a blueprint loses, by sampling: what a trained responder gains over it, by part of the betting and by seat.

A responder is trained against copies of the strategy in all other seats (`kibitz.play.lower_bound`). Then hands are
played by the strategy in all seats, and each decision is also played on by the responder (`kernels/deviations.py`). By
the performance difference lemma (`kibitz.stitch.auto.signals`) the mean of all gains is what the responder wins more,
and gains of parts are shares of it.

Departs from exact losses: a responder that was trained for a short time gains less than a best response, and where it
errs a part's share is negative. All figures have standard errors.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.resources import cores
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.blueprints.rows import hands_before, rounds_in
from kibitz.poker.buckets.percentile import finest_after, infosets_of, percentile_spec
from kibitz.poker.rules.rows import RowLayout, RowPlan
from kibitz.solvers.blueprint import Blueprint

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
CHUNK = 1000  # hands of one call into compiled code


@dataclass(frozen=True, eq=False)
class HandSample:
    """Decisions of n sampled hands, at most D each: who decides, in which place of the betting, what it would gain."""

    mover: Ints  # [n, D]  -1 after the last decision
    place: Ints  # [n, D]
    gain: Floats  # [n, D]  in chips

    @property
    def hands(self) -> int:
        return len(self.mover)

    @property
    def decided(self) -> Bools:
        return self.mover >= 0

    def by_place(self, places: int) -> Floats:
        """[places] gains of all seats, per hand."""
        done = self.decided
        return np.bincount(self.place[done], self.gain[done], minlength=places) / self.hands

    def inside(self, here: Bools) -> Bools:
        """[n, D] decisions in a part. here: [places]."""
        return self.decided & here[np.where(self.decided, self.place, 0)]

    def loss(self, here: Bools, seat: int | None = None) -> tuple[float, float]:
        """(mean, standard error) per hand of what is gained in a part: by all seats, or by one."""
        some = self.inside(here)
        if seat is not None:
            some &= self.mover == seat
        by_hand = np.where(some, self.gain, 0.0).sum(axis=1)
        error = by_hand.std(ddof=1) / np.sqrt(self.hands) if self.hands > 1 else np.inf
        return float(by_hand.mean()), float(error)

    def reach(self, here: Bools) -> float:
        """The share of hands that come to a part."""
        return float(self.inside(here).any(axis=1).mean())


def hand_sample(strategy: Blueprint, responder: Blueprint, hands: int, seed: int, threads: int = 0) -> HandSample:
    """Hands of a strategy in all seats, with what a responder gains at each decision. Both play from bytes; the result
    does not depend on the number of threads."""
    from kibitz.core.random import SCRATCH
    from kibitz.poker.stitching.kernels.deviations import HandDecisions, deviations

    machine, players = strategy.machine, (strategy.player(), responder.player())
    depth, seatings = machine.depth, np.eye(machine.players, dtype=np.int64)
    mover, place = np.full((hands, depth), -1, np.int64), np.zeros((hands, depth), np.int64)
    gain = np.zeros((hands, depth))

    def work(first: int) -> None:
        some = slice(first, min(hands, first + CHUNK))
        random, luck = np.zeros(1, np.uint64), np.zeros(SCRATCH, np.uint64)
        out = HandDecisions(mover[some], place[some], gain[some])
        deviations(machine.game, players, seatings, seed, first, out, random, luck, np.zeros(machine.actions))

    with ThreadPoolExecutor(threads or cores()) as pool:
        list(pool.map(work, range(0, hands, CHUNK)))
    return HandSample(mover, place, gain)


def responder_rows(machine: Any, limit: int) -> RowPlan:
    """Rows that remember the pot but not how earlier rounds were bet, in the finest buckets within a limit of infosets.

    There are few of them, so a short training visits all; and their buckets are finer than if they remembered more."""
    rounds = rounds_in(machine)
    ones = [[1] * rounds.definition.rounds]
    decisions = RowLayout(rounds, RowPlan(("any",), betting="pot"), ones).infosets[0].tolist()
    first = hands_before(machine)
    least = infosets_of(decisions, [first] + [1] * (len(decisions) - 1), forget=1)
    return RowPlan((percentile_spec(finest_after(decisions, max(limit, least), first), forget=1),), betting="pot")


def responder_to(strategy: Blueprint, limit: int, how: dict[str, Any], seed: int) -> Blueprint:
    """The greedy responder. limit: its infosets; how: iterations or seconds, device and threads."""
    from kibitz.play.agents import blueprint_agent
    from kibitz.play.lower_bound import respond

    machine = strategy.machine
    target = blueprint_agent(strategy, machine, "strategy")
    return respond(target, placed_blueprint(machine, responder_rows(machine, limit), seed), **how).played(greedy=True)
