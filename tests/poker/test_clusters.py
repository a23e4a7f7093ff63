"""Exact clusters on a line, and the integer programme, against all ways there are."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibitz.core.errors import SpecError
from kibitz.poker.buckets.expectation import allocate, line_clusters, line_errors


def spread(values: np.ndarray, weights: np.ndarray, group: np.ndarray) -> float:
    total = 0.0
    for k in np.unique(group):
        mine = group == k
        mean = (values[mine] * weights[mine]).sum() / weights[mine].sum()
        total += float((weights[mine] * (values[mine] - mean) ** 2).sum())
    return total


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), min_size=1, max_size=9, unique_by=lambda p: p[0]))
def test_clusters_on_a_line_are_the_best_there_are(points: list[tuple[int, int]]) -> None:
    values, weights = np.array(sorted(points), float).T
    n = len(values)
    found = line_errors(np.ascontiguousarray(values), np.ascontiguousarray(weights), n + 2)
    for k in range(1, n + 1):
        ways = [np.searchsorted(np.array(cut), np.arange(n), "right") for cut in combinations(range(1, n), k - 1)]
        best = min(spread(values, weights, np.asarray(group)) for group in ways)
        group = line_clusters(np.ascontiguousarray(values), np.ascontiguousarray(weights), k)
        assert sorted(set(group.tolist())) == list(range(k))
        assert np.isclose(found[k - 1], best, atol=1e-9)
        assert np.isclose(spread(values, weights, group), best, atol=1e-9)
    assert not found[n:].any()


@settings(deadline=None)  # the kernel is compiled on the way
@given(
    st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=5), min_size=1, max_size=5),
    st.integers(0, 12),
)
def test_the_integer_programme_is_the_best_of_all_ways(errors: list[list[int]], more: int) -> None:
    budget = len(errors) + more
    given_ = [np.array(each, float) for each in errors]
    ways = product(*(range(1, len(each) + 1) for each in errors))
    best = min(sum(e[k - 1] for e, k in zip(errors, way, strict=True)) for way in ways if sum(way) <= budget)
    found = allocate(given_, budget)
    assert found.sum() <= budget and (found >= 1).all()
    assert sum(e[k - 1] for e, k in zip(errors, found.tolist(), strict=True)) == best


def test_a_budget_below_the_parents_is_refused() -> None:
    with pytest.raises(SpecError, match="too small"):
        allocate([np.zeros(2)] * 3, 2)
