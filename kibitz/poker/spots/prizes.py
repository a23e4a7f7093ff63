"""Spots of a tournament: what ends of betting pay in prizes, by the Independent Chip Model.

The two players of the spot are not alone: others have chips too, and prizes are for the places that are left. A chip
that is lost costs more than a chip that is won brings, so both can lose by the same hand and the game is *not
zero-sum*. CFR then has no guarantee: the average strategies of two players without regret are a coarse correlated
equilibrium together, and need not be a Nash equilibrium one by one. What is measured stays exact: each player's value,
and its value at most against the other's strategy. If neither can gain more than e, the pair is an e-equilibrium.

Payoffs are counted from the value of the stacks if both took half of the pot back, as chips are. A player whose chips
are gone takes the last place of those who are left.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.tournaments.chip_model import MOST, checked_prizes, icm

Floats = NDArray[np.float64]
GONE = 1e-9  # chips: less is none


def prize_fault(prizes: Sequence[float], others: Sequence[float], rake: float) -> str | None:
    """What is wrong with the prizes of a spot, if anything is."""
    if not prizes:
        return "other stacks count only where there are prizes: give prizes, such as 50,30,20" if others else None
    try:
        checked_prizes(prizes)
    except GameError as error:
        return str(error)
    if len(others) + 2 > MOST:
        return f"{len(others) + 2} players are too many for the Independent Chip Model here: at most {MOST}"
    if any(not (np.isfinite(stack) and stack > 0) for stack in others):
        return "stacks of other players should be above 0 chips: leave out those without any"
    if len(prizes) > len(others) + 2:
        return f"there are {len(prizes)} prizes for {len(others) + 2} players: give the prizes of the places left"
    if rake:
        return "a tournament takes no rake from a pot: give rake or prizes, not both"
    return None


def values_of(stacks: Floats, others: Sequence[float], prizes: Sequence[float]) -> Floats:
    """[n, 2]  the values of both players' stacks, [n, 2], of which one may be without chips."""
    players = len(others) + 2
    last = float(prizes[players - 1]) if len(prizes) >= players else 0.0
    rest = np.broadcast_to(np.asarray(others, np.float64), (len(stacks), len(others)))
    values = np.full(stacks.shape, last)
    gone = stacks <= GONE
    here = ~gone.any(axis=1)
    values[here] = icm(np.concatenate([stacks, rest], axis=1)[here], prizes)[:, :2] if here.any() else 0.0
    for seat in (0, 1):
        alone = gone[:, 1 - seat] & ~gone[:, seat]
        if alone.any():
            left = np.concatenate([stacks[:, [seat]], rest], axis=1)[alone]
            values[alone, seat] = icm(left, prizes[: players - 1])[:, 0]
    return values


def prize_pays(
    chips: Floats, ended: NDArray[np.bool_], pot: float, stacks: Sequence[float], others: Sequence[float],
    prizes: Sequence[float],
) -> Floats:  # fmt: skip
    """[B, 2, 3]  what ends of betting pay in prizes, from what they pay in chips, counted from half of the pot."""
    before = np.array(stacks, np.float64) + pot / 2
    base = values_of(before[None], others, prizes)[0]
    pays = np.zeros_like(chips)
    for outcome in range(3):  # of player 0: it wins, ties, loses
        results = np.stack([chips[ended, 0, outcome], chips[ended, 1, 2 - outcome]], axis=1)
        unique, number = np.unique(results, axis=0, return_inverse=True)
        values = values_of(np.maximum(before + unique, 0.0), others, prizes)[number.ravel()] - base
        pays[ended, 0, outcome], pays[ended, 1, 2 - outcome] = values[:, 0], values[:, 1]
    return pays


def stake_of(pot: float, stacks: Sequence[float], others: Sequence[float], prizes: Sequence[float]) -> float:
    """What the pot is worth: the difference between winning and losing it now, the mean of both players."""
    behind = np.array(stacks, np.float64)
    values = values_of(behind + pot * np.eye(2), others, prizes)
    return float(values[0, 0] - values[1, 0] + values[1, 1] - values[0, 1]) / 2
