"""First-order methods and their memory: what the slides say of the excessive gap technique, compared with runs.

NashConv is by exact best responses, in chips. Each run has a process of its own (`sandholm_rhode_island`), one
after another, as they are timed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.core.resources import cores, peak_memory
from kibitz.forms.choice import form_for
from kibitz.games import game
from kibitz.papers.claims import COMPARISON, FACT, Claim, Comparison
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.papers.sandholm_gs3 import CORES, GAME
from kibitz.papers.sandholm_rhode_island import SLIDES, SolverTimes, run_solver
from kibitz.poker.bucketed import programme as bucket_programme
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact import programme as poker_programme
from kibitz.poker.exact.form import poker_form
from kibitz.report.figures import Curves, FigurePanel, Sheet
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve_through

# (name in tables, game, seconds a solver, buckets that it is solved within): add games here.
GAMES: tuple[tuple[str, str, float, str], ...] = (
    ("Leduc", "leduc", 20.0, ""), ("Toepen 3/3/3", "toepen(suits=3, ranks=3, hand=3)", 60.0, ""),
    ("Rhode Island", "rhode_island", 90.0, ""),
    ("Hold'em of 20 cards in buckets", "poker(file=holdem.limit.2p, ranks=5)", 60.0, "percentile(3)"),
)
METHODS = ("egt", "egt(prox=euclidean)", "smoothing", "cfr+", "pcfr+", "dcfr+")
SWITCHES = tuple(
    f"egt(prox={prox}, steps={steps}, balance={balance})"
    for prox in ("entropy", "euclidean")
    for steps in ("aggressive", "conservative")
    for balance in ("true", "false")
)
SWITCHED, SWITCH_SECONDS = "leduc", 8.0
WIDE, WIDE_STEPS = "rhode_island", 8
QUICK_SECONDS = 2.0
UNTIL = 1e-9
# (instance, game, buckets, what the slides say in MB: barrier, simplex, theirs).
INSTANCES = (
    ("10k", "rhode_island(ranks=2, suits=2)", "", ("82", ">51", "12")),
    ("160k", "rhode_island(ranks=4, suits=3)", "", ("2,250", ">664", "35")),
    ("Rhode Island, lossless", "rhode_island", "", ("25,200", ">3,450", "150")),
    ("Texas, lossy", GAME, CORES, (">458,000", ">458,000", "2,490")),
)
TARGETS = (1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-8)
PROGRAMME_ROWS = 10_000  # of a programme that HiGHS is given
BYTES_PER_ENTRY = 12  # of a sparse matrix: a number and an index


@dataclass(frozen=True)
class MemoryUse:
    """The memory that an instance takes."""

    name: str
    game: str
    rows: int  # of the linear programme
    operator: int  # bytes of our payoff operator
    matrix: int  # bytes of the payoff matrix
    highs: int  # bytes that HiGHS took at most; 0: not tried


def memory(name: str, spec: str, buckets: str) -> MemoryUse:
    return _within_buckets(name, spec, buckets) if buckets else _whole(name, spec)


def _whole(name: str, spec: str) -> MemoryUse:
    form = poker_form(game(spec))
    rows = form.programme_size[1]
    operator = sum(array.nbytes for array in form.table if hasattr(array, "nbytes"))
    taken = 0
    if rows <= PROGRAMME_ROWS:  # how much more a process takes that solves the programme than one that does not
        runs = [run_solver(solver, until, 600.0, spec) for solver, until in (("lp(method=ipm)", 1e-6), ("cfr+", 1e3))]
        taken = max(0, runs[0].rss - runs[1].rss)
    return MemoryUse(name, spec, rows, operator, BYTES_PER_ENTRY * poker_programme.payoff_entries(form), taken)


def _within_buckets(name: str, spec: str, buckets: str) -> MemoryUse:
    rules: Any = game(spec)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    operator = sum(of.nbytes for of in (*form.host_weights.meets, *form.host_weights.wins))
    matrix = BYTES_PER_ENTRY * bucket_programme.payoff_entries(form)
    return MemoryUse(name, f"{spec} in {buckets}", form.programme_size[1], operator, matrix, 0)


def step_time(spec: str, solver: str, threads: int, count: int) -> float:
    """Seconds of a step on so many cores; one core is all that the process gets then."""
    form, before = form_for(spec), os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    try:
        if before is not None:
            os.sched_setaffinity(0, set(sorted(before)[:threads]))
        stepper = make(solver, Task(None, form, threads=threads))
        stepper.step(1)
        began = time.perf_counter()
        stepper.step(count)
        return (time.perf_counter() - began) / count
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


def curve(label: str, solver: str, seconds: float, spec: str, buckets: str = "") -> SolverTimes | None:
    """How a solver does on a game in so many seconds; None where it refuses the game."""
    try:
        return _within(solver, seconds, spec, buckets) if buckets else run_solver(solver, UNTIL, seconds, spec)
    except SolverError:
        return None


def _within(solver: str, seconds: float, spec: str, buckets: str) -> SolverTimes:
    """The same for an abstract game of buckets, with the NashConv in the abstract game."""
    rules: Any = game(spec)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    history = solve_through(form, solver, until=UNTIL, seconds=seconds).history
    best = history[-1].best
    return SolverTimes(
        solver, tuple(each.iteration for each in history), tuple(each.seconds for each in history),
        tuple(each.nash_conv for each in history), history[-1].value[0], (-best[1], best[0]), peak_memory(),
    )  # fmt: skip


def _games(plan: PaperPlan) -> list[tuple[str, str, float, str]]:
    return [(GAMES[0][0], GAMES[0][1], QUICK_SECONDS, "")] if plan.quick else list(GAMES)


def _wide(plan: PaperPlan) -> tuple[str, int]:
    return ("rhode_island(ranks=4, suits=3)", 3) if plan.quick else (WIDE, WIDE_STEPS)


def runs(plan: PaperPlan) -> list[Run]:
    seconds = QUICK_SECONDS if plan.quick else SWITCH_SECONDS
    spec, count = _wide(plan)
    counts = sorted({1, cores()})
    return [
        Run("egt: compiling", curve, [("", solver, 0.1, "poker(file=kuhn)") for solver in METHODS[:3]]),
        Run("egt: heuristics on and off", curve, [("", solver, seconds, SWITCHED) for solver in SWITCHES],
            reads=SolverTimes),
        Run("egt: first-order methods", curve,
            [(label, solver, time_, spec_, buckets) for label, spec_, time_, buckets in _games(plan)
             for solver in METHODS], reads=SolverTimes),
        Run("egt: threads", step_time, [(spec, solver, n, count) for solver in METHODS[:2] for n in counts]),
        Run("egt: memory", memory, [each[:3] for each in (INSTANCES[:2] if plan.quick else INSTANCES)],
            reads=MemoryUse),
    ]  # fmt: skip


@dataclass(frozen=True)
class FirstOrderResults:
    switches: list[SolverTimes]
    curves: dict[str, list[SolverTimes]]  # by game
    threads: list[tuple[str, int, float]]  # solver, cores, seconds of a step
    memory: list[MemoryUse]


def gather(plan: PaperPlan, answers: Answers) -> FirstOrderResults:
    methods, games = answers["egt: first-order methods"], [label for label, *_ in _games(plan)]
    counts = [(solver, n) for solver in METHODS[:2] for n in sorted({1, cores()})]
    return FirstOrderResults(
        [run for run in answers["egt: heuristics on and off"] if run],
        {label: [run for run in methods[k * len(METHODS) : (k + 1) * len(METHODS)] if run]
         for k, label in enumerate(games)},
        [(*count, seconds) for count, seconds in zip(counts, answers["egt: threads"], strict=True)],
        answers["egt: memory"],
    )  # fmt: skip


def page(plan: PaperPlan, results: FirstOrderResults, claims: Sequence[Claim]) -> Page:
    best = {label: min(runs, key=lambda run: run.gap[-1]) for label, runs in results.curves.items()}
    smallest = "; ".join(f"{label} {run.solver}" for label, run in best.items())
    return Page(
        about="The excessive gap technique and iterated smoothing beside CFR's family: the same gradients of the same "
        "operator, on the same cores. The gap is nash_conv by exact best responses, in chips.",
        departs=(
            "The slides' instances 10k and 160k are not published: here they are Rhode Island hold'em with smaller "
            "decks, whose linear programmes have about as many rows.",
        ),
        sheets=(_switch_sheet(plan, results), _method_sheet(results), _first_sheet(results),
                _thread_sheet(plan, results), _memory_sheet(results)),
        pictures=(_curves(results),),
        figures={
            "heuristics": [asdict(run) for run in results.switches],
            "curves": [{"game": label, **asdict(run)} for label, runs in results.curves.items() for run in runs],
            "threads": [list(each) for each in results.threads], "memory": [asdict(each) for each in results.memory],
        },
        summary=f"Smallest gaps at equal time: {smallest}. First to a gap of the table, or within a tenth of the "
        f"first's time: {', '.join(f'{solver} {n} times' for solver, n in _firsts(results).items())}. `auto` takes the "
        "linear programme where that takes a second or two, and else dcfr+.",
    )  # fmt: skip


def _switch_sheet(plan: PaperPlan, results: FirstOrderResults) -> Sheet:
    return Sheet(
        f"Prox functions and heuristics on and off, {SWITCHED}", ("solver", "iterations", "NashConv"),
        [(run.solver, f"{run.iteration[-1]:,}", f"{run.gap[-1]:.2e}") for run in results.switches],
        f"Each had {QUICK_SECONDS if plan.quick else SWITCH_SECONDS:g} s.",
    )  # fmt: skip


def _method_sheet(results: FirstOrderResults) -> Sheet:
    return Sheet(
        "First-order methods, the same time for all on a game", ("game and solver", "iterations", "NashConv"),
        [(f"{label}: {run.solver}", f"{run.iteration[-1]:,}", f"{run.gap[-1]:.2e}")
         for label, runs in results.curves.items() for run in runs], "Evaluations are included.",
    )  # fmt: skip


def _first_sheet(results: FirstOrderResults) -> Sheet:
    """When each came to a NashConv, beside the one that was first there: seconds live in docs/results.md."""
    rows: list[tuple[str, ...]] = []
    for label, runs in results.curves.items():
        times = {gap: _times(runs, gap) for gap in TARGETS}
        for run in runs:
            cells = (f"{of[run.solver] / min(of.values()):.3g}" if run.solver in of else "" for of in times.values())
            rows.append((f"{label}: {run.solver}", *cells))
    head = ("game and solver", *(f"{gap:g}" for gap in TARGETS))
    return Sheet(
        "Time to a NashConv, in chips: the first = 1", head, rows,
        "Evaluations are included; empty: not in its time. Seconds of the present code are in "
        "[results.md](results.md), by machine.",
    )  # fmt: skip


def _firsts(results: FirstOrderResults) -> dict[str, int]:
    """For each solver at how many targets of all games it was first, or as good: within a tenth of the first's time."""
    count = dict.fromkeys(METHODS, 0)
    for times in (_times(runs, gap) for runs in results.curves.values() for gap in TARGETS):
        for solver, used in times.items():
            count[solver] += used <= 1.1 * min(times.values())
    return count


def _times(runs: list[SolverTimes], gap: float) -> dict[str, float]:
    """Seconds until each solver came to a NashConv; without those that did not."""
    return {run.solver: at[1] for run in runs if (at := run.reached(gap)) is not None}


def _thread_sheet(plan: PaperPlan, results: FirstOrderResults) -> Sheet:
    alone = {solver: seconds for solver, n, seconds in results.threads if n == 1}
    rows = [(solver, f"{n}", f"{alone[solver] / seconds:.2f}") for solver, n, seconds in results.threads]
    return Sheet(f"Speed-up by threads, {_wide(plan)[0]}", ("solver", "cores", "times as fast"), rows)


def _memory_sheet(results: FirstOrderResults) -> Sheet:
    slides = {name: figures for name, _, _, figures in INSTANCES}
    return Sheet(
        "Memory in MB", ("instance", "rows", "slides: barrier", "slides: simplex", "slides: theirs", "our operator",
                         "payoff matrix", "HiGHS, barrier"),
        [(each.name, f"{each.rows:,}", *slides[each.name], f"{each.operator / 1e6:,.3f}", f"{each.matrix / 1e6:,.2f}",
          f"{each.highs / 1e6:.0f}" if each.highs else "") for each in results.memory],
        "Ours: " + ", ".join(f"{each.name} is {each.game}" for each in results.memory)
        + f". The payoff matrix is that of a sparse matrix, {BYTES_PER_ENTRY} bytes an entry. HiGHS: what its process "
        "takes above one of cfr+. The slides' own is all that their solver takes, ours is the operator alone.",
    )  # fmt: skip


def _curves(results: FirstOrderResults) -> Curves:
    panels = []
    for label, runs in results.curves.items():
        lines = (run.line(above=0.0) for run in runs)
        panels.append(FigurePanel(label, tuple(each for each in lines if each.at)))
    return Curves(
        "first-order", "First-order methods: gap against time", "gap (chips)", tuple(panels), log_y=True,
        across="seconds", floor=UNTIL / 10, note="Each line is one run. Gaps are exact.",
    )  # fmt: skip


def claims(results: FirstOrderResults) -> list[Claim]:
    gap = {run.solver: run.gap[-1] for run in results.switches}
    fast = [s for s in SWITCHES if "aggressive" in s]
    both = [(s, s.replace("entropy", "euclidean")) for s in SWITCHES if "entropy" in s]
    tenfold = [Comparison(gap[b], "<=", gap[a] / 10) for a, b in both if a in gap and b in gap]
    slower = [(s, s.replace("aggressive", "conservative")) for s in fast]
    smaller = [Comparison(gap[a], "<", gap[b]) for a, b in slower if a in gap and b in gap]
    alone = {solver: seconds for solver, n, seconds in results.threads if n == 1}
    tried = [
        Claim("the Euclidean prox function's gap is a tenth of entropy's at equal time", SLIDES, tenfold,
              unit=COMPARISON),
        Claim("aggressive steps have a smaller gap than conservative ones at equal time", SLIDES, smaller,
              unit=COMPARISON),
        Claim("threads speed a step up nearly in proportion (at least 1.6 on two cores)", SLIDES,
              [Comparison(alone[s] / t, ">=", 0.8 * n) for s, n, t in results.threads if n > 1], unit=COMPARISON),
        Claim("the operator takes a hundredth of the payoff matrix or less, on the largest instance", SLIDES,
              [Comparison(results.memory[-1].operator * 100, "<=", results.memory[-1].matrix)], unit=FACT),
    ]  # fmt: skip
    return [claim for claim in tried if claim.cases]  # claims without a case are left out


PART = Experiment("egt", "First-order methods", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
