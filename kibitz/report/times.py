"""How long things take, on one scale from seconds to years."""

from __future__ import annotations

import math
from textwrap import wrap
from typing import Any

from kibitz.report.figures import Times
from kibitz.report.plot import BLUE, GREY, ORANGE, empty_figure

# Inches: the width, a row, what is left above, below and to the right.
WIDE, ROW, ABOVE, BELOW, RIGHT = 8.0, 0.62, 0.75, 1.0, 0.55
COLOURS = (BLUE, ORANGE, "#009E73")
DAY = 86_400.0
MONTH = 365.25 * DAY / 12
TICKS = {
    "1 s": 1.0, "10 s": 10.0, "1 min": 60.0, "10 min": 600.0, "1 h": 3600.0, "10 h": 36_000.0, "1 day": DAY,
    "10 days": 10 * DAY, "1 month": MONTH, "1 year": 12 * MONTH, "10 years": 120 * MONTH,
}  # fmt: skip


def times_plot(picture: Times) -> Any:
    """A row for each name, from above; a dot with its time for each goal; the goals are named below."""
    names = list(dict.fromkeys(each.name for each in picture.durations))
    goals = list(dict.fromkeys(each.goal for each in picture.durations))
    lines = ["\n".join(wrap(name, 34)) for name in names]
    note = wrap(picture.note, 98)
    left = 0.085 * max(len(part) for line in lines for part in line.split("\n")) + 0.25
    high = ABOVE + ROW * len(names) + BELOW + 0.24 * len(note)
    figure = empty_figure(WIDE, high)
    place = (left / WIDE, 1 - (ABOVE + ROW * len(names)) / high, (WIDE - left - RIGHT) / WIDE, ROW * len(names) / high)
    axes = figure.add_axes(place)
    for each in picture.durations:
        row, colour = names.index(each.name), COLOURS[goals.index(each.goal) % len(COLOURS)]
        axes.plot(each.seconds, row, "o", color=colour, markersize=8, zorder=3)
        above = goals.index(each.goal) % 2 == 0  # so that times of two goals do not touch
        axes.annotate(each.text, (each.seconds, row), xytext=(0, 8 if above else -17), textcoords="offset points",
                      ha="center", fontsize=10, color=colour, parse_math=False)  # fmt: skip
    _scale(axes, [each.seconds for each in picture.durations])
    axes.set_yticks(range(len(names)), lines, fontsize=10, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_xlabel(picture.label, fontsize=10)
    axes.grid(axis="both", color="#e3e3e3", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.text(0.1 / WIDE, 1 - 0.12 / high, picture.title, fontsize=12.5, fontweight="bold", va="top",
                parse_math=False)  # fmt: skip
    for k, goal in enumerate(goals):
        x, y = (left + 2.4 * k) / WIDE, (BELOW - 0.72 + 0.24 * len(note)) / high
        figure.text(x, y, f"● {goal}", fontsize=10, color=COLOURS[k % len(COLOURS)], parse_math=False)
    for k, text in enumerate(note):
        figure.text(0.1 / WIDE, (0.24 * (len(note) - k) - 0.14) / high, text, fontsize=9.5, color=GREY,
                    parse_math=False)  # fmt: skip
    return figure


def _scale(axes: Any, seconds: list[float]) -> None:
    """A scale of logarithms that has all times, with ticks in words that stand apart."""
    from matplotlib.ticker import FixedLocator, NullLocator

    low, high = 0.4 * min(seconds), 2.5 * max(seconds)
    shown = {name: at for name, at in TICKS.items() if low <= at <= high}
    apart = 0.11 * math.log(high / low)
    kept: dict[str, float] = {}
    for name, at in shown.items():
        if all(math.log(at / other) >= apart for other in kept.values()):
            kept[name] = at
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(FixedLocator(list(kept.values())))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(list(kept), fontsize=9.5)
