"""kibitz shrink: what of a poker game's cards may be merged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import GameText, Json, console, print_json, rules_of, subject_of
from kibitz.cli.options import checked
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, SpecError

if TYPE_CHECKING:
    from kibitz.poker.exact.form import PokerForm


def shrink(
    game: GameText,
    reading: Annotated[
        str, typer.Option("--reading", metavar="NAME", help="strict (lossless) or win-count (lossy).")
    ] = "strict",
    threshold: Annotated[
        str,
        typer.Option("--threshold", metavar="N", help="Deals that a merge may get wrong: a number, or one per round."),
    ] = "0",
    json: Json = False,
) -> None:
    """Run GameShrink on a two-player poker game: find hands that can be merged.

    It builds the signal tree, merges nodes with the same outcomes, and prints how many classes of hands are left in
    each round, with the size of the linear programme over these classes. `kibitz solve GAME --abstraction gameshrink`
    solves the game with them.

    \b
    Examples:
      kibitz shrink leduc
      kibitz shrink rhode_island
      kibitz shrink rhode_island --reading win-count
      kibitz shrink rhode_island --reading win-count --threshold 0,50,2 --json
    """
    from kibitz.games.leduc import Leduc
    from kibitz.poker.exact.form import PokerForm, poker_form
    from kibitz.poker.rules.rules import leduc_as_poker

    levels = _numbers(threshold)
    with Watch(not json) as watch:
        rules: Any = rules_of(game)
        if isinstance(rules, Leduc):  # the same game, of which the general rules of poker know the cards
            form: Any = poker_form(leduc_as_poker(rules))
        else:
            form = subject_of(game, watch)
        if not isinstance(form, PokerForm):
            raise GameError(f"{game} is not a two-player poker game, and `kibitz shrink` is for those only")
        data = facts(form, reading, levels, watch)
    if json:
        print_json(data)
    else:
        _print(data)


def _numbers(text: str) -> int | list[int]:
    try:
        found = [int(word) for word in text.split(",")]
    except ValueError:
        said = text if len(text) <= 80 else text[:80] + "..."
        raise SpecError(f"--threshold {said} should be a whole number, or one for each round such as 0,50,2") from None
    for each in found:
        checked("--threshold", each)
    return found[0] if len(found) == 1 else found


def facts(form: PokerForm, reading: str, threshold: int | list[int], watch: Watch) -> dict[str, Any]:
    """The classes of a game, and the programmes before and after."""
    from kibitz.poker.buckets import gameshrink
    from kibitz.poker.buckets.signals import Cards

    watch.phase("shrinking")
    began = time.perf_counter()
    cards = Cards.of(form.definition)
    shrunk = gameshrink.shrink(cards, reading, threshold)
    seconds = time.perf_counter() - began
    strict = shrunk if reading == "strict" and not any(shrunk.threshold) else gameshrink.shrink(cards, "strict")
    return {
        "game": form.spec,
        "reading": reading,
        "threshold": list(shrunk.threshold),
        "lossless": shrunk.classes == strict.classes,  # all merge at least as much
        "signals": cards.signal_nodes,
        "classes": shrunk.classes,
        "programme": {"whole": form.programme_size[0], "shrunk": shrunk.lp_size(*form.per_hand)},
        "seconds": seconds,
    }


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, pairs, plain

    def rounds(counts: list[int]) -> str:
        return " / ".join(f"{count:,}" for count in counts)

    kept = "lossless" if data["lossless"] else "lossy: an equilibrium within them need not be one of the game"
    programme = data["programme"]
    rows = [
        ("game", plain(data["game"])),
        ("reading", data["reading"] + (f", threshold {rounds(data['threshold'])}" if any(data["threshold"]) else "")),
        ("signal tree", f"{data['signals']:,} nodes"),
        ("classes", f"{rounds(data['classes'])} by round ({kept})"),
        ("linear programme", f"{programme['shrunk']:,} rows, {programme['whole']:,} without merging"),
        ("time", duration(data["seconds"])),
    ]
    console().print(pairs(rows))
