"""kibitz evaluate, kibitz show: the exploitability of a saved strategy, and its probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import Json, ProfilePath, console, has_bars, print_json, print_pairs, print_table, profile_form
from kibitz.cli.options import Device, SavedGame, flag, number, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import InfosetValues

SHOWN = 40  # infosets of a player that are shown unless --limit says otherwise
LIMIT_HELP = f"Infosets per player, 0 for all. Default: {SHOWN}; with --json, all."
SECONDS_HELP = "Blueprints of games too large for an exact measure: how long a responder learns to beat it."
LOCAL_HELP = "Such blueprints of limit poker: deals of local best response against it, a tenth of a second each."
WHOLE_HELP = "Poker with hand buckets: measure it in the whole game, board by board. A stopped run continues."


def evaluate(
    profile: ProfilePath,
    game: SavedGame = None,
    seconds: Annotated[float, number("--seconds", "S", SECONDS_HELP)] = 10.0,
    local: Annotated[int | None, number("--local", "DEALS", LOCAL_HELP)] = None,
    whole: Annotated[bool, flag("--whole", WHOLE_HELP)] = False,
    value: Annotated[bool, flag("--value", "With --whole: also the value, for half as much time again.")] = False,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Measure the exploitability of a strategy.

    It prints, exactly, the value of each player and what a best response gains. NashConv is the sum of those gains: 0
    is an equilibrium. Exploitability is NashConv / players.

    A poker profile with hand buckets, of a game that is too large itself, is measured in the abstract game; with
    --whole in the whole game, where best responses see every card. For limit hold'em that takes two cores a night, and
    with --device gpu minutes.

    A blueprint is measured exactly if its game can be laid out, or with --whole. Otherwise deals are sampled: its value
    in self-play, and what a responder wins that learned against it, which is a lower bound on exploitability.

    \b
    Examples:
      kibitz evaluate leduc.profile
      kibitz evaluate toepen.blueprint --seconds 30
      kibitz evaluate fox.profile --game fox.py:FoxAndHen --json
      kibitz evaluate always-call --game holdem.limit.2p --whole
    """
    if whole:
        from kibitz.cli.evaluate_whole import evaluate_whole

        evaluate_whole(profile, game, device, json, value)
        return
    from kibitz.cli.sampled import evaluate_sampled, exactly, is_blueprint
    from kibitz.forms.profile import Profile

    with Watch(not json) as watch:
        form: Any
        if is_blueprint(profile):
            blueprint, laid_out = exactly(profile, game, watch)
            if isinstance(laid_out, str):
                evaluate_sampled(blueprint, profile, seconds, local, json, watch, laid_out)
                return
            if local is not None:
                raise SolverError("this game is measured exactly: leave --local out")
            form, strategy = laid_out
        else:
            strategy = Profile.load(profile)
            form = profile_form(strategy, profile, game, watch, device)
        watch.phase("measuring")
        from kibitz.evaluate import report

        data = {"profile": str(profile), "game": form.spec, "sha256": strategy.sha256, **report(form, strategy)}
    if json:
        print_json(data)
        return
    from kibitz.report.text import gap, head, signed

    console().print(head(strategy), markup=False)
    cells = [
        (str(seat), signed(mean), signed(best), gap(max(0.0, best - mean)))
        for seat, (mean, best) in enumerate(zip(data["value"], data["best_response"], strict=True))
    ]
    print_table(("player", "value", "best response", "gain"), cells)
    rows = [
        ("NashConv", f"{gap(data['nash_conv'])}: what best responses gain, all players together"),
        ("exploitability", f"{gap(data['exploitability'])}: NashConv / {len(data['value'])} players"),
    ]
    if not data["perfect_recall"]:
        rows.append(("note", "best responses have perfect recall and a player has not, so NashConv is an upper bound"))
    print_pairs(rows)


def show(
    profile: ProfilePath,
    seat: Annotated[int | None, number("--seat", "N", "Only this player; 0 is the first.")] = None,
    infoset: Annotated[str | None, option("--infoset", "TEXT", "Only the infoset of exactly this name.")] = None,
    filter: Annotated[str | None, option("--filter", "TEXT", "Only infosets whose name contains TEXT.")] = None,
    limit: Annotated[int | None, number("--limit", "N", LIMIT_HELP)] = None,
    game: SavedGame = None,
    values: Annotated[bool, flag("--values/--no-values", "Reach and values, for which the game is laid out.")] = True,
    json: Json = False,
) -> None:
    """Print a strategy, infoset by infoset.

    Each line has the probabilities of the actions. reach is the probability that play gets to the infoset when all
    players follow the profile; "never" is 0. After the probability of an action comes its expected value to the player
    who moves, given that play is at the infoset and continues by the profile. "-" is no value: the other players never
    let play get there.

    Infosets come in the order of the game. Its rules say what a name means: in leduc, "JsKh:crc/r" is a jack of
    spades in the hand, a king of hearts on the board, and the betting.

    \b
    Examples:
      kibitz show kuhn.profile
      kibitz show leduc.profile --seat 0 --filter Ks --limit 10
      kibitz show kuhn.profile --infoset Q: --json
      kibitz show fox.profile --game fox.py:FoxAndHen
    """
    from kibitz.cli.sampled import as_profile, is_blueprint, show_sampled
    from kibitz.commands import chosen
    from kibitz.commands import show as as_data
    from kibitz.forms.profile import Profile

    if is_blueprint(profile):
        with Watch(not json) as watch:
            blueprint, laid_out = as_profile(profile, game, watch)
            if laid_out is None:
                most = SHOWN if limit is None and not json else limit or 0
                show_sampled(blueprint, profile, seat, infoset, filter, most, json, watch)
                return
        strategy, game = laid_out, game or blueprint.machine.spec
    else:
        strategy = Profile.load(profile)
    if seat is not None and not 0 <= seat < strategy.seats:
        raise GameError(f"there is no seat {seat}: seats are 0 to {strategy.seats - 1}")
    numbers = chosen(strategy, seat, infoset, filter)
    figures, why = _figures(strategy, profile, game, not json) if values else (None, "")
    most = limit or len(strategy.infosets.labels)
    if json:
        data = as_data(strategy, seat, infoset, filter, limit, values=figures)
        print_json({**data, "note": why} if why else data)
    else:
        _print_strategy(strategy, numbers, SHOWN if limit is None else most, figures)
        if why:
            from kibitz.report.text import plain

            console().print(f"\nReach and expected values are not shown: {plain(why)}", markup=False)


def _figures(profile: Profile, path: Path, game: str | None, shown: bool) -> tuple[InfosetValues | None, str]:
    """(reach and values, why there are none). A game that the user names must be the profile's."""
    from kibitz.evaluate.infosets import infoset_values

    try:
        compact = profile.infosets.compact
        with Watch(shown) as watch:
            subject: Any
            if game is None and compact is not None and not compact.form.abstraction:
                subject = compact.form  # the file says all of it
            else:
                subject = profile_form(profile, path, game, watch)
            watch.phase("measuring")
            return infoset_values(subject, profile), ""
    except KibitzError as error:
        if game is not None:
            raise
        return None, str(error)
    except MemoryError:
        return None, "the machine's memory is not enough for them"


def _print_strategy(
    profile: Profile, by_seat: Mapping[int, Sequence[int]], limit: int, figures: InfosetValues | None
) -> None:
    import numpy as np

    from kibitz.commands import action_values
    from kibitz.report.strategy import LEGEND, InfosetRow, print_strategy
    from kibitz.report.text import head

    out = console()
    out.print(head(profile), markup=False)
    for seat, numbers in by_seat.items():
        rows = []
        for i in numbers[:limit]:
            worth = () if figures is None else (float(figures.reach[i]), action_values(profile, figures, i))
            rows.append(InfosetRow(profile.infosets.labels[i], profile.at(i), *worth))
        said = f"player {seat}: {len(numbers):,} infoset{'s' * (len(numbers) != 1)}"
        if figures is not None and (never := int((figures.reach[np.asarray(numbers, np.int64)] == 0.0).sum())):
            said += f", {never:,} never reached"
        out.print(f"\n{said}", style="bold")
        if rows:
            print_strategy(out, rows, has_bars(out))
        if len(numbers) > limit:
            out.print(f"... and {len(numbers) - limit:,} more: --limit 0 shows all, --filter TEXT finds some")
    if figures is not None:
        out.print(f"\n{LEGEND}")
