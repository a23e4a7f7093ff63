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

from kibitz.kernels.jit import ONE, U64, part
from kibitz.kernels.vectors import LANES, add, constant, load, multiply, store, subtract

CARDS = U64(52)
FEW = U64(8)  # lanes; below, sums over hands of two cards are faster lane by lane
FOLD, SHOWDOWN, EXIT = 2, 3, 4  # kinds of node beside the seats 0 and 1


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
    hand_low: np.ndarray  # uint32[hands]
    hand_high: np.ndarray  # uint32[hands]
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


class Room(NamedTuple):
    """Working space of one thread: vectors over the classes of a board and lanes for all nodes of a group."""

    reach: np.ndarray  # [nodes, classes x lanes + 16]  vectors of sixteen are read, which may go past the last lane
    value: np.ndarray  # [nodes, classes x lanes]
    total: np.ndarray  # [nodes, classes x lanes]  for gradients; else empty
    space: np.ndarray  # [(classes + 54) x lanes, (2 classes + 53) x 16 or more]  running sums
    gathered: np.ndarray  # [actions of a seat, buckets x lanes]  with buckets
    lines: np.ndarray  # int32[1, most actions]


@part
def pieces_of(table, level):
    """(first group, first board, boards, pieces of work) of a round: blocks, or groups whose boards share rows."""
    lo = table.round_board[level]
    boards = table.round_board[level + 1] - lo
    g0 = table.round_group[level]
    groups = table.round_group[level + 1] - g0
    return g0, lo, boards, groups if table.row.shape[1] else groups * boards


@part
def boards_of(table, boards, piece):
    """(group, first board, behind the last board) of a piece of work, counted from the round's first."""
    if table.row.shape[1]:
        return piece, 0, boards
    return piece // boards, piece % boards, piece % boards + 1


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
def hand_on(table, level, group, board, seat, reach, root):
    """Write the reach at each exit of a block to the groups that follow, on each board that continues."""
    node = table.group_node[group]
    lanes = lanes_of(table, group)
    first = U64(table.board_class[board])
    low = U64(table.board_class[table.board_child[board]])
    high = U64(table.board_class[table.board_child[board + 1]])
    for link in range(table.group_link[group], table.group_link[group + 1]):
        slot = U64(table.slot[seat, node + table.link_node[link]])
        lane = U64(table.link_lane[link])
        count = U64(table.link_count[link])
        there = lanes_of(table, table.link_group[link])
        at = root_of(table, table.link_group[link], table.board_child[board], level + 1) + U64(table.link_first[link])
        if lanes == ONE and there == ONE:
            for c in range(low, high):
                root[at + c - low] = reach[slot, U64(table.up[c]) - first]
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
    low = U64(table.board_class[table.board_child[board]])
    high = U64(table.board_class[table.board_child[board + 1]])
    for k in range(table.group_node[group + 1] - node):
        if table.turn[node + k] == EXIT:
            k = U64(k)
            for c in range((U64(table.board_class[board + 1]) - first) * lanes):
                value[k, c] = 0.0
    for link in range(table.group_link[group], table.group_link[group + 1]):
        k = U64(table.link_node[link])
        lane = U64(table.link_lane[link])
        count = U64(table.link_count[link])
        there = lanes_of(table, table.link_group[link])
        at = root_of(table, table.link_group[link], table.board_child[board], level + 1) + U64(table.link_first[link])
        if lanes == ONE and there == ONE:
            for c in range(low, high):
                value[k, U64(table.up[c]) - first] += value.dtype.type(table.carry[c]) * root_value[at + c - low]
            continue
        for c in range(low, high):
            above = (U64(table.up[c]) - first) * lanes + lane
            carry = value.dtype.type(table.carry[c])
            for x in range(count):
                value[k, above + x] += carry * root_value[at + x]
            at += there


@part
def folded(first, n, lanes, size, stake, stakes, reach, slot, value, k, space):
    """value[k] where someone folded, with hands of one card: the stake times the other's reach with all other cards."""
    kind = value.dtype.type
    if lanes == ONE:
        total = kind(0.0)
        for c in range(n):
            total += kind(size[first + c]) * reach[slot, c]
        chips = kind(stake[stakes])
        for c in range(n):
            value[k, c] = chips * (total - reach[slot, c])
        return
    for x in range(lanes):
        space[x] = kind(0.0)
    for c in range(n):
        hands = kind(size[first + c])
        for x in range(lanes):
            space[x] += hands * reach[slot, c * lanes + x]
    for c in range(n):
        for x in range(lanes):
            chips = kind(stake[stakes + x])
            value[k, c * lanes + x] = chips * (space[x] - reach[slot, c * lanes + x])


@part
def shown(first, n, lanes, size, tie_class, first_tie, ties, stake, stakes, reach, slot, value, k, space):
    """value[k] at a showdown, with hands of one card: the stake times the other's reach with the cards one beats, less
    that with those that beat one.

    Classes are in order of strength, so both are differences of running sums; one's own card is a tie. Classes of one
    strength follow one another and are worth the same.
    """
    kind = value.dtype.type
    if lanes == ONE:
        total = kind(0.0)
        for c in range(n):
            space[c] = total
            total += kind(size[first + c]) * reach[slot, c]
        space[n] = total
        chips = kind(stake[stakes])
        for t in range(ties):
            low = U64(tie_class[first_tie + t])
            high = U64(tie_class[first_tie + t + ONE])
            worth = chips * (space[low] + space[high] - total)
            for c in range(low, high):
                value[k, c] = worth
        return
    for x in range(lanes):
        space[x] = kind(0.0)
    for c in range(n):
        hands = kind(size[first + c])
        for x in range(lanes):
            space[(c + ONE) * lanes + x] = space[c * lanes + x] + hands * reach[slot, c * lanes + x]
    for t in range(ties):
        low = U64(tie_class[first_tie + t])
        high = U64(tie_class[first_tie + t + ONE])
        for x in range(lanes):
            chips = kind(stake[stakes + x])
            below = space[low * lanes + x]
            not_above = space[high * lanes + x]
            value[k, low * lanes + x] = chips * (below + not_above - space[n * lanes + x])
        for c in range(low + ONE, high):
            for x in range(lanes):
                value[k, c * lanes + x] = value[k, low * lanes + x]


@part
def folded_lane(lo, hi, lanes, x, hand_class, hand_card, stake, reach, slot, value, k, space):
    """`folded_two` for lane x alone: with few lanes a sum in a register is faster than a vector of them."""
    kind = value.dtype.type
    for card in range(CARDS):
        space[card] = kind(0.0)
    total = kind(0.0)
    for h in range(lo, hi):
        r = reach[slot, U64(hand_class[h]) * lanes + x]
        total += r
        space[U64(hand_card[h, 0])] += r
        space[U64(hand_card[h, 1])] += r
    chips = kind(stake)
    for h in range(lo, hi):
        c = U64(hand_class[h]) * lanes + x
        gone = space[U64(hand_card[h, 0])] + space[U64(hand_card[h, 1])] - reach[slot, c]
        value[k, c] = chips * (total - gone)


@part
def shown_lane(lo, hi, lanes, x, hand_class, hand_card, hand_low, hand_high, stake, reach, slot, value, k, space):
    """`shown_two` for lane x alone."""
    kind = value.dtype.type
    chips = kind(stake)
    m = hi - lo
    for weaker in range(2):
        for card in range(CARDS):
            space[card] = kind(0.0)
        total = kind(0.0)
        h = U64(0)
        while h < m:
            at = lo + h if weaker else hi - ONE - h
            ties = U64(hand_high[at] - hand_low[at])
            for j in range(h, h + ties):
                i = lo + j if weaker else hi - ONE - j
                met = total - space[U64(hand_card[i, 0])] - space[U64(hand_card[i, 1])]
                c = U64(hand_class[i])
                if weaker:
                    value[k, c * lanes + x] = chips * (met - space[CARDS + c])
                else:
                    space[CARDS + c] = met
            for j in range(h, h + ties):
                i = lo + j if weaker else hi - ONE - j
                r = reach[slot, U64(hand_class[i]) * lanes + x]
                total += r
                space[U64(hand_card[i, 0])] += r
                space[U64(hand_card[i, 1])] += r
            h += ties


@part
def folded_two(lo, hi, n, lanes, hand_class, hand_card, stake, stakes, reach, slot, value, k, space):
    """As `folded`, with hands of two cards, lo to hi - 1: the other holds neither. The hand itself holds both.

    n: classes of the board. Lanes go sixteen at a time, as vectors (`kernels/vectors.py`): a loop over lanes stays
    scalar, for the compiler cannot rule out that sums overlap. What is read past the last lane is left out again.
    """
    if lanes < FEW:
        for x in range(lanes):
            folded_lane(lo, hi, lanes, x, hand_class, hand_card, stake[stakes + x], reach, slot, value, k, space)
        return
    comes, found = reach[slot], value[k]
    none = constant(space, 0.0)
    chips, values = CARDS * LANES, (CARDS + ONE) * LANES
    for first in range(U64(0), lanes, LANES):
        count = min(LANES, lanes - first)
        put_stakes(space, chips, stake, stakes + first, count)
        for c in range(CARDS):
            store(space, c * LANES, none)
        total = none
        for h in range(lo, hi):
            r = load(comes, U64(hand_class[h]) * lanes + first)
            one = U64(hand_card[h, 0]) * LANES
            two = U64(hand_card[h, 1]) * LANES
            total = add(total, r)
            store(space, one, add(load(space, one), r))
            store(space, two, add(load(space, two), r))
        for h in range(lo, hi):
            c = U64(hand_class[h])
            both = add(load(space, U64(hand_card[h, 0]) * LANES), load(space, U64(hand_card[h, 1]) * LANES))
            gone = subtract(both, load(comes, c * lanes + first))
            store(space, values + c * LANES, multiply(load(space, chips), subtract(total, gone)))
        for c in range(n):
            for x in range(count):
                found[c * lanes + first + x] = space[values + c * LANES + x]


@part
def put_stakes(space, at, stake, first, count):
    """The stakes of some lanes, and 0 behind them."""
    for x in range(LANES):
        space[at + x] = stake[first + x] if x < count else 0.0


@part
def shown_two(lo, hi, n, lanes, hand_class, hand_card, hand_low, hand_high, stake, stakes, reach, slot, value, k,
              space):  # fmt: skip
    """As `shown`, with hands of two cards in order of strength: running sums of all, and by card."""
    if lanes < FEW:
        for x in range(lanes):
            shown_lane(lo, hi, lanes, x, hand_class, hand_card, hand_low, hand_high, stake[stakes + x], reach, slot,
                       value, k, space)  # fmt: skip
        return
    comes, found = reach[slot], value[k]
    none = constant(space, 0.0)
    m = hi - lo
    chips, met = CARDS * LANES, (CARDS + ONE) * LANES
    values = met + n * LANES
    for first in range(U64(0), lanes, LANES):
        count = min(LANES, lanes - first)
        put_stakes(space, chips, stake, stakes + first, count)
        # What stronger hands take, from the strongest down; then what weaker ones give, from the weakest up.
        for weaker in range(2):
            for c in range(CARDS):
                store(space, c * LANES, none)
            total = none
            h = U64(0)
            while h < m:
                at = lo + h if weaker else hi - ONE - h
                # Hands that tie are looked at together: first read, then counted.
                ties = U64(hand_high[at] - hand_low[at])
                for j in range(h, h + ties):
                    i = lo + j if weaker else hi - ONE - j
                    c = U64(hand_class[i]) * LANES
                    left = subtract(total, load(space, U64(hand_card[i, 0]) * LANES))
                    left = subtract(left, load(space, U64(hand_card[i, 1]) * LANES))
                    if weaker:
                        store(space, values + c, multiply(load(space, chips), subtract(left, load(space, met + c))))
                    else:
                        store(space, met + c, left)
                for j in range(h, h + ties):
                    i = lo + j if weaker else hi - ONE - j
                    r = load(comes, U64(hand_class[i]) * lanes + first)
                    one = U64(hand_card[i, 0]) * LANES
                    two = U64(hand_card[i, 1]) * LANES
                    total = add(total, r)
                    store(space, one, add(load(space, one), r))
                    store(space, two, add(load(space, two), r))
                h += ties
        for c in range(n):
            for x in range(count):
                found[c * lanes + first + x] = space[values + c * LANES + x]


@part
def ends(table, level, group, board, seat, reach, root_value, value, space):
    """value[k] of all nodes where betting of a block ends, against the other's reach."""
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    lanes = lanes_of(table, group)
    node = table.group_node[group]
    two = table.hand_card.shape[0] > 0
    lo = U64(table.board_hand[board]) if two else U64(0)
    hi = U64(table.board_hand[board + 1]) if two else U64(0)
    first_tie = U64(table.board_tie[board])
    ties = U64(table.board_tie[board + 1]) - first_tie - ONE
    size, tie_class, stake = table.size, table.tie_class, table.stake[seat]
    hand_class, hand_card, hand_low, hand_high = table.hand_class, table.hand_card, table.hand_low, table.hand_high
    take_back(table, level, group, board, root_value, value)
    for k in range(table.group_node[group + 1] - node):
        kind = table.turn[node + k]
        slot = U64(table.slot[1 - seat, node + k])
        stakes = U64(table.node_lane[node + k])
        if kind == FOLD:
            if two:
                folded_two(lo, hi, n, lanes, hand_class, hand_card, stake, stakes, reach, slot, value, U64(k), space)
            else:
                folded(first, n, lanes, size, stake, stakes, reach, slot, value, U64(k), space)
        elif kind == SHOWDOWN:
            if two:
                shown_two(lo, hi, n, lanes, hand_class, hand_card, hand_low, hand_high, stake, stakes, reach, slot,
                          value, U64(k), space)  # fmt: skip
            else:
                shown(first, n, lanes, size, tie_class, first_tie, ties, stake, stakes, reach, slot, value, U64(k),
                      space)  # fmt: skip
