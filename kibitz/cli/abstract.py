"""kibitz abstract: buckets of poker hands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.cli.common import GameText, Json, check_artefact, check_file, console, print_json, rules_of, told_by_line
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError


def abstract(
    game: GameText,
    abstraction: Annotated[
        str,
        typer.Argument(
            metavar="ABSTRACTION",
            help="percentile(8), expectation([...]), potential([...]), gameshrink, or a folder with saved buckets.",
            show_default=False,
            autocompletion=complete.abstractions,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Save the buckets here, such as hands.buckets.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw hands by bucket, to a .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Put the hands of a poker game into buckets, and say how many there are and what they lose.

    A bucket is a set of hands that a player does not tell apart. Budgets are numbers of buckets, one for each round.

    \b
    percentile(8)              hands in order of E[HS^2]; each bucket has 8 equally likely children
    percentile([169, 9, 9, 9], metric=ehs, recall=false)
                               by E[HS]; so many in each round, and the bucket before is forgotten
    expectation([15, 225, 900, 3600], metric=ehs)
                               exact clusters by E[HS] (or ehs2), so many in all in each round; an
                               integer programme decides how many children each bucket has
    potential([20, 800, 4800, 28800], metric=l2)
                               k-means by what hands turn into in the next round (or l1, emd);
                               inner= clusters of bottom-up passes, seed= of k-means
    gameshrink                 the classes of `kibitz shrink`

    A budget as large as the number of hands up to suit isomorphism loses nothing. Buckets of large games are kept in
    the cache directory, and a run that was killed continues where it stopped. `kibitz solve GAME --abstraction DIR`
    solves the game with saved buckets.

    \b
    Examples:
      kibitz abstract rhode_island 'percentile(8)'
      kibitz abstract rhode_island 'potential([13, 50, 300])' --out hands.buckets --plot hands.png
      kibitz abstract rhode_island 'expectation([5, 50, 300], metric=ehs2)' --json
    """
    from kibitz.poker.buckets.buckets import game_size, hand_buckets
    from kibitz.poker.buckets.hand_buckets import KIND
    from kibitz.report.plot import ENDINGS

    check_artefact(out, "--out", KIND)
    check_file(plot, "--plot", ENDINGS)
    with Watch(not json) as watch:
        watch.phase(f"reading the game {game}")
        with told_by_line(game):
            rules: Any = rules_of(game)
        definition = getattr(rules, "definition", None)
        if not hasattr(definition, "hole"):
            raise GameError(f"{game} is not poker by a definition, and `kibitz abstract` is for those only")
        watch.phase("reading hands")
        made = hand_buckets(definition, abstraction, lambda what, done, of: watch.phase(f"{what}, {done:,} of {of:,}"))
        try:
            sizes = game_size(rules, made)
        except GameError:  # betting that is too large to be laid out
            sizes = []
        if out is not None:
            watch.phase(f"saving {out}")
            made.save(out)
        if plot is not None:
            from kibitz.report.hands import draw_buckets

            watch.phase("drawing")
            draw_buckets(made, plot)
    data = {
        "game": getattr(rules, "spec", "") or game,
        "abstraction": made.name,
        "buckets": made.counts,
        "perfect_recall": made.perfect_recall,
        "rounds": made.meta.get("rounds", []),
        "infosets": sizes,
        "seconds": made.meta.get("seconds"),
        "processor": made.meta.get("processor"),
        "digest": made.digest,
        "out": None if out is None else str(out),
    }
    if json:
        print_json(data)
    else:
        _print(data)


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.tables import tables
    from kibitz.report.text import duration, pairs, plain

    page = console()
    rows = [
        ("game", plain(data["game"])),
        ("abstraction", plain(data["abstraction"])),
        ("recall", "perfect" if data["perfect_recall"] else "the bucket before is forgotten"),
    ]
    if data["infosets"]:
        rows.append(("abstract game", f"{sum(data['infosets']):,} infosets"))
    if data["seconds"] is not None:
        rows.append(("time", f"{duration(data['seconds'])}, {duration(data['processor'])} of a processor"))
    if data["out"]:
        rows.append(("saved", plain(data["out"])))
    page.print(pairs(rows))
    body = []
    for level, fact in enumerate(data["rounds"]):
        low, mean, high = fact["children"]
        error = fact.get("error")
        body.append((
            str(level), f"{fact['boards']:,}", f"{fact['boards'] * fact['hands']:,}", f"{fact['buckets']:,}",
            f"{low:,} to {high:,}, mean {mean:.1f}", "" if error is None else f"{error:.3g}",
        ))  # fmt: skip
    head = ("round", "boards", "hands on boards", "buckets", "children of a bucket", "expected error")
    for piece in tables(head, body, page.width):
        page.print(piece)
