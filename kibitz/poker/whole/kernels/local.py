"""Local best response to a strategy of limit poker, for any number of seats [Lisy & Bowling 2017].

The response knows the strategy, its own cards and the board so far. A *range* says how likely a seat would have played
as it did with each hand. Of fold, call and raise the response takes the one that wins most if afterwards everybody
checks and calls to the end; to a raise the others fold as often as their strategy does there. Ranges are taken as
independent, and others answer a raise as if those between had called: both only make the response weaker than it might
be, and whatever it wins, a best response wins as much or more.

All seats get real cards. Where all play alike what they win adds up to nothing: a deal that is played from each seat
with the same cards and the same random numbers has little luck left in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.ranking import value_of
from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.core.random import GOLDEN, NONE, choose, mix, next_below, seed_of, to_unit
from kibitz.games.kernels.machine import END, after, deal, payoff, turn, width
from kibitz.poker.rules.kernels.machine import (
    LOWER,
    M6,
    ROUND,
    SIX,
    TEN,
    PokerState,
    card_of,
    hole_of,
    value_at,
    with_cards,
)
from kibitz.solvers.kernels.players import strategy

FOLD, CALL, RAISE = U64(0), U64(1), U64(2)  # actions, whether they are offered or not
MAY_FOLD, MAY_RAISE = U64(1), U64(2)  # bits of `offered`
FIVE = U64(5)  # cards of the hands that `value_of` ranks, at least
NOW, RAISED = U64(0), U64(1)  # ranges: as they are, and of those who stay after a raise
ACTS, ROLLS = U64(0xA24BAED4963EE407), U64(0x9FB21C651E98DF25)  # set two kinds of random numbers apart


class LocalRules(NamedTuple):
    """What a response needs of the betting and the hands, beside the game's arrays. H hands, n seats, R rounds."""

    offered: np.ndarray  # uint8[B]  MAY_FOLD and MAY_RAISE, by betting node
    blinds: np.ndarray  # float64[n]
    sizes: np.ndarray  # float64[R]  of raises
    boards: np.int64  # ways the board may go on that an equity is taken over
    hands: np.ndarray  # uint8[H, private cards]
    masks: np.ndarray  # uint64[H]  the same as sets of cards
    ranked: np.ndarray  # uint64[H]  the same as words of `cards/kernels/ranking.py`


class LocalRoom(NamedTuple):
    """What one thread writes to."""

    ranges: np.ndarray  # float64[2, n, H]  NOW and RAISED
    rows: np.ndarray  # float64[H, actions]  what a seat does with each hand
    paid: np.ndarray  # float64[n]  chips put in
    worth: np.ndarray  # float64[n, D, 3]  of FOLD, CALL and RAISE, at the decisions of the response in the last deal
    sums: np.ndarray  # float64[2, n, 2]  of ranges: the mass that goes with a board, and how much of it is beaten
    words: np.ndarray  # uint64[SCRATCH]  a random state
    probability: np.ndarray  # float64[actions]


@part
def put(state, k, card):
    """The state with another k-th card."""
    word, place = k // TEN, SIX * (k % TEN)
    keep, bits = ~(M6 << place), card << place
    return PokerState(
        state.node,
        (state.a & keep) | bits if word == U64(0) else state.a, (state.b & keep) | bits if word == U64(1) else state.b,
        (state.c & keep) | bits if word == U64(2) else state.c, (state.d & keep) | bits if word == U64(3) else state.d,
        (state.e & keep) | bits if word == U64(4) else state.e, (state.f & keep) | bits if word == U64(5) else state.f,
        NONE,
    )  # fmt: skip


@part
def with_hand(game, rules, state, seat, h):
    """The state in which a seat holds hand h."""
    first = hole_of(game, seat)
    for k in range(game.hole):
        state = put(state, first + k, U64(rules.hands[h, k]))
    return state


@part
def cards_at(state, first, last):
    """Cards first..last - 1 as a set."""
    cards = NONE
    for k in range(first, last):
        cards |= ONE << card_of(state, k)
    return cards


@part
def fill_rows(game, player, rules, state, seat, gone, rows):
    """What a seat that is to act does with each hand without the cards `gone`."""
    count = U64(width(game, state))
    for h in range(U64(len(rules.hands))):
        if not rules.masks[h] & gone:
            strategy(player, game, with_hand(game, rules, state, seat, h), count, rows[h])


# What a hand is worth


@part
def value_with(game, rules, state, board, seat, h):
    """What hand h is worth at the showdown. board: the cards that all share, as a word of `ranking`."""
    if hole_of(game, NONE) + game.hole >= FIVE:
        return U64(value_of(board | rules.ranked[h]))
    return value_at(game, with_hand(game, rules, state, seat, h), board, seat)


@part
def add_board(game, rules, state, seat, folded, gone, sets, room):
    """(how likely one's hand beats all ranges as they are; and those of who stays) on the whole board of a state.

    Ties count half. gone: own cards and the board.
    """
    board = with_cards(NONE, state, NONE, hole_of(game, NONE))
    mine = value_at(game, state, board, seat)
    for s in range(game.seats):
        for k in range(sets):
            room.sums[k, s, NONE] = room.sums[k, s, ONE] = 0.0
    for h in range(U64(len(rules.hands))):
        if rules.masks[h] & gone:
            continue
        theirs = value_with(game, rules, state, board, seat, h)
        beaten = 1.0 if theirs < mine else (0.5 if theirs == mine else 0.0)
        for s in range(game.seats):
            for k in range(sets):
                weight = room.ranges[k, s, h]
                room.sums[k, s, NONE] += weight
                room.sums[k, s, ONE] += weight * beaten
    now = raised = 1.0
    for s in range(game.seats):
        if s == seat or (folded >> s) & ONE:
            continue
        for k in range(sets):
            mass = room.sums[k, s, NONE]
            share = room.sums[k, s, ONE] / mass if mass > 0.0 else 0.5
            if k == NOW:
                now *= share
            else:
                raised *= share
    return now, raised


@part
def equities(game, rules, state, seat, folded, shown, sets, room):
    """The same as a mean over ways the board may go on: all, if one card is missing and these are few; else some."""
    whole, first = hole_of(game, NONE), hole_of(game, seat)
    known = cards_at(state, first, first + game.hole) | cards_at(state, NONE, shown)
    deck, missing = U64(len(game.deck)), whole - shown
    if missing == NONE:
        return add_board(game, rules, state, seat, folded, known, sets, room)
    now = raised = 0.0
    left = np.int64(deck - shown - game.hole)
    if missing == ONE and left <= rules.boards:
        for k in range(deck):
            card = U64(game.deck[k])
            if not (known >> card) & ONE:
                a, b = add_board(game, rules, put(state, shown, card), seat, folded, known | ONE << card, sets, room)
                now += a
                raised += b
        return now / left, raised / left
    for _ in range(rules.boards):
        gone = known
        for k in range(shown, whole):
            card = U64(game.deck[next_below(room.words, deck)])
            while (gone >> card) & ONE:
                card = U64(game.deck[next_below(room.words, deck)])
            gone |= ONE << card
            state = put(state, k, card)
        a, b = add_board(game, rules, state, seat, folded, gone, sets, room)
        now += a
        raised += b
    return now / rules.boards, raised / rules.boards


@part
def leaving(game, player, rules, state, seat, folded, gone, room):
    """How likely all others fold to a raise; fills the ranges of those who do not."""
    for s in range(game.seats):
        for h in range(U64(len(rules.hands))):
            room.ranges[RAISED, s, h] = room.ranges[NOW, s, h]
    number = game.node[state.node & LOWER, ROUND]
    here = after(game, state, U64(width(game, state)) - ONE)
    leave = 1.0
    while turn(game, here) != END and turn(game, here) != np.int64(seat):
        at = here.node & LOWER
        if game.node[at, ROUND] != number:
            break
        who, may_fold = U64(turn(game, here)), U64(rules.offered[at]) & MAY_FOLD
        fill_rows(game, player, rules, here, who, gone, room.rows)
        mass = folds = 0.0
        for h in range(U64(len(rules.hands))):
            if rules.masks[h] & gone:
                continue
            weight = room.ranges[NOW, who, h]
            leaves = weight * room.rows[h, FOLD] if may_fold else 0.0
            mass += weight
            folds += leaves
            room.ranges[RAISED, who, h] = weight - leaves
        leave *= folds / mass if mass > 0.0 else 0.0
        here = after(game, here, CALL if may_fold else U64(0))
    return leave


@part
def weigh(game, player, rules, state, seat, folded, room, worth):
    """worth[FOLD, CALL, RAISE] of a seat that is to act; a raise that is not offered is worth less than all. The first
    word of `words` says which boards are drawn."""
    at = state.node & LOWER
    number = U64(game.node[at, ROUND])
    shown, first = game.board[number + ONE], hole_of(game, seat)
    gone = cards_at(state, first, first + game.hole) | cards_at(state, NONE, shown)
    may_raise = U64(rules.offered[at]) & MAY_RAISE
    leave = leaving(game, player, rules, state, seat, folded, gone, room) if may_raise else 0.0
    now, raised = equities(game, rules, state, seat, folded, shown, U64(2) if may_raise else ONE, room)
    pot = top = 0.0
    for s in range(game.seats):
        pot += room.paid[s]
        top = max(top, room.paid[s])
    asked = top - room.paid[seat]
    worth[FOLD], worth[CALL], worth[RAISE] = 0.0, now * pot - (1.0 - now) * asked, -np.inf
    if may_raise:
        size, more = rules.sizes[number], 0.0
        for s in range(game.seats):
            if s != seat and not (folded >> s) & ONE:
                more += top + size - room.paid[s]
        met = raised * (pot + more) - (1.0 - raised) * (asked + size)
        worth[RAISE] = leave * pot + (1.0 - leave) * met


@part
def best_of(rules, state, worth):
    """The number of the action that is worth most, the first of equal ones."""
    at = state.node & LOWER
    may_fold = U64(rules.offered[at]) & MAY_FOLD
    best = FOLD if may_fold and worth[FOLD] >= worth[CALL] else CALL
    if worth[RAISE] > worth[best]:
        best = RAISE
    return best if may_fold else best - ONE


# Hands


@part
def respond_hand(game, player, rules, state, seat, number, room):
    """What the response wins in a seat, with the cards of a state."""
    first = hole_of(game, seat)
    own = cards_at(state, first, first + game.hole)
    for s in range(game.seats):
        room.paid[s] = rules.blinds[s]
        for h in range(U64(len(rules.hands))):
            room.ranges[NOW, s, h] = 0.0 if rules.masks[h] & own else 1.0
    folded = decision = asked = NONE
    while turn(game, state) != END:
        decision += ONE
        at, mover = state.node & LOWER, U64(turn(game, state))
        if mover == seat:
            room.words[0] = mix((number ^ ROLLS) + GOLDEN * decision)
            worth = room.worth[seat, asked]
            weigh(game, player, rules, state, seat, folded, room, worth)
            action = best_of(rules, state, worth)
            asked += ONE
        else:
            gone = own | cards_at(state, NONE, game.board[U64(game.node[at, ROUND]) + ONE])
            count = U64(width(game, state))
            strategy(player, game, state, count, room.probability)
            action = choose(room.probability, count, to_unit(mix((number ^ ACTS) + GOLDEN * decision)))
            fill_rows(game, player, rules, state, mover, gone, room.rows)
            for h in range(U64(len(rules.hands))):
                room.ranges[NOW, mover, h] *= 0.0 if rules.masks[h] & gone else room.rows[h, action]
        meant = action if U64(rules.offered[at]) & MAY_FOLD else action + ONE
        if meant == FOLD and mover == seat:
            return -room.paid[seat]
        if meant == FOLD:
            folded |= ONE << mover
        else:
            top = 0.0
            for s in range(game.seats):
                top = max(top, room.paid[s])
            room.paid[mover] = top + (rules.sizes[U64(game.node[at, ROUND])] if meant == RAISE else 0.0)
        state = after(game, state, action)
    return payoff(game, state, seat)


@kernel
def respond(game, player, rules, seed, begin, result, room):
    """Deals begin..begin + len(result) - 1: result[i, seat] is what the response wins in each seat, in chips."""
    for i in range(len(result)):
        room.words[0] = seed_of(seed, begin + i)
        state = deal(game, room.words)
        number = room.words[0]
        for seat in range(game.seats):
            result[i, seat] = respond_hand(game, player, rules, state, seat, number, room)
