"""Source for a GPU run on a core, thread by thread: for kernels whose threads never wait for one another."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from uuid import uuid4

import numpy as np

from kibitz.core.errors import SolverError
from kibitz.core.gpu import cupy_module


def _gpu_there():
    try:
        cupy_module()
    except SolverError:
        return False
    return True


THERE = _gpu_there()
COMPILER = shutil.which("g++")
HEAD = """
struct Place { int x, y, z; };
struct uint4 { unsigned x, y, z, w; };
struct float2 { float x, y; };
struct double2 { double x, y; };
static Place threadIdx, blockIdx, blockDim;
static char shared_room[8 << 20] __attribute__((aligned(64)));
template <typename T> inline void atomicAdd(T* at, T amount) { *at += amount; }
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__
#define __launch_bounds__(threads, blocks)
#define __restrict__
"""
ROOM = "extern __shared__ vec room[];"
KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(([^{]*)\) \{')
TYPES = {"i4": ctypes.c_int, "i8": ctypes.c_longlong, "f4": ctypes.c_float, "f8": ctypes.c_double}


def compiled(source, folder):
    """A library in which each kernel has a twin, NAME_all, that goes through a grid."""
    twins = []
    for name, arguments in KERNEL.findall(source):
        names = ", ".join(re.search(r"(\w+)\s*$", each)[1] for each in arguments.split(","))
        twins.append(f"""
extern "C" void {name}_all(int gx, int gy, int gz, int gt, {arguments}) {{
  blockDim.x = gt;
  for (int iz = 0; iz < gz; iz++) for (int iy = 0; iy < gy; iy++) for (int ix = 0; ix < gx; ix++) {{
    blockIdx.x = ix; blockIdx.y = iy; blockIdx.z = iz;
    for (int gi = 0; gi < gt; gi++) {{ threadIdx.x = gi; {name}({names}); }}
  }}
}}""")
    path = Path(folder) / f"{uuid4().hex}.cpp"
    path.write_text(HEAD + source.replace(ROOM, "vec* const room = (vec*)shared_room;") + "".join(twins))
    made = path.with_suffix(".so")
    order = [COMPILER, "-O1", "-shared", "-fPIC", "-w", "-ffp-contract=off", str(path), "-o", str(made)]
    subprocess.run(order, check=True)
    return ctypes.CDLL(str(made))


def launcher(module, name):
    """What launches a kernel as CuPy does."""
    function = getattr(module, f"{name}_all")

    def launch(grid, threads, args, shared_mem=0):
        assert shared_mem <= 8 << 20
        given = [
            ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray) else TYPES[each.dtype.str[1:]](each)
            for each in args
        ]
        function(*(ctypes.c_int(each) for each in ([*grid, 1, 1][:3])), ctypes.c_int(threads[0]), *given)

    return launch


class OnCores:
    """For `CudaModules`: their source compiled for a core. `folder` is where to."""

    def _compile(self, source):
        return compiled(source, self.folder)

    def _function(self, tables, name, shared=0):
        return launcher(tables.module, name)
