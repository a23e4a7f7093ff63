"""The state of CFR on a poker form on a GPU: what `cfr_state.py` keeps in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.forms.protocol import Measure
from kibitz.poker.bucketed.cfr_state import decay_of, discount
from kibitz.poker.exact.cfr_state import NOISE
from kibitz.poker.exact.gpu import STEP, GpuPasses
from kibitz.poker.exact.operator import PokerOperator
from kibitz.poker.exact.rows import HUGE, RENEW, PokerRows

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule

Floats = NDArray[np.float64]
AHEAD = 1024  # iterations whose numbers are sent at a time


class GpuPokerCfrState:
    """As `PokerCfrState`: the same numbers in the same order, so that a checkpoint resumes on either.

    Sums are added up in another order, so numbers differ by rounding; the same GPU gives the same bits.
    """

    def __init__(
        self, form: PokerOperator, start: Floats | None, dtype: Any = np.float32, rows: PokerRows | None = None,
        passes: GpuPasses | None = None,
    ) -> None:  # fmt: skip
        self.form, self.dtype, self.rows = form, np.dtype(dtype), rows
        self.passes = passes or GpuPasses(form, dtype=dtype)
        to = self.launcher = self.passes.launcher
        self._regret, self._average = to.zeros(form.sequences, dtype), to.zeros(form.sequences, dtype)
        if start is None:
            self._strategy = to.zeros(form.sequences, dtype)
            self.passes.normalise(self._strategy, self._strategy)
            for seat in (0, 1):
                to.assign(self._strategy, int(form.seat_sequence[seat]), 1.0)
        else:
            self._strategy = to.array(form.to_strategy(start), dtype)
        self.roots = form.ranges.astype(dtype)  # [2, classes of the first round]  how likely a seat comes with a hand
        self._schedule, self._now = to.zeros(AHEAD * STEP, dtype), to.zeros(STEP, dtype)
        self._at = to.zeros(1, np.int32)
        # By whether updates alternate: what was launched before, so that all is compiled, and a recorded iteration.
        self._compiled: set[bool] = set()
        self._replay: dict[bool, Callable[[], None]] = {}
        self._lanes = np.diff(form.table.group_lane)
        self._host: dict[str, NDArray[Any]] = {}
        if rows is not None:
            at = np.flatnonzero(rows.frozen)
            self._frozen = to.array(at), to.array(rows.held[at], dtype), to.array(rows.held[at] * HUGE, dtype)
            self._hold()

    def _hold(self) -> None:
        """As `PokerRows.hold`."""
        at, strategy, regrets = self._frozen
        self.launcher.assign(self._strategy, at, strategy)
        self.launcher.assign(self._regret, at, regrets)

    @property
    def _held(self) -> dict[str, Any]:
        return {"regret": self._regret, "average": self._average, "strategy": self._strategy}

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Copies, which `restore` puts back."""
        self._host = {name: self.launcher.host(array) for name, array in self._held.items()}
        self._host["lanes"] = np.diff(self.form.table.group_lane)
        return self._host

    def restore(self) -> None:
        """Take over a state that was written; it must be in the order of this form's lanes."""
        if (self._host["lanes"] != self._lanes).any():
            raise ArtefactError("the saved state of the run has another layout than this version uses; start a new run")
        for name, array in self._held.items():
            self.launcher.assign(array, slice(None), self.launcher.array(self._host[name]))

    def iterate(self, rule: Rule, done: int, count: int, threads: int = 1) -> None:
        """`count` iterations after `done`."""
        # Discounts make nothing of all regrets in the first iteration, those of frozen rows too: begin at the second.
        later = int(self.rows is not None and (math.isfinite(rule.alpha) or math.isfinite(rule.beta)))
        last = done + count
        while done < last:
            step = min(last - done, AHEAD)
            if self.rows is not None:
                if done % RENEW == 0:
                    self._hold()
                step = min(last, (done // RENEW + 1) * RENEW) - done
            self._iterate(rule, done + later, step)
            done += step
        self.launcher.wait()

    def _iterate(self, rule: Rule, done: int, count: int) -> None:
        to = self.launcher
        numbers = np.array([
            [discount(rule.alpha, t - 1), discount(rule.beta, t - 1), rule.floor, rule.prediction,
             max(NOISE * self.form.scale, 1e-30), decay_of(rule, t)]
            for t in range(done + 1, done + count + 1)
        ])  # fmt: skip
        to.assign(self._schedule, slice(0, count * STEP), to.array(numbers.ravel(), self.dtype))
        to.assign(self._at, slice(None), 0)
        self.passes.enter(self.roots.astype(np.float64), self.dtype)
        for seat in (1,) if rule.alternating else (0, 1):
            self.passes.reach(seat, self._strategy, self.dtype, False)
        kind = rule.alternating
        if kind not in self._compiled:
            self._once(kind)
            self._compiled.add(kind)
            count -= 1
        if count and kind not in self._replay:
            self._replay[kind] = to.recorded(lambda: self._once(kind))
        for _ in range(count):
            self._replay[kind]()

    def _once(self, alternating: bool) -> None:
        """One iteration: the numbers are the next of the schedule."""
        passes, real = self.passes, self.dtype
        self.launcher.launch(passes.source(real), "next_iteration", (1, 1), 1, (self._schedule, self._at, self._now))
        for seat in (0, 1):
            passes.learn(seat, self._regret, self._strategy, self._now)
            if alternating:
                passes.reach(seat, self._strategy, real, False, self._average, self._now)
        if not alternating:
            for seat in (0, 1):
                passes.reach(seat, self._strategy, real, False, self._average, self._now)

    @property
    def values(self) -> NDArray[Any]:
        """[2, classes of the first round]  what each hand wins, as of the last iteration."""
        values, count = self.passes.room("root_values", self.dtype), self.form.cards.rounds[0].classes
        begins = (0, self.form.roots)
        return np.stack([self.launcher.host(values[begin : begin + count]) for begin in begins])

    def looked(self, seat: int) -> float:
        """What a seat wins at most against the other's average strategy."""
        return self.passes.looked(seat, self._average)

    def solution(self) -> NDArray[Any]:
        """The average strategy by sequence. The run is over then."""
        self.passes.normalise(self._average, self._average)
        return self.launcher.host(self._average)

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        weights = self.launcher.host(self._average if begun else self._strategy)
        return self.form.to_probabilities(weights) if self.rows is None else self.rows.probabilities(weights)

    def measure(self, begun: bool) -> Measure:
        """What that is worth, in double precision."""
        weights = self._average if begun else self._strategy
        if self.rows is not None:
            return self.rows.measure(self.launcher.host(weights))
        most = np.array([self.passes.looked(seat, weights) for seat in (0, 1)])
        first = self.passes.looked(0, weights, True)
        return Measure(np.array([first, 0.0 - first]), most, max(0.0, float(most.sum())))
