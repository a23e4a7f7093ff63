"""The last trick of Toepen, for all cards of both seats and many stories at once: a batch, down and up.

Batches are worked on in single precision while solving (`update_last`) and in double precision to measure
(`measure_last`). Once the leader's last card lies on the table, what the other holds matters only as winning or
losing: two rows. Vectors are by lane (`toepen/kernels/endgame_plan.py`), so what the higher cards of a suit reach is
a prefix sum.
"""

from __future__ import annotations

from kibitz.core.jit import ONE, THREE, TWO, U64, part
from kibitz.toepen.kernels.endgame_plan import (
    AVERAGE,
    COLUMN,
    COUNT,
    FINISH,
    KEEP,
    LEADER,
    MAY_LEADER,
    MAY_OTHER,
    NORMALISE,
    PLACE,
    POT,
    RESPOND,
    UPDATE,
    WARM,
)


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
