"""What a strategy does and gets in self-play, sampled: for games too large to be measured exactly."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate.match import chosen, draws
from kibitz.evaluate.score import Score, scored
from kibitz.forms.strategy import Strategy
from kibitz.games.machine import Machine
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of


@dataclass
class Decision:
    """An infoset that play came to."""

    seat: int
    infoset: str
    actions: tuple[str, ...]
    probabilities: list[float]
    visits: int = 0
    taken: list[int] = field(default_factory=list)  # how often each action was
    won: list[float] = field(default_factory=list)  # the sum of what the seat got after it

    @property
    def values(self) -> list[float | None]:
        """The mean payoff after each action; None for one that was never taken."""
        return [total / times if times else None for total, times in zip(self.won, self.taken, strict=True)]


@dataclass
class Sample:
    """Self-play of so many deals."""

    deals: int
    value: tuple[Score, ...]  # by seat
    decisions: list[Decision]  # seat by seat, those visited most first

    def reach(self, decision: Decision) -> float:
        """How often play comes to an infoset: visits a deal."""
        return decision.visits / self.deals


def self_play(machine: Machine, strategy: Strategy, deals: int, seed: int = 0) -> Sample:
    """Play deals with the same strategy in all seats."""
    rules, infosets = machine.rules, dict[tuple[int, str], Decision]()
    won: NDArray[np.float64] = np.zeros((deals, machine.players))
    for number in range(deals):
        hand, path = machine.hand(seed, number), list[tuple[Decision, int]]()
        state, numbers = hand.start(), draws(hand.after)
        while (turn := rules.turn(state)) != TERMINAL:
            if turn == CHANCE:
                state = hand.draw(state)
                continue
            view = view_of(rules, state, turn)
            here = infosets.get((turn, view.infoset))
            if here is None:
                plays = strategy.rows(turn, [view.infoset], view.actions)[0].tolist()
                none = [0] * len(plays)
                here = Decision(turn, view.infoset, view.actions, plays, 0, none, [0.0] * len(plays))
                infosets[turn, view.infoset] = here
            a = chosen(here.probabilities, next(numbers))
            path.append((here, a))
            state = rules.after(state, view.choices[a])
        won[number] = [float(x) for x in rules.payoff(state)]
        for here, a in path:
            here.visits += 1
            here.taken[a] += 1
            here.won[a] += won[number, here.seat]
    value = tuple(scored(deals, float(column.sum()), float((column * column).sum())) for column in won.T)
    return Sample(deals, value, sorted(infosets.values(), key=lambda each: (each.seat, -each.visits, each.infoset)))
