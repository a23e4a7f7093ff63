"""The hands on boards as a GPU reads them (`kibitz/sweep/gpu.py`)."""

from __future__ import annotations

from kibitz.kernels.jit import kernel


@kernel
def pack_hands(order, tie, up, rows, cards, card_bits, up_at, packed, ends, where):
    """packed uint32[B, H, words]: hands in order, with their cards and the hand on the board before, and rows behind
    them. ends uint16[B, H]: behind the last hand of each strength. where uint16[B, hands before]: the place of a hand.

    order, tie [B, H]: hands by strength and the first that is as strong. up [B, H], rows [sources, B, H] by hand.
    cards [H, 2].
    """
    for b in range(order.shape[0]):
        found = 0
        for place in range(order.shape[1]):
            hand = order[b, place]
            before = up[b, hand]
            packed[b, place, 0] = cards[hand, 0] | (cards[hand, 1] << card_bits) | (before << up_at)
            for source in range(rows.shape[0]):
                packed[b, place, 1 + source] = rows[source, b, hand]
            where[b, before] = place
            if place > 0 and tie[b, place] != tie[b, place - 1]:
                ends[b, found] = place
                found += 1
        for k in range(found, order.shape[1]):
            ends[b, k] = order.shape[1]
