"""One definition each: NashConv is the sum over players of what best responses gain, exploitability NashConv / players.

Python, JSON, logs, plots, the words of pages and the glossary must agree on both.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.cli import app
from kibitz.papers import le2021
from kibitz.papers.le2021_claims import DECKS
from kibitz.papers.le2021_runs import ConvergenceCurves, Curve
from kibitz.report.plot import convergence_plot
from kibitz.solvers import RunOptions
from kibitz.solvers.result import Evaluation

HOME = Path(kibitz.__file__).parents[1]
PAGES = [HOME / "README.md", *sorted((HOME / "docs").glob("*.md"))]


@pytest.fixture
def call(capsys):
    def run(*words):
        with pytest.raises(SystemExit) as end:
            app([str(word) for word in words], prog_name="kibitz")
        out, err = capsys.readouterr()
        assert not end.value.code, err
        return json.loads(out)

    return run


@pytest.mark.parametrize("game", ["kuhn", "kuhn(players=3)", "matrix(cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]])"])
def test_in_python(game):
    """By the definition: what each seat's best response gets beyond its value, added up; and divided by the seats."""
    rules = kibitz.game(game)
    profile = kibitz.solve(rules, "cfr+", iterations=0)  # uniform
    value = kibitz.value(rules, profile)
    gains = [kibitz.best_response(rules, profile, seat).value - value[seat] for seat in range(rules.players)]
    assert min(gains) >= -1e-12 and max(gains) > 0
    assert kibitz.nash_conv(rules, profile) == pytest.approx(sum(gains))
    assert kibitz.exploitability(rules, profile) == pytest.approx(sum(gains) / rules.players)
    looks = []
    kibitz.solve(rules, "cfr+", iterations=1, run=RunOptions(progress=looks.append))
    assert looks[0].nash_conv == pytest.approx(sum(gains))


def test_in_json(call, tmp_path):
    """solve, its log, evaluate and crosstable name both by one word each, and no other."""
    profile, other, log = tmp_path / "k.profile", tmp_path / "other.profile", tmp_path / "k.jsonl"
    game, players = "kuhn(players=3)", 3
    solved = call("solve", game, "--solver", "cfr+", "--iterations", 20, "--out", profile, "--log", log, "--json")
    measured = call("evaluate", profile, "--json")
    kibitz.load(profile).save(other)
    table = call("crosstable", profile, other, "--json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    exact = kibitz.nash_conv(game, kibitz.load(profile))
    for found in (solved, measured, lines[-1]):
        assert found["nash_conv"] == pytest.approx(exact) and "gap" not in found
    for found in (solved, measured):
        assert found["exploitability"] == pytest.approx(exact / players)
    np.testing.assert_allclose(table["exploitability"], exact / players)


def test_in_plots():
    history = [Evaluation(1, 0.1, 0.5, [0.0, 0.0]), Evaluation(2, 0.2, 0.25, [0.0, 0.0])]
    axes = convergence_plot(history, "kuhn", "cfr").axes[0]
    assert axes.get_ylabel().startswith("NashConv")


def test_toepen_calls_the_sum_nash_conv():
    """The thesis' word for the sum is another; tables, curves and data on the page have ours."""
    curve = Curve((10, 20), np.array([[0.5, 0.25]]))
    found = ConvergenceCurves(2.0, curve, curve, curve, curve, curve)
    sheet = le2021.end_sheet({(True, True): dict.fromkeys(DECKS, found)})
    assert sheet.title.startswith("NashConv after") and "exploitability is half of it" in sheet.note
    picture = le2021.nash_conv_curves("4.2", {"betting": dict.fromkeys(DECKS, found)}, "")
    assert picture.label == "NashConv, chips" and "NashConv" in picture.title


def test_words_of_pages():
    """No page calls the sum exploitability, or a mean over seats a gap."""
    glossary = (HOME / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert "| NashConv, `nash_conv` | the sum over players of what a best response gains;" in glossary
    assert "| exploitability | NashConv / players |" in glossary
    wrong = re.compile(
        r"exploitability \(nash_conv|exploitability is what best responses of both players get together|gap per seat"
        r"|the gap is what best responses within the buckets win, the mean|largest gap of a game, per seat", re.I
    )  # fmt: skip
    sources = [*PAGES, *(HOME / "kibitz").rglob("*.py"), *(HOME / "kibitz").rglob("*.js")]
    found = [f"{path.relative_to(HOME)}: {each.group()}" for path in sources
             for each in wrong.finditer(path.read_text(encoding="utf-8"))]  # fmt: skip
    assert not found
