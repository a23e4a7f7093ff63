"""What each hand wins against a strategy, at most or by a strategy of its own: how NashConv is evaluated.

One pass down with the other's reach and one up with values, as an iteration of CFR has, but nothing by sequence is
written. So it takes less time than an iteration, and no memory. Strategies are given as weights, of any scale in each
row, as averages are kept; rows without weight are uniform.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.poker.exact.kernels.cfr import add_up
from kibitz.poker.exact.kernels.ends import ends
from kibitz.poker.exact.kernels.passes import FOLD, boards_of, hand_on, locate, pieces_of, root_of


@kernel
def look(table, seat, weights, mean, roots, root_value, workspace):
    """root_value: what each hand of a seat wins from the root of each block on, against the other's weights.

    mean: by the seat's own weights; else at most. roots: the other's reach. Without buckets.
    """
    rounds = table.round_board.shape[0] - 1
    thread, threads, gate = workspace.thread, workspace.threads, workspace.gate
    reach, value, space = workspace.reach, workspace.value, workspace.space
    for step in range(2 * rounds - 1):  # down with the other's reach, up with values
        level = min(step, 2 * rounds - 2 - step)
        pieces = pieces_of(table, level)
        i = claim(gate, thread, threads, -1, pieces)
        while i < pieces:
            group, board, _ = boards_of(table, level, i)
            weighed_reaches(table, level, group, board, 1 - seat, weights, roots, reach, space)
            if step < rounds - 1:
                hand_on(table, level, group, board, 1 - seat, reach, roots)
            else:
                look_up(table, level, (group, board), seat, weights, mean, reach, root_value, value, space)
            i = claim(gate, thread, threads, i, pieces)
        meet(gate, threads)


@part
def add_weights(n, weights, at, stride, width, total):
    """total[:n] = sum of the weights of a node's actions."""
    kind = total.dtype.type
    for c in range(n):
        total[c] = kind(weights[at + c])
    for a in range(U64(1), width):
        for c in range(n):
            total[c] += kind(weights[at + a * stride + c])


@part
def weighed_reaches(table, level, group, board, seat, weights, root, reach, space):
    """As `passes.reaches`, of weights. Without buckets."""
    start, n = locate(table, seat, group, board, level)
    here = root_of(table, group, board, level)
    for c in range(n):
        reach[0, c] = root[here + c]
    node = table.group_node[group]
    children = table.children
    kind = reach.dtype.type
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] != seat:
            continue
        width, above = U64(table.count[k]), U64(table.slot[seat, k])
        at = start + U64(table.action[node + children[k, 0]]) * n
        add_weights(n, weights, at, n, width, space)
        even = kind(1.0) / kind(width)
        for c in range(n):
            space[c] = reach[above, c] / space[c] if space[c] > kind(0.0) else kind(-1.0)
        for a in range(width):
            line = U64(children[k, a])
            for c in range(n):
                share = kind(weights[at + a * n + c]) * space[c]
                reach[line, c] = share if space[c] >= kind(0.0) else reach[above, c] * even


@part
def look_up(table, level, block, seat, weights, mean, reach, root_value, value, space):
    """Values of a block (group, board), from its end to its root."""
    group, board = block
    start, n = locate(table, seat, group, board, level)
    node = table.group_node[group]
    kind = value.dtype.type
    ends(table, level, group, board, seat, reach, root_value, value, space)
    for k in range(table.group_node[group + 1] - node - 1, -1, -1):
        if table.turn[node + k] >= FOLD:
            continue
        width = table.count[node + k]
        u = U64(k)
        if table.turn[node + k] != seat:
            add_up(n, value, u, table.children, node + k, width)
            continue
        if mean:
            at = start + U64(table.action[node + table.children[node + k, 0]]) * n
            add_weights(n, weights, at, n, U64(width), space)
            even = kind(1.0) / kind(width)
            for c in range(n):
                space[c] = kind(1.0) / space[c] if space[c] > kind(0.0) else kind(0.0)
                value[u, c] = 0.0
            for a in range(U64(width)):
                child = U64(table.children[node + k, a])
                for c in range(n):
                    share = kind(weights[at + a * n + c]) * space[c] if space[c] > kind(0.0) else even
                    value[u, c] += share * value[child, c]
        else:
            child = U64(table.children[node + k, 0])
            for c in range(n):
                value[u, c] = value[child, c]
            for a in range(1, width):
                child = U64(table.children[node + k, a])
                for c in range(n):
                    value[u, c] = max(value[u, c], value[child, c])
    here = root_of(table, group, board, level)
    for c in range(n):
        root_value[here + c] = value[U64(0), c]
