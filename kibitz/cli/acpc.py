"""kibitz dealer and kibitz acpc-client: matches over the protocol of the Annual Computer Poker Competition."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibitz.cli import complete
from kibitz.cli.common import Json, check_file, note, print_json, print_pairs
from kibitz.cli.options import argument, checked, flag, number, option
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import KibitzError, SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibitz.play.fallback import Silence
    from kibitz.poker.acpc.client import ClientTally
    from kibitz.poker.acpc.dealer import DealerOutcome

MOST_AGENTS = 10
POKER_HELP = "A poker game: leduc, kuhn, rhode_island, holdem.limit.2p, holdem.limit.3p, a FILE.game ..."
AGENT_HELP = "An agent of kibitz plays for NAME, in this process: a saved strategy, uniform ... May be repeated."
PORT_HELP = "One port for all players, who get their names as they come; 0: any. Default: a port for each."


def acpc_client(
    profile: Annotated[str, argument("PROFILE", "Who plays: a saved strategy, uniform, 'search(PATH)' ...")],
    host: Annotated[str, argument("HOST", "The host of the dealer.")],
    port: Annotated[str, argument("PORT", "Its port, 1 to 65535.")],
    game: Annotated[
        str | None,
        option("--game", "GAME", f"{POKER_HELP} Default: the game of the strategy, without its action abstraction."),
    ] = None,
    seed: Annotated[
        int | None, number("--seed", "N", "Random seed; the dealer's seed plays as an agent there. Default: a new one.")
    ] = None,
    duplicate: Annotated[bool, flag("--duplicate", "The dealer was started with --duplicate.")] = False,
    wait: Annotated[float, number("--wait", "S", "Leave if the dealer is silent for so many seconds.")] = 600.0,
    json: Json = False,
) -> None:
    """Play a match over the ACPC protocol, with any dealer.

    The protocol is that of version 2.0.0. The client leaves when the dealer closes the connection, and prints hands,
    winnings and time. It never sends an illegal action. In an infoset that the strategy does not have it checks or
    calls, with one warning.

    A strategy with an action abstraction, such as poker(file=holdem.nolimit.2p, bets=[0.5, 1, allin]), plays the whole
    game: a bet of another size is read as one of the two nearest that it knows, at random (pseudo-harmonic mapping).

    \b
    Examples:
      kibitz acpc-client ri.blueprint 127.0.0.1 20000
      kibitz acpc-client uniform localhost 20000 --game holdem.limit.3p
      kibitz acpc-client h2.blueprint dealer.example.org 18791 --json
      kibitz acpc-client nl.blueprint 127.0.0.1 20000 --game holdem.nolimit.2p
    """
    where = _port(port)
    with Watch(not json) as watch:
        watch.phase("reading the player")
        from kibitz.play.agents import agent, game_of
        from kibitz.poker.acpc.client import Client
        from kibitz.poker.acpc.seats import poker_game, poker_machine
        from kibitz.poker.acpc.wire import connected

        text = game if game is not None else game_of([profile])
        if text is None:
            raise SpecError(f"{profile:.200} does not say which game it plays: name one by --game")
        rules = poker_game(text)
        if game is None:
            rules = getattr(rules, "whole", rules)  # a dealer does not know our action abstraction
        machine = poker_machine(rules)
        mind = agent(profile, machine)
        player = Client(rules, machine, mind, seed, duplicate, note)
        watch.phase(f"connecting to {host}")
        connection = connected(host, where, wait)

        def progress(tally: ClientTally) -> None:
            watch.phase(f"hand {tally.hands:,}: {tally.total:+g} chips")

        try:
            watch.phase("waiting for the first hand")
            tally = player.play(connection, wait, progress)
        finally:
            connection.close()
    from kibitz.play.fallback import silence_of

    _print_tally(tally, profile, machine.spec, silence_of(mind), json)


def dealer(
    game: Annotated[str, argument("GAME", POKER_HELP, complete.games)],
    hands: Annotated[int, number("--hands", "N", "Hands of the match, at most 10,000,000.")] = 1000,
    seed: Annotated[int | None, number("--seed", "N", "Random seed, as in `kibitz match`. Default: a new one.")] = None,
    players: Annotated[str | None, option("--players", "A,B[,C]", "Names. Default: player1,player2[,player3].")] = None,
    agent: Annotated[list[str] | None, option("--agent", "NAME=PROFILE", AGENT_HELP)] = None,
    duplicate: Annotated[
        bool, flag("--duplicate", "Play each deal in all seatings: N is a multiple of 2, or of 6 with three players.")
    ] = False,
    host: Annotated[str, option("--host", "HOST", "The address to listen on.")] = "127.0.0.1",
    port: Annotated[int | None, number("--port", "N", PORT_HELP)] = None,
    timeout: Annotated[float, number("--timeout", "S", "Seconds for an answer, or for a handshake.")] = 10.0,
    wait: Annotated[float, number("--wait", "S", "Seconds in which all players must have come.")] = 300.0,
    late: Annotated[int, number("--late", "N", "Late answers that a player may give in the match.")] = 5,
    log: Annotated[Path | None, option("--log", "FILE", "Write the match here, in the ACPC format.")] = None,
    resume: Annotated[bool, flag("--resume", "Check the hands in --log, and continue that match.")] = False,
    json: Json = False,
) -> None:
    """Deal a match over the ACPC protocol.

    There are two or three players; the protocol is that of version 2.0.0. The port of each player is printed at the
    start, and what each won at the end. Agents of kibitz may play in this process. Players move on by a seat after each
    hand; with --duplicate each deal is played in all seatings.

    An invalid or late answer counts as a call or check, or as a fold where no call is possible. A player whose
    connection is lost, who is late more often than --late, or who has not come within --wait plays fold, or check
    where that is free, for the rest of the match. The others play on.

    \b
    Examples:
      kibitz dealer leduc --hands 1000 --seed 5 --agent player1=uniform --agent player2=uniform --log match.log
      kibitz dealer rhode_island --hands 1000 --players me,other --agent me=ri.blueprint --agent other=uniform
      kibitz dealer holdem.limit.2p --hands 3000 --seed 5 --duplicate --log match.log --port 20000
      kibitz dealer holdem.limit.2p --hands 3000 --seed 5 --duplicate --log match.log --port 20000 --resume
      kibitz dealer leduc --hands 100 --agent player2=uniform --port 20001
    """
    check_file(log, "--log", ())
    agents = _agents(agent or [])
    with Watch(not json) as watch:
        watch.phase("reading the players")
        from kibitz.poker.acpc.dealer import Dealer

        match = Dealer(game, hands, seed, players, agents, duplicate, log, resume, timeout, wait, late, note)
        try:
            names = match.awaited
            for name, place in match.open(host, port):
                who = name if port is None else "a player"
                (say if json else typer.echo)(f"{who}: kibitz acpc-client PROFILE {shlex.quote(host)} {place}")
            watch.phase(f"waiting for {', '.join(names)}" if names else "playing")

            def progress(played: int, totals: Sequence[float]) -> None:
                watch.phase(f"hand {played:,} of {hands:,}: " + ", ".join(f"{total:+g}" for total in totals))

            outcome = match.play(progress)
        except KeyboardInterrupt:
            if log is not None:
                note(f"the hands that were played are in {log}: continue by the same command with --resume")
            raise
        finally:
            match.close()
    _print_outcome(outcome, match.plan.game, match.plan.seed, log, json)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text)):
        raise SpecError(f"the port {text:.40} should be a number from 1 to 65535")
    return int(checked("--port", int(text)))


def _agents(texts: list[str]) -> dict[str, str]:
    """name -> who plays for it."""
    agents: dict[str, str] = {}
    for each in texts:
        name, sign, profile = each.partition("=")
        if not (name and sign and profile.strip()):
            raise SpecError(f"--agent {each:.80} should read NAME=PROFILE, such as bob=uniform")
        if name in agents or len(agents) == MOST_AGENTS:
            raise SpecError(f"--agent {name:.80} is given twice: each player has one")
        agents[name] = profile
    return agents


def _print_tally(tally: ClientTally, profile: str, game: str, silence: Silence | None, json: bool) -> None:
    hands = tally.hands
    if json:
        print_json({
            "player": profile, "game": game, "hands": hands, "total": tally.total, "untold": tally.untold,
            "ended": tally.ended, "seconds": tally.seconds, "silence": None if silence is None else silence.data(),
        })  # fmt: skip
    else:
        from kibitz.report.text import duration, plain

        known = hands - tally.untold
        rows = [
            ("player", plain(profile)),
            ("game", plain(game)),
            ("hands", f"{hands:,}" + (f", {tally.untold:,} of them without a result" if tally.untold else "")),
            ("won", f"{tally.total:+g} chips" + (f", {tally.total / known:+.4f} a hand" if known else "")),
            *([("strategy", str(silence))] if silence is not None else []),
            ("time", duration(tally.seconds)),
        ]
        print_pairs(rows)
    if not tally.ended:
        raise KibitzError(f"the dealer left in the middle of a hand, after {hands:,} hands")


def _print_outcome(outcome: DealerOutcome, game: str, seed: int, log: Path | None, json: bool) -> None:
    if json:
        print_json({"game": game, "seed": seed, "log": None if log is None else str(log), **outcome.data()})
        return
    from kibitz.report.text import duration, plain

    rows = [("game", plain(game)), ("seed", str(seed))]
    before = f", {outcome.resumed:,} of them from the log" if outcome.resumed else ""
    rows.append(("hands", f"{outcome.hands:,}{before}"))
    for each in outcome.data()["players"]:
        said = f"{each['total']:+g} chips, {each['per_hand']:+.4f} a hand"
        said += "".join(f"; {each[kind]:,} {kind}" for kind in ("late", "invalid") if each[kind])
        said += f"; {outcome.silence[each['name']]}" if each["silence"] else ""
        rows.append((plain(each["name"]), said + (f"; gone: {plain(each['gone'])}" if each["gone"] else "")))
    if log is not None:
        rows.append(("log", plain(str(log))))
    rows.append(("time", duration(outcome.seconds)))
    print_pairs(rows)
