"""A strategy of an action abstraction at a table with all bets, compiled; `kibitz.poker.nolimit.translation` has what
each action means.

Here a bet between two sizes is read as one of them by a random number, once, when it is made [Ganzfried & Sandholm
2013]. The readable agent keeps all readings with their probabilities instead: its answers are the mean of these.

A reader is a hundred words, which a call copies: functions that take one are put in the place of their calls.

A *reader* knows where the hand stands in the strategy's own betting tree: a node, or LOST.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.core.jit import ONE, U64, small_part
from kibitz.core.random import GOLDEN, NONE, choose, mix, to_unit
from kibitz.games.kernels.machine import key
from kibitz.games.kernels.machine import part as part_of
from kibitz.poker.nolimit.kernels.betting import (
    CALL,
    FOLD,
    ROUND,
    TURN,
    action_at,
    count_actions,
    faces_bet,
    highest,
    offered,
    pot_of,
    top_of,
    total_of,
)
from kibitz.poker.rules.kernels.machine import COUNT, FIRST, PokerState
from kibitz.poker.rules.kernels.machine import ROUND as NODE_ROUND
from kibitz.poker.rules.kernels.machine import TURN as NODE_TURN
from kibitz.solvers.kernels.players import ALL_PARTS, AVERAGE, GREEDY
from kibitz.solvers.kernels.store import averaged, greedy, look, matched, silent

ANY_ACTION, ALWAYS_CALL, ALWAYS_FOLD, ROWS = 0, 1, 2, 3  # kinds of readers
LOST = -1  # no history of the strategy's game goes with the hand any more
READING = U64(0xA0761D6478BD642F)  # sets the numbers of readings apart from those of decisions


class Reader(NamedTuple):
    """One who plays at a table. All but `kind` is of ROWS; the strategy's game has B betting nodes."""

    kind: np.int64
    player: Any  # rows (`kibitz.solvers.kernels.players.Player`)
    game: Any  # the betting tree of the strategy's game (`PokerGame`)
    total: np.ndarray  # int64[]  by child: FOLD, CALL, or all that the seat has put in after the raise
    top: np.ndarray  # int64[B]  what a seat must have put in to call
    pot: np.ndarray  # int64[B]  the pot after that call
    stacks: np.ndarray  # int64[n]
    count: np.ndarray  # int64[2]  decisions, and those without a row; empty: they are not counted


@small_part
def reading_draw(begin, decision, seats, seat):
    """A number in [0, 1): how a seat reads the bet of a decision. begin: where the hand's random numbers begin."""
    return to_unit(mix(mix(begin ^ READING) + GOLDEN * (U64(decision) * seats + U64(seat) + ONE)))


@small_part
def is_together(reader, node, bets):
    """Whether the same seat is to act in the same round."""
    return node >= 0 and (
        reader.game.node[U64(node), NODE_TURN] == bets[TURN] and reader.game.node[U64(node), NODE_ROUND] == bets[ROUND]
    )


@small_part
def if_ahead(reader, node, bets):
    """The node of a reader that was not asked: kept if it waits in a later round for the table to come there."""
    if node < 0 or reader.game.node[U64(node), NODE_TURN] < 0 or reader.game.node[U64(node), NODE_ROUND] <= bets[ROUND]:
        return np.int64(LOST)
    return node


@small_part
def follow(reader, node, action):
    """The node after an action of the strategy's game, by its number."""
    return np.int64(reader.game.child[U64(reader.game.node[U64(node), FIRST]) + U64(action)])


@small_part
def action_total(reader, node, action):
    return reader.total[U64(reader.game.node[U64(node), FIRST]) + U64(action)]


@small_part
def count_low(reader, node):
    """How many actions come before the raises: a call, and perhaps a fold before it."""
    return ONE + U64(action_total(reader, node, NONE) == FOLD)


@small_part
def size_at(reader, node, action):
    """How many pots a raise of the strategy's game is."""
    return (action_total(reader, node, action) - reader.top[U64(node)]) / reader.pot[U64(node)]


@small_part
def low_share(x, low, high):
    """How likely a bet of x pots, between two sizes, is read as the lower one."""
    return (high - x) * (1.0 + low) / ((high - low) * (1.0 + x))


@small_part
def next_size(reader, node, x):
    """The number of the first raise that is at least x pots; the last one if none is."""
    last = U64(reader.game.node[U64(node), COUNT]) - ONE
    action = count_low(reader, node)
    while action < last and size_at(reader, node, action) < x:
        action += ONE
    return action


@small_part
def read_action(reader, node, table, bets, action, draw):
    """The node after another seat's action at the table, which stands as it was before it."""
    if not is_together(reader, node, bets):
        return if_ahead(reader, node, bets)
    low = count_low(reader, node)
    if action == CALL:
        return follow(reader, node, low - ONE)
    if action == FOLD:
        return follow(reader, node, NONE) if low > ONE else np.int64(LOST)
    if U64(reader.game.node[U64(node), COUNT]) == low:  # no raise there: a call
        return follow(reader, node, low - ONE)
    x = (action - top_of(table, bets)) / pot_of(table, bets)
    above = next_size(reader, node, x)
    high = size_at(reader, node, above)
    if above > low and x < high and draw < low_share(x, size_at(reader, node, above - ONE), high):
        above -= ONE
    return follow(reader, node, above)


@small_part
def turned(reader, node, table, bets, action):
    """What an action of the strategy's game is at the table."""
    total = action_total(reader, node, action)
    if total == FOLD:
        return np.int64(FOLD if faces_bet(table, bets) else CALL)
    if total == CALL or not highest(table, bets):
        return np.int64(CALL)
    if total >= reader.stacks[U64(reader.game.node[U64(node), NODE_TURN])]:
        return offered(table, bets, highest(table, bets))
    return offered(table, bets, total_of(table, bets, size_at(reader, node, action)))


@small_part
def answered(reader, state, actions, probability):
    """probability[0:actions] that the strategy gives to the actions of a decision; False where it has no row."""
    player = reader.player
    if player.part != ALL_PARTS and part_of(reader.game, state) != player.part:
        return read_row(player.kind, player.base_store, key(reader.game, player.base_keys, state), actions, probability)
    return read_row(player.kind, player.store, key(reader.game, player.keys, state), actions, probability)


@small_part
def read_row(kind, store, row, actions, probability):
    at = look(store, row)
    if silent(store, at, actions):
        return False
    if kind == AVERAGE:
        averaged(store, at, actions, probability)
    elif kind == GREEDY:
        greedy(store, at, actions, probability)
    else:
        matched(store, at, actions, probability)
    return True


@small_part
def state_of(node, state):
    """The cards of a hand at a node of the strategy's game."""
    return PokerState(U64(node), state.a, state.b, state.c, state.d, state.e, state.f, state.order)


@small_part
def count_decision(reader, unanswered):
    if len(reader.count):
        reader.count[0] += 1
        reader.count[1] += unanswered


@small_part
def decide(reader, node, table, bets, state, draw, probability):
    """(action at the table, the reader's node after it) of the seat to act. state: the cards."""
    if reader.kind != ROWS:
        return decide_without_rows(reader.kind, table, bets, draw), np.int64(LOST)
    if not is_together(reader, node, bets):
        count_decision(reader, 1)
        return np.int64(CALL), if_ahead(reader, node, bets)
    low = count_low(reader, node)
    count = U64(reader.game.node[U64(node), COUNT])
    if not answered(reader, state_of(node, state), count, probability):
        count_decision(reader, 1)
        return np.int64(CALL), follow(reader, node, low - ONE)
    count_decision(reader, 0)
    chosen = choose(probability, count, draw)
    action = turned(reader, node, table, bets, chosen)
    if action == CALL:
        chosen = low - ONE
    return action, follow(reader, node, chosen)


@small_part
def decide_without_rows(kind, table, bets, draw):
    """Of one who calls, folds, or takes every action as likely."""
    if kind == ALWAYS_CALL:
        return np.int64(CALL)
    if kind == ALWAYS_FOLD:
        return np.int64(FOLD if faces_bet(table, bets) else CALL)
    count = count_actions(table, bets)
    return np.int64(action_at(table, bets, min(np.int64(draw * count), count - 1)))

