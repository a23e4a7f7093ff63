"""kibitz train: learn a blueprint of any game, watch it, save it, stop it and go on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import (
    INTERRUPTED,
    Json,
    check_artefact,
    console,
    named_again,
    note,
    print_json,
    save_or_rescue,
    telling,
)
from kibitz.cli.options import checked, counted, number
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import ArtefactError, SolverError

if TYPE_CHECKING:
    from kibitz.solvers.blueprint import Blueprint, Progress
    from kibitz.solvers.new_blueprints import Wanted
    from kibitz.solvers.training import Saver

MEMORY, FULL, EVERY = "1GB", "evict", 30.0
TRIED = 500  # iterations that an estimate of the speed is taken from


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
            help="leduc, rhode_island, toepen, liars_dice, my.game, my_game.py:Class ... With --resume it may be left "
            "out.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Save the blueprint here, such as leduc.blueprint."),
    ] = None,
    seconds: Annotated[
        float | None,
        number("--seconds", metavar="S", help="Stop after so many seconds of training from now; compiling is extra."),
    ] = None,
    iterations: Annotated[
        int | None, number("--iterations", metavar="N", help="Stop after so many iterations, in all.")
    ] = None,
    abstraction: Annotated[
        str | None,
        typer.Option(
            "--abstraction",
            metavar="NAME",
            help="Which decisions share a row: null (each infoset has its own), or a name of the game's; an unknown "
            "name lists them. Poker also takes buckets of hands, as 'percentile(8)' or 'percentile(8, recall=false)', "
            "or the folder where some were saved. Default: the game's own choice (toepen: outlook; poker: isomorphic; "
            "else null).",
        ),
    ] = None,
    strength: Annotated[
        Path | None,
        typer.Option(
            "--strength",
            metavar="DIR",
            help="toepen, for --abstraction strength and strength-history: the blueprint whose play says what hands "
            "are worth.",
        ),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base",
            metavar="DIR",
            help="Graft: a blueprint that plays outside --part, while only the rows of the part are trained.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="NAME",
            help="The part to train, such as 'trick 3' or 'round 2'; an unknown name lists them. In limit poker for "
            "three: the betting that it follows, such as f, rf or rcf.",
        ),
    ] = None,
    seats: Annotated[
        str | None,
        typer.Option(
            "--seats",
            metavar="SEATS",
            help="Limit poker for three, with --base: the seats that the base plays outside --part, such as 0 or 0,2, "
            "while the others learn there too. Default: all.",
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="Limit poker for three: choose the finest percentile buckets that have at most so many infosets, "
            "such as 162M.",
        ),
    ] = None,
    dynamic: Annotated[
        str | None,
        typer.Option(
            "--dynamic",
            metavar="PARTS",
            help="Limit poker for three, with --limit: dynamic experts, parts whose buckets are finer, such as "
            "f,rf,rrf,rcf.",
        ),
    ] = None,
    sampling: Annotated[
        str | None,
        typer.Option(
            "--sampling",
            metavar="KIND",
            help="Limit poker for three, within buckets: external (chance and the others are drawn), or chance (all "
            "actions are gone through). Default: external.",
        ),
    ] = None,
    prune: Annotated[
        float | None,
        number(
            "--prune",
            metavar="CHIPS",
            help="Limit poker for three, within buckets: pass over actions whose regret is further below zero, in "
            "most iterations.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help=f"Memory that the table of rows may grow to: 500MB, 2GB. Default: {MEMORY}.",
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
    """Train a blueprint by Monte Carlo CFR: a strategy in a table of rows, for games of any size.

    Games with compiled rules (toepen, poker) are sampled by these; other games on their tree, or, where that does not
    fit into memory, by their rules in Python, slowly. The blueprint at --out is saved from time to time and at the
    end. Ctrl-C saves it too and prints the command that goes on. A small game is better solved by `kibitz solve`,
    which knows its exploitability.

    \b
    Examples:
      kibitz train leduc --seconds 10 --out leduc.blueprint
      kibitz train toepen --seconds 600 --out toepen.blueprint
      kibitz train --resume toepen.blueprint --seconds 600
      kibitz train rhode_island --abstraction 'percentile(6)' --seconds 60 --out ri.blueprint
      kibitz train toepen --abstraction maximal --memory 4GB --seconds 3600 --out fine.blueprint
      kibitz train toepen --abstraction strength-history --strength toepen.blueprint --seconds 600 --out s.blueprint
      kibitz train toepen --base toepen.blueprint --part 'trick 1' --abstraction maximal --seconds 600 --out g.blueprint
      kibitz train 'toepen(suits=3, ranks=3)' --memory 50MB --iterations 100000 --threads 1 --out b
      kibitz train holdem.limit.3p --limit 162M --seconds 1200 --out h3.blueprint
      kibitz train holdem.limit.3p --base h3.blueprint --part f --limit 20M --seconds 300 --out f.blueprint
      kibitz train holdem.limit.3p --limit 162M --dynamic f,rf,rrf,rcf --seconds 1200 --out dynamic.blueprint
    """
    from kibitz.poker.blueprints.placed_rows import is_placed

    order = Order(iterations, seconds, _threads(threads), every, _out(out, resume))
    _check(order, resume)
    shown = not (json or quiet)
    with Watch(shown) as watch:
        from kibitz.cards.tables import told_by

        watch.phase(
            "reading the game, and making buckets of hands if it has some (hold'em: two or three minutes, once)"
        )
        if resume is None:
            wanted = _wanted(abstraction, memory, full, seed, part, seats, limit, dynamic, sampling, prune)
            with told_by(telling(watch)):
                blueprint = _new(game, wanted, strength, base)
        else:
            if strength is not None:
                raise SolverError(f"{resume} has its buckets of hands already: leave --strength out")
            given = {"--part": part, "--seats": seats, "--limit": limit, "--dynamic": dynamic, "--sampling": sampling,
                     "--prune": prune}  # fmt: skip
            if any(given.values()):
                names = " and ".join(name for name, value in given.items() if value)
                raise SolverError(f"{resume} goes on with what it learns already: leave {names} out")
            blueprint = _resumed(resume, game, abstraction, memory, full, seed, base)
        watch.phase("loading compiled code")
        if not blueprint.machine.compiled:
            note(f"{blueprint.machine.spec} is walked by its rules in Python: some thousand decisions a second")
        if is_placed(blueprint) and shown:
            watch.phase("")
            say(sizes(blueprint))
            watch.phase("loading compiled code")
        blueprint.warm_up()
        first = blueprint.iteration
        if is_placed(blueprint) and shown and not first:
            say(tried(blueprint, order))
        stopped, order = _run(order, blueprint, watch, resume)
    if json:
        print_json(as_data(order, blueprint, stopped))
    elif not quiet:
        _print(order, blueprint, stopped, first)
    elif stopped:
        say(f"stopped; go on with: {continuation(order, blueprint.machine.spec)}")
    if stopped:
        raise typer.Exit(INTERRUPTED)


# Before


def bytes_of(text: str) -> int:
    """A size such as 500MB, 1.5 GB or 2GiB in bytes."""
    from kibitz.solvers.training import bytes_of as sized

    return int(checked("--memory", sized(text)))


def _threads(threads: int | None) -> int:
    from kibitz.core.resources import cores

    return cores() if threads is None else threads


def _out(out: Path | None, resume: Path | None) -> Path:
    path = out or resume
    if path is None:
        raise SolverError("say where the blueprint goes, such as --out toepen.blueprint")
    return path


def _check(order: Order, resume: Path | None) -> None:
    """Refuse what would fail after the work is done."""
    from kibitz.core.store import said_at
    from kibitz.solvers.blueprint import MOST_THREADS

    if order.iterations is None and order.seconds is None:
        raise SolverError("say when to stop: --seconds 600, or --iterations 100000")
    if not 1 <= order.threads <= MOST_THREADS:
        raise SolverError(f"--threads {order.threads} should be from 1 to {MOST_THREADS}")
    check_artefact(order.out, "--out", "blueprint")
    if order.out != resume and (order.out / "manifest.json").exists():
        said = said_at(order.out)
        game = "" if said is None else named_again(str(said[1].get("game", "")), "")
        raise ArtefactError(
            f"--out {order.out} holds a blueprint already: train it further with `kibitz train{game} --resume "
            f"{shlex.quote(str(order.out))} --seconds 600`, or choose another path"
        )


def _wanted(
    abstraction: str | None, memory: str | None, full: str | None, seed: int | None, part: str | None,
    seats: str | None, limit: str | None, dynamic: str | None, sampling: str | None, prune: float | None,
) -> Wanted:  # fmt: skip
    from kibitz.solvers.new_blueprints import Wanted

    chosen = None if seats is None else tuple(_seat(each) for each in seats.split(","))
    most = None if limit is None else counted(limit)
    parts = () if dynamic is None else tuple(each.strip() for each in dynamic.split(","))
    return Wanted(abstraction, bytes_of(memory or MEMORY), seed or 0, full or FULL, part, chosen, most, parts,
                  sampling or "external", -(prune or 0.0))  # fmt: skip


def _seat(text: str) -> int:
    if not text.strip().isdecimal():
        raise SolverError(f"--seats {text}: give numbers from 0 on, such as 0 or 0,2")
    return int(text)


def sizes(blueprint: Blueprint) -> str:
    """What there will be, before it is begun."""
    from kibitz.poker.blueprints.placed_rows import layout_of
    from kibitz.report.text import size

    layout, rows = layout_of(blueprint), layout_of(blueprint).rows
    taken = blueprint.table.regret.nbytes + blueprint.table.average.nbytes
    lines = [f"{layout.size:,} infosets, {layout.columns:,} columns, {size(taken)} of memory"]
    for name, part, of, counts in zip(rows.buckets, ("", *rows.parts), layout.infosets, layout.counts, strict=True):
        if counts is not None and of.sum():
            where = f"in {part}" if part else "elsewhere" if rows.parts else "everywhere"
            lines.append(f"  {where}: {name}, {'/'.join(f'{n:,}' for n in counts)} buckets, {int(of.sum()):,} infosets")
    return "\n".join(lines)


def tried(blueprint: Blueprint, order: Order) -> str:
    """How fast it will be, from its first iterations."""
    most = TRIED if order.iterations is None else min(TRIED, order.iterations)
    blueprint.train(iterations=most, threads=order.threads)
    now = blueprint.progress()
    rate = now.visited / max(now.seconds, 1e-9)
    threads = "1 thread" if order.threads == 1 else f"{order.threads} threads"
    return f"  about {rate:,.0f} decisions a second on {threads}"


def _new(game: str | None, wanted: Wanted, strength: Path | None, base: Path | None) -> Blueprint:
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.new_blueprints import new_blueprint
    from kibitz.solvers.saved_blueprints import load_blueprint

    if game is None:
        raise SolverError("name the GAME to train for, such as leduc, or a blueprint to go on from with --resume")
    if (base is None) != (wanted.part is None):
        raise SolverError("--base and --part go together: the blueprint that plays elsewhere, and the part to train")
    if wanted.seats is not None and base is None:
        raise SolverError("--seats is for static experts: give --base and --part as well")
    machine = machine_of(game)
    arrays = machine.arrays_from(wanted.abstraction or machine.default, None if strength is None else str(strength))
    held = None if base is None else load_blueprint(base, compact=True, game=machine)
    return new_blueprint(machine, wanted, held, arrays)


def _resumed(
    path: Path, game: str | None, abstraction: str | None, memory: str | None, full: str | None, seed: int | None,
    base: Path | None,
) -> Blueprint:  # fmt: skip
    """The blueprint to go on from; what is said beside it has to agree."""
    from kibitz.poker.blueprints.placed_rows import is_placed
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.saved_blueprints import load_blueprint
    from kibitz.solvers.tables import rows_in
    from kibitz.solvers.training import resumed_with

    machine = None if game is None else machine_of(game)
    held = resumed_with(load_blueprint(path, game=machine), base)
    said = [("--abstraction", abstraction, held.abstraction), ("--full", full, held.full), ("--seed", seed, held.seed)]
    for name, given, has in said:
        if given is not None and given != has:
            raise ArtefactError(f"{path} was trained with {name} {has}, not {given}: leave {name} out, or start anew")
    if memory is not None:
        if is_placed(held):
            raise ArtefactError(f"{path} has rows by place, whose size follows from its buckets: leave --memory out")
        if rows_in(bytes_of(memory), held.machine.actions) != held.capacity:
            raise ArtefactError(f"{path} has a table of up to {held.capacity:,} rows, which stays: leave --memory out")
    return held


# During


def _run(order: Order, blueprint: Blueprint, watch: Watch, resume: Path | None) -> tuple[bool, Order]:
    """Train and save; returns whether Ctrl-C stopped it, and the order with the seconds that are left."""
    from kibitz.solvers.training import Saver, continued

    saver = Saver(blueprint, order.out, order.out == resume, order.every, note)

    def finish(path: Path) -> None:
        watch.phase(f"saving {path}")
        save_or_rescue(saver.save, path)

    stopped = continued(
        blueprint, saver, order.iterations, order.seconds, order.threads,
        lambda now: watch.phase(line(order, saver, now)), finish,
    )  # fmt: skip
    order = replace(order, out=saver.out or order.out)
    done = order.iterations is not None and blueprint.iteration >= order.iterations
    left = None if order.seconds is None else order.seconds - saver.used()
    interrupted = stopped and not done and (left is None or left > 0)
    return interrupted, replace(order, seconds=left if interrupted else order.seconds)


def line(order: Order, saver: Saver, now: Progress) -> str:
    """What to say of speed and time."""
    from kibitz.report.text import duration

    blueprint, spent = saver.blueprint, max(now.seconds - saver.first.seconds, 1e-9)
    rate = (now.visited - saver.first.visited) / spent
    lost = f"{now.refused:,} refused" if blueprint.full == "refuse" else f"{now.evicted:,} evicted"
    said = [f"training {blueprint.machine.spec}: iteration {now.iteration:,}", f"{rate:,.0f} decisions/s"]
    if now.rows < blueprint.capacity or now.refused or now.evicted:
        said += [f"{now.rows:,} of {blueprint.capacity:,} rows", lost]
    else:
        said.append(f"{now.visited / max(now.rows, 1):,.1f} visits a row")
    left = [] if order.seconds is None else [order.seconds - saver.used()]
    done = now.iteration - saver.first.iteration
    if order.iterations is not None and done > 0:
        left.append((order.iterations - now.iteration) * spent / done)
    if left:
        said.append(f"about {duration(max(0.0, min(left)))} left")
    return ", ".join(said)


# After


def continuation(order: Order, game: str) -> str:
    """The command that goes on with an interrupted training."""
    words = ["--resume", str(order.out), "--threads", str(order.threads)]
    if order.iterations is not None:
        words += ["--iterations", str(order.iterations)]
    if order.seconds is not None:
        words += ["--seconds", f"{order.seconds:.0f}" if order.seconds >= 1 else f"{order.seconds:.2g}"]
    if order.every != EVERY:
        words += ["--checkpoint-every", f"{order.every:g}"]
    return f"kibitz train{named_again(game, '')} {shlex.join(words)}"


def as_data(order: Order, blueprint: Blueprint, stopped: bool) -> dict[str, Any]:
    """How training went, as plain data; sums are over all of it, from before a resume too."""
    now = blueprint.progress()
    return {
        "game": blueprint.machine.spec,
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
        "bytes": blueprint.nbytes,
        "evicted": now.evicted,
        "refused": now.refused,
        "sha256": blueprint.sha256,
        "out": str(order.out),
        "interrupted": stopped,
        "continue": continuation(order, blueprint.machine.spec) if stopped else None,
    }


def _print(order: Order, blueprint: Blueprint, stopped: bool, first: int) -> None:
    from kibitz.report.text import duration, pairs, plain, size

    out, now = console(), blueprint.progress()
    out.print(
        f"{plain(blueprint.machine.spec)} by {blueprint.abstraction}: {now.iteration:,} iterations, "
        f"{duration(now.seconds)}",
        style="bold",
        markup=False,
    )
    rate = now.visited / now.seconds if now.seconds > 0 else 0.0
    rows = f"{now.rows:,} in a table of {size(blueprint.nbytes)}, with room for {blueprint.capacity:,}"
    rows += f"; {now.evicted:,} gave way to others" if now.evicted else ""
    rows += f"; new ones were refused {now.refused:,} times" if now.refused else ""
    out.print(pairs([
        ("decisions", f"{now.visited:,} visited, {rate:,.0f} a second (without compiling and setting up tables)"),
        ("rows", rows), ("blueprint", str(order.out)),
    ]))  # fmt: skip
    if now.iteration == first:
        typer.echo("It was there already: --iterations or --seconds take it further.")
    if stopped:
        typer.echo(f"Stopped before its end. Go on with:\n  {plain(continuation(order, blueprint.machine.spec))}")
    else:
        game = named_again(blueprint.machine.spec, "")
        typer.echo(f"Train it further: kibitz train{game} --resume {plain(shlex.quote(str(order.out)))} --seconds 600")
