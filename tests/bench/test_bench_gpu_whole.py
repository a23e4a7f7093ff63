"""The timing of sweeps on a GPU, as far as it runs without one."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.bench import bench_gpu_whole
from kibitz.bench.bench_gpu_whole import CLOSE, check_whole, sweep_buckets, whole_markdown
from kibitz.games import game
from kibitz.poker.whole.walk import Sweep


def test_sweep_buckets_have_the_sizes_of_real_ones():
    buckets = sweep_buckets(game(bench_gpu_whole.SMALL_GAME).definition)
    assert buckets.counts == [8, 64, 512, 4096] and buckets.perfect_recall
    for level in range(3):
        table = buckets.rounds[level].table
        assert table.max() < buckets.counts[level] and len(np.unique(table)) > 0.5 * buckets.counts[level]


@pytest.mark.slow
def test_a_wrong_sweep_is_found(monkeypatch):
    assert check_whole("cpu", shards=2) == {"game": bench_gpu_whole.SMALL_GAME, "flops": 2, "apart": 0.0, "right": True}
    plain = Sweep.shard
    other: list[bool] = []

    def shard(self, *arguments):
        other.append(True)
        return [each * (1 + 2 * CLOSE * (len(other) == 2)) for each in plain(self, *arguments)]

    monkeypatch.setattr(Sweep, "shard", shard)
    assert not check_whole("cpu", shards=1)["right"]


def test_the_section_is_there_if_its_data_is():
    assert whole_markdown({}) == []
    counts = {"one": 1, "four": 4, "pair": 1}
    times = {name: {"strategies": n, "seconds": 100.0 * n, "first": 7.0} for name, n in counts.items()}
    whole = {"check": {"apart": 7e-7}, "flops": 44, "boards_timed": 60_436, "boards": 2_554_656, "cores": 16,
             "ready": 60.0}  # fmt: skip
    text = "\n".join(whole_markdown({"whole": {**whole, **times}}))
    assert "| best responses to four strategies in one pass | 400 | 0.60 |" in text and "60,436 of 2,554,656" in text
