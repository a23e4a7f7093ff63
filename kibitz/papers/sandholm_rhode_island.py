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
from kibitz.report.text import by_round

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
    programme: tuple[int, int]  # rows of the linear program: of the whole game, and up to suit isomorphism
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
    best, solvers = runs[0], _solver_sheet(runs)
    low, high = best.interval
    return Page(
        about="Rhode Island hold'em is also solved without abstraction: betting tree times cards, up to suit "
              "isomorphism, "
        "without a payoff matrix. Each solver runs in a process of its own on all cores. NashConv is in chips (a small "
        "bet is 10), by exact best responses in the unabstracted game.",
        departs=(
            "The slides solve the linear program of the abstract game with CPLEX's barrier method; "
            "here the unabstracted game is solved to a small NashConv with first-order methods.",
        ),
        sheets=(_slides_sheet(whole, best), solvers), pictures=(targets_picture(solvers.rows),),
        figures={
            "value": [low, high], "histories": whole.histories, "programme": list(whole.programme),
            "runs": [asdict(run) for run in runs],
        },
        summary=f"The value of Rhode Island hold'em for the first player lies between {low:.4f} and {high:.4f} chips: "
        f"NashConv {best.gap[-1]:.4f} after {best.iteration[-1]:,} iterations.",
    )  # fmt: skip


def _slides_sheet(whole: RhodeIslandSizes, best: SolverTimes) -> Sheet:
    plain, renamed = whole.programme
    return Sheet(
        "Rhode Island hold'em: figures of the slides and ours", ("figure", "slides", "ours"),
        [("nodes of the game tree", f"{NODES / 1e9:g} billion", f"{whole.histories:,}"),
         ("linear program of the unabstracted game, rows", f"{ROWS:,}", f"{plain:,}"),
         ("after GameShrink, rows", f"{SHRUNK_ROWS:,}", "see the classes of GameShrink"),
         ("classes of hands on boards, by round", "", by_round(whole.classes)),
         ("linear program with these classes, rows", "", f"{renamed:,}"),
         ("time and memory", CPLEX, "see results.md"),
         ("NashConv in the unabstracted game, chips", "'exact Nash equilibrium'", f"{best.gap[-1]:.5f}"),
         ("value for the first player, chips", "", f"{best.interval[0]:.5f} to {best.interval[1]:.5f}"),],
        f"Ours by {best.solver}, {best.iteration[-1]:,} iterations. The slides do not say how nodes are counted; ours "
        "are all histories (chance, decisions and terminals), with private cards dealt one player after the other. "
        "Time and memory are in [results.md](results.md), by machine. Times are of machines many years apart, and "
        "compare an exact solution of a smaller program with a small NashConv in the unabstracted game.",
    )  # fmt: skip


def _solver_sheet(runs: list[SolverTimes]) -> Sheet:
    rows: list[tuple[str, ...]] = []
    for run in runs:
        pairs = ((run.reached(target), runs[0].reached(target)) for target in TARGETS)
        cells = (f"{here[0]:,} ({here[1] / first[1]:.2f})" if here and first else "" for here, first in pairs)
        rows.append((run.solver, *cells, f"{run.gap[-1]:.5f}"))
    head = (*(f"to {target:g}" for target in TARGETS), "last NashConv")
    return Sheet(
        f"Iterations to a target NashConv in the unabstracted game, in chips (relative time, {BEST} = "
        "1)", ("solver", *head), rows,
        f"Times include best-response evaluation. Solvers other than {BEST} stop at 0.01 or after {PATIENCE:g} s. "
        "Seconds and memory of the present code are in [results.md](results.md), by machine.",
    )


def targets_picture(rows: Sequence[Sequence[str]]) -> Curves:
    """The sheet of iterations to a target as a picture."""
    lines = []
    for solver, *cells, _ in rows:
        reached = [(float(cell.split()[0].replace(",", "")), gap)
                   for gap, cell in zip(TARGETS, cells, strict=True) if cell]  # fmt: skip
        if reached:
            at, gaps = zip(*reached, strict=True)
            lines.append(Line(solver, at, gaps, (0.0,) * len(at)))
    return Curves(
        "rhode-island", "Rhode Island hold'em without abstraction: iterations to a target NashConv", "NashConv (chips)",
        (FigurePanel("", tuple(lines)),), log_y=True,
        note="Each line is one run. NashConv is exact: best responses of both players over 6.7 billion histories. "
        f"Solvers other than {BEST} stop at 0.01.",
    )  # fmt: skip


def claims(results: Results) -> list[Claim]:
    whole, (best, *_) = results
    plain = whole.programme[0]
    return [
        fact(f"without abstraction the linear program has {ROWS:,} rows and columns", SLIDES, plain, ROWS,
             f"it has {plain:,}"),
        # Without the seconds in words: results.md has those of the present code.
        replace(within("a NashConv of 0.01 chips in the unabstracted game in under 90 s", OURS, 0.01, min(best.gap),
                       best.reached(0.01), 90.0), detail=""),
        replace(within("a NashConv of 0.001 chips within ten minutes", OURS, 0.001, min(best.gap),
                       best.reached(0.001), 600.0), detail=""),
        Claim("half a gigabyte of memory is enough", OURS, [Comparison(best.rss / 1e9, "<=", 0.5)], unit=RUN),
    ]  # fmt: skip


PART = Experiment("rhode-island", "Rhode Island hold'em", PaperPlan(starts=1), PaperPlan(starts=1), runs, gather,
                  claims, page, ignores=("iterations",), instead="--until")  # fmt: skip
