"""CUDA source as plain C++: threads of a block one after the other, or as threads that meet at barriers."""

from __future__ import annotations

import ctypes
import hashlib
import re
import shutil
import subprocess

import numpy as np

from kibitz.poker.exact.gpu import GpuQueue

COMPILER = shutil.which("g++")
CORES = """
#include <thread>
#include <vector>
#include <pthread.h>
#include <string.h>
struct Index { int x, y, z; };
struct uint4 { unsigned x, y, z, w; };
struct uint2 { unsigned x, y; };
struct int4 { int x, y, z, w; };
struct float4 { float x, y, z, w; };
static thread_local Index threadIdx, blockIdx;
static Index blockDim, gridDim;
static pthread_barrier_t gate, warp_gate[32];
static double shifted[1024];
static bool alone = true;
static double shared_room[1 << 16];
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(threads)
static inline void __syncthreads() { if (!alone) pthread_barrier_wait(&gate); }
static inline float __uint_as_float(unsigned bits) { float number; memcpy(&number, &bits, 4); return number; }
static inline unsigned __float_as_uint(float number) { unsigned bits; memcpy(&bits, &number, 4); return bits; }
template <typename real> static inline real __shfl_up_sync(unsigned, real number, int by, int width) {
  if (alone) return 0;
  const int at = threadIdx.x;
  shifted[at] = number;
  pthread_barrier_wait(&warp_gate[at / 32]);
  if (at % width >= by) number = shifted[at - by];
  pthread_barrier_wait(&warp_gate[at / 32]);
  return number;
}
"""
RUN = """
extern "C" void run_{name}(int gx, int gy, int threads, int together, {parameters}) {{
  blockDim.x = threads;
  gridDim.x = gx;
  alone = !together;
  auto block = [&](int x, int y, int t) {{ blockIdx.x = x; blockIdx.y = y; threadIdx.x = t; {name}({names}); }};
  if (!together) {{
    for (int y = 0; y < gy; y++) for (int x = 0; x < gx; x++) for (int t = 0; t < threads; t++) block(x, y, t);
    return;
  }}
  pthread_barrier_init(&gate, 0, threads);
  for (int w = 0; w < 32; w++) pthread_barrier_init(&warp_gate[w], 0, 32);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([&, t]() {{
      for (int y = 0; y < gy; y++) for (int x = 0; x < gx; x++) {{ block(x, y, t); pthread_barrier_wait(&gate); }}
    }});
  for (auto& each : all) each.join();
  pthread_barrier_destroy(&gate);
}}
"""


class NoDevice:
    def free(self) -> int:
        return 1 << 40


TYPES = {np.int32: ctypes.c_int, np.int64: ctypes.c_longlong, np.float32: ctypes.c_float,
         np.float64: ctypes.c_double}  # fmt: skip


class OnCores(GpuQueue):
    """The queue of a poker form's kernels, without a GPU. threads: of a block whose threads meet."""

    meeting = frozenset({"ends_two"})
    room = "extern __shared__ double room[];", "double* const room = shared_room;"
    flag = "-O1"

    def __init__(self, folder, threads=1):
        self.folder, self.threads, self.device = folder, threads, NoDevice()
        self.launches: list[str] = []
        self._made: dict[str, ctypes.CDLL] = {}

    def _compiled(self, source):
        if source not in self._made:
            start = r'extern "C" __global__ void (?:__launch_bounds__\(BLOCK\) )?'
            kernels = re.findall(start + r"(\w+)\(([^)]*)\) \{", source)
            runs = [
                RUN.format(name=name, parameters=given, names=", ".join(re.findall(r"(\w+)(?:,|$)", given.strip())))
                for name, given in kernels
            ]
            text = CORES + source.replace(*self.room)
            path = self.folder / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.cpp"
            path.write_text(text + "".join(runs))
            made = path.with_suffix(".so")
            if not made.exists():
                flags = [self.flag, "-shared", "-fPIC", "-w", "-ffp-contract=off", "-pthread", "-Wl,-Bsymbolic"]
                subprocess.run([COMPILER, *flags, str(path), "-o", str(made)], check=True)
            self._made[source] = ctypes.CDLL(str(made))
        return self._made[source]

    def launch(self, source, name, grid, threads, args, shared=0):
        assert shared <= 8 << 16
        self.launches.append(name)
        meets = name in self.meeting
        given = [
            ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray) else TYPES[type(each)](each)
            for each in args
        ]  # fmt: skip
        getattr(self._compiled(source), f"run_{name}")(
            *grid, self.threads if meets else threads, int(meets and self.threads > 1), *given
        )

    def array(self, array, dtype=None):
        return np.array(array, dtype)

    def zeros(self, count, dtype):
        return np.zeros(count, dtype)

    def host(self, array, out=None):
        if out is None:
            return array.copy()
        out[...] = array
        return out

    def address(self, array):
        return array.ctypes.data

    def assign(self, array, at, values):
        array[at] = values

    def recorded(self, work):
        return work

    def wait(self):
        pass
