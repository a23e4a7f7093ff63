"""CuPy as a launcher of kernels: a cooperative launch, whose blocks all run at the same time and may wait for one
another."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from kibitz.core.gpu import cupy_module


class CupyLauncher:
    """The first GPU of this machine."""

    def __init__(self) -> None:
        self._cupy = cupy_module()
        properties = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        self.multiprocessors = int(properties["multiProcessorCount"])
        self._module: Any = None
        self._functions: dict[str, Any] = {}
        self._threads = 0

    def free(self) -> int:
        """Bytes of its memory that may be used."""
        free, _ = self._cupy.cuda.runtime.memGetInfo()
        return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    def upload(self, array: NDArray[Any]) -> Any:
        return self._cupy.asarray(array)

    def download(self, array: Any, into: NDArray[Any]) -> None:
        if into.size:
            array[: into.size].get(out=into)

    def overwrite(self, array: Any, content: NDArray[Any]) -> None:
        array.set(content)

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def compile(self, source: str, defines: dict[str, int]) -> None:
        options = ("-std=c++17", *(f"-D{name}={number}" for name, number in defines.items()))
        self._threads = defines["THREADS"]
        self._module = self._cupy.RawModule(code=source, options=options, enable_cooperative_groups=True)

    def launch(self, name: str, blocks: int, arguments: tuple[Any, ...]) -> None:
        if name not in self._functions:
            self._functions[name] = self._module.get_function(name)
        self._functions[name]((blocks,), (self._threads,), arguments)

    def seconds(self, work: Any) -> float:
        """How long the GPU took for work, which has ended then."""
        begin, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return 1e-3 * float(self._cupy.cuda.get_elapsed_time(begin, end))

