"""Plans, gradients and best responses over betting tree times cards: what solvers need of a form.

Sequences are numbered as in `poker/exact/kernels/passes.py`. The worth of a sequence counts all deals of its class of
hands, so that plan times worth, summed, is the value of the game.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.poker.exact.kernels.ends import ends
from kibitz.poker.exact.kernels.passes import (
    EXIT,
    FOLD,
    boards_of,
    hand_on,
    lanes_of,
    locate,
    pieces_of,
    reaches,
    root_of,
)


@kernel
def normalise(table, seat, weights, strategy, workspace):
    """Weights by sequence -> probabilities; rows without weight are uniform. The two may be the same array."""
    for level in range(table.round_board.shape[0] - 1):
        pieces = pieces_of(table, level)
        i = claim(workspace.gate, workspace.thread, workspace.threads, -1, pieces)
        while i < pieces:
            group, board, _ = boards_of(table, level, i)
            normalise_block(table, level, group, board, seat, weights, strategy)
            i = claim(workspace.gate, workspace.thread, workspace.threads, i, pieces)
        meet(workspace.gate, workspace.threads)


@part
def normalise_block(table, level, group, board, seat, weights, strategy):
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] != seat:
            continue
        width = table.count[k]
        at = start + U64(table.action[node + table.children[k, 0]]) * stride
        for c in range(stride):
            total = 0.0
            for a in range(width):
                total += weights[at + U64(a) * stride + c]
            for a in range(width):
                s = at + U64(a) * stride + c
                strategy[s] = weights[s] / total if total > 0.0 else 1.0 / width


@kernel
def plan_of(table, seat, strategy, plan, roots, workspace):
    """The plan that a strategy makes. Without buckets the two may be the same array."""
    rounds = table.round_board.shape[0] - 1
    reach = workspace.reach
    for level in range(rounds):
        pieces = pieces_of(table, level)
        i = claim(workspace.gate, workspace.thread, workspace.threads, -1, pieces)
        while i < pieces:
            group, low, high = boards_of(table, level, i)
            for board in range(low, high):
                reaches(table, level, group, board, seat, strategy, roots, reach)
                write_plan(table, level, group, board, seat, reach, plan)
                if level + 1 < rounds:
                    hand_on(table, level, group, board, seat, reach, roots)
            i = claim(workspace.gate, workspace.thread, workspace.threads, i, pieces)
        meet(workspace.gate, workspace.threads)


@part
def write_plan(table, level, group, board, seat, reach, plan):
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    for k in range(1, table.group_node[group + 1] - node):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            if table.row.shape[1]:
                for c in range(n):
                    row = at + U64(table.row[seat, first + c]) * lanes
                    for x in range(lanes):
                        plan[row + x] = reach[u, c * lanes + x]
            else:
                for c in range(n * lanes):
                    plan[at + c] = reach[u, c]


@part
def read_plan(table, level, group, board, seat, plan, roots, reach):
    """The reach of a seat in a block, from its plan."""
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    here = root_of(table, group, board, level)
    for c in range(n * lanes):
        reach[0, c] = roots[here + c]
    node = table.group_node[group]
    for k in range(1, table.group_node[group + 1] - node):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            if table.row.shape[1]:
                for c in range(n):
                    row = at + U64(table.row[seat, first + c]) * lanes
                    for x in range(lanes):
                        reach[u, c * lanes + x] = plan[row + x]
            else:
                for c in range(n * lanes):
                    reach[u, c] = plan[at + c]


@kernel
def gradient(table, seat, plan, worth, roots, root_value, workspace):
    """worth[s]: what each sequence of a seat earns where play ends after it, against the other's plan.

    With buckets `worth` must be zero before. What ends before the seat's first action is left in root_value, at the
    first group.
    """
    rounds = table.round_board.shape[0] - 1
    reach = workspace.reach
    for step in range(2 * rounds - 1):  # down with the other's reach, up with values
        level = min(step, 2 * rounds - 2 - step)
        pieces = pieces_of(table, level)
        i = claim(workspace.gate, workspace.thread, workspace.threads, -1, pieces)
        while i < pieces:
            group, low, high = boards_of(table, level, i)
            for board in range(low, high):
                read_plan(table, level, group, board, 1 - seat, plan, roots, reach)
                if step < rounds - 1:
                    hand_on(table, level, group, board, 1 - seat, reach, roots)
                else:
                    earn(table, level, group, board, seat, root_value, worth, workspace)
            i = claim(workspace.gate, workspace.thread, workspace.threads, i, pieces)
        meet(workspace.gate, workspace.threads)


@part
def earn(table, level, group, board, seat, root_value, worth, workspace):
    """The worth of a seat's sequences in a block, and in root_value of what comes before them."""
    value, total = workspace.value, workspace.total
    first = U64(table.board_class[board])
    lanes = lanes_of(table, group)
    n = U64(table.board_class[board + 1]) - first
    start, stride = locate(table, seat, group, board, level)
    node = table.group_node[group]
    nodes = table.group_node[group + 1] - node
    for k in range(U64(nodes)):
        for c in range(n * lanes):
            total[k, c] = 0.0
    ends(table, level, group, board, seat, workspace.reach, root_value, value, workspace.space)
    for k in range(nodes):
        if table.turn[node + k] >= FOLD:
            slot = U64(table.slot[seat, node + k])
            u = U64(k)
            for c in range(n * lanes):
                total[slot, c] += value[u, c]
    here = root_of(table, group, board, level)
    for c in range(n * lanes):
        root_value[here + c] = total[0, c]
    for k in range(1, nodes):
        if table.slot[seat, node + k] == k:
            at = start + U64(table.action[node + k]) * stride
            u = U64(k)
            for c in range(n):
                share = table.share[first + c]
                if table.row.shape[1]:
                    row = at + U64(table.row[seat, first + c]) * lanes
                    for x in range(lanes):
                        worth[row + x] += share * total[u, c * lanes + x]
                else:
                    for x in range(c * lanes, (c + U64(1)) * lanes):
                        worth[at + x] = share * total[u, x]


@kernel
def best(table, seat, row_up, worth, pure, root_best, workspace):
    """Best response: what comes after is added to each sequence's worth, and the best action of each row to its parent.

    row_up: int64[rounds, buckets], the seat's bucket before, with buckets. pure: by sequence, 1 for the first best
    action and 0 for others, if it has room. root_best: by group, row and lane; at the first group the answer by row.
    """
    for level in range(table.round_board.shape[0] - 2, -1, -1):
        pieces = pieces_of(table, level)
        i = claim(workspace.gate, workspace.thread, workspace.threads, -1, pieces)
        while i < pieces:
            group, board, _ = boards_of(table, level, i)
            best_block(table, level, group, board, seat, row_up, worth, pure, root_best)
            i = claim(workspace.gate, workspace.thread, workspace.threads, i, pieces)
        meet(workspace.gate, workspace.threads)


@part
def best_block(table, level, group, board, seat, row_up, worth, pure, root_best):
    lanes = lanes_of(table, group)
    root = root_of(table, group, board, level)
    start, stride = locate(table, seat, group, board, level)
    for c in range(stride):
        root_best[root + c] = 0.0
    node = table.group_node[group]
    for k in range(table.group_node[group + 1] - node - 1, -1, -1):
        slot = table.slot[seat, node + k]
        own = start + U64(max(table.action[node + slot], 0)) * stride
        if table.turn[node + k] == EXIT:
            for link in range(table.group_link[group], table.group_link[group + 1]):
                if table.link_node[link] != k:
                    continue
                there = lanes_of(table, table.link_group[link])
                lane = U64(table.link_lane[link])
                if table.row.shape[1]:
                    low, high = U64(0), U64(table.rows[seat, level + 1])
                    at = root_of(table, table.link_group[link], table.round_board[level + 1], level + 1)
                else:
                    low = U64(table.board_class[table.board_child[board]])
                    high = U64(table.board_class[table.board_child[board + 1]])
                    at = root_of(table, table.link_group[link], table.board_child[board], level + 1)
                at += U64(table.link_first[link])
                for c in range(low, high):
                    up = (
                        U64(row_up[level + 1, c]) if table.row.shape[1]
                        else U64(table.up[c]) - U64(table.board_class[board])
                    ) * lanes + lane  # fmt: skip
                    for x in range(U64(table.link_count[link])):
                        if slot:
                            worth[own + up + x] += root_best[at + x]
                        else:
                            root_best[root + up + x] += root_best[at + x]
                    at += there
        elif table.turn[node + k] == seat:
            width = table.count[node + k]
            at = start + U64(table.action[node + table.children[node + k, 0]]) * stride
            for c in range(stride):
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


@kernel
def turn_all(table, seat, source, target, columns, workspace):
    """Figures by sequence -> by infoset column (columns), or the other way. Columns go segment by segment, board by
    board, node by node, class by class and then action by action."""
    for level in range(table.round_board.shape[0] - 1):
        pieces = pieces_of(table, level)
        i = claim(workspace.gate, workspace.thread, workspace.threads, -1, pieces)
        while i < pieces:
            group, board, _ = boards_of(table, level, i)
            turn_block(table, level, group, board, seat, source, target, columns)
            i = claim(workspace.gate, workspace.thread, workspace.threads, i, pieces)
        meet(workspace.gate, workspace.threads)


@part
def turn_block(table, level, group, board, seat, source, target, columns):
    start, stride = locate(table, seat, group, board, level)
    lanes = lanes_of(table, group)
    before = start - U64(table.base[seat, group])
    node = table.group_node[group]
    for k in range(node, table.group_node[group + 1]):
        if table.turn[k] == seat:
            width = U64(table.count[k])
            action = U64(table.action[node + table.children[k, 0]])
            for x in range(lanes):
                # A segment's columns of the block, and of the node in it.
                first = U64(table.lane_column[seat, table.group_lane[group] + x]) + (before + action * stride) // lanes
                for a in range(width):
                    for c in range(stride // lanes):
                        sequence = start + (action + a) * stride + c * lanes + x
                        column = first + c * width + a
                        if columns:
                            target[column] = source[sequence]
                        else:
                            target[sequence] = source[column]
