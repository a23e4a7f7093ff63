"""Axes: ticks on logarithmic scales, numbers beside them, names at the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

APART = 0.17  # inches between names
ENDS_APART = 0.1  # of the width: lines that end so far apart do not end together
POKER = ("kuhn", "leduc", "rhode_island", "poker", "toepen")  # games whose payoffs are chips


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
