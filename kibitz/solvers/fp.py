"""Fictitious play, and plain best responses, on the sequence form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.solvers import Task

Floats = NDArray[np.float64]


def fp() -> Callable[[Task, str], FictitiousPlay]:
    return lambda task, spec: FictitiousPlay(task, spec, once=False)


def br() -> Callable[[Task, str], FictitiousPlay]:
    return lambda task, spec: FictitiousPlay(task, spec, once=True)


class FictitiousPlay:
    """In iteration t each seat best responds to the others' average plans, and moves 1/(t+1) of the way there.

    Averaging plans, not probabilities, is what makes this fictitious play of the whole game [Heinrich et al. 2015].
    With `once` (the solver br) a single iteration goes all the way: best responses to the start.
    """

    def __init__(self, task: Task, spec: str, once: bool) -> None:
        if task.rows is not None:
            raise SolverError(f"{spec} works on the whole game: with an abstraction or frozen rows use cfr+")
        if not task.form.perfect_recall:
            raise SolverError(f"{spec} needs perfect recall, which this game does not have: use cfr+")
        form = task.gradients
        self.task, self.spec, self.exact, self.iteration = task, spec, once, 0
        start = form.uniform() if task.start is None else task.start
        self.start = form.to_strategy(start)
        self.plan = form.plan(self.start)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {"plan": self.plan}

    def restore(self) -> None:
        """Nothing follows from the state."""

    def step(self, count: int) -> None:
        form = self.task.gradients
        if self.exact:
            if self.iteration == 0:
                form.best_plans(self.plan, 0, 1, 1.0)
                self.iteration = 1
            return
        form.best_plans(self.plan, self.iteration, count, 0.0)
        self.iteration += count

    def probabilities(self) -> Floats:
        return self.task.gradients.to_probabilities(self.plan)
