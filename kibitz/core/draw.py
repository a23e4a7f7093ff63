"""Pictures of strategies: bars for a few infosets, a grid or a heat map for many. matplotlib is imported when one is
drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
CELL, ROW = 0.42, 0.19  # inches: of an infoset in a grid
MOST_ROWS, MOST_CELLS = 80, 40  # of a grid: lines below one another, cells beside one another


@dataclass(frozen=True)
class StrategyPanel:
    """The infosets of one seat: [infosets, actions] probabilities, NaN where an action is not legal."""

    title: str
    labels: Sequence[str]
    shares: NDArray[np.float64]


def strategy_figure(title: str, actions: Sequence[str], panels: Sequence[StrategyPanel], most: int) -> Any:
    """A figure with a panel for each seat: bars for up to `most` infosets of a seat. For more it is a grid where names
    have two parts, as "JsKh:cr" has: cards down, betting across; else a heat map."""
    many = max((len(panel.labels) for panel in panels), default=1) > most
    every = dict.fromkeys(label.partition(":")[0] for panel in panels for label in panel.labels)
    order = {first: number for number, first in enumerate(every)}
    grids = [blocks_of(panel.labels, order) for panel in panels] if many and len(actions) <= len(COLOURS) else [None]
    if all(grid is not None for grid in grids):
        return _grids(title, actions, panels, [grid for grid in grids if grid is not None])
    longest = max((len(label) for panel in panels for label in panel.labels[:2000]), default=0)
    names = min(0.2 + LETTER * longest, 3.5)
    rows = max((len(panel.labels) for panel in panels), default=1)
    bars = rows <= most and len(actions) <= len(COLOURS)
    body = LINE * rows if bars else min(TALLEST, max(2.5, 0.05 * rows))
    high, wide = body + 1.35, sum(names + PANEL for _ in panels) + 0.3
    figure = _picture(wide, high, title)
    for number, panel in enumerate(panels):
        share = len(panel.labels) / rows if bars else 1.0
        left = number * (names + PANEL) + names
        axes = figure.add_axes(
            (left / wide, (0.55 + body * (1 - share)) / high, (PANEL - 0.25) / wide, max(body * share, 0.1) / high)
        )
        axes.set_title(panel.title, fontsize=10, loc="left", pad=4 if bars else 20)
        (_bars if bars else _heat)(axes, panel, actions)
    if bars:
        _legend(figure, axes, actions)
    return figure


def _legend(figure: Any, axes: Any, actions: Sequence[str]) -> None:
    handles: list[Any] = [axes.barh([np.nan], [np.nan], color=COLOURS[k]) for k in range(len(actions))]
    shown = [name.replace("$", r"\$") for name in actions]
    figure.legend(handles, shown, loc="lower center", ncols=len(actions), frameon=False, fontsize=9)


# Grids


@dataclass(frozen=True)
class Block:
    """Infosets whose names have the same second parts, as those of one round have: a rectangle without holes."""

    rows: list[str]  # first parts of names
    columns: list[str]  # second parts
    infoset: NDArray[np.int64]  # [rows, columns]  numbers among the labels of the panel


def blocks_of(labels: Sequence[str], order: Mapping[str, int]) -> list[Block] | None:
    """The blocks of names such as "JsKh:cr"; None where names have no such parts, or too many. order: of the rows."""
    of_row: dict[str, dict[str, int]] = {}
    for number, label in enumerate(labels):
        first, sign, second = label.partition(":")
        if not sign or second in of_row.setdefault(first, {}):
            return None
        of_row[first][second] = number
    groups: dict[tuple[str, ...], list[str]] = {}
    for first, columns in of_row.items():
        groups.setdefault(tuple(columns), []).append(first)
    wide = max(map(len, groups), default=0)
    if len(of_row) + 3 * len(groups) > MOST_ROWS or wide > MOST_CELLS:
        return None
    return [
        Block(rows, list(columns), np.array([[of_row[first][second] for second in columns] for first in rows]))
        for columns, every in groups.items()
        for rows in [sorted(every, key=lambda first: order[first])]
    ]


def _grids(title: str, actions: Sequence[str], panels: Sequence[StrategyPanel], grids: list[list[Block]]) -> Any:
    """Blocks below one another, seats beside one another."""
    names = 0.25 + LETTER * max(len(row) for blocks in grids for block in blocks for row in block.rows)
    widths = [names + CELL * max(len(block.columns) for block in blocks) + 0.25 for blocks in grids]
    heights = [sum(ROW * len(block.rows) + _head(block) for block in blocks) for blocks in grids]
    wide, high = sum(widths) + 0.2, max(heights) + 1.5
    figure = _picture(wide, high, title)
    names_of = "a cell is an infoset: the part of its name before the colon down, the part after it across"
    figure.text(0.1 / wide, 1 - 0.52 / high, names_of, fontsize=8, color="#555555")
    for number, (panel, blocks) in enumerate(zip(panels, grids, strict=True)):
        left, top = sum(widths[:number]) + names, high - 0.85
        figure.text((left - names + 0.1) / wide, top / high, panel.title, fontsize=10, parse_math=False)
        for block in blocks:
            tall, broad = ROW * len(block.rows), CELL * len(block.columns)
            top -= _head(block)
            axes = figure.add_axes((left / wide, (top - tall) / high, broad / wide, tall / high))
            top -= tall
            _block(axes, block, panel.shares, len(actions))
    _legend(figure, axes, actions)
    return figure


def _head(block: Block) -> float:
    """Inches above a block: the second parts of names stand upright there."""
    return 0.4 + 0.75 * LETTER * max(len(name) for name in block.columns)


def _block(axes: Any, block: Block, shares: NDArray[np.float64], actions: int) -> None:
    """Each infoset a cell, cut into its actions."""
    rows, columns = block.infoset.shape
    y, x = (place.ravel() for place in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    share = np.nan_to_num(shares[block.infoset.ravel()])
    end = x + 0.03
    for k in range(actions):
        axes.barh(y, 0.94 * share[:, k], left=end, height=0.84, color=COLOURS[k])
        end = end + 0.94 * share[:, k]
    axes.set_xlim(0, columns)
    axes.set_ylim(rows - 0.5, -0.5)
    _names(axes, np.arange(rows), block.rows)
    shown = [name or "first" for name in block.columns]
    axes.set_xticks(np.arange(columns) + 0.5, shown, fontsize=7.5, rotation=90, parse_math=False)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


# Bars and heat maps


def _picture(wide: float, high: float, title: str) -> Any:
    """A figure with a title that notebooks show though no pyplot was imported."""
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
    figure.text(0.1 / wide, 1 - 0.3 / high, title, fontsize=12, fontweight="bold", parse_math=False)
    return figure


def _bars(axes: Any, panel: StrategyPanel, actions: Sequence[str]) -> None:
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


def _heat(axes: Any, panel: StrategyPanel, actions: Sequence[str]) -> None:
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
