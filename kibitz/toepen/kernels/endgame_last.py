"""The last trick of Toepen, for all cards of both seats and many histories at once: a batch, down and up.

Batches are worked on in single precision while solving (`update_last`) and in double precision to measure
(`measure_last`). Once the leader's last card lies on the table, what the other holds matters only as winning or
losing: two rows. Vectors are by lane (`toepen/kernels/endgame_tree.py`), so what the higher cards of a suit reach is
a prefix sum.
"""

from __future__ import annotations

from kibitz.core.jit import ONE, THREE, TWO, U64, part, small_part
from kibitz.toepen.kernels import endgame_tree as fields
from kibitz.toepen.kernels.endgame_tree import AVERAGE, FINISH, KEEP, NORMALISE, RESPOND, UPDATE


@small_part
def vectors(work, width):
    """Where the vectors of a workspace begin."""
    a, b, c = work, work + THREE * width, work + (THREE + THREE) * width
    return a, a + width, a + TWO * width, b, b + width, b + TWO * width, c, c + width, c + TWO * width


@part
def flow(table, reach, out, n, column, other, weight):
    """x[out] = reach of the second action of n binary rows; the average is gathered, or turned into a strategy."""
    strategy, average, x = table.strategy, table.average, table.x
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
def decide(table, one, two, out, n, column, own):
    """x[out] = value of n binary rows whose actions have the values x[one] and x[two]; `own` says what is learned."""
    regret, strategy, x = table.regret, table.strategy, table.x
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
        x[out + i] = value


# Sums by suit: four numbers at a time, one of each suit


@small_part
def put(x, at, w):
    x[at], x[at + ONE], x[at + TWO], x[at + THREE] = w


@small_part
def plus(w, x, at):
    return w[0] + x[at], w[1] + x[at + ONE], w[2] + x[at + TWO], w[3] + x[at + THREE]


@small_part
def others(w):
    """For each suit the sum of the other three."""
    a, c = w[0] + w[1], w[2] + w[3]
    return w[1] + c, w[0] + c, a + w[3], a + w[2]


@part
def spread(x, reach, wins, loses, count, lanes, zero):
    """For each card led: the reach of the higher cards of its suit (wins) and of all other cards (loses)."""
    rows = lanes // 4
    for b in range(count):
        w = (zero, zero, zero, zero)
        for r in range(rows):
            i = U64(b * lanes + 4 * (rows - 1 - r))
            put(x, wins + i, w)
            w = plus(w, x, reach + i)
        w = others(w)
        for r in range(rows):
            i = U64(b * lanes + 4 * r)
            put(x, loses + i, w)
            w = plus(w, x, reach + i)


@part
def collect(x, winning, losing, out, count, lanes, zero):
    """For each card held: `winning` summed over the lower cards of its suit, `losing` over all others but itself."""
    rows = lanes // 4
    for b in range(count):
        w = (zero, zero, zero, zero)
        for r in range(rows):
            i = U64(b * lanes + 4 * (rows - 1 - r))
            put(x, out + i, w)
            w = plus(w, x, losing + i)
        w = others(w)
        for r in range(rows):
            i = U64(b * lanes + 4 * r)
            put(x, out + i, plus(w, x, out + i))
            w = plus(w, x, winning + i)


@part
def without(x, reach, out, count, lanes, zero):
    """For each card: the reach of all other cards."""
    for b in range(count):
        low = U64(b * lanes)
        w = (zero, zero, zero, zero)
        for r in range(lanes // 4):
            w = plus(w, x, reach + low + U64(4 * r))
        total = (w[0] + w[1]) + (w[2] + w[3])
        for j in range(U64(lanes)):
            x[out + low + j] = total - x[reach + low + j]


@small_part
def learn(table, first, second, s, d):
    """Regret matching+ of a binary row that plays its second action with s, which is better than the first by d."""
    regret, zero, tiny = table.regret, table.number[0], table.number[63]
    ra = max(regret[first] - s * d, zero)
    rb = max(regret[second] + (d - s * d), zero)
    regret[first] = ra
    regret[second] = rb
    table.strategy[second] = (rb + tiny) / ((ra + tiny) + (rb + tiny))


@part
def update_last(batch, seat, weight, lanes, upper, lower, work):
    """A batch of last tricks, down and up, with regret matching+ for the seat and averages of the other.

    It reads the other's reach and writes the seat's values. To bet with the winning card is never worse than to check:
    it is taken for granted.
    """
    count = batch[fields.COUNT]
    n = U64(count * lanes)
    x, strategy, average = lower.x, lower.strategy, lower.average
    number = lower.number
    zero, one = number[0], number[1]
    place = U64(batch[fields.PLACE])
    values = upper.x
    value = place + U64(upper.values)
    may = batch[fields.MAY_LEADER]
    ante = number[batch[fields.POT]]
    reach, raised, rest, wins, loses, worth, worth_raised, mass, _ = vectors(work, U64(lower.width))
    bet = U64(batch[fields.COLUMN])  # first column; the second is n further on
    call = bet + n + n
    column = bet + U64(4 * may) * n
    leads = batch[fields.LEADER] == seat
    for i in range(n):
        x[reach + i] = values[place + i]
    if may:
        second = (call if leads else bet) + n
        for i in range(n):
            r = x[reach + i] * strategy[second + i]
            average[second + i] += weight * r
            x[raised + i] = r
            x[rest + i] = x[reach + i] - r
    for path in range(1 + may):
        r_at, v_at = (reach if leads or not may else rest, worth) if path == 0 else (raised, worth_raised)
        pot = ante + number[path]
        twice = pot + pot + one
        bets = path == 1 or batch[fields.MAY_OTHER]
        check = column + n + n
        bluff = check + n
        fold = bluff + n
        answer = fold + n
        if leads:
            spread(x, r_at, wins, loses, count, lanes, zero)
            if bets:
                for i in range(n):
                    lose = x[loses + i]
                    win = x[wins + i]
                    bluffs = lose * strategy[bluff + i]
                    average[bluff + i] += weight * bluffs
                    s = strategy[answer + i]
                    d = twice * bluffs - win
                    x[v_at + i] = s * d + pot * ((lose - bluffs) - (bluffs + win))
                    learn(lower, fold + i, answer + i, s, d)
            else:
                for i in range(n):
                    x[v_at + i] = pot * (x[loses + i] - x[wins + i])
        else:
            if bets:
                for i in range(n):
                    r = x[r_at + i]
                    called = r * strategy[answer + i]
                    average[answer + i] += weight * called
                    r = pot * r
                    x[wins + i] = r + called
                    s = strategy[bluff + i]
                    d = (r + r) - twice * called
                    x[loses + i] = s * d - r
                    learn(lower, check + i, bluff + i, s, d)
            else:
                for i in range(n):
                    r = pot * x[r_at + i]
                    x[wins + i] = r
                    x[loses + i] = -r
            collect(x, wins, loses, v_at, count, lanes, zero)
        if bets:
            column = answer + n
    if not may:
        for i in range(n):
            values[value + i] = x[worth + i]
    elif leads:
        without(x, rest, mass, count, lanes, zero)
        for i in range(n):
            a = x[worth + i]
            s = strategy[bet + n + i]
            d = x[worth_raised + i] + ante * x[mass + i] - a
            values[value + i] = a + s * d
            learn(lower, bet + i, bet + n + i, s, d)
    else:
        without(x, raised, mass, count, lanes, zero)
        for i in range(n):
            a = -ante * x[mass + i]
            s = strategy[call + n + i]
            d = x[worth_raised + i] - a
            values[value + i] = x[worth + i] + (a + s * d)
            learn(lower, call + i, call + n + i, s, d)


@part
def measure_last(batch, seat, own, other, weight, lanes, upper, lower, work):
    """As `update_last`, for passes that do not solve, and with all rows."""
    count = batch[fields.COUNT]
    n = U64(count * lanes)
    x = lower.x
    place = U64(batch[fields.PLACE])
    value = place + U64(upper.values)
    may = batch[fields.MAY_LEADER]
    ante = float(batch[fields.POT])
    raised, rest, wins, loses, worth, worth_raised, one, two, three = vectors(work, U64(lower.width))
    bet = U64(batch[fields.COLUMN])
    call = bet + n + n
    column = bet + U64(4 * may) * n
    leads = batch[fields.LEADER] == seat
    for i in range(n):
        x[rest + i] = upper.x[place + i]
    if may:
        flow(lower, rest, raised, n, call if leads else bet, other, weight)
        if not leads:
            for i in range(n):
                x[rest + i] -= x[raised + i]
    for path in range(1 + may):
        r_at, v_at = (rest, worth) if path == 0 else (raised, worth_raised)
        pot = ante + path
        bets = path == 1 or batch[fields.MAY_OTHER]
        lose = column + n + n
        answer = lose + n + n
        if leads:
            spread(x, r_at, wins, loses, count, lanes, 0.0)
            for i in range(n):
                x[v_at + i] = pot * (x[loses + i] - x[wins + i])
            if bets:
                flow(lower, wins, one, n, column, KEEP if other == FINISH else other, weight)
                flow(lower, loses, two, n, lose, other, weight)
                for i in range(n):
                    w, b = x[one + i], x[two + i]
                    x[v_at + i] -= pot * (b - w)
                    x[one + i] = -pot * (b + w)
                    x[two + i] = (pot + 1.0) * (b - w)
                decide(lower, one, two, three, n, answer, own)
                for i in range(n):
                    x[v_at + i] += x[three + i]
        else:
            for i in range(n):
                x[wins + i] = pot * x[r_at + i]
                x[loses + i] = -pot * x[r_at + i]
            if bets:
                flow(lower, r_at, one, n, answer, other, weight)
                for i in range(n):
                    x[two + i] = x[wins + i] + x[one + i]
                    x[three + i] = x[wins + i] - (pot + pot + 1.0) * x[one + i]
                decide(lower, wins, two, wins, n, column, own)
                decide(lower, loses, three, loses, n, lose, own)
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
            decide(lower, worth, worth_raised, worth, n, bet, own)
        else:
            without(x, raised, one, count, lanes, 0.0)
            for i in range(n):
                x[one + i] *= -ante
            decide(lower, one, worth_raised, two, n, call, own)
            for i in range(n):
                x[worth + i] += x[two + i]
    for i in range(n):
        upper.x[value + i] = x[worth + i]
