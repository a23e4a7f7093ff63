"""How strong hands of Texas hold'em are: all hands on a board at once.

The value of a hand on a board depends on its two ranks, or, if it makes a flush, on its ranks in that suit. So *kinds*
of hands are evaluated and sorted, 183 at most, and not 1,081 hands. Kinds of the same value share a *place*. The hands
of each place that contain a card are counted. Running sums of these counts, from the weakest place on, say how many
hands a hand beats, once those that contain one of its own two cards are subtracted.

A hand is a number too: that of cards a < b is b * (b - 1) / 2 + a. A set of cards is four masks of ranks, as in
`ranking`; `gone` are cards that are not in the deck.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.isomorphism import number_of
from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.core.jit import ONE, TWO, U64, kernel, part

ZERO = U64(0)
CARDS = U64(52)
HANDS = 1326
CLASSES = 169  # hands up to suit isomorphism
RIVER = U64(2 * 990)  # of a hand on the river that beats all others: 2 for a win, 1 for a tie
MOST_RUN_OUTS = 1176
PAIRS_OF_RANKS = U64(91)
KINDS = 91 + 92
NEVER = U64(255)  # no hand makes a flush
ALL = U64(52)  # the column that counts all hands, after those of the cards
WIDE = 64
KIND_BITS, KIND_MASK = U64(8), U64(255)
EACH = np.uint16(1)
LOWER = np.array([a for b in range(52) for a in range(b)], np.uint64)  # [1326]  the lower card of each hand
UPPER = np.array([b for b in range(52) for a in range(b)], np.uint64)


def _ranks() -> np.ndarray:
    """uint8[1326]  the two ranks of a hand, as one of 91."""
    order = {pair: k for k, pair in enumerate((low, high) for high in range(13) for low in range(high + 1))}
    return np.array([order[a // 4, b // 4] for a, b in zip(LOWER.tolist(), UPPER.tolist(), strict=True)], np.uint8)


def _suited() -> np.ndarray:
    """uint8[4, 1326]  the ranks of a hand in a suit: 0 none, 1 to 13 one, 14 to 91 two."""
    order = {pair: 14 + k for k, pair in enumerate(combinations(range(13), 2))}
    table = np.zeros((4, HANDS), np.uint8)
    for hand, (a, b) in enumerate(zip(LOWER.tolist(), UPPER.tolist(), strict=True)):
        if a % 4 == b % 4:
            table[a % 4, hand] = order[a // 4, b // 4]
        else:
            table[a % 4, hand], table[b % 4, hand] = 1 + a // 4, 1 + b // 4
    return table


RANKS_OF, SUITED = _ranks(), _suited()
CARD_MASK = np.array([1 << (card // 4 + card % 4 * 16) for card in range(52)], np.uint64)
MASK_OF = CARD_MASK[LOWER.astype(np.int64)] | CARD_MASK[UPPER.astype(np.int64)]  # [1326]  a hand as masks of ranks
COUNT = np.array([mask.bit_count() for mask in range(1 << 13)], np.uint64)


class ShowdownWorkspace(NamedTuple):
    """Workspace for showdowns on one thread, and the result of the last one."""

    live: np.ndarray  # uint64[52]  cards that are neither on the board nor gone
    hands: np.ndarray  # uint64[1326]  the hands of live cards
    kind: np.ndarray  # uint8[1326]  of each hand
    place: np.ndarray  # uint64[KINDS]  of each kind
    order: np.ndarray  # uint64[KINDS]  value << 8 | kind, ascending
    count: np.ndarray  # uint16[KINDS, WIDE]  hands of a place that hold a card; all of them in column ALL
    below: np.ndarray  # uint16[KINDS + 1, WIDE]  the same for all places below
    wins: np.ndarray  # uint16[1326]  how many other hands a hand beats
    ties: np.ndarray  # uint16[1326]
    boards: np.ndarray  # uint64[MOST_RUN_OUTS]  cards to come, as masks of ranks
    cards: np.ndarray  # uint8[7]  a hand and a board, to be numbered
    code: np.ndarray  # uint64[4]
    number: np.ndarray  # uint64[4]
    index: np.ndarray  # uint64[1326]  numbers of hands up to suit isomorphism
    sums: np.ndarray  # uint32[1326, 3]  wins, ties, squares; 1,081 * 1,980 ** 2 is just below 2 ** 32
    bin_at: np.ndarray  # uint64[RIVER + 1]  the bin of each strength


def workspace() -> ShowdownWorkspace:
    words, halves = np.uint64, np.uint16
    return ShowdownWorkspace(
        np.zeros(52, words), np.zeros(HANDS, words), np.zeros(HANDS, np.uint8), np.zeros(KINDS, words),
        np.zeros(KINDS, words), np.zeros((KINDS, WIDE), halves), np.zeros((KINDS + 1, WIDE), halves),
        np.zeros(HANDS, halves), np.zeros(HANDS, halves), np.zeros(MOST_RUN_OUTS, words), np.zeros(7, np.uint8),
        np.zeros(4, words), np.zeros(4, words), np.zeros(HANDS, words), np.zeros((HANDS, 3), np.uint32),
        np.zeros(int(RIVER) + 1, words),
    )  # fmt: skip


class Figures(NamedTuple):
    """Counts of showdowns by hand, class, or number up to suit isomorphism: what is not asked for has no length."""

    ahead: np.ndarray  # [n]  twice the wins plus the ties on the board as it is
    wins: np.ndarray  # [n]  sums over the rest of the board
    ties: np.ndarray  # [n]
    squares: np.ndarray  # [n]  of twice the wins plus the ties
    histogram: np.ndarray  # [n, bins]  how often a hand ends in each bin


def figures_of(arrays: dict[str, np.ndarray]) -> Figures:
    """Figures from arrays by name."""
    nothing = {name: np.zeros(0, np.uint16) for name in Figures._fields[:4]}
    return Figures(**{**nothing, "histogram": np.zeros((0, 0), np.uint16), **arrays})


@part
def hand_of(a, b):
    """The number of a hand of two cards in any order."""
    return b * (b - ONE) // TWO + a if a < b else a * (a - ONE) // TWO + b


# One board


@part
def flush_on(board):
    """The suit in which hands can make a flush on a board, and the least entry of SUITED that does."""
    for suit in range(U64(4)):
        cards = COUNT[(board >> (suit * U64(16))) & U64(0x1FFF)]
        if cards >= U64(3):
            return suit, U64(14) if cards == U64(3) else U64(1) if cards == U64(4) else ZERO
    return ZERO, NEVER


@part
def list_live(dead, live):
    """List the cards that are not dead; returns how many there are."""
    count = ZERO
    for card in range(CARDS):
        if not CARD_MASK[card] & dead:
            live[count] = card
            count += ONE
    return count


@part
def sort_hands(board, gone, space):
    """List the hands on a board, with the kind of each and the place of each kind; returns (hands, places)."""
    suit, least = flush_on(board)
    kinds = ZERO
    for kind in range(U64(KINDS)):
        space.place[kind] = ZERO
    hands = ZERO
    for i in range(ONE, list_live(board | gone, space.live)):
        b = space.live[i]
        row = b * (b - ONE) // TWO
        for j in range(i):
            hand = row + space.live[j]
            space.hands[hands] = hand
            hands += ONE
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
    return hands, place + ONE


@part
def showdown(board, gone, space):
    """Wins and ties of each hand against all others on a board of three to five cards; returns (hands, places)."""
    hands, places = sort_hands(board, gone, space)
    for place in range(places):
        for card in range(U64(WIDE)):
            space.count[place, card] = 0
    for k in range(hands):
        hand = space.hands[k]
        place = space.place[space.kind[hand]]
        space.count[place, LOWER[hand]] += EACH
        space.count[place, UPPER[hand]] += EACH
        space.count[place, ALL] += EACH
    for card in range(U64(WIDE)):
        space.below[0, card] = 0
    for place in range(places):
        for card in range(U64(WIDE)):
            space.below[place + ONE, card] = space.below[place, card] + space.count[place, card]
    for k in range(hands):
        hand = space.hands[k]
        a, b, place = LOWER[hand], UPPER[hand], space.place[space.kind[hand]]
        space.wins[hand] = space.below[place, ALL] - space.below[place, a] - space.below[place, b]
        # The hand itself is counted once and taken away twice.
        space.ties[hand] = space.count[place, ALL] - space.count[place, a] - space.count[place, b] + EACH
    return hands, places


@part
def board_of(cards):
    """A board, or a hand, as masks of ranks."""
    board = ZERO
    for k in range(U64(len(cards))):
        board = with_card(board, cards[k])
    return board


@part
def run_outs(dead, left, space):
    """List what can still come, `left` cards from 0 to 2, in space.boards; returns how many."""
    if left == 0:
        space.boards[0] = ZERO
        return ONE
    count = ZERO
    for x in range(CARDS):
        one = CARD_MASK[x]
        if one & dead:
            continue
        if left == 1:
            space.boards[count] = one
            count += ONE
            continue
        for y in range(x + ONE, CARDS):
            if not CARD_MASK[y] & dead:
                space.boards[count] = one | CARD_MASK[y]
                count += ONE
    return count


@part
def number_hands(cards, hands, plan, space):
    """The number up to suit isomorphism of each hand on a board: space.index[hand]."""
    for k in range(U64(len(cards))):
        space.cards[k + TWO] = cards[k]
    for k in range(hands):
        hand = space.hands[k]
        space.cards[0], space.cards[1] = LOWER[hand], UPPER[hand]
        space.index[hand] = number_of(space.cards, plan, space.code, space.number)


@part
def ahead_of(hand, space):
    """Twice the wins plus the ties of a hand in the last showdown."""
    return TWO * space.wins[hand] + space.ties[hand]


# Tables. Each board stands for all that differ by a renaming of suits; such hands on it get the same entry twice.


@kernel
def fill_figures(boards, plan, figures, counts, rows, space):
    """Figures by number of each hand on some boards of three to five cards: its histogram if that has bins, else
    the rest. boards: uint8[n, k]; counts: uint16[1326, bins], to work in. With rows, uint64[n x hands], figures are one
    after the other instead, and rows are their numbers."""
    ahead, wins, ties, squares, histogram = figures
    bins, left, sums = U64(histogram.shape[1]), 5 - boards.shape[1], space.sums
    if bins:
        for both in range(RIVER + ONE):
            space.bin_at[both] = bin_of(both, bins)
    for n in range(len(boards)):
        board = board_of(boards[n])
        sums[:] = 0
        counts[:] = 0
        for r in range(run_outs(board, left, space) if left else ZERO):
            hands, _ = showdown(board | space.boards[r], ZERO, space)
            for k in range(hands if bins else ZERO):
                hand = space.hands[k]
                counts[hand, space.bin_at[ahead_of(hand, space)]] += EACH
            for k in range(ZERO if bins else hands):
                hand = space.hands[k]
                won, tied = np.uint32(space.wins[hand]), np.uint32(space.ties[hand])
                both = won + won + tied
                sums[hand, 0] += won
                sums[hand, 1] += tied
                sums[hand, 2] += both * both
        hands, _ = showdown(board, ZERO, space)
        number_hands(boards[n], hands, plan, space)
        for k in range(hands):
            hand = space.hands[k]
            at = space.index[hand]
            if len(rows):
                place = U64(n) * hands + k
                rows[place] = at
                at = place
            for b in range(bins):
                histogram[at, b] = counts[hand, b]
            if not bins:
                ahead[at] = ahead_of(hand, space)
                if left:
                    wins[at], ties[at], squares[at] = sums[hand, 0], sums[hand, 1], sums[hand, 2]


@part
def bin_of(both, bins):
    """The bin of a strength on the river, twice the wins plus the ties: the last one is closed at both ends."""
    return min(both * bins // RIVER, bins - ONE)


@kernel
def add_preflop(boards, weight, class_of, figures, space):
    """Add sums over all hands of a class before the flop and some boards of five, each with its weight.

    boards: uint8[n, 5]; weight: int64[n]; class_of: uint64[1326]; figures: int64, by class.
    """
    _, wins, ties, squares, histogram = figures
    bins = U64(histogram.shape[1])
    for n in range(len(boards)):
        hands, _ = showdown(board_of(boards[n]), ZERO, space)
        for k in range(hands):
            hand = space.hands[k]
            kind = class_of[hand]
            won, tied = np.int64(space.wins[hand]), np.int64(space.ties[hand])
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


@kernel
def add_classes(boards, weight, class_of, wins, passed, ends, space):
    """Add how often hands of a class beat hands of another, on some boards of five, each with its weight.

    Hands are passed in the order of their value. Those of each class that have been passed are counted, also by the
    cards they hold, so a hand meets all weaker ones in one row of additions. boards: uint8[n, 5]; weight: int32[n];
    class_of: uint64[1326]; wins: int32[169, 169], where 12 * 12 hands on 1,712,304 boards have room. To work in:
    passed: int16[53, 169], by card and in all; ends: uint64[2, 1326].
    """
    total, end, order = passed[52], ends[0], ends[1]
    for n in range(len(boards)):
        hands, places = showdown(board_of(boards[n]), ZERO, space)
        for place in range(places):
            end[place] = space.below[place, ALL]
        for k in range(hands):
            place = space.place[space.kind[space.hands[k]]]
            order[end[place]] = space.hands[k]
            end[place] += ONE
        passed[:] = 0
        first = ZERO
        for place in range(places):
            for k in range(first, end[place]):
                hand = order[k]
                add_row(wins[class_of[hand]], total, passed[LOWER[hand]], passed[UPPER[hand]], weight[n])
            for k in range(first, end[place]):
                kind = class_of[order[k]]
                total[kind] += np.int16(1)
                passed[LOWER[order[k]], kind] += np.int16(1)
                passed[UPPER[order[k]], kind] += np.int16(1)
            first = end[place]


# Without tables


@kernel
def add_hands(hands, figures, space):
    """Add the same figures for single hands on boards of three to five cards. hands: uint8[n, 5 to 7], the board last;
    figures: int64, by hand."""
    ahead, wins, ties, squares, histogram = figures
    bins = U64(histogram.shape[1])
    for n in range(len(hands)):
        hand = hand_of(U64(hands[n, 0]), U64(hands[n, 1]))
        board = board_of(hands[n, 2:])
        showdown(board, ZERO, space)
        ahead[n] = ahead_of(hand, space)
        for r in range(run_outs(board | MASK_OF[hand], 7 - hands.shape[1], space)):
            showdown(board | space.boards[r], ZERO, space)
            both = ahead_of(hand, space)
            wins[n] += space.wins[hand]
            ties[n] += space.ties[hand]
            squares[n] += both * both
            if bins:
                histogram[n, bin_of(both, bins)] += 1
