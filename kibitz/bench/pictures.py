"""The README's picture: `python -m kibitz.bench.pictures` solves Leduc by each solver and draws NashConv."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from kibitz.games import game as make_game
from kibitz.games.tree import Tree, tree_of
from kibitz.report.plot import LineEnd, empty_figure, name_ends, set_log_ticks, unit_of
from kibitz.report.text import duration
from kibitz.solvers import RunOptions
from kibitz.solvers.run import solve

SOLVERS = ["fp", "mccfr", "cfr", "lcfr", "pcfr+", "dcfr", "cfr+"]
RUNS = 3  # of each solver
# Okabe & Ito's palette, which colour-blind readers can tell apart.
COLOURS = ["#999999", "#CC79A7", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#0072B2"]


def race(path: Path, spec: str = "leduc", seconds: float = 4.0) -> None:
    """NashConv against time of every iterative solver on one game, one thread each, with the exact programme's time.

    Time is the processor's, which other work on the machine does not stretch.
    """
    tree = tree_of(make_game(spec))
    curves = {name: _typical(tree, name, seconds) for name in SOLVERS}
    solve(tree, "lp")
    exact = median(_run(tree, "lp")[-1][0] for _ in range(RUNS))
    title = f"Leduc hold'em ({tree.histories:,} histories): NashConv over time"
    race_plot(curves, exact, title, unit_of(spec)).savefig(path)


def _typical(tree: Tree, name: str, seconds: float) -> list[tuple[float, float]]:
    """(seconds, NashConv) at each measurement: the median time of some runs."""
    solve(tree, name, iterations=10, threads=1)  # compiled code is loaded off the clock
    runs = [_run(tree, name, seconds=seconds, threads=1) for _ in range(RUNS)]
    most = min(map(len, runs)) - 1  # measured after the same iterations, but for the last
    return [(median(run[k][0] for run in runs), runs[0][k][1]) for k in range(1, most)]


def _run(tree: Tree, name: str, **options: Any) -> list[tuple[float, float]]:
    points: list[tuple[float, float]] = []
    began = time.process_time()
    run = RunOptions(progress=lambda now: points.append((time.process_time() - began, now.nash_conv)))
    solve(tree, name, run=run, **options)
    return points


def race_plot(curves: dict[str, list[tuple[float, float]]], exact: float, title: str, unit: str) -> Any:
    """Lines of NashConv against seconds, with their names beside their ends; a mark where the exact solver is done."""
    figure = empty_figure(9, 5, dpi=160)
    axes = figure.add_axes((0.1, 0.11, 0.77, 0.8))
    for (_, points), colour in zip(curves.items(), COLOURS, strict=False):
        axes.plot([t for t, _ in points], [gap for _, gap in points], color=colour, linewidth=2)
    times = [exact, *(t for points in curves.values() for t, _ in points)]
    gaps = [gap for points in curves.values() for _, gap in points if gap > 0]
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.8 * min(times), 1.1 * max(times))
    axes.set_ylim(0.6 * min(gaps), 1.8 * max(gaps))
    set_log_ticks(axes.xaxis, *axes.get_xlim())
    set_log_ticks(axes.yaxis, *axes.get_ylim())
    ends = [LineEnd(*points[-1], name, colour) for (name, points), colour in zip(curves.items(), COLOURS, strict=False)]
    name_ends(axes, ends, 0.8 * 5, 10)
    axes.axvline(exact, color="black", linestyle=":", linewidth=1)
    axes.annotate(
        f"lp: exact after {duration(exact)}", (exact, 1.0), (4, -4), xycoords=("data", "axes fraction"),
        textcoords="offset points", va="top", fontsize=9,
    )  # fmt: skip
    axes.set_xlabel(f"processor seconds on one core, median of {RUNS} runs")
    axes.set_ylabel(f"NashConv, {unit}")
    axes.set_title(title, loc="left")
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


if __name__ == "__main__":
    race(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/leduc.png"))
