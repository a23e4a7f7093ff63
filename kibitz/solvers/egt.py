"""The excessive gap technique [Nesterov 2005; Hoda, Gilpin, Pena & Sandholm 2010], on every form.

For seat i let U_i(x) be the most that it can get against the other's plan x, and S_i(x) the most that it can get less
mu_i times its prox function: by a smoothed best response. The gap of plans (x_0, x_1) is U_0(x_1) + U_1(x_0).
The technique keeps the excessive gap condition

    S_0(x_1) + S_1(x_0) <= 0

while it shrinks mu_0 and mu_1: as S_i lacks at most mu_i times the largest prox of U_i, the gap shrinks with them. A
step with tau shrinks mu_i to (1 - tau) mu_i:

    x_i  moves tau of the way to the smoothed response, for a moment
    x_j  moves tau of the way to the smoothed response to that, for good
    x_i  moves tau of the way to the smoothed response, with the new mu_i, to that

If responses lie inside the simplex, the last line is Nesterov's prox mapping. If they do not, his proof still works: it
needs a lower bound on a quantity, and the response minimises this quantity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.solvers import Task, check
from kibitz.solvers.lp import refuse
from kibitz.solvers.prox import PROX, WEIGHTS, Prox

Floats = NDArray[np.float64]
STEPS = ("aggressive", "conservative")
FIRST_TAU = 0.5
LEAST = 1e-13  # of a payoff, and of tau: below this rounding decides
RENEW = 256  # worths are sums over steps: after so many they are worked out anew
BALANCE = 100  # steps between two tries to shrink the larger mu on its own
SHRINK = 0.9
SEARCH = 24  # times four, or a quarter
APART = 1.01  # mus that are so near are balanced


def egt(
    prox: str = "entropy", steps: str = "aggressive", balance: bool = True, weights: str = "count"
) -> Callable[[Task, str], Egt]:
    check("prox", prox, PROX)
    check("steps", steps, STEPS)
    check("weights", weights, WEIGHTS)
    return lambda task, spec: Egt(task, spec, prox, steps == "aggressive", balance, weights)


class Egt:
    """`probabilities` are of the plans x_0 and x_1.

    steps: "conservative" starts with the mu that theory asks for and takes tau = 2 / (k + 3) in step k. "aggressive"
    starts with the least mu for which the condition holds, and with tau = 0.5, which is halved whenever the condition
    would fail [Gilpin, Hoda, Pena & Sandholm 2007]. balance: the larger mu is shrunk; from time to time, as long as the
    condition holds, with plans as they are. Without it the seats take turns.
    """

    exact = False

    def __init__(self, task: Task, spec: str, prox: str, aggressive: bool, balance: bool, weights: str) -> None:
        refuse(task, spec)
        self.task, self.spec, self.iteration = task, spec, 0
        self.aggressive, self.balance = aggressive, balance
        form = task.form
        self.prox = Prox(task, prox, weights)
        self.plan = np.empty(form.sequences)
        self.worth = np.empty(form.sequences)  # of each seat's sequences against the other's plan
        self.numbers = np.zeros(3)  # mu_0, mu_1, tau
        self.centre = self.prox.centre(task.start)
        # By seat: its smoothed response, and what the other's sequences are worth against that. From the state.
        self._answers: list[tuple[Floats, Floats | None] | None] = [None, None]
        self._start()

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        return {"plan": self.plan, "worth": self.worth, "numbers": self.numbers, "centre": self.centre}

    def restore(self) -> None:
        """Smoothed responses follow from the state."""
        self._answers = [None, None]

    @property
    def mu(self) -> tuple[float, float]:
        return float(self.numbers[0]), float(self.numbers[1])

    def excess(self) -> float:
        """S_0(x_1) + S_1(x_0), which the excessive gap condition keeps at 0 or below."""
        return sum(self._smoothed(seat, self.mu[seat], self._worth(seat))[0] for seat in (0, 1))

    def _plan(self, seat: int) -> Floats:
        return self.plan[self.prox.cuts[seat]]

    def _worth(self, seat: int) -> Floats:
        return self.worth[self.prox.cuts[seat]]

    def _smoothed(self, seat: int, mu: float, worth: Floats) -> tuple[float, Floats]:
        return self.prox.respond(seat, mu, worth, self.prox.of_seat(self.centre, seat))

    # The start

    def _start(self) -> None:
        """Plans that have the condition: the response to the other's centre, and the response to that."""
        if not self.aggressive:
            mu = self.prox.norm() / float(np.sqrt(self.prox.modulus(0) * self.prox.modulus(1)))
            while self._try(mu) > 0.0:
                mu *= 2.0
        else:
            mu = self.task.form.scale / max(1.0, *(float(each.max(initial=0.0)) for each in self.prox.weights))
            grow = self._try(mu) > 0.0
            for _ in range(SEARCH):
                if (self._try(mu * 4.0 if grow else mu / 4.0) > 0.0) != grow:
                    break
                mu = mu * 4.0 if grow else mu / 4.0
            mu = mu * 4.0 if grow else mu  # here it holds, and at a quarter it does not
            for _ in range(6):
                if self._try(0.8 * mu) > 0.0:
                    break
                mu *= 0.8
            while self._try(mu) > 0.0:
                mu *= 2.0
        self.numbers[2] = FIRST_TAU

    def _try(self, mu: float) -> float:
        """Start with mu for both seats; returns the excess."""
        centre = self.prox.centre_plan(self.centre, 0)
        _, plan = self._smoothed(1, mu, self.prox.worth(1, centre))
        self._plan(1)[:] = plan
        self._worth(0)[:] = self.prox.worth(0, plan)
        first, plan = self._smoothed(0, mu, self._worth(0))
        self._plan(0)[:] = plan
        self._worth(1)[:] = self.prox.worth(1, plan)
        self.numbers[:2] = mu
        self._answers = [None, None]
        return first + self._smoothed(1, mu, self._worth(1))[0]

    # Steps

    def step(self, count: int) -> None:
        for _ in range(count):
            self._step()
            self.iteration += 1
            if self.iteration % RENEW == 0:
                for seat in (0, 1):
                    self._worth(seat)[:] = self.prox.worth(seat, self._plan(1 - seat))
                self._answers = [None, None]
                self._hold()
            if self.balance and self.iteration % BALANCE == 0:
                self._balance()

    def _step(self) -> None:
        """Shrink the mu of one seat."""
        i = self._seat()
        j = 1 - i
        mu, other = self.mu[i], self.mu[j]
        if mu * float(self.prox.heaviest[i]) < LEAST * self.task.form.scale or self.numbers[2] < LEAST:
            return  # rounding would decide
        against = self._against(i)
        tau = float(self.numbers[2]) if self.aggressive else 2.0 / (self.iteration + 3.0)
        while tau >= LEAST:
            _, reply = self._smoothed(j, other, mixed(self._worth(j), against, tau))
            worth = mixed(self._worth(i), self.prox.worth(i, reply), tau)
            mine, plan = self._smoothed(i, (1.0 - tau) * mu, worth)
            against_plan = self.prox.worth(j, plan)
            others = mixed(self._worth(j), against_plan, tau)
            his, reply_to_plan = self._smoothed(j, other, others)
            if mine + his <= 0.0:
                break
            tau *= 0.5
        else:
            self.numbers[2] = 0.0
            return
        if self.aggressive:
            self.numbers[2] = tau
        self._plan(i)[:] = mixed(self._plan(i), plan, tau)
        self._plan(j)[:] = mixed(self._plan(j), reply, tau)
        self._worth(i)[:], self._worth(j)[:] = worth, others
        self.numbers[i] = (1.0 - tau) * mu
        self._answers[i], self._answers[j] = (plan, against_plan), (reply_to_plan, None)

    def _seat(self) -> int:
        """Whose mu is shrunk next."""
        return int(self.mu[1] > self.mu[0]) if self.balance else self.iteration % 2

    def _against(self, seat: int) -> Floats:
        """What the other's sequences are worth against a seat's smoothed response."""
        answer = self._answers[seat]
        plan = self._smoothed(seat, self.mu[seat], self._worth(seat))[1] if answer is None else answer[0]
        against = None if answer is None else answer[1]
        return self.prox.worth(1 - seat, plan) if against is None else against

    def _balance(self) -> None:
        """Shrink the larger mu to the smaller one, or as near as the condition lets it, with plans as they are."""
        i = int(self.mu[1] > self.mu[0])
        least = self.mu[1 - i]
        while self.mu[i] > APART * least:
            before = float(self.numbers[i])
            self.numbers[i] = max(least, SHRINK * before)
            if self.excess() > 0.0:
                self.numbers[i] = before
                return
            self._answers[i] = None

    def _hold(self) -> None:
        """Where worths that were worked out anew break the condition by a rounding error, raise mu by as little."""
        for k in range(SEARCH):
            if self.excess() <= 0.0:
                return
            self.numbers[:2] *= 1.0 + 1e-13 * 4.0**k

    def probabilities(self) -> Floats:
        return self.task.gradients.to_probabilities(self.plan)


def mixed(one: Floats, other: Floats, tau: float) -> Floats:
    """(1 - tau) one + tau other."""
    mixture = other - one
    mixture *= tau
    mixture += one
    return mixture
