"""kibitz.train: a blueprint of any game, with checkpoints, and Ctrl-C that saves.

blueprint = kibitz.train("leduc", seconds=10)
kibitz.match("leduc", blueprint, "uniform")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kibitz.core.compiling import clock
from kibitz.core.errors import ArtefactError, Interrupted, SolverError
from kibitz.core.loop import interruptible
from kibitz.core.resources import cores
from kibitz.core.store import Occupied, check_place
from kibitz.solvers.blueprint import Blueprint, Progress
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import Wanted, new_blueprint
from kibitz.solvers.run import beside
from kibitz.solvers.saved_blueprints import load_blueprint

SAVING_SHARE = 0.1  # saving takes no more of the time than this
MEMORY, FULL, EVERY = 1_000_000_000, "evict", 30.0
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}


class Saver:
    """Saves a blueprint from time to time, never over the work of another: then beside it."""

    def __init__(
        self, blueprint: Blueprint, out: Path | None, resumed: bool, every: float, tell: Callable[[str], None]
    ):
        self.blueprint, self.out, self.every, self._least = blueprint, out, every, every
        self._tell = tell
        self._failed = False  # to save, and told of
        self._last = blueprint.meta if resumed else None  # what lies at `out`, if nobody else came
        self.began = self.saved = clock()
        self.first = blueprint.progress()

    def used(self) -> float:
        return clock() - self.began

    def save_if_due(self) -> None:
        """Save if the time has come; a save that fails is told of, and training goes on."""
        started = clock()
        if self.out is None or started - self.saved < self.every:
            return
        try:
            self.save(self.out)
        except ArtefactError as error:
            if not self._failed:
                self._tell(f"the blueprint is not saved: {error}; training goes on")
            self._failed = True
        self.saved = clock()
        self.every = max(self._least, (self.saved - started) / SAVING_SHARE)

    def save(self, path: Path) -> None:
        while True:
            try:
                self.blueprint.save(path, lambda meta: meta == self._last)
                break
            except Occupied:
                taken, path = path, beside(path)
                self.out, self._last = path, None
                self._tell(f"{taken} was taken by another training meanwhile: this one is saved as {path}")
        self._last, self._failed = self.blueprint.meta, False


def train(
    game: Any = None,
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    abstraction: Any = None,
    memory: int | str = MEMORY,
    seed: int = 0,
    full: str = FULL,
    threads: int | None = None,
    base: Blueprint | str | None = None,
    part: str | int | None = None,
    seats: tuple[int, ...] | None = None,
    limit: int | None = None,
    dynamic: tuple[str, ...] = (),
    out: Any = None,
    resume: Any = None,
    every: float = EVERY,
    on_progress: Callable[[Progress], None] | None = None,
) -> Blueprint:
    """Train a blueprint of a game by MCCFR: a strategy in a table of rows, for games of any size.

    game         a name, a game, or a file of yours; not needed with `resume`
    iterations   stop after so many in all; seconds: after so many of training from now, without compiling
    abstraction  which decisions share a row: a name, or what kibitz.abstraction takes; of poker also buckets of hands:
                 "percentile(8)", or the folder of saved ones; default: the game's own choice
    memory       that the table may grow to, in bytes or as "500MB"; full: what happens then, "evict" or "refuse"
    threads      default: all cores. Only one thread gives the same bytes every time
    base, part   a graft: only the rows of a part of the game move, elsewhere the base plays (`machine.parts`); in limit
                 poker for three a static expert of what follows some betting, as "f" or "rcf", S = seats, default: all
    limit        of limit poker for three: the finest buckets with so many infosets are chosen
    dynamic      parts whose buckets are finer, as ("f", "rf"): dynamic experts
    out          a directory to save to every `every` seconds and at the end; resume: one to go on from
    on_progress  is called with a Progress a few times a second

    Ctrl-C saves what there is (if `out` is given) and raises kibitz.Interrupted, whose `profile` is the blueprint.
    """
    threads = cores() if threads is None else threads
    resumed = resume is not None
    if resume is not None:
        if abstraction is not None:
            raise SolverError("resume goes on with what was saved: leave abstraction out")
        blueprint = resumed_with(load_blueprint(resume, game=game), base)
        out = resume if out is None else out
    elif game is None:
        raise SolverError("name the game to train for, or a blueprint to go on from with resume=")
    else:
        machine = machine_of(game)
        held = load_blueprint(base, compact=True, game=machine) if isinstance(base, str | Path) else base
        if isinstance(abstraction, str) or limit is not None or dynamic or abstraction is None:
            wanted = Wanted(abstraction, bytes_of(memory), seed, full, part, seats, limit, dynamic)
            blueprint = new_blueprint(machine, wanted, held)
        else:
            blueprint = Blueprint.empty(machine, abstraction, bytes_of(memory), seed, full, base=held, part=part)
    if out is not None:
        check_place(out)
        if (Path(out) / "manifest.json").exists() and not (resumed and Path(out) == Path(resume)):
            raise ArtefactError(f"{out} holds a strategy already: go on with it by resume=, or choose another path")
    blueprint.warm_up()
    saver = Saver(blueprint, None if out is None else Path(out), resumed and out == resume, every, _warn)
    if continued(blueprint, saver, iterations, seconds, threads, on_progress):
        raise Interrupted(blueprint, saver.out, f"resume={str(saver.out)!r}")
    return blueprint


def resumed_with(blueprint: Blueprint, base: Blueprint | str | Path | None) -> Blueprint:
    """A loaded blueprint as training takes it: an expert of rows by place is saved without its base."""
    if blueprint.wants_base:
        if base is None:
            raise SolverError("an expert goes on with the base that it was trained onto: name it too (base=, --base)")
        held = base if isinstance(base, Blueprint) else load_blueprint(base, compact=True, game=blueprint.machine)
        return blueprint.rebased(held)
    if base is not None:
        raise SolverError("what goes on has its base already: leave it out")
    return blueprint


def continued(
    blueprint: Blueprint,
    saver: Saver,
    iterations: int | None,
    seconds: float | None,
    threads: int,
    on_progress: Callable[[Progress], None] | None = None,
    finish: Callable[[Path], None] | None = None,
) -> bool:
    """Train on and save; returns whether Ctrl-C stopped it. finish: saves at the end instead of `saver.save`."""
    with interruptible() as stopped:

        def look(now: Progress) -> bool:
            if on_progress is not None:
                on_progress(now)
            if not stopped.is_set():
                saver.save_if_due()
            return stopped.is_set()

        blueprint.train(iterations, seconds, threads, look)
        if saver.out is not None:
            (finish or saver.save)(saver.out)
    return stopped.is_set()


def bytes_of(size: int | str) -> int:
    """A size such as 500MB, 1.5 GB or 2GiB in bytes."""
    import re

    if isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMG]I?|)B\s*", size.upper())
    if not found:
        raise SolverError(f"memory={size!r} should be a number with its unit, KB, MB or GB: 500MB, 2GB")
    return int(float(found[1]) * UNITS[found[2]])


def _warn(said: str) -> None:
    import warnings

    from kibitz.core.errors import RunWarning

    warnings.warn(said, RunWarning, stacklevel=3)
