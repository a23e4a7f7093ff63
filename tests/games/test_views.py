"""What seats of the built-in games are shown: a function of what they know, in words that a table can tell."""

from __future__ import annotations

import pytest

import kibitz
from kibitz.games import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.play.renderer import WIDTH, renderer_of

GAMES = [
    "kuhn",
    "kuhn(players=3)",
    "leduc(ranks=2, cap=1)",
    "leduc(players=3, ranks=2, suits=2, cap=1)",
    "leduc(suit_isomorphism=true, cap=1)",
    "liars_dice(dice_sides=3)",
    "liars_dice(numdice=2, dice_sides=2)",
    "goofspiel(num_cards=3)",
    "goofspiel(num_cards=3, imp_info=true)",
    "goofspiel(num_cards=3, players=3, points_order=descending, imp_info=true)",
    "matrix(cells=[[[3, 3], [0, 5]], [[5, 0], [1, 1]]], names=[silent, betray])",
    "poker(file=kuhn)",
    "poker(file=leduc)",
    "toepen(suits=2, ranks=2, hand=2)",
]


def states(rules, state=None, past=()):
    """(state, history as (turn, action)) of the whole tree."""
    state = rules.root() if state is None else state
    yield state, past
    turn = rules.turn(state)
    if turn != TERMINAL:
        moves = [outcome for outcome, _ in rules.chance(state)] if turn == CHANCE else rules.actions(state)
        for move in moves:
            yield from states(rules, rules.after(state, move), (*past, (turn, move)))


@pytest.mark.parametrize("spec", GAMES)
def test_a_view_is_a_function_of_the_infoset(spec):
    rules, seen = kibitz.game(spec), {}
    for state, _ in states(rules):
        for seat in range(rules.players):
            view = view_of(rules, state, seat)  # of all states, not only of one's own
            words = (*view.private, *view.public)
            assert all(isinstance(word, str) and word.isprintable() and word for word in words)
            if rules.turn(state) == seat:
                assert seen.setdefault((seat, rules.infoset(state)), view) == view
    views = set(seen.values())
    assert len(views) == len(seen)  # and infosets are told apart


@pytest.mark.parametrize("spec", [spec for spec in GAMES if spec.startswith(("kuhn", "leduc", "liars", "poker"))])
def test_others_cards_are_unseen_until_they_are_shown(spec):
    """A seat's view is the same whatever the others were dealt, at every history without a showdown."""
    rules, seen, shown = kibitz.game(spec), {}, 0
    dice = getattr(rules, "numdice", 1)
    for state, past in states(rules):
        for seat in range(rules.players):
            private, public = rules.view(state, seat)
            if any("shows" in word for word in public):
                shown += 1
                assert rules.turn(state) == TERMINAL and sum("shows" in word for word in public) > 1
                continue
            hidden = [at for at in range(rules.players * dice) if at // dice != seat]
            known = tuple((turn, "?" if at in hidden else move) for at, (turn, move) in enumerate(past))
            assert seen.setdefault((seat, known), (private, public)) == (private, public)
    assert shown > 0


@pytest.mark.parametrize("spec", [spec for spec in GAMES if spec.startswith("goof")])
def test_sealed_bids_stay_sealed(spec):
    rules = kibitz.game(spec)
    for state, _ in states(rules):
        sealed = state.sealed
        for seat in range(rules.players):
            private, public = rules.view(state, seat)
            assert rules.view(state._replace(sealed=sealed[:seat]), seat)[1] == public
            if seat < len(sealed):
                assert private[-1] == f"(bid {sealed[seat]})"
            assert not (rules.imp_info and any(word.startswith("bids") for word in public))


def test_words_of_views():
    def after(spec, *moves):
        rules = kibitz.game(spec)
        state = rules.root()
        for move in moves:
            state = rules.after(state, move)
        return [rules.view(state, seat) for seat in range(rules.players)]

    assert after("leduc", "Ks", "Js", "raise", "call", "Qh", "call") == [
        (("Ks",), ("raise", "call", "Qh", "call")),
        (("Js",), ("raise", "call", "Qh", "call")),
    ]
    assert after("leduc", "Ks", "Js", "raise", "fold")[0] == (("Ks",), ("raise", "fold"))
    assert after("kuhn", "K", "J", "bet", "bet")[1] == (("J",), ("bet", "bet", "seat 0 shows K", "seat 1 shows J"))
    assert after("liars_dice(numdice=2)", 5, 1, 2, 2, "1-2", "liar")[0] == (
        ("1", "5"), ("1-2", "liar", "seat 0 shows 1 5", "seat 1 shows 2 2"),
    )  # fmt: skip
    assert after("goofspiel", 4, 2, 3, 1, 1) == [
        (("3", "4", "(bid 1)"), ("prize 4", "bids 2-3", "prize 1")),
        (("1", "2", "4"), ("prize 4", "bids 2-3", "prize 1")),
    ]
    holdem = after("poker(file=holdem.nolimit.2p)", "AhKd", "9c9d", "r300", "call", "Ts5s2c", "call", "r900", "fold")
    assert holdem[0] == (("Ah", "Kd"), ("r300", "call", "Ts5s2c", "call", "r900", "fold"))
    assert after("rhode_island", "Ah", "Kd", "call", "call", "2c")[1] == (("Kd",), ("call", "call", "2c"))


@pytest.mark.parametrize("spec", [*GAMES, "poker(file=holdem.nolimit.2p)", "leduc(players=3)", "goofspiel", "toepen"])
def test_help_fits_and_says_something(spec):
    rules = kibitz.game(spec)
    view = view_of(rules, rules.root(), 0)
    lines = renderer_of(rules).help(view).splitlines()
    assert 3 <= len(lines) <= 14 and all(len(line) <= WIDTH for line in lines)


@pytest.mark.parametrize(
    "spec", ["toepen(suits=2, ranks=3, hand=2)", "toepen(suits=2, ranks=2, hand=2, symmetric=true)"]
)
def test_outcomes_are_known_without_a_list_of_them(spec):
    rules = kibitz.game(spec)
    listed = {outcome for outcome, _ in rules.chance(rules.root())}
    hands = {part for deal in listed for part in deal.split("|")}
    for one in hands:
        for two in hands:
            assert rules.is_outcome(rules.root(), f"{one}|{two}") == (f"{one}|{two}" in listed)
    for wrong in ("", "|", "8c 9c", "8c 9c|8c 9d|9d Td", "8c 8c|9d 9d", "Jx 9c|8d 9d"):
        assert not rules.is_outcome(rules.root(), wrong)


def test_cards_that_can_come():
    rules = kibitz.game("poker(file=holdem.limit.2p)")
    state = rules.after(rules.root(), "AhKd")
    assert rules.is_outcome(state, "AsKs") and rules.is_outcome(state, "Kc2d")
    for wrong in ("AhKs", "KsAs", "As", "AsKsQs", "AsAs", "xx2d", ""):
        assert not rules.is_outcome(state, wrong)


def test_who_won_a_prize_is_public_and_a_tie_is_said_to_be_one() -> None:
    game = kibitz.game("goofspiel(num_cards=3, points_order=descending, imp_info=true)")
    state = game.root()
    for bid in ("2", "2", "3", "1"):  # a tie, then seat 0 wins
        state = game.after(state, next(action for action in game.actions(state) if str(action) == bid))
    assert view_of(game, state, 1).public[:4] == ("prize 3", "a tie", "prize 2", "seat 0 wins it")
