"""Saved artefacts that pieces of work name: a path where one is seen, and a copy in a node's cache where it is not.

A piece that plays from a saved strategy gets its name: the path, and the sha256 of the manifest, which holds those of
all arrays. Where the path leads to the same artefact, on this machine or a shared disk, it is used as it is. Elsewhere
a node asks for it once (`Absent`), writes it to <cache>/artefacts/SHA256 and maps it: one copy for all pieces on it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import ArtefactError

MANIFEST = "manifest.json"
Files = Mapping[str, NDArray[np.uint8]]


class SharedArtefact(NamedTuple):
    """An artefact by name: plain data, so that a piece can have it as an argument."""

    path: str
    sha256: str  # of the manifest


class Absent(Exception):
    """A node does not have an artefact yet."""

    def __init__(self, sha256: str) -> None:
        super().__init__(sha256)
        self.sha256 = sha256


def shared_artefact(path: str | os.PathLike[str]) -> SharedArtefact:
    """The name of an artefact on disk."""
    digest = _digest(Path(path))
    if digest is None:
        raise ArtefactError(f"no saved artefact at {path}")
    return SharedArtefact(str(Path(path).resolve()), digest)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(store.read_bytes(path / MANIFEST, store.MAX_MANIFEST)).hexdigest()
    except (OSError, ArtefactError):
        return None


# What the place where a piece is done brings from elsewhere: the files of an artefact by its sha256.
_bring: list[Callable[[str], Files | None]] = []


def brought_by(bring: Callable[[str], Files | None]) -> None:
    """How this process gets the files of artefacts that it does not see."""
    _bring[:] = [bring]


def located(artefact: SharedArtefact) -> Path:
    """Where an artefact lies on this machine; raises `Absent` if it has yet to be brought here."""
    from kibitz.core.jit import cache_home

    path = Path(artefact.path)
    if _digest(path) == artefact.sha256:
        return path
    home = cache_home() / "artefacts"
    home.mkdir(parents=True, exist_ok=True)
    copy = home / artefact.sha256
    if _digest(copy) == artefact.sha256:
        return copy
    with store.locked(home / f"{artefact.sha256}.lock"):  # pieces that begin together: one writes, the others find it
        if _digest(copy) != artefact.sha256:
            files = _bring[0](artefact.sha256) if _bring else None
            if files is None:
                raise Absent(artefact.sha256)
            _write(copy, files)
    return copy


def _write(copy: Path, files: Files) -> None:
    """The manifest last: without it there is no artefact. A name is one of the store's, or it is refused."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in sorted(files, key=lambda name: name == MANIFEST):
        if Path(name).name != name:
            raise ArtefactError(f"{name!r:.80} is not a file of an artefact")
        np.asarray(files[name]).tofile(copy / name)
    store.load(copy, mmap=True)  # every byte is what was written, or it is an ArtefactError


def made_artefact(name: str, save: Callable[[Path], None]) -> Path:
    """An artefact in the cache, to be shared: saved now unless it is there. name: says what is in it."""
    from kibitz.core.jit import cache_home

    path = cache_home() / "artefacts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if _digest(path) is None:
        save(path)
    return path


def saved_for_nodes(strategy: Any) -> Path:
    """A strategy of this process as an artefact in the cache: what has a sha256 and can be saved."""
    return made_artefact(f"{type(strategy).__name__.lower()}-{strategy.sha256[:20]}", strategy.save)


def files_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The files of an artefact as arrays of bytes, mapped."""
    folder = Path(path)
    names = sorted(file.name for file in folder.iterdir() if file.suffix == ".bin")
    mapped = {
        name: np.memmap(folder / name, np.uint8, "r") if (folder / name).stat().st_size else np.zeros(0, np.uint8)
        for name in names
    }
    return {**mapped, MANIFEST: np.fromfile(folder / MANIFEST, np.uint8)}
