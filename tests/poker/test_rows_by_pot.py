"""Rows that forget the betting of earlier rounds, and buckets of hands without tables."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest
from poker_games import COARSE, THREE
from poker_games import three_machine as machine

from kibitz.core.errors import GameError
from kibitz.games.kernels.dispatch import interpreted
from kibitz.games.tree import tree_of
from kibitz.poker.blueprints.placed_rows import layout_of, placed_blueprint
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.on_demand import figures
from kibitz.poker.rules import betting
from kibitz.poker.rules.rows import RowPlan, data_of, rows_from
from kibitz.poker.rules.rules import Poker, strength
from kibitz.solvers.kernels.walk import walk_all, workspace
from kibitz.solvers.saved_blueprints import load_blueprint

GAMES = ("holdem.limit.2p", "holdem.limit.3p")
MOST_BYTES = 4 << 20
POT = RowPlan((COARSE,), betting="pot")


# Rows that forget the betting of earlier rounds


def seen_of(infoset, buckets):
    """What such a row knows, from the rules: the betting of this round, who is in, chips before it, and the bucket."""
    cards, _, done = infoset.partition(":")
    *before, now = done.split("/")
    bets = betting.start(THREE)
    for said in before:
        for action in betting.words(said):
            bets = betting.act(THREE, bets, action)
        bets = betting.deal(THREE, bets)
    private, board = cards.partition(" ")[::2]
    hand = np.array([["23456789TJQKA".index(card[0]) * 4 for card in (private, board) if card]])
    known = (bets.folded, max(bets.paid)) if before else ()
    return len(before), now, known, int(buckets.of(len(before), hand)[0])


def test_rows_by_pot_are_those_of_the_definition():
    made = placed_blueprint(machine(), POT)
    buckets, infosets = hand_buckets(THREE, COARSE), tree_of(Poker(THREE)).infosets
    by_key, by_what = {}, {}
    for seat in range(3):
        for number in range(infosets.seat_start[seat], infosets.seat_start[seat + 1]):
            text = infosets.labels[number]
            key = int(machine().keys_of(made.view, seat, [text], [int(infosets.width[number])])[0])
            what = seat, seen_of(text, buckets)
            assert by_key.setdefault(key, what) == what
            assert by_what.setdefault(what, key) == key
    layout = layout_of(made)
    assert len(by_key) == layout.size < layout_of(placed_blueprint(machine(), RowPlan((COARSE,)))).size
    assert rows_from(data_of(POT)) == POT
    with pytest.raises(GameError, match="choose all or pot"):
        RowPlan((COARSE,), betting="chips")


def test_training_by_pot_has_a_slow_twin(tmp_path):
    fast, slow = (placed_blueprint(machine(), POT, seed=5) for _ in range(2))
    fast.train(iterations=20)
    with np.errstate(over="ignore"):
        interpreted(walk_all)(
            slow.walked_game, slow.keys, slow.table, slow.mask(), slow.base_player(), slow.order(), 0, 20,
            workspace(machine().depth, 0, machine().actions),
        )  # fmt: skip
    np.testing.assert_array_equal(fast.table.regret, slow.table.regret)
    assert fast.table.regret.any()
    fast.played().save(tmp_path / "pot")
    again = load_blueprint(tmp_path / "pot", game=machine())
    np.testing.assert_array_equal(again.table.share, fast.played().table.share)
    assert again.table.share.sum() == 255 * layout_of(again).size  # every row was written, once


# Buckets without tables


def ahead_of(hand, board):
    """Twice the hands that a hand beats plus those that it ties, one by one."""
    rest = [card for card in range(52) if card not in (*hand, *board)]
    others = np.array(list(combinations(rest, 2)))
    whole = np.concatenate([others, np.tile(board, (len(others), 1))], axis=1).astype(np.uint8)
    theirs, mine = strength(whole), strength(np.array([[*hand, *board]], np.uint8))[0]
    return 2 * int((theirs < mine).sum()) + int((theirs == mine).sum())


def test_figures_are_those_of_the_definition():
    drawn = random.Random(4)
    cards = drawn.sample(range(52), 7)
    hand, board = tuple(sorted(cards[:2])), tuple(sorted(cards[2:]))
    assert figures(board)[hand] == ahead_of(hand, board)
    turn = board[:4]
    rest = [card for card in range(52) if card not in (*hand, *turn)]
    assert figures(turn)[hand] == sum(ahead_of(hand, (*turn, card)) ** 2 for card in rest)


