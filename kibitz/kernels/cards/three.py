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

from kibitz.kernels.cards.strength import CLASSES, KINDS, board_of, hand_of, showdown, space_of
from kibitz.kernels.jit import ONE, TWO, U64, kernel, maker, part, small_part
from kibitz.kernels.vectors import LANES, add_pairs, load, lowest_bit, store

WIDE = 192  # classes, filled up to four panels of three vectors
PANEL = U64(3) * LANES
BATCH = 64  # boards
# Of a flush only the cards of its suit count: both or none of a suited hand, one or none of a pair, or the higher, the
# lower or none. So a class has three bundles at most, 78 * 2 + 78 * 3 + 13 * 2 in all, and a rank 12 * 2 + 12 * 3 + 2.
BUNDLES = 416
OF_RANK = 62
OF_CLASS = 3
ZERO, FOUR = U64(0), U64(4)
BITS, HIGHEST, DIGIT = U64(16), U64(48), U64(0xFFFF)  # of a word of four numbers
I16, I32 = np.int16, np.int32


class Triples(NamedTuple):
    """Counts by classes, int32[169, 169, WIDE]. The first three are to be added."""

    middle: np.ndarray  # of the middle, the best, the worst hand
    best: np.ndarray  # of the best, the worst, the middle hand
    worst: np.ndarray  # of the worst, the best, the middle hand
    top: np.ndarray  # the best two tie: their classes, the first not above the second, and the worst
    bottom: np.ndarray  # the others tie: their classes, the first not above the second, and the best


class Kinds(NamedTuple):
    """Classes of hands, by number."""

    of: np.ndarray  # uint64[52, 52]  the class of two cards
    rank: np.ndarray  # uint64[CLASSES, 2]  the higher and the lower
    sides: np.ndarray  # uint64[CLASSES]  how many ranks it has


class Batch(NamedTuple):
    """Some boards, each with its bundles, in order of places and classes."""

    weight: np.ndarray  # int32[BATCH]
    places: np.ndarray  # uint64[BATCH]
    first: np.ndarray  # uint64[BATCH, KINDS + 1]  where the bundles of a place begin
    of_class: np.ndarray  # uint64[BATCH, CLASSES, OF_CLASS]
    many_of_class: np.ndarray  # uint64[BATCH, CLASSES]
    below: np.ndarray  # int16[BATCH, KINDS + 1, WIDE]  hands of places below, by class
    above: np.ndarray  # int16[BATCH, KINDS, WIDE]
    at: np.ndarray  # uint8[BATCH, 52, 52]  the place of a hand; KINDS if a card of it is on the board
    # Of each bundle
    kind: np.ndarray  # uint64[BATCH, BUNDLES]  the class
    place: np.ndarray  # uint64[BATCH, BUNDLES]
    size: np.ndarray  # int32[BATCH, BUNDLES]
    pairs: np.ndarray  # uint64[BATCH, BUNDLES, 2, 4]  by a card of the higher, the lower rank: what goes with it, words
    held: np.ndarray  # uint64[BATCH, BUNDLES, 2]  hands that hold each card of the higher, the lower rank: words
    shares: np.ndarray  # int16[BATCH, BUNDLES, 2, WIDE]  pairs of hands that share a card, with those below, and above
    worse: np.ndarray  # uint64[BATCH, BUNDLES, 2, 4]  cards that go with a card to a place below, as bits
    better: np.ndarray  # uint64[BATCH, BUNDLES, 2, 4]
    # Bundles that hold a rank, in order of places
    near: np.ndarray  # uint64[BATCH, 13]  how many there are
    near_kind: np.ndarray  # uint64[BATCH, 13, OF_RANK]
    near_place: np.ndarray  # uint64[BATCH, 13, OF_RANK]
    near_held: np.ndarray  # uint64[BATCH, 13, OF_RANK]  words


class Work(NamedTuple):
    """To work in."""

    count: np.ndarray  # uint64[KINDS, CLASSES]  hands of a place and class, then the number of their bundle
    worse: np.ndarray  # uint64[52]  cards that go with a card to a place below, as bits
    met: np.ndarray  # uint64[13]  pairs that tie, by the cards they hold: words
    thirds: np.ndarray  # int32[3, WIDE]  a third hand, below, above and of the same place, which is not asked for
    vectors: np.ndarray  # int32[BATCH * OF_CLASS * WIDE]  two int16 each, of the bundles of a class
    listed: np.ndarray  # uint64[CLASSES]  how many of them have a better hand, by its class
    factor: np.ndarray  # int32[CLASSES, BATCH * OF_CLASS]  two int16 each
    which: np.ndarray  # uint16[CLASSES, BATCH * OF_CLASS]


def empty() -> Triples:
    return Triples(*(np.zeros((CLASSES, CLASSES, WIDE), np.int32) for _ in Triples._fields))


@maker
def add_boards(boards, weights, class_of, triples):
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
    work = Work(
        np.zeros((KINDS, CLASSES), np.uint64), np.zeros(52, np.uint64), np.zeros(13, np.uint64),
        np.zeros((3, WIDE), np.int32), np.zeros(BATCH * OF_CLASS * WIDE, np.int32), np.zeros(CLASSES, np.uint64),
        np.zeros((CLASSES, BATCH * OF_CLASS), np.int32), np.zeros((CLASSES, BATCH * OF_CLASS), np.uint16),
    )  # fmt: skip
    each_batch(boards, weights, class_of, triples, triples.middle.reshape(-1), space_of(), kinds, batch, work)


@part
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
            board, dead = board_of(boards[start + i])
            live, batch.places[i] = showdown(board, dead, space)
            batch.weight[i] = I32(weights[start + i])
            bundle_up(i, live, space, kinds, batch, work)
        for kind in range(U64(CLASSES)):
            far_apart(kind, number, batch, work, middle)
            for i in range(number):
                for k in range(batch.many_of_class[i, kind]):
                    add_bundle(i, batch.of_class[i, kind, k], kinds, batch, work, triples)


# Words of four numbers


@small_part
def digit(word, k):
    return (word >> (BITS * k)) & DIGIT


@small_part
def opposite(word):
    """The four numbers in the opposite order."""
    return digit(word, ZERO) << HIGHEST | digit(word, ONE) << U64(32) | digit(word, TWO) << BITS | word >> HIGHEST


@small_part
def four(word, other):
    """The sum of four products, of which one word is in the opposite order."""
    return (word * other) >> HIGHEST


# Bundles


@part
def bundle_up(i, live, space, kinds, batch, work):
    """The bundles of a board."""
    count, places = work.count, batch.places[i]
    for place in range(places):
        for kind in range(U64(CLASSES)):
            count[place, kind] = ZERO
    for a in range(U64(52)):
        work.worse[a] = ZERO
        for b in range(U64(52)):
            batch.at[i, a, b] = KINDS
    alive = ZERO
    for x in range(live):
        b = space.live[x]
        alive |= ONE << b
        for y in range(x):
            a = space.live[y]
            place = space.place[space.kind[hand_of(a, b)]]
            batch.at[i, a, b] = batch.at[i, b, a] = place
            count[place, kinds.of[a, b]] += ONE
    number_bundles(i, batch, count)
    for x in range(ONE, live):
        b = space.live[x]
        for y in range(x):
            a = space.live[y]
            pairs = batch.pairs[i, count[batch.at[i, a, b], kinds.of[a, b]]]
            pairs[0, b % FOUR] |= ONE << (BITS * (a % FOUR))
            pairs[1, a % FOUR] |= ONE << (BITS * (b % FOUR))
            if a // FOUR == b // FOUR:
                pairs[0, a % FOUR] |= ONE << (BITS * (b % FOUR))
                pairs[1, b % FOUR] |= ONE << (BITS * (a % FOUR))
    for rank in range(U64(13)):
        batch.near[i, rank] = ZERO
    for place in range(places):
        for bundle in range(batch.first[i, place], batch.first[i, place + ONE]):
            count_cards(i, bundle, kinds, batch)
            note_cards(batch.kind[i, bundle], kinds, work.worse, ZERO, batch.worse[i, bundle])
        for bundle in range(batch.first[i, place], batch.first[i, place + ONE]):
            pass_by(batch.kind[i, bundle], batch.pairs[i, bundle], kinds, work.worse)
        for bundle in range(batch.first[i, place], batch.first[i, place + ONE]):
            note_cards(batch.kind[i, bundle], kinds, work.worse, alive, batch.better[i, bundle])
    for bundle in range(batch.first[i, places]):
        count_shares(i, bundle, kinds, batch)


@part
def number_bundles(i, batch, count):
    total = ZERO
    places = batch.places[i]
    for kind in range(U64(CLASSES)):
        batch.below[i, 0, kind] = 0
        batch.many_of_class[i, kind] = ZERO
    for place in range(places):
        batch.first[i, place] = total
        for kind in range(U64(CLASSES)):
            size = count[place, kind]
            batch.below[i, place + ONE, kind] = batch.below[i, place, kind] + I16(size)
            if size:
                batch.kind[i, total] = kind
                batch.place[i, total] = place
                batch.size[i, total] = I32(size)
                batch.of_class[i, kind, batch.many_of_class[i, kind]] = total
                batch.many_of_class[i, kind] += ONE
                count[place, kind] = total
                for s in range(FOUR):
                    batch.pairs[i, total, 0, s] = batch.pairs[i, total, 1, s] = ZERO
                total += ONE
    batch.first[i, places] = total
    for place in range(places):
        for kind in range(U64(CLASSES)):
            batch.above[i, place, kind] = batch.below[i, places, kind] - batch.below[i, place + ONE, kind]


@part
def count_cards(i, bundle, kinds, batch):
    """How many hands of a bundle hold each card; and the bundle in the lists of its ranks."""
    kind, pairs = batch.kind[i, bundle], batch.pairs[i, bundle]
    for side in range(TWO):
        # What goes with the other cards, added up.
        other = ONE - side
        batch.held[i, bundle, side] = pairs[other, 0] + pairs[other, 1] + pairs[other, 2] + pairs[other, 3]
    for side in range(kinds.sides[kind]):
        rank = kinds.rank[kind, side]
        at = batch.near[i, rank]
        batch.near_kind[i, rank, at] = kind
        batch.near_place[i, rank, at] = batch.place[i, bundle]
        batch.near_held[i, rank, at] = batch.held[i, bundle, side]
        batch.near[i, rank] = at + ONE


@part
def note_cards(kind, kinds, worse, alive, found):
    """For each card of a class: the cards that go with it to a place below; or, of those that are alive, the others."""
    for side in range(TWO):
        for s in range(FOUR):
            card = FOUR * kinds.rank[kind, side] + s
            found[side, s] = alive & ~worse[card] & ~(ONE << card) if alive else worse[card]


@part
def pass_by(kind, pairs, kinds, worse):
    """The hands of a bundle are below from here on."""
    for side in range(TWO):
        for s in range(FOUR):
            for t in range(FOUR):
                if digit(pairs[side, s], t):
                    worse[FOUR * kinds.rank[kind, side] + s] |= ONE << (FOUR * kinds.rank[kind, ONE - side] + t)


@part
def count_shares(i, bundle, kinds, batch):
    """By class, pairs of a hand of a bundle and one of a place below, or above, that share a card."""
    shares, place, kind = batch.shares[i, bundle], batch.place[i, bundle], batch.kind[i, bundle]
    for k in range(U64(WIDE)):
        shares[0, k] = 0
        shares[1, k] = 0
    for side in range(kinds.sides[kind]):
        rank, mine = kinds.rank[kind, side], opposite(batch.held[i, bundle, side])
        for k in range(batch.near[i, rank]):
            there = batch.near_place[i, rank, k]
            if there != place:
                met = I16(four(mine, batch.near_held[i, rank, k]))
                shares[ONE if there > place else ZERO, batch.near_kind[i, rank, k]] += met


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
def around(i, rank, place, batch):
    """Where the bundles of a place begin and end among those that hold a rank."""
    low = ZERO
    while low < batch.near[i, rank] and batch.near_place[i, rank, low] < place:
        low += ONE
    high = low
    while high < batch.near[i, rank] and batch.near_place[i, rank, high] == place:
        high += ONE
    return low, high


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


# Ties


@part
def ties(i, bundle, kinds, batch, work, top, bottom):
    """A hand of the bundle, another of its place, of this class or a later one, and a third below or above that shares
    no card with either."""
    place, kind = batch.place[i, bundle], batch.kind[i, bundle]
    a, b = kinds.rank[kind, 0], kinds.rank[kind, 1]
    tie_alike(i, bundle, kinds, batch, work, top[kind], bottom[kind])
    for other in range(bundle + ONE, batch.first[i, place + ONE]):
        third = batch.kind[i, other]
        c, d = kinds.rank[third, 0], kinds.rank[third, 1]
        if a in (c, d) or b in (c, d):
            tie_near(i, bundle, other, kinds, batch, work, top[third], bottom[third])
        else:
            tie_far(i, bundle, other, kinds, batch, work.thirds, top[third], bottom[third])


@part
def tie_far(i, bundle, other, kinds, batch, thirds, top, bottom):
    """Of two bundles without a common rank: each hand goes with each, and a third hand is taken off for each card that
    it shares with either."""
    place, weight = batch.place[i, bundle], batch.weight[i]
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    one, two = weight * batch.size[i, bundle], weight * batch.size[i, other]
    both = one * batch.size[i, other]
    for side in range(kinds.sides[here]):
        for against in range(kinds.sides[there]):
            for s in range(FOUR):
                mine = one_digit(batch.held[i, bundle, side], s) * weight
                if mine:
                    for t in range(FOUR):
                        met = mine * one_digit(batch.held[i, other, against], t)
                        add_third(FOUR * kinds.rank[here, side] + s, FOUR * kinds.rank[there, against] + t, i, place,
                                  met, kinds, batch, thirds)  # fmt: skip
    for k in range(TWO):
        row = bottom if k else top
        hands = batch.above[i, place] if k else batch.below[i, place]
        add_far(row, both, hands, two, batch.shares[i, bundle, k], one, batch.shares[i, other, k], thirds[k])


@small_part
def one_digit(word, k):
    return I32(digit(word, k))


@part
def add_far(row, both, hands, two, shares, one, others, thirds):
    for k in range(U64(WIDE)):
        row[k] += both * I32(hands[k]) - two * I32(shares[k]) - one * I32(others[k]) + thirds[k]
        thirds[k] = 0


@part
def tie_near(i, bundle, other, kinds, batch, work, top, bottom):
    """Of two classes with a common rank: hands share one card at most, and pairs that share none are all less those
    that do."""
    place, weight, met = batch.place[i, bundle], batch.weight[i], work.met
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    sizes = U64(batch.size[i, bundle]), U64(batch.size[i, other])
    found = sizes[0] * sizes[1]
    for side in range(kinds.sides[here]):
        for against in range(kinds.sides[there]):
            if kinds.rank[here, side] == kinds.rank[there, against]:
                found -= four(opposite(batch.held[i, bundle, side]), batch.held[i, other, against])
            pair_up(i, bundle, other, side, against, kinds, batch, work.thirds)
    if not found:
        return
    met[kinds.rank[here, 0]] = met[kinds.rank[here, 1]] = ZERO
    met[kinds.rank[there, 0]] = met[kinds.rank[there, 1]] = ZERO
    meet(bundle, other, i, sizes[1], kinds, batch, met)
    meet(other, bundle, i, sizes[0], kinds, batch, met)
    for side in range(kinds.sides[here]):
        take_off(i, kinds.rank[here, side], place, batch, met, work.thirds)
    for against in range(kinds.sides[there]):
        rank = kinds.rank[there, against]
        if rank != kinds.rank[here, 0] and rank != kinds.rank[here, 1]:
            take_off(i, rank, place, batch, met, work.thirds)
    add_near(top, weight, I32(found), batch.below[i, place], work.thirds[0])
    add_near(bottom, weight, I32(found), batch.above[i, place], work.thirds[1])


@part
def add_near(row, weight, found, hands, thirds):
    for k in range(U64(WIDE)):
        row[k] += weight * (found * I32(hands[k]) + thirds[k])
        thirds[k] = 0


@part
def meet(bundle, other, i, size, kinds, batch, met):
    """Add, by card of a bundle, the pairs of a hand that holds it and one of another bundle that shares no card."""
    here = batch.kind[i, bundle]
    for side in range(kinds.sides[here]):
        mine = batch.held[i, bundle, side]
        theirs = holding(i, other, kinds.rank[here, side], kinds, batch)
        partners = opposite(holding(i, other, kinds.rank[here, ONE - side], kinds, batch))
        word = ZERO
        for s in range(FOUR):
            with_card = digit(mine, s) * (size - digit(theirs, s)) - four(partners, batch.pairs[i, bundle, side, s])
            word |= with_card << (BITS * s)
        met[kinds.rank[here, side]] += word


@small_part
def holding(i, bundle, rank, kinds, batch):
    """How many hands of a bundle hold each card of a rank: a word."""
    kind = batch.kind[i, bundle]
    if kinds.rank[kind, 0] == rank:
        return batch.held[i, bundle, 0]
    if kinds.rank[kind, 1] == rank:
        return batch.held[i, bundle, 1]
    return ZERO


@part
def pair_up(i, bundle, other, side, against, kinds, batch, thirds):
    """Third hands of a card of one bundle and a card of the other: for each, pairs of hands that hold these cards and
    share none. The third was taken off twice."""
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    rank, partner = kinds.rank[here, side], kinds.rank[here, ONE - side]
    second, last = kinds.rank[there, against], kinds.rank[there, ONE - against]
    place, mine, theirs = batch.place[i, bundle], batch.held[i, bundle, side], batch.held[i, other, against]
    for s in range(FOUR):
        ours = one_digit(mine, s)
        if not ours:
            continue
        goes = batch.pairs[i, bundle, side, s]
        back = opposite(goes)
        for t in range(FOUR):
            yours = one_digit(theirs, t)
            if not yours or (rank == second and s == t):
                continue
            found = ours * yours
            if partner == second:  # the first hand may be both cards
                found -= one_digit(goes, t) * yours
            if last == rank:  # the second may be
                found -= one_digit(batch.pairs[i, other, against, t], s) * ours
            if partner == last:
                found -= I32(four(back, batch.pairs[i, other, against, t]))
            add_third(FOUR * rank + s, FOUR * second + t, i, place, found, kinds, batch, thirds)


@small_part
def add_third(one, two, i, place, times, kinds, batch, thirds):
    """To the hand of two cards, by whether its place is below, above or the same: without a branch, which would be
    foreseen badly."""
    where = U64(batch.at[i, one, two])
    thirds[U64(where > place) + TWO * U64(where == place), kinds.of[one, two]] += times


@part
def tie_alike(i, bundle, kinds, batch, work, top, bottom):
    """Of a bundle with itself: hand by hand."""
    place, weight, kind = batch.place[i, bundle], batch.weight[i], batch.kind[i, bundle]
    a, b, pairs = kinds.rank[kind, 0], kinds.rank[kind, 1], batch.pairs[i, bundle, 0]
    alike, met, thirds = kinds.sides[kind] == ONE, work.met, work.thirds
    met[a] = met[b] = ZERO
    found, each = I32(0), I32(1)
    for s in range(FOUR):
        for t in range(s if alike else FOUR):
            if not digit(pairs[s], t):
                continue
            one, two = FOUR * a + s, FOUR * b + t
            for u in range(s + ONE, FOUR):  # hands with the same higher card share it
                for v in range(u if alike else FOUR):
                    if v == t or (alike and v == s) or not digit(pairs[u], v):
                        continue
                    three, last = FOUR * a + u, FOUR * b + v
                    found += each
                    met[a] += (ONE << (BITS * s)) + (ONE << (BITS * u))
                    met[b] += (ONE << (BITS * t)) + (ONE << (BITS * v))
                    add_third(one, three, i, place, each, kinds, batch, thirds)
                    add_third(one, last, i, place, each, kinds, batch, thirds)
                    add_third(two, three, i, place, each, kinds, batch, thirds)
                    add_third(two, last, i, place, each, kinds, batch, thirds)
    if found:
        for side in range(kinds.sides[kind]):
            take_off(i, kinds.rank[kind, side], place, batch, met, thirds)
        add_near(top, weight, found, batch.below[i, place], thirds[0])
        add_near(bottom, weight, found, batch.above[i, place], thirds[1])


@part
def take_off(i, rank, place, batch, met, thirds):
    """Third hands that hold a card of the two, of a rank."""
    word = opposite(met[rank])
    low, high = around(i, rank, place, batch)
    for k in range(low):
        thirds[0, batch.near_kind[i, rank, k]] -= I32(four(word, batch.near_held[i, rank, k]))
    for k in range(high, batch.near[i, rank]):
        thirds[1, batch.near_kind[i, rank, k]] -= I32(four(word, batch.near_held[i, rank, k]))


@kernel
def add_up(triples, strict, top, bottom):
    """Add what was counted to int64 tables: strict by the best, the middle and the worst hand, ties by the number of
    the pair that ties and the other hand."""
    for best in range(U64(CLASSES)):
        for middle in range(U64(CLASSES)):
            for worst in range(U64(CLASSES)):
                found = triples.middle[middle, best, worst] + triples.best[best, worst, middle]
                found += triples.worst[worst, best, middle]
                strict[best, middle, worst] += np.int64(np.int32(found))
    for one in range(U64(CLASSES)):
        for two in range(one, U64(CLASSES)):
            pair = two * (two + ONE) // TWO + one
            for other in range(U64(CLASSES)):
                top[pair, other] += np.int64(triples.top[one, two, other])
                bottom[pair, other] += np.int64(triples.bottom[one, two, other])
