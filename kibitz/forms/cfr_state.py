"""Where CFR keeps its numbers on a sequence form: what it remembers and its working space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.threads import Pace, together
from kibitz.forms.protocol import Measure
from kibitz.forms.rows import RowMap, row_map
from kibitz.forms.treeplexes import Treeplexes

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule

Floats = NDArray[np.float64]
# A sum of positive regrets below this share of what was added up for them is rounding noise, not a preference.
NOISE = 1e-13


class SequenceCfrState:
    """Regrets, strategies and averages of a run, by sequence or, where rows are shared or frozen, by column."""

    def __init__(self, form: Treeplexes, rows: RowMap | None, start: Floats | None) -> None:
        from kibitz.forms.kernels.cfr import CfrArrays

        self.form = form
        self._pace: Pace | None = None
        # Infosets with several points (imperfect recall) share a row too.
        self.rows: RowMap | None = rows or (None if form.perfect_recall else row_map(form))
        if not form.points:  # nobody ever moves
            self.rows = None
        start = form.uniform() if start is None else start
        zeros = np.zeros(form.sequences)
        none = np.zeros(0)
        if self.rows is None:
            strategy = form.to_strategy(start)
            self._arrays = CfrArrays(
                zeros, zeros.copy(), strategy, np.zeros(form.points, np.float32), form.scale, form.plan(strategy),
                zeros.copy(), np.zeros(form.points), none, none, none, none,
            )  # fmt: skip
        else:
            columns, kernel = self.rows.columns, self.rows.kernel
            # Frozen rows at their base, closed actions at zero, and the infosets of a row agree.
            strategy = form.to_strategy(self.rows.lift(form.to_strategy(start)))
            fixed = (kernel.column < 0) & (form.column >= 0)
            moving = self.rows.moves[self.rows.row[form.infoset[form.point_of]]]
            chosen = np.where(fixed, np.where(moving, 0.0, 1.0), strategy)
            own = form.plan(chosen)
            self._arrays = CfrArrays(
                np.zeros(columns), zeros, strategy, np.zeros(int(kernel.band_rows.sum()), np.float32), form.scale,
                own * kernel.frozen_reach, zeros.copy(),
                np.zeros(form.points), np.zeros(columns), np.zeros(columns), chosen, own,
            )  # fmt: skip

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        names = ("regret", "average", "strategy", "noise", *(() if self.rows is None else ("chosen",)))
        return {name: getattr(self._arrays, name) for name in names}

    def restore(self) -> None:
        """Recompute what follows from the state after its arrays were overwritten."""
        if self.rows is None:
            self._arrays.plan[:] = self.form.plan(self._arrays.strategy)
        else:
            self._arrays.own[:] = self.form.plan(self._arrays.chosen)
            self._arrays.plan[:] = self._arrays.own * self.rows.kernel.frozen_reach

    def iterate(self, rule: Rule, done: int, count: int, threads: int) -> None:
        """`count` iterations after `done`. Threads share each; the bytes do not depend on how many there are."""
        from kibitz.core.barrier import gate_of
        from kibitz.forms.kernels import cfr as kernels

        packed, rows = self.form.packed, None if self.rows is None else self.rows.kernel

        def share(done: int, count: int, threads: int) -> None:
            gate, common = gate_of(threads), (rule, self._arrays, done, count)
            if rows is None:
                together(lambda thread: kernels.iterate(packed, *common, thread, threads, gate), threads)
            else:
                together(lambda thread: kernels.iterate_rows(packed, rows, *common, thread, threads, gate), threads)

        if self._pace is None or self._pace.most != threads:
            self._pace = Pace(threads)
        while count:
            if done & (done + 1) == 0:  # before iterations 1, 2, 4, 8, ...
                self._listen()
            n = min(count, (1 << (done + 1).bit_length()) - (done + 1))
            self._pace.run(share, done, n)
            done, count = done + n, count - n

    def _listen(self) -> None:
        """Raise the level of noise of each row to what rounding in the iteration to come can make of it.

        Absolute, it would be that of the largest payoff: a small subgame beside a huge payoff, or one that is reached
        with a probability of 1e-15, would be all noise. Levels only rise, as regrets keep the noise of all iterations.
        """
        from kibitz.forms.kernels.evaluate import magnitudes

        form, arrays = self.form, self._arrays
        worth = np.zeros(form.sequences)
        packed = form.packed._replace(payoff=np.abs(form.packed.payoff))
        magnitudes(packed, arrays.strategy, arrays.plan, worth, np.zeros(form.points))
        if not len(arrays.noise):
            return
        if self.rows is None:
            worth[form.seat_sequence[:-1]] = 0.0
            level = np.maximum.reduceat(worth, form.first)
        else:
            kernel = self.rows.kernel
            column = np.add.reduceat(kernel.share * worth[kernel.member], kernel.start[:-1])
            width = np.repeat(kernel.band_width, kernel.band_rows)
            level = np.maximum.reduceat(column, np.cumsum(width) - width)
        np.maximum(arrays.noise, (NOISE / form.scale * level).astype(np.float32), out=arrays.noise)

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        average = self._arrays.average if begun else self._arrays.plan
        return self.form.to_probabilities(average) if self.rows is None else self.rows.lift(average)

    def measure(self, begun: bool) -> Measure:
        """What that is worth."""
        return self.form.measure(self.probabilities(begun))
