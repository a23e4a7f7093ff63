"""Stages of a long experiment, and a ledger of their results: one small JSON file, written after every step.

A stage is a list of runs (`kibitz.papers.runs`) that one command goes through until its time is over. The same command
again goes on with the steps that are missing. Unlike those on a shelf, results of a ledger are used on every machine
and by later versions, because a page may be made far from the GPU; each says what made it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kibitz
from kibitz.core import store
from kibitz.core.errors import ArtefactError
from kibitz.papers.runs import LARGEST, Run, Shelf, made_by, plain, version_of
from kibitz.poker.bucketed.device import ROUNDING

RESULTS = "docs/large"  # of sessions so far
COMMIT = "KIBITZ_COMMIT"  # in the environment: of the sources, where they are without their history
PACKAGES = ("numpy", "numba", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")


@dataclass(frozen=True)
class Stage:
    """Steps that one command goes through."""

    name: str
    about: str
    runs: tuple[Run, ...]
    needs: Callable[[Run, int], float] = lambda run, piece: 0.0  # seconds of a piece on one H200, about

    def steps(self) -> Iterator[tuple[Run, tuple[Any, ...], float]]:
        """(run, arguments, seconds on one H200)"""
        for run in self.runs:
            for k, piece in enumerate(run.pieces):
                yield run, piece, self.needs(run, k)

    @property
    def expected(self) -> float:
        """Seconds of the whole on one H200, about."""
        return sum(needs for *_, needs in self.steps())


@cache
def origin(device: str) -> dict[str, str]:
    """What figures of this process come from."""
    versions = {name: version_of(name) for name in PACKAGES if version_of(name)}
    return {
        "device": device, "architecture": platform.machine(), "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}", "python": platform.python_version(),
        "kibitz": kibitz.__version__, "commit": _commit(), "sources": made_by()[:16], **versions,
        **({ROUNDING: os.environ[ROUNDING]} if ROUNDING in os.environ else {}),
    }  # fmt: skip


def _commit() -> str:
    if os.environ.get(COMMIT):
        return os.environ[COMMIT]
    home = Path(kibitz.__file__).parent.parent
    try:
        answer = subprocess.run(
            ["git", "-C", str(home), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


class Ledger(Shelf):
    """The results of steps in one file. known: other ledgers whose results are not computed again; work: the folder of
    checkpoints, which is another on each machine, so that it is not written down; also: a folder for a second copy."""

    def __init__(
        self, path: Path, made_on: Mapping[str, str] | None = None, known: Iterable[Path] = (), work: str = "",
        also: Path | None = None,
    ) -> None:  # fmt: skip
        super().__init__(path.parent)
        self.path, self.made_on, self.work, self.also = path, dict(made_on or {}), work, also
        self.entries = entries_of(path) if path.exists() else []
        self.others = [entry for other in known if other != path for entry in entries_of(other)]

    def find(self, run: Run, piece: tuple[Any, ...]) -> list[Any]:
        wanted = self._named(piece)
        for entry in (*self.entries, *self.others):
            if entry["run"] == run.name and entry["arguments"] == wanted:
                self.read += 1
                return [entry["answer"]]
        return []

    def keep(self, run: Run, piece: tuple[Any, ...], answer: Any, seconds: float) -> None:
        """Write the file anew, at one moment. A disk that is full ends the stage: figures that are lost are no use."""
        self.done += 1
        self.entries.append({"run": run.name, "arguments": self._named(piece), "answer": answer, "seconds": seconds,
                             "when": time.strftime("%Y-%m-%d %H:%M:%S"), "by": self.made_on})  # fmt: skip
        self.write()

    def write(self) -> None:
        text = json.dumps(self.entries, indent=1, allow_nan=False) + "\n"
        for path in (self.path, *([self.also / self.path.name] if self.also is not None else [])):
            store.write_text(path, text)

    def _named(self, piece: tuple[Any, ...]) -> list[Any]:
        def without(each: Any) -> Any:
            inside = bool(self.work) and isinstance(each, str) and each.startswith(self.work)
            return f"work{each[len(self.work) :]}" if inside else each

        return [without(each) for each in plain(piece)]


def entries_of(path: Path) -> list[dict[str, Any]]:
    """The results in a ledger."""
    try:
        entries = json.loads(store.read_bytes(path, LARGEST))
        whole = all({"run", "arguments", "answer", "seconds", "by"} <= entry.keys() for entry in entries)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ArtefactError(f"{path} is not a file of results ({error}): remove it, or give another folder") from None
    if not whole:
        raise ArtefactError(f"{path} is not a file of results: remove it, or give another folder")
    return list(entries)


def ledgers_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def results_in(
    folder: Path, wanted: Callable[[dict[str, Any]], bool] = lambda entry: True
) -> dict[str, list[dict[str, Any]]]:
    """By name of a run, the answers of all ledgers of a folder, each with its seconds and what made it."""
    answers: dict[str, list[dict[str, Any]]] = {}
    for path in ledgers_in(folder):
        for entry in filter(wanted, entries_of(path)):
            answers.setdefault(entry["run"], []).append(
                {**entry["answer"], "step_seconds": entry["seconds"], "by": entry["by"]}
            )
    return answers


def go_through(
    stage: Stage, ledger: Ledger, seconds: float | None = None, tell: Callable[[str], None] = lambda text: None,
) -> bool:  # fmt: skip
    """Do the missing steps of a stage; returns whether all are done. seconds: no step is begun that would not end
    before; the first missing step is begun in any case, so that each command gets further. A step that prepares others
    is done again where one of these is missing, or the stage has no others: it is quick if this machine has its work.
    """
    began, first = time.perf_counter(), True
    steps = list(stage.steps())
    known = [bool(ledger.find(run, piece)) for run, piece, _ in steps]
    alone = all(run.prepares for run, *_ in steps)
    for k, (run, piece, needs) in enumerate(steps):
        wanted = run.prepares and (alone or not all(known[k + 1 :]))
        if known[k] and not wanted:
            continue
        used = time.perf_counter() - began
        if seconds is not None and not first and used + needs > seconds:
            tell(f"{stage.name}: stopped after {used:.0f} s, before {run.name} {_short(piece)}; run it again to go on")
            return False
        mark = time.perf_counter()
        answer = plain(run.work(*piece))
        if not known[k]:
            ledger.keep(run, piece, answer, time.perf_counter() - mark)
        tell(f"{stage.name}: {run.name} {_short(piece)}: {time.perf_counter() - mark:.1f} s")
        first = False
    return True


def _short(piece: Sequence[Any]) -> str:
    return " ".join(str(each) for each in piece[:3])
