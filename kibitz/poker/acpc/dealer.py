"""A match over the ACPC protocol, with the same deals as kibitz's own matches, for agents and for clients elsewhere.

    dealer = Dealer("poker(file=leduc)", hands=3000, seed=5, players=["alice", "bob"], agents={"bob": "uniform"})
    for name, port in dealer.open():             listens on 127.0.0.1
        print(name, port)
    outcome = dealer.play()                      waits for alice, then plays

Hand k has the cards of `Machine.hand(seed, k)`, and in a duplicate match each deal is played in all seatings. Agents in
this process are asked with a View, and draw with the numbers of the match: nothing differs from `kibitz.match`.

One thread, and no wait without a deadline. A client that is silent, drips, floods, sends garbage or leaves is met by
the rules of forfeits (`kibitz.poker.acpc.seats.RULES`), and the match goes on.

Cards are as hard to foresee as the seed, by numbers that are fair but not made to withstand an attack; in a duplicate
match a client that remembers can know a deal again. Between players who do not trust each other, play two matches with
the same seed, the names of the second in another order.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kibitz.evaluate.match import draws
from kibitz.games.machine import Machine
from kibitz.games.protocol import CHANCE, TERMINAL
from kibitz.games.views import view_of
from kibitz.play.agents import agent as agent_of
from kibitz.play.fallback import Silence, silence_of
from kibitz.poker.acpc.log import Log, MatchPlan, Record, begun, check_new, resumed, seed_of
from kibitz.poker.acpc.seats import Door, Local, Remote, poker_game, poker_machine, welcome
from kibitz.poker.acpc.states import LoggedHand, ProtocolError, logged_hand, match_state, parse_names, written_played
from kibitz.poker.acpc.wire import listening

HOST = "127.0.0.1"
TIMEOUT, WAIT, LATE = 10.0, 300.0, 5  # seconds for an answer, seconds for all to come, answers that may be late
SEATS = (2, 3)


@dataclass(frozen=True)
class DealerOutcome:
    """What a match came to."""

    players: tuple[str, ...]
    totals: tuple[float, ...]  # chips, by player
    hands: int
    resumed: int  # of these hands, those that were read from the log
    late: dict[str, int]  # late answers by player
    invalid: dict[str, int]
    gone: dict[str, str]  # who gave up its seat, and why
    seconds: float
    silence: dict[str, Silence] = field(default_factory=dict)  # of agents here, how often they had no row

    def data(self) -> dict[str, Any]:
        """As plain values."""
        by_player = [
            {"name": name, "total": total, "per_hand": total / self.hands, "late": self.late.get(name, 0),
             "invalid": self.invalid.get(name, 0), "gone": self.gone.get(name),
             "silence": self.silence[name].data() if name in self.silence else None}
            for name, total in zip(self.players, self.totals, strict=True)
        ]  # fmt: skip
        return {"hands": self.hands, "resumed": self.resumed, "players": by_player, "seconds": self.seconds}


@dataclass
class Dealer:
    """A match that is to be played.

    game     a poker game for two or three: its name, or its machine
    agents   name -> agent in this process, as kibitz.play.agent takes it; the others come over the wire
    seed     None: one that nobody can guess, or that of the log to go on with
    log      a file, which is new unless `resume` says to go on with it
    timeout  seconds for an answer, all of it, and for a handshake; wait: seconds until all must be there
    late     answers of a player that may be late, in a match
    """

    game: Any
    hands: int = 1000
    seed: int | None = None
    players: Sequence[str] | str | None = None
    agents: Mapping[str, Any] = field(default_factory=dict)
    duplicate: bool = False
    log: Path | None = None
    resume: bool = False
    timeout: float = TIMEOUT
    wait: float = WAIT
    late: int = LATE
    note: Callable[[str], None] = lambda sentence: None

    def __post_init__(self) -> None:
        machine = self.game if isinstance(self.game, Machine) else None
        self.rules = poker_game(self.game if machine is None else machine.rules)
        count = int(self.rules.players)
        spec = getattr(self.rules, "spec", "") or "this game"
        if count not in SEATS:
            raise ProtocolError(f"{spec} has {count} seats: the dealer has room for two or three")
        named = self.players if self.players is not None else [f"player{k + 1}" for k in range(count)]
        names = parse_names(named if isinstance(named, str) else ",".join(named), count, ",")
        for name in self.agents:
            if name not in names:
                raise ProtocolError(f"there is no player {name:.80}: the players are {', '.join(names)}")
        if self.resume and self.log is None:
            raise ProtocolError("to go on with a match its log is needed: --log FILE --resume")
        seed = self.seed
        if seed is None:
            seed = seed_of(self.log) if self.resume and self.log is not None else secrets.randbits(63)
        self.plan = MatchPlan(spec, self.hands, seed, names, self.duplicate)
        self.machine = poker_machine(self.rules) if machine is None else machine
        self._local = {
            name: Local(name, agent_of(source, self.machine), self.note) for name, source in self.agents.items()
        }
        self._doors: list[Door] = []
        self._invalid: dict[str, int] = {}
        self._number = 0  # of the hand that is played
        if self.resume and self.log is not None:
            self._log, self._record = resumed(self.log, self.plan, self.rules, self._again)
        else:
            check_new(self.log)  # it is made when the players are there
            self._log, self._record = Log(None), Record(totals=[0.0] * len(self.plan.players))

    # Ports

    @property
    def awaited(self) -> list[str]:
        """The players who are to come over the wire."""
        if self._record.score:
            return []
        return [name for name in self.plan.players if name not in self._local and name not in self._record.gone]

    def open(self, host: str = HOST, port: int | None = None) -> list[tuple[str, int]]:
        """Listen: (name, port) of all who are awaited. port: one for all, who get their names as they come; None: one
        each; 0: any."""
        groups = [[name] for name in self.awaited] if port is None else [self.awaited] if self.awaited else []
        try:
            for names in groups:
                self._doors.append(Door(listening(host, port or 0), list(names)))
        except ProtocolError:
            self.close()
            raise
        return [(name, door.port) for door in self._doors for name in door.names]

    def close(self) -> None:
        """Give up all ports, and the log as it is."""
        for door in self._doors:
            door.close()
        self._doors = []
        self._log.close()

    # The match

    def play(self, on_hand: Callable[[int, Sequence[float]], None] | None = None) -> DealerOutcome:
        """Wait for those who are to come, and play all hands that are left. on_hand: (hands, totals) after each."""
        began, record, plan = time.monotonic(), self._record, self.plan
        before = record.hands
        table: list[Local | Remote] = []
        try:
            if not record.score:
                table = self._table()
                for self._number in range(record.hands, plan.hands):
                    self._hand(table)
                    if on_hand is not None:
                        on_hand(record.hands, record.totals)
                self._log.score(record.totals, plan.players)
                record.score = True
        finally:
            for each in table:
                if isinstance(each, Remote):
                    each.close(self.timeout if record.score else 0.0)
            self.close()
        gone = {each.name: each.gone for each in table if isinstance(each, Remote) and each.gone}
        late = {each.name: each.late for each in table if isinstance(each, Remote) and each.late}
        return DealerOutcome(
            plan.players, tuple(record.totals), record.hands, before, late or record.late, self._invalid,
            gone or record.gone, time.monotonic() - began,
            {name: silence for name, each in self._local.items() if (silence := silence_of(each.agent)) is not None},
        )  # fmt: skip

    def _table(self) -> list[Local | Remote]:
        """By player: an agent, a connection, or a seat that is given up."""
        awaited = self.awaited
        if awaited and not self._doors:
            raise ProtocolError(f"nobody can come: open() the ports of {', '.join(awaited)} first")
        doors, self._doors = self._doors, []
        connections = welcome(doors, self.wait, self.timeout, self.note)
        if awaited and not connections:
            raise ProtocolError(f"none of {', '.join(awaited)} came within {self.wait:g} seconds: nothing was played")
        if not self.resume:
            self._log = begun(self.log, self.plan)
        table: list[Local | Remote] = []
        self._number = self._record.hands
        for name in self.plan.players:
            if name in self._local:
                table.append(self._local[name])
                continue
            late, gone = self._record.late.get(name, 0), self._record.gone.get(name, "")
            each = Remote(name, connections.get(name), self.timeout, self.late, self._fault, late, gone=gone)
            if each.connection is None:
                each.forfeit("it was not there when the match began")
            table.append(each)
        return table

    def _hand(self, table: Sequence[Local | Remote]) -> None:
        number, rules = self._number, self.rules
        deal, seating = self.plan.place(number)
        seated = [table[player] for player in seating]
        hand = self.machine.hand(self.plan.seed, deal)
        state, numbers = hand.start(), draws(hand.after)
        for seat, each in enumerate(seated):
            if isinstance(each, Local):
                each.agent.begin(seat)
        while True:
            while (turn := rules.turn(state)) == CHANCE:
                state = hand.draw(state)
            for seat, each in enumerate(seated):
                if isinstance(each, Remote) and each.connection is not None:
                    each.send(match_state(rules, state, seat, number))
            if turn == TERMINAL:
                break
            draw, mover = next(numbers), seated[turn]
            if isinstance(mover, Local):
                action = mover.act(rules, state, draw)
            else:
                action = mover.act(rules, state, match_state(rules, state, turn, number))
            state = rules.after(state, action)
        over = logged_hand(rules, state, number, [each.name for each in seated])
        for seat, each in enumerate(seated):
            if isinstance(each, Local):
                each.agent.end(view_of(rules, state, seat), over.values[seat])
        self._log.hand(over)
        for player, value in zip(seating, over.values, strict=True):
            self._record.totals[player] += value
        self._record.hands += 1

    def _fault(self, kind: str, name: str, why: str) -> None:
        self._log.fault(kind, self._number, name, why)
        if kind == "invalid":
            self._invalid[name] = self._invalid.get(name, 0) + 1
        elif kind == "forfeit":
            self.note(f"{name} plays fold and check from hand {self._number} on: {why}")

    def _again(self, played: LoggedHand) -> None:
        """A hand of the log: dealt and played again it must be the same. Agents hear of how it began and ended."""
        rules, (deal, seating) = self.rules, self.plan.place(played.hand)
        hand = self.machine.hand(self.plan.seed, deal)
        state = hand.start()
        actions = iter([action for said in played.betting for action in said])
        while (turn := rules.turn(state)) != TERMINAL:
            state = hand.draw(state) if turn == CHANCE else rules.after(state, next(actions))
        over = logged_hand(rules, state, played.hand, played.names)
        if written_played(over) != written_played(played):
            raise ProtocolError(f"hand {played.hand} has other cards than seed {self.plan.seed} deals")
        for seat, player in enumerate(seating):
            if (local := self._local.get(self.plan.players[player])) is not None:
                local.agent.begin(seat)
                local.agent.end(view_of(rules, state, seat), over.values[seat])
