"""kibitz evaluate, kibitz show: the exploitability of a saved strategy, and its probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kibitz.cli.common import (
    Json,
    ProfilePath,
    console,
    has_bars,
    print_json,
    print_pairs,
    print_table,
    profile_form,
    saved_game,
    telling,
)
from kibitz.cli.options import EvaluateDevice, On, SavedGame, argument, flag, number, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError, KibitzError, SolverError

if TYPE_CHECKING:
    from kibitz.forms.profile import Profile
    from kibitz.forms.protocol import InfosetValues

SHOWN = 40  # infosets of a player that are shown unless --top says otherwise
TOP_HELP = f"Infosets per player, 0 for all. Default: {SHOWN}; with --json, all."
SECONDS_HELP = "Blueprints of games that are too large for exact figures: time to train against it."
LOCAL_HELP = "Blueprints of limit poker: also play this many deals of local best response, such as 10000."
PROFILES_HELP = "A saved profile or blueprint: the path after --out. Several are for --whole."
VALUE_HELP = "With --whole: also compute the value, and what several strategies win from each other."
WHOLE_HELP = "Poker in hand buckets: measure it in the real game, board by board. A stopped run continues."


def evaluate(
    profile: Annotated[list[Path], argument("PROFILE...", PROFILES_HELP)],
    game: SavedGame = None,
    seconds: Annotated[float, number("--seconds", "S", SECONDS_HELP)] = 10.0,
    local: Annotated[int | None, number("--local", "DEALS", LOCAL_HELP)] = None,
    whole: Annotated[bool, flag("--whole", WHOLE_HELP)] = False,
    value: Annotated[bool, flag("--value", VALUE_HELP)] = False,
    device: EvaluateDevice = "cpu",
    on: On = None,
    json: Json = False,
) -> None:
    """Measure the exploitability of a strategy.

    The command prints the exact value of each player and the gain of a best response. NashConv is the sum of these
    gains; it is 0 in an equilibrium. Exploitability is NashConv / players.

    A poker profile in hand buckets is measured in the abstract game if the real game is too large; with --whole it is
    measured in the real game, where best responses see every card. For limit hold'em that takes a night on two cores,
    or minutes with --device gpu. Several strategies are measured in one pass over the boards.

    A blueprint is measured exactly if its game fits into memory, or with --whole. Otherwise the command samples deals.
    It prints the value in self-play, and a lower bound on exploitability: the winnings of a strategy that is trained
    against the blueprint.

    \b
    Examples:
      kibitz evaluate leduc.profile
      kibitz evaluate toepen.blueprint --seconds 30
      kibitz evaluate fox.profile --game fox.py:FoxAndHen --json
      kibitz evaluate always-call --game holdem.limit.2p --whole
      kibitz evaluate always-call always-raise --game holdem.limit.2p --whole \\
          --value
    """
    if whole:
        _evaluate_whole(profile, game, device, json, value)
        return
    if len(profile) > 1:
        raise SolverError("several strategies are measured with --whole; small games: kibitz crosstable")
    _evaluate_one(profile[0], game, seconds, local, device, json)


def _evaluate_one(
    profile: Path, game: str | None, seconds: float, local: int | None, device: str, json: bool
) -> None:
    """A strategy in a game that is laid out, or by sampled deals."""
    from kibitz.cli.sampled import evaluate_sampled
    from kibitz.commands import strategy_of
    from kibitz.forms.profile import Profile

    with Watch(not json) as watch:
        watch.phase(f"reading {profile}")
        source = strategy_of(profile, game)
        form: Any
        if isinstance(source, Profile):
            strategy, form = source, profile_form(source, profile, game, watch, device)
        else:
            from kibitz.evaluate.blueprints import laid_out

            watch.phase(f"building the game {source.machine.spec}")
            try:
                form, strategy = laid_out(source)
            except GameError as error:
                evaluate_sampled(source, profile, seconds, local, json, watch, str(error), device)
                return
            if local is not None:
                raise SolverError("this game is measured exactly: leave --local out")
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


def _evaluate_whole(paths: list[Path], game: str | None, device: str, json: bool, value: bool) -> None:
    """Best responses over all boards, and on demand values. A run that was stopped continues after its last flop."""
    from kibitz.commands import evaluate_together
    from kibitz.core.store import said_at
    from kibitz.report.text import signed

    for path in paths:
        said = said_at(path)
        if game is None and said is not None and said[0] == "profile":
            game = saved_game(str(said[1].get("game", "")), path)
    with Watch(not json) as watch:
        data = evaluate_together(paths, game, value, device, telling(watch, "flops: {done:,} of {pieces:,}"))
    each = [{"profile": str(path), **of} for path, of in zip(paths, data["strategies"], strict=True)]
    if json:
        one = {"profile": str(paths[0]), "game": data["game"], "whole": True, **data["strategies"][0]}
        print_json(one if len(paths) == 1 else {**data, "strategies": each})
        return
    if len(paths) > 1:
        _print_field(paths, each, data)
        return
    print_pairs([
        *([("value", f"{signed(each[0]['value'][0])} chips for player 0")] if value else []),
        *((f"best response, player {k}", f"{signed(of)} chips") for k, of in enumerate(each[0]["best_response"])),
        ("exploitability", f"{each[0]['exploitability']:.6g} chips, {each[0]['exploitability_mbb']:,.3f} mbb/h: exact, "
                           "over all boards of the game"),
    ])  # fmt: skip


def _print_field(paths: list[Path], each: list[dict[str, Any]], data: dict[str, Any]) -> None:
    """Several strategies: exploitability, and what they win from each other."""
    from kibitz.cli.crosstable import named
    from kibitz.report.text import signed

    names = named(paths)
    cells = [
        (name, *(signed(best) for best in of["best_response"]), f"{of['exploitability']:.6g}",
         f"{of['exploitability_mbb']:,.3f}")
        for name, of in zip(names, each, strict=True)
    ]  # fmt: skip
    print_table(("strategy", "best response, player 0", "player 1", "exploitability", "mbb/h"), cells)
    if "earnings" in data:
        console().print("\nWinnings of the row against the column, mbb/h:")
        rows = [
            (name, *("" if k == row else f"{data['mbb_per_chip'] * x:,.3f}" for k, x in enumerate(line)))
            for row, (name, line) in enumerate(zip(names, data["earnings"], strict=True))
        ]
        print_table(("", *names), rows)
    console().print("\nAll figures are exact, over all boards of the game.")


def show(
    profile: ProfilePath,
    player: Annotated[int | None, number("--player", "N", "Only this player; 0 is the first.")] = None,
    infoset: Annotated[str | None, option("--infoset", "TEXT", "Only the infoset of exactly this name.")] = None,
    filter: Annotated[str | None, option("--filter", "TEXT", "Only infosets whose name contains TEXT.")] = None,
    top: Annotated[int | None, number("--top", "N", TOP_HELP)] = None,
    game: SavedGame = None,
    values: Annotated[bool, flag("--values/--no-values", "Print reach and values; this builds the game tree.")] = True,
    json: Json = False,
) -> None:
    """Print a strategy, infoset by infoset.

    Each line has the probability of every action. reach is the probability that play reaches the infoset when all
    players follow the profile; "never" is 0. Next to each probability is the action's expected value to the player who
    moves, given that play has reached the infoset and continues by the profile. "-" means no value: the other
    players never let play get there.

    Infosets are listed in the order of the game. The game defines their names: in leduc, "JsKh:crc/r" is a jack of
    spades in the hand, a king of hearts on the board, and the betting.

    \b
    Examples:
      kibitz show kuhn.profile
      kibitz show leduc.profile --player 0 --filter Ks --top 10
      kibitz show kuhn.profile --infoset Q: --json
      kibitz show fox.profile --game fox.py:FoxAndHen
    """
    from kibitz.cli.sampled import show_sampled
    from kibitz.commands import chosen, strategy_of
    from kibitz.commands import show as as_data
    from kibitz.forms.profile import Profile
    from kibitz.games.size import MOST_LAID, fits

    with Watch(not json) as watch:
        watch.phase(f"reading {profile}")
        source = strategy_of(profile, game)
        if isinstance(source, Profile):
            strategy = source
        elif fits(source.game, MOST_LAID):
            from kibitz.games.tree import tree_of
            from kibitz.solvers.blueprint import blueprint_profile

            watch.phase(f"building the game {source.machine.spec}")
            strategy, game = blueprint_profile(source, tree_of(source.game)), game or source.machine.spec
        else:
            most = SHOWN if top is None and not json else top or 0
            show_sampled(source, profile, player, infoset, filter, most, json, watch)
            return
    numbers = chosen(strategy, player, infoset, filter)
    figures, why = _figures(strategy, profile, game, not json) if values else (None, "")
    most = top or len(strategy.infosets.labels)
    if json:
        data = as_data(strategy, player, infoset, filter, top, values=figures)
        print_json({**data, "note": why} if why else data)
    else:
        _print_strategy(strategy, numbers, SHOWN if top is None else most, figures)
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
            out.print(f"... and {len(numbers) - limit:,} more: --top 0 shows all, --filter TEXT finds some")
    if figures is not None:
        out.print(f"\n{LEGEND}")
