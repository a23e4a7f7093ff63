"""Regret matching and average strategies, one row at a time: for all walks and players, whatever keeps their rows."""

from __future__ import annotations

from kibitz.core.devices import real
from kibitz.core.jit import U64, small_part

CLOSED = -1e300  # a regret at or below this marks an action that is never played


@small_part
def match_regrets(row, first, width, probability):
    """probability[0:width] by regret matching on row[first:]; uniform over open actions where nothing is regretted."""
    total = real(0.0)
    for a in range(width):
        regret = max(real(row[first + a]), real(0.0))
        probability[a] = regret
        total += regret
    if total > 0.0:
        for a in range(width):
            probability[a] = probability[a] / total
        return
    open_actions = 0
    for a in range(width):
        if row[first + a] > CLOSED:
            open_actions += 1
    for a in range(width):
        probability[a] = real(1.0) / real(open_actions) if row[first + a] > CLOSED else real(0.0)


@small_part
def match_quickly(row, first, width, probability):
    """As `match_regrets` with one division for all actions, whose results differ in the last bit."""
    total = 0.0
    for a in range(width):
        regret = max(row[first + a], 0.0)
        probability[a] = regret
        total += regret
    if total > 0.0:
        scale = 1.0 / total
        for a in range(width):
            probability[a] *= scale
        return
    match_regrets(row, first, width, probability)


@small_part
def average_of(average, weights, regret, first, width, probability):
    """probability[0:width] of the average strategy, whose weights are average[weights:]; by regrets, which are
    regret[first:], where it was never played."""
    total = real(0.0)
    for a in range(width):
        probability[a] = average[weights + a]
        total += probability[a]
    if total <= 0.0:
        match_regrets(regret, first, width, probability)
        return
    for a in range(width):
        probability[a] /= total


@small_part
def greedy_of(row, first, width, probability):
    """All on the action that is regretted most."""
    best = U64(0)
    for a in range(width):
        if row[first + a] > row[first + best]:
            best = a
    for a in range(width):
        probability[a] = 1.0 if a == best else 0.0
