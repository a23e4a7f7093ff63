"""All hands on boards, in the order of `cards/boards.py`: how strong they are, what they were a round before, how often
they come to what a round later, and which a renaming of suits turns into one another.

Hands are numbered by places i < j of their cards among those that are not on the board. A board stands for all that a
renaming makes of it: where something is summed over the boards that continue one, each *image* of a kept board counts,
under the renamings that leave the board before alone, and a hand goes with it.
"""

from __future__ import annotations

import numpy as np

from kibitz.cards.kernels.boards import packed, place_of
from kibitz.cards.kernels.isomorphism import number_of
from kibitz.cards.kernels.strength import board_of, showdown, space_of
from kibitz.core.jit import ONE, TWO, U64, kernel, maker, part

SCRATCH = (6, 64)  # int64: room for the kernels here that ask for it


# Strength in the last round


@maker
def ahead_of_pairs(boards, gone, ahead):
    """Twice the wins plus the ties of each hand of two cards on boards of three to five. gone: bits of cards that are
    not in the deck; ahead: uint16[n, hands]."""
    fill_ahead(boards, gone, ahead, space_of())


@part
def fill_ahead(boards, gone, ahead, space):
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        live, _ = showdown(board, dead | gone, space)
        at = U64(0)
        for i in range(U64(0), live):
            low = space.live[i]
            for j in range(i + ONE, live):
                hand = space.live[j] * (space.live[j] - ONE) // TWO + low
                ahead[n, at] = TWO * space.wins[hand] + space.ties[hand]
                at += ONE


@kernel
def ahead_of_values(values, places, ahead):
    """The same from what hands are worth: values int64[n, hands], places [hands, hole]. Each meets each."""
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


@maker
def look_up(boards, gone, plan, figures, out):
    """Figures of hands of two cards by number up to names of suits (`cards/isomorphism.py`, the board as one round),
    for all hands on boards. out: [n, hands]."""
    fill_figures(
        boards, gone, plan, figures, out,
        np.zeros(7, np.uint8), np.zeros(4, np.uint64), np.zeros(4, np.uint64), np.zeros(52, np.uint8),
    )  # fmt: skip


@part
def fill_figures(boards, gone, plan, figures, out, cards, code, number, live):
    for n in range(len(boards)):
        _, dead = board_of(boards[n])
        left = U64(0)
        for card in range(U64(52)):
            if not ((dead | gone) >> card) & ONE:
                live[left] = card
                left += ONE
        for k in range(U64(boards.shape[1])):
            cards[k + TWO] = boards[n, k]
        at = U64(0)
        for i in range(left):
            cards[0] = live[i]
            for j in range(i + ONE, left):
                cards[1] = live[j]
                out[n, at] = figures[number_of(cards, plan, code, number)]
                at += ONE


# From round to round


@part
def places_before(above, cards, deck, place, rename, out):
    """Where the cards that are not on a board are found on the board before it, after a renaming; returns how many."""
    left = 0
    for d in range(deck.shape[0]):
        card = deck[d]
        free = True
        for k in range(cards.shape[0]):
            if cards[k] == card:
                free = False
        if free:
            here = place[rename[card]]
            rank = here
            for k in range(above.shape[0]):
                rank -= place[above[k]] < here
            out[left] = rank
            left += 1
    return left


@kernel
def lift(above, cards, table, upper, deck, place, rename, hole, scratch, out):
    """For each hand on boards what a table of the round before says of it. above: the board before each; upper [boards
    before, k]; table [boards before, hands]; out [boards, hands]."""
    ranks = scratch[0]
    for n in range(cards.shape[0]):
        b = above[n]
        left = places_before(upper[b], cards[n], deck, place, rename[0], ranks)
        before = deck.shape[0] - upper.shape[1]
        at = 0
        for i in range(left):
            if hole == 1:
                out[n, at] = table[b, ranks[i]]
                at += 1
                continue
            for j in range(i + 1, left):
                out[n, at] = table[b, place_of(ranks[i], ranks[j], before)]
                at += 1


@part
def next_image(group, at, board, new, rename, keys, found, scratch, sorting):
    """The next renaming from `at` on that leaves the board before alone and turns new cards into a new set; else -1."""
    for p in range(at, rename.shape[0]):
        if not (group >> p) & 1:
            continue
        for i in range(new):
            scratch[i] = rename[p, board[board.shape[0] - new + i]]
        key = packed(scratch, new, sorting)
        fresh = True
        for k in range(found):
            if keys[k] == key:
                fresh = False
        if fresh:
            keys[found] = key
            return p
    return -1


@kernel
def add_values(upper, group, below, cards, first, values, deck, place, rename, hole, scratch, out):
    """Sums over all boards that continue a board, of a value of each hand on them, are added to out [boards, hands].

    upper, group: the boards before; below: where boards that continue each begin, counted from `first`, the first
    of `cards` and `values`.
    """
    ranks, keys, image, sorting = scratch[0], scratch[1], scratch[2], scratch[3]
    new = cards.shape[1] - upper.shape[1]
    before = deck.shape[0] - upper.shape[1]
    for b in range(upper.shape[0]):
        for c in range(below[b] - first, below[b + 1] - first):
            found = 0
            p = next_image(group[b], 0, cards[c], new, rename, keys, found, image, sorting)
            while p >= 0:
                found += 1
                left = places_before(upper[b], cards[c], deck, place, rename[p], ranks)
                at = 0
                for i in range(left):
                    if hole == 1:
                        out[b, ranks[i]] += values[c, at]
                        at += 1
                        continue
                    for j in range(i + 1, left):
                        low, high = min(ranks[i], ranks[j]), max(ranks[i], ranks[j])
                        out[b, place_of(low, high, before)] += values[c, at]
                        at += 1
                p = next_image(group[b], p + 1, cards[c], new, rename, keys, found, image, sorting)


@kernel
def add_counts(upper, group, below, cards, first, codes, context, cut, deck, place, rename, hole, scratch, out):
    """How often hands come to each bucket a round later is added to out [boards, hands, buckets].

    As `add_values`; codes [n, hands] say what a hand is a round later, and cut [contexts, codes] to which bucket that
    is, in the context [boards, hands] of the hand.
    """
    ranks, keys, image, sorting = scratch[0], scratch[1], scratch[2], scratch[3]
    new = cards.shape[1] - upper.shape[1]
    before = deck.shape[0] - upper.shape[1]
    for b in range(upper.shape[0]):
        for c in range(below[b] - first, below[b + 1] - first):
            found = 0
            p = next_image(group[b], 0, cards[c], new, rename, keys, found, image, sorting)
            while p >= 0:
                found += 1
                left = places_before(upper[b], cards[c], deck, place, rename[p], ranks)
                at = 0
                for i in range(left):
                    if hole == 1:
                        h = ranks[i]
                        out[b, h, cut[context[b, h], codes[c, at]]] += 1
                        at += 1
                        continue
                    for j in range(i + 1, left):
                        h = place_of(min(ranks[i], ranks[j]), max(ranks[i], ranks[j]), before)
                        out[b, h, cut[context[b, h], codes[c, at]]] += 1
                        at += 1
                p = next_image(group[b], p + 1, cards[c], new, rename, keys, found, image, sorting)


@kernel
def add_histogram(above, total, cards, codes, context, upper, deck, place, rename, hole, scratch, out):
    """How many deals of each context of the round before come to each code is added to out [contexts, codes]."""
    ranks = scratch[0]
    before = deck.shape[0] - upper.shape[1]
    for n in range(cards.shape[0]):
        b = above[n]
        left = places_before(upper[b], cards[n], deck, place, rename[0], ranks)
        at = 0
        for i in range(left):
            if hole == 1:
                out[context[b, ranks[i]], codes[n, at]] += total[n]
                at += 1
                continue
            for j in range(i + 1, left):
                out[context[b, place_of(ranks[i], ranks[j], before)], codes[n, at]] += total[n]
                at += 1


# Hands that renamings turn into one another


@kernel
def number_classes(cards, group, deck, place, rename, hole, scratch, start, out):
    """Numbers, from `start` on, that hands share which a renaming that leaves the board alone turns into one another.

    out [boards, hands]; returns the next number.
    """
    ranks, live = scratch[0], scratch[1]
    for n in range(cards.shape[0]):
        left = 0
        for d in range(deck.shape[0]):
            free = True
            for k in range(cards.shape[1]):
                if cards[n, k] == deck[d]:
                    free = False
            if free:
                live[left] = deck[d]
                left += 1
        for at in range(out.shape[1]):
            out[n, at] = at
        for p in range(rename.shape[0]):
            if not (group[n] >> p) & 1:
                continue
            for i in range(left):
                here = place[rename[p, live[i]]]
                rank = here
                for k in range(cards.shape[1]):
                    rank -= place[cards[n, k]] < here
                ranks[i] = rank
            at = 0
            for i in range(left):
                if hole == 1:
                    out[n, at] = min(out[n, at], ranks[i])
                    at += 1
                    continue
                for j in range(i + 1, left):
                    low, high = min(ranks[i], ranks[j]), max(ranks[i], ranks[j])
                    out[n, at] = min(out[n, at], place_of(low, high, left))
                    at += 1
        for at in range(out.shape[1]):
            if out[n, at] == at:
                out[n, at] = start
                start += 1
            else:
                out[n, at] = out[n, out[n, at]]
    return start


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
    found = -1
    for k in range(keys.shape[0]):
        metric = keys[k] >> U64(5)
        if found < 0 or values[found] != metric:
            found += 1
            values[found] = metric
            weights[found] = 0
        weights[found] += np.int64(keys[k] & U64(31))
    return found + 1


@kernel
def apply_cuts(parent, metric, first, least, out):
    """The bucket of each hand: the last one of its parent that asks for no more than it has."""
    for n in range(parent.shape[0]):
        for h in range(parent.shape[1]):
            low, high = first[parent[n, h]], first[parent[n, h] + 1]
            value = U64(metric[n, h])
            while low + 1 < high:
                middle = (low + high) // 2
                if least[middle] <= value:
                    low = middle
                else:
                    high = middle
            out[n, h] = low
