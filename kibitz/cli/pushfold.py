"""kibitz pushfold, kibitz icm: one hand of jam or fold, and the value of stacks in prizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, check_file, console, open_triples, print_json, print_table
from kibitz.cli.options import Deals, Seed, flag, number, option
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.tournaments import PushFold

BLINDS = "0.5/1"
TOURNAMENT_HELP = "Show the play of a tournament solved by `kibitz tournament`; its blinds, ante and prizes count."
COMPARE_HELP = "A range of yours, such as '22+,A2s+,KTo+': which hands differ, and what each costs."
DECISION_HELP = "The decision that --compare is about, as charts name it: 'BB after SB jammed'. Default: the first."
Stacks = Annotated[str, option("--stacks", "A,B,C", "Chips of each player, the first to act first.")]


def icm(
    stacks: Stacks,
    prizes: Annotated[str, option("--prizes", "A,B,C", "For first place, second, ...")],
    json: Json = False,
) -> None:
    """Value stacks in prizes by the Independent Chip Model.

    This is the model of Malmuth and Harville. A player wins with a probability equal to his share of the chips; second
    place goes the same way among the others, and so on. There may be up to 20 players, and fewer prizes. The value of
    each stack is printed.

    \b
    Examples:
      kibitz icm --stacks 10,7,13 --prizes 50,30,20
      kibitz icm --stacks 4500,3000,1500,1000 --prizes 65/35 --json
    """
    from kibitz.poker.tournaments.chip_model import icm as chip_model
    from kibitz.poker.tournaments.states import numbers

    chips, paid = numbers("stacks", stacks), numbers("prizes", prizes)
    values = chip_model(chips, paid).tolist()
    if json:
        print_json({"stacks": list(chips), "prizes": list(paid), "worth": values})
        return
    total, pool = sum(chips), sum(paid[: len(chips)])
    cells = [
        (f"{stack:g}", f"{100 * stack / total:.1f}%", f"{value:.4f}", f"{100 * value / pool:.1f}%")
        for stack, value in zip(chips, values, strict=True)
    ]
    print_table(("stack", "of the chips", "value", "of the prizes"), cells, ())


def pushfold(
    stacks: Stacks,
    blinds: Annotated[
        str, option("--blinds", "S/B", "Small and big blind. By default stacks are in big blinds.")
    ] = BLINDS,
    prizes: Annotated[
        str | None, option("--prizes", "A,B,C", "Prizes of the places left, best first. Default: chips are counted.")
    ] = None,
    ante: Annotated[float, number("--ante", "CHIPS", "What each player pays before the cards.")] = 0.0,
    tournament: Annotated[Path | None, option("--tournament", "DIR", TOURNAMENT_HELP)] = None,
    deals: Deals = None,
    exact: Annotated[bool, flag("--exact", "Refuse to sample deals, which four players and more need.")] = False,
    every: Annotated[bool, flag("--all", "Show every decision, also after two or more have jammed.")] = False,
    values: Annotated[bool, flag("--values", "Print for each hand what jamming gains over folding.")] = False,
    compare: Annotated[str | None, option("--compare", "RANGE", COMPARE_HELP)] = None,
    decision: Annotated[str | None, option("--decision", "NAME", DECISION_HELP)] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw the charts: .png, .svg, .pdf or .html.")] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Solve one hand in which everybody jams or folds.

    There are two to six players, in the order of acting: with three the button, the small blind, the big blind. Stacks
    after the hand are valued by the Independent Chip Model, or in chips. Two and three players are solved with all
    cards; three need a table that is made on first use, some minutes, once. More are solved on a sample of deals, and
    their exploitability is measured on other deals. Printed are charts, values, and what a player could still gain.

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
    chips = [each.strip() for each in stacks.split(",")]
    with Watch(not json) as watch:
        watch.phase("jam or fold")
        if tournament is not None:
            from kibitz.poker.tournaments.saved import at_state, load

            if prizes is not None or blinds != BLINDS or ante:
                raise GameError("--tournament has blinds, ante and prizes of its own: leave these options out")
            solution = at_state(load(tournament), chips, tournament)
        else:
            from kibitz.poker.tournaments import pushfold as solved

            if len(chips) == 3 and deals is None:
                open_triples(watch)
                watch.phase("jam or fold")
            solution = solved(chips, blinds.split("/"), None if prizes is None else numbers("prizes", prizes), ante,
                              deals=deals, exact=exact, seed=seed)  # fmt: skip
    other = None if compare is None else compared(solution, compare, decision)
    if plot is not None:
        charts.draw(solution, plot, every)
    if json:
        print_json({**_data(solution, plot), "compare": None if other is None else other.data()})
    else:
        _print(solution, every, values)
        if other is not None:
            _print_compared(solution, other)
        if plot is not None:
            say(f"drawn to {plot}")


def _data(solution: PushFold, plot: Path | None) -> dict[str, Any]:
    from kibitz.cards.holdem import classes
    from kibitz.report.charts import title

    measured = solution.measured
    return {
        "seats": list(solution.hand.names), "stacks": list(solution.stacks), "blinds": list(solution.blinds),
        "ante": solution.ante, "prizes": None if solution.prizes is None else list(solution.prizes),
        "unit": solution.unit, "values": list(solution.values), "before": list(solution.before),
        "epsilon": solution.epsilon, "deals": solution.deals, "epsilon_interval": [measured.low, measured.high],
        "epsilon_above": measured.above, "epsilon_fitted": measured.fitted, "fresh_deals": measured.fresh,
        "hands": list(classes().names), "plot": None if plot is None else str(plot),
        "decisions": [
            {"decision": title(solution, chart), "seat": solution.hand.names[chart.seat],
             "after": [solution.hand.names[seat] for seat in chart.jammed], "share": chart.share, "reach": chart.reach,
             "forced": chart.forced, "range": chart.range, "jams": chart.jams.tolist(), "gain": chart.gain.tolist(),
             "fold_value": chart.fold.tolist(), "jam_value": (chart.fold + chart.gain).tolist()}
            for chart in solution.charts
        ],
    }  # fmt: skip


def _print(solution: PushFold, every: bool, values: bool) -> None:
    from kibitz.report.charts import heading, legend, lines, shown, title, value_lines

    page = console()
    typer.echo(f"{heading(solution)}\n{legend(solution)}\n")
    plain = not page.is_terminal or page.color_system is None
    for chart in shown(solution, every):
        typer.echo(f"{title(solution, chart)}: {100 * chart.share:.1f}% of hands; reached in "
                   f"{100 * chart.reach:.1f}% of deals")  # fmt: skip
        for line in lines(chart, plain):
            page.print(line)
        page.print(f"  {chart.range}\n")
        if values:
            typer.echo(f"  What jamming gains over folding, {solution.unit}:")
            for text in value_lines(chart):
                typer.echo(text)
            typer.echo("")
    left = len(solution.charts) - len(shown(solution, every))
    if left:
        typer.echo(f"{left} more decisions are forced, or come after two or more jams: --all shows the latter.\n")
    prizes = solution.prizes is not None
    cells = [
        (name, f"{stack:g}",
         *((f"{before:.4f}", f"{value:.4f}", f"{value - before:+.4f}") if prizes else (f"{value:+.4f}",)))
        for name, stack, before, value in zip(
            solution.hand.names, solution.stacks, solution.before, solution.values, strict=True)
    ]  # fmt: skip
    more = ("ICM before", "with this play", "more") if prizes else ("wins, big blinds",)
    print_table(("seat", "stack", *more), cells)
    typer.echo(f"\n{best_response_gain(solution)}")


def best_response_gain(solution: PushFold) -> str:
    """What a best response gains, and how that was measured."""
    m = solution.measured
    if not m.deals:
        return f"No best response gains more than {m.gain:.2g} {solution.unit} a hand; all cards are counted."
    gained = f"gained {m.gain:.2g} {solution.unit} a hand" if m.gain > 0 else "gained nothing"
    return (f"Sampled: {m.deals:,} deals, so hands near the edge of a range may be wrong. A best response to "
            f"{m.fresh:,} fresh deals {gained} on {m.fresh:,} others (95%: {m.low:.2g} to {m.high:.2g}). On the "
            f"deals that it was chosen on it gained {m.above:.2g}, which on average is an upper bound; on the deals of "
            f"the charts, {m.fitted:.2g}.")  # fmt: skip


def _print_compared(solution: PushFold, other: Any) -> None:
    typer.echo(f"\nYour range for {other.name}: {len(other.hands)} of 169 hands differ, which costs {other.cost:.4g} "
               f"{solution.unit} each time that it is reached")  # fmt: skip
    for name, ours, yours, cost in other.hands:
        typer.echo(f"  {name:<4} jams {100 * ours:3.0f}%, yours {100 * yours:3.0f}%: costs {cost:.4g} with this hand")
