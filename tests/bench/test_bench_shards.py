"""kibitz bench --only shards: what it measures, and the page that is made of it."""

from __future__ import annotations

import json
import re

import pytest

from kibitz.bench import bench_shards
from kibitz.bench.bench import bench
from kibitz.bench.bench_shards import DATA, GAMES, SHARDS, multiple, page, shards_markdown
from kibitz.solvers.blueprint import Blueprint


@pytest.fixture
def small(monkeypatch):
    """Kuhn and one short training."""
    kuhn = GAMES["leduc"]._replace(label="Kuhn", spec="kuhn", iterations=3200)
    monkeypatch.setattr(bench_shards, "GAMES", {"kuhn": kuhn})
    monkeypatch.setattr(bench_shards, "MERGES", (4, 10))
    monkeypatch.setattr(bench_shards, "SEEDS", 2)


def test_figures_are_those_of_training(small, tmp_path):
    lines = []
    bench(only="shards", out=tmp_path / "shards.json", say=lines.append)
    result = json.loads((tmp_path / "shards.json").read_text())
    game = result["games"]["kuhn"]
    assert [(run["shards"], run["merges"], run["alone"]) for run in game["runs"]] == [
        *((shards, merges, False) for shards in SHARDS for merges in (4, 10)), (8, 4, True), (8, 10, True)
    ]  # fmt: skip
    plain = Blueprint.empty("kuhn", None, 1 << 20, seed=1)
    plain.train(iterations=3200)
    value = bench_shards.exploitability_of(bench_shards.GAMES["kuhn"])(plain)
    assert game["plain"]["exploitability"]["3200"][1] == value
    run = game["runs"][0]
    pairs = zip(run["exploitability"], game["plain"]["exploitability"]["3200"], strict=True)
    assert multiple(3200, game["plain"], run) == pytest.approx(sum(x / y for x, y in pairs) / 2)
    assert run["sent"] > run["received"] > 0 and run["merge_every"] == 400
    assert "## What stale rows cost" in "\n".join(lines)


def test_least_iterations_are_what_the_words_say():
    """Twice the bytes and the time to merge, twice the iterations; merges then take a tenth of the time."""
    run = {"shards": 4, "sent": 1e6, "received": 2e5, "merge_seconds": 0.05}
    least = bench_shards._least(run, 1e-4)
    away = 4 * 1.2e6 * 8 / 1e9 + 0.05
    assert away / (away + least * 1e-4) == pytest.approx(0.1)


def test_the_page_has_a_row_for_every_game_and_number_of_shards():
    result, text = json.loads(DATA.read_text()), page()
    assert result["seeds"] >= 3 and set(result["games"]) == set(GAMES)
    costs = text[text.index("## What stale rows cost") : text.index("## Why shards count")]
    assert len(re.findall(r"^\| (?!game|---)", costs, re.MULTILINE)) == len(GAMES) * len(SHARDS)
    assert "\n".join(shards_markdown(result)) in text
