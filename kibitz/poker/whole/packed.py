"""The boards of shards as a GPU reads them. Cores put hands into order and find their rows, a few shards ahead.

What does not depend on a strategy is made once for all sweeps that go over the boards together: the order of hands, the
hands on the board before, and the row numbers of each list of buckets that any of the strategies goes by.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibitz.cards.boards import Boards, pairs
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.weights import ordered, rows_on, shards_of
from kibitz.poker.buckets.hand_buckets import HandBuckets
from kibitz.poker.sampled.hands import Source, copies_of, hands_before, renamings_of
from kibitz.poker.whole.cuda import STEP, card_bytes, filled


@dataclass
class PackedBoards:
    """The hands on the boards of a round of a shard, in memory or on the GPU. B boards of H hands, A boards before."""

    hands: Any  # uint32[B, places, 2]  `pack_hands`
    rows: Any  # uint32[sources, B, places]
    ends: Any  # uint16[B, places / STEP]
    sizes: Any  # int32[B]
    where: Any  # uint16[B, hands before]
    copies: Any  # float64[B]
    above: Any  # int32[B]  the board before, counted from the shard's
    below: Any  # int32[A + 1]  where the boards that continue one begin
    names: Any  # uint16[renamings, H]  what renamings that leave a board alone make of its hands
    name_at: Any  # int32[B + 1]  where those of a board begin; none, if only one does

    def sent(self, xp: Any) -> PackedBoards:
        return PackedBoards(*(xp.asarray(each) for each in vars(self).values()))


@dataclass
class ReadyHands:
    """The hands on the boards of a round with the rows of one sweep's sources, as its kernels read them."""

    of: PackedBoards
    words: Any  # uint32[B, places, 4]  cards, the hand on the board before, two rows
    extra: Any  # uint32[B, places, sources whose rows do not fit there]


class BoardPacker:
    """Makes shards ready, and puts the work on them into one line. Several threads may ask: they prepare side by side.

    sources: of row numbers, of all sweeps. itemsize: bytes of a value. shards: those of the sweeps; default: all.
    """

    def __init__(
        self, boards: Boards, hole: int, levels: range, sources: Sequence[Source], device: Device, itemsize: int = 4,
        shards: list[list[slice]] | None = None,
    ) -> None:  # fmt: skip
        self.boards, self.hole, self.levels, self.device = boards, hole, levels, device
        self.card_bytes = card_bytes(itemsize)
        self.sources = list({source.digest: source for source in sources if source is not None}.values())
        self.shards = shards_of(boards) if shards is None else shards
        self.xp = device.xp
        self._lock, self._threads = threading.Lock(), threading.local()
        self._stream: Any = None
        self._values: Any = None
        self.room = 0  # bytes for values of betting (`fitting` of gpu.py)

    # On cores

    def packed(self, number: int, level: int) -> PackedBoards:
        """The boards of a round of a shard."""
        shard, boards, hole = self.shards[number], self.boards, self.hole
        here, before, last = shard[level], shard[level - 1], self.levels[-1]
        size, hands = here.stop - here.start, boards.hands(level, hole)
        if level == last:
            order, tie, ahead = ordered(boards, hole, here)
        else:
            order = np.broadcast_to(np.arange(hands, dtype=np.int16), (size, hands))
            tie, ahead = np.zeros((size, hands), np.int16), None
        rows = np.zeros((len(self.sources), size, hands), np.uint32)
        for k, source in enumerate(self.sources):
            rows[k] = rows_on(source, level, shard, ahead)
        up = hands_before(boards, hole, level, shard)
        words, packed_rows, ends, where, sizes = self._placed(level, np.ascontiguousarray(order), tie, up, rows)
        below = np.array([0, size])
        if level > self.levels[0]:
            below = boards.rounds[level].below[before.start : before.stop + 1] - here.start
        above = np.repeat(np.arange(len(below) - 1), np.diff(below))
        names, name_at = self._names(level, here)
        return PackedBoards(words, packed_rows, ends, sizes, where, copies_of(boards, hole, level, here),
                            above.astype(np.int32), below.astype(np.int32), names, name_at)  # fmt: skip

    def _placed(self, level: int, order: Any, tie: Any, up: Any, rows: Any) -> tuple[Any, ...]:
        """What `pack_hands` writes. How many places boards take is known afterwards; mostly a guess is enough."""
        from kibitz.poker.exact.kernels.packed import pack_hands

        (size, hands), live = order.shape, self.boards.live(level)
        before = self.boards.hands(level - 1, self.hole)
        strips = self.hole == 2 and level == self.levels[-1]
        cards = np.concatenate((pairs(live, self.hole)[:, [0, self.hole - 1]], [[live, live]]))
        most, places = 1, 0
        while most > places:
            places = filled(max(most, hands * 3 // 2 if strips else hands))
            wide = places + STEP  # hands are read a step ahead
            words, packed_rows = np.zeros((size, wide, 2), np.uint32), np.zeros((len(rows), size, wide), np.uint32)
            ends, where = np.zeros((size, wide // STEP), np.uint16), np.full((size, before), 65535, np.uint16)
            sizes = np.zeros(size, np.int32)
            most = int(pack_hands(
                order, tie, up, rows, cards, self.card_bytes, before, strips, places, np.zeros(53, np.uint64),
                np.zeros((3, 53), np.int64), words, packed_rows, ends, where, sizes,
            ))  # fmt: skip
        wide = most + STEP
        return (np.ascontiguousarray(words[:, :wide]), np.ascontiguousarray(packed_rows[:, :, :wide]),
                np.ascontiguousarray(ends[:, : wide // STEP]), where, sizes)  # fmt: skip

    def _names(self, level: int, here: slice) -> tuple[Any, Any]:
        """Renamings of suits that leave boards alone; of the last boards nobody asks for them."""
        if level < self.levels[-1]:
            return renamings_of(self.boards, self.hole, level, here)
        none = np.zeros((0, self.boards.hands(level, self.hole)), np.uint16)
        return none, np.zeros(here.stop - here.start + 1, np.int32)

    # On the GPU

    def number(self, source: HandBuckets) -> int:
        """Where the rows of a source are in `PackedBoards.rows`."""
        return next(k for k, each in enumerate(self.sources) if each.digest == source.digest)

    def ready(self, sent: PackedBoards, numbers: Sequence[int]) -> ReadyHands:
        """The hands with the rows of some sources: as kernels read them."""
        boards, places = sent.hands.shape[:2]
        words = self.xp.zeros((boards, places, 4), np.uint32)
        words[:, :, :2] = sent.hands
        for k, number in enumerate(numbers[:2]):
            words[:, :, 2 + k] = sent.rows[number]
        extra = self.xp.zeros((boards, places, max(0, len(numbers) - 2)), np.uint32)
        for k, number in enumerate(numbers[2:]):
            extra[:, :, k] = sent.rows[number]
        return ReadyHands(sent, words, extra)

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """What a thread sends goes in a line of its own, and is there afterwards."""
        if not hasattr(self._threads, "stream"):
            self._threads.stream = self.xp.cuda.Stream(non_blocking=True)
        with self._threads.stream:
            yield
        self._threads.stream.synchronize()

    def queued(self, work: Callable[[], Any]) -> Any:
        """All work goes in one line, one shard behind the other, so they share what room there is; threads put theirs
        in and wait for its end, while the next is in the line already."""
        with self._lock:
            if self._stream is None:
                self._stream = self.xp.cuda.Stream(non_blocking=True)
            with self._stream:
                result = work()
                done = self._stream.record()
        done.synchronize()
        return result

    def values(self, size: int, dtype: Any) -> Any:
        """Room for so many values of betting, the same whoever asks: what stands there lasts for one round."""
        if self._values is None or self._values.nbytes < size * np.dtype(dtype).itemsize:
            self._values = None
            self._values = self.xp.empty(size * np.dtype(dtype).itemsize // 8 + 1, np.int64)
        return self._values.view(dtype)
