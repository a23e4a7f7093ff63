"""Iterated smoothing [Gilpin, Pena & Sandholm 2012], on every form.

The gap of plans z = (x_0, x_1) is F(z) = U_0(x_1) + U_1(x_0), where U_i is the most that seat i can get against the
other's plan. It is smoothed: F_mu(z) has smoothed best responses, with mu times a prox function, and a gradient, which
is made of the responses' plans. An accelerated gradient method [Nesterov 2005] brings the gap from where it is to 1/e
of it; then mu shrinks and the method starts anew from there, as the centre of both prox functions. As gaps
grow in proportion to the distance from equilibrium, each round takes about as many iterations as the one
before: the gap shrinks geometrically.

A round has plans z, a sum h of gradients with weights a, the sum A of these, and w, which minimises h's model of F plus
the prox function. Iteration:

    theta = a / (A + a);  u = (1 - theta) z + theta w;  add a times the gradient at u to h;  new w;
    z = (1 - theta) z + theta w

A F_mu(z) is at most the model's minimum after each iteration (the invariant), from which follows that F_mu(z) is
at most d(z*) / A above its minimum. a is the root of a^2 = rate (A + a). Theory's rate is mu over the squared norm
of the payoffs. Here the rate is halved when the invariant would fail, and doubled at the start of a round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.solvers import Task
from kibitz.solvers.egt import mixed
from kibitz.solvers.prox import PROX, WEIGHTS, Prox, check, refuse

Floats = NDArray[np.float64]
ROUNDING = 1e-13  # of the largest payoff
FIRST_RATE = 1e3  # times mu
LEAST_RATE = 1e-9
MU_LEAVES = 1.5  # times 1/e of mu are left for the next round
BOTH = (0, 1)
# Places of numbers in the state.
MU, RATE, WEIGHT, MODEL, TARGET, LEAST, INNER, BEFORE = range(8)


def smoothing(prox: str = "euclidean", weights: str = "count") -> Callable[[Task, str], Smoothing]:
    check("prox", prox, PROX)
    check("weights", weights, WEIGHTS)
    return lambda task, spec: Smoothing(task, spec, prox, weights)


class Smoothing:
    """`probabilities` are of the plans with the smallest gap so far. An iteration takes four gradients."""

    exact = False

    def __init__(self, task: Task, spec: str, prox: str, weights: str) -> None:
        refuse(task, spec)
        self.task, self.spec, self.iteration = task, spec, 0
        form, self.prox = task.gradients, Prox(task, prox, weights)
        self.scale = form.scale
        self.best = form.plan(form.to_strategy(form.uniform() if task.start is None else task.start))
        self.plan, self.worth = self.best.copy(), np.empty(form.sequences)  # z, and what it is to play against
        self.gradients = np.zeros(form.sequences)  # h
        self.centre = np.empty(form.sequences)
        self.numbers = np.zeros(8)
        self._model_plan: tuple[list[Floats], list[Floats]] | None = None  # w and its worth: from the state
        for seat in BOTH:
            self._of(self.worth, seat)[:] = self.prox.worth(seat, self._of(self.plan, 1 - seat))
        responses = [self.prox.respond(seat, 0.0, self._of(self.worth, seat)) for seat in BOTH]
        self.numbers[LEAST] = sum(value for value, _ in responses)
        far = sum(self.prox.distance(seat, plan) for seat, (_, plan) in enumerate(responses))
        self.numbers[MU] = self.numbers[LEAST] / (2.0 * far) if far > 0.0 and self.numbers[LEAST] > 0.0 else 1.0
        self.numbers[RATE] = FIRST_RATE * self.numbers[MU]
        self._begin()

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {
            "best": self.best, "plan": self.plan, "worth": self.worth, "gradients": self.gradients,
            "centre": self.centre, "numbers": self.numbers,
        }  # fmt: skip

    def restore(self) -> None:
        """w follows from the state."""
        self._model_plan = None

    def _of(self, array: Floats, seat: int) -> Floats:
        return array[self.prox.cuts[seat]]

    def _begin(self) -> None:
        """A round from the best plans so far."""
        self.numbers[TARGET] = self.numbers[LEAST] / math.e
        self.numbers[BEFORE] = self.numbers[LEAST]
        self._again()

    def _again(self) -> None:
        """The same round, from the best plans so far."""
        self.plan[:] = self.best
        inside = min(0.01, self.numbers[LEAST] / self.scale)
        for seat in BOTH:
            local = self.prox.localise(seat, self._of(self.best, seat))
            self._of(self.centre, seat)[:] = self.prox.inside(seat, local, inside)
            self._of(self.worth, seat)[:] = self.prox.worth(seat, self._of(self.best, 1 - seat))
        self.gradients[:] = 0.0
        self.numbers[[WEIGHT, MODEL, INNER]] = 0.0
        self._model_plan = None

    def step(self, count: int) -> None:
        for _ in range(count):
            if self.numbers[LEAST] > ROUNDING * self.scale and self.numbers[RATE] > 0.0:
                self._step()
            self.iteration += 1

    def _step(self) -> None:
        """One accelerated step: the gradients of F_mu at u, a new w and a new z, unless that breaks the invariant."""
        prox, numbers, of = self.prox, self.numbers, self._of
        mu, rate, before, model = (float(numbers[place]) for place in (MU, RATE, WEIGHT, MODEL))
        a = 0.5 * (rate + math.sqrt(rate * rate + 4.0 * rate * before))
        after, theta = before + a, a / (before + a)
        _, against = self._w()
        replies, shift = [], 0.0
        for seat in BOTH:
            worth = mixed(of(self.worth, seat), against[seat], theta)
            value, plan = prox.respond(seat, mu, worth, of(self.centre, seat))
            replies.append(plan)
            shift += float(worth @ plan) - value
        gradients = [of(self.gradients, seat) + a * prox.worth(seat, replies[1 - seat]) for seat in BOTH]
        responses = [prox.respond(seat, 1.0, gradients[seat], of(self.centre, seat)) for seat in BOTH]
        plans = [plan for _, plan in responses]
        against = [prox.worth(seat, plans[1 - seat]) for seat in BOTH]
        worths = [mixed(of(self.worth, seat), against[seat], theta) for seat in BOTH]
        smoothed = sum(prox.respond(seat, mu, worths[seat], of(self.centre, seat))[0] for seat in BOTH)
        least = -sum(value for value, _ in responses) - (model + a * shift)
        if after * smoothed > least + ROUNDING * after * self.scale:
            numbers[RATE] = 0.5 * rate
            return
        numbers[WEIGHT], numbers[MODEL] = after, model + a * shift
        numbers[INNER] += 1.0
        for seat in BOTH:
            of(self.plan, seat)[:] = mixed(of(self.plan, seat), plans[seat], theta)
            of(self.worth, seat)[:], of(self.gradients, seat)[:] = worths[seat], gradients[seat]
        self._model_plan = plans, against
        if smoothed <= numbers[TARGET]:
            self._look(smoothed)

    def _w(self) -> tuple[list[Floats], list[Floats]]:
        if self._model_plan is None:
            plans = [
                self.prox.respond(seat, 1.0, self._of(self.gradients, seat), self._of(self.centre, seat))[1]
                for seat in BOTH
            ]
            self._model_plan = plans, [self.prox.worth(seat, plans[1 - seat]) for seat in BOTH]
        return self._model_plan

    def _look(self, smoothed: float) -> None:
        """Keep the best plans; end the round at its target, or begin it again with less smoothing."""
        numbers = self.numbers
        gap = sum(self.prox.respond(seat, 0.0, self._of(self.worth, seat))[0] for seat in BOTH)
        if gap < numbers[LEAST]:
            numbers[LEAST] = gap
            self.best[:] = self.plan
        if gap <= numbers[TARGET]:
            numbers[MU] *= MU_LEAVES / math.e
            numbers[RATE] *= 2.0 / math.e
            self._begin()
        elif smoothed <= 0.5 * numbers[TARGET] and numbers[INNER] > 3:
            numbers[[MU, RATE]] *= 0.5
            self._again()

    def probabilities(self) -> Floats:
        return self.task.gradients.to_probabilities(self.best)
