"""The search for experts: sizes, pilots, plans, judges, rounds; what is kept in a folder, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kibitz
from kibitz.core.executor import executing
from kibitz.core.pools import LocalPool
from kibitz.evaluate.score import Score
from kibitz.forms.abstraction import offered
from kibitz.stitch.auto import Effort, ExactJudge, Limits, MatchJudge, Setting, losses, search_of, stitch_auto
from kibitz.stitch.auto.cuts import Cut
from kibitz.stitch.auto.judges import CHOOSING, REPORTING
from kibitz.stitch.auto.moves import DYNAMIC, REBUILT, STATIC, Move
from kibitz.stitch.auto.setting import solve_order
from kibitz.stitch.experts import experts, size_of_dynamic
from kibitz.stitch.partition import partition

LEDUC = "leduc(suit_isomorphism=true)"
SHORT = Effort(iterations=60, pilot=10, cuts=6, insides=("null",))


@pytest.fixture(scope="module")
def setting():
    return Setting(kibitz.game(LEDUC), "JQ.K")


@pytest.fixture(scope="module")
def base():
    return kibitz.solve(LEDUC, "cfr+", abstraction="JQ.K", iterations=200)


@pytest.fixture(scope="module")
def result(base):
    return stitch_auto(LEDUC, base, Limits(infosets=154, rounds=2), SHORT)


def cut(setting, name):
    return Cut(name, partition(setting.rules, name).part == 1)


# Moves


@pytest.mark.parametrize("name", ["prefix(r)", "prefix(cc)", "private(J)", "round(2)"])
@pytest.mark.parametrize("seats", ["all", "each"])
@pytest.mark.parametrize("inside", ["J.Q.K", "null"])
def test_sizes_are_those_of_the_experts(setting, base, name, seats, inside):
    move = Move(STATIC, (cut(setting, name),), seats, (inside,))
    built = experts(setting.rules, base, name, seats, inside, outside="JQ.K")
    size = setting.size(move)
    assert size.infosets == max(expert.size for expert in built) and size.computations == len(built)
    assert size.columns == max(expert.game.tree.infosets.columns for expert in built)


def test_sizes_of_dynamic_moves_and_of_pairs(setting, base):
    parts = ("prefix(r)", "prefix(cr)")
    move = Move(DYNAMIC, tuple(cut(setting, name) for name in parts), "all", ("null", "J.Q.K"))
    wanted = size_of_dynamic(setting.rules, "prefix(r, cr)", ["JQ.K", "null", "J.Q.K"])
    assert setting.size(move).infosets == wanted
    three = Setting(kibitz.game("leduc(players=3, cap=1, suit_isomorphism=true)"), "J.QK")
    pairs = Move(STATIC, (cut(three, "prefix(r)"),), "pairs", ("null",))
    uniform = three.profile(three.form.uniform())
    built = experts(three.rules, uniform, "prefix(r)", [[0, 1], [1, 2], [2, 0]], "null", outside="J.QK")
    assert three.size(pairs).infosets == max(expert.size for expert in built)


def test_a_move_is_what_stitching_does(setting, base):
    move = Move(STATIC, (cut(setting, "prefix(cr)"),), "each", ("null",))
    how = {"outside": "JQ.K", "iterations": 30}
    by_hand = kibitz.stitch.static(LEDUC, base, "prefix(cr)", "each", "null", **how)
    earlier, answer = setting.solve(move, base.probabilities, (7, 30)).answers
    assert (answer == by_hand.probabilities).all()
    assert (solve_order(setting.order(move), base.probabilities, (7, 30), 0).answers[1] == answer).all()
    short = kibitz.stitch.static(LEDUC, base, "prefix(cr)", "each", "null", outside="JQ.K", iterations=7)
    assert (earlier == short.probabilities).all()
    dynamic = Move(DYNAMIC, (cut(setting, "prefix(cr)"),), "all", ("null",))
    by_hand = kibitz.stitch.dynamic(LEDUC, "prefix(cr)", ["JQ.K", "null"], iterations=30)
    assert (setting.solve(dynamic, base.probabilities, [30]).answers[0] == by_hand.probabilities).all()
    expert = kibitz.stitch.static(LEDUC, base, "prefix(cr)", "all", "null", iterations=30)
    rest = Move(REBUILT, (Cut("rest", ~move.here),), "all", ("JQ.K",))
    rebuilt = kibitz.stitch.rebuild_base(LEDUC, expert, "prefix(cr)", "JQ.K", iterations=30)
    found = setting.solve(rest, expert.probabilities, [30]).answers[0]
    columns = rest.here[setting.form.infosets.row_of_column]
    assert found[columns] == pytest.approx(rebuilt.probabilities[columns], abs=1e-12)
    assert (found[~columns] == expert.probabilities[~columns]).all()


# Plans and rounds


def test_a_search_improves_a_base_within_its_memory(base, result):
    before, after = result.loss
    assert before == pytest.approx(kibitz.exploitability(LEDUC, base))
    assert after == pytest.approx(kibitz.exploitability(LEDUC, result.profile)) and after < 0.6 * before
    assert 132 <= result.infosets <= 154
    json.dumps(result.data(), allow_nan=False)
    assert result.profile.meta["stitch"]["kind"] == "auto" and result.profile.meta["abstraction"] == "JQ.K"


def test_losses_fall_from_round_to_round_by_what_was_achieved(result):
    by_line: dict[str, list] = {}
    for each in result.rounds:
        by_line.setdefault(each.line, []).append(each)
    loss = result.loss[0]
    for each in by_line["base"]:
        assert each.loss == pytest.approx(loss - each.achieved) and (each.achieved > 0.0) == bool(each.kept)
        assert {*each.kept, *each.taken_back} == {pilot.move.name for pilot in each.plan.moves}
        loss = each.loss


def test_the_prediction_is_the_measure_of_the_pilots_together(base):
    search, start = search_of(LEDUC, base, Limits(infosets=154), SHORT)
    plan = search.plan(start.probabilities)
    both = search.setting.join(start.probabilities, [(p.move, p.answer) for p in plan.moves])
    judge = ExactJudge(search.setting.form)
    assert plan.predicted == pytest.approx(judge.loss(start.probabilities) - judge.loss(both)) and plan.predicted > 0.1
    for a, first in enumerate(plan.moves):
        assert search.limits.allow(first.size) and first.gain > -1.0
        assert not any((first.move.here & other.move.here).any() for other in plan.moves[:a])
    assert plan.infosets <= 154 and plan.seconds > 0.0
    total = judge.loss(start.probabilities) * 2
    assert all(0.0 <= signal.loss <= total + 1e-12 and 0.0 <= signal.reach <= 1.0 for signal in plan.signals)


def test_the_same_search_gives_the_same_bytes_and_a_folder_saves_work(base, result, tmp_path):
    limits = Limits(infosets=154, rounds=2)
    first = stitch_auto(LEDUC, base, limits, SHORT, folder=tmp_path)
    assert (first.profile.probabilities == result.profile.probabilities).all()
    solved: list[str] = []
    again = stitch_auto(LEDUC, base, limits, SHORT, folder=tmp_path, tell=solved.append)
    assert (again.profile.probabilities == first.profile.probabilities).all()
    assert not [line for line in solved if "solved" in line]
    assert again.facts["solving"] == pytest.approx(first.facts["solving"])
    for damaged in tmp_path.iterdir():  # files that were cut short are solved again
        next(damaged.glob("*.bin")).write_bytes(b"")
    third = stitch_auto(LEDUC, base, limits, SHORT, folder=tmp_path)
    assert (third.profile.probabilities == first.profile.probabilities).all()


def test_a_search_that_is_stopped_goes_on(base, result, tmp_path):
    class Stop(Exception):
        pass

    def stop(text):
        if "training" in text:
            raise Stop

    limits = Limits(infosets=154, rounds=2)
    with pytest.raises(Stop):
        stitch_auto(LEDUC, base, limits, SHORT, folder=tmp_path, tell=stop)
    lines: list[str] = []
    again = stitch_auto(LEDUC, base, limits, SHORT, folder=tmp_path, tell=lines.append)
    assert (again.profile.probabilities == result.profile.probabilities).all()
    first = [line for line in lines if "round 1" in line or "solved" in line]
    assert "solved" not in first[1] or "for 60" in first[1]  # the pilots of the first round were kept


def test_time_is_a_limit(base):
    search, start = search_of(LEDUC, base, Limits(infosets=154, seconds=1e-6), SHORT)
    found = search.run(start.probabilities)
    assert (found.profile.probabilities == base.probabilities).all() and not found.rounds


def test_elsewhere_the_same_moves_are_solved(base):
    """An executor that sends plain values alone, as those of other machines do."""

    class Away(LocalPool):
        elsewhere = True

    limits = Limits(infosets=154, rounds=1)
    here = stitch_auto(LEDUC, base, limits, SHORT)
    with executing(Away(1)):
        away = stitch_auto(LEDUC, base, limits, SHORT)
    assert (away.profile.probabilities == here.profile.probabilities).all()


@pytest.mark.parametrize(
    ("game", "base"),
    [("liars_dice(dice_sides=3)", "null(without=[1-2])"), ("toepen(suits=2, ranks=2, hand=2)", "simple-history"),
     ("leduc(players=3, cap=1, suit_isomorphism=true)", "J.QK")],
)  # fmt: skip
def test_other_games(game, base):
    found = stitch_auto(game, base, Limits(rounds=1), Effort(iterations=20, pilot=5, cuts=2))
    assert found.loss[1] <= found.loss[0]
    assert kibitz.exploitability(game, found.profile) == pytest.approx(found.loss[1])


# Judges


def test_many_tries_are_corrected():
    """Strategies that win nothing are kept in less than one search of twenty, however many are tried."""
    rng = np.random.default_rng(0)

    def play(one, other, deals, seed):
        return Score(float(rng.normal()), 1.0, (-2.0, 2.0))

    kept = 0
    for _ in range(400):
        judge = MatchJudge(play, 100)
        kept += any(judge.judge(np.zeros(1), np.zeros(1)).better for _ in range(40))
    assert 0 < kept < 0.05 * 400
    uncorrected = MatchJudge(play, 100).margin(1)
    assert uncorrected < MatchJudge(play, 100).margin(2) < MatchJudge(play, 100).margin(40)


def test_seeds_of_choosing_and_reporting_are_apart():
    seeds: list[int] = []

    def play(one, other, deals, seed):
        seeds.append(seed)
        return Score(1.0, 0.1, (0.8, 1.2))

    judge = MatchJudge(play, 100, seed=5)
    for _ in range(10):
        judge.gain(np.zeros(1), np.zeros(1))
        judge.judge(np.zeros(1), np.zeros(1))
        judge.report(np.zeros(1), np.zeros(1))
    assert len(set(seeds)) == 30 and judge.tries == 10
    again = MatchJudge(play, 100, seed=5)
    assert [again.next_seed(CHOOSING), again.next_seed(REPORTING)] == [seeds[0], seeds[2]]


def test_a_search_by_matches(base):
    """Exact winnings with an error beside them stand for a match: what does not win clearly is not kept."""

    def judge(setting, error=1e-6):
        first = setting.form.infosets.first[setting.form.infosets.seat_start]

        def play(one, other, deals, seed):
            mixed = np.concatenate([one[: first[1]], other[first[1] :]]), np.concatenate(
                [other[: first[1]], one[first[1] :]]
            )
            won = 0.5 * (setting.form.value(mixed[0])[0] + setting.form.value(mixed[1])[1])
            return Score(float(won), error, (won - error, won + error))

        return MatchJudge(play, 10)

    limits = Limits(infosets=154, rounds=1)
    found = stitch_auto(LEDUC, base, limits, SHORT, judge)
    assert found.loss is None and found.rounds and found.rounds[0].achieved > 0.0
    unsure = stitch_auto(LEDUC, base, limits, SHORT, lambda setting: judge(setting, 10.0))
    assert (unsure.profile.probabilities == base.probabilities).all()


# Errors, and what games offer


def test_what_is_refused(base):
    with pytest.raises(kibitz.KibitzError, match="must be above 0"):
        Limits(infosets=0)
    with pytest.raises(kibitz.KibitzError, match="choose among all, each and pairs"):
        Effort(seats=("some",))
    with pytest.raises(kibitz.KibitzError, match="iterations=0 must be 1 or more"):
        Effort(iterations=0)
    with pytest.raises(kibitz.KibitzError, match="does not fit the game"):
        stitch_auto("kuhn", base)
    with pytest.raises(kibitz.KibitzError, match="has no name"):
        stitch_auto(LEDUC, base.replaced(base.probabilities, abstraction="own:mine"))


def test_games_offer_abstractions():
    assert [each.name for each in offered("leduc")][2:] == ["J.Q.K", "suits"]
    assert [each.name for each in offered("liars_dice(dice_sides=2)")] == ["null"]
    five = offered("leduc(ranks=5, suits=1)")
    assert [each.rows for each in five] == sorted(each.rows for each in five) and five[-1].name == "null"
    assert offered("toepen(suits=2, ranks=2, hand=2)")[0].name == "naive"


def test_a_form_without_a_tree():
    """Poker with all hands: experts for all seats, without an abstraction, judged by exact exploitability."""
    game = "poker(file=leduc)"
    base = kibitz.solve(game, "dcfr+", abstraction="percentile(2)", iterations=50)
    effort = Effort(solver="dcfr+", iterations=40, pilot=5)
    search, start = search_of(game, base, Limits(infosets=120, rounds=1), effort)
    form = search.setting.form
    assert not search.setting.has_tree
    assert losses(form, start.probabilities).sum() == pytest.approx(form.measure(start.probabilities).nash_conv)
    found = search.run(start.probabilities)
    assert found.loss[1] < found.loss[0] == pytest.approx(kibitz.exploitability(game, base))
    assert kibitz.exploitability(game, found.profile) == pytest.approx(found.loss[1])
    assert all(pilot.size.infosets <= 120 for each in found.rounds for pilot in each.plan.pilots)
