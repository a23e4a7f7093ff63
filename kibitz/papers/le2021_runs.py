"""The runs behind `kibitz paper le2021`: MCCFR on small games of Toepen, from many seeds, measured exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.evaluate import measure
from kibitz.forms.abstraction import abstract_game, abstraction
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.papers.experiment import PaperPlan
from kibitz.papers.le2021_course import BASELINE, LARGEST, AbstractionCourses, Course, Floats, gap_of, worth
from kibitz.papers.runs import Answers, Run, go_on, shared
from kibitz.toepen.arrays import deals_of, rules_of
from kibitz.toepen.rules import Toepen

PLAN = PaperPlan(starts=15, until=1e-2, iterations=100_000)
QUICK = PaperPlan(starts=3, until=0.2, iterations=2_000, quick=True)
KINDS = ("null", BASELINE, LARGEST)
MODES = (True, False)  # whether suit must be followed: the real rules, and thesis mode
REAL, OTHER = "real rules", "thesis mode"
MODE_NAMES = {True: REAL, False: OTHER}
SEEDS_APART = 1_000_003  # between runs of one repetition that must not share their random numbers
ANSWERED = 3  # repetitions in which the thesis' best response is trained against the large game's last strategy
STRENGTH, STRENGTH_QUICK = 200_000, 20_000  # iterations of the strategy that hands are clustered by
QUICK_EVERY = 4  # of the evaluations a quick look takes each fourth
EVALUATION = 10_000  # iterations of the thesis' best responses in Figures 4.1 and 4.2; as many as were trained later on


class ToepenSize(NamedTuple):
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


LARGE = ToepenSize(3, 3, 3, True)
SIZES = ((2, 2, 2), (2, 3, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3))
GAMES = tuple(ToepenSize(*size, betting) for size in SIZES for betting in (False, True))
VALUED = (*(game for game in GAMES if not game.betting), ToepenSize(2, 2, 2, True))
SMALL = ((False, True), (True, True), (True, False))  # (betting, follow_suit) of the games of Table 4.1


def iterations_of(plan: PaperPlan) -> tuple[int, int]:
    """Of training and of the thesis' best responses, for the small games."""
    return max(1, plan.iterations // 2), max(1, min(EVALUATION, plan.iterations))


# Counts and values


def count(rules: Toepen, kind: str) -> tuple[int, int]:
    """Infosets of each player, or rows under a lossless abstraction: by a walk of all deals."""
    from kibitz.toepen.kernels.keys import NAMES, plain
    from kibitz.toepen.kernels.lay import count_rows

    counts, stack = np.zeros(2, np.int64), np.zeros((512, 7), np.uint64)
    places = 1 << (22 if rules.hand > 2 and rules.betting else 16)
    if not count_rows(deals_of(rules), rules_of(rules), plain(NAMES[kind]), stack, np.zeros(places, np.uint64), counts):
        raise SolverError(f"{rules.spec} has too many rows to count here")
    return int(counts[0]), int(counts[1])


def counted(game: tuple[int, int, int, bool]) -> dict[str, list[tuple[int, int]]]:
    """Infosets by lossless abstraction: in the real rules, and in thesis mode."""
    return {kind: [count(ToepenSize(*game).rules(mode), kind) for mode in MODES] for kind in KINDS}


def exact_value(game: tuple[int, int, int, bool]) -> tuple[float, str]:
    """Player 1's value by the linear programme, and as a fraction where one with a small denominator is as close."""
    from kibitz.evaluate import value
    from kibitz.solvers.run import solve

    tree = tree_of(ToepenSize(*game).rules())
    exact = float(value(tree, solve(tree, "lp"))[0])
    near = Fraction(exact).limit_denominator(2520)
    return exact, str(near) if abs(exact - near) < 1e-8 else ""


# Figures 4.1 and 4.2: NashConv


@dataclass(frozen=True)
class Curve:
    """Figures of one game or abstraction: by repetition and evaluation."""

    at: tuple[int, ...]  # iterations before each evaluation
    values: Floats  # [repetitions, evaluations]

    def data(self) -> dict[str, Any]:
        return {"at": list(self.at), "runs": self.values.tolist()}


@dataclass(frozen=True)
class ConvergenceCurves:
    """NashConv of MCCFR on a game, with the thesis' renaming of suits."""

    uniform: float  # of uniform play
    real: Curve  # in the real game
    even: Curve  # and with tied cards played equally often
    seen: Curve  # for an opponent who sees suits by the thesis' names only
    approximate: Curve  # the thesis' approximation of that
    real_then: Curve  # `real`, at the evaluations of `approximate`


def evaluations_at(iterations: int, first: int) -> tuple[int, ...]:
    """Iterations after which a run is evaluated: closely spaced on a scale of logarithms, then every tenth."""
    steps = [round(m * 10.0**e) for e in range(1, 9) for m in (1, 1.5, 2, 3, 5, 7)]
    tenth = max(1, iterations // 10)
    tenths = {tenth * k for k in range(1, 10) if tenth * k < iterations}
    return tuple(sorted({n for n in steps if first <= n < tenth} | tenths | {iterations}))


class SmallGame:
    """A game of Table 4.1, laid out with all that its repetitions share."""

    def __init__(self, rules: Toepen) -> None:
        tree = tree_of(rules)
        row, self.largest = abstraction(tree, BASELINE).row, abstraction(tree, LARGEST)
        self.course, self.answers = Course(tree, row), [Course(tree, row, seat) for seat in range(2)]
        abstract = abstract_game(tree, row)
        self.seen_form = form_of(abstract.tree)
        # A column of the abstract game is a column of rows, in another order.
        order = np.empty(int(abstract.tree.infosets.first[-1]), np.int64)
        order[abstract.column] = self.course.solver.column
        self.seen_reads = order[self.seen_form.reads].astype(np.uint32)
        self.uniform = measure(self.course.form, self.course.form.uniform()).nash_conv


@shared
def small(game: ToepenSize, mode: bool) -> SmallGame:
    return SmallGame(game.rules(mode))


def few_of(every: Sequence[int]) -> list[int]:
    """The evaluations for which the thesis' best response is trained."""
    return sorted({nearest(every, at) for at in (100, 1_000, 10_000, every[-1])})


def nearest(every: Sequence[int], at: float) -> int:
    return min(every, key=lambda n: abs(float(np.log(n / at))))


def converged_from(
    game: tuple[int, int, int, bool], mode: bool, iterations: int, evaluation: int, seed: int
) -> dict[str, Any]:
    """A run of MCCFR from a seed; the thesis' best responses take `evaluation` iterations."""
    small_game = small(ToepenSize(*game), mode)
    every = evaluations_at(iterations, min(10, iterations))
    few = few_of(every)
    course, answers = small_game.course, small_game.answers
    run, real, even, seen, approximate = course.fresh(seed), [], [], [], []
    for at in every:
        go_on()
        run.step(at - run.iteration)
        strategy = course.average(run)
        real.append(course.gap(strategy).gap)
        even.append(course.even_gap(strategy, small_game.largest))
        seen.append(gap_of(small_game.seen_form, small_game.seen_reads, strategy).gap)
        if at in few:
            gains = (answers[s].answered(strategy, evaluation, seed + (s + 1) * SEEDS_APART) for s in range(2))
            approximate.append(sum(gains))
    return {"uniform": small_game.uniform, "real": real, "even": even, "seen": seen, "approximate": approximate}


def converged(iterations: int, seeds: Sequence[dict[str, Any]]) -> ConvergenceCurves:
    """The runs from all seeds, put together."""
    every = evaluations_at(iterations, min(10, iterations))
    few = tuple(few_of(every))
    what = ("real", "even", "seen", "approximate")
    real, even, seen, approximate = (np.array([each[name] for each in seeds]) for name in what)
    then = real[:, [every.index(at) for at in few]]
    return ConvergenceCurves(seeds[0]["uniform"], Curve(every, real), Curve(every, even), Curve(every, seen),
                             Curve(few, approximate), Curve(few, then))  # fmt: skip


# Figures 4.3 to 4.5: abstractions


@dataclass(frozen=True)
class AbstractionCurves:
    """Abstractions against the non-abstracted strategy of the same age."""

    sizes: Mapping[str, int]
    score: Mapping[str, Curve]  # mean payoff against the baseline, both seats
    reached: Mapping[str, Curve]  # rows
    gap: Mapping[str, Curve]  # NashConv in the real game, at fewer evaluations
    even: Mapping[str, tuple[float, ...]]  # the same at the end, with tied cards played equally often
    value: tuple[float, float]  # player 1's value lies between these
    gap_solved: float
    approximate: tuple[float, ...]  # of the baseline at the end, from the first seeds
    uniform: float


@shared
def courses(game: ToepenSize, mode: bool, strength: int) -> AbstractionCourses:
    return AbstractionCourses(game.rules(mode), strength)


def solved(game: tuple[int, int, int, bool], mode: bool, strength: int, until: float) -> dict[str, Any]:
    """What is known of the large game by solving it, and the sizes of its abstractions."""
    from kibitz.solvers.run import solve

    large = courses(ToepenSize(*game), mode, strength)
    bound = measure(large.form, solve(large.tree, "pcfr+", until=until).probabilities)
    return {
        "sizes": {name: course.rows for name, course in large.course.items()},
        "value": [-float(bound.best[1]), float(bound.best[0])], "gap": bound.nash_conv,
        "uniform": measure(large.form, large.form.uniform()).nash_conv,
    }  # fmt: skip


def evaluations_of(iterations: int, every: int) -> tuple[tuple[int, ...], list[int]]:
    """Evaluations of scores, and those of NashConv, which are fewer. Only each `every`-th is taken, and the last."""
    scored = evaluations_at(iterations, min(100, iterations))[::-every][::-1]
    return scored, sorted({nearest(scored, at) for at in np.geomspace(scored[0], iterations, 7)})


def trained_from(
    game: tuple[int, int, int, bool], mode: bool, strength: int, iterations: int, every: int, answered: bool, seed: int
) -> dict[str, Any]:
    """All abstractions and the baseline from a seed, in step with one another.

    answered: whether the baseline gets the thesis' approximate best response at the end, of as many iterations as
    were trained [Sec. 4.2.2].
    """
    large = courses(ToepenSize(*game), mode, strength)
    form, course = large.form, large.course
    scored, gaps = evaluations_of(iterations, every)
    # Each has random numbers of its own: otherwise all would see the same deals.
    runs = {name: c.fresh(seed + k * SEEDS_APART) for k, (name, c) in enumerate(course.items())}
    score, reached, gap = ({name: list[float]() for name in course} for _ in range(3))
    against = np.empty(0)
    for at in scored:
        for name, run in runs.items():
            go_on()
            run.step(at - run.iteration)
            strategy = course[name].average(run)
            plan = course[name].plan(strategy)
            if name == BASELINE:
                against = worth(form, plan)
            score[name].append(0.5 * float(plan @ against))
            reached[name].append(course[name].reached(run))
            if at in gaps:
                gap[name].append(course[name].gap(strategy).gap)
    last = {name: course[name].average(run) for name, run in runs.items()}
    even = {name: course[name].even_gap(strategy, large.largest) for name, strategy in last.items()}
    gains = []
    for seat in range(2 if answered else 0):
        go_on()
        gains.append(large.answers[seat].answered(last[BASELINE], iterations, seed + (20 + seat) * SEEDS_APART))
    return {"score": score, "reached": reached, "gap": gap, "even": even, "gains": gains}


def trained(iterations: int, every: int, bound: dict[str, Any], seeds: Sequence[dict[str, Any]]) -> AbstractionCurves:
    """The runs from all seeds, put together."""
    scored, gaps = evaluations_of(iterations, every)

    def curves(what: str, at: Sequence[int]) -> dict[str, Curve]:
        return {name: Curve(tuple(at), np.array([each[what][name] for each in seeds])) for name in bound["sizes"]}

    low, high = bound["value"]
    return AbstractionCurves(
        bound["sizes"], curves("score", scored), curves("reached", scored), curves("gap", gaps),
        {name: tuple(each["even"][name] for each in seeds) for name in bound["sizes"]}, (low, high), bound["gap"],
        tuple(sum(each["gains"]) for each in seeds if each["gains"]), bound["uniform"],
    )  # fmt: skip


# All of it


@dataclass(frozen=True)
class ThesisResults:
    """All that was measured."""

    iterations: int
    small: Mapping[tuple[bool, bool], Mapping[str, ConvergenceCurves]]  # (betting, follow_suit) -> deck
    trained: Mapping[bool, AbstractionCurves]
    counted: Mapping[str, Mapping[str, Mapping[bool, tuple[int, int]]]]
    values: Mapping[ToepenSize, tuple[float, str]]  # of player 1, with a fraction where there is one


def small_games(betting: bool) -> list[ToepenSize]:
    return [ToepenSize(*size, betting) for size in SIZES[1:4]]


def runs(plan: PaperPlan) -> list[Run]:
    """plan.iterations is for abstractions; NashConv curves take half as many."""
    half, evaluation = iterations_of(plan)
    strength, answered, every = (STRENGTH_QUICK, 0, QUICK_EVERY) if plan.quick else (STRENGTH, ANSWERED, 1)
    result = [Run("counting infosets", counted, [(game,) for game in GAMES])]
    for betting, mode in SMALL:
        for game in small_games(betting):
            pieces = [(game, mode, half, evaluation, seed) for seed in plan.seeds]
            result.append(Run(converging(game, mode), converged_from, pieces, "threads"))
    for mode in MODES:
        of = LARGE, mode, strength
        repeated = [(*of, plan.iterations, every, k < answered, seed) for k, seed in enumerate(plan.seeds)]
        result += [
            Run(f"solving {LARGE}, {MODE_NAMES[mode]}", solved, [(*of, plan.until)]),
            Run(f"abstractions, {MODE_NAMES[mode]}", trained_from, repeated, "threads"),
        ]
    return [*result, Run("values", exact_value, [(game,) for game in VALUED])]


def converging(game: ToepenSize, mode: bool) -> str:
    return f"NashConv of {game}{'' if mode else f', {OTHER}'}"


def gather(plan: PaperPlan, answers: Answers) -> ThesisResults:
    half, _ = iterations_of(plan)
    counts = zip(GAMES, answers["counting infosets"], strict=True)
    return ThesisResults(
        plan.iterations,
        {(betting, mode): {game.deck: converged(half, answers[converging(game, mode)])
                           for game in small_games(betting)} for betting, mode in SMALL},
        {mode: trained(plan.iterations, QUICK_EVERY if plan.quick else 1, answers[f"solving {LARGE}, {name}"][0],
                       answers[f"abstractions, {name}"]) for mode, name in MODE_NAMES.items()},
        {
            str(game): {kind: {m: (a, b) for m, (a, b) in zip(MODES, pairs, strict=True)} for kind, pairs in of.items()}
            for game, of in counts
        },
        {game: (value, text) for game, (value, text) in zip(VALUED, answers["values"], strict=True)},
    )  # fmt: skip
