"""Where CFR keeps its numbers on a sequence form: what it remembers and its working space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.form.rows import RowMap, row_map
from kibitz.form.threads import Pace, together

if TYPE_CHECKING:
    from kibitz.form.sequence import Measure, SequenceForm
    from kibitz.kernels.cfr import Rule

Floats = NDArray[np.float64]


class Space:
    """Regrets, strategies and averages of a run, by sequence or, where rows are shared or frozen, by column."""

    def __init__(self, form: SequenceForm, rows: RowMap | None, start: Floats | None) -> None:
        from kibitz.kernels.cfr import State

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
            self._held = State(
                zeros, zeros.copy(), strategy, form.plan(strategy), zeros.copy(), np.zeros(form.points),
                none, none, none, none,
            )  # fmt: skip
        else:
            columns, kernel = self.rows.columns, self.rows.kernel
            # Frozen rows at their base, closed actions at zero, and the infosets of a row agree.
            strategy = form.to_strategy(self.rows.lift(form.to_strategy(start)))
            fixed = (kernel.column < 0) & (form.column >= 0)
            moving = self.rows.moves[self.rows.row[form.infoset[form.point_of]]]
            chosen = np.where(fixed, np.where(moving, 0.0, 1.0), strategy)
            own = form.plan(chosen)
            self._held = State(
                np.zeros(columns), zeros, strategy, own * kernel.frozen_reach, zeros.copy(),
                np.zeros(form.points), np.zeros(columns), np.zeros(columns), chosen, own,
            )  # fmt: skip

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        held = {"regret": self._held.regret, "average": self._held.average, "strategy": self._held.strategy}
        if self.rows is not None:
            held["chosen"] = self._held.chosen
        return held

    def restore(self) -> None:
        """Recompute what follows from the state after its arrays were overwritten."""
        if self.rows is None:
            self._held.plan[:] = self.form.plan(self._held.strategy)
        else:
            self._held.own[:] = self.form.plan(self._held.chosen)
            self._held.plan[:] = self._held.own * self.rows.kernel.frozen_reach

    def iterate(self, rule: Rule, done: int, count: int, tiny: float, threads: int) -> None:
        """`count` iterations after `done`. Threads share each; the bytes do not depend on how many there are."""
        from kibitz.kernels import cfr as kernels
        from kibitz.kernels.barrier import GATE

        def iterate(done: int, count: int, threads: int) -> None:
            common = (rule, self._held, done, count, tiny, threads, np.zeros(GATE, np.int64))
            if self.rows is None:
                together(lambda _: kernels.iterate(self.form.packed, *common), threads)
            else:
                together(lambda _: kernels.iterate_rows(self.form.packed, self.rows.kernel, *common), threads)

        if self._pace is None or self._pace.most != threads:
            self._pace = Pace(threads)
        self._pace.run(iterate, done, count)

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        average = self._held.average if begun else self._held.plan
        return self.form.to_probabilities(average) if self.rows is None else self.rows.lift(average)

    def measure(self, begun: bool) -> Measure:
        """What that is worth."""
        return self.form.measure(self.probabilities(begun))
