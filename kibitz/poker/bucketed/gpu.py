"""Kernels of CFR on a bucket form for a GPU: one pass over memory where NumPy takes a dozen.

They do what `cfr_state.py`, `passes.py` and `poker/stitching/part_form.py` do with whole arrays, which is their slow
twin, and differ from it by rounding. Arrays are [actions, lanes, buckets] without gaps; a place is a lane and a bucket.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from kibitz.core.gpu import CudaKernels

THREADS = 256

SOURCE = """
typedef {real} real;

// What a node is worth, and what each action is worth more: gain, if it is wanted.
extern "C" __global__ void mean(
    const real* __restrict__ strategy, const real* __restrict__ values, const int count, const long long size,
    const int wanted, real* __restrict__ gain, real* __restrict__ onto) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= size) return;
  real at = 0;
  for (int a = 0; a < count; a++) at += strategy[a * size + i] * values[a * size + i];
  onto[i] = at;
  if (wanted)
    for (int a = 0; a < count; a++) gain[a * size + i] = values[a * size + i] - at;
}}

// Regrets after an iteration, and the strategy that matches them.
extern "C" __global__ void learn(
    const real* __restrict__ gain, const int count, const long long size, const real grow, const real keep,
    const real least, const real prediction, const real tiny, real* __restrict__ regret,
    real* __restrict__ strategy) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= size) return;
  real total = 0;
  for (int a = 0; a < count; a++) {{
    const long long at = a * size + i;
    const real old = regret[at], more = gain[at];
    real mine = old * (old > 0 ? grow : keep) + more;
    mine = mine > least ? mine : least;
    regret[at] = mine;
    mine += prediction * more;
    mine = mine > 0 ? mine : 0;
    strategy[at] = mine;
    total += mine;
  }}
  for (int a = 0; a < count; a++) {{
    const long long at = a * size + i;
    strategy[at] = total > tiny ? strategy[at] / total : (real)1 / count;
  }}
}}

// For each bucket the sum over those of its infoset, weighed by the seat's own reach if that is given.
extern "C" __global__ void pool(
    const real* __restrict__ values, const float* __restrict__ own, const int weighed,
    const long long* __restrict__ members, const float* __restrict__ counts, const int most, const int lanes,
    const int buckets, const long long size, real* __restrict__ onto) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= size) return;
  const long long row = i / buckets, bucket = i - row * buckets, lane = row % lanes;
  real total = 0;
  for (int k = 0; k < most && counts[(long long)k * buckets + bucket] != 0; k++) {{
    const long long member = members[(long long)k * buckets + bucket];
    const real value = values[row * buckets + member];
    total += weighed ? value * (real)own[lane * buckets + member] : value;
  }}
  onto[i] = total;
}}

// A product of an end: stakes by lane. A line of it has room for `wide` buckets.
extern "C" __global__ void add_end(
    const real* __restrict__ stake, const real* __restrict__ product, const int buckets, const int wide,
    const long long size, real* __restrict__ onto) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= size) return;
  const long long lane = i / buckets;
  onto[i] += stake[lane] * product[lane * wide + (i - lane * buckets)];
}}

extern "C" __global__ void add_plan(
    const real* __restrict__ plan, const real decay, const long long size, real* __restrict__ average) {{
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < size) average[i] = average[i] * decay + plan[i];
}}
"""


class RegretStep(NamedTuple):
    """What an iteration does to regrets: `forms/kernels/cfr.py` says what is what."""

    grow: float  # what positive regrets are multiplied by, and negative ones
    keep: float
    floor: float
    prediction: float
    tiny: float  # a sum of positive regrets below this is rounding


class BucketKernels(CudaKernels):
    """In one precision."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self.xp, self.dtype = xp, np.dtype(dtype)
        self.module = self._compile(SOURCE.format(real="float" if self.dtype == np.float32 else "double"))
        self.functions: dict[str, Any] = {}

    def _run(self, name: str, size: int, *arguments: Any) -> None:
        """One thread for each of so many places. Numbers become those of C."""
        kinds: dict[type, Any] = {int: np.int32, float: self.dtype.type}
        sent = [kinds[type(each)](each) if type(each) in kinds else each for each in arguments]
        self._function(self, name)((-(-size // THREADS),), (THREADS,), tuple(sent))

    def mean(self, strategy: Any, values: Any, gain: Any = None) -> Any:
        """[lanes, buckets]  what a node is worth; fills `gain` with what each action is worth more."""
        onto = self.xp.empty(values.shape[1:], self.dtype)
        wanted = gain is not None
        self._run("mean", onto.size, strategy, values, len(values), np.int64(onto.size), int(wanted),
                  gain if wanted else onto, onto)  # fmt: skip
        return onto

    def learn(self, gain: Any, regret: Any, strategy: Any, step: RegretStep) -> None:
        """Regret matching at a node, in place."""
        size = gain[0].size
        self._run("learn", size, gain, len(gain), np.int64(size), *map(float, step), regret, strategy)

    def pooled(self, values: Any, own: Any, members: Any, counts: Any) -> Any:
        """As `SharedRows.summed`. own: [lanes, buckets], or None."""
        onto = self.xp.empty(values.shape, self.dtype)
        _, lanes, buckets = values.shape
        self._run("pool", onto.size, values, counts if own is None else own, int(own is not None), members, counts,
                  len(members), lanes, buckets, np.int64(onto.size), onto)  # fmt: skip
        return onto

    def add_end(self, stake: Any, product: Any, onto: Any) -> None:
        """onto [lanes, buckets] += stake [lanes] times the product, whose lines may be longer."""
        self._run("add_end", onto.size, stake, product, onto.shape[1], product.shape[1], np.int64(onto.size), onto)

    def add_plan(self, plan: Any, decay: float, average: Any) -> None:
        """average = decay * average + plan."""
        self._run("add_plan", plan.size, plan, decay, np.int64(plan.size), average)


@lru_cache(4)
def bucket_kernels(xp: Any, dtype: str) -> BucketKernels:
    """Those of a precision, compiled once."""
    return BucketKernels(xp, dtype)
