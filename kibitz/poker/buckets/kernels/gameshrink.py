"""Signal trees of card games laid out, distributions numbered exactly, and the pieces of lossy shrinking.

Cards are places in a deck here, 0 to n - 1. Hands come in groups (private cards, then those of each round); within a
group the order does not count, and a group is numbered by the sum of C(card, place + 1) over its cards in ascending
order.
"""

from __future__ import annotations

import numpy as np

from kibitz.cards.kernels.boards import advance
from kibitz.core.jit import ONE, U64, kernel, maker, part

FNV, PRIME = U64(0xCBF29CE484222325), U64(0x100000001B3)


@part
def unseen(hand, cards, left):
    """Writes the cards of a deck of `cards` that are not in a hand, ascending; says how many."""
    count = 0
    for card in range(cards):
        seen = False
        for mine in hand:
            if mine == card:
                seen = True
        if not seen:
            left[count] = card
            count += 1
    return count


@maker
def extend(hands, cards, size, out):
    """All ways to add `size` unseen cards to each hand. hands: uint8[n, w]; out: uint8[n * ways, w + size]."""
    width = hands.shape[1]
    left = np.empty(cards, np.uint8)
    at = np.empty(size, np.int64)
    row = 0
    for i in range(hands.shape[0]):
        free = unseen(hands[i], cards, left)
        for k in range(size):
            at[k] = k
        more = True
        while more:
            for k in range(width):
                out[row, k] = hands[i, k]
            for k in range(size):
                out[row, width + k] = left[at[k]]
            row += 1
            more = advance(at, size, free)


@part
def group_number(hand, first, size, choose, scratch):
    """The number of one group of cards, in any order."""
    for k in range(size):
        card = hand[first + k]
        j = k
        while j > 0 and scratch[j - 1] > card:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = card
    number = np.int64(0)
    for k in range(size):
        number += choose[scratch[k], k + 1]
    return number


@maker
def places(hands, groups, choose, out):
    """Numbers of hands, with gaps: groups are digits. hands: uint8[n, w]; groups: int64[G]; choose: int64[n + 1, k + 1]

    choose[-1, k] is how many groups of k cards there are.
    """
    scratch = np.empty(hands.shape[1] + 1, np.int64)
    for i in range(hands.shape[0]):
        number = np.int64(0)
        first = 0
        for size in groups:
            number = number * choose[-1, size] + group_number(hands[i], first, size, choose, scratch)
            first += size
        out[i] = number


@maker
def opponents(hands, hole, cards, value, place, node, choose, other, outcome):
    """The hands that an opponent can hold against each hand, and who wins.

    hands: uint8[n, w] with `hole` private cards first; value: int64[n], larger is better; place: int64[n] of `places`;
    node: int32[places] back to rows of hands; other: int32[n * ways] and outcome: int8[n * ways] (0 lost, 1 tied,
    2 won) are written, those of a hand in a row.
    """
    boards = len(node) // choose[-1, hole]  # the private cards are the highest digit
    left = np.empty(cards, np.uint8)
    at = np.empty(hole, np.int64)
    private = np.empty(hole, np.int64)
    scratch = np.empty(hole + 1, np.int64)
    row = 0
    for i in range(hands.shape[0]):
        board = place[i] % boards
        free = unseen(hands[i], cards, left)
        for k in range(hole):
            at[k] = k
        more = True
        while more:
            for k in range(hole):
                private[k] = left[at[k]]
            against = node[group_number(private, 0, hole, choose, scratch) * boards + board]
            other[row] = against
            outcome[row] = 2 if value[i] > value[against] else 1 if value[i] == value[against] else 0
            row += 1
            more = advance(at, hole, free)


@part
def common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@maker
def number_distributions(first, code, weight, share, length, number):
    """Equal numbers for rows that are the same distribution over codes, in order of first appearance; how many.

    first: int64[n + 1], row i is first[i] to first[i + 1], none empty; code: int64[m], is sorted and made unique in
    place; weight: int64[m] or empty for ones; share: int64[m], length: int64[n], number: int64[n] are written: the
    total weight of each code that is left, how many codes are left, and the number. Rows are compared code by code, so
    that numbers are exact; the hash only says where to look.
    """
    n = len(first) - 1
    weighted = len(weight) > 0
    divisor = np.empty(n, np.int64)
    slots = U64(16)
    while slots < U64(2 * n):
        slots *= U64(2)
    table = np.full(slots, -1, np.int64)
    numbers = 0
    for i in range(n):
        low, high = first[i], first[i + 1]
        if weighted:
            order = np.argsort(code[low:high])
            codes, weights = code[low:high][order], weight[low:high][order]
            for k in range(high - low):
                code[low + k] = codes[k]
                share[low + k] = weights[k]
        else:
            code[low:high].sort()
            for k in range(low, high):
                share[k] = 1
        last = low
        for k in range(low + 1, high):
            if code[k] == code[last]:
                share[last] += share[k]
            else:
                last += 1
                code[last] = code[k]
                share[last] = share[k]
        length[i] = last - low + 1
        whole = np.int64(0)
        for k in range(low, last + 1):
            whole = common_divisor(share[k], whole)
        divisor[i] = whole
        key = FNV
        for k in range(low, last + 1):
            key = (key ^ U64(code[k])) * PRIME
            key = (key ^ U64(share[k] // whole)) * PRIME
            key ^= key >> U64(29)
        slot = key & (slots - ONE)
        while True:
            there = table[slot]
            if there < 0:
                table[slot] = i
                number[i] = numbers
                numbers += 1
                break
            same = length[there] == length[i]
            k = 0
            while same and k < length[i]:
                a, b = low + k, first[there] + k
                same = code[a] == code[b] and share[a] // whole == share[b] // divisor[there]
                k += 1
            if same:
                number[i] = number[there]
                break
            slot = (slot + ONE) & (slots - ONE)
    return numbers


@kernel
def differences(rows, first, code, share, length, most, out):
    """Half the total difference of each two rows that `number_distributions` has sorted, `most` at most.

    That is how many of the one have no partner of the same code in the other. rows: int64[K]; out: int32[K, K].
    """
    for i in range(len(rows)):
        out[i, i] = 0
        for j in range(i):
            a, b = first[rows[i]], first[rows[j]]
            end_a, end_b = a + length[rows[i]], b + length[rows[j]]
            total = np.int64(0)
            while (a < end_a or b < end_b) and total < 2 * most:
                if b == end_b or (a < end_a and code[a] < code[b]):
                    total += share[a]
                    a += 1
                elif a == end_a or code[b] < code[a]:
                    total += share[b]
                    b += 1
                else:
                    total += abs(share[a] - share[b])
                    a += 1
                    b += 1
            out[i, j] = out[j, i] = min((total + 1) // 2, most)


@part
def leader(link, item):
    """The first of the items united with one (union-find, halving the paths)."""
    while link[item] != item:
        link[item] = link[link[item]]
        item = link[item]
    return item


@kernel
def unite(start, kind, penalty, threshold, link):
    """Unites items of a family whose kinds are at most `threshold` apart: link[item] becomes the first of its set.

    start: int64[F + 1], first item of a family; kind: int64[I]; penalty: int32[K, K]; link: int64[I], is written.
    """
    for item in range(len(link)):
        link[item] = item
    for family in range(len(start) - 1):
        for i in range(start[family], start[family + 1]):
            for j in range(start[family], i):
                if penalty[kind[i], kind[j]] <= threshold:
                    a, b = leader(link, i), leader(link, j)
                    link[max(a, b)] = min(a, b)
    for item in range(len(link)):
        link[item] = leader(link, item)
