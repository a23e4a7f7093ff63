"""The solution of an endgame: its strategy, what it is worth by hand, and how far from an equilibrium it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError, SolverError
from kibitz.toepen.endgame_passes import EndgamePasses

if TYPE_CHECKING:
    from kibitz.toepen.kernels.endgame_plan import Lower, Upper

Floats = NDArray[np.float64]


@dataclass
class Solution:
    """What `Endgame.solve` found. `probabilities` has all columns of both seats."""

    endgame: EndgamePasses
    ranges: Floats  # [2, hands], as used
    declines: int  # the seat that may decline to enter, -1 if none
    gadget: Floats | None
    gamma: float
    _upper: Upper = field(repr=False)
    _lower: Lower = field(repr=False)
    iterations: int = 0
    seconds: float = 0.0
    _weight: float = 0.0
    probabilities: Floats = field(default_factory=lambda: np.zeros(0), repr=False)
    enters: Floats | None = None  # probability of entering by hand, of the seat that may decline

    def _finish(self) -> None:
        """Turn averages into strategies, in double precision."""
        from kibitz.toepen.kernels.endgame_plan import EVALUATE, FINISH

        endgame, cut = self.endgame, self.endgame._cut
        high, low = self._upper.strategy.copy(), self._lower.strategy.astype(np.float64)
        upper = endgame._upper(self.ranges, high, self._upper.average, self.gadget)
        lower = endgame._lower(low, self._lower.average.astype(np.float64))
        endgame._passes(upper, lower, np.array([self._weight]), EVALUATE, FINISH, declines=self.declines)
        self.probabilities = np.concatenate([high[:cut], low])
        if self.gadget is not None:
            self.enters = high[cut + (len(high) - cut) // 2 :][endgame._order]

    def strategy(self, seat: int, public: Sequence[str | int], hand: int) -> dict[str, float]:
        """Probability by action of a seat's turn, given what was done since the endgame began (see `locate`)."""
        spot = self.endgame.locate(public)
        if not spot.over and spot.seat != seat:
            raise GameError(f"after {spot._text()} it is seat {spot.seat}'s turn, not seat {seat}'s")
        found = spot.columns(hand)
        return {name: 1.0 if x < 0 else float(self.probabilities[x]) for name, x in found.items()}

    @cached_property
    def _reach(self) -> Floats:
        """Ranges, with the probability of entering."""
        ranges = self.ranges.copy()
        if self.enters is not None:
            ranges[self.declines] *= self.enters
        return ranges

    @cached_property
    def _worth(self) -> list[Floats]:
        from kibitz.toepen.kernels.endgame_plan import EVALUATE

        return self.endgame._values(self.probabilities, self._reach, EVALUATE, 3)

    @cached_property
    def _best(self) -> list[Floats]:
        from kibitz.toepen.kernels.endgame_plan import RESPOND

        return [
            self.endgame._values(self.probabilities.copy(), self._reach, RESPOND, 1 << seat)[0] for seat in range(2)
        ]

    @cached_property
    def _mass(self) -> list[Floats]:
        return [self.endgame.compatible(self._reach[1 - seat]) for seat in range(2)]

    def value(self, seat: int) -> Floats:
        """What each hand of a seat gets when both play the solution (0 where no hand of the other goes with it)."""
        return ratio(self._worth[seat], self._mass[seat])

    def best(self, seat: int) -> Floats:
        """What each hand of a seat could get by a best response to the other's solution."""
        return ratio(self._best[seat], self._mass[seat])

    def _total(self, seat: int, worth: list[Floats], respond: bool) -> float:
        """Expected payoff of a seat, the choice to enter included; worth[seat] are its values by hand."""
        ranges = self.ranges
        deals = float(ranges[0] @ self.endgame.compatible(ranges[1]))
        mine = worth[seat]
        if self.gadget is None or self.enters is None:
            return float(ranges[seat] @ mine) / deals
        instead = self.gadget[self.declines]
        if seat == self.declines:
            mine = np.maximum(instead, mine) if respond else instead + self.enters * (mine - instead)
            return float(ranges[seat] @ mine) / deals
        declined = ranges[self.declines] * (1.0 - self.enters)
        return float(ranges[seat] @ mine - declined @ instead) / deals

    @property
    def expected(self) -> float:
        """Seat 0's expected payoff when both play the solution."""
        return self._total(0, self._worth, False)

    @property
    def nash_conv(self) -> float:
        """What both best responses gain together, by an exact computation: 0 at an equilibrium."""
        return self._total(0, self._best, True) + self._total(1, self._best, True)

    @property
    def exploitability(self) -> float:
        """nash_conv divided by the number of seats."""
        return self.nash_conv / 2


def begin(
    endgame: EndgamePasses, ranges: Floats, declines: int, gadget: Floats | None, start: Solution | ArrayLike | None,
    confidence: float, gamma: float, threads: int,
) -> Solution:  # fmt: skip
    """A solution with no iteration done, or with those of the one it goes on from; see `Endgame.solve`."""
    from kibitz.toepen.kernels.endgame_plan import KEEP, WARM

    cut = endgame._cut
    high = np.full(cut + (2 * int(endgame._deck.size[endgame.cards_each]) if gadget is not None else 0), 0.5)
    if isinstance(start, Solution) and start.endgame is not endgame:
        raise SolverError("start: a solution of another endgame")
    if isinstance(start, Solution):
        strategy: Floats = np.concatenate([start._upper.strategy[:cut], start._lower.strategy])
    else:
        strategy = endgame.uniform() if start is None else endgame._strategy(start)
    high[:cut] = strategy[:cut]
    upper = endgame._upper(ranges, high, None, gadget, True, threads)
    lower = endgame._lower(strategy[cut:].astype(np.float32), None, True, threads)
    solution = Solution(endgame, ranges, declines, gadget, gamma, upper, lower)
    if isinstance(start, Solution):
        upper.regret[:cut], lower.regret[:] = start._upper.regret[:cut], start._lower.regret
        same = (
            declines == start.declines and gamma == start.gamma and np.array_equal(ranges, start.ranges)
            and (gadget is None or start.gadget is None or np.array_equal(gadget, start.gadget))
        )  # fmt: skip
        if same:
            for mine, old in zip(upper[:3], start._upper[:3], strict=True):
                mine[:] = old
            lower.average[:] = start._lower.average
            solution.iterations, solution._weight = start.iterations, start._weight
    elif start is not None:
        bet_with_winners(endgame, lower.strategy)
        exact = endgame._lower(lower.strategy.astype(np.float64), None, True)
        endgame._passes(upper, exact, np.zeros(1), WARM, KEEP, scale=confidence, declines=declines)
        lower.regret[:] = exact.regret
    return solution


def bet_with_winners(endgame: EndgamePasses, lower: NDArray[Any]) -> None:
    """To bet with the card that wins the last trick is never worse than to check: solving takes it for granted."""
    lanes = endgame._deck.lanes
    for batch in endgame._plan.batch.tolist():
        may, other, count, column = batch[2], batch[3], batch[4], batch[6]
        n = count * lanes
        column += 4 * n * may
        for path in range(1 + may):
            if path or other:
                lower[column : column + n] = 0.0
                lower[column + n : column + 2 * n] = 1.0
                column += 6 * n


def ratio(worth: Floats, mass: Floats) -> Floats:
    """Values by hand from counterfactual ones; 0 where no hand of the other goes with a hand."""
    some = mass > 1e-14
    return np.where(some, worth / np.where(some, mass, 1.0), 0.0)
