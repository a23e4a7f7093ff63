"""Saving work from time to time: the one keeper of checkpoints, and what a saved run of a solver holds."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.compiling import clock
from kibitz.core.errors import ArtefactError, SolverError
from kibitz.forms.protocol import Form
from kibitz.solvers import Solver, Task
from kibitz.solvers.progress import RunState, warn
from kibitz.solvers.result import Evaluation

KIND = "checkpoint"
STOPS = ("iterations", "until", "seconds")

Over = Callable[[dict[str, Any]], bool]  # whether an artefact with some meta may be replaced


class Saveable(Protocol):
    """Work that is saved while it goes on. No two pieces of work ever have the same meta."""

    @property
    def meta(self) -> dict[str, Any]: ...
    def save(self, path: Path, over: Over) -> None: ...


class Keeper:
    """Saves work again and again, never over the work of another: then beside it, as NAME-2.

    path     where to; None: nowhere
    last     the meta of the artefact at `path` that this work goes on from
    every    seconds between saves; more if saving would take over `share` of the time, where that is not 0
    message  is called with what should be known
    """

    def __init__(
        self, work: Saveable, path: Path | None, last: dict[str, Any] | None = None, every: float = 30.0,
        share: float = 0.0, message: Callable[[str], None] = warn,
    ) -> None:  # fmt: skip
        self.path, self.saved_at, self.began = path, clock(), clock()
        self._work, self._last, self._every, self._share, self._message = work, last, every, share, message
        self._pause = every
        self._failed = False  # to save, which was said already

    def save(self, path: Path | None = None) -> None:
        """Save now, from here on to `path` if it is given; what fails is an ArtefactError."""
        self.path = path or self.path
        assert self.path is not None
        while True:
            try:
                self._work.save(self.path, lambda meta: meta == self._last)
                break
            except store.Occupied:
                taken, self.path, self._last = self.path, beside(self.path), None
                self._message(f"{taken} was taken by another run in the meantime: this one is saved as {self.path}")
        self._last, self._failed = self._work.meta, False

    def save_if_due(self, now: bool = False) -> bool:
        """Save if the time has come, or now; returns whether it was saved. A save that fails is a message only."""
        began = clock()
        if self.path is None or not (now or began - self.saved_at >= self._pause):
            return False
        try:
            self.save()
        except ArtefactError as error:
            if not self._failed:
                self._message(f"the run is not saved: {error}; it continues")
            self._failed = True
        self.saved_at = clock()
        if self._share:
            self._pause = max(self._every, (self.saved_at - began) / self._share)
        return not self._failed

    def used(self) -> float:
        """Seconds of work since the keeper was made."""
        return clock() - self.began


def beside(path: Path) -> Path:
    """The first of NAME-2, NAME-3, ... that is free."""
    number = 2
    while os.path.lexists(free := path.with_name(f"{path.stem}-{number}{path.suffix}")):
        number += 1
    return free


@dataclass(frozen=True)
class SolverRun:
    """A run of a solver, as it is saved."""

    solver: Solver
    form: Form
    state: RunState
    name: str = field(default_factory=lambda: secrets.token_hex(8))  # tells it from other runs

    @property
    def meta(self) -> dict[str, Any]:
        """All that a resumed run needs beside the solver's arrays."""
        task, state = _task(self.solver), self.state
        return {
            "game": self.form.spec, "tree": self.form.tree_digest, "solver": self.solver.spec,
            "iteration": self.solver.iteration, "seed": 0 if task is None else task.seed, "rows": _rows(task),
            "run": self.name, "stop": state.stop, "seconds": state.seconds,
            "looks": [[x.iteration, x.seconds, x.nash_conv, x.value, x.best] for x in state.history],
        }  # fmt: skip

    def save(self, path: Path, over: Over | None = None) -> None:
        """Write a checkpoint; an older one is replaced at one moment, if `over` agrees."""
        store.save(path, KIND, self.solver.state, self.meta, over)

    def restore(self, path: Path, seed: int) -> dict[str, Any]:
        """Set the solver to where a checkpoint is; returns the checkpoint's meta."""
        solver, meta = self.solver, checkpoint_meta(path)
        mine = {"tree": self.form.tree_digest, "solver": solver.spec, "seed": seed, "rows": _rows(_task(solver))}
        for name, wanted in mine.items():
            if meta[name] != wanted:
                raise ArtefactError(
                    f"{path} belongs to another run: its {name} is {meta[name]}, here it is {wanted}; "
                    "resume with the same game, solver, seed and rows"
                )
        artefact = store.load(path, KIND)
        saved: dict[str, NDArray[Any]] = artefact.arrays
        if saved.keys() != solver.state.keys():
            raise ArtefactError(f"{path} does not hold the state of {solver.spec}; start a new run")
        for name, array in solver.state.items():
            same = saved[name].shape == array.shape and saved[name].dtype == array.dtype
            if not same or np.isnan(saved[name]).any() or np.isposinf(saved[name]).any():
                raise ArtefactError(f"{path} does not fit the game: its array {name!r} is wrong; start a new run")
        for name, array in solver.state.items():
            array[...] = saved[name]
        solver.iteration = meta["iteration"]
        solver.restore()
        self.state.history[:], self.state.seconds = _history(path, meta), meta["seconds"]
        return artefact.meta

    def keeper(self, checkpoint: str | os.PathLike[str] | None, every: float, resume: bool, seed: int) -> Keeper:
        """Who saves the run; with `resume` it continues from its checkpoint."""
        if checkpoint is None:
            if resume:
                raise SolverError("resume=True needs checkpoint=, the run to continue")
            return Keeper(self, None)
        path, last = Path(checkpoint), None
        if resume:
            last = self.restore(path, seed)
        else:
            store.check_place(path)
            if (path / "manifest.json").exists():
                raise ArtefactError(
                    f"{checkpoint} holds a run already: continue it with resume=True, or choose another path"
                )
        return Keeper(self, path, last, every, message=self.state.message)


def _task(solver: Solver) -> Task | None:
    return getattr(solver, "task", None)


def _rows(task: Task | None) -> str:
    return "" if task is None or task.rows is None else task.rows.digest


def checkpoint_meta(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a checkpoint says of itself: game, solver, iteration, seed, stop (as asked for), seconds, evaluations."""
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


def _history(path: Path, meta: dict[str, Any]) -> list[Evaluation]:
    """The evaluations that a checkpoint holds, but for one at its own iteration: the run evaluates there again."""
    try:
        history = [
            Evaluation(int(i), float(s), float(g), *([float(x) for x in figures] for figures in (v, b)))
            for i, s, g, v, b in meta["looks"]
        ]
    except (TypeError, ValueError, OverflowError):
        raise ArtefactError(f"{path} is not a complete checkpoint: its log is damaged; start a new run") from None
    return [each for each in history if each.iteration < meta["iteration"]]
