"""Training on a GPU: the walk of solvers/kernels/walk.py, compiled by numba-cuda.

A thread is a walker. It takes every so-manieth iteration and adds to regrets and averages that all threads share, by
atomic additions. What a walk writes to lies in the thread's local memory, in single precision. The random numbers of an
iteration are those of a processor, but threads run side by side: a run that is done again is not the same to the byte.
The walks of all threads, some hundred thousand, follow the strategy of one moment. In a large game they hardly meet; in
a small one a run has as many steps as it has iterations for each thread.

Numba's simulator (NUMBA_ENABLE_CUDASIM=1) runs the same kernels as Python, for tests on machines without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.compiling import aside
from kibitz.core.devices import SIMULATED, compiling_for_gpu, show_gpu
from kibitz.core.errors import SolverError
from kibitz.solvers.tables import apart, grows

THREADS, BLOCKS = 128, 8  # of a block; of a multiprocessor. More of either, or more registers, was slower on an H200
COMPILED: dict[str, Any] = {} if SIMULATED else {"max_registers": 64, "fastmath": True}
FRAME, REACH, COUNTS = 3, 4, 4  # as in solvers/kernels/walk.py
EVICTED = 2  # as in solvers/kernels/hash.py
BLANK = np.uint64((1 << 64) - 1)  # an entry of a memo that remembers nothing
REAL: Any = np.float32  # of numbers in a thread's own memory
SHARE = 0.95  # of the free memory of a GPU
FIRST_BLOCK = 4  # iterations of a thread in the first launch
HELP = "pip install 'kibitz[gpu13]' (CUDA 13) or 'kibitz[gpu12]' (CUDA 12), or leave out --device"
cuda: Any = None  # numba.cuda, once there is a GPU; kernels name it


class GpuFailed(SolverError):
    """The GPU gave up in the middle: what it had learned since the last checkpoint is lost."""


@lru_cache(1)
def gpu() -> Any:
    """numba.cuda with a GPU that works; else an error that says what is missing."""
    global cuda
    numba_cuda: Any
    try:
        from numba import cuda as numba_cuda
    except ImportError as error:
        raise SolverError(f"training on a GPU needs numba-cuda ({error}): {HELP}") from None
    if not SIMULATED and getattr(numba_cuda, "implementation", "") != "NVIDIA":  # Numba's own, which is older
        raise SolverError(f"training on a GPU needs numba-cuda, which is not installed: {HELP}")
    try:
        numba_cuda.current_context()
    except Exception as error:  # numba-cuda has a dozen of them, for drivers, libraries and devices
        raise SolverError(
            f"there is no GPU to train on ({_reason(error)}): it takes one by NVIDIA, its driver, and kibitz[gpu13] or "
            "kibitz[gpu12], whichever CUDA `nvidia-smi` names; or leave out --device"
        ) from None
    cuda = numba_cuda
    return cuda


def _reason(error: BaseException) -> str:
    words = " ".join(str(error).split()).strip(" :")
    return f"{words[:150]}..." if len(words) > 150 else words or type(error).__name__


@contextmanager
def _on_gpu() -> Iterator[None]:
    """What the GPU or its driver cannot do is an error in words."""
    try:
        yield
    except (SolverError, KeyboardInterrupt):
        raise
    except Exception as error:
        if type(error).__module__.startswith(("numba.cuda.cudadrv", "cuda.")):
            raise GpuFailed(
                f"the GPU failed ({_reason(error)}); the last checkpoint is intact: continue from there with --resume"
            ) from error
        raise


@lru_cache(None)
def _walks(depth: int, words: int, actions: int, memo: int, how: tuple[Any, ...]) -> Any:
    """The kernel of one kind of walk. words: of a state, those that change; memo: words that a thread remembers; how:
    the fields of WalkOrder but its seed, as constants, so that what does not apply is left out of the code."""
    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels.machine import own_view
    from kibitz.solvers.kernels.walk import WalkOrder, Workspace, walk_once

    gpu()
    once, view_of = (_simulated(walk_once), _simulated(own_view)) if SIMULATED else (walk_once, own_view)
    mode, explore, linear, evict, players, seats, prune, exact = how
    rows, number = 2 * depth + 1, REAL

    @cuda.jit(**COMPILED)
    def walks(game, view, store, mask, base, seed, first, last, out):  # type: ignore[no-untyped-def]
        states = cuda.local.array((depth, words), np.uint64)
        frame = cuda.local.array((depth, FRAME), np.uint64)
        reach = cuda.local.array((depth, REACH), number)
        space = cuda.local.array((rows, actions), number)
        random = cuda.local.array(SCRATCH, np.uint64)
        count = cuda.local.array(COUNTS, np.int64)
        reached = cuda.local.array(1, np.int64)
        remembered = cuda.local.array(memo, np.uint64)
        for k in range(memo):
            remembered[k] = BLANK
        for k in range(COUNTS):
            count[k] = 0
        mine = view_of(view, remembered)
        order = WalkOrder(mode, explore, linear, evict, seed, np.uint64(players), np.uint64(seats), prune, exact)
        work = Workspace(states, frame, reach, space, random, count, reached)
        for t in range(first + cuda.grid(1), last, cuda.gridsize(1)):
            once(game, mine, store, mask, base, order, t, work)
        for k in range(COUNTS):
            cuda.atomic.add(out, k, count[k])

    return walks


def _simulated(function: Any) -> Callable[..., Any]:
    """A compiled part, or a stub, as the simulator runs it."""
    from kibitz.games.kernels.dispatch import interpreted

    run = getattr(function, "on_gpu", None) or interpreted(function, True)

    def quietly(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # as words are; a thread does not have the settings of another
            return run(*arguments)

    return quietly


@lru_cache(1)
def _scaling() -> Any:
    gpu()

    @cuda.jit
    def scale(array, factor):  # type: ignore[no-untyped-def]
        for at in range(cuda.grid(1), array.size, cuda.gridsize(1)):
            array[at] *= factor

    return scale


class GpuWalks:
    """A blueprint that is trained on a GPU: `step` trains it there, `bring_back` copies what it has learned.

    mask, base   which decisions are trained and who plays the others; default: as the blueprint says
    shape        blocks, and threads of each; default: what fills the GPU
    """

    def __init__(
        self, blueprint: Any, mask: Any = None, base: Any = None, shape: tuple[int, int] | None = None
    ) -> None:
        gpu()
        show_gpu()  # the game's functions among them
        machine, order = blueprint.machine, blueprint.order()
        if not machine.compiled:
            raise SolverError(f"{machine.spec} has rules in plain Python, which a GPU cannot run: leave out --device")
        self.blueprint, self._shape = blueprint, shape or _shape()
        self._mask, base = (blueprint.mask() if mask is None else mask, base or blueprint.base_player())
        own = (machine.depth, machine.changing, machine.actions, machine.memo(blueprint.keys))
        how = (int(order.mode), float(order.explore), bool(order.linear), bool(order.evict), int(order.players),
               int(order.seats), float(order.prune), bool(order.exact))  # fmt: skip
        self._check_memory(base, *own)
        with aside(), _on_gpu():
            if hasattr(blueprint.table, "limit") and grows(blueprint.table):  # a GPU does not wait for it to grow
                blueprint.store.grow(blueprint.capacity, blueprint.counts)
            self._kernel = _walks(*own, how)
            self.first_block = FIRST_BLOCK * self._shape[0] * self._shape[1]
            self._game, self._keys, self._table, self._base = map(
                _sent, (blueprint.walked_game, blueprint.keys, blueprint.table, base)
            )
            self._current = True  # whether the blueprint's own arrays are those of the GPU
            self.walk(0, 0)  # nothing, but compiled

    def __enter__(self) -> GpuWalks:
        self.blueprint.walks = self
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if not isinstance(error, GpuFailed):
                self.bring_back()
        finally:
            self.blueprint.walks = None

    def _check_memory(self, base: Any, depth: int, words: int, actions: int, memo: int) -> None:
        """Refuse what does not fit. Rows of a hash table that grows count as all that it may have."""
        from kibitz.core.random import SCRATCH

        blueprint = self.blueprint
        table = _bytes(blueprint.table)
        if hasattr(blueprint.table, "limit"):
            table = blueprint.capacity * (table // len(blueprint.table.key))
        needed = table + sum(map(_bytes, (blueprint.walked_game, blueprint.keys, base)))
        of_thread = 8 * (depth * (words + FRAME) + SCRATCH + memo) + 4 * (depth * REACH + (2 * depth + 1) * actions)
        needed += of_thread * _threads()
        free = gpu().current_context().get_memory_info().free
        if needed > SHARE * free:
            raise SolverError(
                f"the rows and tables take {needed / 1e9:.1f} GB, but the GPU has {free / 1e9:.1f} GB free: choose "
                "fewer buckets, or a smaller --max-infosets or --memory"
            )

    def step(self, count: int) -> None:
        """So many iterations, up to the next halving at most."""
        blueprint = self.blueprint
        last = blueprint.iteration + count
        with _on_gpu():
            blueprint.counts += self.walk(blueprint.iteration, last)
            halve = last == blueprint.next_halving
            blueprint.iteration = last
            if halve:
                self.halve()

    def walk(self, first: int, last: int) -> NDArray[np.int64]:
        """Iterations first..last - 1; returns what happened, as `kibitz.solvers.blueprint.walked` does."""
        out = gpu().to_device(np.zeros(COUNTS, np.int64))
        with compiling_for_gpu():
            self._kernel[self._shape](
                self._game, self._keys, self._table, self._mask, self._base, np.int64(self.blueprint.seed),
                np.int64(first), np.int64(last), out,
            )  # fmt: skip
        self._current = self._current and first == last
        happened: NDArray[np.int64] = out.copy_to_host()
        if hasattr(self._table, "used"):
            self._table.used.copy_to_host(self.blueprint.table.used)
        return happened

    def halve(self) -> None:
        """Halve regrets and averages."""
        for array in self._table:
            if getattr(array, "dtype", None) == np.float32:
                _scaling()[self._shape](array.reshape(array.size), np.float32(0.5))

    def bring_back(self) -> None:
        """Copy what was learned to the blueprint's own arrays."""
        if self._current:
            return
        table = self.blueprint.table
        with aside(), _on_gpu():
            for there, here in zip(self._table, table, strict=True):
                if isinstance(here, np.ndarray):
                    there.copy_to_host(here)
            if self.blueprint.counts[EVICTED] and apart(table):
                self._table = _sent(table)
        self._current = True


def _shape() -> tuple[int, int]:
    """(blocks, threads of each) that fill a GPU."""
    return (2, 2) if SIMULATED else (gpu().get_current_device().MULTIPROCESSOR_COUNT * BLOCKS, THREADS)


def _threads() -> int:
    """Threads whose own memory a GPU sets aside."""
    if SIMULATED:
        return 1
    device = gpu().get_current_device()
    return int(device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR)


def _sent(x: Any) -> Any:
    """Arrays, and tuples of them, copied to the GPU."""
    if isinstance(x, np.ndarray):
        return gpu().to_device(np.ascontiguousarray(x))
    return type(x)(*map(_sent, x)) if isinstance(x, tuple) else x


def _bytes(x: Any) -> int:
    return x.nbytes if isinstance(x, np.ndarray) else sum(map(_bytes, x)) if isinstance(x, tuple) else 0
