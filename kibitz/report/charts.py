"""Charts of jam or fold: 13 x 13 hands, for a terminal, as a picture, and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

    from kibitz.poker.tournaments.single import Chart, PushFold

FOLD, JAM = (0xEC, 0xEC, 0xEC), (0x00, 0x9E, 0x73)  # Okabe & Ito's green
SURE = 0.995
ENDINGS = (".png", ".svg", ".pdf", ".html")
ACROSS = 3  # charts beside each other in a picture
SIDE, ABOVE, GAP = 4.6, 0.4, 0.25  # inches: of a chart, of its title, between charts
KEY = 0.5  # of the legend
SHADES = (0.0, 0.25, 0.5, 0.75, 1.0)  # in the legend


def title(charts: PushFold, chart: Chart) -> str:
    """Who decides after whom."""
    return charts.hand.decision(chart.seat, chart.jammed)


def shown(charts: PushFold, every: bool = False) -> list[Chart]:
    """Charts that people ask for first: at most one has jammed, with more than three players; or all."""
    most = len(charts.hand.names) if every or charts.hand.players <= 3 else 1
    return [chart for chart in charts.charts if len(chart.jammed) <= most and not chart.forced]


def colour(share: float) -> str:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(FOLD, JAM, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def cell(name: str, share: float, plain: bool = False) -> str:
    """A hand that is jammed, how often in percent if sometimes; without colours a dot for those that fold."""
    if SURE > share > 1 - SURE:
        return f"{100 * share:.0f}%" if plain else name
    return "." if plain and share < 0.5 else name


def _cells() -> tuple[Sequence[str], Any]:
    """Names of the 169 hands, and their numbers in rows of the grid."""
    from kibitz.cards.holdem import classes
    from kibitz.poker.tournaments.ranges import grid

    return classes().names, grid()


def lines(chart: Chart, plain: bool) -> list[Text]:
    """A chart in 13 lines."""
    from rich.text import Text

    (names, grid), lines = _cells(), []
    for row in grid:
        line = Text("  ")
        for number in row:
            share = float(chart.jams[number])
            text = f"{cell(names[number], share, plain):^4}"
            line.append(text, "" if plain else f"{'black' if share < 0.6 else 'white'} on {colour(share)}")
        lines.append(line)
    return lines


def value_lines(chart: Chart) -> list[str]:
    """What jamming brings more than folding, in the places of the chart."""
    names, grid = _cells()
    return ["  " + " ".join(f"{names[k]:<3}{chart.gain[k]:+6.2f}" for k in row) for row in grid]


def legend(charts: PushFold) -> str:
    """What the cells mean, and whether deals were sampled."""
    how = f"SAMPLED, {charts.deals:,} deals: hands near the edge may be wrong" if charts.deals else "all cards counted"
    return f"suited hands above the pairs, offsuit below; a share is how often a mixed hand jams; {how}"


def draw(charts: PushFold, path: Path, every: bool = False) -> None:
    """Charts as a picture, or as a page if the name ends in .html."""
    from kibitz.core import store
    from kibitz.report.plot import save

    if path.suffix.lower() == ".html":
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_text(path, page(charts, every))
        return
    save(picture(charts, every), path, bbox_inches="tight", pad_inches=0.15, facecolor="white", dpi=110)


def picture(charts: PushFold, every: bool = False) -> Any:
    from kibitz.report.plot import empty_figure

    listed, (names, grid) = shown(charts, every), _cells()
    across = min(ACROSS, len(listed))
    down = -(-len(listed) // across)
    wide, tall = SIDE * across, (SIDE + ABOVE) * down + ABOVE + KEY
    figure = empty_figure(wide, tall)
    figure.suptitle(heading(charts), fontsize=12, y=1 - 0.1 / tall)
    for k, chart in enumerate(listed):
        low = tall - ABOVE - (SIDE + ABOVE) * (k // across + 1) + GAP
        side = SIDE - GAP
        axes = figure.add_axes((SIDE * (k % across) / wide, low / tall, side / wide, side / tall))
        axes.set_title(f"{title(charts, chart)}: {100 * chart.share:.1f}% of hands", fontsize=11)
        axes.set_xlim(0, 13)
        axes.set_ylim(13, 0)
        axes.set_aspect("equal")
        axes.axis("off")
        for y, row in enumerate(grid):
            for x, number in enumerate(row):
                share = float(chart.jams[number])
                axes.add_patch(_square(x, y, colour(share)))
                tone = "white" if share >= 0.6 else "#222222" if share > 1 - SURE else "#888888"
                mixed = SURE > share > 1 - SURE
                axes.text(x + 0.5, y + (0.36 if mixed else 0.52), names[number], ha="center", va="center", fontsize=7,
                          color=tone)  # fmt: skip
                if mixed:
                    axes.text(x + 0.5, y + 0.75, f"{100 * share:.0f}%", ha="center", va="center", fontsize=5.5,
                              color=tone)  # fmt: skip
    _key(figure, charts, wide, tall)
    return figure


def _key(figure: Any, charts: PushFold, wide: float, tall: float) -> None:
    """What the colours mean, below the charts."""
    axes = figure.add_axes((0, 0, 1, KEY / tall))
    axes.set_xlim(0, wide)
    axes.set_ylim(KEY, 0)
    axes.axis("off")
    for k, share in enumerate(SHADES):
        axes.add_patch(_square(0.1 + 0.8 * k, 0.05, colour(share), 0.18))
        word = "folds" if share == 0 else "jams" if share == 1 else f"{100 * share:.0f}%"
        axes.text(0.33 + 0.8 * k, 0.15, word, fontsize=7, va="center")
    axes.text(0.1, 0.38, legend(charts), fontsize=7, va="center", color="#b00020" if charts.deals else "#555555")


def _square(x: float, y: float, fill: str, side: float = 1.0) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), side, side, facecolor=fill, edgecolor="white", linewidth=0.8)


def heading(charts: PushFold) -> str:
    stacks = ", ".join(f"{name} {stack:g}" for name, stack in zip(charts.hand.names, charts.stacks, strict=True))
    ante = f", ante {charts.ante:g}" if charts.ante else ""
    paid = "" if charts.prizes is None else ", prizes " + "/".join(f"{prize:g}" for prize in charts.prizes)
    return f"{stacks}; blinds {charts.blinds[0]:g}/{charts.blinds[1]:g}{ante}{paid}"


def page(charts: PushFold, every: bool = False) -> str:
    """A page of its own: no scripts, nothing from elsewhere."""
    (names, grid), body = _cells(), []
    for chart in shown(charts, every):
        rows = []
        for row in grid:
            cells = []
            for number in row:
                share, gain = float(chart.jams[number]), float(chart.gain[number])
                tooltip = f"{names[number]}: jams {100 * share:.0f}%, worth {gain:+.4g} {charts.unit} more than folding"
                tone = "#fff" if share >= 0.6 else "#222"
                cells.append(f'<td title="{escape(tooltip)}" style="background:{colour(share)};color:{tone}">'
                             f"{names[number]}</td>")  # fmt: skip
            rows.append(f"<tr>{''.join(cells)}</tr>")
        body.append(f"<figure><figcaption>{escape(title(charts, chart))}: {100 * chart.share:.1f}% of hands"
                    f"</figcaption><table>{''.join(rows)}</table><p>{escape(chart.range)}</p></figure>")  # fmt: skip
    seats = "".join(
        f"<tr><th>{name}</th><td>{stack:g}</td><td>{before:.4f}</td><td>{value:.4f}</td></tr>"
        for name, stack, before, value in zip(
            charts.hand.names, charts.stacks, charts.before, charts.values, strict=True
        )
    )
    what = "ICM before" if charts.prizes is not None else "before"
    style = (
        "body{font:15px system-ui,sans-serif;margin:1.5rem;color:#222;background:#fff}figure{display:inline-block;"
        "vertical-align:top;margin:0 1.5rem 1.5rem 0;max-width:32rem}figcaption{font-weight:600;margin-bottom:.4rem}"
        "figure table{border-collapse:collapse}figure td{width:2.3rem;height:1.8rem;text-align:center;font-size:.72rem;"
        "border:1px solid #fff}p{font-size:.8rem;color:#555}.seats td,.seats th{padding:.15rem .8rem;text-align:right}"
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Jam or fold</title><style>{style}</style><h1>Jam or fold</h1><p>{escape(heading(charts))}</p>"
        f"<p>{escape(legend(charts))}</p>"
        f"<table class=seats><tr><th>seat</th><th>stack</th><th>{what}</th><th>with this play</th></tr>{seats}</table>"
        f"{''.join(body)}</html>\n"
    )
