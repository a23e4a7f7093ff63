"""Gambit files: what is read, what is refused and where, and what comes back after writing."""

from __future__ import annotations

import io
import math
import os
import tracemalloc
from fractions import Fraction

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.core.errors import GameError
from kibitz.games import CHANCE, TERMINAL, Game, game
from kibitz.games.efg import _exact, _payoff, read_efg, write_efg
from kibitz.games.matrix import Matrix
from kibitz.games.tree import lay_out

# Much of the format in one file: later mentions by number alone, a comment, commas or none, payoffs on the
# way, an event with fractions and decimals, escapes, odd spacing.
SAMPLE = r"""EFG 2 R "An \"odd\" game" { "Ann" "Bob" }
"a comment
of two lines"

c "ROOT" 1 "weather" { "rain" 1/4 "sun" 0.75 } 0
p "" 1 1 "Ann, either way" { "stay" "go" } 0
t "" 1 "home" { 10, 2.5 }
p "" 2 7 "Bob" { "l" "r" } 2 "fare" { -1 0 }
t "" 1
t "" 0
p "" 1 1
  0
t "" 3 "" { 1/3 -1/3 } p "" 2 7 2 t "" 3 t "" 1 "home" { 10 5/2 }
"""


def rows(rules):
    """All that matters of a game, to compare: turn, actions, chance, payoff, and infosets by number."""
    numbers: dict[object, int] = {}
    out = []
    for history, state in naive.walk(rules):
        turn = rules.turn(state)
        steps = [(str(a), p) for a, p in naive.steps(rules, state)]
        payoff = list(rules.payoff(state)) if turn == TERMINAL else None
        infoset = numbers.setdefault((turn, rules.infoset(state)), len(numbers)) if turn >= 0 else None
        out.append((tuple(map(str, history)), turn, steps, payoff, infoset))
    return out


def same(mine, yours):
    mine, yours = rows(mine), rows(yours)
    assert len(mine) == len(yours)
    for one, other in zip(mine, yours, strict=True):
        assert one[:2] == other[:2] and one[4] == other[4]
        assert [a for a, _ in one[2]] == [a for a, _ in other[2]]
        assert [p or 0 for _, p in one[2]] == pytest.approx([p or 0 for _, p in other[2]], rel=1e-15)
        assert one[3] == other[3]
    return True


def test_sample():
    rules = read_efg(SAMPLE)
    assert isinstance(rules, Game)
    assert (rules.title, rules.names, rules.players) == ('An "odd" game', ("Ann", "Bob"), 2)
    assert rules.comment == "a comment\nof two lines"
    assert not hasattr(rules, "spec")
    assert naive.count(rules) == {
        "histories": 11, "chance": 1, "decision": 4, "terminal": 6, "infosets": 2
    }  # fmt: skip
    root = rules.root()
    assert rules.turn(root) == CHANCE and rules.chance(root) == [("rain", 0.25), ("sun", 0.75)]
    rain, sun = rules.after(root, "rain"), rules.after(root, "sun")
    assert rules.turn(rain) == rules.turn(sun) == 0
    assert rules.infoset(rain) == rules.infoset(sun) == "1.1 Ann, either way"
    assert rules.actions(sun) == ("stay", "go")
    assert rules.payoff(rules.after(rain, "stay")) == (10, 2.5)
    bob = rules.after(rain, "go")
    assert rules.infoset(bob) == "2.7 Bob"
    assert rules.payoff(rules.after(bob, "l")) == (9, 2.5)  # the fare is paid on the way
    assert rules.payoff(rules.after(bob, "r")) == (-1, 0)
    bob = rules.after(sun, "go")
    assert rules.payoff(rules.after(bob, "l")) == (float(Fraction(-2, 3)), float(Fraction(-1, 3)))
    assert rules.payoff(rules.after(rules.after(root, "sun"), "stay")) == (1 / 3, -1 / 3)


def test_a_tree_of_one_node():
    assert read_efg('EFG 2 R "" { "A" } t "" 0').payoff(0) == (0.0,)
    assert read_efg('EFG 2 D "" { "A" "B" } "" t "" 1 { 1 2 }').payoff(0) == (1.0, 2.0)


def test_names_that_do_not_tell_actions_apart_become_numbers():
    for names in ('"" ""', '"x" "x"'):
        rules = read_efg(f'EFG 2 R "" {{ "A" }} p "" 1 1 "" {{ {names} }} 0 t "" 0 t "" 1 "" {{ 5 }}')
        assert rules.actions(0) == (1, 2) and rules.payoff(rules.after(0, 2)) == (5,)
        assert rules.infoset(0) == "1.1"


def test_impossible_chance_is_left_out():
    rules = read_efg('EFG 2 R "" { "A" } c "" 1 "" { "no" 0 "yes" 1 } 0 t "" 0 t "" 1 "" { 5 }')
    assert rules.chance(0) == [("yes", 1.0)] and rules.payoff(rules.after(0, "yes")) == (5,)


HEAD = 'EFG 2 R "t" { "A" "B" }\n'
P = 'p "" 1 1 "i" { "x" "y" } 0\n'
T = 't "" 1 "o" { 1 2 }\n'


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("EFX 2 R", 0, 0, "cannot read the game file"),
        ("EFG", 1, 4, "expected the version '2', found the end of the file"),
        ("EFG 3 R", 1, 5, "expected the version '2', found '3'"),
        ('EFG 2 X "t"', 1, 7, "expected 'R', found 'X'"),
        ("EFG 2 R { }", 1, 9, "expected the game's title in quotes, found '{'"),
        ('EFG 2 R "t', 1, 9, "no closing quote"),
        ('EFG 2 R "t" "A"', 1, 13, "expected '{' and the players' names, found the text \"A\""),
        ('EFG 2 R "t" { }', 1, 15, "expected a player's name"),
        ('EFG 2 R "t" { "A", "B" }', 1, 18, "expected '}' or a player's name in quotes, found ','"),
        (HEAD, 2, 1, "expected a node: c, p or t, found the end of the file"),
        (HEAD + 'x "" 0', 2, 1, "expected a node: c, p or t, found 'x'"),
        (HEAD + "t 0", 2, 3, "expected the node's name in quotes, found '0'"),
        (HEAD + P + T, 4, 1, "expected a node"),
        (HEAD + P + T + T + "\n  " + T, 6, 3, "expected the end of the file, as the tree is complete"),
        (HEAD + 'p "" 3 1 "i" { "x" } 0', 2, 6, "there is no player 3: the prologue names 2"),
        (HEAD + 'p "" 0 1 "i" { "x" } 0', 2, 6, "expected the number of the player, found '0'"),
        (HEAD + 'p "" one', 2, 6, "expected the number of the player, found 'one'"),
        (HEAD + 'p "" 1 0 "i" { "x" } 0', 2, 8, "expected the number of the infoset"),
        (HEAD + 'p "" 1 -1 "i" { "x" } 0', 2, 8, "expected the number of the infoset"),
        (HEAD + 'p "" 1 1 0', 2, 8, "infoset 1 of player 1 has no list of actions, here or before"),
        (HEAD + 'p "" 1 1 "i" { } 0', 2, 14, "infoset 1 of player 1 offers nothing"),
        (HEAD + 'p "" 1 1 "i" { x } 0', 2, 16, "expected '}' or the name of an action in quotes, found 'x'"),
        (HEAD + P + 'p "" 1 1 "i" { "x" } 0', 3, 14, "has 1 actions ['x'], but before they were the 2"),
        (HEAD + P + 'p "" 1 1 "i" { "y" "x" } 0', 3, 14, "but before they were the 2 actions ['x', 'y']"),
        (HEAD + P + 'p "" 2 1 0', 3, 8, "infoset 1 of player 2 has no list of actions"),
        (HEAD + 'c "" 1 0', 2, 6, "chance event 1 has no list of outcomes"),
        (HEAD + 'c "" 1 "" { } 0', 2, 11, "chance event 1 offers nothing"),
        (HEAD + 'c "" 1 "" { "x" } 0', 2, 17, "expected the outcome's probability, found '}'"),
        (HEAD + 'c "" 1 "" { "x" 0.333 "y" 2/3 } 0', 2, 11, "sum to 0.999666666667, not to exactly 1"),
        (HEAD + 'c "" 1 "" { "x" 3/2 "y" -1/2 } 0', 2, 25, "a probability is below 0"),
        (HEAD + 'c "" 1 "" { "x" 1/0 } 0', 2, 17, "1/0 divides by zero"),
        (
            HEAD + 'c "" 1 "" { "x" 1/2 "y" 1/2 } 0\nc "" 1 "" { "x" 1/3 "y" 2/3 } 0',
            3, 11, "chance event 1 was described differently before",
        ),
        (HEAD + 't ""', 2, 5, "expected the number of an outcome, or 0 for none"),
        (HEAD + 't "" -1', 2, 6, "expected the number of an outcome, or 0 for none, found '-1'"),
        (HEAD + 't "" 4', 2, 6, "outcome 4 has no payoffs, here or before"),
        (HEAD + 't "" 4 "name"', 2, 6, "outcome 4 has no payoffs, here or before"),
        (HEAD + 't "" 0 "" { 1 2 }', 2, 8, "outcome 0 means none"),
        (HEAD + 't "" 1 "" { 1 }', 2, 15, "expected the payoff of 'B', one for each of 2 players, found '}'"),
        (HEAD + 't "" 1 "" { 1, 2, 3 }', 2, 19, "expected '}' after 2 payoffs, found '3'"),
        (HEAD + 't "" 1 "" { one 2 }', 2, 13, "expected the payoff of 'A'"),
        (HEAD + 't "" 1 "" { nan 2 }', 2, 13, "expected the payoff of 'A'"),
        (HEAD + 't "" 1 "" { 1e999 2 }', 2, 13, "1e999 is too large"),
        (HEAD + 't "" 1 "" { 1e999999999 2 }', 2, 13, "expected the payoff"),
        (HEAD + f't "" 1 "" {{ {"9" * 5000} 2 }}', 2, 13, "a number of 5,000 digits is too long"),
        (HEAD + P + T + 't "" 1 "o" { 1 3 }', 4, 8, "outcome 1 had other payoffs before"),
        (HEAD + f't "" {"9" * 30}', 2, 6, "expected the number of an outcome"),
        (HEAD + 't "name', 2, 3, "no closing quote"),
        (HEAD + 't "" 99999999 "" { 1e308 0 } x', 2, 30, "expected the end of the file"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(text, line, column, says):
    with pytest.raises(GameError) as caught:
        read_efg(text)
    message = str(caught.value)
    assert says in message
    if line:
        assert message.startswith(f"efg text, line {line}, column {column}: ")


def test_the_sum_of_payoffs_may_not_overflow():
    text = HEAD + 'p "" 1 1 "" { "x" } 1 "" { 1e308 0 } p "" 1 2 "" { "x" } 1 t "" 1'
    with pytest.raises(GameError, match="too large"):
        read_efg(text)


def test_denominators_may_not_grow_without_bound():
    odds = " ".join(f'"{i}" 1/{10**900 + i}' for i in range(300))
    with pytest.raises(GameError, match="too many different denominators"):
        read_efg(f'{HEAD}c "" 1 "" {{ {odds} }} 0')


def test_files(tmp_path):
    path = tmp_path / "sample.efg"
    path.write_text(SAMPLE)
    rules = game(str(path))
    assert rules.spec == str(path) and same(rules, read_efg(SAMPLE)) and same(read_efg(str(path)), rules)
    path.write_text(HEAD)
    with pytest.raises(GameError, match=r"sample\.efg, line 2, column 1: expected a node"):
        read_efg(path)
    path.write_bytes(b'EFG 2 R "\xff"')
    with pytest.raises(GameError, match="not a text file: byte 9"):
        read_efg(path)
    for wrong in (tmp_path / "absent.efg", tmp_path, "no\0file.efg"):
        with pytest.raises(GameError, match="cannot read the game file"):
            read_efg(wrong)


@settings(max_examples=examples(300), deadline=None, database=None)
@given(st.data())
def test_damaged_files_give_a_game_or_an_error(data):
    """Cut, drop, swap and repeat pieces of a good file: never another exception."""
    pieces = SAMPLE.split(" ")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(pieces) - 1))
        pieces[at] = data.draw(
            st.sampled_from(["", pieces[at - 1], "{", "}", '"', "0", "-1", "1/0", "x", "p", pieces[at] * 2])
            | st.text(max_size=5)
        )
    text = "EFG 2 R " + " ".join(pieces)[data.draw(st.sampled_from([8, 8, 8, 0, 40])) :]
    try:
        rules = read_efg(text[: data.draw(st.sampled_from([len(text), len(text) - 20]))])
    except GameError as error:
        assert "line " in str(error)
    else:
        naive.count(rules)


def test_deep_trees_need_no_recursion(tmp_path):
    depth = 50_000
    text = HEAD + 'p "" 1 1 "" { "on" } 0\n' + 'p "" 1 1 0\n' * (depth - 1) + T

    rules = read_efg(text)
    assert len(rules) == depth + 1
    state = rules.root()
    while rules.turn(state) != TERMINAL:
        state = rules.after(state, "on")
    assert rules.payoff(state) == (1, 2)
    write_efg(rules, tmp_path / "deep.efg")
    assert len(read_efg(tmp_path / "deep.efg")) == depth + 1


# Writing

WRITTEN = [
    "kuhn",
    "kuhn(players=3)",
    "leduc(suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3)",
    "goofspiel(players=3, num_cards=3, imp_info=true, points_order=descending)",
    "matrix(payoffs=[[0.1, -1e-7], [123456.789, 1e20]])",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_round_trip(text, tmp_path):
    rules = game(text)
    write_efg(rules, tmp_path / "game.efg", title='a "fine" game')
    back = read_efg(tmp_path / "game.efg")
    assert back.title == 'a "fine" game' and same(rules, back)
    assert [p.name for p in tmp_path.iterdir()] == ["game.efg"]
    write_efg(back, tmp_path / "again.efg")
    assert same(back, read_efg(tmp_path / "again.efg"))


def test_sample_round_trip(tmp_path):
    write_efg(read_efg(SAMPLE), tmp_path / "sample.efg")
    assert same(read_efg(SAMPLE), read_efg(tmp_path / "sample.efg"))


def test_openspiel_round_trip(tmp_path):
    """OpenSpiel's infosets have several lines and its simultaneous moves are ours in turn."""
    pytest.importorskip("pyspiel")
    rules = game("openspiel:goofspiel(num_cards=3,points_order=descending)")
    write_efg(rules, tmp_path / "game.efg")
    assert same(rules, read_efg(tmp_path / "game.efg"))


class Odd(Matrix):
    """Names that Gambit does not allow, and infosets that differ only in what it cannot show."""

    def infoset(self, state):
        return f"seat {len(state)}", "two\nlines" if state == (0,) else "two lines"


def test_names_are_made_to_fit(tmp_path):
    rules = Odd([[1, 2, 3], [4, 5, 6]], names=[['a"b', "c\\"], ["♠", "x  y", "x y"]])
    write_efg(rules, tmp_path / "odd.efg", title="\\ ♥\n")
    back = read_efg(tmp_path / "odd.efg")
    assert back.title == "/ &#9829;"
    assert back.actions(0) == ('a"b', "c/")
    assert back.actions(1) == ("1: &#9824;", "2: x y", "3: x y")
    assert naive.count(back) == naive.count(rules) and naive.count(back)["infosets"] == 3
    gambit = pytest.importorskip("pygambit")
    assert len(gambit.read_efg(tmp_path / "odd.efg").infosets) == 3


def test_a_failed_write_leaves_nothing(tmp_path):
    class Broken(Matrix):
        def payoff(self, state):
            return [math.nan, 0.0]

    (tmp_path / "old.efg").write_text("old")
    with pytest.raises(GameError, match="payoff of nan"):
        write_efg(Broken([[1]]), tmp_path / "old.efg")
    assert (tmp_path / "old.efg").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(GameError, match="cannot write the game file"):
        write_efg(Matrix([[1]]), tmp_path / "absent" / "game.efg")

    class Fickle(Matrix):
        def infoset(self, state):
            return "same"

        def turn(self, state):
            return 0 if len(state) < 2 else TERMINAL

    with pytest.raises(GameError, match="infoset 'same' of seat 0 has actions"):
        write_efg(Fickle([[1, 2, 3], [4, 5, 6]]), tmp_path / "old.efg")


@settings(max_examples=examples(200), deadline=None, database=None)
@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=12))
def test_probabilities_become_exact(weights):
    odds = [w / sum(weights) for w in weights]
    exact = _exact(odds)
    assert sum(exact) == 1 and min(exact) > 0
    assert [float(p) for p in exact] == pytest.approx(odds, rel=1e-12)


def test_simple_probabilities_stay_simple():
    assert _exact([1 / 3] * 3) == [Fraction(1, 3)] * 3
    assert _exact([0.1, 0.2, 0.7]) == [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]
    assert _exact([1 / 6 + 1e-16] * 6) == [Fraction(1, 6)] * 6
    for wrong in ([], [0.5, 0.4], [1.5, -0.5], [1.0, 0.0], [math.nan]):
        with pytest.raises(GameError, match="chance probabilities"):
            _exact(wrong)


@settings(max_examples=examples(300), deadline=None, database=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6))
def test_payoffs_come_back_as_they_were(value):
    written = _payoff(value)
    assert "e" not in written.lower()  # which Gambit does not read
    back = read_efg(f'EFG 2 R "" {{ "A" }} t "" 1 "" {{ {written} }}').payoff(0)
    assert back == (value,)


# Gambit itself


@pytest.mark.parametrize("text", WRITTEN)
def test_gambit_reads_what_we_write_and_we_read_what_it_writes(text, tmp_path):
    gambit = pytest.importorskip("pygambit")
    rules = game(text)
    write_efg(rules, tmp_path / "ours.efg", title="ours")
    theirs = gambit.read_efg(tmp_path / "ours.efg")
    count = naive.count(rules)
    assert theirs.title == "ours" and len(theirs.players) == rules.players
    assert len(theirs.infosets) == count["infosets"]
    assert theirs.is_const_sum == all(sum(r[3]) == 0 for r in rows(rules) if r[3])
    theirs.to_efg(tmp_path / "theirs.efg")
    assert same(rules, read_efg(tmp_path / "theirs.efg"))


def test_gambit_agrees_on_the_sample():
    gambit = pytest.importorskip("pygambit")
    theirs = gambit.read_efg(io.StringIO(SAMPLE.replace("5/2", "2.5")))  # it takes these for different payoffs
    again = read_efg(theirs.to_efg())
    assert same(read_efg(SAMPLE), again)
    mixed = theirs.mixed_behavior_profile(rational=True)
    ours = [expected(read_efg(SAMPLE), 0, seat) for seat in range(2)]
    assert [float(mixed.payoff(player)) for player in theirs.players] == pytest.approx(ours)


def expected(rules, state, seat):
    """A seat's payoff when every action is as likely as another."""
    turn = rules.turn(state)
    if turn == TERMINAL:
        return rules.payoff(state)[seat]
    steps = naive.steps(rules, state)
    return sum((p or 1 / len(steps)) * expected(rules, rules.after(state, a), seat) for a, p in steps)


# Small files that would ask for much


def prologue(players):
    return 'EFG 2 R "" { ' + '"" ' * players + "}\n"


def deep(players, outcome, nodes):
    """A path of nodes that all have the same outcome, which is described once."""
    return f'{prologue(players)}p""1 1{{"a"}}1{{{outcome}}} ' + 'p""1 1 1 ' * nodes + 't""1'


BOMBS = {
    "a long number": (prologue(1) + 't "" 1 "" { ' + "1" * 40_000 + "x }", "a number of 40,001 digits is too long"),
    "a long decimal": (prologue(1) + 't "" 1 "" { .' + "1" * 40_000 + "e }", "is too long"),
    "many players": (prologue(9000) + 't""0', "more than 100 players"),
    "long sums": (deep(100, " ".join(f"1/{p}" for p in range(3, 103)), 9000), "summed exactly"),
    "large sums": (deep(2, f"1/{'7' * 900} 1/{'3' * 901}", 9000), "summed exactly"),
    "many chances": (
        prologue(1) + 'c""1{' + " ".join(f'"{i}" 1/{10**6 + i}' for i in range(5000)) + "}0", "summed exactly"),
    "long actions": (
        f'{prologue(1)}p""1 1{{"{"a" * 50_000}"}}0 p""1 1{{"{"b" * 50_000}"}}0', "before they were the 1 actions"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_cannot_ask_for_much(name):
    text, says = BOMBS[name]
    assert len(text) < 120_000
    with pytest.raises(GameError, match=says) as caught:
        read_efg(text)
    assert len(str(caught.value)) < 400


def test_sums_along_a_path_take_little_memory():
    """One sum is kept, not one for each node of the path."""
    tracemalloc.start()
    read_efg(deep(2, "1/3 2/7", 5000))
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_payoffs_on_the_way_are_added_up_again_and_again():
    """After a subtree is done its payoffs no longer count."""
    node = 'p "" 1 {i} "" {{ "x" "y" }} {i} "" {{ {i} 0 }} '
    text = HEAD + node.format(i=1) + node.format(i=2) + 't "" 0 t "" 5 "" { 1/3 1 } ' + 't "" 5'
    rules = read_efg(text)
    ends = [state for state in range(len(rules)) if rules.turn(state) == TERMINAL]
    assert [rules.payoff(state)[0] for state in ends] == [3, float(3 + Fraction(1, 3)), float(1 + Fraction(1, 3))]


def test_a_file_that_is_no_file(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe.efg"
    os.mkfifo(pipe)
    with pytest.raises(GameError, match="it is not a file"):
        read_efg(pipe)
    large = tmp_path / "large.efg"
    large.write_text(SAMPLE)
    monkeypatch.setattr("kibitz.games.efg.free_memory", lambda: 1000)
    with pytest.raises(GameError, match="take about 0 MB of memory, and 0 MB are free"):
        read_efg(large)


def test_many_actions_are_found_soon():
    """Looking for an action costs the same whatever their number."""
    width = 3000
    rules = read_efg(prologue(1) + 'p""1 1{' + " ".join(f'"{i}"' for i in range(width)) + "}0 " + 't""0 ' * width)
    assert [rules.after(0, str(i)) for i in (0, 1, width - 1)] == [1, 2, width]
    assert lay_out(rules).histories == width + 1
