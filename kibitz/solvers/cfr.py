"""CFR and its family on the sequence form: each variant is a Rule, a handful of numbers for one compiled loop."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import SpecError
from kibitz.form.rows import RowMap, row_map
from kibitz.solvers import Task

if TYPE_CHECKING:
    from kibitz.kernels.cfr import Rule

Floats = NDArray[np.float64]
Make = Callable[[Task, str], "Cfr"]

AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0}
# A sum of positive regrets below this share of the largest payoff is rounding noise, not a preference.
NOISE = 1e-14
MOST_GAMMA = 30


def _rule(updates: str, averaging: str, delay: int, **rule: float) -> Make:
    if updates not in ("alternating", "simultaneous"):
        raise SpecError(f"updates={updates}: choose alternating or simultaneous")
    if averaging not in AVERAGING:
        raise SpecError(f"averaging={averaging}: choose uniform, linear or quadratic")
    if delay < 0:
        raise SpecError(f"delay={delay} must not be negative")
    settings = {
        "alpha": math.inf, "beta": math.inf, "gamma": AVERAGING[averaging], "floor": -math.inf, "prediction": 0.0,
        **rule, "delay": float(delay),
    }  # fmt: skip

    def make(task: Task, spec: str) -> Cfr:
        from kibitz.kernels.cfr import Rule

        return Cfr(task, spec, Rule(alternating=updates == "alternating", **settings))

    return make


def cfr(updates: str = "alternating", averaging: str = "uniform", delay: int = 0) -> Make:
    return _rule(updates, averaging, delay)


def cfr_plus(updates: str = "alternating", averaging: str = "linear", delay: int = 0) -> Make:
    return _rule(updates, averaging, delay, floor=0.0)


def lcfr(updates: str = "alternating", averaging: str = "linear", delay: int = 0) -> Make:
    return _rule(updates, averaging, delay, alpha=1.0, beta=1.0)


def dcfr(
    alpha: float = 1.5, beta: float = 0.0, gamma: float = 2.0, updates: str = "alternating", delay: int = 0
) -> Make:
    if not 0 <= gamma <= MOST_GAMMA:
        raise SpecError(f"gamma={gamma} must be from 0 to {MOST_GAMMA}: beyond, weights of the average overflow")
    return _rule(updates, "uniform", delay, alpha=float(alpha), beta=float(beta), gamma=float(gamma))


def pcfr_plus(updates: str = "alternating", averaging: str = "quadratic", delay: int = 0) -> Make:
    return _rule(updates, averaging, delay, floor=0.0, prediction=1.0)


class Cfr:
    """Regret matching in every row. `probabilities` is the average strategy, which converges in two-player
    zero-sum games with perfect recall; elsewhere it is a strong heuristic without a promise.

    Departs from the papers: the average of iteration t is of the plan that the iteration arrives at, not of the
    one it started from, which is the one thing that alternating updates make the seats agree on.
    """

    exact = False

    def __init__(self, task: Task, spec: str, rule: Rule) -> None:
        from kibitz.kernels.cfr import State

        form = task.form
        self.task, self.spec, self.rule, self.iteration = task, spec, rule, 0
        # Infosets with several points (imperfect recall) share a row too.
        self.rows: RowMap | None = task.rows or (None if form.perfect_recall else row_map(form))
        if not form.points:  # nobody ever moves
            self.rows = None
        start = form.uniform() if task.start is None else task.start
        zeros = np.zeros(form.sequences)
        none = np.zeros(0)
        if self.rows is None:
            strategy = form.to_strategy(start)
            self._space = State(
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
            self._space = State(
                np.zeros(columns), zeros, strategy, own * kernel.frozen_reach, zeros.copy(),
                np.zeros(form.points), np.zeros(columns), np.zeros(columns), chosen, own,
            )  # fmt: skip

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        held = {"regret": self._space.regret, "average": self._space.average, "strategy": self._space.strategy}
        if self.rows is not None:
            held["chosen"] = self._space.chosen
        return held

    def restore(self) -> None:
        """Recompute what follows from the state after its arrays were overwritten."""
        form = self.task.form
        if self.rows is None:
            self._space.plan[:] = form.plan(self._space.strategy)
        else:
            self._space.own[:] = form.plan(self._space.chosen)
            self._space.plan[:] = self._space.own * self.rows.kernel.frozen_reach

    def step(self, count: int) -> None:
        """Run `count` iterations. Threads share each iteration; the bytes do not depend on how many there are."""
        from kibitz.kernels import cfr as kernels

        form, threads = self.task.form, self.task.threads
        gate = np.zeros(16, np.int64)
        tiny = NOISE * form.scale

        def work(thread: int) -> None:
            common = (self.rule, self._space, self.iteration, count, tiny, thread, threads, gate)
            if self.rows is None:
                kernels.iterate(form.packed, *common)
            else:
                kernels.iterate_rows(form.packed, self.rows.kernel, *common)

        helpers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(1, threads)]
        for helper in helpers:
            helper.start()
        work(0)
        for helper in helpers:
            helper.join()
        self.iteration += count

    def probabilities(self) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        form = self.task.form
        average = self._space.average if self.iteration else self._space.plan
        return form.to_probabilities(average) if self.rows is None else self.rows.lift(average)
