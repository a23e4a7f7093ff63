"""What strategies win from each other and earn from all others, exactly or on drawn boards, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.whole.drawn import interval


class Winnings(NamedTuple):
    """What one strategy wins from another, thousandths of a big blind a hand."""

    seed: int
    mean: float
    error: float | None  # half of the 95% interval of an estimate; None: exact, over all boards
    moved: float = 0.0  # what it changed over the last doubling of the training, where that was measured
    freedom: float = math.inf  # degrees of freedom of the interval

    def error_of(self, together: int) -> float | None:
        """What it is unsure by, where so many claims are judged together."""
        return None if self.error is None else widened(self.error, together, self.freedom) + abs(self.moved)

    def text(self, together: int = 1) -> str:
        """Exact figures have three digits; intervals are those of so many claims together."""
        error = self.error_of(together)
        if error is not None and math.isinf(error):
            return f"{self.mean:.2f}, and it is unknown how much that still changes"
        return f"{self.mean:.3f}" if error is None else f"{self.mean:.2f} ± {error:.2f}"


def widened(error: float, claims: int, freedom: float = math.inf) -> float:
    """Half of a 95% interval, as it is where so many claims are judged together (Bonferroni). freedom: degrees of
    freedom of Student's t that it was made with."""
    from scipy.special import stdtrit

    def above(share: float) -> float:
        return NormalDist().inv_cdf(1 - share) if math.isinf(freedom) else float(stdtrit(freedom, 1 - share))

    return error * above(0.025 / max(1, claims)) / above(0.025)


def freedom_of(by_draw: Sequence[Sequence[float]] | NDArray[np.float64] | None) -> float:
    """Degrees of freedom of an interval from draws of strata (`kibitz.poker.whole.drawn.interval`)."""
    return math.inf if by_draw is None else float(len(by_draw[0]) * (len(by_draw) - 1))


@dataclass(frozen=True)
class Earnings:
    """What strategies win from each other on the same drawn boards, and in the mean from all others of the table."""

    by_draw: dict[tuple[str, str], NDArray[np.float64]]  # (one, other): [draws, strata]
    names: tuple[str, ...]
    together: int  # claims that are judged together, for all of which intervals are 95%
    seed: int = 0

    def of(self, name: str) -> Winnings:
        return self._estimate(self._mean(name))

    def more(self, one: str, other: str) -> Winnings:
        """By how much the earnings of one are above those of another."""
        return self._estimate(self._mean(one) - self._mean(other))

    def _pair(self, one: str, other: str) -> NDArray[np.float64]:
        return self.by_draw[one, other] if (one, other) in self.by_draw else -self.by_draw[other, one]

    def _mean(self, name: str) -> NDArray[np.float64]:
        others = [other for other in self.names if other != name]
        return np.asarray(sum(self._pair(name, other) for other in others) / len(others))

    def _estimate(self, by_draw: NDArray[np.float64]) -> Winnings:
        mean, error = interval(by_draw)
        return Winnings(self.seed, mean, widened(error, self.together, freedom_of(by_draw)))


def earnings(
    estimates: Iterable[dict[str, Any]], names: Sequence[str], together: int, seed: int = 0
) -> Earnings | None:  # fmt: skip
    """By estimates on the same boards; None where pairs are missing. Strategies are trained to one end here."""
    by_boards: dict[tuple[int, ...], dict[tuple[str, str], NDArray[np.float64]]] = {}
    for each in estimates:
        if each["seed"] == seed and {each["one"], each["other"]} <= set(names):
            of = by_boards.setdefault((each["boards"], each["draws"]), {})
            of[each["one"], each["other"]] = np.array(each["by_draw"], np.float64)
    whole = len(names) * (len(names) - 1) // 2
    every = [by_boards[boards] for boards in sorted(by_boards)
             if len({frozenset(pair) for pair in by_boards[boards]}) == whole]  # fmt: skip
    if not every:
        return None
    by_draw = every[-1]  # on most boards
    return Earnings(by_draw, tuple(names), together, seed)


@dataclass(frozen=True)
class ExactEarnings:
    """The same where all pairs of a seed are known exactly."""

    pairs: dict[tuple[str, str], float]
    names: tuple[str, ...]
    seed: int

    def of(self, name: str) -> Winnings:
        others = [other for other in self.names if other != name]
        return Winnings(self.seed, sum(self.won(name, other) for other in others) / len(others), None)

    def more(self, one: str, other: str) -> Winnings:
        return Winnings(self.seed, self.of(one).mean - self.of(other).mean, None)

    def won(self, one: str, other: str) -> float:
        return self.pairs[one, other] if (one, other) in self.pairs else -self.pairs[other, one]


def exact_earnings(
    pairs: Mapping[tuple[str, str, int], dict[str, Any]], names: Sequence[str], seed: int
) -> ExactEarnings | None:  # fmt: skip
    """None where pairs are missing."""
    every = {(one, other): float(each["mean"]) for (one, other, at), each in pairs.items()
             if at == seed and {one, other} <= set(names)}  # fmt: skip
    whole = len(names) * (len(names) - 1) // 2
    return ExactEarnings(every, tuple(names), seed) if len({frozenset(of) for of in every}) == whole else None
