"""Ranges of Texas hold'em against each other: over all boards, by lists of deals or by running sums, and sampled.

A set of cards is four masks of ranks in a word, as in `ranking`; two sets share a card if their words share a bit. A
*deal* is one hand for each seat, no card twice. Boards that differ by a renaming of suits under which all ranges are
the same have the same showdowns, so one of them is taken, as often as there are such boards.
"""

from __future__ import annotations

import numpy as np

from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.cards.kernels.strength import ALL, CARDS, HANDS, KINDS, MASK_OF, WIDE, ZERO, hand_of, sort_kinds, space_of
from kibitz.core.jit import ONE, TWO, U64, kernel, maker, part
from kibitz.core.random import GOLDEN, mix

HALF = U64(32)
SUIT, FIELD = U64(16), U64(0xFFFF)
UNIT = 1.0 / (1 << 53)
ELEVEN = U64(11)
NONE = np.uint32(0)
NOBODY = U64(HANDS)
SCARCE = 0.05  # chance below which a hand is looked for, and not drawn until it fits
LOWER = np.array([a for b in range(52) for a in range(b)], np.uint64)
UPPER = np.array([b for b in range(52) for a in range(b)], np.uint64)


# Boards


@part
def renamed(cards, suits):
    """Cards with suit s called suits[s]."""
    found = ZERO
    for s in range(U64(4)):
        found |= ((cards >> (s * SUIT)) & FIELD) << (suits[s] * SUIT)
    return found


@maker
def list_boards(shown, dead, left, group, boards, times):
    """Boards of five up to a group of renamings, and how many each stands for; returns how many there are.

    shown: cards on the table, which no renaming of the group moves; dead: cards that cannot come, shown ones too; left:
    cards to come; group: uint64[g, 4], the identity first; boards: uint64[all boards]; times: uint8 of the same length.
    """
    return fill_boards(
        U64(shown), U64(dead), left, group, boards, times,
        np.zeros(52, np.uint64), np.zeros(6, np.int64), np.zeros(6, np.uint64),
    )  # fmt: skip


@part
def fill_boards(shown, dead, left, group, boards, times, live, at, path):
    cards = 0
    for card in range(CARDS):
        if not with_card(ZERO, card) & dead:
            live[cards] = card
            cards += 1
    found = ZERO
    path[0] = shown
    k = 0
    while k >= 0:
        # k cards are dealt; at[k] is the next one to try.
        if k == left:
            board = path[k]
            same = ONE
            for g in range(ONE, U64(len(group))):
                other = renamed(board, group[g])
                if other < board:
                    same = ZERO
                    break
                if other == board:
                    same += ONE
            if same:
                boards[found] = board
                times[found] = U64(len(group)) // same
                found += ONE
            k -= 1
            continue
        j = at[k]
        if j + left - k > cards:
            k -= 1
            continue
        at[k] = j + 1
        path[k + 1] = with_card(path[k], live[j])
        at[k + 1] = j + 1
        k += 1
    return found


# Deals


@kernel
def walk_deals(masks, weights, first, most, steps, deals, unions, products, at, used):
    """Count deals, and list them where `deals` has room; returns how many, or -1 if there were too many steps.

    masks, weights: the hands of all seats, those of seat s from first[s] to first[s + 1]; it stops after `most` deals.
    deals: int32[n, seats], places in masks; unions: uint64[n], all cards; products: float64[n], of weights. at:
    int64[seats]; used: uint64[seats + 1], zero.
    """
    seats = len(first) - 1
    found = 0
    s = 0
    at[0] = first[0]
    while s >= 0:
        if steps == 0:
            return -1
        steps -= 1
        k = at[s]
        if k == first[s + 1]:
            s -= 1
            continue
        at[s] = k + 1
        if masks[k] & used[s]:
            continue
        used[s + 1] = used[s] | masks[k]
        if s + 1 < seats:
            s += 1
            at[s] = first[s]
            continue
        if found < len(deals):
            product = 1.0
            for i in range(seats):
                deals[found, i] = at[i] - 1
                product *= weights[at[i] - 1]
            unions[found] = used[seats]
            products[found] = product
        found += 1
        if found == most:
            return found
    return found


@maker
def meet_listed(boards, times, masks, deals, unions, products, found):
    """All deals of a list on some boards. found: float64[seats, 3], wins, ties and shares of pots, added to.

    Arguments as of `list_boards` and `walk_deals`.
    """
    values, sums = np.zeros(len(masks), np.uint32), np.zeros((deals.shape[1], 3))
    sum_listed(boards, times, masks, deals, unions, products, found, values, sums)


@part
def sum_listed(boards, times, masks, deals, unions, products, found, values, sums):
    seats = U64(deals.shape[1])
    for n in range(U64(len(boards))):
        board = boards[n]
        for h in range(U64(len(masks))):
            values[h] = NONE if masks[h] & board else value_of(masks[h] | board)
        for s in range(seats):
            sums[s, 0] = sums[s, 1] = sums[s, 2] = 0.0
        for t in range(U64(len(deals))):
            if unions[t] & board:
                continue
            best, winner, winners = NONE, ZERO, ZERO
            for s in range(seats):
                value = values[U64(deals[t, s])]
                if value > best:
                    best, winner, winners = value, s, ONE
                elif value == best:
                    winners += ONE
            if winners == ONE:
                sums[winner, 0] += products[t]
                continue
            share = products[t] / winners
            for s in range(winner, seats):
                if values[U64(deals[t, s])] == best:
                    sums[s, 1] += products[t]
                    sums[s, 2] += share
        for s in range(seats):
            found[s, 0] += times[n] * sums[s, 0]
            found[s, 1] += times[n] * sums[s, 1]
            found[s, 2] += times[n] * (sums[s, 0] + sums[s, 2])


# Two ranges at once


@maker
def meet_sorted(boards, times, one, other, found):
    """Two ranges on some boards, without a list of deals. one, other: float64[1326] weights; found: float64[3] wins,
    ties, and the weight of all deals, added to."""
    sum_sorted(
        boards, times, one, other, found, space_of(), np.zeros((KINDS, WIDE)), np.zeros((KINDS + 1, WIDE))
    )  # fmt: skip


@part
def sum_sorted(boards, times, one, other, found, space, count, below):
    # count: the other's weight in a place, by card and in all; below: of all places below
    for n in range(U64(len(boards))):
        board = boards[n]
        live = ZERO
        for card in range(CARDS):
            if not with_card(ZERO, card) & board:
                space.live[live] = card
                live += ONE
        places = sort_kinds(board, live, space)
        for place in range(places):
            for card in range(ALL + ONE):
                count[place, card] = 0.0
        for i in range(ONE, live):
            b = space.live[i]
            row = b * (b - ONE) // TWO
            for j in range(i):
                a = space.live[j]
                weight = other[row + a]
                if weight == 0.0:
                    continue
                place = space.place[space.kind[row + a]]
                count[place, a] += weight
                count[place, b] += weight
                count[place, ALL] += weight
        for card in range(ALL + ONE):
            below[0, card] = 0.0
        for place in range(places):
            for card in range(ALL + ONE):
                below[place + ONE, card] = below[place, card] + count[place, card]
        wins, ties, every = 0.0, 0.0, 0.0
        for i in range(ONE, live):
            b = space.live[i]
            row = b * (b - ONE) // TWO
            for j in range(i):
                a = space.live[j]
                weight = one[row + a]
                if weight == 0.0:
                    continue
                place = space.place[space.kind[row + a]]
                wins += weight * (below[place, ALL] - below[place, a] - below[place, b])
                # The same hand is counted once and taken away twice.
                same = other[row + a]
                ties += weight * (count[place, ALL] - count[place, a] - count[place, b] + same)
                every += weight * (below[places, ALL] - below[places, a] - below[places, b] + same)
        found[0] += times[n] * wins
        found[1] += times[n] * ties
        found[2] += times[n] * every


# Samples


@maker
def sample_deals(numbers, edges, first, weights, by_card, seats, board, seed, begin, end, found):
    """Samples begin to end - 1 of deals and boards, with weights.

    The hands of the first seats are numbers[first[s]] to numbers[first[s + 1] - 1]; edges: running sums of their
    weights, 1 at the end of a seat; weights: float64[ranges, 1326] and by_card: float64[ranges, 52], all of a card,
    which sum to 1 and 2 in a seat; board: uint8[0 to 5]. Other seats hold random hands. found: float64[seats + 1, 5],
    added to: weights of wins, of ties, of shares, squares of weights times shares, and times squares of shares; in the
    last row the weights and their squares.

    Each seat draws one of the hands that those before it leave, and the weight of the sample is the product of the
    chances that it had to find one: so means by weight are those over all deals. Random hands are dealt in the end,
    from the rest, of which there are always as many. Each sample has random numbers of its own, whoever draws others.
    """
    draw_deals(
        numbers, edges, first, weights, by_card, U64(seats), board, U64(seed), U64(begin), U64(end), found,
        np.zeros(seats, np.uint64), np.zeros(seats, np.uint32), np.zeros(52, np.uint64),
    )  # fmt: skip


@part
def dealt(taken, random):
    """A card that is not taken, and the random numbers from there on."""
    while True:
        random += GOLDEN
        bit = with_card(ZERO, ((mix(random) >> HALF) * CARDS) >> HALF)
        if not bit & taken:
            return bit, random


@part
def chance_left(weights, by_card, cards, count):
    """The chance of hands that hold none of some cards."""
    left = 1.0
    for i in range(count):
        b = cards[i]
        left -= by_card[b]
        for j in range(i):
            left += weights[hand_of(cards[j], b)]
    return left


@part
def place_of(edges, low, high, at):
    """The first place from low to high whose edge is above."""
    while low < high:
        middle = (low + high) >> ONE
        if edges[middle] > at:
            high = middle
        else:
            low = middle + ONE
    return low


@part
def drawn_hand(numbers, edges, weights, low, high, chance, taken, random):
    """One of the hands that hold none of the cards taken, or NOBODY; their chance, and the random numbers."""
    if chance > SCARCE:
        while True:
            random += GOLDEN
            hand = numbers[place_of(edges, low, high - ONE, (mix(random) >> ELEVEN) * UNIT)]
            if not MASK_OF[hand] & taken:
                return hand, chance, random
    chance = 0.0  # again, without rounding away what is little
    for k in range(low, high):
        if not MASK_OF[numbers[k]] & taken:
            chance += weights[numbers[k]]
    random += GOLDEN
    at = (mix(random) >> ELEVEN) * UNIT * chance
    last = NOBODY
    for k in range(low, high):
        hand = numbers[k]
        if MASK_OF[hand] & taken:
            continue
        last = hand
        at -= weights[hand]
        if at < 0.0:
            break
    return last, chance, random


@part
def draw_deals(
    numbers, edges, first, weights, by_card, seats, board, seed, begin, end, found, hands, values, cards
):  # fmt: skip
    ranges = U64(len(first) - 1)
    key = mix(seed + GOLDEN)
    shown = ZERO
    for k in range(len(board)):
        shown = with_card(shown, board[k])
    for sample in range(begin, end):
        random = mix(key ^ mix(sample * GOLDEN + ONE))
        taken = shown
        weight = 1.0
        count = ZERO  # of cards in the hands; no range holds those of the board
        for s in range(ranges):
            chance = chance_left(weights[s], by_card[s], cards, count) if s > ZERO else 1.0
            hand, chance, random = drawn_hand(
                numbers, edges, weights[s], U64(first[s]), U64(first[s + ONE]), chance, taken, random
            )  # fmt: skip
            if hand == NOBODY:
                weight = 0.0
                break
            weight *= chance
            hands[s] = MASK_OF[hand]
            taken |= hands[s]
            cards[count], cards[count + ONE] = LOWER[hand], UPPER[hand]
            count += TWO
        if weight == 0.0:
            continue
        for s in range(ranges, seats):
            one, random = dealt(taken, random)
            other, random = dealt(taken | one, random)
            hands[s] = one | other
            taken |= hands[s]
        ranks = shown
        for _ in range(len(board), 5):
            bit, random = dealt(taken, random)
            ranks |= bit
            taken |= bit
        best, winner, winners = NONE, ZERO, ZERO
        for s in range(seats):
            values[s] = value_of(hands[s] | ranks)
            if values[s] > best:
                best, winner, winners = values[s], s, ONE
            elif values[s] == best:
                winners += ONE
        square = weight * weight
        share = 1.0 / winners
        for s in range(winner, seats):
            if values[s] == best:
                found[s, 0 if winners == ONE else 1] += weight
                found[s, 2] += weight * share
                found[s, 3] += square * share
                found[s, 4] += square * share * share
        found[seats, 0] += weight
        found[seats, 1] += square
