"""CFR+ and its discounted kin where nothing but regrets and averages is kept: rows play in proportion to their regrets.

`cfr.py` writes a strategy beside each regret, which predictions, given strategies and frozen rows need.
Where none of them is asked for, regrets that are never negative are the strategy, up to a factor by row. A block is
more than the caches hold, so what is not read and written is most of what it costs. Without buckets; seats take turns.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.forms.kernels.cfr import discount
from kibitz.poker.exact.kernels.cfr import add_up, decay_of, keep_average
from kibitz.poker.exact.kernels.ends import ends
from kibitz.poker.exact.kernels.passes import FOLD, boards_of, hand_on, locate, pieces_of, root_of
from kibitz.poker.exact.kernels.weights import weighed_reaches


@part
def regret_two(n, value, k, x, y, regret, at, stride, keep, tiny):
    """What n rows with two actions are worth by their regrets, to line k; then their new regrets."""
    kind = regret.dtype.type
    zero, one, half = kind(0.0), kind(1.0), kind(0.5)
    b = at + stride
    for c in range(n):
        va = value[x, c]
        vb = value[y, c]
        ra = regret[at + c]
        rb = regret[b + c]
        total = ra + rb
        mean = (ra * va + rb * vb) * (one / total) if total > tiny else (va + vb) * half
        value[k, c] = mean
        regret[at + c] = max(ra * keep + (va - mean), zero)
        regret[b + c] = max(rb * keep + (vb - mean), zero)


@part
def regret_three(n, value, k, x, y, z, regret, at, stride, keep, tiny):
    """As `regret_two`, with three actions."""
    kind = regret.dtype.type
    zero, one = kind(0.0), kind(1.0)
    third = one / kind(3.0)
    b = at + stride
    d = b + stride
    for c in range(n):
        va = value[x, c]
        vb = value[y, c]
        vc = value[z, c]
        ra = regret[at + c]
        rb = regret[b + c]
        rc = regret[d + c]
        total = ra + rb + rc
        mean = (ra * va + rb * vb + rc * vc) * (one / total) if total > tiny else (va + vb + vc) * third
        value[k, c] = mean
        regret[at + c] = max(ra * keep + (va - mean), zero)
        regret[b + c] = max(rb * keep + (vb - mean), zero)
        regret[d + c] = max(rc * keep + (vc - mean), zero)


@part
def regret_many(n, value, k, children, node, width, regret, at, stride, keep, tiny):
    """As `regret_two`, with any number of actions."""
    kind = regret.dtype.type
    zero = kind(0.0)
    even = kind(1.0) / kind(width)
    for c in range(n):
        total, plain, weighed = zero, zero, zero
        for a in range(U64(width)):
            worth = value[U64(children[node, a]), c]
            total += regret[at + a * stride + c]
            weighed += regret[at + a * stride + c] * worth
            plain += worth
        mean = weighed / total if total > tiny else plain * even
        value[k, c] = mean
        for a in range(U64(width)):
            s = at + a * stride + c
            regret[s] = max(regret[s] * keep + (value[U64(children[node, a]), c] - mean), zero)


@part
def revise_block(table, level, group, board, seat, regret, reach, root_value, value, space, keep, tiny):
    """Values of a block, from its end to its root, and new regrets at the seat's nodes on the way."""
    start, n = locate(table, seat, group, board, level)
    node = table.group_node[group]
    children = table.children
    ends(table, level, group, board, seat, reach, root_value, value, space)
    for k in range(table.group_node[group + 1] - node - 1, -1, -1):
        turn = table.turn[node + k]
        if turn >= FOLD:
            continue
        width = table.count[node + k]
        if turn != seat:
            add_up(n, value, U64(k), children, node + k, width)
            continue
        x = U64(children[node + k, 0])
        at = start + U64(table.action[node + children[node + k, 0]]) * n
        if width == 2:
            regret_two(n, value, U64(k), x, U64(children[node + k, 1]), regret, at, n, keep, tiny)
        elif width == 3:
            y, z = U64(children[node + k, 1]), U64(children[node + k, 2])
            regret_three(n, value, U64(k), x, y, z, regret, at, n, keep, tiny)
        else:
            regret_many(n, value, U64(k), children, node + k, width, regret, at, n, keep, tiny)
    here = root_of(table, group, board, level)
    for c in range(n):
        root_value[here + c] = value[U64(0), c]


@part
def go_down(table, level, seat, regret, average, decay, room, roots, tiny, thread, threads, gate):
    """Reach of a seat in all blocks of a round, handed on to the next; unless decay < 0 the average is kept too."""
    g0, lo, boards, pieces = pieces_of(table, level)
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, board, _ = boards_of(table, boards, i)
        group += g0
        board += lo
        weighed_reaches(table, level, group, board, seat, regret, roots, room.reach, tiny)
        if decay >= 0.0:
            keep_average(table, level, group, board, seat, room.reach, average, decay)
        if level + 1 < table.round_board.shape[0] - 1:
            hand_on(table, level, group, board, seat, room.reach, roots)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@part
def go_up(table, level, seat, regret, average, decay, keep, tiny, room, roots, root_value, thread, threads, gate):
    """Values and new regrets of a seat in all blocks of a round; unless decay < 0 the other's average is kept too."""
    g0, lo, boards, pieces = pieces_of(table, level)
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, board, _ = boards_of(table, boards, i)
        group += g0
        board += lo
        weighed_reaches(table, level, group, board, 1 - seat, regret, roots, room.reach, tiny)
        if decay >= 0.0:
            keep_average(table, level, group, board, 1 - seat, room.reach, average, decay)
        revise_block(table, level, group, board, seat, regret, room.reach, root_value, room.value, room.space, keep,
                     tiny)  # fmt: skip
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@kernel
def iterate_plus(table, rule, regret, average, roots, root_value, room, done, count, tiny, thread, threads, gate):
    """As `cfr.iterate` with a floor of 0, seats that take turns and no predictions; the other fields of rule count."""
    rounds = table.round_board.shape[0] - 1
    kind = regret.dtype
    small = kind.type(max(tiny, 1e-30))
    for t in range(done + 1, done + count + 1):
        keep = kind.type(discount(rule.alpha, t - 1))
        for seat in range(2):
            # The average of the other: seat 0 has just been revised, seat 1 was in the iteration before.
            of = t - 1 if seat == 0 else t
            decay = -1.0 if of == done else decay_of(rule, of)  # that one is kept already
            for level in range(rounds - 1):
                go_down(table, level, 1 - seat, regret, average, decay, room, roots[1 - seat], small, thread, threads,
                        gate)  # fmt: skip
            for level in range(rounds - 1, -1, -1):
                go_up(table, level, seat, regret, average, decay if level == rounds - 1 else -1.0, keep, small, room,
                      roots[1 - seat], root_value[seat], thread, threads, gate)  # fmt: skip
    decay = decay_of(rule, done + count)
    for level in range(rounds if count else 0):
        go_down(table, level, 1, regret, average, decay, room, roots[1], small, thread, threads, gate)
