"""CuPy as a launcher of kernels: a cooperative launch, whose blocks all run at the same time and may wait for one
another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from kibitz.core.errors import SolverError
from kibitz.core.gpu import cupy_module

KERNELS = ("iterate", "listen", "measure")


class CupyLauncher:
    """The GPU that CuPy uses."""

    def __init__(self) -> None:
        self._cupy = cupy_module()
        properties = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        self.multiprocessors = int(properties["multiProcessorCount"])
        self._functions: dict[str, Any] = {}

    def free(self) -> int:
        """Bytes of its memory that may be used."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    def upload(self, array: NDArray[Any]) -> Any:
        with self._told():
            return self._cupy.asarray(array)

    def download(self, array: Any, into: NDArray[Any]) -> None:
        with self._told():
            if into.size:
                array[: into.size].get(out=into)

    def overwrite(self, array: Any, content: NDArray[Any]) -> None:
        with self._told():
            array.set(content)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def compile(self, source: str, defines: dict[str, int]) -> None:
        """Compile the kernels now, so that it does not count as time of the first launch."""
        options = ("-std=c++17", *(f"-D{name}={number}" for name, number in defines.items()))
        module = self._cupy.RawModule(code=source, options=options, enable_cooperative_groups=True)
        self._functions = {name: module.get_function(name) for name in KERNELS}

    def launch(self, name: str, shape: tuple[int, int], arguments: tuple[Any, ...]) -> None:
        """shape: blocks, and threads of each."""
        with self._told():
            self._functions[name]((shape[0],), (shape[1],), arguments)

    def seconds(self, work: Callable[[], None]) -> float:
        """How long the GPU took for work, which has ended then."""
        with self._told():
            begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            return 1e-3 * float(self._cupy.cuda.get_elapsed_time(begin, end))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What fails on the GPU as a sentence; what was saved is still there."""
        cuda = self._cupy.cuda
        try:
            yield
        except (cuda.runtime.CUDARuntimeError, cuda.driver.CUDADriverError, cuda.memory.OutOfMemoryError) as error:
            raise SolverError(
                f"the GPU failed ({error}). A checkpoint, if the run has one, holds what was saved last: --resume "
                "continues it, on either device"
            ) from error
