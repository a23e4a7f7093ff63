"""How parts of kernels go through LLVM: they are linked, and only whole kernels become machine code.

Numba makes every compiled function ready to run: it links in all that the function calls, optimises the result twice
and writes machine code. A part is only ever called from kernels, which do all of that again with the part's code inside
them. So a part ends as code for linking, and a first run does that work once.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, for functions that only kernels call (`pipeline_class` of numba.njit)."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, library or _Linked(target.codegen(), "part"), *rest)


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into kernels and never run by itself."""

    @property
    def codegen(self) -> Any:
        return _NoEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # Numba's answer for a function without an entry from Python

    def _optimize_final_module(self) -> None:
        """The kernel's module is optimised, with this code in it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _NoEnvironment:
    """A code generator that sets no pointer to a part's Python globals: without machine code there is none to set.

    Compiled code does not read it: kernels that are loaded from the cache never had one for their parts either.
    """

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to set."""
