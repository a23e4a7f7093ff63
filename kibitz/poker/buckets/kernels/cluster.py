"""Clusters of points: exact ones on a line, k-means among distributions, and how many each parent may have.

Nothing here depends on the number of threads: a call works on the points of one parent, in the order it is given them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kibitz.core.jit import U64, kernel, part
from kibitz.core.random import GOLDEN, mix, next_unit

FAR = 1e300


class CentreTables(NamedTuple):
    """The centres of all contexts, and how points are made."""

    centre: np.ndarray  # float32[all, d]
    begin: np.ndarray  # int64[contexts + 1]  the first centre of each context
    order: np.ndarray  # int64[contexts, d]  buckets by strength
    gap: np.ndarray  # float32[contexts, d]  how far the next one in this order is


# On a line


@part
def cost_of(sums, i, j):
    """The squared distances of points i to j, both included, from their mean. sums [3, n + 1]: running sums."""
    weight = sums[0, j + 1] - sums[0, i]
    first = sums[1, j + 1] - sums[1, i]
    return max(0.0, sums[2, j + 1] - sums[2, i] - first * first / weight) if weight > 0.0 else 0.0


@kernel
def cluster_line(values, weights, sums, layers, stack, cost, split):
    """Clusters of points on a line with the least sum of squared distances from their means, for all numbers of them.

    values ascending, weights: float64[n]; cost: float64[k], of k clusters at k - 1; split: uint32[k, n], where the last
    of so many clusters of the first points begins, or of no rows where nobody asks. Divide and conquer, exact: where
    the last cluster begins ascends with the points [Wang & Song 2011; Wu 1991]. sums: float64[3, n + 1], layers:
    float64[2, n], stack: int64[4, at least 64 and two times log n].
    """
    n = values.shape[0]
    most = min(cost.shape[0], n)
    kept = split.shape[0] > 0
    middle = values[n // 2]  # sums of what is left of it lose fewer digits
    sums[0, 0] = sums[1, 0] = sums[2, 0] = 0.0
    for i in range(n):
        x = values[i] - middle
        sums[0, i + 1] = sums[0, i] + weights[i]
        sums[1, i + 1] = sums[1, i] + weights[i] * x
        sums[2, i + 1] = sums[2, i] + weights[i] * x * x
    now, before = 0, 1
    for j in range(n):
        layers[now, j] = cost_of(sums, 0, j)
        if kept:
            split[0, j] = 0
    cost[0] = layers[now, n - 1]
    for k in range(1, most):
        now, before = before, now
        for j in range(k):  # fewer points than clusters: one each
            layers[now, j] = 0.0
            if kept:
                split[k, j] = j
        stack[0, 0], stack[1, 0], stack[2, 0], stack[3, 0] = k, n - 1, k, n - 1
        height = 1
        while height > 0:
            height -= 1
            low, high, least, most_at = stack[0, height], stack[1, height], stack[2, height], stack[3, height]
            j = (low + high) // 2
            best, best_at = FAR, least
            for i in range(least, min(most_at, j) + 1):
                total = layers[before, i - 1] + cost_of(sums, i, j)
                if total < best:
                    best, best_at = total, i
            layers[now, j] = best
            if kept:
                split[k, j] = best_at
            if low < j:
                stack[0, height], stack[1, height], stack[2, height], stack[3, height] = low, j - 1, least, best_at
                height += 1
            if j < high:
                stack[0, height], stack[1, height], stack[2, height], stack[3, height] = j + 1, high, best_at, most_at
                height += 1
        cost[k] = layers[now, n - 1]
    for k in range(most, cost.shape[0]):
        cost[k] = 0.0


# How many buckets each parent may have


@kernel
def share_budget(error, most, budget, layers, choice):
    """The numbers of children with the least sum of errors, by dynamic programming over parents.

    error: float64[P, k], of k + 1 children; most: int64[P], what a parent can have; layers: float64[2, budget + 1];
    choice: uint16[P, budget + 1]. Returns the least budget that is as good as the whole.
    """
    parents = error.shape[0]
    now, before = 0, 1
    for b in range(budget + 1):
        layers[now, b] = FAR
    layers[now, 0] = 0.0
    reach = 0
    for p in range(parents):
        now, before = before, now
        for b in range(budget + 1):
            layers[now, b] = FAR
        last = budget - (parents - 1 - p)  # the others need one each
        for k in range(1, most[p] + 1):
            add = error[p, k - 1]
            for b in range(p + k, min(reach + k, last) + 1):
                total = layers[before, b - k] + add
                if total < layers[now, b]:
                    layers[now, b] = total
                    choice[p, b] = k
        reach = min(reach + most[p], last)
    best = parents
    for b in range(parents, reach + 1):
        if layers[now, b] < layers[now, best]:
            best = b
    return best


# Among distributions


@part
def apart(points, i, centre, c, norm):
    """The distance of a point from a centre: squared for norm 2, sum of differences for norm 1."""
    total = 0.0
    if norm == 2:
        for d in range(points.shape[1]):
            x = points[i, d] - centre[c, d]
            total += x * x
    else:
        for d in range(points.shape[1]):
            total += abs(points[i, d] - centre[c, d])
    return total


@part
def nearest(points, i, centre, count, norm):
    """The nearest of the centres, the first of those that are as near, and how far it is."""
    best, at = FAR, 0
    for c in range(count):
        distance = apart(points, i, centre, c, norm)
        if distance < best:
            best, at = distance, c
    return at, best


@kernel
def k_means(points, weights, norm, rounds, state, near, label, centre, total):
    """k-means from a k-means++ start: centres are means. Returns the weighted sum of distances (not squared ones).

    points: float32[n, d], all different; weights: float64[n]; state: uint64[1], random numbers; near: float64[n];
    label: int64[n]; centre: float32[count, d]; total: float64[count, d + 1]. A cluster that has lost all points takes
    the point that is farthest from its centre.
    """
    n, width = points.shape
    count = centre.shape[0]
    for i in range(n):
        near[i] = FAR
    for c in range(count):
        whole = 0.0
        for i in range(n):
            whole += weights[i] if c == 0 else weights[i] * near[i]
        pick, left = n - 1, next_unit(state) * whole
        for i in range(n):
            left -= weights[i] if c == 0 else weights[i] * near[i]
            if left < 0.0 and (c == 0 or near[i] > 0.0):
                pick = i
                break
        if c > 0 and near[pick] <= 0.0:  # rounding at the end: the farthest
            for i in range(n):
                if near[i] > near[pick]:
                    pick = i
        for d in range(width):
            centre[c, d] = points[pick, d]
        for i in range(n):
            near[i] = min(near[i], apart(points, i, centre, c, norm))
    for i in range(n):
        label[i] = -1
    for _ in range(rounds):
        moved = False
        for c in range(count):
            for d in range(width + 1):
                total[c, d] = 0.0
        for i in range(n):
            at, near[i] = nearest(points, i, centre, count, norm)
            moved = moved or at != label[i]
            label[i] = at
            for d in range(width):
                total[at, d] += weights[i] * points[i, d]
            total[at, width] += weights[i]
        if not moved:
            break
        for c in range(count):
            if total[c, width] > 0.0:
                for d in range(width):
                    centre[c, d] = total[c, d] / total[c, width]
            else:
                far = 0
                for i in range(n):
                    if near[i] > near[far]:
                        far = i
                near[far] = 0.0
                for d in range(width):
                    centre[c, d] = points[far, d]
    error = 0.0
    for i in range(n):
        label[i], distance = nearest(points, i, centre, count, norm)
        error += weights[i] * (math.sqrt(distance) if norm == 2 else distance)
    return error


@part
def feature(counts, n, h, c, order, gap, moved, out):
    """What a hand does next as a point: chances of each bucket; or, `moved`, for the earth mover's distance on a line,
    chances up to each bucket in order, times how far the next one is."""
    total = 0.0
    for d in range(counts.shape[2]):
        total += counts[n, h, d]
    if moved:
        up_to = 0.0
        for d in range(counts.shape[2]):
            up_to += counts[n, h, order[c, d]]
            out[d] = up_to / total * gap[c, d]
    else:
        for d in range(counts.shape[2]):
            out[d] = counts[n, h, d] / total


@kernel
def pick(context, first, salt, limit, at, out):
    """A sample of hands, context by context: those whose number, hashed, is at most the limit of their context.

    context [boards, hands]; first: the number of the first board; limit: uint64[contexts]; at: int64[contexts], where
    the next of each goes; out: int64[all], or empty to count only.
    """
    hands = context.shape[1]
    for n in range(context.shape[0]):
        for h in range(hands):
            number = (first + n) * hands + h
            c = context[n, h]
            if mix((U64(number) ^ salt) + GOLDEN) <= limit[c]:
                if out.shape[0]:
                    out[at[c]] = number
                at[c] += 1


@kernel
def features(counts, chosen, c, order, gap, moved, out):
    """The points of chosen hands of a context. counts [boards, hands, buckets]; out: float32[chosen, buckets]."""
    hands = counts.shape[1]
    for k in range(chosen.shape[0]):
        feature(counts, chosen[k] // hands, chosen[k] % hands, c, order, gap, moved, out[k])


@kernel
def assign(counts, context, total, centres, moved, norm, point, out, error):
    """The nearest centre of each hand among those of its context, counted from the first of these. Distances, times the
    boards that a hand's board stands for, are added by context.

    total: int64[boards]; point: float32[1, d], to work in; out [boards, hands]; error: float64[contexts].
    """
    centre, begin, order, gap = centres
    for n in range(counts.shape[0]):
        for h in range(counts.shape[1]):
            c = context[n, h]
            feature(counts, n, h, c, order, gap, moved, point[0])
            best, at = FAR, 0
            for k in range(begin[c], begin[c + 1]):
                distance = apart(point, 0, centre, k, norm)
                if distance < best:
                    best, at = distance, k - begin[c]
            out[n, h] = at
            error[c] += total[n] * (math.sqrt(best) if norm == 2 else best)
