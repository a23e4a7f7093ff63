"""Stitching on a form without a tree: experts that see the game as it is, up to the names of suits.

Rows are frozen one by one (its method `freeze`), so every part of every seat may be frozen or free. Buckets are
one list for a whole round, so an expert with an abstraction of its own needs the game's tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.choice import compact_form, needs_tree
from kibitz.forms.profile import Profile
from kibitz.forms.protocol import FreezableForm, FrozenRows
from kibitz.solvers.run import solve_through

Floats = NDArray[np.float64]
WHOLE = ("null", "suits")  # names for the game as it is: such a form never looks at the names of suits
HINT = (
    "; without a tree experts see the whole game: leave --inside and --opponents out, and give --seats all or "
    "--outside null (in Python inside, opponents, seats, outside)"
)


def whole(*views: Any) -> bool:
    """Whether these abstractions drop nothing that such a form has."""
    return all(isinstance(view, str) and view.strip() in WHOLE for view in views)


def form_given(game: Any) -> FreezableForm | None:
    """The form without a tree that was given in place of a game, if it was."""
    return game if isinstance(game, FreezableForm) else None


def form_for(game: Any, base: Any, views: tuple[Any, ...]) -> FreezableForm | None:
    """The form to stitch on; None if the tree is needed: by the game, the base or an abstraction."""
    given = form_given(game)
    if given is not None:
        if not whole(*views):
            raise SolverError(f"experts with abstractions {views} need the game's tree: give the game itself{HINT}")
        return given
    if needs_tree(game) or not isinstance(base, Profile) or base.infosets.compact is None or not whole(*views):
        return None
    form = compact_form(game)
    return form if isinstance(form, FreezableForm) else None


def solve_rows(
    rows: FrozenRows, solver: str, iterations: int | None, until: float | None, seed: int, start: str | None
) -> Profile:
    """Solve the game in which only some rows may move, on all cores."""
    if not rows.moves.any():
        return Profile(rows.form.infosets, rows.base.copy(), {"tree": rows.form.tree_digest})
    return solve_through(rows.form, solver, iterations=iterations, until=until, seed=seed, start=start, rows=rows)


def lifted_rows(rows: FrozenRows, answer: Floats) -> Floats:
    """An answer as it is played: as the base where frozen moves never let play come, as nothing is learnt there."""
    reached = rows.reached()
    if reached.all():
        return answer
    return np.where(np.repeat(reached, rows.form.infosets.width), answer, rows.base)


def checked_base(form: FreezableForm, base: Profile) -> Profile:
    """The base, if it is a profile of the form."""
    infosets = base.infosets
    if not form.infosets.same(infosets):
        raise GameError(
            f"the base does not fit the game: it was made for another game ({base.game or 'without a name'}) or on "
            f"another form of it than {form.spec or 'this one'}"
        )
    return base
