"""First-order methods and their memory: what the slides say of the excessive gap technique, held against runs.

Gaps are nash_conv by exact best responses, in chips. Each run has a process of its own (`sandholm_rhode_island`), one
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
from kibitz.papers.experiment import Experiment, Page, Plan
from kibitz.papers.runs import Answers, Run, tuples
from kibitz.papers.sandholm_gs3 import CORES, GAME
from kibitz.papers.sandholm_rhode_island import SLIDES, Solved, run_solver, solved
from kibitz.poker.bucketed import programme as bucket_programme
from kibitz.poker.bucketed.build import bucket_form
from kibitz.poker.buckets.buckets import hand_buckets
from kibitz.poker.exact import programme as poker_programme
from kibitz.poker.exact.form import poker_form
from kibitz.report.figures import Curves, Line, Panel, Sheet
from kibitz.solvers import Task, make
from kibitz.solvers.run import solve_through

# (name in tables, game, seconds a solver, buckets that it is solved within): add games here.
GAMES: tuple[tuple[str, str, float, str], ...] = (
    ("Leduc", "leduc", 20.0, ""),
    ("Toepen 3/3/3", "toepen(suits=3, ranks=3, hand=3)", 60.0, ""),
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
class Held:
    """What an instance takes in memory."""

    name: str
    game: str
    rows: int  # of the linear programme
    operator: int  # bytes of our payoff operator
    matrix: int  # bytes of the payoff matrix
    highs: int  # bytes that HiGHS took at most; 0: not tried


def held(name: str, spec: str, buckets: str) -> dict[str, Any]:
    return asdict(_within_buckets(name, spec, buckets) if buckets else _whole(name, spec))


def _whole(name: str, spec: str) -> Held:
    form = poker_form(game(spec))
    rows = form.programme_size[1]
    operator = sum(array.nbytes for array in form.table if hasattr(array, "nbytes"))
    taken = 0
    if rows <= PROGRAMME_ROWS:  # how much more a process takes that solves the programme than one that does not
        runs = [run_solver(solver, until, 600.0, spec) for solver, until in (("lp(method=ipm)", 1e-6), ("cfr+", 1e3))]
        taken = max(0, runs[0].rss - runs[1].rss)
    return Held(name, spec, rows, operator, BYTES_PER_ENTRY * poker_programme.payoff_entries(form), taken)


def _within_buckets(name: str, spec: str, buckets: str) -> Held:
    rules: Any = game(spec)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    operator = sum(of.nbytes for of in (*form.host_weights.meets, *form.host_weights.wins))
    matrix = BYTES_PER_ENTRY * bucket_programme.payoff_entries(form)
    return Held(name, f"{spec} in {buckets}", form.programme_size[1], operator, matrix, 0)


def step_time(spec: str, solver: str, threads: int, count: int) -> float:
    """Seconds of a step on so many cores; one core is all that the process gets then."""
    form, before = form_for(spec), os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    try:
        if before is not None:
            os.sched_setaffinity(0, set(sorted(before)[:threads]))
        made = make(solver, Task(None, form, threads=threads))
        made.step(1)
        began = time.perf_counter()
        made.step(count)
        return (time.perf_counter() - began) / count
    finally:
        if before is not None:
            os.sched_setaffinity(0, before)


def curve(label: str, solver: str, seconds: float, spec: str, buckets: str = "") -> dict[str, Any] | None:
    """How a solver does on a game in so many seconds; None where it refuses the game."""
    try:
        return _within(solver, seconds, spec, buckets) if buckets else solved(solver, UNTIL, seconds, spec)
    except SolverError:
        return None


def _within(solver: str, seconds: float, spec: str, buckets: str) -> dict[str, Any]:
    """The same within buckets of hands; the gap is that of the abstract game."""
    rules: Any = game(spec)
    form = bucket_form(rules, hand_buckets(rules.definition, buckets))
    history = solve_through(form, solver, until=UNTIL, seconds=seconds).history
    best = history[-1].best
    return asdict(Solved(
        solver, tuple(each.iteration for each in history), tuple(each.seconds for each in history),
        tuple(each.nash_conv for each in history), history[-1].value[0], (-best[1], best[0]), peak_memory(),
    ))  # fmt: skip


def _quick(plan: Plan) -> bool:
    return plan.quick


def _games(plan: Plan) -> list[tuple[str, str, float, str]]:
    return [(GAMES[0][0], GAMES[0][1], QUICK_SECONDS, "")] if _quick(plan) else list(GAMES)


def _wide(plan: Plan) -> tuple[str, int]:
    return ("rhode_island(ranks=4, suits=3)", 3) if _quick(plan) else (WIDE, WIDE_STEPS)


def runs(plan: Plan) -> list[Run]:
    quick = _quick(plan)
    seconds = QUICK_SECONDS if quick else SWITCH_SECONDS
    spec, count = _wide(plan)
    counts = sorted({1, cores()})
    return [
        Run("egt: compiling", curve, [("", solver, 0.1, "poker(file=kuhn)") for solver in METHODS[:3]]),
        Run("egt: heuristics on and off", curve, [("", solver, seconds, SWITCHED) for solver in SWITCHES]),
        Run("egt: first-order methods", curve,
            [(label, solver, time_, spec_, buckets) for label, spec_, time_, buckets in _games(plan)
             for solver in METHODS]),
        Run("egt: threads", step_time, [(spec, solver, n, count) for solver in METHODS[:2] for n in counts]),
        Run("egt: memory", held, [each[:3] for each in (INSTANCES[:2] if quick else INSTANCES)]),
    ]  # fmt: skip


@dataclass(frozen=True)
class Results:
    switches: list[Solved]
    curves: list[tuple[str, Solved]]  # by game
    threads: list[tuple[str, int, float]]  # solver, cores, seconds of a step
    memory: list[Held]


def gather(plan: Plan, found: Answers) -> Results:
    labels = [label for label, *_ in _games(plan) for _ in METHODS]
    kept = [(label, each) for label, each in zip(labels, found["egt: first-order methods"], strict=True) if each]
    counts = [(solver, n) for solver in METHODS[:2] for n in sorted({1, cores()})]
    return Results(
        [Solved(**tuples(each)) for each in found["egt: heuristics on and off"] if each],
        [(label, Solved(**tuples(each))) for label, each in kept],
        [(*count, seconds) for count, seconds in zip(counts, found["egt: threads"], strict=True)],
        [Held(**each) for each in found["egt: memory"]],
    )


def page(plan: Plan, results: Results, claims: Sequence[Claim]) -> Page:
    return Page(
        about=(
            "The excessive gap technique and iterated smoothing beside CFR's family: the same gradients of the same "
            "operator, on the same cores. The gap is nash_conv by exact best responses, in chips."
        ),
        departs=(
            "The slides' instances 10k and 160k are not published: here they are Rhode Island hold'em with smaller "
            "decks, whose linear programmes have about as many rows.",
        ),
        sheets=(
            _switch_sheet(plan, results),
            _method_sheet(results),
            _first_sheet(results),
            _thread_sheet(plan, results),
            _memory_sheet(results),
        ),
        pictures=(_curves(plan, results),),
        figures={
            "heuristics": [asdict(run) for run in results.switches],
            "curves": [{"game": label, **asdict(run)} for label, run in results.curves],
            "threads": [list(each) for each in results.threads],
            "memory": [asdict(each) for each in results.memory],
        },
        summary=(
            "Smallest gaps at equal time: "
            + "; ".join(f"{label} {_best(results, label).solver}" for label in _labels(results))
            + ". First to a gap of the table, or within a tenth of the first's time: "
            + ", ".join(f"{solver} {n} times" for solver, n in _firsts(results).items())
            + ". `auto` takes the linear programme where that takes a second or two, and else dcfr+."
        ),
    )


def _labels(results: Results) -> list[str]:
    return list(dict.fromkeys(label for label, _ in results.curves))


def _best(results: Results, label: str) -> Solved:
    return min((run for each, run in results.curves if each == label), key=lambda run: run.gap[-1])


def _switch_sheet(plan: Plan, results: Results) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (run.solver, f"{run.iteration[-1]:,}", f"{run.gap[-1]:.2e}") for run in results.switches
    ]
    return Sheet(
        f"Prox functions and heuristics on and off, {SWITCHED}", ("solver", "iterations", "NashConv"), rows,
        f"Each had {QUICK_SECONDS if _quick(plan) else SWITCH_SECONDS:g} s.",
    )  # fmt: skip


def _method_sheet(results: Results) -> Sheet:
    rows: list[tuple[str, ...]] = [
        (f"{label}: {run.solver}", f"{run.iteration[-1]:,}", f"{run.gap[-1]:.2e}")
        for label, run in results.curves
    ]
    head = ("game and solver", "iterations", "NashConv")
    return Sheet("First-order methods, the same time for all on a game", head, rows, "Evaluations are included.")


def _first_sheet(results: Results) -> Sheet:
    """When each came to a NashConv, beside the one that was first there: seconds live in docs/results.md."""
    soonest = {(label, gap): min(at[1] for each, run in results.curves if each == label and (at := run.reached(gap)))
               for label in _labels(results) for gap in TARGETS
               if any(run.reached(gap) for each, run in results.curves if each == label)}  # fmt: skip
    rows: list[tuple[str, ...]] = []
    for label, run in results.curves:
        found = [(gap, run.reached(gap)) for gap in TARGETS]
        cells = ["" if at is None else f"{at[1] / soonest[label, gap]:.3g}" for gap, at in found]
        rows.append((f"{label}: {run.solver}", *cells))
    head = ("game and solver", *(f"{gap:g}" for gap in TARGETS))
    return Sheet(
        "Time to a NashConv, in chips: the first = 1", head, rows,
        "Evaluations are included; empty: not in its time. Seconds of the present code are in "
        "[results.md](results.md), by machine.",
    )  # fmt: skip


def _firsts(results: Results) -> dict[str, int]:
    """For each solver at how many gaps of all games it was first, or as good: within a tenth of the first's time."""
    count = dict.fromkeys(METHODS, 0)
    for label in _labels(results):
        runs = [run for each, run in results.curves if each == label]
        for gap in TARGETS:
            times = {run.solver: at[1] for run in runs if (at := run.reached(gap)) is not None}
            for solver, used in times.items():
                count[solver] += used <= 1.1 * min(times.values())
    return count


def _thread_sheet(plan: Plan, results: Results) -> Sheet:
    alone = {solver: seconds for solver, n, seconds in results.threads if n == 1}
    rows: list[tuple[str, ...]] = [
        (solver, f"{n}", f"{alone[solver] / seconds:.2f}")
        for solver, n, seconds in results.threads
    ]
    return Sheet(f"Speed-up by threads, {_wide(plan)[0]}", ("solver", "cores", "times as fast"), rows)


def _memory_sheet(results: Results) -> Sheet:
    slides = {name: figures for name, _, _, figures in INSTANCES}
    rows: list[tuple[str, ...]] = [
        (each.name, f"{each.rows:,}", *slides[each.name],
         f"{each.operator / 1e6:,.3f}", f"{each.matrix / 1e6:,.2f}", f"{each.highs / 1e6:.0f}" if each.highs else "")
        for each in results.memory
    ]  # fmt: skip
    head = ("instance", "rows", "slides: barrier", "slides: simplex", "slides: theirs", "our operator",
            "payoff matrix", "HiGHS, barrier")  # fmt: skip
    return Sheet(
        "Memory in MB", head, rows,
        "Ours: " + ", ".join(f"{each.name} is {each.game}" for each in results.memory)
        + f". The payoff matrix is that of a sparse matrix, {BYTES_PER_ENTRY} bytes an entry. HiGHS: what its process "
        "takes above one of cfr+. The slides' own is all that their solver takes, ours is the operator alone.",
    )  # fmt: skip


def _curves(plan: Plan, results: Results) -> Curves:
    panels = []
    for label in _labels(results):
        lines = []
        for each, run in results.curves:
            kept = [k for k, s in enumerate(run.seconds) if run.iteration[k] > 0 and s > 0 and run.gap[k] > 0]
            if each == label and kept:
                at, gap = tuple(run.seconds[k] for k in kept), tuple(run.gap[k] for k in kept)
                lines.append(Line(run.solver, at, gap, (0.0,) * len(kept)))
        panels.append(Panel(label, tuple(lines), ()))
    return Curves(
        "first-order", "First-order methods: gap against time", "gap (chips)", tuple(panels), log_y=True,
        across="seconds", floor=UNTIL / 10, note="Each line is one run. Gaps are exact.",
    )  # fmt: skip


def claims(results: Results) -> list[Claim]:
    gap = {run.solver: run.gap[-1] for run in results.switches}
    fast = [s for s in SWITCHES if "aggressive" in s]
    both = [(s, s.replace("entropy", "euclidean")) for s in SWITCHES if "entropy" in s]
    tenfold = [Comparison(gap[b], "<=", gap[a] / 10) for a, b in both if a in gap and b in gap]
    slower = [(s, s.replace("aggressive", "conservative")) for s in fast]
    smaller = [Comparison(gap[a], "<", gap[b]) for a, b in slower if a in gap and b in gap]
    alone = {solver: seconds for solver, n, seconds in results.threads if n == 1}
    made = [
        Claim("the Euclidean prox function's gap is a tenth of entropy's at equal time", SLIDES, tenfold,
              unit=COMPARISON),
        Claim("aggressive steps have a smaller gap than conservative ones at equal time", SLIDES, smaller,
              unit=COMPARISON),
        Claim("threads speed a step up nearly in proportion (at least 1.6 on two cores)", SLIDES,
              [Comparison(alone[s] / t, ">=", 0.8 * n) for s, n, t in results.threads if n > 1], unit=COMPARISON),
        Claim("the operator takes a hundredth of the payoff matrix or less, on the largest instance", SLIDES,
              [Comparison(results.memory[-1].operator * 100, "<=", results.memory[-1].matrix)], unit=FACT),
    ]  # fmt: skip
    return [claim for claim in made if claim.cases]  # what was not tried is not told of


PART = Experiment("egt", "First-order methods", Plan(starts=1), Plan(starts=1), runs, gather, claims, page,
                  ignores=("iterations", "until"), instead="--quick")  # fmt: skip
