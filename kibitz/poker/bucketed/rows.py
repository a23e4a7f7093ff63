"""Frozen rows of a bucket form: which infosets may move, and the base that the others are held at.

As on a poker form (`kibitz.poker.exact.rows`) a frozen row is one that regret matching cannot move: its regrets are its
probabilities times HUGE.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.protocol import Measure
from kibitz.poker.bucketed.layout import Node
from kibitz.poker.exact.rows import HUGE

if TYPE_CHECKING:
    from kibitz.poker.bucketed.operator import BucketOperator

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class BucketRows:
    """Which infosets of a bucket form may move; the others are frozen at a base. I infosets, K columns, S sequences."""

    def __init__(self, form: BucketOperator, moves: Bools, base: Floats) -> None:
        if moves.shape != (form.points,) or base.shape != (form.columns,):
            raise SolverError(f"a mask has {form.points:,} infosets, and a base {form.columns:,} probabilities")
        self.form, self.moves, self.base = form, moves, base
        self.frozen = form.to_strategy(np.repeat(~moves, form.infosets.width).astype(np.float64)) > 0.5  # [S]
        self.frozen[form.seat_sequence[:-1]] = False
        self.held = form.to_strategy(base)  # [S]
        self._there: tuple[Any, Any] | None = None

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the mask, and of the base where it is read: checkpoints are held against it."""
        content = hashlib.sha256(b"bucket rows 1\0" + self.moves.tobytes())
        content.update(np.where(self.frozen, self.held, 0.0).tobytes())
        return content.hexdigest()

    @property
    def on_device(self) -> tuple[Any, Any]:
        """`frozen` and `held` where the form's arrays are."""
        if self._there is None:
            xp = self.form.device.xp
            self._there = xp.asarray(self.frozen), xp.asarray(self.held)
        return self._there

    def hold(self, regret: Any, strategy: Any) -> None:
        """Make frozen rows what regret matching cannot move."""
        frozen, held = self.on_device
        xp = self.form.device.xp
        xp.copyto(strategy, held.astype(strategy.dtype), where=frozen)
        xp.copyto(regret, (held * HUGE).astype(regret.dtype), where=frozen)

    def _filled(self, weights: Any) -> Any:
        """Weights by sequence -> the strategy by sequence: the base where rows are frozen, else the weights' shares."""
        passes, (frozen, held) = self.form.passes, self.on_device
        found = passes.zeros()
        for seat in (0, 1):
            passes.normalise(seat, self.form.device.xp.asarray(weights), found)
        return self.form.device.xp.where(frozen, held, found)

    def probabilities(self, weights: Any) -> Floats:
        """The same by infoset column, with the base to the last bit."""
        found = self.form.by_column(self.form.device.to_host(self._filled(weights)))
        return np.where(np.repeat(self.moves, self.form.infosets.width), found, self.base)

    def measure(self, weights: Any) -> Measure:
        """Values and best responses in the game in which frozen rows are chance: only rows that may move respond."""
        form, passes = self.form, self.form.passes
        strategy, plan, worth = self._filled(weights), passes.zeros(), passes.zeros()
        roots = [passes.plan(seat, strategy, plan) for seat in (0, 1)]
        value, best = np.zeros(2), np.zeros(2)
        for seat in (0, 1):
            lo, hi = form.seat_sequence[seat : seat + 2].tolist()
            passes.gradient(seat, plan, roots[1 - seat], worth)
            value[seat] = float(plan[lo:hi] @ worth[lo:hi])
            best[seat] = passes.ascend(seat, worth, self._respond(seat))
        return Measure(value, best, max(0.0, float((best - value).sum())))

    def _respond(self, seat: int) -> Any:
        frozen, held = self.on_device
        xp = self.form.device.xp

        def choose(g: int, node: Node, values: Any) -> Any:
            actions = slice(node.first, node.first + node.count)
            fixed = self.form.view(frozen, seat, g)[node.first]
            base = self.form.view(held, seat, g)[actions]
            return xp.where(fixed, (base * values).sum(axis=0), values.max(axis=0))

        return choose

    def reached(self) -> Bools:
        """[I] infosets that frozen moves let play come to; all others are learnt nothing of."""
        form, passes = self.form, self.form.passes
        xp = form.device.xp
        if (self.held[self.frozen] > 0.0).all():
            return np.ones(form.points, bool)
        frozen, held = self.on_device
        strategy, plan = xp.where(frozen, held, 1.0), passes.zeros()
        roots = [passes.plan(seat, strategy, plan) for seat in (0, 1)]
        found = passes.zeros()
        for seat in (0, 1):
            for g, group in enumerate(form.groups):
                for node in group.nodes:
                    if node.seat != seat:
                        continue
                    mine, his = passes.before(g, node, plan, roots)
                    comes = (mine > 0.0) & (his @ passes.meets[group.level].T > 0.0)
                    form.view(found, seat, g)[node.first : node.first + node.count] = comes
        first = form.infosets.first[:-1]
        return np.asarray(form.by_column(form.device.to_host(found))[first] > 0.5)
