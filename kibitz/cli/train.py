"""kibitz train: train a blueprint of any game, watch it, save it, stop it and continue."""

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
from kibitz.cli.options import (
    CheckpointEvery,
    Iterations,
    MaxInfosets,
    On,
    Quiet,
    Seconds,
    TrainDevice,
    argument,
    checked,
    counted,
    number,
    option,
)
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import ArtefactError, SolverError

if TYPE_CHECKING:
    from kibitz.solvers.blueprint import Blueprint, Progress
    from kibitz.solvers.new_blueprints import BlueprintRequest
    from kibitz.solvers.shards import Sharding

MEMORY, FULL, EVERY = "1GB", "evict", 30.0
TRIED = 500  # iterations that an estimate of the speed is taken from


@dataclass(frozen=True)
class TrainOrder:
    """When to stop and where to save; the game and its settings are in the blueprint."""

    iterations: int | None
    seconds: float | None
    threads: int
    every: float
    out: Path
    device: str = "cpu"
    sharding: Sharding | None = None
    on: str | None = None  # where shards are walked


def train(
    game: Annotated[
        str | None,
        argument("GAME", "leduc, rhode_island, toepen, liars_dice, my.game, my_game.py:Class ... With --resume it may "
                 "be left out."),
    ] = None,
    out: Annotated[Path | None, option("--out", "DIR", "Save the blueprint here, such as leduc.blueprint.")] = None,
    seconds: Seconds = None,
    iterations: Iterations = None,
    abstraction: Annotated[
        str | None,
        option("--abstraction", "NAME", "null (each infoset by itself), or an abstraction of the game; an unknown name "
               "lists them. Poker also takes hand buckets: 'percentile(8)', 'percentile(8, recall=false)', gameshrink, "
               "or a directory of saved buckets. Default: toepen, outlook; poker, isomorphic; else null."),
    ] = None,
    strength: Annotated[
        Path | None,
        option("--strength", "DIR", "toepen, for --abstraction strength and strength-history: the blueprint whose play "
               "gives the values of hands."),
    ] = None,
    base: Annotated[
        Path | None,
        option("--base", "BASE", "Train only --part; this saved blueprint plays everywhere else."),
    ] = None,
    part: Annotated[
        str | None,
        option("--part", "NAME", "With --base: the part of the game to train, such as 'trick 3' or 'round 2'; an "
               "unknown name lists them. In three-player limit poker: a betting prefix, such as f, rf or rcf."),
    ] = None,
    seats: Annotated[
        str | None,
        option("--seats", "SEATS", "Three-player limit poker, with --base: the players that are frozen outside --part, "
               "such as 0 or 0,2. Default: all."),
    ] = None,
    max_infosets: MaxInfosets = None,
    dynamic: Annotated[
        str | None,
        option("--dynamic", "PARTS", "Three-player limit poker, with --max-infosets: dynamic experts, which are parts "
               "with finer buckets, such as f,rf,rrf,rcf."),
    ] = None,
    sampling: Annotated[
        str | None,
        option("--sampling", "KIND", "Three-player limit poker in buckets: external, outcome (one history at a time) "
               "or chance (all actions are traversed). Default: external."),
    ] = None,
    prune: Annotated[
        float | None,
        number("--prune", "CHIPS", "Three-player limit poker in buckets: in most iterations skip actions whose regret "
               "is further below zero than this."),
    ] = None,
    memory: Annotated[
        str | None,
        option("--memory", "SIZE", f"Maximum memory of the table: 500MB, 2GB. Default: {MEMORY}."),
    ] = None,
    full: Annotated[
        str | None,
        option("--full", "HOW", "When the table is full: evict (drop a rarely visited infoset) or refuse (do not store "
               f"the new one; it plays uniformly). Default: {FULL}."),
    ] = None,
    threads: Annotated[
        int | None,
        number("--threads", "N", "Cores to use. Results are reproducible only with 1. Default: all."),
    ] = None,
    device: TrainDevice = "cpu",
    shards: Annotated[
        int | None,
        number("--shards", "N", "Train in this many shards, each on a core, and add up what they learn again and "
               "again. The result is the same whatever the number of cores or nodes."),
    ] = None,
    merge_every: Annotated[
        int | None,
        number("--merge-every", "N", "With --shards: iterations that each shard does between two merges. Default: all "
               "shards together, 2% of the iterations before."),
    ] = None,
    on: On = None,
    seed: Annotated[int | None, number("--seed", "N", "Random seed of deals and draws. Default: 0.")] = None,
    checkpoint_every: CheckpointEvery = EVERY,
    resume: Annotated[
        Path | None, option("--resume", "DIR", "Train this blueprint further, and save it there (or at --out).")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Train a strategy of a large game by Monte Carlo CFR.

    The result is a blueprint: a strategy in a table, for games of any size. toepen and poker have compiled
    rules, which are fast to sample. Other games are sampled on their tree, or slowly by their rules in Python if the
    tree does not fit into memory. The blueprint is saved at --out from time to time and at the end. Ctrl-C saves it too
    and prints the command that continues. For a small game use `kibitz solve`, which measures exploitability.

    \b
    Examples:
      kibitz train leduc --seconds 10 --out leduc.blueprint
      kibitz train toepen --seconds 600 --out toepen.blueprint
      kibitz train --resume toepen.blueprint --seconds 600
      kibitz train toepen --shards 4 --on local:4 --seconds 600 --out s.blueprint
      kibitz train rhode_island --abstraction 'percentile(6)' --seconds 60 \\
          --out ri.blueprint
      kibitz train toepen --abstraction maximal --memory 4GB --seconds 3600 \\
          --out fine.blueprint
      kibitz train toepen --abstraction strength-history \\
          --strength toepen.blueprint --seconds 600 --out s.blueprint
      kibitz train toepen --base toepen.blueprint --part 'trick 1' \\
          --abstraction maximal --seconds 600 --out g.blueprint
      kibitz train 'toepen(suits=3, ranks=3)' --memory 50MB \\
          --iterations 100000 --threads 1 --out b
      kibitz train holdem.limit.3p --max-infosets 162M --seconds 1200 \\
          --out h3.blueprint
      kibitz train holdem.limit.3p --base h3.blueprint --part f \\
          --max-infosets 20M --seconds 300 --out f.blueprint
      kibitz train holdem.limit.3p --max-infosets 162M --dynamic f,rf,rrf,rcf \\
          --seconds 1200 --out dynamic.blueprint
    """
    from kibitz.core.resources import cores
    from kibitz.poker.blueprints.placed_rows import is_placed
    from kibitz.solvers.new_blueprints import BlueprintRequest
    from kibitz.solvers.training import sharding_of

    path = out or resume
    if path is None:
        raise SolverError("say where the blueprint goes, such as --out toepen.blueprint")
    if on is not None and shards is None:
        raise SolverError("--on is for training in shards: say in how many, such as --shards 8")
    sharding = sharding_of(shards, merge_every, threads, device)
    threads_used = (cores() if sharding is None else 1) if threads is None else threads
    order = TrainOrder(iterations, seconds, threads_used, checkpoint_every, path, device, sharding, on)
    _check(order, resume)
    shown = not (json or quiet)
    with Watch(shown) as watch:
        from kibitz.cards.tables import told_by

        watch.phase(
            "reading the game, and making buckets of hands if it has some (hold'em: two or three minutes, once)"
        )
        if resume is None:
            request = BlueprintRequest(
                bytes_of(memory or MEMORY), full or FULL, abstraction=abstraction, seed=seed or 0, part=part,
                seats=None if seats is None else tuple(map(_seat, seats.split(","))),
                dynamic=() if dynamic is None else tuple(map(str.strip, dynamic.split(","))),
                max_infosets=None if max_infosets is None else counted(max_infosets), sampling=sampling or "external",
                prune=-(prune or 0.0),
            )  # fmt: skip
            with told_by(telling(watch)):
                blueprint = _new(game, request, strength, base)
        else:
            new = {"--strength": strength, "--part": part, "--seats": seats, "--max-infosets": max_infosets,
                   "--dynamic": dynamic, "--sampling": sampling, "--prune": prune}  # fmt: skip
            if any(new.values()):
                names = " and ".join(name for name, value in new.items() if value)
                raise SolverError(f"{resume} keeps what it was begun with: leave {names} out")
            blueprint = _resumed(resume, game, {"--abstraction": abstraction, "--full": full, "--seed": seed}, memory,
                                 base)  # fmt: skip
        if not blueprint.machine.compiled:
            note(f"{blueprint.machine.spec} is walked by its rules in Python: some thousand decisions a second")
        first, placed = blueprint.iteration, shown and is_placed(blueprint)
        if placed:
            watch.phase("")
            say(sizes(blueprint))
        watch.phase("loading compiled code")
        blueprint.warm_up(device)
        if placed and not first and device == "cpu" and sharding is None:
            say(tried(blueprint, order))
        stopped, order = _run(order, blueprint, watch, resume)
    if json:
        print_json(as_data(order, blueprint, stopped))
    elif not quiet:
        _print(order, blueprint, stopped, first)
    elif stopped:
        say(f"stopped; continue with: {continuation(order, blueprint.machine.spec)}")
    if stopped:
        raise typer.Exit(INTERRUPTED)


# Before


def bytes_of(text: str) -> int:
    """A size such as 500MB, 1.5 GB or 2GiB in bytes."""
    from kibitz.solvers.new_blueprints import bytes_of as sized

    return int(checked("--memory", sized(text)))


def _check(order: TrainOrder, resume: Path | None) -> None:
    """Refuse what would fail after the work is done."""
    from kibitz.core.store import said_at
    from kibitz.solvers.blueprint import MOST_THREADS
    from kibitz.solvers.training import check_device

    if order.iterations is None and order.seconds is None:
        raise SolverError("say when to stop: --seconds 600, or --iterations 100000")
    check_device(order.device)
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


def _seat(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > 9:
        raise SolverError(f"--seats {text:.40}: give numbers from 0 on, such as 0 or 0,2")
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


def tried(blueprint: Blueprint, order: TrainOrder) -> str:
    """How fast it will be, from its first iterations."""
    most = TRIED if order.iterations is None else min(TRIED, order.iterations)
    blueprint.train(iterations=most, threads=order.threads)
    now = blueprint.progress()
    rate = now.visited / max(now.seconds, 1e-9)
    threads = "1 thread" if order.threads == 1 else f"{order.threads} threads"
    return f"  about {rate:,.0f} decisions a second on {threads}"


def _new(game: str | None, request: BlueprintRequest, strength: Path | None, base: Path | None) -> Blueprint:
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.new_blueprints import new_blueprint
    from kibitz.solvers.saved_blueprints import load_blueprint

    if game is None:
        raise SolverError("name the GAME to train for, such as leduc, or a blueprint to train further with --resume")
    if (base is None) != (request.part is None):
        raise SolverError("--base and --part go together: the blueprint that plays elsewhere, and the part to train")
    if request.seats is not None and base is None:
        raise SolverError("--seats is for static experts: give --base and --part as well")
    machine = machine_of(game)
    arrays = machine.arrays_from(request.abstraction or machine.default, None if strength is None else str(strength))
    onto = None if base is None else load_blueprint(base, compact=True, game=machine)
    return new_blueprint(machine, request, onto, arrays)


def _resumed(
    path: Path, game: str | None, settings: dict[str, Any], memory: str | None, base: Path | None
) -> Blueprint:
    """The blueprint to train further. settings: options that have to agree with it, by name."""
    from kibitz.poker.blueprints.placed_rows import is_placed
    from kibitz.solvers.machines import machine_of
    from kibitz.solvers.saved_blueprints import load_blueprint
    from kibitz.solvers.tables import rows_in
    from kibitz.solvers.training import resumed_with

    machine = None if game is None else machine_of(game)
    blueprint = resumed_with(load_blueprint(path, game=machine), base)
    for name, value in settings.items():
        has = getattr(blueprint, name.removeprefix("--"))
        if value is not None and value != has:
            raise ArtefactError(f"{path} was trained with {name} {has}, not {value}: leave {name} out, or start anew")
    if memory is not None:
        if is_placed(blueprint):
            raise ArtefactError(f"{path} has rows by place, whose size follows from its buckets: leave --memory out")
        most = blueprint.capacity
        if rows_in(bytes_of(memory), blueprint.machine.actions) != most:
            raise ArtefactError(f"{path} has a table of up to {most:,} rows, which stays: leave --memory out")
    return blueprint


# During


def _run(order: TrainOrder, blueprint: Blueprint, watch: Watch, resume: Path | None) -> tuple[bool, TrainOrder]:
    """Train and save; returns whether Ctrl-C stopped it, and the order with the seconds that are left."""
    from kibitz.solvers.shards import continued_in_shards
    from kibitz.solvers.training import continued, keeper_of

    keeper, first = keeper_of(blueprint, order.out, order.out == resume, order.every, note), blueprint.progress()

    def finish(path: Path) -> None:
        watch.phase(f"saving {path}")
        save_or_rescue(keeper.save, path)

    def on_progress(now: Progress) -> None:
        watch.phase(line(order, blueprint, keeper.used(), first, now))

    if order.sharding is not None:
        stopped = continued_in_shards(
            blueprint, keeper, order.sharding, order.iterations, order.seconds, on_progress, finish
        )
    else:
        stopped = continued(
            blueprint, keeper, order.iterations, order.seconds, order.threads, on_progress, finish, order.device
        )
    order = replace(order, out=keeper.path or order.out)
    done = order.iterations is not None and blueprint.iteration >= order.iterations
    left = None if order.seconds is None else order.seconds - keeper.used()
    interrupted = stopped and not done and (left is None or left > 0)
    return interrupted, replace(order, seconds=left if interrupted else order.seconds)


def line(order: TrainOrder, blueprint: Blueprint, used: float, first: Progress, now: Progress) -> str:
    """A line about speed and time. first: the progress at the beginning; used: seconds since then."""
    from kibitz.report.text import duration

    spent = max(now.seconds - first.seconds, 1e-9)
    rate = (now.visited - first.visited) / spent
    lost = f"{now.refused:,} refused" if blueprint.full == "refuse" else f"{now.evicted:,} evicted"
    words = [f"training {blueprint.machine.spec}: iteration {now.iteration:,}", f"{rate:,.0f} decisions/s"]
    if now.rows < blueprint.capacity or now.refused or now.evicted:
        words += [f"{now.rows:,} of {blueprint.capacity:,} rows", lost]
    else:
        words.append(f"{now.visited / max(now.rows, 1):,.1f} visits a row")
    left = [] if order.seconds is None else [order.seconds - used]
    done = now.iteration - first.iteration
    if order.iterations is not None and done > 0:
        left.append((order.iterations - now.iteration) * spent / done)
    if left:
        words.append(f"about {duration(max(0.0, min(left)))} left")
    return ", ".join(words)


# After


def continuation(order: TrainOrder, game: str) -> str:
    """The command that resumes an interrupted training."""
    words, sharding = ["--resume", str(order.out)], order.sharding
    if sharding is None:
        words += ["--threads", str(order.threads)]
    else:
        words += ["--shards", str(sharding.shards)]
        words += [] if sharding.merge_every is None else ["--merge-every", str(sharding.merge_every)]
        words += [] if order.on is None else ["--on", order.on]
    if order.iterations is not None:
        words += ["--iterations", str(order.iterations)]
    if order.seconds is not None:
        words += ["--seconds", f"{order.seconds:.0f}" if order.seconds >= 1 else f"{order.seconds:.2g}"]
    if order.device != "cpu":
        words += ["--device", order.device]
    if order.every != EVERY:
        words += ["--checkpoint-every", f"{order.every:g}"]
    return f"kibitz train{named_again(game, '')} {shlex.join(words)}"


def as_data(order: TrainOrder, blueprint: Blueprint, stopped: bool) -> dict[str, Any]:
    """How training went, as plain data; sums are over all of it, from before a resume too."""
    now = blueprint.progress()
    return {
        "game": blueprint.machine.spec,
        "abstraction": blueprint.abstraction,
        "seed": blueprint.seed,
        "full": blueprint.full,
        "threads": order.threads,
        "shards": None if order.sharding is None else order.sharding.shards,
        "merge_every": None if order.sharding is None else order.sharding.merge_every,
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


def _print(order: TrainOrder, blueprint: Blueprint, stopped: bool, first: int) -> None:
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
