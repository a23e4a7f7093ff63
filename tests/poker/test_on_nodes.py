"""Tables and sweeps on a Ray of three nodes: the bytes of one machine, also when workers are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import ray_nodes
from bucketed import HOLDEM, random_buckets, rules
from pieces_of_tests import slow_table
from ray_nodes import cluster_of, kills, started, three_nodes, until
from test_elsewhere_poker import states
from test_sweep import random_profile

from kibitz.bench.bench_gpu_boards import made_up_buckets
from kibitz.bench.bench_gpu_whole import random_strategy
from kibitz.cards import recipes, tables
from kibitz.core.executor import executing
from kibitz.poker.bucketed.weights import recipe_of
from kibitz.poker.buckets import buckets
from kibitz.poker.rules import acpc
from kibitz.poker.rules.rules import Poker
from kibitz.poker.tournaments.fictitious import JamFoldPlay
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.whole.strategy import always
from kibitz.poker.whole.walk import BEST, PLAYED, Sweep

pytest.importorskip("ray")
__all__ = ["three_nodes"]

SHRUNKEN = "turn hold'em of 10 cards"


@pytest.fixture
def made(tmp_path, monkeypatch, three_nodes):
    """The bytes of a table that is made anew, on an executor."""
    homes = iter(range(100))

    def make(recipe, on):
        where = tmp_path / str(next(homes))
        monkeypatch.setattr(tables, "home", lambda: where)
        with executing(three_nodes if on == "ray" else on):
            assert tables.build(recipe, tell=lambda *told: None)
        return {name: array.tobytes() for name, array in tables.whole(recipe).items()}

    return make


def sweep_of(name, mode, seed=1):
    seats, _, _ = random_profile(name, seed)
    return Sweep(rules(name), seats).recipe((0, 1) if mode == BEST else (0,), mode)


@pytest.mark.parametrize("mode", [BEST, pytest.param(PLAYED, marks=pytest.mark.slow)])
def test_a_sweep(made, mode):
    recipe = sweep_of(SHRUNKEN, mode)
    assert recipe.pieces > 3
    assert made(recipe, "local") == made(recipe, "local:2") == made(recipe, "ray")


def test_a_sweep_of_a_plain_strategy(made):
    poker = rules(SHRUNKEN)
    recipe = Sweep(poker, (always(poker.betting, ("call",)),) * 2).recipe((0, 1), BEST)
    assert made(recipe, "local") == made(recipe, "ray")


def test_joint_weights_of_buckets(made):
    recipe = recipe_of(random_buckets(rules(SHRUNKEN), 3, 1)[0])
    assert made(recipe, "local") == made(recipe, "local:2") == made(recipe, "ray")


@pytest.mark.parametrize("name", ["preflop", "classes", "preflop-histogram-10", "flop", "turn", "river"])
def test_pieces_of_tables_of_strength(name):
    """A few pieces of tables that take a minute: what is put in from an answer is what a thread writes."""
    table = recipes.recipe(name)
    assert table.far is not None

    def empty():
        return {each: np.zeros(shape, dtype) for each, (dtype, shape) in table.arrays.items()}

    one, other = empty(), empty()
    fill = table.make(one, threading.Lock())
    for piece in (0, table.pieces - 1):
        fill(piece)
        table.far.add(other, table.far.work(*table.far.arguments(None), piece))
    for each in one:
        assert one[each].any() and np.array_equal(one[each], other[each])


def test_clusters_of_buckets(three_nodes, monkeypatch):
    digests = []
    for on in ("local", three_nodes):
        monkeypatch.setattr(buckets, "_held", {})
        with executing(on):
            digests.append(buckets.hand_buckets(rules(SHRUNKEN).definition, "potential([3, 9, 20], inner=5)").digest)
    assert digests[0] == digests[1]


@pytest.mark.slow
def test_states_of_a_tournament(three_nodes):
    engine = SampledHand(4, 1000)
    forced, payoffs = states(engine, 40)
    found = []
    for on in ("local", three_nodes):
        play = JamFoldPlay(engine, forced)
        with executing(on):
            done = play.run(payoffs, 3, 1e-3)
        found.append([array.tobytes() for array in (done.jams, done.gains, done.values, done.rounds)])
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_table_of_strength(made):
    recipe = recipes.recipe("preflop")
    assert made(recipe, "local") == made(recipe, "ray")


@pytest.mark.parametrize("what", ["sweep", "weights"])
def test_workers_killed_in_the_middle(made, three_nodes, what):
    """A piece that lost its worker is done again, and nothing is counted twice."""
    hands = random_buckets(rules(SHRUNKEN), 3, 2)[0]
    recipe = sweep_of(SHRUNKEN, BEST, 2) if what == "sweep" else recipe_of(hands)
    expected = made(recipe, "local")
    with kills(three_nodes.name) as killed:
        assert made(recipe, "ray") == expected
    assert killed


MORE = acpc.parse(HOLDEM.format(rounds=4, suits=3, ranks=6, board="0 3 1 1", bets="10 10 20 20", ones="1 1 1"))


@pytest.mark.slow
@pytest.mark.parametrize("what", ["sweep", "weights"])
def test_ten_kills(made, three_nodes, what):
    """Of workers at 166 pieces, one after the other at random: the bytes of local, of local:2 and of quiet nodes."""
    poker = Poker(MORE)
    hands = made_up_buckets(MORE, (4,) * 4)
    strategies = tuple(random_strategy(poker.betting, hands, seed) for seed in (1, 2))
    recipe = recipe_of(hands) if what == "weights" else Sweep(poker, strategies).recipe((0, 1), BEST)
    assert recipe.pieces == 166
    expected = made(recipe, "local")
    assert made(recipe, "local:2") == expected
    with kills(three_nodes.name, 10, 0.5) as killed:
        assert made(recipe, "ray") == expected
    assert len(killed) == len(set(killed)) == 10


DRIVER = """
import sys
from pathlib import Path
from kibitz.cards import tables
from kibitz.core.executor import executing
from pieces_of_tests import slow_table

home, on, gate = sys.argv[1:]
tables.home = lambda: Path(home)
with executing(on):
    tables.build(slow_table(0.0, 40, gate), tell=lambda recipe, done, of: print(done, flush=True), every=0.2)
"""


def test_a_driver_that_is_killed_goes_on_where_it_was(made, three_nodes, tmp_path):
    """What nodes had answered is read from the part on disk, and the table is that of one machine. The second half of
    the pieces waits at a gate that is opened when the driver is dead."""
    expected = made(slow_table(0.0, 40), "local")
    home, gate = tmp_path / "killed", tmp_path / "gate"
    paths = {"PYTHONPATH": os.pathsep.join(map(str, (ray_nodes.HERE.parent, ray_nodes.HERE)))}
    command = [sys.executable, "-c", DRIVER, str(home), three_nodes.name, str(gate)]
    with subprocess.Popen(command, env={**os.environ, **paths}, stdout=subprocess.DEVNULL) as driver:
        until(lambda: (home / "slow.part" / "manifest.json").exists() or driver.poll() is not None, 3000)
        driver.kill()
    assert not (home / "slow").exists()
    gate.touch()
    again = subprocess.run(command, env={**os.environ, **paths}, stdout=subprocess.PIPE, text=True, check=True)
    counts = [int(line) for line in again.stdout.split()]
    assert 0 < counts[0] < 40 and counts[-1] == 40
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "home", lambda: home)
        found = tables.whole(slow_table(0.0, 40))
    assert {name: array.tobytes() for name, array in found.items()} == expected


@pytest.mark.slow
def test_a_node_removed_and_one_added(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "home", lambda: tmp_path)
    with cluster_of(2) as cluster, executing(cluster.address):
        nodes, heard = list(cluster.worker_nodes), []

        def tell(recipe, done, of):
            if done >= 3 and not heard:
                heard.append(done)
                cluster.remove_node(nodes[0], allow_graceful=False)
                started(lambda: cluster.add_node(num_cpus=1, object_store_memory=ray_nodes.STORE))

        assert tables.build(slow_table(0.3, 30), tell=tell)
        assert heard and tables.whole(slow_table(0.0, 30))["total"].tolist() == [k * 465 for k in range(100)]
