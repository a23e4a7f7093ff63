"""kibitz info: what a game is, before it is solved."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import GameText, Json, console, print_json, rules_of, subject_of
from kibitz.cli.options import Device
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from kibitz.forms.protocol import CompactForm
    from kibitz.forms.sequence import SequenceForm
    from kibitz.games.tree import Tree

# Arrays of a CFR run by sequence: regret, average, strategy, plan, worth; and, for a look at the gap, two of
# space and two of probabilities. By point: values and choices.
CFR_BY_SEQUENCE, LOOK_BY_SEQUENCE, BY_POINT = 5, 4, 3


def info(
    game: GameText,
    abstraction: Annotated[
        str | None,
        typer.Option(
            "--abstraction",
            metavar="NAME",
            help="Poker for two within buckets of hands, such as percentile(8): what solving it will cost.",
        ),
    ] = None,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Print a game's size, its kind, and the memory that a solve needs.

    A poker game that is too large to be laid out is counted by its betting and its cards.

    \b
    Examples:
      kibitz info leduc
      kibitz info 'goofspiel(num_cards=5, points_order=descending, imp_info=true)' --json
      kibitz info rhode_island
      kibitz info holdem.limit.2p
      kibitz info my_game.py:MyGame
      kibitz info rhode_island --abstraction 'percentile(6)'
    """
    from kibitz.forms.sequence import form_of
    from kibitz.games.own import is_own
    from kibitz.games.tree import Tree

    if abstraction is not None:
        _info_within(game, abstraction, device, json)
        return
    with Watch(not json) as watch:
        began = time.perf_counter()
        counted: dict[str, Any] | None = None
        try:
            tree = subject_of(game, watch)
        except GameError as error:
            rules: Any = None if is_own(game) else rules_of(game)
            if not hasattr(rules, "counts"):
                raise
            watch.phase("counting")
            counted = _counted(rules, str(error))
        seconds = time.perf_counter() - began
        if counted is not None:
            data = counted
        elif isinstance(tree, Tree):
            watch.phase("building the sequence form")
            data = facts(tree, form_of(tree), seconds)
        else:
            data = {**tree.facts(), "layout": {"seconds": seconds}}
    if json:
        print_json(data)
    elif counted is not None:
        _print_counted(data)
    elif isinstance(tree, Tree):
        _print(data)
    else:
        _print_form(tree, data)


def _counted(rules: Any, why: str) -> dict[str, Any]:
    """What is known of a poker game that is too large to be laid out."""
    counts = rules.counts()
    return {
        "game": rules.spec, "players": rules.players, "hands": counts.hands, "hands_up_to_suits": counts.classes,
        "betting_decisions": counts.decisions, "infosets": counts.infosets,
        "infosets_up_to_suits": counts.infosets_up_to_suits, "too_large": why,
    }  # fmt: skip


def _print_counted(data: dict[str, Any]) -> None:
    from kibitz.report.text import pairs, plain

    def rounds(counts: list[int] | None) -> str:
        return "too many to count" if counts is None else " / ".join(f"{count:,}" for count in counts) + " by round"

    def much(count: int | None) -> str:
        return "too many to count" if count is None else f"{count:,}" + (f", about {count:.3g}" if count > 1e9 else "")

    rows = [
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        ("hands of a seat", rounds(data["hands"])),
        *([] if data["hands_up_to_suits"] is None else [("up to suits", rounds(data["hands_up_to_suits"]))]),
        ("betting decisions", rounds(data["betting_decisions"])),
        ("infosets", much(data["infosets"])),
        *([] if data["infosets_up_to_suits"] is None else [("up to suits", much(data["infosets_up_to_suits"]))]),
        ("too large", plain(data["too_large"])),
    ]
    console().print(pairs(rows))


def _info_within(game: str, abstraction: str, device: str, json: bool) -> None:
    """What a game within buckets is, and what its weights and an iteration will take; nothing of that is made."""
    from kibitz.forms.choice import needs_tree
    from kibitz.poker.bucketed.build import cost, layout_of
    from kibitz.poker.buckets.buckets import NAMES, hand_buckets, is_bucket_name
    from kibitz.report.text import duration, pairs, plain, size

    rules: Any = rules_of(game)
    if needs_tree(rules) or not is_bucket_name(abstraction):
        raise GameError(
            f"--abstraction is for poker for two within buckets of hands: {', '.join(NAMES)}; see `kibitz shrink` for "
            "gameshrink"
        )
    with Watch(not json) as watch:
        watch.phase(f"making the buckets {abstraction}")
        buckets = hand_buckets(rules.definition, abstraction)
        layout = layout_of(rules, buckets)
        data = {
            "game": rules.spec, "abstraction": buckets.name, "buckets": layout.rows.tolist(),
            "infosets": sum(g.lanes * int(layout.rows[g.level]) * len(g.nodes) for g in layout.groups),
            "sequences": layout.sequences - 2, "payoff": layout.scale, "device": device,
            **cost(layout, buckets, device),
        }  # fmt: skip
    if json:
        print_json(data)
        return
    weights = data["weights"]
    made = {"made": "in the cache already"}.get(weights["state"], f"about {duration(weights['seconds'])} to count")
    whole = {"quick": "a moment to count"}.get(weights["state"], made)
    rows = [
        ("game", plain(data["game"])),
        ("abstraction", data["abstraction"]),
        ("buckets", " / ".join(f"{count:,}" for count in data["buckets"]) + " by round"),
        ("infosets", f"{data['infosets']:,} within the buckets"),
        ("sequences", f"{data['sequences']:,}"),
        ("payoffs", f"up to {data['payoff']:g} chips"),
        ("joint weights", f"{whole}; {size(weights['bytes'])} on disk"),
        ("an iteration", f"{data['operations'] / 1e9:,.3g} billion operations, about "
                         f"{duration(data['iteration_seconds'])} on this {device}"),
        ("memory", f"about {size(data['bytes']['weights'] + data['bytes']['solve'])} for a solve by CFR"),
    ]  # fmt: skip
    console().print(pairs(rows))


def _print_form(form: CompactForm, data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, pairs, plain, size

    rows = [
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        *form.describe(),
        ("memory", f"about {size(data['bytes']['solve'])} for a solve by CFR, plus Python itself"),
        ("built in", duration(data["layout"]["seconds"])),
    ]
    console().print(pairs(rows))


def facts(tree: Tree, form: SequenceForm, seconds: float) -> dict[str, Any]:
    """All that can be told of a game without solving it."""
    import numpy as np

    return {
        "game": tree.spec,
        "players": tree.players,
        "histories": {"total": tree.histories, **tree.counts()},
        "infosets": np.diff(tree.infosets.seat_start).tolist(),
        "sequences": np.diff(form.seat_sequence).tolist(),
        "most_actions": int(tree.infosets.width.max(initial=0)),
        "payoff_entries": form.entries,
        "zero_sum": tree.zero_sum,
        "perfect_recall": form.perfect_recall,
        "payoff": {
            "least": tree.payoff.min(axis=0).tolist(),
            "most": tree.payoff.max(axis=0).tolist(),
        },
        "bytes": memory(tree, form),
        "layout": {"seconds": seconds, "histories_per_second": tree.histories / max(seconds, 1e-9)},
    }


def memory(tree: Tree, form: SequenceForm) -> dict[str, int]:
    """Bytes that a solve by CFR holds in arrays: tree, form, and the solver's state with a look at the gap."""
    import numpy as np

    def held(part: Any) -> int:
        if isinstance(part, tuple | list):
            return sum(map(held, part)) if part and isinstance(part[0], np.ndarray) else 0
        return part.nbytes if isinstance(part, np.ndarray) else 0

    form.packed  # noqa: B018  what kernels read, made on first use
    per_sequence = CFR_BY_SEQUENCE + LOOK_BY_SEQUENCE
    sizes = {
        "tree": sum(map(held, [*vars(tree).values(), *vars(tree.infosets).values()])),
        "form": sum(map(held, vars(form).values())),
        "cfr": 8 * (per_sequence * form.sequences + BY_POINT * form.points),
    }
    return {**sizes, "solve": sum(sizes.values())}


def _print(data: dict[str, Any]) -> None:
    from kibitz.report.text import duration, pairs, plain, size

    def seats(counts: list[int]) -> str:
        return ", ".join(f"{count:,} for seat {seat}" for seat, count in enumerate(counts))

    kinds, memory, layout = data["histories"], data["bytes"], data["layout"]
    least, most = data["payoff"]["least"], data["payoff"]["most"]
    ranges = ", ".join(
        f"{a:g} to {b:g} for seat {seat}" for seat, a, b in zip(range(len(least)), least, most, strict=True)
    )
    rows = [
        ("game", plain(data["game"])),
        ("players", str(data["players"])),
        (
            "histories",
            f"{kinds['total']:,}: {kinds['decision']:,} decisions, {kinds['chance']:,} chance, "
            f"{kinds['terminal']:,} terminal",
        ),
        ("infosets", f"{sum(data['infosets']):,}: {seats(data['infosets'])}"),
        ("sequences", f"{sum(data['sequences']):,}: {seats(data['sequences'])}"),
        ("actions", f"at most {data['most_actions']} in an infoset"),
        ("payoffs", ranges),
        ("zero-sum", "yes" if data["zero_sum"] else "no"),
        ("perfect recall", "yes" if data["perfect_recall"] else "no"),
        (
            "memory",
            f"about {size(memory['solve'])} for a solve by CFR "
            f"(tree {size(memory['tree'])}, form {size(memory['form'])}, solver {size(memory['cfr'])})",
        ),
        (
            "built in",
            f"{duration(layout['seconds'])}: {layout['histories_per_second']:,.0f} histories a second",
        ),
    ]
    console().print(pairs(rows))
