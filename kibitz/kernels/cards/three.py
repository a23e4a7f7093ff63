"""Three hands before the flop that go to the river: in which order they end, counted over boards.

Three hands of classes end in one of 13 orders: six without ties, three where the best two tie, three where the others
do, and one where all tie. On a board, hands of one place (as strong as each other) and one class are a *bundle*.
Triples of hands that share no card are what is left of all triples by inclusion and exclusion over the pairs that do:

    all  - (1 2) - (1 3) - (2 3)  + (1 2)(2 3) + (1 2)(1 3) + (1 3)(2 3)  - (1 2)(1 3)(2 3)

where hand 1 beats hand 2 and hand 2 beats hand 3. The first four are products of whole vectors of classes, the others
go through the bundles of the hands that hold one of a hand's two cards, some fifty of them. So a board takes a few
milliseconds instead of the second that its 10^9 triples would.

Counts are int32 that may wrap on the way: what is left in the end is far below 2^31 for some thousand boards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.cards.strength import CLASSES, HANDS, KINDS, board_of, hand_of, showdown, space_of
from kibitz.kernels.jit import ONE, TWO, U64, kernel, maker, part

BUNDLES = 1326  # at most
LIVE = 47
ZERO = U64(0)


class Triples(NamedTuple):
    """Counts by classes, in int32."""

    strict: np.ndarray  # [169, 169, 169]  of the middle, the best, the worst hand
    apart: np.ndarray  # [169, 169, 169]  the same by the best, the worst, the middle: to be added
    top: np.ndarray  # [169, 169, 169]  the best two tie: their classes, the first not above the second, and the worst
    bottom: np.ndarray  # [169, 169, 169]  the others tie: their classes, the first not above the second, and the best


class Bundles(NamedTuple):
    """Hands of a board by place and class, in order of places."""

    place: np.ndarray  # uint64[BUNDLES]
    kind: np.ndarray  # uint64[BUNDLES]  the class
    size: np.ndarray  # int32[BUNDLES]
    first: np.ndarray  # uint64[KINDS + 1]  where those of a place begin
    of_hand: np.ndarray  # uint64[HANDS]
    at: np.ndarray  # int64[KINDS, CLASSES]  number of a bundle, or -1
    held: np.ndarray  # uint64[52, LIVE]  bundles of hands that hold a card, in order
    count: np.ndarray  # int32[52, LIVE]  how many such hands each has
    many: np.ndarray  # uint64[52]  how many such bundles there are
    so_far: np.ndarray  # int32[KINDS + 1, CLASSES]  hands of places below, by class
    above: np.ndarray  # int32[CLASSES]
    share_above: np.ndarray  # int32[CLASSES]  hands above that share a card with one of a bundle
    share_below: np.ndarray  # int32[CLASSES]
    near: np.ndarray  # uint64[2 * LIVE]  bundles of hands that share a card with a hand, in order
    share: np.ndarray  # int32[2 * LIVE]  how many such hands each has
    hands: np.ndarray  # uint64[HANDS]  the hands of a place, by bundle
    begin: np.ndarray  # uint64[BUNDLES + 1]
    low: np.ndarray  # uint64[HANDS]  the cards of a hand
    high: np.ndarray  # uint64[HANDS]


@maker
def add_boards(boards, weights, class_of, triples):
    """Add the triples of some boards of five, each counted by its weight. class_of: uint64[HANDS]."""
    bundles = Bundles(
        np.zeros(BUNDLES, np.uint64), np.zeros(BUNDLES, np.uint64), np.zeros(BUNDLES, np.int32),
        np.zeros(KINDS + 1, np.uint64), np.zeros(HANDS, np.uint64), np.zeros((KINDS, CLASSES), np.int64),
        np.zeros((52, LIVE), np.uint64), np.zeros((52, LIVE), np.int32), np.zeros(52, np.uint64),
        np.zeros((KINDS + 1, CLASSES), np.int32), np.zeros(CLASSES, np.int32), np.zeros(CLASSES, np.int32),
        np.zeros(CLASSES, np.int32), np.zeros(2 * LIVE, np.uint64), np.zeros(2 * LIVE, np.int32),
        np.zeros(HANDS, np.uint64), np.zeros(BUNDLES + 1, np.uint64), np.zeros(HANDS, np.uint64),
        np.zeros(HANDS, np.uint64),
    )  # fmt: skip
    each_board(boards, weights, class_of, triples, space_of(), bundles)


@part
def each_board(boards, weights, class_of, triples, space, bundles):
    for n in range(len(boards)):
        board, dead = board_of(boards[n])
        live, places = showdown(board, dead, space)
        total = bundle_up(live, places, class_of, space, bundles)
        weight = np.int32(weights[n])
        far_apart(places, weight, bundles, triples.strict)
        outer_pairs(live, weight, space, bundles, triples.apart)
        for hand in range(bundles.begin[total]):
            around(bundles.hands[hand], weight, space, class_of, bundles, triples.strict)
        for i in range(live):
            stars(space.live[i], weight, bundles, triples.strict)
        triangles(live, weight, space, class_of, triples.strict)
        ties(places, weight, class_of, space, bundles, triples)


@part
def bundle_up(live, places, class_of, space, bundles):
    """Hands by place and class; returns how many bundles there are."""
    for place in range(places):
        for k in range(U64(CLASSES)):
            bundles.at[place, k] = 0
    for i in range(ONE, live):
        b = space.live[i]
        for j in range(i):
            hand = hand_of(space.live[j], b)
            bundles.low[hand] = space.live[j]
            bundles.high[hand] = b
            bundles.at[space.place[space.kind[hand]], class_of[hand]] += 1
    total = ZERO
    for k in range(U64(CLASSES)):
        bundles.so_far[0, k] = 0
    bundles.begin[0] = ZERO
    for place in range(places):
        bundles.first[place] = total
        for k in range(U64(CLASSES)):
            size = bundles.at[place, k]
            bundles.so_far[place + ONE, k] = bundles.so_far[place, k] + np.int32(size)
            if size:
                bundles.place[total] = place
                bundles.kind[total] = k
                bundles.size[total] = 0  # filled below
                bundles.at[place, k] = total
                bundles.begin[total + ONE] = bundles.begin[total] + U64(size)
                total += ONE
    bundles.first[places] = total
    for i in range(ONE, live):
        for j in range(i):
            hand = hand_of(space.live[j], space.live[i])
            bundle = U64(bundles.at[space.place[space.kind[hand]], class_of[hand]])
            bundles.of_hand[hand] = bundle
            bundles.hands[bundles.begin[bundle] + U64(bundles.size[bundle])] = hand
            bundles.size[bundle] += np.int32(1)
    for i in range(live):
        bundles.many[space.live[i]] = ZERO
    for n in range(bundles.begin[total]):
        hand = bundles.hands[n]
        hold(bundles.low[hand], bundles.of_hand[hand], bundles)
        hold(bundles.high[hand], bundles.of_hand[hand], bundles)
    return total


@part
def hold(card, bundle, bundles):
    """A hand of a bundle holds a card; hands come in order of their bundles."""
    many = bundles.many[card]
    if many == ZERO or bundles.held[card, many - ONE] != bundle:
        bundles.held[card, many] = bundle
        bundles.count[card, many] = 0
        many += ONE
        bundles.many[card] = many
    bundles.count[card, many - ONE] += np.int32(1)


@part
def shares_of(hand, bundles, place, above, below):
    """Add, by class, the hands above and below a place that share a card with a hand."""
    for card in (bundles.low[hand], bundles.high[hand]):
        for i in range(bundles.many[card]):
            other = bundles.held[card, i]
            if bundles.place[other] < place:
                below[bundles.kind[other]] += bundles.count[card, i]
            elif bundles.place[other] > place:
                above[bundles.kind[other]] += bundles.count[card, i]


@part
def far_apart(places, weight, bundles, strict):
    """All triples, less those whose middle hand shares a card with the best, less those with the worst."""
    above, share_above, share_below = bundles.above, bundles.share_above, bundles.share_below
    for place in range(places):
        below = bundles.so_far[place]
        for k in range(U64(CLASSES)):
            above[k] = bundles.so_far[places, k] - bundles.so_far[place + ONE, k]
        for bundle in range(bundles.first[place], bundles.first[place + ONE]):
            for k in range(U64(CLASSES)):
                share_above[k] = 0
                share_below[k] = 0
            for n in range(bundles.begin[bundle], bundles.begin[bundle + ONE]):
                shares_of(bundles.hands[n], bundles, place, share_above, share_below)
            size = bundles.size[bundle]
            for k in range(U64(CLASSES)):
                share_below[k] = size * below[k] - share_below[k]
            block = strict[bundles.kind[bundle]]
            for best in range(U64(CLASSES)):
                if above[best]:
                    add_two(block[best], weight * above[best], share_below, -weight * share_above[best], below)


@part
def add_two(row, one, first, two, second):
    for k in range(U64(CLASSES)):
        row[k] += one * first[k] + two * second[k]


@part
def outer_pairs(live, weight, space, bundles, apart):
    """Less those whose best hand shares a card with the worst; any middle hand."""
    for i in range(live):
        card = space.live[i]
        many = bundles.many[card]
        for best in range(many):
            one = bundles.held[card, best]
            for worst in range(best):
                two = bundles.held[card, worst]
                if bundles.place[two] == bundles.place[one]:
                    break
                pairs = -weight * bundles.count[card, best] * bundles.count[card, worst]
                add_two(apart[bundles.kind[one], bundles.kind[two]], pairs, bundles.so_far[bundles.place[one]],
                        -pairs, bundles.so_far[bundles.place[two] + ONE])  # fmt: skip


@part
def near_by(hand, bundles):
    """Bundles of hands that share a card with a hand, in order: near, share; returns how many."""
    a = bundles.low[hand]
    b = bundles.high[hand]
    i = ZERO
    j = ZERO
    found = ZERO
    while i < bundles.many[a] or j < bundles.many[b]:
        if j == bundles.many[b] or (i < bundles.many[a] and bundles.held[a, i] <= bundles.held[b, j]):
            other = bundles.held[a, i]
            count = bundles.count[a, i]
            i += ONE
        else:
            other = bundles.held[b, j]
            count = bundles.count[b, j]
            j += ONE
        if found > ZERO and bundles.near[found - ONE] == other:
            bundles.share[found - ONE] += count
        else:
            bundles.near[found] = other
            bundles.share[found] = count
            found += ONE
    return found


@part
def around(hand, weight, space, class_of, bundles, strict):
    """Triples in which a hand shares cards with both others, as the middle one, the best, the worst."""
    mine = class_of[hand]
    place = space.place[space.kind[hand]]
    near, share = bundles.near, bundles.share
    found = near_by(hand, bundles)
    below = ZERO
    while below < found and bundles.place[near[below]] < place:
        below += ONE
    above = below
    while above < found and bundles.place[near[above]] == place:
        above += ONE
    for i in range(above, found):
        best = bundles.kind[near[i]]
        times = weight * share[i]
        for j in range(below):
            strict[mine, best, bundles.kind[near[j]]] += times * share[j]
        for j in range(above, i):
            if bundles.place[near[j]] == bundles.place[near[i]]:
                break
            strict[bundles.kind[near[j]], best, mine] += times * share[j]
    for i in range(below):
        middle = bundles.kind[near[i]]
        times = weight * share[i]
        for j in range(i):
            if bundles.place[near[j]] == bundles.place[near[i]]:
                break
            strict[middle, mine, bundles.kind[near[j]]] += times * share[j]


@part
def stars(card, weight, bundles, strict):
    """Less those that all hold a card."""
    many = bundles.many[card]
    held, count = bundles.held[card], bundles.count[card]
    for i in range(many):
        for j in range(i):
            if bundles.place[held[j]] == bundles.place[held[i]]:
                break
            times = -weight * count[i] * count[j]
            row = strict[bundles.kind[held[j]], bundles.kind[held[i]]]
            for k in range(j):
                if bundles.place[held[k]] == bundles.place[held[j]]:
                    break
                row[bundles.kind[held[k]]] += times * count[k]


@part
def triangles(live, weight, space, class_of, strict):
    """Less those of three cards in all, two in each hand."""
    for i in range(live):
        for j in range(i):
            one = hand_of(space.live[j], space.live[i])
            for k in range(j):
                two = hand_of(space.live[k], space.live[i])
                three = hand_of(space.live[k], space.live[j])
                p = space.place[space.kind[one]]
                q = space.place[space.kind[two]]
                r = space.place[space.kind[three]]
                if p in (q, r) or q == r:
                    continue
                if p > q and p > r:
                    best, others = one, (two, three) if q > r else (three, two)
                elif q > p and q > r:
                    best, others = two, (one, three) if p > r else (three, one)
                else:
                    best, others = three, (one, two) if p > q else (two, one)
                strict[class_of[others[0]], class_of[best], class_of[others[1]]] -= weight


# Ties


@part
def ties(places, weight, class_of, space, bundles, triples):
    """Two hands of a place, and a third below or above that shares no card with either."""
    for place in range(places):
        below = bundles.so_far[place]
        for k in range(U64(CLASSES)):
            bundles.above[k] = bundles.so_far[places, k] - bundles.so_far[place + ONE, k]
        for one in range(bundles.first[place], bundles.first[place + ONE]):
            for two in range(one, bundles.first[place + ONE]):
                # Bundles of a place are in order of classes.
                top = triples.top[bundles.kind[one], bundles.kind[two]]
                bottom = triples.bottom[bundles.kind[one], bundles.kind[two]]
                pairs = tied(one, two, place, weight, class_of, space, bundles, top, bottom)
                if pairs:
                    add_two(top, weight * pairs, below, np.int32(0), below)
                    add_two(bottom, weight * pairs, bundles.above, np.int32(0), bundles.above)


@part
def tied(one, two, place, weight, class_of, space, bundles, top, bottom):
    """Pairs of hands of two bundles of a place without a card in common; those third hands that share a card with
    either are taken off."""
    pairs = np.int32(0)
    for n in range(bundles.begin[one], bundles.begin[one + ONE]):
        first = bundles.hands[n]
        met = partners(first, two, n + ONE if one == two else bundles.begin[two], place, weight, class_of, space,
                       bundles, top, bottom)  # fmt: skip
        pairs += met
        if one == two:  # partners on either side
            met = np.int32(0)
            for m in range(bundles.begin[two], bundles.begin[two + ONE]):
                met += np.int32(clear(first, bundles.hands[m], bundles))
        if met:
            take_off(first, place, weight * met, bundles, top, bottom)
    if one != two:
        for m in range(bundles.begin[two], bundles.begin[two + ONE]):
            met = np.int32(0)
            for n in range(bundles.begin[one], bundles.begin[one + ONE]):
                met += np.int32(clear(bundles.hands[n], bundles.hands[m], bundles))
            if met:
                take_off(bundles.hands[m], place, weight * met, bundles, top, bottom)
    return pairs


@part
def clear(one, two, bundles):
    """Whether two hands share no card."""
    a, b = bundles.low[one], bundles.high[one]
    c, d = bundles.low[two], bundles.high[two]
    return a != c and a != d and b != c and b != d


@part
def partners(first, two, begin, place, weight, class_of, space, bundles, top, bottom):
    """Hands of a bundle, from one on, that share no card with a hand; a third hand of one card of each was taken off
    twice and is added again."""
    found = np.int32(0)
    for m in range(begin, bundles.begin[two + ONE]):
        second = bundles.hands[m]
        if not clear(first, second, bundles):
            continue
        found += np.int32(1)
        for a in (bundles.low[first], bundles.high[first]):
            for b in (bundles.low[second], bundles.high[second]):
                third = hand_of(a, b)
                where = space.place[space.kind[third]]
                if where < place:
                    top[class_of[third]] += weight
                elif where > place:
                    bottom[class_of[third]] += weight
    return found


@part
def take_off(hand, place, times, bundles, top, bottom):
    for card in (bundles.low[hand], bundles.high[hand]):
        for i in range(bundles.many[card]):
            other = bundles.held[card, i]
            if bundles.place[other] < place:
                top[bundles.kind[other]] -= times * bundles.count[card, i]
            elif bundles.place[other] > place:
                bottom[bundles.kind[other]] -= times * bundles.count[card, i]


@kernel
def add_up(triples, strict, top, bottom):
    """Add what was counted to int64 tables: strict by the best, the middle and the worst hand, ties by the number of
    the pair that ties and the other hand."""
    for best in range(U64(CLASSES)):
        for middle in range(U64(CLASSES)):
            for worst in range(U64(CLASSES)):
                found = triples.strict[middle, best, worst] + triples.apart[best, worst, middle]
                strict[best, middle, worst] += np.int64(np.int32(found))
    for one in range(U64(CLASSES)):
        for two in range(one, U64(CLASSES)):
            pair = two * (two + ONE) // TWO + one
            for other in range(U64(CLASSES)):
                top[pair, other] += np.int64(triples.top[one, two, other])
                bottom[pair, other] += np.int64(triples.bottom[one, two, other])
