"""Two-player poker without a payoff matrix: betting tree times cards.

The betting of one round after one way of coming to it is a *segment*; a segment on one board is a *block*, and all
that happens in a block are a few operations on vectors over the classes of hands on its board. Work goes by rounds:
down the rounds with the reach of one seat, up again with values. Blocks of a round share nothing, so threads divide
them and the bytes do not depend on how many there are.

A *sequence* of a seat is one of its actions in a segment, with a class of hands. Sequences of a block lie side by
side, action after action, so a vector over classes is contiguous. With buckets a segment has one row of sequences for
all its boards.

Values are those of one hand on one board: chips times the probability of the other's hand and of the board cards
for that hand, times the other's reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.jit import ONE, U64, part

CARDS = U64(52)
FOLD, SHOWDOWN, EXIT = 2, 3, 4  # kinds of node beside the seats 0 and 1


class Table(NamedTuple):
    """A game as kernels read it. Boards and classes of all rounds are numbered on; so are segments and nodes."""

    round_board: np.ndarray  # int64[R+1]  first board of a round
    round_segment: np.ndarray  # int64[R+1]
    board_class: np.ndarray  # int64[boards+1]  first class of a board
    board_child: np.ndarray  # int64[boards+1]  first of the boards that continue it; they follow one another
    up: np.ndarray  # uint32[classes]  the class before the last cards came
    carry: np.ndarray  # float64[classes]  weight of the class's value in that of the class before
    size: np.ndarray  # float32[classes]  hands of the class on its board
    share: np.ndarray  # float64[classes]  deals that the class stands for, over all hands
    tie: np.ndarray  # uint32[classes]  in the last round: its strength, counted on its board from the weakest
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
    # Betting.
    segment_node: np.ndarray  # int64[segments+1]
    segment_root: np.ndarray  # int64[segments]  where its vector over all classes of the round is, less their first
    base: np.ndarray  # int64[2, segments]  first sequence of a seat
    width: np.ndarray  # int64[2, segments]  actions of a seat
    turn: np.ndarray  # int8[nodes]  seat, FOLD, SHOWDOWN or EXIT
    parent: np.ndarray  # int32[nodes]  counted from the segment's first node; -1 for that
    action: np.ndarray  # int32[nodes]  which action of its seat, of all in the segment, leads here; -1 at the root
    children: np.ndarray  # int32[nodes, most actions]  counted from the segment's first node
    count: np.ndarray  # int32[nodes]  number of children
    stake: np.ndarray  # float64[2, nodes]  at the end: what winning (at a fold: having won) is worth to a seat
    exit: np.ndarray  # int64[nodes]  the segment that an exit leads to
    slot: np.ndarray  # int32[2, nodes]  the nearest node above or here that an action of the seat led to; else 0


class Room(NamedTuple):
    """Working space of one thread: vectors over the classes of a board for all nodes of a segment."""

    reach: np.ndarray  # [nodes, classes]
    value: np.ndarray  # [nodes, classes]
    total: np.ndarray  # [nodes, classes]  for gradients; else empty
    space: np.ndarray  # [2 * classes + 64]  running sums
    gathered: np.ndarray  # [actions of a seat, buckets]  with buckets
    lines: np.ndarray  # int32[1, most actions]


@part
def portion(total, thread, threads):
    """The share of `total` things that a thread works on: (first, behind the last)."""
    return total * thread // threads, total * (thread + 1) // threads


@part
def blocks_of(table, level, thread, threads):
    """Blocks of a round that a thread works on: (first segment, first board, boards, first block, behind the last)."""
    lo = table.round_board[level]
    boards = table.round_board[level + 1] - lo
    k0 = table.round_segment[level]
    segments = table.round_segment[level + 1] - k0
    if table.row.shape[1]:  # boards of a segment share rows
        first, last = portion(segments, thread, threads)
        return k0, lo, boards, first * boards, last * boards
    first, last = portion(segments * boards, thread, threads)
    return k0, lo, boards, first, last


@part
def locate(table, seat, segment, board, level):
    """(where a seat's sequences of a block begin, how far its actions are apart)."""
    first = table.board_class[board]
    if table.row.shape[1]:
        return U64(table.base[seat, segment]), U64(table.rows[seat, level])
    before = first - table.board_class[table.round_board[level]]
    start = table.base[seat, segment] + table.width[seat, segment] * before
    return U64(start), U64(table.board_class[board + 1] - first)


@part
def reaches(table, level, segment, board, seat, strategy, root, reach):
    """reach[k, c]: how likely a seat comes to node k of a block with a hand of class c, as far as it decides.

    Only nodes that are their own slot are written.
    """
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, segment, board, level)
    here = U64(table.segment_root[segment]) + first
    for c in range(n):
        reach[0, c] = root[here + c]
    node = table.segment_node[segment]
    for k in range(1, table.segment_node[segment + 1] - node):
        if table.slot[seat, node + k] == k:
            above = U64(table.slot[seat, node + table.parent[node + k]])
            k = U64(k)
            at = start + U64(table.action[node + np.int64(k)]) * stride
            if table.row.shape[1]:
                for c in range(n):
                    reach[k, c] = reach[above, c] * strategy[at + U64(table.row[seat, first + c])]
            else:
                for c in range(n):
                    reach[k, c] = reach[above, c] * strategy[at + c]


@part
def hand_on(table, segment, board, seat, reach, root):
    """Write the reach at each exit of a block to the segments that follow, on each board that continues."""
    node = table.segment_node[segment]
    first = U64(table.board_class[board])
    low = U64(table.board_class[table.board_child[board]])
    high = U64(table.board_class[table.board_child[board + 1]])
    for k in range(table.segment_node[segment + 1] - node):
        if table.turn[node + k] == EXIT:
            slot = U64(table.slot[seat, node + k])
            there = U64(table.segment_root[table.exit[node + k]])
            for c in range(low, high):
                root[there + c] = reach[slot, U64(table.up[c]) - first]


@part
def take_back(table, segment, k, board, root_value, value):
    """value[k]: of an exit, from the values at the roots of the boards that follow."""
    node = table.segment_node[segment]
    first = U64(table.board_class[board])
    low = U64(table.board_class[table.board_child[board]])
    high = U64(table.board_class[table.board_child[board + 1]])
    there = U64(table.segment_root[table.exit[node + k]])
    k = U64(k)
    for c in range(U64(table.board_class[board + 1]) - first):
        value[k, c] = 0.0
    for c in range(low, high):
        value[k, U64(table.up[c]) - first] += value.dtype.type(table.carry[c]) * root_value[there + c]


@part
def folded(first, n, size, stake, reach, slot, value, k):
    """value[k] where someone folded, with hands of one card: the stake times the other's reach with all other cards."""
    kind = value.dtype.type
    total = kind(0.0)
    for c in range(n):
        total += kind(size[first + c]) * reach[slot, c]
    chips = kind(stake)
    for c in range(n):
        value[k, c] = chips * (total - reach[slot, c])


@part
def shown(first, n, size, tie, tie_class, first_tie, ties, stake, reach, slot, value, k, space):
    """value[k] at a showdown, with hands of one card: the stake times the other's reach with the cards one beats, less
    that with those that beat one.

    Classes are in order of strength, so both are differences of running sums; one's own card is a tie. Classes of one
    strength are worth the same, so the sums are looked up once for each strength.
    """
    kind = value.dtype.type
    total = kind(0.0)
    for c in range(n):
        space[c] = total
        total += kind(size[first + c]) * reach[slot, c]
    space[n] = total
    chips = kind(stake)
    worth = n + ONE
    for t in range(ties):
        below = space[U64(tie_class[first_tie + t])]
        not_above = space[U64(tie_class[first_tie + t + ONE])]
        space[worth + t] = chips * (below + not_above - total)
    for c in range(n):
        value[k, c] = space[worth + U64(tie[first + c])]


@part
def folded_two(lo, hi, hand_class, hand_card, stake, reach, slot, value, k, space):
    """As `folded`, with hands of two cards, lo to hi - 1: the other holds neither. The hand itself holds both."""
    kind = value.dtype.type
    for card in range(CARDS):
        space[card] = kind(0.0)
    total = kind(0.0)
    for h in range(lo, hi):
        r = reach[slot, U64(hand_class[h])]
        total += r
        space[U64(hand_card[h, 0])] += r
        space[U64(hand_card[h, 1])] += r
    chips = kind(stake)
    for h in range(lo, hi):
        c = U64(hand_class[h])
        gone = space[U64(hand_card[h, 0])] + space[U64(hand_card[h, 1])] - reach[slot, c]
        value[k, c] = chips * (total - gone)


@part
def shown_two(lo, hi, hand_class, hand_card, hand_low, hand_high, stake, reach, slot, value, k, space):
    """As `shown`, with hands of two cards in order of strength: running sums of all, and by card."""
    kind = value.dtype.type
    chips = kind(stake)
    m = hi - lo
    # What stronger hands take, from the strongest down; then what weaker ones give, from the weakest up.
    for weaker in range(2):
        for card in range(CARDS):
            space[card] = kind(0.0)
        total = kind(0.0)
        h = U64(0)
        while h < m:
            at = lo + h if weaker else hi - ONE - h
            # Hands that tie are looked at together: first read, then counted.
            ties = U64(hand_high[at] - hand_low[at])
            for j in range(h, h + ties):
                i = lo + j if weaker else hi - ONE - j
                met = total - space[U64(hand_card[i, 0])] - space[U64(hand_card[i, 1])]
                c = U64(hand_class[i])
                if weaker:
                    value[k, c] = chips * (met - space[CARDS + c])
                else:
                    space[CARDS + c] = met
            for j in range(h, h + ties):
                i = lo + j if weaker else hi - ONE - j
                r = reach[slot, U64(hand_class[i])]
                total += r
                space[U64(hand_card[i, 0])] += r
                space[U64(hand_card[i, 1])] += r
            h += ties


@part
def ends(table, segment, board, seat, reach, root_value, value, space):
    """value[k] of all nodes where betting of a block ends, against the other's reach."""
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    node = table.segment_node[segment]
    two = table.hand_card.shape[0] > 0
    lo = U64(table.board_hand[board]) if two else U64(0)
    hi = U64(table.board_hand[board + 1]) if two else U64(0)
    first_tie = U64(table.board_tie[board])
    ties = U64(table.board_tie[board + 1]) - first_tie - ONE
    size, tie, tie_class = table.size, table.tie, table.tie_class
    hand_class, hand_card, hand_low, hand_high = table.hand_class, table.hand_card, table.hand_low, table.hand_high
    for k in range(table.segment_node[segment + 1] - node):
        kind = table.turn[node + k]
        slot = U64(table.slot[1 - seat, node + k])
        stake = table.stake[seat, node + k]
        if kind == FOLD:
            if two:
                folded_two(lo, hi, hand_class, hand_card, stake, reach, slot, value, U64(k), space)
            else:
                folded(first, n, size, stake, reach, slot, value, U64(k))
        elif kind == SHOWDOWN:
            if two:
                shown_two(lo, hi, hand_class, hand_card, hand_low, hand_high, stake, reach, slot, value, U64(k), space)
            else:
                shown(first, n, size, tie, tie_class, first_tie, ties, stake, reach, slot, value, U64(k), space)
        elif kind == EXIT:
            take_back(table, segment, k, board, root_value, value)
