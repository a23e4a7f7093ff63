"""The figures of the explanation pages: `python docs/explanation/figures.py` draws them again, in a few seconds."""

import json
from pathlib import Path

from matplotlib.figure import Figure

import kibitz
from kibitz.poker.tournaments import icm

HERE = Path(__file__).parent
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"  # Okabe & Ito's palette, which colour-blind readers can tell apart


def figure(title: str, x: str, y: str):
    """An empty figure of 700 pixels, and its axes."""
    drawing = Figure(figsize=(7, 4.2), layout="constrained", facecolor="white")
    axes = drawing.add_subplot()
    axes.set_title(title, fontsize=12)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    return drawing, axes


def abstract_and_real(path: Path) -> None:
    """NashConv by iterations of CFR+ on Leduc in the abstraction JQ.K."""
    game = kibitz.game("leduc")
    iterations = [2**k for k in range(12)]
    profiles = [kibitz.solve(game, "cfr+", iterations=n, abstraction="JQ.K") for n in iterations]
    drawing, axes = figure(
        "NashConv in the abstract game and in the real game (Leduc, JQ.K)", "iterations of CFR+", "NashConv, chips"
    )
    axes.loglog(
        iterations, [kibitz.nash_conv(game, each) for each in profiles], "o-", color=ORANGE, label="in the real game"
    )
    axes.loglog(
        iterations,
        [each.meta["abstract_nash_conv"] for each in profiles],
        "s-",
        color=BLUE,
        label="in the abstract game",
    )
    axes.legend(frameon=False)
    drawing.savefig(path, dpi=100)


def chip_model(path: Path) -> None:
    """The value of a stack, when two others share the other chips evenly."""
    prizes, chips = [50, 30, 20], 30
    stacks = [chips * k / 100 for k in range(1, 100)]
    values = [icm([stack, (chips - stack) / 2, (chips - stack) / 2], prizes)[0] for stack in stacks]
    share = [100 * stack / chips for stack in stacks]
    drawing, axes = figure(
        "Value of a stack by the chip model (three players, prizes 50/30/20)",
        "share of all chips, %",
        "value of the stack, prize money",
    )
    axes.plot(share, values, color=BLUE, linewidth=2, label="Independent Chip Model")
    axes.plot([0, 100], [20, 50], color=GREY, linestyle="--", label="straight line from third to first prize")
    axes.legend(frameon=False)
    drawing.savefig(path, dpi=100)


def endgame_exploitability(path: Path) -> None:
    """Exploitability before and after endgames are solved, from the data of sandholm_gs2.md."""
    data = json.loads((HERE.parent / "sandholm_gs2/data.json").read_text())
    rows = data["papers"][0]["figures"]["gs2"]["exactly"]
    before = [row["within buckets"] for row in rows]
    drawing, axes = figure(
        "Exploitability before and after solving endgames (Leduc, Rhode Island)",
        "exploitability before, chips per hand",
        "exploitability after, chips per hand",
    )
    axes.loglog([0.4, 14], [0.4, 14], color=GREY, linestyle="--", label="no change")
    axes.loglog(before, [row["plain"] for row in rows], "o", color=ORANGE, label="plain")
    axes.loglog(before, [row["safe"] for row in rows], "s", color=BLUE, label="safe (opt-out values)")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticks([0.5, 1, 2, 5, 10]))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(ticks([]))
    axes.legend(frameon=False)
    drawing.savefig(path, dpi=100)


def ticks(places: list[float]):
    """Ticks at some places and nowhere else."""
    from matplotlib.ticker import FixedLocator

    return FixedLocator(places)


if __name__ == "__main__":
    abstract_and_real(HERE / "abstract_and_real.png")
    chip_model(HERE / "icm.png")
    endgame_exploitability(HERE / "endgame_exploitability.png")
