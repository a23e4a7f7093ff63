"""Mean results, and their confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05  # intervals hold the truth with probability 1 - LEVEL


@dataclass(frozen=True)
class Score:
    """A mean per hand, with its confidence interval."""

    mean: float
    error: float  # standard error of the mean
    interval: tuple[float, float]  # holds the truth with probability 95%

    def data(self) -> dict[str, object]:
        """As plain values; errors and intervals that one deal does not give are None."""
        low, high = (x if math.isfinite(x) else None for x in self.interval)
        return {"mean": self.mean, "error": self.error if math.isfinite(self.error) else None, "interval": [low, high]}


def scored(count: int, total: float, squares: float, scale: float = 1.0, level: float = LEVEL) -> Score:
    """Mean, standard error and interval from a sum and a sum of squares, all times `scale`."""
    from scipy.special import stdtrit

    if count < 2:
        mean = float(scale * total) if count else 0.0
        return Score(mean, math.inf, (-math.inf, math.inf))
    mean = total / count
    variance = max(0.0, squares - total * mean) / (count - 1)
    error = float(scale * math.sqrt(variance / count))
    half = error * float(stdtrit(count - 1, 1.0 - level / 2))
    mean = float(scale * mean)
    return Score(mean, error, (mean - half, mean + half))


def score_of(won: NDArray[np.float64], level: float = LEVEL) -> Score:
    """The mean of independent results, with an interval."""
    return scored(len(won), float(won.sum()), float((won * won).sum()), 1.0, level)


class DealSums(NamedTuple):
    """Sums over some deals, and sums of squares: [n, n + 2], by player what it won in each seat, in all, and its edge.

    A player's *edge* is what it wins more than the others do, times (n - 1) / n: in a zero-sum game what it wins.
    """

    deals: int
    total: NDArray[np.float64]
    squares: NDArray[np.float64]


def sums_of(seatings: NDArray[np.int64], won: NDArray[np.float64]) -> DealSums:
    """won: [deals, k, n]  what each player won in each seating."""
    n = seatings.shape[1]
    total, squares = np.zeros((n, n + 2)), np.zeros((n, n + 2))
    each = won.sum(axis=1)
    edge = each - (each.sum(axis=1, keepdims=True) / n)
    for player in range(n):
        columns = [
            won[:, seatings[:, seat] == player, player].sum(axis=1) for seat in range(n)
        ]  # by seat, in all seatings that have the player there
        both = np.column_stack([*columns, each[:, player], edge[:, player]])
        total[player] = both.sum(axis=0)
        squares[player] = (both * both).sum(axis=0)
    return DealSums(len(won), total, squares)


class Tally:
    """Sums of a match of n players on n seats. Sums of deals come in order, so the result is always the same."""

    def __init__(self, seatings: NDArray[np.int64]) -> None:
        self.seatings = seatings  # [k, n]  the player in each seat
        self.deals = 0
        n = seatings.shape[1]
        self._sum, self._square = np.zeros((n, n + 2)), np.zeros((n, n + 2))

    def add(self, sums: DealSums) -> None:
        """The next deals."""
        self._sum += sums.total
        self._square += sums.squares
        self.deals += sums.deals

    def _scored(self, player: int, column: int, times: int, level: float = LEVEL) -> Score:
        return scored(self.deals, self._sum[player, column], self._square[player, column], 1.0 / times, level)

    def score(self, player: int = 0) -> Score:
        """What a player wins per hand, over all seatings."""
        return self._scored(player, self.seatings.shape[1], len(self.seatings))

    def by_seat(self, player: int, seat: int) -> Score:
        return self._scored(player, seat, int((self.seatings[:, seat] == player).sum()))

    def edge(self, player: int = 0, level: float = LEVEL) -> Score:
        return self._scored(player, self.seatings.shape[1] + 1, len(self.seatings), level)
