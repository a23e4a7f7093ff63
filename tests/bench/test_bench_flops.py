"""The benchmark of subsets of flops: its figures are those of the errors of a report."""

from __future__ import annotations

import json

import pytest
from here_executor import Here

from kibitz.bench import flops as bench
from kibitz.core.executor import executing
from kibitz.poker.spots.flop_report import errors


def test_figures_and_verdicts(tmp_path, monkeypatch):
    kept = []
    measured = bench.measured
    monkeypatch.setattr(bench, "measured", lambda plan, tell: kept.append(measured(plan, tell)) or kept[-1])
    seen = []
    with executing(Here()):
        data = bench.bench_flops(True, tmp_path / "data.json", None, lambda what, done, of: seen.append((what, done)))
        again = errors(kept[0].report, bench.QUICK_SIZES[0])
    assert json.loads((tmp_path / "data.json").read_text()) == data
    figures = data["figures"]
    assert figures["flops"] == bench.QUICK_SAMPLE and seen[-1] == ("flops", bench.QUICK_SAMPLE)
    first = figures["errors"][str(bench.QUICK_SIZES[0])]
    assert [each["quantity"] for each in first] == [each.quantity for each in again]
    for each, other in zip(first, again, strict=True):
        assert each["error"] == pytest.approx(other.estimate - other.mean)
    report = kept[0].report
    ev = next(each for each in first if each["quantity"] == "EV OOP")
    assert ev["mean"] == pytest.approx(report.weights @ [result.values[0] for result in report.results])
    assert len(data["claims"]) == len(bench.JUDGED) * len(bench.QUICK_SIZES)


def test_the_real_question_is_about_real_flops():
    assert bench.QUESTION.get("deck", (13, 4)) == (13, 4) and bench.SIZES == (25, 49, 95)
    assert 5 * max(bench.SIZES) < bench.SAMPLE
