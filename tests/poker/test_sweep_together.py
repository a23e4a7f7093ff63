"""Several sweeps in one pass over the boards against each alone: the same bits, on cores and by a GPU's source."""

from __future__ import annotations

import time

import numpy as np
import pytest
from bucketed import rules
from test_sweep import call, random_profile
from test_sweep_gpu import COMPILER, OnCores, fitting, of_views, packer_on_cores

import kibitz
from kibitz.cards import tables
from kibitz.poker.exact import layout
from kibitz.poker.whole import together as module
from kibitz.poker.whole.gpu import together
from kibitz.poker.whole.kernels.boards import BEST, PLAYED
from kibitz.poker.whole.profiles import against, exploited, measured_together, won
from kibitz.poker.whole.together import SweepTask, swept
from kibitz.poker.whole.walk import Sweep


def sweeps_of(name, dtype=np.float32):
    """Strategies of three lists of buckets, of two in one sweep, and of four."""
    one, two = (random_profile(name, seed)[0] for seed in (1, 2))
    poker = rules(name)
    return [Sweep(poker, one, dtype), Sweep(poker, two, dtype), Sweep(poker, (one[0], two[1]), dtype),
            of_views(name, dtype), Sweep(poker, one[::-1], dtype)]  # fmt: skip


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", ["leduc", pytest.param("turn hold'em of 10 cards", marks=pytest.mark.slow)])
def test_the_source_gives_the_bits_of_one_sweep_alone(name, tmp_path):
    sweeps = sweeps_of(name)
    packer = packer_on_cores(sweeps)
    shards = [OnCores(sweep, tmp_path, packer) for sweep in sweeps]
    assert fitting(shards) == len(sweeps) and len(packer.sources) == 6
    asked = [((0, 1), BEST), ((0,), PLAYED), ((1,), PLAYED), ((0, 1), BEST), ((1, 0), BEST)]
    tasks = [
        (each, seats, mode, [each.sweep.roots(seat)[-1] for seat in seats])
        for each, (seats, mode) in zip(shards, asked, strict=True)
    ]
    alone = [OnCores(sweep, tmp_path) for sweep in sweeps]  # each compiles its source once
    for number in range(0, len(sweeps[0].shards), 8):
        for own, (_, *rest), found in zip(alone, tasks, together(packer, number, tasks), strict=True):
            for mine, other in zip(own.shard(number, *rest), found, strict=True):
                assert np.abs(mine).max() > 0
                np.testing.assert_array_equal(mine, other)


def test_memory_of_the_gpu_says_how_many_go_together(tmp_path, monkeypatch):
    sweeps = sweeps_of("leduc")
    packer = packer_on_cores(sweeps)
    shards = [OnCores(sweep, tmp_path, packer) for sweep in sweeps]
    needed = shards[0].ready_bytes + sum(each.own_bytes for each in shards[:3]) + max(
        each.value_bytes[0] for each in shards[:3]
    )
    monkeypatch.setattr(type(packer.device), "free", lambda self: int(needed / 0.8) + 2)
    monkeypatch.setattr(type(shards[0]), "ready_bytes", shards[0].ready_bytes)
    assert fitting(shards) == 3


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Tables of sweeps are stored, however quick they are."""
    monkeypatch.setenv("KIBITZ_CACHE", str(tmp_path))
    monkeypatch.setattr(tables, "QUICK", 0.0)
    monkeypatch.setattr(module, "QUICK", 0.0)
    monkeypatch.setattr(tables, "home", lambda: tmp_path / "cards")
    tables._open.clear()
    yield tmp_path / "cards"
    tables._open.clear()


def test_one_pass_stores_what_each_alone_stores(kept, monkeypatch):
    sweeps = sweeps_of("turn hold'em of 10 cards")
    tasks = [SweepTask(sweep, (0, 1), BEST) for sweep in sweeps] + [SweepTask(sweeps[2], (0,), PLAYED)]
    found = swept(tasks)
    stored = {path.name: tables.whole(task.recipe)["total"].copy() for task in tasks
              for path in [kept / task.recipe.name]}  # fmt: skip
    assert sorted(path.name for path in kept.iterdir() if path.is_dir()) == sorted(stored)
    for path in kept.iterdir():
        if path.is_dir():
            tables._remove(path)
    tables._open.clear()
    for task, values in zip(tasks, found, strict=True):
        np.testing.assert_array_equal(task.sweep.swept(task.seats, task.mode), values)
        np.testing.assert_array_equal(tables.whole(task.recipe)["total"], stored[task.recipe.name])


def test_a_stopped_pass_goes_on_with_some_of_its_strategies(kept, monkeypatch):
    sweeps = sweeps_of("turn hold'em of 10 cards")[:3]
    tasks = [SweepTask(sweep, (0, 1), BEST) for sweep in sweeps]
    plain, asked = Sweep.shard, []

    def shard(self, number, *rest):
        asked.append((id(self), number))
        if len(asked) > 3 * 8:
            raise KeyboardInterrupt
        time.sleep(0.02)  # so that parts are saved meanwhile
        return plain(self, number, *rest)

    monkeypatch.setattr(Sweep, "shard", shard)
    monkeypatch.setattr(tables, "cores", lambda: 1)
    monkeypatch.setattr(tables.build_together, "__defaults__", (None, None, 0.0))
    with pytest.raises(KeyboardInterrupt):
        swept(tasks)
    assert [path.name for path in kept.iterdir() if path.name.endswith(".part")]
    before = len(asked)

    def counted(self, *arguments):
        asked.append(arguments)
        return plain(self, *arguments)

    monkeypatch.setattr(Sweep, "shard", counted)
    best = sweeps[1].best()
    assert 0 < len(asked) - before < len(sweeps[1].shards)  # not from the start
    rest = swept(tasks)
    np.testing.assert_array_equal(rest[1], best)
    monkeypatch.setattr(tables, "QUICK", np.inf)
    np.testing.assert_array_equal(rest[2], Sweep(rules("turn hold'em of 10 cards"), sweeps[2].seats).best())


def test_a_field_is_measured_as_pairs_are():
    name = "flop hold'em of 12 cards"
    poker = rules(name)
    field = measured_together(poker, ["always-call", "always-raise"], values=True)
    np.testing.assert_array_equal(field.best[1], exploited(poker, "always-raise"))
    assert field.values[0, 0] == won(poker, "always-call")
    assert field.earnings[0, 1] == sum(against(poker, "always-call", "always-raise")) / 2 == -field.earnings[1, 0]


@pytest.mark.slow
def test_evaluate_several(tmp_path, monkeypatch):
    game, paths = "rhode_island(ranks=4)", [str(tmp_path / f"{name}.profile") for name in "ab"]
    with monkeypatch.context() as patch:
        patch.setattr(layout, "MOST_CLASSES", 1)  # as if no game had a poker form
        for path, iterations in zip(paths, (5, 20), strict=True):
            kibitz.solve(game, "dcfr+", abstraction="percentile(3)", iterations=iterations).save(path)
    both = call("evaluate", *paths, "--whole", "--value", "--json")
    for path, of in zip(paths, both["strategies"], strict=True):
        alone = call("evaluate", path, "--whole", "--value", "--json")
        assert {**of, "game": both["game"], "whole": True} == alone
    assert both["earnings"][0][1] == -both["earnings"][1][0] != 0
