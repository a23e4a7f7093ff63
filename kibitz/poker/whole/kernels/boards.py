"""A two-player poker game board by board, depth first: what one seat gets against the other's strategy, by hand.

Nothing is kept of a board once it is done, so that games fit whose hands on boards no memory holds. Betting is cut into
groups of lanes as in `poker/exact/kernels/passes.py`; here a group has LANES lanes, the last of them empty where it has
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

from kibitz.core.jit import ONE, U64, kernel, part, small_part
from kibitz.core.vectors import LANES, add, constant, load, maximum, multiply, store, subtract
from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN

CARDS = U64(52)  # sums by live card, and behind them that of all hands
BEST, PLAYED = 0, 1  # the seat answers as well as it can, or plays a strategy
SET, ADD, LARGER = 0, 1, 2  # what is done with what stands there


class Betting(NamedTuple):
    """The betting of one round. Nodes of a group are counted from its first, in preorder; groups from the round's."""

    group_node: np.ndarray  # int64[G+1]
    turn: np.ndarray  # int8[N]  seat, FOLD, SHOWDOWN or EXIT
    parent: np.ndarray  # int32[N]
    depth: np.ndarray  # int32[N]  nodes above it
    first: np.ndarray  # bool[N]  whether it is its parent's first child
    last: np.ndarray  # bool[N]  and whether the last
    acted: np.ndarray  # int32[2, N]  actions of the seat on the way to it
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


class SweepWorkspace(NamedTuple):
    """Working space of one thread. All vectors of a group would be too much for the caches of a core, so nodes are
    visited in depth, and there is one vector for each number of actions so far."""

    reach: np.ndarray  # [actions + 1, H x LANES]  of the other
    own: np.ndarray  # [actions + 1, H x LANES]  of the seat, where it plays a strategy
    value: np.ndarray  # [depth + 2, H x LANES]
    sums: np.ndarray  # [actions + 1, 53 x LANES]  of the other's reach, by card and of all hands
    known: np.ndarray  # int8[actions + 1]  whether they are known
    nobody: np.ndarray  # int8[actions + 1]  whether the other never comes there, with any hand in any lane
    so_far: np.ndarray  # [53 x LANES]
    ties: np.ndarray  # [H x LANES]


@part
def begin(hands, board, roots, reach):
    """The reach at a group's root, from that on the board before: roots [hands before x LANES]; empty: all come."""
    n = U64(hands.card.shape[1])
    if roots.shape[0]:
        up = hands.up[board]
        for i in range(n):
            store(reach, i * LANES, load(roots, U64(up[i]) * LANES))
    else:
        for i in range(n * LANES):
            reach[i] = 1.0


@part
def act(betting, node, hands, board, seat, strategy, reach):
    """The reach behind an action of a seat, if one leads to a node, from that before it."""
    acted = betting.acted[seat, node]
    above, here = reach[acted - 1], reach[acted]
    at = U64(betting.sequence[seat, node])
    row = hands.row[betting.source[seat, node], board]
    for i in range(U64(hands.card.shape[1])):
        played = load(strategy, (at + U64(row[i])) * LANES)
        store(here, i * LANES, multiply(load(above, i * LANES), played))


@part
def is_nothing(reach, n):
    """Whether nobody comes anywhere. Where somebody does, that is found at one of the first hands, as a rule."""
    i = U64(0)
    while i < n * LANES and reach[i] == 0.0:
        i += ONE
    return i == n * LANES


@small_part
def put(value, at, amount, how):
    if how == ADD:
        amount = add(load(value, at), amount)
    elif how == LARGER:
        amount = maximum(load(value, at), amount)
    store(value, at, amount)


@part
def count(holders, reach, sums):
    """The reach of all hands that hold each card, and of all hands."""
    whole = constant(reach, 0.0)
    for card in range(U64(holders.shape[0])):
        mine = constant(reach, 0.0)
        for q in range(U64(holders.shape[1])):
            mine = add(mine, load(reach, U64(holders[card, q]) * LANES))
        store(sums, card * LANES, mine)
        whole = add(whole, mine)
    if holders.shape[1] > 1:  # hands of two cards were counted twice
        whole = multiply(whole, constant(reach, 0.5))
    store(sums, CARDS * LANES, whole)


@small_part
def besides(card, i, two, whole, sums):
    """A sum over all hands less those that hold a card of hand i. With two cards the hand itself is taken off twice."""
    rest = subtract(whole, load(sums, U64(card[i, U64(0)]) * LANES))
    if two:
        rest = subtract(rest, load(sums, U64(card[i, ONE]) * LANES))
    return rest


@small_part
def see(card, i, two, mine, sums):
    """Add a hand's reach to the sums of its cards."""
    one = U64(card[i, U64(0)]) * LANES
    store(sums, one, add(load(sums, one), mine))
    if two:
        other = U64(card[i, ONE]) * LANES
        store(sums, other, add(load(sums, other), mine))


@part
def shown(card, last, two, stake, reach, sums, so_far, ties, value, how):
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
            won = add(before, before)
            if two:
                won = subtract(won, mine)
            put(value, low * LANES, multiply(chips, won), how)
        else:
            for i in range(low, high):
                store(ties, (i - low) * LANES, besides(card, i, two, whole, so_far))
            for i in range(low, high):
                mine = load(reach, i * LANES)
                see(card, i, two, mine, so_far)
                whole = add(whole, mine)
            for i in range(low, high):
                won = add(load(ties, (i - low) * LANES), besides(card, i, two, whole, so_far))
                put(value, i * LANES, multiply(chips, won), how)
        low = high


@part
def folded(card, two, stake, reach, sums, value, how):
    """What each hand gets where somebody folds: the stake times the other's reach with hands that hold none of its
    cards. The hand itself is taken off with each of its cards."""
    chips, whole = load(stake, U64(0)), load(sums, CARDS * LANES)
    for i in range(U64(card.shape[0])):
        won = besides(card, i, two, whole, sums)
        if two:
            won = add(won, load(reach, i * LANES))
        put(value, i * LANES, multiply(chips, won), how)


@part
def hand_on(betting, group, k, n, reach, roots):
    """Write a reach at an exit to the groups of the next round. roots [groups, hands, LANES]."""
    for link in range(betting.group_link[group], betting.group_link[group + 1]):
        if betting.link_node[link] != k:
            continue
        there, onto = U64(betting.link_group[link]), U64(betting.link_first[link])
        lane = U64(betting.link_lane[link])
        for i in range(n):
            for x in range(U64(betting.link_count[link])):
                roots[there, i, onto + x] = reach[i * LANES + lane + x]


@part
def take_back(betting, group, k, n, after, ties, value, how):
    """What comes after an exit. after [groups of the next round, hands, LANES]."""
    for i in range(n * LANES):
        ties[i] = 0.0
    for link in range(betting.group_link[group], betting.group_link[group + 1]):
        if betting.link_node[link] != k:
            continue
        there, onto = U64(betting.link_group[link]), U64(betting.link_first[link])
        lane = U64(betting.link_lane[link])
        for i in range(n):
            for x in range(U64(betting.link_count[link])):
                ties[i * LANES + lane + x] += ties.dtype.type(after[there, i, onto + x])
    for i in range(n):
        put(value, i * LANES, load(ties, i * LANES), how)


@part
def end(betting, group, k, hands, board, seat, after, room, value, how):
    """What a seat gets where betting ends. A fold and a call to the same reach have the same sums."""
    node = betting.group_node[group] + k
    acted = betting.acted[1 - seat, node]
    card, two, reach, sums = hands.card[board], hands.two[0] == 2, room.reach[acted], room.sums[acted]
    stake = betting.stake[seat, node]
    if betting.turn[node] > SHOWDOWN:
        take_back(betting, group, k, U64(card.shape[0]), after, room.ties, value, how)
        return
    if room.nobody[acted]:
        nothing = constant(value, 0.0)
        for i in range(U64(card.shape[0])):
            put(value, i * LANES, nothing, how)
        return
    if not room.known[acted]:
        count(hands.held[board], reach, sums)
        room.known[acted] = 1
    if betting.turn[node] == FOLD:
        folded(card, two, stake, reach, sums, value, how)
    else:
        shown(card, hands.last[board], two, stake, reach, sums, room.so_far, room.ties, value, how)


@part
def how_at(betting, node, parent, seat):
    """What a node's value does at its parent's: the other's actions are summed, as his reach is in them."""
    if betting.first[node]:
        return SET
    return LARGER if betting.turn[parent] == seat else ADD


@part
def answer(betting, group, k, hands, board, seat, after, room):
    """Put what a seat gets at the end k into the values above it; value[0] is the most that it gets, in the end."""
    first = betting.group_node[group]
    if k == 0:
        end(betting, group, k, hands, board, seat, after, room, room.value[0], SET)
        return
    above = first + betting.parent[first + k]
    value = room.value[betting.depth[above]]
    end(betting, group, k, hands, board, seat, after, room, value, how_at(betting, first + k, above, seat))
    node = first + k
    while betting.last[node] and above > first:  # all is known of the node above
        node = above
        above = first + betting.parent[node]
        mine, value = room.value[betting.depth[node]], room.value[betting.depth[above]]
        how = how_at(betting, node, above, seat)
        for i in range(U64(hands.card.shape[1])):
            put(value, i * LANES, load(mine, i * LANES), how)


@part
def earn(betting, group, k, hands, board, seat, after, room):
    """Add what a seat gets at the end k by its own strategy to value[0]; `room.own` is its reach from the root."""
    value, spare, own = room.value[0], room.value[1], room.own[betting.acted[seat, betting.group_node[group] + k]]
    end(betting, group, k, hands, board, seat, after, room, spare, SET)
    for i in range(U64(hands.card.shape[1])):
        put(value, i * LANES, multiply(load(own, i * LANES), load(spare, i * LANES)), ADD)


@part
def settle(betting, group, hands, board, seat, mode, strategies, roots, after, room, above):
    """What a seat gets in a group on a board, added to `above` [hands before, LANES] as often as the board stands for.

    roots [hands before x LANES]: the other's reach at the group's root; after: what comes after exits, by hand.
    """
    other, n = 1 - seat, U64(hands.card.shape[1])
    begin(hands, board, roots, room.reach[0])
    if is_nothing(room.reach[0], n):  # the seat gets nothing from nobody
        return
    room.known[0] = room.nobody[0] = 0
    if mode == PLAYED:
        begin(hands, board, roots[:0], room.own[0])
        value = room.value[0]
        for i in range(U64(hands.card.shape[1]) * LANES):
            value[i] = 0.0
    first = betting.group_node[group]
    for k in range(betting.group_node[group + 1] - first):
        if k > 0 and betting.slot[other, first + k] == k:
            acted = betting.acted[other, first + k]
            room.known[acted] = 0
            room.nobody[acted] = room.nobody[acted - 1]
            if not room.nobody[acted]:
                act(betting, first + k, hands, board, other, strategies[other], room.reach)
                room.nobody[acted] = is_nothing(room.reach[acted], n)
        if mode == PLAYED and k > 0 and betting.slot[seat, first + k] == k:
            act(betting, first + k, hands, board, seat, strategies[seat], room.own)
        if betting.turn[first + k] >= FOLD:
            if mode == BEST:
                answer(betting, group, k, hands, board, seat, after, room)
            else:
                earn(betting, group, k, hands, board, seat, after, room)
    copies = hands.copies[board]
    value = room.value[0]
    for i in range(U64(hands.card.shape[1])):
        at = U64(hands.up[board, i])
        for x in range(LANES):
            above[at, x] += copies * value[i * LANES + x]


@part
def never_come_to(roots):
    """Whether the other never comes to a group; before the first round, where nothing is said, he does."""
    for x in range(U64(roots.shape[0])):
        if roots[x] != 0.0:
            return False
    return roots.shape[0] > 0


@kernel
def open_round(betting, hands, board, seat, strategies, roots, onto, room):
    """The other's reach at the roots of the next round's groups: onto [groups, hands, LANES], from roots [groups, hands
    before x LANES]."""
    other = 1 - seat
    for group in range(betting.group_node.shape[0] - 1):
        if never_come_to(roots[group]):
            continue
        begin(hands, board, roots[group], room.reach[0])
        first = betting.group_node[group]
        for k in range(betting.group_node[group + 1] - first):
            if k > 0 and betting.slot[other, first + k] == k:
                act(betting, first + k, hands, board, other, strategies[other], room.reach)
            if betting.turn[first + k] > SHOWDOWN:
                reach = room.reach[betting.acted[other, first + k]]
                hand_on(betting, group, k, U64(hands.card.shape[1]), reach, onto)


@kernel
def close_round(betting, hands, low, high, seat, mode, strategies, roots, after, room, above):
    """What a seat gets on boards low to high - 1 of a round, added to `above` [groups, hands before, LANES].

    roots: [groups, hands before x LANES], the other's reach. after: [groups of the next round, hands, LANES], for one
    board that is not of the last round.
    """
    for group in range(betting.group_node.shape[0] - 1):  # on all boards, while its strategy is in the cache
        if never_come_to(roots[group]):
            continue
        for board in range(U64(low), U64(high)):
            settle(betting, group, hands, board, seat, mode, strategies, roots[group], after, room, above[group])


@kernel
def symmetrise(values, renamed, mean):
    """mean: of values under some renamings. values, mean [groups, hands, LANES]; renamed [renamings, hands] what each
    makes of a hand."""
    share = 1.0 / renamed.shape[0]
    for group in range(U64(values.shape[0])):
        for i in range(U64(values.shape[1])):
            for x in range(LANES):
                mean[group, i, x] = 0.0
            for p in range(U64(renamed.shape[0])):
                at = U64(renamed[p, i])
                for x in range(LANES):
                    mean[group, i, x] += values[group, at, x]
            for x in range(LANES):
                mean[group, i, x] *= share


@kernel
def list_held(card, two, holders, filled):
    """The hands that hold each card of some boards: `Hands.held`. filled [cards]: room."""
    for board in range(card.shape[0]):
        for c in range(filled.shape[0]):
            filled[c] = 0
        for i in range(card.shape[1]):
            for side in range(2 if two else 1):
                c = card[board, i, side]
                holders[board, c, filled[c]] = i
                filled[c] += 1
