"""Compiled matches between action abstractions, against twins in Python by the readable rules.

The twin draws a reading of each bet with the same numbers, and must win the same in every deal. That drawing readings
is what the readable agent does (a mean over all readings) is tested in test_translation.py; here once more in a match.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from no_limit import fewer, no_limit, small_file

import kibitz
from kibitz.evaluate.match import chosen, draws, match, meeting, seatings_of, won_on
from kibitz.games.machine import GOLDEN, WORD, mix
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.play.agents import agent
from kibitz.play.compiled import Compiled
from kibitz.poker.nolimit.table import NoLimitMachine, reader_of
from kibitz.poker.nolimit.translation import Translated, _ahead, _dealt, _place, _together, mapped
from kibitz.poker.rules import betting
from kibitz.poker.rules.rules import Poker
from kibitz.solvers import tables
from kibitz.solvers.blueprint import player
from kibitz.solvers.new_blueprints import BlueprintOptions
from kibitz.solvers.table_strategy import TableStrategy

READING = 0xA0761D6478BD642F
ALL_IN = float("inf")


def strategy(few: Poker, seed: int, missing: float) -> Compiled:
    """Random rows of a game: for every betting node and rank; some are missing."""
    machine = few.machine()
    view = machine.view("ranks")
    dice = np.random.default_rng(seed)
    infosets: list[tuple[int, str, int]] = []  # seat, text, actions
    board = few.definition.board
    tree = few.betting
    for node in np.flatnonzero(tree.turn >= 0).tolist():
        level = int(tree.round[node])
        groups = 1 + sum(map(bool, board[: level + 1]))
        for _ in range(60):
            cards = dice.choice(few.definition.deck, groups, replace=False).tolist()
            text = " ".join(kibitz.cards.NAMES[card] for card in cards)
            infosets.append((int(tree.turn[node]), f"{text}:{tree.text[node]}", int(tree.widths[node])))
    value: dict[int, Any] = {}
    every: list[tuple[int, int]] = []
    for seat in range(few.players):
        own = [(text, width) for mover, text, width in infosets if mover == seat]
        found = machine.keys_of(view, seat, [text for text, _ in own], [width for _, width in own])
        every += [(int(key), width) for key, (_, width) in zip(found, own, strict=True)]
    for key, width in every:
        if key not in value:
            row = np.zeros(2 * machine.actions, np.float32)
            row[machine.actions : machine.actions + width] = (dice.random(width) ** 3) * (dice.random(width) < 0.8)
            value[key] = row * (dice.random() >= missing)
    keys = np.array(sorted(value), np.uint64)
    table = tables.packed(keys, np.array([value[int(key)] for key in keys]))
    from kibitz.solvers.kernels.players import AVERAGE

    rows = TableStrategy(machine, view, table)
    return Compiled(machine, player(machine, AVERAGE, view, table), f"random {seed}", rows)


class Drawn:
    """One who draws a reading of each bet when it is made, by the readable rules."""

    def __init__(self, translated: Translated) -> None:
        self.of, self.few, self.all = translated, translated.few, translated.all
        self.bets: Any = None
        self.done = ""

    def begin(self, seat: int) -> None:
        self.bets, self.done = _dealt(self.few, betting.start(self.few), "")

    def follow(self, action: str) -> None:
        self.bets, self.done = _dealt(self.few, betting.act(self.few, self.bets, action),
                                      self.done + betting.letters(action))  # fmt: skip

    def lose(self, table: Any) -> None:
        if not _ahead(table, self.bets):
            self.bets = None

    def decide(self, seat: int, cards: str, table: Any, draw: float) -> str:
        if not _together(table, self.bets):
            self.lose(table)
            return "call"
        offered = betting.actions(self.few, self.bets)
        answer = self.of.base.answer(seat, f"{self.of._seen(cards, self.bets.round)}:{self.done}", offered)
        if answer is None:
            self.follow("call")
            return "call"
        action, meant = self.of._turned(table, self.bets, offered[chosen(answer, draw)])
        self.follow(meant)
        return action

    def read(self, table: Any, action: str, draw: float) -> None:
        if not _together(table, self.bets):
            self.lose(table)
            return
        offered = betting.actions(self.few, self.bets)
        raises = [each for each in offered if each[0] == "r"]
        if action == "call" or (action in offered and action == "fold"):
            self.follow(action)
        elif action == "fold":
            self.bets = None
        elif not raises:
            self.follow("call")
        else:
            sizes = [betting.size_of(self.bets, int(each[1:])) for each in raises]
            ways = mapped(betting.size_of(table, int(action[1:])), sizes)
            self.follow(raises[ways[0][0] if draw < ways[0][1] else ways[-1][0]])


def hand(whole: Poker, seated: list[Any], deal: Any) -> list[float]:
    """A hand in Python, with the numbers that kernels would draw."""
    state, numbers, decision = deal.start(), draws(deal.after), 0
    for seat, each in enumerate(seated):
        if isinstance(each, Drawn):
            each.begin(seat)
    while (turn := whole.turn(state)) != TERMINAL:
        if turn == CHANCE:
            state = deal.draw(state)
            continue
        view, number = view_of(whole, state, turn), next(numbers)
        if isinstance(seated[turn], Drawn):
            action = seated[turn].decide(turn, view.infoset.partition(":")[0], state.bets, number)
        else:  # every action is as likely
            action = view.actions[int(number * len(view.actions))]
        for seat, each in enumerate(seated):
            if seat != turn and isinstance(each, Drawn) and each.bets is not None:
                word = mix(deal.after ^ READING) + GOLDEN * (decision * len(seated) + seat + 1) & WORD
                each.read(state.bets, action, (mix(word) >> 11) / 2**53)
        state = whole.after(state, action)
        decision += 1
    return [float(x) for x in whole.payoff(state)]


def twins(games: int, deals: int, seed: int) -> int:
    """Deals whose results differ from one to the next, of games in which compiled code and its twin won the same."""
    dice, different = random.Random(seed), 0
    for _ in range(games):
        players = dice.choice((2, 2, 3))
        stacks = tuple(dice.choice((5, 12, 30, 80)) for _ in range(players))
        blinds = (1, 2, 0)[:players] if dice.random() < 0.7 else (1,) * players
        raises = dice.choice((2, 3, 4))
        whole = Poker(no_limit(stacks, blinds, dice.choice([(0,), (0, 1)]), raises=raises))
        machine = NoLimitMachine(whole)
        agents: list[Any] = []
        for _ in range(players):
            if dice.random() < 0.2:
                agents.append(agent("uniform", machine))
                continue
            sizes = tuple(sorted(dice.sample((0.25, 0.5, 1.0, 2.0, ALL_IN), dice.randint(1, 3))))
            few = fewer(whole, sizes, dice.choice((1, 2)))
            agents.append(Translated(strategy(few, dice.randrange(1 << 30), dice.choice((0.0, 0.2))), few, machine))
        table, readers = meeting(machine, agents)
        assert readers is not None and isinstance(table, NoLimitMachine)
        seatings = seatings_of(players)
        won = won_on(table, readers, seatings, 3, 0, deals)
        for number in range(deals):
            for k, seating in enumerate(seatings.tolist()):
                seated = [Drawn(agents[p]) if isinstance(agents[p], Translated) else agents[p] for p in seating]
                assert won[number, k, seating].tolist() == hand(whole, seated, table.hand(3, number)), (number, seating)
        different += len(np.unique(won[:, 0, 0])) > 3
    return different


def test_compiled_matches_are_those_of_the_readable_rules() -> None:
    assert twins(12, 40, 1) > 6


@pytest.mark.slow
def test_they_are_so_in_many_more_games() -> None:
    assert twins(80, 100, 2) > 50


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("nolimit")
    game = small_file(folder)
    paths = {"game": game}
    for name, bets in (("few", "[1, allin]"), ("some", "[0.5, 1, allin]")):
        profile = kibitz.solve(f'poker(file="{game}", bets={bets})', "cfr+", iterations=100)
        paths[name] = str(folder / f"{name}.profile")
        profile.save(paths[name])
    return paths


class Slowly:
    """The readable agent, kept out of compiled matches."""

    def __init__(self, of: Any) -> None:
        self.name, self.begin, self.act, self.end = of.name, of.begin, of.act, of.end


def test_the_readable_agent_wins_as_much(saved: dict[str, str]) -> None:
    """A mean over readings, and readings that are drawn: one strategy, so the same mean result."""
    machine = NoLimitMachine(kibitz.game(saved["game"]))
    agents = [agent(saved["few"], machine), agent("uniform", machine)]
    fast = match(machine, *agents, deals=200_000, seed=1)
    slow = match(machine, *[Slowly(each) for each in agents], deals=1500, seed=2)
    error = (fast.error**2 + slow.error**2) ** 0.5
    assert abs(fast.mean - slow.mean) < 4 * error and error < 0.25
    assert fast.mean > 0.3


def test_a_strategy_wins_nothing_from_itself_and_threads_do_not_matter(saved: dict[str, str]) -> None:
    itself = kibitz.match(saved["game"], saved["few"], saved["few"], deals=3000)
    assert itself.mean == 0.0 and itself.error == 0.0
    one, two = (
        kibitz.match(saved["game"], saved["few"], saved["some"], deals=9000, seed=4, threads=threads)
        for threads in (1, 2)
    )
    assert one.scores == two.scores and one.error > 0.0


def test_strategies_of_different_abstractions_meet_in_compiled_code(saved: dict[str, str]) -> None:
    """Also with a strategy of the game itself, which needs no translation."""
    whole = kibitz.solve(saved["game"], "cfr+", iterations=30)
    result = kibitz.match(saved["game"], saved["some"], whole, deals=20_000)
    assert result.seconds < 10 and result.deals == 20_000
    direct = kibitz.match(saved["game"], whole, "uniform", deals=4000, seed=5)  # on its own betting tree
    table = NoLimitMachine(kibitz.game(saved["game"]))
    own = agent(whole, kibitz.solvers.machines.machine_of(saved["game"]))
    seated = match(table, own, agent("uniform", table), deals=4000, seed=5)
    assert seated.mean == pytest.approx(direct.mean)
    assert _place(("fold", "call", "r4"), "r4") == 2


def test_one_view_serves_players_of_the_same_buckets() -> None:
    spec = "poker(file=holdem.nolimit.2p, ranks=5, suits=2, stack=600"
    machine = NoLimitMachine(kibitz.game(f"{spec})"))
    agents = [
        agent(kibitz.train(f"{spec}, bets={bets})", iterations=100, abstraction="percentile(2)", threads=1,
                           options=BlueprintOptions(memory="5MB")), machine)
        for bets in ("[1]", "[0.5]")
    ]  # fmt: skip
    table, readers = meeting(machine, agents)
    apart = tuple(reader_of(each) for each in agents)
    assert readers is not None and readers[0].player.keys is readers[1].player.keys
    assert apart[0].player.keys is not apart[1].player.keys
    won = [won_on(table, each, seatings_of(2), 1, 0, 300) for each in (readers, apart)]
    assert (won[0] == won[1]).all() and len(np.unique(won[0])) > 5
