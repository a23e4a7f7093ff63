"""Expectation-based buckets, as of GS2: hands of a parent by E[HS] or E[HS²], clustered on a line [Gilpin & Sandholm
2007; EB and EB² in Gilpin & Sandholm 2008].

    expectation([15, 225, 900, 3600])               # buckets of each round, in all
    expectation([15, 225, 900, 3600], metric=ehs2)

Round by round from the first. In each, the hands of each bucket of the round before are clustered, into 1, 2, ...
clusters, such that the sum of squared distances from their means is least; an integer programme then decides how many
children each parent has, such that the expected error of the round is least (`allocate`).

Departs from the paper: clusters on a line are exact, where k-means finds good ones. A parent with more than GRID
distinct values has them rounded to as many steps first, which are far finer than any bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import METRICS, HandStrengths, Heard, Tell, each_call, heard_as
from kibitz.core.errors import SpecError
from kibitz.poker.buckets.cuts import Points, cut_round, tabled
from kibitz.poker.buckets.hand_buckets import RoundBuckets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CHOICES = 2_000_000_000  # entries of the dynamic programme's table, at 2 bytes
GRID = 16_384  # distinct values of a parent
LEAST_MOST, TIMES_MEAN = 32, 8  # a parent has at most so many children, or so many times the mean


def expectation_rounds(
    hands: HandStrengths, buckets: Sequence[int], metric: str, tell: Tell | None = None
) -> tuple[list[RoundBuckets], list[dict[str, Any]]]:
    """The buckets of all rounds, and for each the mean squared distance from the mean of its bucket."""
    rounds: list[RoundBuckets] = []
    facts: list[dict[str, Any]] = []
    for level, budget in enumerate(buckets):
        check_budget("expectation", level, budget, rounds[-1].count if rounds else 1)
        heard = heard_as(tell, f"round {level}: strengths of hands")
        of, fact = clustered_round(hands, level, metric, rounds[-1] if rounds else None, budget, heard)
        rounds.append(of)
        facts.append(fact)
    return rounds, facts


def clustered_round(
    hands: HandStrengths, level: int, metric: str, above: RoundBuckets | None, budget: int, heard: Heard | None
) -> tuple[RoundBuckets, dict[str, Any]]:
    """The buckets of one round by clusters on a line, at most `budget` of them, and its expected error."""

    def group(points: Points) -> list[Ints]:
        return line_groups(points, scaled(hands, level, metric, points.value), budget)

    def lossless(classes: Ints) -> NDArray[np.bool_]:
        return np.full(len(classes), classes.sum() <= budget)

    return cut_round(hands, level, metric, above, True, group, lossless, heard)


def check_budget(name: str, level: int, budget: int, parents: int) -> None:
    if budget < parents:
        raise SpecError(
            f"{name}: round {level} may have {budget:,} buckets, and the round before has {parents:,}, and each of "
            "those needs at least one: use more buckets in this round, or fewer in the round before"
        )


def scaled(hands: HandStrengths, level: int, metric: str, value: NDArray[np.uint64]) -> Floats:
    """Values of points as strengths from 0 to 1."""
    if tabled(hands, level):
        return np.asarray(value / hands.scale(level, metric))
    return np.asarray((value / hands.top) ** METRICS[metric])


def most_children(parents: int, budget: int, points: int) -> int:
    """How many children a parent may have: what the others leave, and not more than is sensible."""
    return max(1, min(points, budget - parents + 1, max(LEAST_MOST, TIMES_MEAN * -(-budget // parents))))


def line_groups(points: Points, x: Floats, budget: int) -> list[Ints]:
    """The group of each point: exact clusters on a line, their numbers by the integer programme."""
    total = float(points.weight.sum())
    lines = [_line(x[points.first[p] : points.first[p + 1]], points.of(p)[1] / total) for p in range(points.parents)]

    most = [most_children(points.parents, budget, len(values)) for values, _, _ in lines]
    errors = each_call(line_errors, [(values, weights, most[p]) for p, (values, weights, _) in enumerate(lines)])
    chosen = allocate(errors, budget)
    counts = [int(count) for count in chosen]
    groups = each_call(line_clusters, [(values, weights, counts[p]) for p, (values, weights, _) in enumerate(lines)])
    return [of_parent[step] for of_parent, (_, _, step) in zip(groups, lines, strict=True)]


def allocate(errors: list[Floats], budget: int) -> Ints:
    """[parents]  numbers of children: the integer programme of GS2 and GS3 [Gilpin & Sandholm 2007].

    Each parent i has k_i children, at least one; they sum to at most the budget, and the sum of the errors e_i(k_i) is
    least. errors: for each parent those of 1, 2, ... children, times its probability. A dynamic programme over parents,
    exact. Of several that are as good the one that asks for the fewest buckets is taken.
    """
    from kibitz.poker.buckets.kernels.cluster import share_budget

    if budget < len(errors):
        raise SpecError(f"{len(errors):,} parents have at least one child each: a budget of {budget:,} is too small")
    most = np.array([len(of_parent) for of_parent in errors], np.int64)
    if budget >= most.sum():
        return np.array([int(np.argmin(of_parent)) + 1 for of_parent in errors], np.int64)
    if len(errors) * (budget + 1) > MOST_CHOICES:
        raise SpecError(f"{budget:,} buckets for {len(errors):,} parents are too many to distribute: use fewer")
    table = np.full((len(errors), int(most.max())), np.inf)
    for p, of_parent in enumerate(errors):
        table[p, : len(of_parent)] = of_parent
    choice = np.zeros((len(errors), budget + 1), np.uint16)
    left = int(share_budget(table, most, budget, np.empty((2, budget + 1)), choice))
    children = np.empty(len(errors), np.int64)
    for p in range(len(errors) - 1, -1, -1):
        children[p] = choice[p, left]
        left -= int(children[p])
    return children


def _line(x: Floats, weight: Floats) -> tuple[Floats, Floats, Ints]:
    """(values, weights, the value that each point has become): not more than GRID of them."""
    if len(x) <= GRID:
        return x, weight, np.arange(len(x))
    width = (x[-1] - x[0]) / GRID
    step = np.unique(np.minimum((x - x[0]) / width, GRID - 1).astype(np.int64), return_inverse=True)[1]
    whole = np.bincount(step, weight)
    return np.asarray(np.bincount(step, weight * x) / whole), np.asarray(whole, np.float64), step.astype(np.int64)


def line_errors(values: Floats, weights: Floats, most: int) -> Floats:
    """[most]  the least sums of squared distances for 1, 2, ... clusters."""
    return _clustered(values, weights, most, np.empty((0, 0), np.uint32))


def line_clusters(values: Floats, weights: Floats, count: int) -> Ints:
    """The cluster of each point, from 0 on, of the best clusters."""
    n = len(values)
    count = min(count, n)
    split = np.zeros((count, n), np.uint32)
    _clustered(values, weights, count, split)
    cluster, end = np.empty(n, np.int64), n - 1
    for k in range(count - 1, -1, -1):
        begin = int(split[k, end])
        cluster[begin : end + 1] = k
        end = begin - 1
    return cluster


def _clustered(values: Floats, weights: Floats, most: int, split: NDArray[np.uint32]) -> Floats:
    from kibitz.poker.buckets.kernels.cluster import cluster_line

    n, cost = len(values), np.zeros(most)
    cluster_line(values, weights, np.empty((3, n + 1)), np.empty((2, n)), np.zeros((4, 128), np.int64), cost, split)
    return cost
