"""The gain by deviating when deals are sampled: measured on fresh deals.

Strategies that were fitted to a sample are nearly best on that sample, so what could be gained *there* is too small.
On fresh deals there are two numbers, one on either side of epsilon, what the best responder would gain over all deals:

    gain    a responder is chosen on one fresh sample and valued on another. That estimates without bias what this
            responder gains, which is epsilon at most; the interval is 95% by batches of deals
    above   the same responder valued on the sample it was chosen on. The mean of a maximum is not below the maximum of
            the means, so on average this is epsilon at least
    fitted  on the deals of the strategies themselves: below epsilon on average, and no measure of it

With all cards counted the three are one number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.poker.tournaments.fictitious import Engine, best, gains_of
from kibitz.poker.tournaments.hand import FOLD, JAM
from kibitz.poker.tournaments.sampled import MOST, SampledHand

FOUND, VALUED = 1_000_003, 2_000_003  # added to the seed of the deals that strategies were fitted to
# A responder that is chosen on few deals is a bad one, and gains nothing although there is much to gain: it gets more
# deals than the strategies did. In a tournament all states are gone through, so there it is so many times as many.
FEWEST, TWICE, TIMES = 400_000, 2, 4
BATCHES = 32
QUANTILE = 2.04  # of Student's distribution, 31 degrees of freedom, 97.5%


@dataclass(frozen=True)
class Epsilon:
    """What a player could gain in a hand; the module says what each number bounds."""

    gain: float
    low: float  # of the interval of `gain`
    high: float
    above: float
    fitted: float
    deals: int  # that the strategies were fitted to; 0 if all cards were counted
    fresh: int = 0  # deals of each of the two samples


def fresh(engine: Engine, added: int, deals: int | None = None) -> Engine:
    """The same hands over other deals, TIMES as many if not said; the same engine where all cards are counted."""
    if not isinstance(engine, SampledHand):
        return engine
    number = min(MOST, deals or TIMES * engine.deals)
    return SampledHand(engine.hand.players, number, engine.seed + added)


def epsilon_of(engine: Engine, jams: NDArray[Any], payoffs: NDArray[Any], forced: NDArray[np.bool_]) -> Epsilon:
    """What a player could gain at one state. jams: [1, nodes, 169]; payoffs: [1, outcomes, seats]."""
    hand = engine.hand
    fitted = float(gains_of(hand, engine.worth(engine.moments(jams), payoffs), jams, forced).max())
    if not isinstance(engine, SampledHand):
        return Epsilon(fitted, fitted, fitted, fitted, fitted, 0)
    deals = min(MOST, max(FEWEST, TWICE * engine.deals))
    worth = fresh(engine, FOUND, deals).worth(jams, payoffs)
    gains = gains_of(hand, worth, jams, forced)[0]
    seat = int(gains.argmax())  # chosen where the responder is, so that its gain is not the largest of several
    policy = best(worth, forced)[0]
    other = fresh(engine, VALUED, deals)
    assert isinstance(other, SampledHand)
    batches = other.batches(jams, payoffs, BATCHES)[0]  # [batches, nodes, 2, 169]
    mine = [k for k, (each, _) in enumerate(hand.nodes) if each == seat]
    more = (policy.astype(float) - jams[0])[mine] * (batches[:, mine, JAM] - batches[:, mine, FOLD])
    each = more.sum(axis=(1, 2))
    gain, wide = float(each.mean()), QUANTILE * float(each.std(ddof=1)) / BATCHES**0.5
    return Epsilon(gain, gain - wide, gain + wide, float(gains[seat]), fitted, engine.deals, deals)
