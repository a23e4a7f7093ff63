"""kibitz match: two players, duplicate deals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli.common import INTERRUPTED, Json, console, print_json
from kibitz.cli.options import checked, number
from kibitz.cli.watch import Watch
from kibitz.errors import GameError

if TYPE_CHECKING:
    from kibitz.evaluate.match import Agent, Result, Score, Tally

THINKING_DEALS, COMPILED_DEALS = 100, 100_000  # unless told otherwise


def match(
    one: Annotated[
        str,
        typer.Argument(
            metavar="ONE",
            help="uniform, rule, the directory of a blueprint, 'search(DIR, seconds=1)', 'exploit(DIR, bound=0.1)'.",
            show_default=False,
        ),
    ],
    two: Annotated[str, typer.Argument(metavar="TWO", help="Likewise.", show_default=False)],
    game: Annotated[str, typer.Option("--game", metavar="GAME", help="toepen, with any parameters.")] = "toepen",
    deals: Annotated[
        int | None,
        number("--deals", metavar="N", help="Deals, each played twice. Default: 100,000, or 100 if a player thinks."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="WHEN",
            help="Stop early: 'decided', once it is clear who wins, or a number, once the 95% interval is the mean "
            "plus or minus that.",
        ),
    ] = None,
    seed: Annotated[int, number("--seed", metavar="N", help="The same seed gives the same match.")] = 0,
    threads: Annotated[
        int | None, number("--threads", metavar="N", help="Default: one a core. It does not change the result.")
    ] = None,
    gain: Annotated[
        bool,
        typer.Option(
            "--gain",
            help="ONE is search(DIR, ...) and TWO is DIR: measure what search gains by exact values of sampled "
            "endgames, with a fraction of the noise.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Play two players against each other: what ONE wins per hand, with a 95% interval.

    Each deal is played twice, the players changing seats with the same cards, so that luck of the deal cancels.
    Ctrl-C ends the match and tells what was played until then.

    \b
    Examples:
      kibitz match rule uniform
      kibitz match runs/toepen.blueprint rule --deals 1000000 --until decided
      kibitz match 'search(runs/toepen.blueprint, seconds=0.2)' runs/toepen.blueprint --deals 200 --gain
    """
    stop = _stop(until)
    with Watch(not json) as watch:
        watch.phase("reading the players")
        from kibitz.evaluate.match import match as play
        from kibitz.play import agent

        agents = agent(one, game), agent(two, game)
        thinks = any(getattr(a, "player", None) is None for a in agents)
        count = deals if deals is not None else THINKING_DEALS if thinks else COMPILED_DEALS
        watch.phase("playing (the first use compiles)")
        if gain:
            _gain(agents, count, seed, json, watch)
            return

        def told(tally: Tally) -> None:
            score = tally.score()
            half = score.interval[1] - score.mean
            watch.phase(f"deal {tally.deals:,} of {count:,}: {score.mean:+.4f} \u00b1 {half:.4f}")

        result = play(game, agents[0], agents[1], count, seed, threads=threads, until=stop, on_progress=told)
    if json:
        finite = result.deals > 1
        data = {"game": game, "seed": seed, **result.data()}
        print_json(data if finite else {**data, "error": None, "interval": None, "by_seat": None})
    else:
        _print(result)
    if result.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _gain(agents: tuple[Agent, Agent], deals: int, seed: int, json: bool, watch: Watch) -> None:
    from dataclasses import asdict

    from kibitz.play.agents import Compiled
    from kibitz.play.exploit import Exploit
    from kibitz.play.search import Search
    from kibitz.play.search import gain as measure

    one, two = agents
    mine = one.base.player if isinstance(one, Search) and not isinstance(one, Exploit) else None
    if mine is None or not isinstance(two, Compiled) or two.player.table is not mine.table:
        raise GameError("--gain compares search with its own blueprint: kibitz match 'search(DIR, ...)' DIR --gain")
    if deals < 2:
        raise GameError(f"--deals {deals} should be 2 or more for --gain")

    def told(done: int, score: Score) -> None:
        watch.phase(f"deal {done:,} of {deals:,}: {score.mean:+.4f} \u00b1 {score.interval[1] - score.mean:.4f}")

    assert isinstance(one, Search)
    found = measure(one, deals, seed, told)
    if json:
        print_json({"one": one.name, "two": two.name, "seed": seed, **asdict(found)})
        return
    from kibitz.report.text import duration, gap, pairs, plain

    low, high = found.interval
    rows = [
        ("players", plain(f"{one.name} against its blueprint")),
        ("gain per hand", f"{found.mean:+.4f}  (95%: {low:+.4f} to {high:+.4f}) more than its blueprint"),
        *((f"  {'leading first' if seat == 0 else 'second'}", f"{s.mean:+.4f}  (95%: {s.interval[0]:+.4f} to "
           f"{s.interval[1]:+.4f})") for seat, s in enumerate(found.by_seat)),
        ("endgames", f"{found.endgames:,} of {found.deals:,} deals; the others ended before"),
        ("gap there", f"{gap(found.nash_conv)} of search, {gap(found.base_nash_conv)} of the blueprint"),
        ("time", duration(found.seconds)),
    ]  # fmt: skip
    console().print(pairs(rows))


def _stop(until: str | None) -> str | float | None:
    if until is None or until == "decided":
        return until
    try:
        width = float(until)
    except ValueError:
        said = until if len(until) <= 80 else until[:80] + "..."
        raise GameError(f"--until {said} should be 'decided' or a number such as 0.01") from None
    return float(checked("--until", width))


WHY = {
    "done": "",
    "decided": "; stopped, it is clear who wins",
    "precise": "; stopped, the interval is narrow enough",
    "interrupted": "; interrupted",
}


def _print(result: Result) -> None:
    from kibitz.report.text import duration, pairs, plain

    def shown(mean: float, interval: tuple[float, float]) -> str:
        low, high = interval
        return f"{mean:+.4f}  (95%: {low:+.4f} to {high:+.4f})"

    low, high = result.interval
    if result.deals < 2:
        verdict = "too few deals to tell"
    elif low > 0:
        verdict = f"{result.one} wins"
    elif high < 0:
        verdict = f"{result.two} wins"
    else:
        verdict = "no difference that can be told from luck"
    speed = result.deals / max(result.seconds, 1e-9)
    rows = [
        ("players", plain(f"{result.one} against {result.two}")),
        ("won per hand", shown(result.mean, result.interval)),
        ("  leading first", shown(result.by_seat[0].mean, result.by_seat[0].interval)),
        ("  second", shown(result.by_seat[1].mean, result.by_seat[1].interval)),
        ("deals", f"{result.deals:,}, each played twice{WHY[result.stopped]}"),
        ("time", f"{duration(result.seconds)}: {speed:,.{0 if speed >= 10 else 2}f} deals a second"),
        ("so", plain(verdict)),
    ]
    console().print(pairs(rows))
