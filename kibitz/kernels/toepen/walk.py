"""MCCFR by external sampling on the state machine of Toepen, with rows in a hash table; and players of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.jit import ONE, U64, maker, part
from kibitz.kernels.toepen.keys import RAW, Keys, hand_number, key_of
from kibitz.kernels.toepen.rule import rule
from kibitz.kernels.toepen.rules import (
    CARD,
    EIGHT,
    END,
    HALF,
    M3,
    M4,
    M8,
    PLAY,
    THREE,
    WORD,
    State,
    act,
    choices,
    deal,
    draw_hands,
    field,
    payoff,
    phase_of,
    player_of,
    seed_of,
    signature,
)
from kibitz.kernels.walk.hash import WIDE, Table, averaged, find, find_or_add, matched
from kibitz.kernels.walk.sampling import GOLDEN, NONE, SHIFT_11, TO_UNIT, choose, mix

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
def even_out(state, cards, width, values):
    """Give cards that differ by the name of their suit alone (`signature`) the mean of their values.

    Rows that do not look at the names of suits are lossless only among strategies that do not either: a seat that
    leads the clubs of two like suits more often would tell its hand to one who knows clubs from diamonds.
    """
    player = player_of(state)
    done = NONE
    for a in range(width):
        if (done >> a) & ONE:
            continue
        one = (cards >> (EIGHT * a)) & M8
        like = NONE
        total = values[a]
        count = 1.0
        for b in range(a + ONE, width):
            two = (cards >> (EIGHT * b)) & M8
            if (one ^ two) & M3 == NONE and signature(state, player, one >> THREE) == signature(
                state, player, two >> THREE
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


@part
def walk(state, seat, rules, keys, table, other, evict, random, space, frames, count):
    """The sampled value of a state for a seat, whose rows are updated [Lanctot et al. 2009, Sec. 4].

    Own actions are all tried; the other seat's is drawn from its strategy (which goes into its average), or, with a
    player `other` of a kind above UNIFORM, from that one's fixed strategy. An own decision that is open has a row of
    `frames` (state, key, place, cards, phase, number of actions, action that is tried) and two of `space`:
    probabilities and values. There is no recursion: Numba crashes when it loads such a function from its cache.
    count[0]: visits.
    """
    places = U64(len(table.key))
    even = keys.kind != RAW and other.kind == UNIFORM
    depth = NONE
    value = 0.0
    while True:
        while True:  # down, to an own decision or the end
            phase = phase_of(state)
            if phase == END:
                value = -payoff(state) if seat else payoff(state)
                break
            count[0] += 1
            phase, width, cards = options(state, rules)
            probability = space[depth + depth]
            a = NONE
            if player_of(state) == seat:
                key = key_of(state, rules, keys)
                at = find_or_add(table, key, evict, count)
                matched(table, at, width, probability)
                frame = frames[depth]
                for k in range(U64(5)):
                    frame[k] = state[k]
                frame[5] = key
                frame[6] = at
                frame[7] = cards
                frame[8] = phase
                frame[9] = width
                frame[10] = NONE
                depth += ONE
            else:
                if other.kind == UNIFORM:
                    at = find_or_add(table, key_of(state, rules, keys), evict, count)
                    matched(table, at, width, probability)
                    if at < places:
                        for b in range(width):
                            table.value[at, WIDE + b] += np.float32(probability[b])
                else:
                    strategy(other, state, rules, width, cards, probability)
                a = choose(probability, width, uniform_draw(random))
            state = act(state, phase, action_of(phase, cards, a), rules)
        while True:  # up, to an action that is still to be tried
            if depth == NONE:
                return value
            frame = frames[depth - ONE]
            values = space[depth + depth - ONE]
            width = frame[9]
            a = frame[10]
            values[a] = value
            a += ONE
            if a < width:
                frame[10] = a
                before = State(frame[0], frame[1], frame[2], frame[3], frame[4])
                state = act(before, frame[8], action_of(frame[8], frame[7], a), rules)
                break
            depth -= ONE
            probability = space[depth + depth]
            if even and frame[8] == CARD:
                even_out(State(frame[0], frame[1], frame[2], frame[3], frame[4]), frame[7], width, values)
            value = 0.0
            for b in range(width):
                value += probability[b] * values[b]
            key = frame[5]
            at = frame[6]
            if at == places or table.key[at] != key:  # another row may have taken its place since
                at = find_or_add(table, key, evict, count)
            if at < places:
                for b in range(width):
                    table.value[at, b] += np.float32(values[b] - value)


@maker
def train(rules, keys, table, other, evict, seed, first, last, seats, space, cards, count):
    """Iterations first..last - 1, each a walk for each of the seats (a mask) on a deal of its own.

    The random numbers of a walk depend on the seed, the iteration and the seat alone. space: float64[2 D, 4], for up
    to D own decisions on a history; cards: uint64[64]; count: int64[4].
    """
    walk_deals(
        rules, keys, table, other, evict, seed, first, last, seats, space, cards, count,
        np.zeros(1, np.uint64), np.zeros((len(space) // 2, 11), np.uint64),
    )  # fmt: skip


@part
def walk_deals(rules, keys, table, other, evict, seed, first, last, seats, space, cards, count, random, frames):
    for t in range(first, last):
        for seat in range(U64(2)):
            if not (seats >> seat) & ONE:
                continue
            begin = mix(mix(U64(seed) + GOLDEN) ^ mix(U64(t) * GOLDEN + seat + ONE))
            one, two, random[0] = draw_hands(rules, cards, begin)
            walk(deal(one, two, rules), seat, rules, keys, table, other, evict, random, space, frames, count)


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


@maker
def strengths(rules, one, seed, first, last, total, seen, cards):
    """What hands are worth when a player meets itself: total and seen[seat, play & 1, hand] over deals first..last - 1.

    A hand counts at each decision that its seat has with it, by the payoff that the deal then brings the seat.
    """
    add_strengths(
        rules, one, seed, first, last, total, seen, cards,
        np.zeros(1, np.uint64), np.zeros(4), np.zeros((64, 3), np.uint64),
    )  # fmt: skip


@part
def add_strengths(rules, one, seed, first, last, total, seen, cards, random, probability, path):
    for i in range(first, last):
        mine, yours, random[0] = draw_hands(rules, cards, seed_of(seed, i))
        state = deal(mine, yours, rules)
        depth = 0
        while phase_of(state) != END:
            phase, width, offered = options(state, rules)
            seat = player_of(state)
            path[depth, 0] = seat
            path[depth, 1] = field(state.meta, PLAY, M4) & ONE
            path[depth, 2] = hand_number((state.hands >> (HALF * seat)) & WORD)
            depth += 1
            strategy(one, state, rules, width, offered, probability)
            a = choose(probability, width, uniform_draw(random))
            state = act(state, phase, action_of(phase, offered, a), rules)
        value = payoff(state)
        for k in range(depth):
            seat = path[k, 0]
            total[seat, path[k, 1], path[k, 2]] += -value if seat else value
            seen[seat, path[k, 1], path[k, 2]] += 1.0
