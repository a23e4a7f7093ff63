"""kibitz evaluate, kibitz show: what a saved strategy is worth, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import Json, ProfilePath, console, has_bars, print_json, quoted, subject_of_profile
from kibitz.cli.options import Device, number
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import InfosetValues
    from kibitz.games.protocol import Action

Game = Annotated[
    str | None,
    typer.Option("--game", metavar="GAME", help="The game. Default: the built-in one that the profile names."),
]
SHOWN = 40  # infosets of a seat that are shown unless --limit says otherwise


def evaluate(
    profile: ProfilePath,
    game: Game = None,
    seconds: Annotated[
        float,
        number(
            "--seconds",
            metavar="S",
            help="Blueprints of games too large for an exact measure: how long a responder learns to beat it.",
        ),
    ] = 10.0,
    local: Annotated[
        int | None,
        number(
            "--local",
            metavar="DEALS",
            help="Such blueprints of limit poker: let local best response, which looks one action ahead, play so many "
            "deals against it; a hand takes a tenth of a second.",
        ),
    ] = None,
    whole: Annotated[
        bool,
        typer.Option(
            "--whole",
            help="A poker profile or blueprint within buckets: measure it in the whole game, board by board. It goes "
            "on where it was stopped.",
        ),
    ] = False,
    value: Annotated[
        bool, typer.Option("--value", help="With --whole: also what each seat gets, for half as much time again.")
    ] = False,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Measure a strategy exactly: what each seat gets, and what a best response gains.

    NashConv is the sum of those gains: 0 is an equilibrium. Exploitability is NashConv / players.

    A profile within buckets, of a game that is too large itself, is measured within them; with --whole in the whole
    game, where best responses see every card. That takes two cores a night for limit hold'em, and
    with --device gpu minutes.

    A blueprint is measured exactly as well where its game can be laid out, and with --whole if it is poker within
    buckets. Otherwise it is sampled: its value in self-play, and what a responder wins that learned against it, which
    is a lower bound on exploitability.

    \b
    Examples:
      kibitz evaluate leduc.profile
      kibitz evaluate toepen.blueprint --seconds 30
      kibitz evaluate fox.profile --game fox.py:FoxAndHen --json
      kibitz evaluate always-call --game holdem.limit.2p --whole
    """
    if whole:
        from kibitz.cli.swept import evaluate_whole

        evaluate_whole(profile, game, device, json, value)
        return
    from kibitz.cli.sampled import evaluate_sampled, exactly, is_blueprint
    from kibitz.forms.profile import Profile
    from kibitz.games.trusted import recalled

    with Watch(not json) as watch:
        tree: Any
        if is_blueprint(profile):
            blueprint, found = exactly(profile, game, watch)
            if isinstance(found, str):
                evaluate_sampled(blueprint, profile, seconds, local, json, watch, found)
                return
            if local is not None:
                raise SolverError("this game is measured exactly: leave --local out")
            tree, held = found
        else:
            held = Profile.load(profile)
            text = game or recalled(held.game, profile, f"--game {quoted(held.game)}")
            tree = subject_of_profile(held, text, watch, None if game else held.infosets.columns, device)
        watch.phase("measuring")
        from kibitz.evaluate import report

        data = {"profile": str(profile), "game": tree.spec, "sha256": held.sha256, **report(tree, held)}
    if json:
        print_json(data)
    else:
        _print_worth(held, data)


def _print_worth(profile: Profile, data: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from kibitz.report.text import gap, head, pairs, signed

    out = console()
    out.print(head(profile), markup=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("seat")
    for name in ("value", "best response", "gain"):
        table.add_column(name, justify="right")
    for seat, (value, best) in enumerate(zip(data["value"], data["best_response"], strict=True)):
        table.add_row(str(seat), signed(value), signed(best), gap(max(0.0, best - value)))
    out.print(table)
    rows = [
        ("NashConv", f"{gap(data['nash_conv'])}: what best responses gain, all seats together"),
        ("exploitability", f"{gap(data['exploitability'])}: NashConv / {len(data['value'])} players"),
    ]
    if not data["perfect_recall"]:
        rows.append(("note", "a seat forgets; its best response remembers, so NashConv is an upper bound"))
    out.print(pairs(rows))


def show(
    profile: ProfilePath,
    seat: Annotated[int | None, number("--seat", metavar="N", help="Only this seat; 0 is the first.")] = None,
    infoset: Annotated[
        str | None, typer.Option("--infoset", metavar="TEXT", help="Only the infoset of exactly this name.")
    ] = None,
    filter: Annotated[
        str | None, typer.Option("--filter", metavar="TEXT", help="Only infosets whose name contains TEXT.")
    ] = None,
    limit: Annotated[
        int | None,
        number("--limit", metavar="N", help=f"Infosets per seat, 0 for all. Default: {SHOWN}; with --json, all."),
    ] = None,
    game: Game = None,
    values: Annotated[
        bool,
        typer.Option("--values/--no-values", help="Reach and expected values, for which the game is laid out."),
    ] = True,
    json: Json = False,
) -> None:
    """Print a strategy: the probability of each action, infoset by infoset.

    reach is the probability that play gets to the infoset when all seats follow the profile; "never" is 0. After the
    probability of an action comes its expected value to the seat that moves, given that play is at the infoset and
    goes on by the profile. "-" is no value: the other seats never let play get there.

    Infosets come in the order of the game. Its rules say what a name means: in leduc, "JsKh:crc/r" is a jack of
    spades held, a king of hearts on the board, and the betting.

    \b
    Examples:
      kibitz show kuhn.profile
      kibitz show leduc.profile --seat 0 --filter Ks --limit 10
      kibitz show kuhn.profile --infoset Q: --json
      kibitz show fox.profile --game fox.py:FoxAndHen
    """
    from kibitz.cli.sampled import as_profile, is_blueprint, show_sampled
    from kibitz.forms.profile import Profile

    if is_blueprint(profile):
        with Watch(not json) as watch:
            blueprint, laid = as_profile(profile, game, watch)
            if laid is None:
                most = SHOWN if limit is None and not json else limit or 0
                show_sampled(blueprint, profile, seat, infoset, filter, most, json, watch)
                return
        held, game = laid, game or blueprint.machine.spec
    else:
        held = Profile.load(profile)
    if seat is not None and not 0 <= seat < held.seats:
        raise GameError(f"there is no seat {seat}: seats are 0 to {held.seats - 1}")
    found = chosen(held, seat, infoset, filter)
    figures, why = _figures(held, profile, game, not json) if values else (None, "")
    if json:
        most = limit or len(held.infosets.labels)
        data = as_data(held, {s: numbers[:most] for s, numbers in found.items()}, figures)
        print_json({**data, "note": why} if why else data)
    else:
        _print_strategy(held, found, SHOWN if limit is None else limit or len(held.infosets.labels), figures)
        if why:
            from kibitz.report.text import plain

            console().print(f"\nReach and expected values are not shown: {plain(why)}", markup=False)


def _figures(held: Profile, path: Path, game: str | None, shown: bool) -> tuple[InfosetValues | None, str]:
    """(reach and values, why there are none). A game that the user names must be the profile's."""
    from kibitz.evaluate.infosets import infoset_values
    from kibitz.games.trusted import recalled

    try:
        infosets = held.infosets
        with Watch(shown) as watch:
            subject: Any
            if game is None and infosets.compact is not None and not infosets.compact.form.abstraction:
                subject = infosets.compact.form  # the file says all of it
            else:
                text = game or recalled(held.game, path, f"--game {quoted(held.game) or 'GAME'}")
                subject = subject_of_profile(held, text, watch, None if game else infosets.columns, "cpu")
            watch.phase("measuring")
            return infoset_values(subject, held), ""
    except KibitzError as error:
        if game is not None:
            raise
        return None, str(error)
    except MemoryError:
        return None, "the machine's memory is not enough for them"


def chosen(profile: Profile, seat: int | None, infoset: str | None, filter: str | None) -> dict[int, Sequence[int]]:
    """For each seat that is asked for: the numbers of the infosets that are."""
    infosets = profile.infosets
    seats = range(profile.seats) if seat is None else [seat]
    found: dict[int, Sequence[int]]
    if infoset is not None:
        found = {s: [i] for s in seats if (i := infosets.number_of(s, infoset)) is not None}
        if not found:
            infosets.find(seats[0], infoset)  # raises, with the near ones
        return found
    start, labels = infosets.seat_start, infosets.labels
    if not filter:
        return {s: range(start[s], start[s + 1]) for s in seats}
    found = {s: [i for i in range(start[s], start[s + 1]) if filter in labels[i]] for s in seats}
    if not any(found.values()):
        raise GameError(f"no infoset's name contains {filter!r}; `kibitz show` without --filter lists them")
    return found


def as_data(
    profile: Profile, found: dict[int, Sequence[int]] | None = None, figures: InfosetValues | None = None
) -> dict[str, Any]:
    """A profile, or some infosets of it, as plain data; with reach and values if they are given."""
    found = chosen(profile, None, None, None) if found is None else found
    strategy = []
    for seat, numbers in found.items():
        for i in numbers:
            row: dict[str, Any] = {"seat": seat, "infoset": profile.infosets.labels[i], "actions": profile.at(i)}
            if figures is not None:
                row |= {"reach": float(figures.reach[i]), "values": _values(profile, figures, i)}
            strategy.append(row)
    return {
        "game": profile.game,
        "seats": profile.seats,
        "sha256": profile.sha256,
        "meta": {key: value for key, value in profile.meta.items() if key != "game"},
        "strategy": strategy,
    }


def _values(profile: Profile, figures: InfosetValues, infoset: int) -> dict[Action, float | None]:
    """Expected value by action name; None where there is none."""
    first, last = profile.infosets.first[infoset : infoset + 2]
    values = figures.values[first:last].tolist()
    return {action: None if x != x else x for action, x in zip(profile.at(infoset), values, strict=True)}


def _print_strategy(
    profile: Profile, found: dict[int, Sequence[int]], limit: int, figures: InfosetValues | None
) -> None:
    from kibitz.report.strategy import LEGEND, InfosetRow, print_strategy
    from kibitz.report.text import head

    out = console()
    out.print(head(profile), markup=False)
    for seat, numbers in found.items():
        rows = [
            InfosetRow(profile.infosets.labels[i], profile.at(i)) if figures is None
            else InfosetRow(profile.infosets.labels[i], profile.at(i), float(figures.reach[i]),
                            _values(profile, figures, i))
            for i in numbers[:limit]
        ]  # fmt: skip
        said = f"seat {seat}: {len(numbers):,} infoset{'s' * (len(numbers) != 1)}"
        if figures is not None and (never := _never(figures, numbers)):
            said += f", {never:,} never reached"
        out.print(f"\n{said}", style="bold")
        if rows:
            print_strategy(out, rows, has_bars(out))
        if len(numbers) > limit:
            out.print(f"... and {len(numbers) - limit:,} more: --limit 0 shows all, --filter TEXT finds some")
    if figures is not None:
        out.print(f"\n{LEGEND}")


def _never(figures: InfosetValues, numbers: Sequence[int]) -> int:
    """How many of some infosets are never reached."""
    import numpy as np

    return int((figures.reach[np.asarray(numbers, np.int64)] == 0.0).sum())
