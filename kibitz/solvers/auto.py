"""solver="auto": the exact programme where it is quick, otherwise CFR+."""

from __future__ import annotations

from collections.abc import Callable

from kibitz.solvers import Solver, Task

# HiGHS solves games up to about this many payoff entries in seconds (docs/results.md); beyond, CFR+ is sooner at 1e-4.
MOST_ENTRIES = 60_000


def auto() -> Callable[[Task, str], Solver]:
    return _choose


def _choose(task: Task, spec: str) -> Solver:
    from kibitz.solvers import make
    from kibitz.solvers.lp import refusal

    exact = not refusal(task) and task.form.entries <= MOST_ENTRIES
    return make("lp" if exact else "cfr+", task)
