"""Locked strategies of spots, and comparisons of solutions."""

from __future__ import annotations

import json

import numpy as np
import pytest
from spot_naive import NaiveSpot

import kibitz
from kibitz.cards.ranges import HANDS, parse_range
from kibitz.core.errors import GameError
from kibitz.core.resources import MARGIN
from kibitz.evaluate import best_response
from kibitz.poker.spots.comparing import compare_spots, without
from kibitz.poker.spots.engine_rows import kept_symmetries
from kibitz.poker.spots.estimates import estimate_of
from kibitz.poker.spots.locks import lock, lock_player, locked_node, read_lock
from kibitz.poker.spots.reading import spot
from kibitz.poker.spots.saved import load_spot, save_spot
from kibitz.poker.spots.solving import solve_spot
from kibitz.poker.spots.spot import betting_of
from tests.poker.spot_game import SpotGame
from tests.poker.test_spots import in_double, small

QUESTION = {"board": "2c 2d 7h 8s Kc", "ranges": ["AhAc, 5c4c, QQ", "AdKd, JJ, TT"], "pot": 100, "stacks": 100}


PAYS = [
    pytest.param({}, id="chips"),
    pytest.param({"rake": "10%", "rake_cap": 4}, id="rake"),
    pytest.param({"prizes": "50, 30, 20", "others": "90, 40"}, id="prizes"),
]


@pytest.fixture
def double(monkeypatch):
    """The engine in double precision."""
    monkeypatch.setattr("kibitz.poker.spots.solving.engine_of", in_double)


@pytest.mark.parametrize("pays", PAYS)
@pytest.mark.parametrize(("cards", "seat"), [(5, 0), (5, 1), (4, 1)])
def test_against_a_locked_player_the_solution_is_the_exact_best_response(double, cards, seat, pays):
    question = small(cards, seed=4, bets="allin", **pays)
    tree = betting_of(question)
    rough = solve_spot(question, iterations=2, threads=1)
    locked = lock_player(rough, ("OOP", "IP")[seat], tree)
    answer = solve_spot(question, until=1e-7, locks=[locked], threads=1)
    game = SpotGame(question)
    profile = kibitz.profile_from(game, game.table(rough))
    most = float(best_response(game, profile, 1 - seat)[0])
    assert answer.gains.value[1 - seat] == pytest.approx(most, abs=1e-5)
    assert answer.gains.best[1 - seat] == pytest.approx(most, abs=1e-6)
    assert answer.gains.best[seat] == pytest.approx(answer.gains.value[seat], abs=1e-9)  # it can change nothing
    for line in rough.lines():
        if rough.at(line).turn == seat:
            inside = rough.at(line).ranges[seat] > 0
            assert answer.at(line).strategy[:, inside] == pytest.approx(rough.at(line).strategy[:, inside], abs=1e-6)


@pytest.mark.parametrize("pays", PAYS)
@pytest.mark.parametrize("board", ["2c 2d 7h 8s Kc", "Jh Qs Kd Ac"])
def test_gains_beside_locks_are_those_of_the_definition(double, board, pays):
    """Some hands of one node, and all hands of another: a best response follows both."""
    ranges = ["AhAc, 5c4c, QQ", "AdKd, JJ:0.3, TT"] if len(board) > 11 else ["AhAd, KcKh:0.5, QcJc", "AhKh, JJ, QQ"]
    deck = (13, 4) if len(board) > 11 else (4, 4)
    question = spot(board, ranges, 20, 45, "50%, allin", "allin", deck=deck, **pays)
    tree = betting_of(question)
    hands = np.zeros(HANDS, bool)
    hands[::2] = True
    some = lock(tree, "check", np.array([0.3, 0.5, 0.2]), hands)
    other = locked_node(tree, "bet 10")[0]
    answer = solve_spot(question, iterations=60, locks=[some, "bet 10: fold = 45%; call = 30%"], threads=1)
    naive = NaiveSpot(question, tree, answer.solved.rows, lambda node, _, hand: (
        (node == some.node and hands[hand]) or node == other))  # fmt: skip
    for seat in (0, 1):
        assert answer.gains.value[seat] == pytest.approx(naive.value(seat, False), abs=1e-6)
        assert answer.gains.best[seat] == pytest.approx(naive.value(seat, True), abs=1e-6)
    assert answer.gains.exploitability < 0.02 * question.stake
    free = NaiveSpot(question, tree, answer.solved.rows)
    assert free.value(1, True) > answer.gains.best[1] + 0.01  # IP is locked, and could gain more
    assert answer.at("bet 10").frequencies == pytest.approx([0.45, 0.3, 0.25], abs=1e-9)


def test_locks_merge_only_suits_that_they_leave_alike():
    """A lock that tells suits apart has an answer that tells them apart."""
    question = spot("Qs Jh 2h", ["AA, KK", "QQ, AJs"], 20, 20, "allin", "none")
    tree = betting_of(question)
    plain, suits, card = (read_lock(text, tree) for text in (
        ": check = AA", ": check = AcAd, AcAs", "check, check, 3c: check = 100%"))  # fmt: skip
    assert [len(kept_symmetries(question, [each])) for each in (plain, suits, card)] == [2, 1, 1]
    answer = solve_spot(question, iterations=15, locks=[suits], threads=1)
    assert answer.at().strategy[0, parse_range("AcAd, AcAs").numbers] == pytest.approx(1.0, abs=1e-6)
    assert answer.at().strategy[0, parse_range("AdAs").numbers] == pytest.approx(0.0, abs=1e-6)


def test_locked_solutions_are_saved(tmp_path):
    question = spot("Qs Jh 2h 5c", ["AA, KK, T9s", "QQ, AJs, KJo"], 20, 30, "allin", "none", rake="5%")
    answer = solve_spot(question, iterations=15, locks=[": check = AcAd, KK:0.25"], threads=1)
    save_spot(answer, tmp_path / "a.spot")
    again = load_spot(tmp_path / "a.spot")
    assert again.at().strategy == pytest.approx(answer.at().strategy, abs=1e-3)
    assert again.gains.best.tolist() == answer.gains.best.tolist()


def test_a_locked_node_stays_and_the_others_answer_it():
    question = spot(**QUESTION, bets="allin", raises="none")
    free = solve_spot(question, until=1e-4, threads=1)
    never = solve_spot(question, until=1e-4, locks=["allin 100: fold = 100%"], threads=1)
    assert np.allclose(never.at("allin").strategy[0, parse_range("AdKd").numbers], 1.0)
    assert never.at().strategy[1, parse_range("5c4c").numbers] == pytest.approx(1.0, abs=1e-2)  # nobody calls a bluff
    assert never.values[0] == pytest.approx(100, abs=0.1)
    assert never.values[0] > free.values[0]
    texts = ["allin: call = AdKd, JJ:0.5", "check: check=100%"]
    mixed = solve_spot(question, until=1e-4, locks=texts, threads=1)
    calls = mixed.at("allin").strategy[1]
    assert calls[parse_range("AdKd").numbers] == pytest.approx(1.0) and calls[parse_range("JJ").numbers] == (
        pytest.approx(0.5)) and calls[parse_range("TT").numbers] == pytest.approx(0.0, abs=1e-9)  # fmt: skip
    assert mixed.at("check").frequencies == pytest.approx([1.0, 0.0], abs=1e-9)


def test_locks_of_some_hands_and_after_any_card():
    question = small(4, seed=5, bets="allin")
    tree = betting_of(question)
    hands = np.zeros(HANDS, bool)
    hands[::2] = True
    rows = np.array([0.25, 0.75])
    answer = solve_spot(question, iterations=20, locks=[lock(tree, "check, check, *", rows, hands)], threads=1)
    node = answer.at("check, check")
    seen = 0
    for card in node.cards:
        river = node.after(kibitz.cards.names([card]))
        inside = river.ranges[0] > 0
        assert river.strategy[:, inside & hands] == pytest.approx(np.array([[0.25], [0.75]]).repeat(
            int((inside & hands).sum()), axis=1), abs=1e-6)  # fmt: skip
        seen += not np.allclose(river.strategy[0, inside & ~hands], 0.25, atol=0.01)
    assert seen > 0
    one = kibitz.cards.names([node.cards[0]])
    answer = solve_spot(question, iterations=20, locks=[f"check, check, {one}: check = 10%"], threads=1)
    there, other = answer.at(f"check, check, {one}"), answer.at("check, check").after(
        kibitz.cards.names([node.cards[1]]))  # fmt: skip
    assert there.frequencies[0] == pytest.approx(0.1) and other.frequencies[0] != pytest.approx(0.1, abs=1e-3)


def test_a_saved_player_is_locked(tmp_path):
    question = small(5, seed=6)
    save_spot(solve_spot(question, iterations=5, threads=1), tmp_path / "a.spot")
    locked = read_lock(f"IP = {tmp_path / 'a.spot'}", betting_of(question))
    answer = solve_spot(question, iterations=50, locks=[locked], threads=1)
    assert answer.gains.best[1] == pytest.approx(answer.gains.value[1], abs=1e-4)
    with pytest.raises(GameError, match="another betting tree"):
        read_lock(f"IP = {tmp_path / 'a.spot'}", betting_of(small(5, bets="10%")))


@pytest.mark.parametrize(
    ("text", "words", "carets"),
    [
        ("check", "a lock reads", "     ^"),
        ("chek: bet 50=10%", "not an action here", "^^^^"),
        ("check: bet 51=10%", "not an action here", "       ^^^^^^"),
        ("check: bet 50=AA, ZZ", "not a rank", "                  ^"),
        ("check: bet 50=60%; allin=60%", "more than 100%", "      ^^^^^^^^^^^^^^^^^^^^^^"),
        ("check: bet 50", "write ACTION = HANDS", "       ^^^^^^"),
        ("check, check: check=10%", "nobody acts here", "            ^"),
    ],
)
def test_mistakes_in_locks_are_pointed_at(text, words, carets):
    with pytest.raises(GameError, match=words) as error:
        read_lock(text, betting_of(spot(**QUESTION)))
    assert str(error.value).splitlines()[-2:] == [f"    {text}", f"    {carets}"]


def test_locks_that_are_no_probabilities():
    tree = betting_of(spot(**QUESTION))
    with pytest.raises(GameError, match="a row for each"):
        lock(tree, "check", np.array([1.0]))
    with pytest.raises(GameError, match="add up to 1"):
        lock(tree, "check", np.array([1.0, 1.0, 0.0]))


def test_a_solution_beside_itself_and_beside_another():
    question = spot(**QUESTION)
    answer = solve_spot(question, iterations=50, threads=1)
    same = compare_spots(answer, answer)
    assert same.distance == 0.0 and np.array_equal(same.values[0], same.values[1])
    assert all(row["distance"] == 0 for row in same.classes)
    other = solve_spot(question, iterations=50, locks=[": check = 100%"], threads=1)
    apart = compare_spots(answer, other)
    assert apart.frequencies[1] == pytest.approx([1, 0, 0], abs=1e-9)
    assert apart.distance == pytest.approx(1 - apart.frequencies[0, 0], abs=1e-6)
    assert apart.classes[0]["distance"] == max(row["distance"] for row in apart.classes) > 0
    json.dumps(apart.data(), allow_nan=False)
    with pytest.raises(GameError, match="other boards"):
        compare_spots(answer, solve_spot(spot(**{**QUESTION, "board": "2c 2d 7h 8s Kd"}), iterations=1, threads=1))


def test_what_changes_without_a_size():
    question = spot(**QUESTION, bets="50%, allin", raises="allin")
    fewer = without(question, "all-in")
    assert betting_of(fewer).actions(0) == ("check", "bet 50")
    assert betting_of(question).actions(0) == ("check", "bet 50", "allin 100")
    change = compare_spots(*(solve_spot(each, until=1e-4, threads=1) for each in (question, fewer)))
    assert change.frequencies[1, change.actions.index("allin 100")] == 0.0
    assert change.frequencies.sum(axis=1) == pytest.approx([1, 1])
    with pytest.raises(GameError, match="no size 33%; its sizes are 50%, allin"):
        without(question, "33%")
    with pytest.raises(GameError, match="one size"):
        without(question, "33%, 50%")


def test_locks_that_do_not_fit_are_refused(monkeypatch):
    question = spot("Qs Jh 2h", ["AA, KK", "QQ, AJs"], 100, 300)
    tree = betting_of(question)
    alike, apart = (read_lock(text, tree) for text in ("check: check = 100%", "check: check = AcAs"))
    sizes = [estimate_of(question, tree, locks) for locks in ((), (alike,), (apart,))]
    assert sizes[0].sequences == sizes[1].sequences < sizes[2].sequences  # suits are no longer alike
    assert sizes[0].bytes < sizes[1].bytes < sizes[2].bytes
    monkeypatch.setattr("kibitz.poker.spots.estimates.free_memory", lambda: MARGIN + sizes[0].bytes)
    with pytest.raises(GameError, match=r"the spot has .* sequences"):
        solve_spot(question, locks=["check: check = 100%"])
