"""Jam-or-fold hands for up to six players, over a sample of deals.

Pots of two are worth their mean over all boards, by the table of two hands; larger ones are decided on the board of the
deal. Every deal counts at every node, by how likely the others let it come to that. Cards that were folded are in
nobody's hand, but in a pot of two they may lie on the board.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.recipes import class_of
from kibitz.cards.strengths import each
from kibitz.core.errors import GameError
from kibitz.poker.tournaments.exact import hold_em
from kibitz.poker.tournaments.hand import JamFoldHand, weak_orders

DEALS = 400_000
FEWEST, MOST = 1_000, 20_000_000
CHUNKS = 8  # of deals: sums are added in their order, so the number of threads changes nothing
CLASSES = 169


def check_deals(deals: int) -> None:
    if not FEWEST <= deals <= MOST:
        which = "few to tell hands apart" if deals < FEWEST else "many"
        raise GameError(f"{deals:,} deals are too {which}: take {FEWEST:,} to {MOST:,}")


@lru_cache(8)
def _deals(players: int, deals: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.int16]]:
    """([deals, players] classes of hands, [deals, 2^players] outcomes by who is in)."""
    from kibitz.poker.tournaments.kernels.deals import order_deals

    hand = JamFoldHand(players)
    codes = np.zeros((1 << players, 6**players), np.int16)
    for k, outcome in enumerate(hand.outcomes):
        who = sum(1 << (players - 1 - seat) for seat in outcome.inside)
        code = sum(rank * 6 ** (players - 1 - seat) for seat, rank in zip(outcome.inside, outcome.ranks, strict=True))
        codes[who, code] = k
    classes, orders = np.empty((deals, players), np.uint8), np.empty((deals, 1 << players), np.int16)
    rng, known, at = np.random.default_rng(seed), class_of(), 0
    while at < deals:
        count = min(deals - at, 50_000)
        cards = rng.permuted(np.tile(np.arange(52, dtype=np.uint8), (count, 1)), axis=1)[:, : 2 * players + 5]
        part = slice(at, at + count)
        order_deals(np.ascontiguousarray(cards), players, known, codes, classes[part], orders[part],
                    np.zeros(players, np.int64))  # fmt: skip
        at += count
    return classes, orders


class SampledHand:
    """Values of actions over a sample. `moments` are the strategies themselves."""

    def __init__(self, players: int, deals: int = DEALS, seed: int = 0) -> None:
        self.hand, self.deals, self.seed, self.tables = JamFoldHand(players), deals, seed, hold_em()
        self.classes, self.orders = _deals(players, deals, seed)

    @property
    def named(self) -> tuple[int, ...]:
        """Arguments that make it again, on another machine: sums go state by state, so bits do not depend on which
        states come together. `ExactHand` has none, as matrix products of many states are not those of few."""
        return self.hand.players, self.deals, self.seed

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.hand.players), 2))

    @cached_property
    def _tables(self) -> Any:
        from kibitz.poker.tournaments.kernels.deals import DealTables

        n = self.hand.players
        node_of, pair_of = np.full((n, 1 << n), -1, np.int64), np.full(1 << n, -1, np.int64)
        for k, (seat, jammed) in enumerate(self.hand.nodes):
            node_of[seat, sum(1 << (seat - 1 - other) for other in jammed)] = k
        for k, (a, b) in enumerate(self._pairs):
            pair_of[1 << (n - 1 - a) | 1 << (n - 1 - b)] = k
        return DealTables(self.classes, self.orders, node_of, pair_of)

    @cached_property
    def _chances(self) -> NDArray[np.float64]:
        """[3, 169, 169]  how likely two hands end in each order, given both."""
        tables = self.tables.pairs
        return np.stack([tables[ranks] / tables[()] for ranks in weak_orders(2)])

    def moments(self, jams: NDArray[Any], threads: int | None = None) -> NDArray[Any]:
        return jams

    def worth(self, moments: NDArray[Any], payoffs: NDArray[Any]) -> NDArray[np.float64]:
        """[states, nodes, 2, 169]  as of `ExactHand.worth`."""
        return np.asarray(self._sums(moments, payoffs, CHUNKS).sum(axis=1) / self.deals)

    def batches(self, moments: NDArray[Any], payoffs: NDArray[Any], number: int) -> NDArray[np.float64]:
        """[states, batches, nodes, 2, 169]  the same by batches of deals, each a sample of its own."""
        sizes = np.diff([k * self.deals // number for k in range(number + 1)])
        return np.asarray(self._sums(moments, payoffs, number) / sizes[:, None, None, None])

    def _sums(self, moments: NDArray[Any], payoffs: NDArray[Any], chunks: int) -> NDArray[np.float64]:
        from kibitz.poker.tournaments.kernels.deals import go_through

        n = self.hand.players
        out = np.zeros((len(moments), chunks, len(self.hand.nodes), 2, CLASSES))
        for state in range(len(moments)):
            jams, paid = moments[state].astype(np.float64), np.ascontiguousarray(payoffs[state], np.float64)
            pairs = self._pair_values(paid)

            def work(chunk: int, state: int = state, jams: Any = jams, paid: Any = paid, pairs: Any = pairs) -> None:
                room = np.zeros((n + 1, 1 << n)), np.zeros((2 << n, n))
                go_through(*self._span(chunk, chunks), jams, self._tables, paid, pairs, *room, out[state, chunk])

            each(work, chunks)
        return out

    def _span(self, chunk: int, chunks: int) -> tuple[int, int]:
        """(the first deal, the one after the last) of a chunk."""
        return chunk * self.deals // chunks, (chunk + 1) * self.deals // chunks

    def _pair_values(self, paid: NDArray[Any]) -> NDArray[np.float64]:
        """[pairs of seats, 169, 169, seats]  the value of a pot of two."""
        values = np.empty((len(self._pairs), CLASSES, CLASSES, self.hand.players))
        for k, pair in enumerate(self._pairs):
            first = self.hand.first_of(pair)
            values[k] = np.tensordot(self._chances, paid[first : first + 3], (0, 0))
        return values

    def outcomes(self, moments: NDArray[Any], jams: NDArray[Any]) -> NDArray[np.float64]:
        """[states, seats, outcomes]"""
        from kibitz.poker.tournaments.kernels.deals import count_outcomes

        n = self.hand.players
        inside = [tuple(s for s in range(n) if who >> (n - 1 - s) & 1) for who in range(1 << n)]
        first_of = np.array([self.hand.first_of(seats) for seats in inside], np.int64)
        sums = np.zeros((len(moments), CHUNKS, n, len(self.hand.outcomes)))

        def work(k: int) -> None:
            state, chunk = divmod(k, CHUNKS)
            others, own = moments[state].astype(np.float64), jams[state].astype(np.float64)
            count_outcomes(*self._span(chunk, CHUNKS), others, own, self._tables, first_of, self._chances,
                           np.zeros((n + 1, 1 << n)), sums[state, chunk])  # fmt: skip

        each(work, len(moments) * CHUNKS)
        return np.asarray(sums.sum(axis=1) / self.deals)
