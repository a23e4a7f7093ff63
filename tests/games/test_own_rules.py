"""Rules of a user's own that would silently give wrong results: each error is reported in one line."""

from __future__ import annotations

from array import array
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import kibitz
from kibitz.core.errors import GameError
from kibitz.games import walk
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import lay_out


class Pennies:
    """Matching pennies; a state is the tuple of choices."""

    players = 2

    def root(self):
        return ()

    def turn(self, state):
        return len(state) if len(state) < 2 else TERMINAL

    def actions(self, state):
        return ["heads", "tails"]

    def chance(self, state):
        return []

    def after(self, state, action):
        return (*state, action)

    def infoset(self, state):
        return f"P{len(state)}"

    def payoff(self, state):
        won = 1 if state[0] == state[1] else -1
        return [won, -won]


def test_the_rules_themselves_are_sound():
    profile = kibitz.solve(Pennies(), "lp")
    assert kibitz.value(Pennies(), profile).tolist() == [0, 0]


# States that are changed in place


class Appended(Pennies):
    """The state is a list, which `after` appends to and returns."""

    def root(self):
        return []

    def after(self, state, action):
        state.append(action)
        return state


class AppendedAndCopied(Appended):
    """It appends first and copies then: parent and child both have the move."""

    def after(self, state, action):
        state.append(action)
        return list(state)


class Shared(Pennies):
    """A tuple, but with one list in it that all states share."""

    def root(self):
        return (0, [])

    def turn(self, state):
        return state[0] if state[0] < 2 else TERMINAL

    def after(self, state, action):
        state[1].append(action)
        return (state[0] + 1, state[1])

    def infoset(self, state):
        return f"P{state[0]}"

    def payoff(self, state):
        won = 1 if state[1][0] == state[1][1] else -1
        return [won, -won]


class SharedLast(Shared):
    """The same, read from its end, which is right once and wrong after that."""

    def payoff(self, state):
        won = 1 if state[1][-1] == state[1][-2] else -1
        return [won, -won]


class Attribute(Pennies):
    """The choices are kept in the game, not in the state."""

    def __init__(self):
        self.first = None

    def after(self, state, action):
        if not state:
            self.first = action
        return (*state, "?" if not state else action)

    def payoff(self, state):
        self.first, was = "tails", self.first
        won = 1 if was == state[1] else -1
        return [won, -won]


@dataclass
class Board:
    moves: tuple = ()
    legal: tuple = ("heads", "tails")


class Mutated(Pennies):
    """A dataclass that is changed and handed on, as a new object."""

    def root(self):
        return Board()

    def turn(self, state):
        return len(state.moves) if len(state.moves) < 2 else TERMINAL

    def after(self, state, action):
        state.moves = (*state.moves, action)
        return Board(state.moves)

    def infoset(self, state):
        return f"P{len(state.moves)}"

    def payoff(self, state):
        return Pennies.payoff(self, state.moves)


class Hands(Pennies):
    """Cards are taken out of a hand that the parent holds too: its actions change."""

    def root(self):
        return ([1, 2, 3], ())

    def turn(self, state):
        return 0 if len(state[1]) < 2 else TERMINAL

    def actions(self, state):
        return state[0]

    def after(self, state, action):
        state[0].remove(action)
        return (list(state[0]), (*state[1], action))

    def infoset(self, state):
        return state[1]

    def payoff(self, state):
        return [state[1][0], -state[1][0]]


class Dealt(Pennies):
    """Chance takes cards out of a deck that it shares with the state before."""

    players = 1

    def root(self):
        return (["a", "b", "c"], ())

    def turn(self, state):
        return CHANCE if len(state[1]) < 2 else TERMINAL

    def chance(self, state):
        return [(card, 1 / len(state[0])) for card in state[0]]

    def after(self, state, action):
        state[0].remove(action)
        return (list(state[0]), (*state[1], action))

    def payoff(self, state):
        return [1.0 if state[1][0] == "a" else 0.0]


class Random(Pennies):
    """Rules that draw for themselves."""

    def __init__(self):
        self.draws = np.random.Generator(np.random.Philox(1))

    def payoff(self, state):
        won = float(self.draws.random())
        return [won, -won]


CHANGED = [Appended, AppendedAndCopied, Shared, SharedLast, Attribute, Mutated, Hands, Dealt, Random]


@pytest.mark.parametrize("rules", CHANGED)
def test_states_that_are_changed_in_place_are_found(rules):
    with pytest.raises(GameError, match="new state") as caught:
        lay_out(rules())
    assert "\n" not in str(caught.value)


class Deep(Pennies):
    """A long walk whose states go wrong only in one action, far down."""

    def __init__(self, depth, wrong, late):
        self.depth, self.wrong, self.late = depth, wrong, late

    def root(self):
        return ()

    def turn(self, state):
        return len(state) % 2 if len(state) < self.depth else TERMINAL

    def infoset(self, state):
        return "".join(map(str, (a[0] for a in state)))

    def after(self, state, action):
        if len(state) >= self.late and self.wrong == "payoff" and action == "tails":
            state[0][1].append(1)  # a list that all continuations of the first move share
        return (*state, (action[0], [] if not state else state[0][1]))

    def payoff(self, state):
        won = float(len(state[0][1]))
        return [won, -won]


def test_changes_far_down_in_a_large_game_are_found():
    assert lay_out(Deep(14, "nothing", 0)).histories == 2**15 - 1
    for late in (1, 13):
        with pytest.raises(GameError, match="gives different results"):
            lay_out(Deep(14, "payoff", late))


def test_rules_are_asked_twice_seldom(monkeypatch):
    """The questions asked a second time are few beside those of the walk: it must not become slower by much."""
    asked = 0

    class Counted(Deep):
        def after(self, state, action):
            nonlocal asked
            asked += 1
            return super().after(state, action)

    assert lay_out(Counted(16, "nothing", 0)).histories == 2**17 - 1
    assert asked < 1.15 * 2**17
    monkeypatch.setattr(walk, "FIRST_STATES", 0)
    monkeypatch.setattr(walk, "STATES_EVERY", 1 << 40)
    with pytest.raises(GameError, match="returns the same state object"):  # found in every history
        lay_out(Appended())


# Payoffs, chance and actions that are not what they should be

Pair = namedtuple("Pair", "one two")
GOOD_PAYOFFS = [
    (1, -1), [1.0, -1.0], np.array([1, -1]), np.array([1, -1], np.float32), array("d", [1, -1]), range(1, -2, -2),
    [Fraction(1), Fraction(-1)], [Decimal(1), Decimal(-1)], [np.float32(1), np.int8(-1)], Pair(1, -1), [True, -1],
]  # fmt: skip
BAD_PAYOFFS = [
    {0: 1.0, 1: -1.0}, {"one": 1, "two": -1}, {1, -1}, frozenset([1, -1]), "12", b"12", {1: 2, 3: 4}.values(), None,
    1.0, np.float64(1), np.array(1.0), np.array([[1.0], [-1.0]]), [[1.0], [-1.0]], [np.array([1.0]), np.array([-1.0])],
    ["1", "-1"], [1j, -1j], np.array([1j, -1j]), [np.complex128(1), np.complex128(-1)], [10**400, -(10**400)],
    [float("nan"), 0], [float("inf"), -float("inf")], [Decimal("NaN"), 0], [1e101, -1e101], [1.0], [1.0, -1.0, 0.0],
    (x for x in (1.0, -1.0)), [None, None],
]  # fmt: skip


@pytest.mark.parametrize("given", GOOD_PAYOFFS, ids=repr)
def test_payoffs_that_are_numbers(given):
    rules = Pennies()
    rules.payoff = lambda state: given
    assert lay_out(rules).payoff.tolist() == [[1.0, -1.0]] * 4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given", BAD_PAYOFFS, ids=lambda x: repr(x)[:20])
def test_payoffs_that_are_not(given):
    rules = Pennies()
    rules.payoff = lambda state: given
    with pytest.raises(GameError, match="payoff") as caught:
        lay_out(rules)
    assert len(str(caught.value)) < 400 and "heads" in str(caught.value)


def test_payoffs_beyond_any_unit():
    rules = Pennies()
    rules.payoff = lambda state: [1e-200, -1e-200]
    with pytest.raises(GameError, match="larger unit"):
        lay_out(rules)


def chancy(given):
    rules = Pennies()
    rules.turn = lambda state: CHANCE if not state else TERMINAL
    rules.chance = lambda state: given
    rules.payoff = lambda state: [0.0, 0.0]
    return rules


def test_chance():
    good = [("a", Fraction(1, 2)), ("b", 0.5)], {"a": 0.5, "b": 0.5}.items(), [("a", Decimal(1))], [["a", True]]
    bad = {"a1": 0.5, "b1": 0.5}, "a1", [("a", "1")], [("a", 1j)], [("a", 10**400)], [("a", None)], None, {"a1"}
    for given in good:
        assert lay_out(chancy(given)).chance.sum() == 2.0
    for given in bad:
        with pytest.raises(GameError, match="chance"):
            lay_out(chancy(given))


def test_actions():
    rules = Pennies()
    for given in ("ht", b"ht", {"h", "t"}, 5):
        rules.actions = lambda state, given=given: given
        with pytest.raises(GameError, match=r"actions after the root is .*it must be a list"):
            lay_out(rules)


def test_players_are_counted():
    rules = Pennies()
    rules.players = True
    with pytest.raises(GameError, match="1 to 100 players, not True"):
        lay_out(rules)


# Zero-sum by the game's own payoffs


def sexes(unit, huge=0.0):
    """Battle of the sexes in some unit, perhaps with a third choice that leads to a huge zero-sum outcome."""
    rules = Pennies()
    table = {("heads", "heads"): (3, 2), ("tails", "tails"): (2, 3)}
    if huge:
        rules.actions = lambda state: ["heads", "tails", "huge"]

    def payoff(state):
        if "huge" in state:
            return [-huge, huge] if state[0] == "huge" else [huge, -huge]
        return [unit * x for x in table.get(tuple(state), (0, 0))]

    rules.payoff = payoff
    return rules


@pytest.mark.parametrize("unit", [1e-90, 1e-10, 1.0, 1e10, 1e90])
def test_units_do_not_decide_whether_a_game_is_zero_sum(unit):
    game = sexes(unit)
    assert not lay_out(game).zero_sum
    profile = kibitz.solve(game, iterations=2000)
    assert kibitz.nash_conv(game, profile) <= 1e-3 * unit
    rules = Pennies()
    rules.payoff = lambda state: [unit / 3, -unit / 3]
    assert lay_out(rules).zero_sum


@pytest.mark.parametrize("huge", [1e6, 1e9, 1e12])
def test_one_huge_outcome_does_not_make_a_game_zero_sum(huge):
    assert not lay_out(sexes(1.0, huge)).zero_sum


def test_rounding_does_not_make_a_game_general_sum():
    for text in ("leduc(players=3, ranks=2)", "kuhn(players=3)", "goofspiel(players=3, num_cards=3)"):
        assert lay_out(kibitz.game(text)).zero_sum
