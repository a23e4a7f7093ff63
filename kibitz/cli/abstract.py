"""kibitz abstract: buckets of poker hands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from kibitz.cli import complete
from kibitz.cli.common import GameText, Json, check_artefact, check_file, print_data, print_pairs, print_table, rules_of
from kibitz.cli.options import argument, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

NAMES = "percentile(8), expectation([...]), potential([...]), gameshrink, or a folder with saved buckets."


def abstract(
    game: GameText,
    abstraction: Annotated[str, argument("ABSTRACTION", NAMES, complete.abstractions)],
    out: Annotated[Path | None, option("--out", "DIR", "Save the buckets here, such as hands.buckets.")] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw hands by bucket, to a .png, .svg or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Put the hands of a poker game into buckets.

    A bucket is a set of hands that a player does not tell apart. Printed are the number of buckets in each round, the
    error that they make, and the size of the abstract game.

    \b
    percentile(8)              hands in order of E[HS^2]; each bucket has 8 equally likely children
    percentile([169, 9, 9, 9], metric=ehs, recall=false)
                               by E[HS]; so many in each round, with imperfect recall
    expectation([15, 225, 900, 3600], metric=ehs)
                               exact clusters by E[HS] (or ehs2), so many in all in each round; an
                               integer programme decides how many children each bucket has
    potential([20, 800, 4800, 28800], metric=l2)
                               k-means by what hands turn into in the next round (or l1, emd);
                               inner= clusters of bottom-up passes, seed= of k-means
    gameshrink                 the classes of `kibitz shrink`

    With as many buckets as there are hands up to suit isomorphism nothing is lost. Buckets of large games are kept in
    the cache directory, and a run that was killed continues where it stopped. `kibitz solve GAME --abstraction DIR`
    solves the game with saved buckets.

    \b
    Examples:
      kibitz abstract rhode_island 'percentile(8)'
      kibitz abstract rhode_island 'potential([13, 50, 300])' --out hands.buckets --plot hands.png
      kibitz abstract rhode_island 'expectation([5, 50, 300], metric=ehs2)' --json
    """
    from kibitz.commands import abstract as make
    from kibitz.poker.buckets.buckets import game_size
    from kibitz.poker.buckets.hand_buckets import KIND
    from kibitz.report.plot import ENDINGS

    check_artefact(out, "--out", KIND)
    check_file(plot, "--plot", ENDINGS)
    with Watch(not json) as watch:
        watch.phase(f"reading the game {game}")
        rules: Any = rules_of(game)
        watch.phase("reading hands")
        buckets = make(rules, abstraction, lambda what, n, of: watch.phase(f"{what}, {n:,} of {of:,}"))
        try:
            sizes = game_size(rules, buckets)
        except GameError:  # betting that is too large to be laid out
            sizes = []
        if out is not None:
            watch.phase(f"saving {out}")
            buckets.save(out)
        if plot is not None:
            from kibitz.report.hands import draw_buckets

            watch.phase("drawing")
            draw_buckets(buckets, plot)
    data = {
        "game": getattr(rules, "spec", "") or game, "abstraction": buckets.name, "buckets": buckets.counts,
        "perfect_recall": buckets.perfect_recall, "rounds": buckets.meta.get("rounds", []), "infosets": sizes,
        "seconds": buckets.meta.get("seconds"), "processor": buckets.meta.get("processor"), "digest": buckets.digest,
        "out": None if out is None else str(out),
    }  # fmt: skip
    print_data(data, json, _print)


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, plain

    rows = [
        ("game", plain(data["game"])),
        ("abstraction", plain(data["abstraction"])),
        ("recall", "perfect" if data["perfect_recall"] else "imperfect"),
    ]
    if data["infosets"]:
        rows.append(("abstract game", f"{sum(data['infosets']):,} infosets"))
    if data["seconds"] is not None:
        rows.append(("time", f"{duration(data['seconds'])}, {duration(data['processor'])} of a processor"))
    if data["out"]:
        rows.append(("saved", plain(data["out"])))
    print_pairs(rows)
    body = []
    for level, fact in enumerate(data["rounds"]):
        low, mean, high = fact["children"]
        error = fact.get("error")
        body.append((
            str(level), f"{fact['boards']:,}", f"{fact['boards'] * fact['hands']:,}", f"{fact['buckets']:,}",
            f"{low:,} to {high:,}, mean {mean:.1f}", "" if error is None else f"{error:.3g}",
        ))  # fmt: skip
    print_table(("round", "boards", "hands on boards", "buckets", "children of a bucket", "expected error"), body)
