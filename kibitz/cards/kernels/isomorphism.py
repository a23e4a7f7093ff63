"""Numbers for hands up to suit isomorphism, without gaps, and back [Waugh 2013, A Fast and Optimal Hand Isomorphism
Algorithm].

Cards come in rounds: private ones, a flop, and so on; within a round their order does not count. What a suit holds is a
set of ranks for each round. How many in each round is its *pattern*; which ones is a number, the sets of later rounds
counted among the ranks that earlier ones have left. Suits sorted by pattern and number are the hand up to their names:
the patterns are the *configuration*, and suits of the same pattern are a multiset of numbers, which has a rank again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.core.devices import by_device
from kibitz.core.jit import ONE, U64, kernel, part

RANKS = U64(13)
SUITS = U64(4)
ZERO, TWO, THREE = U64(0), U64(2), U64(3)
COUNT = np.array([mask.bit_count() for mask in range(1 << 13)], np.uint64)
CHOOSE = np.array([[math.comb(n, k) for k in range(14)] for n in range(14)], np.uint64)


def _tabled(mask):
    """How many ranks a set has."""
    return COUNT[mask]


def _counted(mask):
    count = U64(0)
    while mask:
        mask &= mask - ONE
        count += ONE
    return count


bits = by_device(_tabled, _counted)


class SuitPatterns(NamedTuple):
    """All that the numbers of one list of rounds need. R rounds, P patterns, C configurations."""

    rounds: np.ndarray  # uint64[R]  cards of each round
    step: np.ndarray  # uint64[R]  what a card of a round adds to the code of a pattern
    count: np.ndarray  # uint64[P, R]  cards of each round in a pattern
    size: np.ndarray  # uint64[P]  numbers of a pattern
    key: np.ndarray  # uint64[C]  codes of the four suits, the largest first, in base P; ascending
    first: np.ndarray  # uint64[C + 1]  number of the first hand of a configuration


@part
def choose(n, k):
    """Binomial coefficients for k from 1 to 4."""
    if k > n:
        return ZERO
    if k == ONE:
        return n
    if k == TWO:
        return n * (n - ONE) // TWO
    if k == THREE:
        return n * (n - ONE) // TWO * (n - TWO) // THREE
    # n (n - 1) (n - 2) (n - 3) / 24 without leaving 64 bits early
    return n * (n - ONE) // TWO * ((n - TWO) * (n - THREE) // TWO) // U64(6)


@part
def find(values, x):
    """The last place whose value is at most x, in an ascending array."""
    low = ZERO
    high = U64(len(values))
    while low + ONE < high:
        middle = (low + high) // TWO
        if values[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@part
def number_of(cards, plan, code, number):
    """The number of a hand, its cards round by round; code, number: room for four suits."""
    patterns = U64(len(plan.size))
    for suit in range(SUITS):
        code[suit] = ZERO
        number[suit] = ZERO
    at = ZERO
    used_0 = used_1 = used_2 = used_3 = ZERO
    scale_0 = scale_1 = scale_2 = scale_3 = ONE
    for r in range(U64(len(plan.rounds))):
        now_0 = now_1 = now_2 = now_3 = ZERO
        for _ in range(plan.rounds[r]):
            card = U64(cards[at])
            at += ONE
            suit = card & THREE
            bit = ONE << (card >> TWO)
            code[suit] += plan.step[r]
            if suit == ZERO:
                now_0 |= bit
            elif suit == ONE:
                now_1 |= bit
            elif suit == TWO:
                now_2 |= bit
            else:
                now_3 |= bit
        scale_0 = add_set(number, ZERO, now_0, used_0, scale_0)
        scale_1 = add_set(number, ONE, now_1, used_1, scale_1)
        scale_2 = add_set(number, TWO, now_2, used_2, scale_2)
        scale_3 = add_set(number, THREE, now_3, used_3, scale_3)
        used_0 |= now_0
        used_1 |= now_1
        used_2 |= now_2
        used_3 |= now_3
    for i in range(ONE, SUITS):  # sort four suits, the largest first
        j = i
        while j > ZERO and (code[j - ONE] < code[j] or (code[j - ONE] == code[j] and number[j - ONE] < number[j])):
            code[j - ONE], code[j] = code[j], code[j - ONE]
            number[j - ONE], number[j] = number[j], number[j - ONE]
            j -= ONE
    key = ((code[0] * patterns + code[1]) * patterns + code[2]) * patterns + code[3]
    result = plan.first[find(plan.key, key)]
    scale = ONE
    suit = ZERO
    while suit < SUITS:
        same = ONE
        while suit + same < SUITS and code[suit + same] == code[suit]:
            same += ONE
        rank = ZERO
        for j in range(same):
            rank += choose(number[suit + j] + same - ONE - j, same - j)
        result += scale * rank
        scale *= choose(plan.size[code[suit]] + same - ONE, same)
        suit += same
    return result


@part
def add_set(number, suit, now, used, scale):
    """Add the number of a set of ranks, counted among those not used before; returns the scale for the next set."""
    k = ZERO
    rank = ZERO
    left = now
    while left:
        below = (left & (ZERO - left)) - ONE  # ranks below the lowest that is left
        k += ONE
        rank += CHOOSE[COUNT[below] - COUNT[used & below], k]
        left &= left - ONE
    number[suit] += scale * rank
    return scale * CHOOSE[RANKS - COUNT[used], k]


@part
def cards_of(index, plan, scratch, out):
    """A hand of a number, its suits named in the order of their codes; the inverse of `number_of`."""
    code, number, used = scratch[0], scratch[1], scratch[2]
    patterns = U64(len(plan.size))
    where = find(plan.first, index)
    rest = index - plan.first[where]
    key = plan.key[where]
    for k in range(SUITS):
        code[THREE - k] = key % patterns
        key //= patterns
    suit = ZERO
    while suit < SUITS:
        same = ONE
        while suit + same < SUITS and code[suit + same] == code[suit]:
            same += ONE
        size = choose(plan.size[code[suit]] + same - ONE, same)
        rank = rest % size
        rest //= size
        for j in range(same):
            # The largest a with C(a + same - 1 - j, same - j) <= rank.
            low = ZERO
            high = plan.size[code[suit]]
            while low + ONE < high:
                middle = (low + high) // TWO
                if choose(middle + same - ONE - j, same - j) <= rank:
                    low = middle
                else:
                    high = middle
            number[suit + j] = low
            rank -= choose(low + same - ONE - j, same - j)
        suit += same
    at = ZERO
    for s in range(SUITS):
        used[s] = ZERO
    for r in range(U64(len(plan.rounds))):
        for s in range(SUITS):
            count = plan.count[code[s], r]
            left = RANKS - COUNT[used[s]]
            size = CHOOSE[left, count]
            left_over = number[s] % size
            number[s] //= size
            now = ZERO
            for k in range(count):
                want = count - k
                place = want - ONE
                while place + ONE < left and CHOOSE[place + ONE, want] <= left_over:
                    place += ONE
                left_over -= CHOOSE[place, want]
                seen = ZERO
                for rank in range(RANKS):
                    if (used[s] >> rank) & ONE:
                        continue
                    if seen == place:
                        now |= ONE << rank
                        break
                    seen += ONE
            for rank in range(RANKS):
                if (now >> rank) & ONE:
                    out[at] = rank * SUITS + s
                    at += ONE
            used[s] |= now


@kernel
def numbers(cards, plan, scratch, out):
    """cards: uint8[n, k]; scratch: uint64[2, 4]; out: uint64[n]."""
    for i in range(cards.shape[0]):
        out[i] = number_of(cards[i], plan, scratch[0], scratch[1])


@kernel
def hands(indices, plan, scratch, out):
    """indices: uint64[n]; scratch: uint64[3, 4]; out: uint8[n, k]."""
    for i in range(len(indices)):
        cards_of(indices[i], plan, scratch, out[i])
