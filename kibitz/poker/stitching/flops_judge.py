"""A judge of stitched strategies of hold'em: exploitability on a sample of the first boards, reported on all of them.

Best responses to a strategy on every n-th flop take seconds where all flops take minutes. All strategies of a search
are compared on the same flops, so nothing is random, and no strategy is measured twice on a sample. What was chosen on
a sample looks better there than it is; so it is reported on all flops, or on flops that nothing was chosen by.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.poker.rules.rules import Poker
from kibitz.poker.stitching.experts import BucketedBase
from kibitz.poker.whole.flops import SampledSweep
from kibitz.poker.whole.strategy import within_views
from kibitz.stitch.auto.judges import Judgement

WHOLE, APART = "whole", "apart"  # what is reported: all flops, or those that nothing was chosen by


def forget(sweep: SampledSweep) -> None:
    """Give back the memory of a sweep. What it has on a GPU is referred to in circles, and the next needs the room."""
    sweep.release()
    if sweep.device.on_gpu:
        gc.collect()


class FlopsJudge:
    """Exploitability: the mean of what best responses of both players win, in chips a hand.

    every    strategies are kept or taken back by every so many flops; quick: pilots are looked at on every so many
    reports  whole, apart, or nothing: where the result is measured afterwards
    """

    exact, unit = True, "exploitability"

    def __init__(
        self, rules: Poker, device: str = "cpu", every: int = 16, quick: int | None = None, reports: str = WHOLE,
        dtype: Any = np.float32,
    ) -> None:  # fmt: skip
        self.rules, self.device, self.dtype, self.reports = rules, device, dtype, reports
        self.every, self.quick = every, quick or every
        for name in ("every", "quick"):
            if getattr(self, name) < 1:
                raise SolverError(f"flops={getattr(self, name)} must be 1 or more")
        self.measured = 0  # sweeps that were asked for; those in the cache of sweeps count too
        self._known: dict[tuple[str, int, int], float] = {}

    def sweep(self, strategy: BucketedBase, every: int, without: int = 0) -> SampledSweep:
        one = within_views(strategy.layout, strategy.buckets, strategy.profile.probabilities, strategy.digest)
        return SampledSweep(self.rules, (one, one), every, self.dtype, self.device, without)

    def at(self, strategy: BucketedBase, every: int, without: int = 0) -> float:
        """Exploitability on a sample of flops; 1: on all."""
        key = strategy.digest, every, without
        if key not in self._known:
            self.measured += 1
            sweep = self.sweep(strategy, every, without)
            self._known[key] = float(sweep.best().mean())
            forget(sweep)
        return self._known[key]

    def loss(self, strategy: BucketedBase) -> float:
        return self.at(strategy, self.every)

    def gain(self, strategy: BucketedBase, before: BucketedBase) -> float:
        return self.at(before, self.quick) - self.at(strategy, self.quick)

    def judge(self, strategy: BucketedBase, before: BucketedBase) -> Judgement:
        gain = self.loss(before) - self.loss(strategy)
        return Judgement(gain, 0.0, gain > 1e-9)

    def report(self, strategy: BucketedBase, base: BucketedBase) -> dict[str, Any] | None:
        if self.reports not in (WHOLE, APART):
            return None
        without = min(self.every, self.quick) if self.reports == APART else 0
        before, after = (self.at(each, 1, without) for each in (base, strategy))
        return {"flops": "all" if not without else f"all but every {without}", "base": before,
                "exploitability": after, "gain": before - after}  # fmt: skip

    def data(self) -> dict[str, Any]:
        return {"judge": "flops", "unit": self.unit, "every": self.every, "quick": self.quick,
                "measured": self.measured}  # fmt: skip
