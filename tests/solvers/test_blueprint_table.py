"""The hash table of rows that blueprints are kept in."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from kibitz.core.errors import ArtefactError
from kibitz.core.jit import kernel
from kibitz.solvers import tables
from kibitz.solvers.kernels.hash import WINDOW, find, find_or_add, look_up, scale
from kibitz.solvers.tables import packed, table_of

U64 = np.uint64
ALL = (1 << 64) - 1
SPAN = int(WINDOW)


@kernel
def put_all(table, keys, weights, evict, place, count):
    """Find or add keys one after another; where there is a place, add a weight to its average and set a mark."""
    for i in range(len(keys)):
        at = find_or_add(table, keys[i], evict, count)
        place[i] = at
        if at < len(table.key):
            table.value[at, 4] += weights[i]
            table.value[at, 0] = i + 1


@kernel
def find_all(table, keys, place):
    for i in range(len(keys)):
        place[i] = find(table, keys[i])


def put(table, keys, weights=None, evict=True):
    """(places, counts) after some keys were put into a table."""
    keys = np.asarray(keys, U64)
    weights = np.zeros(len(keys), np.float32) if weights is None else np.asarray(weights, np.float32)
    place, count = np.zeros(len(keys), np.int64), np.zeros(4, np.int64)
    put_all(table, keys, weights, evict, place, count)
    return place, count


def places_of(table, keys):
    place = np.zeros(len(keys), np.int64)
    find_all(table, np.asarray(keys, U64), place)
    return place


class Slow:
    """The table as its docstring says: a list of (key, weight) or None."""

    def __init__(self, places):
        self.rows = [None] * places
        self.added = self.evicted = self.refused = 0

    def put(self, key, weight, evict):
        home = (key >> 32) * (len(self.rows) - SPAN) >> 32
        window = range(home, home + SPAN)
        at = next((at for at in window if self.rows[at] is None or self.rows[at][0] == key), None)
        if at is None:
            if not evict:
                self.refused += 1
                return len(self.rows)
            at = min(window, key=lambda at: self.rows[at][1])  # the first of the least
            self.evicted += 1
            self.rows[at] = None
        elif self.rows[at] is None:
            self.added += 1
        before = 0.0 if self.rows[at] is None else self.rows[at][1]
        self.rows[at] = (key, before + weight)
        return at


def random_keys(rng, count, crowd=None):
    """Keys that are not 0; `crowd`: their homes are in this share of the table."""
    keys = rng.integers(1, 1 << 63, count, dtype=U64) * U64(2) + rng.integers(0, 2, count, dtype=U64)
    if crowd is not None:
        high = (keys >> U64(32)).astype(float) * crowd
        keys = (high.astype(U64) << U64(32)) | (keys & U64(0xFFFFFFFF))
    return keys | U64(1)


@pytest.mark.parametrize("seed", range(4))
def test_a_table_with_room_is_a_dict(seed):
    rng = np.random.default_rng(seed)
    distinct = random_keys(rng, 3000)
    keys, weights = rng.choice(distinct, 9000), rng.integers(0, 9, 9000)
    table = table_of(12_000, 4)
    place, count = put(table, keys, weights)
    known: dict = {}
    for key, weight in zip(keys.tolist(), weights.tolist(), strict=True):
        known[key] = known.get(key, 0.0) + weight
    assert count.tolist() == [0, len(known), 0, 0]
    assert np.array_equal(place, places_of(table, keys))
    assert {int(table.key[at]): float(table.value[at, 4]) for at in set(place.tolist())} == known
    absent = random_keys(rng, 1000)
    absent = absent[~np.isin(absent, distinct)]
    assert (places_of(table, absent) == len(table.key)).all()
    assert not table.value[-1].any()


@pytest.mark.parametrize("evict", [True, False])
@pytest.mark.parametrize("crowd", [None, 0.05])
def test_a_full_table_does_what_it_says(evict, crowd):
    rng = np.random.default_rng(5)
    keys = rng.choice(random_keys(rng, 800, crowd), 6000)
    weights = rng.integers(0, 4, len(keys))  # many ties
    table, slow = table_of(300, 4), Slow(300)
    place, count = put(table, keys, weights, evict)
    expected = [slow.put(int(key), float(w), evict) for key, w in zip(keys, weights, strict=True)]
    assert place.tolist() == expected
    assert count.tolist() == [0, slow.added, slow.evicted, slow.refused]
    assert (slow.evicted > 1000) == evict and (slow.refused > 1000) == (not evict)
    found = zip(table.key.tolist(), table.value[:-1, 4].tolist(), strict=True)
    assert [(key, weight) if key else None for key, weight in found] == slow.rows
    assert not table.value[-1].any() and not table.value[:-1][table.key == 0].any()


def test_a_row_that_is_evicted_leaves_nothing_behind():
    crowd = [(7 << 32) + i for i in range(1, SPAN + 2)]  # all with one home
    table = table_of(1024, 4)
    put(table, crowd[:SPAN], np.arange(1, SPAN + 1))
    table.value[:, :] += np.where(table.key != 0, 1, 0)[np.r_[: len(table.key), 0], None]
    place, count = put(table, crowd[SPAN:])
    assert count.tolist() == [0, 0, 1, 0]
    home = 7 * (1024 - SPAN) >> 32
    assert place.tolist() == [home], "the least weight was that of the first key"
    assert table.value[home].tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert places_of(table, crowd).tolist() == [1024, *range(home + 1, home + SPAN), home]


def test_the_last_homes_have_a_whole_window():
    top = [(ALL >> 32 << 32) + i for i in range(1, SPAN + 2)]
    for places in (SPAN + 1, 64, 1000):
        table = table_of(places, 4)
        place, count = put(table, top, evict=False)
        assert count.tolist() == [0, SPAN, 0, 1]
        assert place.tolist() == [*range(places - SPAN - 1, places - 1), places]


def test_threads_lose_no_key():
    """Two threads put the same keys into one table in other orders, again and again."""
    rng = np.random.default_rng(3)
    keys = random_keys(rng, 20_000)
    for _ in range(10):
        table, counts = table_of(100_000, 4), []
        orders = [rng.permutation(keys), rng.permutation(keys)]
        ready = threading.Barrier(2)

        def work(order, table=table, counts=counts, ready=ready):
            ready.wait()
            counts.append(put(table, order, np.ones(len(order)), evict=False)[1])

        threads = [threading.Thread(target=work, args=(order,)) for order in orders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = sum(counts)
        assert total[3] == 0 and total[1] == len(keys) == np.count_nonzero(table.key)
        assert len(np.unique(table.key)) == len(keys) + 1, "each key is there once"
        assert (places_of(table, keys) < len(table.key)).all()


def test_look_up_matches_averages_then_regrets_then_nothing():
    table = table_of(1024, 4)
    place, _ = put(table, [1 << 40, 2 << 40, 3 << 40])
    table.value[place] = [[0, 0, 0, 0, 1, 3, 0, 0], [2, -1, 6, 0, 0, 0, 0, 0], [-1, -1, -1, -1, 0, 0, 0, 0]]
    out = np.full((4, 4), -1.0)
    look_up(table, np.array([1 << 40, 2 << 40, 3 << 40, 4 << 40], U64), np.array([2, 3, 4, 2]), out)
    assert out.tolist() == [[0.25, 0.75, -1, -1], [0.25, 0, 0.75, -1], [0.25] * 4, [0.5, 0.5, -1, -1]]


def test_packed_holds_the_same_rows():
    rng = np.random.default_rng(8)
    for count in (0, 1, 5000):
        keys, values = random_keys(rng, count), rng.normal(size=(count, 8)).astype(np.float32)
        table = packed(keys, values)
        assert max(1024, 2 * count) <= len(table.key) <= max(1024, 5 * count)
        assert np.array_equal(table.value[places_of(table, keys)], values)
        assert np.count_nonzero(table.key) == count
    with pytest.raises(ArtefactError, match="clustered"):
        packed(np.arange(1, 40, dtype=U64), np.zeros((39, 8), np.float32))


def test_scale():
    table = table_of(32, 4)._replace(value=np.ones((11, 8), np.float32))
    scale(table, 2, 5, np.float32(0.5))
    assert table.value[:, 3].tolist() == [1, 1, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("many", [0, 100, 1 << 20])
@pytest.mark.some(2)
def test_packed_rows_are_found_again(many, monkeypatch):
    """However they are put in: one by one, or sorted by where they belong."""
    from kibitz.solvers.kernels.hash import look_up

    monkeypatch.setattr(tables, "MANY", many)
    draw = np.random.default_rng(5)
    key = np.unique(draw.integers(1, (1 << 64) - 1, 50_000, np.uint64))
    value = draw.random((len(key), 6)).astype(np.float32)
    shuffled = draw.permutation(len(key))
    table = tables.packed(key[shuffled], value[shuffled])
    assert len(table.key) <= 4.5 * len(key) and np.count_nonzero(table.key) == len(key)
    found = np.zeros((len(key), 3))
    look_up(table, key, np.full(len(key), 3, np.int64), found)
    assert found == pytest.approx(value[:, 3:] / value[:, 3:].sum(axis=1, keepdims=True), abs=1e-6)
    missing = np.zeros((1, 3))
    look_up(table, np.setdiff1d(np.arange(1, 9, dtype=np.uint64), key)[:1], np.full(1, 3, np.int64), missing)
    assert missing == pytest.approx(np.full((1, 3), 1 / 3))
