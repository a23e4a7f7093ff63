"""Hands of five to seven cards, and of three, as numbers that compare as the hands do.

A card is rank * 4 + suit, deuce 0 to ace 12. A hand is four masks of ranks, one a suit, packed 16 bits apart into a
word; which ranks it holds once, twice, three or four times are a few bit operations on these. The value of a hand is

    category << 26 | ranks that make the category << 13 | kickers

where both fields are masks of ranks, as many as count: two hands of a category hold as many, so masks compare as the
hands do. There are no tables but those of 13 bits, which stay in the first cache.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.devices import by_device
from kibitz.core.jit import U64, kernel, maker, part

RANKS = 13
HIGH, PAIR, TWO_PAIRS, TRIPS, STRAIGHT, FLUSH, FULL_HOUSE, QUADS, STRAIGHT_FLUSH = (
    np.uint32(category << 26) for category in range(9)
)
# Of three cards [Shi & Littman 2001]: straights and flushes are rarer there.
PAIR_3, FLUSH_3, STRAIGHT_3, TRIPS_3, STRAIGHT_FLUSH_3 = (np.uint32(c << 26) for c in (1, 2, 3, 4, 5))
SHIFT = np.uint32(13)
MASK = U64(0x1FFF)
S0, S1, S2, S3 = U64(0), U64(16), U64(32), U64(48)
ONE, TWO, FOUR = U64(1), U64(2), U64(4)


def _runs(length: int) -> np.ndarray:
    """[8192]  the highest rank of a straight among some ranks, as a mask; 0 if there is none. Aces are low too."""
    table = np.zeros(1 << RANKS, np.uint32)
    for mask in range(1 << RANKS):
        from_ace = mask << 1 | mask >> 12
        for low in range(RANKS + 1 - length, -1, -1):
            if from_ace >> low & (1 << length) - 1 == (1 << length) - 1:
                table[mask] = 1 << (low + length - 2)
                break
    return table


def _top(most: int) -> np.ndarray:
    """[8192]  the highest `most` ranks of a mask."""
    table = np.arange(1 << RANKS, dtype=np.uint32)
    for mask in range(1 << RANKS):
        left = mask
        while left.bit_count() > most:
            left &= left - 1
        table[mask] = left
    return table


COUNT = np.array([mask.bit_count() for mask in range(1 << RANKS)], np.uint8)
RUN_5, RUN_3 = _runs(5), _runs(3)
TOP_5, TOP_3, TOP_2, TOP_1 = _top(5), _top(3), _top(2), _top(1)


# A GPU has no room for such tables where all its threads could reach them quickly: it counts.


def _bits(mask):
    """How many ranks a set has."""
    return COUNT[mask]


def _bits_counted(mask):
    count = 0
    while mask:
        mask &= mask - ONE
        count += 1
    return count


def _run_5(mask):
    """The highest rank of a straight, as a set; empty if there is none."""
    return RUN_5[mask]


def _run_5_counted(mask):
    low = mask << ONE | mask >> U64(12)  # aces are low too
    return np.uint32(_highest(low & low >> ONE & low >> TWO & low >> U64(3) & low >> FOUR, 1) << U64(3))


def _run_3(mask):
    return RUN_3[mask]


def _run_3_counted(mask):
    low = mask << ONE | mask >> U64(12)
    return np.uint32(_highest(low & low >> ONE & low >> TWO, 1) << ONE)


@part
def _highest(mask, most):
    """The highest ranks of a set, so many at most."""
    count = _bits_counted_part(mask)
    while count > most:
        mask &= mask - ONE
        count -= 1
    return mask


def _top_5(mask):
    return TOP_5[mask]


def _top_3(mask):
    return TOP_3[mask]


def _top_2(mask):
    return TOP_2[mask]


def _top_1(mask):
    return TOP_1[mask]


_bits_counted_part = part(_bits_counted)
bits = by_device(_bits, _bits_counted)
run_5, run_3 = by_device(_run_5, _run_5_counted), by_device(_run_3, _run_3_counted)
top_5 = by_device(_top_5, lambda mask: np.uint32(_highest(mask, 5)))
top_3 = by_device(_top_3, lambda mask: np.uint32(_highest(mask, 3)))
top_2 = by_device(_top_2, lambda mask: np.uint32(_highest(mask, 2)))
top_1 = by_device(_top_1, lambda mask: np.uint32(_highest(mask, 1)))


@part
def with_card(hand, card):
    """A hand and one card more."""
    card = U64(card)
    return hand | (ONE << ((card >> TWO) + ((card & U64(3)) << FOUR)))


@part
def value_of(hand):
    """The value of five to seven cards."""
    a = hand & MASK
    b = (hand >> S1) & MASK
    c = (hand >> S2) & MASK
    d = hand >> S3
    every = a | b | c | d
    # Five of a suit leave no room for four of a kind or a full house among seven cards.
    suited = U64(0)
    if bits(a) >= 5:
        suited = a
    elif bits(b) >= 5:
        suited = b
    elif bits(c) >= 5:
        suited = c
    elif bits(d) >= 5:
        suited = d
    if suited:
        run = run_5(suited)
        return STRAIGHT_FLUSH | (run << SHIFT) if run else FLUSH | (top_5(suited) << SHIFT)
    ab = a & b
    cd = c & d
    a_or_b = a | b
    c_or_d = c | d
    twice = ab | cd | (a_or_b & c_or_d)
    if not twice:
        run = run_5(every)
        return STRAIGHT | (run << SHIFT) if run else HIGH | (top_5(every) << SHIFT)
    thrice = (ab & c_or_d) | (cd & a_or_b)
    if not thrice:
        run = run_5(every)
        if run:
            return STRAIGHT | (run << SHIFT)
        if bits(twice) >= 2:
            pairs = top_2(twice)
            return TWO_PAIRS | (pairs << SHIFT) | top_1(every & ~U64(pairs))
        return PAIR | (np.uint32(twice) << SHIFT) | top_3(every & ~twice)
    four = ab & cd
    if four:
        return QUADS | (np.uint32(four) << SHIFT) | top_1(every & ~four)
    three = top_1(thrice)
    under = twice & ~U64(three)
    if under:
        return FULL_HOUSE | (three << SHIFT) | top_1(under)
    run = run_5(every)
    if run:
        return STRAIGHT | (run << SHIFT)
    return TRIPS | (three << SHIFT) | top_2(every & ~U64(three))


@part
def value_of_three(hand):
    """The value of three cards: straight flush, three of a kind, straight, flush, pair, high card."""
    a = hand & MASK
    b = (hand >> S1) & MASK
    c = (hand >> S2) & MASK
    d = hand >> S3
    every = a | b | c | d
    kinds = bits(every)
    if kinds == 1:
        return TRIPS_3 | (np.uint32(every) << SHIFT)
    if kinds == 2:
        pair = (a & b) | (c & d) | ((a | b) & (c | d))
        return PAIR_3 | (np.uint32(pair) << SHIFT) | np.uint32(every & ~pair)
    suited = every in (a, b, c, d)
    run = run_3(every)
    if run:
        return (STRAIGHT_FLUSH_3 if suited else STRAIGHT_3) | (run << SHIFT)
    return (FLUSH_3 if suited else HIGH) | (np.uint32(every) << SHIFT)


@kernel
def value(hand):
    """The value of one hand of five to seven cards, as a word of four masks (below 2^63)."""
    return value_of(U64(hand))


@kernel
def three_value(hand):
    return value_of_three(U64(hand))


@kernel
def values(cards, out):
    """Values of hands of five to seven cards. cards: uint8[n, k]; out: uint32[n]."""
    for i in range(cards.shape[0]):
        hand = U64(0)
        for k in range(cards.shape[1]):
            hand = with_card(hand, cards[i, k])
        out[i] = value_of(hand)


@kernel
def values_of_three(cards, out):
    for i in range(cards.shape[0]):
        out[i] = value_of_three(with_card(with_card(with_card(U64(0), cards[i, 0]), cards[i, 1]), cards[i, 2]))


@kernel
def faults(cards):
    """The first hand that holds a card twice, or -1. cards: uint8[n, k], 0 to 51."""
    for i in range(cards.shape[0]):
        seen = U64(0)
        for k in range(cards.shape[1]):
            bit = ONE << U64(cards[i, k])
            if seen & bit:
                return i
            seen |= bit
    return -1


@maker
def categories(first, last, deck, size, out):
    """How many hands of each category among all of `size` (5 to 7) cards whose lowest is first..last - 1 of a deck.

    deck: uint8[n]; out: int64[9].
    """
    count_hands(first, last, deck, size, out, np.zeros(8, np.int64), np.zeros(8, np.uint64))


@part
def count_hands(first, last, deck, size, out, at, hands):
    n = len(deck)
    for low in range(first, last):
        hands[1] = with_card(U64(0), deck[low])
        at[1] = low
        k = 1
        at[2] = low + 1
        while k >= 1:
            # k cards are chosen; at[k + 1] is the next place to try.
            if k == size - 1:
                base = hands[k]
                for j in range(at[k + 1], n):
                    out[value_of(with_card(base, deck[j])) >> np.uint32(26)] += 1
                k -= 1
                continue
            j = at[k + 1]
            if j >= n:
                k -= 1
                continue
            at[k + 1] = j + 1
            hands[k + 1] = with_card(hands[k], deck[j])
            k += 1
            at[k + 1] = j + 1
