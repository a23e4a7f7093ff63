"""Training on a GPU: the walk of solvers/kernels/walk.py, compiled by numba-cuda.

One kernel deals the cards of some million walks and looks up ahead what keys will ask for. In a second one a thread is
a walker: it takes the next walk that nobody has taken, and adds to regrets and averages that all threads share, by
atomic additions. The threads of a warp take a step each at the same time, whichever walks they are in: none waits for
the longest. What a walk writes to lies in the thread's local memory, in single precision. The random numbers of an
iteration are those of a processor, but threads run side by side: a run that is done again is not the same to the byte.
The walks of all threads, some hundred thousand, follow the strategy of one moment. In a large game they hardly meet; in
a small one a run has as many steps as it has iterations for each thread.

Numba's simulator (NUMBA_ENABLE_CUDASIM=1) runs the same kernels as Python, for tests on machines without a GPU.
"""

from __future__ import annotations

import time
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

THREADS = 128  # of a block
# Of a multiprocessor. Many threads hide how long memory takes; what few threads write to stays in the nearest cache. On
# an H200 three-player hold'em is fastest with 3 or 4, games with hashed rows are with 8: so each is tried.
BLOCKS = 8, 4, 3
TRIAL = 1 << 4 if SIMULATED else 1 << 19  # walks of a trial
COMPILED: dict[str, Any] = {} if SIMULATED else {"max_registers": 64, "fastmath": True}
DEALING: dict[str, Any] = {} if SIMULATED else {"fastmath": True}
FRAME, REACH, COUNTS = 3, 4, 4  # as in solvers/kernels/walk.py
EVICTED = 2  # as in solvers/kernels/hash.py
DEALS = 1 << 10 if SIMULATED else 1 << 22  # walks of a launch at most
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
def _deals(how: tuple[Any, ...]) -> Any:
    """The kernel that deals."""
    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels import machine
    from kibitz.solvers.kernels import walk

    gpu()
    deal, prepare, keep, look_ahead = map(_on_device, (machine.deal, machine.prepare, machine.keep_whole,
                                                       machine.look_ahead))  # fmt: skip
    seed_of_walk, which_walk = map(_on_device, (walk.seed_of_walk, walk.which_walk))
    make, with_base = _order(how)

    @cuda.jit(**DEALING)
    def deals(game, view, base, cuts, seed, first, count, states, starts, seen):  # type: ignore[no-untyped-def]
        random = cuda.local.array(SCRATCH, np.uint64)
        order = make(seed)
        for i in range(cuda.grid(1), count, cuda.gridsize(1)):
            t, seat = which_walk(order, first, i)
            random[0] = seed_of_walk(order, t, seat)
            state = prepare(game, view, deal(game, random), random)
            keep(states, i, state)
            starts[i, 0] = random[0]
            look_ahead(view, game, state, seen[i, : cuts[0]])
            if with_base:
                look_ahead(base.keys, game, state, seen[i, cuts[0] : cuts[1]])
                look_ahead(base.base_keys, game, state, seen[i, cuts[1] :])

    return deals


@lru_cache(None)
def _walks(depth: int, words: int, actions: int, how: tuple[Any, ...]) -> Any:
    """The kernel of one kind of walk. words: of a state, those that change; how: the fields of WalkOrder but its seed
    and those of Mask, as constants, so that what does not apply is left out of the code."""
    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels import machine
    from kibitz.solvers.kernels import store as stores
    from kibitz.solvers.kernels import walk
    from kibitz.solvers.kernels.players import Mask, Player
    from kibitz.solvers.kernels.walk import OVER, Workspace

    gpu()
    begun, step, weight_of, which_walk = map(_on_device, (walk.begun, walk.step, walk.weight_of, walk.which_walk))
    kept, dealt, settle = map(_on_device, (machine.kept_whole, machine.dealt_view, stores.settle))
    (make, with_base), mask, rows, number = _order(how), how[-3:], 2 * depth + 1, REAL
    lanes_of, any_left = _votes()
    if with_base:

        @_device
        def dealt_player(base, seen, cuts):  # type: ignore[no-untyped-def]
            return Player(base.kind, dealt(base.keys, seen[cuts[0] : cuts[1]]), base.store, base.part,
                          dealt(base.base_keys, seen[cuts[1] :]), base.base_store)  # fmt: skip
    else:

        @_device
        def dealt_player(base, seen, cuts):  # type: ignore[no-untyped-def]
            return base

    @cuda.jit(**COMPILED)
    def walks(game, view, store, base, cuts, seed, first, walks, states, starts, seen, like, taken, out):  # type: ignore[no-untyped-def]
        own = cuda.local.array((depth, words), np.uint64)
        frame = cuda.local.array((depth, FRAME), np.uint64)
        reach = cuda.local.array((depth, REACH), number)
        space = cuda.local.array((rows, actions), number)
        random = cuda.local.array(SCRATCH, np.uint64)
        count = cuda.local.array(COUNTS, np.int64)
        reached = cuda.local.array(1, np.int64)
        for k in range(COUNTS):
            count[k] = 0
        order = make(seed)
        trained = Mask(mask[0], np.uint64(mask[1]), mask[2])
        work = Workspace(own, frame, reach, space, random, count, reached)
        lanes = lanes_of()
        left, walking = True, False
        i = t = np.int64(0)
        seat = np.uint64(0)
        random[0] = seat
        cursor = begun(order, like, random)
        while any_left(lanes, left):
            if left and not walking:
                i = cuda.atomic.add(taken, 0, 1)
                left = i < walks
                if left:
                    t, seat = which_walk(order, first, i)
                    random[0] = starts[i, 0]
                    cursor = begun(order, kept(states, i, like), random)
            if left:
                mine, player = dealt(view, seen[i, : cuts[0]]), dealt_player(base, seen[i], cuts)
                cursor = step(game, mine, store, trained, player, order, seat, weight_of(order, t), work, cursor)
                walking = cursor.phase != OVER
                if not walking:
                    settle(store)
        for k in range(COUNTS):
            cuda.atomic.add(out, k, count[k])

    return walks


def _order(how: tuple[Any, ...]) -> tuple[Any, bool]:
    """(what makes the WalkOrder with a seed, whether a base plays)."""
    from kibitz.solvers.kernels.players import FREE
    from kibitz.solvers.kernels.walk import WalkOrder

    mode, explore, linear, evict, players, seats, prune, exact, mask, *_ = how

    @_device
    def make(seed):  # type: ignore[no-untyped-def]
        return WalkOrder(mode, explore, linear, evict, seed, np.uint64(players), np.uint64(seats), prune, exact)

    return make, mask != FREE


def _votes() -> tuple[Any, Any]:
    """(which threads of a warp run, whether one of them has something left to do): in step from there on."""
    if SIMULATED:
        return (lambda: 0), (lambda lanes, left: left)

    @_device
    def lanes_of():  # type: ignore[no-untyped-def]
        return cuda.activemask()

    @_device
    def any_left(lanes, left):  # type: ignore[no-untyped-def]
        return cuda.any_sync(lanes, left)

    return lanes_of, any_left


def _device(function: Any) -> Any:
    """A function that kernels call."""
    return function if SIMULATED else cuda.jit(device=True)(function)


def _on_device(function: Any) -> Callable[..., Any]:
    """A compiled part, or a stub, as the GPU runs it."""
    return _simulated(function) if SIMULATED else function


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
    shape        blocks, and threads of each; default: of some that fill the GPU the one that is fastest
    """

    def __init__(
        self, blueprint: Any, mask: Any = None, base: Any = None, shape: tuple[int, int] | None = None
    ) -> None:
        from kibitz.solvers.kernels.players import FREE

        gpu()
        show_gpu()  # the game's functions among them
        machine, order = blueprint.machine, blueprint.order()
        if not machine.compiled:
            raise SolverError(f"{machine.spec} has rules in plain Python, which a GPU cannot run: leave out --device")
        self.blueprint, self._trials = blueprint, [] if shape else _shapes()
        self._shape = shape or self._trials[0]
        self._rates: list[float] = []  # decisions a second of the shapes that were tried
        mask, base = blueprint.mask() if mask is None else mask, base or blueprint.base_player()
        how = (int(order.mode), float(order.explore), bool(order.linear), bool(order.evict), int(order.players),
               int(order.seats), float(order.prune), bool(order.exact), *map(int, mask))  # fmt: skip
        self._walkers = int(order.seats).bit_count()
        keys = machine.dealt(blueprint.keys)
        if how[-3] != FREE:
            base = base._replace(keys=machine.dealt(base.keys), base_keys=machine.dealt(base.base_keys))
        looked_up = np.cumsum([_looked_up(view) for view in (keys, base.keys, base.base_keys)]).tolist()
        self._cuts = looked_up[0], looked_up[1]
        own = machine.depth, machine.changing, machine.actions
        self._check_memory(keys, base, looked_up[2], *own)
        with aside(), _on_gpu():
            if hasattr(blueprint.table, "limit") and grows(blueprint.table):  # a GPU does not wait for it to grow
                blueprint.store.grow(blueprint.capacity, blueprint.counts)
            self._deal, self._kernel = _deals(how), _walks(*own, how)
            self.first_block = FIRST_BLOCK * self._shape[0] * self._shape[1]
            sent: dict[int, Any] = {}
            self._game, self._keys, self._table, self._base = (
                _sent(each, sent) for each in (blueprint.walked_game, keys, blueprint.table, base)
            )
            self._like = _any_state(blueprint.walked_game)
            arrays = (len(self._like), np.uint64), (1, np.uint64), (max(1, looked_up[2]), np.uint32)
            self._dealt = [gpu().device_array((DEALS, size), dtype) for size, dtype in arrays]
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

    def _check_memory(self, keys: Any, base: Any, looked_up: int, depth: int, words: int, actions: int) -> None:
        """Refuse what does not fit. Rows of a hash table that grows count as all that it may have."""
        from kibitz.core.random import SCRATCH

        blueprint = self.blueprint
        table = _bytes(blueprint.table)
        if hasattr(blueprint.table, "limit"):
            table = blueprint.capacity * (table // len(blueprint.table.key))
        needed = table + _bytes((blueprint.walked_game, keys, base))
        of_thread = 8 * (depth * (words + FRAME) + SCRATCH) + 4 * (depth * REACH + (2 * depth + 1) * actions)
        needed += of_thread * _threads() + DEALS * (8 * (blueprint.machine.words + 1) + 4 * looked_up)
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
        at = first
        while True:
            trial = len(self._rates) < len(self._trials) and (last - at) * self._walkers >= TRIAL
            end = min(last, at + (TRIAL if trial else DEALS) // self._walkers)
            before, began = int(out.copy_to_host()[0]) if trial else 0, time.perf_counter()
            self._launch(at, end, out)
            if trial:
                rate = (int(out.copy_to_host()[0]) - before) / (time.perf_counter() - began)
                self._rates.append(rate)
                done = len(self._rates)
                self._shape = self._trials[done if done < len(self._trials) else int(np.argmax(self._rates))]
            at = end
            if at == last:
                break
        self._current = self._current and first == last
        happened: NDArray[np.int64] = out.copy_to_host()
        if hasattr(self._table, "used"):
            self._table.used.copy_to_host(self.blueprint.table.used)
        return happened

    def _launch(self, first: int, last: int, out: Any) -> None:
        """Deal the cards of these iterations, and walk."""
        seed, begin, walks = np.int64(self.blueprint.seed), np.int64(first), np.int64((last - first) * self._walkers)
        taken = gpu().to_device(np.zeros(1, np.int64))
        with compiling_for_gpu():
            self._deal[self._shape](self._game, self._keys, self._base, self._cuts, seed, begin, walks, *self._dealt)
            self._kernel[self._shape](self._game, self._keys, self._table, self._base, self._cuts, seed, begin, walks,
                                      *self._dealt, self._like, taken, out)  # fmt: skip

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
                self._table = _sent(table, {})
        self._current = True


def _shapes() -> list[tuple[int, int]]:
    """(blocks, threads of each) that fill a GPU, to be tried."""
    if SIMULATED:
        return [(2, 2), (3, 1)]
    return [(gpu().get_current_device().MULTIPROCESSOR_COUNT * blocks, THREADS) for blocks in BLOCKS]


def _threads() -> int:
    """Threads whose own memory a GPU sets aside."""
    if SIMULATED:
        return 1
    device = gpu().get_current_device()
    return int(device.MULTIPROCESSOR_COUNT * device.MAX_THREADS_PER_MULTIPROCESSOR)


def _any_state(game: Any) -> Any:
    """A state of a game, for its type."""
    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels.machine import deal

    with np.errstate(over="ignore"):
        state = deal(game, np.zeros(SCRATCH, np.uint64))
    return type(state)(*(np.uint64(0) for _ in state))


def _looked_up(view: Any) -> int:
    """What a view looks up ahead in a deal."""
    return len(getattr(view, "seen", ()))


def _sent(x: Any, sent: dict[int, Any]) -> Any:
    """Arrays, and tuples of them, copied to the GPU, each once."""
    if isinstance(x, np.ndarray):
        if id(x) not in sent:
            sent[id(x)] = gpu().to_device(np.ascontiguousarray(x))
        return sent[id(x)]
    return type(x)(*(_sent(each, sent) for each in x)) if isinstance(x, tuple) else x


def _bytes(x: Any) -> int:
    """Bytes of arrays, and of tuples of them, each counted once."""
    return sum(array.nbytes for array in {id(array): array for array in _arrays(x)}.values())


def _arrays(x: Any) -> list[NDArray[Any]]:
    if isinstance(x, np.ndarray):
        return [x]
    return [array for each in x for array in _arrays(each)] if isinstance(x, tuple) else []
