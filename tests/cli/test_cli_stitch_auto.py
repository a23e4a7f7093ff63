"""kibitz stitch auto: plans, results, pictures, folders and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Call, bad, data, good

import kibitz

QUICK = ("--iterations", "20", "--pilot", "5", "--cuts", "4", "--rounds", "1", "--inside", "null")
LEDUC = "leduc(suit_isomorphism=true)"


def test_a_plan_is_shown_and_nothing_is_trained(call: Call) -> None:
    out = good(call, "stitch", "auto", LEDUC, "--base", "JQ.K", "--max-infosets", "154", *QUICK, "--plan")
    assert "Predicted gain in exploitability" in out and "NashConv lost" in out and "Nothing was trained" in out


def test_a_search_saves_its_strategy_and_goes_on_from_its_folder(call: Call) -> None:
    line = ("stitch", "auto", LEDUC, "--base", "JQ.K", "--memory", "24KB", *QUICK, "--work", "kept")
    found = data(call, *line, "--out", "auto.profile")
    result = found["result"]
    assert result["loss"] < result["base_loss"] and found["plan"]["predicted"] > 0.0
    assert kibitz.exploitability(LEDUC, kibitz.Profile.load("auto.profile")) == pytest.approx(result["loss"])
    assert found["plan"]["memory"] <= 24_000 and list(Path("kept").iterdir())
    again = data(call, *line)
    assert again["result"]["sha256"] == result["sha256"] and again["out"] is None
    assert "exploitability" in good(call, *line)


def test_matches_judge(call: Call) -> None:
    line = ("stitch", "auto", LEDUC, "--base", "JQ.K", "--max-infosets", "154", *QUICK, "--judge", "matches")
    found = data(call, *line, "--deals", "2000")
    won = found["result"]["reported"]
    assert found["result"]["unit"] == "winnings per hand" and found["result"]["loss"] is None
    assert won["interval"][0] < won["mean"] < won["interval"][1] and found["result"]["tries"] > 0
    assert "choose exact or matches" in bad(call, *line[:-1], "luck")
    assert "leave it out" in bad(call, *line[:-2], "--deals", "5")
    assert "--deals 1 must be 2 or more" in bad(call, *line, "--deals", "1")


def test_experts_in_buckets(call: Call) -> None:
    rhode = "rhode_island(ranks=3)"
    good(call, "solve", rhode, "--abstraction", "percentile(2)", "--solver", "dcfr+", "--iterations", "20", "--out",
         "base.profile")  # fmt: skip
    line = ("stitch", "auto", rhode, "--base", "base.profile", "--solver", "dcfr+", "--iterations", "10", "--pilot",
            "3", "--cuts", "2", "--rounds", "1", "--seats", "all")  # fmt: skip
    found = data(call, *line, "--plot", "plan.png")
    assert found["effort"]["insides"][0] == "percentile(3)" and Path("plan.png").stat().st_size > 10_000
    assert found["result"]["loss"] < found["result"]["base_loss"]
    assert all("percentile(" in move["name"] for move in found["plan"]["moves"])


def test_holdem_in_buckets(call: Call) -> None:
    small = "poker(file=holdem.limit.2p, ranks=4, suits=3)"
    good(call, "solve", small, "--abstraction", "percentile(2)", "--solver", "dcfr+", "--iterations", "5", "--out",
         "base.profile")  # fmt: skip
    line = ("stitch", "auto", small, "--base", "base.profile", "--inside", "percentile(2); percentile(3)", "--cuts",
            "1", "--max-infosets", "80k", "--seats", "all", "--iterations", "4", "--pilot", "1", "--flops", "24",
            "--solver")  # fmt: skip
    found = data(call, *line, "dcfr+", "--plan")
    (tried,) = found["plan"]["tried"]  # the finest list that fits the part
    assert found["effort"]["flops"] == 24 and tried["infosets"] <= 80_000 and found["plan"]["parts"][0]["loss"] > 0.0
    assert "give --solver dcfr+ or dcfr" in bad(call, *line, "cfr+", "--plan")
    assert "--flops 0" in bad(call, *line, "dcfr+", "--plan", "--flops", "0")
    assert "--device" in bad(call, "stitch", "auto", "kuhn", "--base", "JQ.K", "--device", "gpu")
    assert "--flops is for" in bad(call, "stitch", "auto", "kuhn", "--base", "JQ.K", "--flops", "8")


def test_plans_are_drawn(call: Call) -> None:
    good(call, "stitch", "auto", LEDUC, "--base", "JQ.K", *QUICK, "--plan", "--plot", "plan.png")
    assert Path("plan.png").stat().st_size > 10_000
    good(call, "stitch", "auto", "goofspiel(num_cards=3)", "--base", "null", *QUICK, "--plan", "--plot", "bars.svg")
    assert "NashConv lost" in Path("bars.svg").read_text() or Path("bars.svg").stat().st_size > 1000


def test_errors_speak_of_options(call: Call) -> None:
    start = ("stitch", "auto", "kuhn", "--base", "JQ.K")
    assert "--seats ['some']: choose among all, each and pairs" in bad(call, *start, "--seats", "some")
    assert "--memory 'much' should be a number with its unit" in bad(call, *start, "--memory", "much")
    assert "--plot x.doc should end in" in bad(call, *start, "--plot", "x.doc")
    assert "unknown abstraction" in bad(call, "stitch", "auto", "kuhn", "--base", "Z")
    good(call, "stitch", "kuhn", "--base", "JQ.K", "--partition", "prefix(b)", "--iterations", "5")  # as it was
