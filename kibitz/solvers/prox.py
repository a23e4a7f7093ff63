"""Prox functions for solvers: the treeplexes of both seats with weights, and smoothed best responses on them.

Nothing here asks more of a form than its treeplexes and gradients, so it works on every form with perfect recall.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError, SpecError
from kibitz.core.threads import Crew
from kibitz.forms.treeplex import Treeplex
from kibitz.solvers import Task

Floats = NDArray[np.float64]
PROX = ("entropy", "euclidean")
WEIGHTS = ("share", "count")
POINTS_PER_THREAD = 20_000  # fewer points are swept faster than threads are started
UNIFORM = np.zeros(0)
INSIDE = 0.01  # of the uniform distribution in an entropy's centre: what has no share there would never get one
SAFETY = 1.1  # times the norm that power iteration finds, which comes from below
POWERS = 40


def check(name: str, choice: str, choices: tuple[str, ...]) -> None:
    if choice not in choices:
        raise SpecError(f"{name}={choice}: choose {', '.join(choices[:-1])} or {choices[-1]}")


def refuse(task: Task, spec: str) -> None:
    """Refuse what has no saddle point that smoothing finds."""
    form = task.gradients
    if form.seats != 2:
        raise SolverError(f"{spec} solves two-player games; this one has {form.seats} players: use cfr+ or mccfr")
    if not form.zero_sum:
        raise SolverError(f"{spec} solves zero-sum games; here payoffs do not sum to zero: use cfr+ or fp")
    if not form.perfect_recall:
        raise SolverError(f"{spec} needs perfect recall, which this game does not have: use cfr+")
    if task.rows is not None:
        raise SolverError(f"{spec} works on the whole game: with an abstraction or frozen rows use cfr+")


class Prox:
    """A prox function on the treeplex of each seat.

    weights: "count" is w = 1 + max over actions of the sum of w over the points after it [Farina, Kroer & Sandholm
    2021]. A hand of poker has thousands of points after it, one for each card that may come, so that weights above are
    thousands of those below, while play comes to each of these with a probability of a thousandth. "share" takes for 1
    the share of play that comes to a point if all points after a sequence are equally likely.
    """

    def __init__(self, task: Task, prox: str, weights: str) -> None:
        from kibitz.forms.kernels import prox as kernels

        self.kernels, self.form, self._crew = kernels, task.gradients, Crew()
        self.kind = kernels.ENTROPY if prox == "entropy" else kernels.EUCLIDEAN
        self.trees = [self.form.treeplex(seat) for seat in (0, 1)]
        self.cuts = [slice(int(lo), int(hi)) for lo, hi in pairwise(task.form.seat_sequence)]
        self.own = [self._own(tree, weights) for tree in self.trees]
        self.weights = [self._weights(seat, 1.0) for seat in (0, 1)]
        self.heaviest = [float(each.max(initial=1.0)) for each in self.weights]
        self.threads = [max(1, min(task.threads, tree.points // POINTS_PER_THREAD)) for tree in self.trees]

    def _own(self, tree: Treeplex, weights: str) -> Floats:
        shares = np.ones(tree.points)
        if weights == "share":
            children = np.bincount(tree.parent, minlength=tree.sequences)
            self.kernels.share_out(tree, children, shares, np.empty(tree.sequences))
        return shares

    def _weights(self, seat: int, factor: float) -> Floats:
        tree = self.trees[seat]
        heights = np.empty(tree.points)
        self.kernels.weigh(tree, self.own[seat], factor, heights, np.zeros(tree.sequences))
        return heights

    def respond(self, seat: int, mu: float, worth: Floats, centre: Floats = UNIFORM) -> tuple[float, Floats]:
        """(the largest <worth, x> - mu d(x), the x that has it); mu = 0: a best response."""
        room, plan = worth.copy(), np.empty(len(worth))
        kind = self.kind if mu > 0.0 else self.kernels.BEST
        self._share(seat, self.kernels.respond, kind, self.weights[seat], centre, mu, room, plan)
        return float(room[0]), plan

    def localise(self, seat: int, plan: Floats) -> Floats:
        """The probabilities of a plan at each point, by sequence."""
        probabilities = np.empty(len(plan))
        self._share(seat, self.kernels.localise, plan, probabilities)
        return probabilities

    def distance(self, seat: int, plan: Floats, centre: Floats = UNIFORM) -> float:
        """d(x) of a plan."""
        return float(self.kernels.distance(self.trees[seat], self.kind, self.weights[seat], centre, plan))

    def _share(self, seat: int, kernel: Any, *arguments: Any) -> None:
        tree = self.trees[seat]
        self._crew.call(
            (kernel, seat), self.threads[seat],
            lambda thread, threads, gate: kernel(tree, *arguments, thread, threads, gate),
        )  # fmt: skip

    def worth(self, seat: int, plan: Floats) -> Floats:
        """What each sequence of a seat is worth against a plan of the other's."""
        whole = np.zeros(self.form.sequences)
        whole[self.cuts[1 - seat]] = plan
        return self.form.gradient(seat, whole)

    # Centres

    def centre(self, start: Floats | None) -> Floats:
        """Probabilities by sequence of both seats around which to smooth; without a start none, which is uniform."""
        if start is None:
            return UNIFORM
        strategy = self.form.to_strategy(start)
        for seat, cut in enumerate(self.cuts):
            strategy[cut] = self.inside(seat, strategy[cut], INSIDE)
        return strategy

    def inside(self, seat: int, centre: Floats, share: float) -> Floats:
        """A seat's centre with a share of the uniform distribution, if the prox function is entropy."""
        if self.kind != self.kernels.ENTROPY:
            return centre
        uniform = self.localise(seat, np.zeros(len(centre)))
        mixture: Floats = (1.0 - share) * centre + share * uniform
        return mixture

    def of_seat(self, centre: Floats, seat: int) -> Floats:
        """A seat's part of a centre."""
        return centre[self.cuts[seat]] if len(centre) else UNIFORM

    def centre_plan(self, centre: Floats, seat: int) -> Floats:
        """The plan of a seat's centre: its response where nothing is worth anything."""
        return self.respond(seat, 1.0, np.zeros(self.trees[seat].sequences), self.of_seat(centre, seat))[1]

    # What theory asks for

    def modulus(self, seat: int) -> float:
        """A modulus of strong convexity in the norm sum r h^2 (forms/kernels/prox.py)."""
        if self.kind == self.kernels.ENTROPY or not len(self.weights[seat]):
            return 1.0
        modulus = 0.0
        for t in range(1, len(self.trees[seat].level)):
            modulus = max(modulus, float((self.weights[seat] / (t * self._weights(seat, 1.0 + 1.0 / t))).min()))
        return modulus

    def norm(self) -> float:
        """The norm of the payoffs between the seats' norms, by power iteration."""
        shares = []
        for tree, own in zip(self.trees, self.own, strict=True):
            by_sequence = np.ones(tree.sequences)
            for action in range(int(tree.width.max(initial=0))):
                wide = tree.width > action
                by_sequence[tree.first[wide] + np.uint32(action) * tree.stride[wide]] = own[wide]
            shares.append(1.0 / np.sqrt(by_sequence))
            shares[-1][0] = 0.0  # plans do not differ there
        nothing = [self.worth(seat, np.zeros(self.trees[1 - seat].sequences)) for seat in (0, 1)]
        vector = np.random.Generator(np.random.Philox(1)).standard_normal(self.trees[1].sequences)
        size = 0.0
        for k in range(POWERS):
            seat = k % 2
            vector = shares[seat] * (self.worth(seat, shares[1 - seat] * vector) - nothing[seat])
            size = float(np.linalg.norm(vector))
            if size == 0.0:
                return self.form.scale
            vector /= size
        return SAFETY * size
