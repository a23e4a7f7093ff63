"""Figures over iterations: lines with their bands, at most two panels side by side, names of lines below."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from kibitz.report.figures import Curves, FigurePanel, Line
from kibitz.report.plot import BLUE, GREY, ORANGE, empty_figure, set_log_ticks, short

# Okabe & Ito's palette, which colour-blind readers can tell apart; grey is for what others are compared with.
COLOURS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31", "#7A5195")
# Inches. A page shows a figure 700 pixels wide, so a figure is 8 inches wide and its text no smaller than 10 points.
WIDE, LEFT, RIGHT, ABOVE, TALL, LOW, LINE = 8.0, 0.85, 0.2, 0.35, 2.9, 0.75, 0.24
SMALL = 10.0  # points


def curves_plot(picture: Curves) -> Any:
    """Panels on one scale, and the names of their lines below."""
    shown = (line.name for panel in picture.panels for line in panel.lines if not line.like)
    names = list(dict.fromkeys([*(name for name in picture.palette), *shown]))
    colour = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    listed = list(dict.fromkeys(line.name for panel in picture.panels for line in panel.lines if not line.like))
    columns = min(2, len(picture.panels))
    rows = -(-len(picture.panels) // columns)
    title, note = wrap(picture.title, 76), wrap(picture.note, 98)
    entries = _columns(listed)
    top = 0.2 + 0.26 * len(title)
    below = 0.1 + LINE * (-(-len(listed) // entries) * (len(listed) > 1) + len(note))
    tall = TALL if rows > 1 else 3.6
    above = ABOVE if any(panel.title for panel in picture.panels) else 0.2
    high = top + rows * (above + tall + LOW) + below
    figure = empty_figure(WIDE, high)
    width = (WIDE - LEFT - RIGHT - 0.3 * (columns - 1)) / columns
    first = None
    for k, panel in enumerate(picture.panels):
        row, column = divmod(k, columns)
        bottom = high - top - row * (above + tall + LOW) - above - tall
        place = ((LEFT + column * (width + 0.3)) / WIDE, bottom / high, width / WIDE, tall / high)
        axes = figure.add_axes(place, sharey=first)
        _panel(axes, picture, panel, colour)
        first = first or axes
        if column == 0:
            axes.set_ylabel(picture.label, fontsize=SMALL)
        else:
            axes.tick_params(labelleft=False)
    figure.text(0.1 / WIDE, 1 - 0.12 / high, "\n".join(title), fontsize=12.5, fontweight="bold", va="top",
                parse_math=False)  # fmt: skip
    if len(listed) > 1:
        dashed = {line.name for panel in picture.panels for line in panel.lines if line.dashed}
        _key(figure, listed, colour, entries, below, dashed)
    for k, text in enumerate(note):
        y = LINE * (len(note) - k - 0.5) + 0.08
        figure.text(LEFT / WIDE, y / high, text, fontsize=SMALL - 0.5, color=GREY, va="center", parse_math=False)
    return figure


def _columns(names: list[str]) -> int:
    """How many names stand side by side below the panels."""
    longest = max(map(len, names), default=1)
    most = max(1, min(4, int((WIDE - LEFT - RIGHT) / (0.55 + 0.085 * longest))))
    rows = max(1, -(-len(names) // most))
    return max(1, -(-len(names) // rows))  # no row has one name where another has three


def _key(
    figure: Any, names: list[str], colour: dict[str, str], columns: int, below: float, dashed: set[str]
) -> None:  # fmt: skip
    """A stroke and a name for each line."""
    from matplotlib.lines import Line2D

    high, width = figure.get_figheight(), (WIDE - LEFT - RIGHT) / columns
    for k, name in enumerate(names):
        row, column = divmod(k, columns)
        x, y = (LEFT + column * width) / WIDE, (below - LINE * (row + 0.5)) / high
        style: Any = (0, (3, 1.2)) if name in dashed else "-"
        stroke = Line2D([x, x + 0.3 / WIDE], [y, y], color=colour[name], linewidth=2.4, linestyle=style,
                        transform=figure.transFigure)  # fmt: skip
        figure.add_artist(stroke)
        figure.text(x + 0.4 / WIDE, y, name, fontsize=SMALL, va="center", parse_math=False)


def _panel(axes: Any, picture: Curves, panel: FigurePanel, colour: dict[str, str]) -> None:
    from matplotlib.ticker import FuncFormatter

    if picture.log_x:
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    if picture.ticks:
        _few(axes, picture.ticks, picture.log_x)
    elif picture.log_x:
        at = [x for each in panel.lines for x in each.at if x > 0] + [x for _, x in panel.marks] or [1.0]
        set_log_ticks(axes.xaxis, min(at), max(at), 9 if len(picture.panels) == 1 else 5)
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
                      textcoords="offset points", fontsize=SMALL - 1, color=GREY)  # fmt: skip
    for k, (name, place) in enumerate(panel.marks):  # named to the left of the mark, one above the other
        axes.axvline(place, color=GREY, linewidth=1.1, linestyle=(0, (1, 2)), zorder=1)
        axes.annotate(name, (place, 0.03 + 0.075 * k), xycoords=("data", "axes fraction"), xytext=(-5, 0),
                      textcoords="offset points", fontsize=SMALL - 1, color=GREY, ha="right", parse_math=False,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
    if picture.falling and not axes.xaxis_inverted():
        axes.invert_xaxis()
    axes.set_title(panel.title, loc="left", fontsize=SMALL + 0.5)
    axes.set_xlabel(picture.across, fontsize=SMALL)
    axes.grid(which="major", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=SMALL - 0.5)


def _few(axes: Any, ticks: Sequence[float], log: bool) -> None:
    """Mark these values across, and no others, with room at both ends."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = min(ticks), max(ticks)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    room = (high / low) ** 0.12 if log else 0.15 * (high - low)
    axes.set_xlim(*((low / room, high * room) if log else (low - room, high + room)))


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
    marker = {"marker": "o", "markersize": 4.5} if (len(kept) < 8 and not line.dashed) or not line.joined else {}
    if line.dashed:
        errors = [[mean[j] - low[k] for j, k in enumerate(kept)], [line.sd[k] for k in kept]]
        axes.errorbar(at, mean, errors, color=colour, linewidth=1.2, linestyle=(0, (4, 2.5)), marker="o",
                      markersize=3.2, markerfacecolor="white", elinewidth=0.8, zorder=4)  # fmt: skip
    else:
        axes.plot(at, mean, color=colour, linewidth=1.8 if line.joined else 0.0, zorder=3, **marker)
        axes.fill_between(at, [low[k] for k in kept], [high[k] for k in kept], color=colour, alpha=0.18, linewidth=0)
