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
CLOCK = {
    "1 ms": 1e-3, "10 ms": 1e-2, "0.1 s": 0.1, "1 s": 1.0, "10 s": 10.0, "1 min": 60.0, "10 min": 600.0, "1 h": 3600.0,
    "10 h": 36000.0, "100 h": 360000.0,
}  # fmt: skip


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
    axes.set_xlabel("iterations")
    axes.set_ylabel("gap (nash_conv)")
    axes.spines[["top", "right"]].set_visible(False)
    points = [look for look in looks if look.iteration > 0 and look.gap > 0]
    if points:
        _draw(axes, points, until)
    else:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, "the gap is 0", ha="center", va="center", transform=axes.transAxes, color=GREY)
    name = game if len(game) <= 60 else game[:57] + "..."
    _above(axes, f"{name} by {solver}", 48, fontsize=14, fontweight="bold")
    if looks:
        _above(axes, _summary(looks[-1], exact), 30, fontsize=9.5, color=GREY)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise ArtefactError(f"cannot write the plot {path}: {error.strerror or error}") from None


def _draw(axes: Any, points: Sequence[Look], until: float | None) -> None:
    import numpy as np
    from matplotlib.ticker import EngFormatter, NullFormatter

    from kibitz.report.text import gap

    x = np.array([look.iteration for look in points], float)
    y = np.array([look.gap for look in points])
    marker = "o" if len(points) < 12 else None
    axes.loglog(x, y, color=BLUE, linewidth=2, marker=marker, markersize=4, solid_capstyle="round")
    axes.plot(x[-1], y[-1], "o", color=BLUE, markersize=7, zorder=5)
    axes.annotate(
        gap(float(y[-1])), (x[-1], y[-1]), xytext=(9, 0), textcoords="offset points", va="center",
        color=BLUE, fontsize=11, fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    span = max(10.0, float(x[-1] / x[0]))
    axes.set_xlim(x[0] / span**0.02, x[-1] * span**0.17)  # room for the label at the end
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.grid(True, which="minor", color="#f2f2f2", linewidth=0.5)
    axes.set_axisbelow(True)
    _clock(axes, x, np.array([look.seconds for look in points]))
    if until is not None and until > 0:
        axes.axhline(until, color=ORANGE, linewidth=1.2, linestyle=(0, (5, 4)), zorder=1)
        axes.annotate(
            f"asked for: {until:g}", (0.01, until), xycoords=("axes fraction", "data"), xytext=(0, 4),
            textcoords="offset points", color=ORANGE, fontsize=9,
        )  # fmt: skip


def _clock(axes: Any, iterations: Any, seconds: Any) -> None:
    """Marks of time along the top, where the run had taken so long."""
    import numpy as np
    from matplotlib.ticker import NullLocator

    marks = {name: t for name, t in CLOCK.items() if seconds[0] <= t <= seconds[-1]}
    top = axes.secondary_xaxis("top")
    top.spines["top"].set_visible(False)
    top.set_xticks(np.interp(list(marks.values()), seconds, iterations), list(marks), fontsize=8.5)
    top.xaxis.set_minor_locator(NullLocator())
    top.tick_params(color=GREY, labelcolor=GREY)


def _above(axes: Any, text: str, points: float, **style: Any) -> None:
    """Text left-aligned with the axes, so many points above them; matplotlib sees no mathematics in it."""
    axes.annotate(
        text, (0, 1), xycoords="axes fraction", xytext=(0, points), textcoords="offset points", va="baseline",
        parse_math=False, **style,
    )  # fmt: skip


def _summary(last: Look, exact: float | None) -> str:
    from kibitz.report.text import duration

    parts = [f"{last.iteration:,} iteration{'s' * (last.iteration != 1)} in {duration(last.seconds)}"]
    parts.append(f"value of seat 0: {last.value[0]:+.6f}")
    if exact is not None:
        parts[-1] += f" (exactly {exact:+.6f})"
    return "     ".join(parts)


def empty_figure(width: float, height: float) -> Any:
    """A figure of so many inches, for pictures that place their axes themselves."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150)
    FigureCanvasAgg(figure)
    return figure
