"""Clusters of buckets and states of tournaments as nodes work them out: the bytes of this machine."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from elsewhere import Elsewhere
from test_hand_buckets import SMALL

from kibitz.bench.bench_gpu_boards import made_up_buckets
from kibitz.bench.bench_gpu_whole import random_strategy
from kibitz.cards import recipes
from kibitz.core.executor import executing
from kibitz.games import game
from kibitz.poker.bucketed.weights import opened_buckets, recipe_of
from kibitz.poker.buckets import buckets as sources
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.tournaments import fictitious
from kibitz.poker.tournaments.exact import ExactHand
from kibitz.poker.tournaments.fictitious import JamFoldPlay
from kibitz.poker.tournaments.sampled import SampledHand
from kibitz.poker.whole.walk import BEST, Sweep, _sweep


@pytest.mark.parametrize("name", [
    "expectation([4, 30, 100])", "potential([4, 30, 100], inner=6)", "potential([4, 30, 100], metric=emd, inner=5)",
])  # fmt: skip
def test_clusters(name, monkeypatch, tmp_path):
    digests, pool = [], Elsewhere()
    for k, on in enumerate(("local:1", pool)):
        monkeypatch.setattr(sources, "_held", {})
        monkeypatch.setattr(sources, "_cache", lambda key, k=k: tmp_path / f"{k}.buckets")
        with executing(on):
            digests.append(hand_buckets(SMALL[3], name).digest)
    functions = {function for function, _ in pool.calls}
    assert digests[0] == digests[1]
    assert functions >= ({"line_errors", "line_clusters"} if "exp" in name else {"_distances", "_clustered"})


def states(engine, count, seed=1):
    draw, hand = np.random.default_rng(seed), engine.hand
    payoffs = draw.random((count, len(hand.outcomes), hand.players))
    return draw.random((count, len(hand.nodes))) < 0.05, payoffs


@pytest.mark.parametrize("players", [3, 4])
def test_states_of_a_tournament(players, monkeypatch):
    monkeypatch.setattr(fictitious, "STATES", 3)
    engine, pool, heard, found = SampledHand(players, 1000), Elsewhere(), [], []
    forced, payoffs = states(engine, 8)
    for on in ("local:1", pool):
        play = JamFoldPlay(engine, forced)
        with executing(on):
            first = play.run(payoffs, 4, 1e-3, 0, lambda number, active: heard.append((number, active)))
            second = play.run(payoffs[::-1].copy(), 3, 1e-3, 2)  # goes on from the strategies, with other values
        arrays = [x for of in (first, second) for x in (of.jams, of.gains, of.values, of.rounds)]
        found.append([x.tobytes() for x in (*arrays, play.moments)])
    assert found[0] == found[1] and pool.calls == [("played_on_node", 3)] * 2
    assert heard[-1] == (4, 0)


def test_all_cards_stay_here():
    """Their matrix products are of all states at once."""
    engine, pool = ExactHand(2), Elsewhere()
    forced, payoffs = states(engine, 3)
    with executing(pool):
        JamFoldPlay(engine, forced).run(payoffs, 2)
    assert not pool.calls


@pytest.mark.parametrize("what", ["sweep", "weights", "river", "preflop"])
def test_memory_of_a_piece(what):
    """The estimate is above what the largest piece takes, and not far above."""
    rules = game("poker(file=holdem.limit.2p, ranks=5)")
    buckets = made_up_buckets(rules.definition, (4,) * 4)
    if what == "weights":
        recipe = recipe_of(buckets)
    elif what == "sweep":
        players = tuple(random_strategy(rules.betting, buckets, seed) for seed in (1, 2))
        recipe = Sweep(rules, players).recipe((0, 1), BEST)
    else:
        recipe = recipes.recipe(what)
    arguments = recipe.far.arguments(Elsewhere())
    recipe.far.work(*arguments, 1)  # compiled code is loaded
    opened_buckets.cache_clear()
    _sweep.cache_clear()
    gc.collect()
    tracemalloc.start()
    try:
        for piece in (0, recipe.pieces // 2):
            recipe.far.work(*arguments, piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < recipe.far.memory() < 40 * peak + (100 << 20)
