"""Training in shards on a Ray of three nodes: the bytes of one machine, also when workers die."""

from __future__ import annotations

import pytest
from ray_nodes import kills, three_nodes

import kibitz
from kibitz.core.errors import SolverError
from kibitz.core.executor import executing
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.machines import machine_of
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


def hashed():
    return Blueprint.empty(GAME, memory=20_000_000, seed=2)


def test_hashed_rows(three_nodes):
    assert trained(three_nodes, hashed, 900) == trained("local:2", hashed, 900)


@pytest.mark.slow
def test_workers_that_are_killed(three_nodes):
    with kills(three_nodes.name, 10) as killed:
        assert trained(three_nodes, hashed, 3000) == trained("local:2", hashed, 3000)
    assert killed


def test_an_expert_takes_its_base_along(three_nodes):
    base = kibitz.train(GAME, abstraction="naive", iterations=1000, threads=1)

    def make():
        return Blueprint.empty(GAME, memory=20_000_000, base=base, part="trick 1")

    assert trained(three_nodes, make, 600) == trained("local:1", make, 600)


def test_columns(three_nodes):
    def make():
        blueprint = placed_blueprint(machine_of(RHODE, how="rounds"), RowPlan(("percentile(2)",)), seed=3)
        blueprint.train(iterations=100)
        return blueprint

    assert trained(three_nodes, make, 1400, True) == trained("local:1", make, 1400, True)


def test_an_expert_in_columns_stays_here(three_nodes):
    machine = machine_of(RHODE, how="rounds")
    base = placed_blueprint(machine, RowPlan(("percentile(2)",)))
    rows = RowPlan(("", "percentile(3)"), ("c",), outside=0, inside=3)
    with executing(three_nodes), pytest.raises(SolverError, match="leave --on out"):
        next(rounds(placed_blueprint(machine, rows, base=base), Sharding(2), 10))
