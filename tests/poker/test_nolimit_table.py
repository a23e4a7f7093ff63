"""Compiled no-limit betting against the readable rules and PokerKit: every chip amount, two to ten seats, side pots."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from no_limit import no_limit

from examples import examples
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.nolimit.kernels import betting as compiled
from kibitz.poker.nolimit.table import NoLimitMachine, table_of
from kibitz.poker.rules import acpc, betting
from kibitz.poker.rules.kernels.machine import PokerState
from kibitz.poker.rules.rules import Poker, PokerHistory

HOLDEM = acpc.read("holdem.nolimit.2p")


def number_of(action: str) -> int:
    return {"fold": compiled.FOLD, "call": compiled.CALL}.get(action) or (int(action[1:]) if action[0] == "r" else 0)


def packed(rules: Poker, state: PokerHistory) -> PokerState:
    """The cards of a hand; what did not come on the board is filled up."""
    gone = {card for cards in (*state.hole, *state.board) for card in cards}
    spare = (card for card in rules.definition.deck if card not in gone)
    board = [card for cards in state.board for card in cards]
    board += [next(spare) for _ in range(sum(rules.definition.board) - len(board))]
    words = [0] * 6
    for k, card in enumerate([*board, *(card for cards in state.hole for card in cards)]):
        words[k // 10] |= card << (6 * (k % 10))
    return PokerState(*(np.uint64(word) for word in (0, *words, 0)))


class Both(Poker):
    """The readable rules; after each action the compiled ones must have come to the same."""

    def after(self, state: PokerHistory, action: Any) -> PokerHistory:
        new = super().after(state, action)
        if state.turn >= 0:
            self.compare(new)
        return new

    def compiled_bets(self, state: PokerHistory) -> Any:
        actions = [number_of(word) for said in state.done.split("/") for word in betting.words(said)]
        bets = np.zeros(compiled.BETS, np.int64)
        compiled.play_actions(table_of(self.definition), bets, np.array(actions, np.int64))
        return bets

    def compare(self, state: PokerHistory) -> None:
        known, found = state.bets, self.compiled_bets(state).tolist()
        while known.turn == CHANCE:
            known = betting.deal(self.definition, known)
        assert found[0] == known.turn and found[6 : 6 + self.players] == list(known.paid)
        assert [bool(found[5] >> seat & 1) for seat in range(self.players)] == list(known.folded)
        if known.turn != TERMINAL:
            assert found[1:5] == [known.round, known.raises, known.waiting, known.least]
            self.compare_actions(known, np.array(found))

    def compare_actions(self, known: betting.Bets, bets: Any) -> None:
        low, high = betting.raises(self.definition, known)
        raises = list(betting.totals(self.definition, known))
        may = [compiled.FOLD] * (known.paid[known.turn] < max(known.paid)) + [compiled.CALL]
        out = np.zeros(len(may) + len(raises), np.int64)
        assert compiled.list_actions(table_of(self.definition), bets, out) == len(out)
        assert out.tolist() == [*may, *raises] and (not high or self.definition.bets or raises[0] == low)

    def payoff(self, state: PokerHistory) -> list[float]:
        known = super().payoff(state)
        won = np.zeros(2 * self.players)
        compiled.settle_cards(table_of(self.definition), packed(self, state), self.compiled_bets(state), won)
        assert won[: self.players] == pytest.approx(known, abs=1e-9), state
        assert won[: self.players].sum() == pytest.approx(0.0, abs=1e-9)
        return known


def random_hand(rules: Both, dice: random.Random) -> PokerHistory:
    state = rules.root()
    if rules.turn(state) == CHANCE:
        begun = state
        for _ in range(rules.players):
            begun = rules.after(begun, rules.sample(begun, dice))
        rules.compare(begun)
        state = begun
    while (turn := rules.turn(state)) != TERMINAL:
        if turn == CHANCE:
            state = rules.after(state, rules.sample(state, dice))
            continue
        high = betting.raises(rules.definition, state.bets)[1]
        may_fold = state.bets.paid[turn] < max(state.bets.paid)
        action = "call"
        if may_fold and dice.random() < 0.15:
            action = "fold"
        elif high and dice.random() < 0.5:
            every = betting.totals(rules.definition, state.bets)
            near = every[: 1 + len(every) // 8]
            action = f"r{dice.choice([every[0], every[-1], dice.choice(every), dice.choice(near)])}"
        state = rules.after(state, action)
    rules.payoff(state)
    return state


@st.composite
def tables(draw: Any) -> Both:
    players = draw(st.integers(2, 10))
    stacks = tuple(draw(st.lists(st.integers(1, 150), min_size=players, max_size=players)))
    blinds = tuple(min(draw(st.integers(0, 5)), stack) for stack in stacks)
    board = draw(st.sampled_from([(0,), (0, 1), (1, 1), (0, 0, 1)]))
    first, raises = draw(st.integers(0, players - 1)), draw(st.sampled_from((0, 1, 3, 255)))
    sizes = draw(st.sampled_from([(), (), (0.5,), (0.25, 1.0, 3.0), (0.5, 1.0, math.inf)]))
    return Both(replace(no_limit(stacks, blinds, board, first, raises), bets=sizes))


@settings(max_examples=examples(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.integers(0, 1 << 30))
def test_compiled_betting_is_that_of_the_readable_rules(rules: Both, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(10):
        random_hand(rules, dice)


def test_side_pots_of_three_to_ten_seats_are_split_alike() -> None:
    dice, several = random.Random(5), 0
    for players in range(3, 11):
        stacks = tuple(dice.randint(100, 3000) for _ in range(players))
        blinds = (50, 100, *[0] * (players - 2))
        known = replace(HOLDEM, players=players, blinds=blinds, first_player=(2, 0, 0, 0), stacks=stacks)
        for _ in range(40):
            end = random_hand(Both(known), dice)
            live = [paid for paid, gone in zip(end.bets.paid, end.bets.folded, strict=True) if not gone]
            several += len(live) > 2 and len(set(live)) > 2
    assert several > 40


def test_hands_are_those_of_pokerkit() -> None:
    """Three implementations in step: PokerKit, the readable rules, and after each action the compiled ones."""
    pytest.importorskip("pokerkit")
    from test_pokerkit import TABLES, play

    happened: dict[str, int] = {}
    for name, definition in TABLES.items():
        if definition.limit:
            continue
        dice = random.Random(name)
        for _ in range(40):
            for what in play(Both(definition), dice):
                happened[what] = happened.get(what, 0) + 1
    assert happened["showdown"] > 40 and happened["side pot"] > 5 and happened["short"] > 5


@pytest.mark.slow
def test_two_thousand_hands_are_those_of_pokerkit() -> None:
    pytest.importorskip("pokerkit")
    from test_pokerkit import TABLES, play

    tables = {name: each for name, each in TABLES.items() if not each.limit}
    for number in range(3, 11):
        dice = random.Random(number)
        stacks = tuple(dice.randint(100, 3000) for _ in range(number))
        tables[f"{number} seats"] = replace(
            HOLDEM, players=number, blinds=(50, 100, *[0] * (number - 2)), first_player=(2, 0, 0, 0), stacks=stacks
        )
    for name, definition in tables.items():
        dice = random.Random(name)
        for _ in range(-(-2_000 // len(tables))):
            play(Both(definition), dice)


def test_a_table_is_played_on_and_not_trained_on() -> None:
    machine = NoLimitMachine(Poker(HOLDEM))
    with pytest.raises(GameError, match="name an action abstraction"):
        machine.train()
    with pytest.raises(GameError, match="name an action abstraction"):
        machine.keys_of(machine.view(), 0, ["AhAd:"], [2])
    with pytest.raises(GameError, match="has a limit"):
        table_of(acpc.read("leduc"))


@pytest.mark.parametrize("number", range(5))
def test_python_deals_the_cards_that_compiled_matches_deal(number: int) -> None:
    """Hands that are played in Python and compiled ones have the same cards and draws."""
    import kibitz
    from kibitz.evaluate.match import play
    from kibitz.play.agents import agent
    from kibitz.solvers.machines import playable

    machine = playable("holdem.nolimit.2p")
    agents = [agent("uniform", machine), agent("always-call", machine)]
    known = play(machine.rules, agents, machine.hand(number, 0))
    other = play(machine.rules, agents[::-1], machine.hand(number, 0))
    result = kibitz.match("holdem.nolimit.2p", *agents, deals=1, seed=number)
    assert result.by_seat[0].mean == pytest.approx(known[0]) and result.by_seat[1].mean == pytest.approx(other[1])
