"""Local best response without limit: a slow twin by the readable rules, real hands, and exact best responses."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from no_limit import fewer, no_limit, small_file
from test_nolimit_match import Drawn, strategy

import kibitz
from kibitz.core.errors import KibitzError
from kibitz.games.machine import GOLDEN, WORD, mix
from kibitz.poker.nolimit.response import SeatedStrategy, local_response
from kibitz.poker.nolimit.table import NoLimitMachine
from kibitz.poker.nolimit.translation import Translated, _ahead, _dealt, _together, mapped
from kibitz.poker.rules import betting
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import Poker, strength

ACTS, ROLLS = 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3
ALL_IN = float("inf")


class Words:
    """Random numbers as kernels draw them."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, count: int) -> int:
        self.state = self.state + GOLDEN & WORD
        return (mix(self.state) >> 32) * count >> 32


class Twin:
    """The response from its definition: dictionaries of (reading, hand) with the probability of each."""

    def __init__(self, target: SeatedStrategy, sizes: list[float], boards: int) -> None:
        self.base, self.few, self.all = target.agent.base, target.agent.few, target.definition
        self.of, self.sizes, self.boards = target.agent, sizes, boards
        self.pool = self.all.deck
        assert self.all.hole == 1

    def readings(self, table: Any, reading: Any, action: str) -> list[tuple[Any, float]]:
        """What an action of the response may be read as."""
        bets = reading[0]
        if not _together(table, bets):
            return [(reading if _ahead(table, bets) else (None, ""), 1.0)]
        offered = betting.actions(self.few, bets)
        raises = [each for each in offered if each[0] == "r"]
        if action == "fold" and "fold" not in offered:
            return [((None, ""), 1.0)]
        ways = [(action, 1.0)]
        if action[0] == "r":
            ways = [("call", 1.0)]
            if raises:
                sizes = [betting.size_of(bets, int(each[1:])) for each in raises]
                ways = [(raises[k], p) for k, p in mapped(betting.size_of(table, int(action[1:])), sizes)]
        return [(self.follow(reading, said), p) for said, p in ways if p > 0.0]

    def follow(self, reading: Any, said: str) -> Any:
        bets, done = reading
        return _dealt(self.few, betting.act(self.few, bets, said), done + betting.letters(said))

    def plays(self, table: Any, reading: Any, card: int, seat: int, board: list[int]) -> list[tuple[str, Any, float]]:
        """(action at the table, reading after it, probability) of the strategy with a card."""
        bets, done = reading
        if not _together(table, bets):
            return [("call", reading if _ahead(table, bets) else (None, ""), 1.0)]
        offered = betting.actions(self.few, bets)
        shown = " ".join(map(text_of, ([card], *[[each] for each in board])))
        answer = self.base.answer(seat, f"{shown}:{done}", offered)
        if answer is None:
            return [("call", self.follow(reading, "call"), 1.0)]
        found = []
        for said, p in zip(offered, answer, strict=True):
            action, meant = self.of._turned(table, bets, said)
            found.append((action, self.follow(reading, meant), p))
        return found

    def edges(self, mine: int, board: list[int], words: Words) -> dict[int, float]:
        whole = sum(self.all.board)
        total, count = dict.fromkeys(self.pool, 0.0), dict.fromkeys(self.pool, 0)
        for _ in range(self.boards if len(board) < whole else 1):
            rest = list(board)
            while len(rest) < whole:
                card = self.pool[words.below(len(self.pool))]
                if card not in (*rest, mine):
                    rest.append(card)
            own = int(strength([mine, *rest]))
            for card in self.pool:
                if card not in (mine, *rest):
                    total[card] += float(np.sign(own - int(strength([card, *rest]))))
                    count[card] += 1
        return {card: total[card] / count[card] if count[card] else 0.0 for card in self.pool}

    def choose(self, table: Any, seat: int, mine: int, board: list[int], weights: Any, number: int) -> str:
        other = 1 - seat
        live = {key: w for key, w in weights.items() if key[1] not in (mine, *board)}
        edge = self.edges(mine, board, Words(number))
        total = sum(live.values())
        mean = sum(w * edge[card] for (_, card), w in live.items()) / total
        met = min(max(table.paid), self.all.stacks[seat], table.paid[other])
        values = {"call": mean * met}
        if table.paid[seat] < max(table.paid):
            values["fold"] = -float(table.paid[seat])
        if betting.raises(self.all, table)[1]:
            for size in self.sizes:
                action = f"r{betting.total_of(self.all, table, size)}"
                after = betting.act(self.all, table, action)
                folds = edges = 0.0
                for (reading, card), w in live.items():
                    for new, p in self.readings(table, reading, action):
                        leaves = sum(q for said, _, q in self.plays(after, new, card, other, board) if said == "fold")
                        folds += w * p * leaves
                        edges += w * p * (1 - leaves) * edge[card]
                stake = min(int(action[1:]), self.all.stacks[other])
                values.setdefault(action, (folds * table.paid[other] + edges * stake) / total)
        best = "call"
        for action in ["fold", *[each for each in values if each[0] == "r"]]:
            if action in values and values[action] > values[best] + 1e-12:
                best = action
        return best

    def hand(self, seat: int, mine: int, board: list[int], number: int) -> float:
        """What is won in a hand, over all cards of the opponent."""
        table = _dealt(self.all, betting.start(self.all), "")[0]
        weights = {(_dealt(self.few, betting.start(self.few), ""), card): 1.0 for card in self.pool if card != mine}
        decision, order = 0, [_dealt(self.few, betting.start(self.few), "")]
        while table.turn >= 0:
            decision += 1
            shown = board[: sum(self.all.board[: table.round + 1])]
            new: dict[Any, float] = {}
            if table.turn == seat:
                begin = mix((number ^ ROLLS) + GOLDEN * decision & WORD)
                action = self.choose(table, seat, mine, shown, weights, begin)
                for (reading, card), w in weights.items():
                    for after, p in self.readings(table, reading, action):
                        new[after, card] = new.get((after, card), 0.0) + w * p
                order = [after for reading in order for after, _ in self.readings(table, reading, action)]
            else:
                options = [
                    (reading, card, said, after, w * p)
                    for (reading, card), w in weights.items() if card not in (mine, *shown)
                    for said, after, p in self.plays(table, reading, card, table.turn, shown)
                ]  # fmt: skip
                sure = [each for each in options if each[1] not in board]
                left = (mix((number ^ ACTS) + GOLDEN * decision & WORD) >> 11) / 2**53 * sum(e[4] for e in sure)
                action = ""
                for reading in order:
                    bets = reading[0]
                    asked = _together(table, bets)
                    offers = betting.actions(self.few, bets) if asked else ("call",)
                    for said in offers:
                        cards = [card for known, card in weights if known == reading and card not in (mine, *board)]
                        likely = [self.mass(reading, card, said, table, shown) for card in cards]
                        mass = sum(p * weights[reading, card] for p, card in zip(likely, cards, strict=True))
                        if mass > 0.0 and left >= 0.0:
                            action = self.of._turned(table, bets, said)[0] if asked else "call"
                            left -= mass
                for _, card, said, after, w in options:
                    if said == action:
                        new[after, card] = new.get((after, card), 0.0) + w
                order = [after for reading in order for after in self.readings_after(table, reading, action)]
            order = list(dict.fromkeys(order))
            weights = {key: w for key, w in new.items() if w > 0.0}
            table = _dealt(self.all, betting.act(self.all, table, action), "")[0]
        other = 1 - seat
        if table.folded[seat]:
            return -float(table.paid[seat])
        if table.folded[other]:
            return float(table.paid[other])
        edge = self.edges(mine, board, Words(0))
        live = {key: w for key, w in weights.items() if key[1] not in (mine, *board)}
        return sum(w * edge[card] for (_, card), w in live.items()) / sum(live.values()) * min(table.paid)

    def readings_after(self, table: Any, reading: Any, action: str) -> list[Any]:
        """What an action of the strategy leads to from a reading."""
        bets = reading[0]
        if not _together(table, bets):
            return [reading if _ahead(table, bets) else (None, "")] * (action == "call")
        turned = [self.of._turned(table, bets, said) for said in betting.actions(self.few, bets)]
        return [self.follow(reading, meant) for at, meant in turned if at == action]

    def mass(self, reading: Any, card: int, said: str, table: Any, shown: list[int]) -> float:
        """How likely a card plays an action of the strategy's game."""
        bets, done = reading
        if not _together(table, bets):
            return 1.0
        offers = betting.actions(self.few, bets)
        text = " ".join(map(text_of, ([card], *[[each] for each in shown])))
        answer = self.base.answer(table.turn, f"{text}:{done}", offers)
        return float(said == "call") if answer is None else answer[offers.index(said)]


def table_for(dice: random.Random) -> SeatedStrategy:
    """A target with random rows, at a small table."""
    stacks = (dice.choice((5, 12, 30, 80)), dice.choice((12, 30, 80)))
    raises = dice.choice((2, 3))
    whole = Poker(no_limit(stacks, dice.choice(((1, 2), (1, 1))), dice.choice([(0,), (0, 1)]), raises=raises))
    sizes = tuple(sorted(dice.sample((0.25, 0.5, 1.0, 2.0, ALL_IN), dice.randint(1, 3))))
    few = fewer(whole, sizes, dice.choice((1, 2)))
    machine = NoLimitMachine(whole)
    base = strategy(few, dice.randrange(1 << 30), dice.choice((0.0, 0.2)))
    return SeatedStrategy(Translated(base, few, machine), machine)


def dealt(target: SeatedStrategy, seed: int, number: int) -> tuple[int, list[int], int]:
    """(the response's card, board, where its random numbers begin) of a deal."""
    hand = NoLimitMachine(target.rules).hand(seed, number)
    board = sum(target.definition.board)
    return hand.cards[board], hand.cards[:board], hand.after


def twins(games: int, deals: int, seed: int) -> int:
    dice, different = random.Random(seed), 0
    for _ in range(games):
        target = table_for(dice)
        sizes = sorted(dice.sample((0.3, 0.5, 0.8, 1.0, 1.7, ALL_IN), dice.randint(1, 3)))
        won = target.won(target.response(sizes, 3), 7, 0, deals)
        twin = Twin(target, sizes, 3)
        for number in range(deals):
            card, board, begin = dealt(target, 7, number)
            for seat in range(2):
                known = twin.hand(seat, card, board, mix(begin + seat & WORD))
                assert won[number, seat] == pytest.approx(known, abs=1e-9), (number, seat, target.definition)
        different += len(np.unique(won.round(6))) > 4
    return different


def test_the_response_is_that_of_its_definition() -> None:
    assert twins(4, 5, 1) > 2


@pytest.mark.slow
def test_it_is_so_at_many_more_tables() -> None:
    assert twins(40, 12, 2) > 20


def played_hand(target: SeatedStrategy, twin: Twin, seat: int, cards: list[int], draws: Any) -> float:
    """A real hand: the opponent has cards, and draws how it reads each bet; the response sees actions alone."""
    board, mine, theirs = cards[:-2], cards[-2], cards[-1]
    table, opponent = _dealt(target.definition, betting.start(target.definition), "")[0], Drawn(target.agent)
    opponent.begin(1 - seat)
    weights = {(_dealt(twin.few, betting.start(twin.few), ""), card): 1.0 for card in twin.pool if card != mine}
    while table.turn >= 0:
        shown = board[: sum(twin.all.board[: table.round + 1])]
        new: dict[Any, float] = {}
        if table.turn == seat:
            action = twin.choose(table, seat, mine, shown, weights, draws.getrandbits(64))
            opponent.read(table, action, draws.random())
            for (reading, card), w in weights.items():
                for after, p in twin.readings(table, reading, action):
                    new[after, card] = new.get((after, card), 0.0) + w * p
        else:
            text = " ".join(map(text_of, ([theirs], *[[each] for each in shown])))
            action = opponent.decide(table.turn, text, table, draws.random())
            for (reading, card), w in weights.items():
                if card not in (mine, *shown):
                    for said, after, p in twin.plays(table, reading, card, table.turn, shown):
                        if said == action:
                            new[after, card] = new.get((after, card), 0.0) + w * p
        weights = {key: w for key, w in new.items() if w > 0.0}
        table = _dealt(target.definition, betting.act(target.definition, table, action), "")[0]
    if table.folded[seat]:
        return -float(table.paid[seat])
    if table.folded[1 - seat]:
        return float(table.paid[1 - seat])
    return float(np.sign(int(strength([mine, *board])) - int(strength([theirs, *board])))) * min(table.paid)


def test_real_hands_win_as_much() -> None:
    """The mean over what the opponent may hold is the mean of hands in which it holds cards and draws."""
    dice = random.Random(8)
    target, sizes = table_for(dice), [0.5, 1.7]
    fast = target.won(target.response(sizes, 3), 1, 0, 3000).mean(axis=1)
    twin, board = Twin(target, sizes, 3), sum(target.definition.board)
    slow = np.array([
        np.mean([played_hand(target, twin, seat, cards, dice) for seat in range(2)])
        for cards in (dice.sample(list(twin.pool), board + 2) for _ in range(250))
    ])  # fmt: skip
    error = (fast.var() / len(fast) + slow.var() / len(slow)) ** 0.5
    assert abs(fast.mean() - slow.mean()) < 4 * error and fast.std() > 0


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any]:
    game = small_file(tmp_path_factory.mktemp("response"))
    return game, kibitz.solve(f'poker(file="{game}", bets=[1, allin])', "cfr+", iterations=200)


def test_a_response_wins_no_more_than_a_best_response(saved: tuple[str, Any]) -> None:
    """Of a strategy of the game itself, where the best response is exact."""
    game, _ = saved
    for iterations in (1, 30):
        profile = kibitz.solve(game, "cfr+", iterations=iterations)
        result = local_response(profile, game, deals=3000, sizes=(0.5, 1, "allin"))
        best = kibitz.nash_conv(game, profile) / 2  # both seats, less the game's value, which seats share
        assert result.score.interval[0] < best
    assert result.deals == 3000


def test_bets_that_a_strategy_does_not_know_win_more(saved: tuple[str, Any]) -> None:
    game, profile = saved
    few = local_response(profile, game, deals=3000, sizes=(1, "allin"))
    many = local_response(profile, game, deals=3000, sizes=(0.25, 0.5, 1, 2, "allin"))
    assert many.score.interval[0] > few.score.interval[1]
    again = local_response(profile, game, deals=3000, sizes=(1, "allin"), threads=1)
    assert again.score == few.score  # whatever the number of threads
    assert few.milli_blinds.mean == pytest.approx(1000 * few.score.mean)
    assert few.data()["sizes"] == [1.0, "allin"]


def test_what_cannot_be_measured_is_refused(saved: tuple[str, Any]) -> None:
    game, profile = saved
    for arguments, why in (
        (("uniform", game), "no rows"),
        ((profile, "leduc"), "not poker without limit"),
        ((profile, game, {"sizes": ["x"]}), "not a bet size"),
        ((profile, game, {"deals": 1}), "2 or more"),
        ((profile, game, {"boards": 0}), "1 to 10,000"),
        ((profile, game, {"seed": -1}), "whole number"),
    ):
        options = arguments[2] if len(arguments) > 2 else {}
        with pytest.raises(KibitzError, match=why):
            local_response(*arguments[:2], **options)
