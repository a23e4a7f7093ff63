"""Stitching by node of the betting, on sampled boards: at the size of hold'em, tried on small games."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bucketed import random_probabilities
from typer.testing import CliRunner

import kibitz
from kibitz.cli import app
from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.games import game
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.percentile import decisions_of, finest, infosets_of, percentile_spec
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.sampled.form import ViewForm
from kibitz.poker.stitching import experts as views
from kibitz.poker.whole.profiles import against, measured
from kibitz.solvers.run import solve_through
from kibitz.stitch import Solving, experts, folder, static
from kibitz.stitch.columns import target_of
from kibitz.stitch.targets import Stitching

LEDUC, RHODE = "poker(file=leduc)", "rhode_island(ranks=4)"
COARSE, FINE = "percentile(2)", "percentile(6)"


def static_views(*words, **how):
    return static(*words, solver="pcs", **how)


def view_experts(*words, **how):
    return experts(*words, solver="pcs", **how)


def dynamic_form(*abstractions):
    plan = Stitching("dynamic", "prefix(r)", inside=abstractions)
    return target_of(LEDUC, None, plan, Solving("pcs")).experts()[0].game


def base_of(name, iterations=300):
    return kibitz.solve(name, "pcs", abstraction=COARSE, iterations=iterations)


@pytest.mark.slow
def test_a_static_expert_solves_its_part():
    """S=N with all hands told apart: where the base is frozen, what is left for best responses is small."""
    base = base_of(LEDUC)
    found = static_views(LEDUC, base, "prefix(r, cr)", "all", FINE, iterations=3000)
    rules = game(LEDUC)
    parts = views.betting_parts(rules, "prefix(r, cr)").part
    held = views.base_of(rules, base)
    whole = PokerForm(rules)
    probabilities, moves = np.empty(whole.columns), np.zeros(len(whole.infosets.labels), bool)
    nodes, classes = whole.infosets.order()
    for i, (node, cls) in enumerate(zip(nodes.tolist(), classes.tolist(), strict=True)):
        a, b = whole.infosets.first[i : i + 2]
        layout = found.infosets.form
        view = layout.views[layout.of_node[node]]
        level = int(rules.betting.round[node])
        bucket = hand_buckets(rules.definition, view.name).classes(whole.cards)[level][cls]
        probabilities[a:b] = layout.at(found.probabilities, node)[bucket]
        moves[i] = parts[node] > 0
        if not moves[i]:
            np.testing.assert_array_equal(layout.at(found.probabilities, node), held.played(node))
    gap = solve_through(whole, "cfr+", iterations=0, start=Profile(whole.infosets, probabilities, {}),
                       rows=whole.freeze(moves, probabilities)).meta["nash_conv"]  # fmt: skip
    assert gap < 0.05, "of the game in which only the parts move"
    assert 0 < found.meta["stitch"]["size"] < len(whole.infosets.labels)


@pytest.mark.parametrize("seats", ["each", "all"])
def test_a_stitched_profile_is_kept_measured_and_played(tmp_path, seats):
    base = base_of(RHODE, 20)
    inside = {"r": "percentile(3)", "cr": "percentile(3, recall=false)"}
    found = static_views(RHODE, base, "prefix(r, cr)", seats, inside, iterations=10, keep=tmp_path / "experts")
    files = sorted(path.name for path in (tmp_path / "experts").glob("*.profile"))
    assert files == (["cr-01.profile", "r-01.profile"] if seats == "all" else
                     ["cr-0.profile", "cr-1.profile", "r-0.profile", "r-1.profile"])  # fmt: skip
    found.save(tmp_path / "a.profile")
    again = Profile.load(tmp_path / "a.profile")
    assert again.sha256 == found.sha256 and [v.name for v in again.infosets.form.views] == [
        "percentile(buckets=2)", "percentile(buckets=3)", "percentile(buckets=3, recall=false)"
    ]  # fmt: skip
    worth = measured(game(RHODE), again)
    assert worth.nash_conv > 0
    with pytest.raises(GameError, match="--whole"):
        kibitz.evaluate.report(RHODE, again)
    # A match agrees with the exact value over all boards.
    first, second = against(game(RHODE), again, base)
    base.save(tmp_path / "b.profile")
    played = kibitz.match(RHODE, str(tmp_path / "a.profile"), str(tmp_path / "b.profile"), deals=40_000)
    assert abs(played.mean - (first + second) / 2) < 4 * played.error


def test_what_was_solved_is_not_solved_again(tmp_path, monkeypatch):
    base = base_of(LEDUC, 10)
    first = static_views(LEDUC, base, "prefix(r, cr)", "all", FINE, iterations=5, keep=tmp_path)
    monkeypatch.setattr(folder, "solve_through", None)
    second = static_views(LEDUC, base, "prefix(r, cr)", "all", FINE, iterations=5, keep=tmp_path)
    assert (first.probabilities == second.probabilities).all()
    with pytest.raises(GameError, match="another base"):
        static_views(LEDUC, base_of(LEDUC, 11), "prefix(r, cr)", "all", FINE, iterations=5, keep=tmp_path)


def test_opponents_of_a_graft_keep_the_buckets_of_the_base(tmp_path):
    """Node by node: a graft sees its part through its own buckets, its opponent all through the base's."""
    rules, base, partition = game(LEDUC), base_of(LEDUC, 50), "prefix(r, cr)"
    part, turn = views.betting_parts(rules, partition).part, rules.betting.turn
    held = views.base_of(rules, base)
    coarse, fine = (hand_buckets(rules.definition, spec) for spec in (COARSE, FINE))
    grafts = view_experts(LEDUC, base, partition, "each", FINE, opponents="base")
    found = static_views(LEDUC, base, partition, "each", FINE, opponents="base", iterations=20, keep=tmp_path)
    assert [(graft.name, graft.keeps) for graft in grafts] == [("r", (0,)), ("r", (1,)), ("cr", (0,)), ("cr", (1,))]
    source = {}
    for graft in grafts:
        (seat,) = graft.keeps
        answer, size = Profile.load(tmp_path / f"{graft.file}.profile"), 0
        for node in np.flatnonzero(turn >= 0).tolist():
            mine = part[node] == graft.part and turn[node] == seat
            buckets = fine if mine else coarse
            rows = buckets.counts[rules.betting.round[node]]
            assert graft.game.views[graft.game.of_node[node]].digest == buckets.digest
            assert len(graft.game.at(answer.probabilities, node)) == rows
            assert graft.game.moving[node] == (mine or turn[node] != seat)
            size += rows * bool(graft.game.moving[node])
            if mine:
                source[node] = graft.game.at(answer.probabilities, node)
        assert graft.size == size
    layout = found.infosets.form
    for node in np.flatnonzero(turn >= 0).tolist():
        expected = source[node] if part[node] else held.played(node)
        np.testing.assert_array_equal(layout.at(found.probabilities, node), expected)
    # With the base's buckets inside there is no difference.
    same = [view_experts(LEDUC, base, partition, "each", COARSE, opponents=whose) for whose in views.OPPONENTS]
    assert all(a.game.tree_digest == b.game.tree_digest for a, b in zip(*same, strict=True))
    with pytest.raises(SolverError, match="inside or base"):
        view_experts(LEDUC, base, partition, "each", FINE, opponents="outside")


def test_a_dynamic_game_has_a_view_for_each_part():
    form = dynamic_form(COARSE, FINE)
    after = views.betting_parts(game(LEDUC), "prefix(r)").part > 0
    assert (form.of_node[form.deciding] == after[form.deciding]).all()
    assert form.points == form.size == int(form.rows.sum())
    answer = kibitz.solve(form, "pcs", iterations=200)
    assert measured(game(LEDUC), answer).nash_conv < 1.5


def test_one_view_for_all_is_a_profile_of_buckets():
    rules = game(LEDUC)
    form = dynamic_form(COARSE, COARSE)
    assert len(form.views) == 1 and form.infosets.same(base_of(LEDUC, 1).infosets)
    assert not ViewForm(rules, [hand_buckets(rules.definition, "percentile(2, recall=false)")]).perfect_recall
    assert random_probabilities(form, 1).shape == (form.columns,)


@pytest.mark.parametrize("recall", [True, False])
def test_the_finest_buckets_within_a_limit(recall):
    rules = game("poker(file=holdem.limit.2p)")
    decisions = decisions_of(rules.betting)
    assert decisions == [8, 70, 630, 5670]
    for limit in (6378, 100_000, 24_000_000, 797_000_000):
        found = finest(decisions, limit, recall)
        assert infosets_of(decisions, found, recall) <= limit
        assert max(found) - min(found) <= 1 and sorted(found, reverse=True) == found
        assert all(infosets_of(decisions, [n + (k == 3) for k, n in enumerate(found)], recall) > limit for _ in [0])
    assert finest(decisions, 24_000_000) == [8, 8, 8, 8]
    assert percentile_spec([8, 8]) == "percentile(8)"
    assert percentile_spec([9, 8], False) == "percentile([9, 8], recall=false)"
    with pytest.raises(SolverError, match="one bucket a round"):
        finest(decisions, 6377)


@pytest.mark.parametrize(
    ("partition", "inside", "sentence"),
    [
        ("private(J)", FINE, "prefix"), ("prefix(r, cr)", {"r": FINE}, "'cr'"), ("prefix(rrrrr)", FINE, "no decision"),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(partition, inside, sentence):
    base = base_of(LEDUC, 1)
    with pytest.raises(SolverError, match=sentence):
        view_experts(LEDUC, base, partition, "all", inside)
    with pytest.raises(GameError, match="in buckets"):
        view_experts(LEDUC, kibitz.solve("kuhn"), "prefix(r)")
    with pytest.raises(SolverError, match="for two"):
        views.poker_of("leduc")


def test_sizes_are_known_before_the_base_is_solved():
    words = ["stitch", LEDUC, "--base", COARSE, "--partition", "prefix(r, cr)", "--inside", FINE, "--solver", "pcs"]
    for opponents in views.OPPONENTS:
        found = CliRunner().invoke(app, [*words, "--opponents", opponents, "--dry-run", "--json"])
        assert found.exit_code == 0, found.output
        sizes = [each["size"] for each in json.loads(found.output)["experts"]]
        built = view_experts(LEDUC, base_of(LEDUC, 1), "prefix(r, cr)", "each", FINE, opponents=opponents)
        assert sizes == [each.size for each in built]


def test_two_runs_in_one_folder_refuse_each_other(tmp_path):
    form = dynamic_form(COARSE, FINE)
    words = ["stitch", LEDUC, "--kind", "dynamic", "--base", COARSE, "--partition", "prefix(r)", "--inside", FINE]
    words += ["--solver", "pcs", "--iterations", "2", "--work", str(tmp_path)]
    with folder.taken(tmp_path / "dynamic.lock") as mine:
        assert mine
        assert folder.solved(form, "pcs", tmp_path / "dynamic", iterations=2) is None
        refused = CliRunner().invoke(app, words)
        assert refused.exit_code and "another run is at work" in f"{refused.output}{refused.exception}"
    assert folder.solved(form, "pcs", tmp_path / "dynamic", iterations=2) is not None
    assert CliRunner().invoke(app, words).exit_code == 0
