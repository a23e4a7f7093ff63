"""Percentile buckets: hands in order of E[HS] or E[HS²], cut into groups that are equally likely.

    percentile(8)                                   # each bucket has 8 children in the next round
    percentile([8, 8, 8, 8], metric=ehs)
    percentile([169, 8, 8, 8], recall=false)        # so many in each round; the bucket before is forgotten
    percentile([169, 8, 8, 8], forget=1)            # buckets of the first round are forgotten, later ones remembered

It is what Gibson & Szafron 2011 use. With n buckets and hands of weight M, the top M / n are one bucket, the next M / n
another. Hands of the same value are never parted: they go where the middle of their weight falls. So a bucket may be
larger than others, and a parent may have fewer than n. A parent with no more than n lossless classes of hands keeps
these classes: that is how 169 buckets before the flop are the 169 hands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.strengths import HandStrengths, Tell, heard_as
from kibitz.poker.buckets.cuts import Points, cut_round
from kibitz.poker.buckets.hand_buckets import RoundBuckets

Ints = NDArray[np.int64]


def percentile_rounds(
    hands: HandStrengths, buckets: Sequence[int], metric: str, recall: bool, forget: int = 0, tell: Tell | None = None
) -> tuple[list[RoundBuckets], list[dict[str, Any]]]:
    """The buckets of all rounds, and for each the mean squared distance from the mean of its bucket.

    recall: whether a bucket tells the one before it; forget: the first of these rounds that does not.
    """
    rounds: list[RoundBuckets] = []
    facts: list[dict[str, Any]] = []
    for level, wanted in enumerate(buckets):

        def group(points: Points, wanted: int = wanted) -> list[Ints]:
            return [percentiles(points.of(p)[1], wanted) for p in range(points.parents)]

        def lossless(classes: Ints, wanted: int = wanted) -> NDArray[np.bool_]:
            return np.asarray(classes <= wanted)

        heard = heard_as(tell, f"round {level}: strengths of hands")
        above = rounds[-1] if rounds else None
        of, fact = cut_round(hands, level, metric, above, recall and level != forget, group, lossless, heard)
        rounds.append(of)
        facts.append(fact)
    return rounds, facts


def percentiles(weight: Ints, wanted: int) -> Ints:
    """The group of each point, from 0 without gaps: where the middle of its weight falls."""
    total = int(weight.sum())
    middle = 2 * np.cumsum(weight) - weight  # twice
    if total > (1 << 62) // max(wanted, 1) // 2:
        group = np.floor(middle / (2.0 * total) * wanted).astype(np.int64)
    else:
        group = middle * wanted // (2 * total)
    return np.unique(np.minimum(group, wanted - 1), return_inverse=True)[1].astype(np.int64)
