"""docs/results.md: a section for each architecture and number of cores, of which a run renews its own alone."""

from __future__ import annotations

import json
import os

import pytest

from kibitz.bench import bench_threads, results
from kibitz.bench.bench import bench
from kibitz.core.errors import KibitzError


def run_on(architecture, ratio=300.0, date="today", **more):
    row = {
        "figure": "cfr+", "game": "leduc", "ours": ratio, "peer": "OpenSpiel", "theirs": 1.0, "ratio": ratio,
        "goal": 200.0, "note": "", "solver": "fast", "verdict": "met",
    }  # fmt: skip
    machine = {"architecture": architecture, "cores": "2", "date": date}
    return {"machine": machine, "peers": {"OpenSpiel": "2"}, "rows": [row], **more}


def test_a_run_renews_its_own_section():
    held = {"aarch64, 2 cores": run_on("aarch64", 250.0), "x86_64, 2 cores": run_on("x86_64", 777.0)}
    found = results.joined(held, run_on("aarch64", 400.0), None)
    assert found["x86_64, 2 cores"] == held["x86_64, 2 cores"]
    assert found["aarch64, 2 cores"]["rows"][0]["ours"] == 400.0
    text = results.markdown(found)
    arm, other = text.index("## aarch64"), text.index("## x86_64")
    assert "400x" in text[arm:other] and "777x" in text[other:] and "250x" not in text


def test_one_figure_of_a_section_is_renewed():
    held = {"aarch64, 2 cores": run_on("aarch64", start={"first_use": 9.0, "later_use": 1.0, "help": 0.1})}
    now = run_on("aarch64", 500.0, date="tomorrow")
    found = results.joined(held, now, "cfr+")
    renewed = found["aarch64, 2 cores"]
    assert renewed["start"] and renewed["rows"][0]["ours"] == 500.0 and len(renewed["rows"]) == 1
    other = run_on("aarch64")
    other["machine"]["cores"] = "64"
    assert list(results.joined(held, other, "cfr+")) == ["aarch64, 2 cores", "aarch64, 64 cores"]
    other["machine"] |= {"cores": "2", "numba": "another"}
    with pytest.raises(KibitzError, match="another machine"):
        results.joined(held, other, "cfr+")


def test_files_of_before_and_damaged_ones(tmp_path):
    path = tmp_path / "results.json"
    assert results.read(path) == {}
    path.write_text(json.dumps(run_on("aarch64")))  # one machine was all there was
    assert list(results.read(path)) == ["aarch64, 2 cores"]
    results.write(path, results.joined(results.read(path), run_on("x86_64"), None))
    assert list(results.read(path)) == ["aarch64, 2 cores", "x86_64, 2 cores"]
    for wrong in ("{", "[1]", '{"machine": 3}'):
        path.write_text(wrong)
        with pytest.raises(KibitzError, match="has no results of kibitz bench"):
            results.read(path)


def test_goals_are_met_or_named():
    threads = [{"game": "g", "one": 1.0, "two": 1.7, "ratio": 1.7, "busy_one": 1.0, "busy_two": 0.9, "busy_ratio": 0.9}]
    poker = {"reached": {"0.01": [464, 20.0]}}
    lines = "\n".join(results.goals(run_on("aarch64", 150.0, threads=threads, poker=poker)))
    assert "1 of 4 met" in lines
    assert "| cfr+ on leduc, times OpenSpiel | 200x | 150x | not met |" in lines
    assert "| two threads on g | 1.6x | 1.70x | met |" in lines
    assert "| two threads on g under a competing CPU load | 0.95x | 0.90x | not met |" in lines
    assert "| Rhode Island to 0.01 chips | 15 s | 20.0 s | not met |" in lines
    assert "3 of 4 met" not in lines
    assert "| Rhode Island to 0.01 chips | 30 s | 20.0 s | met |" in "\n".join(
        results.goals(run_on("x86_64", poker=poker))
    )


def test_two_cores_are_two_and_given_back():
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    before = os.sched_getaffinity(0)
    with bench_threads.on_two_cores():
        assert len(os.sched_getaffinity(0)) == 2
    assert os.sched_getaffinity(0) == before


def test_the_bench_writes_sections(tmp_path, monkeypatch):
    monkeypatch.setattr("kibitz.bench.bench.start_figure", lambda: {"first_use": 9.0, "later_use": 1.0, "help": 0.1})
    page, data = tmp_path / "results.md", tmp_path / "results.json"
    data.write_text(json.dumps({"riscv": run_on("riscv", 321.0)}))
    bench(only="start", quick=True, out=data, markdown=page, say=lambda text: None)
    text = page.read_text()
    assert "## riscv" in text and "321x" in text and "### Start-up" in text and "9.0 s" in text
    assert set(json.loads(data.read_text())) > {"riscv, 2 cores"}


def test_the_page_has_neither_targets_nor_missing_libraries():
    row = run_on("aarch64")["rows"][0]
    missing = {**row, "peer": "LiteEFG", "theirs": None, "ratio": None, "note": "skipped: not installed"}
    slow = {**row, "peer": "Gambit", "theirs": None, "note": "> 60 s"}
    run = run_on("aarch64") | {"peers": {"OpenSpiel": "2", "LiteEFG": "not installed"}, "rows": [row, missing, slow]}
    text = results.markdown(results.joined({}, run, None))
    assert "not installed" not in text and "goal" not in text.lower() and "| met" not in text
    assert "Compared with: OpenSpiel 2." in text and "| > 60 s | > 300x |" in text
