"""A hand against others of Texas hold'em: over all boards that can still come, or over random ones."""

from __future__ import annotations

import numpy as np

from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.cards.kernels.strength import CARDS, ZERO, board_of
from kibitz.core.jit import ONE, U64, maker, part
from kibitz.core.random import GOLDEN, mix

HALF = U64(32)


@part
def meet(hand, ranks, others, dealt, taken, found):
    """A hand and a whole board against each of the others that can be held beside it. found: wins, ties, losses."""
    mine = value_of(hand | ranks)
    for o in range(U64(len(others))):
        if dealt[o] & taken:
            continue
        theirs = value_of(others[o] | ranks)
        if mine > theirs:
            found[0] += 1
        elif mine == theirs:
            found[1] += 1
        else:
            found[2] += 1


@maker
def versus(hand, others, board, found):
    """All boards, each against all others.

    hand: uint8[2]; others: uint8[m, 2], which share no card with hand and board; board: uint8[0 to 5]; found: int64[3]
    wins, ties, losses, added to.
    """
    enumerate_boards(
        hand, others, board, found, np.zeros((2, len(others)), np.uint64), np.zeros(52, np.uint64),
        np.zeros(6, np.int64), np.zeros((2, 6), np.uint64),
    )  # fmt: skip


@part
def enumerate_boards(hand, others, board, found, hands, live, at, path):
    mine, held = board_of(hand)
    shown, dead = board_of(board)
    masks, dealt, ranks, taken = hands[0], hands[1], path[0], path[1]
    common = ~ZERO  # cards that all others hold are never on the board
    for o in range(len(others)):
        masks[o], dealt[o] = board_of(others[o])
        common &= dealt[o]
    dead |= held | common
    cards = 0
    for card in range(CARDS):
        if not (dead >> card) & ONE:
            live[cards] = card
            cards += 1
    left = 5 - len(board)
    ranks[0] = shown
    k = 0
    while k >= 0:
        # k cards are dealt; at[k] is the next one to try.
        if k == left:
            meet(mine, ranks[k], masks, dealt, taken[k], found)
            k -= 1
            continue
        j = at[k]
        if j + left - k > cards:
            k -= 1
            continue
        at[k] = j + 1
        ranks[k + 1] = with_card(ranks[k], live[j])
        taken[k + 1] = taken[k] | ONE << live[j]
        at[k + 1] = j + 1
        k += 1


@maker
def sampled(hand, others, board, count, seed, found):
    """Random boards, the others taken in turn; otherwise as `versus`."""
    sample_boards(hand, others, board, count, seed, found, np.zeros((2, len(others)), np.uint64))


@part
def sample_boards(hand, others, board, count, seed, found, hands):
    mine, held = board_of(hand)
    shown, dead = board_of(board)
    masks, dealt = hands[0], hands[1]
    for o in range(len(others)):
        masks[o], dealt[o] = board_of(others[o])
    dead |= held
    random = mix(U64(seed) + GOLDEN)
    o = ZERO
    for _ in range(count):
        ranks, taken = shown, dead | dealt[o]
        for _ in range(len(board), 5):
            card = CARDS
            while card == CARDS or (taken >> card) & ONE:
                random += GOLDEN
                card = ((mix(random) >> HALF) * CARDS) >> HALF
            ranks = with_card(ranks, card)
            taken |= ONE << card
        one, other = value_of(mine | ranks), value_of(masks[o] | ranks)
        if one > other:
            found[0] += 1
        elif one == other:
            found[1] += 1
        else:
            found[2] += 1
        o += ONE
        if o == U64(len(masks)):
            o = ZERO
