"""kibitz abstract: buckets of poker hands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli import complete
from kibitz.cli.common import GameText, Json, check_artefact, check_file, print_data, print_pairs, print_table, rules_of
from kibitz.cli.options import On, argument, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.poker.buckets.hand_buckets import HandBuckets

NAMES = "percentile(8), expectation([...]), potential([...]), gameshrink, or a directory of saved buckets."


def abstract(
    game: GameText,
    abstraction: Annotated[str, argument("ABSTRACTION", NAMES, complete.abstractions)],
    out: Annotated[Path | None, option("--out", "DIR", "Save the buckets here, such as hands.buckets.")] = None,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw hands by bucket, to a .png, .svg or .pdf.")] = None,
    on: On = None,
    json: Json = False,
) -> None:
    """Put the hands of a poker game into buckets.

    A bucket is a set of hands that a player cannot distinguish in the abstract game. The command prints the number of
    buckets in each round, their error, and the size of the abstract game.

    \b
    percentile(8)
        Sort hands by E[HS^2]. Each bucket has 8 equally likely children.
    percentile([169, 9, 9, 9], metric=ehs, recall=false)
        Sort by E[HS]. This many buckets in each round, with imperfect recall.
    expectation([15, 225, 900, 3600], metric=ehs)
        Exact clusters by E[HS] or ehs2, this many in each round. An integer
        program decides how many children each bucket has.
    potential([20, 800, 4800, 28800], metric=l2)
        k-means on the histogram over buckets of the next round; metric=l2,
        l1 or emd. inner= is the number of clusters in bottom-up passes, seed=
        the seed of k-means.
    gameshrink
        GameShrink merges nodes of the signal tree that have the same
        outcomes. It is lossless.
    gameshrink(reading=win-count, threshold=[0, 50, 2])
        Lossy GameShrink: win-count compares numbers of wins only; threshold
        is the number of deals, by round, that a merge may get wrong.

    With as many buckets as there are hands up to suit isomorphism nothing is lost. Buckets of large games are kept in
    the cache directory, and an interrupted run continues where it stopped. `kibitz solve GAME --abstraction DIR` solves
    the game with saved buckets.

    \b
    Examples:
      kibitz abstract leduc gameshrink
      kibitz abstract rhode_island 'percentile(8)'
      kibitz abstract rhode_island 'gameshrink(reading=win-count)' --json
      kibitz abstract rhode_island 'potential([13, 50, 300])' \\
          --out hands.buckets --plot hands.png
      kibitz abstract rhode_island 'expectation([5, 50, 300], metric=ehs2)'
    """
    from kibitz.commands import abstract as make
    from kibitz.commands import poker_rules
    from kibitz.poker.buckets.buckets import game_size
    from kibitz.poker.buckets.hand_buckets import KIND
    from kibitz.report.plot import ENDINGS

    check_artefact(out, "--out", KIND)
    check_file(plot, "--plot", ENDINGS)
    with Watch(not json) as watch:
        watch.phase(f"reading the game {game}")
        rules = poker_rules(rules_of(game))
        watch.phase("reading hands")
        buckets = make(rules, abstraction, lambda what, n, of: watch.phase(f"{what}, {n:,} of {of:,}"))
        try:
            sizes = game_size(rules, buckets)
        except GameError:  # betting that is too large to be laid out
            sizes = []
        shrunk = buckets.name.startswith("gameshrink")
        watch.phase("counting the signal tree" if shrunk else "")
        extra = signal_tree(rules, buckets) if shrunk else {}
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
        "out": None if out is None else str(out), **extra,
    }  # fmt: skip
    print_data(data, json, _print)


def signal_tree(rules: Any, buckets: HandBuckets) -> dict[str, Any]:
    """Of GameShrink: the size of its signal tree, whether nothing is lost, and linear programmes before and after."""
    from kibitz.forms.choice import compact_form
    from kibitz.poker.buckets import gameshrink
    from kibitz.poker.buckets.signals import Cards
    from kibitz.poker.exact.form import PokerForm

    cards = Cards.of(rules.definition)
    strict = buckets.name == "gameshrink(reading=strict)"
    lossless = strict or buckets.counts == gameshrink.shrink(cards, "strict").classes
    form = compact_form(rules) if rules.players == 2 else None
    rows = {}
    if isinstance(form, PokerForm):
        whole, shrunk = form.programme_size[0], gameshrink.lp_size(buckets.counts, *form.per_hand)
        rows = {"programme": {"whole": whole, "shrunk": shrunk}}
    return {"lossless": lossless, "signals": cards.signal_nodes, **rows}


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, plain

    rows = [
        ("game", plain(data["game"])),
        ("abstraction", plain(data["abstraction"])),
        ("recall", "perfect" if data["perfect_recall"] else "imperfect"),
    ]
    if "signals" in data:
        lossy = "no: an equilibrium of the abstract game need not be one of the game"
        rows += [("lossless", "yes" if data["lossless"] else lossy), ("signal tree", f"{data['signals']:,} nodes")]
    if "programme" in data:
        programme = data["programme"]
        rows.append(("linear program", f"{programme['shrunk']:,} rows, {programme['whole']:,} without merging"))
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
