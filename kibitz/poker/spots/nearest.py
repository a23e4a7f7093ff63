"""The equilibrium that is nearest to a given strategy.

Most spots have many equilibria, and many more strategies that are as good but for a few thousandths of the pot. Of all
strategies whose exploitability is at most what is aimed at, this finds those that are nearest to a target t. The
distance of a player's strategy s is

    D(s) = sum over its decisions I of   w(I) * s(I) * 1/2 * sum over actions a of (s(a|I) - t(a|I))^2

where s(I) is the probability that its own actions lead to I, and w(I) that the cards do and that the other does if it
takes each of its actions alike. D is convex in the player's realization plan, as u^2 / v is convex.

Without rake and prizes, what both can still gain is a sum of two parts: how much less than the value of the spot a
player's strategy is sure to win, for each of the two. So each player is a problem of its own: least D for a loss. Its
Lagrangian is a game in which that player pays `pull` times D, and the other pays nothing. It is convex-concave, and CFR
solves it with the gradients of D in its regrets [Farina, Kroer & Sandholm 2019, "Online Convex Optimization for
Sequential Decision Processes and Extensive-Form Games"]. So there are two runs side by side, one for each player, and
the answer has a player's strategy from its own run. The pull, the same for both, is chosen such that the exploitability
of the answer, which is measured without payments, is what is aimed at. As that goes to 0, the answer goes to the
nearest equilibrium. With rake or prizes the parts do not add up: then this is a way to look for one, and what is
measured stays exact.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.resources import MARGIN, free_memory
from kibitz.poker.spots.engine_cpu import LEAST, MergedEngine, SpotCfr
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.engine_rows import RowSource
from kibitz.poker.spots.estimates import check_size, estimate_of
from kibitz.poker.spots.locks import Lock, lock_player, read_lock
from kibitz.poker.spots.saved import load_spot
from kibitz.poker.spots.solution import SpotSolution
from kibitz.poker.spots.solving import UNTIL, SpotLimits, SpotProgress, read_locks, run_engine
from kibitz.poker.spots.spot import Spot, SpotTree, betting_of

Floats = NDArray[np.float64]
MORE_BYTES = 3 * 4  # of a sequence: regrets and averages of a second run, and the average of both
FIRST_PULL = 20.0  # the pull at first, in targets
STEP, NARROW = 4.0, 1.3  # between pulls until one is good and one is not; where they are near enough
MOST_TRIES, MOST_LOOKS = 8, 10  # pulls; measures with one of them
STILL, SETTLED = 0.1, 0.005  # changes of exploitability and distance between two measures that are none


@dataclass(frozen=True, eq=False)
class NearestSpot:
    """A spot solved near a target, and as it is solved without one."""

    solution: SpotSolution
    plain: SpotSolution
    distances: Floats  # [2 solutions, 2 players]  from the target: near it, and plain
    pull: float  # at the end, in chips (or prizes)

    def data(self) -> dict[str, Any]:
        """As plain data."""
        return {"distances": {"nearest": self.distances[0].tolist(), "plain": self.distances[1].tolist()},
                "exploitability": {"nearest": self.solution.exploitability, "plain": self.plain.exploitability},
                "pull": self.pull}  # fmt: skip


def nearest_spot(
    spot: Spot, near: Sequence[str | Lock], *, until: float | None = None, iterations: int | None = None,
    seconds: float | None = None, threads: int | None = None, locks: Sequence[str | Lock] = (),
    on_progress: Callable[[SpotProgress], None] | None = None,
) -> NearestSpot:  # fmt: skip
    """Solve a spot twice: as `solve_spot` does, and as near to a target as equilibria go.

    near: the target: decisions as locks are written, or the folder of a saved solution. Decisions that it does not name
    are free. Limits are those of `solve_spot`, for each of the two runs.
    """
    limits = SpotLimits(until, iterations, seconds, on_progress).checked()
    if not near:
        raise SolverError("near: give at least one decision, or a saved solution, to be near to")
    tree = betting_of(spot)
    target = [row for each in near for row in (read_near(each, tree) if isinstance(each, str) else [each])]
    fixed = read_locks(locks, tree)
    size = estimate_of(spot, tree, [*fixed, *target])
    check_size(spot, tree, max(0, free_memory() - MARGIN - MORE_BYTES * size.sequences), [*fixed, *target])
    solutions, distances, pull = [], [], 0.0
    for begin in (FIRST_PULL, 0.0):
        began = time.perf_counter()
        engine: NearEngine | MergedEngine
        if begin:
            engine = NearEngine(spot, tree, threads, fixed, target)
            search = _Search(engine, spot, UNTIL if limits.until is None else limits.until, begin)
            solutions.append(run_engine(engine, spot, tree, limits, began, search.next_look))
            pull = engine.pull
        else:
            engine = MergedEngine(spot, tree, threads, fixed, np.float32, np.float32, target)
            solutions.append(run_engine(engine, spot, tree, limits, began))
        distances.append(engine.state.apart())
    return NearestSpot(solutions[0], solutions[1], np.stack(distances), pull)


class NearEngine(MergedEngine):
    """Two runs, in each of which one player pays for its distance from a target. `state` has the strategy of each
    player from its own run."""

    def __init__(
        self, spot: Spot, tree: SpotTree, threads: int | None, locks: Sequence[RowSource], near: Sequence[RowSource]
    ) -> None:
        super().__init__(spot, tree, threads, locks, np.float32, np.float32, near)
        layout = self.layout
        self.runs = [SpotCfr(layout, np.float32, locks=locks, near=near) for _ in (0, 1)]
        self.state = SpotCfr(layout, average=self.runs[0].learned.average.copy(), locks=locks, near=near)
        self.pull = 0.0

    def iterate(self, done: int, count: int) -> None:
        for seat, run in enumerate(self.runs):
            run.pull = (self.pull, 0.0) if seat == 0 else (0.0, self.pull)
            self.pace.run(run.iterate, done, count)

    def begin(self, pull: float) -> None:
        """Go on with another pull: regrets stay, averages begin anew."""
        self.pull = pull
        for run in self.runs:
            run.learned.average[:] = LEAST

    def gains(self) -> Gains:
        layout = self.layout
        for seat, run in enumerate(self.runs):
            for begin, count in zip(layout.state_base[seat].tolist(), layout.rows[seat].tolist(), strict=True):
                self.state.learned.average[begin : begin + count] = run.learned.average[begin : begin + count]
        return super().gains()


class _Search:
    """Finds the largest pull at which the exploitability is still what is aimed at.

    With one pull the run goes on until exploitability and distance settle; averages begin anew with each. Between the
    largest pull that was good and the smallest that was not, the next one is in the middle of their logarithms. The
    last one is good.
    """

    def __init__(self, engine: NearEngine, spot: Spot, until: float, targets: float) -> None:
        self.engine, self.until = engine, until
        engine.pull = targets * until * spot.stake
        self.good, self.bad, self.tries, self.last = 0.0, np.inf, 0, False
        self.seen: list[tuple[float, float]] = []  # (exploitability, distance) with this pull

    def next_look(self, done: int, reached: float) -> int | None:
        self.seen.append((reached, float(self.engine.state.apart().sum())))
        if self.is_settled():
            if self.last and reached <= self.until:
                return None
            self.turn(reached <= self.until)
        return done + max(24, done // 8)

    def is_settled(self) -> bool:
        if len(self.seen) < 2:
            return False
        (before, far), (reached, distance) = self.seen[-2:]
        still = abs(reached - before) <= STILL * max(reached, STILL * self.until)
        return len(self.seen) == MOST_LOOKS or (still and abs(distance - far) <= SETTLED * distance + 1e-6)

    def turn(self, is_good: bool) -> None:
        """Choose the next pull."""
        if self.last:  # it was good before, but for noise
            pull = 0.9 * self.engine.pull
        else:
            self.tries += 1
            if is_good:
                self.good = self.engine.pull
            else:
                self.bad = self.engine.pull
            pull = STEP * self.good if self.bad == np.inf else np.sqrt(self.good * self.bad)
            if self.good == 0.0:
                pull = self.bad / STEP
            if self.good and (self.tries >= MOST_TRIES or self.bad < NARROW * self.good):
                self.last, pull = True, self.good
        self.engine.begin(float(pull))
        self.seen = []


def read_near(text: str, tree: SpotTree) -> list[Lock]:
    """A target as it is written: a decision or a player as locks are, or a saved solution for both players."""
    if Path(text).is_dir():
        solution = load_spot(text)
        return [lock_player(solution, player, tree) for player in ("OOP", "IP")]
    return [read_lock(text, tree)]
