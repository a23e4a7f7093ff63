"""Pictures of a field of strategies: a crosstable as a heat map, a figure of each strategy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from kibitz.report.figures import Curves, Dot, FigurePoints, Heat, Picture, Scatter, Times
from kibitz.report.plot import BLUE, GREY, ORANGE, empty_figure, save

# Okabe & Ito's palette, which colour-blind readers can tell apart.
COLOURS = (BLUE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
# Inches of a picture of strategies: its width, a strategy's line, what is left above and below.
WIDE, ROW, ABOVE, BELOW = 8.6, 0.27, 0.95, 0.95
FAR = 20.0  # a scale that goes further is logarithmic


def draw(picture: Picture, path: Path) -> None:
    """Draw a picture and save it to `path`."""
    from kibitz.report.curves import curves_plot
    from kibitz.report.times import times_plot

    if isinstance(picture, FigurePoints):
        figure = points_plot(picture)
    elif isinstance(picture, Curves):
        figure = curves_plot(picture)
    elif isinstance(picture, Times):
        figure = times_plot(picture)
    else:
        figure = heat_map(picture) if isinstance(picture, Heat) else size_plot(picture)
    save(figure, path, bbox_inches="tight", pad_inches=0.15, facecolor="white")


def heat_map(heat: Heat) -> Any:
    """Rows against columns: blue wins, red loses, with the figure in each cell and others beside the rows."""
    import numpy as np

    matrix = np.array(heat.matrix, float)
    m = len(heat.names)
    off = ~np.eye(m, dtype=bool) & ~np.isnan(matrix)
    most = float(np.abs(matrix[off]).max(initial=0.0)) or 1.0
    # One loud pair must not make the others pale.
    limit = max(float(np.quantile(np.abs(matrix[off]), 0.95)) if off.any() else most, most / 4, 1e-12)
    shown = np.ma.masked_array(matrix, mask=~off)
    cell = 0.62 if m <= 10 else 0.5
    longest = max(map(len, heat.names))
    figure = empty_figure(cell * m + 0.085 * longest + 0.9 * len(heat.side) + 0.8, cell * m + 1.6)
    axes = figure.add_axes((0.085 * longest / figure.get_figwidth(), 0.02, cell * m / figure.get_figwidth(),
                            cell * m / figure.get_figheight()))  # fmt: skip
    colours = _diverging()
    axes.imshow(shown, cmap=colours, vmin=-limit, vmax=limit, aspect="equal", interpolation="nearest")
    size = 9 if m <= 10 else 8
    for row in range(m):
        for column in range(m):
            if off[row, column]:
                x = matrix[row, column]
                strong = abs(x) > 0.62 * limit
                axes.text(column, row, _short(x, most), ha="center", va="center", fontsize=size,
                          color="white" if strong else "#222222")  # fmt: skip
    axes.set_xticks(range(m), [str(k + 1) for k in range(m)], fontsize=size + 0.5)
    axes.set_yticks(range(m), [f"{name}  {k + 1}" for k, name in enumerate(heat.names)], fontsize=size + 0.5)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xticks(np.arange(m + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(m + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)
    for k, (title, values) in enumerate(heat.side):
        x = m - 0.5 + (0.9 * k + 0.75) / cell
        axes.text(x, -0.62, title, ha="right", va="bottom", fontsize=size, color=GREY, rotation=0)
        for row, value in enumerate(values):
            axes.text(x, row, _short(value, max(map(abs, values))), ha="right", va="center", fontsize=size)
    lines = wrap(heat.title, max(30, int(8.5 * (cell * m + 0.9 * len(heat.side)))))
    axes.annotate(
        "\n".join(lines), (0, 1), xycoords="axes fraction", xytext=(0, 30), textcoords="offset points", fontsize=12,
        fontweight="bold", parse_math=False,
    )  # fmt: skip
    return figure


def _diverging() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    hues = ["#a63603", "#f0a35e", "#f7f7f7", "#6baed6", "#08519c"]
    return LinearSegmentedColormap.from_list("winnings", hues).with_extremes(bad="#e6e6e6")


def _short(x: float, most: float) -> str:
    digits = 0 if most >= 100 else 1 if most >= 1 else 3
    return f"{round(x, digits) + 0.0:.{digits}f}"  # adding 0.0 turns -0 into 0


def points_plot(picture: FigurePoints) -> Any:
    """A dot for each pair of figures; on the line both are equal. Scales that go far are logarithmic beyond 1."""
    figure = empty_figure(7.2, 6.2, layout="constrained")
    axes = figure.subplots()
    every = [x for group in picture.groups for point in group.points for x in point]
    low, high = min([0.0, *every]), max([0.0, *every])
    axes.plot([low, high], [low, high], color=GREY, linewidth=1, zorder=1)
    for k, group in enumerate(picture.groups):
        colour = COLOURS[k % len(COLOURS)]
        axes.plot([x for x, _ in group.points], [y for _, y in group.points], "o", markersize=4, alpha=0.6,
                  markeredgewidth=0, color=colour, label=f"{group.name} ({len(group.points)})")  # fmt: skip
    if high > FAR:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_xlabel(picture.across)
    axes.set_ylabel(picture.label)
    axes.set_title(picture.title, fontsize=12.5, fontweight="bold", loc="left")
    axes.grid(color="#ececec", linewidth=0.7)
    axes.legend(fontsize=9, frameon=False)
    return figure


def size_plot(scatter: Scatter) -> Any:
    """A panel for each group, with a line for each of its strategies: the mean and the range over initialisations."""
    groups = list(dict.fromkeys(dot.group for dot in scatter.dots))
    members = [[dot for dot in scatter.dots if dot.group == group] for group in groups]
    heights = [ROW * (len(dots) + 0.6) for dots in members]
    longest = max(len(_named(dot)) for dot in scatter.dots)
    left = 0.085 * longest + 0.25
    high = ABOVE + sum(heights) + 0.5 * (len(groups) - 1) + BELOW
    figure = empty_figure(WIDE, high)
    first, at = None, high - ABOVE
    for k, dots in enumerate(members):
        at -= heights[k]
        axes = figure.add_axes((left / WIDE, at / high, (WIDE - left - 0.25) / WIDE, heights[k] / high), sharex=first)
        at -= 0.5
        first = first or axes
        _panel(axes, dots, COLOURS[k % len(COLOURS)])
        axes.set_title(f"{scatter.heading}{groups[k]}", fontsize=10.5, loc="left", color=COLOURS[k % len(COLOURS)])
        if k == len(groups) - 1:
            axes.set_xlabel(scatter.label, fontsize=10)
        else:
            axes.tick_params(labelbottom=False)
    figure.text(0.1 / WIDE, 1 - 0.35 / high, scatter.title, fontsize=12.5, fontweight="bold", parse_math=False)
    figure.text(0.1 / WIDE, 0.15 / high, _legend(scatter), fontsize=9.5, color=GREY, parse_math=False)
    return figure


def _legend(scatter: Scatter) -> str:
    """What the signs stand for."""
    parts = ["● mean, with the range over random initialisations"]
    if any(dot.beyond for dot in scatter.dots):
        parts.append(f"○ {scatter.beyond}")
    if any(dot.paper is not None for dot in scatter.dots):
        parts.append("× the paper's figure")
    return "    ".join([*parts, "in brackets: infosets of the largest game solved"])


def _named(dot: Dot) -> str:
    return f"{dot.name} ({dot.size:,})"


def _panel(axes: Any, dots: Sequence[Dot], colour: str) -> None:
    for k, dot in enumerate(dots):
        shade, fill = GREY if dot.beyond else colour, "white" if dot.beyond else colour
        axes.plot([dot.low, dot.high], [k, k], color=shade, linewidth=1.6, alpha=0.55, zorder=2)
        axes.plot(dot.mean, k, "o", markersize=6, markerfacecolor=fill, markeredgecolor=shade, zorder=3)
        if dot.paper is not None:
            axes.plot(dot.paper, k, "x", color=ORANGE, markersize=7, markeredgewidth=1.8, zorder=4)
    axes.set_yticks(range(len(dots)), [_named(dot) for dot in dots], fontsize=9.5)
    axes.set_ylim(len(dots) - 0.2, -0.8)
    axes.axvline(0.0, color="#bbbbbb", linewidth=0.8, zorder=1)
    axes.grid(axis="both", color="#ececec", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=9.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
