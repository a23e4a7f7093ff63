"""All hands on boards, in the order of `cards/boards.py`: how strong they are, what they were a round before, how often
they come to what a round later, and which a renaming of suits turns into one another.

Hands are numbered by places i < j of their cards among those that are not on the board. A board stands for all that a
renaming makes of it: where something is summed over the boards that continue one, each *image* of a kept board counts,
under the renamings that leave the board before alone, and a hand goes with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.boards import last_at_most, list_free, packed, place_of
from kibitz.cards.kernels.isomorphism import number_of
from kibitz.cards.kernels.strength import ahead_of, board_of, list_live, showdown
from kibitz.core.jit import ONE, TWO, U64, kernel, part


class DeckTables(NamedTuple):
    """The cards of a game, the renamings of its suits, and a workspace of one thread."""

    deck: np.ndarray  # int64[cards]
    place: np.ndarray  # int64[52]  where a card stands in the deck
    rename: np.ndarray  # int64[renamings, 52]  what each renaming makes of a card
    hole: int  # private cards
    scratch: np.ndarray  # int64[5, 64]
    hand: np.ndarray  # int64[1326]  numbers of hands, by `hands_before`


class BoardFamily(NamedTuple):
    """Some boards, and those of the next round that continue them."""

    upper: np.ndarray  # uint8[B, k]
    group: np.ndarray  # int64[B]  bits of the renamings that leave a board alone
    below: np.ndarray  # int64[B + 1]  where boards that continue each begin, counted from `first`
    cards: np.ndarray  # uint8[n, k + new]  the boards that continue them
    first: int


# Strength in the last round


@kernel
def ahead_of_pairs(boards, gone, ahead, space):
    """Twice the wins plus the ties of each hand of two cards on boards of three to five. gone: masks of cards that are
    not in the deck; ahead: uint16[n, hands]."""
    for n in range(len(boards)):
        board = board_of(boards[n])
        showdown(board, gone, space)
        live = list_live(board | gone, space.live)
        at = U64(0)
        for i in range(live):
            low = space.live[i]
            for j in range(i + ONE, live):
                ahead[n, at] = ahead_of(space.live[j] * (space.live[j] - ONE) // TWO + low, space)
                at += ONE


@kernel
def ahead_of_values(values, places, ahead):
    """The same from the values of hands: values int64[n, hands], places [hands, hole]. Each meets each."""
    hole = places.shape[1]
    for n in range(values.shape[0]):
        for h in range(values.shape[1]):
            total = 0
            for g in range(values.shape[1]):
                apart = True
                for a in range(hole):
                    for b in range(hole):
                        if places[h, a] == places[g, b]:
                            apart = False
                if apart:
                    total += 2 if values[n, h] > values[n, g] else 1 if values[n, h] == values[n, g] else 0
            ahead[n, h] = total


@kernel
def look_up(boards, gone, plan, figures, out, space):
    """Figures of hands of two cards by number up to suit isomorphism (`cards/isomorphism.py`, the board as one round),
    for all hands on boards. out: [n, hands]."""
    for n in range(len(boards)):
        live = list_live(board_of(boards[n]) | gone, space.live)
        for k in range(U64(boards.shape[1])):
            space.cards[k + TWO] = boards[n, k]
        at = U64(0)
        for i in range(live):
            space.cards[0] = space.live[i]
            for j in range(i + ONE, live):
                space.cards[1] = space.live[j]
                out[n, at] = figures[number_of(space.cards, plan, space.code, space.number)]
                at += ONE


# From round to round


@part
def hands_before(above, cards, p, tables):
    """The number, on the board before, of each hand on a board, after a renaming: tables.hand. Returns how many."""
    deck, place, ranks = tables.deck, tables.place, tables.scratch[0]
    left = list_free(cards, deck, ranks)
    for i in range(left):
        here = place[tables.rename[p, ranks[i]]]
        ranks[i] = here
        for k in range(above.shape[0]):
            ranks[i] -= place[above[k]] < here
    if tables.hole == 1:
        for i in range(left):
            tables.hand[i] = ranks[i]
        return left
    before, row, at = deck.shape[0] - above.shape[0], tables.scratch[4], 0
    for low in range(before):
        row[low] = place_of(low, 0, before)
    for i in range(left):
        for j in range(i + 1, left):
            tables.hand[at] = row[min(ranks[i], ranks[j])] + max(ranks[i], ranks[j])
            at += 1
    return at


@kernel
def lift(above, cards, table, upper, tables, out):
    """For each hand on boards what a table of the round before says of it. above: the board before each; upper [boards
    before, k]; table [boards before, hands]; out [boards, hands]."""
    for n in range(cards.shape[0]):
        b = above[n]
        for h in range(hands_before(upper[b], cards[n], 0, tables)):
            out[n, h] = table[b, tables.hand[h]]


@part
def next_image(group, at, board, new, count, tables):
    """The next renaming from `at` on that leaves the board before alone and turns new cards into a set that is not
    among `count` earlier ones; else -1."""
    keys, image = tables.scratch[1], tables.scratch[2]
    for p in range(at, tables.rename.shape[0]):
        if not (group >> p) & 1:
            continue
        for i in range(new):
            image[i] = tables.rename[p, board[board.shape[0] - new + i]]
        key = packed(image, new, tables.scratch[3])
        fresh = True
        for k in range(count):
            if keys[k] == key:
                fresh = False
        if fresh:
            keys[count] = key
            return p
    return -1


@kernel
def add_values(family, values, tables, out):
    """Sums over all boards that continue a board, of a value of each hand on them, are added to out [boards, hands].

    values [n, hands]: on the boards of family.cards.
    """
    upper, group, below, cards, first = family
    new = cards.shape[1] - upper.shape[1]
    for b in range(upper.shape[0]):
        for c in range(below[b] - first, below[b + 1] - first):
            images, p = 0, next_image(group[b], 0, cards[c], new, 0, tables)
            while p >= 0:
                for h in range(hands_before(upper[b], cards[c], p, tables)):
                    out[b, tables.hand[h]] += values[c, h]
                images += 1
                p = next_image(group[b], p + 1, cards[c], new, images, tables)


@kernel
def add_counts(family, codes, context, cut, tables, out):
    """How often hands come to each bucket a round later is added to out [boards, hands, buckets].

    As `add_values`; codes [n, hands] say what a hand is a round later, and cut [contexts, codes] to which bucket that
    is, in the context [boards, hands] of the hand.
    """
    upper, group, below, cards, first = family
    new = cards.shape[1] - upper.shape[1]
    for b in range(upper.shape[0]):
        for c in range(below[b] - first, below[b + 1] - first):
            images, p = 0, next_image(group[b], 0, cards[c], new, 0, tables)
            while p >= 0:
                for h in range(hands_before(upper[b], cards[c], p, tables)):
                    hand = tables.hand[h]
                    out[b, hand, cut[context[b, hand], codes[c, h]]] += 1
                images += 1
                p = next_image(group[b], p + 1, cards[c], new, images, tables)


@kernel
def add_histogram(above, total, cards, codes, context, upper, tables, out):
    """How many deals of each context of the round before come to each code is added to out [contexts, codes]."""
    for n in range(cards.shape[0]):
        b = above[n]
        for h in range(hands_before(upper[b], cards[n], 0, tables)):
            out[context[b, tables.hand[h]], codes[n, h]] += total[n]


# Hands that renamings turn into one another


@kernel
def number_classes(cards, group, tables, out):
    """Numbers that hands share which a renaming that leaves the board alone turns into one another.

    out [boards, hands]; returns how many numbers there are.
    """
    count = 0
    for n in range(cards.shape[0]):
        for h in range(out.shape[1]):
            out[n, h] = h
        for p in range(tables.rename.shape[0]):
            if (group[n] >> p) & 1:
                for h in range(hands_before(cards[n], cards[n], p, tables)):
                    out[n, h] = min(out[n, h], tables.hand[h])
        for h in range(out.shape[1]):
            if out[n, h] == h:
                out[n, h] = count
                count += 1
            else:
                out[n, h] = out[n, out[n, h]]
    return count


# Cuts


@kernel
def count_parents(parent, counts):
    """How many hands on boards have each parent."""
    for n in range(parent.shape[0]):
        for h in range(parent.shape[1]):
            counts[parent[n, h]] += 1


@kernel
def pack_keys(parent, metric, total, at, keys):
    """Hands by parent, as metric * 32 + the boards that theirs stands for: at [parents], where those of each begin."""
    for n in range(parent.shape[0]):
        for h in range(parent.shape[1]):
            p = parent[n, h]
            keys[at[p]] = (U64(metric[n, h]) << U64(5)) | U64(total[n])
            at[p] += 1


@kernel
def merge_keys(keys, values, weights):
    """Sorted keys of one parent as distinct metrics and their weights; returns how many."""
    last = -1
    for k in range(keys.shape[0]):
        metric = keys[k] >> U64(5)
        if last < 0 or values[last] != metric:
            last += 1
            values[last] = metric
            weights[last] = 0
        weights[last] += np.int64(keys[k] & U64(31))
    return last + 1


@kernel
def apply_cuts(parent, metric, first, least, out):
    """The bucket of each hand: the last one of its parent that asks for no more than it has."""
    for n in range(parent.shape[0]):
        for h in range(parent.shape[1]):
            p = parent[n, h]
            out[n, h] = last_at_most(least, U64(metric[n, h]), first[p], first[p + 1])


@kernel
def list_renamed(cards, group, tables, out):
    """For each board, and each of its renamings `group` that leave it alone: what that makes of the hands there, as
    rows of out [rows, hands]; returns how many. A board that only one leaves alone, which changes nothing, has none."""
    live, place, image = tables.scratch[0], tables.scratch[1], tables.scratch[2]
    row = 0
    for b in range(cards.shape[0]):
        if not group[b] & (group[b] - 1):
            continue
        left = list_free(cards[b], tables.deck, live)
        for i in range(left):
            place[live[i]] = i
        for p in range(tables.rename.shape[0]):
            if not (group[b] >> p) & 1:
                continue
            for i in range(left):
                image[i] = place[tables.rename[p, live[i]]]
            if tables.hole == 1:
                for i in range(left):
                    out[row, i] = image[i]
            else:
                hand = 0
                for i in range(left):
                    for j in range(i + 1, left):
                        low, high = min(image[i], image[j]), max(image[i], image[j])
                        out[row, hand] = place_of(low, high, left)
                        hand += 1
            row += 1
    return row
