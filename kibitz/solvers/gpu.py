"""Training on a GPU: the walk of solvers/kernels/walk.py, compiled by numba-cuda.

A thread is a walker: it takes every so-manieth iteration and adds to the regrets and averages that all share. What a
walk writes to lies in the thread's local memory, in single precision. The random numbers of an iteration are those of a
processor, but threads run side by side, so a run is not the same to the byte when it is done again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core.devices import compiling_for_gpu
from kibitz.core.errors import SolverError

THREADS, BLOCKS_EACH = 128, 12  # threads of a block, and blocks of a multiprocessor
FRAME, REACH, COUNTS = 3, 4, 4  # as in solvers/kernels/walk.py
MAX_REGISTERS: int | None = None
FAST = False
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
    except Exception as error:  # numba-cuda has a dozen of them
        raise SolverError(f"there is no GPU to train on ({str(error).strip().splitlines()[0]}): {HELP}") from None
    from kibitz.core.devices import show_gpu

    show_gpu()
    return cuda


@lru_cache(None)
def _kernel(depth: int, words: int, actions: int, memo: int, how: tuple[Any, ...]) -> Any:
    """The walk for states of so many words that change, and views with a memo of some words."""
    from numba import float32, int64, uint64

    from kibitz.core.random import SCRATCH
    from kibitz.games.kernels.machine import own_view
    from kibitz.poker.rules.kernels.buckets import NOWHERE
    from kibitz.solvers.kernels.walk import WalkOrder, Workspace, walk_once

    cuda, rows = gpu(), 2 * depth + 1
    mode, explore, linear, evict, players, seats, prune, exact = how  # constants: what does not apply is left out

    @cuda.jit(max_registers=MAX_REGISTERS, fastmath=FAST)
    def train(game: Any, view: Any, store: Any, mask: Any, base: Any, seed: int, first: int, last: int, out: Any):  # type: ignore[no-untyped-def]
        states = cuda.local.array((depth, words), uint64)
        frame = cuda.local.array((depth, FRAME), uint64)
        reach = cuda.local.array((depth, REACH), float32)
        space = cuda.local.array((rows, actions), float32)
        random = cuda.local.array(SCRATCH, uint64)
        count = cuda.local.array(COUNTS, int64)
        reached = cuda.local.array(1, int64)
        remembered = cuda.local.array(memo, uint64)
        for k in range(memo):
            remembered[k] = NOWHERE
        for k in range(COUNTS):
            count[k] = 0
        mine = own_view(view, remembered)
        order = WalkOrder(mode, explore, linear, evict, seed, uint64(players), uint64(seats), prune, exact)
        work = Workspace(states, frame, reach, space, random, count, reached)
        for t in range(first + cuda.grid(1), last, cuda.gridsize(1)):
            walk_once(game, mine, store, mask, base, order, t, work)
        for k in range(COUNTS):
            cuda.atomic.add(out, k, count[k])

    return train


def on_gpu(x: Any) -> Any:
    """Arrays and tuples of arrays, copied to the GPU."""
    if isinstance(x, np.ndarray):
        return gpu().to_device(np.ascontiguousarray(x))
    return type(x)(*map(on_gpu, x)) if isinstance(x, tuple) else x


class Walker:
    """A blueprint on a GPU. `walk` goes on with it there; `back` brings its numbers to the blueprint's own arrays."""

    def __init__(self, blueprint: Any) -> None:
        cuda = gpu()
        machine = blueprint.machine
        state = getattr(machine, "changing", machine.words)
        memo = max(1, (len(getattr(blueprint.keys, "memo", ())) >> 9) * 10)
        order = blueprint.order()
        how = (int(order.mode), float(order.explore), bool(order.linear), bool(order.evict), int(order.players),
               int(order.seats), float(order.prune), bool(order.exact))  # fmt: skip
        self.kernel = _kernel(machine.depth, state, machine.actions, memo, how)
        self.blueprint = blueprint
        self.game, self.keys = on_gpu(blueprint.walked_game), on_gpu(blueprint.keys)
        self.store, self.base = on_gpu(blueprint.table), on_gpu(blueprint.base_player())
        self.grid = cuda.get_current_device().MULTIPROCESSOR_COUNT * BLOCKS_EACH

    def walk(self, first: int, last: int) -> NDArray[np.int64]:
        """Iterations first..last - 1; returns what happened, as solvers.blueprint.walked does."""
        cuda = gpu()
        out = cuda.to_device(np.zeros(COUNTS, np.int64))
        with compiling_for_gpu():
            self.kernel[self.grid, THREADS](
                self.game, self.keys, self.store, self.blueprint.mask(), self.base, np.int64(self.blueprint.seed),
                np.int64(first), np.int64(last), out,
            )  # fmt: skip
        counts: NDArray[np.int64] = out.copy_to_host()
        return counts

    def back(self) -> None:
        """Copy what was learned to the blueprint."""
        for here, there in zip(self.store, self.blueprint.table, strict=True):
            if isinstance(there, np.ndarray):
                here.copy_to_host(there)
