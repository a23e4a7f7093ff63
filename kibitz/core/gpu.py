"""The GPU of this machine: CuPy, or an error that says what to install."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kibitz.core.errors import SolverError

DEVICES = ("cpu", "gpu")
PLAIN_SHARED = 48 << 10  # bytes of shared memory that need not be asked for


def require(device: str) -> None:
    """Refuse a device that is unknown, or that this machine does not have."""
    if device not in DEVICES:
        raise SolverError(f"device {device!r}: choose {' or '.join(DEVICES)}")
    if device == "gpu":
        cupy_module()


@lru_cache(1)
def cupy_module() -> Any:
    """CuPy, after a check that there is a GPU."""
    try:
        import cupy
    except ImportError:
        raise SolverError(
            "device gpu needs CuPy: pip install 'kibitz[gpu13]' (CUDA 13) or 'kibitz[gpu12]' (CUDA 12), or leave out "
            "--device"
        ) from None
    try:
        if cupy.cuda.runtime.getDeviceCount() < 1:
            raise SolverError("CuPy finds no GPU on this machine: leave out --device")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise SolverError(f"the GPU cannot be used ({error}): check the driver, or leave out --device") from None
    return cupy


class CudaKernels:
    """Kernels that are compiled from source when they are first asked for. `xp` is CuPy."""

    xp: Any

    def _compile(self, source: str) -> Any:
        return self.xp.RawModule(code=source, options=("-std=c++17",))

    def _function(self, tables: Any, name: str, shared: int = 0) -> Any:
        """A kernel of `tables.module`, kept in `tables.functions`. shared: bytes of shared memory of a block."""
        if name not in tables.functions:
            function = tables.functions[name] = tables.module.get_function(name)
            if shared > PLAIN_SHARED:
                function.max_dynamic_shared_size_bytes = shared
            if shared:
                function.preferred_shared_memory_carveout = 100
        return tables.functions[name]
