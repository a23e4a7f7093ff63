"""The betting of a round cut into parts, for kernels that have little room (`cuda.py`).

A *term* is the value of the ends below one node together: of all those below a node of the other, as their values are
added, or of one below a node of the seat. A *part* has few terms; it writes the value of its root to a *slot* of device
memory, where the part above it reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

MOST_TERMS = 3  # of a part: 12 KB of shared memory each, on a river of hold'em
FOLD, SHOWDOWN, EXIT = 2, 3, 4  # as in poker/exact/kernels/passes.py


@dataclass(frozen=True)
class ActionRows:
    """Where the probabilities of an action are: those of a group's nodes that go by the same row numbers are a block
    [rows, width] of its seat's strategy."""

    source: int  # of row numbers
    offset: int  # of the block from the group's first row, in WIDE
    width: int
    column: int


@dataclass(frozen=True)
class Shape:
    """What groups of a round have in common: by node, in preorder, who acts or how betting ends, the node above, and
    where the action is that leads there."""

    turn: tuple[int, ...]
    parent: tuple[int, ...]
    place: tuple[ActionRows | None, ...]

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.turn]
        for node, above in enumerate(self.parent):
            if node:
                children[above].append(node)
        return children

    def way(self, node: int, seat: int) -> list[int]:
        """The nodes that actions of a seat led to, on the way to a node."""
        nodes: list[int] = []
        while node:
            if self.turn[self.parent[node]] == seat:
                nodes.append(node)
            node = self.parent[node]
        return nodes[::-1]


def blocks_of(betting: Any, group: int, seat: int) -> dict[int, list[tuple[int, int]]]:
    """By source of row numbers: (where the rows of an action begin, in WIDE; the node that it leads to), in order."""
    first, last = betting.group_node[group : group + 2].tolist()
    led = [node for node in range(1, last - first) if betting.turn[first + betting.parent[first + node]] == seat]
    blocks: dict[int, list[tuple[int, int]]] = {}
    for begin, node in sorted((int(betting.sequence[seat, first + node]), node) for node in led):
        blocks.setdefault(int(betting.source[seat, first + node]), []).append((begin, node))
    return blocks


def shapes_of(betting: Any, rows: Sequence[int]) -> dict[Shape, list[int]]:
    """The shapes of a round (`Betting` of kernels/boards.py) and the groups that have each. rows: by source."""
    shapes: dict[Shape, list[int]] = {}
    for group in range(len(betting.group_node) - 1):
        nodes = slice(*betting.group_node[group : group + 2].tolist())
        turn, parent = betting.turn[nodes].tolist(), betting.parent[nodes].tolist()
        place: list[ActionRows | None] = [None] * len(turn)
        for seat in (0, 1):
            offset = 0
            for source, actions in blocks_of(betting, group, seat).items():
                for column, (_, node) in enumerate(actions):
                    place[node] = ActionRows(source, offset, len(actions), column)
                offset += rows[source] * len(actions)
        shapes.setdefault(Shape(tuple(turn), (-1, *parent[1:]), tuple(place)), []).append(group)
    return shapes


@dataclass(frozen=True)
class EndTerm:
    """Ends whose values are added up together."""

    folds: tuple[int, ...]
    shows: tuple[int, ...]


@dataclass
class Part:
    """A piece of betting, from its root down to ends, exits and the roots of other parts."""

    root: int
    terms: dict[int, EndTerm]  # by node: that of the ends below a node of the other, or of an end below one of the seat
    reads: dict[int, int]  # roots of the parts below, and where they are
    slot: int = 0  # where it writes

    @property
    def runs(self) -> bool:
        """Whether hands are seen one after another."""
        return any(term.shows for term in self.terms.values())


def plan_of(shape: Shape, seat: int, most: int | None = None) -> list[Part]:
    """Betting cut into parts, those below before those above."""
    most = most or MOST_TERMS
    parts: list[Part] = []

    def visit(node: int) -> Part:
        here = Part(node, {}, {})
        if shape.turn[node] >= FOLD:
            if shape.turn[node] < EXIT:
                here.terms[node] = _term(shape, [node])
            return here
        below = shape.children[node]
        if shape.turn[node] != seat:
            ends = [child for child in below if FOLD <= shape.turn[child] < EXIT]
            if ends:
                here.terms[node] = _term(shape, ends)
            below = [child for child in below if child not in ends]
        under = [visit(child) for child in below]
        for each in sorted(under, key=lambda part: len(part.terms)):
            if each.terms and len(here.terms) + len(each.terms) > most:
                parts.append(each)
                here.reads[each.root] = -1
            else:
                here.terms |= each.terms
                here.reads |= each.reads
        return here

    parts.append(visit(0))
    return _placed(_sorted(parts))


def _term(shape: Shape, ends: list[int]) -> EndTerm:
    return EndTerm(
        tuple(end for end in ends if shape.turn[end] == FOLD), tuple(end for end in ends if shape.turn[end] == SHOWDOWN)
    )


def _sorted(parts: list[Part]) -> list[Part]:
    """In depth, so that few slots are in use at a time."""
    by_root, ordered = {part.root: part for part in parts}, []

    def visit(part: Part) -> None:
        for root in part.reads:
            visit(by_root[root])
        ordered.append(part)

    visit(by_root[0])
    return ordered


def _placed(parts: list[Part]) -> list[Part]:
    """Slots: a part writes where it has read, as each thread reads a place before it writes there."""
    free: list[int] = []
    slot: dict[int, int] = {}
    used = 0
    for part in parts:
        part.reads = {root: slot[root] for root in part.reads}
        free = sorted({*free, *part.reads.values()})
        if not free:
            free, used = [used], used + 1
        part.slot = slot[part.root] = free.pop(0)
    last = parts[-1].slot  # the root of all is looked for in slot 0
    names = {last: 0, 0: last}
    for part in parts:
        part.slot = names.get(part.slot, part.slot)
        part.reads = {root: names.get(at, at) for root, at in part.reads.items()}
    return parts
