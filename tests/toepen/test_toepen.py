"""Toepen: rules by hand, properties of random hands, and the values of small games."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kibitz
from examples import examples
from kibitz.core.errors import GameError, SpecError
from kibitz.games import TERMINAL, game
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import (
    NAMES,
    NUMBERS,
    ToepenState,
    in_order,
    maximal_key,
    maximal_names,
    signature,
    takes,
    thesis_key,
)

SMALL = [(2, 2, 2), (2, 3, 2), (3, 2, 2), (3, 3, 2), (3, 3, 3)]


def cards(text):
    return tuple(NUMBERS[name] for name in text.split())


def play(rules, deal, moves):
    """The state after a deal and some choices, which must be there to take."""
    state = rules.after(rules.root(), deal)
    for move in moves.split():
        assert move in rules.actions(state), f"{move} is not in {rules.actions(state)}: {state.done}"
        state = rules.after(state, move)
    return state


# Rules by hand


def test_the_example_of_the_thesis():
    """Example 3.1.1: Alice and Beth. Only choices are given; what is forced follows by itself."""
    rules = Toepen()
    deal = "8d Td Kh Js|Kc 9c 7d Ah"
    moves = "check Js check Kc check Kh bet call"  # Beth's ace of hearts is the only one she may play
    state = play(rules, deal, moves)
    assert state.done == "check Js check Kc check Kh bet call Ah check"  # and she may not bet again
    state = play(rules, deal, moves + " 9c check 8d")
    assert rules.turn(state) == 0 and state.ante == 2  # both have one card left; Beth has checked and played hers
    assert rules.infoset(state) == "Td | check Js check Kc check Kh bet call Ah check 9c check 8d check 7d"
    state = rules.after(state, "bet")
    assert rules.turn(state) == 1 and rules.actions(state) == ("call", "fold")
    assert rules.infoset(state).startswith("- | check Js")
    assert rules.payoff(rules.after(state, "call")) == [3, -3]
    assert rules.payoff(rules.after(state, "fold")) == [2, -2]


@pytest.mark.parametrize(
    ("parameters", "deal", "moves", "payoff"),
    [
        ({}, "9c Tc|9d Td", "bet fold", [1, -1]),
        ({}, "9c Tc|9d Td", "bet call 9c bet fold", [-2, 2]),
        ({}, "9c Tc|9d Td", "bet call 9c bet call 9d bet call bet call", [5, -5]),  # the most: 1 + 2 * 2
        ({}, "9c Tc|9d Td", "check 9c bet call 9d bet fold", [2, -2]),
        ({}, "9c 9d|Tc Td", "check 9c check check check", [-1, 1]),
        ({}, "9c 9d|Tc Td", "check 9c bet fold", [-1, 1]),
        ({"betting": False}, "9c 9d|Tc Td", "9c", [-1, 1]),
        ({"betting": False}, "9c Td|Tc 9d", "9c", [1, -1]),  # Tc takes it, and Td takes 9d
        ({"betting": False}, "9c Td|Tc 9d", "Td", [-1, 1]),  # 9d is forced; then Tc takes 9c
        ({"betting": False, "follow_suit": False}, "9c Td|Tc 9d", "9c Tc", [1, -1]),
        ({"betting": False, "follow_suit": False}, "9c Td|Tc 9d", "9c 9d", [1, -1]),  # kept Tc cannot take Td
        ({"betting": False, "follow_suit": False}, "9c Td|Tc 9d", "Td Tc", [1, -1]),  # Tc takes nothing off suit
    ],
)
def test_payoffs(parameters, deal, moves, payoff):
    rules = Toepen(2, 2, 2, **parameters)
    state = play(rules, deal, moves)
    assert rules.turn(state) == TERMINAL and rules.payoff(state) == payoff


def test_tricks():
    assert takes(NUMBERS["Jc"], NUMBERS["Qc"]) and takes(NUMBERS["9s"], NUMBERS["Ts"])
    assert not takes(NUMBERS["Qc"], NUMBERS["Jc"]) and not takes(NUMBERS["Jc"], NUMBERS["Td"])
    assert NAMES[:8] == ("Jc", "Qc", "Kc", "Ac", "7c", "8c", "9c", "Tc") and NAMES[31] == "Ts"
    assert [NAMES[card] for card in Toepen(2, 3, 2).deck] == ["8c", "9c", "Tc", "8d", "9d", "Td"]


def test_whoever_bet_last_checks():
    rules = Toepen(3, 3, 3)
    state = play(rules, "8c 9c Tc|8d 9d Td", "bet call 8c")
    assert rules.turn(state) == 1 and rules.actions(state) == ("check", "bet")
    state = play(rules, "8c 9c Tc|8d 9d Td", "bet call 8c check 8d")
    assert rules.turn(state) == 0 and rules.actions(state) == ("9c", "Tc")  # the check is made already
    assert rules.infoset(state) == "9c Tc | bet call 8c check 8d check"
    state = play(rules, "8c 9c Tc|8d 9d Td", "bet call 8c bet call 8d")
    assert rules.turn(state) == 0 and rules.actions(state) == ("check", "bet")


def test_following_suit():
    free, strict = Toepen(3, 3, 3, betting=False, follow_suit=False), Toepen(3, 3, 3, betting=False)
    deal = "8c 9c Tc|8d Td 8h"
    assert strict.actions(play(strict, deal, "8c")) == ("8h", "8d", "Td")
    deal = "8c 8d Tc|9c 9d Td"
    assert strict.actions(play(strict, deal, "8d")) == ("9d", "Td")
    assert free.actions(play(free, deal, "8d")) == ("9c", "9d", "Td")
    assert play(strict, deal, "8c").done == "8c 9c"  # forced


def test_order_of_actions():
    rules = Toepen(betting=False)
    state = rules.after(rules.root(), "9c Jd Th Ts|Kc Kd Kh Ks")
    assert rules.actions(state) == ("Jd", "9c", "Th", "Ts")
    # 8 before 8T before 9; within a suit by rank; equal ranks by signature: first the suit dealt 7 9, then 9 T, then 9.
    assert in_order(cards("9c 8d Td 8h"), ()) == cards("8h 8d Td 9c")
    assert in_order(cards("9c Tc 7d 9d 9h"), cards("Tc Qc 7d 8d")) == cards("9d 9h 9c")
    # equal ranks dealt: the suit that was played last comes later, for it has zeros first; then by name.
    assert in_order(cards("9c 9d 9h"), ()) == cards("9c 9d 9h")
    assert in_order(cards("9c 9d 9h"), cards("Kc 9h")) == cards("9d 9c")
    assert in_order(cards("9c 9d 9h"), cards("Kd 9h")) == cards("9c 9d")
    assert signature(cards("9c Tc 7d"), cards("Tc Qc 7d"), 0) == ((6, 7), (8, 2, 0))


def test_keys_by_hand():
    rules = Toepen()
    deal = "8c 9c Td Th|7c 7d 7h 7s"
    state = play(rules, deal, "check Th")  # Example 3.3.1: clubs, diamonds, hearts, spades
    assert rules.turn(state) == 1
    assert thesis_key(state, 0) == "8w 9w Tx | check Ty" and maximal_key(state, 0) == "8w 9w Ty | check Tx"
    assert thesis_key(state, 1) == "7w 7x 7y 7z | check Ty" and maximal_key(state, 1) == "7w 7x 7y 7z | check Tw"
    other = play(rules, "Ad 8d Ah Th|7c 7d 7h 7s", "check Th")
    assert thesis_key(other, 0) == "Aw 8w Ax | check Tx"  # the ranks of Example 3.3.2
    absent = play(rules, "8c 9c Tc Jc|7c 7d 7h 7s", "check Jc check")
    assert maximal_key(absent, 0) == thesis_key(absent, 0) == "8w 9w Tw | check Jw check 7w"
    void = play(rules, "8c 9c Tc Jc|Qd Qh Qs Ks", "check Jc check Qh")
    assert thesis_key(void, 0) == "8w 9w Tw | check Jw check Qy"
    assert maximal_key(void, 0) == "8w 9w Tw | check Jw check Qx"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("toepen(suits=5)", "1 to 4 suits, not suits=5"),
        ("toepen(suits=0)", "1 to 4 suits, not suits=0"),
        ("toepen(ranks=9)", "1 to 8 ranks, .* not ranks=9"),
        ("toepen(ranks=0)", "1 to 8 ranks, .* not ranks=0"),
        ("toepen(hand=0)", "1 card or more, not hand=0"),
        ("toepen(suits=2, ranks=2, hand=3)", r"toepen\(hand=3\) needs 6 cards, but suits=2 and ranks=2 make 4"),
        ("toepen(betting=1)", "should be true or false"),
        ("toepen(cards=4)", "unknown parameter of toepen: 'cards'"),
    ],
)
def test_parameters_that_make_no_sense(text, words):
    with pytest.raises(SpecError, match=words):
        game(text)


def test_too_many_deals_to_list():
    rules = game("toepen")
    assert rules.deals == 736_281_000
    with pytest.raises(GameError, match="736,281,000 deals, too many to list"):
        rules.chance(rules.root())
    with pytest.raises(GameError, match="too many to list"):
        kibitz.solve(rules, "cfr+", iterations=1)


# Deals up to suit isomorphism


@pytest.mark.parametrize("size", SMALL)
def test_one_deal_stands_for_its_class(size):
    plain, symmetric = Toepen(*size), Toepen(*size, symmetric=True)
    classes = Counter()
    for deal, _ in plain.chance(plain.root()):
        hands = [cards(part) for part in deal.split("|")]
        classes[min(tuple(tuple(sorted(8 * to[c // 8] + c % 8 for c in hand)) for hand in hands)
                    for to in permutations(range(size[0])))] += 1  # fmt: skip
    found = dict(symmetric.chance(symmetric.root()))
    assert len(found) == len(classes) and (size != (3, 3, 3) or len(found) == 300)
    assert sum(found.values()) == pytest.approx(1, abs=1e-12)
    assert sorted(found.values()) == pytest.approx(sorted(n / plain.deals for n in classes.values()))
    rng = random.Random(1)
    assert {symmetric.sample(symmetric.root(), rng) for _ in range(50)} <= set(found)
    assert {plain.sample(plain.root(), rng) for _ in range(50)} <= {deal for deal, _ in plain.chance(plain.root())}


def test_chance_picks_among_tied_suits():
    """Seat 0 holds two nines of suits that it cannot tell apart; seat 1 can."""
    rules = Toepen(2, 3, 2, betting=False, symmetric=True)
    state = rules.after(rules.root(), "9c 9d|8c Td")  # no choice for seat 0: one kind of card
    assert rules.turn(state) == -1 and state.due == "suit"
    assert dict(rules.chance(state)) == {"9c": 0.5, "9d": 0.5}
    assert rules.payoff(rules.after(state, "9c")) == [-1, 1]  # 8c is forced, and Td takes 9d
    assert rules.payoff(rules.after(state, "9d")) == [1, -1]  # Td takes it, and 9c takes 8c
    state = rules.after(rules.root(), "9c 9d|Tc Td")  # tied for both: one is as good as the other
    assert rules.turn(state) == 1 or rules.turn(state) == TERMINAL
    rules = Toepen(3, 3, 3, betting=False, symmetric=True)
    state = rules.after(rules.root(), "9c 9d Th|8c Td 8h")
    assert rules.actions(state) == ("9w", "Ty")
    assert dict(rules.chance(rules.after(state, "9w"))) == {"9c": 0.5, "9d": 0.5}


# Random hands


@st.composite
def hands(draw, **fixed):
    """(rules, states of a random hand from the deal to its end)."""
    suits, ranks = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    if suits * ranks < 2:
        ranks = 2
    size = draw(st.integers(1, min(6, suits * ranks // 2)))
    flags = {name: fixed.get(name, draw(st.booleans())) for name in ("betting", "follow_suit", "symmetric")}
    rules = Toepen(suits, ranks, size, **flags)
    rng = random.Random(draw(st.integers(0, 2**32)))
    state, met = rules.root(), []
    while True:
        met.append(state)
        if state.turn == TERMINAL:
            return rules, met
        at_seat = state.turn >= 0
        state = rules.after(state, rng.choice(rules.actions(state)) if at_seat else rules.sample(state, rng))


random_hands = settings(max_examples=examples(150), deadline=None, database=None)


@random_hands
@given(hands())
def test_points_are_conserved(hand):
    rules, states = hand
    end = states[-1]
    words = end.done.split()
    payoff = rules.payoff(end)
    assert sum(payoff) == 0 and abs(payoff[0]) == 1 + words.count("call") <= 1 + 2 * rules.hand
    assert words.count("bet") == words.count("call") + words.count("fold") <= (2 * rules.hand if rules.betting else 0)
    if words[-1] == "fold":
        assert payoff[end.bettor] > 0
    else:
        assert sorted(end.plays) == sorted(end.dealt[0] + end.dealt[1]) and end.held == ((), ())
    for state in states[1:]:
        for seat in range(2):
            assert set(state.held[seat]) == set(state.dealt[seat]) - set(state.plays)
            assert len(state.held[seat]) >= rules.hand - (len(state.plays) + 1) // 2


@random_hands
@given(hands())
def test_every_decision_is_one(hand):
    rules, states = hand
    for state in states:
        if state.turn >= 0:
            assert len(set(rules.actions(state))) == len(rules.actions(state)) >= 2


@random_hands
@given(hands(), st.randoms(use_true_random=False))
def test_what_a_seat_knows_does_not_depend_on_hidden_cards(hand, rng):
    rules, states = hand
    for state in states:
        seat = state.turn
        if seat < 0:
            continue
        other = 1 - seat
        unseen = [card for card in rules.deck if card not in state.dealt[seat] and card not in state.plays]
        held = tuple(sorted(rng.sample(unseen, len(state.held[other]))))
        shown = tuple(card for card in state.dealt[other] if card not in state.held[other])
        dealt = tuple(sorted((*held, *shown)))
        fake = state._replace(
            held=(state.held[0], held) if seat == 0 else (held, state.held[1]),
            dealt=(state.dealt[0], dealt) if seat == 0 else (dealt, state.dealt[1]),
        )
        assert rules.infoset(fake) == rules.infoset(state) and rules.actions(fake) == rules.actions(state)
        assert maximal_key(fake, seat) == maximal_key(state, seat) and thesis_key(fake, seat) == thesis_key(state, seat)


def renamed(state: ToepenState, to) -> ToepenState:
    """The same hand with suits permuted."""

    def card(c):
        return 8 * to[c // 8] + c % 8

    words = [NAMES[card(NUMBERS[w])] if w in NUMBERS else w for w in state.done.split()]
    return state._replace(
        dealt=tuple(tuple(sorted(map(card, hand))) for hand in state.dealt),
        held=tuple(tuple(sorted(map(card, hand))) for hand in state.held),
        done=" ".join(words),
        plays=tuple(map(card, state.plays)),
    )


@random_hands
@given(hands(symmetric=False), st.permutations(range(4)))
def test_the_maximal_key_does_not_see_the_names_of_suits(hand, to):
    rules, states = hand
    for state in states[1:]:
        other = renamed(state, to)
        for seat in range(2):
            assert maximal_key(state, seat) == maximal_key(other, seat)
            known = [sorted(signature(s.dealt[seat], s.plays, suit) for suit in range(4)) for s in (state, other)]
            assert known[0] == known[1]
        if state.turn >= 0 and state.due == "card":  # and the same kind of card stands at every place
            kinds = []
            for s in (state, other):
                dealt = s.dealt[s.turn]
                legal = [NUMBERS[name] for name in rules.actions(s)]
                kinds.append([(c % 8, signature(dealt, s.plays, c // 8)) for c in legal])
            assert kinds[0] == kinds[1]


@random_hands
@given(hands(symmetric=False))
def test_an_infoset_tells_all_that_is_public_and_the_own_hand(hand):
    rules, states = hand
    for state in states:
        if state.turn >= 0:
            read, seat = rules.read(state.turn, rules.infoset(state)), state.turn
            assert read._replace(dealt=(), held=()) == state._replace(dealt=(), held=())
            assert read.dealt[seat] == state.dealt[seat] and read.held[seat] == state.held[seat]
            assert read.dealt[1 - seat] == read.held[1 - seat] == ()
            assert rules.actions(read) == rules.actions(state) and rules.infoset(read) == rules.infoset(state)


@random_hands
@given(hands(symmetric=False))
def test_names_of_suits_stay_once_they_are_told_apart(hand):
    """The maximal key is the thesis' key with ties left open until play tells: names never change afterwards."""
    _, states = hand
    for before, after in pairwise(states[1:]):
        for seat in range(2):
            signatures = [signature(before.dealt[seat], before.plays, suit) for suit in range(4)]
            for suit in range(4):
                if signatures.count(signatures[suit]) == 1:
                    names = [maximal_names(s.dealt[seat], s.plays)[8 * suit] for s in (before, after)]
                    assert names[0] == names[1]


def test_read_refuses_symmetric_games():
    with pytest.raises(GameError, match="cannot be read from them"):
        Toepen(2, 2, 2, symmetric=True).read(0, "9w Tw |")


# Values


def values(size, **flags):
    """The value of a game and of its symmetric twin, by linear programming, each with its gap."""
    for symmetric in (False, True):
        rules = Toepen(*size, **flags, symmetric=symmetric)
        profile = kibitz.solve(rules, "lp")
        yield kibitz.value(rules, profile)[0], kibitz.nash_conv(rules, profile)


@pytest.mark.parametrize(
    ("size", "exact"),
    [
        ((2, 2, 2), Fraction(2, 3)),
        ((2, 3, 2), Fraction(17, 45)),
        ((3, 2, 2), Fraction(13, 30)),
        ((3, 3, 2), Fraction(95, 252)),
        ((3, 3, 3), Fraction(33, 140)),
    ],
)
@pytest.mark.some(3)
def test_exact_values_without_betting(size, exact):
    for found, gap in values(size, betting=False):
        assert gap < 1e-9 and found == pytest.approx(float(exact), abs=1e-9)
        assert Fraction(float(found)).limit_denominator(2000) == exact


BETTING = [(2, 2, 2), (2, 3, 2), (3, 2, 2), pytest.param((3, 3, 2), marks=pytest.mark.slow)]


@pytest.mark.parametrize("follow_suit", [True, False])
@pytest.mark.parametrize("size", BETTING)
@pytest.mark.some(2)
def test_names_of_suits_do_not_change_the_value(size, follow_suit):
    (plain, gap), (symmetric, other_gap) = values(size, follow_suit=follow_suit)
    assert max(gap, other_gap) < 1e-9 and plain == pytest.approx(symmetric, abs=1e-9)
    if size == (2, 2, 2):
        assert plain == pytest.approx(2 / 3, abs=1e-9)


@pytest.mark.parametrize("size", [(2, 2, 2), (2, 3, 2), pytest.param((3, 2, 2), marks=pytest.mark.slow)])
def test_cfr_agrees(size):
    rules = Toepen(*size, symmetric=True)
    profile = kibitz.solve(rules, "cfr+", until=1e-6)
    exact = next(iter(values(size)))[0]
    assert kibitz.value(rules, profile)[0] == pytest.approx(exact, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("follow_suit", "low", "high"), [(True, 0.308269, 0.308663), (False, 0.22304, 0.22520)])
def test_the_value_with_three_cards_and_betting(follow_suit, low, high, monkeypatch):
    monkeypatch.setenv("KIBITZ_MOST_HISTORIES", "3000000")  # however slow the machine is today
    rules = Toepen(3, 3, 3, follow_suit=follow_suit, symmetric=True)
    profile = kibitz.solve(rules, "dcfr", until=2e-4)
    assert low - 1e-4 <= kibitz.value(rules, profile)[0] <= high + 1e-4


def test_recall_is_perfect_in_the_game_and_in_its_quotient():
    for flags in ({}, {"follow_suit": False}, {"symmetric": True}, {"symmetric": True, "betting": False}):
        assert not naive.forgets(Toepen(3, 2, 2, **flags))
