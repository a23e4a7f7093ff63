"""Figures over iterations: lines with their bands, and names at the ends of lines."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

from kibitz.report.figures import Curves, FigurePanel, Line
from kibitz.report.plot import BLUE, GREY, ORANGE, LineEnd, empty_figure, name_ends, set_log_ticks, short

# Okabe & Ito's palette, which colour-blind readers can tell apart; grey is for what others are compared with.
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#7A5195")
PANEL, NAMES, HEIGHT = 3.7, 1.6, 4.3  # inches of a panel, of the names beside it, of the figure


def curves_plot(picture: Curves) -> Any:
    """Panels side by side on one scale."""
    shown = (line.name for panel in picture.panels for line in panel.lines if not line.like)
    names = list(dict.fromkeys([*picture.palette, *shown]))
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    left, top, bottom = 0.75, 0.75, 0.62 + 0.18 * bool(picture.note)
    full = left + len(picture.panels) * (PANEL + NAMES)
    figure = empty_figure(full, HEIGHT)
    first = None
    for k, panel in enumerate(picture.panels):
        place = ((left + k * (PANEL + NAMES)) / full, bottom / HEIGHT, PANEL / full, 1 - (top + bottom) / HEIGHT)
        axes = figure.add_axes(place, sharey=first)
        _panel(axes, picture, panel, colour)
        first = first or axes
        if k == 0:
            axes.set_ylabel(picture.label)
        else:
            axes.tick_params(labelleft=False)
    for axes, panel in zip(figure.axes, picture.panels, strict=True):
        _names(axes, panel, colour, HEIGHT - top - bottom, picture.floor)
    figure.text(left / full, 1 - 0.25 / HEIGHT, picture.title, fontsize=12, fontweight="bold", parse_math=False)
    if picture.note:
        note = "\n".join(wrap(picture.note, int(15 * (full - left))))
        figure.text(left / full, 0.2 / HEIGHT, note, fontsize=8.5, color=GREY, va="top", parse_math=False)
    return figure


def _panel(axes: Any, picture: Curves, panel: FigurePanel, colour: dict[str, str]) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    if picture.log_x:
        axes.set_xscale("log")
        at = [x for each in panel.lines for x in each.at if x > 0] or [1.0]
        set_log_ticks(axes.xaxis, min(at), max(at))
    if picture.log_y:
        axes.set_yscale("log")
        means = [y for each in picture.panels for line in each.lines for y in line.mean if y > picture.floor]
        means += [height for each in picture.panels for _, height in each.levels if height > picture.floor]
        low, high = min(means, default=picture.floor), max(means, default=1.0)
        axes.set_ylim(0.6 * low, 1.6 * high)  # a band may go down to zero; its line is what must be seen
        set_log_ticks(axes.yaxis, 0.6 * low, 1.6 * high)
    elif any(abs(y) >= 10_000 for each in panel.lines for y in each.mean):
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: short(y)))
    for each in panel.lines:
        _line(axes, each, colour[each.like or each.name], picture.floor if picture.log_y else None)
    for name, height in panel.levels:
        axes.axhline(height, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        above = sum(line.mean[0] > height for line in panel.lines) > len(panel.lines) / 2
        far = picture.log_y and all(line.mean[0] > 2 * height for line in panel.lines)
        below = above and not far  # where there is room
        axes.annotate(name, (0.02, height), xycoords=("axes fraction", "data"), xytext=(0, -10 if below else 3),
                      textcoords="offset points", fontsize=8, color=GREY)  # fmt: skip
    axes.set_title(panel.title, loc="left", fontsize=10)
    axes.set_xlabel(picture.across, fontsize=9)
    axes.grid(which="major", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8.5)


def _line(axes: Any, line: Line, colour: str, floor: float | None) -> None:
    low = [y - s for y, s in zip(line.mean, line.sd, strict=True)]
    high = [y + s for y, s in zip(line.mean, line.sd, strict=True)]
    if floor is not None:  # on a scale of logarithms: what lies at zero or below has no place there
        kept = [k for k, y in enumerate(line.mean) if y > floor]
        low = [max(y, floor) for y in low]
    else:
        kept = list(range(len(line.mean)))
    if not kept:
        return
    at, mean = [line.at[k] for k in kept], [line.mean[k] for k in kept]
    if line.dashed:
        errors = [[mean[j] - low[k] for j, k in enumerate(kept)], [line.sd[k] for k in kept]]
        axes.errorbar(at, mean, errors, color=colour, linewidth=1.2, linestyle=(0, (4, 2.5)), marker="o",
                      markersize=3.2, markerfacecolor="white", elinewidth=0.8, zorder=4)  # fmt: skip
    else:
        axes.plot(at, mean, color=colour, linewidth=1.8, zorder=3)
        axes.fill_between(at, [low[k] for k in kept], [high[k] for k in kept], color=colour, alpha=0.18, linewidth=0)


def _names(axes: Any, panel: FigurePanel, colour: dict[str, str], inches: float, lowest: float) -> None:
    """Names at the ends of lines."""
    axes.get_xlim(), axes.get_ylim()  # settles the scales
    floor = lowest if axes.get_yscale() == "log" else -float("inf")
    shown = [line for line in panel.lines if not line.like]
    name_ends(axes, [LineEnd(x.at[-1], max(x.mean[-1], floor), x.name, colour[x.name]) for x in shown], inches)
