"""Rows of a strategy: the columns of each infoset."""

from __future__ import annotations

from kibitz.core.jit import kernel


@kernel
def normalise(sums, first, fallback, out):
    """Weights -> probabilities that sum to one in each infoset; where there is no weight, those of `fallback`, or equal
    ones if that is empty. first [I + 1]: where the columns of an infoset begin."""
    for i in range(first.shape[0] - 1):
        begin, end = first[i], first[i + 1]
        total = 0.0
        for k in range(begin, end):
            total += sums[k]
        for k in range(begin, end):
            if not total <= 0.0:  # what is no number stays none
                out[k] = sums[k] / total
            elif fallback.shape[0]:
                out[k] = fallback[k]
            else:
                out[k] = 1.0 / (end - begin)
