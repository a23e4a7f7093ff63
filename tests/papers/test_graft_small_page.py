"""Table 3 of limit hold'em with a small deck: its page from made-up answers, and a small run of its steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bucketed import FOUR_ROUNDS

from kibitz.core.errors import ArtefactError
from kibitz.forms.profile import Profile
from kibitz.papers import holdem_course, stages, table_alone
from kibitz.papers import waugh2009_large as large
from kibitz.papers import waugh2009_small as small
from kibitz.papers.ledger import Ledger, results_in
from kibitz.papers.waugh2009_strategies import BASE, FOURTEEN, GRAFTED, LARGEST, SMALLER, TWELVE
from kibitz.poker.whole.profiles import against, exploited

STRENGTH = {BASE: 0.0, SMALLER: -4.0, LARGEST: 9.0, FOURTEEN: -20.0, TWELVE: -40.0, GRAFTED: 6.0}


def answers_of(name, seed, steps=(1024, 32768, 65536), grown=(-50.0, -2.0, 0.0)):
    """A strategy that wins as much as it is stronger, and less at its first looks."""
    points = [{"name": name, "seed": seed, "steps": n, "done": [n], "seconds": 1.0, "solver": "pcs", "best": [1.0, 2.0],
               "exploitability": 600.0 + 100 * (name == GRAFTED) + less, "value": 0.5, "gap": None, "every": 1,
               "infosets": 7, "largest": 6, "buckets": "b"} for n, less in zip(steps, grown, strict=True)]  # fmt: skip
    pairs = [{"one": name, "other": other, "seed": seed, "steps": [n, steps[-1]],
              "mean": STRENGTH[name] - STRENGTH[other] + less}
             for n, less in zip(steps, grown, strict=True)
             for other in small.ORDER[: small.ORDER.index(name)]]  # fmt: skip
    return {"points": points, "pairs": pairs}


def all_answers(**how):
    return {
        run.name: [answers_of(*piece[:2], **how) for piece in run.pieces] for run in small.runs(small.EXPERIMENT.plan)
    }


def verdicts(r):
    return {claim.text: claim.verdict for claim in small.claims(r)}


def test_the_page_judges_every_claim():
    plan = small.EXPERIMENT.plan
    r = small.gather(plan, all_answers())
    said = verdicts(r)
    assert said[f"the grafted strategy beats {BASE}"] == said["the grafted strategy beats 14"] == "holds"
    assert said[f"the grafted strategy beats even the largest single strategy, {LARGEST}"] == "fails"
    assert said["20x7 beats 14, which it superseded"] == said[f"{LARGEST} beats {BASE}"] == "holds"
    assert said["after 1,024 boards of each graft the grafted strategy loses to 20x8"] == "holds"
    assert said["the grafted strategy wins most on average"] == "fails"  # 20x32 does
    assert said["the grafted strategy is less exploitable than 20x8"] == "fails"
    page = small.page(plan, r, tuple(small.claims(r)))
    table, grown, *_ = page.sheets
    assert {row[0]: row[1:7] for row in table.rows}[BASE] == ("", "+4.00", "-9.00", "+20.00", "+40.00", "-6.00")
    assert [row[1] for row in grown.rows] == ["-44.00", "+4.00", "+6.00"]
    assert page.starts == 4 and [each.name for each in page.pictures] == ["holdem", "training", "grafts"]


def test_a_pair_that_still_changes_is_undecided():
    """Its margin is the change over the last doubling of the later strategy, from between two looks if need be."""
    assert verdicts(small.gather(small.EXPERIMENT.plan, all_answers(grown=(-50.0, -7.0, 0.0))))[
        f"the grafted strategy beats {BASE}"] == "undecided"  # 6 against 7  # fmt: skip
    skipped = all_answers(steps=(16384, 65536), grown=(-13.0, 0.0))  # 6.5 of the 13 in the last of two doublings
    assert verdicts(small.gather(small.EXPERIMENT.plan, skipped))[f"the grafted strategy beats {BASE}"] == "undecided"
    skipped = all_answers(steps=(16384, 65536), grown=(-11.0, 0.0))
    assert verdicts(small.gather(small.EXPERIMENT.plan, skipped))[f"the grafted strategy beats {BASE}"] == "holds"


def test_seeds_that_are_not_complete_are_left_out(tmp_path):
    for seed, stage in enumerate(small.stages(False, "work", "cpu")):
        kept = Ledger(tmp_path / f"{stage.name}.json")
        for run, piece, _ in list(stage.steps())[: 6 if seed < 2 else 5]:
            kept.keep(run, piece, answers_of(*piece[:2]), 1.0)
    r = small.gather(replace(small.EXPERIMENT.plan, results=str(tmp_path)), {})
    assert r.seeds(BASE) == r.seeds(GRAFTED) == [0, 1] and {seed for *_, seed in r.pairs} == {0, 1}
    assert small.runs(replace(small.EXPERIMENT.plan, results=str(tmp_path))) == []
    assert verdicts(r).keys() == verdicts(small.gather(small.EXPERIMENT.plan, all_answers())).keys()
    with pytest.raises(ArtefactError, match="--stage graft-small-0"):
        small.gather(replace(small.EXPERIMENT.plan, results=str(tmp_path / "none")), {})


def test_steps_measure_exactly(tmp_path, monkeypatch):
    path = tmp_path / "small.game"
    path.write_text(next(iter(FOUR_ROUNDS.values())))
    monkeypatch.setattr(large, "TINY", f"poker(file={path})")
    monkeypatch.setattr(large, "TINY_LIMITS", (2_000, 5_060, 6_000, 4_000))
    holdem_course.forget_courses()
    assert stages.run_stage("graft-small-1", tmp_path / "out", tmp_path / "work", quick=True, tell=lambda text: None)
    r = small.gather(replace(small.EXPERIMENT.quick, results=str(tmp_path / "out")), {})
    assert r.seeds(*small.ORDER) == [1] and len(r.pairs) == 15
    setting = small.setting_of(True, str(tmp_path / "work" / "graft-small"))
    rules, last = holdem_course.rules_of(setting.game), {name: large.points(setting, name)[-1] for name in small.ORDER}
    played = {name: Profile.load(next((tmp_path / "work").glob(f"**/{name}-1-{last[name]}-*.profile")))
              for name in (LARGEST, GRAFTED)}  # fmt: skip
    won = sum(against(rules, played[GRAFTED], played[LARGEST])) / 2 * setting.unit
    assert r.pairs[GRAFTED, LARGEST, 1]["mean"] == pytest.approx(won, rel=1e-9, abs=1e-9) and won != 0
    exact = exploited(rules, played[GRAFTED]).mean() * setting.unit
    assert r.exploitability(GRAFTED, 1) == pytest.approx(exact, rel=1e-9)
    course = holdem_course.course(LARGEST, 1, setting)
    kept, look = course.kept(last[LARGEST]), large.points(setting, LARGEST)[0]
    assert course.looked(look, lambda: pytest.fail("it was looked at before"))["point"]["steps"] == look
    holdem_course.forget_kept(tmp_path / "work")
    assert kept is not None and course.kept(last[LARGEST]) is None
    assert course.looked(look, lambda: {"point": "anew"}) == {"point": "anew"}
    answers = results_in(tmp_path / "out")
    assert len(answers[f"{small.STRATEGY}{GRAFTED}"][0]["pairs"]) == 5 * len(large.TINY_POINTS)
    holdem_course.forget_courses()


def test_the_table_is_known_by_name():
    assert table_alone("waugh2009", "small") is small.EXPERIMENT
