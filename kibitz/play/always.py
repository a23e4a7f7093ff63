"""Players of poker that do the same whatever they hold."""

from __future__ import annotations

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent
from kibitz.games.views import View

# name -> the first of these actions that is offered
PLAIN = {"always-call": ("call",), "always-fold": ("fold", "call"), "always-raise": ("raise", "call")}


class Always(Agent):
    """One who takes the first of some actions that is offered."""

    def __init__(self, name: str, game: str) -> None:
        self.name, self.game, self.wanted = name, game, PLAIN[name]

    def act(self, view: View) -> list[float]:
        taken = next((action for action in self.wanted if action in view.actions), None)
        sizes = not set(view.actions) <= {"fold", "call", "raise"}  # of raises, without limit: none of them is "raise"
        if taken is None or ("raise" in self.wanted and sizes):
            raise GameError(f"{self.name} does not know what to do in {self.game} where {', '.join(view.actions)} are")
        return [float(action == taken) for action in view.actions]
