"""How strong hands of Texas hold'em are: all hands on a board at once.

What a hand is worth on a board depends on little: on its two ranks, or, if it makes a flush, on its ranks in that suit.
So it is the *kinds* of hands that are evaluated and sorted, 183 at most, and not 1,081 hands. Kinds of the same value
share a *place*. How many hands of each place hold a card, summed from below, gives how many hands a hand beats; those
that hold one of its own two cards are taken away.

A hand is a number too: that of cards a < b is b * (b - 1) / 2 + a. A set of cards is four masks of ranks as in
`ranking`, or a word of 52 bits: `dead` are cards that cannot be dealt any more.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.isomorphism import number_of
from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.core.jit import ONE, TWO, U64, maker, making_part, part

ZERO = U64(0)
CARDS = U64(52)
HANDS = 1326
CLASSES = 169  # hands up to names of suits
RIVER = U64(2 * 990)  # what a hand gets on the river that beats all: 2 for a win, 1 for a tie
MOST_RUN_OUTS = 1176
PAIRS_OF_RANKS = U64(91)
KINDS = 91 + 92
NEVER = U64(255)  # no hand makes a flush
ALL = U64(52)  # the column that counts all hands, after those of the cards
WIDE = 64
KIND_BITS, KIND_MASK = U64(8), U64(255)
EACH = np.uint16(1)


def _hands() -> list[tuple[int, int]]:
    return [(a, b) for b in range(52) for a in range(b)]


def _ranks() -> np.ndarray:
    """uint8[1326]  the two ranks of a hand, as one of 91."""
    order = {pair: k for k, pair in enumerate((low, high) for high in range(13) for low in range(high + 1))}
    return np.array([order[a // 4, b // 4] for a, b in _hands()], np.uint8)


def _suited() -> np.ndarray:
    """uint8[4, 1326]  the ranks of a hand in a suit: 0 none, 1 to 13 one, 14 to 91 two."""
    order = {pair: 14 + k for k, pair in enumerate(combinations(range(13), 2))}
    table = np.zeros((4, HANDS), np.uint8)
    for hand, (a, b) in enumerate(_hands()):
        if a % 4 == b % 4:
            table[a % 4, hand] = order[a // 4, b // 4]
        else:
            table[a % 4, hand], table[b % 4, hand] = 1 + a // 4, 1 + b // 4
    return table


def _masks() -> np.ndarray:
    """uint64[1326]  the hand as four masks of ranks."""
    return np.array([1 << (a // 4 + a % 4 * 16) | 1 << (b // 4 + b % 4 * 16) for a, b in _hands()], np.uint64)


RANKS_OF, SUITED, MASK_OF = _ranks(), _suited(), _masks()
COUNT = np.array([mask.bit_count() for mask in range(1 << 13)], np.uint64)


class Space(NamedTuple):
    """Room for showdowns on one thread, and the result of the last one."""

    live: np.ndarray  # uint64[52]  cards that are not on the board
    kind: np.ndarray  # uint8[1326]  of each hand
    place: np.ndarray  # uint64[KINDS]  of each kind
    order: np.ndarray  # uint64[KINDS]  value << 8 | kind, ascending
    count: np.ndarray  # uint16[KINDS, WIDE]  hands of a place that hold a card; all of them in column ALL
    below: np.ndarray  # uint16[KINDS + 1, WIDE]  the same for all places below
    wins: np.ndarray  # uint16[1326]  how many other hands a hand beats
    ties: np.ndarray  # uint16[1326]
    boards: np.ndarray  # uint64[MOST_RUN_OUTS]  cards to come, as masks of ranks
    deads: np.ndarray  # uint64[MOST_RUN_OUTS]  and as bits
    cards: np.ndarray  # uint8[7]  a hand and a board, to be numbered
    code: np.ndarray  # uint64[4]
    number: np.ndarray  # uint64[4]


@making_part
def space_of():
    return Space(
        np.zeros(52, np.uint64), np.zeros(HANDS, np.uint8), np.zeros(KINDS, np.uint64), np.zeros(KINDS, np.uint64),
        np.zeros((KINDS, WIDE), np.uint16), np.zeros((KINDS + 1, WIDE), np.uint16), np.zeros(HANDS, np.uint16),
        np.zeros(HANDS, np.uint16), np.zeros(MOST_RUN_OUTS, np.uint64), np.zeros(MOST_RUN_OUTS, np.uint64),
        np.zeros(7, np.uint8), np.zeros(4, np.uint64), np.zeros(4, np.uint64),
    )  # fmt: skip


@part
def hand_of(a, b):
    """The number of a hand of two cards in any order."""
    return b * (b - ONE) // TWO + a if a < b else a * (a - ONE) // TWO + b


# One board


@part
def flush_on(board):
    """The suit in which hands can make a flush on a board, and the least entry of SUITED that does."""
    for suit in range(U64(4)):
        held = COUNT[(board >> (suit * U64(16))) & U64(0x1FFF)]
        if held >= U64(3):
            return suit, U64(14) if held == U64(3) else U64(1) if held == U64(4) else ZERO
    return ZERO, NEVER


@part
def sort_kinds(board, live, space):
    """The kind of each hand and the place of each kind; returns how many places there are."""
    suit, least = flush_on(board)
    kinds = ZERO
    for kind in range(U64(KINDS)):
        space.place[kind] = ZERO
    for i in range(ONE, live):
        b = space.live[i]
        row = b * (b - ONE) // TWO
        for j in range(i):
            hand = row + space.live[j]
            suited = U64(SUITED[suit, hand])
            kind = PAIRS_OF_RANKS + suited if suited >= least else U64(RANKS_OF[hand])
            space.kind[hand] = kind
            if space.place[kind]:
                continue
            space.place[kind] = ONE  # seen
            key = U64(value_of(board | MASK_OF[hand])) << KIND_BITS | kind
            at = kinds
            while at > ZERO and space.order[at - ONE] > key:
                space.order[at] = space.order[at - ONE]
                at -= ONE
            space.order[at] = key
            kinds += ONE
    place = ZERO
    for k in range(kinds):
        if k > ZERO and space.order[k] >> KIND_BITS != space.order[k - ONE] >> KIND_BITS:
            place += ONE
        space.place[space.order[k] & KIND_MASK] = place
    return place + ONE


@part
def showdown(board, dead, space):
    """Wins and ties of each hand against all others on a board of three to five cards.

    Returns how many cards are live and how many places there are.
    """
    live = ZERO
    for card in range(CARDS):
        if not (dead >> card) & ONE:
            space.live[live] = card
            live += ONE
    places = sort_kinds(board, live, space)
    for place in range(places):
        for card in range(U64(WIDE)):
            space.count[place, card] = 0
    for i in range(ONE, live):
        b = space.live[i]
        row = b * (b - ONE) // TWO
        for j in range(i):
            a = space.live[j]
            place = space.place[space.kind[row + a]]
            space.count[place, a] += EACH
            space.count[place, b] += EACH
            space.count[place, ALL] += EACH
    for card in range(U64(WIDE)):
        space.below[0, card] = 0
    for place in range(places):
        for card in range(U64(WIDE)):
            space.below[place + ONE, card] = space.below[place, card] + space.count[place, card]
    for i in range(ONE, live):
        b = space.live[i]
        row = b * (b - ONE) // TWO
        for j in range(i):
            a = space.live[j]
            place = space.place[space.kind[row + a]]
            space.wins[row + a] = space.below[place, ALL] - space.below[place, a] - space.below[place, b]
            # The hand itself is counted once and taken away twice.
            space.ties[row + a] = space.count[place, ALL] - space.count[place, a] - space.count[place, b] + EACH
    return live, places


@part
def board_of(cards):
    """A board as masks of ranks, and as dead cards."""
    board = ZERO
    dead = ZERO
    for k in range(U64(len(cards))):
        board = with_card(board, cards[k])
        dead |= ONE << U64(cards[k])
    return board, dead


@part
def run_outs(dead, left, space):
    """What can still come, `left` cards from 0 to 2: space.boards and space.deads; returns how many."""
    if left == 0:
        space.boards[0] = ZERO
        space.deads[0] = ZERO
        return ONE
    found = ZERO
    for x in range(CARDS):
        if (dead >> x) & ONE:
            continue
        one = with_card(ZERO, x)
        if left == 1:
            space.boards[found] = one
            space.deads[found] = ONE << x
            found += ONE
            continue
        for y in range(x + ONE, CARDS):
            if not (dead >> y) & ONE:
                space.boards[found] = with_card(one, y)
                space.deads[found] = ONE << x | ONE << y
                found += ONE
    return found


@part
def number_hands(cards, live, plan, space, index):
    """The number up to names of suits of each live hand on a board: index[hand]."""
    for k in range(U64(len(cards))):
        space.cards[k + TWO] = cards[k]
    for i in range(ONE, live):
        b = space.live[i]
        row = b * (b - ONE) // TWO
        space.cards[1] = b
        for j in range(i):
            a = space.live[j]
            space.cards[0] = a
            index[row + a] = number_of(space.cards, plan, space.code, space.number)


# Tables. Each board stands for all that differ by names of suits; hands on it that differ so get the same entry twice.


@maker
def fill_river(boards, plan, ahead):
    """Twice the wins plus the ties of each hand on some boards of five. boards: uint8[n, 5]; ahead: uint16[numbers]."""
    fill_boards(boards, plan, ahead, space_of(), np.zeros(HANDS, np.uint64))


@part
def fill_boards(boards, plan, ahead, space, index):
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        live, _ = showdown(board, dead, space)
        number_hands(boards[n], live, plan, space, index)
        for i in range(ONE, live):
            row = space.live[i] * (space.live[i] - ONE) // TWO
            for j in range(i):
                hand = row + space.live[j]
                ahead[index[hand]] = TWO * space.wins[hand] + space.ties[hand]


@maker
def fill_sums(boards, plan, ahead, wins, ties, squares):
    """Of each hand on some boards of three or four cards, the board as it is, and sums over all that can still come.

    boards: uint8[n, k]; ahead: twice the wins plus the ties now; wins, ties, squares (of twice the wins plus the ties):
    sums; all by number.
    """
    sum_boards(
        boards, plan, ahead, wins, ties, squares,
        space_of(), np.zeros(HANDS, np.uint64), np.zeros((HANDS, 3), np.uint32),
    )  # fmt: skip


@part
def sum_boards(boards, plan, ahead, wins, ties, squares, space, index, sums):
    # sums: uint32, as 1,081 * 1,980 ** 2 is just below 2 ** 32
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        sums[:] = 0
        for r in range(run_outs(dead, 5 - boards.shape[1], space)):
            live, _ = showdown(board | space.boards[r], dead | space.deads[r], space)
            for i in range(ONE, live):
                row = space.live[i] * (space.live[i] - ONE) // TWO
                for j in range(i):
                    hand = row + space.live[j]
                    won = np.uint32(space.wins[hand])
                    tied = np.uint32(space.ties[hand])
                    both = won + won + tied
                    sums[hand, 0] += won
                    sums[hand, 1] += tied
                    sums[hand, 2] += both * both
        live, _ = showdown(board, dead, space)
        number_hands(boards[n], live, plan, space, index)
        for i in range(ONE, live):
            row = space.live[i] * (space.live[i] - ONE) // TWO
            for j in range(i):
                hand = row + space.live[j]
                at = index[hand]
                ahead[at] = TWO * space.wins[hand] + space.ties[hand]
                wins[at] = sums[hand, 0]
                ties[at] = sums[hand, 1]
                squares[at] = sums[hand, 2]


@part
def bin_of(both, bins):
    """The bin of a strength on the river, twice the wins plus the ties: the last one is closed at both ends."""
    return min(both * bins // RIVER, bins - ONE)


@maker
def fill_histograms(boards, plan, histogram):
    """How often each hand on some boards of three or four cards ends in each bin. histogram: [numbers, bins]."""
    count_boards(
        boards, plan, histogram,
        space_of(), np.zeros(HANDS, np.uint64), np.zeros(RIVER + ONE, np.uint64),
        np.zeros((HANDS, histogram.shape[1]), np.uint16),
    )  # fmt: skip


@part
def count_boards(boards, plan, histogram, space, index, bin_at, counts):
    bins = U64(histogram.shape[1])
    for both in range(RIVER + ONE):
        bin_at[both] = bin_of(both, bins)
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        counts[:] = 0
        for r in range(run_outs(dead, 5 - boards.shape[1], space)):
            live, _ = showdown(board | space.boards[r], dead | space.deads[r], space)
            for i in range(ONE, live):
                row = space.live[i] * (space.live[i] - ONE) // TWO
                for j in range(i):
                    hand = row + space.live[j]
                    counts[hand, bin_at[TWO * space.wins[hand] + space.ties[hand]]] += EACH
        live, _ = showdown(board, dead, space)
        number_hands(boards[n], live, plan, space, index)
        for i in range(ONE, live):
            row = space.live[i] * (space.live[i] - ONE) // TWO
            for j in range(i):
                hand = row + space.live[j]
                for k in range(bins):
                    histogram[index[hand], k] = counts[hand, k]


@maker
def add_preflop(boards, weight, class_of, wins, ties, squares, histogram):
    """Sums over all hands of a class before the flop and some boards of five, each with its weight, are added.

    boards: uint8[n, 5]; weight: int64[n]; class_of: uint64[1326]; wins, ties, squares: int64[169]; histogram:
    int64[169, bins].
    """
    add_boards(boards, weight, class_of, wins, ties, squares, histogram, space_of())


@part
def add_boards(boards, weight, class_of, wins, ties, squares, histogram, space):
    bins = U64(histogram.shape[1])
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        live, _ = showdown(board, dead, space)
        for i in range(ONE, live):
            row = space.live[i] * (space.live[i] - ONE) // TWO
            for j in range(i):
                hand = row + space.live[j]
                kind = class_of[hand]
                won = np.int64(space.wins[hand])
                tied = np.int64(space.ties[hand])
                both = won + won + tied
                wins[kind] += weight[n] * won
                ties[kind] += weight[n] * tied
                squares[kind] += weight[n] * both * both
                if bins:
                    histogram[kind, bin_of(U64(both), bins)] += weight[n]


@part
def add_row(row, total, one, other, weight):
    """To a row by class: how many hands of each class have been passed that hold neither of two cards."""
    for k in range(CLASSES):
        row[k] += weight * np.int32(total[k] - one[k] - other[k])


@maker
def add_classes(boards, weight, class_of, wins):
    """How often hands of a class beat hands of another, on some boards of five, each with its weight, is added.

    Hands are passed in the order of their value. Those of each class that have been passed are counted, also by the
    cards they hold, so a hand meets all weaker ones in one row of additions. boards: uint8[n, 5]; weight: int32[n];
    class_of: uint64[1326]; wins: int32[169, 169], where 12 * 12 hands on 1,712,304 boards have room.
    """
    add_pairs(
        boards, weight, class_of, wins,
        space_of(), np.zeros(CLASSES, np.int16), np.zeros((52, CLASSES), np.int16),
        np.zeros((3, HANDS), np.uint64), np.zeros(KINDS, np.uint64),
    )  # fmt: skip


@part
def add_pairs(boards, weight, class_of, wins, space, total, held, passed, ends):
    low, high, kind = passed[0], passed[1], passed[2]
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        live, places = showdown(board, dead, space)
        for place in range(places):
            ends[place] = space.below[place, ALL]
        for i in range(ONE, live):
            b = space.live[i]
            row = b * (b - ONE) // TWO
            for j in range(i):
                a = space.live[j]
                place = space.place[space.kind[row + a]]
                at = ends[place]
                ends[place] = at + ONE
                low[at], high[at], kind[at] = a, b, class_of[row + a]
        total[:] = 0
        held[:] = 0
        first = ZERO
        for place in range(places):
            for h in range(first, ends[place]):
                add_row(wins[kind[h]], total, held[low[h]], held[high[h]], weight[n])
            for h in range(first, ends[place]):
                total[kind[h]] += np.int16(1)
                held[low[h], kind[h]] += np.int16(1)
                held[high[h], kind[h]] += np.int16(1)
            first = ends[place]


# Without tables


@maker
def look(hands, ahead, wins, ties, squares, histogram):
    """The same figures for single hands on boards of three to five cards. hands: uint8[n, 5 to 7], the board last.

    ahead, wins, ties, squares: int64[n]; histogram: int64[n, bins], added to.
    """
    look_at(hands, ahead, wins, ties, squares, histogram, space_of())


@part
def look_at(hands, ahead, wins, ties, squares, histogram, space):
    bins = U64(histogram.shape[1])
    for n in range(len(hands)):
        a, b = U64(hands[n, 0]), U64(hands[n, 1])
        hand = hand_of(a, b)
        board, dead = board_of(hands[n, 2:])
        showdown(board, dead, space)
        ahead[n] = TWO * space.wins[hand] + space.ties[hand]
        wins[n] = ties[n] = squares[n] = 0
        for r in range(run_outs(dead | ONE << a | ONE << b, 7 - hands.shape[1], space)):
            showdown(board | space.boards[r], dead | space.deads[r], space)
            both = TWO * space.wins[hand] + space.ties[hand]
            wins[n] += space.wins[hand]
            ties[n] += space.ties[hand]
            squares[n] += both * both
            if bins:
                histogram[n, bin_of(both, bins)] += 1
