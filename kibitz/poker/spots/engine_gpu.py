"""The engine of spots on a GPU: what `engine_cpu.py` computes, by the kernels of `cuda.py`.

The layout of boards, hands and rows is that of cores, so averages come back as they are and all answers are computed
from them as after a solve on cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import GameError
from kibitz.poker.exact.gpu import SHARE, GpuQueue, on_gpu
from kibitz.poker.exact.operator import aligned
from kibitz.poker.spots import cuda
from kibitz.poker.spots.engine_cpu import ALPHA, COARSE, GAMMA, MergedRows, SpotCfr
from kibitz.poker.spots.engine_gains import Gains
from kibitz.poker.spots.engine_layout import SpotLayout
from kibitz.poker.spots.gpu_lines import GpuLines, lines_of
from kibitz.poker.spots.spot import Spot, SpotTree, meeting

Floats = NDArray[np.float64]
WARP = 32
OWN_SHARED = 1 << 10  # bytes of shared memory that a block takes for itself
FAR_BLOCKS = 132 * 4  # blocks whose slots are in the memory of the GPU
LEAST = 2.0**-32


@dataclass(frozen=True)
class GpuShape:
    """How work is dealt out on a GPU."""

    group: int = cuda.GROUP  # threads of a running sum
    pair: int = 2  # hands that a thread has side by side
    block: int = 576  # threads of a block at most
    blocks: int = 2  # such blocks that a multiprocessor should hold: it bounds the registers of a thread
    most_shared: int = 227 << 10  # bytes of shared memory that a block may have (compute capability 9.0)

    def threads(self, stride: int, shared: int) -> int:
        """Of a block: all hands in one to four rounds, so that a multiprocessor has as many threads as it can."""
        if self.group == 1:
            return 1
        most = self.block * self.blocks
        fit = max(1, (self.most_shared + OWN_SHARED) // (shared + OWN_SHARED))
        options = [self.whole(stride, rounds) for rounds in (2, 3, 1, 4)]
        return max(options, key=lambda threads: threads * min(fit, most // threads))

    def whole(self, stride: int, rounds: int = 1) -> int:
        """Threads that go over all hands in so many rounds."""
        if self.group == 1:
            return 1
        return min(self.block, max(2 * WARP, -(-stride // (self.pair * rounds * WARP)) * WARP))


@dataclass(frozen=True)
class LineClass:
    """Lines of the last street that are launched together."""

    lines: Any  # int32[count], on the GPU
    count: int
    slots: int
    far: bool  # slots are in the memory of the GPU
    shared: int
    threads: int


class GpuSpotCfr:
    """The state of CFR on a spot, on a GPU."""

    def __init__(self, layout: SpotLayout, kind: type[Any] = np.uint16, queue: GpuQueue | None = None,
                 shape: GpuShape | None = None) -> None:  # fmt: skip
        """kind: of regrets and averages, uint16 for codes, or a float; of all else float32, or float64 with that."""
        self.layout, self.kind = layout, np.dtype(kind)
        self.real = np.dtype(np.float64 if self.kind == np.float64 else np.float32)
        self.queue, self.shape = queue or on_gpu(), shape or GpuShape()
        self.programs = lines_of(layout.streets)
        if int(layout.rows.max()) >= 2**31:
            raise GameError("one street has too much betting for the kernels of a GPU: give fewer sizes, or leave out "
                            "the device")  # fmt: skip
        self.most = int(self.programs.groups[:, 1].max(initial=1))
        self.most = max(self.most, int(self.programs.downs[:, 2].max(initial=1)))
        self.cards = layout.spot.deck[0] * layout.spot.deck[1] - len(layout.spot.board)
        self.levels = layout.levels
        to = self.queue
        self.regret, self.average = (to.zeros(layout.sequences, self.kind) for _ in range(2))
        if self.kind != np.uint16:  # whose code 0 it is
            for numbers in (self.regret, self.average):
                to.assign(numbers, slice(None), LEAST)
        self.arrays = {name: to.array(array) for name, array in tables_of(layout, self.programs, self.real).items()}
        boards, first, hands = len(layout.boards), layout.stride(0), len(layout.lists.up)
        self.arrays["with_card"] = to.zeros(2 * boards * self.cards * cuda.LIST, np.uint16)
        self.arrays["ranked"] = to.zeros(2 * hands, np.uint32)
        self.arrays["lower"] = to.zeros(2 * boards * first, np.uint16)
        self.streets = to.array(self._streets())
        self._write_spot()
        for name in ("lists", "ranks", "lower"):
            self._launch(name, 2 * boards, self._plain(128), (self.spot,))
        self._rooms()

    def _streets(self) -> NDArray[np.int32]:
        """[levels, 8]  as `Street`."""
        layout, rows = self.layout, []
        entries = np.asarray(layout.streets.arrays["level_entry"]).tolist()
        for level in range(self.levels):
            first, stop = layout.level_board[level : level + 2]
            exits = entries[level + 2] - entries[level + 1] if level + 1 < self.levels else 0
            rows.append((first, stop - first, entries[level], entries[level + 1] - entries[level],
                         layout.stride(level), self.programs.rows[level], exits, 0))  # fmt: skip
        return np.array(rows, np.int32)

    def _write_spot(self) -> None:
        """The addresses of all arrays, as `Spot`."""
        layout = self.layout
        arrays = {**self.arrays, "regret": self.regret, "average": self.average}
        addresses = np.array([self.queue.address(arrays[name]) for name, _ in cuda.ARRAYS], np.uint64)
        numbers = np.array([len(layout.boards), self.cards, self.programs.lines.shape[1], len(layout.lists.up),
                            layout.lists.tie_stop.shape[1], layout.stride(0)], np.int32)  # fmt: skip
        self.spot = self.queue.array(np.frombuffer(addresses.tobytes() + numbers.tobytes(), np.uint8))

    def _rooms(self) -> None:
        """Vectors: slots and exits of each street but the last, and values where each begins."""
        layout, to, streets = self.layout, self.queue, self._streets().tolist()
        last = self.levels - 1
        strides, boards = [each[4] for each in streets], [each[1] for each in streets]
        self.reach = [to.zeros(boards[k] * streets[k][5] * strides[k] if k < last else 4, self.real)
                      for k in range(self.levels)]  # fmt: skip
        self.exits = [to.zeros(boards[k] * streets[k][6] * strides[k] if k < last else 4, self.real)
                      for k in range(self.levels)]  # fmt: skip
        self.out = [to.zeros(boards[k] * streets[k][3] * strides[k], self.real) for k in range(self.levels)]
        self.merged = [_merged_on(layout, level) for level in range(self.levels)]
        self.shapes = [
            _StreetShape(each[1], each[3], each[6],
                         cuda.shared_bytes(self._live(level), each[4], 0, self.real.itemsize),
                         self.shape.whole(each[4]))
            for level, each in enumerate(streets)
        ]  # fmt: skip
        self.classes = self._classes(strides[last])
        far = max((each.slots for each in self.classes if each.far), default=0)
        self.far = to.zeros(max(4, self._far_blocks() * far * strides[last]), self.real)

    def _far_blocks(self) -> int:
        return FAR_BLOCKS if self.shape.group > 1 else 2

    def _classes(self, stride: int) -> list[LineClass]:
        """Lines of the last street by how many slots they have, the longest first."""
        first, count = self._streets()[-1, 2:4].tolist()
        by_slots: dict[int, list[int]] = {}
        for line in range(first, first + count):
            by_slots.setdefault(self.programs.slots(line), []).append(line)
        classes = []
        for slots in sorted(by_slots, reverse=True):
            shared = cuda.shared_bytes(self._live(self.levels - 1), stride, slots, self.real.itemsize)
            far = shared > self.shape.most_shared
            shared = cuda.shared_bytes(self._live(self.levels - 1), stride, 0, self.real.itemsize) if far else shared
            some = np.array(by_slots[slots], np.int32)
            threads = self.shape.threads(stride, shared)
            classes.append(LineClass(self.queue.array(some), len(some), slots, far, shared, threads))
        return classes

    def _live(self, level: int) -> int:
        """Cards that a board of a level leaves."""
        return self.cards - level

    def _plain(self, threads: int) -> int:
        """Threads of a block whose work has no shape of its own."""
        return 1 if self.shape.group == 1 else threads

    @property
    def nbytes(self) -> int:
        return int(self.regret.nbytes + self.average.nbytes)

    def source(self) -> str:
        real = "float" if self.real == np.float32 else "double"
        shape = self.shape
        bounds = (shape.block, shape.blocks)
        return cuda.source(self.kind == np.uint16, real, self.most, shape.group, shape.pair, bounds)

    def _launch(self, name: str, blocks: int, threads: int, args: tuple[Any, ...], shared: int = 0) -> None:
        self.queue.launch(self.source(), name, (blocks, 1), threads, args, shared)

    # Passes

    def walk(self, seat: int, mode: int, grow: float = 0.0, decay: float = 0.0) -> None:
        """One pass of a seat; its values at the root are then in out[0]."""
        common, streets = (self.spot, self.streets), self.shapes
        to_grow, to_decay, who, how = self.real.type(grow), self.real.type(decay), np.int32(seat), np.int32(mode)
        last = self.levels - 1
        for level in range(last):
            each = streets[level]
            self._launch("down", each.boards * each.lines, each.threads, (
                *common, np.int32(level), who, how, to_decay, self.reach[max(0, level - 1)], self.reach[level],
            ))  # fmt: skip
        for some in self.classes:
            blocks = streets[last].boards * some.count
            args = (*common, np.int32(last), who, how, to_grow, to_decay, np.int32(self._live(last)), some.lines,
                    np.int32(some.count), self.reach[max(0, last - 1)], self.out[last])  # fmt: skip
            if some.far:
                self._launch("last_far", min(blocks, self._far_blocks()), some.threads,
                             (*args, np.int32(some.slots), self.far), some.shared)  # fmt: skip
            else:
                self._launch("last", blocks, some.threads, args, some.shared)
        for level in range(last - 1, -1, -1):
            each = streets[level]
            self._launch("take", each.boards * each.exits, self._plain(256),
                         (*common, np.int32(level), who, self.out[level + 1], self.exits[level]))  # fmt: skip
            first, count = self.merged[level]
            if count:
                self._launch("share", count * each.exits, self._plain(256),
                             (*common, np.int32(level), who, np.int32(first), self.exits[level]))  # fmt: skip
            self._launch("up", each.boards * each.lines, each.threads, (
                *common, np.int32(level), who, how, to_grow, np.int32(self._live(level)), self.reach[level],
                self.exits[level], self.out[level],
            ), each.shared)  # fmt: skip

    def iterate(self, done: int, count: int, rule: tuple[float, float] = (ALPHA, GAMMA)) -> None:
        """So many iterations after those that are done, as `kernels/passes.py`, `learn`."""
        alpha, gamma = rule
        for t in range(done + 1, done + count + 1):
            power = float(t - 1) ** alpha
            for seat in (0, 1):
                plans = t - 1 if seat == 0 else t  # of the other, which seat 1 sees revised
                decay = ((plans - 1.0) / plans) ** gamma if plans > 0 else 0.0
                mode = cuda.LEARN | (cuda.KEEP if plans > 0 else 0)
                self.walk(seat, mode, power / (power + 1.0), decay)
        self.queue.wait()

    def values(self, seat: int, best: bool) -> Floats:
        """[hands of the seat]  as `SpotCfr.values`."""
        self.walk(seat, cuda.AVERAGED | (cuda.BEST if best else 0))
        count = int(self.layout.lists.count[seat, 0])
        return np.asarray(self.queue.host(self.out[0])[:count].astype(np.float64) * self.layout.chips)

    def widen(self) -> None:
        """Go on in numbers of 32 bits, one array after the other."""
        count = np.int64(self.layout.sequences)
        source = self.source()
        for name in ("regret", "average"):
            wide = self.queue.zeros(int(count), np.float32)
            blocks = 4096 if self.shape.group > 1 else 1
            self.queue.launch(source, "widen", (blocks, 1), self._plain(256), (getattr(self, name), wide, count))
            self.queue.wait()
            setattr(self, name, wide)
        self.kind = np.dtype(np.float32)
        self._write_spot()

    def averages(self) -> NDArray[Any]:
        """The averages in memory, as kernels of cores read them."""
        numbers = aligned(self.layout.sequences, self.kind)
        return self.queue.host(self.average, numbers)


@dataclass(frozen=True)
class _StreetShape:
    """How a street that is not the last is launched."""

    boards: int
    lines: int
    exits: int
    shared: int
    threads: int


def tables_of(layout: SpotLayout, programs: GpuLines, real: Any) -> dict[str, NDArray[Any]]:
    """The arrays of `cuda.ARRAYS` that are written here."""
    lists, boards = layout.lists, layout.boards
    live = np.full((len(boards), 52), 255, np.uint8)
    ranks, suits = layout.spot.deck
    deck = [card for card in range(52) if card // 4 >= 13 - ranks and card % 4 < suits]
    for number, board in enumerate(boards):
        some = [card for card in deck if card not in board.cards]
        live[number, some] = np.arange(len(some))
    ranges = np.zeros((2, layout.stride(0)), real)
    for seat in (0, 1):
        hands = layout.hands(seat, 0)
        ranges[seat, : len(hands)] = layout.ranges[seat, hands]
    class_board, class_first, members = _alike(layout)
    return {
        "count": lists.count.astype(np.int32), "size": lists.size.astype(np.int32),
        "state_base": np.ascontiguousarray(layout.state_base, np.int64),
        "hand_first": lists.hand_first.astype(np.int32),
        "above": np.array([board.above for board in boards], np.int32),
        "board_child": np.array(layout.board_child, np.int32),
        "weight": np.array([board.weight for board in boards], real),
        "up": lists.up, "same": lists.same, "card": lists.card, "live": live,
        "tie_first": lists.tie_first.astype(np.int32), "tie_stop": _some(lists.tie_stop.astype(np.int32)),
        "class_board": class_board, "class_first": class_first, "members": members,
        "lines": programs.lines, "downs": programs.downs, "groups": programs.groups, "items": programs.items,
        "pays": programs.pays.astype(real), "ranges": ranges,
    }  # fmt: skip


def _some(array: NDArray[Any]) -> NDArray[Any]:
    """An array that is not empty."""
    return array if array.size else np.zeros(4, array.dtype)


def _merged_boards(layout: SpotLayout) -> list[int]:
    """Boards before the last street that have hands which are alike."""
    return [k for k in range(layout.level_board[layout.levels - 1]) if layout.lists.merged[k]]


def _merged_on(layout: SpotLayout, level: int) -> tuple[int, int]:
    """(first, number) of the merged boards of a level, among all merged boards."""
    first, stop = np.searchsorted(_merged_boards(layout), layout.level_board[level : level + 2]).tolist()
    return first, stop - first


def _alike(layout: SpotLayout) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint16]]:
    """Classes of hands that are alike: ([n, 5] boards and their classes by seat, [C+1] where a class begins, members).
    Classes of one hand are left out."""
    boards: list[list[int]] = []
    begins: list[int] = []
    members, at = [np.zeros(0, np.uint16)], 0
    for board in _merged_boards(layout):
        row = [board]
        for seat in (0, 1):
            first, count = int(layout.lists.hand_first[seat, board]), int(layout.lists.count[seat, board])
            alike = layout.lists.alike[first : first + count].astype(np.int64)
            sizes = np.bincount(alike, minlength=count)
            order = np.argsort(alike, kind="stable")
            order = order[sizes[alike[order]] > 1]
            ends = np.cumsum(sizes[sizes > 1])
            row += [len(begins), len(ends)]
            begins += [at, *(at + ends[:-1]).tolist()] if len(ends) else []
            members.append(order.astype(np.uint16))
            at += len(order)
            begins.append(at)  # behind the last class of a seat
        boards.append(row)
    return (np.array(boards or [[0] * 5], np.int32), np.array(begins or [0, 0], np.int32),
            _some(np.concatenate(members)))  # fmt: skip


class GpuEngine:
    """dcfr+ on a spot, on a GPU."""

    def __init__(self, spot: Spot, tree: SpotTree, queue: GpuQueue | None = None,
                 shape: GpuShape | None = None) -> None:  # fmt: skip
        self.layout = SpotLayout(spot, tree)
        self.state = GpuSpotCfr(self.layout, np.uint16, queue, shape)

    def iterate(self, done: int, count: int) -> None:
        narrow = min(count, max(0, COARSE - done))
        if narrow:
            self.state.iterate(done, narrow)
        if count > narrow:
            # One array of 32 bits beside two of 16, then two of 32.
            if self.state.kind == np.uint16 and 6 * self.layout.sequences < SHARE * self.state.queue.device.free():
                self.state.widen()
            self.state.iterate(done + narrow, count - narrow)

    def gains(self) -> Gains:
        layout, both = self.layout, np.zeros((2, 2))
        mass = float(layout.ranges[0] @ meeting(layout.ranges[1]))
        for seat in (0, 1):
            weights = layout.ranges[seat, layout.hands(seat, 0)]
            for best in (True, False):
                both[int(best), seat] = weights @ self.state.values(seat, best) / mass
        return Gains(both[0], both[1])

    def answer(self) -> MergedRows:
        roots = {(seat, best): self.state.values(seat, best) for seat in (0, 1) for best in (True, False)}
        return MergedRows(self.layout, SpotCfr(self.layout, average=self.state.averages()), roots)
