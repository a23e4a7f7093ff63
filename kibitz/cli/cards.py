"""kibitz poker cards: strengths and equities of hands and ranges of Texas hold'em, and the tables for them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import (
    INTERRUPTED,
    CommandGroup,
    Json,
    console,
    print_data,
    print_json,
    print_pairs,
    print_table,
    telling,
)
from kibitz.cli.options import On, Seed, Threads, argument, flag, number, option
from kibitz.cli.watch import Watch, say

if TYPE_CHECKING:
    from kibitz.cards import Equities

cards = typer.Typer(name="cards", cls=CommandGroup, no_args_is_help=True, rich_markup_mode=None)

ROWS = 10  # of the histogram that is printed
BAR = 40  # characters of its longest bar
STATES = {
    "made": "made, sha256 right", "damaged": "damaged: will be made anew", "part": "begun", "missing": "not made",
}  # fmt: skip

Board = Annotated[str, option("--board", "CARDS", "Cards on the table, such as 'Qs 7c 2d'.")]
Bins = Annotated[int, number("--bins", "N", "Bins of the histograms.")]


@cards.callback()
def about() -> None:
    """Compute strengths and equities of hold'em hands.

    HS, the strength of a hand, is its chance to win against a random hand, ties counting half. Before the river E[HS]
    and E[HS²] are means over all boards that can still come. These figures are exact. Equities of hands and ranges are
    exact if all showdowns can be counted in some seconds.

    \b
    Examples:
      kibitz poker cards show 'Ah Kd' --board 'Qs 7c 2d'
      kibitz poker cards equity AhKd QsQc
      kibitz poker cards equity AhKd 'TT+,AQs+' random
      kibitz poker cards build
    """


@cards.command()
def show(
    hand: Annotated[str, argument("HAND", "Two cards, such as 'Ah Kd'.")],
    board: Board = "",
    bins: Bins = 50,
    json: Json = False,
) -> None:
    """Print the strength of a hand.

    It prints HS, E[HS], E[HS²], wins and ties, and a histogram of the strength on the river. Before the flop this needs
    a small table, which is made on first use in a few seconds.

    \b
    Examples:
      kibitz poker cards show 'Ah Kd'
      kibitz poker cards show 'Ah Kd' --board 'Qs 7c 2d'
      kibitz poker cards show 'Th 9h' --board '8h 7h 2c Ad' --json
    """
    from kibitz import cards as of
    from kibitz.cards import tables
    from kibitz.cards.holdem import check
    from kibitz.cards.recipes import checked_bins, histogram_recipe, recipe

    hole, shown = of.parse(hand), of.parse(board)
    check(hole, shown)
    checked_bins(bins)
    with Watch(not json) as watch:
        watch.phase("loading compiled code")
        if not len(shown) and len(hole) == 2:
            for table in (recipe("preflop"), histogram_recipe("preflop")):
                tables.opened(table, telling(watch))
        strength, histogram = of.strength(hole, shown), of.histogram(hole, shown, bins)
        wins, ties, losses = (int(count) for count in of.counts(hole, shown))
    now = float(strength.hs)
    data: dict[str, Any] = {
        "hand": of.names(hole), "board": of.names(shown),
        "category": of.category(int(of.evaluate([*hole, *shown]))) if len(shown) else None,
        "hs": None if now != now else now, "ehs": float(strength.ehs), "ehs2": float(strength.ehs2), "wins": wins,
        "ties": ties, "losses": losses, "boards": int(histogram.sum()), "histogram": histogram.tolist(),
    }  # fmt: skip
    print_data(data, json, _print_hand)


@cards.command()
def equity(
    hands: Annotated[list[str], argument("HAND", "A hand or range for each player.")],
    board: Board = "",
    samples: Annotated[int | None, number("--samples", "N", "Draw so many showdowns instead of counting all.")] = None,
    seed: Seed = 0,
    exact: Annotated[bool, flag("--exact", "Count all showdowns, however long that takes.")] = False,
    json: Json = False,
) -> None:
    """Compute the equity of hands and ranges.

    It prints the share of the pot, the wins and the ties of each player. There are 2 to 23 players. All showdowns are
    counted if that takes some seconds; otherwise 2,000,000 are drawn at random, and the standard error is printed. Two
    ranges are counted exactly on any flop, and also before it unless both name single cards.

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
      kibitz poker cards equity AhKd QsQc
      kibitz poker cards equity AhKd 'QQ+,AKs' --board 'Qs 7c 2d'
      kibitz poker cards equity 'top 15%' random
      kibitz poker cards equity AhKh 'TT+,AQs+:0.5' random --samples 1000000
    """
    from kibitz import cards as of
    from kibitz.cards import tables
    from kibitz.cards.ranges import needs_table
    from kibitz.cards.recipes import recipe

    shown = of.parse(board)
    needs = [needs_table(text) for text in hands]  # reads all of them before any work
    with Watch(not json) as watch:
        watch.phase("loading compiled code")
        if any(needs):
            tables.opened(recipe("preflop"), telling(watch))
        equities = of.equities(hands, shown, samples, seed, exact)
    print_data(_equity_data(equities, of.names(shown), None if equities.exact else seed), json, _print_equity)


@cards.command()
def build(
    only: Annotated[list[str] | None, option("--only", "NAME", "Only this one. A wrong name lists them.")] = None,
    bins: Bins = 50,
    threads: Threads = None,
    on: On = None,
    anew: Annotated[bool, flag("--anew", "Rebuild existing tables.")] = False,
    json: Json = False,
) -> None:
    """Make the tables of hand strength.

    They are kept in the cache directory ($KIBITZ_CACHE). A line is printed for each table. All of them take 1.2 GB on
    disk, 1 GB of memory, and four minutes of one core. Each is also made when something first needs it. Ctrl-C keeps
    what is done, and the same command continues.

    \b
    Examples:
      kibitz poker cards build
      kibitz poker cards build --only river --only turn
      kibitz poker cards build --only flop-histogram-30
    """
    from kibitz.cards import tables
    from kibitz.cards.recipes import all_recipes, recipe
    from kibitz.report.text import duration, size

    wanted = [recipe(name) for name in only] if only else all_recipes(bins)
    rows: list[dict[str, Any]] = []
    for table in wanted:
        began = time.perf_counter()
        try:
            with Watch(not json) as watch:
                watch.phase(f"making {table.name}")
                new = tables.build(table, threads, telling(watch), anew=anew)
        except KeyboardInterrupt:
            say("stopped; what is done is kept: the same command continues")
            raise typer.Exit(INTERRUPTED) from None
        seconds = time.perf_counter() - began
        rows.append({"table": table.name, "bytes": table.bytes, "made": new, "seconds": seconds})
        if not json:
            how = f"made in {duration(seconds)}" if new else "was there already"
            typer.echo(f"{table.name:<24}{size(table.bytes):>8}  {how}")
    if json:
        print_json({"home": str(tables.home()), "tables": rows})


@cards.command()
def info(bins: Bins = 50, json: Json = False) -> None:
    """List the tables of hand strength.

    It prints their sizes, where they are, and whether they are there and undamaged.

    \b
    Examples:
      kibitz poker cards info
      kibitz poker cards info --json
    """
    from kibitz.cards import tables
    from kibitz.cards.recipes import all_recipes
    from kibitz.report.text import size

    rows: list[dict[str, Any]] = [
        {"table": table.name, "about": table.about, "bytes": table.bytes, "state": tables.state(table)}
        for table in all_recipes(bins)
    ]
    if json:
        print_json({"home": str(tables.home()), "tables": rows})
        return
    cells = [(row["table"], size(row["bytes"]), STATES[row["state"]], row["about"]) for row in rows]
    print_table(("table", "size", "state", "what it is"), cells, (0, 2, 3))
    typer.echo(f"\nThey are in {tables.home()}. `kibitz poker cards build` makes those that are not there.")


def _equity_data(equities: Equities, board: str, seed: int | None) -> dict[str, Any]:
    """Equities for --json; of two seats also as counts of the first one."""
    whole: Any = round if equities.whole else float
    first, other, *more = equities.seats
    two = {
        "hand": first.name, "other": other.name, "board": board, "equity": first.equity, "wins": whole(first.wins),
        "ties": whole(first.ties), "losses": whole(first.losses),
    }  # fmt: skip
    return {
        **({"board": board} if more else two),
        "samples": None if equities.exact else round(equities.showdowns),
        "seed": seed,
        "exact": equities.exact,
        "showdowns": round(equities.showdowns) if float(equities.showdowns).is_integer() else equities.showdowns,
        "seats": [
            {
                "range": seat.name, "hands": seat.hands, "equity": seat.equity, "error": seat.error,
                "win": seat.wins / equities.showdowns, "tie": seat.ties / equities.showdowns,
                "lose": seat.losses / equities.showdowns,
            }
            for seat in equities.seats
        ],
    }  # fmt: skip


def _print_hand(data: dict[str, Any]) -> None:
    from kibitz.report.text import bar, percent

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
    print_pairs(rows)
    if data["boards"] == 1:
        return
    blocks = console().encoding.startswith("utf")
    count = len(data["histogram"])
    step = -(-count // ROWS)
    sums = [sum(data["histogram"][k : k + step]) for k in range(0, count, step)]
    most = max(sums)
    typer.echo("\nHS on the river")
    for k, total in enumerate(sums):
        low, high = k * step / count, min(1.0, (k + 1) * step / count)
        drawn = bar(total / most, BAR) if blocks else "#" * round(BAR * total / most)
        typer.echo(f"  {low:.2f} to {high:.2f}  {percent(total / data['boards']):>6}  {drawn}".rstrip())


def _print_equity(data: dict[str, Any]) -> None:
    from kibitz.report.text import percent, plain

    if data["board"]:
        typer.echo(f"board {data['board']}\n")
    exact = data["exact"]
    cells = [  # a range may be broken after its commas
        [f"{k}", plain(seat["range"]).replace(", ", ",").replace(",", ", "), f"{seat['hands']:,}",
         f"{seat['equity']:.6f}", *([] if exact else [f"{seat['error']:.6f}"]), percent(seat["win"]),
         percent(seat["tie"])]
        for k, seat in enumerate(data["seats"], 1)
    ]  # fmt: skip
    error = () if exact else ("error",)
    print_table(("player", "hand or range", "hands", "equity", *error, "win", "tie"), cells, (1,), least=8)
    count = data["showdowns"]
    met = f"{count:,}" if isinstance(count, int) else f"{count:,.1f} (by weight)"
    over = f"all of {met} showdowns." if exact else (
        f"a sample of {met} showdowns (seed {data['seed']}), and error is the standard error."
    )
    console().print(f"\nEquity is the share of the pot over {over}")
