"""Locked decisions of spots with several players."""

from __future__ import annotations

import numpy as np
import pytest
from test_multiway import MultiwayGame, Played, hand_number, parsed
from test_multiway_streets import SMALL, TURN

import kibitz
from kibitz.cards.ranges import parse_range
from kibitz.core.errors import GameError
from kibitz.games.tree import tree_of
from kibitz.poker.multiway.question import multiway
from kibitz.poker.multiway.solving import solve_multiway

RIVER = ("Qs Jh 2h 5c 5d", ["AA, QJs, T9s, 65s", "KK, AQ, AJs:0.5"], 100, 200, "50%", "allin")


def test_two_players_agree_with_the_engine_for_two():
    lock = "bet 50: fold = 70%"
    exact = kibitz.solve_spot(kibitz.spot(*RIVER, max_raises=2), until=5e-4, locks=[lock])
    free = kibitz.solve_spot(kibitz.spot(*RIVER, max_raises=2), until=5e-4)
    solution = solve_multiway(multiway(*RIVER), iterations=60_000, deals=60_000, locks=[lock])
    node = solution.at("bet 50")
    own = np.flatnonzero(solution.question.live[1])
    assert np.allclose(node.strategy[0, own], 0.7, atol=1e-4)
    assert exact.values[0] > free.values[0] + 5  # it matters
    assert np.abs(solution.values - exact.values).max() < max(2 * solution.value_errors.max() + 0.2, 1.5)


def test_the_others_respond_to_what_is_locked():
    """Players without a locked decision can gain little, counted by the tree."""
    ranges = ["AsAc, QdQc, JsTs", "AdKd, QcJc, 9s9c", "QcTc, AsJs, 9d9c"]
    question = multiway("Ks Kc Qs Jd Td", ranges, 30, "40, 25, 60", bets="50%", raises="none")
    lock = "bet 15: call = AdKd"
    solution = solve_multiway(question, iterations=40_000, threads=1, locks=[lock])
    node = solution.at("bet 15")
    calls = parse_range("AdKd").weights
    own = np.flatnonzero(question.live[1])
    assert np.allclose(node.strategy[1, own], calls[own], atol=1e-4)
    tree = tree_of(MultiwayGame(question))
    place = {int(number): k for k, number in enumerate(solution.first.nodes.number)}

    def rows(seat, label):
        hand, _, number = parsed(label)
        return solution.first.strategy[place[number]][:, hand_number(hand)]

    profile = Played(tree, rows).profile
    for seat in (0, 2):  # who has no locked decision
        gain = float(kibitz.best_response(tree, profile, seat)[0]) - float(kibitz.value(tree, profile)[seat])
        assert gain * question.unit == pytest.approx(solution.gains[seat], abs=1e-6)
        assert gain * question.unit < 0.8


def test_locks_of_later_streets_hold_after_any_card():
    solution = solve_multiway(multiway(*TURN, **SMALL), iterations=300, deals=2048, threads=1,
                              locks=["check, check, check, *: check = 100%", "check: check = AsKd"])  # fmt: skip
    end = solution.at("check, check, check")
    for card in ("Ad", "Td", "Qh"):
        node = end.after(card)
        here = np.flatnonzero(node.weights(0))
        assert np.allclose(node.strategy[:, here], [[1.0], [0.0]])
        assert not np.allclose(node.after("check").strategy[0, np.flatnonzero(node.weights(1))], 1.0)  # not locked
    assert solution.at("check").frequencies[0] < 1


@pytest.mark.parametrize(("lock", "sentence"), [
    ("check, check, check, As: check = 100%", "write \\* for it"),
    ("check, check, check: check = 100%", "nobody acts here"),
    ("check: bet 99 = 100%", "not an action here"),
    ("check: check = 60%; allin = 60%", "more than 100%"),
    ("check", "a lock reads"),
])  # fmt: skip
def test_wrong_locks_get_a_sentence(lock, sentence):
    with pytest.raises(GameError, match=sentence):
        solve_multiway(multiway(*TURN, **SMALL), iterations=1, locks=[lock])
