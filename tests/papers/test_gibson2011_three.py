"""[Gibson & Szafron 2011, Table 2], three players."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kibitz.bench.paper import write
from kibitz.cli import app
from kibitz.papers import PaperPlan
from kibitz.papers import gibson2011_three as three
from kibitz.papers import gibson2011_three_page as page
from kibitz.papers.gibson2011_three import ALL, BASE, DYNAMIC, EACH, FILES, NAMES, NEW, OLD, ONTO, PAIRS, SEATS, SHARES


def test_time_and_sizes():
    setting = page.setting_of(PaperPlan(starts=1, hours=2.0))
    assert sum(SHARES.values()) == pytest.approx(1)
    counts = {EACH: 12, PAIRS: 12, ALL: 4, NEW: 4}
    assert sum(setting.spent(name) * counts.get(name, 1) for name in SHARES) == pytest.approx(setting.seconds)
    assert three.rows_of(BASE, setting).buckets == ("percentile([169, 4, 2, 2], forget=1)",)
    assert three.rows_of(OLD, setting).buckets == ("percentile([169, 16, 16, 16], recall=false)",)
    assert three.rows_of(ONTO[NEW], setting).buckets == ("potential([169, 900, 100, 14], recall=false)",)
    dynamic = three.rows_of(DYNAMIC, setting)
    assert dynamic.parts == ("f", "rf", "rrf", "rcf") and dynamic.buckets[0] == "percentile([169, 2, 2, 2], forget=1)"
    limits = [three.experts_limit(162_000_000, hours) for hours in (0.5, 1, 2, 2.5, 4, 16, 100)]
    assert limits == [500_000, 500_000, 1_000_000, 1_000_000, 2_000_000, 8_000_000, 64_000_000]
    assert len(three.TABLES_OF_THREE) == 35


def made_up(better):
    """Results in which `better` wins from all others."""

    def table(files):
        mean = [6.0 if file == FILES[better] else -3.0 for file in files]
        return {"files": list(files), "mean": mean, "error": [1.0] * 3, "seats": [[0.0] * 3] * 3, "hands": 60,
                "seconds": 1.0}  # fmt: skip

    facts = {"buckets": "some", "infosets": 10, "columns": 20, "bytes": 160, "iterations": 5, "decisions": 100,
             "seconds": 2.0}  # fmt: skip
    whole = [{"name": name, **facts} for name in (BASE, DYNAMIC, OLD, ONTO[NEW])]
    stitched = [{"name": name, "infosets": 10, "columns": 20, "buckets": "some"} for name in SEATS]
    experts = [
        {**facts, "name": name, "part": part, "seats": [0], "keeps": [0]} for name in SEATS for part in ("f", "rf")
    ]
    runs = {run.name: run for run in page.runs(PaperPlan(starts=1))}
    copies = [table(piece[0]) for piece in runs[page.COPIES].pieces]
    tables = [table(piece[0]) for piece in runs[page.TABLES].pieces]
    course = [table(piece[0]) for piece in runs[page.COURSE].pieces]
    bounds = [
        {"name": name, "mean": 100.0, "error": 5.0, "local": 50.0, "local_error": 9.0, "iterations": 7, "buckets": "b"}
        for name in (BASE, ALL)
    ]
    fineness = [
        {"iterations": piece[0], "base": piece[1], "buckets": piece[2], "infosets": 10, "mean": 1.0, "error": 2.0}
        for piece in runs[page.FINENESS].pieces
    ]
    return {page.STRATEGIES: whole, page.EXPERTS: experts, page.STITCHED: stitched, page.TABLES: tables,
            page.COPIES: copies, page.COURSE: course, page.BOUNDS: bounds, page.FINENESS: fineness}  # fmt: skip


@pytest.mark.parametrize("better", [ALL, BASE])
def test_claims_and_page(better, tmp_path):
    plan = PaperPlan(starts=1)
    results = page.gather(plan, made_up(better))
    assert results.earns(better)[0] == 6.0 and results.earns(DYNAMIC)[0] == -3.0
    held = {claim.text: all(claim.truths) for claim in page.claims(results)}
    for other in (BASE, DYNAMIC, EACH):
        assert held.get(f"{ALL} earns more than {other}") == (better == ALL)
    assert held[f"{ALL} wins money"] == held[f"{ALL} wins from two copies of {BASE}"] == (better == ALL)
    outcome = page.EXPERIMENT.outcome(plan, results, 0.0)
    written = {path.suffix for path in write(outcome, tmp_path)}
    assert {".md", ".html", ".json", ".png"} <= written
    text = (tmp_path / "report.md").read_text()
    assert ("it wins." in text) == (better == ALL) and ("it loses" in text) == (better == BASE)
    assert "| Base |" in text and all(name.replace("|", "\\|") in text for name in NAMES)


@pytest.mark.slow
def test_a_quick_look(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "TINY_HOURS", 0.002)
    monkeypatch.setattr(page, "TINY_DEALS", 50)
    words = ["paper", "gibson2011", "--table", "2", "--players", "3", "--quick", "--out", str(tmp_path), "--json"]
    for _ in range(2):  # the second time nothing is done again
        found = CliRunner().invoke(app, words)
        assert found.exit_code == 0, found.output
    figures = json.loads((tmp_path / "report.json").read_text())["figures"]
    assert len(figures["tables"]) == 35 and len(figures["experts"]) == 32
    for each in figures["tables"]:
        assert sum(each["mean"]) == pytest.approx(0, abs=1e-6)
    rows = {each["name"]: each["infosets"] for each in figures["strategies"].values() if "seconds" in each}
    assert max(rows.values()) <= page.TINY_LIMIT
