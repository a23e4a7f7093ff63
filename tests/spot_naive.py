"""Spots from the definition: values and best responses by hands, one by one."""

from __future__ import annotations

import numpy as np

from kibitz.cards.boards import deck_of
from kibitz.cards.ranges import hand_cards
from kibitz.cards.ranking import evaluate
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.spots.spot import live


class NaiveSpot:
    """What a pair of strategies is worth. rows(node, board) -> [actions, 1326]. locked(node, board, hand): whether a
    best response follows the strategy there."""

    def __init__(self, spot, tree, rows, locked=lambda node, board, hand: False):
        self.spot, self.tree, self.rows, self.locked = spot, tree, rows, locked
        self.ranges = live(spot)
        self.deck = [int(card) for card in deck_of(*spot.deck)]
        self.hands = [np.flatnonzero(each).tolist() for each in self.ranges]
        self.cards = [tuple(map(int, pair)) for pair in hand_cards()]
        self._ranks = {}

    def strength(self, hand, board):
        key = (hand, tuple(sorted(board)))
        if key not in self._ranks:
            self._ranks[key] = int(evaluate(np.array([*self.cards[hand], *board])))
        return self._ranks[key]

    def mass(self):
        return sum(self.ranges[0, a] * self.ranges[1, b] for a in self.hands[0] for b in self.hands[1]
                   if not {*self.cards[a]} & {*self.cards[b]})

    def value(self, seat, best):
        """What a player wins a hand: by its own strategy, or at most."""
        total = 0.0
        for hand in self.hands[seat]:
            other = {h: float(self.ranges[1 - seat, h]) for h in self.hands[1 - seat]
                     if not {*self.cards[h]} & {*self.cards[hand]}}
            total += self.ranges[seat, hand] * self.walk(seat, 0, list(self.spot.board), hand, other, best)
        return total / self.mass()

    def walk(self, seat, node, board, hand, other, best):
        betting = self.tree.betting
        turn = int(betting.turn[node])
        if turn == TERMINAL:
            pays = self.tree.pays[node, seat]
            if betting.folded[node].any():
                return pays[0] * sum(other.values())
            mine = self.strength(hand, board)
            total = 0.0
            for h, weight in other.items():
                theirs = self.strength(h, board)
                total += weight * pays[0 if mine > theirs else 1 if mine == theirs else 2]
            return total
        children = self.tree.children(node)
        if turn == CHANCE:
            left = [card for card in self.deck if card not in board and card not in self.cards[hand]]
            total = 0.0
            for card in left:
                rest = {h: weight for h, weight in other.items() if card not in self.cards[h]}
                total += self.walk(seat, children[0], [*board, card], hand, rest, best)
            return total / (len(left) - 2)
        rows = self.rows(node, board)
        if turn == seat:
            values = [self.walk(seat, child, board, hand, other, best) for child in children]
            free = best and not self.locked(node, board, hand)
            return max(values) if free else sum(rows[k, hand] * value for k, value in enumerate(values))
        return sum(
            self.walk(seat, child, board, hand, {h: w * rows[k, h] for h, w in other.items()}, best)
            for k, child in enumerate(children)
        )
