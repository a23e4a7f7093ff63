"""Solvers compute strategies. Names are resolved lazily; each solver is written once, on the forms."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core import spec as specs
from kibitz.core.errors import SolverError, SpecError
from kibitz.forms.choice import form_for
from kibitz.forms.protocol import Form, GpuForm, GradientForm, MovingRows
from kibitz.games.tree import Tree

__all__ = ["SOLVERS", "RunOptions", "Solver", "Task", "make"]

# name -> (module:factory, one line for `kibitz solvers`)
SOLVERS: dict[str, tuple[str, str]] = {
    "cfr": ("kibitz.solvers.cfr:cfr", "counterfactual regret minimisation [Zinkevich et al. 2007]"),
    "cfr+": ("kibitz.solvers.cfr:cfr_plus", "regret matching+, linear averaging [Tammelin 2014]"),
    "lcfr": ("kibitz.solvers.cfr:lcfr", "linear CFR: iteration t counts t times [Brown & Sandholm 2019]"),
    "dcfr": ("kibitz.solvers.cfr:dcfr", "discounted CFR(alpha, beta, gamma) [Brown & Sandholm 2019]"),
    "dcfr+": ("kibitz.solvers.cfr:dcfr_plus", "dcfr whose regrets stay at 0 or above [Xu et al. 2024]"),
    "pdcfr+": ("kibitz.solvers.cfr:pdcfr_plus", "predictive dcfr+ [Xu et al. 2024]"),
    "pcfr+": ("kibitz.solvers.cfr:pcfr_plus", "predictive CFR+, quadratic averaging [Farina et al. 2021]"),
    "mccfr": ("kibitz.solvers.mccfr:mccfr", "sampling=external, outcome or chance [Lanctot et al. 2009]"),
    "pcs": ("kibitz.poker.sampled.choice:pcs", "public chance sampling, poker in buckets [Johanson et al. 2012]"),
    "egt": ("kibitz.solvers.egt:egt", "excessive gap technique, two-player zero-sum games [Hoda et al. 2010]"),
    "smoothing": ("kibitz.solvers.smoothing:smoothing", "iterated smoothing, the same games [Gilpin et al. 2012]"),
    "lp": ("kibitz.solvers.lp:lp", "exact: the sequence-form linear program, by HiGHS [von Stengel 1996]"),
    "fp": ("kibitz.solvers.fp:fp", "fictitious play: best responses to the average so far [Brown 1951]"),
    "br": ("kibitz.solvers.fp:br", "best responses to the start profile (uniform unless given)"),
    "auto": ("kibitz.solvers.auto:auto", "lp where it is exact and quick, else a CFR variant"),
}

# Those that also run on a GPU, on the form of a game's tree.
ON_GPU = ("cfr", "cfr+", "lcfr", "dcfr", "dcfr+", "pdcfr+", "pcfr+", "auto")


@dataclass(frozen=True)
class RunOptions:
    """How a run of `kibitz.solve` or `kibitz.train` is carried out. None of it changes what is computed.

    checkpoint  a directory to save the run to every `checkpoint_every` seconds, at the end and on Ctrl-C. Another run
                in it is never overwritten: it is refused, or, if it came while this one was running, this one is saved
                beside it as NAME-2 with a warning. A save that fails is a warning, and the run continues
    resume      continue from the checkpoint
    device      "gpu" (needs kibitz[gpu13], or kibitz[gpu12] for CUDA 12): of `solve` for CFR on a game's tree (solver
                "auto" then takes the GPU where it is faster) and for poker in perfect-recall buckets, such as
                percentile(8); of `train` for games with compiled rules or a tree. Either device resumes what the other
                began
    progress    True shows a progress bar, False none; default: in notebooks (where IPython is the kernel) only. Or a
                function: `solve` calls it with each Evaluation, `train` with a Progress a few times a second
    """

    checkpoint: str | PathLike[str] | None = None
    checkpoint_every: float = 30.0
    resume: bool = False
    device: str = "cpu"
    progress: bool | Callable[[Any], None] | None = None

    @property
    def bar(self) -> bool | None:
        """Whether a progress bar is shown; None: in notebooks only."""
        return self.progress if isinstance(self.progress, bool) else None

    @property
    def callback(self) -> Callable[[Any], None] | None:
        """The function to call while the run goes on."""
        return self.progress if callable(self.progress) else None


@dataclass(frozen=True)
class Task:
    """The input of a solver."""

    tree: Tree | None  # None on a form without one: only walking solvers need it
    form: Form
    rows: MovingRows | None = None  # None: each infoset has a row of its own, and all are trainable
    start: NDArray[np.float64] | None = None  # probabilities by infoset column to start from; None: uniform
    seed: int = 0
    threads: int = 1
    device: str = "cpu"  # of solvers that choose it; other forms are on theirs already

    @property
    def gradients(self) -> GradientForm:
        """The form, if it has plans and gradients; otherwise the error names a solver to use."""
        return form_for(self.form)


class Solver(Protocol):
    """What the training loop needs. State is a flat dict of named arrays and a counter: nothing else is saved."""

    spec: str  # canonical, as saved artefacts carry it
    iteration: int
    exact: bool  # one step gives the answer

    @property
    def state(self) -> dict[str, NDArray[Any]]: ...
    def step(self, count: int) -> None: ...
    def probabilities(self) -> NDArray[np.float64]: ...
    def restore(self) -> None: ...


def check(name: str, choice: str, choices: Iterable[str]) -> None:
    """Refuse a solver's parameter that is none of its choices."""
    *others, last = choices
    if choice not in (*others, last):
        raise SpecError(f"{name}={choice}: choose {', '.join(others)} or {last}")


def make(text: str, task: Task) -> Solver:
    """The solver that a spec such as "dcfr(alpha=1.5)" names, ready for its first step."""
    spec = specs.parse(text)
    if spec.name not in SOLVERS:
        raise specs.unknown("solver", spec.name, SOLVERS)
    if task.rows is not None and task.rows.form.tree_digest != task.form.tree_digest:
        raise SolverError("the rows were made for another game: make them with row_map of this game's form")
    if task.device != "cpu" and isinstance(task.form, GpuForm) and spec.name not in ON_GPU:
        raise SolverError(f"{spec.name} runs on the processor's cores alone: leave device={task.device} (--device "
                          f"{task.device}) out, or take one of {', '.join(ON_GPU)}")
    module, name = SOLVERS[spec.name][0].split(":")
    start: Any = specs.call(getattr(importlib.import_module(module), name), spec)
    solver: Solver = start(task, str(spec))
    return solver
