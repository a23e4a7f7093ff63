"""The state of CFR on a bucket form: regrets, strategies and averages by sequence, in single precision.

A gradient in single precision is off by some 1e-6 of the largest payoff (`tests/poker/test_bucket_form.py` measures
it), far below the NashConv that runs end at; NashConv itself is measured in double precision.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.protocol import Measure
from kibitz.poker.bucketed.gpu import RegretStep
from kibitz.poker.bucketed.layout import Node
from kibitz.poker.bucketed.passes import Passes
from kibitz.poker.bucketed.rows import BucketRows
from kibitz.poker.exact.rows import RENEW

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule
    from kibitz.poker.bucketed.operator import BucketOperator

Floats = NDArray[np.float64]
NOISE = 1e-14  # a sum of positive regrets below this share of the largest payoff is rounding, not a preference


class BucketCfrState:
    """As `forms.cfr_state.SequenceCfrState`: the rules of `forms/kernels/cfr.py` on whole arrays."""

    def __init__(
        self, form: BucketOperator, start: Floats | None, dtype: Any = np.float32, rows: BucketRows | None = None
    ) -> None:
        self.form, self.dtype, self.rows = form, np.dtype(dtype), rows
        self.passes = Passes(form, form.weights, form.device, dtype)
        xp = self.passes.xp
        strategy = form.to_strategy(form.uniform() if start is None else start)
        self._strategy = xp.asarray(strategy, dtype)
        self._regret, self._average = self.passes.zeros(), self.passes.zeros()
        self._plan, self._worth = self.passes.zeros(), self.passes.zeros()
        self._roots: list[Any] = [None, None]
        self._host: dict[str, NDArray[Any]] = {}
        if rows is not None:
            rows.hold(self._regret, self._strategy)
        self._follow_plans()

    def _follow_plans(self) -> None:
        for seat in (0, 1):
            self._roots[seat] = self.passes.plan(seat, self._strategy, self._plan)

    @property
    def _held(self) -> dict[str, Any]:
        return {"regret": self._regret, "average": self._average, "strategy": self._strategy}

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays in memory; of a GPU copies, which `restore` puts back."""
        if not self.form.device.on_gpu:
            return self._held
        self._host = {name: self.form.device.to_host(array) for name, array in self._held.items()}
        return self._host

    def restore(self) -> None:
        """Take over a state that was written, and what follows from it."""
        if self.form.device.on_gpu:
            for name, array in self._held.items():
                array[...] = self.passes.xp.asarray(self._host[name])
        self._follow_plans()

    def iterate(self, rule: Rule, done: int, count: int, threads: int) -> None:
        """`count` iterations after `done`."""
        # Discounts make nothing of all regrets in the first iteration, those of frozen rows too: begin at the second.
        later = int(self.rows is not None and (math.isfinite(rule.alpha) or math.isfinite(rule.beta)))
        for t in range(done + 1 + later, done + count + 1 + later):
            if self.rows is not None and (t - 1 - later) % RENEW == 0:
                self.rows.hold(self._regret, self._strategy)
            if rule.alternating:
                for seat in (0, 1):
                    self._step(rule, t, seat)
                    self._follow(rule, t, seat)
            else:
                for seat in (0, 1):  # plans are those from before the iteration
                    self._step(rule, t, seat)
                for seat in (0, 1):
                    self._follow(rule, t, seat)
        if self.form.device.on_gpu:
            self.passes.xp.cuda.get_current_stream().synchronize()

    def _step(self, rule: Rule, t: int, seat: int) -> None:
        """New regrets and a new strategy of a seat."""
        passes = self.passes
        passes.gradient(seat, self._plan, self._roots[1 - seat], self._worth)
        passes.ascend(seat, self._worth, self._revise(rule, t, seat))

    def _follow(self, rule: Rule, t: int, seat: int) -> None:
        """The plan that the new strategy makes, and its place in the average."""
        self._roots[seat] = self.passes.plan(seat, self._strategy, self._plan)
        decay = decay_of(rule, t)
        if decay < 0.0:
            return
        lo, hi = self.form.seat_sequence[seat : seat + 2].tolist()
        average, plan, kernels = self._average[lo:hi], self._plan[lo:hi], self.passes.kernels
        if kernels is not None:
            kernels.add_plan(plan, decay, average)
            return

        def work(piece: slice) -> None:
            average[piece] *= self.dtype.type(decay)
            average[piece] += plan[piece]

        self.form.device.in_pieces(work, hi - lo, 1)

    def _revise(self, rule: Rule, t: int, seat: int) -> Any:
        """Regret matching at a node: values of its actions -> its value, with regrets and strategy revised."""
        xp, kind = self.passes.xp, self.dtype.type
        grow, keep = kind(discount(rule.alpha, t - 1)), kind(discount(rule.beta, t - 1))
        floor, prediction, tiny = kind(rule.floor), kind(rule.prediction), kind(max(NOISE * self.form.scale, 1e-30))
        kernels = self.passes.kernels

        def choose(g: int, node: Node, values: Any) -> Any:
            actions = slice(node.first, node.first + node.count)
            regret = self.form.view(self._regret, seat, g)[actions]
            strategy = self.form.view(self._strategy, seat, g)[actions]
            if not self.form.trainable(g, node):
                return self.passes.mean(strategy, values)
            if kernels is not None:
                gain = xp.empty(values.shape, self.dtype)
                worth = kernels.mean(strategy, values, gain)
                step = RegretStep(grow, keep, floor, prediction, tiny)
                kernels.learn(self.form.pooled(g, node, slice(None), gain), regret, strategy, step)
                return worth
            mean = xp.empty(values.shape[1:], self.dtype)

            def work(lanes: slice) -> None:
                here, old, chosen = values[:, lanes], regret[:, lanes], strategy[:, lanes]
                at = (chosen * here).sum(axis=0)
                mean[lanes] = at
                delta = self.form.pooled(g, node, lanes, here - at)
                if grow == keep:
                    new = old * grow if grow != 1.0 else old.copy()
                else:
                    new = old * xp.where(old > 0, grow, keep)
                new += delta
                xp.maximum(new, floor, out=new)
                old[...] = new
                if prediction:
                    new += prediction * delta
                xp.maximum(new, kind(0.0), out=new)
                total = new.sum(axis=0)
                none = total <= tiny
                new /= xp.maximum(total, tiny)
                chosen[...] = xp.where(none, kind(1.0 / node.count), new)

            self.form.device.in_pieces(work, *mean.shape)
            return mean

        return choose

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        weights = self._average if begun else self._strategy
        if self.rows is not None:
            return self.rows.probabilities(weights)
        return self.form.to_probabilities(self.form.device.to_host(weights))

    def measure(self, begun: bool) -> Measure:
        """What that is worth, without a copy of it."""
        weights = self._average if begun else self._strategy
        return self.form.measure_weights(weights) if self.rows is None else self.rows.measure(weights)


def discount(exponent: float, t: int) -> float:
    """t^exponent / (t^exponent + 1); of an infinite exponent 1, of minus infinity 0."""
    if math.isinf(exponent):
        return 1.0 if exponent > 0 else 0.0
    if t == 0:
        return 0.0 if exponent > 0 else 0.5 if exponent == 0 else 1.0
    return 1.0 / (1.0 + float(float(t) ** -exponent))


def decay_of(rule: Rule, t: int) -> float:
    """What older plans count for when plan t comes; below 0 if it does not count yet."""
    if t <= rule.delay:
        return -1.0
    return float(((t - 1.0 - rule.delay) / (t - rule.delay)) ** rule.gamma)
