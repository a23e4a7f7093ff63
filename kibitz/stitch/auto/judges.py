"""Judges of a search: does a strategy improve on the one before it?

    ExactJudge   by exploitability in the real game: NashConv / players. There is nothing random in it
    MatchJudge   by matches against the strategy before, for games where exploitability cannot be had

A search that tries many strategies in matches finds one that was lucky. So the k-th try is judged at the level
0.05 / (k (k + 1)): all tries together err in one search of twenty, however many there are. And the deals by which a
strategy was chosen are never those by which it is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.evaluate.score import LEVEL, Score
from kibitz.forms.protocol import GradientForm

Floats = NDArray[np.float64]
CHOOSING, REPORTING = 0, 1  # streams of seeds
Play = Callable[[Any, Any, int, int], Score]  # one, other, deals, seed -> what `one` wins per hand


class Judgement(NamedTuple):
    """What a strategy gains over another, and whether that is enough to keep it."""

    gain: float
    error: float  # standard error; 0: exact
    better: bool


class Judge(Protocol):
    """Compares strategies, as a setting keeps them."""

    exact: bool
    unit: str  # of gains

    def gain(self, strategy: Any, before: Any) -> float:
        """A quick look, for pilots: not corrected for many of them."""

    def judge(self, strategy: Any, before: Any) -> Judgement:
        """Whether to keep a strategy; counts as a try."""

    def loss(self, strategy: Any) -> float | None:
        """Exploitability, where the judge knows it."""

    def report(self, strategy: Any, base: Any) -> dict[str, Any] | None:
        """What the strategy that was chosen gains over the base, by other chance than it was chosen by; None if there
        is no chance in it."""

    def data(self) -> dict[str, Any]: ...


class ExactJudge:
    """Exploitability, as a sum over all play. least: gains below are rounding errors of solvers, not improvements."""

    exact, unit = True, "exploitability"

    def __init__(self, form: GradientForm, least: float = 1e-9) -> None:
        self.form, self.least = form, least
        self._before: tuple[Floats, float] | None = None  # the last strategy that others were compared with, its loss

    def loss(self, strategy: Floats) -> float:
        return float(self.form.measure(strategy).nash_conv) / self.form.seats

    def gain(self, strategy: Floats, before: Floats) -> float:
        """A search compares many strategies with one, which is measured once. Numbers are compared rather than hashed:
        that is faster."""
        if self._before is None or not np.array_equal(self._before[0], before):
            self._before = np.array(before), self.loss(before)
        return self._before[1] - self.loss(strategy)

    def judge(self, strategy: Floats, before: Floats) -> Judgement:
        gain = self.gain(strategy, before)
        return Judgement(gain, 0.0, gain > self.least)

    def report(self, strategy: Floats, base: Floats) -> None:
        return None

    def data(self) -> dict[str, Any]:
        return {"judge": "exact", "unit": self.unit}


class MatchJudge:
    """Winnings per hand against the strategy before. play: a duplicate match; deals of a pilot are a quarter."""

    exact, unit = False, "winnings per hand"

    def __init__(self, play: Play, deals: int = 20_000, seed: int = 0) -> None:
        self.play, self.deals, self.seed = play, deals, seed
        self.tries = 0  # judged so far
        self._drawn = {CHOOSING: 0, REPORTING: 0}

    def gain(self, strategy: Any, before: Any) -> float:
        return self.play(strategy, before, max(2, self.deals // 4), self.next_seed(CHOOSING)).mean

    def judge(self, strategy: Any, before: Any) -> Judgement:
        self.tries += 1
        score = self.play(strategy, before, self.deals, self.next_seed(CHOOSING))
        return Judgement(score.mean, score.error, score.mean > self.margin(self.tries) * score.error)

    def loss(self, strategy: Any) -> None:
        return None

    def report(self, strategy: Any, base: Any) -> dict[str, Any]:
        """On deals that nothing was chosen by."""
        return self.play(strategy, base, self.deals, self.next_seed(REPORTING)).data()

    def margin(self, tries: int) -> float:
        """Standard errors that the mean of the k-th try must lie above zero: one-sided."""
        from scipy.special import ndtri

        return -float(ndtri(LEVEL / (tries * (tries + 1))))

    def next_seed(self, stream: int) -> int:
        """Seeds of the two streams never meet: a stream is part of the key."""
        number = self._drawn[stream]
        self._drawn[stream] += 1
        key = np.random.SeedSequence(self.seed, spawn_key=(stream, number))
        return int(key.generate_state(1, np.uint64)[0] >> np.uint64(1))

    def data(self) -> dict[str, Any]:
        return {"judge": "matches", "unit": self.unit, "deals": self.deals, "tries": self.tries}
