"""Rhode Island hold'em, the whole game, by first-order methods: NashConv against time, peak memory, and the value.

Each solver runs in a process of its own, by `kibitz solve`, so that its peak memory is its own. NashConv is exact: best
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

from kibitz.core.errors import SolverError
from kibitz.games import game
from kibitz.papers.claims import OURS, RUN, Claim, Comparison, fact, within
from kibitz.papers.experiment import Experiment, Page, PaperPlan
from kibitz.papers.runs import Answers, Run
from kibitz.poker.exact.form import poker_form
from kibitz.report.figures import Curves, FigurePanel, Line, Sheet

SLIDES = "slides"  # where a claim comes from
GAME = "rhode_island"
SMALL_BET = 10
BEST = "dcfr+"  # goes on to the plan's NashConv; the others stop at the first target
OTHERS = ("cfr+", "cfr+(averaging=quadratic)", "dcfr", "pcfr+", "pdcfr+")
TARGETS = (1.0, 0.1, 0.01, 0.001)
PATIENCE, LONG = 150.0, 600.0  # seconds for the others, and for the best
# What the slides say.
NODES, ROWS, SHRUNK_ROWS = 3.1e9, 91_224_226, 1_237_238
CPLEX = "8 days, 25 GB"


class SolverCourse:
    """NashConv of a solver at each of its evaluations."""

    iteration: tuple[int, ...]
    seconds: tuple[float, ...]
    gap: tuple[float, ...]

    def reached(self, gap: float) -> tuple[int, float] | None:
        """(iterations, seconds) at the first evaluation with a NashConv of at most `gap`."""
        rows = zip(self.iteration, self.seconds, self.gap, strict=True)
        return next(((iteration, used) for iteration, used, left in rows if left <= gap and iteration), None)


@dataclass(frozen=True)
class SolverTimes(SolverCourse):
    """How one solver did: iterations, seconds and NashConv at each evaluation."""

    solver: str
    iteration: tuple[int, ...]
    seconds: tuple[float, ...]
    gap: tuple[float, ...]
    value: float  # of seat 0, of the last profile
    interval: tuple[float, float]  # in which the value of the game lies
    rss: int  # bytes, peak memory of the process

    def line(self, above: float = -1.0) -> Line:
        """NashConv by time, from the first iteration on, where it is above a number."""
        rows = zip(self.iteration, self.seconds, self.gap, strict=True)
        kept = [(used, gap) for iteration, used, gap in rows if iteration > 0 and used > 0 and gap > above]
        return Line(self.solver, tuple(used for used, _ in kept), tuple(gap for _, gap in kept), (0.0,) * len(kept))


def run_solver(solver: str, until: float, seconds: float, name: str) -> SolverTimes:
    """Solve the game in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "evaluations.jsonl"
        command = [sys.executable, "-m", "kibitz.cli", "solve", name, "--solver", solver, "--until", repr(until),
                   "--seconds", repr(seconds), "--log", str(log), "--json"]  # fmt: skip
        with open(Path(folder) / "out", "w+") as out, open(Path(folder) / "err", "w+") as err:
            code = subprocess.run(command, stdout=out, stderr=err, check=False).returncode
            err.seek(0)
            if code:
                raise SolverError(f"{' '.join(command[1:])} failed: {err.read().strip()[-500:]}")
            out.seek(0)
            answer = json.loads(out.read())
        rows = [json.loads(line) for line in log.read_text().splitlines()]
    iteration, used, gap = (tuple(row[key] for row in rows) for key in ("iteration", "seconds", "nash_conv"))
    best, value = answer["best_response"], answer["value"][0]
    return SolverTimes(solver, iteration, used, gap, value, (-best[1], best[0]), answer["peak_bytes"])


@dataclass(frozen=True)
class RhodeIslandSizes:
    """The sizes of the game."""

    histories: int
    programme: tuple[int, int]  # rows of the linear programme: of the whole game, and up to the names of suits
    classes: tuple[int, ...]  # of hands on boards, by round


def sizes(name: str) -> RhodeIslandSizes:
    form = poker_form(game(name))
    return RhodeIslandSizes(form.histories, form.programme_size, tuple(cards.classes for cards in form.cards.rounds))


def runs(plan: PaperPlan) -> list[Run]:
    """Each is timed, and has a process of its own on all cores: so one after another."""
    others = [(solver, max(plan.until, 0.01), PATIENCE, GAME) for solver in OTHERS]
    return [
        Run("rhode island: sizes", sizes, [(GAME,)], reads=RhodeIslandSizes),
        Run("rhode island: compiling", run_solver, [(BEST, 1.0, 600.0, "poker(file=kuhn)")]),
        Run("solving rhode island", run_solver, [(BEST, plan.until, LONG, GAME), *others], reads=SolverTimes),
    ]


Results = tuple[RhodeIslandSizes, list[SolverTimes]]  # the runs begin with that of BEST


def gather(plan: PaperPlan, answers: Answers) -> Results:
    return answers["rhode island: sizes"][0], answers["solving rhode island"]


def page(plan: PaperPlan, results: Results, claims: Sequence[Claim]) -> Page:
    whole, runs = results
    best = runs[0]
    low, high = best.interval
    return Page(
        about="Rhode Island hold'em is solved whole: betting times cards, boards and hands up to the names of suits, "
        "without a payoff matrix and without losing anything. Each solver has a process of its own on all cores; the "
        "gap is nash_conv by exact best responses in the whole game, in chips: a small bet is 10.",
        departs=(
            "The slides solve the linear programme of the game that GameShrink made, by CPLEX's barrier method; here "
            "the whole game is solved to a small gap, by first-order methods.",
        ),
        sheets=(_slides_sheet(whole, best), _solver_sheet(runs)), pictures=(_curves(runs),),
        figures={
            "value": [low, high], "histories": whole.histories, "programme": list(whole.programme),
            "runs": [asdict(run) for run in runs],
        },
        summary=f"The value of Rhode Island hold'em for the first seat lies between {low:.4f} and {high:.4f} chips: a "
        f"NashConv of {best.gap[-1]:.4f} after {best.iteration[-1]:,} iterations.",
    )  # fmt: skip


def _slides_sheet(whole: RhodeIslandSizes, best: SolverTimes) -> Sheet:
    plain, renamed = whole.programme
    cards = " / ".join(f"{classes:,}" for classes in whole.classes)
    return Sheet(
        "Rhode Island hold'em: the slides' figures and ours", ("figure", "slides", "ours"),
        [("nodes of the game tree", f"{NODES / 1e9:g} billion", f"{whole.histories:,}"),
         ("linear programme of the whole game, rows", f"{ROWS:,}", f"{plain:,}"),
         ("after GameShrink, rows", f"{SHRUNK_ROWS:,}", "see the part gameshrink"),
         ("classes of hands on boards, by round", "", cards),
         ("linear programme within these classes, rows", "", f"{renamed:,}"),
         ("time and memory", CPLEX, "below"),
         ("gap in the whole game, chips", "'exact Nash equilibrium'", f"{best.gap[-1]:.5f}"),
         ("value for the first seat, chips", "", f"{best.interval[0]:.5f} to {best.interval[1]:.5f}"),],
        f"Ours by {best.solver}, {best.iteration[-1]:,} iterations. The slides do not say how nodes are counted; ours "
        "are all histories: chance, decisions and ends, with private cards dealt one seat after the other. How "
        "long it takes and how much memory: [results.md](results.md), by machine. Times are of machines many years "
        "apart, and of an exact solution of a smaller programme against a small NashConv in the whole game.",
    )  # fmt: skip


def _solver_sheet(runs: list[SolverTimes]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        pairs = ((run.reached(target), runs[0].reached(target)) for target in TARGETS)
        cells = (f"{here[0]:,} ({here[1] / first[1]:.2f})" if here and first else "" for here, first in pairs)
        rows.append((run.solver, *cells, f"{run.gap[-1]:.5f}"))
    head = (*(f"to {target:g}" for target in TARGETS), "last NashConv")
    return Sheet(
        f"Iterations to a NashConv in the whole game, in chips (time, {BEST} = 1)", ("solver", *head), rows,
        f"Times include evaluations. Others than {BEST} stop at 0.01 or after {PATIENCE:g} s. Seconds and memory are "
        "in [results.md](results.md), by machine: the figures of the present code.",
    )


def _curves(runs: list[SolverTimes]) -> Curves:
    lines = (run.line() for run in runs)
    levels = tuple((f"{target:g} chips", target) for target in (0.01, 0.001))
    return Curves(
        "rhode-island", "Rhode Island hold'em: gap against time", "gap in the whole game (chips)",
        (FigurePanel("", tuple(lines), levels),), log_y=True, across="seconds",
        note="Each line is one run. The gap is exact: best responses of both seats among 6.7 billion histories.",
    )  # fmt: skip


def claims(results: Results) -> list[Claim]:
    whole, (best, *_) = results
    plain = whole.programme[0]
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


PART = Experiment("rhode-island", "Rhode Island hold'em", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather,
                  claims, page, ignores=("iterations",), instead="--until")  # fmt: skip
