"""Chance-sampled CFR deal by deal: its mean over deals is CFR, and it comes to what the full solver comes to."""

from __future__ import annotations

import numpy as np
import pytest
from test_mccfr import assert_mean, flat, start_regrets, twin_at
from test_rows import keys_of

import kibitz
from kibitz.core.errors import SolverError
from kibitz.forms.abstraction import abstract_game, abstraction
from kibitz.forms.profile import Profile
from kibitz.forms.sequence import form_of, normalise
from kibitz.games.kernels.dispatch import interpreted
from kibitz.games.protocol import CHANCE
from kibitz.games.tree import tree_of
from kibitz.solvers.deals import DealCfr, _outcomes
from kibitz.solvers.kernels.deals import walk_deals

LEDUC = "leduc(suit_isomorphism=true)"
GAMES = ("kuhn", "leduc(ranks=2, cap=1)", LEDUC)


def frozen_game(spec, share, seed):
    """(game, derived game, histories that a base plays, the naive twin's frozen rows): some rows of both seats."""
    game = kibitz.game(spec)
    tree, rng = tree_of(game), np.random.default_rng(seed)
    infosets = tree.infosets
    base = Profile(infosets, normalise(rng.uniform(0.5, 1.5, int(infosets.first[-1])), infosets))
    held = rng.random(len(infosets.labels)) < share
    derived = abstract_game(tree, np.arange(len(held)), None, held, base)
    played = (tree.turn >= 0) & (derived.tree.turn == CHANCE)
    keys = [key for key, of_base in zip(keys_of(infosets), held, strict=True) if of_base]
    return game, tree, derived, played, {key: dict(base[key]) for key in keys}


def over_deals(solver, start):
    """The mean over all deals of what an iteration adds to regrets and to the average."""
    deals = solver.deals
    nothing = np.zeros(len(deals.keep))
    regrets, averages = np.zeros(len(start)), np.zeros(len(start))
    base = np.zeros(solver.tree.histories, bool) if solver.frozen is None else solver.frozen
    for k, chance in enumerate(_outcomes(solver.tree, base).values()):
        solver.deals = deals._replace(keep=nothing, other=np.full(len(nothing), k))  # no cell keeps its own deal
        solver.regret[:] = start
        solver.average[:] = 0.0
        solver.step(1)
        regrets += chance * (solver.regret - start)
        averages += chance * solver.average
    solver.deals = deals
    return regrets, averages


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_mean_over_deals_is_an_iteration_of_cfr(spec, share):
    """Of both seats at once, exactly; what a base plays is walked in the proportion of its probabilities."""
    game, tree, derived, played, held = frozen_game(spec, share, 1)
    full = np.zeros(int(tree.infosets.first[-1]))
    free = derived.column >= 0
    solver = DealCfr(derived.tree, frozen=played)
    start = start_regrets(derived.tree, np.random.default_rng(2))
    full[free] = start[derived.column[free]]
    twin = twin_at(game, tree, full, frozen=held)
    regrets, averages = over_deals(solver, start)
    expected = flat(tree, twin.regrets(0)) + flat(tree, twin.regrets(1))
    assert np.abs(expected).max() > 0.01
    np.testing.assert_allclose(regrets[derived.column[free]], expected[free], atol=1e-12)
    weights = np.zeros(len(full))  # own reach times the strategy, wherever a deal comes there
    for seat in range(2):
        for (key, _), reach in twin.own_reach(seat).items():
            at = keys_of(tree.infosets).index(key)
            first, last = tree.infosets.first[at : at + 2]
            weights[first:last] = [reach * p for p in twin.at(key).values()]
    own = np.zeros(len(start))
    own[derived.column[free]] = weights[free]
    np.testing.assert_allclose(
        normalise(averages, derived.tree.infosets), normalise(own, derived.tree.infosets), atol=1e-12
    )


@pytest.mark.parametrize("sample", [False, True])
def test_sampled_regrets_are_unbiased_with_a_base(sample):
    game, tree, derived, played, held = frozen_game("leduc(ranks=2, cap=1)", 0.4, 3)
    start = start_regrets(derived.tree, np.random.default_rng(4))
    solver = DealCfr(derived.tree, 5, played, sample=sample)
    samples = np.zeros((20_000, len(start)))
    for row in samples:
        solver.regret[:] = start
        solver.step(1)
        row[:] = solver.regret - start
    full = np.zeros(int(tree.infosets.first[-1]))
    free = derived.column >= 0
    full[free] = start[derived.column[free]]
    twin = twin_at(game, tree, full, frozen=held)
    expected = flat(tree, twin.regrets(0)) + flat(tree, twin.regrets(1))
    assert_mean(samples[:, derived.column[free]], expected[free], f"sample={sample}")


def test_in_turn_the_second_seat_answers_the_new_strategy_of_the_first():
    tree = tree_of(kibitz.game("kuhn"))
    start = start_regrets(tree, np.random.default_rng(6))
    at_once, in_turn = DealCfr(tree, 7), DealCfr(tree, 7, alternating=True)
    for solver in (at_once, in_turn):
        solver.regret[:] = start
        solver.step(1)
    first, middle, last = tree.infosets.first[tree.infosets.seat_start]
    assert np.array_equal(at_once.regret[first:middle], in_turn.regret[first:middle])
    after = start.copy()
    after[first:middle] = at_once.regret[first:middle]
    again = DealCfr(tree, 7)
    again.regret[:] = after
    again.step(1)
    moved = again.regret - after
    np.testing.assert_allclose((in_turn.regret - start)[middle:last], moved[middle:last], atol=1e-15)
    assert np.abs(in_turn.regret - at_once.regret)[middle:last].max() > 1e-6


def test_a_linear_average_counts_iterations_by_their_number():
    tree = tree_of(kibitz.game("kuhn"))
    plain, linear = DealCfr(tree, 8), DealCfr(tree, 8, linear=True)
    expected = np.zeros(len(plain.average))
    for t in range(1, 30):
        before = plain.average.copy()
        plain.step(1)
        expected += t * (plain.average - before)
    linear.step(29)
    np.testing.assert_allclose(linear.average, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("spec", "rows", "least"), [("kuhn", "null", 2e-3), pytest.param(LEDUC, "JQ.K", 2e-2, marks=pytest.mark.slow)]
)
def test_it_agrees_with_the_full_solver(spec, rows, least):
    """In the value of the game and the gap; alternating, with a linear average, or neither."""
    tree = tree_of(kibitz.game(spec))
    seen = abstraction(tree, rows)
    small = abstract_game(tree, seen.row, seen.closed).tree
    exact = kibitz.value(small, kibitz.solve(small, "cfr+", until=1e-6))
    for how in ({}, {"alternating": True}):
        solver = DealCfr(small, 9, **how)
        solver.step(500_000)
        found = form_of(small).measure(solver.probabilities())
        assert 0.0 < found.nash_conv < least
        assert found.value[0] == pytest.approx(exact[0], abs=found.nash_conv)


def test_the_same_bytes_however_iterations_are_divided_and_compiled_or_not():
    tree = tree_of(kibitz.game("leduc(ranks=2, cap=1)"))
    whole, pieces, slow = (DealCfr(tree, 10) for _ in range(3))
    whole.step(60)
    for count in (1, 20, 39):
        pieces.step(count)
    with np.errstate(over="ignore"):
        work = slow._random, slow._workspace
        interpreted(walk_deals)(slow.deals, slow.regret, slow.average, slow._manner, 0, 60, *work)
    for other in (pieces, slow):
        assert np.array_equal(whole.regret, other.regret) and np.array_equal(whole.average, other.average)
    assert not np.array_equal(whole.regret, DealCfr(tree, 11).regret)


def test_what_is_refused():
    with pytest.raises(SolverError, match="two players"):
        DealCfr(tree_of(kibitz.game("kuhn(players=3)")))
    with pytest.raises(SolverError, match="depends on what the seats do"):
        DealCfr(frozen_game(LEDUC, 0.5, 1)[2].tree)  # the moves of a base, taken for chance
