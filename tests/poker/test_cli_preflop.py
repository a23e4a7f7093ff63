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
    grids = len(re.findall(r"^  [AKQJT2-9](?: +(?:\d+|\.)){13}$", text, re.MULTILINE)) / 13
    assert grids == len(re.findall("^How often SB plays", text, re.MULTILINE)) >= 2  # one for each action but fold
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
    (["--at", "bet 3"], "'bet 3' is not an action here"),
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
    locked = said(*THREE, "--lock", "check: check = 100%", "--at", "check")
    assert re.search(r"^check +100\.0%", locked, re.MULTILINE) and "counts other play where it is locked" in locked


@pytest.mark.parametrize(("words", "sentence"), [
    (["--donks", "50%"], "leave --donks out"),
    (["--near", "check: check = 100%"], "leave --near out"),
    (["--lock", "check: check = 100%; bet 7 = AA"], "lock: 'bet 7' is not an action here"),
    (["--at", "bet 7"], "'bet 7' is not an action here"),
    (["--stacks", "10,20"], "one for each of 3 players"),
])  # fmt: skip
def test_what_three_players_do_not_have(words, sentence):
    assert sentence in said(*THREE, *words, code=2)


TURN = ["poker", "spot", "--board", "Qs Jh 2h 5c", "--pot", "90", "--stacks", "60", "--ranges", "AA, T9s", "KK, AQs",
        "QQ, KJs", "--bets", "50%", "--raises", "none", "--iterations", "2000", "--threads", "1"]  # fmt: skip


def test_three_players_are_saved_and_later_streets_are_shown(tmp_path):
    saved, table = str(tmp_path / "three"), tmp_path / "river.csv"
    first = said(*TURN, "--rake", "5%", "--rake-cap", "4", "--save", saved)
    assert "Rake of 5% is taken off" in " ".join(first.split())
    assert first == said("poker", "spot", saved)
    line = "check, check, check, 5d"
    text = said("poker", "spot", saved, "--at", line, "--csv", str(table))
    assert "board Qs Jh 2h 5c 5d" in text and "All hands that come here are counted." in text
    assert re.search(r"would gain: OOP \d+\.\d\d, MID", " ".join(text.split()))
    assert {row["line"] for row in csv.DictReader(table.open())} == {line}
    data = json.loads(said("poker", "spot", saved, "--at", line, "--json"))
    assert data["rake"] == 0.05 and data["node"]["player"] == "OOP" and data["node"]["deals"] == 0
    assert "A card comes here" in said("poker", "spot", saved, "--at", "check, check, check")
    assert "leave --bets out" in said("poker", "spot", saved, "--bets", "50%", code=2)
    assert "cannot come on the board" in said("poker", "spot", saved, "--at", "check, check, check, Qs", code=2)
    assert "'Qs' cannot come" in said(*TURN, "--at", "check, check, check, Qs", code=2)
    assert "is a multiway, not a spot" in said(*(word for word in TURN if word != "QQ, KJs"), "--save", saved, code=2)


def test_a_file_may_have_three_ranges(tmp_path):
    file = tmp_path / "three.toml"
    file.write_text('board = "Qs Jh 2h 5c 5d"\npot = 90\nstacks = 60\nranges = ["AA, T9s", "KK, AQs", "QQ, KJs"]\n'
                    'bets = "50%"\nraises = "none"\nrake = 0.05\n')  # fmt: skip
    data = json.loads(said("poker", "spot", str(file), "--iterations", "500", "--threads", "1", "--json"))
    assert data["players"] == ["OOP", "MID", "IP"] and data["rake"] == 0.05
