"""Monte Carlo CFR: what is sampled has the right mean, and what comes of it converges."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from random_games import Nested, RandomGame, Without, choice, edge_cases, end
from test_rows import keys_of, random_task
from test_solvers import rows_of

import kibitz
from kibitz import evaluate
from kibitz.forms.profile import Profile
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of
from kibitz.games.tree import lay_out
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve, solve_through

SAMPLINGS = ("external", "outcome", "chance")
GAMES = {
    "kuhn": lambda: kibitz.game("kuhn"),
    "kuhn for three": lambda: kibitz.game("kuhn(players=3)"),
    "two": lambda: RandomGame(21, 2, depth=5, most=60, chance=0.35),
    "three": lambda: RandomGame(22, 3, depth=5, payoffs="general", most=60, chance=0.35),
    "two that forget": lambda: RandomGame(23, 2, depth=5, recall="past", payoffs="general", most=60),
    "absent-minded": lambda: RandomGame(24, 2, depth=5, recall="nothing", payoffs="general", most=60),
    "chance that never happens": lambda: edge_cases()["chance that never happens"],
}


def one_walk_each(solver, start, count):
    """Sampled regrets and average weights of `count` iterations from the same state: arrays [count, columns].

    The number of an iteration is what its random numbers come from, so each is another sample. Within an iteration
    seats walk one after another, and later ones see what earlier ones have learnt: only the first is judged.
    """
    regrets = np.zeros((count, len(start)))
    averages = np.zeros((count, len(start)))
    known = np.isfinite(start)  # closed actions have a regret of minus infinity
    for k in range(count):
        solver.regret[:] = start
        solver.average[:] = 0.0
        solver.iteration = k
        solver.step(1)
        regrets[k][known] = solver.regret[known] - start[known]
        averages[k] = solver.average
    return regrets, averages


def rotated(game, first):
    """The same game with seats renumbered so that `first` is seat 0 and the others follow in order."""

    class Rotated:
        players = game.players

        def __getattr__(self, name):
            return getattr(game, name)

        def turn(self, state):
            turn = game.turn(state)
            return (turn - first) % game.players if turn >= 0 else turn

        def payoff(self, state):
            payoff = list(game.payoff(state))
            return payoff[first:] + payoff[:first]

    return Rotated()


def assert_mean(samples, expected, what):
    mean = samples.mean(axis=0)
    error = samples.std(axis=0, ddof=1) / math.sqrt(len(samples))
    off = np.abs(mean - expected) / np.maximum(error, 1e-12)
    off[np.abs(mean - expected) < 1e-12] = 0.0
    worst = int(off.argmax()) if len(off) else 0
    assert off.max(initial=0.0) < 5.0, f"{what}: {mean[worst]} +- {error[worst]} for {expected[worst]}"


def start_regrets(tree, rng):
    """Positive regrets for most actions, some negative."""
    return rng.uniform(-0.5, 2.0, int(tree.infosets.first[-1]))


def twin_at(game, tree, start, **more):
    """The naive twin with the strategy that regret matching makes of regrets (one row for each infoset)."""
    twin = naive.Cfr(game, **more)
    for i, key in enumerate(keys_of(tree.infosets)):
        first, last = tree.infosets.first[i : i + 2]
        weights = np.maximum(start[first:last], 0.0)
        weights = weights / weights.sum() if weights.any() else np.full(last - first, 1 / (last - first))
        names = tree.infosets.actions[tree.infosets.actions_of[i]]
        twin.strategy[twin.row[key]] = dict(zip(names, weights.tolist(), strict=True))
    return twin


def flat(tree, found):
    """Regrets by row as an array by infoset column, 0 for the other seats and for frozen infosets."""
    out = []
    for i, key in enumerate(keys_of(tree.infosets)):
        names = tree.infosets.actions[tree.infosets.actions_of[i]]
        out.extend(found.get(key, {}).get(a, 0.0) for a in names)
    return np.array(out)


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.some(6)
def test_sampled_regrets_are_unbiased(name, sampling):
    base = GAMES[name]()
    for seat in range(base.players):
        game = rotated(base, seat)  # so that the seat in question walks first
        tree = lay_out(game)
        start = start_regrets(tree, np.random.default_rng(seat))
        solver = make(f"mccfr(sampling={sampling})", Task(tree, form_of(tree), seed=seat))
        samples, _ = one_walk_each(solver, start, 6000)
        first, last = tree.infosets.first[tree.infosets.seat_start[[0, 1]]]
        expected = flat(tree, twin_at(game, tree, start).regrets(0))
        assert_mean(samples[:, first:last], expected[first:last], f"{base}, {sampling}, seat {seat}")


@pytest.mark.parametrize(
    "sampling", ["external", *(pytest.param(each, marks=pytest.mark.slow) for each in ("outcome", "chance"))]
)
def test_sampled_regrets_are_unbiased_with_frozen_rows(sampling):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        game = RandomGame(30 + seed, 2 + seed % 2, depth=5, payoffs="general", most=60)
        tree, form, mapped, twin = random_task(game, rng, share=0, freeze=0.4)
        solver = make(f"mccfr(sampling={sampling})", Task(tree, form, rows=mapped, seed=seed))
        frozen = ~mapped.moves[mapped.row][tree.infosets.row_of_column]
        start = np.where(frozen, solver.regret, start_regrets(tree, rng))
        samples, _ = one_walk_each(solver, start, 6000)
        assert not samples[:, frozen].any()
        slow = twin_at(game, tree, start, frozen=twin["frozen"])
        first, last = tree.infosets.first[tree.infosets.seat_start[[0, 1]]]
        expected = flat(tree, slow.regrets(0))
        assert_mean(samples[:, first:last], expected[first:last], f"{game}, {sampling}")


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.some(1)
def test_sampled_regrets_of_shared_rows_add_up(sampling):
    """With an abstraction and closed actions, whose subtrees do not exist."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        game = RandomGame(40 + seed, 2, depth=5, payoffs="general", most=60)
        tree, form, mapped, twin = random_task(game, rng, share=2, freeze=0.0, close=0.3, only=0)
        solver = make(f"mccfr(sampling={sampling})", Task(tree, form, rows=mapped, seed=seed))
        start = solver.regret.copy()  # zeros and closed actions: everybody plays uniformly over open actions
        samples, _ = one_walk_each(solver, start, 6000)
        small = Without(game, twin["closed"])
        slow = naive.Cfr(small, row={key: twin["row"][key] for key in naive.offers(small)})
        found = slow.regrets(0)
        keys = keys_of(tree.infosets)
        for i, key in enumerate(keys):
            if key[0] == 0:
                row = found.get((0, twin["row"][key]), {})
                names = tree.infosets.actions[tree.infosets.actions_of[i]]
                first = tree.infosets.first[i]
                columns = solver.column[first : first + len(names)]
                expected = np.array([row.get(a, 0.0) for a in names])
                assert_mean(samples[:, columns], expected, f"{game}, {sampling}, {key}")


def test_the_weights_of_the_average_have_the_right_mean():
    """Own reach times the chance of coming there, where chance and (external) the sampled others are the sampler."""
    for seed in range(2):
        base = RandomGame(50 + seed, 2, depth=5, payoffs="general", most=60, chance=0.35)
        for sampling, seat in [("external", 1), ("outcome", 0), ("chance", 0)]:
            tree = lay_out(base)
            start = start_regrets(tree, np.random.default_rng(seed)) + 0.6  # everything is played
            solver = make(f"mccfr(sampling={sampling})", Task(tree, form_of(tree), seed=seed))
            _, samples = one_walk_each(solver, start, 6000)
            twin = twin_at(base, tree, start)
            reach = dict.fromkeys(keys_of(tree.infosets), 0.0)

            def go(state, own, chance, base=base, twin=twin, reach=reach, seat=seat):
                turn = base.turn(state)
                key = (turn, base.infoset(state)) if turn >= 0 else None
                if turn == seat:
                    reach[key] += own * chance
                for action, p in naive.steps(base, state):
                    mine = twin.at(key)[action] if turn == seat else 1.0
                    go(base.after(state, action), own * mine, chance * (1.0 if p is None else p))

            go(base.root(), 1.0, 1.0)
            weighted = {key: {a: reach[key] * p for a, p in twin.at(key).items()} for key in reach if key[0] == seat}
            first, last = tree.infosets.first[tree.infosets.seat_start[[seat, seat + 1]]]
            assert_mean(samples[:, first:last], flat(tree, weighted)[first:last], f"{base}, {sampling}")


def test_without_chance_chance_sampling_is_cfr():
    """Alternating CFR whose average is of the strategies that iterations begin with."""
    for seed in range(12):
        game = RandomGame(60 + seed, 1 + seed % 4, depth=4, payoffs="general", chance=0.0, most=80)
        tree = lay_out(game)
        for averaging, gamma in (("uniform", 0.0), ("linear", 1.0)):
            solver = make(f"mccfr(sampling=chance, averaging={averaging})", Task(tree, form_of(tree), seed=seed))
            twin = naive.Cfr(game, gamma=gamma, before=True)
            twin.tiny = 0.0
            for stop in (1, 2, 7, 30):
                solver.step(stop - solver.iteration)
                twin.step(stop - twin.t)
                expected = rows_of(tree.infosets, twin.profile())
                np.testing.assert_allclose(solver.probabilities(), expected, rtol=0, atol=1e-9, err_msg=f"{game}")


def test_without_chance_and_opponents_external_sampling_is_cfr():
    for seed in range(6):
        game = RandomGame(80 + seed, 1, depth=4, payoffs="general", chance=0.0, most=80)
        tree = lay_out(game)
        solver = make("mccfr", Task(tree, form_of(tree)))
        twin = naive.Cfr(game, before=True)
        solver.step(20)
        expected = rows_of(tree.infosets, twin.step(20).profile())
        np.testing.assert_allclose(solver.probabilities(), expected, rtol=0, atol=1e-9)


# Convergence


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("averaging", ["uniform", "linear"])
def test_every_sampling_converges_on_kuhn(sampling, averaging):
    looks = []
    for iterations in (100, 3_000, 100_000):
        spec = f"mccfr(sampling={sampling}, averaging={averaging})"
        gaps = [evaluate.nash_conv("kuhn", solve("kuhn", spec, iterations=iterations, seed=s)) for s in range(4)]
        looks.append(float(np.mean(gaps)))
    assert looks[0] > looks[1] > looks[2] and looks[2] < (0.04 if sampling == "outcome" else 0.015)
    assert evaluate.value("kuhn", solve("kuhn", spec, iterations=100_000))[0] == pytest.approx(-1 / 18, abs=0.01)


def test_external_sampling_converges_on_leduc():
    game = kibitz.game("leduc")
    looks = [evaluate.nash_conv(game, solve(game, "mccfr", iterations=n)) for n in (1_000, 10_000, 100_000)]
    assert looks[0] > looks[1] > looks[2] and looks[2] < 0.15


def test_three_players_and_frozen_seats():
    """With two of three seats frozen, sampling finds the third one's best response."""
    game = kibitz.game("kuhn(players=3)")
    tree = lay_out(game)
    form = form_of(tree)
    base = solve(tree, "cfr+", iterations=20).probabilities
    for seat in range(3):
        moves = np.array([key[0] == seat for key in keys_of(tree.infosets)])
        mapped = row_map(form, moves=moves, base=base)
        best = evaluate.best_response(tree, Profile(tree.infosets, base.copy()), seat).value
        for sampling, slack in (("external", 0.01), ("chance", 0.01), ("outcome", 0.03)):
            solver = f"mccfr(sampling={sampling}, averaging=linear)"
            profile = solve_through(tree, solver, rows=mapped, iterations=30_000)
            found = evaluate.value(tree, profile)[seat]
            assert best - slack < found <= best + 1e-12, sampling


# Random numbers


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_seeds(sampling):
    spec = f"mccfr(sampling={sampling})"
    for game in ("kuhn", "leduc(suit_isomorphism=true)"):
        first, again = ([solve(game, spec, iterations=50, seed=s).sha256 for s in (0, 1, 2, 12345)] for _ in range(2))
        assert first == again and len(set(first)) == 4


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_steps_may_be_cut_anywhere(sampling):
    tree = lay_out(kibitz.game("leduc(suit_isomorphism=true)"))
    whole, cut = (make(f"mccfr(sampling={sampling})", Task(tree, form_of(tree), seed=7)) for _ in range(2))
    whole.step(30)
    cut.step(10)
    cut.step(20)
    for name in whole.state:
        assert whole.state[name].tobytes() == cut.state[name].tobytes()
    assert whole.visited == cut.visited > 30


def test_threads_do_not_matter():
    shas = {solve("kuhn", "mccfr", iterations=100, threads=t).sha256 for t in (1, 2, 3)}
    assert len(shas) == 1


def test_draws_are_spread_evenly():
    """One chance node of 7 equal or 3 unequal outcomes before a decision that sees it: frequencies by chi squared."""
    for weights in ([1 / 7] * 7, [0.5, 0.3, 0.2]):
        outcomes = tuple((str(i), p, choice(0, f"saw {i}", end(1, -1), end(0, 0))) for i, p in enumerate(weights))
        game = Nested(2, ("chance", outcomes))
        tree = lay_out(game)
        solver = make("mccfr(sampling=outcome)", Task(tree, form_of(tree), seed=9))
        n = 20_000
        solver.step(n)
        seen = solver.average.reshape(-1, 2).sum(axis=1)
        assert seen.sum() == pytest.approx(n)
        chi = float((((seen - n * np.array(weights)) ** 2) / (n * np.array(weights))).sum())
        assert chi < 30


def test_walks_of_different_seats_and_iterations_draw_different_numbers():
    """Both seats see which of 50 outcomes chance drew: their walks agree on it as often as two dice would."""
    outcomes = []
    for i in range(50):
        later = choice(1, f"saw {i}", end(1, -1), end(0, 0))
        outcomes.append((str(i), 0.02, choice(0, f"saw {i}", later, later)))
    tree = lay_out(Nested(2, ("chance", tuple(outcomes))))
    solver = make("mccfr(sampling=outcome)", Task(tree, form_of(tree)))
    drawn = []
    for _ in range(400):
        solver.average[:] = 0.0
        solver.step(1)
        drawn.append([int(np.flatnonzero(seat.sum(axis=1))[0]) for seat in solver.average.reshape(2, 50, 2)])
    first, second = np.array(drawn).T
    assert (first == second).mean() < 0.06 and (first[1:] == first[:-1]).mean() < 0.06
    assert len(set(first.tolist())) > 45 < len(set(second.tolist()))


@pytest.mark.parametrize("name", edge_cases())
def test_edge_cases(name):
    game = edge_cases()[name]
    for sampling in SAMPLINGS:
        profile = solve(game, f"mccfr(sampling={sampling})", iterations=4000)
        scale = naive.largest_payoff(game)
        assert all(sum(row.values()) == pytest.approx(1) for row in naive.as_dict(profile).values())
        if name not in ("four players", "ten by eleven"):
            assert evaluate.nash_conv(game, profile) < 0.1 * scale, sampling
