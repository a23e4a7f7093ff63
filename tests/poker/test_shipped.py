"""Strategies that come with kibitz: their size, their buckets without tables, and how they play."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

import kibitz
from kibitz.core import shipped, store
from kibitz.core.errors import ArtefactError, GameError, SpecError
from kibitz.evaluate.match import match
from kibitz.play.agents import agent, agents_of, check_saved, names_of, saved_agent
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.buckets.on_demand import FIRST, OnDemand, thresholds
from kibitz.solvers.machines import machine_of

GAMES = ("holdem.limit.2p", "holdem.limit.3p")
MOST_BYTES = 4 << 20


@cache
def table(name):
    """A machine and the agent that plays at once."""
    machine = machine_of(name)
    return machine, agent("shipped", machine, at_once=True)


@pytest.mark.slow
def test_buckets_on_demand_are_those_of_tables():
    for name in GAMES:
        saved = store.load(f"shipped:{name}")
        rules, buckets = kibitz.game(name), hand_buckets(kibitz.game(name).definition, saved.meta["abstraction"])
        quick, drawn = OnDemand(saved.arrays), random.Random(1)
        assert buckets.digest == saved.arrays["buckets_digest"].tobytes().hex()
        for key, array in thresholds(rules.definition, buckets.name).items():
            np.testing.assert_array_equal(saved.arrays[key], array)
        for _ in range(60):
            cards = np.array(drawn.sample(range(52), 7))
            for level, shown in enumerate((0, 3, 4, 5)):
                board = tuple(cards[2 : 2 + shown].tolist())
                assert quick.of(level, cards[None, :2], board) == buckets.of(level, cards[None, : 2 + shown])


@pytest.mark.slow
def test_at_once_plays_as_matches_do():
    """The agent of a person's table and the compiled one: the same wins on the same deals."""
    for name in GAMES:
        machine = machine_of(name)
        quick, others = agent("shipped", machine, at_once=True), ["uniform"] * (machine.players - 1)
        slow = match(machine, quick, *(agent(each, machine) for each in others), deals=30, seed=2)
        fast = match(machine, agent("shipped", machine), *(agent(each, machine) for each in others), deals=30, seed=2)
        assert slow.scores == fast.scores


# What is shipped


@pytest.mark.parametrize("name", GAMES)
def test_what_is_shipped_is_small_and_says_how_it_was_made(name):
    assert shipped.names() == list(GAMES)
    files = list((shipped.HOME / name).iterdir())
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    saved = store.load(f"shipped:{name}")
    assert saved.kind == "blueprint" and saved.meta["iteration"] >= 1_000_000 and saved.meta["seed"] == 0
    assert {"command", "machine", "kibitz", "numba", "numpy", "python", "threads"} <= set(saved.meta["made"])
    quick = table(name)[1]
    sums = quick.share.sum(dtype=np.int64)
    assert sums == 255 * quick.layout.size  # all rows are distributions
    kinds = np.unique(quick.share)
    assert len(kinds) == 256  # mixed, in bytes


def test_names_of_what_is_shipped():
    assert "shipped" in names_of(table("holdem.limit.3p")[0]) and "shipped" not in names_of(machine_of("leduc"))
    assert agent("shipped:holdem.limit.2p", "holdem.limit.2p", at_once=True).game.spec == "poker(file=holdem.limit.2p)"
    check_saved(["shipped", "search(shipped)", "shipped:holdem.limit.2p"])
    assert "search" in agents_of(machine_of("holdem.limit.2p"))
    with pytest.raises(SpecError, match="no strategy of leduc comes with kibitz"):
        agent("shipped", "leduc")
    with pytest.raises(ArtefactError, match="choose shipped:holdem"):
        check_saved(["shipped:holdem.limit.9p"])
    with pytest.raises(ArtefactError, match="choose shipped:holdem"):
        kibitz.load("shipped:../../etc")
    quick = saved_agent("shipped", table("holdem.limit.2p")[0], at_once=True)
    for seat, infoset in ((1, "AhKd:rx"), (0, "AhKd:"), (1, "AhAh:"), (0, "AhKd AhTs9s:cc/"), (1, "Ah:"), (1, "AhZz:")):
        with pytest.raises(GameError, match="not an infoset"):
            quick.rows(seat, [infoset], ("fold", "call", "raise"))


@pytest.mark.parametrize("name, opponent, deals", [
    ("holdem.limit.2p", "uniform", 150), ("holdem.limit.2p", "always-call", 60), ("holdem.limit.3p", "uniform", 120),
    ("holdem.limit.3p", "always-call", 120),
])  # fmt: skip
def test_it_beats_simple_players(name, opponent, deals):
    """By its 95% interval, in a small match; docs/opponents.md has larger ones."""
    machine, quick = table(name)
    result = match(machine, quick, *[agent(opponent, machine)] * (machine.players - 1), deals=deals, seed=1)
    assert result.scores[0].interval[0] > 0, result


def test_it_raises_aces_and_folds_bad_hands():
    for name, first in (("holdem.limit.2p", 1), ("holdem.limit.3p", 2)):
        best, worst = table(name)[1].rows(first, ["AsAh:", "7s2h:"], ("fold", "call", "raise"))
        assert best.argmax() == 2 and worst.argmax() == 0


def damaged(tmp_path, **other):
    saved = store.load("shipped:holdem.limit.2p")
    store.save(tmp_path / "bad", saved.kind, {**saved.arrays, **other}, saved.meta)
    return str(tmp_path / "bad")


@pytest.mark.parametrize("other", [
    {"cut1": np.array([0, 2, 1], np.uint64)}, {"cut2": np.zeros(0, np.uint64)}, {FIRST: np.zeros(3, np.uint16)},
    {"share": np.zeros(7, np.uint8)}, {FIRST: np.full(1326, 65535, np.uint16)},
])  # fmt: skip
def test_damaged_ones_are_refused(tmp_path, other):
    with pytest.raises(ArtefactError, match="not a complete blueprint"):
        agent(damaged(tmp_path, **other), "holdem.limit.2p", at_once=True)
