"""The Independent Chip Model (Malmuth-Harville): the values of stacks in prizes.

A player comes first with the probability of his share of the chips; without him the same is said of second place, and
so on. So P(order) is a product over the places, and the value of a stack is the mean of its prizes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kibitz.core.errors import GameError

Floats = NDArray[np.float64]
MOST = 20  # players: sets of them are gone through, 2^20
MOST_PRIZE = 1e30  # single precision, in which hands are computed, has room for it


def icm(stacks: ArrayLike, prizes: ArrayLike) -> Floats:
    """The value of each stack. stacks: [..., players], all above zero; prizes: for the first places; the rest get 0.

    Many vectors of stacks may be given at once.
    """
    chips = np.asarray(stacks, float)
    paid = checked_prizes(prizes)
    if not chips.ndim or not chips.size:
        raise GameError("give the stack of each player")
    players = chips.shape[-1]
    if players > MOST:
        raise GameError(f"{players} players are too many for the Independent Chip Model here: at most {MOST}")
    if not np.isfinite(chips).all() or chips.min() <= 0:
        raise GameError("stacks must be numbers above zero: leave out players without chips")
    places = min(players, len(paid))
    worth = np.zeros_like(chips)
    # By set of players who came before: the probability of that, and whose place is next.
    reach: dict[int, Any] = {0: np.ones(chips.shape[:-1])}
    for place in range(places):
        after: dict[int, Any] = {}
        for gone, chance in reach.items():
            left = [i for i in range(players) if not gone >> i & 1]
            total = chips[..., left].sum(axis=-1)
            for i in left:
                here = chance * chips[..., i] / total
                worth[..., i] += here * paid[place]
                if place + 1 < places:
                    after[gone | 1 << i] = after.get(gone | 1 << i, 0.0) + here
        reach = after
    return worth


def checked_prizes(prizes: ArrayLike) -> tuple[float, ...]:
    """Prizes of the places, the first one first."""
    try:
        paid = tuple(float(prize) for prize in np.asarray(prizes, float).ravel())
    except (TypeError, ValueError):
        raise GameError(f"prizes {prizes!r} should be numbers, such as 50, 30, 20") from None
    if not paid or not all(np.isfinite(paid)) or min(paid) < 0:
        raise GameError("prizes must be numbers, zero or more, starting with the first place: such as 50, 30, 20")
    if max(paid) > MOST_PRIZE:
        raise GameError(f"prizes of at most {MOST_PRIZE:g} can be computed with: give them in a larger unit")
    if any(a < b for a, b in pairwise(paid)):
        listed = ", ".join(f"{prize:g}" for prize in paid)
        raise GameError(f"prizes {listed} must not increase from one place to the next")
    if paid[0] <= 0:
        raise GameError("the first prize should be above zero")
    return paid
