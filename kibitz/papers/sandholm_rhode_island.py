"""Rhode Island hold'em, the whole game, solved by first-order methods: gap against time, peak memory, and the value.

Each solver runs in a process of its own, by `kibitz solve`, so that its peak memory is its own. The gap is exact: best
responses of both seats in the whole game, not within an abstraction.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kibitz.core.errors import SolverError
from kibitz.games import game
from kibitz.papers.claims import OURS, RUN, Claim, Comparison, fact, within
from kibitz.papers.experiment import Experiment, Page, Plan
from kibitz.papers.runs import Answers, Run, tuples
from kibitz.poker.exact.form import poker_form
from kibitz.report.figures import Curves, Line, Panel, Sheet

SLIDES = "slides"  # where a claim comes from
GAME = "rhode_island"
SMALL_BET = 10
BEST = "dcfr+"  # goes on to the plan's gap; the others stop at the first target
OTHERS = ("cfr+", "cfr+(averaging=quadratic)", "dcfr", "pcfr+", "pdcfr+")
TARGETS = (1.0, 0.1, 0.01, 0.001)
PATIENCE, LONG = 150.0, 600.0  # seconds for the others, and for the best
# What the slides say.
NODES, ROWS, SHRUNK_ROWS = 3.1e9, 91_224_226, 1_237_238
CPLEX = "8 days, 25 GB"


def first_at(
    gap: float, iterations: Sequence[int], seconds: Sequence[float], gaps: Sequence[float]
) -> tuple[int, float] | None:
    """(iterations, seconds) at the first look at which the gap was at most so much."""
    for iteration, used, found in zip(iterations, seconds, gaps, strict=True):
        if found <= gap and iteration:
            return iteration, used
    return None


@dataclass(frozen=True)
class Solved:
    """How one solver did."""

    solver: str
    iteration: tuple[int, ...]
    seconds: tuple[float, ...]
    gap: tuple[float, ...]
    value: float  # of seat 0, of the last profile
    interval: tuple[float, float]  # in which the value of the game lies
    rss: int  # bytes, the most that the process held in memory

    def reached(self, gap: float) -> tuple[int, float] | None:
        """(iterations, seconds) at the first look at which the gap was at most so much."""
        return first_at(gap, self.iteration, self.seconds, self.gap)

    @property
    def rate(self) -> float:
        """Milliseconds an iteration, looks included."""
        return 1e3 * self.seconds[-1] / max(1, self.iteration[-1])


def run_solver(solver: str, until: float, seconds: float, name: str) -> Solved:
    """Solve the game in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "looks.jsonl"
        command = [sys.executable, "-m", "kibitz.cli", "solve", name, "--solver", solver, "--until", repr(until),
                   "--seconds", repr(seconds), "--log", str(log), "--json"]  # fmt: skip
        with open(Path(folder) / "out", "w+") as out, open(Path(folder) / "err", "w+") as err:
            code = subprocess.run(command, stdout=out, stderr=err, check=False).returncode
            err.seek(0)
            if code:
                raise SolverError(f"{' '.join(command[1:])} failed: {err.read().strip()[-500:]}")
            out.seek(0)
            found = json.loads(out.read())
        looks = [json.loads(line) for line in log.read_text().splitlines()]
    best = found["best_response"]
    return Solved(
        solver, tuple(look["iteration"] for look in looks), tuple(look["seconds"] for look in looks),
        tuple(look["nash_conv"] for look in looks), found["value"][0], (-best[1], best[0]), found["peak_bytes"],
    )  # fmt: skip


def solved(solver: str, until: float, seconds: float, name: str) -> dict[str, Any]:
    return asdict(run_solver(solver, until, seconds, name))


@dataclass(frozen=True)
class Whole:
    """The sizes of the game."""

    histories: int
    programme: tuple[int, int]  # rows of the linear programme: of the whole game, and up to the names of suits
    classes: tuple[int, ...]  # of hands on boards, by round


def sizes(name: str) -> dict[str, Any]:
    whole = poker_form(game(name))
    classes = tuple(cards.classes for cards in whole.cards.rounds)
    return asdict(Whole(whole.histories, whole.programme_size, classes))


def runs(plan: Plan) -> list[Run]:
    """Each is timed, and has a process of its own on all cores: so one after another."""
    others = [(solver, max(plan.until, 0.01), PATIENCE, GAME) for solver in OTHERS]
    return [
        Run("rhode island: sizes", sizes, [(GAME,)]),
        Run("rhode island: compiling", solved, [(BEST, 1.0, 600.0, "poker(file=kuhn)")]),
        Run("solving rhode island", solved, [(BEST, plan.until, LONG, GAME), *others]),
    ]


@dataclass(frozen=True)
class Results:
    whole: Whole
    runs: list[Solved]

    @property
    def best(self) -> Solved:
        return self.runs[0]


def gather(plan: Plan, found: Answers) -> Results:
    (whole,) = found["rhode island: sizes"]
    return Results(Whole(**tuples(whole)), [Solved(**tuples(each)) for each in found["solving rhode island"]])


def page(plan: Plan, results: Results, claims: Sequence[Claim]) -> Page:
    whole, best = results.whole, results.best
    low, high = best.interval
    return Page(
        about=(
            "Rhode Island hold'em is solved whole: betting times cards, boards and hands up to the names of suits, "
            "without a payoff matrix and without losing anything. Each solver has a process of its own on all cores; "
            "the gap is nash_conv by exact best responses in the whole game, in chips: a small bet is 10."
        ),
        departs=(
            "The slides solve the linear programme of the game that GameShrink made, by CPLEX's barrier method; here "
            "the whole game is solved to a small gap, by first-order methods.",
        ),
        sheets=(_slides_sheet(whole, best), _solver_sheet(results.runs)),
        pictures=(_curves(results.runs),),
        figures={
            "value": [low, high],
            "histories": whole.histories,
            "programme": list(whole.programme),
            "runs": [_data(run) for run in results.runs],
        },
        summary=(
            f"The value of Rhode Island hold'em for the first seat lies between {low:.4f} and {high:.4f} chips: a "
            f"NashConv of {best.gap[-1]:.4f} after {best.iteration[-1]:,} iterations."
        ),
    )


def _slides_sheet(whole: Whole, best: Solved) -> Sheet:
    plain, renamed = whole.programme
    cards = " / ".join(f"{classes:,}" for classes in whole.classes)
    rows: list[tuple[str, ...]] = [
        ("nodes of the game tree", f"{NODES / 1e9:g} billion", f"{whole.histories:,}"),
        ("linear programme of the whole game, rows", f"{ROWS:,}", f"{plain:,}"),
        ("after GameShrink, rows", f"{SHRUNK_ROWS:,}", "see the part gameshrink"),
        ("classes of hands on boards, by round", "", cards),
        ("linear programme within these classes, rows", "", f"{renamed:,}"),
        ("time and memory", CPLEX, "below"),
        ("gap in the whole game, chips", "'exact Nash equilibrium'", f"{best.gap[-1]:.5f}"),
        ("value for the first seat, chips", "", f"{best.interval[0]:.5f} to {best.interval[1]:.5f}"),
    ]  # fmt: skip
    return Sheet(
        "Rhode Island hold'em: the slides' figures and ours",
        ("figure", "slides", "ours"),
        rows,
        f"Ours by {best.solver}, {best.iteration[-1]:,} iterations. The slides do not say how nodes are counted; ours "
        "are all histories: chance, decisions and ends, with private cards dealt one seat after the other. How "
        "long it takes and how much memory: [results.md](results.md), by machine. Times are of machines many years "
        "apart, and of an exact solution of a smaller programme against a small NashConv in the whole game.",
    )


def _solver_sheet(runs: list[Solved]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        cells = []
        for target in TARGETS:
            found = run.reached(target)
            first = runs[0].reached(target)
            cells.append(f"{found[0]:,} ({found[1] / first[1]:.2f})" if found and first else "")
        rows.append((run.solver, *cells, f"{run.gap[-1]:.5f}"))
    head = (*(f"to {target:g}" for target in TARGETS), "last NashConv")
    return Sheet(
        f"Iterations to a NashConv in the whole game, in chips (time, {BEST} = 1)",
        ("solver", *head),
        rows,
        f"Times include evaluations. Others than {BEST} stop at 0.01 or after {PATIENCE:g} s. Seconds and memory are "
        "in [results.md](results.md), by machine: the figures of the present code.",
    )


def _curves(runs: list[Solved]) -> Curves:
    lines = []
    for run in runs:
        kept = [k for k, seconds in enumerate(run.seconds) if run.iteration[k] > 0 and seconds > 0]
        at, mean = tuple(run.seconds[k] for k in kept), tuple(run.gap[k] for k in kept)
        lines.append(Line(run.solver, at, mean, (0.0,) * len(kept)))
    levels = tuple((f"{target:g} chips", target) for target in (0.01, 0.001))
    return Curves(
        "rhode-island", "Rhode Island hold'em: gap against time", "gap in the whole game (chips)",
        (Panel("", tuple(lines), levels),), log_y=True, across="seconds",
        note="Each line is one run. The gap is exact: best responses of both seats among 6.7 billion histories.",
    )  # fmt: skip


def claims(results: Results) -> list[Claim]:
    best, (plain, _) = results.best, results.whole.programme
    return [
        fact(f"without abstraction the linear programme has {ROWS:,} rows and columns", SLIDES, plain, ROWS,
             f"it has {plain:,}"),
        # Without the seconds in words: results.md has those of the present code.
        replace(within("a NashConv of 0.01 chips in the whole game in under 90 s", OURS, 0.01, min(best.gap),
                       best.reached(0.01), 90.0), detail=""),
        replace(within("a NashConv of 0.001 chips within ten minutes", OURS, 0.001, min(best.gap),
                       best.reached(0.001), 600.0), detail=""),
        Claim("in half a gigabyte", OURS, [Comparison(best.rss / 1e9, "<=", 0.5)], unit=RUN),
    ]  # fmt: skip


def _data(run: Solved) -> dict[str, Any]:
    return {
        "solver": run.solver, "iteration": list(run.iteration), "seconds": list(run.seconds), "gap": list(run.gap),
        "value": run.value, "interval": list(run.interval), "rss": run.rss,
    }  # fmt: skip


PART = Experiment("rhode-island", "Rhode Island hold'em", Plan(starts=1), Plan(starts=1), runs, gather, claims, page,
                  ignores=("iterations",), instead="--until")  # fmt: skip
