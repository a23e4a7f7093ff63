"""Answers of long computations, kept in a folder: what was solved is not solved again, and what was stopped goes on."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kibitz.core.errors import GameError
from kibitz.forms.profile import Profile
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve_through


def solved(form: Any, solver: str, keep: Path | None, **options: Any) -> Profile | None:
    """The answer of a form: from its file, or solved now and kept there; None while another process solves it."""
    if keep is None:
        return solve_through(form, solver, **options)
    path, checkpoint = keep.with_name(f"{keep.name}.profile"), keep.with_name(f"{keep.name}.checkpoint")
    with taken(keep.with_name(f"{keep.name}.lock")) as mine:
        if not mine:
            return None
        if path.exists():
            saved = Profile.load(path)
            if saved.meta.get("tree") != form.tree_digest:
                raise GameError(f"{path} was made of another base, or in other buckets: choose another folder")
            if int(saved.meta.get("iterations", 0)) >= (options.get("iterations") or 0):
                return Profile(form.infosets, saved.probabilities, saved.meta)  # else the checkpoint goes on
        resume = (checkpoint / "manifest.json").exists()
        run = RunOptions(checkpoint, every=120.0, resume=resume, progress=False)
        answer = solve_through(form, solver, run=run, **options)
        answer.save(path)
    return answer


@contextlib.contextmanager
def taken(path: Path) -> Iterator[bool]:
    """Whether this process has a lock file; it goes with the process, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
