"""A game of Toepen under an abstraction, as the runs of `kibitz paper le2021` use it.

A Course is laid out once. Runs on it differ by their seed alone, share the layout and go side by side in threads:
compiled walks and measures need no interpreter. Strategies stay in rows; what a real infoset plays is read through an
index, so that an evaluation of a run costs a pass over the game and no more.
"""

from __future__ import annotations

import threading
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate import measure
from kibitz.forms.abstraction import Abstraction, abstraction, numbered

# Modules with compiled code come before the threads that want it: importing and compiling have a lock each.
from kibitz.forms.kernels import evaluate, layout  # noqa: F401
from kibitz.forms.rows import check_rows, row_map
from kibitz.forms.sequence import SequenceForm, form_of
from kibitz.games.tree import Tree, tree_of
from kibitz.solvers import Task
from kibitz.solvers.kernels import tree as walks  # noqa: F401
from kibitz.solvers.mccfr import Mccfr, mccfr
from kibitz.toepen.arrays import Labels, keys_of_states
from kibitz.toepen.kernels import keys, lay, machine, rows  # noqa: F401
from kibitz.toepen.rules import Toepen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BASELINE = "isomorphic"
THESIS = ("naive", "simple-history", "simple-hand", "advanced-hand", "advanced-history", "advanced-combined")
BY_STRENGTH = ("strength", "strength-history")
ABSTRACTIONS = (*THESIS, *BY_STRENGTH)
LARGEST = "maximal"  # the largest isomorphism
BUCKETS, STRENGTH_DEALS = 8, 200_000


class GameValues(NamedTuple):
    """NashConv and values of a profile in the real game."""

    gap: float  # NashConv, which the thesis calls exploitability
    value: float  # of player 1
    best: tuple[float, float]  # what a best response of each player gets


class Course:
    """A game under an abstraction, ready for MCCFR. C columns of rows, S sequences.

    answers: the seat that learns, where the other is frozen; None: both learn.
    """

    def __init__(self, tree: Tree, row: Ints, answers: int | None = None) -> None:
        self.form, self.tree, self.answers = form_of(tree), tree, answers
        infosets, moves, base = self.form.infosets, None, None
        if answers is not None:
            moves = np.zeros(int(row.max()) + 1, bool)
            moves[row[infosets.seat_start[answers] : infosets.seat_start[answers + 1]]] = True
            base = self.form.uniform()  # a strategy takes its place in `answered`
        self._holds(
            mccfr()(Task(tree, self.form, row_map(self.form, row, moves, base, by_position=True)), "mccfr"), row
        )
        self.frozen = np.repeat(np.zeros(self.rows, bool) if moves is None else ~moves, self.width)  # [C]

    def _holds(self, solver: Mccfr, row: Ints) -> None:
        self.solver, self.row, self.rows = solver, row, int(row.max()) + 1
        self.reads = solver.column[self.form.reads].astype(np.uint32)  # [S]  sequence -> column
        self.first, self.width = solver.row_first[:-1], np.diff(solver.row_first)  # [rows]
        if self.answers is None:
            solver.regret[:] = -0.0  # no sum of regrets gives minus zero: so it marks what was never visited

    def regrouped(self, row: Ints) -> Course:
        """The same game under another abstraction; it shares what it can."""
        other = copy(self)
        other._holds(self.solver.regrouped(row), row)
        other.frozen = np.zeros(len(other.solver.regret), bool)
        return other

    def fresh(self, seed: int) -> Mccfr:
        return self.solver.fresh(seed)

    def average(self, run: Mccfr) -> Floats:
        """The average strategy by column of rows; uniform where a row was never played."""
        totals = np.add.reduceat(run.average, self.first)
        shares = np.divide(1.0, np.where(totals > 0.0, totals, self.width))
        weights = np.where(np.repeat(totals > 0.0, self.width), run.average, 1.0)
        return np.asarray(weights * np.repeat(shares, self.width))

    def reached(self, run: Mccfr) -> int:
        """Rows that any walk has come to."""
        touched = (run.average > 0.0) | (run.regret != 0.0) | ~np.signbit(run.regret)
        return int(np.logical_or.reduceat(touched, self.first).sum())

    def plan(self, strategy: Floats) -> Floats:
        """[S]  realisation weights of both players."""
        by_sequence = strategy.take(self.reads)
        by_sequence[self.form.seat_sequence[:-1]] = 1.0
        plan = np.empty(self.form.sequences)
        evaluate.all_plans(self.form.packed, by_sequence, plan)
        return plan

    def gap(self, strategy: Floats) -> GameValues:
        """Exactly, in the real game."""
        return gap_of(self.form, self.reads, strategy)

    def even_gap(self, strategy: Floats, largest: Abstraction) -> float:
        """NashConv if cards that are the same to a seat are played equally often; `largest` knows which are."""
        return measure(self.form, largest.even_out(strategy[self.solver.column])).nash_conv

    def answered(self, strategy: Floats, iterations: int, seed: int) -> float:
        """What the learning seat gets after so many iterations against the other's strategy, which does not change.

        That is the thesis' approximation of a best response [Sec. 4.1.1]; its value is computed exactly.
        """
        assert self.answers is not None
        run = self.fresh(seed)
        run.regret[self.frozen] = strategy[self.frozen]
        run.step(iterations)
        plan = self.plan(np.where(self.frozen, strategy, self.average(run)))
        mine = slice(self.form.seat_sequence[self.answers], self.form.seat_sequence[self.answers + 1])
        return float(plan[mine] @ worth(self.form, plan)[mine])


def gap_of(form: SequenceForm, reads: NDArray[np.uint32], strategy: Floats) -> GameValues:
    result, choice = np.empty((2, 2)), np.empty(form.points, np.int32)
    strategy = strategy.view()
    strategy.flags.writeable = False
    gap = float(evaluate.measure(form.packed, reads, strategy, choice, result))
    return GameValues(gap, float(result[0, 0]), (float(result[1, 0]), float(result[1, 1])))


def worth(form: SequenceForm, plan: Floats) -> Floats:
    """[S]  what each sequence earns against the other player's plan: a profile's payoff is its plan times this."""
    result = np.empty(form.sequences)
    for seat in range(2):
        evaluate.seat_gradient(form.packed, seat, plan, result)
    return result


def strength_rows(tree: Tree, rules: Toepen, iterations: int, deals: int = STRENGTH_DEALS) -> dict[str, Ints]:
    """Rows of the abstractions by strength, after a blueprint of so many iterations; the same for all repetitions."""
    from kibitz.solvers.blueprint import Blueprint
    from kibitz.toepen.strength import strength_buckets

    solved = Blueprint.empty(rules, "maximal", memory=40 << 20)
    solved.train(iterations=iterations)
    bucket = strength_buckets(solved, BUCKETS, deals)
    labels = tree.infosets.labels
    assert isinstance(labels, Labels)
    states = labels.examples
    by_name = {name: numbered(tree.infosets, keys_of_states(rules, states, name, bucket)) for name in BY_STRENGTH}
    for row in by_name.values():
        check_rows(tree.infosets, row, np.zeros(int(tree.infosets.first[-1]), bool), by_position=True)
    return by_name


class AbstractionCourses:
    """A game laid out, with all its abstractions. strength: iterations behind those by strength."""

    def __init__(self, rules: Toepen, strength: int) -> None:
        self.rules, self.tree = rules, tree_of(rules)
        self.form = form_of(self.tree)
        self.largest = abstraction(self.tree, LARGEST)
        by_name = {name: abstraction(self.tree, name).row for name in (BASELINE, *THESIS)}
        by_name |= strength_rows(self.tree, rules, strength)
        base = Course(self.tree, by_name[BASELINE])
        self.course = {name: base if name == BASELINE else base.regrouped(row) for name, row in by_name.items()}
        self._lock = threading.Lock()
        self._answers: list[Course] = []

    @property
    def answers(self) -> list[Course]:
        """For each seat the game in which it learns against the other's baseline; made where they are needed."""
        with self._lock:
            if not self._answers:
                self._answers = [Course(self.tree, self.course[BASELINE].row, seat) for seat in range(2)]
            return self._answers
