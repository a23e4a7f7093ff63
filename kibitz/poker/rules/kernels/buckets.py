"""The bucket of one hand on one board, as walks ask for it (`poker/buckets/hand_buckets.py` has what buckets are).

What a seat sees is one word: its own cards and then those of the board in the order they came, six bits each; seven
are the most that make a hand. Round by round the renamings of suits are kept that make the new cards least, as in
`cards/kernels/boards.py`; a set of cards is a word whose highest bit is card 0, so that of two sets of one size the one
that comes first is the larger word.

A walk comes to the same deal again and again. So each round has a *memo* of a few hundred places: what was seen and its
bucket in one word, which threads may read and write without locks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from kibitz.cards.kernels.isomorphism import CHOOSE, bits, choose
from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.core.devices import by_device
from kibitz.core.jit import FOUR, ONE, THREE, TWO, U64, kernel, part
from kibitz.core.random import GOLDEN, NONE

RAW, ISOMORPHIC, RANKS, BUCKETS = 0, 1, 2, 3  # kinds of views
MOST_ROUNDS = 4  # of a definition
NOWHERE = U64(0xFFFFFFFFFFFFFFFF)

# Places in `words`
HOLE, RENAMINGS, BITS, RECALL, FIRST, LEAST, PLAN = (U64(k) for k in range(7))
ROUNDS = U64(8)  # eight words a round:
SHOWN, KEYS, BELOW, KIND, TABLE, HANDS, LIVE, MEMO = (U64(k) for k in range(8))
RENAME = ROUNDS + U64(8 * MOST_ROUNDS)
PLACE = RENAME + U64(24)
HEAD = int(PLACE) + 52
NARROW, WIDE, RIVER, COUNTED = U64(0), U64(1), U64(2), U64(3)  # how a round's buckets are kept
SLOT_BITS = 9
SLOT_SHIFT = U64(64 - SLOT_BITS)

SIX, EIGHT, THIRTEEN, CARDS, HALF = U64(6), U64(8), U64(13), U64(52), U64(32)
M6, M13, M32 = U64(63), U64(0x1FFF), U64(0xFFFFFFFF)
TOP = U64(1 << 63)
PATTERNS = U64(18)  # of a suit on the river: 0 to 2 private cards, 0 to 5 on the board


class PokerView(NamedTuple):
    """Which row a decision reads; all but `kind` is of BUCKETS. Made by kibitz.poker.rules.views."""

    kind: np.int64
    words: np.ndarray  # uint64[]  numbers, renamings of suits, boards of all rounds, cuts: by the places above
    narrow: np.ndarray  # uint16[]  tables of buckets, one after another
    wide: np.ndarray  # uint32[]  those with more than 65,536
    river: np.ndarray  # uint16[]  how far ahead hands of hold'em are on the river, read-only
    memo: np.ndarray  # uint64[]
    start: np.ndarray  # uint64[]  by place, where its numbers begin in `words`; one for all places
    column: np.ndarray  # int64[P, n]  the first column of the rows of a place and seat; one entry: they are hashed


class DealtView(NamedTuple):
    """A view of buckets on a GPU. A walk's buckets are looked up when its cards are dealt: for each kind of buckets and
    round in which somebody sees through them, those of all seats."""

    view: PokerView
    kinds: np.ndarray  # uint64[K, 2]  where the numbers of some buckets begin in `words`, and a round
    place: np.ndarray  # int64[P, n + 1]  as `column`, and last the first of `seen` for the place; or [P, 1], that alone
    seen: np.ndarray  # uint32[K n]  of a deal


@part
def seen_through(view, first):
    """A view whose numbers begin at `first`."""
    words = view.words[first:]
    return PokerView(view.kind, words, view.narrow, view.wide, view.river, view.memo, view.start, view.column)


@part
def at_place(view, place):
    """What a place of the betting sees through."""
    return view if len(view.start) == 1 else seen_through(view, view.start[place])


@part
def card_at(cards, k):
    return (cards >> (SIX * k)) & M6


@part
def renamed(card, names):
    """A card under a renaming: two bits for each suit."""
    return (card & ~THREE) | ((names >> (TWO * (card & THREE))) & THREE)


@part
def last_at_most(words, first, count, x):
    """The last of `count` ascending words from `first` on that is at most x; the first if none is."""
    low = first
    high = first + count
    while low + ONE < high:
        middle = (low + high) // TWO
        if words[middle] <= x:
            low = middle
        else:
            high = middle
    return low


@part
def placed(words, cards, level):
    """Where a hand on a board stands in the table of a round."""
    hole = words[HOLE]
    left = (ONE << words[RENAMINGS]) - ONE
    at = NONE
    shown = NONE
    for r in range(level + ONE):
        row = ROUNDS + EIGHT * r
        after = words[row + SHOWN]
        if after == shown:
            continue
        best = NONE
        keeps = NONE
        for p in range(words[RENAMINGS]):
            if (left >> p) & ONE:
                names = words[RENAME + p]
                mask = NONE
                for k in range(shown, after):
                    mask |= TOP >> renamed(card_at(cards, hole + k), names)
                if mask > best:
                    best = mask
                    keeps = ONE << p
                elif mask == best:
                    keeps |= ONE << p
        left = keeps
        shown = after
        first = words[row + BELOW] + at
        keys = words[row + KEYS]
        at = last_at_most(words, keys + words[first], words[first + ONE] - words[first], ~best) - keys
    p = NONE
    while not (left >> p) & ONE:
        p += ONE
    names = words[RENAME + p]
    row = ROUNDS + EIGHT * level
    low = high = NONE
    for i in range(hole):
        card = renamed(card_at(cards, i), names)
        rank = words[PLACE + card]
        for k in range(shown):
            rank -= U64(renamed(card_at(cards, hole + k), names) < card)
        low, high = min(high, rank), max(high, rank)
    hand = high
    if hole == TWO:
        hand = low * (TWO * words[row + LIVE] - low - ONE) // TWO + high - low - ONE
    return at * words[row + HANDS] + hand


@part
def tabled(view, cards, level):
    """The bucket of a round that has a table."""
    row = ROUNDS + EIGHT * level
    at = view.words[row + TABLE] + placed(view.words, cards, level)
    if view.words[row + KIND] == WIDE:
        return U64(view.wide[at])
    return U64(view.narrow[at])


def found_bucket(view, cards, level):
    """The bucket of what a seat sees in a round, looked up."""
    words = view.words
    kind = words[ROUNDS + EIGHT * level + KIND]
    if kind <= WIDE:
        return tabled(view, cards, level)
    parent = NONE
    if words[RECALL] and level:
        parent = tabled(view, cards, level - ONE)
    ahead = U64(view.river[river_number(words, cards)]) if kind == RIVER else counted(words, cards, level)
    first = words[FIRST] + parent
    least = words[LEAST]
    return last_at_most(words, least + words[first], words[first + ONE] - words[first], ahead) - least


@intrinsic
def _found(typingctx, view, cards, level):
    """`found_bucket`, never put in the place of its calls: a match has six, and would take four times as long to
    compile."""

    def codegen(context, builder, signature, args):
        compiled = context.compile_subroutine(builder, found_bucket, signature)
        function = context.declare_function(builder.module, compiled.fndesc)
        call = context.call_conv.call_function
        _, bucket = call(builder, function, signature.return_type, signature.args, args, attrs=("noinline",))
        return bucket

    return types.uint64(view, types.uint64, types.uint64), codegen


def _found_apart(view, cards, level):
    return _found(view, cards, level)


found_apart = by_device(_found_apart, found_bucket, found_bucket)


@part
def bucket_of(view, cards, level):
    """The bucket of what a seat sees in a round."""
    memo = view.words[ROUNDS + EIGHT * level + MEMO]
    if memo == NOWHERE:
        return found_apart(view, cards, level)
    bucket_bits = view.words[BITS]
    slot = memo + ((cards * GOLDEN) >> SLOT_SHIFT)
    entry = view.memo[slot]
    if entry >> bucket_bits == cards:
        return entry & ((ONE << bucket_bits) - ONE)
    bucket = found_apart(view, cards, level)
    view.memo[slot] = cards << bucket_bits | bucket
    return bucket


# How far ahead a hand is in the last round


@part
def masks_of(cards, first, last):
    """Cards first..last - 1 as four masks of ranks, 16 bits apart (`cards/kernels/ranking.py`)."""
    masks = NONE
    for k in range(first, last):
        masks = with_card(masks, card_at(cards, k))
    return masks


@part
def counted(words, cards, level):
    """Twice the hands that a hand of two cards beats plus those that it ties, one by one."""
    seen = TWO + words[ROUNDS + EIGHT * level + SHOWN]
    board = masks_of(cards, TWO, seen)
    every = board | masks_of(cards, NONE, TWO)
    mine = value_of(every)
    ahead = NONE
    for b in range(CARDS):
        with_b = with_card(NONE, b)
        if words[PLACE + b] == NOWHERE or every & with_b:
            continue
        for a in range(b):
            with_a = with_card(NONE, a)
            if words[PLACE + a] == NOWHERE or every & with_a:
                continue
            theirs = value_of(board | with_a | with_b)
            if theirs < mine:
                ahead += TWO
            elif theirs == mine:
                ahead += ONE
    return ahead


@part
def set_number(ranks, used):
    """The number of a set of ranks among those of its size, counted without some ranks."""
    k = NONE
    number = NONE
    while ranks:
        below = (ranks & (NONE - ranks)) - ONE
        k += ONE
        number += CHOOSE[bits(below) - bits(used & below), k]
        ranks &= ranks - ONE
    return number


@part
def suit_number(hand, board, suit):
    """What a suit holds: its pattern, and in the lower half the number of its ranks."""
    shift = suit << FOUR
    mine = (hand >> shift) & M13
    shared = (board >> shift) & M13
    count = bits(mine)
    number = set_number(mine, NONE) + CHOOSE[THIRTEEN, count] * set_number(shared, mine)
    return (SIX * count + bits(shared)) << HALF | number


@part
def river_number(words, cards):
    """The number of two private cards and a board of five: `cards/kernels/isomorphism.py` for rounds [2, 5]."""
    hand, board = masks_of(cards, NONE, TWO), masks_of(cards, TWO, U64(7))
    a, b = suit_number(hand, board, NONE), suit_number(hand, board, ONE)
    c, d = suit_number(hand, board, TWO), suit_number(hand, board, THREE)
    a, b = max(a, b), min(a, b)  # sorted, the largest first
    c, d = max(c, d), min(c, d)
    a, c = max(a, c), min(a, c)
    b, d = max(b, d), min(b, d)
    b, c = max(b, c), min(b, c)
    suits = (a, b, c, d)
    key = (((a >> HALF) * PATTERNS + (b >> HALF)) * PATTERNS + (c >> HALF)) * PATTERNS + (d >> HALF)
    sizes = words[PLAN] + ONE
    count = words[words[PLAN]]
    keys = sizes + PATTERNS
    result = words[last_at_most(words, keys, count, key) + count]
    scale = ONE
    suit = NONE
    while suit < FOUR:
        code = suits[suit] >> HALF
        same = ONE
        while suit + same < FOUR and suits[suit + same] >> HALF == code:
            same += ONE
        rank = NONE
        for j in range(same):
            rank += choose((suits[suit + j] & M32) + same - ONE - j, same - j)
        result += scale * rank
        scale *= choose(words[sizes + code] + same - ONE, same)
        suit += same
    return result


@kernel
def buckets(view, cards, level, out):
    """The buckets of what seats see in a round: cards, out uint64[N]."""
    for i in range(len(cards)):
        out[i] = bucket_of(view, cards[i], U64(level))

