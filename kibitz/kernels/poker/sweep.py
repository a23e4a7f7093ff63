"""A two-player poker game board by board, depth first: what one seat gets against the other's strategy, by hand.

Nothing is kept of a board once it is done, so that games fit whose hands on boards no memory holds. Betting is cut into
groups of lanes as in `kernels/poker/passes.py`; here a group has LANES lanes, the last of them empty where it has
fewer, and a vector is over the hands of a board times LANES, so that sums run over lanes side by side. Hands are all
told apart. On the last boards they stand in order of strength.

Boards that a renaming of suits makes the same are visited once: values of a board that stands for `copies` boards are
added so many times, and then averaged over the renamings that leave the board before alone (`symmetrise`).

Values are sums over the other's hands and over all boards to come, of chips times the other's reach: nothing is divided
by the number of deals before the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.jit import ONE, U64, kernel, part, small_part
from kibitz.kernels.poker.passes import FOLD, SHOWDOWN
from kibitz.kernels.vectors import LANES, add, constant, load, maximum, multiply, store, subtract

CARDS = U64(52)  # sums by live card, and behind them that of all hands
TILE = U64(16)  # hands at a time where all nodes of a group are gone through: so they stay in the cache
BEST, PLAYED = 0, 1  # the seat answers as well as it can, or plays a strategy


class Betting(NamedTuple):
    """The betting of one round. Nodes of a group are counted from its first, in preorder; groups from the round's."""

    group_node: np.ndarray  # int64[G+1]
    turn: np.ndarray  # int8[N]  seat, FOLD, SHOWDOWN or EXIT
    parent: np.ndarray  # int32[N]
    child: np.ndarray  # int32[N, most actions]
    count: np.ndarray  # int32[N]  children of a node where somebody acts
    slot: np.ndarray  # int32[2, N]  the nearest node above or here that an action of the seat led to; else 0
    sequence: np.ndarray  # int64[2, N]  where the rows of that action begin in the seat's strategy, in LANES
    source: np.ndarray  # int32[2, N]  which row numbers it goes by
    stake: np.ndarray  # float[2, N, LANES]  at an end: what winning (at a fold: having won) is worth to a seat
    # A link leads from some lanes of an exit to as many lanes of a group of the next round.
    group_link: np.ndarray  # int64[G+1]
    link_node: np.ndarray  # int32[links]
    link_lane: np.ndarray  # int32[links]
    link_count: np.ndarray  # int32[links]
    link_group: np.ndarray  # int32[links]
    link_first: np.ndarray  # int32[links]


class Hands(NamedTuple):
    """The hands on some boards of a round, each board's in an order of its own. B boards of H hands."""

    card: np.ndarray  # uint8[B, H, 2]  live cards, by place; the second is the first for hands of one card
    last: np.ndarray  # uint16[B, H]  behind the last hand that is as strong
    held: np.ndarray  # uint16[B, cards, hands]  the hands that hold a live card
    up: np.ndarray  # uint16[B, H]  the hand on the board before
    row: np.ndarray  # uint32[sources, B, H]
    copies: np.ndarray  # float64[B]  boards that it stands for among those that continue the board before
    two: np.ndarray  # int64[1]  cards of a hand


class Room(NamedTuple):
    """Working space of one thread."""

    reach: np.ndarray  # [nodes, H x LANES]  of the other
    own: np.ndarray  # [nodes, H x LANES]  of the seat, where it plays a strategy; else one hand's
    value: np.ndarray  # [nodes, H x LANES]
    sums: np.ndarray  # [nodes, 53 x LANES]  of a reach, by card and of all hands
    known: np.ndarray  # int8[nodes]  whether they are known
    so_far: np.ndarray  # [53 x LANES]


@part
def reaches(betting, group, hands, board, seat, strategy, roots, reach):
    """reach[k]: how likely a seat comes to node k with each hand, as far as it decides; from its reach at the roots.

    roots [hands before x LANES]; without entries everybody comes there. Only nodes that are their own slot are written.
    """
    n = U64(hands.card.shape[1])
    root = reach[0]
    if roots.shape[0]:
        up = hands.up[board]
        for i in range(n):
            store(root, i * LANES, load(roots, U64(up[i]) * LANES))
    else:
        for i in range(n * LANES):
            root[i] = 1.0
    first = betting.group_node[group]
    nodes = betting.group_node[group + 1] - first
    for low in range(U64(0), n, TILE):
        high = min(low + TILE, n)
        for k in range(1, nodes):
            if betting.slot[seat, first + k] == k:
                above = reach[betting.slot[seat, first + betting.parent[first + k]]]
                here = reach[k]
                at = U64(betting.sequence[seat, first + k])
                row = hands.row[betting.source[seat, first + k], board]
                for i in range(low, high):
                    played = load(strategy, (at + U64(row[i])) * LANES)
                    store(here, i * LANES, multiply(load(above, i * LANES), played))


@part
def count(held, reach, sums):
    """The reach of all hands that hold each card, and of all hands."""
    whole = constant(reach, 0.0)
    for card in range(U64(held.shape[0])):
        mine = constant(reach, 0.0)
        for q in range(U64(held.shape[1])):
            mine = add(mine, load(reach, U64(held[card, q]) * LANES))
        store(sums, card * LANES, mine)
        whole = add(whole, mine)
    if held.shape[1] > 1:  # hands of two cards were counted twice
        whole = multiply(whole, constant(reach, 0.5))
    store(sums, CARDS * LANES, whole)


@small_part
def besides(card, i, two, whole, sums):
    """A sum over all hands less those that hold a card of hand i. With two cards the hand itself is taken off twice."""
    found = subtract(whole, load(sums, U64(card[i, U64(0)]) * LANES))
    if two:
        found = subtract(found, load(sums, U64(card[i, ONE]) * LANES))
    return found


@small_part
def see(card, i, two, mine, sums):
    """Add a hand's reach to the sums of its cards."""
    one = U64(card[i, U64(0)]) * LANES
    store(sums, one, add(load(sums, one), mine))
    if two:
        other = U64(card[i, ONE]) * LANES
        store(sums, other, add(load(sums, other), mine))


@part
def shown(card, last, two, stake, reach, sums, so_far, value):
    """What each hand gets at a showdown: the stake times the other's reach with hands that one beats, less that with
    better ones, of hands that hold none of one's cards.

    Hands stand in order of strength. Let B be the sum over weaker hands, E that over those that are no better, and T
    that over all: one gets B - (T - E). Running sums that begin at -T / 2 are B - T / 2 before the hands that tie are
    seen and E - T / 2 behind them, and their sum is just that; by card and over all. One's own hand falls out.
    """
    n = U64(card.shape[0])
    chips, half = load(stake, U64(0)), constant(reach, -0.5)
    for c in range(CARDS + ONE):
        store(so_far, c * LANES, multiply(half, load(sums, c * LANES)))
    whole = load(so_far, CARDS * LANES)
    low = U64(0)
    while low < n:
        high = U64(last[low])
        if high == low + ONE:  # nothing else ties
            mine = load(reach, low * LANES)
            before = besides(card, low, two, whole, so_far)
            see(card, low, two, mine, so_far)
            whole = add(whole, mine)
            found = add(before, before)
            if two:
                found = subtract(found, mine)
            store(value, low * LANES, multiply(chips, found))
        else:
            for i in range(low, high):
                store(value, i * LANES, besides(card, i, two, whole, so_far))
            for i in range(low, high):
                mine = load(reach, i * LANES)
                see(card, i, two, mine, so_far)
                whole = add(whole, mine)
            for i in range(low, high):
                found = add(load(value, i * LANES), besides(card, i, two, whole, so_far))
                store(value, i * LANES, multiply(chips, found))
        low = high


@part
def folded(card, two, stake, reach, sums, value):
    """What each hand gets where somebody folds: the stake times the other's reach with hands that hold none of its
    cards. The hand itself is taken off with each of its cards."""
    chips, whole = load(stake, U64(0)), load(sums, CARDS * LANES)
    for i in range(U64(card.shape[0])):
        found = besides(card, i, two, whole, sums)
        if two:
            found = add(found, load(reach, i * LANES))
        store(value, i * LANES, multiply(chips, found))


@part
def hand_on(betting, group, n, seat, reach, roots):
    """Write a seat's reach at each exit of a group to the groups of the next round. roots [groups, hands, LANES]."""
    first = betting.group_node[group]
    for link in range(betting.group_link[group], betting.group_link[group + 1]):
        slot = U64(betting.slot[seat, first + betting.link_node[link]])
        there, onto = U64(betting.link_group[link]), U64(betting.link_first[link])
        lane = U64(betting.link_lane[link])
        for i in range(n):
            for x in range(U64(betting.link_count[link])):
                roots[there, i, onto + x] = reach[slot, i * LANES + lane + x]


@part
def take_back(betting, group, k, n, after, value):
    """What comes after exit k. after [groups of the next round, hands, LANES]."""
    for i in range(n * LANES):
        value[i] = 0.0
    for link in range(betting.group_link[group], betting.group_link[group + 1]):
        if betting.link_node[link] != k:
            continue
        there, onto = U64(betting.link_group[link]), U64(betting.link_first[link])
        lane = U64(betting.link_lane[link])
        for i in range(n):
            for x in range(U64(betting.link_count[link])):
                value[i * LANES + lane + x] += value.dtype.type(after[there, i, onto + x])


@part
def ends(betting, group, hands, board, seat, after, room):
    """value[k] at the ends of a group's betting. A fold and a call to the same reach have the same sums."""
    first = betting.group_node[group]
    nodes = betting.group_node[group + 1] - first
    card, two = hands.card[board], hands.two[0] == 2
    for k in range(nodes):
        room.known[k] = 0
    for k in range(nodes):
        kind = betting.turn[first + k]
        if kind < FOLD:
            continue
        slot = betting.slot[1 - seat, first + k]
        reach, stake, sums = room.reach[slot], betting.stake[seat, first + k], room.sums[slot]
        if kind <= SHOWDOWN and not room.known[slot]:
            count(hands.held[board], reach, sums)
            room.known[slot] = 1
        if kind == FOLD:
            folded(card, two, stake, reach, sums, room.value[k])
        elif kind == SHOWDOWN:
            shown(card, hands.last[board], two, stake, reach, sums, room.so_far, room.value[k])
        else:
            take_back(betting, group, k, U64(card.shape[0]), after, room.value[k])


@part
def combine(here, theirs, low, high, sums, begun):
    """here = theirs, to begin with; then their sum, or the larger."""
    for i in range(low, high):
        found = load(theirs, i * LANES)
        if begun:
            mine = load(here, i * LANES)
            found = add(mine, found) if sums else maximum(mine, found)
        store(here, i * LANES, found)


@part
def answer(betting, group, hands, seat, room):
    """value[0]: the most that a seat gets with each hand in a group, against the other's reach."""
    n = U64(hands.card.shape[1])
    first = betting.group_node[group]
    for low in range(U64(0), n, TILE):
        high = min(low + TILE, n)
        for k in range(betting.group_node[group + 1] - first - 1, -1, -1):
            node = first + k
            if betting.turn[node] < FOLD:  # the other's actions are summed, as his reach is in them
                for a in range(betting.count[node]):
                    theirs = room.value[betting.child[node, a]]
                    combine(room.value[k], theirs, low, high, betting.turn[node] != seat, a > 0)


@part
def played(betting, group, hands, seat, room):
    """value[0]: what a seat gets with each hand in a group by its own strategy; `room.own` is its reach from there."""
    n = U64(hands.card.shape[1])
    first = betting.group_node[group]
    value = room.value[0]
    for i in range(n * LANES):
        value[i] = 0.0
    for k in range(betting.group_node[group + 1] - first):
        if betting.turn[first + k] >= FOLD:
            here, own = room.value[k], room.own[betting.slot[seat, first + k]]
            for i in range(n):
                at = i * LANES
                store(value, at, add(load(value, at), multiply(load(own, at), load(here, at))))


@part
def settle(betting, group, hands, board, seat, mode, strategies, roots, after, room, above):
    """What a seat gets in a group on a board, added to `above` [hands before, LANES] as often as the board stands for.

    roots [hands before x LANES]: the other's reach at the group's root; after: what comes after exits, by hand.
    """
    reaches(betting, group, hands, board, 1 - seat, strategies[1 - seat], roots, room.reach)
    ends(betting, group, hands, board, seat, after, room)
    if mode == BEST:
        answer(betting, group, hands, seat, room)
    else:
        reaches(betting, group, hands, board, seat, strategies[seat], roots[:0], room.own)
        played(betting, group, hands, seat, room)
    copies = hands.copies[board]
    value = room.value[0]
    for i in range(U64(hands.card.shape[1])):
        at = U64(hands.up[board, i])
        for x in range(LANES):
            above[at, x] += copies * value[i * LANES + x]


@kernel
def open_round(betting, hands, board, seat, strategies, roots, onto, room):
    """The other's reach at the roots of the next round's groups: onto [groups, hands, LANES], from roots [groups, hands
    before x LANES]."""
    for group in range(betting.group_node.shape[0] - 1):
        reaches(betting, group, hands, board, 1 - seat, strategies[1 - seat], roots[group], room.reach)
        hand_on(betting, group, U64(hands.card.shape[1]), 1 - seat, room.reach, onto)


@kernel
def close_round(betting, hands, low, high, seat, mode, strategies, roots, after, room, above):
    """What a seat gets on boards low to high - 1 of a round, added to `above` [groups, hands before, LANES].

    roots: [groups, hands before x LANES], the other's reach. after: [groups of the next round, hands, LANES], for one
    board that is not of the last round.
    """
    for group in range(betting.group_node.shape[0] - 1):  # on all boards, while its strategy is in the cache
        for board in range(U64(low), U64(high)):
            settle(betting, group, hands, board, seat, mode, strategies, roots[group], after, room, above[group])


@kernel
def symmetrise(given, renamed, found):
    """found: the mean of values under some renamings. given, found [groups, hands, LANES]; renamed [renamings, hands]
    what each makes of a hand."""
    share = 1.0 / renamed.shape[0]
    for group in range(U64(given.shape[0])):
        for i in range(U64(given.shape[1])):
            for x in range(LANES):
                found[group, i, x] = 0.0
            for p in range(U64(renamed.shape[0])):
                at = U64(renamed[p, i])
                for x in range(LANES):
                    found[group, i, x] += given[group, at, x]
            for x in range(LANES):
                found[group, i, x] *= share


@kernel
def list_held(card, two, held, filled):
    """The hands that hold each card of some boards: `Hands.held`. filled [cards]: room."""
    for board in range(card.shape[0]):
        for c in range(filled.shape[0]):
            filled[c] = 0
        for i in range(card.shape[1]):
            for side in range(2 if two else 1):
                c = card[board, i, side]
                held[board, c, filled[c]] = i
                filled[c] += 1
