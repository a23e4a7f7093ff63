"""Poker as a machine (`games/kernels/machine.py`): a walk over the betting tree, and cards that are all dealt at once.

The cards of a hand are numbered: those of the board first, then each seat's. A state holds them ten to a word, whether
they are turned already or not, so that all seatings of a duplicate deal meet the same board. Betting nodes at which
only cards come are left out of the lists of children.

A betting node is a word: an instance of a round's betting, and in the lower half a node (`kibitz.poker.rules.rounds`).
A betting tree that is laid out whole has one instance.

A key is a hash of a betting node and of what the seat sees (`sight`). Two different rows of a table with R rows share
one with probability R^2 / 2^65. Under a view of buckets it is one of node and bucket, and no two rows share one. Where
a view says in which column the rows of a place begin, a key is a row's first column and one more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.cards.kernels.ranking import value_of, value_of_three, with_card
from kibitz.core.devices import by_device
from kibitz.core.jit import FOUR, ONE, THREE, TWO, U64, kernel
from kibitz.core.jit import part as piece
from kibitz.core.random import GOLDEN, NONE, mix, next_below
from kibitz.games.kernels.dispatch import register, stub
from kibitz.games.kernels.machine import key as machine_key
from kibitz.poker.rules.kernels.buckets import (
    BUCKETS,
    ISOMORPHIC,
    RANKS,
    RAW,
    DealtView,
    PokerView,
    at_place,
    bucket_of,
    found_apart,
    seen_through,
)
from kibitz.solvers.kernels.players import play_deals
from kibitz.solvers.kernels.walk import walk_all

NAMES = {"null": RAW, "isomorphic": ISOMORPHIC, "ranks": RANKS}
TURN, FIRST, COUNT, ROUND, STRIDE, OFFSET = (U64(k) for k in range(6))  # columns of `node`
BEGIN, NEXT = U64(0), U64(1)  # columns of `instance`
EXIT = U64(1 << 31)
SIX, TEN, TWENTY, THIRTY, FORTY, FIFTY = U64(6), U64(10), U64(20), U64(30), U64(40), U64(50)
M4, M6, KNOWN = U64(15), U64(63), U64(1 << 63)
THIRTEEN, HALF, LOWER = U64(13), U64(32), U64(0xFFFFFFFF)
PAIRS = U64(13 * 13)


class PokerGame(NamedTuple):
    """B betting nodes, E ends, n seats, R rounds; I instances, P places."""

    node: np.ndarray  # int32[B, 6]  turn; first child and their number, or at an end its number and a mask of the seats
    #   that folded; betting round; columns of its seat at this place for each bucket, and which of them is its first
    child: np.ndarray  # uint32[]  nodes by parent: the next at which somebody acts, or an end; or EXIT and a number
    paid: np.ndarray  # float64[E, n]  chips that each seat has put in, since the instance began
    instance: np.ndarray  # uint32[I, 2]  first node; the instance that the first exit leads to
    carried: np.ndarray  # float64[I, n]  chips put in before
    part: np.ndarray  # uint8[P]  the part of a grafting partition that a place is in; one entry: parts are rounds
    early: np.uint64  # nodes of the first round: the places of later instances are numbered from here on
    deck: np.ndarray  # uint8[D]  cards: rank * 4 + suit
    board: np.ndarray  # uint64[R + 1]  cards on the board before those of each round come, and in the end
    mark: np.ndarray  # uint64[]  when each card of a deal came: 1 the seats' own, 2 those of the first round, ...
    seats: np.uint64
    hole: np.uint64  # private cards of a seat
    root: np.uint64  # the first node at which somebody acts


class PokerState(NamedTuple):
    """A betting node, and the cards of the hand, which are all dealt at its beginning."""

    CHANGING = 1  # words: the first
    node: np.uint64
    a: np.uint64  # cards 0 to 9, six bits each
    b: np.uint64
    c: np.uint64
    d: np.uint64
    e: np.uint64
    f: np.uint64
    order: np.uint64  # of walks: KNOWN, and four bits a seat, how many hands beat its own at the showdown


# Cards


@piece
def card_of(state, k):
    """The k-th card."""
    if k < TEN:
        return (state.a >> (SIX * k)) & M6
    if k < TWENTY:
        return (state.b >> (SIX * (k - TEN))) & M6
    if k < THIRTY:
        return (state.c >> (SIX * (k - TWENTY))) & M6
    if k < FORTY:
        return (state.d >> (SIX * (k - THIRTY))) & M6
    if k < FIFTY:
        return (state.e >> (SIX * (k - FORTY))) & M6
    return (state.f >> (SIX * (k - FIFTY))) & M6


@piece
def hole_of(game, seat):
    """The number of a seat's first card."""
    return game.board[U64(len(game.board)) - ONE] + seat * game.hole


@piece
def with_cards(hand, state, first, last):
    """A hand (`cards/kernels/ranking.py`) and cards first..last - 1."""
    for k in range(first, last):
        hand = with_card(hand, card_of(state, k))
    return hand


@piece
def two_value(one, two):
    """The value of two cards: a pair is above all others, of which the higher card counts first."""
    one >>= TWO
    two >>= TWO
    if one == two:
        return PAIRS + one
    return THIRTEEN * max(one, two) + min(one, two)


@piece
def value_at(game, state, board, seat):
    """What a seat's hand is worth at the showdown. board: the hand that all share."""
    first = hole_of(game, seat)
    shared = game.board[U64(len(game.board)) - ONE]
    cards = shared + game.hole
    if cards == ONE:
        return card_of(state, first) >> TWO
    if cards == TWO:
        return two_value(card_of(state, first), card_of(state, NONE if shared else first + ONE))
    hand = with_cards(board, state, first, first + game.hole)
    if cards == THREE:
        return U64(value_of_three(hand))
    return U64(value_of(hand))


@piece
def order_of(game, state, random):
    """How the seats' hands compare at the showdown (PokerState.order). random: scratch, from its second word on."""
    board = with_cards(NONE, state, NONE, hole_of(game, NONE))
    for seat in range(game.seats):
        random[ONE + seat] = value_at(game, state, board, seat)
    order = KNOWN
    for seat in range(game.seats):
        for other in range(game.seats):
            order += U64(random[ONE + other] > random[ONE + seat]) << (FOUR * seat)
    return order


def _standing(game, state, board, seat):
    """How a seat's hand compares with others: the lower the better."""
    if state.order:
        return (state.order >> (FOUR * seat)) & M4
    return ~value_at(game, state, board, seat)


def _known_standing(game, state, board, seat):
    return (state.order >> (FOUR * seat)) & M4  # a GPU only walks


standing = by_device(_standing, _known_standing)


# Where the betting stands


@piece
def place_of(game, node):
    """The place of a betting node: itself in the first round, else its instance."""
    instance = node >> HALF
    return game.early + instance - ONE if instance else node


@piece
def spot_of(game, node):
    """A number of a betting node, below 2^32."""
    return (node >> HALF) * U64(len(game.node)) + (node & LOWER)


# What a seat sees


@piece
def sight(game, view, state, seat, number):
    """A hash of what a seat sees of the cards in a round: of its own, and of those on the board by when they came.

    Sums of hashes do not depend on the order of cards that came together; nor, up to suit isomorphism, on the order
    of suits, of each of which a word says when which ranks came.
    """
    shown = game.board[number + ONE]
    hidden = hole_of(game, seat) - shown
    if view.kind == ISOMORPHIC:
        s0 = s1 = s2 = s3 = NONE
        for k in range(shown + game.hole):
            at = k if k < shown else k + hidden
            card = card_of(state, at)
            suit = card & THREE  # as good as random: no branches
            bits = game.mark[at] << (THREE * (card >> TWO))
            s0 += bits * U64(suit == NONE)
            s1 += bits * U64(suit == ONE)
            s2 += bits * U64(suit == TWO)
            s3 += bits * U64(suit == THREE)
        return mix(s0) + mix(s1) + mix(s2) + mix(s3)
    total = NONE
    for k in range(shown + game.hole):
        at = k if k < shown else k + hidden
        card = card_of(state, at)
        total += mix(game.mark[at] << SIX | (card >> TWO if view.kind == RANKS else card))
    return total


@piece
def seen_cards(game, state, seat, number):
    """What a seat sees in a round as views of buckets take it: its own cards and those of the board, all of which are
    in the first word."""
    first = hole_of(game, seat)
    board = state.a & ((ONE << (SIX * game.board[number + ONE])) - ONE)
    cards = board << (SIX * game.hole)
    for k in range(game.hole):
        cards |= card_of(state, first + k) << (SIX * k)
    return cards


@piece
def bucket_key(bucket, node):
    """The key of a bucket at a betting node, by a hash that is one to one and 0 for 0 alone."""
    return mix((node << HALF | bucket) + ONE)


@piece
def joined(seen, node):
    """The key of a sight at a betting node."""
    hashed = mix(seen + node * GOLDEN)
    return hashed if hashed else ONE


@stub
def row_key(view, game, state):
    """Which row the seat to move reads."""


def key_of(view, game, state):
    at = state.node & LOWER
    seat, number = U64(game.node[at, TURN]), U64(game.node[at, ROUND])
    if view.kind >= BUCKETS:
        place = place_of(game, state.node)
        bucket = bucket_of(at_place(view, place), seen_cards(game, state, seat, number), number)
        if len(view.column) > 1:
            begin = U64(view.column[place, seat]) + U64(game.node[at, OFFSET])
            return begin + bucket * U64(game.node[at, STRIDE]) + ONE
        return bucket_key(bucket, spot_of(game, state.node))
    return joined(sight(game, view, state, seat, number), spot_of(game, state.node))


def dealt_key(view, game, state):
    at = state.node & LOWER
    seat = U64(game.node[at, TURN])
    place = view.place[place_of(game, state.node)]
    last = U64(len(place)) - ONE
    bucket = U64(view.seen[U64(place[last]) + seat])
    if last:
        return U64(place[seat]) + U64(game.node[at, OFFSET]) + bucket * U64(game.node[at, STRIDE]) + ONE
    return bucket_key(bucket, spot_of(game, state.node))


def look_ahead(view, game, state, seen):
    for k in range(U64(len(view.kinds))):
        through = seen_through(view.view, view.kinds[k, NONE])
        number = view.kinds[k, ONE]
        for seat in range(game.seats):
            seen[k * game.seats + seat] = found_apart(through, seen_cards(game, state, seat, number), number)


def dealt_view(view, seen):
    return DealtView(view.view, view.kinds, view.place, seen)


register(PokerView, row_key=key_of)
register(DealtView, look_ahead, dealt_view, row_key=dealt_key)


# The machine


def deal(game, random):
    size = U64(len(game.deck))
    a = b = c = d = e = f = NONE
    gone = NONE
    for k in range(hole_of(game, game.seats)):
        card = U64(game.deck[next_below(random, size)])
        while (gone >> card) & ONE:
            card = U64(game.deck[next_below(random, size)])
        gone |= ONE << card
        if k < TEN:
            a |= card << (SIX * k)
        elif k < TWENTY:
            b |= card << (SIX * (k - TEN))
        elif k < THIRTY:
            c |= card << (SIX * (k - TWENTY))
        elif k < FORTY:
            d |= card << (SIX * (k - THIRTY))
        elif k < FIFTY:
            e |= card << (SIX * (k - FORTY))
        else:
            f |= card << (SIX * (k - FIFTY))
    return PokerState(game.root, a, b, c, d, e, f, NONE)


def turn(game, state):
    return np.int64(game.node[state.node & LOWER, TURN])


def width(game, state):
    return U64(game.node[state.node & LOWER, COUNT])


def after(game, state, action):
    instance = state.node >> HALF
    to = U64(game.child[U64(game.node[state.node & LOWER, FIRST]) + U64(action)])
    if to >= EXIT:
        instance = U64(game.instance[instance, NEXT]) + (to ^ EXIT)
        to = U64(game.instance[instance, BEGIN])
    return PokerState(instance << HALF | to, state.a, state.b, state.c, state.d, state.e, state.f, state.order)


def key(game, view, state):
    return row_key(view, game, state)


def payoff(game, state, seat):
    """What a seat takes out of the pots, less what it put in; pots as in kibitz.poker.rules.rules.winnings."""
    seat = U64(seat)
    paid = game.paid[U64(game.node[state.node & LOWER, FIRST])]
    carried = game.carried[state.node >> HALF]
    folded = U64(game.node[state.node & LOWER, COUNT])
    mine = paid[seat] + carried[seat]
    if (folded >> seat) & ONE:
        return -mine
    better = tied = NONE  # masks of seats
    total = 0.0
    alike = True  # all who are in have paid the same, and the others no more
    winners = 1.0
    for other in range(game.seats):
        theirs_paid = paid[other] + carried[other]
        total += theirs_paid
        alike = alike and (theirs_paid == mine or ((folded >> other) & ONE != NONE and theirs_paid < mine))
    if folded | (ONE << seat) != (ONE << game.seats) - ONE:  # a showdown
        board = NONE
        if not state.order:
            board = with_cards(NONE, state, NONE, hole_of(game, NONE))
        above = standing(game, state, board, seat)
        for other in range(game.seats):
            if other == seat or (folded >> other) & ONE:
                continue
            theirs = standing(game, state, board, other)
            if theirs < above:
                better |= ONE << other
            elif theirs == above:
                tied |= ONE << other
                winners += 1.0
    if alike and winners <= 2.0:  # one pot, and no rounding: what the loop below comes to
        return -mine if better else (total if winners == 1.0 else total * 0.5) - mine
    won = below = 0.0
    while below < mine:  # the pots that the seat has paid into, the lowest first
        level = mine
        for other in range(game.seats):
            if below < paid[other] + carried[other] < level:
                level = paid[other] + carried[other]
        inside = 0.0
        winners = 1.0
        beaten = False
        for other in range(game.seats):
            if paid[other] + carried[other] >= level:
                inside += 1.0
                winners += 1.0 if (tied >> other) & ONE else 0.0
                beaten = beaten or (better >> other) & ONE != NONE
        if not beaten:
            won += (level - below) * inside / winners
        below = level
    return won - mine


def part(game, state):
    if len(game.part) > 1:
        return np.int64(game.part[place_of(game, state.node)])
    return np.int64(game.node[state.node & LOWER, ROUND])


def prepare(game, view, state, random):
    order = order_of(game, state, random)
    return PokerState(state.node, state.a, state.b, state.c, state.d, state.e, state.f, order)


register(PokerGame, deal, turn, width, after, key, payoff, part, prepare)


@kernel
def train(game, view, store, mask, base, order, first, last, work):
    walk_all(game, view, store, mask, base, order, first, last, work)


@kernel
def duel(game, players, seatings, seed, first, result, random, luck, probability):
    play_deals(game, players, seatings, seed, first, result, random, luck, probability)


# Keys by array


@piece
def state_at(words):
    return PokerState(words[0], words[1], words[2], words[3], words[4], words[5], words[6], words[7])


@kernel
def keys(game, view, states, out):
    """The keys of decisions. states: uint64[N, 8]."""
    for i in range(len(states)):
        out[i] = machine_key(game, view, state_at(states[i]))


@kernel
def sights(game, view, states, number, out):
    """What seat 0 sees of the cards in a round, in many deals."""
    for i in range(len(states)):
        out[i] = sight(game, view, state_at(states[i]), NONE, U64(number))


@kernel
def join(seen, nodes, out):
    """The keys of sights at betting nodes; both uint64[N]."""
    for i in range(len(seen)):
        out[i] = joined(seen[i], nodes[i])


@kernel
def join_buckets(buckets, nodes, out):
    """The keys of buckets at betting nodes; both uint64[N]."""
    for i in range(len(buckets)):
        out[i] = bucket_key(buckets[i], nodes[i])
