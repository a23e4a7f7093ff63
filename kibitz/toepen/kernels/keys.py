"""Which row a decision of Toepen reads: the game's abstractions, as hashes of 64 bits.

A key is a hash of what the abstraction lets a seat see. Two different rows of a table with R rows share a key with
probability R^2 / 2^65: one in a few thousand for a hundred million rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, TWO, U64, part
from kibitz.core.random import NONE, mix
from kibitz.toepen.kernels import rules as bits
from kibitz.toepen.kernels.rules import count_bits, field, legal_cards, player_of, plays_in, signature, unseen_by

RAW, THESIS, MAXIMAL, OUTLOOK = 0, 1, 2, 3
NAIVE, SIMPLE_HISTORY, SIMPLE_HAND, ADVANCED_HAND, ADVANCED_HISTORY, ADVANCED_COMBINED = 4, 5, 6, 7, 8, 9
STRENGTH, STRENGTH_HISTORY = 10, 11
NAMES = {
    "null": RAW, "isomorphic": THESIS, "maximal": MAXIMAL, "outlook": OUTLOOK, "naive": NAIVE,
    "simple-history": SIMPLE_HISTORY, "simple-hand": SIMPLE_HAND, "advanced-hand": ADVANCED_HAND,
    "advanced-history": ADVANCED_HISTORY, "advanced-combined": ADVANCED_COMBINED, "strength": STRENGTH,
    "strength-history": STRENGTH_HISTORY,
}  # fmt: skip
SALT = U64(0x9E3779B97F4A7C15)


def _numbering() -> tuple[np.ndarray, np.ndarray]:
    """(number of the first hand of each size, binomials) for `hand_number`."""
    choose = np.array([[math.comb(n, k) for k in range(bits.MOST_CARDS + 1)] for n in range(33)], np.uint64)
    first = np.concatenate(([0], np.cumsum(choose[32]))).astype(np.uint64)
    return first, choose


FIRST_OF_SIZE, CHOOSE = _numbering()
HANDS = int(FIRST_OF_SIZE[-1])


class Keys(NamedTuple):
    """An abstraction: its kind, and the buckets of hands where it has some."""

    kind: np.int64
    bucket: np.ndarray  # uint8[2, 2, HANDS]  by seat, leader or reactor, and `hand_number`; [2, 2, 1] without


def plain(kind: int) -> Keys:
    """Keys of a kind that has no buckets of hands."""
    return Keys(np.int64(kind), np.zeros((2, 2, 1), np.uint8))


@part
def by_labels(kind):
    """Does an abstraction call suits by the thesis' labels?"""
    return kind == THESIS or kind > NAIVE


@part
def chain(hash_, word):
    return mix(hash_ * SALT + word + ONE)


@part
def betting(meta, seat):
    """What all lossless keys share beside the cards: seat, phase, play, which bets were called."""
    return (meta & U64(0x3F)) | (seat << U64(6)) | (field(meta, bits.CALLED, bits.M8) << bits.EIGHT)


@part
def swap(a, b):
    return (a, b) if a <= b else (b, a)


@part
def in_order(a, b, c, d):
    """Four words, the lowest first."""
    a, b = swap(a, b)
    c, d = swap(c, d)
    a, c = swap(a, c)
    b, d = swap(b, d)
    b, c = swap(b, c)
    return a, b, c, d


@part
def key_of(state, rules, keys):
    """The key of the row that the player to move reads."""
    seat = player_of(state)
    kind = keys.kind
    if kind == OUTLOOK:
        return outlook(state, rules, seat)
    if kind > OUTLOOK:
        return lossy(state, rules, seat, keys)
    meta = state.meta
    key = betting(meta, seat)
    if kind == THESIS:
        labels = field(meta, bits.LABELS + bits.EIGHT * seat, bits.M8)
        for k in range(bits.SUITS):
            key = chain(key, signature(state, seat, (labels >> (k + k)) & bits.M2))
        return key
    a = signature(state, seat, U64(0))
    b = signature(state, seat, U64(1))
    c = signature(state, seat, U64(2))
    d = signature(state, seat, U64(3))
    if kind == MAXIMAL:
        a, b, c, d = in_order(a, b, c, d)
    return chain(chain(chain(chain(key, a), b), c), d)


@part
def hand_number(hand):
    """The number of a hand of up to four cards among all of these, smaller ones first."""
    number = FIRST_OF_SIZE[count_bits(hand)]
    k = ONE
    for card in range(bits.HALF):
        if (hand >> card) & ONE:
            number += CHOOSE[card, k]
            k += ONE
    return number


@part
def figures(hand, rules):
    """The thesis' three figures of a hand: sum of ranks, ranks above the deck's average, suits."""
    ranks = bits.COUNT[rules.deck & bits.M8]
    total = NONE
    high = NONE
    suits = NONE
    for suit in range(bits.SUITS):
        mine = (hand >> (bits.EIGHT * suit)) & bits.M8
        suits += ONE if mine else NONE
        for rank in range(bits.EIGHT):
            if (mine >> rank) & ONE:
                total += rank
                high += ONE if rank + rank + ranks > U64(15) else NONE
    return total | (high << bits.EIGHT) | (suits << U64(16))


@part
def lossy(state, rules, seat, keys):
    """The thesis' six abstractions (`kibitz.toepen.keys` has words for them), and two with hands in buckets."""
    meta = state.meta
    kind = keys.kind
    phase = field(meta, bits.PHASE, bits.M2)
    play = field(meta, bits.PLAY, bits.M4)
    width = count_bits(legal_cards(state, rules)) if phase == bits.CARD else TWO
    key = chain(seat, width)
    if kind == NAIVE:
        return key
    hand = (state.hands >> (bits.HALF * seat)) & bits.WORD
    labels = field(meta, bits.LABELS + bits.EIGHT * seat, bits.M8)
    if kind in (SIMPLE_HISTORY, ADVANCED_HISTORY):
        named = NONE
        for k in range(bits.SUITS):
            named |= ((hand >> (bits.EIGHT * ((labels >> (k + k)) & bits.M2))) & bits.M8) << (bits.EIGHT * k)
        key = chain(key, named)
    elif kind in (ADVANCED_HAND, ADVANCED_COMBINED):
        key = chain(key, figures(hand, rules))
    elif kind in (STRENGTH, STRENGTH_HISTORY):
        key = chain(key, U64(keys.bucket[seat, play & ONE, hand_number(hand)]) | (phase << bits.EIGHT))
    if kind == SIMPLE_HISTORY:
        return key
    for k in range(bits.SUITS):
        key = chain(key, plays_in(state, (labels >> (k + k)) & bits.M2))
    if kind in (SIMPLE_HAND, ADVANCED_HAND, STRENGTH):
        return chain(key, betting(meta, seat))
    return chain(key, field(meta, bits.ANTE, bits.M5) | (play << bits.EIGHT))


@part
def outlook(state, rules, seat):
    """What a card player looks at: for each card in hand how many unseen ones beat it, and the state of the betting.

    By suit: the cards in hand, lowest first, each as the number of unseen cards above it; whether the opponent was
    seen to lack the suit; how many of the suit are unseen; and, in the suit led, how many cards in hand win the trick.
    Beside it the ante, who bet last, the phase, the trick, and how many high cards the opponent has played.
    """
    meta = state.meta
    hand = (state.hands >> (bits.HALF * seat)) & bits.WORD
    unseen, lacks = unseen_by(state, rules, seat)
    play = field(meta, bits.PLAY, bits.M4)
    led = field(meta, bits.LED, bits.M5)
    a = NONE
    b = NONE
    c = NONE
    d = NONE
    for suit in range(bits.SUITS):
        mine = (hand >> (bits.EIGHT * suit)) & bits.M8
        out = (unseen >> (bits.EIGHT * suit)) & bits.M8
        void = (lacks >> suit) & ONE
        view = NONE
        if mine:
            if void:
                view = (bits.COUNT[mine] << U64(20)) | (ONE << U64(19))
            else:
                for rank in range(bits.EIGHT):
                    if (mine >> rank) & ONE:
                        view = (view << bits.FOUR) | (bits.COUNT[out >> rank] + ONE)
                view |= min(bits.COUNT[out], U64(7)) << U64(16)
        if play & ONE and led >> bits.THREE == suit:
            # Cards of a void suit cannot be led by the one who lacks it, so the two cases do not mix.
            view |= (ONE << U64(24)) | (bits.COUNT[mine >> (led & bits.M3)] << U64(25))
        if suit == NONE:
            a = view
        elif suit == ONE:
            b = view
        elif suit == TWO:
            c = view
        else:
            d = view
    a, b, c, d = in_order(a, b, c, d)
    last = field(meta, bits.LAST, bits.M2)
    mine_last = ONE if last == seat + ONE else NONE
    context = (
        (meta & U64(0x3F)) | (seat << U64(6)) | ((ONE if last else NONE) << U64(7)) | (mine_last << U64(8))
        | (field(meta, bits.ANTE, bits.M5) << U64(9))
        | (field(meta, bits.HIGH + bits.THREE * (ONE - seat), bits.M3) << U64(14))
    )  # fmt: skip
    return chain(chain(chain(chain(context, a), b), c), d)
