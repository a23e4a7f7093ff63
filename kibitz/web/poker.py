"""Poker by a definition, as the web interface shows it: all hands of all seats at one betting node on one board.

Nothing is scanned: for each decision on the way the strategy is asked once for all hands. How likely a seat holds a
hand then follows by Bayes' rule from what all seats did, cards that meet left out, exactly for two and three seats.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards import NAMES, NUMBERS
from kibitz.core.errors import GameError
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.poker.rules import betting
from kibitz.poker.rules.betting import Bets
from kibitz.poker.rules.cards import text_of
from kibitz.poker.rules.rules import Poker
from kibitz.web.library import LibraryStrategy
from kibitz.web.nodes import MOST_ACTIONS, MOST_STEPS, Experts, Node, Valued, finish, mean_value, node_at, rows_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
MOST_HANDS = 1_400  # of a seat: hold'em has 1,326
KEPT = 400  # decisions whose rows are remembered
RANKS = "23456789TJQKA"
ROUNDS = ("preflop", "flop", "turn", "river")


class BettingDecision(NamedTuple):
    """Where a seat acted."""

    seat: int
    actions: tuple[str, ...]
    board: tuple[tuple[int, ...], ...]
    done: str


class BettingPosition(NamedTuple):
    """Where steps lead."""

    bets: Bets
    board: tuple[tuple[int, ...], ...]  # by round, without the rounds that have none
    done: str
    decisions: list[tuple[BettingDecision, int]]  # with the number of the action that was taken
    movers: list[int]
    words: list[str]  # what each step was: call or check, raise or bet


def poker_strategy(strategy: LibraryStrategy) -> PokerStrategy | None:
    """A strategy with all its hands, if it is one of poker whose hands can be listed."""
    rules = strategy.rules
    if not isinstance(rules, Poker):
        return None
    known = rules.definition
    if comb(len(known.deck), known.hole) > MOST_HANDS:
        return None
    if "_poker" not in strategy.__dict__:
        strategy.__dict__["_poker"] = PokerStrategy(strategy, rules)
    return strategy.__dict__["_poker"]  # type: ignore[no-any-return]


def label_of(action: str, facing: bool) -> str:
    """An action as players say it: a call of nothing is a check, a raise over nothing a bet."""
    if not facing:
        action = {"call": "check", "raise": "bet"}.get(action, action)
    return f"raise to {action[1:]}" if action[:1] == "r" and action[1:].isdigit() else action


def class_of(hand: Sequence[int]) -> str:
    """Two cards up to the names of suits: AKs, AKo, AA; one card as it is."""
    if len(hand) != 2:
        return text_of(hand)
    high, low = sorted(hand, reverse=True)
    name = NAMES[high][0] + NAMES[low][0]
    return name if name[0] == name[1] else name + ("s" if high % 4 == low % 4 else "o")


def naming(own: Sequence[str]) -> list[str]:
    """What a grid calls some cards by their names; nothing for words that are no cards."""
    cards = [NUMBERS.get(word, -1) for word in own]
    return [class_of(cards)] if cards and min(cards) >= 0 else []


class PokerStrategy:
    """All hands of a game, and rows of a strategy as they were asked for."""

    def __init__(self, strategy: LibraryStrategy, rules: Poker) -> None:
        self.strategy, self.rules, self.definition = strategy, rules, rules.definition
        deck = list(self.definition.deck)
        self.hands = np.array(list(itertools.combinations(deck, self.definition.hole)), np.int64)
        self.texts = [text_of(hand) for hand in self.hands.tolist()]
        self.holds = np.zeros((len(self.hands), 52), np.float64)  # [hands, cards]
        np.put_along_axis(self.holds, self.hands, 1.0, axis=1)
        self.classes = [class_of(hand) for hand in self.hands.tolist()]
        self.order = sorted(set(self.classes), key=_rank)
        place = {name: k for k, name in enumerate(self.order)}
        self.class_number = np.array([place[name] for name in self.classes], np.int64)
        self.by_class = len(self.order) < len(self.classes)
        self._rows: OrderedDict[BettingDecision, Floats] = OrderedDict()
        self._lock = threading.Lock()

    # Where steps lead

    def place(self, steps: Sequence[str]) -> BettingPosition:
        game = self.definition
        if len(steps) > MOST_STEPS:
            raise GameError("so many steps lead nowhere")
        bets, done = self._begun(betting.start(game), "")
        board: tuple[tuple[int, ...], ...] = ()
        decisions: list[tuple[BettingDecision, int]] = []
        movers: list[int] = []
        words: list[str] = []
        for word in steps:
            if bets.turn == TERMINAL:
                raise GameError("the hand is over there")
            movers.append(bets.turn)
            if bets.turn == CHANCE:
                board = (*board, self._cards(word, board, game.board[bets.round]))
                words.append(word)
                bets, done = betting.deal(game, bets), done + ("/" if bets.round else "")
            else:
                offer = self.offer(bets)
                if word not in offer:
                    raise GameError(f"{word:.40} cannot follow there: {', '.join(offer)} can")
                decisions.append((BettingDecision(bets.turn, offer, board, done), offer.index(word)))
                words.append(label_of(word, bets.paid[bets.turn] < max(bets.paid)))
                bets, done = betting.act(game, bets, word), done + betting.letters(word)
            bets, done = self._begun(bets, done)
        return BettingPosition(bets, board, done, decisions, movers, words)

    def offer(self, bets: Bets) -> tuple[str, ...]:
        low, high = betting.raises(self.definition, bets)
        if high - low > MOST_ACTIONS:
            raise GameError(f"{high - low:,} sizes of a raise are too many to draw")
        return betting.actions(self.definition, bets)

    def _begun(self, bets: Bets, done: str) -> tuple[Bets, str]:
        """Rounds that begin without cards begin at once."""
        while bets.turn == CHANCE and not self.definition.board[bets.round]:
            bets, done = betting.deal(self.definition, bets), done + ("/" if bets.round else "")
        return bets, done

    def _cards(self, text: str, board: tuple[tuple[int, ...], ...], due: int) -> tuple[int, ...]:
        names = [text[k : k + 2] for k in range(0, len(text), 2)]
        cards = [NUMBERS.get(name, -1) for name in names]
        left = set(self.definition.deck) - {card for group in board for card in group}
        if len(cards) != due or len(set(cards) & left) != due:
            raise GameError(
                f"{text:.40}: {due} different cards of the deck come there, as in {text_of(sorted(left)[:due])}"
            )
        return tuple(sorted(cards, reverse=True))

    # Rows and ranges

    def rows(self, decision: BettingDecision) -> Floats:
        """[hands, actions]  what the seat does there; hands that meet the board have zeros."""
        with self._lock:
            if decision in self._rows:
                self._rows.move_to_end(decision)
                return self._rows[decision]
        alive = np.flatnonzero(self.alive(decision.board))
        shown = "".join(f" {text_of(group)}" for group in decision.board)
        labels = [f"{self.texts[k]}{shown}:{decision.done}" for k in alive.tolist()]
        rows = np.zeros((len(self.hands), len(decision.actions)))
        rows[alive] = rows_of(self.strategy, decision.seat, labels, decision.actions)
        with self._lock:
            self._rows[decision] = rows
            while len(self._rows) > KEPT:
                self._rows.popitem(last=False)
        return rows

    def alive(self, board: tuple[tuple[int, ...], ...]) -> Bools:
        """[hands]  those that do not meet the board."""
        shown = [card for group in board for card in group]
        return np.asarray(self.holds[:, shown].sum(axis=1) == 0)

    def reach(self, place: BettingPosition) -> Floats:
        """[seats, hands]  how likely each seat does what it did if it holds a hand."""
        reach = np.tile(self.alive(place.board).astype(np.float64), (self.definition.players, 1))
        for decision, action in place.decisions:
            reach[decision.seat] *= self.rows(decision)[:, action]
        return reach

    def weights(self, reach: Floats) -> Floats:
        """[seats, hands]  the same with all ways in which the others can hold cards that do not meet: up to a factor
        the chance that the seat holds the hand. With more than three seats the others are left out."""
        if len(reach) == 2:
            return np.stack([reach[0] * self._free(reach[1]), reach[1] * self._free(reach[0])])
        if len(reach) != 3:
            return reach
        return np.stack([reach[0] * self._both(reach[1], reach[2]), reach[1] * self._both(reach[0], reach[2]),
                         reach[2] * self._both(reach[0], reach[1])])  # fmt: skip

    def _both(self, one: Floats, two: Floats) -> Floats:
        """[hands]  the sum over hands of two others, none of which meet. Those of the two that share a card are
        counted card by card among what a hand leaves, and those that are the same hand were counted twice so."""
        hands, every = self.hands, np.arange(len(self.hands))
        if self.definition.hole == 1:
            product: Floats = (one.sum() - one) * (two.sum() - two) - ((one * two).sum() - one * two)
            return np.maximum(product, 0.0)
        a, b = hands.T
        left, totals = [], []
        for weight in (one, two, one * two):
            pair = np.zeros((52, 52))
            pair[a, b] = pair[b, a] = weight
            by_card = pair.sum(axis=1)
            totals.append(weight.sum() - by_card[a] - by_card[b] + weight)
            rest = by_card[None, :] - pair[a] - pair[b]  # [hands, cards]  with a card, and none of the hand's
            rest[every, a] = rest[every, b] = 0.0
            left.append(rest)
        return np.asarray(np.maximum(totals[0] * totals[1] - (left[0] * left[1]).sum(axis=1) + totals[2], 0.0))

    def _free(self, other: Floats) -> Floats:
        """[hands]  the sum over hands of another that do not meet a hand: all, less those with a card of it."""
        free: Floats = other.sum() - self.holds @ (self.holds.T @ other)
        return np.maximum(free + other * (self.definition.hole - 1), 0.0)

    # What is shown

    def ranges(self, steps: Sequence[str]) -> list[dict[str, Any]]:
        """How likely each seat holds what."""
        weight = self.weights(self.reach(self.place(steps)))
        return [self._range(seat, weight[seat]) for seat in range(self.definition.players)]

    def node(self, steps: Sequence[str], pool: ThreadPoolExecutor) -> dict[str, Any]:
        place = self.place(steps)
        bets, players = place.bets, self.definition.players
        reach = self.reach(place)
        weight = self.weights(reach)
        even = self.weights(np.tile(self.alive(place.board).astype(np.float64), (players, 1)))[0].sum()
        experts = Experts(self.strategy)
        acted = [word for word, mover in zip(steps, place.movers, strict=True) if mover != CHANCE]
        total = float(weight[0].sum() / even) if players <= 3 and even > 0 else None
        shown = node_at(self.strategy, steps, place.words, place.movers, bets.turn) | {
            "layout": self.layout, "board": [text_of(group) for group in place.board], "facts": self.facts(bets),
            "expert": experts.after(acted), "reach": total,
            "reach_all": None if total is None else total * self._board_chance(place.board),
            "ranges": [self._range(seat, weight[seat]) for seat in range(players)],
        }  # fmt: skip
        if bets.turn == CHANCE:
            gone = {card for group in place.board for card in group}
            shown["choices"] = {"due": self.definition.board[bets.round],
                                "deck": [NAMES[card] for card in self.definition.deck if card not in gone]}  # fmt: skip
        elif bets.turn != TERMINAL:
            self._decision(shown, place, weight[bets.turn], Valued(self.strategy, pool), experts, acted)
        return shown

    @property
    def layout(self) -> str:
        return "grid" if self.by_class else "row"

    def facts(self, bets: Bets) -> list[dict[str, str]]:
        number = min(bets.round, self.definition.rounds - 1)
        name = ROUNDS[number] if self.definition.rounds == 4 else f"round {number + 1}"
        return [{"name": "round", "text": name}, {"name": "pot", "text": str(sum(bets.paid))},
                {"name": "put in", "text": ", ".join(map(str, bets.paid))}]  # fmt: skip

    def _board_chance(self, board: tuple[tuple[int, ...], ...]) -> float:
        """How likely a board comes, group by group."""
        left, chance = len(self.definition.deck), 1.0
        for group in board:
            chance /= comb(left, len(group))
            left -= len(group)
        return chance

    def _range(self, seat: int, weight: Floats) -> dict[str, Any]:
        by_class = np.bincount(self.class_number, weight, minlength=len(self.order))
        whole = float(by_class.sum())
        shares = by_class / whole if whole > 0 else by_class
        alive = zip(self.order, shares.tolist(), strict=True)
        return {"seat": seat, "layout": self.layout, "cells": [{"name": name, "weight": x} for name, x in alive]}

    def _decision(
        self, node: Node, place: BettingPosition, weight: Floats, valued: Valued, experts: Experts,
        acted: Sequence[str],
    ) -> None:  # fmt: skip
        """Add what the seat to move does, class by class: of the hands of a class the mean, by how likely they are."""
        seat, offer = place.bets.turn, self.offer(place.bets)
        rows = self.rows(BettingDecision(seat, offer, place.board, place.done))
        alive = self.alive(place.board)
        counts = np.bincount(self.class_number, alive, minlength=len(self.order))
        by_class = np.bincount(self.class_number, weight, minlength=len(self.order))
        share = np.where((by_class > 0)[self.class_number], weight, alive)
        total = np.bincount(self.class_number, share, minlength=len(self.order))
        p = np.stack([np.bincount(self.class_number, share * rows[:, a], minlength=len(self.order))
                      for a in range(len(offer))], axis=1) / np.maximum(total, 1e-300)[:, None]  # fmt: skip
        shown = "".join(f" {text_of(group)}" for group in place.board)
        worth = self._values(seat, f"{shown}:{place.done}", alive, share, valued) if valued.found is not None else {}
        first = {number: hand for hand, number in reversed(list(enumerate(self.class_number.tolist()))) if alive[hand]}
        cells = []
        for k in np.flatnonzero(counts > 0).tolist():
            values = worth.get(k)
            cells.append({
                "name": self.order[k], "infoset": f"{self.texts[first[k]]}{shown}:{place.done}",
                "weight": float(by_class[k]), "count": int(counts[k]),
                "p": dict(zip(offer, p[k].tolist(), strict=True)),
                "values": None if values is None else dict(zip(offer, values, strict=True)),
                "value": mean_value(p[k].tolist(), values),
                "expert": experts.holding(f"{self.texts[first[k]]}{shown}:{place.done}"),
            })  # fmt: skip
        facing = place.bets.paid[seat] < max(place.bets.paid)
        labels = {name: label_of(name, facing) for name in offer}
        finish(node, cells, list(offer), valued.why, experts, acted, labels)

    def _values(
        self, seat: int, rest: str, alive: Bools, share: Floats, valued: Valued
    ) -> dict[int, list[float | None]]:
        """Values of actions, class by class."""
        sums: dict[int, list[float | None]] = {}
        weights: dict[int, float] = {}
        for hand in np.flatnonzero(alive).tolist():
            values = valued.at(seat, f"{self.texts[hand]}{rest}")
            number = int(self.class_number[hand])
            if values is None:
                continue
            if number not in sums:
                sums[number], weights[number] = [None if x is None else 0.0 for x in values], 0.0
            weights[number] += float(share[hand])
            for a, value in enumerate(values):
                before = sums[number][a]
                sums[number][a] = None if value is None or before is None else before + float(share[hand]) * value
        return {k: [None if x is None or weights[k] <= 0 else x / weights[k] for x in of] for k, of in sums.items()}


def _rank(name: str) -> tuple[Any, ...]:
    """Aces first; of two cards pairs among the suited, as a grid is read."""
    return tuple(-RANKS.find(rank) for rank in (name[:2] if len(name) != 2 or name[1] in RANKS else name[:1])), name
