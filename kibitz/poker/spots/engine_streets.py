"""The betting of a spot, street by street, as kernels read it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.games.protocol import CHANCE
from kibitz.poker.rules.betting import BettingTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FOLD, SHOWDOWN, EXIT = 2, 3, 4  # as in kernels/table.py, which loads Numba
NEAR = 1 << 19  # bytes of vectors of a chunk


class Streets(NamedTuple):
    """Nodes in the order of kernels, and the arrays of `SpotTable` about betting."""

    node: Ints  # [N]  the node of the betting tree
    number: Ints  # [betting nodes]  the other way
    actions: Ints  # [2, levels]  of a seat, on one board
    widest: Ints  # [levels]  nodes of a chunk at most
    arrays: dict[str, NDArray[np.generic]]


def streets_of(betting: BettingTree, pays: Floats, levels: int, stride: int) -> Streets:
    """The streets of a betting tree. pays: [B, 2, 3]; stride: numbers of a vector over hands."""
    children = _children(betting.parent)
    entries = _entries(betting, children, levels)
    order: list[int] = []
    entry_node = []
    for root, _ in (entry for level in entries for entry in level):
        entry_node.append(len(order))
        line = [root]
        for each in line:
            if betting.turn[each] != CHANCE:
                line.extend(children[each])
        order.extend(line)
    node = np.array(order, np.int64)
    number = np.full(len(betting), -1, np.int64)
    number[node] = np.arange(len(node))
    turn = betting.turn[node].astype(np.int64)
    folded = betting.folded[node].any(axis=1)
    turn = np.where(turn >= 0, turn, np.where(turn == CHANCE, EXIT, np.where(folded, FOLD, SHOWDOWN)))
    width = np.array([len(children[k]) if turn[i] < FOLD else 0 for i, k in enumerate(order)], np.int64)
    first = np.array([number[children[k][0]] if turn[i] < FOLD else -1 for i, k in enumerate(order)], np.int64)
    parent = np.where(betting.parent[node] >= 0, number[np.maximum(betting.parent[node], 0)], -1)
    begins = np.array([*entry_node, len(order)], np.int64)
    parent[begins[:-1]] = -1  # of its line
    level_entry = np.cumsum([0, *(len(level) for level in entries)])
    slot, place, actions = _slots(turn, first, width, parent, begins, level_entry)
    arrays: dict[str, NDArray[np.generic]] = {
        "level_entry": level_entry, "entry_node": begins, "turn": turn, "first": first, "width": width, "slot": slot,
        "place": place,
        "entry_exit": np.array([number[above] if above >= 0 else -1 for level in entries for _, above in level]),
        "pay": np.ascontiguousarray(pays[node].transpose(1, 0, 2)),
    }  # fmt: skip
    arrays.update(_chunks(begins, level_entry, NEAR // (8 * stride)))
    arrays.update(_ends(turn, parent, first, width, begins[arrays["chunk_entry"]]))
    level_node = begins[arrays["chunk_entry"]]
    spans = np.diff(level_node)
    level_chunk = np.asarray(arrays["level_chunk"])
    widest = np.array([spans[level_chunk[k] : level_chunk[k + 1]].max() for k in range(levels)])
    return Streets(node, number, actions, widest, arrays)


def _children(parent: NDArray[np.integer]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent.tolist()):
        if above >= 0:
            children[above].append(node)
    return children


def _entries(betting: BettingTree, children: list[list[int]], levels: int) -> list[list[tuple[int, int]]]:
    """By level: (first node of a line, the node of chance before it)."""
    entries: list[list[tuple[int, int]]] = [[] for _ in range(levels)]
    entries[0].append((0, -1))
    for node in np.flatnonzero(betting.turn == CHANCE).tolist():
        entries[int(betting.round[node])].append((children[node][0], node))
    return entries


def _slots(turn: Ints, first: Ints, width: Ints, parent: Ints, begins: Ints, level_entry: Ints) -> tuple[Ints, ...]:
    """(where each seat's reach is, the first row of a node, actions of a seat by level)."""
    nodes, levels = len(turn), len(level_entry) - 1
    slot = np.tile(np.arange(nodes), (2, 1))
    for node in np.flatnonzero(parent >= 0):
        for seat in (0, 1):
            if turn[parent[node]] != seat:
                slot[seat, node] = slot[seat, parent[node]]
    place, actions = np.zeros(nodes, np.int64), np.zeros((2, levels), np.int64)
    for level in range(levels):
        here = np.arange(begins[level_entry[level]], begins[level_entry[level + 1]])
        for seat in (0, 1):
            own = here[turn[here] == seat]
            ends = np.cumsum(width[own])
            place[own] = ends - width[own]
            actions[seat, level] = ends[-1] if len(own) else 0
    return slot, place, actions


def _chunks(begins: Ints, level_entry: Ints, most: int) -> dict[str, Ints]:
    """Lines of the last level in chunks of at most so many nodes, or one line; all lines of a level before in one."""
    levels = len(level_entry) - 1
    chunk_entry, level_chunk = [], [0]
    for level in range(levels):
        low, high = int(level_entry[level]), int(level_entry[level + 1])
        chunk_entry.append(low)
        for entry in range(low + 1, high):
            if level == levels - 1 and begins[entry + 1] - begins[chunk_entry[-1]] > most:
                chunk_entry.append(entry)
        level_chunk.append(len(chunk_entry))
    return {"chunk_entry": np.array([*chunk_entry, int(level_entry[-1])]), "level_chunk": np.array(level_chunk)}


def _ends(turn: Ints, parent: Ints, first: Ints, width: Ints, chunk_node: Ints) -> dict[str, Ints]:
    """The showdowns and folds of each chunk."""
    show = np.flatnonzero(turn == SHOWDOWN)
    folds = np.flatnonzero(turn == FOLD)
    beside = np.full((2, len(show)), -1, np.int64)
    for i, node in enumerate(show):
        above = parent[node]
        if above >= 0:
            for other in range(first[above], first[above] + width[above]):
                if turn[other] == FOLD:
                    beside[turn[above], i] = other
    alone = [folds[~np.isin(folds, beside[seat])] for seat in (0, 1)]
    fold_first = np.stack([np.searchsorted(some, chunk_node) for some in alone])
    fold_first[1] += len(alone[0])
    return {
        "show_first": np.searchsorted(show, chunk_node), "show_node": show, "show_fold": beside,
        "fold_first": fold_first, "fold_node": np.concatenate(alone),
    }  # fmt: skip
