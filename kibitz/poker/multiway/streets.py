"""A street of a spot with several players, after a line: who comes there with what, what they do, and what that wins.

On a river with three players all hands are counted, if the ranges that come there are not too wide. Elsewhere fresh
deals of these ranges are played out from the ends of the street.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.multiway.machine import HANDS, SpotDeals, strategy_of
from kibitz.poker.multiway.question import LEAST_ACCEPTED, Multiway, accepted, weight_of_deals
from kibitz.poker.multiway.rivers import is_countable, river_measure
from kibitz.poker.preflop.measuring import measured
from kibitz.poker.preflop.nodes import FirstNodes, acting_node, nodes_of, reaches
from kibitz.poker.spots.spot import met

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StreetMeasure:
    """What strategies win on a street: units of the betting tree, over hands as they come there."""

    won: list[Floats]  # of each node [actions, 1326]: what the player to act wins from the root of the tree on
    errors: list[Floats]  # halves of 95% intervals of these
    met: list[Floats]  # of each node [1326]: how likely the player to act has a hand and the others come here; relative
    reach: Floats  # [P]  of those who come to the street
    values: Floats  # [players]
    value_errors: Floats
    gains: Floats | None  # [players]  of best responses on the street, where all hands were counted
    deals: int  # fresh ones; 0: all hands were counted, or nobody comes here


@dataclass(frozen=True, eq=False)
class Street:
    """P nodes. It is what deals are drawn from: `kibitz.poker.multiway.question.Dealt`."""

    question: Multiway
    agent: Any  # who plays in all seats
    nodes: FirstNodes
    board: tuple[int, ...]
    live: Floats  # [players, 1326]  with what each comes here
    line: str  # to its first decision
    reach: float  # how likely play comes here
    sample: tuple[int, int]  # deals to measure it on, and their seed

    def hands(self, seat: int) -> NDArray[np.int64]:
        """Numbers of the hands of a range."""
        return np.flatnonzero(self.live[seat])

    @cached_property
    def strategy(self) -> list[Floats]:
        """Of each node [actions, 1326]; empty at ends."""
        return strategy_of(self.agent, self.nodes, self)

    @cached_property
    def reaches(self) -> Floats:
        """[P, players, 1326]  how likely each player acts on this street so that a node is reached."""
        return reaches(self.nodes, self.strategy)

    @cached_property
    def measure(self) -> StreetMeasure:
        nodes, (deals, seed) = self.nodes, self.sample
        if self.reach > 0 and is_countable(self, nodes):
            counted = river_measure(self, nodes, self.strategy)
            return StreetMeasure(counted.actions, [np.zeros_like(each) for each in counted.actions], counted.met,
                                 counted.reach, counted.values, np.zeros(3), counted.gains, 0)  # fmt: skip
        if self.reach > 0 and accepted(self.live) >= LEAST_ACCEPTED:
            drawn = measured(SpotDeals(self.agent, nodes, seed, self), self.strategy, deals, lambda done: False)
            return StreetMeasure(drawn.actions, drawn.errors, drawn.met, drawn.reach, drawn.values, drawn.value_errors,
                                 None, drawn.deals)  # fmt: skip
        nothing = [np.full_like(each, np.nan) for each in self.strategy]
        players = np.full(self.question.players, np.nan)
        return StreetMeasure(nothing, nothing, [np.zeros(HANDS) for _ in nothing], np.zeros(len(nodes)), players,
                             players, None, 0)  # fmt: skip

    def after(self, node: int, card: int, line: str) -> Street:
        """The next street, where a card comes at an end of this one. line: to there."""
        question = self.question
        root = acting_node(question.betting.turn, int(self.nodes.number[node]))
        if question.betting.turn[root] < 0:
            raise GameError("nobody can bet any more: the rest of the board comes, and hands are shown down")
        live = np.where(met((card,)), 0.0, self.live * self.reaches[node])
        unseen = question.deck[0] * question.deck[1] - len(self.board) - 2 * question.players
        before, weight = weight_of_deals(self.live), weight_of_deals(live)
        reach = self.reach * weight / before / unseen if before > 0 else 0.0
        return Street(question, self.agent, nodes_of(question, root), (*self.board, card), live, line, reach,
                      self.sample)  # fmt: skip


def first_street(question: Multiway, agent: Any, deals: int, seed: int) -> Street:
    return Street(question, agent, nodes_of(question), question.board, question.live, "", 1.0, (deals, seed))
