"""Two phases: roll-outs and statistics behind the first rounds, what is left, and the beliefs between them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from bucketed import rules

from kibitz.core.errors import GameError, SolverError
from kibitz.forms.profile import Profile
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.endgames.phases import (
    beliefs,
    calling,
    lifted,
    phase_one,
    phase_two,
    rolled_out,
    statistics,
    views_of,
)
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.run import solve_through

GAMES = ["leduc", "rhode island of 4 ranks", "turn hold'em of 10 cards"]
TWO = "percentile(2)"


def random_rows(form, seed=0):
    draw = np.random.default_rng(seed)
    return form.to_probabilities(draw.random(form.sequences))


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_roll_out_is_the_game_in_which_later_rounds_are_called(name, rounds):
    game = rules(name)
    if rounds >= game.definition.rounds:
        pytest.skip("it has no later rounds")
    buckets = hand_buckets(game.definition, TWO)
    small, whole = rolled_out(game, buckets, rounds), bucket_form(game, buckets)
    first = random_rows(small)
    both = lifted(whole, small, first, calling(whole))
    short, long = small.measure(first), whole.measure(both)
    assert short.value == pytest.approx(long.value, abs=1e-12)
    views = views_of(whole)
    moves = np.repeat(whole.betting.round[views.order] < rounds, views.rows[views.order])
    frozen = whole.freeze(moves, both).measure(whole.to_strategy(both))
    assert short.best == pytest.approx(frozen.best, abs=1e-12)
    assert small.infosets.seat_start[-1] == moves.sum()


def dealt(game: Poker):
    """All deals and betting, by the rules: (probability of chance, [(seat, node text, state, action)], state)."""

    def walk(state, chance, done):
        turn = game.turn(state)
        if turn == TERMINAL:
            yield chance, done, state
        elif turn == CHANCE:
            for action, p in game.chance(state):
                yield from walk(game.after(state, action), chance * p, done)
        else:
            for k, action in enumerate(game.actions(state)):
                yield from walk(game.after(state, action), chance, [*done, (turn, state, k)])

    yield from walk(game.root(), 1.0, [])


def seen(game, buckets, seat, state):
    level = int(state.bets.round)
    return level, int(buckets.of(level, np.array([[*state.hole[seat], *turned(state)]]))[0])


def turned(state):
    return tuple(card for cards in state.board for card in cards)


def test_statistics_are_how_often_actions_are_taken():
    game = rules("leduc")
    buckets = hand_buckets(game.definition, TWO)
    form = bucket_form(game, buckets)
    played = random_rows(form, 3)
    views, text = views_of(form), form.betting.text
    counts: dict[tuple, np.ndarray] = defaultdict(lambda: np.zeros(3))
    ways: dict[tuple, float] = defaultdict(float)
    for chance, done, _ in dealt(game):
        p = chance
        steps = []
        for seat, state, action in done:
            node = text.index(state.done)
            level, bucket = seen(game, buckets, seat, state)
            sigma = views.at(played, node)[bucket]
            steps.append(((level, seat, state.done.rpartition("/")[2], bucket), action, len(sigma)))
            p *= sigma[action]
        for key, action, _ in steps:
            counts[key][action] += p
            ways[key] += p
    found = statistics(form, played)
    tried = 0
    for node in views.order.tolist():
        level, said = int(form.betting.round[node]), text[node].rpartition("/")[2]
        for bucket in range(int(views.rows[node])):
            key = level, int(form.betting.turn[node]), said, bucket
            mine = views.at(found, node)[bucket]
            assert mine == pytest.approx(counts[key][: len(mine)] / ways[key], abs=1e-9)
            tried += 1
    assert tried > 50


def test_phase_one_with_roll_outs_is_an_equilibrium_of_the_short_game():
    game = rules("rhode island of 4 ranks")
    found = phase_one(game, TWO, 2, solver="lp")
    assert found.meta["phase_nash_conv"] == pytest.approx(0.0, abs=1e-8)
    sampled = phase_one(game, TWO, 2, until=1e-3)
    assert sampled.meta["phase_value"][0] == pytest.approx(found.meta["phase_value"][0], abs=1e-3)
    assert (found.meta["phase"], found.meta["rounds"], found.meta["leaves"]) == (1, 2, "rollout")


@pytest.mark.slow
def test_phase_two_keeps_phase_one_and_what_gs2_did_helps(tmp_path):
    game = rules("rhode island of 4 ranks")
    form = bucket_form(game, hand_buckets(game.definition, "percentile(3)"))
    whole = solve_through(form, "dcfr+", until=0.05)
    gaps = {}
    for leaves in ("rollout", whole):
        first = phase_one(game, "percentile(3)", 2, leaves, until=0.01)
        first.save(tmp_path / first.meta["leaves"])
        for begin in (2, 3):
            both = phase_two(game, Profile.load(tmp_path / first.meta["leaves"]), begin, until=0.01)
            views = views_of(form)
            early = np.repeat(form.betting.round[views.order] < begin - 1, (views.rows * views.count)[views.order])
            assert np.array_equal(both.probabilities[early], first.probabilities[early])
            assert not np.array_equal(both.probabilities[~early], first.probabilities[~early])
            gaps[first.meta["leaves"], begin] = form.measure(both.probabilities).nash_conv
    assert gaps["statistics", 2] < gaps["rollout", 2] < gaps["rollout", 3]  # statistics, and phases that overlap
    assert gaps["statistics", 3] < gaps["rollout", 3]
    assert whole.meta["abstract_nash_conv"] < min(gaps.values())


def test_trembling_gives_beliefs_where_phase_one_never_goes():
    game = rules("rhode island of 4 ranks")
    form = bucket_form(game, hand_buckets(game.definition, TWO))
    first = phase_one(game, TWO, 2, until=0.01)
    sure, shaken = (phase_two(game, first, 3, tremble=t, until=0.01) for t in (0.0, 0.02))
    assert form.measure(shaken.probabilities).nash_conv < form.measure(sure.probabilities).nash_conv
    with pytest.raises(SolverError, match="must be a probability"):
        phase_two(game, first, 3, tremble=1.0)


def test_beliefs_are_what_hands_do_by_the_rules():
    game = rules("leduc")
    profile = phase_one(game, TWO, 1, until=0.5)
    buckets = hand_buckets(game.definition, TWO)
    layout = views_of(bucket_form(game, buckets))
    text = game.betting.text
    by_history: dict[tuple, dict] = {}
    for _, done, end in list(dealt(game))[::3]:
        for depth in range(len(done)):
            state = done[depth][1]
            reach = np.ones(2)
            for seat, before, action in done[:depth]:
                bucket = seen(game, buckets, seat, before)[1]
                reach[seat] *= layout.at(profile.probabilities, text.index(before.done))[bucket, action]
            by_history.setdefault((state.done, turned(state)), {})[end.hole] = reach
    tried = 0
    for (betting, board), hands in list(by_history.items())[::4]:
        cards, found = beliefs(game, profile, betting, board)
        place = {tuple(hand): k for k, hand in enumerate(cards.tolist())}
        for held, reach in hands.items():
            for seat in (0, 1):
                assert found[seat, place[tuple(held[seat])]] == pytest.approx(reach[seat], abs=1e-12)
                tried += 1
    assert tried > 500


def test_mistakes_are_sentences():
    game = rules("leduc")
    profile = phase_one(game, TWO, 1, iterations=2)
    for rounds in (0, 2):
        with pytest.raises(SolverError, match="phase I must have from 1 to 1 of the 2 rounds"):
            phase_one(game, TWO, rounds)
    with pytest.raises(SolverError, match="use rollout, or a profile"):
        phase_one(game, TWO, 1, leaves="luck")
    with pytest.raises(GameError, match="in the same buckets"):
        phase_one(game, "percentile(3)", 1, leaves=profile)
    with pytest.raises(SolverError, match="phase II must start in one of the rounds 2 to 2"):
        phase_two(game, profile, 1)
    with pytest.raises(GameError, match="no betting sequence 'xyz'"):
        beliefs(game, profile, "xyz", [])
    with pytest.raises(GameError, match="0 different cards"):
        beliefs(game, profile, "r", [50])
