"""Blueprints: training against a slow twin, what it converges to, and that cuts do not matter."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from test_blueprint_table import ALL, U64, places_of

import kibitz
from kibitz.core.errors import SolverError
from kibitz.solvers import blueprint as module
from kibitz.solvers.blueprint import Blueprint, blueprint_profile
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NUMBERS, deal_text, maximal_key, signature, thesis_key

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
        with pytest.raises(SolverError, match="the blueprint for toepen"):
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
