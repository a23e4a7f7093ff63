"""Players of Toepen: compiled ones that can be asked for all hands at once, search and exploitation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.play.compiled import Compiled
from kibitz.toepen.words import words_of

Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
NO_COUNTS = np.zeros((1, 4))


class ToepenPlayer(Compiled):
    """A compiled player, and what it does with each of some hands."""

    game: Any

    @property
    def rules(self) -> Any:
        """As kernels take them."""
        return self.machine.game

    def answers(
        self, seat: int, history: Sequence[str], hands: Words, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> tuple[Floats, Words]:
        """What it does in a seat after a public history, for each of some hands as they were dealt: [n, 4], and the
        cards of each hand's actions, a byte each. With counts: as a model bent by them."""
        from kibitz.toepen.kernels.play import answers

        result, actions = np.zeros((len(hands), 4)), np.zeros(len(hands), np.uint64)
        answers(self.rules, self.player, counts, prior, seat, words_of(history), hands, result, actions)
        return result, actions

    def likelihoods(
        self, seat: int, history: Sequence[str], hands: Words, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> Floats:
        """The probability that it makes the moves of a seat in a public history, by the hand dealt to the seat."""
        from kibitz.toepen.kernels.play import likelihoods

        result = np.zeros(len(hands))
        likelihoods(self.rules, self.player, counts, prior, seat, words_of(history), hands, result)
        return result


def anyone(machine: Any) -> ToepenPlayer:
    """One who might do anything: what it cannot do the rules forbid."""
    from kibitz.solvers.blueprint import player
    from kibitz.solvers.kernels.players import UNIFORM

    return ToepenPlayer(machine, player(machine, UNIFORM), "uniform")
