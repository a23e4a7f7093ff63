"""Abstraction buckets of poker hands: GameShrink, percentile, expectation-based, potential-aware."""
