"""Tournaments: states and where hands lead, best responses by Bellman's equations, four algorithms, the proof."""

from __future__ import annotations

import json
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import finished
from typer.testing import CliRunner

from examples import examples
from kibitz.cli import app
from kibitz.core.errors import ArtefactError, GameError, SolverError
from kibitz.poker.tournaments import check, solve, tournament
from kibitz.poker.tournaments.equilibrium import TournamentSolution
from kibitz.poker.tournaments.exact import ExactHand
from kibitz.poker.tournaments.fictitious import JamFoldPlay
from kibitz.poker.tournaments.hand import next_seats
from kibitz.poker.tournaments.mdp import Induced, minimal
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.tournaments.saved import at_state, load, save

SMALL = "tournament(players=3, chips=1800)"  # six units
TWO = "tournament(players=2, chips=3000)"


@pytest.fixture
def few_deals(monkeypatch):
    """Three players over a small sample, as the table of three hands takes long to make. It is the solver that is
    tested with it, so a check goes over the same deals; tests/poker/test_fresh.py is about others."""
    engines = {2: ExactHand(2), 3: SampledHand(3, 1500), 4: SampledHand(4, 300)}
    monkeypatch.setattr("kibitz.poker.tournaments.equilibrium.engine_of", lambda players, deals=0: engines[players])
    monkeypatch.setattr("kibitz.poker.tournaments.saved.engine_of", lambda players, deals=0: engines[players])
    monkeypatch.setattr("kibitz.poker.tournaments.equilibrium.fresh", lambda engine, added: engine)
    return engines


# States


def test_the_slides_have_946_states():
    rules = tournament()
    assert str(rules) == "tournament(players=3, chips=13500, blinds=300/600, unit=300, prizes=50/30/20)"
    assert rules.states == [44, 946] and rules.size == 2 * 44 + 3 * 946 and tournament(str(rules)) == rules
    assert tournament("tournament(players=4)").states[-1] == comb(44, 3)
    with_ante = tournament("tournament(ante=300, prizes=[70, 30])")
    assert with_ante.ante == 1 and with_ante.prizes == (70, 30, 0) and tournament(str(with_ante)) == with_ante


@pytest.mark.parametrize("text", [SMALL, "tournament(players=4, chips=2100, prizes=5/3/2)", TWO])
def test_where_hands_lead(text):
    """State by state from the rules: who goes on with what, and who is paid."""
    rules = tournament(text)
    level = rules.levels[-1]
    posted = level.hand.posted(level.stacks, rules.small, rules.big, rules.ante)
    after = level.hand.after(level.stacks, posted)
    worth = np.arange(rules.size) + 1000.0
    paid = level.payoffs(worth)
    for state in range(0, level.count, 7):
        for k in range(0, len(level.hand.outcomes), 3):
            now = after[state, k].tolist()
            assert sum(now) == rules.units
            out = finished(level.stacks[state].tolist(), now, rules.prizes[: level.players])
            expected = [0.0 if prize is None else prize for prize in out]
            seats = next_seats(now)
            if len(seats) == 1:
                expected[seats[0]] = rules.prizes[0]
            else:
                below = rules.levels[len(seats) - 2]
                number = int(below.number([now[seat] for seat in seats]))
                assert below.stacks[number].tolist() == [now[seat] for seat in seats]
                for seat, was in enumerate(seats):
                    expected[was] = worth[below.first + number * below.players + seat]
            assert paid[state, k].tolist() == expected


def test_prizes_are_all_paid():
    rules = tournament(SMALL)
    level = rules.levels[-1]
    np.testing.assert_allclose(level.payoffs(rules.icm).sum(axis=-1), 100.0)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("tournament(chips=100)", "multiple of the unit"), ("tournament(players=9)", "2 to 4"),
        ("tournament(prizes=20/30/50)", "go up"), ("tournament(blinds=-300/600)", "small/big"),
        ("tournament(blinds=600/300)", "small/big"), ("tournament(x=1)", "no parameter"), ("poker", "begin with"),
        ("tournament(prizes=a)", "numbers"), ("tournament(chips=300)", "less than a unit"),
        ("tournament(players=2, prizes=5/3/2)", "3 prizes for 2"),
        ("tournament(unit=1, blinds=3/6, players=4)", "larger"),
        ("tournament(players=true)", "whole number"), ("tournament(ante=-1)", "whole number"),
    ],
)  # fmt: skip
def test_rules_that_make_no_sense(text, match):
    with pytest.raises(GameError, match=match):
        tournament(text)


# What one player could win


@given(st.integers(1, 12), st.integers(0, 10**6))
@settings(max_examples=examples(50), deadline=None)
def test_the_least_solution(size, seed):
    """Against value iteration from nothing, also where states never leave each other."""
    drawn = np.random.default_rng(seed)
    chain = drawn.random((size, size)) * (drawn.random((size, size)) < 0.4)
    leaves = drawn.random(size) < 0.5
    total = chain.sum(axis=1, keepdims=True)
    chain = np.where(total > 0, chain / np.maximum(total, 1e-12), 0.0) * np.where(leaves, 0.7, 1.0)[:, None]
    given_up = 1 - chain.sum(axis=1)
    given_up[given_up < 1e-9] = 0.0
    constant = given_up * drawn.random(size)
    row, column = np.nonzero(chain)
    found = minimal(row, column, chain[row, column], constant, size)
    here = np.zeros(size)
    for _ in range(20_000):
        here = chain @ here + constant
    np.testing.assert_allclose(found, here, atol=1e-6)


def test_a_best_response_meets_bellmans_equations(few_deals):
    """What policy iteration finds is the most that any hand can bring, at every state and seat."""
    rules = tournament(SMALL)
    level, engine = rules.levels[-1], few_deals[3]
    play = JamFoldPlay(engine, level.forced)
    induced = Induced(level, engine, play.moments)
    worth = rules.icm.copy()
    own = induced.value(play.jams, worth)
    best, policy = induced.policy_iteration(play.jams, worth)
    assert (best >= own - 1e-9).all() and (best - own).max() > 0.01
    np.testing.assert_allclose(own.sum(axis=1), 100.0, atol=1e-6)
    values = worth.copy()
    values[level.values] = best.ravel()
    action = engine.worth(play.moments, level.payoffs(values))
    top = np.where(level.forced[:, :, None], action[:, :, 1], action.max(axis=2)).sum(axis=-1)
    expected = np.zeros_like(best)
    nobody = engine.outcomes(play.moments, policy)[:, -1, 0]
    expected[:, -1] = nobody * level.payoffs(values)[:, 0, -1]
    for k, (seat, _) in enumerate(level.hand.nodes):
        expected[:, seat] += top[:, k]
    np.testing.assert_allclose(best, expected, atol=1e-7)
    values[level.values] = own.ravel()
    again, _ = induced.value_iteration(values, 1e-9)
    np.testing.assert_allclose(again, best, atol=1e-5)


def test_the_value_of_a_profile_by_playing_it_on(few_deals):
    """Hand after hand from the definition: chances of all states until nobody is left to play."""
    rules = tournament(TWO)
    level, engine = rules.levels[0], few_deals[2]
    play = JamFoldPlay(engine, level.forced)
    value = Induced(level, engine, play.moments).value(play.jams, rules.icm)
    chance = engine.outcomes(play.moments, play.jams)[:, 0]
    after = level.hand.after(level.stacks, level.posted)
    start = int(level.number([4, 6]))
    at = {(start, 0): 1.0}  # the state, and the seat of him who began as small blind
    won = 0.0
    for _ in range(400):
        then: dict = {}
        for (state, seat), p in at.items():
            for k, q in enumerate(chance[state]):
                now = after[state, k].tolist()
                seats = next_seats(now)
                if len(seats) == 1:
                    won += p * q * (seats[0] == seat)
                else:
                    key = int(level.number([now[s] for s in seats])), seats.index(seat)
                    then[key] = then.get(key, 0.0) + p * q
        at = then
    assert sum(at.values()) < 1e-6 and won == pytest.approx(value[start, 0], abs=1e-5)


# Equilibria


@pytest.mark.parametrize(
    "algorithm", ["vi-fp", "pi-fp", *(pytest.param(name, marks=pytest.mark.slow) for name in ("fp-pi", "fp-vi"))]
)
@pytest.mark.some(2)
def test_all_algorithms_find_an_equilibrium(few_deals, algorithm):
    rules = tournament(SMALL)
    found = solve(rules, algorithm, 2e-3)
    proof = check(rules, found.jams)
    assert 0 <= proof.epsilon < 4e-3 * 50 and min(gain.min() for gain in proof.gains) > -1e-6
    assert found.done == 2 and len(found.jams) == 2
    own = proof.values[rules.levels[1].values].reshape(-1, 3)
    np.testing.assert_allclose(own.sum(axis=1), 100.0, atol=1e-3)
    if algorithm != "vi-fp":
        other = check(rules, solve(rules, "vi-fp", 2e-3).jams)
        assert np.abs(other.values - proof.values).max() < 1.0


def test_two_players_of_equal_skill_share_the_chips():
    """A tournament for two is near the share of chips, and what both win is all there is."""
    rules = tournament(TWO)
    found = solve(rules, "pi-fp", 1e-4)
    proof = check(rules, found.jams)
    level = rules.levels[0]
    own = proof.values.reshape(-1, 2)
    np.testing.assert_allclose(own.sum(axis=1), 1.0, atol=1e-5)
    assert np.abs(own - level.stacks / rules.units).max() < 0.05 and proof.epsilon < 3e-4
    # Who has the button does not know who he is: the same stacks, the same strategy, whatever prizes are scaled by.
    scaled = tournament(TWO, prizes="20/10")
    again = solve(scaled, "pi-fp", 1e-4)
    assert np.abs(check(scaled, again.jams).values - (10 + 10 * proof.values)).max() < 0.02


def test_four_players_by_a_sample(few_deals):
    rules = tournament("tournament(players=4, chips=1800, prizes=50/30/20)")
    found = solve(rules, "vi-fp", 0.02)
    assert found.done == 3 and found.jams[2].shape == (10, 14, 169)
    assert check(rules, found.jams).epsilon < 5.0


def test_a_solution_is_kept_and_goes_on(few_deals, tmp_path):
    rules, path = tournament(SMALL), tmp_path / "a.tournament"
    seen = []

    def stop(found, step):
        save(found, path)
        seen.append(step)
        if step.players == 3 and step.iteration == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(rules, "pi-fp", 2e-3, on_step=stop)
    held = load(path)
    assert isinstance(held, TournamentSolution) and held.done == 1 and len(held.steps) == len(seen)
    with pytest.raises(GameError, match="not done for 3 players"):
        at_state(held, [600, 600, 600])
    found = solve(rules, "pi-fp", 2e-3, start=held)
    assert found.done == 2 and check(rules, found.jams).epsilon < 0.2
    save(found, path)
    shown = at_state(load(path), [600, 600, 600])
    assert shown.prizes == (50, 30, 20) and sum(shown.values) == pytest.approx(100, abs=0.05)
    assert shown.stacks == (600, 600, 600) and len(shown.charts) == 6
    with pytest.raises(SolverError, match="what was begun"):
        solve(rules, "vi-fp", start=load(path))
    with pytest.raises(SolverError, match="choose vi-fp"):
        solve(rules, "newton")
    with pytest.raises(GameError, match="multiple of 300"):
        at_state(found, [650, 550, 600])
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["kind"] == "tournament"
    from kibitz.core import store

    good = store.load(path)
    for meta in ({**good.meta, "tournament": "tournament(chips=2100)"}, {**good.meta, "steps": 3}, {}):
        store.save(tmp_path / "bad", "tournament", good.arrays, meta)
        with pytest.raises(ArtefactError, match="damaged"):
            load(tmp_path / "bad")


# At the command line


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "100"})


def test_pushfold_at_the_command_line(tmp_path):
    plot = tmp_path / "charts.png"
    done = run("pushfold", "--stacks", "10,10", "--plot", plot)
    assert done.exit_code == 0 and "SB, first to jam" in done.output and "BB after SB jammed" in done.output
    assert plot.read_bytes()[:4] == b"\x89PNG"
    page = tmp_path / "charts.html"
    done = run("pushfold", "--stacks", "10,7,13", "--prizes", "50,30,20", "--deals", "2000", "--plot", page, "--json")
    data = json.loads(done.output)
    assert len(data["decisions"]) == 6 and data["deals"] == 2000 and sum(data["values"]) == pytest.approx(100)
    text = page.read_text()
    assert text.startswith("<!doctype html>") and "AKs" in text and "http" not in text and "<script" not in text
    assert run("pushfold", "--stacks", "10,0").exit_code == 2
    assert run("pushfold", "--stacks", "10,10", "--blinds", "1").exit_code == 2


def test_icm_at_the_command_line():
    data = json.loads(run("icm", "--stacks", "10,7,13", "--prizes", "50,30,20", "--json").output)
    assert sum(data["worth"]) == pytest.approx(100)
    assert "33.5635" in run("icm", "--stacks", "10,7,13", "--prizes", "50,30,20").output
    assert run("icm", "--stacks", "10,x", "--prizes", "50").exit_code == 2


def test_a_tournament_at_the_command_line(tmp_path):
    out = tmp_path / "two.tournament"
    done = run("tournament", TWO, "--out", out)
    assert done.exit_code == 0 and "9 states of 2 players" in done.output and "Measured" in done.output
    again = json.loads(run("tournament", TWO, "--out", out, "--json").output)
    assert again["epsilon_share"] < 1e-3 and again["levels"][0]["states"] == 9
    charts = run("pushfold", "--tournament", out, "--stacks", "1200,1800")
    assert charts.exit_code == 0 and "blinds 300/600" in charts.output
    assert run("pushfold", "--tournament", out, "--stacks", "1200,1800", "--prizes", "1,0").exit_code == 2
    assert run("tournament", TWO, "--algorithm", "newton").exit_code == 2
    three = run("tournament", SMALL, "--deals", "1000", "--until", "0.01", "--algorithm", "vi-fp")
    assert three.exit_code == 0 and "10 states of 3 players" in three.output
    assert run("tournament", TWO, "--algorithm", "vi-fp", "--out", out).exit_code == 2
