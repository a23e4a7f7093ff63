"""kibitz poker flops, and kibitz poker spot with prizes and with files of other solvers."""

from __future__ import annotations

import csv
import json

import pytest
from here_executor import Here
from typer.testing import CliRunner

from kibitz.cli import app
from kibitz.core.executor import executing

SPOT = ["--ranges", "AA, KQs, AJs", "KK, AQs, QJs", "--pot", "100", "--stacks", "150", "--bets", "50%", "--raises",
        "none"]  # fmt: skip
FLOPS = ["poker", "flops", *SPOT, "--deck", "4,3", "--iterations", "20"]
RIVER = ["poker", "spot", "--board", "Td 9d 6h Qc 2c", "--ranges", "TT, 87s, KJs", "99, J8s, AQs", "--pot", "200",
         "--stacks", "900", "--iterations", "20"]  # fmt: skip


def said(*words, code=0):
    with executing(Here()):
        result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output + result.stderr
    return result.stdout if code == 0 else result.stderr


def test_tables_files_and_pictures(tmp_path):
    out, table, picture = tmp_path / "report", tmp_path / "flops.csv", tmp_path / "flops.svg"
    text = said(*FLOPS, "--subset", "4", "--out", str(out), "--csv", str(table), "--plot", str(picture))
    assert "4 flops that stand for all 48" in text and "two-tone" in text and "A high" in text
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == 4 == len([*out.glob("*.json")]) - 2  # beside the question and the equities
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1.0, abs=1e-4)
    assert picture.read_text().startswith("<?xml")
    data = json.loads(said(*FLOPS, "--subset", "4", "--out", str(out), "--json"))
    assert [row["flop"] for row in data["flops"]] == [row["flop"] for row in rows]
    assert data["means"]["OOP check"] + data["means"]["OOP bet 50"] == pytest.approx(1.0)


def test_errors_of_subsets():
    data = json.loads(said(*FLOPS, "--subset", "all", "--errors", "6", "--json"))
    assert len(data["flops"]) == 48
    for each in data["errors"]["6"]:
        assert each["mean"] == pytest.approx(data["means"][each["quantity"]])
        assert each["error"] == pytest.approx(each["estimate"] - each["mean"])


def test_a_choice_without_solving():
    data = json.loads(said(*FLOPS, "--subset", "5", "--choose", "--json"))
    assert len(data["flops"]) == 5 and data["errors"][0]["quantity"] == "equity OOP"
    assert "random subsets" in said(*FLOPS, "--subset", "5", "--choose").replace("\n", " ")


def test_a_file_without_a_board(tmp_path):
    path = tmp_path / "spot.toml"
    path.write_text('ranges = ["AA, KQs", "KK, AJs"]\npot = 10\nstacks = 10\nbets = "50%"\ndeck = [4, 3]\n'
                    'board = "AcKdQh"\n')
    text = said("poker", "flops", str(path), "--subset", "AcKdQh, JcJdQh", "--iterations", "2")
    assert "flops by name" in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--errors", "5"], "--subset all"),
        (["--subset", "all", "--errors", "x"], "such as 25,49,95"),
        (["--subset", "all", "--choose"], "give a number"),
        (["--deck", "4"], "such as 7,4"),
        (["--deck", "4,9"], "2 to 4 suits"),
        (["--subset", "9999"], "choose 1 to"),
        (["--subset", "AxKd2c"], "suit"),
        (["--csv", "flops.txt"], ".csv"),
    ],
)
def test_mistakes(words, sentence):
    assert sentence in said(*FLOPS, *words, code=2)


def test_prizes():
    text = said(*RIVER, "--prizes", "50,30,20", "--others", "1500,800")
    assert "value in prizes" in text and "not zero-sum" in " ".join(text.split())
    data = json.loads(said(*RIVER, "--prizes", "50,30,20", "--others", "1500,800", "--json"))
    assert data["spot"]["prizes"] == [50, 30, 20] and 20 < data["values"][0] < 30
    assert "not zero-sum" not in said(*RIVER)
    assert "2 players" in said(*RIVER, "--prizes", "50,30,20", code=2)


def test_files_of_other_solvers(tmp_path):
    path = tmp_path / "river.txt"
    path.write_text("set_pot 50\nset_effective_stack 100\nset_board Qs,Jh,2h,3c,4d\nset_range_ip AA,KK\n"
                    "set_range_oop QQ,[50]A5s[/50]\nset_bet_sizes oop,river,bet,50\nset_allin_threshold 0.67\n")
    with executing(Here()):
        result = CliRunner().invoke(app, ["poker", "spot", str(path), "--iterations", "5"])
    assert result.exit_code == 0, result.output
    assert "bet 25" in result.stdout
    assert "read as a file of TexasSolver" in result.stderr and "note: line 7: set_allin_threshold" in result.stderr
    path.write_text(path.read_text().replace("AA,KK", "AA,KZ"))
    lines = said("poker", "spot", str(path), code=2).splitlines()
    assert "line 4" in lines[0] and lines[-2].strip() == "set_range_ip AA,KZ"
    assert lines[-1].index("^") == lines[-2].index("Z")
