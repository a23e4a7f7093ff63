"""The full game of Toepen in a run of seconds: the report has all its parts."""

from __future__ import annotations

import pytest

from kibitz.papers import PAPERS, plan_of, toepen
from kibitz.papers.common import Plan
from kibitz.report.paper import write


@pytest.fixture(scope="module")
def outcome():
    patch = pytest.MonkeyPatch()
    patch.setattr(toepen.Sizes, "of", classmethod(lambda cls, plan: cls(300, 40, 2, 1, 4, 1)))
    patch.setattr(toepen, "MEMORY", 40 << 20)
    patch.setattr(toepen, "STEPS", 3)
    patch.setattr(toepen, "OTHERS", ("naive", "advanced-history", "strength"))
    told = []
    try:
        yield toepen.recompute(Plan(starts=1, iterations=400), lambda what, done, of: told.append(what)), told
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
    assert len(search.rows) == 3 + len(toepen.BOUNDS)
    assert training.rows[0][1] == "400" and training.rows[1][1] == "40"
    assert {"training the blueprint", "training under other abstractions", "search, endgame by endgame"} <= set(told)


@pytest.mark.slow
def test_figures_are_those_of_the_sheets(outcome):
    found, _ = outcome
    main = found.figures["strategies"]["outlook"]
    mean, (low, high) = main["against"]["rule"]["mean"], main["against"]["rule"]["interval"]
    assert low < mean < high
    assert f"{mean:+.3f}" in found.sheets[0].rows[0][2]
    held = {claim.text.partition(":")[0]: claim.held[0] for claim in found.claims}
    assert held["the blueprint beats the rule of thumb"] == (low > 0)
    assert found.summary.startswith("The blueprint wins")


@pytest.mark.slow
def test_the_report_is_written(outcome, tmp_path):
    paths = write(outcome[0], tmp_path)
    assert {path.name for path in paths} == {"report.md", "report.html", "report.json", "crosstable.png"}
    assert "736,281,000 deals" in (tmp_path / "report.md").read_text()


def test_plans():
    assert "toepen" in PAPERS
    assert plan_of("toepen").iterations > 10 * plan_of("toepen", quick=True).iterations
