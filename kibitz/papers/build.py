"""Building the strategies of a paper: derived games solved from random starts, and stitched.

This is `kibitz.stitch` taken apart, so that games which do not depend on the start are laid out once for all starts,
and so that a start is random in more than its first strategy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.abstractions import AbstractGame, Abstraction, abstract_game
from kibitz.form.sequence import form_of, normalise
from kibitz.papers.common import WEIGHT, Plan
from kibitz.profile import Profile
from kibitz.run import Report, train
from kibitz.solvers import Task, make
from kibitz.stitch.experts import columns_of, experts, lifted
from kibitz.stitch.partition import Partition
from kibitz.tree import Tree

Floats = NDArray[np.float64]
SOLVER = "cfr+"


class Builder:
    """Solves one derived game after another, each from a random start of its own, for one start of a paper.

    A random start is a profile with each row uniform on its simplex, and regrets in proportion to it that sum to the
    weight: with regrets of zero CFR+ forgets the profile after an iteration. Builders of one seed that solve the same
    games in the same order draw the same profiles, whatever their weights.
    """

    def __init__(self, tree: Tree, plan: Plan, seed: int, weight: float = WEIGHT) -> None:
        self.tree, self.plan, self.weight = tree, plan, weight
        self.gap = 0.0  # the largest that was left in a game, in chips
        self.games = 0  # solved so far
        self._seed = seed

    def solve(self, game: AbstractGame, base: Profile | None = None, weight: float | None = None) -> Profile:
        """Solve a derived game, and lift the answer to the real one.

        base: what is frozen, if anything is; weight: chips of regret if not the builder's.
        """
        tree = game.tree
        if not tree.infosets.labels:
            return self.profile(game.fixed.copy())
        form = form_of(tree)
        drawn = np.random.Generator(np.random.Philox([self._seed, self.games]))
        first = normalise(drawn.standard_exponential(int(tree.infosets.first[-1])), tree.infosets)
        solver = make(SOLVER, Task(tree, form, None, first, 0, 1))
        regret = form.to_strategy(first) * (self.weight if weight is None else weight)
        regret[form.column < 0] = 0.0
        solver.state["regret"][:] = regret
        two = tree.players == 2
        report = Report()
        train(solver, form, None if two else self.plan.iterations, self.plan.until if two else None, None, None, 60.0,
              None, report)  # fmt: skip
        self.games += 1
        self.gap = max(self.gap, report.looks[-1].gap)
        answer = solver.probabilities()
        return self.profile(game.lift(answer) if base is None else lifted(game, answer, base))

    def profile(self, probabilities: Floats) -> Profile:
        return Profile(self.tree.infosets, probabilities, {"game": self.tree.spec, "tree": self.tree.digest})

    def static(
        self, base: Profile, parts: Partition, seats: Any, inside: Abstraction, outside: Abstraction,
        opponents: Abstraction | None = None,
        weight: float | None = None,
    ) -> Profile:  # fmt: skip
        """A static expert strategy [Gibson & Szafron 2011, Def. 3.2]; arguments as of `kibitz.stitch.static`."""
        result = base.probabilities.copy()
        for expert in experts(self.tree, base, parts, seats, inside, outside, opponents):
            where = columns_of(parts, expert.part, expert.keeps)
            assert isinstance(expert.game, AbstractGame)  # experts of a tree
            result[where] = self.solve(expert.game, base, weight).probabilities[where]
        return self.profile(result)

    def rebuild(self, stitched: Profile, parts: Partition, coarse: Abstraction) -> Profile:
        """The base anew with the experts frozen, as `kibitz.stitch.rebuild_base`."""
        return self.solve(abstract_game(self.tree, coarse.row, coarse.closed, parts.part > 0, stitched), stitched)
