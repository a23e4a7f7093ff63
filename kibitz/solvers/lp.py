"""The sequence-form linear programme, solved by HiGHS [von Stengel 1996; Koller, Megiddo & von Stengel 1996].

For two players and zero sum, with plans x and y, treeplex constraints E x = e and F y = f, and A the payoffs to
seat 0, an equilibrium plan x solves

    maximise f'q   subject to   E x = e,  F'q <= A'x,  x >= 0.

The duals of F'q <= A'x are seat 1's plan, so one programme gives both strategies and the value.

HiGHS has absolute tolerances and takes entries below 1e-9 for zero, so payoffs are divided by a scale: the largest one,
and where they are far apart smaller ones too. An answer is held against its gap in the game before it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError, SpecError
from kibitz.forms.choice import without_gradients
from kibitz.forms.protocol import GradientForm
from kibitz.solvers import Task

Floats = NDArray[np.float64]
SCALES = (1.0, 1e-6, 1e-9, 1e-12)  # shares of the largest payoff to divide by, tried in turn
EXACT = 1e-6  # the largest gap of an answer, as a share of what is at stake when it is played
ENOUGH = 1e-9  # a gap that makes further trials needless
NOISE = 1e-9  # a gap that is no matter at all, as a share of the smallest payoff times chance
METHODS = {"auto": "highs", "simplex": "highs-ds", "ipm": "highs-ipm", "pdlp": "pdlp"}
PDLP_TOLERANCE = 1e-8  # of the programme: what is exact is judged in the game
PDLP_ITERATIONS = 2_000_000


def lp(method: str = "auto") -> Callable[[Task, str], Lp]:
    if method not in METHODS:
        raise SpecError(f"method={method}: choose auto, simplex, ipm or pdlp")
    return lambda task, spec: Lp(task, spec, METHODS[method])


def refusal(task: Task) -> str:
    """Why the programme cannot be used for a task; empty if it can."""
    form = task.form
    if not isinstance(form, GradientForm):
        return without_gradients(form)
    if form.seats != 2:
        return f"lp solves two-player games; this one has {form.seats} players: use cfr+ or mccfr"
    if not form.zero_sum:
        return "lp solves zero-sum games; here payoffs do not sum to zero: use cfr+ or fp"
    if not form.perfect_recall:
        return "lp needs perfect recall, which this game does not have: use cfr+"
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
        if self.iteration:
            return
        form = self.task.gradients
        payoffs = form.payoff_matrix()
        data = np.abs(payoffs.data) if payoffs.nnz else np.ones(1)
        least, noise, stake = float("inf"), NOISE * float(data.min()), 0.0
        reasons: list[str] = []
        for share in SCALES:
            answer, reason = self._solved(payoffs, share * form.scale)
            if answer is None:
                reasons.append(reason)
                continue
            gap, at_stake = self._judged(answer[0], payoffs)
            if gap < least:
                least, stake, (self.weights[:], self.value) = gap, at_stake, answer
            if least <= max((EXACT if self.method == "pdlp" else ENOUGH) * stake, noise):
                break
        if least > max(EXACT * stake, noise):
            if not np.isfinite(least):
                raise SolverError(f"HiGHS did not solve the programme: {reasons[0]}; try lp(method=ipm) or cfr+")
            raise SolverError(
                f"the linear programme's best answer has a gap of {least:.3g} where {stake:.3g} is at stake, so it is "
                f"not exact: payoffs times chances, from {data.min():.3g} to {data.max():.3g}, are too far apart for "
                "it; use cfr+"
            )
        self.iteration = 1

    def _solved(self, payoffs: Any, scale: float) -> tuple[tuple[Floats, float] | None, str]:
        """(plans of both seats, value) by the programme with payoffs over a scale; or None, and why."""
        from scipy.sparse import bmat, csc_matrix

        form = self.task.gradients
        own, own_side = form.constraints(0)
        his, his_side = form.constraints(1)
        # Variables (x >= 0, q free), as HiGHS wants it: minimise -f'q with F'q - A'x <= 0 and E x = e.
        cost = np.concatenate((np.zeros(own.shape[1]), -his_side))
        upper = bmat([[-(payoffs / scale).T, his.T]], format="csc")
        equal = bmat([[own, csc_matrix((own.shape[0], his.shape[0]))]], format="csc")
        lower = np.concatenate((np.zeros(own.shape[1]), np.full(his.shape[0], -np.inf)))
        solve = _by_pdlp if self.method == "pdlp" else _by_scipy
        primal_and_dual, reason = solve(cost, upper, equal, own_side, lower, self.method)
        if primal_and_dual is None:
            return None, reason
        x, duals = primal_and_dual
        plans = np.concatenate((x[: own.shape[1]], -duals))
        return (np.maximum(plans, 0.0), -float(cost @ x) * scale), ""

    def _judged(self, weights: Floats, payoffs: Any) -> tuple[float, float]:
        """(gap of an answer in the game, what is at stake when it is played: the expected size of a payoff)."""
        form = self.task.gradients
        probabilities = form.to_probabilities(weights)
        plan = form.plan(form.to_strategy(probabilities))
        second = int(form.seat_sequence[1])
        stake = float(plan[:second] @ (abs(payoffs) @ plan[second:]))
        return form.measure(probabilities).nash_conv, stake

    def probabilities(self) -> Floats:
        """Behaviour from the plans; infosets that a plan never reaches are uniform."""
        return self.task.gradients.to_probabilities(self.weights)


Found = tuple[tuple[Floats, Floats] | None, str]


def _by_scipy(cost: Floats, upper: Any, equal: Any, side: Floats, lower: Floats, method: str) -> Found:
    """(x, duals of upper x <= 0) that minimise cost x with equal x = side; or None, and why."""
    from scipy.optimize import linprog

    bounds = np.column_stack((lower, np.full(len(lower), np.inf)))
    answer = linprog(
        cost, A_ub=upper, b_ub=np.zeros(upper.shape[0]), A_eq=equal, b_eq=side, bounds=bounds, method=method
    )
    if answer.status != 0:
        return None, str(answer.message)
    return (answer.x, answer.ineqlin.marginals), ""


def _by_pdlp(cost: Floats, upper: Any, equal: Any, side: Floats, lower: Floats, method: str) -> Found:
    """The same by HiGHS's first-order method, which SciPy does not offer [Applegate et al. 2021]."""
    try:
        import highspy
    except ImportError:
        raise SolverError("lp(method=pdlp) needs the package highspy: pip install 'kibitz[pdlp]'") from None
    from scipy.sparse import vstack

    matrix = vstack((upper, equal), format="csc")
    programme = highspy.HighsLp()
    programme.num_row_, programme.num_col_ = matrix.shape
    programme.col_cost_, programme.col_lower_ = cost, lower
    programme.col_upper_ = np.full(len(cost), highspy.kHighsInf)
    programme.row_lower_ = np.concatenate((np.full(upper.shape[0], -highspy.kHighsInf), side))
    programme.row_upper_ = np.concatenate((np.zeros(upper.shape[0]), side))
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_, programme.a_matrix_.index_ = matrix.indptr, matrix.indices
    programme.a_matrix_.value_ = matrix.data
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call, unused-ignore]
    options = {
        "output_flag": False, "solver": "pdlp", "kkt_tolerance": PDLP_TOLERANCE,
        "pdlp_iteration_limit": PDLP_ITERATIONS,
    }  # fmt: skip
    for name, value in options.items():
        highs.setOptionValue(name, value)
    highs.passModel(programme)
    highs.run()
    status = highs.getModelStatus()
    solution = highs.getSolution()
    if not solution.value_valid or not solution.dual_valid:
        return None, f"PDLP ended with {highs.modelStatusToString(status)}"
    return (np.array(solution.col_value), np.array(solution.row_dual)[: upper.shape[0]]), ""
