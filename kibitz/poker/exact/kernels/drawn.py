"""The hands on drawn boards as a GPU reads them (`kibitz/poker/sampled/gpu.py`)."""

from __future__ import annotations

from kibitz.core.jit import kernel


@kernel
def count_places(tie, step):
    """The places that a board takes at most."""
    most = 0
    for b in range(tie.shape[0]):
        at = 0
        for k in range(tie.shape[1]):
            at += 1
            if k + 1 == tie.shape[1] or tie[b, k] != tie[b, k + 1]:
                at = -(-at // step) * step
        most = max(most, at)
    return most


@kernel
def pack_drawn(order, tie, up, rows, cards, scale, step, none, packed, extra, ends, where, sizes):
    """Hands in order, those of a strength filled up to a multiple of `step` with hands that nobody holds.

    packed uint32[B, places, 4]: twice 16 bits to the sums of a hand's cards, the hand on the board before, two rows.
    extra uint32[B, places, sources - 2]: more rows.
    ends uint16[B, places / step]: behind the last hand of each strength. where uint16[B, hands before]: the place of a
    hand. sizes int32[B]: places that are taken.

    order, tie [B, H]: hands by strength and the first that is as strong. up [B, H], rows [sources, B, H] by hand.
    cards [H + 1, 2]: by place, and behind them what stands for none. scale: bytes from card to card. none: a hand on
    the board before that nobody holds.
    """
    hands = order.shape[1]
    for b in range(order.shape[0]):
        at, strengths = 0, 0
        for k in range(hands):
            hand = order[b, k]
            before = up[b, hand]
            packed[b, at, 0] = cards[hand, 0] * scale | (cards[hand, 1] * scale << 16)
            packed[b, at, 1] = before
            for source in range(rows.shape[0]):
                if source < 2:
                    packed[b, at, 2 + source] = rows[source, b, hand]
                else:
                    extra[b, at, source - 2] = rows[source, b, hand]
            where[b, before] = at
            at += 1
            if k + 1 == hands or tie[b, k] != tie[b, k + 1]:
                while at % step:
                    packed[b, at, 0] = cards[hands, 0] * scale | (cards[hands, 1] * scale << 16)
                    packed[b, at, 1] = none
                    at += 1
                ends[b, strengths] = at
                strengths += 1
        sizes[b] = at
