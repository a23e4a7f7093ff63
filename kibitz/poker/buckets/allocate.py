"""How many children each bucket may have: the integer programme of GS2 and GS3 [Gilpin & Sandholm 2007].

Choose k_i for each parent i, from 1 to what it can have, such that the k_i sum to at most the budget of the round and
the sum of the errors e_i(k_i) is least. Each e_i is weighted by the probability of the parent already. It is solved
exactly by a dynamic programme over parents.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CHOICES = 2_000_000_000  # entries of the dynamic programme's table, at 2 bytes


def allocate(errors: list[Floats], budget: int) -> Ints:
    """[parents]  numbers of children. errors: for each parent those of 1, 2, ... children.

    Of several that are as good the one that asks for the fewest buckets is taken.
    """
    from kibitz.poker.buckets.kernels.cluster import share_budget

    if budget < len(errors):
        raise SpecError(f"{len(errors):,} parents have at least one child each: a budget of {budget:,} is too small")
    most = np.array([len(each) for each in errors], np.int64)
    if budget >= most.sum():
        return np.array([int(np.argmin(each)) + 1 for each in errors], np.int64)
    if len(errors) * (budget + 1) > MOST_CHOICES:
        raise SpecError(f"{budget:,} buckets for {len(errors):,} parents are too many to share out: take fewer")
    table = np.full((len(errors), int(most.max())), np.inf)
    for p, each in enumerate(errors):
        table[p, : len(each)] = each
    choice = np.zeros((len(errors), budget + 1), np.uint16)
    left = int(share_budget(table, most, budget, np.empty((2, budget + 1)), choice))
    children = np.empty(len(errors), np.int64)
    for p in range(len(errors) - 1, -1, -1):
        children[p] = choice[p, left]
        left -= int(children[p])
    return children
