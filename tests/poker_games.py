"""Small poker games of every shape, in the poker form and as trees: what tests of poker share."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, settings
from hypothesis import strategies as st

from kibitz.core.errors import GameError
from kibitz.forms.abstraction import abstract_game
from kibitz.forms.sequence import form_of
from kibitz.games.tree import tree_of
from kibitz.poker.exact.cfr_state import PokerCfrState
from kibitz.poker.exact.form import PokerForm
from kibitz.poker.rules import acpc
from kibitz.poker.rules.acpc import RANKED, Definition
from kibitz.poker.rules.betting import betting_tree
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import Task, make

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
    "short stacks": limit(3, 2, 1, (0, 1, 1), raises=3, stacks=(4, 4)),
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
    deadline=None, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)  # fmt: skip


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
        ends = draw(st.sampled_from([None, (stacks[0],) * 2]))
        found = Definition(True, 2, n, ends, blinds, rounds(1, 3), first, rounds(0, 2), suits, ranks, hole, board)
    else:
        found = Definition(False, 2, n, stacks, blinds, (), first, rounds(1, 3), suits, ranks, hole, board)
    try:
        nodes = len(betting_tree(found, most))
    except GameError:
        nodes = most
    assume(nodes > 6 and nodes * deals_of(suits, ranks, hole, board) <= most)
    return found


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
    solver.cfr_state = PokerCfrState(form, start, dtype=dtype)
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


# Three players, whose rows are placed by betting and bucket

THREE = replace(limit(1, 5, 1, (0, 1), raises=1), players=3, blinds=(1, 1, 1), name="")
COARSE, FINE = "percentile([2, 2], recall=false)", "percentile([5, 3], forget=1)"


@cache
def three_machine():
    from kibitz.solvers.machines import machine_of

    return machine_of(Poker(THREE), how="rounds")


@cache
def three_base():
    from kibitz.poker.blueprints.placed_rows import placed_blueprint
    from kibitz.poker.rules.rows import RowPlan

    made = placed_blueprint(three_machine(), RowPlan((COARSE,)), seed=3)
    made.train(iterations=300)
    return made
