"""The hands on boards as a GPU reads them (`kibitz/poker/whole/gpu.py`, `kibitz/poker/exact/gpu_tables.py`)."""

from __future__ import annotations

from kibitz.core.jit import kernel


@kernel
def pack_hands(order, tie, up, rows, cards, scale, step, none, packed, extra, ends, where, sizes):
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


@kernel
def most_places(tie, step):
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
def rank_hands(cards, hand_class, board_class, low, high, count, class_of, card_hands, ranked, number, held, below):
    """Hands of two cards as the poker form's kernels for a GPU read them (`kibitz/poker/exact/gpu_tables.py`).

    cards uint8[H, 2], hand_class, low, high int64[H]: hands board by board, `count` on each, in the last round by
    strength. class_of uint16[H]: classes, counted from the board's first.
    card_hands uint16[boards, cards that are not there, as many less 1]: the hands with each card, in order. ranked
    uint32[classes, 4], of the first hand of a class: (low, high), the same among the hands with its first and with its
    second card, the cards and the hand. number, held int64[52] and below int64[count, 2] are room to work in.
    """
    for b in range(board_class.shape[0] - 1):
        first = b * count
        for card in range(52):
            number[card] = -1
            held[card] = 0
        for h in range(first, first + count):
            number[cards[h, 0]] = 0
            number[cards[h, 1]] = 0
        found = 0
        for card in range(52):
            if number[card] == 0:
                number[card] = found
                found += 1
        for h in range(board_class[b], board_class[b + 1]):
            ranked[h, 3] = 1  # no hand yet
        h = 0
        while h < count:
            behind = max(h + 1, high[first + h])
            for i in range(h, behind):
                for side in range(2):
                    below[i, side] = held[number[cards[first + i, side]]]
            for i in range(h, behind):
                for side in range(2):
                    card = number[cards[first + i, side]]
                    card_hands[b, card, held[card]] = i
                    held[card] += 1
            for i in range(h, behind):
                of = hand_class[first + i]
                class_of[first + i] = of - board_class[b]
                if ranked[of, 3]:
                    one, two = number[cards[first + i, 0]], number[cards[first + i, 1]]
                    ranked[of, 0] = low[first + i] | high[first + i] << 16
                    ranked[of, 1] = below[i, 0] | held[one] << 8 | below[i, 1] << 16 | held[two] << 24
                    ranked[of, 2] = one | two << 8 | i << 16
                    ranked[of, 3] = 0
            h = behind
