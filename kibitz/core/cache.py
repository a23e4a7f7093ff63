"""The cache of compiled code on disk: never stale, never damaged, never in the way.

Numba's own cache looks only at the file that a function stands in, falls back to a `__pycache__` that knows no digest
when its directory cannot be used, and runs whatever bytes it finds. Here

- a file's name carries a digest of the sources that the function depends on: the import closure of its own module and
  of the modules of the NamedTuples in its signature (`core/closure.py`). So a changed callee is never stale, a
  changed kernel recompiles what imports it and nothing else, and a second checkout of the same sources starts warm;
- the directory's name carries the versions of what compiles, and there is no other directory to fall back to;
- what no process has used for a month is removed;
- each file ends in a digest of its bytes, which is compared before anything is made of them. What was cut, changed or
  replaced is removed and compiled anew. That is against damage: who may write to the directory may run code;
- a data file is named by what it is compiled for, so that two processes that compile at once cannot take each other's;
- a directory that cannot be made or written costs the caching, and one sentence.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from kibitz.core import closure

UNUSED = 30 * 24 * 3600.0  # seconds
SEAL = 32  # bytes at the end of a file; Python's pickles end before them and do not mind

_told: list[str] = []


def enable(dispatcher: Any, folder: Path) -> Any:
    """A compiled function with its cache in a folder, or without one where that cannot be used."""
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT
        return dispatcher
    source = closure.source_of(dispatcher.py_func)
    if source is None:  # typed into a notebook or a shell
        return dispatcher
    try:
        dispatcher._cache = _Cache(dispatcher.py_func, source, folder)
    except OSError as error:
        _tell(folder, error)
    return dispatcher


def _tell(folder: Path | str, error: Exception) -> None:
    """Say once that compiled code is not kept."""
    if _told or sys.stderr is None:
        return
    why = getattr(error, "strerror", None) or error
    _told.append(
        f"note: compiled code cannot be kept in {folder} ({why}), so each start compiles anew; make room there, or set "
        "KIBITZ_CACHE to a directory that can be written"
    )
    with contextlib.suppress(OSError, ValueError):
        print(_told[0], file=sys.stderr)


class _Cache(FunctionCache):
    """The cache of one function: an index and data files for each digest of the sources that it depends on."""

    def __init__(self, py_func: Callable[..., Any], source: closure.ModuleSource, folder: Path) -> None:
        self._name, self._py_func = repr(py_func), py_func
        self._impl = _Impl(py_func)
        self._source, self._cache_path = source, str(folder / source.name)
        self._sources = closure.digest([source])  # now, before anybody edits what was just imported
        os.makedirs(self._cache_path, exist_ok=True)  # it need not be writable: one that can be read is worth reading
        self.enable()

    def _select(self, sig: Any) -> None:
        """Go to the files of a signature."""
        others = closure.sources_of_types(sig if isinstance(sig, tuple) else sig.args)
        sources = closure.digest([self._source, *others]) if others else self._sources
        name = re.sub(r"[^\w.]", "", self._py_func.__qualname__)
        line = self._py_func.__code__.co_firstlineno
        self._cache_file = _Files(self._cache_path, f"{name}-{line}-{sources}", sources)

    def flush(self) -> None:
        """Forget what is compiled, for every digest."""
        for path in Path(self._cache_path).glob("*.nb?"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            self._select(sig)
            return super().load_overload(sig, target_context)
        except OSError:  # what cannot be read is compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            self._select(sig)
            super().save_overload(sig, data)
            _remove_unused(Path(self._cache_path))
        except OSError as error:  # a full disk, or one that can only be read: the code itself is there
            _tell(self._cache_path, error)


class _Impl(CompileResultCacheImpl):
    """How Numba writes and reads compiled code; where it does so is decided above."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self._locator = self
        self._py_file, self._lineno = py_func.__code__.co_filename, py_func.__code__.co_firstlineno  # for warnings

    def ensure_cache_path(self) -> None:
        """The directory was made at the start."""


def _remove_unused(folder: Path) -> None:
    """Remove what was not used for a month: sources that nobody has any more."""
    with os.scandir(folder) as entries:
        old = [entry.path for entry in entries if entry.stat().st_mtime < time.time() - UNUSED]
    for path in old:
        with contextlib.suppress(OSError):
            os.unlink(path)


class _Files(IndexDataCacheFile):
    """Numba's index and data files, each with a seal at its end."""

    def save(self, key: Any, data: Any) -> None:
        overloads = self._load_index()
        others = {name for known, name in overloads.items() if known != key}
        number = int.from_bytes(hashlib.blake2b(repr(key).encode(), digest_size=7).digest())
        while self._data_name(number) in others:  # two types that print alike
            number += 1
        overloads[key] = self._data_name(number)
        self._save_data(overloads[key], data)
        self._save_index(overloads)

    def _load_index(self) -> Any:
        return super()._load_index() if _whole(self._index_path) else {}

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        if not _whole(path):
            raise FileNotFoundError(errno.ENOENT, "it was damaged", path)
        return super()._load_data(name)

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        body = io.BytesIO()
        yield body
        with super()._open_for_write(filepath) as file:
            file.write(body.getvalue() + _seal(body.getbuffer()))


def _seal(body: Any) -> bytes:
    return hashlib.blake2b(body, digest_size=SEAL).digest()


def _whole(path: str) -> bool:
    """Whether a file is as it was written; what is not is removed, so that it is made anew. It counts as used."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # a pipe does not block
            content = memoryview(file.read())
            if os.fstat(file.fileno()).st_mtime < time.time() - UNUSED / 30:  # once a day is enough
                with contextlib.suppress(OSError):
                    os.utime(file.fileno())
        if content[-SEAL:] == _seal(content[:-SEAL]):
            return True
    except FileNotFoundError:
        return False
    except OSError:  # a directory, or what cannot be read
        pass
    with contextlib.suppress(OSError):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    return False
