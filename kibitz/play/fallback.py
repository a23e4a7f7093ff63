"""The fallback where a strategy has no row, defined in one place.

A strategy is *silent* in an infoset for which it has no row, or a row that nothing was ever added to: training never
came there, or a table was full. The rules:

    rows (`Compiled`)     every action is as likely as the others. `act` and compiled matches do the same
    action abstraction    such a strategy checks or calls (`kibitz.poker.nolimit`), in compiled matches too: a random
                          all-in bet would be a bad fallback
    the ACPC protocol     an agent that raises an error in place of an answer calls, or folds where it cannot
                          (`kibitz.poker.acpc.seats.choose`)

The agents count how often that happened (`asked`, `unanswered`), where they are asked in Python. Rows by place
(`PlacedRows`) are played from bytes, in which a row without anything is uniform: there it is not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kibitz.evaluate.match import Agent, meeting, play
from kibitz.games.machine import Machine

SAMPLED = 50  # deals of a compiled match that are played again to count


def call_of(actions: Sequence[str]) -> str:
    """The action of a player who gave no valid answer."""
    return next((word for word in ("call", "fold") if word in actions), actions[0])


def fold_of(actions: Sequence[str]) -> str:
    """The action of a player who has left."""
    return next((word for word in ("fold", "call") if word in actions), actions[0])


@dataclass(frozen=True)
class Silence:
    """How often a strategy was asked, and how often it had no row."""

    asked: int
    unanswered: int

    def __str__(self) -> str:
        return f"no entry in {self.unanswered:,} of {self.asked:,} decisions"

    def data(self) -> dict[str, int]:
        return {"asked": self.asked, "unanswered": self.unanswered}


def silence_of(agent: Any) -> Silence | None:
    """Of an agent that counts."""
    asked = getattr(agent, "asked", None)
    return Silence(asked, agent.unanswered) if isinstance(asked, int) else None


def sampled_silence(machine: Machine, agents: Sequence[Agent], seed: int, deals: int) -> list[Silence | None]:
    """The same for a compiled match, which counts nothing: its first deals are played again, in Python or compiled."""
    table, players = meeting(machine, agents)
    counted = None if players is None else table.silence(players, seed, deals)
    if counted is not None:
        return [None if each is None else Silence(*each) for each in counted]
    count = len(agents)
    before = [silence_of(agent) for agent in agents]
    for number in range(min(deals, SAMPLED)):
        for turned in range(count):
            seating = [agents[(seat + turned) % count] for seat in range(count)]
            play(machine.rules, seating, machine.hand(seed, number))
    pairs = [(silence_of(agent), old) for agent, old in zip(agents, before, strict=True)]
    return [
        None if new is None or old is None else Silence(new.asked - old.asked, new.unanswered - old.unanswered)
        for new, old in pairs
    ]
