"""kibitz poker preflop, and kibitz poker spot with three ranges."""

from __future__ import annotations

import csv
import json
import re

import pytest
from typer.testing import CliRunner

from kibitz.cli import app

PREFLOP = ["poker", "preflop", "--stacks", "12", "--postflop", "none", "--iterations", "64"]
THREE = ["poker", "spot", "--board", "Qs Jh 2h 5c 5d", "--pot", "90", "--stacks", "200,100,150", "--ranges",
         "AA, QJs, T9s", "KK, AQ", "QQ, KJs", "--bets", "50%", "--raises", "allin", "--iterations", "2000"]  # fmt: skip


def said(*words, code=0):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    return result.stdout if code == 0 else result.stderr


def test_grids_files_and_pictures(tmp_path):
    saved, table, picture = tmp_path / "a.preflop", tmp_path / "a.csv", tmp_path / "a.svg"
    text = said(*PREFLOP, "--save", str(saved), "--csv", str(table), "--out", str(picture))
    assert "SB 12, BB 12; blinds 0.5/1; no betting after the flop" in text and "All cards are counted" in text
    assert len(re.findall(r"^  [AKQJT2-9](?: +(?:\d+|\.)){13}$", text, re.MULTILINE)) == 39  # call, raise, all in
    assert picture.read_text().startswith("<?xml")
    rows = list(csv.DictReader(table.open()))
    first = [row for row in rows if row["line"] == "" and row["hand"] == "AA"]
    assert [row["action"] for row in first] == ["fold", "call", "raise 2.5", "allin 12"]
    assert sum(float(row["share"]) for row in first) == pytest.approx(1, abs=1e-4)
    assert float(first[0]["value"]) == pytest.approx(0, abs=1e-9)
    end = said("poker", "preflop", str(saved), "--at", "raise 2.5, call")
    ranges = re.search(r"--ranges '(.*)' '(.*)'", end)
    assert ranges is not None and "--pot 5 --stacks 9.5" in end
    river = said("poker", "spot", "--board", "Qs Jh 2h 5c 5d", "--pot", "5", "--stacks", "9.5", "--chip", "0.01",
                 "--ranges", ranges[1], ranges[2], "--bets", "50%", "--raises", "none",
                 "--iterations", "5")  # fmt: skip
    assert "OOP to act" in river  # the ranges go straight into a spot
    hands = said("poker", "preflop", str(saved), "--at", "raise 2.5", "--detail", "AA, 72o")
    assert re.search(r"^AA +0\.0% \(\+0\.000\)", hands, re.MULTILINE)
    data = json.loads(said("poker", "preflop", str(saved), "--at", "call", "--json"))
    assert data["sampled"] is None and data["node"]["player"] == "BB"
    assert sum(data["node"]["frequencies"].values()) == pytest.approx(1)


def test_sizes_are_estimated():
    assert "all cards are counted" in said(*PREFLOP, "--estimate")
    assert json.loads(said("poker", "preflop", "--stacks", "20", "--estimate", "--json"))["rows"] > 10_000


@pytest.mark.parametrize(("words", "sentence"), [
    (["--opens", "2.5"], "'2.5' has no unit"),
    (["--at", "bet 3"], "there is no 'bet 3' here"),
    (["--stacks", "20,y"], "'y' is not a number"),
])  # fmt: skip
def test_mistakes_are_pointed_at(words, sentence):
    text = said(*PREFLOP, *words, code=2)
    assert sentence in text and "^" in text


def test_what_is_missing_is_said(tmp_path):
    assert "give --stacks" in said("poker", "preflop", code=2)
    said(*PREFLOP, "--save", str(tmp_path / "a.preflop"))
    again = said("poker", "preflop", str(tmp_path / "a.preflop"), "--opens", "3bb", code=2)
    assert "is solved: leave --opens out" in again
    text = said("poker", "spot", "--board", "", "--ranges", "AA", "KK", "--pot", "10", "--stacks", "10", code=2)
    assert "kibitz poker preflop" in text


def test_three_ranges_are_three_players(tmp_path):
    table = tmp_path / "a.csv"
    text = said(*THREE, "--csv", str(table), "--detail", "AA")
    assert "MID has 18 hands and 100 behind" in " ".join(text.split())
    assert "CFR need not converge" in " ".join(text.split()) and "AsAh" in text
    rows = list(csv.DictReader(table.open()))
    assert {row["player"] for row in rows} == {"OOP", "MID", "IP"}
    data = json.loads(said(*THREE, "--at", "check, bet 45", "--json"))
    assert data["exact"] and data["node"]["player"] == "IP" and sum(data["values"]) == pytest.approx(90)
    assert "decisions of hands on boards" in said(*THREE, "--estimate")


@pytest.mark.parametrize(("words", "sentence"), [
    (["--rake", "5%"], "leave --rake out"),
    (["--lock", "check: check = 100%"], "leave --lock out"),
    (["--at", "bet 7"], "there is no 'bet 7' here"),
    (["--stacks", "10,20"], "one for each of 3 players"),
])  # fmt: skip
def test_what_three_players_do_not_have(words, sentence):
    assert sentence in said(*THREE, *words, code=2)
