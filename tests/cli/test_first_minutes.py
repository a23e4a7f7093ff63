"""What a new user tries first: help that can be read, answers in place of refusals, mistakes that are named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

import kibitz
from kibitz.cli import app
from kibitz.core.draw import blocks_of
from kibitz.core.errors import GameError, KibitzError, SolverError, SpecError
from kibitz.core.frame import Frame
from kibitz.games.tree import tree_of
from kibitz.papers.sandholm import PARTS
from kibitz.poker.rules.rules import leduc_as_poker

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command in this process, in an empty directory: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*words: Any) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            app([str(word) for word in words], prog_name="kibitz")
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


def test_help_has_no_marks_of_the_formatter(call: Call) -> None:
    """A mark that keeps lines apart is written \\b in the source; one backslash too many prints it."""
    for name in get_command(app).commands:  # type: ignore[attr-defined]
        out = call(name, "--help")[1]
        assert "\\b" not in out and "\b" not in out, name


def test_help_names_all_experiments_of_a_paper(call: Call) -> None:
    out = " ".join(call("reproduce", "--help")[1].split())
    named = re.search(r"sandholm: ([\w, -]+);", out)
    assert named is not None and named[1].split(", ") == list(PARTS)


def test_leduc_is_shrunk_as_the_poker_game_it_is(call: Call) -> None:
    code, out, err = call("abstract", "leduc", "gameshrink", "--json")
    assert code == 0, err
    mine, other = json.loads(out), json.loads(call("abstract", "poker(file=leduc)", "gameshrink", "--json")[1])
    assert mine.pop("game") == "leduc" and other.pop("game") == "poker(file=leduc)"
    clocks = ("seconds", "processor")
    assert {k: v for k, v in mine.items() if k not in clocks} == {k: v for k, v in other.items() if k not in clocks}
    code, _, err = call("abstract", "leduc(players=3)", "gameshrink")
    assert code == 2 and "poker by a definition" in err


@pytest.mark.parametrize("text", ["leduc", "leduc(ranks=2, cap=1)", "leduc(suits=3, ante=2, bets=[1, 3], cap=3)"])
def test_leduc_by_the_rules_of_poker_is_the_same_game(text: str) -> None:
    """Same tree but for the names of cards: payoffs, movers and chances, history by history."""
    leduc = kibitz.game(text)
    one, two = tree_of(leduc), tree_of(leduc_as_poker(leduc))
    assert one.histories == two.histories and len(one.infosets.labels) == len(two.infosets.labels)
    profile = kibitz.solve(one, "cfr+", iterations=30)
    other = kibitz.solve(two, "cfr+", iterations=30)
    assert kibitz.value(one, profile)[0] == pytest.approx(kibitz.value(two, other)[0], abs=1e-9)
    assert kibitz.nash_conv(one, profile) == pytest.approx(kibitz.nash_conv(two, other), abs=1e-9)


def test_info_of_games_that_are_too_large(call: Call) -> None:
    """Infosets of limit hold'em: 3.194e14, and 1.380e13 up to suits [Johanson 2013, Table 1]."""
    code, out, err = call("info", "holdem.limit.2p", "--json")
    assert code == 0, err
    data = json.loads(out)
    assert f"{data['infosets']:.3e}" == "3.194e+14" and f"{data['infosets_up_to_suits']:.3e}" == "1.380e+13"
    assert data["betting_decisions"] == [8, 70, 630, 5670] and "MB" in data["too_large"]
    code, out, _ = call("info", "holdem.limit.2p")
    assert code == 0 and "319,365,922,522,608" in out
    code, out, _ = call("info", "holdem.nolimit.2p", "--json")
    assert code == 0 and json.loads(out)["infosets"] is None
    code, _, err = call("info", "poker(file=nowhere)")
    assert code == 2 and "nowhere" in err


@pytest.mark.parametrize("text", ["poker(file=leduc)", "poker(file=kuhn)", "rhode_island(ranks=3, suits=2)"])
@pytest.mark.some(2)
def test_counts_are_those_of_the_tree(text: str) -> None:
    rules: Any = kibitz.game(text)
    assert rules.counts().infosets == len(tree_of(rules).infosets.labels)


@pytest.mark.parametrize("words", [{"until": "1e-3"}, {"seconds": "2"}, {"until": [1]}, {"until": True}])
def test_stops_that_are_no_numbers_are_refused(words: dict[str, Any]) -> None:
    with pytest.raises(SolverError, match=rf"{next(iter(words))}=.* must be a number"):
        kibitz.solve("kuhn", "cfr", **words)


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("cfrplus", "cfr+"),
        ("CFR+", "cfr+"),
        ("dcfrplus", "dcfr+"),
        ("pcfr_plus", "pcfr+"),
        ("cfrr", "cfr"),
        ("lps", "lp"),
    ],
)
def test_the_nearest_solver_is_suggested(wrong: str, near: str) -> None:
    with pytest.raises(SpecError, match=rf"did you mean '{re.escape(near)}'"):
        kibitz.solve("kuhn", wrong, iterations=1)


def test_export_of_what_is_not_there(call: Call) -> None:
    for words in (("missing.profile", "u.csv"), ("missing", "u.json"), ("missing.profile", "u.efg")):
        code, _, err = call("export", *words)
        assert code == 2 and f"no saved profile at {words[0]}" in err, err
    code, _, err = call("export", "kuhn", "u.csv")
    assert code == 2 and "should end in .efg" in err


@pytest.mark.parametrize("number", ["0_5", "0._5", "_1", "1_0", "0.0_5"])
def test_numbers_of_python_are_no_probabilities(call: Call, number: str) -> None:
    kibitz.solve("kuhn", "lp").save("kuhn.profile")
    call("export", "kuhn.profile", "kuhn.csv")
    lines = Path("kuhn.csv").read_text().splitlines()
    lines[1] = lines[1].rpartition(",")[0] + f",{number}"
    Path("odd.csv").write_text("\n".join(lines))
    code, _, err = call("import", "odd.csv", "odd.profile", "--game", "kuhn")
    assert code == 2 and f"line 2: the probability '{number}' is not a number" in err


# Frames


def test_infoset_values_have_names() -> None:
    profile = kibitz.solve("kuhn(players=3)", "cfr+", iterations=20)
    found = kibitz.infoset_values("kuhn(players=3)", profile)
    reach, values = found  # as before
    table = found.table
    assert table.columns == ("seat", "infoset", "reach", "action", "probability", "value")
    assert len(table) == len(values) == profile.infosets.columns
    at = 0
    for seat in range(3):
        for label, row in profile.items(seat):
            for action, p in row.items():
                said = table[at]
                assert (said["seat"], said["infoset"], said["action"]) == (seat, label, str(action))
                assert said["probability"] == p and said["reach"] == reach[profile.infosets.find(seat, label)]
                assert said["value"] == values[at] or np.isnan(values[at])
                at += 1
    assert repr(found) == repr(table) and "infoset" in repr(found).splitlines()[0]
    assert found._repr_html_().count("<tr>") == 31


def test_a_frame_is_a_small_table() -> None:
    frame = Frame({"name": [f"row {k}" for k in range(50)], "x": np.arange(50.0), "n": list(range(50, 0, -1))})
    assert len(frame) == 50 and frame.columns == ("name", "x", "n") and frame["x"].dtype == float
    assert frame[3] == {"name": "row 3", "x": 3.0, "n": 47} and type(frame[3]["n"]) is int
    assert frame[:2].records() == [frame[0], frame[1]] == list(frame)[:2]
    assert frame.sorted("n")[0]["name"] == "row 49" and frame.sorted("x", descending=True)[0] == frame[49]
    lines = repr(frame).splitlines()
    assert lines[0].split() == ["name", "x", "n"] and "..." in lines and lines[-1] == "[50 rows, 3 columns]"
    assert repr(Frame({"x": [np.nan]})).splitlines()[1].strip() == "-"
    assert len(Frame({})) == 0 and "[0 rows" in repr(Frame({"a": []}))
    with pytest.raises(KeyError, match="columns are name, x, n"):
        frame["y"]
    with pytest.raises(ValueError, match="one length"):
        Frame({"a": [1], "b": [1, 2]})
    try:
        __import__("pandas")
    except ImportError:
        with pytest.raises(ImportError, match="records"):
            frame.to_pandas()
    else:
        assert frame.to_pandas().shape == (50, 3)


# Pictures


def test_leduc_is_drawn_as_a_grid_in_which_each_infoset_has_its_cell() -> None:
    profile = kibitz.solve("leduc", "cfr", iterations=3)
    figure = profile.plot()
    assert len(figure.axes) == 4  # two rounds for each seat
    for seat in range(2):
        labels = [label for label, _ in profile.items(seat)]
        order = {label.partition(":")[0]: k for k, label in enumerate(labels)}
        blocks = blocks_of(labels, order)
        assert blocks is not None and [block.infoset.shape for block in blocks] == [(6, 3), (30, 15)]
        for block in blocks:
            for row, first in enumerate(block.rows):
                for column, second in enumerate(block.columns):
                    assert labels[block.infoset[row, column]] == f"{first}:{second}"
    axes = figure.axes[1]
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    bars = {
        (round(bar.get_y() + bar.get_height() / 2), int(bar.get_x() + 1e-9), bar.get_facecolor()): bar.get_width()
        for bar in axes.patches if bar.get_width() > 0
    }  # fmt: skip
    columns = [tick.get_text() for tick in axes.get_xticklabels()]
    row, column = names.index("JsKh"), columns.index("cc/")
    drawn = [width for (y, x, _), width in bars.items() if (y, x) == (row, column)]
    assert sum(drawn) == pytest.approx(0.94) and len(names) == 30
    assert sorted(drawn) == pytest.approx(sorted(0.94 * p for p in profile[0, "JsKh:cc/"].values() if p > 0))
    assert figure.get_size_inches().max() < 20


def test_names_without_parts_have_no_grid() -> None:
    assert blocks_of(["a", "b"], {}) is None
    assert blocks_of(["a:b", "a:b"], {"a": 0}) is None  # as no game has them
    assert blocks_of([f"{k}:x" for k in range(500)], {str(k): k for k in range(500)}) is None
    assert len(kibitz.solve("liars_dice(dice_sides=3)", "cfr", iterations=1).plot().axes) == 2


def test_errors_are_kibitz_errors() -> None:
    with pytest.raises(KibitzError):
        leduc_as_poker(kibitz.game("leduc(players=3)"))
    with pytest.raises(GameError):
        kibitz.solve("kuhn", "lp").plot(seat=4)
