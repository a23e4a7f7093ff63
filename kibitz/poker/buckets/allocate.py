"""How many children each bucket may have: the integer programme of GS2 and GS3 [Gilpin & Sandholm 2007].

Choose k_i for each parent i, from 1 to what it can have, such that the k_i sum to at most the budget of the round and
the sum of the errors e_i(k_i) is least. Each e_i is weighted by the probability of the parent already. Two ways that
agree: a dynamic programme over parents, exact and the default, and HiGHS, with a 0-1 variable for each (parent, k).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError, SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_CHOICES = 2_000_000_000  # entries of the dynamic programme's table, at 2 bytes


def allocate(errors: list[Floats], budget: int, method: str = "dp") -> Ints:
    """[parents]  numbers of children. errors: for each parent those of 1, 2, ... children.

    Of several that are as good the one that asks for the fewest buckets is taken.
    """
    if budget < len(errors):
        raise SpecError(f"{len(errors):,} parents have at least one child each: a budget of {budget:,} is too small")
    if method not in ("dp", "milp"):
        raise SpecError(f"the integer programme is solved by dp or milp, not by {method!r:.80}")
    most = np.array([len(each) for each in errors], np.int64)
    if budget >= most.sum():
        return np.array([int(np.argmin(each)) + 1 for each in errors], np.int64)
    return _by_programme(errors, most, budget) if method == "dp" else _by_highs(errors, most, budget)


def _by_programme(errors: list[Floats], most: Ints, budget: int) -> Ints:
    from kibitz.poker.buckets.kernels.cluster import share_budget

    if len(errors) * (budget + 1) > MOST_CHOICES:
        raise SpecError(f"{budget:,} buckets for {len(errors):,} parents are too many to share out: take fewer")
    table = np.full((len(errors), int(most.max())), np.inf)
    for p, each in enumerate(errors):
        table[p, : len(each)] = each
    choice = np.zeros((len(errors), budget + 1), np.uint16)
    left = int(share_budget(table, most, budget, np.empty((2, budget + 1)), choice))
    found = np.empty(len(errors), np.int64)
    for p in range(len(errors) - 1, -1, -1):
        found[p] = choice[p, left]
        left -= int(found[p])
    return found


def _by_highs(errors: list[Floats], most: Ints, budget: int) -> Ints:
    """The same by HiGHS: a 0-1 variable says that a parent has k children."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_matrix, vstack

    parent = np.repeat(np.arange(len(errors)), most)
    children = np.concatenate([np.arange(1, k + 1) for k in most.tolist()])
    at = np.arange(len(parent))
    one_each = csr_matrix((np.ones(len(at)), (parent, at)), shape=(len(errors), len(at)))
    rows = vstack([one_each, csr_matrix(children[None].astype(float))])
    low = np.concatenate((np.ones(len(errors)), [0.0]))
    high = np.concatenate((np.ones(len(errors)), [float(budget)]))
    scale = max(float(np.concatenate(errors).max()), 1e-300)
    answer = milp(np.concatenate(errors) / scale, integrality=np.ones(len(at)), bounds=Bounds(0, 1),
                  constraints=LinearConstraint(rows, low, high), options={"mip_rel_gap": 0.0})  # fmt: skip
    if answer.x is None:
        raise SolverError(f"HiGHS found no numbers of children: {answer.message}")
    taken = answer.x > 0.5
    found = np.zeros(len(errors), np.int64)
    found[parent[taken]] = children[taken]
    return found
