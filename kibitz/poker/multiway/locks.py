"""Locked decisions of spots with several players: what a player does is fixed, and the rest is trained against it.

Locks are written as for two players (`kibitz.poker.spots.locks`), for all hands of a decision. `*` stands for any card
between streets: a lock holds on all boards.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.ranges import hand_cards
from kibitz.core.errors import GameError
from kibitz.poker.multiway.machine import MOST_SHARE, RangedMachine
from kibitz.poker.multiway.question import Multiway
from kibitz.poker.preflop.nodes import nodes_of
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.spots.locks import ANY, SpotLock, read_lock

Words = NDArray[np.uint64]
Shares = NDArray[np.uint16]


class LineTree:
    """All betting of a question, with actions as people write them: what a lock is read by."""

    def __init__(self, question: Multiway) -> None:
        self.question = question
        self.betting: BettingTree = question.betting
        self.root = 1  # after the board

    def __len__(self) -> int:
        return len(self.betting)

    def children(self, node: int) -> list[int]:
        return np.flatnonzero(self.betting.parent == node).tolist()

    def actions(self, node: int) -> tuple[str, ...]:
        tree, root = self.betting, node
        while tree.turn[tree.parent[root]] >= 0:  # back to where its street begins
            root = int(tree.parent[root])
        nodes = nodes_of(self.question, root)
        return nodes.names[int(np.flatnonzero(nodes.number == node)[0])]


class Locks:
    """Decisions that are locked, and their rows."""

    def __init__(self, question: Multiway, texts: Sequence[str]) -> None:
        self.question = question
        tree: Any = LineTree(question)
        self.locks: dict[int, SpotLock] = {}
        for text in texts:
            lock = read_lock(text, tree)
            if not isinstance(lock, SpotLock) or any(card != ANY for card in lock.cards):
                raise GameError(f"lock {text!r:.60}: with three players a lock holds after any card: write * for it")
            self.locks[lock.node] = lock

    @cached_property
    def parts(self) -> NDArray[np.uint8]:
        """[nodes]  1 where a decision is locked, as a mask of training takes it."""
        return np.isin(np.arange(len(self.question.betting)), list(self.locks)).astype(np.uint8)

    def rows(self, machine: RangedMachine) -> tuple[Words, Shares]:
        """(keys, [rows, actions] probabilities times 65,535) of all hands on all boards, in the order of keys."""
        from kibitz.poker.rules.kernels.machine import keys

        every, shares = [np.zeros(0, np.uint64)], [np.zeros((0, machine.actions), np.uint16)]
        question, view = self.question, machine.view("null")
        for node, lock in self.locks.items():
            seat, later = int(question.betting.turn[node]), int(question.betting.round[node])
            own = question.hands(seat)
            cards = hand_cards()[own].astype(np.uint8)
            left = [card for card in question.definition.deck if card not in question.board]
            table = np.zeros((len(own), machine.actions), np.uint16)
            table[:, : len(lock.rows)] = np.rint(MOST_SHARE * lock.rows[:, own].T)
            for more in permutations(left, later):
                here = ~np.isin(cards, more).any(axis=1)
                board = np.repeat([np.array((*question.board, *more), np.uint8)], int(here.sum()), axis=0)
                states = machine.states(board, cards[here], seat)
                states[:, 0] = node
                numbers = np.zeros(len(states), np.uint64)
                keys(machine.game, view.keys, states, numbers)
                every.append(numbers)
                shares.append(table[here])
        key, share = np.concatenate(every), np.concatenate(shares)
        order = np.argsort(key)
        return key[order], share[order]


def with_locked(key: Words, share: Shares, locked: tuple[Words, Shares]) -> tuple[Words, Shares]:
    """Trained rows and locked ones, in the order of keys."""
    free = ~np.isin(key, locked[0])
    keys, shares = np.concatenate([key[free], locked[0]]), np.concatenate([share[free], locked[1]])
    order = np.argsort(keys)
    return keys[order], shares[order]
