"""kibitz solve: solve a game, watch it, save it, stop it and go on."""

from __future__ import annotations

import math
import shlex
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
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
from kibitz.cli.options import Device, checked, counted, number
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import ArtefactError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import CompactForm
    from kibitz.games.tree import Tree
    from kibitz.solvers.run import Look, Report


@dataclass(frozen=True)
class Order:
    """What was asked for, with what a checkpoint says filled in."""

    game: str | None
    solver: str
    seed: int
    iterations: int | None
    until: float | None
    seconds: float | None
    threads: int | None
    checkpoint: Path | None
    every: float
    resume: bool
    out: Path | None
    plot: Path | None
    log: Path | None
    abstraction: str | None = None
    device: str = "cpu"
    at: int | None = None  # the iteration of the checkpoint to go on from
    columns: int | None = None  # of its arrays, if it is the checkpoint that names the game


def solve(
    game: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help=GAME_HELP + " With --resume it may be left out.",
            show_default=False,
            autocompletion=complete.games,
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            "--solver", metavar="SOLVER", help="See `kibitz solvers`. Default: auto.", autocompletion=complete.solvers
        ),
    ] = None,
    iterations: Annotated[
        int | None, number("--iterations", metavar="N", help="Stop after this many iterations in total.")
    ] = None,
    until: Annotated[
        float | None, number("--until", metavar="GAP", help="Stop once NashConv is at most this.")
    ] = None,
    seconds: Annotated[float | None, number("--seconds", metavar="S", help="Stop this many seconds from now.")] = None,
    seed: Annotated[int | None, number("--seed", metavar="N", help="Seed of solvers that sample. Default: 0.")] = None,
    abstraction: Annotated[
        str | None,
        typer.Option(
            "--abstraction",
            metavar="NAME",
            help="Solve the abstract game: gameshrink, percentile(8) or a folder of `kibitz abstract` for poker, "
            "JQ.K for leduc, or one of the game's own.",
            autocompletion=complete.abstractions,
        ),
    ] = None,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit",
            metavar="INFOSETS",
            help="Poker for two: the finest percentile buckets that have at most so many infosets, as 24M. Their sizes "
            "are printed first.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        number("--threads", metavar="N", help="Cores to use; same result, except by mccfr. Default: all that help."),
    ] = None,
    device: Device = "cpu",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Save the profile here, such as leduc.profile.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", metavar="DIR", help="Save the run here from time to time.")
    ] = None,
    every: Annotated[float, number("--every", metavar="SECONDS", help="Time between checkpoints.")] = 30.0,
    resume: Annotated[
        Path | None, typer.Option("--resume", metavar="DIR", help="Continue from a checkpoint, and keep it up to date.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Plot NashConv over time: .png, .svg or .pdf.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Log NashConv over time, as lines of JSON: .jsonl.")
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
) -> None:
    """Compute an approximate Nash equilibrium of a game.

    The run stops at the first of --iterations, --until and --seconds; without any of them, after 1,000 iterations.
    Ctrl-C stops it cleanly and prints the command that continues it.

    \b
    Examples:
      kibitz solve kuhn
      kibitz solve leduc --solver cfr+ --until 1e-4 --out leduc.profile --plot leduc.png
      kibitz solve 'liars_dice(dice_sides=5)' --seconds 60 --checkpoint runs/dice.checkpoint
      kibitz solve --resume runs/dice.checkpoint --seconds 600
      kibitz solve rhode_island --solver dcfr+ --until 0.01 --out ri.profile
      kibitz solve rhode_island --abstraction 'percentile(6)' --until 0.1
      kibitz solve rhode_island --abstraction 'percentile(6, recall=false)' --solver pcs --seconds 60
      kibitz solve holdem.limit.2p --limit 24M --solver pcs --seconds 900 --checkpoint h.checkpoint --out h.profile
    """
    if limit is not None:
        abstraction = _finest(game, abstraction, limit, resume, not (json or quiet))
    order = Order(
        game, solver or "auto", seed or 0, iterations, until, seconds, threads, checkpoint, every, False, out, plot,
        log, abstraction, device,
    )  # fmt: skip
    if resume is not None:
        order = resumed(order, resume, solver, seed)
    elif game is None:
        raise SolverError("name a GAME to solve (see `kibitz games`), or a checkpoint to continue with --resume")
    _check(order)
    tree, profile, report = _run(order, not (json or quiet))
    order = _kept(order, tree, report)
    if order.out is not None:
        save_or_rescue(profile.save, order.out)
    if order.plot is not None:
        from kibitz.report.plot import convergence

        exact = report.solver is not None and report.solver.exact
        solver_name = profile.meta["solver"]
        convergence(report.looks, order.plot, tree.spec, solver_name, order.until, one_step=exact)
    if json:
        print_json(as_data(order, tree, profile, report))
    elif not quiet:
        _print(order, tree, profile, report)
    elif report.interrupted and (command := continuation(order, tree)):
        say(f"stopped; continue with: {command}")
    if report.interrupted:
        raise typer.Exit(INTERRUPTED)


# Before


def _finest(game: str | None, abstraction: str | None, limit: str, resume: Path | None, shown: bool) -> str:
    """The buckets that --limit stands for."""
    from kibitz.forms.choice import needs_tree
    from kibitz.poker.buckets.percentile import decisions_of, finest, infosets_of, percentile_spec

    if abstraction is not None or resume is not None or game is None:
        raise SolverError("--limit chooses the buckets of a new run: name a GAME, and leave --abstraction out")
    rules: Any = rules_of(game)
    if needs_tree(rules):
        raise SolverError(f"--limit is for poker games for two: {game} is none")
    decisions, most = decisions_of(rules.betting), counted(limit)
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


def resumed(order: Order, path: Path, solver: str | None, seed: int | None) -> Order:
    """The order with what the checkpoint knows: game, solver, seed, and, unless others are given, the stops."""
    from kibitz.core import store
    from kibitz.games.trusted import recalled
    from kibitz.solvers.run import KIND, checkpoint_meta

    if order.checkpoint not in (None, path):
        raise SolverError("--resume saves to the checkpoint that it continues: leave --checkpoint out")
    meta = checkpoint_meta(path)
    named = order.game is not None or order.abstraction is not None  # an abstract game has fewer rows than the game
    order = replace(
        order,
        columns=None if named else max(store.sizes(path, KIND).values(), default=0),
        game=order.game or recalled(meta["game"], path, _again(meta["game"], path)),
        solver=solver or meta["solver"],
        seed=checked("--seed", meta["seed"]) if seed is None else seed,
        checkpoint=path,
        resume=True,
        at=meta["iteration"],
    )
    if order.iterations is not None or order.until is not None or order.seconds is not None:
        return order
    stop: dict[str, float] = meta["stop"]
    most = int(stop["iterations"]) if "iterations" in stop else None
    left = stop["seconds"] - meta["seconds"] if "seconds" in stop else None
    if left is not None and left <= 0:  # its time is over: stay where it is
        return replace(order, iterations=meta["iteration"])
    return replace(order, iterations=most, until=stop.get("until"), seconds=left)


def _again(game: object, path: Path) -> str:
    said = quoted(game.strip()) if isinstance(game, str) else "GAME"
    return f"the game, as `kibitz solve {said} --resume {shlex.quote(str(path))}`"


def _check(order: Order) -> None:
    """Refuse what would fail after the work is done."""
    from kibitz.report.plot import ENDINGS
    from kibitz.solvers.run import checkpoint_meta

    if order.device != "cpu":
        from kibitz.poker.bucketed.device import Device as Found

        if order.abstraction is None:
            raise SolverError("--device gpu is for poker within buckets: name them, as --abstraction 'percentile(8)'")
        Found(order.device)  # refused at once where there is none
    check_artefact(order.out, "--out", "profile")
    check_file(order.plot, "--plot", ENDINGS)
    check_file(order.log, "--log", (".jsonl", ".json"))
    check_apart({
        "--resume" if order.resume else "--checkpoint": order.checkpoint, "--out": order.out, "--plot": order.plot,
        "--log": order.log,
    })  # fmt: skip
    if order.checkpoint is not None and not order.resume:
        check_artefact(order.checkpoint, "--checkpoint", "checkpoint")
        if (order.checkpoint / "manifest.json").exists():
            game = named_again(checkpoint_meta(order.checkpoint)["game"], "")
            raise ArtefactError(
                f"--checkpoint {order.checkpoint} holds a run already: continue it with `kibitz solve{game} --resume "
                f"{shlex.quote(str(order.checkpoint))}`, or choose another path"
            )


# During


def _run(order: Order, shown: bool) -> tuple[Tree | CompactForm, Profile, Report]:
    from kibitz.solvers.run import Report
    from kibitz.solvers.run import solve as run

    report = Report(tell=note)
    with Watch(shown) as watch:
        from kibitz.forms.problem import only_on_tree
        from kibitz.solvers.run import samples, walks

        sampled = samples(order.solver)
        of_tree = walks(known(order.solver)) or only_on_tree(str(order.game), order.abstraction)
        tree = subject_of(str(order.game), watch, of_tree, order.columns, order.abstraction, order.device, sampled)
        spec = compiled(order.solver, watch, tree) or compiled(chosen(tree, watch), watch, tree)
        watch.solving(f"solving {tree.spec} by {spec}", report)
        with _Log(order.log, report) as log:
            profile = run(
                tree, order.solver, iterations=order.iterations, until=order.until, seconds=order.seconds,
                seed=order.seed, threads=order.threads, checkpoint=order.checkpoint, every=order.every,
                resume=order.resume, on_look=log.look, report=report, abstraction=order.abstraction,
                device=order.device,
            )  # fmt: skip
    return tree, profile, report


def known(solver: str) -> str:
    """A solver's spec, refused if there is none of that name: before a game is laid out for it."""
    from kibitz.core.spec import parse, unknown
    from kibitz.solvers import SOLVERS

    if parse(solver).name not in SOLVERS:
        raise unknown("solver", parse(solver).name, SOLVERS)
    return solver


def compiled(solver: str, watch: Watch, subject: Tree | CompactForm | None = None) -> str | None:
    """Compile what a solver runs, on a tiny game, so that the clock of the run measures the run.

    Returns the solver; None for "auto", which does not know yet what it will be.
    """
    from kibitz.core.spec import parse
    from kibitz.games.tree import Tree
    from kibitz.solvers import run

    if parse(solver).name == "auto" and not parse(solver).args:
        return None
    watch.phase("loading compiled code")
    if run.samples(solver):
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
    """The file of looks, one JSON object a line; it starts with those from before a resume.

    It is opened at once, so that a wrong path is told before the work; once the run is on, it ends nothing.
    """

    def __init__(self, path: Path | None, report: Report) -> None:
        self.path, self.report = path, report
        self.file: IO[str] | None = None
        self.begun = False

    def __enter__(self) -> _Log:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.path, "a", encoding="utf-8")
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            with suppress(OSError):  # what is left in it was told of already
                self.file.close()

    def look(self, look: Look) -> None:
        import json

        if self.file is None:
            return
        looks = [look] if self.begun else self.report.looks
        try:
            if not self.begun:  # an older log goes only now
                self.file.truncate(0)
                self.begun = True
            self.file.writelines(json.dumps(each.data()) + "\n" for each in looks)
            self.file.flush()
        except OSError as error:
            note(f"--log {self.path} cannot be written: {error.strerror or error}; the run continues without it")
            with suppress(OSError):
                self.file.close()
            self.file = None


# After


def _kept(order: Order, tree: Tree | CompactForm, report: Report) -> Order:
    """The order with the checkpoint that holds the run. An interrupted one is saved even if nobody asked for it."""
    if report.saved is not None or not report.interrupted or report.solver is None:
        return replace(order, checkpoint=report.saved or order.checkpoint)
    from kibitz.forms.choice import form_for
    from kibitz.solvers.run import Keeper, beside

    name = "".join(c if c.isalnum() or c in "_-" else "_" for c in tree.spec)[:60].strip("_") or "game"
    task = getattr(report.solver, "task", None)
    form = form_for(tree) if task is None else task.form  # with an abstraction that of the smaller game
    for folder in (Path("runs"), Path(tempfile.gettempdir()) / "kibitz"):
        path = folder / f"{name}.checkpoint"
        keeper = Keeper(beside(path) if path.exists() else path)
        keeper.save(report.solver, form, report)
        if report.saved is not None:
            break
    return replace(order, checkpoint=report.saved)


def continuation(order: Order, tree: Tree | CompactForm) -> str | None:
    """The command that goes on with an interrupted run; None if it was not saved."""
    if order.checkpoint is None:
        return None
    from kibitz.games.trusted import recalled

    words = ["kibitz", "solve"]
    try:
        recalled("" if order.abstraction else tree.spec, order.checkpoint, "")
    except KibitzError:
        words.append(str(order.game))
    words += ["--resume", str(order.checkpoint)]
    for option, given in (
        ("--abstraction", order.abstraction),
        ("--device", None if order.device == "cpu" else order.device),
        ("--threads", order.threads),
        ("--out", order.out),
        ("--plot", order.plot),
        ("--log", order.log),
    ):
        if given is not None:
            words += [option, str(given)]
    return shlex.join(words)


def as_data(order: Order, tree: Tree | CompactForm, profile: Profile, report: Report) -> dict[str, Any]:
    """How a solve went, as plain data."""
    from kibitz.core.resources import peak_memory

    last = report.looks[-1] if report.looks else None
    known = last is not None and (lifted(order, tree) or not order.abstraction)
    real = gap_in_the_game(order, tree, profile, last) if last is not None and known else math.nan

    def path(given: Path | None) -> str | None:
        return None if given is None else str(given)

    return {
        "game": tree.spec,
        "solver": profile.meta["solver"],
        "seed": order.seed,
        "iterations": profile.meta["iterations"],
        "seconds": report.seconds,
        **({} if last is None else {"value": last.value, "best_response": last.best}),
        **({"nash_conv": real, "exploitability": real / tree.players} if known else {}),
        **({"abstraction": profile.meta["abstraction"]} if order.abstraction else {}),
        **({"abstract_nash_conv": last.gap} if order.abstraction and last is not None else {}),
        "peak_bytes": peak_memory(),
        "sha256": profile.sha256,
        "out": path(order.out),
        "checkpoint": path(order.checkpoint),
        "plot": path(order.plot),
        "log": path(order.log),
        "interrupted": report.interrupted,
        "continue": continuation(order, tree) if report.interrupted else None,
    }


def _print(order: Order, tree: Tree | CompactForm, profile: Profile, report: Report) -> None:
    from kibitz.core.resources import peak_memory
    from kibitz.games.tree import Tree
    from kibitz.report.text import duration, gap, pairs, plain, signed, size

    out, last = console(), report.looks[-1] if report.looks else None
    exact = report.solver is not None and report.solver.exact
    reached = int(profile.meta["iterations"])
    work = "exactly" if exact else f"{reached:,} iterations"
    out.print(
        f"{plain(tree.spec)} by {profile.meta['solver']}: {work}, {duration(report.seconds)}",
        style="bold",
        markup=False,
    )
    rows = [] if last is None else [
        ("value", ", ".join(f"{signed(value)} for seat {seat}" for seat, value in enumerate(last.value))),
        ("NashConv", f"{gap(last.gap)} (the sum of what best responses gain; 0 at a Nash equilibrium)"),
    ]  # fmt: skip
    if last is None:
        rows.append(("NashConv", "not measured: boards were sampled; kibitz evaluate measures the profile"))
    elif order.abstraction:
        rows = [(f"{name} in the abstraction", text) for name, text in rows]
        if lifted(order, tree):
            real = gap(gap_in_the_game(order, tree, profile, last))
            rows.append(("NashConv in the game", f"{real} (best responses see the whole game)"))
        else:
            rows.append(("NashConv in the game", "not measured: the game is too large; the profile is one of buckets"))
    if last is not None and (note := caveat(tree)):
        rows.append(("note", note))
    elif not exact and last is not None and last.best and not order.abstraction:
        low, high = signed(-last.best[1]), signed(last.best[0])
        rows.insert(1, ("", f"the game's value for seat 0 lies between {low} and {high}"))
    if not isinstance(tree, Tree):
        rows.append(("memory", f"{size(peak_memory())} at most"))
    for name, given in (("profile", order.out), ("plot", order.plot), ("log", order.log)):
        if given is not None:
            rows.append((name, str(given)))
    out.print(pairs(rows))
    if order.at is not None and order.at == reached:
        typer.echo("The checkpoint was there already: --iterations, --until or --seconds take it further.")
    if report.interrupted:
        command = continuation(order, tree)
        if command:
            typer.echo(f"Stopped early. Continue with:\n  {plain(command)}")
        else:
            typer.echo("Stopped early, and nothing was saved to continue from (--checkpoint DIR saves it).")
    elif order.out is None:
        typer.echo("Not saved: --out NAME.profile keeps the strategy; `kibitz show NAME.profile` then prints it.")
    else:
        typer.echo(f"Read it: kibitz show {shlex.quote(str(order.out))}{named_again(tree.spec)}")


def gap_in_the_game(order: Order, tree: Tree | CompactForm, profile: Profile, last: Look) -> float:
    """The gap of the profile itself: with an abstraction that is not the one that looks have seen."""
    from kibitz.evaluate import nash_conv

    return nash_conv(tree, profile) if lifted(order, tree) else last.gap


def lifted(order: Order, tree: Tree | CompactForm) -> bool:
    """Whether the profile is one of the game itself, and looks were within an abstraction."""
    return order.abstraction is not None and not getattr(tree, "abstraction", "")


def caveat(tree: Tree | CompactForm) -> str:
    """What the gap cannot promise in this game; empty if it is two-player and zero-sum with perfect recall."""
    from kibitz.forms.choice import form_for


    if not form_for(tree).perfect_recall:
        return "the game has imperfect recall, so NashConv is an upper bound and may not go to 0"
    if tree.players > 2 or not tree.zero_sum:
        kind = f"{tree.players} players" if tree.players > 2 else "payoffs that do not sum to zero"
        return f"with {kind} no solver guarantees that NashConv goes to 0; this one is exact"
    return ""
