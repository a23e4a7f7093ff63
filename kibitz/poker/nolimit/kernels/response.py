"""Local best response to a strategy of an action abstraction, at a table with all bets [Lisy & Bowling 2017].

The response knows the strategy, its own cards and the board so far, and not which cards its opponent holds nor how the
opponent read its bets. So it weighs all *readings* (nodes of the strategy's betting tree) and hands together:
`weight[m, h]` is how likely the strategy would have played as it did from reading m with hand h. Of fold, call and
some raises it takes the one that wins most if afterwards both check and call to the end; to a raise the opponent folds
as often as its strategy does there.

No cards are dealt to the opponent. Its next action is drawn from all hands that go with the dealt board, and what is
won at a showdown is the mean over them: the mean is that of real hands, with less variance. What comes on the board
later is known to that draw and never to the response.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.core.random import GOLDEN, NONE, mix, next_below, seed_of, to_unit
from kibitz.games.kernels.machine import END, deal
from kibitz.poker.nolimit.kernels.betting import (
    CALL,
    FOLD,
    FOLDED,
    PAID,
    ROUND,
    TURN,
    act,
    begin,
    faces_bet,
    highest,
    pot_of,
    top_of,
    total_of,
)
from kibitz.poker.nolimit.kernels.translation import (
    action_total,
    answered,
    count_low,
    follow,
    if_ahead,
    is_together,
    low_share,
    next_size,
    read_action,
    size_at,
    turned,
)
from kibitz.poker.rules.kernels.machine import COUNT, SIX, PokerState, hole_of, value_at, with_cards

ACTS, ROLLS = U64(0x8EBC6AF09C88C6E3), U64(0x589965CC75374CC3)  # set two kinds of random numbers apart


class Response(NamedTuple):
    """How a response is computed. H hands."""

    sizes: np.ndarray  # float64[K]  raises that it weighs, in pots
    boards: np.int64  # ways the board may go on that an equity is taken over
    hands: np.ndarray  # uint64[H]  the cards of each hand, six bits each
    masks: np.ndarray  # uint64[H]  the same as sets of cards


class Room(NamedTuple):
    """What a thread writes to: M readings at most, of nodes with A actions at most."""

    bets: np.ndarray  # int64[BETS]
    node: np.ndarray  # int64[2, M]  readings now, and while they change
    weight: np.ndarray  # float64[2, M, H]
    rows: np.ndarray  # float64[M, H, A]  what the strategy does
    edge: np.ndarray  # float64[2, H]  how often a hand loses less how often it wins; the boards it can meet
    words: np.ndarray  # uint64[SCRATCH]  a random state
    lost: np.ndarray  # int64[1]  readings that found no room


@part
def cards_at(table, state, first, last):
    """Cards first..last - 1 as a set; a deal for two fits into the first word."""
    cards = NONE
    for k in range(first, last):
        cards |= ONE << ((state.a >> (SIX * k)) & U64(63))
    return cards


@part
def with_hand(table, state, seat, hand):
    """The board of a deal, and a seat's cards."""
    shown = (ONE << (SIX * hole_of(table, NONE))) - ONE
    cards = (state.a & shown) | hand << (SIX * hole_of(table, U64(seat)))
    return PokerState(state.node, cards, NONE, NONE, NONE, NONE, NONE, NONE)


@part
def fill_rows(reader, node, table, bets, state, seat, response, gone, rows):
    """rows[h, a] of a reading at which the strategy acts; how many actions it has. It calls where it has no row, and 0
    actions mean that it is not asked."""
    if not is_together(reader, node, bets):
        return NONE
    count = U64(reader.game.node[U64(node), COUNT])
    call = count_low(reader, node) - ONE
    for h in range(U64(len(response.hands))):
        if response.masks[h] & gone:
            continue
        cards = with_hand(table, state, seat, response.hands[h])
        here = PokerState(U64(node), cards.a, NONE, NONE, NONE, NONE, NONE, NONE)
        if not answered(reader, here, count, rows[h]):
            for a in range(count):
                rows[h, a] = 1.0 if a == call else 0.0
    return count


@part
def slot_of(room, used, node):
    """The place of a reading among the new ones: that of an equal one, a new one, or none."""
    for m in range(used):
        if room.node[ONE, m] == node:
            return m
    return used


@part
def add_reading(room, used, node, m, share, column):
    """Add reading m to the new ones, times a share, or times a column of its rows if that is not negative."""
    to = slot_of(room, used, node)
    if to == U64(room.node.shape[1]):
        room.lost[0] += 1
        return used
    hands = U64(room.weight.shape[2])
    if to == used:
        room.node[ONE, to] = node
        for h in range(hands):
            room.weight[ONE, to, h] = 0.0
        used += ONE
    for h in range(hands):
        room.weight[ONE, to, h] += room.weight[NONE, m, h] * (room.rows[m, h, U64(column)] if column >= 0 else share)
    return used


@part
def take_new(room, used):
    """The new readings are the readings."""
    for m in range(used):
        room.node[NONE, m] = room.node[ONE, m]
        for h in range(U64(room.weight.shape[2])):
            room.weight[NONE, m, h] = room.weight[ONE, m, h]
    return used


@part
def opponent_acts(reader, table, state, seat, response, room, used, draw):
    """(action, readings) of the strategy: drawn from the hands that go with the whole board.

    The rows of hands that go with the board so far are filled: the response does not know the rest of it.
    """
    bets = room.bets
    first = hole_of(table, U64(1 - np.int64(seat)))
    own = cards_at(table, state, first, first + table.hole)
    seen = own | cards_at(table, state, NONE, table.board[U64(bets[ROUND]) + ONE])
    gone = own | cards_at(table, state, NONE, hole_of(table, NONE))
    total = 0.0
    for m in range(used):
        fill_rows(reader, room.node[NONE, m], table, bets, state, seat, response, seen, room.rows[m])
        for h in range(U64(len(response.hands))):
            if not response.masks[h] & gone:
                total += room.weight[NONE, m, h]
    left = draw * total
    taken = np.int64(CALL)
    done = False
    for m in range(used):
        node = room.node[NONE, m]
        together = is_together(reader, node, bets)
        count = U64(reader.game.node[U64(node), COUNT]) if together else ONE
        for a in range(count):
            mass = 0.0
            for h in range(U64(len(response.hands))):
                if not response.masks[h] & gone:
                    mass += room.weight[NONE, m, h] * (room.rows[m, h, a] if together else 1.0)
            if mass > 0.0 and not done:
                taken = turned(reader, node, table, bets, a) if together else np.int64(CALL)
                left -= mass
                done = left < 0.0
    new = NONE
    for m in range(used):
        node = room.node[NONE, m]
        if not is_together(reader, node, bets):
            if taken == CALL:
                new = add_reading(room, new, if_ahead(reader, node, bets), m, 1.0, -1)
            continue
        for a in range(U64(reader.game.node[U64(node), COUNT])):
            if turned(reader, node, table, bets, a) == taken:
                meant = count_low(reader, node) - ONE if taken == CALL else a
                new = add_reading(room, new, follow(reader, node, meant), m, 1.0, np.int64(a))
    return taken, take_new(room, new)


@part
def response_acts(reader, table, room, used, action):
    """The readings after an action of the response."""
    new = NONE
    bets = room.bets
    for m in range(used):
        node = room.node[NONE, m]
        low, high, share = readings_of(reader, node, table, bets, action)
        if share > 0.0:
            new = add_reading(room, new, low, m, share, -1)
        if share < 1.0:
            new = add_reading(room, new, high, m, 1.0 - share, -1)
    return take_new(room, new)


@part
def readings_of(reader, node, table, bets, action):
    """(a reading of an action, the other one, how likely the first is)."""
    if action > CALL and is_together(reader, node, bets):
        low = count_low(reader, node)
        if U64(reader.game.node[U64(node), COUNT]) > low:
            x = (action - top_of(table, bets)) / pot_of(table, bets)
            above = next_size(reader, node, x)
            high = size_at(reader, node, above)
            if above > low and x < high:
                share = low_share(x, size_at(reader, node, above - ONE), high)
                return follow(reader, node, above - ONE), follow(reader, node, above), share
    only = read_action(reader, node, table, bets, action, 0.0)
    return only, only, 1.0


# What hands are worth


@part
def add_edges(table, state, seat, response, gone, edge):
    """On the whole board of a state: +1 for each opponent's hand that loses, -1 for one that wins; counts them."""
    shared = with_cards(NONE, state, NONE, hole_of(table, NONE))
    other = U64(1 - np.int64(seat))
    mine = value_at(table, state, shared, U64(seat))
    for h in range(U64(len(response.hands))):
        if response.masks[h] & gone:
            continue
        theirs = value_at(table, with_hand(table, state, other, response.hands[h]), shared, other)
        edge[0, h] += 1.0 if mine > theirs else (-1.0 if mine < theirs else 0.0)
        edge[1, h] += 1.0


@part
def fill_edges(table, state, seat, response, shown, edge, random):
    """edge[0, h]: how often one's hand beats hand h less how often it loses, over ways the board may go on."""
    for h in range(U64(len(response.hands))):
        edge[0, h] = edge[1, h] = 0.0
    first = hole_of(table, U64(seat))
    own = cards_at(table, state, first, first + table.hole)
    whole = hole_of(table, NONE)
    hand = (state.a >> (SIX * first)) & ((ONE << (SIX * table.hole)) - ONE)
    known = state.a & ((ONE << (SIX * shown)) - ONE)
    seen = own | cards_at(table, state, NONE, shown)
    count = response.boards if shown < whole else 1
    for _ in range(count):
        board, gone = known, seen
        for k in range(shown, whole):
            card = U64(table.deck[next_below(random, U64(len(table.deck)))])
            while (gone >> card) & ONE:
                card = U64(table.deck[next_below(random, U64(len(table.deck)))])
            gone |= ONE << card
            board |= card << (SIX * k)
        cards = board | hand << (SIX * first)
        add_edges(table, PokerState(NONE, cards, NONE, NONE, NONE, NONE, NONE, NONE), seat, response, gone, edge)
    for h in range(U64(len(response.hands))):
        if edge[1, h] > 0.0:
            edge[0, h] /= edge[1, h]


@part
def mean_edge(room, used, response, gone):
    """(the mean edge over readings and hands without the cards `gone`, how likely these are)."""
    total = mass = 0.0
    for m in range(used):
        for h in range(U64(len(response.hands))):
            if not response.masks[h] & gone:
                total += room.weight[NONE, m, h] * room.edge[0, h]
                mass += room.weight[NONE, m, h]
    return (total / mass if mass > 0.0 else 0.0), mass


@part
def raise_value(reader, table, state, seat, response, room, used, gone, action):
    """What a raise wins if the opponent folds as its strategy says, and else calls, and both check to the end.

    The rows of the first reading's place are scratch.
    """
    bets = room.bets
    other = U64(1 - np.int64(seat))
    stays = folds = edges = 0.0
    turn, paid = bets[TURN], bets[PAID + U64(seat)]
    for m in range(used):
        low, high, share = readings_of(reader, room.node[NONE, m], table, bets, action)
        for way in range(2):
            node = low if way == 0 else high
            part_of_it = share if way == 0 else 1.0 - share
            if part_of_it <= 0.0:
                continue
            # As it is when the opponent is to answer; nobody else is there.
            bets[TURN], bets[PAID + U64(seat)] = np.int64(other), action
            count = fill_rows(reader, node, table, bets, state, other, response, gone, room.rows[NONE])
            bets[TURN], bets[PAID + U64(seat)] = turn, paid
            may_fold = count > NONE and action_total(reader, node, NONE) == FOLD
            for h in range(U64(len(response.hands))):
                if response.masks[h] & gone:
                    continue
                weight = room.weight[NONE, m, h] * part_of_it
                leaves = room.rows[NONE, h, NONE] if may_fold else 0.0
                folds += weight * leaves
                stays += weight * (1.0 - leaves)
                edges += weight * (1.0 - leaves) * room.edge[0, h]
    matched = np.float64(min(action, table.stacks[other]))
    if folds + stays <= 0.0:
        return 0.0
    return (folds * np.float64(bets[PAID + other]) + edges * matched) / (folds + stays)


@part
def respond_once(reader, table, state, seat, response, room, used, shown, number):
    """The action of the response, which sees so many cards of the board. number: where its random numbers begin."""
    bets = room.bets
    other = U64(1 - np.int64(seat))
    first = hole_of(table, U64(seat))
    gone = cards_at(table, state, first, first + table.hole) | cards_at(table, state, NONE, shown)
    room.words[0] = number
    fill_edges(table, state, seat, response, shown, room.edge, room.words)
    edge, _ = mean_edge(room, used, response, gone)
    met = min(min(top_of(table, bets), table.stacks[U64(seat)]), bets[PAID + other])
    best, value = np.int64(CALL), edge * np.float64(met)
    if faces_bet(table, bets) and -np.float64(bets[PAID + U64(seat)]) > value:
        best, value = np.int64(FOLD), -np.float64(bets[PAID + U64(seat)])
    if highest(table, bets):
        for k in range(U64(len(response.sizes))):
            action = total_of(table, bets, response.sizes[k])
            raised = raise_value(reader, table, state, seat, response, room, used, gone, action)
            if raised > value:
                best, value = action, raised
    return best


@part
def respond_hand(table, reader, response, state, seat, room, number):
    """What the response wins in a hand, in some seat: a mean over all that the opponent may hold."""
    bets = room.bets
    other = U64(1 - np.int64(seat))
    first = hole_of(table, U64(seat))
    own = cards_at(table, state, first, first + table.hole)
    all_gone = own | cards_at(table, state, NONE, hole_of(table, NONE))
    begin(table, bets)
    room.node[NONE, NONE] = np.int64(reader.game.root)
    for h in range(U64(len(response.hands))):
        room.weight[NONE, NONE, h] = 0.0 if response.masks[h] & own else 1.0
    used, decision = ONE, NONE
    while bets[TURN] != END:
        shown = table.board[U64(bets[ROUND]) + ONE]
        decision += ONE
        if bets[TURN] == np.int64(seat):
            rolls = mix((number ^ ROLLS) + GOLDEN * decision)
            action = respond_once(reader, table, state, seat, response, room, used, shown, rolls)
            used = response_acts(reader, table, room, used, action)
        else:
            draw = to_unit(mix((number ^ ACTS) + GOLDEN * decision))
            action, used = opponent_acts(reader, table, state, other, response, room, used, draw)
        act(table, bets, action)
    if (bets[FOLDED] >> np.int64(seat)) & 1:
        return -np.float64(bets[PAID + U64(seat)])
    if bets[FOLDED]:
        return np.float64(bets[PAID + other])
    fill_edges(table, state, seat, response, hole_of(table, NONE), room.edge, room.words)
    edge, _ = mean_edge(room, used, response, all_gone)
    return edge * np.float64(min(bets[PAID], bets[PAID + ONE]))


@kernel
def respond(table, reader, response, seed, first, result, room):
    """Deals first..first + len(result) - 1: result[i, seat] is what the response wins with the same cards in each seat.

    The cards of a deal are the board's and those that the first seat would get.
    """
    for i in range(len(result)):
        room.words[0] = seed_of(seed, first + i)
        state = deal(table, room.words)
        number = room.words[0]
        at = hole_of(table, NONE)
        hand = (state.a >> (SIX * at)) & ((ONE << (SIX * table.hole)) - ONE)
        for seat in range(2):
            cards = with_hand(table, state, seat, hand)
            result[i, seat] = respond_hand(table, reader, response, cards, U64(seat), room, mix(number + U64(seat)))
