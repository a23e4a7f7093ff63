"""Plots of a report over flops: frequencies of first actions, and expected values, by class of flop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kibitz.report.plot import BLUE, GREY, ORANGE, empty_figure

if TYPE_CHECKING:
    from kibitz.poker.spots.flop_report import FlopReport

WIDE, ROW, ABOVE, BELOW = 10.0, 0.27, 1.0, 0.9  # inches
TITLES = {"suits": "suits", "ranks": "pairs", "high": "high card"}
PASSIVE, BETS = "#d9d9d9", ("#6baed6", "#2171b5", "#08519c", "#08306b")


def flops_plot(report: FlopReport) -> Any:
    """Rows are classes of flops; bars are how often each action is taken, dots EV and equity as shares of the pot."""
    rows = _rows(report)
    names = [name for name, _ in rows]
    high = ABOVE + ROW * len(rows) + BELOW
    figure = empty_figure(WIDE, high)
    bottom, tall = BELOW / high, ROW * len(rows) / high
    quantities = list(report.quantities())
    panels = [("OOP first", [q for q in quantities if q.startswith("OOP ")]),
              ("IP after a check", [q for q in quantities if q.startswith("IP ")])]  # fmt: skip
    for k, (title, actions) in enumerate(panels):
        axes = figure.add_axes((0.11 + 0.31 * k, bottom, 0.27, tall))
        _bars(axes, rows, actions)
        _finish(axes, title, names, k == 0)
    axes = figure.add_axes((0.73, bottom, 0.25, tall))
    pot = _pot(report)
    for y, (_, means) in enumerate(rows):
        axes.plot(100 * means["equity OOP"], y, "o", color=ORANGE, markersize=5)
        axes.plot(100 * means["EV OOP"] / pot, y, "o", color=BLUE, markersize=5)
    _finish(axes, "OOP: equity and EV, % of the pot", names, False)
    axes.grid(axis="x", color="#e3e3e3", linewidth=0.7)
    figure.text(0.73, 0.2 / high, "● equity", color=ORANGE, fontsize=9)
    figure.text(0.83, 0.2 / high, "● EV", color=BLUE, fontsize=9)
    figure.text(0.01, 1 - 0.15 / high, report.chosen[:1].upper() + report.chosen[1:], fontsize=11.5,
                fontweight="bold", va="top", parse_math=False)  # fmt: skip
    return figure


def _rows(report: FlopReport) -> list[tuple[str, dict[str, float]]]:
    rows = [("all flops", report.means())]
    for kind in TITLES:
        rows += list(report.by_class(kind).items())
    return [(f"{name} high" if len(name) == 1 else name, means) for name, means in rows]


def _pot(report: FlopReport) -> float:
    """The sum of both payoffs: the pot less the rake, or with prizes the ICM value of both stacks."""
    return float(sum(report.weights[k] * sum(result.values) for k, result in enumerate(report.results)))


def _bars(axes: Any, rows: list[tuple[str, dict[str, float]]], actions: list[str]) -> None:
    left = [0.0] * len(rows)
    bets = 0
    for action in actions:
        word = action.split(" ", 1)[1]
        colour = PASSIVE if word in ("check", "call", "fold") else BETS[min(bets, len(BETS) - 1)]
        bets += colour != PASSIVE
        wide = [100 * means[action] for _, means in rows]
        axes.barh(range(len(rows)), wide, left=left, color=colour, height=0.8, label=word)
        left = [a + b for a, b in zip(left, wide, strict=True)]
    axes.set_xlim(0, 100)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28 / (ROW * len(rows))), ncols=min(3, len(actions)),
                fontsize=8, frameon=False)  # fmt: skip


def _finish(axes: Any, title: str, names: list[str], named: bool) -> None:
    axes.set_title(title, fontsize=9.5, loc="left", color=GREY, parse_math=False)
    axes.set_yticks(range(len(names)) if named else [], names if named else [], fontsize=8.5, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="both", length=0, labelsize=8.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
