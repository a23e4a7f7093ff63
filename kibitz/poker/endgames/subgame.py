"""Endgame: what is left of a two-player poker game when a round begins on a board that lies there.

It is a poker form of its own: the betting below one node, all hands that the board leaves, suits with their names. How
likely each seat comes there with a hand is its *range* (`PokerLayout.ranges`): it weighs what the other meets, and
regrets and values of a hand do not know of its own. So values are not divided by how likely the endgame is (`mass`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.exact.deal import deal_on
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.rules.rules import Poker

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NO_LIMIT_ON_BYTES = 1 << 62  # an endgame is small beside the game that it is of


@dataclass(frozen=True)
class Left:
    """The rules of what is left, as a layout asks for them."""

    definition: Definition  # of the rounds that are left; the first has all of the board so far
    betting: BettingTree
    spec: str

    @property
    def least_histories(self) -> int:
        return len(self.betting)


def betting_below(tree: BettingTree, node: int) -> BettingTree:
    """The betting from a node on; nodes keep their order, and rounds count from the node's."""
    end = node + 1
    while end < len(tree) and tree.parent[end] >= node:  # preorder: what is below follows
        end += 1
    below = slice(node, end)
    parent, action = tree.parent[below] - node, tree.action[below].copy()
    parent[0], action[0] = -1, 0
    first = int(tree.round[node])
    return replace(
        tree, parent=parent, turn=tree.turn[below], round=tree.round[below] - first, action=action,
        actions_of=tree.actions_of[below], paid=tree.paid[below], folded=tree.folded[below],
    )  # fmt: skip


def rounds_left(definition: Definition, level: int) -> Definition:
    """The definition of the rounds from one on, with all cards of the board so far in the first."""
    by_round = {name: getattr(definition, name)[level:] for name in ("raise_size", "first_player", "max_raises")}
    board = (sum(definition.board[: level + 1]), *definition.board[level + 1 :])
    return replace(definition, rounds=definition.rounds - level, board=board, name="", **by_round)


class Endgame(PokerForm):
    """What is left of a game from a betting node on, where a round begins. H hands."""

    def __init__(self, game: Poker, node: int, board: Sequence[int], ranges: Floats | None = None) -> None:
        """board: all its cards so far, in the order in which they came. ranges: [2, H] in the order of `hands`."""
        tree = game.betting
        if tree.turn[node] < 0 or (tree.parent[node] >= 0 and tree.round[tree.parent[node]] == tree.round[node]
                                   and tree.turn[tree.parent[node]] >= 0):  # fmt: skip
            raise GameError(f"{tree.text[node]!r}: an endgame begins where a round does, with someone to act")
        level = int(tree.round[node])
        left = rounds_left(game.definition, level)
        if len(board) != left.board[0] or len({*board} & {*left.deck}) != len(board):
            raise GameError(f"in round {level + 1} of {game.spec} the board has {left.board[0]} of the deck's cards")
        self.whole, self.root_node, self.first_round = game, node, level
        rules = Left(left, betting_below(tree, node), f"{game.spec} after {tree.text[node] or 'the deal'}")
        super().__init__(rules, cards=deal_on(left, board), most_bytes=NO_LIMIT_ON_BYTES)  # type: ignore[arg-type]
        if ranges is not None:
            if ranges.shape != self.ranges.shape or not (ranges >= 0).all():
                raise GameError(f"a range has a weight, 0 or more, for each of {len(self.hands)} hands")
            self.ranges = np.asarray(ranges, np.float64)

    @cached_property
    def hands(self) -> NDArray[np.uint8]:
        """[H, hole]  the hands that a seat may hold, by number: ranges and values are in this order."""
        return self.cards.rounds[0].hand

    @cached_property
    def pot(self) -> int:
        """Chips in the middle when it begins."""
        return int(self.betting.paid[0].sum())

    @cached_property
    def mass(self) -> float:
        """How likely the endgame is by the ranges alone, chance left out: the mean over all pairs of hands that can
        meet, of the product of their weights."""
        whole = self.meeting(np.ones((2, len(self.hands))))
        return float(self.ranges[0] @ self.meeting(self.ranges)[0]) / float(whole[0].sum())

    def meeting(self, ranges: Floats) -> Floats:
        """[2, H]  for a hand of each seat: the weight of all that the other may hold."""
        hands = self.hands
        met = np.empty(ranges.shape)
        for seat in (0, 1):
            weight = ranges[1 - seat]
            by_card = np.zeros(52)
            for k in range(hands.shape[1]):
                np.add.at(by_card, hands[:, k], weight)
            met[seat] = weight.sum() - by_card[hands].sum(axis=1)
            if hands.shape[1] == 2:  # the hand itself has been taken off twice
                met[seat] += weight
        return met

    def response(self, seat: int, strategy: NDArray[Any]) -> Floats:
        """[H]  what each hand of a seat wins at most, against the other's strategy (by sequence) and range."""
        return self.look(seat, strategy)[self.root_places(0)]

    def rows_at(self, strategy: NDArray[Any], seat: int, node: int) -> NDArray[Any]:
        """[actions, classes]  what a seat does at a betting node of the whole game, on all boards of that round."""
        segment, k = self._where[node - self.root_node]
        return np.asarray(strategy[self.sequences_at(seat, segment, k)])

    @cached_property
    def _where(self) -> dict[int, tuple[int, int]]:
        """(segment, place in it) of a betting node, counted from the root."""
        return {int(node): (segment, k) for segment, nodes in enumerate(self.segments.node)
                for k, node in enumerate(nodes.tolist())}  # fmt: skip

    def decisions(self) -> list[tuple[int, int, int]]:
        """(segment, place in it, betting node of the whole game) of all nodes at which a seat acts."""
        return [(segment, k, node + self.root_node) for node, (segment, k) in self._where.items()
                if self.betting.turn[node] >= 0]  # fmt: skip

    def class_of(self, board: Sequence[int], hand: Sequence[int]) -> int:
        """The class of a hand on a board that goes on from that of the endgame."""
        level = next((k for k, r in enumerate(self.cards.rounds) if r.boards.shape[1] == len(board)), -1)
        here = self.cards.rounds[level]
        first, at = here.boards[0][: self.cards.rounds[0].boards.shape[1]], np.zeros(0, np.int64)
        if level >= 0 and [*board[: len(first)]] == first.tolist():
            later = np.sort(np.array(board[len(first) :], np.uint8))  # one card a round, or all of a round's at once
            at = np.flatnonzero((np.sort(here.boards[:, len(first) :], axis=1) == later).all(axis=1))
        if len(at) == 0:
            raise GameError("the board does not go on from that of the endgame")
        low, high = int(here.board_hand[at[0]]), int(here.board_hand[at[0] + 1])
        same = np.flatnonzero((here.hands[low:high] == np.sort(np.array(hand, np.uint8))).all(axis=1))
        if len(same) != 1:
            raise GameError("the hand meets the board")
        return int(here.hand_class[low + int(same[0])])
