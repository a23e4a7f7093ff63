"""kibitz shrink: which hands of a poker game may be merged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import GameText, Json, print_data, print_pairs, told_by_line
from kibitz.cli.options import checked, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import SpecError

if TYPE_CHECKING:
    from kibitz.poker.exact.form import PokerForm


def shrink(
    game: GameText,
    reading: Annotated[str, option("--reading", "NAME", "strict (lossless) or win-count (lossy).")] = "strict",
    threshold: Annotated[
        str, option("--threshold", "N", "Deals that a merge may get wrong: a number, or one per round.")
    ] = "0",
    json: Json = False,
) -> None:
    """Run GameShrink: find hands of a poker game to merge.

    The game has two players. GameShrink builds the signal tree, merges nodes with the same outcomes, and prints how
    many classes of hands are left in each round, with the size of the linear programme over these classes. `kibitz
    solve GAME --abstraction gameshrink` solves the game with them.

    \b
    Examples:
      kibitz shrink leduc
      kibitz shrink rhode_island
      kibitz shrink rhode_island --reading win-count
      kibitz shrink rhode_island --reading win-count --threshold 0,50,2 --json
    """
    from kibitz.commands import poker_form

    levels = _numbers(threshold)
    with Watch(not json) as watch:
        watch.phase(f"building the game {game}")
        with told_by_line(game):
            form = poker_form(game)
        data = facts(form, reading, levels, watch)
    print_data(data, json, _print)


def _numbers(text: str) -> int | list[int]:
    try:
        levels = [int(word) for word in text.split(",")]
    except ValueError:
        raise SpecError(f"--threshold {text:.80} should be a whole number, or one per round such as 0,50,2") from None
    for level in levels:
        checked("--threshold", level)
    return levels[0] if len(levels) == 1 else levels


def facts(form: PokerForm, reading: str, threshold: int | list[int], watch: Watch) -> dict[str, Any]:
    """The classes of hands, and the size of the linear programme before and after."""
    from kibitz.poker.buckets import gameshrink
    from kibitz.poker.buckets.signals import Cards

    watch.phase("shrinking")
    began = time.perf_counter()
    cards = Cards.of(form.definition)
    shrunk = gameshrink.shrink(cards, reading, threshold)
    seconds = time.perf_counter() - began
    strict = shrunk if reading == "strict" and not any(shrunk.threshold) else gameshrink.shrink(cards, "strict")
    return {
        "game": form.spec, "reading": reading, "threshold": list(shrunk.threshold),
        "lossless": shrunk.classes == strict.classes,  # all merge at least as much
        "signals": cards.signal_nodes, "classes": shrunk.classes,
        "programme": {"whole": form.programme_size[0], "shrunk": shrunk.lp_size(*form.per_hand)}, "seconds": seconds,
    }  # fmt: skip


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, plain

    def rounds(counts: list[int]) -> str:
        return " / ".join(f"{count:,}" for count in counts)

    kept = "lossless" if data["lossless"] else "lossy: an equilibrium of the abstract game need not be one of the game"
    programme = data["programme"]
    rows = [
        ("game", plain(data["game"])),
        ("reading", data["reading"] + (f", threshold {rounds(data['threshold'])}" if any(data["threshold"]) else "")),
        ("signal tree", f"{data['signals']:,} nodes"),
        ("classes", f"{rounds(data['classes'])} by round ({kept})"),
        ("linear programme", f"{programme['shrunk']:,} rows, {programme['whole']:,} without merging"),
        ("time", duration(data["seconds"])),
    ]
    print_pairs(rows)
