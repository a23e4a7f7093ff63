"""Passes over betting times cards on a GPU: plans, values, regrets and best responses, round by round.

`GpuPasses` has the tables of a form there and launches the kernels of `cuda.py`. CFR works in single precision, as on
cores; best responses in double precision. What an iteration launches is recorded once and then replayed, so that small
endgames do not wait for launches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.gpu import require
from kibitz.poker.bucketed.device import Device
from kibitz.poker.exact import cuda
from kibitz.poker.exact.cuda import THREADS
from kibitz.poker.exact.gpu_tables import RoundArrays, round_arrays

if TYPE_CHECKING:
    from kibitz.poker.exact.operator import PokerOperator

Floats = NDArray[np.float64]
C_NAMES = {4: "float", 8: "double"}
PLAIN_SHARED = 48 << 10  # bytes of shared memory that need not be asked for
SMALL, PIECE, COPIERS = 1 << 20, 32 << 20, 4  # bytes that come back in one go; bytes of a piece; threads
SHARE = 0.9  # of free memory that is taken at most
STEP = 6  # numbers of an iteration in the schedule


class GpuQueue:
    """What CuPy does for us: arrays on the GPU, compiled kernels, recorded launches. All goes in one line, in which
    threads put their work one after the other."""

    def __init__(self) -> None:
        self.device = Device("gpu")
        self.xp = self.device.xp
        self._lock = threading.RLock()
        self._functions: dict[tuple[str, str, int], Any] = {}  # by source, name and shared memory
        self.stream = self.xp.cuda.Stream(non_blocking=True)

    def launch(self, source: str, name: str, grid: tuple[int, ...], threads: int, args: tuple[Any, ...],
               shared: int = 0) -> None:  # fmt: skip
        key = source, name, shared
        with self._lock, self.stream:
            if key not in self._functions:
                function = _module(source).get_function(name)
                if shared > PLAIN_SHARED:
                    most = max([shared, *(size for text, same, size in self._functions if (text, same) == key[:2])])
                    function.max_dynamic_shared_size_bytes = most
                self._functions[key] = function
            self._functions[key](grid, (threads,), args, shared_mem=shared)

    def array(self, array: Any, dtype: Any = None) -> Any:
        with self._lock, self.stream:
            return self.xp.asarray(array, dtype)

    def zeros(self, count: int, dtype: Any) -> Any:
        with self._lock, self.stream:
            return self.xp.zeros(count, dtype)

    def address(self, array: Any) -> int:
        """Where an array begins, for kernels that read addresses."""
        return int(array.data.ptr)

    def host(self, array: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A copy in memory; out: where to. Large arrays come by a piece of memory that the GPU writes to by itself, and
        from there by several threads: most of the time goes into pages that are touched for the first time."""
        flat = array.ravel()
        out = np.empty(array.size, array.dtype) if out is None else out
        step = PIECE // array.dtype.itemsize
        if array.nbytes <= SMALL:
            with self._lock:
                flat.get(self.stream, out=out)
                self.stream.synchronize()
            return out.reshape(array.shape)
        piece = self._pinned.view(array.dtype)
        with self._lock, ThreadPoolExecutor(COPIERS) as pool:
            for first in range(0, array.size, step):
                count = min(step, array.size - first)
                flat[first : first + count].get(self.stream, out=piece[:count])
                self.stream.synchronize()
                cuts = [first + count * k // COPIERS for k in range(COPIERS + 1)]
                list(pool.map(lambda low, high, at=first: np.copyto(out[low:high], piece[low - at : high - at]),
                              cuts[:-1], cuts[1:]))  # fmt: skip
        return out.reshape(array.shape)

    @cached_property
    def _pinned(self) -> NDArray[np.uint8]:
        """Memory that stays where it is; it takes long to get, so it is kept."""
        return np.frombuffer(self.xp.cuda.alloc_pinned_memory(PIECE), np.uint8, PIECE)

    def assign(self, array: Any, at: Any, values: Any) -> None:
        """array[at] = values, in the line of launches."""
        with self._lock, self.stream:
            array[at] = values

    def recorded(self, work: Callable[[], None]) -> Callable[[], None]:
        """What launches the same again. All kernels must have been launched before."""
        with self._lock, self.stream:
            self.stream.synchronize()
            self.stream.begin_capture()
            work()
            graph = self.stream.end_capture()

        def again() -> None:
            with self._lock:
                graph.launch(self.stream)

        return again

    def wait(self) -> None:
        with self._lock:  # nobody may wait while another thread records
            self.stream.synchronize()


@lru_cache(1)
def on_gpu() -> GpuQueue:
    """One line of launches for all: memory that one solve has given back is there for the next."""
    return GpuQueue()


@lru_cache(16)
def _module(source: str) -> Any:
    xp = Device("gpu").xp
    return xp.RawModule(code=source, options=("--std=c++14",))


@dataclass
class SentRound:
    """The tables of a round on the GPU."""

    of: RoundArrays
    arrays: dict[str, Any]
    by_seat: tuple[dict[str, Any], dict[str, Any]]
    reals: dict[Any, dict[str, Any]]  # by precision


def bytes_needed(form: PokerOperator, kept: int = 4) -> int:
    """Bytes on a GPU of a solve by CFR, about: regrets, strategies and averages; plans and values in double precision;
    tables."""
    table = form.table
    level = np.repeat(np.arange(form.definition.rounds), np.diff(form.groups.round_group))
    classes = np.array([r.classes for r in form.cards.rounds])
    lines = classes[level] * np.diff(table.group_lane) * np.diff(table.group_node)
    most = int(np.bincount(level, lines).max())
    hands = int(sum(len(r.hands) for r in form.cards.rounds))
    return int(form.sequences) * (3 * kept + 8) + 8 * most + 32 * int(form.roots) + 24 * int(classes.sum()) + 16 * hands


def source_for(form: PokerOperator, real: Any, kept: Any) -> str:
    """The source for plans and values in one precision, and regrets, strategies and averages in another."""
    return cuda.source(C_NAMES[np.dtype(real).itemsize], C_NAMES[np.dtype(kept).itemsize], form.table.children.shape[1])


class GpuPasses:
    """A poker form without buckets on a GPU."""

    def __init__(self, form: PokerOperator, launcher: GpuQueue | None = None, dtype: Any = np.float32) -> None:
        """dtype: of regrets, strategies and averages, and of plans and values in iterations."""
        if form.buckets is not None:
            raise SolverError(
                "hands of a bucket share rows, which the poker form's kernels for a GPU do not do: use "
                "an abstraction by name (--abstraction 'percentile(8)')"
            )
        self.form, self.dtype = form, np.dtype(dtype)
        self.launcher = launcher or on_gpu()
        self.two = len(form.table.hand_card) > 0
        self._check_room()
        to = self.launcher
        rounds = [round_arrays(form, level) for level in range(form.definition.rounds)]
        self.rounds = [
            SentRound(
                each, {name: to.array(a) for name, a in each.arrays.items()},
                ({name: to.array(a) for name, a in each.by_seat[0].items()},
                 {name: to.array(a) for name, a in each.by_seat[1].items()}),
                {real: {name: to.array(a, real) for name, a in each.reals.items()}
                 for real in {self.dtype, np.dtype(np.float64)}},
            )
            for each in rounds
        ]  # fmt: skip
        self._stakes = {real: [to.array(np.ascontiguousarray(s), real) for s in form.table.stake]
                        for real in {self.dtype, np.dtype(np.float64)}}  # fmt: skip
        # One room for single and for double precision: nothing is kept there from an iteration to an evaluation.
        self._plan = to.zeros(form.sequences, np.float64)
        self._values = to.zeros(max(each.lines for each in rounds), np.float64)
        self._roots, self._root_values = to.zeros(2 * form.roots, np.float64), to.zeros(2 * form.roots, np.float64)
        self.none = to.zeros(STEP, self.dtype)

    def _check_room(self) -> None:
        """Refuse before the start what the GPU cannot hold."""
        needed, free = bytes_needed(self.form, self.dtype.itemsize), int(SHARE * self.launcher.device.free())
        if needed > free:
            raise SolverError(
                f"{self.form.spec or 'this game'} takes {needed / 1e9:.1f} GB of the GPU's memory with "
                f"{self.form.sequences:,} sequences, and {free / 1e9:.1f} GB may be used: take a larger GPU, or leave "
                "out the device"
            )

    def source(self, real: Any) -> str:
        return source_for(self.form, real, self.dtype)

    def room(self, which: str, real: Any) -> Any:
        """plan, values, roots or root_values in a precision."""
        return getattr(self, f"_{which}").view(real)

    def enter(self, ranges: Floats, real: Any) -> None:
        """Ranges [2, classes of the first round] to the roots of the first group."""
        roots, count = self.room("roots", real), ranges.shape[1]
        for seat in (0, 1):
            begin = seat * self.form.roots
            self.launcher.assign(roots, slice(begin, begin + count), self.launcher.array(ranges[seat], real))

    # Launches

    def reach(self, seat: int, weights: Any, real: Any, weighed: bool, average: Any = None, now: Any = None) -> None:
        """The plan of a seat, and the reach at the roots of all groups. average: is kept, by the numbers of `now`."""
        source, roots = self.source(real), self.room("roots", real)
        roots = roots[seat * self.form.roots : (seat + 1) * self.form.roots]
        for level, sent in enumerate(self.rounds):
            a, mine = sent.arrays, sent.by_seat[seat]
            above = self.rounds[max(0, level - 1)].arrays
            self.launcher.launch(source, "reach", (sent.of.blocks, 1), THREADS, (
                *_round(sent, seat), np.int32(level > 0), np.int32(weighed), mine["decision_at"], mine["decisions"],
                a["up"], a["lane_at"], a["lane_from"], above["class_board"], above["board_first"], above["places"],
                above["shapes"], weights, self.room("plan", real), roots, weights if average is None else average,
                self.none if now is None else now, np.int32(average is not None),
            ))  # fmt: skip

    def _settle(self, seat: int, level: int, real: Any) -> None:
        """Values of all ends and exits of a round, for a seat, against the plan of the other."""
        sent, source, form = self.rounds[level], self.source(real), self.form
        a, units, ends = sent.arrays, sent.by_seat[seat]["units"], sent.by_seat[seat]["ends"]
        reals, stake = sent.reals[np.dtype(real)], self._stakes[np.dtype(real)][seat]
        plan, values = self.room("plan", real), self.room("values", real)
        roots = self.room("roots", real)[(1 - seat) * form.roots : (2 - seat) * form.roots]
        other, classes, count = np.int32(1 - seat), np.int32(sent.of.classes), len(sent.of.by_seat[seat]["units"])
        if count and self.two:
            shared = cuda.shared_bytes(sent.of.hands, sent.of.live, np.dtype(real).itemsize)
            self.launcher.launch(source, "ends_two", (sent.of.boards, count), cuda.BLOCK, (
                classes, np.int32(sent.of.hands), np.int32(sent.of.live), np.int32(sent.of.merged), a["board_first"],
                a["hand_class"], a["card_hands"], a["ranked"], a["places"], a["shapes"], other, units, ends, stake,
                plan, roots, values,
            ), shared)  # fmt: skip
        elif count:
            blocks = -(-sent.of.boards * count // THREADS)
            self.launcher.launch(source, "ends_one", (blocks, 1), THREADS, (
                classes, np.int32(sent.of.boards), np.int32(count), a["board_first"], reals["size"], a["board_tie"],
                a["tie_class"], a["places"], a["shapes"], other, units, ends, stake, plan, roots, values,
            ))  # fmt: skip
        if sent.of.exits:
            after = self.room("root_values", real)[seat * form.roots : (seat + 1) * form.roots]
            self.launcher.launch(source, "take_back", (sent.of.exit_blocks, 1), THREADS, (
                a["exit_block_at"], np.int32(sent.of.exits), classes, a["exits"], a["exit_to"], a["down_at"],
                a["down"], reals["carry"], a["places"], a["shapes"], after, values,
            ))  # fmt: skip

    def _common(self, seat: int, sent: SentRound, real: Any) -> tuple[Any, ...]:
        a, roots = sent.arrays, self.form.roots
        root_value = self.room("root_values", real)[seat * roots : (seat + 1) * roots]
        return (*_round(sent, seat), a["node_at"], a["nodes"], self.room("values", real), root_value)

    def learn(self, seat: int, regret: Any, strategy: Any, now: Any) -> None:
        """Values of a seat against the other's plan, its new regrets and strategy."""
        for level in range(len(self.rounds) - 1, -1, -1):
            sent = self.rounds[level]
            self._settle(seat, level, self.dtype)
            self.launcher.launch(self.source(self.dtype), "learn", (sent.of.blocks, 1), THREADS,
                                 (*self._common(seat, sent, self.dtype), regret, strategy, now))  # fmt: skip

    def look(self, seat: int, weights: Any, mean: bool = False) -> Floats:
        """As `PokerOperator.look`, at the root of the first group alone."""
        real = np.float64
        self.enter(self.form.ranges, real)
        self.reach(1 - seat, weights, real, True)
        for level in range(len(self.rounds) - 1, -1, -1):
            sent = self.rounds[level]
            self._settle(seat, level, real)
            self.launcher.launch(self.source(real), "look", (sent.of.blocks, 1), THREADS,
                                 (*self._common(seat, sent, real), weights, np.int32(mean)))  # fmt: skip
        begin = seat * self.form.roots
        value = self.launcher.host(self._root_values[begin : begin + self.form.cards.rounds[0].classes])
        return np.asarray(value, np.float64)

    def looked(self, seat: int, weights: Any, mean: bool = False) -> float:
        """As `PokerOperator.looked`."""
        first = self.form.cards.rounds[0]
        return float((self.form.ranges[seat] * first.share) @ self.look(seat, weights, mean))

    def normalise(self, weights: Any, strategy: Any) -> None:
        """Weights by sequence -> probabilities; rows without weight are uniform. The two may be the same array."""
        for seat in (0, 1):
            for sent in self.rounds:
                mine = sent.by_seat[seat]
                self.launcher.launch(
                    self.source(self.dtype), "even", (sent.of.blocks, 1), THREADS,
                    (*_round(sent, seat), mine["decision_at"], mine["decisions"], weights, strategy),
                )  # fmt: skip


def _round(sent: SentRound, seat: int) -> tuple[Any, ...]:
    """What kernels know of a round: `cuda.ROUND`."""
    a = sent.arrays
    return (a["block_at"], np.int32(sent.of.groups), np.int32(seat), np.int32(sent.of.classes), a["class_board"],
            a["board_first"], a["places"], a["shapes"])  # fmt: skip


def warm_up(form: PokerOperator, device: str = "gpu") -> None:
    """Refuse a device that is not there, and compile what a solve of the form needs, or read it from CuPy's cache."""
    require(device)
    _ = on_gpu()._pinned
    for real in (np.float32, np.float64):
        _module(source_for(form, real, np.float32)).compile()
