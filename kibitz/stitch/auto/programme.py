"""The integer programme of a plan: which candidates are taken together, under limits, for the largest gain.

    maximise    sum of gain[i] x[i]  +  sum of extra[i, j] x[i] x[j]        x[i] is 0 or 1
    subject to  x[i] + x[j] <= 1 for conflicts,  sum of cost[i] x[i] <= limit for each resource

extra[i, j] is what two candidates gain together beyond the sum of both. It is measured, and it is negative where
returns diminish. A product of two choices is a variable of its own, between the bounds that make it one.

With one resource, no conflicts and no pairs this is the allocation of GS2 (`kibitz.poker.buckets.expectation`), which a
dynamic programme over all budgets solves; candidates that exclude each other need the general form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError

Floats = NDArray[np.float64]
SCALE = 1000.0  # of gains in the programme: its tolerances are absolute


def best_set(
    gain: Sequence[float],
    conflicts: Sequence[tuple[int, int]] = (),
    extra: Mapping[tuple[int, int], float] | None = None,
    costs: Sequence[tuple[Sequence[float], float]] = (),
) -> list[int]:
    """The candidates of the best plan, in order. costs: (cost of each candidate, limit of their sum) by resource."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import lil_matrix

    count, pairs = len(gain), [(pair, x) for pair, x in (extra or {}).items() if x != 0.0]
    if not count:
        return []
    value = SCALE * np.array([*gain, *(x for _, x in pairs)], np.float64)
    rows: list[tuple[dict[int, float], float]] = [({i: 1.0, j: 1.0}, 1.0) for i, j in conflicts]
    for number, ((i, j), x) in enumerate(pairs, count):
        if x > 0.0:
            rows += [({number: 1.0, i: -1.0}, 0.0), ({number: 1.0, j: -1.0}, 0.0)]
        else:
            rows.append(({number: -1.0, i: 1.0, j: 1.0}, 1.0))
    for cost, limit in costs:
        if np.isfinite(limit):
            unit = max(abs(limit), 1e-12)
            rows.append(({i: c / unit for i, c in enumerate(cost)}, limit / unit))
    matrix = lil_matrix((max(1, len(rows)), len(value)))
    upper = np.full(max(1, len(rows)), np.inf)
    for r, (entries, most) in enumerate(rows):
        upper[r] = most
        for column, factor in entries.items():
            matrix[r, column] = factor
    answer = milp(
        -value, integrality=np.ones(len(value)), bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), -np.inf, upper),
    )  # fmt: skip
    if answer.x is None:
        raise SolverError(f"the integer programme of the plan has no answer: {answer.message}")
    return [i for i in range(count) if answer.x[i] > 0.5 and gain_of(i, gain, answer.x, pairs) > 0.0]


def gain_of(i: int, gain: Sequence[float], x: Floats, pairs: Sequence[tuple[tuple[int, int], float]]) -> float:
    """What a chosen candidate adds to the others that were chosen; one that adds nothing is left out."""
    others = sum(e for (a, b), e in pairs if i in (a, b) and x[a] > 0.5 and x[b] > 0.5)
    return gain[i] + others
