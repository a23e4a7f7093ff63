"""kibitz poker respond and sizes: what strategies for no-limit poker lose, and to which bets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli.common import INTERRUPTED, Json, print_json, print_pairs, with_interval
from kibitz.cli.options import Seed, Threads, argument, number, option
from kibitz.cli.watch import Watch

if TYPE_CHECKING:
    from kibitz.evaluate.score import Score
    from kibitz.poker.nolimit.response import Responded
    from kibitz.poker.nolimit.sizes import NextSize

TABLE_HELP = "The table. Default: the strategy's game with all bets."
Strategy = Annotated[str, argument("STRATEGY", "A saved strategy for two-player no-limit poker.")]
Table = Annotated[str | None, option("--game", "GAME", TABLE_HELP)]
Deals = Annotated[int, number("--deals", "N", "Deals, each from both seats.")]
Boards = Annotated[
    int, number("--boards", "N", "Ways the board may go on that an equity is taken over; on the river it is exact.")
]


def respond(
    strategy: Strategy,
    game: Table = None,
    sizes: Annotated[
        str, option("--sizes", "LIST", "Raises that the response weighs beside fold and call, in pots.")
    ] = "0.5,1,2,allin",
    deals: Deals = 1000,
    boards: Boards = 24,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Measure a no-limit strategy by a local best response.

    The response knows the strategy and looks one action ahead. What it wins is a lower bound on what a best response
    wins at the table, up to its 95% interval. It may bet sizes that the strategy's own game does not have; the
    strategy reads them as it does in play. mbb are thousandths of a big blind. Ctrl-C ends it and prints the result so
    far.

    \b
    Examples:
      kibitz poker respond nl.profile
      kibitz poker respond nl.profile --sizes 0.25,0.5,1,allin --deals 5000
    """
    from kibitz.poker.nolimit.response import local_response

    with Watch(not json) as watch:
        watch.phase("reading the strategy")

        def progress(done: int, score: Score) -> None:
            watch.phase(f"deal {done:,} of {deals:,}: {score.mean:+.4f} ± {score.interval[1] - score.mean:.4f}")

        result = local_response(strategy, game, deals=deals, sizes=sizes.split(","), boards=boards, seed=seed,
                                threads=threads, on_progress=progress)  # fmt: skip
    if json:
        print_json({"seed": seed, **result.data()})
    else:
        _print_response(result)
    if result.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _print_response(result: Responded) -> None:
    from kibitz.poker.rules.acpc import size_text
    from kibitz.report.text import duration, plain

    blinds = result.milli_blinds
    print_pairs([
        ("strategy", plain(result.name)),
        ("game", plain(result.game)),
        ("the response", f"bets {', '.join(map(size_text, result.sizes))} pots, looks one action ahead"),
        ("wins per hand", with_interval(result.score.mean, result.score.interval)),
        *((f"  in seat {seat}", with_interval(each.mean, each.interval)) for seat, each in enumerate(result.seats)),
        ("mbb per hand", with_interval(blinds.mean, blinds.interval)),
        ("deals", f"{result.deals:,}, each from both seats"
         + ("; interrupted" if result.stopped == "interrupted" else "")),
        ("time", f"{duration(result.seconds)}: {result.deals / max(result.seconds, 1e-9):,.0f} deals a second"),
    ])  # fmt: skip


def sizes(
    strategy: Strategy,
    game: Table = None,
    candidates: Annotated[
        str, option("--candidates", "LIST", "Sizes in pots that may be added; those that it has are left out.")
    ] = "0.33,0.5,0.75,1,1.5,2,3",
    deals: Deals = 1000,
    boards: Boards = 24,
    seconds: Annotated[
        float | None,
        number("--seconds", "S", "Also train a blueprint with each size for so long, and play it against one without."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Say which bet size a no-limit strategy lacks most.

    A local best response plays the same deals with each candidate and without. The difference is what the strategy
    loses because it reads that bet as another size. All intervals together hold with probability 95%, and a size is
    named only if its interval is above 0.

    \b
    Examples:
      kibitz poker sizes nl.profile
      kibitz poker sizes nl.profile --candidates 0.5,2 --deals 5000
    """
    from kibitz.poker.nolimit.sizes import next_size

    with Watch(not json) as watch:
        watch.phase("reading the strategy")
        result = next_size(strategy, game, candidates=candidates.split(","), deals=deals, boards=boards, seed=seed,
                           threads=threads, seconds=seconds, tell=watch.phase)  # fmt: skip
    if json:
        print_json({"seed": seed, **result.data()})
    else:
        _print_sizes(result)


def _print_sizes(result: NextSize) -> None:
    from kibitz.poker.rules.acpc import size_text
    from kibitz.report.text import duration, plain

    rows = [
        ("strategy", plain(f"{result.name}: bets {', '.join(map(size_text, result.sizes))} pots")),
        ("loses per hand", f"{with_interval(result.base.mean, result.base.interval)} to these sizes"),
    ]
    for each in result.candidates:
        rows.append((f"  and with {size_text(each.size)}", f"{with_interval(each.loss.mean, each.loss.interval)} more"))
        if each.match is not None:
            rows.append(("    trained", f"{with_interval(each.match.mean, each.match.interval)} won from one without"))
    verdict = "no candidate costs more than luck would explain: play more --deals, or keep these sizes"
    if result.best is not None:
        verdict = f"add {size_text(result.best)}"
    if result.best_match is not None:
        verdict += f"; in matches {size_text(result.best_match)} wins most"
    rows += [
        ("deals", f"{result.deals:,} of each, from both seats; all intervals together hold with 95%"),
        ("time", duration(result.seconds)),
        ("next size", verdict),
    ]
    print_pairs(rows)
