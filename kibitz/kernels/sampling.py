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

from kibitz.kernels.jit import ONE, U64, kernel, part

EXTERNAL, OUTCOME, CHANCE_ONLY = 0, 1, 2
AT_CHANCE, AT_END, AT_FROZEN = -1, -2, -3
CLOSED = -1e300  # a regret below this marks an action that is never played
SHIFT_30, SHIFT_27, SHIFT_31, SHIFT_11, SHIFT_32 = U64(30), U64(27), U64(31), U64(11), U64(32)
MIX_1, MIX_2 = U64(0xBF58476D1CE4E5B9), U64(0x94D049BB133111EB)
GOLDEN = U64(0x9E3779B97F4A7C15)
TO_UNIT = 1.0 / 9007199254740992.0


class Walk(NamedTuple):
    """A tree as walks read it, and their working space. N histories, K columns, n seats."""

    node: np.ndarray  # uint32-like int32[N, 4]: turn, children, reference, first child's place in `child`
    child: np.ndarray  # int32[N-1]  children by parent
    chance: np.ndarray  # float64[N]  probability of the step to a history, by chance
    payoff: np.ndarray  # float64[L, n]
    slot: np.ndarray  # int64[D, 4]  opened histories: first edge, children, column (-1: not the seat's), own edge
    slot_weight: np.ndarray  # float64[D]
    edge: np.ndarray  # float64[E, 2]  value that came up an edge, probability of the action in the strategy
    edge_scale: np.ndarray  # float64[E]  one over the sampling probability of the edge
    stack: np.ndarray  # int64[E, 2]  histories still to visit: history, edge
    stack_reach: np.ndarray  # float64[E, 3]  others' reach / sampling, own reach, sampling


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
    last = 0
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
    seats = tree.payoff.shape[1]
    slots = 0
    edges = 1
    depth = 1
    visited = 0
    tree.edge_scale[0] = 1.0
    tree.stack[0, 0] = 0
    tree.stack[0, 1] = 0
    tree.stack_reach[0, :] = 1.0
    while depth > 0:
        depth -= 1
        at = U64(tree.stack[depth, 0])
        edge = tree.stack[depth, 1]
        others = tree.stack_reach[depth, 0]
        own = tree.stack_reach[depth, 1]
        sampled = tree.stack_reach[depth, 2]
        while True:
            visited += 1
            turn = node[at, 0]
            width = node[at, 1]
            reference = node[at, 2]
            if turn == AT_END:
                tree.edge[edge, 0] = tree.payoff[reference, seat] * tree.edge_scale[edge]
                break
            first = U64(node[at, 3])
            if turn == AT_CHANCE or turn == AT_FROZEN:
                random += GOLDEN
                bits = mix(random)
                if turn == AT_CHANCE and reference == 1:  # all outcomes alike
                    at = U64(tree.child[first + (((bits >> SHIFT_32) * U64(width)) >> SHIFT_32)])
                    continue
                if turn == AT_CHANCE:
                    for a in range(width):
                        probability[a] = tree.chance[tree.child[first + U64(a)]]
                else:
                    matched(regret, reference, width, probability)
                at = U64(tree.child[first + U64(choose(probability, width, (bits >> SHIFT_11) * TO_UNIT))])
                continue
            matched(regret, reference, width, probability)
            mine = turn == seat
            if not mine and mode != CHANCE_ONLY:
                if mode == EXTERNAL and turn == (seat + 1) % seats:
                    for a in range(width):
                        average[reference + a] += weight * probability[a]
                random += GOLDEN
                a = choose(probability, width, (mix(random) >> SHIFT_11) * TO_UNIT)
                sampled *= probability[a]
                at = U64(tree.child[first + U64(a)])
                continue
            # Open the history: a slot, and an edge for each child.
            tree.slot[slots, 0] = edges
            tree.slot[slots, 1] = width
            tree.slot[slots, 2] = reference if mine else -1
            tree.slot[slots, 3] = edge
            tree.slot_weight[slots] = others
            slots += 1
            if mine and mode != EXTERNAL:
                share = weight * own / sampled if mode == OUTCOME else weight * own
                for a in range(width):
                    average[reference + a] += share * probability[a]
            for a in range(width):
                tree.edge[edges + a, 0] = 0.0
                tree.edge[edges + a, 1] = probability[a]
                tree.edge_scale[edges + a] = 1.0
            if mode == OUTCOME:
                open_actions = 0
                for a in range(width):
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
                at = U64(tree.child[first + U64(a)])
                continue
            for a in range(width):
                tree.stack[depth, 0] = tree.child[first + U64(a)]
                tree.stack[depth, 1] = edges + a
                tree.stack_reach[depth, 0] = others if mine else others * probability[a]
                tree.stack_reach[depth, 1] = own * probability[a] if mine else own
                tree.stack_reach[depth, 2] = sampled
                depth += 1
            edges += width
            break
    for slot in range(slots - 1, -1, -1):
        low = tree.slot[slot, 0]
        width = tree.slot[slot, 1]
        column = tree.slot[slot, 2]
        edge = tree.slot[slot, 3]
        value = 0.0
        for a in range(low, low + width):
            value += tree.edge[a, 0] * tree.edge[a, 1]
        if column >= 0:
            others = tree.slot_weight[slot]
            for a in range(width):
                regret[column + a] += others * (tree.edge[low + a, 0] - value)
        tree.edge[edge, 0] = value * tree.edge_scale[edge]
    return visited


@kernel
def sample(tree, mode, explore, linear, regret, average, seed, done, count, probability, tried):
    """`count` iterations after `done`, each one walk per seat; returns the histories visited.

    The random numbers of a walk depend on the seed, the iteration and the seat alone.
    """
    seats = tree.payoff.shape[1]
    visited = 0
    for t in range(done + 1, done + count + 1):
        weight = float(t) if linear else 1.0
        for seat in range(seats):
            random = mix(U64(seed) + GOLDEN) ^ mix(U64(t) * GOLDEN + U64(seat) + ONE)
            visited += walk(
                tree, seat, mode, explore, weight, regret, average, mix(random), probability, tried
            )
    return visited
