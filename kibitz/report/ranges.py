"""Grids of 13 x 13 hands that show how often each action is taken, for a picture: a cell is divided by colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kibitz.poker.preflop.solution import PreflopNode

ENDINGS = (".png", ".svg", ".pdf")
FOLDS, CALLS = "#e4e4e4", "#56b4e9"  # of Okabe & Ito, like those below
RAISES = ("#f0c808", "#e69f00", "#d55e00", "#a03c00")  # from the smallest raise to all in
ACROSS = 3  # grids beside each other
SIDE, ABOVE, GAP, KEY = 4.6, 0.45, 0.25, 0.35  # inches: of a grid, its title, between grids, the key of colours
MOST = 12  # grids in a picture


def colours(actions: Sequence[str]) -> list[str]:
    """Of each action: grey to fold, blue to call or check, warm to raise, the darkest to go all in."""
    raised = [action for action in actions if action.split()[0] not in ("fold", "check", "call")]
    shades = dict(zip(raised, RAISES[-len(raised) :] if raised else (), strict=False))
    return [FOLDS if action == "fold" else shades.get(action, CALLS) for action in actions]


def draw(nodes: Sequence[PreflopNode], heading: str, path: Path) -> None:
    """Write a picture of the grids of some decisions."""
    from kibitz.report.plot import save

    save(picture(nodes, heading), path, bbox_inches="tight", pad_inches=0.15, facecolor="white", dpi=110)


def picture(nodes: Sequence[PreflopNode], heading: str) -> Any:
    """A figure with a grid for each decision; MOST at most."""
    from kibitz.report.plot import empty_figure

    nodes = nodes[:MOST]
    across = min(ACROSS, len(nodes))
    down = -(-len(nodes) // across)
    block = SIDE + ABOVE + KEY
    wide, tall = SIDE * across, block * down + ABOVE
    figure = empty_figure(wide, tall)
    figure.suptitle(heading, fontsize=12, y=1 - 0.1 / tall)
    for k, node in enumerate(nodes):
        low = tall - ABOVE - block * (k // across + 1) + GAP
        side = SIDE - GAP
        axes = figure.add_axes((SIDE * (k % across) / wide, low / tall, side / wide, (side + KEY) / tall))
        axes.set_xlim(0, 13)
        axes.set_ylim(13 * (1 + KEY / side), 0)
        axes.axis("off")
        axes.set_title(f"{node.player}" + (f" after {node.line}" if node.line else ""), fontsize=10)
        _cells(axes, node)
        _key(axes, node)
    return figure


def _cells(axes: Any, node: PreflopNode) -> None:
    """The hands of a grid, as bars that are as high as the hand comes here often."""
    from matplotlib.patches import Rectangle

    from kibitz.cards.holdem import class_names
    from kibitz.poker.tournaments.ranges import grid

    names, shades = class_names(), colours(node.actions)
    own = node.weights(node.turn)
    for y, row in enumerate(grid()):
        for x, hand in enumerate(row):
            at, high = float(x), float(own[hand])
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor="#f7f7f7", edgecolor="white", linewidth=0.8))
            for share, shade in zip(node.strategy[:, hand].tolist(), shades, strict=True):
                axes.add_patch(Rectangle((at, y + 1 - high), share, high, facecolor=shade, linewidth=0))
                at += share
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor="none", edgecolor="white", linewidth=0.8))
            tone = "#222222" if high > 0.01 else "#aaaaaa"
            axes.text(x + 0.5, y + 0.52, names[hand], ha="center", va="center", fontsize=6.5, color=tone)


def _key(axes: Any, node: PreflopNode) -> None:
    """What the colours mean, with how often each action is taken, below a grid."""
    from matplotlib.patches import Rectangle

    step = 13 / max(1, len(node.actions))
    for k, (action, shade, share) in enumerate(zip(node.actions, colours(node.actions), node.frequencies, strict=True)):
        axes.add_patch(Rectangle((k * step, 13.35), 0.5, 0.5, facecolor=shade, linewidth=0))
        axes.text(k * step + 0.65, 13.62, f"{action} {100 * share:.1f}%", fontsize=7.5, va="center")
