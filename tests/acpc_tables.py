"""What tests of matches over the ACPC protocol share: tables, clients in threads, and scripts that play one."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import kibitz
from kibitz.core.errors import GameError
from kibitz.evaluate.match import play
from kibitz.games.views import View
from kibitz.play.agents import agent
from kibitz.poker.acpc import states
from kibitz.poker.acpc.client import Client, ClientTally
from kibitz.poker.acpc.dealer import Dealer, DealerOutcome
from kibitz.poker.acpc.log import MatchPlan
from kibitz.poker.acpc.seats import poker_game, poker_machine
from kibitz.poker.acpc.wire import connected

LEDUC = "poker(file=leduc)"
HOST = "127.0.0.1"
LONG = 60.0  # seconds for what takes none


@cache
def profiles() -> tuple[Any, Any]:
    """Two that play differently, and mix."""
    return kibitz.solve(LEDUC, "cfr", iterations=3), kibitz.solve(LEDUC, "cfr+", iterations=30)


@cache
def machine_of(game: str) -> tuple[Any, Any]:
    rules = poker_game(game)
    return rules, poker_machine(rules)


def in_process(game: str, players: tuple[Any, ...], plan: MatchPlan) -> Iterator[list[float]]:
    """What players win, hand by hand and by seat, as kibitz's own matches play them."""
    rules, machine = machine_of(game)
    agents = [agent(player, machine) for player in players]
    for hand in range(plan.hands):
        deal, seating = plan.place(hand)
        yield play(rules, [agents[player] for player in seating], machine.hand(plan.seed, deal))


def table(game: str, *given: Any, **options: Any) -> Dealer:
    """A dealer with a machine that is made once."""
    return Dealer(machine_of(game)[1], *given, **options)


def in_threads(*works: Callable[[], Any]) -> tuple[list[threading.Thread], list[Any]]:
    """Start some work beside this; what each returned or raised, when all threads are joined."""
    results: list[Any] = [None] * len(works)

    def run(k: int) -> None:
        try:
            results[k] = works[k]()
        except Exception as error:
            results[k] = error

    threads = [threading.Thread(target=run, args=(k,), daemon=True) for k in range(len(works))]
    for thread in threads:
        thread.start()
    return threads, results


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def client(
    game: str, player: Any, port: int, seed: int | None = None, duplicate: bool = False
) -> Callable[[], ClientTally]:
    rules, machine = machine_of(game)
    made = Client(rules, machine, agent(player, machine), seed, duplicate)
    return lambda: made.play(connected(HOST, port, LONG), LONG)


def over_the_wire(
    dealer: Dealer, game: str, players: tuple[Any, ...], seed: int
) -> tuple[DealerOutcome, list[ClientTally]]:
    """A match in which all players are clients."""
    ports = dealer.open()
    works = [
        client(game, player, port, seed, dealer.duplicate) for player, (_, port) in zip(players, ports, strict=True)
    ]
    threads, results = in_threads(*works)
    outcome = dealer.play()
    joined(threads)
    return outcome, results


def hands_of(log: Path, game: str = LEDUC) -> list[states.LoggedHand]:
    rules = poker_game(game)
    return [states.parse_played(rules, line) for line in log.read_text().splitlines() if line.startswith("STATE:")]


def whole(log: Path, outcome: DealerOutcome, game: str = LEDUC) -> None:
    """A log has all hands, each legal and with what it pays, and their sums are the outcome."""
    hands = hands_of(log, game)
    assert [hand.hand for hand in hands] == list(range(outcome.hands))
    totals = dict.fromkeys(outcome.players, 0.0)
    for hand in hands:
        for name, value in zip(hand.names, hand.values, strict=True):
            totals[name] += value
    assert tuple(totals.values()) == pytest.approx(outcome.totals)
    assert log.read_text().splitlines()[-1] == states.written_score(outcome.totals, outcome.players)
    assert abs(sum(outcome.totals)) < 1e-6


# One who calls, and one who says what it is told to


class Listener:
    """An agent that is told things; it learns, and sometimes has no answer."""

    name = "listener"

    def __init__(self, silent: bool = False) -> None:
        self.heard: list[Any] = []
        self.silent = silent

    def begin(self, seat: int) -> None:
        self.heard.append(seat)

    def act(self, view: View) -> list[float]:
        self.heard.append(view)
        if self.silent and len(self.heard) % 2:
            raise GameError("there is no row of that name")
        return [float(action == "call") for action in view.actions]

    def end(self, view: View, payoff: float) -> None:
        self.heard.append((view, payoff))


class Script:
    """A client that answers by a function of the line, and sends what it returns as it is."""

    def __init__(self, port: int, answer: Callable[[str, int], bytes | None], hello: bytes = b"VERSION:2.0.0\r\n"):
        self.socket = socket.create_connection((HOST, port), timeout=LONG)
        self.socket.sendall(hello)
        self.answer, self.lines = answer, list[str]()

    def __call__(self) -> list[str]:
        with self.socket, self.socket.makefile("rb") as stream, contextlib.suppress(OSError):
            for data in stream:
                self.lines.append(data.decode().rstrip("\r\n"))
                answer = self.answer(self.lines[-1], len(self.lines) - 1)
                if answer is None:
                    break
                self.socket.sendall(answer)
        return self.lines


def asked(line: str, game: str = LEDUC) -> bool:
    rules, _ = machine_of(game)
    told = states.parse(rules, line)
    return bool(rules.turn(states.state_of(rules, told)) == told.position)


def dropping(count: int) -> Callable[[int], None]:
    def drop(port: int) -> None:
        script = Script(port, lambda line, k: None if k >= count else f"{line}:c\r\n".encode() if asked(line) else b"")
        if count == 0:
            script.socket.close()
        else:
            script()

    return drop


def scripted(
    answer: Callable[[str, int], bytes | None], tmp_path: Path, **options: Any
) -> tuple[DealerOutcome, Script, Path]:
    """A match of "bad", a script, against "good", an agent at the dealer that calls."""
    log = tmp_path / f"{random.getrandbits(60)}.log"
    options = {"hands": 6, "timeout": LONG, **options}
    dealer = Dealer(LEDUC, seed=2, players="bad,good", agents={"good": Listener()}, log=log, **options)
    ((_, port),) = dealer.open()
    script = Script(port, answer)
    threads, _ = in_threads(script)
    outcome = dealer.play()
    joined(threads)
    whole(log, outcome)
    return outcome, script, log


def acted(log: Path, name: str) -> list[str]:
    """What a player of Leduc for two is said to have done."""
    found = []
    for hand in hands_of(log):
        for said in hand.betting:
            found += [action for k, action in enumerate(said) if hand.names[k % 2] == name]
    return found
