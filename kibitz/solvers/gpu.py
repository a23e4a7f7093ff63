"""Training on a GPU: the walk of solvers/kernels/walk.py, compiled by numba-cuda.

A thread is a walker. It takes every so-manieth iteration and adds to regrets and averages that all threads share, by
atomic additions. What a walk writes to lies in the thread's local memory, in single precision. The random numbers of an
iteration are those of a processor, but threads run side by side: a run that is done again is not the same to the byte.
"""

from __future__ import annotations

from functools import lru_cache
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.devices import compiling_for_gpu, show_gpu
from kibitz.core.errors import SolverError
from kibitz.solvers.tables import grows

THREADS, BLOCKS = 128, 8  # of a block; of a multiprocessor. More of either, or more registers, was slower on an H200
REGISTERS = 64  # of a thread
FRAME, REACH, COUNTS = 3, 4, 4  # as in solvers/kernels/walk.py
BLANK = (1 << 64) - 1  # an entry of a memo that remembers nothing
SHARE = 0.95  # of the free memory of a GPU
FIRST_BLOCK = 4  # iterations of a thread in the first launch
HELP = "install kibitz[gpu13] (CUDA 13) or kibitz[gpu12] (CUDA 12), or leave --device out"


@lru_cache(1)
def gpu() -> Any:
    """numba.cuda with a GPU that works; else an error that says what is missing."""
    try:
        from numba import cuda
    except ImportError as error:
        raise SolverError(f"training on a GPU needs numba-cuda ({error}): {HELP}") from None
    try:
        cuda.current_context()
    except Exception as error:  # numba-cuda has a dozen of them, for drivers, libraries and devices
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise SolverError(f"there is no GPU to train on ({reason}): {HELP}") from None
    show_gpu()
    return cuda


@lru_cache(None)
def _walks(depth: int, words: int, actions: int, memo: int, how: tuple[Any, ...]) -> Any:
    """The kernel of one kind of walk. words: of a state, those that change; memo: words that a thread remembers; how:
    the fields of WalkOrder but its seed, as constants, so that what does not apply is left out of the code."""
    from numba import float32, int64, uint64

    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels.machine import own_view
    from kibitz.solvers.kernels.walk import WalkOrder, Workspace, walk_once

    cuda, rows = gpu(), 2 * depth + 1
    mode, explore, linear, evict, players, seats, prune, exact = how

    @cuda.jit(max_registers=REGISTERS, fastmath=True)  # type: ignore[untyped-decorator]
    def walks(game, view, store, mask, base, seed, first, last, out):  # type: ignore[no-untyped-def]
        states = cuda.local.array((depth, words), uint64)
        frame = cuda.local.array((depth, FRAME), uint64)
        reach = cuda.local.array((depth, REACH), float32)
        space = cuda.local.array((rows, actions), float32)
        random = cuda.local.array(SCRATCH, uint64)
        count = cuda.local.array(COUNTS, int64)
        reached = cuda.local.array(1, int64)
        remembered = cuda.local.array(memo, uint64)
        for k in range(memo):
            remembered[k] = uint64(BLANK)
        for k in range(COUNTS):
            count[k] = 0
        mine = own_view(view, remembered)
        order = WalkOrder(mode, explore, linear, evict, seed, uint64(players), uint64(seats), prune, exact)
        work = Workspace(states, frame, reach, space, random, count, reached)
        for t in range(first + cuda.grid(1), last, cuda.gridsize(1)):
            walk_once(game, mine, store, mask, base, order, t, work)
        for k in range(COUNTS):
            cuda.atomic.add(out, k, count[k])

    return walks


@lru_cache(1)
def _scaling() -> Any:
    cuda = gpu()

    @cuda.jit  # type: ignore[untyped-decorator]
    def scale(array, factor):  # type: ignore[no-untyped-def]
        for at in range(cuda.grid(1), array.size, cuda.gridsize(1)):
            array[at] *= factor

    return scale


class GpuWalks:
    """A blueprint that is trained on a GPU: `step` trains it there, `bring_back` copies what it has learned."""

    def __init__(self, blueprint: Any) -> None:
        cuda, machine, order = gpu(), blueprint.machine, blueprint.order()
        if not machine.compiled:
            raise SolverError(f"{machine.spec} has rules in plain Python, which a GPU cannot run: leave --device out")
        if hasattr(blueprint.table, "limit") and grows(blueprint.table):  # a GPU does not wait for a table to grow
            blueprint.store.grow(blueprint.capacity, blueprint.counts)
        self.blueprint, self._base = blueprint, blueprint.base_player()
        self._check_memory()
        how = (int(order.mode), float(order.explore), bool(order.linear), bool(order.evict), int(order.players),
               int(order.seats), float(order.prune), bool(order.exact))  # fmt: skip
        self._kernel = _walks(machine.depth, machine.changing, machine.actions, machine.memo(blueprint.keys), how)
        self._grid = cuda.get_current_device().MULTIPROCESSOR_COUNT * BLOCKS
        self.first_block = FIRST_BLOCK * self._grid * THREADS
        self._game, self._keys, self._table = map(_sent, (blueprint.walked_game, blueprint.keys, blueprint.table))
        self._base = _sent(self._base)
        self._current = True  # whether the blueprint's own arrays are those of the GPU

    def __enter__(self) -> GpuWalks:
        self.blueprint.walks = self
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.bring_back()
        finally:
            self.blueprint.walks = None

    def _check_memory(self) -> None:
        blueprint = self.blueprint
        needed = sum(map(_bytes, (blueprint.walked_game, blueprint.keys, blueprint.table, self._base)))
        free = int(gpu().current_context().get_memory_info().free)
        if needed > SHARE * free:
            raise SolverError(
                f"the rows and tables take {needed / 1e9:.1f} GB, but the GPU has {free / 1e9:.1f} GB free: choose "
                "fewer buckets, or a smaller --limit or --memory"
            )

    def step(self, count: int) -> None:
        """So many iterations, up to the next halving at most."""
        blueprint = self.blueprint
        last = blueprint.iteration + count
        blueprint.counts += self.walk(blueprint.iteration, last)
        halve = last == blueprint.next_halving
        blueprint.iteration = last
        if halve:
            self.halve()

    def walk(self, first: int, last: int) -> NDArray[np.int64]:
        """Iterations first..last - 1; returns what happened, as `kibitz.solvers.blueprint.walked` does."""
        out = gpu().to_device(np.zeros(COUNTS, np.int64))
        with compiling_for_gpu():
            self._kernel[self._grid, THREADS](
                self._game, self._keys, self._table, self.blueprint.mask(), self._base, np.int64(self.blueprint.seed),
                np.int64(first), np.int64(last), out,
            )  # fmt: skip
        self._current = False
        happened: NDArray[np.int64] = out.copy_to_host()
        return happened

    def halve(self) -> None:
        """Halve regrets and averages."""
        for array in self._learned():
            _scaling()[self._grid, THREADS](array.reshape(array.size), np.float32(0.5))

    def bring_back(self) -> None:
        """Copy what was learned to the blueprint's own arrays."""
        if self._current:
            return
        for there, here in zip(self._table, self.blueprint.table, strict=True):
            if isinstance(here, np.ndarray):
                there.copy_to_host(here)
        self._current = True

    def _learned(self) -> list[Any]:
        """Arrays of regrets and averages: those in single precision."""
        return [array for array in self._table if getattr(array, "dtype", None) == np.float32]


def _sent(x: Any) -> Any:
    """Arrays, and tuples of them, copied to the GPU."""
    if isinstance(x, np.ndarray):
        return gpu().to_device(np.ascontiguousarray(x))
    return type(x)(*map(_sent, x)) if isinstance(x, tuple) else x


def _bytes(x: Any) -> int:
    return x.nbytes if isinstance(x, np.ndarray) else sum(map(_bytes, x)) if isinstance(x, tuple) else 0
