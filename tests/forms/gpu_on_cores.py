"""The CUDA source of CFR on a sequence form, compiled as C++ for a core: a launcher that needs no GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

COMPILER = shutil.which("g++")


@cache
def compiled(source, defines):
    folder = tempfile.mkdtemp()
    path = Path(folder, "source.cpp")
    path.write_text(source)
    made = path.with_suffix(".so")
    order = [COMPILER, "-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-ffp-contract=off", "-DCORES",
             *(f"-D{name}={number}" for name, number in defines), str(path), "-o", str(made)]  # fmt: skip
    subprocess.run(order, check=True)
    library = ctypes.CDLL(str(made))
    shutil.rmtree(folder)
    return library


class CoreLauncher:
    """As `kibitz.forms.gpu.launcher.CupyLauncher`; arrays are NumPy's. clock: seconds of a launch, if given."""

    multiprocessors = 8

    def __init__(self, memory=1 << 40, clock=None):
        self.memory, self.clock, self.launches = memory, clock, []

    def free(self):
        return self.memory

    def upload(self, array):
        return np.array(array)

    def download(self, array, into):
        into[...] = array[: into.size]

    def overwrite(self, array, content):
        assert array.shape == content.shape and array.dtype == content.dtype
        array[...] = content

    def address(self, array):
        return array.ctypes.data

    def compile(self, source, defines):
        self._library = compiled(source, tuple(defines.items()))

    def launch(self, name, shape, arguments):
        kinds = {np.dtype(np.int64): ctypes.c_longlong, np.dtype(np.uint64): ctypes.c_ulonglong,
                 np.dtype(np.float64): ctypes.c_double}  # fmt: skip
        given = [
            ctypes.c_void_p(each.ctypes.data) if isinstance(each, np.ndarray) else kinds[each.dtype](each.item())
            for each in arguments
        ]
        getattr(self._library, name)(*given)
        self.launches.append((name, shape))

    def seconds(self, work):
        began = time.perf_counter()
        work()
        return time.perf_counter() - began if self.clock is None else self.clock(self.launches[-1])
