"""Monte Carlo CFR on a machine: one walk for external, outcome and chance sampling [Lanctot et al. 2009].

A walk updates the regrets of one seat. At each decision it either follows one sampled action or tries all of them:

    sampling   chance    the seat's own turn          the others' turn
    external   sample    try all                      sample from their strategy
    outcome    sample    sample, exploring            sample from their strategy
    chance     sample    try all                      try all

A decision whose actions are being tried has a *frame*: its state, its row and the values found so far. There is no
recursion: Numba crashes when it loads such a function from its cache. A decision that is not trained (`Mask`) is played
by the base and sampled like chance.

An action that is regretted less than `prune`, which is below 0, is passed over in most walks of external sampling; its
regret then stays [Brown & Sandholm 2019]. It is one that is not played, so the value of the decision is not touched.

External sampling keeps the average strategy of the seat after the one that walks, wherever the walk passes: for two
players that is the other, and it passes with the probability of that seat's own moves, as the average is defined. For
three and more it passes with the probability of the moves of third seats as well, so each visit counts by one over
that (`exact`); without it what third seats did is in the weights, which is less noisy, and not CFR's average.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kibitz.core.devices import real
from kibitz.core.jit import ONE, U64, part, small_part
from kibitz.core.random import GOLDEN, NONE, SCRATCH, choose, mix, next_unit
from kibitz.games.kernels.machine import (
    CHANCE,
    END,
    after,
    deal,
    draw,
    keep,
    kept,
    key,
    level,
    payoff,
    prepare,
    turn,
    width,
)
from kibitz.solvers.kernels.players import FREE, fixed, strategy
from kibitz.solvers.kernels.store import add_average, add_regret, crowded, is_open, locate, matched, regret_of, settle

EXTERNAL, OUTCOME, CHANCE_ONLY = 0, 1, 2
AT, KEY, REST = U64(0), U64(1), U64(2)  # columns of `frame`; REST: width << 32, SEAT_BIT if the seat's own, action
HALF, SEAT_BIT, LOWER = U64(32), U64(1 << 31), U64((1 << 31) - 1)
OTHERS, OWN, THIRD, TRIED = U64(0), U64(1), U64(2), U64(3)  # columns of `reach`
DOWN, UP, OVER = 0, 1, 2  # phases of a walk
VISITED = 0
UNPRUNED = 0.05  # share of the walks that pass over nothing
PASSED = np.inf  # the value of an action that was passed over


class WalkOrder(NamedTuple):
    """How to walk."""

    mode: np.int64  # EXTERNAL, OUTCOME or CHANCE_ONLY
    explore: float  # outcome sampling: the share of uniform play
    linear: bool  # whether iteration t counts t times in the average
    evict: bool  # what a full hash table does with a new row
    seed: np.int64
    players: np.uint64
    seats: np.uint64  # mask of those that walk
    prune: float = 0.0  # regret below which actions are passed over; 0: none are
    exact: bool = True  # external sampling, three players: whether averages have the weights of CFR


class Workspace(NamedTuple):
    """What a walk writes to, one for each thread. D frames, W actions."""

    states: np.ndarray  # uint64[D, words]
    frame: np.ndarray  # uint64[D, 3]
    reach: np.ndarray  # float64[D, 4]
    space: np.ndarray  # float64[2 D + 1, W]  probabilities and values of frames; the last is for what is tried
    random: np.ndarray  # uint64[SCRATCH]
    count: np.ndarray  # int64[4]  decisions visited; rows added, evicted, refused
    reached: np.ndarray  # int64[1]  the iteration before which walks stopped


class Cursor(NamedTuple):
    """How far a walk is."""

    state: Any
    depth: np.uint64  # frames
    others: float  # one over the probability of what was sampled, of the seat's own decisions
    own: float
    sampled: float
    third: float  # of sampled moves, those of neither the seat nor the next
    value: float
    prune: float  # WalkOrder.prune, or 0 in a walk that passes over nothing
    phase: np.int64


@part
def passed_over(store, at, a, probability, prune):
    """Whether a walk leaves an action out that may be played."""
    return prune < 0.0 and probability[a] == 0.0 and regret_of(store, at, a) < prune


@part
def begun(order, state, random):
    """A walk that is about to begin. random: where its random numbers go on after the deal."""
    prune = 0.0
    if order.prune < 0.0 and order.mode == EXTERNAL and next_unit(random) >= UNPRUNED:
        prune = order.prune
    one = real(1.0)
    return Cursor(state, NONE, one, one, one, one, real(0.0), prune, DOWN)


@part
def step(game, view, store, mask, base, order, seat, weight, work, cursor):
    """One step of a walk: down past a decision; at an end, or after it, up to an action that is still to be tried.

    Threads of a GPU take steps in step, however far each is in its walk.
    """
    state, depth, others, own, sampled, third, value, prune, phase = cursor
    mode = order.mode
    random, count, reach = work.random, work.count, work.reach
    moves = False  # whether action a follows
    a = NONE
    if phase == DOWN:
        mover = turn(game, state)
        if mover == END:
            value = real(payoff(game, state, seat))
            phase = UP
        elif mover == CHANCE:
            state = draw(game, state, random)
        else:
            moves = True
            count[VISITED] += 1
            actions = U64(width(game, state))
            probability = work.space[depth + depth]
            if mask.kind != FREE and fixed(game, mask, state, mover, seat):
                strategy(base, game, state, actions, probability)
                a = choose(probability, actions, next_unit(random))
            else:
                row = key(game, view, state)
                at = locate(store, row, order.evict, count)
                matched(store, at, actions, probability)
                who = U64(mover)
                mine = who == seat
                if not mine and mode != CHANCE_ONLY:
                    next_seat = seat + ONE if seat + ONE < order.players else NONE
                    if mode == EXTERNAL and who == next_seat:
                        add_average(store, at, actions, weight / third, probability)
                    a = choose(probability, actions, next_unit(random))
                    sampled *= probability[a]
                    if order.exact and who != next_seat:
                        third *= probability[a]
                else:
                    if mine and mode != EXTERNAL:
                        add_average(store, at, actions, weight * own / sampled, probability)
                    keep(work.states, depth, state)
                    work.frame[depth, AT] = at
                    work.frame[depth, KEY] = row
                    reach[depth, THIRD] = third
                    if mode != EXTERNAL:  # there both stay 1
                        reach[depth, OTHERS] = others
                        reach[depth, OWN] = own
                    values = work.space[depth + depth + ONE]
                    if mode == OUTCOME:
                        tried = work.space[U64(len(work.space)) - ONE]
                        open_actions = 0
                        for b in range(actions):
                            values[b] = 0.0
                            if is_open(store, at, b):
                                open_actions += 1
                        for b in range(actions):
                            tried[b] = 0.0
                            if is_open(store, at, b):
                                tried[b] = order.explore / open_actions + (1.0 - order.explore) * probability[b]
                        a = choose(tried, actions, next_unit(random))
                        reach[depth, TRIED] = tried[a]
                        others /= tried[a]
                        sampled *= tried[a]
                        own *= probability[a]
                    else:
                        while not is_open(store, at, a) or passed_over(store, at, a, probability, prune):
                            values[a] = PASSED if is_open(store, at, a) else 0.0
                            a += ONE
                        if mode == CHANCE_ONLY:
                            if mine:
                                own *= probability[a]
                            else:
                                others *= probability[a]
                    work.frame[depth, REST] = actions << HALF | (SEAT_BIT if mine else NONE) | a
                    depth += ONE
    if phase == UP:
        if depth == NONE:
            phase = OVER
        else:
            top = depth - ONE
            probability = work.space[top + top]
            values = work.space[top + top + ONE]
            at = work.frame[top, AT]
            rest = work.frame[top, REST]
            actions = rest >> HALF
            a = rest & LOWER
            mine = rest & SEAT_BIT != NONE
            if mode == OUTCOME:
                values[a] = value / reach[top, TRIED]
            else:
                values[a] = value
                a += ONE
                while a < actions and (not is_open(store, at, a) or passed_over(store, at, a, probability, prune)):
                    values[a] = PASSED if is_open(store, at, a) else 0.0
                    a += ONE
                moves = a < actions
            if moves:
                work.frame[top, REST] = (rest & ~LOWER) | a
                third = reach[top, THIRD]
                if mode == CHANCE_ONLY:
                    others = reach[top, OTHERS]
                    own = reach[top, OWN]
                    if mine:
                        own *= probability[a]
                    else:
                        others *= probability[a]
                state = kept(work.states, top, state)
                phase = DOWN
            else:
                depth = top
                if mine and mask.kind == FREE:
                    level(game, view, kept(work.states, top, state), values)
                value = real(0.0)
                for b in range(actions):
                    if values[b] != PASSED:
                        value += probability[b] * values[b]
                if prune < 0.0:
                    for b in range(actions):
                        if values[b] == PASSED:
                            values[b] = value
                if mine:
                    if mode != EXTERNAL:
                        others = reach[top, OTHERS]
                    add_regret(store, at, work.frame[top, KEY], actions, others, values, value, order.evict, count)
    if moves:
        state = after(game, state, a)
    return Cursor(state, depth, others, own, sampled, third, value, prune, phase)


@part
def walk(game, view, store, mask, base, order, seat, weight, work):
    """One walk for one seat; work.random[0] says where its random numbers begin. Returns the sampled value."""
    random = work.random
    cursor = begun(order, prepare(game, view, deal(game, random), random), random)
    while cursor.phase != OVER:
        cursor = step(game, view, store, mask, base, order, seat, weight, work, cursor)
    settle(store)
    return cursor.value


@small_part
def which_walk(order, first, i):
    """(iteration, seat) of the i-th walk from iteration `first` on."""
    walkers = NONE
    for seat in range(order.players):
        walkers += (order.seats >> seat) & ONE
    nth = U64(i) % walkers
    walker = NONE
    for seat in range(order.players):
        if (order.seats >> seat) & ONE:
            if nth == NONE:
                walker = seat
            nth -= ONE
    return first + np.int64(U64(i) // walkers), walker


@small_part
def seed_of_walk(order, t, seat):
    """Where the random numbers of a seat's walk begin."""
    return mix(mix(U64(order.seed) + GOLDEN) ^ mix(U64(t) * GOLDEN + seat + ONE))


@small_part
def weight_of(order, t):
    """What iteration t counts in the average."""
    return real(t + 1) if order.linear else real(1.0)


@small_part  # a call of its own costs a tenth of the time in games as small as Leduc
def walk_once(game, view, store, mask, base, order, t, work):
    """Iteration t: a walk for each of the seats."""
    for seat in range(order.players):
        if (order.seats >> seat) & ONE:
            work.random[0] = seed_of_walk(order, t, seat)
            walk(game, view, store, mask, base, order, seat, weight_of(order, t), work)


@part
def walk_all(game, view, store, mask, base, order, first, last, work):
    """Iterations first..last - 1, each a walk for each of the seats, with a deal of its own.

    The random numbers of a walk depend on the seed, the iteration and the seat alone. A crowded store ends them
    between two iterations: work.reached says before which.
    """
    work.reached[0] = last
    for t in range(first, last):
        if crowded(store):
            work.reached[0] = t
            break
        walk_once(game, view, store, mask, base, order, t, work)


def workspace(depth: int, words: int, actions: int) -> Workspace:
    """Arrays for walks with up to `depth` frames; words of a state, 0 for states of plain Python and for slow twins."""
    states = [None] * depth if words == 0 else np.zeros((depth, words), np.uint64)
    return Workspace(
        states, np.zeros((depth, 3), np.uint64), np.zeros((depth, 4)), np.zeros((2 * depth + 1, actions)),
        np.zeros(SCRATCH, np.uint64), np.zeros(4, np.int64), np.zeros(1, np.int64),
    )  # type: ignore[arg-type]  # fmt: skip
