"""A few flops that stand for all: which ones, how much each counts, and how wrong means over them are.

Each flop is a point: the distributions of the equities of both ranges over their hands, and its texture. Flops are
chosen by weighted k-medoids: from the first medoid on, greedily the flop that brings all others nearest to one that is
chosen, each counted as likely as it is; then medoids and the flops that are nearest to them are found in turns until
nothing changes. A chosen flop counts as much as the flops that are nearest to it. Then the weights are changed a little
so that the means of the points are those of all flops (calibration, as of surveys).

What that costs is measured on quantities that are known for all flops: `errors_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.spots.flops import RANK_CLASSES, SUIT_CLASSES, Flop, texture_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SIZES = (25, 49, 95, 184)  # that reports offer
TEXTURE = 0.5  # of the variance of points, beside that of the equities
STRENGTH = 300.0  # of calibration: how much a difference of means counts beside a change of weights
MOST_TURNS = 100
DRAWS = 200  # random subsets that a subset is compared with


class FlopSubset(NamedTuple):
    """Flops by number, in order, and what each counts."""

    numbers: Ints  # [n]
    weights: Floats  # [n]  which sum to 1


class SubsetError(NamedTuple):
    """How wrong the mean of a quantity over a subset is."""

    quantity: str
    mean: float  # over all flops
    estimate: float  # over the subset
    spread: float  # the standard deviation over all flops
    random: float  # the root mean square of the error of random subsets of the same size

    @property
    def error(self) -> float:
        return self.estimate - self.mean


def points_of(flops: Sequence[Flop], equities: Floats, chance: Floats) -> Floats:
    """[flops, d]  points, around 0. equities: [flops, k], any numbers about what hands are worth there."""
    return np.concatenate([_scaled(equities, chance, 1.0), _scaled(_textures(flops), chance, TEXTURE)], axis=1)


def _textures(flops: Sequence[Flop]) -> Floats:
    rows = []
    for flop in flops:
        texture = texture_of(flop)
        high, middle, low = (card // 4 / 12 for card in flop.cards)
        rows.append([*(texture.suits == word for word in SUIT_CLASSES.values()),
                     *(texture.ranks == word for word in RANK_CLASSES.values()), high, middle, low])  # fmt: skip
    return np.array(rows, np.float64)


def _scaled(columns: Floats, chance: Floats, variance: float) -> Floats:
    """Columns around 0, whose variances add up to a number."""
    centred = columns - chance @ columns
    total = float((chance @ centred**2).sum())
    return centred * np.sqrt(variance / total) if total > 0 else centred


def choose(points: Floats, chance: Floats, size: int) -> FlopSubset:
    """A subset of so many flops that stand for all, by weighted k-medoids with calibrated weights."""
    if not 1 <= size <= len(points):
        raise GameError(f"a subset of {size:,} flops: choose 1 to {len(points):,}")
    if size == len(points):
        return FlopSubset(np.arange(size), chance.copy())
    squares = (points**2).sum(axis=1)
    far = np.maximum(0.0, squares[:, None] + squares - 2.0 * points @ points.T)
    medoids = _in_turns(far, chance, _greedy(far, chance, size))
    nearest = np.argmin(far[:, medoids], axis=1)
    shares = np.asarray(np.bincount(nearest, chance, size), np.float64)
    return FlopSubset(medoids, _calibrated(points[medoids], shares))


def _greedy(far: Floats, chance: Floats, size: int) -> Ints:
    chosen: list[int] = []
    near = np.full(len(far), np.inf)
    for _ in range(size):
        left = chance @ np.minimum(far, near[:, None]) if chosen else chance @ far
        left[chosen] = np.inf
        chosen.append(int(np.argmin(left)))
        near = np.minimum(near, far[:, chosen[-1]])
    return np.array(chosen, np.int64)


def _in_turns(far: Floats, chance: Floats, medoids: Ints) -> Ints:
    for _ in range(MOST_TURNS):
        nearest = np.argmin(far[:, medoids], axis=1)
        after = medoids.copy()
        for k in range(len(medoids)):
            members = np.flatnonzero(nearest == k)
            if len(members):
                after[k] = members[np.argmin(chance[members] @ far[np.ix_(members, members)])]
        if np.array_equal(after, medoids):
            break
        medoids = after
    return np.sort(medoids)


def _calibrated(points: Floats, shares: Floats) -> Floats:
    """Weights near the shares, 0 or more, whose mean point is near 0: least squares."""
    from scipy.optimize import nnls

    shares = np.maximum(shares, 1e-12)
    rows = np.concatenate([np.diag(1 / np.sqrt(shares)), np.sqrt(STRENGTH) * points.T, [np.full(len(shares), 1e4)]])
    goal = np.concatenate([np.sqrt(shares), np.zeros(points.shape[1]), [1e4]])
    weights, _ = nnls(rows, goal)
    return np.asarray(weights / weights.sum())


# How wrong it is


def errors_of(subset: FlopSubset, chance: Floats, quantities: dict[str, Floats], seed: int = 0) -> list[SubsetError]:
    """For each quantity, [flops]: its mean over all flops, over the subset, and the error of random subsets.

    A random subset draws flops as likely as they are, and all of it counts the same.
    """
    random = np.random.default_rng(seed)
    draws = random.choice(len(chance), (DRAWS, len(subset.numbers)), p=chance)
    errors = []
    for quantity, values in quantities.items():
        mean = float(chance @ values)
        spread = float(np.sqrt(chance @ (values - mean) ** 2))
        drawn = float(np.sqrt(np.mean((values[draws].mean(axis=1) - mean) ** 2)))
        errors.append(SubsetError(quantity, mean, float(subset.weights @ values[subset.numbers]), spread, drawn))
    return errors
