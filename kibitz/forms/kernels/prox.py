"""Dilated prox functions on a treeplex: smoothed best responses, distances, weights.

With w the weights of points, x_p the plan of the sequence that leads to a point, b a plan's probabilities there
and c those of the centre, the prox functions are

    entropy     d(x) = sum over points of w x_p sum_a b_a log(b_a / c_a)
    Euclidean   d(x) = sum over points of w x_p / 2 sum_a (b_a - c_a)^2

They are 0 at the centre. As d is homogeneous in the plan but for linear terms, the Bregman distance of a plan from
another is d with the other's probabilities for a centre, and moving the centre changes d by a linear function: it is as
strongly convex as before.

How convex they are. Let r > 0 be numbers of points with w = r + max over actions of the sum of w over the points after
it (`weigh`). Sorted by sequences, entropy is a linear function and sum_s (w_s - sum of w over the points after s) x_s
log x_s, where w_s is that of the point of s: at least r_s times x_s log x_s. The second derivative in the direction h
is at least sum_s r_s h_s^2 / x_s. So it is strongly convex with modulus 1 in the norm whose square is sum_s r_s h_s^2
[Farina, Kroer & Sandholm 2021]. The second derivative of the Euclidean one is the sum over points of w / x_p sum_a
(h_a - b_a h_p)^2. Take any t > 0 and k = (1 + 1/t)(r + max over actions of the sum of k after it),
from the last points up: it is at least the least of w / (t k) times sum_s r_s h_s^2.

A `Treeplex` (kibitz.forms.treeplex) is handed over as it is. All arrays are of one seat, by its own sequences or
points.
"""

from __future__ import annotations

import math

from kibitz.core.barrier import claim, meet
from kibitz.core.jit import TWO, U64, kernel, part, small_part

BEST, ENTROPY, EUCLIDEAN = 0, 1, 2


@small_part
def centre_at(centre, s, width):
    """A centre's probability; one without entries is uniform."""
    return centre[s] if centre.shape[0] else 1.0 / width


@part
def soften(tree, p, centre, m, worth, plan):
    """max over b of <worth, b> - m sum b log(b / c), which is m log sum c exp(worth / m); b goes into plan."""
    width = U64(tree.width[p])
    stride = U64(tree.stride[p])
    s = U64(tree.first[p])
    if width == TWO:
        z = s + stride
        c = centre_at(centre, z, width)
        away = (worth[z] - worth[s]) / m
        if away <= 0.0:  # the first is as good: take the exponential of what is not above zero
            e = math.exp(away)
            total = (1.0 - c) + c * e
            plan[z] = c * e / total
            plan[s] = 1.0 - plan[z]
            return worth[s] + m * math.log(total)
        e = math.exp(-away)
        total = c + (1.0 - c) * e
        plan[s] = (1.0 - c) * e / total
        plan[z] = 1.0 - plan[s]
        return worth[z] + m * math.log(total)
    end = s + width * stride
    most = worth[s]
    while s < end:
        most = max(most, worth[s])
        s += stride
    s = U64(tree.first[p])
    total = 0.0
    while s < end:
        b = centre_at(centre, s, width) * math.exp((worth[s] - most) / m)
        plan[s] = b
        total += b
        s += stride
    s = U64(tree.first[p])
    while s < end:
        plan[s] /= total
        s += stride
    return most + m * math.log(total)


@part
def project(tree, p, centre, m, worth, plan):
    """max over b of <worth, b> - m/2 |b - c|^2: the point of the simplex that is nearest to c + worth / m."""
    width = U64(tree.width[p])
    stride = U64(tree.stride[p])
    first = U64(tree.first[p])
    if width == TWO:
        z = first + stride
        c = centre_at(centre, z, width)
        b = min(max(c + 0.5 * (worth[z] - worth[first]) / m, 0.0), 1.0)
        plan[z] = b
        plan[first] = 1.0 - b
        return worth[first] + b * (worth[z] - worth[first]) - m * (b - c) * (b - c)
    end = first + width * stride
    s = first
    most = worth[s]
    while s < end:
        most = max(most, worth[s])
        s += stride
    # What lies above a level is kept, less the level, and that adds up to one. All are taken off the largest, so that
    # what is kept is of size one.
    s = first
    total = 0.0
    while s < end:
        plan[s] = centre_at(centre, s, width) + (worth[s] - most) / m
        total += plan[s]
        s += stride
    kept = width
    level = (total - 1.0) / kept
    while True:
        count = U64(0)
        total = 0.0
        s = first
        while s < end:
            if plan[s] > level:
                count += U64(1)
                total += plan[s]
            s += stride
        if count >= kept or count == U64(0):
            break
        kept = count
        level = (total - 1.0) / kept
    value = 0.0
    s = first
    while s < end:
        b = max(plan[s] - level, 0.0)
        away = b - centre_at(centre, s, width)
        plan[s] = b
        value += worth[s] * b - 0.5 * m * away * away
        s += stride
    return value


@part
def choose(tree, p, worth, plan):
    """max over b of <worth, b>: the first best action."""
    stride = U64(tree.stride[p])
    s = U64(tree.first[p])
    end = s + U64(tree.width[p]) * stride
    best = s
    while s < end:
        plan[s] = 0.0
        if worth[s] > worth[best]:
            best = s
        s += stride
    plan[best] = 1.0
    return worth[best]


@kernel
def respond(tree, kind, weight, centre, mu, worth, plan, thread, threads, gate):
    """plan: the x that maximises <worth, x> - mu d(x); worth[0] becomes that maximum.

    weight: float[P]; centre: float64[S], or [0] for uniform; worth, plan: float64[S].
    """
    for level in range(tree.level.shape[0] - 2, -1, -1):
        low, pieces = tree.level[level], tree.level[level + 1] - tree.level[level]
        i = claim(gate, thread, threads, -1, pieces)
        while i < pieces:
            for p in range(U64(tree.chunk[low + i]), U64(tree.chunk[low + i + 1])):
                if kind == ENTROPY:
                    value = soften(tree, p, centre, mu * weight[p], worth, plan)
                elif kind == EUCLIDEAN:
                    value = project(tree, p, centre, mu * weight[p], worth, plan)
                else:
                    value = choose(tree, p, worth, plan)
                worth[tree.parent[p]] += value
            i = claim(gate, thread, threads, i, pieces)
        meet(gate, threads)
    if thread == 0:
        plan[0] = 1.0
    meet(gate, threads)
    for level in range(tree.level.shape[0] - 1):
        low, pieces = tree.level[level], tree.level[level + 1] - tree.level[level]
        i = claim(gate, thread, threads, -1, pieces)
        while i < pieces:
            for p in range(U64(tree.chunk[low + i]), U64(tree.chunk[low + i + 1])):
                above = plan[tree.parent[p]]
                stride = U64(tree.stride[p])
                s = U64(tree.first[p])
                end = s + U64(tree.width[p]) * stride
                while s < end:
                    plan[s] *= above
                    s += stride
            i = claim(gate, thread, threads, i, pieces)
        meet(gate, threads)


@kernel
def localise(tree, plan, centre, thread, threads, gate):
    """centre: the probabilities of a plan at each point, uniform where the plan does not go. May be the same array
    only if nobody reads the plan any more."""
    for level in range(tree.level.shape[0] - 2, -1, -1):
        low, pieces = tree.level[level], tree.level[level + 1] - tree.level[level]
        i = claim(gate, thread, threads, -1, pieces)
        while i < pieces:
            for p in range(U64(tree.chunk[low + i]), U64(tree.chunk[low + i + 1])):
                stride = U64(tree.stride[p])
                width = U64(tree.width[p])
                s = U64(tree.first[p])
                end = s + width * stride
                total = 0.0
                while s < end:
                    total += plan[s]
                    s += stride
                s = U64(tree.first[p])
                while s < end:
                    centre[s] = plan[s] / total if total > 0.0 else 1.0 / width
                    s += stride
            i = claim(gate, thread, threads, i, pieces)
        meet(gate, threads)
    if thread == 0:
        centre[0] = 1.0


@kernel
def distance(tree, kind, weight, centre, plan):
    """d(x) of a plan: with another plan's probabilities for a centre, the Bregman distance from that."""
    total = 0.0
    for p in range(U64(tree.first.shape[0])):
        width = U64(tree.width[p])
        stride = U64(tree.stride[p])
        above = plan[tree.parent[p]]
        s = U64(tree.first[p])
        end = s + width * stride
        here = 0.0
        while s < end:
            c = centre_at(centre, s, width)
            if kind == EUCLIDEAN:
                if above > 0.0:
                    away = plan[s] / above - c
                    here += 0.5 * above * away * away
            elif plan[s] > 0.0:
                here += plan[s] * math.log(plan[s] / (above * c))
            s += stride
        total += weight[p] * here
    return total


@kernel
def weigh(tree, own, factor, weight, after):
    """weight = factor (own + max over actions of the sum of weights after it), from the last points up.

    own: float[P], the r above; after: float64[S], zeros, for the sums after each sequence.
    """
    for q in range(tree.first.shape[0]):
        p = U64(tree.first.shape[0] - 1 - q)
        stride = U64(tree.stride[p])
        s = U64(tree.first[p])
        end = s + U64(tree.width[p]) * stride
        most = 0.0
        while s < end:
            most = max(most, after[s])
            s += stride
        total = factor * (own[p] + most)
        weight[p] = total
        after[tree.parent[p]] += total


@kernel
def share_out(tree, children, own, share):
    """own: float[P], the share of play that comes to a point if all points after a sequence are equally likely.

    children: int64[S], how many points follow a sequence; share: float64[S], for what comes to each sequence.
    """
    share[0] = 1.0
    for p in range(U64(tree.first.shape[0])):
        parent = tree.parent[p]
        part = share[parent] / children[parent]
        own[p] = part
        stride = U64(tree.stride[p])
        s = U64(tree.first[p])
        end = s + U64(tree.width[p]) * stride
        while s < end:
            share[s] = part
            s += stride
