"""SpotSolution: a solved spot, and what it says at every node.

    node = solution.at("check, bet 66, call, Qc")     # a line: actions and cards, with commas between them
    node.player, node.actions, node.board
    node.strategy      [actions, 1326]  what each hand does
    node.action_values [actions, 1326]  what each hand wins from here on by each action, in chips; a fold wins 0
    node.values        [2, 1326]        what each hand of both players wins from here on
    node.equities      [2, 1326]        its share of the pot if nobody bet any more
    node.ranges        [2, 1326]        how likely each player comes here with a hand, times its weight

Hands are in the order of `kibitz.cards.ranges`. What a hand that a player cannot hold, or that never meets another,
wins is NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.deck import name, names
from kibitz.cards.ranges import HANDS
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.spots.engine import SolvedRows
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.lines import action_number, card_number, followed
from kibitz.poker.spots.spot import PLAYERS, Spot, SpotTree, in_deck, live, meeting, met

Floats = NDArray[np.float64]
LEAST = 1e-12  # of the weight that a hand meets at the beginning: below, it meets nobody but by rounding


@dataclass(frozen=True, eq=False)
class SpotSolution:
    """A solved spot."""

    spot: Spot
    tree: SpotTree
    solved: SolvedRows
    gains: Gains
    iterations: int
    seconds: float

    @property
    def exploitability(self) -> float:
        """The mean of what both players can still gain, as a share of the pot."""
        return self.gains.exploitability / self.spot.stake

    @property
    def values(self) -> Floats:
        """[2]  what each player wins on average, in chips: without rake they add up to the pot. With prizes: what its
        stack is worth after the hand."""
        return np.asarray(self.gains.value + self.spot.base)

    def at(self, line: str = "") -> SpotNode:
        """The node after a line of actions and cards; "" is the first decision."""
        return place(self, line)

    def lines(self, most: int = 1_000) -> list[str]:
        """Lines to the decisions of the first street, and with cards that come first in the deck, to later ones."""
        lines: list[str] = []
        stack = [self.at()]
        while stack and len(lines) < most:
            node = stack.pop()
            if node.player is not None:
                lines.append(node.line)
            stack += reversed(node.below)
            if node.cards:
                stack.append(node.after(name(node.cards[0])))
        return lines


def place(solution: SpotSolution, line: str) -> SpotNode:
    """Read a line."""
    root = SpotNode(solution, 0, solution.spot.board, live(solution.spot), "", 1.0)
    return followed(root, line, SpotNode.after)


@dataclass(frozen=True, eq=False)
class SpotNode:
    """A place in a solved spot. Hands are numbered as in `kibitz.cards.ranges`."""

    solution: SpotSolution
    node: int  # of the betting tree
    board: tuple[int, ...]
    ranges: Floats  # [2, 1326]
    line: str
    chance: float  # of the cards that came since the beginning, for hands that meet here

    @property
    def turn(self) -> int:
        return int(self.solution.tree.betting.turn[self.node])

    @property
    def player(self) -> str | None:
        """OOP or IP; None where cards come or the hand is over."""
        return PLAYERS[self.turn] if self.turn >= 0 else None

    @property
    def is_over(self) -> bool:
        return self.turn == TERMINAL

    @property
    def actions(self) -> tuple[str, ...]:
        return self.solution.tree.actions(self.node)

    @cached_property
    def cards(self) -> list[int]:
        """The cards that may come next, where one does."""
        if self.turn != CHANCE:
            return []
        spot = self.solution.spot
        deck = [4 * rank + suit for rank in range(13 - spot.deck[0], 13) for suit in range(spot.deck[1])]
        return [card for card in deck if card not in self.board]

    @cached_property
    def paid(self) -> Floats:
        """[2]  chips that each has put in, half of the first pot with them."""
        return self.solution.tree.paid(self.node)

    @property
    def pot(self) -> float:
        return float(self.paid.sum())

    def after(self, word: str) -> SpotNode:
        """The node after an action, or after a card where one comes."""
        if self.is_over:
            raise GameError("the hand is over here")
        if self.turn != CHANCE:
            return self.below[action_number(word, self.actions)]
        card = card_number(word)
        if card not in self.cards:
            raise GameError(f"{word!r:.40} cannot come on the board {names(self.board)}")
        (below,) = self.solution.tree.children(self.node)
        ranges = np.where(met((card,)), 0.0, self.ranges)
        line, chance = self._line(name(card)), self.chance / (len(self.cards) - 4)
        return SpotNode(self.solution, below, (*self.board, card), ranges, line, chance)

    @cached_property
    def below(self) -> list[SpotNode]:
        """The nodes after each action."""
        nodes = []
        for k, (action, node) in enumerate(zip(self.actions, self.solution.tree.children(self.node), strict=False)):
            ranges = self.ranges.copy()
            ranges[self.turn] *= self.strategy[k]
            nodes.append(SpotNode(self.solution, node, self.board, ranges, self._line(action), self.chance))
        return nodes

    def _line(self, word: str) -> str:
        return f"{self.line}, {word}" if self.line else word

    # What players do

    @cached_property
    def strategy(self) -> Floats:
        """[actions, 1326]  probabilities; 0 for hands that the board rules out."""
        if self.turn < 0:
            return np.zeros((0, HANDS))
        return self.solution.solved.rows(self.node, self.board)

    @cached_property
    def weights(self) -> Floats:
        """[2, 1326]  how likely each hand is to be here: its range times all hands of the other that it meets."""
        return np.stack([self.ranges[seat] * self._meets[seat] for seat in (0, 1)])

    @cached_property
    def _meets(self) -> Floats:
        gone = met(self.board) | ~in_deck(self.solution.spot.deck)
        return np.stack([np.where(gone, 0.0, meeting(self.ranges[1 - seat])) for seat in (0, 1)])

    @property
    def reach(self) -> float:
        """How likely play comes here."""
        root = live(self.solution.spot)
        whole = float((root[0] * meeting(root[1])).sum())
        return float(self.weights[0].sum()) / whole * self.chance

    @cached_property
    def frequencies(self) -> Floats:
        """[actions]  how often the player to act does what, over its hands as likely as they are here; where nobody
        ever comes, as likely as they were at the beginning."""
        if self.turn < 0:
            return np.zeros(0)
        weights = self.weights[self.turn]
        if not weights.any():
            weights = np.where(met(self.board), 0.0, live(self.solution.spot)[self.turn])
        return np.asarray(self.strategy @ weights / max(weights.sum(), 1e-300))

    # What hands win

    def _chips(self, seat: int, counterfactual: Floats) -> Floats:
        """Counterfactual values as chips from here on; with prizes, as what a stack is worth after the hand."""
        here, chips = self._is_here(seat), np.full(HANDS, np.nan)
        base = self.solution.spot.base[seat] if self.solution.spot.prizes else self.paid[seat]
        chips[here] = counterfactual[here] / self._meets[seat][here] + base
        return chips

    def _is_here(self, seat: int) -> NDArray[np.bool_]:
        """[1326]  hands of the player's range at the beginning that may meet a hand of the other here. A hand that it
        never comes here with has a value too."""
        first = live(self.solution.spot)
        least = LEAST * float(first[1 - seat].sum())
        return np.asarray((self._meets[seat] > least) & (first[seat] > 0))

    @cached_property
    def _counterfactual(self) -> Floats:
        """[2 seats, 2 (by the strategy, at most), 1326]  counterfactual values (`engine.py`): within a street from the
        definitions, from the values where the next street begins."""
        if self.turn == TERMINAL:
            values = np.stack([_end(self, seat) for seat in (0, 1)])
            return np.stack([values, values], axis=1)
        if self.turn == CHANCE:
            return _after_cards([self])[0]
        exits = [node for node in _street(self) if node.turn == CHANCE and "_counterfactual" not in vars(node)]
        for node, values_there in zip(exits, _after_cards(exits), strict=True):
            vars(node)["_counterfactual"] = values_there
        values = np.zeros((2, 2, HANDS))
        after = np.stack([node._counterfactual for node in self.below])  # [actions, 2, 2, 1326]
        seat = self.turn
        values[1 - seat] = after[:, 1 - seat].sum(axis=0)
        values[seat, 0] = (self.strategy * after[:, seat, 0]).sum(axis=0)
        values[seat, 1] = after[:, seat, 1].max(axis=0)
        return values

    @cached_property
    def values(self) -> Floats:
        """[2, 1326]  what each hand wins from here on, in chips: NaN where it cannot be held or meets nobody."""
        return np.stack([self._chips(seat, self._counterfactual[seat, 0]) for seat in (0, 1)])

    @cached_property
    def best_values(self) -> Floats:
        """[2, 1326]  the same at most, against the other's strategy."""
        return np.stack([self._chips(seat, self._counterfactual[seat, 1]) for seat in (0, 1)])

    @cached_property
    def action_values(self) -> Floats:
        """[actions, 1326]  what each hand of the player to act wins from here on by each action, in chips."""
        if self.turn < 0:
            return np.zeros((0, HANDS))
        seat = self.turn
        return np.stack([self._chips(seat, node._counterfactual[seat, 0]) for node in self.below])

    @property
    def mean_values(self) -> Floats:
        """[2]  what each player wins from here on, over its hands as likely as they are here."""
        return self._mean(self.values)

    @property
    def first_values(self) -> Floats:
        """The same where a street begins, as the solution has them: the streets after it are not looked at again."""
        values = [self.solution.solved.root_values(seat, self.node, self.board, False) for seat in (0, 1)]
        return self._mean(np.stack([self._chips(seat, values[seat]) for seat in (0, 1)]))

    @property
    def gains(self) -> Floats:
        """[2]  what each player can still gain from here on, in chips: its best response less its strategy."""
        return np.asarray(self._mean(self.best_values) - self.mean_values)

    def _mean(self, values: Floats) -> Floats:
        weights = np.where(np.isfinite(values), self.weights, 0.0)
        total = weights.sum(axis=1)
        sums = (np.nan_to_num(values) * weights).sum(axis=1)
        return np.asarray(np.divide(sums, total, out=np.full(2, np.nan), where=total > 0))

    @cached_property
    def equities(self) -> Floats:
        """[2, 1326]  each hand's share of the pot if nobody bet any more, against the other's range here."""
        shares = np.full((2, HANDS), np.nan)
        for seat in (0, 1):
            wins, ties, meets = showdowns(self.board, self.ranges[1 - seat], self.solution.spot.deck)
            here = self._is_here(seat)
            shares[seat, here] = (wins + ties / 2)[here] / meets[here]
        return shares

    @property
    def mean_equities(self) -> Floats:
        """[2]"""
        return self._mean(self.equities)


def _street(node: SpotNode) -> Iterator[SpotNode]:
    """A node and all nodes below it on its street, ends and those where cards come among them."""
    yield node
    for below in node.below:
        yield from _street(below)


def _after_cards(nodes: Sequence[SpotNode]) -> list[Floats]:
    """Counterfactual values of nodes of one street where cards come: card by card, as engines have values of one board
    at hand."""
    sums = [np.zeros((2, 2, HANDS)) for _ in nodes]
    if not nodes:
        return sums
    solution, cards = nodes[0].solution, nodes[0].cards
    below = [solution.tree.children(node.node)[0] for node in nodes]
    for card in cards:
        board = (*nodes[0].board, card)
        for seat, best in product((0, 1), (0, 1)):
            for total, node in zip(sums, below, strict=True):
                total[seat, best] += solution.solved.root_values(seat, node, board, bool(best))
    return [total / (len(cards) - 4) for total in sums]


def _end(node: SpotNode, seat: int) -> Floats:
    """[1326]  counterfactual values of a player's hands where betting ends."""
    tree, reach = node.solution.tree, node.ranges[1 - seat]
    win, tie, lose = tree.pays[node.node, seat]
    if tree.betting.folded[node.node].any():
        return np.asarray(win * node._meets[seat])
    wins, ties, meets = showdowns(node.board, reach, node.solution.spot.deck)
    return np.asarray(win * wins + tie * ties + lose * (meets - wins - ties))


def showdowns(board: Sequence[int], weights: Floats, deck: tuple[int, int]) -> Floats:
    """[3, 1326]  for each hand, the weight of a range that it beats, ties with and meets, over all boards to come."""
    from kibitz.cards.kernels.ranges import meet_each
    from kibitz.cards.kernels.strength import CARD_MASK, KINDS, WIDE, workspace

    left = [4 * rank + suit for rank in range(13 - deck[0], 13) for suit in range(deck[1])]
    new = combinations([card for card in left if card not in board], 5 - len(board))
    cards = np.array([(*board, *more) for more in new], np.int64)
    sums = np.zeros((HANDS, 3))
    room = np.zeros((KINDS, WIDE)), np.zeros((KINDS + 1, WIDE)), workspace()
    meet_each(np.bitwise_or.reduce(CARD_MASK[cards], axis=1), weights, sums, *room)
    sums[~in_deck(deck)] = 0.0
    return np.ascontiguousarray(sums.T)
