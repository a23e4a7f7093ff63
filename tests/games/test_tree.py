"""Trees: the layout against a plain walk of the rules, and every way in which rules can be broken."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import textwrap
import weakref

import naive
import numpy as np
import pytest
from random_games import Nested, RandomGame, choice, edge_cases, end

import kibitz
from kibitz.core.errors import GameError
from kibitz.forms.sequence import form_of
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import lay_out, tree_of
from kibitz.solvers.run import solve


def check_layout(game):
    """Every field of the tree against a recursive walk."""
    tree = lay_out(game)
    infosets = tree.infosets
    number, chance_of, parents, index_of = {}, [], [], []
    order = [{} for _ in range(game.players)]
    states, payoffs = [], []

    def go(state, parent, index, p):
        me = len(states)
        states.append(state)
        parents.append(parent)
        index_of.append(index)
        chance_of.append(p)
        turn = game.turn(state)
        if turn == TERMINAL:
            payoffs.append(list(game.payoff(state)))
        if turn >= 0:
            order[turn].setdefault(game.infoset(state), list(game.actions(state)))
        for i, (step, q) in enumerate(naive.steps(game, state)):
            go(game.after(state, step), me, i, 1.0 if q is None else q)

    go(game.root(), -1, 0, 1.0)
    assert tree.players == infosets.seats == game.players
    assert tree.histories == len(states)
    assert tree.parent.tolist() == parents
    assert tree.action.tolist() == index_of
    assert tree.chance.tolist() == chance_of
    assert tree.turn.tolist() == [game.turn(s) for s in states]
    assert tree.payoff.tolist() == payoffs
    assert infosets.seat_start.tolist() == [sum(map(len, order[:s])) for s in range(game.players + 1)]
    for seat, keys in enumerate(order):
        for key, actions in keys.items():
            number[seat, key] = i = len(number)
            assert infosets.labels[i] == str(key) and infosets.find(seat, str(key)) == i and infosets.seat_of(i) == seat
            assert list(infosets.actions[infosets.actions_of[i]]) == actions
            assert infosets.first[i + 1] - infosets.first[i] == len(actions) == infosets.width[i]
    for state, found in zip(states, tree.infoset.tolist(), strict=True):
        turn = game.turn(state)
        assert found == (number[turn, game.infoset(state)] if turn >= 0 else -1)
    counts = naive.count(game)
    assert tree.counts() == {kind: counts.get(kind, 0) for kind in ("decision", "chance", "terminal")}
    start, child = tree.children
    for h in range(tree.histories):
        assert child[start[h] : start[h + 1]].tolist() == [c for c in range(len(parents)) if parents[c] == h]
    scale = max(1.0, max(abs(x) for p in payoffs for x in p))
    assert tree.zero_sum == all(abs(sum(p)) <= 1e-9 * scale for p in payoffs)
    assert form_of(tree).perfect_recall == (not naive.forgets(game))
    return tree


def test_random_games():
    for seed in range(80):
        recall = ("perfect", "past", "nothing")[seed % 3]
        payoffs = ("zero-sum", "general", "whole")[seed // 3 % 3]
        check_layout(RandomGame(seed, 1 + seed % 4, depth=4, recall=recall, payoffs=payoffs, most=60))


@pytest.mark.parametrize("name", edge_cases())
def test_edge_cases(name):
    check_layout(edge_cases()[name])


@pytest.mark.parametrize("text", ["kuhn", "kuhn(players=3)", "leduc(ranks=2, cap=1)", "goofspiel(num_cards=3)"])
def test_built_in_games(text):
    tree = check_layout(kibitz.game(text))
    assert tree.spec == kibitz.game(text).spec


def test_points_and_sequences_of_the_form():
    """A point for each infoset and own past, a sequence for each of their actions and one for nothing done yet."""
    for seed in range(30):
        game = RandomGame(seed, 2, depth=5, recall=("perfect", "nothing")[seed % 2], most=80)
        tree = lay_out(game)
        form = form_of(tree)
        for seat in range(2):
            pasts = {}
            stack = [(game.root(), ())]
            while stack:
                state, past = stack.pop()
                turn = game.turn(state)
                mine = turn == seat
                if mine:
                    pasts[game.infoset(state), past] = len(game.actions(state))
                for action, _ in naive.steps(game, state):
                    stack.append((game.after(state, action), (*past, (game.infoset(state), action)) if mine else past))
            assert form.seat_point[seat + 1] - form.seat_point[seat] == len(pasts)
            assert form.seat_sequence[seat + 1] - form.seat_sequence[seat] == 1 + sum(pasts.values())


def test_digests():
    same = [lay_out(RandomGame(5, 2)).digest for _ in range(2)]
    assert same[0] == same[1]
    root = choice(0, "x", end(1, -1), end(2, -2))
    others = [
        Nested(2, root),
        Nested(2, choice(0, "x", end(1, -1), end(2.5, -2.5))),  # a payoff
        Nested(2, choice(0, "y", end(1, -1), end(2, -2))),  # a label
        Nested(2, choice(1, "x", end(1, -1), end(2, -2))),  # a turn
        Nested(2, (0, "x", (("left", end(1, -1)), ("right", end(2, -2))))),  # names of actions
        Nested(2, (0, "x", (("b", end(1, -1)), ("a", end(2, -2))))),  # their order
        Nested(2, ("chance", (("a", 0.5, end(1, -1)), ("b", 0.5, end(2, -2))))),
        Nested(2, ("chance", (("a", 0.25, end(1, -1)), ("b", 0.75, end(2, -2))))),
    ]
    assert len({lay_out(g).digest for g in others}) == len(others)


def test_labels_that_are_not_text():
    def labels(*keys):
        outcomes = tuple((f"{i}", 1 / len(keys), choice(0, key, end(1, -1), end(0, 0))) for i, key in enumerate(keys))
        return lay_out(Nested(2, ("chance", outcomes))).infosets.labels

    assert labels((1, "x"), 7) == ["(1, 'x')", "7"]
    assert labels("7", 7) == ["'7'", "7"]
    odd = Nested(2, choice(0, "\ud800 \0 \n \N{SNOWMAN}", end(1, -1), end(0, 0)))
    assert len(lay_out(odd).digest) == 64


def test_unknown_infosets_are_told_of_near_ones():
    infosets = lay_out(kibitz.game("kuhn")).infosets
    with pytest.raises(GameError, match=r"seat 0 has no infoset 'Q:pbb'; near ones are 'Q:pb'"):
        infosets.find(0, "Q:pbb")
    with pytest.raises(GameError, match="seats are 0 to 1"):
        infosets.find(2, "Q:")
    with pytest.raises(GameError, match=r"seat 0 has no infoset 'zzzzzz'$"):
        infosets.find(0, "zzzzzz")


# Broken rules


class Rules:
    """A game of one decision whose parts tests replace."""

    players = 2

    def __init__(self, **parts):
        for name, part in parts.items():
            setattr(self, name, part)

    def root(self):
        return "root"

    def turn(self, state):
        return 0 if state == "root" else TERMINAL

    def actions(self, state):
        return ["left", "right"]

    def chance(self, state):
        return [("heads", 0.5), ("tails", 0.5)]

    def after(self, state, action):
        return action

    def infoset(self, state):
        return "here"

    def payoff(self, state):
        return [1.0, -1.0]


def at_chance(state):
    return CHANCE if state == "root" else TERMINAL


def two_turns(state):
    return 0 if state in ("root", "left") else TERMINAL


BROKEN = {
    "actions disagree": (
        Rules(turn=two_turns, actions=lambda s: ["left", "right"] if s == "root" else ["up", "down"]),
        r"infoset 'here' of seat 0 has actions \['left', 'right'\] in one history and \['up', 'down'\] in another "
        r"\(the history left\)",
    ),
    "actions in another order": (
        Rules(turn=two_turns, actions=lambda s: ["left", "right"] if s == "root" else ["right", "left"]),
        "cannot distinguish these histories",
    ),
    "no actions": (Rules(actions=lambda s: []), "infoset 'here' has no actions"),
    "an action twice": (Rules(actions=lambda s: ["left", "left"]), "lists an action twice"),
    "actions that print alike": (Rules(actions=lambda s: ["1", 1]), "lists an action twice"),
    "actions that are not names": (Rules(actions=lambda s: [1.5, None]), "strings or integers|whole numbers"),
    "actions that are lists": (Rules(actions=lambda s: [["left"], ["right"]]), "strings or integers|whole numbers"),
    "chance above one": (
        Rules(turn=at_chance, chance=lambda s: [("a", 0.5), ("b", 0.6)]), r"after the root sum to 1\.1, not to 1"),
    "chance below one": (Rules(turn=at_chance, chance=lambda s: [("a", 0.5)]), r"sum to 0\.5, not to 1"),
    "no chance": (Rules(turn=at_chance, chance=lambda s: []), "sum to 0, not to 1"),
    "negative chance": (
        Rules(turn=at_chance, chance=lambda s: [("a", 1.5), ("b", -0.5)]), r"outcome 'b' .* has probability -0\.5"),
    "chance that is no number": (
        Rules(turn=at_chance, chance=lambda s: [("a", float("nan")), ("b", 0.5)]), "has probability nan"),
    "infinite chance": (Rules(turn=at_chance, chance=lambda s: [("a", float("inf"))]), "sum to inf"),
    "chance as text": (Rules(turn=at_chance, chance=lambda s: [("a", "half"), ("b", 0.5)]), "half"),
    "chance without probabilities": (Rules(turn=at_chance, chance=lambda s: ["a", "b"]), "pairs"),
    "a payoff that is no number": (
        Rules(payoff=lambda s: [float("nan"), 0.0]), r"payoff after the history left is \[nan, 0\.0\]"),
    "an infinite payoff": (Rules(payoff=lambda s: [float("inf"), 0.0]), "payoffs must be finite"),
    "too few payoffs": (Rules(payoff=lambda s: [0.0]), "payoff after the history left has 1 numbers for 2 seats"),
    "too many payoffs": (Rules(payoff=lambda s: [0.0] * 3), "has 3 numbers for 2 seats"),
    "payoffs as text": (Rules(payoff=lambda s: ["one", "two"]), "payoff after the history left"),
    "no payoffs": (Rules(payoff=lambda s: None), "payoff after the history left"),
    "a seat that does not exist": (Rules(turn=lambda s: 2), "seat 2, but seats are 0 to 1"),
    "a turn of nobody": (Rules(turn=lambda s: -3), "turn.. gives -3"),
    "no turn": (Rules(turn=lambda s: None), "turn.. gives None"),
    "half a turn": (Rules(turn=lambda s: 0.5), r"turn.. gives 0\.5"),
    "a turn in words": (Rules(turn=lambda s: "first"), "turn.. gives 'first'"),
    "infosets that cannot be hashed": (Rules(infoset=lambda s: ["here"]), "infoset"),
    "no players": (Rules(players=0), "1 to 100 players, not 0"),
    "too many players": (Rules(players=101), "1 to 100 players, not 101"),
    "players in words": (Rules(players="two"), "1 to 100 players, not 'two'"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules(name):
    rules, words = BROKEN[name]
    with pytest.raises(GameError, match=words) as caught:
        lay_out(rules)
    assert "\n" not in str(caught.value)
    with pytest.raises(GameError, match=words):
        solve(rules, "cfr+", iterations=1)


def test_an_error_of_the_rules_themselves_is_shown_as_it_is():
    def broken(state):
        raise KeyError("a mistake in my game")

    with pytest.raises(KeyError, match="a mistake in my game"):
        lay_out(Rules(after=lambda s, a: broken(s)))


CYCLES = {
    "one action for ever": """
        def actions(self, state): return ["on"]
        def after(self, state, action): return state + 1
        def infoset(self, state): return "here"
    """,
    "two actions, states that grow": """
        def root(self): return ()
        def actions(self, state): return ["a", "b"]
        def after(self, state, action): return (*state, action)
        def infoset(self, state): return len(state)
    """,
    "infosets that grow": """
        def root(self): return ""
        def actions(self, state): return ["a", "b", "c"]
        def after(self, state, action): return state + action
        def infoset(self, state): return state
    """,
    "chance for ever": """
        def turn(self, state): return -1
        def chance(self, state): return [("a", 0.5), ("b", 0.5)]
        def after(self, state, action): return state
    """,
}


@pytest.mark.parametrize("name", CYCLES)
def test_a_cycle_is_found_soon_and_in_little_memory(name, tmp_path):
    body = textwrap.indent(textwrap.dedent(CYCLES[name]), "    ")
    (tmp_path / "cycle.py").write_text(
        "import sys\n"
        "from kibitz.core.errors import GameError\n"
        "from kibitz.games.tree import lay_out\n"
        "class Cycle:\n    players = 2\n"
        "    def root(self): return 0\n    def turn(self, state): return 0\n    def chance(self, state): return []\n"
        "    def actions(self, state): return []\n    def infoset(self, state): return 'x'\n"
        "    def payoff(self, state): return [0, 0]\n"
        f"{body}\n"
        "try:\n    lay_out(Cycle())\nexcept GameError as error:\n    print(error)\n"
    )

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (40, 40))  # its own time; without the check it never ends

    done = subprocess.run(
        [sys.executable, str(tmp_path / "cycle.py")], capture_output=True, text=True, preexec_fn=limits
    )
    assert "the rules seem to have a cycle" in done.stdout, done.stderr[-500:]
    assert len(done.stdout) < 1000


def test_a_long_game_is_not_a_cycle():
    game = Nested(2, end(1, -1))
    node = end(1, -1)
    for depth in range(3000):
        node = (0, f"{depth}", (("on", node), ("stop", end(0, 0))))
    game = Nested(2, node)
    assert lay_out(game).histories == 6001


def test_the_limit_is_held():
    for limit in (1, 10, 57, 1000):
        with pytest.raises(GameError, match=f"more than {limit:,} histories"):
            lay_out(kibitz.game("leduc"), limit=limit)
    assert lay_out(kibitz.game("kuhn"), limit=58).histories == 58
    with pytest.raises(GameError, match="more than 57 histories"):
        lay_out(kibitz.game("kuhn"), limit=57)


def test_progress_is_told():
    told = []
    lay_out(kibitz.game("liars_dice(dice_sides=6)"), told.append)
    assert told and told == sorted(told)


# Objects that are no games, or odd ones


def test_an_object_without_the_protocol_is_no_game():
    class Half:
        players = 2

        def root(self):
            return 0

    words = "Half is not a game: it lacks turn, actions, chance, after, infoset, payoff"
    for refuse in (kibitz.game, lambda g: solve(g, "cfr+")):
        with pytest.raises(GameError, match=words):
            refuse(Half())


def test_an_unhashable_game_can_be_solved():
    class Unhashable(Rules):
        __hash__ = None

    game = Unhashable(payoff=lambda s: [1, -1] if s == "left" else [2, -2])
    profile = solve(game, "cfr+", iterations=10)
    assert kibitz.value(game, profile).tolist() == [2, -2]


def test_a_game_without_weak_references_can_be_solved():
    class Slotted:
        __slots__ = ()
        players = 2
        root, turn, actions = Rules.root, Rules.turn, Rules.actions
        chance, after, infoset, payoff = Rules.chance, Rules.after, Rules.infoset, Rules.payoff

    assert kibitz.nash_conv(Slotted(), solve(Slotted(), "cfr+", iterations=2)) == 0


def test_trees_are_kept_as_long_as_their_game():
    game = RandomGame(1, 2)
    assert tree_of(game) is tree_of(game)
    seen = weakref.ref(game)
    del game
    gc.collect()
    assert seen() is None


def test_arrays_of_a_tree_cannot_be_changed_by_mistake():
    tree = lay_out(kibitz.game("kuhn"))
    assert isinstance(tree.parent, np.ndarray)
    with pytest.raises((AttributeError, TypeError)):
        tree.parent = None


def test_the_tree_of_a_game_outlives_an_equal_game():
    import copy
    import gc

    first, second = kibitz.game("leduc"), kibitz.game("leduc")
    if first is second:
        second = copy.copy(first)
    tree = tree_of(first)
    mine = tree_of(second)
    equal = mine is tree
    del first, tree
    gc.collect()
    assert tree_of(second) is mine, equal
