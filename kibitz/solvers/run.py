"""kibitz.solve, and the loop that steps a solver: evaluations, progress, checkpoints, Ctrl-C.

What a run arrives at depends on the solver, the seed and the iteration alone: not on threads, on how long blocks of
iterations are, or on being interrupted. NashConv is evaluated after numbers of iterations that are fixed in advance.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import clock
from kibitz.core.errors import Interrupted, SolverError
from kibitz.core.gpu import require
from kibitz.core.loop import check_stops, in_blocks, interruptible
from kibitz.core.resources import cores
from kibitz.core.spec import parse
from kibitz.forms.choice import form_for
from kibitz.forms.problem import probabilities_of, resolve
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form, GpuForm, MovingRows
from kibitz.forms.sequence import normalise
from kibitz.games import Game
from kibitz.games.tree import Tree
from kibitz.solvers import RunOptions, Solver, Task, make
from kibitz.solvers.checkpoints import Keeper, SolverRun
from kibitz.solvers.progress import RunState, shown
from kibitz.solvers.result import Evaluation, Result

__all__ = ["solve"]

DEFAULT_ITERATIONS = 1_000
NEVER = 1 << 60  # an evaluation that is not due
BLOCK_SECONDS = 0.15  # a call into compiled code takes about this long, so Ctrl-C and progress are prompt
# NashConv is evaluated whenever iterations have grown by this factor: closely if it decides when to stop.
GROWTH_UNTIL, GROWTH = 1.05, 1.2
# Below this many payoff entries a second thread has nothing to do.
ENTRIES_PER_THREAD = 60_000


@dataclass(frozen=True)
class SolveRequest:
    """The arguments of `solve`, and those that only other parts of kibitz use."""

    game: Game | Tree | Form | str
    solver: str = "auto"
    iterations: int | None = None
    until: float | None = None
    seconds: float | None = None
    seed: int = 0
    threads: int | None = None
    start: Profile | str | None = None
    abstraction: Any = None
    run: RunOptions = field(default_factory=RunOptions)
    rows: MovingRows | None = None  # an abstraction and a mask of trainable infosets; None: all infosets


def solve(
    game: Game | Tree | Form | str,
    solver: str = "auto",
    *,
    iterations: int | None = None,
    until: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    start: Profile | str | None = None,
    abstraction: Any = None,
    run: RunOptions | None = None,
) -> Result:
    """Compute an approximate Nash equilibrium of a game.

    The run stops after `iterations`, once nash_conv is at most `until`, or after `seconds`, whichever is first; without
    any of them, after 1,000 iterations. Seconds are of solving: compiling, at the first use, does not count.

    solver      "cfr+", "dcfr(alpha=1.5)", "lp", ... (see `kibitz solvers`); "auto" picks an exact one for small games
    seed        for sampling solvers; the same seed gives the same bytes
    threads     cores to use; default: as many as the game keeps busy (mccfr: one; on more it is not reproducible)
    start       a profile to start from, or "random" for one drawn from the seed; default: uniform
    abstraction a name, function, table or Abstraction (kibitz.abstraction): the abstract game is solved, NashConv is
                measured there, and the profile is lifted to the real game; if the real game is too large for that,
                as for hold'em, the profile is for the abstract game
    run         checkpoints, progress and the device: RunOptions(checkpoint="leduc.checkpoint", resume=True)

    The result is a Profile that also has the history of evaluations, the seconds taken and the checkpoint.

    Ctrl-C in the main thread ends the run after the current step: the checkpoint is saved, and then `Interrupted` is
    raised, a KeyboardInterrupt whose .profile is the result so far and .saved the checkpoint. A second Ctrl-C does
    not wait for the step.
    """
    request = SolveRequest(game, solver, iterations, until, seconds, seed, threads, start, abstraction,
                           run or RunOptions())  # fmt: skip
    result = carry_out(request, RunState())
    if result.interrupted:
        raise Interrupted(result, result.checkpoint)
    return result


def solve_through(game: Any, solver: str, **options: Any) -> Result:
    """As `solve`, as a step of a longer computation: Ctrl-C is a KeyboardInterrupt, and no partial profile is used.

    options: of `SolveRequest`.
    """
    request = SolveRequest(game, solver, **{"run": RunOptions(progress=False), **options})
    result = carry_out(request, RunState(message=lambda text: None))
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def carry_out(request: SolveRequest, state: RunState) -> Result:
    """Solve what was asked for. state: filled while the run goes on, for those who show it."""
    iterations, until, seconds, run = request.iterations, request.until, request.seconds, request.run
    check_stops(iterations, until, seconds)
    iterations = None if iterations is None else int(iterations)  # NumPy's would get into what is saved
    walking, seed = walks(request.solver), whole(request.seed)
    problem = resolve(request.game, request.abstraction, request.start, run.device, walking, samples(request.solver),
                      request.rows)  # fmt: skip
    form = problem.form
    # Sampling on several threads is not reproducible: only those who ask for it get it.
    threads = 1 if request.threads is None and walking else _threads(form, request.threads)
    if isinstance(form, GpuForm):
        require(run.device)
    solver = make(
        request.solver,
        Task(problem.tree, form, request.rows, first_strategy(form, request.start, seed), seed, threads, run.device),
    )
    if until is not None and not measured(solver):
        raise SolverError(f"{solver.spec} does not compute NashConv, so it cannot stop at a target: give iterations "
                          "or seconds")
    if iterations is None and until is None and seconds is None:
        iterations = DEFAULT_ITERATIONS
    state.solver = solver
    keeper = SolverRun(solver, form, state).keeper(run.checkpoint, run.checkpoint_every, run.resume, seed)
    ends = None if seconds is None else state.seconds + seconds
    asked = {"iterations": iterations, "until": until, "seconds": ends}
    state.stop = {name: float(x) for name, x in asked.items() if x is not None and math.isfinite(x)}
    with shown(run.bar, f"{form.spec or 'the game'} by {solver.spec}", state) as on_block:
        iterate(solver, form, state, Stops(iterations, until, seconds), keeper, run.callback, on_block)
    profile = problem.lift(_profile(solver, form, seed, state))
    return Result(
        profile.infosets, profile.probabilities, profile.meta, state.history, state.seconds, state.evaluation_seconds,
        state.checkpoint, state.interrupted, solver.exact,
    )  # fmt: skip


def first_strategy(form: Form, start: Profile | str | None, seed: int) -> NDArray[np.float64] | None:
    """Probabilities to start from; a random start has each row uniform on its simplex."""
    if start is None or isinstance(start, Profile):
        return None if start is None else probabilities_of(form, start)
    if start != "random":
        raise SolverError(f"start={start!r}: give a profile, or 'random'")
    weights = np.random.Generator(np.random.Philox(abs(seed))).standard_exponential(int(form.infosets.first[-1]))
    return normalise(weights, form.infosets)


def _profile(solver: Solver, form: Form, seed: int, state: RunState) -> Profile:
    """The solver's answer as a profile that says where it comes from."""
    meta: dict[str, Any] = {
        "game": form.spec, "tree": form.tree_digest, "solver": solver.spec,
        "iterations": solver.iteration, "seed": seed,
    }  # fmt: skip
    if state.interrupted:
        meta["interrupted"] = True
    if state.history and state.history[-1].iteration == solver.iteration:
        name = "abstract_" if form.abstraction else ""
        meta |= {f"{name}nash_conv": state.history[-1].nash_conv, f"{name}value": state.history[-1].value}
    if form.abstraction:
        meta |= {"abstraction": form.abstraction, "size": form.points}
    return Profile(form.infosets, solver.probabilities(), meta)


class Stops(NamedTuple):
    """When a run stops: at the first of them."""

    iterations: int | None = None
    until: float | None = None  # NashConv
    seconds: float | None = None


def iterate(
    solver: Solver,
    form: Form,
    state: RunState,
    stops: Stops,
    keeper: Keeper | None = None,
    on_evaluation: Callable[[Evaluation], None] | None = None,
    on_block: Callable[[], None] = lambda: None,
) -> None:
    """Step a solver until a stop is reached, evaluate and save it on the way; `state` is filled."""
    began, before, until = clock(), state.seconds, stops.until
    target = 1 if solver.exact else stops.iterations
    growth = GROWTH if until is None else GROWTH_UNTIL
    least, known = form.look_every, measured(solver)
    evaluated, upcoming = -1, next_evaluation(solver.iteration - 1, growth, least) if known else NEVER

    def over() -> bool:
        """Evaluate and save where that is due; whether the run is over."""
        nonlocal evaluated, upcoming
        done = target is not None and solver.iteration >= target
        due = solver.iteration >= upcoming
        late = stops.seconds is not None and clock() - began >= stops.seconds
        if known and (due or done or late or stopped.is_set()) and solver.iteration > evaluated:
            starts = clock()
            now = _evaluated(solver, form, before + starts - began)
            state.evaluation_seconds += clock() - starts
            state.history.append(now)
            evaluated, upcoming = solver.iteration, next_evaluation(solver.iteration, growth, least)
            if on_evaluation is not None:
                on_evaluation(now)
            done = done or (due and until is not None and now.nash_conv <= until and solver.iteration > 0)
        state.seconds = before + clock() - began
        state.interrupted = stopped.is_set() and not (done or late)
        ends = done or late or stopped.is_set()
        if keeper is not None:
            state.checkpoint = keeper.path if keeper.save_if_due(ends) else None
        return ends

    with interruptible() as stopped:
        if over():
            return
        for _ in in_blocks(solver, solver.step, target, None, lambda: upcoming, length=BLOCK_SECONDS):
            on_block()
            if over():
                return


@lru_cache(4096)
def next_evaluation(iteration: int, growth: float = GROWTH, least: int = 1) -> int:
    """Where NashConv is evaluated next: the first above `iteration` of 0, 1, 2, ..., then `growth` times more.

    `least` is the least distance: above 1 where an evaluation takes as long as many iterations.

    The numbers do not depend on where a run was interrupted, so `until` stops it in the same place.
    """
    number = 0
    while number <= iteration:
        number = max(number + least, math.ceil(number * growth))
    return number


def _evaluated(solver: Solver, form: Form, seconds: float) -> Evaluation:
    measure = solver.measure() if hasattr(solver, "measure") else form_for(form).measure(solver.probabilities())
    return Evaluation(solver.iteration, seconds, measure.nash_conv, measure.value.tolist(), measure.best.tolist())


def walks(solver: str) -> bool:
    """Whether a solver walks the game's tree."""
    return parse(solver).name == "mccfr"


def samples(solver: str) -> bool:
    """Whether a solver samples the boards of a poker game in buckets."""
    return parse(solver).name == "pcs"


def measured(solver: Solver) -> bool:
    """Whether NashConv is known while a run goes on; where a sum over all boards takes hours it is not."""
    return bool(getattr(solver, "measured", True))


def whole(seed: Any) -> int:
    """A seed that was given, if it is one."""
    try:
        return operator.index(seed)
    except TypeError:
        raise SolverError(f"seed={seed!r} must be a whole number") from None


def _threads(form: Form, threads: int | None) -> int:
    if threads is not None:
        if not 1 <= threads <= 1024:
            raise SolverError(f"threads={threads} must be from 1 to 1024")
        return threads
    return max(1, min(cores(), form.entries // ENTRIES_PER_THREAD))
