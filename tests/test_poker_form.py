"""The poker form held against its slow twin: the tree of the same rules, with every deal written out."""

from __future__ import annotations

import json
import random
import re
import time
import tracemalloc
from dataclasses import replace
from functools import cache
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import kibitz
from kibitz import evaluate
from kibitz.abstractions import abstract_game
from kibitz.errors import ArtefactError, GameError, SolverError
from kibitz.form.poker import PokerForm, is_poker, poker_form
from kibitz.form.poker_infosets import PokerInfosets
from kibitz.form.poker_space import PokerSpace
from kibitz.form.sequence import form_of
from kibitz.games import acpc
from kibitz.games.acpc import RANKED, Definition
from kibitz.games.betting import betting_tree
from kibitz.games.poker import Poker, poker, rhode_island
from kibitz.profile import Profile
from kibitz.run import Report, form_for, solve
from kibitz.solvers import SOLVERS, Task, make
from kibitz.tree import tree_of

NO_CAP = acpc.NO_CAP


def limit(suits, ranks, hole, board, *, raises=1, blinds=(1, 1), first=0, stacks=None):
    n = len(board)
    first = (first,) + (0,) * (n - 1)
    return Definition(
        True, 2, n, stacks, blinds, tuple(2 + 2 * k for k in range(n)), first, (raises,) * n, suits, ranks, hole, board
    )


def no_limit(suits, ranks, hole, board, *, stacks, blinds=(2, 1), first=1):
    n = len(board)
    first = (first,) + (0,) * (n - 1)
    return Definition(False, 2, n, stacks, blinds, (), first, (NO_CAP,) * n, suits, ranks, hole, board)


def rhode(ranks, suits, *raises):
    return replace(acpc.read("rhode_island"), ranks=ranks, suits=suits, max_raises=raises, name="")


GAMES = {
    "kuhn": acpc.read("kuhn"),
    "leduc": acpc.read("leduc"),
    "rhode island of 3 by 2": rhode(3, 2, 1, 0, 1),
    "rhode island of 2 by 3": rhode(2, 3, 1, 1, 0),
    "hands of two": limit(2, 3, 2, (0, 1), raises=2),
    "hands of two, three suits": limit(3, 2, 2, (0, 1)),
    "hands of two, flop": limit(4, 2, 2, (3,)),
    "reverse blinds": limit(2, 3, 1, (0, 1), raises=2, blinds=(2, 1), first=1),
    "no limit": no_limit(2, 3, 1, (0, 1, 1), stacks=(4, 6)),
    "no limit, hands of two": no_limit(2, 3, 2, (0, 1), stacks=(5, 5)),
    "short stacks": limit(3, 2, 1, (0, 1, 1), raises=3, stacks=(4, 5)),
    "all in by the blinds": no_limit(3, 2, 1, (0, 1, 1), stacks=(2, 3)),
    "blinds that end it": limit(2, 2, 1, (1, 1), blinds=(2, 2), stacks=(2, 2)),
    "one seat alone decides": limit(2, 3, 1, (0, 1), blinds=(2, 1), stacks=(2, 2), first=0),
    "board first": limit(3, 2, 1, (1, 1)),
    "one suit": limit(1, 5, 1, (0, 1, 1)),
    "four suits": limit(4, 1, 1, (0, 1)),
    "rounds without cards": limit(2, 3, 1, (0, 0, 1)),
    "no raises at all": limit(2, 3, 1, (0, 1), raises=0),
}  # fmt: skip
LARGER = {
    "hands of two, flop of two suits": limit(2, 4, 2, (0, 3)),
    "rhode island of 3 by 2, whole": rhode(3, 2, 3, 3, 3),
    "rhode island of 2 by 3, whole": rhode(2, 3, 3, 3, 3),
    "rhode island of 4 by 2": rhode(4, 2, 1, 1, 1),
    "hands of two, flop of three suits": limit(3, 3, 2, (0, 3)),
    "no limit, six chips": no_limit(2, 3, 1, (0, 1, 1), stacks=(6, 6)),
}


class Pair:
    """A game in both forms, and which class each infoset and sequence of the tree is of.

    With buckets the tree is that of the abstract game, in which infosets of a bucket are one.
    """

    def __init__(self, definition, buckets=None, plain=None):
        self.game = Poker(definition)
        self.tree = plain.tree if plain else tree_of(self.game)
        self.form = PokerForm(self.game, buckets=buckets)
        self.class_of = plain.class_of if plain else cache(self.form.cards.find)
        fast = self.form.infosets
        if buckets is not None:
            self.derived = abstract_game(self.tree, self.rows_of(fast))
            self.tree = self.derived.tree
        self.slow, slow = form_of(self.tree), self.tree.infosets
        self.of = np.array([self.find(fast, seat, label) for seat, label in labels_of(slow)], np.int64)
        for i, j in enumerate(self.of.tolist()):
            assert fast.actions[fast.actions_of[j]] == slow.actions[slow.actions_of[i]]
        self.column = self.columns_of(fast.first)
        self.sequence = self.sequences_of(self.form, self.column)
        self.scale = float(np.abs(self.tree.payoff).max(initial=1.0))

    def find(self, fast, seat, label):
        """The infoset of the poker form that a label of the tree belongs to."""
        if self.form.buckets is None:
            return fast.find(seat, label)
        level = label.count("/")
        cards, _, betting = label.partition(":")
        bucket = self.form.buckets[seat][level][self.class_of(level, cards)]
        return fast.find(seat, f"bucket {bucket}:{betting}")

    def rows_of(self, fast):
        return np.array([self.find(fast, seat, label) for seat, label in labels_of(self.tree.infosets)], np.int64)

    def columns_of(self, first):
        """Tree column -> column of infosets that `of` gives."""
        slow = self.tree.infosets
        within = np.arange(slow.columns) - slow.first[slow.row_of_column]
        return first[self.of][slow.row_of_column] + within if slow.columns else np.zeros(0, np.int64)

    def sequences_of(self, form, column):
        """Tree sequence -> sequence of a poker form."""
        of_column = np.full(form.columns, -1, np.int64)
        # to_strategy says which column a sequence reads.
        reads = form.to_strategy(np.arange(form.columns, dtype=float)).astype(np.int64)
        inner = np.ones(form.sequences, bool)
        inner[form.seat_sequence[:-1]] = False
        of_column[reads[inner]] = np.flatnonzero(inner)
        assert (of_column >= 0).all()  # one to one
        found = np.empty(self.slow.sequences, np.int64)
        mine = self.slow.column >= 0
        found[mine] = of_column[column[self.slow.column[mine]]]
        found[self.slow.seat_sequence[:-1]] = form.seat_sequence[:-1]
        return found

    def lift(self, probabilities):
        """Probabilities of the poker form -> of the tree."""
        return probabilities[self.column]


def labels_of(infosets):
    seats = np.repeat(np.arange(2), np.diff(infosets.seat_start)).tolist()
    return zip(seats, infosets.labels, strict=True)


@cache
def pair(name):
    return Pair({**GAMES, **LARGER}[name])


def random_probabilities(form, seed, zeros=0.2):
    """A random distribution at each infoset, here and there with actions that are never taken."""
    rng = np.random.default_rng(seed)
    infosets = form.infosets
    weights = rng.exponential(size=form.columns) * (rng.random(form.columns) >= zeros)
    for i in range(len(infosets.labels)):
        here = weights[infosets.first[i] : infosets.first[i + 1]]
        here[rng.integers(len(here))] += 0.1
        here /= here.sum()
    return weights


def compare_values(both, probabilities):
    """Value, best responses, gap, plans, gradients and the responses themselves."""
    form, slow, scale = both.form, both.slow, both.scale
    lifted = both.lift(probabilities)
    tolerance = {"rtol": 0.0, "atol": 1e-12 * scale}
    fast_found, slow_found = form.measure(probabilities), slow.measure(lifted)
    np.testing.assert_allclose(fast_found.value, slow_found.value, **tolerance)
    np.testing.assert_allclose(fast_found.best, slow_found.best, **tolerance)
    assert fast_found.nash_conv == pytest.approx(slow_found.nash_conv, rel=0, abs=2e-12 * scale)
    np.testing.assert_allclose(form.value(probabilities), slow.value(lifted), **tolerance)
    plan = form.plan(form.to_strategy(probabilities))
    slow_plan = slow.plan(slow.to_strategy(lifted))
    np.testing.assert_allclose(plan[both.sequence], slow_plan, rtol=0, atol=1e-13)
    for seat in (0, 1):
        lo, hi = slow.seat_sequence[seat : seat + 2]
        first = form.seat_sequence[seat]
        size = int(form.seat_sequence[seat + 1] - first)
        worth = np.bincount(both.sequence[lo:hi] - first, slow.gradient(seat, slow_plan), minlength=size)
        np.testing.assert_allclose(form.gradient(seat, plan), worth, **tolerance)
        best, answer = form.best_response(seat, probabilities)
        assert best == pytest.approx(slow_found.best[seat], rel=0, abs=1e-12 * scale)
        assert slow.value(both.lift(answer))[seat] == pytest.approx(best, rel=0, abs=1e-12 * scale)
        others = slice(*form.infosets.first[form.infosets.seat_start[1 - seat : 3 - seat]])
        assert (answer[others] == probabilities[others]).all()
        assert set(np.unique(np.delete(answer, np.r_[others]))) <= {0.0, 1.0}


@pytest.mark.parametrize("name", GAMES)
def test_values_are_those_of_the_tree(name):
    both = pair(name)
    compare_values(both, both.form.uniform())
    for seed in range(2):
        compare_values(both, random_probabilities(both.form, seed))


def test_weights_become_probabilities():
    both = pair("leduc")
    form, slow = both.form, both.slow
    np.testing.assert_array_equal(both.lift(form.uniform()), slow.uniform())
    np.testing.assert_array_equal(form.to_probabilities(np.zeros(form.sequences)), form.uniform())
    mine = random_probabilities(form, 4)
    np.testing.assert_allclose(form.to_probabilities(form.to_strategy(mine)), mine, rtol=1e-15)
    weights = form.to_strategy(mine)
    for scale in (1e-30, 7.0, 1e30):
        np.testing.assert_allclose(form.to_probabilities(scale * weights), mine, rtol=1e-14)
        assert form.measure_weights(scale * weights).nash_conv == pytest.approx(form.measure(mine).nash_conv, rel=1e-12)
    single = form.measure_weights(weights.astype(np.float32))
    assert single.nash_conv == pytest.approx(form.measure(mine).nash_conv, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGER)
def test_values_of_larger_games(name):
    both = pair(name)
    for seed in range(2):
        compare_values(both, random_probabilities(both.form, seed))


def deals_of(suits, ranks, hole, board):
    """In how many ways all cards can be dealt; 0 where that or a showdown cannot be."""
    left, ways = suits * ranks, int(hole + sum(board) in RANKED)
    for cards in (hole, hole, *board):
        ways *= comb(max(0, left), cards)
        left -= cards
    return ways


DECKS = [
    (suits, ranks, hole, board)
    for suits, ranks, hole in product((1, 2, 3, 4), (1, 2, 3, 4, 5), (1, 2))
    for rounds in (1, 2, 3)
    for board in product((0, 1, 2, 3), repeat=rounds)
    if 1 < deals_of(suits, ranks, hole, board) <= 1_000 and (rounds > 1 or board == (1,))
]


QUIET = settings(
    deadline=None, database=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.filter_too_much]
)


@st.composite
def definitions(draw, most):
    """Two-player games of any kind, of at most about so many histories and with some betting."""
    suits, ranks, hole, board = draw(st.sampled_from(DECKS))
    n = len(board)

    def seats(low, high):
        return draw(st.tuples(st.integers(low, high), st.integers(low, high)))

    def rounds(low, high):
        return tuple(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    blinds, stacks, first = seats(0, 3), seats(3, 6), rounds(0, 1)
    if draw(st.booleans()):
        ends = draw(st.sampled_from([None, stacks]))
        found = Definition(True, 2, n, ends, blinds, rounds(1, 3), first, rounds(0, 2), suits, ranks, hole, board)
    else:
        found = Definition(False, 2, n, stacks, blinds, (), first, rounds(1, 3), suits, ranks, hole, board)
    try:
        nodes = len(betting_tree(found, most))
    except GameError:
        nodes = most
    assume(nodes > 6 and nodes * deals_of(suits, ranks, hole, board) <= most)
    return found


@settings(QUIET, max_examples=15)
@given(definitions(4_000), st.integers(0, 2**32))
def test_values_of_random_games(definition, seed):
    both = Pair(definition)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


@pytest.mark.slow
@settings(QUIET, max_examples=60)
@given(definitions(20_000), st.integers(0, 2**32))
def test_values_of_more_random_games(definition, seed):
    both = Pair(definition)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


# Infosets and their labels


def other_names(definition, label):
    """The label with suits renamed, by every renaming."""
    names = "cdhs"[: definition.suits]
    cards, _, betting = label.partition(":")
    for order in permutations(names):
        table = dict(zip(names, order, strict=True))
        # Ranks in labels are digits and capitals, suits are small letters.
        yield "".join(table.get(letter, letter) for letter in cards) + ":" + betting


@pytest.mark.parametrize("name", GAMES)
def test_labels_find_their_infosets(name):
    form = pair(name).form
    infosets, n = form.infosets, form.points
    assert isinstance(infosets, PokerInfosets)
    assert len(infosets.labels) == n == infosets.seat_start[-1] == len(infosets.actions_of) == len(infosets.first) - 1
    assert infosets.columns == form.columns == infosets.first[-1] == form.sequences - 2
    widths = [len(infosets.actions[k]) for k in infosets.actions_of]
    assert infosets.first.tolist() == [0, *np.cumsum(widths).tolist()]
    assert infosets.width.tolist() == widths
    counted = np.diff(form.seat_sequence) - 1
    assert [sum(widths[a:b]) for a, b in (infosets.seat_start[:2], infosets.seat_start[1:])] == counted.tolist()
    seen = set()
    for i in range(n):
        seat, label = infosets.seat_of(i), infosets.labels[i]
        assert (seat, label) not in seen
        seen.add((seat, label))
        assert infosets.find(seat, label) == i
    for i in range(0, n, max(1, n // 60)):
        with pytest.raises(GameError):
            infosets.find(1 - infosets.seat_of(i), infosets.labels[i])
        for label in other_names(form.definition, infosets.labels[i]):
            assert infosets.find(infosets.seat_of(i), label) == i


@pytest.mark.parametrize("name", GAMES)
def test_every_infoset_of_the_tree_is_of_a_class_and_no_class_is_empty(name):
    both = pair(name)
    fast, slow = both.form.infosets, both.tree.infosets
    assert np.unique(both.of).tolist() == list(range(both.form.points))
    assert set(fast.labels) <= set(slow.labels)  # a class is called by one of its own
    # Infosets of one class differ by names of suits alone, and all of those are of it.
    for i in range(0, len(both.of), max(1, len(both.of) // 40)):
        mine = set(other_names(both.game.definition, slow.labels[i]))
        seat = slow.seat_of(i)
        lo, hi = slow.seat_start[seat : seat + 2]
        group = {slow.labels[k] for k in range(lo, hi) if both.of[k] == both.of[i]}
        renamed = {sorted_label(label) for label in mine}
        last = slow.labels[i].count("/") == both.game.definition.rounds - 1 and both.game.definition.hole == 1
        # In the last round hands of one card are one class also where they are worth the same.
        assert group >= renamed if last else group == renamed


def sorted_label(label):
    """Cards that came together high to low, as labels have them."""
    from kibitz.games.poker import cards_of, text_of

    cards, _, betting = label.partition(":")
    return " ".join(text_of(cards_of(word)) for word in cards.split()) + ":" + betting


def test_labels_are_a_sequence():
    labels = pair("leduc").form.infosets.labels
    every = list(labels)
    assert len(every) == len(labels) and labels[-1] == every[-1] and labels[-len(every)] == every[0]
    assert labels[3:9:2] == every[3:9:2]
    for wrong in (len(every), -len(every) - 1):
        with pytest.raises(IndexError):
            labels[wrong]


@pytest.mark.parametrize(
    ("seat", "wrong"),
    [
        (0, ""), (0, ":"), (0, "Ad:c"), (1, "Ad:"), (0, "Ad:zz"), (0, "Ad:cc/"), (0, "Ad Kd:"), (0, "2c:"), (0, "Ah:"),
        (0, "Ad Ad:cc/"), (0, "AdKd:"), (0, "Ad:f"), (0, "Ad Kd:cc"), (0, "Xx:"), (0, "A:"), (0, "bucket 1:"),
        (2, "Ad:"), (-1, "Ad:"),
    ],
)  # fmt: skip
def test_wrong_labels_are_refused(seat, wrong):
    infosets = pair("leduc").form.infosets
    with pytest.raises(GameError) as caught:
        infosets.find(seat, wrong)
    assert re.search(r"label reads|they read|seats are", str(caught.value))


# Solvers

VARIANTS = [
    "cfr", "cfr+", "lcfr", "dcfr", "pcfr+",
    "cfr(updates=simultaneous)", "cfr+(updates=simultaneous)", "lcfr(updates=simultaneous)",
    "dcfr(updates=simultaneous)", "pcfr+(updates=simultaneous)", "dcfr+", "pdcfr+", "pdcfr+(updates=simultaneous)",
    "cfr(delay=4)", "cfr+(averaging=quadratic, delay=5)", "pcfr+(averaging=linear, delay=1)",
    "cfr+(updates=simultaneous, averaging=uniform, delay=2)", "dcfr(alpha=2, beta=-0.5, gamma=3)",
]  # fmt: skip


def cfr_on(form, spec, *, dtype=np.float64, threads=1, start=None):
    """A solver of CFR's family on a poker form, in double precision."""
    solver = make(spec, Task(None, form, start=start, threads=threads))
    solver.space = PokerSpace(form, start, dtype=dtype)
    return solver


def compare_strategies(slow, one, other, tolerance):
    """Two strategies of one tree: where a seat lets play come they are the same, and so are their plans."""
    reach = [slow.plan(slow.to_strategy(probabilities)) for probabilities in (one, other)]
    np.testing.assert_allclose(reach[0], reach[1], rtol=0, atol=tolerance)
    inner = slow.column >= 0
    owner = slow.parent[slow.point_of[inner]]
    met = np.zeros(slow.columns)
    np.maximum.at(met, slow.column[inner], reach[0][owner])
    often = met > 1e-3  # below, weights that are rounding noise may decide
    np.testing.assert_allclose(one[often], other[often], rtol=0, atol=10 * tolerance)


def compare_regrets(both, fast, slow):
    """Regrets here are those of one hand, with buckets of all of a bucket; the tree's count how likely a hand is."""
    hands = both.form.cards.hands if both.form.buckets is None else 1
    wanted = hands * slow.state["regret"]
    np.testing.assert_allclose(fast.state["regret"][both.sequence], wanted, rtol=0, atol=1e-9 * hands * both.scale)


def compare_cfr(both, spec, stops=(1, 2, 7, 30)):
    """Average strategies after some iterations are those of the tree."""
    fast, slow = cfr_on(both.form, spec), make(spec, Task(both.tree, both.slow))
    for stop in stops:
        fast.step(stop - fast.iteration)
        slow.step(stop - slow.iteration)
        compare_regrets(both, fast, slow)
        # Small sums of regrets make rounding larger, from iteration to iteration.
        tolerance = 1e-9 if stop < 10 else 1e-8
        compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), tolerance)
    return fast, slow


def compare_cfr_until_tied(both, spec, count):
    """The same in games where actions are tied here and there: rounding may then decide otherwise, and all differs."""
    fast, slow = cfr_on(both.form, spec), make(spec, Task(both.tree, both.slow))
    for _ in range(count):
        fast.step(1)
        slow.step(1)
        compare_regrets(both, fast, slow)
        if np.abs(fast.state["strategy"][both.sequence] - slow.state["strategy"]).max() > 1e-10:
            return
        compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), 1e-9)


@pytest.mark.parametrize("spec", VARIANTS)
@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "reverse blinds"])
def test_cfr_goes_the_way_of_the_tree(name, spec):
    compare_cfr(pair(name), spec)


@pytest.mark.parametrize("name", GAMES)
def test_cfr_goes_the_way_of_every_tree(name):
    both = pair(name)
    for spec in ("cfr", "pcfr+", "dcfr(updates=simultaneous)"):
        fast, slow = compare_cfr(both, spec, stops=(1, 2, 12))
        one, two = fast.measure(), both.slow.measure(slow.probabilities())
        assert one.nash_conv == pytest.approx(two.nash_conv, rel=0, abs=1e-8 * both.scale)


# The matrices of the programme


def compare_matrices(both, seed):
    """payoff_matrix and constraints, against the compiled operator and the tree's own."""
    form, slow = both.form, both.slow
    matrix = form.payoff_matrix()
    split = form.seat_sequence
    assert matrix.shape == (split[1], split[2] - split[1])
    # The tree's entries, added up by class.
    from scipy.sparse import coo_matrix

    entries = slow.payoff_matrix().tocoo()
    rows = both.sequence[entries.row]
    columns = both.sequence[entries.col + slow.seat_sequence[1]] - split[1]
    summed = coo_matrix((entries.data, (rows, columns)), shape=matrix.shape).tocsc()
    assert abs(matrix - summed).max() <= 1e-12 * both.scale
    for k in range(2):
        plan = form.plan(form.to_strategy(random_probabilities(form, seed + k)))
        x, y = plan[: split[1]], plan[split[1] :]
        np.testing.assert_allclose(matrix @ y, form.gradient(0, plan), rtol=0, atol=1e-12 * both.scale)
        np.testing.assert_allclose(-(matrix.T @ x), form.gradient(1, plan), rtol=0, atol=1e-12 * both.scale)
        for seat in (0, 1):
            e, side = form.constraints(seat)
            start = form.infosets.seat_start
            assert e.shape == (1 + start[seat + 1] - start[seat], split[seat + 1] - split[seat])
            np.testing.assert_allclose(e @ plan[split[seat] : split[seat + 1]], side, rtol=0, atol=1e-13)
            assert side[0] == 1.0 and not side[1:].any()


@pytest.mark.parametrize("name", GAMES)
def test_matrices_are_the_operator(name):
    compare_matrices(pair(name), 7)


# Solvers, on


@pytest.mark.parametrize("spec", ["cfr", "cfr+", "pcfr+", "lcfr", "dcfr(updates=simultaneous)"])
def test_single_precision_is_close(spec):
    for name in ("leduc", "no limit", "hands of two", "rhode island of 2 by 3"):
        form = pair(name).form
        single, double = (cfr_on(form, spec, dtype=dtype) for dtype in (np.float32, np.float64))
        single.step(10)
        double.step(10)
        if name in ("leduc", "no limit"):  # in the others actions are tied, and rounding decides
            plans = [form.plan(form.to_strategy(s.probabilities())) for s in (single, double)]
            np.testing.assert_allclose(*plans, rtol=0, atol=1e-4)
        assert single.measure().nash_conv == pytest.approx(double.measure().nash_conv, rel=0.1, abs=1e-6)
        single.step(190)
        double.step(190)
        assert single.measure().nash_conv == pytest.approx(double.measure().nash_conv, rel=0.5, abs=1e-6)
        assert single.probabilities().dtype == np.float64
        assert make(spec, Task(None, form)).state["regret"].dtype == np.float32  # what solvers use


@pytest.mark.parametrize("buckets", [False, True])
@pytest.mark.parametrize("spec", ["cfr+", "pcfr+(delay=3)", "dcfr(updates=simultaneous)", "cfr(delay=9)"])
@pytest.mark.parametrize("name", ["kuhn", "leduc", "hands of two", "no limit"])
def test_bytes_depend_on_iterations_alone(name, spec, buckets):
    form = (coarse if buckets else pair)(name).form
    for dtype in (np.float32, np.float64) if name == "leduc" else (np.float32,):
        found = []
        for threads, parts in [(1, [30]), (2, [30]), (3, [1, 7, 22]), (1, [29, 1])]:
            solver = cfr_on(form, spec, dtype=dtype, threads=threads)
            for count in parts:
                solver.step(count)
            assert solver.iteration == 30 and solver.state["regret"].dtype == dtype
            found.append({key: array.tobytes() for key, array in solver.state.items()})
        assert all(state == found[0] for state in found)


@pytest.mark.parametrize("spec", ["cfr+", "pcfr+(delay=3)", "dcfr(updates=simultaneous)", "fp"])
def test_a_resumed_run_is_the_run(tmp_path, spec):
    game = Poker(GAMES["leduc"])
    whole = solve(game, spec, iterations=33)
    at = tmp_path / "run"
    solve(game, spec, iterations=14, checkpoint=at)
    again = solve(game, spec, iterations=33, checkpoint=at, resume=True)
    assert again.probabilities.tobytes() == whole.probabilities.tobytes()
    assert again.meta == whole.meta
    with pytest.raises(ArtefactError, match="another run"):
        solve(Poker(GAMES["reverse blinds"]), spec, iterations=33, checkpoint=at, resume=True)
    with pytest.raises(ArtefactError, match="another run"):  # the same game as a tree is another run
        solve(pair("leduc").tree, spec, iterations=33, checkpoint=at, resume=True)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_solves(solver):
    for name in ("leduc", "hands of two"):
        both = pair(name)
        report = Report()
        profile = solve(both.game, solver, iterations=1_000 if solver == "mccfr" else 60, report=report)
        on_tree = solver == "mccfr"  # which walks one
        assert isinstance(profile.infosets, PokerInfosets) != on_tree
        lifted = profile.probabilities if on_tree else both.lift(profile.probabilities)
        gap = evaluate.nash_conv(both.game, profile)
        assert gap == pytest.approx(both.slow.measure(lifted).nash_conv, rel=0, abs=1e-11)
        assert profile.meta["nash_conv"] == pytest.approx(gap, rel=1e-9, abs=1e-9)
        uniform = both.slow.measure(both.slow.uniform()).nash_conv
        most = {"lp": 1e-8, "auto": 1e-8, "br": np.inf, "fp": 0.5 * uniform, "mccfr": uniform}
        assert gap < most.get(solver, 0.3 * uniform)
        assert report.looks[-1].iteration == profile.meta["iterations"]


@pytest.mark.parametrize("name", [name for name in GAMES if name not in ("short stacks", "one suit")])
def test_the_programme_has_the_value_of_the_tree(name):
    both = pair(name)
    fast, slow = make("lp", Task(None, both.form)), make("lp", Task(both.tree, both.slow))
    fast.step(1)
    slow.step(1)
    assert fast.value == pytest.approx(slow.value, rel=0, abs=1e-8 * both.scale)
    found = both.slow.measure(both.lift(fast.probabilities()))
    assert found.nash_conv < 1e-7 * both.scale
    assert found.value[0] == pytest.approx(slow.value, rel=0, abs=1e-7 * both.scale)


@pytest.mark.parametrize("name", ["kuhn", "leduc", "hands of two", "reverse blinds", "no limit", "board first"])
def test_best_responses_and_fictitious_play_are_those_of_the_tree(name):
    both = pair(name)
    start = random_probabilities(both.form, 5, zeros=0.0)  # so that nothing is tied
    for solver, counts in (("br", [1]), ("fp", [1, 1, 3, 5])):
        fast = make(solver, Task(None, both.form, start=start))
        slow = make(solver, Task(both.tree, both.slow, start=both.lift(start)))
        for count in counts:
            fast.step(count)
            slow.step(count)
            np.testing.assert_allclose(fast.plan[both.sequence], slow.plan, rtol=0, atol=1e-12)
            compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), 1e-9)


def test_runs_start_where_they_are_told():
    both = pair("leduc")
    start = random_probabilities(both.form, 3, zeros=0.0)
    for spec in ("cfr", "pcfr+(updates=simultaneous)"):
        fast = cfr_on(both.form, spec, start=start)
        slow = make(spec, Task(both.tree, both.slow, start=both.lift(start)))
        np.testing.assert_allclose(fast.probabilities(), start, rtol=0, atol=1e-15)
        for _ in range(3):
            fast.step(2)
            slow.step(2)
            compare_strategies(both.slow, slow.probabilities(), both.lift(fast.probabilities()), 1e-9)
    form = poker_form(both.game)
    profile = Profile(form.infosets, start, {"game": form.spec, "tree": form.tree_digest})
    assert solve(both.game, "cfr+", iterations=0, start=profile).probabilities == pytest.approx(start, abs=1e-7)
    drawn = [solve(both.game, "cfr+", iterations=0, start="random", seed=seed).probabilities for seed in (1, 1, 2)]
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()
    tree_start = Profile(both.tree.infosets, both.lift(start), {"game": both.tree.spec, "tree": both.tree.digest})
    assert not isinstance(solve(both.game, "cfr+", iterations=2, start=tree_start).infosets, PokerInfosets)


def test_weights_of_the_average_stay_numbers():
    """Weights grow as t^gamma, and gamma may be 30; single precision ends at 3e38."""
    found = solve(Poker(GAMES["kuhn"]), "dcfr(gamma=30)", iterations=40).probabilities
    assert np.isfinite(found).all()
    assert solve(Poker(GAMES["kuhn"]), "dcfr(gamma=10)", iterations=9_000).meta["nash_conv"] < 0.01


def test_forms_are_chosen():
    game = Poker(GAMES["leduc"])
    assert isinstance(form_for(game), PokerForm) and form_for(game) is form_for(game, "cfr+")
    assert isinstance(form_for("poker(file=kuhn)", "lp"), PokerForm)
    assert not isinstance(form_for(game, "mccfr"), PokerForm)
    assert not isinstance(form_for(tree_of(game)), PokerForm)
    assert not isinstance(form_for("leduc"), PokerForm)
    form = PokerForm(game)
    assert form_for(form) is form
    with pytest.raises(SolverError, match="walks a tree"):
        solve(form, "mccfr", iterations=2)
    assert solve(form, "cfr+", iterations=5).meta["nash_conv"] < 4


# Buckets


def some_buckets(form, seed, most=3):
    """Random buckets that remember the bucket before."""
    rng = np.random.default_rng(seed)
    found = []
    for number, round_ in enumerate(form.cards.rounds):
        drawn = rng.integers(most, size=round_.classes)
        if number:
            drawn += most * found[-1][round_.up]
        found.append(np.unique(drawn, return_inverse=True)[1].astype(np.int64))
    return found


@cache
def coarse(name, seed=1):
    """A game in coarse buckets, the same for both seats where the seed is odd."""
    plain = pair(name)
    both = [some_buckets(plain.form, seed), some_buckets(plain.form, seed + 1, 2)]
    return Pair(plain.game.definition, both[0] if seed % 2 else tuple(both), plain)


BUCKETED = ["kuhn", "leduc", "rhode island of 2 by 3", "hands of two", "reverse blinds", "no limit", "board first",
            "rounds without cards", "all in by the blinds"]  # fmt: skip


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", BUCKETED)
def test_buckets_are_the_abstract_game(name, seed):
    both = coarse(name, seed)
    assert both.form.perfect_recall and both.slow.perfect_recall
    assert both.form.points <= pair(name).form.points
    assert np.unique(both.of).tolist() == list(range(both.form.points))
    compare_values(both, both.form.uniform())
    compare_values(both, random_probabilities(both.form, 1))
    compare_matrices(both, 1)
    for spec in ("cfr", "pcfr+", "dcfr(updates=simultaneous)", "cfr+(delay=5)"):
        compare_cfr(both, spec, stops=(1, 2, 12))
    fast, slow = make("lp", Task(None, both.form)), make("lp", Task(both.tree, both.slow))
    fast.step(1)
    slow.step(1)
    assert fast.value == pytest.approx(slow.value, rel=0, abs=1e-8 * both.scale)


@settings(QUIET, max_examples=8)
@given(definitions(3_000), st.integers(0, 2**32), st.integers(1, 3))
def test_buckets_of_random_games(definition, seed, most):
    plain = Pair(definition)
    buckets = tuple(some_buckets(plain.form, seed + seat, most) for seat in (0, 1))
    both = Pair(definition, buckets, plain)
    compare_values(both, random_probabilities(both.form, seed))
    compare_matrices(both, seed)
    compare_cfr_until_tied(both, random.Random(seed).choice(VARIANTS), 8)


@pytest.mark.parametrize("name", BUCKETED)
def test_a_bucket_for_each_class_changes_nothing(name):
    plain = pair(name).form
    form = PokerForm(Poker(plain.definition), buckets=[np.arange(r.classes) for r in plain.cards.rounds])
    assert form.perfect_recall and form.points == plain.points and form.sequences == plain.sequences
    assert form.tree_digest != plain.tree_digest
    # Plain infosets lie board by board, these do not.
    there = np.empty(plain.points, np.int64)
    for i, (seat, label) in enumerate(labels_of(plain.infosets)):
        cards, _, betting = label.partition(":")
        there[i] = form.infosets.find(seat, f"bucket {pair(name).class_of(label.count('/'), cards)}:{betting}")
    assert sorted(there) == list(range(plain.points))
    first = form.infosets.first[there]
    owner = plain.infosets.row_of_column
    column = first[owner] + np.arange(plain.columns) - plain.infosets.first[owner]
    mine = random_probabilities(plain, 2)
    same = np.empty_like(mine)
    same[column] = mine
    scale = 1e-13 * plain.scale
    one, two = plain.measure(mine), form.measure(same)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=scale)
    gradients = []
    for f, probabilities in ((plain, mine), (form, same)):
        plan = f.plan(f.to_strategy(probabilities))
        worth = np.concatenate([f.gradient(seat, plan) for seat in (0, 1)])
        gradients.append(f._columns(worth))
    np.testing.assert_allclose(gradients[0], gradients[1][column], rtol=0, atol=scale)
    for spec in ("cfr+", "pcfr+(updates=simultaneous)"):
        solvers = [cfr_on(f, spec) for f in (plain, form)]
        for solver in solvers:
            solver.step(12)
        plans = [f.plan(f.to_strategy(s.probabilities())) for f, s in zip((plain, form), solvers, strict=True)]
        np.testing.assert_allclose(plain._columns(plans[0]), form._columns(plans[1])[column], rtol=0, atol=1e-9)


FORGETFUL = ["leduc", "hands of two", "no limit", "board first", "rounds without cards"]


@cache
def forgetful(name):
    """Buckets that do not tell the bucket before."""
    plain = pair(name)
    buckets = [np.arange(r.classes) % (2 + (number == 0)) for number, r in enumerate(plain.form.cards.rounds)]
    return Pair(plain.game.definition, buckets, plain)


@pytest.mark.parametrize("name", FORGETFUL)
def test_buckets_that_forget(name):
    both = forgetful(name)
    form, slow = both.form, both.slow
    assert not form.perfect_recall and not slow.perfect_recall
    for spec in ("cfr", "cfr+(updates=simultaneous)"):
        fast, twin = cfr_on(form, spec), make(spec, Task(both.tree, slow))
        for _ in range(3):
            fast.step(3)
            twin.step(3)
            # The strategies; averages differ, for here deals count by their number and there each past once.
            np.testing.assert_allclose(
                fast.state["strategy"][both.sequence], twin.state["strategy"], rtol=0, atol=1e-9
            )
        found = fast.probabilities()
        np.testing.assert_allclose(np.add.reduceat(found, form.infosets.first[:-1]), 1.0, rtol=0, atol=1e-12)
    uniform = form.uniform()
    for refused in (
        lambda: form.measure(uniform),
        lambda: form.best_response(0, uniform),
        lambda: fast.measure(),
        lambda: solve(form, "lp"),
        lambda: solve(form, "fp", iterations=2),
    ):
        with pytest.raises(SolverError, match="forget"):
            refused()


@pytest.mark.parametrize("name", FORGETFUL)
def test_the_value_of_buckets_that_forget_is_right_or_refused(name):
    both = forgetful(name)
    probabilities = random_probabilities(both.form, 8)
    try:
        found = both.form.value(probabilities)
    except SolverError:
        return
    np.testing.assert_allclose(found, both.slow.value(both.lift(probabilities)), rtol=0, atol=1e-12 * both.scale)


def classes_of(k):
    return np.arange(pair("leduc").form.cards.rounds[k].classes)


@pytest.mark.parametrize(
    "buckets",
    [
        list, lambda: [classes_of(0)], lambda: [classes_of(0), classes_of(1), classes_of(1)],
        lambda: [classes_of(0) + 1, classes_of(1)], lambda: [classes_of(0) - 1, classes_of(1)],
        lambda: [classes_of(0), 2 * classes_of(1)], lambda: [classes_of(0), classes_of(1)[1:]],
        lambda: [classes_of(1), classes_of(0)], lambda: [classes_of(0)[:, None], classes_of(1)],
        lambda: [np.zeros(0, np.int64), classes_of(1)], lambda: [classes_of(0).astype(float), classes_of(1) + 0.0],
        lambda: [classes_of(0) > 0, classes_of(1) > 0],
    ],
)  # fmt: skip
def test_wrong_buckets_are_refused(buckets):
    with pytest.raises(SolverError, match="bucket"):
        PokerForm(Poker(GAMES["leduc"]), buckets=buckets()).measure_weights(np.ones(1))


def test_buckets_may_be_lists():
    form = pair("leduc").form
    lists = PokerForm(Poker(GAMES["leduc"]), buckets=[classes_of(0).tolist(), classes_of(1).tolist()])
    assert lists.measure(lists.uniform()).nash_conv == pytest.approx(form.measure(form.uniform()).nash_conv)


@pytest.mark.parametrize("name", ["leduc", "hands of two"])
def test_labels_of_buckets(name):
    infosets = coarse(name).form.infosets
    for i, (seat, label) in enumerate(labels_of(infosets)):
        assert infosets.find(seat, label) == i


@pytest.mark.parametrize(
    "wrong", ["bucket 99:", "bucket -1:", "bucket x:", "bucket 0.5:", "Ad:", "bucket 0:zz", "bucket :", "bucket 0:c"]
)
def test_wrong_labels_of_buckets_are_refused(wrong):
    infosets = coarse("leduc").form.infosets
    with pytest.raises(GameError):
        infosets.find(0, wrong)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "rounds without cards"])
def test_strategies_of_buckets_are_played_in_the_game(name, seed):
    plain, both = pair(name), coarse(name, seed)
    small = plain.form.bucketed(both.form.buckets)
    assert small.tree_digest == both.form.tree_digest and small.cards is plain.form.cards
    probabilities = random_probabilities(small, 3)
    lifted = plain.form.to_probabilities(plain.form.lift(small, small.to_strategy(probabilities)))
    # By way of the trees: abstract columns, their real ones, and these of the classes.
    wanted = both.derived.lift(both.lift(probabilities))
    np.testing.assert_allclose(plain.lift(lifted), wanted, rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        plain.form.measure(lifted).value, small.measure(probabilities).value, rtol=0, atol=1e-12 * plain.scale
    )


# Sizes


@pytest.mark.parametrize("name", GAMES)
def test_sizes_are_those_of_the_tree(name):
    both = pair(name)
    assert both.form.histories == both.tree.histories
    slow, (own, _), (other, _) = both.slow, both.form.constraints(0), both.form.constraints(1)
    plain = 1 + slow.seat_point[1] + slow.seat_sequence[2] - slow.seat_sequence[1]
    assert both.form.programme_size == (plain, own.shape[0] + other.shape[1])
    assert both.form.zero_sum and both.slow.zero_sum and both.form.seats == 2 and both.form.perfect_recall
    if both.game.definition.ranks > 1:  # else all hands are tied
        assert both.form.scale == pytest.approx(slow.scale)


def test_rhode_island_has_the_size_of_the_paper():
    assert PokerForm(rhode_island()).programme_size[0] == 91_224_226  # [Gilpin & Sandholm 2007]


# Refusals


def test_only_two_players():
    three = replace(acpc.read("kuhn"), players=3, blinds=(1, 1, 1), ranks=4, name="")
    with pytest.raises(GameError, match=r"3 players.*tree"):
        PokerForm(Poker(three))
    assert not is_poker(Poker(three))
    assert not isinstance(form_for(Poker(three)), PokerForm)
    assert not is_poker(kibitz.game("leduc"))


def test_asking_whether_a_game_is_poker_for_two_is_quick():
    began = time.perf_counter()
    assert not is_poker(poker("holdem.limit.3p"))  # whose betting has 24 million nodes
    assert time.perf_counter() - began < 1.0


def test_hands_of_three_cards_are_refused():
    with pytest.raises(GameError, match="hands of 3 cards"):
        PokerForm(Poker(limit(2, 5, 3, (0,))))


def test_what_does_not_fit_is_refused_before_it_is_made():
    game = poker("holdem.limit.2p")
    game.betting  # noqa: B018
    tracemalloc.start()
    began = time.perf_counter()
    with pytest.raises(GameError) as caught:
        poker_form(game)
    taken, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 3.0 and peak < 30_000_000
    found = re.search(r"at least ([\d,]+) sequences.* ([\d,.]+) MB to solve", str(caught.value))
    sequences, size = (float(word.replace(",", "")) for word in found.groups())
    assert sequences > 1e12 and size > 1e7
    with pytest.raises(GameError, match="MB to solve"):
        solve("poker(file=holdem.limit.2p)", "cfr+", iterations=1)


def test_memory_has_a_bound():
    game = Poker(GAMES["leduc"])
    form = PokerForm(game)
    for refused in (100, 20 * form.sequences):
        with pytest.raises(GameError, match="sequences up to the names of suits"):
            PokerForm(game, most_bytes=refused)
    assert PokerForm(game, most_bytes=100 * form.sequences).sequences == form.sequences
    with pytest.raises(GameError, match=r"rhode_island has .* 3\d\d MB to solve"):
        PokerForm(rhode_island(), most_bytes=10_000_000)


def test_rhode_island_is_what_it_should_be():
    """The whole deck, without a tree: sizes, and a value that CFR comes near to."""
    form = PokerForm(rhode_island(ranks=5))
    uniform = form.measure(form.uniform())
    assert uniform.value.sum() == pytest.approx(0.0, abs=1e-10) and (uniform.best > uniform.value).all()
    profile = solve(form, "pcfr+", iterations=60)
    assert profile.meta["nash_conv"] < 0.05 * uniform.nash_conv


def test_row_maps_are_for_trees():
    from kibitz.form.rows import row_map

    both = pair("leduc")
    with pytest.raises(SolverError, match="row maps"):
        both.form.space(row_map(both.slow), None)


def test_digests_tell_games_apart():
    form = pair("leduc").form
    named = replace(GAMES["leduc"], name="something else")
    assert PokerForm(Poker(named)).tree_digest == form.tree_digest
    digests = [pair(name).form.tree_digest for name in GAMES]
    digests += [coarse("leduc", seed).form.tree_digest for seed in (1, 2)]
    assert len(set(digests)) == len(digests)


# Profiles


def made_profile(name="leduc"):
    game = Poker({**GAMES, "leduc": acpc.read("leduc")}[name])
    return game, solve(game, "cfr+", iterations=25)


@pytest.mark.parametrize("name", ["leduc", "hands of two", "no limit", "reverse blinds"])
def test_profiles_come_back(tmp_path, name):
    game, profile = made_profile(name)
    profile.save(tmp_path / "one.profile")
    again = Profile.load(tmp_path / "one.profile")
    assert isinstance(again.infosets, PokerInfosets)
    assert again.probabilities.tobytes() == profile.probabilities.tobytes()
    assert again.meta == profile.meta and again.sha256 == profile.sha256
    assert again.infosets.labels[:] == profile.infosets.labels[:]
    assert evaluate.report(game, again) == evaluate.report(game, profile)
    assert evaluate.report(game, again)["nash_conv"] == pytest.approx(profile.meta["nash_conv"], rel=1e-9)
    if again.game:
        assert evaluate.report(again.game, again) == evaluate.report(game, profile)
    both = pair(name)
    for i, (seat, label) in enumerate(labels_of(both.tree.infosets)):
        assert list(again[seat, label].values()) == again.probabilities[
            again.infosets.first[both.of[i]] : again.infosets.first[both.of[i] + 1]
        ].tolist()
    response = evaluate.best_response(game, again, 1)
    assert evaluate.value(game, response.profile)[1] == pytest.approx(response.value, abs=1e-12 * both.scale)
    assert [label for label, _ in again.items(1)] == [label for seat, label in labels_of(again.infosets) if seat]


def test_profiles_of_another_game_are_refused():
    _, profile = made_profile("leduc")
    for other in ("reverse blinds", "hands of two"):
        with pytest.raises(GameError, match="another game"):
            evaluate.nash_conv(Poker(GAMES[other]), profile)
    for other in (pair("leduc").tree, coarse("leduc").form):
        with pytest.raises(GameError, match="another game"):
            evaluate.nash_conv(other, profile)


def damaged(name):
    """(arrays, meta) of a saved profile, with something wrong."""
    _, profile = made_profile("leduc")
    arrays, meta = {"probabilities": profile.probabilities.copy()}, dict(profile._meta())
    wrong = arrays["probabilities"]
    match name:
        case "too short":
            arrays["probabilities"] = wrong[:-1].copy()
        case "two-dimensional":
            arrays["probabilities"] = wrong[:, None].copy()
        case "float32":
            arrays["probabilities"] = wrong.astype(np.float32)
        case "nan":
            wrong[5] = np.nan
        case "negative":
            wrong[0] += 1.0 + wrong[1]
            wrong[1] = -1.0
        case "sum":
            wrong[3] += 1e-6
        case "no probabilities":
            arrays = {"other": wrong}
        case "another game":
            meta["poker"] = acpc.write(acpc.read("kuhn"))
        case "no game":
            meta["poker"] = "GAMEDEF"
        case "not text":
            meta["poker"] = 7
        case "three players":
            meta["poker"] = acpc.write(acpc.read("holdem.limit.3p"))
        case "a huge game":
            meta["poker"] = acpc.write(acpc.read("holdem.limit.2p"))
        case "a game without end":
            meta["poker"] = acpc.write(acpc.read("holdem.nolimit.2p"))
        case "no actions":
            del meta["actions"]
    return arrays, meta


@pytest.mark.parametrize(
    "name",
    ["too short", "two-dimensional", "float32", "nan", "negative", "sum", "no probabilities", "another game", "no game",
     "not text", "three players", "a huge game", "a game without end", "no actions"],
)  # fmt: skip
def test_damaged_profiles_are_refused(tmp_path, name):
    from kibitz import store

    arrays, meta = damaged(name)
    store.save(tmp_path / "x.profile", "profile", arrays, meta)
    began = time.perf_counter()
    with pytest.raises(ArtefactError):
        Profile.load(tmp_path / "x.profile")
    assert time.perf_counter() - began < 5.0


def test_bytes_that_changed_are_refused(tmp_path):
    _, profile = made_profile("kuhn")
    path = tmp_path / "x.profile"
    profile.save(path)
    manifest = json.loads((path / "manifest.json").read_text())
    arrays = [file for file in path.rglob("*") if file.is_file() and file.name != "manifest.json"]
    assert manifest and len(arrays) == 1  # the definition says all else
    held = bytearray(arrays[0].read_bytes())
    held[-3] ^= 1
    arrays[0].write_bytes(bytes(held))
    with pytest.raises(ArtefactError):
        Profile.load(path)


@pytest.mark.parametrize("name", ["leduc", "rounds without cards"])
def test_profiles_of_buckets_do_not_come_back_as_another(tmp_path, name):
    """A form with buckets has other infosets: they are kept, or saving or loading says that they are not."""
    plain = pair(name).form
    form = PokerForm(Poker(plain.definition), buckets=[np.arange(r.classes) for r in plain.cards.rounds])
    profile = solve(form, "cfr+", iterations=20)
    try:
        profile.save(tmp_path / "x.profile")
        again = Profile.load(tmp_path / "x.profile")
    except (GameError, SolverError, ArtefactError) as error:
        assert "bucket" in str(error).replace(str(tmp_path), "")
        return
    assert again.infosets.labels[:] == profile.infosets.labels[:]
