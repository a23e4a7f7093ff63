"""The state of CFR on a poker form: regrets, strategies and averages by sequence, in single precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import ArtefactError
from kibitz.core.threads import Pace, together
from kibitz.forms.protocol import Measure
from kibitz.poker.exact.operator import PokerOperator
from kibitz.poker.exact.rows import RENEW, PokerRows

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule

Floats = NDArray[np.float64]


# A sum of positive regrets below this share of the largest payoff is rounding noise, not a preference.
NOISE = 1e-14


class PokerCfrState:
    """As `forms.cfr_state.SequenceCfrState`. Half the memory is half the time here; NashConv is measured in double
    precision all the same.

    Departs from that in rounding only, in double precision to the ninth digit (tests/poker/test_poker_form.py). In
    single precision rounding decides where actions tie, so strategies may differ there, and NashConv on the way by some
    percent.

    Regrets alone would do for CFR+ and dcfr+: they are the strategy, up to a factor by row. But rows were then divided
    by their sums wherever they are read: turn endgames took 64 ms an iteration instead of 52, rivers and Rhode Island
    the same time (x86, one thread, medians).
    """

    def __init__(
        self, form: PokerOperator, start: Floats | None, dtype: Any = np.float32, rows: PokerRows | None = None
    ) -> None:
        self.form, self.dtype, self.rows = form, dtype, rows
        self._pace: Pace | None = None
        self.regret, self.average = np.zeros(form.sequences, dtype), np.zeros(form.sequences, dtype)
        if start is None:
            self.strategy = np.ones(form.sequences, dtype)
            form._normalise(self.strategy, self.strategy)
        else:
            self.strategy = form.to_strategy(start).astype(dtype)
        self._kept = np.zeros(0, dtype)
        self.roots, self.values = form.vectors(dtype)  # [2, roots]  reach and values, by round subtree and hand
        self._lanes = np.diff(form.table.group_lane)  # sequences are in another order where these are others
        if rows is not None:
            rows.hold(self.regret, self.strategy)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        state = {"regret": self.regret, "average": self.average, "strategy": self.strategy}
        return {**state, "lanes": self._lanes}

    def restore(self) -> None:
        """Nothing follows from the state; it must be in the order of this form's lanes."""
        if (self._lanes != np.diff(self.form.table.group_lane)).any():
            raise ArtefactError("the saved state of the run has another layout than this version uses; start a new "
                                "run")

    def iterate(self, rule: Rule, done: int, count: int, threads: int) -> None:
        """`count` iterations after `done`. Threads share each; the bytes do not depend on how many there are."""
        if self.rows is None:
            self._iterate(rule, done, count, threads)
            return
        # Discounts make nothing of all regrets in the first iteration, those of frozen rows too: begin at the second.
        later = int(math.isfinite(rule.alpha) or math.isfinite(rule.beta))
        last = done + count
        while done < last:
            if done % RENEW == 0:  # numbers of iterations, not of calls: a run is the same however it is cut
                self.rows.hold(self.regret, self.strategy)
            step = min(last, (done // RENEW + 1) * RENEW) - done
            self._iterate(rule, done + later, step, threads)
            done += step

    def _iterate(self, rule: Rule, done: int, count: int, threads: int) -> None:
        from kibitz.core.barrier import gate_of
        from kibitz.poker.exact.kernels.cfr import Learned, Vectors, iterate

        if not rule.alternating and not len(self._kept):
            self._kept = np.zeros(self.form.sequences, self.dtype)
        learned = Learned(self.regret, self.strategy, self.average, self._kept)
        vectors = Vectors(self.roots, self.values)
        tiny = NOISE * self.form.scale
        workspaces = [self.form.workspace(thread, threads, gate_of(1), self.dtype) for thread in range(threads)]

        def share(done: int, count: int, threads: int) -> None:
            gate = gate_of(threads)

            def work(thread: int) -> None:
                workspace = workspaces[thread]._replace(threads=threads, gate=gate)
                iterate(self.form.table, rule, learned, vectors, done, count, tiny, workspace)

            together(work, threads)

        if self._pace is None or self._pace.most != threads:
            self._pace = Pace(threads)
        self._pace.run(share, done, count)

    def looked(self, seat: int) -> float:
        """What a seat wins at most against the other's average strategy."""
        return self.form.looked(seat, self.average)

    def solution(self) -> NDArray[Any]:
        """The average strategy by sequence, in the place of the average: the run is over then."""
        self.form._normalise(self.average, self.average)
        return self.average

    def probabilities(self, begun: bool) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        weights = self.average if begun else self.strategy
        return self.form.to_probabilities(weights) if self.rows is None else self.rows.probabilities(weights)

    def measure(self, begun: bool) -> Measure:
        """What that is worth, without a copy of it."""
        weights = self.average if begun else self.strategy
        return self.form.measure_weights(weights) if self.rows is None else self.rows.measure(weights)
