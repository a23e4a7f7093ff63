"""Hands of jam or fold over a sample of deals: for more players than tables of hands can hold.

Who jams is a word of a bit a seat, the first seat's the highest; a node is a seat and the bits of those before it. For
each deal the tree of decisions is gone through once down (how likely the others let it come to a node) and once up
(what seats get there). A pot of two is worth its mean over all boards; larger ones go by the board of the deal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.ranking import value_of, with_card
from kibitz.core.jit import ONE, U64, kernel, part, small_part


class DealTables(NamedTuple):
    """A sample of deals, and the decisions of a hand."""

    classes: np.ndarray  # uint8[deals, players]  the class of each hand
    orders: np.ndarray  # int16[deals, 2^players]  the outcome, by who is in
    node_of: np.ndarray  # int64[players, 2^players]  the node of a seat and those who jammed before, or -1
    pair_of: np.ndarray  # int64[2^players]  the number of a pair of seats, or -1


@kernel
def order_deals(cards, players, class_of, codes, classes, orders, value):
    """Of each deal: the class of each hand, and by who is in the number of the order in which they end.

    cards: uint8[deals, 2 players + 5], the board last; class_of: uint64[1326]; codes: int16[2^players, 6^players], the
    outcome by who is in and the ranks of all as digits; classes: uint8[deals, players]; orders: int16[deals,
    2^players]; value: int64[players] to work in.
    """
    n = U64(players)
    for d in range(U64(len(cards))):
        board = U64(0)
        for k in range(U64(5)):
            board = with_card(board, cards[d, U64(2) * n + k])
        for seat in range(n):
            a = U64(cards[d, U64(2) * seat])
            b = U64(cards[d, U64(2) * seat + ONE])
            low, high = min(a, b), max(a, b)
            classes[d, seat] = class_of[high * (high - ONE) // U64(2) + low]
            value[seat] = np.int64(value_of(with_card(with_card(board, a), b)))
        for who in range(ONE << n):
            code = U64(0)
            for seat in range(n):
                code *= U64(6)
                if (who >> (n - ONE - seat)) & ONE:
                    code += rank_among(value, seat, who, n)
            orders[d, who] = codes[who, code]


@part
def rank_among(value, seat, who, n):
    """How many different hands of those who are in are better."""
    better = U64(0)
    for other in range(n):
        if (who >> (n - ONE - other)) & ONE and value[other] > value[seat]:
            first = True
            for before in range(other):
                if (who >> (n - ONE - before)) & ONE and value[before] == value[other]:
                    first = False
            if first:
                better += ONE
    return better


@small_part
def leaf(who, d, n, deals, payoffs, pairs, value, at):
    """What seats get if some are in: value[at]."""
    pair = deals.pair_of[who]
    if pair >= 0:
        one, two = seats_of(who, n)
        mine = pairs[U64(pair), U64(deals.classes[d, one]), U64(deals.classes[d, two])]
        for i in range(n):
            value[at, i] = mine[i]
    else:
        outcome = U64(deals.orders[d, who])
        for i in range(n):
            value[at, i] = payoffs[outcome, i]


@small_part
def seats_of(who, n):
    """The two seats that are in."""
    one = U64(0)
    while not (who >> (n - ONE - one)) & ONE:
        one += ONE
    two = one + ONE
    while not (who >> (n - ONE - two)) & ONE:
        two += ONE
    return one, two


@part
def reached(d, n, jams, own, mine, deals, reach):
    """How likely it comes to what the first seats do: reach[seats, who]. The seat `mine` plays by `own`."""
    reach[0, 0] = 1.0
    for seat in range(n):
        hand = U64(deals.classes[d, seat])
        for before in range(ONE << seat):
            node = deals.node_of[seat, before]
            jam = 0.0
            if node >= 0:
                jam = own[U64(node), hand] if seat == mine else jams[U64(node), hand]
            here = reach[seat, before]
            reach[seat + ONE, before * U64(2)] = here * (1.0 - jam)
            reach[seat + ONE, before * U64(2) + ONE] = here * jam


@kernel
def go_through(first, last, jams, deals, payoffs, pairs, reach, value, out):
    """Add to out [nodes, 2, 169] what actions bring to the seats that act, over deals first to last.

    jams: float64[nodes, 169]; payoffs: float64[outcomes, players]; pairs: float64[pairs of seats, 169, 169, players];
    reach, value: float64[players + 1, 2^players] and [2^(players + 1), players], to work in.
    """
    n = U64(deals.classes.shape[1])
    for d in range(U64(first), U64(last)):
        reached(d, n, jams, jams, U64(0), deals, reach)
        # value[2^depth + who]: after so many seats have acted
        for who in range(ONE << n):
            leaf(who, d, n, deals, payoffs, pairs, value, (ONE << n) + who)
        for back in range(n):
            seat = n - ONE - back
            hand = U64(deals.classes[d, seat])
            for before in range(ONE << seat):
                node = deals.node_of[seat, before]
                fold = (ONE << (seat + ONE)) + before * U64(2)
                jam = jams[U64(node), hand] if node >= 0 else 0.0
                if node >= 0:
                    out[U64(node), 0, hand] += reach[seat, before] * value[fold, seat]
                    out[U64(node), 1, hand] += reach[seat, before] * value[fold + ONE, seat]
                at = (ONE << seat) + before
                for i in range(seat):
                    value[at, i] = (1.0 - jam) * value[fold, i] + jam * value[fold + ONE, i]


@kernel
def count_outcomes(first, last, jams, own, deals, first_of, chances, reach, out):
    """Add to out [players, outcomes] how likely the ends are if a seat plays by `own` and the others by `jams`.

    first_of: int64[2^players], the first outcome in which these are in; chances: float64[3, 169, 169], how likely two
    hands end in each of their orders.
    """
    n = U64(deals.classes.shape[1])
    for mine in range(n):
        for d in range(U64(first), U64(last)):
            reached(d, n, jams, own, mine, deals, reach)
            for who in range(ONE << n):
                here = reach[n, who]
                if here == 0.0:
                    continue
                if deals.pair_of[who] < 0:
                    out[mine, U64(deals.orders[d, who])] += here
                    continue
                one, two = seats_of(who, n)
                for k in range(U64(3)):
                    chance = chances[k, U64(deals.classes[d, one]), U64(deals.classes[d, two])]
                    out[mine, U64(first_of[who]) + k] += here * chance
