"""kibitz pushfold, kibitz icm: one hand of jam or fold, and what stacks are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_file, console, open_triples, print_json
from kibitz.cli.options import number
from kibitz.cli.watch import Watch, say
from kibitz.errors import GameError

if TYPE_CHECKING:
    from kibitz.tournaments import PushFold

Stacks = Annotated[
    str,
    typer.Option("--stacks", metavar="A,B,C", help="Chips of each player, the first to act first.", show_default=False),
]


def icm(
    stacks: Annotated[str, typer.Option("--stacks", metavar="A,B,C", help="Chips of each player.", show_default=False)],
    prizes: Annotated[
        str, typer.Option("--prizes", metavar="A,B,C", help="For first place, second, ...", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Say what stacks are worth in prizes, by the Independent Chip Model (Malmuth-Harville).

    Who has a share of the chips comes first with that probability; without him the same is said of second place, and so
    on. There may be up to 20 players, and fewer prizes.

    \b
    Examples:
      kibitz icm --stacks 10,7,13 --prizes 50,30,20
      kibitz icm --stacks 4500,3000,1500,1000 --prizes 65/35 --json
    """
    from kibitz.tournaments.chip_model import icm as worth
    from kibitz.tournaments.states import numbers

    held, paid = numbers("stacks", stacks), numbers("prizes", prizes)
    found = worth(held, paid)
    if json:
        print_json({"stacks": list(held), "prizes": list(paid), "worth": found.tolist()})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("stack", "of the chips", "worth", "of the prizes"):
        table.add_column(name, justify="right")
    for stack, value in zip(held, found.tolist(), strict=True):
        share = value / sum(paid[: len(held)])
        table.add_row(f"{stack:g}", f"{100 * stack / sum(held):.1f}%", f"{value:.4f}", f"{100 * share:.1f}%")
    console().print(table)


def pushfold(
    stacks: Stacks,
    blinds: Annotated[str, typer.Option("--blinds", metavar="S/B", help="The small and the big blind.")] = "1/2",
    prizes: Annotated[
        str | None,
        typer.Option("--prizes", metavar="A,B,C", help="For the places still to be had, the first one first. Without "
                     "prizes a chip is a chip."),
    ] = None,
    ante: Annotated[float, number("--ante", metavar="CHIPS", help="That each pays before the cards.")] = 0.0,
    tournament: Annotated[
        Path | None,
        typer.Option("--tournament", metavar="DIR", help="Show what a tournament solved by `kibitz tournament` plays "
                     "at these stacks; its blinds, ante and prizes count."),
    ] = None,
    deals: Annotated[
        int | None, number("--deals", metavar="N", help="Sample so many deals instead of counting all cards.")
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count all cards for three players too, even if the table for it must be "
                           "made first (about ten minutes).")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show every decision, also after two or more have jammed.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the charts: .png, .svg, .pdf or .html.")
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="Of sampled deals.")] = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Solve one hand in which everybody jams or folds, and print the chart of every decision.

    For two to six players, in the order of acting: with three the button, the small blind, the big blind. Stacks after
    the hand are worth what the Independent Chip Model says, or chips. Two players are counted exactly, three if the
    table of three hands is there (`kibitz cards build --only triples`, about ten minutes, once), more over a sample.

    \b
    Examples:
      kibitz pushfold --stacks 10,10
      kibitz pushfold --stacks 10,7,13 --blinds 1/2 --prizes 50,30,20 --plot charts.png
      kibitz pushfold --stacks 12,8,20,9 --blinds 1/2 --ante 0.2 --prizes 50,30,20 --deals 20000
    """
    from kibitz.report import charts
    from kibitz.tournaments.states import numbers

    check_file(plot, "--plot", charts.ENDINGS)
    held = [each.strip() for each in stacks.split(",")]
    with Watch(not json) as watch:
        watch.phase("jam or fold")
        if tournament is not None:
            from kibitz.tournaments.saved import at_state, load

            if prizes is not None or blinds != "1/2" or ante:
                raise GameError("--tournament has blinds, ante and prizes of its own: leave these options out")
            found = at_state(load(tournament), held, tournament)
        else:
            from kibitz.tournaments import pushfold as solved

            if exact and len(held) == 3:
                open_triples(watch)
                watch.phase("jam or fold")
            found = solved(held, blinds.split("/"), None if prizes is None else numbers("prizes", prizes), ante,
                           deals=deals, exact=exact, seed=seed)  # fmt: skip
    if plot is not None:
        charts.draw(found, plot, every)
    if json:
        print_json(_data(found, plot))
    else:
        _print(found, every)
        if plot is not None:
            say(f"drawn to {plot}")


def _data(found: PushFold, plot: Path | None) -> dict[str, Any]:
    from kibitz.cards.holdem import classes
    from kibitz.report.charts import title

    return {
        "seats": list(found.hand.names), "stacks": list(found.stacks), "blinds": list(found.blinds),
        "ante": found.ante, "prizes": None if found.prizes is None else list(found.prizes), "unit": found.unit,
        "values": list(found.values), "before": list(found.before), "epsilon": found.epsilon, "deals": found.deals,
        "hands": list(classes().names), "plot": None if plot is None else str(plot),
        "decisions": [
            {"decision": title(found, chart), "seat": found.hand.names[chart.seat],
             "after": [found.hand.names[seat] for seat in chart.jammed], "share": chart.share, "reach": chart.reach,
             "forced": chart.forced, "range": chart.range, "jams": chart.jams.tolist(), "gain": chart.gain.tolist()}
            for chart in found.charts
        ],
    }  # fmt: skip


def _print(found: PushFold, every: bool) -> None:
    from rich import box
    from rich.table import Table

    from kibitz.report.charts import heading, lines, shown, title

    page = console()
    typer.echo(heading(found) + "\n")
    plain = not page.is_terminal or page.color_system is None
    for chart in shown(found, every):
        typer.echo(f"{title(found, chart)}: {100 * chart.share:.1f}% of hands; it comes to this in "
                   f"{100 * chart.reach:.1f}% of deals")  # fmt: skip
        for line in lines(chart, plain):
            page.print(line)
        page.print(f"  {chart.range}\n")
    left = len(found.charts) - len(shown(found, every))
    if left:
        typer.echo(f"{left} more decisions are forced, or come after two or more jams: --all shows the latter.\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    prizes = found.prizes is not None
    for name in ("seat", "stack", *(("ICM before", "with this play", "more") if prizes else ("wins, big blinds",))):
        table.add_column(name, justify="left" if name == "seat" else "right")
    for name, stack, before, value in zip(found.hand.names, found.stacks, found.before, found.values, strict=True):
        worth = (f"{before:.4f}", f"{value:.4f}", f"{value - before:+.4f}") if prizes else (f"{value:+.4f}",)
        table.add_row(name, f"{stack:g}", *worth)
    page.print(table)
    counted = f"over {found.deals:,} sampled deals" if found.deals else "all cards counted"
    typer.echo(f"\nBy another choice nobody could win more than {found.epsilon:.2g} {found.unit} a hand; {counted}.")
