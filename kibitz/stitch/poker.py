"""Stitching on a poker form, without a tree: experts that see the game as it is, up to the names of suits.

Rows are frozen one by one (`kibitz.form.poker.rows`), so every part of every seat may be frozen or free. Buckets are
one list for a whole round, so an expert with an abstraction of its own needs the game's tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.errors import GameError, SolverError
from kibitz.form.kinds import is_poker, is_poker_form, is_poker_infosets
from kibitz.form.poker.rows import PokerRows
from kibitz.profile import Profile
from kibitz.run import solve_through

if TYPE_CHECKING:
    from kibitz.form.poker.form import PokerForm

Floats = NDArray[np.float64]
WHOLE = ("null", "suits")  # names for the game as it is: a poker form never looks at the names of suits
HINT = (
    "; without a tree experts see the whole game: leave --inside and --opponents out, and give --seats all or "
    "--outside null (in Python inside, opponents, seats, outside)"
)


def whole(*views: Any) -> bool:
    """Whether these abstractions drop nothing that a poker form has."""
    return all(isinstance(view, str) and view.strip() in WHOLE for view in views)


def form_for(game: Any, base: Any, views: tuple[Any, ...]) -> PokerForm | None:
    """The poker form to stitch on; None if the tree is needed: by another game, base or abstraction."""
    if is_poker_form(game):
        if not whole(*views):
            raise SolverError(f"experts with abstractions {views} need the game's tree: give the game itself{HINT}")
        return game
    if is_poker(game) and isinstance(base, Profile) and is_poker_infosets(base.infosets) and whole(*views):
        from kibitz.form.poker.form import poker_form

        return poker_form(game)
    return None


def solve_rows(
    rows: PokerRows, solver: str, iterations: int | None, until: float | None, seed: int, start: str | None
) -> Profile:
    """Solve the game in which only some rows may move, on all cores."""
    if not rows.moves.any():
        return Profile(rows.form.infosets, rows.base.copy(), {"tree": rows.form.tree_digest})
    return solve_through(rows.form, solver, iterations=iterations, until=until, seed=seed, start=start, rows=rows)


def lifted(rows: PokerRows, answer: Floats) -> Floats:
    """An answer as it is played: as the base where frozen moves never let play come, as nothing is learnt there."""
    reached = rows.reached()
    if reached.all():
        return answer
    return np.where(np.repeat(reached, rows.form.infosets.width), answer, rows.base)


def checked(form: PokerForm, base: Profile) -> Profile:
    """The base, if it is a profile of the form."""
    infosets = base.infosets
    same = infosets is form.infosets or (is_poker_infosets(infosets) and infosets.same(form.infosets))
    if not same:
        raise GameError(
            f"the base does not fit the game: it was made for another game ({base.game or 'without a name'}) or on "
            f"another form of it than {form.spec or 'this one'}"
        )
    return base
