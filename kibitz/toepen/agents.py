"""Players of Toepen: compiled ones that can be asked for all hands at once, search and exploitation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.play.compiled import Compiled
from kibitz.toepen.states import words_of

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

    def model(self, counts: Floats, prior: float) -> Any:
        """The player bent by counts of what was seen (`kibitz.toepen.kernels.play`)."""
        from kibitz.toepen.kernels.play import OpponentModel

        return OpponentModel(self.player, counts, prior)

    def likelihoods(
        self, seat: int, history: Sequence[str], hands: Words, counts: Floats = NO_COUNTS, prior: float = 0.0
    ) -> Floats:
        """The probability that it makes the moves of a seat in a public history, by the hand dealt to the seat."""
        from kibitz.toepen.kernels.play import likelihoods

        result = np.zeros(len(hands))
        likelihoods(self.rules, self.model(counts, prior), seat, words_of(history), hands, result, np.zeros(4))
        return result


def anyone(machine: Any) -> ToepenPlayer:
    """One who might do anything: what it cannot do the rules forbid."""
    from kibitz.solvers.blueprint import player
    from kibitz.solvers.kernels.players import UNIFORM

    return ToepenPlayer(machine, player(machine, UNIFORM), "uniform")
