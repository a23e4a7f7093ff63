"""Stages of a long computation, kept on disk as artefacts: who was killed goes on from the last one that was done."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.core import store
from kibitz.core.errors import ArtefactError

KIND = "stage"
Arrays = dict[str, NDArray[Any]]


class Stages:
    """Named results in a folder of their own; without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None, name: str = "") -> None:
        self.folder, self.name = folder, name

    def read(self, stage: str) -> tuple[Arrays, dict[str, Any]] | None:
        """What a stage held, if it was done and every byte is what was written."""
        if self.folder is None:
            return None
        try:
            artefact = store.load(self.folder / stage, KIND)
        except ArtefactError:
            return None
        facts = artefact.meta.get("facts")
        return (artefact.arrays, facts) if artefact.meta.get("of") == self.name and isinstance(facts, dict) else None

    def write(self, stage: str, arrays: Arrays, facts: dict[str, Any]) -> None:
        if self.folder is not None:
            assert re.fullmatch(r"[a-z0-9-]+", stage)
            self.folder.mkdir(parents=True, exist_ok=True)
            store.save(self.folder / stage, KIND, {k: np.ascontiguousarray(a) for k, a in arrays.items()},
                       {"of": self.name, "facts": facts})  # fmt: skip

    def clear(self) -> None:
        """Remove all of them, once the whole is kept elsewhere."""
        if self.folder is not None and self.folder.is_dir() and not self.folder.is_symlink():
            shutil.rmtree(self.folder)
