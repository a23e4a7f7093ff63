"""The Game protocol: the rules of a finite game in plain Python.

Anything with these eight names is a game that kibitz can lay out, solve and measure. There is nothing to
inherit from. A *state* is any value of yours (a tuple, a frozen dataclass): it is never changed, `after`
returns a new one. Slow is fine: the rules are walked once.

    players              number of seats; seats are 0, 1, ..., players - 1
    root()               the state before anything has happened
    turn(state)          the seat that moves, or CHANCE, or TERMINAL
    actions(state)       at a seat's turn: its legal actions, at least one, in a fixed order
    chance(state)        at CHANCE: pairs (outcome, probability), probabilities above 0 that sum to 1
    after(state, action) the state that follows an action or a chance outcome
    infoset(state)       at a seat's turn: all that the seat knows, as a string (or any hashable value)
    payoff(state)        at TERMINAL: one number per seat

Actions and outcomes are strings or integers: they are what a person reads. Two states with the same
`infoset` must have the same `turn` and the same `actions`. A complete example is in docs/own_game.md.

A game may also have

    spec                 the string it was called by, which saved strategies carry
    least_histories      a number that its histories reach or exceed, so that a tree without end is not begun
    sample(state, rng)   at CHANCE: one outcome by its probability, where there are too many for a list
    view(state, seat)    (private words, public words): what a seat knows, for agents and for people at a table; asked
                         whenever a seat moves, of that one and of others, and at the end
    help                 the rules in a few lines, for people at a table
    renderer()           how a table is shown to a person, where words and numbered actions are not what its players are
                         used to (kibitz.play.renderer)
    is_outcome(state, outcome)  at CHANCE, with `sample`: whether an outcome can come, for replays of transcripts
    transcript_1(text)   the pieces of a transcript of version 1, played again (toepen)
    machine()            compiled rules for walks and matches (kibitz.games.machine)
    agents()             players of its own by name: {name: (factory, one line of help)} (kibitz.play.agents)
    most_actions         the most actions of a decision, for games that are walked in plain Python
    plugin               the package that brings more for it, by name or as a Plugin (kibitz.games.plugins)
    buckets()            abstractions of its own: {name: Buckets}, for kibitz.abstraction(game, name)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from kibitz.core import spec as specs

CHANCE = -1
TERMINAL = -2

State: TypeAlias = Any
Action: TypeAlias = str | int


class Buckets(NamedTuple):
    """An abstraction that a game knows by name: infosets of a seat with the same bucket share a row."""

    of: Callable[[int, str], Hashable]  # (seat, infoset) -> bucket
    about: str = ""  # what is merged, in a line
    by_position: bool = False  # may actions of other names share a column, the first with the first and so on?
    keys: Callable[[Sequence[str]], Any] | None = None  # all buckets at once, from the tree's labels: an array, or None
    ties: Callable[[int, str], Sequence[int]] | None = None  # (seat, infoset) -> for each action the first that is the
    #   same to the seat; such actions are made equally likely in the real game, where others may tell them apart
    all_ties: Callable[[Sequence[str]], Any] | None = None  # all ties at once: an array [I, widest], or None


class BuiltIn:
    """What built-in games share: frozen dataclasses, whose states are named tuples with a field `turn`."""

    called: str  # its name in a spec

    @property
    def spec(self) -> str:
        return str(specs.of(self, self.called))

    def turn(self, state: Any) -> int:
        return state.turn  # type: ignore[no-any-return]


@runtime_checkable
class Game(Protocol):
    """The rules of a finite game; see the module's text for what each name means."""

    @property
    def players(self) -> int: ...
    def root(self) -> State: ...
    def turn(self, state: State) -> int: ...
    def actions(self, state: State) -> Sequence[Action]: ...
    def chance(self, state: State) -> Sequence[tuple[Action, float]]: ...
    def after(self, state: State, action: Action) -> State: ...
    def infoset(self, state: State) -> Hashable: ...
    def payoff(self, state: State) -> Sequence[float]: ...
