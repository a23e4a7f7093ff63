"""Games that are too large for a form of their own, solved with buckets by name: from the command line to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import kibitz
from kibitz.cli import app
from kibitz.core.errors import GameError, KibitzError, SolverError
from kibitz.poker.bucketed import build
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.exact import layout
from kibitz.solvers import RunOptions

GAME, BUCKETS = "rhode_island(ranks=4)", "percentile(3)"


@pytest.fixture
def too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no game had a poker form."""
    monkeypatch.setattr(layout, "MOST_CLASSES", 1)


def call(*words: str) -> Any:
    found = CliRunner().invoke(app, [*words, "--json"])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_a_game_that_is_too_large_is_solved_within_buckets(too_large: None, tmp_path: Path) -> None:
    path, cut = tmp_path / "a.profile", tmp_path / "a.checkpoint"
    words = ["solve", GAME, "--abstraction", BUCKETS, "--solver", "dcfr+", "--checkpoint", str(cut)]
    assert "nash_conv" not in call(*words, "--iterations", "30")
    found = call(*words[:6], "--resume", str(cut), "--iterations", "100", "--out", str(path))
    assert found["abstraction"] == "percentile(buckets=3)" and found["abstract_nash_conv"] < 1.0
    assert "nash_conv" not in found  # of the game itself nobody knows it
    told = CliRunner().invoke(app, ["solve", GAME, "--abstraction", BUCKETS, "--iterations", "5"])
    assert "not measured: the game is too large" in told.output
    profile = kibitz.Profile.load(path)
    assert profile.meta["abstract_nash_conv"] == found["abstract_nash_conv"]
    assert kibitz.nash_conv(GAME, profile) == pytest.approx(found["abstract_nash_conv"], rel=1e-3)
    measured = call("evaluate", str(path))
    assert measured["nash_conv"] == pytest.approx(kibitz.nash_conv(GAME, profile))
    shown = CliRunner().invoke(app, ["show", str(path), "--top", "2"])
    assert shown.exit_code == 0 and "bucket 0:" in shown.output
    same = kibitz.solve(GAME, "dcfr+", abstraction=BUCKETS, iterations=100)
    np.testing.assert_array_equal(same.probabilities, profile.probabilities)


def test_a_damaged_profile_is_refused(too_large: None, tmp_path: Path) -> None:
    path = tmp_path / "a.profile"
    kibitz.solve(GAME, abstraction=BUCKETS, iterations=2).save(path)
    manifest = json.loads((path / "manifest.json").read_text())
    for change in ({"buckets_digest": "0" * 64}, {"poker": "GAMEDEF"}, {"buckets": "percentile(4)"}):
        manifest_now = {**manifest, "meta": {**manifest["meta"], **change}}
        (path / "manifest.json").write_text(json.dumps(manifest_now))
        with pytest.raises(KibitzError):
            kibitz.nash_conv(GAME, kibitz.Profile.load(path))


def test_another_game_is_not_measured(too_large: None) -> None:
    profile = kibitz.solve(GAME, abstraction=BUCKETS, iterations=2)
    with pytest.raises(GameError, match="made for another game"):
        kibitz.nash_conv("rhode_island(ranks=5)", profile)


@pytest.mark.slow
def test_the_form_is_chosen_by_what_it_costs() -> None:
    """Few buckets by their weights, and lifted to the game; forgetting buckets by hands."""
    from kibitz.forms.choice import compact_form
    from kibitz.poker.resolve import abstracted_form

    form = compact_form(kibitz.game("rhode_island(ranks=4)"))
    few = abstracted_form(form, BUCKETS)
    assert isinstance(few.subject, BucketForm)
    assert not isinstance(abstracted_form(form, "percentile(3, recall=false)").subject, BucketForm)
    profile = kibitz.solve("rhode_island(ranks=4)", "dcfr+", abstraction=BUCKETS, iterations=60)
    by_hands = form.bucketed(kibitz_classes(form))
    slow = kibitz.solve(by_hands, "dcfr+", iterations=60)
    assert profile.meta["abstract_nash_conv"] == pytest.approx(slow.meta["nash_conv"], rel=0.05)
    assert profile.infosets.columns == form.columns  # one of the game itself
    with pytest.raises(SolverError, match="leave it out"):
        abstracted_form(form, "gameshrink", "gpu")


def kibitz_classes(form: Any) -> Any:
    from kibitz.poker.buckets.buckets import hand_buckets

    return hand_buckets(form.definition, BUCKETS).classes(form.cards)


def test_what_it_will_cost_is_told() -> None:
    found = call("info", GAME, "--abstraction", BUCKETS)
    assert found["buckets"][0] == 3 and found["iteration_seconds"] > 0 and found["bytes"]["solve"] > 0
    assert found["weights"]["state"] == "quick"
    told = CliRunner().invoke(app, ["info", "leduc", "--abstraction", BUCKETS])
    assert told.exit_code == 2 and "percentile" in told.output


def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch, too_large: None) -> None:
    monkeypatch.setattr(build.Device, "free", lambda self: 1000)
    with pytest.raises(SolverError, match="take fewer buckets"):
        kibitz.solve(GAME, abstraction=BUCKETS, iterations=1)


def test_a_device_without_buckets_is_a_sentence() -> None:
    told = CliRunner().invoke(app, ["solve", "kuhn", "--device", "tpu"])
    assert told.exit_code == 2 and "choose cpu or gpu" in told.output
    with pytest.raises(SolverError, match="device gpu is for poker in perfect-recall buckets"):
        kibitz.solve("rhode_island(ranks=4)", abstraction="gameshrink", run=RunOptions(device="gpu"))
