"""Two hands that tie and a third that is worse or better: the part of three.py that takes most of its time."""

from __future__ import annotations

from kibitz.cards.kernels.bundles import BITS, FOUR, I32, WIDE, ZERO, around, digit, four, opposite
from kibitz.core.jit import ONE, TWO, U64, part, small_part


@part
def ties(i, bundle, kinds, batch, work, top, bottom):
    """A hand of the bundle, another of its place, of this class or a later one, and a third below or above that shares
    no card with either."""
    place, kind = batch.place[i, bundle], batch.kind[i, bundle]
    a, b = kinds.rank[kind, 0], kinds.rank[kind, 1]
    tie_alike(i, bundle, kinds, batch, work, top[kind], bottom[kind])
    for other in range(bundle + ONE, batch.first[i, place + ONE]):
        third = batch.kind[i, other]
        c, d = kinds.rank[third, 0], kinds.rank[third, 1]
        if a in (c, d) or b in (c, d):
            tie_near(i, bundle, other, kinds, batch, work, top[third], bottom[third])
        else:
            tie_far(i, bundle, other, kinds, batch, work.thirds, top[third], bottom[third])


@part
def tie_far(i, bundle, other, kinds, batch, thirds, top, bottom):
    """Of two bundles without a common rank: each hand goes with each, and a third hand is taken off for each card that
    it shares with either."""
    place, weight = batch.place[i, bundle], batch.weight[i]
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    one, two = weight * batch.size[i, bundle], weight * batch.size[i, other]
    both = one * batch.size[i, other]
    for side in range(kinds.sides[here]):
        for against in range(kinds.sides[there]):
            for s in range(FOUR):
                mine = one_digit(batch.held[i, bundle, side], s) * weight
                if mine:
                    for t in range(FOUR):
                        met = mine * one_digit(batch.held[i, other, against], t)
                        add_third(FOUR * kinds.rank[here, side] + s, FOUR * kinds.rank[there, against] + t, i, place,
                                  met, kinds, batch, thirds)  # fmt: skip
    for k in range(TWO):
        row = bottom if k else top
        hands = batch.above[i, place] if k else batch.below[i, place]
        add_far(row, both, hands, two, batch.shares[i, bundle, k], one, batch.shares[i, other, k], thirds[k])


@small_part
def one_digit(word, k):
    return I32(digit(word, k))


@part
def add_far(row, both, hands, two, shares, one, others, thirds):
    for k in range(U64(WIDE)):
        row[k] += both * I32(hands[k]) - two * I32(shares[k]) - one * I32(others[k]) + thirds[k]
        thirds[k] = 0


@part
def tie_near(i, bundle, other, kinds, batch, work, top, bottom):
    """Of two classes with a common rank: hands share one card at most, and pairs that share none are all less those
    that do."""
    place, weight, met = batch.place[i, bundle], batch.weight[i], work.met
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    sizes = U64(batch.size[i, bundle]), U64(batch.size[i, other])
    count = sizes[0] * sizes[1]
    for side in range(kinds.sides[here]):
        for against in range(kinds.sides[there]):
            if kinds.rank[here, side] == kinds.rank[there, against]:
                count -= four(opposite(batch.held[i, bundle, side]), batch.held[i, other, against])
            pair_up(i, bundle, other, side, against, kinds, batch, work.thirds)
    if not count:
        return
    met[kinds.rank[here, 0]] = met[kinds.rank[here, 1]] = ZERO
    met[kinds.rank[there, 0]] = met[kinds.rank[there, 1]] = ZERO
    meet(bundle, other, i, sizes[1], kinds, batch, met)
    meet(other, bundle, i, sizes[0], kinds, batch, met)
    for side in range(kinds.sides[here]):
        take_off(i, kinds.rank[here, side], place, batch, met, work.thirds)
    for against in range(kinds.sides[there]):
        rank = kinds.rank[there, against]
        if rank != kinds.rank[here, 0] and rank != kinds.rank[here, 1]:
            take_off(i, rank, place, batch, met, work.thirds)
    add_near(top, weight, I32(count), batch.below[i, place], work.thirds[0])
    add_near(bottom, weight, I32(count), batch.above[i, place], work.thirds[1])


@part
def add_near(row, weight, count, hands, thirds):
    for k in range(U64(WIDE)):
        row[k] += weight * (count * I32(hands[k]) + thirds[k])
        thirds[k] = 0


@part
def meet(bundle, other, i, size, kinds, batch, met):
    """Add, by card of a bundle, the pairs of a hand that holds it and one of another bundle that shares no card."""
    here = batch.kind[i, bundle]
    for side in range(kinds.sides[here]):
        mine = batch.held[i, bundle, side]
        theirs = holding(i, other, kinds.rank[here, side], kinds, batch)
        partners = opposite(holding(i, other, kinds.rank[here, ONE - side], kinds, batch))
        word = ZERO
        for s in range(FOUR):
            with_card = digit(mine, s) * (size - digit(theirs, s)) - four(partners, batch.pairs[i, bundle, side, s])
            word |= with_card << (BITS * s)
        met[kinds.rank[here, side]] += word


@small_part
def holding(i, bundle, rank, kinds, batch):
    """How many hands of a bundle hold each card of a rank: a word."""
    kind = batch.kind[i, bundle]
    if kinds.rank[kind, 0] == rank:
        return batch.held[i, bundle, 0]
    if kinds.rank[kind, 1] == rank:
        return batch.held[i, bundle, 1]
    return ZERO


@part
def pair_up(i, bundle, other, side, against, kinds, batch, thirds):
    """Third hands of a card of one bundle and a card of the other: for each, pairs of hands that hold these cards and
    share none. The third was taken off twice."""
    here, there = batch.kind[i, bundle], batch.kind[i, other]
    rank, partner = kinds.rank[here, side], kinds.rank[here, ONE - side]
    second, last = kinds.rank[there, against], kinds.rank[there, ONE - against]
    place, mine, theirs = batch.place[i, bundle], batch.held[i, bundle, side], batch.held[i, other, against]
    for s in range(FOUR):
        ours = one_digit(mine, s)
        if not ours:
            continue
        goes = batch.pairs[i, bundle, side, s]
        back = opposite(goes)
        for t in range(FOUR):
            yours = one_digit(theirs, t)
            if not yours or (rank == second and s == t):
                continue
            times = ours * yours
            if partner == second:  # the first hand may be both cards
                times -= one_digit(goes, t) * yours
            if last == rank:  # the second may be
                times -= one_digit(batch.pairs[i, other, against, t], s) * ours
            if partner == last:
                times -= I32(four(back, batch.pairs[i, other, against, t]))
            add_third(FOUR * rank + s, FOUR * second + t, i, place, times, kinds, batch, thirds)


@small_part
def add_third(one, two, i, place, times, kinds, batch, thirds):
    """To the hand of two cards, by whether its place is below, above or the same: without a branch, which would be
    foreseen badly."""
    where = U64(batch.at[i, one, two])
    thirds[U64(where > place) + TWO * U64(where == place), kinds.of[one, two]] += times


@part
def tie_alike(i, bundle, kinds, batch, work, top, bottom):
    """Of a bundle with itself: hand by hand."""
    place, weight, kind = batch.place[i, bundle], batch.weight[i], batch.kind[i, bundle]
    a, b, pairs = kinds.rank[kind, 0], kinds.rank[kind, 1], batch.pairs[i, bundle, 0]
    alike, met, thirds = kinds.sides[kind] == ONE, work.met, work.thirds
    met[a] = met[b] = ZERO
    count, each = I32(0), I32(1)
    for s in range(FOUR):
        for t in range(s if alike else FOUR):
            if not digit(pairs[s], t):
                continue
            one, two = FOUR * a + s, FOUR * b + t
            for u in range(s + ONE, FOUR):  # hands with the same higher card share it
                for v in range(u if alike else FOUR):
                    if v == t or (alike and v == s) or not digit(pairs[u], v):
                        continue
                    three, last = FOUR * a + u, FOUR * b + v
                    count += each
                    met[a] += (ONE << (BITS * s)) + (ONE << (BITS * u))
                    met[b] += (ONE << (BITS * t)) + (ONE << (BITS * v))
                    add_third(one, three, i, place, each, kinds, batch, thirds)
                    add_third(one, last, i, place, each, kinds, batch, thirds)
                    add_third(two, three, i, place, each, kinds, batch, thirds)
                    add_third(two, last, i, place, each, kinds, batch, thirds)
    if count:
        for side in range(kinds.sides[kind]):
            take_off(i, kinds.rank[kind, side], place, batch, met, thirds)
        add_near(top, weight, count, batch.below[i, place], thirds[0])
        add_near(bottom, weight, count, batch.above[i, place], thirds[1])


@part
def take_off(i, rank, place, batch, met, thirds):
    """Third hands that hold a card of the two, of a rank."""
    word = opposite(met[rank])
    low, high = around(i, rank, place, batch)
    for k in range(low):
        thirds[0, batch.near_kind[i, rank, k]] -= I32(four(word, batch.near_held[i, rank, k]))
    for k in range(high, batch.near[i, rank]):
        thirds[1, batch.near_kind[i, rank, k]] -= I32(four(word, batch.near_held[i, rank, k]))
