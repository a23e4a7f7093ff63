"""Values, best responses and nash_conv against their definitions, known figures and OpenSpiel."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from random_games import Nested, RandomGame, choice, edge_cases, end

import kibitz
from kibitz import evaluate
from kibitz.core.errors import GameError
from kibitz.forms import bundles, sequence
from kibitz.forms.profile import Profile
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers.run import solve

TINY = 2_000  # pure strategies that brute force may try


def random_probabilities(infosets, rng):
    """Random distributions, a third of them with zeros, a third pure."""
    result = np.zeros(int(infosets.first[-1]))
    for i, width in enumerate(infosets.width):
        weights = rng.random(width)
        kind = rng.integers(3)
        if kind == 1:
            weights[rng.random(width) < 0.5] = 0.0
        if kind == 2 or not weights.any():
            weights = np.eye(width)[rng.integers(width)]
        result[infosets.first[i] : infosets.first[i + 1]] = weights / weights.sum()
    return result


def random_profile(tree, seed):
    return Profile(tree.infosets, random_probabilities(tree.infosets, np.random.default_rng(seed)))


def check(game, tree, profile, force):
    """All figures of a profile against the definitions; returns how many seats were tried by force."""
    plain = naive.as_dict(profile)
    values = naive.value(game, plain)
    best = [naive.best_response(game, plain, seat) for seat in range(game.players)]
    scale = max(1.0, naive.largest_payoff(game))
    close = {"rtol": 0, "atol": 1e-10 * scale}
    np.testing.assert_allclose(evaluate.value(tree, profile), values, **close)
    found = [evaluate.best_response(tree, profile, seat) for seat in range(game.players)]
    np.testing.assert_allclose([f.value for f in found], best, **close)
    gap = sum(best) - sum(values)
    assert evaluate.nash_conv(tree, profile) == pytest.approx(gap, abs=1e-10 * scale)
    assert evaluate.exploitability(tree, profile) == pytest.approx(gap / game.players, abs=1e-10 * scale)
    report = evaluate.report(tree, profile)
    np.testing.assert_allclose(report["value"], values, **close)
    np.testing.assert_allclose(report["best_response"], best, **close)
    recalls = not naive.forgets(game)
    assert report["perfect_recall"] == recalls
    forced = 0
    for seat, (worth, answer) in enumerate(found):
        assert worth >= values[seat] - 1e-12 * scale
        rows = naive.as_dict(answer)
        assert all(rows[key] == plain[key] for key in plain if key[0] != seat)
        assert all(sorted(row.values())[-1] == 1.0 == sum(row.values()) for key, row in rows.items() if key[0] == seat)
        if recalls:
            assert naive.value(game, rows)[seat] == pytest.approx(worth, abs=1e-10 * scale)
        widths = [len(actions) for key, actions in naive.offers(game).items() if key[0] == seat]
        if math.prod(widths) <= force:
            tried = naive.best_response_by_force(game, plain, seat)
            if recalls:
                assert worth == pytest.approx(tried, abs=1e-10 * scale)
            else:  # a seat that remembers gets at least as much
                assert worth >= tried - 1e-10 * scale
            forced += 1
    return forced


@pytest.mark.parametrize("block", range(10))
@pytest.mark.some(3)
def test_a_thousand_random_games(block):
    forced = 0
    for seed in range(100 * block, 100 * block + 100):
        players = (2, 2, 3, 4, 1)[seed % 5]
        payoffs = ("zero-sum", "general", "whole")[seed % 3]
        recall = "perfect" if seed % 4 else ("past", "nothing")[seed // 4 % 2]
        shape = {"depth": 2 + seed % 4, "widest": 3 + seed % 2, "most": 60}
        game = RandomGame(seed, players, recall=recall, payoffs=payoffs, **shape)
        tree = lay_out(game)
        forced += check(game, tree, random_profile(tree, seed), 256)
    assert forced > 170


@pytest.mark.parametrize("name", edge_cases())
def test_edge_cases(name):
    game = edge_cases()[name]
    tree = lay_out(game)
    for seed in range(5):
        assert check(game, tree, random_profile(tree, seed), TINY) == game.players


@pytest.mark.parametrize("work", [1, 8, 64])
@pytest.mark.some(1)
def test_forms_of_many_small_chunks(monkeypatch, work):
    """With tiny chunks most seats have crowns, points that hang from them, and batches of one bundle."""
    monkeypatch.setattr(sequence, "CHUNK_WORK", work)
    monkeypatch.setattr(bundles, "CHUNK_WORK", work)
    most, hanging = 0, 0
    for seed in range(60):
        recall = ("perfect", "perfect", "nothing")[seed % 3]
        game = RandomGame(seed, 2 + seed % 3, depth=5, recall=recall, payoffs="general", most=150)
        tree = lay_out(game)
        arrays = sequence.form_of(tree).arrays
        most, hanging = max(most, len(arrays.chunk_seq)), max(hanging, len(arrays.hang))
        check(game, tree, random_profile(tree, seed), 0)
    assert work == 1 or (most > 5 and hanging > 5)
    kuhn = kibitz.game("kuhn(players=3)")
    tree = lay_out(kuhn)
    check(kuhn, tree, random_profile(tree, 0), 0)


def test_bundles_of_every_height():
    """Leduc with suits has rows in fours, twos and ones; the payoffs are the same as by the definition."""
    game = kibitz.game("leduc(ranks=2)")
    tree = lay_out(game)
    heights = set(sequence.form_of(tree).arrays.batch_height.tolist())
    seen = set(heights)
    check(game, tree, random_profile(tree, 1), 0)
    for seed in range(30):
        game = RandomGame(seed, 2, depth=5, most=150)
        seen |= set(sequence.form_of(lay_out(game)).arrays.batch_height.tolist())
    assert 4 in heights and seen == {1, 2, 4}


def uniform(game):
    tree = tree_of(game)
    return Profile(tree.infosets, sequence.form_of(tree).uniform())


def test_kuhn():
    game = kibitz.game("kuhn")
    assert evaluate.nash_conv(game, uniform(game)) == pytest.approx(11 / 12, abs=1e-12)
    np.testing.assert_allclose(evaluate.value(game, solve(game, "lp")), [-1 / 18, 1 / 18], atol=1e-12)
    check(game, tree_of(game), random_profile(tree_of(game), 5), 128)


def test_leduc():
    game = kibitz.game("leduc")
    assert evaluate.nash_conv(game, uniform(game)) == pytest.approx(4.747222, abs=5e-7)
    best = solve(game, "lp")
    np.testing.assert_allclose(evaluate.value(game, best), [-0.085606424078, 0.085606424078], atol=2e-9)
    assert evaluate.nash_conv(game, best) < 1e-7
    profile = random_profile(tree_of(game), 3)
    plain = naive.as_dict(profile)
    assert evaluate.nash_conv(game, profile) == pytest.approx(naive.nash_conv(game, plain), abs=1e-10)


@pytest.mark.parametrize(
    "ours",
    [
        "kuhn",
        "leduc",
        "liars_dice(dice_sides=4)",
        "kuhn(players=3)",
        "goofspiel(num_cards=4, points_order=descending, imp_info=true)",
        "openspiel:tiny_hanabi",
    ],
)
def test_openspiel_agrees(ours):
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import exploitability

    game = kibitz.game(ours)
    theirs = pyspiel.load_game(ours.removeprefix("openspiel:") if ours.startswith("openspiel") else game.openspiel())
    if theirs.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        theirs = pyspiel.convert_to_turn_based(theirs)
    tree = tree_of(game)
    probabilities = random_probabilities(tree.infosets, np.random.default_rng(4))
    for p in (probabilities, solve(game, "cfr+", iterations=20).probabilities):
        profile = Profile(tree.infosets, p.copy(), {"game": tree.spec})
        policy = profile.to_openspiel(theirs)
        zero_sum = tree.zero_sum and theirs.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        if zero_sum:
            assert evaluate.nash_conv(game, profile) == pytest.approx(pyspiel.nash_conv(theirs, policy), abs=1e-9)
        if "leduc" not in ours and "liars" not in ours:  # theirs in Python is slow
            judged = exploitability.nash_conv(theirs, pyspiel_to_python(theirs, policy))
            assert evaluate.nash_conv(game, profile) == pytest.approx(judged, abs=1e-9)
        score = pyspiel.expected_returns(theirs.new_initial_state(), policy, -1, False)
        np.testing.assert_allclose(evaluate.value(game, profile), score, atol=1e-9)


def pyspiel_to_python(game, policy):
    from open_spiel.python import policy as policies

    table = policies.TabularPolicy(game)
    for key, row in policy.policy_table().items():
        chosen = dict(row)
        for action in range(game.num_distinct_actions()):
            table.policy_for_key(key)[action] = chosen.get(action, 0.0)
    return table


def test_the_first_of_equal_answers_is_taken():
    game = Nested(2, choice(0, "x", end(1, -1), end(2, -2), end(2, -2)))
    assert evaluate.best_response(game, uniform(game), 0).profile[0, "x"] == {"a": 0.0, "b": 1.0, "c": 0.0}


def test_a_best_response_does_not_carry_the_figures_of_the_profile_it_answers():
    game = kibitz.game("kuhn")
    answer = evaluate.best_response(game, solve(game, "cfr+", iterations=50), 0).profile
    assert "nash_conv" not in answer.meta and "value" not in answer.meta
    assert answer.meta["solver"] == "br(seat=0)" and answer.meta["game"] == "kuhn"


def test_seats_that_do_not_exist():
    game = kibitz.game("kuhn")
    for seat in (-1, 2):
        with pytest.raises(GameError, match="seats are 0 to 1"):
            evaluate.best_response(game, uniform(game), seat)


def test_the_profile_of_another_game_is_refused():
    kuhn, leduc = kibitz.game("kuhn"), kibitz.game("leduc")
    foreign = solve(kuhn, "cfr+", iterations=2)
    for measure in (evaluate.value, evaluate.nash_conv, evaluate.exploitability, evaluate.report):
        with pytest.raises(GameError, match="made for another game"):
            measure(leduc, foreign)
    with pytest.raises(GameError, match="made for another game"):
        evaluate.best_response(leduc, foreign, 0)
    # One payoff differs: the same infosets, another game.
    one = Nested(2, choice(0, "x", end(1, -1), end(2, -2)))
    other = Nested(2, choice(0, "x", end(1, -1), end(3, -3)))
    with pytest.raises(GameError, match="made for another game"):
        evaluate.value(other, solve(one, "cfr+", iterations=2))


def test_a_forged_digest_does_not_get_a_profile_past_the_check():
    kuhn, leduc = kibitz.game("kuhn"), kibitz.game("leduc")
    small = solve(kuhn, "cfr+", iterations=2)
    forged = Profile(small.infosets, small.probabilities, {"tree": tree_of(leduc).digest})
    with pytest.raises(GameError, match="made for another game"):
        evaluate.nash_conv(leduc, forged)


def test_a_game_may_be_named():
    profile = solve("kuhn", "lp")
    assert evaluate.value("kuhn", profile)[0] == pytest.approx(-1 / 18)
    with pytest.raises(GameError, match="is not a game: it lacks"):
        evaluate.value(object(), profile)


def test_a_profile_has_a_probability_for_each_action():
    infosets = tree_of(kibitz.game("kuhn")).infosets
    for wrong in (np.zeros(3), np.zeros((24, 1)), np.zeros(24, np.float32)):
        with pytest.raises(GameError, match="24 probabilities"):
            Profile(infosets, wrong)
