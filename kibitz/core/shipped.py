"""Strategies that come with kibitz: artefacts in the folder kibitz/shipped, called shipped:NAME where a path is asked
for. `kibitz.bench.opponents` makes them again."""

from __future__ import annotations

import os
from pathlib import Path

from kibitz.core.errors import ArtefactError

PREFIX = "shipped:"
HOME = Path(__file__).resolve().parent.parent / "shipped"


def names() -> list[str]:
    """What is shipped, by name."""
    return sorted(path.name for path in HOME.iterdir() if path.is_dir()) if HOME.is_dir() else []


def resolved(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The folder of shipped:NAME; any other path as it is."""
    text = os.fspath(path)
    if not isinstance(text, str) or not text.startswith(PREFIX):
        return path
    name = text.removeprefix(PREFIX)
    if name not in names():
        known = ", ".join(PREFIX + each for each in names())
        raise ArtefactError(f"no strategy {name!r:.80} is shipped: choose {known}")
    return str(HOME / name)
