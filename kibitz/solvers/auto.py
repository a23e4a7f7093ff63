"""solver="auto": the linear program where it is fast, otherwise the CFR variant that the form recommends.

With device="gpu" the variant runs on the GPU or on cores, whichever does more iterations a second: both are tried.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.forms.protocol import GpuForm
from kibitz.solvers import Solver, Task

# HiGHS solves a form of this many payoff entries in a second or two (Leduc 13 thousand, Goofspiel-5 39, Leduc with ten
# cards 72); its time grows with the square, so beyond this CFR+ is at a gap of 1e-4 sooner.
MOST_ENTRIES = 100_000
FAR_APART = 1e6
# One H200 passes a good processor at some 35,000 payoff entries (docs/gpu.md): no GPU is tried for a game of fewer.
GPU_FROM = 30_000
TRIAL = 0.02  # seconds that a device is tried for, about, three times


def auto() -> Callable[[Task, str], Solver]:
    return _choose


def _choose(task: Task, spec: str) -> Solver:
    from kibitz.solvers import make
    from kibitz.solvers.lp import refusal

    other, on_tree = task.form.best_cfr, isinstance(task.form, GpuForm)
    if task.form.entries > MOST_ENTRIES or refusal(task):
        return _faster(task, other) if on_tree and task.device != "cpu" else make(other, task)
    cores = replace(task, device="cpu")
    if _far_apart(task):
        try:
            make("lp", cores).step(1)
        except SolverError as error:
            warnings.warn(f"{other} is used instead of lp: {error}", stacklevel=2)
            return make(other, cores if on_tree else task)
    return make("lp", cores)


def _far_apart(task: Task) -> bool:
    """Whether payoffs (times chances) are so far apart that the programme has to prove itself."""
    sizes = np.abs(task.gradients.payoff_matrix().data)
    return bool(len(sizes) and sizes.max() > FAR_APART * sizes.min())


def _faster(task: Task, spec: str) -> Solver:
    """A solver on the device that is faster for this game; on cores if the GPU has no room for it."""
    from kibitz.solvers import make

    cores = replace(task, device="cpu")
    if task.form.entries < GPU_FROM:
        return make(spec, cores)
    try:
        on_gpu = rate(make(spec, task))
    except SolverError as error:
        warnings.warn(f"{spec} runs on cores: {error}", stacklevel=2)
        return make(spec, cores)
    return make(spec, task if on_gpu > rate(make(spec, cores)) else cores)


def rate(solver: Solver) -> float:
    """Iterations a second: the best of three blocks, once all is compiled."""
    count, best = 1, 0.0
    solver.step(1)
    for _ in range(3):
        taken = 0.0
        while taken < TRIAL:
            began = time.perf_counter()
            solver.step(count)
            taken = time.perf_counter() - began
            best = max(best, count / max(taken, 1e-9))
            count = count if taken >= TRIAL else 2 * count
    return best
