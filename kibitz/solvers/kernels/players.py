"""Players of a machine, which decisions are trained, and duplicate deals.

A *player* plays from a store of rows under a view, or uniformly, or by the game's rule of thumb. Outside its part (a
grafted player) it plays from the rows of its base. All players of a match have one type, so that one compiled match
serves them all.

A *mask* says which decisions are trained: all (FREE); those of the seat that walks, while the base plays the others
(RESPOND); or those of one part, while the base plays the seats of a set elsewhere (GRAFT) [Gibson & Szafron 2011,
Def. 3.2].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, part, small_part
from kibitz.core.random import NONE, choose, mix, next_unit, seed_of
from kibitz.games.kernels.machine import CHANCE, END, advise, after, deal, draw, key, payoff, turn, width
from kibitz.games.kernels.machine import part as part_of
from kibitz.solvers.kernels.store import averaged, greedy, look, matched

UNIFORM, RULE, AVERAGE, GREEDY, MATCHED = 0, 1, 2, 3, 4  # kinds of players
FREE, RESPOND, GRAFT = 0, 1, 2  # kinds of masks
ALL_PARTS = -1
LUCK = U64(0xD1B54A32D192ED03)  # sets the numbers of chance apart from those of decisions


class Mask(NamedTuple):
    """Which decisions are trained."""

    kind: np.int64
    seats: np.uint64  # GRAFT: the seats that the base plays outside the part
    part: np.int64  # GRAFT: the part whose decisions are trained


class Player(NamedTuple):
    """One who plays."""

    kind: np.int64
    keys: Any  # the view that says which row it reads (Numba has another use for the name `view`)
    store: Any
    part: np.int64  # ALL_PARTS, or the part in which it plays from its own rows
    base_keys: Any  # elsewhere it reads these
    base_store: Any


@part
def fixed(game, mask, state, mover, seat):
    """Whether a decision is the base's."""
    if mask.kind == RESPOND:
        return mover != seat
    return part_of(game, state) != mask.part and (mask.seats >> U64(mover)) & ONE != NONE


@small_part
def strategy(player, game, state, actions, probability):
    """probability[0:actions] that a player gives to the actions of a decision."""
    if player.kind == UNIFORM:
        for a in range(actions):
            probability[a] = 1.0 / actions
        return
    if player.kind == RULE:
        best = advise(game, state)
        for a in range(actions):
            probability[a] = 1.0 if a == best else 0.0
        return
    if player.part != ALL_PARTS and part_of(game, state) != player.part:
        read(player.kind, player.base_store, key(game, player.base_keys, state), actions, probability)
        return
    read(player.kind, player.store, key(game, player.keys, state), actions, probability)


@small_part
def read(kind, store, row, actions, probability):
    """What a row plays."""
    at = look(store, row)
    if kind == AVERAGE:
        averaged(store, at, actions, probability)
    elif kind == GREEDY:
        greedy(store, at, actions, probability)
    else:
        matched(store, at, actions, probability)


@part
def play_out(game, state, players, seating, random, luck, probability):
    """Play to the end; seating[s] is the player in seat s. Returns the last state."""
    while True:
        mover = turn(game, state)
        if mover == END:
            return state
        if mover == CHANCE:
            state = draw(game, state, luck)
            continue
        actions = U64(width(game, state))
        who = seating[mover]
        # Named by a constant a player is not copied. For two the last case is left out: it takes as long to compile.
        if who == 0:
            strategy(players[0], game, state, actions, probability)
        elif len(players) == 2 or who == len(players) - 1:
            strategy(players[-1], game, state, actions, probability)
        else:
            strategy(players[who], game, state, actions, probability)
        state = after(game, state, choose(probability, actions, next_unit(random)))


@part
def play_deals(game, players, seatings, seed, first, result, random, luck, probability):
    """Duplicate deals first..first + len(result) - 1: result[i, k, p] is what player p wins in the k-th seating.

    The k-th decision of all seatings is made by the same random number, and the k-th event of chance by numbers of its
    own: a player wins exactly nothing from itself.
    """
    for i in range(len(result)):
        luck[0] = seed_of(seed, first + i)
        start = deal(game, luck)
        begin = luck[0]
        for k in range(len(seatings)):
            random[0] = begin
            luck[0] = mix(begin ^ LUCK)
            end = play_out(game, start, players, seatings[k], random, luck, probability)
            for seat in range(len(players)):
                result[i, k, seatings[k, seat]] = payoff(game, end, U64(seat))
