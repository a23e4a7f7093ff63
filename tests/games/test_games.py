"""The rules of the built-in games: their sizes, the Game protocol, and results worked out by hand."""

from __future__ import annotations

import random

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from kibitz.core import spec as specs
from kibitz.core.errors import GameError, SpecError
from kibitz.games import CHANCE, GAMES, TERMINAL, Game, game
from kibitz.games.goofspiel import Goofspiel
from kibitz.games.kuhn import Kuhn
from kibitz.games.leduc import Leduc
from kibitz.games.liars_dice import LiarsDice
from kibitz.games.matrix import Matrix, recalled
from kibitz.games.tree import lay_out

PENNIES = "matrix(payoffs=[[1, -1], [-1, 1]], names=[heads, tails])"
SMALL = [
    "poker(file=kuhn)",
    "rhode_island(ranks=2, suits=2)",
    "kuhn",
    "kuhn(players=3)",
    "leduc(suit_isomorphism=true)",
    "leduc(ranks=2, cap=1)",
    "leduc(players=3, ranks=2, cap=1, suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2, dice_sides=2)",
    "goofspiel(num_cards=3)",
    "goofspiel(points_order=descending)",
    "goofspiel(points_order=ascending, imp_info=true, returns_type=point_difference)",
    "goofspiel(players=3, num_cards=3, points_order=descending, imp_info=true)",
    "toepen(suits=2, ranks=2, hand=2)",
    "toepen(suits=2, ranks=3, hand=2, follow_suit=false, symmetric=true)",
    "toepen(suits=3, ranks=3, hand=2, betting=false)",
    PENNIES,
]


def play(rules, *actions):
    """The state after some actions and outcomes; a single text is a list of words."""
    state = rules.root()
    if len(actions) == 1 and isinstance(actions[0], str):
        actions = actions[0].split()
    for action in actions:
        assert action in [a for a, _ in naive.steps(rules, state)]
        state = rules.after(state, action)
    return state


# Sizes: those of OpenSpiel's games, and of [Gibson & Szafron 2011] for three players with six cards.


@pytest.mark.parametrize(
    ("text", "decision", "chance", "terminal", "infosets"),
    [
        ("kuhn", 24, 4, 30, 12),
        ("kuhn(players=3)", 288, 17, 312, 48),
        ("leduc", 3780, 157, 5520, 936),
        ("leduc(suit_isomorphism=true)", 774, 49, 1116, 288),
        ("liars_dice(dice_sides=5)", 25600, 6, 25575, 5120),
        ("goofspiel(num_cards=5, points_order=descending, imp_info=true)", 12531, 0, 14400, 2124),
        ("matrix(payoffs=[[1, -1], [-1, 1], [0, 0]])", 4, 0, 6, 2),
    ],
)
def test_sizes(text, decision, chance, terminal, infosets):
    count = naive.count(game(text))
    assert count.get("chance", 0) == chance
    assert (count["decision"], count["terminal"], count["infosets"]) == (decision, terminal, infosets)


@pytest.mark.slow
def test_size_of_leduc_with_suits_for_three():
    # 6 x 5 x 4 deals, 33 decisions before the board and 456 after it, for each of 3 boards.
    count = naive.count(Leduc(players=3))
    assert count["decision"] == 120 * (33 + 3 * 456)


def test_decision_points_of_the_stitching_papers():
    """2 players: 6 betting sequences before the board and 30 after it; 3 players: 33 and 456."""
    for players, before, after in [(2, 6, 30), (3, 33, 456)]:
        rules = Leduc(players=players, suit_isomorphism=True)
        betting = {rules.infoset(s).split(":")[1] for _, s in naive.walk(rules) if rules.turn(s) >= 0}
        assert sum("/" not in b for b in betting) == before
        assert sum("/" in b for b in betting) == after


# The protocol, for all of them


@pytest.mark.parametrize("text", SMALL)
def test_protocol(text):
    rules = game(text)
    assert isinstance(rules, Game)
    offers: dict[object, object] = {}
    for history, state in naive.walk(rules):
        turn = rules.turn(state)
        if turn == TERMINAL:
            payoff = rules.payoff(state)
            assert len(payoff) == rules.players
            assert sum(payoff) == pytest.approx(0, abs=1e-12), history
            continue
        actions = [action for action, _ in naive.steps(rules, state)]
        assert actions and len(set(map(str, actions))) == len(actions)
        assert all(isinstance(a, str | int) for a in actions)
        if turn == CHANCE:
            chances = [p for _, p in rules.chance(state)]
            assert min(chances) > 0 and sum(chances) == pytest.approx(1, abs=1e-12)
        else:
            assert 0 <= turn < rules.players
            assert offers.setdefault(rules.infoset(state), (turn, actions)) == (turn, actions)


@pytest.mark.parametrize("text", [*SMALL, "goofspiel(imp_info=true)"])
def test_players_never_forget(text):
    assert not naive.forgets(game(text))


def test_forgets_sees_what_it_should():
    class Absent(Matrix):
        """Rock, paper, scissors twice, by one player who does not recall the first choice."""

        players = 1  # type: ignore[assignment]

        def turn(self, state):
            return 0 if len(state) < 2 else TERMINAL

        def infoset(self, state):
            return f"round {len(state)}"

    assert naive.forgets(Absent([[1, 2], [3, 4]])) == {(0, "round 1")}


@settings(max_examples=examples(40), deadline=None, database=None)
@given(
    st.sampled_from(
        [
            *SMALL,
            "kuhn(players=10)",
            "leduc(players=3, ranks=4)",
            "leduc(players=5, ranks=13, suits=4, cap=4)",
            "liars_dice(numdice=5)",
            "goofspiel(players=4, num_cards=13)",
        ]
    ),
    st.integers(0, 2**32),
)
def test_random_play_ends(text, seed):
    """Playouts through the rules come to an end, and the same moves lead to an equal state."""
    rules, rng = game(text), random.Random(seed)
    state, again = rules.root(), rules.root()
    for _ in range(1000):
        if rules.turn(state) == TERMINAL:
            break
        action = rng.choice([a for a, _ in naive.steps(rules, state)])
        state, again = rules.after(state, action), rules.after(again, action)
        assert state == again and hash(state) == hash(again)
    assert rules.turn(state) == TERMINAL
    assert sum(rules.payoff(state)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("text", SMALL)
def test_spec_makes_the_same_game(text):
    rules = game(text)
    assert game(rules.spec) == rules
    assert game(rules) is rules
    assert hash(game(rules.spec)) == hash(rules)


def test_every_name_in_the_table_is_tested_here():
    assert set(GAMES) == {text.partition("(")[0] for text in SMALL}


# Kuhn


@pytest.mark.parametrize(
    ("moves", "payoff"),
    [
        (["J", "K", "pass", "pass"], [-1, 1]),
        (["J", "K", "pass", "bet", "pass"], [-1, 1]),
        (["J", "K", "bet", "pass"], [1, -1]),
        (["J", "K", "bet", "bet"], [-2, 2]),
        (["K", "Q", "pass", "bet", "bet"], [2, -2]),
        (["J", "A", "K", "pass", "pass", "bet", "bet", "pass"], [-2, -1, 3]),
        (["A", "Q", "K", "pass", "bet", "bet", "pass"], [-1, -2, 3]),
    ],
)
def test_kuhn_payoffs(moves, payoff):
    rules = Kuhn(len(payoff))
    state = play(rules, *moves)
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == payoff


def test_kuhn_infosets():
    rules = Kuhn()
    assert rules.infoset(play(rules, "K", "J", "pass", "bet")) == "K:pb"
    assert rules.infoset(play(rules, "K", "J", "pass")) == "J:p"


# Leduc


@pytest.mark.parametrize(
    ("moves", "payoff"),
    [
        ("Js Kh raise fold", [1, -1]),
        ("Js Kh call raise fold", [-1, 1]),
        ("Js Kh raise raise fold", [-3, 3]),
        ("Js Kh call call Jh call call", [1, -1]),  # a pair of jacks beats a king
        ("Js Kh call call Qh raise call", [-5, 5]),
        ("Qs Qh raise raise call Kh raise raise call", [0, 0]),
        ("Js Kh raise raise call Jh raise raise call", [13, -13]),
        ("Js Qh Kh call call call Qs call call call", [-1, 2, -1]),
        ("Js Qh Ks raise call fold Kh raise call", [-7, 8, -1]),  # the king folded: its pair does not count
        ("Js Jh Ks raise call fold Kh raise call", [0.5, 0.5, -1]),
        ("Js Jh Ks call call raise fold call Kh raise fold", [-1, 3 + 1, -3]),
    ],
)
def test_leduc_payoffs(moves, payoff):
    rules = Leduc(len(payoff))
    state = play(rules, moves)
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == payoff


def test_leduc_betting():
    rules = Leduc(players=3)
    state = play(rules, "Js Jh Ks call raise raise")
    assert rules.turn(state) == 0 and rules.infoset(state) == "Js:crr"
    assert rules.actions(state) == ("fold", "call")
    state = play(rules, "Js Jh Ks raise fold call Kh")
    assert rules.turn(state) == 0 and rules.infoset(state) == "JsKh:rfc/"
    assert rules.actions(state) == ("call", "raise")
    state = play(rules, "Js Jh Ks call call raise fold call Kh")
    assert rules.turn(state) == 1  # seat 0 folded
    state = play(Leduc(cap=0), "Js", "Kh")
    assert Leduc(cap=0).actions(state) == ("call",)


def test_leduc_deals_by_rank():
    rules = Leduc(suit_isomorphism=True)
    assert dict(rules.chance(play(rules, "J"))) == pytest.approx({"J": 1 / 5, "Q": 2 / 5, "K": 2 / 5})
    assert dict(rules.chance(play(rules, "J J call call"))) == pytest.approx({"Q": 1 / 2, "K": 1 / 2})


@settings(max_examples=examples(150), deadline=None, database=None)
@given(
    players=st.integers(2, 6),
    ranks=st.integers(1, 13),
    suits=st.integers(1, 4),
    ante=st.integers(1, 5),
    bets=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    cap=st.integers(0, 4),
    by_rank=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_leduc_keeps_its_chips(players, ranks, suits, ante, bets, cap, by_rank, seed):
    """No chip is made or lost; nobody loses more than the caps allow, or wins more than the others put in."""
    if players + 1 > ranks * suits:
        with pytest.raises(SpecError, match=f"needs {players + 1} cards"):
            Leduc(players, ranks, suits, ante, bets, cap, by_rank)
        return
    rules = Leduc(players, ranks, suits, ante, bets, cap, by_rank)
    most = ante + cap * sum(bets)
    rng = random.Random(seed)
    state = rules.root()
    while rules.turn(state) != TERMINAL:
        state = rules.after(state, rng.choice([a for a, _ in naive.steps(rules, state)]))
        assert max(state.paid) <= most
    payoff = rules.payoff(state)
    assert sum(payoff) == pytest.approx(0, abs=1e-9)
    assert min(payoff) >= -most and max(payoff) <= most * (players - 1)
    folded = [seat for seat in range(players) if not state.live[seat]]
    assert all(payoff[seat] == -state.paid[seat] for seat in folded)


# Liar's Dice


@pytest.mark.parametrize(
    ("moves", "payoff"),
    [
        ([1, 2, "1-2", "liar"], [1, -1]),
        ([1, 1, "1-2", "liar"], [-1, 1]),
        ([1, 3, "1-2", "liar"], [1, -1]),  # three is wild
        ([3, 3, "1-1", "2-1", "liar"], [-1, 1]),
        ([1, 2, "1-1", "2-1", "liar"], [1, -1]),
        ([1, 3, "1-3", "2-1", "2-3", "liar"], [-1, 1]),
    ],
)
def test_liars_dice_payoffs(moves, payoff):
    rules = LiarsDice(dice_sides=3)
    state = play(rules, *moves)
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == payoff


def test_liars_dice_bids():
    rules = LiarsDice(numdice=2, dice_sides=3)
    state = play(rules, 3, 1, 2, 2)
    assert rules.infoset(state) == "1,3:" and "liar" not in rules.actions(state)
    state = rules.after(state, "3-3")
    assert rules.actions(state) == ("4-1", "4-2", "4-3", "liar")
    assert rules.infoset(state) == "2,2:3-3"
    assert rules.actions(rules.after(state, "4-3")) == ("liar",)


# Goofspiel


def test_goofspiel_by_hand():
    rules = Goofspiel(num_cards=3, points_order="descending", returns_type="total_points")
    state = play(rules, 1, 2)  # seat 1 takes the 3
    assert rules.turn(state) == 0 and rules.actions(state) == [2, 3]
    assert rules.infoset(state) == "P0 3:1-2 2"
    state = play(rules, 1, 2, 3, 1)  # seat 0 takes the 2; then 2 against 3 for the 1
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == [2, 4]
    assert Goofspiel(num_cards=3, returns_type="point_difference").payoff(state) == [-1, 1]
    assert Goofspiel(num_cards=3).payoff(state) == [-1, 1]
    tied = play(rules, 2, 2, 1, 1)
    assert rules.payoff(tied) == [0, 0] == Goofspiel(num_cards=3).payoff(tied)


def test_goofspiel_hides_bids():
    hidden = Goofspiel(num_cards=4, points_order="descending", imp_info=True)
    assert hidden.infoset(play(hidden, 1, 3, 4)) == hidden.infoset(play(hidden, 2, 3, 1)) == "P1 4:3w1 3"
    assert hidden.infoset(play(hidden, 3, 3, 4)) == "P1 4:3t 3"
    shown = Goofspiel(num_cards=4, points_order="descending")
    assert shown.infoset(play(shown, 1, 3, 4)) == shown.infoset(play(shown, 1, 3, 2)) == "P1 4:1-3 3"
    assert shown.infoset(play(shown, 2, 3, 4)) != shown.infoset(play(shown, 1, 3, 4))


def test_goofspiel_losers_share_the_loss():
    rules = Goofspiel(players=3, num_cards=3, points_order="ascending")
    # The 1 is bid for with 2 1 1, the 2 with 1 3 2, and what is left for the 3 is 3 2 3: points 1, 2, 0.
    assert rules.payoff(play(rules, 2, 1, 1, 1, 3, 2)) == [-0.5, 1, -0.5]


# Matrix


def test_matrix_zero_sum():
    rules = game("matrix(payoffs=[[0, -1, 1], [1, 0, -1], [-1, 1, 0]], names=[rock, paper, scissors])")
    state = play(rules, "rock", "paper")
    assert rules.payoff(state) == [-1, 1]
    assert rules.infoset(play(rules, "rock")) == rules.infoset(play(rules, "paper")) == "P1"
    assert Matrix([[1, 2, 3], [4, 5, 6]]).payoff((1, 2)) == [6, -6]
    assert Matrix([[1, 2, 3]]).actions((0,)) == (0, 1, 2)


def test_matrix_general_sum_and_more_players():
    dilemma = Matrix(tables=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]], names=[["c", "d"], ["C", "D"]])
    assert dilemma.payoff(play(dilemma, "d", "C")) == [5, 0]
    book = Matrix(cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]], names=[["c", "d"], ["C", "D"]])
    for one in "cd":
        for other in "CD":
            assert book.payoff(play(book, one, other)) == dilemma.payoff(play(dilemma, one, other))
    assert game(book.spec) == book and game(dilemma.spec) == dilemma
    table = [[[1, 2], [3, 4], [5, 6]]]
    three = Matrix([table, table, [[[0, 0], [0, 0], [0, 7]]]])
    assert three.players == 3
    assert [three.actions((0,) * seat) for seat in range(3)] == [(0,), (0, 1, 2), (0, 1)]
    assert three.payoff(play(three, 0, 2, 1)) == [6, 6, 7]
    cells = [[[[three.payoff((a, b, c))[seat] for seat in range(3)] for c in range(2)] for b in range(3)] for a in (0,)]
    same = Matrix(cells=cells)
    assert same.players == 3 and lay_out(same).digest == lay_out(three).digest


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("payoffs=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]]", "write tables= or cells= instead of payoffs="),
        ("payoffs=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]]", "write tables= or cells= instead of payoffs="),
        ("payoffs=[[[1, 1], [2, 2], [3, 3]], [[4, 4], [5, 5], [6, 6]]]", "could be 2 tables"),
        ("payoffs=[[[1, 1]], [[2, 2]], [[3, 3]]]", "write cells= instead of payoffs="),
        ("cells=[[1, 2], [3, 4]]", "should be a table"),
        ("cells=[[[1, 2, 3], [1, 2, 3]]]", "but a cell has 3 numbers"),
        ("tables=[[1, 2], [3, 4]]", "should be a table"),
        ("tables=[[[1]], [[1]], [[1]]]", "2 tables.*has 3 tables"),
        ("payoffs=[[1]], cells=[[[1, 2]]]", "not payoffs and cells"),
        ("names=[a, b]", r"one of payoffs, cells and tables, not none: payoffs=\[\[1, -1\]"),
    ],
)
def test_matrix_says_what_it_cannot_tell(text, says):
    with pytest.raises(SpecError, match=says):
        game(f"matrix({text})")


def test_matrix_of_saved_strategies():
    """Nested payoffs were one table for each player before there were cells."""
    old = specs.parse("matrix(payoffs=[[[3, 0], [5, 1]], [[3, 5], [0, 1]]], names=[silent, betray])")
    assert game(str(recalled(old))) == Matrix(tables=old.args["payoffs"], names=["silent", "betray"])
    for text in (PENNIES, "matrix(cells=[[[1, 2]]])", "leduc", "matrix(payoffs=5)"):
        assert str(recalled(specs.parse(text))) == text


def test_matrix_takes_an_array():
    numpy = pytest.importorskip("numpy")
    assert Matrix(numpy.eye(2)) == Matrix([[1.0, 0.0], [0.0, 1.0]])


# Mistakes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kuhn(players=1)", "2 to 10 players"),
        ("kuhn(players=11)", "players=11"),
        ("kuhn(players=two)", "a whole number"),
        ("kuhn(seats=3)", "players"),
        ("leduc(players=9)", "needs 10 cards.*make 6"),
        ("leduc(players=1)", "2 players or more"),
        ("leduc(ranks=14)", "1 to 13 ranks"),
        ("leduc(suits=0)", "1 to 4 suits"),
        ("leduc(bets=[2])", "two whole numbers"),
        ("leduc(bets=[2, 0.5])", "two whole numbers"),
        ("leduc(bets=3)", "a list"),
        ("leduc(ante=0)", "ante=0"),
        ("leduc(cap=-1)", "cap=-1"),
        ("liars_dice(players=3)", "2 players"),
        ("liars_dice(numdice=0)", "numdice"),
        ("liars_dice(dice_sides=1)", "dice_sides"),
        ("goofspiel(num_cards=1)", "num_cards"),
        ("goofspiel(players=11)", "2 to 10"),
        ("goofspiel(points_order=down)", "descending"),
        ("goofspiel(returns_type=points)", "total_points"),
        ("matrix", "payoffs"),
        ("matrix(payoffs=3)", "should be a list"),
        ("matrix(payoffs=[])", "one of payoffs, cells and tables"),
        ("matrix(payoffs=[1, 2])", "should be a table"),
        ("matrix(payoffs=[[1, 2], [3]])", r"payoffs\[1\] should be a list of 2"),
        ("matrix(payoffs=[[1, 2], 3])", r"payoffs\[1\] should be a list"),
        ("matrix(payoffs=[[1, x]])", r"payoffs\[0\]\[1\] is x"),
        ("matrix(payoffs=[[1, 1e999]])", "too large"),
        ("matrix(payoffs=[[[1]], [[1]], [[1]]])", "2 tables.*has 3 tables"),
        ("matrix(payoffs=[[1, 2]], names=[a, b])", "player 0 has 1 choices"),
        ("matrix(payoffs=[[1, 2], [1, 2]], names=[a, a])", "all different"),
        ("matrix(payoffs=[[1, 2], [1, 2]], names=[[a, b]])", "2 players and 1 lists"),
        ("matrix(payoffs=[[1, 2], [1, 2]], names=[a, 0.5])", "list of words"),
        ("khun", "did you mean 'kuhn'"),
        ("nowhere.py:Thing", "no file"),
    ],
)
def test_bad_parameters_are_told(text, says):
    with pytest.raises(SpecError, match=says):
        game(text)


def test_what_openspiel_lacks_is_told():
    with pytest.raises(GameError, match="closest game that it has is leduc\\(players=3, ranks=4\\)"):
        Leduc(players=3).openspiel()


def test_an_object_that_is_no_game():
    with pytest.raises(GameError, match=r"lacks .*payoff"):
        game(object())
