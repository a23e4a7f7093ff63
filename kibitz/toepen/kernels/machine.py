"""Toepen as a machine (`games/kernels/machine.py`): its rules, with the actions worked out once a state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.core.random import NONE, choose, next_unit, seed_of
from kibitz.games.kernels.dispatch import register
from kibitz.games.kernels.machine import END
from kibitz.games.kernels.machine import after as machine_after
from kibitz.games.kernels.machine import deal as machine_deal
from kibitz.solvers.kernels.players import play_deals, strategy
from kibitz.solvers.kernels.walk import walk_all
from kibitz.toepen.kernels import rules as bits
from kibitz.toepen.kernels.keys import RAW, hand_number, key_of
from kibitz.toepen.kernels.rule import rule
from kibitz.toepen.kernels.rules import END as OVER
from kibitz.toepen.kernels.rules import (
    PackedState,
    Rules,
    act,
    choices,
    draw_hands,
    field,
    phase_of,
    player_of,
    signature,
)
from kibitz.toepen.kernels.rules import deal as first_decision
from kibitz.toepen.kernels.rules import payoff as payoff_of

TRICK = U64(1)  # a trick is two plays


class TurnState(NamedTuple):
    """A state of `toepen/kernels/rules.py` and what may be done there."""

    start: np.uint64
    hands: np.uint64
    low: np.uint64
    high: np.uint64
    meta: np.uint64
    width: np.uint64  # number of actions
    cards: np.uint64  # at a card phase the cards that may be played, a byte each


@part
def options(state, rules):
    """(phase, number of actions, cards a byte each) of a decision."""
    phase = phase_of(state)
    if phase == bits.CARD:
        width, cards = choices(state, rules)
        return phase, width, cards
    return phase, U64(2), NONE


@part
def action_of(phase, cards, a):
    """What `act` wants for the a-th action."""
    return (cards >> (bits.EIGHT * a)) & bits.M8 if phase == bits.CARD else a


@part
def turn_of(state, width, cards):
    return TurnState(state.start, state.hands, state.low, state.high, state.meta, width, cards)


@part
def with_actions(state, rules):
    """A state with its actions."""
    if phase_of(state) == OVER:
        return turn_of(state, NONE, NONE)
    _, width, cards = options(state, rules)
    return turn_of(state, width, cards)


def deal(game, random):
    one, two, random[0] = draw_hands(game, random[1:], random[0])
    return with_actions(first_decision(one, two, game), game)


def turn(game, state):
    return END if phase_of(state) == OVER else np.int64(player_of(state))


def width(game, state):
    return state.width


def after(game, state, action):
    phase = phase_of(state)
    packed = PackedState(state.start, state.hands, state.low, state.high, state.meta)
    return with_actions(act(packed, phase, action_of(phase, state.cards, U64(action)), game), game)


def key(game, view, state):
    return key_of(state, game, view)


def payoff(game, state, seat):
    won = payoff_of(state)
    return -won if seat else won


def level(game, view, state, values):
    """Give cards that differ by the name of their suit alone (`signature`) the mean of their values.

    Rows that do not look at the names of suits are lossless only among strategies that do not either: a seat that
    leads the clubs of two like suits more often would tell its hand to one who knows clubs from diamonds.
    """
    if view.kind != RAW and phase_of(state) == bits.CARD:
        even_out(state, state.cards, state.width, values)


@part
def even_out(state, cards, width, values):
    player = player_of(state)
    done = NONE
    for a in range(width):
        if (done >> a) & ONE:
            continue
        one = (cards >> (bits.EIGHT * a)) & bits.M8
        like = NONE
        total = values[a]
        count = 1.0
        for b in range(a + ONE, width):
            two = (cards >> (bits.EIGHT * b)) & bits.M8
            if (one ^ two) & bits.M3 == NONE and signature(state, player, one >> bits.THREE) == signature(
                state, player, two >> bits.THREE
            ):
                like |= ONE << b
                total += values[b]
                count += 1.0
        if like:
            values[a] = total / count
            for b in range(a + ONE, width):
                if (like >> b) & ONE:
                    values[b] = total / count
            done |= like


def trick_of(game, state):
    return np.int64(field(state.meta, bits.PLAY, bits.M4) >> TRICK)


def advise(game, state):
    return rule(state, game, state.width, state.cards)


register(Rules, deal, turn, width, after, key, payoff, level, advise, part=trick_of)


@kernel
def train(game, view, store, mask, base, order, first, last, work):
    walk_all(game, view, store, mask, base, order, first, last, work)


@kernel
def duel(game, players, seatings, seed, first, result, random, luck, probability):
    play_deals(game, players, seatings, seed, first, result, random, luck, probability)


@kernel
def strengths(rules, one, seed, first, last, sums, random, probability, path):
    """The values of hands when a player meets itself: sums[0] is the total and sums[1] how often a hand was seen, each
    [seat, play & 1, hand], over deals first..last - 1.

    A hand counts at each decision that its seat has with it, by the payoff that the deal then brings the seat.
    probability: float64[4] and path: uint64[64, 3] are scratch.
    """
    for i in range(first, last):
        random[0] = seed_of(seed, i)
        state = machine_deal(rules, random)
        depth = 0
        while phase_of(state) != OVER:
            seat = player_of(state)
            path[depth, 0] = seat
            path[depth, 1] = field(state.meta, bits.PLAY, bits.M4) & ONE
            path[depth, 2] = hand_number((state.hands >> (bits.HALF * seat)) & bits.WORD)
            depth += 1
            strategy(one, rules, state, state.width, probability)
            state = machine_after(rules, state, choose(probability, state.width, next_unit(random)))
        value = payoff_of(state)
        for k in range(depth):
            seat = path[k, 0]
            sums[0, seat, path[k, 1], path[k, 2]] += -value if seat else value
            sums[1, seat, path[k, 1], path[k, 2]] += 1.0
