"""Stitched strategies, matches and runs on a Ray of three nodes: the bytes of one machine, also when workers die."""

from __future__ import annotations

import json
import mmap
import os

import pytest
from ray_nodes import HERE, kills, three_nodes
from typer.testing import CliRunner

import kibitz
from kibitz.bench.bench_base import shared_base
from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.core.executor import executing
from kibitz.papers.runs import Run, carry_out

pytest.importorskip("ray")
__all__ = ["three_nodes"]

@pytest.mark.slow
def test_eight_experts_share_one_base(monkeypatch):
    """Each worker of a node sees all pages of the base, and together they have them once."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (HERE.parent, HERE))))
    result = shared_base(6)
    assert result["workers"] == 8 and result["base"] > 5_000_000
    pages = -(-result["base"] // mmap.PAGESIZE) * mmap.PAGESIZE
    assert result["seen"] == [pages] * 8  # a copy of a worker's own is no page of the file: it would be 0
    assert abs(sum(result["share"]) - pages) < 0.1 * pages  # of copies in other files: eight times that


PARTS = "prefix(r, cr, ccr, cccr)"


@pytest.fixture(scope="module")
def base():
    return kibitz.solve("leduc", "cfr+", abstraction="JQ.K", iterations=50)


def stitched(on, base, tmp_path, **how):
    with executing(on):
        profile = kibitz.stitch.static("leduc", base, PARTS, **{"inside": "suits", "iterations": 100, **how})
    where = tmp_path / f"{len(list(tmp_path.iterdir()))}.profile"
    profile.save(where)
    return {file.name: file.read_bytes() for file in where.iterdir()}


def test_a_stitched_strategy(base, tmp_path, three_nodes):
    expected = stitched("local", base, tmp_path)
    assert stitched("local:2", base, tmp_path) == expected
    with kills(three_nodes.name) as killed:
        assert stitched(three_nodes, base, tmp_path) == expected
    assert killed


@pytest.mark.slow
def test_ten_kills_of_experts(base, tmp_path, three_nodes):
    parts = {"iterations": 3000, "solver": "cfr+"}
    expected = stitched("local", base, tmp_path, **parts)
    assert stitched("local:2", base, tmp_path, **parts) == expected
    with kills(three_nodes.name, 10, 0.5) as killed:
        assert stitched(three_nodes, base, tmp_path, **parts) == expected
    assert len(killed) == len(set(killed)) == 10


def test_experts_on_a_form_and_from_random_starts(base, tmp_path, three_nodes):
    how = {"seats": "all", "start": "random", "seed": 5}
    assert stitched("local", base, tmp_path, **how) == stitched(three_nodes, base, tmp_path, **how)


@pytest.mark.slow
def test_experts_on_sampled_boards(tmp_path, three_nodes):
    game = "rhode_island(ranks=4)"
    base = kibitz.solve(game, "pcs", abstraction="percentile(2)", iterations=20)

    def run(on):
        with executing(on):
            return kibitz.stitch.static(game, base, "prefix(r)", inside="percentile(3)", solver="pcs", iterations=20)

    assert run("local").sha256 == run(three_nodes).sha256


def test_what_has_no_name_is_refused(base, three_nodes):
    with executing(three_nodes), pytest.raises(SolverError, match="experts on other machines are built from names"):
        kibitz.stitch.static("leduc", base, lambda seat, infoset: int("r" in infoset), inside="suits", iterations=1)


def test_a_match(base, tmp_path, three_nodes, monkeypatch):
    monkeypatch.setattr("kibitz.play.blocks.BLOCK", 3_000)
    base.save(tmp_path / "base.profile")

    def play(on, player):
        with executing(on):
            result = kibitz.match("leduc", player, "uniform", deals=20_000, seed=3)
        data = result.data()
        data.pop("seconds")
        return {key: value for key, value in data.items() if key not in ("one", "players")}, result.scores

    expected = play("local", base)
    assert play("local:2", base) == expected
    with kills(three_nodes.name) as killed:
        assert play(three_nodes, base) == expected
        assert play(three_nodes, tmp_path / "base.profile") == expected
    assert killed


@pytest.mark.slow
def test_ten_kills_of_a_match(base, three_nodes, monkeypatch):
    monkeypatch.setattr("kibitz.play.blocks.BLOCK", 20_000)

    def play(on):
        with executing(on):
            return kibitz.match("leduc", base, "uniform", deals=4_000_000, seed=4).scores

    expected = play("local")
    assert play("local:2") == expected
    with kills(three_nodes.name, 10, 0.5) as killed:
        assert play(three_nodes) == expected
    assert len(killed) == len(set(killed)) == 10


def test_a_match_that_is_decided_early(base, three_nodes, monkeypatch):
    monkeypatch.setattr("kibitz.play.blocks.BLOCK", 1_500)
    results = []
    for on in ("local", three_nodes):
        with executing(on):
            results.append(kibitz.match("leduc", base, "uniform", deals=50_000, decided=True))
    one, other = results
    assert one.stopped == "decided" and (one.deals, one.scores) == (other.deals, other.scores)


def test_a_crosstable(base, three_nodes):
    strategies = {"base": base, "cfr": kibitz.solve("leduc", "cfr", iterations=20)}
    expected = kibitz.crosstable("leduc", strategies).data()
    with executing(three_nodes):
        assert kibitz.crosstable("leduc", strategies).data() == expected


def test_runs_of_papers(three_nodes):
    run = Run("powers", pow, [(k, 3) for k in range(9)], "processes")
    with executing(three_nodes):
        assert carry_out([run]) == {"powers": [k**3 for k in range(9)]}


def test_commands_take_on(tmp_path, three_nodes, base):
    base.save(tmp_path / "base.profile")
    answers = []
    for on in ("local:1", three_nodes.name):
        words = ["match", str(tmp_path / "base.profile"), "uniform", "--deals", "2000", "--json", "--on", on]
        told = CliRunner().invoke(app, words)
        assert told.exit_code == 0, told.output
        data = json.loads(told.output)
        data.pop("seconds")
        answers.append(data)
    assert answers[0] == answers[1]
    told = CliRunner().invoke(app, ["match", str(tmp_path / "base.profile"), "uniform", "--on", "mars"])
    assert told.exit_code == 2 and "choose local, local:N" in told.output
