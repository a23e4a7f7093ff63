"""Who sits at a dealer's table: agents in this process, and players at the other end of a connection.

Forfeits, the same for all (`RULES`): what a player should have said and did not is said for it, and nobody's match ends
because another one is gone.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from kibitz.core.errors import KibitzError
from kibitz.evaluate.match import Agent, checked, chosen
from kibitz.games import game as make_game
from kibitz.games.machine import Machine
from kibitz.games.views import View, view_of
from kibitz.play.fallback import call_of, fold_of
from kibitz.poker.acpc.states import VERSION, MatchState, ProtocolError, parse_action, written
from kibitz.poker.acpc.wire import Closed, Connection, Late
from kibitz.poker.rules.rules import Poker
from kibitz.solvers.machines import playable

MOST_PENDING = 8  # connections to one port that have not shaken hands
MOST_CONNECTIONS = 64  # to one port in all: more are refused
MOST_STRAYS = 100  # lines between a question and its answer that are no answer to it
MOST_STRAYS_IN_ALL = 10_000  # in a match

RULES = (
    "an invalid or late answer counts as a call or check, or as a fold where no call is possible",
    "who is lost, late more often than allowed, or not there when the match begins plays fold, or check where that is "
    "free, for the rest of the match",
    "the others play on, and their results are kept",
)


def poker_game(source: Any) -> Poker:
    """The poker game of a name, or as it is; leduc and kuhn are those of the definitions that come with kibitz."""
    rules: Any = make_game(source)
    text = str(source) if isinstance(source, str) else getattr(rules, "spec", "this game")
    name = text.strip()
    if not hasattr(rules, "definition") and re.fullmatch(r"\w{1,40}", name):
        with suppress(KibitzError):
            rules = make_game(f"poker(file={name})")
    if not hasattr(rules, "definition"):
        raise ProtocolError(
            f"{text:.200} is not played by the ACPC protocol, which is for poker by a definition: name leduc, kuhn, "
            "rhode_island, holdem.limit.2p or a FILE.game"
        )
    return cast(Poker, rules)


def poker_machine(rules: Poker) -> Machine:
    """What deals and what agents play on; without limit, where no machine holds the betting, the rules themselves."""
    return playable(rules)


class Once:
    """Says the first of many sentences of a kind."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say: Callable[[str], None] | None = say

    def __call__(self, sentence: str) -> None:
        if self.say is not None:
            self.say(sentence)
            self.say = None


def choose(agent: Agent, view: View, draw: float, note: Callable[[str], None]) -> str:
    """What an agent does, by a number in [0, 1) as matches draw it; a call where its strategy does not answer."""
    try:
        return view.actions[chosen(checked(agent, view), draw)]
    except (KibitzError, LookupError, ArithmeticError) as error:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        note(f"{agent.name} has no answer and calls, here and wherever that happens again: {why}")
        return call_of(view.actions)


class Local:
    """An agent in this process. It is asked as in kibitz's own matches."""

    def __init__(self, name: str, agent: Agent, note: Callable[[str], None]) -> None:
        self.name, self.agent, self._note = name, agent, Once(note)

    def act(self, rules: Poker, state: Any, draw: float) -> str:
        return choose(self.agent, view_of(rules, state, rules.turn(state)), draw, self._note)


@dataclass
class Remote:
    """A player at the other end of a connection; without one, a seat that was given up."""

    name: str
    connection: Connection | None
    timeout: float  # seconds for an answer
    most_late: int  # answers that may be late
    report: Callable[[str, str, str], None]  # (late, invalid or forfeit; name; why)
    late: int = 0
    strays: int = 0
    gone: str = ""  # why the seat was given up

    def send(self, message: MatchState) -> None:
        """Send a state."""
        if self.connection is not None:
            try:
                self.connection.send(written(message))
            except Closed as error:
                self.forfeit(str(error))

    def act(self, rules: Poker, state: Any, message: MatchState) -> str:
        """The answer to the state that was just sent, or what the rules of forfeits make of it."""
        try:
            said = self._answer(written(message))
            if said is not None:
                return parse_action(rules, state, said, message.position)
        except Late:
            self.late += 1
            self.report("late", self.name, f"no answer within {self.timeout:g} seconds")
            if self.late > self.most_late:
                self.forfeit(f"more than {self.most_late} late answers")
        except Closed as error:
            self.forfeit(str(error))
        except ProtocolError as error:
            self.report("invalid", self.name, str(error))
        actions = [str(action) for action in rules.actions(state)]
        return fold_of(actions) if self.gone else call_of(actions)

    def _answer(self, sent: str) -> str | None:
        """The letters after the state that was sent; None without a connection.

        A line that repeats another state is an answer that came too late and is passed over, as comments are. Anything
        else is no answer of the protocol.
        """
        if self.connection is None:
            return None
        deadline = time.monotonic() + self.timeout
        for _ in range(MOST_STRAYS):
            line = self.connection.line(deadline)
            repeated, _, said = line.rpartition(":")
            if repeated == sent:
                return said
            self.strays += 1
            if self.strays > MOST_STRAYS_IN_ALL:
                raise Closed(f"more than {MOST_STRAYS_IN_ALL:,} lines that nobody asked for")
            if line and not line.startswith(("MATCHSTATE:", "#", ";")):
                raise ProtocolError(f"{line[:60]!a} is no answer: repeat the state and add :action")
            if time.monotonic() > deadline:
                raise Late("lines came, but no answer")
        raise ProtocolError(f"more than {MOST_STRAYS} lines that are no answer to the question")

    def forfeit(self, why: str) -> None:
        if not self.gone:
            self.gone = why or "forfeited"
            self.report("forfeit", self.name, self.gone)
        self.close()

    def close(self, seconds: float = 0.0) -> None:
        if self.connection is not None:
            self.connection.finish(time.monotonic() + seconds)
            self.connection = None


# Before the match


@dataclass
class Door:
    """A port, and the players who may come in by it, in the order in which they get their names."""

    listener: socket.socket
    names: list[str]
    pending: dict[Connection, float] = field(default_factory=dict)  # with the moments until which they have time
    come: int = 0

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def close(self) -> None:
        for each in self.pending:
            each.close()
        self.pending.clear()
        self.listener.close()


def welcome(doors: Sequence[Door], wait: float, timeout: float, note: Callable[[str], None]) -> dict[str, Connection]:
    """Let players in until all have shaken hands, or `wait` seconds are over: name -> connection.

    A handshake has `timeout` seconds. One that is silent, garbled or of another version is refused, and the next in
    line may try.
    """
    connections: dict[str, Connection] = {}
    end = time.monotonic() + wait
    refused = Once(note)
    try:
        while any(door.names for door in doors) and time.monotonic() < end:
            with selectors.DefaultSelector() as selector:
                for door in doors:
                    if door.names and len(door.pending) < MOST_PENDING and door.come < MOST_CONNECTIONS:
                        selector.register(door.listener, selectors.EVENT_READ)
                    for each in door.pending:
                        selector.register(each.socket, selectors.EVENT_READ)
                if not selector.get_map():  # too many have come, and none of them shook hands
                    break
                first = min([end, *(moment for door in doors for moment in door.pending.values())])
                ready = {key.fileobj for key, _ in selector.select(max(0.0, min(first - time.monotonic(), 60.0)))}
            for door in doors:
                if door.listener in ready:
                    _let_in(door, min(end, time.monotonic() + timeout))
                for each in list(door.pending):
                    why = _shaken(each, each.socket in ready, door.pending[each])
                    if why is None:
                        continue
                    del door.pending[each]
                    if why or not door.names:
                        each.close()
                        refused(f"a connection to port {door.port} is refused: {why or 'all players are here'}")
                    else:
                        connections[door.names.pop(0)] = each
    finally:
        for door in doors:
            door.close()
    return connections


def _let_in(door: Door, until: float) -> None:
    try:
        accepted, _ = door.listener.accept()
    except OSError:  # gone again
        return
    door.come += 1
    try:
        door.pending[Connection(accepted)] = until
    except OSError:
        accepted.close()


def _shaken(each: Connection, ready: bool, until: float) -> str | None:
    """Of a handshake: "" if it is done, why it failed, or None while it goes on."""
    try:
        if ready:
            each.receive()
        line = each.taken()
    except ProtocolError as error:
        return str(error)
    if line is None:
        return "no version came in time" if time.monotonic() >= until else None
    return "" if line == VERSION else f"it says {line[:60]!a}, not {VERSION}"
