"""Solved spots: values, equities and gains against the explicit tree, and against definitions."""

from __future__ import annotations

import numpy as np
import pytest

import kibitz
from kibitz.cards.ranges import HANDS, hand_cards, parse_range
from kibitz.core.errors import GameError, SolverError
from kibitz.evaluate import best_response, value
from kibitz.poker.rules.rules import strength
from kibitz.poker.spots.engine_cpu import MergedEngine
from kibitz.poker.spots.reading import spot
from kibitz.poker.spots.solution import showdowns
from kibitz.poker.spots.solving import solve_spot as solve
from kibitz.poker.spots.spot import in_deck, met
from tests.poker.endgame_engine import EndgameEngine
from tests.poker.spot_game import SpotGame


def small(cards=5, seed=0, deck=(5, 2), **options):
    """A spot of a small deck, with random ranges."""
    rng = np.random.default_rng(seed)
    every = [4 * rank + suit for rank in range(13 - deck[0], 13) for suit in range(deck[1])]
    board = tuple(int(card) for card in rng.choice(every, cards, replace=False))
    weights = np.where(met(board) | ~in_deck(deck), 0.0, rng.random((2, HANDS)) * (rng.random((2, HANDS)) < 0.8))
    fields = {"bets": "50%, allin", "raises": "allin", "pot": 20, "stacks": 50} | options
    return spot(board, list(weights), deck=deck, **fields)


def in_double(spot, tree, threads, locks, device):
    """The engine of spots with all its numbers in double precision."""
    return MergedEngine(spot, tree, threads, locks, np.float64, np.float64)


CASES = [
    pytest.param({"cards": 5, "deck": (4, 3)}, id="river"),
    pytest.param({"cards": 4, "deck": (5, 2), "bets": "allin"}, id="turn"),
    pytest.param({"cards": 3, "deck": (5, 2), "bets": "turn: allin", "raises": "none"}, id="flop"),
]


EXACT, SINGLE = 1e-6, 1e-5  # chips of a pot of 20: all in double precision; sums in single precision


@pytest.fixture(params=["all hands", "merged, double", "merged, single"])
def precision(request, monkeypatch):
    """Both engines, and how exact what they say is, in chips."""
    engines = {"all hands": EndgameEngine, "merged, double": in_double}
    if request.param in engines:
        monkeypatch.setattr("kibitz.poker.spots.solving.engine_of", engines[request.param])
        return EXACT
    return SINGLE


@pytest.mark.parametrize("options", CASES)
def test_values_and_gains_are_those_of_the_tree(options, precision):
    question = small(**options)
    game = SpotGame(question)
    answer = solve(question, iterations=40, threads=1)
    profile = kibitz.profile_from(game, game.table(answer))
    assert value(game, profile) == pytest.approx(answer.gains.value, abs=precision)
    for seat in (0, 1):
        assert float(best_response(game, profile, seat)[0]) == pytest.approx(answer.gains.best[seat], abs=precision)
    first = answer.at()
    assert first.gains == pytest.approx(answer.gains.best - answer.gains.value, abs=2 * precision)
    assert first.mean_values == pytest.approx(answer.values, abs=precision)


@pytest.mark.parametrize("engine", ["double", "single"])
@pytest.mark.parametrize("options", CASES)
def test_rake(options, engine, monkeypatch):
    """The rake comes off what both players win."""
    near = EXACT if engine == "double" else SINGLE
    if engine == "double":
        monkeypatch.setattr("kibitz.poker.spots.solving.engine_of", in_double)
    question = small(rake="10%", rake_cap=4, **options)
    game = SpotGame(question)
    answer = solve(question, iterations=40, threads=1)
    profile = kibitz.profile_from(game, game.table(answer))
    assert value(game, profile) == pytest.approx(answer.gains.value, abs=near)
    for seat in (0, 1):
        assert float(best_response(game, profile, seat)[0]) == pytest.approx(answer.gains.best[seat], abs=near)
    assert answer.at().mean_values == pytest.approx(answer.values, abs=near)
    assert 20 - 4 <= answer.values.sum() < 20
    assert answer.at().gains == pytest.approx(answer.gains.best - answer.gains.value, abs=2 * near)


@pytest.mark.parametrize("options", CASES)
def test_the_value_is_that_of_the_linear_program(options):
    question = small(seed=1, **options)
    answer = solve(question, until=1e-4, threads=1)
    exact = kibitz.solve(SpotGame(question), "lp")
    worth = float(kibitz.value(SpotGame(question), exact)[0])
    assert worth - answer.gains.value[0] <= answer.gains.best[0] - answer.gains.value[0] + 1e-6
    assert answer.gains.value[0] - worth <= answer.gains.best[1] - answer.gains.value[1] + 1e-6
    assert answer.exploitability <= 1e-4


def test_values_of_hands_and_actions_at_every_node(precision):
    question = small(4, seed=2, bets="60%", raises="allin")
    game = SpotGame(question)
    answer = solve(question, iterations=30, threads=1)
    profile = kibitz.profile_from(game, game.table(answer))
    values = kibitz.infoset_values(game, profile)
    rows: dict[str, dict[str, tuple[float, float]]] = {}
    for row in values.table:
        rows.setdefault(row["infoset"], {})[row["action"]] = (row["value"], row["reach"])
    lines = {label.partition(": ")[2] for label in rows}
    number = {kibitz.cards.names(cards): k for k, cards in enumerate(hand_cards().tolist())}
    compared, least = 0, 1e-6 if precision == EXACT else 1e-2
    for line in sorted(lines):
        node = answer.at(line)
        seat = node.turn
        for label in (label for label in rows if label.partition(": ")[2] == line):
            hand = number[label.partition(": ")[0]]
            for k, action in enumerate(node.actions):
                theirs = rows[label][action][0]
                if np.isnan(theirs) or node.weights[seat].max() < least or node._meets[seat, hand] < least:
                    continue  # what is left of sums by card removal is rounding
                # A hand that meets next to nobody has a value that is known less well.
                near = (EXACT if precision == EXACT else 1e-4) * (1.0 + 1.0 / node._meets[seat, hand])
                assert node.action_values[k, hand] - node.paid[seat] == pytest.approx(theirs, abs=near)
                compared += 1
            # how likely the hand is here is its weight over that of all pairs at the beginning
            reach = rows[label][node.actions[0]][1]
            whole = answer.at().weights[seat].sum()
            assert node.weights[seat, hand] / whole * node.chance == pytest.approx(reach, abs=1e-9)
        if node.reach > 1e-6:
            assert node.mean_values.sum() == pytest.approx(node.pot, abs=1e-3)
    assert compared > 500


def test_equities_from_their_definition():
    question = small(3, seed=3, deck=(4, 3))
    rng = np.random.default_rng(0)
    weights = np.where(met(question.board) | ~in_deck(question.deck), 0.0, rng.random(HANDS))
    wins, ties, meets = showdowns(question.board, weights, question.deck)
    deck = [4 * rank + suit for rank in range(9, 13) for suit in range(3)]
    cards = hand_cards().tolist()
    for hand in rng.choice(np.flatnonzero(weights), 5, replace=False).tolist():
        expected = np.zeros(3)
        for other in np.flatnonzero(weights).tolist():
            if {*cards[hand]} & {*cards[other]}:
                continue
            left = [card for card in deck if card not in (*question.board, *cards[hand], *cards[other])]
            for i, one in enumerate(left):
                for two in left[i + 1 :]:
                    own, theirs = (int(strength(np.array((*cards[h], *question.board, one, two), np.uint8)))
                                   for h in (hand, other))  # fmt: skip
                    expected += weights[other] * np.array([own > theirs, own == theirs, True])
        assert [wins[hand], ties[hand], meets[hand]] == pytest.approx(expected.tolist())


def test_a_symmetric_spot_with_a_check_alone_is_worth_half_the_pot():
    question = spot("Ks 8d 3c 2h 2d", ["22+, A2s+, KTo+", "22+, A2s+, KTo+"], 100, 300, "none", "none")
    answer = solve(question, iterations=2, threads=1)
    assert answer.values == pytest.approx([50, 50], abs=1e-6)
    assert answer.exploitability == pytest.approx(0.0, abs=1e-9)
    node = answer.at("check")
    assert node.actions == ("check",) and node.player == "IP"
    assert node.mean_equities == pytest.approx([0.5, 0.5])
    assert answer.at("check, check").is_over


def test_the_nuts_never_fold_and_a_bluff_catcher_is_indifferent():
    """The textbook river: the bettor has the nuts or nothing, half each; with a bet of the pot it bluffs half as often
    as it has the nuts, and the other calls half of the time."""
    question = spot("2c 2d 7h 8s Kc", ["AhAc, 5c4c:0.5, 5c4d:0.5", "QdQh"], 100, 100, "allin", "none")
    answer = solve(question, until=1e-5, threads=1)
    bet = answer.at().strategy[1]
    aces, one = (kibitz.cards.parse_range(text).numbers[0] for text in ("AhAc", "5c4c"))
    assert bet[aces] == pytest.approx(1.0, abs=1e-3)
    weights = answer.at("allin").weights[0]
    assert weights[aces] / weights.sum() == pytest.approx(2 / 3, abs=2e-3)
    queens = parse_range("QdQh").numbers[0]
    assert answer.at("allin").strategy[1][queens] == pytest.approx(0.5, abs=2e-3)
    assert answer.values == pytest.approx([75, 25], abs=0.05)
    assert answer.at("allin").values[1][queens] == pytest.approx(0.0, abs=0.2)
    assert 0.0 < bet[one] < 1.0


def test_limits_of_a_run():
    question = small(5)
    seen = []
    assert solve(question, iterations=7, threads=1).iterations == 7
    answer = solve(question, until=1e-3, threads=1, on_progress=seen.append)
    assert answer.exploitability <= 1e-3 and seen[-1].iterations == answer.iterations
    assert solve(question, seconds=0.05, threads=1).iterations >= 1
    with pytest.raises(SolverError, match="until"):
        solve(question, until=0)


@pytest.mark.parametrize(
    ("line", "words", "carets"),
    [
        ("check, bet 11", "not an action here: choose check, bet 10, allin 50", "       ^^^^^^"),
        ("check, check, check", "the hand is over", "              ^^^^^"),
    ],
)
def test_a_wrong_line_is_pointed_at(line, words, carets):
    answer = solve(small(5), iterations=1, threads=1)
    with pytest.raises(GameError, match=words) as error:
        answer.at(line)
    assert str(error.value).splitlines()[-1] == f"    {carets}"


def test_short_words_in_lines():
    answer = solve(small(4), iterations=1, threads=1)
    long = answer.at("check, bet 10, call")
    assert answer.at("x, b10, c").line == long.line
    card = kibitz.cards.names([long.cards[0]])
    assert long.after(card.lower()).board == (*answer.spot.board, long.cards[0])
    assert answer.at("allin").line == "allin 50"
    with pytest.raises(GameError, match="cannot come"):
        long.after(kibitz.cards.names([answer.spot.board[0]]))


@pytest.mark.slow
def test_the_value_of_the_first_spot_beside_another_solver():
    """facts: postflop-solver has 91.68 of a pot of 200 at 0.44% of it."""
    answer = solve(spot("Td 9d 6h Qc", ["random", "random"], 200, 900, "60%, allin", "60%, allin"))
    assert answer.exploitability <= 0.005
    assert answer.values[0] == pytest.approx(91.68, abs=(0.005 + 0.0044) * 200)
    assert answer.values[0] == pytest.approx(91.68, abs=0.2)


@pytest.mark.parametrize("name", ["force_allin", "add_allin", "merge", "min_bet"])
def test_numbers_that_no_chips_can_be_counted_by_are_refused(name):
    for number in (1e308, -1.0, float("nan"), float("inf")):
        with pytest.raises(GameError, match=name):
            kibitz.spot("2c 3c 4c 5c 7d", ["AhAd", "KhKd"], 10, 10, **{name: number})
