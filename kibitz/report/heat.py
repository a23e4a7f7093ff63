"""Pictures of a field of strategies: a crosstable as a heat map, a figure against the size of the computation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kibitz.report.figures import Curves, Dot, Heat, Scatter
from kibitz.report.plot import BLUE, GREY, ORANGE, empty_figure, save

# Okabe & Ito's palette, which colour-blind readers can tell apart.
COLOURS = (BLUE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STEP = 0.27  # how far dots of one size stand apart, in steps of the axis
# Inches: of a step, of the panels' height, of what is left, above and below them, of a name and of a line of names. A
# page shows a figure about eight inches wide, so names stand below it and not beside.
PANEL, TALL, LEFT, ABOVE, BELOW, NAME, LINE = 0.78, 3.5, 0.9, 0.9, 0.75, 3.3, 0.21


def draw(picture: Heat | Scatter | Curves, path: Path) -> None:
    """Draw a picture and save it to `path`."""
    from kibitz.report.curves import curves_plot

    if isinstance(picture, Curves):
        figure = curves_plot(picture)
    else:
        figure = heat_map(picture) if isinstance(picture, Heat) else size_plot(picture)
    save(figure, path, bbox_inches="tight", pad_inches=0.15, facecolor="white")


def heat_map(heat: Heat) -> Any:
    """Rows against columns: blue wins, red loses, with the figure in each cell and others beside the rows."""
    import numpy as np

    matrix = np.array(heat.matrix, float)
    m = len(heat.names)
    off = ~np.eye(m, dtype=bool)
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
    size = 9 if m <= 10 else 7
    for row in range(m):
        for column in range(m):
            if row != column:
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
    axes.annotate(
        heat.title, (0, 1), xycoords="axes fraction", xytext=(0, 30), textcoords="offset points", fontsize=12,
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


def size_plot(scatter: Scatter) -> Any:
    """A panel for each base abstraction: mean and range over starts against size; numbers stand for strategies."""
    groups = list(dict.fromkeys(dot.group for dot in scatter.dots))
    names = list(dict.fromkeys(dot.name for dot in scatter.dots))
    sizes = {g: sorted({d.size for d in scatter.dots if d.group == g}) for g in groups}
    widths = [PANEL * max(_room([d for d in scatter.dots if d.group == g]), 1.4) for g in groups]
    lines = _legend(scatter, names)
    full = LEFT + max(sum(widths), 2 * NAME)
    columns = int((full - LEFT) / NAME)
    deep = BELOW + LINE * -(-len(lines) // columns)
    high = ABOVE + TALL + deep
    figure = empty_figure(full, high)
    first, at = None, LEFT
    for k, group in enumerate(groups):
        axes = figure.add_axes((at / full, deep / high, (widths[k] - 0.12) / full, TALL / high), sharey=first)
        at += widths[k]
        colour = COLOURS[k % len(COLOURS)]
        _panel(axes, [d for d in scatter.dots if d.group == group], names, sizes[group], colour)
        axes.set_title(f"base {group}", fontsize=10, color=colour, fontweight="bold")
        if first is None:
            first = axes
            axes.set_ylabel(scatter.label)
        else:
            axes.tick_params(labelleft=False)
    figure.text(LEFT / full, 1 - 0.35 / high, scatter.title, fontsize=12, fontweight="bold", parse_math=False)
    middle = (LEFT + sum(widths) / 2) / full
    figure.text(middle, (deep - 0.5) / high, "infosets in the largest computation", ha="center", fontsize=10)
    for k, (sign, text, colour) in enumerate(lines):
        column, line = divmod(k, -(-len(lines) // columns))
        x, y = (LEFT + 0.1 + NAME * column) / full, (deep - BELOW - LINE * (line + 0.5)) / high
        figure.text(x, y, sign, fontsize=9, color=colour, ha="right")
        figure.text(x + 0.09 / full, y, text, fontsize=9, color=colour, parse_math=False)
    return figure


def _legend(scatter: Scatter, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Signs and what they stand for, with their colours."""
    beyond = {dot.name for dot in scatter.dots if dot.beyond}
    lines = [("●", "mean, with the range over starts", "black")]
    if beyond:
        lines.append(("○", "beyond the paper", GREY))
    if any(dot.paper for dot in scatter.dots):
        lines.append(("×", "the paper's figure", ORANGE))
    return [*((str(k + 1), name, GREY if name in beyond else "black") for k, name in enumerate(names)), *lines]


def _room(dots: Sequence[Dot]) -> float:
    """How wide a panel is, in steps."""
    return sum(_share(dots, size) for size in {dot.size for dot in dots})


def _share(dots: Sequence[Dot], size: int) -> float:
    """How wide a size is: a step, or wider where many dots share it."""
    return max(0.8, STEP * (sum(dot.size == size for dot in dots) + 0.4))


def _panel(axes: Any, dots: Sequence[Dot], names: Sequence[str], sizes: Sequence[int], colour: str) -> None:
    middles, edge = [], 0.0
    for size in sizes:
        share = _share(dots, size)
        middles.append(edge + share / 2)
        here = sorted((d for d in dots if d.size == size), key=lambda d: names.index(d.name))
        for k, dot in enumerate(here):
            x = middles[-1] + STEP * (k - (len(here) - 1) / 2)
            _dot(axes, x, dot, str(names.index(dot.name) + 1), colour)
        edge += share
        if size != sizes[-1]:
            axes.axvline(edge, color="#e6e6e6", linewidth=0.8, zorder=0)
    axes.set_xlim(0, edge)
    axes.set_xticks(middles, [f"{s:,}" for s in sizes], fontsize=8.5)
    axes.axhline(0.0, color="#bbbbbb", linewidth=0.8, zorder=1)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.margins(y=0.08)
    axes.spines[["top", "right"]].set_visible(False)


def _dot(axes: Any, x: float, dot: Dot, number: str, colour: str) -> None:
    shade, fill, top = GREY if dot.beyond else colour, "white" if dot.beyond else colour, dot.spread.high
    axes.plot([x, x], [dot.spread.low, dot.spread.high], color=shade, linewidth=1.4, alpha=0.55, zorder=2)
    axes.plot(x, dot.spread.mean, "o", markersize=6, markerfacecolor=fill, markeredgecolor=shade, zorder=3)
    if dot.paper is not None:
        axes.plot([x, x], [dot.spread.mean, dot.paper[1]], ":", color=ORANGE, linewidth=0.9, zorder=2)
        axes.plot(x, dot.paper[1], "x", color=ORANGE, markersize=6, markeredgewidth=1.6, zorder=4)
        top = max(top, dot.paper[1])
    axes.annotate(number, (x, top), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8, color=shade)
