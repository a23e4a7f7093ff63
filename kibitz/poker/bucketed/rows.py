"""Frozen rows of a bucket form: which infosets are trainable, and the base that the others are frozen at.

As on a poker form (`kibitz.poker.exact.rows`) a frozen row is one that regret matching cannot move: its regrets are its
probabilities times HUGE.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.protocol import Measure
from kibitz.poker.bucketed.layout import Node
from kibitz.poker.exact.rows import HUGE, MaskedRows

if TYPE_CHECKING:
    from kibitz.poker.bucketed.operator import BucketOperator

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class BucketRows(MaskedRows):
    """Trainable infosets of a bucket form."""

    mark = b"bucket rows 1\0"
    form: BucketOperator

    @cached_property
    def on_device(self) -> tuple[Any, Any]:
        """`frozen` and `held` where the form's arrays are."""
        return self.form.device.xp.asarray(self.frozen), self.form.device.xp.asarray(self.held)

    def hold(self, regret: Any, strategy: Any) -> None:
        """Make frozen rows what regret matching cannot move."""
        frozen, base = self.on_device
        xp = self.form.device.xp
        xp.copyto(strategy, base.astype(strategy.dtype), where=frozen)
        xp.copyto(regret, (base * HUGE).astype(regret.dtype), where=frozen)

    def _filled(self, weights: Any) -> Any:
        """Weights by sequence -> the strategy by sequence: the base where rows are frozen, else the weights' shares."""
        passes, (frozen, base) = self.form.passes, self.on_device
        shares = passes.zeros()
        for seat in (0, 1):
            passes.normalise(seat, self.form.device.xp.asarray(weights), shares)
        return self.form.device.xp.where(frozen, base, shares)

    def probabilities(self, weights: Any) -> Floats:
        """The same by infoset column."""
        return self.columns_of(self.form.device.to_host(self._filled(weights)))

    def measure(self, weights: Any) -> Measure:
        """Values and best responses in the game in which frozen rows are chance: only trainable infosets respond."""
        passes = self.form.passes
        strategy, plan = self._filled(weights), passes.zeros()
        roots = [passes.plan(seat, strategy, plan) for seat in (0, 1)]
        return self.form.measured(plan, roots, self._respond)

    def _respond(self, seat: int) -> Any:
        frozen, played = self.on_device
        xp = self.form.device.xp

        def choose(g: int, node: Node, values: Any) -> Any:
            actions = slice(node.first, node.first + node.count)
            fixed = self.form.view(frozen, seat, g)[node.first]
            base = self.form.view(played, seat, g)[actions]
            return xp.where(fixed, self.form.passes.mean(base, values), values.max(axis=0))

        return choose

    def reached(self) -> Bools:
        """[I] infosets that frozen moves let play come to; nothing is learnt of the others."""
        form, passes = self.form, self.form.passes
        xp = form.device.xp
        if (self.held[self.frozen] > 0.0).all():
            return np.ones(form.points, bool)
        frozen, base = self.on_device
        strategy, plan = xp.where(frozen, base, 1.0), passes.zeros()
        roots = [passes.plan(seat, strategy, plan) for seat in (0, 1)]
        comes_to = passes.zeros()
        for seat in (0, 1):
            for g, group in enumerate(form.groups):
                for node in group.nodes:
                    if node.seat != seat:
                        continue
                    mine, his = passes.before(g, node, plan, roots)
                    comes = (mine > 0.0) & (his @ passes.meets[group.table].T > 0.0)
                    form.view(comes_to, seat, g)[node.first : node.first + node.count] = comes
        first = form.infosets.first[:-1]
        return np.asarray(form.by_column(form.device.to_host(comes_to))[first] > 0.5)
