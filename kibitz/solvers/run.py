"""The one training loop: step, log, progress, checkpoint, resume.

What a run arrives at depends on the solver, the seed and the iteration alone: not on threads, on how long blocks of
iterations are, or on being interrupted. The gap is looked at after numbers of iterations that are fixed in advance.
"""

from __future__ import annotations

import math
import operator
import os
import secrets
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.compiling import clock
from kibitz.core.errors import ArtefactError, Interrupted, RunWarning, SolverError
from kibitz.core.loop import check_stops, in_blocks, interruptible
from kibitz.core.resources import cores
from kibitz.core.spec import parse
from kibitz.forms.choice import form_for
from kibitz.forms.problem import probabilities_of, resolve
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import Form, MovingRows
from kibitz.forms.sequence import normalise
from kibitz.games import Game
from kibitz.games.tree import Tree
from kibitz.solvers import Solver, Task, make
from kibitz.solvers.progress import Look, Report, shown

__all__ = ["Look", "Report", "solve"]

KIND = "checkpoint"
STOPS = ("iterations", "until", "seconds")
DEFAULT_ITERATIONS = 1_000
NEVER = 1 << 60  # a look that is not due
BLOCK_SECONDS = 0.15  # a call into compiled code takes about this long, so Ctrl-C and progress are prompt
# The gap is looked at whenever iterations have grown by this factor: closely if a gap decides when to stop.
GROWTH_UNTIL, GROWTH = 1.05, 1.2
# Below this many payoff entries a second thread has nothing to do.
ENTRIES_PER_THREAD = 60_000


def solve(
    game: Game | Tree | Form | str,
    solver: str = "auto",
    *,
    iterations: int | None = None,
    until: float | None = None,
    seconds: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    rows: MovingRows | None = None,
    start: Profile | str | None = None,
    abstraction: Any = None,
    device: str = "cpu",
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = 30.0,
    resume: bool = False,
    on_look: Callable[[Look], None] | None = None,
    report: Report | None = None,
    progress: bool | None = None,
) -> Profile:
    """Compute an approximate Nash equilibrium of a game.

    The run stops after `iterations`, once nash_conv is at most `until`, or after `seconds`, whichever is first; without
    any of them, after 1,000 iterations. Seconds are of solving: compiling, at the first use, does not count.

    solver      "cfr+", "dcfr(alpha=1.5)", "lp", ... (see `kibitz solvers`); "auto" picks an exact one for small games
    seed        for sampling solvers; the same seed gives the same bytes
    threads     cores to use; default: as many as the game keeps busy (mccfr: one; on more it is not reproducible)
    rows        an abstraction and a mask of trainable infosets (kibitz.forms.rows.row_map); default: all infosets
    start       a profile to start from, or "random" for one drawn from the seed; default: uniform
    abstraction a name, function, table or Abstraction (kibitz.abstraction): the abstract game is solved, to a gap that
                is measured there, and the profile is lifted to the real game; where the real game is too large for
                that, as hold'em is, the profile is one of buckets
    device      "gpu" (needs kibitz[gpu]) for poker in perfect-recall buckets, such as percentile(8)
    checkpoint  a directory to save the run to every `every` seconds and on Ctrl-C; `resume` continues from it. Another
                run that is there is never overwritten: it is refused, or, if it came while this one was running, this
                one is saved beside it as NAME-2 with a warning. A save that fails is a warning, and the run continues
    on_look     called with a Look (iteration, seconds, gap, value) from time to time
    report      filled with the looks and the time taken
    progress    True shows a progress bar, False none; default: in notebooks (where IPython is the kernel) only

    Ctrl-C in the main thread ends the run after the step in hand: the checkpoint is saved, and then `Interrupted` is
    raised, a KeyboardInterrupt whose .profile is the strategy so far and .saved the checkpoint. A second Ctrl-C does
    not wait for the step.
    """
    check_stops(iterations, until, seconds)
    problem = resolve(game, abstraction, start, device, walks(solver), samples(solver), rows)
    form = problem.form
    iterations, seed = None if iterations is None else int(iterations), whole(seed)
    first = _first(form, start, seed)
    # Sampling on several threads is not reproducible: only those who ask for it get it.
    threads = 1 if threads is None and walks(solver) else _threads(form, threads)
    task = Task(problem.tree, form, rows, first, seed, threads)
    made = make(solver, task)
    if until is not None and not measured(made):
        raise SolverError(f"{made.spec} never knows NashConv, so it cannot stop by it: give --iterations or --seconds")
    if iterations is None and until is None and seconds is None:
        iterations = DEFAULT_ITERATIONS
    report = report if report is not None else Report()
    keeper = None
    if resume:
        if checkpoint is None:
            raise SolverError("resume=True needs checkpoint=, the run to continue")
        keeper = Keeper(Path(checkpoint), _restore(made, form, Path(checkpoint), seed, report))
    elif checkpoint is not None:
        keeper = Keeper(Path(checkpoint))
        store.check_place(checkpoint)
        if (keeper.path / "manifest.json").exists():
            raise ArtefactError(
                f"{checkpoint} holds a run already: continue it with resume=True, or choose another path"
            )
    ends = None if seconds is None else report.seconds + seconds
    asked = {"iterations": iterations, "until": until, "seconds": ends}
    report.stop = {name: float(x) for name, x in asked.items() if x is not None and math.isfinite(x)}
    report.solver = made
    with shown(progress, f"{form.spec or 'the game'} by {made.spec}", report):
        train(made, form, iterations, until, seconds, keeper, every, on_look, report)
    found = problem.lift(profile_of(made, form, seed, report))
    if report.interrupted and report.tell is None:
        raise Interrupted(found, report.saved)
    return found


def solve_through(game: Any, solver: str, **options: Any) -> Profile:
    """As `solve`, as a step of a longer computation: Ctrl-C is a KeyboardInterrupt, and no partial profile is used."""
    report = Report(tell=lambda said: None)
    found = solve(game, solver, report=report, progress=False, **options)
    if report.interrupted:
        raise KeyboardInterrupt
    return found


def _first(form: Form, start: Profile | str | None, seed: int) -> NDArray[np.float64] | None:
    """Probabilities to start from; a random start has each row uniform on its simplex."""
    if start is None or isinstance(start, Profile):
        return None if start is None else probabilities_of(form, start)
    if start != "random":
        raise SolverError(f"start={start!r}: give a profile, or 'random'")
    weights = np.random.Generator(np.random.Philox(abs(seed))).standard_exponential(int(form.infosets.first[-1]))
    return normalise(weights, form.infosets)


def profile_of(solver: Solver, form: Form, seed: int, report: Report) -> Profile:
    """The solver's answer as a profile that says where it comes from."""
    meta: dict[str, Any] = {
        "game": form.spec, "tree": form.tree_digest, "solver": solver.spec,
        "iterations": solver.iteration, "seed": seed,
    }  # fmt: skip
    if report.interrupted:
        meta["interrupted"] = True
    if report.looks and report.looks[-1].iteration == solver.iteration:
        name = "abstract_" if form.abstraction else ""
        meta |= {f"{name}nash_conv": report.looks[-1].gap, f"{name}value": report.looks[-1].value}
    if form.abstraction:
        meta |= {"abstraction": form.abstraction, "size": form.points}
    return Profile(form.infosets, solver.probabilities(), meta)


def train(
    solver: Solver,
    form: Form,
    iterations: int | None,
    until: float | None,
    seconds: float | None,
    keeper: Keeper | None,
    every: float,
    on_look: Callable[[Look], None] | None,
    report: Report,
) -> None:
    """Step a solver until a stop is reached."""
    began = saved = clock()
    before = report.seconds
    target = 1 if solver.exact else iterations
    growth = GROWTH if until is None else GROWTH_UNTIL
    least = form.look_every
    looks = measured(solver)
    looked, upcoming = -1, next_look(solver.iteration - 1, growth, least) if looks else NEVER

    def over() -> bool:
        """Look and save where that is due; whether the run is over."""
        nonlocal saved, looked, upcoming
        done = target is not None and solver.iteration >= target
        due = solver.iteration >= upcoming
        late = seconds is not None and clock() - began >= seconds
        if looks and (due or done or late or stopped.is_set()) and solver.iteration > looked:
            starts = clock()
            look = _look(solver, form, before + starts - began)
            report.looking += clock() - starts
            report.looks.append(look)
            looked, upcoming = solver.iteration, next_look(solver.iteration, growth, least)
            if on_look is not None:
                on_look(look)
            done = done or (due and until is not None and look.gap <= until and solver.iteration > 0)
        now = clock()
        report.seconds = before + now - began
        if keeper is not None and (done or late or stopped.is_set() or now - saved >= every):
            keeper.save(solver, form, report)
            saved = now
        report.interrupted = stopped.is_set() and not (done or late)
        return done or late or stopped.is_set()

    with interruptible() as stopped:
        if over():
            return
        for _ in in_blocks(solver, solver.step, target, None, lambda: upcoming, length=BLOCK_SECONDS):
            if report.beat is not None:
                report.beat()
            if over():
                return


@lru_cache(4096)
def next_look(iteration: int, growth: float = GROWTH, least: int = 1) -> int:
    """Where the gap is looked at next: the first above `iteration` of 0, 1, 2, ..., then `growth` times more.

    `least` is the least distance: above 1 where a look takes as long as many iterations.

    The numbers do not depend on where a run was interrupted, so `until` stops it in the same place.
    """
    look = 0
    while look <= iteration:
        look = max(look + least, math.ceil(look * growth))
    return look


def _look(solver: Solver, form: Form, seconds: float) -> Look:
    found = solver.measure() if hasattr(solver, "measure") else form_for(form).measure(solver.probabilities())
    return Look(solver.iteration, seconds, found.nash_conv, found.value.tolist(), found.best.tolist())


def walks(solver: str) -> bool:
    """Whether a solver walks the game's tree."""
    return parse(solver).name == "mccfr"


def samples(solver: str) -> bool:
    """Whether a solver samples the boards of a poker game within buckets."""
    return parse(solver).name == "pcs"


def measured(solver: Solver) -> bool:
    """Whether the gap of a run is known while it runs; where a sum over all boards takes hours it is not."""
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


# Checkpoints


class Keeper:
    """Saves a run again and again, never over another run; a disk that fails does not end the run.

    Runs know their checkpoints by a name drawn at random. before: that of the run that this one goes on with.
    """

    def __init__(self, path: Path, before: str | None = None) -> None:
        self.path, self.run = path, secrets.token_hex(8)
        self._mine = {self.run, before} - {None}
        self._failed = False  # and told of

    def save(self, solver: Solver, form: Form, report: Report) -> None:
        report.saved = None
        try:
            while True:
                try:
                    over = lambda meta: meta.get("run", "") in self._mine  # noqa: E731
                    save_checkpoint(self.path, solver, form, form.spec, report, self.run, over)
                    break
                except store.Occupied:
                    taken, self.path = self.path, beside(self.path)
                    self._mine = {self.run}
                    _tell(report, f"{taken} was taken by another run in the meantime: this one is saved as {self.path}")
        except ArtefactError as error:
            if not self._failed:
                _tell(report, f"the checkpoint is not saved: {error}")
            self._failed = True
            return
        report.saved, self._failed = self.path, False


def _tell(report: Report, sentence: str) -> None:
    if report.tell is not None:
        report.tell(sentence)
    else:
        warnings.warn(sentence, RunWarning, stacklevel=5)


def beside(path: Path) -> Path:
    """The first of NAME-2, NAME-3, ... that is free."""
    number = 2
    while os.path.lexists(found := path.with_name(f"{path.stem}-{number}{path.suffix}")):
        number += 1
    return found


def save_checkpoint(
    path: Path,
    solver: Solver,
    form: Form,
    game: str,
    report: Report | None = None,
    name: str = "",
    over: Callable[[dict[str, Any]], bool] | None = None,
) -> None:
    """Write all that a resumed run needs; an older checkpoint is replaced at one moment, if `over` agrees."""
    report = report or Report()
    task: Task | None = getattr(solver, "task", None)
    seed = 0 if task is None else task.seed
    meta = {
        "game": game, "tree": form.tree_digest, "solver": solver.spec, "iteration": solver.iteration, "seed": seed,
        "rows": _rows(task), "run": name,
        "stop": report.stop, "seconds": report.seconds,
        "looks": [[look.iteration, look.seconds, look.gap, look.value, look.best] for look in report.looks],
    }  # fmt: skip
    store.save(path, KIND, solver.state, meta, over)


def _rows(task: Task | None) -> str:
    return "" if task is None or task.rows is None else task.rows.digest


def checkpoint_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a checkpoint says of itself: game, solver, iteration, seed, stop (as asked for), seconds, looks."""
    meta = {"run": "", **store.load(Path(path), KIND, mmap=True).meta}
    wanted = {
        "game": str, "tree": str, "solver": str, "iteration": int, "seed": int, "rows": str, "run": str,
        "stop": dict, "seconds": float, "looks": list,
    }  # fmt: skip
    for name, kind in wanted.items():
        if not isinstance(meta.get(name), kind):
            raise ArtefactError(f"{path} is not a complete checkpoint: its {name} is missing; start a new run")
    stops = all(k in STOPS and isinstance(v, float) and v >= 0 for k, v in meta["stop"].items())
    if not (stops and 0 <= meta["iteration"] < 1 << 60 and meta["seconds"] >= 0):
        raise ArtefactError(f"{path} is not a complete checkpoint: its numbers are impossible; start a new run")
    return meta


def _looks(path: Path, meta: dict[str, Any]) -> list[Look]:
    """The looks that a checkpoint holds, but for one at its own iteration: the run looks there again."""
    try:
        looks = [
            Look(int(i), float(s), float(g), *([float(x) for x in figures] for figures in (v, b)))
            for i, s, g, v, b in meta["looks"]
        ]
    except (TypeError, ValueError, OverflowError):
        raise ArtefactError(f"{path} is not a complete checkpoint: its log is damaged; start a new run") from None
    return [look for look in looks if look.iteration < meta["iteration"]]


def _restore(solver: Solver, form: Form, path: Path, seed: int, report: Report) -> str:
    """Set a solver to where a checkpoint is; returns the name of the run."""
    meta = checkpoint_meta(path)
    mine = {"tree": form.tree_digest, "solver": solver.spec, "seed": seed}
    mine["rows"] = _rows(getattr(solver, "task", None))
    for name, wanted in mine.items():
        if meta[name] != wanted:
            raise ArtefactError(
                f"{path} belongs to another run: its {name} is {meta[name]}, here it is {wanted}; "
                "resume with the same game, solver, seed and rows"
            )
    held: dict[str, NDArray[Any]] = store.load(path, KIND).arrays
    if held.keys() != solver.state.keys():
        raise ArtefactError(f"{path} does not hold the state of {solver.spec}; start a new run")
    for name, array in solver.state.items():
        same = held[name].shape == array.shape and held[name].dtype == array.dtype
        if not same or np.isnan(held[name]).any() or np.isposinf(held[name]).any():
            raise ArtefactError(f"{path} does not fit the game: its array {name!r} is wrong; start a new run")
    for name, array in solver.state.items():
        array[...] = held[name]
    solver.iteration = meta["iteration"]
    solver.restore()
    report.looks[:], report.seconds = _looks(path, meta), meta["seconds"]
    return str(meta["run"])
