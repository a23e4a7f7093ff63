"""The one decorator for compiled code.

Numba's own cache looks only at the file that a function stands in: when a callee in another file changes, it
returns stale results. Here compiled code is kept by the digest of all sources that it depends on
(`core/cache.py`), in a directory for this Python and Numba. fastmath stays off: sums are done in the order that the
code says.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np

from kibitz.core.cache import enable
from kibitz.core.compiling import listen
from kibitz.core.parts import PartCompiler

# Numba lets signed indices count from the end, which costs a comparison at each access; unsigned ones do not.
# Inner loops therefore count in uint64, and these are the steps that keep the sums unsigned.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
U64 = np.uint64

# At exit Python would search Numba's million objects for cycles: a fifth of a second for nothing.
atexit.register(gc.freeze)
listen()

# Numba counts references to arrays: an atomic operation or two wherever an array of a tuple is named, which is most of
# the time of short loops, on x86 above all. Kernels are compiled without (`_nrt`), so they cannot make arrays: they are
# given all that they write to. Makers can, and leave the loops to parts. A part that is called from a maker must not
# return arrays: nobody would have counted them. tests/core/test_kernels.py looks for both in the compiled code.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_MAKING: dict[str, Any] = {**_OPTIONS, "_nrt": True}
_INNER: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}


def cache_home() -> Path:
    """Where kibitz keeps what it can make again: $KIBITZ_CACHE, or the user's cache directory."""
    given, shared = os.environ.get("KIBITZ_CACHE"), os.environ.get("XDG_CACHE_HOME")
    if given:
        return Path(given)
    try:
        return Path(shared or Path.home() / ".cache") / "kibitz"
    except RuntimeError:  # a user without a home
        return _private()


@lru_cache(1)
def _private() -> Path:
    """A directory for this process alone: a name that others could foresee is one that they could fill with code."""
    made = tempfile.TemporaryDirectory(prefix="kibitz-")
    atexit.register(made.cleanup)
    return Path(made.name)


def _compiler() -> str:
    """What compiles, as a name for a directory."""
    versions = f"{numba.__version__} {llvmlite.__version__} {np.__version__} {sys.version_info[:3]} {sys.platform}"
    return hashlib.sha256(versions.encode()).hexdigest()[:16]


CACHE = cache_home() / "numba" / _compiler()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile with Numba, cached on disk: what Python calls. Makes no arrays."""
    return _cached(function, _OPTIONS)


def maker(function: Callable[..., Any]) -> Any:
    """As `kernel`, for code that makes arrays; it counts references, so its hot loops are in parts."""
    return _cached(function, _MAKING)


def _cached(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    return enable(numba.njit(function, **options), CACHE)


def part(function: Callable[..., Any]) -> Any:
    """A piece that only kernels call: without the entry from Python, which would take most of its compile time."""
    return numba.njit(function, **_OPTIONS, **_INNER)


def small_part(function: Callable[..., Any]) -> Any:
    """As `part`, always put in the place of its call: for a few lines that are called in every step."""
    return numba.njit(function, **_OPTIONS, **_INNER, forceinline=True)


def fused_part(function: Callable[..., Any]) -> Any:
    """As `part`, but a * b + c may round once instead of twice: a fifth faster where sums of products dominate."""
    return numba.njit(function, **_OPTIONS, **_INNER, fastmath={"contract"})


def making_part(function: Callable[..., Any]) -> Any:
    """A piece of makers that makes arrays."""
    return numba.njit(function, **_MAKING, **_INNER)
