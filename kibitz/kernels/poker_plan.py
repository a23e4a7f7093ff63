"""Plans, gradients and best responses over betting tree times cards: what solvers need of a form.

Sequences are numbered as in `kernels/poker.py`. The worth of a sequence counts all deals of its class of hands, so that
plan times worth, summed, is the value of the game.
"""

from __future__ import annotations

from kibitz.kernels.barrier import meet
from kibitz.kernels.jit import U64, kernel, part
from kibitz.kernels.poker import EXIT, FOLD, blocks_of, ends, hand_on, locate, reaches


@part
def rows_of(table, level, board, seat):
    """How many rows a seat has in a block: classes of its board, or buckets of the round."""
    if table.row.shape[1]:
        return U64(table.rows[seat, level])
    return U64(table.board_class[board + 1] - table.board_class[board])


@kernel
def normalise(table, seat, weights, strategy, thread, threads):
    """Weights by sequence -> probabilities; rows without weight are uniform. The two may be the same array."""
    for level in range(table.round_board.shape[0] - 1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        step = boards if table.row.shape[1] else 1
        for i in range(first, last, step):
            segment = k0 + i // boards
            board = lo + i % boards
            start, stride = locate(table, seat, segment, board, level)
            node = table.segment_node[segment]
            for k in range(node, table.segment_node[segment + 1]):
                if table.turn[k] != seat:
                    continue
                width = table.count[k]
                at = start + U64(table.action[node + table.children[k, 0]]) * stride
                for c in range(rows_of(table, level, board, seat)):
                    total = 0.0
                    for a in range(width):
                        total += weights[at + U64(a) * stride + c]
                    for a in range(width):
                        s = at + U64(a) * stride + c
                        strategy[s] = weights[s] / total if total > 0.0 else 1.0 / width


@kernel
def plan_of(table, seat, strategy, plan, roots, room, thread, threads, gate):
    """The plan that a strategy makes. Without buckets the two may be the same array."""
    rounds = table.round_board.shape[0] - 1
    reach = room.reach
    for level in range(rounds):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        for i in range(first, last):
            segment = k0 + i // boards
            board = lo + i % boards
            reaches(table, level, segment, board, seat, strategy, roots, reach)
            write_plan(table, level, segment, board, seat, reach, plan)
            if level + 1 < rounds:
                hand_on(table, segment, board, seat, reach, roots)
        meet(gate, threads)


@part
def write_plan(table, level, segment, board, seat, reach, plan):
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, segment, board, level)
    node = table.segment_node[segment]
    for k in range(1, table.segment_node[segment + 1] - node):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            if table.row.shape[1]:
                for c in range(n):
                    plan[at + U64(table.row[seat, first + c])] = reach[u, c]
            else:
                for c in range(n):
                    plan[at + c] = reach[u, c]


@part
def read_plan(table, level, segment, board, seat, plan, roots, reach):
    """The reach of a seat in a block, from its plan."""
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, segment, board, level)
    here = U64(table.segment_root[segment]) + first
    for c in range(n):
        reach[0, c] = roots[here + c]
    node = table.segment_node[segment]
    for k in range(1, table.segment_node[segment + 1] - node):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            if table.row.shape[1]:
                for c in range(n):
                    reach[u, c] = plan[at + U64(table.row[seat, first + c])]
            else:
                for c in range(n):
                    reach[u, c] = plan[at + c]


@kernel
def gradient(table, seat, plan, worth, roots, root_value, room, thread, threads, gate):
    """worth[s]: what each sequence of a seat earns where play ends after it, against the other's plan.

    With buckets `worth` must be zero before. What ends before the seat's first action is left in root_value, at the
    first segment.
    """
    rounds = table.round_board.shape[0] - 1
    reach, value, total, space = room.reach, room.value, room.total, room.space
    for level in range(rounds - 1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        for i in range(first, last):
            read_plan(table, level, k0 + i // boards, lo + i % boards, 1 - seat, plan, roots, reach)
            hand_on(table, k0 + i // boards, lo + i % boards, 1 - seat, reach, roots)
        meet(gate, threads)
    for level in range(rounds - 1, -1, -1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        for i in range(first, last):
            segment = k0 + i // boards
            board = lo + i % boards
            read_plan(table, level, segment, board, 1 - seat, plan, roots, reach)
            earn(table, level, segment, board, seat, reach, value, total, space, root_value, worth)
        meet(gate, threads)


@part
def earn(table, level, segment, board, seat, reach, value, total, space, root_value, worth):
    """The worth of a seat's sequences in a block, and in root_value of what comes before them."""
    first = U64(table.board_class[board])
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, segment, board, level)
    node = table.segment_node[segment]
    nodes = table.segment_node[segment + 1] - node
    for k in range(U64(nodes)):
        for c in range(n):
            total[k, c] = 0.0
    ends(table, segment, board, seat, reach, root_value, value, space)
    for k in range(nodes):
        if table.turn[node + k] >= FOLD:
            slot = U64(table.slot[seat, node + k])
            u = U64(k)
            for c in range(n):
                total[slot, c] += value[u, c]
    here = U64(table.segment_root[segment]) + first
    for c in range(n):
        root_value[here + c] = total[0, c]
    for k in range(1, nodes):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            if table.row.shape[1]:
                for c in range(n):
                    worth[at + U64(table.row[seat, first + c])] += table.share[first + c] * total[u, c]
            else:
                for c in range(n):
                    worth[at + c] = table.share[first + c] * total[u, c]


@kernel
def best(table, seat, row_up, worth, pure, root_best, room, thread, threads, gate):
    """Best response: what comes after is added to each sequence's worth, and the best action of each row to its parent.

    row_up: int64[rounds, buckets], the seat's bucket before, with buckets. pure: by sequence, 1 for the first best
    action and 0 for others, if it has room. root_best: by segment and row; at the first segment the answer by row.
    """
    for level in range(table.round_board.shape[0] - 2, -1, -1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        step = boards if table.row.shape[1] else 1
        for i in range(first, last, step):
            segment = k0 + i // boards
            board = lo + i % boards
            root = U64(table.segment_root[segment]) + U64(table.board_class[board])
            n = rows_of(table, level, board, seat)
            for c in range(n):
                root_best[root + c] = 0.0
            start, stride = locate(table, seat, segment, board, level)
            node = table.segment_node[segment]
            for k in range(table.segment_node[segment + 1] - node - 1, -1, -1):
                slot = table.slot[seat, node + k]
                own = start + U64(max(table.action[node + slot], 0)) * stride
                if table.turn[node + k] == EXIT:
                    there = U64(table.segment_root[table.exit[node + k]])
                    if table.row.shape[1]:
                        there += U64(table.board_class[table.round_board[level + 1]])
                        low, high = U64(0), U64(table.rows[seat, level + 1])
                    else:
                        low = U64(table.board_class[table.board_child[board]])
                        high = U64(table.board_class[table.board_child[board + 1]])
                    for c in range(low, high):
                        up = (
                            U64(row_up[level + 1, c]) if table.row.shape[1]
                            else U64(table.up[c]) - U64(table.board_class[board])
                        )  # fmt: skip
                        if slot:
                            worth[own + up] += root_best[there + c]
                        else:
                            root_best[root + up] += root_best[there + c]
                elif table.turn[node + k] == seat:
                    width = table.count[node + k]
                    at = start + U64(table.action[node + table.children[node + k, 0]]) * stride
                    for c in range(n):
                        most = worth[at + c]
                        choice = 0
                        for a in range(1, width):
                            if worth[at + U64(a) * stride + c] > most:
                                most = worth[at + U64(a) * stride + c]
                                choice = a
                        if pure.shape[0]:
                            for a in range(width):
                                pure[at + U64(a) * stride + c] = 1.0 if a == choice else 0.0
                        if slot:
                            worth[own + c] += most
                        else:
                            root_best[root + c] += most
        meet(gate, threads)


@kernel
def to_columns(table, seat, source, target, shift, thread, threads):
    """Figures by sequence -> by infoset column. In a block the actions of a node lie class by class instead of
    action by action; else the order is the same, but for `shift` (empty sequences have no column)."""
    for level in range(table.round_board.shape[0] - 1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        for i in range(first, last, boards if table.row.shape[1] else 1):
            turn_block(table, level, k0 + i // boards, lo + i % boards, seat, source, target, shift, True)


@kernel
def to_sequences(table, seat, source, target, shift, thread, threads):
    """The other way."""
    for level in range(table.round_board.shape[0] - 1):
        k0, lo, boards, first, last = blocks_of(table, level, thread, threads)
        for i in range(first, last, boards if table.row.shape[1] else 1):
            turn_block(table, level, k0 + i // boards, lo + i % boards, seat, source, target, shift, False)


@part
def turn_block(table, level, segment, board, seat, source, target, shift, columns):
    start, stride = locate(table, seat, segment, board, level)
    n = rows_of(table, level, board, seat)
    node = table.segment_node[segment]
    for k in range(node, table.segment_node[segment + 1]):
        if table.turn[k] == seat:
            width = U64(table.count[k])
            at = start + U64(table.action[node + table.children[k, 0]]) * stride
            for a in range(width):
                for c in range(n):
                    sequence = at + a * stride + c
                    column = at + c * width + a - U64(shift)
                    if columns:
                        target[column] = source[sequence]
                    else:
                        target[sequence] = source[column]
