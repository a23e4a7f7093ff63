"""kibitz pushfold, kibitz icm: one hand of jam or fold, and what stacks are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_file, console, open_triples, print_json
from kibitz.cli.options import number
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.tournaments import PushFold

BLINDS = "0.5/1"
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
    from kibitz.poker.tournaments.chip_model import icm as worth
    from kibitz.poker.tournaments.states import numbers

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
    blinds: Annotated[
        str, typer.Option("--blinds", metavar="S/B", help="The small and the big blind. By default stacks are in big "
                          "blinds.")
    ] = BLINDS,
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
        bool, typer.Option("--exact", help="Refuse to sample: for two and three players, who are counted with all "
                           "cards anyway.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Show every decision, also after two or more have jammed.")
    ] = False,
    values: Annotated[
        bool, typer.Option("--values", help="Show by hand what jamming brings more than folding.")
    ] = False,
    compare: Annotated[
        str | None,
        typer.Option("--compare", metavar="RANGE", help="A range of yours, such as '22+,A2s+,KTo+': which hands "
                     "differ, and what each costs."),
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option("--decision", metavar="NAME", help="The decision that --compare is about, as charts name it: "
                     "'BB after SB jammed'. Default: the first."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the charts: .png, .svg, .pdf or .html.")
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="Of sampled deals.")] = 0,
    json: Json = False,
) -> None:  # fmt: skip
    """Solve one hand in which everybody jams or folds, and print the chart of every decision.

    For two to six players, in the order of acting: with three the button, the small blind, the big blind. Stacks after
    the hand are worth what the Independent Chip Model says, or chips. Two and three players are counted with all cards;
    three need a table that is made on first use, some minutes, once. More go by a sample of deals, and what could be
    gained against their charts is measured on deals that these were not fitted to.

    \b
    Examples:
      kibitz pushfold --stacks 10,10
      kibitz pushfold --stacks 10,10 --values --compare '22+,A2+,K5s+,Q9s+' --decision 'BB after SB jammed'
      kibitz pushfold --stacks 12,8,20 --prizes 50,30,20 --plot charts.png
      kibitz pushfold --stacks 12,8,20,9 --blinds 1/2 --ante 0.2 --prizes 50,30,20 --deals 20000
    """
    from kibitz.cards.ranges import parse_items
    from kibitz.poker.tournaments.single import compared
    from kibitz.poker.tournaments.states import numbers
    from kibitz.report import charts

    check_file(plot, "--plot", charts.ENDINGS)
    if decision is not None and compare is None:
        raise GameError("--decision says what --compare is about: give a range with --compare")
    if compare is not None:
        parse_items(compare)  # before the work
    held = [each.strip() for each in stacks.split(",")]
    with Watch(not json) as watch:
        watch.phase("jam or fold")
        if tournament is not None:
            from kibitz.poker.tournaments.saved import at_state, load

            if prizes is not None or blinds != BLINDS or ante:
                raise GameError("--tournament has blinds, ante and prizes of its own: leave these options out")
            found = at_state(load(tournament), held, tournament)
        else:
            from kibitz.poker.tournaments import pushfold as solved

            if len(held) == 3 and deals is None:
                open_triples(watch)
                watch.phase("jam or fold")
            found = solved(held, blinds.split("/"), None if prizes is None else numbers("prizes", prizes), ante,
                           deals=deals, exact=exact, seed=seed)  # fmt: skip
    other = None if compare is None else compared(found, compare, decision)
    if plot is not None:
        charts.draw(found, plot, every)
    if json:
        print_json({**_data(found, plot), "compare": None if other is None else other.data()})
    else:
        _print(found, every, values)
        if other is not None:
            _print_compared(found, other)
        if plot is not None:
            say(f"drawn to {plot}")


def _data(found: PushFold, plot: Path | None) -> dict[str, Any]:
    from kibitz.cards.holdem import classes
    from kibitz.report.charts import title

    return {
        "seats": list(found.hand.names), "stacks": list(found.stacks), "blinds": list(found.blinds),
        "ante": found.ante, "prizes": None if found.prizes is None else list(found.prizes), "unit": found.unit,
        "values": list(found.values), "before": list(found.before), "epsilon": found.epsilon, "deals": found.deals,
        "epsilon_interval": [found.measured.low, found.measured.high], "epsilon_above": found.measured.above,
        "epsilon_fitted": found.measured.fitted, "fresh_deals": found.measured.fresh,
        "hands": list(classes().names), "plot": None if plot is None else str(plot),
        "decisions": [
            {"decision": title(found, chart), "seat": found.hand.names[chart.seat],
             "after": [found.hand.names[seat] for seat in chart.jammed], "share": chart.share, "reach": chart.reach,
             "forced": chart.forced, "range": chart.range, "jams": chart.jams.tolist(), "gain": chart.gain.tolist(),
             "fold_value": chart.fold.tolist(), "jam_value": (chart.fold + chart.gain).tolist()}
            for chart in found.charts
        ],
    }  # fmt: skip


def _print(found: PushFold, every: bool, values: bool) -> None:
    from rich import box
    from rich.table import Table

    from kibitz.report.charts import heading, legend, lines, shown, title, value_lines

    page = console()
    typer.echo(f"{heading(found)}\n{legend(found)}\n")
    plain = not page.is_terminal or page.color_system is None
    for chart in shown(found, every):
        typer.echo(f"{title(found, chart)}: {100 * chart.share:.1f}% of hands; it comes to this in "
                   f"{100 * chart.reach:.1f}% of deals")  # fmt: skip
        for line in lines(chart, plain):
            page.print(line)
        page.print(f"  {chart.range}\n")
        if values:
            typer.echo(f"  What jamming brings more than folding, {found.unit}:")
            for text in value_lines(chart):
                typer.echo(text)
            typer.echo("")
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
    typer.echo(f"\n{could_gain(found)}")


def could_gain(found: PushFold) -> str:
    """What a player could gain, and how that is known."""
    m = found.measured
    if not m.deals:
        return f"By another choice nobody could win more than {m.gain:.2g} {found.unit} a hand; all cards counted."
    gained = f"gained {m.gain:.2g} {found.unit} a hand" if m.gain > 0 else "gained nothing"
    return (f"Sampled: {m.deals:,} deals, so hands near the edge of a range may be wrong. A responder chosen on "
            f"{m.fresh:,} fresh deals {gained} on {m.fresh:,} others (95%: {m.low:.2g} to {m.high:.2g}), and "
            f"{m.above:.2g} where it was chosen, which on average is not below what the best one could gain. On the "
            f"deals of the charts themselves it would be {m.fitted:.2g}.")  # fmt: skip


def _print_compared(found: PushFold, other: Any) -> None:
    typer.echo(f"\nYour range for {other.name}: {len(other.hands)} of 169 hands differ, which costs {other.cost:.4g} "
               f"{found.unit} each time it comes to this")  # fmt: skip
    for name, ours, yours, cost in other.hands:
        typer.echo(f"  {name:<4} jams {100 * ours:3.0f}%, yours {100 * yours:3.0f}%: costs {cost:.4g} with this hand")
