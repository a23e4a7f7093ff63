"""solver="auto": the linear program where it is fast, otherwise the CFR variant that the form recommends.

With device="gpu" the variant runs on the GPU if the game is large enough for the GPU to be faster, else on cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.solvers import Solver, Task

# HiGHS solves a form of this many payoff entries in a second or two (Leduc 13 thousand, Goofspiel-5 39, Leduc with ten
# cards 72); its time grows with the square, so beyond this CFR+ is at a gap of 1e-4 sooner.
MOST_ENTRIES = 100_000
FAR_APART = 1e6
# From so many payoff entries on a GPU does more iterations a second than all cores (docs/gpu.md).
GPU_FROM = 50_000


def auto() -> Callable[[Task, str], Solver]:
    return _choose


def _choose(task: Task, spec: str) -> Solver:
    from kibitz.solvers import make
    from kibitz.solvers.lp import refusal

    other = task.form.best_cfr
    if task.form.entries < GPU_FROM:
        task = replace(task, device="cpu")
    if task.form.entries > MOST_ENTRIES or refusal(task):
        return make(other, task)
    cores = replace(task, device="cpu")
    if _far_apart(task):
        try:
            make("lp", cores).step(1)
        except SolverError as error:
            warnings.warn(f"{other} is used instead of lp: {error}", stacklevel=2)
            return make(other, task)
    return make("lp", cores)


def _far_apart(task: Task) -> bool:
    """Whether payoffs (times chances) are so far apart that the programme has to prove itself."""
    sizes = np.abs(task.gradients.payoff_matrix().data)
    return bool(len(sizes) and sizes.max() > FAR_APART * sizes.min())
