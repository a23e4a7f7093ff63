"""The full game of Toepen in a run of seconds: the report has all its parts."""

from __future__ import annotations

import json

import pytest

from kibitz.bench import toepen_full, toepen_play
from kibitz.bench.bench import bench
from kibitz.bench.paper import write
from kibitz.cli import app
from kibitz.papers import PaperPlan


@pytest.fixture(scope="module")
def outcome():
    patch = pytest.MonkeyPatch()
    patch.setattr(toepen_play.MatchSizes, "of", classmethod(lambda cls, plan: cls(300, 40, 2, 1, 4, 1)))
    patch.setattr(toepen_play, "MEMORY", 40 << 20)
    patch.setattr(toepen_play, "STEPS", 3)
    patch.setattr(toepen_play, "OTHERS", ("naive", "advanced-history", "strength"))
    told = []
    try:
        plan = PaperPlan(starts=1, iterations=400)
        yield toepen_full.full_toepen(plan, lambda what, done, of: told.append(what)), told
    finally:
        patch.undo()


@pytest.mark.slow
def test_every_strategy_has_a_row(outcome):
    found, told = outcome
    strategies, training, search = found.sheets
    assert [row[0] for row in strategies.rows] == [
        "outlook: the blueprint", "naive", "advanced-history", "strength", "rule of thumb",
    ]  # fmt: skip
    assert [row[0] for row in training.rows] == ["outlook", "naive", "advanced-history", "strength"]
    assert len(search.rows) == 3 + len(toepen_play.BOUNDS)
    assert training.rows[0][1] == "400" and training.rows[1][1] == "40"
    assert {"training the blueprint", "training under other abstractions", "search, endgame by endgame"} <= set(told)


@pytest.mark.slow
def test_figures_are_those_of_the_sheets(outcome):
    found, _ = outcome
    main = found.figures["strategies"]["outlook"]
    mean, (low, high) = main["against"]["rule"]["mean"], main["against"]["rule"]["interval"]
    assert low < mean < high
    assert f"{mean:+.3f}" in found.sheets[0].rows[0][2]
    held = {claim.text.partition(":")[0]: claim.truths[0] for claim in found.claims}
    assert (held["the blueprint beats the rule of thumb"] is True) == (low > 0)
    assert found.summary.startswith("The blueprint wins")


@pytest.mark.slow
def test_the_report_is_written(outcome, tmp_path):
    paths = write(outcome[0], tmp_path)
    assert {path.name for path in paths} == {"report.md", "report.html", "report.json", "crosstable.png"}
    assert "736,281,000 deals" in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_the_benchmark_writes_its_page(outcome, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(toepen_full, "full_toepen", lambda plan, told: asked.append(plan) or outcome[0])
    page = tmp_path / "full.md"
    bench(only="toepen-full", quick=True, json_path=tmp_path / "full.json", markdown_path=page, say=lambda line: None)
    assert asked == [toepen_full.QUICK]
    assert "(full/toepen-crosstable.png)" in page.read_text() and (tmp_path / "full/toepen-crosstable.png").exists()
    assert json.loads((tmp_path / "full.json").read_text())["figures"]["unit"] == "points a hand"


def test_it_is_a_benchmark_and_not_a_paper(capsys):
    with pytest.raises(SystemExit) as end:
        app(["paper", "toepen"], prog_name="kibitz")
    assert end.value.code == 2 and "kibitz bench --only toepen-full" in " ".join(capsys.readouterr().err.split())
    assert toepen_full.PLAN.iterations > 10 * toepen_full.QUICK.iterations
