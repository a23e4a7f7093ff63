"""Matches in blocks, as nodes play them: the sums of one machine to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from elsewhere import Elsewhere

import kibitz
from kibitz.core.executor import executing
from kibitz.evaluate.match import FIRST_CHECK, cut_at_checks, seatings_of


@pytest.mark.parametrize("game", ["leduc", "leduc(players=3)"])
def test_blocks_give_the_bytes_of_one_machine(game, monkeypatch):
    """Three players split pots into thirds: sums depend on their order, and it is the same."""
    monkeypatch.setattr("kibitz.play.blocks.BLOCK", 4_000)
    players, pool, results = ["uniform"] * (3 if "3" in game else 2), Elsewhere(), []
    for on in ("local:1", pool):
        with executing(on):
            data = kibitz.match(game, *players, deals=11_000, seed=2).data()
        results.append({key: value for key, value in data.items() if key != "seconds"})
    assert results[0] == results[1] and pool.calls == [("won_in_block", 3)]


def test_sums_end_at_checks():
    seatings, draw = seatings_of(3), np.random.default_rng(1)
    won = draw.normal(size=(9 * FIRST_CHECK + 17, *seatings.shape))
    for first in (0, 300, FIRST_CHECK, 3 * FIRST_CHECK + 1):
        sums = cut_at_checks(seatings, first, won)
        ends = (first + np.cumsum([each.deals for each in sums])).tolist()
        checks = [FIRST_CHECK << k for k in range(10)]
        assert ends[:-1] == [check for check in checks if first < check < first + len(won)]
        assert ends[-1] == first + len(won)
        total = sum(each.total for each in sums)
        for player in range(3):  # by definition
            assert total[player, 3] == pytest.approx(won[:, :, player].sum())
            seat_zero = [won[:, k, player].sum() for k in range(len(seatings)) if seatings[k, 0] == player]
            assert total[player, 0] == pytest.approx(sum(seat_zero))
