"""How often two seats hold a pair of buckets on the last boards, and how often the one wins.

All hands of a board are taken at once; they are numbered as in `kibitz.cards.boards`. In order of strength, the hands
that a hand beats are those before it, so a row of the matrix gets the counts of buckets so far; pairs of hands that
share a card cannot meet, and are taken off again. Everything is counted in whole numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.cards.kernels.boards import last_at_most, list_free, place_of
from kibitz.cards.kernels.ranking import value_of, value_of_three, with_card
from kibitz.core.jit import U64, kernel, part

HAND_BITS = 11  # hands on a board: 1,326 at most
DIGIT, DIGITS = 11, 3  # bits of a digit by which hands are sorted, and digits of a strength
MOST_SMALL = 180  # hands of a bucket on a board for which 32 bits hold wins and pairs that share a card


class ParentBuckets(NamedTuple):
    """The buckets of the round before."""

    above: np.ndarray  # int64[S]  the board above each board, among `boards`
    boards: np.ndarray  # uint8[T, k]
    buckets: np.ndarray  # [T, hands there]


class Scratch(NamedTuple):
    """Room for the work on one board: H hands of L live cards, d different buckets."""

    live: np.ndarray  # int64[53]  cards that are not on the board; their places in the deck
    key: np.ndarray  # int64[H]  strength and hand
    other: np.ndarray  # int64[H]  the same, while they are sorted
    digits: np.ndarray  # int64[DIGITS, 1 << DIGIT]  hands by digit of their strength
    count: np.ndarray  # int64[2, 53]  hands so far and of one strength that hold a live card; the last: all
    held: np.ndarray  # uint32[L, L]  buckets of the hands that hold a live card, by strength
    level: np.ndarray  # int32[L, L]  and the first hand in order that is as strong
    small: np.ndarray  # uint32[H]  the bucket of a hand among those of the board
    seen: np.ndarray  # int32[buckets]  which board had the bucket last
    number: np.ndarray  # uint32[buckets]  its number there
    bucket: np.ndarray  # int64[H]  and back
    so_far: np.ndarray  # int[d]  weaker hands by bucket
    pair: np.ndarray  # int[d, d]  wins of the one over the other above, pairs that share a card below (`halves`)


def scratch_of(hands: int, cards: int, buckets: int, wide: int, dtype: Any = np.int64) -> Scratch:
    """Room for boards with at most `wide` different buckets. dtype: int32 where no bucket has more than MOST_SMALL
    hands of a board."""
    return Scratch(
        np.zeros(53, np.int64), np.zeros(hands, np.int64), np.zeros(hands, np.int64),
        np.zeros((DIGITS, 1 << DIGIT), np.int64), np.zeros((2, 53), np.int64),
        np.zeros((cards, cards), np.uint32), np.zeros((cards, cards), np.int32), np.zeros(hands, np.uint32),
        np.full(buckets, -1, np.int32), np.zeros(buckets, np.uint32), np.zeros(hands, np.int64),
        np.zeros(wide, dtype), np.zeros((wide, wide), dtype),
    )  # fmt: skip


@part
def strength_of(word, cards, high, low):
    """What a hand with its board is worth: larger is better. high, low: its ranks, for hands of one or two cards."""
    if cards >= 5:
        return np.int64(value_of(word))
    if cards == 3:
        return np.int64(value_of_three(word))
    if cards == 1:
        return np.int64(high)
    return np.int64(13 * 13 + high if high == low else 13 * max(high, low) + min(high, low))


@part
def sort_keys(key, count):
    """Shell sort."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap:
        for i in range(gap, count):
            moved = key[i]
            j = i
            while j >= gap and key[j - gap] > moved:
                key[j] = key[j - gap]
                j -= gap
            key[j] = moved
        gap //= 3


@part
def sort_by_strength(key, other, digits, count):
    """Radix sort of hands that lie in their order; in this order those of a strength remain."""
    least = U64((1 << DIGIT) - 1)
    for k in range(DIGITS):
        for j in range(1 << DIGIT):
            digits[k, j] = 0
    for i in range(count):
        value = U64(key[i]) >> U64(HAND_BITS)
        for k in range(DIGITS):
            digits[k, (value >> U64(DIGIT * k)) & least] += 1
    for k in range(DIGITS):
        shift = U64(HAND_BITS + DIGIT * k)
        if digits[k, (U64(key[0]) >> shift) & least] == count:
            continue  # all have this digit
        at = 0
        for j in range(1 << DIGIT):
            here = digits[k, j]
            digits[k, j] = at
            at += here
        for i in range(count):
            digit = (U64(key[i]) >> shift) & least
            other[digits[k, digit]] = key[i]
            digits[k, digit] += 1
        for i in range(count):
            key[i] = other[i]


@kernel
def order_hands(boards, deck, pairs, scratch, order, tie, ahead):
    """For each board: its hands by strength, the weakest first; tie: the first in order that is as strong.

    pairs [H, hole] live cards of a hand by place. ahead: by hand, twice the hands that it beats plus those it ties.
    """
    hole, cards = pairs.shape[1], boards.shape[1]
    live, key, count = scratch.live, scratch.key, scratch.count
    for b in range(boards.shape[0]):
        left = list_free(boards[b], deck, live)
        word = U64(0)
        for k in range(cards):
            word = with_card(word, boards[b, k])
        hands = pairs.shape[0]
        for h in range(hands):
            mine = word
            for i in range(hole):
                mine = with_card(mine, live[pairs[h, i]])
            high = live[pairs[h, 0]] >> 2
            low = live[pairs[h, hole - 1]] >> 2 if hole == 2 else boards[b, 0] >> 2 if cards else high
            key[h] = strength_of(mine, hole + cards, high, low) << HAND_BITS | h
        sort_by_strength(key, scratch.other, scratch.digits, hands)
        for i in range(left + 1):
            count[0, i] = 0
            count[1, i] = 0
        first = 0
        while first < hands:
            last = first
            while last < hands and key[last] >> HAND_BITS == key[first] >> HAND_BITS:
                h = key[last] & ((1 << HAND_BITS) - 1)
                order[b, last] = h
                tie[b, last] = first
                for i in range(hole):
                    count[1, pairs[h, i]] += 1
                last += 1
            for at in range(first, last):
                h = order[b, at]
                beaten, level = first, last - first
                if hole == 1:
                    level -= 1
                else:
                    beaten -= count[0, pairs[h, 0]] + count[0, pairs[h, 1]]
                    level -= count[1, pairs[h, 0]] + count[1, pairs[h, 1]] - 1
                ahead[b, h] = 2 * beaten + level
            for at in range(first, last):
                h = order[b, at]
                for i in range(hole):
                    count[0, pairs[h, i]] += 1
                    count[1, pairs[h, i]] = 0
            first = last


@kernel
def cut_hands(boards, parents, deck_place, pairs, first, least, live, ahead, bucket):
    """Buckets of hands that are cut by strength: by the bucket on the board above, and by how far ahead they are.

    boards [S, k]; parents: ParentBuckets; first, least: as of RoundBuckets; live [53]: to work in.
    """
    above, upper, before_buckets = parents
    hole, cards, before = pairs.shape[1], boards.shape[1], upper.shape[1]
    for b in range(boards.shape[0]):
        left = 0
        for place in range(deck_place.shape[0]):  # places in the deck of the cards that are not on the board
            free = True
            for k in range(cards):
                if deck_place[place] == boards[b, k]:
                    free = False
            if free:
                live[left] = place
                for k in range(before):
                    live[left] -= deck_place[place] > upper[above[b], k]
                left += 1
        wide = deck_place.shape[0] - before
        for h in range(pairs.shape[0]):
            at = live[pairs[h, 0]] if hole == 1 else place_of(live[pairs[h, 0]], live[pairs[h, 1]], wide)
            parent = np.int64(before_buckets[above[b], at]) if first.shape[0] > 2 else 0
            bucket[b, h] = last_at_most(least, ahead[b, h], first[parent], first[parent + 1])


@part
def take_off(card, count, buckets, level, pair, win):
    """Take the pairs of hands that share a card off the wins, and count them."""
    for x in range(count):
        one = U64(buckets[card, x])
        mine = level[card, x]
        for y in range(x):
            lost = win if level[card, y] < mine else pair.dtype.type(0)
            pair[one, U64(buckets[card, y])] += pair.dtype.type(1) - lost


@part
def add_board(order, tie, pairs, bucket, weight, board, scratch, wins, meets):
    """Add one board to the lower halves of `wins`, less losses, and of `meets`. scratch.pair is 0 before and after."""
    hands, hole, left = pairs.shape[0], pairs.shape[1], scratch.held.shape[0]
    small, so_far, pair = scratch.small, scratch.so_far, scratch.pair
    shift = pair.dtype.type(4 * pair.itemsize)
    win = pair.dtype.type(1) << shift
    below = win - pair.dtype.type(1)
    d = 0
    for h in range(hands):
        of = bucket[h]
        if scratch.seen[of] != board:
            scratch.seen[of] = board
            scratch.bucket[d] = of
            d += 1
    sort_keys(scratch.bucket, d)  # in order, so that what is added to lies in order
    for i in range(d):
        scratch.number[scratch.bucket[i]] = i
    for h in range(hands):
        small[h] = scratch.number[bucket[h]]
    wide = U64(d)
    for i in range(wide):
        so_far[i] = 0
    for i in range(left):
        scratch.count[0, i] = 0
    at = 0
    while at < hands:
        first = at
        while at < hands and tie[at] == first:
            row = U64(small[order[at]])
            for j in range(wide):
                pair[row, j] += so_far[j]
            at += 1
        for k in range(first, at):
            h = order[k]
            of = small[h]
            so_far[of] += win
            if hole == 2:
                for i in range(2):
                    card = pairs[h, i]
                    place = scratch.count[0, card]
                    scratch.held[card, place] = of
                    scratch.level[card, place] = first
                    scratch.count[0, card] = place + 1
    if hole == 2:  # two different hands share one card at most, so each pair is in one list
        for card in range(U64(left)):
            take_off(card, U64(scratch.count[0, card]), scratch.held, scratch.level, pair, win)
    for i in range(wide):
        so_far[i] >>= shift
    kind = wins.dtype.type
    weight = kind(weight)
    for i in range(wide):
        row = U64(scratch.bucket[i])
        mine = kind(so_far[i])
        for j in range(i + U64(1)):  # a bucket before it, or itself
            column = U64(scratch.bucket[j])
            one, other = pair[i, j], pair[j, i]
            pair[i, j] = 0
            pair[j, i] = 0
            mine_too, his_too = one & below, other & below
            wins[row, column] += weight * kind((one - mine_too - other + his_too) >> shift)
            meets[row, column] += weight * (mine * kind(so_far[j]) - kind(mine_too) - kind(his_too))
        meets[row, row] -= weight * mine  # nobody meets the hand that he holds
        wins[row, row] = 0


@kernel
def add_boards(order, tie, pairs, bucket, weight, scratch, wins, meets):
    """Add boards to the matrices [buckets, buckets]; see `add_board`."""
    for b in range(order.shape[0]):
        add_board(order[b], tie[b], pairs, bucket[b], weight[b], b, scratch, wins, meets)


@kernel
def gather(bucket, number, used):
    """Buckets by numbers from 0 on, in place; used[number] is the bucket. number [all buckets] is 0 before and after.

    Returns how many there are.
    """
    count = 0
    for b in range(bucket.shape[0]):
        for h in range(bucket.shape[1]):
            number[bucket[b, h]] = 1
    for of in range(number.shape[0]):
        if number[of]:
            used[count] = of
            count += 1
            number[of] = count
    for b in range(bucket.shape[0]):
        for h in range(bucket.shape[1]):
            bucket[b, h] = number[bucket[b, h]] - 1
    for k in range(count):
        number[used[k]] = 0
    return count


@kernel
def extent(bucket, seen, count):
    """(most different buckets on one board, most hands in one of them). seen, count [buckets]: room, -1 and 0."""
    most, largest = 0, 0
    for b in range(bucket.shape[0]):
        d = 0
        for h in range(bucket.shape[1]):
            of = bucket[b, h]
            if seen[of] != b:
                seen[of] = b
                count[of] = 0
                d += 1
            count[of] += 1
            largest = max(largest, count[of])
        most = max(most, d)
    return most, largest


@kernel
def spread(small, used, low, high, out):
    """Add rows low to high of the lower half of a matrix of some buckets to that of more; used: their numbers there."""
    for i in range(U64(low), U64(high)):
        row = U64(used[i])
        for j in range(i + U64(1)):
            out[row, U64(used[j])] += small[i, j]
