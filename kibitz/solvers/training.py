"""kibitz.train: a blueprint of any game, with checkpoints, and Ctrl-C that saves.

blueprint = kibitz.train("leduc", seconds=10)
kibitz.match("leduc", blueprint, "uniform")
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kibitz.core.errors import Interrupted, SolverError
from kibitz.core.loop import interruptible
from kibitz.core.resources import cores
from kibitz.solvers import RunOptions
from kibitz.solvers.blueprint import Blueprint, Progress
from kibitz.solvers.checkpoints import Keeper, check_new
from kibitz.solvers.machines import machine_of
from kibitz.solvers.new_blueprints import BlueprintOptions, BlueprintRequest, new_blueprint
from kibitz.solvers.progress import RunState, shown, warn
from kibitz.solvers.saved_blueprints import load_blueprint
from kibitz.solvers.shards import Sharding, continued_in_shards

SAVING_SHARE = 0.1  # saving takes no more of the time than this


def train(
    game: Any = None,
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    abstraction: Any = None,
    seed: int = 0,
    threads: int | None = None,
    base: Blueprint | str | Path | None = None,
    part: str | int | None = None,
    shards: int | None = None,
    merge_every: int | None = None,
    options: BlueprintOptions | None = None,
    run: RunOptions | None = None,
) -> Blueprint:
    """Train a blueprint of a game by MCCFR: a strategy in a table of rows, for games of any size.

    game         a name, a game, a file of yours, or a Blueprint to train further; not needed to resume
    iterations   stop after so many in all; seconds: after so many of training from now, without compiling
    abstraction  which decisions share a row: a name, or what kibitz.abstraction takes; of poker also buckets of hands:
                 "percentile(8)", or the folder of saved ones; default: the game's own choice
    threads      default: all cores. Only one thread gives the same bytes every time
    base, part   train an expert: only a part of the game is trained, and the base plays the rest (`machine.parts`); in
                 three-player limit poker a static expert of what follows some betting, as "f" or "rcf"
    shards       train in so many shards, each on a core of this machine or of a cluster (`kibitz.executing`). Each does
                 `merge_every` iterations from the same rows, then what they have learned is added up; default: a round
                 of all shards has 2% of the iterations before it. The result follows from these two numbers and the
                 seed, whatever the number of workers
    options      memory of the table, and what only some games have: BlueprintOptions(memory="4GB")
    run          checkpoints and progress: RunOptions(checkpoint="leduc.blueprint"); the blueprint is saved there as it
                 is at the end, and with resume=True it is read from there and trained further

    Ctrl-C saves the blueprint (if there is a checkpoint) and raises kibitz.Interrupted, whose `profile` it is.
    """
    run = run or RunOptions()
    out = None if run.checkpoint is None else Path(run.checkpoint)
    check_device(run.device)
    sharding = sharding_of(shards, merge_every, threads, run.device)
    if run.resume or isinstance(game, Blueprint):
        if abstraction is not None or part is not None:
            raise SolverError("a blueprint keeps its abstraction and part when training continues: leave them out")
        if run.resume and out is None:
            raise SolverError("resume=True needs checkpoint=, the blueprint to train further")
        saved = game if isinstance(game, Blueprint) else load_blueprint(str(out), game=game)
        blueprint = resumed_with(saved, base)
    elif game is None:
        raise SolverError("give a game to train for, or resume=True and the checkpoint to continue")
    else:
        machine = machine_of(game)
        onto = load_blueprint(base, compact=True, game=machine) if isinstance(base, str | Path) else base
        fields = vars(options or BlueprintOptions())
        request = BlueprintRequest(**fields, abstraction=abstraction, seed=seed, part=part)
        blueprint = new_blueprint(machine, request, onto)
    if out is not None and not run.resume:
        check_new(out, "strategy")
    blueprint.warm_up(run.device)
    keeper = keeper_of(blueprint, out, run.resume, run.checkpoint_every)
    stop = {name: float(x) for name, x in (("iterations", iterations), ("seconds", seconds)) if x is not None}
    state = RunState(stop=stop, solver=blueprint)  # type: ignore[arg-type]  # of which its iteration is shown
    with shown(run.bar, f"training {blueprint.machine.spec}", state) as update:

        def on_progress(now: Progress) -> None:
            update()
            if run.callback is not None:
                run.callback(now)

        if sharding is not None:
            stopped = continued_in_shards(blueprint, keeper, sharding, iterations, seconds, on_progress)
        else:
            stopped = continued(blueprint, keeper, iterations, seconds, threads, on_progress, device=run.device)
        state.seconds, state.interrupted = keeper.used(), stopped
    if stopped:
        raise Interrupted(blueprint, keeper.path, f"RunOptions({str(keeper.path)!r}, resume=True)")
    return blueprint


def check_device(device: str) -> None:
    """Refuse a device that is not there, before any work."""
    if device not in ("cpu", "gpu"):
        raise SolverError(f"device {device}: choose cpu or gpu")
    if device == "gpu":
        from kibitz.solvers.gpu import gpu

        gpu()


def sharding_of(
    shards: int | None, merge_every: int | None, threads: int | None = None, device: str = "cpu"
) -> Sharding | None:
    """How training is divided, if it is; refuses what does not go with that."""
    if shards is None:
        if merge_every is not None:
            raise SolverError("--merge-every (merge_every=) is for training in shards: give --shards (shards=) too")
        return None
    if device != "cpu":
        raise SolverError(f"shards are walked on the cores of processors: leave --shards out, or --device {device}")
    if threads is not None:
        raise SolverError("a shard is walked by one thread: leave --threads out; --on local:N says how many shards are "
                          "walked at once")
    return Sharding(shards, merge_every)


def resumed_with(blueprint: Blueprint, base: Blueprint | str | Path | None) -> Blueprint:
    """A loaded blueprint that can be trained: an expert of rows by place is saved without its base."""
    if blueprint.wants_base:
        if base is None:
            raise SolverError("to continue the training of an expert, give its base too (base=, --base)")
        onto = base if isinstance(base, Blueprint) else load_blueprint(base, compact=True, game=blueprint.machine)
        return blueprint.rebased(onto)
    if base is not None:
        raise SolverError("the blueprint already has a base: leave base out")
    return blueprint


def keeper_of(
    blueprint: Blueprint, path: Path | None, resumed: bool, every: float = 30.0, message: Callable[[str], None] = warn
) -> Keeper:
    """Who saves a blueprint. resumed: it was read from `path`."""
    return Keeper(blueprint, path, blueprint.meta if resumed else None, every, SAVING_SHARE, message)


def continued(
    blueprint: Blueprint,
    keeper: Keeper,
    iterations: int | None,
    seconds: float | None,
    threads: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    finish: Callable[[Path], None] | None = None,
    device: str = "cpu",
) -> bool:
    """Train a blueprint further and save it; returns whether Ctrl-C stopped it.

    finish: saves at the end instead of `keeper.save`.
    """
    with interruptible() as stopped:

        def on_block(now: Progress) -> bool:
            if on_progress is not None:
                on_progress(now)
            if not stopped.is_set():
                keeper.save_if_due()
            return stopped.is_set()

        blueprint.train(iterations, seconds, cores() if threads is None else threads, on_block, device)
        if keeper.path is not None:
            (finish or keeper.save)(keeper.path)
    return stopped.is_set()
