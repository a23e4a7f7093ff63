"""What is rounding noise is decided row by row: small or deep games beside huge payoffs are solved too."""

from __future__ import annotations

import numpy as np
import pytest
from random_games import Nested, choice, end

import kibitz
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.solvers import Task, make

SOLVERS = ["cfr", "cfr+", "dcfr", "pcfr+"]


def pennies(unit, name=""):
    """Matching pennies, the first seat's penny worth three where both show heads: equilibrium 1/3 heads."""
    return choice(
        0, f"one{name}",
        choice(1, f"two{name}", end(3 * unit, -3 * unit), end(-unit, unit)),
        choice(1, f"two{name}", end(-unit, unit), end(unit, -unit)),
    )  # fmt: skip


@pytest.mark.parametrize("huge", [1e13, 1e18])
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_small_subgame_beside_a_huge_payoff_is_solved(solver, huge):
    game = Nested(2, ("chance", (("small", 0.5, pennies(1.0)), ("huge", 0.5, end(huge, -huge)))))
    profile = kibitz.solve(game, solver, iterations=4_000)
    heads = [next(iter(profile[seat, label].values())) for seat, label in ((0, "one"), (1, "two"))]
    assert heads == pytest.approx([1 / 3, 1 / 3], abs=0.03)


def ladder(depth, unit=1.0, step=0):
    """Pennies at the bottom of a ladder: at each step the two in turn may leave for nothing, or go on."""
    if step == depth:
        return pennies(unit, "bottom")
    return choice(step % 2, f"step {step}", end(0.0, 0.0), ladder(depth, unit, step + 1))


@pytest.mark.parametrize("solver", ["cfr+", "pcfr+"])
def test_a_deep_game_is_solved_at_the_bottom(solver):
    """After 120 steps of even chances the bottom is reached with a probability of 1e-36."""
    tree = tree_of(Nested(2, ladder(120)))
    made = make(solver, Task(tree, form_of(tree)))
    made.step(300)
    at = {label: i for i, label in enumerate(tree.infosets.labels)}
    strategy = made.cfr_state._arrays.strategy
    form = form_of(tree)
    moved = [
        abs(strategy[form.first[np.flatnonzero(form.infoset == at[label])[0]]] - 0.5) > 1e-3
        for label in ("onebottom", "twobottom")
    ]
    assert any(moved)


def test_ties_stay_ties():
    """Thirds do not add up exactly; rock, paper and scissors are played alike all the same."""
    wins = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    for scale in (1.0, 1e-9, 7e11):
        table = choice(0, "a", *(choice(1, "b", *(end(scale * w, -scale * w) for w in row)) for row in wins))
        for solver in SOLVERS:
            profile = kibitz.solve(Nested(2, table), solver, iterations=1_000)
            assert profile.probabilities == pytest.approx(np.full(6, 1 / 3), abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("unit", [1e-30, 1e-10, 1.0, 1e30])
def test_the_unit_of_payoffs_changes_nothing(solver, unit):
    """Powers of ten round differently, so only the first steps are compared."""
    found = [kibitz.solve(Nested(2, pennies(u)), solver, iterations=50).probabilities for u in (1.0, unit)]
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
