"""Two-player poker without a payoff matrix: betting tree times cards.

The betting of one round after one way of coming to it is a *segment*. Segments of a round whose betting has the same
shape, as all have in limit games, are the *lanes* of a group. A group on one board is a *block*, and all that happens
in a block are a few operations on vectors over the classes of hands on its board times the lanes. Work goes by rounds:
down the rounds with the reach of one seat, up again with values. Blocks of a round share nothing, so threads take them
one by one, and the bytes do not depend on which takes which.

A *sequence* of a seat is one of its actions in a segment, with a class of hands. Sequences of a block lie side by
side: action after action, class after class, lane after lane. So a vector over classes and lanes is contiguous, and a
running sum over classes, as showdowns need it, is a sum of vectors over lanes. With buckets a group has one row of
sequences for all its boards.

Values are those of one hand on one board: chips times the probability of the other's hand and of the board cards
for that hand, times the other's reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, part

FOLD, SHOWDOWN, EXIT = 2, 3, 4  # kinds of node beside the seats 0 and 1
NEAR = 1024  # classes of hands whose numbers, in all lanes, fit into a near cache


class PokerTable(NamedTuple):
    """A game as kernels read it. Boards and classes of all rounds are numbered on; so are groups and nodes."""

    round_board: np.ndarray  # int64[R+1]  first board of a round
    round_group: np.ndarray  # int64[R+1]
    board_class: np.ndarray  # int64[boards+1]  first class of a board
    board_child: np.ndarray  # int64[boards+1]  first of the boards that continue it; they follow one another
    up: np.ndarray  # uint32[classes]  the class before the last cards came
    carry: np.ndarray  # float64[classes]  weight of the class's value in that of the class before
    size: np.ndarray  # float32[classes]  hands of the class on its board
    share: np.ndarray  # float64[classes]  deals that the class stands for, over all hands
    board_tie: np.ndarray  # int64[boards+1]  first strength of a board in `tie_class`
    tie_class: np.ndarray  # uint32[strengths]  first class of a strength on its board; behind the last, all of them
    row: np.ndarray  # uint32[2, classes]  bucket for each seat, with buckets; else [2, 0]
    rows: np.ndarray  # int64[2, R]  buckets of a round; without them its classes
    # Hands of two cards (empty for hands of one), in the last round by strength.
    board_hand: np.ndarray  # int64[boards+1]
    hand_class: np.ndarray  # uint32[hands]  counted from the board's first class
    hand_card: np.ndarray  # uint8[hands, 2]
    hand_high: np.ndarray  # uint32[hands]  behind the hands of its strength, counted from the board's first
    class_hand: np.ndarray  # uint32[classes]  the first hand of a class, counted from the board's first
    # Betting. Nodes of a group are counted from its first; what differs by lane is found from `node_lane` on.
    group_node: np.ndarray  # int64[groups+1]
    group_lane: np.ndarray  # int64[groups+1]  first lane, all lanes numbered on
    group_root: np.ndarray  # int64[groups]  where its vector over all classes of the round, times lanes, is
    group_link: np.ndarray  # int64[groups+1]
    base: np.ndarray  # int64[2, groups]  first sequence of a seat
    width: np.ndarray  # int64[2, groups]  actions of a seat
    turn: np.ndarray  # int8[nodes]  seat, FOLD, SHOWDOWN or EXIT
    parent: np.ndarray  # int32[nodes]  -1 for the group's first
    action: np.ndarray  # int32[nodes]  which action of its seat, of all in the group, leads here; -1 at the root
    children: np.ndarray  # int32[nodes, most actions]
    count: np.ndarray  # int32[nodes]  number of children
    slot: np.ndarray  # int32[2, nodes]  the nearest node above or here that an action of the seat led to; else 0
    node_lane: np.ndarray  # int64[nodes]
    stake: np.ndarray  # float64[2, nodes x lanes]  at the end: what winning (at a fold: having won) is worth to a seat
    # A link leads from some lanes of an exit to as many lanes of a group of the next round.
    link_node: np.ndarray  # int32[links]
    link_lane: np.ndarray  # int32[links]  the first of the lanes
    link_count: np.ndarray  # int32[links]
    link_group: np.ndarray  # int32[links]
    link_first: np.ndarray  # int32[links]  the first lane there
    # Infosets are numbered segment by segment.
    lane_column: np.ndarray  # int64[2, lanes]  first infoset column of a seat


class PokerWorkspace(NamedTuple):
    """What one thread works in: vectors over the classes of a board and lanes, for all nodes of a group."""

    # Vectors of sixteen are read and written, which may go past the last lane.
    reach: np.ndarray  # [nodes, classes x lanes + 16]
    value: np.ndarray  # [nodes, classes x lanes + 16]
    total: np.ndarray  # [nodes, classes x lanes]  for gradients; else empty
    space: np.ndarray  # [(classes + 1) x lanes, (hands + 53) x 16 or more]  running sums
    gathered: np.ndarray  # [actions of a seat, buckets x lanes]  with buckets
    lines: np.ndarray  # int32[1, most actions]
    thread: int
    threads: int
    gate: np.ndarray  # where threads meet (core/barrier.py)


@part
def pieces_of(table, level):
    """The pieces of work of a round: blocks, or groups whose boards share rows."""
    groups = table.round_group[level + 1] - table.round_group[level]
    return groups if table.row.shape[1] else groups * (table.round_board[level + 1] - table.round_board[level])


@part
def boards_of(table, level, piece):
    """(group, first board, behind the last board) of a piece of work."""
    group, first, last = table.round_group[level], table.round_board[level], table.round_board[level + 1]
    if table.row.shape[1]:
        return group + piece, first, last
    board = first + piece % (last - first)
    return group + piece // (last - first), board, board + 1


@part
def lanes_of(table, group):
    return U64(table.group_lane[group + 1] - table.group_lane[group])


@part
def locate(table, seat, group, board, level):
    """(where a seat's sequences of a block begin, how far its actions are apart)."""
    lanes = lanes_of(table, group)
    if table.row.shape[1]:
        return U64(table.base[seat, group]), U64(table.rows[seat, level]) * lanes
    first = table.board_class[board]
    before = U64(first - table.board_class[table.round_board[level]])
    start = U64(table.base[seat, group]) + U64(table.width[seat, group]) * before * lanes
    return start, U64(table.board_class[board + 1] - first) * lanes


@part
def root_of(table, group, board, level):
    """Where the vector of a block is, of those at the roots of all blocks."""
    before = table.board_class[board] - table.board_class[table.round_board[level]]
    return U64(table.group_root[group]) + U64(before) * lanes_of(table, group)


@part
def reaches(table, level, group, board, seat, strategy, root, reach):
    """reach[k, c]: how likely a seat comes to node k of a block with a hand of class c, as far as it decides.

    Only nodes that are their own slot are written.
    """
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = (U64(table.board_class[board + 1]) - first) * lanes
    start, stride = locate(table, seat, group, board, level)
    here = root_of(table, group, board, level)
    for c in range(n):
        reach[0, c] = root[here + c]
    node = table.group_node[group]
    for k in range(1, table.group_node[group + 1] - node):
        if table.slot[seat, node + k] == k:
            above = U64(table.slot[seat, node + table.parent[node + k]])
            k = U64(k)
            at = start + U64(table.action[node + np.int64(k)]) * stride
            if table.row.shape[1]:
                for c in range(n // lanes):
                    row = at + U64(table.row[seat, first + c]) * lanes
                    for x in range(lanes):
                        reach[k, c * lanes + x] = reach[above, c * lanes + x] * strategy[row + x]
            else:
                for c in range(n):
                    reach[k, c] = reach[above, c] * strategy[at + c]


@part
def boards_at_once(table, board):
    """How many of the boards that continue one have NEAR classes or so together; at least 1."""
    first, last = table.board_child[board], table.board_child[board + 1]
    return max(1, NEAR * (last - first) // max(1, table.board_class[last] - table.board_class[first]))


@part
def hand_on(table, level, group, board, seat, reach, root):
    """Write the reach at each exit of a block to the groups that follow, on each board that continues.

    Some boards at a time: all that is written on them stays in the cache while exit after exit adds its lanes.
    """
    node = table.group_node[group]
    lanes = lanes_of(table, group)
    first = U64(table.board_class[board])
    last = table.board_child[board + 1]
    step = boards_at_once(table, board)
    for after in range(table.board_child[board], last, step):
        low = U64(table.board_class[after])
        high = U64(table.board_class[min(after + step, last)])
        for link in range(table.group_link[group], table.group_link[group + 1]):
            slot = U64(table.slot[seat, node + table.link_node[link]])
            lane = U64(table.link_lane[link])
            count = U64(table.link_count[link])
            there = lanes_of(table, table.link_group[link])
            at = root_of(table, table.link_group[link], after, level + 1) + U64(table.link_first[link])
            if lanes == ONE:  # then an exit is one lane
                for c in range(low, high):
                    root[at + (c - low) * there] = reach[slot, U64(table.up[c]) - first]
                continue
            for c in range(low, high):
                above = (U64(table.up[c]) - first) * lanes + lane
                for x in range(count):
                    root[at + x] = reach[slot, above + x]
                at += there


@part
def take_back(table, level, group, board, root_value, value):
    """value[k] of all exits of a block, from the values at the roots of the boards that follow."""
    node = table.group_node[group]
    lanes = lanes_of(table, group)
    first = U64(table.board_class[board])
    for k in range(table.group_node[group + 1] - node):
        if table.turn[node + k] == EXIT:
            k = U64(k)
            for c in range((U64(table.board_class[board + 1]) - first) * lanes):
                value[k, c] = 0.0
    last = table.board_child[board + 1]
    step = boards_at_once(table, board)
    for after in range(table.board_child[board], last, step):
        low = U64(table.board_class[after])
        high = U64(table.board_class[min(after + step, last)])
        for link in range(table.group_link[group], table.group_link[group + 1]):
            k = U64(table.link_node[link])
            lane = U64(table.link_lane[link])
            count = U64(table.link_count[link])
            there = lanes_of(table, table.link_group[link])
            at = root_of(table, table.link_group[link], after, level + 1) + U64(table.link_first[link])
            if lanes == ONE:
                for c in range(low, high):
                    carry = value.dtype.type(table.carry[c])
                    value[k, U64(table.up[c]) - first] += carry * root_value[at + (c - low) * there]
                continue
            for c in range(low, high):
                above = (U64(table.up[c]) - first) * lanes + lane
                carry = value.dtype.type(table.carry[c])
                for x in range(count):
                    value[k, above + x] += carry * root_value[at + x]
                at += there
