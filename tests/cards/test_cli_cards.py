"""kibitz poker cards: what it prints of hands, how it makes tables, and that a mistake is a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_strength_tables import counting

from kibitz import cards
from kibitz.cards import recipes, tables
from kibitz.cli import app

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run the command in this process, with an empty cache: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path / "cache"))

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app(["poker", "cards", *arguments], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return run


def good(call: Call, *arguments: str) -> str:
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    return out


def bad(call: Call, *arguments: str) -> str:
    code, out, err = call(*arguments)
    assert code == 2 and out == "" and err.startswith("error: "), err
    _, *pointed = err.rstrip("\n").split("\n")  # a sentence; or one, a text, and carets below it
    assert not pointed or (len(pointed) == 2 and set(pointed[1].strip()) == {"^"}), err
    return err


@pytest.mark.parametrize("name", ["build", "show", "equity", "info"])
def test_each_command_teaches_by_example(call, name):
    assert f"kibitz poker cards {name}" in good(call, name, "--help").partition("Example")[2]
    assert f"kibitz poker cards {name}" in good(call, "--help") or name == "info"


def test_show_on_a_board(call):
    data = json.loads(good(call, "show", "Ah Kd", "--board", "Qs 7c 2d", "--json"))
    found, count = cards.strength("Ah Kd", "Qs 7c 2d"), cards.counts("Ah Kd", "Qs 7c 2d")
    assert (data["hs"], data["ehs"], data["ehs2"]) == tuple(map(float, found))
    assert (data["wins"], data["ties"], data["losses"]) == tuple(map(int, count))
    assert data["histogram"] == cards.histogram("Ah Kd", "Qs 7c 2d").tolist() and data["boards"] == 1081
    assert data["category"] == "high card"
    out = good(call, "show", "AhKd", "--board", "Qs7c2d")
    assert f"{data['ehs']:.6f}" in out and "589,791" in out and "HS on the river" in out
    rows = [line for line in out.splitlines() if " to " in line]
    assert len(rows) == 10 and rows[3].startswith("  0.30 to 0.40   40.0%")
    assert not os.path.exists("cache/cards"), "a single hand needs no table"


def test_show_on_the_river(call):
    out = good(call, "show", "Ah Kh", "--board", "Qh Jh Th 2c 2d")
    assert "straight flush" in out and "1.000000" in out and "HS on the river" not in out
    assert json.loads(good(call, "show", "Ah Kh", "--board", "Qh Jh Th 2c 2d", "--json"))["losses"] == 0


@pytest.mark.slow
def test_show_before_the_flop(call):
    data = json.loads(good(call, "show", "Ah Ad", "--json"))
    assert data["hs"] is None and round(data["ehs"], 6) == 0.852037 and data["category"] is None
    assert sum(data["histogram"]) == data["boards"] == 2_118_760
    assert data["wins"] + data["ties"] + data["losses"] == 990 * 2_118_760
    ends, steps = np.array(data["histogram"]), np.arange(50) / 50
    assert (steps * ends).sum() < data["ehs"] * data["boards"] < ((steps + 0.02) * ends).sum()
    out = good(call, "show", "AdAh")
    assert "0.852037" in out and "\nboard" not in out
    state = {row["table"]: row["state"] for row in json.loads(good(call, "info", "--json"))["tables"]}
    assert state["preflop"] == state["preflop-histogram-50"] == "made" and state["river"] == "missing"


def test_equity(call):
    data = json.loads(good(call, "equity", "AhKd", "QsQc", "--board", "Qd 7c 2d", "--json"))
    found = cards.equity("Ah Kd", "Qs Qc", "Qd 7c 2d")
    assert (data["wins"], data["ties"], data["losses"], data["equity"]) == (*found, found.equity)
    out = good(call, "equity", "Ah Kd", "Qs Qc", "--board", "Qd7c2d")
    assert f"{found.equity:.6f}" in out and "all of 990 showdowns" in out
    some = good(call, "equity", "AhKd", "QsQc", "--samples", "1000", "--seed", "3")
    assert "a sample of 1,000 showdowns" in some


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_equity_of_ranges_fits_the_page(call, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    given = "AhKh", "TT+,AQs+:0.5,KTs-K7s,22-66", "random", "--board", "Qs 7c 2d 3h"
    some = good(call, "equity", *given, "--samples", "1000")
    data = json.loads(good(call, "equity", *given, "--samples", "1000", "--json"))
    assert max(map(len, some.splitlines())) <= columns and "standard error" in " ".join(some.split())
    assert all(f"{seat['equity']:.6f}  {seat['error']:.6f}" in some for seat in data["seats"])
    assert data["samples"] == 1000 and not data["exact"] and "hand" not in data
    assert "error" not in good(call, "equity", *given)


def test_equity_against_all_hands_of_a_kind(call):
    one = json.loads(good(call, "equity", "AhKd", "QQ", "--board", "Qs 7c 2d", "--json"))
    other = json.loads(good(call, "equity", "QQ", "AhKd", "--board", "Qs 7c 2d", "--json"))
    queens = [["Qc", "Qd"], ["Qc", "Qh"], ["Qd", "Qh"]]
    hands = [[cards.card(text) for text in pair] for pair in queens]
    assert (one["wins"], one["ties"], one["losses"]) == tuple(cards.equity("Ah Kd", hands, "Qs 7c 2d"))
    assert (other["wins"], other["losses"]) == (one["losses"], one["wins"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "Ah Xd"), "'Xd' is not a card"),
        (("show", "Ah Kd", "--board", "Qs 7c"), "so 4 cards together are not possible"),
        (("show", "Ah Kd", "--board", "Qs 7c Kd"), "there is the card Kd twice: Ah Kd Qs 7c Kd"),
        (("show", "Ah Ah"), "there is the card Ah twice"),
        (("show", "Ah Kd", "--board", "Qs 7c 2d", "--bins", "0"), "--bins 0 should be"),
        (("equity", "AhKd", "QsAh"), "the card Ah is in the hand of seat 1 and in the hand of seat 2"),
        (("equity", "AhKd", "QQ", "--board", "Ah 7c 2d"), "the card Ah is on the board and in the hand of seat 1"),
        (("equity", "AhKd", "QQ", "--board", "7c 7c 2d"), "the card 7c appears twice on the board"),
        (("equity", "AKx", "AhKd"), "'AKx' is not a hand or range: write one such as AA, AKs"),
        (("equity", "AhKd", "1Ks"), "'1' in '1Ks' is not a rank: ranks are 2 to 9, T"),
        (("equity", "Ah", "Kd"), "a hand has two cards, and 'Ah' has 1"),
        (("equity", "AhKd"), "two or more players"),
        (("equity", "QQ", "QsQc", "--board", "Qd 7c 2d"), "seat 1 has no hand left: each of 'QQ' holds one of"),
        (("equity", *["AA"] * 3), "cannot all hold a hand of their range at once"),
        (("equity", *["AA,KK"] * 5), "cannot all hold a hand of their range at once"),
        (("equity", *["random"] * 24), "24 seats and a board of 5 need 53 cards"),
        (("equity", *["random"] * 3, "--exact"), "too many to count exactly"),
        (("equity", "AA", "KK", "--exact", "--samples", "9"), "give one of the two"),
        (("equity", "AhKd", "QsQc", "--samples", "0"), "--samples 0 should be"),
        (("build", "--only", "flush"), "there is no table 'flush': choose one of preflop, classes, flop"),
        (("build", "--threads", "0"), "--threads 0 should be 1 or more"),
    ],
)
def test_mistakes_are_sentences(call, arguments, words):
    assert words in bad(call, *arguments)


def test_build_and_info(call, monkeypatch):
    monkeypatch.setitem(recipes._RECIPES, "counting", counting)
    data = json.loads(good(call, "build", "--only", "counting", "--json"))
    assert [(row["table"], row["made"]) for row in data["tables"]] == [("counting", True)]
    assert data["home"] == str(tables.home()) and tables.whole(counting()) is not None
    assert good(call, "build", "--only", "counting").split()[-3:] == ["was", "there", "already"]
    assert " made in " in good(call, "build", "--only", "counting", "--anew")
    shown = good(call, "info")
    assert "made, sha256 right" in shown and "not made" in shown and "123 MB" not in shown and "246 MB" in shown
    file = next((tables.home() / "counting").glob("each-*.bin"))
    file.write_bytes(bytes(file.stat().st_size))
    assert "damaged: will be made anew" in good(call, "info")
    assert " made in " in good(call, "build", "--only", "counting")
    assert "damaged" not in good(call, "info")


def test_ctrl_c_keeps_what_is_done(tmp_path):
    """The real command on a real table; it is stopped once some pieces are done."""
    code = f"""
import os, signal, sys
import kibitz.core.jit
os.environ["KIBITZ_CACHE"] = {str(tmp_path)!r}
from kibitz.cards import tables
from kibitz.cli import app
wave = tables._wave
def stopping(recipe, piece, done, *rest):
    def counted(k):
        piece(k)
        if k == 3:
            os.kill(os.getpid(), signal.SIGINT)
    return wave(recipe, counted, done, *rest)
tables._wave = stopping
app(["poker", "cards", "build", "--only", "preflop", "--threads", "2"], prog_name="kibitz")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.returncode == 130, run.stderr
    assert run.stderr.strip() == "stopped; what is done is kept: the same command continues"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KIBITZ_CACHE", str(tmp_path))
        made = recipes.recipe("preflop")
        assert tables.state(made) == "part"
        done = tables._begun(made)[1]
        assert 3 < done.sum() < made.pieces
        assert tables.build(made, tell=lambda *told: None)
        table = tables.opened(made)
        assert int((2 * table["wins"] + table["ties"]).sum()) == 1326 * 990 * 2_118_760
