"""Profiles of poker games: saved, loaded, damaged."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from poker_games import GAMES, coarse, labels_of, pair

from kibitz import evaluate
from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.exact.infosets import PokerInfosets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.run import solve

# Profiles


def made_profile(name="leduc"):
    game = Poker({**GAMES, "leduc": acpc.read("leduc")}[name])
    return game, solve(game, "cfr+", iterations=25)


@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "reverse blinds"])
def test_profiles_come_back(tmp_path, name):
    game, profile = made_profile(name)
    profile.save(tmp_path / "one.profile")
    again = Profile.load(tmp_path / "one.profile")
    assert isinstance(again.infosets, PokerInfosets)
    assert again.probabilities.tobytes() == profile.probabilities.tobytes()
    assert again.meta == profile.meta and again.sha256 == profile.sha256
    assert again.infosets.labels[:] == profile.infosets.labels[:]
    assert evaluate.report(game, again) == evaluate.report(game, profile)
    assert evaluate.report(game, again)["nash_conv"] == pytest.approx(profile.meta["nash_conv"], rel=1e-9)
    if again.game:
        assert evaluate.report(again.game, again) == evaluate.report(game, profile)
    both = pair(name)
    for i, (seat, label) in enumerate(labels_of(both.tree.infosets)):
        assert (
            list(again[seat, label].values())
            == again.probabilities[again.infosets.first[both.of[i]] : again.infosets.first[both.of[i] + 1]].tolist()
        )
    response = evaluate.best_response(game, again, 1)
    assert evaluate.value(game, response.profile)[1] == pytest.approx(response.value, abs=1e-12 * both.scale)
    assert [label for label, _ in again.items(1)] == [label for seat, label in labels_of(again.infosets) if seat]


def test_profiles_of_another_game_are_refused():
    _, profile = made_profile("leduc")
    for other in ("reverse blinds", "hands of two"):
        with pytest.raises(GameError, match="another game"):
            evaluate.nash_conv(Poker(GAMES[other]), profile)
    for other in (pair("leduc").tree, coarse("leduc").form):
        with pytest.raises(GameError, match="another game"):
            evaluate.nash_conv(other, profile)


def damaged(name):
    """(arrays, meta) of a saved profile, with something wrong."""
    _, profile = made_profile("leduc")
    arrays, meta = {"probabilities": profile.probabilities.copy()}, dict(profile._meta())
    wrong = arrays["probabilities"]
    match name:
        case "too short":
            arrays["probabilities"] = wrong[:-1].copy()
        case "two-dimensional":
            arrays["probabilities"] = wrong[:, None].copy()
        case "float32":
            arrays["probabilities"] = wrong.astype(np.float32)
        case "nan":
            wrong[5] = np.nan
        case "negative":
            wrong[0] += 1.0 + wrong[1]
            wrong[1] = -1.0
        case "sum":
            wrong[3] += 1e-6
        case "no probabilities":
            arrays = {"other": wrong}
        case "another game":
            meta["poker"] = acpc.write(acpc.read("kuhn"))
        case "no game":
            meta["poker"] = "GAMEDEF"
        case "not text":
            meta["poker"] = 7
        case "three players":
            meta["poker"] = acpc.write(acpc.read("holdem.limit.3p"))
        case "a huge game":
            meta["poker"] = acpc.write(acpc.read("holdem.limit.2p"))
        case "a game without end":
            meta["poker"] = acpc.write(acpc.read("holdem.nolimit.2p"))
        case "no actions":
            del meta["actions"]
    return arrays, meta


@pytest.mark.parametrize(
    "name",
    ["too short", "two-dimensional", "float32", "nan", "negative", "sum", "no probabilities", "another game", "no game",
     "not text", "three players", "a huge game", "a game without end", "no actions"],
)  # fmt: skip
def test_damaged_profiles_are_refused(tmp_path, name):
    from kibitz.core import store

    arrays, meta = damaged(name)
    store.save(tmp_path / "x.profile", "profile", arrays, meta)
    began = time.process_time()
    with pytest.raises(ArtefactError):
        Profile.load(tmp_path / "x.profile")
    assert time.process_time() - began < 20.0


def test_bytes_that_changed_are_refused(tmp_path):
    _, profile = made_profile("kuhn")
    path = tmp_path / "x.profile"
    profile.save(path)
    manifest = json.loads((path / "manifest.json").read_text())
    arrays = [file for file in path.rglob("*") if file.is_file() and file.name != "manifest.json"]
    assert manifest and len(arrays) == 1  # the definition says all else
    held = bytearray(arrays[0].read_bytes())
    held[-3] ^= 1
    arrays[0].write_bytes(bytes(held))
    with pytest.raises(ArtefactError):
        Profile.load(path)


@pytest.mark.parametrize("name", ["leduc", "rounds without cards"])
def test_profiles_of_buckets_do_not_come_back_as_another(tmp_path, name):
    """A form with buckets has other infosets: they are kept, or saving or loading says that they are not."""
    plain = pair(name).form
    form = PokerForm(Poker(plain.definition), buckets=[np.arange(r.classes) for r in plain.cards.rounds])
    profile = solve(form, "cfr+", iterations=20)
    try:
        profile.save(tmp_path / "x.profile")
        again = Profile.load(tmp_path / "x.profile")
    except (GameError, SolverError, ArtefactError) as error:
        assert "bucket" in str(error).replace(str(tmp_path), "")
        return
    assert again.infosets.labels[:] == profile.infosets.labels[:]
