"""The benchmark of cards: the same hands for all, and a peer that is missing or disagrees is reported, not compared."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from kibitz import cards
from kibitz.bench import bench_cards
from kibitz.bench.bench import bench
from kibitz.bench.bench_cards import (
    FIGURES,
    PEERS,
    EvaluatorFigure,
    cards_figure,
    cards_markdown,
    in_order,
    measure,
    ours,
)
from kibitz.core.errors import KibitzError


@pytest.fixture(scope="module")
def mine():
    return ours(seconds=0.02, whole=False)


def test_ours_are_measured(mine):
    assert [found.figure for found in mine] == ["evaluate", "evaluate", "inner", "random", "range"]
    assert all(found.value and found.value > 1000 for found in mine)
    assert mine[2].judged == 18_009_460  # hands of seven that hold the deuce of clubs
    assert abs(mine[3].judged - cards.strength("Ah Kd", "Qs 7c 2d 3h 9s").ehs) > 0.1
    assert mine[4].judged == float(cards.strength("Ah Kd", "Qs 7c 2d 3h 9s").hs)


def test_judging_hands():
    assert in_order([3, 1, 1, 2], True) == 1.5 and in_order([3, 1, 1, 2], False) == 1.5
    assert in_order([1, 2, 3], True) == 0 and in_order([1, 2, 3], False) == 2


def test_missing_peers_are_named(tmp_path, mine, monkeypatch):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    bare = str(tmp_path / "bare" / "bin" / "python")
    monkeypatch.setattr(bench_cards, "ours", lambda seconds, whole: mine)
    figure = cards_figure(0.02, True, bare)
    assert set(figure["peers"]) == set(PEERS) and set(figure["peers"].values()) == {"not installed"}
    assert all(row["note"] == "skipped: not installed" and row["ratio"] is None for row in figure["rows"])
    assert any("skipped: not installed" in line for line in cards_markdown(figure))


def test_a_failure_is_reported(tmp_path):
    assert measure("eval7", "evaluate", 0.02, str(tmp_path / "python")).note.startswith("failed: ")
    assert measure("eval7", "whist", 0.02, sys.executable).note.startswith("failed: ")


def test_ratios_goals_and_peers_that_disagree(mine, monkeypatch):
    evaluate, judged = mine[0], {found.figure: found.judged for found in mine}

    def measured(peer, figure, seconds, python):
        value = {"phevaluator": 1e3, "eval7": 2e3, "treys": 5e3}[peer]
        wrong = 1.0 if peer == "treys" else 0.0
        return EvaluatorFigure(peer, figure, value, judged[figure] + wrong, version="1")

    monkeypatch.setattr(bench_cards, "ours", lambda seconds, whole: [replace(f, value=1e5) for f in mine])
    monkeypatch.setattr(bench_cards, "measure", measured)
    figure = cards_figure(0.02, True, sys.executable)
    rows = {(row["figure"], row["way"], row["peer"]): row for row in figure["rows"]}
    best = rows["evaluate", "a batch", "eval7"]
    assert (best["ratio"], best["goal"], best["verdict"]) == (50, 20, "met")
    assert rows["evaluate", "a batch", "phevaluator"]["goal"] is None
    odd = rows["evaluate", "a batch", "treys"]
    assert odd["ratio"] is None and odd["note"] == f"it says {evaluate.judged + 1}, not {evaluate.judged}"
    assert rows["random", "equity", "eval7"]["verdict"] == "met"
    lines = cards_markdown(figure)
    assert sum(line.startswith("| ") for line in lines) == 1 + len(rows)
    assert set(FIGURES) == {row["figure"] for row in figure["rows"]}


def test_it_is_a_figure_of_the_bench(mine, monkeypatch, tmp_path):
    monkeypatch.setattr(bench_cards, "ours", lambda seconds, whole: mine)
    said = []
    path = tmp_path / "results.md"
    result = bench(only="cards", quick=True, say=said.append, markdown_path=path, peers_python=str(tmp_path / "none"))
    assert result["cards"]["rows"] and "## Cards" in path.read_text() and "## Cards" in said[-1]
    with pytest.raises(KibitzError, match="cards"):
        bench(only="whist")
