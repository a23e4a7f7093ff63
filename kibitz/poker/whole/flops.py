"""Sweeps over a sample of the first boards (of hold'em: flops), and gains of best responses by the betting before them.

Every n-th kind of first board is gone through whole, with all boards that continue it. What a hand gets is divided by
the share of its first boards that are in the sample. Best responses choose before the first board by this estimate.
Samples of the same n have the same boards, so differences between strategies have less noise than their values.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import pairs
from kibitz.cards.tables import Tell
from kibitz.core.errors import SolverError
from kibitz.poker.rules.rules import Poker
from kibitz.poker.whole.strategy import NodeStrategy
from kibitz.poker.whole.walk import BEST, PLAYED, Floats, Sweep


class SampledSweep(Sweep):
    """A sweep over every n-th of the first boards. without: the sample of every so many is left out first, so that
    both have no board in common; 0: nothing is left out."""

    def __init__(
        self, game: Poker, strategies: tuple[NodeStrategy, NodeStrategy], every: int = 16, dtype: Any = np.float32,
        device: str = "cpu", without: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(game, strategies, dtype, device)
        self.every, self.without = every, without
        self.sample = f" every {every}" if every > 1 else ""
        self.sample += f" without {without}" if without else ""

    @cached_property
    def shards(self) -> list[list[slice]]:
        every: list[list[slice]] = super().shards
        if not every:
            return every
        if self.without:
            taken = set(range(_first(self.without, len(every)), len(every), self.without))
            every = [shard for k, shard in enumerate(every) if k not in taken]
            if not every:
                raise SolverError(f"no first board is outside the sample of every {self.without}: take a larger number")
        return every[_first(self.every, len(every)) :: self.every]

    def sums(self, seats: tuple[int, ...], mode: int, tell: Tell | None = None) -> Floats:
        total = super().sums(seats, mode, tell)
        return total if self.every == 1 and not self.without else total * self._scale[None, None, :, None]

    @cached_property
    def _scale(self) -> Floats:
        """[hands before the first board]  all first boards that leave a hand alone, by those in the sample."""
        boards, level = self.boards, self.begin
        round_, hands = boards.rounds[level], boards.deck[pairs(len(boards.deck), self.hole)]
        seen = np.zeros(len(hands))
        for shard in self.shards:
            board = shard[level].start
            free = ~np.isin(hands, round_.cards[board]).any(axis=1)
            seen += free * int(round_.total[board])
        wide = self.vectors(level, np.float64).shape[2]
        # The same for hands that are equal up to suits, as sums are.
        seen = self._even(0, 0, np.repeat(seen[None, :, None], wide, axis=2))[0, :, 0]
        ways = math.comb(len(boards.deck) - self.hole, boards.board[level])
        return np.divide(ways, seen, out=np.zeros(len(seen)), where=seen > 0)


def _first(every: int, boards: int) -> int:
    """The first board of a sample."""
    return min(every // 2, boards - 1)


class OpeningGain(NamedTuple):
    """What a best response wins after some betting before the first board, if it plays as the strategy before."""

    opening: str
    seat: int
    reached: float  # how often, when both play the strategy
    gain: float  # chips a hand


def gains_by_opening(sweep: Sweep, tell: Tell | None = None) -> list[OpeningGain]:
    """By seat and way to the first board: what a best response from there on gets above what the strategy gets."""
    best, played = (sweep.sums((0, 1), mode, tell) for mode in (BEST, PLAYED))
    groups, betting = sweep.lanes.of_round(sweep.begin), sweep.game.betting
    deals = sweep.deals
    gains = []
    for seat in (0, 1):
        own = np.asarray(sweep.roots(1 - seat)[-1], np.float64)  # the reach of the other of the other: the seat's own
        other = np.asarray(sweep.roots(seat)[-1], np.float64)
        for g, group in enumerate(groups):
            for lane, segment in enumerate(sweep.lanes.groups.lanes[group]):
                node = int(sweep.lanes.segments.node[segment][0])
                mine = own[g, :, lane]
                above = float((mine * (best[seat, g, :, lane] - played[seat, g, :, lane])).sum()) / deals
                share = met(mine, other[g, :, lane], sweep) / deals
                gains.append(OpeningGain(betting.text[node].rstrip("/"), seat, share, above))
    return gains


def met(mine: NDArray[np.float64], other: NDArray[np.float64], sweep: Sweep) -> float:
    """The sum of products of two reaches over all pairs of hands without a card in common."""
    cards = len(sweep.boards.deck)
    hands = pairs(cards, sweep.hole)
    by_card = [[np.bincount(hands[:, k], each, cards) for k in range(sweep.hole)] for each in (mine, other)]
    by_card_sums = [np.sum(each, axis=0) for each in by_card]
    both = float(mine @ other)
    if sweep.hole == 1:
        return float(mine.sum() * other.sum()) - both
    return float(mine.sum() * other.sum() - by_card_sums[0] @ by_card_sums[1]) + both
