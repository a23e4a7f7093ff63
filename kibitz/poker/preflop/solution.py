"""PreflopSolution: what to do before the flop with each class of hands, what it wins, and what is known about that.

    solution = solve_preflop(preflop(stacks=20, postflop="none"))
    node = solution.at("raise 2.5")                 # the big blind answers
    node.strategy[node.actions.index("call")]       # [169], in the order of kibitz.cards.class_names()
    solution.spot("raise 2.5, call", "Qs Jh 2h")    # the question that comes after it, for kibitz.solve_spot

Amounts are in big blinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.recipes import class_of
from kibitz.core.errors import GameError
from kibitz.poker.preflop.nodes import FirstNodes, LineNode, reaches
from kibitz.poker.preflop.question import CHIPS, Preflop
from kibitz.poker.spots.reading import spot as spot_of
from kibitz.poker.spots.spot import Spot
from kibitz.poker.tournaments.ranges import written

Floats = NDArray[np.float64]
NEVER = 1e-12  # a weight that counts as none


@dataclass(frozen=True)
class Trust:
    """What is known about a solution that was sampled. Big blinds a hand."""

    deals: int  # fresh ones, on which values were measured
    rows: int  # of the abstract game that were trained
    runs: int  # of training, by other random numbers
    difference: float | None  # of two runs: mean difference of what they do before the flop, 0 to 1
    value_difference: float | None  # ... and of what the first player wins
    bound: float  # a responder that was trained in the abstract game wins so much, as a mean over seats
    bound_interval: tuple[float, float]
    gain_errors: tuple[float, ...]  # halves of 95% intervals of `gains`, by seat


@dataclass(frozen=True, eq=False)
class PreflopSolution:
    """A solved question. C classes of hands, 169 in a whole deck."""

    question: Preflop
    nodes: FirstNodes
    strategy: list[Floats]  # of each node [actions, C]; empty at ends
    won: list[Floats]  # of each node [actions, C]: big blinds that the player to act wins in the whole hand
    errors: list[Floats]  # halves of 95% intervals of these; 0 where all cards were counted
    met: list[Floats]  # of each node [C]: how likely the player to act has a hand and the others come here; relative
    reach: Floats  # [P]  how likely a node is reached
    values: Floats  # [players]  big blinds a hand
    value_errors: Floats  # [players]
    gains: Floats  # [players]  exact: what a best response wins more. Sampled: what other play before the flop does
    trust: Trust | None  # None where all cards were counted
    iterations: int
    seconds: float

    @property
    def exploitability(self) -> float | None:
        """The mean of both gains, where all cards were counted; otherwise it is not known."""
        return float(self.gains.mean()) if self.trust is None else None

    @property
    def knowledge(self) -> str:
        """What is known about the answer, in sentences."""
        trust = self.trust
        if trust is None:
            return (f"All cards are counted: exploitability {self.exploitability:.2g} big blinds, the mean of what "
                    "both can still gain.")  # fmt: skip
        low, high = trust.bound_interval
        text = (f"Sampled: {trust.rows:,} rows trained, values measured on {trust.deals:,} fresh deals. In the "
                f"abstract game a trained responder wins {trust.bound:+.3f} bb a hand (95%: {low:+.3f} to "
                f"{high:+.3f}): exploitability there is at least that, and may be more. Hands and bet sizes that the "
                "abstraction leaves out are not counted.")  # fmt: skip
        if trust.difference is not None and trust.value_difference is not None:
            text += (f" A second run of training plays {100 * trust.difference:.0f}% of the decisions before the flop "
                     f"differently, and its first player wins {trust.value_difference:.3f} bb more or less."
                     )  # fmt: skip
        if self.question.players > 2:
            text += " With more than two players CFR need not converge to an equilibrium."
        return text

    @cached_property
    def reaches(self) -> Floats:
        """[P, players, C]  how likely each player acts so that a node is reached."""
        return reaches(self.nodes, self.strategy)

    def at(self, line: str = "") -> PreflopNode:
        """The node that a line of actions leads to: "raise 2.5, call"."""
        return PreflopNode(self, self.nodes.at(line))

    @property
    def decisions(self) -> list[PreflopNode]:
        """All decisions before the flop."""
        return [PreflopNode(self, node) for node in self.nodes.decisions]

    def spot(self, line: str, board: str, **options: Any) -> Spot:
        """The spot after a line of actions on a board; options: as of kibitz.spot. Chips are in the unit of the
        blinds."""
        node = self.at(line)
        inside = node.seats_inside
        if not node.is_flop or len(inside) != 2:
            raise GameError(f"after {line!r} no flop comes for two players who can still bet")
        number = class_of().astype(np.int64)
        ranges = [node.weights(seat)[number] for seat in inside]
        options = {"chip": self.question.unit, **options}
        return spot_of(board, ranges, node.pot, node.behind, **options)


def mean_values(weights: Floats, values: Floats) -> Floats:
    """[actions]  means of values over hands by their weights, both [actions, C]; NaN where no hand is."""
    total = weights.sum(axis=1)
    known = np.where(np.isfinite(values), values, 0.0)
    means = np.full(len(total), np.nan)
    return np.asarray(np.divide((weights * known).sum(axis=1), total, out=means, where=total > 1e-15))


class PreflopNode(LineNode):
    """What happens after one line of actions."""

    def __init__(self, solution: PreflopSolution, node: int) -> None:
        super().__init__(solution, node)
        self.solution = solution

    @property
    def strategy(self) -> Floats:
        """[actions, C]"""
        return self.solution.strategy[self.node]

    @property
    def values(self) -> Floats:
        """[actions, C]  big blinds that an action wins from here on: a fold wins 0."""
        return np.asarray(self.solution.won[self.node] + self.paid[self.turn])

    @property
    def errors(self) -> Floats:
        """[actions, C]  halves of 95% intervals of the values."""
        return self.solution.errors[self.node]

    @property
    def means(self) -> Floats:
        """[actions]  what each wins, over the hands that take it."""
        own = self.solution.met[self.node] * self.solution.reaches[self.node, self.turn]
        return mean_values(self.strategy * own, self.values)

    @property
    def reach(self) -> float:
        return float(self.solution.reach[self.node])

    @property
    def frequencies(self) -> Floats:
        """[actions]  how often each is taken here, over all hands."""
        below = self.solution.reach[self.nodes.children[self.node]]
        return np.asarray(below / max(self.reach, 1e-300))

    @property
    def paid(self) -> Floats:
        """[players]  big blinds put in."""
        return np.asarray(self.nodes.paid[self.node] / CHIPS)

    @property
    def is_flop(self) -> bool:
        """Whether a flop comes here and players can bet on it."""
        seats = self.seats_inside
        if self.turn >= 0 or len(seats) < 2:
            return False
        stacks = self.question.definition.stacks or ()
        return sum(bool(self.nodes.paid[self.node, seat] < stacks[seat]) for seat in seats) > 1

    @property
    def seats_inside(self) -> list[int]:
        """Seats that have not folded, in the order in which they act after the flop."""
        players = self.question.players
        order = [1, 0] if players == 2 else [*range(players - 2, players), *range(players - 2)]
        return [seat for seat in order if not self.nodes.folded[self.node, seat]]

    @property
    def pot(self) -> float:
        """In the unit of the blinds."""
        return float(self.nodes.paid[self.node].sum() * self.question.unit)

    @property
    def behind(self) -> list[float]:
        """Of those inside, in their order."""
        stacks = self.question.definition.stacks or ()
        return [float(stacks[seat] - self.nodes.paid[self.node, seat]) * self.question.unit
                for seat in self.seats_inside]  # fmt: skip

    def weights(self, seat: int) -> Floats:
        """[C]  the range with which a seat comes here; the class that comes most often has 1."""
        own = self.solution.reaches[self.node, seat]
        most = float(own.max())
        return np.where(own > NEVER, own / most, 0.0) if most > NEVER else np.zeros_like(own)

    def range(self, seat: int) -> str:
        """The same as a text that `kibitz poker spot --ranges` reads."""
        return written(self.weights(seat))

    def action_range(self, action: str) -> str:
        """The hands that take an action here, with how often they do."""
        comes = self.solution.reaches[self.node, self.turn] > NEVER
        return written(self.strategy[self.actions.index(action)] * comes)
