"""From a tree to its decision points and sequences, and their order in memory.

A *decision point* of a seat is an infoset together with the seat's own last move (its parent sequence). With
perfect recall each infoset is one point; without it an infoset has several, and they share its row.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import kernel, maker, making_part


@making_part
def resized(old, count, room):
    """The first `count` numbers in an array of `room` (a plain loop: slices take seconds to compile)."""
    new = np.empty(room, np.int32)
    for i in range(count):
        new[i] = old[i]
    return new


@maker
def trace(parent, turn, infoset, action, chance, width, seats):
    """Number points and sequences in the order in which the tree first meets them.

    parent, infoset, action: int32[N]; turn: int8[N]; chance: float64[N]; width: int32[I].
    Returns sequence int32[N, seats] (0: the seat has not moved yet), reach float64[N] (of chance alone), and per
    point its infoset, its parent sequence and its first sequence. Sequences are numbered within their seat.
    """
    nodes = parent.shape[0]
    sequence = np.zeros((nodes, seats), np.int32)
    reach = np.ones(nodes, np.float64)
    node_first = np.zeros(nodes, np.int32)
    head = np.full(width.shape[0], -1, np.int32)  # infoset -> its point met last
    room = width.shape[0] + 16
    of_infoset = np.empty(room, np.int32)
    of_parent = np.empty(room, np.int32)
    first = np.empty(room, np.int32)
    following = np.empty(room, np.int32)  # point -> the next point of the same infoset
    points = 0
    numbered = np.ones(seats, np.int32)
    for node in range(nodes):
        up = parent[node]
        if up >= 0:
            for seat in range(seats):
                sequence[node, seat] = sequence[up, seat]
            reach[node] = reach[up] * chance[node]
            if turn[up] >= 0:
                sequence[node, turn[up]] = node_first[up] + action[node]
        seat = turn[node]
        if seat < 0:
            continue
        info = infoset[node]
        before = -1
        point = head[info]
        while point >= 0 and of_parent[point] != sequence[node, seat]:
            before = point
            point = following[point]
        if point < 0:
            if points == room:
                room *= 2
                of_infoset = resized(of_infoset, points, room)
                of_parent = resized(of_parent, points, room)
                first = resized(first, points, room)
                following = resized(following, points, room)
            point = points
            points += 1
            of_infoset[point] = info
            of_parent[point] = sequence[node, seat]
            first[point] = numbered[seat]
            following[point] = head[info]
            head[info] = point
            numbered[seat] += width[info]
        elif before >= 0:  # met again: to the front, where the next visit will look
            following[before] = following[point]
            following[point] = head[info]
            head[info] = point
        node_first[node] = first[point]
    of_infoset = resized(of_infoset, points, points)
    of_parent = resized(of_parent, points, points)
    return sequence, reach, of_infoset, of_parent, resized(first, points, points), numbered


@maker
def components(row, column, rows, columns):
    """The connected component of each row of a sparse matrix, as its smallest row; row, column: int64 of each entry."""
    leader = np.arange(rows + columns)  # union-find with path halving; the smaller number leads
    for k in range(row.shape[0]):
        a = row[k]
        b = rows + column[k]
        while leader[a] != a:
            leader[a] = leader[leader[a]]
            a = leader[a]
        while leader[b] != b:
            leader[b] = leader[leader[b]]
            b = leader[b]
        if a < b:
            leader[b] = a
        else:
            leader[a] = b
    component = np.empty(rows, np.int64)
    for r in range(rows):
        a = r
        while leader[a] != a:
            a = leader[a]
        component[r] = a
    return component


@maker
def arrange(above, work, most):
    """Cut the points of one seat into a crown (chunk 0) and chunks of about `most` work.

    above: int32[m], the point above each (-1: none), always an earlier one; work: int64[m].
    Returns (chunk int32[m], depth int32[m] within the chunk). A point belongs to the crown if more than `most`
    work hangs from it; below the crown whole subtrees go to chunks in the order in which they are met.
    """
    m = above.shape[0]
    subtree = work.copy()
    for p in range(m - 1, -1, -1):
        if above[p] >= 0:
            subtree[above[p]] += subtree[p]
    chunk = np.zeros(m, np.int32)
    depth = np.zeros(m, np.int32)
    current = 0
    load = most
    for p in range(m):
        up = above[p]
        if subtree[p] > most:
            chunk[p] = 0
            depth[p] = depth[up] + 1 if up >= 0 else 0
        elif up >= 0 and chunk[up] > 0:
            chunk[p] = chunk[up]
            depth[p] = depth[up] + 1
        else:
            if load + subtree[p] > most:
                current += 1
                load = 0
            load += subtree[p]
            chunk[p] = current
    return chunk, depth


@maker
def most_opened(parent, turn, opening_seats):
    """How many decisions, and children of theirs, one walk of MCCFR can open at most: (slots, edges).

    A walk follows one child at chance and at sampled seats, the one with the most below it at worst; it opens all
    children of the seat it is for (opening_seats = 1: the worst seat counts) or of every seat (otherwise).
    """
    nodes = parent.shape[0]
    children = np.zeros(nodes, np.int64)
    for node in range(1, nodes):
        children[parent[node]] += 1
    seats = 0
    for node in range(nodes):
        seats = max(seats, turn[node] + 1)
    worst_slots = 0
    worst_edges = 0
    for seat in range(seats if opening_seats == 1 else min(seats, 1)):
        slots = np.zeros(nodes, np.int64)
        edges = np.zeros(nodes, np.int64)
        for node in range(nodes - 1, -1, -1):
            opened = turn[node] >= 0 and (turn[node] == seat or opening_seats != 1)
            if opened:
                slots[node] += 1
                edges[node] += children[node]
            if node > 0:
                up = parent[node]
                if turn[up] >= 0 and (turn[up] == seat or opening_seats != 1):
                    slots[up] += slots[node]
                    edges[up] += edges[node]
                else:
                    slots[up] = max(slots[up], slots[node])
                    edges[up] = max(edges[up], edges[node])
        worst_slots = max(worst_slots, slots[0])
        worst_edges = max(worst_edges, edges[0])
    return worst_slots, worst_edges


@kernel
def drop_below(parent, dropped):
    """Mark all histories that continue a dropped one. dropped: bool[N], changed in place."""
    for node in range(1, parent.shape[0]):
        if dropped[parent[node]]:
            dropped[node] = True


@maker
def follow(parent, turn, infoset, action, first, code, fits, lengths):
    """The part of each history: j + 1 if the players' actions begin with list j, else 0.

    code: [K], the name of each infoset column's action as a number; fits: [lists, steps, names]; lengths: [lists].
    """
    nodes = parent.shape[0]
    lists = fits.shape[0]
    part = np.zeros(nodes, np.int64)
    matched = np.zeros((nodes, lists), np.int64)  # steps of the list done so far; -1: not on it
    for node in range(1, nodes):
        up = parent[node]
        part[node] = part[up]
        for j in range(lists):
            matched[node, j] = matched[up, j]
        if turn[up] < 0 or part[up] > 0:
            continue
        name = code[first[infoset[up]] + action[node]]
        for j in range(lists):
            done = matched[up, j]
            if done < 0:
                continue
            if fits[j, done, name]:
                matched[node, j] = done + 1
                if done + 1 == lengths[j]:
                    part[node] = j + 1
            else:
                matched[node, j] = -1
    return part
