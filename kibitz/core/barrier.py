"""How the threads of one kernel share work and wait for each other.

Each thread runs the same kernel and claims fixed pieces of work (`claim`). Of n threads each takes every n-th piece, as
in the iteration before, since its core's cache still holds their data; then it takes what others have left. So a thread
whose core has a busy neighbour does fewer; which thread did a piece does not change a bit of the result. Between
steps the threads meet at a barrier (`meet`). Meeting takes a fraction of a microsecond when every thread has a core,
which is what lets two cores share an iteration of some tens of microseconds. A waiting thread only reads, so that it
does not take the cache line from the ones that work, and soon gives its core away.

A gate is made by `gate_of`; its numbers lie in cache lines of their own.
"""

from __future__ import annotations

import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kibitz.core.jit import part

_YIELD = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())
SPINS_BEFORE_YIELD = 500  # some microseconds: longer than a meeting takes, shorter than it takes to miss the core
ARRIVED, ROUND, CLAIMED, LINE = 0, 16, 32, 16  # places in a gate, and words between two threads' counters


def gate_of(threads: int) -> np.ndarray:
    """What threads meet at: int64, arrivals, rounds, and for each thread how many of its pieces were claimed."""
    return np.zeros(CLAIMED + LINE * threads, np.int64)


def _address(context, builder, array_type, array, index):
    view = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, view, [index], wraparound=False)


@intrinsic
def _fetch_add(typingctx, array, index, amount):
    """Atomically array[index] += amount; returns the value before."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


def _fetch_add_slowly(array, index, amount):
    """What `_fetch_add` does, for one thread."""
    before = array[index]
    array[index] += amount
    return before


_fetch_add.slow_twin = _fetch_add_slowly


@intrinsic
def _read(typingctx, array, index):
    """Atomically read array[index] (a plain read could be hoisted out of the waiting loop)."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def _write(typingctx, array, index, value):
    """Atomically array[index] = value, after all that the thread has written before."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "release", 8)
        return ir.Constant(ir.IntType(64), 0)

    return types.int64(array, types.int64, types.int64), codegen


@part
def claim(gate, thread, threads, last, pieces):
    """The next piece of this step for a thread, after `last` (-1 at first); `pieces` or more when all are claimed."""
    if threads == 1:
        return last + 1
    for k in range(threads):
        other = (thread + k) % threads
        piece = other + threads * _fetch_add(gate, CLAIMED + LINE * other, 1)
        if piece < pieces:
            return piece
    return pieces


@part
def meet(gate, threads):
    """Return when all `threads` threads have called; the next step's pieces are then counted from 0."""
    if threads == 1:
        return
    this_round = _read(gate, ROUND)
    if _fetch_add(gate, ARRIVED, 1) == threads - 1:
        _write(gate, ARRIVED, 0)
        for thread in range(threads):
            _write(gate, CLAIMED + LINE * thread, 0)
        _write(gate, ROUND, this_round + 1)
        return
    waited = 0
    while _read(gate, ROUND) == this_round:
        waited += 1
        if waited > SPINS_BEFORE_YIELD:
            _YIELD()
