"""Parts with buckets of their own, solved over all boards: against exact values, and single deviations."""

from __future__ import annotations

import numpy as np
import pytest
from bucketed import random_probabilities
from cuda_on_cores import THERE

import kibitz
from kibitz.core.errors import SolverError
from kibitz.forms.kernels.cfr import Rule
from kibitz.forms.profile import Profile
from kibitz.games import game
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.sampled.form import Frozen, ViewForm
from kibitz.poker.sampled.layout import viewed
from kibitz.poker.stitching import experts as poker_experts
from kibitz.poker.stitching.classes import common_classes, refined
from kibitz.poker.stitching.part_form import PartForm
from kibitz.poker.whole.profiles import measured, won
from kibitz.solvers import Task, make
from kibitz.stitch import Solving, experts, static
from kibitz.stitch.columns import target_of
from kibitz.stitch.targets import Stitching

TINY = "poker(file=holdem.limit.2p, ranks=4, suits=3)"
RHODE = "rhode_island(ranks=4)"
BASE = {TINY: "percentile(2)", RHODE: "percentile(2)"}
INSIDE = {TINY: "percentile([3, 2, 3, 2])", RHODE: "percentile([3, 3, 2])"}


def rules_of(name):
    return game(name)


def dynamic_views(name):
    plan = Stitching("dynamic", "prefix(r)", inside=(BASE[name], INSIDE[name]))
    return target_of(rules_of(name), None, plan, Solving("pcs")).experts()[0].game


def static_views(name, seats):
    rules = rules_of(name)
    layout = bucket_form(rules, hand_buckets(rules.definition, BASE[name]))
    meta = {"game": rules.spec, "tree": layout.tree_digest, "abstraction": layout.abstraction}
    base = Profile(layout.infosets, random_probabilities(viewed(layout), 5), meta)
    return [each.game for each in experts(rules, base, "prefix(r, cr)", seats, INSIDE[name], solver="pcs")]


def views_of(name, kind):
    return [dynamic_views(name)] if kind == "dynamic" else static_views(name, kind)


def value_of(form, probabilities):
    """What the first seat wins over all boards: by the exact sweep, which knows nothing of this form."""
    meta = {"game": form.spec, "tree": "", "abstraction": form.abstraction}
    return won(rules_of(form.spec), Profile(form.infosets, probabilities, meta))


def solver_of(form, seed=0, start=None):
    return make("dcfr+", Task(None, form, None, start, seed, 1))


def filled(form, probabilities):
    """With frozen rows as they are frozen."""
    return form.by_column(form.to_strategy(probabilities))


def test_refined_buckets_are_the_buckets_by_class():
    rules = rules_of(TINY)
    every = [hand_buckets(rules.definition, name) for name in ("percentile(2)", "percentile([3, 2, 3, 2])")]
    classes, bucket_of = common_classes(every)
    assert bucket_of.shape[1] == len(np.unique(classes)) > 3
    for each, of_class in zip(every, bucket_of, strict=True):
        finer = refined(each, classes, of_class)
        assert finer.buckets.perfect_recall
        for level in range(len(each.rounds)):
            np.testing.assert_allclose(
                np.bincount(finer.row[level], finer.buckets.weights(level), each.rounds[level].count),
                each.weights(level), atol=1e-12,
            )  # fmt: skip
            by_class = np.bincount(finer.of_class[level], finer.buckets.weights(level))
            np.testing.assert_allclose(by_class, np.bincount(classes) / len(classes), atol=1e-12)


@pytest.mark.parametrize("name", [TINY, RHODE])
def test_one_view_is_the_bucket_form(name):
    rules = rules_of(name)
    buckets = hand_buckets(rules.definition, BASE[name])
    plain, form = bucket_form(rules, buckets), PartForm(ViewForm(rules, [buckets]))
    start = random_probabilities(ViewForm(rules, [buckets]), 3)
    answers = []
    for each in (plain, form):
        solver = solver_of(each, start=start)
        solver.step(12)
        answers.append(solver.probabilities())
    np.testing.assert_allclose(*answers, atol=1e-6)
    assert form.measure(answers[0]).nash_conv == pytest.approx(plain.measure(answers[0]).nash_conv, abs=1e-9)


@pytest.mark.parametrize("kind", ["dynamic", "each", "all"])
@pytest.mark.parametrize("name", [TINY, RHODE])
def test_values_are_those_over_all_boards(name, kind):
    """Differences of values, since what no free decision touches is left out; and responses win what they say."""
    for views in views_of(name, kind)[:3]:
        form = PartForm(views)
        one, other = (filled(form, random_probabilities(views, seed)) for seed in (1, 2))
        here = [float(form.value(each)[0]) for each in (one, other)]
        exact = [value_of(form, each) for each in (one, other)]
        assert here[0] - here[1] == pytest.approx(exact[0] - exact[1], abs=1e-5)
        if kind == "dynamic":
            assert here[0] == pytest.approx(exact[0], abs=1e-5)
        for seat in (0, 1):
            best, response = form.best_response(seat, one)
            gain = best - float(form.value(one)[seat])
            sign = 1 - 2 * seat
            assert sign * (value_of(form, response) - exact[0]) == pytest.approx(gain, abs=1e-5)
            if form.perfect_recall:
                assert gain >= -1e-12


@pytest.mark.parametrize(("name", "kind"), [(RHODE, "all"), (RHODE, "each"), (RHODE, "dynamic")])
def test_no_single_row_gains_more_than_the_response(name, kind):
    """The response is best where recall is perfect; and pooled values are derivatives of the exact value."""
    views = views_of(name, kind)[0]
    form = PartForm(views)
    assert form.perfect_recall == (kind != "dynamic")
    probabilities = filled(form, random_probabilities(views, 7))
    before = value_of(form, probabilities)
    rng = np.random.default_rng(3)
    moving = np.flatnonzero(views.moving)
    gains = []
    for node in rng.choice(moving, 12).tolist():
        seat = int(views.betting.turn[node])
        row, action = int(rng.integers(views.rows[node])), int(rng.integers(views.count[node]))
        changed = probabilities.copy()
        views.at(changed, node)[row] = 0.0
        views.at(changed, node)[row, action] = 1.0
        exact = (1 - 2 * seat) * (value_of(form, changed) - before)
        assert exact == pytest.approx(float((form.value(changed) - form.value(probabilities))[seat]), abs=1e-5)
        gains.append((seat, exact))
    if form.perfect_recall:
        best = [form.best_response(seat, probabilities)[0] - float(form.value(probabilities)[seat]) for seat in (0, 1)]
        assert all(gain <= best[seat] + 1e-5 for seat, gain in gains)


@pytest.mark.parametrize(("name", "steps", "share"), [(TINY, 30, 0.1), (RHODE, 300, 0.01)])
def test_an_expert_for_both_seats_is_solved_to_a_small_gap(name, steps, share):
    for views in static_views(name, "all"):
        form = PartForm(views)
        solver = solver_of(form, start=random_probabilities(views, 2))
        first = form.measure(solver.probabilities()).nash_conv
        solver.step(steps)
        answer = solver.probabilities()
        last = form.measure(answer).nash_conv
        assert last < share * first
        frozen = ~views.moving & views.deciding
        for node in np.flatnonzero(frozen).tolist():
            np.testing.assert_array_equal(views.at(answer, node), views.frozen.played(node))


def test_dynamic_parts_agree_with_sampled_boards():
    """Both solve one game: their values come together."""
    views = dynamic_views(RHODE)
    solver = solver_of(PartForm(views))
    solver.step(300)
    sampled = kibitz.solve(views, "pcs", iterations=500)
    value = value_of(PartForm(views), solver.probabilities())
    assert abs(value - value_of(PartForm(views), sampled.probabilities)) < 0.15


def test_mistakes_are_sentences():
    rules = rules_of(RHODE)
    views = ViewForm(rules, [hand_buckets(rules.definition, "percentile(3, recall=false)")])
    with pytest.raises(SolverError, match="imperfect recall"):
        PartForm(views)
    coarse, fine = (hand_buckets(rules.definition, name) for name in (BASE[RHODE], INSIDE[RHODE]))
    mixed = ViewForm(rules, [coarse, fine], np.asarray(rules.betting.turn == 1, np.int64))
    with pytest.raises(SolverError, match="pcs"):
        PartForm(mixed)
    late = ViewForm(rules, [coarse, fine], np.asarray(rules.betting.round == 2, np.int64))
    with pytest.raises(SolverError, match="after the first round"):
        PartForm(late)
    with pytest.raises(SolverError, match="dcfr"):
        PartForm(dynamic_views(RHODE)).payoff_matrix()


def rare(views, probability):
    """The views of an expert, on a base that enters its part with this probability times what it did."""
    played, parts = views.frozen.played, views.moving
    entries = {int(views.betting.parent[node]): int(views.betting.action[node])
               for node in np.flatnonzero(parts).tolist() if not parts[views.betting.parent[node]]}  # fmt: skip

    def seldom(node):
        rows = np.array(played(node), np.float64)
        if node in entries:
            rows[:, entries[node]] *= probability
            rows /= rows.sum(axis=1, keepdims=True)
        return rows

    frozen = Frozen(views.frozen.node, seldom, f"{views.frozen.digest} {probability}")
    return ViewForm(views.game, views.buckets, views.of_node, frozen)


def test_a_part_that_is_seldom_entered_is_solved_like_any_other():
    """Per hand that enters it; otherwise its gap is below any limit from the start."""
    views = rare(static_views(RHODE, "all")[1], 1e-9)
    plain, form = PartForm(views), PartForm(views, conditional=True)
    assert 0.0 < form.entered < 1e-8
    start = random_probabilities(views, 4)
    first = form.measure(start).nash_conv
    assert plain.measure(start).nash_conv == pytest.approx(first * form.entered, rel=1e-9)
    assert plain.measure(start).nash_conv < 1e-6 < 0.1 < first
    solver = solver_of(form, start=start)
    solver.step(300)
    assert form.measure(solver.probabilities()).nash_conv < 0.02 * first
    often = PartForm(static_views(RHODE, "all")[1], conditional=True)
    assert 1e-3 < often.entered < 1.0


@pytest.mark.parametrize("seats", ["all", "each"])
def test_experts_of_large_games_are_solved_over_all_boards(tmp_path, monkeypatch, seats):
    """As `kibitz stitch --solver dcfr+` does it: to a gap, kept and found again."""
    monkeypatch.setattr(poker_experts, "_too_large", lambda game, inside: True)
    base = kibitz.solve(RHODE, "pcs", abstraction=BASE[RHODE], iterations=200)
    how = {"solver": "dcfr+", "until": 0.5, "iterations": 400, "keep": tmp_path}
    one = static(RHODE, base, "prefix(r, cr)", seats, INSIDE[RHODE], **how)
    again = static(RHODE, base, "prefix(r, cr)", seats, INSIDE[RHODE], **how)
    np.testing.assert_array_equal(one.probabilities, again.probabilities)
    assert measured(rules_of(RHODE), one).nash_conv > 0
    for expert in experts(RHODE, base, "prefix(r, cr)", seats, INSIDE[RHODE], solver="pcs"):
        form = PartForm(expert.game, conditional=True)
        answer = Profile.load(tmp_path / f"{expert.file}.profile")
        assert form.measure(answer.probabilities).nash_conv <= 0.5 or answer.meta["iterations"] == 400
    with pytest.raises(SolverError, match="dcfr"):
        static(RHODE, base, "prefix(r)", seats, INSIDE[RHODE], solver="pcs", until=0.5)


def test_forms_of_the_same_buckets_share_their_weights():
    """Copies of the weights in single precision are the largest arrays of a solver: experts of one list of buckets have
    them once."""
    rules = rules_of(TINY)
    layout = bucket_form(rules, hand_buckets(rules.definition, BASE[TINY]))
    meta = {"game": rules.spec, "tree": layout.tree_digest, "abstraction": layout.abstraction}
    base = Profile(layout.infosets, random_probabilities(viewed(layout), 5), meta)
    views = [each.game for each in experts(rules, base, "prefix(r, cr)", "all", INSIDE[TINY], solver="pcs")]
    first, second = (PartForm(each) for each in views)
    single = [of.weights.within(of.device, np.float32) for of in (first, second)]
    shared = [a is b for a, b in zip(single[0][0], single[1][0], strict=False)]
    assert any(shared) and single[0][0][-1].dtype == np.float32
    assert first.weights.within(first.device, np.float32)[1][-1] is single[0][1][-1]
    assert np.shares_memory(first.passes.meets[-1], first.weights.meets[-1])  # in double precision they are no copies


@pytest.mark.skipif(not THERE, reason="needs a GPU and CuPy")
@pytest.mark.parametrize("kind", ["all", "each", "dynamic"])
@pytest.mark.parametrize("name", [TINY, RHODE])
def test_a_gpu_solves_the_same(name, kind):
    for views in views_of(name, kind):
        here, there = PartForm(views), PartForm(views, "gpu")
        spaces = [BucketCfrState(form, None, np.float64) for form in (here, there)]
        for space in spaces:
            space.iterate(Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True), 0, 20, 1)
        assert spaces[1].measure(True).nash_conv == pytest.approx(spaces[0].measure(True).nash_conv, rel=1e-6)
        played = spaces[0].probabilities(True)
        mine, theirs = here.measure(played), there.measure(played)
        np.testing.assert_allclose(theirs.best, mine.best, atol=1e-9)
        np.testing.assert_allclose(theirs.value, mine.value, atol=1e-9)
