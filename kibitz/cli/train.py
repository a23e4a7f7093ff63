"""kibitz train: learn a blueprint of a game too large for a tree, watch it, save it, stop it and go on."""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import INTERRUPTED, Json, check_artefact, console, note, print_json, save_or_rescue, say
from kibitz.cli.options import checked, number
from kibitz.cli.watch import Watch
from kibitz.errors import ArtefactError, SolverError

if TYPE_CHECKING:
    from kibitz.solvers.blueprint import Blueprint, Progress

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
SAVING_SHARE = 0.1  # saving takes no more of the time than this
ABSTRACTION, MEMORY, FULL, EVERY = "outlook", "1GB", "evict", 30.0


@dataclass(frozen=True)
class Order:
    """What was asked for; the game and its settings are in the blueprint."""

    iterations: int | None
    seconds: float | None
    threads: int
    every: float
    out: Path


def train(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="toepen, or a smaller one such as 'toepen(suits=3, ranks=3, hand=3)'. With --resume it may be "
            "left out.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Keep the blueprint here, such as toepen.blueprint."),
    ] = None,
    seconds: Annotated[
        float | None, number("--seconds", metavar="S", help="Stop after so many seconds from now.")
    ] = None,
    iterations: Annotated[
        int | None, number("--iterations", metavar="N", help="Stop after so many iterations, in all.")
    ] = None,
    abstraction: Annotated[
        str | None,
        typer.Option(
            "--abstraction",
            metavar="NAME",
            help="Which decisions share a row: outlook merges most; maximal, isomorphic and null merge "
            f"nothing that matters. Default: {ABSTRACTION}.",
        ),
    ] = None,
    strength: Annotated[
        Path | None,
        typer.Option(
            "--strength",
            metavar="DIR",
            help="For --abstraction strength and strength-history: the blueprint whose play says what hands are worth.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help=f"Memory for the table of rows, set aside at once: 500MB, 2GB. Default: {MEMORY}.",
        ),
    ] = None,
    full: Annotated[
        str | None,
        typer.Option(
            "--full",
            metavar="HOW",
            help="When a new row finds no place: evict (the one visited least of its neighbours goes) or refuse (the "
            f"new one is not kept and plays uniformly). Default: {FULL}.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        number(
            "--threads",
            metavar="N",
            help="Cores to use. Only one thread gives the same bytes every time. Default: all cores.",
        ),
    ] = None,
    seed: Annotated[int | None, number("--seed", metavar="N", help="For the deals and draws. Default: 0.")] = None,
    every: Annotated[
        float,
        number(
            "--checkpoint-every",
            metavar="SECONDS",
            help="Time between saves; longer if saving itself would take over a tenth of the time.",
        ),
    ] = EVERY,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIR", help="Go on from a blueprint, and keep it up to date (or --out)."),
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing, except what is wrong.")] = False,
) -> None:
    """Train a blueprint: a strategy of a game that is too large to lay out, in a table of a fixed size.

    Random deals are walked by MCCFR with external sampling; what is learned at a decision goes into the row that
    the abstraction gives it. The blueprint at --out is saved from time to time and at the end, and it is all that
    is needed to go on. Ctrl-C saves it too and prints the command that goes on. A game that is small enough to be
    laid out is better solved by `kibitz solve`, which knows how far it is from the end.

    \b
    Examples:
      kibitz train toepen --seconds 600 --out toepen.blueprint
      kibitz train --resume toepen.blueprint --seconds 600
      kibitz train toepen --abstraction maximal --memory 4GB --seconds 3600 --out fine.blueprint
      kibitz train toepen --abstraction strength-history --strength toepen.blueprint --seconds 600 --out s.blueprint
      kibitz train 'toepen(suits=3, ranks=3)' --memory 50MB --iterations 100000 --threads 1 --out b
    """
    order = Order(iterations, seconds, _threads(threads), every, _out(out, resume))
    _check(order, resume)
    shown = not (json or quiet)
    with Watch(shown) as watch:
        watch.phase("compiling: the first use takes a while, the next ones do not")
        if resume is None:
            blueprint = _new(game, abstraction, strength, memory, full, seed)
        else:
            if strength is not None:
                raise SolverError(f"{resume} has its buckets of hands already: leave --strength out")
            blueprint = _resumed(resume, game, abstraction, memory, full, seed)
        _warm_up()
        first = blueprint.iteration
        stopped, order = _run(order, blueprint, watch, resume)
    if json:
        print_json(as_data(order, blueprint, stopped))
    elif not quiet:
        _print(order, blueprint, stopped, first)
    elif stopped:
        say(f"stopped; go on with: {continuation(order)}")
    if stopped:
        raise typer.Exit(INTERRUPTED)


# Before


def bytes_of(text: str) -> int:
    """A size such as 500MB, 1.5 GB or 2GiB in bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMG]I?|)B\s*", text.upper())
    if not match:
        raise SolverError(f"--memory {text!r} should be a number with its unit, KB, MB or GB: 500MB, 2GB")
    return int(checked("--memory", float(match[1]) * UNITS[match[2]]))


def _threads(threads: int | None) -> int:
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _out(out: Path | None, resume: Path | None) -> Path:
    path = out or resume
    if path is None:
        raise SolverError("say where the blueprint goes, such as --out toepen.blueprint")
    return path


def _check(order: Order, resume: Path | None) -> None:
    """Refuse what would fail after the work is done."""
    from kibitz.solvers.blueprint import MOST_THREADS

    if order.iterations is None and order.seconds is None:
        raise SolverError("say when to stop: --seconds 600, or --iterations 100000")
    if not 1 <= order.threads <= MOST_THREADS:
        raise SolverError(f"--threads {order.threads} should be from 1 to {MOST_THREADS}")
    check_artefact(order.out, "--out", "blueprint")
    if order.out != resume and (order.out / "manifest.json").exists():
        raise ArtefactError(
            f"--out {order.out} holds a blueprint already: go on with it by `kibitz train --resume "
            f"{shlex.quote(str(order.out))}`, or choose another path"
        )


def _new(
    game: str | None,
    abstraction: str | None,
    strength: Path | None,
    memory: str | None,
    full: str | None,
    seed: int | None,
) -> Blueprint:
    from kibitz.solvers.blueprint import Blueprint

    if game is None:
        raise SolverError("name the GAME to train for, such as toepen, or a blueprint to go on from with --resume")
    bucket = _buckets(game, abstraction or ABSTRACTION, strength)
    room = bytes_of(memory or MEMORY)
    return Blueprint.empty(game, abstraction or ABSTRACTION, room, seed or 0, full or FULL, bucket)


def _buckets(game: str, abstraction: str, strength: Path | None) -> Any:
    """Buckets of hands, for the abstractions that have them."""
    from kibitz.solvers.blueprint import Blueprint, toepen_of

    wanted = abstraction.startswith("strength")
    if wanted and strength is None:
        raise SolverError(
            f"--abstraction {abstraction} needs a solved strategy that says what hands are worth: train one, such as "
            "`kibitz train toepen --seconds 120 --out solved`, and name it with --strength solved"
        )
    if strength is None:
        return None
    if not wanted:
        raise SolverError(f"--strength goes with --abstraction strength or strength-history, not with {abstraction}")
    from kibitz.solvers.strength import strength_buckets

    solved = Blueprint.load(strength, compact=True)
    if solved.game != toepen_of(game):
        raise ArtefactError(f"{strength} is a blueprint of {solved.game.spec}, not of {toepen_of(game).spec}")
    return strength_buckets(solved)


def _resumed(
    path: Path, game: str | None, abstraction: str | None, memory: str | None, full: str | None, seed: int | None
) -> Blueprint:
    """The blueprint to go on from; what is said beside it has to agree."""
    from kibitz.solvers.blueprint import Blueprint, rows_in, toepen_of

    held = Blueprint.load(path)
    said = [
        ("GAME", None if game is None else toepen_of(game).spec, held.game.spec),
        ("--abstraction", abstraction, held.abstraction),
        ("--full", full, held.full),
        ("--seed", seed, held.seed),
    ]
    for name, given, has in said:
        if given is not None and given != has:
            raise ArtefactError(f"{path} was trained with {name} {has}, not {given}: leave {name} out, or start anew")
    if memory is not None and rows_in(bytes_of(memory)) != held.capacity:
        raise ArtefactError(f"{path} has a table of {held.capacity:,} rows, whose size stays: leave --memory out")
    return held


def _warm_up() -> None:
    from kibitz.solvers.blueprint import warm_up

    warm_up()


# During


def _run(order: Order, blueprint: Blueprint, watch: Watch, resume: Path | None) -> tuple[bool, Order]:
    """Train and save; returns whether Ctrl-C stopped it, and the order with the seconds that are left."""
    from kibitz.run import interruptible

    clock = _Clock(order, blueprint, resume)
    with interruptible() as stopped:

        def look(now: Progress) -> bool:
            watch.phase(clock.line(now))
            if not stopped.is_set():
                clock.save(if_due=True)
            return stopped.is_set()

        if order.iterations is None or blueprint.iteration < order.iterations:
            blueprint.train(order.iterations, order.seconds, order.threads, look)
        watch.phase(f"saving {order.out}")
        clock.finish()
    order = replace(order, out=clock.out)
    done = order.iterations is not None and blueprint.iteration >= order.iterations
    left = None if order.seconds is None else order.seconds - clock.used()
    interrupted = stopped.is_set() and not done and (left is None or left > 0)
    return interrupted, replace(order, seconds=left if interrupted else order.seconds)


class _Clock:
    """When to save, and what to say of speed and time."""

    def __init__(self, order: Order, blueprint: Blueprint, resume: Path | None) -> None:
        self.order, self.blueprint, self.out = order, blueprint, order.out
        self._failed = False  # to save, and told of
        self._last = blueprint.meta if order.out == resume else None  # what lies at `out`, if nobody else came
        self.began = self.saved = time.perf_counter()
        self.first = blueprint.progress()
        self.every = order.every

    def used(self) -> float:
        return time.perf_counter() - self.began

    def save(self, if_due: bool = False) -> None:
        started = time.perf_counter()
        if if_due and started - self.saved < self.every:
            return
        try:
            self._save(self.out)
        except ArtefactError as error:
            if not if_due:
                raise
            if not self._failed:
                note(f"the blueprint is not saved: {error}; training goes on")
            self._failed = True
        self.saved = time.perf_counter()
        self.every = max(self.order.every, (self.saved - started) / SAVING_SHARE)

    def finish(self) -> None:
        """Save what there is, elsewhere if need be."""
        save_or_rescue(self._save, self.out)

    def _save(self, path: Path) -> None:
        """Save, never over the work of another: then beside it."""
        from kibitz.run import beside
        from kibitz.store import Occupied

        while True:
            try:
                self.blueprint.save(path, lambda meta: meta == self._last)
                break
            except Occupied:
                taken, path = path, beside(path)
                self.out, self._last = path, None
                note(f"{taken} was taken by another training meanwhile: this one is saved as {path}")
        self._last, self._failed = self.blueprint.meta, False

    def line(self, now: Progress) -> str:
        from kibitz.report.text import duration

        order, spent = self.order, max(now.seconds - self.first.seconds, 1e-9)
        rate = (now.visited - self.first.visited) / spent
        lost = f"{now.refused:,} refused" if self.blueprint.full == "refuse" else f"{now.evicted:,} evicted"
        said = [
            f"training {self.blueprint.game.spec}: iteration {now.iteration:,}", f"{rate:,.0f} decisions/s",
            f"{now.rows:,} of {self.blueprint.capacity:,} rows", lost,
        ]  # fmt: skip
        left = [] if order.seconds is None else [order.seconds - self.used()]
        done = now.iteration - self.first.iteration
        if order.iterations is not None and done > 0:
            left.append((order.iterations - now.iteration) * spent / done)
        if left:
            said.append(f"about {duration(max(0.0, min(left)))} left")
        return ", ".join(said)


# After


def continuation(order: Order) -> str:
    """The command that goes on with an interrupted training."""
    words = ["kibitz", "train", "--resume", str(order.out), "--threads", str(order.threads)]
    if order.iterations is not None:
        words += ["--iterations", str(order.iterations)]
    if order.seconds is not None:
        words += ["--seconds", f"{order.seconds:.0f}" if order.seconds >= 1 else f"{order.seconds:.2g}"]
    if order.every != EVERY:
        words += ["--checkpoint-every", f"{order.every:g}"]
    return shlex.join(words)


def as_data(order: Order, blueprint: Blueprint, stopped: bool) -> dict[str, Any]:
    """How training went, as plain data; sums are over all of it, from before a resume too."""
    now = blueprint.progress()
    return {
        "game": blueprint.game.spec,
        "abstraction": blueprint.abstraction,
        "seed": blueprint.seed,
        "full": blueprint.full,
        "threads": order.threads,
        "iterations": now.iteration,
        "seconds": now.seconds,
        "visited": now.visited,
        "visited_per_second": now.visited / now.seconds if now.seconds > 0 else 0.0,
        "rows": now.rows,
        "capacity": blueprint.capacity,
        "bytes": blueprint.table.key.nbytes + blueprint.table.value.nbytes,
        "evicted": now.evicted,
        "refused": now.refused,
        "sha256": blueprint.sha256,
        "out": str(order.out),
        "interrupted": stopped,
        "continue": continuation(order) if stopped else None,
    }


def _print(order: Order, blueprint: Blueprint, stopped: bool, first: int) -> None:
    from kibitz.report.text import duration, pairs, plain, size

    out, now = console(), blueprint.progress()
    out.print(
        f"{plain(blueprint.game.spec)} by {blueprint.abstraction}: {now.iteration:,} iterations, "
        f"{duration(now.seconds)}",
        style="bold",
        markup=False,
    )
    rate = now.visited / now.seconds if now.seconds > 0 else 0.0
    bytes_used = blueprint.table.key.nbytes + blueprint.table.value.nbytes
    rows = f"{now.rows:,} of {blueprint.capacity:,} ({size(bytes_used)})"
    rows += f"; {now.evicted:,} gave way to others" if now.evicted else ""
    rows += f"; new ones were refused {now.refused:,} times" if now.refused else ""
    out.print(pairs([
        ("decisions", f"{now.visited:,} visited, {rate:,.0f} a second"), ("rows", rows), ("blueprint", str(order.out)),
    ]))  # fmt: skip
    if now.iteration == first:
        typer.echo("It was there already: --iterations or --seconds take it further.")
    if stopped:
        typer.echo(f"Stopped before its end. Go on with:\n  {plain(continuation(order))}")
    else:
        typer.echo(f"Train it further: kibitz train --resume {plain(shlex.quote(str(order.out)))} --seconds 600")
