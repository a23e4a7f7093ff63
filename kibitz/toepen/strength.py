"""Buckets of hands by their value under a solved strategy: what [Le 2021, Sec. 5.2] leaves open first.

The strategy plays against itself; the strength of a hand, for a seat and for the leader's or the reactor's half of a
trick, is the mean payoff that follows where the seat holds it at a decision. Hands that differ by names of suits count
as one. Hands of the same size are then cut into buckets, so that the strengths within a bucket are as close as can be
(k-means on a line, solved exactly), each hand weighing as often as it was seen.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.solvers.blueprint import Blueprint

Floats = NDArray[np.float64]
BUCKETS = 8
DEALS = 200_000
MOST_BUCKETS = 64
MOST_POINTS = 4096  # different strengths that are cut exactly; more are rounded to so many first


def strength_buckets(solved: Blueprint, buckets: int = BUCKETS, deals: int = DEALS, seed: int = 0) -> NDArray[np.uint8]:
    """[2, 2, hands]  bucket by seat, leader (0) or reactor (1), and number of the hand."""
    from kibitz.core.random import SCRATCH
    from kibitz.toepen.kernels.keys import HANDS
    from kibitz.toepen.kernels.machine import strengths

    if not 1 <= buckets <= MOST_BUCKETS:
        raise SolverError(f"buckets={buckets} must be from 1 to {MOST_BUCKETS}")
    if deals < 1:
        raise SolverError(f"deals={deals} must be 1 or more")
    sums = np.zeros((2, 2, 2, HANDS))
    scratch = np.zeros(SCRATCH, np.uint64), np.zeros(4), np.zeros((64, 3), np.uint64)
    strengths(solved.machine.game, solved.player(), seed, 0, deals, sums, *scratch)
    like, size = classes_of_hands()
    result = np.zeros((2, 2, HANDS), np.uint8)
    for seat in range(2):
        for role in range(2):
            total, times = (np.bincount(like, each[seat, role], HANDS).astype(np.float64) for each in sums)
            for cards in range(1, int(size.max()) + 1):
                hands = np.flatnonzero((size == cards) & (like == np.arange(HANDS)) & (times > 0))
                if len(hands):
                    result[seat, role, hands] = cut_line(total[hands] / times[hands], times[hands], buckets)
    return np.take_along_axis(result, np.broadcast_to(like, result.shape), axis=2)


def classes_of_hands() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For each hand by number: the number of the hand that stands for its class up to names of suits, and its size."""
    from kibitz.toepen.kernels.keys import CHOOSE
    from kibitz.toepen.kernels.rules import MOST_CARDS

    like, size, first = [], [], 0
    for cards in range(MOST_CARDS + 1):
        hands = np.array(list(combinations(range(32), cards)), np.int64).reshape(math.comb(32, cards), cards)
        masks = (np.int64(1) << hands).sum(axis=1)
        suits = np.sort(np.stack([masks >> (8 * suit) & 255 for suit in range(4)], axis=1), axis=1)
        stands = sum(suits[:, suit] << (8 * suit) for suit in range(4))
        numbers = first + CHOOSE[hands, np.arange(1, cards + 1)].astype(np.int64).sum(axis=1)
        known = np.argsort(masks)
        first_alike = numbers[known[np.searchsorted(masks[known], stands)]]
        like.append(first_alike[np.argsort(numbers)])
        size.append(np.full(len(hands), cards))
        first += len(hands)
    return np.concatenate(like), np.concatenate(size)


def cut_line(points: Floats, weights: Floats, buckets: int) -> NDArray[np.int64]:
    """The bucket of each point, numbered along the line, with the least weighted squares within buckets.

    Dynamic programme over the sorted points: cost[j] is the least for the first j of them, bucket by bucket.
    """
    rounded = points
    if len(np.unique(points)) > MOST_POINTS:
        step = (points.max() - points.min()) / MOST_POINTS
        rounded = np.round(points / step) * step
    place, at = np.unique(rounded, return_inverse=True)
    n = len(place)
    weight = np.bincount(at, weights, n)
    w, wx, wxx = (np.concatenate(([0.0], np.cumsum(weight * place**power))) for power in range(3))

    def within(j: int) -> Floats:
        """Squares of points i..j-1 around their mean, for i = 0..j-1."""
        mass = np.maximum(w[j] - w[:j], 1e-300)
        squares: Floats = np.maximum(wxx[j] - wxx[:j] - (wx[j] - wx[:j]) ** 2 / mass, 0.0)
        return squares

    cost = np.full(n + 1, np.inf)
    cost[0] = 0.0
    starts: list[NDArray[np.int64]] = []
    for _ in range(min(buckets, n)):
        best, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
        for j in range(1, n + 1):
            tried = cost[:j] + within(j)
            start[j] = int(np.argmin(tried))
            best[j] = tried[start[j]]
        cost = best
        starts.append(start)
    bucket, end = np.zeros(n, np.int64), n
    for k in range(len(starts) - 1, -1, -1):
        begin = int(starts[k][end])
        bucket[begin:end] = k
        end = begin
    return bucket[at]
