"""Poker against PokerKit, another implementation of the rules: whole hands, move by move.

At each turn: who acts, whether it may fold, what a call costs, the least and the most of a raise; after each move the
pot; in the end what everybody won. Conventions that differ, and what is done about it:

- PokerKit lets a seat fold for nothing in cash games; its tournament mode does not, as in the competition.
- An all-in raise that is smaller than the least raise gives, in PokerKit, no new right to raise to those who had acted,
  and cannot be raised itself by a seat that pays less than the last full raise; in the competition every raise can be
  raised. Raises are compared while there was no such raise in the round.
- Where no other seat could pay any of a raise, though one has still to answer the last bet, PokerKit allows none, and
  the competition does. Such raises are not made here.
- At the end of a round PokerKit gives back at once what nobody called; here it is the last pot, of one seat.
- PokerKit gives odd chips to a seat; here they are split. Its own parameter `divmod` is set to split as well.
- Its decks of Kuhn and Leduc are J to K, s and h; those here are Q to A, c and d.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from kibitz.games import CHANCE, TERMINAL
from kibitz.poker.rules import acpc, betting
from kibitz.poker.rules.rules import Poker, strength

pokerkit = pytest.importorskip("pokerkit")

HOLDEM = acpc.read("holdem.limit.2p")
THREE = acpc.read("holdem.limit.3p")
NO_LIMIT = acpc.read("holdem.nolimit.2p")
TABLES = {
    "kuhn": acpc.read("kuhn"),
    "leduc": acpc.read("leduc"),
    "rhode_island": acpc.read("rhode_island"),
    "rhode_island for four": replace(acpc.read("rhode_island"), players=4, blinds=(5,) * 4),
    "holdem.limit.2p": HOLDEM,
    "holdem.limit.3p": THREE,
    "limit, short stacks": replace(HOLDEM, stacks=(70, 70)),
    "holdem.nolimit.2p": NO_LIMIT,
    "no limit, short stacks": replace(NO_LIMIT, stacks=(700, 1150)),
    "no limit, three": replace(
        NO_LIMIT, players=3, blinds=(50, 100, 0), first_player=(2, 0, 0, 0), stacks=(400, 2000, 1100)
    ),
    "no limit, five": replace(
        NO_LIMIT, players=5, blinds=(50, 100, 0, 0, 0), first_player=(2, 0, 0, 0), stacks=(400, 2000, 1100, 150, 90)
    ),
    "no limit, three raises a round": replace(NO_LIMIT, stacks=(5000, 5000), max_raises=(3, 3, 3, 3)),
}
HANDS = {1: "KuhnPokerHand", 2: "LeducHoldemHand", 3: "RhodeIslandHoldemHand", 7: "StandardHighHand"}
TO_JACKS = str.maketrans("AKQcd", "KQJsh")


def table(definition):
    """PokerKit's state for a definition. An equal blind for everybody is an ante there."""
    least = max(definition.blinds)
    ante = len(set(definition.blinds)) == 1
    streets = tuple(
        pokerkit.Street(
            number > 0,
            (False,) * definition.hole if number == 0 else (),
            cards,
            False,
            pokerkit.Opening.POSITION,
            definition.raise_size[number] if definition.limit else least,
            definition.max_raises[number] if definition.max_raises[number] < 255 else None,
        )
        for number, cards in enumerate(definition.board)
    )
    automatic = pokerkit.Automation
    return pokerkit.State(
        (
            automatic.ANTE_POSTING, automatic.BET_COLLECTION, automatic.BLIND_OR_STRADDLE_POSTING,
            automatic.HOLE_CARDS_SHOWING_OR_MUCKING, automatic.HAND_KILLING, automatic.CHIPS_PUSHING,
            automatic.CHIPS_PULLING,
        ),
        {1: pokerkit.Deck.KUHN_POKER, 2: pokerkit.Deck.LEDUC_HOLDEM}.get(definition.shown, pokerkit.Deck.STANDARD),
        (getattr(pokerkit, HANDS[definition.shown]),),
        streets,
        pokerkit.BettingStructure.FIXED_LIMIT if definition.limit else pokerkit.BettingStructure.NO_LIMIT,
        True,
        least if ante else 0,
        # For two PokerKit swaps the blinds itself: the button pays the small one.
        0 if ante else definition.blinds if definition.players > 2 else definition.blinds[::-1],
        0,
        definition.stacks or (10_000,) * definition.players,
        definition.players,
        mode=pokerkit.Mode.TOURNAMENT,
        divmod=lambda dividend, divisor: (Fraction(dividend) / divisor, 0),
    )  # fmt: skip


def choose(rng, may_fold, low, high, limit):
    """Fold seldom, and without limit raise by little or by all as often as by something between."""
    if may_fold and rng.random() < 0.2:
        return "fold"
    if not high or rng.random() < 0.4:
        return "call"
    if limit:
        return "raise"
    return f"r{rng.choice([low, high, rng.randint(low, high), rng.randint(low, min(high, low + 300))])}"


def play(rules, rng):
    """One hand in both; what happened, for the counts of the test."""
    definition = rules.definition
    state, other = rules.root(), table(definition)
    seen = set()
    short = False
    number = 0
    while rules.turn(state) != TERMINAL:
        if rules.turn(state) == CHANCE:
            cards = rules.sample(state, rng)
            text = cards.translate(TO_JACKS) if definition.shown < 3 else cards
            if len(state.hole) < definition.players:
                other.deal_hole(text)
            else:
                if other.can_burn_card("??"):
                    other.burn_card("??")
                other.deal_board(text)
            state = rules.after(state, cards)
            continue
        bets = state.bets
        if bets.round != number:
            short, number = False, bets.round
        seat = bets.turn
        assert other.actor_index == seat
        low, high = betting.raises(definition, bets)
        if high - low < 2000:  # a list of 20,000 takes its time
            actions = rules.actions(state)
            raises = ["raise"] * (high > 0) if definition.limit else [f"r{total}" for total in range(low, high + 1)]
            assert list(actions) == ["fold"] * other.can_fold() + ["call"] + raises
        after = rules.after(state, "call")
        assert after.bets.paid[seat] - bets.paid[seat] == other.checking_or_calling_amount
        before = bets.paid[seat] - other.bets[seat]  # what the seat paid in earlier rounds: PokerKit counts from there
        if high and not any(
            i != seat and not gone and stack > max(bets.paid)
            for i, (gone, stack) in enumerate(zip(bets.folded, definition.stacks or (10_000,) * 10, strict=False))
        ):
            low, high = 1, 0
            seen.add("futile")
        if not short:
            found = other.min_completion_betting_or_raising_to_amount, other.max_completion_betting_or_raising_to_amount
            assert found == ((low - before, high - before) if high else (None, None)), state
        action = choose(rng, other.can_fold(), low, high, definition.limit)
        if action == "fold":
            other.fold()
        elif action == "call":
            other.check_or_call()
        else:
            total = high if definition.limit else int(action[1:])
            full = max(bets.paid) + definition.raise_size[number] if definition.limit else bets.least
            if total < full:
                short = True
                seen.add("short")
            if not other.can_complete_bet_or_raise_to(total - before):
                assert short
                return {"left"}  # a raise that PokerKit does not allow after a short one: the hand ends here
            other.complete_bet_or_raise_to(total - before)
        state = rules.after(state, action)
        if rules.turn(state) != TERMINAL:
            paid = state.bets.paid
            called = sorted(paid)[-2] if rules.turn(state) == CHANCE else max(paid)
            assert sum(min(chips, called) for chips in paid) == other.total_pot_amount
    assert not other.status
    payoff = rules.payoff(state)
    assert payoff == pytest.approx([float(chips) for chips in other.payoffs], abs=1e-9), state
    if sum(state.bets.folded) < definition.players - 1:
        board = [card for cards in state.board for card in cards]
        live = [seat for seat, gone in enumerate(state.bets.folded) if not gone]
        values = sorted(int(strength([*state.hole[seat], *board])) for seat in live)
        seen |= {"showdown"} | ({"tie"} if values[-1] == values[-2] else set())
        seen |= {"side pot"} if len(live) > 2 and len({state.bets.paid[seat] for seat in live}) > 1 else set()
    return seen


def hands(count, seed):
    happened: dict[str, dict[str, int]] = {}
    for name, definition in TABLES.items():
        rules, rng = Poker(definition), random.Random(seed)
        happened[name] = {}
        for _ in range(count):
            for what in play(rules, rng):
                happened[name][what] = happened[name].get(what, 0) + 1
    return happened


def test_hands_are_those_of_pokerkit():
    happened = hands(60, seed=1)
    for name, counts in happened.items():
        assert counts.get("showdown", 0) > 4, (name, counts)
    assert happened["leduc"]["tie"] > 1 and happened["no limit, five"]["tie"] > 0
    assert happened["no limit, three"]["side pot"] > 1 and happened["no limit, five"]["side pot"] > 1


@pytest.mark.slow
def test_a_hundred_thousand_hands_are_those_of_pokerkit():
    happened = hands(-(-100_000 // len(TABLES)), seed=2)
    assert all(counts["showdown"] > 1000 for counts in happened.values())
    assert happened["no limit, five"]["side pot"] > 1000 and happened["no limit, three"]["side pot"] > 300
    assert sum(counts.get("left", 0) for counts in happened.values()) < 5_000
