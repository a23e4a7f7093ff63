"""The solver `pcs`: public chance sampling on the CPU or on a GPU, where the form is to be computed."""

from __future__ import annotations

from collections.abc import Callable

from kibitz.core.errors import SpecError
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.sampled.pcs import Pcs
from kibitz.solvers import Task


def pcs(weights: str = "linear") -> Callable[[Task, str], Pcs]:
    if weights not in ("linear", "uniform"):
        raise SpecError(f"weights={weights}: choose linear (iteration t has weight t) or uniform")

    def solver(task: Task, spec: str) -> Pcs:
        if not isinstance(task.form, ViewForm) or task.form.device == "cpu":
            return Pcs(task, spec, weights == "linear")
        from kibitz.poker.sampled.gpu import GpuPcs

        return GpuPcs(task, spec, weights == "linear")

    return solver
