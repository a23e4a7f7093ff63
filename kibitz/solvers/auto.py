"""solver="auto": the exact programme where it is quick, otherwise CFR+, and for poker forms its discounted kin."""

from __future__ import annotations

from collections.abc import Callable

from kibitz.form.kinds import is_poker_form
from kibitz.solvers import Solver, Task

# HiGHS solves a form of this many payoff entries in a second or two (Leduc 13 thousand, Goofspiel-5 39, Leduc with ten
# cards 72); its time grows with the square, so beyond this CFR+ is at a gap of 1e-4 sooner.
MOST_ENTRIES = 100_000


def auto() -> Callable[[Task, str], Solver]:
    return _choose


def _choose(task: Task, spec: str) -> Solver:
    from kibitz.solvers import make
    from kibitz.solvers.lp import refusal

    exact = not refusal(task) and task.form.entries <= MOST_ENTRIES
    # On Rhode Island hold'em dcfr+ needed the fewest iterations of those tried (`kibitz paper sandholm`).
    return make("lp" if exact else "dcfr+" if is_poker_form(task.form) else "cfr+", task)
