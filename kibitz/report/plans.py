"""The picture of a plan for stitching: the betting tree, with its parts coloured by loss, reach and infosets."""

from __future__ import annotations

from typing import Any

from kibitz.report.plot import GREY, ORANGE, empty_figure
from kibitz.stitch.auto.moves import SearchSetting, Strategy
from kibitz.stitch.auto.picture import plan_picture
from kibitz.stitch.auto.plan import Plan


def plan_plot(setting: SearchSetting, strategy: Strategy, plan: Plan) -> Any:
    """The figure: a panel for the loss, one for the reach and one for the infosets of each part (`plan_picture`).

    Parts that the plan has experts for have a thick border. A game without parts by first actions has bars for the
    others.
    """
    picture = plan_picture(setting, strategy, plan)
    parts = picture["parts"]
    if not parts:
        return _bars(plan, {cut.name for pilot in plan.moves for cut in pilot.move.cuts})
    panels = [("NashConv lost", "loss"), ("probability of being reached", "reach"), ("infosets", "infosets")]
    figure = empty_figure(12, 6, dpi=140, layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True)
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    levels = 1 + max(part["level"] for part in parts)
    for axis, (title, field) in zip(axes, panels, strict=True):
        shade, most = colormaps["Blues"], max(float(part[field]) for part in parts) or 1.0
        for part in parts:
            left, width, level, amount = part["left"], part["width"], part["level"], float(part[field])
            colour = shade(0.08 + 0.8 * amount / most)
            border, line, order = (ORANGE, 2.5, 3) if part["expert"] else ("white", 0.5, 2)
            axis.add_patch(Rectangle((left, level), width, 0.94, facecolor=colour, edgecolor=border, linewidth=line,
                                     zorder=order))  # fmt: skip
            if width > 0.04:
                said = f"{part['name'].removeprefix('prefix(').removesuffix(')')}\n{amount:.3g}"
                axis.text(left + width / 2, level + 0.47, said, ha="center", va="center", fontsize=6.5, zorder=4,
                          color="white" if amount > 0.55 * most else "black", rotation=0 if width > 0.1 else 90,
                          parse_math=False)  # fmt: skip
        axis.set(xlim=(0, 1), ylim=(levels, 0), title=title, xticks=[], yticks=[])
        for side in axis.spines.values():
            side.set_visible(False)
    others = sorted(part["name"] for part in picture["others"] if part["expert"])
    said = f"; also planned: {', '.join(others)}" if others else ""
    figure.suptitle(f"{setting.spec or 'a game without a name'}: parts by first actions, and the plan (orange){said}",
                    fontsize=10)  # fmt: skip
    return figure


def _bars(plan: Plan, chosen: set[str]) -> Any:
    figure = empty_figure(8, 1.0 + 0.35 * max(1, len(plan.signals)), dpi=140, layout="constrained")
    axis = figure.subplots()
    signals = plan.signals[::-1]
    colours = [ORANGE if s.name in chosen else GREY for s in signals]
    axis.barh([s.name for s in signals], [s.loss for s in signals], color=colours)
    axis.set(xlabel="NashConv lost", title="Parts, and the plan (orange)")
    return figure
