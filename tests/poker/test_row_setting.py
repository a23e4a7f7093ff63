"""Automatic stitching by sampling: moves against those of stitching, sizes, signals against all histories, searches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bucketed import THREE_PLAYERS
from commands import Call, bad, data, good

from kibitz.core.errors import SolverError
from kibitz.evaluate.match import won_on
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.play.judging import match_judge
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint, stitched
from kibitz.poker.blueprints.rows import base_buckets, expert
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.row_setting import RowSetting, part_of, row_setting
from kibitz.poker.stitching.row_signals import hand_sample, responder_rows, responder_to
from kibitz.solvers.machines import machine_of
from kibitz.stitch import MaxInfosets, experts, static
from kibitz.stitch.auto import Effort, Limits, StitchSearch, stitch_auto
from kibitz.stitch.auto.moves import STATIC, Move
from kibitz.stitch.auto.plan import candidates, extrapolated
from kibitz.stitch.targets import seat_sets

TINY = THREE_PLAYERS.format(raises=2, suits=2, ranks=3)
LIMIT = 900
INSIDE = "percentile([3, 3], forget=1)"


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    path = tmp_path_factory.mktemp("game") / "tiny.game"
    path.write_text(TINY)
    return machine_of(f"poker(file={path})", how="rounds")


@pytest.fixture(scope="module")
def base(machine):
    blueprint = placed_blueprint(machine, RowPlan(("percentile([3, 1], forget=1)",)))
    blueprint.train(iterations=300)
    return blueprint.played()


@pytest.fixture(scope="module")
def setting(base):
    return RowSetting(base, LIMIT, responder=600, threads=1, hands=4000)


def move_of(setting, text, seats="all", inside=INSIDE):
    return Move(STATIC, (cut_of(setting, text),), seats, (inside,))


def cut_of(setting, text):
    return next(cut for cut in setting.prefixes if part_of(cut) == text)


def shares(blueprint):
    return blueprint.store.arrays()["share"]


# Moves


@pytest.mark.parametrize("seats", ["all", "each", "pairs"])
def test_experts_and_joins_are_those_of_stitching(setting, base, seats):
    groups = setting.seats(move_of(setting, "f", seats))
    count = len(seat_sets(groups, 3))
    moves = [move_of(setting, text, seats) for text in ("f", "rf")]
    runs = [setting.solve(move, base, [40 * count, 90 * count], 5) for move in moves]
    for k, iterations in enumerate((40, 90)):
        alone = static(setting.rules, base, "prefix(f)", groups, INSIDE, iterations=iterations, threads=1, seed=5)
        np.testing.assert_array_equal(shares(runs[0].answers[k]), shares(alone))
        both = static(setting.rules, base, "prefix(f, rf)", groups, INSIDE, iterations=iterations, threads=1, seed=5)
        joined = setting.join(base, [(m, run.answers[k]) for m, run in zip(moves, runs, strict=True)])
        np.testing.assert_array_equal(shares(joined), shares(both))
        assert layout_of(joined).rows == layout_of(both).rows
    assert 0.0 < runs[0].seconds[0] < runs[0].seconds[1]


@pytest.mark.parametrize("seats", ["all", "each", "pairs"])
def test_sizes_are_those_of_the_rows(setting, base, seats):
    for text in ("f", "rf", "rc", "fcc"):
        for inside in (INSIDE, "percentile(3)"):
            move = move_of(setting, text, seats, inside)
            built = [expert(base, text, inside, group) for group, _ in seat_sets(setting.seats(move), 3)]
            size = setting.size(move)
            assert size.infosets == max(layout_of(each).size for each in built)
            assert size.columns == max(layout_of(each).columns for each in built) and size.computations == len(built)
        finest = setting.buckets(cut_of(setting, text), seats, "finest")
        target = experts(setting.rules, base, f"prefix({text})", setting.seats(move), MaxInfosets(LIMIT))
        assert finest is None or {each.buckets for each in target} == {finest}


def test_parts_are_all_that_rows_can_place(setting):
    names = {part_of(cut) for cut in setting.prefixes}
    assert {"f", "rf", "rrf", "rcf", "fcc"} <= names and not names & {"", "ff", "rff"}
    for text in names:
        rows = RowPlan(("percentile(1)", "percentile(2)"), (text,))
        np.testing.assert_array_equal(setting.machine.row_view(rows)[0].part > 0, cut_of(setting, text).here)


def test_moves_that_do_not_fit_are_refused(setting, base):
    effort, none = Effort(insides=("finest", INSIDE)), np.zeros(setting.places, bool)
    lost = np.ones(setting.places)
    small = layout_of(base).size + 10
    tight = replace(setting, limit=small)
    _, moves = candidates(tight, lost, none, Limits(infosets=small), effort)
    assert moves and all(size.infosets <= small for _, size in moves)
    assert all(tight.size(move) == size for move, size in moves)
    assert tight.buckets(cut_of(tight, "r"), "each", "finest") is None  # others have as many infosets elsewhere
    assert tight.buckets(cut_of(tight, "r"), "all", "finest/100") is None
    with pytest.raises(SolverError, match="more than the limit"):
        row_setting(base, Limits(infosets=10), effort)
    with pytest.raises(SolverError, match="--max-infosets"):
        row_setting(base, Limits(), effort)
    with pytest.raises(SolverError, match="leave --on out"):
        setting.order(moves[0][0])


def test_a_stitched_strategy_is_stitched_again(setting, base, machine):
    one = {text: expert(base, text, INSIDE, seed=k) for k, text in enumerate(("f", "rf", "fr", "r"))}
    for k, each in enumerate(one.values()):
        each.train(iterations=30 + k)
    by_seat = {text: dict.fromkeys(range(3), each.played()) for text, each in one.items()}
    twice = stitched(stitched(base, {"f": by_seat["f"]}), {"rf": by_seat["rf"]})
    np.testing.assert_array_equal(shares(twice), shares(stitched(base, {x: by_seat[x] for x in ("f", "rf")})))
    inner = stitched(stitched(base, {"f": by_seat["f"]}), {"fr": by_seat["fr"]})
    np.testing.assert_array_equal(shares(inner), shares(stitched(base, {x: by_seat[x] for x in ("f", "fr")})))
    outer = stitched(stitched(base, {"rf": by_seat["rf"]}), {"r": by_seat["r"]})  # which the new part replaces
    np.testing.assert_array_equal(shares(outer), shares(stitched(base, {"r": by_seat["r"]})))
    move = move_of(setting, "rf")
    (again,) = setting.solve(move, stitched(base, {"f": by_seat["f"]}), [50]).answers
    assert layout_of(again).rows.parts == ("f", "rf")


# Signals


def by_all_histories(machine, strategy, responder):
    """(betting -> gain of each seat there, betting -> probability), from the definition: all deals and actions."""
    rules, gains, reach, known = machine.rules, {}, {}, {}

    def played(who, view):
        if (who is strategy, view.infoset) not in known:
            known[who is strategy, view.infoset] = who.rows(view.seat, [view.infoset], view.actions)[0]
        return known[who is strategy, view.infoset]

    def visit(state, probability, seat):
        """What the seat wins by the responder from here on, if the others and it came here by the strategy."""
        turn = rules.turn(state)
        if turn == TERMINAL:
            return float(rules.payoff(state)[seat])
        if turn == CHANCE:
            return sum(p * visit(rules.after(state, x), probability * p, seat) for x, p in rules.chance(state))
        view = view_of(rules, state, turn)
        by_strategy = played(strategy, view)
        values = [visit(rules.after(state, x), probability * p, seat)
                  for x, p in zip(view.choices, by_strategy, strict=True)]  # fmt: skip
        done = view.infoset.partition(":")[2]
        if seat == 0:
            reach[done] = reach.get(done, 0.0) + probability
        if turn != seat:
            return float(np.dot(by_strategy, values))
        best = float(np.dot(played(responder, view), values))
        gain = probability * (best - float(np.dot(by_strategy, values)))
        gains.setdefault(done, np.zeros(3))[seat] += gain
        return best

    for seat in range(3):
        visit(rules.root(), 1.0, seat)
    return gains, reach


def test_signals_are_those_of_all_histories(tmp_path):
    (tmp_path / "four.game").write_text(THREE_PLAYERS.format(raises=2, suits=1, ranks=4))
    machine = machine_of(f"poker(file={tmp_path / 'four.game'})", how="rounds")
    base = placed_blueprint(machine, RowPlan(("percentile([4, 2], forget=1)",)))
    base.train(iterations=100)
    base = base.played()
    against = responder_to(base, 100, {"iterations": 200, "threads": 1}, 3)
    sample = hand_sample(base, against, 60_000, 11)
    gains, reach = by_all_histories(machine, base, against)
    setting = RowSetting(base, LIMIT)
    for text in ("f", "r", "rf", "c", "cr", "fcc"):
        here = cut_of(setting, text).here
        for seat in range(3):
            exact = sum(each[seat] for done, each in gains.items() if done.replace("/", "").startswith(text))
            mean, error = sample.loss(here, seat)
            assert abs(mean - exact) <= 4.5 * error + 1e-9
        assert abs(sample.reach(here) - (reach.get(text) or reach[text + "/"])) < 0.01
    total, error = sample.loss(np.ones(setting.places, bool))
    assert abs(total - sum(each.sum() for each in gains.values())) <= 4.5 * error
    assert sample.by_place(setting.places).sum() == pytest.approx(total)


def test_gains_of_a_hand_sum_to_what_the_responder_wins_more(machine, base):
    """Deal by deal, against plain duplicate matches with the same cards and random numbers."""
    against = responder_to(base, 100, {"iterations": 50, "threads": 1}, 3)
    sample = hand_sample(base, against, 300, 2, threads=1)
    seats = np.arange(3)
    own = won_on(machine, (base.player(),) * 3, seats[None], 2, 0, 300)[:, 0]
    for seat in range(3):
        seating = np.array([[0 if k == seat else 1 + k % 2 for k in range(3)]])
        players = (against.player(), base.player(), base.player())
        more = won_on(machine, players, seating, 2, 0, 300)[:, 0, 0] - own[:, seat]
        mine = np.where(sample.mover == seat, sample.gain, 0.0).sum(axis=1)
        np.testing.assert_allclose(mine, more, atol=1e-12)
    again = hand_sample(base, against, 2300, 2, threads=2)
    np.testing.assert_array_equal(again.gain[:300], sample.gain)


def test_a_responder_forgets_all_but_the_pot(machine):
    rows = responder_rows(machine, 400)
    assert rows.betting == "pot" and layout_of(placed_blueprint(machine, rows)).size <= 400
    assert layout_of(placed_blueprint(machine, responder_rows(machine, 1))).size > 1  # one bucket, at least


def test_pilots_are_extrapolated():
    for length in (400, 10_000):  # gains of 2 less 6 over the root of the length
        assert extrapolated((2 - 0.6, 2 - 0.3), 100, length) == pytest.approx(2 - 6 / length**0.5)
    assert extrapolated((0.1, 0.3), 100, 300) == 0.3


# Searches


def test_matches_pick_what_is_better_and_not_what_is_equal(setting, base, machine):
    untrained = placed_blueprint(machine, RowPlan(("percentile([3, 1], forget=1)",))).played()
    other = placed_blueprint(machine, RowPlan(("percentile([3, 1], forget=1)",)), seed=9)
    other.train(iterations=300)
    judge = match_judge(4000, 3)(setting)
    found = judge.judge(base, untrained)
    assert found.better and found.gain > 0.1 > found.error > 0.0
    assert not judge.judge(untrained, base).better and not judge.judge(base, base).better
    assert not judge.judge(other.played(), base).better  # the same training from another seed: as good
    assert judge.tries == 4 and judge.report(base, untrained)["mean"] != found.gain


def test_a_search_keeps_what_wins_and_goes_on_from_its_folder(setting, base, tmp_path):
    limits = Limits(infosets=LIMIT, rounds=2)
    effort = Effort(("finest",), ("all", "each"), iterations=4000, pilot=250, cuts=2, together=2)
    lines: list[str] = []

    def searched(tell=None):
        search = StitchSearch(setting, limits, effort, match_judge(3000, 1)(setting), 4, tmp_path / "kept", tell)
        return search.run(setting.begin(base))

    result, again = searched(), searched(lines.append)
    assert result.rounds and result.profile.sha256 == again.profile.sha256
    assert result.facts["reported"] == again.facts["reported"] and not any("solved" in line for line in lines)
    kept = [name for each in result.rounds for name in each.kept]
    assert kept and result.facts["reported"]["mean"] > 0.0 and result.infosets <= LIMIT
    names = {name.partition("prefix(")[2].partition(")")[0] for name in kept}
    assert set(layout_of(result.profile).rows.parts) <= names
    for signal in result.rounds[0].plan.signals:
        assert signal.error > 0.0 and sum(signal.by_seat) == pytest.approx(signal.loss) and 0.0 < signal.reach <= 1.0
    for one in (tmp_path / "kept").iterdir():
        (one / "share0.npy").unlink(missing_ok=True)
    assert searched().profile.sha256 == result.profile.sha256  # what is damaged is solved again


def test_seconds_are_divided(base, machine):
    setting, effort = row_setting(base, Limits(infosets=LIMIT), Effort(seconds=1.2, seats=("all",), cuts=2))
    assert setting.timed and effort.iterations == 1200 and effort.pilot == 100 and setting.steps == "milliseconds"
    began = setting.solve(move_of(setting, "f", "each"), base, [30, 90])
    assert 0.05 < began.seconds[1] < 5.0
    result = stitch_auto(None, base, Limits(infosets=LIMIT, rounds=1), Effort(seconds=0.3, seats=("all",), cuts=2),
                         match_judge(200))  # fmt: skip
    assert result.facts["judge"] == "matches" and "picture" not in result.facts


# Commands


def test_commands(call: Call, tmp_path) -> None:
    (tmp_path / "tiny.game").write_text(TINY)
    game = str(tmp_path / "tiny.game")
    machine = machine_of(game, how="rounds")
    base = placed_blueprint(machine, RowPlan((base_buckets(machine, 400),)))
    base.train(iterations=300)
    base.save("base.blueprint")
    line = ("stitch", "auto", game, "--base", "base.blueprint", "--max-infosets", "900", "--cuts", "2", "--seats",
            "all", "--deals", "1000", "--rounds", "1")  # fmt: skip
    out = good(call, *line, "--judge", "matches", "--seconds", "0.5", "--out", "auto.blueprint", "--plot", "plan.png")
    assert "a trained responder wins" in out and "per hand from the base" in out and "Let it play" in out
    told = data(call, *line, "--judge", "matches", "--iterations", "2000", "--plan")
    assert told["plan"]["parts"][0]["error"] > 0.0 and told["effort"]["pilot"] == 166
    assert data(call, "match", "auto.blueprint", "base.blueprint", "uniform", "--game", game, "--deals", "500")["deals"]
    assert "give --judge matches" in bad(call, *line[:-4], "--seconds", "1")
    assert "--seconds 300" in bad(call, *line, "--judge", "matches")
    assert "leave --pilot out" in bad(call, *line, "--judge", "matches", "--seconds", "1", "--pilot", "3")
    assert "more than the limit" in bad(call, *line, "--judge", "matches", "--seconds", "1", "--max-infosets", "20")
    assert "blueprint: leave it out" in bad(call, "stitch", "auto", "kuhn", "--base", "null", "--seconds", "1")
    assert "choose cpu or gpu" in bad(call, *line, "--judge", "matches", "--seconds", "1", "--device", "moon")
