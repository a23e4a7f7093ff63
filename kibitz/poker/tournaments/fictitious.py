"""Fictitious play of jam-or-fold hands, in vector form: all hands of all seats at all states at once.

Everybody plays best against what the others did so far on average. A seat acts once in a hand, so a best response is
found node by node: jam with the hands for which that has the higher value. Later rounds count more than early ones. A
probability below a thousandth counts as zero, because sums over ranges go faster where they are sparse; the result is
measured anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kibitz.core.executor import current
from kibitz.core.pieces import Executor, Piece
from kibitz.poker.tournaments.exact import HandTables
from kibitz.poker.tournaments.hand import FOLD, JAM, JamFoldHand

Floats = NDArray[Any]
LEAST = 1e-3  # probability
OFTEN = 0.9  # what is played so often, or not, is played always if nobody is the worse for it
POWER = 3.0  # round t counts about t^(POWER - 1) times
STATES = 16  # of a piece on other machines
SELDOM = 0.1  # a decision is seldom reached if the others let it come to that so rarely


class Engine(Protocol):
    """How hands are evaluated: with all cards, or with a sample of deals."""

    hand: JamFoldHand
    tables: HandTables

    def moments(self, jams: Floats, threads: int | None = None) -> Any: ...
    def worth(self, moments: Any, payoffs: Floats) -> NDArray[np.float64]: ...
    def outcomes(self, moments: Any, jams: Floats) -> NDArray[np.float64]: ...


@dataclass
class JamStrategies:
    """Strategies of some states, and their values."""

    jams: Floats  # [states, nodes, 169]  the probability of jamming, by hand
    gains: Floats  # [states, seats]  what a seat could win more in this hand
    values: Floats  # [states, seats]  what it wins
    rounds: NDArray[np.int64]  # [states]  how long it was played


def best(worth: Floats, forced: NDArray[np.bool_], last: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """[states, nodes, 169]  where a hand jams; on ties as it did last."""
    more = worth[:, :, JAM] > worth[:, :, FOLD]
    if last is not None:
        more |= (worth[:, :, JAM] == worth[:, :, FOLD]) & last
    return more | forced[:, :, None]


def gains_of(hand: JamFoldHand, worth: Floats, jams: Floats, forced: NDArray[np.bool_]) -> Floats:
    """[states, seats]  what a best response wins more than a strategy, in one hand."""
    top = np.where(forced[:, :, None], worth[:, :, JAM], worth.max(axis=2))
    mean = worth[:, :, JAM] * jams + worth[:, :, FOLD] * (1 - jams)
    lost = (top - mean).sum(axis=-1)
    gains = np.zeros((len(worth), hand.players))
    for k, (seat, _) in enumerate(hand.nodes):
        gains[:, seat] += lost[:, k]
    return gains


def first_jams(engine: Engine, forced: NDArray[np.bool_]) -> Floats:
    """Jam with the better half of the hands, and with half as many for each who jammed before."""
    tables, jams = engine.tables, np.zeros((*forced.shape, 169), np.float32)
    order = np.argsort(-tables.strength)
    above = np.empty(169)
    above[order] = np.cumsum(tables.prior[order]) - tables.prior[order]  # how many hands are better
    for k, (_, jammed) in enumerate(engine.hand.nodes):
        jams[:, k] = above < 0.5 ** (1 + len(jammed))
    jams[forced] = 1.0
    return jams


class JamFoldPlay:
    """Strategies of some states that improve in each round."""

    def __init__(
        self, engine: Engine, forced: NDArray[np.bool_], jams: Floats | None = None, threads: int | None = None
    ) -> None:
        self.engine, self.forced, self.threads = engine, forced, threads
        self.jams = (first_jams(engine, forced) if jams is None else jams).astype(np.float32, copy=True)
        self.jams[forced] = 1.0
        self.moments = engine.moments(self.jams, threads)

    def mix(self, states: NDArray[np.int64], policy: Floats, step: float) -> None:
        """Move strategies of some states towards a policy."""
        mixed = self.jams[states] + np.float32(step) * (policy - self.jams[states])
        mixed[mixed < LEAST] = 0.0
        mixed[mixed > 1 - LEAST] = 1.0
        self.jams[states] = mixed
        self.moments[states] = self.engine.moments(mixed, self.threads)

    def run(
        self, payoffs: Floats, rounds: int, tolerance: float = 0.0, begun: int = 0,
        on_round: Callable[[int, int], None] | None = None,
    ) -> JamStrategies:  # fmt: skip
        """Play at most so many rounds, at each state until nobody could win more than the tolerance.

        payoffs: [states, outcomes, seats]; begun: rounds that strategies stand for. on_round: a callback with
        the round and how many states go on.
        """
        executor, named = current(), getattr(self.engine, "named", None)
        if rounds and executor.elsewhere and named is not None and len(self.jams) > 1:
            return self._on_nodes(executor, named, payoffs, (rounds, tolerance, begun), on_round)
        engine, forced = self.engine, self.forced
        worth = engine.worth(self.moments, payoffs)
        gains = gains_of(engine.hand, worth, self.jams, forced)
        played = np.zeros(len(self.jams), np.int64)
        for number in range(rounds + 1):
            active = np.flatnonzero(gains.max(axis=1) > tolerance)
            if on_round is not None:
                on_round(number, len(active))
            if number == rounds or not len(active):
                break
            self.mix(active, best(worth[active], forced[active]), POWER / (begun + number + POWER))
            worth[active] = engine.worth(self.moments[active], payoffs[active])
            gains[active] = gains_of(engine.hand, worth[active], self.jams[active], forced[active])
            played[active] += 1
        values = values_of(engine.outcomes(self.moments, self.jams), payoffs)
        return JamStrategies(self.jams, gains, values, played)

    def _on_nodes(
        self, executor: Executor, named: tuple[int, ...], payoffs: Floats, how: tuple[int, float, int],
        on_round: Callable[[int, int], None] | None,
    ) -> JamStrategies:  # fmt: skip
        """The same by other machines: states do not depend on one another while their payoffs stay."""
        parts = [slice(at, at + STATES) for at in range(0, len(self.jams), STATES)]
        pieces = [Piece((named, self.forced[part], self.jams[part], payoffs[part], *how)) for part in parts]
        whole: dict[int, tuple[Floats, ...]] = {}
        for number, answer in executor.map(played_on_node, pieces):
            whole[number] = answer
            if on_round is not None:
                on_round(how[0], sum(len(self.jams[part]) for k, part in enumerate(parts) if k not in whole))
        by_field = zip(*(whole[k] for k in range(len(parts))), strict=True)
        jams, gains, values, played = (np.concatenate(each) for each in by_field)
        self.jams[:] = jams
        self.moments = self.engine.moments(self.jams, self.threads)
        return JamStrategies(self.jams, gains, values, played)

    def tidy(self, payoffs: Floats, tolerance: float) -> JamStrategies:
        """Forget what was played in early rounds alone, at states where that leaves nobody more to win."""
        now = self.run(payoffs, 0)
        pure = np.where(self.jams > OFTEN, 1.0, np.where(self.jams < 1 - OFTEN, 0.0, self.jams)).astype(np.float32)
        self._take(pure, payoffs, np.maximum(tolerance, now.gains.max(axis=1)))
        return self.run(payoffs, 0)

    def _take(self, jams: Floats, payoffs: Floats, most: Floats) -> None:
        """Take other strategies at states where nobody could then win more than `most` [states]."""
        moments = self.engine.moments(jams, self.threads)
        gains = gains_of(self.engine.hand, self.engine.worth(moments, payoffs), jams, self.forced)
        good = gains.max(axis=1) <= most
        self.jams[good], self.moments[good] = jams[good], moments[good]

    def settle(self, payoffs: Floats, tolerance: float, clear: float) -> JamStrategies:
        """At decisions that are seldom reached a mistake costs little, so fictitious play leaves some. Where a hand
        loses more than `clear` by one action there, given the others' ranges, it takes the other: node by node, the
        last ones first, where that leaves nobody more to win. Elsewhere a small loss is that of a hand that mixes."""
        engine, forced = self.engine, self.forced
        for node in reversed(range(self.jams.shape[1])):
            worth = engine.worth(self.moments, payoffs)
            now = gains_of(engine.hand, worth, self.jams, forced).max(axis=1)
            met = np.maximum(engine.worth(self.moments, np.ones_like(payoffs))[:, node, JAM], 1e-12)
            gain = (worth[:, node, JAM] - worth[:, node, FOLD]) / met
            gain[met.sum(axis=-1) >= SELDOM] = 0.0
            jams = self.jams.copy()
            jams[:, node] = np.where(gain > clear, 1.0, np.where(gain < -clear, 0.0, jams[:, node]))
            jams[forced] = 1.0
            self._take(jams, payoffs, np.maximum(tolerance, now))
        return self.run(payoffs, 0)


def values_of(outcomes: Floats, payoffs: Floats) -> NDArray[np.float64]:
    """[states, seats]"""
    return np.asarray(np.einsum("sio,soi->si", outcomes, payoffs))


def played_on_node(
    named: tuple[int, ...], forced: NDArray[np.bool_], jams: Floats, payoffs: Floats, rounds: int, tolerance: float,
    begun: int,
) -> tuple[Floats, ...]:  # fmt: skip
    """Rounds of some states over sampled deals: strategies, what could be won more, values, and rounds played."""
    from kibitz.poker.tournaments.sampled import SampledHand

    done = JamFoldPlay(SampledHand(*named), forced, jams).run(payoffs, rounds, tolerance, begun)
    return done.jams, done.gains, done.values, done.rounds
