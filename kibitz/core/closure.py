"""Which source files a compiled function depends on: the import closure of the module that it stands in.

Compiled code holds everything that its function reads by name: functions and constants of its own module, of the
modules that this one imports, and so on. So a cached function is valid for one digest of those sources. Editing one
kernel changes the digests of the modules that import it and of no others. The folder of the checkout is not part of it.

Imports are found in the text, which takes microseconds a file where parsing takes milliseconds: every `import` counts,
also one in a string, for a module too many costs a compilation and one too few would cost correctness. In kibitz itself
only imports at the margin count, since kernels cannot use others (tests/core/test_kernels.py). The closure ends at the
standard library and at installed packages; the versions of those that compile are part of the cache directory's name.
A module that is imported by a name made at run time is not seen.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

PACKAGE = __name__.partition(".")[0]
ROOT = Path(__file__).resolve().parents[1]
_REGISTERED: dict[type, set[ModuleSource]] = {}  # of a class, the modules whose functions stubs pick by it

_CONTINUED = re.compile(r"\\\r?\n")  # and statements after a semicolon are lines too
_IMPORT = re.compile(
    r"^(?P<margin>[^\n#]*?)\b(?:from[ \t]+(?P<source>[.\w]+)[ \t]+)?import\b[ \t]*(?P<names>\([^)]*\)|[^\n#]+)", re.M
)
_NAME = re.compile(r"(?:^|[,(\s])([.\w]+)(?:[ \t]+as[ \t]+\w+)?")


class ModuleSource(NamedTuple):
    """A module that is read: its name, and its file."""

    name: str
    file: str

    @property
    def package(self) -> str:
        """What relative imports in it are relative to."""
        return self.name if os.path.basename(self.file) == "__init__.py" else self.name.rpartition(".")[0]


def source_of(function: Callable[..., Any]) -> ModuleSource | None:
    """The module that a function stands in; None for one that was typed in and has no file."""
    file = function.__code__.co_filename
    return ModuleSource(function.__module__, file) if os.path.isfile(file) else None


def source_of_class(kind: type) -> ModuleSource | None:
    """The module of a class."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return ModuleSource(kind.__module__, file) if file and os.path.isfile(file) else None


def register(kind: type, function: Callable[..., Any]) -> None:
    """Code that is compiled for a class calls this function too, though its module does not import it."""
    source = source_of(getattr(function, "py_func", function))
    if source is not None:
        _REGISTERED.setdefault(kind, set()).add(source)


def sources_of_types(types: Iterable[Any]) -> set[ModuleSource]:
    """The modules of the NamedTuples in a signature, and of the functions that are picked by them."""
    sources: set[ModuleSource] = set()
    waiting, seen = list(types), set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        kind = getattr(each, "instance_class", None)
        if isinstance(kind, type):
            sources |= {source for source in (source_of_class(kind),) if source} | _REGISTERED.get(kind, set())
        waiting += list(getattr(each, "types", ()))  # of tuples
        waiting += [inner for name in ("dtype", "type") if (inner := getattr(each, name, None)) is not None]
    return sources


def digest(sources: Iterable[ModuleSource]) -> str:
    """A digest of the sources of some modules and of all that they import."""
    texts: dict[str, bytes] = {}
    for source in sources:
        texts.update(_texts(source))
    content = hashlib.sha256()
    for name, text in sorted(texts.items()):
        content.update(name.encode() + b"\0" + text)
    return content.hexdigest()[:16]


def closure(source: ModuleSource) -> list[str]:
    """The names of the modules that one depends on, itself among them."""
    return sorted(_texts(source))


def _texts(source: ModuleSource) -> dict[str, bytes]:
    """The digest of each source in a module's import closure, by the name that it is imported by."""
    return _texts_here(source) if _is_ours(source) else _gather(source)


@lru_cache(None)  # a process reads kibitz once; a user's file may be edited and run again
def _texts_here(source: ModuleSource) -> dict[str, bytes]:
    return _gather(source)


def _gather(first: ModuleSource) -> dict[str, bytes]:
    texts: dict[str, bytes] = {}
    waiting = [first]
    while waiting:
        source = waiting.pop()
        if source.name in texts:
            continue
        text, imports = _read_here(source) if _is_ours(source) else _read(source)
        texts[source.name] = text
        waiting += imports
    return texts


@lru_cache(None)
def _read_here(source: ModuleSource) -> tuple[bytes, list[ModuleSource]]:
    return _read(source)


def _read(source: ModuleSource) -> tuple[bytes, list[ModuleSource]]:
    """A module's digest, and what it imports."""
    content = Path(source.file).read_bytes()
    names = imported(content.decode(errors="replace"), source.package, indented=not _is_ours(source))
    followed = (_located(name) for name in dict.fromkeys(names))
    return hashlib.sha256(content).digest(), [each for each in followed if each is not None and each != source]


def imported(text: str, package: str, indented: bool = True) -> Iterator[str]:
    """The full names of the modules that a source may import: of `from a import b`, both a and a.b."""
    for match in _IMPORT.finditer(_CONTINUED.sub(" ", text).replace(";", "\n")):
        if not indented and match["margin"]:
            continue
        names = _NAME.findall(re.sub(r"#[^\n]*", "", match["names"]))
        if match["source"] is None:
            yield from names
            continue
        source = _absolute(match["source"], package)
        if source:
            yield source
            yield from (f"{source}.{name}" for name in names)


def _absolute(name: str, package: str) -> str:
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:  # more dots than packages: no module
        return ""


def _located(name: str) -> ModuleSource | None:
    """The module of a name, if there is one and its sources count."""
    top, *rest = name.split(".")
    if top in sys.stdlib_module_names:
        return None
    if top == PACKAGE:
        return _below(ROOT, name, rest)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return _loaded(name, loaded)
    base = sys.modules.get(top) or _found(top)
    paths = getattr(base, "__path__", None) or getattr(base, "submodule_search_locations", None) or []
    if rest:
        source = next((each for path in paths if (each := _below(Path(path), name, rest))), None)
    else:
        source = ModuleSource(name, str(base.origin)) if base is not None and getattr(base, "origin", None) else None
    return source if source is not None and _counts(source.file) else None


def _found(top: str) -> object | None:
    try:
        return importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None


def _loaded(name: str, module: ModuleType) -> ModuleSource | None:
    file = getattr(module, "__file__", None)
    return ModuleSource(name, file) if file and _counts(file) else None


def _below(folder: Path, name: str, rest: list[str]) -> ModuleSource | None:
    """A module of a package by its path, without importing the packages above it."""
    path = folder.joinpath(*rest)
    for file in (path / "__init__.py", path.with_name(path.name + ".py")) if rest else (path / "__init__.py",):
        if file.is_file():
            return ModuleSource(name, str(file))
    return None


def _counts(file: str) -> bool:
    """Whether a file is somebody's own: Python, and not of an installed package."""
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return file.endswith(".py") and not installed and os.path.isfile(file)


def _is_ours(source: ModuleSource) -> bool:
    return source.name.partition(".")[0] == PACKAGE
