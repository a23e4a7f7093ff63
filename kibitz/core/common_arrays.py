"""Arrays that processes of one machine fill together: what one writes, the others see.

They lie in memory that has no name on disk. It goes with the last process that has it open, however that ends.
"""

from __future__ import annotations

import mmap
import os
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core.errors import SolverError

ALIGNED = 64  # bytes: arrays begin at multiples of them
Layout = tuple[tuple[str, str, tuple[int, ...]], ...]  # name, dtype and shape of each array


class NamedMemory(NamedTuple):
    """Common arrays by name: plain data, so that a piece of work can have it as an argument."""

    process: int
    file: int
    token: str
    layout: Layout


class CommonArrays:
    """The arrays of the process that makes them, which keeps them open for others until it closes them."""

    def __init__(self, arrays: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        """arrays: name -> dtype, shape. They begin with zeros."""
        layout = tuple((name, np.dtype(dtype).str, tuple(shape)) for name, (dtype, shape) in arrays.items())
        token = secrets.token_hex(16)
        self._file = os.memfd_create(_title(token), os.MFD_CLOEXEC)
        os.ftruncate(self._file, max(1, _offsets(layout)[-1]))
        self.arrays = _mapped(self._file, layout)
        self.name = NamedMemory(os.getpid(), self._file, token, layout)

    def close(self) -> None:
        """Nobody opens them any more. The arrays stay as long as they are used."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def can_be_common() -> bool:
    """Whether this system has such memory; Linux has."""
    return hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd")


def opened_memory(name: NamedMemory) -> dict[str, NDArray[Any]]:
    """The same arrays in another process."""
    path = f"/proc/{name.process}/fd/{name.file}"
    try:
        if os.readlink(path) != f"/memfd:{_title(name.token)} (deleted)":
            raise OSError("that file is another one")
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise SolverError(f"the memory of process {name.process} cannot be opened here: {error}") from None
    try:
        return _mapped(file, name.layout)
    finally:
        os.close(file)  # the map stays


def _title(token: str) -> str:
    return f"kibitz-{token}"


def _offsets(layout: Layout) -> list[int]:
    """Where arrays begin, and where the last one ends."""
    offsets = [0]
    for _, dtype, shape in layout:
        size = np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
        offsets.append(offsets[-1] + -(-size // ALIGNED) * ALIGNED)
    return offsets


def _mapped(file: int, layout: Layout) -> dict[str, NDArray[Any]]:
    memory = mmap.mmap(file, max(1, _offsets(layout)[-1]))
    return {
        name: np.ndarray(shape, np.dtype(dtype), memory, begin)
        for (name, dtype, shape), begin in zip(layout, _offsets(layout), strict=False)
    }
