"""What one strategy wins from another on boards that are drawn: an estimate with an interval, for a small part of the
work of a sweep over all boards.

Every first board (of hold'em: every flop) is gone through, each with some last boards that continue it. These are drawn
at random, and stand for all that continue their first board, so estimates are unbiased. First boards lie in strata, and
draws are independent: how far the draws of a stratum are apart gives the interval [Cochran 1977, Sampling Techniques,
Sec. 5.3]. All hands play all hands on each board, so a board is worth thousands of deals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import BoardRound, Boards
from kibitz.cards.tables import Arrays, Fill, Recipe, Tell, looked_up
from kibitz.core.errors import SolverError
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.rules.rules import Poker
from kibitz.poker.sampled.hands import Source
from kibitz.poker.whole.profiles import Player, node_strategy
from kibitz.poker.whole.strategy import NodeStrategy
from kibitz.poker.whole.walk import PLAYED, Floats, Sweep

Ints = NDArray[np.int64]
VERSION = 1
DRAWS = 2  # independent ones, of all first boards
BOARDS = 9  # last boards of each first board in a draw
STRATUM, STRATA = 16, 64  # most first boards of a stratum; fewer, if there would be less strata than this
KEPT = 128  # strata of an estimate: neighbours are added up


@dataclass(frozen=True, eq=False)
class ChosenBoards:
    """Some of the boards of a game, as if there were no others."""

    boards: Boards
    picked: tuple[Ints, ...]  # by round: their numbers among all
    first: int  # first boards, of which each is there once for each draw
    count: int  # last boards of each


def drawn_boards(boards: Boards, begin: int, draws: int, count: int, seed: int) -> ChosenBoards:
    """In each draw all first boards, each with `count` last boards."""
    last = len(boards.rounds) - 1
    if count < 1:
        raise SolverError(f"{count} boards for each first board: give 1 at least")
    if begin >= last:
        raise SolverError("boards are drawn in the rounds after the first board cards, and this game has none: sweep "
                          "it whole")  # fmt: skip
    starts = _below(boards, begin)
    ends = np.concatenate([[0], np.cumsum(boards.rounds[last].total)])
    low, high = ends[starts[:-1]], ends[starts[1:]]  # of each first board, what continues it
    random = np.random.default_rng(seed).random((draws, len(low), count))
    at = low[:, None] + (random * (high - low)[:, None]).astype(np.int64)
    return boards_with(boards, begin, np.searchsorted(ends, at, side="right") - 1)


def _below(boards: Boards, begin: int) -> Ints:
    """[first boards + 1]  the first of the last boards that continue each."""
    starts = np.arange(len(boards.rounds[begin].cards) + 1)
    for of in boards.rounds[begin + 1 :]:
        starts = of.below[starts]
    return starts


def boards_with(boards: Boards, begin: int, chosen: Ints) -> ChosenBoards:
    """First boards, with some that continue them. chosen: [draws, first boards, count] among all last boards.

    Each chosen board stands for all that continue its first board, so they count for `count` times too much. First
    boards are counted as often, and `DrawnSweep` divides.
    """
    draws, first, count = chosen.shape
    number = [chosen.ravel()]
    for after in boards.rounds[:begin:-1]:
        number.insert(0, after.above[number[0]])
    number[0] = np.tile(np.arange(first), draws)
    above = [np.zeros(draws * first, np.int64), np.repeat(np.arange(draws * first), count)]
    above += [np.arange(draws * first * count)] * (len(number) - 2)
    rounds, picked = list(boards.rounds[:begin]), [np.arange(len(of.cards)) for of in boards.rounds[:begin]]
    stands = boards.rounds[begin].total[number[0]]  # for so many boards
    for level, (here, up) in enumerate(zip(number, above, strict=True), begin):
        of, total = boards.rounds[level], stands * count
        if level > begin:
            continued = of.total[: of.below[1]].sum() // boards.rounds[level - 1].total[0]  # the same for all
            total = stands = stands[up] * continued
        rounds.append(BoardRound(np.ascontiguousarray(of.cards[here]), up, total, of.group[here]))
        picked.append(here)
    return ChosenBoards(Boards(boards.ranks, boards.suits, boards.board, tuple(rounds)), tuple(picked), first, count)


def buckets_on(buckets: HandBuckets, drawn: ChosenBoards) -> HandBuckets:
    """The buckets of hands on drawn boards."""
    rounds = tuple(
        of if of.table is None else replace(of, table=np.ascontiguousarray(of.table[number]))
        for of, number in zip(buckets.rounds, drawn.picked, strict=True)
    )
    return HandBuckets(f"{buckets.name} on drawn boards", drawn.boards, buckets.hole, rounds, buckets.meta)


class DrawnSweep(Sweep):
    """A sweep over drawn boards; what seat 0 gets, by draw and stratum."""

    def __init__(
        self, game: Poker, strategies: tuple[NodeStrategy, NodeStrategy], draws: int = DRAWS, count: int = BOARDS,
        seed: int = 0, dtype: Any = np.float32, device: str = "cpu",
    ) -> None:  # fmt: skip
        """count: last boards of each first board in a draw."""
        super().__init__(game, strategies, dtype, device)
        self.draws = draws
        self.drawn = _drawn(self.boards, self.begin, draws, count, seed)
        self.boards = self.drawn.boards
        few = {id(source): _source(source, self.drawn) for source in self.sources}
        self.sources = [few[id(source)] for source in self.sources]
        self.seats = tuple(replace(seat, sources=tuple(few[id(source)] for source in seat.sources))
                           for seat in strategies)  # type: ignore[assignment]  # fmt: skip
        self.sample = f" drawn {VERSION}: {draws} draws of {count} {seed}"

    @cached_property
    def stratum(self) -> int:
        """First boards of a stratum."""
        return max(1, min(STRATUM, self.drawn.first // STRATA))

    @cached_property
    def shards(self) -> list[list[slice]]:
        """The strata of the first draw, then those of the next."""
        every, first = [], self.drawn.first
        for draw in range(self.draws):
            for low in range(0, first, self.stratum):
                shard = [slice(0, 1)] * self.begin
                shard.append(slice(draw * first + low, draw * first + min(low + self.stratum, first)))
                for after in self.boards.rounds[self.begin + 1 :]:
                    shard.append(slice(int(after.below[shard[-1].start]), int(after.below[shard[-1].stop])))
                every.append(shard)
        return every

    def by_draw(self, tell: Tell | None = None) -> Floats:
        """[draws, strata]  what seat 0 gets on the boards of a stratum; a draw adds up to an estimate of the whole but
        for `before`."""
        values: Floats = looked_up(self._values_recipe(), tell)["values"]
        return values.reshape(self.draws, -1)

    def sums(self, seats: tuple[int, ...], mode: int, tell: Tell | None = None) -> Floats:
        raise SolverError("drawn boards give estimates by draw: use by_draw")

    def before(self) -> float:
        """What seat 0 gets where no board comes."""
        return self.finished(0, PLAYED, self.vectors(self.begin, np.float64))

    def _values_recipe(self) -> Recipe:
        of = self.recipe((0,), PLAYED)

        def make(arrays: Arrays, lock: Any) -> Fill:
            root = self.roots(0)[-1]
            own = np.asarray(self.roots(1)[-1], np.float64)  # of seat 0: the reach of the other of seat 1
            deals = self.deals * self.drawn.count
            if self.device.on_gpu:
                _ = self.gpu  # before threads ask for it

            def fill(piece: int) -> None:
                (got,) = self.shard(piece, (0,), PLAYED, [root])
                arrays["values"][piece] = float((own * got).sum()) / deals

            return fill

        about = f"what a strategy wins on drawn boards of {self.game.spec}"
        return replace(of, name=of.name.replace("sweep", "drawn"), about=about, make=make, sums=False, far=None,
                       arrays={"values": ("<f8", (len(self.shards),))})  # fmt: skip


@lru_cache(2)
def _drawn(boards: Boards, begin: int, draws: int, count: int, seed: int) -> ChosenBoards:
    return drawn_boards(boards, begin, draws, count, seed)


@lru_cache(16)
def _source(source: Source, drawn: ChosenBoards) -> Source:
    return None if source is None else buckets_on(source, drawn)


class Estimate(NamedTuple):
    """Chips a hand."""

    mean: float
    error: float  # half of the 95% interval
    boards: int  # last boards that were gone through
    by_draw: Floats  # [draws, strata]  of which a draw adds up to the mean, about


def interval(by_draw: Floats) -> tuple[float, float]:
    """(the mean of draws, half of its 95% interval). by_draw: [draws, strata]."""
    draws, strata = by_draw.shape
    variance = float(by_draw.var(axis=0, ddof=1).sum()) / draws
    return float(by_draw.sum()) / draws, _student(strata * (draws - 1)) * variance**0.5


def _student(freedom: int) -> float:
    """Student's t that 2.5% are above [Abramowitz & Stegun 1964, 26.7.5]. A GPU's machine may have no SciPy."""
    z = NormalDist().inv_cdf(0.975)
    terms = ((z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    return float(z + sum(term / freedom**k for k, term in enumerate(terms, 1)))


def won_on_drawn_boards(
    game: Poker, one: Player, other: Player, draws: int = DRAWS, count: int = BOARDS, seed: int = 0,
    device: str = "cpu", tell: Tell | None = None,
) -> Estimate:  # fmt: skip
    """What `one` wins from `other`, the mean of both seats."""
    if draws < 2:
        raise SolverError(f"draws is {draws}: an interval needs 2 at least")
    mine, his = node_strategy(game, one), node_strategy(game, other)
    sweeps = [DrawnSweep(game, seats, draws, count, seed, device=device) for seats in ((mine, his), (his, mine))]
    (first, second), before = ([sweep.by_draw(tell) for sweep in sweeps], [sweep.before() for sweep in sweeps])
    by_draw = (first - second) / 2
    together = -(-by_draw.shape[1] // KEPT)
    by_draw = np.add.reduceat(by_draw, np.arange(0, by_draw.shape[1], together), axis=1)
    by_draw += (before[0] - before[1]) / 2 / by_draw.shape[1]  # what no board changes: a part to each stratum
    boards = sum(shard[-1].stop - shard[-1].start for shard in sweeps[0].shards)
    return Estimate(*interval(by_draw), boards, by_draw)
