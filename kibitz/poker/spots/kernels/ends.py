"""What the ends of betting are worth to each hand, LANES ends at a time.

A hand meets no hand that shares a card with it: of the other's reach all is left, less what holds the one card, less
what holds the other, plus what holds both. With hands in order of strength, running sums tell the same of what is
weaker (`below`) and of what is not stronger (`level`), so a showdown pays

    win * below + tie * (level - below) + lose * (met - level)

whatever the three are. All ends on a board ask for the same hands in the same order; only reach differs. So vectors go
over ends, not over hands: reach is transposed first, and values are transposed back.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import FOUR, THREE, TWO, U64, part
from kibitz.core.vectors import LANES, add, constant, load, multiply, multiply_add, store, subtract
from kibitz.poker.spots.kernels.codes import lanes_to_rows, rows_to_lanes

CARDS = U64(52)


@part
def gather(table, board, seat, space, lanes):
    """Reach of the other in the ends of a batch, hand after hand, and its sums by card; returns the sum of all."""
    reach, total = lanes.reach, lanes.total
    size, count = U64(table.size[seat, board]), U64(table.count[seat, board])
    first = U64(table.hand_first[seat, board])
    none = constant(reach, 0.0)
    for c in range(CARDS):
        store(total, c * LANES, none)
    store(reach, size * LANES, none)
    everything = none
    one_card, other_card = table.card[0], table.card[1]
    for begin in range(U64(0), size, LANES):
        rows_to_lanes(space.reach, lanes.rows, U64(0), begin, reach, begin * LANES)
        for h in range(begin, min(begin + LANES, count)):
            r = load(reach, h * LANES)
            one, other = U64(one_card[first + h]), U64(other_card[first + h])
            everything = add(everything, r)
            store(total, one, add(load(total, one), r))
            store(total, other, add(load(total, other), r))
    return everything


@part
def scatter(size, source, rows, first, space):
    """Values of a batch to the rows of its nodes."""
    for begin in range(U64(0), size, LANES):
        lanes_to_rows(source, begin * LANES, space.value, rows, first, begin)


@part
def clear_padding(table, board, seat, values):
    none = constant(values, 0.0)
    for h in range(U64(table.count[seat, board]), U64(table.size[seat, board])):
        store(values, h * LANES, none)


@part
def fold_values(table, board, seat, everything, space, lanes):
    """Values of the folds of a batch: what a hand meets, times chips."""
    first, fold = U64(table.hand_first[seat, board]), lanes.fold
    reach, total, same = lanes.reach, lanes.total, table.same
    one_card, other_card = table.card[0], table.card[1]
    chips = load(lanes.chips, THREE * LANES)
    for h in range(U64(table.count[seat, board])):
        met = subtract(everything, load(total, U64(one_card[first + h])))
        met = subtract(met, load(total, U64(other_card[first + h])))
        met = add(met, load(reach, U64(same[first + h]) * LANES))
        store(fold, h * LANES, multiply(chips, met))
    clear_padding(table, board, seat, fold)
    scatter(U64(table.size[seat, board]), fold, lanes.rows, TWO * LANES, space)


@part
def show_values(table, board, seat, everything, space, lanes, ties):
    """Values of the showdowns of a batch. ties: some pay on a tie.

    Running sums begin at a share k of all sums, so that two of them are enough: with `met` less what holds both cards,

        win_tie * (below + k * met) + tie_lose * (level + k * met),  k = lose / (win_tie + tie_lose)

    where win_tie is win - tie and tie_lose is tie - lose, lacks only `tie` times what holds both cards.
    """
    reach, value, running, total, chips = lanes.reach, lanes.value, lanes.running, lanes.total, lanes.chips
    own, others = U64(table.hand_first[seat, board]), U64(table.hand_first[1 - seat, board])
    one_card, other_card, same = table.card[0], table.card[1], table.same
    share = load(chips, TWO * LANES)
    for c in range(CARDS):
        store(running, c * LANES, multiply(share, load(total, c * LANES)))
    for_below, for_level = load(chips, U64(0)), load(chips, LANES)
    so_far = multiply(share, everything)
    h, o = U64(0), U64(0)
    for t in range(table.tie_first[board], table.tie_first[board + 1]):
        h_stop, o_stop = U64(table.tie_stop[seat, t]), U64(table.tie_stop[1 - seat, t])
        for i in range(h, h_stop):
            below = subtract(so_far, load(running, U64(one_card[own + i])))
            below = subtract(below, load(running, U64(other_card[own + i])))
            store(value, i * LANES, multiply(for_below, below))
        for i in range(o, o_stop):
            r = load(reach, i * LANES)
            one, other = U64(one_card[others + i]), U64(other_card[others + i])
            so_far = add(so_far, r)
            store(running, one, add(load(running, one), r))
            store(running, other, add(load(running, other), r))
        for i in range(h, h_stop):
            level = subtract(so_far, load(running, U64(one_card[own + i])))
            level = subtract(level, load(running, U64(other_card[own + i])))
            store(value, i * LANES, multiply_add(for_level, level, load(value, i * LANES)))
        h, o = h_stop, o_stop
    if ties:
        for_tie = load(chips, FOUR * LANES)
        for i in range(h):
            both = load(reach, U64(same[own + i]) * LANES)
            store(value, i * LANES, multiply_add(for_tie, both, load(value, i * LANES)))
    clear_padding(table, board, seat, value)
    scatter(U64(table.size[seat, board]), value, lanes.rows, LANES, space)


@part
def ends(table, chunk, board, seat, space, lanes):
    """Values of all nodes of a chunk where betting ends: a lane for each showdown, with the fold beside it, and for
    each other fold."""
    before = table.entry_node[table.chunk_entry[chunk]]
    stride, zero, waste = space.stride, space.rows * space.stride, (space.rows + 1) * space.stride
    rows, chips = lanes.rows, lanes.chips
    shows, last = table.show_first[chunk], table.show_first[chunk + 1]
    stop = last + table.fold_first[seat, chunk + 1] - table.fold_first[seat, chunk]
    width = 16
    for begin in range(shows, stop, width):
        folds, ties = False, False
        for i in range(width):
            rows[i], rows[width + i], rows[2 * width + i] = zero, waste, waste
            at, node, fold = begin + i, np.int64(-1), np.int64(-1)
            if at < last:
                node = table.show_node[at]
                fold = table.show_fold[seat, at]
                win, tie, lose = table.pay[seat, node, 0], table.pay[seat, node, 1], table.pay[seat, node, 2]
                rows[i] = (table.slot[1 - seat, node] - before) * stride
                rows[width + i] = (node - before) * stride
                chips[i], chips[width + i], chips[2 * width + i] = win - tie, tie - lose, lose / (win - lose)
                chips[4 * width + i] = tie
                ties = ties or tie != 0.0
            elif at < stop:
                fold = table.fold_node[table.fold_first[seat, chunk] + at - last]
                rows[i] = (table.slot[1 - seat, fold] - before) * stride
            if fold >= 0:
                folds = True
                rows[2 * width + i] = (fold - before) * stride
                chips[3 * width + i] = table.pay[seat, fold, 0]
        everything = gather(table, board, 1 - seat, space, lanes)
        if begin < last:
            show_values(table, board, seat, everything, space, lanes, ties)
        if folds:
            fold_values(table, board, seat, everything, space, lanes)
