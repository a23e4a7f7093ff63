"""Plots, drawn without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.errors import ArtefactError

if TYPE_CHECKING:
    from kibitz.run import Look

ENDINGS = (".png", ".svg", ".pdf")
# Okabe & Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"


def convergence(
    looks: Sequence[Look], path: Path, game: str, solver: str, until: float | None = None, exact: float | None = None
) -> None:
    """Draw the gap of a run against its iterations, with the seconds above, and save it to `path`.

    `until` is the gap that was asked for, `exact` the value of seat 0 where it is known: both are shown if given.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    points = [look for look in looks if look.iteration > 0 and look.gap > 0]
    if points:
        _draw(axes, points, until)
    else:
        axes.text(0.5, 0.5, "the gap is 0", ha="center", va="center", transform=axes.transAxes, color=GREY)
    axes.set_xlabel("iterations")
    axes.set_ylabel("gap (nash_conv)")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.grid(True, which="minor", color="#f0f0f0", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    title = game if len(game) <= 60 else game[:57] + "..."
    heading = f"{_literal(title)} by {_literal(solver)}"
    figure.suptitle(heading, fontsize=14, fontweight="bold", x=0.02, ha="left")
    if looks:
        axes.set_title(_summary(looks[-1], exact), loc="left", fontsize=9.5, color=GREY, pad=10)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise ArtefactError(f"cannot write the plot {path}: {error.strerror or error}") from None


def _draw(axes: Any, points: Sequence[Look], until: float | None) -> None:
    import numpy as np

    x = np.array([look.iteration for look in points], float)
    y = np.array([look.gap for look in points])
    marker = "o" if len(points) < 12 else None
    axes.loglog(x, y, color=BLUE, linewidth=2, marker=marker, markersize=5, solid_capstyle="round")
    axes.plot(x[-1], y[-1], "o", color=BLUE, markersize=7, clip_on=False, zorder=5)
    axes.annotate(
        f"{y[-1]:.2g}", (x[-1], y[-1]), xytext=(-8, -12), textcoords="offset points", ha="right", va="top",
        color=BLUE, fontsize=11, fontweight="bold",
    )  # fmt: skip
    if until is not None and until > 0:
        axes.axhline(until, color=ORANGE, linewidth=1.2, linestyle=(0, (5, 4)), zorder=1)
        axes.annotate(
            f"asked for: {until:g}", (0.01, until), xycoords=("axes fraction", "data"), xytext=(0, 4),
            textcoords="offset points", color=ORANGE, fontsize=9,
        )  # fmt: skip


def _summary(last: Look, exact: float | None) -> str:
    from kibitz.report.text import duration

    parts = [f"{last.iteration:,} iterations in {duration(last.seconds)}"]
    parts.append(f"value of seat 0: {last.value[0]:+.6f}")
    if exact is not None:
        parts[-1] += f" (exactly {exact:+.6f})"
    return "     ".join(parts)


def _literal(text: str) -> str:
    """Text in which matplotlib sees no mathematics."""
    return text.replace("\\", "\\\\").replace("$", r"\$")
