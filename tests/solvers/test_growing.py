"""Tables of rows begin small and grow with the game: what is learned does not depend on it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_games import RandomGame

import kibitz
from kibitz.core import compiling
from kibitz.games.tree import lay_out
from kibitz.solvers import blueprint as module
from kibitz.solvers import tables
from kibitz.solvers.blueprint import Blueprint
from kibitz.solvers.saved_blueprints import load_blueprint

TOEPEN = "toepen(suits=3, ranks=3, hand=3)"
SMALLEST = 64  # places: of these 16 rows, so that tables grow again and again, and in the middle of an iteration


def learned(made: Blueprint) -> tuple[list[Any], list[Any], list[int], int]:
    """All that a blueprint has learned: rows in the order of keys, what happened, iterations."""
    key, value = tables.contents(made.table)
    assert len(key) == made.store.used == int(made.table.used[0])
    return key.tolist(), value.tolist(), made.counts.tolist(), made.iteration


def trained(monkeypatch: pytest.MonkeyPatch, first: int, game: Any, memory: int = 100_000_000, **how: Any) -> Blueprint:
    monkeypatch.setattr(tables, "FIRST_ROWS", first)
    made = Blueprint.empty(game, "null", memory, seed=3)
    made.train(**how)
    return made


def test_a_small_game_has_a_small_table() -> None:
    made = Blueprint.empty("leduc", memory=1_000_000_000)
    made.train(iterations=2000)
    assert 900 < made.store.used <= 936 and made.capacity == 1_000_000_000 // 32
    assert made.nbytes < 5_000_000, "not the gigabyte that it might take"


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.some(5)
def test_a_growing_table_learns_what_a_large_one_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    game = RandomGame(seed, 2 + seed % 2, depth=6, recall=("perfect", "past")[seed % 2], payoffs="general", stop=0.02)
    monkeypatch.setattr(module, "FIRST_HALVING", 64)
    small, large = (trained(monkeypatch, first, game, iterations=300) for first in (4, 1 << 30))
    assert small.store.used > 10
    assert len(large.table.key) == large.capacity == small.capacity > len(small.table.key)
    assert learned(small) == learned(large)


def test_it_grows_by_iterations_that_have_many_new_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of rows are new in the first iteration, for which no table of a few places has room."""
    sizes, grow = [], tables.HashedRows.grow

    def seen(self: tables.HashedRows, rows: int, counts: Any) -> None:
        grow(self, rows, counts)
        sizes.append(len(self.table.key))

    monkeypatch.setattr(tables.HashedRows, "grow", seen)
    small, large = (trained(monkeypatch, first, TOEPEN, iterations=40) for first in (SMALLEST, 1 << 30))
    assert learned(small) == learned(large)
    assert sizes == sorted(sizes) and len(sizes) >= 4 and small.progress().refused == 0


@pytest.mark.parametrize("memory", [100_000_000, 400_000])
def test_cuts_do_not_matter_while_it_grows(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while it may still grow nor when rows give way to others."""
    monkeypatch.setattr(module, "FIRST_HALVING", 64)
    whole = trained(monkeypatch, SMALLEST, TOEPEN, memory, iterations=300)
    assert (len(whole.table.key) < whole.capacity) == (memory > 1_000_000)
    assert (whole.progress().evicted > 100) == (memory < 1_000_000)
    cut, path = Blueprint.empty(TOEPEN, "null", memory, seed=3), tmp_path / "b"
    for at in (1, 2, 3, 5, 9, 20, 63, 64, 65, 130, 300):
        cut.train(iterations=at)
        cut.save(path)
        cut = load_blueprint(path)
        assert cut.iteration == at
    assert cut.sha256 == whole.sha256 and learned(cut) == learned(whole)
    compact = load_blueprint(path, compact=True)
    assert len(compact.table.key) <= 5 * whole.store.used and learned(compact) == learned(whole)


def test_threads_share_a_table_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every iteration is walked once, whichever thread it was that stopped."""
    small, large = (trained(monkeypatch, first, "leduc", iterations=3000, threads=2) for first in (4, 1 << 30))
    rows = [set(tables.contents(made.table)[0].tolist()) for made in (small, large)]
    assert len(rows[0] ^ rows[1]) < 0.02 * len(rows[1])  # threads meet in another order each time, so paths may differ
    assert small.progress().refused == 0 and small.iteration == 3000
    profile = module.blueprint_profile(small, lay_out(kibitz.game("leduc")))
    assert kibitz.nash_conv("leduc", profile) < 2.0
    weight = [float(made.table.value[:, made.machine.actions :].sum()) for made in (small, large)]
    assert weight[0] == pytest.approx(weight[1], rel=0.2)


def test_a_table_of_an_earlier_version_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables had their full size from the start, and rows were saved with their places."""
    made = trained(monkeypatch, 1 << 30, TOEPEN, iterations=100)
    made.save(tmp_path / "old")
    assert any(file.name.startswith("place") for file in (tmp_path / "old").iterdir())
    monkeypatch.setattr(tables, "FIRST_ROWS", SMALLEST)
    held = load_blueprint(tmp_path / "old")
    assert tables.grows(held.table) and learned(held) == learned(made)
    held.train(iterations=200)
    assert learned(held) == learned(trained(monkeypatch, SMALLEST, TOEPEN, iterations=200))


@pytest.mark.parametrize("harm", ["order", "zero", "weight", "short", "crowd"])
def test_damaged_rows_are_refused(harm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kibitz.core import store
    from kibitz.core.errors import ArtefactError

    made = trained(monkeypatch, SMALLEST, TOEPEN, iterations=50)
    arrays = dict(made.arrays())
    key, value = arrays["key"].copy(), arrays["value"].copy()
    if harm == "order":
        key[[3, 4]] = key[[4, 3]]
    elif harm == "zero":
        key[0] = 0
    elif harm == "weight":
        value[2, -1] = -1.0
    elif harm == "crowd":  # all with one home
        key = np.arange(1, 1 + len(key), dtype=np.uint64)
    else:
        key, value = key[:-1], value[:-1]
    store.save(tmp_path / "b", module.KIND, {**arrays, "key": key, "value": value}, made.meta)
    with pytest.raises(ArtefactError, match="train it anew"):
        load_blueprint(tmp_path / "b")


def test_no_rate_counts_the_laying_out_of_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves only while tables are set up, by an hour each time."""
    now, laid = [0.0], tables.laid

    def slowly(*given: Any) -> Any:
        now[0] += 3600.0
        return laid(*given)

    monkeypatch.setattr(tables, "laid", slowly)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(compiling._State, "aside", 0.0)
    made = trained(monkeypatch, SMALLEST, TOEPEN, iterations=40, seconds=60.0)
    assert now[0] > 3600.0 and made.seconds == 0.0
    assert made.iteration == 40, "nor are they part of the seconds that were asked for"


def test_warming_up_compiles_for_the_abstraction_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for the game's default alone: the first second would count the compiling of another."""
    made = Blueprint.empty("poker(file=kuhn)", "percentile(2)", memory=1_000_000)
    seen: list[Any] = []
    train = made.machine.train
    monkeypatch.setattr(made.machine, "train", lambda *given: (seen.append(given), train(*given))[1])
    made.warm_up()
    made.train(iterations=1)
    kinds = {tuple(type(each) for each in given[:5]) for given in seen}
    assert len(seen) == 2 and len(kinds) == 1
    assert np.array_equal(seen[0][1][0], seen[1][1][0]), "the same view"
