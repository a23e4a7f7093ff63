"""Clients that are late, wrong, gone or hostile, and dealers that are strange: the match ends, and by the rules.

As in test_acpc_dealer.py nothing depends on how fast the machine is.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from acpc_tables import (
    HOST,
    LEDUC,
    LONG,
    Listener,
    Script,
    acted,
    asked,
    client,
    dropping,
    in_threads,
    joined,
    machine_of,
    scripted,
    table,
    whole,
)

from kibitz.core.errors import KibitzError
from kibitz.play.agents import agent
from kibitz.poker.acpc import seats
from kibitz.poker.acpc.client import Client, ClientTally
from kibitz.poker.acpc.dealer import Dealer
from kibitz.poker.acpc.states import ProtocolError
from kibitz.poker.acpc.wire import connected

# Forfeits, with a client that says what it is told to


def test_invalid_answers_are_calls(tmp_path: Path) -> None:
    alone = [b"f", b":", b"\xff\xfe", b"hello", b"MATCH:x:c", b"call"]
    after = [b":f", b":r4", b":R", b":", b":raise", b":cc", b":c "]  # a fold is illegal where a check is free
    for each in (*alone, *after):

        def answer(line: str, number: int, each: bytes = each, begin: bool = each in after) -> bytes:
            return (line.encode() if begin else b"") + each + b"\r\n" if asked(line) else b""

        outcome, _, log = scripted(answer, tmp_path)
        assert set(acted(log, "bad")) == {"call"}, each
        assert outcome.invalid["bad"] == len(acted(log, "bad")) and not outcome.gone and not outcome.late
        assert "# invalid 0 bad " in log.read_text()


def test_legal_raises_are_taken(tmp_path: Path) -> None:
    outcome, _, log = scripted(lambda line, k: f"{line}:r\n".encode() if asked(line) else b"", tmp_path)
    assert set(acted(log, "bad")) == {"raise"} and not outcome.invalid  # the other calls


def test_a_late_answer_is_a_call_and_is_not_taken_for_another(tmp_path: Path) -> None:
    kept: list[str] = []

    def answer(line: str, number: int) -> bytes:
        if not asked(line):
            return b""
        if not kept:  # the dealer goes on without an answer; this one is sent when it has
            kept.append(line)
            return b""
        return f"{kept[0]}:r\r\n{line}:c\r\n".encode()

    outcome, _, log = scripted(answer, tmp_path, timeout=1.0, late=1000)
    assert outcome.late["bad"] >= 1 and not outcome.invalid and not outcome.gone
    assert set(acted(log, "bad")) == {"call"}
    assert "# late 0 bad no answer within 1 seconds" in log.read_text()


def test_who_is_late_too_often_folds(tmp_path: Path) -> None:
    outcome, script, log = scripted(lambda line, k: b"", tmp_path, timeout=0.05, late=2, hands=8)
    assert outcome.late == {"bad": 3} and "more than 2 late" in outcome.gone["bad"]
    assert acted(log, "bad")[:2] == ["call", "call"]
    assert set(acted(log, "bad")[2:]) <= {"fold", "call"}
    assert "# forfeit" in log.read_text() and len(script.lines) < 40


def test_comments_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    outcome, _, _ = scripted(
        lambda line, k: b"# thinking\r\n; still\r\n\r\n" + f"{line}:c\r\n".encode() if asked(line) else b"#\n", tmp_path
    )
    assert not outcome.invalid and not outcome.late


def test_others_play_on_when_one_of_three_leaves(tmp_path: Path) -> None:
    game, log = "holdem.limit.3p", tmp_path / "log"
    dealer = table(game, 30, 4, "a,b,c", {}, False, log, timeout=LONG)
    ports = [port for _, port in dealer.open()]
    leaving = Script(
        ports[1], lambda line, k: None if k == 20 else f"{line}:c\r\n".encode() if asked(line, game) else b""
    )
    threads, results = in_threads(client(game, "uniform", ports[0]), leaving, client(game, "uniform", ports[2]))
    outcome = dealer.play()
    joined(threads)
    whole(log, outcome, game)
    assert set(outcome.gone) == {"b"} and not outcome.late and not outcome.invalid
    assert [results[k].hands for k in (0, 2)] == [30, 30]
    assert (results[0].total, results[2].total) == (outcome.totals[0], outcome.totals[2])


# Hostile clients: the match ends, whatever comes


def raw(port: int) -> socket.socket:
    found = socket.create_connection((HOST, port), timeout=LONG)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def shaken(port: int) -> socket.socket:
    found = raw(port)
    found.sendall(b"VERSION:2.0.0\r\n")
    return found


ENDED = threading.Event()  # of the match that a hostile client is in


def until_closed(connection: socket.socket, piece: bytes, pause: float = 0.0) -> None:
    """Send the same again and again until the dealer has had enough, or the match is over."""
    with connection, contextlib.suppress(OSError):
        while not ENDED.is_set():
            connection.sendall(piece)
            time.sleep(pause)


def half_closed(port: int) -> None:
    with shaken(port) as connection:
        connection.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError):
            while connection.recv(4096):
                pass


def silent(port: int) -> None:
    with shaken(port) as connection, contextlib.suppress(OSError):
        while connection.recv(4096):
            pass


def torn(port: int) -> None:
    """An answer without its end, and then nothing more."""
    with shaken(port) as connection, contextlib.suppress(OSError):
        connection.sendall(connection.recv(4096).rstrip(b"\r\n")[:-1])


def stale(port: int) -> None:
    """A flood of answers to a question that nobody asked."""
    until_closed(shaken(port), b"MATCHSTATE:0:999::Ac|:c\r\n" * 500)


HOSTILE: dict[str, Callable[[int], None]] = {
    "silent": silent,
    "never reads": lambda port: until_closed(shaken(port), b"", 0.01),
    "drips": lambda port: until_closed(shaken(port), b"M", 0.002),
    "drips lines": lambda port: until_closed(shaken(port), b"#\n", 0.002),
    "floods with garbage": lambda port: until_closed(shaken(port), random.randbytes(9999)),
    "floods with lines": lambda port: until_closed(shaken(port), b"c\r\n" * 3000),
    "floods with ends": lambda port: until_closed(shaken(port), b"\n" * 9999),
    "floods with comments": lambda port: until_closed(shaken(port), b"#\r\n" * 3000),
    "one line without end": lambda port: until_closed(shaken(port), b"M" * 9999),
    "answers to other questions": stale,
    "half closed": half_closed,
    "an answer without its end": torn,
    **{f"drops after {count}": dropping(count) for count in (0, 1, 2, 3, 5, 8, 13)},
}
LATE = ("silent", "never reads", "drips", "drips lines")  # who never answers: the others need no clock


def met(name: str, times: int, tmp_path: Path) -> None:
    for turn in range(times):
        log = tmp_path / f"{turn}.log"
        ENDED.clear()
        dealer = Dealer(LEDUC, 8, turn, "bad,good", {"good": Listener()}, log=log, wait=LONG, late=1,
                        timeout=0.03 if name in LATE else LONG)  # fmt: skip
        dealer.timeout, patience = LONG, dealer.timeout  # for the handshake
        ((_, port),) = dealer.open()
        threads, _ = in_threads(lambda port=port: HOSTILE[name](port))
        table = dealer._table
        dealer._table = lambda table=table, dealer=dealer, patience=patience: impatient(table(), patience)  # type: ignore
        outcome = dealer.play()
        ENDED.set()
        joined(threads)
        whole(log, outcome)
        assert len(log.read_text().splitlines()) < 100
        if name in LATE:
            assert outcome.late == {"bad": 2}
        kept = name.startswith("floods") or name == "answers to other questions"  # calls are made of all that
        assert bool(outcome.invalid) == kept and set(outcome.gone) == (set() if kept else {"bad"})
        assert outcome.hands == 8


def impatient(table: list[Any], patience: float) -> list[Any]:
    for each in table:
        if isinstance(each, seats.Remote):
            each.timeout = patience
    return table


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_clients(name: str, tmp_path: Path) -> None:
    met(name, 5, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_clients_again_and_again(name: str, tmp_path: Path) -> None:
    met(name, 100, tmp_path)


HANDSHAKES: dict[str, Callable[[socket.socket], None]] = {
    "silent": lambda s: None,
    "drips": lambda s: s.sendall(b"VERSION:2"),
    "another version": lambda s: s.sendall(b"VERSION:1.0.0\r\n"),
    "a newer version": lambda s: s.sendall(b"VERSION:2.0.00\r\n"),
    "no version": lambda s: s.sendall(b"MATCHSTATE:0:0::\r\n"),
    "garbage": lambda s: s.sendall(b"\x00\xff" * 50 + b"\n"),
    "a line without end": lambda s: s.sendall(b"V" * 40_000),
    "gone": lambda s: s.close(),
}


def refused(name: str, times: int) -> None:
    """Somebody comes first and does not shake hands; the one who comes after him plays."""
    for turn in range(times):
        dealer = Dealer(LEDUC, 4, turn, "a,b", {"b": "uniform"}, timeout=LONG, wait=LONG)
        ((_, port),) = dealer.open()
        first = raw(port)
        with contextlib.suppress(OSError):
            HANDSHAKES[name](first)
        threads, results = in_threads(client(LEDUC, "uniform", port))
        outcome = dealer.play()
        joined(threads)
        first.close()
        assert results[0].hands == outcome.hands == 4 and not outcome.gone


@pytest.mark.parametrize("name", HANDSHAKES)
def test_hostile_handshakes(name: str) -> None:
    refused(name, 5)


@pytest.mark.slow
@pytest.mark.parametrize("name", HANDSHAKES)
def test_hostile_handshakes_again_and_again(name: str) -> None:
    refused(name, 100)


@pytest.mark.parametrize("name", HANDSHAKES)
def test_nobody_shakes_hands(name: str, tmp_path: Path) -> None:
    dealer = Dealer(LEDUC, 4, 1, "a,b", {"b": "uniform"}, log=tmp_path / "log", timeout=0.05, wait=0.2)
    ((_, port),) = dealer.open()
    with raw(port) as first:
        with contextlib.suppress(OSError):
            HANDSHAKES[name](first)
        with pytest.raises(ProtocolError, match="nothing was played"):
            dealer.play()
    assert not (tmp_path / "log").exists()
    with pytest.raises(ProtocolError, match="no dealer answers"):
        connected(HOST, port, LONG)


def test_who_does_not_come_forfeits_and_the_others_play(tmp_path: Path) -> None:
    log = tmp_path / "log"
    dealer = Dealer(LEDUC, 6, 1, "a,b", log=log, timeout=LONG, wait=3.0)
    ports = dealer.open()
    script = Script(ports[0][1], lambda line, k: f"{line}:c\r\n".encode() if asked(line) else b"")  # is there already
    threads, _ = in_threads(script)
    outcome = dealer.play()
    joined(threads)
    whole(log, outcome)
    assert set(outcome.gone) == {"b"} and set(acted(log, "b")) <= {"fold", "call"}
    assert "# forfeit 0 b it was not there" in log.read_text()


def test_too_many_connections() -> None:
    dealer = Dealer(LEDUC, 4, 1, "a,b", {"b": "uniform"}, timeout=0.01, wait=LONG)
    ((_, port),) = dealer.open()
    ended = threading.Event()

    def crowd() -> None:
        while not ended.is_set():
            with contextlib.suppress(OSError):
                raw(port).close()
            time.sleep(0.005)

    threads, _ = in_threads(crowd)
    with pytest.raises(ProtocolError, match="nothing was played"):
        dealer.play()
    ended.set()
    joined(threads)


def test_one_port_for_all(tmp_path: Path) -> None:
    dealer = Dealer(LEDUC, 10, 1, "a,b", timeout=LONG)
    ports = dealer.open(port=0)
    assert [name for name, _ in ports] == ["a", "b"] and len({port for _, port in ports}) == 1
    threads, results = in_threads(*(client(LEDUC, "uniform", port, 1) for _, port in ports))
    outcome = dealer.play()
    joined(threads)
    assert [tally.hands for tally in results] == [10, 10] and not outcome.gone
    assert sorted(tally.total for tally in results) == sorted(outcome.totals)


def test_it_listens_on_this_machine_alone() -> None:
    dealer = Dealer(LEDUC, 10, 1, "a,b")
    dealer.open()
    try:
        assert {door.listener.getsockname()[0] for door in dealer._doors} == {HOST}
        with pytest.raises(ProtocolError, match="cannot be listened at"):
            Dealer(LEDUC, 10, 1, "a,b").open(port=dealer._doors[0].port)
    finally:
        dealer.close()


# Clients and dealers that are strange


def one_sided(lines: bytes, wait: float = LONG) -> Any:
    """What a client makes of a dealer that says some lines and leaves."""
    listener = socket.create_server((HOST, 0))
    rules, machine = machine_of(LEDUC)
    made = Client(rules, machine, agent("uniform", machine), 1)

    def play() -> ClientTally:
        connection = connected(HOST, listener.getsockname()[1], LONG)
        try:
            return made.play(connection, wait)
        finally:
            connection.close()

    threads, results = in_threads(play)
    connection, _ = listener.accept()
    with listener, connection, contextlib.suppress(OSError):  # it may leave before it has read all
        connection.sendall(lines)
        if wait == LONG:
            connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):  # what is closed with something unread loses what it has sent
            pass
    joined(threads)
    return results[0]


def test_a_client_with_a_strange_dealer() -> None:
    over = b"# hello\r\n; hello\n\r\nMATCHSTATE:0:0:rf:Ac|\r\n"
    assert one_sided(over).hands == 1 and one_sided(over).ended and one_sided(over).total == 1.0
    assert not one_sided(b"MATCHSTATE:1:0:r:|Ac\r\n").ended
    assert one_sided(b"").hands == 0
    for bad in (b"HELLO\r\n", b"MATCHSTATE:1:0::|AhKd\r\n", b"\xff\n", b"MATCHSTATE:1:0:rx:|Ac\r\n"):
        assert isinstance(one_sided(bad), ProtocolError)
    assert not isinstance(one_sided(b"M" * 50_000), Exception)  # it has left
    assert "comments" in str(one_sided(b"#\n" * 100_001))
    assert "said nothing" in str(one_sided(b"", 0.05))
    hidden = one_sided(b"MATCHSTATE:0:0:cc/cc:Ac|/Qc\r\nMATCHSTATE:0:1:cc/cc:Ac|Kd/Qc\r\n" * 2)
    assert (hidden.hands, hidden.untold, hidden.total) == (4, 2, 2.0)  # an ace beats a king


def test_what_cannot_be_a_match(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("mine")
    for wrong, why in (
        ({"game": "toepen"}, "poker by a definition"), ({"players": "a"}, "2 names"), ({"players": "a,a"}, "2 names"),
        ({"players": "a:b,c"}, "a name has"), ({"agents": {"x": "uniform"}}, "no player x"), ({"hands": 0}, "1 to"),
        ({"hands": 10**9}, "1 to"), ({"hands": 3, "duplicate": True}, "choose 4"), ({"resume": True}, "its log"),
        ({"seed": -1}, "from 0"),
        ({"log": there}, "there already"), ({"log": tmp_path / "no", "resume": True}, "no log"),
        ({"log": there, "resume": True}, "no seed"), ({"log": there, "resume": True, "seed": 1}, "another match"),
    ):  # fmt: skip
        with pytest.raises(KibitzError, match=why):
            Dealer(**{"game": LEDUC, "hands": 4, **wrong})
    assert there.read_text() == "mine"
    with pytest.raises(ProtocolError, match="room for two or three"):
        four = tmp_path / "four.game"
        four.write_text(
            "GAMEDEF\nlimit\nnumPlayers = 4\nnumRounds = 1\nblind = 1 1 1 1\nraiseSize = 1\nnumSuits = 4\n"
            "numRanks = 13\nnumHoleCards = 1\nnumBoardCards = 0\nmaxRaises = 1\nEND GAMEDEF\n"
        )
        Dealer(str(four))
