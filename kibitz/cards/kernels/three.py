"""Three hands before the flop that go to the river: in which order they end, counted over boards.

Three hands of classes end in one of 13 orders: six without ties, three where the best two tie, three where the others
do, and one where all tie. On a board, hands of one place (as strong as each other) and one class are a *bundle*; a
board has some two hundred. Hands of different places are different, so they share one card at most. With n(c) for how
many hands of a bundle hold the card c, the triples of three bundles x, y, z that share no card are, by inclusion and
exclusion over the pairs that do,

    n_x n_y n_z  -  n_x S_yz - n_y S_xz - n_z S_xy      S_xy = sum over cards of n_x(c) n_y(c)
      +  2 sum over cards of n_x(c) n_y(c) n_z(c)       a card that all three hold is in three pairs of pairs, less one
      +  crosses of x, of y, of z                       sum over hands {c, d} of x of n_y(c) n_z(d) + n_y(d) n_z(c)
      -  triangles                                      hands {c, d}, {c, e}, {d, e}

The first line takes whole vectors of classes. The others concern bundles that have a rank in common. A bundle's n(c)
for the four cards of a rank lie in a word, 16 bits each; a word times one of the opposite order has the sum of the four
products in its highest 16 bits. So a board takes a millisecond or two instead of the second that its 10^9 triples
would.

Counts lie in blocks by the class of one hand, which is the outer loop over a batch of boards: a block stays in the
second cache meanwhile. They are int32 that may wrap on the way: what is left in the end is far below 2^31 for some
thousand boards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.bundles import (
    BATCH,
    BITS,
    BUNDLES,
    FOUR,
    HIGHEST,
    I16,
    I32,
    OF_CLASS,
    OF_RANK,
    WIDE,
    ZERO,
    Batch,
    BundleWorkspace,
    Kinds,
    around,
    bundle_up,
    digit,
    four,
    opposite,
)  # fmt: skip
from kibitz.cards.kernels.strength import CLASSES, KINDS, board_of, hand_of, showdown, workspace
from kibitz.cards.kernels.ties import ties
from kibitz.core.jit import ONE, TWO, U64, kernel, part
from kibitz.core.vectors import LANES, add_pairs, load, lowest_bit, store

PANEL = U64(3) * LANES


class TripleCounts(NamedTuple):
    """Counts by classes, int32[169, 169, WIDE]. The first three are to be added."""

    middle: np.ndarray  # of the middle, the best, the worst hand
    best: np.ndarray  # of the best, the worst, the middle hand
    worst: np.ndarray  # of the worst, the best, the middle hand
    top: np.ndarray  # the best two tie: their classes, the first not above the second, and the worst
    bottom: np.ndarray  # the others tie: their classes, the first not above the second, and the best


def empty() -> TripleCounts:
    return TripleCounts(*(np.zeros((CLASSES, CLASSES, WIDE), np.int32) for _ in TripleCounts._fields))


def add_boards(boards: np.ndarray, weights: np.ndarray, class_of: np.ndarray, triples: TripleCounts) -> None:
    """Add the triples of some boards of five, each counted by its weight. class_of: uint64[HANDS]."""
    kinds = Kinds(np.zeros((52, 52), np.uint64), np.zeros((CLASSES, 2), np.uint64), np.zeros(CLASSES, np.uint64))
    batch = Batch(
        np.zeros(BATCH, np.int32), np.zeros(BATCH, np.uint64), np.zeros((BATCH, KINDS + 1), np.uint64),
        np.zeros((BATCH, CLASSES, OF_CLASS), np.uint64), np.zeros((BATCH, CLASSES), np.uint64),
        np.zeros((BATCH, KINDS + 1, WIDE), np.int16), np.zeros((BATCH, KINDS, WIDE), np.int16),
        np.zeros((BATCH, 52, 52), np.uint8), np.zeros((BATCH, BUNDLES), np.uint64),
        np.zeros((BATCH, BUNDLES), np.uint64), np.zeros((BATCH, BUNDLES), np.int32),
        np.zeros((BATCH, BUNDLES, 2, 4), np.uint64), np.zeros((BATCH, BUNDLES, 2), np.uint64),
        np.zeros((BATCH, BUNDLES, 2, WIDE), np.int16), np.zeros((BATCH, BUNDLES, 2, 4), np.uint64),
        np.zeros((BATCH, BUNDLES, 2, 4), np.uint64), np.zeros((BATCH, 13), np.uint64),
        np.zeros((BATCH, 13, OF_RANK), np.uint64), np.zeros((BATCH, 13, OF_RANK), np.uint64),
        np.zeros((BATCH, 13, OF_RANK), np.uint64),
    )  # fmt: skip
    work = BundleWorkspace(
        np.zeros((KINDS, CLASSES), np.uint64), np.zeros(52, np.uint64), np.zeros(13, np.uint64),
        np.zeros((3, WIDE), np.int32), np.zeros(BATCH * OF_CLASS * WIDE, np.int32), np.zeros(CLASSES, np.uint64),
        np.zeros((CLASSES, BATCH * OF_CLASS), np.int32), np.zeros((CLASSES, BATCH * OF_CLASS), np.uint16),
    )  # fmt: skip
    each_batch(boards, weights, class_of, triples, triples.middle.reshape(-1), workspace(), kinds, batch, work)


@kernel
def each_batch(boards, weights, class_of, triples, middle, space, kinds, batch, work):
    for b in range(U64(52)):
        for a in range(b):
            kind = class_of[hand_of(a, b)]
            kinds.of[a, b] = kinds.of[b, a] = kind
            # Cards are numbered by rank first.
            kinds.rank[kind, 0], kinds.rank[kind, 1] = b // FOUR, a // FOUR
            kinds.sides[kind] = ONE if b // FOUR == a // FOUR else TWO
    for start in range(ZERO, U64(len(boards)), U64(BATCH)):
        number = min(U64(BATCH), U64(len(boards)) - start)
        for i in range(number):
            hands, batch.places[i] = showdown(board_of(boards[start + i]), ZERO, space)
            batch.weight[i] = I32(weights[start + i])
            bundle_up(i, hands, space, kinds, batch, work)
        for kind in range(U64(CLASSES)):
            far_apart(kind, number, batch, work, middle)
            for i in range(number):
                for k in range(batch.many_of_class[i, kind]):
                    add_bundle(i, batch.of_class[i, kind, k], kinds, batch, work, triples)


# Three hands of different places


@part
def far_apart(kind, number, batch, work, flat):
    """All triples with a middle hand of a class, on all boards, less those in which it shares a card with the best,
    less those with the worst: above * (size * below - share_below) - share_above * below."""
    total = ZERO
    for best in range(U64(CLASSES)):
        work.listed[best] = ZERO
    for i in range(number):
        for k in range(batch.many_of_class[i, kind]):
            bundle = batch.of_class[i, kind, k]
            list_bundle(i, bundle, total, batch, work)
            total += ONE
    for panel in range(ZERO, U64(WIDE), PANEL):
        for best in range(U64(CLASSES)):
            at = (kind * U64(CLASSES) + best) * U64(WIDE) + panel
            one, two, three = load(flat, at), load(flat, at + LANES), load(flat, at + TWO * LANES)
            for k in range(work.listed[best]):
                where = U64(work.which[best, k]) * U64(WIDE) + panel
                factor = work.factor[best, k]
                one = add_pairs(load(work.vectors, where), factor, one)
                two = add_pairs(load(work.vectors, where + LANES), factor, two)
                three = add_pairs(load(work.vectors, where + TWO * LANES), factor, three)
            store(flat, at, one)
            store(flat, at + LANES, two)
            store(flat, at + TWO * LANES, three)


@part
def list_bundle(i, bundle, number, batch, work):
    """A bundle among those of its class: its two vectors of worse hands, and its factors by the class of the best."""
    place, size, weight = batch.place[i, bundle], I16(batch.size[i, bundle]), batch.weight[i]
    below, above = batch.below[i, place], batch.above[i, place]
    share_below, share_above = batch.shares[i, bundle, 0], batch.shares[i, bundle, 1]
    for k in range(U64(WIDE)):
        free = size * below[k] - share_below[k]
        work.vectors[number * U64(WIDE) + k] = I32(free & 0xFFFF | below[k] << 16)
    for best in range(U64(CLASSES)):
        if above[best]:
            at = work.listed[best]
            less = -weight * share_above[best]
            work.factor[best, at] = I32(weight * above[best] & 0xFFFF | less << 16)
            work.which[best, at] = number
            work.listed[best] = at + ONE


@part
def add_bundle(i, bundle, kinds, batch, work, triples):
    """The rest of what is added where a bundle's class says which block."""
    kind, place = batch.kind[i, bundle], batch.place[i, bundle]
    middle, best, worst = triples.middle[kind], triples.best[kind], triples.worst[kind]
    for side in range(kinds.sides[kind]):
        rank = kinds.rank[kind, side]
        low, high = around(i, rank, place, batch)
        outer_pairs(i, bundle, side, rank, low, batch, best)
        one_card(i, bundle, side, rank, low, high, batch, middle)
    crosses(i, bundle, kinds, batch, middle, best, worst)
    triangles(i, bundle, kinds, batch, middle)
    ties(i, bundle, kinds, batch, work, triples.top[kind], triples.bottom[kind])


@part
def outer_pairs(i, bundle, side, rank, low, batch, block):
    """Less those whose best hand, of the bundle, shares a card with the worst; any middle hand."""
    below, mine = batch.below[i, batch.place[i, bundle]], opposite(batch.held[i, bundle, side])
    for k in range(low):
        met = batch.weight[i] * I32(four(mine, batch.near_held[i, rank, k]))
        if met:
            row = block[batch.near_kind[i, rank, k]]
            take_between(row, I16(met), below, batch.below[i, batch.near_place[i, rank, k] + ONE])


@part
def take_between(row, times, high, low):
    # Products of int16, as 24 * 36 pairs with 12 hands are: one instruction where those of int32 are several.
    for k in range(U64(WIDE)):
        row[k] -= I32(I16(times * I16(high[k] - low[k])))


@part
def one_card(i, bundle, side, rank, low, high, batch, block):
    """Twice those that all hold a card; the middle hand is of the bundle."""
    twice, mine = TWO * U64(batch.weight[i]), batch.held[i, bundle, side]
    for best in range(high, batch.near[i, rank]):
        cards, both = batch.near_held[i, rank, best], ZERO
        for s in range(FOUR):
            both |= digit(mine, s) * digit(cards, s) * twice << (HIGHEST - BITS * s)
        if both:
            row = block[batch.near_kind[i, rank, best]]
            for worst in range(low):
                row[batch.near_kind[i, rank, worst]] += I32(four(both, batch.near_held[i, rank, worst]))


@part
def crosses(i, bundle, kinds, batch, middle, best, worst):
    """A hand of the bundle shares one card with one of the others, and its other card with the other one."""
    kind, place, weight = batch.kind[i, bundle], batch.place[i, bundle], U64(batch.weight[i])
    a, b = kinds.rank[kind, 0], kinds.rank[kind, 1]
    low, high = around(i, b, place, batch)
    end = batch.near[i, b]
    p, q = opposite(batch.pairs[i, bundle, 1, 0]), opposite(batch.pairs[i, bundle, 1, 1])
    r, s = opposite(batch.pairs[i, bundle, 1, 2]), opposite(batch.pairs[i, bundle, 1, 3])
    for one in range(batch.near[i, a]):
        there = batch.near_place[i, a, one]
        if there == place:
            continue
        cards, this = batch.near_held[i, a, one], batch.near_kind[i, a, one]
        # By the other card of the same hand, in the opposite order.
        word = four(p, cards) << HIGHEST | four(q, cards) << U64(32) | four(r, cards) << BITS | four(s, cards)
        if not word:
            continue
        word *= weight
        # Of a pair both others are in the same list, where each two are met twice.
        same = ZERO
        if there < place:
            if a != b:
                add_column(i, b, high, end, word, batch, middle, this)
            while same < low and batch.near_place[i, b, same] < there:
                same += ONE
            add_column(i, b, ZERO, same, word, batch, best, this)
            if a != b:
                while same < low and batch.near_place[i, b, same] == there:
                    same += ONE
                add_row(i, b, same, low, word, batch, best[this])
        else:
            add_row(i, b, ZERO, low, word, batch, middle[this])
            same = end
            while same > high and batch.near_place[i, b, same - ONE] > there:
                same -= ONE
            add_column(i, b, same, end, word, batch, worst, this)
            if a != b:
                while same > high and batch.near_place[i, b, same - ONE] == there:
                    same -= ONE
                add_row(i, b, high, same, word, batch, worst[this])


@part
def add_row(i, rank, first, last, word, batch, row):
    for k in range(first, last):
        row[batch.near_kind[i, rank, k]] += I32(four(word, batch.near_held[i, rank, k]))


@part
def add_column(i, rank, first, last, word, batch, block, column):
    for k in range(first, last):
        block[batch.near_kind[i, rank, k], column] += I32(four(word, batch.near_held[i, rank, k]))


@part
def triangles(i, bundle, kinds, batch, block):
    """Less those of three cards in all, two in each hand; the middle hand is of the bundle."""
    kind, weight = batch.kind[i, bundle], batch.weight[i]
    pairs, worse, better = batch.pairs[i, bundle], batch.worse[i, bundle], batch.better[i, bundle]
    for s in range(FOUR):
        for t in range(s if kinds.sides[kind] == ONE else FOUR):
            if digit(pairs[0, s], t):
                one, two = kinds.of[FOUR * kinds.rank[kind, 0] + s], kinds.of[FOUR * kinds.rank[kind, 1] + t]
                take_triangles(one, two, better[0, s] & worse[1, t], weight, block)
                take_triangles(two, one, better[1, t] & worse[0, s], weight, block)


@part
def take_triangles(best, worst, cards, weight, block):
    while cards:
        card = lowest_bit(cards)
        block[best[card], worst[card]] -= weight
        cards &= cards - ONE


@kernel
def add_up(triples, strict, top, bottom):
    """Add what was counted to int64 tables: strict by the best, the middle and the worst hand, ties by the number of
    the pair that ties and the other hand."""
    for best in range(U64(CLASSES)):
        for middle in range(U64(CLASSES)):
            for worst in range(U64(CLASSES)):
                count = triples.middle[middle, best, worst] + triples.best[best, worst, middle]
                count += triples.worst[worst, best, middle]
                strict[best, middle, worst] += np.int64(np.int32(count))
    for one in range(U64(CLASSES)):
        for two in range(one, U64(CLASSES)):
            pair = two * (two + ONE) // TWO + one
            for other in range(U64(CLASSES)):
                top[pair, other] += np.int64(triples.top[one, two, other])
                bottom[pair, other] += np.int64(triples.bottom[one, two, other])
