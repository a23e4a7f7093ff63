"""Automatic stitching of profiles in buckets, against the same moves in the game with all hands."""

from __future__ import annotations

import numpy as np
import pytest
from bucketed import rules

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact.form import poker_form
from kibitz.poker.stitching.bucket_setting import BucketSetting
from kibitz.poker.stitching.flops_judge import APART, FlopsJudge
from kibitz.poker.stitching.large_setting import LargeBucketSetting, large_setting
from kibitz.poker.whole.profiles import measured
from kibitz.poker.whole.walk import BEST, PLAYED
from kibitz.solvers.run import solve_through
from kibitz.stitch.auto import Effort, ExactJudge, Limits, StitchSearch, search_of
from kibitz.stitch.auto.moves import STATIC, Move

TURN, FLOP = "turn hold'em of 10 cards", "flop hold'em of 12 cards"
BASE, INSIDE = "percentile(2)", {TURN: "percentile([3, 2, 2])", FLOP: "percentile(3)"}


def base_of(game, iterations=20):
    form = bucket_form(game, hand_buckets(game.definition, BASE))
    answer = solve_through(form, "dcfr+", iterations=iterations)
    return Profile(form.infosets, answer.probabilities,
                   {"game": game.spec, "tree": form.tree_digest, "abstraction": form.abstraction})  # fmt: skip


@pytest.fixture(scope="module")
def setting():
    return LargeBucketSetting(rules(FLOP), BASE, every=3, quick=6, dtype=np.float64)


@pytest.fixture(scope="module")
def base(setting):
    return setting.begin(base_of(setting.rules))


def move_of(setting, name, seats="all", inside=None):
    cut = next(cut for cut in setting.prefixes if cut.name == f"prefix({name})")
    return Move(STATIC, (cut,), seats, (inside or INSIDE[FLOP],))


def lifted(form, strategy):
    """A strategy in buckets as probabilities of the game with all hands."""
    small = BucketSetting(form, BASE, "dcfr+")
    onto = np.zeros(form.columns)
    for node in np.flatnonzero(form.betting.turn >= 0).tolist():
        name = strategy.layout.views[int(strategy.layout.of_node[node])].name
        of_class = small.buckets_of(name).of_class[int(form.betting.round[node])]
        onto[small.columns_at(node)] = strategy.played(node)[of_class]
    return onto


@pytest.mark.parametrize(("name", "part", "seats"), [(FLOP, "r", "all"), (FLOP, "cr", "each"), (TURN, "rc", "all")])
def test_moves_are_those_with_all_hands(name, part, seats):
    """Sizes, answers of an expert, an expert on a stitched base, and exact exploitability."""
    game = rules(name)
    small, exact = LargeBucketSetting(game, BASE, dtype=np.float64), BucketSetting(poker_form(game), BASE, "dcfr+")
    assert [cut.name for cut in small.prefixes] == [cut.name for cut in exact.prefixes]
    judge, by_all = FlopsJudge(game, every=1, dtype=np.float64), ExactJudge(exact.form)
    mine = small.begin(base_of(game))
    theirs = lifted(exact.form, mine)
    for number, word in enumerate((part, "cc")):
        moves = [Move(STATIC, (next(c for c in of.prefixes if c.name == f"prefix({word})"),), seats, (INSIDE[name],))
                 for of in (small, exact)]  # fmt: skip
        assert small.size(moves[0]) == exact.size(moves[1])
        (answer,), (other,) = (of.solve(move, x, [15]).answers
                               for of, move, x in zip((small, exact), moves, (mine, theirs), strict=True))  # fmt: skip
        assert np.abs(lifted(exact.form, answer) - other).max() < 1e-6
        assert judge.loss(answer) == pytest.approx(by_all.loss(lifted(exact.form, answer)), rel=1e-9)
        joined = small.join(mine, [(moves[0], answer)])
        assert joined.digest == answer.digest and judge.loss(joined) == judge.loss(answer)
        assert number or judge.loss(answer) != judge.loss(mine)
        mine, theirs = answer, lifted(exact.form, answer)


def test_losses_sum_to_what_the_sweep_says(setting, base):
    for every in (1, 3):
        at = LargeBucketSetting(setting.rules, BASE, every=every, quick=every, dtype=np.float64)
        sweep = at.judge().sweep(base, every)
        wanted = sweep.swept((0, 1), BEST).sum() - sweep.swept((0, 1), PLAYED).sum()
        assert at.losses(base).sum() == pytest.approx(wanted, rel=1e-9) and (at.losses(base) >= 0.0).all()
    assert at.losses(base).sum() != pytest.approx(measured(setting.rules, base.profile).nash_conv, rel=1e-3)
    whole = LargeBucketSetting(setting.rules, BASE, quick=1, dtype=np.float64)
    exact = BucketSetting(poker_form(setting.rules), BASE, "dcfr+")
    probabilities = lifted(exact.form, base)
    wanted = {s.name: s for s in exact.signals(probabilities, exact.prefixes)}
    for signal in whole.signals(base, whole.prefixes):
        other = wanted[signal.name]
        assert signal.loss == pytest.approx(other.loss, rel=1e-6, abs=1e-9)
        assert signal.reach == pytest.approx(other.reach, rel=1e-6)
    assert whole.losses(base).sum() == pytest.approx(exact.losses(probabilities).sum(), rel=1e-6)


def test_the_judge_measures_nothing_twice(setting, base):
    judge = FlopsJudge(setting.rules, every=3, quick=6, reports=APART, dtype=np.float64)
    (answer,) = setting.solve(move_of(setting, "r"), base, [10]).answers
    assert judge.gain(answer, base) == judge.at(base, 6) - judge.at(answer, 6)
    first = judge.measured
    assert first == 2 and judge.gain(answer, base) == judge.gain(answer, base) and judge.measured == first
    assert judge.judge(answer, base).gain == judge.loss(base) - judge.loss(answer) and judge.measured == 4
    chosen, others = (judge.sweep(base, *which).shards for which in ((3,), (1, 3)))
    assert not {shard[1].start for shard in chosen} & {shard[1].start for shard in others}
    assert len(chosen) + len(others) == len(judge.sweep(base, 1).shards)
    report = judge.report(answer, base)
    assert report["gain"] == judge.at(base, 1, 3) - judge.at(answer, 1, 3) and report["flops"] == "all but every 3"
    whole = FlopsJudge(setting.rules, dtype=np.float64).report(answer, base)
    assert whole["base"] == pytest.approx(measured(setting.rules, base.profile).nash_conv / 2, rel=1e-5)
    with pytest.raises(SolverError, match="flops=0"):
        FlopsJudge(setting.rules, every=0)


def searched(setting, base, folder=None, rounds=2, sparing=True):
    effort = Effort(insides=("percentile(3)", "percentile(4)"), seats=("all",), solver="dcfr+", iterations=30, pilot=5,
                    cuts=3, sparing=sparing)  # fmt: skip
    search = StitchSearch(setting, Limits(infosets=2 * setting.base_rows, rounds=rounds), effort, folder=folder)
    return search, search.run(base)


def test_a_search_goes_on_and_gives_the_same_bytes(setting, base, tmp_path, monkeypatch):
    _, once = searched(setting, base)
    before, after = once.loss
    assert after < before and once.facts["reported"]["exploitability"] < once.facts["reported"]["base"]
    assert once.facts["reported"]["exploitability"] == pytest.approx(
        measured(setting.rules, once.profile).nash_conv / 2, rel=1e-5
    )
    searched(setting, base, tmp_path / "work", rounds=1)  # stopped after a round
    again = LargeBucketSetting(setting.rules, BASE, every=3, quick=6, dtype=np.float64)
    solved = []
    original = LargeBucketSetting.solve
    monkeypatch.setattr(LargeBucketSetting, "solve", lambda self, *a: solved.append(a[0]) or original(self, *a))
    _, resumed = searched(again, again.begin(base.profile), tmp_path / "work")
    assert resumed.profile.sha256 == once.profile.sha256 and resumed.loss == once.loss
    first = len(solved)
    assert 0 < first < sum(len(r.plan.pilots) + len(r.plan.moves) for r in once.rounds)
    _, third = searched(again, again.begin(base.profile), tmp_path / "work")
    assert len(solved) == first and third.profile.sha256 == once.profile.sha256
    damaged = next(path for path in next((tmp_path / "work").iterdir()).iterdir() if path.name.startswith("rows"))
    damaged.write_bytes(b"\0" * damaged.stat().st_size)
    assert searched(again, base, tmp_path / "work")[1].profile.sha256 == once.profile.sha256
    assert len(solved) == first + 1


def test_a_sparing_search_measures_less(setting, base):
    few, many = (searched(setting, base, rounds=1, sparing=sparing)[1] for sparing in (True, False))
    assert few.facts["measured"] < many.facts["measured"] and few.loss[1] < few.loss[0]
    tried, kept = len(few.rounds[0].plan.pilots), len(few.rounds[0].plan.moves)
    # Base and result on both samples; both pilots; pairs; all answers, and exchanges; each by itself.
    most = 4 + 2 * tried + tried * (tried - 1) // 2 + 1 + 1 + 2 * kept + kept
    assert few.facts["measured"] - 2 <= most  # two are reported
    assert all(p.gain == max(p.gains) for p in few.rounds[0].plan.pilots)


def test_saved_answers_are_checked(setting, base, tmp_path):
    move = move_of(setting, "r")
    run = setting.solve(move, base, [3, 6])
    setting.content(base)
    setting.save(tmp_path / "one", run, {"share": 1.0})
    back, meta = setting.load(tmp_path / "one", 2)
    assert [a.digest for a in back.answers] == [a.digest for a in run.answers] and meta["share"] == 1.0
    with pytest.raises(ValueError, match="another search"):
        setting.load(tmp_path / "one", 1)
    other = LargeBucketSetting(setting.rules, BASE)
    with pytest.raises(KeyError):  # the strategy before is unknown there
        other.load(tmp_path / "one", 2)


def test_a_base_that_is_stitched_can_be_stitched(setting, base, tmp_path):
    _, once = searched(setting, base, rounds=1)
    once.profile.save(tmp_path / "auto.profile")
    loaded = Profile.load(tmp_path / "auto.profile")
    assert loaded.sha256 == once.profile.sha256 and loaded.meta["stitch"]["kind"] == "auto"
    large, start, effort = large_setting(setting.rules, loaded, Effort(solver="dcfr+", flops=2))
    assert (large.base, large.every, large.quick, effort.sparing) == ("percentile(buckets=2)", 2, 8, True)
    assert large.begin(start).digest == loaded.sha256
    plain = large_setting(setting.rules, base_of(setting.rules), Effort(solver="dcfr+"))[0]
    assert plain.base_rows == setting.base_rows


def test_what_cannot_be_stitched_is_said(setting, base):
    with pytest.raises(SolverError, match="give --solver dcfr"):
        search_of(setting.rules, base.profile, effort=Effort(solver="cfr+"))
    with pytest.raises(GameError, match="another game"):
        LargeBucketSetting(rules(TURN), BASE).begin(base.profile)
    with pytest.raises(SolverError, match="--on"):
        setting.order(move_of(setting, "r"))
    with pytest.raises(SolverError, match="2 rounds"):
        setting.size(move_of(setting, "r", inside="percentile([2, 2, 2])"))
    search, start = search_of(setting.rules, base.profile, effort=Effort(solver="dcfr+", flops=4))
    assert isinstance(search.setting, LargeBucketSetting) and start is base.profile
    assert search.effort.insides[0] == "percentile(3)"
