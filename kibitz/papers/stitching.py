"""What the papers about stitching share: strategies built from random starts, runs by start and weight, and tables.

The Builder is `kibitz.stitch` taken apart, so that games which do not depend on the start are laid out once for all
starts, and so that a start is random in more than its first strategy. How much regret stands behind a start is a choice
too, so everything for two players is done at several weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.forms.abstraction import AbstractGame, Abstraction, abstract_game
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import Tree
from kibitz.papers.claims import MOST, WEIGHT
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.runs import Run
from kibitz.report.figures import Sheet, Spread
from kibitz.solvers import Task, make
from kibitz.solvers.deals import DealCfr
from kibitz.solvers.progress import RunState
from kibitz.solvers.run import Stops, iterate
from kibitz.stitch.columns import columns_of, lifted, seed_of
from kibitz.stitch.experts import experts
from kibitz.stitch.partition import Partition

Floats = NDArray[np.float64]
SOLVER = "cfr+"
QUICK = PaperPlan(starts=3, until=1e-3, iterations=200, sampled=20_000, quick=True)


class Builder:
    """Solves one derived game after another, each from a random start of its own, for one start of a paper.

    A random start is a profile with each row uniform on its simplex, and regrets in proportion to it that sum to the
    weight: with regrets of zero CFR+ forgets the profile after an iteration. Builders of one seed that solve the same
    games in the same order draw the same profiles, whatever their weights.
    """

    def __init__(self, tree: Tree, plan: PaperPlan, seed: int, weight: float = WEIGHT) -> None:
        self.tree, self.plan, self.weight = tree, plan, weight
        self.gap = 0.0  # the largest NashConv that was left in a game, in chips
        self.games = 0  # solved so far
        self._seed = seed

    def solve(self, game: AbstractGame, base: Profile | None = None, weight: float | None = None) -> Profile:
        """Solve a derived game, and lift the answer to the real one.

        base: what is frozen, if anything is; weight: chips of regret if not the builder's.
        """
        if not game.tree.infosets.labels:
            return self.profile(game.fixed.copy())
        answer, gap = self.answer(game, self.weight if weight is None else weight)
        self.games += 1
        self.gap = max(self.gap, gap)
        return self.profile(self.lift(game, answer, base))

    def lift(self, game: AbstractGame, answer: Floats, base: Profile | None) -> Floats:
        """A solution as probabilities of the real game: where the base never comes, an expert plays as it does."""
        return game.lift(answer) if base is None else lifted(game, answer, base)

    def answer(self, game: AbstractGame, weight: float) -> tuple[Floats, float]:
        """The solution of a derived game, and its NashConv there."""
        tree, form = game.tree, form_of(game.tree)
        drawn = np.random.Generator(np.random.Philox([self._seed, self.games]))
        first = normalise(drawn.standard_exponential(int(tree.infosets.first[-1])), tree.infosets)
        solver = make(SOLVER, Task(tree, form, None, first, 0, 1))
        regret = form.to_strategy(first) * weight
        regret[form.column < 0] = 0.0
        solver.state["regret"][:] = regret
        two = tree.players == 2
        state = RunState()
        iterate(solver, form, state, Stops(until=self.plan.until) if two else Stops(self.plan.iterations))
        return solver.probabilities(), state.history[-1].nash_conv

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


class SampledBuilder(Builder):
    """Solves the same games by chance-sampled CFR from a uniform start, for a number of iterations.

    Each game has random numbers of its own, from the seed and its number. how: of `DealCfr`, but that what a base plays
    is drawn unless said otherwise: in the game of an expert it is chance [Gibson & Szafron 2011, Def. 3.2].
    """

    def __init__(self, tree: Tree, seed: int, iterations: int, **how: bool) -> None:
        super().__init__(tree, PaperPlan(), seed, 0.0)
        self._iterations, self._how = iterations, {"sample": True, **how}

    def answer(self, game: AbstractGame, weight: float) -> tuple[Floats, float]:
        frozen = (self.tree.turn >= 0) & (game.tree.turn == CHANCE)
        solver = DealCfr(game.tree, seed_of(self._seed, self.games), frozen, **self._how)
        solver.step(self._iterations)
        answer = solver.probabilities()
        return answer, form_of(game.tree).measure(answer).nash_conv

    def lift(self, game: AbstractGame, answer: Floats, base: Profile | None) -> Floats:
        """What is never walked stays as it was at the start, uniform."""
        return game.lift(answer)


# Runs: a piece is a start at a weight


def over_starts(
    name: str, work: Callable[..., Any], plan: PaperPlan, *arguments: Any, weights: Sequence[float] | None = None
) -> Run:
    """work(*arguments, until, iterations, weight, seed) for each start and weight, in processes of their own."""
    pieces = [
        (*arguments, plan.until, plan.iterations, weight, seed)
        for seed in plan.seeds
        for weight in (plan.weights if weights is None else weights)
    ]
    return Run(name, work, pieces, "processes")


def by_weight(plan: PaperPlan, answers: Sequence[Any]) -> dict[float, list[Any]]:
    """Answers of such a run: those of all starts, by the weight."""
    return {weight: list(answers[k :: len(plan.weights)]) for k, weight in enumerate(plan.weights)}


# What pages say of weights


def weighing(plan: PaperPlan) -> str:
    """What a report says of the weights of its starts."""
    each = ", ".join(f"{weight:g}" for weight in sorted(plan.weights))
    return (
        "Every game is solved from a random profile with some regret behind each of its rows: the weight of the start, "
        "in chips. At weight 0 the solver forgets the profile after an iteration; a weight of 1 is the ante, as much "
        f"as a hand is played for. Tables and pictures are at {WEIGHT:g}, one of {len(plan.weights)} weights ({each}) "
        "and no better founded than the others. The paper's strategies for two players are built at each weight, from "
        "the same random profiles, and a claim about them is tried at each: at a weight it holds if it is true of at "
        f"least {MOST:.0%} of the random initialisations and fails if it is false of as many. It holds if it holds at "
        "every weight, fails if it fails at every weight, and is undecided otherwise."
    )


def weight_sheet(
    title: str, figures: Mapping[float, Mapping[str, Spread]], table: int, paper: Mapping[str, float] | None = None
) -> Sheet:
    """A figure of each strategy by the weight of the start, beside the paper's where that is known."""
    weights = sorted(figures)
    rows = []
    for name in figures[WEIGHT]:
        cells = [figures[w][name].text() for w in weights]
        rows.append((name, *cells, *([f"{paper[name]:.2f}" if name in paper else ""] if paper else [])))
    if paper:
        counts = [f"{met(figures[w], paper)} of {len(paper)}" for w in weights]
        rows.append(("the paper's figures in the range of the starts", *counts, ""))
    head = ("strategy", *(f"weight {w:g}" for w in weights), *(["paper"] if paper else []))
    return Sheet(f"What the weight of a start does: {title}", head, rows, "Mean ± sd over the same starts.", table)


def met(ours: Mapping[Any, Spread], paper: Mapping[Any, float]) -> int:
    """How many of a paper's figures lie between the least and the greatest of the starts."""
    return sum(ours[name].low <= figure <= ours[name].high for name, figure in paper.items())
