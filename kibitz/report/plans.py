"""The picture of a plan for stitching: the betting tree, with its parts coloured by loss, reach and infosets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibitz.report.plot import GREY, ORANGE, empty_figure
from kibitz.stitch.auto.cuts import Cut, prefixes
from kibitz.stitch.auto.plan import Plan
from kibitz.stitch.auto.setting import Setting
from kibitz.stitch.auto.signals import losses

MOST = 40  # parts in the picture
Box = tuple[float, float, int]  # left, width, level


def plan_plot(setting: Setting, probabilities: NDArray[np.float64], plan: Plan) -> Any:
    """The figure: a panel for the loss, one for the reach and one for the infosets of each part.

    A box is a part by its first actions; those inside of it lie below. Boxes are as wide as they have infosets. Parts
    that the plan has experts for have a thick border. A game without such parts has bars for the others.
    """
    lost = losses(setting.form, probabilities)
    tree = prefixes(setting.parts, lost, MOST)
    chosen = {cut.name for pilot in plan.moves for cut in pilot.move.cuts}
    if not tree:
        return _bars(plan, chosen)
    boxes = nested(tree, len(lost))
    signals = setting.signals(probabilities, tree)
    panels = [
        ("NashConv lost", [s.loss for s in signals]), ("probability of being reached", [s.reach for s in signals]),
        ("infosets", [float(s.infosets) for s in signals]),
    ]  # fmt: skip
    figure = empty_figure(12, 6, dpi=140, layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    levels = 1 + max(level for _, _, level in boxes)
    for axis, (title, figures) in zip(axes, panels, strict=True):
        shade, most = colormaps["Blues"], max(figures) or 1.0
        for cut, (left, width, level), figure_of in zip(tree, boxes, figures, strict=True):
            thick = cut.name in chosen
            colour = shade(0.08 + 0.8 * figure_of / most)
            border, line, order = (ORANGE, 2.5, 3) if thick else ("white", 0.5, 2)
            axis.add_patch(Rectangle((left, level), width, 0.94, facecolor=colour, edgecolor=border, linewidth=line,
                                     zorder=order))  # fmt: skip
            if width > 0.04:
                dark = figure_of > 0.55 * most
                said = f"{cut.name.removeprefix('prefix(').removesuffix(')')}\n{figure_of:.3g}"
                axis.text(left + width / 2, level + 0.47, said, ha="center", va="center", fontsize=6.5, zorder=4,
                          color="white" if dark else "black", rotation=0 if width > 0.1 else 90)  # fmt: skip
        axis.set(xlim=(0, 1), ylim=(levels, 0), title=title, xticks=[], yticks=[])
        for side in axis.spines.values():
            side.set_visible(False)
    others = sorted(name for name in chosen if not name.startswith("prefix("))
    said = f"; also planned: {', '.join(others)}" if others else ""
    figure.suptitle(f"{setting.spec or 'a game without a name'}: parts by first actions, and the plan (orange){said}",
                    fontsize=10)  # fmt: skip
    return figure


def nested(tree: Sequence[Cut], infosets: int) -> list[Box]:
    """Where each part of a betting tree is drawn: inside the part before it, as wide as its share of infosets."""
    boxes: dict[tuple[str, ...], Box] = {}
    used: dict[tuple[str, ...], float] = {}
    for cut in sorted(tree, key=lambda cut: (len(cut.actions), cut.actions)):
        above = cut.actions[:-1]
        left, _, level = boxes.get(above, (0.0, 1.0, -1))
        left += used.get(above, 0.0)
        width = cut.size / infosets
        used[above] = used.get(above, 0.0) + width
        boxes[cut.actions] = (left, width, level + 1)
    return [boxes[cut.actions] for cut in tree]


def _bars(plan: Plan, chosen: set[str]) -> Any:
    figure = empty_figure(8, 1.0 + 0.35 * max(1, len(plan.signals)), dpi=140, layout="constrained")
    axis = figure.subplots()
    signals = plan.signals[::-1]
    colours = [ORANGE if s.name in chosen else GREY for s in signals]
    axis.barh([s.name for s in signals], [s.loss for s in signals], color=colours)
    axis.set(xlabel="NashConv lost", title="Parts, and the plan (orange)")
    return figure
