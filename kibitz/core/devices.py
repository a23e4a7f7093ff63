"""One source for processors and GPUs: the few functions that have a body of their own on each.

Compiled code is the same Python on both. numba-cuda, the compiler for GPUs, is a second Numba with tables of its own,
so it is shown what stubs (`games/kernels/dispatch.py`) and functions of two bodies mean once a GPU is used. Numba's
simulator of a GPU (NUMBA_ENABLE_CUDASIM=1) runs the bodies for GPUs as Python (`dispatch.interpreted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import config
from numba.extending import overload

from kibitz.core.parts import PartCompiler

Function = Callable[..., Any]
COMPILED = {  # as parts of kernels
    "nogil": True, "error_model": "numpy", "_nrt": False, "forceinline": True, "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True, "pipeline_class": PartCompiler,
}  # fmt: skip
SIMULATED = bool(config.ENABLE_CUDASIM)
cuda: Any = None  # numba.cuda, once a GPU is used
# Whether what is compiled is for a GPU. Numba asks every table that knows a function, so a table for each device is not
# enough.
_for_gpu: ContextVar[bool] = ContextVar("for_gpu", default=False)
_PICKS: list[tuple[Function, Function]] = []  # a function, and what says which body a call of it has on a GPU
_shown = 0  # how many of them numba-cuda knows


def overloaded(function: Function, pick: Function) -> None:
    """Let a function mean what `pick` says, by the types of its arguments, on processors and on GPUs."""
    overload(function, jit_options=COMPILED, strict=False)(pick)
    _PICKS.append((function, pick))


def by_device(cpu: Function, gpu: Function, twin: Function | None = None) -> Function:
    """A function with one body for processors and one for GPUs that has the same results. twin: what Python runs."""

    def called(*arguments: Any) -> Any:
        return (twin or cpu)(*arguments)

    called.__name__, called.__doc__, called.__module__ = cpu.__name__, cpu.__doc__, cpu.__module__
    called.bodies = (twin or cpu, gpu)  # type: ignore[attr-defined]  # that `interpreted` runs
    overloaded(called, lambda *arguments: gpu if _for_gpu.get() else cpu)
    return called


# Additions to what other threads add to. Threads of a processor may lose one where two meet in one place, which changes
# a sample or two in millions; on a GPU there are a hundred thousand threads, and none is lost.


def _add(array, at, number):
    array[at] += number


def _add_atomically(array, at, number):
    cuda.atomic.add(array, at, number)


add = by_device(_add, _add_atomically)


# Numbers that walks add up: in double precision on processors, in single precision on GPUs.


def _double(x):
    return float(x)


def _single(x):
    return np.float32(x)


real = by_device(_double, _single)


@contextmanager
def compiling_for_gpu() -> Iterator[None]:
    """Functions of two bodies have that for GPUs in whatever is compiled within."""
    before = _for_gpu.set(True)
    try:
        yield
    finally:
        _for_gpu.reset(before)


def show_gpu() -> None:
    """Let numba-cuda know all of these functions."""
    global _shown, cuda
    if SIMULATED:
        from numba.cuda.simulator.kernelapi import FakeCUDAAtomic

        cuda = SimpleNamespace(atomic=FakeCUDAAtomic())
        return
    from numba import cuda as numba_cuda
    from numba.cuda.extending import overload as overload_on_gpu

    cuda = numba_cuda
    for function, pick in _PICKS[_shown:]:
        overload_on_gpu(function, strict=False)(pick)
    _shown = len(_PICKS)
