"""Public chance sampling [Johanson, Bard, Lanctot, Gibson & Bowling 2012]: CFR on one sampled board at a time, with all
hands of both seats at once.

An iteration goes down the rounds of one sequence of boards with the reach of both seats, and up again with values, as
`sweep.py` does on all boards: groups of LANES lanes, hands in order of strength on the last board. On its way up a
seat's rows learn. Regrets and averages of a seat are [actions and rows, LANES]; hands of a bucket share a row, so what
a row learns is a sum over its hands, and its strategy is worked out once for all of them.

The actions of a row lie side by side.

A row that is frozen acts as chance: its probabilities weigh what is learnt below, its own seat's too, and not what is
averaged. Regrets of frozen rows are their probabilities, which regret matching gives back, and nothing is added.

Groups of a round share nothing, so threads take them one by one, and the bytes do not depend on which takes which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import U64, kernel, part, small_part
from kibitz.core.vectors import (
    LANES,
    add,
    constant,
    divide,
    if_positive,
    load,
    maximum,
    multiply,
    prefetch,
    store,
    subtract,
)
from kibitz.poker.exact.kernels.passes import FOLD, SHOWDOWN
from kibitz.poker.whole.kernels.boards import (
    ADD,
    SET,
    Betting,
    Hands,
    begin,
    count,
    folded,
    hand_on,
    put,
    shown,
    take_back,
)

AHEAD = U64(8)  # rows


class Deciding(NamedTuple):
    """What `Betting` does not say of a round's nodes."""

    count: np.ndarray  # int32[N]  actions
    child: np.ndarray  # int32[N, most]  by action the node it leads to, counted from the group's first
    moves: np.ndarray  # bool[N]  whether rows may learn there; where nobody decides, whether the rows above may
    action: np.ndarray  # int32[N]  which of its parent's children a node is


class LearnedRows(NamedTuple):
    """What has been learnt. By seat."""

    regret: tuple[np.ndarray, np.ndarray]  # float[rows x LANES]
    average: tuple[np.ndarray, np.ndarray]


class SeenRows(NamedTuple):
    """The rows that occur on a board, of each source numbered on from 0. Hands.row has these numbers."""

    row: np.ndarray  # uint32[sources, H]
    count: np.ndarray  # int64[sources]


class Drawn(NamedTuple):
    """Boards of a round that were drawn, one for each iteration, with what occurs on them. Arrays of `Hands` and
    `SeenRows` have iterations as first axis."""

    hands: Hands
    seen: SeenRows


class SampledWorkspace(NamedTuple):
    """Working space of one thread; vectors of a node lie by its depth, or by the actions of a seat so far."""

    reach: np.ndarray  # [actions + 1, H x LANES]  of the other
    own: np.ndarray  # [actions + 1, H x LANES]  of the seat, by rows that may learn
    fixed: np.ndarray  # [actions + 1, H x LANES]  of the seat, by frozen rows
    value: np.ndarray  # [depth + 2, H x LANES]
    played: np.ndarray  # [depth + 2, most x H x LANES]  strategies of the rows that occur, by action
    worth: np.ndarray  # [depth + 2, most x H x LANES]  what actions are worth to these rows
    sums: np.ndarray  # [actions + 1, 53 x LANES]
    known: np.ndarray  # int8[actions + 1]
    so_far: np.ndarray  # [53 x LANES]
    ties: np.ndarray  # [H x LANES]


class Roots(NamedTuple):
    """Reach at the roots of a round's groups, by hand on the board before: [groups, hands, LANES]."""

    reach: np.ndarray
    own: np.ndarray
    fixed: np.ndarray


class RoundOfGame(NamedTuple):
    """What iterations need of a round of the game. In the first round `roots`, in the last `after` is empty."""

    betting: Betting
    deciding: Deciding
    roots: Roots  # reach at the roots of its groups, by group
    onto: Roots  # the same of the next round, where this one writes it
    values: np.ndarray  # float[groups, hands before, LANES]  what a seat gets
    after: np.ndarray  # the same of the next round


@part
def place(betting, deciding, first, node, seat):
    """Where the rows of a node begin, in LANES."""
    return U64(betting.sequence[seat, first + deciding.child[node, 0]])


@small_part
def bring(array, begins, number, i, rows, actions):
    """Rows lie far apart in memory: ask for one long before it is needed."""
    if i + AHEAD < rows:
        at = begins + U64(number[i + AHEAD]) * actions
        for a in range(actions):
            prefetch(array, (at + a) * LANES)


@part
def match(betting, deciding, node, first, seat, seen, regret, played):
    """The strategies of all rows that occur at a node, by regret matching: played [actions, rows that occur, LANES]."""
    actions = U64(deciding.count[node])
    source, begins = betting.source[seat, first + deciding.child[node, 0]], place(betting, deciding, first, node, seat)
    rows, number = U64(seen.count[source]), seen.row[source]
    nothing, one, even = constant(regret, 0.0), constant(regret, 1.0), constant(regret, 1.0 / actions)
    for i in range(rows):
        bring(regret, begins, number, i, rows, actions)
        row, whole = begins + U64(number[i]) * actions, nothing
        for a in range(actions):
            mine = maximum(load(regret, (row + a) * LANES), nothing)
            store(played, (a * rows + i) * LANES, mine)
            whole = add(whole, mine)
        # A division takes as long as ten products, so there is one for all actions.
        times = if_positive(whole, divide(one, whole), nothing)
        rest = if_positive(whole, nothing, even)
        for a in range(actions):
            at = (a * rows + i) * LANES
            store(played, at, add(multiply(load(played, at), times), rest))


@part
def follow(row, rows, action, played, above, here):
    """The reach behind an action."""
    first = action * rows
    for i in range(U64(row.shape[0])):
        strategy = load(played, (first + U64(row[i])) * LANES)
        store(here, i * LANES, multiply(load(above, i * LANES), strategy))


@part
def same(above, here, n):
    for i in range(n):
        store(here, i * LANES, load(above, i * LANES))


@part
def enter(betting, deciding, first, k, hands, seat, seen, frozen, space):
    """Set the reach of a node from that above it; the seat's own where it is asked for later."""
    above = first + betting.parent[first + k]
    who = betting.turn[above]
    played, depth = space.played, betting.depth[above]
    source = betting.source[who, first + k]
    row, rows = hands.row[source, 0], U64(seen.count[source])
    action, acted = U64(deciding.action[first + k]), betting.acted[who, first + k]
    if who != seat:
        follow(row, rows, action, played[depth], space.reach[acted - 1], space.reach[acted])
        space.known[acted] = 0
    elif betting.turn[first + k] < FOLD or betting.turn[first + k] > SHOWDOWN:
        n = U64(row.shape[0])
        if deciding.moves[above]:
            follow(row, rows, action, played[depth], space.own[acted - 1], space.own[acted])
            if frozen:
                same(space.fixed[acted - 1], space.fixed[acted], n)
        else:
            follow(row, rows, action, played[depth], space.fixed[acted - 1], space.fixed[acted])
            same(space.own[acted - 1], space.own[acted], n)


@part
def remember(betting, deciding, first, k, hands, seat, seen, weight, space, average):
    """Add a node's strategy to the averages of its rows, by the reach of the seat's own rows that may learn."""
    node = first + k
    actions, depth = U64(deciding.count[node]), betting.depth[node]
    source = betting.source[seat, first + deciding.child[node, 0]]
    row, rows, number = hands.row[source, 0], U64(seen.count[source]), seen.row[source]
    begins = place(betting, deciding, first, node, seat)
    own, played, sums = space.own[betting.acted[seat, node]], space.played[depth], space.worth[depth]
    nothing = constant(own, 0.0)
    for i in range(rows):
        store(sums, i * LANES, nothing)
    for i in range(U64(row.shape[0])):
        at = U64(row[i]) * LANES
        store(sums, at, add(load(sums, at), load(own, i * LANES)))
    times = constant(own, weight)
    for i in range(rows):
        bring(average, begins, number, i, rows, actions)
        mine = multiply(times, load(sums, i * LANES))
        for a in range(actions):
            at = (begins + U64(number[i]) * actions + a) * LANES
            more = multiply(mine, load(played, (a * rows + i) * LANES))
            store(average, at, add(load(average, at), more))
    for i in range(rows * actions):
        store(sums, i * LANES, nothing)


@part
def learn(betting, deciding, first, k, seat, seen, weight, space, regret):
    """Add to the regrets of a node's rows what each action is worth more than the strategy."""
    node = first + k
    actions, depth = U64(deciding.count[node]), betting.depth[node]
    source = betting.source[seat, first + deciding.child[node, 0]]
    rows, number = U64(seen.count[source]), seen.row[source]
    played, worth = space.played[depth], space.worth[depth]
    times, begins = constant(regret, weight), place(betting, deciding, first, node, seat)
    for i in range(rows):
        bring(regret, begins, number, i, rows, actions)
        whole = constant(regret, 0.0)
        for a in range(actions):
            at = (a * rows + i) * LANES
            whole = add(whole, multiply(load(played, at), load(worth, at)))
        for a in range(actions):
            at = (begins + U64(number[i]) * actions + a) * LANES
            gain = multiply(times, subtract(load(worth, (a * rows + i) * LANES), whole))
            store(regret, at, add(load(regret, at), gain))


@part
def offer(betting, deciding, first, k, hands, seat, seen, frozen, space, gained):
    """Put the value of a node into its parent's, where the seat decides: by its strategy; and tell its rows."""
    node, above = first + k, first + betting.parent[first + k]
    depth, source = betting.depth[above], betting.source[seat, node]
    row, rows = hands.row[source, 0], U64(seen.count[source])
    begins = U64(deciding.action[node]) * rows
    value, played, worth = space.value[depth], space.played[depth], space.worth[depth]
    fixed = space.fixed[betting.acted[seat, above]]
    fresh, moves = betting.first[node], deciding.moves[above]
    for i in range(U64(row.shape[0])):
        at = (begins + U64(row[i])) * LANES
        mine = load(gained, i * LANES)
        more = multiply(load(played, at), mine)
        if not fresh:
            more = add(load(value, i * LANES), more)
        store(value, i * LANES, more)
        if moves:
            if frozen:
                mine = multiply(load(fixed, i * LANES), mine)
            store(worth, at, add(load(worth, at), mine))


@part
def end(betting, group, k, hands, seat, after, space, value, how):
    """What a seat gets where betting ends, as `sweep.end`."""
    node = betting.group_node[group] + k
    acted = betting.acted[1 - seat, node]
    card, two, reach, sums = hands.card[0], hands.two[0] == 2, space.reach[acted], space.sums[acted]
    stake = betting.stake[seat, node]
    if betting.turn[node] > SHOWDOWN:
        take_back(betting, group, k, U64(card.shape[0]), after, space.ties, value, how)
        return
    if not space.known[acted]:
        count(hands.held[0], reach, sums)
        space.known[acted] = 1
    if betting.turn[node] == FOLD:
        folded(card, two, stake, reach, sums, value, how)
    else:
        shown(card, hands.last[0], two, stake, reach, sums, space.so_far, space.ties, value, how)


@part
def settle(betting, deciding, group, hands, seat, seen, frozen, table, weight, roots, after, space, above):
    """Values of a seat in a group on a board, and what its rows learn; above [hands before, LANES] is set."""
    regret, average = table.regret[seat], table.average[seat]
    first, n = betting.group_node[group], U64(hands.card.shape[1])
    begin(hands, 0, roots.reach[group], space.reach[0])
    begin(hands, 0, roots.own[group], space.own[0])
    if frozen:
        begin(hands, 0, roots.fixed[group], space.fixed[0])
    space.known[0] = 0
    leaf = space.value[space.value.shape[0] - 1]
    for k in range(betting.group_node[group + 1] - first):
        node = first + k
        if k > 0:
            enter(betting, deciding, first, k, hands, seat, seen, frozen, space)
        who = betting.turn[node]
        if who < FOLD:
            match(betting, deciding, node, first, who, seen, table.regret[who], space.played[betting.depth[node]])
            if who == seat and deciding.moves[node]:
                remember(betting, deciding, first, k, hands, seat, seen, weight, space, average)
            continue
        if k == 0:
            end(betting, group, k, hands, seat, after, space, space.value[0], SET)
            continue
        up = first + betting.parent[node]
        if betting.turn[up] == seat:
            end(betting, group, k, hands, seat, after, space, leaf, SET)
            offer(betting, deciding, first, k, hands, seat, seen, frozen, space, leaf)
        else:
            how = SET if betting.first[node] else ADD
            end(betting, group, k, hands, seat, after, space, space.value[betting.depth[up]], how)
        while betting.last[node]:  # all is known of the node above
            node = up
            if betting.turn[node] == seat and deciding.moves[node]:
                learn(betting, deciding, first, node - first, seat, seen, weight, space, regret)
            if node == first:
                break
            up = first + betting.parent[node]
            gained = space.value[betting.depth[node]]
            if betting.turn[up] == seat:
                offer(betting, deciding, first, node - first, hands, seat, seen, frozen, space, gained)
            else:
                value, how = space.value[betting.depth[up]], SET if betting.first[node] else ADD
                for i in range(n):
                    put(value, i * LANES, load(gained, i * LANES), how)
    value, times = space.value[0], hands.copies[0]
    for i in range(U64(above.shape[0])):
        for x in range(LANES):
            above[i, x] = 0.0
    for i in range(n):
        at = U64(hands.up[0, i])
        for x in range(LANES):
            above[at, x] += above.dtype.type(times) * value[i * LANES + x]


@part
def down(betting, deciding, hands, seat, seen, frozen, table, roots, onto, space, gate, thread, threads):
    """The reaches at the roots of the next round's groups, from those of this round's. frozen: whether any row is."""
    groups = betting.group_node.shape[0] - 1
    n = U64(hands.card.shape[1])
    group = claim(gate, thread, threads, -1, groups)
    while group < groups:
        first = betting.group_node[group]
        begin(hands, 0, roots.reach[group], space.reach[0])
        begin(hands, 0, roots.own[group], space.own[0])
        if frozen:
            begin(hands, 0, roots.fixed[group], space.fixed[0])
        for k in range(betting.group_node[group + 1] - first):
            if k > 0:
                enter(betting, deciding, first, k, hands, seat, seen, frozen, space)
            who = betting.turn[first + k]
            if who < FOLD:
                played = space.played[betting.depth[first + k]]
                match(betting, deciding, first + k, first, who, seen, table.regret[who], played)
            elif who > SHOWDOWN:
                his, mine = betting.acted[1 - seat, first + k], betting.acted[seat, first + k]
                hand_on(betting, group, k, n, space.reach[his], onto.reach)
                hand_on(betting, group, k, n, space.own[mine], onto.own)
                if frozen:
                    hand_on(betting, group, k, n, space.fixed[mine], onto.fixed)
        group = claim(gate, thread, threads, group, groups)
    meet(gate, threads)


@part
def up(betting, deciding, hands, seat, seen, frozen, table, weight, roots, after, space, above, gate, thread, threads):
    """What a seat gets in a round on a board, to `above` [groups, hands before, LANES]; and its rows learn.

    after: [groups of the next round, hands, LANES], what comes after exits.
    """
    groups = betting.group_node.shape[0] - 1
    group = claim(gate, thread, threads, -1, groups)
    while group < groups:
        settle(betting, deciding, group, hands, seat, seen, frozen, table, weight, roots, after, space, above[group])
        group = claim(gate, thread, threads, group, groups)
    meet(gate, threads)


@part
def on_board(drawn, k):
    """The hands on the board of an iteration, and the rows that occur there."""
    hands, seen = drawn.hands, drawn.seen
    return (
        Hands(hands.card[k], hands.last[k], hands.held[k], hands.up[k], hands.row[k], hands.copies[k], hands.two[k]),
        SeenRows(seen.row[k], seen.count[k]),
    )


@kernel
def iterate(rounds, drawn, last, done, more, begun, linear, frozen, table, space, gate, thread, threads):
    """Iterations done to done + more of those whose boards were drawn. rounds, drawn: by round, up to the last.

    Weights: iteration begun + k + 1 of the whole run counts so often, or all count once.
    """
    for k in range(done, done + more):
        weight = float(begun + k + 1) if linear else 1.0
        for seat in range(2):
            for level in range(last):
                here = rounds[level]
                hands, seen = on_board(drawn[level], k)
                down(here.betting, here.deciding, hands, seat, seen, frozen, table, here.roots, here.onto, space, gate,
                     thread, threads)  # fmt: skip
            for level in range(last, -1, -1):
                here = rounds[level]
                hands, seen = on_board(drawn[level], k)
                up(here.betting, here.deciding, hands, seat, seen, frozen, table, weight, here.roots, here.after, space,
                   here.values, gate, thread, threads)  # fmt: skip


@kernel
def gather(row, number, seen, count):
    """Number the rows that occur on each board: row [boards, sources, 1, H] and seen [boards, sources, H] are set,
    count [boards, sources].

    number: int32[rows], -1 everywhere, before and after.
    """
    for board in range(row.shape[0]):
        for source in range(row.shape[1]):
            rows = 0
            for i in range(row.shape[3]):
                mine = row[board, source, 0, i]
                if number[mine] < 0:
                    number[mine] = rows
                    seen[board, source, rows] = mine
                    rows += 1
                row[board, source, 0, i] = number[mine]
            for i in range(rows):
                number[seen[board, source, i]] = -1
            count[board, source] = rows
