"""CFR+ on the last tricks of Toepen, for all hands of both seats at once.

The public tree is walked once for each seat and iteration, and each step works on *ranges*: vectors with one entry for
each hand that a seat may hold. A pass for seat p carries the other seat's reach (range times strategy) down and p's
counterfactual values up; sums over the hands that are disjoint from mine come from inclusion and exclusion.

*Lanes.* A card is a lane, 4 * (its place among the suit's unplayed cards) + suit; suits with fewer cards leave lanes
empty. A higher card of the suit is so many fours further on, so prefix sums by suit are sums of vectors of four.

*Spaces.* Space j holds the hands of j cards: all j-subsets of the unplayed cards; space 1 is the lanes themselves.

*Nodes.* A node is an opportunity to play a card while hands have two cards or more: check or bet, call or fold, then
the card (after check, path 0, and after bet and call, path 1).

*Batches.* Last tricks with the same story but for the last card played, and the same leader, are worked on side by
side, in single precision while solving. Once the leader's last card lies on the table, what the other holds matters
only as winning or losing: two rows.

*Columns.* A column is an action of a row. At a decision with n rows (hands) action a of row h is column
first + a * n + h. Actions of betting are (check, bet) and (fold, call): kernels read only the second column of those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kibitz.kernels.barrier import _fetch_add, meet
from kibitz.kernels.jit import ONE, THREE, TWO, U64, kernel, part

# What a pass does to the rows of its seat ...
UPDATE, EVALUATE, RESPOND, WARM = 0, 1, 2, 3
# ... and to those of the other. FINISH is NORMALISE without the rows that solving takes for granted.
KEEP, AVERAGE, NORMALISE, FINISH = 0, 1, 2, 3

# Columns of Plan.node and Plan.batch.
ACTOR, ROLE, CARDS, ANTE, MAY, LED, AT, BET, CALL, PLAY0, PLAY1, KIDS0, KIDS1, PLAYED, HISTORY, LAST = range(16)
LEADER, POT, MAY_LEADER, MAY_OTHER, COUNT, PLACE, COLUMN, PARENT, PATH, MEMBER = range(10)
NODE_FIELDS, BATCH_FIELDS = 16, 10
TEMPORARIES = 9


class Deck(NamedTuple):
    """Hands by number of cards j = 1, 2, 3: `size[j]` hands, whose tables begin at `start[j]` (times their width)."""

    lanes: int
    size: np.ndarray  # int64[5]
    start: np.ndarray  # int64[5]  hand h of space j has number start[j] + h in `mask` and `legal`
    wide: np.ndarray  # int64[5]  and begins at wide[j] + h * j in `cards` and `drop`
    cards: np.ndarray  # int32[]  lanes of a hand
    drop: np.ndarray  # int32[]  the hand of space j - 1 that is left without the card
    mask: np.ndarray  # int64[]  lanes of a hand, as bits
    legal: np.ndarray  # uint8[, 5]  cards that may be played on a lead of suit s (4: any), as bits
    holds: np.ndarray  # int32[]  hands of space j that hold lane c, from holds_start[j] + c * holds_count[j] on
    holds_start: np.ndarray  # int64[5]
    holds_count: np.ndarray  # int64[5]
    live: np.ndarray  # bool[lanes]  lanes that are cards


class Plan(NamedTuple):
    """The public tree. M nodes, Q batches, C chunks (by the first card led) that share nothing."""

    node: np.ndarray  # int64[M, NODE_FIELDS]
    batch: np.ndarray  # int64[Q, BATCH_FIELDS]
    kids: np.ndarray  # int32[]  by lane: where the child's vector lies, or -1
    member: np.ndarray  # int32[]  by batch: the lanes whose play led to its last tricks
    chunk: np.ndarray  # int64[C+1, 2]  first node and first batch of a chunk


class Upper(NamedTuple):
    """What is known by column of nodes (and of the choice to enter, which comes last), and vectors between nodes."""

    regret: np.ndarray  # float64
    strategy: np.ndarray  # float64
    average: np.ndarray  # float64
    x: np.ndarray  # float64: reach by place, value by place, then room for each thread
    values: int  # where values begin in x
    room: int  # where the threads' rooms begin in x
    width: int  # of a vector in a room
    root_range: np.ndarray  # float64[2, size]  of the first space
    gadget: np.ndarray  # float64[2, size]  or [0, 0]: what the seat that may decline gets instead


class Lower(NamedTuple):
    """What is known by column of batches, and room. All of one type: float32 to solve, float64 to measure."""

    regret: np.ndarray
    strategy: np.ndarray
    average: np.ndarray
    x: np.ndarray  # room for each thread
    width: int
    number: np.ndarray  # [64]  0, 1, 2, ...: constants of the right type; the last one is tiny


@part
def flow(strategy, average, x, reach, out, n, column, other, weight):
    """x[out] = reach of the second action of n binary rows; the average is gathered, or turned into a strategy."""
    for i in range(n):
        second = column + n + i
        r = x[reach + i]
        if other >= NORMALISE:
            if weight * r > 0.0:
                strategy[second] = max(0.0, min(1.0, average[second] / (weight * r)))
            strategy[column + i] = 1.0 - strategy[second]
        r *= strategy[second]
        if other == AVERAGE:
            average[second] += weight * r
        x[out + i] = r


@part
def decide(regret, strategy, x, one, two, out, n, column, own, scale):
    """x[out] = value of n binary rows whose actions are worth x[one] and x[two]; `own` says what moves."""
    for i in range(n):
        first, second = column + i, column + n + i
        a, b = x[one + i], x[two + i]
        s = strategy[second]
        d = b - a
        value = a + s * d
        if own == UPDATE:
            ra = max(regret[first] - s * d, 0.0)
            rb = max(regret[second] + (d - s * d), 0.0)
            regret[first] = ra
            regret[second] = rb
            strategy[second] = rb / (ra + rb) if ra + rb > 0.0 else 0.5
        elif own == RESPOND:
            strategy[second] = 1.0 if b > a else 0.0
            strategy[first] = 0.0 if b > a else 1.0
            value = max(a, b)
        elif own == WARM:  # the regrets that would have made the strategy, in proportion to what is at stake
            stake = scale * (abs(a) + abs(b))
            regret[first] = stake * (1.0 - s)
            regret[second] = stake * s
        x[out + i] = value


@part
def spread(x, reach, wins, loses, count, lanes, zero):
    """For each card led: the reach of the higher cards of its suit (wins) and of all other cards (loses)."""
    rows = lanes // 4
    for b in range(count):
        w0 = w1 = w2 = w3 = zero
        for r in range(rows):
            i = U64(b * lanes + 4 * (rows - 1 - r))
            x[wins + i] = w0
            x[wins + i + ONE] = w1
            x[wins + i + TWO] = w2
            x[wins + i + THREE] = w3
            w0 += x[reach + i]
            w1 += x[reach + i + ONE]
            w2 += x[reach + i + TWO]
            w3 += x[reach + i + THREE]
        a, c = w0 + w1, w2 + w3
        w0, w1, w2, w3 = w1 + c, w0 + c, a + w3, a + w2
        for r in range(rows):
            i = U64(b * lanes + 4 * r)
            x[loses + i] = w0
            x[loses + i + ONE] = w1
            x[loses + i + TWO] = w2
            x[loses + i + THREE] = w3
            w0 += x[reach + i]
            w1 += x[reach + i + ONE]
            w2 += x[reach + i + TWO]
            w3 += x[reach + i + THREE]


@part
def collect(x, winning, losing, out, count, lanes, zero):
    """For each card held: `winning` summed over the lower cards of its suit, `losing` over all others but itself."""
    rows = lanes // 4
    for b in range(count):
        w0 = w1 = w2 = w3 = zero
        for r in range(rows):
            i = U64(b * lanes + 4 * (rows - 1 - r))
            x[out + i] = w0
            x[out + i + ONE] = w1
            x[out + i + TWO] = w2
            x[out + i + THREE] = w3
            w0 += x[losing + i]
            w1 += x[losing + i + ONE]
            w2 += x[losing + i + TWO]
            w3 += x[losing + i + THREE]
        a, c = w0 + w1, w2 + w3
        w0, w1, w2, w3 = w1 + c, w0 + c, a + w3, a + w2
        for r in range(rows):
            i = U64(b * lanes + 4 * r)
            x[out + i] += w0
            x[out + i + ONE] += w1
            x[out + i + TWO] += w2
            x[out + i + THREE] += w3
            w0 += x[winning + i]
            w1 += x[winning + i + ONE]
            w2 += x[winning + i + TWO]
            w3 += x[winning + i + THREE]


@part
def without(x, reach, out, count, lanes, zero):
    """For each card: the reach of all other cards."""
    for b in range(count):
        low = U64(b * lanes)
        w0 = w1 = w2 = w3 = zero
        for r in range(lanes // 4):
            i = low + U64(4 * r)
            w0 += x[reach + i]
            w1 += x[reach + i + ONE]
            w2 += x[reach + i + TWO]
            w3 += x[reach + i + THREE]
        total = (w0 + w1) + (w2 + w3)
        for j in range(U64(lanes)):
            x[out + low + j] = total - x[reach + low + j]


@part
def update_last(batch, seat, weight, lanes, upper, lower, work):
    """A batch of last tricks, down and up, with regret matching+ for the seat and averages of the other.

    It reads the other's reach and writes the seat's values. To bet with the winning card is never worse than to check:
    it is taken for granted.
    """
    count = batch[COUNT]
    n = U64(count * lanes)
    x, strategy, average, regret = lower.x, lower.strategy, lower.average, lower.regret
    number = lower.number
    zero, one, tiny = number[0], number[1], number[63]
    place = U64(batch[PLACE])
    values = upper.x
    value = place + U64(upper.values)
    may = batch[MAY_LEADER]
    ante = number[batch[POT]]
    width = U64(lower.width)
    reach = work
    raised = reach + width
    rest = raised + width
    wins = rest + width
    loses = wins + width
    worth = loses + width
    worth_raised = worth + width
    mass = worth_raised + width
    bet = U64(batch[COLUMN])  # first column; the second is n further on
    call = bet + n + n
    column = bet + U64(4 * may) * n
    for i in range(n):
        x[reach + i] = values[place + i]
    if batch[LEADER] == seat:
        if may:
            second = call + n
            for i in range(n):
                r = x[reach + i] * strategy[second + i]
                average[second + i] += weight * r
                x[raised + i] = r
                x[rest + i] = x[reach + i] - r
        for path in range(1 + may):
            r_at, v_at = (reach, worth) if path == 0 else (raised, worth_raised)
            pot = ante + number[path]
            spread(x, r_at, wins, loses, count, lanes, zero)
            if path == 0 and not batch[MAY_OTHER]:
                for i in range(n):
                    x[v_at + i] = pot * (x[loses + i] - x[wins + i])
                continue
            bluff = column + n + n + n
            fold = bluff + n
            answer = fold + n
            twice = pot + pot + one
            for i in range(n):
                lose = x[loses + i]
                win = x[wins + i]
                bluffs = lose * strategy[bluff + i]
                average[bluff + i] += weight * bluffs
                s = strategy[answer + i]
                d = twice * bluffs - win
                sd = s * d
                x[v_at + i] = sd + pot * ((lose - bluffs) - (bluffs + win))
                ra = max(regret[fold + i] - sd, zero)
                rb = max(regret[answer + i] + (d - sd), zero)
                regret[fold + i] = ra
                regret[answer + i] = rb
                strategy[answer + i] = (rb + tiny) / ((ra + tiny) + (rb + tiny))
            column = answer + n
        if may:
            without(x, rest, mass, count, lanes, zero)
            second = bet + n
            for i in range(n):
                a = x[worth + i]
                s = strategy[second + i]
                d = x[worth_raised + i] + ante * x[mass + i] - a
                sd = s * d
                values[value + i] = a + sd
                ra = max(regret[bet + i] - sd, zero)
                rb = max(regret[second + i] + (d - sd), zero)
                regret[bet + i] = ra
                regret[second + i] = rb
                strategy[second + i] = (rb + tiny) / ((ra + tiny) + (rb + tiny))
        else:
            for i in range(n):
                values[value + i] = x[worth + i]
        return
    if may:
        second = bet + n
        for i in range(n):
            r = x[reach + i] * strategy[second + i]
            average[second + i] += weight * r
            x[raised + i] = r
            x[rest + i] = x[reach + i] - r
    for path in range(1 + may):
        r_at, v_at = (rest if may else reach, worth) if path == 0 else (raised, worth_raised)
        pot = ante + number[path]
        if path == 0 and not batch[MAY_OTHER]:
            for i in range(n):
                r = pot * x[r_at + i]
                x[wins + i] = r
                x[loses + i] = -r
        else:
            check = column + n + n
            bluff = check + n
            answer = bluff + n + n
            twice = pot + pot + one
            for i in range(n):
                r = x[r_at + i]
                called = r * strategy[answer + i]
                average[answer + i] += weight * called
                r = pot * r
                x[wins + i] = r + called
                s = strategy[bluff + i]
                d = (r + r) - twice * called
                sd = s * d
                x[loses + i] = sd - r
                ra = max(regret[check + i] - sd, zero)
                rb = max(regret[bluff + i] + (d - sd), zero)
                regret[check + i] = ra
                regret[bluff + i] = rb
                strategy[bluff + i] = (rb + tiny) / ((ra + tiny) + (rb + tiny))
            column = answer + n
        collect(x, wins, loses, v_at, count, lanes, zero)
    if may:
        without(x, raised, mass, count, lanes, zero)
        second = call + n
        for i in range(n):
            a = -ante * x[mass + i]
            s = strategy[second + i]
            d = x[worth_raised + i] - a
            sd = s * d
            values[value + i] = x[worth + i] + (a + sd)
            ra = max(regret[call + i] - sd, zero)
            rb = max(regret[second + i] + (d - sd), zero)
            regret[call + i] = ra
            regret[second + i] = rb
            strategy[second + i] = (rb + tiny) / ((ra + tiny) + (rb + tiny))
    else:
        for i in range(n):
            values[value + i] = x[worth + i]


@part
def measure_last(batch, seat, own, other, weight, scale, lanes, upper, lower, work):
    """As `update_last`, for passes that do not solve, and with all rows."""
    count = batch[COUNT]
    n = U64(count * lanes)
    x, strategy, average, regret = lower.x, lower.strategy, lower.average, lower.regret
    place = U64(batch[PLACE])
    value = place + U64(upper.values)
    may = batch[MAY_LEADER]
    ante = float(batch[POT])
    width = U64(lower.width)
    raised = work
    rest = raised + width
    wins = rest + width
    loses = wins + width
    worth = loses + width
    worth_raised = worth + width
    one = worth_raised + width
    two = one + width
    three = two + width
    bet = U64(batch[COLUMN])
    call = bet + n + n
    column = bet + U64(4 * may) * n
    leads = batch[LEADER] == seat
    for i in range(n):
        x[rest + i] = upper.x[place + i]
    if may:
        flow(strategy, average, x, rest, raised, n, call if leads else bet, other, weight)
        if not leads:
            for i in range(n):
                x[rest + i] -= x[raised + i]
    for path in range(1 + may):
        r_at, v_at = (rest, worth) if path == 0 else (raised, worth_raised)
        pot = ante + path
        bets = path == 1 or batch[MAY_OTHER]
        lose = column + n + n
        answer = lose + n + n
        if leads:
            spread(x, r_at, wins, loses, count, lanes, 0.0)
            for i in range(n):
                x[v_at + i] = pot * (x[loses + i] - x[wins + i])
            if bets:
                flow(strategy, average, x, wins, one, n, column, KEEP if other == FINISH else other, weight)
                flow(strategy, average, x, loses, two, n, lose, other, weight)
                for i in range(n):
                    w, b = x[one + i], x[two + i]
                    x[v_at + i] -= pot * (b - w)
                    x[one + i] = -pot * (b + w)
                    x[two + i] = (pot + 1.0) * (b - w)
                decide(regret, strategy, x, one, two, three, n, answer, own, scale)
                for i in range(n):
                    x[v_at + i] += x[three + i]
        else:
            for i in range(n):
                x[wins + i] = pot * x[r_at + i]
                x[loses + i] = -pot * x[r_at + i]
            if bets:
                flow(strategy, average, x, r_at, one, n, answer, other, weight)
                for i in range(n):
                    x[two + i] = x[wins + i] + x[one + i]
                    x[three + i] = x[wins + i] - (pot + pot + 1.0) * x[one + i]
                decide(regret, strategy, x, wins, two, wins, n, column, own, scale)
                decide(regret, strategy, x, loses, three, loses, n, lose, own, scale)
            collect(x, wins, loses, v_at, count, lanes, 0.0)
        if bets:
            column = answer + n + n
    if may:
        if leads:
            for i in range(n):
                x[rest + i] -= x[raised + i]
            without(x, rest, one, count, lanes, 0.0)
            for i in range(n):
                x[worth_raised + i] += ante * x[one + i]
            decide(regret, strategy, x, worth, worth_raised, worth, n, bet, own, scale)
        else:
            without(x, raised, one, count, lanes, 0.0)
            for i in range(n):
                x[one + i] *= -ante
            decide(regret, strategy, x, one, worth_raised, two, n, call, own, scale)
            for i in range(n):
                x[worth + i] += x[two + i]
    for i in range(n):
        upper.x[value + i] = x[worth + i]


@part
def disjoint(x, reach, j, k, deck, out, sums):
    """x[out + h] = reach over the hands of space j that share no card with hand h of space k; sums: room."""
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
def hand_down(reach, node, path, other, weight, deck, plan, upper):
    """The other seat plays a card: its reach goes to the children, a vector for each card."""
    k = node[CARDS]
    n, at, start = U64(deck.size[k]), U64(deck.wide[k]), U64(deck.start[k])
    kids = U64(node[KIDS0 + path])
    play = U64(node[PLAY0 + path])
    x, strategy, average = upper.x, upper.strategy, upper.average
    suit = node[LED] & 3 if node[LED] >= 0 else 4
    played = node[PLAYED]
    less = U64(deck.size[k - 1])
    for lane in range(U64(deck.lanes)):
        kid = plan.kids[kids + lane]
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
                        x[U64(plan.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i])] = r
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
                        x[U64(plan.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i])] = y
        at += U64(k)


@part
def hand_up(out, node, path, own, scale, deck, plan, upper):
    """The seat plays a card: the value of each hand, and regret matching+ over its legal cards."""
    k = node[CARDS]
    n, at, start = U64(deck.size[k]), U64(deck.wide[k]), U64(deck.start[k])
    kids = U64(node[KIDS0 + path])
    play = U64(node[PLAY0 + path])
    x, strategy, regret = upper.x, upper.strategy, upper.regret
    suit = node[LED] & 3 if node[LED] >= 0 else 4
    played = node[PLAYED]
    values = upper.values
    for h in range(n):
        value = 0.0
        legal = deck.legal[start + h, suit]
        if deck.mask[start + h] & played == 0:
            choice = legal & (legal - 1) != 0
            best = U64(k)
            most = 0.0
            size = 0.0
            for i in range(U64(k)):
                if legal >> i & 1:
                    y = x[U64(plan.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i] + values)]
                    if choice:
                        value += strategy[play + i * n + h] * y
                        size += abs(y)
                        if best == U64(k) or y > most:
                            best, most = i, y
                    else:
                        value = y
            if choice and own == UPDATE:
                total = 0.0
                number = 0.0
                for i in range(U64(k)):
                    if legal >> i & 1:
                        y = x[U64(plan.kids[kids + U64(deck.cards[at + i])] + deck.drop[at + i] + values)]
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
            elif choice and own == WARM:
                for i in range(U64(k)):
                    column = play + i * n + h
                    regret[column] = scale * size * strategy[column]
        x[out + h] = value
        at += U64(k)


@part
def down(node, seat, other, weight, deck, plan, upper, work):
    """The other seat's reach goes through a node to its children."""
    k = node[CARDS]
    x = upper.x
    reach = U64(node[AT])
    raised = work
    rest = work + U64(upper.width)
    acts = node[ACTOR] != seat
    j = k if acts else k - node[ROLE]
    n = U64(deck.size[j])
    if node[MAY]:
        column = U64(node[BET] if acts else node[CALL])
        flow(upper.strategy, upper.average, x, reach, raised, n, column, other, weight)
        for h in range(n):
            x[rest + h] = x[reach + h] - x[raised + h] if acts else x[reach + h]
    for path in range(1 + node[MAY]):
        r_at = raised if path == 1 else rest if node[MAY] else reach
        if acts:
            hand_down(r_at, node, path, other, weight, deck, plan, upper)
        else:
            for lane in range(deck.lanes):
                kid = plan.kids[node[KIDS0 + path] + lane]
                if kid >= 0:
                    for h in range(n):
                        x[U64(kid) + h] = x[r_at + h]
                    first = deck.holds_start[j] + lane * deck.holds_count[j]
                    for i in range(first, first + deck.holds_count[j]):
                        x[kid + deck.holds[i]] = 0.0


@part
def up(node, seat, own, scale, deck, plan, upper, work):
    """The seat's values come from a node's children and are settled there."""
    k = node[CARDS]
    x = upper.x
    reach = U64(node[AT])
    value = reach + U64(upper.values)
    width = U64(upper.width)
    worth = work
    raised = work + width
    some = raised + width
    mass = some + width
    sums = mass + width
    acts = node[ACTOR] == seat
    other = k - node[ROLE]  # cards of the one who is not to play
    j = k if acts else other  # of the seat
    n = U64(deck.size[j])
    may = node[MAY]
    ante = float(node[ANTE])
    if may:
        # What the other's reach is worth if the bet is folded: by the other, or by the seat.
        m = U64(deck.size[other if acts else k])
        column = U64(node[CALL] if acts else node[BET]) + m
        for h in range(m):
            y = x[reach + h] * upper.strategy[column + h]
            x[some + h] = x[reach + h] - y if acts else y
        disjoint(x, some, other if acts else k, j, deck, mass, sums)
    for path in range(1 + may):
        v_at = raised if path else worth
        if acts:
            hand_up(v_at, node, path, own, scale, deck, plan, upper)
        else:
            for h in range(n):
                x[v_at + h] = 0.0
            for lane in range(deck.lanes):
                kid = plan.kids[node[KIDS0 + path] + lane]
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
        decide(upper.regret, upper.strategy, x, worth, mass, worth, n, U64(node[BET]), own, scale)
    elif may:
        for h in range(n):
            x[mass + h] *= -ante
        decide(upper.regret, upper.strategy, x, mass, raised, raised, n, U64(node[CALL]), own, scale)
        for h in range(n):
            x[worth + h] += x[raised + h]
    for h in range(n):
        x[value + h] = x[worth + h]


@kernel
def passes(weights, own, other, seats, scale, declines, deck, plan, upper, fast, exact, thread, threads, gate, ticket):
    """For each weight a pass for seat 0 and one for seat 1 (those in `seats`, as bits).

    own, other  what a pass does to the rows of its seat and of the other. UPDATE and AVERAGE together solve, on the
                table `fast`; all else is done on `exact`
    weights     float64[T]: of the strategy in the average (AVERAGE), or the sum of all weights (NORMALISE, FINISH)
    scale       of regrets (WARM)
    declines    the seat that may decline to enter, or -1
    ticket      int64[16], shared: chunks are handed out by counting. Results do not depend on who takes which.
    """
    work = U64(upper.room + thread * TEMPORARIES * upper.width)
    work_fast = U64(thread * TEMPORARIES * fast.width)
    work_exact = U64(thread * TEMPORARIES * exact.width)
    chunks = plan.chunk.shape[0] - 1
    nodes = plan.node.shape[0]
    size = U64(upper.root_range.shape[1])
    choice = U64(upper.strategy.shape[0]) - size - size  # first column of the choice to enter
    for turn in range(2 * weights.shape[0]):
        seat = turn & 1
        if not seats >> seat & 1:
            continue
        weight = weights[turn >> 1]
        fast.number[62] = weight  # as the table wants it (all threads write the same)
        if thread == 0:
            ticket[0] = 0
            for h in range(size):
                upper.x[h] = upper.root_range[1 - seat, h]
            if declines == 1 - seat:
                flow(upper.strategy, upper.average, upper.x, U64(0), U64(0), size, choice, other, weight)
        # First the root's way down, by one thread; then the chunks; then the root's way up.
        for stage in range(3):
            while stage == 1 or thread == 0:
                low, high = 0, min(nodes, 1)
                if stage == 1:
                    c = _fetch_add(ticket, 0, 1)
                    if c >= chunks:
                        break
                    low, high = plan.chunk[c, 0], plan.chunk[c + 1, 0]
                if stage <= 1:
                    for i in range(low, high):
                        down(plan.node[i], seat, other, weight, deck, plan, upper, work)
                if stage == 1:
                    for q in range(plan.chunk[c, 1], plan.chunk[c + 1, 1]):
                        batch = plan.batch[q]
                        if own == UPDATE:
                            update_last(batch, seat, fast.number[62], deck.lanes, upper, fast, work_fast)
                        else:
                            measure_last(batch, seat, own, other, weight, scale, deck.lanes, upper, exact, work_exact)
                if stage >= 1:
                    for i in range(high - 1, low - 1, -1):
                        up(plan.node[i], seat, own, scale, deck, plan, upper, work)
                if stage != 1:
                    break
            if stage < 2:
                meet(gate, threads)
        if thread == 0 and declines == seat:
            for h in range(size):
                upper.x[work + h] = upper.gadget[seat, h]
            at = U64(upper.values)
            decide(upper.regret, upper.strategy, upper.x, work, at, at, size, choice, own, scale)


@part
def new_node(row, top, betting, deck):
    """Give a node its place and columns; returns the first free columns (of nodes, of batches) and place."""
    column, lower, place = top
    k = row[CARDS]
    n, m = deck.size[k], deck.size[k - row[ROLE]]
    row[AT] = place
    row[MAY] = 1 if betting and row[LAST] != row[ACTOR] else 0
    if row[MAY]:
        row[BET], row[CALL] = column, column + 2 * n
        column += 2 * n + 2 * m
    row[PLAY0], row[PLAY1] = column, column + k * n
    return column + (1 + row[MAY]) * k * n, lower, place + max(n, m)


@part
def new_batch(row, leader, ante, last, betting, count, top, lanes):
    """Write a batch of last tricks; returns the first free columns and place."""
    column, lower, place = top
    n = count * lanes
    row[LEADER], row[POT], row[COUNT], row[PLACE], row[COLUMN] = leader, ante, count, place, lower
    row[MAY_LEADER] = 1 if betting and last != leader else 0
    row[MAY_OTHER] = 1 if betting and last != 1 - leader else 0
    return column, lower + 6 * n * row[MAY_OTHER] + 10 * n * row[MAY_LEADER], place + n


@kernel
def lay_out(k, leader, ante, last, betting, deck, codes, node, batch, kids, member, chunk):
    """Fill the plan's tables, which are large enough; returns how much of each was used, and columns and places.

    codes: int64[lanes], the card of a lane, for histories: six bits a play, card * 2 + (1 if bet and called).
    """
    lanes = deck.lanes
    nodes = batches = kid = members = chunks = begun = 0
    top = (0, 0, 0)
    row = node[0]
    row[ACTOR], row[ROLE], row[CARDS], row[ANTE], row[LED] = leader, 0, k, ante, -1
    row[PLAYED], row[HISTORY], row[LAST] = 0, 0, last
    if k > 1:
        top = new_node(row, top, betting, deck)
        nodes = 1
    else:
        batch[0, PARENT] = -1
        member[0] = -1
        top = new_batch(batch[0], leader, ante, last, betting, 1, top, lanes)
        batches = members = 1
    # Nodes from `begun` on wait for their children. Those of the root come card by card, and all that is below a card
    # comes before the next card: a chunk.
    led = -1
    while True:
        at = begun
        if begun == nodes or led < 0:
            led += 1
            at = 0
            while led < lanes and not deck.live[led]:
                led += 1
            if led >= lanes or k == 1:
                break
            chunk[chunks, 0], chunk[chunks, 1] = nodes, batches
            chunks += 1
            begun = max(begun, 1)
        else:
            begun += 1
        row = node[at]
        j = row[CARDS]
        plays = 2 * (k - j) + row[ROLE]
        for path in range(1 + row[MAY]):
            if at > 0 or chunks == 1:
                row[KIDS0 + path] = kid
                for lane in range(lanes):
                    kids[kid + lane] = -1
                kid += lanes
            first = row[KIDS0 + path]
            for side in range(2):  # first the cards that do not take the trick
                begin = members
                for lane in range(lanes):
                    if not deck.live[lane] or row[PLAYED] >> lane & 1 or (at == 0 and lane != led):
                        continue
                    takes = row[ROLE] == 1 and (lane & 3) == (row[LED] & 3) and lane > row[LED]
                    if takes != (side == 1):
                        continue
                    if row[ROLE] == 1 and j == 2:
                        kids[first + lane] = top[2] + (members - begin) * lanes
                        member[members] = lane
                        members += 1
                        continue
                    kids[first + lane] = top[2]
                    child = node[nodes]
                    child[ACTOR] = row[ACTOR] if takes else 1 - row[ACTOR]
                    child[ROLE], child[CARDS] = 1 - row[ROLE], j - row[ROLE]
                    child[LED] = lane if row[ROLE] == 0 else -1
                    child[ANTE], child[LAST] = row[ANTE] + path, row[ACTOR] if path else row[LAST]
                    child[PLAYED] = row[PLAYED] | 1 << lane
                    child[HISTORY] = row[HISTORY] + ((codes[lane] * 2 + path) << (6 * plays))
                    top = new_node(child, top, betting, deck)
                    nodes += 1
                if members > begin:
                    batch[batches, PARENT], batch[batches, PATH], batch[batches, MEMBER] = at, path, begin
                    leads = row[ACTOR] if side == 1 else 1 - row[ACTOR]
                    last_bettor = row[ACTOR] if path else row[LAST]
                    pot = row[ANTE] + path
                    top = new_batch(batch[batches], leads, pot, last_bettor, betting, members - begin, top, lanes)
                    batches += 1
    if k == 1:
        chunks = 1
    chunk[chunks, 0], chunk[chunks, 1] = nodes, batches
    return nodes, batches, kid, members, top[0], top[1], top[2], chunks


@kernel
def uniform(deck, plan, upper, lower):
    """Equal probabilities for all legal actions; winners of the last card bet."""
    for i in range(upper.shape[0]):
        upper[i] = 0.5
    for i in range(lower.shape[0]):
        lower[i] = 0.5
    for i in range(plan.node.shape[0]):
        node = plan.node[i]
        k = node[CARDS]
        n, start = deck.size[k], deck.start[k]
        suit = node[LED] & 3 if node[LED] >= 0 else 4
        for path in range(1 + node[MAY]):
            for h in range(n):
                legal = deck.legal[start + h, suit]
                number = 0
                for i in range(k):
                    number += legal >> i & 1
                for i in range(k):
                    upper[node[PLAY0 + path] + i * n + h] = (legal >> i & 1) / number
    for q in range(plan.batch.shape[0]):
        batch = plan.batch[q]
        n = batch[COUNT] * deck.lanes
        column = batch[COLUMN] + 4 * n * batch[MAY_LEADER]
        for path in range(1 + batch[MAY_LEADER]):
            if path == 1 or batch[MAY_OTHER]:
                for i in range(n):
                    lower[column + i] = 0.0
                    lower[column + n + i] = 1.0
                column += 6 * n
