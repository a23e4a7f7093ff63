"""Automatic stitching in buckets: its experts against those of stitching, judged by the exact sweep over boards."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from kibitz.core.errors import SolverError
from kibitz.forms.profile import Profile
from kibitz.games import game
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact.form import poker_form
from kibitz.poker.stitching import experts as poker_experts
from kibitz.poker.stitching.bucket_setting import FINEST, BucketSetting, finest_of, ladder
from kibitz.poker.whole.profiles import measured
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto import Effort, ExactJudge, Limits, StitchSearch, search_of, setting_of
from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.moves import REBUILT, STATIC, Move
from kibitz.stitch.auto.setting import solve_order
from kibitz.stitch.targets import Solving, Stitching

RHODE = "rhode_island(ranks=4)"
BASE, INSIDE = "percentile(2)", "percentile([3, 3, 2])"


@pytest.fixture(scope="module")
def setting():
    return BucketSetting(poker_form(game(RHODE)), BASE, "dcfr+")


@pytest.fixture(scope="module")
def base(setting):
    return solve_through(setting.form, "dcfr+", abstraction=BASE, iterations=40).probabilities


def move_of(setting, name, seats="all", inside=INSIDE):
    return Move(STATIC, (next(cut for cut in setting.prefixes if cut.name == name),), seats, (inside,))


def by_stitching(name, seats, iterations):
    """The same expert by the target of stitching, and its size."""
    rules = game(RHODE)
    small = bucket_form(rules, hand_buckets(rules.definition, BASE))
    answer = solve_through(small, "dcfr+", iterations=40)
    base = Profile(small.infosets, answer.probabilities,
                   {"game": rules.spec, "tree": small.tree_digest, "abstraction": small.abstraction})  # fmt: skip
    plan, how = Stitching("static", f"prefix({name})", seats, INSIDE), Solving("dcfr+", iterations=iterations)
    parts = poker_experts.betting_parts(rules, plan.partition)
    target = poker_experts.ViewTarget(plan, how, base, rules.spec, 2, parts.names, rules, parts.part)
    built = target.experts()
    return target.join(built, [target.solve(each, k) for k, each in enumerate(built)]), max(e.size for e in built)


@pytest.mark.parametrize(("name", "seats"), [("r", "all"), ("cc", "all"), ("cr", "each")])
def test_experts_are_those_of_stitching(setting, base, name, seats):
    move = move_of(setting, f"prefix({name})", seats)
    (answer,) = setting.solve(move, base, [25]).answers
    stitched, size = by_stitching(name, seats, 25)
    assert setting.size(move).infosets == size
    wanted = measured(game(RHODE), stitched).nash_conv / 2
    assert ExactJudge(setting.form).loss(answer) == pytest.approx(wanted, rel=1e-6)
    columns = move.here[setting.form.infosets.row_of_column]
    assert (answer[~columns] == base[~columns]).all() and (answer[columns] != base[columns]).any()


def test_a_strategy_shows_which_buckets_it_follows(setting, base):
    move = move_of(setting, "prefix(r)")
    (answer,) = setting.solve(move, base, [5]).answers
    names = setting.lists_used()
    here = setting.nodes_of(move.cuts[0]) & (setting.betting.turn >= 0)
    follows = setting.views_of(answer)
    assert (setting.views_of(base) == 0).all()
    assert {names[k] for k in follows[here]} == {INSIDE} and (follows[~here] == 0).all()
    random = np.random.default_rng(0).random(len(base))
    with pytest.raises(SolverError, match="follows none of"):
        setting.views_of(random)


def test_a_base_is_rebuilt_around_experts(setting, base):
    move = move_of(setting, "prefix(r)")
    (expert,) = setting.solve(move, base, [25]).answers
    rest = Move(REBUILT, (Cut("rest", ~move.here),), "all", (BASE,))
    (rebuilt,) = setting.solve(rest, expert, [25]).answers
    columns = move.here[setting.form.infosets.row_of_column]
    assert (rebuilt[columns] == expert[columns]).all() and (rebuilt[~columns] != expert[~columns]).any()
    assert setting.size(rest).infosets < setting.base_rows


def test_a_search_within_buckets(setting, base):
    limits = Limits(infosets=setting.base_rows, rounds=2)
    effort = Effort(insides=("percentile(3)", INSIDE, "percentile(4)"), seats=("all",), solver="dcfr+", iterations=30,
                    pilot=5, cuts=4)  # fmt: skip
    search = StitchSearch(setting, limits, effort)
    found = search.run(base)
    assert found.loss[1] < found.loss[0] and found.infosets <= setting.base_rows
    plan = found.rounds[0].plan
    assert all(limits.allow(pilot.size) for pilot in plan.pilots)
    both = setting.join(base, [(p.move, p.answer) for p in plan.moves])
    judge = ExactJudge(setting.form)
    assert plan.predicted == pytest.approx(judge.loss(base) - judge.loss(both))
    assert all(0.0 < signal.reach <= 1.0 for signal in plan.signals)
    again = StitchSearch(setting, limits, effort).run(base)
    assert (again.profile.probabilities == found.profile.probabilities).all()


def test_sizes_are_counted_once(setting):
    """Of parts by their first actions, which have the same infosets in all rounds; other parts may share a name."""
    fresh = BucketSetting(setting.form, BASE, "dcfr+")
    for cut in setting.prefixes:
        for seats, inside in (("all", INSIDE), ("each", BASE)):
            move = Move(STATIC, (cut,), seats, (inside,))
            assert setting.size(move) == setting.size(move) == fresh._size(move)
    sizes = set()
    for cut in setting.prefixes[:2]:
        rest = Move(REBUILT, (Cut("rest", ~cut.here),), "all", (BASE,))
        assert setting.size(rest) == fresh._size(rest)
        sizes.add(setting.size(rest))
    assert len(sizes) == 2


def test_digests_of_strategies(setting, base):
    other = base.copy()
    other[:2] = other[1::-1]
    for each in (base, base.copy(), other, base):
        assert setting._digest_of(each) == hashlib.sha256(each.tobytes()).hexdigest()


def test_so_many_lists_of_a_part_are_tried(setting):
    sized = [(move, setting.size(move)) for move in (
        move_of(setting, part, inside=inside) for part in ("prefix(cc)", "prefix(r)")
        for inside in (BASE, INSIDE, "percentile(3)", "percentile(4)")
    )]  # fmt: skip
    for finest in (1, 2, 3):
        kept = finest_of(sized, finest)
        assert [move.inside[0] for move, _ in kept[:finest]] == ["percentile(4)", "percentile(3)", INSIDE][:finest]
        assert len(kept) == 2 * finest
    assert setting.tried(sized) == finest_of(sized, FINEST)


def test_finer_lists_of_a_base():
    assert ladder("percentile(2)", 3) == ["percentile(3)", "percentile(4)", "percentile(6)", "percentile(8)"]
    assert ladder("percentile([2, 3, 3])", 3)[0] == "percentile([3, 4, 4])"
    with pytest.raises(SolverError, match="name lists of buckets"):
        ladder("expectation([2, 3])", 3)


def test_a_base_in_buckets_has_experts_in_buckets(setting, base):
    rules = game(RHODE)
    assert isinstance(setting_of(rules, BASE, "dcfr+"), BucketSetting)
    assert not isinstance(setting_of(game("kuhn"), "JQ.K"), BucketSetting)
    profile = setting.profile(base, abstraction=BASE)
    effort = Effort(seats=("all",), solver="dcfr+", iterations=10, pilot=3, cuts=2)
    search, start = search_of(rules, profile, Limits(infosets=setting.base_rows, rounds=1), effort)
    assert isinstance(search.setting, BucketSetting) and search.effort.insides == tuple(ladder(BASE, 3))
    found = search.run(start.probabilities)
    before, after = found.loss
    assert after < before and found.infosets <= setting.base_rows
    assert {name.rpartition(" in ")[2].partition(",")[0] for name in found.rounds[0].kept} <= set(ladder(BASE, 3))


def test_other_machines_know_the_lists(setting, base):
    move, second = move_of(setting, "prefix(r)"), move_of(setting, "prefix(cc)", inside="percentile(3)")
    (stitched,) = setting.solve(move, base, [5]).answers
    here = setting.solve(second, stitched, [5], 3)
    there = solve_order(setting.order(second), stitched, [5], 3)
    assert (here.answers == there.answers).all()
