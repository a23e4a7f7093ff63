"""Automatic stitching of three players: the stage on a small game from end to end, and verdicts from its figures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bucketed import THREE_PLAYERS

from kibitz.core.errors import ArtefactError
from kibitz.papers import PaperPlan, ledger, stages
from kibitz.papers import auto_stitching_three as three
from kibitz.papers import auto_stitching_three_page as paper
from kibitz.papers.auto_stitching_three import ALL, AUTO, BASE, EACH, LONGER
from kibitz.poker.blueprints.placed_rows import layout_of

SMALL = THREE_PLAYERS.format(raises=3, suits=2, ranks=4)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    (tmp_path / "small.game").write_text(SMALL)
    monkeypatch.setattr(three, "TINY", f"poker(file={tmp_path / 'small.game'})")
    monkeypatch.setattr(three, "TINY_LIMIT", 6_000)
    return tmp_path


def test_tables_of_the_plan():
    setting = three.large_setting(False, "work", "gpu", 1)
    runs = three.runs_of(setting)
    tables = [tuple(piece[0]) for run in runs if run.name.startswith(three.TABLE) for piece in run.pieces]
    four = [{BASE, ALL, EACH, AUTO}, {BASE, ALL, EACH, LONGER}]
    assert all(sum(set(each) <= names for each in tables) == 4 for names in four)
    assert len(tables) == len(set(tables)) == 7
    numbers = [piece[1] for run in runs if run.work is three.won for piece in run.pieces]
    assert sorted(numbers) == list(range(13))
    last = next(k for k, run in enumerate(runs) if run.name.endswith(f"with {EACH}"))
    assert not any(EACH in piece[0] for run in runs[:last] if run.work is three.won for piece in run.pieces)
    assert setting.solving(45_000, 0).seconds == 45.0
    assert three.small_setting(False, "", 0).solving(7, 0).iterations == 7
    assert 500 < next(three.stages(False, "work", "gpu")).expected < 900


def test_a_stage_from_end_to_end(tiny):
    out, how = tiny / "out", {"quick": True, "tell": lambda text: None}
    assert not stages.run_stage("auto-three-0", out, tiny / "work", seconds=0.05, **how)
    some = len(ledger.entries_of(out / "auto-three-0.json"))
    assert 0 < some < 32
    assert stages.run_stage("auto-three-0", out, tiny / "work", **how)
    entries = ledger.entries_of(out / "auto-three-0.json")
    assert len(entries) == 1 + 4 + 12 + 2 + 1 + 1 + 7 + 6
    search = next(entry["answer"] for entry in entries if entry["run"] == three.SEARCHED)
    assert search["search"]["judge"] == "matches" and search["pilots"] == 100
    setting = three.large_setting(True, str(tiny / "work"), "cpu", 0)
    for name in (AUTO, LONGER):
        rows = layout_of(three.played(name, setting)).rows
        assert [[part, inside] for part, inside in zip(rows.parts, rows.buckets[1:], strict=True)] == search["moves"]
    assert json.dumps(entries)
    report = paper.PART.recompute(replace(paper.QUICK, starts=3, results=str(out)))
    assert report.plan.starts == 1 and report.data()["seeds"] == [0]  # as many as there are
    assert len(report.claims) == paper.CLAIMS and "0.3 s of training" in report.about
    assert not any("eight times" in sheet.title for sheet in report.sheets) and json.dumps(report.data())
    again = ledger.Ledger(out / "auto-three-0-again.json")  # what was measured twice counts once
    again.entries = entries
    again.write()
    assert paper.PART.recompute(replace(paper.QUICK, results=str(out))).claims == report.claims
    for missing in (three.TRAINED, three.COPIES, three.SEARCHED):
        part = ledger.Ledger(tiny / missing / "part.json")
        part.entries = [entry for entry in entries if entry["run"] != missing]
        (tiny / missing).mkdir()
        part.write()
        with pytest.raises(ArtefactError, match="auto-three-0"):
            paper.PART.recompute(replace(paper.QUICK, results=str(tiny / missing)))


def test_a_page_from_end_to_end(tiny):
    plan = replace(paper.QUICK, folder=str(tiny / "work"))
    report = paper.PART.recompute(plan)
    assert len(report.claims) == paper.CLAIMS + paper.LONG_CLAIMS and {claim.n for claim in report.claims} == {1}
    short, long = report.figures["seeds"]
    assert len(short["tables"]) == 7 and len(long["tables"]) == 2 and len(long["copies"]) == 5
    assert (short["training"], long["training"]) == ("6,000 iterations", "48,000 iterations")
    assert len(report.pictures) == 1
    assert json.dumps(report.data())


def results(auto, base=0.0, seed=0, error=1.0):
    """Made-up figures: at a table each strategy wins by how much its worth is above that of the others."""
    value = {BASE: base, ALL: 0.0, EACH: -5.0, AUTO: auto, LONGER: auto}

    def table(names):
        mean = sum(value[name] for name in names) / 3
        return {"names": list(names), "mean": [value[name] - mean for name in names], "error": [error] * 3}

    setting = three.small_setting(True, "", seed)
    runs = three.runs_of(setting)
    every = {tuple(piece[0]): table(piece[0]) for run in runs if run.work is three.won for piece in run.pieces}
    tables = {names: each for names, each in every.items() if len(set(names)) == 3}
    search = {"predicted": 10.0, "unit": 100.0}
    return paper.SeedResults(setting, {}, [], search, tables, {n: e for n, e in every.items() if n not in tables})


@pytest.mark.parametrize(("auto", "error", "verdict"), [(20.0, 1.0, "holds"), (-20.0, 1.0, "fails"),
                                                        (20.0, 30.0, "undecided")])  # fmt: skip
def test_verdicts(auto, error, verdict):
    every = [results(auto, seed=k, error=error) for k in range(3)]
    claims = {claim.text: claim for claim in paper.claims((every, every[:2]))}
    assert len(claims) == paper.CLAIMS + paper.LONG_CLAIMS
    assert claims[f"with eight times the training: {AUTO} earns more than {ALL}"].verdict == verdict
    assert claims[f"with eight times the training: {LONGER} wins from two copies of {ALL}"].n == 2
    for name in (AUTO, LONGER):
        assert claims[f"{name} earns more than {ALL}"].verdict == verdict
        assert claims[f"{name} wins from two copies of {ALL}"].verdict == verdict
    assert claims[f"{AUTO} earns more than {ALL}"].n == 3


def test_earnings_are_those_of_the_four():
    one = results(12.0)
    others = (BASE, ALL, EACH)
    mean, error = one.earns(AUTO)
    exact = [12.0 - (12.0 + sum(pair)) / 3 for pair in ((0.0, 0.0), (0.0, -5.0), (0.0, -5.0))]
    assert mean == pytest.approx(sum(exact) / 3) and error == pytest.approx(3**0.5 / 3)
    assert sum(one.earns(name)[0] for name in (*others, AUTO)) == pytest.approx(0.0)
    assert PaperPlan(starts=3).seeds == range(3)
