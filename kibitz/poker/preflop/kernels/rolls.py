"""Deals that are played out from the ends of the betting before the flop, by one strategy in all seats."""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import ONE, U64, kernel
from kibitz.core.random import SCRATCH, choose, next_unit, seed_of
from kibitz.games.kernels.machine import END, after, deal, payoff, prepare, turn, width
from kibitz.poker.rules.kernels.machine import PokerState, card_of, hole_of
from kibitz.solvers.kernels.players import strategy


@kernel
def roll_out(game, player, ends, class_of, span, result, held_class, shown, scratch):
    """Deals by a seed from a number on, span = (seed, number): result[i, k, s] is what seat s wins if deal i goes on
    from the k-th end; held_class[i, s]: the class of its hand, by class_of of the hand's number; shown[i]: 1 if the
    hand of seat 0 beats that of seat 1 on the whole board, 0 if they tie, -1 otherwise. scratch: random numbers,
    probabilities."""
    random, probability = scratch
    for i in range(len(result)):
        random[0] = seed_of(span[0], span[1] + i)
        start = prepare(game, player.keys, deal(game, random), random)
        for seat in range(game.seats):
            one = card_of(start, hole_of(game, U64(seat)))
            two = card_of(start, hole_of(game, U64(seat)) + ONE)
            low, high = min(one, two), max(one, two)
            held_class[i, seat] = class_of[high * (high - ONE) // U64(2) + low]
        ahead, behind = (start.order >> U64(4)) & U64(15), start.order & U64(15)
        shown[i] = np.int64(ahead > behind) - np.int64(ahead < behind)
        for k in range(len(ends)):
            state = PokerState(ends[k], start.a, start.b, start.c, start.d, start.e, start.f, start.order)
            while turn(game, state) != END:
                actions = U64(width(game, state))
                strategy(player, game, state, actions, probability)
                state = after(game, state, choose(probability, actions, next_unit(random)))
            for seat in range(game.seats):
                result[i, k, seat] = payoff(game, state, U64(seat))


@kernel
def add_classes(weight, value, held_class, sums):
    """Add to sums[:, class] of deals: weight, weight * value, and squares of the weight times 1, value and value²."""
    for i in range(len(weight)):
        w, v, k = weight[i], value[i], held_class[i]
        square = w * w
        sums[0, k] += w
        sums[1, k] += w * v
        sums[2, k] += square
        sums[3, k] += square * v
        sums[4, k] += square * v * v


def scratch(actions: int) -> tuple[np.ndarray, np.ndarray]:
    """(random numbers, probabilities) that `roll_out` writes to."""
    return np.zeros(SCRATCH, np.uint64), np.zeros(actions)
