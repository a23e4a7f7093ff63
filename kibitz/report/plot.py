"""Plots, drawn without a screen: convergence, and what all plots share: figures, ticks, names at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kibitz.core.errors import ArtefactError

if TYPE_CHECKING:
    from kibitz.solvers.result import Evaluation

ENDINGS = (".png", ".svg", ".pdf")
# Okabe & Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#666666"
# Marks of time, from a tenth of a millisecond to a thousand hours.
CLOCK = {
    **{f"{0.1 * n:g} ms": 1e-4 * n for n in (1, 2, 5)}, **{f"{n} ms": 1e-3 * n for n in (1, 2, 5, 10, 20, 50)},
    **{f"{n:g} s": n for n in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)},
    **{f"{n} min": 60.0 * n for n in (1, 2, 5, 10, 20, 30)},
    **{f"{n} h": 3600.0 * n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)},
}
APART = 0.17  # inches between names
ENDS_APART = 0.1  # of the width: lines that end so far apart do not end together
POKER = ("kuhn", "leduc", "rhode_island", "poker", "toepen")  # games whose payoffs are chips
CLOSE = 0.08  # of the width: marks of time stand no nearer


def convergence(
    history: Sequence[Evaluation], path: Path, game: str, solver: str, until: float | None = None,
    exact: float | None = None,
    one_step: bool = False,
) -> None:  # fmt: skip
    """Draw the NashConv of a run against its iterations, with the time above, and save it to `path`.

    `until` is the NashConv that was asked for, `exact` the value of seat 0 where it is known: both are optional.
    `one_step`: the solver is exact and has no curve; the figures are written in words.
    """
    save(convergence_plot(history, game, solver, until, exact, one_step), path)


def save(figure: Any, path: Path, **options: Any) -> None:
    """Save a figure, in a folder that is made if need be; a sentence if that cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, **options)
    except OSError as error:
        raise ArtefactError(f"cannot write the plot {path}: {error.strerror or error}") from None


def convergence_plot(
    history: Sequence[Evaluation], game: str, solver: str, until: float | None = None, exact: float | None = None,
    one_step: bool = False,
) -> Any:  # fmt: skip
    """The figure itself."""
    from kibitz.report.text import gap

    points = [] if one_step else [each for each in history if each.iteration > 0 and each.nash_conv > 0]
    figure = empty_figure(8, 5 if points else 2.2, dpi=160, layout="constrained")
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


def empty_figure(width: float, height: float, dpi: int = 150, layout: Any = None) -> Any:
    """A figure of so many inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout=layout)
    FigureCanvasAgg(figure)
    return figure


# Axes


def unit_of(game: str) -> str:
    """What payoffs of a game are counted in."""
    return "chips" if game.partition("(")[0].strip() in POKER else "payoff units"


def short(value: float) -> str:
    """A number beside an axis: 0.05, 1, 2.5k, 1M; 1e-05 below 0.0001."""
    size = abs(value)
    if 0 < size < 0.9999e-4:
        return f"{value:.4g}".replace("e-0", "e-")
    for letter, unit in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= 0.99999 * unit:
            return f"{value / unit:.6g}{letter}"
    return f"{value:.6g}"


def log_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """Ticks to be labelled on a logarithmic axis: powers of ten, with 2 and 5 between few, and never fewer than two."""
    import math

    from matplotlib.ticker import MaxNLocator

    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    step = max(1, -(-(last - first) // most))
    ticks: list[float] = []
    for factors in ((1.0,), (1.0, 2.0, 5.0)):
        powers = range(first, last + 1, step if len(factors) == 1 else 1)
        ticks = [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p * 1.000001 <= high * 1.00001]
        if len(ticks) > 2 or (len(ticks) == 2 and high > 5 * low and len(factors) > 1):
            return ticks
    if len(ticks) < 2 or high < 3 * low:
        ticks = [float(x) for x in MaxNLocator(5).tick_values(low, high) if low <= x <= high] or ticks
    return ticks if len(ticks) > 1 else [low, high]


def set_log_ticks(axis: Any, low: float, high: float) -> None:
    """Label an axis, which is logarithmic already, between two values of its data."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axis.set_major_locator(FixedLocator(log_ticks(low, high)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axis.set_minor_formatter(NullFormatter())


class LineEnd(NamedTuple):
    """Where a line ends, and what it is called."""

    x: float
    y: float
    name: str
    colour: str


def name_ends(axes: Any, ends: Sequence[LineEnd], inches: float, size: float = 8.5) -> None:
    """Names to the right of the axes, each tied to the end of its line, moved apart where they would touch.

    inches: how high the axes are; their limits are settled.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    step = APART * size / 8.5 / inches
    at = {end: to_axes.transform((end.x, end.y)) for end in ends}
    placed = sorted(ends, key=lambda end: float(at[end][1]))
    heights = spaced([float(at[end][1]) for end in placed], step)
    groups: list[list[LineEnd]] = []  # of names that were moved together
    for k, end in enumerate(placed):
        if k and heights[k] - heights[k - 1] < 1.001 * step:
            groups[-1].append(end)
        else:
            groups.append([end])
    named: list[LineEnd] = []
    for group in groups:
        across = [float(at[end][0]) for end in group]
        if max(across) - min(across) > ENDS_APART:  # the line that ends first is named highest: ties do not cross
            group = sorted(group, key=lambda end: -end.x)
        named += group
    for height, end in zip(heights, named, strict=True):
        axes.annotate(
            end.name, (end.x, end.y), xytext=(1.06, height), textcoords="axes fraction", va="center", fontsize=size,
            color=end.colour, annotation_clip=False, parse_math=False,
            arrowprops={"arrowstyle": "-", "color": end.colour, "linewidth": 0.6, "relpos": (0.0, 0.5),
                        "shrinkA": 1, "shrinkB": 1},
        )  # fmt: skip


def spaced(heights: Sequence[float], step: float) -> list[float]:
    """Ascending heights, moved as little as need be to stand a step apart: groups that touch keep their middle."""
    groups: list[tuple[float, int]] = []  # middle, how many
    for height in heights:
        middle, many = height, 1
        while groups and middle - groups[-1][0] < step * (many + groups[-1][1]) / 2:
            other, more = groups.pop()
            middle, many = (middle * many + other * more) / (many + more), many + more
        groups.append((middle, many))
    return [middle + step * (k - (many - 1) / 2) for middle, many in groups for k in range(many)]
