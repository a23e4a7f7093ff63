"""Poker agents that always take the same action."""

from __future__ import annotations

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent
from kibitz.games.views import View

# name -> the first of these actions that is offered
PLAIN = {"always-call": ("call",), "always-fold": ("fold", "call"), "always-raise": ("raise", "call")}


class Always(Agent):
    """An agent that takes the first legal action of a list."""

    def __init__(self, name: str, game: str) -> None:
        self.name, self.game, self.wanted = name, game, PLAIN[name]

    def act(self, view: View) -> list[float]:
        taken = next((action for action in self.wanted if action in view.actions), None)
        sizes = not set(view.actions) <= {"fold", "call", "raise"}  # of raises, without limit: none of them is "raise"
        if taken is None or ("raise" in self.wanted and sizes):
            legal = ", ".join(view.actions)
            raise GameError(f"{self.name} cannot act in {self.game}, where the legal actions are {legal}")
        return [float(action == taken) for action in view.actions]
