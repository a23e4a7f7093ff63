"""Toepen's infosets and abstractions, counted: Tables 3.1 and 3.2 and Section 4.2 of [Le 2021]."""

from __future__ import annotations

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError, SolverError, SpecError
from kibitz.forms.abstraction import abstract_game, abstraction
from kibitz.forms.quotient import unfold
from kibitz.forms.rows import row_map
from kibitz.forms.sequence import form_of
from kibitz.games.protocol import Buckets
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers.run import solve_through
from kibitz.toepen.keys import KEYS
from kibitz.toepen.rules import CHANCE, TERMINAL, Toepen
from kibitz.toepen.states import maximal_key, thesis_key

# suits, ranks, hand, betting, follow_suit -> infosets of seat 0 and 1, thesis keys of both, maximal keys, and infosets
# of the symmetric game. Without follow_suit (and all without betting): the thesis' two tables.
COUNTS = {
    (2, 2, 2, False, True): ((6, 4), (4, 2), 6, 4),
    (2, 2, 2, True, False): ((230, 266), (153, 177), 252, 248),
    (2, 2, 2, True, True): ((166, 170), (105, 105), 172, 168),
    (2, 3, 2, False, True): ((15, 24), (9, 12), 21, 18),
    (2, 3, 2, True, False): ((1281, 2271), (774, 1356), 1782, 1776),
    (2, 3, 2, True, True): ((1281, 1479), (774, 828), 1386, 1380),
    (3, 2, 2, False, True): ((15, 36), (4, 10), 12, 6),
    (3, 2, 2, True, False): ((1173, 2403), (311, 643), 616, 596),
    (3, 2, 2, True, True): ((1173, 1875), (311, 511), 528, 508),
    (3, 3, 2, False, True): ((36, 144), (9, 39), 39, 27),
    (3, 3, 2, True, False): ((5796, 16542), (1431, 4155), 3807, 3765),
    (3, 3, 2, True, True): ((5796, 12546), (1431, 3267), 3141, 3099),
    (3, 3, 3, False, True): ((1920, 2664), (517, 656), 788, 749),
    (3, 3, 3, True, False): ((472_554, 893_784), (131_763, 245_195), 228_065, 227_735),
    (3, 3, 3, True, True): ((337_014, 412_428), (91_355, 104_507), 125_213, 124_883),
}
TABLES = {  # Table 3.1 and Table 3.2 as printed
    (2, 2, 2, False): (10, 6), (2, 2, 2, True): (496, 330), (2, 3, 2, False): (39, 21), (2, 3, 2, True): (3552, 2130),
    (3, 2, 2, False): (51, 14), (3, 2, 2, True): (3576, 954), (3, 3, 2, False): (180, 48),
    (3, 3, 2, True): (22_338, 5586), (3, 3, 3, False): (4584, 1173), (3, 3, 3, True): (1_366_338, 376_958),
}  # fmt: skip
SIZES = {
    "isomorphic": 376_958, "maximal": 228_065, "naive": 4, "simple-history": 166, "simple-hand": 209_829,
    "advanced-hand": 333_449, "advanced-history": 176_448, "advanced-combined": 155_586,
}  # fmt: skip


def decisions(rules):
    """Every state at which a seat decides."""
    stack = [rules.root()]
    while stack:
        state = stack.pop()
        if state.turn == CHANCE:
            stack.extend(rules.after(state, outcome) for outcome, _ in rules.chance(state))
        elif state.turn != TERMINAL:
            yield state
            stack.extend(rules.after(state, action) for action in rules.actions(state))


def test_the_tables_as_printed():
    for (*size, betting), printed in TABLES.items():
        raw, renamed, _, _ = COUNTS[(*size, betting, not betting)]
        assert (sum(raw), sum(renamed)) == printed


@pytest.mark.parametrize(
    "which", [pytest.param(w, marks=[pytest.mark.slow] if w[:4] == (3, 3, 3, True) else []) for w in COUNTS]
)
@pytest.mark.some(5)
def test_infosets(which):
    raw, renamed, maximal = ({}, {}), (set(), set()), (set(), set())
    rules = Toepen(*which)
    for state in decisions(rules):
        seat = state.turn
        infoset = rules.infoset(state)
        if infoset not in raw[seat]:
            raw[seat][infoset] = True
            renamed[seat].add(thesis_key(state, seat))
            maximal[seat].add(maximal_key(state, seat))
    expected = COUNTS[which]
    assert tuple(map(len, raw)) == expected[0]
    assert tuple(map(len, renamed)) == expected[1]
    assert sum(map(len, maximal)) == expected[2]
    # The symmetric game has those maximal keys that leave a choice of two kinds of cards, or of bets.
    symmetric = Toepen(*which, symmetric=True)
    met = {(state.turn, symmetric.infoset(state)) for state in decisions(symmetric)}
    assert len(met) == expected[3] and met <= {(seat, key) for seat in range(2) for key in maximal[seat]}


@pytest.mark.parametrize("which", [w for w in COUNTS if w[2] == 2])
@pytest.mark.some(5)
def test_infosets_of_the_tree(which):
    infosets = tree_of(Toepen(*which)).infosets
    assert tuple(np.diff(infosets.seat_start).tolist()) == COUNTS[which][0] and infosets.width.min() >= 2
    assert len(tree_of(Toepen(*which, symmetric=True)).infosets.labels) == COUNTS[which][3]


@pytest.mark.slow
def test_sizes_of_the_thesis_abstractions():
    """All keys are functions of the thesis' key, so one state for each is enough."""
    rules = Toepen(3, 3, 3, follow_suit=False)
    seen, found = set(), {name: set() for name in KEYS}
    for state in decisions(rules):
        own = state.turn, thesis_key(state, state.turn)
        if own not in seen:
            seen.add(own)
            for name, (key, _) in KEYS.items():
                found[name].add((state.turn, key(rules, state)))
    assert {name: len(keys) for name, keys in found.items()} == SIZES


@pytest.mark.slow
@pytest.mark.parametrize(("follow_suit", "nodes"), [(True, 900_699), (False, 1_894_665)])
def test_nodes_with_forced_moves(follow_suit, nodes):
    """Counted with every move, forced or not, from 300 deals that stand for all."""
    rules, symmetric = Toepen(3, 3, 3, follow_suit=follow_suit), Toepen(3, 3, 3, symmetric=True)
    stack = [rules.after(rules.root(), deal) for deal, _ in symmetric.chance(symmetric.root())]
    found = len(stack)
    while stack:
        state = stack.pop()
        if state.turn >= 0:
            after = [rules.after(state, action) for action in rules.actions(state)]
            found += sum(len(s.done.split()) - len(state.done.split()) for s in after)
            stack.extend(after)
    assert found == nodes


# Abstractions by name


@pytest.mark.parametrize("follow_suit", [True, False])
def test_rows_of_a_small_game(follow_suit):
    rules = Toepen(2, 3, 2, follow_suit=follow_suit)
    tree = tree_of(rules)
    for name, (key, about) in KEYS.items():
        chosen = abstraction(rules, name)
        keys = {(state.turn, key(rules, state)) for state in decisions(rules)}
        assert chosen.rows == len(keys) and chosen.by_position and chosen.name == name and about
        again = abstraction(tree, name)  # by the tree's spec
        assert np.array_equal(again.row, chosen.row)
    assert abstraction(rules, "isomorphic").rows == sum(COUNTS[2, 3, 2, True, follow_suit][1])
    assert abstraction(rules, "maximal").rows == COUNTS[2, 3, 2, True, follow_suit][2]
    assert abstraction(rules, "null").rows == sum(COUNTS[2, 3, 2, True, follow_suit][0])
    coarser = [("advanced-hand", "isomorphic"), ("advanced-history", "isomorphic"), ("simple-hand", "advanced-hand"),
               ("maximal", "isomorphic"), ("advanced-combined", "advanced-hand"), ("naive", "simple-history"),
               ("advanced-combined", "advanced-history"), ("simple-history", "advanced-history")]  # fmt: skip
    for coarse, fine in coarser:
        pairs = set(zip(abstraction(rules, coarse).row, abstraction(rules, fine).row, strict=True))
        assert len(pairs) == abstraction(rules, fine).rows, (coarse, fine)


def test_lossless_rows():
    """Solved in the abstract game, measured in the real one."""
    rules = Toepen(3, 2, 2)
    value = kibitz.value(rules, kibitz.solve(rules, "lp"))[0]
    renamed = kibitz.solve(rules, "lp", abstraction="isomorphic")  # recall stays perfect
    assert renamed.meta["abstract_value"][0] == pytest.approx(value, abs=1e-9)
    # Rows of the maximal abstraction do not recall which of two tied cards was played: no linear programme, but CFR.
    with pytest.raises(SolverError, match="perfect recall"):
        kibitz.solve(rules, "lp", abstraction="maximal")
    for name in ("isomorphic", "maximal"):
        merged = kibitz.solve(rules, "dcfr", abstraction=name, iterations=2000)
        assert kibitz.nash_conv(rules, merged) < 1e-3
        assert kibitz.value(rules, merged)[0] == pytest.approx(value, abs=1e-3)
    by_rows = row_map(form_of(tree_of(rules)), abstraction(rules, "isomorphic").row, by_position=True)
    assert kibitz.nash_conv(rules, solve_through(rules, "cfr+", rows=by_rows, iterations=500)) < 1e-2


def test_tied_cards_must_be_played_alike():
    """The thesis' rows do not see to that; maximal ones do, and so does a game in which they are one action."""
    rules = Toepen(3, 2, 2)
    for solver, name, more in [
        ("lp", "isomorphic", {}),
        ("mccfr", "isomorphic", {"iterations": 100_000}),
    ]:
        profile = kibitz.solve(rules, solver, abstraction=name, **more)
        assert kibitz.nash_conv(rules, profile) > 0.03 + profile.meta["abstract_nash_conv"]
        assert uneven(rules, profile) > 0.1
    assert uneven(rules, kibitz.solve(rules, "cfr", abstraction="isomorphic", iterations=50)) < 1e-6
    maximal = kibitz.solve(rules, "mccfr", abstraction="maximal", iterations=50_000)
    assert uneven(rules, maximal) < 1e-12
    assert kibitz.nash_conv(rules, maximal) < maximal.meta["abstract_nash_conv"] + 0.01
    assert uneven(rules, unfold(rules, kibitz.solve(Toepen(3, 2, 2, symmetric=True), "mccfr", iterations=1000))) == 0


def uneven(rules, profile):
    """The largest difference between probabilities of tied cards."""
    worst = 0.0
    for seat in range(2):
        for label, row in profile.items(seat):
            for actions in rules.kinds(seat, label)[1].values():
                worst = max(worst, *(abs(row[action] - row[actions[0]]) for action in actions))
    return worst


@pytest.mark.parametrize("which", [(2, 3, 2), (3, 2, 2), (2, 3, 2, True, False), (3, 3, 3, False)])
def test_the_symmetric_game_unfolds(which):
    rules, symmetric = Toepen(*which), Toepen(*which, symmetric=True)
    exact = kibitz.solve(symmetric, "lp")
    profile = unfold(rules, exact)
    assert kibitz.nash_conv(rules, profile) < 1e-9 and profile.game == rules.spec
    assert kibitz.value(rules, profile)[0] == pytest.approx(kibitz.value(symmetric, exact)[0], abs=1e-9)


def test_what_does_not_unfold():
    rules = Toepen(2, 2, 2)
    exact = kibitz.solve(Toepen(2, 2, 2, symmetric=True), "lp")
    with pytest.raises(GameError, match="no method kinds"):
        unfold(kibitz.game("kuhn"), exact)
    with pytest.raises(GameError, match="no infoset"):
        unfold(Toepen(2, 3, 2), exact)
    with pytest.raises(GameError, match="cannot be read back"):
        unfold(Toepen(2, 2, 2, symmetric=True), exact)
    with pytest.raises(GameError, match="has 3 seats, the game 2"):
        unfold(rules, kibitz.solve("kuhn(players=3)", "cfr+", iterations=1))


def test_lossy_rows():
    rules = Toepen(2, 3, 2)
    tree = tree_of(rules)
    for name in KEYS:
        profile = kibitz.solve(rules, "cfr", abstraction=name, iterations=100)
        assert profile.meta["size"] == abstraction(rules, name).rows
    # Check and bet share a row with two cards, the first with the first.
    profile = kibitz.solve(rules, "cfr", abstraction="naive", iterations=1, start="random")
    rows = {seat: {tuple(row.values()) for _, row in profile.items(seat)} for seat in range(2)}
    assert {len(found) for found in rows.values()} == {1}
    derived = abstract_game(tree, abstraction(rules, "naive").row)
    assert len(derived.tree.infosets.labels) == 2
    start = profile[0, "9c Tc |"], profile[0, "9c Tc | check"]
    assert list(start[0]) == ["check", "bet"] and list(start[1]) == ["9c", "Tc"]
    assert list(start[0].values()) == list(start[1].values())


def test_users_functions_must_still_agree_on_names():
    rules = Toepen(2, 3, 2)
    with pytest.raises(SolverError, match="cannot share a row: they have different actions"):
        abstraction(rules, lambda seat, infoset: 0)
    with pytest.raises(SolverError, match="cannot share a row: they have different actions"):
        row_map(form_of(tree_of(rules)), abstraction(rules, "naive").row)
    bucket = rules.buckets()["isomorphic"].of
    with pytest.raises(SolverError, match="cannot share a row: they have different actions"):
        abstraction(rules, bucket)  # the function alone does not say that rows go by position


def test_rows_by_position_have_as_many_actions():
    class Careless(Toepen):
        spec = ""

        def buckets(self):
            return {"all": Buckets(lambda seat, infoset: 0, by_position=True), "own": Buckets(lambda s, i: i)}

    rules = Careless(3, 3, 2, betting=False)
    assert abstraction(rules, "all").rows == 2  # two cards each: all decisions have two actions
    with pytest.raises(SolverError, match="cannot share a row: they have different actions"):
        abstraction(Careless(3, 3, 3, betting=False), "all")
    assert abstraction(rules, "own").rows == 180 and not abstraction(rules, "own").by_position
    dropped = abstraction(Careless(2, 2, 2), "own", without=["bet"])
    assert dropped.closed.any()
    with pytest.raises(SolverError, match="different actions"):  # bet is dropped, the second card is not
        abstraction(Careless(2, 2, 2), "all", without=["bet"])
    with pytest.raises(SpecError, match="for card games with a method hand"):
        abstraction(lay_out(rules), "all")  # a tree of a game without a name


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("toepen(suits=2, ranks=2, hand=2)", "navie", "unknown abstraction 'navie': did you mean 'naive'"),
        ("toepen(suits=2, ranks=2, hand=2)", "suits", "known are advanced-combined, advanced-hand"),
        ("toepen(suits=2, ranks=2, hand=2)", "naive(recall=false)", "naive takes no parameters"),
        ("toepen(suits=2, ranks=2, hand=2, symmetric=true)", "maximal", "'maximal': known are null"),
    ],
)
def test_names_that_a_game_does_not_have(text, name, words):
    with pytest.raises(SpecError, match=words):
        abstraction(text, name)


class ByRules:
    """A game without its compiled rules: it is laid out by walking the readable ones."""

    def __init__(self, rules):
        self._rules = rules

    def __getattr__(self, name):
        if name == "arrays":
            raise AttributeError(name)
        return getattr(self._rules, name)


@pytest.mark.parametrize("rules", [Toepen(3, 2, 2), Toepen(2, 3, 2, follow_suit=False), Toepen(3, 3, 2, betting=False)])
def test_ties_by_compiled_and_by_readable_rules(rules):
    fast = kibitz.abstraction(rules, "maximal")
    slow = kibitz.abstraction(lay_out(ByRules(rules)), "maximal")
    assert np.array_equal(fast.ties, slow.ties)
    assert (fast.ties != np.arange(len(fast.ties))).any()
    assert kibitz.abstraction(rules, "isomorphic").ties is None
