"""A tree as a machine: its histories are the states, and any abstraction of the game says which rows are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.forms.abstraction import abstraction as make_abstraction
from kibitz.games.machine import Hand, ListedHand, Machine, RowKeys, Words, row_key
from kibitz.games.protocol import CHANCE, TERMINAL, Game
from kibitz.games.tree import Tree

CLOSED = "an abstraction that drops actions is for `kibitz solve`: a walk plays all of them"


def tree_game(tree: Tree) -> Any:
    """The arrays of a tree, as walks read them: four numbers a history, side by side."""
    from kibitz.solvers.kernels.tree import TreeGame

    start, child = tree.children
    node = np.zeros((tree.histories, 4), np.int32)
    node[:, 0] = tree.turn
    node[:, 1] = np.diff(start)
    node[:, 3] = start[:-1]
    deciding, ends = tree.turn >= 0, tree.turn == TERMINAL
    node[deciding, 2] = tree.infoset[deciding]
    node[ends, 2] = np.arange(int(ends.sum()))
    chance = np.flatnonzero(tree.turn == CHANCE)
    inner = start[:-1][node[:, 1] > 0]  # children of histories that have some, back to back
    spread = np.zeros(tree.histories)
    steps = tree.chance[child]
    if len(inner):
        spread[node[:, 1] > 0] = np.maximum.reduceat(steps, inner) - np.minimum.reduceat(steps, inner)
    node[chance, 2] = spread[chance] < 1e-15  # all outcomes alike: sampling is then one multiplication
    return TreeGame(node, child.astype(np.uint32), tree.chance, tree.payoff)


def most_decisions(tree: Tree) -> int:
    """Decisions on a history, at most."""
    depth = np.zeros(tree.histories, np.int32)
    for level in tree.levels:
        above = tree.parent[level]
        depth[level] = depth[above] + (tree.turn[above] >= 0)
    return int(depth.max(initial=0)) + 1


class TreeMachine(Machine):
    """A game that fits into memory."""

    words = 1

    def __init__(self, rules: Game, tree: Tree) -> None:
        from kibitz.solvers.kernels.tree import duel, train

        self.rules, self.tree, self.game = rules, tree, tree_game(tree)
        self.train, self.duel = train, duel
        self.actions = int(tree.infosets.width.max(initial=1))
        self.depth = most_decisions(tree)
        own = getattr(rules, "buckets", None)
        named = {name: bucket.about for name, bucket in own().items()} if own is not None else {}
        self.abstractions = {**Machine.abstractions, **named}

    def view(self, abstraction: Any = "null", arrays: Mapping[str, NDArray[Any]] | None = None) -> RowKeys:
        from kibitz.solvers.kernels.tree import TreeView

        infosets = self.tree.infosets
        if arrays is not None and "row" in arrays:
            row = np.ascontiguousarray(arrays["row"])
            if row.shape != (len(infosets.labels),) or row.dtype != np.uint64:
                raise SolverError(f"the rows are of another game than {self.spec}")
            return RowKeys(str(abstraction), TreeView(row), {"row": row})
        seats = np.repeat(np.arange(self.players), np.diff(infosets.seat_start)).tolist()
        if abstraction is None or abstraction == "null":
            keys = [row_key(seat, text) for seat, text in zip(seats, infosets.labels, strict=True)]
            return RowKeys("null", TreeView(np.array(keys, np.uint64)))
        own: dict[str, Any] = getattr(self.rules, "buckets", dict)()
        if isinstance(abstraction, str) and abstraction in own:
            of, width = own[abstraction].of, infosets.width.tolist()
            keys = [row_key(s, of(s, text), w) for s, text, w in zip(seats, infosets.labels, width, strict=True)]
            return RowKeys(abstraction, TreeView(np.array(keys, np.uint64)))
        merged = make_abstraction(self.rules if isinstance(abstraction, str) else self.tree, abstraction)
        if merged.closed is not None and np.any(merged.closed):
            raise SolverError(CLOSED)
        keys = [row_key("row", row) for row in merged.row.tolist()]
        row = np.array(keys, np.uint64)
        return RowKeys(merged.name, TreeView(row), {"row": row})

    def hand(self, seed: int, number: int) -> Hand:
        return ListedHand(self.rules, seed, number)

    def keys_of(self, view: RowKeys, seat: int, infosets: Sequence[str], widths: Sequence[int]) -> Words:
        number = self.tree.infosets.number[seat]
        unknown = next((text for text in infosets if str(text) not in number), None)
        if unknown is not None:
            raise SolverError(f"{self.spec} has no infoset {unknown!r} of seat {seat}")
        return np.array([view.keys.row[number[str(text)]] for text in infosets], np.uint64)

    def keys_at(self, view: RowKeys, infosets: Any) -> Words:
        if not self.tree.infosets.same(infosets):
            raise SolverError(f"the infosets are not those of {self.spec}")
        keys: Words = view.keys.row
        return keys
