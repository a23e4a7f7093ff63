"""Experts of three-player limit poker: sizes, folders, and the commands that train, stitch, match and measure them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bucketed import THREE_PLAYERS
from typer.testing import CliRunner

from kibitz.cli import app
from kibitz.core.errors import SolverError
from kibitz.games import game
from kibitz.poker.blueprints.placed_rows import is_placed, layout_of, placed_blueprint
from kibitz.poker.blueprints.rows import (
    PARTS,
    base_buckets,
    decisions_in,
    dynamic_buckets,
    dynamic_rows,
    expert_buckets,
)
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.percentile import finest_after, infosets_of, percentile_spec
from kibitz.poker.rules.rows import RowPlan
from kibitz.poker.stitching.row_experts import trained_expert
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import BlueprintRequest, new_blueprint
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.stitch import MaxInfosets, Solving, experts, static

TINY = THREE_PLAYERS.format(raises=2, suits=2, ranks=4)


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A folder with a small three-player game."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.game").write_text(TINY)
    return "tiny.game"


def call(*words):
    found = CliRunner().invoke(app, list(words))
    assert found.exit_code == 0, found.output
    return found.output


def row_experts(base, parts, *words):
    return experts(base.machine.rules, base, f"prefix({', '.join(parts)})", *words)


# Sizes


def test_buckets_that_forget_the_first_round():
    definition = machine_of("poker(file=holdem.limit.3p, ranks=4)").definition
    made = hand_buckets(definition, "percentile([16, 3, 2, 2], forget=1)")
    plain = hand_buckets(definition, "percentile([16, 3, 2, 2])")
    assert made.counts == [16, 3, 6, 12] and plain.counts[1] > 3
    assert (made.rounds[1].parent == -1).all() and (made.rounds[2].parent >= 0).all()
    cards = np.random.default_rng(1).permuted(np.tile(np.array(definition.deck), (500, 1)), axis=1)[:, :7]
    for level, seen in ((2, 6), (3, 7)):
        now = made.of(level, cards[:, :seen])
        np.testing.assert_array_equal(made.rounds[level].parent[now], made.of(level - 1, cards[:, : seen - 1]))


def test_the_finest_buckets_within_a_limit():
    machine = machine_of("holdem.limit.3p")
    decisions = decisions_in(machine, ())[0]
    assert decisions == [90, 4412, 205_962, 9_501_342]
    assert base_buckets(machine, 162_000_000) == "percentile([169, 4, 2, 2], forget=1)"  # 16 on the river, as the paper
    for limit in (20_000_000, 162_000_000, 1_000_000_000):
        budgets = finest_after(decisions, limit, 169)
        assert infosets_of(decisions, budgets, forget=1) <= limit
        for level in (1, 2, 3):
            more = [n + (k == level) for k, n in enumerate(budgets)]
            assert infosets_of(decisions, more, forget=1) > limit
    with pytest.raises(SolverError, match="even one bucket"):
        finest_after(decisions, 1000, 169)
    assert percentile_spec([169, 2, 2, 2], forget=1) == "percentile([169, 2, 2, 2], forget=1)"


def test_computations_have_at_most_the_limit(tiny):
    machine, limit = machine_of(f"poker(file={tiny})", how="rounds"), 3000
    base = placed_blueprint(machine, RowPlan((base_buckets(machine, limit),)))
    assert limit / 3 < layout_of(base).size <= limit
    dynamic = placed_blueprint(machine, dynamic_rows(*dynamic_buckets(machine, PARTS, limit), PARTS))
    assert limit / 3 < layout_of(dynamic).size <= limit
    for seats in (None, (0,), (0, 1)):
        fine = expert_buckets(base, "f", 3 * limit, seats)
        made = new_blueprint(machine, BlueprintRequest(abstraction=fine, part="f", seats=seats), base)
        assert is_placed(made) and layout_of(made).size <= 3 * limit
    for seats, count in (("all", 1), ("each", 3), ([[0, 1], [1, 2], [2, 0]], 3)):
        found = row_experts(base, PARTS, seats, MaxInfosets(3 * limit))
        assert len(found) == 4 * count and len({each.file for each in found}) == len(found)
        for part in PARTS:
            assert len({each.buckets for each in found if each.name == part}) == 1
    with pytest.raises(SolverError, match="elsewhere already"):
        row_experts(base, ("f",), "each", MaxInfosets(layout_of(base).size // 2))
    with pytest.raises(SolverError, match="give the buckets of the experts"):
        row_experts(base, ("f",), "all")


# Folders


def test_experts_go_on_in_their_folder(tiny, tmp_path):
    machine = machine_of(f"poker(file={tiny})", how="rounds")
    base = placed_blueprint(machine, RowPlan((base_buckets(machine, 600),)))
    base.train(iterations=200)
    of = row_experts(base, ("f",), "all", MaxInfosets(2000))[0]
    once = trained_expert(base, of, Solving(iterations=300, threads=1))
    trained_expert(base, of, Solving(keep=tmp_path / "e", iterations=100, threads=1))
    twice = trained_expert(base, of, Solving(keep=tmp_path / "e", iterations=300, threads=1))
    assert once.sha256 == twice.sha256
    made = static(machine.rules, base, "prefix(f)", "all", MaxInfosets(2000), keep=tmp_path / "e", iterations=300,
                  threads=1)  # fmt: skip
    assert layout_of(made).rows.parts == ("f",) and layout_of(made).size > layout_of(base).size
    other = row_experts(base, ("f",), "all", MaxInfosets(900))[0]
    with pytest.raises(SolverError, match="another abstraction"):
        trained_expert(base, other, Solving(keep=tmp_path / "e", iterations=300))


# Commands


@pytest.mark.slow
def test_commands(tiny):
    told = json.loads(call("train", tiny, "--max-infosets", "600", "--iterations", "300", "--threads", "1",
                           "--out", "b",
                           "--json"))  # fmt: skip
    assert told["rows"] == told["capacity"] <= 600 and told["abstraction"].startswith("percentile([4,")
    for words in (["--part", "f"], ["--part", "rf", "--seats", "0,2"]):
        call("train", tiny, "--base", "b", *words, "--max-infosets", "5k", "--iterations", "50", "--out", words[1])
    call("train", tiny, "--resume", "f", "--base", "b", "--iterations", "100")
    call("train", tiny, "--max-infosets", "2k", "--dynamic", "f,rf", "--iterations", "100", "--out", "d")
    call("train", tiny, "--max-infosets", "600", "--sampling", "chance", "--iterations", "20", "--out", "c")
    call("train", tiny, "--max-infosets", "600", "--prune", "500", "--iterations", "50", "--out", "p")
    sizes = call("stitch", tiny, "--base", "b", "--partition", "prefix(f, rf)", "--seats", "each",
                 "--max-infosets", "5k",
                 "--dry-run")  # fmt: skip
    assert "Nothing was solved" in sizes
    call("stitch", tiny, "--base", "b", "--partition", "prefix(f, rf)", "--seats", "all", "--max-infosets", "5k",
         "--iterations", "100", "--work", "experts", "--out", "s")  # fmt: skip
    held = load_blueprint("s", game=tiny)
    assert is_placed(held) and layout_of(held).rows.parts == ("f", "rf")
    found = json.loads(call("match", "s", "b", "uniform", "--game", tiny, "--deals", "500", "--json"))
    assert sum(each["mean"] for each in found["players"]) == pytest.approx(0, abs=1e-9)
    assert "exploitability" in call("evaluate", "b", "--game", tiny, "--seconds", "0.2")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", "tiny.game", "--max-infosets", "600", "--abstraction", "percentile(2)"], "not both"),
        (["train", "kuhn", "--max-infosets", "600"], "is not poker"),
        (["train", "kuhn", "--prune", "600"], "limit poker with buckets"),
        (["train", "tiny.game", "--max-infosets", "600", "--sampling", "board"], "choose external, outcome, chance"),
        (["train", "tiny.game", "--max-infosets", "6"], "even one bucket"),
        (["train", "tiny.game", "--max-infosets", "many"], "should be a number"),
        (["train", "tiny.game", "--dynamic", "f"], "give --max-infosets"),
        (["train", "tiny.game", "--dynamic", "x", "--max-infosets", "2k"], "of the first round"),
        (["train", "tiny.game", "--base", "b", "--part", "x", "--max-infosets", "2k"], "of the first round"),
        (["train", "tiny.game", "--base", "b", "--part", "f", "--seats", "7", "--max-infosets", "2k"], "no seat 7"),
        (["train", "tiny.game", "--base", "b", "--part", "f", "--seats", "x", "--max-infosets", "2k"], "give numbers"),
        (["train", "tiny.game", "--seats", "0", "--max-infosets", "2k"], "--base and --part"),
        (["train", "tiny.game", "--base", "b", "--part", "f", "--abstraction", "null"], "uses buckets of hands"),
        (["train", "--resume", "e"], "give its base too"),
        (["train", "--resume", "b", "--max-infosets", "1k"], "leave --max-infosets out"),
        (["train", "--resume", "b", "--memory", "1MB"], "leave --memory out"),
        (["stitch", "tiny.game", "--base", "b", "--partition", "private(J)", "--max-infosets", "2k"],
         "given by betting"),
        (["stitch", "tiny.game", "--base", "b", "--partition", "prefix(f)"], "give the buckets of the experts"),
        (["stitch", "tiny.game", "--base", "b", "--partition", "prefix(f)", "--until", "1"], "NashConv is unknown"),
        (["stitch", "leduc", "--base", "JQ.K", "--partition", "prefix(r)", "--max-infosets", "2k"],
         "that is a blueprint"),
        (["reproduce", "gibson2011", "--table", "1", "--players", "3"], "for gibson2011 --table 2"),
        (["reproduce", "gibson2011", "--table", "2", "--hours", "3"], "--players 3"),
        (["reproduce", "gibson2011", "--table", "2", "--players", "3", "--exact"], "trained for --hours"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(tiny, words, sentence):
    if "b" in words or "e" in words:
        machine = machine_of(f"poker(file={tiny})", how="rounds")
        base = placed_blueprint(machine, RowPlan((base_buckets(machine, 600),)))
        base.save("b")
        if "e" in words:
            new_blueprint(machine, BlueprintRequest(max_infosets=2000, part="f"), base).save("e")
            words = [*words, "--game", tiny] if words[0] != "train" else [words[0], tiny, *words[1:]]
    if words[0] == "train":
        if "b" in words and "--resume" in words:
            words = [words[0], tiny, *words[1:]]
        words = [*words, "--iterations", "10", *(["--out", "o"] if "--resume" not in words else [])]
    elif words[0] == "stitch" and "--until" not in words:
        words = [*words, "--iterations", "10"]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2, found.output
    assert sentence in " ".join((found.output + str(found.stderr)).split()), found.output


def test_chance_sampling_and_pruning(tiny):
    """Both go where external sampling goes; pruning visits less."""
    from kibitz.evaluate import nash_conv
    from kibitz.games.tree import tree_of
    from kibitz.poker.blueprints.placed_rows import stitched
    from kibitz.solvers.blueprint import blueprint_profile

    machine = machine_of(game(f"poker(file={tiny}, ranks=3)"), how="rounds")
    tree, rows = tree_of(machine.rules), RowPlan(("percentile([4, 20], recall=false)",))
    found, visited = {}, {}
    for name, how in (("external", {}), ("chance", {"sampling": "chance"}), ("pruned", {"prune": -200.0})):
        made = placed_blueprint(machine, rows, **how)
        made.train(iterations=1000 if name == "chance" else 8000)
        found[name] = nash_conv(tree, blueprint_profile(made, tree))
        visited[name] = made.progress().visited
        assert layout_of(stitched(made, {})).size == layout_of(made).size
    even = nash_conv(tree, blueprint_profile(placed_blueprint(machine, rows), tree))
    assert max(found.values()) < even / 5 and visited["pruned"] < 0.95 * visited["external"]
    with pytest.raises(SolverError, match="below 0"):
        placed_blueprint(machine, rows, prune=1.0)
    with pytest.raises(SolverError, match="sampling"):
        placed_blueprint(machine, rows, sampling="board")
