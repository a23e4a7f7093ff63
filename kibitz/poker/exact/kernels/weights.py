"""How likely a seat comes to each node of a block, by weights: numbers of any scale in each row, as averages and
regrets are, which are its strategy when they are divided by their sum. A row without weight is uniform."""

from __future__ import annotations

from kibitz.core.jit import U64, part
from kibitz.poker.exact.kernels.passes import locate, root_of


@part
def share_two(n, weights, at, stride, reach, above, x, y, tiny):
    """Divide line `above` of reach between lines x and y, as n rows of two weights, `stride` apart, say."""
    kind = reach.dtype.type
    half = kind(0.5)
    b = at + stride
    for c in range(n):
        wa = kind(weights[at + c])
        wb = kind(weights[b + c])
        comes = reach[above, c]
        total = wa + wb
        scale = comes / total
        reach[x, c] = wa * scale if total > tiny else comes * half
        reach[y, c] = wb * scale if total > tiny else comes * half


@part
def share_three(n, weights, at, stride, reach, above, x, y, z, tiny):
    """As `share_two`, with three actions."""
    kind = reach.dtype.type
    third = kind(1.0) / kind(3.0)
    b = at + stride
    d = b + stride
    for c in range(n):
        wa = kind(weights[at + c])
        wb = kind(weights[b + c])
        wc = kind(weights[d + c])
        comes = reach[above, c]
        total = wa + wb + wc
        scale = comes / total
        reach[x, c] = wa * scale if total > tiny else comes * third
        reach[y, c] = wb * scale if total > tiny else comes * third
        reach[z, c] = wc * scale if total > tiny else comes * third


@part
def share_many(n, weights, at, stride, reach, above, children, node, width, tiny):
    """As `share_two`, with any number of actions."""
    kind = reach.dtype.type
    even = kind(1.0) / kind(width)
    for c in range(n):
        total = kind(0.0)
        for a in range(U64(width)):
            total += kind(weights[at + a * stride + c])
        for a in range(U64(width)):
            share = kind(weights[at + a * stride + c]) / total if total > tiny else even
            reach[U64(children[node, a]), c] = reach[above, c] * share


@part
def weighed_reaches(table, level, group, board, seat, weights, root, reach, tiny):
    """As `passes.reaches`, of weights. Rows whose weights add up to `tiny` or less are uniform. Without buckets."""
    start, n = locate(table, seat, group, board, level)
    here = root_of(table, group, board, level)
    for c in range(n):
        reach[0, c] = root[here + c]
    node = table.group_node[group]
    children = table.children
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] != seat:
            continue
        width = table.count[k]
        above = U64(table.slot[seat, k])
        x = U64(children[k, 0])
        at = start + U64(table.action[node + children[k, 0]]) * n
        if width == 2:
            share_two(n, weights, at, n, reach, above, x, U64(children[k, 1]), tiny)
        elif width == 3:
            share_three(n, weights, at, n, reach, above, x, U64(children[k, 1]), U64(children[k, 2]), tiny)
        else:
            share_many(n, weights, at, n, reach, above, children, k, width, tiny)
