"""The cache of compiled code on disk: never stale, never damaged, never in the way.

Numba's own cache looks only at the file that a function stands in, falls back to a `__pycache__` that knows no digest
when its directory cannot be used, and runs whatever bytes it finds. Here

- the directory's name carries a digest of *all* kernel sources and of what compiles them (`kernels/jit.py`), and there
  is no other directory to fall back to;
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
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)

SEAL = 32  # bytes at the end of a file; Python's pickles end before them and do not mind

_told: list[str] = []


def enable(dispatcher: Any, folder: Path) -> Any:
    """A compiled function with its cache in a folder, or without one where that cannot be used."""
    if not hasattr(dispatcher, "py_func"):  # NUMBA_DISABLE_JIT
        return dispatcher
    before = config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES
    config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = str(folder), ""
    try:
        dispatcher._cache = _Cache(dispatcher.py_func)
    except (OSError, RuntimeError, ValueError) as error:
        _tell(folder, error)
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before
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


class _Locator(UserProvidedCacheLocator):
    """The one directory. It need not be writable: a cache that can only be read is still worth reading."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        found = cls(py_func, py_file)
        found.ensure_cache_path()
        return found

    def ensure_cache_path(self) -> None:
        os.makedirs(self.get_cache_path(), exist_ok=True)


class _Impl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _Impl

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError:  # what cannot be read is compiled
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # a full disk, or one that can only be read: the code itself is there
            _tell(self._cache_path, error)


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
    """Whether a file is as it was written; what is not is removed, so that it is made anew."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # a pipe does not block
            content = memoryview(file.read())
        if content[-SEAL:] == _seal(content[:-SEAL]):
            return True
    except FileNotFoundError:
        return False
    except OSError:  # a directory, or what cannot be read
        pass
    with contextlib.suppress(OSError):
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
    return False
