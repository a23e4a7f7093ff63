"""BucketOperator: plans, gradients, values and best responses of two-player poker in perfect-recall buckets.

The cards of the game enter through the joint weights of buckets alone, so an iteration is a handful of matrix
products, on a CPU or a GPU. What solvers ask is in double precision; CFR's numbers are in single (`space.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.protocol import InfosetValues, Measure, over
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.infosets import BucketInfosets
from kibitz.poker.bucketed.layout import BucketLayout, Node
from kibitz.poker.bucketed.passes import Passes
from kibitz.poker.bucketed.weights import JointWeights
from kibitz.poker.rules.rules import Poker

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class BucketOperator(BucketLayout):
    """The payoff operator on a layout, and the way between sequences and infoset columns."""

    def __init__(
        self, game: Poker, name: str, digest: str, parents: list[Ints], weights: JointWeights, device: str = "cpu"
    ) -> None:
        super().__init__(game, name, digest, parents)
        for of in (*weights.meets, *weights.wins):
            if of.ndim != 2 or of.shape[0] != of.shape[1]:
                raise SolverError("joint weights are square matrices, one of each kind for each round")
        if [len(of) for of in weights.meets] != self.rows.tolist():
            raise SolverError(f"joint weights of {[len(of) for of in weights.meets]} buckets, and {self.rows} buckets")
        self.weights = weights
        self.device = Device(device)

    @cached_property
    def host_weights(self) -> JointWeights:
        """The joint weights in memory."""
        meets, wins = (
            tuple(self.device.to_host(of) for of in each) for each in (self.weights.meets, self.weights.wins)
        )
        return JointWeights(meets, wins)

    @cached_property
    def passes(self) -> Passes:
        """In double precision."""
        return Passes(self, self.weights, self.device, np.float64)

    @cached_property
    def infosets(self) -> BucketInfosets:
        return BucketInfosets(self)

    @property
    def entries(self) -> int:
        """Entries of the payoff matrix, if it were written out: it determines the time of the linear program."""
        return self.products

    # What a form with other rows than buckets changes (`kibitz.poker.stitching.part_form`).

    def trainable(self, g: int, node: Node) -> bool:
        """Whether CFR revises what is played at a node."""
        return True

    def pooled(self, g: int, node: Node, lanes: slice, values: Any) -> Any:
        """Counterfactual values by bucket [actions, lanes, buckets] -> by infoset, given to each of its buckets."""
        return values

    # Sequences and infoset columns.

    def uniform(self) -> Floats:
        """Uniform probabilities by infoset column."""
        return self.to_probabilities(np.ones(self.sequences))

    def to_probabilities(self, weights: NDArray[Any]) -> Floats:
        """Nonnegative weights by sequence -> probabilities by infoset column; uniform where there is no weight."""
        strategy, sums = self.passes.zeros(), self.device.xp.asarray(weights)
        for seat in (0, 1):
            self.passes.normalise(seat, sums, strategy)
        return self.by_column(self.device.to_host(strategy))

    def _there(self, array: NDArray[Any]) -> Any:
        return self.device.xp.asarray(array, np.float64)

    def plan(self, strategy: Floats) -> Floats:
        """The plans of both seats that a strategy by sequence makes."""
        chosen, plan = self._there(strategy), self.passes.zeros()
        for seat in (0, 1):
            self.passes.plan(seat, chosen, plan)
        return np.asarray(self.device.to_host(plan), np.float64)

    def gradient(self, seat: int, plan: Floats) -> Floats:
        """What each sequence of a seat is worth where play ends after it, when the other plays its plan."""
        there = self._there(plan)
        worth = self.passes.zeros()
        self.passes.gradient(seat, there, self.passes.roots(1 - seat, there), worth)
        lo, hi = self.seat_sequence[seat : seat + 2].tolist()
        return np.asarray(self.device.to_host(worth[lo:hi]), np.float64)

    def measure_weights(self, weights: Any, pure: Any = None) -> Measure:
        """Values and best responses (which fill `pure`), from weights by sequence, of any scale in each row."""
        passes = self.passes
        strategy, plan = passes.zeros(), passes.zeros()
        sums = self.device.xp.asarray(weights)
        roots = []
        for seat in (0, 1):
            passes.normalise(seat, sums, strategy)
            roots.append(passes.plan(seat, strategy, plan))
        del strategy
        return self.measured(plan, roots, lambda seat: self._most(pure, seat))

    def measured(self, plan: Any, roots: list[Any], respond: Callable[[int], Any]) -> Measure:
        """Values of plans. respond: seat -> what it chooses at a node, as `Passes.ascend` asks."""
        passes, worth = self.passes, self.passes.zeros()
        value, best = np.zeros(2), np.zeros(2)
        for seat in (0, 1):
            lo, hi = self.seat_sequence[seat : seat + 2].tolist()
            passes.gradient(seat, plan, roots[1 - seat], worth)
            value[seat] = float(plan[lo:hi] @ worth[lo:hi])
            best[seat] = passes.ascend(seat, worth, respond(seat))
        return Measure(value, best, max(0.0, float((best - value).sum())))

    def _most(self, pure: Any, seat: int) -> Any:
        """What a best responder chooses; written to `pure` if that is given."""
        xp = self.device.xp

        def choose(g: int, node: Node, values: Any) -> Any:
            if pure is not None:
                first = values.argmax(axis=0)
                here = self.view(pure, seat, g)
                for a in range(node.count):
                    here[node.first + a] = first == a
            best = values[0].copy()
            for a in range(1, node.count):
                xp.maximum(best, values[a], out=best)
            return best

        return choose

    def best_response(self, seat: int, probabilities: Floats) -> tuple[float, Floats]:
        """(what a seat's best response gets, the probabilities with that response in its place)."""
        strategy = self.to_strategy(probabilities)
        pure = self.passes.zeros()
        measured = self.measure_weights(strategy, pure)
        lo, hi = self.seat_sequence[seat : seat + 2].tolist()
        strategy[lo + 1 : hi] = self.device.to_host(pure[lo + 1 : hi])
        return float(measured.best[seat]), self.by_column(strategy)

    def best_plans(self, plan: Floats, done: int, count: int, step: float) -> None:
        """plan += step * (best responses - plan), `count` times; a step of 0 stands for 1/(t + 1)."""
        passes, here = self.passes, self._there(plan)
        for t in range(done + 1, done + count + 1):
            pure, worth, answer = passes.zeros(), passes.zeros(), passes.zeros()
            for seat in (0, 1):
                passes.gradient(seat, here, passes.roots(1 - seat, here), worth)
                passes.ascend(seat, worth, self._most(pure, seat))
                passes.plan(seat, pure, answer)
            answer -= here
            answer *= step or 1.0 / (t + 1)
            here += answer
        plan[:] = self.device.to_host(here)

    def infoset_values(self, probabilities: Floats) -> InfosetValues:
        """How likely play reaches each infoset, and what each action is worth there."""
        passes = self.passes
        strategy, plan, worth = self._there(self.to_strategy(probabilities)), passes.zeros(), passes.zeros()
        roots = [passes.plan(seat, strategy, plan) for seat in (0, 1)]
        comes, weight = passes.zeros(), passes.zeros()
        for seat in (0, 1):
            passes.gradient(seat, plan, roots[1 - seat], worth)
            passes.ascend(seat, worth, self._mean(strategy, seat))
            for g, group in enumerate(self.groups):
                for node in group.nodes:
                    if node.seat == seat:
                        mine, his = passes.before(g, node, plan, roots)
                        met = his @ passes.meets[group.table].T
                        actions = slice(node.first, node.first + node.count)
                        self.view(weight, seat, g)[actions] = met
                        self.view(comes, seat, g)[actions] = mine * met
        by_column = [self.by_column(self.device.to_host(each)) for each in (comes, worth, weight)]
        return InfosetValues(by_column[0][self.infosets.first[:-1]], over(by_column[1], by_column[2]))

    def _mean(self, strategy: Any, seat: int) -> Any:
        """What a seat gets that plays a strategy."""

        def choose(g: int, node: Node, values: Any) -> Any:
            actions = slice(node.first, node.first + node.count)
            return self.passes.mean(self.view(strategy, seat, g)[actions], values)

        return choose
