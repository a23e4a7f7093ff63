"""Two players without betting after the flop: all cards are counted.

No card is seen before a decision, so that hands matter by class alone: 169 of them, up to suit isomorphism. A game of
classes: pairs[i, j] pairs of hands of two classes share no card, and net[i, j] is what the first of them wins over all
boards, as a sum over pairs of the chance to win less that to lose.

Solved by CFR+ [Tammelin 2014]: regrets are never below zero, players take turns, and iteration t counts t² times in
the average.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.preflop.nodes import FirstNodes, reaches

Floats = NDArray[np.float64]
FIRST_LOOK = 64  # iterations before the strategy is measured for the first time


class ClassGame(NamedTuple):
    """Hands of two players by class, C of them."""

    chance: Floats  # [C, C]  that the players hold hands of two classes
    net: Floats  # [C, C]  times what the first wins, in matched stakes: its chance to win less that to lose


def whole_deck() -> ClassGame:
    """The 169 classes of hold'em."""
    from kibitz.cards.holdem import BOARDS_OF_TWO, classes, pairs_of_classes

    pairs, every = pairs_of_classes().astype(np.float64), classes()
    total = pairs.sum()
    return ClassGame(pairs / total, (every.wins - every.losses) / (BOARDS_OF_TWO * total))


@dataclass
class ExactMeasure:
    """What strategies win, exactly."""

    values: Floats  # [2]  chips a hand, by seat
    gains: Floats  # [2]  what a best response wins more
    actions: list[Floats]  # of each node [actions, C]: chips that the seat to act wins in the whole hand
    met: list[Floats]  # of each node [C]: how likely the seat to act has a hand and the other reaches it
    reach: Floats  # [P]  how likely a node is reached


class ExactPreflop:
    """CFR+ and measures of a game of classes."""

    def __init__(self, nodes: FirstNodes, game: ClassGame) -> None:
        self.nodes, self.game = nodes, game
        self.count = len(game.chance)
        self.widths = [len(names) for names in nodes.names]
        self.regret = [np.zeros((width, self.count)) for width in self.widths]
        self.total = [np.zeros((width, self.count)) for width in self.widths]
        self.iterations = 0
        folds = np.array([end for end in nodes.ends if nodes.is_fold(end)], np.int64)
        shows = np.array([end for end in nodes.ends if not nodes.is_fold(end)], np.int64)
        self.folds, self.shows = folds, shows
        matched = nodes.paid.min(axis=1).astype(np.float64)
        sign = np.where(nodes.folded[folds], -1.0, 1.0)
        self.fold_pays = matched[folds, None] * sign  # [folds, 2]
        self.show_pays = matched[shows]

    def strategy(self) -> list[Floats]:
        """The average strategy, of each node [actions, C]."""
        return [_shares(total) for total in self.total]

    def iterate(self, count: int) -> None:
        for _ in range(count):
            self.iterations += 1
            for seat in (0, 1):
                now = [_shares(regret) for regret in self.regret]
                reach = reaches(self.nodes, now)
                values = self.values_of(seat, reach, now)
                for node in self.nodes.decisions:
                    if self.nodes.turn[node] == seat:
                        below = np.stack([values[child] for child in self.nodes.children[node]])
                        self.regret[node] = np.maximum(self.regret[node] + below - values[node], 0.0)
                        self.total[node] += self.iterations**2 * reach[node, seat] * now[node]

    def values_of(self, seat: int, reach: Floats, strategy: list[Floats] | None) -> list[Floats]:
        """Of each node [C]: what a seat wins from there on, times the chance that the other player reaches it; by the
        seat's strategy, or by its best response."""
        nodes, other = self.nodes, 1 - seat
        values: list[Floats] = [np.empty(0)] * len(nodes)
        chance, net = (self.game.chance, self.game.net) if seat == 0 else (self.game.chance.T, -self.game.net.T)
        for ends, matrix, pays in ((self.folds, chance, self.fold_pays[:, seat]), (self.shows, net, self.show_pays)):
            won = (reach[ends, other] @ matrix.T) * pays[:, None]
            for k, end in enumerate(ends.tolist()):
                values[end] = won[k]
        for node in reversed(nodes.decisions):
            below = np.stack([values[child] for child in nodes.children[node]])
            if nodes.turn[node] != seat:
                values[node] = below.sum(axis=0)
            elif strategy is None:
                values[node] = below.max(axis=0)
            else:
                values[node] = (strategy[node] * below).sum(axis=0)
        return values

    def measure(self, strategy: list[Floats]) -> ExactMeasure:
        nodes = self.nodes
        reach = reaches(nodes, strategy)
        won, gains = np.zeros(2), np.zeros(2)
        actions: list[Floats] = [np.empty((0, self.count))] * len(nodes)
        mets: list[Floats] = [np.empty(0)] * len(nodes)
        for seat in (0, 1):
            values = self.values_of(seat, reach, strategy)
            won[seat] = values[0].sum()
            gains[seat] = self.values_of(seat, reach, None)[0].sum() - won[seat]
            chance = self.game.chance if seat == 0 else self.game.chance.T
            for node in nodes.decisions:
                if nodes.turn[node] == seat:
                    met = mets[node] = chance @ reach[node, 1 - seat]
                    below = np.stack([values[child] for child in nodes.children[node]])
                    actions[node] = np.divide(below, met, out=np.full_like(below, np.nan), where=met > 1e-300)
        often = np.array([reach[node, 0] @ self.game.chance @ reach[node, 1] for node in range(len(nodes))])
        return ExactMeasure(won, gains, actions, mets, often)


def _shares(numbers: Floats) -> Floats:
    """Columns that sum to 1; even ones where there is nothing."""
    total = numbers.sum(axis=0)
    even = np.full_like(numbers, 1.0 / max(1, len(numbers)))
    return np.asarray(np.divide(numbers, total, out=even, where=total > 0.0))


def run(
    engine: ExactPreflop, until: float | None, iterations: int | None, seconds: float | None,
    on_look: Callable[[int, float], bool],
) -> ExactMeasure:  # fmt: skip
    """Iterate until the exploitability, the mean of both gains in chips, is at most `until`; or for so many iterations
    or seconds; or until `on_look(iterations, exploitability)` returns True."""
    began, look = time.perf_counter(), FIRST_LOOK
    while True:
        last = look if iterations is None else min(look, iterations)
        engine.iterate(last - engine.iterations)
        measure = engine.measure(engine.strategy())
        reached = float(measure.gains.mean())
        stopped = on_look(engine.iterations, reached)
        late = seconds is not None and time.perf_counter() - began >= seconds
        if stopped or late or (until is not None and reached <= until) or last == iterations:
            return measure
        look = last + max(64, last // 4)
