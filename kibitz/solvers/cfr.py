"""CFR and its family on the sequence form: each variant is a Rule, a handful of numbers for one compiled loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError, SpecError
from kibitz.forms.choice import without_gradients
from kibitz.forms.protocol import CfrForm, GpuForm
from kibitz.solvers import Task, check

if TYPE_CHECKING:
    from kibitz.forms.kernels.cfr import Rule
    from kibitz.forms.protocol import CfrState, Measure

Floats = NDArray[np.float64]
Make = Callable[[Task, str], "Cfr"]

AVERAGING = {"uniform": 0.0, "linear": 1.0, "quadratic": 2.0}
MOST_GAMMA = 30


def _rule(updates: str, averaging: str, delay: int, **rule: float) -> Make:
    check("updates", updates, ("alternating", "simultaneous"))
    check("averaging", averaging, AVERAGING)
    if delay < 0:
        raise SpecError(f"delay={delay} must not be negative")
    settings = {
        "alpha": math.inf, "beta": math.inf, "gamma": AVERAGING[averaging], "floor": -math.inf, "prediction": 0.0,
        **rule, "delay": delay,
    }  # fmt: skip
    gamma, numbers = settings["gamma"], {name: float(x) for name, x in settings.items()}
    if not 0 <= gamma <= MOST_GAMMA:
        raise SpecError(f"gamma={gamma} must be from 0 to {MOST_GAMMA}: larger values overflow the weights of the "
                        "average")

    def make(task: Task, spec: str) -> Cfr:
        from kibitz.forms.kernels.cfr import Rule

        return Cfr(task, spec, Rule(alternating=updates == "alternating", **numbers))

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
    return _rule(updates, "uniform", delay, alpha=alpha, beta=beta, gamma=gamma)


def dcfr_plus(alpha: float = 1.5, gamma: float = 4.0, updates: str = "alternating", delay: int = 0) -> Make:
    return _discounted_plus(alpha, gamma, updates, delay, 0.0)


def pdcfr_plus(alpha: float = 2.3, gamma: float = 5.0, updates: str = "alternating", delay: int = 0) -> Make:
    return _discounted_plus(alpha, gamma, updates, delay, 1.0)


def _discounted_plus(alpha: float, gamma: float, updates: str, delay: int, prediction: float) -> Make:
    """Departs from [Xu et al. 2024]: t^alpha / (t^alpha + 1) of regrets are kept, as in dcfr; there 1 is 1.5."""
    return _rule(updates, "uniform", delay, alpha=alpha, beta=alpha, gamma=gamma, floor=0.0, prediction=prediction)


def pcfr_plus(updates: str = "alternating", averaging: str = "quadratic", delay: int = 0) -> Make:
    return _rule(updates, averaging, delay, floor=0.0, prediction=1.0)


def _state(task: Task, form: CfrForm) -> CfrState:
    """Where a run keeps its numbers. Other forms than that of a tree know of their device."""
    if task.device == "gpu" and isinstance(form, GpuForm):
        return form.gpu_cfr_state(task.rows, task.start)
    return form.cfr_state(task.rows, task.start)


class Cfr:
    """Regret matching in every row. `probabilities` is the average strategy, which converges in two-player
    zero-sum games with perfect recall; elsewhere it is a strong heuristic without a promise.

    Departs from the papers: the average of iteration t is of the plan that the iteration arrives at, not of the
    one it started from, which is the one thing that alternating updates make the seats agree on.
    """

    exact = False

    def __init__(self, task: Task, spec: str, rule: Rule) -> None:
        self.task, self.spec, self.rule, self.iteration = task, spec, rule, 0
        if not isinstance(task.form, CfrForm):
            raise SolverError(without_gradients(task.form))
        self.cfr_state = _state(task, task.form)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return self.cfr_state.state

    def restore(self) -> None:
        """Recompute what follows from the state after its arrays were overwritten."""
        self.cfr_state.restore()

    def step(self, count: int) -> None:
        """Run `count` iterations. Threads share each iteration; the bytes do not depend on how many there are."""
        self.cfr_state.iterate(self.rule, self.iteration, count, self.task.threads)
        self.iteration += count

    def probabilities(self) -> Floats:
        """The average strategy by infoset column (before the first iteration: the start)."""
        return self.cfr_state.probabilities(self.iteration > 0)

    def measure(self) -> Measure:
        """What that is worth, exactly."""
        return self.cfr_state.measure(self.iteration > 0)
