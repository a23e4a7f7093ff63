"""The runs behind `kibitz paper le2021`: MCCFR on small games of Toepen, from many seeds, measured exactly.

A Course is a game under an abstraction, laid out once. Runs on it differ by their seed alone, share the layout and go
side by side in threads: compiled walks and measures need no interpreter. Strategies stay in rows; what a real infoset
plays is read through an index, so that looking at a run costs a pass over the game and no more.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from kibitz.abstractions import Abstraction, abstract_game, abstraction, numbered
from kibitz.errors import SolverError
from kibitz.evaluate import measure
from kibitz.form.rows import check_rows, row_map
from kibitz.form.sequence import SequenceForm, form_of
from kibitz.games.toepen.arrays import Labels, deals_of, keys_of_states, rules_of
from kibitz.games.toepen.rules import Toepen
from kibitz.papers.common import OnStart
from kibitz.solvers import Task
from kibitz.solvers.mccfr import Mccfr, mccfr
from kibitz.tree import Tree, tree_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
T = TypeVar("T")
X = TypeVar("X")
GoOn: TypeAlias = Callable[[], None]

BASELINE = "isomorphic"
THESIS = ("naive", "simple-history", "simple-hand", "advanced-hand", "advanced-history", "advanced-combined")
BY_STRENGTH = ("strength", "strength-history")
ABSTRACTIONS = (*THESIS, *BY_STRENGTH)
LARGEST = "maximal"  # the largest isomorphism
KINDS = ("null", BASELINE, LARGEST)
BUCKETS, STRENGTH_DEALS = 8, 200_000
SEEDS_APART = 1_000_003  # between runs of one repetition that must not share their random numbers


class Setting(NamedTuple):
    """A game of Toepen as the thesis' tables name them."""

    suits: int
    ranks: int
    hand: int
    betting: bool

    def rules(self, follow_suit: bool = True) -> Toepen:
        return Toepen(self.suits, self.ranks, self.hand, self.betting, follow_suit)

    @property
    def deck(self) -> str:
        return f"{self.suits} suits, {self.ranks} ranks"

    def __str__(self) -> str:
        return f"{self.suits}/{self.ranks}/{self.hand}{'' if self.betting else ', no betting'}"


# Counts


def count(rules: Toepen, kind: str) -> tuple[int, int]:
    """Infosets of each player, or rows under a lossless abstraction: by a walk of all deals."""
    from kibitz.kernels.toepen.keys import NAMES, plain
    from kibitz.kernels.toepen.lay import count_rows

    found, stack = np.zeros(2, np.int64), np.zeros((512, 7), np.uint64)
    places = 1 << (22 if rules.hand > 2 and rules.betting else 16)
    if not count_rows(deals_of(rules), rules_of(rules), plain(NAMES[kind]), stack, np.zeros(places, np.uint64), found):
        raise SolverError(f"{rules.spec} has too many rows to count here")
    return int(found[0]), int(found[1])


# A game under an abstraction


class Gap(NamedTuple):
    """What a profile is worth in the real game."""

    gap: float  # nash_conv, the thesis' exploitability
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
        made = copy(self)
        made._holds(self.solver.regrouped(row), row)
        made.frozen = np.zeros(len(made.solver.regret), bool)
        return made

    def fresh(self, seed: int) -> Mccfr:
        return self.solver.fresh(seed)

    def average(self, run: Mccfr) -> Floats:
        """The average strategy by column of rows; uniform where a row was never played."""
        totals = np.add.reduceat(run.average, self.first)
        shares = np.divide(1.0, np.where(totals > 0.0, totals, self.width))
        weights = np.where(np.repeat(totals > 0.0, self.width), run.average, 1.0)
        result: Floats = weights * np.repeat(shares, self.width)
        return result

    def reached(self, run: Mccfr) -> int:
        """Rows that any walk has come to."""
        touched = (run.average > 0.0) | (run.regret != 0.0) | ~np.signbit(run.regret)
        return int(np.logical_or.reduceat(touched, self.first).sum())

    def plan(self, strategy: Floats) -> Floats:
        """[S]  realisation weights of both players."""
        from kibitz.kernels.sequence.evaluate import all_plans

        by_sequence = strategy.take(self.reads)
        by_sequence[self.form.seat_sequence[:-1]] = 1.0
        plan = np.empty(self.form.sequences)
        all_plans(self.form.packed, by_sequence, plan)
        return plan

    def gap(self, strategy: Floats) -> Gap:
        """Exactly, in the real game."""
        return gap_of(self.form, self.reads, strategy)

    def even_gap(self, strategy: Floats, largest: Abstraction) -> float:
        """The gap if cards that are the same to a seat are played equally often; `largest` knows which are."""
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


def gap_of(form: SequenceForm, reads: NDArray[np.uint32], strategy: Floats) -> Gap:
    from kibitz.kernels.sequence import evaluate

    result, choice = np.empty((2, 2)), np.empty(form.points, np.int32)
    strategy = strategy.view()
    strategy.flags.writeable = False
    gap = float(evaluate.measure(form.packed, reads, strategy, choice, result))
    return Gap(gap, float(result[0, 0]), (float(result[1, 0]), float(result[1, 1])))


def worth(form: SequenceForm, plan: Floats) -> Floats:
    """[S]  what each sequence earns against the other player's plan: a profile's payoff is its plan times this."""
    from kibitz.kernels.sequence.evaluate import seat_gradient

    result = np.empty(form.sequences)
    for seat in range(2):
        seat_gradient(form.packed, seat, plan, result)
    return result


# Side by side


class Stopped(Exception):
    """The report was given up."""


def side_by_side(
    work: Callable[[X, GoOn], T], items: Sequence[X], jobs: int | None, what: str, on_start: OnStart | None
) -> list[T]:
    """work(item, go_on) for each, in threads; go_on() is called now and then and ends a thread when others failed."""
    # Modules with compiled code come before the threads that want it: importing and compiling have a lock each.
    for name in ("evaluate", "layout", "rows", "sampling", "toepen_keys", "toepen_lay", "toepen_walk"):
        importlib.import_module(f"kibitz.kernels.{name}")
    told = on_start or (lambda what, done, of: None)
    told(what, 0, len(items))
    stop = threading.Event()

    def go_on() -> None:
        if stop.is_set():
            raise Stopped

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(min(jobs or cores, len(items))) as pool:
        try:
            waiting = [pool.submit(work, item, go_on) for item in items]
            for done, future in enumerate(as_completed(waiting), 1):
                future.result()
                told(what, done, len(items))
            return [future.result() for future in waiting]
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


# Figures 4.1 and 4.2: exploitability


@dataclass(frozen=True)
class Curve:
    """Figures of one game or abstraction: by repetition and look."""

    looks: tuple[int, ...]  # after so many iterations
    values: Floats  # [repetitions, looks]


@dataclass(frozen=True)
class Converged:
    """MCCFR on a game, with the thesis' renaming of suits."""

    uniform: float
    real: Curve  # gap in the real game
    even: Curve  # and with tied cards played equally often
    seen: Curve  # gap for an opponent who sees suits by the thesis' names only
    approximate: Curve  # the thesis' approximation of that
    real_then: Curve  # `real`, at the looks of `approximate`


def looks_at(iterations: int, first: int) -> tuple[int, ...]:
    """Iterations to look at: closely spaced on a scale of logarithms, then every tenth."""
    steps = [round(m * 10.0**e) for e in range(1, 9) for m in (1, 1.5, 2, 3, 5, 7)]
    tenth = max(1, iterations // 10)
    tenths = {tenth * k for k in range(1, 10) if tenth * k < iterations}
    return tuple(sorted({n for n in steps if first <= n < tenth} | tenths | {iterations}))


def converge(
    rules: Toepen, iterations: int, evaluation: int, seeds: Iterable[int], jobs: int | None, on_start: OnStart | None
) -> Converged:
    """Runs of MCCFR from each seed; the thesis' best responses take `evaluation` iterations."""
    tree = tree_of(rules)
    row, largest = abstraction(tree, BASELINE).row, abstraction(tree, LARGEST)
    course, answers = Course(tree, row), [Course(tree, row, seat) for seat in range(2)]
    abstract = abstract_game(tree, row)
    seen_form = form_of(abstract.tree)
    # A column of the abstract game is a column of rows, in another order.
    order = np.empty(int(abstract.tree.infosets.first[-1]), np.int64)
    order[abstract.column] = course.solver.column
    seen_reads = order[seen_form.reads].astype(np.uint32)
    looks = looks_at(iterations, min(10, iterations))
    few = sorted({min(looks, key=lambda n: abs(np.log(n / at))) for at in (100, 1_000, 10_000, iterations)})

    def work(seed: int, go_on: GoOn) -> Any:
        run, real, even, seen, approximate = course.fresh(seed), [], [], [], []
        for look in looks:
            go_on()
            run.step(look - run.iteration)
            strategy = course.average(run)
            real.append(course.gap(strategy).gap)
            even.append(course.even_gap(strategy, largest))
            seen.append(gap_of(seen_form, seen_reads, strategy).gap)
            if look in few:
                gains = (answers[s].answered(strategy, evaluation, seed + (s + 1) * SEEDS_APART) for s in range(2))
                approximate.append(sum(gains))
        return real, even, seen, approximate

    mode = "" if rules.follow_suit else ", thesis mode"
    name = f"{rules.suits}/{rules.ranks}/{rules.hand}{'' if rules.betting else ', no betting'}{mode}"
    found = side_by_side(work, list(seeds), jobs, f"exploitability of {name}", on_start)
    real, even, seen, approximate = (np.array(part) for part in zip(*found, strict=True))
    at = [looks.index(look) for look in few]
    return Converged(
        measure(course.form, course.form.uniform()).nash_conv,
        Curve(looks, real),
        Curve(looks, even),
        Curve(looks, seen),
        Curve(tuple(few), approximate),
        Curve(tuple(few), real[:, at]),
    )


# Figures 4.3 to 4.5: abstractions


@dataclass(frozen=True)
class Trained:
    """Abstractions against the non-abstracted strategy of the same age."""

    sizes: Mapping[str, int]
    score: Mapping[str, Curve]  # mean payoff against the baseline, both seats
    reached: Mapping[str, Curve]  # rows
    gap: Mapping[str, Curve]  # nash_conv in the real game, at fewer looks
    even: Mapping[str, tuple[float, ...]]  # the same at the end, with tied cards played equally often
    value: tuple[float, float]  # player 1's value lies between these
    gap_solved: float
    approximate: tuple[float, ...]  # of the baseline at the end, from the first seeds
    uniform: float


def strength_rows(tree: Tree, rules: Toepen, iterations: int, deals: int = STRENGTH_DEALS) -> dict[str, Ints]:
    """Rows of the abstractions by strength, after a blueprint of so many iterations; the same for all repetitions."""
    from kibitz.games.toepen.strength import strength_buckets
    from kibitz.solvers.blueprint import Blueprint

    solved = Blueprint.empty(rules, "maximal", memory=40 << 20)
    solved.train(iterations=iterations)
    bucket = strength_buckets(solved, BUCKETS, deals)
    labels = tree.infosets.labels
    assert isinstance(labels, Labels)
    states = labels.examples
    rows = {name: numbered(tree.infosets, keys_of_states(rules, states, name, bucket)) for name in BY_STRENGTH}
    for row in rows.values():
        check_rows(tree.infosets, row, np.zeros(int(tree.infosets.first[-1]), bool), by_position=True)
    return rows


class Laid:
    """A game laid out, with all its abstractions. strength: iterations behind those by strength."""

    def __init__(self, rules: Toepen, strength: int) -> None:
        self.rules, self.tree = rules, tree_of(rules)
        self.form = form_of(self.tree)
        self.largest = abstraction(self.tree, LARGEST)
        rows = {name: abstraction(self.tree, name).row for name in (BASELINE, *THESIS)}
        rows |= strength_rows(self.tree, rules, strength)
        base = Course(self.tree, rows[BASELINE])
        self.course = {name: base if name == BASELINE else base.regrouped(row) for name, row in rows.items()}

    @property
    def mode(self) -> str:
        return "real rules" if self.rules.follow_suit else "thesis mode"


def train(
    laid: Laid,
    iterations: int,
    seeds: Sequence[int],
    until: float,
    jobs: int | None = None,
    on_start: OnStart | None = None,
    answered: int = 3,
    every: int = 1,
) -> Trained:
    """All abstractions and the baseline from each seed, in step with one another.

    answered: from how many seeds the baseline gets the thesis' approximate best response at the end, of as many
    iterations as were trained [Sec. 4.2.2]. every: only each so many-th look is taken, and the last.
    """
    from kibitz.run import solve

    told = on_start or (lambda what, done, of: None)
    told(f"solving the game to {until:g}, {laid.mode}", 0, 1)
    form, course = laid.form, laid.course
    bound = measure(form, solve(laid.tree, "pcfr+", until=until).probabilities)
    looks = looks_at(iterations, min(100, iterations))[::-every][::-1]
    gaps = sorted({min(looks, key=lambda n: abs(np.log(n / at))) for at in np.geomspace(looks[0], iterations, 7)})

    def work(seed: int, go_on: GoOn) -> Any:
        # Each has random numbers of its own: otherwise all would see the same deals.
        runs = {name: c.fresh(seed + k * SEEDS_APART) for k, (name, c) in enumerate(course.items())}
        score, reached, gap = ({name: list[float]() for name in course} for _ in range(3))
        against = np.empty(0)
        for look in looks:
            for name, run in runs.items():
                go_on()
                run.step(look - run.iteration)
                strategy = course[name].average(run)
                plan = course[name].plan(strategy)
                if name == BASELINE:
                    against = worth(form, plan)
                score[name].append(0.5 * float(plan @ against))
                reached[name].append(course[name].reached(run))
                if look in gaps:
                    gap[name].append(course[name].gap(strategy).gap)
        last = {name: course[name].average(run) for name, run in runs.items()}
        even = {name: course[name].even_gap(strategy, laid.largest) for name, strategy in last.items()}
        return score, reached, gap, last[BASELINE], even

    found = side_by_side(work, list(seeds), jobs, f"abstractions, {laid.mode}", on_start)

    def gather(part: int, at: Sequence[int]) -> dict[str, Curve]:
        return {name: Curve(tuple(at), np.array([answer[part][name] for answer in found])) for name in course}

    answers = [Course(laid.tree, course[BASELINE].row, seat) for seat in range(2)] if answered else []

    def answer(item: tuple[int, int], go_on: GoOn) -> float:
        k, seat = item
        go_on()
        return answers[seat].answered(found[k][3], iterations, seeds[k] + (20 + seat) * SEEDS_APART)

    items = [(k, seat) for k in range(min(answered, len(seeds))) for seat in range(2)]
    gains = side_by_side(answer, items, jobs, f"the thesis' best responses, {laid.mode}", on_start) if items else []
    return Trained(
        {name: c.rows for name, c in course.items()},
        gather(0, looks),
        gather(1, looks),
        gather(2, gaps),
        {name: tuple(answer[4][name] for answer in found) for name in course},
        (-float(bound.best[1]), float(bound.best[0])),
        bound.nash_conv,
        tuple(gains[k] + gains[k + 1] for k in range(0, len(gains), 2)),
        measure(form, form.uniform()).nash_conv,
    )


def exact_value(rules: Toepen) -> tuple[float, str]:
    """Player 1's value by the linear programme, and as a fraction where one with a small denominator is as close."""
    from kibitz.evaluate import value
    from kibitz.run import solve

    tree = tree_of(rules)
    found = float(value(tree, solve(tree, "lp"))[0])
    near = Fraction(found).limit_denominator(2520)
    return found, str(near) if abs(found - near) < 1e-8 else ""
