"""Spots by the general form of endgames: all hands of their own on all boards, and measures in double precision.

What the engine of spots says is compared with this.
"""

from __future__ import annotations

import numpy as np

from kibitz.cards.ranges import HANDS
from kibitz.core.errors import GameError
from kibitz.poker.endgames.subgame import NO_LIMIT_ON_BYTES, Endgame, Left
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.deal import deal_on
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.spot import live

ALPHA, GAMMA = 1.5, 4.0  # of dcfr+


class SpotForm(Endgame):
    """A spot as a poker form with all hands, each of its own."""

    def __init__(self, spot, tree):
        left = tree.betting.definition
        self.root_node, self.first_round, self.spot, self.tree = 0, 0, spot, tree
        rules = Left(left, tree.betting, left.name)
        PokerForm.__init__(self, rules, cards=deal_on(left, spot.board), most_bytes=NO_LIMIT_ON_BYTES)
        self.numbers = [numbers_of(here.hand) for here in self.cards.rounds]
        self.ranges = live(spot)[:, self.numbers[0]]


def numbers_of(hands):
    """[n]  the numbers of hands of two cards, the lower first."""
    low, high = hands.astype(np.int64).T
    return np.asarray(high * (high - 1) // 2 + low)


class EndgameEngine:
    """dcfr+ with all hands that the board leaves, in single precision; measures in double precision."""

    def __init__(self, spot, tree, threads=None, locks=(), device="cpu"):
        from kibitz.core.resources import cores
        from kibitz.forms.kernels.cfr import Rule

        if spot.rake or spot.prizes or locks:
            raise GameError("this engine is for spots without rake, prizes and locks")
        self.form = SpotForm(spot, tree)
        self.state = PokerCfrState(self.form, None)
        self.rule = Rule(ALPHA, ALPHA, GAMMA, 0.0, 0.0, 0.0, True)
        self.threads = cores() if threads is None else threads

    def iterate(self, done, count):
        self.state.iterate(self.rule, done, count, self.threads)

    def gains(self):
        scale = self.form.tree.unit / self.form.mass
        measure = self.form.measure_weights(self.state.average)
        return Gains(measure.value * scale, measure.best * scale)

    def answer(self):
        return FormRows(self.form, self.state.solution())


class FormRows:
    """Rows of a form with all hands: what they are by betting node and board."""

    def __init__(self, form, strategy):
        self.form, self.strategy = form, strategy
        self._boards = [{tuple(sorted(board)): k for k, board in enumerate(here.boards.tolist())}
                        for here in form.cards.rounds]  # fmt: skip
        self._values = {}

    def _board(self, level, board):
        """(number, classes) of a board."""
        number = self._boards[level].get(tuple(sorted(int(card) for card in board)))
        if number is None:
            raise GameError("the board does not continue the board of the spot")
        begins = self.form.cards.rounds[level].board_class
        return number, slice(int(begins[number]), int(begins[number + 1]))

    def places(self, node, board):
        """([actions, hands] sequences of a decision on a board, [hands] numbers of the hands)."""
        form = self.form
        segment, k = form._where[node]
        level, seat = int(form.levels[segment]), int(form.betting.turn[node])
        _, classes = self._board(level, board)
        first, table = form.first_node(segment), form.table
        children = first + table.children[first + k, : int(table.count[first + k])]
        group, lane = int(form.groups.group[segment]), int(form.groups.lane[segment])
        lanes, width = len(form.groups.lanes[group]), int(table.width[seat, group])
        size = classes.stop - classes.start
        at = width * classes.start + table.action[children].astype(np.int64)[:, None] * size + np.arange(size)
        return int(table.base[seat, group]) + at * lanes + lane, form.numbers[level][classes]

    def rows(self, node, board):
        sequences, numbers = self.places(node, board)
        rows = np.zeros((len(sequences), HANDS))
        rows[:, numbers] = self.strategy[sequences]
        total = rows.sum(axis=0)
        rows[:, total > 0.0] /= total[total > 0.0]
        return rows

    def root_values(self, seat, node, board, best):
        form = self.form
        segment, k = form._where[node]
        if k:
            raise GameError("the node does not begin a street")
        level = int(form.levels[segment])
        _, classes = self._board(level, board)
        if (seat, best) not in self._values:
            self._values[seat, best] = form.look(seat, self.strategy, not best)
        values = np.zeros(HANDS)
        here = self._values[seat, best][form.root_places(segment)[classes]]
        values[form.numbers[level][classes]] = here * (form.tree.unit / form.cards.chance[level])
        return values
