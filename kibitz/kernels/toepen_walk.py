"""MCCFR by external sampling on the state machine of Toepen, its rows in a hash table; and matches by duplicate deals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.jit import ONE, U64, kernel, part
from kibitz.kernels.rows import WIDE, Table, averaged, find, find_or_add, matched
from kibitz.kernels.sampling import GOLDEN, NONE, SHIFT_11, TO_UNIT, choose, mix
from kibitz.kernels.toepen import (
    CARD, EIGHT, END, M8, PLAY, M4, HALF, WORD, act, choices, deal, draw_hands, field, payoff, phase_of, player_of,
)  # fmt: skip
from kibitz.kernels.toepen_keys import Keys, key_of
from kibitz.kernels.toepen_rule import rule

UNIFORM, RULE, AVERAGE, GREEDY = 0, 1, 2, 3  # kinds of players


class Player(NamedTuple):
    """One who plays from a table of rows, or by a rule."""

    kind: np.int64
    keys: Keys
    table: Table


@part
def uniform_draw(random):
    random[0] += GOLDEN
    return (mix(random[0]) >> SHIFT_11) * TO_UNIT


@part
def options(state, rules):
    """(phase, number of actions, cards a byte each) of a decision."""
    phase = phase_of(state)
    if phase == CARD:
        width, cards = choices(state, rules)
        return phase, width, cards
    return phase, U64(2), NONE


@part
def action_of(phase, cards, a):
    """What `act` wants for the a-th action."""
    return (cards >> (EIGHT * a)) & M8 if phase == CARD else a


@part
def walk(state, seat, rules, keys, table, other, weight, evict, random, space, level, count):
    """The sampled value of a state for a seat, whose rows are updated [Lanctot et al. 2009, Sec. 4].

    Own actions are all tried; the other seat's is drawn from its strategy (which goes into its average), or, with a
    player `other` of a kind above UNIFORM, from that one's fixed strategy. level: rows of `space` in use; count[0]: visits.
    """
    while True:
        phase = phase_of(state)
        if phase == END:
            value = payoff(state)
            return -value if seat else value
        count[0] += 1
        phase, width, cards = options(state, rules)
        probability = space[level]
        if player_of(state) == seat:
            break
        if other.kind == UNIFORM:
            at = find_or_add(table, key_of(state, rules, keys), evict, count)
            matched(table, at, width, probability)
            for a in range(width):
                table.value[at, WIDE + a] += np.float32(weight * probability[a])
        else:
            strategy(other, state, rules, width, cards, probability)
        a = choose(probability, width, uniform_draw(random))
        state = act(state, phase, action_of(phase, cards, a), rules)
    key = key_of(state, rules, keys)
    at = find_or_add(table, key, evict, count)
    matched(table, at, width, probability)
    value = 0.0
    values = space[level + 1]
    for a in range(width):
        after = act(state, phase, action_of(phase, cards, a), rules)
        values[a] = walk(after, seat, rules, keys, table, other, weight, evict, random, space, level + 2, count)
        value += probability[a] * values[a]
    at = find_or_add(table, key, evict, count)  # another row may have taken its place since
    for a in range(width):
        table.value[at, a] += np.float32(weight * (values[a] - value))
    return value


@kernel
def train(rules, keys, table, other, linear, evict, seed, first, last, seats, space, cards, count):
    """Iterations first..last - 1, each a walk for each of the seats (a mask) on a deal of its own.

    The random numbers of a walk depend on the seed, the iteration and the seat alone. count: int64[4].
    """
    random = np.zeros(1, np.uint64)
    for t in range(first, last):
        weight = float(t + 1) if linear else 1.0
        for seat in range(U64(2)):
            if not (seats >> seat) & ONE:
                continue
            begin = mix(mix(U64(seed) + GOLDEN) ^ mix(U64(t) * GOLDEN + seat + ONE))
            one, two, random[0] = draw_hands(rules, cards, begin)
            walk(deal(one, two, rules), seat, rules, keys, table, other, weight, evict, random, space, 0, count)


@part
def strategy(player, state, rules, width, cards, probability):
    """probability[0:width] that a player gives to the actions of a decision."""
    if player.kind == RULE:
        a = rule(state, rules, width, cards)
        for b in range(width):
            probability[b] = 1.0 if a == b else 0.0
        return
    if player.kind == UNIFORM:
        for b in range(width):
            probability[b] = 1.0 / width
        return
    at = find(player.table, key_of(state, rules, player.keys))
    if player.kind == AVERAGE:
        averaged(player.table, at, width, probability)
        return
    best = NONE
    for b in range(width):
        if player.table.value[at, b] > player.table.value[at, best]:
            best = b
    for b in range(width):
        probability[b] = 1.0 if b == best else 0.0


@part
def play_out(state, one, two, rules, random, probability):
    """Play to the end, `one` in seat 0; returns seat 0's payoff."""
    while phase_of(state) != END:
        phase, width, cards = options(state, rules)
        if player_of(state):
            strategy(two, state, rules, width, cards, probability)
        else:
            strategy(one, state, rules, width, cards, probability)
        a = choose(probability, width, uniform_draw(random))
        state = act(state, phase, action_of(phase, cards, a), rules)
    return payoff(state)


@kernel
def duplicate(rules, one, two, seed, first, result, cards):
    """Duplicate deals first..first + len(result) - 1: what `one` wins on the mean of both seats with the same cards."""
    random = np.zeros(1, np.uint64)
    probability = np.zeros(4)
    for i in range(len(result)):
        begin = mix(mix(U64(seed) + GOLDEN) ^ mix(U64(first + i) * GOLDEN + ONE))
        mine, yours, random[0] = draw_hands(rules, cards, begin)
        here = play_out(deal(mine, yours, rules), one, two, rules, random, probability)
        there = play_out(deal(mine, yours, rules), two, one, rules, random, probability)
        result[i] = 0.5 * (here - there)
