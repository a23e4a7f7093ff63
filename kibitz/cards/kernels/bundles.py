"""The hands of a board in bundles: as strong as each other, and of one class. For tables of three hands (three.py).

A bundle's hands that hold each of the four cards of a rank are a word of four numbers, 16 bits each. A word times one
of the opposite order has the sum of the four products in its highest 16 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.strength import CLASSES, KINDS, LOWER, UPPER
from kibitz.core.jit import ONE, TWO, U64, part, small_part

WIDE = 192  # classes, filled up to four panels of three vectors
BATCH = 64  # boards
# Of a flush only the cards of its suit count: both or none of a suited hand, one or none of a pair, or the higher, the
# lower or none. So a class has three bundles at most, 78 * 2 + 78 * 3 + 13 * 2 in all, and a rank 12 * 2 + 12 * 3 + 2.
BUNDLES = 416
OF_RANK = 62
OF_CLASS = 3
ZERO, FOUR = U64(0), U64(4)
BITS, HIGHEST, DIGIT = U64(16), U64(48), U64(0xFFFF)  # of a word of four numbers
I16, I32 = np.int16, np.int32


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


class BundleWorkspace(NamedTuple):
    """To work in."""

    count: np.ndarray  # uint64[KINDS, CLASSES]  hands of a place and class, then the number of their bundle
    worse: np.ndarray  # uint64[52]  cards that go with a card to a place below, as bits
    met: np.ndarray  # uint64[13]  pairs that tie, by the cards they hold: words
    thirds: np.ndarray  # int32[3, WIDE]  a third hand, below, above and of the same place, which is not asked for
    vectors: np.ndarray  # int32[BATCH * OF_CLASS * WIDE]  two int16 each, of the bundles of a class
    listed: np.ndarray  # uint64[CLASSES]  how many of them have a better hand, by its class
    factor: np.ndarray  # int32[CLASSES, BATCH * OF_CLASS]  two int16 each
    which: np.ndarray  # uint16[CLASSES, BATCH * OF_CLASS]


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
def bundle_up(i, hands, space, kinds, batch, work):
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
    for k in range(hands):
        hand = space.hands[k]
        a, b, place = LOWER[hand], UPPER[hand], space.place[space.kind[hand]]
        alive |= ONE << a | ONE << b
        batch.at[i, a, b] = batch.at[i, b, a] = place
        count[place, kinds.of[a, b]] += ONE
    number_bundles(i, batch, count)
    for k in range(hands):
        a, b = LOWER[space.hands[k]], UPPER[space.hands[k]]
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
def note_cards(kind, kinds, worse, alive, out):
    """For each card of a class: the cards that go with it to a place below; or, of those that are alive, the others."""
    for side in range(TWO):
        for s in range(FOUR):
            card = FOUR * kinds.rank[kind, side] + s
            out[side, s] = alive & ~worse[card] & ~(ONE << card) if alive else worse[card]


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
