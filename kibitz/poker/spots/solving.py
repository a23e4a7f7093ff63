"""solve: from a spot to its solution, to a target."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kibitz.core.errors import SolverError
from kibitz.core.gpu import require
from kibitz.poker.spots.engine import SpotEngine, engine_of
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.estimates import check_size
from kibitz.poker.spots.solution import SpotSolution
from kibitz.poker.spots.spot import Spot, SpotTree, betting_of

if TYPE_CHECKING:
    from kibitz.poker.spots.locks import Lock

UNTIL = 0.005  # of the pot
ASKED = 0.5  # seconds after which a run asks whether it should stop
FIRST_LOOK, FALL, MOST = 24, 0.55, 10_000  # as in poker/endgames: when the strategy is measured


@dataclass(frozen=True)
class SpotProgress:
    """Where a run stands after a measure."""

    iterations: int
    exploitability: float  # as a share of the pot
    seconds: float


def solve_spot(
    spot: Spot, *, until: float | None = None, iterations: int | None = None, seconds: float | None = None,
    threads: int | None = None, device: str = "cpu", locks: Sequence[str | Lock] = (),
    on_progress: Callable[[SpotProgress], None] | None = None, stop: Callable[[], bool] | None = None,
) -> SpotSolution:  # fmt: skip
    """Solve a spot by dcfr+ until its exploitability is at most `until` of the pot, or another limit is reached.

    Exploitability is the mean of what both players can still gain. Without any limit it is half a percent of the pot.
    device: gpu solves it on an NVIDIA GPU; threads then do not matter. locks: what is fixed, as text or as `locks.py`
    makes it; then a player can gain by what is not locked alone. stop: asked every half second or so; once it says so,
    the run ends with what it has.
    """
    limits = SpotLimits(until, iterations, seconds, on_progress, stop).checked()
    require(device)
    if locks and device != "cpu":
        raise SolverError("locks are solved on the CPU: leave out the device")
    tree = betting_of(spot)
    read = read_locks(locks, tree)
    check_size(spot, tree, locks=read, device=device)
    began = time.perf_counter()
    return run_engine(engine_of(spot, tree, threads, read, device), spot, tree, limits, began)


@dataclass(frozen=True)
class SpotLimits:
    """When a run ends, and who hears of it."""

    until: float | None = None  # share of the pot
    iterations: int | None = None
    seconds: float | None = None
    on_progress: Callable[[SpotProgress], None] | None = None
    stop: Callable[[], bool] | None = None

    def checked(self) -> SpotLimits:
        """The same, or to half a percent of the pot if nothing is said."""
        if self.until is not None and not (math.isfinite(self.until) and self.until > 0):
            raise SolverError(f"until is a share of the pot above 0, such as 0.005, not {self.until:g}")
        if self.iterations is not None and self.iterations < 1:
            raise SolverError(f"iterations should be 1 or more, not {self.iterations}")
        if self.until is None and self.iterations is None and self.seconds is None:
            return replace(self, until=UNTIL)
        return self

    def next_look(self, done: int, reached: float) -> int | None:
        if self.until is None:
            return 2 * done
        if reached <= self.until:
            return None
        wanted: int = math.ceil(done * (reached / self.until) ** FALL)
        return max(done + 1 + done // 32, min(2 * done, wanted))


def run_engine(
    engine: SpotEngine, spot: Spot, tree: SpotTree, limits: SpotLimits, began: float,
    next_look: Callable[[int, float], int | None] | None = None,
) -> SpotSolution:  # fmt: skip
    """Have an engine iterate to a limit. next_look: after how many iterations the next measure is, or None if this was
    the last one, from those that are done and the exploitability."""
    stop, next_look = limits.stop, next_look or limits.next_look
    last = MOST if limits.iterations is None else limits.iterations
    done, look, pace = 0, FIRST_LOOK, 0.0
    gains: Gains | None = None
    while done < last:
        step = min(last, look) - done
        if limits.seconds is not None and done:
            left = limits.seconds - (time.perf_counter() - began)
            if left <= pace:
                break
            step = max(1, min(step, int(left / pace)))
        if stop is not None:
            if done and stop():
                break
            step = max(1, min(step, int(ASKED / pace) if done else 1))
        before = time.perf_counter()
        engine.iterate(done, step)
        done, gains = done + step, None
        pace = max(1e-6, (time.perf_counter() - before) / step)
        if done < look and done < last:
            continue
        gains = engine.gains()
        reached = gains.exploitability / spot.stake
        if limits.on_progress is not None:
            limits.on_progress(SpotProgress(done, reached, time.perf_counter() - began))
        following = next_look(done, reached)
        if following is None:
            break
        look = following
    if gains is None:
        gains = engine.gains()
    return SpotSolution(spot, tree, engine.answer(), gains, done, time.perf_counter() - began)


def read_locks(locks: Sequence[str | Lock], tree: SpotTree) -> list[Lock]:
    from kibitz.poker.spots.locks import read_lock

    return [read_lock(each, tree) if isinstance(each, str) else each for each in locks]
