"""BucketForm against PokerForm under the same buckets, and joint weights against their definition."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest
from bucketed import SMALL, forms, naive_weights, random_buckets, rules

from kibitz.cards import tables
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.poker.bucketed import passes
from kibitz.poker.bucketed import programme as bucket_programme
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.weights import joint_weights, recipe_of
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.exact import programme
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve, solve_through

RULES = {
    "dcfr+": Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True),
    "cfr": Rule(np.inf, np.inf, 0.0, 0.0, -np.inf, 0.0, False),
    "dcfr": Rule(1.5, 0.0, 2.0, 3.0, -np.inf, 0.0, True),
    "pcfr+": Rule(np.inf, np.inf, 2.0, 0.0, 0.0, 1.0, True),
}


def drawn(form: BucketForm, seed: int = 1) -> np.ndarray:
    return form.to_probabilities(np.random.default_rng(seed).random(form.sequences))


@pytest.mark.parametrize("name", SMALL)
def test_weights_are_those_of_the_definition(name: str) -> None:
    buckets, _ = random_buckets(rules(name), 2, 5)
    weights = joint_weights(buckets)
    meets, wins = naive_weights(buckets)
    np.testing.assert_allclose(weights.meets[-1], meets, atol=1e-15)
    np.testing.assert_allclose(weights.wins[-1], wins, atol=1e-15)
    for both, won in zip(weights.meets, weights.wins, strict=True):
        assert both.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(both, both.T, atol=1e-16)
        np.testing.assert_allclose(won, -won.T, atol=1e-16)
        assert (np.abs(won) <= both + 1e-15).all()


@pytest.mark.parametrize("name", SMALL)
def test_it_equals_the_poker_form(name: str) -> None:
    form, poker = forms(name)
    assert (form.sequences, form.columns, form.points) == (poker.sequences, poker.columns, poker.points)
    assert list(form.infosets.labels[:40]) == list(poker.infosets.labels[:40])
    assert form.infosets.find(0, form.infosets.labels[3]) == 3
    played = drawn(form)
    np.testing.assert_allclose(form.by_column(form.to_strategy(played)), played, atol=1e-15)
    mine, theirs = form.measure(played), poker.measure(played)
    np.testing.assert_allclose(mine.value, theirs.value, atol=1e-9)
    np.testing.assert_allclose(mine.best, theirs.best, atol=1e-9)
    np.testing.assert_allclose(form.value(played), mine.value, atol=1e-9)
    for seat in (0, 1):
        by_column = []
        for each in (form, poker):
            worth = np.zeros(each.sequences)
            lo, hi = each.seat_sequence[seat : seat + 2]
            worth[lo:hi] = each.gradient(seat, each.plan(each.to_strategy(played)))
            by_column.append(each.by_column(worth) if each is form else poker.by_column(worth))
        np.testing.assert_allclose(*by_column, atol=1e-9)
        best, answer = form.best_response(seat, played)
        assert best == pytest.approx(theirs.best[seat], abs=1e-9)
        assert form.value(answer)[seat] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["leduc", "turn hold'em of 10 cards"])
@pytest.mark.some(4)
def test_cfr_is_that_of_the_poker_form(name: str, rule: str) -> None:
    form, poker = forms(name, 2)
    mine, theirs = BucketCfrState(form, None, np.float64), PokerCfrState(poker, None, np.float64)
    mine.iterate(RULES[rule], 0, 12, 1)
    mine.iterate(RULES[rule], 12, 8, 1)
    theirs.iterate(RULES[rule], 0, 20, 1)
    assert mine.measure(True).nash_conv == pytest.approx(theirs.measure(True).nash_conv, rel=1e-6)
    # Plans, not probabilities: in rows that rounding alone lets a seat come to the two may play differently.
    plans = [form.by_column(form.plan(form.to_strategy(space.probabilities(True)))) for space in (mine, theirs)]
    np.testing.assert_allclose(*plans, atol=1e-6)


def test_single_precision_is_good_to_its_word() -> None:
    form, _ = forms("turn hold'em of 10 cards")
    single, double = BucketCfrState(form, drawn(form)), BucketCfrState(form, drawn(form), np.float64)
    for seat in (0, 1):
        for space in (single, double):
            space.passes.gradient(seat, space._plan, space._roots[1 - seat], space._worth)
        off = np.abs(single._worth - double._worth).max()
        assert 0.0 < off <= 1e-6 * form.scale


def test_what_nobody_reaches_is_left_out_of_products(monkeypatch: pytest.MonkeyPatch) -> None:
    form, _ = forms("turn hold'em of 10 cards", 4)
    draw = np.random.default_rng(3)
    played = np.repeat(draw.random(form.points), form.infosets.width) < 0.5
    first = np.zeros(form.columns, bool)
    first[form.infosets.first[:-1]] = True
    shares = form.to_probabilities(draw.random(form.sequences))
    pure = np.where(played, first.astype(float), shares)  # half of all infosets never take but their first action
    plan = form.plan(form.to_strategy(pure))
    assert 0.2 < (plan == 0.0).mean() < 0.9
    whole = [form.gradient(seat, plan) for seat in (0, 1)]
    monkeypatch.setattr(passes, "LEAST_ROWS", 1)
    for lines in (1, 3, 1000):
        monkeypatch.setattr(passes, "LEAST_LINES", lines)
        for seat in (0, 1):
            np.testing.assert_allclose(form.gradient(seat, plan), whole[seat], atol=1e-12)


def test_a_run_goes_on_where_it_was_cut() -> None:
    form, _ = forms("leduc")
    whole, cut, other = (BucketCfrState(form, None) for _ in range(3))
    whole.iterate(RULES["dcfr+"], 0, 10, 1)
    cut.iterate(RULES["dcfr+"], 0, 4, 1)
    for name, array in other.state.items():
        array[...] = cut.state[name]
    other.restore()
    other.iterate(RULES["dcfr+"], 4, 6, 1)
    for name, array in whole.state.items():
        assert array.tobytes() == other.state[name].tobytes()


def test_cuts_by_strength_are_what_a_table_says() -> None:
    """The last round cut by strength, against the table of the same buckets."""
    buckets, _ = random_buckets(rules("flop hold'em of 12 cards"), 3, 2)
    before = buckets.rounds[0]
    from kibitz.poker.bucketed import weights as module

    parent = np.repeat(np.arange(before.count), 3)
    least = np.tile([0, 9, 24], before.count)
    cut = HandBuckets("cut", buckets.boards, 2, (before, RoundBuckets(len(parent), parent, None, least)))
    tables = [module.settled(cut, shard)[0] for shard in module.shards_of(cut.boards)]
    table = np.concatenate(tables).astype(np.uint16)
    # By definition: the bucket before, and twice the hands beaten plus those tied.
    from kibitz.poker.rules.rules import strength

    boards, draw = buckets.boards, np.random.default_rng(0)
    for board in draw.integers(0, len(boards.rounds[1].cards), 8).tolist():
        hands, shown = boards.hands_on(1, board, 2), boards.rounds[1].cards[board]
        worth = strength(np.concatenate((hands, np.repeat(shown[None], len(hands), axis=0)), axis=1))
        apart = ~(hands[:, None, :, None] == hands[None, :, None, :]).any(axis=(2, 3))
        ahead = ((np.sign(worth[:, None] - worth) + 1) * apart).sum(axis=1)
        assert before.table is not None
        above = before.table[boards.find(0, hands, 2)]
        np.testing.assert_array_equal(table[board], 3 * above + (ahead >= 9) + (ahead >= 24))
    whole = dataclasses.replace(cut, rounds=(before, RoundBuckets(len(parent), parent, table)))
    for mine, theirs in zip(joint_weights(cut).meets, joint_weights(whole).meets, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_what_does_not_fit_is_refused() -> None:
    buckets, _ = random_buckets(rules("leduc"), 3, 1)
    poker, parents = rules("leduc"), [of.parent for of in buckets.rounds]
    weights = joint_weights(buckets)
    with pytest.raises(GameError, match="do not name their path"):
        BucketForm(poker, "x", "", [parents[0], parents[1][::-1]], weights)
    with pytest.raises(SolverError, match="joint weights of"):
        BucketForm(poker, "x", "", [parents[0], np.append(parents[1], parents[1][-1])], weights)
    forgets = dataclasses.replace(
        buckets, rounds=(buckets.rounds[0], dataclasses.replace(buckets.rounds[1], parent=np.full(len(parents[1]), -1)))
    )
    with pytest.raises(SolverError, match="recall=true"):
        joint_weights(forgets)
    with pytest.raises(SolverError, match="choose cpu or gpu"):
        Device("tpu")


@pytest.mark.parametrize("name", ["kuhn", "leduc", "rhode island of 4 ranks"])
def test_the_programme_solves_it(name: str) -> None:
    form, poker = forms(name, 2)
    theirs = programme.payoff_matrix(poker)
    mine = form.payoff_matrix()
    assert mine.nnz == (np.abs(theirs.data) > 1e-14).sum() == bucket_programme.payoff_entries(form)
    played = drawn(form)
    plan, second = form.plan(form.to_strategy(played)), int(form.seat_sequence[1])
    assert plan[:second] @ mine @ plan[second:] == pytest.approx(form.value(played)[0], abs=1e-12)
    exact = solve(form, "lp")
    assert exact.meta["abstract_nash_conv"] < 1e-9
    learnt = solve(form, "dcfr+", iterations=1500)
    assert learnt.meta["abstract_value"][0] == pytest.approx(exact.meta["abstract_value"][0], abs=1e-3)
    assert learnt.meta["abstract_nash_conv"] < 0.05
    assert solve(form, "fp", iterations=300).meta["abstract_nash_conv"] < 0.2 * form.measure(form.uniform()).nash_conv


def test_values_of_infosets_are_those_of_the_poker_form_on_the_tree() -> None:
    """By the definition: what a seat gets in a row is its share of the value of the game."""
    form, _ = forms("leduc")
    played = drawn(form)
    found, first = form.infoset_values(played), form.infosets.first
    value = form.value(played)
    for seat in (0, 1):
        # Infosets at which the seat acts first cover all deals, as nobody can end the game before.
        labels = [i for i in range(*form.infosets.seat_start[seat : seat + 2]) if form.infosets.labels[i].endswith(":")]
        if seat == 0:
            share = [
                found.reach[i] * played[first[i] : first[i + 1]] @ found.values[first[i] : first[i + 1]] for i in labels
            ]
            assert sum(share) == pytest.approx(value[0], abs=1e-12)
            assert found.reach[labels].sum() == pytest.approx(1.0)
    best, answer = form.best_response(1, played)
    better = form.infoset_values(answer)
    reached = better.reach > 1e-12
    chosen = np.add.reduceat(answer * np.nan_to_num(better.values), first[:-1])
    most = np.maximum.reduceat(np.nan_to_num(better.values), first[:-1])
    second = np.arange(form.points) >= form.infosets.seat_start[1]
    np.testing.assert_allclose(chosen[reached & second], most[reached & second], atol=1e-9)
    assert best == pytest.approx(form.value(answer)[1])


def test_frozen_rows_stay_and_the_rest_answers() -> None:
    form, _ = forms("leduc")
    base = drawn(form)
    nodes, _ = form.infosets.order()
    moves = form.betting.round[nodes] > 0
    rows = form.freeze(moves, base)
    found = solve_through(form, "dcfr+", rows=rows, iterations=400)
    frozen = np.repeat(~moves, form.infosets.width)
    np.testing.assert_array_equal(found.probabilities[frozen], base[frozen])
    # Nobody who may move gains: free the second seat's later rounds alone and respond.
    measured = rows.measure(form.to_strategy(found.probabilities))
    assert measured.nash_conv < 0.02
    assert rows.measure(form.to_strategy(base)).nash_conv > 10 * measured.nash_conv
    assert rows.reached().all()
    shut = base.copy()
    first = form.infosets.first
    shut[first[0] : first[1]] = np.eye(int(first[1]))[0]  # the first row never bets
    assert not form.freeze(moves, shut).reached().all()
    everything = form.freeze(np.ones(form.points, bool), base)
    assert everything.measure(form.to_strategy(base)).nash_conv == pytest.approx(form.measure(base).nash_conv)


def test_a_start_profile_is_where_it_starts(tmp_path: Path) -> None:
    form, _ = forms("leduc")
    first = solve(form, "dcfr+", iterations=50)
    again = solve(form, "dcfr+", iterations=0, start=first)
    np.testing.assert_allclose(again.probabilities, first.probabilities, atol=1e-6)
    cut = tmp_path / "run.checkpoint"
    solve(form, "dcfr+", iterations=20, run=RunOptions(cut))
    np.testing.assert_array_equal(
        solve(form, "dcfr+", iterations=50, run=RunOptions(cut, resume=True)).probabilities, first.probabilities
    )


def test_parts_are_those_of_the_betting_and_of_the_first_buckets() -> None:
    form, _ = forms("leduc")
    nodes, bucket = form.infosets.order()
    part = form.parts_by_actions([[{"raise"}]])
    begins = np.array([form.betting.text[n].startswith("r") for n in nodes])
    np.testing.assert_array_equal(part == 1, begins)
    names, what, level = form.parts_by_private()
    first = level == 1
    np.testing.assert_array_equal(what[first], bucket[first])
    np.testing.assert_array_equal(what[~first], form.parents[1][bucket[~first]])
    assert len(names) == form.rows[0]
    form.check_parts("raise", ("base", "r"), part)
    wrong = np.where(level == 1, 1, 2)
    with pytest.raises(GameError, match="not a grafting partition"):
        form.check_parts("rounds", ("base", "one", "two"), wrong)


@pytest.mark.parametrize("solver", ["egt", "egt(prox=euclidean)", "smoothing"])
def test_first_order_methods_solve_it(solver: str) -> None:
    form, poker = forms("leduc", 2)
    for seat in (0, 1):
        mine, theirs = form.treeplex(seat), poker.treeplex(seat)
        assert (mine.points, mine.sequences) == (theirs.points, theirs.sequences)
        assert len(mine.level) == len(theirs.level)
    exact = solve(form, "lp").meta["abstract_value"][0]
    found = solve(form, solver, iterations=600)
    best = form.measure(found.probabilities).best
    assert -best[1] - 1e-9 <= exact <= best[0] + 1e-9
    assert found.meta["abstract_nash_conv"] < 0.02


def test_weights_that_were_stopped_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buckets, _ = random_buckets(rules("flop hold'em of 12 cards"), 3, 5)
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    made, filled = recipe_of(buckets), []

    def falters(arrays, lock):
        fill = made.make(arrays, lock)

        def one(piece):
            if len(filled) == 5:
                raise KeyboardInterrupt
            fill(piece)
            filled.append(piece)

        return one

    def quiet(recipe, done, pieces):
        pass

    with pytest.raises(KeyboardInterrupt):
        tables.build(dataclasses.replace(made, make=falters), threads=1, tell=quiet, every=0.0)
    assert tables.state(made) == "part" and len(filled) == 5 < made.pieces
    assert tables.build(made, tell=quiet)
    whole = {name: np.zeros(shape, dtype) for name, (dtype, shape) in made.arrays.items()}
    fill = made.make(whole, threading.Lock())
    for piece in range(made.pieces):
        fill(piece)
    for name, array in tables.opened(made).items():
        np.testing.assert_array_equal(array, whole[name])
