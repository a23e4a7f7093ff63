"""Spots as they are written, and solved spots on disk."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import kibitz
from kibitz.cards.ranges import parse_range
from kibitz.core.errors import ArtefactError, GameError
from kibitz.poker.spots.reading import read_spot, spot, written
from kibitz.poker.spots.saved import load_spot, save_spot
from kibitz.poker.spots.sizes import text_of_sizes
from kibitz.poker.spots.solving import solve_spot
from kibitz.poker.spots.spot import betting_of
from kibitz.poker.spots.tables import class_rows, csv_lines, hand_rows, node_data, solution_data
from tests.poker.test_spots import small

BASE = {"board": "Qs Jh 2h", "ranges": ["22+, A2s+", "TT+, AKs:0.5"], "pot": 100, "stacks": 400}
TOML = """
board = "Qs Jh 2h"
ranges = ["22+, A2s+", "TT+, AKs:0.5"]
pot = 100
stacks = [400, 500]
raises = "2.5x; river: allin"
rake = "5%"
rake_cap = 3
max_raises = [2, 3, 4]

[bets]
OOP = "20%"
turn = "33%, 75%"
river = { IP = "e" }
"""


def sizes(question, street, seat):
    return text_of_sizes(question.sizes[street][seat].bets), text_of_sizes(question.sizes[street][seat].raises)


def test_sizes_by_street_and_player():
    question = spot(**BASE, bets="33%, 75%; river: allin; turn IP: 50%; IP: none", raises="3x")
    assert sizes(question, 0, 0) == ("33%, 75%", "3x")
    assert sizes(question, 2, 0) == ("allin", "3x")
    assert sizes(question, 1, 1) == ("none", "3x")
    question = spot(**BASE, bets="33%; IP: none; turn ip: 50%;", donks="10%; river: 25%")
    assert sizes(question, 1, 1)[0] == "50%"
    donks = [question.sizes[k][0].donks for k in range(3)]
    assert donks[0] is None and [text_of_sizes(each) for each in donks[1:]] == ["10%", "25%"]


def test_a_toml_file_and_a_json_file(tmp_path):
    (tmp_path / "a.toml").write_text(TOML)
    question = read_spot(tmp_path / "a.toml")
    assert sizes(question, 0, 0) == ("20%", "2.5x") and sizes(question, 0, 1) == ("none", "2.5x")
    assert sizes(question, 1, 1) == ("33%, 75%", "2.5x") and sizes(question, 2, 1) == ("e", "allin")
    assert (question.rake, question.rake_cap, question.max_raises) == (0.05, 3.0, (2, 3, 4))
    assert question.stacks == (400.0, 500.0)
    assert np.array_equal(question.ranges[1], parse_range("TT+, AKs:0.5").weights)
    (tmp_path / "b.json").write_text(json.dumps(written(question)))
    again = read_spot(tmp_path / "b.json")
    assert again.sizes == question.sizes and np.array_equal(again.ranges, question.ranges)
    assert written(again) == written(question)
    assert np.array_equal(betting_of(again).pays, betting_of(question).pays)


@pytest.mark.parametrize(
    ("change", "words", "text", "carets"),
    [
        ({"board": "Qs Jx 2h"}, "'x' is not a suit", "Qs Jx 2h", "    ^"),
        ({"board": "Qs 1h 2h"}, "'1' is not a rank", "Qs 1h 2h", "   ^"),
        ({"board": "Qs Jh Qs"}, "twice", "Qs Jh Qs", "      ^^"),
        ({"board": "QsJh"}, "three cards, and 2 are here", "QsJh", "    ^"),
        ({"board": "Qs Jh 2h 3h 4h 5h"}, "five cards", "Qs Jh 2h 3h 4h 5h", "               ^^"),
        ({"ranges": ["AA", "KK, QZs"]}, "range of IP: 'Z' in 'QZs' is not a rank", "KK, QZs", "     ^"),
        ({"ranges": ["AA, KKs, 33", "KK"]}, "range of OOP: 'KKs' is a pair", "AA, KKs, 33", "    ^^^"),
        ({"ranges": ["AA:2", "KK"]}, "should be from 0 to 1", "AA:2", "^^^^"),
        ({"ranges": ["QsJh", "KK"]}, "no hand beside the board", "QsJh", "^^^^"),
        ({"bets": "33%; river: 75"}, "bets: '75' has no unit", "33%; river: 75", "            ^^"),
        ({"bets": "33%; rivr: 75%"}, "before a colon", "33%; rivr: 75%", "     ^^^^"),
        ({"raises": "33%; river: 0.5x"}, "raises: a raise to '0.5x'", "33%; river: 0.5x", "            ^^^^"),
    ],
)
def test_mistakes_are_pointed_at(change, words, text, carets):
    with pytest.raises(GameError, match=words) as error:
        spot(**{**BASE, **change})
    assert str(error.value).splitlines()[1:] == [f"    {text}", f"    {carets}"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ranges": ["AA"]}, "two ranges"),
        ({"pot": "x"}, "pot: 'x' is not a number"),
        ({"pot": float("nan")}, "pot should be"),
        ({"stacks": [1, 2, 3]}, "stacks"),
        ({"stakes": 4}, "did you mean 'stacks'"),
        ({"max_raises": 1.5}, "max_raises"),
        ({"bets": {"later": "50%"}}, "neither a street"),
        ({"bets": 3}, "bets: write sizes"),
    ],
)
def test_other_mistakes(change, words):
    with pytest.raises(GameError, match=words):
        spot(**{**BASE, **change})


def test_files_that_are_no_spots(tmp_path):
    for name, text, words in [("a.txt", "", "a.txt"), ("a.toml", "x", "Expected|expected|key"),
                              ("b.toml", "pots = 1", "did you mean 'pot'"), ("c.json", "[]", "a table"),
                              ("d.json", "{}", "board is missing"), ("e.json", "[" * 100_000, "e.json")]:  # fmt: skip
        (tmp_path / name).write_text(text)
        with pytest.raises(GameError, match=words):
            read_spot(tmp_path / name)


def test_dead_money_is_in_the_pot():
    question = spot(**{**BASE, "pot": 90}, dead=10)
    assert question.pot == 100


@pytest.mark.parametrize("cards", [5, 4])
@pytest.mark.parametrize("locks", [[], ["check: check = 30%"]], ids=["merged", "all hands"])
def test_a_saved_solution_is_the_same(tmp_path, cards, locks):
    answer = solve_spot(small(cards), iterations=20, threads=1, locks=locks)
    save_spot(answer, tmp_path / "a.spot")
    again = load_spot(tmp_path / "a.spot")
    assert again.iterations == 20 and again.exploitability == pytest.approx(answer.exploitability)
    assert np.array_equal(again.spot.ranges, answer.spot.ranges)
    for line in answer.lines():
        before, after = answer.at(line), again.at(line)
        inside = before.ranges[max(before.turn, 0)] > 0
        assert after.strategy[:, inside] == pytest.approx(before.strategy[:, inside], abs=1e-3)
    assert again.at().mean_values == pytest.approx(answer.at().mean_values, abs=1e-2)
    save_spot(again, tmp_path / "a.spot")  # over itself
    files = sum(path.stat().st_size for path in (tmp_path / "a.spot").iterdir())
    assert files < 40_000 + 2 * sum(array.nbytes for array in answer.solved.packed().values())
    assert all(array.dtype == np.uint16 for array in answer.solved.packed().values())


def test_damaged_solutions_are_refused(tmp_path):
    from kibitz.core import store

    answer = solve_spot(small(5), iterations=2, threads=1)
    save_spot(answer, tmp_path / "a.spot")
    artefact = store.load(tmp_path / "a.spot")
    for change in ({"rows": "other"}, {"value": [1.0]}, {"value": ["x", 2.0]}, {"spot": {}}, {"iterations": "x"},
                   {"spot": {**artefact.meta["spot"], "stacks": [1e9, 1e9]}},
                   {"spot": {**artefact.meta["spot"], "bets": "10%"}}):  # fmt: skip
        store.save(tmp_path / "b.spot", "spot", artefact.arrays, {**artefact.meta, **change})
        with pytest.raises(ArtefactError, match="no solved spot"):
            load_spot(tmp_path / "b.spot")
        shutil.rmtree(tmp_path / "b.spot")
    short = {**artefact.arrays, "average": artefact.arrays["average"][:-1]}
    store.save(tmp_path / "b.spot", "spot", short, artefact.meta)
    with pytest.raises(ArtefactError, match="another layout"):
        load_spot(tmp_path / "b.spot")
    with pytest.raises(ArtefactError):
        load_spot(tmp_path / "nothing")


def test_rows_of_hands_and_classes():
    answer = solve_spot(spot("Qs Jh 2h 5c 5d", ["AA, QJs, 65s:0.5", "KK, AQ"], 100, 200), iterations=50, threads=1)
    node = answer.at()
    hands, classes = hand_rows(node), class_rows(node)
    assert {row["hand"] for row in classes} == {"AA", "QJs", "65s"}
    assert sum(row["share"] for row in hands) == pytest.approx(1.0)
    aces = [row for row in hands if row["hand"][0] == row["hand"][2] == "A"]
    assert len(aces) == 6 and all(sum(row["strategy"].values()) == pytest.approx(1.0) for row in aces)
    mean = sum(row["value"] * row["share"] for row in aces) / sum(row["share"] for row in aces)
    assert next(row for row in classes if row["hand"] == "AA")["value"] == pytest.approx(mean)
    assert sum(row["value"] * row["share"] for row in classes) == pytest.approx(node.mean_values[0])
    data = node_data(node)
    assert json.loads(json.dumps(data)) == data and data["player"] == "OOP"
    assert sum(action["frequency"] for action in data["actions"]) == pytest.approx(1.0)
    mean = sum(action["frequency"] * action["value"] for action in data["actions"] if action["value"] is not None)
    assert mean == pytest.approx(data["values"][0])
    json.dumps(solution_data(answer), allow_nan=False)
    lines = list(csv_lines(answer))
    assert lines[0].startswith("line,player,hand") and len(lines) > 100
    assert '"check, allin 200",OOP' in "".join(lines)


def test_public_names():
    answer = kibitz.solve_spot(kibitz.spot("Qs Jh 2h 5c 5d", ["AA", "KK"], 10, 20), iterations=1)
    assert answer.values.sum() == pytest.approx(10)
