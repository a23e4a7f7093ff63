"""The command line on poker games that are solved without a tree."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import kibitz
from kibitz.cli import app
from kibitz.games.tree import tree_of

SMALL = "rhode_island(ranks=2, suits=2)"


def call(*arguments, code=0):
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == code, found.output
    return found.output


def test_solve_show_and_evaluate(tmp_path):
    place = str(tmp_path / "ri.profile")
    data = json.loads(call("solve", SMALL, "--solver", "dcfr+", "--until", "0.05", "--out", place, "--json"))
    assert data["nash_conv"] <= 0.05 and data["game"] == SMALL
    low, high = -data["best_response"][1], data["best_response"][0]
    assert low <= data["value"][0] <= high
    worth = json.loads(call("evaluate", place, "--json"))
    assert worth["nash_conv"] == pytest.approx(data["nash_conv"], abs=1e-12)
    shown = json.loads(call("show", place, "--infoset", "Ad Kc:cc/c", "--player", "1", "--json"))["strategy"]
    twin = json.loads(call("show", place, "--infoset", "Ac Kd:cc/c", "--player", "1", "--json"))["strategy"]
    assert len(shown) == 1 and shown == twin  # up to suit isomorphism
    assert "the game's value for player 0 lies" in call("solve", SMALL, "--solver", "dcfr+", "--iterations", "40")
    text = call("show", place, "--filter", ":cc/", "--top", "2")
    assert "more: --top 0 shows all" in text
    assert "is not a hand and board" in call("show", place, "--infoset", "2c:c", "--player", "1", code=2)


def test_info_counts_what_is_not_laid_out():
    data = json.loads(call("info", SMALL, "--json"))
    assert data["histories"] == tree_of(kibitz.game(SMALL)).histories
    whole = json.loads(call("info", "rhode_island", "--json"))
    assert whole["histories"] == 6_705_372_545 and whole["programme"][0] == 91_224_226
    assert whole["classes"] == [13, 325, 7_969] and whole["boards"] == [1, 13, 325]
    assert "6,705,372,545" in call("info", "rhode_island")


@pytest.mark.parametrize(
    ("game", "solver", "words"),
    [
        ("poker(file=holdem.limit.2p)", "cfr+", "sequences up to suit isomorphism"),
        ("poker(file=holdem.limit.3p)", "cfr+", "at least 50,231,740,903,344,000 histories"),
        ("poker(file=holdem.nolimit.2p)", "cfr+", "the limit is 2,000,000"),
        ("rhode_island", "mccfr", "at least 6,705,372,545 histories"),
        ("poker(file=whist)", "cfr+", "whist"),
    ],
)
def test_what_is_too_large_is_refused_at_once(game, solver, words):
    began = time.process_time()
    assert words in call("solve", game, "--solver", solver, code=2)
    assert time.process_time() - began < 20  # of this process alone, however busy the machine is


def test_a_wrong_file_is_told_by_its_line(tmp_path):
    file = tmp_path / "x.game"
    file.write_text("GAMEDEF\nlimit\nnumPlayers = two\nEND GAMEDEF\n")
    assert "x.game, line 3" in call("info", str(file), code=2)


def test_a_path_in_a_profile_is_opened_only_if_it_is_named(tmp_path):
    file, place = tmp_path / "small.game", str(tmp_path / "small.profile")
    text = (kibitz.poker.rules.acpc.FOLDER / "leduc.game").read_text()
    file.write_text(text)
    call("solve", str(file), "--solver", "cfr+", "--iterations", "10", "--out", place)
    assert "--game" in call("evaluate", place, code=2)
    assert "NashConv" in call("evaluate", place, "--game", str(file))


def test_an_interrupted_run_goes_on_to_the_same_bytes(tmp_path):
    place, out = tmp_path / "run.checkpoint", tmp_path / "out.profile"
    solve = [sys.executable, "-m", "kibitz.cli", "solve", "rhode_island(ranks=3, suits=2)", "--solver", "dcfr+"]
    child = subprocess.Popen([*solve, "--iterations", "1000000000", "--checkpoint", place, "--checkpoint-every", "0.2"],
                             stdout=subprocess.DEVNULL, env=os.environ)  # fmt: skip
    while not (place / "manifest.json").exists():
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    assert child.wait(600) == 130
    at = kibitz.solvers.checkpoints.checkpoint_meta(place)["iteration"]
    assert at > 0
    call("solve", "--resume", str(place), "--iterations", str(at + 25), "--out", str(out))
    whole = kibitz.solve("rhode_island(ranks=3, suits=2)", "dcfr+", iterations=at + 25)
    assert kibitz.Profile.load(out).sha256 == whole.sha256


def test_shrink_and_solve_within_classes(tmp_path):
    data = json.loads(call("abstract", "poker(file=leduc)", "gameshrink", "--json"))
    assert data["buckets"] == [3, 9] and data["lossless"] and data["programme"]["shrunk"] < data["programme"]["whole"]
    lossy = json.loads(call("abstract", "poker(file=leduc)", "gameshrink(reading=win-count)", "--json"))
    assert lossy["buckets"] == [3, 7] and not lossy["lossless"]
    assert "lossless        yes" in call("abstract", "poker(file=leduc)", "gameshrink")
    thresholds = "gameshrink(reading=win-count, threshold=[0, 1])"
    assert "lossless        no" in call("abstract", "poker(file=leduc)", thresholds)
    kuhn = call("abstract", "poker(file=kuhn)", "gameshrink(reading=win-count)")
    assert "lossless        yes" in kuhn  # here it is strict
    assert "not poker by a definition" in call("abstract", "liars_dice(dice_sides=2)", "gameshrink", code=2)
    assert "whole number" in call("abstract", "poker(file=leduc)", "gameshrink(threshold=much)", code=2)
    assert "strict or win-count" in call("abstract", "poker(file=leduc)", "gameshrink(reading=loose)", code=2)
    solve = ("solve", "poker(file=leduc)", "--solver", "dcfr+", "--iterations", "2000", "--json", "--abstraction")
    strict = json.loads(call(*solve, "gameshrink"))
    assert strict["nash_conv"] == pytest.approx(strict["abstract_nash_conv"], abs=1e-9) and strict["nash_conv"] < 1e-3
    found = json.loads(call(*solve, "gameshrink(reading=win-count)", "--out", str(tmp_path / "x.profile")))
    assert found["abstract_nash_conv"] < 1e-3 and found["nash_conv"] > 0.7
    assert json.loads(call("evaluate", str(tmp_path / "x.profile"), "--json"))["nash_conv"] == found["nash_conv"]
    assert "NashConv in the game" in call(*solve[:-2], "--abstraction", "gameshrink")
    assert "jumble" in call(*solve, "jumble", code=2)
    named = json.loads(call(*solve, "suits"))  # an abstraction of the tree
    assert named["abstraction"] == "suits" and named["nash_conv"] < 1e-2


def test_an_abstraction_of_a_tree_by_name():
    solve = ("solve", "leduc", "--solver", "cfr+", "--iterations", "200")
    data = json.loads(call(*solve, "--abstraction", "JQ.K", "--json"))
    assert data["abstraction"] == "JQ.K" and data["nash_conv"] > data["abstract_nash_conv"]
