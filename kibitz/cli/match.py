"""kibitz match: duplicate deals of any game, for any number of players."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli.common import INTERRUPTED, Json, print_json, print_pairs, with_interval
from kibitz.cli.match_boards import match_on_boards
from kibitz.cli.options import PLAYER_HELP, MatchDevice, On, Seed, Threads, argument, flag, number, option
from kibitz.cli.watch import Watch
from kibitz.core.errors import GameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibitz.evaluate.match import Agent, MatchResult
    from kibitz.evaluate.score import Score, Tally
    from kibitz.games.machine import Machine
    from kibitz.play.fallback import Silence

DEALS_HELP = "Deals, each in all seatings. Default: 100,000, or 100 if a player searches or rules are in Python."
DECIDED_HELP = (
    "Stop once it is clear whether the first player wins. Checks at 1,000, 2,000, 4,000 ... deals share an error of 5%."
)
PRECISION_HELP = "Stop once half the width of the first player's 95% interval is at most this."
BOARDS_HELP = (
    "Two-player poker with buckets: no deals, but all hands on N random boards for each flop, in each of two draws. "
    "9 is a good start."
)
GAIN_HELP = "Toepen, search(DIR, ...) against DIR: the gain of search, by exact values in sampled endgames."


def match(
    players: Annotated[list[str], argument("PLAYER...", f"One for each seat: {PLAYER_HELP}.")],
    game: Annotated[str | None, option("--game", "GAME", "The game. Default: that of the first strategy.")] = None,
    deals: Annotated[int | None, number("--deals", "N", DEALS_HELP)] = None,
    decided: Annotated[bool, flag("--decided", DECIDED_HELP)] = False,
    precision: Annotated[float | None, number("--precision", "CHIPS", PRECISION_HELP)] = None,
    seed: Seed = 0,
    threads: Threads = None,
    on: On = None,
    gain: Annotated[bool, flag("--gain", GAIN_HELP)] = False,
    boards: Annotated[int | None, number("--boards", "N", BOARDS_HELP)] = None,
    device: MatchDevice = "cpu",
    json: Json = False,
) -> None:
    """Play a duplicate match between strategies.

    It prints what each player wins per hand, with a 95% interval. Each deal is played in all seatings (two for two
    players, six for three): the players change seats and the cards stay, so that the luck of the deal cancels. Ctrl-C
    ends the match and prints the result so far.

    \b
    Examples:
      kibitz match rule uniform --game toepen
      kibitz match leduc.profile always-call
      kibitz match leduc.profile uniform --game leduc
      kibitz match leduc.blueprint leduc.profile --deals 1000000 --decided
      kibitz match three.profile uniform uniform --game 'leduc(players=3)'
      kibitz match 'search(toepen.blueprint, seconds=0.2)' toepen.blueprint \\
          --deals 200 --gain
      kibitz match always-call always-raise --game holdem.limit.2p --boards 9
    """
    if boards is None and device != "cpu":
        raise GameError("--device is for --boards; other matches are played on cores")
    if boards is not None and (deals is not None or decided or precision is not None or gain or threads is not None):
        raise GameError("--boards plays no deals: leave out --deals, --decided, --precision, --threads and --gain")
    with Watch(not json) as watch:
        watch.phase("reading the players")
        if boards is not None:
            match_on_boards(players, game, boards, seed, device, json, watch)
            return
        from kibitz.evaluate.match import match as play
        from kibitz.evaluate.match import meeting
        from kibitz.play import agent
        from kibitz.play.agents import check_saved, game_of
        from kibitz.play.blocks import blocks_of
        from kibitz.play.matches import COMPILED_DEALS, THINKING_DEALS
        from kibitz.solvers.machines import playable

        check_saved(players)
        text = game if game is not None else game_of(players)
        if text is None:
            raise GameError(
                f"{' and '.join(players):.200} can play many games: name one, such as --game leduc, or a saved "
                "strategy, which knows its game"
            )
        machine = playable(text)
        if len(players) != machine.players:
            raise GameError(
                f"{machine.spec} has {machine.players} seats: name {machine.players} players, not {len(players)}"
                + ("" if game else " (or another --game)")
            )
        agents = [agent(name, machine) for name in players]
        table, compiled = meeting(machine, agents)
        thinks = compiled is None or not table.compiled
        count = deals if deals is not None else THINKING_DEALS if thinks else COMPILED_DEALS
        watch.phase("playing")
        if gain:
            _gain(agents, count, seed, json, watch)
            return

        def progress(tally: Tally) -> None:
            watch.phase(_progress(tally.deals, count, tally.score()))

        result = play(machine, *agents, deals=count, seed=seed, threads=threads, decided=decided,
                      precision=precision, on_progress=progress, blocks=blocks_of(machine, players))  # fmt: skip
        silence = _silence(machine, agents, seed, result, thinks)
    if json:
        finite = result.deals > 1
        data = {"game": machine.spec, "seed": seed, **result.data()}
        data["silence"] = [None if each is None else each.data() for each in silence]
        print_json(data if finite else {**data, "error": None, "interval": None, "by_seat": None})
    else:
        _print(result, silence, thinks)
    if result.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _silence(
    machine: Machine, agents: Sequence[Agent], seed: int, result: MatchResult, thinks: bool
) -> list[Silence | None]:
    """How often the strategies had no row: counted, or for a compiled match found by replaying its first deals."""
    from kibitz.play.fallback import sampled_silence, silence_of

    counted = [silence_of(agent) for agent in agents]
    if thinks or all(each is None for each in counted) or result.stopped == "interrupted":
        return counted
    return sampled_silence(machine, agents, seed, result.deals)


def _progress(done: int, deals: int, score: Score) -> str:
    return f"deal {done:,} of {deals:,}: {score.mean:+.4f} \u00b1 {score.interval[1] - score.mean:.4f}"


def _gain(agents: Sequence[Agent], deals: int, seed: int, json: bool, watch: Watch) -> None:
    from dataclasses import asdict

    one, two = agents[0], agents[-1]
    measure: Any = getattr(one, "gain", None)
    mine, other = getattr(getattr(one, "base", None), "player", None), getattr(two, "player", None)
    if measure is None or mine is None or other is None or other.store is not mine.store:
        raise GameError("--gain compares search with its own blueprint: kibitz match 'search(DIR, ...)' DIR --gain")
    if deals < 2:
        raise GameError(f"--deals {deals} should be 2 or more for --gain")

    result = measure(deals, seed, lambda done, score: watch.phase(_progress(done, deals, score)))
    if json:
        print_json({"one": one.name, "two": two.name, "seed": seed, **asdict(result)})
        return
    from kibitz.report.text import duration, gap, plain

    rows = [
        ("players", plain(f"{one.name} against its blueprint")),
        ("gain per hand", f"{with_interval(result.mean, result.interval)} more than its blueprint"),
        *((f"  {'leading first' if seat == 0 else 'second'}", with_interval(score.mean, score.interval))
          for seat, score in enumerate(result.by_seat)),
        ("endgames", f"{result.endgames:,} of {result.deals:,} deals; the others ended before"),
        ("NashConv there", f"{gap(result.nash_conv)} of search, {gap(result.base_nash_conv)} of the blueprint"),
        ("time", duration(result.seconds)),
    ]  # fmt: skip
    print_pairs(rows)


WHY = {
    "done": "", "decided": "; stopped, it is clear who wins", "precise": "; stopped, the interval is narrow enough",
    "interrupted": "; interrupted",
}  # fmt: skip


def _print(result: MatchResult, silence: Sequence[Silence | None], thinks: bool) -> None:
    from kibitz.report.text import duration, plain

    low, high = result.edge.interval
    if result.deals < 2:
        verdict = "too few deals to tell"
    elif low > 0:
        verdict = f"{result.one} wins"
    elif high < 0:
        verdict = f"{result.two} wins" if len(result.names) == 2 else f"{result.one} loses"
    else:
        verdict = "no difference that can be told from luck"
    speed = result.deals / max(result.seconds, 1e-9)
    rows = [("players", plain(" against ".join(result.names)))]
    two = len(result.names) == 2
    for name, score, seats in zip(result.names, result.scores, result.seats, strict=True):
        rows.append(("won per hand" if two else plain(name), with_interval(score.mean, score.interval)))
        rows += [(f"  in seat {seat}", with_interval(each.mean, each.interval)) for seat, each in enumerate(seats)]
        if two and abs(result.scores[0].mean + result.scores[1].mean) < 1e-9:
            break  # what one wins the other loses
    for name, each in zip(result.names, silence, strict=True):
        if each is not None and each.unanswered:
            rows.append(("strategy", plain(f"{name}: {each}" + ("" if thinks else ", of its first deals"))))
    times = {2: "twice"}.get(result.seatings, f"{result.seatings} times")
    rows += [
        ("deals", f"{result.deals:,}, each played {times}{WHY[result.stopped]}"),
        ("time", f"{duration(result.seconds)}: {speed:,.{0 if speed >= 10 else 2}f} deals a second"),
        ("result", plain(verdict)),
    ]
    print_pairs(rows)
