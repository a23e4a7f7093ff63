"""Monte Carlo CFR on a tree: one walk for external, outcome and chance sampling [Lanctot et al. 2009].

A walk updates the regrets of one seat. At each history it either follows one sampled child or opens all children:

    sampling   chance    the seat's own turn          the others' turn
    external   sample    open                         sample from their strategy
    outcome    sample    sample, exploring            sample from their strategy
    chance     sample    open                         open

Opened (and explored) histories get a slot; slots are then read backwards, children before parents, so there is no
recursion. A frozen row is chance: it is sampled, and never updated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.barrier import claim
from kibitz.kernels.jit import ONE, U64, kernel, part

EXTERNAL, OUTCOME, CHANCE_ONLY = 0, 1, 2
AT_CHANCE, AT_END, AT_FROZEN = -1, -2, -3
CLOSED = -1e300  # a regret below this marks an action that is never played
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11, SHIFT_32 = U64(30), U64(27), U64(31), U64(11), U64(32)
MIX_1, MIX_2 = U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)
NONE = U64(0)
GOLDEN = U64(0x9E3779B97F4A7C15)
ITERATIONS = 32  # that a thread takes at a time
TO_UNIT = 1.0 / 9007199254740992.0


class Walk(NamedTuple):
    """A tree as walks read it, and their working space. N histories, K columns, n seats."""

    node: np.ndarray  # int32[N, 4]  turn, children, reference (column, leaf, or 1: all alike), place in `child`
    child: np.ndarray  # uint32[N-1]  children by parent
    chance: np.ndarray  # float64[N]  probability of the step to a history, by chance
    payoff: np.ndarray  # float64[L, n]
    slot: np.ndarray  # uint64[D, 4]  opened histories: first edge, children, column, the edge that leads to it
    slot_mine: np.ndarray  # bool[D]  whether it is the seat's own turn
    slot_weight: np.ndarray  # float64[D]  the others' reach over the sampling probability
    edge: np.ndarray  # float64[E, 2]  value that came up an edge, probability of the action in the strategy
    edge_scale: np.ndarray  # float64[E]  one over the sampling probability of the edge (outcome sampling); [0] is 1
    stack: np.ndarray  # uint64[E, 2]  histories still to visit: history, edge
    stack_reach: np.ndarray  # float64[E, 2]  others' reach, own reach (chance sampling)


@part
def mix(x):
    """The finaliser of splitmix64: a good hash of 64 bits."""
    x = (x ^ (x >> SHIFT_30)) * MIX_1
    x = (x ^ (x >> SHIFT_27)) * MIX_2
    return x ^ (x >> SHIFT_31)


@part
def matched(regret, column, width, probability):
    """probability[0:width] by regret matching at a row; uniform over open actions where nothing is regretted."""
    total = 0.0
    for a in range(width):
        r = max(regret[column + a], 0.0)
        probability[a] = r
        total += r
    if total > 0.0:
        scale = 1.0 / total
        for a in range(width):
            probability[a] *= scale
    else:
        open_actions = 0
        for a in range(width):
            if regret[column + a] > CLOSED:
                open_actions += 1
        for a in range(width):
            probability[a] = 1.0 / open_actions if regret[column + a] > CLOSED else 0.0


@part
def choose(probability, width, draw):
    """The action that a number in [0, 1) picks; rounding never picks one of probability 0."""
    last = NONE
    for a in range(width):
        if probability[a] > 0.0:
            last = a
            draw -= probability[a]
            if draw < 0.0:
                break
    return last


@part
def walk(tree, seat, mode, explore, weight, regret, average, random, probability, tried):
    """One walk for one seat; `random` is the state of the generator. Returns the number of histories visited."""
    node = tree.node
    child = tree.child
    next_seat = (seat + 1) % tree.payoff.shape[1]
    slots = NONE
    edges = ONE
    depth = ONE
    visited = 0
    tree.stack[0, 0] = 0
    tree.stack[0, 1] = 0
    tree.stack_reach[0, 0] = 1.0
    tree.stack_reach[0, 1] = 1.0
    while depth > NONE:
        depth -= ONE
        at = tree.stack[depth, 0]
        edge = tree.stack[depth, 1]
        others = 1.0
        own = 1.0
        sampled = 1.0
        if mode == CHANCE_ONLY:
            others = tree.stack_reach[depth, 0]
            own = tree.stack_reach[depth, 1]
        while True:
            visited += 1
            turn = node[at, 0]
            reference = U64(node[at, 2])
            if turn == AT_END:
                value = tree.payoff[reference, seat]
                tree.edge[edge, 0] = value * tree.edge_scale[edge] if mode == OUTCOME else value
                break
            width = U64(node[at, 1])
            first = U64(node[at, 3])
            if turn == AT_CHANCE or turn == AT_FROZEN:  # noqa: SIM109 (Numba is faster so)
                random += GOLDEN
                bits = mix(random)
                if turn == AT_CHANCE and reference == ONE:  # all outcomes alike
                    at = child[first + (((bits >> SHIFT_32) * width) >> SHIFT_32)]
                    continue
                if turn == AT_CHANCE:
                    for a in range(width):
                        probability[a] = tree.chance[child[first + a]]
                else:
                    matched(regret, reference, width, probability)
                at = child[first + choose(probability, width, (bits >> SHIFT_11) * TO_UNIT)]
                continue
            matched(regret, reference, width, probability)
            mine = turn == seat
            if not mine and mode != CHANCE_ONLY:
                if mode == EXTERNAL and turn == next_seat:
                    for a in range(width):
                        average[reference + a] += weight * probability[a]
                random += GOLDEN
                a = choose(probability, width, (mix(random) >> SHIFT_11) * TO_UNIT)
                sampled *= probability[a]
                at = child[first + a]
                continue
            # Open the history: a slot, and an edge for each child.
            tree.slot[slots, 0] = edges
            tree.slot[slots, 1] = width
            tree.slot[slots, 2] = reference
            tree.slot[slots, 3] = edge
            tree.slot_mine[slots] = mine
            tree.slot_weight[slots] = others
            slots += ONE
            for a in range(width):
                tree.edge[edges + a, 1] = probability[a]
            if mode != EXTERNAL and mine:
                share = weight * own / sampled if mode == OUTCOME else weight * own
                for a in range(width):
                    average[reference + a] += share * probability[a]
            if mode == OUTCOME:
                open_actions = 0
                for a in range(width):
                    tree.edge[edges + a, 0] = 0.0
                    if regret[reference + a] > CLOSED:
                        open_actions += 1
                for a in range(width):
                    closed = regret[reference + a] <= CLOSED
                    tried[a] = 0.0 if closed else explore / open_actions + (1.0 - explore) * probability[a]
                random += GOLDEN
                a = choose(tried, width, (mix(random) >> SHIFT_11) * TO_UNIT)
                tree.edge_scale[edges + a] = 1.0 / tried[a]
                others /= tried[a]
                sampled *= tried[a]
                own *= probability[a]
                edge = edges + a
                edges += width
                at = child[first + a]
                continue
            for a in range(width):
                if regret[reference + a] <= CLOSED:  # a child that does not exist
                    tree.edge[edges + a, 0] = 0.0
                    continue
                tree.stack[depth, 0] = child[first + a]
                tree.stack[depth, 1] = edges + a
                if mode == CHANCE_ONLY:
                    tree.stack_reach[depth, 0] = others if mine else others * probability[a]
                    tree.stack_reach[depth, 1] = own * probability[a] if mine else own
                depth += ONE
            edges += width
            break
    while slots > NONE:
        slots -= ONE
        low = tree.slot[slots, 0]
        width = tree.slot[slots, 1]
        edge = tree.slot[slots, 3]
        value = 0.0
        for a in range(low, low + width):
            value += tree.edge[a, 0] * tree.edge[a, 1]
        if tree.slot_mine[slots]:
            column = tree.slot[slots, 2]
            others = tree.slot_weight[slots]
            for a in range(width):
                regret[column + a] += others * (tree.edge[low + a, 0] - value)
        tree.edge[edge, 0] = value * tree.edge_scale[edge] if mode == OUTCOME else value
    return visited


@kernel
def sample(tree, mode, explore, linear, regret, average, seed, done, count, probability, tried, thread, threads, gate):
    """`count` iterations after `done`, each one walk per seat; returns the histories that this thread visited.

    The random numbers of a walk depend on the seed, the iteration and the seat alone. Threads share regrets and
    averages without locks: with more than one, the order of additions differs from run to run, and now and then one
    of two at the same moment is lost. tree: each thread has working space of its own.
    """
    seats = tree.payoff.shape[1]
    visited = 0
    pieces = (count + ITERATIONS - 1) // ITERATIONS
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        first = done + 1 + i * ITERATIONS
        for t in range(first, min(first + ITERATIONS, done + count + 1)):
            weight = float(t) if linear else 1.0
            for seat in range(seats):
                random = mix(U64(seed) + GOLDEN) ^ mix(U64(t) * GOLDEN + U64(seat) + ONE)
                visited += walk(tree, seat, mode, explore, weight, regret, average, mix(random), probability, tried)
        i = claim(gate, thread, threads, i, pieces)
    return visited
