"""Blueprints in files: what is refused, and that they play the same when they are read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_blueprint_table import ALL

import kibitz
from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError, SolverError, SpecError
from kibitz.solvers import tables
from kibitz.solvers.blueprint import KIND, Blueprint, blueprint_profile
from kibitz.solvers.saved_blueprints import load_blueprint


def test_settings_that_cannot_be():
    with pytest.raises(SpecError, match="did you mean 'outlook'"):
        Blueprint.empty("toepen", "outlok")
    with pytest.raises(SolverError, match="needs buckets"):
        Blueprint.empty("toepen", "strength")
    with pytest.raises(SolverError, match="buckets of hands are"):
        Blueprint.empty("toepen", "strength", arrays={"bucket": np.zeros((2, 2, 7), np.uint8)})
    with pytest.raises(SolverError, match="evict"):
        Blueprint.empty("toepen", full="grow")
    with pytest.raises(SolverError, match="seed"):
        Blueprint.empty("toepen", seed=-1)
    with pytest.raises(SolverError, match="too little"):
        Blueprint.empty("toepen", memory=40_000)
    with pytest.raises(SolverError, match="free: give at most"):
        Blueprint.empty("toepen", memory=1 << 50)
    few = Blueprint.empty("toepen", memory=1_000_000)
    for wrong in ({}, {"iterations": -1}, {"seconds": 0}, {"seconds": float("nan")}, {"iterations": 1, "threads": 0}):
        with pytest.raises(SolverError):
            few.train(**wrong)
    assert few.iteration == 0


def test_memory_that_is_not_there(monkeypatch, tmp_path):
    Blueprint.empty("toepen", memory=10_000_000).save(tmp_path / "b")
    monkeypatch.setattr(tables, "free_memory", lambda: 5_000_000)
    with pytest.raises(SolverError, match="are free"):
        Blueprint.empty("toepen", memory=10_000_000)
    with pytest.raises(ArtefactError, match="are free"):
        load_blueprint(tmp_path / "b")
    assert load_blueprint(tmp_path / "b", compact=True).store.used == 0, "its rows fit"


def test_a_table_takes_what_it_may():
    trained = Blueprint.empty("toepen", memory=1_000_000)
    assert trained.capacity == 25_000
    assert trained.table.key.nbytes + trained.table.value[:-1].nbytes == 1_000_000


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Two blueprints on disk, one sparse and one crowded."""
    folder = tmp_path_factory.mktemp("blueprints")
    for name, memory in (("sparse", 5_000_000), ("crowded", 100_000)):
        trained = Blueprint.empty("toepen(suits=2, ranks=3, hand=2)", "null", memory, seed=2)
        trained.train(iterations=1100)
        trained.save(folder / name)
    return folder


def test_compact_blueprints_play_the_same(saved):
    for name in ("sparse", "crowded"):
        whole, compact = load_blueprint(saved / name), load_blueprint(saved / name, compact=True)
        assert compact.capacity <= max(1024, 5 * whole.store.used) and compact.capacity <= whole.capacity
        tree = kibitz.games.tree.lay_out(whole.game)
        one, other = (blueprint_profile(each, tree).probabilities for each in (whole, compact))
        assert np.array_equal(one, other)


def changed(saved, target, name="sparse", meta=None, arrays=None, without=()):
    held = store.load(saved / name, KIND)
    kept = {k: a for k, a in {**held.arrays, **(arrays or {})}.items() if k not in without}
    store.save(target, KIND, kept, {**held.meta, **(meta or {})})


META = [
    {"game": "kuhn"}, {"game": "toepen(hand=9)"}, {"game": 3}, {"game": "toepen(symmetric=true)"},
    {"abstraction": "none"}, {"abstraction": "strength"}, {"capacity": 17}, {"capacity": 1 << 40},
    {"capacity": "many"}, {"seed": -1}, {"full": "grow"}, {"iteration": -1}, {"seconds": -1.0}, {"seconds": None},
]  # fmt: skip


@pytest.mark.parametrize("meta", META, ids=str)
@pytest.mark.parametrize("name", ["sparse", "crowded"])
def test_meta_that_no_training_has(saved, tmp_path, meta, name):
    changed(saved, tmp_path / "b", name, meta)
    for compact in (False, True):
        with pytest.raises(ArtefactError, match=r"not a whole blueprint|which game"):
            load_blueprint(tmp_path / "b", compact)


def spoilt(held):
    """Arrays that no training has, of a sparse blueprint: (what, array)."""
    key, value, place, counts = (held[name] for name in ("key", "value", "place", "counts"))

    def but(array, at, x):
        array = array.copy()
        array[at] = x
        return array

    yield "key", key[:-1]
    yield "key", but(key, 3, 0)
    yield "key", but(key, 3, int(key[3]) ^ 1 << 63)
    yield "key", key.astype(np.int64)
    yield "value", value[:, :4].copy()
    yield "value", value.astype(float)
    for x in (np.nan, np.inf):
        yield "value", but(value, (5, 2), x)
    yield "value", but(value, (5, 5), -1)
    yield "place", but(place, 1, int(place[0]))
    yield "place", but(place, -1, ALL)
    yield "place", place[::-1].copy()
    yield "counts", counts[:3]
    yield "counts", but(counts, 1, len(key) + 1)
    yield "counts", but(counts, 0, -1)
    yield "bucket", np.zeros((2, 2, 2), np.uint8)
    yield "bucket", np.zeros((2, 2, 1))


def test_arrays_that_no_training_has(saved, tmp_path):
    for number, (name, array) in enumerate(spoilt(store.load(saved / "sparse", KIND).arrays)):
        changed(saved, tmp_path / str(number), arrays={name: array})
        with pytest.raises(ArtefactError, match="not a whole blueprint"):
            load_blueprint(tmp_path / str(number))
    for name in ("key", "value", "place", "counts", "bucket"):
        changed(saved, tmp_path / name, without=(name,))
        with pytest.raises(ArtefactError, match="not a whole blueprint"):
            load_blueprint(tmp_path / name)


def test_damaged_bytes(saved, tmp_path):
    changed(saved, tmp_path / "b")
    target = next((tmp_path / "b").glob("value-*.bin"))
    content = bytearray(target.read_bytes())
    content[9] ^= 4
    target.write_bytes(content)
    with pytest.raises(ArtefactError, match="damaged"):
        load_blueprint(tmp_path / "b")
    with pytest.raises(ArtefactError, match="no saved blueprint"):
        load_blueprint(tmp_path / "nothing")
    kibitz.solve("kuhn", "lp").save(tmp_path / "p")
    with pytest.raises(ArtefactError, match="a profile, not a blueprint"):
        load_blueprint(tmp_path / "p")


def test_no_file_is_run_on_the_word_of_a_blueprint(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("open('ran', 'w')\nclass Fox: pass\n")
    for game in ("evil.py:Fox", f"{tmp_path}/evil.py:Fox", " evil.py:Fox", "evil.efg", 'toepen(x="/evil.py:Fox")'):
        changed(saved, tmp_path / "b", meta={"game": game})
        with pytest.raises(KibitzError):
            load_blueprint(tmp_path / "b")
    assert not Path("ran").exists()


def test_a_manifest_says_what_it_is(saved):
    meta = json.loads((saved / "sparse" / "manifest.json").read_text())["meta"]
    assert meta["game"] == "toepen(suits=2, ranks=3, hand=2)" and meta["iteration"] == 1100 and meta["full"] == "evict"
