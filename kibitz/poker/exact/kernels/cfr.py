"""Counterfactual regret minimisation over betting tree times cards: the rules of `forms/kernels/cfr.py`, block by
block.

A pass of a seat goes down with the other's reach and up with values, and revises the seat's regrets where it passes.
The other's reach is its plan, so its average is kept on the way down: with alternating updates that is the plan its
last iteration arrived at, and the average costs no pass of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.forms.kernels.cfr import discount
from kibitz.poker.exact.kernels.ends import ends
from kibitz.poker.exact.kernels.passes import FOLD, boards_of, hand_on, lanes_of, locate, pieces_of, reaches, root_of

COPIED = 1 << 16  # numbers that a thread copies at a time


class Learned(NamedTuple):
    """What CFR keeps, by sequence."""

    regret: np.ndarray
    strategy: np.ndarray
    average: np.ndarray
    kept: np.ndarray  # the strategies before an iteration, for simultaneous updates; else empty


class Vectors(NamedTuple):
    """Vectors at the roots of all groups, [2, classes x lanes]: of each seat."""

    reach: np.ndarray  # of the first group: how likely a seat comes to the game at all with a hand
    value: np.ndarray


class Update(NamedTuple):
    """A `Rule` in one iteration, in the precision of the regrets."""

    grow: float  # what is left of positive regrets
    keep: float  # and of others
    floor: float
    prediction: float
    tiny: float  # a sum of regrets up to this is rounding noise


@part
def keep_average(table, level, group, board, seat, reach, average, decay):
    """Add a seat's plan in a block to its average, after what is there has been multiplied by `decay`.

    With decay ((t-1)/t)^gamma plans weigh as t^gamma does, up to a common factor, and sums do not grow: large exponents
    would leave single precision.
    """
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    decay = average.dtype.type(decay)
    for k in range(1, table.group_node[group + 1] - node):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            k = U64(k)
            if table.row.shape[1]:
                if board == table.round_board[level]:  # the first of the boards that share these rows
                    for c in range(stride):
                        average[at + c] *= decay
                # Classes of a row add up, each as often as it is dealt.
                for c in range(n):
                    share = average.dtype.type(table.share[first + c])
                    row = at + U64(table.row[seat, first + c]) * lanes
                    for x in range(lanes):
                        average[row + x] += share * reach[k, c * lanes + x]
            else:
                for c in range(n * lanes):
                    average[at + c] = average[at + c] * decay + reach[k, c]


@part
def decay_of(rule, t):
    """What older plans count for when plan t comes; below 0 if it does not count yet."""
    if t <= rule.delay:
        return -1.0
    return ((t - 1.0 - rule.delay) / (t - rule.delay)) ** rule.gamma  # 0 ** 0 is 1


@part
def revise_two(n, delta, x, y, learned, at, stride, update):
    """As `revise`, with two actions, whose regrets of this iteration are lines x and y of delta.

    A body for two actions and one for three: one for any number, with vectors over rows inside a loop over actions,
    gave the same bits and took 12% longer on turn endgames, 5% on Rhode Island (x86).
    """
    regret, strategy = learned.regret, learned.strategy
    grow, keep, floor, prediction, tiny = update
    kind = regret.dtype.type
    zero, one, half = kind(0.0), kind(1.0), kind(0.5)
    b = at + stride
    for c in range(n):
        da = delta[x, c]
        db = delta[y, c]
        ra = regret[at + c]
        rb = regret[b + c]
        ra = max(ra * (grow if ra > zero else keep) + da, floor)
        rb = max(rb * (grow if rb > zero else keep) + db, floor)
        regret[at + c] = ra
        regret[b + c] = rb
        ra = max(ra + prediction * da, zero)
        rb = max(rb + prediction * db, zero)
        total = ra + rb
        scale = one / max(total, tiny)
        strategy[at + c] = ra * scale if total > tiny else half
        strategy[b + c] = rb * scale if total > tiny else half


@part
def revise_three(n, delta, x, y, z, learned, at, stride, update):
    """As `revise_two`, with three actions."""
    regret, strategy = learned.regret, learned.strategy
    grow, keep, floor, prediction, tiny = update
    kind = regret.dtype.type
    zero, one = kind(0.0), kind(1.0)
    third = one / kind(3.0)
    b = at + stride
    d = b + stride
    for c in range(n):
        da = delta[x, c]
        db = delta[y, c]
        dc = delta[z, c]
        ra = regret[at + c]
        rb = regret[b + c]
        rc = regret[d + c]
        ra = max(ra * (grow if ra > zero else keep) + da, floor)
        rb = max(rb * (grow if rb > zero else keep) + db, floor)
        rc = max(rc * (grow if rc > zero else keep) + dc, floor)
        regret[at + c] = ra
        regret[b + c] = rb
        regret[d + c] = rc
        ra = max(ra + prediction * da, zero)
        rb = max(rb + prediction * db, zero)
        rc = max(rc + prediction * dc, zero)
        total = ra + rb + rc
        scale = one / max(total, tiny)
        strategy[at + c] = ra * scale if total > tiny else third
        strategy[b + c] = rb * scale if total > tiny else third
        strategy[d + c] = rc * scale if total > tiny else third


@part
def revise(n, delta, lines, node, width, learned, at, stride, update):
    """Regret matching in n rows, whose columns lie `stride` apart and whose regrets of this iteration are the lines
    lines[node] of delta."""
    if width == 2:
        revise_two(n, delta, U64(lines[node, 0]), U64(lines[node, 1]), learned, at, stride, update)
        return
    if width == 3:
        x, y, z = U64(lines[node, 0]), U64(lines[node, 1]), U64(lines[node, 2])
        revise_three(n, delta, x, y, z, learned, at, stride, update)
        return
    regret, strategy = learned.regret, learned.strategy
    grow, keep, floor, prediction, tiny = update
    kind = regret.dtype.type
    zero = kind(0.0)
    even = kind(1.0) / kind(width)
    for c in range(n):
        total = zero
        for a in range(U64(width)):
            s = at + a * stride + c
            d = delta[U64(lines[node, a]), c]
            r = regret[s]
            r = max(r * (grow if r > zero else keep) + d, floor)
            regret[s] = r
            r = max(r + prediction * d, zero)
            strategy[s] = r
            total += r
        for a in range(U64(width)):
            s = at + a * stride + c
            strategy[s] = strategy[s] / total if total > tiny else even


@part
def weigh(n, value, k, children, node, width, strategy, at, stride):
    """Value of n rows of the seat itself, to line k; the lines of its actions are left with what the rows regret."""
    x = U64(children[node, 0])
    if width == 2:
        y = U64(children[node, 1])
        b = at + stride
        for c in range(n):
            va = value[x, c]
            vb = value[y, c]
            mean = strategy[at + c] * va + strategy[b + c] * vb
            value[k, c] = mean
            value[x, c] = va - mean
            value[y, c] = vb - mean
    elif width == 3:
        y = U64(children[node, 1])
        z = U64(children[node, 2])
        b = at + stride
        d = b + stride
        for c in range(n):
            va = value[x, c]
            vb = value[y, c]
            vc = value[z, c]
            mean = strategy[at + c] * va + strategy[b + c] * vb + strategy[d + c] * vc
            value[k, c] = mean
            value[x, c] = va - mean
            value[y, c] = vb - mean
            value[z, c] = vc - mean
    else:
        for c in range(n):
            mean = strategy[at + c] * value[x, c]
            for a in range(U64(1), U64(width)):
                mean += strategy[at + a * stride + c] * value[U64(children[node, a]), c]
            value[k, c] = mean
            for a in range(U64(width)):
                value[U64(children[node, a]), c] -= mean


@part
def add_up(n, value, k, children, node, width):
    """Value of n rows of the other seat: its reach is in the values of its actions, so they add up."""
    x = U64(children[node, 0])
    if width == 1:
        for c in range(n):
            value[k, c] = value[x, c]
        return
    y = U64(children[node, 1])
    if width == 2:
        for c in range(n):
            value[k, c] = value[x, c] + value[y, c]
        return
    z = U64(children[node, 2])
    for c in range(n):
        value[k, c] = value[x, c] + value[y, c] + value[z, c]
    for a in range(3, width):
        x = U64(children[node, a])
        for c in range(n):
            value[k, c] += value[x, c]


@part
def regret_block(table, level, group, board, seat, learned, update, root_value, workspace):
    """Values of a block, from its end to its root, and regret matching at the seat's nodes on the way."""
    start, n = locate(table, seat, group, board, level)
    node = table.group_node[group]
    children, value, space = table.children, workspace.value, workspace.space
    ends(table, level, group, board, seat, workspace.reach, root_value, value, space)
    for k in range(table.group_node[group + 1] - node - 1, -1, -1):
        turn = table.turn[node + k]
        if turn >= FOLD:
            continue
        width = table.count[node + k]
        if turn != seat:
            add_up(n, value, U64(k), children, node + k, width)
            continue
        at = start + U64(table.action[node + children[node + k, 0]]) * n
        weigh(n, value, U64(k), children, node + k, width, learned.strategy, at, n)
        if width > 1:
            revise(n, value, children, node + k, width, learned, at, n, update)
    here = root_of(table, group, board, level)
    for c in range(n):
        root_value[here + c] = value[U64(0), c]


@part
def collect(table, level, group, board, seat, strategy, root_value, workspace):
    """With buckets: values of a block; its regrets are added to those of rows, each class as often as it is dealt."""
    value, gathered = workspace.value, workspace.gathered
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    ends(table, level, group, board, seat, workspace.reach, root_value, value, workspace.space)
    kind = value.dtype.type
    for k in range(table.group_node[group + 1] - node - 1, -1, -1):
        turn = table.turn[node + k]
        if turn >= FOLD:
            continue
        width = table.count[node + k]
        u = U64(k)
        if turn != seat:
            add_up(n * lanes, value, u, table.children, node + k, width)
            continue
        action = U64(table.action[node + table.children[node + k, 0]])
        for c in range(n):
            share = kind(table.share[first + c])
            row = U64(table.row[seat, first + c]) * lanes
            for x in range(lanes):
                at = c * lanes + x
                mean = kind(0.0)
                for a in range(U64(width)):
                    probability = strategy[start + (action + a) * stride + row + x]
                    mean += probability * value[U64(table.children[node + k, a]), at]
                value[u, at] = mean
                for a in range(U64(width)):
                    gathered[action + a, row + x] += share * (value[U64(table.children[node + k, a]), at] - mean)
    here = root_of(table, group, board, level)
    for c in range(n * lanes):
        root_value[here + c] = value[U64(0), c]


@part
def learn(table, group, seat, n, learned, update, workspace):
    """With buckets: regret matching in the rows of a group (n: rows times lanes), from the regrets of all boards."""
    start, node = U64(table.base[seat, group]), table.group_node[group]
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] == seat and table.count[k] > 1:
            width = table.count[k]
            action = U64(table.action[node + table.children[k, 0]])
            for a in range(width):
                workspace.lines[0, a] = action + U64(a)
            revise(n, workspace.gathered, workspace.lines, 0, width, learned, start + action * n, n, update)


@part
def descend(table, level, seat, strategy, average, decay, roots, workspace):
    """Reach of a seat in all blocks of a round, handed on to the next; unless decay < 0 the average is kept too."""
    thread, threads, gate, reach = workspace.thread, workspace.threads, workspace.gate, workspace.reach
    pieces = pieces_of(table, level)
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, low, high = boards_of(table, level, i)
        for board in range(low, high):
            reaches(table, level, group, board, seat, strategy, roots, reach)
            if decay >= 0.0:
                keep_average(table, level, group, board, seat, reach, average, decay)
            if level + 1 < table.round_board.shape[0] - 1:
                hand_on(table, level, group, board, seat, reach, roots)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@part
def respond(table, level, seat, learned, others, decay, update, vectors, workspace):
    """Values and new regrets of a seat in all blocks of a round; unless decay < 0 the other's average is kept too."""
    thread, threads, gate, reach = workspace.thread, workspace.threads, workspace.gate, workspace.reach
    bucketed = table.row.shape[1] > 0
    roots, root_value, gathered = vectors.reach[1 - seat], vectors.value[seat], workspace.gathered
    pieces = pieces_of(table, level)
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, low, high = boards_of(table, level, i)
        n = U64(table.rows[seat, level]) * lanes_of(table, group)
        if bucketed:
            for a in range(U64(table.width[seat, group])):
                for c in range(n):
                    gathered[a, c] = 0.0
        for board in range(low, high):
            reaches(table, level, group, board, 1 - seat, others, roots, reach)
            if decay >= 0.0:
                keep_average(table, level, group, board, 1 - seat, reach, learned.average, decay)
            if bucketed:
                collect(table, level, group, board, seat, learned.strategy, root_value, workspace)
            else:
                regret_block(table, level, group, board, seat, learned, update, root_value, workspace)
        if bucketed:
            learn(table, group, seat, n, learned, update, workspace)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@part
def remember(strategy, kept, workspace):
    """kept = strategy, some at a time."""
    thread, threads, gate = workspace.thread, workspace.threads, workspace.gate
    pieces = (strategy.shape[0] + COPIED - 1) // COPIED
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        for s in range(U64(i * COPIED), U64(min((i + 1) * COPIED, strategy.shape[0]))):
            kept[s] = strategy[s]
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@kernel
def iterate(table, rule, learned, vectors, done, count, tiny, workspace):
    """`count` iterations after `done`; the same bytes for any number of threads and however they are divided."""
    rounds = table.round_board.shape[0] - 1
    strategy, average = learned.strategy, learned.average
    kind = strategy.dtype.type
    floor, prediction, small = kind(rule.floor), kind(rule.prediction), kind(max(tiny, 1e-30))
    for t in range(done + 1, done + count + 1):
        grow, keep = kind(discount(rule.alpha, t - 1)), kind(discount(rule.beta, t - 1))
        update = Update(grow, keep, floor, prediction, small)
        if not rule.alternating:
            remember(strategy, learned.kept, workspace)
        others = strategy if rule.alternating else learned.kept
        for seat in range(2):
            # The average of the other: seat 0 has just been revised, seat 1 was in the iteration before.
            of = t - 1 if seat == 0 else t
            decay = decay_of(rule, of)
            if not rule.alternating or of == done:  # that one is kept already
                decay = -1.0
            for level in range(rounds - 1):
                descend(table, level, 1 - seat, others, average, decay, vectors.reach[1 - seat], workspace)
            for level in range(rounds - 1, -1, -1):
                last = decay if level == rounds - 1 else -1.0
                respond(table, level, seat, learned, others, last, update, vectors, workspace)
        decay = decay_of(rule, t)
        for seat in range(2):
            if not rule.alternating or (seat == 1 and t == done + count):
                for level in range(rounds):
                    descend(table, level, seat, strategy, average, decay, vectors.reach[seat], workspace)
