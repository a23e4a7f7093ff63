"""Weights by infoset as probabilities, against the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import kibitz
from kibitz.forms.sequence import normalise
from kibitz.games.tree import tree_of

INFOSETS = tree_of(kibitz.game("kuhn")).infosets


@given(st.integers(0, 1 << 16), st.booleans())
def test_each_infoset_sums_to_one(seed, falls_back):
    random = np.random.default_rng(seed)
    columns = int(INFOSETS.first[-1])
    weights = random.random(columns) * (random.random(columns) < 0.6)
    fallback = random.random(columns) if falls_back else None
    answer = normalise(weights, INFOSETS, fallback)
    for begin, end in zip(INFOSETS.first[:-1], INFOSETS.first[1:], strict=True):
        total = sum(weights[begin:end])
        if total > 0:
            assert answer[begin:end].tolist() == [each / total for each in weights[begin:end]]
        elif falls_back:
            assert answer[begin:end].tolist() == fallback[begin:end].tolist()
        else:
            assert (answer[begin:end] == 1 / (end - begin)).all()
