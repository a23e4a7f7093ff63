"""kibitz cards: how strong hands and ranges of Texas hold'em are, alone and against each other, and the tables."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import INTERRUPTED, Json, console, print_json, telling
from kibitz.cli.options import number
from kibitz.cli.watch import Watch, say

if TYPE_CHECKING:
    from kibitz.cards import Equities
    from kibitz.cards.tables import Recipe

cards = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

ROWS = 10  # of the histogram that is printed
BAR = 40  # characters of its longest bar
STATES = {
    "made": "made, sha256 right",
    "damaged": "damaged: will be made anew",
    "part": "begun",
    "missing": "not made",
}

Board = Annotated[
    str, typer.Option("--board", metavar="CARDS", help="Cards on the table, such as 'Qs 7c 2d'.", show_default=False)
]
Bins = Annotated[int, number("--bins", metavar="N", help="Bins of the histograms.")]


@cards.callback()
def about() -> None:
    """Say how strong hands of Texas hold'em are, and make the tables for it.

    The strength of a hand on the river, HS, is its chance against a random hand, ties counting half; before the river
    E[HS] and E[HS²] are means over all boards that can still come. These figures are exact. Equities of hands and
    ranges against each other are exact where all showdowns can be counted in some seconds.

    \b
    Examples:
      kibitz cards show 'Ah Kd' --board 'Qs 7c 2d'
      kibitz cards equity AhKd QsQc
      kibitz cards equity AhKd 'TT+,AQs+' random
      kibitz cards build
    """


@cards.command()
def show(
    hand: Annotated[str, typer.Argument(metavar="HAND", help="Two cards, such as 'Ah Kd'.", show_default=False)],
    board: Board = "",
    bins: Bins = 50,
    json: Json = False,
) -> None:
    """Show how strong a hand is: HS, E[HS], E[HS²], wins and ties, and where its strength ends on the river.

    On a board it is worked out on the spot. Before the flop a small table is made on first use, in a few seconds.

    \b
    Examples:
      kibitz cards show 'Ah Kd'
      kibitz cards show 'Ah Kd' --board 'Qs 7c 2d'
      kibitz cards show 'Th 9h' --board '8h 7h 2c Ad' --json
    """
    from kibitz import cards as of
    from kibitz.cards.holdem import check
    from kibitz.cards.recipes import checked_bins, histogram_recipe, recipe

    held, shown = of.parse(hand), of.parse(board)
    check(held, shown)
    checked_bins(bins)
    with Watch(not json) as watch:
        watch.phase("loading compiled code")
        if not len(shown) and len(held) == 2:
            for made in (recipe("preflop"), histogram_recipe("preflop")):
                _open(made, watch)
        found, count = of.strength(held, shown), of.counts(held, shown)
        ends = of.histogram(held, shown, bins)
    wins, ties, losses = (int(each) for each in count)
    now = float(found.hs)
    data: dict[str, Any] = {
        "hand": of.names(held),
        "board": of.names(shown),
        "category": of.category(int(of.evaluate([*held, *shown]))) if len(shown) else None,
        "hs": None if now != now else now,
        "ehs": float(found.ehs),
        "ehs2": float(found.ehs2),
        "wins": wins,
        "ties": ties,
        "losses": losses,
        "boards": int(ends.sum()),
        "histogram": ends.tolist(),
    }
    if json:
        print_json(data)
    else:
        _print_hand(data)


@cards.command()
def equity(
    hands: Annotated[
        list[str], typer.Argument(metavar="HAND", help="A hand or range for each seat.", show_default=False)
    ],
    board: Board = "",
    samples: Annotated[
        int | None, number("--samples", metavar="N", help="Random showdowns instead of all, or instead of 2,000,000.")
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="Of the random showdowns.")] = 0,
    exact: Annotated[bool, typer.Option("--exact", help="Count all showdowns, however long that takes.")] = False,
    json: Json = False,
) -> None:
    """Compute the equity of hands and ranges against each other: how often each seat wins and ties, and its share.

    There are 2 to 23 seats. All showdowns are counted if that takes some seconds. Otherwise random ones are drawn, and
    the standard error is shown. Two ranges are counted on any flop, and before it unless both name single cards.

    A range is a list of items with commas between them. Each item may have a weight:

    \b
      AA  AKs  AKo  AK    pairs; suited, offsuit, and all hands of two ranks
      TT+                 this pair and all higher ones
      A2s+  KTo+          the higher card stays, the lower goes up: A2s to AKs
      22-66  KTs-K7s      from one to the other, in any order
      JTs-76s             both cards move together
      AhKh                two cards
      random              all hands
      top 15%             the best 15% by equity against a random hand
      AKs:0.5  AKs@50%    half as likely as hands of weight 1

    A hand that is named twice has the weight of the last item: AA,AhAd:0 is aces without that hand.

    \b
    Examples:
      kibitz cards equity AhKd QsQc
      kibitz cards equity AhKd 'QQ+,AKs' --board 'Qs 7c 2d'
      kibitz cards equity 'top 15%' random
      kibitz cards equity AhKh 'TT+,AQs+:0.5' random --samples 1000000
    """
    from kibitz import cards as of
    from kibitz.cards.ranges import needs_table
    from kibitz.cards.recipes import recipe

    shown = of.parse(board)
    tabled = [needs_table(text) for text in hands]  # reads all of them before any work
    with Watch(not json) as watch:
        watch.phase("loading compiled code")
        if any(tabled):
            _open(recipe("preflop"), watch)
        found = of.equities(hands, shown, samples, seed, exact)
    data = _equity_data(found, of.names(shown), None if found.exact else seed)
    if json:
        print_json(data)
    else:
        _print_equity(data)


@cards.command()
def build(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="TABLE", help="This table; may be given again. A wrong name lists them."),
    ] = None,
    bins: Bins = 50,
    threads: Annotated[
        int | None, number("--threads", metavar="N", help="Cores to use; the table is the same. Default: all.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Make tables even if they are there.")] = False,
    json: Json = False,
) -> None:
    """Make the tables of hand strength, and keep them in the cache directory ($KIBITZ_CACHE).

    All of them take 1.2 GB on disk, 1 GB of memory, and four minutes of one core, so two minutes on two. Each is also
    made when something first needs it. Ctrl-C keeps what is done, and the same command goes on from there.

    \b
    Examples:
      kibitz cards build
      kibitz cards build --only river --only turn
      kibitz cards build --only flop-histogram-30
    """
    from kibitz.cards import tables
    from kibitz.cards.recipes import all_recipes, recipe
    from kibitz.report.text import duration, size

    wanted = [recipe(name) for name in only] if only else all_recipes(bins)
    told: list[dict[str, Any]] = []
    for made in wanted:
        began = time.perf_counter()
        try:
            with Watch(not json) as watch:
                watch.phase(f"making {made.name}")
                new = tables.build(made, threads, telling(watch), anew=anew)
        except KeyboardInterrupt:
            say("stopped; what is done is kept: the same command goes on from there")
            raise typer.Exit(INTERRUPTED) from None
        seconds = time.perf_counter() - began
        told.append({"table": made.name, "bytes": made.bytes, "made": new, "seconds": seconds})
        if not json:
            how = f"made in {duration(seconds)}" if new else "was there already"
            typer.echo(f"{made.name:<24}{size(made.bytes):>8}  {how}")
    if json:
        print_json({"home": str(tables.home()), "tables": told})


@cards.command()
def info(bins: Bins = 50, json: Json = False) -> None:
    """List the tables: which are made, how large they are, where they lie, and whether every byte is as it was written.

    \b
    Examples:
      kibitz cards info
      kibitz cards info --json
    """
    from rich import box
    from rich.table import Table

    from kibitz.cards import tables
    from kibitz.cards.recipes import all_recipes
    from kibitz.report.text import size

    rows: list[dict[str, Any]] = [
        {"table": made.name, "about": made.about, "bytes": made.bytes, "state": tables.state(made)}
        for made in all_recipes(bins)
    ]
    if json:
        print_json({"home": str(tables.home()), "tables": rows})
        return
    page = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in ("table", "size", "state", "what it is"):
        page.add_column(name, justify="right" if name == "size" else "left", overflow="fold")
    for row in rows:
        page.add_row(row["table"], size(row["bytes"]), STATES[row["state"]], row["about"])
    console().print(page)
    typer.echo(f"\nThey lie in {tables.home()}. `kibitz cards build` makes those that are not there.")


# Tables


def _open(made: Recipe, watch: Watch) -> None:
    from kibitz.cards import tables

    tables.opened(made, telling(watch))


# Hands


def _equity_data(found: Equities, board: str, seed: int | None) -> dict[str, Any]:
    """Equities for --json; of two seats also as counts of the first one."""
    whole: Any = round if found.whole else float
    first, other, *more = found.seats
    two = {
        "hand": first.name, "other": other.name, "board": board, "equity": first.equity, "wins": whole(first.wins),
        "ties": whole(first.ties), "losses": whole(first.losses),
    }  # fmt: skip
    return {
        **({"board": board} if more else two),
        "samples": None if found.exact else round(found.showdowns),
        "seed": seed,
        "exact": found.exact,
        "showdowns": round(found.showdowns) if float(found.showdowns).is_integer() else found.showdowns,
        "seats": [
            {
                "range": seat.name, "hands": seat.hands, "equity": seat.equity, "error": seat.error,
                "win": seat.wins / found.showdowns, "tie": seat.ties / found.showdowns,
                "lose": seat.losses / found.showdowns,
            }
            for seat in found.seats
        ],
    }  # fmt: skip


def _print_hand(data: dict[str, Any]) -> None:
    from kibitz.report.text import bar, pairs, percent

    page = console()
    met = data["wins"] + data["ties"] + data["losses"]
    rows = [("hand", data["hand"])]
    if data["board"]:
        rows += [("board", data["board"]), ("now", data["category"])]
    if data["hs"] is not None:
        rows.append(("HS", f"{data['hs']:.6f}  against a random hand as it is, ties counting half"))
    if data["boards"] > 1:
        rows.append(("E[HS]", f"{data['ehs']:.6f}  against a random hand on the river, over {data['boards']:,} boards"))
        rows.append(("E[HS²]", f"{data['ehs2']:.6f}"))
    for name in ("wins", "ties", "losses"):
        rows.append((name, f"{data[name]:>13,}  {percent(data[name] / met)}"))
    page.print(pairs(rows))
    if data["boards"] == 1:
        return
    count = len(data["histogram"])
    step = -(-count // ROWS)
    sums = [sum(data["histogram"][k : k + step]) for k in range(0, count, step)]
    most = max(sums)
    typer.echo("\nHS on the river")
    for k, total in enumerate(sums):
        low, high = k * step / count, min(1.0, (k + 1) * step / count)
        drawn = bar(total / most, BAR) if page.encoding.startswith("utf") else "#" * round(BAR * total / most)
        typer.echo(f"  {low:.2f} to {high:.2f}  {percent(total / data['boards']):>6}  {drawn}".rstrip())


def _print_equity(data: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from kibitz.report.text import percent, plain

    page = console()
    if data["board"]:
        typer.echo(f"board {data['board']}\n")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for name in ("seat", "hand or range", "hands", "equity", *(() if data["exact"] else ("error",)), "win", "tie"):
        table.add_column(name, justify="left" if name == "hand or range" else "right", overflow="fold")
    for k, seat in enumerate(data["seats"], 1):
        error = () if data["exact"] else (f"{seat['error']:.6f}",)
        shares = percent(seat["win"]), percent(seat["tie"])
        items = Text(plain(seat["range"]).replace(", ", ",").replace(",", ", "))  # so that it can be broken there
        table.add_row(f"{k}", items, f"{seat['hands']:,}", f"{seat['equity']:.6f}", *error, *shares)
    page.print(table)
    count = data["showdowns"]
    met = f"{count:,}" if isinstance(count, int) else f"{count:,.1f} (by weight)"
    if data["exact"]:
        told = f"Equity is the share of the pot over all of {met} showdowns."
    else:
        told = (
            f"Equity is the share of the pot over a sample of {met} showdowns (seed {data['seed']}), and error is the "
            "standard error."
        )
    page.print(f"\n{told}")
