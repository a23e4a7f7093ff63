"""kibitz solve: solve a game, watch it, save it, stop it and continue."""

from __future__ import annotations

import shlex
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.cli.common import (
    GAME_HELP,
    INTERRUPTED,
    Json,
    check_apart,
    check_artefact,
    check_file,
    console,
    named_again,
    note,
    print_json,
    quoted,
    rules_of,
    save_or_rescue,
    subject_of,
)
from kibitz.cli.options import (
    CheckpointEvery,
    Iterations,
    MaxInfosets,
    ProfileOut,
    Quiet,
    Seconds,
    SolveDevice,
    Until,
    argument,
    checked,
    counted,
    number,
    option,
)
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import ArtefactError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.protocol import CompactForm
    from kibitz.games.tree import Tree
    from kibitz.solvers.progress import RunState
    from kibitz.solvers.result import Evaluation, Result
    from kibitz.solvers.run import SolveRequest


@dataclass(frozen=True)
class SolveOrder:
    """The options of the command, with what a checkpoint says filled in."""

    request: SolveRequest  # its game is empty where a checkpoint names it
    out: Path | None = None
    plot: Path | None = None
    log: Path | None = None
    at: int | None = None  # the iteration of the checkpoint to continue from
    columns: int | None = None  # of its arrays, if it is the checkpoint that names the game

    @property
    def checkpoint(self) -> Path | None:
        path = self.request.run.checkpoint
        return None if path is None else Path(path)

    def saved_at(self, path: Path | None) -> SolveOrder:
        """The same, with another checkpoint."""
        return replace(self, request=replace(self.request, run=replace(self.request.run, checkpoint=path)))


def solve(
    game: Annotated[
        str | None, argument("GAME", GAME_HELP + " With --resume it may be left out.", complete.games)
    ] = None,
    solver: Annotated[
        str | None, option("--solver", "SOLVER", "See `kibitz solvers`. Default: auto.", complete.solvers)
    ] = None,
    iterations: Iterations = None,
    until: Until = None,
    seconds: Seconds = None,
    seed: Annotated[int | None, number("--seed", "N", "Random seed of solvers that sample. Default: 0.")] = None,
    abstraction: Annotated[
        str | None,
        option("--abstraction", "NAME", "Solve the abstract game. Poker: gameshrink, percentile(8), or a "
               "directory saved by `kibitz abstract`; leduc: JQ.K (jack and queen merged); or another that the game "
               "defines.", complete.abstractions),
    ] = None,
    max_infosets: MaxInfosets = None,
    threads: Annotated[
        int | None, number("--threads", "N", "Cores to use; same result, except by mccfr. Default: as many as help.")
    ] = None,
    device: SolveDevice = "cpu",
    out: ProfileOut = None,
    checkpoint: Annotated[Path | None, option("--checkpoint", "DIR", "Save the run here from time to time.")] = None,
    checkpoint_every: CheckpointEvery = 30.0,
    resume: Annotated[
        Path | None, option("--resume", "DIR", "Continue from a checkpoint, and keep it up to date.")
    ] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Plot NashConv over time: .png, .svg or .pdf.")] = None,
    log: Annotated[
        Path | None, option("--log", "FILE", "Log NashConv over time, as lines of JSON: .jsonl.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Compute an approximate Nash equilibrium of a game.

    The run stops at the first of --iterations, --until and --seconds; without any of them, after 1,000 iterations.
    Ctrl-C stops it cleanly and prints the command that continues it.

    \b
    Examples:
      kibitz solve kuhn
      kibitz solve leduc --solver cfr+ --until 1e-4 --out leduc.profile \\
          --plot leduc.png
      kibitz solve 'liars_dice(dice_sides=5)' --seconds 60 \\
          --checkpoint runs/dice.checkpoint
      kibitz solve --resume runs/dice.checkpoint --seconds 600
      kibitz solve rhode_island --solver dcfr+ --until 0.01 --out ri.profile
      kibitz solve rhode_island --abstraction 'percentile(6)' --until 0.1
      kibitz solve rhode_island --abstraction 'percentile(6, recall=false)' \\
          --solver pcs --seconds 60
      kibitz solve holdem.limit.2p --max-infosets 24M --solver pcs \\
          --seconds 900 --checkpoint h.checkpoint --out h.profile
    """
    from kibitz.solvers import RunOptions
    from kibitz.solvers.run import SolveRequest

    if max_infosets is not None:
        abstraction = _finest(game, abstraction, max_infosets, resume, not (json or quiet))
    run = RunOptions(checkpoint, checkpoint_every, device=device)
    request = SolveRequest(game or "", solver or "auto", iterations, until, seconds, seed or 0, threads, None,
                           abstraction, run)  # fmt: skip
    order = SolveOrder(request, out, plot, log)
    if resume is not None:
        order = resumed(order, resume, solver, seed)
    elif game is None:
        raise SolverError("name a GAME to solve (see `kibitz games`), or a checkpoint to continue with --resume")
    _check(order)
    tree, result, state = _run(order, not (json or quiet))
    order = _kept(order, tree, state)
    if out is not None:
        save_or_rescue(result.save, out)
    if plot is not None:
        from kibitz.report.plot import convergence

        convergence(result.history, plot, tree.spec, result.meta["solver"], order.request.until, one_step=result.exact)
    if json:
        print_json(as_data(order, tree, result))
    elif not quiet:
        _print(order, tree, result)
    elif result.interrupted and (command := continuation(order, tree)):
        say(f"stopped; continue with: {command}")
    if result.interrupted:
        raise typer.Exit(INTERRUPTED)


# Before


def _finest(game: str | None, abstraction: str | None, max_infosets: str, resume: Path | None, shown: bool) -> str:
    """The buckets that --max-infosets stands for."""
    from kibitz.forms.choice import needs_tree
    from kibitz.poker.buckets.percentile import decisions_of, finest, infosets_of, percentile_spec

    if abstraction is not None or resume is not None or game is None:
        raise SolverError("--max-infosets chooses the buckets of a new run: name a GAME, and leave --abstraction out")
    rules: Any = rules_of(game)
    if needs_tree(rules):
        raise SolverError(f"--max-infosets is for two-player poker: {game} is none")
    decisions, most = decisions_of(rules.betting), counted(max_infosets)
    budgets = finest(decisions, most)
    spec = percentile_spec(budgets)
    if shown:
        each, buckets = [], 1
        for count, n in zip(decisions, budgets, strict=True):
            buckets *= n
            each.append(f"{count:,} x {buckets:,}")
        typer.echo(
            f"{spec}: {infosets_of(decisions, budgets):,} infosets at most, by round decisions x buckets: "
            f"{', '.join(each)}"
        )
    return spec


def resumed(order: SolveOrder, path: Path, solver: str | None, seed: int | None) -> SolveOrder:
    """The order with what the checkpoint knows: game, solver, seed, and, unless others are given, the stops."""
    from kibitz.core import store
    from kibitz.games.trusted import recalled
    from kibitz.solvers.checkpoints import KIND, checkpoint_meta

    request = order.request
    if request.run.checkpoint not in (None, path):
        raise SolverError("--resume saves to the checkpoint that it continues: leave --checkpoint out")
    meta = checkpoint_meta(path)
    named = bool(request.game) or request.abstraction is not None  # an abstract game has fewer rows than the game
    columns = None if named else max(store.sizes(path, KIND).values(), default=0)
    hint = f"the game, as `kibitz solve {quoted(meta['game'].strip())} --resume {shlex.quote(str(path))}`"
    request = replace(
        request,
        game=request.game or recalled(meta["game"], path, hint),
        solver=solver or meta["solver"],
        seed=checked("--seed", meta["seed"]) if seed is None else seed,
        run=replace(request.run, checkpoint=path, resume=True),
    )
    if request.iterations is None and request.until is None and request.seconds is None:
        stop: dict[str, float] = meta["stop"]
        most = int(stop["iterations"]) if "iterations" in stop else None
        left = stop["seconds"] - meta["seconds"] if "seconds" in stop else None
        if left is not None and left <= 0:  # its time is over: stay where it is
            request = replace(request, iterations=meta["iteration"])
        else:
            request = replace(request, iterations=most, until=stop.get("until"), seconds=left)
    return replace(order, request=request, at=meta["iteration"], columns=columns)


def _check(order: SolveOrder) -> None:
    """Refuse what would fail after the work is done."""
    from kibitz.report.plot import ENDINGS
    from kibitz.solvers.checkpoints import checkpoint_meta

    run = order.request.run
    if run.device != "cpu":
        from kibitz.core.gpu import require

        require(run.device)  # refused at once where there is none
    check_artefact(order.out, "--out", "profile")
    check_file(order.plot, "--plot", ENDINGS)
    check_file(order.log, "--log", (".jsonl", ".json"))
    check_apart({
        "--resume" if run.resume else "--checkpoint": order.checkpoint, "--out": order.out, "--plot": order.plot,
        "--log": order.log,
    })  # fmt: skip
    if order.checkpoint is not None and not run.resume:
        check_artefact(order.checkpoint, "--checkpoint", "checkpoint")
        if (order.checkpoint / "manifest.json").exists():
            game = named_again(checkpoint_meta(order.checkpoint)["game"], "")
            raise ArtefactError(
                f"--checkpoint {order.checkpoint} holds a run already: continue it with `kibitz solve{game} --resume "
                f"{shlex.quote(str(order.checkpoint))}`, or choose another path"
            )


# During


def _run(order: SolveOrder, shown: bool) -> tuple[Tree | CompactForm, Result, RunState]:
    from kibitz.forms.problem import only_on_tree
    from kibitz.solvers.progress import RunState
    from kibitz.solvers.run import carry_out, samples, walks

    state, request = RunState(message=note), order.request
    game, solver, device = str(request.game), request.solver, request.run.device
    with Watch(shown) as watch:
        of_tree = walks(known(solver)) or only_on_tree(game, request.abstraction)
        tree = subject_of(game, watch, of_tree, order.columns, request.abstraction, device, samples(solver))
        spec = compiled(solver, watch, tree, device) or compiled(chosen(tree, watch), watch, tree, device)
        watch.solving(f"solving {tree.spec} by {spec}", state)
        with _Log(order.log, state) as log:
            run = replace(request.run, progress=log.add)
            return tree, carry_out(replace(request, game=tree, run=run), state), state


def known(solver: str) -> str:
    """A solver's spec, refused if there is none of that name: before a game is laid out for it."""
    from kibitz.core.spec import parse, unknown
    from kibitz.solvers import SOLVERS

    if parse(solver).name not in SOLVERS:
        raise unknown("solver", parse(solver).name, SOLVERS)
    return solver


def compiled(solver: str, watch: Watch, subject: Tree | CompactForm | None = None, device: str = "cpu") -> str | None:
    """Compile what a solver runs, on a tiny game, so that the clock of the run measures the run.

    What runs on a GPU is compiled when a run is set up, before its clock.

    Returns the solver; None for "auto", which does not know yet what it will be.
    """
    from kibitz.core.spec import parse
    from kibitz.forms.protocol import GpuForm
    from kibitz.games.tree import Tree
    from kibitz.solvers import run

    if parse(solver).name == "auto" and not parse(solver).args:
        return None
    if device != "cpu" and isinstance(subject, Tree | GpuForm):
        return solver
    watch.phase("loading compiled code")
    if run.samples(solver):
        if device != "cpu":
            return solver
        run.solve_through("poker(file=kuhn)", solver, iterations=2, abstraction="percentile(2)")
        return solver
    tiny = "kuhn" if subject is None or isinstance(subject, Tree) else subject.rehearsal
    run.solve_through(tiny, solver, iterations=2)
    return solver


def chosen(tree: Tree | CompactForm, watch: Watch) -> str:
    """The solver that "auto" is for a game."""
    from kibitz.forms.choice import form_for
    from kibitz.solvers import Task, make

    watch.phase("building the sequence form")
    return make("auto", Task(None, form_for(tree))).spec


class _Log:
    """The file of evaluations, one JSON object a line; it starts with those from before a resume.

    It is opened at once, so that a wrong path is refused before the work; once the run is on, it ends nothing.
    """

    def __init__(self, path: Path | None, state: RunState) -> None:
        self.path, self.state = path, state
        self.file: IO[str] | None = None
        self.begun = False

    def __enter__(self) -> _Log:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.path, "a", encoding="utf-8")
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            with suppress(OSError):  # what is left in it was reported already
                self.file.close()

    def add(self, now: Evaluation) -> None:
        import json

        if self.file is None:
            return
        try:
            if not self.begun:  # an older log goes only now
                self.file.truncate(0)
            new = [now] if self.begun else self.state.history
            self.begun = True
            self.file.writelines(json.dumps(asdict(each)) + "\n" for each in new)
            self.file.flush()
        except OSError as error:
            note(f"--log {self.path} cannot be written: {error.strerror or error}; the run continues without it")
            with suppress(OSError):
                self.file.close()
            self.file = None


# After


def _kept(order: SolveOrder, tree: Tree | CompactForm, state: RunState) -> SolveOrder:
    """The order with the checkpoint that holds the run. An interrupted one is saved even if nobody asked for it."""
    if state.checkpoint is not None or not state.interrupted or state.solver is None:
        return order.saved_at(state.checkpoint or order.checkpoint)
    from kibitz.forms.choice import form_for
    from kibitz.solvers.checkpoints import Keeper, SolverRun, beside

    name = "".join(c if c.isalnum() or c in "_-" else "_" for c in tree.spec)[:60].strip("_") or "game"
    task = getattr(state.solver, "task", None)
    form = form_for(tree) if task is None else task.form  # with an abstraction that of the smaller game
    for folder in (Path("runs"), Path(tempfile.gettempdir()) / "kibitz"):
        path = folder / f"{name}.checkpoint"
        keeper = Keeper(SolverRun(state.solver, form, state), beside(path) if path.exists() else path, message=note)
        if keeper.save_if_due(now=True):
            return order.saved_at(keeper.path)
    return order.saved_at(None)


def continuation(order: SolveOrder, tree: Tree | CompactForm) -> str | None:
    """The command that continues an interrupted run; None if it was not saved."""
    if order.checkpoint is None:
        return None
    from kibitz.games.trusted import recalled

    request = order.request
    words = ["kibitz", "solve"]
    try:
        recalled("" if request.abstraction else tree.spec, order.checkpoint, "")
    except KibitzError:
        words.append(str(request.game))
    words += ["--resume", str(order.checkpoint)]
    device = None if request.run.device == "cpu" else request.run.device
    for name, value in (
        ("--abstraction", request.abstraction), ("--device", device), ("--threads", request.threads),
        ("--out", order.out), ("--plot", order.plot), ("--log", order.log),
    ):  # fmt: skip
        if value is not None:
            words += [name, str(value)]
    return shlex.join(words)


def as_data(order: SolveOrder, tree: Tree | CompactForm, result: Result) -> dict[str, Any]:
    """How a solve went, as plain data."""
    from kibitz.core.resources import peak_memory
    from kibitz.evaluate import nash_conv

    abstraction = order.request.abstraction
    last = result.history[-1] if result.history else None
    real = None if last is None or abstraction else last.nash_conv
    if last is not None and lifted(order, tree):
        real = nash_conv(tree, result)
    return {
        "game": tree.spec,
        "solver": result.meta["solver"],
        "seed": order.request.seed,
        "iterations": result.meta["iterations"],
        "seconds": result.seconds,
        **({} if last is None else {"value": last.value, "best_response": last.best}),
        **({} if real is None else {"nash_conv": real, "exploitability": real / tree.players}),
        **({"abstraction": result.meta["abstraction"]} if abstraction else {}),
        **({"abstract_nash_conv": last.nash_conv} if abstraction and last is not None else {}),
        "peak_bytes": peak_memory(),
        "sha256": result.sha256,
        "out": order.out,
        "checkpoint": order.checkpoint,
        "plot": order.plot,
        "log": order.log,
        "interrupted": result.interrupted,
        "continue": continuation(order, tree) if result.interrupted else None,
    }


def _print(order: SolveOrder, tree: Tree | CompactForm, result: Result) -> None:
    from kibitz.core.resources import peak_memory
    from kibitz.evaluate import nash_conv
    from kibitz.games.tree import Tree
    from kibitz.report.text import duration, gap, pairs, plain, signed, size

    out, last = console(), result.history[-1] if result.history else None
    reached, abstraction = int(result.meta["iterations"]), order.request.abstraction
    work = "exactly" if result.exact else f"{reached:,} iterations"
    title = f"{plain(tree.spec)} by {result.meta['solver']}: {work}, {duration(result.seconds)}"
    out.print(title, style="bold", markup=False)
    rows = [] if last is None else [
        ("value", ", ".join(f"{signed(value)} for player {seat}" for seat, value in enumerate(last.value))),
        ("NashConv", f"{gap(last.nash_conv)} (the sum of what best responses gain; 0 at a Nash equilibrium)"),
    ]  # fmt: skip
    if last is None:
        rows.append(("NashConv", "not measured: boards were sampled; kibitz evaluate measures the profile"))
    elif abstraction:
        rows = [(f"{name} in the abstraction", text) for name, text in rows]
        if lifted(order, tree):
            real = gap(nash_conv(tree, result))
            rows.append(("NashConv in the game", f"{real} (best responses see the whole game)"))
        else:
            rows.append(("NashConv in the game", "not measured: the game is too large; the profile is one of buckets"))
    if last is not None and (note := caveat(tree)):
        rows.append(("note", note))
    elif not result.exact and last is not None and last.best and not abstraction:
        low, high = signed(-last.best[1]), signed(last.best[0])
        rows.insert(1, ("", f"the game's value for player 0 lies between {low} and {high}"))
    if not isinstance(tree, Tree):
        rows.append(("memory", f"{size(peak_memory())} at most"))
    files = (("profile", order.out), ("plot", order.plot), ("log", order.log))
    rows += [(name, str(file)) for name, file in files if file is not None]
    out.print(pairs(rows))
    if order.at is not None and order.at == reached:
        typer.echo("The checkpoint was there already: --iterations, --until or --seconds take it further.")
    if result.interrupted:
        command = continuation(order, tree)
        if command:
            typer.echo(f"Stopped early. Continue with:\n  {plain(command)}")
        else:
            typer.echo("Stopped early, and nothing was saved to continue from (--checkpoint DIR saves it).")
    elif order.out is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy; `kibitz show NAME.profile` then prints it.")
    else:
        typer.echo(f"Read it: kibitz show {shlex.quote(str(order.out))}{named_again(tree.spec)}")


def lifted(order: SolveOrder, tree: Tree | CompactForm) -> bool:
    """Whether the profile is one of the real game, and evaluations were of the abstract one."""
    return order.request.abstraction is not None and not getattr(tree, "abstraction", "")


def caveat(tree: Tree | CompactForm) -> str:
    """What NashConv cannot promise in this game; empty if it is two-player and zero-sum with perfect recall."""
    from kibitz.forms.choice import form_for

    if not form_for(tree).perfect_recall:
        return "the game has imperfect recall, so NashConv is an upper bound and may not go to 0"
    if tree.players > 2 or not tree.zero_sum:
        kind = f"{tree.players} players" if tree.players > 2 else "payoffs that do not sum to zero"
        return f"with {kind} no solver guarantees that NashConv goes to 0; this one is exact"
    return ""
