"""Ranges of Texas hold'em against each other: over all boards, by lists of deals or by running sums, and sampled.

A set of cards is four masks of ranks in a word, as in `ranking`; two sets share a card if their words share a bit. A
*deal* is one hand for each seat, no card twice. Boards that differ by a renaming of suits under which all ranges are
the same have the same showdowns, so one of them is taken, as often as there are such boards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.cards.kernels.strength import CARD_MASK, LOWER, MASK_OF, UPPER, board_of, hand_of, list_live, sort_hands
from kibitz.core.jit import ONE, TWO, U64, kernel, part
from kibitz.core.random import GOLDEN, mix

ZERO, HALF, CARDS = U64(0), U64(32), U64(52)
ALL = U64(52)  # the column of all cards
SUIT, FIELD = U64(16), U64(0xFFFF)
UNIT = 1.0 / (1 << 53)
ELEVEN = U64(11)
NONE = np.uint32(0)
NOBODY = U64(1326)  # not the number of a hand
SCARCE = 0.05  # chance below which a hand is looked for, and not drawn until it fits


class RangeHands(NamedTuple):
    """The hands of all seats, those of seat s from first[s] to first[s + 1]."""

    masks: np.ndarray  # uint64[n]
    weights: np.ndarray  # float64[n]
    first: np.ndarray  # int64[seats + 1]


class DealList(NamedTuple):
    """Deals, one hand a seat."""

    hands: np.ndarray  # int32[n, seats]  places in RangeHands.masks
    unions: np.ndarray  # uint64[n]  all cards
    products: np.ndarray  # float64[n]  of weights


class DrawTables(NamedTuple):
    """The ranges of the first seats, to be drawn from: hands numbers[first[s]] to numbers[first[s + 1] - 1]."""

    numbers: np.ndarray  # uint64[n]
    edges: np.ndarray  # float64[n]  running sums of weights, 1 at the end of a seat
    first: np.ndarray  # int64[ranges + 1]
    weights: np.ndarray  # float64[ranges, 1326]  which sum to 1
    by_card: np.ndarray  # float64[ranges, 52]  all of a card, which sum to 2


# Boards


@part
def renamed(cards, suits):
    """Cards with suit s called suits[s]."""
    moved = ZERO
    for s in range(U64(4)):
        moved |= ((cards >> (s * SUIT)) & FIELD) << (suits[s] * SUIT)
    return moved


@part
def next_board(k, cards, live, at, path):
    """Deal the next board, path[-1], after one that was complete at level k; returns its level, or -1 after the last.

    live: uint64[52], the first `cards` of them can come; at: int64[one more than the cards to come], the next one to
    try at a level; path: uint64 of the same length, the cards so far. The first board comes after level 1, at[0] = 0.
    """
    k, left = k - 1, len(path) - 1
    while 0 <= k < left:
        j = at[k]
        if j + left - k > cards:
            k -= 1
            continue
        at[k] = j + 1
        path[k + 1] = with_card(path[k], live[j])
        at[k + 1] = j + 1
        k += 1
    return k


@kernel
def list_boards(shown, dead, group, boards, times, live, at, path):
    """Boards of five up to a group of renamings, and how many each stands for; returns how many there are.

    shown: cards on the table, which no renaming of the group moves; dead: cards that cannot come, shown ones too;
    group: uint64[g, 4], the identity first; boards: uint64[all boards]; times: uint8 of the same length. The rest is as
    of `next_board`, to work in.
    """
    cards, count = np.int64(list_live(U64(dead), live)), ZERO
    path[0] = U64(shown)
    k = next_board(1, cards, live, at, path)
    while k >= 0:
        board, same = path[k], ONE
        for g in range(ONE, U64(len(group))):
            other = renamed(board, group[g])
            if other < board:
                same = ZERO
                break
            if other == board:
                same += ONE
        if same:
            boards[count] = board
            times[count] = U64(len(group)) // same
            count += ONE
        k = next_board(k, cards, live, at, path)
    return count


@kernel
def count_showdowns(hand, others, board, out, masks, live, at, path):
    """A hand against each of others on all boards. hand: uint8[2]; others: uint8[m, 2], which share no card with hand
    and board; board: uint8[0 to 5]; out: int64[3] wins, ties, losses, added to. To work in: masks: uint64[m], and the
    rest as of `next_board`."""
    mine, common = board_of(hand), ~ZERO
    for o in range(U64(len(others))):
        masks[o] = board_of(others[o])
        common &= masks[o]
    path[0] = board_of(board)
    cards = np.int64(list_live(mine | path[0] | common, live))  # cards that all others hold are never on the board
    k = next_board(1, cards, live, at, path)
    while k >= 0:
        whole = path[k]
        value = value_of(mine | whole)
        for o in range(U64(len(others))):
            if not masks[o] & whole:
                theirs = value_of(masks[o] | whole)
                out[0 if value > theirs else 1 if value == theirs else 2] += 1
        k = next_board(k, cards, live, at, path)


# Deals


@kernel
def walk_deals(hands, most, steps, deals, at, used):
    """Count deals, and list them where `deals` has room; returns how many, or -1 if there were too many steps.

    It stops after `most` deals. To work in: at: int64[seats]; used: uint64[seats + 1], zero.
    """
    masks, weights, first = hands
    places, unions, products = deals
    seats = len(first) - 1
    count = 0
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
        if count < len(places):
            product = 1.0
            for i in range(seats):
                places[count, i] = at[i] - 1
                product *= weights[at[i] - 1]
            unions[count] = used[seats]
            products[count] = product
        count += 1
        if count == most:
            return count
    return count


@kernel
def meet_listed(boards, times, masks, deals, out, values, sums):
    """All deals of a list on some boards. out: float64[seats, 3], wins, ties and shares of pots, added to. To work in:
    values: uint32[masks]; sums: float64[seats, 3]."""
    hands, unions, products = deals
    seats = U64(hands.shape[1])
    for n in range(U64(len(boards))):
        board = boards[n]
        for h in range(U64(len(masks))):
            values[h] = NONE if masks[h] & board else value_of(masks[h] | board)
        for s in range(seats):
            sums[s, 0] = sums[s, 1] = sums[s, 2] = 0.0
        for t in range(U64(len(hands))):
            if unions[t] & board:
                continue
            best, winner, winners = NONE, ZERO, ZERO
            for s in range(seats):
                value = values[U64(hands[t, s])]
                if value > best:
                    best, winner, winners = value, s, ONE
                elif value == best:
                    winners += ONE
            if winners == ONE:
                sums[winner, 0] += products[t]
                continue
            share = products[t] / winners
            for s in range(winner, seats):
                if values[U64(hands[t, s])] == best:
                    sums[s, 1] += products[t]
                    sums[s, 2] += share
        for s in range(seats):
            out[s, 0] += times[n] * sums[s, 0]
            out[s, 1] += times[n] * sums[s, 1]
            out[s, 2] += times[n] * (sums[s, 0] + sums[s, 2])


# Two ranges at once


@part
def weigh_places(other, hands, places, count, below, space):
    """The weight of a range in each place of a sorted board, by card and in all (count), and in all places below."""
    for place in range(places):
        for card in range(ALL + ONE):
            count[place, card] = 0.0
    for k in range(hands):
        hand = space.hands[k]
        if other[hand] != 0.0:
            place = space.place[space.kind[hand]]
            count[place, LOWER[hand]] += other[hand]
            count[place, UPPER[hand]] += other[hand]
            count[place, ALL] += other[hand]
    for card in range(ALL + ONE):
        below[0, card] = 0.0
    for place in range(places):
        for card in range(ALL + ONE):
            below[place + ONE, card] = below[place, card] + count[place, card]


@kernel
def meet_sorted(boards, times, one, other, out, count, below, space):
    """Two ranges on some boards, without a list of deals. one, other: float64[1326] weights; out: float64[3] wins,
    ties, and the weight of all deals, added to. count, below: float64 as of ShowdownWorkspace: the other's weight in a
    place, by card and in all, and of all places below."""
    for n in range(U64(len(boards))):
        hands, places = sort_hands(boards[n], ZERO, space)
        weigh_places(other, hands, places, count, below, space)
        wins, ties, every = 0.0, 0.0, 0.0
        for k in range(hands):
            hand = space.hands[k]
            if one[hand] != 0.0:
                a, b, place, weight = LOWER[hand], UPPER[hand], space.place[space.kind[hand]], one[hand]
                wins += weight * (below[place, ALL] - below[place, a] - below[place, b])
                # The same hand is counted once and taken away twice.
                same = other[hand]
                ties += weight * (count[place, ALL] - count[place, a] - count[place, b] + same)
                every += weight * (below[places, ALL] - below[places, a] - below[places, b] + same)
        out[0] += times[n] * wins
        out[1] += times[n] * ties
        out[2] += times[n] * every


@kernel
def meet_each(boards, other, out, count, below, space):
    """Every hand against a range, on some boards: as `meet_sorted`, where out is float64[1326, 3]: for each hand that a
    board leaves the other's weight that it beats, that it ties with, and that it meets; added to."""
    for n in range(U64(len(boards))):
        hands, places = sort_hands(boards[n], ZERO, space)
        weigh_places(other, hands, places, count, below, space)
        for k in range(hands):
            hand = space.hands[k]
            a, b, place, same = LOWER[hand], UPPER[hand], space.place[space.kind[hand]], other[hand]
            out[hand, 0] += below[place, ALL] - below[place, a] - below[place, b]
            out[hand, 1] += count[place, ALL] - count[place, a] - count[place, b] + same
            out[hand, 2] += below[places, ALL] - below[places, a] - below[places, b] + same


# Samples


@part
def dealt(taken, random):
    """A card that is not taken, and the random numbers from there on."""
    while True:
        random += GOLDEN
        bit = CARD_MASK[((mix(random) >> HALF) * CARDS) >> HALF]
        if not bit & taken:
            return bit, random


@part
def dealt_board(shown, cards, taken, random):
    """A board of five from `cards` that are shown, none of the others taken; and the random numbers."""
    board = shown
    for _ in range(cards, 5):
        bit, random = dealt(taken | board, random)
        board |= bit
    return board, random


@kernel
def sample_boards(hand, others, board, count, seed, out):
    """Random boards, the others taken in turn; otherwise as `count_showdowns`."""
    mine, shown = board_of(hand), board_of(board)
    random = mix(U64(seed) + GOLDEN)
    o = ZERO
    for _ in range(count):
        theirs = board_of(others[o])
        whole, random = dealt_board(shown, len(board), mine | theirs, random)
        one, other = value_of(mine | whole), value_of(theirs | whole)
        out[0 if one > other else 1 if one == other else 2] += 1
        o += ONE
        if o == U64(len(others)):
            o = ZERO


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


@kernel
def sample_deals(ranges, board, seed, begin, end, out, hands, values, cards):
    """Samples begin to end - 1 of deals and boards, with weights.

    ranges: DrawTables; board: uint8[0 to 5]. Other seats hold random hands. out: float64[seats + 1, 5], added to:
    weights of wins, of ties, of shares, squares of weights times shares, and times squares of shares; in the last row
    the weights and their squares. To work in: hands: uint64[seats]; values: uint32[seats]; cards: uint64[52].

    Each seat draws one of the hands that those before it leave, and the weight of the sample is the product of the
    chances that it had to find one: so means by weight are those over all deals. Random hands are dealt in the end,
    from the rest, of which there are always as many. Each sample has random numbers of its own, whoever draws others.
    """
    numbers, edges, first, weights, by_card = ranges
    drawing, seats = U64(len(first) - 1), U64(len(hands))
    key = mix(U64(seed) + GOLDEN)
    shown = board_of(board)
    for sample in range(U64(begin), U64(end)):
        random = mix(key ^ mix(sample * GOLDEN + ONE))
        taken = shown
        weight = 1.0
        count = ZERO  # of cards in the hands; no range holds those of the board
        for s in range(drawing):
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
        for s in range(drawing, seats):
            one, random = dealt(taken, random)
            other, random = dealt(taken | one, random)
            hands[s] = one | other
            taken |= hands[s]
        whole, random = dealt_board(shown, len(board), taken, random)
        best, winner, winners = NONE, ZERO, ZERO
        for s in range(seats):
            values[s] = value_of(hands[s] | whole)
            if values[s] > best:
                best, winner, winners = values[s], s, ONE
            elif values[s] == best:
                winners += ONE
        square = weight * weight
        share = 1.0 / winners
        for s in range(winner, seats):
            if values[s] == best:
                out[s, 0 if winners == ONE else 1] += weight
                out[s, 2] += weight * share
                out[s, 3] += square * share
                out[s, 4] += square * share * share
        out[seats, 0] += weight
        out[seats, 1] += square
