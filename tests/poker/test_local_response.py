"""Local best response: as by its definition, never above an exact best response, and above what it answers to."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from bucketed import HOLDEM
from local_naive import NaiveResponse
from test_row_experts import TINY

import kibitz
from kibitz import commands
from kibitz.cli.sampled import evaluate_sampled
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.play.agents import agent, blueprint_agent
from kibitz.poker.rules import acpc
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import Poker
from kibitz.poker.whole.local_response import LocalResponse, local_bound
from kibitz.solvers.blueprint import blueprint_profile
from kibitz.solvers.machines import machine_of

RULES = Poker(replace(acpc.parse(TINY, "tiny"), ranks=3))  # three seats, one card each
# Two cards each and four on the board, three of them before the first round.
FLOP = Poker(acpc.parse(HOLDEM.format(rounds=2, suits=2, ranks=5, board="3 1", bets="10 20", ones="1"), "flop"))


@lru_cache
def trained(iterations, game=RULES):
    return kibitz.train(game, iterations=iterations, seed=3)


def target_of(made):
    return blueprint_agent(made, made.machine, "b")


def response_to(made):
    return LocalResponse(target_of(made), boards=50)  # all ways that the board may go on


@pytest.mark.parametrize("game", [RULES, FLOP], ids=["three seats", "from the flop"])
def test_it_is_that_of_the_definition(game):
    """What each action is worth at each of its decisions, and what it wins."""
    target, response = target_of(trained(300, game)), response_to(trained(300, game))
    naive, room, decisions, alike = NaiveResponse(target), response.room(), 0, 0
    for deal, seat in np.ndindex(8, target.machine.players):
        room.worth[:] = np.nan
        compiled = response.won(7, deal, 1, room)[0, seat]
        values, won = naive.play(seat, 7, deal)
        best = [sorted(each.values()) for each in values]
        if any(each[-1] - each[-2] < 1e-9 for each in best):
            continue  # rounding decides between equal actions
        alike += 1
        decisions += len(values)
        for each, worth in zip(values, room.worth[seat], strict=False):
            named = dict(zip(("fold", "call", "raise"), worth.tolist(), strict=True))
            assert {action: named[action] for action in each} == pytest.approx(each, rel=1e-9, abs=1e-9)
            assert ("raise" in each) == (named["raise"] > -np.inf)
        assert np.isnan(room.worth[seat, len(values) :]).all() and compiled == won
    assert alike > 6 * target.machine.players and decisions > 16


def test_boards_are_drawn_where_there_are_many_ways():
    """Two cards missing: with many draws each action is worth what it is over all ways."""
    game = Poker(acpc.parse(HOLDEM.format(rounds=2, suits=2, ranks=5, board="2 2", bets="10 20", ones="1"), "two"))
    target = target_of(trained(300, game))
    few, many = (LocalResponse(target, boards=count) for count in (20, 5000))
    naive, apart = NaiveResponse(target), []
    for deal, seat in np.ndindex(4, 2):
        off, (values, _) = [], naive.play(seat, 7, deal)
        for response in (few, many) if values else ():  # the other seat may fold at once
            room = response.room()
            response.won(7, deal, 1, room)
            first = dict(zip(("fold", "call", "raise"), room.worth[seat, 0].tolist(), strict=True))
            off.append(max(abs(first[action] - worth) for action, worth in values[0].items()))
        apart += [off] if off else []
    few_off, many_off = np.array(apart).T
    assert many_off.max() < 1.0 and 4 * many_off.mean() < few_off.mean()  # 16 times, by the root of the number


def test_what_is_refused_before_any_work():
    short = HOLDEM.format(rounds=2, suits=2, ranks=5, board="0 3", bets="10 20", ones="1")
    short = short.replace("limit", "limit\nstack = 25 25")
    with pytest.raises(GameError, match="stacks that last"):
        LocalResponse(agent("uniform", machine_of(Poker(acpc.parse(short, "short")))))
    with pytest.raises(GameError, match="2 to 100,000,000"):
        local_bound(target_of(trained(1)), deals=10**12)


@pytest.mark.parametrize("iterations", [1, pytest.param(3000, marks=pytest.mark.slow)])
def test_it_is_a_lower_bound(iterations):
    made = trained(iterations)
    tree = tree_of(RULES)
    exact = float(np.mean(form_of(tree).measure(blueprint_profile(made, tree).probabilities).best))
    low, high = local_bound(target_of(made), deals=3000).score.interval
    assert low <= exact and high - low < exact
    if iterations == 1:
        assert low > exact / 4 > 0  # against one who learnt nothing most is won by knowing one's hand


def test_results_are_those_of_the_seed_and_the_deal():
    """In whatever chunks, and on however many threads."""
    target = target_of(trained(1))
    one, two = (local_bound(target, deals=95, threads=threads) for threads in (1, 2))
    assert (one.score, one.seats, one.deals) == (two.score, two.seats, two.deals) and one.deals == 95
    won = LocalResponse(target).won(1, 40, 30)
    assert won.tolist() == LocalResponse(target).won(1, 0, 95)[40:70].tolist()
    assert one.seats[2].mean == pytest.approx(LocalResponse(target).won(1, 0, 95)[:, 2].mean())
    assert local_bound(target, deals=95, seed=2).score != one.score
    data = one.data()
    assert data["mean"] == one.score.mean and len(data["by_seat"]) == 3 and data["stopped"] == "done"


def test_ctrl_c_ends_it_with_the_deals_until_then():
    def stop(deals, score):
        if deals >= 30:
            raise KeyboardInterrupt

    found = local_bound(target_of(trained(1)), deals=1000, on_progress=stop)
    assert found.stopped == "interrupted" and 30 <= found.deals < 1000


def test_evaluate_shows_what_it_wins():
    data = commands.evaluate_sampled(trained(1), 0.05, 40, "too large")["local_best_response"]
    assert data["deals"] == 40 and data["mean"] == local_bound(target_of(trained(1)), deals=40).score.mean
    with pytest.raises(GameError, match="deals=1 "):
        commands.evaluate_sampled(trained(1), 1e9, 1, "too large")  # refused before any work


@pytest.mark.parametrize(("response", "said"), [
    ({"mean": 3.0, "interval": [2.0, 4.0], "deals": 9000, "stopped": "done"}, "in 9,000 deals"),
    ({"mean": 3.0, "interval": [2.0, 4.0], "deals": 70, "stopped": "interrupted"}, "in 70 deals, stopped by Ctrl-C"),
    ({"mean": 0.0, "interval": [None, None], "deals": 0, "stopped": "interrupted"}, "too early to say in 0 deals"),
])  # fmt: skip
def test_what_evaluate_prints(monkeypatch, capsys, response, said):
    won = {"mean": 1.0, "interval": [0.5, 1.5]}
    data = {"value": [won] * 3, "deals": 10, "exploitability_at_least": 0.5, "local_best_response": response,
            "responder": {**won, "abstraction": "a", "iterations": 5}}  # fmt: skip
    monkeypatch.setattr(commands, "evaluate_sampled", lambda *asked: data)
    evaluate_sampled(trained(1), Path("b"), 1.0, 9000, False, Watch(), "too large")
    assert said in " ".join(capsys.readouterr().out.split())


def test_ranges_are_what_hands_do():
    """By the definition: the product of what the target does with a hand at each of its decisions."""
    made = trained(300)
    player = target_of(made)
    found, _ = NaiveResponse(player).ranges(1, (44,), [(), (41,)], "rcc/c")  # with Kc, on Qd
    assert set(found) == {0, 2}
    for card in set(made.machine.definition.deck) - {44, 41}:
        name = text_of((card,))
        opens = player.answer(2, f"{name}:", ("fold", "call", "raise"))[2]
        calls = player.answer(0, f"{name}:r", ("fold", "call", "raise"))[1]
        checks = player.answer(0, f"{name} Qd:rcc/", ("call", "raise"))[0]
        assert found[2][card,] == pytest.approx(opens) and found[0][card,] == pytest.approx(calls * checks)


def test_what_it_does_not_answer():
    with pytest.raises(GameError, match="a compiled player of poker"):
        LocalResponse(agent("uniform", machine_of("kuhn")))
    with pytest.raises(GameError, match="2 to 100,000,000"):
        local_bound(target_of(trained(1)), deals=1)
    with pytest.raises(GameError, match="boards=0"):
        local_bound(target_of(trained(1)), boards=0)
