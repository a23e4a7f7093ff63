"""CFR+ on the last tricks of Toepen, for all hands of both seats at once.

The public tree (`toepen/kernels/endgame_tree.py`) is walked once for each seat and iteration, and each step works on
*ranges*: vectors with one entry for each hand that a seat may hold. A pass for seat p carries the other seat's reach
(range times strategy) down and p's counterfactual values up; sums over the hands that are disjoint from mine come
from inclusion and exclusion. What happens at a node is here, the last trick is in `toepen/kernels/endgame_last.py`.
"""

from __future__ import annotations

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import ONE, U64, kernel, part
from kibitz.toepen.kernels import endgame_tree as fields
from kibitz.toepen.kernels.endgame_last import decide, flow, measure_last, update_last, vectors
from kibitz.toepen.kernels.endgame_tree import AVERAGE, NORMALISE, RESPOND, TEMPORARIES, UPDATE


@part
def disjoint(x, reach, j, k, deck, out, sums):
    """x[out + h] = reach over the hands of space j that share no card with hand h of space k; sums: a workspace."""
    by_card, by_pair = sums, sums + U64(deck.lanes)
    total = 0.0
    for c in range(U64(deck.lanes) + (U64(deck.size[2]) if j == 3 else U64(0))):
        x[by_card + c] = 0.0
    at = U64(deck.wide[j])
    for g in range(U64(deck.size[j])):
        r = x[reach + g]
        total += r
        for _ in range(j):
            x[by_card + U64(deck.cards[at])] += r
            if j == 3:
                x[by_pair + U64(deck.drop[at])] += r
            at += ONE
    if j == 2:
        by_pair = reach
    at = U64(deck.wide[k])
    for h in range(U64(deck.size[k])):
        r = total
        for _ in range(k):
            r -= x[by_card + U64(deck.cards[at])]
            if j >= 2 and k == 3:
                r += x[by_pair + U64(deck.drop[at])]
            at += ONE
        if j >= 2 and k == 2:
            r += x[by_pair + h]
        elif j == 3 and k == 3:
            r -= x[reach + h]
        x[out + h] = r


@part
def hand_down(reach, node, path, other, weight, deck, tree, upper):
    """The other seat plays a card: its reach goes to the children, a vector for each card."""
    k = node[fields.CARDS]
    n, at, start = U64(deck.size[k]), U64(deck.wide[k]), U64(deck.start[k])
    kids = U64(node[fields.KIDS0 + path])
    play = U64(node[fields.PLAY0 + path])
    x, strategy, average = upper.x, upper.strategy, upper.average
    suit = node[fields.LED] & 3 if node[fields.LED] >= 0 else 4
    played = node[fields.PLAYED]
    less = U64(deck.size[k - 1])
    for lane in range(U64(deck.lanes)):
        kid = tree.kids[kids + lane]
        if kid >= 0:
            for i in range(less):
                x[U64(kid) + i] = 0.0
    for h in range(n):
        hand = deck.mask[start + h]
        legal = deck.legal[start + h, suit]
        r = x[reach + h]
        if hand & played == 0 and r != 0.0:
            if legal & (legal - 1) == 0:
                for i in range(U64(k)):
                    if legal >> i & 1:
                        x[U64(tree.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i])] = r
            else:
                if other >= NORMALISE:
                    total = 0.0
                    for i in range(U64(k)):
                        total += average[play + i * n + h]
                    if total > 0.0:
                        for i in range(U64(k)):
                            strategy[play + i * n + h] = average[play + i * n + h] / total
                for i in range(U64(k)):
                    if legal >> i & 1:
                        column = play + i * n + h
                        y = r * strategy[column]
                        if other == AVERAGE:
                            average[column] += weight * y
                        x[U64(tree.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i])] = y
        at += U64(k)


@part
def hand_up(out, node, path, own, deck, tree, upper):
    """The seat plays a card: the value of each hand, and regret matching+ over its legal cards."""
    k = node[fields.CARDS]
    n, at, start = U64(deck.size[k]), U64(deck.wide[k]), U64(deck.start[k])
    kids = U64(node[fields.KIDS0 + path])
    play = U64(node[fields.PLAY0 + path])
    x, strategy, regret = upper.x, upper.strategy, upper.regret
    suit = node[fields.LED] & 3 if node[fields.LED] >= 0 else 4
    played = node[fields.PLAYED]
    values = upper.values
    for h in range(n):
        value = 0.0
        legal = deck.legal[start + h, suit]
        if deck.mask[start + h] & played == 0:
            choice = legal & (legal - 1) != 0
            best = U64(k)
            most = 0.0
            for i in range(U64(k)):
                if legal >> i & 1:
                    y = x[U64(tree.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i] + values)]
                    if choice:
                        value += strategy[play + i * n + h] * y
                        if best == U64(k) or y > most:
                            best, most = i, y
                    else:
                        value = y
            if choice and own == UPDATE:
                total = 0.0
                number = 0.0
                for i in range(U64(k)):
                    if legal >> i & 1:
                        y = x[U64(tree.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i] + values)]
                        column = play + i * n + h
                        y = max(regret[column] + (y - value), 0.0)
                        regret[column] = y
                        total += y
                        number += 1.0
                even = 1.0 / number
                share = 1.0 / total if total > 0.0 else 0.0
                for i in range(U64(k)):
                    if legal >> i & 1:
                        column = play + i * n + h
                        strategy[column] = regret[column] * share if total > 0.0 else even
            elif choice and own == RESPOND:
                value = most
                for i in range(U64(k)):
                    strategy[play + i * n + h] = 1.0 if i == best else 0.0
        x[out + h] = value
        at += U64(k)


@part
def down(node, seat, other, weight, deck, tree, upper, work):
    """The other seat's reach goes through a node to its children."""
    k = node[fields.CARDS]
    x = upper.x
    reach = U64(node[fields.AT])
    raised = work
    rest = work + U64(upper.width)
    acts = node[fields.ACTOR] != seat
    j = k if acts else k - node[fields.ROLE]
    n = U64(deck.size[j])
    if node[fields.MAY]:
        column = U64(node[fields.BET] if acts else node[fields.CALL])
        flow(upper, reach, raised, n, column, other, weight)
        for h in range(n):
            x[rest + h] = x[reach + h] - x[raised + h] if acts else x[reach + h]
    for path in range(1 + node[fields.MAY]):
        r_at = raised if path == 1 else rest if node[fields.MAY] else reach
        if acts:
            hand_down(r_at, node, path, other, weight, deck, tree, upper)
        else:
            for lane in range(deck.lanes):
                kid = tree.kids[node[fields.KIDS0 + path] + lane]
                if kid >= 0:
                    for h in range(n):
                        x[U64(kid) + h] = x[r_at + h]
                    first = deck.holds_start[j] + lane * deck.holds_count[j]
                    for i in range(first, first + deck.holds_count[j]):
                        x[kid + deck.holds[i]] = 0.0


@part
def up(node, seat, own, deck, tree, upper, work):
    """The seat's values come from a node's children and are settled there."""
    k = node[fields.CARDS]
    x = upper.x
    reach = U64(node[fields.AT])
    value = reach + U64(upper.values)
    worth, raised, some, mass, sums, _, _, _, _ = vectors(work, U64(upper.width))
    acts = node[fields.ACTOR] == seat
    other = k - node[fields.ROLE]  # cards of the one who is not to play
    j = k if acts else other  # of the seat
    n = U64(deck.size[j])
    may = node[fields.MAY]
    ante = float(node[fields.ANTE])
    if may:
        # What the other's reach is worth if the bet is folded: by the other, or by the seat.
        m = U64(deck.size[other if acts else k])
        column = U64(node[fields.CALL] if acts else node[fields.BET]) + m
        for h in range(m):
            y = x[reach + h] * upper.strategy[column + h]
            x[some + h] = x[reach + h] - y if acts else y
        disjoint(x, some, other if acts else k, j, deck, mass, sums)
    for path in range(1 + may):
        v_at = raised if path else worth
        if acts:
            hand_up(v_at, node, path, own, deck, tree, upper)
        else:
            for h in range(n):
                x[v_at + h] = 0.0
            for lane in range(deck.lanes):
                kid = tree.kids[node[fields.KIDS0 + path] + lane]
                if kid >= 0:
                    at = kid + upper.values
                    first = deck.holds_start[j] + lane * deck.holds_count[j]
                    for i in range(first, first + deck.holds_count[j]):
                        x[at + deck.holds[i]] = 0.0
                    for h in range(n):
                        x[v_at + h] += x[U64(at) + h]
    if may and acts:
        for h in range(n):
            x[mass + h] = x[raised + h] + ante * x[mass + h]
        decide(upper, worth, mass, worth, n, U64(node[fields.BET]), own)
    elif may:
        for h in range(n):
            x[mass + h] *= -ante
        decide(upper, mass, raised, raised, n, U64(node[fields.CALL]), own)
        for h in range(n):
            x[worth + h] += x[raised + h]
    for h in range(n):
        x[value + h] = x[worth + h]


@kernel
def passes(weights, how, deck, tree, tables, thread, threads, gate):
    """For each weight a pass for seat 0 and one for seat 1 (those in `how.seats`).

    weights     float64[T]: of the strategy in the average (AVERAGE), or the sum of all weights (NORMALISE, FINISH)
    how, tables UPDATE and AVERAGE together solve, on the table `fast`; all else is done on `exact`
    """
    own, other, seats = how
    upper, fast, exact = tables
    work = U64(upper.work + thread * TEMPORARIES * upper.width)
    work_fast = U64(thread * TEMPORARIES * fast.width)
    work_exact = U64(thread * TEMPORARIES * exact.width)
    chunks = tree.chunk.shape[0] - 1
    nodes = tree.node.shape[0]
    for turn in range(2 * weights.shape[0]):
        seat = turn & 1
        if not seats >> seat & 1:
            continue
        weight = weights[turn >> 1]
        fast.number[62] = weight  # as the table wants it (all threads write the same)
        if thread == 0:
            for h in range(U64(upper.root_range.shape[1])):
                upper.x[h] = upper.root_range[1 - seat, h]
        # First the root's way down, by one thread; then the chunks; then the root's way up.
        for stage in range(3):
            c = -1
            while stage == 1 or thread == 0:
                low, high = 0, min(nodes, 1)
                if stage == 1:
                    c = claim(gate, thread, threads, c, chunks)
                    if c >= chunks:
                        break
                    low, high = tree.chunk[c, 0], tree.chunk[c + 1, 0]
                if stage <= 1:
                    for i in range(low, high):
                        down(tree.node[i], seat, other, weight, deck, tree, upper, work)
                if stage == 1:
                    for q in range(tree.chunk[c, 1], tree.chunk[c + 1, 1]):
                        batch = tree.batch[q]
                        if own == UPDATE:
                            update_last(batch, seat, fast.number[62], deck.lanes, upper, fast, work_fast)
                        else:
                            measure_last(batch, seat, own, other, weight, deck.lanes, upper, exact, work_exact)
                if stage >= 1:
                    for i in range(high - 1, low - 1, -1):
                        up(tree.node[i], seat, own, deck, tree, upper, work)
                if stage != 1:
                    break
            if stage < 2:
                meet(gate, threads)
