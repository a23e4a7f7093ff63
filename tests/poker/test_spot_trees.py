"""Betting trees of spots: sizes, thresholds, what ends pay."""

from __future__ import annotations

import numpy as np
import pytest

from kibitz.cards import parse
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules.betting import betting_tree
from kibitz.poker.spots.sizes import SizeList, geometric, sizes_of, text_of_sizes
from kibitz.poker.spots.spot import Spot, betting_of, definition_of


def spot_of(board="Td 9d 6h Qc", bets="60%, allin", raises="60%, allin", pot=200.0, stack=900.0, **options):
    sizes = SizeList(sizes_of(bets), sizes_of(raises, True))
    return Spot(tuple(parse(board).tolist()), np.ones((2, 1326)), pot, (stack, stack), ((sizes, sizes),) * 3, **options)


def at(tree, *actions):
    """The node after actions; cards come by themselves."""
    node = 0
    for action in actions:
        node = tree.children(node)[tree.actions(node).index(action)]
        while tree.betting.turn[node] == CHANCE:
            (node,) = tree.children(node)
    return node


@pytest.mark.parametrize("board", ["Td 9d 6h", "Td 9d 6h Qc", "Td 9d 6h Qc 2c"])
@pytest.mark.parametrize("bets", ["60%, allin", "50%, 100%", "allin"])
def test_the_tree_is_that_of_the_rules_with_the_same_sizes(board, bets):
    """The rules of poker with an action abstraction are another way to the same tree; chips there are not halved."""
    spot = spot_of(board, bets, bets, 200.0, 900.0)
    tree = betting_of(spot)
    whole = definition_of(spot)
    shares = tuple(np.inf if size.kind == "allin" else size.number for size in spot.sizes[0][0].bets)
    rules = type(whole)(**{**vars(whole), "bets": shares, "stacks": (1000, 1000), "blinds": (100, 100)})
    # A round begins with a bet of one chip at least here, of the blind there: no size above is smaller.
    other = betting_tree(rules)
    assert (other.turn[0], other.round[0]) == (CHANCE, 0)  # cards of the board come before the first round there
    assert np.array_equal(tree.betting.turn, other.turn[1:])
    assert np.array_equal(tree.betting.round, other.round[1:])
    assert np.array_equal(tree.betting.folded, other.folded[1:])
    assert np.allclose(tree.betting.paid * tree.unit, other.paid[1:])


def test_actions_are_named_by_what_is_in_on_the_street():
    tree = betting_of(spot_of(bets="33%, 75%", raises="2.5x, allin"))
    assert tree.actions(0) == ("check", "bet 66", "bet 150")
    assert tree.actions(at(tree, "bet 66")) == ("fold", "call", "raise 165", "allin 900")
    assert tree.actions(at(tree, "bet 66", "call")) == ("check", "bet 110", "bet 249")
    assert np.allclose(tree.paid(at(tree, "bet 66", "call")), 166)


def test_geometric_sizes_put_all_in_on_the_last_street():
    assert geometric(4.0, 2) == pytest.approx(1.0)  # 1 pot, then 3 of 3 pots
    tree = betting_of(spot_of("Td 9d 6h", "e", "none", 100.0, 1300.0))
    node = at(tree)
    for _ in range(3):
        bet = tree.actions(node)[-1]
        node = tree.children(tree.children(node)[-1])[1]
        while tree.betting.turn[node] == CHANCE:
            (node,) = tree.children(node)
    assert bet.startswith("allin") and tree.betting.turn[node] == TERMINAL
    assert np.allclose(tree.paid(node), 1350)
    limited = betting_of(spot_of("Td 9d 6h", "2e50%", "none", 100.0, 1300.0))
    assert limited.actions(0) == ("check", "bet 50")


def test_thresholds():
    assert betting_of(spot_of(bets="75%", stack=300.0)).actions(0) == ("check", "bet 150")
    # 150 are behind after a call, and 500 in the pot: 0.3 of it
    assert betting_of(spot_of(bets="75%", stack=300.0, force_allin=0.3)).actions(0) == ("check", "allin 300")
    assert betting_of(spot_of(bets="75%", stack=300.0, force_allin=0.29)).actions(0) == ("check", "bet 150")
    assert betting_of(spot_of(bets="75%", stack=300.0, add_allin=1.5)).actions(0) == ("check", "bet 150", "allin 300")
    assert betting_of(spot_of(bets="75%", stack=300.0, add_allin=1.4)).actions(0) == ("check", "bet 150")
    assert betting_of(spot_of(bets="60%, 66%, 150%", merge=0.1)).actions(0) == ("check", "bet 132", "bet 300")


def test_raise_caps_and_least_raises():
    tree = betting_of(spot_of(bets="50%", raises="10%", max_raises=(1, 2, 0)))
    assert tree.actions(at(tree, "bet 100")) == ("fold", "call", "raise 200")  # at least as much again
    assert tree.actions(at(tree, "bet 100", "raise 200")) == ("fold", "call")
    assert tree.actions(at(tree, "check", "check")) == ("check",)
    assert betting_of(spot_of(bets="1%", min_bet=20)).actions(0) == ("check", "bet 20")


def test_donk_bets():
    plain = SizeList(sizes_of("50%"), sizes_of("allin", True))
    donk = plain._replace(donks=sizes_of("20%"))
    spot = Spot(tuple(parse("Td 9d 6h").tolist()), np.ones((2, 1326)), 100.0, (900.0, 900.0), ((donk, plain),) * 3)
    tree = betting_of(spot)
    assert tree.actions(0) == ("check", "bet 50")
    assert tree.actions(at(tree, "check", "bet 50", "call")) == ("check", "bet 40")  # into the player who bet
    assert tree.actions(at(tree, "check", "check")) == ("check", "bet 50")
    assert tree.actions(at(tree, "bet 50", "call")) == ("check", "bet 100")


def test_what_ends_pay():
    spot = spot_of(bets="50%", raises="none", rake=0.05, rake_cap=12.0)
    tree = betting_of(spot)
    fold = tree.children(at(tree, "bet 100"))[0]
    assert np.allclose(tree.pays[fold, 0], 100 - 10) and np.allclose(tree.pays[fold, 1], -100)
    shown = at(tree, "bet 100", "call", "check", "check")
    assert np.allclose(tree.pays[shown], [[200 - 12, -6, -200]] * 2)
    inside = tree.betting.turn != TERMINAL
    assert not tree.pays[inside].any() and tree.pays[~inside].any(axis=(1, 2)).all()
    free = betting_of(spot_of(bets="50%", raises="none"))
    assert np.allclose(free.pays[:, 0], -free.pays[:, 1, ::-1])


@pytest.mark.parametrize(
    ("text", "raises", "words", "carets"),
    [
        ("33%, 75", False, "has no unit", "     ^^"),
        ("33%, 7y5%", False, "not a bet size", "      ^^^"),
        ("33%,, 75%", False, "no size between two commas", "    ^"),
        ("2x", False, "list of bets", "^^"),
        ("1x", True, "no raise", "^^"),
        ("0%", False, "no bet", "^^"),
        ("4e", False, "not a bet size", " ^"),
    ],
)
def test_a_wrong_size_is_pointed_at(text, raises, words, carets):
    with pytest.raises(GameError, match=words) as error:
        sizes_of(text, raises)
    assert str(error.value).splitlines()[1:] == [f"    {text}", f"    {carets}"]


def test_sizes_are_written_as_they_are_read():
    text = "33%, 2.5x, 40c, e, 2e, 2e150%, allin"
    assert text_of_sizes(sizes_of(text, True)) == text
    assert text_of_sizes(sizes_of("A, All-in , 33.0 %")) == "allin, 33%"
    assert sizes_of("none") == sizes_of(" ") == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"board": "Td 9d"}, "three, four or five"),
        ({"board": "Td 9d Td"}, "twice"),
        ({"pot": 0.0}, "above 0"),
        ({"pot": 10.5}, "smaller chip"),
        ({"rake": 1.5}, "rake"),
        ({"force_allin": -1.0}, "force_allin"),
        ({"pot": 1e12}, "larger chip"),
    ],
)
def test_spots_that_cannot_be(options, words):
    with pytest.raises(GameError, match=words):
        spot_of(**options)


def test_half_chips():
    tree = betting_of(spot_of(pot=5.5, stack=97.5, chip=0.5, bets="33%", raises="3x"))
    assert tree.actions(0) == ("check", "bet 2")
    assert tree.actions(at(tree, "bet 2")) == ("fold", "call", "raise 6")
    assert np.allclose(tree.paid(0), 2.75)


def test_a_tree_that_is_too_large_is_refused():
    with pytest.raises(GameError, match="fewer sizes"):
        betting_of(spot_of("Td 9d 6h", "10%, 20%, 30%, 40%, 50%", "10%, 20%, 30%", 10.0, 100_000.0))
