"""Equilibria of tournaments by the four algorithms of [Ganzfried & Sandholm 2008, 2009].

    vi-fp   values start from the Independent Chip Model. With these each state is a single hand, which fictitious play
            solves; its values are the next ones, as in value iteration
    pi-fp   the same, but the next values are those of a best response to the strategies in the whole tournament, found
            by policy iteration: if it converges, it converges to an equilibrium
    fp-pi   fictitious play of the whole tournament: policy iteration finds a best response, which is mixed into the
            strategies
    fp-vi   the same with value iteration, from values that are too low

Departs from the papers: later rounds of fictitious play count more (`fictitious.py`), strategies go on from those of
the last values, and value iteration starts from what a player wins without a change, which is too low as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.poker.tournaments.exact import ExactHand
from kibitz.poker.tournaments.fictitious import POWER, Engine, JamFoldPlay
from kibitz.poker.tournaments.fresh import FOUND, VALUED, fresh
from kibitz.poker.tournaments.mdp import Induced
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.tournaments.states import Level, Tournament

Floats = NDArray[np.float64]
ALGORITHMS = ("vi-fp", "pi-fp", "fp-pi", "fp-vi")
TOLERANCE = 1e-4  # of the first prize
SHARE = 0.1  # of the tolerance, for a single hand
ROUGH, FIRST = 0.01, 1e-3  # of the last change of values, and of the first prize: closer is a waste while they change
ROUNDS = 40  # of fictitious play with the same values, at most
BEGUN = 12  # rounds that strategies stand for which go on with other values
MOST = 500  # iterations of a level
DEALS = 20_000  # of a state of four players, which has thousands


@dataclass(frozen=True)
class Step:
    """What an iteration did."""

    players: int
    iteration: int
    change: float  # of values, at most; or what a player could win more in the whole tournament
    active: int  # states that fictitious play went on with
    seconds: float


@dataclass
class TournamentSolution:
    """Strategies of all levels that are done, and the one that is under way."""

    rules: Tournament
    algorithm: str
    tolerance: float  # of the first prize
    deals: int = 0  # that were sampled, for three players and more
    jams: list[NDArray[Any]] = field(default_factory=list)  # [states, nodes, 169] by level
    worth: Floats = field(default_factory=lambda: np.zeros(0))  # by value
    steps: list[Step] = field(default_factory=list)
    done: int = 0  # levels

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


def engine_of(players: int, deals: int = 0) -> Engine:
    """How hands of so many are gone through. deals: of a sample, for three players and more; 0: all cards for three."""
    if players == 2 or (players == 3 and not deals):
        return ExactHand(players)
    return SampledHand(players, deals or DEALS)


def solve(
    rules: Tournament, algorithm: str = "pi-fp", tolerance: float = TOLERANCE, *,
    deals: int = 0,
    start: TournamentSolution | None = None,
    on_step: Callable[[TournamentSolution, Step], None] | None = None,
    on_round: Callable[[int, int, int, int], None] | None = None,
    threads: int | None = None,
) -> TournamentSolution:  # fmt: skip
    """Solve all levels, from two players up. deals: to sample, where three players are not to be counted with all
    cards. start: a solution that is resumed. on_step: a callback after each iteration, when the solution may be saved;
    on_round: one with players, iteration, round of fictitious play, and states that go on."""
    if algorithm not in ALGORITHMS:
        raise SolverError(f"there is no algorithm {algorithm!r}: choose {', '.join(ALGORITHMS)}")
    solution = start or TournamentSolution(rules, algorithm, tolerance, deals, worth=rules.icm.copy())
    if (solution.rules, solution.algorithm, solution.deals) != (rules, algorithm, deals):
        begun, wanted = (
            f"{r} by {a}{f' over {d:,} deals' * bool(d)}"
            for r, a, d in ((solution.rules, solution.algorithm, solution.deals), (rules, algorithm, deals))
        )
        raise SolverError(f"what was begun is {begun}, not {wanted}")
    solution.tolerance = tolerance
    for level in rules.levels[solution.done :]:
        _level(solution, level, on_step, on_round, threads)
        solution.done += 1
    return solution


def _level(solution: TournamentSolution, level: Level, on_step: Any, on_round: Any, threads: int | None) -> None:
    number, engine = level.players - 2, engine_of(level.players, solution.deals)
    resumed = solution.jams[number] if len(solution.jams) > number else None
    play = JamFoldPlay(engine, level.forced, resumed, threads)
    if resumed is None:
        solution.jams.append(play.jams)
    else:
        solution.jams[number] = play.jams
    begun = sum(step.players == level.players for step in solution.steps)
    iterate = _by_hands if solution.algorithm in ("vi-fp", "pi-fp") else _by_responses
    for iteration in range(begun, MOST):
        began = time.perf_counter()
        callback = partial(on_round, level.players, iteration + 1) if on_round is not None else None
        change, active, over = iterate(solution, level, play, iteration, callback)
        step = Step(level.players, iteration + 1, change, active, time.perf_counter() - began)
        solution.steps.append(step)
        if on_step is not None:
            on_step(solution, step)
        if over:
            break
    play.tidy(level.payoffs(solution.worth), SHARE * solution.tolerance * solution.rules.prizes[0])


def _by_hands(
    solution: TournamentSolution, level: Level, play: JamFoldPlay, iteration: int, callback: Any
) -> tuple[float, int, bool]:
    """Hands with fixed values, solved; then new values."""
    aim = solution.tolerance * solution.rules.prizes[0]
    mine = level.values
    begun = 0 if iteration == 0 else BEGUN
    rough = ROUGH * solution.steps[-1].change if iteration else FIRST * solution.rules.prizes[0]
    played = play.run(level.payoffs(solution.worth), ROUNDS, max(SHARE * aim, rough), begun, callback)
    after: Any = played.values
    if solution.algorithm == "pi-fp":
        after, _ = Induced(level, play.engine, play.moments).policy_iteration(play.jams, solution.worth)
    change = float(np.abs(after.ravel() - solution.worth[mine]).max())
    solution.worth[mine] = after.ravel()
    over = change < aim and float(played.gains.max()) <= 2 * SHARE * aim
    return change, int((played.rounds > 0).sum()), over


def _by_responses(
    solution: TournamentSolution, level: Level, play: JamFoldPlay, iteration: int, callback: Any
) -> tuple[float, int, bool]:
    """A best response in the whole tournament, mixed into the strategies."""
    aim = solution.tolerance * solution.rules.prizes[0]
    mine = level.values
    induced = Induced(level, play.engine, play.moments)
    if iteration == 0:  # strategies come from the Independent Chip Model
        play.run(level.payoffs(solution.worth), ROUNDS, FIRST * solution.rules.prizes[0], 0, callback)
        induced = Induced(level, play.engine, play.moments)
    now = induced.value(play.jams, solution.worth)
    solution.worth[mine] = now.ravel()
    if solution.algorithm == "fp-pi":
        best, policy = induced.policy_iteration(play.jams, solution.worth)
    else:
        best, policy = induced.value_iteration(solution.worth, SHARE * aim)
    gain = best - now
    change = float(gain.max())
    over = change < aim
    moved = np.flatnonzero((gain > SHARE * aim).any(axis=1))
    if not over:
        play.mix(np.arange(level.count), policy.astype(np.float32), POWER / (BEGUN + iteration + POWER))
    return change, len(moved), over


# The check


@dataclass(frozen=True)
class Check:
    """What players could win more in the whole tournament, by level: the others stay with the profile.

    Where deals are sampled, a responder is chosen on fresh deals and valued on others (`fresh.py`): `gains` are those
    of this responder, which a best one may exceed; `above` is what it gains on the deals it was chosen on, which on
    average is not below what the best one gains.
    """

    values: Floats  # of the profile, by value
    best: Floats  # of the responder
    gains: list[Floats]  # [states, seats] by level
    above: list[Floats]
    errors: list[Floats]  # half of a 95% interval of the gains; 0 where all cards are counted

    def _worst(self) -> tuple[int, int]:
        """(level, state and seat) where most is to be gained, by the deals that the responder was chosen on."""
        level = max(range(len(self.above)), key=lambda k: float(self.above[k].max()))
        return level, int(self.above[level].argmax())

    @property
    def epsilon(self) -> float:
        level, at = self._worst()
        return float(self.gains[level].ravel()[at])

    @property
    def interval(self) -> tuple[float, float]:
        """95%, of the responder's gain."""
        level, at = self._worst()
        wide = float(self.errors[level].ravel()[at])
        return self.epsilon - wide, self.epsilon + wide

    @property
    def highest(self) -> float:
        return max(float(each.max()) for each in self.above)


REPEATS, QUANTILE = 4, 3.18  # samples that a responder is valued on; of Student's distribution, 3 degrees, 97.5%


def check(rules: Tournament, jams: list[NDArray[Any]], deals: int = 0, threads: int | None = None) -> Check:
    """The ex-post check: a best response to strategies of all levels, by policy iteration, against their own value.
    deals: the size of samples, where three players are not counted with all cards. Samples are fresh ones."""
    engines = [engine_of(level.players, deals) for level in rules.levels]
    own, most, above, policies = _valued(rules, jams, [fresh(each, FOUND) for each in engines], threads)
    if not any(isinstance(each, SampledHand) for each in engines):
        return Check(own, most, above, above, [np.zeros_like(each) for each in above])
    runs = [
        _valued(rules, jams, [fresh(each, VALUED + k) for each in engines], threads, policies) for k in range(REPEATS)
    ]
    gains, errors = [], []
    for level in range(len(jams)):
        each = np.array([run[2][level] for run in runs])
        gains.append(each.mean(axis=0))
        errors.append(QUANTILE * each.std(axis=0, ddof=1) / np.sqrt(REPEATS))
    means = [np.mean([run[k] for run in runs], axis=0) for k in (0, 1)]
    return Check(means[0], means[1], gains, above, errors)


def _valued(
    rules: Tournament, jams: list[NDArray[Any]], engines: list[Engine], threads: int | None,
    policies: list[NDArray[Any]] | None = None,
) -> tuple[Floats, Floats, list[Floats], list[NDArray[Any]]]:  # fmt: skip
    """(values of the profile, those of a responder, its gains by level, its policies). Without `policies` the responder
    is a best one."""
    own, most = rules.icm.copy(), rules.icm.copy()
    gains, chosen = [], []
    for k, (level, played, engine) in enumerate(zip(rules.levels, jams, engines, strict=True)):
        induced = Induced(level, engine, engine.moments(played, threads))
        now = induced.value(played, own)
        own[level.values] = now.ravel()
        if policies is None:
            best, policy = induced.policy_iteration(played, most)
        else:
            best, policy = induced.value(policies[k], most), policies[k]
        most[level.values] = best.ravel()
        gains.append(best - now)
        chosen.append(policy)
    return own, most, gains, chosen
