"""Plots, drawn without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kibitz.core.errors import ArtefactError

if TYPE_CHECKING:
    from kibitz.solvers.result import Evaluation

ENDINGS = (".png", ".svg", ".pdf")
# Okabe & Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
# Marks of time, from a tenth of a millisecond to a thousand hours.
CLOCK = {
    **{f"{0.1 * n:g} ms": 1e-4 * n for n in (1, 2, 5)},
    **{f"{n} ms": 1e-3 * n for n in (1, 2, 5, 10, 20, 50)},
    **{f"{n:g} s": n for n in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)},
    **{f"{n} min": 60.0 * n for n in (1, 2, 5, 10, 20, 30)},
    **{f"{n} h": 3600.0 * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)},
}
CLOSE = 0.08  # of the width: marks of time stand no nearer


def convergence(
    history: Sequence[Evaluation],
    path: Path,
    game: str,
    solver: str,
    until: float | None = None,
    exact: float | None = None,
    one_step: bool = False,
) -> None:
    """Draw the NashConv of a run against its iterations, with the time above, and save it to `path`.

    `until` is the NashConv that was asked for, `exact` the value of seat 0 where it is known: both are shown if given.
    `one_step`: the solver is exact and has no curve; the figures are told in words.
    """
    figure = convergence_plot(history, game, solver, until, exact, one_step)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise ArtefactError(f"cannot write the plot {path}: {error.strerror or error}") from None


def convergence_plot(
    history: Sequence[Evaluation],
    game: str,
    solver: str,
    until: float | None = None,
    exact: float | None = None,
    one_step: bool = False,
) -> Any:
    """The figure itself."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from kibitz.report.axes import unit_of
    from kibitz.report.text import gap

    points = [] if one_step else [each for each in history if each.iteration > 0 and each.nash_conv > 0]
    figure = Figure(figsize=(8, 5 if points else 2.2), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    if points:
        axes.set_xlabel("iterations")
        axes.set_ylabel(f"NashConv, {unit_of(game)}")
        _draw(axes, points, until)
    else:
        axes.set_axis_off()
        last = history[-1].nash_conv if history else 0.0
        said = f"NashConv: {gap(last)} {unit_of(game)}"
        if one_step:
            said = f"{solver} solves the game in one step, so there is no curve.\n{said}"
        axes.text(0.5, 0.5, said, ha="center", va="center", transform=axes.transAxes, fontsize=12, parse_math=False)
    name = game if len(game) <= 60 else game[:57] + "..."
    _above(axes, f"{name} by {solver}", 48, fontsize=14, fontweight="bold")
    if history:
        _above(axes, _summary(history[-1], exact, one_step), 30, fontsize=9.5, color=GREY)
    return figure


def _draw(axes: Any, points: Sequence[Evaluation], until: float | None) -> None:
    import numpy as np

    from kibitz.report.axes import set_log_ticks
    from kibitz.report.text import gap

    x = np.array([each.iteration for each in points], float)
    y = np.array([each.nash_conv for each in points])
    marker = "o" if len(points) < 12 else None
    axes.loglog(x, y, color=BLUE, linewidth=2, marker=marker, markersize=4, solid_capstyle="round")
    axes.plot(x[-1], y[-1], "o", color=BLUE, markersize=7, zorder=5)
    axes.annotate(
        gap(float(y[-1])), (x[-1], y[-1]), xytext=(9, 0), textcoords="offset points", va="center",
        color=BLUE, fontsize=11, fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    span = max(10.0, float(x[-1] / x[0]))
    few = 0.4 if len(points) == 1 else 0.02  # a point alone stands in the middle
    axes.set_xlim(x[0] / span**few, x[-1] * span ** max(few, 0.17))  # room for the label at the end
    low, high = float(y.min()), float(y.max())
    if until is not None and until > 0:
        low, high = min(low, until), max(high, until)
    axes.set_ylim(0.7 * low, 1.4 * high)
    set_log_ticks(axes.xaxis, *axes.get_xlim())
    set_log_ticks(axes.yaxis, 0.7 * low, 1.4 * high)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.grid(True, which="minor", color="#f2f2f2", linewidth=0.5)
    axes.set_axisbelow(True)
    _clock(axes, x, np.array([each.seconds for each in points]))
    if until is not None and until > 0:
        axes.axhline(until, color=ORANGE, linewidth=1.2, linestyle=(0, (5, 4)), zorder=1)
        axes.annotate(
            f"target: {until:g}", (0.01, until), xycoords=("axes fraction", "data"), xytext=(0, 4),
            textcoords="offset points", color=ORANGE, fontsize=9,
        )  # fmt: skip


def _clock(axes: Any, iterations: Any, seconds: Any) -> None:
    """Marks of time along the top, where the run had taken so long."""
    from matplotlib.ticker import NullLocator

    marks = time_marks(iterations, seconds)
    top = axes.secondary_xaxis("top")
    top.spines["top"].set_visible(False)
    top.set_xticks(list(marks.values()), list(marks), fontsize=8.5)
    top.xaxis.set_minor_locator(NullLocator())
    top.tick_params(color=GREY, labelcolor=GREY)
    top.set_xlabel("time", fontsize=8.5, color=GREY, loc="right")


def time_marks(iterations: Any, seconds: Any) -> dict[str, float]:
    """Names of marks of time, and the iterations that a run had done by then; its end where no round time fits."""
    import numpy as np

    from kibitz.report.text import duration

    wide = float(np.log(iterations[-1] / iterations[0])) or 1.0
    kept: dict[str, float] = {}
    for name, t in CLOCK.items():
        at = float(np.interp(t, seconds, iterations))
        near = any(abs(np.log(at / other)) < CLOSE * wide for other in kept.values())
        if seconds[0] <= t <= seconds[-1] and not near:
            kept[name] = at
    return kept or {duration(float(seconds[-1])): float(iterations[-1])}


def _above(axes: Any, text: str, points: float, **style: Any) -> None:
    """Text left-aligned with the axes, so many points above them; matplotlib sees no mathematics in it."""
    axes.annotate(
        text, (0, 1), xycoords="axes fraction", xytext=(0, points), textcoords="offset points", va="baseline",
        parse_math=False, **style,
    )  # fmt: skip


def _summary(last: Evaluation, exact: float | None, one_step: bool) -> str:
    from kibitz.report.text import duration

    work = "solved exactly" if one_step else f"{last.iteration:,} iteration{'s' * (last.iteration != 1)}"
    parts = [f"{work} in {duration(last.seconds)}"]
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
