"""A spin barrier for kernels that run on several threads of one process.

Each thread runs the same kernel with its own number and meets the others here. Meeting takes a fraction of a
microsecond when every thread has a core, which is what lets two cores share an iteration of a few hundred
microseconds. A thread that has waited a while yields its core, so that more threads than cores still finish.
"""

from __future__ import annotations

import sys

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from kibitz.kernels.jit import part

_YIELD = types.ExternalFunction("SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32())
SPINS_BEFORE_YIELD = 2000


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


@intrinsic
def _read(typingctx, array, index):
    """Atomically read array[index] (a plain read could be hoisted out of the waiting loop)."""

    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 0), "seq_cst")

    return types.int64(array, types.int64), codegen


@part
def meet(gate, threads):
    """Return when all `threads` threads have called. gate: int64[16], zero at first: [0] arrivals, [8] rounds."""
    if threads == 1:
        return
    this_round = _read(gate, 8)
    if _fetch_add(gate, 0, 1) == threads - 1:
        _fetch_add(gate, 0, -threads)
        _fetch_add(gate, 8, 1)
        return
    waited = 0
    while _read(gate, 8) == this_round:
        waited += 1
        if waited > SPINS_BEFORE_YIELD:
            _YIELD()
