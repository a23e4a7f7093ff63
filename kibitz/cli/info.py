"""kibitz info: the size of a game, before it is solved."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import GameText, Json, print_data, print_json, print_pairs, rules_of, subject_of
from kibitz.cli.options import Device, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.forms.protocol import CompactForm

# What is printed of a game that is too large to be laid out.
COUNTS = {
    "deals": "deals", "hands": "hands of a player", "hands_up_to_suits": "up to suits",
    "betting_decisions": "betting decisions", "infosets": "infosets", "infosets_up_to_suits": "up to suits",
}  # fmt: skip


def info(
    game: GameText,
    abstraction: Annotated[
        str | None,
        option("--abstraction", "NAME", "Print the cost of two-player poker with hand buckets, such as percentile(8)."),
    ] = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Print a game's size, its kind, and the memory it needs.

    If a game is too large for memory, the command prints what can be counted, and which commands work with the game.

    \b
    Examples:
      kibitz info leduc
      kibitz info 'goofspiel(num_cards=4, imp_info=true)' --json
      kibitz info rhode_island
      kibitz info holdem.limit.2p
      kibitz info my_game.py:MyGame
      kibitz info rhode_island --abstraction 'percentile(6)'
    """
    from kibitz.commands import facts
    from kibitz.games.own import is_own
    from kibitz.games.plugins import plugin_of
    from kibitz.games.tree import Tree

    if abstraction is not None:
        _info_abstract(game, abstraction, device, json)
        return
    with Watch(not json) as watch:
        began = time.perf_counter()
        as_text: Callable[[dict[str, Any]], None] = _print
        try:
            tree = subject_of(game, watch)
        except GameError as error:
            rules: Any = None if is_own(game) else rules_of(game)
            watch.phase("counting")
            counts = plugin_of(rules).size(rules)
            if not counts:
                raise
            data = {"game": rules.spec, "players": rules.players, **counts, "too_large": str(error)}
            as_text = _print_counts
        else:
            seconds = time.perf_counter() - began
            if isinstance(tree, Tree):
                watch.phase("building the sequence form")
            else:
                as_text = partial(_print_form, tree)
            data = facts(tree, seconds)
    print_data(data, json, as_text)


def _print_counts(data: dict[str, Any]) -> None:
    from kibitz.report.text import by_round, plain

    def text(count: int | list[int] | None) -> str:
        if count is None:
            return "too many to count"
        if isinstance(count, list):
            return f"{by_round(count)} by round"
        return f"{count:,}" + (f", about {count:.3g}" if count > 1e9 else "")

    commands = ", ".join(f"kibitz {command}" for command in data["commands"])
    print_pairs([
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        *((name, text(data[key])) for key, name in COUNTS.items()
          if key in data and (data[key] is not None or name != "up to suits")),
        ("too large", plain(data["too_large"])),
        ("works with", commands or "no command as it is"),
    ])  # fmt: skip


def _info_abstract(game: str, abstraction: str, device: str, json: bool) -> None:
    """The size of an abstract poker game, and the cost of its weights and of an iteration; nothing is computed."""
    from kibitz.commands import abstract_info
    from kibitz.report.text import by_round, duration, plain, size

    rules = rules_of(game)
    with Watch(not json) as watch:
        watch.phase(f"making the buckets {abstraction}")
        data = abstract_info(rules, abstraction, device)
    if json:
        print_json(data)
        return
    weights = data["weights"]
    work = {"made": "in the cache already", "quick": "a moment to count"}.get(weights["state"])
    work = work or f"about {duration(weights['seconds'])} to count"
    rows = [
        ("game", plain(data["game"])),
        ("abstraction", data["abstraction"]),
        ("buckets", f"{by_round(data['buckets'])} by round"),
        ("infosets", f"{data['infosets']:,} in the abstract game"),
        ("sequences", f"{data['sequences']:,}"),
        ("payoffs", f"up to {data['payoff']:g} chips"),
        ("joint weights", f"{work}; {size(weights['bytes'])} on disk"),
        ("an iteration", f"{data['operations'] / 1e9:,.3g} billion operations, about "
                         f"{duration(data['iteration_seconds'])} on this {device}"),
        ("memory", f"about {size(data['bytes']['weights'] + data['bytes']['solve'])} for a solve by CFR"),
    ]  # fmt: skip
    print_pairs(rows)


def _print_form(form: CompactForm, data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, plain, size

    print_pairs([
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        *form.describe(),
        ("memory", f"about {size(data['bytes']['solve'])} for a solve by CFR, plus Python itself"),
        ("built in", duration(data["layout"]["seconds"])),
    ])  # fmt: skip


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, plain, size

    def players(counts: list[int]) -> str:
        return ", ".join(f"{count:,} for player {player}" for player, count in enumerate(counts))

    kinds, memory, layout = data["histories"], data["bytes"], data["layout"]
    payoffs = zip(data["payoff"]["least"], data["payoff"]["most"], strict=True)
    print_pairs([
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        ("histories", f"{kinds['total']:,}: {kinds['decision']:,} decisions, {kinds['chance']:,} chance, "
                      f"{kinds['terminal']:,} terminal"),
        ("infosets", f"{sum(data['infosets']):,}: {players(data['infosets'])}"),
        ("sequences", f"{sum(data['sequences']):,}: {players(data['sequences'])}"),
        ("actions", f"at most {data['most_actions']} in an infoset"),
        ("payoffs", ", ".join(f"{low:g} to {high:g} for player {k}" for k, (low, high) in enumerate(payoffs))),
        ("zero-sum", "yes" if data["zero_sum"] else "no"),
        ("perfect recall", "yes" if data["perfect_recall"] else "no"),
        ("memory", f"about {size(memory['solve'])} for a solve by CFR "
                   f"(tree {size(memory['tree'])}, form {size(memory['form'])}, solver {size(memory['cfr'])})"),
        ("built in", f"{duration(layout['seconds'])}: {layout['histories_per_second']:,.0f} histories a second"),
    ])  # fmt: skip
