"""Duplicate matches: the same as a hand-by-hand replay, fair, and with intervals that hold."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from seats import exact, trained

import kibitz
from kibitz.core.errors import GameError
from kibitz.evaluate import match as match_module
from kibitz.evaluate.match import chosen, draws, match
from kibitz.evaluate.score import scored
from kibitz.games.views import view_of
from kibitz.play import agent
from kibitz.play.conformance import Thinking
from kibitz.solvers.machines import machine_of

SMALL, THREE = "toepen(suits=2, ranks=3, hand=2)", "toepen(suits=3, ranks=3, hand=3)"


@pytest.fixture(scope="module")
def blueprint(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("match") / "small", SMALL)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("match") / "full", "toepen", 100)


def naive(game, one, two, deals, seed):
    """What `one` wins in seat 0 and in seat 1, by deal: the readable rules, and the same random numbers."""
    rules, won = kibitz.game(game), []
    for number in range(deals):
        hand = machine_of(game).hand(seed, number)
        row = []
        for seats in ((one, two), (two, one)):
            state, numbers = hand.start(), draws(hand.after)
            while rules.turn(state) >= 0:
                view = view_of(rules, state, rules.turn(state))
                a = chosen(seats[view.seat].act(view), next(numbers))
                state = rules.after(state, view.actions[a])
            row.append(rules.payoff(state)[0] * (1 if seats[0] is one else -1))
        won.append(row)
    return np.array(won)


@pytest.mark.parametrize("names", [("rule", "uniform"), ("PATH", "rule"), ("uniform", "PATH")])
def test_a_match_is_the_replay_of_its_deals(full, names):
    one, two = (agent(full if name == "PATH" else name, "toepen") for name in names)
    won = naive("toepen", one, two, 150, 7)
    result = match("toepen", one, two, deals=150, seed=7)
    assert result.mean == won.mean() and result.deals == 150
    assert [s.mean for s in result.by_seat] == won.mean(axis=0).tolist()
    assert result.error == pytest.approx(won.mean(axis=1).std(ddof=1) / math.sqrt(150))
    thought = match("toepen", Thinking(one), Thinking(two), deals=150, seed=7)
    assert (thought.mean, thought.error, thought.by_seat) == (result.mean, result.error, result.by_seat)


@pytest.mark.parametrize(
    "game", [THREE, "toepen(ranks=4, hand=3, betting=false)", "toepen(ranks=4, follow_suit=false)"]
)
def test_other_decks_and_rules_are_replayed_too(game):
    one, two = agent("rule", game), agent("uniform", game)
    assert match(game, one, two, deals=100, seed=3).mean == naive(game, one, two, 100, 3).mean()


def test_swapping_players_swaps_the_result_exactly(full):
    players = [agent(name, "toepen") for name in ("rule", "uniform", full)]
    for one, two in itertools.combinations(players, 2):
        here, there = match("toepen", one, two, deals=3000, seed=1), match("toepen", two, one, deals=3000, seed=1)
        assert here.mean == -there.mean and here.error == there.error
        assert here.by_seat[0].mean == -there.by_seat[1].mean


def test_nobody_wins_from_himself(full):
    for name in ("rule", "uniform", full):
        player = agent(name, "toepen")
        result = match("toepen", player, player, deals=2000)
        assert result.mean == 0.0 and result.by_seat[0].mean == -result.by_seat[1].mean


def test_threads_do_not_change_the_result():
    one, two = agent("rule", "toepen"), agent("uniform", "toepen")
    results = [
        match("toepen", one, two, deals=9001, seed=5, threads=n, decided=u) for u in (False, True) for n in (1, 2, 5)
    ]
    for a, b in itertools.pairwise(results[:3]):
        assert (a.mean, a.error, a.by_seat) == (b.mean, b.error, b.by_seat)
    assert len({(r.mean, r.deals, r.stopped) for r in results[3:]}) == 1


@pytest.mark.parametrize("names", [("rule", "uniform"), ("uniform", "PATH"), ("PATH", "rule")])
@pytest.mark.some(2)
def test_matches_agree_with_exact_values(blueprint, names):
    one, two = (agent(blueprint if name == "PATH" else name, SMALL) for name in names)
    truth = exact(SMALL, one, two)
    result = match(SMALL, one, two, deals=100_000)
    assert abs(result.mean - truth) < 4 * result.error


@pytest.mark.slow
def test_matches_agree_with_exact_values_of_three_cards(tmp_path):
    path = trained(tmp_path / "three", THREE, 500)
    one, two = agent(path, THREE), agent("rule", THREE)
    result = match(THREE, one, two, deals=300_000)
    assert abs(result.mean - exact(THREE, one, two)) < 4 * result.error


def test_intervals_hold_the_truth_as_often_as_they_say():
    one, two = agent("rule", SMALL), agent("uniform", SMALL)
    truth = exact(SMALL, one, two)
    results = [match(SMALL, one, two, deals=200, seed=seed) for seed in range(400)]
    held = np.mean([low <= truth <= high for low, high in (r.interval for r in results)])
    assert 0.92 < held < 0.98


def test_scores_of_few_and_of_equal_numbers():
    assert scored(1, 3.0, 9.0).error == math.inf
    score = scored(4, 8.0, 16.0)
    assert (score.mean, score.error, score.interval) == (2.0, 0.0, (2.0, 2.0))
    numbers = np.random.default_rng(1).normal(1.0, 2.0, 30)
    score = scored(30, numbers.sum(), (numbers**2).sum())
    assert score.error == pytest.approx(numbers.std(ddof=1) / math.sqrt(30))
    assert score.interval[1] - score.mean == pytest.approx(2.0452 * score.error, rel=1e-4)  # Student's t


def test_a_match_stops_when_it_is_decided_or_precise():
    one, two = agent("rule", "toepen"), agent("uniform", "toepen")
    decided = match("toepen", one, two, deals=1_000_000, decided=True)
    assert decided.stopped == "decided" and decided.deals in (1000, 2000, 4000) and decided.interval[0] > 0
    precise = match("toepen", one, two, deals=1_000_000, precision=0.05)
    half = precise.interval[1] - precise.mean
    assert precise.stopped == "precise" and half <= 0.05 and precise.deals < 50_000
    same = match("toepen", one, one, deals=5000, decided=True)
    assert same.stopped == "done" and same.deals == 5000


def played(monkeypatch, won, **options):
    """A match whose deals end as we say: what `one` wins in both seats, deal by deal, in chunks of 700."""

    def chunks(*_):
        for first in range(0, len(won), 700):
            both = np.stack([won[first : first + 700]] * 2, axis=1)
            yield np.stack([both, -both], axis=2)

    monkeypatch.setattr(match_module, "_compiled", chunks)
    one, two = agent("rule", "toepen"), agent("uniform", "toepen")
    return match("toepen", one, two, deals=len(won), **options)


def ahead_by(points, deals):
    """Deals of one point each, which `one` is ahead by so many of; the lead comes in the last of them."""
    return np.append(np.tile([1.0, -1.0], (deals - points) // 2), np.ones(points))


# For look k after so many deals: the least even lead that decides it, and the greatest that does not. A lead of s in n
# deals of one point is s / sqrt(n - s^2 / n) standard errors; look k asks for the quantile of 1 - 0.05 / (2 k (k + 1)):
# 2.245 for k = 1, 2.641 for 2, 2.867 for 3 (Student's t).
LEADS = {1000: (72, 70), 2000: (118, 116), 4000: (182, 180)}


@pytest.mark.parametrize("deals", LEADS)
def test_when_a_match_is_decided(monkeypatch, deals):
    enough, short = LEADS[deals]
    rest = np.tile([1.0, -1.0], 150)  # nobody gets further ahead
    for lead, stopped in ((enough, "decided"), (short, "done")):
        result = played(monkeypatch, np.append(ahead_by(lead, deals), rest), decided=True)
        assert (result.stopped, result.deals) == (stopped, deals if stopped == "decided" else deals + 300), lead
        other = played(monkeypatch, -np.append(ahead_by(lead, deals), rest), decided=True)
        assert (other.stopped, other.deals, other.mean) == (result.stopped, result.deals, -result.mean)


def test_checks_are_after_a_thousand_deals_and_then_twice_as_many(monkeypatch):
    even, won = np.tile([1.0, -1.0], 510), np.ones(6000)
    for deals, look in ((500, 1000), (1020, 2000), (2040, 4000)):
        result = played(monkeypatch, np.append(np.resize(even, deals), won), decided=True)
        assert (result.stopped, result.deals) == ("decided", look)
    short = played(monkeypatch, np.ones(999), decided=True)
    assert (short.stopped, short.deals) == ("done", 999)


@pytest.mark.slow
def test_checks_of_who_wins_rarely_err(monkeypatch):
    """Between equals a match is called decided in at most one of twenty, and in some; checks without care would err
    twice as often."""
    rng = np.random.default_rng(0)
    matches = [rng.choice([-1.0, 1.0], size=32_000) for _ in range(400)]
    results = [played(monkeypatch, won, decided=True) for won in matches]
    assert 1 <= sum(result.stopped == "decided" for result in results) <= 20
    at = np.array([1000 << k for k in range(6)])
    careless = sum((np.abs(won.cumsum()[at - 1]) > 1.96 * np.sqrt(at)).any() for won in matches)
    assert careless > 40


def test_ctrl_c_gives_what_there_is():
    one, two = agent("rule", "toepen"), agent("uniform", "toepen")

    def stop(tally):
        if tally.deals >= 4000:
            raise KeyboardInterrupt

    result = match("toepen", one, two, deals=10_000_000, on_progress=stop)
    assert result.stopped == "interrupted" and result.deals == 4000
    assert result.mean == match("toepen", one, two, deals=4000).mean


def test_mistakes_are_sentences():
    one, two = agent("rule", "toepen"), agent("uniform", "toepen")
    for wrong in ({"deals": 0}, {"seed": -1}, {"precision": 0.0}, {"precision": -1.0}):
        with pytest.raises(GameError):
            match("toepen", one, two, **wrong)
    with pytest.raises(GameError, match="toepen"):
        match("leduc", one, two)

    class Broken(Thinking):
        def __init__(self, agent):
            super().__init__(agent)
            self.act = lambda view: [0.7] * len(view.actions)

    with pytest.raises(GameError, match="probabilities, for check, bet"):
        match("toepen", Broken(one), two, deals=1)


def test_a_result_says_who_won_what_from_whom() -> None:
    result = kibitz.match("kuhn", "uniform", "uniform", deals=50, seed=1)
    low, high = result.interval
    assert repr(result) == (
        f"uniform wins {result.mean:+.4f} per hand from uniform (95%: {low:+.4f} to {high:+.4f}, 50 deals)"
    )
