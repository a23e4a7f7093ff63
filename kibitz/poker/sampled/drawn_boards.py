"""Boards that are drawn, made ready for a GPU: cores put hands into order and find their rows, some boards ahead."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import Boards, pairs
from kibitz.poker.bucketed.weights import ordered, rows_between
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.sampled.cuda import STEP
from kibitz.poker.sampled.hands import hands_between

CHUNK = 64  # boards that a core makes ready at a time
LEAST_AHEAD = 16  # chunks


@dataclass
class BatchHands:
    """The hands on boards of one round, in memory or on the GPU (`pack_drawn`). B boards."""

    hands: Any  # uint32[B, places, 4]
    extra: Any  # uint32[B, places, sources whose rows do not fit there]
    ends: Any  # uint16[B, places / STEP]
    sizes: Any  # int32[B]
    where: Any  # uint16[B, hands before]

    def sent(self, xp: Any) -> BatchHands:
        return BatchHands(*(xp.asarray(each) for each in vars(self).values()))

    def part(self, low: int, high: int) -> BatchHands:
        return BatchHands(*(each[low:high] for each in vars(self).values()))


def joined(parts: list[BatchHands], xp: Any) -> BatchHands:
    """Boards one behind the other, with as many places as the largest needs."""
    packed = []
    for arrays in zip(*(vars(each).values() for each in parts), strict=True):
        wide = [max(each.shape[k] for each in arrays) for k in range(1, arrays[0].ndim)]
        whole, at = xp.empty((sum(len(each) for each in arrays), *wide), arrays[0].dtype), 0
        for each in arrays:
            whole[(slice(at, at + len(each)), *(slice(0, n) for n in each.shape[1:]))] = each
            at += len(each)
        packed.append(whole)
    return BatchHands(*packed)


def rounds_without_cards(boards: Boards) -> int:
    """Rounds before the first cards of the board."""
    return sum(1 for level in range(len(boards.board)) if not sum(boards.board[: level + 1]))


def hands_above(boards: Boards, hole: int, level: int) -> int:
    """Hands on the board before; before the first round there are as many as in it."""
    return boards.hands(max(0, level - 1), hole)


def packed_hands(
    boards: Boards, hole: int, level: int, chain: list[NDArray[np.int64]], sources: list[HandBuckets], card_bytes: int
) -> BatchHands:
    """The hands on boards of a round. chain: by round, the boards on the way to each. card_bytes: from card to card."""
    from kibitz.poker.exact.kernels.drawn import count_places, pack_drawn

    here, before = chain[level], chain[max(0, level - 1)]
    size, hands, live, above = len(here), boards.hands(level, hole), boards.live(level), np.arange(len(here))
    if level + 1 == len(boards.rounds):
        order, tie, ahead = ordered(boards, hole, here)
    else:
        order = np.repeat(np.arange(hands, dtype=np.int16)[None], size, axis=0)
        tie, ahead = np.zeros((size, hands), np.int16), None
    rows = np.zeros((len(sources), size, hands), np.uint32)
    for k, source in enumerate(sources):
        rows[k] = rows_between(source, level, before, here, lambda: above, ahead)
    places, none = int(count_places(tie, STEP)) + STEP, hands_above(boards, hole, level)  # hands are read a step ahead
    words, sizes = np.zeros((size, places, 4), np.uint32), np.zeros(size, np.int32)
    extra = np.zeros((size, places, max(0, len(sources) - 2)), np.uint32)
    ends, where = np.zeros((size, places // STEP), np.uint16), np.full((size, none), 65535, np.uint16)
    cards = np.concatenate((pairs(live, hole)[:, [0, hole - 1]], [[live, live]]))
    up = hands_between(boards, hole, level, before, here, above)
    pack_drawn(order, tie, up, rows, cards, card_bytes, STEP, none, words, extra, ends, where, sizes)
    return BatchHands(words, extra, ends, sizes, where)


class DrawnBoards:
    """The boards of iterations, by round. chains: (first iteration, count) -> by round, their boards."""

    def __init__(
        self, boards: Boards, hole: int, sources: list[HandBuckets], card_bytes: list[int], xp: Any, threads: int,
        chains: Callable[[int, int], list[NDArray[np.int64]]],
    ) -> None:  # fmt: skip
        self.boards, self.hole, self.sources, self.card_bytes, self.xp = boards, hole, sources, card_bytes, xp
        self._chains, self._ahead = chains, max(LEAST_AHEAD, 2 * threads)
        self._pool, self._threads = ThreadPoolExecutor(threads), threading.local()
        self._chunks: dict[int, Future[list[BatchHands]]] = {}
        self._same = rounds_without_cards(boards)  # in which there is but one board
        chain = [np.zeros(1, np.int64)] * self._same
        self._first = [self._packed(level, chain).sent(xp) for level in range(self._same)]

    def _packed(self, level: int, chain: list[NDArray[np.int64]]) -> BatchHands:
        return packed_hands(self.boards, self.hole, level, chain, self.sources, self.card_bytes[level])

    def _made(self, chain: list[NDArray[np.int64]]) -> list[BatchHands]:
        packed = [self._packed(level, chain) for level in range(self._same, len(chain))]
        with self._sending():
            return [each.sent(self.xp) for each in packed]

    @contextlib.contextmanager
    def _sending(self) -> Iterator[None]:
        """What a thread sends to a GPU goes in a line of its own, and is there afterwards."""
        if self.xp is np:
            yield
            return
        if not hasattr(self._threads, "stream"):
            self._threads.stream = self.xp.cuda.Stream(non_blocking=True)
        with self._threads.stream:
            yield
        self._threads.stream.synchronize()

    def batch(self, begin: int, end: int) -> tuple[list[BatchHands], Any]:
        """(by round the hands on the boards of iterations begin to end - 1, or on the one board before the first cards;
        what must not be let go before they have been put together)."""
        first, last = begin // CHUNK, (end - 1) // CHUNK
        for k in list(self._chunks):
            if not first <= k <= last + self._ahead:
                self._chunks.pop(k).cancel()
        for k in range(first, last + 1 + self._ahead):
            if k not in self._chunks:
                self._chunks[k] = self._pool.submit(self._made, self._chains(k * CHUNK, CHUNK))
        pieces = []
        for k in range(first, last + 1):
            low, high = max(begin, k * CHUNK) - k * CHUNK, min(end, (k + 1) * CHUNK) - k * CHUNK
            pieces.append([each.part(low, high) for each in self._chunks[k].result()])
        rounds = [*self._first]
        rounds += [joined([piece[k] for piece in pieces], self.xp) for k in range(len(self.boards.rounds) - self._same)]
        return rounds, pieces

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
