"""Sweeps on a GPU: the boards of a shard round by round, each round's at once.

Cores put hands into order and find their rows, a few shards ahead; reaches, values and their sums over boards are all
on the GPU, by kernels that are written for the betting of the game (`cuda.py`). Every sum has a fixed order, so the
same GPU gives the same bits; against `poker/whole/kernels.py` they differ by rounding.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.cards.boards import pairs
from kibitz.core.errors import SolverError
from kibitz.core.resources import cores
from kibitz.poker.bucketed.device import Device
from kibitz.poker.bucketed.weights import ordered, rows_on
from kibitz.poker.sampled.hands import copies_of, hands_before, renamed
from kibitz.poker.whole import cuda
from kibitz.poker.whole.cuda import GATHER, PAIRS, WARP, WIDE, CudaRound, Writer, filled, prelude
from kibitz.poker.whole.plan import EXIT, Part, Shape, blocks_of, shapes_of

Floats = NDArray[np.float64]

MOST_ROOM = 16 << 30  # bytes for the values of betting on the last boards: a shard of hold'em at once
SHARE = 0.8  # of free memory that is taken at most
THREADS = 256
_C_NAMES = {4: "float", 8: "double"}
PLAIN_SHARED = 48 << 10  # bytes of shared memory that need not be asked for


@dataclass
class PackedBoards:
    """The hands on the boards of a round of a shard, in memory or on the GPU. B boards of H hands, A boards before."""

    hands: Any  # uint32[B, places, 4]  `pack_hands`
    extra: Any  # uint32[B, places, sources whose rows do not fit there]
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
class RoundTables:
    """The betting of a round on the GPU, for one seat."""

    of: CudaRound
    stake: Any  # [G, N, WIDE]
    begin: tuple[Any, Any]  # int64[G]  by seat: where the rows of a group begin in its strategy, in WIDE
    exits: Any  # int32[G, N, WIDE]  the lane of the next round; -1: none
    kinds: list[tuple[Writer, Any]]  # by shape: its code, int32[groups of the shape]
    module: Any
    functions: dict[str, Any] = field(default_factory=dict)


class Shards:
    """What `Sweep.shard` (`walk.py`) works out, on a GPU. Several threads may ask: they prepare side by side."""

    def __init__(self, sweep: Any, device: Device) -> None:
        self.sweep, self.device = sweep, device
        self.xp = self.device.xp
        self._lock, self._threads = threading.Lock(), threading.local()
        self._tables: dict[tuple[int, int, int], RoundTables] = {}
        self._check_room()

    # Memory

    def _most(self, level: int) -> int:
        """Boards of a round that a shard has at most; one before the first cards."""
        return int(max(shard[level].stop - shard[level].start for shard in self.sweep.shards))

    def _board(self, level: int) -> int:
        """Bytes of what betting is worth on a board, about: fewer than half of the places only fill up."""
        hands = self.sweep.hands(level)
        places = min(cuda.STEP * hands, 2 * hands + 500) + cuda.STEP
        return int(self._slots(level) * self.sweep.groups(level) * places * WIDE * self.sweep.dtype.itemsize)

    @cached_property
    def _levels(self) -> range:
        return range(self.sweep.begin, self.sweep.last + 1)

    def _slots(self, level: int) -> int:
        shapes, of = self._shapes(level), self._round(level)
        return 1 + max(part.slot for shape in shapes for s in (0, 1) for part in Writer(shape, s, False, of, "").parts)

    def _check_room(self) -> None:
        """Refuse before the start what the GPU cannot hold."""
        sweep = self.sweep
        fixed, least, whole = 2 * sum(table.nbytes for table in sweep._laid[1]), 0, 0
        for level in self._levels:
            below = np.diff(sweep.boards.rounds[level].below) if level > sweep.begin else np.ones(1, np.int64)
            least = max(least, int(below.max()) * self._board(level))
            whole = max(whole, self._most(level) * self._board(level))
            fixed += self._most(level - 1) * sweep.groups(level) * (sweep.hands(level - 1) + cuda.STEP) * WIDE * 24
            fixed += cores() * self._most(level) * sweep.hands(level) * 32  # what threads have made ready
        free = int(SHARE * self.device.free())
        if fixed + least > free:
            raise SolverError(
                f"a sweep of {sweep.game.spec or 'this game'} takes {(fixed + least) / 1e9:.1f} GB of the GPU's "
                f"memory, and {free / 1e9:.1f} GB may be used: take a larger GPU, or leave out --device"
            )
        self._room = max(least, min(MOST_ROOM, free - fixed, whole))

    @cached_property
    def _values(self) -> Any:
        return self.xp.empty(self._room // self.sweep.dtype.itemsize, self.sweep.dtype)

    def _vectors(self, hands: int, dtype: Any) -> list[Any]:
        """By round: zeros by board before, group, hand there and so many more, and lane."""
        sweep, vectors = self.sweep, [None] * self.sweep.begin
        for level in self._levels:
            each = sweep.groups(level) * (sweep.hands(level - 1) + hands) * WIDE
            vectors.append(self.xp.zeros(self._most(level - 1) * each, dtype))
        return vectors

    @cached_property
    def _roots(self) -> list[Any]:
        """Reaches at the roots of groups. Lanes that nothing leads to stay zero, as does a hand that nobody holds."""
        return self._vectors(1, self.sweep.dtype)

    @cached_property
    def _sums(self) -> list[Any]:
        """What a seat gets on the boards of a round."""
        return self._vectors(0, np.float64)

    @cached_property
    def _means(self) -> list[Any]:
        """The same for hands that renamings make the same."""
        return self._vectors(cuda.STEP, self.sweep.dtype)

    @cached_property
    def _strategies(self) -> list[Any]:
        """By seat: of each group blocks of rows, in a row actions side by side, and lanes."""
        return [self._by_row(seat, self.xp.asarray(table)) for seat, table in enumerate(self.sweep._laid[1])]

    def _by_row(self, seat: int, table: Any) -> Any:
        by_row, rows_before = self.xp.empty_like(table), table.reshape(-1, WIDE)
        lanes = by_row.reshape(-1, WIDE)
        for level, betting in enumerate(self.sweep._laid[0]):
            rows = self._row_counts(level)
            for g in range(len(betting.group_node) - 1):
                blocks = blocks_of(betting, g, seat)
                at = min((actions[0][0] for actions in blocks.values()), default=0)
                for source, actions in blocks.items():
                    size, width = rows[source], len(actions)
                    block = lanes[at : at + size * width].reshape(size, width, WIDE)
                    for column, (begin, _) in enumerate(actions):
                        block[:, column] = rows_before[begin : begin + size]
                    at += size * width
        return by_row

    def _row_counts(self, level: int) -> list[int]:
        """By source: rows of a round."""
        return [1 if source is None else source.counts[level] for source in self.sweep.sources]

    @cached_property
    def _numbered(self) -> list[int]:
        """The sources that number rows. Those of two are with the hands, the others beside them."""
        return [k for k, source in enumerate(self.sweep.sources) if source is not None]

    # Betting

    def _round(self, level: int) -> CudaRound:
        sweep = self.sweep
        beside = max(0, len(self._numbered) - 2)
        words = ["h[u].z", "h[u].w", *(f"more[(PLACE) * EXTRA + {k}]" for k in range(beside))]
        row = ["0u" if source is None else words[self._numbered.index(k)] for k, source in enumerate(sweep.sources)]
        return CudaRound(
            sweep.hands(level), sweep.hands(level - 1), sweep.groups(level),
            int(np.diff(sweep._laid[0][level].group_node).max()), sweep.groups(level + 1) if level < sweep.last else 1,
            sweep.boards.live(level), sweep.hole == 2, tuple(row), beside, _C_NAMES[sweep.dtype.itemsize],
        )  # fmt: skip

    def _shapes(self, level: int) -> dict[Shape, list[int]]:
        return shapes_of(self.sweep._laid[0][level], self._row_counts(level))

    def tables(self, level: int, seat: int, mode: int) -> RoundTables:
        """The betting of a round for a seat; compiled when it is first asked for."""
        key = level, seat, mode
        if key not in self._tables:
            self._tables[key] = self._made(*key)
        return self._tables[key]

    def _made(self, level: int, seat: int, mode: int) -> RoundTables:
        from kibitz.poker.whole.kernels import PLAYED

        betting, of, xp = self.sweep._laid[0][level], self._round(level), self.xp
        stake = np.zeros((of.groups, of.nodes, WIDE), self.sweep.dtype)
        begin = np.zeros((2, of.groups), np.int64)
        exits = np.full((of.groups, of.nodes, WIDE), -1, np.int32)
        for g in range(of.groups):
            nodes = slice(*betting.group_node[g : g + 2].tolist())
            stake[g, : nodes.stop - nodes.start] = betting.stake[seat, nodes]
            for who in (0, 1):
                led = betting.slot[who, nodes] == np.arange(nodes.stop - nodes.start)
                led[0] = False
                begin[who, g] = (
                    betting.sequence[who, nodes][led].min(initial=np.iinfo(np.int64).max) if led.any() else 0
                )
            for link in range(*betting.group_link[g : g + 2].tolist()):
                lane, lanes = int(betting.link_lane[link]), int(betting.link_count[link])
                first = int(betting.link_group[link]) * WIDE + int(betting.link_first[link])
                exits[g, betting.link_node[link], lane : lane + lanes] = np.arange(first, first + lanes)
        kinds = [
            (Writer(shape, seat, mode == PLAYED, of, f"b{k}"), xp.asarray(np.array(groups, np.int32)))
            for k, (shape, groups) in enumerate(self._shapes(level).items())
        ]
        module = self._compile(prelude(of) + GATHER + "".join(writer.source() for writer, _ in kinds))
        begins = xp.asarray(begin[0]), xp.asarray(begin[1])
        return RoundTables(of, xp.asarray(stake), begins, xp.asarray(exits), kinds, module)

    def _compile(self, source: str) -> Any:
        return self.xp.RawModule(code=source, options=("-std=c++17",))

    def _function(self, tables: RoundTables, name: str, shared: int = 0) -> Any:
        if name not in tables.functions:
            function = tables.functions[name] = tables.module.get_function(name)
            if shared > PLAIN_SHARED:
                function.max_dynamic_shared_size_bytes = shared
            if shared:
                function.preferred_shared_memory_carveout = 100
        return tables.functions[name]

    # Shards

    def shard(self, number: int, seats: tuple[int, ...], mode: int, roots: list[NDArray[Any]]) -> list[Floats]:
        """As `Sweep.shard`."""
        packed = [self.packed(number, level) for level in self._levels]
        with self._sending():
            sent = [each.sent(self.xp) for each in packed]
            starts = [self.xp.asarray(np.pad(root, ((0, 0), (0, 1), (0, 0))).ravel()) for root in roots]
        values = self._queued(
            lambda: [self._run(packed, sent, seat, mode, start) for seat, start in zip(seats, starts, strict=True)]
        )
        shape = self.sweep.vectors(self.sweep.begin, np.int8).shape
        return [np.asarray(self.device.to_host(each)).reshape(shape) for each in values]

    def packed(self, number: int, level: int) -> PackedBoards:
        """The boards of a round of a shard."""
        from kibitz.poker.exact.kernels.packed import most_places, pack_hands

        sweep, shard = self.sweep, self.sweep.shards[number]
        boards, hole, here, before = sweep.boards, sweep.hole, shard[level], shard[level - 1]
        size, hands = here.stop - here.start, sweep.hands(level)
        if level == sweep.last:
            order, tie, ahead = ordered(boards, hole, here)
        else:
            order = np.broadcast_to(np.arange(hands, dtype=np.int16), (size, hands))
            tie, ahead = np.zeros((size, hands), np.int16), None
        rows = np.zeros((len(self._numbered), size, hands), np.uint32)
        for k, source in enumerate(source for source in sweep.sources if source is not None):
            rows[k] = rows_on(source, level, shard, ahead)
        live, of = boards.live(level), self._round(level)
        places = int(most_places(tie, cuda.STEP)) + cuda.STEP  # hands are read a step ahead
        words, sizes = np.zeros((size, places, 4), np.uint32), np.zeros(size, np.int32)
        extra = np.zeros((size, places, of.extra), np.uint32)
        ends = np.zeros((size, places // cuda.STEP), np.uint16)
        where = np.full((size, of.above), 65535, np.uint16)
        cards = np.concatenate((pairs(live, hole)[:, [0, hole - 1]], [[live, live]]))
        up = hands_before(boards, hole, level, shard)
        pack_hands(np.ascontiguousarray(order), tie, up, rows, cards, of.card_bytes, cuda.STEP, of.above, words,
                   extra, ends, where, sizes)  # fmt: skip
        below = np.array([0, size])
        if level > sweep.begin:
            below = boards.rounds[level].below[before.start : before.stop + 1] - here.start
        above = np.repeat(np.arange(len(below) - 1), np.diff(below))
        names: list[Any] = [np.zeros((0, hands), np.int64)]
        if level < sweep.last:
            group = boards.rounds[level].group[here]
            names += [
                renamed(boards, hole, level, here.start + k) if int(bits).bit_count() > 1 else names[0]
                for k, bits in enumerate(group)
            ]
        else:
            names += [names[0]] * size
        name_at = np.cumsum([0, *(len(each) for each in names[1:])])
        return PackedBoards(words, extra, ends, sizes, where, copies_of(boards, hole, level, here),
                            above.astype(np.int32), below.astype(np.int32), np.concatenate(names).astype(np.uint16),
                            name_at.astype(np.int32))  # fmt: skip

    @contextlib.contextmanager
    def _sending(self) -> Iterator[None]:
        """What a thread sends goes in a line of its own, and is there afterwards."""
        if not hasattr(self._threads, "stream"):
            self._threads.stream = self.xp.cuda.Stream(non_blocking=True)
        with self._threads.stream:
            yield
        self._threads.stream.synchronize()

    def _queued(self, work: Callable[[], Any]) -> Any:
        """All work goes in one line, one shard behind the other, so they share what room there is; threads put theirs
        in and wait for its end, while the next is in the line already."""
        with self._lock, self._stream:
            result = work()
            done = self._stream.record()
        done.synchronize()
        return result

    @cached_property
    def _stream(self) -> Any:
        return self.xp.cuda.Stream(non_blocking=True)

    def _run(self, packed: list[PackedBoards], sent: list[PackedBoards], seat: int, mode: int, start: Any) -> Any:
        """What a seat gets on a shard's boards: down round by round, and up again."""
        begin = self.sweep.begin
        tables = [self.tables(level, seat, mode) for level in self._levels]
        roots = [start, *self._roots[begin + 1 :]]
        for k in range(len(tables) - 1):
            self._open(tables[k], sent[k], seat, roots[k], roots[k + 1])
        for k in range(len(tables) - 1, -1, -1):
            after = self._means[begin + k + 1] if k + 1 < len(tables) else roots[k]  # the last boards ask for none
            self._settle(tables[k], packed[k], sent[k], seat, roots[k], after, self._sums[begin + k])
            if k:
                self._even(tables[k], sent[k - 1], self._sums[begin + k], self._means[begin + k])
        return self._sums[begin].copy()

    def _open(self, tables: RoundTables, sent: PackedBoards, seat: int, roots: Any, onto: Any) -> None:
        boards, wide = len(sent.above), -(-tables.of.hands * PAIRS // THREADS)
        for writer, groups in tables.kinds:
            if EXIT in writer.shape.turn:
                self._function(tables, f"{writer.name}_open")(
                    (wide, len(groups), boards), (THREADS,),
                    (sent.hands, sent.extra, sent.above, roots, self._strategies[1 - seat], tables.begin[1 - seat],
                     groups, tables.exits, onto),
                )  # fmt: skip

    def _settle(
        self, tables: RoundTables, packed: PackedBoards, sent: PackedBoards, seat: int, roots: Any, after: Any,
        onto: Any,
    ) -> None:  # fmt: skip
        """Values of all boards of a round, so many at a time as there is room for, summed by board before."""
        of, places = tables.of, packed.hands.shape[1]
        parts = [(writer, groups, k, part) for writer, groups in tables.kinds for k, part in enumerate(writer.parts)]
        each = (1 + max(part.slot for _, _, _, part in parts)) * of.groups * places * WIDE
        gather = self._function(tables, "gather")
        for low, high in batches(packed.below.tolist(), len(self._values) // each):
            first, boards = int(packed.below[low]), int(packed.below[high] - packed.below[low])
            if boards * each > len(self._values):
                del self._values
                self._room = boards * each * of.itemsize
            for writer, groups, k, part in parts:
                self._part(tables, writer, groups, k, part, sent, seat, roots, after, first, boards)
            gather((-(-of.above * PAIRS // THREADS), of.groups, high - low), (THREADS,),
                   (sent.where, sent.below, sent.copies, self._values, np.int32(places), np.int32(first), np.int32(low),
                    onto))  # fmt: skip

    def _even(self, tables: RoundTables, before: PackedBoards, sums: Any, means: Any) -> None:
        """Values on the boards before, equal for hands that a renaming which leaves the board alone makes the same."""
        of = tables.of
        self._function(tables, "even")(
            (-(-of.above * WIDE // THREADS), of.groups, len(before.above)), (THREADS,),
            (sums, before.names, before.name_at, np.int32(filled(of.above)), means),
        )  # fmt: skip

    def _part(self, tables: RoundTables, writer: Writer, groups: Any, k: int, part: Part, sent: PackedBoards, seat: int,
              roots: Any, after: Any, first: int, boards: int) -> None:  # fmt: skip
        of, places = tables.of, sent.hands.shape[1]
        shared, slot = of.shared_bytes(part), boards * of.groups * places * WIDE
        self._function(tables, f"{writer.name}_{k}", shared)(
            (boards, -(-len(groups) * PAIRS // WARP)), (WARP,),
            (sent.hands, sent.extra, sent.ends, sent.sizes, sent.above, roots, self._strategies[1 - seat],
             self._strategies[seat], tables.begin[1 - seat], tables.begin[seat], tables.stake, groups,
             np.int32(len(groups)), np.int32(first), np.int32(places), self._values, np.int64(slot), after,
             tables.exits),
            shared_mem=shared,
        )  # fmt: skip


def batches(below: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Boards before, low to high - 1, with at most so many boards that continue them; one at least."""
    low = 0
    while low < len(below) - 1:
        high = low + 1
        while high < len(below) - 1 and below[high + 1] - below[low] <= most:
            high += 1
        yield low, high
        low = high
