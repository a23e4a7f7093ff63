"""A tree as a machine: its arrays are the game, and a state is the number of a history."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.jit import U64, kernel
from kibitz.core.random import SHIFT_11, SHIFT_32, TO_UNIT, next_word
from kibitz.games.kernels.dispatch import register
from kibitz.games.kernels.machine import CHANCE, END
from kibitz.solvers.kernels.players import play_deals
from kibitz.solvers.kernels.walk import walk_all

MOVES = np.int32(1 << 30)  # a bit beside the number of actions: the decision is in part 1
ACTIONS = np.int32(MOVES - 1)


class TreeGame(NamedTuple):
    """N histories, I infosets, n seats."""

    node: np.ndarray  # int32[N, 4]  turn, children (and MOVES), reference, place in `child`; reference: an infoset, a
    #   leaf, or at chance whether all outcomes are alike
    child: np.ndarray  # uint32[N-1]  children by parent
    chance: np.ndarray  # float64[N]  probability of the step to a history, by chance
    payoff: np.ndarray  # float64[L, n]


class TreeView(NamedTuple):
    """Which row an infoset reads."""

    row: np.ndarray  # uint64[I]  its key: in a dense store the first column of its row


class TreeState(NamedTuple):
    history: np.uint64


def deal(game, random):
    return TreeState(U64(0))


def turn(game, state):
    return np.int64(game.node[state.history, 0])


def draw(game, state, random):
    at = state.history
    count = U64(game.node[at, 1] & ACTIONS)
    first = U64(game.node[at, 3])
    bits = next_word(random)
    if game.node[at, 2] == 1:  # all outcomes alike
        return TreeState(U64(game.child[first + (((bits >> SHIFT_32) * count) >> SHIFT_32)]))
    left = (bits >> SHIFT_11) * TO_UNIT
    last = U64(game.child[first])
    for a in range(count):
        to = U64(game.child[first + a])
        step = game.chance[to]
        if step > 0.0:
            last = to
            left -= step
            if left < 0.0:
                break
    return TreeState(last)


def width(game, state):
    return U64(game.node[state.history, 1] & ACTIONS)


def after(game, state, action):
    return TreeState(U64(game.child[U64(game.node[state.history, 3]) + U64(action)]))


def key(game, view, state):
    return view.row[U64(game.node[state.history, 2])]


def payoff(game, state, seat):
    return game.payoff[U64(game.node[state.history, 2]), U64(seat)]


def part(game, state):
    return 1 if game.node[state.history, 1] & MOVES else 0


register(TreeGame, deal, turn, draw, width, after, key, payoff, part)
assert CHANCE == -1 and END == -2  # as kibitz.games.protocol has them, and so the turns of a tree


@kernel
def train(game, view, store, mask, base, order, first, last, work):
    walk_all(game, view, store, mask, base, order, first, last, work)


@kernel
def duel(game, players, seatings, seed, first, result, random, luck, probability):
    play_deals(game, players, seatings, seed, first, result, random, luck, probability)
