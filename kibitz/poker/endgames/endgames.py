"""Endgames, solved: with all hands, for ranges that a strategy leads to [Gilpin & Sandholm 2006; Burch et al. 2014].

    endgame = Endgame(game, node, board, ranges)
    answer = solved(endgame, seconds=1.0)                       # plain: both seats play against the other's range
    answer = solved(endgame, seconds=1.0, safe=Safe(0, values)) # seat 0 makes sure that no hand of seat 1 wins more

*Plain*: ranges are taken for granted. Each seat's solution is an equilibrium of what is left, if the other really came
with its range; an opponent that comes otherwise may win more than before.

*Safe*: before the endgame the opponent may leave with any hand, at what that hand wins against the strategy that was
there before (`values`). So it comes with whatever hands do well, and the solution gives none of them more than they
had, as far as that can be: in all of the game nobody can win more from it than from the strategy before.

CFR's numbers are single precision, NashConv double.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.poker.endgames.subgame import Endgame
from kibitz.poker.exact.cfr_state import PokerCfrState

if TYPE_CHECKING:
    from kibitz.poker.exact.gpu_state import GpuPokerCfrState

Floats = NDArray[np.float64]
ALPHA, GAMMA = 1.5, 4.0  # of dcfr+, which needs the fewest iterations
# Iterations before the first evaluation, which costs one or two of them, in small endgames and in large ones. NashConv
# falls with their square or so: the next evaluation comes when that, taken with care, says that it is small enough.
FIRST_LOOK, LARGE_LOOK, FALL = 12, 24, 0.55
MOST = 10_000  # iterations
SMALL = 100_000  # sequences below which a second thread costs more than it brings


@dataclass(frozen=True)
class Safe:
    """The seat that a solution is for, and the opt-out value of each hand of the other: [H], as of `response`."""

    seat: int
    values: Floats


@dataclass(frozen=True)
class EndgameStrategy:
    """The strategy of an endgame. In safe solutions only the rows of one seat are for playing."""

    endgame: Endgame
    strategy: NDArray[np.float32]  # by sequence
    iterations: int
    seconds: float
    gap: float | None  # NashConv as a share of the pot, given that play comes there; None if it was not evaluated
    seat: int | None = None  # of a safe solution

    def row(self, seat: int, node: int, board: Sequence[int], hand: Sequence[int]) -> Floats:
        """[actions]  what a seat does at a betting node of the whole game."""
        row = self.endgame.rows_at(self.strategy, seat, node)[:, self.endgame.class_of(board, hand)].astype(np.float64)
        return np.asarray(row / row.sum())  # in double precision it adds up to 1


def solved(
    endgame: Endgame, *, iterations: int | None = None, seconds: float | None = None, gap: float | None = None,
    safe: Safe | None = None, threads: int | None = None, device: str = "cpu",
) -> EndgameStrategy:  # fmt: skip
    """Solve by dcfr+ until one of the limits; gap: NashConv as a share of the pot, for plain solutions.

    device: gpu (needs kibitz[gpu13], or kibitz[gpu12] for CUDA 12) solves a turn or a flop in a fraction of the time.
    Compiling, at the first use, is not in the seconds of the answer.
    """
    from kibitz.core.resources import cores
    from kibitz.forms.kernels.cfr import Rule

    if iterations is None and seconds is None and gap is None:
        raise SolverError("give a stopping condition: iterations, seconds, or NashConv as a share of the pot (gap)")
    if gap is not None and safe is not None:
        raise SolverError("a safe solution has no NashConv: give iterations or seconds")
    threads = (cores() if endgame.sequences > SMALL else 1) if threads is None else threads
    cfr: PokerCfrState | GpuPokerCfrState
    if device == "cpu":
        began, cfr = time.perf_counter(), PokerCfrState(endgame, None)
    else:
        from kibitz.poker.exact.gpu import warm_up
        from kibitz.poker.exact.gpu_state import GpuPokerCfrState as OnGpu

        warm_up(endgame, device)
        began, cfr = time.perf_counter(), OnGpu(endgame, None)
    last = MOST if iterations is None else iterations
    rule = Rule(ALPHA, ALPHA, GAMMA, 0.0, 0.0, 0.0, True)
    gadget = None if safe is None else Gadget(endgame, safe, cfr)
    look = FIRST_LOOK if endgame.sequences <= SMALL else LARGE_LOOK
    done, reached, pace = 0, None, 0.0
    while done < last:
        step = 1 if gadget is not None else min(last, look) - done
        if seconds is not None and done:  # as many as fit
            left = seconds - (time.perf_counter() - began)
            if left <= pace:
                break
            step = max(1, min(step, int(left / pace)))
        before = time.perf_counter()
        cfr.iterate(rule, done, step, threads)
        done += step
        pace = max(1e-6, (time.perf_counter() - before) / step)
        if gadget is not None:
            gadget.revise(done)
        elif gap is not None and done >= look:
            reached = sum(cfr.looked(seat) for seat in (0, 1)) / (endgame.mass * endgame.pot)
            if reached <= gap:
                break
            look = max(done + 1 + done // 32, min(2 * done, math.ceil(done * (reached / gap) ** FALL)))
        elif done >= look:
            look = 2 * done
    strategy = cfr.solution()
    spent = time.perf_counter() - began
    return EndgameStrategy(endgame, strategy, done, spent, reached, None if safe is None else safe.seat)


class Gadget:
    """The choice before a safe endgame: with each hand the opponent enters, or takes its opt-out value (regret
    matching+)."""

    def __init__(self, endgame: Endgame, safe: Safe, cfr: PokerCfrState | GpuPokerCfrState) -> None:
        self.other, self.leave = 1 - safe.seat, safe.values
        self.cfr, self.hands = cfr, len(endgame.hands)
        self.regret = np.zeros((2, self.hands))  # of staying, of leaving
        self.stays = np.full(self.hands, 0.5)
        cfr.roots[self.other, : self.hands] = self.stays

    def revise(self, done: int) -> None:
        """After an iteration: the value of staying, by hand."""
        value = self.cfr.values[self.other, : self.hands].astype(np.float64)
        mean = self.stays * value + (1.0 - self.stays) * self.leave
        keep = done**ALPHA / (done**ALPHA + 1.0)
        self.regret = np.maximum(self.regret * keep + np.stack([value, self.leave]) - mean, 0.0)
        total = self.regret.sum(axis=0)
        even = np.full(self.hands, 0.5)
        self.stays = np.divide(self.regret[0], total, out=even, where=total > 0.0)
        self.cfr.roots[self.other, : self.hands] = self.stays
