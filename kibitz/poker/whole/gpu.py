"""Sweeps on a GPU: the boards of a shard round by round, each round's at once.

Cores make shards ready (`packed.py`); reaches, values and their sums over boards are all on the GPU, by kernels written
for the betting of the game (`cuda.py`), which has blocks of 64 lanes there (`wide.py`). Every sum has a fixed order, so
the same GPU gives the same bits, whether one sweep goes over the boards or several do; against `kernels/boards.py` they
differ by rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.gpu import CudaKernels
from kibitz.core.resources import cores
from kibitz.poker.bucketed.device import Device
from kibitz.poker.whole import cuda
from kibitz.poker.whole.cuda import PAIRS, WARP, WIDE, CudaRound, Writer, filled, prelude
from kibitz.poker.whole.packed import BoardPacker, PackedBoards, ReadyHands
from kibitz.poker.whole.plan import EXIT, Part
from kibitz.poker.whole.templates import GATHER
from kibitz.poker.whole.wide import WideBetting

Floats = NDArray[np.float64]

MOST_ROOM = 16 << 30  # bytes for the values of betting on the last boards: a shard of hold'em at once
SHARE = 0.8  # of free memory that is taken at most
THREADS = 256
_C_NAMES = {4: "float", 8: "double"}


@dataclass
class RoundTables:
    """The betting of a round on the GPU, for one seat."""

    of: CudaRound
    stake: Any  # [G, N, WIDE]
    begin: tuple[Any, Any]  # int64[G]  by seat: where the rows of a block begin in its strategy, in WIDE
    exits: Any  # int32[G, N, WIDE]  the lane of the next round; -1: none
    kinds: list[tuple[Writer, Any]]  # by shape: its code, int32[blocks of the shape]
    module: Any
    functions: dict[str, Any] = field(default_factory=dict)


class Shards(CudaKernels):
    """What `Sweep.shard` (`walk.py`) works out, on a GPU. Several threads may ask: they prepare side by side.

    packer: what makes boards ready, shared by all sweeps of a pass, who then see to it that there is room
    (`fitting`).
    """

    def __init__(self, sweep: Any, device: Device, packer: BoardPacker | None = None) -> None:
        self.sweep, self.device = sweep, device
        self.xp = self.device.xp
        self.wide = WideBetting(sweep)
        self._tables: dict[tuple[int, int, int], RoundTables] = {}
        self.packer = packer or packer_of([sweep], device)
        if packer is None:
            fitting([self])

    # Memory

    def _most(self, level: int) -> int:
        """Boards of a round that a shard has at most; one before the first cards."""
        return int(max(shard[level].stop - shard[level].start for shard in self.sweep.shards))

    def _board(self, level: int) -> int:
        """Bytes of what betting is worth on a board, about: fewer than half of the places only fill up."""
        hands = self.sweep.hands(level)
        places = min(cuda.STEP * hands, 2 * hands + 500) + cuda.STEP
        return int(self._slots(level) * self.wide.count(level) * places * WIDE * self.sweep.dtype.itemsize)

    @cached_property
    def _levels(self) -> range:
        return range(self.sweep.begin, self.sweep.last + 1)

    def _slots(self, level: int) -> int:
        shapes, of = self.wide.shapes(level), self._round(level)
        return 1 + max(part.slot for shape in shapes for s in (0, 1) for part in Writer(shape, s, False, of, "").parts)

    @cached_property
    def own_bytes(self) -> int:
        """Of what no other sweep uses: strategies, while they are laid out too, and vectors."""
        sweep = self.sweep
        own = 2 * sum(table.nbytes for table in sweep._laid[1])
        for level in self._levels:
            own += self._most(level - 1) * self.wide.count(level) * (sweep.hands(level - 1) + cuda.STEP) * WIDE * 24
        return int(own)

    @cached_property
    def ready_bytes(self) -> int:
        """Of boards that threads have made ready."""
        sweep, sources = self.sweep, len(self.packer.sources)
        each = sum(self._most(level) * sweep.hands(level) for level in self._levels)
        return int(cores() * each * 4) * (4 + sources + max(0, len(self._numbered) - 2))

    @cached_property
    def value_bytes(self) -> tuple[int, int]:
        """(least, most) of the values of betting on the boards of a round."""
        sweep, least, most = self.sweep, 0, 0
        for level in self._levels:
            below = np.diff(sweep.boards.rounds[level].below) if level > sweep.begin else np.ones(1, np.int64)
            least = max(least, int(below.max()) * self._board(level))
            most = max(most, self._most(level) * self._board(level))
        return least, most

    def _vectors(self, hands: int, dtype: Any) -> list[Any]:
        """By round: zeros by board before, block, hand there and so many more, and lane."""
        sweep, vectors = self.sweep, [None] * self.sweep.begin
        for level in self._levels:
            each = self.wide.count(level) * (sweep.hands(level - 1) + hands) * WIDE
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
        return [self.wide.strategy(seat, self.xp) for seat in (0, 1)]

    @cached_property
    def _numbered(self) -> list[int]:
        """The sources that number rows. Those of two are with the hands, the others beside them."""
        return [k for k, source in enumerate(self.sweep.sources) if source is not None]

    @cached_property
    def row_numbers(self) -> tuple[int, ...]:
        """Where the packer has their rows."""
        return tuple(self.packer.number(self.sweep.sources[k]) for k in self._numbered)

    # Betting

    def _round(self, level: int) -> CudaRound:
        sweep = self.sweep
        beside = max(0, len(self._numbered) - 2)
        words = ["h[u].z", "h[u].w", *(f"more[(PLACE) * EXTRA + {k}]" for k in range(beside))]
        row = ["0u" if source is None else words[self._numbered.index(k)] for k, source in enumerate(sweep.sources)]
        strips = sweep.hole == 2 and level == sweep.last
        return CudaRound(
            sweep.hands(level), sweep.hands(level - 1), self.wide.count(level), self.wide.nodes(level),
            self.wide.count(level + 1) if level < sweep.last else 1, sweep.boards.live(level), sweep.hole == 2, strips,
            tuple(row), beside, _C_NAMES[sweep.dtype.itemsize],
        )  # fmt: skip

    def tables(self, level: int, seat: int, mode: int) -> RoundTables:
        """The betting of a round for a seat; compiled when it is first asked for."""
        key = level, seat, mode
        if key not in self._tables:
            self._tables[key] = self._made(*key)
        return self._tables[key]

    def _made(self, level: int, seat: int, mode: int) -> RoundTables:
        from kibitz.poker.whole.kernels.boards import PLAYED

        of, xp = self._round(level), self.xp
        kinds = [
            (Writer(shape, seat, mode == PLAYED, of, f"b{k}"), xp.asarray(np.array(blocks, np.int32)))
            for k, (shape, blocks) in enumerate(self.wide.shapes(level).items())
        ]
        module = self._compile(prelude(of) + GATHER + "".join(writer.source() for writer, _ in kinds))
        begins = xp.asarray(self.wide.begins[0][level]), xp.asarray(self.wide.begins[1][level])
        stakes, exits = self.wide.stakes(level, seat), self.wide.exits(level)
        return RoundTables(of, xp.asarray(stakes), begins, xp.asarray(exits), kinds, module)

    # Shards

    def shard(self, number: int, seats: tuple[int, ...], mode: int, roots: list[NDArray[Any]]) -> list[Floats]:
        """As `Sweep.shard`."""
        return together(self.packer, number, [(self, seats, mode, roots)])[0]

    def starts(self, roots: list[NDArray[Any]]) -> list[Any]:
        """Reaches at the roots of the first round with cards, on the GPU."""
        return [self.xp.asarray(np.pad(self.wide.widened(root), ((0, 0), (0, 1), (0, 0))).ravel()) for root in roots]

    def run(self, packed: list[PackedBoards], sent: list[ReadyHands], seat: int, mode: int, start: Any) -> Any:
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
                self._even(tables[k], sent[k - 1].of, self._sums[begin + k], self._means[begin + k])
        return self._sums[begin].copy()

    def _open(self, tables: RoundTables, sent: ReadyHands, seat: int, roots: Any, onto: Any) -> None:
        boards, wide = len(sent.of.above), -(-tables.of.hands * PAIRS // THREADS)
        for writer, groups in tables.kinds:
            if EXIT in writer.shape.turn:
                self._function(tables, f"{writer.name}_open")(
                    (wide, len(groups), boards), (THREADS,),
                    (sent.words, sent.extra, sent.of.above, roots, self._strategies[1 - seat],
                     tables.begin[1 - seat], groups, tables.exits, onto),
                )  # fmt: skip

    def _settle(
        self, tables: RoundTables, packed: PackedBoards, sent: ReadyHands, seat: int, roots: Any, after: Any, onto: Any,
    ) -> None:  # fmt: skip
        """Values of all boards of a round, so many at a time as there is room for, summed by board before."""
        of, places = tables.of, packed.hands.shape[1]
        parts = [(writer, groups, k, part) for writer, groups in tables.kinds for k, part in enumerate(writer.parts)]
        each = (1 + max(part.slot for _, _, _, part in parts)) * of.groups * places * WIDE
        gather = self._function(tables, "gather")
        for low, high in batches(packed.below.tolist(), self.packer.room // (each * of.itemsize)):
            first, boards = int(packed.below[low]), int(packed.below[high] - packed.below[low])
            values = self.packer.values(max(boards * each, self.packer.room // of.itemsize), self.sweep.dtype)
            for writer, groups, k, part in parts:
                self._part(tables, writer, groups, k, part, sent, seat, roots, after, first, boards, values)
            gather((-(-of.above * PAIRS // THREADS), of.groups, high - low), (THREADS,),
                   (sent.of.where, sent.of.below, sent.of.copies, values, np.int32(places), np.int32(first),
                    np.int32(low), onto))  # fmt: skip

    def _even(self, tables: RoundTables, before: PackedBoards, sums: Any, means: Any) -> None:
        """Values on the boards before, equal for hands that a renaming which leaves the board alone makes the same."""
        of = tables.of
        self._function(tables, "even")(
            (-(-of.above * WIDE // THREADS), of.groups, len(before.above)), (THREADS,),
            (sums, before.names, before.name_at, np.int32(filled(of.above)), means),
        )  # fmt: skip

    def _part(self, tables: RoundTables, writer: Writer, blocks: Any, k: int, part: Part, sent: ReadyHands, seat: int,
              roots: Any, after: Any, first: int, boards: int, values: Any) -> None:  # fmt: skip
        of, places = tables.of, sent.words.shape[1]
        shared, slot = of.shared_bytes(part), boards * of.groups * places * WIDE
        self._function(tables, f"{writer.name}_{k}", shared)(
            (boards, len(blocks)), (WARP,),
            (sent.words, sent.extra, sent.of.ends, sent.of.sizes, sent.of.above, roots, self._strategies[1 - seat],
             self._strategies[seat], tables.begin[1 - seat], tables.begin[seat], tables.stake, blocks,
             np.int32(first), np.int32(places), values, np.int64(slot), after,
             tables.exits),
            shared_mem=shared,
        )  # fmt: skip


def packer_of(sweeps: Sequence[Any], device: Device) -> BoardPacker:
    """What makes boards ready for some sweeps of one game."""
    first = sweeps[0]
    sources = [source for sweep in sweeps for source in sweep.sources]
    levels = range(first.begin, first.last + 1)
    return BoardPacker(first.boards, first.hole, levels, sources, device, first.dtype.itemsize, first.shards)


def fitting(shards: Sequence[Shards]) -> int:
    """How many of some sweeps, the first ones, can go over the boards together in the memory of the GPU; room for
    values is set apart for them. What cannot be done for one is refused before the start."""
    first = shards[0]
    free = int(SHARE * first.device.free())
    own, least, most, count = max(each.ready_bytes for each in shards), 0, 0, 0
    for each in shards:
        bounds = each.value_bytes
        if own + each.own_bytes + max(least, bounds[0]) > free:
            break
        own, least, most, count = own + each.own_bytes, max(least, bounds[0]), max(most, bounds[1]), count + 1
    if not count:
        needed = own + first.own_bytes + first.value_bytes[0]
        raise SolverError(
            f"a sweep of {first.sweep.game.spec or 'this game'} takes {needed / 1e9:.1f} GB of the GPU's "
            f"memory, and {free / 1e9:.1f} GB may be used: take a larger GPU, or leave out --device"
        )
    first.packer.room = max(least, min(MOST_ROOM, free - own, most))
    return count


ShardTask = tuple[Shards, tuple[int, ...], int, list[NDArray[Any]]]  # of a sweep: seats, mode, reaches at roots


def together(packer: BoardPacker, number: int, tasks: Sequence[ShardTask]) -> list[list[Floats]]:
    """What sweeps work out on one shard, one behind the other: by sweep and seat."""
    packed = [packer.packed(number, level) for level in packer.levels]
    with packer.sending():
        sent = [each.sent(packer.xp) for each in packed]
        starts = [shards.starts(roots) for shards, _, _, roots in tasks]

    def work() -> list[list[Any]]:
        values, ready = [], {}
        for (shards, seats, mode, _), of in zip(tasks, starts, strict=True):
            if shards.row_numbers not in ready:  # sweeps by the same buckets, one behind the other, share it
                ready = {shards.row_numbers: [packer.ready(each, shards.row_numbers) for each in sent]}
            hands = ready[shards.row_numbers]
            values.append([shards.run(packed, hands, seat, mode, start) for seat, start in zip(seats, of, strict=True)])
        return values

    answers = []
    for (shards, *_), values in zip(tasks, packer.queued(work), strict=True):
        shape = shards.wide.count(shards.sweep.begin), shards.sweep.hands(shards.sweep.begin - 1), WIDE
        vectors = [np.asarray(shards.device.to_host(each)).reshape(shape) for each in values]
        answers.append([shards.wide.narrowed(each) for each in vectors])
    return answers


def batches(below: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Boards before, low to high - 1, with at most so many boards that continue them; one at least."""
    low = 0
    while low < len(below) - 1:
        high = low + 1
        while high < len(below) - 1 and below[high + 1] - below[low] <= most:
            high += 1
        yield low, high
        low = high
