"""Profiles: reading them, saving them, and artefacts that lie."""

from __future__ import annotations

import hashlib
import itertools
import json

import numpy as np
import pytest
from random_games import Nested, RandomGame, choice, edge_cases, end

import kibitz
from kibitz import evaluate
from kibitz.core import store
from kibitz.core.errors import ArtefactError, GameError, KibitzError
from kibitz.forms.profile import KIND, Profile
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers.run import solve


@pytest.fixture(scope="module")
def kuhn():
    return solve("kuhn", "cfr+", iterations=30)


def test_reading(kuhn):
    row = kuhn[0, "Q:pb"]
    assert list(row) == ["pass", "bet"] and sum(row.values()) == pytest.approx(1)
    assert all(type(p) is float for p in row.values())
    assert kuhn[np.int64(1), "J:p"] == dict(kuhn.items(1))["J:p"]
    assert [label for label, _ in kuhn.items(0)] == kuhn.infosets.labels[:6]
    assert kuhn.seats == 2 and kuhn.game == "kuhn"
    assert kuhn.meta["solver"] == "cfr+" and kuhn.meta["iterations"] == 30


def test_reading_what_is_not_there(kuhn):
    with pytest.raises(GameError, match=r"seat 1 has no infoset 'J:'; near ones are .*'J:p'"):
        kuhn[1, "J:"]
    with pytest.raises(GameError, match="there is no seat 2: seats are 0 to 1"):
        kuhn[2, "J:"]
    with pytest.raises(GameError, match="there is no seat -1"):
        kuhn[-1, "J:"]
    for key in (0, "J:", (0,), (0, "J:", 1), ("zero", "J:"), (0.5, "J:")):
        with pytest.raises(GameError, match=r"profile\[seat, infoset\]"):
            kuhn[key]
    for seat in (2, -1, 7):
        with pytest.raises(GameError, match="seats are 0 to 1"):
            list(kuhn.items(seat))


def test_a_profile_cannot_be_changed(kuhn):
    with pytest.raises(ValueError, match="read-only"):
        kuhn.probabilities[0] = 1.0
    with pytest.raises(AttributeError):
        kuhn.probabilities = None


def games():
    for text in ("kuhn", "kuhn(players=3)", "leduc(ranks=2, cap=1)", "goofspiel(num_cards=3)"):
        yield kibitz.game(text)
    yield from edge_cases().values()
    yield from (RandomGame(seed, 2, recall=("perfect", "nothing")[seed % 2]) for seed in range(6))
    yield Nested(2, choice(0, "\N{SNOWMAN}\0\n ' \" 日本", end(1, -1), end(0, 0)))
    yield Nested(2, choice(0, ("a", 1), end(1, -1), end(0, 0)))
    yield Nested(2, (0, "numbers", ((3, end(1, -1)), (-1, end(0, 0)))))


def test_saved_and_loaded(tmp_path):
    for number, game in enumerate(games()):
        tree = tree_of(game)
        profile = solve(tree, "cfr+", iterations=3)
        path = tmp_path / f"{number}.profile"
        profile.save(path)
        back = Profile.load(path)
        assert back.probabilities.tobytes() == profile.probabilities.tobytes()
        assert back.sha256 == profile.sha256 == solve(tree, "cfr+", iterations=3).sha256
        assert dict(back.meta) == dict(profile.meta)
        assert back.infosets.labels == profile.infosets.labels and back.infosets.actions == profile.infosets.actions
        for name in ("seat_start", "first", "actions_of"):
            assert np.array_equal(getattr(back.infosets, name), getattr(profile.infosets, name))
        assert evaluate.nash_conv(game, back) == evaluate.nash_conv(game, profile)
        assert kibitz.load(str(path)).sha256 == profile.sha256
        assert not back.probabilities.flags.writeable


def test_the_digest_is_of_the_strategy_alone(kuhn, tmp_path):
    again = solve("kuhn", "cfr+", iterations=30, seed=77)
    assert again.sha256 == kuhn.sha256
    kuhn.save(tmp_path / "a")
    other = kuhn.replaced(kuhn.probabilities.copy(), note="x")
    assert other.sha256 == kuhn.sha256
    changed = kuhn.probabilities.copy()
    changed[:2] = changed[1::-1] + 0.0
    assert kuhn.replaced(changed).sha256 != kuhn.sha256
    assert len(kuhn.sha256) == 64


def test_an_older_profile_is_replaced(kuhn, tmp_path):
    kuhn.save(tmp_path / "p")
    later = solve("kuhn", "cfr+", iterations=60)
    later.save(tmp_path / "p")
    assert Profile.load(tmp_path / "p").sha256 == later.sha256


def test_what_is_not_a_profile(tmp_path):
    with pytest.raises(ArtefactError, match="no saved profile"):
        Profile.load(tmp_path / "nothing")
    store.save(tmp_path / "other", "checkpoint", {"x": np.zeros(1)}, {})
    with pytest.raises(ArtefactError, match="holds a checkpoint, not a profile"):
        Profile.load(tmp_path / "other")


# Artefacts whose parts are each whole and do not fit together: written with the store, so every hash is right.


def tampered(profile, path, arrays=None, meta=None):
    content, notes = profile._arrays(), profile._meta()
    for name, change in (arrays or {}).items():
        content[name] = change(content[name].copy())
    for name, change in (meta or {}).items():
        notes[name] = change(notes[name])
    store.save(path, KIND, content, notes)


def put(index, x):
    def change(array):
        array[index] = x
        return array

    return change


def text(*labels):
    return lambda _: store.pack_strings(labels)[0]


LIES = {
    "a negative probability": ({"probabilities": put(slice(0, 2), [1.5, -0.5])}, {}),
    "no number": ({"probabilities": put(0, np.nan)}, {}),
    "infinity": ({"probabilities": put(0, np.inf)}, {}),
    "a sum above one": ({"probabilities": put(slice(0, 2), [0.6, 0.6])}, {}),
    "a sum of zero": ({"probabilities": put(slice(0, 2), [0.0, 0.0])}, {}),
    "too few probabilities": ({"probabilities": lambda p: p[:-2]}, {}),
    "too many probabilities": ({"probabilities": lambda p: np.append(p, [0.5, 0.5])}, {}),
    "a table of probabilities": ({"probabilities": lambda p: p.reshape(-1, 2)}, {}),
    "no probabilities": ({"probabilities": lambda p: p[:0]}, {}),
    "one seat more": ({"seat_start": lambda s: np.append(s, s[-1] + 1).astype(np.int32)}, {}),
    "no seats": ({"seat_start": lambda s: s[:1]}, {}),
    "seats that go back": ({"seat_start": put(1, 13)}, {}),
    "seats that start late": ({"seat_start": put(0, 1)}, {}),
    "seats as fractions": ({"seat_start": lambda s: s + 0.25}, {}),
    "seats that are no numbers": ({"seat_start": lambda s: np.where(s > 5, np.nan, s)}, {}),
    "seats that wrap around": ({"seat_start": lambda s: s.astype(np.int64) + (np.arange(3) // 2 << 32)}, {}),
    "columns that go back": ({"first": put(3, 2)}, {}),
    "columns that start late": ({"first": put(0, 1)}, {}),
    "columns far away": ({"first": put(-1, 1 << 60)}, {}),
    "columns as fractions": ({"first": lambda f: f + 0.0}, {}),
    "columns that are no numbers": ({"first": lambda f: np.where(f > 5, np.nan, f)}, {}),
    "too few columns": ({"first": lambda f: f[:-1]}, {}),
    "a table of columns": ({"first": lambda f: f[None]}, {}),
    "unknown actions": ({"actions_of": put(0, 7)}, {}),
    "actions before the first": ({"actions_of": put(0, -1)}, {}),
    "actions for fewer infosets": ({"actions_of": lambda a: a[:-1]}, {}),
    "one label less": ({"label_offsets": lambda o: np.delete(o, 3)}, {}),
    "labels that go back": ({"label_offsets": put(2, 0)}, {}),
    "labels that end early": ({"label_offsets": put(-1, 3)}, {}),
    "labels that are no text": ({"labels": put(0, 0xFF)}, {}),
    "two infosets with one label": (
        {"labels": text(*["same"] * 12), "label_offsets": lambda o: np.arange(13, dtype=np.int64) * 4}, {}),
    "no list of actions": ({}, {"actions": lambda a: None}),
    "actions as a number": ({}, {"actions": lambda a: 3}),
    "actions as text": ({}, {"actions": lambda a: "ab"}),
    "actions as a table": ({}, {"actions": lambda a: {"pass": 0, "bet": 1}}),
    "an action list that is text": ({}, {"actions": lambda a: ["pb"]}),
    "an action list that is a table": ({}, {"actions": lambda a: [{"pass": 0, "bet": 1}]}),
    "no actions": ({}, {"actions": lambda a: []}),
    "an empty list of actions": ({}, {"actions": lambda a: [[]]}),
    "one action more": ({}, {"actions": lambda a: [[*a[0], "fold"]]}),
    "the same action twice": ({}, {"actions": lambda a: [["pass", "pass"]]}),
    "actions that are lists": ({}, {"actions": lambda a: [[["pass"], ["bet"]]]}),
    "actions that are fractions": ({}, {"actions": lambda a: [[0.5, 1.5]]}),
    "actions that are nothing": ({}, {"actions": lambda a: [[None, "bet"]]}),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_lies(name, kuhn, tmp_path):
    arrays, meta = LIES[name]
    tampered(kuhn, tmp_path / "p", arrays, meta)
    with pytest.raises(ArtefactError) as caught:
        Profile.load(tmp_path / "p")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["probabilities", "seat_start", "first", "actions_of", "labels", "label_offsets"])
def test_a_missing_array(name, kuhn, tmp_path):
    content = kuhn._arrays()
    del content[name]
    store.save(tmp_path / "p", KIND, content, kuhn._meta())
    with pytest.raises(ArtefactError, match="is not a complete profile"):
        Profile.load(tmp_path / "p")


def test_arrays_of_any_other_type_or_shape(kuhn, tmp_path):
    """Every array replaced by one of each type, and by some odd shapes: refused, or the same profile."""
    for name, dtype in itertools.product(kuhn._arrays(), store.DTYPES):
        with np.errstate(invalid="ignore", over="ignore"):
            tampered(kuhn, tmp_path / "p", {name: lambda a, d=dtype: a.astype(d)})
        try:
            back = Profile.load(tmp_path / "p")
        except ArtefactError:
            continue
        assert back.probabilities.tobytes() == kuhn.probabilities.tobytes(), (name, dtype)
        assert back.infosets.labels == kuhn.infosets.labels
    for name in kuhn._arrays():
        for change in (lambda a: a[:0], lambda a: a[None], lambda a: np.append(a, a), lambda a: a[:1]):
            tampered(kuhn, tmp_path / "q", {name: change})
            with pytest.raises(ArtefactError):
                Profile.load(tmp_path / "q")


def test_a_changed_byte_is_noticed(kuhn, tmp_path):
    kuhn.save(tmp_path / "p")
    for file in sorted((tmp_path / "p").iterdir()):
        whole = file.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(ArtefactError):
                Profile.load(tmp_path / "p")
        file.write_bytes(whole)
    assert Profile.load(tmp_path / "p").sha256 == kuhn.sha256


def test_meta_of_odd_types_does_no_harm(kuhn, tmp_path):
    """Notes that only tell where a profile comes from may say anything; evaluation trusts none of them."""
    for odd in (None, 3, [], {}, "x" * 1000):
        tampered(kuhn, tmp_path / "p", {}, {k: (lambda _, o=odd: o) for k in ("game", "tree", "solver", "iterations")})
        back = Profile.load(tmp_path / "p")
        assert isinstance(back.game, str)
        with pytest.raises(KibitzError):
            evaluate.value("kuhn", back)
        with pytest.raises(KibitzError):
            solve("kuhn", "cfr+", iterations=1, start=back)


def test_a_game_without_a_name_must_be_given_to_openspiel():
    profile = solve(Nested(2, choice(0, "x", end(1, -1), end(0, 0))), "cfr+", iterations=1)
    with pytest.raises(GameError, match="has no name"):
        profile.to_openspiel("kuhn_poker")


def test_manifests_do_not_grow_with_the_game(tmp_path):
    profile = solve("leduc", "cfr+", iterations=1)
    profile.save(tmp_path / "p")
    assert len((tmp_path / "p" / "manifest.json").read_bytes()) < 5000
    manifest = json.loads((tmp_path / "p" / "manifest.json").read_text())
    assert hashlib.sha256(profile.probabilities.tobytes()).hexdigest() == manifest["arrays"]["probabilities"]["sha256"]


def test_surrogates_cannot_be_saved_but_say_so(tmp_path):
    profile = solve(lay_out(Nested(2, choice(0, "\ud800", end(1, -1), end(0, 0)))), "cfr+", iterations=1)
    with pytest.raises(ArtefactError, match="surrogate"):
        profile.save(tmp_path / "p")


@pytest.mark.parametrize("steps", [1, 3, 255])
def test_rounded_profiles_are_kept_in_bytes(tmp_path, steps):
    profile = solve("leduc", "cfr+", iterations=30)
    found = profile.rounded(steps)
    whole = found.probabilities * steps
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-12)
    assert np.abs(found.probabilities - profile.probabilities).max() < 1.0 / steps
    sums = np.add.reduceat(found.probabilities, found.infosets.first[:-1])
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    found.save(tmp_path / "a.profile")
    held = store.load(tmp_path / "a.profile", KIND)
    assert held.arrays["probabilities"].dtype == np.uint8
    again = Profile.load(tmp_path / "a.profile")
    assert again == found and again.sha256 == found.sha256
    assert (found.rounded(steps).probabilities == found.probabilities).all()
    other = again.replaced(profile.probabilities)
    other.save(tmp_path / "b.profile")
    assert Profile.load(tmp_path / "b.profile") == profile


def test_bytes_without_steps_are_refused(tmp_path):
    profile = solve("kuhn", iterations=2).rounded()
    arrays, meta = profile._arrays(), profile._meta()
    for steps in (None, 0, 256, "255", True):
        store.save(tmp_path / "a.profile", KIND, arrays, {**meta, "steps": steps})
        with pytest.raises(ArtefactError, match="not a complete profile"):
            Profile.load(tmp_path / "a.profile")
    with pytest.raises(GameError, match="steps=0"):
        profile.rounded(0)
