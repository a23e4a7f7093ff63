"""Stages of the large tables: each from end to end on a small deck, stopped and resumed."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from functools import partial

import pytest
from bucketed import FOUR_ROUNDS

from kibitz.core.errors import ArtefactError, SpecError
from kibitz.forms.choice import compact_form
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.papers import PaperPlan, champions, holdem_course, ledger, stages
from kibitz.papers import champions_phases as phases
from kibitz.papers import gibson2011_large as two
from kibitz.papers import waugh2009_large as grafts
from kibitz.papers.course_results import results_of
from kibitz.papers.gibson2011_strategies import ALL, BASE, DYNAMIC, EACH
from kibitz.papers.holdem import arguments, unit_of
from kibitz.papers.ledger import Ledger, Stage, go_through
from kibitz.papers.runs import Run, made_by
from kibitz.play.agents import profile_agent
from kibitz.poker.endgames.refined import with_all_hands
from kibitz.poker.stitching.experts import poker_of
from kibitz.solvers.machines import machine_of


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Few bets and ten cards: a sweep takes a moment."""
    path = tmp_path / "small.game"
    path.write_text(next(iter(FOUR_ROUNDS.values())))
    monkeypatch.setattr(two, "TINY", f"poker(file={path})")
    monkeypatch.setattr(two, "TINY_LIMITS", (2_000, 6_000))
    monkeypatch.setattr(grafts, "TINY", f"poker(file={path})")
    monkeypatch.setattr(grafts, "TINY_LIMITS", (2_000, 5_060, 6_000, 4_000))
    monkeypatch.setattr(champions, "TINY_BUCKETS", "percentile(3)")
    monkeypatch.setattr(two, "EQUILIBRIA", (0, 1))
    monkeypatch.setattr(two, "TINY_LOOKS", (5, 20))
    holdem_course.forget_courses()
    yield tmp_path
    holdem_course.forget_courses()


def done(name, folder, **how):
    said = []
    whole = stages.run_stage(name, folder / "out", folder / "work", quick=True, tell=said.append, **how)
    return whole, json.loads((folder / "out" / f"{name}.json").read_text()), said


def names(entries, run):
    return [(e["answer"]["name"], e["answer"]["seed"], e["answer"]["steps"]) for e in entries if e["run"] == run]


@pytest.mark.slow
def test_every_stage(small):
    """All stages of Table 2 for two players, one after another as in a session."""
    every = {name: each for name, each in stages.all_stages(True, str(small / "work"), "cpu").items()
             if name.startswith(("two", "why"))}  # fmt: skip
    for name, stage in every.items():
        if name[-1] in "12" and name[:-2] in ("two-all", "two-dynamic", "two-each", "two-finest", "two-further",
                                                "two-sampled", "why-experts"):
            continue  # other seeds
        whole, entries, _ = done(name, small, known=small / "out")
        steps = len(list(stage.steps()))
        assert whole and (len(entries) == steps or name != "two-pilot")
        assert all(e["by"]["kibitz"] and e["seconds"] >= 0 for e in entries)
    results = ledger.results_in(small / "out")
    found = {(e["name"], e["seed"]) for e in results[holdem_course.POINT]}
    assert {(BASE, 0), (BASE, 1), (ALL, 0), (EACH, 0), ("Base.cfr", 0), ("Base.cfr+ last", 0)} <= found
    exact = {e["name"]: e["exploitability"] for e in results[holdem_course.WHOLE]}
    assert all(value > 0 for value in exact.values()) and len(exact) == 9
    drawn = {(e["one"], e["other"], e["seed"]): e for e in results[holdem_course.DRAWN]}
    assert Counter(seed for *_, seed in drawn) == {0: 15, 1: 10, 2: 10}
    again = {(e["one"], e["other"]): e["mean"] for e in results[two.PRECISE + holdem_course.DRAWN]}
    assert len(again) == 10 and (small / "work" / "precise").is_dir()
    assert again[BASE, DYNAMIC] == drawn[BASE, DYNAMIC, 0]["mean"]  # on cores nothing is rounded: the same strategies
    points = [e for e in results[holdem_course.POINT] if e["name"] == two.SAMPLED]
    assert [e["steps"] for e in points] == [8, 16, 32] and points[-1]["gap"] < points[0]["gap"]
    assert all(e["gap"] > 0 for e in results[holdem_course.POINT] if e["name"] == ALL)
    assert all(e["gap"] is None for e in results[holdem_course.POINT] if e["name"] == DYNAMIC)


def test_a_stage_without_tf32_says_how_it_is_run(monkeypatch):
    monkeypatch.setenv("CUPY_TF32", "1")
    gpu = arguments(two.setting_of(True, "work", "gpu"))
    with pytest.raises(SpecError, match="CUPY_TF32=0"):
        holdem_course.train_without_tf32(BASE, 0, 5, *gpu)


def test_products_are_rounded_where_the_gap_of_the_whole_strategy_is_known(small, monkeypatch):
    monkeypatch.delenv("CUPY_TF32")
    setting = two.setting_of(True, str(small / "work"), "cpu")
    known = {BASE: True, ALL: True, two.CONDITIONAL: True, "Base.cfr+": True, "Base.cfr+ last": False, DYNAMIC: False,
             EACH: False}  # fmt: skip
    for name, rounded in known.items():
        computations = holdem_course.course(name, 0, setting).computations
        assert {each.solver.cfr_state.passes.tf32 for each in computations} == {rounded}, name
    forms = [each.form.perfect_recall for each in holdem_course.course(EACH, 0, setting).computations]
    assert any(forms) and not all(forms)  # one expert alone could be measured


def test_further_training_has_checkpoints_and_results_of_its_own(small):
    assert not done("two-further-0", small, seconds=1e-9)[0]  # stopped after its first step
    assert list((small / "work").glob("further/*/*.checkpoint")) and not (small / "work" / f"{BASE}-0").exists()
    assert done("two-further-0", small)[0]
    setting = two.setting_of(True, str(small / "work"), "cpu")
    far = two.further(setting)
    assert (far.gap, setting.gap) == (0.1, 1.0) and far.folder != setting.folder
    results = ledger.results_in(small / "out")
    assert set(results) == {two.FURTHER + run for run in (holdem_course.POINT, holdem_course.WHOLE, holdem_course.PAIR)}
    assert [e["name"] for e in results[two.FURTHER + holdem_course.WHOLE]] == [BASE, ALL, two.CONDITIONAL]
    assert [e["other"] for e in results[two.FURTHER + holdem_course.PAIR]] == [ALL, two.CONDITIONAL]
    large = two.further(two.setting_of(False, "", "cpu"))
    for name in (BASE, EACH, ALL, two.CONDITIONAL, two.FINEST):
        looks = two.points(large, name)  # whatever ends between two looks has one before half of its iterations
        assert all(before * 2 >= after for before, after in itertools.pairwise(looks)) and len(looks) == 3


def test_grafts(small):
    assert done("graft-0", small)[0]
    path = small / "out" / "graft-0.json"
    entries = json.loads(path.read_text())
    path.write_text(json.dumps(entries[:9]))  # a session that ended after the first pair
    report = grafts.EXPERIMENT.recompute(PaperPlan(starts=3, results=str(small / "out")))
    assert [claim.text for claim in report.claims] == ["the grafted strategy beats 20x8"] and report.plan.starts == 1
    assert "Not measured yet: 20x8 grafted against 20x7; " in report.departs[-1]
    assert report.departs[-1].endswith("20x7 against 14.")
    assert [picture.name for picture in report.pictures] == ["grafts"]
    assert [sheet.title for sheet in report.sheets] == ["Exact winnings", "Sizes", "Convergence"]
    path.write_text(json.dumps(entries))
    assert all(done(name, small)[0] for name in ("graft-0-single", "graft-recall", "graft-recall-single"))
    report = grafts.EXPERIMENT.recompute(PaperPlan(starts=3, results=str(small / "out")))
    assert sum(claim.of_the_paper for claim in report.claims) == 6 and len(report.figures["pairs"]) == 9
    cells = {row[0]: row[1:] for row in report.sheets[0].rows}
    assert all(cells["20x8 grafted"][1:]) and cells["12"][1] == ""
    assert [picture.name for picture in report.pictures] == ["holdem", "grafts"] and len(report.departs) == 2
    with pytest.raises(ArtefactError, match="graft-0"):
        grafts.gather(PaperPlan(results=str(small)), {})


def test_what_prepares_others_is_done_again_where_these_are_missing(tmp_path):
    made, played = [], []
    prepare = Run("prepare", lambda k: made.append(k) or {"k": k}, [(0,)], prepares=True)
    play = Run("play", lambda k: played.append(k) or {"k": k}, [(0,), (1,)])
    path = tmp_path / "one.json"
    stage = Stage("one", "", (prepare, play))
    assert go_through(stage, Ledger(path)) and (made, played) == ([0], [0, 1])
    assert go_through(stage, Ledger(path)) and (made, played) == ([0], [0, 1])  # nothing is missing
    entries = json.loads(path.read_text())
    path.write_text(json.dumps(entries[:-1]))
    assert go_through(stage, Ledger(path)) and (made, played) == ([0, 0], [0, 1, 1])
    assert len(json.loads(path.read_text())) == 3  # one entry for each step
    assert go_through(Stage("two", "", (prepare,)), Ledger(path)) and made == [0, 0, 0]


@pytest.mark.slow
def test_champions(small):
    assert done("champions-0", small)[0]
    report = champions.EXPERIMENT.recompute(PaperPlan(results=str(small / "out")))
    assert not report.claims and not any(report.sheets[0].rows[0][2:-2])
    assert done("champions-pairs", small)[0]
    report = champions.EXPERIMENT.recompute(PaperPlan(results=str(small / "out")))
    texts = [claim.text for claim in report.claims]
    assert texts[0] == "GS3 beats Base" and texts[-1] == "Finest beats GS3" and len(texts) == 6
    cells = {row[0]: row for row in report.sheets[0].rows}
    mine, theirs = (cells[one][at].split(" ± ") for one, at in (("GS3", 3), (BASE, 2)))
    assert float(mine[0]) == -float(theirs[0]) and mine[1] == theirs[1] and float(mine[1]) > 0
    assert float(cells["GS3"][1]) > 0 and cells["Finest"][1] == "not measured"
    with pytest.raises(ArtefactError, match="champions-0"):
        champions.gather(PaperPlan(results=str(small)), {})


def test_a_strategy_is_kept_for_other_processes(small):
    """What one process trained another one plays, without training it again."""
    assert done("two-trained-0", small)[0]
    kept = sorted(path.name for path in (small / "work").glob("*.profile"))
    assert len(kept) == 4 and any(name.startswith(f"{BASE}-0-20-{made_by()[:16]}") for name in kept)
    one = holdem_course.course(BASE, 0, two.setting_of(True, str(small / "work"), "cpu")).played(20)
    holdem_course.forget_courses()
    other = holdem_course.course(BASE, 0, two.setting_of(True, str(small / "work"), "cpu"))
    assert other.played(20) is not one and (other.played(20).probabilities == one.probabilities).all()
    assert "computations" not in other.__dict__
    figures = holdem_course.train(BASE, 0, 20, *arguments(other.setting))
    assert 0 < figures["done"][0] <= 20 and figures["infosets"] > 100 and "computations" not in other.__dict__
    point = holdem_course.point(BASE, 0, 20, *arguments(other.setting))  # its figures are those of the training
    assert point["done"] == figures["done"] and point["gap"] == figures["gap"] > 0 and point["seconds"] > 0
    trained_anew = holdem_course.HoldemCourse(BASE, other.recipe, 0, other.setting, None).train(20)
    assert abs(trained_anew.probabilities - one.probabilities).max() < 1e-6


@pytest.mark.slow
def test_champions_in_phases(small, monkeypatch):
    """GS1 and GS2 from end to end, and what their table says."""
    game = two.TINY
    recipes = {"GS1": phases.PhasedRecipe("gameshrink(reading=win-count)", 2, phases.ROLLOUT),
               "GS2": phases.PhasedRecipe("expectation([3, 6, 9, 12])", 3, phases.LEARNED),
               BASE: phases.PhasedRecipe("percentile(2)")}  # fmt: skip
    monkeypatch.setattr(phases, "RECIPES", recipes)
    monkeypatch.setattr(phases, "UNTIL", 0.5)
    monkeypatch.setattr(phases, "QUICK_DEALS", 40)
    monkeypatch.setattr(stages.champions_phases, "stages", partial(phases.stages, game=game))
    whole, entries, _ = done("champions-phases", small)
    assert whole and [e["run"] for e in entries] == [phases.PHASED] * 3 + [phases.MET] * 3
    points = {e["answer"]["name"]: e["answer"] for e in entries[:3]}
    assert points["GS2"]["counts"] == [3, 6, 9, 12] and all(e["exploitability"] > 0 for e in points.values())
    won = entries[3]["answer"]
    assert (won["one"], won["other"]) == ("GS2", "GS1") and won["error"] > 0 and won["deals"] == 40
    r = results_of(small / "out")
    assert [claim.text for claim in phases.claims(r)] == ["GS2 beats GS1, with a deck of 12 cards"]
    (sheet,) = phases.sheets(r)
    cells = {row[0]: row for row in sheet.rows}
    assert cells["GS1"][5].partition(" ")[0] == f"{-won['mean']:.1f}"
    assert cells[phases.shown(BASE)][2] == "all rounds at once"
    assert phases.strategy.cache_info().hits >= 3  # made once for all matches


def test_phase_one_of_gs1_is_what_is_played(small):
    """Hands of the first two rounds play as their classes do; after that, without endgames, they call."""
    recipe = phases.PhasedRecipe("gameshrink(reading=win-count)", 2, phases.ROLLOUT)
    profile, rules, drawn, seen = phases.strategy(two.TINY, recipe, 0.5), poker_of(two.TINY), random.Random(1), 0
    agent = profile_agent(profile, machine_of(two.TINY), "GS1")
    lifted = with_all_hands(rules, profile)
    loses = float(compact_form(rules).measure(lifted.probabilities).nash_conv) / 2
    assert phases.solved("GS1", two.TINY, tuple(recipe), 0.5)["exploitability"] == pytest.approx(
        loses * unit_of(two.TINY), rel=1e-6)  # fmt: skip
    for _ in range(10):
        state = rules.root()
        while rules.turn(state) != TERMINAL:
            if rules.turn(state) == CHANCE:
                state = rules.after(state, rules.sample(state, drawn))
                continue
            view = view_of(rules, state, rules.turn(state))
            row = dict(zip(view.actions, agent.act(view), strict=True))
            assert row == pytest.approx(lifted[rules.turn(state), rules.infoset(state)], abs=1e-6)
            late = state.done.count("/") >= 2
            assert sum(row.values()) == pytest.approx(1) and (not late or row["call"] == pytest.approx(1))
            state, seen = rules.after(state, "call"), seen + late
    assert seen == 40  # two decisions in each of two rounds


def test_a_stage_that_is_stopped_goes_on(small):
    """By another process, from checkpoints; what was written is not computed again."""
    whole, first, said = done("two-pilot", small, seconds=1e-9)
    assert not whole and len(first) == 1 and any("run it again" in text for text in said)
    before, steps = first, len(list(stages.all_stages(True, str(small / "work"), "cpu")["two-pilot"].steps()))
    while not whole:
        holdem_course.forget_courses()  # as another process
        whole, entries, _ = done("two-pilot", small, seconds=1e-9)
        assert entries[: len(before)] == before and len(entries) == len(before) + 1
        before = entries
    assert len(before) == steps
    holdem_course.forget_courses()
    straight = done("two-pilot", small / "straight")[1]
    for mine, other in zip(before, straight, strict=True):
        if mine["run"] != holdem_course.OPENINGS:
            assert mine["answer"]["exploitability"] == pytest.approx(other["answer"]["exploitability"], rel=1e-6)


def test_what_earlier_sessions_found_is_known(small):
    done("two-all-0", small)
    (small / "docs").mkdir()
    (small / "out" / "two-all-0.json").rename(small / "docs" / "two-all-0.json")
    _, entries, _ = done("champions-0", small, known=small / "docs")
    exact = names(entries, holdem_course.WHOLE)
    assert exact and (BASE, 0, 20) not in exact


def test_seconds_of_the_plan():
    """No step takes longer than a command may, and no stage longer than a session."""
    every = stages.all_stages(False, "work", "gpu")
    for name, stage in every.items():
        assert max(needs for *_, needs in stage.steps()) < 520, name
        assert stage.expected < 1510, (name, stage.expected)
    plain = sum(needs for name in ("two-trained-0", "two-trained-each-0", "two-trained-finest-0")
                for _, piece, needs in every[name].steps() if piece[0] in two.NAMES)  # fmt: skip
    again = sum(needs for _, piece, needs in every["two-trained-each-0"].steps() if piece[0] == BASE)
    assert every["two-precise"].expected == plain - again + 10 * two.ESTIMATED


def test_ledgers(tmp_path):
    calls = []

    def work(n):
        calls.append(n)
        if n == 3:
            raise RuntimeError("killed")
        return {"n": n}

    stage = Stage("some", "", (Run("work", work, [(1,), (2,), (3,)]),), lambda run, piece: 10.0)
    with pytest.raises(RuntimeError):
        go_through(stage, Ledger(tmp_path / "some.json"))
    with pytest.raises(RuntimeError):
        go_through(stage, Ledger(tmp_path / "some.json"))
    assert calls == [1, 2, 3, 3]
    again = Ledger(tmp_path / "some.json")
    assert [entry["answer"] for entry in again.entries] == [{"n": 1}, {"n": 2}]
    assert ledger.results_in(tmp_path)["work"][1]["n"] == 2
    (tmp_path / "bad.json").write_text("[1]")
    with pytest.raises(ArtefactError, match="not a file of results"):
        ledger.results_in(tmp_path)
    assert stage.expected == 30.0


def test_the_command(small, capsys):
    assert stages.main(["--list"]) == 0 and "two-all-2" in capsys.readouterr().out
    assert stages.main(["--stage", "none", "--quick"]) == 2 and "there is no stage" in capsys.readouterr().err
    folders = {f"--{name}": str(small / name) for name in ("out", "work", "known", "also")}
    assert stages.main(["--stage", "two-finest-0", "--quick", *(x for each in folders.items() for x in each)]) == 0
    assert (small / "also" / "two-finest-0.json").read_text() == (small / "out" / "two-finest-0.json").read_text()
    with pytest.raises(SpecError):
        two.recipe_of("no such strategy", two.setting_of(True, "", "cpu"))
