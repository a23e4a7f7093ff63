"""What the ends of betting are worth to each hand, LANES ends at a time.

A hand meets no hand that shares a card with it: of the other's reach all is left, less what holds the one card, less
what holds the other, plus what holds both. With hands in order of strength, running sums tell the same of what is
weaker (`below`) and of what is not stronger (`level`), so a showdown pays

    win * below + tie * (level - below) + lose * (met - level)

whatever the three are. All ends on a board ask for the same hands in the same order; only reach differs. So vectors go
over ends, not over hands: reach is transposed first, and values are transposed back.
"""

from __future__ import annotations

from kibitz.core.jit import U64, part
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
def met_by(table, h, everything, lanes):
    """What hand h of the list of all hands meets of the other's reach."""
    total = lanes.total
    left = subtract(everything, load(total, U64(table.card[0, h])))
    left = subtract(left, load(total, U64(table.card[1, h])))
    return add(left, load(lanes.reach, U64(table.same[h]) * LANES))


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
def fold_batch(table, board, seat, space, lanes):
    """Values of a batch of nodes where somebody folded."""
    everything = gather(table, board, 1 - seat, space, lanes)
    first, fold = U64(table.hand_first[seat, board]), lanes.fold
    chips = load(lanes.chips, U64(0))
    for h in range(U64(table.count[seat, board])):
        store(fold, h * LANES, multiply(chips, met_by(table, first + h, everything, lanes)))
    clear_padding(table, board, seat, fold)
    scatter(U64(table.size[seat, board]), fold, lanes.rows, LANES, space)


@part
def show_batch(table, board, seat, space, lanes, folds):
    """Values of a batch of showdowns; folds: and of the folds beside them."""
    everything = gather(table, board, 1 - seat, space, lanes)
    reach, value, fold, running, chips = lanes.reach, lanes.value, lanes.fold, lanes.running, lanes.chips
    own, others = U64(table.hand_first[seat, board]), U64(table.hand_first[1 - seat, board])
    one_card, other_card = table.card[0], table.card[1]
    same = table.same
    none = constant(reach, 0.0)
    for c in range(CARDS):
        store(running, c * LANES, none)
    for_below, for_level = load(chips, U64(0)), load(chips, LANES)
    for_met, for_fold = load(chips, LANES + LANES), load(chips, LANES + LANES + LANES)
    so_far = none
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
            level = add(level, load(reach, U64(same[own + i]) * LANES))
            met = met_by(table, own + i, everything, lanes)
            worth = multiply_add(for_level, level, load(value, i * LANES))
            store(value, i * LANES, multiply_add(for_met, met, worth))
            if folds:
                store(fold, i * LANES, multiply(for_fold, met))
        h, o = h_stop, o_stop
    size = U64(table.size[seat, board])
    clear_padding(table, board, seat, value)
    scatter(size, value, lanes.rows, LANES, space)
    if folds:
        clear_padding(table, board, seat, fold)
        scatter(size, fold, lanes.rows, LANES + LANES, space)


@part
def ends(table, chunk, board, seat, space, lanes):
    """Values of all nodes of a chunk where betting ends."""
    before = table.entry_node[table.chunk_entry[chunk]]
    stride, zero, waste = space.stride, space.rows * space.stride, (space.rows + 1) * space.stride
    rows, chips = lanes.rows, lanes.chips
    width = 16
    for begin in range(table.show_first[chunk], table.show_first[chunk + 1], width):
        folds = False
        for i in range(width):
            if begin + i >= table.show_first[chunk + 1]:
                rows[i], rows[width + i], rows[2 * width + i] = zero, waste, waste
                continue
            node = table.show_node[begin + i]
            beside = table.show_fold[seat, begin + i]
            win, tie, lose = table.pay[seat, node, 0], table.pay[seat, node, 1], table.pay[seat, node, 2]
            rows[i] = (table.slot[1 - seat, node] - before) * stride
            rows[width + i] = (node - before) * stride
            rows[2 * width + i] = waste
            chips[i], chips[width + i], chips[2 * width + i] = win - tie, tie - lose, lose
            if beside >= 0:
                folds = True
                rows[2 * width + i] = (beside - before) * stride
                chips[3 * width + i] = table.pay[seat, beside, 0]
        show_batch(table, board, seat, space, lanes, folds)
    for begin in range(table.fold_first[seat, chunk], table.fold_first[seat, chunk + 1], width):
        for i in range(width):
            if begin + i >= table.fold_first[seat, chunk + 1]:
                rows[i], rows[width + i] = zero, waste
                continue
            node = table.fold_node[begin + i]
            rows[i] = (table.slot[1 - seat, node] - before) * stride
            rows[width + i] = (node - before) * stride
            chips[i] = table.pay[seat, node, 0]
        fold_batch(table, board, seat, space, lanes)
