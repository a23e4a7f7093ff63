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
from kibitz.core.errors import SolverError
from kibitz.poker.buckets.cuts import Points, cut_round
from kibitz.poker.buckets.hand_buckets import RoundBuckets

Ints = NDArray[np.int64]
MOST = 1 << 20  # buckets of a round, or children of a bucket


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


# The finest buckets that a limit on infosets allows, spread over the rounds as evenly as it goes. [Gibson & Szafron
# 2011, Sec. 6] give each computation the same number of infosets: 24 million are 8 buckets a round of limit hold'em for
# two players, and more in an expert, which has a part of the game alone.


def decisions_of(betting: Any, wanted: NDArray[np.bool_] | None = None) -> list[int]:
    """By round: the betting's decisions, or those of them that are wanted."""
    here = betting.turn >= 0 if wanted is None else (betting.turn >= 0) & wanted
    return np.bincount(betting.round[here], minlength=betting.definition.rounds).tolist()  # type: ignore[no-any-return]


def infosets_of(decisions: Sequence[int], budgets: Sequence[int], recall: bool = True, forget: int = 0) -> int:
    """How many infosets percentile buckets have: n in each round, or n children of each bucket.

    forget: the first of these rounds whose buckets say nothing of those before.
    """
    total, buckets = 0, 1
    for level, (count, n) in enumerate(zip(decisions, budgets, strict=True)):
        buckets = buckets * n if recall and (level == 0 or level != forget) else n
        total += count * buckets
    return total


def finest(decisions: Sequence[int], limit: int, recall: bool = True) -> list[int]:
    """The most buckets, the same in all rounds but for one more in the first few."""
    _check_limit(infosets_of(decisions, [1] * len(decisions), recall), limit)
    low, high = 1, MOST
    while high - low > 1:
        middle = (low + high) // 2
        fits = infosets_of(decisions, [middle] * len(decisions), recall) <= limit
        low, high = (middle, high) if fits else (low, middle)
    budgets = [low] * len(decisions)
    for level in range(len(budgets)):
        more = [n + (k == level) for k, n in enumerate(budgets)]
        if infosets_of(decisions, more, recall) <= limit:
            budgets = more
    return budgets


def _check_limit(least: int, limit: int) -> None:
    if least > limit:
        raise SolverError(f"one bucket a round has {least:,} infosets already, more than the limit of {limit:,}")


def finest_after(decisions: Sequence[int], limit: int, first: int) -> list[int]:
    """The most buckets after a first round whose `first` buckets are forgotten: each round in turn has one more child
    of each bucket, as long as that fits [Gibson & Szafron 2011, for three players]."""
    budgets = [first] + [1] * (len(decisions) - 1)
    _check_limit(infosets_of(decisions, budgets, forget=1), limit)
    grows = len(budgets) > 1
    while grows:
        grows = False
        for level in range(1, len(budgets)):
            more = [n + (k == level) for k, n in enumerate(budgets)]
            if more[level] <= MOST and infosets_of(decisions, more, forget=1) <= limit:
                budgets, grows = more, True
    return budgets


def percentile_spec(budgets: Sequence[int], recall: bool = True, forget: int = 0) -> str:
    """The name of such buckets."""
    each = str(budgets[0]) if len(set(budgets)) == 1 else f"[{', '.join(map(str, budgets))}]"
    more = (", recall=false" if not recall else "") + (f", forget={forget}" if forget else "")
    return f"percentile({each}{more})"
