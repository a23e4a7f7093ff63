"""One pass over a spot: down with the other's reach, up with a seat's values, and CFR where the pass goes.

Regret matching+ with discounts: regrets are never negative, a strategy is regrets over their sum. Strategies are not
kept: each pass computes those that it needs. The other's reach in a pass is its plan, so its average is kept on the
way down.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part
from kibitz.core.vectors import LANES, add, constant, divide, load, maximum, multiply, multiply_add, store, subtract
from kibitz.poker.spots.kernels.codes import read, write
from kibitz.poker.spots.kernels.ends import ends
from kibitz.poker.spots.kernels.table import EXIT, FOLD, SpotJob


@part
def play(table, node, board, before, learned, job, space):
    """The other's reach after each of its actions at a node."""
    seat = 1 - job.seat
    size = U64(table.size[seat, board])
    at = U64(table.state_base[seat, board]) + U64(table.place[node]) * size
    width, stride = U64(table.width[node]), U64(space.stride)
    reach, average = space.reach, learned.average
    own = U64(table.slot[seat, node] - before) * stride
    after = U64(table.first[node] - before) * stride
    if job.averaged:
        for k in range(U64(0), size, LANES):
            total = read(average, at + k, reach)
            for a in range(U64(1), width):
                total = add(total, read(average, at + a * size + k, reach))
            share = divide(load(reach, own + k), total)
            for a in range(width):
                store(reach, after + a * stride + k, multiply(share, read(average, at + a * size + k, reach)))
        return
    regret = learned.regret
    if not job.keep:
        for k in range(U64(0), size, LANES):
            total = read(regret, at + k, reach)
            for a in range(U64(1), width):
                total = add(total, read(regret, at + a * size + k, reach))
            share = divide(load(reach, own + k), total)
            for a in range(width):
                store(reach, after + a * stride + k, multiply(share, read(regret, at + a * size + k, reach)))
        return
    decay = constant(reach, job.decay)
    for k in range(U64(0), size, LANES):
        total = read(regret, at + k, reach)
        for a in range(U64(1), width):
            total = add(total, read(regret, at + a * size + k, reach))
        share = divide(load(reach, own + k), total)
        for a in range(width):
            s = at + a * size + k
            plan = multiply(share, read(regret, s, reach))
            store(reach, after + a * stride + k, plan)
            write(average, s, multiply_add(read(average, s, reach), decay, plan))


@part
def decide(table, node, board, before, learned, job, space):
    """A seat's values at a node of its own, from those of its actions; and its new regrets."""
    size = U64(table.size[job.seat, board])
    at = U64(table.state_base[job.seat, board]) + U64(table.place[node]) * size
    width, stride = U64(table.width[node]), U64(space.stride)
    value, regret, average = space.value, learned.regret, learned.average
    own, after = U64(node - before) * stride, U64(table.first[node] - before) * stride
    if job.best:
        for k in range(U64(0), size, LANES):
            most = load(value, after + k)
            for a in range(U64(1), width):
                most = maximum(most, load(value, after + a * stride + k))
            store(value, own + k, most)
        return
    if job.averaged:
        for k in range(U64(0), size, LANES):
            number = read(average, at + k, value)
            total, mean = number, multiply(number, load(value, after + k))
            for a in range(U64(1), width):
                number = read(average, at + a * size + k, value)
                total = add(total, number)
                mean = multiply_add(number, load(value, after + a * stride + k), mean)
            store(value, own + k, divide(mean, total))
        return
    grow = constant(value, job.grow)
    for k in range(U64(0), size, LANES):
        number = read(regret, at + k, value)
        total, mean = number, multiply(number, load(value, after + k))
        for a in range(U64(1), width):
            number = read(regret, at + a * size + k, value)
            total = add(total, number)
            mean = multiply_add(number, load(value, after + a * stride + k), mean)
        mean = divide(mean, total)
        store(value, own + k, mean)
        if job.learn:
            for a in range(width):
                s = at + a * size + k
                gain = subtract(load(value, after + a * stride + k), mean)
                write(regret, s, multiply_add(read(regret, s, value), grow, gain))


@part
def decide_near(table, node, board, before, learned, job, space):
    """The same as `decide`, where a seat learns and pays for its distance from a target: w / 2 times the sum of squared
    differences s - t. The regrets are those of the gradient, v - w (s - t)."""
    size = U64(table.size[job.seat, board])
    place = U64(table.place[node]) * size
    at, width, stride = U64(table.state_base[job.seat, board]) + place, U64(table.width[node]), U64(space.stride)
    value, regret, rows = space.value, learned.regret, learned.target.rows
    aim = U64(learned.target.base[job.seat, board]) + U64(learned.target.place[node]) * size
    own, after = U64(node - before) * stride, U64(table.first[node] - before) * stride
    grow, pull, half = constant(value, job.grow), constant(value, job.pull), constant(value, 0.5)
    for k in range(U64(0), size, LANES):
        weight = multiply(pull, load(rows, aim + width * size + k))
        total = read(regret, at + k, value)
        for a in range(U64(1), width):
            total = add(total, read(regret, at + a * size + k, value))
        mean, slope, apart = constant(value, 0.0), constant(value, 0.0), constant(value, 0.0)
        for a in range(width):
            share = divide(read(regret, at + a * size + k, value), total)
            off = subtract(share, load(rows, aim + a * size + k))
            mean = multiply_add(share, load(value, after + a * stride + k), mean)
            slope = multiply_add(share, off, slope)
            apart = multiply_add(off, off, apart)
        store(value, own + k, subtract(mean, multiply(multiply(half, weight), apart)))
        for a in range(width):
            s = at + a * size + k
            share = divide(read(regret, s, value), total)
            off = subtract(subtract(share, load(rows, aim + a * size + k)), slope)
            gain = subtract(subtract(load(value, after + a * stride + k), mean), multiply(weight, off))
            write(regret, s, multiply_add(read(regret, s, value), grow, gain))


@part
def add_apart(table, node, board, before, target, job, space):
    """The other's distance from the target at a node, from its reach before and after its actions."""
    seat = 1 - job.seat
    size = U64(table.size[seat, board])
    at = U64(target.base[seat, board]) + U64(target.place[node]) * size
    width, stride = U64(table.width[node]), U64(space.stride)
    own, after = U64(table.slot[seat, node] - before) * stride, U64(table.first[node] - before) * stride
    total = 0.0
    for h in range(U64(table.count[seat, board])):
        here = float(space.reach[own + h])
        if here > 0.0:
            apart = 0.0
            for a in range(width):
                off = float(space.reach[after + a * stride + h]) / here - float(target.rows[at + a * size + h])
                apart += off * off
            total += 0.5 * here * apart * float(target.rows[at + width * size + h])
    target.apart[board] += total


@part
def play_locked(table, node, board, before, locks, job, space):
    """The other's reach after each of its actions, where hands are locked."""
    seat = 1 - job.seat
    size = U64(table.size[seat, board])
    at = U64(locks.base[seat, board]) + U64(locks.place[node]) * size
    width, stride = U64(table.width[node]), U64(space.stride)
    reach, rows = space.reach, locks.rows
    own = U64(table.slot[seat, node] - before) * stride
    after = U64(table.first[node] - before) * stride
    for k in range(U64(0), size, LANES):
        here, free = load(reach, own + k), load(rows, at + width * size + k)
        for a in range(width):
            locked = multiply(here, load(rows, at + a * size + k))
            store(reach, after + a * stride + k, multiply_add(free, load(reach, after + a * stride + k), locked))


@part
def decide_locked(table, node, board, before, locks, job, space):
    """A seat's values at a node of its own, where hands are locked. Regrets of those hands are nothing to anybody."""
    size = U64(table.size[job.seat, board])
    at = U64(locks.base[job.seat, board]) + U64(locks.place[node]) * size
    width, stride = U64(table.width[node]), U64(space.stride)
    value, rows = space.value, locks.rows
    own, after = U64(node - before) * stride, U64(table.first[node] - before) * stride
    for k in range(U64(0), size, LANES):
        mean = multiply(load(rows, at + width * size + k), load(value, own + k))
        for a in range(width):
            mean = multiply_add(load(rows, at + a * size + k), load(value, after + a * stride + k), mean)
        store(value, own + k, mean)


@part
def add_up(table, node, board, before, job, space):
    """A seat's values at a node of the other, whose reach is in the values of its actions."""
    width, stride = U64(table.width[node]), U64(space.stride)
    own, after = U64(node - before) * stride, U64(table.first[node] - before) * stride
    value = space.value
    for k in range(U64(0), U64(table.size[job.seat, board]), LANES):
        total = load(value, after + k)
        for a in range(U64(1), width):
            total = add(total, load(value, after + a * stride + k))
        store(value, own + k, total)


@part
def down(table, chunk, board, learned, job, space):
    """The other's reach in all nodes of a chunk, from that at its entries."""
    before, stop = table.entry_node[table.chunk_entry[chunk]], table.entry_node[table.chunk_entry[chunk + 1]]
    for node in range(before, stop):
        if table.turn[node] == 1 - job.seat:
            play(table, node, board, before, learned, job, space)
            if learned.locks.place[node] >= 0:
                play_locked(table, node, board, before, learned.locks, job, space)
            if job.apart and learned.target.place[node] >= 0:
                add_apart(table, node, board, before, learned.target, job, space)


@part
def upward(table, chunk, board, learned, job, space):
    """The seat's values in all nodes of a chunk, from those of its ends."""
    before, stop = table.entry_node[table.chunk_entry[chunk]], table.entry_node[table.chunk_entry[chunk + 1]]
    for node in range(stop - 1, before - 1, -1):
        if table.turn[node] == job.seat:
            if job.learn and learned.target.place[node] >= 0:
                decide_near(table, node, board, before, learned, job, space)
            else:
                decide(table, node, board, before, learned, job, space)
            if learned.locks.place[node] >= 0:
                decide_locked(table, node, board, before, learned.locks, job, space)
        elif table.turn[node] < FOLD:
            add_up(table, node, board, before, job, space)


@part
def enter(table, entry, board, before, above, above_before, job, space):
    """The other's reach at an entry, from that at the exit of the board above."""
    seat = 1 - job.seat
    first, count = U64(table.hand_first[seat, board]), U64(table.count[seat, board])
    source = U64(table.slot[seat, table.entry_exit[entry]] - above_before) * U64(above.stride)
    target = U64(table.entry_node[entry] - before) * U64(space.stride)
    reach, reach_above, up = space.reach, above.reach, table.up
    for h in range(count):
        reach[target + h] = reach_above[source + U64(up[first + h])]
    for h in range(count, U64(table.size[seat, board])):
        reach[target + h] = 0.0


@part
def last_board(table, level, board, above, learned, job, space, lanes, out):
    """A board of the last level. out: the seat's values at the entries, vector after vector; stride as in `space`."""
    above_before = table.entry_node[table.level_entry[level - 1]]
    size, stride = U64(table.size[job.seat, board]), U64(space.stride)
    value = space.value
    for chunk in range(table.level_chunk[level], table.level_chunk[level + 1]):
        low, high = table.chunk_entry[chunk], table.chunk_entry[chunk + 1]
        before = table.entry_node[low]
        for entry in range(low, high):
            enter(table, entry, board, before, above, above_before, job, space)
        down(table, chunk, board, learned, job, space)
        ends(table, chunk, board, job.seat, space, lanes)
        upward(table, chunk, board, learned, job, space)
        for entry in range(low, high):
            own = U64(table.entry_node[entry] - before) * stride
            target = U64(entry - table.level_entry[level]) * stride
            for k in range(U64(0), size, LANES):
                store(out, target + k, load(value, own + k))


@part
def take(table, level, board, seat, source, begin, stride, space):
    """Add what a board is worth at its entries (source from `begin` on) to the exits of the board above."""
    before = table.entry_node[table.level_entry[level - 1]]
    first, count = U64(table.hand_first[seat, board]), U64(table.count[seat, board])
    value, up = space.value, table.up
    weight = value.dtype.type(table.weight[board])
    for entry in range(table.level_entry[level], table.level_entry[level + 1]):
        own = U64(table.entry_exit[entry] - before) * U64(space.stride)
        at = U64(begin) + U64(entry - table.level_entry[level]) * U64(stride)
        for h in range(count):
            value[own + U64(up[first + h])] += weight * source[at + h]


@part
def open_exits(table, level, board, seat, space):
    """Exits of a board are worth nothing yet."""
    chunk = table.level_chunk[level]
    before, stop = table.entry_node[table.chunk_entry[chunk]], table.entry_node[table.chunk_entry[chunk + 1]]
    none = constant(space.value, 0.0)
    for node in range(before, stop):
        if table.turn[node] == EXIT:
            own = U64(node - before) * U64(space.stride)
            for k in range(U64(0), U64(table.size[seat, board]), LANES):
                store(space.value, own + k, none)


@part
def share_alike(table, level, board, seat, space, lanes):
    """Exits of a board: hands that differ by names of suits alone have their mean. For boards that stand for several
    were counted in place of those."""
    if not table.merged[board]:
        return
    chunk = table.level_chunk[level]
    before, stop = table.entry_node[table.chunk_entry[chunk]], table.entry_node[table.chunk_entry[chunk + 1]]
    first, count = U64(table.hand_first[seat, board]), U64(table.count[seat, board])
    value, sums, alike = space.value, lanes.fold, table.alike
    for node in range(before, stop):
        if table.turn[node] == EXIT:
            own = U64(node - before) * U64(space.stride)
            for h in range(count):
                sums[h + h], sums[h + h + U64(1)] = 0.0, 0.0
            for h in range(count):
                to = U64(alike[first + h])
                sums[to + to] += value[own + h]
                sums[to + to + U64(1)] += 1.0
            for h in range(count):
                to = U64(alike[first + h])
                value[own + h] = sums[to + to] / sums[to + to + U64(1)]


@part
def middle_board(table, level, board, above, learned, job, crew, out):
    """A board that is neither the first nor of the last level."""
    space, below, lanes, inner = crew.space, crew.below, crew.lanes, crew.inner
    above_before = table.entry_node[table.level_entry[level - 1]]
    chunk = table.level_chunk[level]
    before = table.entry_node[table.level_entry[level]]
    for entry in range(table.level_entry[level], table.level_entry[level + 1]):
        enter(table, entry, board, before, above, above_before, job, space)
    down(table, chunk, board, learned, job, space)
    open_exits(table, level, board, job.seat, space)
    for child in range(table.board_child[board], table.board_child[board + 1]):
        last_board(table, level + 1, child, space, learned, job, below, lanes, inner)
        take(table, level + 1, child, job.seat, inner, 0, below.stride, space)
    share_alike(table, level, board, job.seat, space, lanes)
    ends(table, chunk, board, job.seat, space, lanes)
    upward(table, chunk, board, learned, job, space)
    for entry in range(table.level_entry[level], table.level_entry[level + 1]):
        own = U64(table.entry_node[entry] - before) * U64(space.stride)
        target = U64(entry - table.level_entry[level]) * U64(space.stride)
        for k in range(U64(0), U64(table.size[job.seat, board]), LANES):
            store(out, target + k, load(space.value, own + k))


@part
def start(table, ranges, job, space):
    """The other's range, as its reach at the root."""
    seat = 1 - job.seat
    for k in range(U64(0), U64(table.size[seat, 0]), LANES):
        store(space.reach, k, load(ranges, U64(seat) * U64(space.stride) + k))


@part
def walk(table, ranges, learned, job, crew):
    """One pass of a seat over all of the spot; its values at the root are then in row 0 of the first space.

    Boards below the first are what threads claim. Each leaves its values in a place of its own, and these are added in
    one order: the bytes do not depend on threads.
    """
    levels = table.level_board.shape[0] - 1
    first, space, below, lanes = crew.first, crew.space, crew.below, crew.lanes
    thread, threads, gate = crew.thread, crew.threads, crew.gate
    if thread == 0:
        start(table, ranges, job, first)
    if levels == 1:
        if thread == 0:
            for chunk in range(table.level_chunk[1]):
                down(table, chunk, 0, learned, job, first)
                ends(table, chunk, 0, job.seat, first, lanes)
                upward(table, chunk, 0, learned, job, first)
        meet(gate, threads)
        return
    if thread == 0:
        down(table, 0, 0, learned, job, first)
        open_exits(table, 0, 0, job.seat, first)
    meet(gate, threads)
    pieces = table.level_board[2] - 1
    i = claim(gate, thread, threads, -1, pieces)
    while i < pieces:
        if levels == 2:
            last_board(table, 1, 1 + i, first, learned, job, below, lanes, crew.out[i])
        else:
            middle_board(table, 1, 1 + i, first, learned, job, crew, crew.out[i])
        i = claim(gate, thread, threads, i, pieces)
    meet(gate, threads)
    if thread == 0:
        stride = below.stride if levels == 2 else space.stride
        for child in range(pieces):
            take(table, 1, 1 + child, job.seat, crew.out[child], 0, stride, first)
        share_alike(table, 0, 0, job.seat, first, lanes)
        ends(table, 0, 0, job.seat, first, lanes)
        upward(table, 0, 0, learned, job, first)
    meet(gate, threads)


@part
def learn(table, ranges, learned, task, crew):
    """So many iterations after those that are done."""
    for t in range(task.done + 1, task.done + task.count + 1):
        power = float(t - 1) ** task.alpha
        grow = power / (power + 1.0)
        for seat in range(2):
            plans = t - 1 if seat == 0 else t  # of the other, which seat 1 sees revised
            decay = ((plans - 1.0) / plans) ** task.gamma if plans > 0 else 0.0
            job = SpotJob(seat, True, plans > 0, False, False, grow, decay, task.pull[seat], False)
            walk(table, ranges, learned, job, crew)


@part
def evaluate_on(table, ranges, learned, board, above, job, crew):
    """Values of a seat at all entries of one board that is not the first; by one thread. above: the board above, for a
    board of the third level; else -1. They are in `inner` then, else in the first row of `out`."""
    start(table, ranges, job, crew.first)
    down(table, 0, 0, learned, job, crew.first)
    if above >= 0:
        before, first_before = table.entry_node[table.level_entry[1]], table.entry_node[0]
        for entry in range(table.level_entry[1], table.level_entry[2]):
            enter(table, entry, above, before, crew.first, first_before, job, crew.space)
        down(table, table.level_chunk[1], above, learned, job, crew.space)
        last_board(table, 2, board, crew.space, learned, job, crew.below, crew.lanes, crew.inner)
    elif table.level_board.shape[0] == 3:
        last_board(table, 1, board, crew.first, learned, job, crew.below, crew.lanes, crew.out[0])
    else:
        middle_board(table, 1, board, crew.first, learned, job, crew, crew.out[0])


@kernel
def run(table, ranges, learned, task, crew):
    """Iterations, or the values of a seat where both play their averages. One entry, since each would compile all of
    the above again."""
    if task.count:
        learn(table, ranges, learned, task, crew)
        return
    job = SpotJob(task.seat, False, False, True, task.best, 0.0, 0.0, 0.0, task.apart)
    if task.board:
        evaluate_on(table, ranges, learned, task.board, task.above, job, crew)
    else:  # values are in row 0 of the first space
        walk(table, ranges, learned, job, crew)
