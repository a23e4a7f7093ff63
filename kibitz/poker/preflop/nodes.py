"""One round of betting, the first or a later one: its decisions and its ends, numbered from 0 in preorder.

An end is a fold of all but one, the place where the next cards come, with more betting or for a showdown, or the
showdown itself. The question may be one about play before the flop, or about a spot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules.acpc import Definition
from kibitz.poker.rules.betting import BettingTree
from kibitz.poker.spots.lines import action_number, followed

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Question(Protocol):
    """What is asked of a question here."""

    @property
    def players(self) -> int: ...
    @property
    def unit(self) -> float: ...
    @property
    def definition(self) -> Definition: ...
    @property
    def betting(self) -> BettingTree: ...


@dataclass(frozen=True, eq=False)
class FirstNodes:
    """P nodes."""

    question: Question
    number: Ints  # [P]  in the whole betting tree
    parent: Ints  # [P]  -1 at the root
    action: Ints  # [P]  which child of its parent
    turn: Ints  # [P]  the seat that acts; TERMINAL at an end
    names: tuple[tuple[str, ...], ...]  # [P]  actions as people write them
    paid: Ints  # [P, players]  chips
    folded: NDArray[np.bool_]  # [P, players]

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def children(self) -> list[list[int]]:
        below: list[list[int]] = [[] for _ in range(len(self))]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                below[parent].append(node)
        return below

    @cached_property
    def decisions(self) -> list[int]:
        return np.flatnonzero(self.turn >= 0).tolist()

    @cached_property
    def ends(self) -> list[int]:
        return np.flatnonzero(self.turn < 0).tolist()

    @cached_property
    def lines(self) -> list[str]:
        """How each node is reached: "raise 2.5, call"."""
        lines = [""]
        for node in range(1, len(self)):
            parent = int(self.parent[node])
            before = f"{lines[parent]}, " if parent else ""
            lines.append(before + self.names[parent][int(self.action[node])])
        return lines

    def at(self, line: str) -> int:
        """The node of a line. Names of actions may be cut: "raise" where there is one raise, "allin"."""
        return followed(0, line, self.after)

    def after(self, node: int, word: str) -> int:
        """The node after an action."""
        if self.turn[node] < 0:
            raise GameError("the betting of this street is over here")
        return self.children[node][action_number(word, self.names[node])]

    def is_fold(self, node: int) -> bool:
        """Whether all but one have folded."""
        return bool(self.turn[node] < 0 and self.folded[node].sum() == self.question.players - 1)


def nodes_of(question: Question, root: int | None = None) -> FirstNodes:
    """The first round of a question's betting; or the round that begins with a decision, a node of the whole tree."""
    tree = question.betting
    begin = (1 if tree.turn[0] == CHANCE else 0) if root is None else root  # cards may come before the first round
    outside = np.flatnonzero(tree.parent[begin + 1 :] < begin)
    below = np.arange(begin, begin + 1 + int(outside[0]) if len(outside) else len(tree))
    above = tree.parent[below]
    is_here = (tree.turn[above] >= 0) & (tree.round[above] == tree.round[begin])
    is_here[0] = True
    number = below[is_here]
    if not (tree.turn[number] >= 0).any():
        raise GameError("nobody has a decision: give larger stacks")
    place = np.full(len(tree) + 1, -1, np.int64)  # the last is that of no node
    place[number] = np.arange(len(number))
    parent = place[above[is_here]]
    parent[0] = -1
    turn = np.where(tree.turn[number] >= 0, tree.turn[number], TERMINAL).astype(np.int64)
    nodes = FirstNodes(question, number, parent, tree.action[number].astype(np.int64), turn, (), tree.paid[number],
                         tree.folded[number])  # fmt: skip
    names: list[tuple[str, ...]] = []
    for node in range(len(nodes)):
        offer = int(tree.actions_of[number[node]])
        actions = tree.actions[offer] if offer >= 0 and turn[node] >= 0 else ()
        names.append(tuple(_name(nodes, node, child, action, bool(tree.round[begin]))
                           for child, action in zip(nodes.children[node], actions, strict=True)))  # fmt: skip
    object.__setattr__(nodes, "names", tuple(names))
    return nodes


def _name(nodes: FirstNodes, node: int, child: int, action: str, later: bool) -> str:
    """An action as people write it: a number is what the player has bet then on the street, without antes and the pot
    before."""
    if action == "fold":
        return action
    question, seat = nodes.question, int(nodes.turn[node])
    if action == "call":
        return "call" if nodes.paid[node, seat] < nodes.paid[node].max() else "check"
    stacks = question.definition.stacks or ()
    most = min(stacks[seat], max(stack for other, stack in enumerate(stacks)
                                 if other != seat and not nodes.folded[node, other]))  # fmt: skip
    before = nodes.paid[0].max() if later else nodes.paid[0].min()  # blinds are bets, what earlier streets had is not
    word = "allin" if nodes.paid[child, seat] >= most else "raise" if nodes.paid[node].max() > before else "bet"
    number = int(nodes.paid[child, seat] - before) if later else int(action[1:])
    return f"{word} {number * question.unit:.10g}"


def acting_node(turn: NDArray[np.int8], node: int) -> int:
    """The first node from here on at which somebody acts or the hand is over."""
    while turn[node] == CHANCE:
        node += 1  # in preorder the only child is the next node
    return node


def acting_nodes(nodes: FirstNodes) -> Ints:
    """[ends]  of each end, the node of the whole tree at which play goes on after the cards, or ends."""
    turn = nodes.question.betting.turn
    return np.array([acting_node(turn, int(nodes.number[end])) for end in nodes.ends], np.int64)


def reaches(nodes: FirstNodes, strategy: list[Floats]) -> Floats:
    """[P, players, C]  how likely each player acts so that a node is reached, by class of its hand. strategy: of each
    node [actions, C], empty at ends."""
    count = strategy[nodes.decisions[0]].shape[1]
    reach = np.ones((len(nodes), nodes.question.players, count))
    for node in range(1, len(nodes)):
        parent = int(nodes.parent[node])
        reach[node] = reach[parent]
        reach[node, nodes.turn[parent]] *= strategy[parent][nodes.action[node]]
    return reach


class LineNode:
    """A decision or an end of a street of a solution, after a line of actions."""

    def __init__(self, solution: Any, node: int) -> None:
        self.node, self.question = node, solution.question
        self.nodes: FirstNodes = solution.nodes
        self.turn = int(self.nodes.turn[node])

    @property
    def line(self) -> str:
        return str(self.nodes.lines[self.node])

    @property
    def player(self) -> str | None:
        """Who acts; None where the betting of the street is over."""
        return self.question.names[self.turn] if self.turn >= 0 else None

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(self.nodes.names[self.node])
