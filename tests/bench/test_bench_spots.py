"""The benchmark of spots: what the other program is asked, and what the page says."""

from __future__ import annotations

import json
import sys

import pytest

from kibitz.bench import bench_spots
from kibitz.bench.bench_spots import PEER, SPOTS, TWO, agree, spot_of, spots_markdown, theirs
from kibitz.core.errors import KibitzError

FAKE = """#!{python}
import json, os, sys
words = dict(word.split("=", 1) for word in sys.argv[1:])
weights = [float(x) for x in open(words["oop"]).read().split()]
print(json.dumps({{"seconds": 3.0, "iterations": 10, "exploitability": 0.004, "build_seconds": 0.5, "bytes": 4000,
                  "ev": weights.index(max(weights)), "words": words}}))
"""


@pytest.fixture
def fake(tmp_path):
    program = tmp_path / "fake"
    program.write_text(FAKE.format(python=sys.executable))
    program.chmod(0o755)
    return str(program)


def test_the_other_program_gets_weights_in_its_own_order(fake):
    of = SPOTS[2]._replace(ranges=("2c2d", "random"))
    answer = theirs(fake, of, 2, 10)
    assert answer["value"] == 0  # its first hand is the two lowest cards
    assert theirs(fake, of._replace(ranges=("AhAs", "random")), 2, 10)["value"] == 1325
    assert theirs(fake, of._replace(ranges=("2cAs", "random")), 2, 10)["value"] == 50
    assert answer["iteration"] == pytest.approx(0.3) and answer["seconds"] == pytest.approx(3.5)


def test_a_program_that_fails_is_named(tmp_path):
    program = tmp_path / "bad"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(KibitzError, match="KIBITZ_POSTFLOP_SOLVER"):
        theirs(str(program), SPOTS[2], 1, 1)


def test_there_are_ten_spots_of_all_streets_and_each_is_one():
    assert len(SPOTS) >= 10
    assert {spot_of(of).street for of in SPOTS} == {0, 1, 2}


def measured(seconds, iteration, value=30.0):
    return {"seconds": seconds, "iteration": iteration, "iterations": 50, "exploitability": 0.004, "bytes": 2_000_000,
            "built": 0.1, "value": value, "gap": 0.48}  # fmt: skip


def test_the_page_divides_the_times_and_compares_the_values():
    each = {TWO: measured(1.0, 0.01), PEER: measured(3.0, 0.05, 30.9)}
    row = {"spot": SPOTS[2]._asdict(), "measured": each}
    ratios = {"turn": {"together": [1.5, 1.8, 2.0], "apart": [1.6, 1.7, 1.9]},
              "flop": {"together": [1.6], "apart": [2.0]}}  # fmt: skip
    result = json.loads(json.dumps({"target": 0.005, "rows": [row], "threads": ratios}))
    text = "\n".join(spots_markdown(result))
    assert "| 1.000 (50 iterations) | 3.000 (50 iterations) | 3.00 | 10.00 | 50.00 | 5.00 |" in text
    assert "| yes |" in text and "Goal: 2 times; 1 of 1 spots reach it." in text
    assert "| turn | 1.80 (1.50 to 2.00) | 1.70 (1.60 to 1.90) |" in text and "Goal: 1.7; 1 of 2 spots" in text
    assert not agree(measured(1, 1), measured(1, 1, 31.0))
    del row["measured"][PEER]
    assert "| 1.000 (50 iterations) | - | - |" in "\n".join(spots_markdown({"target": 0.005, "rows": [row]}))


@pytest.mark.slow
def test_a_quick_run_measures_one_spot(tmp_path, monkeypatch, fake):
    monkeypatch.setenv("KIBITZ_POSTFLOP_SOLVER", fake)
    lines = []
    result = bench_spots.bench_spots(True, tmp_path / "spots.json", lines.append)
    assert len(result["rows"]) == len(result["threads"]) == 1 and len(lines) == 2
    assert all(ratio > 0.0 for each in result["threads"].values() for ratio in (*each["together"], *each["apart"]))
    assert result["rows"][0]["measured"][TWO]["exploitability"] <= 0.005
    assert json.loads((tmp_path / "spots.json").read_text()) == json.loads(json.dumps(result))
