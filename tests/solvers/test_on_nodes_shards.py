"""Training in shards on a Ray of three nodes: the bytes of one machine, also when workers die."""

from __future__ import annotations

import pytest
from ray_nodes import kills, three_nodes

import kibitz
from kibitz.core.executor import executing
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.shards import Sharding, rounds

pytest.importorskip("ray")
__all__ = ["three_nodes"]

GAME = "toepen(suits=3, ranks=3)"
RHODE = "rhode_island(ranks=4)"


def trained(on, make, iterations, columns=False, merge_every=100):
    with executing(on):
        blueprint = make()
        assert ("regret" in blueprint.arrays()) == columns
        for _ in rounds(blueprint, Sharding(3, merge_every), iterations):
            pass
    return blueprint.sha256


def test_hashed_rows(three_nodes):
    def make():
        return Blueprint.empty(GAME, memory=20_000_000, seed=2)

    expected = trained("local:2", make, 3000)
    with kills(three_nodes.name, 3) as killed:
        assert trained(three_nodes, make, 3000) == expected
    assert killed


def test_an_expert_takes_its_base_along(three_nodes):
    base = kibitz.train(GAME, abstraction="naive", iterations=1000, threads=1)

    def make():
        return Blueprint.empty(GAME, memory=20_000_000, base=base, part="trick 1")

    assert trained(three_nodes, make, 600) == trained("local:1", make, 600)


def test_columns(three_nodes):
    def make():
        return kibitz.train(RHODE, abstraction="percentile(3)", iterations=100, threads=1)

    assert trained(three_nodes, make, 1400, True) == trained("local:1", make, 1400, True)
