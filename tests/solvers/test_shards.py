"""Training in shards: the merge against its definition, the same bytes on any number of workers, and stops."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from poker_games import FINE
from poker_games import three_machine as machine

import kibitz
from kibitz.core.errors import SolverError
from kibitz.core.executor import executing
from kibitz.poker.blueprints.placed_rows import placed_blueprint
from kibitz.poker.rules.rows import RowPlan
from kibitz.solvers import RunOptions
from kibitz.solvers.blueprint import FIRST_HALVING, Blueprint, walked
from kibitz.solvers.merging import begun, changes, merged
from kibitz.solvers.new_blueprints import BlueprintOptions
from kibitz.solvers.shards import LEAST, Sharding, rounds
from kibitz.solvers.tables import HashedRows

TINY = BlueprintOptions("1MB")
SMALL = "toepen(suits=2, ranks=3, hand=2)"


# The merge


def slowly_merged(before, shards, scale=1.0):
    """From the definition: what a number was, plus what each shard added to what it began with. Rows by key, of plain
    numbers; the first half of a row are regrets."""
    after = {}
    for key in sorted({key for rows in (before, *shards) for key in rows}):
        width = len(next(rows[key] for rows in (before, *shards) if key in rows))
        old = before.get(key, [0.0] * width)
        start = [x * scale if a < width // 2 else x for a, x in enumerate(old)]
        after[key] = [x + sum(rows.get(key, start)[a] - start[a] for rows in shards) for a, x in enumerate(old)]
    return after


def random_rows(draw, keys, actions):
    """Keys and values, regrets of any sign and averages from 0 on, in quarters: sums of them are exact."""
    value = draw.integers(-40, 40, (len(keys), 2 * actions)).astype(np.float32) / 4
    value[:, actions:] = abs(value[:, actions:])
    return value


def as_rows(arrays):
    return {int(key): value.tolist() for key, value in zip(arrays["key"], arrays["value"], strict=True) if key}


@pytest.mark.parametrize("seed", range(20))
def test_the_merge_of_hashed_rows_is_its_definition(seed):
    draw = np.random.default_rng(seed)
    actions, many = int(draw.integers(1, 4)), int(draw.integers(0, 40))
    keys = np.unique(draw.integers(1, 1 << 63, 80, dtype=np.uint64) * np.uint64(2))
    old = np.sort(draw.choice(keys, min(many, len(keys)), replace=False))
    before, scale = {"key": old, "value": random_rows(draw, old, actions)}, float(draw.choice([1.0, 0.5, 0.25]))
    start, tables = begun(before, scale), []
    for _ in range(int(draw.integers(1, 5))):
        some = np.union1d(old, draw.choice(keys, 10))  # new ones, some in several shards
        value = np.zeros((len(some), 2 * actions), np.float32)
        value[np.isin(some, old)] = start["value"]
        moved = draw.random(len(some)) < 0.5
        moved |= ~np.isin(some, old)
        value[moved] += random_rows(draw, some[moved], actions)
        tables.append({"key": some, "value": value})
    answers = [changes(start, each) for each in tables]
    rows = {**as_rows(before), **as_rows(merged(before, answers, scale))}
    assert rows == slowly_merged(as_rows(before), [as_rows(each) for each in tables], scale)
    assert sum(len(answer["key"]) for answer in answers) < sum(len(each["key"]) for each in tables) or not many


@pytest.mark.parametrize("seed", range(20))
def test_the_merge_of_columns_is_its_definition(seed):
    draw = np.random.default_rng(seed)
    before = {name: draw.integers(-9, 9, n).astype(np.float32) for name, n in (("regret", 50), ("average", 30))}
    scale, shards = float(draw.choice([1.0, 0.5])), []
    start = begun(before, scale)
    for _ in range(int(draw.integers(1, 5))):
        share = draw.choice([0.1, 0.9])  # few changes travel with their places, many as they lie
        shards.append({
            name: old + draw.integers(-9, 9, len(old)).astype(np.float32) * (draw.random(len(old)) < share)
            for name, old in start.items()
        })  # fmt: skip
    answers = [changes(start, each) for each in shards]
    after = merged(before, answers, scale)
    for name, old in before.items():
        assert after[name].dtype == np.float32
        begin = start[name].tolist()
        slow = [x + sum(float(each[name][k]) - begin[k] for each in shards) for k, x in enumerate(old.tolist())]
        assert after[name].tolist() == slow


def test_one_shard_is_taken_to_the_bit():
    """Also where a difference and a sum would be rounded, and 0.0 becomes -0.0."""
    draw = np.random.default_rng(3)
    for _ in range(50):
        old, new = (np.float32(draw.normal(size=6) * 10.0 ** draw.integers(-30, 30, 6)) for _ in range(2))
        old[0], new[0] = 0.0, -0.0
        after = merged({"regret": old}, [changes({"regret": old}, {"regret": new})])
        assert after["regret"].tobytes() == new.tobytes()
        rows = [{"key": np.array([7], np.uint64), "value": np.abs(x)[None] * [1, 1, 1, 0, 0, 0]} for x in (old, new)]
        before, now = ({**each, "value": each["value"].astype(np.float32)} for each in rows)
        answer = merged(before, [changes(before, now)])
        assert answer["value"].tobytes() == now["value"].tobytes()


def test_a_row_that_was_driven_out_and_made_anew_is_added():
    old = np.array([[1.0, 5.0]], np.float32)
    key = np.array([7], np.uint64)
    before = {"key": key, "value": old}
    shards = [{"key": key, "value": np.array([x], np.float32)} for x in ([4.0, 2.0], [2.0, 6.0])]
    assert merged(before, shards)["value"].tolist() == [[1.0 + 4.0 + 1.0, 5.0 + 2.0 + 1.0]]


def test_rows_are_written_where_there_is_room_for_them():
    """A table grows before new rows come, and counts them once."""
    draw = np.random.default_rng(1)
    store, counts = HashedRows.empty(1 << 26, 2, "evict"), np.zeros(4, np.int64)
    for _ in range(3):
        key = np.unique(draw.integers(1, 1 << 63, 30_000, dtype=np.uint64))
        rows = {"key": key, "value": random_rows(draw, key, 2)}
        store.write(rows, counts)
        store.write(rows, counts)
    arrays = store.arrays()
    assert counts.tolist() == [0, len(arrays["key"]), 0, 0] and store.used == counts[1] > 89_000
    again = store.renewed(arrays, counts.copy())
    assert all(np.array_equal(array, again.arrays()[name]) for name, array in arrays.items())


# Rounds


def test_every_iteration_is_walked_once_and_rounds_end_at_halvings():
    for sharding in (Sharding(3, 100), Sharding(7, 1), Sharding(1, 5000), Sharding(2), Sharding(40)):
        at = 0
        while at < 5000:
            due = FIRST_HALVING
            while due <= at:
                due *= 2
            spans = sharding.spans(at, due)
            walks = [t for first, last in spans for t in range(first, last)]
            assert walks == list(range(at, spans[-1][1])) and spans[-1][1] <= due
            most = sharding.merge_every or max(LEAST, at // 50)
            assert 0 < len(spans) <= sharding.shards and max(last - first for first, last in spans) <= most
            at = spans[-1][1]


def hashed(game=SMALL, abstraction=None, seed=4):
    return Blueprint.empty(game, abstraction, 1_000_000, seed)


def placed():
    return placed_blueprint(machine(), RowPlan((FINE,)), seed=4)


KINDS = {"tree": lambda: hashed("leduc"), "rules": hashed, "columns": placed}


def trained(blueprint, shards, merge_every, iterations=2500, on="local:1"):
    with executing(on):
        for _ in rounds(blueprint, Sharding(shards, merge_every), iterations):
            pass
    return blueprint


@pytest.mark.parametrize("kind", KINDS)
def test_one_shard_is_plain_training(kind):
    plain = KINDS[kind]()
    plain.train(iterations=2500)
    assert trained(KINDS[kind](), 1, 300).sha256 == plain.sha256


@pytest.mark.parametrize("kind", KINDS)
def test_workers_do_not_matter_but_shards_do(kind):
    expected = trained(KINDS[kind](), 3, 50)
    assert expected.iteration == 2500
    assert trained(KINDS[kind](), 3, 50, on="local:2").sha256 == expected.sha256
    assert trained(KINDS[kind](), 2, 50).sha256 != expected.sha256 != trained(KINDS[kind](), 3, 51).sha256


@pytest.mark.parametrize("alone", [True, False])
def test_a_round_is_what_its_walks_add(alone):
    """Two shards of one round, each walked by itself, and their differences added up by hand."""

    def plain():
        blueprint = hashed("leduc")
        blueprint.train(iterations=1200)
        return blueprint

    blueprint, tables, scale = plain(), [], 1.0 if alone else 0.5
    before = as_rows(blueprint.store.arrays())
    for first, last in ((1200, 1230), (1230, 1260)):
        shard = plain()
        shard.table.value[:, : shard.machine.actions] *= np.float32(scale)
        shard.iteration = first
        shard.train(iterations=last)
        tables.append(as_rows(shard.store.arrays()))
    with executing("local:1"):
        assert len(list(rounds(blueprint, Sharding(2, 30, alone), 1260))) == 1
    after, slow = as_rows(blueprint.store.arrays()), slowly_merged(before, tables, scale)
    assert after.keys() == slow.keys()
    for key, row in after.items():
        np.testing.assert_allclose(row, slow[key], rtol=1e-6, atol=1e-5)


def test_pruning_follows_the_scale_of_regrets(monkeypatch):
    """What plain training passes over, a shard whose regrets are divided by four passes over too."""
    prunes = []

    def watched(shard, *rest):
        prunes.append(shard.order().prune)
        return walked(shard, *rest)

    monkeypatch.setattr("kibitz.solvers.shards.walked", watched)
    blueprint = placed_blueprint(machine(), RowPlan((FINE,)), seed=4, prune=-3.0)
    trained(blueprint, 4, 100, 400)
    assert set(prunes) == {-0.75} and blueprint.store.prune == -3.0


def test_full_tables(tmp_path):
    """Rows are driven out and refused, and nothing is counted that is not there."""
    for full in ("evict", "refuse"):
        blueprint = Blueprint.empty("toepen(suits=3, ranks=3, hand=3)", "null", 50_000, full=full)
        trained(blueprint, 3, 40, 300)
        now = blueprint.progress()
        assert now.rows == blueprint.counts[1] <= blueprint.capacity
        assert now.evicted if full == "evict" else now.refused
        blueprint.save(tmp_path / full)
        assert kibitz.load(tmp_path / full).sha256 == blueprint.sha256


def test_rules_in_python_are_walked_in_processes():
    def plain():
        return Blueprint.empty("leduc(players=3, ranks=13, suits=4)", memory=10_000_000, seed=1)  # too large for a tree

    expected = plain()
    assert not expected.machine.compiled
    trained(expected, 2, 4, 12)
    assert trained(plain(), 2, 4, 12, on="local:2").sha256 == expected.sha256


# Training


def test_train_and_resume(tmp_path):
    options = {"shards": 3, "merge_every": 40, "options": TINY, "seed": 4}
    whole = kibitz.train("kuhn", iterations=1200, **options)
    kibitz.train("kuhn", iterations=480, **options, run=RunOptions(tmp_path / "b"))
    again = kibitz.train(run=RunOptions(tmp_path / "b", resume=True), iterations=1200, shards=3, merge_every=40)
    assert again.sha256 == whole.sha256 == kibitz.load(tmp_path / "b").sha256
    assert kibitz.train("kuhn", seconds=0.01, shards=2, options=TINY).iteration > 0


@pytest.mark.parametrize("on", ["local:1", "local:2"])
def test_ctrl_c_in_a_round_drops_the_round(tmp_path, on):
    """A round without end is left at once, and what is saved is the last merge."""

    with executing(on):
        kibitz.train(SMALL, iterations=200, shards=2, merge_every=100, options=TINY, run=RunOptions(tmp_path / "a"))
        begun = kibitz.load(tmp_path / "a")
        begun.iteration = 1 << 40
        begun.save(tmp_path / "b")
        before = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        before.start()
        with pytest.raises(kibitz.Interrupted, match="saved in") as stop:
            kibitz.train(shards=2, merge_every=1 << 38, iterations=1 << 41,
                         run=RunOptions(tmp_path / "b", resume=True))
    assert kibitz.load(stop.value.saved).sha256 == begun.sha256


def test_what_does_not_fit_is_a_sentence():
    for wrong, words in (
        ({"merge_every": 5}, "give --shards"),
        ({"shards": 2, "threads": 2}, "a shard is walked by one thread"),
        ({"shards": 0}, "shards=0 must be a whole number"),
        ({"shards": 2, "merge_every": 0}, "merge_every=0 must be"),
        ({"shards": 2, "iterations": None}, "give a stopping condition"),
    ):
        with pytest.raises(SolverError, match=words):
            kibitz.train("kuhn", **{"iterations": 5, "options": TINY, **wrong})


def test_shards_are_not_for_a_gpu(monkeypatch):
    monkeypatch.setattr("kibitz.solvers.training.check_device", lambda device: None)
    with pytest.raises(SolverError, match="shards are walked on the cores"):
        kibitz.train("kuhn", iterations=5, shards=2, run=RunOptions(device="gpu"))


def test_shards_converge():
    blueprint = trained(hashed("kuhn"), 4, 50, 40_000)
    assert kibitz.nash_conv("kuhn", blueprint) < 0.05
