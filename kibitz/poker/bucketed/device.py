"""Where the arrays of a bucket form are: in memory with NumPy, or on a GPU with CuPy. The code is the same."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.core.gpu import cupy_module, require
from kibitz.core.resources import MARGIN, cores, free_memory

ROUNDING = "CUPY_TF32"  # in the environment: 0, 1, or where the result is measured
PLAIN, TF32 = 1, 7  # compute types of CuPy (cupy/_core/_routines_linalg.pxd)
CACHED = 1 << 16  # numbers of one array that a core works on at a time: its second-level cache holds several

_SUMS = """
extern "C" __global__ void sums(const {kind}* in, const long long* first, {kind}* out, long long lanes,
                                long long wide, long long parents) {{
  long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (at >= lanes * parents) return;
  long long lane = at / parents, parent = at % parents;
  {kind} total = 0;
  for (long long c = first[parent]; c < first[parent + 1]; c++) total += in[lane * wide + c];
  out[at] = total;
}}
"""


def may_round(measured: bool) -> bool:
    """Whether a GPU may round what it multiplies to TF32: as ROUNDING says, or else where the result is measured.
    NashConv in double precision shows what rounding does. Where it is unknown, nothing shows that: S={i} of limit
    hold'em had another exploitability after rounding, by more than seeds differ (docs/stitching_large.md)."""
    said = os.environ.get(ROUNDING)
    if said not in (None, "0", "1"):
        raise SolverError(f"{ROUNDING}={said!r}: 0 (no rounding to TF32), 1 (rounding everywhere), or leave it out")
    return measured if said is None else said == "1"


class Device:
    """An array module, and the few things that NumPy and CuPy do differently."""

    def __init__(self, name: str = "cpu") -> None:
        require(name)
        self.name = name
        self.xp: Any = np if name == "cpu" else cupy_module()

    @property
    def on_gpu(self) -> bool:
        return self.name == "gpu"

    @property
    def label(self) -> str:
        """As "2 cores of aarch64", or the name of the GPU."""
        if not self.on_gpu:
            return f"{cores()} cores of {platform.machine()}"
        name = self.xp.cuda.runtime.getDeviceProperties(0)["name"]
        return name.decode() if isinstance(name, bytes) else str(name)

    def free(self) -> int:
        """Bytes that may be used there."""
        if self.on_gpu:
            free, _ = self.xp.cuda.runtime.memGetInfo()
            return int(free) + int(self.xp.get_default_memory_pool().free_bytes())
        return max(0, free_memory() - MARGIN)

    def to_host(self, array: Any) -> Any:
        return self.xp.asnumpy(array) if self.on_gpu else np.asarray(array)

    def product(self, lines: Any, matrix: Any, tf32: bool) -> Any:
        """lines @ matrix. tf32: a GPU may round what is in single precision, and is faster then.

        CuPy reads CUPY_TF32 once. Setting the compute type is not documented, but the only way to change it later. All
        threads of a process share it: only one may multiply at a time.
        """
        if not self.on_gpu or lines.dtype != np.float32:
            return lines @ matrix
        core = self.xp._core
        before = core.get_compute_type(lines.dtype)
        core.set_compute_type(lines.dtype, TF32 if tf32 else PLAIN)
        try:
            return lines @ matrix
        finally:
            core.set_compute_type(lines.dtype, before)

    def sum_children(self, values: Any, first: Any) -> Any:
        """[lanes, buckets] -> [lanes, parents]: the buckets of each parent, summed."""
        if not self.on_gpu:
            return np.add.reduceat(np.ascontiguousarray(values), first[:-1], axis=1)
        lanes, wide = values.shape
        parents = len(first) - 1
        sums = self.xp.empty((lanes, parents), values.dtype)
        kernel = _sums("float" if values.dtype == np.float32 else "double")
        size = lanes * parents
        kernel((-(-size // 256),), (256,), (self.xp.ascontiguousarray(values), first, sums, lanes, wide, parents))
        return sums

    def in_pieces(self, work: Any, lanes: int, rows: int) -> None:
        """work(slice of lanes) for all lanes: on a GPU at once, else in pieces that fit a cache, on all cores."""
        if self.on_gpu:
            work(slice(0, lanes))
            return
        step = max(1, CACHED // max(1, rows))
        pieces = [slice(at, min(at + step, lanes)) for at in range(0, lanes, step)]
        if len(pieces) == 1 or cores() == 1:
            for piece in pieces:
                work(piece)
        else:
            list(_pool().map(work, pieces))


def over_actions(values: Any) -> Any:
    """The sum over the first, short axis: on a GPU much faster than its `sum`."""
    total = values[0].copy()
    for each in values[1:]:
        total += each
    return total


def best_device() -> str:
    """gpu where there is one."""
    try:
        Device("gpu")
    except SolverError:
        return "cpu"
    return "gpu"


@lru_cache(1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores())


@lru_cache(2)
def _sums(kind: str) -> Any:
    return cupy_module().RawKernel(_SUMS.format(kind=kind), "sums")
