"""Spots of a tournament: payoffs against the chip model by hand, best responses against the definition."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from spot_naive import NaiveSpot

from kibitz.cards import parse
from kibitz.cards.ranges import parse_range
from kibitz.core.errors import GameError
from kibitz.games.protocol import TERMINAL
from kibitz.poker.spots.prizes import values_of
from kibitz.poker.spots.sizes import SizeList, sizes_of
from kibitz.poker.spots.solving import solve_spot
from kibitz.poker.spots.spot import Spot, betting_of

PRIZES, OTHERS = (50.0, 30.0, 20.0), (1500.0, 800.0)


def spot_of(board="Td 9d 6h Qc 2c", bets="50%, allin", pot=200.0, stacks=(900.0, 900.0), ranges=None, **options):
    sizes = SizeList(sizes_of(bets), sizes_of("allin", True))
    texts = ranges or ("TT, 87s, KJs, A2s, 98s", "99, J8s, AQs, 55, KTs")
    weights = np.stack([parse_range(text).weights for text in texts])
    return Spot(tuple(parse(board).tolist()), weights, pot, stacks, ((sizes, sizes),) * 3, **options)


def finish(stacks, prizes):
    """The chip model by hand: the chance of every order of finish."""
    values = np.zeros(len(stacks))
    for order in permutations(range(len(stacks))):
        chance, left = 1.0, float(sum(stacks))
        for player in order:
            chance *= stacks[player] / left
            left -= stacks[player]
        for place, player in enumerate(order[: len(prizes)]):
            values[player] += chance * prizes[place]
    return values


def by_hand(stacks, others, prizes):
    """Values of two stacks, of which one may be gone: it comes last."""
    alive = [k for k in (0, 1) if stacks[k] > 0]
    players = 2 + len(others)
    values = np.full(2, prizes[players - 1] if len(prizes) >= players else 0.0)
    values[alive] = finish([*(stacks[k] for k in alive), *others], prizes)[: len(alive)]
    return values


@pytest.mark.parametrize(
    ("prizes", "others", "stacks"),
    [
        (PRIZES, OTHERS, (900.0, 900.0)),
        (PRIZES, OTHERS, (900.0, 2500.0)),
        ((70.0, 30.0), (), (900.0, 400.0)),
        ((60.0, 30.0, 10.0), (500.0,), (900.0, 900.0)),
    ],
)
def test_ends_pay_what_the_chip_model_says(prizes, others, stacks):
    spot = spot_of(prizes=prizes, others=others, stacks=stacks)
    tree, chips = betting_of(spot), betting_of(spot_of(stacks=stacks))
    before = np.array(stacks) + 100.0
    base = by_hand(before, others, prizes)
    ends = np.flatnonzero(tree.betting.turn == TERMINAL)
    assert len(ends) > 5
    for node in ends:
        for outcome in range(3):
            won = np.array([chips.pays[node, 0, outcome], chips.pays[node, 1, 2 - outcome]])
            after = by_hand(before + won, others, prizes)
            assert tree.pays[node, 0, outcome] == pytest.approx(after[0] - base[0], abs=1e-9)
            assert tree.pays[node, 1, 2 - outcome] == pytest.approx(after[1] - base[1], abs=1e-9)
    assert not tree.pays[tree.betting.turn != TERMINAL].any()


def test_a_player_without_chips_comes_last():
    values = values_of(np.array([[0.0, 2000.0], [2000.0, 0.0]]), (), (70.0, 30.0))
    assert np.allclose(values, [[30.0, 70.0], [70.0, 30.0]])
    assert values_of(np.array([[0.0, 2000.0]]), OTHERS, PRIZES)[0, 0] == 0.0  # of four, and three are paid


def test_winner_takes_all_is_play_for_chips():
    """With one prize the value of a stack is its share of the chips."""
    spot = spot_of(prizes=(10.0,), others=OTHERS)
    chips = betting_of(spot_of())
    assert np.allclose(betting_of(spot).pays, chips.pays * 10.0 / (2000.0 + sum(OTHERS)))
    assert spot.stake == pytest.approx(200.0 * 10.0 / (2000.0 + sum(OTHERS)))
    assert spot_of().stake == 200.0


def test_lost_chips_cost_more_than_won_chips_bring():
    tree = betting_of(spot_of(prizes=PRIZES, others=OTHERS))
    ends = tree.betting.turn == TERMINAL
    both = tree.pays[ends, 0] + tree.pays[ends, 1][:, ::-1]
    assert (both < 1e-9).all() and both.min() < -1.0  # what both lose, the others win


@pytest.mark.parametrize(
    ("board", "deck", "ranges"),
    [
        ("Td 9d 6h Qc 2c", (13, 4), None),
        ("Td 9d Ah Qc", (6, 4), ("TT, KJs", "AQs, J9s")),
    ],
)
def test_gains_are_those_of_the_definition(board, deck, ranges):
    spot = spot_of(board, ranges=ranges, deck=deck, prizes=PRIZES, others=OTHERS)
    solution = solve_spot(spot, iterations=30, threads=1)
    naive = NaiveSpot(spot, solution.tree, solution.solved.rows)
    for seat in (0, 1):
        assert solution.gains.value[seat] == pytest.approx(naive.value(seat, False), abs=2e-3)
        assert solution.gains.best[seat] == pytest.approx(naive.value(seat, True), abs=2e-3)
    assert (solution.gains.best >= solution.gains.value - 1e-4).all()
    assert solution.exploitability == pytest.approx(solution.gains.exploitability / spot.stake)


def test_players_risk_less_for_prizes_than_for_chips():
    """A player who is near the money calls an all-in bet with fewer hands than for chips."""
    calls = []
    for options in ({}, {"prizes": (50.0, 30.0), "others": (120.0,)}):
        spot = spot_of(bets="allin", stacks=(400.0, 400.0), ranges=("random", "random"), **options)
        solution = solve_spot(spot, iterations=150, threads=1)
        node = solution.tree.children(0)[1]
        assert solution.tree.actions(node) == ("fold", "call")
        calls.append(solution.solved.rows(node, spot.board)[1].sum())
        if options:
            assert solution.exploitability < 0.02
    assert calls[1] < 0.9 * calls[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prizes": (20.0, 30.0)}, "must not increase"),
        ({"prizes": (50.0, 30.0, 20.0)}, "3 prizes for 2 players"),
        ({"others": (100.0,)}, "give prizes"),
        ({"prizes": (1.0,), "others": (0.0,)}, "above 0 chips"),
        ({"prizes": (1.0,), "others": (5.0,) * 30}, "too many"),
        ({"prizes": (1.0,), "rake": 0.05}, "not both"),
    ],
)
def test_prizes_that_cannot_be(options, words):
    with pytest.raises(GameError, match=words):
        spot_of(**options)


def test_values_of_nodes_are_what_stacks_are_worth():
    spot = spot_of(prizes=PRIZES, others=OTHERS)
    solution = solve_spot(spot, iterations=20, threads=1)
    before = values_of(np.array([[900.0, 1100.0]]), OTHERS, PRIZES)[0]  # OOP has folded: the pot is lost
    node = solution.at("check, bet 100, fold")
    assert np.nanmax(np.abs(node.values[0] - before[0])) < 1e-6
    root = solution.at()
    assert np.allclose(root.mean_values, solution.values, atol=1e-3)
    assert np.allclose(solution.values - spot.base, solution.gains.value)


def test_spots_are_written_with_their_prizes():
    from kibitz.poker.spots.reading import spot as read
    from kibitz.poker.spots.reading import written

    question = read("Td 9d 6h Qc 2c", ["TT, 87s", "99, AQs"], 200, 900, prizes="50, 30, 20", others=[1500, 800])
    assert (question.prizes, question.others) == (PRIZES, OTHERS)
    again = read(**written(question))
    assert (again.prizes, again.others) == (PRIZES, OTHERS)
    with pytest.raises(GameError, match="prizes: 'x' is not a number"):
        read("Td 9d 6h Qc 2c", ["TT, 87s", "99, AQs"], 200, 900, prizes="50, x")
