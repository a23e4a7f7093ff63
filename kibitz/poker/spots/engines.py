"""Which engine solves a spot."""

from __future__ import annotations

from kibitz.poker.spots.engine import SpotEngine, engine_of
from kibitz.poker.spots.engine_cpu import MergedEngine
from kibitz.poker.spots.spot import Spot, SpotTree


def engine_for(spot: Spot, tree: SpotTree, threads: int | None = None) -> SpotEngine:
    """An engine that counts each player's payoffs where they are not zero-sum; else the usual one."""
    if spot.rake or spot.prizes:
        return MergedEngine(spot, tree, threads)
    return engine_of(spot, tree, threads)
