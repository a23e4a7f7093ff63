"""The GPU of this machine: CuPy, or an error that says what to install."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kibitz.core.errors import SolverError

DEVICES = ("cpu", "gpu")


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
