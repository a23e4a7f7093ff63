"""Blueprints: the hash table of rows against a dict, training against a slow twin, and files that are not whole."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import kibitz
from kibitz.core import store
from kibitz.core.errors import ArtefactError, KibitzError, SolverError, SpecError
from kibitz.core.jit import kernel
from kibitz.solvers import blueprint as module
from kibitz.solvers import tables
from kibitz.solvers.blueprint import KIND, Blueprint, blueprint_profile
from kibitz.solvers.kernels.hash import WINDOW, find, find_or_add, look_up, scale
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.tables import packed, table_of
from kibitz.toepen.rules import NUMBERS, Toepen, deal_text, maximal_key, signature, thesis_key

U64 = np.uint64
ALL = (1 << 64) - 1
SPAN = int(WINDOW)


# The table


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
    with pytest.raises(ArtefactError, match="crowd"):
        packed(np.arange(1, 40, dtype=U64), np.zeros((39, 8), np.float32))


def test_scale():
    table = table_of(32, 4)._replace(value=np.ones((11, 8), np.float32))
    scale(table, 2, 5, np.float32(0.5))
    assert table.value[:, 3].tolist() == [1, 1, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1, 1]


# Training against a slow twin: the readable rules, a dict, and the same random numbers in Python's integers

GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


class Twin:
    """External sampling [Lanctot et al. 2009], written from the definition; `even`: like suits are played alike."""

    def __init__(self, game, key, seed, even):
        self.game, self.key, self.seed, self.even = game, key, seed, even
        self.regret: dict = {}
        self.average: dict = {}
        self.visited = 0

    def draw(self):
        self.random = (self.random + GOLDEN) & ALL
        return mix(self.random)

    def deal(self):
        cards = list(self.game.deck)
        for k in range(2 * self.game.hand):
            at = k + ((self.draw() >> 32) * (len(cards) - k) >> 32)
            cards[k], cards[at] = cards[at], cards[k]
        n = self.game.hand
        return deal_text(tuple(sorted(cards[:n])), tuple(sorted(cards[n : 2 * n])))

    def iterate(self, t):
        for seat in range(2):
            self.random = mix(mix((self.seed + GOLDEN) & ALL) ^ mix((t * GOLDEN + seat + 1) & ALL))
            self.walk(self.game.after(self.game.root(), self.deal()), seat)

    def strategy(self, row):
        positive = np.maximum(self.regret[row].astype(float), 0.0)
        return positive / positive.sum() if positive.sum() > 0 else np.full(len(positive), 1 / len(positive))

    def walk(self, state, seat):
        if state.turn < 0:
            return self.game.payoff(state)[seat]
        self.visited += 1
        actions = self.game.actions(state)
        row = state.turn, self.key(state, state.turn)
        self.regret.setdefault(row, np.zeros(len(actions), np.float32))
        average = self.average.setdefault(row, np.zeros(len(actions), np.float32))
        strategy = self.strategy(row)
        if state.turn != seat:
            average += strategy.astype(np.float32)
            left = (self.draw() >> 11) / 2**53
            for a in np.flatnonzero(strategy):
                chosen = a
                left -= strategy[a]
                if left < 0:
                    break
            return self.walk(self.game.after(state, actions[chosen]), seat)
        values = np.array([self.walk(self.game.after(state, action), seat) for action in actions])
        if self.even and state.due == "card":
            for group in tied(state, seat, actions):
                values[group] = values[group].mean()
        self.regret[row] += (values - strategy @ values).astype(np.float32)
        return strategy @ values

    def halve(self):
        for row in self.regret:
            self.regret[row] *= np.float32(0.5)
            self.average[row] *= np.float32(0.5)


def tied(state, seat, actions):
    """Positions of cards that differ by the name of their suit alone, group by group."""
    kinds = [(NUMBERS[a] % 8, signature(state.dealt[seat], state.plays, NUMBERS[a] // 8)) for a in actions]
    return [[i for i, kind in enumerate(kinds) if kind == each] for each in set(kinds)]


def raw_key(state, seat):
    return f"{state.held[seat]} {state.done}"


def rows_by_label(trained, key):
    """(seat, readable key) -> (regrets, averages), for all infosets that have a row."""
    game = trained.game
    tree = kibitz.games.tree.lay_out(game)
    found, labels = {}, tree.infosets.labels
    keys = np.zeros(len(labels), U64)
    from kibitz.toepen.arrays import arrays_of, rules_of
    from kibitz.toepen.kernels.lay import keys_at

    keys_at(arrays_of(game)["labels"].examples, rules_of(game), trained.keys, keys)
    for i, at in enumerate(places_of(trained.table, keys)):
        if at < trained.capacity:
            seat, width = tree.infosets.seat_of(i), int(tree.infosets.width[i])
            value = trained.table.value[at]
            found[seat, key(game.read(seat, labels[i]), seat)] = value[:width], value[4 : 4 + width]
    return found


@pytest.mark.parametrize("abstraction", ["null", "isomorphic", "maximal"])
@pytest.mark.parametrize(
    "game", [Toepen(2, 2, 2), Toepen(3, 3, 2), Toepen(2, 3, 3, follow_suit=False)], ids=lambda game: game.spec
)
@pytest.mark.some(4)
def test_training_is_what_the_twin_does(game, abstraction, monkeypatch):
    monkeypatch.setattr(module, "FIRST_HALVING", 20)
    key = {"null": raw_key, "isomorphic": thesis_key, "maximal": maximal_key}[abstraction]
    trained = Blueprint.empty(game, abstraction, 4_000_000, seed=11)
    twin = Twin(game, key, 11, even=abstraction != "null")
    trained.train(iterations=50)
    for t in range(50):
        twin.iterate(t)
        if t + 1 in (20, 40):
            twin.halve()
    assert trained.iteration == 50 and trained.counts[0] == twin.visited
    found = rows_by_label(trained, key)
    assert found.keys() == twin.regret.keys() and len(found) == trained.store.used
    for row, (regret, average) in found.items():
        np.testing.assert_allclose(regret, twin.regret[row], rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(average, twin.average[row], rtol=1e-5, atol=1e-5)


# What training arrives at


@pytest.mark.parametrize(
    ("game", "abstraction", "iterations", "gap"),
    [
        ("toepen(suits=2, ranks=3, hand=2)", "maximal", 240_000, 0.025),
        ("toepen(suits=2, ranks=3, hand=2)", "null", 60_000, 0.07),
        ("toepen(suits=3, ranks=3, hand=2)", "isomorphic", 60_000, 0.12),
        ("toepen(suits=3, ranks=3, hand=2)", "maximal", 120_000, 0.06),
        ("toepen(suits=3, ranks=3, hand=3, betting=false)", "isomorphic", 30_000, 0.04),
    ],
)
@pytest.mark.some(2)
def test_it_converges(game, abstraction, iterations, gap):
    tree = kibitz.games.tree.lay_out(kibitz.game(game))
    trained = Blueprint.empty(game, abstraction, 5_000_000)
    uniform = kibitz.nash_conv(tree, blueprint_profile(trained, tree))
    trained.train(iterations=iterations // 10)
    early = kibitz.nash_conv(tree, blueprint_profile(trained, tree))
    trained.train(iterations=iterations)
    profile = blueprint_profile(trained, tree)
    late = kibitz.nash_conv(tree, profile)
    assert late < early < uniform and late < gap, (uniform, early, late)
    assert profile.game == trained.game.spec and profile.meta["iterations"] == iterations


def test_threads_converge_too():
    game = "toepen(suits=2, ranks=3, hand=2)"
    tree = kibitz.games.tree.lay_out(kibitz.game(game))
    trained = Blueprint.empty(game, "maximal", 5_000_000)
    trained.train(iterations=60_000, threads=2)
    assert kibitz.nash_conv(tree, blueprint_profile(trained, tree)) < 0.07


def test_like_suits_are_played_alike():
    """A seat that prefers clubs to diamonds would be read by one who can tell them apart, which rows here cannot."""
    trained = Blueprint.empty("toepen(suits=3, ranks=2, hand=2)", "maximal", 4_000_000)
    trained.train(iterations=5000)
    profile, groups = blueprint_profile(trained, kibitz.games.tree.lay_out(trained.game)), 0
    for seat in range(2):
        for infoset, chances in profile.items(seat):
            if set(chances) <= NUMBERS.keys():
                for group in tied(trained.game.read(seat, infoset), seat, list(chances)):
                    assert np.ptp(np.array(list(chances.values()))[group]) < 1e-6
                    groups += len(group) > 1
    assert groups > 10


def test_a_profile_is_of_the_blueprints_own_game():
    trained = Blueprint.empty("toepen(suits=2, ranks=2, hand=2)", "null", 100_000)
    for other in ("toepen(suits=2, ranks=3, hand=2)", "kuhn"):
        with pytest.raises(SolverError, match="the blueprint of toepen"):
            blueprint_profile(trained, kibitz.games.tree.lay_out(kibitz.game(other)))


def test_refused_rows_play_uniformly():
    """What finds no place is neither kept nor a trace of the last one that found none."""
    game = "toepen(suits=3, ranks=3, hand=2)"
    tree = kibitz.games.tree.lay_out(kibitz.game(game))
    trained = Blueprint.empty(game, "null", 1024 * 40, full="refuse")
    trained.train(iterations=3000)
    assert trained.store.used <= 1024 and trained.progress().refused > 1000 and trained.progress().evicted == 0
    assert not trained.table.value[-1].any()
    profile = blueprint_profile(trained, tree)
    uniform = np.repeat(1 / tree.infosets.width, tree.infosets.width)
    assert (np.abs(profile.probabilities - uniform) < 1e-12).mean() > 0.9


def test_eviction_keeps_the_table_full_of_what_is_visited_most():
    game = "toepen(suits=3, ranks=3, hand=2)"
    whole, small = (Blueprint.empty(game, "null", memory) for memory in (5_000_000, 200_000))
    for each in (whole, small):
        each.train(iterations=4000)
    assert whole.progress().evicted == 0 and small.progress().evicted > 1000
    assert small.store.used == np.count_nonzero(small.table.key) <= small.capacity
    weight = whole.table.value[:, 4:].sum(axis=1)
    busiest = whole.table.key[np.argsort(-weight)[:500]]
    assert (places_of(small.table, busiest) < small.capacity).mean() > 0.95


# The same bytes, however training is cut


def test_cuts_do_not_matter(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_HALVING", 64)
    game, options = "toepen(suits=3, ranks=3, hand=3)", {"abstraction": "isomorphic", "seed": 4, "memory": 400_000}
    whole = Blueprint.empty(game, **options)
    whole.train(iterations=700)
    assert whole.progress().evicted > 1000
    cut, path = Blueprint.empty(game, **options), tmp_path / "b"
    for at in (1, 2, 63, 64, 65, 127, 128, 129, 130, 511, 512, 700):
        cut.train(iterations=at)
        cut.save(path)
        cut = load_blueprint(path)
        assert cut.iteration == at
    assert cut.sha256 == whole.sha256
    assert np.array_equal(cut.table.key, whole.table.key) and np.array_equal(cut.table.value, whole.table.value)
    other = Blueprint.empty(game, **{**options, "seed": 5})
    other.train(iterations=700)
    assert other.sha256 != whole.sha256


@pytest.mark.parametrize("memory", [10_000_000, 400_000])
def test_interrupted_training_goes_on_as_if_nothing_had_been(memory, tmp_path):
    """Stops by the clock and by `on_block`, over two halvings; sparse and crowded tables."""
    game = "toepen(suits=3, ranks=3, hand=3)"
    whole = Blueprint.empty(game, "maximal", memory)
    whole.train(iterations=2500)
    part = Blueprint.empty(game, "maximal", memory)
    while part.iteration < 2500:
        if part.iteration % 2:
            part.train(2500, seconds=0.03)
        else:
            part.train(2500, on_block=lambda now: now.iteration >= 1200)
        part.save(tmp_path / "b")
        files = {f.name.partition("-")[0] for f in (tmp_path / "b").glob("*.bin")}
        assert ("place" in files) == (2 * part.store.used <= part.capacity)
        part = load_blueprint(tmp_path / "b")
    assert part.sha256 == whole.sha256


def test_progress_counts_what_happened():
    trained, seen = Blueprint.empty("toepen", memory=4_000_000), []
    trained.train(iterations=300, on_block=lambda now: bool(seen.append(now)))
    assert seen[-1].iteration == 300 and [p.iteration for p in seen] == sorted({p.iteration for p in seen})
    assert seen[-1].visited == trained.counts[0] > 100_000
    assert seen[-1].rows == np.count_nonzero(trained.table.key) == trained.store.used
    assert 0 < seen[-1].seconds == trained.seconds


def test_the_cache_of_compiled_code_can_be_loaded():
    """In a process of its own, for Numba crashes on some code only when it comes from the cache."""
    code = (
        "from kibitz.solvers.blueprint import Blueprint\n"
        "b = Blueprint.empty('toepen', memory=4_000_000)\nb.warm_up()\nb.train(iterations=20)\nprint(b.sha256)"
    )
    here = Blueprint.empty("toepen", memory=4_000_000)
    here.train(iterations=20)
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        assert (run.returncode, run.stderr, run.stdout.strip()) == (0, "", here.sha256)


# What is refused


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


@pytest.mark.parametrize("many", [0, 100, 1 << 20])
@pytest.mark.some(2)
def test_packed_rows_are_found_again(many, monkeypatch):
    """However they are put in: one by one, or sorted by where they belong."""
    from kibitz.solvers import tables
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
