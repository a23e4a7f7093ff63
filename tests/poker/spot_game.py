"""A spot as a game in plain Python, from the definitions: what fast solutions are compared with."""

from __future__ import annotations

import numpy as np

from kibitz.cards.deck import name, names
from kibitz.cards.ranges import hand_cards
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules.rules import strength
from kibitz.poker.spots.spot import betting_of, live


class SpotGame:
    """State: (betting node, hands of both or None, board)."""

    players = 2
    spec = ""

    def __init__(self, spot):
        self.spot, self.tree = spot, betting_of(spot)
        self.deck = [4 * rank + suit for rank in range(13 - spot.deck[0], 13) for suit in range(spot.deck[1])]
        cards, weights = hand_cards().tolist(), live(spot)
        pairs = {(i, j): weights[0, i] * weights[1, j] for i in np.flatnonzero(weights[0]).tolist()
                 for j in np.flatnonzero(weights[1]).tolist() if not {*cards[i]} & {*cards[j]}}  # fmt: skip
        total = sum(pairs.values())
        self.deals = [((i, j), weight / total) for (i, j), weight in pairs.items()]
        self.cards = cards

    def root(self):
        return (0, None, self.spot.board)

    def turn(self, state):
        node, hands, _ = state
        return CHANCE if hands is None else int(self.tree.betting.turn[node])

    def actions(self, state):
        return self.tree.actions(state[0])

    def chance(self, state):
        _, hands, board = state
        if hands is None:
            return [(k, chance) for k, (_, chance) in enumerate(self.deals)]
        gone = {*board, *self.cards[hands[0]], *self.cards[hands[1]]}
        left = [card for card in self.deck if card not in gone]
        return [(name(card), 1.0 / len(left)) for card in left]

    def after(self, state, action):
        node, hands, board = state
        if hands is None:
            return (node, self.deals[action][0], board)
        below = self.tree.children(node)
        if self.turn(state) == CHANCE:
            card = next(card for card in self.deck if name(card) == action)
            return (below[0], hands, (*board, card))
        return (below[self.actions(state).index(action)], hands, board)

    def line(self, state):
        """The line to a state, as solutions are asked."""
        words, node, board = [], state[0], list(state[2])
        betting = self.tree.betting
        while betting.parent[node] >= 0:
            above = int(betting.parent[node])
            if betting.turn[above] == CHANCE:
                words.append(name(board.pop()))
            else:
                words.append(self.actions((above, None, None))[int(betting.action[node])])
            node = above
        return ", ".join(reversed(words))

    def infoset(self, state):
        hand = state[1][self.turn(state)]
        return f"{names(self.cards[hand])}: {self.line(state)}"

    def payoff(self, state):
        node, hands, board = state
        pays = self.tree.pays[node]
        if self.tree.betting.folded[node].any():
            return pays[:, 0].tolist()
        worth = [int(strength(np.array((*self.cards[hand], *board), np.uint8))) for hand in hands]
        outcome = 0 if worth[0] > worth[1] else 1 if worth[0] == worth[1] else 2
        return [float(pays[0, outcome]), float(pays[1, 2 - outcome])]

    def table(self, solution):
        """The strategies of a solution as {infoset: {action: probability}}."""
        table, known = {}, {}
        stack = [self.root()]
        while stack:
            state = stack.pop()
            turn = self.turn(state)
            if turn == TERMINAL:
                continue
            if turn == CHANCE:
                stack += [self.after(state, outcome) for outcome, _ in self.chance(state)]
                continue
            stack += [self.after(state, action) for action in self.actions(state)]
            label, line = self.infoset(state), self.line(state)
            if label not in table:
                if line not in known:
                    known[line] = solution.at(line).strategy
                row = known[line][:, state[1][turn]]
                table[label] = dict(zip(self.actions(state), (row / row.sum()).tolist(), strict=True))
        return table
