"""Buckets of hands where poker is walked and played: keys, training, files, and profiles within buckets as players."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from bucketed import random_buckets
from bucketed import rules as small_rules

import kibitz
from kibitz.core.errors import ArtefactError, GameError, SpecError
from kibitz.forms.kernels.cfr import Rule
from kibitz.forms.profile import Profile
from kibitz.play.agents import profile_agent
from kibitz.play.conformance import CHECKS, Subject, run_check
from kibitz.poker.bucketed.cfr_state import BucketCfrState
from kibitz.poker.bucketed.form import BucketForm
from kibitz.poker.bucketed.weights import joint_weights
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.hand_buckets import HandBuckets, RoundBuckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.kernels.buckets import RAW, buckets
from kibitz.poker.rules.kernels.machine import join_buckets
from kibitz.poker.rules.kernels.machine import keys as keys_at
from kibitz.poker.rules.rules import Poker
from kibitz.poker.rules.views import bucket_view, plain_view, seen_cards
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.kernels.hash import look_up
from kibitz.solvers.saved_blueprints import load_blueprint


def limit(players: int, suits: int, ranks: int, hole: int, board: tuple[int, ...], raises: int = 1) -> Poker:
    rounds = len(board)
    return Poker(
        Definition(True, players, rounds, None, (1,) * players, (2,) * rounds, (0,) * rounds, (raises,) * rounds,
                   suits, ranks, hole, board)
    )  # fmt: skip


@cache
def rules(name: str) -> Poker:
    if name in ("rhode_island", "leduc", "holdem.limit.2p"):
        return Poker(acpc.read(name), name if name == "rhode_island" else f"poker(file={name})")
    return {
        "hold'em of 20 cards": lambda: limit(2, 4, 5, 2, (0, 3, 1)),
        "three seats": lambda: limit(3, 3, 4, 1, (0, 1, 1)),
        "a round without cards": lambda: limit(2, 3, 3, 1, (1, 0, 1)),
        "two at once, two suits": lambda: limit(2, 2, 6, 2, (0, 2, 2)),
    }[name]()


def dealt(known: Definition, level: int, count: int, seed: int = 1) -> np.ndarray:
    """Private cards and the board so far, by any names of suits and in any order."""
    rng, size = np.random.default_rng(seed), known.hole + sum(known.board[: level + 1])
    return np.array([rng.permutation(known.deck)[:size] for _ in range(count)], np.uint8)


# Keys


@pytest.mark.parametrize("spec", ["percentile(3)", "percentile(4, recall=false)"])
@pytest.mark.parametrize("name", ["rhode_island", "hold'em of 20 cards", "three seats", "a round without cards",
                                  "two at once, two suits"])  # fmt: skip
def test_a_key_is_one_of_a_node_and_a_bucket(name: str, spec: str) -> None:
    machine = rules(name).machine()
    made, view = hand_buckets(machine.definition, spec), machine.view(spec)
    assert view.name == made.name and machine.view(spec) is view
    for level in range(machine.definition.rounds):
        cards = dealt(machine.definition, level, 400)
        hole, want = machine.definition.hole, made.of(level, cards).astype(np.uint64)
        inside = np.flatnonzero((machine.betting.turn >= 0) & (machine.betting.round == level))
        for node in inside[[0, -1]].tolist():
            seat = int(machine.betting.turn[node])
            states = machine.states(cards[:, hole:], cards[:, :hole], seat)
            states[:, 0] = node
            found, expected = np.zeros((2, len(cards)), np.uint64)
            keys_at(machine.game, view.keys, states, found)
            join_buckets(want, np.full(len(cards), node, np.uint64), expected)
            np.testing.assert_array_equal(found, expected)


def test_cuts_by_strength_are_looked_up() -> None:
    """In a last round without a table, where hands are counted that a hand beats."""
    before = random_buckets(small_rules("flop hold'em of 12 cards"), 3, 2)[0]
    first, known = before.rounds[0], small_rules("flop hold'em of 12 cards").definition
    for parent in (np.repeat(np.arange(first.count), 3), np.full(3, -1)):
        least = np.tile([0, 9, 24], len(parent) // 3)
        cut = HandBuckets("cut", before.boards, 2, (first, RoundBuckets(len(parent), parent, None, least)))
        cards, found = dealt(known, 1, 500), np.zeros(500, np.uint64)
        for _ in range(2):  # the second time from the memo
            buckets(bucket_view(cut), seen_cards(cards), 1, found)
            np.testing.assert_array_equal(found.astype(np.int64), cut.of(1, cards))


@pytest.mark.slow
def test_keys_of_holdem() -> None:
    known = rules("holdem.limit.2p").definition
    made = hand_buckets(known, "percentile(8)")
    view = bucket_view(made)
    for level in range(4):
        cards, found = dealt(known, level, 3000), np.zeros(3000, np.uint64)
        buckets(view, seen_cards(cards), level, found)
        np.testing.assert_array_equal(found.astype(np.int64), made.of(level, cards))


def test_all_views_have_one_type() -> None:
    """So that kernels are compiled once, and players of a match may read different ones."""
    from numba import typeof

    made = bucket_view(hand_buckets(rules("leduc").definition, "percentile(2)"))
    assert typeof(made) == typeof(plain_view(RAW))
    assert not made.river.flags.writeable


# Training


SUBJECTS = [("leduc", "percentile(2)"), ("three seats", "percentile(2, recall=false)")]


@cache
def subject(name: str, spec: str) -> Subject:
    return Subject(rules(name).machine(), plays=60, deals=12, iterations=40, interpreted=1, abstraction=spec)


@pytest.mark.slow
@pytest.mark.parametrize("check", [c for c in CHECKS if c.__name__ in (
    "walks_have_a_slow_twin", "training_repeats_and_goes_on", "nobody_wins_from_himself",
    "agents_are_asked_as_they_are_compiled", "profiles_are_players", "frozen_rows_stay",
)], ids=lambda check: check.__name__)  # fmt: skip
@pytest.mark.parametrize(("name", "spec"), SUBJECTS)
def test_conformance(name: str, spec: str, check) -> None:
    found = run_check(check, subject(name, spec))
    assert found.holds is not False, str(found)


@cache
def bucket_form(name: str, spec: str) -> BucketForm:
    made = hand_buckets(rules(name).definition, spec)
    return BucketForm(rules(name), made.name, made.digest, [of.parent for of in made.rounds], joint_weights(made))


@pytest.mark.slow
def test_training_solves_the_abstract_game() -> None:
    form, machine = bucket_form("leduc", "percentile(2)"), rules("leduc").machine()
    made = Blueprint.empty(machine, "percentile(2)", memory=1 << 20, seed=2)
    made.train(iterations=100_000)
    assert made.rows == form.points, "a row for each infoset of the abstract game"
    _, keys, _ = form.infosets.as_table(machine, form.uniform())
    width = np.diff(form.infosets.first)
    rows = np.zeros((form.points, machine.actions))
    look_up(made.table, keys, width, rows)
    played = rows[np.arange(machine.actions) < width[:, None]]
    assert form.measure(played).nash_conv < 0.04 * form.measure(form.uniform()).nash_conv


def test_a_blueprint_names_its_buckets(tmp_path) -> None:
    spec, game = "percentile(3)", "rhode_island(ranks=3, suits=2)"
    made = Blueprint.empty(game, spec, memory=1 << 20)
    made.train(iterations=50)
    made.save(tmp_path / "b")
    again = load_blueprint(tmp_path / "b")
    assert (again.abstraction, again.sha256) == (made.abstraction, made.sha256)
    # By the folder where they were saved: the blueprint names them by what makes them again.
    definition = made.machine.definition
    hand_buckets(definition, spec).save(tmp_path / "buckets")
    by_path = Blueprint.empty(game, str(tmp_path / "buckets"), memory=1 << 20)
    by_path.train(iterations=50)
    assert (by_path.abstraction, by_path.sha256) == (made.abstraction, made.sha256)
    # Buckets that are made otherwise now are not taken for those of the file.
    view = made.machine.view(spec)
    view.arrays["buckets_digest"] = view.arrays["buckets_digest"][::-1].copy()
    made.save(tmp_path / "other")
    with pytest.raises(ArtefactError, match="makes other buckets now"):
        load_blueprint(tmp_path / "other")


def test_what_is_no_abstraction_is_refused(tmp_path) -> None:
    machine = rules("leduc").machine()
    with pytest.raises(SpecError, match=r"unknown abstraction of .*percentile.*known are .*percentile"):
        machine.view("percentil(3)")
    with pytest.raises(SpecError, match="4 numbers, and the game has 2 rounds"):
        machine.view("percentile([1, 2, 3, 4])")
    random_buckets(rules("leduc"), 2, 1)[0].save(tmp_path / "own")
    with pytest.raises(GameError, match="no name that makes them again"):
        machine.view(str(tmp_path / "own"))
    with pytest.raises(SpecError, match=r"unknown abstraction"):  # a file may not name a path
        machine.view(str(tmp_path / "own"), {})
    hand_buckets(rules("rhode_island").definition, "percentile(2)").save(tmp_path / "rhode")
    with pytest.raises(GameError, match="this game has other cards"):
        machine.view(str(tmp_path / "rhode"))


# Profiles of a bucket form as players


@pytest.mark.parametrize("name", [pytest.param("leduc", marks=pytest.mark.slow), "rhode_island"])
def test_a_profile_within_buckets_is_seated(name: str) -> None:
    """Against itself it wins, seat by seat, what it is worth; and a blueprint of the same buckets meets it."""
    form, machine = bucket_form(name, "percentile(2)"), rules(name).machine()
    space = BucketCfrState(form, None)
    space.iterate(Rule(1.5, 1.5, 4.0, 0.0, 0.0, 0.0, True), 0, 30, 1)
    profile = Profile(form.infosets, space.probabilities(True), {})
    agent = profile_agent(profile, machine, "profile")
    spec, keys, _ = form.infosets.as_table(machine, profile.probabilities)
    assert spec == "percentile(buckets=2)" and len(np.unique(keys)) == form.points
    width, rows = np.diff(form.infosets.first), np.zeros((form.points, machine.actions))
    look_up(agent.player.store, keys, width, rows)
    np.testing.assert_allclose(rows[np.arange(machine.actions) < width[:, None]], profile.probabilities, atol=1e-6)
    deals, seatings = 40_000, np.array([[0, 1], [1, 0]], np.int64)
    result, words = np.zeros((deals, 2, 2)), np.zeros((2, 96), np.uint64)
    room = *words, np.zeros(machine.actions)
    machine.duel(machine.game, (agent.player, agent.player), seatings, np.int64(5), np.int64(0), result, *room)
    won = result[:, 0, 0]
    assert np.abs(result.sum(axis=1)).max() < 1e-9
    assert abs(won.mean() - form.value(profile.probabilities)[0]) < 4 * won.std() / deals**0.5
    blueprint = Blueprint.empty(machine, spec, memory=1 << 20)
    found = kibitz.match(machine, agent, kibitz.agent(blueprint, machine), deals=2000)
    assert found.scores[0].mean > 0.0, "an untrained blueprint loses"


def test_a_profile_of_other_buckets_or_cards_is_refused() -> None:
    form, machine = bucket_form("leduc", "percentile(2)"), rules("leduc").machine()
    with pytest.raises(GameError, match=r"the profile is of .*leduc.*, not of"):
        form.infosets.as_table(rules("rhode_island").machine(), form.uniform())
    other = BucketForm(rules("leduc"), form.abstraction, "0" * 64, form.parents, form.weights)
    with pytest.raises(GameError, match="within other buckets than percentile"):
        other.infosets.as_table(machine, other.uniform())
