"""What a pair of strategies of a spot is worth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Gains(NamedTuple):
    """What a pair of strategies is worth, in chips a hand, from the middle: half of the pot is 0."""

    value: Floats  # [2]  what each player wins
    best: Floats  # [2]  what it wins at most against the other's strategy

    @property
    def exploitability(self) -> float:
        """The mean of what both can still gain, in chips, as postflop-solver counts it."""
        return float((self.best - self.value).sum()) / 2
