"""Games between a person and agents. A table is a state in memory; no thread waits for the person to act.

Hands are dealt by the game's machine (`machine.hand(seed, number)`), and agents draw the same random numbers as in a
match, so the hands of a table can be replayed from its seed. Responses (`WebTable.data`) contain only what the person
observes: the `View` of that seat, the payoff, and public information.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kibitz.core.errors import GameError
from kibitz.evaluate.match import Agent, checked, chosen, draws
from kibitz.evaluate.score import scored
from kibitz.games.machine import Hand
from kibitz.games.protocol import CHANCE, TERMINAL, Action
from kibitz.games.views import View, view_of
from kibitz.play.renderer import renderer_of
from kibitz.toepen.renderer import VERBS
from kibitz.toepen.rules import Toepen
from kibitz.toepen.states import NUMBERS
from kibitz.toepen.states import events as moves_of
from kibitz.web import look
from kibitz.web.errors import Busy, Missing, Stale
from kibitz.web.library import Library, LibraryStrategy
from kibitz.web.nodes import calm_words, facts_of, paid_of, rows_of
from kibitz.web.poker import naming

MOST_TABLES = 200
IDLE = 1800.0  # seconds after which a table that nobody touches may go
MOST_LISTED = 60  # actions that are listed one by one
MOST_HANDS = 100_000  # of a table
TOP = 8  # holdings of a belief that are named
NO_VIEW = "This game has no method `view`, so it is not known which moves the opponents can see."
FAILED = "an opponent failed to act: leave this table and open another"
SIZED = re.compile(r"r(\d+)")


@dataclass
class TableChoice:
    """One decision of a player."""

    view: View
    action: int
    said: int  # events before it
    calm: dict[str, str]  # what call and raise are called there


@dataclass
class TableHand:
    """The hand in progress at a table."""

    number: int
    seat: int  # of the person
    deal: Hand
    state: Any
    numbers: Iterator[float]
    events: list[dict[str, Any]] = field(default_factory=list)
    choices: list[TableChoice] = field(default_factory=list)
    notes: dict[int, list[tuple[TableChoice, list[float]]]] = field(default_factory=dict)  # by seat, of the others
    public: tuple[str, ...] = ()
    payoffs: list[float] | None = None


class WebTable:
    """A person and agents. The person has seat 0 in the first hand and moves one seat after every hand."""

    def __init__(self, id: str, strategies: Sequence[LibraryStrategy], opponents: Sequence[Agent], seed: int) -> None:
        self.id, self.seed, self.strategies, self.opponents = id, seed, list(strategies), list(opponents)
        first = strategies[0]
        self.rules: Any = first.rules
        self.spec, self.machine = first.spec, first.machine
        self.players = int(self.rules.players)
        self.has_view = hasattr(self.rules, "view")
        self.renderer = renderer_of(self.rules, signs=True)
        self.lock = threading.Lock()
        self.hands, self.score, self.squares = 0, 0.0, 0.0
        self.reviewed: tuple[int, dict[str, Any]] | None = None
        self.touched = 0.0
        self.failed = False  # an opponent did not answer: whoever is to act there, it is not the person
        self.help = self.renderer.help(View(0, (), (), ("call",)))
        self.now = self._dealt()

    # A hand

    def seating(self, number: int) -> list[int]:
        """Who has each seat in a hand: 0 is the person, the agents follow in order."""
        return [(seat - number) % self.players for seat in range(self.players)]

    def _dealt(self) -> TableHand:
        """A new hand, played up to the person's first decision."""
        number = self.hands
        seat = self.seating(number).index(0)
        deal = Hand(self.rules, self.seed, number) if self.machine is None else self.machine.hand(self.seed, number)
        now = TableHand(number, seat, deal, deal.start(), draws(deal.after))
        for at, player in enumerate(self.seating(number)):
            if player:
                now.notes[at] = []
                self.opponents[player - 1].begin(at)
        self._hear(now, CHANCE)
        return self._run(now)

    def _run(self, now: TableHand) -> TableHand:
        """Continue until the person has to decide or the hand is over."""
        seating = self.seating(now.number)
        while (turn := self.rules.turn(now.state)) != TERMINAL:
            if turn == CHANCE:
                now.state = now.deal.draw(now.state)
                self._hear(now, CHANCE)
                continue
            if turn == now.seat:
                return now
            agent, view = self.opponents[seating[turn] - 1], view_of(self.rules, now.state, turn)
            try:
                probabilities = checked(agent, view)
            except Exception:
                self.failed = True
                raise
            at = chosen(probabilities, next(now.numbers))
            choice = TableChoice(view, at, len(now.events), calm_words(now.state, turn))
            now.notes[turn].append((choice, probabilities))
            self._take(now, turn, view.choices[at])
        self._over(now, seating)
        return now

    def _take(self, now: TableHand, turn: int, action: Action) -> None:
        calm = calm_words(now.state, turn)
        now.state = self.rules.after(now.state, action)
        self._hear(now, turn, calm)
        if turn == now.seat and not self.has_view:  # what others did is not known to be seen; one's own moves are
            now.events.append({"seat": turn, "word": str(action), "text": self._said(str(action))})

    def _hear(self, now: TableHand, mover: int, calm: dict[str, str] | None = None) -> None:
        """Record new public events. The first belongs to the seat that moved, the others to chance. In Toepen, forced
        moves follow at once, and each belongs to the seat whose turn it was."""
        public = view_of(self.rules, now.state, now.seat).public
        movers = [mover, *[CHANCE] * len(public)]
        if isinstance(self.rules, Toepen) and all(word in VERBS or word in NUMBERS for word in public):
            movers = [event.seat for event in moves_of(public)][len(now.public) :]
        for k, word in enumerate(public[len(now.public) :]):
            text = (calm or {}).get(word, self._said(word))
            now.events.append({"seat": movers[k], "word": word, "text": text})
        now.public = public

    def _over(self, now: TableHand, seating: Sequence[int]) -> None:
        now.payoffs = [float(x) for x in self.rules.payoff(now.state)]
        for at, player in enumerate(seating):
            if player:
                self.opponents[player - 1].end(view_of(self.rules, now.state, at), now.payoffs[at])
        won = now.payoffs[now.seat]
        self.hands += 1
        self.score += won
        self.squares += won * won

    # What the person does

    def act(self, hand: int, decision: int, action: str) -> None:
        """Take an action. hand, decision: the decision that the client means."""
        now = self.now
        if self.failed:
            raise GameError(FAILED)
        if now.payoffs is not None or hand != now.number or decision != len(now.choices):
            raise Stale("this decision was already made")
        view = view_of(self.rules, now.state, now.seat)
        if action not in view.actions:
            raise GameError(f"{action!r:.60} is not one of the legal actions")
        at = view.actions.index(action)
        now.choices.append(TableChoice(view, at, len(now.events), calm_words(now.state, now.seat)))
        next(now.numbers)  # a match draws for each decision
        self._take(now, now.seat, view.choices[at])
        self._run(now)

    def next(self, hand: int) -> None:
        """Deal the next hand. hand: the one that is over."""
        if self.failed:
            raise GameError(FAILED)
        if self.now.payoffs is None or hand != self.now.number:
            raise Stale("this hand is not over, or the next one has already been dealt")
        if self.hands >= MOST_HANDS:
            raise GameError(f"a table ends after {MOST_HANDS:,} hands: open another")
        self.now = self._dealt()

    # What the person observes

    def names(self, number: int) -> list[str]:
        return ["you" if p == 0 else self.opponents[p - 1].name for p in self.seating(number)]

    def data(self) -> dict[str, Any]:
        """Everything that the person observes, as plain data."""
        now = self.now
        over = now.payoffs is not None
        done = over or self.failed
        view = view_of(self.rules, now.state, now.seat)
        tally = scored(self.hands, self.score, self.squares)
        return {
            "id": self.id, "game": self.spec, "has_view": self.has_view, "hand": now.number,
            "decision": len(now.choices), "seat": now.seat, "players": self.players,
            "names": self.names(now.number), "private": self._private(now, view),
            "events": now.events,
            "facts": facts_of(now.state), "paid": paid_of(now.state), "over": over,
            "actions": [] if done else self._offered(view), "sizes": None if done else sizes_of(view),
            "payoff": now.payoffs[now.seat] if now.payoffs is not None else None,
            "score": {"hands": self.hands, "total": self.score, **tally.data()},
            "help": self.help, "strategies": [strategy.entry.id for strategy in self.strategies],
        }  # fmt: skip

    def _private(self, now: TableHand, view: View) -> list[str]:
        """What the person holds. In a game without `view` this is the person's last infoset."""
        if view.private or self.has_view or not now.choices:
            return list(view.private)
        return list(now.choices[-1].view.private)

    def _said(self, word: str) -> str:
        """The label of a public event."""
        sized = SIZED.fullmatch(word)
        return f"raise to {sized[1]}" if sized else self.renderer.action(word)

    def _offered(self, view: View) -> list[dict[str, str]]:
        many = len(view.actions) > MOST_LISTED
        listed = [name for name in view.actions if not (many and SIZED.fullmatch(name))]
        calm = calm_words(self.now.state, self.now.seat)
        return [{"name": name, "label": calm.get(name, self._said(name))} for name in listed]

    # After a hand

    def review(self) -> dict[str, Any]:
        """What the strategy would have done in the person's place, and its belief about the person's hand."""
        now = self.now
        if now.payoffs is None:
            raise Stale("this hand is not over yet")
        if self.reviewed is not None and self.reviewed[0] == now.number:
            return self.reviewed[1]
        strategy = self.strategies[0]
        answer = {
            "hand": now.number, "name": strategy.entry.name, "would": self._would(now, strategy),
            "belief": self._belief(now, strategy), "shown": self._shown(now),
        }  # fmt: skip
        self.reviewed = now.number, answer
        return answer

    def _would(self, now: TableHand, strategy: LibraryStrategy) -> list[dict[str, Any]]:
        listed = [choice for choice in now.choices if len(choice.view.actions) <= MOST_LISTED]
        views = (choice.view for choice in listed)
        rows = (rows_of(strategy, now.seat, [view.infoset], view.actions)[0].tolist() for view in views)
        return [self._row(now, choice, row) for choice, row in zip(listed, rows, strict=True)]

    def _row(self, now: TableHand, choice: TableChoice, p: list[float]) -> dict[str, Any]:
        """A decision as the review shows it."""
        actions = choice.view.actions
        said = [event["text"] for event in now.events[: choice.said]]
        return {"after": said, "actions": [choice.calm.get(a, self._said(a)) for a in actions],
                "names": list(actions), "p": p, "chosen": choice.action}  # fmt: skip

    def _belief(self, now: TableHand, strategy: LibraryStrategy) -> dict[str, Any]:
        """The probability of each of the person's holdings, from public information only. The opponents' cards are not
        used, because they may never be shown."""
        if not self.has_view:
            return {"layout": "text", "text": [NO_VIEW], "cells": []}
        steps = [event["word"] for event in now.events if not event["word"].startswith("seat ")]
        own = view_of(self.rules, now.state, now.seat).private
        try:
            at = look.ranges(strategy, steps)
        except GameError:  # more hands than can be listed
            at = None
        if at is None:
            # Of the person's last decision: at the end of a hand of tricks nothing is left to be believed.
            before = len(now.choices[-1].view.public) if now.choices else len(steps)
            said = self.renderer.thoughts(strategy.agent, View(next(iter(now.notes)), (), tuple(steps[:before])))
            return {"layout": "text", "text": said or ["This game has too many hands to list."], "cells": []}
        belief = at[now.seat]
        names = {" ".join(own), "".join(own), *naming(own)}  # what ranges may call the holding
        name = next((cell["name"] for cell in belief["cells"] if cell["name"] in names), " ".join(own))
        top = sorted(belief["cells"], key=lambda cell: -cell["weight"])[:TOP]
        return {**belief, "own": name, "top": top, "text": []}

    def _shown(self, now: TableHand) -> list[dict[str, Any]]:
        """The decisions of the opponents whose cards were shown."""
        public = " ".join(view_of(self.rules, now.state, now.seat).public)
        shown = []
        for seat, notes in now.notes.items():
            private = view_of(self.rules, now.state, seat).private
            out = set(private) <= {event["word"] for event in now.events}  # all was played openly, as in tricks
            if not private or (f"seat {seat} shows {''.join(private)}" not in public and not out):
                continue
            rows = [self._row(now, choice, p) for choice, p in notes if len(choice.view.actions) <= MOST_LISTED]
            shown.append({"seat": seat, "name": self.names(now.number)[seat], "held": list(private), "rows": rows})
        return shown


def sizes_of(view: View) -> list[int] | None:
    """The smallest and largest raise, if there are too many sizes for buttons."""
    if len(view.actions) <= MOST_LISTED:
        return None
    sizes = [int(sized[1]) for name in view.actions if (sized := SIZED.fullmatch(name))]
    return [min(sizes), max(sizes)] if sizes else None


class WebTables:
    """All tables of a server."""

    def __init__(self, library: Library, most: int = MOST_TABLES, idle: float = IDLE,
                 clock: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        self.library, self.most, self.idle, self.clock = library, most, idle, clock
        self._tables: dict[str, WebTable] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._tables)

    def open(self, opponents: Sequence[str], seed: int | None = None, seconds: float = 1.0) -> WebTable:
        """A new table. opponents: ids of strategies, one for all seats or one for each; search:ID plays with search."""
        self._make_room()
        strategies = [self.library.strategy(id.removeprefix("search:")) for id in opponents]
        if not strategies:
            raise GameError("choose at least one opponent")
        others = int(strategies[0].rules.players) - 1
        if len({each.spec for each in strategies}) > 1:
            raise GameError("the opponents play different games")
        if len(strategies) not in (1, others):
            raise GameError(
                f"{strategies[0].spec} needs {others} opponent(s): choose one for all seats, or one for each"
            )
        named = list(opponents) * (others if len(opponents) == 1 else 1)
        strategies = strategies * (others if len(strategies) == 1 else 1)
        agents = [
            self.library.searcher(id.removeprefix("search:"), seconds) if id.startswith("search:") else each.agent
            for id, each in zip(named, strategies, strict=True)
        ]
        # All 64 bits of the seed are random: a smaller seed could be found by trying all, from a few observed hands.
        seed = secrets.randbits(64) if seed is None else seed
        table = WebTable(secrets.token_urlsafe(9), strategies, agents, seed)
        table.touched = self.clock()
        with self._lock:
            self._tables[table.id] = table
        return table

    def _make_room(self) -> None:
        with self._lock:
            now = self.clock()
            for id in [id for id, table in self._tables.items() if now - table.touched > self.idle]:
                del self._tables[id]
            if len(self._tables) >= self.most:
                raise Busy(f"all {self.most} tables are in use: leave one, or try again later")

    def table(self, id: str) -> WebTable:
        with self._lock:
            if id not in self._tables:
                raise Missing("this table is gone: open another")
            self._tables[id].touched = self.clock()
            return self._tables[id]

    def close(self, id: str) -> None:
        with self._lock:
            self._tables.pop(id, None)
