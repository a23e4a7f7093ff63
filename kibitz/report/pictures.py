"""The README's picture: `python -m kibitz.report.pictures` solves Leduc by each solver and draws gap against time."""

from __future__ import annotations

import sys
from pathlib import Path

from kibitz.games import game as make_game
from kibitz.run import Report, solve
from kibitz.tree import tree_of

SOLVERS = ["fp", "mccfr", "cfr", "lcfr", "pcfr+", "dcfr", "cfr+"]
# Okabe & Ito's palette, which colour-blind readers can tell apart.
COLOURS = ["#999999", "#CC79A7", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#0072B2"]


def race(path: Path, spec: str = "leduc", seconds: float = 2.0) -> None:
    """Gap against seconds of every iterative solver on one game, one thread each, with the exact programme's time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tree = tree_of(make_game(spec))
    figure = Figure(figsize=(9, 5), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    ends: list[tuple[float, str, str]] = []
    for name, colour in zip(SOLVERS, COLOURS, strict=True):
        solve(tree, name, iterations=10, threads=1)  # compiled code is loaded off the clock
        report = Report()
        solve(tree, name, seconds=seconds, threads=1, report=report)
        looks = [look for look in report.looks if look.iteration > 0]
        axes.plot([x.seconds for x in looks], [x.gap for x in looks], color=colour, linewidth=2, label=name)
        ends.append((looks[-1].gap, name, colour))
    height = 0.0
    for gap, name, colour in sorted(ends):  # names beside the ends of their lines, and apart from one another
        height = max(gap, height * 2.0)
        axes.annotate(name, (seconds * 1.08, height), va="center", color=colour)
    report = Report()
    solve(tree, "lp")
    solve(tree, "lp", report=report)
    axes.axvline(report.seconds, color="black", linestyle=":", linewidth=1)
    axes.annotate(
        "lp: exact", (report.seconds, 1.0), (4, -4), xycoords=("data", "axes fraction"), textcoords="offset points",
        va="top", fontsize=9,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1e-4, seconds * 2)
    axes.set_xlabel("seconds on one core")
    axes.set_ylabel("gap (nash_conv), in chips")
    axes.set_title(f"Leduc hold'em ({tree.histories:,} histories): the gap to an equilibrium", loc="left")
    axes.grid(which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


if __name__ == "__main__":
    race(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/leduc.png"))
