"""Counterfactual regret minimisation over betting tree times cards: the rules of `forms/kernels/cfr.py`, block by
block.

A pass of a seat goes down with the other's reach and up with values, and revises the seat's regrets where it passes.
The other's reach is its plan, so its average is kept on the way down: with alternating updates that is the plan its
last iteration arrived at, and the average costs no pass of its own.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.forms.kernels.cfr import discount
from kibitz.poker.exact.kernels.ends import ends
from kibitz.poker.exact.kernels.passes import FOLD, boards_of, hand_on, lanes_of, locate, pieces_of, reaches, root_of

COPIED = 1 << 16  # numbers that a thread copies at a time


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
def revise_two(n, delta, x, y, regret, strategy, at, stride, discounts, floor, prediction, tiny):
    """Regret matching in n rows with two actions, whose columns lie `stride` apart and whose regrets of this iteration
    are lines x and y of delta."""
    kind = regret.dtype.type
    zero, one, half = kind(0.0), kind(1.0), kind(0.5)
    grow, keep = discounts
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
def revise_three(n, delta, x, y, z, regret, strategy, at, stride, discounts, floor, prediction, tiny):
    """As `revise_two`, with three actions."""
    kind = regret.dtype.type
    zero, one = kind(0.0), kind(1.0)
    third = one / kind(3.0)
    grow, keep = discounts
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
def revise_many(n, delta, lines, node, width, regret, strategy, at, stride, discounts, floor, prediction, tiny):
    """As `revise_two`, with any number of actions; lines[node] has the lines of delta."""
    kind = regret.dtype.type
    zero = kind(0.0)
    even = kind(1.0) / kind(width)
    grow, keep = discounts
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
def regret_block(table, level, group, board, seat, regret, strategy, reach, root_value, value, space, discounts,
                 floor, prediction, tiny):  # fmt: skip
    """Values of a block, from its end to its root, and regret matching at the seat's nodes on the way."""
    start, stride = locate(table, seat, group, board, level)
    n = stride
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
        at = start + U64(table.action[node + children[node + k, 0]]) * stride
        weigh(n, value, U64(k), children, node + k, width, strategy, at, stride)
        if width == 2:
            revise_two(n, value, U64(children[node + k, 0]), U64(children[node + k, 1]), regret, strategy, at, stride,
                       discounts, floor, prediction, tiny)  # fmt: skip
        elif width == 3:
            revise_three(n, value, U64(children[node + k, 0]), U64(children[node + k, 1]), U64(children[node + k, 2]),
                         regret, strategy, at, stride, discounts, floor, prediction, tiny)  # fmt: skip
        elif width > 3:
            revise_many(n, value, children, node + k, width, regret, strategy, at, stride, discounts, floor,
                        prediction, tiny)  # fmt: skip
    here = root_of(table, group, board, level)
    for c in range(n):
        root_value[here + c] = value[U64(0), c]


@part
def collect(table, level, group, board, seat, strategy, reach, root_value, value, space, gathered):
    """With buckets: values of a block; its regrets are added to those of rows, each class as often as it is dealt."""
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    ends(table, level, group, board, seat, reach, root_value, value, space)
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
def learn(table, group, seat, n, gathered, lines, regret, strategy, discounts, floor, prediction, tiny):
    """With buckets: regret matching in the rows of a group (n: rows times lanes), from the regrets of all boards."""
    start = U64(table.base[seat, group])
    node = table.group_node[group]
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] == seat:
            width = table.count[k]
            action = U64(table.action[node + table.children[k, 0]])
            at = start + action * n
            if width == 2:
                revise_two(n, gathered, action, action + U64(1), regret, strategy, at, n, discounts, floor, prediction,
                           tiny)  # fmt: skip
            elif width == 3:
                revise_three(n, gathered, action, action + U64(1), action + U64(2), regret, strategy, at, n, discounts,
                             floor, prediction, tiny)  # fmt: skip
            elif width > 3:
                for a in range(width):
                    lines[0, a] = action + U64(a)
                revise_many(n, gathered, lines, 0, width, regret, strategy, at, n, discounts, floor, prediction, tiny)


@part
def descend(table, level, seat, strategy, average, decay, room, roots, thread, threads, gate):
    """Reach of a seat in all blocks of a round, handed on to the next; unless decay < 0 the average is kept too."""
    g0, lo, boards, pieces = pieces_of(table, level)
    reach = room.reach
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, low, high = boards_of(table, boards, i)
        group += g0
        for board in range(lo + low, lo + high):
            reaches(table, level, group, board, seat, strategy, roots, reach)
            if decay >= 0.0:
                keep_average(table, level, group, board, seat, reach, average, decay)
            if level + 1 < table.round_board.shape[0] - 1:
                hand_on(table, level, group, board, seat, reach, roots)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@part
def respond(table, level, seat, regret, strategy, others, average, decay, discounts, floor, prediction, tiny, room,
            roots, root_value, thread, threads, gate):  # fmt: skip
    """Values and new regrets of a seat in all blocks of a round; unless decay < 0 the other's average is kept too."""
    g0, lo, boards, pieces = pieces_of(table, level)
    bucketed = table.row.shape[1] > 0
    value, space, gathered, reach = room.value, room.space, room.gathered, room.reach
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        group, low, high = boards_of(table, boards, i)
        group += g0
        n = U64(table.rows[seat, level]) * lanes_of(table, group)
        if bucketed:
            for a in range(U64(table.width[seat, group])):
                for c in range(n):
                    gathered[a, c] = 0.0
        for board in range(lo + low, lo + high):
            reaches(table, level, group, board, 1 - seat, others, roots, reach)
            if decay >= 0.0:
                keep_average(table, level, group, board, 1 - seat, reach, average, decay)
            if bucketed:
                collect(table, level, group, board, seat, strategy, reach, root_value, value, space, gathered)
            else:
                regret_block(table, level, group, board, seat, regret, strategy, reach, root_value, value, space,
                             discounts, floor, prediction, tiny)  # fmt: skip
        if bucketed:
            learn(table, group, seat, n, gathered, room.lines, regret, strategy, discounts, floor, prediction, tiny)
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@part
def remember(strategy, kept, thread, threads, gate):
    """kept = strategy, some at a time."""
    pieces = (strategy.shape[0] + COPIED - 1) // COPIED
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        for s in range(U64(i * COPIED), U64(min((i + 1) * COPIED, strategy.shape[0]))):
            kept[s] = strategy[s]
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)


@kernel
def iterate(table, rule, regret, strategy, average, kept, roots, root_value, room, done, count, tiny, thread, threads,
            gate):  # fmt: skip
    """`count` iterations after `done`; the same bytes for any number of threads and however they are divided.

    regret, strategy, average: by sequence. kept: room for the strategies before an iteration, only for simultaneous
    updates. roots, root_value: by seat, and by group, class and lane; roots[of the first group] is how likely a seat
    comes to the game at all with a hand.
    """
    rounds = table.round_board.shape[0] - 1
    kind = regret.dtype
    floor = kind.type(rule.floor)
    prediction = kind.type(rule.prediction)
    small = kind.type(max(tiny, 1e-30))
    for t in range(done + 1, done + count + 1):
        discounts = (kind.type(discount(rule.alpha, t - 1)), kind.type(discount(rule.beta, t - 1)))
        if not rule.alternating:
            remember(strategy, kept, thread, threads, gate)
        for seat in range(2):
            # The average of the other: seat 0 has just been revised, seat 1 was in the iteration before.
            of = t - 1 if seat == 0 else t
            decay = decay_of(rule, of)
            if not rule.alternating or of == done:  # that one is kept already
                decay = -1.0
            others = strategy if rule.alternating else kept
            for level in range(rounds - 1):
                descend(table, level, 1 - seat, others, average, decay, room, roots[1 - seat], thread, threads, gate)
            for level in range(rounds - 1, -1, -1):
                respond(table, level, seat, regret, strategy, others, average,
                        decay if level == rounds - 1 else -1.0, discounts, floor, prediction, small, room,
                        roots[1 - seat], root_value[seat], thread, threads, gate)  # fmt: skip
        decay = decay_of(rule, t)
        for seat in range(2):
            if not rule.alternating or (seat == 1 and t == done + count):
                for level in range(rounds):
                    descend(table, level, seat, strategy, average, decay, room, roots[seat], thread, threads, gate)
