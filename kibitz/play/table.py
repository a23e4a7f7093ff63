"""A table for people: a person at the terminal and agents in the other seats, in any game.

The person is an agent like any other: it observes what an agent observes, and it acts by asking the person. Texts go
through two functions, `ask` (a prompt in, a line out; EOFError at the end) and `tell`, so that tests can play too. A
renderer formats the game as text (kibitz.play.renderer), and kibitz.play.transcript records hands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from kibitz.core.errors import KibitzError, SpecError
from kibitz.evaluate.match import Agent, play
from kibitz.games import game as make_game
from kibitz.games.machine import Hand, Machine
from kibitz.games.protocol import CHANCE, Action, Game
from kibitz.games.views import View, view_of
from kibitz.play.agents import agent as agent_of
from kibitz.play.renderer import Heard, Opponent, Renderer, renderer_of, who_of, wrapped
from kibitz.play.transcript import heading, number, written
from kibitz.solvers.machines import playable

PERSON = "you"
LEAVING = ("q", "quit", "exit")


class Leave(Exception):
    """The person leaves the table."""


@dataclass
class Human:
    """The person, as an agent."""

    ask: Callable[[str], str]
    tell: Callable[[str], None]
    renderer: Renderer
    name: str = PERSON
    movers: dict[int, int] = field(default_factory=dict)  # by place of a public word, from a `Recorder`
    heard: Heard = field(default_factory=lambda: Heard(0))
    decisions: int = 0  # that the person was asked for, in this hand

    def begin(self, seat: int) -> None:
        self.heard, self.decisions = Heard(seat, int(self.renderer.rules.players), movers=self.movers), 0

    def act(self, view: View) -> list[float]:
        self.news(view.public)
        self.say(self.renderer.position(view))
        self.heard.chosen.add(len(view.public))
        if len(view.actions) == 1:
            self.say([f"  you can only {self.renderer.action(view.actions[0])}"])
            return [1.0]
        self.decisions += 1
        self.say(self.renderer.listed(view.actions))
        while True:
            answer = self.line("> ")
            if answer == "?":
                self.tell(self.renderer.help(view))
                continue
            if answer.lower() in LEAVING and answer not in view.actions:
                raise Leave
            action = self.renderer.understood(answer, view.actions)
            if action is not None:
                at = view.actions.index(action)
                return [float(a == at) for a in range(len(view.actions))]
            choices = [self.renderer.action(name) for name in view.actions]
            named = ", ".join(choices) if len(choices) <= 12 else f"the {len(choices):,} actions"
            self.say([f"  that is none of {named}; ? for help"])

    def end(self, view: View, payoff: float) -> None:
        self.news(view.public)

    def line(self, prompt: str) -> str:
        try:
            return self.ask(prompt).strip()
        except EOFError:
            raise Leave from None

    def say(self, lines: Sequence[str]) -> None:
        """Tell some lines, each broken where it is too long."""
        for line in lines:
            for part in wrapped(line):
                self.tell(part)

    def news(self, public: Sequence[str]) -> None:
        """Show what happened since the last news."""
        self.say(self.renderer.news(self.heard, public))
        self.heard.read = len(public)


class Noted:
    """An agent whose views and answers are written down."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.notes: list[tuple[View, list[float]]] = []
        self.last: View | None = None

    def begin(self, seat: int) -> None:
        self.notes = []
        self.agent.begin(seat)

    def act(self, view: View) -> list[float]:
        answer = [float(p) for p in self.agent.act(view)]
        self.notes.append((view, answer))
        return answer

    def end(self, view: View, payoff: float) -> None:
        self.last = view
        self.agent.end(view, payoff)


class Recorder:
    """The rules of a game, with every move of a hand written down, and who made those that a seat can see."""

    def __init__(self, rules: Game) -> None:
        self._rules: Any = rules
        self._has_view = hasattr(rules, "view")
        self.follow(0)

    def follow(self, seat: int) -> dict[int, int]:
        """Begin a hand. Gives what will be filled on the way: who moved, by place among the public words of a seat."""
        self.moves: list[tuple[int, Action]] = []
        self.movers: dict[int, int] = {}
        self._seat, self._words, self._known = seat, 0, 0
        return self.movers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rules, name)

    def after(self, state: Any, action: Action) -> Any:
        self.moves.append((self._rules.turn(state), action))
        following = self._rules.after(state, action)
        if self._has_view and self._rules.turn(following) != CHANCE:
            self._attribute(following)
        return following

    def _attribute(self, state: Any) -> None:
        """A word that is new is the mover's whose move has that name and was made since the last decision."""
        public = view_of(self._rules, state, self._seat).public
        moves = iter(self.moves[self._known :])
        for at in range(self._words, len(public)):
            mover = next((turn for turn, action in moves if str(action) == public[at]), None)
            if mover is None:
                break
            self.movers[at] = mover
        self._words, self._known = len(public), len(self.moves)


class Uniform(Agent):
    """All legal actions are equally likely; needs no tree."""

    name = "uniform"

    def act(self, view: View) -> list[float]:
        return [1.0 / len(view.actions)] * len(view.actions)


def compiled(rules: Game) -> Machine | None:
    """The machine that a game brings: it deals as matches do. A hand needs none; one that is refused is left out."""
    try:
        machine: Machine | None = rules.machine() if hasattr(rules, "machine") else None
    except KibitzError:  # such as betting too large for a tree: those who need a machine will say so
        return None
    return machine


def opponents_of(rules: Game, players: Sequence[Any]) -> list[Agent]:
    """Agents for the seats that the person leaves: one for each, or one kind for all of them."""
    others, called = int(rules.players) - 1, getattr(rules, "spec", "") or "the game"
    if others < 1:
        raise SpecError(f"{called} has one player, so there are no opponents")
    if len(players) not in (1, others):
        wanted = "one opponent" if others == 1 else f"{others} opponents, or one for all seats"
        raise SpecError(f"{called} has {others + 1} players, and you are one of them: give {wanted}, not "
                        f"{len(players)}")
    machine = compiled(rules)
    agents: list[Agent] = []
    for source in list(players) * (others if len(players) == 1 else 1):
        if machine is None and isinstance(source, str) and source.strip() == "uniform":
            agents.append(Uniform())
            continue
        machine = playable(rules) if machine is None else machine
        agents.append(agent_of(source, machine, at_once=True))
    return agents


@dataclass
class Session:
    """A person and agents at a table. The person has seat 0 in the first hand and moves one seat after every hand."""

    game: Any  # a spec or a game
    opponents: Sequence[Agent]
    ask: Callable[[str], str]
    tell: Callable[[str], None]
    seed: int = 0
    reveal: bool = False
    signs: bool = False
    write: Callable[[str], None] | None = None  # gets the transcript, piece by piece
    name: str = ""  # of the game, for those that do not know how they are called
    score: float = 0.0
    hands: int = 0

    def __post_init__(self) -> None:
        rules = make_game(self.game)
        self.spec = getattr(rules, "spec", "") or self.name or type(rules).__name__
        if len(self.opponents) != int(rules.players) - 1:
            raise SpecError(f"{self.spec} has {rules.players} seats: {int(rules.players) - 1} opponents are needed")
        self.rules = Recorder(rules)
        self.human = Human(self.ask, self.tell, renderer_of(rules, self.signs))
        self.deck = copy(compiled(rules))
        if self.deck is not None:
            self.deck.rules = self.rules

    def play(self, most: int | None = None) -> None:
        """Play hands until the person leaves or `most` are played."""
        if self.write is not None:
            self.write(heading(self.spec, self.seed, [PERSON, *(agent.name for agent in self.opponents)]))
        against = " and ".join(agent.name for agent in self.opponents)
        self.human.say([f"You play {self.spec} against {against}. ? for help, q to leave."])
        unasked = 0
        try:
            while most is None or self.hands < most:
                self._hand()
                unasked = 0 if self.human.decisions else unasked + 1
                if unasked >= len(self.opponents) + 1 and (most is None or self.hands < most):
                    if self.human.line("Enter for the next hand, q to leave > ").lower() in LEAVING:
                        raise Leave
                    unasked = 0
        except (Leave, KeyboardInterrupt):
            self.tell("")
        self.tell(self.goodbye())

    def seating(self, number: int) -> list[int]:
        """Who has each seat in a hand: 0 is the person, the agents follow in order."""
        players = len(self.opponents) + 1
        return [(seat - number) % players for seat in range(players)]

    def _hand(self) -> None:
        seating, others = self.seating(self.hands), [Noted(agent) for agent in self.opponents]
        seat = seating.index(0)
        table: list[Agent] = [self.human if player == 0 else others[player - 1] for player in seating]
        self.tell("")
        self.human.say([f"Hand {self.hands + 1}. {self.human.renderer.opening(seat, [each.name for each in table])}"])
        self.human.movers = self.rules.follow(seat)
        rules: Any = self.rules
        hand = Hand(rules, self.seed, self.hands) if self.deck is None else self.deck.hand(self.seed, self.hands)
        payoffs = play(rules, table, hand)
        self.hands += 1
        self.score += payoffs[seat]
        self.human.say([f"  {result(payoffs[seat])} Score after {counted(self.hands)}: {number(self.score)}."])
        if self.reveal:
            self._reveal(table)
        if self.write is not None:
            self.write(written(self.hands, seating, self.rules.moves, payoffs, self.score))

    def _reveal(self, table: Sequence[Agent]) -> None:
        for seat, each in enumerate(table):
            if isinstance(each, Noted) and each.last is not None:
                seen = Opponent(each.agent, seat, each.last, each.notes, who_of(seat, len(table)))
                self.human.say(self.human.renderer.reveal(seen))

    def goodbye(self) -> str:
        if self.hands == 0:
            return "No hand was finished."
        return f"{counted(self.hands)} played, score {number(self.score)}."


def result(payoff: float) -> str:
    """What a hand brought."""
    if payoff == 0:
        return "You win nothing."
    return f"You {'win' if payoff > 0 else 'lose'} {abs(payoff):.10g}."


def counted(hands: int) -> str:
    return f"{hands} hand{'s' * (hands != 1)}"
