"""Duplicate matches at a table with all bets, between readers (`translation.py`) of different action abstractions.

The k-th decision of all seatings is made by the same random number, and a seat reads the k-th action by a number that
follows from k and the seat: a player wins exactly nothing from itself.
"""

from __future__ import annotations

import numpy as np

from kibitz.core.jit import U64, maker, part, small_part
from kibitz.core.random import next_unit, seed_of
from kibitz.games.kernels.machine import END, deal
from kibitz.poker.nolimit.kernels.betting import BETS, TURN, act, begin, settle
from kibitz.poker.nolimit.kernels.translation import LOST, ROWS, decide, read_action, reading_draw


@small_part
def decide_of(readers, who, node, table, bets, state, draw, probability):
    """`decide` of one of the readers. Named by a constant a reader is not copied."""
    if who == 0:
        return decide(readers[0], node, table, bets, state, draw, probability)
    if len(readers) == 2 or who == len(readers) - 1:
        return decide(readers[-1], node, table, bets, state, draw, probability)
    return decide(readers[who], node, table, bets, state, draw, probability)


@small_part
def read_of(readers, who, node, table, bets, action, draw):
    if who == 0:
        return read_action(readers[0], node, table, bets, action, draw)
    if len(readers) == 2 or who == len(readers) - 1:
        return read_action(readers[-1], node, table, bets, action, draw)
    return read_action(readers[who], node, table, bets, action, draw)


@small_part
def root_of(readers, who):
    """Where a reader's own game begins."""
    if who == 0:
        return np.int64(readers[0].game.root) if readers[0].kind == ROWS else np.int64(LOST)
    if len(readers) == 2 or who == len(readers) - 1:
        return np.int64(readers[-1].game.root) if readers[-1].kind == ROWS else np.int64(LOST)
    return np.int64(readers[who].game.root) if readers[who].kind == ROWS else np.int64(LOST)


@small_part
def play_hand(table, readers, seating, state, random, bets, nodes, probability):
    """Play a hand to its end; seating[s] is the reader in seat s. nodes: int64[seats], scratch."""
    first = random[0]
    begin(table, bets)
    for seat in range(table.seats):
        nodes[seat] = root_of(readers, seating[seat])
    decision = 0
    while bets[TURN] != END:
        mover = U64(bets[TURN])
        action, after = decide_of(readers, seating[mover], nodes[mover], table, bets, state, next_unit(random),
                                  probability)  # fmt: skip
        nodes[mover] = after
        for seat in range(table.seats):
            if seat != mover and nodes[seat] != LOST:
                draw = reading_draw(first, decision, table.seats, seat)
                nodes[seat] = read_of(readers, seating[seat], nodes[seat], table, bets, action, draw)
        act(table, bets, action)
        decision += 1


@part
def play_all(table, readers, seatings, seed, first, result, scratch, probability):
    """Duplicate deals first..first + len(result) - 1: result[i, k, p] is what reader p wins in the k-th seating."""
    random, luck, bets, nodes, won = scratch
    for i in range(len(result)):
        luck[0] = seed_of(seed, first + i)
        state = deal(table, luck)
        for k in range(len(seatings)):
            random[0] = luck[0]
            play_hand(table, readers, seatings[k], state, random, bets, nodes, probability)
            settle(table, state, bets, won)
            for seat in range(table.seats):
                result[i, k, seatings[k, seat]] = won[seat]


@maker
def duel(table, readers, seatings, seed, first, result, random, luck, probability):
    """As `duel` of all machines (`kibitz.solvers.kernels.players.play_deals`)."""
    seats = len(readers)
    scratch = (random, luck, np.zeros(BETS, np.int64), np.zeros(seats, np.int64), np.zeros(2 * seats))
    play_all(table, readers, seatings, seed, first, result, scratch, probability)
