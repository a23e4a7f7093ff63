"""The sequence-form linear programme, solved by HiGHS [von Stengel 1996; Koller, Megiddo & von Stengel 1996].

For two players and zero sum, with plans x and y, treeplex constraints E x = e and F y = f, and A the payoffs to
seat 0, an equilibrium plan x solves

    maximise f'q   subject to   E x = e,  F'q <= A'x,  x >= 0.

The duals of F'q <= A'x are seat 1's plan, so one programme gives both strategies and the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import SolverError, SpecError
from kibitz.solvers import Task

Floats = NDArray[np.float64]
METHODS = {"auto": "highs", "simplex": "highs-ds", "ipm": "highs-ipm"}


def lp(method: str = "auto") -> Callable[[Task, str], Lp]:
    if method not in METHODS:
        raise SpecError(f"method={method}: choose auto, simplex or ipm")
    return lambda task, spec: Lp(task, spec, METHODS[method])


def refusal(task: Task) -> str:
    """Why the programme cannot be used for a task; empty if it can."""
    form = task.form
    if form.seats != 2:
        return f"lp solves two-player games; this one has {form.seats} players: use cfr+ or mccfr"
    if not form.zero_sum:
        return "lp solves zero-sum games; here payoffs do not sum to zero: use cfr+ or fp"
    if not form.perfect_recall:
        return "lp needs perfect recall, and a seat of this game forgets what it did: use cfr+"
    if task.rows is not None:
        return "lp solves the whole game: with an abstraction or frozen rows use cfr+"
    return ""


class Lp:
    """One step is the whole answer."""

    exact = True

    def __init__(self, task: Task, spec: str, method: str) -> None:
        reason = refusal(task)
        if reason:
            raise SolverError(reason)
        self.task, self.spec, self.method, self.iteration = task, spec, method, 0
        self.weights = np.zeros(task.form.sequences)
        self.value = float("nan")

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights}

    def restore(self) -> None:
        """Nothing follows from the state."""

    def step(self, count: int) -> None:
        from scipy.optimize import linprog
        from scipy.sparse import bmat, csc_matrix

        if self.iteration:
            return
        form = self.task.form
        payoffs = form.payoff_matrix() / form.scale  # HiGHS has absolute tolerances
        own, own_side = form.constraints(0)
        his, his_side = form.constraints(1)
        # Variables (x >= 0, q free), as HiGHS wants it: minimise -f'q with F'q - A'x <= 0 and E x = e.
        answer = linprog(
            np.concatenate((np.zeros(own.shape[1]), -his_side)),
            A_ub=bmat([[-payoffs.T, his.T]], format="csc"),
            b_ub=np.zeros(payoffs.shape[1]),
            A_eq=bmat([[own, csc_matrix((own.shape[0], his.shape[0]))]], format="csc"),
            b_eq=own_side,
            bounds=np.column_stack(
                (
                    np.concatenate((np.zeros(own.shape[1]), np.full(his.shape[0], -np.inf))),
                    np.full(own.shape[1] + his.shape[0], np.inf),
                )
            ),
            method=self.method,
        )
        if answer.status != 0:
            raise SolverError(f"HiGHS did not solve the programme: {answer.message}; try lp(method=ipm) or cfr+")
        plans = np.concatenate((answer.x[: own.shape[1]], -answer.ineqlin.marginals))
        self.weights[:] = np.maximum(plans, 0.0)
        self.value = -float(answer.fun) * form.scale
        self.iteration = 1

    def probabilities(self) -> Floats:
        """Behaviour from the plans; infosets that a plan never reaches are uniform."""
        return self.task.form.to_probabilities(self.weights)
