"""A strategy of fewer bets at a table of all bets: the mapping, a slow twin by the readable rules, and never an illegal
action, whatever others bet."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from no_limit import AnySize, Stub, fewer, no_limit, small_file

import kibitz
from examples import examples
from kibitz.core.errors import KibitzError
from kibitz.evaluate.match import chosen, play
from kibitz.games import game as make_game
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.tree import tree_of
from kibitz.games.views import View, view_of
from kibitz.play.agents import agent
from kibitz.poker.nolimit.translation import Translated, mapped
from kibitz.poker.rules import acpc
from kibitz.poker.rules.cards import cards_of, text_of
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.machines import playable
from kibitz.solvers.new_blueprints import BlueprintOptions

ALL_IN = math.inf


def test_the_mapping_is_the_pseudo_harmonic_one() -> None:
    dice = random.Random(1)
    for _ in range(200):
        low = dice.uniform(0.05, 3)
        high = low + dice.uniform(0.01, 10)
        sizes = [low / 2, low, high, 2 * high]
        half = (low + high + 2 * low * high) / (low + high + 2)  # where both are as likely [Ganzfried & Sandholm 2013]
        (a, p), (b, q) = mapped(half, sizes)
        assert (a, b) == (1, 2) and p == pytest.approx(0.5) and p + q == pytest.approx(1.0)
        x = dice.uniform(low, high)
        (_, p), (_, q) = mapped(x, sizes)
        assert p == pytest.approx((high - x) * (1 + low) / ((high - low) * (1 + x))) and 0 <= p <= 1
    assert mapped(0.1, [0.5, 1.0]) == [(0, 1.0)] and mapped(7, [0.5, 1.0]) == [(1, 1.0)]
    assert mapped(0.5, [0.5, 1.0]) == [(0, 1.0)] and mapped(1.0, [0.5, 1.0]) == [(1, 1.0)]
    assert mapped(1.0, [0.5, 1.0, 2.0])[1] == (1, 1.0)  # a size that it has is that size
    assert mapped(3.0, [1.0]) == mapped(0.3, [1.0]) == [(0, 1.0)]


# The slow twin


class Twin:
    """How likely a seat's own actions are on a history, summed over everything that it may have drawn on the way.

    By the readable rules of both games, states and all, and pots counted from them.
    """

    def __init__(self, base: Stub, few: Poker, every: Poker, seat: int, cards: list[str]) -> None:
        self.base, self.few, self.all, self.seat, self.cards = base, few, every, seat, cards
        self.split = 0  # bets that were read in two ways

    def begun(self, rules: Poker) -> Any:
        state = rules.root()
        for k in range(rules.players):
            state = rules.after(state, self.cards[k])
        return self.settled(rules, state)

    def settled(self, rules: Poker, state: Any) -> Any:
        while rules.turn(state) == CHANCE:
            state = rules.after(state, self.cards[rules.players + state.bets.round])
        return state

    def likely(self, history: list[str]) -> float:
        return self.rest(self.begun(self.all), self.begun(self.few), history)

    def rest(self, table: Any, mine: Any, history: list[str]) -> float:
        if not history:
            return 1.0
        action = history[0]
        onward = self.settled(self.all, self.all.after(table, action))

        def then(meant: str | None) -> float:
            after = mine if meant is None else self.settled(self.few, self.few.after(mine, meant))
            return self.rest(onward, after, history[1:])

        turn = self.all.turn(table)
        along = mine is not None and self.few.turn(mine) == turn and mine.bets.round == table.bets.round
        if not along:
            behind = mine is None or self.few.turn(mine) < 0 or mine.bets.round <= table.bets.round
            if turn == self.seat and action != "call":
                return 0.0
            return self.rest(onward, None if behind else mine, history[1:])
        offered = self.few.actions(mine)
        if turn == self.seat:
            answer = self.base.answer(turn, self.few.infoset(mine), offered)
            if answer is None:
                return then("call") if action == "call" else 0.0
            found = 0.0
            for meant, p in zip(offered, answer, strict=True):
                made, kept = self.turned(table, mine, meant)
                if made == action and p:
                    found += p * then(kept)
            return found
        if action == "call" or (action == "fold" and "fold" in offered):
            return then(action)
        if action == "fold":
            return self.rest(onward, None, history[1:])
        raises = [each for each in offered if each[0] == "r"]
        if not raises:
            return then("call")
        x, sizes = self.pots(table, action), [self.pots(mine, each) for each in raises]
        if x <= sizes[0] or x >= sizes[-1]:
            return then(raises[0 if x <= sizes[0] else -1])
        k = max(i for i, size in enumerate(sizes) if size < x)
        low, high = sizes[k], sizes[k + 1]
        p = (high - x) * (1 + low) / ((high - low) * (1 + x))
        self.split += 0.01 < p < 0.99
        return p * then(raises[k]) + (1 - p) * then(raises[k + 1])

    def pots(self, state: Any, action: str) -> float:
        paid = state.bets.paid
        owed = max(paid) - paid[state.turn]
        return (int(action[1:]) - max(paid)) / ((sum(paid) + owed) or 1)

    def turned(self, table: Any, mine: Any, meant: str) -> tuple[str, str]:
        offered = self.all.actions(table)
        raises = [int(each[1:]) for each in offered if each[0] == "r"]
        if meant[0] == "r" and raises:
            stack = self.few.definition.stacks[mine.turn]
            paid = table.bets.paid
            pot = (sum(paid) + max(paid) - paid[table.turn]) or 1
            wanted = max(paid) + math.floor(self.pots(mine, meant) * pot + 0.5)
            total = raises[-1] if int(meant[1:]) == stack else min(max(wanted, raises[0]), raises[-1])
            return f"r{total}", meant
        return (meant, meant) if meant in offered and meant[0] != "r" else ("call", "call")


def games(dice: random.Random) -> tuple[Poker, Poker]:
    """A game of all bets and one of fewer, small or with stacks that differ."""
    players = dice.choice((2, 2, 3))
    stacks = tuple(dice.choice((5, 12, 30, 80)) for _ in range(players))
    blinds = (1, 2, 0)[:players] if dice.random() < 0.7 else (1,) * players
    whole = Poker(no_limit(stacks, blinds, dice.choice([(0,), (0, 1), (0, 1, 1)]), raises=dice.choice((2, 4, 255))))
    sizes = tuple(sorted(dice.sample((0.25, 0.5, 1.0, 2.0, ALL_IN), dice.randint(1, 3))))
    return whole, fewer(whole, sizes, dice.choice((0, 1, 2, 3)))


def hand(whole: Poker, agents: list[Any], dice: random.Random) -> tuple[list[str], list[tuple[int, str, float]], Any]:
    """(cards, (seat, action, its probability) of each decision, the end) of a hand."""
    state, cards, done = whole.root(), list[str](), list[tuple[int, str, float]]()
    for seat, each in enumerate(agents):
        each.begin(seat)
    while (turn := whole.turn(state)) != TERMINAL:
        if turn == CHANCE:
            cards.append(str(whole.sample(state, dice)))
            state = whole.after(state, cards[-1])
            continue
        view = view_of(whole, state, turn)
        answer = list(agents[turn].act(view))
        assert len(answer) == len(view.actions) and min(answer) >= 0.0 and sum(answer) == pytest.approx(1.0)
        at = chosen(answer, dice.random())
        done.append((turn, view.actions[at], answer[at]))
        state = whole.after(state, view.actions[at])
    return cards, done, state


def machine(rules: Poker) -> Any:
    """As much of a machine as is asked for: a real one is probed for a tenth of a second."""
    return SimpleNamespace(rules=rules, spec="all bets")


def filled(whole: Poker, cards: list[str]) -> list[str]:
    """Cards of all rounds, those that did not come included; a place for a round that brings none."""
    players = whole.players
    board, found = iter(cards[players:]), cards[:players]
    gone = {card for text in cards for card in cards_of(text)}
    spare = iter([card for card in whole.definition.deck if card not in gone])
    for count in whole.definition.board:
        found.append(next(board, None) or text_of([next(spare) for _ in range(count)]) if count else "")
    return found


def twins(count: int, seed: int) -> tuple[int, int]:
    """(hands, hands in which a bet was read in two ways or nothing was left to ask)."""
    dice, several, fell = random.Random(seed), 0, 0
    for _ in range(count):
        whole, few = games(dice)
        base = Stub(dice.randrange(1 << 30), dice.choice((0.0, 0.2)))
        mine = Translated(base, few, machine(whole))
        seat = dice.randrange(whole.players)
        agents: list[Any] = [mine if k == seat else AnySize(dice.randrange(1 << 30)) for k in range(whole.players)]
        cards, done, _ = hand(whole, agents, dice)
        twin = Twin(base, few, whole, seat, filled(whole, cards))
        product, actions = 1.0, list[str]()
        for turn, action, p in done:
            actions.append(action)
            if turn == seat:
                product *= p
                assert product == pytest.approx(twin.likely(actions), rel=1e-9), (
                    whole.definition,
                    few.definition,
                    done,
                )
        several += twin.split > 0
        fell += mine.unanswered > 0
    return several, fell


def test_it_plays_as_one_who_draws_a_meaning_of_each_bet_and_keeps_to_it() -> None:
    several, fell = twins(800, 1)
    assert several > 60 and fell > 60


@pytest.mark.slow
def test_it_does_so_in_many_more_hands() -> None:
    several, fell = twins(20_000, 2)
    assert several > 2_000 and fell > 2_000


# Never an illegal action


sizes = st.lists(
    st.sampled_from([0.1, 0.25, 0.33, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, ALL_IN]), min_size=1, max_size=5, unique=True
).map(lambda found: tuple(sorted(found)))


@st.composite
def tables(draw: Any) -> tuple[Poker, Poker]:
    players = draw(st.sampled_from((2, 3)))
    stacks = tuple(draw(st.lists(st.integers(2, 120), min_size=players, max_size=players)))
    blinds = tuple(min(draw(st.integers(0, 4)), stack) for stack in stacks)
    board = draw(st.sampled_from([(0,), (0, 1), (1, 1), (0, 0, 1)]))
    whole = Poker(
        no_limit(stacks, blinds, board, draw(st.integers(0, players - 1)), draw(st.sampled_from((0, 1, 3, 255))))
    )
    return whole, fewer(whole, draw(sizes), draw(st.integers(0, 4)))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.integers(0, 1 << 30), st.sampled_from((0.0, 0.3)))
def test_every_answer_is_legal_and_chips_are_conserved(found: tuple[Poker, Poker], seed: int, silent: float) -> None:
    """Against players of any size, and against itself; some 2,400 hands."""
    whole, few = found
    dice = random.Random(seed)
    mine = Translated(Stub(seed, silent), few, machine(whole))
    for number in range(40):
        others = AnySize(number) if number % 4 else mine
        agents: list[Any] = [mine if k == number % whole.players else others for k in range(whole.players)]
        _, done, end = hand(whole, agents, dice)  # rules of plain Python refuse nothing: actions are from the list
        assert sum(whole.payoff(end)) == pytest.approx(0.0)
        assert all(paid <= stack for paid, stack in zip(end.bets.paid, whole.definition.stacks or (), strict=True))
        assert done or not few.betting.actions


def test_pokerkit_finds_every_answer_legal() -> None:
    """Hold'em of the competition, full size, against bets of any size; PokerKit is asked before each action."""
    pytest.importorskip("pokerkit")
    from test_pokerkit import table

    whole = make_game("poker(file=holdem.nolimit.2p, stack=1500)")
    assert isinstance(whole, Poker)
    few = fewer(whole, (0.5, 1.0, ALL_IN), 3)
    mine, dice, asked = Translated(Stub(3, 0.1), few, machine(whole)), random.Random(4), 0
    for number in range(120):
        seat = number % 2
        agents: list[Any] = [AnySize(number), AnySize(number)]
        agents[seat] = mine
        cards, done, _ = hand(whole, agents, dice)
        other, state = table(whole.definition), whole.root()
        board = iter(cards[2:])
        for text in cards[:2]:
            other.deal_hole(text)
            state = whole.after(state, text)
        for turn, action, _ in done:
            while whole.turn(state) == CHANCE:
                text = next(board)
                if other.can_burn_card("??"):
                    other.burn_card("??")
                other.deal_board(text)
                state = whole.after(state, text)
            bets = state.bets
            assert other.actor_index == turn
            before = bets.paid[turn] - other.bets[turn]
            if action == "fold":
                assert other.can_fold()
                other.fold()
            elif action == "call":
                assert other.can_check_or_call()
                other.check_or_call()
            else:
                total = int(action[1:])
                short = (
                    total < bets.least
                )  # an all-in that is no full raise, and what may follow it: conventions differ
                if not other.can_complete_bet_or_raise_to(total - before):
                    assert short or turn != seat
                    break
                other.complete_bet_or_raise_to(total - before)
            asked += turn == seat
            state = whole.after(state, action)
    assert asked > 200


# Where it is the strategy itself


def test_bets_that_the_strategy_knows_are_played_as_it_says() -> None:
    """As long as all keep to its sizes nothing is translated."""
    dice, compared = random.Random(2), 0
    for _ in range(150):
        whole, few = games(dice)
        base = Stub(dice.randrange(1 << 30))
        mine = Translated(base, few, machine(whole))
        state = few.root()
        while (turn := few.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = few.after(state, few.sample(state, dice))
                continue
            offered, view = few.actions(state), view_of(whole, state, turn)
            wanted = base.answer(turn, few.infoset(state), offered)
            assert wanted is not None
            mine.begin(turn)
            told = dict(zip(view.actions, mine.act(view), strict=True))
            assert [told[action] for action in offered] == pytest.approx(wanted)
            compared += 1
            state = few.after(state, offered[chosen(wanted, dice.random())])
    assert compared > 300


# Saved strategies


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """(the game of all bets, a profile of the game of fewer)."""
    folder = tmp_path_factory.mktemp("fewer")
    game = small_file(folder)
    kibitz.solve(f'poker(file="{game}", bets=[0.5, 1, allin])', "cfr+", iterations=100).save(folder / "few.profile")
    return game, str(folder / "few.profile")


def test_a_saved_profile_sits_down_at_a_table_of_all_bets(saved: tuple[str, str]) -> None:
    game, path = saved
    table = playable(game)
    mine = agent(path, table)
    assert isinstance(mine, Translated) and isinstance(agent(kibitz.Profile.load(path), table), Translated)
    result = kibitz.match(table, mine, AnySize(1), deals=60, seed=3)
    assert result.deals == 60 and mine.asked > 100
    assert kibitz.match(table, mine, mine, deals=10, seed=3).mean == 0.0
    again = kibitz.match(table, agent(path, table), AnySize(1), deals=60, seed=3)
    assert again.mean == result.mean  # the same seed is the same match
    here = playable(f'poker(file="{game}", bets=[0.5, 1, allin])')
    assert not isinstance(agent(path, here), Translated)
    with pytest.raises(KibitzError, match="not of"):
        agent(path, playable("leduc"))


def test_a_blueprint_of_fewer_bets_sits_down_too(saved: tuple[str, str], tmp_path: Path) -> None:
    game, _ = saved
    trained = kibitz.train(f'poker(file="{game}", bets=[1, allin])', iterations=200, options=BlueprintOptions(1 << 22))
    trained.save(tmp_path / "few.blueprint")
    table = playable(game)
    mine = agent(str(tmp_path / "few.blueprint"), table)
    assert isinstance(mine, Translated)
    play(table.rules, [mine, AnySize(1)], table.hand(1, 1))
    assert isinstance(agent(trained, table), Translated)


def test_a_raise_cap_of_a_limit_game_is_translated_too() -> None:
    whole = make_game("poker(file=leduc)")
    assert isinstance(whole, Poker)
    few = whole.fewer("poker(file=leduc, raises=1)")
    assert few is not None and acpc.write(few.definition) != acpc.write(whole.definition)
    mine, dice = Translated(Stub(1), few, machine(whole)), random.Random(1)
    for number in range(200):
        hand(whole, [mine, AnySize(number)][:: 1 if number % 2 else -1], dice)
    assert mine.unanswered > 20


def test_more_sizes_lose_less_by_an_exact_best_response(tmp_path: Path) -> None:
    """Answers follow from the infoset, so a translated strategy is a profile of the game of all bets."""
    game = small_file(tmp_path, 5)
    table, tree = playable(game), tree_of(make_game(game))
    infosets, gaps = tree.infosets, []
    for bets in ("[allin]", "[1, allin]", "[0.25, 0.5, 1, 2, allin]"):
        mine = agent(kibitz.solve(f'poker(file="{game}", bets={bets})', "cfr+", iterations=300), table)
        found: list[float] = []
        for seat, (begin, end) in enumerate(pairwise(infosets.seat_start.tolist())):
            mine.begin(seat)
            for at in range(begin, end):
                actions = tuple(map(str, infosets.actions[infosets.actions_of[at]]))
                found += mine.act(View(seat, (), (), actions, str(infosets.labels[at])))
        profile = kibitz.Profile(infosets, np.array(found), {"tree": tree.digest})
        gaps.append(kibitz.nash_conv(tree, profile))
    assert gaps[0] > 1.5 * gaps[1] > 1.5 * gaps[2]
