"""What the ends of betting are worth to each hand, against the other's reach: sums over the hands that it meets.

A seat meets no hand that shares a card with its own. Sums over all hands and by card tell how much of the other's reach
that leaves: all, less what holds the one card, less what holds the other, plus what holds both, which is the hand
itself. At a showdown hands come in order of strength, and the same three running sums tell what is weaker:

    weaker + (weaker or as strong) - all = weaker - stronger

so one run over the hands, which is most of an iteration, serves a showdown and a fold at once where the other has
come to both in the same way.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import ONE, U64, part
from kibitz.core.vectors import LANES, add, constant, load, multiply, store, subtract
from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN, lanes_of, take_back

CARDS = U64(52)
FEW = U64(4)  # lanes; below, sums over hands of two cards are faster lane by lane


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
def folded_lane(lo, hi, n, lanes, x, hand_class, class_hand, hand_card, stake, reach, slot, value, k, space):
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
    for c in range(n):
        h = lo + U64(class_hand[c])
        met = total - space[U64(hand_card[h, 0])] - space[U64(hand_card[h, 1])] + reach[slot, c * lanes + x]
        value[k, c * lanes + x] = chips * met


@part
def shown_lane(lo, hi, n, lanes, x, hand_class, class_hand, hand_card, hand_high, stake, fold_stake, reach, slot, value,
               k, fold, space):  # fmt: skip
    """`shown_two` for lane x alone."""
    kind = value.dtype.type
    for card in range(CARDS):
        space[card] = kind(0.0)
    total = kind(0.0)
    sums = CARDS - lo  # by hand
    h = lo
    while h < hi:
        behind = lo + U64(hand_high[h])
        for i in range(h, behind):
            space[sums + i] = total - space[U64(hand_card[i, 0])] - space[U64(hand_card[i, 1])]
        for i in range(h, behind):
            r = reach[slot, U64(hand_class[i]) * lanes + x]
            total += r
            space[U64(hand_card[i, 0])] += r
            space[U64(hand_card[i, 1])] += r
        for i in range(h, behind):
            met = total - space[U64(hand_card[i, 0])] - space[U64(hand_card[i, 1])]
            space[sums + i] += met + reach[slot, U64(hand_class[i]) * lanes + x]
        h = behind
    chips, fold_chips = kind(stake), kind(fold_stake)
    for c in range(n):
        h = lo + U64(class_hand[c])
        met = total - space[U64(hand_card[h, 0])] - space[U64(hand_card[h, 1])] + reach[slot, c * lanes + x]
        value[k, c * lanes + x] = chips * (space[sums + h] - met)
        if fold != k:
            value[fold, c * lanes + x] = fold_chips * met


@part
def put_stakes(space, at, stake, first, lanes):
    """The stakes of lanes from the first on, and 0 behind the last."""
    for x in range(LANES):
        space[at + x] = stake[first + x] if x < lanes else 0.0


@part
def last_vector(lanes):
    """The first lane of the last vector. Vectors go from the last to the first: what a vector writes past the last lane
    is in lanes of the next class, which are written later."""
    return (lanes - ONE) // LANES * LANES


@part
def folded_two(lo, hi, n, lanes, hand_class, class_hand, hand_card, stake, stakes, reach, slot, value, k, space):
    """As `folded`, with hands of two cards, lo to hi - 1, in n classes.

    Lanes go sixteen at a time, as vectors (`core/vectors.py`): a loop over lanes stays scalar, for the compiler
    cannot rule out that sums overlap.
    """
    if lanes < FEW:
        for x in range(lanes):
            folded_lane(lo, hi, n, lanes, x, hand_class, class_hand, hand_card, stake[stakes + x], reach, slot, value,
                        k, space)  # fmt: skip
        return
    comes, values = reach[slot], value[k]
    none = constant(space, 0.0)
    for before in range(U64(0), lanes, LANES):
        first = last_vector(lanes) - before
        put_stakes(space, U64(0), stake, stakes + first, lanes - first)
        chips = load(space, U64(0))
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
        for c in range(n):
            h = lo + U64(class_hand[c])
            met = subtract(total, load(space, U64(hand_card[h, 0]) * LANES))
            met = subtract(met, load(space, U64(hand_card[h, 1]) * LANES))
            met = add(met, load(comes, c * lanes + first))
            store(values, c * lanes + first, multiply(chips, met))


@part
def shown_two(lo, hi, n, lanes, hand_class, class_hand, hand_card, hand_high, stake, stakes, fold_stakes, reach, slot,
              value, k, fold, space):  # fmt: skip
    """As `shown`, with hands of two cards in order of strength. fold: a node where someone folded, if the other's reach
    is the same there; else k."""
    if lanes < FEW:
        for x in range(lanes):
            shown_lane(lo, hi, n, lanes, x, hand_class, class_hand, hand_card, hand_high, stake[stakes + x],
                       stake[fold_stakes + x], reach, slot, value, k, fold, space)  # fmt: skip
        return
    comes, values, fold_values = reach[slot], value[k], value[fold]
    none = constant(space, 0.0)
    sums = (CARDS - lo) * LANES  # by hand
    for before in range(U64(0), lanes, LANES):
        first = last_vector(lanes) - before
        put_stakes(space, U64(0), stake, stakes + first, lanes - first)
        chips = load(space, U64(0))
        put_stakes(space, U64(0), stake, fold_stakes + first, lanes - first)
        fold_chips = load(space, U64(0))
        for c in range(CARDS):
            store(space, c * LANES, none)
        total = none
        h = lo
        while h < hi:
            # Hands that tie are looked at together: what is weaker, then with those that are as strong.
            behind = lo + U64(hand_high[h])
            for i in range(h, behind):
                met = subtract(total, load(space, U64(hand_card[i, 0]) * LANES))
                met = subtract(met, load(space, U64(hand_card[i, 1]) * LANES))
                store(space, sums + i * LANES, met)
            for i in range(h, behind):
                r = load(comes, U64(hand_class[i]) * lanes + first)
                one = U64(hand_card[i, 0]) * LANES
                two = U64(hand_card[i, 1]) * LANES
                total = add(total, r)
                store(space, one, add(load(space, one), r))
                store(space, two, add(load(space, two), r))
            for i in range(h, behind):
                met = subtract(total, load(space, U64(hand_card[i, 0]) * LANES))
                met = subtract(met, load(space, U64(hand_card[i, 1]) * LANES))
                met = add(met, load(comes, U64(hand_class[i]) * lanes + first))
                store(space, sums + i * LANES, add(load(space, sums + i * LANES), met))
            h = behind
        for c in range(n):
            h = lo + U64(class_hand[c])
            met = subtract(total, load(space, U64(hand_card[h, 0]) * LANES))
            met = subtract(met, load(space, U64(hand_card[h, 1]) * LANES))
            met = add(met, load(comes, c * lanes + first))
            store(values, c * lanes + first, multiply(chips, subtract(load(space, sums + h * LANES), met)))
            if fold != k:
                store(fold_values, c * lanes + first, multiply(fold_chips, met))


@part
def beside(table, node, k, seat, kind):
    """A node of a kind that the same decision of the seat leads to as to node k, or k: the other's reach is the same in
    both."""
    above = table.parent[node + k]
    if above >= 0 and table.turn[node + above] == seat:
        for a in range(table.count[node + above]):
            if table.turn[node + table.children[node + above, a]] == kind:
                return np.int64(table.children[node + above, a])
    return np.int64(k)


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
    hand_class, hand_card, hand_high = table.hand_class, table.hand_card, table.hand_high
    class_hand = table.class_hand[first:]
    take_back(table, level, group, board, root_value, value)
    for k in range(table.group_node[group + 1] - node):
        kind = table.turn[node + k]
        slot = U64(table.slot[1 - seat, node + k])
        stakes = U64(table.node_lane[node + k])
        if kind == FOLD:
            if not two:
                folded(first, n, lanes, size, stake, stakes, reach, slot, value, U64(k), space)
            elif beside(table, node, k, seat, SHOWDOWN) == k:  # else it is done with the showdown
                folded_two(lo, hi, n, lanes, hand_class, class_hand, hand_card, stake, stakes, reach, slot, value,
                           U64(k), space)  # fmt: skip
        elif kind == SHOWDOWN:
            if two:
                fold = beside(table, node, k, seat, FOLD)
                fold_stakes = U64(table.node_lane[node + fold])
                shown_two(lo, hi, n, lanes, hand_class, class_hand, hand_card, hand_high, stake, stakes, fold_stakes,
                          reach, slot, value, U64(k), U64(fold), space)  # fmt: skip
            else:
                shown(first, n, lanes, size, tie_class, first_tie, ties, stake, stakes, reach, slot, value, U64(k),
                      space)  # fmt: skip
