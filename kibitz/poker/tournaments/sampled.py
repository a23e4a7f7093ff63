"""Hands of jam or fold for up to six players, over a sample of deals.

Pots of two are worth their mean over all boards, by the table of two hands; larger ones are decided on the board of the
deal. Every deal counts at every node, by how likely the others let it come to that. Cards that were folded are in
nobody's hand, but in a pot of two they may lie on the board.
"""

from __future__ import annotations

import threading
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.recipes import class_of
from kibitz.core.errors import GameError
from kibitz.core.resources import cores
from kibitz.core.threads import together
from kibitz.poker.tournaments.exact import hold_em
from kibitz.poker.tournaments.hand import Hand, weak_orders

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

    hand = Hand(players)
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
        self.hand, self.deals, self.seed, self.tables = Hand(players), deals, seed, hold_em()
        self.classes, self.orders = _deals(players, deals, seed)

    @cached_property
    def _node_of(self) -> NDArray[np.int64]:
        """[seat, who jammed before]  the node, or -1."""
        found = np.full((self.hand.players, 1 << self.hand.players), -1, np.int64)
        for k, (seat, jammed) in enumerate(self.hand.nodes):
            found[seat, sum(1 << (seat - 1 - other) for other in jammed)] = k
        return found

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        n = self.hand.players
        return [(a, b) for a in range(n) for b in range(a + 1, n)]

    @cached_property
    def _pair_of(self) -> NDArray[np.int64]:
        n = self.hand.players
        found = np.full(1 << n, -1, np.int64)
        for k, (a, b) in enumerate(self._pairs):
            found[1 << (n - 1 - a) | 1 << (n - 1 - b)] = k
        return found

    @cached_property
    def _first_of(self) -> NDArray[np.int64]:
        n = self.hand.players
        inside = [tuple(s for s in range(n) if who >> (n - 1 - s) & 1) for who in range(1 << n)]
        return np.array([self.hand.first_of(each) for each in inside], np.int64)

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

        def piece(state: int, chunk: int, reach: Any, value: Any) -> None:
            first, last = (k * self.deals // chunks for k in (chunk, chunk + 1))
            go_through(first, last, jams, self._node_of, self.classes, self.orders, paid, pairs, self._pair_of, reach,
                       value, out[state, chunk])  # fmt: skip

        for state in range(len(moments)):
            jams, paid = moments[state].astype(np.float64), np.ascontiguousarray(payoffs[state], np.float64)
            pairs = self._pair_values(paid)
            self._each([(state, chunk) for chunk in range(chunks)], piece,
                       lambda: (np.zeros((n + 1, 1 << n)), np.zeros((2 << n, n))))  # fmt: skip
        return out

    def _pair_values(self, paid: NDArray[Any]) -> NDArray[np.float64]:
        """[pairs of seats, 169, 169, seats]  what a pot of two is worth."""
        found = np.empty((len(self._pairs), CLASSES, CLASSES, self.hand.players))
        for k, pair in enumerate(self._pairs):
            first = self.hand.first_of(pair)
            found[k] = np.tensordot(self._chances, paid[first : first + 3], (0, 0))
        return found

    def outcomes(self, moments: NDArray[Any], jams: NDArray[Any]) -> NDArray[np.float64]:
        """[states, seats, outcomes]"""
        from kibitz.poker.tournaments.kernels.deals import count_outcomes

        n = self.hand.players
        found = np.zeros((len(moments), CHUNKS, n, len(self.hand.outcomes)))

        def piece(state: int, chunk: int, reach: Any) -> None:
            first, last = (k * self.deals // CHUNKS for k in (chunk, chunk + 1))
            others, own = moments[state].astype(np.float64), jams[state].astype(np.float64)
            count_outcomes(first, last, others, own, self._node_of, self.classes, self.orders, self._pair_of,
                           self._first_of, self._chances, reach, found[state, chunk])  # fmt: skip

        pieces = [(state, chunk) for state in range(len(moments)) for chunk in range(CHUNKS)]
        self._each(pieces, piece, lambda: (np.zeros((n + 1, 1 << n)),))
        return np.asarray(found.sum(axis=1) / self.deals)

    @staticmethod
    def _each(pieces: list[tuple[int, int]], work: Any, space: Any) -> None:
        """Pieces on all cores; each thread takes the next."""
        left, lock = iter(pieces), threading.Lock()

        def take(_: int) -> None:
            mine = space()
            while True:
                with lock:
                    piece = next(left, None)
                if piece is None:
                    return
                work(*piece, *mine)

        together(take, max(1, min(cores(), len(pieces))))
