"""kibitz dealer and kibitz acpc-client: matches over the protocol of the Annual Computer Poker Competition."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibitz.cli import complete
from kibitz.cli.common import Json, check_file, console, note, print_json
from kibitz.cli.options import checked, number
from kibitz.cli.watch import Watch, say
from kibitz.core.errors import KibitzError, SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kibitz.play.fallback import Silence
    from kibitz.poker.acpc.client import ClientTally
    from kibitz.poker.acpc.dealer import DealerOutcome

MOST_AGENTS = 10
POKER_HELP = "Poker by a definition: leduc, kuhn, rhode_island, holdem.limit.2p, holdem.limit.3p, a FILE.game ..."
Timeout = Annotated[
    float,
    number(
        "--timeout",
        metavar="S",
        help="Seconds for an answer, from the question to its last byte; the same for a handshake.",
    ),
]


def acpc_client(
    profile: Annotated[
        str,
        typer.Argument(
            metavar="PROFILE",
            help="Who plays: the path of a saved profile or blueprint, uniform, 'search(PATH)' ...",
            show_default=False,
        ),
    ],
    host: Annotated[str, typer.Argument(metavar="HOST", help="Where the dealer listens.", show_default=False)],
    port: Annotated[str, typer.Argument(metavar="PORT", help="Its port, 1 to 65535.", show_default=False)],
    game: Annotated[
        str | None,
        typer.Option(
            "--game",
            metavar="GAME",
            help=f"{POKER_HELP} Default: the game of the saved strategy, with all bets if it has fewer.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            metavar="N",
            help="Of the numbers that choices are drawn with. That of the dealer: as in one process. Default: one that "
            "no opponent can guess.",
        ),
    ] = None,
    duplicate: Annotated[
        bool,
        typer.Option("--duplicate", help="The dealer plays each deal in all seatings, as `kibitz dealer --duplicate`."),
    ] = False,
    wait: Annotated[
        float, number("--wait", metavar="S", help="Seconds for the dealer's next message, before the client leaves.")
    ] = 600.0,
    json: Json = False,
) -> None:
    """Play in a match over the ACPC protocol (version 2.0.0), with any dealer.

    The strategy is asked as in kibitz's own matches, and nothing illegal is ever sent; where it has no answer it
    calls, or checks, which is told once. The client leaves when the dealer closes the connection.

    A strategy of a game of fewer bets, as poker(file=holdem.nolimit.2p, bets=[0.5, 1, allin]), plays the game with all
    of them: bets of others are read as the sizes that it knows, at random between two (the pseudo-harmonic mapping).

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

        named = game if game is not None else game_of([profile])
        if named is None:
            raise SpecError(f"which game {profile:.200} should play is not said: name it by --game")
        rules = poker_game(named)
        if game is None:
            rules = getattr(rules, "whole", rules)  # elsewhere nobody knows of our bets
        machine = poker_machine(rules)
        mind = agent(profile, machine)
        player = Client(rules, machine, mind, seed, duplicate, note)
        watch.phase(f"connecting to {host}")
        connection = connected(host, where, wait)

        def told(tally: ClientTally) -> None:
            watch.phase(f"hand {tally.hands:,}: {tally.total:+g} chips")

        try:
            watch.phase("waiting for the first hand")
            tally = player.play(connection, wait, told)
        finally:
            connection.close()
    from kibitz.play.fallback import silence_of

    _print_tally(tally, profile, machine.spec, silence_of(mind), json)


def dealer(
    game: Annotated[
        str, typer.Argument(metavar="GAME", help=POKER_HELP, show_default=False, autocompletion=complete.games)
    ],
    hands: Annotated[int, number("--hands", metavar="N", help="Hands of the match, at most 10,000,000.")] = 1000,
    seed: Annotated[
        int | None,
        number(
            "--seed",
            metavar="N",
            help="The same seed deals the same cards, those of `kibitz match`. Default: one that nobody can guess; the "
            "log names it.",
        ),
    ] = None,
    players: Annotated[
        str | None,
        typer.Option("--players", metavar="A,B[,C]", help="Names. Default: player1,player2[,player3]."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME=PROFILE",
            help="An agent of kibitz plays for NAME, in this process: a saved strategy, uniform ... May be repeated.",
        ),
    ] = None,
    duplicate: Annotated[
        bool,
        typer.Option("--duplicate", help="Play each deal in all seatings: N is a multiple of 2, of 6 for three."),
    ] = False,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        number(
            "--port",
            metavar="N",
            help="One port for all players, who get their names as they come; 0: any. Default: a port for each.",
        ),
    ] = None,
    timeout: Timeout = 10.0,
    wait: Annotated[float, number("--wait", metavar="S", help="Seconds in which all players must have come.")] = 300.0,
    late: Annotated[
        int, number("--late", metavar="N", help="Answers of a player that may be late, in the whole match.")
    ] = 5,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Write the match here, in the ACPC format.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the match of --log: its hands are checked, and the next are played."),
    ] = False,
    json: Json = False,
) -> None:
    """Deal a match over the ACPC protocol (version 2.0.0) to two or three players.

    Each player has a port, which is printed; agents of kibitz may take seats in this process. Players move on by a
    seat after each hand, or with --duplicate play each deal in all seatings, as in `kibitz match`.

    An invalid or late answer counts as a call or check, or as a fold where no call is possible. A player whose
    connection is lost, who is late more often than --late, or who has not come within --wait plays fold, or check
    where that is free, for the rest of the match. The others play on, and their results are kept.

    \b
    Examples:
      kibitz dealer leduc --hands 1000 --seed 5 --agent player1=uniform --agent player2=uniform --log match.log
      kibitz dealer rhode_island --hands 1000 --players me,other --agent me=ri.blueprint --agent other=uniform
      kibitz dealer holdem.limit.2p --hands 3000 --seed 5 --duplicate --log match.log --port 20000
      kibitz dealer holdem.limit.2p --hands 3000 --seed 5 --duplicate --log match.log --port 20000 --resume
      kibitz dealer leduc --hands 100 --agent player2=uniform --port 20001
    """
    check_file(log, "--log", ())
    given = _agents(agent or [])
    with Watch(not json) as watch:
        watch.phase("reading the players")
        from kibitz.poker.acpc.dealer import Dealer

        match = Dealer(game, hands, seed, players, given, duplicate, log, resume, timeout, wait, late, note)
        try:
            names = match.awaited
            for name, place in match.open(host, port):
                who = name if port is None else "a player"
                (say if json else typer.echo)(f"{who}: kibitz acpc-client PROFILE {shlex.quote(host)} {place}")
            watch.phase(f"waiting for {', '.join(names)}" if names else "playing")

            def told(played: int, totals: Sequence[float]) -> None:
                watch.phase(f"hand {played:,} of {hands:,}: " + ", ".join(f"{total:+g}" for total in totals))

            outcome = match.play(told)
        except KeyboardInterrupt:
            if log is not None:
                note(f"the hands that were played are in {log}: go on by the same command with --resume")
            raise
        finally:
            match.close()
    _print_outcome(outcome, match.plan.game, match.plan.seed, log, json)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and int(text)):
        raise SpecError(f"the port {text:.40} should be a number from 1 to 65535")
    return int(checked("--port", int(text)))


def _agents(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given:
        name, sign, profile = each.partition("=")
        if not (name and sign and profile.strip()):
            raise SpecError(f"--agent {each:.80} should read NAME=PROFILE, as bob=uniform")
        if name in found or len(found) == MOST_AGENTS:
            raise SpecError(f"--agent {name:.80} is given twice: each player has one")
        found[name] = profile
    return found


def _print_tally(tally: ClientTally, profile: str, game: str, silence: Silence | None, json: bool) -> None:
    hands = tally.hands
    if json:
        data: dict[str, Any] = {"player": profile, "game": game, "hands": hands, "total": tally.total}
        data |= {"untold": tally.untold, "ended": tally.ended, "seconds": tally.seconds}
        data |= {"silence": None if silence is None else silence.data()}
        print_json(data)
    else:
        from kibitz.report.text import duration, pairs, plain

        told = hands - tally.untold
        rows = [
            ("player", plain(profile)),
            ("game", plain(game)),
            ("hands", f"{hands:,}" + (f", of {tally.untold:,} the end was not told" if tally.untold else "")),
            ("won", f"{tally.total:+g} chips" + (f", {tally.total / told:+.4f} a hand" if told else "")),
            *([("strategy", str(silence))] if silence is not None else []),
            ("time", duration(tally.seconds)),
        ]
        console().print(pairs(rows))
    if not tally.ended:
        raise KibitzError(f"the dealer left in the middle of a hand, after {hands:,} hands")


def _print_outcome(outcome: DealerOutcome, game: str, seed: int, log: Path | None, json: bool) -> None:
    if json:
        print_json({"game": game, "seed": seed, "log": None if log is None else str(log), **outcome.data()})
        return
    from kibitz.report.text import duration, pairs, plain

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
    console().print(pairs(rows))
