"""The hands on boards as a GPU reads them (`kibitz/poker/whole/gpu.py`): *steps* of four hands, and *strips* of steps.

A hand's weight is added to the sums of both of its cards. The four hands of a step share one card, the *column*; the
others are the *rows*, and the steps of a strip have the same ones. So a kernel keeps the sums of rows in registers
for a strip, and reads and writes one sum in memory for each step, not eight. Hands of one strength, which may come in
any order, are mostly all pairs of a few cards with a few others, and fill strips well.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import U64, kernel, part

STEP = 4  # hands
FRESH = 1  # with the first hand of a strip, in a bit of the place of its row's sums


@part
def bits_of(mask):
    mask -= (mask >> U64(1)) & U64(0x5555555555555555)
    mask = (mask & U64(0x3333333333333333)) + ((mask >> U64(2)) & U64(0x3333333333333333))
    mask = (mask + (mask >> U64(4))) & U64(0x0F0F0F0F0F0F0F0F)
    return np.int64((mask * U64(0x0101010101010101)) >> U64(56))


@part
def most_shared(near, asked, size, mask, barred):
    """The card that is with most of the cards of a mask; -1: with none. asked[:size]: cards that are asked, but for
    those of the mask `barred`."""
    best, most = -1, 0
    for i in range(size):
        card = asked[i]
        if not (barred >> U64(card)) & U64(1):
            count = bits_of(near[card] & mask)
            if count > most:
                best, most = card, count
    return best


@part
def add_rows(near, asked, size, first, mask, barred, rows):
    """Rows: a card and up to three more that are with most of the cards of a mask; (how many, as a mask)."""
    rows[0], count = first, 1
    chosen = U64(1) << U64(first)
    while count < STEP:
        card = most_shared(near, asked, size, mask, barred | chosen)
        if card < 0:
            break
        rows[count] = card
        chosen |= U64(1) << U64(card)
        count += 1
    return count, chosen


@part
def covered(near, rows, count, columns):
    """Hands of some rows and columns."""
    hands = 0
    for u in range(count):
        hands += bits_of(near[rows[u]] & columns)
    return hands


@part
def next_strip(near, asked, size, rows, other):
    """(rows of a strip, as a mask too, columns): of two ways the one with more hands to a step.

    near [cards]: with which cards each is in a hand; asked[:size]: cards; rows, other [4]: rows are left in the first.
    """
    every = ~U64(0)
    card = most_shared(near, asked, size, every, U64(0))
    columns = near[card]  # the busiest card is a row
    count, of_rows = add_rows(near, asked, size, card, columns, columns, rows)
    hands, steps = covered(near, rows, count, columns), bits_of(columns)
    first = most_shared(near, asked, size, every, ~columns)  # or it is a column, and four cards with it are rows
    wide, of_other = add_rows(near, asked, size, first, near[first], ~columns, other)
    onto = U64(1) << U64(card)
    for i in range(size):
        c = asked[i]
        if not (of_other >> U64(c)) & U64(1) and near[c] & of_other == of_other:
            onto |= U64(1) << U64(c)
    if covered(near, other, wide, onto) * steps > hands * bits_of(onto):
        for u in range(wide):
            rows[u] = other[u]
        return wide, of_other, onto
    return count, of_rows, columns


@part
def hand_at(one, other, cards):
    """The number of a hand of two cards."""
    low, high = min(one, other), max(one, other)
    return low * (2 * cards - low - 1) // 2 + high - low - 1


@part
def put_hand(b, at, hand, up, rows, packed, packed_rows, where):
    """The hand at a place: that on the board before, and its rows."""
    packed[b, at, 1] = up[b, hand]
    for source in range(rows.shape[0]):
        packed_rows[source, b, at] = rows[source, b, hand]
    where[b, up[b, hand]] = at


@kernel
def pack_hands(order, tie, up, rows, cards, scale, none, strips, places, near, chosen, packed, packed_rows, ends,
               where, sizes):  # fmt: skip
    """Hands in steps, each strength's by themselves, filled up with hands that nobody holds.

    packed uint32[B, places + STEP, 2]: twice 16 bits to the sums of a hand's cards, row and column; the hand on the
    board before. packed_rows uint32[sources, B, places + STEP].
    ends uint16[B, places / STEP + 1]: behind the last hand of each strength. where uint16[B, hands before]: the place
    of a hand. sizes int32[B]: places that are taken.

    order, tie [B, H]: hands by strength and the first that is as strong. up [B, H], rows [sources, B, H] by hand.
    cards [H + 1, 2]: by place, and behind them what stands for none. scale: bytes from card to card. none: a hand on
    the board before that nobody holds. strips: whether hands are put into strips; else they are left in order.
    near uint64[53], chosen int64[3, 53]: to work in.

    Returns the places that a board takes at most. Where that is more than `places` the rest is not written.
    """
    hands, nobody = order.shape[1], cards[order.shape[1], 0]
    mine, other, asked = chosen[0], chosen[1], chosen[2]
    most = 0
    for b in range(order.shape[0]):
        at, strengths, first = 0, 0, 0
        while first < hands:
            last, size = first, 0
            while last < hands and tie[b, last] == tie[b, first]:
                last += 1
            left = last - first
            if not strips:
                while left or at % STEP:
                    if at < places:
                        hand = order[b, last - left] if left else hands
                        packed[b, at, 0] = cards[hand, 0] * scale | (cards[hand, 1] * scale << 16)
                        packed[b, at, 1] = none
                        if left:
                            put_hand(b, at, hand, up, rows, packed, packed_rows, where)
                    left -= left > 0
                    at += 1
            else:
                for k in range(first, last):
                    for side in range(2):
                        card, with_it = cards[order[b, k], side], cards[order[b, k], 1 - side]
                        if not near[card]:
                            asked[size] = card
                            size += 1
                        near[card] |= U64(1) << U64(with_it)
            while left:  # strip by strip
                count, of_rows, columns = next_strip(near, asked, size, mine, other)
                fresh = FRESH
                for i in range(size):
                    column = asked[i]
                    if not (columns >> U64(column)) & U64(1):
                        continue
                    for u in range(STEP):
                        row = mine[u] if u < count else nobody
                        there = u < count and (near[column] >> U64(row)) & U64(1) != U64(0)
                        left -= there
                        if at < places:
                            packed[b, at, 0] = (row * scale | fresh) | (column * scale << 16)
                            packed[b, at, 1] = none
                            if there:
                                put_hand(b, at, hand_at(row, column, nobody), up, rows, packed, packed_rows, where)
                        fresh = 0
                        at += 1
                    near[column] &= ~of_rows
                for u in range(count):
                    near[mine[u]] &= ~columns
            if strengths < ends.shape[1]:
                ends[b, strengths] = at
            strengths += 1
            first = last
        sizes[b] = at
        if strips and at <= places:  # a step of nobody, for those who look at two where only one is left
            for u in range(STEP):
                packed[b, at + u, 0] = nobody * scale | (nobody * scale << 16)
                packed[b, at + u, 1] = none
            packed[b, at, 0] |= FRESH
        most = max(most, at)
    return most


@kernel
def rank_hands(cards, hand_class, board_class, low, high, count, class_of, card_hands, ranked, number, counts, below):
    """Hands of two cards as the poker form's kernels for a GPU read them (`kibitz/poker/exact/gpu_tables.py`).

    cards uint8[H, 2], hand_class, low, high int64[H]: hands board by board, `count` on each, in the last round by
    strength. class_of uint16[H]: classes, counted from the board's first.
    card_hands uint16[boards, cards that are not there, as many less 1]: the hands with each card, in order. ranked
    uint32[classes, 4], of the first hand of a class: (low, high), the same among the hands with its first and with its
    second card, the cards and the hand. number, counts int64[52] and below int64[count, 2] are room to work in.
    """
    for b in range(board_class.shape[0] - 1):
        first = b * count
        for card in range(52):
            number[card] = -1
            counts[card] = 0
        for h in range(first, first + count):
            number[cards[h, 0]] = 0
            number[cards[h, 1]] = 0
        cards_left = 0
        for card in range(52):
            if number[card] == 0:
                number[card] = cards_left
                cards_left += 1
        for h in range(board_class[b], board_class[b + 1]):
            ranked[h, 3] = 1  # no hand yet
        h = 0
        while h < count:
            behind = max(h + 1, high[first + h])
            for i in range(h, behind):
                for side in range(2):
                    below[i, side] = counts[number[cards[first + i, side]]]
            for i in range(h, behind):
                for side in range(2):
                    card = number[cards[first + i, side]]
                    card_hands[b, card, counts[card]] = i
                    counts[card] += 1
            for i in range(h, behind):
                of = hand_class[first + i]
                class_of[first + i] = of - board_class[b]
                if ranked[of, 3]:
                    one, two = number[cards[first + i, 0]], number[cards[first + i, 1]]
                    ranked[of, 0] = low[first + i] | high[first + i] << 16
                    ranked[of, 1] = below[i, 0] | counts[one] << 8 | below[i, 1] << 16 | counts[two] << 24
                    ranked[of, 2] = one | two << 8 | i << 16
                    ranked[of, 3] = 0
            h = behind
