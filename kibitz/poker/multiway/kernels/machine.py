"""Poker from a board on: hands come from ranges. All but the deal is as in `poker/rules/kernels/machine.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.core.random import NONE, choose, next_below, next_unit, seed_of
from kibitz.games.kernels.dispatch import register
from kibitz.games.kernels.machine import END
from kibitz.games.kernels.machine import after as after_of
from kibitz.games.kernels.machine import deal as deal_of
from kibitz.games.kernels.machine import payoff as payoff_of
from kibitz.games.kernels.machine import prepare as prepare_of
from kibitz.games.kernels.machine import turn as turn_of
from kibitz.games.kernels.machine import width as width_of
from kibitz.poker.rules.kernels import machine as poker
from kibitz.poker.rules.kernels.machine import FIRST, LOWER, SIX, TEN, PokerState
from kibitz.solvers.kernels.players import play_deals, strategy
from kibitz.solvers.kernels.walk import walk_all


class RangedGame(NamedTuple):
    """A PokerGame, with what is on the board when it begins, and the ranges of n seats, H hands at most."""

    node: np.ndarray
    child: np.ndarray
    paid: np.ndarray
    instance: np.ndarray
    carried: np.ndarray
    part: np.ndarray
    early: np.uint64
    deck: np.ndarray
    board: np.ndarray
    mark: np.ndarray
    seats: np.uint64
    hole: np.uint64
    root: np.uint64
    shown: np.ndarray  # uint8[k]  cards on the board
    first: np.ndarray  # uint64[n + 1]  where the hands of each seat begin in the next three
    below: np.ndarray  # float64[]  running sums of weights of a seat's hands, which end in 1
    low: np.ndarray  # uint8[]  cards of these hands
    high: np.ndarray
    rake: np.float64  # share of the pot that is taken
    most_rake: np.float64  # chips


@part
def drawn_hand(game, seat, share):
    """The number of the hand of a seat at a share of its running sums."""
    low, high = game.first[seat], game.first[seat + ONE] - ONE
    while low < high:
        middle = (low + high) >> ONE
        if game.below[middle] > share:
            high = middle
        else:
            low = middle + ONE
    return low


def deal(game, random):
    """Hands by their weights, drawn again until no card is there twice; then the rest of the board."""
    known = U64(len(game.shown))
    board = game.board[U64(len(game.board)) - ONE]
    gone = NONE
    a = b = NONE
    clash = True
    while clash:
        gone = a = b = NONE
        for k in range(known):
            gone |= ONE << U64(game.shown[k])
            a |= U64(game.shown[k]) << (SIX * k)
        clash = False
        for seat in range(game.seats):
            hand = drawn_hand(game, seat, next_unit(random))
            low, high = U64(game.low[hand]), U64(game.high[hand])
            mask = ONE << low | ONE << high
            clash = clash or (gone & mask) != NONE
            gone |= mask
            for k in range(U64(2)):
                card = low if k == 0 else high
                at = board + seat * U64(2) + U64(k)
                if at < TEN:
                    a |= card << (SIX * at)
                else:
                    b |= card << (SIX * (at - TEN))
    size = U64(len(game.deck))
    for k in range(known, board):
        card = U64(game.deck[next_below(random, size)])
        while (gone >> card) & ONE:
            card = U64(game.deck[next_below(random, size)])
        gone |= ONE << card
        a |= card << (SIX * U64(k))
    return PokerState(game.root, a, b, NONE, NONE, NONE, NONE, NONE)


before_rake = part(poker.payoff)


def payoff(game, state, seat):
    """Without rake as in poker. With rake: `kibitz.poker.multiway.question.raked`."""
    won = before_rake(game, state, seat)
    if game.rake == 0.0:
        return won
    seat = U64(seat)
    paid = game.paid[U64(game.node[state.node & LOWER, FIRST])]
    total = top = second = 0.0
    for other in range(game.seats):
        total += paid[other]
        second = max(second, min(top, paid[other]))
        top = max(top, paid[other])
    pot = total - (top - second)
    taken = won + paid[seat] - (top - second if paid[seat] == top else 0.0)
    return won - taken * min(game.rake * pot, game.most_rake) / pot


register(
    RangedGame, deal, poker.turn, poker.width, poker.after, poker.key, payoff, poker.part, poker.prepare,
)  # fmt: skip


@kernel
def train(game, view, store, mask, base, order, first, last, work):
    walk_all(game, view, store, mask, base, order, first, last, work)


@kernel
def duel(game, players, seatings, seed, first, result, random, luck, probability):
    play_deals(game, players, seatings, seed, first, result, random, luck, probability)


@part
def played_out(game, start, target, responder, seat, random, probability):
    """The end of a deal in which one seat is the responder's, or none (seat is the number of seats)."""
    state = start
    while turn_of(game, state) != END:
        actions = U64(width_of(game, state))
        if turn_of(game, state) == np.int64(seat):
            strategy(responder, game, state, actions, probability)
        else:
            strategy(target, game, state, actions, probability)
        state = after_of(game, state, choose(probability, actions, next_unit(random)))
    return state


@kernel
def compare(game, target, responder, span, values, gains, scratch):
    """Deals by a seed from a number on, span = (seed, number): values[i, s] is what seat s wins if all play as the
    target; gains[i, s]: what it wins more if it plays as the responder, with the same cards and random numbers."""
    random, probability = scratch
    for i in range(len(values)):
        random[0] = seed_of(span[0], span[1] + i)
        start = prepare_of(game, target.keys, deal_of(game, random), random)
        begin = random[0]
        end = played_out(game, start, target, responder, game.seats, random, probability)
        for seat in range(game.seats):
            values[i, seat] = payoff_of(game, end, seat)
        for seat in range(game.seats):
            random[0] = begin
            end = played_out(game, start, target, responder, seat, random, probability)
            gains[i, seat] = payoff_of(game, end, seat) - values[i, seat]
