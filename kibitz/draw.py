"""Pictures of strategies: bars for a few infosets, a heat map for many. matplotlib is imported when one is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Okabe & Ito's palette, which colour-blind readers can tell apart.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#999999")
PANEL, LINE, LETTER = 3.6, 0.26, 0.075  # inches: of a panel, of an infoset, of a letter of its name
TALLEST = 9.0  # inches, of a heat map
NAMED = 28  # infosets of a heat map that have their names beside them
WRITTEN = 0.13  # a share of the width in which its figure has room


@dataclass(frozen=True)
class Panel:
    """The infosets of one seat: [infosets, actions] probabilities, NaN where an action is not legal."""

    title: str
    labels: Sequence[str]
    shares: NDArray[np.float64]


def strategy_figure(title: str, actions: Sequence[str], panels: Sequence[Panel], most: int) -> Any:
    """A figure with a panel for each seat: bars up to `most` infosets of a seat, above a heat map."""
    longest = max((len(label) for panel in panels for label in panel.labels[:2000]), default=0)
    names = min(0.2 + LETTER * longest, 3.5)
    rows = max((len(panel.labels) for panel in panels), default=1)
    bars = rows <= most and len(actions) <= len(COLOURS)
    body = LINE * rows if bars else min(TALLEST, max(2.5, 0.05 * rows))
    high, wide = body + 1.35, sum(names + PANEL for _ in panels) + 0.3
    figure = _picture(wide, high)
    figure.text(0.1 / wide, 1 - 0.3 / high, title, fontsize=12, fontweight="bold", parse_math=False)
    for number, panel in enumerate(panels):
        share = len(panel.labels) / rows if bars else 1.0
        left = number * (names + PANEL) + names
        axes = figure.add_axes(
            (left / wide, (0.55 + body * (1 - share)) / high, (PANEL - 0.25) / wide, max(body * share, 0.1) / high)
        )
        axes.set_title(panel.title, fontsize=10, loc="left", pad=4 if bars else 20)
        (_bars if bars else _heat)(axes, panel, actions)
    if bars:
        handles: list[Any] = [axes.barh([np.nan], [np.nan], color=COLOURS[k]) for k in range(len(actions))]
        names_shown = [name.replace("$", r"\$") for name in actions]
        figure.legend(handles, names_shown, loc="lower center", ncols=len(actions), frameon=False, fontsize=9)
    return figure


def _picture(wide: float, high: float) -> Any:
    """A figure that notebooks show though no pyplot was imported."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            page = io.BytesIO()
            self.savefig(page, format="png")
            return page.getvalue()

    figure = Picture(figsize=(wide, high), dpi=110)
    FigureCanvasAgg(figure)
    return figure


def _bars(axes: Any, panel: Panel, actions: Sequence[str]) -> None:
    """Each infoset a bar of length one, cut into its actions."""
    at, end = np.arange(len(panel.labels)), np.zeros(len(panel.labels))
    for k in range(len(actions)):
        share = np.nan_to_num(panel.shares[:, k])
        axes.barh(at, share, left=end, color=COLOURS[k], height=0.78, edgecolor="white", linewidth=0.8)
        for row in np.flatnonzero(share >= WRITTEN).tolist():
            middle = end[row] + share[row] / 2
            axes.text(middle, row, f"{100 * share[row]:.0f}%", ha="center", va="center", fontsize=7.5, color="#222222")
        end = end + share
    axes.set_xlim(0, 1)
    axes.set_ylim(len(at) - 0.45, -0.55)
    _names(axes, at, panel.labels)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _heat(axes: Any, panel: Panel, actions: Sequence[str]) -> None:
    """An infoset to a line, an action to a column: the darker, the more likely."""
    from matplotlib import colormaps

    shades = colormaps["Blues"].with_extremes(bad="#d4d4d4")
    axes.imshow(np.ma.masked_invalid(panel.shares), cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="none")
    step = -(-len(panel.labels) // NAMED)
    at = np.arange(0, len(panel.labels), step)
    _names(axes, at, [panel.labels[int(k)] for k in at])
    axes.set_xticks(range(len(actions)), actions, fontsize=8, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_xlabel("white: never taken, dark: always, grey: not legal", fontsize=8)


def _names(axes: Any, at: NDArray[np.int64], labels: Sequence[str]) -> None:
    short = [label if len(label) <= 46 else f"{label[:22]}...{label[-21:]}" for label in labels]
    axes.set_yticks(at, short, fontsize=8, parse_math=False)
